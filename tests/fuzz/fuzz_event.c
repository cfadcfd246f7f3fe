/* tests/fuzz/fuzz_event.c: event_parse() on any bytes. What it takes must be written back as a line that it
 * takes again, and that says the same. */
#include <stdint.h>

#include "common/event.h"

#define TRAP_UNLESS(condition) \
    do {                       \
        if (!(condition))      \
            __builtin_trap();  \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_round_trip(const struct event *event)
{
    struct arena arena;
    struct event again;
    struct buf first, second;

    arena_init(&arena, 1 << 20);
    buf_init(&first, EVENT_LINE_BYTES_MAX);
    buf_init(&second, EVENT_LINE_BYTES_MAX);
    event_append(&first, event);
    TRAP_UNLESS(!first.failed);
    TRAP_UNLESS(event_parse(buf_str(&first), &arena, &again, NULL) == ST_OK);
    event_append(&second, &again);
    TRAP_UNLESS(str_eq(buf_str(&first), buf_str(&second)));
    buf_fini(&second);
    buf_fini(&first);
    arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const struct str line = {(const char *)data, bytes};
    struct error err = {0};
    struct event event;
    struct arena arena;

    arena_init(&arena, 1 << 20);
    if (event_parse(line, &arena, &event, &err) == ST_OK) {
        TRAP_UNLESS(event.seq > 0);
        TRAP_UNLESS(!event.has_count || event.correct <= event.total);
        check_round_trip(&event);
    } else {
        TRAP_UNLESS(err.detail[0] != '\0');
    }
    arena_fini(&arena);
    return 0;
}
