/* server/api/submission_write.c: see submission_write.h. */
#include "server/api/submission_write.h"

#include <assert.h>
#include <string.h>

static void write_own_file(struct json_out *out, const struct submission_view *view,
                           const char *ending, size_t bytes, const char *sha256);
static void write_file(struct json_out *out, const char *name, size_t bytes, const char *sha256);

static void write_revisions(struct json_out *out, const struct submission_view *view);
static void write_steps(struct json_out *out, const struct submission_view *view);

void submission_write(struct json_out *out, const struct submission_view *view)
{
    json_out_begin(out, NULL, '{');
    json_out_i64(out, "submission", view->id);
    json_out_text(out, "task", view->task);
    if (view->task_version > 0)
        json_out_i64(out, "task_version", view->task_version);
    json_out_text(out, "name", view->name);
    json_out_text(out, "author", view->author);
    json_out_text(out, "state", view->state);
    json_out_text(out, "reason", view->reason);
    json_out_time(out, "since", view->since_ms);
    json_out_text(out, "next", view->next);
    json_out_text(out, "owner", view->owner);
    if (view->deadline_ms.has)
        json_out_time(out, "deadline", view->deadline_ms.value);
    if (view->overdue_ms.has)
        json_out_time(out, "overdue_since", view->overdue_ms.value);
    json_out_text(out, "kind", view->kind);
    json_out_i64(out, "revision", view->revision);
    write_revisions(out, view);
    write_steps(out, view);
    json_out_optional(out, "supersedes", view->supersedes_id);
    json_out_optional(out, "superseded_by", view->superseded_by_id);
    json_out_optional(out, "entry", view->entry_id);
    json_out_decimal(out, "tta_s", view->tta_ns, 9);
    if (view->latency_text != NULL)
        json_out_number(out, "latency_ms", view->latency_text);
    else
        json_out_decimal(out, "latency_ms", view->latency_ns, 6);
    if (view->cost_text != NULL)
        json_out_number(out, "cost_usd", view->cost_text);
    else
        json_out_decimal(out, "cost_usd", view->cost_pico, 12);
    if (view->run_count > 0)
        json_out_i64(out, "n", view->run_count);
    json_out_optional(out, "place", view->place);
    if (view->places != NULL)
        submission_write_places(out, view->places);
    json_out_begin(out, "files", '[');
    write_own_file(out, view, ".json", view->entry_bytes, view->entry_sha256);
    if (view->has_progress)
        write_own_file(out, view, ".tsv", view->progress_bytes, view->progress_sha256);
    for (size_t i = 0; i < view->further_count; i++)
        write_file(out, view->further[i].name, view->further[i].bytes.len, view->further[i].sha256);
    json_out_end(out, ']');
    submission_write_flags(out, view->flags, view->flag_count);
    if (view->result != NULL)
        submission_write_findings(out, "findings", view->result);
    if (view->top5 != NULL)
        submission_write_top5(out, view->top5);
    json_out_end(out, '}');
}

static void write_revisions(struct json_out *out, const struct submission_view *view)
{
    if (view->revision_count < 2)
        return;
    json_out_begin(out, "revisions", '[');
    for (size_t i = 0; i < view->revision_count; i++) {
        json_out_begin(out, NULL, '{');
        json_out_i64(out, "submission", view->revisions[i].id);
        json_out_i64(out, "revision", view->revisions[i].revision);
        json_out_text(out, "state", view->revisions[i].state);
        json_out_time(out, "received", view->revisions[i].received_ms);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
}

static void write_steps(struct json_out *out, const struct submission_view *view)
{
    if (view->steps == NULL)
        return;
    json_out_begin(out, "steps", '[');
    for (size_t i = 0; i < view->step_count; i++) {
        const struct transition_record *step = &view->steps[i];

        if (strcmp(step->scope, "server") == 0)
            continue;
        json_out_begin(out, NULL, '{');
        json_out_text(out, "action", step->action);
        json_out_text(out, "to", step->to_state);
        json_out_text(out, "who", strcmp(step->scope, "own") == 0 ? "submitter" : "reviewer");
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
}

void submission_write_places(struct json_out *out, const struct board_places *places)
{
    static const int digits[] = {[BOARD_TIME] = 9,
                                 [BOARD_COST] = 12,
                                 [BOARD_LATENCY] = 6,
                                 [BOARD_INFERENCE_COST] = 12,
                                 [BOARD_ENERGY] = 6};

    if (places->count == 0)
        return;
    json_out_begin(out, "places", '[');
    for (size_t i = 0; i < places->count; i++) {
        const enum board_by by = places->boards[i].by;
        const struct kept_place *at = &places->boards[i].at;

        json_out_begin(out, NULL, '{');
        json_out_text(out, "by", board_by_name(by));
        json_out_text(out, "unit", board_by_unit(by));
        json_out_i64(out, "place", (int64_t)at->place);
        json_out_bool(out, "tied", at->tied);
        json_out_i64(out, "of", (int64_t)at->total);
        json_out_decimal(out, "value", (struct opt_i64){true, places->boards[i].value}, digits[by]);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
}

void submission_write_top5(struct json_out *out, const struct top5 *top5)
{
    static const struct {
        const char *by, *unit;
        int places;
    } units[] = {
        {"time", "s", 9},     {"cost", "USD", 12},           {"energy", "J", 6},
        {"latency", "ms", 6}, {"inference-cost", "USD", 12},
    };

    json_out_begin(out, "top5", '{');
    json_out_bool(out, "enters", top5->enters);
    json_out_begin(out, "boards", '[');
    for (size_t i = 0; i < top5->count; i++) {
        const struct top5_board *board = &top5->boards[i];
        size_t u = 0;

        while (u + 1 < ARRAY_LEN(units) && strcmp(units[u].by, board->by) != 0)
            u++;
        json_out_begin(out, NULL, '{');
        json_out_text(out, "by", board->by);
        json_out_text(out, "unit", units[u].unit);
        json_out_i64(out, "place", board->place);
        json_out_decimal(out, "value", (struct opt_i64){true, board->value}, units[u].places);
        json_out_decimal(out, "fifth", board->fifth, units[u].places);
        if (board->fifth.has && !board->enters)
            json_out_decimal(out, "behind",
                             (struct opt_i64){true, board->value - board->fifth.value},
                             units[u].places);
        json_out_bool(out, "enters", board->enters);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    json_out_end(out, '}');
}

enum status submission_add_finding(struct arena *arena, struct intake_result *result,
                                   const struct intake_finding *finding, struct error *err)
{
    struct intake_finding *findings =
        ARENA_NEW_ARRAY(arena, result->finding_count + 1, struct intake_finding);

    assert(finding->severity == INTAKE_WARNING); /* nothing that turns the verdict */
    if (findings == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the findings");
    for (size_t i = 0; i < result->finding_count; i++)
        findings[i] = result->findings[i];
    findings[result->finding_count++] = *finding;
    result->warning_count++;
    result->findings = findings;
    return ST_OK;
}

enum status submission_add_flag(struct arena *arena, struct intake_result *result,
                                const struct flag_record *flag, struct error *err)
{
    const bool logs = strcmp(flag->code, "equal-logs") == 0;
    const struct intake_code *code = intake_code_find(logs ? "equal_logs" : "equal_seeds");

    assert(code != NULL && flag->ordinal.has);
    return submission_add_finding(
        arena, result,
        &(struct intake_finding){
            .file = logs && result->record.run_count > 1
                        ? result->record.runs[flag->ordinal.value - 1].file_name
                    : logs ? "progress"
                           : "entry",
            .pointer = "",
            .field = logs ? "" : "misc",
            .code = code->code,
            .severity = code->severity,
            .detail = flag->detail,
            .hint = code->hint,
        },
        err);
}

void submission_write_checks(struct json_out *out, const struct check_record *checks, size_t count)
{
    if (count == 0)
        return;
    json_out_begin(out, "checks", '[');
    for (size_t i = 0; i < count; i++) {
        json_out_begin(out, NULL, '{');
        json_out_text(out, "rule", checks[i].rule);
        json_out_text(out, "verdict", checks[i].verdict);
        json_out_text(out, "file", checks[i].file);
        json_out_optional(out, "line", checks[i].line);
        json_out_text(out, "detail", checks[i].detail);
        if (checks[i].hint[0] != '\0')
            json_out_text(out, "hint", checks[i].hint);
        json_out_optional(out, "run", checks[i].run_id);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
}

void submission_write_flags(struct json_out *out, const struct flag_record *flags, size_t count)
{
    if (count == 0)
        return;
    json_out_begin(out, "flags", '[');
    for (size_t i = 0; i < count; i++) {
        json_out_begin(out, NULL, '{');
        json_out_text(out, "code", flags[i].code);
        json_out_text(out, "detail", flags[i].detail);
        json_out_optional(out, "run", flags[i].run_id);
        json_out_optional(out, "other_entry", flags[i].other_entry_id);
        json_out_optional(out, "other_run", flags[i].other_run_id);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
}

void submission_write_findings(struct json_out *out, const char *key,
                               const struct intake_result *result)
{
    json_out_begin(out, key, '[');
    for (size_t i = 0; i < result->finding_count; i++) {
        const struct intake_finding *finding = &result->findings[i];

        json_out_begin(out, NULL, '{');
        json_out_text(out, "file", finding->file);
        if (finding->line > 0)
            json_out_i64(out, "line", finding->line);
        if (finding->pointer != NULL && finding->pointer[0] != '\0')
            json_out_text(out, "pointer", finding->pointer);
        if (finding->field != NULL && finding->field[0] != '\0')
            json_out_text(out, "field", finding->field);
        json_out_text(out, "code", finding->code);
        json_out_text(out, "severity", intake_severity_name(finding->severity));
        json_out_text(out, "detail", finding->detail);
        if (finding->hint != NULL && finding->hint[0] != '\0')
            json_out_text(out, "hint", finding->hint);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
}

const struct problem_item *submission_list_items(struct arena *arena,
                                                 const struct intake_result *result)
{
    struct problem_item *items = ARENA_NEW_ARRAY(arena, result->finding_count, struct problem_item);

    if (items == NULL)
        return NULL;
    for (size_t i = 0; i < result->finding_count; i++) {
        const struct intake_finding *finding = &result->findings[i];

        items[i] = (struct problem_item){
            .file = finding->file,
            .line = finding->line,
            .pointer = finding->pointer,
            .field = finding->field,
            .code = finding->code,
            .severity = intake_severity_name(finding->severity),
            .detail = finding->detail,
            .hint = finding->hint,
        };
    }
    return items;
}

static void write_own_file(struct json_out *out, const struct submission_view *view,
                           const char *ending, size_t bytes, const char *sha256)
{
    char name[256];

    (void)snprintf(name, sizeof name, "%s%s",
                   view->files_name == NULL ? view->name : view->files_name, ending);
    write_file(out, name, bytes, sha256);
}

static void write_file(struct json_out *out, const char *name, size_t bytes, const char *sha256)
{
    json_out_begin(out, NULL, '{');
    json_out_text(out, "name", name);
    json_out_i64(out, "bytes", (int64_t)bytes);
    json_out_text(out, "sha256", sha256);
    json_out_end(out, '}');
}
