/* tests/unit/common/test_arena.c: common/arena: zeroed, aligned, capped memory, released at once. */
#include "common/arena.h"

#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void memory_is_zeroed_aligned_and_distinct(void **state)
{
    static const size_t sizes[] = {0, 1, 15, 16, 17, 4096, 5000, 1 << 20, (1 << 20) + 1};
    unsigned char *before = NULL;
    struct arena arena;

    (void)state;
    arena_init(&arena, 16 << 20);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        unsigned char *memory = arena_alloc(&arena, sizes[i], 1);

        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % alignof(max_align_t), 0);
        assert_ptr_not_equal(memory, before);
        for (size_t j = 0; j < sizes[i]; j++)
            assert_int_equal(memory[j], 0);
        memset(memory, 0xAA, sizes[i]); /* a later piece must not see it */
        before = memory;
    }
    arena_fini(&arena);
}

static void cap_holds_to_the_byte(void **state)
{
    const size_t unit = alignof(max_align_t);
    struct arena arena;

    (void)state;
    arena_init(&arena, 4 * unit);
    assert_non_null(arena_alloc(&arena, unit, 2));
    assert_null(arena_alloc(&arena, 1, 2 * unit + 1));
    assert_non_null(arena_alloc(&arena, 1, 2 * unit));
    assert_int_equal(arena.used_bytes, arena.bytes_max);
    assert_null(arena_alloc(&arena, 0, 0)); /* even nothing needs a place of its own */
    arena_fini(&arena);
    assert_int_equal(arena.used_bytes, 0);
    assert_non_null(arena_alloc(&arena, 1, unit)); /* empty again, the same cap */
    arena_fini(&arena);
}

static void overflowing_and_huge_sizes_are_refused(void **state)
{
    static const size_t counts[] = {SIZE_MAX, SIZE_MAX / 2 + 1, SIZE_MAX / 8};
    struct arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        assert_null(arena_alloc(&arena, counts[i], 16));
    assert_null(arena_alloc(&arena, 1, SIZE_MAX));
    assert_null(arena_copy(&arena, (struct str){"", SIZE_MAX}));
    assert_non_null(arena_alloc(&arena, 1, 1)); /* still in order */
    arena_fini(&arena);
}

static void copies_and_prints_end_with_nul(void **state)
{
    struct arena arena;
    char *copy, *empty, *printed;

    (void)state;
    arena_init(&arena, 1024);
    copy = arena_copy(&arena, (struct str){"a\0bc", 3}); /* a view, not a string */
    empty = arena_copy(&arena, (struct str){NULL, 0});
    printed = arena_printf(&arena, "%s-%d", "run", 7);
    assert_memory_equal(copy, "a\0b", 4);
    assert_string_equal(empty, "");
    assert_string_equal(printed, "run-7");
    assert_null(arena_printf(&arena, "%2000d", 1));
    arena_fini(&arena);
}

static void fini_accepts_null_and_zeroed(void **state)
{
    struct arena arena = {0};

    (void)state;
    arena_fini(NULL);
    arena_fini(&arena);
    assert_null(arena_alloc(&arena, 1, 1)); /* a zeroed arena has a cap of nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_aligned_and_distinct),
        cmocka_unit_test(cap_holds_to_the_byte),
        cmocka_unit_test(overflowing_and_huge_sizes_are_refused),
        cmocka_unit_test(copies_and_prints_end_with_nul),
        cmocka_unit_test(fini_accepts_null_and_zeroed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
