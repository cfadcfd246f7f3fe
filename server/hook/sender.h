/* server/hook/sender.h: the thread that tells webhooks what happened. It takes what is due from the table delivery,
 * posts it, and writes down what became of it:
 *
 *   [waiting] --begin: counts as a try--> POST --2xx--> [delivered]
 *       ^                                   |--else--> again after message_backoff_ms(), after the last try [failed]
 *       '--- the server died or stopped ----'          410: the webhook is given up as well
 *
 * At least once: what had arrived when the server died comes again, under the same id. A receiver is asked over a
 * connection of its own, made to public addresses alone as they are when it is made, so that a name that resolves
 * anew leads nowhere else. Redirects and proxies are not followed, answers are read up to a limit and thrown away.
 * Ownership: the sender owns its thread, reader and transfers; store and path outlive it. Threads: wake any; the
 * rest one caller. */
#ifndef DAYBREAK_SERVER_HOOK_SENDER_H
#define DAYBREAK_SERVER_HOOK_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "server/store/store.h"

#define SENDER_TIMEOUT_MS 10000 /* of one try, from the name's resolution to the answer's end */

struct sender_options {
    struct store *store;
    const char *db_path;
    bool allow_private; /* for tests and closed networks: any address, http as well */
    int64_t timeout_ms; /* 0: SENDER_TIMEOUT_MS */
};
struct sender;

enum status sender_create(const struct sender_options *options, struct sender **sender,
                          struct error *err);
/* Something may be due. Does not block. Accepts NULL. */
void sender_wake(struct sender *sender);
/* Begins nothing more, waits a moment for what is under way, gives the rest back. The store is still open. Accepts
 * NULL. */
void sender_destroy(struct sender *sender);

#endif
