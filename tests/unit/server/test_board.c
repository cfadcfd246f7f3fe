/* tests/unit/server/test_board.c: who stands where on a board, and how a board is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/json.h"
#include "server/rank/board.h"
#include "server/rank/board_write.h"

static struct task_table *tasks;
static const struct task *train, *inference;

static int load_tasks(void **state)
{
    (void)state;
    if (task_table_create(&tasks, NULL) != ST_OK)
        return -1;
    train = task_find(tasks, STR("cifar10-train"));
    inference = task_find(tasks, STR("cifar10-inference"));
    return 0;
}

static int drop_tasks(void **state)
{
    (void)state;
    task_table_destroy(tasks);
    return 0;
}

static struct board_entry timed(int64_t id, const char *name, int64_t tta_ns, int64_t date_days)
{
    return (struct board_entry){.entry = id,
                                .name = name,
                                .has_tta = true,
                                .tta_ns = tta_ns,
                                .date_days = date_days,
                                .tier = "reported"};
}

static struct board build(const struct task *task, enum board_by by,
                          const struct board_entry *entries, size_t count, struct arena *arena)
{
    struct board board;

    arena_init(arena, 1 << 20);
    assert_int_equal(
        board_rank(task, &(struct board_rule){.by = by}, entries, count, arena, &board, NULL),
        ST_OK);
    return board;
}

static void board_orders_by_value_then_date_then_name(void **state)
{
    const struct board_entry entries[] = {
        timed(1, "slow", 900, 1), timed(2, "b", 500, 7),     timed(3, "a", 500, 7),
        timed(4, "z", 500, 6),    timed(5, "fastest", 1, 9), timed(6, "A", 500, 7),
    };
    static const char *const want[] = {"fastest", "z", "A", "a", "b", "slow"};
    struct arena arena;
    const struct board board = build(train, BOARD_TIME, entries, ARRAY_LEN(entries), &arena);

    (void)state;
    assert_int_equal(board.item_count, ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        assert_string_equal(board.items[i].row->name, want[i]);
    arena_fini(&arena);
}

static void board_shares_a_place_on_equal_values(void **state)
{
    const struct board_entry entries[] = {timed(1, "a", 10, 1), timed(2, "b", 20, 1),
                                          timed(3, "c", 20, 2), timed(4, "d", 30, 1),
                                          timed(5, "e", 20, 3)};
    static const size_t places[] = {1, 2, 2, 2, 5};
    static const bool tied[] = {false, true, true, true, false};
    struct arena arena;
    const struct board board = build(train, BOARD_TIME, entries, ARRAY_LEN(entries), &arena);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        assert_int_equal(board.items[i].place, places[i]);
        assert_int_equal(board.items[i].tied, tied[i]);
    }
    arena_fini(&arena);
}

static void board_tells_one_nanosecond_and_one_pico_dollar_apart(void **state)
{
    struct board_entry entries[] = {timed(1, "a", INT64_MAX, 1), timed(2, "b", INT64_MAX - 1, 2)};
    struct arena arena;
    struct board board = build(train, BOARD_TIME, entries, 2, &arena);

    (void)state;
    assert_string_equal(board.items[0].row->name, "b");
    assert_false(board.items[0].tied);
    arena_fini(&arena);
    for (size_t i = 0; i < 2; i++) {
        entries[i].has_cost = true;
        entries[i].cost_pico = 1000000000000000001 - (int64_t)i;
    }
    board = build(train, BOARD_COST, entries, 2, &arena);
    assert_string_equal(board.items[0].row->name, "b");
    arena_fini(&arena);
}

static void board_says_why_an_entry_is_not_ranked(void **state)
{
    struct board_entry entries[] = {timed(1, "no-price", 10, 1), timed(2, "withdrawn", 5, 1),
                                    timed(3, "missed", 0, 1), timed(4, "priced", 20, 1)};
    struct arena arena;
    struct board board;

    (void)state;
    entries[1].not_ranked_reason = "withdrawn by its author";
    entries[2].has_tta = false;
    entries[3].has_cost = true;
    entries[3].cost_pico = 7;
    board = build(train, BOARD_COST, entries, ARRAY_LEN(entries), &arena);
    assert_int_equal(board.item_count, 1);
    assert_string_equal(board.items[0].row->name, "priced");
    assert_int_equal(board.not_ranked_count, 3); /* by name */
    assert_string_equal(board.not_ranked[0].row->name, "missed");
    assert_string_equal(board.not_ranked[0].reason, "has not reached the target");
    assert_string_equal(board.not_ranked[1].row->name, "no-price");
    assert_string_equal(board.not_ranked[1].reason, "no costPerHour was given");
    assert_string_equal(board.not_ranked[2].reason, "withdrawn by its author");
    arena_fini(&arena);
}

static struct board rank(const struct board_rule *rule, const struct board_entry *entries,
                         size_t count, struct arena *arena)
{
    struct board board;

    arena_init(arena, 1 << 20);
    assert_int_equal(board_rank(train, rule, entries, count, arena, &board, NULL), ST_OK);
    return board;
}

static void an_energy_board_orders_by_joules(void **state)
{
    struct board_entry entries[] = {timed(1, "a", 10, 1), timed(2, "b", 20, 1),
                                    timed(3, "no-counter", 5, 1)};
    struct arena arena;
    struct board board;

    (void)state;
    entries[0].has_energy = entries[1].has_energy = true;
    entries[0].energy_uj = 900;
    entries[1].energy_uj = 800;
    board = rank(&(struct board_rule){.by = BOARD_ENERGY}, entries, 3, &arena);
    assert_int_equal(board.item_count, 2);
    assert_string_equal(board.items[0].row->name, "b");
    assert_string_equal(board.not_ranked[0].reason, "its device has no energy counter");
    arena_fini(&arena);
}

static void a_cost_that_does_not_count_has_no_place(void **state)
{
    struct board_entry entries[] = {timed(1, "spot", 10, 1), timed(2, "listed", 20, 1)};
    struct arena arena;
    struct board board;

    (void)state;
    entries[0].has_cost = entries[1].has_cost = true;
    entries[0].cost_pico = 1;
    entries[1].cost_pico = 2;
    entries[0].cost_reason = "spot prices do not count";
    board = rank(&(struct board_rule){.by = BOARD_COST}, entries, 2, &arena);
    assert_int_equal(board.item_count, 1);
    assert_string_equal(board.items[0].row->name, "listed");
    assert_string_equal(board.not_ranked[0].reason, "spot prices do not count");
    arena_fini(&arena);
    board = rank(&(struct board_rule){.by = BOARD_TIME}, entries, 2, &arena);
    assert_int_equal(board.item_count, 2); /* by time it counts */
    arena_fini(&arena);
}

static void best_by_author_ranks_one_of_each(void **state)
{
    struct board_entry entries[] = {timed(1, "a-slow", 30, 1), timed(2, "b", 20, 1),
                                    timed(3, "a-fast", 20, 2), timed(4, "c", 40, 1),
                                    timed(5, "a-gone", 1, 1)};
    static const char *const authors[] = {"A", "B", "A", "a", "A"};
    struct arena arena;
    struct board board;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(entries); i++)
        entries[i].author = authors[i];
    entries[4].not_ranked_reason = "withdrawn";
    board = rank(&(struct board_rule){.by = BOARD_TIME, .best = BOARD_BEST_AUTHOR}, entries,
                 ARRAY_LEN(entries), &arena);
    assert_int_equal(board.item_count, 3);
    assert_string_equal(board.items[0].row->name, "b"); /* the older of the two */
    assert_int_equal(board.items[0].place, 1);
    assert_true(board.items[0].tied && board.items[1].tied);
    assert_string_equal(board.items[1].row->name, "a-fast");
    assert_string_equal(board.items[2].row->name, "c"); /* another author: case counts */
    assert_int_equal(board.items[2].place, 3);          /* as if the others were not there */
    assert_int_equal(board.not_ranked_count, 2);
    assert_string_equal(board.not_ranked[0].reason, "withdrawn");
    assert_string_equal(board.not_ranked[1].row->name, "a-slow");
    assert_string_equal(board.not_ranked[1].reason, "a-fast of the same author is ahead of it");
    arena_fini(&arena);
}

static void as_of_shows_what_stood_at_the_end_of_that_day(void **state)
{
    static const struct board_standing early[] = {{10, true, 20}, {30, false, 0}},
                                       late[] = {{15, false, 0}}, never[] = {{12, true, 12}};
    struct board_entry entries[] = {timed(1, "early", 100, 10), timed(2, "late", 50, 15),
                                    timed(3, "never", 1, 12), timed(4, "waits", 2, 0),
                                    timed(5, "missed", 0, 15)};
    static const struct {
        int64_t day;
        size_t count;
        const char *first;
    } rows[] = {{9, 0, NULL},    {10, 1, "early"},    {12, 1, "early"}, {14, 1, "early"},
                {15, 2, "late"}, {19, 2, "late"},     {20, 1, "late"},  {29, 1, "late"},
                {30, 2, "late"}, {1000000, 2, "late"}};

    (void)state;
    entries[0].standings = early;
    entries[0].standing_count = 2;
    entries[1].standings = entries[4].standings = late;
    entries[1].standing_count = entries[4].standing_count = 1;
    entries[2].standings = never;
    entries[2].standing_count = 1;
    entries[1].not_ranked_reason = "withdrawn since"; /* of today: not asked */
    entries[4].has_tta = false;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena arena;
        const struct board board = rank(
            &(struct board_rule){.by = BOARD_TIME, .has_as_of = true, .as_of_days = rows[i].day},
            entries, ARRAY_LEN(entries), &arena);

        assert_int_equal(board.item_count, rows[i].count);
        if (rows[i].count > 0)
            assert_string_equal(board.items[0].row->name, rows[i].first);
        /* what stood and has no value is said so; what did not stand is not mentioned */
        assert_int_equal(board.not_ranked_count, rows[i].day >= 15 ? 1 : 0);
        arena_fini(&arena);
    }
}

static void boards_fit_the_phase_of_their_task(void **state)
{
    static const struct {
        const char *name;
        enum board_by by;
        bool train, inference;
    } rows[] = {
        {"time", BOARD_TIME, true, false},
        {"cost", BOARD_COST, true, false},
        {"latency", BOARD_LATENCY, false, true},
        {"inference-cost", BOARD_INFERENCE_COST, false, true},
        {"energy", BOARD_ENERGY, true, false},
    };
    enum board_by by;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct arena arena;
        struct board board;

        assert_true(board_by_parse(str_from_cstr(rows[i].name), &by));
        assert_int_equal(by, rows[i].by);
        assert_string_equal(board_by_name(by), rows[i].name);
        assert_int_equal(board_by_fits(by, train), rows[i].train);
        assert_int_equal(board_by_fits(by, inference), rows[i].inference);
        arena_init(&arena, 1 << 16);
        assert_int_equal(board_rank(rows[i].train ? inference : train,
                                    &(struct board_rule){.by = by}, NULL, 0, &arena, &board, &err),
                         ST_INVALID);
        assert_string_equal(err.code, "no-such-board");
        arena_fini(&arena);
    }
    assert_false(board_by_parse(STR("speed"), &by));
    assert_false(board_by_parse(STR(""), &by));
}

static void an_empty_board_is_a_board(void **state)
{
    struct arena arena;
    const struct board board = build(train, BOARD_TIME, NULL, 0, &arena);
    struct buf out;

    (void)state;
    assert_int_equal(board.item_count, 0);
    buf_init(&out, 1 << 16);
    board_write_json(&out, &board, NULL, NULL);
    assert_string_equal(out.data,
                        "{\"task\":\"cifar10-train\",\"unit\":\"percent\",\"by\":\"time\","
                        "\"target\":94.0,\"items\":[],\"not_ranked\":[]}");
    buf_fini(&out);
    arena_fini(&arena);
}

static void too_many_entries_and_no_memory_are_errors(void **state)
{
    const struct board_entry entries[] = {timed(1, "a", 1, 1)};
    struct arena arena;
    struct board board;

    (void)state;
    arena_init(&arena, 8);
    assert_int_equal(board_rank(train, &(struct board_rule){.by = BOARD_TIME}, entries,
                                BOARD_ENTRIES_MAX + 1, &arena, &board, NULL),
                     ST_LIMIT);
    assert_int_equal(
        board_rank(train, &(struct board_rule){.by = BOARD_TIME}, entries, 1, &arena, &board, NULL),
        ST_NO_MEMORY);
    arena_fini(&arena);
}

static void a_page_ends_at_a_key_that_need_not_be_there(void **state)
{
    const struct board_entry entries[] = {timed(1, "a", 10, 1), timed(2, "b", 20, 1),
                                          timed(3, "c", 20, 2), timed(4, "d", 30, 1)};
    static const struct {
        struct board_key key;
        size_t index;
    } rows[] = {{{5, 0, "x", 9}, 0},  {{10, 1, "a", 1}, 1}, {{20, 1, "b", 2}, 2},
                {{20, 1, "c", 9}, 2}, {{30, 1, "d", 4}, 4}, {{31, 0, "", 0}, 4}};
    struct arena arena;
    const struct board board = build(train, BOARD_TIME, entries, ARRAY_LEN(entries), &arena);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(board_skip(&board, &rows[i].key), rows[i].index);
    for (size_t i = 0; i < board.item_count; i++) {
        const struct board_key key = board_key_of(&board.items[i], BOARD_TIME);

        assert_int_equal(board_skip(&board, &key), i + 1);
    }
    arena_fini(&arena);
}

static void intervals_that_overlap_are_not_separable(void **state)
{
    static const int64_t near[] = {100, 110, 120}, next[] = {110, 125, 135},
                         far[] = {900, 905, 910};
    struct board_entry entries[] = {timed(1, "near", 110, 1), timed(2, "next", 125, 1),
                                    timed(3, "far", 905, 1), timed(4, "single", 2000, 1)};
    const int64_t *const runs[] = {near, next, far};
    struct arena arena;
    struct board board;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        entries[i].tta_runs_ns = runs[i];
        entries[i].tta_run_count = 3;
    }
    board = build(train, BOARD_TIME, entries, 4, &arena);
    assert_true(board.items[0].has_cv && board.items[0].cv > 0.0909 && board.items[0].cv < 0.0910);
    assert_true(board.items[0].has_separable && !board.items[0].separable_from_next);
    assert_true(board.items[1].has_separable && board.items[1].separable_from_next);
    assert_false(board.items[2].has_separable); /* the next has one run alone */
    assert_false(board.items[3].has_cv);
    arena_fini(&arena);
}

/* By the median the first is ahead; by their means it is far behind. */
static void intervals_are_apart_on_either_side(void **state)
{
    static const int64_t ahead[] = {10, 10, 10, 10, 9}, behind[] = {11, 11};
    struct board_entry entries[] = {timed(1, "next", 20, 1), timed(2, "first", 5, 1)};
    struct arena arena;
    struct board board;

    (void)state;
    entries[0].tta_runs_ns = ahead;
    entries[0].tta_run_count = 5;
    entries[1].tta_runs_ns = behind;
    entries[1].tta_run_count = 2;
    board = build(train, BOARD_TIME, entries, 2, &arena);
    assert_string_equal(board.items[0].row->name, "first");
    assert_true(board.items[0].has_separable && board.items[0].separable_from_next);
    arena_fini(&arena);
}

static struct board_entry full(void)
{
    struct board_entry entry = timed(7, "n", 10663472416, 18266);

    entry.has_run = true;
    entry.run = 9;
    entry.model = "M \"x\"";
    entry.author = "=A, B";
    entry.hardware = "1\tGPU";
    entry.framework = "F";
    entry.epoch_text = "1.";
    entry.accuracy_text = "94.20";
    entry.has_cost = true;
    entry.cost_pico = 62935203600;
    entry.has_wall = true;
    entry.wall_ns = 12000000000;
    entry.has_views = entry.has_devices = entry.has_n = true;
    entry.views = 6;
    entry.devices = 1;
    entry.n = 1;
    entry.cloud = "aws";
    return entry;
}

static void json_has_the_members_of_the_protocol(void **state)
{
    const struct board_entry entries[] = {full(), timed(8, "m", 5, 0)};
    struct error err = {0};
    struct json_doc doc;
    struct arena arena, parse_arena;
    struct board board = build(train, BOARD_COST, entries, 2, &arena);
    struct buf out;

    (void)state;
    buf_init(&out, 1 << 16);
    board_write_json(&out, &board, "2026-12-01", "abc");
    assert_string_equal(
        out.data,
        "{\"task\":\"cifar10-train\",\"unit\":\"percent\",\"by\":\"cost\",\"as_of\":\"2026-12-01\","
        "\"target\":94.0,\"items\":[{\"place\":1,\"tied\":false,\"entry\":7,\"name\":\"n\","
        "\"run\":9,\"model\":\"M \\\"x\\\"\",\"author\":\"=A, B\",\"hardware\":\"1\\tGPU\","
        "\"framework\":\"F\",\"date\":\"2020-01-05\",\"epoch\":1e0,\"tta_s\":10.663472416,"
        "\"wall_s\":12,\"cost_usd\":0.0629352036,\"accuracy\":94.20,\"views\":6,\"devices\":1,"
        "\"cloud\":\"aws\",\"tier\":\"reported\",\"n\":1}],\"not_ranked\":[{\"entry\":8,"
        "\"name\":\"m\",\"reason\":\"no costPerHour was given\"}],\"next_cursor\":\"abc\"}");
    arena_init(&parse_arena, 1 << 16);
    assert_int_equal(json_doc_parse(buf_str(&out), &parse_arena, &doc, &err), ST_OK);
    json_doc_fini(&doc);
    arena_fini(&parse_arena);
    buf_fini(&out);
    arena_fini(&arena);
}

static void csv_quotes_what_needs_it_and_disarms_formulas(void **state)
{
    const struct board_entry entries[] = {full()};
    struct arena arena;
    const struct board board = build(train, BOARD_TIME, entries, 1, &arena);
    struct buf out;

    (void)state;
    buf_init(&out, 1 << 16);
    board_write_csv(&out, &board);
    assert_string_equal(out.data,
                        "place,tied,entry,name,run,model,author,hardware,framework,date,epoch,"
                        "tta_s,wall_s,latency_ms,cost_usd,energy_j,accuracy,views,devices,cloud,"
                        "tier,n,cv,separable_from_next\r\n"
                        "1,false,7,n,9,\"M \"\"x\"\"\",\"'=A, B\",1\tGPU,F,2020-01-05,1.,"
                        "10.663472416,12,,0.0629352036,,94.20,6,1,aws,reported,1,,\r\n");
    buf_fini(&out);
    arena_fini(&arena);
}

static void tsv_has_dawnbenchs_columns_with_six_decimals(void **state)
{
    struct board_entry entries[] = {full(), full()};
    struct arena arena;
    struct board board;
    struct buf out;

    (void)state;
    entries[1].entry = 8;
    entries[1].name = "o";
    entries[1].has_cost = false;
    entries[1].tta_ns = 20000000500; /* a tie: to even */
    board = build(train, BOARD_TIME, entries, 2, &arena);
    buf_init(&out, 1 << 16);
    board_write_tsv(&out, &board);
    assert_string_equal(
        out.data, "rank\tfile\tmodel\tauthor\thardware\tframework\tseconds\tcost\tepoch\tdate\n"
                  "1\tn\tM \"x\"\t=A, B\t1 GPU\tF\t10.663472\t0.062935\t1.\t2020-01-05\n"
                  "2\to\tM \"x\"\t=A, B\t1 GPU\tF\t20.000000\t\t1.\t2020-01-05\n");
    arena_fini(&arena);
    buf_clear(&out);
    entries[0].has_latency = true;
    entries[0].latency_ns = 73928;
    entries[0].latency_text = "0.0739278";
    entries[0].cost_text = "2.078e-7";
    board = build(inference, BOARD_LATENCY, entries, 1, &arena);
    board_write_tsv(&out, &board);
    assert_string_equal(out.data,
                        "rank\tfile\tmodel\tauthor\thardware\tframework\tms\tcost\taccuracy\tdate\n"
                        "1\tn\tM \"x\"\t=A, B\t1 GPU\tF\t0.0739278\t2.078e-7\t94.20\t2020-01-05\n");
    buf_fini(&out);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(board_orders_by_value_then_date_then_name),
        cmocka_unit_test(board_shares_a_place_on_equal_values),
        cmocka_unit_test(board_tells_one_nanosecond_and_one_pico_dollar_apart),
        cmocka_unit_test(board_says_why_an_entry_is_not_ranked),
        cmocka_unit_test(an_energy_board_orders_by_joules),
        cmocka_unit_test(a_cost_that_does_not_count_has_no_place),
        cmocka_unit_test(best_by_author_ranks_one_of_each),
        cmocka_unit_test(as_of_shows_what_stood_at_the_end_of_that_day),
        cmocka_unit_test(boards_fit_the_phase_of_their_task),
        cmocka_unit_test(an_empty_board_is_a_board),
        cmocka_unit_test(too_many_entries_and_no_memory_are_errors),
        cmocka_unit_test(a_page_ends_at_a_key_that_need_not_be_there),
        cmocka_unit_test(intervals_that_overlap_are_not_separable),
        cmocka_unit_test(intervals_are_apart_on_either_side),
        cmocka_unit_test(json_has_the_members_of_the_protocol),
        cmocka_unit_test(csv_quotes_what_needs_it_and_disarms_formulas),
        cmocka_unit_test(tsv_has_dawnbenchs_columns_with_six_decimals),
    };

    return cmocka_run_group_tests(tests, load_tasks, drop_tasks);
}
