/* agent/graph/store.c: see store.h. */
#include "agent/graph/store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/str.h"

#define VAR_ALIGN UINT64_C(64)

struct store {
    struct var **vars; /* in order of declaration; each on the heap, so that pointers stay valid */
    size_t count, capacity;
    uint64_t *versions; /* [count] after store_alloc() */
    uint64_t bytes;
    bool allocated;
    struct backend *backend;
    struct memory *memory; /* the backend's; NULL for plain memory */
    void *host;            /* the block as the host sees it; NULL where it cannot */
};

static void *heap_or_exit(void *memory);
static int compare_layout(const void *left, const void *right);
static void lay_out(struct store *store);

struct store *store_create(void)
{
    return heap_or_exit(calloc(1, sizeof(struct store)));
}

void store_destroy(struct store *store)
{
    if (store == NULL)
        return;
    if (store->memory != NULL)
        store->backend->ops->release(store->backend, store->memory);
    else
        free(store->host);
    for (size_t i = 0; i < store->count; i++)
        free(store->vars[i]);
    free(store->vars);
    free(store->versions);
    free(store);
}

struct var *store_add(struct store *store, const struct var_spec *spec)
{
    const size_t length = strlen(spec->name);
    struct var *var;

    assert(!store->allocated);
    assert(length > 0 && length < VAR_NAME_BYTES);
    assert(spec->tensor.format == FMT_ROW);
    assert(spec->role < VAR_ROLE_COUNT);
    assert(store_find(store, spec->name) == NULL);
    if (store->count == store->capacity) {
        store->capacity = store->capacity == 0 ? 64 : 2 * store->capacity;
        store->vars = heap_or_exit(realloc(store->vars, store->capacity * sizeof(struct var *)));
    }
    var = heap_or_exit(calloc(1, sizeof *var));
    var->index = (uint32_t)store->count;
    memcpy(var->name, spec->name, length + 1);
    var->spec = *spec;
    var->spec.name = var->name;
    var->bytes = tensor_bytes(&spec->tensor);
    store->vars[store->count++] = var;
    return var;
}

struct var *store_find(const struct store *store, const char *name)
{
    for (size_t i = 0; i < store->count; i++)
        if (strcmp(store->vars[i]->name, name) == 0)
            return store->vars[i];
    return NULL;
}

size_t store_count(const struct store *store)
{
    return store->count;
}

struct var *store_at(const struct store *store, size_t index)
{
    assert(index < store->count);
    return store->vars[index];
}

enum status store_alloc(struct store *store, struct backend *backend, struct error *err)
{
    assert(!store->allocated);
    lay_out(store);
    store->versions = heap_or_exit(calloc(store->count + 1, sizeof *store->versions));
    if (backend == NULL) {
        if (posix_memalign(&store->host, VAR_ALIGN, (size_t)(store->bytes + VAR_ALIGN)) != 0) {
            store->host = NULL;
            return error_set(err, ST_NO_MEMORY, "variables", "No memory for %llu bytes.",
                             (unsigned long long)store->bytes);
        }
        memset(store->host, 0, (size_t)(store->bytes + VAR_ALIGN));
    } else {
        const enum status status = backend->ops->alloc(backend, store->bytes, &store->memory, err);

        if (status != ST_OK)
            return status;
        store->host = backend->ops->host == NULL ? NULL : backend->ops->host(store->memory);
    }
    store->backend = backend;
    store->allocated = true;
    return ST_OK;
}

struct memory *store_memory(const struct store *store)
{
    return store->memory;
}

void *store_host(const struct store *store)
{
    return store->host;
}

uint64_t store_bytes(const struct store *store)
{
    return store->bytes;
}

const uint64_t *store_versions(const struct store *store)
{
    return store->versions;
}

void store_touch(struct store *store, struct var *var)
{
    assert(store->allocated);
    assert(store->vars[var->index] == var);
    store->versions[var->index]++;
}

void store_write(struct store *store, struct var *var, const void *data)
{
    store_touch(store, var);
    if (store->memory != NULL)
        store->backend->ops->write(store->backend, store->memory, var->offset, data, var->bytes);
    else
        memcpy((unsigned char *)store->host + var->offset, data, (size_t)var->bytes);
}

void store_read(const struct store *store, const struct var *var, void *data)
{
    assert(store->allocated);
    assert(store->vars[var->index] == var);
    if (store->memory != NULL)
        store->backend->ops->read(store->backend, store->memory, var->offset, data, var->bytes);
    else
        memcpy(data, (const unsigned char *)store->host + var->offset, (size_t)var->bytes);
}

/* Role, then parameter group, then declaration: what is updated together lies together. */
static int compare_layout(const void *left, const void *right)
{
    const struct var *a = *(struct var *const *)left, *b = *(struct var *const *)right;

    if (a->spec.role != b->spec.role)
        return a->spec.role < b->spec.role ? -1 : 1;
    if (a->spec.group != b->spec.group)
        return a->spec.group < b->spec.group ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static void lay_out(struct store *store)
{
    struct var **order = heap_or_exit(malloc((store->count + 1) * sizeof(struct var *)));
    uint64_t offset = 0;

    for (size_t i = 0; i < store->count; i++)
        order[i] = store->vars[i];
    qsort(order, store->count, sizeof(struct var *), compare_layout);
    for (size_t i = 0; i < store->count; i++) {
        order[i]->offset = offset;
        offset += (order[i]->bytes + VAR_ALIGN - 1) / VAR_ALIGN * VAR_ALIGN;
    }
    store->bytes = offset;
    free(order);
}

/* Planning and set-up happen before any clock runs: without memory for them nothing can be done. */
static void *heap_or_exit(void *memory)
{
    if (memory == NULL) {
        (void)fputs("store: out of memory\n", stderr);
        exit(4); /* NOLINT(concurrency-mt-unsafe): one thread */
    }
    return memory;
}
