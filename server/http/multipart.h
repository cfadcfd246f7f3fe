/* server/http/multipart.h: multipart/form-data (RFC 7578) in one buffer. The library's own post processor is
 * never used. Strict: CRLF line ends, every part with one Content-Disposition: form-data and a name.
 * Ownership: parts borrow the body; names and file names live in the arena. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_HTTP_MULTIPART_H
#define DAYBREAK_SERVER_HTTP_MULTIPART_H

#include <stdbool.h>
#include <stddef.h>

#include "common/arena.h"
#include "common/status.h"
#include "common/str.h"

#define MULTIPART_PARTS_MAX 128 /* a submission of 100 runs, and room */

struct multipart_part {
    struct str name; /* NUL-terminated */
    bool has_file_name;
    struct str file_name; /* the last part of a path alone; NUL-terminated */
    struct str content_type;
    struct str data; /* bytes as sent */
};
struct multipart {
    struct multipart_part *parts;
    size_t count;
};

/* The boundary of a Content-Type value `multipart/form-data; boundary=...`. ST_INVALID: none or malformed. */
enum status multipart_find_boundary(struct str content_type, struct arena *arena,
                                    struct str *boundary, struct error *err);
/* Parts may share a name: a file of each of several runs. ST_INVALID: malformed; ST_LIMIT: above MULTIPART_PARTS_MAX;
 * err->field is "body". */
enum status multipart_parse(struct str body, struct str boundary, struct arena *arena,
                            struct multipart *multipart, struct error *err);
const struct multipart_part *multipart_find(const struct multipart *multipart,
                                            const char *name); /* the first; NULL: none */

#endif
