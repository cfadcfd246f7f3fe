/* agent/kernels/shapes_internal.h: shape rules, one per op kind, for the table in ops.c, and what they share.
 * shapes.c has sources, data movement and arithmetic; shapes_nn.c the ops of networks.
 * Ownership: borrows all. Threads: pure. */
#ifndef DAYBREAK_AGENT_KERNELS_SHAPES_INTERNAL_H
#define DAYBREAK_AGENT_KERNELS_SHAPES_INTERNAL_H

#include "agent/kernels/ops.h"

#define SHAPE_DECLARE(id, name, in_min, in_max, out, composite, pure)           \
    enum status shape_##id(const struct op *op, const struct tensor *const *in, \
                           struct tensor *result, struct error *err);
OP_LIST(SHAPE_DECLARE)
#undef SHAPE_DECLARE

/* ST_INVALID with "conv2d operand 1 f32[8,3,3,2]: " before the words. operand -1: the op as a whole. */
enum status shape_refuse(const struct op *op, const struct tensor *const *in, int operand,
                         struct error *err, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Makes a result; refuses a bad dtype, rank, dims below 1, or more than TENSOR_COUNT_MAX elements. */
enum status shape_result(const struct op *op, enum dtype dtype, int rank, const int64_t *dim,
                         struct tensor *result, struct error *err);

/* Checks that refuse operand `at` when it is not as said. */
enum status shape_need_float(const struct op *op, const struct tensor *const *in, int at,
                             struct error *err);
enum status shape_need_dtype(const struct op *op, const struct tensor *const *in, int at,
                             enum dtype dtype, struct error *err);
enum status shape_need_rank(const struct op *op, const struct tensor *const *in, int at, int rank,
                            struct error *err);
enum status shape_need_dims(const struct op *op, const struct tensor *const *in, int at, int rank,
                            const int64_t *dim, struct error *err);
/* dtype and dims at once. */
enum status shape_need(const struct op *op, const struct tensor *const *in, int at,
                       enum dtype dtype, int rank, const int64_t *dim, struct error *err);
/* The same dtype and dims as operand `like`. */
enum status shape_need_like(const struct op *op, const struct tensor *const *in, int at, int like,
                            struct error *err);

#endif
