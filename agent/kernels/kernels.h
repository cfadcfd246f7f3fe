/* agent/kernels/kernels.h: the contract of every kernel. A kernel knows pointers, sizes and formats; it cannot
 * fail, allocates nothing, and knows no threads: its work is cut into phases of numbered items.
 * Items of one phase write disjoint ranges and may run in any order on any thread; a phase starts when the
 * one before has ended. Reductions are cut into chunks fixed by shape and combined in index order in a later
 * phase, so results depend neither on the thread count nor on who took which item.
 * A call of `work` may use 1 MiB of stack (padded pieces of images lie there).
 * Ownership: everything is the executor's. Threads: any. */
#ifndef DAYBREAK_AGENT_KERNELS_KERNELS_H
#define DAYBREAK_AGENT_KERNELS_KERNELS_H

#include <stddef.h>

#include "agent/kernels/ops.h"

#define KERNEL_WHY_BYTES 96

/* Bits of an instruction set mask. */
enum isa {
    ISA_AVX2 = 1u << 0,   /* AVX2 and FMA */
    ISA_AVX512 = 1u << 1, /* F, BW, DQ, VL */
    ISA_AMX_BF16 = 1u << 2,
    ISA_AVX512_BF16 = 1u << 3, /* products of pairs of bf16, and conversion */
};

/* What a kernel wants of the plan for one op; all zero is right for a plain one. */
struct fit {
    size_t scratch_bytes; /* 64-byte aligned, contents undefined at the start */
    uint32_t
        unread_mask; /* bit i: operand i is not read (unary_grad's x or y): its memory may be gone */
    uint32_t
        inplace_mask; /* bit i: the result paired with operand i may be the same memory (same bytes):
                       * out[0]; for sgd's momentum (operand 2), out[1]. row_write in place writes the row alone */
    int block[4];     /* the kernel's own choice of blocking, printed by the plan */
    uint64_t
        flops; /* products and sums that it does, where its algorithm saves some; 0: those of op_flops() */
};

struct kernel_args {
    const struct op *op;
    int in_count, out_count;
    const void *in[OP_IN_MAX];
    void *out[OP_OUT_MAX];
    const struct tensor *in_tensor[OP_IN_MAX], *out_tensor[OP_OUT_MAX];
    void *scratch;
    const struct fit *fit;
};

struct kernel_query {
    const struct op *op;
    const struct tensor *in[OP_IN_MAX], *out[OP_OUT_MAX];
    int threads; /* that the executor will have; a hint for item sizes, never for bits */
};

struct kernel {
    const char *name; /* "conv2d_f32_avx512" */
    enum op_kind anchor;
    uint32_t isa; /* bits that the host must have; 0: plain C */
    bool reference;
    bool
        bf16; /* for ops with a bf16 operand or result, which other rows are not asked for; a reference takes all */
    bool
        packs; /* of several phases, the first reads operand 1 alone and leaves in scratch what the others need of it and
                 * do not change: where the operand stands still, the plan keeps it */
    /* Fills fit (zeroed before), or says why not ("C=3 below 16"). */
    bool (*accept)(const struct kernel_query *query, struct fit *fit, char why[KERNEL_WHY_BYTES]);
    int (*phases)(const struct kernel_args *args); /* NULL: one */
    int64_t (*items)(const struct kernel_args *args,
                     int phase); /* NULL: one; 50 to 100 us each is right */
    void (*work)(const struct kernel_args *args, int phase, int64_t item);
};

/* The oracle of an op: plain loops in double, any dtype, ROW; NULL for ops that the executor does by itself
 * (input, var, assign, output) and for composites. */
const struct kernel *kernel_reference(enum op_kind kind);

/* What this processor has, limited by `allowed`; cpu_isa_parse reads "avx2", "avx512", "avx512-bf16", "amx",
 * "scalar", "auto":
 * ST_USAGE for another word, ST_UNSUPPORTED in one sentence when this host lacks it. */
uint32_t cpu_isa_detect(void);
enum status cpu_isa_parse(const char *text, uint32_t *mask, struct error *err);
/* Whether training in bf16 is faster here than in F32, with those sets. */
bool cpu_bf16_pays(uint32_t mask);
const char *cpu_isa_name(uint32_t mask); /* the best bit's name; "scalar" */

/* Takes the best row of the CPU table that accepts; falls to the reference. why gathers the refusals of the
 * better rows ("amx: ..."), empty when the first was taken. Never fails for a non-composite op. */
const struct kernel *cpu_select_kernel(const struct kernel_query *query, uint32_t isa,
                                       struct fit *fit, char why[KERNEL_WHY_BYTES]);
/* All rows, best first, for `devices` and tests. */
const struct kernel *const *cpu_kernel_table(size_t *count);

#endif
