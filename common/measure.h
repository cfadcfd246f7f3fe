/* common/measure.h: the formulas of measures.md that both programs need. Pure; no allocation.
 * Source: Coleman et al., arXiv 1806.01427, unless said. Threads: any. */
#ifndef DAYBREAK_COMMON_MEASURE_H
#define DAYBREAK_COMMON_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* correct of total meets a target given in percent: 100 * correct >= target * total, exactly, with the
 * target as an integer of 1e-6 percent. 0 <= correct <= total, total > 0. */
bool measure_count_meets(int64_t correct, int64_t total, int64_t target_e6);

/* Official time (protocol.md, The clock): max(wall - left out, 2/3 wall), rounded down to ns.
 * 0 <= left_out_ns <= wall_ns. */
int64_t measure_official_ns(int64_t wall_ns, int64_t left_out_ns);

/* Mean, sample deviation (n - 1; 0 when n < 2) and CV = deviation / mean (0 when the mean is 0); cv_population is
 * the same with n in place of n - 1. */
struct measure_spread {
    size_t count;
    double mean, deviation, cv, cv_population;
};
struct measure_spread measure_spread(const double *values, size_t count);

/* The mean's 95 % interval: mean -+ t(0.975; n - 1) s / sqrt(n) (Student 1908). spread->count >= 2. */
void measure_mean_interval(const struct measure_spread *spread, double *low, double *high);

/* How many runs make the mean's 95 % interval at most `precision` of the mean to either side, when runs vary by cv:
 * the smallest n >= 2 with t(0.975; n - 1) cv / sqrt(n) <= precision; at most MEASURE_RUNS_NEEDED_MAX. cv >= 0;
 * precision > 0. */
#define MEASURE_RUNS_NEEDED_MAX 100000
size_t measure_runs_needed(double cv, double precision);

/* Student's t with df > 0 degrees of freedom, not only whole ones: P(T <= t), and the t with P(T <= t) = p for
 * 0 < p < 1. Both within 1e-10 of the exact value (relatively, where that is above 1). */
double measure_student_cdf(double t, double df);
double measure_student_quantile(double p, double df);

/* One-sided t test without equal variances (Welch 1947; df of Welch and Satterthwaite): `p` is the probability of a
 * difference of the means such as this or a greater one if `faster` were in truth not smaller than `slower`.
 * False: it cannot be told: fewer than two values on a side, or no spread on both. */
struct measure_welch {
    double t, df, p;
};
bool measure_welch(const struct measure_spread *faster, const struct measure_spread *slower,
                   struct measure_welch *test);

/* How the spread of TTA comes from that of the epochs needed and that of the seconds per epoch (measures.md, split of
 * the variance): CV(TTA)^2 ~ CV(E)^2 + CV(s)^2 + 2 r CV(E) CV(s), with TTA = E s in each run. epochs > 0. */
struct measure_split {
    struct measure_spread tta, epochs, per_epoch;
    double correlation; /* r; 0 where one of the two does not vary */
    bool has_share;     /* false: neither varies */
    double epoch_share; /* CV(E)^2 / (CV(E)^2 + CV(s)^2) */
};
struct measure_split measure_split(const double *tta, const double *epochs, size_t count);

/* Mean without the `dropped` smallest and as many of the largest (MLPerf's "olympic" mean, and the population
 * deviation of what is left). Reorders values. count > 2 dropped. */
struct measure_trimmed {
    size_t count; /* of those left */
    double mean, deviation;
};
struct measure_trimmed measure_trim(double *values, size_t count, size_t dropped);

/* What one of the columns (workloads) gives to AlgoPerf's score of a row (a submission), whose sum over the columns it
 * is: max(0, r_max - r) / (r_max - 1) / columns, with r the row's time there / the best of all rows. A column that the
 * row never reached gives nothing. ratio >= 1; r_max > 1. */
double measure_profile_share(double ratio, size_t columns, double r_max);

/* The runs of one entry. */
struct measure_runs {
    const int64_t *tta_ns; /* of those that reached the target, in order */
    size_t reached;
    size_t scored; /* of those the first, which the spread is of */
    size_t count;  /* of all */
};
struct measure_trials {
    size_t count, reached;
    double p, p_low, p_high;      /* probability of reaching the target, with its Wilson interval */
    bool has_spread;              /* two or more are scored */
    struct measure_spread spread; /* of the times of those that are scored, in s */
    double mean_low, mean_high;   /* the mean's 95 % interval, in s */
};
/* count > 0, scored <= reached <= count <= MEASURE_TRIALS_MAX. */
#define MEASURE_TRIALS_MAX 100
struct measure_trials measure_trials(const struct measure_runs *runs);

/* Median, the mean of the two middle ones when count is even. Reorders values. count > 0. */
int64_t measure_median(int64_t *values, size_t count);

/* Wilson's 95 % score interval for `hits` of `count` (Wilson 1927). count > 0. */
void measure_wilson(size_t hits, size_t count, double *low, double *high);

/* A share, with Wilson's interval; 0..1. */
struct measure_share {
    double value, low, high;
};
struct measure_share measure_share(size_t hits, size_t count); /* count > 0, hits <= count */
/* share - first, with Newcombe's hybrid of their intervals (Statistics in Medicine 17, 1998, method 10); -1..1. */
struct measure_share measure_gap(const struct measure_share *share,
                                 const struct measure_share *first);

#endif
