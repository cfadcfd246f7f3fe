/* server/mlperf/rcp.c: see rcp.h. With m and s of the reference, n1 its runs without the extremes and n2 the entry's,
 * the least mean that is believed is m - t(0.95; n1 + n2 - 2) s sqrt(1/n1 + 1/n2): a one-sided t test of equal
 * variances. Between two batch sizes m and s are interpolated linearly, and n1 is twice the runs that an entry needs. */
#include "server/mlperf/rcp.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/measure.h"

enum { NAME_BYTES_MAX = 200 };

struct stats { /* of one point, or between two */
    const char *name;
    double batch, mean, deviation, min_mean;
};

static enum status read_point(const struct json_doc *doc, const char *name, const json_t *json,
                              struct arena *arena, struct rcp_point *point, struct error *err);
static enum status fail(const struct json_doc *doc, const char *name, const char *member,
                        const char *detail, struct error *err);
static int compare_points(const void *left, const void *right);
static int compare_values(const void *left, const void *right);
static struct stats point_stats(const struct rcp_point *point, const struct rcp_question *question);
static struct stats between(struct stats low, struct stats high, double batch, size_t runs);
static double least_mean(double mean, double deviation, double n1, size_t runs);
static size_t prune(struct stats *stats, size_t count, size_t runs);
static double entry_mean(const struct rcp_question *question, double *values);

enum status rcp_parse(struct str text, struct arena *arena, struct rcp_set *set, struct error *err)
{
    enum status status;
    struct json_doc doc;
    const char *name;
    json_t *json;

    *set = (struct rcp_set){0};
    status = json_doc_parse(text, arena, &doc, err);
    if (status != ST_OK)
        return status;
    if (!json_is_object(doc.root) || json_object_size(doc.root) == 0 ||
        json_object_size(doc.root) > RCP_POINTS_MAX) {
        status = error_set_code(err, ST_INVALID, "bad_rcp", NULL,
                                "It is an object of 1 to 128 points by name.",
                                "the file holds no reference points");
        goto done;
    }
    set->points = ARENA_NEW_ARRAY(arena, json_object_size(doc.root), struct rcp_point);
    if (set->points == NULL)
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory for reference points");
    json_object_foreach(doc.root, name, json)
    {
        if (status == ST_OK)
            status = read_point(&doc, name, json, arena, &set->points[set->count], err);
        if (status == ST_OK)
            set->count++;
    }
    if (status != ST_OK)
        goto done;
    qsort(set->points, set->count, sizeof *set->points, compare_points);
    for (size_t i = 1; i < set->count && status == ST_OK; i++)
        if (!(set->points[i - 1].batch < set->points[i].batch))
            status = fail(&doc, set->points[i].name, "BS", "two points have this batch size", err);
done:
    json_doc_fini(&doc);
    return status;
}

const char *rcp_variant_name(enum rcp_variant variant)
{
    return variant == RCP_RULES ? "rules" : "tool";
}

enum status rcp_check(const struct rcp_set *set, const struct rcp_question *question,
                      struct arena *arena, struct rcp_verdict *verdict, struct error *err)
{
    struct stats *stats = ARENA_NEW_ARRAY(arena, set->count, struct stats);
    double *values = ARENA_NEW_ARRAY(arena, question->count, double);
    struct stats found = {0};
    size_t count, at = 0;

    assert(question->missed <= 1);
    assert(question->count + question->missed >= 3);
    *verdict = (struct rcp_verdict){0};
    if (stats == NULL || values == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for reference points");
    for (size_t i = 0; i < set->count; i++)
        stats[i] = point_stats(&set->points[i], question);
    count = prune(stats, set->count, question->runs);
    verdict->entry_mean = entry_mean(question, values);
    verdict->factor = 1.0;
    while (at < count && stats[at].batch < question->batch)
        at++;
    if (at == count) {
        verdict->match = RCP_LARGER;
        return ST_OK;
    }
    if (stats[at].batch <= question->batch) {
        verdict->match = RCP_EXACT;
        found = stats[at];
    } else if (at == 0) {
        verdict->match = RCP_SMALLER;
        found = stats[0];
    } else {
        verdict->match = RCP_INTERPOLATED;
        found = between(stats[at - 1], stats[at], question->batch, question->runs);
    }
    verdict->point = found.name;
    verdict->mean = found.mean;
    verdict->deviation = found.deviation;
    verdict->min_mean = found.min_mean;
    verdict->max_speedup = found.mean / found.min_mean;
    verdict->pass = verdict->entry_mean >= found.min_mean;
    verdict->factor = fmax(1.0, found.mean / verdict->entry_mean);
    return ST_OK;
}

static enum status read_point(const struct json_doc *doc, const char *name, const json_t *json,
                              struct arena *arena, struct rcp_point *point, struct error *err)
{
    const json_t *batch = json_object_get(json, "BS");
    const json_t *list = json_object_get(json, "Epochs to converge");
    double *values;

    if (list == NULL)
        list = json_object_get(json, "samples to converge");
    if (strlen(name) > NAME_BYTES_MAX)
        return fail(doc, name, NULL, "the name is longer than 200 bytes", err);
    if (!json_is_number(batch) || !(json_number_value(batch) > 0.0))
        return fail(doc, name, "BS", "the batch size is not a number above 0", err);
    if (!json_is_array(list) || json_array_size(list) < 3 || json_array_size(list) > RCP_VALUES_MAX)
        return fail(doc, name, NULL, "\"Epochs to converge\" is not a list of 3 to 1,000 numbers",
                    err);
    point->name = arena_copy(arena, str_from_cstr(name));
    point->batch = json_number_value(batch);
    point->count = json_array_size(list);
    values = ARENA_NEW_ARRAY(arena, point->count, double);
    if (point->name == NULL || values == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for reference points");
    for (size_t i = 0; i < point->count; i++) {
        const json_t *value = json_array_get(list, i);

        values[i] = json_number_value(value);
        if (!(values[i] > 0.0 && values[i] < 1e15))
            return fail(doc, name, NULL, "a number of epochs is not above 0", err);
    }
    qsort(values, point->count, sizeof *values, compare_values);
    point->values = values;
    return ST_OK;
}

static enum status fail(const struct json_doc *doc, const char *name, const char *member,
                        const char *detail, struct error *err)
{
    char pointer[NAME_BYTES_MAX + 16];
    const struct json_place *place;

    (void)snprintf(pointer, sizeof pointer, "/%.200s%s%s", name, member == NULL ? "" : "/",
                   member == NULL ? "" : member);
    place = json_doc_find(doc, pointer);
    if (place == NULL) { /* a member that is missing: the point's own line */
        (void)snprintf(pointer, sizeof pointer, "/%.200s", name);
        place = json_doc_find(doc, pointer);
    }
    (void)error_set_code(err, ST_INVALID, "bad_rcp", pointer,
                         "Take the file as MLCommons publishes it.", "%s", detail);
    if (err != NULL && place != NULL)
        err->line = place->key_line;
    return ST_INVALID;
}

static int compare_points(const void *left, const void *right)
{
    const struct rcp_point *a = left, *b = right;

    return (a->batch > b->batch) - (a->batch < b->batch);
}

static int compare_values(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static struct stats point_stats(const struct rcp_point *point, const struct rcp_question *question)
{
    const size_t left = point->count - 2;
    struct stats stats = {.name = point->name, .batch = point->batch};
    const struct measure_spread inner = measure_spread(point->values + 1, left);
    const struct measure_spread whole = measure_spread(point->values, point->count);

    stats.mean = inner.mean;
    stats.deviation = question->variant == RCP_RULES ? inner.cv_population * inner.mean
                                                     : whole.cv_population * whole.mean;
    stats.min_mean = least_mean(stats.mean, stats.deviation, (double)left, question->runs);
    return stats;
}

static struct stats between(struct stats low, struct stats high, double batch, size_t runs)
{
    const double share = (batch - low.batch) / (high.batch - low.batch);
    struct stats stats = {.batch = batch};

    stats.mean = low.mean + share * (high.mean - low.mean);
    stats.deviation = low.deviation + share * (high.deviation - low.deviation);
    stats.min_mean = least_mean(stats.mean, stats.deviation, 2.0 * (double)runs, runs);
    return stats;
}

static double least_mean(double mean, double deviation, double n1, size_t runs)
{
    const double n2 = runs < 3 ? 1.0 : (double)runs - 2.0;
    double least;

    if (!(deviation > 0.0) || n1 + n2 <= 2.0)
        return mean;
    least = mean -
            measure_student_quantile(0.95, n1 + n2 - 2.0) * deviation * sqrt(1.0 / n1 + 1.0 / n2);
    return least > 0.0 ? least : 1e-9 * mean; /* a wild reference: anything is believed */
}

/* What is left stands in front. First all points below the batch size whose least mean is smallest go: a smaller
 * batch never needs more epochs. Then each that needs more than the line between its neighbours does, looking
 * again at the one before it. */
static size_t prune(struct stats *stats, size_t count, size_t runs)
{
    size_t first = 0, at = 1;

    for (size_t i = 1; i < count; i++)
        if (stats[i].min_mean < stats[first].min_mean)
            first = i;
    count -= first;
    memmove(stats, stats + first, count * sizeof *stats);
    while (at + 1 < count) {
        const struct stats line = between(stats[at - 1], stats[at + 1], stats[at].batch, runs);

        if (stats[at].min_mean > line.min_mean) {
            memmove(stats + at, stats + at + 1, (count - at - 1) * sizeof *stats);
            count--;
            at = at > 1 ? at - 1 : 1;
        } else {
            at++;
        }
    }
    return count;
}

/* Rounded to three decimals first, as the rules have it: loggers print 1.899905 for 1.9. */
static double entry_mean(const struct rcp_question *question, double *values)
{
    double sum = 0.0;
    size_t last;

    for (size_t i = 0; i < question->count; i++)
        values[i] = rint(question->values[i] * 1000.0) / 1000.0;
    qsort(values, question->count, sizeof *values, compare_values);
    last = question->count - (question->missed == 0); /* a run that missed is the slowest */
    for (size_t i = 1; i < last; i++)
        sum += values[i];
    return sum / (double)(last - 1);
}
