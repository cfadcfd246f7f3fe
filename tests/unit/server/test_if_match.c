/* tests/unit/server/test_if_match.c: a change that names the state it was made from is judged where it is written. */
#include "common/etag.h"
#include "tests/support/store_fixture.h"

#include "server/store/store_internal.h"

#define TOPIC "submission:7"

static enum status verb_raise(struct db *db, struct arena *arena, void *args, struct error *err)
{
    (void)arena;
    (void)args;
    return db_raise_version(db, TOPIC, err);
}

/* args: the header's value. What passes raises the version, as a change would. */
static enum status verb_change(struct db *db, struct arena *arena, void *args, struct error *err)
{
    const struct str *if_match = args;
    const enum status status = db_check_if_match(db, TOPIC, TOPIC, *if_match, err);

    return status == ST_OK ? verb_raise(db, arena, NULL, err) : status;
}

static void only_the_state_that_stands_may_be_changed(void **state)
{
    struct fixture *f = *state;
    char etag[ETAG_BYTES], list[2 * ETAG_BYTES];
    struct str first, both, any = STR("*"), other = STR("\"x\"");
    int64_t version;

    fixture_run(f, verb_raise, NULL);
    assert_int_equal(store_get_version(f->reader, STR(TOPIC), &version, NULL), ST_OK);
    etag_format(etag, TOPIC, version);
    first = str_from_cstr(etag);
    fixture_refuse(f, verb_change, &other, ST_CONFLICT, "precondition-failed");
    fixture_run(f, verb_change, &first);
    fixture_refuse(f, verb_change, &first, ST_CONFLICT, "precondition-failed"); /* it was changed */
    fixture_run(f, verb_change, &any);
    assert_int_equal(store_get_version(f->reader, STR(TOPIC), &version, NULL), ST_OK);
    assert_int_equal(version, 3);
    etag_format(etag, TOPIC, version);
    (void)snprintf(list, sizeof list, "W/%s", etag);
    both = str_from_cstr(list);
    fixture_refuse(f, verb_change, &both, ST_CONFLICT,
                   "precondition-failed"); /* weak is not equal */
    (void)snprintf(list, sizeof list, "\"x\", %s", etag);
    both = str_from_cstr(list);
    fixture_run(f, verb_change, &both);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_the_state_that_stands_may_be_changed, fixture_setup,
                                        fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
