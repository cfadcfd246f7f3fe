/* agent/kernels/cpu/matmul.c: matmul, F32. Phase 0 packs op(b) into panels of micro->columns columns, per batch where b
 * has batches; phase 1 has an item per ROWS_PER_ITEM rows of a product. Rows of op(a) are read where they lie, or, for a
 * transposed a, from a transposed copy of DEPTH_BLOCK columns on the stack. Sums stay in y between blocks of depth, as in
 * conv2d.c, whose cost model holds here. */
#include "agent/kernels/cpu/table_internal.h"

#define ROWS_PER_ITEM 48
#define DEPTH_BLOCK   192

struct matmul_job {
    int64_t batches, b_batches, m, n, k, panels;
    bool transpose_a, transpose_b;
};

static struct matmul_job plan_job(const struct op *op, const struct tensor *const *in,
                                  const struct tensor *out, int columns)
{
    struct matmul_job job = {.transpose_a = op->attr.matmul.transpose_a,
                             .transpose_b = op->attr.matmul.transpose_b,
                             .m = out->dim[out->rank - 2],
                             .n = out->dim[out->rank - 1]};

    job.k = in[0]->dim[job.transpose_a ? in[0]->rank - 2 : in[0]->rank - 1];
    job.batches = tensor_count(out) / (job.m * job.n);
    job.b_batches = tensor_count(in[1]) / (job.k * job.n);
    job.panels = cpu_divide_up(job.n, columns);
    return job;
}

static bool matmul_accept(const struct kernel_query *query, const struct micro *micro,
                          struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    const struct matmul_job job = plan_job(query->op, query->in, query->out[0], micro->columns);

    fit->scratch_bytes =
        (size_t)(job.b_batches * job.panels * job.k * micro->columns) * sizeof(float);
    fit->block[0] = ROWS_PER_ITEM;
    fit->block[1] = DEPTH_BLOCK;
    return cpu_accept_f32(query, why);
}

static int64_t matmul_items(const struct kernel_args *args, const struct micro *micro, int phase)
{
    const struct matmul_job job =
        plan_job(args->op, args->in_tensor, args->out_tensor[0], micro->columns);

    return phase == 0 ? job.b_batches * job.panels
                      : job.batches * cpu_divide_up(job.m, ROWS_PER_ITEM);
}

/* item: batch * panels + panel. */
static void pack_panel(const struct kernel_args *args, const struct matmul_job *job, int columns,
                       int64_t item)
{
    const float *b = (const float *)args->in[1] + item / job->panels * job->k * job->n;
    const int64_t first = item % job->panels * columns;
    float *to = (float *)args->scratch + item * job->k * columns;

    for (int64_t k = 0; k < job->k; k++)
        for (int64_t n = first; n < first + columns; n++)
            *to++ = n >= job->n ? 0.0f : job->transpose_b ? b[n * job->k + k] : b[k * job->n + n];
}

/* Points at `rows` rows of op(a) from depth `at` on. */
static void load_rows(const struct matmul_job *job, const float *a, int64_t row_first, int64_t rows,
                      int64_t at, int64_t depth, float *copy, const float **row)
{
    for (int64_t i = 0; i < rows; i++)
        row[i] = job->transpose_a ? copy + i * DEPTH_BLOCK : a + (row_first + i) * job->k + at;
    if (!job->transpose_a)
        return;
    for (int64_t k = 0; k < depth; k++)
        for (int64_t i = 0; i < rows; i++)
            copy[i * DEPTH_BLOCK + k] = a[(at + k) * job->m + row_first + i];
}

/* One block of depth against all panels. */
static void run_block(const struct micro *micro, const struct matmul_job *job,
                      struct gemm_tile tile, const float *const *row, int64_t rows,
                      const float *packed, float *y)
{
    const int64_t tiles = cpu_divide_up(rows, micro->rows_max);
    const int64_t small = rows / tiles, larger_ones = rows % tiles;

    for (int64_t panel = 0; panel < job->panels; panel++) {
        const int64_t left = job->n - panel * micro->columns;
        int64_t done = 0;

        tile.columns = (int)(left < micro->columns ? left : micro->columns);
        tile.b = packed + panel * job->k * micro->columns;
        for (int64_t i = 0; i < tiles; i++) {
            tile.rows = (int)(small + (i < larger_ones));
            tile.a = row + done;
            tile.c = y + done * job->n + panel * micro->columns;
            micro->gemm_tile(&tile);
            done += tile.rows;
        }
    }
}

static void matmul_work(const struct kernel_args *args, const struct micro *micro, int phase,
                        int64_t item)
{
    const struct matmul_job job =
        plan_job(args->op, args->in_tensor, args->out_tensor[0], micro->columns);
    const int64_t parts = cpu_divide_up(job.m, ROWS_PER_ITEM), batch = item / parts;
    const int64_t row_first = item % parts * ROWS_PER_ITEM;
    const int64_t rows = job.m - row_first < ROWS_PER_ITEM ? job.m - row_first : ROWS_PER_ITEM;
    const int64_t no_offset = 0;
    _Alignas(64) float copy[ROWS_PER_ITEM * DEPTH_BLOCK];
    const float *row[ROWS_PER_ITEM], *packed;

    if (phase == 0) {
        pack_panel(args, &job, micro->columns, item);
        return;
    }
    packed = (const float *)args->scratch +
             (job.b_batches > 1 ? batch : 0) * job.panels * job.k * micro->columns;
    for (int64_t at = 0; at < job.k; at += DEPTH_BLOCK) {
        const int64_t depth = job.k - at < DEPTH_BLOCK ? job.k - at : DEPTH_BLOCK;
        const struct gemm_tile tile = {.segment = &no_offset,
                                       .segments = 1,
                                       .length = depth,
                                       .c_stride = job.n,
                                       .add = at > 0};

        load_rows(&job, (const float *)args->in[0] + batch * job.m * job.k, row_first, rows, at,
                  depth, copy, row);
        run_block(micro, &job, tile, row, rows, packed + at * micro->columns,
                  (float *)args->out[0] + (batch * job.m + row_first) * job.n);
    }
}

DEFINE_MICRO_KERNELS(matmul, matmul, OP_MATMUL, cpu_two_phases);
