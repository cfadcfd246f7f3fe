/* server/mlperf/rules.c: see rules.h. */
#include "server/mlperf/rules.h"

#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "common/json.h"
#include "server/embedded.h"

enum { RULES_BYTES_MAX = 1 << 20, TEXT_BYTES_MAX = 1000, BENCHMARKS_MAX = 32, ALIASES_MAX = 4 };
#define RCP_FOLDER "schema/mlperf/rcp/"

struct owned_rules {
    struct mlperf_rules rules; /* first: the rules' address is the owner's */
    struct arena arena;
};

static enum status read_round(const struct embedded_file *file, struct arena *arena,
                              struct mlperf_round *round, struct error *err);
static void read_members(struct json_reader *json, struct arena *arena, struct mlperf_round *round);
static void read_benchmark(struct json_reader *json, struct arena *arena,
                           struct mlperf_benchmark *benchmark);
static const char *read_text(struct json_reader *json, struct arena *arena, const char *key,
                             bool required);
static const char *const *read_texts(struct json_reader *json, struct arena *arena, const char *key,
                                     size_t count_max, size_t *count);
static enum status check_rcp_files(const struct mlperf_rules *rules, struct error *err);

enum status mlperf_rules_create(struct mlperf_rules **rules, struct error *err)
{
    return mlperf_rules_create_from(embedded_mlperf, embedded_mlperf_count, rules, err);
}

enum status mlperf_rules_create_from(const struct embedded_file *files, size_t count,
                                     struct mlperf_rules **rules, struct error *err)
{
    struct owned_rules *owned = calloc(1, sizeof *owned);
    enum status status = ST_OK;

    if (owned == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the rules of MLPerf");
    arena_init(&owned->arena, RULES_BYTES_MAX);
    owned->rules.files = files;
    owned->rules.file_count = count;
    owned->rules.rounds = ARENA_NEW_ARRAY(&owned->arena, count, struct mlperf_round);
    if (owned->rules.rounds == NULL)
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory for the rules of MLPerf");
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        struct mlperf_round *round = &owned->rules.rounds[owned->rules.round_count];

        if (str_starts_with(str_from_cstr(files[i].path), STR(RCP_FOLDER)))
            continue;
        status = read_round(&files[i], &owned->arena, round, err);
        if (status == ST_OK && mlperf_find_round(&owned->rules, str_from_cstr(round->id)) != NULL)
            status = error_set(err, ST_INTERNAL, "round", "two files are of round %s", round->id);
        owned->rules.round_count += status == ST_OK;
    }
    if (status == ST_OK)
        status = check_rcp_files(&owned->rules, err);
    if (status != ST_OK) {
        mlperf_rules_destroy(&owned->rules);
        return status;
    }
    *rules = &owned->rules;
    return ST_OK;
}

void mlperf_rules_destroy(struct mlperf_rules *rules)
{
    struct owned_rules *owned = (struct owned_rules *)rules;

    if (owned == NULL)
        return;
    arena_fini(&owned->arena);
    free(owned);
}

const struct mlperf_round *mlperf_find_round(const struct mlperf_rules *rules, struct str id)
{
    for (size_t i = 0; i < rules->round_count; i++)
        if (str_eq_cstr(id, rules->rounds[i].id))
            return &rules->rounds[i];
    return NULL;
}

const struct mlperf_benchmark *mlperf_find_benchmark(const struct mlperf_round *round,
                                                     struct str name)
{
    for (size_t i = 0; i < round->benchmark_count; i++) {
        const struct mlperf_benchmark *benchmark = &round->benchmarks[i];

        if (str_eq_cstr(name, benchmark->id))
            return benchmark;
        for (size_t a = 0; a < benchmark->alias_count; a++)
            if (str_eq_cstr(name, benchmark->aliases[a]))
                return benchmark;
    }
    return NULL;
}

const struct mlperf_benchmark *mlperf_find_task(const struct mlperf_rules *rules, struct str task)
{
    for (size_t r = 0; r < rules->round_count; r++)
        for (size_t i = 0; i < rules->rounds[r].benchmark_count; i++)
            if (str_eq_cstr(task, rules->rounds[r].benchmarks[i].task))
                return &rules->rounds[r].benchmarks[i];
    return NULL;
}

struct str mlperf_find_rcp(const struct mlperf_rules *rules, const char *file)
{
    for (size_t i = 0; i < rules->file_count; i++) {
        const char *path = rules->files[i].path;

        if (strncmp(path, RCP_FOLDER, strlen(RCP_FOLDER)) == 0 &&
            strcmp(path + strlen(RCP_FOLDER), file) == 0)
            return (struct str){(const char *)rules->files[i].data, rules->files[i].bytes};
    }
    return (struct str){0};
}

static enum status read_round(const struct embedded_file *file, struct arena *arena,
                              struct mlperf_round *round, struct error *err)
{
    const struct str text = {(const char *)file->data, file->bytes};
    struct json_reader json;
    struct error fault = {0};
    struct json_doc doc = {0};

    *round = (struct mlperf_round){0};
    if (json_doc_parse(text, arena, &doc, &fault) == ST_OK) {
        json_reader_init(&json, doc.root, "", &fault);
        read_members(&json, arena, round);
        (void)json_reader_finish(&json);
    }
    json_doc_fini(&doc);
    if (fault.status == ST_OK)
        return ST_OK;
    return error_set(err, fault.status == ST_NO_MEMORY ? ST_NO_MEMORY : ST_INTERNAL, fault.field,
                     "%s: %s", file->path, fault.detail);
}

static void read_members(struct json_reader *json, struct arena *arena, struct mlperf_round *round)
{
    static const char *const accepts[] = {"first-that-meets", "last-before-success", NULL};
    static const char *const epochs[] = {"count-labels", "as-logged", NULL};
    static const char *const variants[] = {"rules", "tool", NULL};
    const char *format, *word = accepts[0];
    const json_t *array = NULL;
    int64_t order, version = 0;

    (void)json_read_i64(json, "order", true, 1, 1000, &order); /* of the tasks made of it */
    round->id = read_text(json, arena, "round", true);
    round->title = read_text(json, arena, "title", true);
    (void)json_read_i64(json, "version", true, 1, 1000000, &version);
    round->version = (int)version;
    format = read_text(json, arena, "format", true);
    if (!mlperf_format_parse(str_from_cstr(format), &round->format))
        (void)json_reader_fault(json, "format", "bad_value", NULL, "no such line format");
    (void)json_read_word(json, "accept", true, accepts, &word);
    round->accept = word == accepts[0] ? MLPERF_FIRST_THAT_MEETS : MLPERF_LAST_BEFORE_SUCCESS;
    word = epochs[0];
    (void)json_read_word(json, "epochs", true, epochs, &word);
    round->epochs = word == epochs[0] ? MLPERF_COUNT_LABELS : MLPERF_AS_LOGGED;
    word = variants[0];
    (void)json_read_word(json, "rcp_variant", false, variants, &word);
    round->rcp_variant = word == variants[0] ? RCP_RULES : RCP_TOOL;
    (void)read_text(json, arena, "clock_rule", true); /* for the tasks made of it, as the next */
    (void)read_text(json, arena, "allowed", false);
    if (!json_read_array(json, "benchmarks", true, BENCHMARKS_MAX, &array))
        return;
    round->benchmarks = ARENA_NEW_ARRAY(arena, json_array_size(array) + 1, struct mlperf_benchmark);
    for (size_t i = 0; i < json_array_size(array) && round->benchmarks != NULL; i++) {
        struct mlperf_benchmark *benchmark = &round->benchmarks[i];
        struct json_reader item;

        json_reader_init_part(&item, json, json_array_get(array, i), "/benchmarks");
        read_benchmark(&item, arena, benchmark);
        (void)json_reader_finish(&item);
        benchmark->round = round;
        benchmark->task = arena_printf(arena, "mlperf-%s-%s", round->id, benchmark->id);
        round->benchmark_count++;
    }
    if (round->benchmarks == NULL)
        (void)error_set(json->err, ST_NO_MEMORY, NULL, "no memory for the rules of MLPerf");
}

static void read_benchmark(struct json_reader *json, struct arena *arena,
                           struct mlperf_benchmark *benchmark)
{
    int64_t runs = 1, scored = 0;
    const char *const *targets;
    double ignored;

    benchmark->id = read_text(json, arena, "id", true);
    benchmark->aliases = read_texts(json, arena, "aliases", ALIASES_MAX, &benchmark->alias_count);
    benchmark->title = read_text(json, arena, "title", true);
    benchmark->metric_title = read_text(json, arena, "metric_title", true);
    (void)json_read_bool(json, "higher_is_better", true, &benchmark->higher_is_better);
    targets = read_texts(json, arena, "targets", MLPERF_VALUES_MAX, &benchmark->target_count);
    for (size_t i = 0; i < benchmark->target_count; i++) {
        benchmark->target_texts[i] = targets[i];
        if (!str_parse_double(str_from_cstr(targets[i]), &benchmark->targets[i]))
            (void)json_reader_fault(json, "targets", "bad_value", NULL, "a target is no number");
    }
    if (benchmark->target_count == 0)
        (void)json_reader_fault(json, "targets", "missing_member", NULL, "there is no target");
    (void)json_read_i64(json, "runs", true, 1, 1000, &runs);
    (void)json_read_i64(json, "scored_runs", false, 1, runs, &scored);
    benchmark->runs = (size_t)runs;
    benchmark->scored_runs = (size_t)scored;
    benchmark->rcp_file = read_text(json, arena, "rcp", false);
    /* For the tasks that are made of it (server/tools/mlperf_tasks.py). */
    (void)read_text(json, arena, "dataset", true);
    (void)read_text(json, arena, "metric", true);
    (void)read_text(json, arena, "unit", true);
    (void)json_read_double(json, "metric_max", true, &ignored);
}

static const char *read_text(struct json_reader *json, struct arena *arena, const char *key,
                             bool required)
{
    struct str text = {0};
    char *copy;

    if (!json_read_text(json, key, required, TEXT_BYTES_MAX, &text))
        return required ? "" : NULL; /* a fault is noted already */
    copy = arena_copy(arena, text);
    if (copy == NULL)
        (void)error_set(json->err, ST_NO_MEMORY, key, "no memory for the rules of MLPerf");
    return copy == NULL ? "" : copy;
}

static const char *const *read_texts(struct json_reader *json, struct arena *arena, const char *key,
                                     size_t count_max, size_t *count)
{
    const json_t *array = NULL;
    const char **texts;

    *count = 0;
    if (!json_read_array(json, key, false, count_max, &array))
        return NULL;
    texts = ARENA_NEW_ARRAY(arena, json_array_size(array) + 1, const char *);
    for (size_t i = 0; i < json_array_size(array) && texts != NULL; i++) {
        const char *text = json_string_value(json_array_get(array, i));

        if (text == NULL) {
            (void)json_reader_fault(json, key, "wrong_type", NULL, "%s has more than texts", key);
            return NULL;
        }
        texts[i] = arena_copy(arena, str_from_cstr(text));
        if (texts[i] == NULL)
            texts = NULL;
        else
            (*count)++;
    }
    if (texts == NULL) {
        *count = 0;
        (void)error_set(json->err, ST_NO_MEMORY, key, "no memory for the rules of MLPerf");
    }
    return texts;
}

static enum status check_rcp_files(const struct mlperf_rules *rules, struct error *err)
{
    for (size_t r = 0; r < rules->round_count; r++)
        for (size_t i = 0; i < rules->rounds[r].benchmark_count; i++) {
            const struct mlperf_benchmark *benchmark = &rules->rounds[r].benchmarks[i];

            if (benchmark->rcp_file != NULL && mlperf_find_rcp(rules, benchmark->rcp_file).len == 0)
                return error_set(err, ST_INTERNAL, "rcp", "%s of %s names %s, which is not there",
                                 benchmark->id, rules->rounds[r].id, benchmark->rcp_file);
        }
    return ST_OK;
}
