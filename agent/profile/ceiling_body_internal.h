/* agent/profile/ceiling_body_internal.h: a burst of multiply-adds in registers, and walks through memory, written once
 * and compiled by each ceiling_<isa>.c: enough independent chains to hide the latency of every unit. What includes it
 * defines
 *
 *   BURST, CHAINS         the function's name and how many vectors of sums it has
 *   vector                their type; ZERO, SET1(x), ADD(a, b), FIRST(a): of it
 *   OPERANDS              declarations of what a step multiplies
 *   STEP(sum)             the sum after one multiply-add; it must stay finite for ever
 *   READ, COPY            where it walks: the functions' names; LANES, LOAD(p), STORE(p, a): of the vectors */
void BURST(int64_t rounds, float *sink)
{
    OPERANDS;
    vector chain[CHAINS], sum = ZERO;

#pragma GCC unroll 24
    for (int i = 0; i < CHAINS; i++)
        chain[i] = SET1((float)i);
    for (int64_t round = 0; round < rounds; round++) {
#pragma GCC unroll 24
        for (int i = 0; i < CHAINS; i++)
            chain[i] = STEP(chain[i]);
    }
#pragma GCC unroll 24
    for (int i = 0; i < CHAINS; i++)
        sum = ADD(sum, chain[i]);
    *sink = FIRST(sum);
}

#ifdef READ
#define STREAMS 8

void READ(const float *from, int64_t floats, int64_t rounds, float *sink)
{
    vector sums[STREAMS], sum = ZERO;

#pragma GCC unroll 8
    for (int k = 0; k < STREAMS; k++)
        sums[k] = ZERO;
    for (int64_t round = 0; round < rounds; round++)
        for (int64_t i = 0; i < floats; i += (int64_t)STREAMS * LANES) {
#pragma GCC unroll 8
            for (ptrdiff_t k = 0; k < STREAMS; k++)
                sums[k] = ADD(sums[k], LOAD(from + i + k * LANES));
        }
#pragma GCC unroll 8
    for (int k = 0; k < STREAMS; k++)
        sum = ADD(sum, sums[k]);
    *sink = FIRST(sum);
}

void COPY(float *to, const float *from, int64_t floats, int64_t rounds)
{
    for (int64_t round = 0; round < rounds; round++)
        for (int64_t i = 0; i < floats; i += (int64_t)STREAMS * LANES) {
#pragma GCC unroll 8
            for (ptrdiff_t k = 0; k < STREAMS; k++)
                STORE(to + i + k * LANES, LOAD(from + i + k * LANES));
        }
}
#endif
