/* agent/train/wish.c: what signals ask for (see wish.h). */
#include "agent/train/wish.h"

#include <signal.h>
#include <stdatomic.h>

static atomic_int drains, cancels; /* lock-free, so a handler may touch them */

static void on_signal(int number)
{
    if (number == SIGTERM)
        (void)atomic_fetch_add(&drains, 1);
    else
        (void)atomic_fetch_add(&cancels, 1);
}

void wish_install(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &action, NULL);
    (void)sigaction(SIGXFSZ, &action,
                    NULL); /* a limit on file sizes is an error of write(), with words */
}

enum parent_wish wish_of_signals(void)
{
    if (atomic_load(&cancels) > 0 || atomic_load(&drains) > 1)
        return PARENT_CANCEL;
    return atomic_load(&drains) > 0 ? PARENT_DRAIN : PARENT_GO_ON;
}
