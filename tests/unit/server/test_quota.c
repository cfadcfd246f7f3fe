/* tests/unit/server/test_quota.c: what a token may store: its number of a day, and its bytes, to the last of them. */
#include "tests/support/store_fixture.h"

#include "server/store/store_internal.h"

#define DAY_MS (INT64_C(24) * 3600 * 1000)

struct charge {
    int64_t token_id;
    bool is_submission;
    size_t bytes;
    long long retry_after_s; /* out */
};

static enum status verb_charge(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct charge *charge = args;
    const enum status status =
        db_charge_token(db, charge->token_id, charge->is_submission, charge->bytes, err);

    (void)arena;
    charge->retry_after_s = err->retry_after_s;
    return status;
}

static int64_t make_token(struct fixture *f, struct opt_i64 per_day, struct opt_i64 bytes_max)
{
    struct create_token create = {.role = ROLE_SUBMITTER,
                                  .name = STR("n"),
                                  .submissions_per_day = per_day,
                                  .bytes_max = bytes_max};

    fixture_run(f, verb_create_token, &create);
    return create.id;
}

static void a_day_has_so_many_submissions_and_the_next_as_many(void **state)
{
    struct fixture *f = *state;
    struct charge charge = {make_token(f, (struct opt_i64){true, 2}, (struct opt_i64){0}), true, 1,
                            0};
    const struct charge other = {make_token(f, (struct opt_i64){true, 1}, (struct opt_i64){0}),
                                 true, 1, 0};
    struct charge more = other;

    fixture_run(f, verb_charge, &charge);
    fixture_run(f, verb_charge, &charge);
    for (int i = 0; i < 2; i++) { /* what was refused counts nothing */
        fixture_refuse(f, verb_charge, &charge, ST_LIMIT, "quota-submissions");
        assert_true(charge.retry_after_s == (DAY_MS - FIXTURE_START_MS % DAY_MS) / 1000);
    }
    fixture_run(f, verb_charge, &more); /* another token's are its own */
    charge.is_submission = false;       /* further files of what was sent already */
    fixture_run(f, verb_charge, &charge);
    charge.is_submission = true;
    atomic_fetch_add(&f->now_ms, DAY_MS - FIXTURE_START_MS % DAY_MS - 1);
    fixture_refuse(f, verb_charge, &charge, ST_LIMIT, "quota-submissions");
    assert_true(charge.retry_after_s == 1);
    atomic_fetch_add(&f->now_ms, 1);
    fixture_run(f, verb_charge, &charge);
    fixture_run(f, verb_charge, &charge);
    fixture_refuse(f, verb_charge, &charge, ST_LIMIT, "quota-submissions");
}

static void bytes_are_counted_to_the_last(void **state)
{
    struct fixture *f = *state;
    struct charge charge = {make_token(f, (struct opt_i64){0}, (struct opt_i64){true, 10}), true, 6,
                            0};
    struct token_record token;
    struct error err = {0};

    fixture_run(f, verb_charge, &charge);
    charge.bytes = 5;
    fixture_refuse(f, verb_charge, &charge, ST_DENIED, "quota-bytes");
    charge.bytes = 4;
    fixture_run(f, verb_charge, &charge);
    assert_int_equal(store_get_token(f->reader, &f->arena, charge.token_id, &token, &err), ST_OK);
    assert_int_equal(token.stored_bytes, 10);
    charge.bytes = 1;
    charge.is_submission = false;
    fixture_refuse(f, verb_charge, &charge, ST_DENIED, "quota-bytes");
    atomic_fetch_add(&f->now_ms, 100 * DAY_MS); /* nothing is deleted: nothing comes free */
    fixture_refuse(f, verb_charge, &charge, ST_DENIED, "quota-bytes");
}

static void a_role_has_quotas_of_its_own(void **state)
{
    struct fixture *f = *state;
    struct token_record token;
    struct error err = {0};
    const int64_t id = make_token(f, (struct opt_i64){0}, (struct opt_i64){0});

    assert_int_equal(store_get_token(f->reader, &f->arena, id, &token, &err), ST_OK);
    assert_int_equal(token.quota.submissions_per_day,
                     role_quota(ROLE_SUBMITTER).submissions_per_day);
    assert_true(token.quota.bytes_max == role_quota(ROLE_SUBMITTER).bytes_max);
    assert_int_equal(store_get_token(f->reader, &f->arena, id + 1, &token, &err), ST_NOT_FOUND);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_day_has_so_many_submissions_and_the_next_as_many),
        TEST(bytes_are_counted_to_the_last),
        TEST(a_role_has_quotas_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
