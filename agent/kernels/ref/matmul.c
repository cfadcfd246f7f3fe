/* agent/kernels/ref/matmul.c: reference of matmul: op(a)[..,M,K] x op(b)[..,K,N], sums in double. */
#include "agent/kernels/ref/ref.h"

static void matmul_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *a = args->in_tensor[0], *b = args->in_tensor[1], *y = args->out_tensor[0];
    const bool ta = args->op->attr.matmul.transpose_a, tb = args->op->attr.matmul.transpose_b;
    const int64_t m_count = y->dim[y->rank - 2], n_count = y->dim[y->rank - 1];
    const int64_t k_count = a->dim[ta ? a->rank - 2 : a->rank - 1];
    const bool shared_b =
        tensor_count(b) == k_count * n_count; /* no batch dims, or all of them 1 */

    (void)phase;
    (void)item;
    for (int64_t i = 0, count = tensor_count(y); i < count; i++) {
        const int64_t n = i % n_count, m = i / n_count % m_count, batch = i / n_count / m_count;
        const int64_t a_base = batch * m_count * k_count;
        const int64_t b_base = shared_b ? 0 : batch * k_count * n_count;
        double sum = 0.0;

        for (int64_t k = 0; k < k_count; k++)
            sum += ref_get(a, args->in[0], a_base + (ta ? k * m_count + m : m * k_count + k)) *
                   ref_get(b, args->in[1], b_base + (tb ? n * k_count + k : k * n_count + n));
        ref_set(y, args->out[0], i, sum);
    }
}

REF_KERNEL(matmul, OP_MATMUL);
