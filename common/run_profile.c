/* common/run_profile.c: see run_profile.h. */
#include "common/run_profile.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define TEXT_BYTES_MAX  128
#define LABEL_BYTES_MAX 256
#define MEASURED_BYTES  24 /* 2026-12-03T10:00:00.000Z */
#define POINTER_BYTES   64
#define SECONDS_MAX     1e7
#define RATE_MAX        1e18               /* bytes or flops a second, examples a second, joules */
#define COUNT_MAX       (INT64_C(1) << 53) /* so that 400 of them can be added */
#define THREADS_MAX     65536
#define ROUNDS_MAX      1000000

static const char *const level_names[LEVEL_COUNT + 1] = {"l1", "l2", "l3", "memory", NULL};
static const char *const type_names[PEAK_COUNT + 1] = {"f32", "bf16", NULL};
static const char *const phase_names[STEP_PHASE_COUNT + 1] = {"data", "forward", "backward",
                                                              "optimiser", NULL};
static const char *const phase_members[STEP_PHASE_COUNT] = {"data_s", "forward_s", "backward_s",
                                                            "optimiser_s"};
static const char *const byte_members[LEVEL_COUNT] = {"l1_bytes", "l2_bytes", "l3_bytes",
                                                      "memory_bytes"};

/* What every part of the document is read with. */
struct reading {
    struct json_reader *whole;
    struct arena *arena;
    struct run_profile *profile;
    bool no_memory;
};

static void read_head(struct reading *reading);
static void read_ceilings(struct reading *reading);
static void read_levels(struct reading *reading, struct json_reader *ceilings);
static void read_peaks(struct reading *reading, struct json_reader *ceilings);
static void read_step(struct reading *reading);
static void read_phases(struct reading *reading);
static void read_groups(struct reading *reading);
static void read_group(struct reading *reading, const json_t *object, const char *pointer,
                       struct profile_group *group);
static void check_sums(struct reading *reading);
static void append_ceilings(struct buf *out, const struct run_profile *profile);
static void append_group(struct buf *out, const struct profile_group *group);
static void append_text(struct buf *out, const char *key, const char *text);
static void append_number(struct buf *out, const char *key, double value);
static void read_text(struct reading *reading, struct json_reader *reader, const char *key,
                      size_t bytes_max, const char **out);
static void read_number(struct json_reader *reader, const char *key, double max, double *out);
static bool check_number(struct json_reader *reader, const char *key, double value, double max);
static int read_name(struct json_reader *reader, const char *key, const char *const *names);

const char *memory_level_name(enum memory_level level)
{
    assert(level < LEVEL_COUNT);
    return level_names[level];
}

const char *peak_type_name(enum peak_type type)
{
    assert(type < PEAK_COUNT);
    return type_names[type];
}

const char *step_phase_name(enum step_phase phase)
{
    assert(phase < STEP_PHASE_COUNT);
    return phase_names[phase];
}

void run_profile_append(struct buf *out, const struct run_profile *profile)
{
    buf_appendf(out, "{\"version\":%d", RUN_PROFILE_VERSION);
    append_text(out, "measured", profile->measured);
    append_text(out, "workload", profile->workload);
    append_text(out, "recipe", profile->recipe);
    append_text(out, "device", profile->device);
    append_text(out, "device_model", profile->device_model);
    append_text(out, "isa", profile->isa);
    append_text(out, "precision", profile->precision);
    buf_appendf(out, ",\"threads\":%" PRId64 ",\"batch\":%" PRId64 ",\"fusion\":%s",
                profile->threads, profile->batch, profile->fusion ? "true" : "false");
    append_ceilings(out, profile);
    buf_appendf(out, ",\"step\":{\"rounds\":%" PRId64, profile->step_rounds);
    append_number(out, "seconds", profile->step_s);
    append_number(out, "plain_s", profile->plain_s);
    append_number(out, "spread", profile->spread);
    append_number(out, "examples_per_s", profile->examples_per_s);
    buf_append_cstr(out, "},\"phases\":{");
    for (int i = 0; i < STEP_PHASE_COUNT; i++)
        buf_appendf(out, "%s\"%s\":%.17g", i > 0 ? "," : "", phase_members[i], profile->phase_s[i]);
    append_number(out, "communication_s", profile->communication_s);
    if (profile->has_evaluation)
        append_number(out, "evaluation_s", profile->evaluation_s);
    buf_append_char(out, '}');
    if (profile->has_energy)
        append_number(out, "energy_j", profile->energy_j);
    buf_append_cstr(out, ",\"groups\":[");
    for (size_t i = 0; i < profile->group_count; i++) {
        if (i > 0)
            buf_append_char(out, ',');
        append_group(out, &profile->groups[i]);
    }
    buf_append_cstr(out, "]}");
}

static void append_ceilings(struct buf *out, const struct run_profile *profile)
{
    bool comma = false;

    buf_appendf(out, ",\"ceilings\":{\"rounds\":%" PRId64 ",\"levels\":[", profile->ceiling_rounds);
    for (int i = 0; i < LEVEL_COUNT; i++) {
        const struct profile_level *level = &profile->levels[i];

        if (!level->has)
            continue;
        buf_appendf(out, "%s{\"level\":\"%s\"", comma ? "," : "", level_names[i]);
        if (i != LEVEL_MEMORY)
            buf_appendf(out, ",\"capacity_bytes\":%" PRId64, level->capacity_bytes);
        append_number(out, "read_bytes_per_s", level->read_bytes_per_s);
        append_number(out, "copy_bytes_per_s", level->copy_bytes_per_s);
        buf_append_char(out, '}');
        comma = true;
    }
    buf_append_cstr(out, "],\"peaks\":[");
    comma = false;
    for (int i = 0; i < PEAK_COUNT; i++) {
        if (!profile->has_peak[i])
            continue;
        buf_appendf(out, "%s{\"type\":\"%s\"", comma ? "," : "", type_names[i]);
        append_number(out, "flops_per_s", profile->peak_flops_per_s[i]);
        buf_append_char(out, '}');
        comma = true;
    }
    buf_append_cstr(out, "]}");
}

static void append_group(struct buf *out, const struct profile_group *group)
{
    buf_append_cstr(out, "{\"kind\":");
    buf_append_json(out, str_from_cstr(group->kind));
    append_text(out, "kernel", group->kernel);
    append_text(out, "label", group->label);
    append_text(out, "phase", phase_names[group->phase]);
    append_text(out, "type", type_names[group->type]);
    buf_appendf(out, ",\"calls\":%" PRId64, group->calls);
    append_number(out, "seconds", group->seconds);
    buf_appendf(out, ",\"flops\":%" PRId64 ",\"flops_done\":%" PRId64 ",\"flops_other\":%" PRId64,
                group->flops, group->flops_done, group->flops_other);
    for (int i = 0; i < LEVEL_COUNT; i++)
        buf_appendf(out, ",\"%s\":%" PRId64, byte_members[i], group->bytes[i]);
    append_text(out, "source", group->counted ? "counted" : "modelled");
    buf_append_char(out, '}');
}

static void append_text(struct buf *out, const char *key, const char *text)
{
    buf_appendf(out, ",\"%s\":", key);
    buf_append_json(out, str_from_cstr(text));
}

static void append_number(struct buf *out, const char *key, double value)
{
    buf_appendf(out, ",\"%s\":%.17g", key, value);
}

enum status run_profile_parse(struct str text, struct arena *arena, struct run_profile *profile,
                              struct error *err)
{
    struct error fault = {0};
    struct json_doc doc = {0};
    struct json_reader reader;
    enum status status = json_doc_parse(text, arena, &doc, &fault);

    if (status == ST_OK) {
        json_reader_init(&reader, doc.root, "", &fault);
        status = run_profile_read(&reader, arena, profile, &fault);
    }
    json_doc_fini(&doc);
    if (status != ST_OK && err != NULL && err->status == ST_OK)
        *err = fault;
    return status;
}

enum status run_profile_read(struct json_reader *reader, struct arena *arena,
                             struct run_profile *profile, struct error *err)
{
    struct reading reading = {.whole = reader, .arena = arena, .profile = profile};
    enum status status;

    *profile = (struct run_profile){0};
    read_head(&reading);
    read_ceilings(&reading);
    read_step(&reading);
    read_phases(&reading);
    profile->has_energy = json_read_double(reader, "energy_j", false, &profile->energy_j) &&
                          check_number(reader, "energy_j", profile->energy_j, RATE_MAX);
    read_groups(&reading);
    status = json_reader_finish(reader);
    if (status == ST_OK) {
        check_sums(&reading);
        status = reader->status;
    }
    if (reading.no_memory)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for a profile");
    return status;
}

static void read_head(struct reading *reading)
{
    struct run_profile *profile = reading->profile;
    struct json_reader *reader = reading->whole;
    int64_t version = 0;

    (void)json_read_i64(reader, "version", true, RUN_PROFILE_VERSION, RUN_PROFILE_VERSION,
                        &version);
    read_text(reading, reader, "measured", MEASURED_BYTES, &profile->measured);
    read_text(reading, reader, "workload", TEXT_BYTES_MAX, &profile->workload);
    read_text(reading, reader, "recipe", TEXT_BYTES_MAX, &profile->recipe);
    read_text(reading, reader, "device", TEXT_BYTES_MAX, &profile->device);
    read_text(reading, reader, "device_model", TEXT_BYTES_MAX, &profile->device_model);
    read_text(reading, reader, "isa", TEXT_BYTES_MAX, &profile->isa);
    read_text(reading, reader, "precision", TEXT_BYTES_MAX, &profile->precision);
    (void)json_read_i64(reader, "threads", true, 1, THREADS_MAX, &profile->threads);
    (void)json_read_i64(reader, "batch", true, 1, COUNT_MAX, &profile->batch);
    (void)json_read_bool(reader, "fusion", true, &profile->fusion);
}

static void read_ceilings(struct reading *reading)
{
    struct json_reader part;
    const json_t *object;

    if (!json_read_object(reading->whole, "ceilings", true, &object))
        return;
    json_reader_init_part(&part, reading->whole, object, "/ceilings");
    (void)json_read_i64(&part, "rounds", true, 1, ROUNDS_MAX, &reading->profile->ceiling_rounds);
    read_levels(reading, &part);
    read_peaks(reading, &part);
    (void)json_reader_finish(&part);
}

/* The element's pointer, and a reader over it. */
static void begin_element(const struct json_reader *whole, const json_t *array, size_t index,
                          const char *name, char pointer[POINTER_BYTES], struct json_reader *part)
{
    (void)snprintf(pointer, POINTER_BYTES, "%s/%zu", name, index);
    json_reader_init_part(part, whole, json_array_get(array, index), pointer);
}

static void read_levels(struct reading *reading, struct json_reader *ceilings)
{
    const json_t *array;

    if (!json_read_array(ceilings, "levels", true, LEVEL_COUNT, &array))
        return;
    for (size_t i = 0; i < json_array_size(array); i++) {
        struct profile_level level = {.has = true};
        char pointer[POINTER_BYTES];
        struct json_reader part;
        int name;

        begin_element(ceilings, array, i, "/ceilings/levels", pointer, &part);
        name = read_name(&part, "level", level_names);
        (void)json_read_i64(&part, "capacity_bytes", name >= 0 && name != LEVEL_MEMORY, 0,
                            COUNT_MAX, &level.capacity_bytes);
        read_number(&part, "read_bytes_per_s", RATE_MAX, &level.read_bytes_per_s);
        read_number(&part, "copy_bytes_per_s", RATE_MAX, &level.copy_bytes_per_s);
        if (name >= 0 && reading->profile->levels[name].has)
            (void)json_reader_fault(&part, "level", "bad_value", NULL, "this level is there twice");
        (void)json_reader_finish(&part); /* tells of earlier faults, too */
        if (part.status == ST_OK && name >= 0)
            reading->profile->levels[name] = level;
    }
    if (ceilings->status == ST_OK && !reading->profile->levels[LEVEL_MEMORY].has)
        (void)json_reader_fault(ceilings, "levels", "bad_value", NULL,
                                "the level memory is missing");
}

static void read_peaks(struct reading *reading, struct json_reader *ceilings)
{
    struct run_profile *profile = reading->profile;
    const json_t *array;

    if (!json_read_array(ceilings, "peaks", true, PEAK_COUNT, &array))
        return;
    for (size_t i = 0; i < json_array_size(array); i++) {
        char pointer[POINTER_BYTES];
        struct json_reader part;
        double flops_per_s = 0.0;
        int name;

        begin_element(ceilings, array, i, "/ceilings/peaks", pointer, &part);
        name = read_name(&part, "type", type_names);
        read_number(&part, "flops_per_s", RATE_MAX, &flops_per_s);
        if (name >= 0 && profile->has_peak[name])
            (void)json_reader_fault(&part, "type", "bad_value", NULL, "this type is there twice");
        (void)json_reader_finish(&part);
        if (part.status != ST_OK || name < 0)
            continue;
        profile->has_peak[name] = true;
        profile->peak_flops_per_s[name] = flops_per_s;
    }
    if (ceilings->status == ST_OK && !profile->has_peak[PEAK_F32])
        (void)json_reader_fault(ceilings, "peaks", "bad_value", NULL, "the peak of f32 is missing");
}

static void read_step(struct reading *reading)
{
    struct run_profile *profile = reading->profile;
    struct json_reader part;
    const json_t *object;

    if (!json_read_object(reading->whole, "step", true, &object))
        return;
    json_reader_init_part(&part, reading->whole, object, "/step");
    (void)json_read_i64(&part, "rounds", true, 1, ROUNDS_MAX, &profile->step_rounds);
    read_number(&part, "seconds", SECONDS_MAX, &profile->step_s);
    read_number(&part, "plain_s", SECONDS_MAX, &profile->plain_s);
    if (json_read_double(&part, "spread", true, &profile->spread))
        (void)check_number(&part, "spread", profile->spread, RATE_MAX);
    read_number(&part, "examples_per_s", RATE_MAX, &profile->examples_per_s);
    (void)json_reader_finish(&part);
}

static void read_phases(struct reading *reading)
{
    struct run_profile *profile = reading->profile;
    struct json_reader part;
    const json_t *object;

    if (!json_read_object(reading->whole, "phases", true, &object))
        return;
    json_reader_init_part(&part, reading->whole, object, "/phases");
    for (int i = 0; i < STEP_PHASE_COUNT; i++)
        if (json_read_double(&part, phase_members[i], true, &profile->phase_s[i]))
            (void)check_number(&part, phase_members[i], profile->phase_s[i], SECONDS_MAX);
    if (json_read_double(&part, "communication_s", true, &profile->communication_s))
        (void)check_number(&part, "communication_s", profile->communication_s, SECONDS_MAX);
    profile->has_evaluation =
        json_read_double(&part, "evaluation_s", false, &profile->evaluation_s) &&
        check_number(&part, "evaluation_s", profile->evaluation_s, SECONDS_MAX);
    (void)json_reader_finish(&part);
}

static void read_groups(struct reading *reading)
{
    struct run_profile *profile = reading->profile;
    const json_t *array;

    if (!json_read_array(reading->whole, "groups", true, RUN_PROFILE_GROUPS_MAX, &array))
        return;
    profile->group_count = json_array_size(array);
    if (profile->group_count == 0) {
        (void)json_reader_fault(reading->whole, "groups", "bad_value", NULL,
                                "a step has at least one group");
        return;
    }
    profile->groups = ARENA_NEW_ARRAY(reading->arena, profile->group_count, struct profile_group);
    if (profile->groups == NULL) {
        reading->no_memory = true;
        profile->group_count = 0;
        return;
    }
    for (size_t i = 0; i < profile->group_count; i++) {
        char pointer[POINTER_BYTES];

        (void)snprintf(pointer, sizeof pointer, "/groups/%zu", i);
        read_group(reading, json_array_get(array, i), pointer, &profile->groups[i]);
    }
}

static void read_group(struct reading *reading, const json_t *object, const char *pointer,
                       struct profile_group *group)
{
    static const char *const sources[] = {"modelled", "counted", NULL};
    struct json_reader part;
    int phase, type;

    json_reader_init_part(&part, reading->whole, object, pointer);
    read_text(reading, &part, "kind", TEXT_BYTES_MAX, &group->kind);
    read_text(reading, &part, "kernel", TEXT_BYTES_MAX, &group->kernel);
    read_text(reading, &part, "label", LABEL_BYTES_MAX, &group->label);
    phase = read_name(&part, "phase", phase_names);
    group->phase = phase >= 0 ? (enum step_phase)phase : STEP_PHASE_DATA;
    type = read_name(&part, "type", type_names);
    group->type = type >= 0 ? (enum peak_type)type : PEAK_F32;
    if (type >= 0 && !reading->profile->has_peak[type])
        (void)json_reader_fault(&part, "type", "bad_value", NULL,
                                "the ceilings have no peak of this type");
    (void)json_read_i64(&part, "calls", true, 1, COUNT_MAX, &group->calls);
    if (json_read_double(&part, "seconds", true, &group->seconds))
        (void)check_number(&part, "seconds", group->seconds, SECONDS_MAX);
    (void)json_read_i64(&part, "flops", true, 0, COUNT_MAX, &group->flops);
    (void)json_read_i64(&part, "flops_done", true, 0, COUNT_MAX, &group->flops_done);
    (void)json_read_i64(&part, "flops_other", true, 0, COUNT_MAX, &group->flops_other);
    for (int i = 0; i < LEVEL_COUNT; i++) {
        (void)json_read_i64(&part, byte_members[i], true, 0, COUNT_MAX, &group->bytes[i]);
        if (i > 0 && group->bytes[i] > group->bytes[i - 1])
            (void)json_reader_fault(&part, byte_members[i], "out_of_range", NULL,
                                    "more comes from beyond than %s has", byte_members[i - 1]);
    }
    group->counted = read_name(&part, "source", sources) == 1;
    (void)json_reader_finish(&part);
}

/* What is read of the whole is good: do the parts make it up? */
static void check_sums(struct reading *reading)
{
    const struct run_profile *profile = reading->profile;
    double seconds = 0.0;

    for (size_t i = 0; i < profile->group_count; i++)
        seconds += profile->groups[i].seconds;
    if (fabs(seconds - profile->step_s) > RUN_PROFILE_SUM_TOLERANCE * profile->step_s)
        (void)json_reader_fault(reading->whole, "groups", "bad_value", NULL,
                                "the groups take %.6g s together, the step takes %.6g s", seconds,
                                profile->step_s);
}

static void read_text(struct reading *reading, struct json_reader *reader, const char *key,
                      size_t bytes_max, const char **out)
{
    struct str text = {0};

    *out = "";
    if (!json_read_text(reader, key, true, bytes_max, &text))
        return;
    *out = arena_copy(reading->arena, text);
    if (*out == NULL) {
        *out = "";
        reading->no_memory = true;
    }
}

/* A number above 0. */
static void read_number(struct json_reader *reader, const char *key, double max, double *out)
{
    if (!json_read_double(reader, key, true, out) || !check_number(reader, key, *out, max))
        return;
    if (*out <= 0.0)
        (void)json_reader_fault(reader, key, "out_of_range", NULL, "\"%s\" must be above 0", key);
}

static bool check_number(struct json_reader *reader, const char *key, double value, double max)
{
    if (value >= 0.0 && value <= max)
        return true;
    (void)json_reader_fault(reader, key, "out_of_range", NULL, "\"%s\" must lie between 0 and %g",
                            key, max);
    return false;
}

/* The index of the word in its list; -1: a fault was noted. */
static int read_name(struct json_reader *reader, const char *key, const char *const *names)
{
    const char *word = NULL;

    if (!json_read_word(reader, key, true, names, &word))
        return -1;
    for (int i = 0; names[i] != NULL; i++)
        if (names[i] == word)
            return i;
    return -1;
}
