/* agent/kernels/cpu/table_internal.h: the rows of the CPU's kernel table, best first for each op, and what the
 * files share that define them. */
#ifndef DAYBREAK_AGENT_KERNELS_CPU_TABLE_INTERNAL_H
#define DAYBREAK_AGENT_KERNELS_CPU_TABLE_INTERNAL_H

#include "agent/kernels/cpu/micro_internal.h"
#include "agent/kernels/kernels.h"

/* X(object): for each op the best first. */
#define CPU_KERNEL_LIST(X)                     \
    X(unary_f32_avx512)                        \
    X(unary_f32_avx2)                          \
    X(unary_bf16_avx512)                       \
    X(unary_grad_f32_avx512)                   \
    X(unary_grad_f32_avx2)                     \
    X(unary_grad_bf16_avx512)                  \
    X(binary_f32_avx512)                       \
    X(binary_f32_avx2)                         \
    X(binary_bf16_avx512)                      \
    X(reduce_f32_avx512)                       \
    X(reduce_f32_avx2)                         \
    X(matmul_f32_avx512)                       \
    X(matmul_f32_avx2)                         \
    X(conv2d_winograd_f32_avx512)              \
    X(conv2d_winograd_f32_avx2)                \
    X(conv2d_winograd_bf16_avx512)             \
    X(conv2d_inside_f32_avx512)                \
    X(conv2d_inside_f32_avx2)                  \
    X(conv2d_inside_bf16_avx512)               \
    X(conv2d_f32_avx512)                       \
    X(conv2d_f32_avx2)                         \
    X(conv2d_bf16_avx512)                      \
    X(conv2d_grad_input_winograd_f32_avx512)   \
    X(conv2d_grad_input_winograd_f32_avx2)     \
    X(conv2d_grad_input_winograd_bf16_avx512)  \
    X(conv2d_grad_input_inside_f32_avx512)     \
    X(conv2d_grad_input_inside_f32_avx2)       \
    X(conv2d_grad_input_inside_bf16_avx512)    \
    X(conv2d_grad_input_f32_avx512)            \
    X(conv2d_grad_input_f32_avx2)              \
    X(conv2d_grad_input_bf16_avx512)           \
    X(conv2d_grad_weight_winograd_f32_avx512)  \
    X(conv2d_grad_weight_winograd_f32_avx2)    \
    X(conv2d_grad_weight_winograd_bf16_avx512) \
    X(conv2d_grad_weight_inside_f32_avx512)    \
    X(conv2d_grad_weight_inside_f32_avx2)      \
    X(conv2d_grad_weight_inside_bf16_avx512)   \
    X(conv2d_grad_weight_f32_avx512)           \
    X(conv2d_grad_weight_f32_avx2)             \
    X(conv2d_grad_weight_bf16_avx512)          \
    X(pool_max_f32_avx512)                     \
    X(pool_max_f32_avx2)                       \
    X(pool_max_bf16_avx512)                    \
    X(pool_max_grad_f32_avx512)                \
    X(pool_max_grad_f32_avx2)                  \
    X(pool_max_grad_bf16_avx512)               \
    X(bn_stats_f32_avx512)                     \
    X(bn_stats_f32_avx2)                       \
    X(bn_stats_bf16_avx512)                    \
    X(bn_apply_f32_avx512)                     \
    X(bn_apply_f32_avx2)                       \
    X(bn_apply_bf16_avx512)                    \
    X(bn_grad_stats_f32_avx512)                \
    X(bn_grad_stats_f32_avx2)                  \
    X(bn_grad_stats_bf16_avx512)               \
    X(bn_grad_apply_f32_avx512)                \
    X(bn_grad_apply_f32_avx2)                  \
    X(bn_grad_apply_bf16_avx512)               \
    X(bn_act_f32_avx512)                       \
    X(bn_act_f32_avx2)                         \
    X(bn_act_bf16_avx512)                      \
    X(bn_act_grad_stats_f32_avx512)            \
    X(bn_act_grad_stats_f32_avx2)              \
    X(bn_act_grad_stats_bf16_avx512)           \
    X(bn_act_grad_apply_f32_avx512)            \
    X(bn_act_grad_apply_f32_avx2)              \
    X(bn_act_grad_apply_bf16_avx512)           \
    X(sgd_f32_avx512)                          \
    X(sgd_f32_avx2)                            \
    X(augment_f32)                             \
    X(convert_bf16_avx512)

#define KERNEL_DECLARE(name) extern const struct kernel name;
CPU_KERNEL_LIST(KERNEL_DECLARE)
#undef KERNEL_DECLARE

/* Elements of an elementwise item: 256 KiB of each operand, 30 to 60 us of one core. */
#define CPU_ITEM_ELEMENTS INT64_C(65536)

static inline int64_t cpu_divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Items of equal spans of the first result, and how many elements the one has that begins at `first`. */
static inline int64_t cpu_span_items(const struct kernel_args *args)
{
    return cpu_divide_up(tensor_count(args->out_tensor[0]), CPU_ITEM_ELEMENTS);
}
static inline int64_t cpu_span_length(const struct kernel_args *args, int64_t first)
{
    const int64_t left = tensor_count(args->out_tensor[0]) - first;

    return left < CPU_ITEM_ELEMENTS ? left : CPU_ITEM_ELEMENTS;
}

/* All operands F32 and ROW, or why not. */
bool cpu_accept_f32(const struct kernel_query *query, char why[KERNEL_WHY_BYTES]);
/* Operand `at`, which decides the others' types by the op's rule, is of that dtype and ROW, or why not. */
bool cpu_accept_dtype(const struct kernel_query *query, int at, enum dtype dtype,
                      char why[KERNEL_WHY_BYTES]);

/* Number `at` of an array of micro->dtype. */
static inline const void *cpu_at(const struct micro *micro, const void *data, int64_t at)
{
    return (const char *)data + at * (micro->dtype == DT_BF16 ? 2 : 4);
}
static inline void *cpu_at_out(const struct micro *micro, void *data, int64_t at)
{
    return (char *)data + at * (micro->dtype == DT_BF16 ? 2 : 4);
}

/* For struct kernel's `phases`. */
int cpu_two_phases(const struct kernel_args *args);

/* <op>_f32_avx512 and <op>_f32_avx2 from three functions that take the micro-kernels as a parameter:
 * prefix_accept(query, micro, fit, why), prefix_items(args, micro, phase), prefix_work(args, micro, phase, item).
 * phases_of: NULL for one phase. */
#define IS_BF16_f32  false
#define IS_BF16_bf16 true
#define DEFINE_MICRO_KERNELS(op, prefix, kind, phases_of)                              \
    DEFINE_MICRO_KERNEL(op, prefix, kind, phases_of, f32, avx512, avx512, ISA_AVX512); \
    DEFINE_MICRO_KERNEL(op, prefix, kind, phases_of, f32, avx2, avx2, ISA_AVX2)
/* And <op>_bf16_avx512. */
#define DEFINE_BF16_KERNEL(op, prefix, kind, phases_of)                         \
    DEFINE_MICRO_KERNEL(op, prefix, kind, phases_of, bf16, avx512, avx512_bf16, \
                        ISA_AVX512 | ISA_AVX512_BF16)

/* What kernel.packs says, by op: the convolutions over packed weights. */
#define CPU_PACKS(kind) ((kind) == OP_CONV2D || (kind) == OP_CONV2D_GRAD_INPUT)

#define DEFINE_MICRO_KERNEL(op, prefix, kind, phases_of, type, isa_name, micro_name, isa_bits)     \
    static bool op##_accept_##type##_##isa_name(const struct kernel_query *query, struct fit *fit, \
                                                char why[KERNEL_WHY_BYTES])                        \
    {                                                                                              \
        return prefix##_accept(query, &micro_##micro_name, fit, why);                              \
    }                                                                                              \
    static int64_t op##_items_##type##_##isa_name(const struct kernel_args *args, int phase)       \
    {                                                                                              \
        return prefix##_items(args, &micro_##micro_name, phase);                                   \
    }                                                                                              \
    static void op##_work_##type##_##isa_name(const struct kernel_args *args, int phase,           \
                                              int64_t item)                                        \
    {                                                                                              \
        prefix##_work(args, &micro_##micro_name, phase, item);                                     \
    }                                                                                              \
    const struct kernel op##_##type##_##isa_name = {.name = #op "_" #type "_" #isa_name,           \
                                                    .anchor = (kind),                              \
                                                    .isa = (isa_bits),                             \
                                                    .bf16 = IS_BF16_##type,                        \
                                                    .packs = CPU_PACKS(kind),                      \
                                                    .accept = op##_accept_##type##_##isa_name,     \
                                                    .phases = (phases_of),                         \
                                                    .items = op##_items_##type##_##isa_name,       \
                                                    .work = op##_work_##type##_##isa_name}

#endif
