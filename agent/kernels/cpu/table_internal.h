/* agent/kernels/cpu/table_internal.h: the rows of the CPU's kernel table, best first for each op. Shared by
 * select.c and the files that define the kernels. */
#ifndef DAYBREAK_AGENT_KERNELS_CPU_TABLE_INTERNAL_H
#define DAYBREAK_AGENT_KERNELS_CPU_TABLE_INTERNAL_H

#include "agent/kernels/kernels.h"

/* X(object); _avx512 before _avx2 before plain C. */
#define CPU_KERNEL_LIST(X) X(augment_f32)

#define KERNEL_DECLARE(name) extern const struct kernel name;
CPU_KERNEL_LIST(KERNEL_DECLARE)
#undef KERNEL_DECLARE

#endif
