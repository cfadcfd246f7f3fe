/* agent/profile/bench_cases.h: the calls that `bench` times: the layers of the workloads, one op each, on operands that
 * are filled here. Ownership: bench_call_fini() frees what bench_call_init() made. Threads: one. */
#ifndef DAYBREAK_AGENT_PROFILE_BENCH_CASES_H
#define DAYBREAK_AGENT_PROFILE_BENCH_CASES_H

#include "agent/kernels/kernels.h"

/* H x W is square; k, r, pad: of convolutions; k: columns of a matmul. */
struct bench_case {
    enum op_kind kind;
    int64_t size, channels, filters, taps, pad;
    bool per_batch; /* false: `size` elements, whatever the batch */
};

const struct bench_case *bench_cases(size_t *count);

/* One op with its tensors, operands and results. */
struct bench_call {
    enum dtype activations;
    struct op op;
    int in_count, out_count;
    struct tensor in_tensor[OP_IN_MAX], out_tensor[OP_OUT_MAX];
    void *in[OP_IN_MAX], *out[OP_OUT_MAX], *scratch;
    const struct kernel *kernel;
    struct fit fit;
    struct kernel_args args; /* points into this struct */
    char why[KERNEL_WHY_BYTES];
    char shape[64];      /* "1024x31x31x24 -> 64, 3x3" */
    double flops, bytes; /* modelled */
};

/* activations: their type and that of the weights that they meet, F32 or BF16. */
enum status bench_call_init(struct bench_call *call, const struct bench_case *from, int64_t batch,
                            uint32_t isa, enum dtype activations, struct error *err);
void bench_call_fini(struct bench_call *call); /* accepts a zeroed one */

#endif
