/* agent/data/png.h: reads a PNG image row by row; the only user of libpng's header.
 * Ownership: borrows all. Threads: pure, any thread. */
#ifndef DAYBREAK_AGENT_DATA_PNG_H
#define DAYBREAK_AGENT_DATA_PNG_H

#include <stdint.h>

#include "common/status.h"
#include "common/str.h"

/* Gets rows 0..height-1 in order; rgb holds 3 * width bytes during the call. */
struct png_sink {
    uint32_t width, height; /* what the image must have */
    void (*row)(void *context, uint32_t y, const uint8_t *rgb);
    void *context;
};

/* The image must be 8-bit RGB, not interlaced, of the sink's size: else ST_INVALID. Rows may have been
 * delivered before a fault further down is found. */
enum status png_read_rgb(struct str file, const struct png_sink *sink, struct error *err);

#endif
