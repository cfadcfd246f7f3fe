/* server/api/submission_write.c: see submission_write.h. */
#include "server/api/submission_write.h"

#include <assert.h>
#include <string.h>

static void write_own_file(struct json_out *out, const struct submission_view *view,
                           const char *ending, size_t bytes, const char *sha256);
static void write_file(struct json_out *out, const char *name, size_t bytes, const char *sha256);

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
    json_out_end(out, '}');
}

enum status submission_add_flag(struct arena *arena, struct intake_result *result,
                                const struct flag_record *flag, struct error *err)
{
    const bool logs = strcmp(flag->code, "equal-logs") == 0;
    const struct intake_code *code = intake_code_find(logs ? "equal_logs" : "equal_seeds");
    struct intake_finding *findings =
        ARENA_NEW_ARRAY(arena, result->finding_count + 1, struct intake_finding);

    assert(code != NULL && flag->ordinal.has);
    if (findings == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the findings");
    for (size_t i = 0; i < result->finding_count; i++)
        findings[i] = result->findings[i];
    findings[result->finding_count++] = (struct intake_finding){
        .file = logs ? "progress" : "entry",
        .pointer = "",
        .field = logs ? "" : "misc",
        .code = code->code,
        .severity = code->severity,
        .detail = flag->detail,
        .hint = code->hint,
    };
    if (logs && result->record.run_count > 1)
        findings[result->finding_count - 1].file =
            result->record.runs[flag->ordinal.value - 1].file_name;
    result->warning_count++;
    result->findings = findings;
    return ST_OK;
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

    (void)snprintf(name, sizeof name, "%s%s", view->name, ending);
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
