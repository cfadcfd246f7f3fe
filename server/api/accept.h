/* server/api/accept.h: from what intake read to what the store keeps; the one bridge between the two, for API and
 * import alike. Ownership: the entry borrows record and facets, further texts are the arena's. Threads: pure. */
#ifndef DAYBREAK_SERVER_API_ACCEPT_H
#define DAYBREAK_SERVER_API_ACCEPT_H

#include "common/arena.h"
#include "common/status.h"
#include "common/str.h"
#include "server/intake/intake.h"
#include "server/store/verbs.h"

/* What hardware texts do not say in a form that can be filtered; zeroed: unknown. */
struct accept_facets {
    const char *device_kind, *device_model, *cloud; /* "gpu", "NVIDIA V100", "aws"; NULL: unknown */
    struct opt_i64 devices, nodes;
};

/* A name for an entry, from the stem of a file's name: without folders and ending. ST_INVALID when it is empty,
 * longer than ENTRY_NAME_BYTES_MAX, not UTF-8, has control bytes or begins with a point. */
enum status accept_check_name(struct str name, struct error *err);

/* The record of a result that is acceptable, both files of a training judged together. facets may be NULL. */
enum status accept_fill_entry(const struct task *task, struct str name,
                              const struct intake_record *record,
                              const struct accept_facets *facets, struct arena *arena,
                              struct new_entry *entry, struct error *err);

#endif
