/* agent/profile/ceiling.c: see ceiling.h. */
#include "agent/profile/ceiling.h"

#define ROUNDS        32768 /* of a burst: 200 to 400 us */
#define LANES_AVX512  16
#define LANES_AVX2    8
#define CHAINS_SCALAR 8

static void work_avx512(const struct kernel_args *args, int phase, int64_t item)
{
    (void)phase;
    ceiling_burst_avx512(ROUNDS, (float *)args->scratch + item * 16);
}

static void work_avx512_bf16(const struct kernel_args *args, int phase, int64_t item)
{
    (void)phase;
    ceiling_burst_avx512_bf16(ROUNDS, (float *)args->scratch + item * 16);
}

static void work_avx2(const struct kernel_args *args, int phase, int64_t item)
{
    (void)phase;
    ceiling_burst_avx2(ROUNDS, (float *)args->scratch + item * 16);
}

/* A product and a sum: plain C may not fuse them. */
static void work_scalar(const struct kernel_args *args, int phase, int64_t item)
{
    volatile float seed = 0.5f; /* else the compiler does it all beforehand */
    float chain[CHAINS_SCALAR], sum = 0.0f;

    (void)phase;
    for (int i = 0; i < CHAINS_SCALAR; i++)
        chain[i] = seed + (float)i;
    for (int64_t round = 0; round < ROUNDS; round++)
        for (int i = 0; i < CHAINS_SCALAR; i++)
            chain[i] = chain[i] * 0.999f + 0.001f;
    for (int i = 0; i < CHAINS_SCALAR; i++)
        sum += chain[i];
    ((float *)args->scratch)[item * 16] = sum;
}

static const struct kernel ceiling_avx512 = {.name = "fma_avx512", .work = work_avx512};
static const struct kernel ceiling_avx512_bf16 = {.name = "dot_avx512_bf16",
                                                  .work = work_avx512_bf16};
static const struct kernel ceiling_avx2 = {.name = "fma_avx2", .work = work_avx2};
static const struct kernel ceiling_scalar = {.name = "fma_scalar", .work = work_scalar};

static bool uses_bf16(uint32_t isa, enum dtype dtype)
{
    return dtype == DT_BF16 && (isa & ISA_AVX512_BF16) != 0;
}

const struct kernel *ceiling_fma_kernel(uint32_t isa, enum dtype dtype)
{
    return uses_bf16(isa, dtype)     ? &ceiling_avx512_bf16
           : (isa & ISA_AVX512) != 0 ? &ceiling_avx512
           : (isa & ISA_AVX2) != 0   ? &ceiling_avx2
                                     : &ceiling_scalar;
}

double ceiling_fma_flops(uint32_t isa, enum dtype dtype)
{
    return 2.0 * ROUNDS *
           (uses_bf16(isa, dtype)     ? CEILING_CHAINS_AVX512 * LANES_AVX512 * 2
            : (isa & ISA_AVX512) != 0 ? CEILING_CHAINS_AVX512 * LANES_AVX512
            : (isa & ISA_AVX2) != 0   ? CEILING_CHAINS_AVX2 * LANES_AVX2
                                      : CHAINS_SCALAR);
}
