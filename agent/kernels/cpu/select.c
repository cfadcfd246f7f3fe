/* agent/kernels/cpu/select.c: the table of the CPU's kernels, best first, and the choice among them. Every
 * row says in its `isa` what the processor must have, in its `accept` which shapes it takes; the reference
 * stands behind all of them. */
#include "agent/kernels/cpu/table_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct kernel *const cpu_kernels[] = {
#define KERNEL_ROW(name) &(name),
    CPU_KERNEL_LIST(KERNEL_ROW)
#undef KERNEL_ROW
};

const struct kernel *const *cpu_kernel_table(size_t *count)
{
    *count = ARRAY_LEN(cpu_kernels);
    return cpu_kernels;
}

/* Appends "; text" to why as far as it fits. */
static void append_why(char why[KERNEL_WHY_BYTES], const char *name, const char *text)
{
    const size_t used = strlen(why);

    if (used < KERNEL_WHY_BYTES - 1)
        (void)snprintf(why + used, KERNEL_WHY_BYTES - used, "%s%s: %s", used > 0 ? "; " : "", name,
                       text);
}

static bool has_bf16(const struct kernel_query *query)
{
    for (int i = 0; i < OP_IN_MAX && query->in[i] != NULL; i++)
        if (query->in[i]->dtype == DT_BF16)
            return true;
    return query->out[0] != NULL && query->out[0]->dtype == DT_BF16;
}

const struct kernel *cpu_select_kernel(const struct kernel_query *query, uint32_t isa,
                                       struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    const struct kernel *reference = kernel_reference(query->op->kind);
    const bool bf16 = has_bf16(query);

    assert(reference != NULL); /* sources, sinks and composites are not asked for */
    why[0] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(cpu_kernels); i++) {
        const struct kernel *kernel = cpu_kernels[i];
        char refusal[KERNEL_WHY_BYTES] = "";

        if (kernel->anchor != query->op->kind || kernel->bf16 != bf16)
            continue;
        *fit = (struct fit){0};
        if ((kernel->isa & ~isa) != 0)
            (void)snprintf(refusal, sizeof refusal, "no %s", cpu_isa_name(kernel->isa));
        else if (kernel->accept(query, fit, refusal))
            return kernel;
        append_why(why, kernel->name, refusal);
    }
    if (bf16 && why[0] == '\0')
        append_why(why, op_info(query->op->kind)->name, "no row for bf16");
    *fit = (struct fit){0};
    (void)reference->accept(query, fit, why);
    return reference;
}

bool cpu_accept_f32(const struct kernel_query *query, char why[KERNEL_WHY_BYTES])
{
    for (int i = 0; i < OP_IN_MAX && query->in[i] != NULL; i++)
        if (query->in[i]->dtype != DT_F32 || query->in[i]->format != FMT_ROW) {
            (void)snprintf(why, KERNEL_WHY_BYTES, "operand %d is %s", i,
                           dtype_name(query->in[i]->dtype));
            return false;
        }
    return true;
}

bool cpu_accept_dtype(const struct kernel_query *query, int at, enum dtype dtype,
                      char why[KERNEL_WHY_BYTES])
{
    const struct tensor *operand = query->in[at];

    if (operand->dtype == dtype && operand->format == FMT_ROW)
        return true;
    (void)snprintf(why, KERNEL_WHY_BYTES, "operand %d is %s", at, dtype_name(operand->dtype));
    return false;
}

int cpu_two_phases(const struct kernel_args *args)
{
    (void)args;
    return 2;
}
