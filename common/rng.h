/* common/rng.h: counter-based random numbers: Threefry-2x32-20 (Salmon et al., "Parallel random
 * numbers: as easy as 1, 2, 3", SC 2011). A number is a pure function of (key, counter), so every
 * backend, thread count and rank sees the same one. Threads: pure, any thread. */
#ifndef DAYBREAK_COMMON_RNG_H
#define DAYBREAK_COMMON_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng_key {
    uint32_t seed, stream; /* stream: one per user of randomness: an op, an initialiser */
};

/* out[0], out[1] are Threefry-2x32-20 of key (seed, stream) and counter (high, low). */
void rng_threefry(struct rng_key key, uint32_t high, uint32_t low, uint32_t out[2]);

/* [0, 1): the upper 24 bits / 2^24, exact in float. */
float rng_to_unit(uint32_t bits);
/* [0, bound), by multiply-shift: high word of bits * bound. bound > 0. Bias below bound / 2^32. */
uint32_t rng_to_below(uint32_t bits, uint32_t bound);

/* Keyed pseudo-random permutation of [0, count): a balanced Feistel network of 6 rounds over the
 * next even number of bits, walked until the value falls below count. key.seed, key.stream and
 * `epoch` choose the permutation. index < count; 0 < count <= 2^31. */
uint32_t rng_permute(struct rng_key key, uint32_t epoch, uint32_t index, uint32_t count);

/* For tests and initialisers: out[i] from counter (0, i). Uniform in [low, high); normal by
 * Box-Muller in double, one pair of words a value. */
void rng_fill_uniform(struct rng_key key, float low, float high, float *out, size_t count);
void rng_fill_normal(struct rng_key key, float mean, float deviation, float *out, size_t count);

#endif
