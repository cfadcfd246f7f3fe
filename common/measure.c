/* common/measure.c: see measure.h. */
#include "common/measure.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

__extension__ typedef __int128 i128;

static int compare_i64(const void *left, const void *right);

bool measure_count_meets(int64_t correct, int64_t total, int64_t target_e6)
{
    assert(total > 0);
    assert(correct >= 0 && correct <= total);
    return (i128)correct * 100 * 1000000 >= (i128)target_e6 * total;
}

int64_t measure_official_ns(int64_t wall_ns, int64_t left_out_ns)
{
    int64_t counted, floor_ns;

    assert(left_out_ns >= 0 && left_out_ns <= wall_ns);
    counted = wall_ns - left_out_ns;
    floor_ns = (int64_t)((i128)wall_ns * 2 / 3);
    return counted > floor_ns ? counted : floor_ns;
}

struct measure_spread measure_spread(const double *values, size_t count)
{
    struct measure_spread spread = {.count = count};
    double sum = 0.0, squares = 0.0;

    if (count == 0)
        return spread;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    spread.mean = sum / (double)count;
    if (count < 2)
        return spread;
    for (size_t i = 0; i < count; i++) /* in a second pass: no cancellation of large squares */
        squares += (values[i] - spread.mean) * (values[i] - spread.mean);
    spread.deviation = sqrt(squares / (double)(count - 1));
    if (spread.mean < 0.0 || spread.mean > 0.0)
        spread.cv = spread.deviation / spread.mean;
    return spread;
}

int64_t measure_median(int64_t *values, size_t count)
{
    int64_t low, high;

    assert(count > 0);
    qsort(values, count, sizeof *values, compare_i64);
    high = values[count / 2];
    if (count % 2 == 1)
        return high;
    low = values[count / 2 - 1];
    return (int64_t)(((i128)low + high) / 2);
}

void measure_wilson(size_t hits, size_t count, double *low, double *high)
{
    const double z = 1.959963984540054; /* the normal distribution's 97.5 % point */
    double n, p, centre, half, scale;

    assert(count > 0);
    assert(hits <= count);
    n = (double)count;
    p = (double)hits / n;
    scale = 1.0 / (1.0 + z * z / n);
    centre = (p + z * z / (2.0 * n)) * scale;
    half = z * sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n)) * scale;
    *low =
        hits == 0 ? 0.0 : centre - half; /* exact at the ends, where rounding could step outside */
    *high = hits == count ? 1.0 : centre + half;
}

static int compare_i64(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}
