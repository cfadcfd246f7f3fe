/* agent/data/png.c: reads a PNG image row by row (see png.h). */
#include "agent/data/png.h"

#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "common/str.h"

#define PNG_SIGNATURE_BYTES 8

/* What the callbacks of libpng see. All that must survive its longjmp() lives here or is volatile. */
struct png_source {
    struct str rest; /* not read yet */
    struct error *err;
};

static void fill_bytes(png_structp png, png_bytep out, png_size_t bytes)
{
    struct png_source *source = png_get_io_ptr(png);

    if (bytes > source->rest.len)
        png_error(png, "the file ends early");
    memcpy(out, source->rest.data, bytes);
    source->rest.data += bytes;
    source->rest.len -= bytes;
}

static void on_error(png_structp png, png_const_charp message)
{
    struct png_source *source = png_get_error_ptr(png);

    (void)error_set(source->err, ST_INVALID, "png", "not a whole PNG image: %s", message);
    png_longjmp(png, 1);
}

/* A lossless data set has no room for "almost right": what libpng would repair is refused. */
static void on_warning(png_structp png, png_const_charp message)
{
    png_error(png, message);
}

static enum status check_header(png_structp png, png_infop info, const struct png_sink *sink,
                                struct error *err)
{
    const uint32_t width = png_get_image_width(png, info);
    const uint32_t height = png_get_image_height(png, info);

    if (width != sink->width || height != sink->height)
        return error_set(err, ST_INVALID, "png", "the image is %u x %u, not %u x %u", width, height,
                         sink->width, sink->height);
    if (png_get_bit_depth(png, info) != 8 || png_get_color_type(png, info) != PNG_COLOR_TYPE_RGB ||
        png_get_interlace_type(png, info) != PNG_INTERLACE_NONE)
        return error_set(err, ST_INVALID, "png", "the image is not plain 8-bit RGB");
    return ST_OK;
}

enum status png_read_rgb(struct str file, const struct png_sink *sink, struct error *err)
{
    struct png_source source = {.rest = file, .err = err};
    enum status volatile status = ST_OK;
    png_structp png = NULL;
    png_infop info = NULL;
    uint8_t *row = NULL;

    if (file.len < PNG_SIGNATURE_BYTES ||
        png_sig_cmp((png_const_bytep)file.data, 0, PNG_SIGNATURE_BYTES) != 0)
        return error_set(err, ST_INVALID, "png", "this is not a PNG image");
    row = malloc((size_t)sink->width * 3);
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, on_error, on_warning);
    if (png != NULL)
        info = png_create_info_struct(png);
    if (row == NULL || info == NULL) {
        status = error_set(err, ST_NO_MEMORY, "png", "no memory to read an image");
        goto done;
    }
    if (setjmp(png_jmpbuf(png)) != 0) { /* on_error() lands here, with err filled */
        status = ST_INVALID;
        goto done;
    }
    png_set_read_fn(png, &source, fill_bytes);
    png_set_user_limits(png, sink->width, sink->height);
    png_read_info(png, info);
    status = check_header(png, info, sink, err);
    if (status != ST_OK)
        goto done;
    for (uint32_t y = 0; y < sink->height; y++) {
        png_read_row(png, row, NULL);
        sink->row(sink->context, y, row);
    }
    png_read_end(png, NULL); /* checks the last sums */
done:
    if (png != NULL)
        png_destroy_read_struct(&png, info != NULL ? &info : NULL, NULL);
    free(row);
    return status;
}
