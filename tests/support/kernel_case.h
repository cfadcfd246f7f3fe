/* tests/support/kernel_case.h: one op with operands and results in guarded memory, to run a kernel as an executor
 * would and compare it with the reference. Results start as NaN (all bits set) and stand between guard bytes, so that
 * what is left unwritten, and what is written outside, shows. Include it once, after cmocka. */
#ifndef DAYBREAK_TESTS_SUPPORT_KERNEL_CASE_H
#define DAYBREAK_TESTS_SUPPORT_KERNEL_CASE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/kernels/kernels.h"
#include "common/rng.h"

#define CASE_GUARD_BYTES 256
#define CASE_GUARD       0xa5
#define CASE_POISON      0xff
#define UNIT_ROUNDOFF    0x1p-24 /* u of F32: half an ulp of 1 */

struct kernel_case {
    struct op op;
    int in_count, out_count;
    struct tensor in_tensor[OP_IN_MAX], out_tensor[OP_OUT_MAX];
    unsigned char *in[OP_IN_MAX], *out[OP_OUT_MAX], *want[OP_OUT_MAX]; /* inside their guards */
    struct fit fit;
    char why[KERNEL_WHY_BYTES];
};

static inline unsigned char *case_alloc(uint64_t bytes)
{
    const size_t body = (size_t)(bytes + 63) / 64 * 64;
    unsigned char *block = aligned_alloc(64, body + 2 * CASE_GUARD_BYTES);

    if (block == NULL)
        abort();
    memset(block, CASE_GUARD, body + 2 * CASE_GUARD_BYTES);
    memset(block + CASE_GUARD_BYTES, CASE_POISON, (size_t)bytes);
    return block + CASE_GUARD_BYTES;
}

static inline void case_free(unsigned char *data)
{
    if (data != NULL)
        free(data - CASE_GUARD_BYTES);
}

static inline bool case_guards_hold(const unsigned char *data, uint64_t bytes)
{
    const size_t body = (size_t)(bytes + 63) / 64 * 64;

    for (size_t i = 0; i < CASE_GUARD_BYTES; i++)
        if (data[-1 - (ptrdiff_t)i] != CASE_GUARD || data[body + i] != CASE_GUARD)
            return false;
    for (size_t i = (size_t)bytes; i < body; i++)
        if (data[i] != CASE_GUARD)
            return false;
    return true;
}

static inline void case_init(struct kernel_case *c, enum op_kind kind)
{
    memset(c, 0, sizeof *c);
    c->op.kind = kind;
    c->op.stream = 7;
}

/* Adds an operand; its bytes are all 0xff until they are filled. Returns its data. */
static inline void *case_add(struct kernel_case *c, enum dtype dtype, int rank, const int64_t *dim)
{
    c->in_tensor[c->in_count] = tensor_make(dtype, rank, dim);
    c->in[c->in_count] = case_alloc(tensor_bytes(&c->in_tensor[c->in_count]));
    return c->in[c->in_count++];
}

/* An F32 operand with normal numbers that differ by operand. */
static inline float *case_add_normal(struct kernel_case *c, int rank, const int64_t *dim,
                                     float mean, float deviation)
{
    const struct rng_key key = {.seed = 11, .stream = (uint32_t)c->in_count};
    float *data = case_add(c, DT_F32, rank, dim);

    rng_fill_normal(key, mean, deviation, data,
                    (size_t)tensor_count(&c->in_tensor[c->in_count - 1]));
    return data;
}

static inline float case_widen(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float number;

    memcpy(&number, &bits, sizeof number);
    return number;
}

/* Element i of a tensor of F32 or BF16. */
static inline double case_number(const struct tensor *t, const unsigned char *data, int64_t i)
{
    return t->dtype == DT_BF16 ? (double)case_widen(((const uint16_t *)(const void *)data)[i])
                               : (double)((const float *)(const void *)data)[i];
}

/* Makes operand `at` a BF16 one of the same numbers, rounded (by dropping bits: any bf16 will do). */
static inline void case_make_bf16(struct kernel_case *c, int at)
{
    const int64_t count = tensor_count(&c->in_tensor[at]);
    unsigned char *floats = c->in[at];

    c->in_tensor[at].dtype = DT_BF16;
    c->in[at] = case_alloc(tensor_bytes(&c->in_tensor[at]));
    for (int64_t i = 0; i < count; i++)
        memcpy(c->in[at] + 2 * i, floats + 4 * i + 2, 2);
    case_free(floats);
}

/* What a case is of: rows of another dtype refuse it. */
static inline bool case_has_bf16(const struct kernel_case *c)
{
    for (int i = 0; i < c->in_count; i++)
        if (c->in_tensor[i].dtype == DT_BF16)
            return true;
    return c->op.kind == OP_CONVERT && c->op.attr.convert.dtype == DT_BF16;
}

/* Half an ulp of result `out` at a value: what one rounding to its type costs. */
static inline double case_rounding(const struct kernel_case *c, int out, double value)
{
    return fabs(value) * (c->out_tensor[out].dtype == DT_BF16 ? 0x1p-8 : UNIT_ROUNDOFF);
}

/* Widens a bound of result `out` by what BF16 costs: the reference and the kernel round to 8 bits once each. */
static inline void case_allow_bf16(const struct kernel_case *c, int out, double *bound)
{
    if (c->out_tensor[out].dtype != DT_BF16)
        return;
    for (int64_t i = 0, count = tensor_count(&c->out_tensor[out]); i < count; i++)
        bound[i] += 2.0 * case_rounding(c, out, case_number(&c->out_tensor[out], c->want[out], i)) +
                    bound[i] * 0x1p-8;
}

/* Infers the results' shapes and allocates them. false: the shape rule refuses; c->why says why. */
static inline bool case_infer(struct kernel_case *c)
{
    const struct tensor *in[OP_IN_MAX] = {0};
    struct error err = {0};

    for (int i = 0; i < c->in_count; i++)
        in[i] = &c->in_tensor[i];
    c->op.in_count = (uint32_t)c->in_count;
    c->out_count = op_info(c->op.kind)->out_count;
    c->op.out_count = (uint32_t)c->out_count;
    if (op_shape(&c->op, in, c->out_tensor, &err) != ST_OK) {
        (void)snprintf(c->why, sizeof c->why, "%.90s", err.detail);
        c->out_count = 0;
        return false;
    }
    for (int i = 0; i < c->out_count; i++) {
        c->out[i] = case_alloc(tensor_bytes(&c->out_tensor[i]));
        c->want[i] = case_alloc(tensor_bytes(&c->out_tensor[i]));
    }
    return true;
}

static inline void case_fini(struct kernel_case *c)
{
    for (int i = 0; i < c->in_count; i++)
        case_free(c->in[i]);
    for (int i = 0; i < c->out_count; i++) {
        case_free(c->out[i]);
        case_free(c->want[i]);
    }
}

static inline bool case_accept(struct kernel_case *c, const struct kernel *kernel)
{
    struct kernel_query query = {.op = &c->op, .threads = 1};

    for (int i = 0; i < c->in_count; i++)
        query.in[i] = &c->in_tensor[i];
    for (int i = 0; i < c->out_count; i++)
        query.out[i] = &c->out_tensor[i];
    c->fit = (struct fit){0};
    c->why[0] = '\0';
    return kernel->accept(&query, &c->fit, c->why);
}

/* Runs an accepted kernel; `backwards` takes the items of a phase from the last to the first. false: the kernel wrote
 * outside its results or scratch. */
static inline bool case_run_into(struct kernel_case *c, const struct kernel *kernel,
                                 unsigned char *const *out, bool backwards)
{
    struct kernel_args args = {
        .op = &c->op, .in_count = c->in_count, .out_count = c->out_count, .fit = &c->fit};
    unsigned char *scratch = case_alloc(c->fit.scratch_bytes);
    bool held;

    for (int i = 0; i < c->in_count; i++) {
        args.in[i] = c->in[i];
        args.in_tensor[i] = &c->in_tensor[i];
    }
    for (int i = 0; i < c->out_count; i++) {
        args.out[i] = out[i];
        args.out_tensor[i] = &c->out_tensor[i];
    }
    args.scratch = scratch;
    for (int phase = 0, phases = kernel->phases != NULL ? kernel->phases(&args) : 1; phase < phases;
         phase++) {
        const int64_t items = kernel->items != NULL ? kernel->items(&args, phase) : 1;

        for (int64_t item = 0; item < items; item++)
            kernel->work(&args, phase, backwards ? items - 1 - item : item);
    }
    held = case_guards_hold(scratch, c->fit.scratch_bytes);
    for (int i = 0; i < c->out_count; i++)
        held = held && case_guards_hold(out[i], tensor_bytes(&c->out_tensor[i]));
    for (int i = 0; i < c->in_count; i++)
        held = held && case_guards_hold(c->in[i], tensor_bytes(&c->in_tensor[i]));
    case_free(scratch);
    return held;
}

static inline void case_poison_results(struct kernel_case *c)
{
    for (int i = 0; i < c->out_count; i++)
        memset(c->out[i], CASE_POISON, (size_t)tensor_bytes(&c->out_tensor[i]));
}

/* The reference's results go to c->want. */
static inline void case_run_reference(struct kernel_case *c)
{
    const struct kernel *reference = kernel_reference(c->op.kind);

    if (!case_accept(c, reference) || !case_run_into(c, reference, c->want, false))
        abort();
}

/* The reference on the absolute values of all F32 operands: of a sum of products, sum |a b|. The caller frees it. */
static inline float *case_run_magnitude(struct kernel_case *c)
{
    unsigned char *saved[OP_IN_MAX], *out[OP_OUT_MAX];
    const int64_t count = tensor_count(&c->out_tensor[0]);
    float *magnitude;

    for (int i = 0; i < c->in_count; i++) {
        const uint64_t bytes = tensor_bytes(&c->in_tensor[i]);

        saved[i] = c->in[i];
        c->in[i] = case_alloc(bytes);
        memcpy(c->in[i], saved[i], (size_t)bytes);
        if (c->in_tensor[i].dtype == DT_F32)
            for (uint64_t j = 0; j < bytes / sizeof(float); j++)
                ((float *)(void *)c->in[i])[j] = fabsf(((float *)(void *)c->in[i])[j]);
        if (c->in_tensor[i].dtype == DT_BF16)
            for (uint64_t j = 0; j < bytes / 2; j++)
                c->in[i][2 * j + 1] &= 0x7f; /* the sign */
    }
    for (int i = 0; i < c->out_count; i++)
        out[i] = case_alloc(tensor_bytes(&c->out_tensor[i]));
    c->fit = (struct fit){0};
    if (!case_run_into(c, kernel_reference(c->op.kind), out, false))
        abort();
    magnitude = malloc((size_t)count * sizeof *magnitude);
    if (magnitude == NULL)
        abort();
    for (int64_t i = 0; i < count; i++)
        magnitude[i] = (float)case_number(&c->out_tensor[0], out[0], i);
    for (int i = 0; i < c->out_count; i++)
        case_free(out[i]);
    for (int i = 0; i < c->in_count; i++) {
        case_free(c->in[i]);
        c->in[i] = saved[i];
    }
    return magnitude;
}

/* bound[i] = terms u magnitude[i] + a rounding of |want[i]|, of a sum of `terms` products whose every product and sum is
 * rounded once, against a reference that sums in double and rounds once. BF16: both round the sum to 8 bits, so two
 * roundings part them, and VDPBF16PS rounds products and sums of pairs apart: 2 terms. The caller frees it. */
static inline double *case_sum_bound(const struct kernel_case *c, double terms,
                                     const float *magnitude)
{
    const int64_t count = tensor_count(&c->out_tensor[0]);
    const double often = case_has_bf16(c) ? 2.0 : 1.0;
    double *bound = malloc((size_t)count * sizeof *bound);

    if (bound == NULL)
        abort();
    for (int64_t i = 0; i < count; i++) {
        const double sums = often * UNIT_ROUNDOFF * terms * (double)magnitude[i];
        const double want = fabs(case_number(&c->out_tensor[0], c->want[0], i));

        bound[i] = sums + often * case_rounding(c, 0, want + sums);
    }
    return bound;
}

/* Result `out` against the reference's: |got - want| <= bound[i]; bound NULL: equal bytes. */
static inline bool case_result_agrees(const struct kernel_case *c, int out, const double *bound)
{
    const struct tensor *t = &c->out_tensor[out];

    if (bound == NULL)
        return memcmp(c->out[out], c->want[out], (size_t)tensor_bytes(t)) == 0;
    for (int64_t i = 0, count = tensor_count(t); i < count; i++) {
        const double got = case_number(t, c->out[out], i), want = case_number(t, c->want[out], i);

        if (!(fabs(got - want) <= bound[i]) && !(isnan(got) && isnan(want)) &&
            !(isinf(got) && got == want)) {
            print_error("result %d element %lld: got %.9g, want %.9g, bound %.3g\n", out,
                        (long long)i, got, want, bound[i]);
            return false;
        }
    }
    return true;
}

/* The vector kernels of an op for F32, or for BF16, that this host can run, best first; a row that it cannot is NULL in the list's place and
 * printed. Returns how many were written to kernels[]. */
static inline size_t case_kernels_for(enum op_kind kind, bool bf16, const struct kernel *kernels[8],
                                      size_t *lacking)
{
    const uint32_t isa = cpu_isa_detect();
    size_t rows, count = 0;
    const struct kernel *const *table = cpu_kernel_table(&rows);

    *lacking = 0;
    for (size_t i = 0; i < rows; i++) {
        if (table[i]->anchor != kind || table[i]->bf16 != bf16)
            continue;
        if ((table[i]->isa & ~isa) != 0) {
            print_message("skipped: %s: this host has no %s\n", table[i]->name,
                          cpu_isa_name(table[i]->isa));
            (*lacking)++;
        } else if (count < 8) {
            kernels[count++] = table[i];
        }
    }
    return count;
}

static inline size_t case_kernels_of(enum op_kind kind, const struct kernel *kernels[8],
                                     size_t *lacking)
{
    return case_kernels_for(kind, false, kernels, lacking);
}

/* Runs every kernel of the op that this host can run, items forwards and backwards, on poisoned results: within the
 * bounds, no byte outside, equal bits both times. case_run_reference() has run. Fails the test, or skips it when this
 * host lacks all of them. */
static inline void case_check_kernels(struct kernel_case *c, const double *const bound[OP_OUT_MAX])
{
    const struct kernel *kernels[8];
    size_t lacking;
    const size_t count = case_kernels_for(c->op.kind, case_has_bf16(c), kernels, &lacking);
    unsigned char *forwards[OP_OUT_MAX];

    if (count == 0 && lacking > 0)
        skip();
    for (size_t k = 0; k < count; k++) {
        if (strstr(kernels[k]->name, "winograd") != NULL)
            continue; /* other bounds: test_conv2d_winograd.c */
        if (!case_accept(c, kernels[k])) {
            if (strstr(kernels[k]->name, "inside") != NULL)
                continue; /* for small images alone: a row behind it takes the others */
            fail_msg("%s refuses: %s", kernels[k]->name, c->why);
        }
        case_poison_results(c);
        if (!case_run_into(c, kernels[k], c->out, false))
            fail_msg("%s writes outside", kernels[k]->name);
        for (int i = 0; i < c->out_count; i++) {
            const size_t bytes = (size_t)tensor_bytes(&c->out_tensor[i]);

            if (!case_result_agrees(c, i, bound[i]))
                fail_msg("%s is off", kernels[k]->name);
            forwards[i] = case_alloc(bytes);
            memcpy(forwards[i], c->out[i], bytes);
        }
        case_poison_results(c);
        if (!case_run_into(c, kernels[k], c->out, true))
            fail_msg("%s writes outside", kernels[k]->name);
        for (int i = 0; i < c->out_count; i++) {
            assert_memory_equal(forwards[i], c->out[i], (size_t)tensor_bytes(&c->out_tensor[i]));
            case_free(forwards[i]);
        }
    }
}

#endif
