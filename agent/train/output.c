/* agent/train/output.c: what `train` and `infer` leave behind (see output.h). */
#include "agent/train/output.h"

#include <stdio.h>
#include <string.h>

#include "agent/data/files.h"
#include "agent/train/host.h"
#include "common/build.h"
#include "common/clock.h"

#define FILE_BYTES_MAX ((size_t)ENTRY_FILE_BYTES_MAX)

/* A new reference, or NULL when out of memory. */
static json_t *build_misc(const struct output *output, const struct parent_plan *plan,
                          const struct parent_result *result)
{
    json_t *misc = result->facts != NULL ? json_deep_copy(result->facts) : json_object();
    json_t *run =
        json_pack("{s:s, s:s, s:s, s:s, s:I, s:f, s:I}", "task", plan->task->id, "target",
                  output->target_text, "build", build_id(), "compiler", build_compiler(), "seed",
                  (json_int_t)result->seed, "wall_s", (double)result->wall_ns / (double)NS_PER_S,
                  "views", (json_int_t)result->views);
    int failed = misc == NULL || run == NULL;

    if (!failed && result->reached)
        failed = json_object_set_new(
                     run, "tta_s",
                     json_real((double)result->crossing_official_ns / (double)NS_PER_S)) != 0;
    if (!failed && output->holdout) /* trained without the fresh split: for people, never ranked */
        failed = json_object_set_new(run, "holdout", json_true()) != 0;
    if (!failed && output->partial) /* so are its accuracies */
        failed = json_object_set_new(run, "partial", json_true()) != 0;
    if (!failed && output->resumed) /* its times are not those of one run */
        failed = json_object_set_new(run, "resumed", json_true()) != 0;
    if (!failed && !result->whole)
        failed = json_object_set_new(run, "incomplete", json_true()) != 0;
    if (!failed)
        failed = json_object_update(misc, run) != 0;
    json_decref(run);
    if (!failed)
        return misc;
    json_decref(misc);
    return NULL;
}

/* The bare hash of the commit this was built from; "" when it was none, or changed since. */
static void find_commit(char commit[HOST_TEXT_BYTES])
{
    const char *plus = strchr(build_id(), '+');

    commit[0] = '\0';
    if (plus != NULL && strcmp(plus + 1, "unknown") != 0 && strstr(plus, "-dirty") == NULL)
        (void)snprintf(commit, HOST_TEXT_BYTES, "%s", plus + 1);
}

static enum status write_file(const char *dir, const char *base, const char *ending,
                              const struct buf *content, struct error *err)
{
    char path[FILES_PATH_BYTES_MAX], name[ENTRY_NAME_BYTES_MAX + 8];
    enum status status = buf_check(content, err);

    (void)snprintf(name, sizeof name, "%s.%s", base, ending);
    if (status == ST_OK)
        status = files_join(path, dir, name, err);
    return status == ST_OK ? files_write(path, buf_str(content), 0644, err) : status;
}

enum status output_write_json(const char *dir, const char *name, const char *instance,
                              const struct entry *entry, struct error *err)
{
    char date[CLOCK_TEXT_BYTES], hardware[2 * HOST_TEXT_BYTES], commit[HOST_TEXT_BYTES];
    struct entry whole = *entry;
    struct host host;
    struct buf text;
    enum status status = host_read(&host, err);

    if (status != ST_OK)
        return status;
    find_commit(commit);
    clock_format_date(clock_real_ms(), date);
    host_format_hardware(&host, instance, hardware);
    whole.framework = "daybreak " DAYBREAK_VERSION;
    whole.commit_hash = commit[0] != '\0' ? commit : NULL;
    whole.timestamp = date;
    whole.hardware = hardware;
    buf_init(&text, FILE_BYTES_MAX);
    status = entry_append_json(&text, &whole, err);
    if (status == ST_OK)
        status = write_file(dir, name, "json", &text, err);
    buf_fini(&text);
    return status;
}

enum status output_write_entry(const struct output *output, const struct parent_plan *plan,
                               const struct parent_result *result, struct error *err)
{
    json_t *misc = build_misc(output, plan, result);
    const json_t *model = misc != NULL ? json_object_get(misc, "model") : NULL;
    const struct entry entry = {
        .task = plan->task,
        .author = output->author,
        .author_email = output->author_email,
        .model = json_is_string(model) ? json_string_value(model) : plan->workload,
        .cost_usd_per_hour = output->cost_per_hour,
        .misc = misc,
    };
    struct buf text;
    enum status status =
        misc == NULL ? error_set(err, ST_NO_MEMORY, "misc", "no memory for the entry")
                     : output_write_json(output->dir, output->name, output->instance, &entry, err);

    buf_init(&text, FILE_BYTES_MAX);
    if (status == ST_OK)
        status = entry_append_tsv(&text, plan->task, result->epochs, result->epoch_count, err);
    if (status == ST_OK)
        status = write_file(output->dir, output->name, "tsv", &text, err);
    buf_fini(&text);
    json_decref(misc);
    return status;
}
