/* server/page/submit_view.c: see submit_view.h. */
#include "server/page/submit_view.h"

#include <inttypes.h>
#include <string.h>

#include "common/entry.h"
#include "server/page/format.h"

#define SOURCE_BYTES_MAX 160 /* shown of a line at fault */

static void fill_form(struct arena *arena, const struct submit_page *data,
                      struct submit_view *view);
static void fill_faults(struct arena *arena, const struct submit_page *data,
                        struct submit_view *view);
static void fill_findings(struct arena *arena, const struct submission_verdict *verdict,
                          struct submit_view *view);
static struct submit_finding_view make_finding(struct arena *arena,
                                               const struct submission_form *form,
                                               const struct intake_finding *finding);
static size_t find_file(const struct submission_form *form, const char *file);
static struct str name_file(struct arena *arena, const struct submission_form *form, size_t index);
static struct str find_source(struct arena *arena, const struct submission_form *form, size_t index,
                              int line);
static void fill_heading(struct arena *arena, const struct submit_page *data,
                         struct submit_view *view);
static void fill_figures(struct arena *arena, const struct submission_verdict *verdict,
                         struct submit_view *view);
static void fill_places(struct arena *arena, const struct submission_verdict *verdict,
                        struct submit_view *view);
static struct str format_value(struct arena *arena, const struct board_place *place);
static void fill_outcome(struct arena *arena, const struct submission_verdict *verdict,
                         struct submit_view *view);
static void fill_kept(struct arena *arena, const struct submission_form *form,
                      struct submit_view *view);

void page_render_submit(struct buf *out, const struct page_frame *frame,
                        const struct submit_page *data)
{
    struct arena *arena = frame->arena;
    const struct submission_verdict *verdict = data->verdict;
    const struct page_title title = {
        .title = STR("Submit"),
        .description = STR("Check the files of a submission, and submit them."),
        .section = SECTION_SUBMIT,
        .script = "submit.js",
    };
    struct submit_view view = {
        .page = layout_make(frame, &title),
        .bytes_max = format_text(arena, "%u", SUBMISSION_BODY_BYTES_MAX),
        .signed_in = frame->user != NULL,
        .login_href = layout_address(
            arena,
            "/login?back=", layout_address(arena, "/submit?task=", str_trim(data->fields.task_id))),
        .may_send = data->may_send,
    };

    fill_form(arena, data, &view);
    fill_faults(arena, data, &view);
    if (verdict != NULL) {
        fill_findings(arena, verdict, &view);
        if (verdict->result.acceptable && verdict->is_whole) {
            fill_figures(arena, verdict, &view);
            fill_places(arena, verdict, &view);
            fill_outcome(arena, verdict, &view);
            fill_kept(arena, &verdict->form, &view);
        }
    }
    fill_heading(arena, data, &view);
    template_submit(out, &view);
}

static void fill_form(struct arena *arena, const struct submit_page *data, struct submit_view *view)
{
    struct option_view *tasks = ARENA_NEW_ARRAY(arena, data->tasks->count, struct option_view);

    for (size_t i = 0; tasks != NULL && i < data->tasks->count; i++) {
        const struct task *task = &data->tasks->tasks[i];

        if (task->mlperf_round != NULL) /* their entries are logs: POST /v1/mlperf/logs */
            continue;
        tasks[view->tasks_count++] = (struct option_view){
            .value = str_from_cstr(task->id),
            .label = str_from_cstr(task->title),
            .current = str_eq_cstr(str_trim(data->fields.task_id), task->id),
        };
    }
    view->tasks = tasks;
    view->task_id = str_trim(data->fields.task_id);
    view->name = str_trim(data->fields.name);
    view->supersedes = str_trim(data->fields.supersedes);
    view->entry_text = data->fields.entry_text;
    view->progress_text = data->fields.progress_text;
    view->pasted = str_trim(view->entry_text).len > 0 || str_trim(view->progress_text).len > 0;
}

/* What kept the files from the judge, or the store. */
static void fill_faults(struct arena *arena, const struct submit_page *data,
                        struct submit_view *view)
{
    const bool listed = data->faults != NULL && data->faults->count > 0;
    const size_t count = listed ? data->faults->count : data->fault != NULL;
    const struct error *faults = listed ? data->faults->items : data->fault;
    struct submit_finding_view *rows = ARENA_NEW_ARRAY(arena, count, struct submit_finding_view);

    if (data->fault == NULL || rows == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct submit_finding_view){
            .severity = STR("error"),
            .code = layout_text(faults[i].code),
            .field = layout_text(faults[i].field),
            .detail = layout_text(faults[i].detail),
            .hint = layout_text(faults[i].hint),
        };
    view->faults = rows;
    view->faults_count = count;
    if (data->other.has) {
        view->other_href = format_text(arena, "/submissions/%" PRId64, data->other.value);
        view->other = format_text(arena, "submission %" PRId64, data->other.value);
    }
}

/* Errors first, then warnings, then advice: of each kind in the judge's order. */
static void fill_findings(struct arena *arena, const struct submission_verdict *verdict,
                          struct submit_view *view)
{
    const struct intake_result *result = &verdict->result;
    struct submit_finding_view *rows =
        ARENA_NEW_ARRAY(arena, result->finding_count, struct submit_finding_view);

    view->findings = rows;
    for (int severity = INTAKE_ERROR; severity <= INTAKE_ADVICE && rows != NULL; severity++)
        for (size_t i = 0; i < result->finding_count; i++)
            if ((int)result->findings[i].severity == severity)
                rows[view->findings_count++] =
                    make_finding(arena, &verdict->form, &result->findings[i]);
}

static struct submit_finding_view make_finding(struct arena *arena,
                                               const struct submission_form *form,
                                               const struct intake_finding *finding)
{
    const size_t file = find_file(form, finding->file);

    return (struct submit_finding_view){
        .severity = str_from_cstr(intake_severity_name(finding->severity)),
        .code = layout_text(finding->code),
        .part = file == 0 ? STR("entry") : STR("progress"),
        .file = name_file(arena, form, file),
        .line = finding->line == 0 ? STR("") : format_text(arena, "%d", finding->line),
        .field = layout_either(finding->field, finding->pointer),
        .detail = layout_text(finding->detail),
        .hint = layout_text(finding->hint),
        .source = finding->severity == INTAKE_ADVICE
                      ? STR("") /* on what is not there */
                      : find_source(arena, form, file, finding->line),
    };
}

/* 0: the entry; else which progress file, from 1. A finding names a file "entry", "progress", or, of several, as it is
 * called. */
static size_t find_file(const struct submission_form *form, const char *file)
{
    if (strcmp(file, "entry") == 0)
        return 0;
    for (size_t i = 0; i < form->progress_count; i++)
        if (form->progress[i].name != NULL && strcmp(form->progress[i].name, file) == 0)
            return i + 1;
    return 1;
}

/* As its author calls it. */
static struct str name_file(struct arena *arena, const struct submission_form *form, size_t index)
{
    if (index == 0)
        return form->has_name ? format_text(arena, "%.*s.json", STR_ARG(form->name))
                              : STR("The entry");
    return index > form->progress_count || form->progress[index - 1].name == NULL
               ? STR("The progress file")
               : str_from_cstr(form->progress[index - 1].name);
}

/* The line as it stands in the file, but for addresses: they are on no page. line 0: the whole file, and no line. */
static struct str find_source(struct arena *arena, const struct submission_form *form, size_t index,
                              int line)
{
    struct str rest = {0}, source = {0}, kept;
    struct buf shown;
    bool more = true;

    if (index == 0)
        rest = form->entry;
    else if (index <= form->progress_count)
        rest = form->progress[index - 1].bytes;
    for (int i = 0; i < line; i++)
        if (!str_split_next(&rest, &more, '\n', &source))
            return STR("");
    buf_init(&shown, (size_t)2 * ENTRY_FILE_BYTES_MAX);
    entry_append_without_addresses(&shown, source);
    kept = str_trim(shown.failed ? STR("") : buf_str(&shown));
    kept = format_text(arena, "%.*s%s", (int)str_utf8_cut(kept, SOURCE_BYTES_MAX), kept.data,
                       kept.len > SOURCE_BYTES_MAX ? " …" : "");
    buf_fini(&shown);
    return kept;
}

static void fill_heading(struct arena *arena, const struct submit_page *data,
                         struct submit_view *view)
{
    const struct submission_verdict *verdict = data->verdict;

    view->is_answer = data->fault != NULL || verdict != NULL;
    if (data->fault != NULL)
        view->heading = data->fields.sends ? STR("Nothing was stored") : STR("Not checked");
    else if (verdict == NULL)
        view->heading = STR("What the files hold");
    else if (!verdict->result.acceptable)
        view->heading = format_text(
            arena, "%s to mend",
            format_counted(arena, (int64_t)verdict->result.error_count, "fault", "faults").data);
    else if (verdict->is_whole)
        view->heading = STR("Good: this can be submitted");
    else
        view->heading = verdict->form.has_entry ? STR("Good so far: the progress file is missing")
                                                : STR("Good so far: the entry is missing");
}

static void fill_figures(struct arena *arena, const struct submission_verdict *verdict,
                         struct submit_view *view)
{
    const struct task *task = verdict->form.task;
    const struct intake_record *record = &verdict->result.record;
    struct fact_view *facts = ARENA_NEW_ARRAY(arena, 5, struct fact_view);
    size_t count = 0;

    if (facts == NULL)
        return;
    if (record->has_tta) {
        facts[count] =
            layout_fact(format_text(arena, "Time to %s", format_target(arena, task).data).data,
                        format_duration(arena, record->tta_ns));
        facts[count++].exact =
            format_text(arena, "%s s", format_exact(arena, record->tta_ns, 9).data);
    }
    if (record->has_latency)
        facts[count++] = layout_fact("Latency", format_latency(arena, record->latency_ns));
    facts[count++] = layout_fact(task->phase == TASK_TRAIN ? "Cost" : "Cost of a million",
                                 !record->has_cost ? STR("-")
                                 : task->phase == TASK_TRAIN
                                     ? format_money(arena, record->cost_pico)
                                     : format_money_per_million(arena, record->cost_pico));
    if (record->has_accuracy)
        facts[count++] = layout_fact(format_metric_title(arena, task).data,
                                     format_metric(arena, task, record->accuracy));
    if (record->run_count > 1)
        facts[count++] = layout_fact("Runs", format_count(arena, (int64_t)record->run_count));
    view->figures = facts;
    view->figures_count = count;
}

static void fill_places(struct arena *arena, const struct submission_verdict *verdict,
                        struct submit_view *view)
{
    const struct board_places *places = &verdict->places;
    struct submit_place_view *rows =
        ARENA_NEW_ARRAY(arena, places->count, struct submit_place_view);

    for (size_t i = 0; rows != NULL && i < places->count; i++) {
        const struct kept_place *at = &places->boards[i].at;
        const char *by = board_by_name(places->boards[i].by);

        rows[i] = (struct submit_place_view){
            .by = str_from_cstr(by),
            .board = format_text(arena, "by %s", strcmp(by, "inference-cost") == 0 ? "cost" : by),
            .href = format_text(arena, "/tasks/%s?by=%s", verdict->form.task->id, by),
            .place = format_text(arena, "%zu", at->place),
            .tied = at->tied,
            .of = format_text(arena, "%zu", at->total),
            .value = format_value(arena, &places->boards[i]),
        };
    }
    view->places = rows;
    view->places_count = rows == NULL ? 0 : places->count;
}

static struct str format_value(struct arena *arena, const struct board_place *place)
{
    switch (place->by) {
    case BOARD_TIME: return format_duration(arena, place->value);
    case BOARD_LATENCY: return format_latency(arena, place->value);
    case BOARD_INFERENCE_COST: return format_money_per_million(arena, place->value);
    case BOARD_ENERGY: return format_energy(arena, place->value);
    default: return format_money(arena, place->value);
    }
}

static void fill_outcome(struct arena *arena, const struct submission_verdict *verdict,
                         struct submit_view *view)
{
    static const struct {
        const char *state, *words;
    } rows[] = {
        {"accepted", "It is accepted at once"},
        {"in_review", "A reviewer looks at it first"},
        {"not_eligible", "It is stored, but gets no place"},
        {"refused", "The task takes none now"},
    };

    if (!verdict->has_outcome)
        return;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].state, verdict->outcome.state) == 0)
            view->outcome = format_text(arena, "%s: %s.", rows[i].words, verdict->outcome.reason);
}

/* The files themselves, for the button that submits what was checked. */
static void fill_kept(struct arena *arena, const struct submission_form *form,
                      struct submit_view *view)
{
    struct hidden_field_view *kept =
        ARENA_NEW_ARRAY(arena, 1 + form->progress_count, struct hidden_field_view);

    if (kept == NULL)
        return;
    view->sent_name = form->has_name ? form->name : STR("");
    view->kept = kept;
    kept[view->kept_count++] = (struct hidden_field_view){
        STR("entry_kept"), layout_text(submit_keep_file(arena, STR(""), form->entry))};
    for (size_t i = 0; i < form->progress_count; i++)
        kept[view->kept_count++] = (struct hidden_field_view){
            STR("progress_kept"),
            layout_text(submit_keep_file(arena, layout_text(form->progress[i].name),
                                         form->progress[i].bytes))};
}
