/* server/store/token.c: tokens: dbk_<role>_<id>_<secret>, the secret being 256 random bits in base64url; the sessions of
 * browsers that signed in with one, whose secret is alike; and what a token may store. Only SHA-256 of secrets is
 * stored: a random secret needs no slow hash. */
#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"
#include "server/store/read.h"
#include "server/store/store_internal.h"
#include "server/store/verbs.h"

enum { SECRET_BYTES = 32, SECRET_TEXT_BYTES = 43, TOKEN_NAME_BYTES_MAX = 128 };

#define DAY_MS       (INT64_C(24) * 3600 * 1000)
#define TTL_DAYS_MAX 36500

static const char *const role_names[ROLE_COUNT] = {
    [ROLE_SUBMITTER] = "submitter", [ROLE_REVIEWER] = "reviewer",
    [ROLE_OPERATOR] = "operator",   [ROLE_ADMIN] = "admin",
    [ROLE_AGENT] = "agent",         [ROLE_AGENT_REGISTRATION] = "agent-registration",
};

/* In the order of enum scope's bits. */
static const char *const scope_names[SCOPE_COUNT] = {
    "submit", "review", "jobs", "tasks", "tokens", "webhooks", "register", "agent",
};

static const unsigned scopes_of_roles[ROLE_COUNT] = {
    [ROLE_SUBMITTER] = SCOPE_SUBMIT | SCOPE_WEBHOOKS,
    [ROLE_REVIEWER] = SCOPE_REVIEW | SCOPE_WEBHOOKS,
    [ROLE_OPERATOR] = SCOPE_SUBMIT | SCOPE_JOBS | SCOPE_TASKS | SCOPE_TOKENS | SCOPE_WEBHOOKS,
    [ROLE_ADMIN] =
        SCOPE_SUBMIT | SCOPE_REVIEW | SCOPE_JOBS | SCOPE_TASKS | SCOPE_TOKENS | SCOPE_WEBHOOKS,
    [ROLE_AGENT_REGISTRATION] = SCOPE_REGISTER,
    [ROLE_AGENT] = SCOPE_AGENT,
};

/* Generous for a person at work, and a bound on what one token can do to the disk. */
static const struct quota quotas_of_roles[ROLE_COUNT] = {
    [ROLE_SUBMITTER] = {1000, INT64_C(1) << 30},  [ROLE_REVIEWER] = {1000, INT64_C(1) << 30},
    [ROLE_OPERATOR] = {10000, INT64_C(16) << 30}, [ROLE_ADMIN] = {INT64_MAX, INT64_MAX},
    [ROLE_AGENT_REGISTRATION] = {0, 0},           [ROLE_AGENT] = {INT64_MAX, INT64_C(64) << 30},
};

/* A token's text in its parts. */
struct token_text {
    enum role role;
    int64_t id;
    struct str secret;
};

/* What authentication needs of a row. */
struct token_row {
    enum role role;
    unsigned scopes;
    unsigned char secret_sha256[SHA256_BYTES];
    struct opt_i64 expires_ms, revoked_ms, agent_id;
    const char *name, *agent_state;
};

static bool parse_token(struct str text, struct token_text *token);
static enum status refuse_scopes(enum role role, unsigned scopes, struct error *err);
static enum status check_issuer(const struct principal *issuer, enum role role, unsigned scopes,
                                struct error *err);
static void draw_secret(char text[SECRET_TEXT_BYTES + 1], unsigned char digest[SHA256_BYTES]);
static enum role read_role(struct query_run *run);
static struct quota read_quota(struct query_run *run, enum role role);
static unsigned read_scopes(struct query_run *run, enum role role);
static void read_record(struct query_run *run, struct token_record *row);
static enum status get_token(struct db *db, struct arena *arena, int64_t id, struct token_row *row,
                             struct error *err);
static enum status admit_row(int64_t id, const struct token_row *row, int64_t now_ms,
                             struct principal *principal, struct error *err);
static enum status unknown_token(struct error *err);

const char *role_name(enum role role)
{
    return role_names[role];
}

bool role_parse(struct str text, enum role *role)
{
    for (int i = 0; i < ROLE_COUNT; i++)
        if (str_eq_cstr(text, role_names[i])) {
            *role = (enum role)i;
            return true;
        }
    return false;
}

const char *scope_name(enum scope scope)
{
    return scope_names[__builtin_ctz((unsigned)scope)];
}

unsigned role_scopes(enum role role)
{
    return scopes_of_roles[role];
}

bool scope_set_parse(struct str text, unsigned *scopes)
{
    struct str rest = text, part;
    bool more = true;

    *scopes = 0;
    while (str_split_next(&rest, &more, ' ', &part)) {
        unsigned bit = 0;

        for (unsigned i = 0; i < SCOPE_COUNT; i++)
            if (str_eq_cstr(part, scope_names[i]))
                bit = 1u << i;
        if (bit == 0)
            return false;
        *scopes |= bit;
    }
    return *scopes != 0;
}

void scope_set_format(unsigned scopes, char *text, size_t bytes)
{
    scope_set_join(scopes, " ", text, bytes);
}

void scope_set_join(unsigned scopes, const char *separator, char *text, size_t bytes)
{
    size_t length = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < SCOPE_COUNT && length < bytes; i++)
        if ((scopes & 1u << i) != 0)
            length += (size_t)snprintf(text + length, bytes - length, "%s%s",
                                       length > 0 ? separator : "", scope_names[i]);
}

struct quota role_quota(enum role role)
{
    return quotas_of_roles[role];
}

enum status verb_create_token(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct create_token *create = args;
    struct new_token token = {.role = create->role,
                              .name = create->name,
                              .scopes = create->scopes,
                              .submissions_per_day = create->submissions_per_day,
                              .bytes_max = create->bytes_max};
    enum status status;

    if (create->ttl_days.has) {
        if (create->ttl_days.value < 1 || create->ttl_days.value > TTL_DAYS_MAX)
            return error_set(err, ST_INVALID, "ttl", "a token lives 1 to %d days", TTL_DAYS_MAX);
        token.expires_ms = (struct opt_i64){true, db->now_ms + create->ttl_days.value * DAY_MS};
    }
    if ((create->scopes & ~role_scopes(create->role)) != 0)
        return refuse_scopes(create->role, create->scopes, err);
    if (create->issuer != NULL) {
        status =
            check_issuer(create->issuer, create->role,
                         create->scopes == 0 ? role_scopes(create->role) : create->scopes, err);
        if (status != ST_OK)
            return status;
        if ((create->submissions_per_day.has || create->bytes_max.has) &&
            create->issuer->role != ROLE_ADMIN)
            return error_set_code(
                err, ST_DENIED, "quota-reserved",
                create->submissions_per_day.has ? "submissions_per_day" : "bytes_max",
                "Leave it out: the role has its own.", "only an admin sets quotas");
        token.created_by = (struct opt_i64){true, create->issuer->token_id};
    }
    create->expires_ms = token.expires_ms;
    return db_insert_token(db, arena, &token, &create->id, &create->text, err);
}

bool token_may_issue(const struct principal *issuer, enum role role)
{
    struct error ignored = {0};

    return check_issuer(issuer, role, role_scopes(role), &ignored) == ST_OK;
}

enum status verb_revoke_token(struct db *db, struct arena *arena, void *args, struct error *err)
{
    const struct revoke_token *revoke = args;
    struct token_row row = {0};
    struct query_run run;
    enum status status = get_token(db, arena, revoke->id, &row, err);

    if (status == ST_NOT_FOUND)
        return error_set(err, ST_NOT_FOUND, "id", "there is no token %" PRId64, revoke->id);
    if (status == ST_OK && revoke->issuer != NULL && revoke->issuer->token_id != revoke->id &&
        !(row.role == ROLE_AGENT && (revoke->issuer->scopes & SCOPE_JOBS) != 0))
        status = check_issuer(revoke->issuer, row.role, row.scopes, err);
    if (status != ST_OK)
        return status;
    run = query_begin(db, STMT_REVOKE_TOKEN, arena);
    query_bind_i64(&run, revoke->id);
    query_bind_i64(&run, db->now_ms);
    return query_done(&run, err);
}

enum status verb_create_session(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct create_session *create = args;
    unsigned char digest[SHA256_BYTES];
    char secret[SECRET_TEXT_BYTES + 1];
    struct query_run run = query_begin(db, STMT_INSERT_SESSION, arena);

    draw_secret(secret, digest);
    query_bind_blob(&run, digest, sizeof digest);
    query_bind_i64(&run, create->token_id);
    query_bind_i64(&run, db->now_ms);
    query_bind_i64(&run, db->now_ms + SESSION_MS);
    create->text = arena_copy(arena, str_from_cstr(secret));
    if (create->text == NULL)
        run.no_memory = true;
    return query_done(&run, err);
}

enum status verb_end_session(struct db *db, struct arena *arena, void *args, struct error *err)
{
    const struct end_session *end = args;
    unsigned char digest[SHA256_BYTES];
    struct query_run run = query_begin(db, STMT_END_SESSION, arena);

    crypto_sha256(end->text, digest);
    query_bind_blob(&run, digest, sizeof digest);
    query_bind_i64(&run, db->now_ms);
    return query_done(&run, err);
}

enum status db_insert_token(struct db *db, struct arena *arena, const struct new_token *token,
                            int64_t *id, const char **text, struct error *err)
{
    char secret[SECRET_TEXT_BYTES + 1], scopes[SCOPE_SET_BYTES];
    unsigned char digest[SHA256_BYTES];
    struct query_run run;
    enum status status;

    if (token->name.len == 0 || token->name.len > TOKEN_NAME_BYTES_MAX || !str_is_utf8(token->name))
        return error_set(err, ST_INVALID, "name", "a name has 1 to %d bytes of UTF-8",
                         TOKEN_NAME_BYTES_MAX);
    draw_secret(secret, digest);
    scope_set_format(token->scopes, scopes, sizeof scopes);
    run = query_begin(db, STMT_INSERT_TOKEN, arena);
    query_bind_text(&run, role_name(token->role));
    query_bind_str(&run, token->name);
    query_bind_blob(&run, digest, sizeof digest);
    query_bind_i64(&run, db->now_ms);
    query_bind_opt(&run, token->expires_ms);
    query_bind_text(&run, token->scopes == 0 ? NULL : scopes);
    query_bind_opt(&run, token->submissions_per_day);
    query_bind_opt(&run, token->bytes_max);
    query_bind_opt(&run, token->created_by);
    status = query_done(&run, err);
    if (status != ST_OK)
        return status;
    *id = sqlite3_last_insert_rowid(db->handle);
    *text = arena_printf(arena, "dbk_%s_%" PRId64 "_%s", role_name(token->role), *id, secret);
    if (*text == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the token");
    return ST_OK;
}

/* Counted first and judged then: what is too much rolls back with its command. */
enum status db_charge_token(struct db *db, int64_t token_id, bool is_submission, size_t bytes,
                            struct error *err)
{
    struct arena arena;
    struct query_run run = query_begin(db, STMT_CHARGE_TOKEN, &arena);
    const int64_t day = db->now_ms / DAY_MS;
    int64_t day_count = 0, stored_bytes = 0;
    struct quota quota = {0};
    enum status status;
    enum role role;

    arena_init(&arena, 1024);
    query_bind_i64(&run, token_id);
    query_bind_i64(&run, (int64_t)bytes);
    query_bind_i64(&run, day);
    query_bind_i64(&run, is_submission ? 1 : 0);
    status = query_row(&run, err);
    if (status == ST_OK) {
        role = read_role(&run);
        quota = read_quota(&run, role);
        day_count = query_i64(&run);
        stored_bytes = query_i64(&run);
        status = query_end(&run, err);
    } else if (status == ST_NOT_FOUND) { /* a foreign key names it */
        status = error_set(err, ST_INTERNAL, NULL, "there is no token %" PRId64, token_id);
    }
    arena_fini(&arena);
    if (status != ST_OK)
        return status;
    if (is_submission && day_count > quota.submissions_per_day) {
        char next[CLOCK_TEXT_BYTES];

        clock_format_utc((day + 1) * DAY_MS, next);
        err->retry_after_s = ((day + 1) * DAY_MS - db->now_ms + 999) / 1000;
        return error_set_code(err, ST_LIMIT, "quota-submissions", "submissions_per_day",
                              "An admin may issue a token with another quota.",
                              "this token may send %" PRId64
                              " submissions a day; it may again at %s",
                              quota.submissions_per_day, next);
    }
    if (stored_bytes > quota.bytes_max)
        return error_set_code(err, ST_DENIED, "quota-bytes", "bytes_max",
                              "An admin may issue a token with another quota.",
                              "this token may store %" PRId64 " bytes in all and has %" PRId64
                              " left; nothing is deleted, so none come free",
                              quota.bytes_max, quota.bytes_max - (stored_bytes - (int64_t)bytes));
    return ST_OK;
}

enum status store_authenticate(struct store_reader *reader, struct arena *arena, struct str text,
                               int64_t now_ms, struct principal *principal, struct error *err)
{
    unsigned char digest[SHA256_BYTES];
    struct token_text token;
    struct token_row row = {0};
    enum status status;

    if (!parse_token(text, &token))
        return error_set_code(err, ST_UNAUTHENTICATED, "token-malformed", "Authorization",
                              "Send the token as it was printed: dbk_<role>_<id>_<secret>.",
                              "this is not a token of this service");
    status = get_token(&reader->db, arena, token.id, &row, err);
    if (status == ST_NOT_FOUND)
        return unknown_token(err);
    if (status != ST_OK)
        return status;
    /* The secret first: who does not know it learns nothing about the token. */
    crypto_sha256(token.secret, digest);
    if (!crypto_equal(digest, row.secret_sha256, sizeof digest) || token.role != row.role)
        return unknown_token(err);
    return admit_row(token.id, &row, now_ms, principal, err);
}

enum status store_authenticate_session(struct store_reader *reader, struct arena *arena,
                                       struct str text, int64_t now_ms, struct principal *principal,
                                       struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_GET_SESSION, arena);
    unsigned char digest[SHA256_BYTES];
    int64_t token_id = 0, expires_ms = 0;
    struct opt_i64 ended_ms = {0};
    struct token_row row = {0};
    enum status status;

    crypto_sha256(text, digest);
    query_bind_blob(&run, digest, sizeof digest);
    status = query_row(&run, err);
    if (status == ST_OK) {
        token_id = query_i64(&run);
        expires_ms = query_i64(&run);
        ended_ms = query_opt(&run);
    } else if (status != ST_NOT_FOUND) {
        return status;
    }
    status = query_end(&run, err);
    if (status == ST_OK && (ended_ms.has || expires_ms <= now_ms))
        return error_set_code(err, ST_UNAUTHENTICATED, "session-ended", NULL, "Sign in again.",
                              "this session is over");
    if (status == ST_OK)
        status = get_token(&reader->db, arena, token_id, &row, err);
    return status == ST_OK ? admit_row(token_id, &row, now_ms, principal, err) : status;
}

enum status store_list_tokens(struct store_reader *reader, struct arena *arena,
                              struct token_record **rows, size_t *count, struct error *err)
{
    return store_list_tokens_after(reader, arena, 0, INT64_MAX, rows, count, err);
}

enum status store_list_tokens_after(struct store_reader *reader, struct arena *arena,
                                    int64_t after_id, int64_t limit, struct token_record **rows,
                                    size_t *count, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_TOKENS, arena);
    size_t capacity = 0;

    *rows = NULL;
    *count = 0;
    query_bind_i64(&run, after_id);
    query_bind_i64(&run, limit);
    while (query_next(&run)) {
        struct token_record row;

        read_record(&run, &row);
        *rows = query_grow(&run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(&run, err);
}

enum status store_get_token(struct store_reader *reader, struct arena *arena, int64_t id,
                            struct token_record *token, struct error *err)
{
    struct token_record *rows;
    size_t count;
    enum status status = store_list_tokens_after(reader, arena, id - 1, 1, &rows, &count, err);

    if (status != ST_OK)
        return status;
    if (count == 0 || rows[0].id != id)
        return error_set(err, ST_NOT_FOUND, "id", "there is no token %" PRId64, id);
    *token = rows[0];
    return ST_OK;
}

static enum status refuse_scopes(enum role role, unsigned scopes, struct error *err)
{
    char wrong[SCOPE_SET_BYTES], all[SCOPE_SET_BYTES];

    scope_set_format(scopes & ~role_scopes(role), wrong, sizeof wrong);
    scope_set_format(role_scopes(role), all, sizeof all);
    return error_set_code(err, ST_INVALID, "scope-not-of-role", "scopes",
                          "Choose among the role's, or another role.",
                          "tokens of role %s have %s, and never %s", role_name(role), all, wrong);
}

static enum status check_issuer(const struct principal *issuer, enum role role, unsigned scopes,
                                struct error *err)
{
    const unsigned held =
        issuer->scopes | ((issuer->scopes & SCOPE_TOKENS) != 0 ? (unsigned)SCOPE_REGISTER : 0);
    char missing[SCOPE_SET_BYTES];

    if (role == ROLE_AGENT || (role == ROLE_ADMIN && issuer->role != ROLE_ADMIN))
        return error_set_code(err, ST_DENIED, "role-reserved", "role", NULL,
                              role == ROLE_AGENT ? "an agent gets its token by registering"
                                                 : "a token of role admin takes an admin");
    if ((scopes & ~held) == 0)
        return ST_OK;
    scope_set_format(scopes & ~held, missing, sizeof missing);
    return error_set_code(
        err, ST_DENIED, "scope-missing", "scopes", "Leave out what you lack, or ask an admin.",
        "a token of role %s with %s takes one who has as much himself", role_name(role), missing);
}

static void draw_secret(char text[SECRET_TEXT_BYTES + 1], unsigned char digest[SHA256_BYTES])
{
    unsigned char random[SECRET_BYTES];

    crypto_random(random, sizeof random);
    crypto_base64url(random, sizeof random, text);
    crypto_sha256(str_from_cstr(text), digest);
}

static enum role read_role(struct query_run *run)
{
    enum role role = ROLE_AGENT;

    if (!role_parse(str_from_cstr(query_text(run)), &role))
        run->rc = SQLITE_CORRUPT; /* a CHECK refuses other roles */
    return role;
}

/* Columns submissions_per_day, bytes_max. */
static struct quota read_quota(struct query_run *run, enum role role)
{
    struct quota quota = role_quota(role);
    struct opt_i64 own = query_opt(run);

    if (own.has)
        quota.submissions_per_day = own.value;
    own = query_opt(run);
    if (own.has)
        quota.bytes_max = own.value;
    return quota;
}

/* Of NULL: all that the role has. */
static unsigned read_scopes(struct query_run *run, enum role role)
{
    const char *text = query_text(run);
    unsigned scopes = 0;

    if (text == NULL)
        return role_scopes(role);
    if (!scope_set_parse(str_from_cstr(text), &scopes))
        run->rc = SQLITE_CORRUPT;
    return scopes & role_scopes(role);
}

static void read_record(struct query_run *run, struct token_record *row)
{
    *row = (struct token_record){.id = query_i64(run)};
    row->role = read_role(run);
    row->name = query_text(run);
    row->created_ms = query_i64(run);
    row->expires_ms = query_opt(run);
    row->revoked_ms = query_opt(run);
    row->used_ms = query_opt(run);
    row->scopes = read_scopes(run, row->role);
    row->quota = read_quota(run, row->role);
    row->created_by = query_opt(run);
    row->stored_bytes = query_i64(run);
}

/* The secret may hold the separator; role and id cannot. */
static bool parse_token(struct str text, struct token_text *token)
{
    struct str rest = text, part;
    bool more = true;

    if (text.len > TOKEN_TEXT_BYTES_MAX)
        return false;
    if (!str_split_next(&rest, &more, '_', &part) || !str_eq(part, STR("dbk")))
        return false;
    if (!str_split_next(&rest, &more, '_', &part) || !role_parse(part, &token->role))
        return false;
    if (!str_split_next(&rest, &more, '_', &part) || !str_parse_i64(part, &token->id) ||
        token->id < 1)
        return false;
    token->secret = rest;
    return more && rest.len == SECRET_TEXT_BYTES;
}

static enum status get_token(struct db *db, struct arena *arena, int64_t id, struct token_row *row,
                             struct error *err)
{
    struct query_run run = query_begin(db, STMT_GET_TOKEN, arena);
    enum status status;

    query_bind_i64(&run, id);
    status = query_row(&run, err);
    if (status == ST_NOT_FOUND) {
        (void)query_end(&run, err);
        return ST_NOT_FOUND;
    }
    if (status != ST_OK)
        return status;
    query_skip(&run);
    row->role = read_role(&run);
    row->name = query_text(&run);
    if (!query_digest(&run, row->secret_sha256))
        run.rc = SQLITE_CORRUPT;
    row->expires_ms = query_opt(&run);
    row->revoked_ms = query_opt(&run);
    row->agent_id = query_opt(&run);
    row->agent_state = query_text(&run);
    row->scopes = read_scopes(&run, row->role);
    return query_end(&run, err);
}

/* Whose secret was right. */
static enum status admit_row(int64_t id, const struct token_row *row, int64_t now_ms,
                             struct principal *principal, struct error *err)
{
    char date[CLOCK_TEXT_BYTES];

    if (row->revoked_ms.has)
        return error_set_code(err, ST_UNAUTHENTICATED, "token-revoked", "Authorization",
                              "Ask an operator for a new one.", "this token was revoked");
    if (row->agent_state != NULL && strcmp(row->agent_state, "revoked") == 0)
        return error_set_code(err, ST_UNAUTHENTICATED, "token-revoked", "Authorization",
                              "Register the agent afresh.", "this agent was revoked");
    if (row->expires_ms.has && row->expires_ms.value <= now_ms) {
        clock_format_date(row->expires_ms.value, date);
        return error_set_code(err, ST_UNAUTHENTICATED, "token-expired", "Authorization",
                              "Ask an operator for a new one.", "this token expired on %s", date);
    }
    *principal = (struct principal){.token_id = id,
                                    .role = row->role,
                                    .scopes = row->scopes,
                                    .name = row->name,
                                    .agent_id = row->agent_id.has ? row->agent_id.value : 0};
    return ST_OK;
}

static enum status unknown_token(struct error *err)
{
    return error_set_code(err, ST_UNAUTHENTICATED, "token-unknown", "Authorization",
                          "Check that it is complete and of this server.",
                          "this token is not known here");
}
