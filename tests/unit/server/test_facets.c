/* tests/unit/server/test_facets.c: facets.tsv of a tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/command/facets.h"

#define HEADER "entry\tkind\tdevice_model\tdevices\tnodes\tcloud\n"

static void facets_find_gives_what_the_row_has(void **state)
{
    struct accept_facets found = {0}, none = {0};
    struct facets facets;
    struct error err = {0};

    (void)state;
    facets_init(&facets);
    assert_int_equal(facets_parse(STR(HEADER "T/train/a\tgpu\tV100\t8\t\taws\n"), &facets, &err),
                     ST_OK);
    assert_int_equal(facets_find(&facets, "T/train/a", &found, &err), ST_OK);
    assert_string_equal(found.device_kind, "gpu");
    assert_string_equal(found.device_model, "V100");
    assert_string_equal(found.cloud, "aws");
    assert_true(found.devices.has && !found.nodes.has);
    assert_int_equal(found.devices.value, 8);
    assert_int_equal(facets_find(&facets, "T/train/b", &none, &err), ST_OK);
    assert_true(none.device_kind == NULL && !none.devices.has);
    facets_fini(&facets);
}

static void facets_refuse_columns_rows_and_counts(void **state)
{
    static const struct {
        struct str text;
        int line;
    } rows[] = {
        {{"entry\tkind\n", 11}, 1},
        {{HEADER "T/train/a\tgpu\n", sizeof HEADER - 1 + 14}, 2},
    };
    struct accept_facets found = {0};
    struct facets facets;
    struct error err = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        err = (struct error){0};
        facets_init(&facets);
        assert_int_equal(facets_parse(rows[i].text, &facets, &err), ST_INVALID);
        assert_int_equal(err.line, rows[i].line);
        facets_fini(&facets);
    }
    err = (struct error){0};
    facets_init(&facets);
    assert_int_equal(facets_parse(STR(HEADER "T/train/a\tgpu\tV100\t0\t1\taws\n"), &facets, &err),
                     ST_OK);
    assert_int_equal(facets_find(&facets, "T/train/a", &found, &err), ST_INVALID);
    assert_string_equal(err.field, "devices");
    facets_fini(&facets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facets_find_gives_what_the_row_has),
        cmocka_unit_test(facets_refuse_columns_rows_and_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
