/* agent/profile/step_profile.c: see step_profile.h. */
#include "agent/profile/step_profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/backend/backend.h"
#include "agent/graph/graph.h"
#include "agent/profile/figures.h"
#include "agent/profile/probe.h"
#include "agent/profile/traffic.h"
#include "common/clock.h"
#include "common/json.h"

#define ROUNDS_LEAST    3
#define ROUNDS_USUAL    9
#define ROUNDS_MOST     60
#define ROUNDS_SECONDS  20.0 /* no further round after so long */
#define FACTS_BYTES_MAX 65536
#define TRY_SECONDS     0.1 /* of all ceilings once */
#define TRIES_MOST      8

/* What is measured, before it becomes a profile. */
struct measuring {
    const struct step_profile_source *source;
    const struct program *program;
    int64_t step; /* of the schedule */
    struct probe *probe;
    struct group_time *times;      /* [ROUNDS_MOST][group_count + 1] */
    int64_t (*bytes)[LEVEL_COUNT]; /* group_count + 1 */
    double plain[ROUNDS_MOST], profiled[ROUNDS_MOST];
    int64_t rounds, whole_rounds; /* whole: the round's groups make up its step */
    int64_t shown;                /* the round whose groups are told */
};

static enum status read_facts(const struct step_profile_source *source, struct arena *arena,
                              struct run_profile *profile, int64_t *steps, struct error *err);
static enum status begin(struct measuring *measuring, const struct run_profile *profile,
                         const struct caches *caches, struct error *err);
static enum status measure_rounds(struct measuring *measuring, struct error *err);
static enum status take_step(const struct measuring *measuring, struct group_time *times,
                             double *seconds, struct error *err);
static void fill_times(struct measuring *measuring, struct run_profile *profile);
static enum status fill_groups(const struct measuring *measuring, struct arena *arena,
                               struct run_profile *profile, struct error *err);
static bool describe_group(const struct measuring *measuring, size_t index, uint32_t isa,
                           struct profile_group *to);
static void join_groups(struct run_profile *profile, bool by_label);
static enum step_phase phase_of(const char *label);
static int compare_groups(const void *left, const void *right);
static int compare_times(const void *left, const void *right);

enum status step_profile_measure(const struct step_profile_source *source, struct arena *arena,
                                 struct run_profile *profile, struct error *err)
{
    struct measuring measuring = {.source = source};
    struct caches caches;
    int64_t steps = 0;
    enum status status;

    *profile = (struct run_profile){.workload = source->ops->name, .fusion = source->fusion};
    if (source->ops->step_program == NULL || source->ops->take_step == NULL)
        return error_set(err, ST_UNSUPPORTED, "profile", "the workload %s has no step to measure",
                         source->ops->name);
    status = read_facts(source, arena, profile, &steps, err);
    if (status != ST_OK)
        return status;
    caches_read(CACHES_FOLDER, (int)profile->threads, &caches);
    measuring.step = steps / 2;
    measuring.program = source->ops->step_program(source->state, measuring.step);
    status = begin(&measuring, profile, &caches, err);
    if (status == ST_OK)
        status = traffic_model(measuring.program, caches.bytes, measuring.bytes, err);
    if (status == ST_OK)
        status = measure_rounds(&measuring, err);
    if (status == ST_OK) {
        probe_fill(measuring.probe, profile);
        fill_times(&measuring, profile);
        status = fill_groups(&measuring, arena, profile, err);
    }
    probe_close(measuring.probe);
    free(measuring.times);
    free(measuring.bytes);
    return status;
}

/* What the workload says of itself, and when this is. */
static enum status read_facts(const struct step_profile_source *source, struct arena *arena,
                              struct run_profile *profile, int64_t *steps, struct error *err)
{
    struct json_reader reader;
    struct error fault = {0};
    struct str text = {0};
    char now[CLOCK_TEXT_BYTES];
    json_t *facts = NULL;
    struct buf told;
    const struct {
        const char *name, **to;
    } texts[] = {{"recipe", &profile->recipe},
                 {"device", &profile->device},
                 {"device_model", &profile->device_model},
                 {"isa", &profile->isa},
                 {"precision", &profile->precision}};
    enum status status;
    bool copied = true;

    buf_init(&told, FACTS_BYTES_MAX);
    status = source->ops->describe(source->state, &told, err);
    if (status == ST_OK)
        facts = json_loadb(told.data, told.len, 0, NULL);
    if (status == ST_OK && facts == NULL)
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory for a profile");
    if (status == ST_OK) {
        json_reader_init(&reader, facts, "", &fault);
        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
            if (json_read_text(&reader, texts[i].name, true, TENSOR_TEXT_BYTES, &text))
                *texts[i].to = arena_copy(arena, text);
            copied = copied && *texts[i].to != NULL;
        }
        (void)json_read_i64(&reader, "threads", true, 1, INT32_MAX, &profile->threads);
        (void)json_read_i64(&reader, "batch", true, 1, INT32_MAX, &profile->batch);
        (void)json_read_i64(&reader, "steps", true, 1, INT64_MAX, steps);
        clock_format_utc(clock_real_ms(), now);
        profile->measured = arena_copy(arena, str_from_cstr(now));
        copied = copied && profile->measured != NULL;
        if (fault.status != ST_OK)
            status = error_set(err, ST_INVALID, "profile", "%s", fault.detail);
        else if (!copied)
            status = error_set(err, ST_NO_MEMORY, NULL, "no memory for a profile");
    }
    json_decref(facts);
    buf_fini(&told);
    return status;
}

/* The sets that the groups were compiled for; the references are plain C. */
static uint32_t isa_of(const struct run_profile *profile)
{
    uint32_t isa = 0;

    if (cpu_isa_parse(profile->isa, &isa, NULL) != ST_OK)
        isa = 0;
    return isa;
}

static enum status begin(struct measuring *measuring, const struct run_profile *profile,
                         const struct caches *caches, struct error *err)
{
    const size_t count = measuring->program->group_count + 1;

    measuring->times = calloc(ROUNDS_MOST * count, sizeof *measuring->times);
    measuring->bytes = calloc(count, sizeof *measuring->bytes);
    if (measuring->times == NULL || measuring->bytes == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for a profile");
    return probe_open((int)profile->threads, isa_of(profile), caches, &measuring->probe, err);
}

/* Until one round's groups make up its step: where a step takes milliseconds and threads have to wait for their turn,
 * waking them can take as long. */
static bool wants_round(const struct measuring *measuring, int64_t begun_ns)
{
    const double seconds = (double)(clock_mono_ns() - begun_ns) / (double)NS_PER_S;

    if (measuring->rounds < ROUNDS_LEAST)
        return true;
    return measuring->rounds < (measuring->whole_rounds > 0 ? ROUNDS_USUAL : ROUNDS_MOST) &&
           seconds < ROUNDS_SECONDS;
}

static struct group_time *times_of(const struct measuring *measuring, int64_t round)
{
    return measuring->times + round * (int64_t)(measuring->program->group_count + 1);
}

static bool makes_up(const struct measuring *measuring, int64_t round)
{
    const double seconds = measuring->profiled[round];
    double sum = 0.0;

    for (size_t i = 0; i <= measuring->program->group_count; i++)
        sum += times_of(measuring, round)[i].seconds;
    return fabs(seconds - sum) <= RUN_PROFILE_SUM_TOLERANCE / 2.0 * seconds;
}

/* The middle one by its step among the rounds whose groups make it up, or among all while there is none. The shortest
 * one would be a lucky moment of its own, beside ceilings that had none. */
static int64_t middle_round(const struct measuring *measuring)
{
    int64_t order[ROUNDS_MOST], count = 0; /* rounds, the shortest step first */

    for (int64_t i = 0; i < measuring->rounds; i++) {
        int64_t place = count;

        if (measuring->whole_rounds > 0 && !makes_up(measuring, i))
            continue;
        for (; place > 0 && measuring->profiled[order[place - 1]] > measuring->profiled[i]; place--)
            order[place] = order[place - 1];
        order[place] = i;
        count++;
    }
    return order[(count - 1) / 2];
}

static enum status measure_rounds(struct measuring *measuring, struct error *err)
{
    const int64_t begun_ns = clock_mono_ns();
    double seconds;
    enum status status = take_step(measuring, NULL, &seconds, err); /* warms the caches */
    /* As long as a step: on a machine that is shared, a ceiling needs as many lucky moments as a kernel has. */
    const double wanted = seconds / TRY_SECONDS;
    const int tries = wanted < 1.0 ? 1 : wanted < TRIES_MOST ? (int)wanted : TRIES_MOST;

    while (status == ST_OK && wants_round(measuring, begun_ns)) {
        probe_round(measuring->probe, tries);
        status = take_step(measuring, NULL, &measuring->plain[measuring->rounds], err);
        probe_round(measuring->probe, tries);
        if (status == ST_OK)
            status = take_step(measuring, times_of(measuring, measuring->rounds),
                               &measuring->profiled[measuring->rounds], err);
        if (status != ST_OK)
            break;
        measuring->whole_rounds += makes_up(measuring, measuring->rounds);
        measuring->rounds++;
    }
    if (status == ST_OK)
        measuring->shown = middle_round(measuring);
    return status;
}

static enum status take_step(const struct measuring *measuring, struct group_time *times,
                             double *seconds, struct error *err)
{
    const struct step_profile_source *source = measuring->source;
    const int64_t begun_ns = clock_mono_ns();
    const enum status status = source->ops->take_step(source->state, measuring->step, times, err);

    *seconds = (double)(clock_mono_ns() - begun_ns) / (double)NS_PER_S;
    return status;
}

static void fill_times(struct measuring *measuring, struct run_profile *profile)
{
    const struct step_profile_source *source = measuring->source;
    const int64_t rounds = measuring->rounds;
    double *plain = measuring->plain;

    figures_sort(plain, rounds);
    profile->step_rounds = rounds;
    profile->step_s = measuring->profiled[measuring->shown];
    profile->plain_s = figures_median(plain, rounds);
    profile->spread = figures_spread(plain, rounds, profile->plain_s);
    profile->examples_per_s = (double)profile->batch / profile->plain_s;
    profile->has_evaluation = source->has_evaluation;
    profile->evaluation_s = source->evaluation_s;
    profile->has_energy = source->has_energy;
    profile->energy_j = source->energy_j;
}

static enum status fill_groups(const struct measuring *measuring, struct arena *arena,
                               struct run_profile *profile, struct error *err)
{
    const size_t most = measuring->program->group_count + 1;
    const uint32_t isa = isa_of(profile);

    profile->groups = ARENA_NEW_ARRAY(arena, most, struct profile_group);
    if (profile->groups == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for a profile");
    profile->group_count = 0;
    for (size_t i = 0; i < most; i++)
        if (describe_group(measuring, i, isa, &profile->groups[profile->group_count]))
            profile->group_count++;
    for (size_t i = 0; i < profile->group_count; i++)
        profile->phase_s[profile->groups[i].phase] += profile->groups[i].seconds;
    join_groups(profile, true);
    if (profile->group_count > RUN_PROFILE_GROUPS_MAX)
        join_groups(profile, false);
    qsort(profile->groups, profile->group_count, sizeof *profile->groups, compare_times);
    return ST_OK;
}

/* False: it runs nothing. The last one stands for the writebacks: new weights that could not be written in place. */
static bool describe_group(const struct measuring *measuring, size_t index, uint32_t isa,
                           struct profile_group *to)
{
    const struct program *program = measuring->program;
    const struct group *group = &program->groups[index];

    *to = (struct profile_group){.kind = "assign",
                                 .kernel = "copy",
                                 .label = GRAPH_LABEL_OPTIMISER,
                                 .phase = STEP_PHASE_OPTIMISER,
                                 .calls = (int64_t)program->writeback_count};
    to->seconds = times_of(measuring, measuring->shown)[index].seconds;
    memcpy(to->bytes, measuring->bytes[index], sizeof to->bytes);
    if (index == program->group_count)
        return program->writeback_count > 0;
    if (index < program->prepare_count || group->kernel == NULL)
        return false;
    to->kind = op_info(program->ops[group->anchor].kind)->name;
    to->kernel = group->kernel->name;
    to->label = program->labels + program->ops[group->anchor].label;
    to->phase = phase_of(to->label);
    to->calls = 1;
    to->flops = (int64_t)group->flops;
    to->flops_done = (int64_t)(group->fit.flops != 0 ? group->fit.flops : group->flops);
    to->flops_other = (int64_t)group->flops_other;
    if (group->flops > 0 && group->kernel->bf16 && !group->kernel->reference &&
        (isa & ISA_AVX512_BF16) != 0)
        to->type = PEAK_BF16;
    return true;
}

static bool is_part(const char *label, const char *end, const char *part)
{
    return (size_t)(end - label) == strlen(part) && strncmp(label, part, strlen(part)) == 0;
}

static enum step_phase phase_of(const char *label)
{
    const char *last = strrchr(label, '.');

    if (is_part(label, label + strcspn(label, "."), GRAPH_LABEL_DATA))
        return STEP_PHASE_DATA;
    if (is_part(label, label + strcspn(label, "."), GRAPH_LABEL_OPTIMISER))
        return STEP_PHASE_OPTIMISER;
    return strcmp(last == NULL ? label : last + 1, GRAPH_LABEL_GRADIENT) == 0 ? STEP_PHASE_BACKWARD
                                                                              : STEP_PHASE_FORWARD;
}

/* Calls of one kernel under one label, or all calls of one kernel, become one. */
static void join_groups(struct run_profile *profile, bool by_label)
{
    struct profile_group *groups = profile->groups;
    size_t count = 0;

    for (size_t i = 0; i < profile->group_count && !by_label; i++)
        groups[i].label = "";
    qsort(groups, profile->group_count, sizeof *groups, compare_groups);
    for (size_t i = 0; i < profile->group_count; i++) {
        struct profile_group *last = count > 0 ? &groups[count - 1] : NULL;

        if (last == NULL || compare_groups(last, &groups[i]) != 0) {
            groups[count++] = groups[i];
            continue;
        }
        last->calls += groups[i].calls;
        last->seconds += groups[i].seconds;
        last->flops += groups[i].flops;
        last->flops_done += groups[i].flops_done;
        last->flops_other += groups[i].flops_other;
        for (int level = 0; level < LEVEL_COUNT; level++)
            last->bytes[level] += groups[i].bytes[level];
    }
    profile->group_count = count;
}

static int compare_groups(const void *left, const void *right)
{
    const struct profile_group *a = left, *b = right;
    int order = strcmp(a->label, b->label);

    if (order == 0)
        order = strcmp(a->kernel, b->kernel);
    if (order == 0)
        order = strcmp(a->kind, b->kind);
    if (order == 0)
        order = (int)a->phase - (int)b->phase;
    return order != 0 ? order : (int)a->type - (int)b->type;
}

static int compare_times(const void *left, const void *right)
{
    const struct profile_group *a = left, *b = right;

    if (a->seconds != b->seconds)
        return a->seconds > b->seconds ? -1 : 1;
    return compare_groups(left, right);
}

void step_profile_print(const struct run_profile *profile, FILE *out)
{
    double seconds = 0.0, flops = 0.0;

    for (size_t i = 0; i < profile->group_count; i++) {
        seconds += profile->groups[i].seconds;
        flops += (double)profile->groups[i].flops;
    }
    (void)fprintf(out, "step: %.6f s as trained, %.6f s group by group, %.1f GFLOP/s\n",
                  profile->plain_s, profile->step_s, flops / profile->plain_s * 1e-9);
    for (int i = 0; i < LEVEL_COUNT; i++)
        if (profile->levels[i].has)
            (void)fprintf(out, "%s: reads %.1f GB/s, copies %.1f GB/s\n",
                          memory_level_name((enum memory_level)i),
                          profile->levels[i].read_bytes_per_s * 1e-9,
                          profile->levels[i].copy_bytes_per_s * 1e-9);
    for (int i = 0; i < PEAK_COUNT; i++)
        if (profile->has_peak[i])
            (void)fprintf(out, "%s: %.1f GFLOP/s\n", peak_type_name((enum peak_type)i),
                          profile->peak_flops_per_s[i] * 1e-9);
    (void)fputs("     ms  share  GFLOP/s    GB/s  calls  op, kernel (label)\n", out);
    for (size_t i = 0; i < profile->group_count; i++) {
        const struct profile_group *group = &profile->groups[i];

        (void)fprintf(out, "%7.3f  %4.1f%%  %7.1f  %6.1f  %5lld  %s %s (%s)\n",
                      group->seconds * 1e3, 100.0 * group->seconds / seconds,
                      (double)group->flops / group->seconds * 1e-9,
                      (double)group->bytes[LEVEL_L1] / group->seconds * 1e-9,
                      (long long)group->calls, group->kind, group->kernel, group->label);
    }
}
