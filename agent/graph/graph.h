/* agent/graph/graph.h: append-only SSA builder with static shapes. A graph is one program's meaning: variables are
 * read as they were before it and written after it, so the order of ops cannot change what it means.
 * Errors stick: the first fault is kept, later calls return VALUE_NONE, and graph_finish() reports it with the op's
 * label. Ownership: the graph owns its ops; the store owns variables and outlives graphs. Threads: one. */
#ifndef DAYBREAK_AGENT_GRAPH_GRAPH_H
#define DAYBREAK_AGENT_GRAPH_GRAPH_H

#include <stdio.h>

#include "agent/graph/store.h"
#include "agent/kernels/ops.h"

typedef uint32_t value; /* the one typedef here: a number, not a pointer */
#define VALUE_NONE UINT32_MAX

struct graph;
struct graph *graph_create(const char *name,
                           struct store *store); /* exits when out of memory, as all below */
void graph_destroy(struct graph *g);

/* Sources and sinks. */
value graph_input(struct graph *g, const char *name, enum dtype dtype, int rank,
                  const int64_t *dim);
value graph_var(struct graph *g, struct var *var);
void graph_assign(struct graph *g, struct var *var, value v); /* at most once a variable */
void graph_output(struct graph *g, const char *name, value v);
value graph_fill(struct graph *g, enum dtype dtype, int rank, const int64_t *dim, double number);
value graph_scalar(struct graph *g, enum dtype dtype, double number); /* rank 0 fill */
value graph_iota(struct graph *g, enum dtype dtype, int rank, const int64_t *dim, int axis);

value graph_row_read(struct graph *g, value table, value i);
value graph_row_write(struct graph *g, value table, value i, value row);
value graph_convert(struct graph *g, value x,
                    enum dtype dtype); /* the same value when it is that already */
value graph_reshape(struct graph *g, value x, int rank, const int64_t *dim);
value graph_transpose(struct graph *g, value x, const int32_t *axis);
value graph_slice(struct graph *g, value x, struct slice_attr slice);
value graph_pad(struct graph *g, value x, struct pad_attr pad);
value graph_concat(struct graph *g, const value *x, int count, int axis);
value graph_gather_rows(struct graph *g, value table, value idx);
value graph_scatter_rows(struct graph *g, value idx, value rows, int64_t row_count);
value graph_unary(struct graph *g, enum unary_fn fn, value x);
value graph_unary_grad(struct graph *g, enum unary_fn fn, value dy, value x, value y);
value graph_binary(struct graph *g, enum binary_fn fn, value a, value b);
value graph_add(struct graph *g, value a, value b);
value graph_sub(struct graph *g, value a, value b);
value graph_mul(struct graph *g, value a, value b);
value graph_select(struct graph *g, value condition, value a, value b);
value graph_reduce(struct graph *g, enum reduce_fn fn, value x, uint32_t axes);
value graph_matmul(struct graph *g, value a, value b, struct matmul_attr matmul);
value graph_conv2d(struct graph *g, value x, value w, struct conv_attr conv);
value graph_conv2d_grad_input(struct graph *g, value dy, value w, struct conv_attr conv);
value graph_conv2d_grad_weight(struct graph *g, value dy, value x, struct conv_attr conv);
value graph_pool_max(struct graph *g, value x, struct pool_attr pool, value *index);
value graph_pool_max_grad(struct graph *g, value dy, value index, struct pool_attr pool);
value graph_pool_avg(struct graph *g, value x, struct pool_attr pool);
value graph_pool_avg_grad(struct graph *g, value dy, struct pool_attr pool);
value graph_batch_norm(struct graph *g, value x, value gamma, value beta, double eps, value *mean,
                       value *var);
void graph_bn_stats(struct graph *g, value x, double eps, value *mean, value *var);
value graph_bn_apply(struct graph *g, value x, value mean, value var, value gamma, value beta,
                     double eps);
void graph_bn_grad_stats(struct graph *g, value dy, value x, value mean, value var, double eps,
                         value *sum_dy, value *sum_dy_xhat);
value graph_bn_grad_apply(struct graph *g, value dy, value x, value mean, value var, value gamma,
                          value sum_dy, value sum_dy_xhat, double eps);
value graph_layer_norm(struct graph *g, value x, value gamma, value beta, double eps, value *mean,
                       value *rstd);
value graph_layer_norm_grad(struct graph *g, value dy, value x, value mean, value rstd, value gamma,
                            value *dgamma, value *dbeta);
value graph_softmax(struct graph *g, value x, double scale);
value graph_softmax_grad(struct graph *g, value dy, value y, double scale);
value graph_xent(struct graph *g, value logits, value label, value valid, struct xent_attr xent,
                 value *correct);
value graph_xent_grad(struct graph *g, value dloss, value logits, value label, value valid,
                      struct xent_attr xent);
value graph_sample(struct graph *g, value seed, value step, struct sample_attr sample,
                   value *epoch);
value graph_augment(struct graph *g, value images, value idx, value epoch, value seed,
                    struct augment_attr augment);
value graph_sgd(struct graph *g, value w, value grad, value m, value lr, value wd, value mu,
                bool nesterov, value *m_new);

/* Labels nest: "layers.1" then "conv1" gives "layers.1.conv1"; they name ops in errors, profile and plan. */
#define GRAPH_LABEL_DATA      "data" /* first part: sampling and augmenting what a step is fed with */
#define GRAPH_LABEL_OPTIMISER "optimiser" /* first part: from the gradients to new weights */
#define GRAPH_LABEL_GRADIENT  "grad"      /* last part: what graph_gradient() has added */
void graph_push_label(struct graph *g, const char *label);
void graph_pop_label(struct graph *g);
const char *graph_current_label(const struct graph *g); /* until the next push or pop; "": none */

/* Backward ops for d loss / d wanted[i] into grads[i] (loss: one element). Walks in reverse creation order; several
 * uses of a value are joined by add; only ops between a wanted variable and the loss are visited. A wanted
 * variable that the loss does not depend on is a fault. */
void graph_gradient(struct graph *g, value loss, struct var *const *wanted, size_t count,
                    value *grads);

/* The first fault, or ST_OK. No builder call may follow. */
enum status graph_finish(struct graph *g, struct error *err);

/* Reading, for plan and interpreter. */
const char *graph_name(const struct graph *g);
struct store *graph_store(const struct graph *g);
size_t graph_op_count(const struct graph *g);
const struct op *graph_op(const struct graph *g, size_t index);
const uint32_t *graph_operands(const struct graph *g); /* pool of value numbers that ops index */
size_t graph_value_count(const struct graph *g);
const struct tensor *graph_tensor(const struct graph *g, value v);
const char *graph_label(const struct graph *g, const struct op *op);
const char *graph_source_name(const struct graph *g, const struct op *op); /* input, output: name */
void graph_print(const struct graph *g, FILE *out); /* one line an op; golden in tests */

/* Runs the graph op by op with the reference kernels, in creation order, one allocation a value: the meaning that
 * every plan must reproduce. inputs and outputs by position of declaration; outputs hold tensor_bytes each. */
enum status graph_interpret(const struct graph *g, const void *const *inputs, void *const *outputs,
                            struct error *err);

#endif
