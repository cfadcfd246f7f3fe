/* agent/workload/whiten.h: the weights of the whitening convolution: eigenvectors of the covariance of image patches,
 * each divided by the root of its eigenvalue, then all of them negated (arXiv 2404.00498, section 3.1; after
 * tysam-code, hlb-CIFAR10). In double: in single precision the smallest eigenvalue comes out negative.
 * Ownership: the caller's memory. Threads: pure, any thread. */
#ifndef DAYBREAK_AGENT_WORKLOAD_WHITEN_H
#define DAYBREAK_AGENT_WORKLOAD_WHITEN_H

#include <stddef.h>
#include <stdint.h>

#define WHITEN_WINDOW   2
#define WHITEN_CHANNELS 3
#define WHITEN_PATCH    (WHITEN_WINDOW * WHITEN_WINDOW * WHITEN_CHANNELS) /* 12 */
#define WHITEN_WIDTH    (2 * WHITEN_PATCH)

struct whiten_images {
    const uint8_t *pixels; /* [count][side][side][3] */
    int64_t count, side;
    const double *mean, *deviation; /* per channel, of u / 255 */
};

/* Second moments (the mean is not taken off) of all 2 x 2 patches, element order (r, s, c). */
void whiten_covariance(const struct whiten_images *images, double out[WHITEN_PATCH][WHITEN_PATCH]);
/* Of a symmetric matrix, by cyclic Jacobi rotations: values descending; vectors[i] belongs to values[i], its largest
 * component is positive. */
void whiten_eigen(const double matrix[WHITEN_PATCH][WHITEN_PATCH], double values[WHITEN_PATCH],
                  double vectors[WHITEN_PATCH][WHITEN_PATCH]);
/* [24][2][2][3]: v / sqrt(value + eps), then the same negated. */
void whiten_weights(const struct whiten_images *images, double eps,
                    float out[WHITEN_WIDTH * WHITEN_PATCH]);

#endif
