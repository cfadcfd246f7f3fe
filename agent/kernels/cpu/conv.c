/* agent/kernels/cpu/conv.c: geometry and padded copies of the convolutions; see conv_internal.h. */
#include "agent/kernels/cpu/conv_internal.h"
#include "agent/kernels/cpu/table_internal.h"

#include <stdio.h>
#include <string.h>

bool conv_refuse(char why[KERNEL_WHY_BYTES], const char *what, int64_t number)
{
    (void)snprintf(why, KERNEL_WHY_BYTES, "%s%lld", what, (long long)number);
    return false;
}

bool conv_geometry_forward(const struct conv_attr *attr, const struct tensor *x,
                           const struct tensor *w, const struct tensor *y, struct conv_geometry *g,
                           char why[KERNEL_WHY_BYTES])
{
    if (attr->groups != 1)
        return conv_refuse(why, "groups=", attr->groups);
    *g = (struct conv_geometry){.images = x->dim[0],
                                .height = x->dim[1],
                                .width = x->dim[2],
                                .channels = x->dim[3],
                                .out_height = y->dim[1],
                                .out_width = y->dim[2],
                                .filters = y->dim[3],
                                .taps_h = w->dim[1],
                                .taps_w = w->dim[2],
                                .stride_h = attr->stride[0],
                                .stride_w = attr->stride[1],
                                .dilation_h = attr->dilation[0],
                                .dilation_w = attr->dilation[1],
                                .top = attr->pad[0],
                                .left = attr->pad[2],
                                .insert_h = 1,
                                .insert_w = 1};
    return true;
}

/* dx[h] = sum over r of dyv[h + top - r * dilation] w[r], dyv being dy with zeros inserted: a convolution of
 * stride 1 with flipped taps and dilation * (R - 1) - top rows of padding. */
bool conv_geometry_backward(const struct conv_attr *attr, const struct tensor *dy,
                            const struct tensor *w, const struct tensor *dx,
                            struct conv_geometry *g, char why[KERNEL_WHY_BYTES])
{
    const int64_t top = attr->dilation[0] * (w->dim[1] - 1) - attr->pad[0];
    const int64_t left = attr->dilation[1] * (w->dim[2] - 1) - attr->pad[2];

    if (attr->groups != 1)
        return conv_refuse(why, "groups=", attr->groups);
    if (top < 0 || left < 0)
        return conv_refuse(why, "padding beyond the taps: ", top < 0 ? attr->pad[0] : attr->pad[2]);
    *g = (struct conv_geometry){.images = dy->dim[0],
                                .height = dy->dim[1],
                                .width = dy->dim[2],
                                .channels = dy->dim[3],
                                .out_height = dx->dim[1],
                                .out_width = dx->dim[2],
                                .filters = dx->dim[3],
                                .taps_h = w->dim[1],
                                .taps_w = w->dim[2],
                                .stride_h = 1,
                                .stride_w = 1,
                                .dilation_h = attr->dilation[0],
                                .dilation_w = attr->dilation[1],
                                .top = top,
                                .left = left,
                                .insert_h = attr->stride[0],
                                .insert_w = attr->stride[1]};
    return true;
}

bool conv_geometry_of(enum op_kind kind, const struct conv_attr *attr, const struct tensor *source,
                      const struct tensor *w, const struct tensor *result, struct conv_geometry *g,
                      char why[KERNEL_WHY_BYTES])
{
    return kind == OP_CONV2D ? conv_geometry_forward(attr, source, w, result, g, why)
                             : conv_geometry_backward(attr, source, w, result, g, why);
}

int64_t conv_weight_place(enum op_kind kind, const struct conv_geometry *g, int64_t channels,
                          int64_t tap, int64_t c, int64_t k)
{
    const int64_t taps = g->taps_h * g->taps_w;

    if (kind == OP_CONV2D)
        return (k * taps + tap) * channels + c;
    return (c * taps + taps - 1 - tap) * g->filters + k;
}

void conv_pack_panel(const struct kernel_args *args, const struct conv_geometry *g,
                     const struct micro *micro, int64_t panel)
{
    const int64_t first = panel * micro->columns, taps = g->taps_h * g->taps_w;
    const int64_t in_cell = micro->dtype == DT_BF16 ? 2 : 1, channels = g->channels * in_cell;
    const size_t bytes = dtype_bytes(micro->dtype);
    const char *w = args->in[1];
    char *to = (char *)args->scratch +
               panel * taps * g->channels * micro->columns * (int64_t)sizeof(float);

    for (int64_t tap = 0; tap < taps; tap++)
        for (int64_t c = 0; c < channels; c += in_cell)
            for (int64_t j = 0; j < micro->columns; j++)
                for (int64_t i = 0; i < in_cell; i++, to += bytes) {
                    if (first + j < g->filters)
                        memcpy(to,
                               w + conv_weight_place(args->op->kind, g, channels, tap, c + i,
                                                     first + j) *
                                       (int64_t)bytes,
                               bytes);
                    else
                        memset(to, 0, bytes);
                }
}

void conv_add_chunks(const struct kernel_args *args, const struct conv_partial *partial,
                     int64_t columns, int64_t panel, int64_t t_first)
{
    const int64_t depth = partial->depth, panel_floats = depth * columns;
    const int64_t rows = depth - t_first < CONV_ADD_ROWS ? depth - t_first : (int64_t)CONV_ADD_ROWS;
    const float *from = (const float *)args->scratch + panel * panel_floats + t_first * columns;
    const int64_t filters_left = partial->filters - panel * columns;
    float *dw = (float *)args->out[0] + panel * columns * depth + t_first;
    float total[CONV_ADD_ROWS * MICRO_COLUMNS_MAX];

    memcpy(total, from, (size_t)(rows * columns) * sizeof *total);
    for (int64_t chunk = 1; chunk < partial->chunks; chunk++) {
        from += partial->panels * panel_floats;
        for (int64_t i = 0; i < rows * columns; i++)
            total[i] += from[i];
    }
    for (int64_t k = 0; k < columns && k < filters_left; k++)
        for (int64_t t = 0; t < rows; t++)
            dw[k * depth + t] = total[t * columns + k];
}

bool conv_pair_channels(struct conv_geometry *g, char why[KERNEL_WHY_BYTES])
{
    if (g->channels % 2 != 0)
        return conv_refuse(why, "bf16 with an odd number of channels: ", g->channels);
    g->channels /= 2;
    return true;
}

void conv_pair_images(struct conv_geometry *g, const struct micro *micro)
{
    g->micro = micro;
    g->pair_images = g->images;
    g->images = cpu_divide_up(g->images, 2);
}

static int64_t buffer_rows(const struct conv_geometry *g, int64_t rows)
{
    return (rows - 1) * g->stride_h + g->dilation_h * (g->taps_h - 1) + 1;
}

static int64_t buffer_columns(const struct conv_geometry *g)
{
    return (g->out_width - 1) * g->stride_w + g->dilation_w * (g->taps_w - 1) + 1;
}

/* No pixel outside the source is ever read. */
static bool source_needs_no_copy(const struct conv_geometry *g)
{
    return g->pair_images == 0 && g->top == 0 && g->left == 0 && g->insert_h == 1 &&
           g->insert_w == 1 && buffer_rows(g, g->out_height) <= g->height &&
           buffer_columns(g) <= g->width;
}

bool conv_cut_output(const struct conv_geometry *g, int64_t pixels_wanted, struct conv_cut *cut,
                     char why[KERNEL_WHY_BYTES])
{
    const bool copies = !source_needs_no_copy(g);
    const int64_t row_floats = buffer_columns(g) * g->channels;
    const int64_t image_floats = buffer_rows(g, g->out_height) * row_floats;
    const int64_t image_pixels = g->out_height * g->out_width;
    int64_t rows = pixels_wanted / g->out_width, images;

    if (g->out_width > CONV_PIXELS_MAX)
        return conv_refuse(why, "output columns above 512: ", g->out_width);
    if (copies && buffer_rows(g, 1) * row_floats > CONV_BUFFER_FLOATS)
        return conv_refuse(
            why, "KiB of input for one output row: ", buffer_rows(g, 1) * row_floats * 4 / 1024);
    if (image_pixels <= pixels_wanted && (!copies || image_floats <= CONV_BUFFER_FLOATS)) {
        images = (pixels_wanted + image_pixels / 2) / image_pixels;
        if (images * image_pixels > CONV_PIXELS_MAX)
            images = CONV_PIXELS_MAX / image_pixels;
        if (copies && images * image_floats > CONV_BUFFER_FLOATS)
            images = CONV_BUFFER_FLOATS / image_floats;
        *cut = (struct conv_cut){images, g->out_height, cpu_divide_up(g->images, images), 1};
        return true;
    }
    if (rows < 1)
        rows = 1;
    if (rows > g->out_height)
        rows = g->out_height;
    while (copies && rows > 1 && buffer_rows(g, rows) * row_floats > CONV_BUFFER_FLOATS)
        rows--;
    rows =
        cpu_divide_up(g->out_height, cpu_divide_up(g->out_height, rows)); /* strips of like size */
    *cut = (struct conv_cut){1, rows, g->images, cpu_divide_up(g->out_height, rows)};
    return true;
}

struct conv_piece conv_piece_at(const struct conv_geometry *g, const struct conv_cut *cut,
                                int64_t index)
{
    struct conv_piece piece = {.image_first = index / cut->strips * cut->images,
                               .row_first = index % cut->strips * cut->rows};

    piece.images = g->images - piece.image_first;
    if (piece.images > cut->images)
        piece.images = cut->images;
    piece.rows = g->out_height - piece.row_first;
    if (piece.rows > cut->rows)
        piece.rows = cut->rows;
    return piece;
}

/* One row of the copy from the same row of the source's images of a cell: pixel i of the source goes to column
 * left + i * insert. */
struct source_row {
    const char *first,
        *second; /* second: of the other image, where a cell is of two; NULL: it has none */
    bool pairs;
};

static void copy_pixels(const struct conv_geometry *g, const struct source_row *row, int64_t pixel,
                        int64_t pixels, float *to)
{
    const int64_t at = pixel * g->channels, count = pixels * g->channels;

    if (row->pairs)
        g->micro->interleave(
            count, (const uint16_t *)(const void *)row->first + at,
            row->second == NULL ? NULL : (const uint16_t *)(const void *)row->second + at, to);
    else
        memcpy(to, row->first + at * (int64_t)sizeof *to, (size_t)count * sizeof *to);
}

static void copy_row(const struct conv_geometry *g, const struct source_row *row, int64_t columns,
                     float *to)
{
    const size_t pixel_bytes = (size_t)g->channels * sizeof *to;
    /* Columns of the copy that hold source pixels: left + i * insert, i < width. */
    int64_t inside = cpu_divide_up(columns - g->left, g->insert_w);

    if (inside > g->width)
        inside = g->width;
    if (inside < 0)
        inside = 0;
    if (g->insert_w > 1) {
        memset(to, 0, (size_t)columns * pixel_bytes);
        for (int64_t i = 0; i < inside; i++)
            copy_pixels(g, row, i, 1, to + (g->left + i * g->insert_w) * g->channels);
        return;
    }
    memset(to, 0, (size_t)(inside > 0 ? g->left : columns) * pixel_bytes);
    if (inside > 0) {
        copy_pixels(g, row, 0, inside, to + g->left * g->channels);
        memset(to + (g->left + inside) * g->channels, 0,
               (size_t)(columns - g->left - inside) * pixel_bytes);
    }
}

/* Row `row` of the image, or pair of images, `image`. */
static struct source_row source_row_at(const struct conv_geometry *g, const void *source,
                                       int64_t image, int64_t row)
{
    const int64_t number_bytes = g->pair_images > 0 ? 2 : 4;
    const int64_t row_bytes = g->width * g->channels * number_bytes;
    const int64_t image_bytes = g->height * row_bytes;
    struct source_row at = {.pairs = g->pair_images > 0};

    if (at.pairs)
        image *= 2;
    at.first = (const char *)source + image * image_bytes + row * row_bytes;
    if (at.pairs && image + 1 < g->pair_images)
        at.second = at.first + image_bytes;
    return at;
}

void conv_load_piece(const struct conv_geometry *g, struct conv_piece *piece, const void *source,
                     float *buffer)
{
    const int64_t rows = buffer_rows(g, piece->rows), columns = buffer_columns(g);

    if (source_needs_no_copy(g)) {
        piece->row_pitch = g->width * g->channels;
        piece->image_pitch = g->height * piece->row_pitch;
        piece->data = (const float *)source + piece->image_first * piece->image_pitch +
                      piece->row_first * g->stride_h * piece->row_pitch;
        return;
    }
    piece->data = buffer;
    piece->row_pitch = columns * g->channels;
    piece->image_pitch = rows * piece->row_pitch;
    for (int64_t n = 0; n < piece->images; n++)
        for (int64_t i = 0; i < rows; i++) {
            float *to = buffer + n * piece->image_pitch + i * piece->row_pitch;
            const int64_t row = piece->row_first * g->stride_h + i - g->top;

            if (row < 0 || row % g->insert_h != 0 || row / g->insert_h >= g->height) {
                memset(to, 0, (size_t)piece->row_pitch * sizeof *to);
            } else {
                const struct source_row at =
                    source_row_at(g, source, piece->image_first + n, row / g->insert_h);

                copy_row(g, &at, columns, to);
            }
        }
}

struct conv_runs conv_runs_of(const struct conv_geometry *g)
{
    if (g->dilation_w == 1)
        return (struct conv_runs){g->taps_h, g->taps_w * g->channels};
    return (struct conv_runs){g->taps_h * g->taps_w, g->channels};
}

int64_t conv_run_offset(const struct conv_geometry *g, const struct conv_piece *piece, int64_t run)
{
    if (g->dilation_w == 1)
        return run * g->dilation_h * piece->row_pitch;
    return run / g->taps_w * g->dilation_h * piece->row_pitch +
           run % g->taps_w * g->dilation_w * g->channels;
}
