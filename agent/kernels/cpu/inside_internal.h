/* agent/kernels/cpu/inside_internal.h: convolutions of small images, whose taps lie outside for a good part: of 3 x 3 taps
 * with padding 1 over 3 x 3 pixels, 49 of 81 lie inside. The kernels of this family (conv2d_inside.c,
 * conv2d_grad_weight_inside.c) go through the images at one pixel and one tap at a time and leave the others out, where the
 * padded copies of conv_internal.h would multiply by zeros.
 * Ownership: borrows. Threads: pure, any thread. */
#ifndef DAYBREAK_AGENT_KERNELS_CPU_INSIDE_INTERNAL_H
#define DAYBREAK_AGENT_KERNELS_CPU_INSIDE_INTERNAL_H

#include "agent/kernels/cpu/conv_internal.h"

/* Where tap (r, s) of output pixel (p, q) reads: the pixel's number in an image of the source, -1: outside. */
int64_t inside_pixel(const struct conv_geometry *g, int64_t p, int64_t q, int64_t tap);

/* Stride 1, enough images and few enough taps inside; else false with why. fit->flops: of the taps inside. */
bool inside_accept(const struct conv_geometry *g, struct fit *fit, char why[KERNEL_WHY_BYTES]);

#endif
