/* agent/graph/nn.h: layers: functions that declare a layer's variables in the store (or find them, when another
 * program declared them before) and build its ops. Names are PyTorch's: a layer "conv1" under the label
 * "layers.1" has "layers.1.conv1.weight". Parameters are F32 (F64 in tests); what a layer computes on is `compute`:
 * the conversions between the two are placed here and nowhere else.
 * Ownership: the store owns variables; struct nn is the caller's and borrows both. Threads: one.
 *
 * Initial values are the workload's: store memory is zero, which is right for no weight. */
#ifndef DAYBREAK_AGENT_GRAPH_NN_H
#define DAYBREAK_AGENT_GRAPH_NN_H

#include "agent/graph/graph.h"

struct nn {
    struct graph *graph;
    enum dtype compute; /* of activations: F32, BF16; F64 in tests */
    bool training; /* batch statistics and their running averages; else the averages are used */
    bool folded;   /* not training: nn_conv2d_norm() folds */
};

/* Labels of the graph that a layer of this name gets; "": none added. */
void nn_push(struct nn *nn, const char *name);
void nn_pop(struct nn *nn);

/* "<label>.<name>" in the store, declared unless it is there; then its tensor and role must be the same. */
struct var *nn_var(struct nn *nn, const struct var_spec *spec);
/* Reads a variable in the compute type. */
value nn_read(struct nn *nn, struct var *var);

struct nn_conv {
    int64_t channels;  /* K */
    int64_t window[2]; /* R, S */
    int64_t stride[2]; /* 0 means 1 */
    int64_t pad[4];    /* top, bottom, left, right */
    bool bias;
    int weight_group, bias_group; /* parameter groups */
};
/* x [N,H,W,C]; weight [K,R,S,C] (OIHW in the checkpoint), bias [K]. */
value nn_conv2d(struct nn *nn, const char *name, value x, const struct nn_conv *conv);

struct nn_linear {
    int64_t width; /* of the result */
    bool bias;
    int weight_group, bias_group;
};
/* x [..,in], rank 2 or more; weight [in,out] ([out,in] in the checkpoint), bias [out]. */
value nn_linear(struct nn *nn, const char *name, value x, const struct nn_linear *linear);

struct nn_norm {
    double eps;
    double momentum; /* PyTorch's: running = (1 - momentum) running + momentum * batch's */
    int weight_group, bias_group;
};
/* Over all dims but the last: weight [C], bias [C]; running_mean, running_var [C] are STATE. When training, the
 * running averages are assigned; the variance that joins them is unbiased (M / (M - 1)), the one that normalises
 * is not. M must be above 1. */
value nn_batch_norm(struct nn *nn, const char *name, value x, const struct nn_norm *norm);
/* Convolution without a bias, max-pool (NULL: none) and batch norm. Folded it is pool(conv(x, w a)) + b with
 * a = weight / sqrt(running_var + eps) and b = bias - running_mean a, which the plan computes once for as long as the
 * variables stand still. It is the same only where no weight of the norm is below 0 when a pool stands between: the
 * caller answers for that. */
value nn_conv2d_norm(struct nn *nn, const char *conv_name, const char *norm_name, value x,
                     const struct nn_conv *conv, const struct pool_attr *pool,
                     const struct nn_norm *norm);
/* Over the last dim; momentum is not used. */
value nn_layer_norm(struct nn *nn, const char *name, value x, const struct nn_norm *norm);

/* relu(bn2(conv2(relu(bn1(conv1(x))))) + shortcut), 3x3 taps, conv1 strided; the shortcut is x, or a strided 1x1
 * convolution with batch norm ("downsample.0", "downsample.1") where the shape changes. He et al., arXiv 1512.03385. */
value nn_residual_block(struct nn *nn, const char *name, value x, int64_t channels, int64_t stride,
                        const struct nn_norm *norm);

/* Self-attention over x [N,T,D], D a multiple of heads: softmax(q k^T / sqrt(D / heads)) v, then a linear layer
 * ("in_proj", "out_proj"). Vaswani et al., arXiv 1706.03762. */
value nn_attention(struct nn *nn, const char *name, value x, int64_t heads);

#endif
