/* common/arena.c: see arena.h. A list of blocks, each at least twice the one before up to a limit;
 * alignment is max_align_t's. */
#include "common/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

enum { BLOCK_BYTES_FIRST = 4096, BLOCK_BYTES_LARGE = 1 << 20 };

struct arena_block {
    struct arena_block *next;
    size_t used_bytes, bytes; /* of data[] */
    alignas(max_align_t) unsigned char data[];
};

static struct arena_block *add_block(struct arena *arena, size_t need_bytes);

void arena_init(struct arena *arena, size_t bytes_max)
{
    *arena = (struct arena){.bytes_max = bytes_max};
}

void arena_fini(struct arena *arena)
{
    if (arena == NULL)
        return;
    while (arena->blocks != NULL) {
        struct arena_block *block = arena->blocks;

        arena->blocks = block->next;
        free(block);
    }
    arena->used_bytes = 0;
}

void *arena_alloc(struct arena *arena, size_t count, size_t size)
{
    const size_t align = alignof(max_align_t);
    struct arena_block *block = arena->blocks;
    unsigned char *memory;
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes) || bytes > arena->bytes_max ||
        bytes > SIZE_MAX - align)
        return NULL;
    bytes = bytes == 0 ? align : (bytes + align - 1) / align * align;
    if (bytes > arena->bytes_max - arena->used_bytes)
        return NULL;
    if (block == NULL || bytes > block->bytes - block->used_bytes) {
        block = add_block(arena, bytes);
        if (block == NULL)
            return NULL;
    }
    memory = block->data + block->used_bytes;
    block->used_bytes += bytes;
    arena->used_bytes += bytes;
    assert((uintptr_t)memory % align == 0);
    memset(memory, 0, bytes);
    return memory;
}

char *arena_copy(struct arena *arena, struct str text)
{
    char *copy;

    if (text.len == SIZE_MAX)
        return NULL;
    copy = arena_alloc(arena, text.len + 1, 1);
    if (copy != NULL && text.len > 0)
        memcpy(copy, text.data, text.len);
    return copy;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args, again;
    char *text = NULL;
    int length;

    va_start(args, format);
    va_copy(again, args);
    length = vsnprintf(NULL, 0, format, args);
    if (length >= 0)
        text = arena_alloc(arena, (size_t)length + 1, 1);
    if (text != NULL)
        (void)vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

static struct arena_block *add_block(struct arena *arena, size_t need_bytes)
{
    struct arena_block *block;
    size_t bytes = arena->blocks == NULL ? BLOCK_BYTES_FIRST : arena->blocks->bytes * 2;

    if (bytes > BLOCK_BYTES_LARGE)
        bytes = BLOCK_BYTES_LARGE;
    if (bytes < need_bytes)
        bytes = need_bytes;
    if (bytes > SIZE_MAX - sizeof *block)
        return NULL;
    block = malloc(sizeof *block + bytes);
    if (block == NULL)
        return NULL;
    block->next = arena->blocks;
    block->used_bytes = 0;
    block->bytes = bytes;
    arena->blocks = block;
    return block;
}
