/* tests/unit/server/test_find.c: entries of all tasks by author, hardware and words, in order and with their places. */
#include "server/rank/find.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "common/clock.h"

static struct arena arena;
static struct task_table *tasks;
static struct kept **kept;

/* id, task (index), author, hardware, model, day, seconds (0: none) */
static const struct {
    int64_t entry;
    size_t task;
    const char *author, *hardware, *model;
    int64_t day, seconds;
    const char *reason;
} rows[] = {
    {1, 0, "Ada", "8 V100", "ResNet 9", 10, 20, NULL},
    {2, 0, "Bob", "8 v100", "ResNet 18", 11, 10, NULL},
    {3, 0, "Ada", "TPU", "Net", 12, 0, "withdrawn"},
    {4, 2, "Ada", "8 V100", "ResNet 50", 12, 30, NULL},
    {5, 2, "ada", "8 V100 ", "Other", 9, 30, NULL},
};

static int set_up(void **state)
{
    struct error err = {0};

    (void)state;
    arena_init(&arena, 16 << 20);
    assert_int_equal(task_table_create(&tasks, &err), ST_OK);
    kept = ARENA_NEW_ARRAY(&arena, tasks->count, struct kept *);
    assert_non_null(kept);
    for (size_t t = 0; t < tasks->count; t++)
        assert_int_equal(kept_create(&tasks->tasks[t], &kept[t], &err), ST_OK);
    assert_true(tasks->tasks[0].phase == TASK_TRAIN && tasks->tasks[2].phase == TASK_TRAIN);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(kept_put(kept[rows[i].task],
                                  &(struct board_entry){.entry = rows[i].entry,
                                                        .name = "name",
                                                        .author = rows[i].author,
                                                        .hardware = rows[i].hardware,
                                                        .model = rows[i].model,
                                                        .framework = "PyTorch",
                                                        .date_days = rows[i].day,
                                                        .has_tta = rows[i].seconds > 0,
                                                        .tta_ns = rows[i].seconds * NS_PER_S,
                                                        .tier = "reported",
                                                        .not_ranked_reason = rows[i].reason},
                                  1, &err),
                         ST_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t t = 0; t < tasks->count; t++)
        kept_destroy(kept[t]);
    task_table_destroy(tasks);
    arena_fini(&arena);
    return 0;
}

/* The ids that were found, in order: "431". */
static const char *find(const struct find_wish *wish, struct found_entry **found)
{
    static char order[16];
    struct error err = {0};
    size_t count;

    assert_int_equal(
        find_entries(tasks, (const struct kept *const *)kept, wish, &arena, found, &count, &err),
        ST_OK);
    assert_true(count < sizeof order);
    for (size_t i = 0; i < count; i++)
        order[i] = (char)('0' + (*found)[i].entry->entry);
    order[count] = '\0';
    return order;
}

static void a_name_is_taken_byte_for_byte_and_the_newest_comes_first(void **state)
{
    struct found_entry *found;

    (void)state;
    assert_string_equal(find(&(struct find_wish){.author = STR("Ada")}, &found), "341");
    assert_string_equal(find(&(struct find_wish){.author = STR("ada")}, &found), "5");
    assert_string_equal(find(&(struct find_wish){.hardware = STR("8 V100")}, &found), "41");
    assert_string_equal(find(&(struct find_wish){.author = STR("Eve")}, &found), "");
}

static void each_has_its_place_or_the_reason(void **state)
{
    struct found_entry *found;

    (void)state;
    assert_string_equal(find(&(struct find_wish){.author = STR("Ada")}, &found), "341");
    assert_false(found[0].has_place);
    assert_string_equal(found[0].reason, "withdrawn");
    assert_true(found[1].has_place && found[1].place.tied);
    assert_int_equal(found[1].place.place, 1);
    assert_int_equal(found[1].place.total, 2);
    assert_int_equal(found[2].place.place, 2);
    assert_false(found[2].has_cost_place);
    assert_null(found[2].reason);
}

static void all_words_must_be_there_in_any_order_and_case(void **state)
{
    static const struct {
        const char *text, *found;
    } cases[] = {
        {"resnet", "421"},    {"V100 RESNET", "421"}, {"  v100   ada ", "415"},
        {"pytorch tpu", "3"}, {"ada bob", ""},        {"a b c d e f g h resnet", ""},
        {"\xc3\xa4", ""},
    };
    struct found_entry *found;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct find_wish wish = {0};

        find_split_words(str_from_cstr(cases[i].text), &wish);
        assert_true(wish.word_count <= FIND_WORDS_MAX);
        assert_string_equal(find(&wish, &found), cases[i].found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_taken_byte_for_byte_and_the_newest_comes_first),
        cmocka_unit_test(each_has_its_place_or_the_reason),
        cmocka_unit_test(all_words_must_be_there_in_any_order_and_case),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
