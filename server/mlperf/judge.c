/* server/mlperf/judge.c: see judge.h. Rules of one run come first, in the runs' order, then those of the whole entry.
 * An entry is refused when a log cannot be read, has no clock, or runs are too few: it has no result then. A run that
 * did not converge refuses nothing; too many of them leave the entry without a score. */
#include "server/mlperf/judge.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/rank/score.h"

enum { CHECKS_OF_RUN_MAX = 11, CHECKS_OF_ENTRY_MAX = 8, DETAIL_BYTES_MAX = 400 };

#define SECOND_NS INT64_C(1000000000)

struct judging {
    const struct mlperf_input *input;
    struct arena *arena;
    struct mlperf_result *result;
    size_t check_max;
    bool no_memory;
};

static void judge_run(struct judging *judging, size_t index);
static bool check_clock(struct judging *judging, size_t index);
static void check_oddities(struct judging *judging, size_t index);
static void find_accept(struct judging *judging, size_t index);
static void fill_epochs(struct judging *judging, struct mlperf_run *run);
static void check_convergence(struct judging *judging, size_t index);
static bool meets(const struct mlperf_benchmark *benchmark, const struct mlperf_eval *eval);
static void check_target(struct judging *judging, size_t index);
static void judge_entry(struct judging *judging);
static void choose_scored(struct judging *judging);
static void score(struct judging *judging);
static void measure(struct judging *judging);
static void find_batch(struct judging *judging);
static void find_division(struct judging *judging);
static void check_rcp(struct judging *judging, enum rcp_variant variant);
static void tell_rcp(struct judging *judging, enum rcp_variant variant,
                     const struct rcp_verdict *verdict);
static bool read_count(const char *text, double *value);
static const char *targets_text(struct judging *judging);
struct place { /* where a check looked */
    bool has_run;
    size_t run;
    int line;
};
static struct place at_line(size_t run, int line);
static void add(struct judging *judging, const char *rule, enum mlperf_verdict verdict,
                struct place place, const char *hint, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
static void refuse(struct judging *judging);

static const struct place whole = {0};

const char *mlperf_verdict_name(enum mlperf_verdict verdict)
{
    static const char *const names[] = {"pass", "warning", "fail", "not-applicable"};

    return names[verdict];
}

bool mlperf_run_number(struct str name, int64_t *number)
{
    static const struct str head = {"result_", 7}, endings[] = {{".txt.gz", 7}, {".txt", 4}};

    if (!str_starts_with(name, head))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(endings); i++)
        if (str_ends_with(name, endings[i]))
            return str_parse_i64(str_slice(name, head.len, name.len - endings[i].len), number) &&
                   *number >= 0;
    return false;
}

enum status mlperf_judge(const struct mlperf_input *input, struct arena *arena,
                         struct mlperf_result *result, struct error *err)
{
    struct judging judging = {.input = input, .arena = arena, .result = result};

    assert(input->file_count > 0 && input->file_count <= MLPERF_RUNS_MAX);
    *result = (struct mlperf_result){.run_count = input->file_count};
    judging.check_max = input->file_count * CHECKS_OF_RUN_MAX + CHECKS_OF_ENTRY_MAX;
    result->runs = ARENA_NEW_ARRAY(arena, input->file_count, struct mlperf_run);
    result->checks = ARENA_NEW_ARRAY(arena, judging.check_max, struct mlperf_check);
    if (result->runs == NULL || result->checks == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory to judge an entry");
    for (size_t i = 0; i < input->file_count; i++)
        judge_run(&judging, i);
    judge_entry(&judging);
    return judging.no_memory ? error_set(err, ST_NO_MEMORY, NULL, "no memory to judge an entry")
                             : ST_OK;
}

static void judge_run(struct judging *judging, size_t index)
{
    const struct mlperf_file *file = &judging->input->files[index];
    const struct mlperf_log *log = file->log;

    judging->result->runs[index].file = file;
    if (log == NULL) {
        add(judging, "readable", MLPERF_FAIL, at_line(index, file->fault.line), file->fault.hint,
            "%s cannot be read: %s", file->name, file->fault.detail);
        refuse(judging);
        return;
    }
    if (!check_clock(judging, index))
        return;
    check_oddities(judging, index);
    check_target(judging, index);
    find_accept(judging, index);
    check_convergence(judging, index);
}

/* Without a clock nothing else of the run counts. */
static bool check_clock(struct judging *judging, size_t index)
{
    const struct mlperf_round *round = judging->input->benchmark->round;
    struct mlperf_run *run = &judging->result->runs[index];
    const struct mlperf_log *log = run->file->log;
    const char *name = run->file->name;

    if (log->format != round->format) {
        if (log->format == MLPERF_NO_FORMAT)
            add(judging, "format", MLPERF_FAIL, at_line(index, 0),
                "Send the file that the training itself printed.",
                "%s has no event of MLPerf in its %d lines", name, log->line_count);
        else
            add(judging, "format", MLPERF_FAIL, at_line(index, log->first_line),
                "Send it to the round that it was logged for.",
                "%s is written as %s, but logs of %s are written as %s", name,
                mlperf_format_name(log->format), round->id, mlperf_format_name(round->format));
        refuse(judging);
        return false;
    }
    if (!log->has_start || !log->has_stop) {
        add(judging, "clock", MLPERF_FAIL,
            at_line(index, log->has_start  ? log->start_line
                           : log->has_stop ? log->stop_line
                                           : 0),
            "Log run_start when training data is first touched and run_stop after the last "
            "evaluation.",
            "%s has no %s event, so its time cannot be known", name,
            log->has_start ? "run_stop" : "run_start");
        refuse(judging);
        return false;
    }
    if (log->stop_ns <= log->start_ns) {
        add(judging, "clock", MLPERF_FAIL, at_line(index, log->stop_line),
            "Log both with the same clock.", "%s stops its clock before it starts it (line %d)",
            name, log->start_line);
        refuse(judging);
        return false;
    }
    run->has_tta = true;
    run->tta_ns = log->stop_ns - log->start_ns;
    add(judging, "clock", MLPERF_PASS, at_line(index, log->stop_line), "",
        "the clock ran for %.3f s, from run_start in line %d to run_stop",
        (double)run->tta_ns / 1e9, log->start_line);
    return true;
}

/* What looks wrong although it decides nothing. */
static void check_oddities(struct judging *judging, size_t index)
{
    const struct mlperf_benchmark *benchmark = judging->input->benchmark;
    const struct mlperf_log *log = judging->result->runs[index].file->log;

    if (log->bad_line_count > 0)
        add(judging, "lines", MLPERF_WARNING,
            at_line(index, log->faults.count > 0 ? log->faults.items[0].line : 0),
            "Print events as MLPerf's own logger does.",
            "%zu lines with the token are no events; the first: %s", log->bad_line_count,
            log->faults.count > 0 ? log->faults.items[0].detail : "unknown");
    if (log->start_count > 1 || log->stop_count > 1)
        add(judging, "clock-twice", MLPERF_WARNING, at_line(index, log->stop_line),
            "Log run_start and run_stop once each.",
            "there are %zu run_start and %zu run_stop events that differ: the first and the last "
            "count",
            log->start_count, log->stop_count);
    if (log->stop_ns - log->start_ns < SECOND_NS)
        add(judging, "clock-short", MLPERF_WARNING, at_line(index, log->stop_line),
            "Log run_start when training data is first touched.",
            "the clock ran for %.6g s, less than a second",
            (double)(log->stop_ns - log->start_ns) / 1e9);
    if (log->clear_line > 0 && log->clear_line < log->stop_line)
        add(judging, "cache", MLPERF_WARNING, at_line(index, log->clear_line),
            "Clear caches before run_start.", "caches are cleared while the clock runs");
    if (log->benchmark.text != NULL &&
        mlperf_find_benchmark(benchmark->round, str_from_cstr(log->benchmark.text)) != benchmark)
        add(judging, "benchmark", MLPERF_WARNING, at_line(index, log->benchmark.line),
            "Send it as what it is, or mend submission_benchmark.",
            "the log says that it is of %.100s, not of %s", log->benchmark.text, benchmark->id);
}

static void check_target(struct judging *judging, size_t index)
{
    const struct mlperf_benchmark *benchmark = judging->input->benchmark;
    const struct mlperf_log *log = judging->result->runs[index].file->log;
    double logged;

    if (log->target.text == NULL || benchmark->target_count > 1 ||
        !str_parse_double(str_from_cstr(log->target.text), &logged))
        return; /* most rounds fix the target and log none */
    if ((float)logged == (float)benchmark->targets[0])
        add(judging, "target", MLPERF_PASS, at_line(index, log->target.line), "",
            "it trained to the target of %s, %s", benchmark->round->id, benchmark->target_texts[0]);
    else
        add(judging, "target", MLPERF_WARNING, at_line(index, log->target.line),
            "Train to the target of the round.",
            "it trained to %.40s, but the target of %s is %s, which decides here", log->target.text,
            benchmark->round->id, benchmark->target_texts[0]);
}

/* Also counts the evaluations: those after the last run_stop do not belong to the run. */
static void find_accept(struct judging *judging, size_t index)
{
    const struct mlperf_benchmark *benchmark = judging->input->benchmark;
    struct mlperf_run *run = &judging->result->runs[index];
    const struct mlperf_log *log = run->file->log;
    const bool first = benchmark->round->accept == MLPERF_FIRST_THAT_MEETS;

    for (size_t i = 0; i < log->eval_count && log->evals[i].line < log->stop_line; i++) {
        run->eval_count++;
        if (first ? run->accept == NULL && meets(benchmark, &log->evals[i]) : true)
            run->accept = &log->evals[i];
    }
    run->converged = run->accept != NULL && run->accept->has_label &&
                     (first ? log->outcome != MLPERF_FAILURE
                            : log->outcome == MLPERF_SUCCESS && meets(benchmark, run->accept));
    if (run->converged)
        fill_epochs(judging, run);
}

static void fill_epochs(struct judging *judging, struct mlperf_run *run)
{
    const struct mlperf_log *log = run->file->log;
    double smallest = 0.0;

    run->epochs = run->accept->label;
    run->epochs_text = run->accept->label_text;
    if (judging->input->benchmark->round->epochs == MLPERF_COUNT_LABELS) {
        for (size_t i = 0; i < log->eval_count; i++)
            if (log->evals[i].has_label)
                smallest = fmin(smallest, log->evals[i].label);
        run->epochs += 1.0 - smallest;
        run->epochs_text = arena_printf(judging->arena, "%.15g", run->epochs);
        judging->no_memory = judging->no_memory || run->epochs_text == NULL;
    }
    if (!(run->epochs > 0.0)) /* a label of our rounds that says so is a broken log */
        run->converged = false;
}

static void check_convergence(struct judging *judging, size_t index)
{
    const struct mlperf_benchmark *benchmark = judging->input->benchmark;
    const struct mlperf_run *run = &judging->result->runs[index];
    const struct mlperf_log *log = run->file->log;
    const char *target = targets_text(judging);

    if (run->converged)
        add(judging, "convergence", MLPERF_PASS, at_line(index, run->accept->line), "",
            "the target (%s) is met by %.80s in the evaluation labelled %.40s, of %zu", target,
            run->accept->value_text, run->accept->label_text, run->eval_count);
    else if (run->eval_count == 0)
        add(judging, "convergence", MLPERF_FAIL, at_line(index, log->stop_line), "",
            "there is no evaluation before run_stop");
    else if (run->accept == NULL)
        add(judging, "convergence", MLPERF_FAIL, at_line(index, log->stop_line), "",
            "none of the %zu evaluations meets the target (%s)", run->eval_count, target);
    else if (!run->accept->has_label || !(run->accept->label > -1e15))
        add(judging, "convergence", MLPERF_FAIL, at_line(index, run->accept->line),
            "Log epoch_num or samples_count with each evaluation.",
            "the evaluation that ends the run states no epoch");
    else if (log->outcome == MLPERF_FAILURE ||
             (log->outcome == MLPERF_UNSTATED &&
              benchmark->round->accept == MLPERF_LAST_BEFORE_SUCCESS))
        add(judging, "convergence", MLPERF_FAIL, at_line(index, log->stop_line), "",
            "run_stop does not say success but \"%.40s\"", log->outcome_text);
    else if (!meets(benchmark, run->accept))
        add(judging, "convergence", MLPERF_FAIL, at_line(index, run->accept->line), "",
            "run_stop says success, but the last evaluation, %.80s, does not meet the target (%s)",
            run->accept->value_text, target);
    else
        add(judging, "convergence", MLPERF_FAIL, at_line(index, run->accept->line),
            "Log epochs that count up.", "the epoch %.40s is not above 0", run->accept->label_text);
    if (log->outcome == MLPERF_SUCCESS && !run->converged && run->accept == NULL &&
        run->eval_count > 0)
        add(judging, "outcome", MLPERF_WARNING, at_line(index, log->stop_line),
            "Evaluate once more before run_stop, or say that the run failed.",
            "run_stop says success although no evaluation meets the target");
}

/* In single precision: a log that prints 21.799999237 means 21.8. */
static bool meets(const struct mlperf_benchmark *benchmark, const struct mlperf_eval *eval)
{
    if (eval->value_count < benchmark->target_count)
        return false;
    for (size_t i = 0; i < benchmark->target_count; i++) {
        const float value = (float)eval->values[i], target = (float)benchmark->targets[i];

        if (benchmark->higher_is_better ? value < target : value > target)
            return false;
    }
    return true;
}

static void judge_entry(struct judging *judging)
{
    const struct mlperf_input *input = judging->input;
    const struct mlperf_benchmark *benchmark = input->benchmark;
    struct mlperf_result *result = judging->result;

    if (result->run_count < benchmark->runs) {
        add(judging, "runs", MLPERF_FAIL, whole, "Send all runs of the entry together.",
            "it has %zu of the %zu runs that an entry of %s in %s needs", result->run_count,
            benchmark->runs, benchmark->title, benchmark->round->id);
        refuse(judging);
    } else {
        add(judging, "runs", MLPERF_PASS, whole, "", "it has %zu runs, and %zu are needed",
            result->run_count, benchmark->runs);
    }
    find_division(judging);
    find_batch(judging);
    choose_scored(judging);
    measure(judging);
    if (result->refused)
        return;
    score(judging);
    for (enum rcp_variant variant = RCP_RULES; variant < RCP_VARIANT_COUNT; variant++)
        check_rcp(judging, variant);
}

static void choose_scored(struct judging *judging)
{
    const size_t most = judging->input->benchmark->scored_runs;
    struct mlperf_result *result = judging->result;

    for (size_t i = 0; i < result->run_count; i++) {
        struct mlperf_run *run = &result->runs[i];

        if (!run->converged)
            continue;
        result->converged_count++;
        run->scored = most == 0 || result->scored_count < most;
        result->scored_count += run->scored;
    }
}

static void score(struct judging *judging)
{
    const size_t most = judging->input->benchmark->scored_runs;
    struct mlperf_result *result = judging->result;
    struct score_run runs[MLPERF_RUNS_MAX];
    double values[MLPERF_RUNS_MAX] = {0}, sum = 0.0;
    const size_t missed =
        most == 0 ? result->run_count - result->converged_count : most - result->scored_count;
    size_t count = 0, first = 0;
    struct score found;

    for (size_t i = 0; i < result->run_count; i++)
        if (result->runs[i].scored) {
            runs[count] = (struct score_run){true, result->runs[i].tta_ns};
            values[count++] = (double)result->runs[i].tta_ns / 1e9;
        }
    for (size_t i = 0; i < missed && count < MLPERF_RUNS_MAX; i++)
        runs[count++] = (struct score_run){0};
    found = score_runs(TASK_SCORE_OLYMPIC, runs, count);
    if (!found.has) {
        add(judging, "score", MLPERF_FAIL, whole, "",
            missed > 1 ? "there is no score: %zu of %zu runs did not converge, and one may"
                       : "there is no score: %zu of %zu runs did not converge",
            missed, count);
        return;
    }
    result->has_score = true;
    result->score_ns = found.tta_ns;
    count = result->scored_count;
    if (missed == 0)
        sum = measure_trim(values, count, 1).mean;
    else { /* the one that missed is the slowest: only the fastest goes */
        for (size_t i = 1; i < count; i++)
            first = values[i] < values[first] ? i : first;
        for (size_t i = 0; i < count; i++)
            sum += i == first ? 0.0 : values[i] / (double)(count - 1);
    }
    result->score_s = sum;
    add(judging, "score", MLPERF_PASS, whole, "",
        "the mean of %zu runs without the fastest and the slowest is %.3f s", count + missed, sum);
}

static void measure(struct judging *judging)
{
    struct mlperf_result *result = judging->result;
    double tta[MLPERF_RUNS_MAX], epochs[MLPERF_RUNS_MAX];
    size_t count = 0;

    for (size_t i = 0; i < result->run_count; i++) {
        const struct mlperf_run *run = &result->runs[i];

        if (!run->scored)
            continue;
        if (count == 0 || run->tta_ns < result->tta_min_ns)
            result->tta_min_ns = run->tta_ns;
        if (count == 0 || run->tta_ns > result->tta_max_ns)
            result->tta_max_ns = run->tta_ns;
        tta[count] = (double)run->tta_ns / 1e9;
        epochs[count++] = run->epochs;
    }
    result->split = measure_split(tta, epochs, count);
}

/* The batch size of the first run that states one; another in a further run is told. */
static void find_batch(struct judging *judging)
{
    struct mlperf_result *result = judging->result;

    for (size_t i = 0; i < result->run_count; i++) {
        const struct mlperf_log *log = result->runs[i].file->log;
        double batch;

        if (log == NULL || log->batch.text == NULL || !read_count(log->batch.text, &batch))
            continue;
        if (!result->has_batch) {
            result->has_batch = true;
            result->batch = batch;
        } else if (batch < result->batch || batch > result->batch) {
            add(judging, "batch", MLPERF_WARNING, at_line(i, log->batch.line),
                "Train all runs of an entry alike.",
                "it trained with a batch of %.0f, the first run with %.0f", batch, result->batch);
            return;
        }
    }
}

static void find_division(struct judging *judging)
{
    struct mlperf_result *result = judging->result;
    const char *division = judging->input->division;

    for (size_t i = 0; i < result->run_count && division == NULL; i++)
        if (result->runs[i].file->log != NULL)
            division = result->runs[i].file->log->division.text;
    result->is_open = division != NULL && strcasecmp(division, "open") == 0;
    if (result->is_open)
        add(judging, "division", MLPERF_WARNING, whole, "",
            "it is of the open division: its model or method may differ from the reference");
}

static void check_rcp(struct judging *judging, enum rcp_variant variant)
{
    const struct mlperf_benchmark *benchmark = judging->input->benchmark;
    struct mlperf_result *result = judging->result;
    struct rcp_question question = {.variant = variant,
                                    .runs = benchmark->runs,
                                    .count = result->converged_count,
                                    .missed = result->run_count - result->converged_count,
                                    .batch = result->batch};
    double epochs[MLPERF_RUNS_MAX];
    size_t count = 0;

    if (judging->input->rcp == NULL)
        return;
    if (!result->has_batch || question.missed > 1 || result->run_count < 3) {
        if (variant == benchmark->round->rcp_variant)
            add(judging, "reference-convergence", MLPERF_NOT_APPLICABLE, whole,
                result->has_batch ? "" : "Log global_batch_size.",
                result->has_batch ? "too few runs converged to hold them against the reference"
                                  : "no log states its batch size, so no reference fits");
        return;
    }
    for (size_t i = 0; i < result->run_count; i++)
        if (result->runs[i].converged)
            epochs[count++] = result->runs[i].epochs;
    question.values = epochs;
    if (rcp_check(judging->input->rcp, &question, judging->arena, &result->rcp[variant].verdict,
                  NULL) != ST_OK) {
        judging->no_memory = true;
        return;
    }
    result->rcp[variant].has = true;
    tell_rcp(judging, variant, &result->rcp[variant].verdict);
}

static void tell_rcp(struct judging *judging, enum rcp_variant variant,
                     const struct rcp_verdict *verdict)
{
    const struct mlperf_result *result = judging->result;
    const bool decides = variant == judging->input->benchmark->round->rcp_variant;
    const char *rule = decides ? "reference-convergence" : "reference-convergence-tool";
    char where[256];

    if (result->is_open) {
        if (decides)
            add(judging, rule, MLPERF_NOT_APPLICABLE, whole, "",
                "an entry of the open division is not held against the reference's convergence");
        return;
    }
    if (verdict->match == RCP_LARGER) {
        add(judging, rule, MLPERF_FAIL, whole, "Publish reference runs at that batch size.",
            "the batch of %.0f is above every batch size that the reference was run at",
            result->batch);
        return;
    }
    if (verdict->match == RCP_INTERPOLATED)
        (void)snprintf(where, sizeof where, "interpolated at a batch of %.0f", result->batch);
    else
        (void)snprintf(where, sizeof where, "of %.100s%s", verdict->point,
                       verdict->match == RCP_SMALLER ? ", the smallest batch there is" : "");
    if (!verdict->pass)
        add(judging, rule, MLPERF_FAIL, whole,
            "Explain why it needs so few epochs, or publish reference runs that do.",
            "its %.6g epochs are implausibly few: the reference (%s) needs %.6g, and %.6g at least "
            "are believed",
            verdict->entry_mean, where, verdict->mean, verdict->min_mean);
    else if (verdict->factor > 1.0)
        add(judging, rule, MLPERF_PASS, whole, "",
            "its %.6g epochs are below the %.6g of the reference (%s) but not below %.6g: by the "
            "rules its score counts %.6f times",
            verdict->entry_mean, verdict->mean, where, verdict->min_mean, verdict->factor);
    else
        add(judging, rule, MLPERF_PASS, whole, "",
            "its %.6g epochs are not below the %.6g of the reference (%s)", verdict->entry_mean,
            verdict->mean, where);
}

static bool read_count(const char *text, double *value)
{
    return str_parse_double(str_trim(str_from_cstr(text)), value) && *value > 0.0 && *value < 1e12;
}

static const char *targets_text(struct judging *judging)
{
    const struct mlperf_benchmark *benchmark = judging->input->benchmark;
    const char *than = benchmark->higher_is_better ? "at least" : "at most";
    const char *text = benchmark->target_count == 1
                           ? arena_printf(judging->arena, "%s %s", than, benchmark->target_texts[0])
                           : arena_printf(judging->arena, "%s %s and %s", than,
                                          benchmark->target_texts[0], benchmark->target_texts[1]);

    judging->no_memory = judging->no_memory || text == NULL;
    return text == NULL ? "" : text;
}

static struct place at_line(size_t run, int line)
{
    return (struct place){true, run, line};
}

static void add(struct judging *judging, const char *rule, enum mlperf_verdict verdict,
                struct place place, const char *hint, const char *format, ...)
{
    struct mlperf_result *result = judging->result;
    struct mlperf_check *check;
    char text[DETAIL_BYTES_MAX];
    va_list args;

    assert(result->check_count < judging->check_max);
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < ' ')
            *c = ' '; /* a text of the log may hold anything */
    text[str_utf8_cut(str_from_cstr(text), sizeof text)] = '\0';
    check = &result->checks[result->check_count++];
    *check = (struct mlperf_check){
        .rule = rule,
        .verdict = verdict,
        .has_run = place.has_run,
        .run = place.run,
        .file = place.has_run ? judging->input->files[place.run].name : NULL,
        .line = place.line,
        .detail = arena_copy(judging->arena, str_from_cstr(text)),
        .hint = arena_copy(judging->arena, str_from_cstr(hint)),
    };
    if (check->detail == NULL || check->hint == NULL) {
        judging->no_memory = true;
        check->detail = check->hint = "";
    }
}

/* By the check that was just added. */
static void refuse(struct judging *judging)
{
    struct mlperf_result *result = judging->result;

    if (!result->refused)
        result->refusal = &result->checks[result->check_count - 1];
    result->refused = true;
}
