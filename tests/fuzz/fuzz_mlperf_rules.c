/* tests/fuzz/fuzz_mlperf_rules.c: the readers of reference points, of rounds and of systems on any bytes; the first byte
 * chooses. Reference points that are taken give a finite limit at any batch size. */
#include <math.h>
#include <stdint.h>

#include "server/mlperf/rules.h"
#include "server/mlperf/system.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_rcp(struct str text)
{
    static const double epochs[] = {1, 2, 30.5, 4, 5};
    struct error err = {0};
    struct rcp_set set;
    struct arena arena;

    arena_init(&arena, 64 << 20);
    if (rcp_parse(text, &arena, &set, &err) == ST_OK) {
        for (int i = -1; i < 16; i++)
            for (enum rcp_variant variant = RCP_RULES; variant < RCP_VARIANT_COUNT; variant++) {
                const struct rcp_question question = {.variant = variant,
                                                      .runs = 5,
                                                      .count = 5,
                                                      .batch = i < 0 ? set.points[0].batch
                                                                     : ldexp(1.0, i),
                                                      .values = epochs};
                struct rcp_verdict verdict;

                if (rcp_check(&set, &question, &arena, &verdict, NULL) != ST_OK)
                    __builtin_trap();
                if (verdict.match != RCP_LARGER &&
                    (!isfinite(verdict.min_mean) || !(verdict.min_mean > 0.0) ||
                     verdict.min_mean > verdict.mean * (1.0 + 1e-12) || !(verdict.factor >= 1.0)))
                    __builtin_trap();
            }
    } else if (err.detail[0] == '\0') {
        __builtin_trap();
    }
    arena_fini(&arena);
}

static void check_system(struct str text)
{
    struct mlperf_system system;
    struct error err = {0};
    struct arena arena;

    arena_init(&arena, 64 << 20);
    if (mlperf_system_parse(text, &arena, &system, &err) == ST_OK
            ? system.nodes < 0 || system.devices < 0
            : err.detail[0] == '\0')
        __builtin_trap();
    arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct embedded_file file = {.path = "schema/mlperf/v1.json"};
    struct mlperf_rules *rules = NULL;

    if (bytes == 0)
        return 0;
    if (data[0] == 'R') {
        check_rcp((struct str){(const char *)data + 1, bytes - 1});
    } else if (data[0] == 'S') {
        check_system((struct str){(const char *)data + 1, bytes - 1});
    } else {
        file.data = data + 1;
        file.bytes = bytes - 1;
        if (mlperf_rules_create_from(&file, 1, &rules, NULL) == ST_OK)
            mlperf_rules_destroy(rules);
    }
    return 0;
}
