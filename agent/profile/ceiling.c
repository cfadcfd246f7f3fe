/* agent/profile/ceiling.c: see ceiling.h. */
#include "agent/profile/ceiling.h"

#include <string.h>

#define ROUNDS        32768 /* of a burst: 200 to 400 us */
#define LANES_AVX512  16
#define LANES_AVX2    8
#define CHAINS_SCALAR 8
#define KIB_FLOATS    256

static void work_avx512(const struct kernel_args *args, int phase, int64_t item)
{
    (void)phase;
    ceiling_burst_avx512(ROUNDS, (float *)args->scratch + item * CEILING_SINK_FLOATS);
}

static void work_avx512_bf16(const struct kernel_args *args, int phase, int64_t item)
{
    (void)phase;
    ceiling_burst_avx512_bf16(ROUNDS, (float *)args->scratch + item * CEILING_SINK_FLOATS);
}

static void work_avx2(const struct kernel_args *args, int phase, int64_t item)
{
    (void)phase;
    ceiling_burst_avx2(ROUNDS, (float *)args->scratch + item * CEILING_SINK_FLOATS);
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
    ((float *)args->scratch)[item * CEILING_SINK_FLOATS] = sum;
}

/* The piece of an item. */
struct piece {
    float *at;
    int64_t floats, rounds;
};

static struct piece piece_of(const struct kernel_args *args, int64_t item)
{
    const int64_t stride = (int64_t)args->fit->block[2] * KIB_FLOATS;

    return (struct piece){(float *)args->out[0] + item * stride,
                          (int64_t)args->fit->block[0] * KIB_FLOATS, args->fit->block[1]};
}

static void read_avx512(const struct kernel_args *args, int phase, int64_t item)
{
    const struct piece piece = piece_of(args, item);

    (void)phase;
    ceiling_read_avx512(piece.at, piece.floats, piece.rounds,
                        (float *)args->scratch + item * CEILING_SINK_FLOATS);
}

static void read_avx2(const struct kernel_args *args, int phase, int64_t item)
{
    const struct piece piece = piece_of(args, item);

    (void)phase;
    ceiling_read_avx2(piece.at, piece.floats, piece.rounds,
                      (float *)args->scratch + item * CEILING_SINK_FLOATS);
}

/* Integers, which a compiler may add in any order. */
static void read_scalar(const struct kernel_args *args, int phase, int64_t item)
{
    const struct piece piece = piece_of(args, item);
    const uint32_t *from = (const uint32_t *)(const void *)piece.at;
    volatile uint32_t sink = 0;

    (void)phase;
    for (int64_t round = 0; round < piece.rounds; round++) {
        uint32_t sum = sink;

        for (int64_t i = 0; i < piece.floats; i++)
            sum += from[i];
        sink = sum;
    }
}

static void copy_avx512(const struct kernel_args *args, int phase, int64_t item)
{
    const struct piece piece = piece_of(args, item);

    (void)phase;
    ceiling_copy_avx512(piece.at + piece.floats / 2, piece.at, piece.floats / 2, piece.rounds);
}

static void copy_avx2(const struct kernel_args *args, int phase, int64_t item)
{
    const struct piece piece = piece_of(args, item);

    (void)phase;
    ceiling_copy_avx2(piece.at + piece.floats / 2, piece.at, piece.floats / 2, piece.rounds);
}

static void copy_scalar(const struct kernel_args *args, int phase, int64_t item)
{
    const struct piece piece = piece_of(args, item);

    (void)phase;
    for (int64_t round = 0; round < piece.rounds; round++)
        memcpy(piece.at + piece.floats / 2, piece.at, (size_t)piece.floats / 2 * sizeof(float));
}

static const struct kernel ceiling_avx512 = {.name = "fma_avx512", .work = work_avx512};
static const struct kernel ceiling_avx512_bf16 = {.name = "dot_avx512_bf16",
                                                  .work = work_avx512_bf16};
static const struct kernel ceiling_avx2 = {.name = "fma_avx2", .work = work_avx2};
static const struct kernel ceiling_scalar = {.name = "fma_scalar", .work = work_scalar};

static const struct kernel walk_kernels[][2] = {
    {{.name = "read_scalar", .work = read_scalar}, {.name = "copy_scalar", .work = copy_scalar}},
    {{.name = "read_avx2", .work = read_avx2}, {.name = "copy_avx2", .work = copy_avx2}},
    {{.name = "read_avx512", .work = read_avx512}, {.name = "copy_avx512", .work = copy_avx512}},
};

static const struct kernel *walk_kernel(uint32_t isa, int copies)
{
    const int row = (isa & ISA_AVX512) != 0 ? 2 : (isa & ISA_AVX2) != 0 ? 1 : 0;

    return &walk_kernels[row][copies];
}

const struct kernel *ceiling_read_kernel(uint32_t isa)
{
    return walk_kernel(isa, 0);
}

const struct kernel *ceiling_copy_kernel(uint32_t isa)
{
    return walk_kernel(isa, 1);
}

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
