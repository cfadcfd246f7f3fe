/* tests/property/rank_stdin.c: ranks sets of entries from stdin with server/rank and prints the boards: the real side
 * of the property test. README.md has both formats; what is read here is made by a program, so the first fault ends it
 * with status 2. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/json.h"
#include "common/task.h"
#include "server/rank/board.h"
#include "server/rank/score.h"

enum { ARENA_BYTES = 256 << 20, LINE_BYTES_MAX = 64 << 20 };

/* An entry of the set beside what the board does not keep of it. */
struct scored {
    bool has;
    size_t shown;
};

static long line_number;

static void fail(const char *what)
{
    (void)fprintf(stderr, "rank_stdin: line %ld: %s\n", line_number, what);
    exit(2);
}

static void *take(struct arena *arena, size_t count, size_t size)
{
    void *memory = arena_alloc(arena, count, size);

    if (memory == NULL)
        fail("no memory for the set");
    return memory;
}

static bool has_member(const json_t *object, const char *key)
{
    return json_object_get(object, key) != NULL;
}

static int64_t read_i64(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_integer(value))
        fail(key);
    return json_integer_value(value);
}

static const char *read_text(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_string(value))
        fail(key);
    return json_string_value(value);
}

static void read_optional(const json_t *object, const char *key, bool *has, int64_t *value)
{
    *has = has_member(object, key);
    if (*has)
        *value = read_i64(object, key);
}

static enum task_score read_score(const json_t *task)
{
    static const enum task_score rules[] = {TASK_SCORE_MEDIAN, TASK_SCORE_MEAN, TASK_SCORE_OLYMPIC};
    const char *name = read_text(task, "score");

    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        if (strcmp(name, task_score_name(rules[i])) == 0)
            return rules[i];
    fail("score");
    return TASK_SCORE_MEDIAN;
}

static struct board_rule read_rule(const json_t *from)
{
    struct board_rule rule = {0};
    const char *best = read_text(from, "best");

    if (!board_by_parse(str_from_cstr(read_text(from, "by")), &rule.by))
        fail("by");
    if (strcmp(best, "author") == 0)
        rule.best = BOARD_BEST_AUTHOR;
    else if (strcmp(best, "entry") != 0)
        fail("best");
    read_optional(from, "as_of", &rule.has_as_of, &rule.as_of_days);
    return rule;
}

/* The runs make the entry's time by the task's rule; its spread is that of the runs that reached. */
static void read_runs(const json_t *list, enum task_score rule, struct arena *arena,
                      struct board_entry *entry, struct scored *scored)
{
    const size_t count = json_array_size(list);
    struct score_run *runs = take(arena, count, sizeof *runs);
    int64_t *reached = take(arena, count, sizeof *reached);
    struct score score;

    for (size_t i = 0; i < count; i++) {
        const json_t *run = json_array_get(list, i);

        runs[i].reached = json_is_true(json_object_get(run, "reached"));
        if (!runs[i].reached)
            continue;
        runs[i].tta_ns = read_i64(run, "tta_ns");
        reached[entry->tta_run_count++] = runs[i].tta_ns;
    }
    score = score_runs(rule, runs, count);
    entry->tta_runs_ns = reached;
    entry->has_n = true;
    entry->n = (int64_t)count;
    entry->has_tta = score.has;
    entry->tta_ns = score.tta_ns;
    *scored = (struct scored){score.has, score.shown};
}

static void read_standings(const json_t *list, struct arena *arena, struct board_entry *entry)
{
    const size_t count = json_array_size(list);
    struct board_standing *standings = take(arena, count, sizeof *standings);

    for (size_t i = 0; i < count; i++) {
        const json_t *from = json_array_get(list, i);

        standings[i].from_days = read_i64(from, "from");
        read_optional(from, "to", &standings[i].has_to, &standings[i].to_days);
    }
    entry->standings = standings;
    entry->standing_count = count;
}

static void read_entry(const json_t *from, enum task_score rule, struct arena *arena,
                       struct board_entry *entry, struct scored *scored)
{
    *entry = (struct board_entry){
        .entry = read_i64(from, "entry"),
        .name = read_text(from, "name"),
        .author = read_text(from, "author"),
        .date_days = read_i64(from, "date"),
    };
    read_optional(from, "cost_pico", &entry->has_cost, &entry->cost_pico);
    read_optional(from, "energy_uj", &entry->has_energy, &entry->energy_uj);
    read_optional(from, "latency_ns", &entry->has_latency, &entry->latency_ns);
    if (has_member(from, "reason"))
        entry->not_ranked_reason = read_text(from, "reason");
    if (has_member(from, "cost_reason"))
        entry->cost_reason = read_text(from, "cost_reason");
    read_standings(json_object_get(from, "standings"), arena, entry);
    if (has_member(from, "runs"))
        read_runs(json_object_get(from, "runs"), rule, arena, entry, scored);
}

static void print_text(const char *text)
{
    struct buf out;

    buf_init(&out, LINE_BYTES_MAX);
    buf_append_json(&out, str_from_cstr(text));
    if (out.failed)
        fail("a text is too long");
    (void)fwrite(out.data, 1, out.len, stdout);
    buf_fini(&out);
}

static void print_board(const struct board *board, const struct board_entry *entries,
                        const struct scored *scored)
{
    (void)fputs("\"items\":[", stdout);
    for (size_t i = 0; i < board->item_count; i++) {
        const struct board_item *item = &board->items[i];
        const struct scored *score = &scored[item->row - entries];
        int64_t value = 0;

        (void)board_value(item->row, board->by, &value);
        (void)printf("%s{\"entry\":%" PRId64 ",\"place\":%zu,\"tied\":%s,\"value\":%" PRId64,
                     i == 0 ? "" : ",", item->row->entry, item->place,
                     item->tied ? "true" : "false", value);
        if (score->has)
            (void)printf(",\"run\":%zu", score->shown);
        if (item->has_cv)
            (void)printf(",\"cv\":%.17g", item->cv);
        if (item->has_separable)
            (void)printf(",\"separable\":%s", item->separable_from_next ? "true" : "false");
        (void)putchar('}');
    }
    (void)fputs("],\"not_ranked\":[", stdout);
    for (size_t i = 0; i < board->not_ranked_count; i++) {
        (void)printf("%s{\"entry\":%" PRId64 ",\"reason\":", i == 0 ? "" : ",",
                     board->not_ranked[i].row->entry);
        print_text(board->not_ranked[i].reason);
        (void)putchar('}');
    }
    (void)putchar(']');
}

static void rank_set(const json_t *set, const struct task *train, const struct task *inference)
{
    const json_t *task = json_object_get(set, "task"), *list = json_object_get(set, "entries");
    const bool is_train = strcmp(read_text(task, "phase"), "train") == 0;
    const struct board_rule rule = read_rule(json_object_get(set, "rule"));
    const size_t count = json_array_size(list);
    struct board_entry *entries;
    struct scored *scored;
    struct arena arena;
    struct board board;
    enum status status;

    arena_init(&arena, ARENA_BYTES);
    entries = take(&arena, count, sizeof *entries);
    scored = take(&arena, count, sizeof *scored);
    for (size_t i = 0; i < count; i++)
        read_entry(json_array_get(list, i), read_score(task), &arena, &entries[i], &scored[i]);
    status = board_rank(is_train ? train : inference, &rule, entries, count, &arena, &board, NULL);
    (void)printf("{\"seed\":%" PRId64 ",", read_i64(set, "seed"));
    if (status == ST_INVALID)
        (void)fputs("\"refused\":true", stdout);
    else if (status == ST_OK)
        print_board(&board, entries, scored);
    else
        fail(status_name(status));
    (void)puts("}");
    arena_fini(&arena);
}

int main(void)
{
    struct task_table *tasks = NULL;
    struct error err = {0};
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;

    if (task_table_create(&tasks, &err) != ST_OK)
        fail(err.detail);
    while ((length = getline(&line, &capacity, stdin)) > 0) {
        json_error_t where;
        json_t *set;

        line_number++;
        set = json_loadb(line, (size_t)length, JSON_REJECT_DUPLICATES, &where);
        if (set == NULL)
            fail(where.text);
        rank_set(set, task_find(tasks, STR("cifar10-train")),
                 task_find(tasks, STR("cifar10-inference")));
        json_decref(set);
    }
    free(line);
    task_table_destroy(tasks);
    return fflush(stdout) == 0 ? 0 : 2;
}
