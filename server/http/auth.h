/* server/http/auth.h: who asks. Reads `Authorization: Bearer dbk_<role>_<id>_<secret>`, compares the secret's
 * SHA-256 with the store's, and says exactly what is wrong. Failures slow an address down.
 * Ownership: borrows. Threads: any. */
#ifndef DAYBREAK_SERVER_HTTP_AUTH_H
#define DAYBREAK_SERVER_HTTP_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "common/str.h"

#define AUTH_SUBMITTER    (1u << 0)
#define AUTH_REVIEWER     (1u << 1)
#define AUTH_OPERATOR     (1u << 2)
#define AUTH_ADMIN        (1u << 3)
#define AUTH_REGISTRATION (1u << 4)
#define AUTH_AGENT        (1u << 5)

struct auth_token {
    unsigned role;
    int64_t id;
    struct str secret; /* borrowed from the header */
};

/* "submitter" -> AUTH_SUBMITTER; 0: unknown. */
unsigned auth_role_parse(struct str name);
const char *auth_role_name(unsigned role);

/* The header's value. ST_UNAUTHENTICATED with code "token-missing" or "token-malformed". */
enum status auth_parse_header(struct str value, struct auth_token *token, struct error *err);

/* Whether a caller of `role` may use a route of `roles`: an admin may do what operators and reviewers may.
 * ST_DENIED with code "scope-missing" and the names of those who may. */
enum status auth_require(unsigned role, unsigned roles, struct error *err);

#endif
