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

enum status auth_require(enum role role, unsigned roles, struct error *err)
{
    const unsigned people = AUTH_SUBMITTER | AUTH_REVIEWER | AUTH_OPERATOR;
    char names[128] = "";
    size_t length = 0;

    if ((roles & AUTH_BIT(role)) != 0 || (role == ROLE_ADMIN && (roles & people) != 0))
        return ST_OK;
    for (enum role r = 0; r < ROLE_COUNT; r++)
        if ((roles & AUTH_BIT(r)) != 0)
            length += (size_t)snprintf(names + length, sizeof names - length, "%s%s",
                                       length > 0 ? " or " : "", role_name(r));
    return error_set_code(err, ST_DENIED, "scope-missing", NULL, NULL,
                          "this needs a token of role %s; yours has role %s", names,
                          role_name(role));
}
