/* tests/fuzz/fuzz_intake.c: the judge of submissions on any files. The first byte chooses task and mode; the files,
 * the entry first, are apart by a byte 0x1F each. Whatever is judged: counts add up, every finding is whole and in order, and what
 * is acceptable has all that the store asserts. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/task.h"
#include "server/api/accept.h"
#include "server/intake/intake.h"

enum { RUNS_MAX = 5 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static const struct task_table *shared_tasks(void)
{
    static struct task_table *tasks; /* for the life of the fuzzer */

    if (tasks == NULL && task_table_create(&tasks, NULL) != ST_OK)
        abort();
    return tasks;
}

static void check_findings(const struct intake_result *result)
{
    size_t counts[3] = {0, 0, 0};

    for (size_t i = 0; i < result->finding_count; i++) {
        const struct intake_finding *finding = &result->findings[i];

        counts[finding->severity]++;
        if (intake_code_find(finding->code) == NULL || finding->detail[0] == '\0' ||
            finding->hint[0] == '\0' || finding->line < 0 ||
            !str_is_utf8(str_from_cstr(finding->detail)) ||
            strpbrk(finding->detail, "\t\r\n") != NULL || strpbrk(finding->field, "\t\r\n") != NULL)
            __builtin_trap();
    }
    if (counts[INTAKE_ERROR] != result->error_count ||
        counts[INTAKE_WARNING] != result->warning_count ||
        counts[INTAKE_ADVICE] != result->advice_count ||
        result->acceptable != (result->error_count == 0))
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct intake_input input = {.whole = true, .today_days = 20788};
    struct intake_source sources[RUNS_MAX];
    struct intake_result result;
    struct new_entry entry;
    struct str rest;
    struct arena arena;
    size_t at;

    if (bytes == 0)
        return 0;
    input.task = &shared_tasks()->tasks[(data[0] & 7) % shared_tasks()->count];
    input.mode = (data[0] & 8) != 0 ? INTAKE_HISTORY : INTAKE_NEW;
    input.entry = (struct str){(const char *)data + 1, bytes - 1};
    input.has_entry = true;
    input.progress = sources;
    rest = input.entry;
    while (input.progress_count < RUNS_MAX && str_find_char(rest, '\x1F', &at)) {
        struct intake_source *source = &sources[input.progress_count++];

        if (input.progress_count == 1)
            input.entry = str_slice(rest, 0, at);
        else
            sources[input.progress_count - 2].bytes = str_slice(rest, 0, at);
        rest = str_slice(rest, at + 1, rest.len);
        *source = (struct intake_source){"run.tsv", rest};
    }
    arena_init(&arena, INTAKE_ARENA_BYTES(bytes));
    if (intake_check(&input, &arena, &result, NULL) != ST_OK)
        __builtin_trap(); /* the arena is said to be enough for whatever is in the files */
    check_findings(&result);
    if (result.acceptable &&
        (accept_fill_entry(input.task, STR("name"), &result.record, NULL, &arena, &entry, NULL) !=
             ST_OK ||
         entry.model == NULL || entry.author == NULL || entry.hardware == NULL ||
         entry.framework == NULL || entry.claimed_date == NULL ||
         (input.task->phase == TASK_TRAIN ? !entry.tta_ns.has || entry.tta_ns.value <= 0
                                          : !entry.latency_ns.has || entry.latency_ns.value <= 0)))
        __builtin_trap();
    arena_fini(&arena);
    return 0;
}
