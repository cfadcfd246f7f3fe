/* server/http/auth.h: who asks. Reads `Authorization: Bearer dbk_<role>_<id>_<secret>`, has the store compare the
 * secret, and says exactly what is wrong. Failures slow an address down.
 * Ownership: borrows. Threads: any. */
#ifndef DAYBREAK_SERVER_HTTP_AUTH_H
#define DAYBREAK_SERVER_HTTP_AUTH_H

#include "common/status.h"
#include "common/str.h"
#include "server/store/records.h"

/* The token's text out of the header's value. ST_UNAUTHENTICATED with code "token-missing" (no header) or
 * "token-malformed". */
enum status auth_parse_header(struct str value, struct str *token, struct error *err);

/* Whether the caller has one of the scopes that a route asks for. ST_DENIED with code "scope-missing", naming the
 * scope that is lacking, the roles that have it, and what the caller has. */
enum status auth_require(const struct principal *caller, unsigned scopes, struct error *err);

#endif
