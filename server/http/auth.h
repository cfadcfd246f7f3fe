/* server/http/auth.h: who asks. Reads `Authorization: Bearer dbk_<role>_<id>_<secret>`, has the store compare the
 * secret, and says exactly what is wrong. Failures slow an address down.
 * Ownership: borrows. Threads: any. */
#ifndef DAYBREAK_SERVER_HTTP_AUTH_H
#define DAYBREAK_SERVER_HTTP_AUTH_H

#include "common/status.h"
#include "common/str.h"
#include "server/store/records.h"

/* A route's roles are a set of these bits. */
#define AUTH_BIT(role)    (1u << (role))
#define AUTH_SUBMITTER    AUTH_BIT(ROLE_SUBMITTER)
#define AUTH_REVIEWER     AUTH_BIT(ROLE_REVIEWER)
#define AUTH_OPERATOR     AUTH_BIT(ROLE_OPERATOR)
#define AUTH_ADMIN        AUTH_BIT(ROLE_ADMIN)
#define AUTH_REGISTRATION AUTH_BIT(ROLE_AGENT_REGISTRATION)
#define AUTH_AGENT        AUTH_BIT(ROLE_AGENT)

/* The token's text out of the header's value. ST_UNAUTHENTICATED with code "token-missing" (no header) or
 * "token-malformed". */
enum status auth_parse_header(struct str value, struct str *token, struct error *err);

/* Whether `role` may use a route of `roles`; an admin may do what people may, but is no agent.
 * ST_DENIED with code "scope-missing", naming who may. */
enum status auth_require(enum role role, unsigned roles, struct error *err);

#endif
