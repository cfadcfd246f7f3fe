/* tests/fuzz/fuzz_multipart.c: a Content-Type on the first line, a body behind it. Whatever is taken lies inside the body. */
#include <stdint.h>

#include "server/http/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const struct str text = {(const char *)data, bytes};
    struct str body = {"", 0}, boundary;
    struct multipart multipart;
    struct error err = {0};
    struct arena arena;
    size_t end = bytes;

    if (str_find_char(text, '\n', &end))
        body = str_slice(text, end + 1, bytes);
    arena_init(&arena, 1 << 20);
    if (multipart_find_boundary(str_slice(text, 0, end), &arena, &boundary, &err) == ST_OK &&
        multipart_parse(body, boundary, &arena, &multipart, &err) == ST_OK) {
        for (size_t i = 0; i < multipart.count; i++) {
            const struct multipart_part *part = &multipart.parts[i];

            if (part->name.len == 0 || strlen(part->name.data) > part->name.len)
                __builtin_trap();
            if (part->data.len > 0 && (part->data.data < body.data ||
                                       part->data.data + part->data.len > body.data + body.len))
                __builtin_trap();
        }
    } else if (err.status == ST_OK) {
        __builtin_trap();
    }
    arena_fini(&arena);
    return 0;
}
