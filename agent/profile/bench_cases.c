/* agent/profile/bench_cases.c: see bench_cases.h. Shapes are those of the recipe for 94 % of the workload cifar10, then
 * the convolutions of the quick one. */
#include "agent/profile/bench_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/rng.h"

#define IMAGES          2048 /* that augment draws from */
#define FILL_PERIOD     4099 /* normal numbers that repeat: prime, so that rows differ */
#define WEIGHTS         INT64_C(2000000)
#define ALIGNMENT_BYTES 64

static const struct bench_case cases[] = {
    {OP_CONV2D, 32, 3, 24, 2, 0, true},
    {OP_CONV2D, 31, 24, 64, 3, 1, true},
    {OP_CONV2D, 15, 64, 64, 3, 1, true},
    {OP_CONV2D, 15, 64, 256, 3, 1, true},
    {OP_CONV2D, 7, 256, 256, 3, 1, true},
    {OP_CONV2D, 3, 256, 256, 3, 1, true},
    {OP_CONV2D_GRAD_INPUT, 31, 24, 64, 3, 1, true},
    {OP_CONV2D_GRAD_INPUT, 15, 64, 64, 3, 1, true},
    {OP_CONV2D_GRAD_INPUT, 15, 64, 256, 3, 1, true},
    {OP_CONV2D_GRAD_INPUT, 7, 256, 256, 3, 1, true},
    {OP_CONV2D_GRAD_INPUT, 3, 256, 256, 3, 1, true},
    {OP_CONV2D_GRAD_WEIGHT, 31, 24, 64, 3, 1, true},
    {OP_CONV2D_GRAD_WEIGHT, 15, 64, 64, 3, 1, true},
    {OP_CONV2D_GRAD_WEIGHT, 15, 64, 256, 3, 1, true},
    {OP_CONV2D_GRAD_WEIGHT, 7, 256, 256, 3, 1, true},
    {OP_CONV2D_GRAD_WEIGHT, 3, 256, 256, 3, 1, true},
    {OP_CONV2D, 31, 24, 32, 3, 1, true},
    {OP_CONV2D, 15, 32, 128, 3, 1, true},
    {OP_CONV2D, 7, 128, 128, 3, 1, true},
    {OP_CONV2D_GRAD_INPUT, 15, 32, 128, 3, 1, true},
    {OP_CONV2D_GRAD_INPUT, 7, 128, 128, 3, 1, true},
    {OP_CONV2D_GRAD_WEIGHT, 15, 32, 128, 3, 1, true},
    {OP_CONV2D_GRAD_WEIGHT, 7, 128, 128, 3, 1, true},
    {OP_MATMUL, 1, 256, 10, 1, 0, true},
    {OP_UNARY, 31, 24, 0, 0, 0, true},
    {OP_UNARY, 15, 64, 0, 0, 0, true},
    {OP_UNARY_GRAD, 31, 24, 0, 0, 0, true},
    {OP_UNARY_GRAD, 15, 64, 0, 0, 0, true},
    {OP_BN_STATS, 15, 64, 0, 0, 0, true},
    {OP_BN_STATS, 7, 256, 0, 0, 0, true},
    {OP_BN_APPLY, 15, 64, 0, 0, 0, true},
    {OP_BN_GRAD_STATS, 15, 64, 0, 0, 0, true},
    {OP_BN_GRAD_APPLY, 15, 64, 0, 0, 0, true},
    {OP_BN_ACT, 15, 64, 0, 0, 0, true},
    {OP_BN_ACT_GRAD_STATS, 15, 64, 0, 0, 0, true},
    {OP_BN_ACT_GRAD_APPLY, 15, 64, 0, 0, 0, true},
    {OP_POOL_MAX, 31, 64, 0, 2, 0, true},
    {OP_POOL_MAX, 15, 256, 0, 2, 0, true},
    {OP_POOL_MAX_GRAD, 31, 64, 0, 2, 0, true},
    {OP_POOL_MAX_GRAD, 15, 256, 0, 2, 0, true},
    {OP_REDUCE, 31, 24, 0, 0, 0, true},
    {OP_BINARY, WEIGHTS, 1, 0, 0, 0, false},
    {OP_SGD, WEIGHTS, 1, 0, 0, 0, false},
    {OP_AUGMENT, 32, 3, 0, 0, 0, true},
};

const struct bench_case *bench_cases(size_t *count)
{
    *count = ARRAY_LEN(cases);
    return cases;
}

static void *alloc_tensor(const struct tensor *t)
{
    const uint64_t bytes =
        (tensor_bytes(t) + ALIGNMENT_BYTES - 1) / ALIGNMENT_BYTES * ALIGNMENT_BYTES;

    return aligned_alloc(ALIGNMENT_BYTES, (size_t)bytes);
}

/* Adds an operand; F32 and BF16 ones are filled with normal numbers, others with zeros. NULL: no memory, and so are later
 * ones. */
static void *add_operand(struct bench_call *call, enum dtype dtype, int rank, const int64_t *dim)
{
    const int at = call->in_count;
    const struct rng_key key = {.seed = 1, .stream = (uint32_t)at};
    float *data;
    int64_t count;

    call->in_tensor[at] = tensor_make(dtype, rank, dim);
    call->in[at] = alloc_tensor(&call->in_tensor[at]);
    if (call->in[at] == NULL)
        return NULL;
    call->in_count++;
    memset(call->in[at], 0, (size_t)tensor_bytes(&call->in_tensor[at]));
    count = tensor_count(&call->in_tensor[at]);
    data = call->in[at];
    if (dtype == DT_BF16) {
        float numbers[FILL_PERIOD];

        rng_fill_normal(key, 0.0f, 1.0f, numbers, FILL_PERIOD);
        for (int64_t i = 0; i < count; i++) /* the upper half: any bf16 will do */
            memcpy((char *)call->in[at] + 2 * i, (const char *)&numbers[i % FILL_PERIOD] + 2, 2);
    }
    if (dtype == DT_F32) {
        rng_fill_normal(key, 0.0f, 1.0f, data,
                        (size_t)(count < FILL_PERIOD ? count : (int64_t)FILL_PERIOD));
        for (int64_t i = FILL_PERIOD; i < count; i++)
            data[i] = data[i - FILL_PERIOD];
    }
    return call->in[at];
}

static bool add_operands(struct bench_call *call, int count, enum dtype dtype, int rank,
                         const int64_t *dim)
{
    for (int i = 0; i < count; i++)
        if (add_operand(call, dtype, rank, dim) == NULL)
            return false;
    return true;
}

/* Positive numbers per channel: variances. */
static bool add_variance(struct bench_call *call, int64_t channels)
{
    float *var = add_operand(call, DT_F32, 1, &channels);

    for (int64_t i = 0; var != NULL && i < channels; i++)
        var[i] = 1.0f + var[i] * var[i];
    return var != NULL;
}

static bool set_conv(struct bench_call *call, const struct bench_case *from, int64_t batch)
{
    const int64_t out = from->size + 2 * from->pad - from->taps + 1;
    const int64_t x[4] = {batch, from->size, from->size, from->channels};
    const int64_t w[4] = {from->filters, from->taps, from->taps, from->channels};
    const int64_t y[4] = {batch, out, out, from->filters};
    struct conv_attr *attr = &call->op.attr.conv;

    *attr = (struct conv_attr){.stride = {1, 1},
                               .pad = {from->pad, from->pad, from->pad, from->pad},
                               .dilation = {1, 1},
                               .groups = 1};
    (void)snprintf(call->shape, sizeof call->shape, "%lldx%lldx%lldx%lld -> %lld, %lldx%lld",
                   (long long)batch, (long long)from->size, (long long)from->size,
                   (long long)from->channels, (long long)from->filters, (long long)from->taps,
                   (long long)from->taps);
    if (from->kind == OP_CONV2D)
        return add_operands(call, 1, call->activations, 4, x) &&
               add_operands(call, 1, call->activations, 4, w);
    if (from->kind == OP_CONV2D_GRAD_INPUT) {
        memcpy(attr->shape, x, sizeof x);
        return add_operands(call, 1, call->activations, 4, y) &&
               add_operands(call, 1, call->activations, 4, w);
    }
    memcpy(attr->shape, w, sizeof w);
    return add_operands(call, 1, call->activations, 4, y) &&
           add_operands(call, 1, call->activations, 4, x);
}

static bool set_pool(struct bench_call *call, const struct bench_case *from, const int64_t x[4])
{
    const int64_t y[4] = {x[0], x[1] / from->taps, x[2] / from->taps, x[3]};
    struct pool_attr *attr = &call->op.attr.pool;

    *attr =
        (struct pool_attr){.window = {from->taps, from->taps}, .stride = {from->taps, from->taps}};
    if (from->kind == OP_POOL_MAX)
        return add_operands(call, 1, call->activations, 4, x);
    memcpy(attr->shape, x, sizeof attr->shape);
    return add_operands(call, 1, call->activations, 4, y) && add_operands(call, 1, DT_U8, 4, y);
}

static bool set_augment(struct bench_call *call, const struct bench_case *from, int64_t batch)
{
    const int64_t images[4] = {IMAGES, from->size, from->size, from->channels};
    int32_t *idx;

    call->op.attr.augment = (struct augment_attr){.mode = AUGMENT_TRAIN,
                                                  .flip = FLIP_ALTERNATE,
                                                  .pad = 2,
                                                  .deviation = {0.25, 0.25, 0.25, 0.25},
                                                  .dtype = DT_F32};
    if (!add_operands(call, 1, DT_U8, 4, images))
        return false;
    idx = add_operand(call, DT_I32, 1, &batch);
    for (int64_t i = 0; idx != NULL && i < batch; i++)
        idx[i] = (int32_t)(i * 7 % IMAGES);
    return idx != NULL && add_operands(call, 2, DT_I32, 0, NULL);
}

/* Attributes and operands of the ops that are no convolution. */
static bool set_other(struct bench_call *call, const struct bench_case *from, int64_t batch)
{
    const int64_t x[4] = {batch, from->size, from->size, from->channels};
    const int64_t matrix[2] = {batch, from->channels}, weight[2] = {from->channels, from->filters};
    const int64_t c = from->channels;

    (void)snprintf(call->shape, sizeof call->shape, "%lldx%lldx%lldx%lld", (long long)x[0],
                   (long long)x[1], (long long)x[2], (long long)x[3]);
    if (!from->per_batch)
        (void)snprintf(call->shape, sizeof call->shape, "%lld", (long long)from->size);
    switch (from->kind) {
    case OP_MATMUL:
        (void)snprintf(call->shape, sizeof call->shape, "%lldx%lld -> %lld", (long long)batch,
                       (long long)c, (long long)from->filters);
        return add_operands(call, 1, DT_F32, 2, matrix) && add_operands(call, 1, DT_F32, 2, weight);
    case OP_UNARY:
        call->op.attr.unary.fn = UNARY_GELU_ERF;
        return add_operands(call, 1, call->activations, 4, x);
    case OP_UNARY_GRAD:
        call->op.attr.unary.fn = UNARY_GELU_ERF;
        return add_operands(call, 3, call->activations, 4, x);
    case OP_BN_STATS: return add_operands(call, 1, call->activations, 4, x);
    case OP_BN_APPLY:
        return add_operands(call, 1, call->activations, 4, x) &&
               add_operands(call, 1, DT_F32, 1, &c) && add_variance(call, c) &&
               add_operands(call, 2, DT_F32, 1, &c);
    case OP_BN_GRAD_STATS:
        return add_operands(call, 2, call->activations, 4, x) &&
               add_operands(call, 1, DT_F32, 1, &c) && add_variance(call, c);
    case OP_BN_GRAD_APPLY:
        return add_operands(call, 2, call->activations, 4, x) &&
               add_operands(call, 1, DT_F32, 1, &c) && add_variance(call, c) &&
               add_operands(call, 3, DT_F32, 1, &c);
    case OP_BN_ACT:
    case OP_BN_ACT_GRAD_STATS:
    case OP_BN_ACT_GRAD_APPLY:
        call->op.attr.norm_act.fn = UNARY_GELU_ERF;
        return add_operands(call, from->kind == OP_BN_ACT ? 1 : 2, call->activations, 4, x) &&
               add_operands(call, 1, DT_F32, 1, &c) && add_variance(call, c) &&
               add_operands(call, from->kind == OP_BN_ACT_GRAD_APPLY ? 4 : 2, DT_F32, 1, &c);
    case OP_POOL_MAX:
    case OP_POOL_MAX_GRAD: return set_pool(call, from, x);
    case OP_REDUCE:
        call->op.attr.reduce = (struct reduce_attr){REDUCE_SUM, 7};
        return add_operands(call, 1, call->activations, 4, x);
    case OP_BINARY:
        call->op.attr.binary.fn = BINARY_MUL;
        return add_operands(call, 1, DT_F32, 1, &from->size) &&
               add_operands(call, 1, DT_F32, 0, NULL);
    case OP_SGD:
        call->op.attr.sgd.nesterov = true;
        return add_operands(call, 3, DT_F32, 1, &from->size) &&
               add_operands(call, 3, DT_F32, 0, NULL);
    default: return set_augment(call, from, batch);
    }
}

/* Each operand that is read, and each result, once. */
static double count_bytes(const struct bench_call *call)
{
    double bytes = 0.0;

    for (int i = 0; i < call->in_count; i++)
        if ((call->fit.unread_mask >> i & 1) == 0)
            bytes += (double)tensor_bytes(&call->in_tensor[i]);
    for (int i = 0; i < call->out_count; i++)
        bytes += (double)tensor_bytes(&call->out_tensor[i]);
    if (call->op.kind == OP_AUGMENT) /* of all images it reads those that it shows */
        bytes +=
            (double)tensor_count(&call->out_tensor[0]) - (double)tensor_bytes(&call->in_tensor[0]);
    return bytes;
}

static enum status choose_kernel(struct bench_call *call, uint32_t isa, struct error *err)
{
    struct kernel_query query = {.op = &call->op, .threads = 1};
    size_t scratch_bytes;

    for (int i = 0; i < call->in_count; i++)
        query.in[i] = &call->in_tensor[i];
    for (int i = 0; i < call->out_count; i++)
        query.out[i] = &call->out_tensor[i];
    call->kernel = cpu_select_kernel(&query, isa, &call->fit, call->why);
    scratch_bytes = (call->fit.scratch_bytes + ALIGNMENT_BYTES) / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
    call->scratch = aligned_alloc(ALIGNMENT_BYTES, scratch_bytes);
    if (call->scratch == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for %s", call->shape);
    call->flops = (double)op_flops(&call->op, query.in, query.out);
    call->bytes = count_bytes(call);
    return ST_OK;
}

enum status bench_call_init(struct bench_call *call, const struct bench_case *from, int64_t batch,
                            uint32_t isa, enum dtype activations, struct error *err)
{
    const struct tensor *in[OP_IN_MAX] = {0};
    const bool is_conv = from->kind == OP_CONV2D || from->kind == OP_CONV2D_GRAD_INPUT ||
                         from->kind == OP_CONV2D_GRAD_WEIGHT;
    enum status status;

    memset(call, 0, sizeof *call);
    call->activations = activations;
    call->op.kind = from->kind;
    if (!(is_conv ? set_conv(call, from, batch) : set_other(call, from, batch)))
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for %s", call->shape);
    call->op.in_count = (uint32_t)call->in_count;
    call->op.out_count = (uint32_t)op_info(from->kind)->out_count;
    for (int i = 0; i < call->in_count; i++)
        in[i] = &call->in_tensor[i];
    status = op_shape(&call->op, in, call->out_tensor, err);
    if (status != ST_OK)
        return status;
    for (uint32_t i = 0; i < call->op.out_count; i++) {
        call->out[i] = alloc_tensor(&call->out_tensor[i]);
        if (call->out[i] == NULL)
            return error_set(err, ST_NO_MEMORY, NULL, "no memory for %s", call->shape);
        call->out_count++;
    }
    status = choose_kernel(call, isa, err);
    if (status != ST_OK)
        return status;
    call->args = (struct kernel_args){.op = &call->op,
                                      .in_count = call->in_count,
                                      .out_count = call->out_count,
                                      .scratch = call->scratch,
                                      .fit = &call->fit};
    for (int i = 0; i < call->in_count; i++) {
        call->args.in[i] = call->in[i];
        call->args.in_tensor[i] = &call->in_tensor[i];
    }
    for (int i = 0; i < call->out_count; i++) {
        call->args.out[i] = call->out[i];
        call->args.out_tensor[i] = &call->out_tensor[i];
    }
    return ST_OK;
}

void bench_call_fini(struct bench_call *call)
{
    for (int i = 0; i < call->in_count; i++)
        free(call->in[i]);
    for (int i = 0; i < call->out_count; i++)
        free(call->out[i]);
    free(call->scratch);
    memset(call, 0, sizeof *call);
}
