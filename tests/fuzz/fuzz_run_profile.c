/* tests/fuzz/fuzz_run_profile.c: run_profile_parse() on any bytes. What it takes is written back as a document that it
 * takes again and that says the same, and has a roofline whose dots all name a roof. */
#include <stdint.h>

#include "server/analysis/roofline.h"

#define TRAP_UNLESS(condition) \
    do {                       \
        if (!(condition))      \
            __builtin_trap();  \
    } while (0)
#define ARENA_BYTES ((size_t)16 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_round_trip(const struct run_profile *profile, struct arena *arena)
{
    struct run_profile again;
    struct buf first, second;

    buf_init(&first, 4 * RUN_PROFILE_BYTES_MAX);
    buf_init(&second, 4 * RUN_PROFILE_BYTES_MAX);
    run_profile_append(&first, profile);
    TRAP_UNLESS(!first.failed);
    TRAP_UNLESS(run_profile_parse(buf_str(&first), arena, &again, NULL) == ST_OK);
    run_profile_append(&second, &again);
    TRAP_UNLESS(str_eq(buf_str(&first), buf_str(&second)));
    buf_fini(&second);
    buf_fini(&first);
}

static void check_roofline(const struct run_profile *profile, struct arena *arena)
{
    struct roofline roofline;

    TRAP_UNLESS(roofline_place(profile, arena, &roofline, NULL) == ST_OK);
    TRAP_UNLESS(roofline.kernel_count == profile->group_count);
    TRAP_UNLESS(roofline.kind_count >= 1 && roofline.kind_count <= roofline.kernel_count);
    for (size_t i = 0; i < roofline.kernel_count; i++) {
        TRAP_UNLESS(roofline.kernels[i].roof != NULL);
        TRAP_UNLESS(roofline.kernels[i].share >= 0.0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct run_profile profile;
    struct error err = {0};
    struct arena arena;

    arena_init(&arena, ARENA_BYTES);
    if (run_profile_parse((struct str){(const char *)data, bytes}, &arena, &profile, &err) ==
        ST_OK) {
        check_round_trip(&profile, &arena);
        check_roofline(&profile, &arena);
    } else {
        TRAP_UNLESS(err.detail[0] != '\0');
    }
    arena_fini(&arena);
    return 0;
}
