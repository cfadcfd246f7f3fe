/* tests/unit/server/test_pages.c: pages as pure functions: what stands on a board, in which order, how a record's
 * stairs are found, and that no text of an entry becomes markup. */
#include "server/page/board_page.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "common/clock.h"
#include "server/page/price_page.h"
#include "server/page/records_view.h"
#include "server/page/run_page.h"
#include "server/page/stairs.h"
#include "tests/support/page_fixture.h"

static int64_t days(const char *date)
{
    int64_t value = 0;
    bool padded;

    assert_int_equal(clock_parse_date(str_from_cstr(date), &value, &padded, NULL), ST_OK);
    return value;
}

/* Five entries: b and c share the second place, d has no cost, e is withdrawn. */
static size_t make_entries(struct board_entry entries[5])
{
    static const struct {
        const char *name, *author, *date;
        int64_t tta_s, cost_usd;
    } rows[5] = {
        {"a", "Zoe", "2019-05-01", 10, 3},   {"b", "adam", "2018-02-01", 20, 1},
        {"c", HOSTILE, "2018-03-01", 20, 2}, {"d", "Mia", "2017-10-01", 40, -1},
        {"e", "Bert", "2020-01-01", 5, 1},
    };

    memset(entries, 0, 5 * sizeof *entries);
    for (size_t i = 0; i < 5; i++)
        entries[i] = (struct board_entry){
            .entry = (int64_t)i + 1,
            .name = rows[i].name,
            .model = i == 2 ? HOSTILE : "Net",
            .author = rows[i].author,
            .hardware = i == 0 ? "8 * V100" : "TPU",
            .framework = HOSTILE,
            .date_days = days(rows[i].date),
            .has_tta = true,
            .tta_ns = rows[i].tta_s * NS_PER_S,
            .has_cost = rows[i].cost_usd > 0,
            .cost_pico = rows[i].cost_usd * PICO_PER_USD,
            .epoch_text = "24",
            .tier = "reported",
            .has_n = true,
            .n = 1,
            .not_ranked_reason = i == 4 ? "withdrawn" : NULL,
        };
    return 5;
}

static const struct task *find_task(const char *id)
{
    const struct task *task = task_find(tasks, str_from_cstr(id));

    assert_non_null(task);
    return task;
}

/* Renders the board of cifar10-train for the parameters "name=value..." and leaves it in `page`. */
static void render_board(const char *parameters)
{
    struct board_entry *entries = ARENA_NEW_ARRAY(&arena, 5, struct board_entry);
    const struct page_frame frame = {.arena = &arena, .assets = "/assets/x", .here = STR("/")};
    const struct task *task = find_task("cifar10-train");
    struct board_query query;
    struct query parsed;
    struct board board;
    struct error err = {0};

    assert_int_equal(query_parse(str_from_cstr(parameters), &arena, NULL, &parsed, &err), ST_OK);
    assert_int_equal(board_query_read(&parsed, task, &query, &err), ST_OK);
    assert_int_equal(board_rank(task, &(struct board_rule){.by = query.by}, entries,
                                make_entries(entries), &arena, &board, &err),
                     ST_OK);
    buf_clear(&page);
    page_render_board(&page, &frame, &(struct board_page){.board = &board, .query = &query});
    assert_false(page.failed);
}

static size_t count_of(const char *text)
{
    size_t count = 0;

    for (const char *at = page.data; (at = strstr(at, text)) != NULL; at++)
        count++;
    return count;
}

/* The entries' ids in the order of their rows: "123". */
static const char *order_of_rows(void)
{
    static char order[16];
    size_t count = 0;

    for (const char *at = page.data; (at = strstr(at, "data-entry=\"")) != NULL && count < 15;) {
        at += strlen("data-entry=\"");
        order[count++] = *at;
    }
    order[count] = '\0';
    return order;
}

static void a_board_shows_places_ties_and_missing_values(void **state)
{
    (void)state;
    render_board("");
    assert_string_equal(order_of_rows(), "1234");
    assert_int_equal(count_of("data-place=\"2\""), 2);
    assert_int_equal(count_of("<td class=\"place\">2=</td>"), 2);
    assert_int_equal(count_of("<td class=\"place\">4</td>"), 1);
    assert_int_equal(count_of("data-value=\"10\""), 1);
    assert_int_equal(count_of("data-epoch=\"24\""), 4);
    assert_non_null(strstr(page.data, "data-name=\"c\""));
    assert_non_null(strstr(page.data, "Not ranked (1)"));
    assert_non_null(strstr(page.data, "withdrawn"));
    assert_non_null(strstr(page.data, "<td class=\"num mid\">-</td>")); /* d's cost */
}

static void a_board_by_cost_leaves_out_who_has_none(void **state)
{
    (void)state;
    render_board("by=cost");
    assert_string_equal(order_of_rows(), "231");
    assert_non_null(strstr(page.data, "Not ranked (2)"));
    assert_non_null(strstr(page.data, "no costPerHour was given"));
}

static void an_energy_board_without_readings_says_so(void **state)
{
    (void)state;
    render_board("by=energy");
    assert_string_equal(order_of_rows(), "");
    assert_non_null(strstr(page.data, "No entry gives its energy"));
    assert_non_null(strstr(page.data, "Not ranked (5)"));
    assert_int_equal(count_of("by=energy\" aria-current=\"page\""), 1);
    render_board("by=time");
    assert_int_equal(count_of("sort=energy"), 0); /* a column of that board alone */
}

static void an_energy_board_shows_joules_beside_time_and_cost(void **state)
{
    struct board_entry entries[5];
    const struct page_frame frame = {.arena = &arena, .assets = "/assets/x", .here = STR("/")};
    const struct board_query query = {.by = BOARD_ENERGY};
    struct board board;
    struct error err = {0};

    (void)state;
    make_entries(entries);
    entries[1].has_energy = entries[0].has_energy = true;
    entries[1].energy_uj = 812400000;
    entries[0].energy_uj = 2 * entries[1].energy_uj;
    assert_int_equal(board_rank(find_task("cifar10-train"), &(struct board_rule){.by = query.by},
                                entries, 5, &arena, &board, &err),
                     ST_OK);
    buf_clear(&page);
    page_render_board(&page, &frame, &(struct board_page){.board = &board, .query = &query});
    assert_string_equal(order_of_rows(), "21");
    assert_int_equal(count_of("data-value=\"812.4\""), 1);
    assert_int_equal(count_of(">812.4 J</data>"), 1);
    assert_int_equal(count_of(">1.625 kJ</data>"), 1);
    assert_int_equal(count_of(">20.00 s</data>"), 1); /* its time stands beside it */
    assert_non_null(strstr(page.data, "Not ranked (3)"));
}

/* b held it, then a; a fell, and b came back. */
static void records_stand_latest_first_with_factor_and_p(void **state)
{
    struct board_entry entries[5];
    struct record records[3] = {{.from_days = days("2018-02-01"), .has_to = true},
                                {.has_to = true, .has_before = true, .improvement = 2.0},
                                {.has_before = true, .improvement = 0.5, .has_welch = true}};
    const struct task *task = find_task("cifar10-train");
    struct records_view view;

    (void)state;
    make_entries(entries);
    records[0].row = records[2].row = &entries[1];
    records[1].row = &entries[0];
    for (size_t i = 0; i < 3; i++)
        records[i].value = records[i].row->tta_ns;
    records[0].to_days = records[1].from_days = days("2019-05-01");
    records[1].to_days = records[2].from_days = days("2020-01-01");
    records[2].welch.p = 0.0123;
    view = records_make(&arena, task, BOARD_TIME, records, 3);
    assert_int_equal(view.rows_count, 3);
    assert_true(view.tested && view.rows[0].to.len == 0 && view.rows[2].factor.len == 0);
    assert_true(str_eq_cstr(view.rows[0].p, "0.012") && view.rows[1].p.len == 0);
    assert_true(str_eq_cstr(view.rows[1].factor, "2.00\u00D7") && view.rows[1].remark.len == 0);
    assert_true(str_eq_cstr(view.rows[0].factor, "0.50\u00D7") && view.rows[0].remark.len > 0);
    assert_true(str_eq_cstr(view.rows[1].from, "2019-05-01"));
    assert_true(str_eq_cstr(view.rows[1].to, "2020-01-01"));
    records[2].welch.p = 0.0001;
    view = records_make(&arena, task, BOARD_TIME, records, 3);
    assert_true(str_eq_cstr(view.rows[0].p, "< 0.001"));
    view = records_make(&arena, task, BOARD_TIME, records, 2);
    assert_true(!view.tested && view.rows_count == 2);
}

static void every_column_sorts_both_ways_with_the_missing_last(void **state)
{
    static const struct {
        const char *parameters, *order;
    } cases[] = {
        {"sort=place&dir=desc", "4321"},    {"sort=value&dir=asc", "1234"},
        {"sort=value&dir=desc", "4231"},    {"sort=cost&dir=asc", "2314"},
        {"sort=cost&dir=desc", "1324"},     {"sort=author&dir=asc", "3241"},
        {"sort=author&dir=desc", "1423"},   {"sort=hardware&dir=asc", "1234"},
        {"sort=date&dir=asc", "4231"},      {"sort=date&dir=desc", "1324"},
        {"sort=accuracy&dir=asc", "1234"},  {"sort=accuracy&dir=desc", "1234"},
        {"sort=epoch&dir=desc", "1234"},    {"sort=model&dir=asc", "3124"},
        {"sort=framework&dir=asc", "1234"}, {"sort=tier&dir=desc", "1234"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        render_board(cases[i].parameters);
        assert_string_equal(order_of_rows(), cases[i].order);
        assert_int_equal(count_of("aria-sort=\"ascending\"") + count_of("aria-sort=\"descending\""),
                         1);
    }
}

static void filters_narrow_the_rows_and_keep_the_places(void **state)
{
    (void)state;
    render_board("hardware=tpu&from=2018-01-01&to=2018-12-31");
    assert_string_equal(order_of_rows(), "23");
    assert_int_equal(count_of("data-place=\"2\""), 2);
    render_board("tier=witnessed");
    assert_string_equal(order_of_rows(), "");
    assert_non_null(strstr(page.data, "No ranked entry passes this filter."));
}

static void the_marked_row_is_the_one_that_was_asked_for(void **state)
{
    (void)state;
    render_board("hl=3");
    assert_int_equal(count_of("aria-current=\"true\""), 1);
    assert_non_null(strstr(page.data, "id=\"e3\""));
}

static void hostile_text_is_text(void **state)
{
    (void)state;
    render_board("framework="
                 "%22%3E%3Cscript%3E");
    assert_int_equal(count_of("<script>"), 0);
    assert_true(count_of("&lt;script&gt;alert(1)") > 0);
}

static void wrong_parameters_are_named(void **state)
{
    static const struct {
        const char *parameters, *field;
    } cases[] = {
        {"by=speed", "by"}, {"by=latency", "by"},  {"sort=luck", "sort"},
        {"dir=up", "dir"},  {"tier=gold", "tier"}, {"from=2018-13-01", "from"},
        {"page=0", "page"}, {"hl=x", "hl"},
    };
    const struct task *task = find_task("cifar10-train");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct board_query query;
        struct query parsed;
        struct error err = {0};

        assert_int_equal(
            query_parse(str_from_cstr(cases[i].parameters), &arena, NULL, &parsed, &err), ST_OK);
        assert_int_equal(board_query_read(&parsed, task, &query, &err), ST_INVALID);
        assert_string_equal(err.field, cases[i].field);
    }
}

static void an_address_holds_the_whole_state_of_a_board(void **state)
{
    static const char parameters[] = "by=cost&tier=reported&hardware=8%20%2A%20V100&framework=a%"
                                     "26b&from=2018-01-01&to=2019-12-31"
                                     "&sort=date&dir=desc&page=2&hl=7";
    const struct task *task = find_task("cifar10-train");
    struct board_query query;
    struct query parsed;
    struct error err = {0};

    (void)state;
    assert_int_equal(query_parse(str_from_cstr(parameters), &arena, NULL, &parsed, &err), ST_OK);
    assert_int_equal(board_query_read(&parsed, task, &query, &err), ST_OK);
    assert_string_equal(board_query_address(&arena, task, &query).data,
                        arena_printf(&arena, "/tasks/cifar10-train?%s", parameters));
}

static void stairs_hold_each_record_once_in_order_of_date(void **state)
{
    const struct board_entry *records[STAIRS_RECORDS_MAX];
    struct board_entry entries[5];
    struct stairs_view view;
    struct board board;
    struct error err = {0};
    size_t count;

    (void)state;
    assert_int_equal(board_rank(find_task("cifar10-train"), &(struct board_rule){.by = BOARD_TIME},
                                entries, make_entries(entries), &arena, &board, &err),
                     ST_OK);
    stairs_find_records(&board, records, &count);
    assert_int_equal(count, 3); /* d 40 s, b 20 s, a 10 s; c came after b with the same time */
    assert_string_equal(records[0]->name, "d");
    assert_string_equal(records[1]->name, "b");
    assert_string_equal(records[2]->name, "a");
    assert_true(stairs_make(&arena, &board, &view));
    assert_int_equal(view.steps_count, 3);
    board.item_count = 1;
    assert_false(stairs_make(&arena, &board, &view));
}

static void a_run_shows_its_mark_and_each_evaluation(void **state)
{
    static const struct epoch_record epochs[] = {
        {.seq = 3, .label = "1", .value_text = "93.99", .official_ns = 1500000000},
        {.seq = 5, .label = "2", .value_text = "94.00", .official_ns = 2750000000},
        {.seq = 9, .label = "3", .value_text = "93.50", .official_ns = INT64_C(4000000001)},
    };
    const struct entry_record entry = {.id = 4,
                                       .model = HOSTILE,
                                       .author = HOSTILE,
                                       .hardware = HOSTILE,
                                       .run_count = 1,
                                       .entry_date = "2026-12-01"};
    const struct run_record run = {
        .id = 7,
        .entry_id = 4,
        .ordinal = 1,
        .entry_name = "net-1",
        .task = "cifar10-train",
        .tier = "witnessed",
        .task_version = 1,
        .state = "reached",
        .tta_ns = {true, 2750000000},
        .tta_seq = {true, 5},
        .tta_epoch_text = "2",
        .epoch_count = 3,
        .last_value_text = "93.50",
    };
    const struct page_frame frame = {.arena = &arena, .assets = "/assets/x", .here = STR("/")};
    const struct run_page data = {.task = find_task("cifar10-train"),
                                  .run = &run,
                                  .entry = &entry,
                                  .epochs = epochs,
                                  .epoch_count = ARRAY_LEN(epochs)};

    (void)state;
    buf_clear(&page);
    page_render_run(&page, &frame, &data);
    assert_false(page.failed);
    assert_non_null(
        strstr(page.data, "id=\"tta\" class=\"tta\" data-value=\"2.75\" data-epoch=\"2\""));
    assert_int_equal(count_of("<tr data-seq="), 3);
    assert_int_equal(count_of("reached here"), 1);
    assert_non_null(strstr(page.data, "data-seconds=\"4.000000001\""));
    assert_non_null(strstr(page.data, "data-target=\"94.0\""));
    assert_int_equal(count_of("<script>"), 0);
    assert_int_equal(count_of("data-live"), 0);
}

static void a_queued_run_is_live_and_has_no_mark(void **state)
{
    const struct entry_record entry = {.id = 4, .model = "Net", .run_count = 1};
    const struct run_record run = {.id = 7,
                                   .entry_id = 4,
                                   .ordinal = 1,
                                   .entry_name = "net-1",
                                   .task = "cifar10-train",
                                   .tier = "reported",
                                   .task_version = 1,
                                   .state = "queued"};
    const struct page_frame frame = {.arena = &arena, .assets = "/assets/x", .here = STR("/")};
    const struct run_page data = {.task = find_task("cifar10-train"), .run = &run, .entry = &entry};

    (void)state;
    buf_clear(&page);
    page_render_run(&page, &frame, &data);
    assert_int_equal(count_of("data-live=\"true\""), 1);
    assert_int_equal(count_of("id=\"tta\""), 0);
    assert_int_equal(count_of("nan") + count_of("null") + count_of("undefined"), 0);
}

static void a_price_tells_what_is_known_and_where_it_is_from(void **state)
{
    const struct page_frame frame = {.arena = &arena, .assets = "/assets/x", .here = STR("/")};
    struct price_record price = {.id = 7,
                                 .line = 3,
                                 .provider = "gcp",
                                 .instance = HOSTILE,
                                 .accelerator = "",
                                 .accelerator_key = "",
                                 .accelerator_count_text = "",
                                 .region = "us-central1",
                                 .on_demand_pico = {true, PICO_PER_USD},
                                 .on_demand_text = "1.00",
                                 .valid_from = "2026-05-20",
                                 .source = "https://example.org/gcp.csv"};

    (void)state;
    buf_clear(&page);
    page_render_price(&page, &frame, &price);
    assert_int_equal(count_of("$1.00"), 1);
    assert_int_equal(count_of("<dd><span>unknown</span></dd>"), 1); /* the spot price */
    assert_int_equal(count_of("href=\"https://example.org/gcp.csv\""), 1);
    assert_int_equal(count_of("<script>alert"), 0);
    assert_int_equal(count_of("Zone") + count_of("class=\"reason\""), 0);
    price.source = "javascript:alert(1)";
    price.flag = "price-zero";
    buf_clear(&page);
    page_render_price(&page, &frame, &price);
    assert_int_equal(count_of("href=\"javascript"), 0);
    assert_int_equal(count_of("class=\"reason\""), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_board_shows_places_ties_and_missing_values),
        cmocka_unit_test(a_board_by_cost_leaves_out_who_has_none),
        cmocka_unit_test(an_energy_board_without_readings_says_so),
        cmocka_unit_test(an_energy_board_shows_joules_beside_time_and_cost),
        cmocka_unit_test(records_stand_latest_first_with_factor_and_p),
        cmocka_unit_test(every_column_sorts_both_ways_with_the_missing_last),
        cmocka_unit_test(filters_narrow_the_rows_and_keep_the_places),
        cmocka_unit_test(the_marked_row_is_the_one_that_was_asked_for),
        cmocka_unit_test(hostile_text_is_text),
        cmocka_unit_test(wrong_parameters_are_named),
        cmocka_unit_test(an_address_holds_the_whole_state_of_a_board),
        cmocka_unit_test(stairs_hold_each_record_once_in_order_of_date),
        cmocka_unit_test(a_run_shows_its_mark_and_each_evaluation),
        cmocka_unit_test(a_queued_run_is_live_and_has_no_mark),
        cmocka_unit_test(a_price_tells_what_is_known_and_where_it_is_from),
    };

    return cmocka_run_group_tests(tests, page_set_up, page_tear_down);
}
