/* agent/kernels/ops.c: tensors, the table of op kinds, flop counts; see ops.h. Shape rules are in shapes*.c. */
#include "agent/kernels/ops.h"

#include <assert.h>
#include <stdio.h>

#include "agent/kernels/shapes_internal.h"

static const struct op_info infos[OP_KIND_COUNT] = {
#define OP_ROW(id, text, operands_min, operands_max, results, is_composite, is_pure) \
    [id] = {.name = (text),                                                          \
            .in_min = (operands_min),                                                \
            .in_max = (operands_max),                                                \
            .out_count = (results),                                                  \
            .composite = (is_composite),                                             \
            .pure = (is_pure),                                                       \
            .shape = shape_##id},
    OP_LIST(OP_ROW)
#undef OP_ROW
};

static const struct {
    const char *name;
    size_t bytes;
} dtypes[DT_COUNT] = {
    [DT_F32] = {"f32", 4}, [DT_BF16] = {"bf16", 2}, [DT_I32] = {"i32", 4},
    [DT_U8] = {"u8", 1},   [DT_F64] = {"f64", 8},
};

static const char *const unary_names[UNARY_COUNT] = {
    [UNARY_NEG] = "neg",           [UNARY_EXP] = "exp",
    [UNARY_LOG] = "log",           [UNARY_SQRT] = "sqrt",
    [UNARY_RSQRT] = "rsqrt",       [UNARY_RELU] = "relu",
    [UNARY_GELU_ERF] = "gelu_erf", [UNARY_GELU_TANH] = "gelu_tanh",
    [UNARY_SIGMOID] = "sigmoid",   [UNARY_TANH] = "tanh",
    [UNARY_SILU] = "silu",
};

static const char *const binary_names[BINARY_COUNT] = {
    [BINARY_ADD] = "add", [BINARY_SUB] = "sub", [BINARY_MUL] = "mul", [BINARY_DIV] = "div",
    [BINARY_MAX] = "max", [BINARY_MIN] = "min", [BINARY_EQ] = "eq",   [BINARY_LT] = "lt",
    [BINARY_GE] = "ge",   [BINARY_AND] = "and", [BINARY_OR] = "or",
};

static const char *const reduce_names[REDUCE_COUNT] = {
    [REDUCE_SUM] = "sum",
    [REDUCE_MAX] = "max",
    [REDUCE_MEAN] = "mean",
    [REDUCE_ARGMAX] = "argmax",
};

size_t dtype_bytes(enum dtype dtype)
{
    assert((unsigned)dtype < DT_COUNT);
    return dtypes[dtype].bytes;
}

const char *dtype_name(enum dtype dtype)
{
    assert((unsigned)dtype < DT_COUNT);
    return dtypes[dtype].name;
}

enum dtype dtype_of_sums(enum dtype dtype)
{
    return dtype == DT_F64 ? DT_F64 : DT_F32;
}

bool dtype_is_float(enum dtype dtype)
{
    return dtype == DT_F32 || dtype == DT_BF16 || dtype == DT_F64;
}

struct tensor tensor_make(enum dtype dtype, int rank, const int64_t *dim)
{
    struct tensor t = {.dtype = dtype, .format = FMT_ROW, .rank = (uint8_t)rank};

    assert(rank >= 0);
    assert(rank <= TENSOR_RANK_MAX);
    for (int d = 0; d < TENSOR_RANK_MAX; d++) {
        t.dim[d] = d < rank ? dim[d] : 1;
        assert(t.dim[d] > 0);
    }
    t.c_phys = rank > 0 ? t.dim[rank - 1] : 1;
    return t;
}

int64_t tensor_count(const struct tensor *t)
{
    int64_t count = 1;

    for (int d = 0; d < t->rank; d++)
        count *= t->dim[d];
    return count;
}

uint64_t tensor_bytes(const struct tensor *t)
{
    const int64_t c = t->rank > 0 ? t->dim[t->rank - 1] : 1;

    return (uint64_t)(tensor_count(t) / c * t->c_phys) * dtype_bytes(t->dtype);
}

bool tensor_same_shape(const struct tensor *a, const struct tensor *b)
{
    if (a->rank != b->rank)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->dim[d] != b->dim[d])
            return false;
    return true;
}

char *tensor_format(const struct tensor *t, char text[TENSOR_TEXT_BYTES])
{
    int at = snprintf(text, TENSOR_TEXT_BYTES, "%s[", dtype_name(t->dtype));

    for (int d = 0; d < t->rank && at < TENSOR_TEXT_BYTES; d++)
        at += snprintf(text + at, (size_t)(TENSOR_TEXT_BYTES - at), d == 0 ? "%lld" : ",%lld",
                       (long long)t->dim[d]);
    if (at < TENSOR_TEXT_BYTES)
        (void)snprintf(text + at, (size_t)(TENSOR_TEXT_BYTES - at), "]");
    return text;
}

const struct op_info *op_info(enum op_kind kind)
{
    assert((unsigned)kind < OP_KIND_COUNT);
    return &infos[kind];
}

enum status op_shape(const struct op *op, const struct tensor *const *in, struct tensor *out,
                     struct error *err)
{
    const struct op_info *info = op_info(op->kind);

    if (op->in_count < (uint32_t)info->in_min || op->in_count > (uint32_t)info->in_max)
        return error_set(err, ST_INVALID, NULL, "%s takes %d to %d operands, not %u", info->name,
                         info->in_min, info->in_max, op->in_count);
    return info->shape(op, in, out, err);
}

const char *unary_name(enum unary_fn fn)
{
    assert((unsigned)fn < UNARY_COUNT);
    return unary_names[fn];
}

const char *binary_name(enum binary_fn fn)
{
    assert((unsigned)fn < BINARY_COUNT);
    return binary_names[fn];
}

const char *reduce_name(enum reduce_fn fn)
{
    assert((unsigned)fn < REDUCE_COUNT);
    return reduce_names[fn];
}

uint64_t op_flops(const struct op *op, const struct tensor *const *in,
                  const struct tensor *const *out)
{
    const struct tensor *w;

    switch ((int)op->kind) {
    case OP_MATMUL: {
        const struct tensor *a = in[0];
        const int64_t k = a->dim[op->attr.matmul.transpose_a ? a->rank - 2 : a->rank - 1];

        return 2 * (uint64_t)(tensor_count(out[0]) * k);
    }
    case OP_CONV2D:
        w = in[1];
        return 2 * (uint64_t)(tensor_count(out[0]) * w->dim[1] * w->dim[2] * w->dim[3]);
    case OP_CONV2D_GRAD_INPUT:
        w = in[1];
        return 2 * (uint64_t)(tensor_count(in[0]) * w->dim[1] * w->dim[2] * w->dim[3]);
    case OP_CONV2D_GRAD_WEIGHT:
        w = out[0];
        return 2 * (uint64_t)(tensor_count(in[0]) * w->dim[1] * w->dim[2] * w->dim[3]);
    default: return 0;
    }
}

/* Arithmetic steps per element of the operand or result that op_flops_other() counts; a transcendental
 * function is one step. */
uint64_t op_flops_other(const struct op *op, const struct tensor *const *in,
                        const struct tensor *const *out)
{
    switch ((int)op->kind) {
    case OP_UNARY: /* out elements */
    case OP_BINARY: return (uint64_t)tensor_count(out[0]);
    case OP_UNARY_GRAD: return 2 * (uint64_t)tensor_count(out[0]); /* f'(x), times dy */
    case OP_REDUCE: return (uint64_t)tensor_count(in[0]);          /* one add each */
    case OP_SCATTER_ROWS: return (uint64_t)tensor_count(in[1]);    /* one add each */
    case OP_POOL_MAX:                                              /* a comparison a tap */
    case OP_POOL_AVG:                                              /* an add a tap */
        return (uint64_t)(tensor_count(out[0]) * op->attr.pool.window[0] * op->attr.pool.window[1]);
    case OP_POOL_MAX_GRAD: return (uint64_t)tensor_count(in[0]); /* one add each */
    case OP_POOL_AVG_GRAD:
        return (uint64_t)(tensor_count(in[0]) * op->attr.pool.window[0] * op->attr.pool.window[1]);
    case OP_BN_STATS: return 4 * (uint64_t)tensor_count(in[0]);       /* add; sub, mul, add */
    case OP_BN_APPLY: return 2 * (uint64_t)tensor_count(out[0]);      /* mul, add */
    case OP_BATCH_NORM: return 6 * (uint64_t)tensor_count(out[0]);    /* both of these */
    case OP_BN_GRAD_STATS: return 5 * (uint64_t)tensor_count(in[0]);  /* add; sub, mul, mul, add */
    case OP_BN_GRAD_APPLY: return 4 * (uint64_t)tensor_count(out[0]); /* two multiply-adds */
    case OP_BN_ACT: return 3 * (uint64_t)tensor_count(out[0]);        /* bn_apply and unary */
    case OP_BN_ACT_GRAD_STATS: return 9 * (uint64_t)tensor_count(in[0]); /* the parts' sum */
    case OP_BN_ACT_GRAD_APPLY:                                           /* likewise */
    case OP_LAYER_NORM: return 8 * (uint64_t)tensor_count(out[0]); /* statistics, mul, mul-add */
    case OP_LAYER_NORM_GRAD: return 12 * (uint64_t)tensor_count(in[0]); /* four sums, then dx */
    case OP_SOFTMAX: return 5 * (uint64_t)tensor_count(out[0]);      /* mul, max, exp, add, div */
    case OP_SOFTMAX_GRAD: return 4 * (uint64_t)tensor_count(out[0]); /* mul, add, sub, mul */
    case OP_XENT: return 6 * (uint64_t)tensor_count(in[0]);          /* softmax, log, mul-add */
    case OP_XENT_GRAD: return 6 * (uint64_t)tensor_count(out[0]);    /* softmax, sub, mul */
    case OP_AUGMENT: return (uint64_t)tensor_count(out[0]);          /* a table look-up */
    case OP_SGD: return 6 * (uint64_t)tensor_count(out[0]);          /* three multiply-adds */
    default: return 0;
    }
}
