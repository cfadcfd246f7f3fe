/* agent/workload/precision.c: see precision.h. */
#include "agent/workload/precision.h"

#include <string.h>

#include "agent/kernels/kernels.h"
#include "common/str.h"

enum status precision_parse(const char *text, enum workload_precision *precision, struct error *err)
{
    static const char *const words[] = {[WORKLOAD_PRECISION_AUTO] = "auto",
                                        [WORKLOAD_PRECISION_F32] = "f32",
                                        [WORKLOAD_PRECISION_BF16] = "bf16"};

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(text, words[i]) == 0) {
            *precision = (enum workload_precision)i;
            return ST_OK;
        }
    return error_set(err, ST_USAGE, "--precision", "--precision is auto, f32 or bf16, not \"%s\"",
                     text);
}

enum status precision_choose(enum workload_precision wish, uint32_t isa, enum dtype *dtype,
                             struct error *err)
{
    if (wish == WORKLOAD_PRECISION_BF16 && (isa & ISA_AVX512_BF16) == 0)
        return error_set(err, ST_UNSUPPORTED, "precision",
                         "bf16 needs avx512-bf16, and this processor, or --isa, has %s",
                         cpu_isa_name(isa));
    *dtype =
        wish == WORKLOAD_PRECISION_BF16 || (wish == WORKLOAD_PRECISION_AUTO && cpu_bf16_pays(isa))
            ? DT_BF16
            : DT_F32;
    return ST_OK;
}
