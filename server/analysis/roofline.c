/* server/analysis/roofline.c: see roofline.h. */
#include "server/analysis/roofline.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void list_roofs(const struct run_profile *profile, struct roofline *roofline);
static const struct roofline_roof *find_roof(const struct roofline *roofline, const char *name);
static struct roofline_dot dot_of(const struct profile_group *group);
static void add_to_kind(struct roofline *roofline, const struct roofline_dot *dot);
static void place_dot(const struct roofline *roofline, struct roofline_dot *dot);
static int compare_dots(const void *left, const void *right);

enum status roofline_place(const struct run_profile *profile, struct arena *arena,
                           struct roofline *roofline, struct error *err)
{
    double products_s = 0.0; /* that the products would take at their peaks */

    *roofline = (struct roofline){0};
    roofline->kinds = ARENA_NEW_ARRAY(arena, profile->group_count, struct roofline_dot);
    roofline->kernels = ARENA_NEW_ARRAY(arena, profile->group_count, struct roofline_dot);
    if (roofline->kinds == NULL || roofline->kernels == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for a roofline");
    list_roofs(profile, roofline);
    for (size_t i = 0; i < profile->group_count; i++) {
        struct roofline_dot *dot = &roofline->kernels[roofline->kernel_count++];

        *dot = dot_of(&profile->groups[i]);
        add_to_kind(roofline, dot);
        place_dot(roofline, dot);
        roofline->groups_s += dot->seconds;
        products_s += (double)dot->products / profile->peak_flops_per_s[dot->type];
    }
    for (size_t i = 0; i < roofline->kind_count; i++)
        place_dot(roofline, &roofline->kinds[i]);
    roofline->utilisation = products_s / profile->plain_s;
    qsort(roofline->kinds, roofline->kind_count, sizeof *roofline->kinds, compare_dots);
    qsort(roofline->kernels, roofline->kernel_count, sizeof *roofline->kernels, compare_dots);
    return ST_OK;
}

static void list_roofs(const struct run_profile *profile, struct roofline *roofline)
{
    for (int i = 0; i < LEVEL_COUNT; i++) {
        const struct profile_level *level = &profile->levels[i];

        if (level->has)
            roofline->roofs[roofline->roof_count++] =
                (struct roofline_roof){.name = memory_level_name((enum memory_level)i),
                                       .value = level->read_bytes_per_s > level->copy_bytes_per_s
                                                    ? level->read_bytes_per_s
                                                    : level->copy_bytes_per_s};
    }
    for (int i = 0; i < PEAK_COUNT; i++)
        if (profile->has_peak[i])
            roofline->roofs[roofline->roof_count++] =
                (struct roofline_roof){.name = peak_type_name((enum peak_type)i),
                                       .is_peak = true,
                                       .value = profile->peak_flops_per_s[i]};
}

/* NULL: the profile has no such ceiling. */
static const struct roofline_roof *find_roof(const struct roofline *roofline, const char *name)
{
    for (size_t i = 0; i < roofline->roof_count; i++)
        if (strcmp(roofline->roofs[i].name, name) == 0)
            return &roofline->roofs[i];
    return NULL;
}

static struct roofline_dot dot_of(const struct profile_group *group)
{
    struct roofline_dot dot = {.kind = group->kind,
                               .kernel = group->kernel,
                               .label = group->label,
                               .phase = step_phase_name(group->phase),
                               .type = group->type,
                               .counted = group->counted,
                               .calls = group->calls,
                               .seconds = group->seconds,
                               .flops = group->flops_done + group->flops_other,
                               .products = group->flops};

    memcpy(dot.bytes, group->bytes, sizeof dot.bytes);
    return dot;
}

static void add_to_kind(struct roofline *roofline, const struct roofline_dot *dot)
{
    struct roofline_dot *kind = roofline->kinds;

    while (kind < roofline->kinds + roofline->kind_count &&
           (kind->type != dot->type || strcmp(kind->kind, dot->kind) != 0))
        kind++;
    if (kind == roofline->kinds + roofline->kind_count) {
        *kind = (struct roofline_dot){.kind = dot->kind, .type = dot->type, .counted = true};
        roofline->kind_count++;
    }
    kind->counted = kind->counted && dot->counted;
    kind->calls += dot->calls;
    kind->seconds += dot->seconds;
    kind->flops += dot->flops;
    kind->products += dot->products;
    for (int i = 0; i < LEVEL_COUNT; i++)
        kind->bytes[i] += dot->bytes[i];
}

/* Of equal times the peak binds, then the level that is nearest to the core. */
static void place_dot(const struct roofline *roofline, struct roofline_dot *dot)
{
    const struct roofline_roof *peak = find_roof(roofline, peak_type_name(dot->type));
    const struct roofline_roof *limit = NULL;
    double level_s = 0.0, peak_s;

    assert(peak != NULL); /* the parser promised both */
    for (int i = 0; i < LEVEL_COUNT; i++) {
        const struct roofline_roof *roof =
            find_roof(roofline, memory_level_name((enum memory_level)i));

        if (roof == NULL || (limit != NULL && (double)dot->bytes[i] / roof->value <= level_s))
            continue;
        limit = roof;
        dot->level = (enum memory_level)i;
        level_s = (double)dot->bytes[i] / roof->value;
    }
    assert(limit != NULL);
    peak_s = (double)dot->flops / peak->value;
    dot->roof = peak_s >= level_s && dot->flops > 0 ? peak : limit;
    dot->attainable_s = peak_s > level_s ? peak_s : level_s;
    dot->has_intensity = dot->flops > 0 && dot->bytes[dot->level] > 0;
    if (dot->has_intensity)
        dot->intensity = (double)dot->flops / (double)dot->bytes[dot->level];
    if (dot->attainable_s > 0.0)
        dot->attainable_flops_per_s = (double)dot->flops / dot->attainable_s;
    if (dot->seconds > 0.0) {
        dot->flops_per_s = (double)dot->flops / dot->seconds;
        dot->share = dot->attainable_s / dot->seconds;
    }
}

/* By time, then by name, so that the order is the same each time. */
static int compare_dots(const void *left, const void *right)
{
    const struct roofline_dot *a = left, *b = right;
    int order;

    if (a->seconds != b->seconds)
        return a->seconds > b->seconds ? -1 : 1;
    order = strcmp(a->kind, b->kind);
    if (order == 0 && a->kernel != NULL && b->kernel != NULL)
        order = strcmp(a->kernel, b->kernel);
    if (order == 0 && a->label != NULL && b->label != NULL)
        order = strcmp(a->label, b->label);
    return order != 0 ? order : (a->type > b->type) - (a->type < b->type);
}
