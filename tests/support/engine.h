/* tests/support/engine.h: what tests of graphs share: variables with random values, running a graph on the
 * interpreter, and central differences. Header only: a test program is one file. */
#ifndef DAYBREAK_TESTS_SUPPORT_ENGINE_H
#define DAYBREAK_TESTS_SUPPORT_ENGINE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above. */
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/graph/graph.h"
#include "common/rng.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
#define RANK(...) ((int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

static inline struct var *engine_var(struct store *store, const char *name, enum dtype dtype,
                                     int rank, const int64_t *dim)
{
    return store_add(store, &(struct var_spec){.name = name,
                                               .tensor = tensor_make(dtype, rank, dim),
                                               .role = VAR_PARAM});
}

/* Uniform in [low, high), by name of stream; F32 or F64. */
static inline void engine_fill(struct store *store, struct var *var, uint32_t stream, double low,
                               double high)
{
    const size_t count = (size_t)tensor_count(&var->spec.tensor);
    double *wide = malloc((count + 1) * sizeof *wide);
    float *narrow = malloc((count + 1) * sizeof *narrow);

    assert_non_null(wide);
    assert_non_null(narrow);
    rng_fill_uniform((struct rng_key){7, stream}, 0.0f, 1.0f, narrow, count);
    for (size_t i = 0; i < count; i++) {
        wide[i] = low + (high - low) * (double)narrow[i];
        narrow[i] = (float)wide[i];
    }
    store_write(store, var, var->spec.tensor.dtype == DT_F64 ? (void *)wide : (void *)narrow);
    free(wide);
    free(narrow);
}

static inline void engine_run(const struct graph *g, const void *const *inputs,
                              void *const *outputs)
{
    struct error err = {0};

    if (graph_interpret(g, inputs, outputs, &err) != ST_OK)
        fail_msg("%s", err.detail);
}

static inline void engine_finish(struct graph *g)
{
    struct error err = {0};

    if (graph_finish(g, &err) != ST_OK)
        fail_msg("%s", err.detail);
}

static inline size_t engine_count_ops(const struct graph *g, enum op_kind kind)
{
    size_t count = 0;

    for (size_t i = 0; i < graph_op_count(g); i++)
        count += graph_op(g, i)->kind == kind;
    return count;
}

/* Compares the gradient outputs of `g` with central differences. Output 0 is the loss (F64 scalar), output 1 + i the
 * gradient of vars[i] (F64). Each variable is moved by +-step along a random direction d; (L+ - L-) / (2 step)
 * must be <grad, d> within `bound` times the sum of |grad d| + |difference|: the truncation error is step^2 f''' / 6, the
 * rounding error 1e-16 L / step. */
static inline void engine_check_gradients(const struct graph *g, struct store *store,
                                          struct var *const *vars, size_t count,
                                          const void *const *inputs, double step, double bound)
{
    double loss = 0.0, **grads = malloc((count + 1) * sizeof *grads);
    void **outputs = malloc((count + 1) * sizeof *outputs);

    assert_non_null(grads);
    assert_non_null(outputs);
    outputs[0] = &loss;
    for (size_t i = 0; i < count; i++)
        outputs[1 + i] = grads[i] = malloc((size_t)vars[i]->bytes);
    for (size_t i = 0; i < count; i++) {
        const size_t size = (size_t)tensor_count(&vars[i]->spec.tensor);
        double *kept = malloc(size * sizeof *kept), *moved = malloc(size * sizeof *moved);
        double *grad = malloc(size * sizeof *grad), ends[2];
        float *direction = malloc(size * sizeof *direction);
        double want = 0.0, scale = 0.0, got;

        engine_run(g, inputs, outputs); /* again: the last run was beside the point */
        memcpy(grad, grads[i], size * sizeof *grad);
        store_read(store, vars[i], kept);
        rng_fill_uniform((struct rng_key){11, (uint32_t)i}, -1.0f, 1.0f, direction, size);
        for (int side = 0; side < 2; side++) {
            for (size_t e = 0; e < size; e++)
                moved[e] = kept[e] + (side == 0 ? -step : step) * (double)direction[e];
            store_write(store, vars[i], moved);
            engine_run(g, inputs, outputs);
            ends[side] = loss;
        }
        store_write(store, vars[i], kept);
        for (size_t e = 0; e < size; e++) {
            want += grad[e] * (double)direction[e];
            scale += fabs(grad[e] * (double)direction[e]);
        }
        got = (ends[1] - ends[0]) / (2.0 * step);
        if (!(fabs(got - want) <= bound * (scale + fabs(got)) + 1e-9))
            fail_msg("%s: difference %.12g, gradient %.12g", vars[i]->name, got, want);
        free(kept);
        free(moved);
        free(grad);
        free(direction);
    }
    for (size_t i = 0; i < count; i++)
        free(grads[i]);
    free(grads);
    free(outputs);
}

#endif
