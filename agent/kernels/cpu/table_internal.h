/* agent/kernels/cpu/table_internal.h: the rows of the CPU's kernel table, best first for each op, and what the
 * files share that define them. */
#ifndef DAYBREAK_AGENT_KERNELS_CPU_TABLE_INTERNAL_H
#define DAYBREAK_AGENT_KERNELS_CPU_TABLE_INTERNAL_H

#include "agent/kernels/cpu/micro_internal.h"
#include "agent/kernels/kernels.h"

/* X(object): for each op the best first. */
#define CPU_KERNEL_LIST(X)           \
    X(unary_f32_avx512)              \
    X(unary_f32_avx2)                \
    X(unary_grad_f32_avx512)         \
    X(unary_grad_f32_avx2)           \
    X(binary_f32_avx512)             \
    X(binary_f32_avx2)               \
    X(reduce_f32_avx512)             \
    X(reduce_f32_avx2)               \
    X(matmul_f32_avx512)             \
    X(matmul_f32_avx2)               \
    X(conv2d_f32_avx512)             \
    X(conv2d_f32_avx2)               \
    X(conv2d_grad_input_f32_avx512)  \
    X(conv2d_grad_input_f32_avx2)    \
    X(conv2d_grad_weight_f32_avx512) \
    X(conv2d_grad_weight_f32_avx2)   \
    X(pool_max_f32_avx512)           \
    X(pool_max_f32_avx2)             \
    X(pool_max_grad_f32_avx512)      \
    X(pool_max_grad_f32_avx2)        \
    X(bn_stats_f32_avx512)           \
    X(bn_stats_f32_avx2)             \
    X(bn_apply_f32_avx512)           \
    X(bn_apply_f32_avx2)             \
    X(bn_grad_stats_f32_avx512)      \
    X(bn_grad_stats_f32_avx2)        \
    X(bn_grad_apply_f32_avx512)      \
    X(bn_grad_apply_f32_avx2)        \
    X(sgd_f32_avx512)                \
    X(sgd_f32_avx2)                  \
    X(augment_f32)

#define KERNEL_DECLARE(name) extern const struct kernel name;
CPU_KERNEL_LIST(KERNEL_DECLARE)
#undef KERNEL_DECLARE

/* Elements of an elementwise item: 256 KiB of each operand, 30 to 60 us of one core. */
#define CPU_ITEM_ELEMENTS INT64_C(65536)

static inline int64_t cpu_divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* All operands F32 and ROW, or why not. */
bool cpu_accept_f32(const struct kernel_query *query, char why[KERNEL_WHY_BYTES]);
/* For struct kernel's `phases`. */
int cpu_two_phases(const struct kernel_args *args);

/* <op>_f32_avx512 and <op>_f32_avx2 from three functions that take the micro-kernels as a parameter:
 * prefix_accept(query, micro, fit, why), prefix_items(args, micro, phase), prefix_work(args, micro, phase, item).
 * phases_of: NULL for one phase. */
#define DEFINE_MICRO_KERNELS(op, prefix, kind, phases_of)                 \
    DEFINE_MICRO_KERNEL(op, prefix, kind, phases_of, avx512, ISA_AVX512); \
    DEFINE_MICRO_KERNEL(op, prefix, kind, phases_of, avx2, ISA_AVX2)

#define DEFINE_MICRO_KERNEL(op, prefix, kind, phases_of, isa_name, isa_bits)                  \
    static bool op##_accept_##isa_name(const struct kernel_query *query, struct fit *fit,     \
                                       char why[KERNEL_WHY_BYTES])                            \
    {                                                                                         \
        return prefix##_accept(query, &micro_##isa_name, fit, why);                           \
    }                                                                                         \
    static int64_t op##_items_##isa_name(const struct kernel_args *args, int phase)           \
    {                                                                                         \
        return prefix##_items(args, &micro_##isa_name, phase);                                \
    }                                                                                         \
    static void op##_work_##isa_name(const struct kernel_args *args, int phase, int64_t item) \
    {                                                                                         \
        prefix##_work(args, &micro_##isa_name, phase, item);                                  \
    }                                                                                         \
    const struct kernel op##_f32_##isa_name = {.name = #op "_f32_" #isa_name,                 \
                                               .anchor = (kind),                              \
                                               .isa = (isa_bits),                             \
                                               .accept = op##_accept_##isa_name,              \
                                               .phases = (phases_of),                         \
                                               .items = op##_items_##isa_name,                \
                                               .work = op##_work_##isa_name}

#endif
