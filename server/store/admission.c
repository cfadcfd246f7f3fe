/* server/store/admission.c: what becomes of a result that passed its checks, by the policy and the review of its task
 * as they stand now (docs/review.md). The rolling rule (top5) is DAWNBench's: only what enters the first five places
 * of at least one board of its task is reviewed. */
#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"
#include "server/store/read.h"
#include "server/store/store_internal.h"

#define PLACES_REVIEWED 5
#define REASON_BYTES    600

static enum status admit_late(struct arena *arena, const struct task_setting *setting,
                              const struct admission_subject *subject, struct admission *admission,
                              struct error *err);
static enum status get_top5(struct db *db, const struct task *task, const struct figures *figures,
                            int64_t lineage_id, struct top5 *top5, struct error *err);
static enum status get_top5_board(struct db *db, const struct task *task, int64_t lineage_id,
                                  struct top5_board *board, struct error *err);
static const char *describe_distance(struct arena *arena, const struct top5 *top5);
static void append_gap(struct buf *out, const struct top5_board *board);

enum status db_admit(struct db *db, struct arena *arena, const struct admission_subject *subject,
                     struct admission *admission, struct error *err)
{
    struct task_setting setting;
    enum status status = db_get_task_setting(db, arena, subject->task, &setting, err);

    *admission = (struct admission){.state = "accepted", .reason = "this task is not reviewed"};
    if (status != ST_OK)
        return status;
    if (setting.policy == TASK_CLOSED ||
        (setting.policy == TASK_METADATA_ONLY && !subject->is_correction))
        return admit_late(arena, &setting, subject, admission, err);
    if (setting.review == TASK_REVIEW_NONE)
        return ST_OK;
    admission->state = "in_review";
    admission->reason = "this task is reviewed";
    if (setting.review == TASK_REVIEW_ALL || subject->is_correction)
        return ST_OK;
    status =
        get_top5(db, subject->task, &subject->figures, subject->lineage_id, &admission->top5, err);
    if (status != ST_OK)
        return status;
    admission->reason = "it enters the first five places of a board";
    if (!admission->top5.enters) {
        admission->state = "not_eligible";
        admission->reason = describe_distance(arena, &admission->top5);
    }
    return admission->reason == NULL ? error_set(err, ST_NO_MEMORY, NULL, "no memory for a reason")
                                     : ST_OK;
}

enum status db_get_task_setting(struct db *db, struct arena *arena, const struct task *task,
                                struct task_setting *setting, struct error *err)
{
    struct query_run run = query_begin(db, STMT_GET_TASK_SETTING, arena);
    enum status status;

    *setting = (struct task_setting){.policy = task->policy, .review = task->review, .reason = ""};
    query_bind_text(&run, task->id);
    status = query_row(&run, err);
    if (status == ST_OK) {
        setting->id = query_i64(&run);
        if (!task_policy_parse(str_from_cstr(query_text(&run)), &setting->policy) ||
            !task_review_parse(str_from_cstr(query_text(&run)), &setting->review))
            run.rc = SQLITE_CORRUPT; /* a CHECK refuses other words */
        setting->reason = query_text(&run);
        setting->at_ms = query_opt(&run);
        setting->by = query_text(&run);
    }
    return status == ST_OK || status == ST_NOT_FOUND ? query_end(&run, err) : status;
}

enum status store_get_task_setting(struct store_reader *reader, struct arena *arena,
                                   const struct task *task, struct task_setting *setting,
                                   struct error *err)
{
    return db_get_task_setting(&reader->db, arena, task, setting, err);
}

enum status store_preview_admission(struct store_reader *reader, struct arena *arena,
                                    const struct task *task, const struct figures *figures,
                                    struct admission *admission, struct error *err)
{
    const struct admission_subject subject = {.task = task, .figures = *figures};

    return db_admit(&reader->db, arena, &subject, admission, err);
}

/* A closed task refuses what is new. What it took in before, and results for one that takes corrections alone, are
 * kept and listed below the boards. */
static enum status admit_late(struct arena *arena, const struct task_setting *setting,
                              const struct admission_subject *subject, struct admission *admission,
                              struct error *err)
{
    const bool closed = setting->policy == TASK_CLOSED;
    char since[CLOCK_TEXT_BYTES] = "";

    if (setting->at_ms.has)
        clock_format_date(setting->at_ms.value, since);
    if (closed && !subject->is_late)
        return error_set_code(err, ST_CONFLICT, "task-closed", "task",
                              "GET /v1/tasks lists those that are open.", "%s is closed%s%s%s%s",
                              subject->task->id, since[0] == '\0' ? "" : " since ", since,
                              setting->reason[0] == '\0' ? "" : ": ", setting->reason);
    admission->state = "not_eligible";
    admission->reason = arena_printf(arena, "the task %s%s%s%s%s",
                                     closed ? "is closed" : "takes corrections of entries alone",
                                     since[0] == '\0' ? "" : " since ", since,
                                     setting->reason[0] == '\0' ? "" : ": ", setting->reason);
    return admission->reason == NULL ? error_set(err, ST_NO_MEMORY, NULL, "no memory for a reason")
                                     : ST_OK;
}

/* The same order as server/rank: smaller is better, equal values share a place. Only counts are asked for here, in
 * the transaction that decides. */
static enum status get_top5(struct db *db, const struct task *task, const struct figures *figures,
                            int64_t lineage_id, struct top5 *top5, struct error *err)
{
    const struct {
        const char *by;
        enum task_phase phase;
        struct opt_i64 value;
    } kinds[] = {
        {"time", TASK_TRAIN, figures->tta_ns},
        {"cost", TASK_TRAIN, figures->cost_pico},
        {"energy", TASK_TRAIN, figures->energy_uj},
        {"latency", TASK_INFERENCE, figures->latency_ns},
        {"inference-cost", TASK_INFERENCE, figures->inference_cost_pico},
    };
    enum status status = ST_OK;

    *top5 = (struct top5){0};
    for (size_t i = 0; i < ARRAY_LEN(kinds) && status == ST_OK; i++) {
        struct top5_board *board = &top5->boards[top5->count];

        if (kinds[i].phase != task->phase || !kinds[i].value.has)
            continue;
        *board = (struct top5_board){.by = kinds[i].by, .value = kinds[i].value.value};
        status = get_top5_board(db, task, lineage_id, board, err);
        top5->enters = top5->enters || board->enters;
        top5->count++;
    }
    return status;
}

static enum status get_top5_board(struct db *db, const struct task *task, int64_t lineage_id,
                                  struct top5_board *board, struct error *err)
{
    struct query_run run = query_begin(db, STMT_GET_FIFTH, NULL);
    enum status status;

    query_bind_text(&run, task->id);
    query_bind_text(&run, board->by);
    query_bind_i64(&run, lineage_id);
    query_bind_i64(&run, board->value);
    status = query_row(&run, err);
    if (status != ST_OK)
        return status;
    board->place = query_i64(&run) + 1;
    board->fifth = query_opt(&run);
    board->enters = board->place <= PLACES_REVIEWED;
    return query_end(&run, err);
}

/* "it enters no first five places: 7 by time, 12.3 s behind the fifth; 9 by cost, 1.25 USD behind the fifth" */
static const char *describe_distance(struct arena *arena, const struct top5 *top5)
{
    const char *text = NULL;
    struct buf out;

    buf_init(&out, REASON_BYTES);
    buf_append_cstr(&out, "only what enters the first five places of a board is reviewed: ");
    for (size_t i = 0; i < top5->count; i++) {
        buf_appendf(&out, "%splace %" PRId64 " by %s", i == 0 ? "" : "; ", top5->boards[i].place,
                    top5->boards[i].by);
        if (top5->boards[i].fifth.has)
            append_gap(&out, &top5->boards[i]);
    }
    if (!out.failed)
        text = arena_copy(arena, buf_str(&out));
    buf_fini(&out);
    return text;
}

static void append_gap(struct buf *out, const struct top5_board *board)
{
    static const struct {
        const char *by, *unit;
        double per_unit;
    } units[] = {{"time", "s", 1e9},
                 {"cost", "USD", 1e12},
                 {"energy", "J", 1e6},
                 {"latency", "ms", 1e6},
                 {"inference-cost", "USD", 1e12}};

    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (strcmp(units[i].by, board->by) == 0)
            buf_appendf(out, ", %.6g %s behind the fifth",
                        (double)(board->value - board->fifth.value) / units[i].per_unit,
                        units[i].unit);
}
