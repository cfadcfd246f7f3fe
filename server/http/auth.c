/* server/http/auth.c: see auth.h. */
#include "server/http/auth.h"

#include <strings.h>

enum status auth_parse_header(struct str value, struct str *token, struct error *err)
{
    static const struct str scheme = {"Bearer ", 7};

    if (value.len == 0)
        return error_set_code(err, ST_UNAUTHENTICATED, "token-missing", NULL,
                              "send `Authorization: Bearer dbk_...`", "this needs a token");
    if (value.len <= scheme.len || strncasecmp(value.data, scheme.data, scheme.len) != 0)
        return error_set_code(err, ST_UNAUTHENTICATED, "token-malformed", NULL,
                              "send `Authorization: Bearer dbk_...`",
                              "the Authorization header is malformed: it is not a bearer token");
    *token = str_trim(str_slice(value, scheme.len, value.len));
    for (size_t i = 0; i < token->len; i++) {
        const char c = token->data[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '-'))
            token->len = 0;
    }
    if (!str_starts_with(*token, STR("dbk_")) || token->len > TOKEN_TEXT_BYTES_MAX)
        return error_set_code(err, ST_UNAUTHENTICATED, "token-malformed", NULL,
                              "copy the token whole: dbk_<role>_<id>_<secret>",
                              "the token is malformed");
    return ST_OK;
}

enum status auth_require(const struct principal *caller, unsigned scopes, struct error *err)
{
    char wanted[2 * SCOPE_SET_BYTES], held[SCOPE_SET_BYTES], roles[128] = "";
    size_t length = 0;

    if ((caller->scopes & scopes) != 0)
        return ST_OK;
    for (enum role r = 0; r < ROLE_COUNT; r++)
        if ((role_scopes(r) & scopes) != 0)
            length += (size_t)snprintf(roles + length, sizeof roles - length, "%s%s",
                                       length > 0 ? ", " : "", role_name(r));
    scope_set_join(scopes, " or ", wanted, sizeof wanted);
    scope_set_format(caller->scopes, held, sizeof held);
    return error_set_code(
        err, ST_DENIED, "scope-missing", NULL, "Ask an operator for a token that has it.",
        "this needs the scope %s, which tokens of role %s may have; yours (%s) has %s", wanted,
        roles, role_name(caller->role), held);
}
