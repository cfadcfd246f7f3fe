/* server/api/mlperf_accept.c: see mlperf_accept.h. */
#include "server/api/mlperf_accept.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/clock.h"
#include "common/crypto.h"
#include "server/api/accept.h"
#include "server/api/json_out.h"
#include "server/rank/score.h"

enum { MANIFEST_BYTES_MAX = 1 << 20 };

static void fill_system(const struct mlperf_source *source, struct new_entry *entry);
static enum status fill_runs(const struct mlperf_source *source, struct arena *arena,
                             struct new_entry *entry, struct error *err);
static enum status fill_run(const struct mlperf_run *from, struct str bytes, struct arena *arena,
                            struct new_run *run, struct error *err);
static const char *value_text(const struct mlperf_eval *eval, struct arena *arena);
static size_t choose_shown(const struct mlperf_source *source);
static const char *last_date(const struct mlperf_result *result, struct arena *arena);
static const char *write_misc(const struct mlperf_source *source, struct arena *arena);
static enum status fill_files(const struct mlperf_source *source, struct arena *arena,
                              struct submission_files *files, struct error *err);
static enum status no_memory(struct error *err);

enum status mlperf_fill_entry(const struct mlperf_source *source, struct arena *arena,
                              struct new_entry *entry, struct submission_files *files,
                              struct error *err)
{
    const struct mlperf_result *result = source->result;
    const char *name = source->name != NULL
                           ? source->name
                           : arena_printf(arena, "%s_%s", source->submitter, source->system);
    enum status status;

    assert(!result->refused && result->has_score);
    if (name == NULL)
        return no_memory(err);
    status = accept_check_name(str_from_cstr(name), err);
    if (status != ST_OK)
        return status;
    *entry = (struct new_entry){
        .task = source->task,
        .kind = "mlperf",
        .name = str_from_cstr(name),
        .model = source->benchmark->title,
        .author = source->submitter,
        .hardware = source->system,
        .framework = "not stated",
        .claimed_date = last_date(result, arena),
        .tta_ns = {true, result->score_ns},
        .misc_json = write_misc(source, arena),
        .checks = mlperf_list_checks(result, arena),
        .check_count = result->check_count,
    };
    if (entry->claimed_date == NULL || entry->misc_json == NULL || entry->checks == NULL)
        return no_memory(err);
    fill_system(source, entry);
    status = fill_runs(source, arena, entry, err);
    return status == ST_OK ? fill_files(source, arena, files, err) : status;
}

const struct check_record *mlperf_list_checks(const struct mlperf_result *result,
                                              struct arena *arena)
{
    struct check_record *checks = ARENA_NEW_ARRAY(arena, result->check_count, struct check_record);

    for (size_t i = 0; checks != NULL && i < result->check_count; i++) {
        const struct mlperf_check *from = &result->checks[i];

        checks[i] = (struct check_record){
            .rule = from->rule,
            .verdict = mlperf_verdict_name(from->verdict),
            .file = from->file,
            .line = {from->line > 0, from->line},
            .detail = from->detail,
            .hint = from->hint,
            .ordinal = {from->has_run, (int64_t)from->run + 1},
        };
    }
    return checks;
}

static void fill_system(const struct mlperf_source *source, struct new_entry *entry)
{
    const struct mlperf_system *system = source->description;

    if (system == NULL)
        return;
    if (system->hardware != NULL)
        entry->hardware = system->hardware;
    if (system->framework != NULL)
        entry->framework = system->framework;
    entry->device_model = system->accelerator;
    entry->devices = (struct opt_i64){system->has_devices, system->devices};
    entry->nodes = (struct opt_i64){system->has_nodes, system->nodes};
    if (system->accelerator != NULL && strncasecmp(system->accelerator, "tpu", 3) == 0)
        entry->device_kind = "tpu";
    if (system->status != NULL && strncasecmp(system->status, "on", 2) == 0)
        entry->cloud = "none"; /* on-premise, on-prem: its owner's machines */
}

static enum status fill_runs(const struct mlperf_source *source, struct arena *arena,
                             struct new_entry *entry, struct error *err)
{
    const struct mlperf_result *result = source->result;
    struct new_run *runs = ARENA_NEW_ARRAY(arena, result->run_count, struct new_run);
    enum status status = ST_OK;

    if (runs == NULL)
        return no_memory(err);
    for (size_t i = 0; i < result->run_count && status == ST_OK; i++)
        status = fill_run(&result->runs[i], source->bytes[i], arena, &runs[i], err);
    entry->runs = runs;
    entry->run_count = result->run_count;
    entry->shown_run = choose_shown(source);
    entry->epoch_text = runs[entry->shown_run].epoch_text;
    entry->epoch_count_text = result->runs[entry->shown_run].epochs_text;
    entry->accuracy_text = runs[entry->shown_run].accuracy_text;
    return status;
}

/* Its evaluations up to run_stop, by the log's clock; one from before run_start belongs to no run. */
static enum status fill_run(const struct mlperf_run *from, struct str bytes, struct arena *arena,
                            struct new_run *run, struct error *err)
{
    const struct mlperf_log *log = from->file->log;
    struct new_epoch *epochs = ARENA_NEW_ARRAY(arena, from->eval_count, struct new_epoch);
    struct sha256 *hash;

    if (epochs == NULL)
        return no_memory(err);
    *run = (struct new_run){
        .file_name = from->file->name, .tta_ns = {from->converged, from->tta_ns}, .epochs = epochs};
    crypto_sha256(bytes, run->progress_sha256);
    hash = sha256_create();
    sha256_update(hash, &from->tta_ns, sizeof from->tta_ns);
    for (size_t i = 0; i < from->eval_count; i++) {
        const struct mlperf_eval *eval = &log->evals[i];
        struct new_epoch *epoch = &epochs[run->epoch_count];
        const char *value = value_text(eval, arena);

        if (eval == from->accept && from->converged)
            run->crossing_index = run->epoch_count;
        if (value == NULL)
            continue;
        *epoch = (struct new_epoch){
            .label = str_from_cstr(eval->label_text == NULL ? "" : eval->label_text),
            .value_text = str_from_cstr(value),
            .official_ns = eval->time_ns > log->start_ns ? eval->time_ns - log->start_ns : 0};
        sha256_update(hash, &epoch->official_ns, sizeof epoch->official_ns);
        sha256_update(hash, value, strlen(value) + 1);
        run->epoch_count++;
    }
    sha256_finish(hash, run->rows_sha256);
    if (!from->converged)
        return ST_OK;
    run->epoch_text = from->accept->label_text;
    run->accuracy_text = value_text(from->accept, arena);
    return run->accuracy_text == NULL ? no_memory(err) : ST_OK;
}

/* The first metric as a number; NULL: it is none. */
static const char *value_text(const struct mlperf_eval *eval, struct arena *arena)
{
    double number;

    if (eval->value_count == 0)
        return NULL;
    return str_parse_double(str_from_cstr(eval->value_text), &number)
               ? eval->value_text
               : arena_printf(arena, "%.9g", eval->values[0]);
}

static size_t choose_shown(const struct mlperf_source *source)
{
    const struct mlperf_result *result = source->result;
    struct score_run runs[MLPERF_RUNS_MAX];
    size_t index[MLPERF_RUNS_MAX], count = 0;
    const size_t most = source->benchmark->scored_runs;

    for (size_t i = 0; i < result->run_count; i++)
        if (result->runs[i].scored) {
            runs[count] = (struct score_run){true, result->runs[i].tta_ns};
            index[count++] = i;
        }
    if (count < (most == 0 ? result->run_count : most))
        runs[count++] = (struct score_run){0}; /* the one that missed */
    return index[score_runs(TASK_SCORE_OLYMPIC, runs, count).shown];
}

/* The day, UTC, on which the last of its runs stopped. */
static const char *last_date(const struct mlperf_result *result, struct arena *arena)
{
    char date[CLOCK_TEXT_BYTES];
    int64_t last = 0;

    for (size_t i = 0; i < result->run_count; i++)
        if (result->runs[i].file->log->stop_ns > last)
            last = result->runs[i].file->log->stop_ns;
    clock_format_date(last / INT64_C(1000000), date);
    return arena_copy(arena, str_from_cstr(date));
}

static const char *write_misc(const struct mlperf_source *source, struct arena *arena)
{
    const struct mlperf_result *result = source->result;
    const struct rcp_verdict *rcp = &result->rcp[source->benchmark->round->rcp_variant].verdict;
    const char *copy = NULL;
    struct json_out out;
    struct buf text;

    buf_init(&text, MANIFEST_BYTES_MAX);
    out = (struct json_out){&text, false};
    json_out_begin(&out, NULL, '{');
    json_out_text(&out, "round", source->benchmark->round->id);
    json_out_text(&out, "benchmark", source->benchmark->id);
    json_out_text(&out, "system", source->system);
    json_out_text(&out, "division", result->is_open ? "open" : "closed");
    json_out_i64(&out, "runs", (int64_t)result->run_count);
    json_out_i64(&out, "converged", (int64_t)result->converged_count);
    json_out_i64(&out, "scored", (int64_t)result->scored_count);
    if (result->has_batch)
        json_out_double(&out, "batch_size", result->batch);
    json_out_double(&out, "mean_epochs", result->split.epochs.mean);
    json_out_double(&out, "cv_tta", result->split.tta.cv);
    json_out_double(&out, "cv_epochs", result->split.epochs.cv);
    json_out_double(&out, "cv_seconds_per_epoch", result->split.per_epoch.cv);
    if (result->split.has_share)
        json_out_double(&out, "variance_share_of_epochs", result->split.epoch_share);
    if (!result->is_open && result->rcp[source->benchmark->round->rcp_variant].has)
        json_out_double(&out, "score_factor_by_rules", rcp->factor);
    json_out_end(&out, '}');
    if (!text.failed)
        copy = arena_copy(arena, buf_str(&text));
    buf_fini(&text);
    return copy;
}

/* What stands for the entry's own file: what was said beside the logs, and which they are. */
static enum status fill_files(const struct mlperf_source *source, struct arena *arena,
                              struct submission_files *files, struct error *err)
{
    const struct mlperf_result *result = source->result;
    struct submission_file *further =
        ARENA_NEW_ARRAY(arena, result->run_count, struct submission_file);
    struct json_out out;
    struct buf text;

    if (further == NULL)
        return no_memory(err);
    buf_init(&text, MANIFEST_BYTES_MAX);
    out = (struct json_out){&text, false};
    json_out_begin(&out, NULL, '{');
    json_out_text(&out, "round", source->benchmark->round->id);
    json_out_text(&out, "benchmark", source->benchmark->id);
    json_out_text(&out, "submitter", source->submitter);
    json_out_text(&out, "system", source->system);
    json_out_begin(&out, "logs", '[');
    for (size_t i = 0; i < result->run_count; i++) {
        char digest[SHA256_HEX_BYTES];

        crypto_sha256_hex(source->bytes[i], digest);
        further[i] = (struct submission_file){.name = result->runs[i].file->name,
                                              .bytes = source->bytes[i],
                                              .sha256 = arena_copy(arena, str_from_cstr(digest))};
        if (further[i].sha256 == NULL)
            text.failed = true;
        json_out_begin(&out, NULL, '{');
        json_out_text(&out, "file", result->runs[i].file->name);
        json_out_text(&out, "sha256", digest);
        json_out_end(&out, '}');
    }
    json_out_end(&out, ']');
    json_out_end(&out, '}');
    *files = (struct submission_files){.further = further, .further_count = result->run_count};
    files->entry = (struct str){arena_copy(arena, buf_str(&text)), text.len};
    if (text.failed || files->entry.data == NULL) {
        buf_fini(&text);
        return no_memory(err);
    }
    buf_fini(&text);
    return ST_OK;
}

static enum status no_memory(struct error *err)
{
    return error_set(err, ST_NO_MEMORY, NULL, "no memory for an entry");
}
