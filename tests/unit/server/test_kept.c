/* tests/unit/server/test_kept.c: a kept order says what ranking everything anew says, whatever came in which order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/rank/board_write.h"
#include "server/rank/kept.h"

enum { ENTRIES = 300, ARENA_BYTES = 16 << 20 };

static struct task_table *tasks;
static const struct task *train;

static int load_tasks(void **state)
{
    (void)state;
    if (task_table_create(&tasks, NULL) != ST_OK)
        return -1;
    train = task_find(tasks, STR("cifar10-train"));
    return 0;
}

static int drop_tasks(void **state)
{
    (void)state;
    task_table_destroy(tasks);
    return 0;
}

/* splitmix64 (Steele, Lea, Flood 2014): the same sets each time. */
static uint64_t next_number(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Few values, days and names: ties wherever one can be. */
static struct board_entry draw(uint64_t *seed, int64_t id)
{
    static const char *const names[] = {"a", "b", "c", "d"}, *const authors[] = {"A", "B", "C"};
    static const int64_t runs[] = {10, 11, 13};
    static const struct board_standing standings[] = {{5, true, 9}, {12, false, 0}};
    struct board_entry entry = {
        .entry = id,
        .name = names[next_number(seed) % ARRAY_LEN(names)],
        .author = authors[next_number(seed) % ARRAY_LEN(authors)],
        .tier = "reported",
        .date_days = (int64_t)(next_number(seed) % 3),
        .has_tta = next_number(seed) % 8 != 0,
        .tta_ns = (int64_t)(next_number(seed) % 20),
        .has_cost = next_number(seed) % 4 != 0,
        .cost_pico = (int64_t)(next_number(seed) % 5),
        .standings = standings,
        .standing_count = next_number(seed) % 3,
        .tta_runs_ns = runs,
        .tta_run_count = next_number(seed) % 4,
        .not_ranked_reason = next_number(seed) % 8 == 0 ? "withdrawn" : NULL,
    };

    return entry;
}

static struct buf write(const struct board *board)
{
    struct buf out;

    buf_init(&out, ARENA_BYTES);
    board_write_json(&out, board, NULL, NULL);
    return out;
}

/* Whole boards by every rule. */
static void compare_boards(const struct kept *kept, const struct board_entry *entries, size_t count)
{
    static const struct board_rule rules[] = {
        {.by = BOARD_TIME},
        {.by = BOARD_COST},
        {.by = BOARD_ENERGY},
        {.by = BOARD_TIME, .best = BOARD_BEST_AUTHOR},
        {.by = BOARD_COST, .has_as_of = true, .as_of_days = 8},
    };

    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        struct board want, got;
        struct buf want_text, got_text;
        struct arena arena;

        arena_init(&arena, ARENA_BYTES);
        assert_int_equal(board_rank(train, &rules[i], entries, count, &arena, &want, NULL), ST_OK);
        assert_int_equal(kept_rank(kept, &rules[i], &arena, &got, NULL), ST_OK);
        want_text = write(&want);
        got_text = write(&got);
        assert_string_equal(got_text.data, want_text.data);
        buf_fini(&want_text);
        buf_fini(&got_text);
        arena_fini(&arena);
    }
}

/* Every page of a few lengths is that part of the whole board. */
static void compare_pages(const struct kept *kept)
{
    static const size_t lengths[] = {1, 2, 7, 1000};
    struct arena arena;
    struct board whole;
    size_t total;

    arena_init(&arena, ARENA_BYTES);
    assert_int_equal(kept_page(kept, BOARD_TIME, 0, SIZE_MAX, &arena, &whole, &total, NULL), ST_OK);
    assert_int_equal(total, whole.item_count);
    for (size_t l = 0; l < ARRAY_LEN(lengths); l++)
        for (size_t first = 0; first <= total; first += lengths[l]) {
            struct board page;
            size_t again;

            assert_int_equal(
                kept_page(kept, BOARD_TIME, first, lengths[l], &arena, &page, &again, NULL), ST_OK);
            assert_int_equal(again, total);
            assert_int_equal(page.item_count,
                             total - first < lengths[l] ? total - first : lengths[l]);
            assert_int_equal(page.not_ranked_count, first == 0 ? whole.not_ranked_count : 0);
            for (size_t i = 0; i < page.item_count; i++)
                assert_memory_equal(&page.items[i], &whole.items[first + i], sizeof page.items[i]);
        }
    arena_fini(&arena);
}

/* Each entry's place, and the one that its value would take. */
static void compare_places(const struct kept *kept, const struct board_entry *entries, size_t count)
{
    struct arena arena;
    struct board whole;

    arena_init(&arena, ARENA_BYTES);
    assert_int_equal(board_rank(train, &(struct board_rule){.by = BOARD_TIME}, entries, count,
                                &arena, &whole, NULL),
                     ST_OK);
    for (size_t i = 0; i < whole.item_count; i++) {
        struct kept_place place;

        assert_true(kept_find(kept, BOARD_TIME, whole.items[i].row->entry, &place));
        assert_int_equal(place.place, whole.items[i].place);
        assert_int_equal(place.tied, whole.items[i].tied);
        assert_int_equal(place.total, whole.item_count);
    }
    for (size_t i = 0; i < whole.not_ranked_count; i++)
        assert_false(
            kept_find(kept, BOARD_TIME, whole.not_ranked[i].row->entry, &(struct kept_place){0}));
    for (int64_t value = -1; value <= 21; value++) {
        struct kept_place would;
        size_t better = 0;

        while (better < whole.item_count && whole.items[better].row->tta_ns < value)
            better++;
        assert_int_equal(kept_place_of(kept, BOARD_TIME, value), better + 1);
        assert_true(kept_preview(kept, BOARD_TIME, value, &would));
        assert_int_equal(would.place, better + 1);
        assert_int_equal(would.total, whole.item_count + 1);
        assert_int_equal(would.tied,
                         better < whole.item_count && whole.items[better].row->tta_ns == value);
    }
    for (size_t i = 0; i < whole.item_count; i++) {
        const struct board_key key = board_key_of(&whole.items[i], BOARD_TIME);

        assert_int_equal(kept_skip(kept, BOARD_TIME, &key), i + 1);
    }
    arena_fini(&arena);
}

static void kept_order_is_that_of_ranking_anew(void **state)
{
    static struct board_entry entries[ENTRIES];
    uint64_t seed = 11;
    size_t count = 0;

    (void)state;
    for (int round = 0; round < 20; round++) {
        struct board_entry batch[40];
        struct kept *kept;

        assert_int_equal(kept_create(train, &kept, NULL), ST_OK);
        count = 0;
        for (int step = 0; step < 12; step++) {
            size_t batch_count = 0;

            for (size_t i = 0; i < 20 && count < ENTRIES; i++) { /* new ones, ids not in order */
                entries[count] = draw(&seed, (int64_t)((count * 7919) % 100003));
                batch[batch_count++] = entries[count++];
            }
            for (size_t i = 0; i < 5; i++) { /* others change */
                const size_t at = next_number(&seed) % count;
                bool there = false;

                for (size_t b = 0; b < batch_count; b++)
                    there = there || batch[b].entry == entries[at].entry;
                if (there)
                    continue;
                entries[at] = draw(&seed, entries[at].entry);
                batch[batch_count++] = entries[at];
            }
            assert_int_equal(kept_put(kept, batch, batch_count, NULL), ST_OK);
        }
        assert_int_equal(kept_count(kept), count);
        compare_boards(kept, entries, count);
        compare_pages(kept);
        compare_places(kept, entries, count);
        kept_destroy(kept);
    }
}

static void kept_order_has_copies(void **state)
{
    char name[] = "mine";
    struct board_entry entry = {.entry = 1, .name = name, .has_tta = true, .tta_ns = 5};
    struct arena arena;
    struct board board;
    struct kept *kept;

    (void)state;
    assert_int_equal(kept_create(train, &kept, NULL), ST_OK);
    assert_int_equal(kept_put(kept, &entry, 1, NULL), ST_OK);
    name[0] = 'w';
    arena_init(&arena, ARENA_BYTES);
    assert_int_equal(kept_rank(kept, &(struct board_rule){.by = BOARD_TIME}, &arena, &board, NULL),
                     ST_OK);
    assert_string_equal(board.items[0].row->name, "mine");
    assert_null(board.items[0].row->author);
    arena_fini(&arena);
    kept_destroy(kept);
}

static void an_empty_order_has_empty_boards_and_a_first_place(void **state)
{
    struct arena arena;
    struct board board;
    struct kept *kept;
    size_t total = 9;

    (void)state;
    assert_int_equal(kept_create(train, &kept, NULL), ST_OK);
    assert_int_equal(kept_put(kept, NULL, 0, NULL), ST_OK);
    arena_init(&arena, ARENA_BYTES);
    assert_int_equal(kept_page(kept, BOARD_TIME, 3, 10, &arena, &board, &total, NULL), ST_OK);
    assert_int_equal(board.item_count + board.not_ranked_count + total, 0);
    assert_int_equal(kept_place_of(kept, BOARD_TIME, 5), 1);
    assert_int_equal(kept_place_of(kept, BOARD_LATENCY, 5), 0); /* not a board of this task */
    assert_false(kept_preview(kept, BOARD_LATENCY, 5, &(struct kept_place){0}));
    assert_false(kept_find(kept, BOARD_TIME, 1, &(struct kept_place){0}));
    assert_int_equal(kept_page(kept, BOARD_LATENCY, 0, 1, &arena, &board, &total, NULL),
                     ST_INVALID);
    arena_fini(&arena);
    kept_destroy(kept);
    kept_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_order_is_that_of_ranking_anew),
        cmocka_unit_test(kept_order_has_copies),
        cmocka_unit_test(an_empty_order_has_empty_boards_and_a_first_place),
    };

    return cmocka_run_group_tests(tests, load_tasks, drop_tasks);
}
