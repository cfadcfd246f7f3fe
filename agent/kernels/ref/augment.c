/* agent/kernels/ref/augment.c: reference of augment: y[h][w] = image[reflect(h + dy)][reflect(v + dx)], v = w
 * or, flipped, W - 1 - w. Reflection does not repeat the edge: -1 is 1. Of an image's two random words the
 * first gives both shifts (one draw from (2 pad + 1)^2), the top bit of the second the flip. Two more, of the epoch plus
 * 2^31, give brightness and contrast. */
#include "agent/kernels/ref/ref.h"
#include "common/rng.h"

struct view {
    int64_t dy, dx;
    bool flip;
    double brightness, contrast; /* (y + brightness) contrast, y already rounded to a float */
};

static int32_t scalar_i32(const struct kernel_args *args, int in)
{
    return *(const int32_t *)args->in[in];
}

static struct view view_of_image(const struct kernel_args *args, int64_t image)
{
    const struct augment_attr *attr = &args->op->attr.augment;
    const int64_t side = 2 * attr->pad + 1;
    struct view view = {attr->view_dy, attr->view_dx, attr->view_flip, 0.0, 1.0};

    if (attr->mode == AUGMENT_TRAIN) {
        const uint32_t epoch = (uint32_t)scalar_i32(args, 2);
        const struct rng_key key = {.seed = (uint32_t)scalar_i32(args, 3),
                                    .stream = args->op->stream};
        uint32_t word[2], first_epoch_word[2], colour[2], shift;

        rng_threefry(key, epoch, (uint32_t)image, word);
        rng_threefry(key, 0, (uint32_t)image, first_epoch_word);
        rng_threefry(key, epoch | UINT32_C(0x80000000), (uint32_t)image, colour);
        view.brightness = (2.0 * (double)rng_to_unit(colour[0]) - 1.0) * attr->brightness;
        view.contrast = 1.0 + (2.0 * (double)rng_to_unit(colour[1]) - 1.0) * attr->contrast;
        shift = rng_to_below(word[0], (uint32_t)(side * side));
        view.dy = shift / side - attr->pad;
        view.dx = shift % side - attr->pad;
        view.flip = attr->flip == FLIP_NONE     ? false
                    : attr->flip == FLIP_RANDOM ? word[1] >> 31 != 0
                                                : ((first_epoch_word[1] >> 31) ^ (epoch & 1)) != 0;
    }
    return view;
}

static int64_t reflect(int64_t at, int64_t size)
{
    return at < 0 ? -at : at >= size ? 2 * size - 2 - at : at;
}

static void augment_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct augment_attr *attr = &args->op->attr.augment;
    const struct tensor *images = args->in_tensor[0], *y = args->out_tensor[0];
    const int64_t height = y->dim[1], width = y->dim[2], channels = y->dim[3];

    (void)phase;
    (void)item;
    for (int64_t i = 0, count = tensor_count(y); i < count; i++) {
        const int64_t c = i % channels, w = i / channels % width;
        const int64_t h = i / channels / width % height, b = i / channels / width / height;
        const int64_t image = (int64_t)ref_get(args->in_tensor[1], args->in[1], b);
        const struct view view = view_of_image(args, image);
        const int64_t from_h = reflect(h + view.dy, height);
        const int64_t from_w = reflect((view.flip ? width - 1 - w : w) + view.dx, width);
        const double u = ref_get(images, args->in[0],
                                 ((image * height + from_h) * width + from_w) * channels + c);

        const float plain = (float)((u / 255.0 - attr->mean[c]) / attr->deviation[c]);

        ref_set(y, args->out[0], i, ((double)plain + view.brightness) * view.contrast);
    }
}

REF_KERNEL(augment, OP_AUGMENT);
