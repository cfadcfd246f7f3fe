/* tests/unit/server/test_token.c: server/store/token.c: who is let in, and what the others are told. */
#include "tests/support/store_fixture.h"

#define DAY_MS (INT64_C(24) * 3600 * 1000)

static const char *create(struct fixture *f, enum role role, int ttl_days, int64_t *id)
{
    struct create_token token = {
        .role = role, .name = STR("N. N."), .ttl_days = {ttl_days > 0, ttl_days}};

    fixture_run(f, verb_create_token, &token);
    *id = token.id;
    return token.text;
}

static enum status authenticate(struct fixture *f, const char *text, struct principal *principal,
                                struct error *err)
{
    *err = (struct error){0};
    return store_authenticate(f->reader, &f->arena, str_from_cstr(text), atomic_load(&f->now_ms),
                              principal, err);
}

static void check_refused(struct fixture *f, const char *text, const char *code)
{
    struct principal principal;
    struct error err;

    assert_int_equal(authenticate(f, text, &principal, &err), ST_UNAUTHENTICATED);
    assert_string_equal(err.code, code);
}

static void token_of_each_role_is_let_in_as_what_it_is(void **state)
{
    struct fixture *f = *state;
    char prefix[64];

    for (int role = 0; role < ROLE_COUNT; role++) {
        struct principal principal;
        struct error err;
        int64_t id;
        const char *text = create(f, (enum role)role, 0, &id);

        (void)snprintf(prefix, sizeof prefix, "dbk_%s_%d_", role_name((enum role)role), (int)id);
        assert_true(str_starts_with(str_from_cstr(text), str_from_cstr(prefix)));
        assert_int_equal(strlen(text), strlen(prefix) + 43); /* 256 bits in base64url */
        assert_int_equal(authenticate(f, text, &principal, &err), ST_OK);
        assert_int_equal(principal.token_id, id);
        assert_int_equal(principal.role, role);
        assert_string_equal(principal.name, "N. N.");
        assert_int_equal(principal.agent_id, 0);
    }
}

static void malformed_tokens_are_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "dbk",
        "dbk_operator_1",
        "dbk_operator_1_short",
        "dbk_king_1_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "dbk_operator_x_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "dbk_operator_0_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "dbk_operator_-1_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "dbk_operator_99999999999999999999_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "abc_operator_1_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "dbk_operator_1_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        check_refused(*state, texts[i], "token-malformed");
}

static void wrong_secret_and_unknown_id_are_told_alike(void **state)
{
    struct fixture *f = *state;
    int64_t id;
    const char *text = create(f, ROLE_OPERATOR, 0, &id);
    const size_t length = strlen(text);
    char *other = arena_copy(&f->arena, str_from_cstr(text));

    assert_non_null(other);
    other[length - 1] = other[length - 1] == 'A' ? 'B' : 'A';
    check_refused(f, other, "token-unknown");
    check_refused(f, "dbk_operator_77_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                  "token-unknown");
    /* The right secret under another role: the text was tampered with. */
    other = arena_printf(&f->arena, "dbk_admin_%d_%s", (int)id, text + length - 43);
    assert_non_null(other);
    check_refused(f, other, "token-unknown");
}

static void token_expires_to_the_millisecond_and_says_when(void **state)
{
    struct fixture *f = *state;
    struct principal principal;
    struct error err;
    int64_t id;
    const char *text = create(f, ROLE_SUBMITTER, 2, &id);

    atomic_fetch_add(&f->now_ms, 2 * DAY_MS - 1);
    assert_int_equal(authenticate(f, text, &principal, &err), ST_OK);
    atomic_fetch_add(&f->now_ms, 1);
    check_refused(f, text, "token-expired");
    assert_int_equal(authenticate(f, text, &principal, &err), ST_UNAUTHENTICATED);
    assert_non_null(strstr(err.detail, "2025-12-03"));
}

static void revoked_token_is_refused_and_revoking_twice_is_no_fault(void **state)
{
    struct fixture *f = *state;
    struct revoke_token revoke = {.issuer = NULL};
    struct token_record *rows;
    struct error err = {0};
    size_t count;
    int64_t first_ms;
    const char *text = create(f, ROLE_REVIEWER, 0, &revoke.id);

    fixture_run(f, verb_revoke_token, &revoke);
    check_refused(f, text, "token-revoked");
    first_ms = atomic_load(&f->now_ms);
    atomic_fetch_add(&f->now_ms, 1000);
    fixture_run(f, verb_revoke_token, &revoke);
    assert_int_equal(store_list_tokens(f->reader, &f->arena, &rows, &count, &err), ST_OK);
    assert_int_equal(count, 1);
    assert_int_equal(rows[0].revoked_ms.value, first_ms); /* the first time counts */
    revoke.id = 99;
    fixture_refuse(f, verb_revoke_token, &revoke, ST_NOT_FOUND, "");
}

/* Whether `issuer` may make one: nothing is made when he may not. */
static void check_issue(struct fixture *f, const struct principal *issuer,
                        struct create_token wanted, const char *code)
{
    wanted.name = STR("issued");
    wanted.issuer = issuer;
    if (code == NULL)
        fixture_run(f, verb_create_token, &wanted);
    else
        fixture_refuse(f, verb_create_token, &wanted, ST_DENIED, code);
}

static void an_issuer_hands_out_what_he_has(void **state)
{
    const struct principal admin = {
        .token_id = 1, .role = ROLE_ADMIN, .scopes = role_scopes(ROLE_ADMIN)};
    const struct principal operator= {
        .token_id = 1, .role = ROLE_OPERATOR, .scopes = role_scopes(ROLE_OPERATOR)};
    const struct principal narrow = {
        .token_id = 1, .role = ROLE_OPERATOR, .scopes = SCOPE_TOKENS | SCOPE_JOBS};
    struct fixture *f = *state;
    int64_t id;

    (void)create(f, ROLE_ADMIN, 0, &id);
    assert_int_equal(id, 1);
    for (enum role r = 0; r < ROLE_COUNT; r++)
        check_issue(f, &admin, (struct create_token){.role = r},
                    r == ROLE_AGENT ? "role-reserved" : NULL);
    check_issue(f, &operator,(struct create_token){.role = ROLE_SUBMITTER}, NULL);
    check_issue(f, &operator,(struct create_token){.role = ROLE_AGENT_REGISTRATION}, NULL);
    check_issue(f, &operator,(struct create_token){.role = ROLE_REVIEWER}, "scope-missing");
    check_issue(f, &operator,(struct create_token){.role = ROLE_ADMIN}, "role-reserved");
    check_issue(f, &narrow, (struct create_token){.role = ROLE_OPERATOR}, "scope-missing");
    check_issue(f, &narrow, (struct create_token){.role = ROLE_OPERATOR, .scopes = SCOPE_JOBS},
                NULL);
    check_issue(f, &operator,(struct create_token){.role = ROLE_SUBMITTER, .bytes_max = {true, 5}},
                "quota-reserved");
    check_issue(f, &admin, (struct create_token){.role = ROLE_SUBMITTER, .bytes_max = {true, 5}},
                NULL);
    assert_true(token_may_issue(&operator, ROLE_OPERATOR));
    assert_false(token_may_issue(&operator, ROLE_REVIEWER));
}

static void a_token_has_no_more_scopes_than_it_kept(void **state)
{
    struct create_token token = {
        .role = ROLE_OPERATOR, .name = STR("n"), .scopes = SCOPE_JOBS | SCOPE_TASKS};
    struct fixture *f = *state;
    struct principal principal;
    struct error err;

    fixture_run(f, verb_create_token, &token);
    assert_int_equal(authenticate(f, token.text, &principal, &err), ST_OK);
    assert_int_equal(principal.scopes, SCOPE_JOBS | SCOPE_TASKS);
    token.scopes = SCOPE_REVIEW;
    fixture_refuse(f, verb_create_token, &token, ST_INVALID, "scope-not-of-role");
}

static enum status find_session(struct fixture *f, const char *text, struct principal *principal)
{
    struct error err = {0};

    return store_authenticate_session(f->reader, &f->arena, str_from_cstr(text),
                                      atomic_load(&f->now_ms), principal, &err);
}

static void a_session_is_good_until_its_time_its_end_or_its_token_s(void **state)
{
    struct fixture *f = *state;
    struct create_session sessions[3] = {{0}};
    struct revoke_token revoke = {.issuer = NULL};
    struct principal principal;
    struct end_session end;

    (void)create(f, ROLE_OPERATOR, 0, &revoke.id);
    for (size_t i = 0; i < ARRAY_LEN(sessions); i++) {
        sessions[i].token_id = revoke.id;
        fixture_run(f, verb_create_session, &sessions[i]);
        assert_int_equal(find_session(f, sessions[i].text, &principal), ST_OK);
        assert_true(principal.token_id == revoke.id && principal.role == ROLE_OPERATOR);
    }
    assert_int_equal(find_session(f, "nobody's", &principal), ST_UNAUTHENTICATED);
    end.text = str_from_cstr(sessions[0].text);
    fixture_run(f, verb_end_session, &end);
    fixture_run(f, verb_end_session, &end);
    assert_int_equal(find_session(f, sessions[0].text, &principal), ST_UNAUTHENTICATED);
    atomic_fetch_add(&f->now_ms, SESSION_MS - 1);
    assert_int_equal(find_session(f, sessions[1].text, &principal), ST_OK);
    atomic_fetch_add(&f->now_ms, 1);
    assert_int_equal(find_session(f, sessions[1].text, &principal), ST_UNAUTHENTICATED);
    fixture_run(f, verb_create_session, &sessions[2]);
    fixture_run(f, verb_revoke_token, &revoke);
    assert_int_equal(find_session(f, sessions[2].text, &principal), ST_UNAUTHENTICATED);
}

static void names_and_lifetimes_have_limits(void **state)
{
    char long_name[130];
    struct fixture *f = *state;
    struct create_token token = {.role = ROLE_ADMIN, .name = {long_name, 128}};

    memset(long_name, 'n', sizeof long_name);
    fixture_run(f, verb_create_token, &token);
    token.name.len = 129;
    fixture_refuse(f, verb_create_token, &token, ST_INVALID, "");
    token.name.len = 0;
    fixture_refuse(f, verb_create_token, &token, ST_INVALID, "");
    token.name = STR("\xFF");
    fixture_refuse(f, verb_create_token, &token, ST_INVALID, "");
    token.name = STR("n");
    token.ttl_days = (struct opt_i64){true, 0};
    fixture_refuse(f, verb_create_token, &token, ST_INVALID, "");
    token.ttl_days.value = 36501;
    fixture_refuse(f, verb_create_token, &token, ST_INVALID, "");
}

static void agents_token_names_its_agent(void **state)
{
    struct fixture *f = *state;
    struct register_agent agent = {.name = STR("host"),
                                   .protocol = 1,
                                   .owner_token_id = fixture_token(f, ROLE_AGENT_REGISTRATION, "r"),
                                   .build = "test",
                                   .capabilities_json = "{}",
                                   .device_kind = "cpu",
                                   .device_model = "m",
                                   .devices = 1,
                                   .hardware = "h",
                                   .framework = "f"};
    struct principal principal;
    struct error err;

    fixture_run(f, verb_register_agent, &agent);
    assert_int_equal(authenticate(f, agent.token, &principal, &err), ST_OK);
    assert_int_equal(principal.role, ROLE_AGENT);
    assert_int_equal(principal.agent_id, agent.agent_id);
    agent.name = STR("");
    fixture_refuse(f, verb_register_agent, &agent, ST_INVALID, "");
}

static void secret_is_stored_nowhere(void **state)
{
    struct fixture *f = *state;
    int64_t id;
    const char *text = create(f, ROLE_ADMIN, 0, &id), *secret = text + strlen(text) - 43;
    static const char *const endings[] = {"", "-wal"};

    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        char path[128], *data;
        size_t bytes;
        FILE *file;

        (void)snprintf(path, sizeof path, "%s%s", f->path, endings[i]);
        file = fopen(path, "rb");
        assert_non_null(file);
        data = malloc(8 << 20);
        assert_non_null(data);
        bytes = fread(data, 1, 8 << 20, file);
        assert_true(bytes > 0);
        assert_null(memmem(data, bytes, secret, 43));
        free(data);
        assert_int_equal(fclose(file), 0);
    }
}

static void last_use_is_written_within_a_minute(void **state)
{
    struct fixture *f = *state;
    struct sweep sweep = {.store = f->store};
    struct token_record *rows;
    struct error err = {0};
    size_t count;
    const int64_t id = fixture_token(f, ROLE_OPERATOR, "n");

    fixture_run(f, verb_sweep, &sweep);
    store_note_token_use(f->store, id, FIXTURE_START_MS + 5);
    store_note_token_use(f->store, id, FIXTURE_START_MS + 9);
    atomic_fetch_add(&f->now_ms, 60000);
    fixture_run(f, verb_sweep, &sweep);
    assert_int_equal(store_list_tokens(f->reader, &f->arena, &rows, &count, &err), ST_OK);
    assert_true(rows[0].used_ms.has);
    assert_int_equal(rows[0].used_ms.value, FIXTURE_START_MS + 9);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(token_of_each_role_is_let_in_as_what_it_is),
        TEST(malformed_tokens_are_refused),
        TEST(wrong_secret_and_unknown_id_are_told_alike),
        TEST(token_expires_to_the_millisecond_and_says_when),
        TEST(revoked_token_is_refused_and_revoking_twice_is_no_fault),
        TEST(an_issuer_hands_out_what_he_has),
        TEST(a_token_has_no_more_scopes_than_it_kept),
        TEST(a_session_is_good_until_its_time_its_end_or_its_token_s),
        TEST(names_and_lifetimes_have_limits),
        TEST(agents_token_names_its_agent),
        TEST(secret_is_stored_nowhere),
        TEST(last_use_is_written_within_a_minute),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
