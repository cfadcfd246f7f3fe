/* tests/unit/server/test_doc_pages.c: pages of documentation as pure functions: which there are, that they stand in the
 * frame of all pages, and that the rules of a task are its data. */
#include "server/page/doc_page.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "server/page/measure_view.h"
#include "server/page/rules_page.h"
#include "tests/support/page_fixture.h"

static bool page_has(const char *text)
{
    return memmem(page.data, page.len, text, strlen(text)) != NULL;
}

static struct page_frame make_frame(void)
{
    return (struct page_frame){
        .arena = &arena, .assets = "/assets/0123456789ab", .here = STR("/docs")};
}

static void rules_of(const char *task, const struct task_setting *setting)
{
    const struct page_frame frame = make_frame();

    page_render_rules(&page, &frame, task_find(tasks, str_from_cstr(task)), setting);
    assert_false(page.failed);
}

static void a_page_is_found_by_its_whole_path_alone(void **state)
{
    static const char *const none[] = {"",
                                       "docs",
                                       "docs/",
                                       "docs/measures",
                                       "docs/none.html",
                                       "docs/measures.html\n",
                                       "../docs.html"};

    (void)state;
    assert_non_null(doc_find(STR("docs.html")));
    assert_non_null(doc_find(STR("docs/measures.html")));
    assert_non_null(doc_find(STR("docs/api/boards.html")));
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        assert_null(doc_find(str_from_cstr(none[i])));
}

static void a_page_stands_in_the_frame_of_all(void **state)
{
    const struct page_frame frame = make_frame();

    (void)state;
    page_render_doc(&page, &frame, doc_find(STR("docs/measures.html")));
    assert_false(page.failed);
    assert_true(page_has("<title>Measures · Daybreak</title>"));
    assert_true(page_has("<meta name=\"description\" content=\"What each number"));
    assert_true(page_has("<a href=\"/docs\" aria-current=\"page\">Docs</a>"));
    assert_true(page_has("<h2 id=\"official-time\">"));
    assert_true(page_has("</html>"));
}

/* What a board links to must be there: a heading that is renamed takes its link along. */
static void each_board_has_its_formula(void **state)
{
    const struct embedded_file *file = doc_find(STR("docs/measures.html"));

    (void)state;
    for (int by = BOARD_TIME; by <= BOARD_ENERGY; by++) {
        const char *anchor = strchr(measure_how((enum board_by)by), '#');
        char heading[80];

        assert_non_null(anchor);
        (void)snprintf(heading, sizeof heading, "<h2 id=\"%s\">", anchor + 1);
        assert_non_null(memmem(file->data, file->bytes, heading, strlen(heading)));
    }
}

static void rules_are_the_data_of_the_task(void **state)
{
    const struct task *task = task_find(tasks, STR("imagenet-train"));

    (void)state;
    rules_of("imagenet-train", &(struct task_setting){0});
    assert_true(page_has(task->clock_rule));
    assert_true(page_has("epoch, hours, top5Accuracy, top1Accuracy."));
    assert_true(page_has("93.0\u00A0% top-5 accuracy"));
    assert_true(page_has("An entry has 1 run or more"));
    assert_true(page_has("href=\"/tasks/imagenet-train?by=energy\""));
    assert_false(page_has("by=latency"));
    assert_true(page_has("Results are taken and ranked."));
}

static void rules_of_logs_ask_for_logs(void **state)
{
    (void)state;
    rules_of("mlperf-v0.5-ncf", &(struct task_setting){.review = TASK_REVIEW_ALL});
    assert_true(page_has("An entry has 100 runs, whose times make one by the rule"));
    assert_true(page_has(">olympic</a>"));
    assert_true(page_has("The training logs of all runs"));
    assert_true(page_has("A reviewer decides on each."));
    assert_false(page_has("epoch, hours"));
}

static void a_setting_is_told_with_its_reason_as_text(void **state)
{
    const struct task_setting setting = {.id = 1,
                                         .policy = TASK_METADATA_ONLY,
                                         .review = TASK_REVIEW_TOP5,
                                         .reason = HOSTILE,
                                         .by = HOSTILE,
                                         .at_ms = {true, 1524600000000}};

    (void)state;
    rules_of("cifar10-inference", &setting);
    assert_true(page_has("New results are kept and listed below the boards."));
    assert_true(page_has("So since 2018-04-24 20:00 UTC, by "));
    assert_false(page_has("<script>alert"));
}

int main(void)
{
#define PAGE_TEST(test) cmocka_unit_test_setup_teardown(test, page_set_up, page_tear_down)
    const struct CMUnitTest tests[] = {
        PAGE_TEST(a_page_is_found_by_its_whole_path_alone),
        PAGE_TEST(a_page_stands_in_the_frame_of_all),
        PAGE_TEST(each_board_has_its_formula),
        PAGE_TEST(rules_are_the_data_of_the_task),
        PAGE_TEST(rules_of_logs_ask_for_logs),
        PAGE_TEST(a_setting_is_told_with_its_reason_as_text),
    };

    return cmocka_run_group_tests_name("doc_pages", tests, NULL, NULL);
}
