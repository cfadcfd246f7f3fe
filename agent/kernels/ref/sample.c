/* agent/kernels/ref/sample.c: reference of sample: which images make up step `step`. Position p counts the
 * images drawn since the start; an epoch has floor(images / batch) * batch positions, the remainder of its
 * permutation is dropped. Integers only: every backend gives the same bits. */
#include "agent/kernels/ref/ref.h"
#include "common/rng.h"

static void sample_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct sample_attr *attr = &args->op->attr.sample;
    const int32_t seed = *(const int32_t *)args->in[0], step = *(const int32_t *)args->in[1];
    const struct rng_key key = {.seed = (uint32_t)seed, .stream = args->op->stream};
    const int64_t steps_per_epoch = attr->images / attr->batch;
    const int64_t step_index = step > 0 ? step - 1 : 0; /* steps count from 1 */
    const int64_t epoch = step_index / steps_per_epoch;
    const int64_t first = step_index % steps_per_epoch * attr->batch;
    int32_t *idx = args->out[0];

    (void)phase;
    (void)item;
    for (int64_t i = 0; i < attr->batch; i++)
        idx[i] = (int32_t)rng_permute(key, (uint32_t)epoch, (uint32_t)(first + i),
                                      (uint32_t)attr->images);
    *(int32_t *)args->out[1] = (int32_t)epoch;
}

REF_KERNEL(sample, OP_SAMPLE);
