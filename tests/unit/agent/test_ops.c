/* Tensors, shape rules with what they refuse, and flop counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above. */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "agent/kernels/ops.h"

/* An op on given operands: its results as text ("f32[2,3] u8[2,3]"), or what it is refused with. */
struct shape_case {
    enum op_kind kind;
    union op_attr attr;
    struct {
        enum dtype dtype;
        int rank;
        int64_t dim[TENSOR_RANK_MAX];
    } in[OP_IN_MAX];
    int in_count;
    const char *want;
};

#define F(...)                                              \
    {                                                       \
        DT_F32, sizeof((int[]){__VA_ARGS__}) / sizeof(int), \
        {                                                   \
            __VA_ARGS__                                     \
        }                                                   \
    }
#define B(...)                                               \
    {                                                        \
        DT_BF16, sizeof((int[]){__VA_ARGS__}) / sizeof(int), \
        {                                                    \
            __VA_ARGS__                                      \
        }                                                    \
    }
#define I(...)                                              \
    {                                                       \
        DT_I32, sizeof((int[]){__VA_ARGS__}) / sizeof(int), \
        {                                                   \
            __VA_ARGS__                                     \
        }                                                   \
    }
#define U(...)                                             \
    {                                                      \
        DT_U8, sizeof((int[]){__VA_ARGS__}) / sizeof(int), \
        {                                                  \
            __VA_ARGS__                                    \
        }                                                  \
    }
#define SCALAR(type) \
    {                \
        type, 0,     \
        {            \
            0        \
        }            \
    }
#define CONV(...)                                                                 \
    {                                                                             \
        .conv = {.stride = {1, 1}, .dilation = {1, 1}, .groups = 1, __VA_ARGS__ } \
    }
#define POOL(...)                                \
    {                                            \
        .pool = {.stride = {2, 2}, __VA_ARGS__ } \
    }
#define NONE  \
    {         \
        {     \
            0 \
        }     \
    }

static const struct shape_case good[] = {
    {OP_INPUT, {.source = {.dtype = DT_U8, .rank = 2, .dim = {3, 4}}}, {SCALAR(0)}, 0, "u8[3,4]"},
    {OP_FILL, {.fill = {.dtype = DT_F64}}, {SCALAR(0)}, 0, "f64[]"},
    {OP_IOTA, {.iota = {.dtype = DT_F32, .rank = 1, .dim = {5}}}, {SCALAR(0)}, 0, "f32[5]"},
    {OP_ROW_READ, NONE, {F(9, 4), SCALAR(DT_I32)}, 2, "f32[4]"},
    {OP_ROW_WRITE, NONE, {F(9), SCALAR(DT_I32), SCALAR(DT_F32)}, 3, "f32[9]"},
    {OP_CONVERT, {.convert = {.dtype = DT_BF16}}, {F(2, 3)}, 1, "bf16[2,3]"},
    {OP_RESHAPE, {.shape = {.rank = 1, .dim = {6}}}, {F(2, 3)}, 1, "f32[6]"},
    {OP_TRANSPOSE, {.perm = {{2, 0, 1}}}, {F(2, 3, 4)}, 1, "f32[4,2,3]"},
    {OP_SLICE, {.slice = {{1}, {8}, {3}}}, {F(8)}, 1, "f32[3]"},
    {OP_SLICE, {.slice = {{7}, {8}, {9}}}, {F(8)}, 1, "f32[1]"},
    {OP_PAD, {.pad = {PAD_REFLECT, {2}, {2}}}, {F(3)}, 1, "f32[7]"},
    {OP_CONCAT, {.axis = {1}}, {F(2, 3), F(2, 1), F(2, 4)}, 3, "f32[2,8]"},
    {OP_GATHER_ROWS, NONE, {F(9, 4), I(2, 3)}, 2, "f32[2,3,4]"},
    {OP_SCATTER_ROWS, {.rows = {9}}, {I(2, 3), F(2, 3, 4)}, 2, "f32[9,4]"},
    {OP_UNARY, {.unary = {UNARY_RELU}}, {B(4)}, 1, "bf16[4]"},
    {OP_UNARY_GRAD, {.unary = {UNARY_RELU}}, {F(4), F(4), F(4)}, 3, "f32[4]"},
    {OP_BINARY, {.binary = {BINARY_ADD}}, {F(4, 1), F(3, 1, 5)}, 2, "f32[3,4,5]"},
    {OP_BINARY, {.binary = {BINARY_LT}}, {I(4), SCALAR(DT_I32)}, 2, "u8[4]"},
    {OP_BINARY, {.binary = {BINARY_AND}}, {U(4), U(4)}, 2, "u8[4]"},
    {OP_SELECT, NONE, {U(3), F(2, 1), SCALAR(DT_F32)}, 3, "f32[2,3]"},
    {OP_REDUCE, {.reduce = {REDUCE_SUM, 5}}, {F(2, 3, 4)}, 1, "f32[1,3,1]"},
    {OP_REDUCE, {.reduce = {REDUCE_ARGMAX, 2}}, {F(2, 3)}, 1, "i32[2,1]"},
    {OP_MATMUL, NONE, {F(2, 3), F(3, 4)}, 2, "f32[2,4]"},
    {OP_MATMUL, {.matmul = {true, true}}, {F(5, 3, 2), F(5, 4, 3)}, 2, "f32[5,2,4]"},
    {OP_MATMUL, NONE, {F(5, 2, 3), F(3, 4)}, 2, "f32[5,2,4]"},
    {OP_CONV2D, CONV(.pad = {1, 1, 1, 1}), {F(2, 8, 9, 3), F(4, 3, 3, 3)}, 2, "f32[2,8,9,4]"},
    {OP_CONV2D,
     {.conv = {.stride = {2, 3}, .dilation = {2, 1}, .groups = 2, .pad = {0, 1, 0, 0}}},
     {F(1, 9, 9, 4), F(6, 3, 2, 2)},
     2,
     "f32[1,3,3,6]"},
    {OP_CONV2D_GRAD_INPUT,
     CONV(.shape = {2, 8, 8, 3}),
     {B(2, 6, 6, 4), B(4, 3, 3, 3)},
     2,
     "bf16[2,8,8,3]"},
    {OP_CONV2D_GRAD_WEIGHT,
     CONV(.shape = {4, 3, 3, 3}),
     {B(2, 6, 6, 4), B(2, 8, 8, 3)},
     2,
     "f32[4,3,3,3]"},
    {OP_POOL_MAX, POOL(.window = {2, 2}), {F(2, 31, 30, 4)}, 1, "f32[2,15,15,4] u8[2,15,15,4]"},
    {OP_POOL_AVG, POOL(.window = {3, 3}, .pad = {1, 1, 1, 1}), {F(2, 8, 8, 4)}, 1, "f32[2,4,4,4]"},
    {OP_POOL_MAX_GRAD,
     POOL(.window = {2, 2}, .shape = {2, 31, 31, 4}),
     {F(2, 15, 15, 4), U(2, 15, 15, 4)},
     2,
     "f32[2,31,31,4]"},
    {OP_POOL_AVG_GRAD,
     POOL(.window = {2, 2}, .shape = {2, 31, 31, 4}),
     {F(2, 15, 15, 4)},
     1,
     "f32[2,31,31,4]"},
    {OP_BATCH_NORM, NONE, {B(2, 3, 4), F(4), F(4)}, 3, "bf16[2,3,4] f32[4] f32[4]"},
    {OP_BN_STATS, NONE, {F(6, 4)}, 1, "f32[4] f32[4]"},
    {OP_BN_APPLY, NONE, {F(6, 4), F(4), F(4), F(4), F(4)}, 5, "f32[6,4]"},
    {OP_BN_GRAD_STATS, NONE, {B(6, 4), B(6, 4), F(4), F(4)}, 4, "f32[4] f32[4]"},
    {OP_BN_GRAD_APPLY, NONE, {F(6, 4), F(6, 4), F(4), F(4), F(4), F(4), F(4)}, 7, "f32[6,4]"},
    {OP_BN_ACT, NONE, {B(6, 4), F(4), F(4), F(4), F(4)}, 5, "bf16[6,4]"},
    {OP_BN_ACT_GRAD_STATS, NONE, {B(6, 4), B(6, 4), F(4), F(4), F(4), F(4)}, 6, "f32[4] f32[4]"},
    {OP_BN_ACT_GRAD_APPLY,
     NONE,
     {F(6, 4), F(6, 4), F(4), F(4), F(4), F(4), F(4), F(4)},
     8,
     "f32[6,4]"},
    {OP_LAYER_NORM, NONE, {B(2, 3, 4), F(4), F(4)}, 3, "bf16[2,3,4] f32[2,3,1] f32[2,3,1]"},
    {OP_LAYER_NORM_GRAD,
     NONE,
     {F(3, 4), F(3, 4), F(3, 1), F(3, 1), F(4)},
     5,
     "f32[3,4] f32[4] f32[4]"},
    {OP_SOFTMAX, NONE, {F(3, 4)}, 1, "f32[3,4]"},
    {OP_SOFTMAX_GRAD, NONE, {F(3, 4), F(3, 4)}, 2, "f32[3,4]"},
    {OP_XENT, NONE, {B(3, 4), I(3), SCALAR(DT_I32)}, 3, "f32[3] f32[3]"},
    {OP_XENT, NONE, {F(3, 4), F(3, 4), SCALAR(DT_I32)}, 3, "f32[3] f32[3]"},
    {OP_XENT_GRAD, NONE, {F(3), B(3, 4), I(3), SCALAR(DT_I32)}, 4, "bf16[3,4]"},
    {OP_SAMPLE, {.sample = {100, 7}}, {SCALAR(DT_I32), SCALAR(DT_I32)}, 2, "i32[7] i32[]"},
    {OP_AUGMENT,
     {.augment = {.pad = 2, .deviation = {1, 1, 1}, .dtype = DT_BF16}},
     {U(9, 32, 32, 3), I(4), SCALAR(DT_I32), SCALAR(DT_I32)},
     4,
     "bf16[4,32,32,3]"},
    {OP_SGD,
     NONE,
     {F(4), F(4), F(4), SCALAR(DT_F32), SCALAR(DT_F32), SCALAR(DT_F32)},
     6,
     "f32[4] f32[4]"},
};

static const struct shape_case bad[] = {
    {OP_INPUT,
     {.source = {.rank = 7}},
     {SCALAR(0)},
     0,
     "input: the result would have rank 7, above 6"},
    {OP_INPUT,
     {.source = {.rank = 2, .dim = {3, 0}}},
     {SCALAR(0)},
     0,
     "input: dim 1 of the result would be 0"},
    {OP_FILL, {.fill = {.rank = 2, .dim = {1 << 30, 1 << 30}}}, {SCALAR(0)}, 0, "2^40 elements"},
    {OP_FILL, {.fill = {.dtype = DT_COUNT}}, {SCALAR(0)}, 0, "fill: the result has no dtype"},
    {OP_IOTA,
     {.iota = {.dtype = DT_F32, .rank = 1, .dim = {5}, .axis = 1}},
     {SCALAR(0)},
     0,
     "iota: axis 1 of rank 1"},
    {OP_IOTA,
     {.iota = {.dtype = DT_U8, .rank = 1, .dim = {5}}},
     {SCALAR(0)},
     0,
     "only i32 and f32"},
    {OP_ASSIGN,
     {.source = {.dtype = DT_F32, .rank = 1, .dim = {3}}},
     {F(4)},
     1,
     "assign operand 0 f32[4]: f32[3] is needed"},
    {OP_ROW_READ, NONE, {F(9), F(1)}, 2, "row_read operand 1 f32[1]: i32 is needed"},
    {OP_ROW_READ, NONE, {F(9), I(1)}, 2, "row_read operand 1 i32[1]: i32[] is needed"},
    {OP_ROW_READ, NONE, {SCALAR(DT_F32), SCALAR(DT_I32)}, 2, "a table has rank 1"},
    {OP_ROW_WRITE,
     NONE,
     {F(9, 4), SCALAR(DT_I32), F(3)},
     3,
     "row_write operand 2 f32[3]: f32[4] is needed"},
    {OP_CONVERT, {.convert = {DT_F32, FMT_N32}}, {F(32, 2, 2, 3)}, 1, "chosen by the plan"},
    {OP_RESHAPE,
     {.shape = {.rank = 1, .dim = {5}}},
     {F(2, 3)},
     1,
     "reshape operand 0 f32[2,3]: f32[5] has another number of elements"},
    {OP_TRANSPOSE, {.perm = {{0, 0}}}, {F(2, 3)}, 1, "axis 0 in place 1 is no permutation"},
    {OP_SLICE, {.slice = {{0}, {9}, {1}}}, {F(8)}, 1, "dim 0 cannot be cut 0:9:1"},
    {OP_SLICE, {.slice = {{3}, {3}, {1}}}, {F(8)}, 1, "dim 0 cannot be cut 3:3:1"},
    {OP_SLICE, {.slice = {{0}, {3}, {0}}}, {F(8)}, 1, "dim 0 cannot be cut 0:3:0"},
    {OP_PAD, {.pad = {PAD_REFLECT, {3}, {0}}}, {F(3)}, 1, "dim 0 cannot be padded by 3 and 0"},
    {OP_PAD, {.pad = {PAD_ZERO, {-1}, {0}}}, {F(3)}, 1, "dim 0 cannot be padded by -1 and 0"},
    {OP_CONCAT, {.axis = {2}}, {F(2, 3), F(2, 3)}, 2, "there is no dim 2 to join along"},
    {OP_CONCAT,
     {.axis = {1}},
     {F(2, 3), F(3, 3)},
     2,
     "concat operand 1 f32[3,3]: f32[2,3] is needed"},
    {OP_GATHER_ROWS, NONE, {F(2, 3, 4, 5), I(2, 2, 2, 2)}, 2, "rank 7, above 6"},
    {OP_SCATTER_ROWS, {.rows = {9}}, {I(3), F(4, 2)}, 2, "dim 0 must be 3, as of the indices"},
    {OP_SCATTER_ROWS, {.rows = {9}}, {I(3), I(3)}, 2, "a float type is needed"},
    {OP_SCATTER_ROWS, NONE, {I(3), F(3)}, 2, "dim 0 of the result would be 0"},
    {OP_UNARY, NONE, {I(3)}, 1, "unary operand 0 i32[3]: a float type is needed"},
    {OP_UNARY_GRAD, NONE, {F(3), F(3), F(4)}, 3, "unary_grad operand 2 f32[4]: f32[3] is needed"},
    {OP_BINARY, NONE, {F(3), B(3)}, 2, "binary operand 1 bf16[3]: f32 is needed"},
    {OP_BINARY,
     NONE,
     {F(2, 3), F(2)},
     2,
     "binary operand 1 f32[2]: dim 0 does not broadcast with 3"},
    {OP_BINARY, NONE, {U(3), U(3)}, 2, "add does not take this type"},
    {OP_BINARY, {.binary = {BINARY_AND}}, {F(3), F(3)}, 2, "and does not take this type"},
    {OP_SELECT, NONE, {F(3), F(3), F(3)}, 3, "select operand 0 f32[3]: u8 is needed"},
    {OP_SELECT, NONE, {U(3), F(3), I(3)}, 3, "select operand 2 i32[3]: f32 is needed"},
    {OP_REDUCE, {.reduce = {REDUCE_SUM, 0}}, {F(3)}, 1, "it has not the dims of mask 0x0"},
    {OP_REDUCE, {.reduce = {REDUCE_SUM, 2}}, {F(3)}, 1, "it has not the dims of mask 0x2"},
    {OP_REDUCE, {.reduce = {REDUCE_MEAN, 1}}, {I(3)}, 1, "mean does not take this type"},
    {OP_MATMUL,
     NONE,
     {F(2, 3), F(4, 5)},
     2,
     "matmul operand 1 f32[4,5]: dim 0 must be 3, the inner dim of operand 0"},
    {OP_MATMUL, NONE, {F(2, 2, 3), F(3, 3, 4)}, 2, "batch dim 0 must be 2"},
    {OP_MATMUL, NONE, {F(2, 2, 2, 3), F(2, 3, 4)}, 2, "rank 2 or 4 is needed"},
    {OP_MATMUL, NONE, {F(3), F(3, 4)}, 2, "rank 2 or more is needed"},
    {OP_CONV2D,
     CONV(.pad = {0}),
     {F(2, 8, 8, 3), F(4, 3, 3, 2)},
     2,
     "conv2d operand 1 f32[4,3,3,2]: 2 channels of 3 in 1 groups need 3"},
    {OP_CONV2D,
     CONV(.pad = {0}),
     {F(2, 2, 8, 3), F(4, 3, 3, 3)},
     2,
     "3x3 taps do not fit into 2x8 pixels"},
    {OP_CONV2D,
     {.conv = {.stride = {1, 1}, .dilation = {1, 1}, .groups = 2}},
     {F(2, 8, 8, 3), F(4, 3, 3, 3)},
     2,
     "2 groups do not divide 3 and 4 channels"},
    {OP_CONV2D,
     {.conv = {.groups = 1, .dilation = {1, 1}}},
     {F(2, 8, 8, 3), F(4, 3, 3, 3)},
     2,
     "stride and dilation start at 1"},
    {OP_CONV2D, CONV(.pad = {-1}), {F(2, 8, 8, 3), F(4, 3, 3, 3)}, 2, "padding is not negative"},
    {OP_CONV2D,
     CONV(.pad = {0}),
     {F(8, 8, 3), F(4, 3, 3, 3)},
     2,
     "conv2d operand 0 f32[8,8,3]: rank 4 is needed"},
    {OP_CONV2D_GRAD_INPUT,
     CONV(.shape = {2, 8, 8, 3}),
     {F(2, 7, 6, 4), F(4, 3, 3, 3)},
     2,
     "conv2d_grad_input operand 0 f32[2,7,6,4]: f32[2,6,6,4] is needed"},
    {OP_CONV2D_GRAD_WEIGHT,
     CONV(.shape = {4, 3, 3}),
     {F(2, 6, 6, 4), F(2, 8, 8, 3)},
     2,
     "dim 3 of attr.shape is below 1"},
    {OP_POOL_MAX,
     POOL(.window = {2, 2}, .pad = {2}),
     {F(2, 8, 8, 4)},
     1,
     "padding 2 is not below the window 2"},
    {OP_POOL_MAX, POOL(.window = {17, 16}), {F(2, 32, 32, 4)}, 1, "more than 256 places"},
    {OP_POOL_AVG,
     POOL(.window = {9, 2}),
     {F(2, 8, 8, 4)},
     1,
     "a window of 9x2 does not fit into 8x8"},
    {OP_POOL_MAX_GRAD,
     POOL(.window = {2, 2}, .shape = {2, 8, 8, 4}),
     {F(2, 4, 4, 4), F(2, 4, 4, 4)},
     2,
     "pool_max_grad operand 1 f32[2,4,4,4]: u8 is needed"},
    {OP_BATCH_NORM, NONE, {B(2, 3), B(3), F(3)}, 3, "batch_norm operand 1 bf16[3]: f32 is needed"},
    {OP_BATCH_NORM, {.norm = {-1}}, {F(2, 3), F(3), F(3)}, 3, "eps is negative"},
    {OP_BN_APPLY,
     NONE,
     {F(2, 3), F(3), F(3), F(3), F(4)},
     5,
     "bn_apply operand 4 f32[4]: f32[3] is needed"},
    {OP_BN_GRAD_STATS,
     NONE,
     {F(2, 3), F(3, 3), F(3), F(3)},
     4,
     "bn_grad_stats operand 1 f32[3,3]: f32[2,3] is needed"},
    {OP_LAYER_NORM_GRAD,
     NONE,
     {F(3, 4), F(3, 4), F(3), F(3, 1), F(4)},
     5,
     "layer_norm_grad operand 2 f32[3]: f32[3,1] is needed"},
    {OP_SOFTMAX, NONE, {SCALAR(DT_F32)}, 1, "rank 1 or more is needed"},
    {OP_XENT, NONE, {F(3, 4), I(4), SCALAR(DT_I32)}, 3, "xent operand 1 i32[4]: i32[3] is needed"},
    {OP_XENT,
     NONE,
     {F(3, 4), F(3, 5), SCALAR(DT_I32)},
     3,
     "xent operand 1 f32[3,5]: f32[3,4] is needed"},
    {OP_SAMPLE,
     {.sample = {6, 7}},
     {SCALAR(DT_I32), SCALAR(DT_I32)},
     2,
     "a batch of 7 from 6 images"},
    {OP_AUGMENT,
     {.augment = {.pad = 5, .deviation = {1, 1, 1}}},
     {U(9, 32, 32, 3), I(4), SCALAR(DT_I32), SCALAR(DT_I32)},
     4,
     "a shift of 5 pixels"},
    {OP_AUGMENT,
     {.augment = {.deviation = {1, 1, 0}}},
     {U(9, 32, 32, 3), I(4), SCALAR(DT_I32), SCALAR(DT_I32)},
     4,
     "channel 2 has no deviation"},
    {OP_AUGMENT,
     {.augment = {.mode = AUGMENT_VIEW, .pad = 1, .view_dx = 2, .deviation = {1, 1, 1}}},
     {U(9, 32, 32, 3), I(4), SCALAR(DT_I32), SCALAR(DT_I32)},
     4,
     "shifted by more than 1 pixels"},
    {OP_SGD,
     NONE,
     {B(4), B(4), B(4), SCALAR(DT_F32), SCALAR(DT_F32), SCALAR(DT_F32)},
     6,
     "sgd operand 0 bf16[4]: weights are f32"},
    {OP_SGD,
     NONE,
     {F(4), F(4), F(4), F(1), SCALAR(DT_F32), SCALAR(DT_F32)},
     6,
     "sgd operand 3 f32[1]: f32[] is needed"},
    {OP_MATMUL, NONE, {F(2, 3)}, 1, "matmul takes 2 to 2 operands, not 1"},
};

static enum status infer(const struct shape_case *c, struct tensor out[OP_OUT_MAX],
                         struct error *err)
{
    struct op op = {.kind = c->kind, .in_count = (uint32_t)c->in_count};
    struct tensor tensors[OP_IN_MAX];
    const struct tensor *in[OP_IN_MAX];

    memcpy(&op.attr, &c->attr, sizeof op.attr);
    for (int i = 0; i < c->in_count; i++) {
        tensors[i] = tensor_make(c->in[i].dtype, c->in[i].rank, c->in[i].dim);
        in[i] = &tensors[i];
    }
    return op_shape(&op, in, out, err);
}

static void shape_rules_give_the_results_of_the_contract(void **state)
{
    bool seen[OP_KIND_COUNT] = {[OP_VAR] = true, [OP_ASSIGN] = true, [OP_OUTPUT] = true};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct tensor out[OP_OUT_MAX];
        struct error err = {0};
        char text[TENSOR_TEXT_BYTES], all[4 * TENSOR_TEXT_BYTES] = "";
        size_t length = 0;

        if (infer(&good[i], out, &err) != ST_OK)
            fail_msg("case %zu: %s", i, err.detail);
        for (int k = 0; k < op_info(good[i].kind)->out_count; k++)
            length += (size_t)snprintf(all + length, sizeof all - length, "%s%s", k > 0 ? " " : "",
                                       tensor_format(&out[k], text));
        assert_string_equal(all, good[i].want);
        seen[good[i].kind] = true;
    }
    for (int kind = 0; kind < OP_KIND_COUNT; kind++)
        if (!seen[kind])
            fail_msg("no case of %s", op_info((enum op_kind)kind)->name);
}

static void shape_rules_name_op_operand_and_dims_at_fault(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct tensor out[OP_OUT_MAX];
        struct error err = {0};

        assert_int_equal(infer(&bad[i], out, &err), ST_INVALID);
        if (strstr(err.detail, bad[i].want) == NULL ||
            strncmp(err.detail, op_info(bad[i].kind)->name, strlen(op_info(bad[i].kind)->name)) !=
                0)
            fail_msg("case %zu: \"%s\" not in \"%s\"", i, bad[i].want, err.detail);
    }
}

static void tensors_know_their_size(void **state)
{
    const struct tensor scalar = tensor_make(DT_F64, 0, NULL);
    const struct tensor image = tensor_make(DT_BF16, 4, (int64_t[]){2, 3, 5, 7});
    const struct tensor flat = tensor_make(DT_BF16, 1, (int64_t[]){210});
    char text[TENSOR_TEXT_BYTES];

    (void)state;
    assert_int_equal(tensor_count(&scalar), 1);
    assert_int_equal(tensor_bytes(&scalar), 8);
    assert_int_equal(tensor_count(&image), 210);
    assert_int_equal(tensor_bytes(&image), 420);
    assert_int_equal(image.c_phys, 7);
    assert_int_equal(image.dim[4], 1);
    assert_false(tensor_same_shape(&image, &flat));
    assert_true(tensor_same_shape(&image, &image));
    assert_string_equal(tensor_format(&image, text), "bf16[2,3,5,7]");
    assert_string_equal(tensor_format(&scalar, text), "f64[]");
    assert_int_equal(dtype_bytes(DT_U8), 1);
    assert_int_equal(dtype_bytes(DT_I32), 4);
    assert_int_equal(dtype_of_sums(DT_BF16), DT_F32);
    assert_int_equal(dtype_of_sums(DT_F64), DT_F64);
}

/* The padding lanes of a wider format are bytes, not elements. */
static void bytes_count_physical_channels(void **state)
{
    struct tensor image = tensor_make(DT_BF16, 4, (int64_t[]){32, 3, 5, 7});

    (void)state;
    image.format = FMT_N32;
    image.c_phys = 8;
    assert_int_equal(tensor_count(&image), 32 * 3 * 5 * 7);
    assert_int_equal(tensor_bytes(&image), 32 * 3 * 5 * 8 * 2);
}

static void flops_count_multiply_adds_of_all_taps(void **state)
{
    static const struct {
        int index; /* in good[] */
        enum op_kind kind;
        uint64_t flops;
    } * c,
        cases[] = {
            {0, OP_MATMUL, 2 * 2 * 4 * 3},                 /* [2,3] x [3,4] */
            {1, OP_MATMUL, 2 * 5 * 2 * 4 * 3},             /* batches of 5 */
            {0, OP_CONV2D, 2 * 2 * 8 * 9 * 4 * 27},        /* taps on padding count */
            {1, OP_CONV2D, 2 * 1 * 3 * 3 * 6 * 3 * 2 * 2}, /* two of four channels in each group */
            {0, OP_CONV2D_GRAD_INPUT, 2 * 2 * 6 * 6 * 4 * 27},
            {0, OP_CONV2D_GRAD_WEIGHT, 2 * 2 * 6 * 6 * 4 * 27},
            {0, OP_SOFTMAX, 0},
        };

    (void)state;
    for (c = cases; c < cases + ARRAY_LEN(cases); c++) {
        struct tensor tensors[OP_IN_MAX], results[OP_OUT_MAX];
        const struct tensor *in[OP_IN_MAX], *out[OP_OUT_MAX];
        struct error err = {0};
        size_t at = 0;

        for (int skip = c->index; good[at].kind != c->kind || skip-- > 0;)
            at++;
        struct op op = {.kind = c->kind, .in_count = (uint32_t)good[at].in_count};

        memcpy(&op.attr, &good[at].attr, sizeof op.attr);
        for (int i = 0; i < good[at].in_count; i++) {
            tensors[i] = tensor_make(good[at].in[i].dtype, good[at].in[i].rank, good[at].in[i].dim);
            in[i] = &tensors[i];
        }
        assert_int_equal(op_shape(&op, in, results, &err), ST_OK);
        for (int i = 0; i < OP_OUT_MAX; i++)
            out[i] = &results[i];
        assert_int_equal(op_flops(&op, in, out), c->flops);
        assert_int_equal(op_flops_other(&op, in, out) == 0, c->flops != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shape_rules_give_the_results_of_the_contract),
        cmocka_unit_test(shape_rules_name_op_operand_and_dims_at_fault),
        cmocka_unit_test(tensors_know_their_size),
        cmocka_unit_test(bytes_count_physical_channels),
        cmocka_unit_test(flops_count_multiply_adds_of_all_taps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
