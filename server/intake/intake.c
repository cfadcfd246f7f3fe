/* server/intake/intake.c: see intake.h. */
#include "server/intake/intake.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/entry.h"
#include "server/intake/intake_internal.h"

enum { FINDINGS_FIRST = 16, DETAIL_BYTES_MAX = 1024 };

static void judge_missing_files(struct judge *judge);
static void judge_progress_files(struct judge *judge);
static const char *name_file(const struct judge *judge, const struct intake_place *place,
                             size_t *file_index);
static bool count_if_repeated(struct judge *judge, const struct intake_place *place,
                              const char *file, const char *code);
static struct intake_finding *next_finding(struct judge *judge);
static void finish_findings(struct judge *judge);
static void sort_findings(struct intake_result *result);

enum status intake_check(const struct intake_input *input, struct arena *arena,
                         struct intake_result *result, struct error *err)
{
    struct judge judge = {.input = input, .arena = arena, .result = result};

    assert(input->progress_count <= ENTRY_RUNS_MAX);
    *result = (struct intake_result){0};
    judge.runs = ARENA_NEW_ARRAY(arena, input->progress_count, struct intake_run);
    judge.no_memory = judge.runs == NULL;
    judge_missing_files(&judge);
    if (input->has_entry)
        judge_entry_file(&judge);
    if (input->task->phase == TASK_TRAIN && !judge.no_memory)
        judge_progress_files(&judge);
    if (judge.no_memory)
        return error_set(err, ST_NO_MEMORY, NULL, "out of memory while the files were judged");
    finish_findings(&judge);
    return ST_OK;
}

const char *intake_severity_name(enum intake_severity severity)
{
    static const char *const names[] = {"error", "warning", "advice"};

    return names[severity];
}

void judge_add(struct judge *judge, const struct intake_place *place, const char *code,
               const char *format, ...)
{
    const struct intake_code *info = intake_code_find(code);
    struct intake_finding *finding;
    size_t file_index;
    const char *file = name_file(judge, place, &file_index);
    char detail[DETAIL_BYTES_MAX];
    va_list args;
    int length;

    assert(info != NULL);
    if (info->severity == INTAKE_ADVICE && judge->input->mode == INTAKE_HISTORY)
        return;
    if (count_if_repeated(judge, place, file, info->code))
        return;
    finding = next_finding(judge);
    if (finding == NULL)
        return;
    va_start(args, format);
    length = vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    assert(length >= 0);
    *finding = (struct intake_finding){
        .file = file,
        .file_index = file_index,
        .line = place->line,
        .pointer = place->pointer == NULL ? "" : place->pointer,
        .field = judge_clean_text(judge, str_from_cstr(place->field)),
        .code = info->code,
        .severity = info->severity,
        .hint = place->hint == NULL ? info->hint : place->hint,
    };
    finding->detail = judge_clean_text(
        judge, str_slice(str_from_cstr(detail), 0,
                         str_utf8_cut(str_from_cstr(detail), DETAIL_BYTES_MAX - 4)));
}

bool judge_check_bytes(struct judge *judge, enum intake_file file, struct str text)
{
    struct intake_place place = {.file = file};
    struct str rest = text, line;
    bool more = true;

    if (text.len > ENTRY_FILE_BYTES_MAX) {
        judge_add(judge, &place, "file_too_large", "the file has %zu bytes, at most %d are read",
                  text.len, ENTRY_FILE_BYTES_MAX);
        return false;
    }
    if (str_trim(str_starts_with(text, STR("\xEF\xBB\xBF")) ? str_slice(text, 3, text.len) : text)
            .len == 0) {
        judge_add(judge, &place, "empty_file", "the file is empty");
        return false;
    }
    if (file == INTAKE_PROGRESS)
        return true; /* tsv_parse() looks at the lines: it knows all their ends */
    while (str_split_next(&rest, &more, '\n', &line)) {
        size_t at;

        place.line++;
        if (str_find_char(line, '\0', &at)) {
            judge_add(judge, &place, "nul_byte", "the line has a NUL byte");
            return false;
        }
        if (!str_is_utf8(line)) {
            judge_add(judge, &place, "not_utf8", "the line is not UTF-8");
            return false;
        }
    }
    return true;
}

const char *judge_clean_text(struct judge *judge, struct str text)
{
    const struct str trimmed = str_trim(text);
    char *copy = judge_copy(judge, trimmed);

    if (copy == NULL)
        return "";
    for (size_t i = 0; i < trimmed.len; i++)
        if ((unsigned char)copy[i] < ' ' || copy[i] == 0x7F)
            copy[i] = ' ';
    return copy;
}

char *judge_copy(struct judge *judge, struct str text)
{
    char *copy = arena_copy(judge->arena, text);

    judge->no_memory = judge->no_memory || copy == NULL;
    return copy;
}

static void judge_missing_files(struct judge *judge)
{
    const struct intake_input *input = judge->input;
    const bool train = input->task->phase == TASK_TRAIN;
    struct intake_place place = {.file = INTAKE_ENTRY};

    if (input->whole && !input->has_entry) {
        place.field = "entry";
        judge_add(judge, &place, "missing_file", "the entry (NAME.json) is missing");
    }
    if (input->whole && train && input->progress_count == 0) {
        place = (struct intake_place){.file = INTAKE_PROGRESS, .field = "progress"};
        judge_add(judge, &place, "missing_file", "the progress file (NAME.tsv) is missing");
    } else if (input->whole && train && input->progress_count < (size_t)input->task->runs) {
        place = (struct intake_place){.file = INTAKE_PROGRESS,
                                      .field = "progress",
                                      .hint = "send a progress file for each run"};
        judge_add(judge, &place, "missing_file", "%s asks for %d runs, %zu progress files are here",
                  input->task->id, input->task->runs, input->progress_count);
    }
    if (!train && input->progress_count > 0) {
        place = (struct intake_place){.file = INTAKE_PROGRESS, .field = "progress"};
        judge_add(judge, &place, "file_not_used", "%s has no progress file", input->task->id);
    }
}

static void judge_progress_files(struct judge *judge)
{
    const struct intake_input *input = judge->input;

    for (size_t i = 0; i < input->progress_count && !judge->no_memory; i++) {
        judge->run_index = i;
        judge->runs[i].file_name = input->progress[i].name;
        judge_progress_file(judge);
    }
    judge->run_index = 0;
    if (!judge->no_memory)
        judge_combine(judge);
}

/* Of several progress files each goes by its name. */
static const char *name_file(const struct judge *judge, const struct intake_place *place,
                             size_t *file_index)
{
    const struct intake_input *input = judge->input;
    const bool several = input->progress_count > 1 && input->task->phase == TASK_TRAIN;

    *file_index = place->file == INTAKE_ENTRY ? 0 : judge->run_index + 1;
    if (place->file == INTAKE_ENTRY)
        return "entry";
    if (!several || place->all_runs || input->progress[judge->run_index].name == NULL)
        return "progress";
    return input->progress[judge->run_index].name;
}

/* A fault on every line is told INTAKE_SAME_MAX times and then counted. */
static bool count_if_repeated(struct judge *judge, const struct intake_place *place,
                              const char *file, const char *code)
{
    struct intake_result *result = judge->result;
    const char *field = place->field == NULL ? "" : place->field;
    size_t same = 0, last = 0;

    for (size_t i = 0; i < result->finding_count; i++) {
        const struct intake_finding *finding = &result->findings[i];

        if (finding->code == code && str_eq_cstr(str_from_cstr(finding->file), file) &&
            str_eq_cstr(str_from_cstr(finding->field), field)) {
            same++;
            last = i;
        }
    }
    if (same < INTAKE_SAME_MAX)
        return false;
    judge->more[last]++;
    return true;
}

static struct intake_finding *next_finding(struct judge *judge)
{
    struct intake_result *result = judge->result;

    if (result->finding_count == judge->capacity) {
        const size_t capacity = judge->capacity == 0 ? FINDINGS_FIRST : judge->capacity * 2;
        struct intake_finding *findings =
            ARENA_NEW_ARRAY(judge->arena, capacity, struct intake_finding);
        size_t *more = ARENA_NEW_ARRAY(judge->arena, capacity, size_t);

        if (findings == NULL || more == NULL) {
            judge->no_memory = true;
            return NULL;
        }
        for (size_t i = 0; i < result->finding_count; i++) {
            findings[i] = result->findings[i];
            more[i] = judge->more[i];
        }
        result->findings = findings;
        judge->more = more;
        judge->capacity = capacity;
    }
    return &result->findings[result->finding_count++];
}

static void finish_findings(struct judge *judge)
{
    struct intake_result *result = judge->result;

    assert(result->finding_count == 0 || judge->more != NULL); /* they grow together */
    for (size_t i = 0; i < result->finding_count; i++) {
        struct intake_finding *finding = &result->findings[i];

        result->error_count += finding->severity == INTAKE_ERROR ? 1 : 0;
        result->warning_count += finding->severity == INTAKE_WARNING ? 1 : 0;
        result->advice_count += finding->severity == INTAKE_ADVICE ? 1 : 0;
        if (judge->more[i] > 0) {
            const char *detail = arena_printf(judge->arena, "%s (and %zu more like this)",
                                              finding->detail, judge->more[i]);

            finding->detail = detail == NULL ? finding->detail : detail;
        }
    }
    sort_findings(result);
    result->acceptable = result->error_count == 0;
}

/* By file, then line; insertion keeps the order of finding within a line, and the list is short. */
static void sort_findings(struct intake_result *result)
{
    for (size_t i = 1; i < result->finding_count; i++) {
        const struct intake_finding finding = result->findings[i];
        size_t at = i;

        while (at > 0) {
            const struct intake_finding *before = &result->findings[at - 1];

            if (before->file_index < finding.file_index ||
                (before->file_index == finding.file_index && before->line <= finding.line))
                break;
            result->findings[at] = *before;
            at--;
        }
        result->findings[at] = finding;
    }
}
