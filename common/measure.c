/* common/measure.c: see measure.h. */
#include "common/measure.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

__extension__ typedef __int128 i128;

static double student_density(double t, double df);
static double log_gamma(double x);
static double beta_regularised(double a, double b, double x, double y);
static double beta_fraction(double a, double b, double x);
static int compare_i64(const void *left, const void *right);
static int compare_double(const void *left, const void *right);

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
    if (spread.mean < 0.0 || spread.mean > 0.0) {
        spread.cv = spread.deviation / spread.mean;
        spread.cv_population = sqrt(squares / (double)count) / spread.mean;
    }
    return spread;
}

void measure_mean_interval(const struct measure_spread *spread, double *low, double *high)
{
    const double n = (double)spread->count;
    double half;

    assert(spread->count >= 2);
    half = measure_student_quantile(0.975, n - 1.0) * spread->deviation / sqrt(n);
    *low = spread->mean - half;
    *high = spread->mean + half;
}

/* The half width falls with n: bisection. */
size_t measure_runs_needed(double cv, double precision)
{
    size_t low = 1, high = MEASURE_RUNS_NEEDED_MAX; /* low is too few, high is taken to do */

    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        const double t = measure_student_quantile(0.975, (double)(middle - 1));

        if (t * cv / sqrt((double)middle) <= precision)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* P(|T| > |t|) = I_x(df/2, 1/2) with x = df / (df + t^2) (Abramowitz and Stegun 26.7.1, 26.5.27). x and 1 - x are
 * both formed from df and t: neither loses digits where it is small. */
double measure_student_cdf(double t, double df)
{
    double tail;

    assert(df > 0.0);
    tail = beta_regularised(df / 2.0, 0.5, df / (df + t * t), t * t / (df + t * t)) / 2.0;
    return t > 0.0 ? 1.0 - tail : tail;
}

/* Newton's steps inside an interval in which the distribution function, which only rises, passes p; where a step would
 * leave it, it is halved. */
double measure_student_quantile(double p, double df)
{
    double low = -1.0, high = 1.0, t = 0.0;

    assert(p > 0.0);
    assert(p < 1.0);
    while (measure_student_cdf(low, df) > p)
        low *= 2.0;
    while (measure_student_cdf(high, df) < p)
        high *= 2.0;
    for (int i = 0; i < 200; i++) {
        const double excess = measure_student_cdf(t, df) - p;
        double next;

        if (excess < 0.0)
            low = t;
        else
            high = t;
        next = t - excess / student_density(t, df);
        if (!(next > low && next < high))
            next = low + (high - low) / 2.0;
        if (fabs(next - t) <= 1e-14 * fabs(next))
            return next;
        t = next;
    }
    return t;
}

bool measure_welch(const struct measure_spread *faster, const struct measure_spread *slower,
                   struct measure_welch *test)
{
    double a, b;

    if (faster->count < 2 || slower->count < 2)
        return false;
    a = faster->deviation * faster->deviation / (double)faster->count;
    b = slower->deviation * slower->deviation / (double)slower->count;
    if (!(a + b > 0.0))
        return false;
    test->t = (slower->mean - faster->mean) / sqrt(a + b);
    test->df = (a + b) * (a + b) /
               (a * a / (double)(faster->count - 1) + b * b / (double)(slower->count - 1));
    test->p = measure_student_cdf(-test->t, test->df);
    return true;
}

struct measure_split measure_split(const double *tta, const double *epochs, size_t count)
{
    struct measure_split split = {.tta = measure_spread(tta, count),
                                  .epochs = measure_spread(epochs, count)};
    double squares = 0.0, cross = 0.0, sum = 0.0;

    for (size_t i = 0; i < count; i++) {
        assert(epochs[i] > 0.0);
        sum += tta[i] / epochs[i];
    }
    split.per_epoch.count = count;
    if (count == 0)
        return split;
    split.per_epoch.mean = sum / (double)count;
    for (size_t i = 0; i < count; i++) {
        const double off = tta[i] / epochs[i] - split.per_epoch.mean;

        squares += off * off;
        cross += off * (epochs[i] - split.epochs.mean);
    }
    if (count < 2)
        return split;
    split.per_epoch.deviation = sqrt(squares / (double)(count - 1));
    split.per_epoch.cv = split.per_epoch.deviation / split.per_epoch.mean;
    split.per_epoch.cv_population = sqrt(squares / (double)count) / split.per_epoch.mean;
    if (split.per_epoch.deviation > 0.0 && split.epochs.deviation > 0.0)
        split.correlation =
            cross / ((double)(count - 1) * split.per_epoch.deviation * split.epochs.deviation);
    squares = split.epochs.cv * split.epochs.cv + split.per_epoch.cv * split.per_epoch.cv;
    split.has_share = squares > 0.0;
    if (split.has_share)
        split.epoch_share = split.epochs.cv * split.epochs.cv / squares;
    return split;
}

struct measure_trimmed measure_trim(double *values, size_t count, size_t dropped)
{
    struct measure_trimmed left = {0};
    double sum = 0.0, squares = 0.0;

    assert(count > 2 * dropped);
    qsort(values, count, sizeof *values, compare_double);
    left.count = count - 2 * dropped;
    for (size_t i = dropped; i < count - dropped; i++)
        sum += values[i];
    left.mean = sum / (double)left.count;
    for (size_t i = dropped; i < count - dropped; i++)
        squares += (values[i] - left.mean) * (values[i] - left.mean);
    left.deviation = sqrt(squares / (double)left.count);
    return left;
}

double measure_profile_share(double ratio, size_t columns, double r_max)
{
    assert(r_max > 1.0);
    assert(columns > 0);
    return fmax(0.0, r_max - ratio) / ((double)columns * (r_max - 1.0));
}

struct measure_trials measure_trials(const struct measure_runs *runs)
{
    struct measure_trials trials = {.count = runs->count, .reached = runs->reached};
    double seconds[MEASURE_TRIALS_MAX] = {0};

    assert(runs->count > 0);
    assert(runs->scored <= runs->reached);
    assert(runs->reached <= runs->count);
    assert(runs->count <= MEASURE_TRIALS_MAX);
    for (size_t i = 0; i < runs->scored; i++)
        seconds[i] = (double)runs->tta_ns[i] / 1e9;
    trials.p = (double)runs->reached / (double)runs->count;
    measure_wilson(runs->reached, runs->count, &trials.p_low, &trials.p_high);
    trials.spread = measure_spread(seconds, runs->scored);
    trials.has_spread = runs->scored >= 2;
    if (trials.has_spread)
        measure_mean_interval(&trials.spread, &trials.mean_low, &trials.mean_high);
    return trials;
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

struct measure_share measure_share(size_t hits, size_t count)
{
    struct measure_share share = {.value = (double)hits / (double)count};

    measure_wilson(hits, count, &share.low, &share.high);
    return share;
}

struct measure_share measure_gap(const struct measure_share *share,
                                 const struct measure_share *first)
{
    const double value = share->value - first->value;

    return (struct measure_share){
        value, value - hypot(share->value - share->low, first->high - first->value),
        value + hypot(share->high - share->value, first->value - first->low)};
}

static double student_density(double t, double df)
{
    const double pi = 3.14159265358979323846;

    return exp(log_gamma((df + 1.0) / 2.0) - log_gamma(df / 2.0) -
               (df + 1.0) / 2.0 * log1p(t * t / df)) /
           sqrt(df * pi);
}

/* lgamma() writes a global sign, which threads would share. */
static double log_gamma(double x)
{
    int sign;

    return lgamma_r(x, &sign);
}

/* The regularised incomplete beta function I_x(a, b) for a, b > 0; y = 1 - x. */
static double beta_regularised(double a, double b, double x, double y)
{
    double front;

    if (!(x > 0.0))
        return 0.0;
    if (!(y > 0.0))
        return 1.0;
    front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log(y));
    /* The fraction converges fast on this side of the mean; on the other I_x(a, b) = 1 - I_y(b, a) does. */
    if (x < (a + 1.0) / (a + b + 2.0))
        return front * beta_fraction(a, b, x) / a;
    return 1.0 - front * beta_fraction(b, a, y) / b;
}

/* The continued fraction of I_x (NIST DLMF 8.17.22), from the front by Lentz's method: `above` and `below` are the
 * ratios of neighbouring numerators and denominators. */
static double beta_fraction(double a, double b, double x)
{
    enum { STEPS_MAX = 10000 };
    const double tiny = 1e-300;
    double above = 1.0, below = 1.0 - (a + b) * x / (a + 1.0), value;

    below = 1.0 / (fabs(below) < tiny ? tiny : below);
    value = below;
    for (int m = 1; m <= STEPS_MAX; m++) {
        const double d = (double)m;
        const double terms[] = {d * (b - d) * x / ((a + 2.0 * d - 1.0) * (a + 2.0 * d)),
                                -(a + d) * (a + b + d) * x / ((a + 2.0 * d) * (a + 2.0 * d + 1.0))};
        double change = 1.0;

        for (int i = 0; i < 2; i++) {
            below = 1.0 + terms[i] * below;
            above = 1.0 + terms[i] / above;
            below = 1.0 / (fabs(below) < tiny ? tiny : below);
            above = fabs(above) < tiny ? tiny : above;
            change = above * below;
            value *= change;
        }
        if (fabs(change - 1.0) < 1e-15)
            break;
    }
    return value;
}

static int compare_i64(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

static int compare_double(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}
