/* tests/unit/server/test_filter.c: which rows of a board are shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/rank/filter.h"

static const struct board_entry rented = {.name = "rented",
                                          .tier = "witnessed",
                                          .hardware = "8 x V100 (p3.16xlarge)",
                                          .framework = "PyTorch 1.0",
                                          .cloud = "aws",
                                          .device_kind = "gpu",
                                          .has_devices = true,
                                          .devices = 8,
                                          .date_days = 100},
                                owned = {.name = "owned",
                                         .tier = "reported",
                                         .hardware = "TPU pod",
                                         .framework = "TensorFlow",
                                         .cloud = "none",
                                         .device_kind = "tpu",
                                         .date_days = 200},
                                unknown = {.name = "unknown", .tier = "reported", .date_days = 300};

static void a_filter_passes_what_fits_in_every_part(void **state)
{
    static const struct {
        struct board_filter filter;
        bool rented, owned, unknown;
    } rows[] = {
        {{.tier = {0}}, true, true, true},
        {{.tier = {"reported", 8}}, false, true, true},
        {{.hardware = {"v100", 4}}, true, false, false},
        {{.hardware = {"GPU", 3}}, true, false, false}, /* the kind */
        {{.hardware = {"tpu", 3}}, false, true, false}, /* both */
        {{.hardware = {"gp", 2}}, false, false, false}, /* a kind is whole */
        {{.framework = {"TORCH", 5}}, true, false, false},
        {{.framework = {"PyTorch 1.0 and more", 20}}, false, false, false},
        {{.cloud = {"AWS", 3}}, true, false, false},
        {{.cloud = {"aw", 2}}, false, false, false},
        {{.cloud = {"public", 6}}, true, false, false},
        {{.cloud = {"none", 4}}, false, true, false},
        {{.has_devices = true, .devices = 8}, true, false, false},
        {{.has_devices = true, .devices = 1}, false, false, false},
        {{.has_from = true, .from_days = 200}, false, true, true},
        {{.has_to = true, .to_days = 200}, true, true, false},
        {{.has_from = true, .from_days = 101, .has_to = true, .to_days = 299}, false, true, false},
        {{.tier = {"reported", 8}, .cloud = {"aws", 3}}, false, false, false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(board_filter_is_empty(&rows[i].filter), i == 0);
        assert_int_equal(board_filter_passes(&rows[i].filter, &rented), rows[i].rented);
        assert_int_equal(board_filter_passes(&rows[i].filter, &owned), rows[i].owned);
        assert_int_equal(board_filter_passes(&rows[i].filter, &unknown), rows[i].unknown);
    }
}

static void a_filter_keeps_places(void **state)
{
    struct board_item items[] = {{.row = &rented, .place = 1}, {.row = &owned, .place = 2}};
    struct board_missing missing[] = {{&unknown, "reason"}};
    struct board board = {
        .items = items, .item_count = 2, .not_ranked = missing, .not_ranked_count = 1};
    const struct board_filter none = {0}, tpu = {.hardware = STR("tpu")};

    (void)state;
    board_filter_apply(&none, &board);
    assert_int_equal(board.item_count + board.not_ranked_count, 3);
    board_filter_apply(&tpu, &board);
    assert_int_equal(board.item_count, 1);
    assert_int_equal(board.items[0].place, 2);
    assert_int_equal(board.not_ranked_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filter_passes_what_fits_in_every_part),
        cmocka_unit_test(a_filter_keeps_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
