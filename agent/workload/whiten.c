/* agent/workload/whiten.c: see whiten.h. */
#include "agent/workload/whiten.h"

#include <math.h>
#include <string.h>

#define SWEEPS_MAX 64 /* cyclic Jacobi converges quadratically: 12 x 12 takes about 8 */

static void load_patch(const struct whiten_images *images, const double table[][256], int64_t image,
                       int64_t y, int64_t x, double patch[WHITEN_PATCH]);
static void rotate(double a[WHITEN_PATCH][WHITEN_PATCH], double v[WHITEN_PATCH][WHITEN_PATCH],
                   int p, int q);
static double off_diagonal(const double a[WHITEN_PATCH][WHITEN_PATCH]);
static void take_vector(const double v[WHITEN_PATCH][WHITEN_PATCH], int column,
                        double out[WHITEN_PATCH]);

void whiten_covariance(const struct whiten_images *images, double out[WHITEN_PATCH][WHITEN_PATCH])
{
    double table[WHITEN_CHANNELS][256], patch[WHITEN_PATCH];
    const int64_t last = images->side - WHITEN_WINDOW;
    const double count = (double)(images->count * (last + 1) * (last + 1));

    for (int c = 0; c < WHITEN_CHANNELS; c++)
        for (int u = 0; u < 256; u++)
            table[c][u] = ((double)u / 255.0 - images->mean[c]) / images->deviation[c];
    memset(out, 0, sizeof(double[WHITEN_PATCH][WHITEN_PATCH]));
    for (int64_t n = 0; n < images->count; n++)
        for (int64_t y = 0; y <= last; y++)
            for (int64_t x = 0; x <= last; x++) {
                load_patch(images, (const double(*)[256])table, n, y, x, patch);
                for (int i = 0; i < WHITEN_PATCH; i++)
                    for (int j = i; j < WHITEN_PATCH; j++)
                        out[i][j] += patch[i] * patch[j];
            }
    for (int i = 0; i < WHITEN_PATCH; i++)
        for (int j = i; j < WHITEN_PATCH; j++)
            out[i][j] = out[j][i] = out[i][j] / count;
}

void whiten_eigen(const double matrix[WHITEN_PATCH][WHITEN_PATCH], double values[WHITEN_PATCH],
                  double vectors[WHITEN_PATCH][WHITEN_PATCH])
{
    double a[WHITEN_PATCH][WHITEN_PATCH], v[WHITEN_PATCH][WHITEN_PATCH] = {{0}};
    int order[WHITEN_PATCH];

    memcpy(a, matrix, sizeof a);
    for (int i = 0; i < WHITEN_PATCH; i++) {
        v[i][i] = 1.0;
        order[i] = i;
    }
    for (int sweep = 0; sweep < SWEEPS_MAX && off_diagonal((const double(*)[WHITEN_PATCH])a) > 0.0;
         sweep++)
        for (int p = 0; p < WHITEN_PATCH; p++)
            for (int q = p + 1; q < WHITEN_PATCH; q++)
                rotate(a, v, p, q);

    for (int i = 1; i < WHITEN_PATCH; i++) /* insertion: descending, equal ones in order */
        for (int j = i; j > 0 && a[order[j]][order[j]] > a[order[j - 1]][order[j - 1]]; j--) {
            const int swap = order[j];

            order[j] = order[j - 1];
            order[j - 1] = swap;
        }
    for (int i = 0; i < WHITEN_PATCH; i++) {
        values[i] = a[order[i]][order[i]];
        take_vector((const double(*)[WHITEN_PATCH])v, order[i], vectors[i]);
    }
}

void whiten_weights(const struct whiten_images *images, double eps,
                    float out[WHITEN_WIDTH * WHITEN_PATCH])
{
    double covariance[WHITEN_PATCH][WHITEN_PATCH], values[WHITEN_PATCH];
    double vectors[WHITEN_PATCH][WHITEN_PATCH];

    whiten_covariance(images, covariance);
    whiten_eigen((const double(*)[WHITEN_PATCH])covariance, values, vectors);
    for (int i = 0; i < WHITEN_PATCH; i++)
        for (int j = 0; j < WHITEN_PATCH; j++) {
            const float weight = (float)(vectors[i][j] / sqrt(values[i] + eps));

            out[i * WHITEN_PATCH + j] = weight;
            out[(WHITEN_PATCH + i) * WHITEN_PATCH + j] = -weight;
        }
}

static void load_patch(const struct whiten_images *images, const double table[][256], int64_t image,
                       int64_t y, int64_t x, double patch[WHITEN_PATCH])
{
    const int64_t side = images->side;
    int at = 0;

    for (int r = 0; r < WHITEN_WINDOW; r++)
        for (int s = 0; s < WHITEN_WINDOW; s++) {
            const uint8_t *pixel =
                images->pixels + ((image * side + y + r) * side + x + s) * WHITEN_CHANNELS;

            for (int c = 0; c < WHITEN_CHANNELS; c++)
                patch[at++] = table[c][pixel[c]];
        }
}

/* Zeroes a[p][q] (Golub, Van Loan, "Matrix computations", section 8.5.2), the smaller of the two angles. */
static void rotate(double a[WHITEN_PATCH][WHITEN_PATCH], double v[WHITEN_PATCH][WHITEN_PATCH],
                   int p, int q)
{
    double theta, t, c, s;

    if (a[p][q] == 0.0)
        return;
    theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    t = (theta >= 0.0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
    c = 1.0 / sqrt(t * t + 1.0);
    s = t * c;
    for (int i = 0; i < WHITEN_PATCH; i++) {
        const double ip = a[i][p], iq = a[i][q];

        a[i][p] = c * ip - s * iq;
        a[i][q] = s * ip + c * iq;
    }
    for (int i = 0; i < WHITEN_PATCH; i++) {
        const double pi = a[p][i], qi = a[q][i], vp = v[i][p], vq = v[i][q];

        a[p][i] = c * pi - s * qi;
        a[q][i] = s * pi + c * qi;
        v[i][p] = c * vp - s * vq;
        v[i][q] = s * vp + c * vq;
    }
    a[p][q] = a[q][p] = 0.0;
}

/* What is left beside the diagonal, as far as it counts in double; 0 ends the sweeps. */
static double off_diagonal(const double a[WHITEN_PATCH][WHITEN_PATCH])
{
    double off = 0.0, diagonal = 0.0;

    for (int i = 0; i < WHITEN_PATCH; i++)
        for (int j = 0; j < WHITEN_PATCH; j++) {
            if (i == j)
                diagonal += a[i][i] * a[i][i];
            else
                off += a[i][j] * a[i][j];
        }
    return off > diagonal * 1e-32 ? off : 0.0;
}

/* Eigenvectors have no sign of their own: the largest component is made positive. */
static void take_vector(const double v[WHITEN_PATCH][WHITEN_PATCH], int column,
                        double out[WHITEN_PATCH])
{
    int largest = 0;
    double sign;

    for (int i = 1; i < WHITEN_PATCH; i++)
        if (fabs(v[i][column]) > fabs(v[largest][column]))
            largest = i;
    sign = v[largest][column] < 0.0 ? -1.0 : 1.0;
    for (int i = 0; i < WHITEN_PATCH; i++)
        out[i] = sign * v[i][column];
}
