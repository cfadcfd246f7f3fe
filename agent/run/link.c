/* agent/run/link.c: one attempt's line to the server (see link.h). */
#include "agent/run/link.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "agent/run/client.h"
#include "common/arena.h"
#include "common/clock.h"
#include "common/crypto.h"
#include "common/event.h"
#include "common/json.h"
#include "common/log.h"

#define CALL_TIMEOUT_MS    15000
#define BACKOFF_FIRST_MS   200
#define BACKOFF_MAX_MS     10000
#define BACKOFF_DOUBLE_MAX 6
#define HEARTBEAT_RUN_MS   5000 /* while the clock runs (protocol.md, Jobs) */
#define HEARTBEAT_MIN_MS   100
#define HEARTBEAT_MAX_MS   60000 /* the lease: less often would lose it */
#define WAIT_SLICE_MS      200
#define PATH_BYTES         160
#define ARENA_BYTES_MAX    ((size_t)1024 * 1024)
#define DETAIL_BYTES       384

struct link {
    struct link_settings settings;
    struct client *sender_client, *heartbeat_client, *caller_client;
    pthread_t sender, heartbeat;
    bool sender_runs, heartbeat_runs; /* the threads were started */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* All below guarded by lock. */
    bool closing, clock_runs, cancelled;
    bool ending; /* the caller gives up at end_ns */
    int64_t end_ns;
    enum link_state state;
    char detail[DETAIL_BYTES]; /* why refused */
    char phase[16];
    int64_t heartbeat_ms;
    bool
        last_word; /* a call that ends the attempt is under way: only its own answer says how it stands */
    int64_t acked_seq;
    int64_t alone_seq[2]; /* run_start and the crossing; 0: none */
    bool has_seed;
    uint32_t seed;
    int64_t answer_ns;
};

static void *send_events(void *argument);
static void *beat(void *argument);

int64_t link_backoff_ms(int tries)
{
    const int doublings = tries < BACKOFF_DOUBLE_MAX ? tries : BACKOFF_DOUBLE_MAX;
    int64_t wait_ms = (int64_t)BACKOFF_FIRST_MS << doublings;
    uint32_t random;

    if (wait_ms > BACKOFF_MAX_MS)
        wait_ms = BACKOFF_MAX_MS;
    crypto_random(&random, sizeof random);
    return wait_ms / 2 +
           random % (uint32_t)(wait_ms / 2 + 1); /* so that agents do not march in step */
}

/* Waits on `changed` with the lock held, for at most so long. */
static void wait_changed(struct link *link, int64_t wait_ms)
{
    const int64_t until_ns = clock_mono_ns() + wait_ms * (NS_PER_S / 1000);
    const struct timespec until = {until_ns / NS_PER_S, (long)(until_ns % NS_PER_S)};

    (void)pthread_cond_timedwait(&link->changed, &link->lock, &until);
}

static bool is_closing(struct link *link)
{
    bool closing;

    (void)pthread_mutex_lock(&link->lock);
    closing = link->closing || link->state != LINK_UP;
    (void)pthread_mutex_unlock(&link->lock);
    return closing;
}

static bool has_last_word(struct link *link)
{
    bool last_word;

    (void)pthread_mutex_lock(&link->lock);
    last_word = link->last_word;
    (void)pthread_mutex_unlock(&link->lock);
    return last_word;
}

static bool should_give_up(void *context)
{
    return is_closing(context);
}

static void set_state(struct link *link, enum link_state state, const char *detail)
{
    (void)pthread_mutex_lock(&link->lock);
    if (link->state == LINK_UP) {
        link->state = state;
        (void)snprintf(link->detail, sizeof link->detail, "%s", detail);
    }
    (void)pthread_cond_broadcast(&link->changed);
    (void)pthread_mutex_unlock(&link->lock);
}

static int64_t clamp_heartbeat(int64_t period_ms)
{
    if (period_ms < HEARTBEAT_MIN_MS)
        return HEARTBEAT_MIN_MS;
    return period_ms < HEARTBEAT_MAX_MS ? period_ms : HEARTBEAT_MAX_MS;
}

static int start_thread(pthread_t *thread, void *(*run)(void *), struct link *link)
{
    sigset_t all, before;
    int code;

    (void)sigfillset(&all); /* signals belong to the main thread */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    code = pthread_create(thread, NULL, run, link);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

static void init_lock(struct link *link)
{
    pthread_condattr_t attributes;

    (void)pthread_mutex_init(&link->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&link->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

enum status link_open(const struct link_settings *settings, struct link **link, struct error *err)
{
    struct link *opened = calloc(1, sizeof *opened);
    enum status status;

    if (opened == NULL)
        return error_set(err, ST_NO_MEMORY, "link", "no memory for the line to the server");
    opened->settings = *settings;
    opened->heartbeat_ms = clamp_heartbeat(settings->heartbeat_ms);
    opened->acked_seq = settings->acked_seq;
    (void)snprintf(opened->phase, sizeof opened->phase, "setup");
    init_lock(opened);
    status = client_create(settings->server, &opened->sender_client, err);
    if (status == ST_OK)
        status = client_create(settings->server, &opened->heartbeat_client, err);
    if (status == ST_OK)
        status = client_create(settings->server, &opened->caller_client, err);
    if (status == ST_OK) {
        opened->heartbeat_runs = start_thread(&opened->heartbeat, beat, opened) == 0;
        opened->sender_runs = start_thread(&opened->sender, send_events, opened) == 0;
        if (!opened->heartbeat_runs || !opened->sender_runs)
            status = error_set(err, ST_NO_MEMORY, "link", "cannot start a thread");
    }
    if (status != ST_OK) {
        link_close(opened);
        return status;
    }
    *link = opened;
    return ST_OK;
}

void link_close(struct link *link)
{
    if (link == NULL)
        return;
    (void)pthread_mutex_lock(&link->lock);
    link->closing = true;
    (void)pthread_cond_broadcast(&link->changed);
    (void)pthread_mutex_unlock(&link->lock);
    if (link->sender_runs)
        (void)pthread_join(link->sender, NULL);
    if (link->heartbeat_runs)
        (void)pthread_join(link->heartbeat, NULL);
    client_destroy(link->sender_client);
    client_destroy(link->heartbeat_client);
    client_destroy(link->caller_client);
    (void)pthread_cond_destroy(&link->changed);
    (void)pthread_mutex_destroy(&link->lock);
    free(link);
}

static void mark_alone(struct link *link, int64_t seq)
{
    link->alone_seq[link->alone_seq[0] == 0 ? 0 : 1] = seq;
}

void link_notify(struct link *link, bool alone)
{
    const int64_t count = spool_count(link->settings.spool);

    (void)pthread_mutex_lock(&link->lock);
    if (alone)
        mark_alone(link, count);
    (void)pthread_cond_broadcast(&link->changed);
    (void)pthread_mutex_unlock(&link->lock);
}

/* With the lock held: what a state other than LINK_UP means to a caller. */
static enum status fill_state_error(const struct link *link, struct error *err)
{
    if (link->state == LINK_SUPERSEDED)
        return error_set_code(err, ST_CONFLICT, "attempt-superseded", "attempt", NULL,
                              "another attempt has taken the job over");
    return error_set(err, ST_DENIED, "server", "the server refuses: %s", link->detail);
}

/* With the lock held: the caller must not wait any longer. */
static bool must_stop(const struct link *link)
{
    return link->ending ? clock_mono_ns() >= link->end_ns : link->settings.should_stop();
}

/* Waits until `seq` is acknowledged. */
static enum status wait_acked(struct link *link, int64_t seq, struct error *err)
{
    enum status status = ST_OK;

    (void)pthread_mutex_lock(&link->lock);
    while (link->acked_seq < seq && status == ST_OK) {
        if (link->state != LINK_UP)
            status = fill_state_error(link, err);
        else if (must_stop(link))
            status = error_set(err, ST_CANCELLED, "server", "stopped while waiting for the server");
        else
            wait_changed(link, WAIT_SLICE_MS);
    }
    (void)pthread_mutex_unlock(&link->lock);
    return status;
}

enum status link_start_clock(struct link *link, uint32_t *seed, int64_t *answer_ns,
                             struct error *err)
{
    const int64_t seq = spool_count(link->settings.spool);
    enum status status;

    link_notify(link, true);
    status = wait_acked(link, seq, err);
    if (status != ST_OK)
        return status;
    (void)pthread_mutex_lock(&link->lock);
    if (link->has_seed) {
        *seed = link->seed;
        *answer_ns = link->answer_ns;
        link->clock_runs = true;
    } else {
        status = error_set(err, ST_DENIED, "seed", "the server's answer to run_start has no seed");
    }
    (void)pthread_cond_broadcast(&link->changed);
    (void)pthread_mutex_unlock(&link->lock);
    return status;
}

enum status link_flush(struct link *link, struct error *err)
{
    return wait_acked(link, spool_count(link->settings.spool), err);
}

void link_end_within(struct link *link, int64_t grace_ms)
{
    (void)pthread_mutex_lock(&link->lock);
    link->ending = true;
    link->end_ns = clock_mono_ns() + grace_ms * (NS_PER_S / 1000);
    (void)pthread_mutex_unlock(&link->lock);
}

int64_t link_give_up_events(struct link *link)
{
    int64_t acked_seq;

    (void)pthread_mutex_lock(&link->lock);
    assert(link->state == LINK_REFUSED);
    link->last_word = true; /* what is told next is the end, without the rest of the events */
    link->state = LINK_UP;
    acked_seq = link->acked_seq;
    (void)pthread_cond_broadcast(&link->changed);
    (void)pthread_mutex_unlock(&link->lock);
    return acked_seq;
}

void link_set_phase(struct link *link, const char *phase)
{
    (void)pthread_mutex_lock(&link->lock);
    (void)snprintf(link->phase, sizeof link->phase, "%s", phase);
    (void)pthread_mutex_unlock(&link->lock);
}

enum link_state link_state(struct link *link)
{
    enum link_state state;

    (void)pthread_mutex_lock(&link->lock);
    state = link->state;
    (void)pthread_mutex_unlock(&link->lock);
    return state;
}

bool link_is_cancelled(struct link *link)
{
    bool cancelled;

    (void)pthread_mutex_lock(&link->lock);
    cancelled = link->cancelled;
    (void)pthread_mutex_unlock(&link->lock);
    return cancelled;
}

static void format_path(const struct link *link, const char *verb, char path[PATH_BYTES])
{
    (void)snprintf(path, PATH_BYTES, "/v1/agent/attempts/%.64s/%s", link->settings.attempt, verb);
}

/* What an answer means for the attempt as a whole. */
enum verdict { VERDICT_DONE, VERDICT_AGAIN, VERDICT_REWIND, VERDICT_OVER };

static enum verdict judge(struct link *link, const struct client_reply *reply,
                          struct client_problem *problem)
{
    client_read_problem(reply, problem);
    if (!problem->is_object) /* a proxy's page, a portal's login: not the word of a daybreakd */
        return VERDICT_AGAIN;
    if (reply->status >= 200 && reply->status < 300)
        return VERDICT_DONE;
    if (reply->status >= 500 || reply->status == 429 || reply->status == 408)
        return VERDICT_AGAIN;
    if (reply->status == 409 && strcmp(problem->code, "event-gap") == 0 &&
        problem->expected_seq > 0)
        return VERDICT_REWIND;
    if ((reply->status == 409 && strcmp(problem->code, "attempt-superseded") == 0) ||
        reply->status == 404)
        set_state(link, LINK_SUPERSEDED, problem->detail);
    else
        set_state(link, LINK_REFUSED, problem->detail);
    return VERDICT_OVER;
}

/* With the lock not held; ends early when the link closes. */
static void pause_ms(struct link *link, int64_t wait_ms)
{
    const int64_t until_ns = clock_mono_ns() + wait_ms * (NS_PER_S / 1000);

    (void)pthread_mutex_lock(&link->lock);
    while (!link->closing && link->state == LINK_UP && clock_mono_ns() < until_ns)
        wait_changed(link, (until_ns - clock_mono_ns()) / (NS_PER_S / 1000) + 1);
    (void)pthread_mutex_unlock(&link->lock);
}

static void pause_after(struct link *link, const struct client_reply *reply, int tries)
{
    const int64_t backoff_ms = link_backoff_ms(tries);
    const int64_t asked_ms =
        reply->retry_after_s > 0 && reply->retry_after_s <= 60 ? reply->retry_after_s * 1000 : 0;

    pause_ms(link, backoff_ms > asked_ms ? backoff_ms : asked_ms);
}

enum status link_post(struct link *link, const char *verb, struct str body, struct buf *answer,
                      struct error *err)
{
    char path[PATH_BYTES];
    const struct client_request request = {.method = "POST",
                                           .path = path,
                                           .content_type = "application/json",
                                           .body = body,
                                           .token = link->settings.token,
                                           .timeout_ms = CALL_TIMEOUT_MS,
                                           .should_stop = should_give_up,
                                           .context = link};
    struct client_reply reply = {0};
    enum status status = ST_OK;

    format_path(link, verb, path);
    (void)pthread_mutex_lock(&link->lock);
    link->last_word = true; /* for good: what is posted ends the attempt */
    (void)pthread_mutex_unlock(&link->lock);
    for (int tries = 0;; tries++) {
        struct client_problem problem = {0};
        struct error fault = {0};

        if (client_send(link->caller_client, &request, &reply, &fault) == ST_OK) {
            const enum verdict verdict = judge(link, &reply, &problem);

            if (verdict == VERDICT_DONE) {
                buf_append(answer, buf_str(&reply.body));
                status = buf_check(answer, err);
                break;
            }
            if (verdict == VERDICT_REWIND) { /* finish before its last event: a fault of ours */
                status = error_set(err, ST_INTERNAL, verb, "%s", problem.detail);
                break;
            }
        }
        (void)pthread_mutex_lock(&link->lock);
        if (link->state != LINK_UP)
            status = fill_state_error(link, err);
        else if (link->closing || must_stop(link))
            status = error_set(err, ST_CANCELLED, "server", "stopped while waiting for the server");
        (void)pthread_mutex_unlock(&link->lock);
        if (status != ST_OK)
            break;
        pause_after(link, &reply, tries);
    }
    client_reply_fini(&reply);
    return status;
}

/* Which records go into the next body: [*first, *last]; false when the link closes. */
static bool wait_for_records(struct link *link, int64_t *first, int64_t *last)
{
    bool open;

    (void)pthread_mutex_lock(&link->lock);
    for (;;) {
        open = !link->closing && !link->last_word && link->state == LINK_UP;
        *first = link->acked_seq + 1;
        *last = spool_count(link->settings.spool);
        if (!open || *last >= *first)
            break;
        wait_changed(link, BACKOFF_MAX_MS);
    }
    for (size_t i = 0; i < ARRAY_LEN(link->alone_seq); i++) {
        if (link->alone_seq[i] == *first)
            *last = *first;
        else if (link->alone_seq[i] > *first && link->alone_seq[i] <= *last)
            *last = link->alone_seq[i] - 1;
    }
    (void)pthread_mutex_unlock(&link->lock);
    return open;
}

/* Gathers the body; *last shrinks to what fits into one. */
static enum status read_records(struct link *link, int64_t first, int64_t *last, struct buf *body,
                                struct error *err)
{
    /* What a server is told must survive a crash of this host: synced before it is sent. */
    enum status status = spool_sync(link->settings.spool, err);

    buf_clear(body);
    for (int64_t seq = first; seq <= *last && status == ST_OK; seq++) {
        const size_t before = body->len;

        status = spool_read(link->settings.spool, seq, body, err);
        buf_append_char(body, '\n');
        if (status == ST_OK && seq > first &&
            (int64_t)body->len > link->settings.events_bytes_max) {
            body->len = before;
            body->data[before] = '\0';
            *last = seq - 1;
        }
    }
    return status == ST_OK ? buf_check(body, err) : status;
}

/* False when the answer acknowledges nothing new: then the next try waits. */
static bool take_ack(struct link *link, const struct client_reply *reply)
{
    struct arena arena;
    struct json_doc doc = {0};
    struct error fault = {0};
    const json_t *ack, *seed;
    bool advanced = false;

    arena_init(&arena, ARENA_BYTES_MAX);
    (void)json_doc_parse(buf_str(&reply->body), &arena, &doc, &fault);
    ack = json_object_get(doc.root, "ack_seq");
    seed = json_object_get(doc.root, "seed");
    (void)pthread_mutex_lock(&link->lock);
    if (!json_is_integer(ack) || json_integer_value(ack) < 0 ||
        json_integer_value(ack) > spool_count(link->settings.spool)) {
        link->state = LINK_REFUSED;
        (void)snprintf(link->detail, sizeof link->detail, "its answer to events is malformed");
    } else {
        advanced = json_integer_value(ack) > link->acked_seq;
        link->acked_seq = json_integer_value(ack); /* less than we thought: replay from there */
    }
    if (json_is_integer(seed) && json_integer_value(seed) >= 0 &&
        json_integer_value(seed) <= (json_int_t)UINT32_MAX) {
        link->has_seed = true;
        link->seed = (uint32_t)json_integer_value(seed);
        link->answer_ns = reply->received_ns;
    }
    (void)pthread_cond_broadcast(&link->changed);
    (void)pthread_mutex_unlock(&link->lock);
    json_doc_fini(&doc);
    arena_fini(&arena);
    return advanced;
}

/* False when it asks for what it has just been sent: then the next try waits. */
static bool rewind_to(struct link *link, int64_t expected_seq)
{
    bool moved = true;

    (void)pthread_mutex_lock(&link->lock);
    if (expected_seq > spool_count(link->settings.spool) + 1) {
        link->state = LINK_REFUSED;
        (void)snprintf(link->detail, sizeof link->detail,
                       "it holds events that this agent never sent");
    } else {
        moved = link->acked_seq != expected_seq - 1;
        link->acked_seq = expected_seq - 1;
    }
    (void)pthread_cond_broadcast(&link->changed);
    (void)pthread_mutex_unlock(&link->lock);
    return moved;
}

/* One body, one try. True: the server answered (or refused for good); false: try again later. */
static bool send_once(struct link *link, const struct buf *body, struct client_reply *reply)
{
    char path[PATH_BYTES];
    const struct client_request request = {.method = "POST",
                                           .path = path,
                                           .content_type = "application/x-ndjson",
                                           .body = buf_str(body),
                                           .token = link->settings.token,
                                           .timeout_ms = CALL_TIMEOUT_MS,
                                           .should_stop = should_give_up,
                                           .context = link};
    struct client_problem problem = {0};
    struct error fault = {0};

    format_path(link, "events", path);
    if (client_send(link->sender_client, &request, reply, &fault) != ST_OK) {
        char quoted[400];

        if (fault.status != ST_CANCELLED)
            log_event(LOG_WARN, "server_unreachable", "reason=%s",
                      log_quote(fault.detail, quoted, sizeof quoted));
        return false;
    }
    if (has_last_word(link))
        return true; /* as for a beat behind it, below */
    switch (judge(link, reply, &problem)) {
    case VERDICT_DONE: return take_ack(link, reply);
    case VERDICT_REWIND: return rewind_to(link, problem.expected_seq);
    case VERDICT_OVER: return true;
    case VERDICT_AGAIN: break;
    }
    log_event(LOG_WARN, "server_busy", "status=%d", reply->status);
    return false;
}

static void *send_events(void *argument)
{
    struct link *link = argument;
    struct client_reply reply = {0};
    struct error err = {0};
    struct buf body;
    int64_t first, last;
    int tries = 0;

    buf_init(&body, (size_t)link->settings.events_bytes_max + (size_t)2 * EVENT_LINE_BYTES_MAX);
    while (wait_for_records(link, &first, &last)) {
        if (read_records(link, first, &last, &body, &err) != ST_OK) {
            set_state(link, LINK_REFUSED, err.detail);
            break;
        }
        if (send_once(link, &body, &reply))
            tries = 0;
        else
            pause_after(link, &reply, tries++);
    }
    buf_fini(&body);
    client_reply_fini(&reply);
    return NULL;
}

/* A missed heartbeat is not repeated sooner than the next one would come, but for a dead network. */
static void beat_once(struct link *link, const char *phase, struct client_reply *reply)
{
    char path[PATH_BYTES], body[64];
    const struct client_request request = {.method = "POST",
                                           .path = path,
                                           .content_type = "application/json",
                                           .body = {body, 0},
                                           .token = link->settings.token,
                                           .timeout_ms = CALL_TIMEOUT_MS,
                                           .should_stop = should_give_up,
                                           .context = link};
    struct client_request sent = request;
    struct client_problem problem = {0};
    struct arena arena;
    struct json_doc doc = {0};

    format_path(link, "heartbeat", path);
    (void)snprintf(body, sizeof body, "{\"phase\":\"%s\"}", phase);
    sent.body.len = strlen(body);
    /* A beat that the server takes behind our finish or release is told that the attempt is over: true, and
     * no news. Were it heeded, it would break off the call that is being answered. */
    if (client_send(link->heartbeat_client, &sent, reply, NULL) != ST_OK || has_last_word(link) ||
        judge(link, reply, &problem) != VERDICT_DONE)
        return;
    arena_init(&arena, ARENA_BYTES_MAX);
    if (json_doc_parse(buf_str(&reply->body), &arena, &doc, NULL) == ST_OK) {
        const json_t *period = json_object_get(doc.root, "heartbeat_ms");

        (void)pthread_mutex_lock(&link->lock);
        if (json_is_integer(period))
            link->heartbeat_ms = clamp_heartbeat(json_integer_value(period));
        if (json_is_true(json_object_get(doc.root, "cancel")))
            link->cancelled = true;
        (void)pthread_mutex_unlock(&link->lock);
    }
    json_doc_fini(&doc);
    arena_fini(&arena);
}

static void *beat(void *argument)
{
    struct link *link = argument;
    struct client_reply reply = {0};

    while (!is_closing(link)) {
        char phase[sizeof link->phase];
        int64_t period_ms;

        (void)pthread_mutex_lock(&link->lock);
        memcpy(phase, link->phase, sizeof phase);
        (void)pthread_mutex_unlock(&link->lock);
        beat_once(link, phase, &reply);
        (void)pthread_mutex_lock(&link->lock);
        period_ms = link->clock_runs && link->heartbeat_ms > HEARTBEAT_RUN_MS ? HEARTBEAT_RUN_MS
                                                                              : link->heartbeat_ms;
        (void)pthread_mutex_unlock(&link->lock);
        pause_ms(link, period_ms);
    }
    client_reply_fini(&reply);
    return NULL;
}
