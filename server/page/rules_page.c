/* server/page/rules_page.c: see rules_page.h. */
#include "server/page/rules_page.h"

#include <string.h>

#include "server/page/format.h"
#include "server/page/measure_view.h"
#include "server/rank/board.h"

#define FACTS_MAX 12

static void fill_facts(struct arena *arena, const struct task *task,
                       const struct task_setting *setting, struct rules_view *view);
static void fill_boards(struct arena *arena, const struct task *task, struct rules_view *view);
static struct str runs_words(struct arena *arena, const struct task *task);
static struct str files_words(struct arena *arena, const struct task *task);
static struct str policy_words(const struct task_setting *setting);
static struct str review_words(const struct task_setting *setting);

void page_render_rules(struct buf *out, const struct page_frame *frame, const struct task *task,
                       const struct task_setting *setting)
{
    struct arena *arena = frame->arena;
    const struct page_title title = {
        .title = format_text(arena, "Rules of %s", task->title),
        .description = layout_text(task->description),
        .section = SECTION_DOCS,
    };
    struct rules_view view = {
        .page = layout_make(frame, &title),
        .heading = title.title,
        .task_href = format_text(arena, "/tasks/%s", task->id),
        .json_href = format_text(arena, "/v1/tasks/%s", task->id),
        .description = title.description,
        .clock_rule = layout_text(task->clock_rule),
        .allowed = layout_text(task->allowed),
        .trains = task->phase == TASK_TRAIN,
        .of_mlperf = task->mlperf_round != NULL,
        .submit_href =
            task->mlperf_round != NULL ? STR("") : format_text(arena, "/submit?task=%s", task->id),
        .of_dawnbench = task->dawnbench != NULL,
        .score = layout_text(task_score_name(task->score)),
        .runs_words = runs_words(arena, task),
        .files_words = files_words(arena, task),
        .policy_words = policy_words(setting),
        .review_words = review_words(setting),
    };

    if (setting->at_ms.has)
        view.setting_words = format_text(
            arena, "So since %.*s, by %s: %s", STR_ARG(format_instant(arena, setting->at_ms.value)),
            setting->by == NULL ? "the server" : setting->by, setting->reason);
    if (task->workload != NULL)
        view.command = format_text(arena,
                                   task->phase == TASK_TRAIN
                                       ? "daybreak-agent train %s --task %s"
                                       : "daybreak-agent infer %s --model model.safetensors",
                                   task->workload, task->id);
    fill_facts(arena, task, setting, &view);
    fill_boards(arena, task, &view);
    template_rules(out, &view);
}

static void fill_facts(struct arena *arena, const struct task *task,
                       const struct task_setting *setting, struct rules_view *view)
{
    struct fact_view *facts = ARENA_NEW_ARRAY(arena, FACTS_MAX, struct fact_view);
    size_t count = 0;

    if (facts == NULL)
        return;
    facts[count++] = layout_fact("Data set", layout_text(task->dataset));
    facts[count++] = layout_fact("Target", format_goal(arena, task));
    facts[count++] = layout_fact(
        "Metric", format_text(arena, "%s, %s", task->metric,
                              strcmp(task->unit, "percent") == 0    ? "in percent"
                              : strcmp(task->unit, "fraction") == 0 ? "as a fraction of 1"
                                                                    : "as a score"));
    facts[count++] = layout_fact("Better", task->higher_is_better ? STR("higher") : STR("lower"));
    if (task->validation_size > 0)
        facts[count++] = layout_fact("Validation set",
                                     format_counted(arena, task->validation_size, "item", "items"));
    facts[count++] = layout_fact(
        "Runs of an entry",
        format_text(arena, task->mlperf_round == NULL ? "%d or more" : "%d", task->runs));
    facts[count++] = layout_fact("Takes results", layout_text(task_policy_name(setting->policy)));
    facts[count++] = layout_fact("Review", layout_text(task_review_name(setting->review)));
    facts[count++] = layout_fact("Version of the rules", format_text(arena, "%d", task->version));
    view->facts = facts;
    view->facts_count = count;
}

static void fill_boards(struct arena *arena, const struct task *task, struct rules_view *view)
{
    struct rules_board_view *boards =
        ARENA_NEW_ARRAY(arena, BOARD_ENERGY + 1, struct rules_board_view);

    for (int by = BOARD_TIME; boards != NULL && by <= BOARD_ENERGY; by++)
        if (board_by_fits((enum board_by)by, task))
            boards[view->boards_count++] = (struct rules_board_view){
                .title = layout_text(measure_title((enum board_by)by)),
                .unit = layout_text(board_by_unit((enum board_by)by)),
                .href = format_text(arena, "/tasks/%s?by=%s", task->id,
                                    board_by_name((enum board_by)by)),
                .how_href = layout_text(measure_how((enum board_by)by)),
            };
    view->boards = boards;
}

/* How the runs of an entry make its value; the measure's own words stand in the documentation. */
static struct str runs_words(struct arena *arena, const struct task *task)
{
    if (task->phase == TASK_INFERENCE)
        return STR("An entry has one latency, which is a mean already.");
    if (task->mlperf_round != NULL)
        return format_text(arena, "An entry has %d runs, whose times make one by the rule",
                           task->runs);
    return format_text(arena,
                       "An entry has %d %s or more; the times of several make one by the rule",
                       task->runs, task->runs == 1 ? "run" : "runs");
}

static struct str files_words(struct arena *arena, const struct task *task)
{
    struct str columns = layout_text(task->metric);

    if (task->mlperf_round != NULL)
        return STR("The training logs of all runs, as they were printed.");
    if (task->phase == TASK_INFERENCE)
        return format_text(arena, "One file, NAME.json, with latency, cost and %s.", task->metric);
    for (size_t i = 0; i < task->column_count; i++)
        columns = format_text(arena, "%.*s, %s", STR_ARG(columns), task->columns[i]);
    return format_text(arena,
                       "NAME.json, and for each run a TSV with the columns epoch, hours, %.*s.",
                       STR_ARG(columns));
}

static struct str policy_words(const struct task_setting *setting)
{
    switch (setting->policy) {
    case TASK_OPEN: return STR("Results are taken and ranked.");
    case TASK_METADATA_ONLY: return STR("New results are kept and listed below the boards.");
    case TASK_CLOSED: break;
    }
    return STR("New results are not taken.");
}

static struct str review_words(const struct task_setting *setting)
{
    switch (setting->review) {
    case TASK_REVIEW_NONE: return STR("What passes the checks is accepted.");
    case TASK_REVIEW_TOP5:
        return STR("A reviewer decides on what would enter the first five places of a board.");
    case TASK_REVIEW_ALL: break;
    }
    return STR("A reviewer decides on each.");
}
