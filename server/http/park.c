/* server/http/park.c: long polls. A parked request is suspended and stands in one list until its topic is woken,
 * its deadline passes, or a newer one with the same key takes its place. */
#include "common/clock.h"
#include "server/http/exchange_internal.h"

static void unpark(struct listener *listener, struct exchange **link, bool by_deadline);
static void nudge_pulse(struct listener *listener);

uint64_t listener_mark(struct listener *listener)
{
    return atomic_load(&listener->mark);
}

enum status request_park(struct request *request, const struct park *park, struct error *err)
{
    struct exchange *exchange = exchange_of(request);
    struct listener *listener = exchange->listener;

    (void)pthread_mutex_lock(&listener->park_lock);
    if (atomic_load(&listener->stopping) || listener->parked_count >= LISTENER_PARKED_MAX) {
        (void)pthread_mutex_unlock(&listener->park_lock);
        return error_set(err, ST_UNAVAILABLE, NULL, "no further request can wait here");
    }
    for (struct exchange **link = &listener->parked; park->key != 0 && *link != NULL;) {
        if ((*link)->park_key == park->key)
            unpark(listener, link, true);
        else
            link = &(*link)->park_next;
    }
    (void)snprintf(exchange->park_topic, sizeof exchange->park_topic, "%s", park->topic);
    exchange->park_key = park->key;
    exchange->park_deadline_ns = park->deadline_ns;
    exchange->is_parked = true;
    exchange->park_next = listener->parked;
    listener->parked = exchange;
    listener->parked_count++;
    request->woken_by_deadline = false;
    request_suspend(request);
    /* Woken between the handler's look for work and now: it looks again at once. */
    if (atomic_load(&listener->mark) != park->mark)
        unpark(listener, &listener->parked, false);
    (void)pthread_mutex_unlock(&listener->park_lock);
    nudge_pulse(listener);
    return ST_OK;
}

void park_wake_topic(struct listener *listener, struct str topic)
{
    (void)pthread_mutex_lock(&listener->park_lock);
    atomic_fetch_add(&listener->mark, 1);
    for (struct exchange **link = &listener->parked; *link != NULL;) {
        if (str_eq_cstr(topic, (*link)->park_topic))
            unpark(listener, link, false);
        else
            link = &(*link)->park_next;
    }
    (void)pthread_mutex_unlock(&listener->park_lock);
}

void park_wake_all(struct listener *listener)
{
    (void)pthread_mutex_lock(&listener->park_lock);
    while (listener->parked != NULL)
        unpark(listener, &listener->parked, true);
    (void)pthread_mutex_unlock(&listener->park_lock);
}

int64_t park_expire(struct listener *listener, int64_t now_ns)
{
    int64_t next_ns = 0;

    (void)pthread_mutex_lock(&listener->park_lock);
    for (struct exchange **link = &listener->parked; *link != NULL;) {
        const int64_t deadline_ns = (*link)->park_deadline_ns;

        if (deadline_ns <= now_ns) {
            unpark(listener, link, true);
            continue;
        }
        if (next_ns == 0 || deadline_ns < next_ns)
            next_ns = deadline_ns;
        link = &(*link)->park_next;
    }
    (void)pthread_mutex_unlock(&listener->park_lock);
    return next_ns;
}

/* Under park_lock. After request_resume() the exchange belongs to its worker again. */
static void unpark(struct listener *listener, struct exchange **link, bool by_deadline)
{
    struct exchange *exchange = *link;

    *link = exchange->park_next;
    exchange->park_next = NULL;
    exchange->is_parked = false;
    exchange->request.woken_by_deadline = by_deadline;
    listener->parked_count--;
    request_resume(&exchange->request);
}

static void nudge_pulse(struct listener *listener)
{
    (void)pthread_mutex_lock(&listener->pulse_lock);
    (void)pthread_cond_signal(&listener->pulse_cond);
    (void)pthread_mutex_unlock(&listener->pulse_lock);
}
