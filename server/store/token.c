/* server/store/token.c: tokens: dbk_<role>_<id>_<secret>, the secret being 256 random bits in base64url. Only its
 * SHA-256 is stored: a random secret needs no slow hash. */
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
static enum status get_token(struct store_reader *reader, struct arena *arena, int64_t id,
                             struct token_row *row, struct error *err);
static enum status judge_token(const struct token_text *token, const struct token_row *row,
                               int64_t now_ms, struct error *err);
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
    size_t length = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < SCOPE_COUNT && length < bytes; i++)
        if ((scopes & 1u << i) != 0)
            length += (size_t)snprintf(text + length, bytes - length, "%s%s", length > 0 ? " " : "",
                                       scope_names[i]);
}

enum status verb_create_token(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct create_token *create = args;
    struct opt_i64 expires_ms = {0};

    if (create->ttl_days.has) {
        if (create->ttl_days.value < 1 || create->ttl_days.value > TTL_DAYS_MAX)
            return error_set(err, ST_INVALID, "ttl", "a token lives 1 to %d days", TTL_DAYS_MAX);
        expires_ms = (struct opt_i64){true, db->now_ms + create->ttl_days.value * DAY_MS};
    }
    return db_insert_token(db, arena, create->role, create->name, expires_ms, &create->id,
                           &create->text, err);
}

enum status verb_revoke_token(struct db *db, struct arena *arena, void *args, struct error *err)
{
    const struct revoke_token *revoke = args;
    struct query_run run = query_begin(db, STMT_REVOKE_TOKEN, arena);
    enum status status;

    query_bind_i64(&run, revoke->id);
    query_bind_i64(&run, db->now_ms);
    status = query_done(&run, err);
    if (status == ST_OK && sqlite3_changes64(db->handle) == 0)
        status = error_set(err, ST_NOT_FOUND, "id", "there is no token %" PRId64, revoke->id);
    return status;
}

enum status db_insert_token(struct db *db, struct arena *arena, enum role role, struct str name,
                            struct opt_i64 expires_ms, int64_t *id, const char **text,
                            struct error *err)
{
    unsigned char random[SECRET_BYTES], digest[SHA256_BYTES];
    char secret[SECRET_TEXT_BYTES + 1];
    struct query_run run;
    enum status status;

    if (name.len == 0 || name.len > TOKEN_NAME_BYTES_MAX || !str_is_utf8(name))
        return error_set(err, ST_INVALID, "name", "a name has 1 to %d bytes of UTF-8",
                         TOKEN_NAME_BYTES_MAX);
    crypto_random(random, sizeof random);
    crypto_base64url(random, sizeof random, secret);
    crypto_sha256(str_from_cstr(secret), digest);
    run = query_begin(db, STMT_INSERT_TOKEN, arena);
    query_bind_text(&run, role_name(role));
    query_bind_str(&run, name);
    query_bind_blob(&run, digest, sizeof digest);
    query_bind_i64(&run, db->now_ms);
    query_bind_opt(&run, expires_ms);
    status = query_done(&run, err);
    if (status != ST_OK)
        return status;
    *id = sqlite3_last_insert_rowid(db->handle);
    *text = arena_printf(arena, "dbk_%s_%" PRId64 "_%s", role_name(role), *id, secret);
    if (*text == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the token");
    return ST_OK;
}

enum status store_authenticate(struct store_reader *reader, struct arena *arena, struct str text,
                               int64_t now_ms, struct principal *principal, struct error *err)
{
    struct token_text token;
    struct token_row row = {0};
    enum status status;

    if (!parse_token(text, &token))
        return error_set_code(err, ST_UNAUTHENTICATED, "token-malformed", "Authorization",
                              "Send the token as it was printed: dbk_<role>_<id>_<secret>.",
                              "this is not a token of this service");
    status = get_token(reader, arena, token.id, &row, err);
    if (status == ST_NOT_FOUND)
        return unknown_token(err);
    if (status == ST_OK)
        status = judge_token(&token, &row, now_ms, err);
    if (status != ST_OK)
        return status;
    *principal = (struct principal){.token_id = token.id,
                                    .role = row.role,
                                    .scopes = role_scopes(row.role) & row.scopes,
                                    .name = row.name,
                                    .agent_id = row.agent_id.has ? row.agent_id.value : 0};
    return ST_OK;
}

enum status store_list_tokens(struct store_reader *reader, struct arena *arena,
                              struct token_record **rows, size_t *count, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_TOKENS, arena);
    struct token_record row;
    size_t capacity = 0;

    *rows = NULL;
    *count = 0;
    while (query_next(&run)) {
        row = (struct token_record){.id = query_i64(&run)};
        if (!role_parse(str_from_cstr(query_text(&run)), &row.role))
            run.rc = SQLITE_CORRUPT; /* a CHECK refuses other roles */
        row.name = query_text(&run);
        row.created_ms = query_i64(&run);
        row.expires_ms = query_opt(&run);
        row.revoked_ms = query_opt(&run);
        row.used_ms = query_opt(&run);
        *rows = query_grow(&run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(&run, err);
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

static enum status get_token(struct store_reader *reader, struct arena *arena, int64_t id,
                             struct token_row *row, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_GET_TOKEN, arena);
    const char *scopes;
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
    if (!role_parse(str_from_cstr(query_text(&run)), &row->role))
        run.rc = SQLITE_CORRUPT;
    row->name = query_text(&run);
    if (!query_digest(&run, row->secret_sha256))
        run.rc = SQLITE_CORRUPT;
    row->expires_ms = query_opt(&run);
    row->revoked_ms = query_opt(&run);
    row->agent_id = query_opt(&run);
    row->agent_state = query_text(&run);
    scopes = query_text(&run);
    if (scopes == NULL)
        row->scopes = role_scopes(row->role);
    else if (!scope_set_parse(str_from_cstr(scopes), &row->scopes))
        run.rc = SQLITE_CORRUPT;
    return query_end(&run, err);
}

/* The secret first: who does not know it learns nothing about the token. */
static enum status judge_token(const struct token_text *token, const struct token_row *row,
                               int64_t now_ms, struct error *err)
{
    unsigned char digest[SHA256_BYTES];
    char date[CLOCK_TEXT_BYTES];

    crypto_sha256(token->secret, digest);
    if (!crypto_equal(digest, row->secret_sha256, sizeof digest) || token->role != row->role)
        return unknown_token(err);
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
    return ST_OK;
}

static enum status unknown_token(struct error *err)
{
    return error_set_code(err, ST_UNAUTHENTICATED, "token-unknown", "Authorization",
                          "Check that it is complete and of this server.",
                          "this token is not known here");
}
