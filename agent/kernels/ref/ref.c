/* agent/kernels/ref/ref.c: index arithmetic of the reference kernels and their table; see ref.h. */
#include "agent/kernels/ref/ref.h"

#include <stddef.h>

static const struct kernel *const reference_table[OP_KIND_COUNT] = {
#define REF_ROW(kind, name) [kind] = &name##_ref,
    REF_LIST(REF_ROW)
#undef REF_ROW
};

const struct kernel *kernel_reference(enum op_kind kind)
{
    assert((unsigned)kind < OP_KIND_COUNT);
    return reference_table[kind];
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type of every accept */
bool ref_accept(const struct kernel_query *query, struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    (void)query;
    (void)fit;
    (void)why;
    return true;
}

void ref_unravel(const struct tensor *t, int64_t index, int64_t coord[TENSOR_RANK_MAX])
{
    for (int d = t->rank - 1; d >= 0; d--) {
        coord[d] = index % t->dim[d];
        index /= t->dim[d];
    }
}

int64_t ref_ravel(const struct tensor *t, const int64_t coord[TENSOR_RANK_MAX])
{
    int64_t index = 0;

    for (int d = 0; d < t->rank; d++)
        index = index * t->dim[d] + coord[d];
    return index;
}

int64_t ref_broadcast(const struct tensor *out, int64_t index, const struct tensor *in)
{
    int64_t in_index = 0, in_step = 1;

    for (int d = out->rank - 1, i = in->rank - 1; d >= 0 && i >= 0; d--, i--) {
        const int64_t at = index % out->dim[d];

        index /= out->dim[d];
        in_index += (in->dim[i] == 1 ? 0 : at) * in_step;
        in_step *= in->dim[i];
    }
    return in_index;
}
