/* agent/graph/count.c: see count.h. */
#include "agent/graph/count.h"

/* Sources, sinks and views move nothing by themselves. */
static bool moves_bytes(enum op_kind kind)
{
    return kind != OP_INPUT && kind != OP_VAR && kind != OP_ASSIGN && kind != OP_OUTPUT &&
           kind != OP_RESHAPE;
}

struct graph_count graph_count_work(const struct graph *g)
{
    const uint32_t *operands = graph_operands(g);
    struct graph_count count = {0};

    for (size_t i = 0; i < graph_op_count(g); i++) {
        const struct op *op = graph_op(g, i);
        const struct tensor *in[OP_IN_MAX] = {0}, *out[OP_OUT_MAX] = {0};
        uint64_t bytes = 0;

        for (uint32_t k = 0; k < op->in_count; k++) {
            in[k] = graph_tensor(g, operands[op->in_first + k]);
            bytes += tensor_bytes(in[k]);
        }
        for (uint32_t k = 0; k < op->out_count; k++) {
            out[k] = graph_tensor(g, operands[op->out_first + k]);
            bytes += tensor_bytes(out[k]);
        }
        count.flops += op_flops(op, in, out);
        count.flops_other += op_flops_other(op, in, out);
        count.bytes += moves_bytes(op->kind) ? bytes : 0;
        if (op->kind == OP_VAR &&
            store_at(graph_store(g), op->attr.source.index)->spec.role == VAR_PARAM)
            count.param_count += (uint64_t)tensor_count(out[0]);
    }
    return count;
}
