/* server/store/standing.c: when an entry stood on its boards (store_internal.h). */
#include "server/store/store_internal.h"

enum status db_begin_standing(struct db *db, int64_t entry_id, struct error *err)
{
    struct query_run run = query_begin(db, STMT_BEGIN_STANDING, NULL);

    query_bind_i64(&run, entry_id);
    query_bind_i64(&run, db->now_ms);
    return query_done(&run, err);
}

enum status db_end_standing(struct db *db, int64_t entry_id, struct error *err)
{
    struct query_run run = query_begin(db, STMT_END_STANDING, NULL);

    query_bind_i64(&run, entry_id);
    query_bind_i64(&run, db->now_ms);
    return query_done(&run, err);
}
