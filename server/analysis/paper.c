/* server/analysis/paper.c: the paper's claims (see paper.h). A claim that was made of MLPerf v0.5 is tested with the
 * entries of that round alone, one of DAWNBench with its tasks. */
#include "server/analysis/paper.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/measure.h"

#define CLAIMS           8
#define CV_MAX           0.14 /* "below 14 %" */
#define PER_EPOCH_CV_MAX 0.03 /* "below 3 %" */
#define OFF_LINEAR       0.389
#define FAST_IMAGENET_S  180.0
#define NUMBERS_BYTES    400

static const struct table_column columns[] = {
    {"claim", "The paper says", TABLE_TEXT, TABLE_ALWAYS},
    {"verdict", "Here", TABLE_TEXT, TABLE_ALWAYS},
    {"numbers", "With these numbers", TABLE_TEXT, TABLE_ALWAYS},
    {"n", "From", TABLE_COUNT, TABLE_MID},
};

struct spreads {
    size_t count, tta_above, per_epoch_above, epochs_vary, epochs_vary_more;
    double per_epoch_worst, ratio_largest;
    struct measure_spread tta_worst;
    const char *author, *title; /* of the worst */
};
struct paper {
    const struct paper_task *tasks;
    size_t count;
    struct arena *arena;
    struct table *table;
    struct spreads spreads;
    size_t held, failed;
    bool no_memory;
};

static void gather_spreads(struct paper *paper);
static void claim_cv(struct paper *paper);
static void claim_epochs(struct paper *paper);
static void claim_per_epoch(struct paper *paper);
static void claim_relapse(struct paper *paper);
static void claim_throughput(struct paper *paper);
static void claim_scaling(struct paper *paper);
static void claim_imagenet(struct paper *paper);
static void claim_cheapest(struct paper *paper);

enum status paper_build(const struct paper_task *tasks, size_t count, struct arena *arena,
                        struct analysis *analysis, struct error *err)
{
    struct paper paper = {.tasks = tasks,
                          .count = count,
                          .arena = arena,
                          .table = &analysis->parts[0].table,
                          .spreads = {.author = "", .title = ""}};

    *analysis = (struct analysis){.part_count = 1};
    analysis->parts[0] = (struct analysis_part){
        .key = "items",
        .title = "Claims",
        .caption =
            "Computed from the entries of this server at this moment. Not testable: no entry "
            "here carries what the claim is about.",
        .empty = "There is no claim."};
    if (table_init(paper.table, arena, columns, ARRAY_LEN(columns), CLAIMS, err) != ST_OK)
        return err->status;
    gather_spreads(&paper);
    claim_cv(&paper);
    claim_epochs(&paper);
    claim_per_epoch(&paper);
    claim_relapse(&paper);
    claim_throughput(&paper);
    claim_scaling(&paper);
    claim_imagenet(&paper);
    claim_cheapest(&paper);
    analysis->lead = arena_printf(arena,
                                  "Of %zu claims of the paper %zu hold with the entries here, %zu "
                                  "fail and %zu cannot be tested.",
                                  paper.table->row_count, paper.held, paper.failed,
                                  paper.table->row_count - paper.held - paper.failed);
    return paper.no_memory || analysis->lead == NULL
               ? error_set(err, ST_NO_MEMORY, NULL, "no memory for an analysis")
               : ST_OK;
}

/* n 0: it cannot be tested. */
__attribute__((format(printf, 5, 6))) static void
add_claim(struct paper *paper, const char *claim, bool holds, size_t n, const char *numbers, ...)
{
    struct table_cell *row = table_add_row(paper->table);
    char text[NUMBERS_BYTES];
    const char *verdict = n == 0 ? "not testable" : holds ? "holds" : "fails";
    va_list args;

    va_start(args, numbers);
    (void)vsnprintf(text, sizeof text, numbers, args);
    va_end(args);
    row[0] = cell_text(claim);
    row[1] = cell_text(verdict);
    row[2] = cell_text(arena_copy(paper->arena, str_from_cstr(text)));
    row[3] = cell_count((int64_t)n);
    paper->no_memory = paper->no_memory || !row[2].has;
    paper->held += n > 0 && holds;
    paper->failed += n > 0 && !holds;
}

static bool is_v05(const struct paper_task *task)
{
    return task->task->mlperf_round != NULL && strcmp(task->task->mlperf_round, "v0.5") == 0;
}

/* Over the entries of MLPerf v0.5 with two runs or more that reached the target. */
static void gather_spreads(struct paper *paper)
{
    struct spreads *all = &paper->spreads;

    for (size_t t = 0; t < paper->count; t++)
        for (size_t i = 0; is_v05(&paper->tasks[t]) && i < paper->tasks[t].entry_count; i++) {
            const struct trial_entry *entry = &paper->tasks[t].entries[i];
            double tta[TRIAL_RUNS_MAX], epochs[TRIAL_RUNS_MAX];
            const size_t runs = trials_gather(entry, true, tta, epochs);
            struct measure_split split;

            if (runs < 2)
                continue;
            split = measure_split(tta, epochs, runs);
            all->count++;
            all->tta_above += split.tta.cv_population >= CV_MAX;
            all->per_epoch_above += split.per_epoch.cv >= PER_EPOCH_CV_MAX;
            if (split.per_epoch.cv > all->per_epoch_worst)
                all->per_epoch_worst = split.per_epoch.cv;
            if (split.tta.cv_population > all->tta_worst.cv_population) {
                all->tta_worst = split.tta;
                all->author = entry->entry->author;
                all->title = paper->tasks[t].task->title;
            }
            if (!(split.epochs.cv > 0.0))
                continue; /* all needed the same epochs: that says nothing of which varies more */
            all->epochs_vary++;
            all->epochs_vary_more += split.epochs.cv > split.per_epoch.cv;
            if (split.per_epoch.cv > 0.0 &&
                split.epochs.cv / split.per_epoch.cv > all->ratio_largest)
                all->ratio_largest = split.epochs.cv / split.per_epoch.cv;
        }
}

static void claim_cv(struct paper *paper)
{
    const struct spreads *all = &paper->spreads;

    add_claim(paper, "TTA varies little: the CV of every MLPerf v0.5 entry is below 14 %.",
              all->tta_above == 0, all->count,
              all->count == 0
                  ? "No entry of MLPerf v0.5 with several runs is here."
                  : "%zu of %zu entries are at 14 %% or above; the largest is %.2f %% with n (%.2f "
                    "%% with n - 1): %.40s, %.60s.",
              all->tta_above, all->count, 100.0 * all->tta_worst.cv_population,
              100.0 * all->tta_worst.cv, all->author, all->title);
}

static void claim_epochs(struct paper *paper)
{
    const struct spreads *all = &paper->spreads;

    add_claim(paper,
              "TTA varies because the number of epochs does, up to 45 times more than the time of "
              "an epoch.",
              all->epochs_vary_more == all->epochs_vary, all->epochs_vary,
              all->epochs_vary == 0
                  ? "No entry of MLPerf v0.5 whose runs need different numbers of epochs is here."
                  : "in %zu of %zu entries whose runs need different numbers of epochs these vary "
                    "more, up to %.1f times as much.",
              all->epochs_vary_more, all->epochs_vary, all->ratio_largest);
}

static void claim_per_epoch(struct paper *paper)
{
    const struct spreads *all = &paper->spreads;

    add_claim(paper, "The time of an epoch hardly varies: its CV is below 3 %.",
              all->per_epoch_above == 0, all->count,
              all->count == 0 ? "No entry of MLPerf v0.5 with several runs is here."
                              : "%zu of %zu entries are at 3 %% or above; the largest is %.2f %%.",
              all->per_epoch_above, all->count, 100.0 * all->per_epoch_worst);
}

static void claim_relapse(struct paper *paper)
{
    size_t curves = 0, relapses = 0;

    for (size_t t = 0; t < paper->count; t++)
        if (paper->tasks[t].task->dawnbench != NULL) {
            curves += paper->tasks[t].curves;
            relapses += paper->tasks[t].relapses;
        }
    add_claim(paper, "The first evaluation at the target counts: a run may fall below it again.",
              relapses > 0, curves,
              curves == 0 ? "No curve of DAWNBench's tasks is here."
                          : "%zu of %zu runs that reached the target of a DAWNBench task were "
                            "below it again later.",
              relapses, curves);
}

/* Against the slowest per epoch of the same task. */
static void claim_throughput(struct paper *paper)
{
    size_t n = 0, paid = 0;
    double largest = 1.0;

    for (size_t t = 0; t < paper->count; t++) {
        struct analysis throughput;
        const struct table *table = &throughput.parts[0].table;

        if (throughput_build(paper->tasks[t].entries, paper->tasks[t].entry_count, 0, paper->arena,
                             &throughput, NULL) != ST_OK) {
            paper->no_memory = true;
            return;
        }
        n += table->row_count > 0 ? table->row_count - 1 : 0; /* the base itself is a row */
        for (size_t r = 0; r < table->row_count; r++) {
            const double price = table_row(table, r)[table_find(table, "epoch_price")].number;

            paid += price > 1.0;
            if (price > largest)
                largest = price;
        }
    }
    add_claim(paper,
              "Throughput is no measure of TTA: who is faster per epoch may need more epochs.",
              paid > 0, n,
              n == 0 ? "No task has two entries that tell their epochs."
                     : "%zu of %zu entries need more epochs than the slowest per epoch of their "
                       "task, up to %.2f times as many.",
              paid, n, largest);
}

static void claim_scaling(struct paper *paper)
{
    size_t n = 0;
    double worst = 1.0;

    for (size_t t = 0; t < paper->count; t++) {
        struct analysis scaling;
        const struct table *table = &scaling.parts[0].table;

        if (scaling_build(paper->tasks[t].entries, paper->tasks[t].entry_count, paper->arena,
                          &scaling, NULL) != ST_OK) {
            paper->no_memory = true;
            return;
        }
        for (size_t r = 0; r < table->row_count; r++) {
            const struct table_cell *cell =
                &table_row(table, r)[table_find(table, "throughput_efficiency")];

            n += cell->has;
            if (cell->has && cell->number < worst)
                worst = cell->number;
        }
    }
    add_claim(
        paper,
        "Many devices are far from linear: up to 38.9 % and more of the time is not computing.",
        1.0 - worst >= OFF_LINEAR, n,
        n == 0 ? "No system is here with two numbers of devices."
               : "over %zu steps to more devices the farthest is %.1f %% off linear per epoch.",
        n, 100.0 * (1.0 - worst));
}

static void claim_imagenet(struct paper *paper)
{
    double best = 0.0;
    size_t n = 0;

    for (size_t t = 0; t < paper->count; t++)
        for (size_t i = 0; strcmp(paper->tasks[t].task->id, "imagenet-train") == 0 &&
                           i < paper->tasks[t].entry_count;
             i++) {
            const double tta = paper->tasks[t].entries[i].tta_s;

            if (!(tta > 0.0))
                continue;
            n++;
            if (n == 1 || tta < best)
                best = tta;
        }
    add_claim(paper, "ImageNet is trained to 93 % top-5 accuracy in less than three minutes.",
              best < FAST_IMAGENET_S, n,
              n == 0 ? "No entry of that task is here."
                     : "the fastest of %zu entries needs %.2f s.",
              n, best);
}

static void claim_cheapest(struct paper *paper)
{
    size_t n = 0, differ = 0;

    for (size_t t = 0; t < paper->count; t++) {
        const struct entry_record *fastest = NULL, *cheapest = NULL;

        for (size_t i = 0; i < paper->tasks[t].entry_count; i++) {
            const struct entry_record *entry = paper->tasks[t].entries[i].entry;

            if (entry->tta_ns.has &&
                (fastest == NULL || entry->tta_ns.value < fastest->tta_ns.value))
                fastest = entry;
            if (entry->cost_pico.has && entry->cost_reason == NULL &&
                (cheapest == NULL || entry->cost_pico.value < cheapest->cost_pico.value))
                cheapest = entry;
        }
        n += fastest != NULL && cheapest != NULL;
        differ += fastest != NULL && cheapest != NULL && fastest != cheapest;
    }
    add_claim(paper, "The fastest system is not the cheapest.", differ > 0, n,
              n == 0 ? "No task has an entry with a cost."
                     : "in %zu of %zu tasks another entry is cheaper than the fastest.",
              differ, n);
}
