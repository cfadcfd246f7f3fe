/* tests/fuzz/fuzz_query.c: a query string. What is taken is UTF-8 without control bytes, every name once; and
 * percent_append() brings a value back. */
#include <stdint.h>

#include "server/http/query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_parameter(const struct query_parameter *parameter, struct arena *arena)
{
    struct str again;
    struct buf out;

    if (!str_is_utf8(parameter->name) || !str_is_utf8(parameter->value) ||
        strlen(parameter->value.data) != parameter->value.len)
        __builtin_trap();
    buf_init(&out, 1 << 20);
    percent_append(&out, parameter->value);
    if (percent_decode(buf_str(&out), true, arena, &again, NULL) == ST_OK &&
        !str_eq(again, parameter->value))
        __builtin_trap();
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const struct str text = {(const char *)data, bytes};
    struct error err = {0};
    struct query query;
    struct arena arena;
    int64_t number = 0;
    bool has;

    arena_init(&arena, 4 << 20);
    if (query_parse(text, &arena, NULL, &query, &err) == ST_OK) {
        for (size_t i = 0; i < query.count; i++)
            check_parameter(&query.items[i], &arena);
        (void)query_read_i64(&query, "limit", 1, 1000, &number, NULL);
        (void)query_read_date(&query, "as_of", &has, &number, NULL);
        (void)query_finish(&query, &err);
    } else if (err.status == ST_OK) {
        __builtin_trap();
    }
    arena_fini(&arena);
    return 0;
}
