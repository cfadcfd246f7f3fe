/* agent/graph/graph_print.c: one line an op: "%4 f32[2,8] = conv2d(%0, %3) stride=1,1 .. @layers.1.conv1". */
#include <stdio.h>

#include "agent/graph/graph.h"
#include "agent/graph/graph_internal.h"

static void print_list(FILE *out, const char *name, const int64_t *number, int count)
{
    (void)fprintf(out, " %s=", name);
    for (int i = 0; i < count; i++)
        (void)fprintf(out, "%s%lld", i > 0 ? "," : "", (long long)number[i]);
}

static void print_window(FILE *out, const struct op *op)
{
    const struct pool_attr *pool = &op->attr.pool;

    print_list(out, "window", pool->window, 2);
    print_list(out, "stride", pool->stride, 2);
    print_list(out, "pad", pool->pad, 4);
}

static void print_conv(FILE *out, const struct op *op)
{
    const struct conv_attr *conv = &op->attr.conv;

    print_list(out, "stride", conv->stride, 2);
    print_list(out, "pad", conv->pad, 4);
    print_list(out, "dilation", conv->dilation, 2);
    print_list(out, "groups", &conv->groups, 1);
}

static void print_augment(FILE *out, const struct augment_attr *a)
{
    static const char *const flips[] = {"none", "random", "alternate"};

    (void)fprintf(out, " pad=%lld", (long long)a->pad);
    if (a->mode == AUGMENT_TRAIN)
        (void)fprintf(out, " mode=train flip=%s brightness=%g contrast=%g", flips[a->flip],
                      a->brightness, a->contrast);
    else
        (void)fprintf(out, " mode=view dy=%lld dx=%lld flip=%d", (long long)a->view_dy,
                      (long long)a->view_dx, a->view_flip);
}

/* Attributes that the tensors of an op do not show already. */
static void print_attr(const struct graph *g, const struct op *op, int rank, FILE *out)
{
    const union op_attr *a = &op->attr;
    int64_t axes[TENSOR_RANK_MAX];

    switch ((int)op->kind) {
    case OP_INPUT:
    case OP_OUTPUT: (void)fprintf(out, " \"%s\"", graph_source_name(g, op)); break;
    case OP_VAR:
    case OP_ASSIGN:
        (void)fprintf(out, " \"%s\"", store_at(graph_store(g), a->source.index)->name);
        break;
    case OP_FILL: (void)fprintf(out, " value=%.17g", a->fill.value); break;
    case OP_IOTA: (void)fprintf(out, " axis=%d", a->iota.axis); break;
    case OP_TRANSPOSE:
        for (int d = 0; d < rank; d++)
            axes[d] = a->perm.axis[d];
        print_list(out, "perm", axes, rank);
        break;
    case OP_SLICE:
        print_list(out, "start", a->slice.start, rank);
        print_list(out, "stop", a->slice.stop, rank);
        print_list(out, "step", a->slice.step, rank);
        break;
    case OP_PAD:
        (void)fprintf(out, " fill=%s", a->pad.fill == PAD_ZERO ? "zero" : "reflect");
        print_list(out, "lo", a->pad.lo, rank);
        print_list(out, "hi", a->pad.hi, rank);
        break;
    case OP_CONCAT: (void)fprintf(out, " axis=%d", a->axis.axis); break;
    case OP_UNARY:
    case OP_UNARY_GRAD: (void)fprintf(out, " fn=%s", unary_name(a->unary.fn)); break;
    case OP_BINARY: (void)fprintf(out, " fn=%s", binary_name(a->binary.fn)); break;
    case OP_REDUCE:
        (void)fprintf(out, " fn=%s axes=0x%x", reduce_name(a->reduce.fn), a->reduce.axes);
        break;
    case OP_MATMUL:
        (void)fprintf(out, "%s%s", a->matmul.transpose_a ? " transpose_a" : "",
                      a->matmul.transpose_b ? " transpose_b" : "");
        break;
    case OP_CONV2D:
    case OP_CONV2D_GRAD_INPUT:
    case OP_CONV2D_GRAD_WEIGHT: print_conv(out, op); break;
    case OP_POOL_MAX:
    case OP_POOL_MAX_GRAD:
    case OP_POOL_AVG:
    case OP_POOL_AVG_GRAD: print_window(out, op); break;
    case OP_BATCH_NORM:
    case OP_BN_STATS:
    case OP_BN_APPLY:
    case OP_BN_GRAD_STATS:
    case OP_BN_GRAD_APPLY:
    case OP_LAYER_NORM: (void)fprintf(out, " eps=%g", a->norm.eps); break;
    case OP_BN_ACT:
    case OP_BN_ACT_GRAD_STATS:
    case OP_BN_ACT_GRAD_APPLY:
        (void)fprintf(out, " %s eps=%g", unary_name(a->norm_act.fn), a->norm_act.eps);
        break;
    case OP_SOFTMAX:
    case OP_SOFTMAX_GRAD: (void)fprintf(out, " scale=%.17g", a->softmax.scale); break;
    case OP_XENT:
    case OP_XENT_GRAD: (void)fprintf(out, " on=%g off=%g", a->xent.on, a->xent.off); break;
    case OP_SAMPLE: (void)fprintf(out, " images=%lld", (long long)a->sample.images); break;
    case OP_AUGMENT: print_augment(out, &a->augment); break;
    case OP_SGD: (void)fprintf(out, "%s", a->sgd.nesterov ? " nesterov" : ""); break;
    default: break;
    }
}

void graph_print(const struct graph *g, FILE *out)
{
    const uint32_t *operands = graph_operands(g);
    char text[TENSOR_TEXT_BYTES];

    (void)fprintf(out, "graph %s\n", graph_name(g));
    for (size_t i = 0; i < graph_op_count(g); i++) {
        const struct op *op = graph_op(g, i);
        int rank = op->in_count > 0 ? graph_tensor(g, operands[op->in_first])->rank : 0;

        for (uint32_t r = 0; r < op->out_count; r++) {
            const value v = operands[op->out_first + r];

            (void)fprintf(out, "%s%%%u %s", r > 0 ? ", " : "", v,
                          tensor_format(graph_tensor(g, v), text));
        }
        (void)fprintf(out, "%s%s(", op->out_count > 0 ? " = " : "", op_info(op->kind)->name);
        for (uint32_t k = 0; k < op->in_count; k++)
            (void)fprintf(out, "%s%%%u", k > 0 ? ", " : "", operands[op->in_first + k]);
        (void)fprintf(out, ")");
        print_attr(g, op, rank, out);
        if (graph_label(g, op)[0] != '\0')
            (void)fprintf(out, " @%s", graph_label(g, op));
        (void)fprintf(out, "\n");
    }
}
