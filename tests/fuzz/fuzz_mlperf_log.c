/* tests/fuzz/fuzz_mlperf_log.c: mlperf_log_read() on any bytes, judged by each round. Whatever is read: lines lie within
 * the file, counts add up, what was fed in pieces gives the same, and every verdict is a sentence. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/mlperf/judge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static const struct mlperf_rules *shared_rules(void)
{
    static struct mlperf_rules *rules; /* for the life of the fuzzer */

    if (rules == NULL && mlperf_rules_create(&rules, NULL) != ST_OK)
        abort();
    return rules;
}

static void check_log(const struct mlperf_log *log)
{
    if (log->start_line > log->line_count || log->stop_line > log->line_count ||
        log->start_count > log->event_count || log->eval_count > log->event_count ||
        (log->has_stop && log->stop_count == 0) || log->outcome_text == NULL)
        __builtin_trap();
    for (size_t i = 0; i < log->eval_count; i++)
        if (log->evals[i].line < 1 || log->evals[i].line > log->line_count ||
            (i > 0 && log->evals[i].line <= log->evals[i - 1].line))
            __builtin_trap();
    for (size_t i = 0; i < log->faults.count; i++)
        if (log->faults.items[i].line < 1 || log->faults.items[i].detail[0] == '\0' ||
            log->faults.items[i].hint[0] == '\0')
            __builtin_trap();
}

static void check_pieces(struct str text, const struct mlperf_log *want)
{
    struct mlperf_reader *reader = NULL;
    struct mlperf_log log;
    struct arena arena;

    arena_init(&arena, MLPERF_ARENA_BYTES);
    if (mlperf_reader_create(&arena, &log, &reader, NULL) != ST_OK)
        abort();
    for (size_t at = 0; at < text.len; at += 7)
        if (mlperf_reader_feed(reader, str_slice(text, at, at + 7), NULL) != ST_OK)
            __builtin_trap();
    if (mlperf_reader_finish(reader, NULL) != ST_OK || log.event_count != want->event_count ||
        log.bad_line_count != want->bad_line_count || log.line_count != want->line_count)
        __builtin_trap();
    mlperf_reader_destroy(reader);
    arena_fini(&arena);
}

static void check_verdicts(const struct mlperf_log *log)
{
    const struct mlperf_rules *rules = shared_rules();
    struct mlperf_file files[3];

    for (size_t i = 0; i < 3; i++)
        files[i] = (struct mlperf_file){.name = "result_0.txt", .log = log};
    for (size_t r = 0; r < rules->round_count; r++)
        for (size_t b = 0; b < rules->rounds[r].benchmark_count; b++) {
            const struct mlperf_input input = {
                .benchmark = &rules->rounds[r].benchmarks[b], .files = files, .file_count = 3};
            struct mlperf_result result;
            struct arena arena;

            arena_init(&arena, MLPERF_ARENA_BYTES);
            if (mlperf_judge(&input, &arena, &result, NULL) != ST_OK ||
                (result.refused && result.refusal->detail[0] == '\0'))
                __builtin_trap();
            for (size_t i = 0; i < result.check_count; i++)
                if (result.checks[i].detail[0] == '\0' ||
                    !str_is_utf8(str_from_cstr(result.checks[i].detail)) ||
                    strpbrk(result.checks[i].detail, "\t\r\n") != NULL)
                    __builtin_trap();
            arena_fini(&arena);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const struct str text = {(const char *)data, bytes};
    struct error err = {0};
    struct mlperf_log log;
    struct arena arena;

    arena_init(&arena, MLPERF_ARENA_BYTES);
    if (mlperf_log_read(text, &arena, &log, &err) == ST_OK) {
        check_log(&log);
        if (bytes < 2 || data[0] != 0x1F || data[1] != 0x8B)
            check_pieces(text, &log);
        check_verdicts(&log);
    } else if (err.code[0] == '\0' || err.detail[0] == '\0' || err.hint[0] == '\0') {
        __builtin_trap();
    }
    arena_fini(&arena);
    return 0;
}
