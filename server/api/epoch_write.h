/* server/api/epoch_write.h: an evaluation's members, alike in lists and on the stream. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_API_EPOCH_WRITE_H
#define DAYBREAK_SERVER_API_EPOCH_WRITE_H

#include "server/api/json_out.h"
#include "server/store/records.h"

void epoch_write_members(struct json_out *out, const struct epoch_record *epoch);

#endif
