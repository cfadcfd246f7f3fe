/* common/rng.c: Threefry-2x32-20 and what is drawn from it (see rng.h). */
#include "common/rng.h"

#include <assert.h>
#include <math.h>

/* Salmon et al., table 2 (Threefry-2x32), and Skein's parity constant for 32-bit words. */
static const unsigned rotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
#define THREEFRY_PARITY UINT32_C(0x1BD11BDA)
#define THREEFRY_ROUNDS 20
#define FEISTEL_ROUNDS  6

static uint32_t rotate_left(uint32_t x, unsigned bits)
{
    return (x << bits) | (x >> (32 - bits));
}

void rng_threefry(struct rng_key key, uint32_t high, uint32_t low, uint32_t out[2])
{
    const uint32_t k[3] = {key.seed, key.stream, THREEFRY_PARITY ^ key.seed ^ key.stream};
    uint32_t x0 = high + k[0], x1 = low + k[1];

    for (unsigned round = 0; round < THREEFRY_ROUNDS; round++) {
        x0 += x1;
        x1 = rotate_left(x1, rotations[round % 8]) ^ x0;
        if (round % 4 == 3) { /* every fourth round takes the next words of the key schedule */
            const unsigned s = round / 4 + 1;

            x0 += k[s % 3];
            x1 += k[(s + 1) % 3] + s;
        }
    }
    out[0] = x0;
    out[1] = x1;
}

float rng_to_unit(uint32_t bits)
{
    return (float)(bits >> 8) * 0x1p-24f;
}

uint32_t rng_to_below(uint32_t bits, uint32_t bound)
{
    return (uint32_t)(((uint64_t)bits * bound) >> 32);
}

/* One pass over 2 * half_bits bits. Counter (epoch, round in the upper half, half block in the lower). */
static uint32_t feistel_pass(struct rng_key key, uint32_t epoch, unsigned half_bits, uint32_t value)
{
    const uint32_t mask = (UINT32_C(1) << half_bits) - 1;
    uint32_t left = value >> half_bits, right = value & mask;

    for (uint32_t round = 0; round < FEISTEL_ROUNDS; round++) {
        uint32_t word[2];
        const uint32_t old_right = right;

        rng_threefry(key, epoch, (round << 16) | right, word);
        right = left ^ (word[0] & mask);
        left = old_right;
    }
    return (left << half_bits) | right;
}

uint32_t rng_permute(struct rng_key key, uint32_t epoch, uint32_t index, uint32_t count)
{
    unsigned half_bits = 1;
    uint32_t value = index;

    assert(count > 0 && count <= UINT32_C(1) << 31);
    assert(index < count);
    while ((UINT64_C(1) << (2 * half_bits)) < count)
        half_bits++;
    /* Cycle walking: the pass permutes a superset of [0, count), so following it from a member must
     * come back to a member; below 4 passes on average, since the superset is below 4 * count. */
    do
        value = feistel_pass(key, epoch, half_bits, value);
    while (value >= count);
    return value;
}

void rng_fill_uniform(struct rng_key key, float low, float high, float *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t word[2];

        rng_threefry(key, (uint32_t)((uint64_t)i >> 32), (uint32_t)i, word);
        out[i] = low + (high - low) * rng_to_unit(word[0]);
        if (out[i] >= high && low < high) /* the product may round up to the open end */
            out[i] = nextafterf(high, low);
    }
}

void rng_fill_normal(struct rng_key key, float mean, float deviation, float *out, size_t count)
{
    const double two_pi = 6.283185307179586476925;

    for (size_t i = 0; i < count; i++) {
        uint32_t word[2];
        double radius, angle;

        rng_threefry(key, (uint32_t)((uint64_t)i >> 32), (uint32_t)i, word);
        radius = sqrt(-2.0 * log(((double)word[0] + 1.0) * 0x1p-32)); /* (0, 1]: no log of 0 */
        angle = two_pi * ((double)word[1] * 0x1p-32);
        out[i] = (float)((double)mean + (double)deviation * radius * cos(angle));
    }
}
