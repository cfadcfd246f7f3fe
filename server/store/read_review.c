/* server/store/read_review.c: reads what review has left: revisions, history, comments (read.h). */
#include "server/store/read.h"
#include "server/store/store_internal.h"

enum status store_list_revisions(struct store_reader *reader, struct arena *arena,
                                 int64_t lineage_id, struct revision_record **rows, size_t *count,
                                 struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_REVISIONS, arena);
    size_t capacity = 0;

    *rows = NULL;
    *count = 0;
    query_bind_i64(&run, lineage_id);
    while (query_next(&run)) {
        struct revision_record row = {.id = query_i64(&run)};

        row.revision = query_i64(&run);
        row.state = query_text(&run);
        row.received_ms = query_i64(&run);
        *rows = query_grow(&run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(&run, err);
}

enum status store_list_history(struct store_reader *reader, struct arena *arena, int64_t id,
                               struct history_record **rows, size_t *count, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_HISTORY, arena);
    size_t capacity = 0;

    *rows = NULL;
    *count = 0;
    query_bind_i64(&run, id);
    while (query_next(&run)) {
        struct history_record row = {.at_ms = query_i64(&run)};

        row.kind = query_text(&run);
        row.by = query_text(&run);
        row.role = query_text(&run);
        row.action = query_text(&run);
        row.from_state = query_text(&run);
        row.to_state = query_text(&run);
        row.reason = query_text(&run);
        row.field = query_text(&run);
        row.old_value = query_text(&run);
        row.new_value = query_text(&run);
        row.comment = query_opt(&run);
        *rows = query_grow(&run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(&run, err);
}

enum status store_list_comments(struct store_reader *reader, struct arena *arena, int64_t id,
                                int64_t after, int limit, struct comment_record **rows,
                                size_t *count, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_COMMENTS, arena);
    size_t capacity = 0;

    *rows = NULL;
    *count = 0;
    query_bind_i64(&run, id);
    query_bind_i64(&run, after);
    query_bind_i64(&run, limit);
    while (query_next(&run)) {
        struct comment_record row = {.id = query_i64(&run)};

        row.submission_id = query_i64(&run);
        row.thread_id = query_opt(&run);
        row.at_ms = query_i64(&run);
        row.by = query_text(&run);
        row.role = query_text(&run);
        row.file = query_text(&run);
        row.line = query_opt(&run);
        row.text = query_text(&run);
        row.resolved_ms = query_opt(&run);
        row.resolved_by = query_text(&run);
        *rows = query_grow(&run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(&run, err);
}

enum status store_list_transitions(struct store_reader *reader, struct arena *arena,
                                   const char *state, struct transition_record **rows,
                                   size_t *count, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_TRANSITIONS, arena);
    size_t capacity = 0;

    *rows = NULL;
    *count = 0;
    query_bind_text(&run, state);
    while (query_next(&run)) {
        struct transition_record row = {.action = query_text(&run)};

        row.to_state = query_text(&run);
        row.scope = query_text(&run);
        *rows = query_grow(&run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(&run, err);
}
