/* server/api/board_cache.c: see board_cache.h. A table of slots by hash of the key: a newer board simply takes its
 * slot, so that invented queries can push others out but never make it grow. */
#include "server/api/board_cache.h"

#include <pthread.h>
#include <stdlib.h>

enum { SLOTS = 256, KEY_BYTES_MAX = 300, BYTES_MAX = 1 << 20 };

struct slot {
    char key[KEY_BYTES_MAX];
    size_t key_len;
    int64_t version;
    struct shared_bytes *bytes; /* NULL: empty */
};

struct board_cache {
    pthread_mutex_t lock;
    struct slot slots[SLOTS]; /* guarded by lock */
};

static struct slot *find_slot(struct board_cache *cache, struct str key);
static uint64_t hash_text(struct str text);

enum status board_cache_create(struct board_cache **cache, struct error *err)
{
    struct board_cache *made = calloc(1, sizeof *made);

    if (made == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the board cache");
    (void)pthread_mutex_init(&made->lock, NULL);
    *cache = made;
    return ST_OK;
}

void board_cache_destroy(struct board_cache *cache)
{
    if (cache == NULL)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        shared_bytes_release(cache->slots[i].bytes);
    (void)pthread_mutex_destroy(&cache->lock);
    free(cache);
}

struct shared_bytes *board_cache_get(struct board_cache *cache, struct str key, int64_t version)
{
    struct shared_bytes *bytes = NULL;
    const struct slot *slot;

    (void)pthread_mutex_lock(&cache->lock);
    slot = find_slot(cache, key);
    if (slot->bytes != NULL && slot->version == version &&
        str_eq(key, (struct str){slot->key, slot->key_len}))
        bytes = shared_bytes_hold(slot->bytes);
    (void)pthread_mutex_unlock(&cache->lock);
    return bytes;
}

void board_cache_put(struct board_cache *cache, struct str key, int64_t version,
                     struct shared_bytes *bytes)
{
    struct slot *slot;

    if (key.len > KEY_BYTES_MAX || bytes->len > BYTES_MAX)
        return;
    (void)pthread_mutex_lock(&cache->lock);
    slot = find_slot(cache, key);
    shared_bytes_release(slot->bytes);
    memcpy(slot->key, key.data, key.len);
    slot->key_len = key.len;
    slot->version = version;
    slot->bytes = shared_bytes_hold(bytes);
    (void)pthread_mutex_unlock(&cache->lock);
}

static struct slot *find_slot(struct board_cache *cache, struct str key)
{
    return &cache->slots[hash_text(key) % SLOTS];
}

/* FNV-1a (Fowler, Noll, Vo), 64 bits. */
static uint64_t hash_text(struct str text)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.data[i]) * UINT64_C(1099511628211);
    return hash;
}
