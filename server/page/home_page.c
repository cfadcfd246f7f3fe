/* server/page/home_page.c: the home page. */
#include "server/page/home_page.h"

#include <inttypes.h>

#include "common/clock.h"
#include "server/page/format.h"
#include "server/page/measure_view.h"
#include "server/page/stairs.h"

static struct record_view make_record(struct arena *arena, const struct board *board,
                                      const char *heading);
static struct task_card_view make_card(struct arena *arena, const struct home_task *from);
static struct mlperf_row_view make_row(struct arena *arena, const struct home_task *from);
static void fill_live(struct arena *arena, const struct home_data *data, struct home_view *view);
static void fill_latest(struct arena *arena, const struct home_data *data, struct home_view *view);

void page_render_home(struct buf *out, const struct page_frame *frame, const struct home_data *data)
{
    struct arena *arena = frame->arena;
    const size_t count = data->tasks->count;
    struct task_card_view *training = ARENA_NEW_ARRAY(arena, count, struct task_card_view);
    struct task_card_view *inference = ARENA_NEW_ARRAY(arena, count, struct task_card_view);
    struct mlperf_row_view *rounds = ARENA_NEW_ARRAY(arena, count, struct mlperf_row_view);
    const struct page_title title = {
        .title = STR("Time and cost to accuracy"),
        .description =
            STR("Training systems ranked by the time and the cost to reach a given accuracy."),
        .section = SECTION_TASKS,
        .script = "home.js",
    };
    struct home_view view = {.page = layout_make(frame, &title), .empty = true};

    for (size_t i = 0; training != NULL && inference != NULL && i < count; i++) {
        const bool is_card = data->cards[i].task->mlperf_round == NULL;
        const struct task_card_view card =
            is_card ? make_card(arena, &data->cards[i]) : (struct task_card_view){0};

        view.empty = view.empty && data->cards[i].entry_count == 0;
        if (data->cards[i].task->mlperf_round != NULL) {
            if (rounds != NULL && data->cards[i].entry_count > 0)
                rounds[view.mlperf_count++] = make_row(arena, &data->cards[i]);
        } else if (data->cards[i].task->phase == TASK_TRAIN)
            training[view.training_count++] = card;
        else
            inference[view.inference_count++] = card;
    }
    view.mlperf = rounds;
    view.training = training;
    view.inference = inference;
    fill_live(arena, data, &view);
    fill_latest(arena, data, &view);
    template_home(out, &view);
}

static struct record_view make_record(struct arena *arena, const struct board *board,
                                      const char *heading)
{
    const bool is_default = board->by == BOARD_TIME || board->by == BOARD_LATENCY;
    struct record_view view = {
        .heading = str_from_cstr(heading),
        .board = is_default ? format_text(arena, "/tasks/%s", board->task->id)
                            : format_text(arena, "/tasks/%s?by=%s", board->task->id,
                                          board_by_name(board->by)),
    };
    const struct board_entry *best;
    char date[CLOCK_TEXT_BYTES];
    int64_t value;

    if (board->item_count == 0 || !board_value(board->items[0].row, board->by, &value))
        return view;
    best = board->items[0].row;
    clock_format_days(best->date_days, date);
    view.value = measure_shown(arena, board->by, value);
    view.exact = measure_exact(arena, board->by, best);
    view.model = layout_either(best->model, best->name);
    view.author = layout_text(best->author);
    view.date = format_text(arena, "%s", date);
    view.href = format_text(arena, "/entries/%" PRId64, best->entry);
    view.tier = layout_tier(arena, best->tier, best->has_n, best->n, board->items[0].has_cv,
                            board->items[0].cv);
    return view;
}

static struct task_card_view make_card(struct arena *arena, const struct home_task *from)
{
    const bool train = from->task->phase == TASK_TRAIN;
    struct record_view *records = ARENA_NEW_ARRAY(arena, 2, struct record_view);
    struct stairs_view *stairs = ARENA_NEW(arena, struct stairs_view);
    struct task_card_view card = {
        .id = str_from_cstr(from->task->id),
        .title = str_from_cstr(from->task->title),
        .goal = format_goal(arena, from->task),
        .href = format_text(arena, "/tasks/%s", from->task->id),
        .count = format_counted(arena, (int64_t)from->entry_count, "entry", "entries"),
    };

    if (records != NULL) {
        records[0] = make_record(arena, &from->first, train ? "Fastest" : "Lowest latency");
        records[1] =
            make_record(arena, &from->second, train ? "Cheapest" : "Cheapest million items");
        card.records = records;
        card.records_count = 2;
    }
    if (stairs != NULL && stairs_make(arena, &from->first, stairs)) {
        card.stairs = stairs;
        card.stairs_count = 1;
    }
    return card;
}

/* The tasks of MLPerf are many: each is a row, and one without entries none. */
static struct mlperf_row_view make_row(struct arena *arena, const struct home_task *from)
{
    const struct record_view record = make_record(arena, &from->first, "");

    return (struct mlperf_row_view){
        .title = str_from_cstr(from->task->title),
        .href = format_text(arena, "/tasks/%s", from->task->id),
        .goal = format_goal(arena, from->task),
        .count = format_count(arena, (int64_t)from->entry_count),
        .value = record.value.len == 0 ? STR("-") : record.value,
        .author = record.author,
        .record_href = record.href,
    };
}

static void fill_live(struct arena *arena, const struct home_data *data, struct home_view *view)
{
    struct live_run_view *rows = ARENA_NEW_ARRAY(arena, data->live_count, struct live_run_view);

    for (size_t i = 0; rows != NULL && i < data->live_count; i++) {
        const struct run_record *run = &data->live[i];
        const struct task *task = task_find(data->tasks, str_from_cstr(run->task));
        struct str value = {0};

        rows[i] = (struct live_run_view){
            .run = format_text(arena, "%" PRId64, run->id),
            .href = format_text(arena, "/runs/%" PRId64, run->id),
            .name = layout_text(run->entry_name),
            .task = layout_text(task == NULL ? run->task : task->title),
            .state = layout_text(run->state),
            .hardware = layout_text(run->hardware),
            .progress = layout_either(run->phase, "setting up"),
        };
        if (task == NULL)
            continue;
        rows[i].target = format_text(arena, "target %.*s", STR_ARG(format_target(arena, task)));
        value = format_metric_text(arena, task, run->last_value_text);
        if (run->epoch_count > 0)
            rows[i].progress = format_text(
                arena, "%.*s, last %.*s",
                STR_ARG(format_counted(arena, run->epoch_count, "evaluation", "evaluations")),
                STR_ARG(value));
    }
    view->live = rows;
    view->live_count = rows == NULL ? 0 : data->live_count;
}

static void fill_latest(struct arena *arena, const struct home_data *data, struct home_view *view)
{
    struct latest_view *rows = ARENA_NEW_ARRAY(arena, data->latest_count, struct latest_view);

    for (size_t i = 0; rows != NULL && i < data->latest_count; i++) {
        const struct entry_record *entry = &data->latest[i];
        const struct task *task = task_find(data->tasks, str_from_cstr(entry->task));

        rows[i] = (struct latest_view){
            .href = format_text(arena, "/entries/%" PRId64, entry->id),
            .name = layout_either(entry->model, entry->name),
            .author = layout_text(entry->author),
            .task = layout_text(task == NULL ? entry->task : task->title),
            .task_href = format_text(arena, "/tasks/%s", entry->task),
            .date = layout_text(entry->entry_date),
            .value = STR("-"),
        };
        if (entry->tta_ns.has)
            rows[i].value = format_duration(arena, entry->tta_ns.value);
        else if (entry->latency_ns.has)
            rows[i].value = format_latency(arena, entry->latency_ns.value);
    }
    view->latest = rows;
    view->latest_count = rows == NULL ? 0 : data->latest_count;
}
