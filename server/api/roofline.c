/* server/api/roofline.c: GET /v1/analysis/roofline: how near the kernels of a run come to what its host can do. */
#include "server/api/roofline.h"

#include <inttypes.h>

#include "server/api/api.h"
#include "server/api/json_out.h"

static void write_json(struct response *response, int64_t run, const struct run_profile *profile,
                       const struct roofline *roofline);
static void write_phases(struct json_out *out, const struct run_profile *profile);
static void write_roofs(struct json_out *out, const struct run_profile *profile,
                        const struct roofline *roofline);
static void write_dots(struct json_out *out, const char *key, const struct roofline_dot *dots,
                       size_t count);
static void write_csv(struct response *response, const struct roofline *roofline);
static void write_csv_dots(struct buf *out, const struct roofline_dot *dots, size_t count);

void handle_get_roofline(struct request *request, struct response *response)
{
    struct run_profile profile;
    struct store_reader *reader;
    struct roofline roofline;
    struct error err = {0};
    int64_t run = 0;
    bool csv = false;
    enum status status;

    (void)query_read_i64(&request->query, "run", 1, INT64_MAX, &run, &err);
    if (run == 0 && err.status == ST_OK)
        (void)query_fault(&request->query, "run", "Name it: run=7.", &err, "run is missing");
    api_read_format(request, &csv, &err);
    if (query_finish(&request->query, &err) != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    reader = api_begin_read(request, response);
    if (reader == NULL)
        return;
    status = roofline_load(reader, request->arena, run, &profile, &roofline, &err);
    api_end_read(reader);
    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    response_add_header(response, "Vary", "Accept");
    if (csv)
        write_csv(response, &roofline);
    else
        write_json(response, run, &profile, &roofline);
}

enum status roofline_load(struct store_reader *reader, struct arena *arena, int64_t run_id,
                          struct run_profile *profile, struct roofline *roofline, struct error *err)
{
    struct run_record run;
    struct error fault = {0};
    struct str bytes = {0};
    enum status status = store_get_run(reader, arena, run_id, &run, err);

    if (status == ST_OK)
        status = store_get_run_profile(reader, arena, run_id, &bytes, err);
    if (status != ST_OK)
        return status;
    status = run_profile_parse(bytes, arena, profile, &fault);
    if (status == ST_INVALID) /* it was taken once: ours, not the client's */
        return error_set(err, ST_INTERNAL, "profile", "the stored profile of run %" PRId64 ": %s",
                         run_id, fault.detail);
    if (status != ST_OK)
        return error_set(err, status, fault.field, "%s", fault.detail);
    return roofline_build(profile, arena, roofline, err);
}

static void write_json(struct response *response, int64_t run, const struct run_profile *profile,
                       const struct roofline *roofline)
{
    struct json_out out = {response_begin(response, 200, "application/json"), false};

    json_out_begin(&out, NULL, '{');
    json_out_i64(&out, "run", run);
    json_out_text(&out, "measured", profile->measured);
    json_out_text(&out, "workload", profile->workload);
    json_out_text(&out, "recipe", profile->recipe);
    json_out_text(&out, "device", profile->device);
    json_out_text(&out, "device_model", profile->device_model);
    json_out_text(&out, "isa", profile->isa);
    json_out_text(&out, "precision", profile->precision);
    json_out_i64(&out, "threads", profile->threads);
    json_out_i64(&out, "batch", profile->batch);
    json_out_bool(&out, "fusion", profile->fusion);
    json_out_double(&out, "step_s", profile->step_s);
    json_out_double(&out, "groups_s", roofline->groups_s);
    json_out_double(&out, "plain_s", profile->plain_s);
    json_out_double(&out, "examples_per_s", profile->examples_per_s);
    json_out_double(&out, "utilisation", roofline->utilisation);
    if (profile->has_energy)
        json_out_double(&out, "energy_j", profile->energy_j);
    write_phases(&out, profile);
    write_roofs(&out, profile, roofline);
    write_dots(&out, "kinds", roofline->kinds, roofline->kind_count);
    write_dots(&out, "kernels", roofline->kernels, roofline->kernel_count);
    json_out_end(&out, '}');
}

static void write_phases(struct json_out *out, const struct run_profile *profile)
{
    json_out_begin(out, "phases", '{');
    for (int i = 0; i < STEP_PHASE_COUNT; i++) {
        char key[32];

        (void)snprintf(key, sizeof key, "%s_s", step_phase_name((enum step_phase)i));
        json_out_double(out, key, profile->phase_s[i]);
    }
    json_out_double(out, "communication_s", profile->communication_s);
    if (profile->has_evaluation)
        json_out_double(out, "evaluation_s", profile->evaluation_s);
    json_out_end(out, '}');
}

/* Levels come first, in order, so that the profile's own stand beside them. */
static void write_roofs(struct json_out *out, const struct run_profile *profile,
                        const struct roofline *roofline)
{
    int level = 0;

    json_out_begin(out, "roofs", '[');
    for (size_t i = 0; i < roofline->roof_count; i++) {
        const struct roofline_roof *roof = &roofline->roofs[i];

        json_out_begin(out, NULL, '{');
        json_out_text(out, "roof", roof->name);
        if (roof->is_peak) {
            json_out_double(out, "flops_per_s", roof->value);
        } else {
            while (!profile->levels[level].has)
                level++;
            json_out_double(out, "bytes_per_s", roof->value);
            json_out_double(out, "read_bytes_per_s", profile->levels[level].read_bytes_per_s);
            json_out_double(out, "copy_bytes_per_s", profile->levels[level].copy_bytes_per_s);
            if (level != LEVEL_MEMORY)
                json_out_i64(out, "capacity_bytes", profile->levels[level].capacity_bytes);
            level++;
        }
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
}

static void write_dots(struct json_out *out, const char *key, const struct roofline_dot *dots,
                       size_t count)
{
    json_out_begin(out, key, '[');
    for (size_t i = 0; i < count; i++) {
        const struct roofline_dot *dot = &dots[i];

        json_out_begin(out, NULL, '{');
        json_out_text(out, "kind", dot->kind);
        json_out_text(out, "kernel", dot->kernel);
        json_out_text(out, "label", dot->label);
        json_out_text(out, "phase", dot->phase);
        json_out_text(out, "type", peak_type_name(dot->type));
        json_out_i64(out, "calls", dot->calls);
        json_out_double(out, "seconds", dot->seconds);
        json_out_i64(out, "flops", dot->flops);
        json_out_i64(out, "products", dot->products);
        for (int level = 0; level < LEVEL_COUNT; level++) {
            char name[32];

            (void)snprintf(name, sizeof name, "%s_bytes",
                           memory_level_name((enum memory_level)level));
            json_out_i64(out, name, dot->bytes[level]);
        }
        json_out_text(out, "level", memory_level_name(dot->level));
        json_out_text(out, "roof", dot->roof->name);
        if (dot->has_intensity) {
            json_out_double(out, "intensity", dot->intensity);
            json_out_double(out, "flops_per_s", dot->flops_per_s);
            json_out_double(out, "attainable_flops_per_s", dot->attainable_flops_per_s);
        }
        json_out_double(out, "attainable_s", dot->attainable_s);
        json_out_double(out, "share", dot->share);
        json_out_text(out, "source", dot->counted ? "counted" : "modelled");
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
}

/* Kinds first: their cells of kernel, label and phase are empty. */
static void write_csv(struct response *response, const struct roofline *roofline)
{
    struct buf *out = response_begin(response, 200, "text/csv; charset=utf-8");

    buf_append_cstr(out,
                    "kind,kernel,label,phase,type,calls,seconds,flops,products,l1_bytes,l2_bytes,"
                    "l3_bytes,memory_bytes,level,roof,intensity,flops_per_s,"
                    "attainable_flops_per_s,attainable_s,share,source\r\n");
    write_csv_dots(out, roofline->kinds, roofline->kind_count);
    write_csv_dots(out, roofline->kernels, roofline->kernel_count);
}

static void write_csv_dots(struct buf *out, const struct roofline_dot *dots, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct roofline_dot *dot = &dots[i];
        const char *const texts[] = {dot->kind, dot->kernel, dot->label, dot->phase,
                                     peak_type_name(dot->type)};

        for (size_t t = 0; t < ARRAY_LEN(texts); t++) {
            csv_append_cell(out, str_from_cstr(texts[t]));
            buf_append_char(out, ',');
        }
        buf_appendf(out, "%" PRId64 ",%.9g,%" PRId64 ",%" PRId64, dot->calls, dot->seconds,
                    dot->flops, dot->products);
        for (int level = 0; level < LEVEL_COUNT; level++)
            buf_appendf(out, ",%" PRId64, dot->bytes[level]);
        buf_appendf(out, ",%s,%s", memory_level_name(dot->level), dot->roof->name);
        if (dot->has_intensity)
            buf_appendf(out, ",%.9g,%.9g,%.9g", dot->intensity, dot->flops_per_s,
                        dot->attainable_flops_per_s);
        else
            buf_append_cstr(out, ",,,");
        buf_appendf(out, ",%.9g,%.9g,%s\r\n", dot->attainable_s, dot->share,
                    dot->counted ? "counted" : "modelled");
    }
}
