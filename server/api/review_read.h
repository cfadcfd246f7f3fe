/* server/api/review_read.h: what the calls about one submission share: their bodies' texts, and the answer that is the
 * submission as it is now. Ownership: texts live in the request's arena. Threads: the worker's. */
#ifndef DAYBREAK_SERVER_API_REVIEW_READ_H
#define DAYBREAK_SERVER_API_REVIEW_READ_H

#include "common/json.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/store/records.h"

#define REASON_BYTES_MAX 1000

/* The member as text for people: not blank, without addresses, copied; NULL: absent, or a fault was noted. */
const char *review_read_text(struct json_reader *json, const char *key, bool required,
                             size_t bytes_max, struct arena *arena);
/* "reason", which every decision needs. */
const char *review_read_reason(struct json_reader *json, struct arena *arena);

/* The bytes of the submission's file of that name; false: it has none. */
bool review_find_file(struct arena *arena, const struct submission_record *submission,
                      const struct submission_files *files, const char *name, struct str *bytes);

/* After the command: the submission as GET has it; or the refusal, a conflict with the state that it is in. */
void review_send_outcome(struct request *request, struct response *response);

#endif
