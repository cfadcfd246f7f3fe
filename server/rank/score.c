/* server/rank/score.c: see score.h. An entry has a hundred runs at most, so nothing here is sorted: the k-th of the
 * times is the one that k others precede. */
#include "server/rank/score.h"

__extension__ typedef __int128 i128;

static size_t count_reached(const struct score_run *runs, size_t count);
static bool find_median(const struct score_run *runs, size_t count, int64_t *tta_ns);
static bool find_ordered(const struct score_run *runs, size_t count, size_t order, int64_t *tta_ns);
static bool precedes(const struct score_run *runs, size_t left, size_t right);
static bool find_mean(const struct score_run *runs, size_t count, int64_t *tta_ns);
static bool find_olympic(const struct score_run *runs, size_t count, int64_t *tta_ns);
static i128 sum_reached(const struct score_run *runs, size_t count);
static size_t find_shown(const struct score_run *runs, size_t count, int64_t tta_ns);

struct score score_runs(enum task_score rule, const struct score_run *runs, size_t count)
{
    struct score score = {0};

    switch (rule) {
    case TASK_SCORE_MEDIAN: score.has = find_median(runs, count, &score.tta_ns); break;
    case TASK_SCORE_MEAN: score.has = find_mean(runs, count, &score.tta_ns); break;
    case TASK_SCORE_OLYMPIC: score.has = find_olympic(runs, count, &score.tta_ns); break;
    }
    if (!score.has)
        return (struct score){0};
    score.shown = find_shown(runs, count, score.tta_ns);
    return score;
}

static size_t count_reached(const struct score_run *runs, size_t count)
{
    size_t reached = 0;

    for (size_t i = 0; i < count; i++)
        reached += runs[i].reached;
    return reached;
}

static bool find_median(const struct score_run *runs, size_t count, int64_t *tta_ns)
{
    int64_t low, high;

    if (count == 0 || !find_ordered(runs, count, count / 2, &high))
        return false;
    if (count % 2 == 1) {
        *tta_ns = high;
        return true;
    }
    if (!find_ordered(runs, count, count / 2 - 1, &low))
        return false;
    *tta_ns = (int64_t)(((i128)low + high) / 2);
    return true;
}

/* The time that `order` others precede; false: it is infinite. */
static bool find_ordered(const struct score_run *runs, size_t count, size_t order, int64_t *tta_ns)
{
    for (size_t i = 0; i < count; i++) {
        size_t before = 0;

        for (size_t j = 0; j < count; j++)
            before += precedes(runs, j, i);
        if (before == order) {
            *tta_ns = runs[i].tta_ns;
            return runs[i].reached;
        }
    }
    return false;
}

/* A strict order of all runs: those that reached by time, then the others; equal ones as they stand. */
static bool precedes(const struct score_run *runs, size_t left, size_t right)
{
    const struct score_run *a = &runs[left], *b = &runs[right];

    if (a->reached != b->reached)
        return a->reached;
    if (a->reached && a->tta_ns != b->tta_ns)
        return a->tta_ns < b->tta_ns;
    return left < right;
}

static bool find_mean(const struct score_run *runs, size_t count, int64_t *tta_ns)
{
    if (count == 0 || count_reached(runs, count) < count)
        return false;
    *tta_ns = (int64_t)(sum_reached(runs, count) / (i128)count);
    return true;
}

static bool find_olympic(const struct score_run *runs, size_t count, int64_t *tta_ns)
{
    const size_t reached = count_reached(runs, count);
    int64_t fastest, slowest = 0; /* one that missed is the slowest and not in the sum */

    if (count < 3 || reached + 1 < count || !find_ordered(runs, count, 0, &fastest))
        return false;
    if (reached == count && !find_ordered(runs, count, count - 1, &slowest))
        return false;
    *tta_ns = (int64_t)((sum_reached(runs, count) - fastest - slowest) / (i128)(count - 2));
    return true;
}

static i128 sum_reached(const struct score_run *runs, size_t count)
{
    i128 sum = 0;

    for (size_t i = 0; i < count; i++)
        if (runs[i].reached)
            sum += runs[i].tta_ns;
    return sum;
}

static size_t find_shown(const struct score_run *runs, size_t count, int64_t tta_ns)
{
    size_t best = 0;
    i128 best_distance = -1;

    for (size_t i = 0; i < count; i++) {
        i128 distance = (i128)runs[i].tta_ns - tta_ns;

        if (distance < 0)
            distance = -distance;
        if (runs[i].reached &&
            (best_distance < 0 || distance < best_distance ||
             (distance == best_distance && runs[i].tta_ns < runs[best].tta_ns))) {
            best = i;
            best_distance = distance;
        }
    }
    return best;
}
