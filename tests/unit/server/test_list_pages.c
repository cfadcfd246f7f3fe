/* tests/unit/server/test_list_pages.c: the pages that list, as pure functions: authors and hardware, search, agents, jobs,
 * badges, citations; hostile text becomes neither markup nor TeX. */
#include "server/page/find_view.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "server/page/badge.h"
#include "server/page/cite.h"
#include "server/page/work_view.h"
#include "tests/support/page_fixture.h"

static struct page_frame frame;

static int set_up(void **state)
{
    const int code = page_set_up(state);

    frame = (struct page_frame){
        .arena = &arena, .assets = "/assets/x", .here = STR("/"), .now_ms = 100000};
    return code;
}

static size_t count_of(const char *text)
{
    size_t count = 0;

    for (const char *at = page.data; (at = strstr(at, text)) != NULL; at++)
        count++;
    return count;
}

/* `count` entries of one author, the first of them first on its board, the last without a place. */
static struct found_entry *make_rows(size_t count)
{
    struct found_entry *rows = ARENA_NEW_ARRAY(&arena, count, struct found_entry);
    struct board_entry *entries = ARENA_NEW_ARRAY(&arena, count, struct board_entry);

    for (size_t i = 0; i < count; i++) {
        entries[i] = (struct board_entry){.entry = (int64_t)i + 1,
                                          .name = "n",
                                          .model = HOSTILE,
                                          .author = "A/B & \"C\"",
                                          .hardware = HOSTILE,
                                          .tier = "reported",
                                          .has_tta = true,
                                          .tta_ns = 61500000000};
        rows[i] = (struct found_entry){.task = &tasks->tasks[0],
                                       .entry = &entries[i],
                                       .by = BOARD_TIME,
                                       .cost_by = BOARD_COST,
                                       .has_place = i + 1 < count,
                                       .place = {i + 1, count, false},
                                       .reason = i + 1 < count ? NULL : HOSTILE};
    }
    return rows;
}

static void an_authors_page_lists_entries_with_place_value_and_reason(void **state)
{
    struct named_page data = {.kind = NAMED_AUTHOR,
                              .name = STR("A/B & \"C\""),
                              .known = true,
                              .rows = make_rows(3),
                              .row_count = 3,
                              .page = 1};

    (void)state;
    buf_clear(&page);
    page_render_named(&page, &frame, &data);
    assert_false(page.failed);
    assert_int_equal(count_of("<tr data-entry="), 3);
    assert_int_equal(count_of("data-place=\"1\""), 1);
    assert_int_equal(count_of(">61.50 s</data>"), 3);
    assert_int_equal(count_of("First by time on CIFAR-10 training."), 1);
    assert_int_equal(count_of("3 entries on 1 task."), 1);
    assert_true(count_of("href=\"/authors/A%2FB%20%26%20%22C%22\"") == 3);
    assert_int_equal(count_of("rel=\"next\""), 0);
    assert_int_equal(count_of("<script>"), 0);
    assert_true(count_of("&lt;script&gt;") > 0);
}

static void many_entries_come_in_pages(void **state)
{
    struct named_page data = {.kind = NAMED_HARDWARE,
                              .name = STR("TPU"),
                              .known = true,
                              .rows = make_rows(2 * FIND_PAGE_ROWS + 1),
                              .row_count = 2 * FIND_PAGE_ROWS + 1,
                              .page = 2};

    (void)state;
    buf_clear(&page);
    page_render_named(&page, &frame, &data);
    assert_int_equal(count_of("<tr data-entry="), FIND_PAGE_ROWS);
    assert_int_equal(count_of("href=\"/hardware/TPU?page=1\" rel=\"prev\""), 1);
    assert_int_equal(count_of("href=\"/hardware/TPU?page=3\" rel=\"next\""), 1);
    data.page = 99;
    buf_clear(&page);
    page_render_named(&page, &frame, &data);
    assert_int_equal(count_of("<tr data-entry="), 1);
    assert_int_equal(count_of("Page 3 of 3"), 1);
}

static void an_unknown_name_offers_what_has_its_words(void **state)
{
    struct named_page data = {
        .kind = NAMED_AUTHOR, .name = STR(HOSTILE), .rows = make_rows(2), .row_count = 2};

    (void)state;
    buf_clear(&page);
    page_render_named(&page, &frame, &data);
    assert_int_equal(count_of("id=\"unknown\""), 1);
    assert_int_equal(count_of("<tr data-entry="), 2);
    assert_int_equal(count_of("<script>"), 0);
}

static void a_search_finds_tasks_and_agents_by_all_words(void **state)
{
    const struct agent_record agents[] = {
        {.id = 3, .name = HOSTILE, .state = "idle", .hardware = "CIFAR box"},
        {.id = 4, .name = "lab", .state = "busy", .hardware = "TPU"},
    };
    struct find_wish wish = {0};
    struct search_page data = {.text = STR("cifar"),
                               .wish = &wish,
                               .tasks = tasks,
                               .rows = make_rows(FIND_PAGE_ROWS + 1),
                               .row_count = FIND_PAGE_ROWS + 1,
                               .agents = agents,
                               .agent_count = 2};

    (void)state;
    find_split_words(data.text, &wish);
    buf_clear(&page);
    page_render_search(&page, &frame, &data);
    assert_int_equal(count_of("Found: 3 tasks, 51 entries and 1 agent."), 1);
    assert_int_equal(count_of("The newest 50 entries are shown"), 1);
    assert_int_equal(count_of("<tr data-entry="), FIND_PAGE_ROWS);
    assert_int_equal(count_of("/agents#agent-3"), 1);
    assert_int_equal(count_of("/agents#agent-4"), 0);
    assert_int_equal(count_of("<script>"), 0);
}

static void agents_say_what_they_do_and_can(void **state)
{
    const struct agent_record agents[] = {
        {.id = 1,
         .name = HOSTILE,
         .build = "b1",
         .device_model = "V100",
         .hardware = HOSTILE,
         .instance = "p3.2xlarge",
         .cloud = "aws",
         .cost_per_hour_text = "3.06",
         .capabilities_json = "{\"cpu_cores\":8,\"cpu_isa\":\"avx512\",\"memory_bytes\":1073741824,"
                              "\"region\":\"us-east-1\",\"spot\":true}",
         .tags_json = "[\"a\",\"<b>\"]",
         .devices = 1,
         .heartbeat_ms = 97000,
         .state = "busy",
         .job_id = {true, 5},
         .run_id = {true, 9}},
        {.id = 2, .name = "idler", .hardware = "", .tags_json = "[]", .state = "idle"},
    };
    const struct run_record live = {.id = 9,
                                    .task = "cifar10-train",
                                    .entry_name = "net",
                                    .state = "running",
                                    .phase = "train",
                                    .epoch_count = 4};
    const struct agents_page data = {
        .tasks = tasks, .agents = agents, .agent_count = 2, .live = &live, .live_count = 1};

    (void)state;
    buf_clear(&page);
    page_render_agents(&page, &frame, &data);
    assert_int_equal(count_of("id=\"agent-1\""), 1);
    assert_int_equal(count_of(">3 s ago<"), 1);
    assert_int_equal(count_of("CIFAR-10 training: train, 4 evaluations"), 1);
    assert_int_equal(count_of("href=\"/jobs/5\""), 1);
    assert_true(count_of("1 V100, 8 cores, avx512, 1.0 GiB of memory") > 0);
    assert_int_equal(count_of("p3.2xlarge, us-east-1, aws, spot"), 1);
    assert_int_equal(count_of("a, &lt;b&gt;"), 1);
    assert_int_equal(count_of("<script>alert"), 0);
}

static void a_job_tells_its_place_its_reason_and_its_attempts(void **state)
{
    const struct attempt_record attempts[] = {
        {.fence = "at_2",
         .agent_id = 7,
         .agent_name = HOSTILE,
         .state = "leased",
         .phase = "train",
         .heartbeat_ms = 95000},
        {.fence = "at_1",
         .agent_id = 6,
         .agent_name = "x",
         .state = "finished",
         .result = "failed",
         .ended_ms = {true, 50000}},
    };
    struct job_record job = {.id = 5,
                             .task = "cifar10-train",
                             .workload = "cifar10",
                             .recipe = "r",
                             .entry_name = HOSTILE,
                             .state = "queued",
                             .tags_json = "[\"gpu\"]",
                             .tries = 2,
                             .position = {true, 4},
                             .takeable = true};
    const struct job_page data = {
        .task = &tasks->tasks[0], .job = &job, .attempts = attempts, .attempt_count = 2};

    (void)state;
    buf_clear(&page);
    page_render_job(&page, &frame, &data);
    assert_int_equal(count_of("number 4 in the queue"), 1);
    assert_int_equal(count_of("an agent that can take it is busy"), 1);
    assert_int_equal(count_of("finished: failed"), 1);
    assert_int_equal(count_of("leased: train"), 1);
    assert_int_equal(count_of("heard 5 s ago"), 1);
    assert_int_equal(count_of(">2 attempts<"), 1);
    assert_int_equal(count_of("<script>alert"), 0);
    job.takeable = false;
    buf_clear(&page);
    page_render_job(&page, &frame, &data);
    assert_int_equal(count_of("no live agent can take it"), 1);
}

static void a_badge_says_where_an_entry_stands(void **state)
{
    struct badge badge = {.task = &tasks->tasks[0],
                          .model = HOSTILE,
                          .by = BOARD_TIME,
                          .has_place = true,
                          .place = {3, 23, true},
                          .value = 51480000000};

    (void)state;
    buf_clear(&page);
    page_render_badge(&page, &arena, &badge);
    assert_int_equal(count_of(">#3= of 23 \u00B7 51.48 s</text>"), 1);
    assert_int_equal(count_of("place 3= of 23 by time, 51.48 s</title>"), 1);
    assert_int_equal(count_of("<script"), 0);
    badge.has_place = false;
    buf_clear(&page);
    page_render_badge(&page, &arena, &badge);
    assert_int_equal(count_of(">not ranked</text>"), 1);
}

static void a_citation_escapes_what_tex_would_read(void **state)
{
    const struct entry_record entry = {.id = 7,
                                       .name = "net_1",
                                       .model = "Net {9} 100 %",
                                       .author = "A & B\\",
                                       .entry_date = "2018-04-15",
                                       .tier = "reported",
                                       .task_version = 1,
                                       .tta_ns = {true, 51480000000}};
    const struct str text =
        cite_bibtex(&arena, &tasks->tasks[0], &entry, STR("https://daybreak.example"));

    (void)state;
    assert_string_equal(text.data,
                        "@misc{daybreak-7,\n"
                        "  author = {{A \\& B\\textbackslash{}}},\n"
                        "  title = {{Net \\textbraceleft{}9\\textbraceright{} 100 \\% on CIFAR-10 "
                        "training: 51.48 s}},\n"
                        "  year = {2018},\n"
                        "  note = {{Daybreak, entry net\\_1, reported, rules of version 1}},\n"
                        "  howpublished = {\\url{https://daybreak.example/entries/7}}\n}");
    assert_string_equal(
        cite_badge_html(&arena, 7, STR("http://h\"><x>")).data,
        "<a href=\"http://h&quot;&gt;&lt;x&gt;/entries/7\"><img src=\"http://h&quot;"
        "&gt;&lt;x&gt;/badge/7.svg\" alt=\"Its place on Daybreak\"></a>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_authors_page_lists_entries_with_place_value_and_reason),
        cmocka_unit_test(many_entries_come_in_pages),
        cmocka_unit_test(an_unknown_name_offers_what_has_its_words),
        cmocka_unit_test(a_search_finds_tasks_and_agents_by_all_words),
        cmocka_unit_test(agents_say_what_they_do_and_can),
        cmocka_unit_test(a_job_tells_its_place_its_reason_and_its_attempts),
        cmocka_unit_test(a_badge_says_where_an_entry_stands),
        cmocka_unit_test(a_citation_escapes_what_tex_would_read),
    };

    return cmocka_run_group_tests(tests, set_up, page_tear_down);
}
