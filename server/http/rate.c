/* server/http/rate.c: see rate.h. */
#include "server/http/rate.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/crypto.h"

enum { LOCKS = 256, SETS = 4096, WAYS = 4 };

enum key_kind { KEY_NONE, KEY_IPV4, KEY_IPV6, KEY_TOKEN };

struct slot {
    enum key_kind kind;
    uint32_t failures; /* in a row, of an address */
    uint64_t key;
    int64_t until_ns; /* the bucket is full, or the wait is over */
    int64_t seen_ns;  /* the last failure */
};

struct table {
    pthread_mutex_t locks[LOCKS]; /* of set number i: locks[i % LOCKS] */
    struct slot slots[SETS][WAYS];
};

struct rate {
    struct rate_limits limits;
    uint64_t seed; /* nobody can choose addresses that share a set */
    struct table buckets, failures;
};

static int64_t take(struct rate *rate, enum key_kind kind, uint64_t key, int per_second,
                    int64_t now_ns);
static enum key_kind kind_of(const struct client_address *address);
static size_t find_set(const struct rate *rate, enum key_kind kind, uint64_t key);
static struct slot *find_slot(struct slot set[WAYS], enum key_kind kind, uint64_t key);
static struct slot *claim_slot(struct slot set[WAYS], enum key_kind kind, uint64_t key);

enum status rate_create(const struct rate_limits *limits, struct rate **rate, struct error *err)
{
    struct rate *made = calloc(1, sizeof *made);

    if (made == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the rate limits");
    made->limits = *limits;
    crypto_random(&made->seed, sizeof made->seed);
    for (size_t i = 0; i < LOCKS; i++) {
        (void)pthread_mutex_init(&made->buckets.locks[i], NULL);
        (void)pthread_mutex_init(&made->failures.locks[i], NULL);
    }
    *rate = made;
    return ST_OK;
}

void rate_destroy(struct rate *rate)
{
    if (rate == NULL)
        return;
    for (size_t i = 0; i < LOCKS; i++) {
        (void)pthread_mutex_destroy(&rate->buckets.locks[i]);
        (void)pthread_mutex_destroy(&rate->failures.locks[i]);
    }
    free(rate);
}

int64_t rate_take_address(struct rate *rate, const struct client_address *address, int64_t now_ns)
{
    return take(rate, kind_of(address), address->net, rate->limits.per_address, now_ns);
}

int64_t rate_take_token(struct rate *rate, int64_t token_id, int64_t now_ns)
{
    return take(rate, KEY_TOKEN, (uint64_t)token_id, rate->limits.per_token, now_ns);
}

int64_t rate_failure_wait(struct rate *rate, const struct client_address *address, int64_t now_ns)
{
    const enum key_kind kind = kind_of(address);
    const size_t set = find_set(rate, kind, address->net);
    const struct slot *slot;
    int64_t wait_ns = 0;

    if (kind == KEY_NONE)
        return 0;
    (void)pthread_mutex_lock(&rate->failures.locks[set % LOCKS]);
    slot = find_slot(rate->failures.slots[set], kind, address->net);
    if (slot != NULL && slot->until_ns > now_ns)
        wait_ns = slot->until_ns - now_ns;
    (void)pthread_mutex_unlock(&rate->failures.locks[set % LOCKS]);
    return wait_ns;
}

void rate_note_failure(struct rate *rate, const struct client_address *address, int64_t now_ns)
{
    const enum key_kind kind = kind_of(address);
    const size_t set = find_set(rate, kind, address->net);
    struct slot *slot;

    if (kind == KEY_NONE)
        return;
    (void)pthread_mutex_lock(&rate->failures.locks[set % LOCKS]);
    slot = claim_slot(rate->failures.slots[set], kind, address->net);
    if (now_ns - slot->seen_ns > RATE_FORGET_S * NS_PER_S)
        slot->failures = 0;
    if (slot->failures < UINT32_MAX)
        slot->failures++;
    slot->seen_ns = now_ns;
    slot->until_ns = now_ns;
    if (slot->failures > RATE_FAILURES_FREE) {
        const uint32_t doublings = slot->failures - RATE_FAILURES_FREE - 1;
        const int64_t wait_s = doublings < 16 ? INT64_C(1) << doublings : RATE_WAIT_S_MAX;

        slot->until_ns += (wait_s < RATE_WAIT_S_MAX ? wait_s : RATE_WAIT_S_MAX) * NS_PER_S;
    }
    (void)pthread_mutex_unlock(&rate->failures.locks[set % LOCKS]);
}

/* The bucket lacks (until - now) * per_second requests; it is empty when that is RATE_BURST_S' worth. */
static int64_t take(struct rate *rate, enum key_kind kind, uint64_t key, int per_second,
                    int64_t now_ns)
{
    const size_t set = find_set(rate, kind, key);
    struct slot *slot;
    int64_t wait_ns, one_ns;

    if (kind == KEY_NONE || per_second <= 0)
        return 0;
    one_ns = NS_PER_S / per_second;
    (void)pthread_mutex_lock(&rate->buckets.locks[set % LOCKS]);
    slot = claim_slot(rate->buckets.slots[set], kind, key);
    if (slot->until_ns < now_ns)
        slot->until_ns = now_ns;
    wait_ns = slot->until_ns + one_ns - (now_ns + RATE_BURST_S * NS_PER_S);
    if (wait_ns <= 0) {
        slot->until_ns += one_ns;
        wait_ns = 0;
    }
    (void)pthread_mutex_unlock(&rate->buckets.locks[set % LOCKS]);
    return wait_ns;
}

static enum key_kind kind_of(const struct client_address *address)
{
    switch (address->kind) {
    case CLIENT_IPV4: return KEY_IPV4;
    case CLIENT_IPV6: return KEY_IPV6;
    case CLIENT_UNKNOWN: break;
    }
    return KEY_NONE;
}

/* splitmix64's finisher over key and seed. */
static size_t find_set(const struct rate *rate, enum key_kind kind, uint64_t key)
{
    uint64_t x = (key ^ rate->seed) + (uint64_t)kind * UINT64_C(0x9E3779B97F4A7C15);

    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return (size_t)((x ^ x >> 31) % SETS);
}

static struct slot *find_slot(struct slot set[WAYS], enum key_kind kind, uint64_t key)
{
    for (size_t i = 0; i < WAYS; i++)
        if (set[i].kind == kind && set[i].key == key)
            return &set[i];
    return NULL;
}

static struct slot *claim_slot(struct slot set[WAYS], enum key_kind kind, uint64_t key)
{
    struct slot *slot = find_slot(set, kind, key);

    if (slot != NULL)
        return slot;
    slot = &set[0];
    for (size_t i = 1; i < WAYS; i++)
        if (set[i].until_ns < slot->until_ns)
            slot = &set[i];
    *slot = (struct slot){.kind = kind, .key = key};
    return slot;
}
