/* server/api/board_cache.c: see board_cache.h. A table of slots by hash of the key: a newer board simply takes its
 * slot, so that invented queries can push others out but never make it grow. */
#include "server/api/board_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 256, MAKERS = 16, KEY_BYTES_MAX = 300, BYTES_MAX = 1 << 20 };

struct slot {
    char key[KEY_BYTES_MAX];
    size_t key_len;
    int64_t version;
    struct board_page_bytes page; /* bytes NULL: empty */
};

struct board_cache {
    pthread_mutex_t lock;
    struct slot slots[SLOTS];       /* guarded by lock */
    pthread_mutex_t making[MAKERS]; /* by the hash of a key: who makes its bytes */
};

static struct slot *find_slot(struct board_cache *cache, struct str key);
static uint64_t hash_text(struct str text);

enum status board_cache_create(struct board_cache **cache, struct error *err)
{
    struct board_cache *made = calloc(1, sizeof *made);

    if (made == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the board cache");
    (void)pthread_mutex_init(&made->lock, NULL);
    for (size_t i = 0; i < MAKERS; i++)
        (void)pthread_mutex_init(&made->making[i], NULL);
    *cache = made;
    return ST_OK;
}

void board_cache_destroy(struct board_cache *cache)
{
    if (cache == NULL)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        shared_bytes_release(cache->slots[i].page.bytes);
    (void)pthread_mutex_destroy(&cache->lock);
    for (size_t i = 0; i < MAKERS; i++)
        (void)pthread_mutex_destroy(&cache->making[i]);
    free(cache);
}

bool board_cache_get(struct board_cache *cache, struct str key, int64_t version,
                     struct board_page_bytes *page)
{
    const struct slot *slot;
    bool found;

    (void)pthread_mutex_lock(&cache->lock);
    slot = find_slot(cache, key);
    found = slot->page.bytes != NULL && slot->version == version &&
            str_eq(key, (struct str){slot->key, slot->key_len});
    if (found) {
        page->bytes = shared_bytes_hold(slot->page.bytes);
        memcpy(page->next, slot->page.next, strlen(slot->page.next) + 1);
    }
    (void)pthread_mutex_unlock(&cache->lock);
    return found;
}

void board_cache_put(struct board_cache *cache, struct str key, int64_t version,
                     const struct board_page_bytes *page)
{
    struct slot *slot;

    if (key.len > KEY_BYTES_MAX || page->bytes->len > BYTES_MAX)
        return;
    (void)pthread_mutex_lock(&cache->lock);
    slot = find_slot(cache, key);
    shared_bytes_release(slot->page.bytes);
    memcpy(slot->key, key.data, key.len);
    slot->key_len = key.len;
    slot->version = version;
    slot->page = *page;
    (void)shared_bytes_hold(page->bytes);
    (void)pthread_mutex_unlock(&cache->lock);
}

void board_cache_begin_making(struct board_cache *cache, struct str key)
{
    (void)pthread_mutex_lock(&cache->making[hash_text(key) % MAKERS]);
}

void board_cache_end_making(struct board_cache *cache, struct str key)
{
    (void)pthread_mutex_unlock(&cache->making[hash_text(key) % MAKERS]);
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
