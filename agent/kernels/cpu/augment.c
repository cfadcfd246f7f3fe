/* agent/kernels/cpu/augment.c: augment in plain C: bytes become floats through a table of 256 x C, so that
 * every pixel costs one look-up; loads are bytes, so wider vectors would not help. Same bits as the reference:
 * the table holds the reference's own numbers, shifts and flips are integers. Bound by look-ups, about 1 ns a value. */
#include "agent/kernels/cpu/table_internal.h"
#include "common/rng.h"

#include <stdio.h>
#include <string.h>

#define IMAGES_PER_ITEM 32   /* about 100 us of 32 x 32 x 3 */
#define WIDTH_MAX       1024 /* of the column map on the stack */

struct image_view {
    int64_t dy, dx;
    bool flip;
    double brightness, contrast;
};

static bool augment_accept(const struct kernel_query *query, struct fit *fit,
                           char why[KERNEL_WHY_BYTES])
{
    const struct tensor *y = query->out[0];

    (void)fit;
    if (y->dtype != DT_F32) {
        (void)snprintf(why, KERNEL_WHY_BYTES, "writes f32, not %s", dtype_name(y->dtype));
        return false;
    }
    if (y->dim[2] > WIDTH_MAX || y->dim[3] > CHANNELS_MAX) {
        (void)snprintf(why, KERNEL_WHY_BYTES, "W=%lld or C=%lld too large", (long long)y->dim[2],
                       (long long)y->dim[3]);
        return false;
    }
    return true;
}

static int64_t augment_items(const struct kernel_args *args, int phase)
{
    (void)phase;
    return (args->out_tensor[0]->dim[0] + IMAGES_PER_ITEM - 1) / IMAGES_PER_ITEM;
}

static void fill_table(const struct augment_attr *attr, int64_t channels,
                       float table[256][CHANNELS_MAX])
{
    for (int u = 0; u < 256; u++)
        for (int64_t c = 0; c < channels; c++)
            table[u][c] = (float)(((double)u / 255.0 - attr->mean[c]) / attr->deviation[c]);
}

/* ref/augment.c has the words; this must draw the same. */
static struct image_view draw_view(const struct kernel_args *args, int32_t image)
{
    const struct augment_attr *attr = &args->op->attr.augment;
    const int64_t side = 2 * attr->pad + 1;
    const struct rng_key key = {.seed = (uint32_t)((const int32_t *)args->in[3])[0],
                                .stream = args->op->stream};
    const uint32_t epoch = (uint32_t)((const int32_t *)args->in[2])[0];
    struct image_view view;
    uint32_t word[2], first[2], colour[2], shift;

    rng_threefry(key, epoch, (uint32_t)image, word);
    shift = rng_to_below(word[0], (uint32_t)(side * side));
    view.dy = shift / side - attr->pad;
    view.dx = shift % side - attr->pad;
    view.flip = false;
    if (attr->flip == FLIP_RANDOM) {
        view.flip = word[1] >> 31 != 0;
    } else if (attr->flip == FLIP_ALTERNATE) {
        rng_threefry(key, 0, (uint32_t)image, first);
        view.flip = ((first[1] >> 31) ^ (epoch & 1)) != 0;
    }
    rng_threefry(key, epoch | UINT32_C(0x80000000), (uint32_t)image, colour);
    view.brightness = (2.0 * (double)rng_to_unit(colour[0]) - 1.0) * attr->brightness;
    view.contrast = 1.0 + (2.0 * (double)rng_to_unit(colour[1]) - 1.0) * attr->contrast;
    return view;
}

/* The table with an image's brightness and contrast: a fourth of its values, so cheaper than at each pixel. */
static void colour_table(const struct image_view *view, int64_t channels,
                         const float table[256][CHANNELS_MAX], float coloured[256][CHANNELS_MAX])
{
    for (int u = 0; u < 256; u++)
        for (int64_t c = 0; c < channels; c++)
            coloured[u][c] = (float)(((double)table[u][c] + view->brightness) * view->contrast);
}

static int64_t reflect(int64_t at, int64_t size)
{
    return at < 0 ? -at : at >= size ? 2 * size - 2 - at : at;
}

static void write_image(const struct tensor *y, const uint8_t *image, struct image_view view,
                        const float table[256][CHANNELS_MAX], float *out)
{
    const int64_t height = y->dim[1], width = y->dim[2], channels = y->dim[3];
    int32_t column[WIDTH_MAX]; /* offset of the pixel that column w shows */

    for (int64_t w = 0; w < width; w++)
        column[w] = (int32_t)(reflect((view.flip ? width - 1 - w : w) + view.dx, width) * channels);
    for (int64_t h = 0; h < height; h++) {
        const uint8_t *row = image + reflect(h + view.dy, height) * width * channels;

        if (channels == 3) {
            for (int64_t w = 0; w < width; w++, out += 3) {
                const uint8_t *pixel = row + column[w];

                out[0] = table[pixel[0]][0];
                out[1] = table[pixel[1]][1];
                out[2] = table[pixel[2]][2];
            }
            continue;
        }
        for (int64_t w = 0; w < width; w++)
            for (int64_t c = 0; c < channels; c++)
                *out++ = table[row[column[w] + c]][c];
    }
}

static void augment_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct augment_attr *attr = &args->op->attr.augment;
    const struct tensor *y = args->out_tensor[0];
    const int64_t image_elements = y->dim[1] * y->dim[2] * y->dim[3];
    const int64_t first = item * IMAGES_PER_ITEM;
    const int64_t last = first + IMAGES_PER_ITEM < y->dim[0] ? first + IMAGES_PER_ITEM : y->dim[0];
    const bool colours = attr->mode == AUGMENT_TRAIN && attr->brightness + attr->contrast > 0.0;
    float table[256][CHANNELS_MAX], coloured[256][CHANNELS_MAX];

    (void)phase;
    fill_table(attr, y->dim[3], table);
    for (int64_t b = first; b < last; b++) {
        const int32_t image = ((const int32_t *)args->in[1])[b];
        const struct image_view view =
            attr->mode == AUGMENT_TRAIN
                ? draw_view(args, image)
                : (struct image_view){attr->view_dy, attr->view_dx, attr->view_flip, 0.0, 1.0};

        if (colours)
            colour_table(&view, y->dim[3], (const float(*)[CHANNELS_MAX])table, coloured);
        write_image(y, (const uint8_t *)args->in[0] + image * image_elements, view,
                    (const float(*)[CHANNELS_MAX])(colours ? coloured : table),
                    (float *)args->out[0] + b * image_elements);
    }
}

const struct kernel augment_f32 = {.name = "augment_f32",
                                   .anchor = OP_AUGMENT,
                                   .accept = augment_accept,
                                   .items = augment_items,
                                   .work = augment_work};
