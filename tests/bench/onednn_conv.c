/* tests/bench/onednn_conv.c: for bench_onednn.py alone: times oneDNN's convolutions. Reads lines
 *
 *     OP N H W C K R PAD DTYPE RUNS        OP: conv2d, conv2d_grad_input, conv2d_grad_weight; DTYPE: f32, bf16
 *
 * and answers each with the seconds of RUNS runs after one to warm up, in oneDNN's best layouts (format `any`), stride 1, taps
 * R x R, PAD on every side; weight gradients are F32, as ours. Threads: OMP_NUM_THREADS. Errors end it with 1. */
#include <dnnl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TENSORS  3 /* source, weights, result */
#define RUNS_MAX 1000

struct shape {
    char op[32], type[8];
    long n, h, w, c, k, r, pad, runs;
};

static void check(dnnl_status_t status, const char *what)
{
    if (status != dnnl_success) {
        fprintf(stderr, "onednn_conv: %s: status %d\n", what, (int)status);
        exit(1);
    }
}

static double now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static dnnl_memory_desc_t any(long a, long b, long c, long d, dnnl_data_type_t type)
{
    const dnnl_dims_t dims = {a, b, c, d};
    dnnl_memory_desc_t desc;

    check(dnnl_memory_desc_init_by_tag(&desc, 4, dims, type, dnnl_format_tag_any), "descriptor");
    return desc;
}

static dnnl_primitive_desc_t describe(const struct shape *s, dnnl_engine_t engine)
{
    const dnnl_data_type_t type = strcmp(s->type, "bf16") == 0 ? dnnl_bf16 : dnnl_f32;
    const bool weights = strcmp(s->op, "conv2d_grad_weight") == 0;
    const long p = s->h + 2 * s->pad - s->r + 1, q = s->w + 2 * s->pad - s->r + 1;
    const dnnl_dims_t strides = {1, 1}, pad = {s->pad, s->pad};
    const dnnl_memory_desc_t x = any(s->n, s->c, s->h, s->w, type);
    const dnnl_memory_desc_t w = any(s->k, s->c, s->r, s->r, weights ? dnnl_f32 : type);
    const dnnl_memory_desc_t w_forward = any(s->k, s->c, s->r, s->r, type);
    const dnnl_memory_desc_t y = any(s->n, s->k, p, q, type);
    dnnl_convolution_desc_t forward, backward;
    dnnl_primitive_desc_t hint, made;

    check(dnnl_convolution_forward_desc_init(&forward, dnnl_forward_training,
                                             dnnl_convolution_direct, &x, &w_forward, NULL, &y,
                                             strides, pad, pad),
          "forward");
    check(dnnl_primitive_desc_create(&hint, &forward, NULL, engine, NULL), "forward primitive");
    if (strcmp(s->op, "conv2d") == 0)
        return hint;
    if (weights)
        check(dnnl_convolution_backward_weights_desc_init(&backward, dnnl_convolution_direct, &x,
                                                          &w, NULL, &y, strides, pad, pad),
              "weights");
    else
        check(dnnl_convolution_backward_data_desc_init(&backward, dnnl_convolution_direct, &x, &w,
                                                       &y, strides, pad, pad),
              "data");
    check(dnnl_primitive_desc_create(&made, &backward, NULL, engine, hint), "backward primitive");
    (void)dnnl_primitive_desc_destroy(hint);
    return made;
}

/* The three tensors of a primitive: which argument each is, and how the primitive describes it. */
static void name_tensors(const struct shape *s, int args[TENSORS], dnnl_query_t queries[TENSORS])
{
    const bool data = strcmp(s->op, "conv2d_grad_input") == 0;
    const bool weights = strcmp(s->op, "conv2d_grad_weight") == 0;

    args[0] = data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC;
    args[1] = weights ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS;
    args[2] = data || weights ? DNNL_ARG_DIFF_DST : DNNL_ARG_DST;
    queries[0] = data ? dnnl_query_diff_src_md : dnnl_query_src_md;
    queries[1] = weights ? dnnl_query_diff_weights_md : dnnl_query_weights_md;
    queries[2] = data || weights ? dnnl_query_diff_dst_md : dnnl_query_dst_md;
}

/* Numbers about 1: nothing is denormal, nothing overflows. */
static void fill(void *data, size_t bytes, dnnl_data_type_t type)
{
    for (size_t i = 0; type == dnnl_f32 && i < bytes / 4; i++)
        ((float *)data)[i] = (float)(i % 17) / 8.0f - 1.0f;
    for (size_t i = 0; type == dnnl_bf16 && i < bytes / 2; i++)
        ((uint16_t *)data)[i] = (uint16_t)(0x3f00 + i % 17);
}

static void time_shape(const struct shape *s, dnnl_engine_t engine, dnnl_stream_t stream)
{
    const dnnl_primitive_desc_t desc = describe(s, engine);
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arguments[TENSORS];
    dnnl_query_t queries[TENSORS];
    int names[TENSORS];

    name_tensors(s, names, queries);
    for (int i = 0; i < TENSORS; i++) {
        const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(desc, queries[i], 0);
        void *data;

        arguments[i].arg = names[i];
        check(dnnl_memory_create(&arguments[i].memory, md, engine, DNNL_MEMORY_ALLOCATE), "memory");
        check(dnnl_memory_get_data_handle(arguments[i].memory, &data), "data");
        fill(data, dnnl_memory_desc_get_size(md), md->data_type);
    }
    check(dnnl_primitive_create(&primitive, desc), "primitive");
    for (long run = 0; run <= s->runs; run++) {
        const double begin = now();

        check(dnnl_primitive_execute(primitive, stream, TENSORS, arguments), "execute");
        check(dnnl_stream_wait(stream), "wait");
        if (run > 0)
            printf("%.9f%s", now() - begin, run < s->runs ? " " : "\n");
    }
    (void)fflush(stdout);
    for (int i = 0; i < TENSORS; i++)
        (void)dnnl_memory_destroy(arguments[i].memory);
    (void)dnnl_primitive_destroy(primitive);
    (void)dnnl_primitive_desc_destroy(desc);
}

int main(void)
{
    struct shape s;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    char line[256];

    check(dnnl_engine_create(&engine, dnnl_cpu, 0), "engine");
    check(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), "stream");
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (sscanf(line, "%31s %ld %ld %ld %ld %ld %ld %ld %7s %ld", s.op, &s.n, &s.h, &s.w, &s.c,
                   &s.k, &s.r, &s.pad, s.type, &s.runs) != 10 ||
            s.runs < 1 || s.runs > RUNS_MAX) {
            fprintf(stderr, "onednn_conv: not understood: %s", line);
            return 1;
        }
        time_shape(&s, engine, stream);
    }
    (void)dnnl_stream_destroy(stream);
    (void)dnnl_engine_destroy(engine);
    return 0;
}
