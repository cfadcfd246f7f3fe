/* server/page/run_page.c: one training. */
#include "server/page/run_page.h"

#include <inttypes.h>
#include <math.h>

#include "common/clock.h"
#include "common/decimal.h"
#include "server/page/analysis_page.h"
#include "server/page/format.h"

#define FACTS_MAX 16

struct facts {
    struct fact_view *items; /* FACTS_MAX places; NULL: no memory */
    size_t count;
};

static void add_fact(struct facts *facts, const char *term, struct str value);
static void fill_state(struct arena *arena, const struct run_record *run, struct run_view *view);
static void fill_tta(struct arena *arena, const struct run_page *data, struct run_view *view);
static void fill_figures(struct arena *arena, const struct run_page *data, struct run_view *view);
static void fill_facts(struct arena *arena, const struct run_page *data, struct run_view *view);
static void fill_axes(struct arena *arena, const struct run_page *data, struct run_view *view);
static void fill_epochs(struct arena *arena, const struct run_page *data, struct run_view *view);

void page_render_run(struct buf *out, const struct page_frame *frame, const struct run_page *data)
{
    struct arena *arena = frame->arena;
    const struct task *task = data->task;
    const struct run_record *run = data->run;
    struct page_title title = {
        .section = SECTION_TASKS,
        .script = "run.js",
        .chart = true,
    };
    struct run_view view = {
        .run = format_text(arena, "%" PRId64, run->id),
        .heading = layout_either(data->entry->model, run->entry_name),
        .task = layout_text(task->title),
        .task_href = format_text(arena, "/tasks/%s?hl=%" PRId64, task->id, run->entry_id),
        .entry_href = format_text(arena, "/entries/%" PRId64, run->entry_id),
        .author = layout_text(data->entry->author),
        .compare_href = format_text(arena, "/compare?runs=%" PRId64, run->id),
        .analyses = analysis_tabs(arena, task, NULL),
        .target = layout_text(task->target_text),
        .target_shown = format_target(arena, task),
        .metric = format_metric_title(arena, task),
        .unit = layout_text(task->unit),
        .metric_max = format_text(arena, "%g", task->metric_max),
        .tier = layout_tier(arena, run->tier, false, 0, false, 0.0),
        .json_href = format_text(arena, "/v1/runs/%" PRId64 "/epochs?limit=1000", run->id),
        .csv_href =
            format_text(arena, "/v1/runs/%" PRId64 "/epochs?format=csv&limit=1000", run->id),
        .tsv_href =
            format_text(arena, "/v1/runs/%" PRId64 "/epochs?format=tsv&limit=1000", run->id),
    };

    if (data->has_profile)
        view.roofline_href = format_text(arena, "/runs/%" PRId64 "/roofline", run->id);
    title.title = format_text(arena, "%.*s, run %" PRId64, STR_ARG(view.heading), run->id);
    title.description = format_text(arena, "A run of %s on %s.", run->entry_name, task->title);
    view.page = layout_make(frame, &title);
    if (data->run->ordinal > 1 || data->entry->run_count > 1)
        view.heading = format_text(arena, "%.*s, run %" PRId64 " of %" PRId64,
                                   STR_ARG(view.heading), run->ordinal, data->entry->run_count);
    fill_state(arena, run, &view);
    fill_tta(arena, data, &view);
    fill_figures(arena, data, &view);
    fill_facts(arena, data, &view);
    fill_axes(arena, data, &view);
    fill_epochs(arena, data, &view);
    template_run(out, &view);
}

static void add_fact(struct facts *facts, const char *term, struct str value)
{
    if (facts->items != NULL && facts->count < FACTS_MAX && value.len > 0)
        facts->items[facts->count++] = layout_fact(term, value);
}

static void fill_state(struct arena *arena, const struct run_record *run, struct run_view *view)
{
    static const struct {
        const char *state, *words;
        bool live;
    } states[] = {
        {"queued", "waits for an agent", true},
        {"running", "running", true},
        {"unreachable", "its agent does not answer", true},
        {"reached", "reached the target", false},
        {"missed", "ended below the target", false},
        {"failed", "failed", false},
        {"cancelled", "cancelled", false},
    };

    view->state = layout_text(run->state);
    view->state_words = view->state;
    view->reason = layout_text(run->reason);
    view->attempt = layout_text(run->fence);
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        if (str_eq_cstr(view->state, states[i].state)) {
            view->state_words = str_from_cstr(states[i].words);
            view->live = states[i].live;
        }
    if (run->phase != NULL && run->phase[0] != '\0' && str_eq_cstr(view->state, "running"))
        view->state_words = format_text(arena, "running: %s", run->phase);
}

static void fill_tta(struct arena *arena, const struct run_page *data, struct run_view *view)
{
    const struct run_record *run = data->run;
    struct tta_mark_view *mark = ARENA_NEW(arena, struct tta_mark_view);
    const char *reached = NULL;

    if (mark == NULL || !run->tta_ns.has)
        return;
    for (size_t i = 0; i < data->epoch_count; i++)
        if (run->tta_seq.has && data->epochs[i].seq == run->tta_seq.value)
            reached = data->epochs[i].value_text;
    mark->seconds = format_exact(arena, run->tta_ns.value, 9);
    mark->shown = format_duration(arena, run->tta_ns.value);
    mark->epoch = layout_text(run->tta_epoch_text);
    mark->at = format_text(arena, "to %.*s, at epoch %.*s", STR_ARG(view->target_shown),
                           STR_ARG(format_label(arena, run->tta_epoch_text)));
    if (reached != NULL)
        mark->at = format_text(arena, "%.*s with %.*s", STR_ARG(mark->at),
                               STR_ARG(format_metric_text(arena, data->task, reached)));
    view->tta = mark;
    view->tta_count = 1;
}

const char *run_page_price(const struct run_page *data)
{
    const char *price = data->run->cost_per_hour_text != NULL ? data->run->cost_per_hour_text
                                                              : data->entry->cost_per_hour_text;

    return price == NULL || price[0] == '\0' ? NULL : price;
}

/* TTA in hours times the price; for display, the board's own value is exact. */
static struct str run_cost(struct arena *arena, const struct run_page *data)
{
    const char *price = run_page_price(data);
    double per_hour;

    if (data->entry->run_count == 1 && data->entry->cost_pico.has)
        return format_money(arena, data->entry->cost_pico.value);
    if (!data->run->tta_ns.has || price == NULL ||
        !str_parse_double(str_from_cstr(price), &per_hour))
        return STR("");
    return format_money(arena, llround((double)data->run->tta_ns.value / (double)NS_PER_HOUR *
                                       per_hour * (double)PICO_PER_USD));
}

static void fill_figures(struct arena *arena, const struct run_page *data, struct run_view *view)
{
    const struct run_record *run = data->run;
    struct facts facts = {.items = ARENA_NEW_ARRAY(arena, FACTS_MAX, struct fact_view)};

    if (run->last_value_text != NULL)
        add_fact(&facts, view->live ? "Last evaluation" : "At the end",
                 format_metric_text(arena, data->task, run->last_value_text));
    add_fact(&facts, "Target", view->target_shown);
    add_fact(&facts, "Cost", run_cost(arena, data));
    if (run->wall_ns.has)
        add_fact(&facts, "Wall time", format_duration(arena, run->wall_ns.value));
    add_fact(&facts, "Evaluations", format_count(arena, run->epoch_count));
    view->figures = facts.items;
    view->figures_count = facts.count;
}

static void add_linked(struct facts *facts, const char *term, struct str value, struct str href)
{
    const size_t before = facts->count;

    add_fact(facts, term, value);
    if (facts->count > before)
        facts->items[before].href = href;
}

static void fill_facts(struct arena *arena, const struct run_page *data, struct run_view *view)
{
    const struct run_record *run = data->run;
    const struct entry_record *entry = data->entry;
    struct facts facts = {.items = ARENA_NEW_ARRAY(arena, FACTS_MAX, struct fact_view)};

    add_fact(&facts, "Hardware",
             layout_either(run->hardware, entry->hardware == NULL ? "" : entry->hardware));
    if (facts.count > 0) /* of the entry, whose page of hardware lists it */
        facts.items[0].href = layout_address(
            arena, "/hardware/",
            layout_either(entry->hardware, run->hardware == NULL ? "" : run->hardware));
    add_fact(&facts, "Framework", layout_text(entry->framework));
    add_fact(&facts, "Price per hour",
             entry->cost_per_hour_text == NULL
                 ? STR("")
                 : format_text(arena, "$%s", entry->cost_per_hour_text));
    if (run->workload != NULL)
        add_fact(
            &facts, "Workload and recipe",
            format_text(arena, "%s, %s", run->workload, run->recipe == NULL ? "-" : run->recipe));
    if (run->seed.has)
        add_fact(&facts, "Seed", format_text(arena, "%" PRId64, run->seed.value));
    add_fact(&facts, "Plan", layout_text(run->plan));
    if (run->agent_id.has)
        add_linked(&facts, "Agent", format_text(arena, "%" PRId64, run->agent_id.value),
                   format_text(arena, "/agents#agent-%" PRId64, run->agent_id.value));
    if (run->job_id.has)
        add_linked(&facts, "Job", format_text(arena, "%" PRId64, run->job_id.value),
                   format_text(arena, "/jobs/%" PRId64, run->job_id.value));
    add_fact(&facts, "Attempt", layout_text(run->fence));
    if (run->started_ms.has)
        add_fact(&facts, "Started", format_instant(arena, run->started_ms.value));
    if (run->ended_ms.has)
        add_fact(&facts, "Ended", format_instant(arena, run->ended_ms.value));
    add_fact(&facts, "Date", layout_text(entry->entry_date));
    add_fact(&facts, "Rules",
             format_text(arena, "%s, version %" PRId64, run->task, run->task_version));
    view->facts = facts.items;
    view->facts_count = facts.count;
}

static void fill_axes(struct arena *arena, const struct run_page *data, struct run_view *view)
{
    static const struct {
        const char *x, *axis, *label;
    } axes[] = {[RUN_BY_TIME] = {"time", "Time from the start of the run", "by time"},
                [RUN_BY_EPOCH] = {"epoch", "Epoch", "by epoch"},
                [RUN_BY_COST] = {"cost", "Cost, USD", "by cost"}};
    const size_t count = run_page_price(data) == NULL ? RUN_BY_COST : RUN_BY_COST + 1;
    struct link_view *links = ARENA_NEW_ARRAY(arena, count, struct link_view);

    view->x = str_from_cstr(axes[data->axis].x);
    view->axis = str_from_cstr(axes[data->axis].axis);
    view->price = layout_text(run_page_price(data));
    for (size_t i = 0; links != NULL && i < count; i++)
        links[i] = (struct link_view){
            .label = str_from_cstr(axes[i].label),
            .href = i == RUN_BY_TIME
                        ? format_text(arena, "/runs/%" PRId64, data->run->id)
                        : format_text(arena, "/runs/%" PRId64 "?x=%s", data->run->id, axes[i].x),
            .current = i == (size_t)data->axis};
    view->axes = (struct tabs_view){.label = STR("Horizontal axis"),
                                    .small = true,
                                    .links = links,
                                    .links_count = links == NULL ? 0 : count};
}

static bool meets_target(const struct task *task, const char *value_text)
{
    struct decimal value;

    return decimal_parse(str_from_cstr(value_text), true, &value, NULL, NULL) == ST_OK &&
           (task->higher_is_better ? decimal_cmp(value, task->target) >= 0
                                   : decimal_cmp(value, task->target) <= 0);
}

static void fill_epochs(struct arena *arena, const struct run_page *data, struct run_view *view)
{
    const size_t count = data->epoch_count;
    struct epoch_row_view *rows = ARENA_NEW_ARRAY(arena, count, struct epoch_row_view);
    const int64_t longest = count == 0 ? 0 : data->epochs[count - 1].official_ns;

    view->clock_unit = str_from_cstr(format_clock_unit(longest));
    view->last_seq = STR("0");
    view->epochs_heading =
        format_counted(arena, data->run->epoch_count, "evaluation", "evaluations");
    if ((int64_t)count < data->run->epoch_count)
        view->epochs_heading =
            format_text(arena, "The first %zu of %.*s", count, STR_ARG(view->epochs_heading));
    view->has_wall = view->has_counts = view->has_loss = view->live;
    for (size_t i = 0; rows != NULL && i < count; i++) {
        const struct epoch_record *from = &data->epochs[i];
        struct epoch_row_view *row = &rows[i];

        row->seq = format_text(arena, "%" PRId64, from->seq);
        row->epoch = layout_text(from->label);
        row->seconds = format_exact(arena, from->official_ns, 9);
        row->time = format_clock(arena, from->official_ns, longest);
        row->value = layout_text(from->value_text);
        row->accuracy = format_metric_text(arena, data->task, from->value_text);
        row->meets = meets_target(data->task, from->value_text);
        row->crosses = data->run->tta_seq.has && from->seq == data->run->tta_seq.value;
        if (from->wall_ns.has) {
            row->wall = format_clock(arena, from->wall_ns.value, longest);
            view->has_wall = true;
        }
        if (from->correct.has && from->total.has) {
            row->counted = format_text(arena, "%.*s of %.*s",
                                       STR_ARG(format_count(arena, from->correct.value)),
                                       STR_ARG(format_count(arena, from->total.value)));
            view->has_counts = true;
        }
        if (from->has_loss) {
            row->loss = format_text(arena, "%.4f", from->loss);
            view->has_loss = true;
        }
        view->last_seq = row->seq;
    }
    view->epochs = rows;
    view->epochs_count = rows == NULL ? 0 : count;
}
