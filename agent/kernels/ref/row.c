/* agent/kernels/ref/row.c: references of row_read and row_write, which move bytes and round nothing. */
#include "agent/kernels/ref/ref.h"

/* The row at operand `at`, clamped to the table. */
static int64_t row_index(const struct kernel_args *args, int at)
{
    const int64_t rows = args->in_tensor[0]->dim[0];
    const int64_t i = *(const int32_t *)args->in[at];

    return i < 0 ? 0 : i >= rows ? rows - 1 : i;
}

static void row_read_work(const struct kernel_args *args, int phase, int64_t item)
{
    const size_t bytes = (size_t)tensor_bytes(args->out_tensor[0]);
    const unsigned char *table = args->in[0];

    (void)phase;
    (void)item;
    memcpy(args->out[0], table + bytes * (size_t)row_index(args, 1), bytes);
}

static void row_write_work(const struct kernel_args *args, int phase, int64_t item)
{
    const size_t bytes = (size_t)tensor_bytes(args->in_tensor[2]);
    unsigned char *table = args->out[0];

    (void)phase;
    (void)item;
    if (args->out[0] != args->in[0])
        memcpy(table, args->in[0], (size_t)tensor_bytes(args->in_tensor[0]));
    memcpy(table + bytes * (size_t)row_index(args, 1), args->in[2], bytes);
}

/* Writing in place leaves the other rows where they are. */
static bool row_write_accept(const struct kernel_query *query, struct fit *fit,
                             char why[KERNEL_WHY_BYTES])
{
    fit->inplace_mask = 1u << 0;
    return ref_accept(query, fit, why);
}

REF_KERNEL(row_read, OP_ROW_READ);
const struct kernel row_write_ref = {.name = "row_write_ref",
                                     .anchor = OP_ROW_WRITE,
                                     .reference = true,
                                     .accept = row_write_accept,
                                     .work = row_write_work};
