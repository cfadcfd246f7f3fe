/* server/command/mlperf_tables.c: see mlperf_tables.h. */
#include "server/command/mlperf_tables.h"

#include <inttypes.h>

static void add_entry(struct buf *out, const struct mlperf_entry *entry);
static void add_run(struct buf *out, const struct mlperf_entry *entry,
                    const struct mlperf_run *run);
static void add_rcp(struct buf *out, const struct mlperf_entry *entry, enum rcp_variant variant);
static void begin_row(struct buf *out, const struct mlperf_entry *entry);

void mlperf_table_begin(struct buf *out, enum mlperf_table table)
{
    static const char *const columns[] = {
        [MLPERF_ENTRIES] = "runs\tconverged\tscored\tmean_tta_s\tscore_s\tscore_min\tmin_tta_s\t"
                           "max_tta_s\tmean_epochs\tcv_tta_pct\tcv_tta_pop_pct\tcv_epochs_pct\t"
                           "cv_sec_per_epoch_pct\tmean_sec_per_epoch",
        [MLPERF_RUNS] = "run\tfile\tconverged\tstatus\ttta_s\taccept_label\tepochs\tevals\t"
                        "accept_value\ttime_at_accept_s\tsec_per_epoch\tscored\tevents\tbad_lines",
        [MLPERF_RCP] =
            "variant\tbatch\truns\tepochs_olympic_mean\trcp\trcp_mean\trcp_sd\tmin_mean\t"
            "max_speedup\tverdict\tscore_factor",
    };

    buf_appendf(out, "round\tsubmitter\tsystem\tbenchmark\t%s\n", columns[table]);
}

void mlperf_table_add(struct buf *out, enum mlperf_table table, const struct mlperf_entry *entry,
                      bool taken)
{
    switch (table) {
    case MLPERF_ENTRIES:
        if (taken)
            add_entry(out, entry);
        break;
    case MLPERF_RUNS:
        for (size_t i = 0; i < entry->result.run_count; i++)
            add_run(out, entry, &entry->result.runs[i]);
        break;
    case MLPERF_RCP:
        for (enum rcp_variant variant = RCP_RULES; variant < RCP_VARIANT_COUNT; variant++)
            if (taken && entry->result.rcp[variant].has)
                add_rcp(out, entry, variant);
        break;
    }
}

static void add_entry(struct buf *out, const struct mlperf_entry *entry)
{
    const struct mlperf_result *result = &entry->result;
    const struct measure_split *split = &result->split;

    begin_row(out, entry);
    buf_appendf(out, "\t%zu\t%zu\t%zu", result->run_count, result->converged_count,
                result->scored_count);
    buf_appendf(out, "\t%.6f\t%.6f\t%.4f", split->tta.mean, result->score_s,
                result->score_s / 60.0); /* who is taken has a score */
    buf_appendf(out, "\t%.6f\t%.6f\t%.6f\t%.6f\t%.6f\t%.6f\t%.6f\t%.6f\n",
                (double)result->tta_min_ns / 1e9, (double)result->tta_max_ns / 1e9,
                split->epochs.mean, 100.0 * split->tta.cv, 100.0 * split->tta.cv_population,
                100.0 * split->epochs.cv, 100.0 * split->per_epoch.cv, split->per_epoch.mean);
}

static void add_run(struct buf *out, const struct mlperf_entry *entry, const struct mlperf_run *run)
{
    const struct mlperf_log *log = run->file->log;

    begin_row(out, entry);
    buf_appendf(out, "\t%" PRId64 "\t%s\t%d\t", run->file->number, run->file->name,
                run->converged ? 1 : 0);
    if (run->has_tta)
        buf_appendf(out, "%s\t%.6f\t", log->outcome_text, (double)run->tta_ns / 1e9);
    else
        buf_append_cstr(out, "\t\t");
    if (run->converged)
        buf_appendf(out, "%s\t%s", run->accept->label_text, run->epochs_text);
    else
        buf_append_cstr(out, "\t");
    buf_appendf(out, "\t%zu\t", run->eval_count);
    if (run->converged)
        buf_appendf(out, "%s\t%.6f\t%.6f", run->accept->value_text,
                    (double)(run->accept->time_ns - log->start_ns) / 1e9,
                    (double)run->tta_ns / 1e9 / run->epochs);
    else
        buf_append_cstr(out, "\t\t");
    buf_appendf(out, "\t%d\t%zu\t%zu\n", run->scored ? 1 : 0, log == NULL ? 0 : log->event_count,
                log == NULL ? 0 : log->bad_line_count);
}

static void add_rcp(struct buf *out, const struct mlperf_entry *entry, enum rcp_variant variant)
{
    static const char *const matches[] = {
        [RCP_EXACT] = "exact:",
        [RCP_INTERPOLATED] = "interp",
        [RCP_SMALLER] = "smaller-than-all:",
        [RCP_LARGER] = "larger-than-all",
    };
    const struct mlperf_result *result = &entry->result;
    const struct rcp_verdict *verdict = &result->rcp[variant].verdict;

    begin_row(out, entry);
    buf_appendf(out, "\t%s\t%.0f\t%zu\t%.6f\t%s%s", rcp_variant_name(variant), result->batch,
                result->run_count, verdict->entry_mean, matches[verdict->match],
                verdict->point == NULL ? "" : verdict->point);
    if (verdict->match == RCP_LARGER)
        buf_append_cstr(out, "\t\t\t\t");
    else
        buf_appendf(out, "\t%.6f\t%.6f\t%.6f\t%.6f", verdict->mean, verdict->deviation,
                    verdict->min_mean, verdict->max_speedup);
    buf_appendf(out, "\t%s\t%.6f\n", verdict->pass ? "pass" : "fail", verdict->factor);
}

static void begin_row(struct buf *out, const struct mlperf_entry *entry)
{
    buf_appendf(out, "%s\t%s\t%s\t%s", entry->round, entry->submitter, entry->system,
                entry->folder);
}
