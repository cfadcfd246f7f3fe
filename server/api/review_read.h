/* server/api/review_read.h: what the calls about one submission share: their bodies' texts, and the answer that is the
 * submission as it is now. Ownership: texts live in the request's arena. Threads: the worker's. */
#ifndef DAYBREAK_SERVER_API_REVIEW_READ_H
#define DAYBREAK_SERVER_API_REVIEW_READ_H

#include "common/json.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/store/records.h"
#include "server/store/verbs.h"

#define REASON_BYTES_MAX 1000

/* The member as text for people: not blank, without addresses, copied; NULL: absent, or a fault was noted. */
const char *review_read_text(struct json_reader *json, const char *key, bool required,
                             size_t bytes_max, struct arena *arena);
/* "reason", which every decision needs. */
const char *review_read_reason(struct json_reader *json, struct arena *arena);

/* Whether a text that others will read can be seen; false: err says what is wrong with it. */
bool review_check_text(struct str text, const char *field, struct error *err);
/* Text for people, not blank, without addresses, in the arena; NULL: blank, or longer than bytes_max. */
const char *review_clean_text(struct str text, size_t bytes_max, struct arena *arena);
/* Whether the comment's file, and its line of it, are there. ST_INVALID, field "file" or "line". */
enum status review_check_place(struct request *request, const struct post_comment *comment,
                               struct error *err);
/* An entry's file without addresses; its lines stay what they are. */
enum status submission_redact(struct str bytes, struct arena *arena, struct buf *out,
                              struct error *err);

/* The bytes of the submission's file of that name; false: it has none. */
bool review_find_file(struct arena *arena, const struct submission_record *submission,
                      const struct submission_files *files, const char *name, struct str *bytes);

/* After the command: the submission as GET has it; or the refusal, a conflict with the state that it is in. */
void review_send_outcome(struct request *request, struct response *response);

#endif
