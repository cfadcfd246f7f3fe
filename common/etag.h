/* common/etag.h: strong ETags and the lists of them in If-Match and If-None-Match (RFC 9110, 8.8.3 and 13.1).
 * Threads: pure, any. */
#ifndef DAYBREAK_COMMON_ETAG_H
#define DAYBREAK_COMMON_ETAG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "common/str.h"

#define ETAG_BYTES 192 /* with quotes and NUL */

/* "submission:7" at version 3 is `"submission:7.3"`: the topic of the version table, which the writing transaction
 * raises, so equal ETags mean equal states. */
void etag_format(char text[ETAG_BYTES], const char *topic, int64_t version);

/* A header's value: "*", or entity tags with commas between. ST_INVALID "bad-etag" with the header as field. */
enum status etag_list_check(struct str list, const char *header, struct error *err);
/* Whether a list that holds what etag_list_check() wants names the ETag, or is "*". weak: W/ is passed over, as
 * If-None-Match has it; without, a weak tag equals nothing, as If-Match has it. */
bool etag_list_holds(struct str list, const char *etag, bool weak);

#endif
