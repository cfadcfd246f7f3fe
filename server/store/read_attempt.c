/* server/store/read_attempt.c: reads the attempts at a job (read.h). */
#include "server/store/read.h"
#include "server/store/store_internal.h"

enum status store_list_job_attempts(struct store_reader *reader, struct arena *arena,
                                    int64_t job_id, int64_t limit, struct attempt_record **rows,
                                    size_t *count, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_JOB_ATTEMPTS, arena);
    size_t capacity = 0;

    *rows = NULL;
    *count = 0;
    query_bind_i64(&run, job_id);
    query_bind_i64(&run, limit);
    while (query_next(&run)) {
        struct attempt_record row = {.fence = query_text(&run)};

        row.agent_id = query_i64(&run);
        row.agent_name = query_text(&run);
        row.state = query_text(&run);
        row.reason = query_text(&run);
        row.result = query_text(&run);
        row.phase = query_text(&run);
        row.created_ms = query_i64(&run);
        row.started_ms = query_opt(&run);
        row.heartbeat_ms = query_i64(&run);
        row.ended_ms = query_opt(&run);
        row.last_seq = query_i64(&run);
        *rows = query_grow(&run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(&run, err);
}
