/* agent/profile/ceiling_body_internal.h: a burst of multiply-adds in registers, written once and compiled by each
 * ceiling_<isa>.c: enough independent chains to hide the latency of every unit. What includes it defines
 *
 *   BURST, CHAINS         the function's name and how many vectors of sums it has
 *   vector                their type; ZERO, SET1(x), ADD(a, b), FIRST(a): of it
 *   OPERANDS              declarations of what a step multiplies
 *   STEP(sum)             the sum after one multiply-add; it must stay finite for ever */
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
