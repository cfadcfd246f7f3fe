/* server/api/roofline.c: GET /v1/analysis/roofline: how near the kernels of a run come to what its host can do. */
#include "server/api/roofline.h"

#include <inttypes.h>

#include "server/api/analysis.h"
#include "server/api/api.h"

static enum status load(struct store_reader *reader, const void *run, struct arena *arena,
                        struct analysis *analysis, struct error *err)
{
    return roofline_load(reader, *(const int64_t *)run, arena, analysis, err);
}

void handle_get_roofline(struct request *request, struct response *response)
{
    static const char *const parts[] = {"kernels", "kinds", "roofs", "phases", NULL};
    struct error err = {0};
    int64_t run = 0;
    struct analysis_answer answer = {.load = load, .question = &run, .part = parts[0]};

    (void)query_read_i64(&request->query, "run", 1, INT64_MAX, &run, &err);
    if (run == 0 && err.status == ST_OK)
        (void)query_fault(&request->query, "run", "Name it: run=7.", &err, "run is missing");
    (void)query_read_word(&request->query, "part", parts, &answer.part, &err);
    api_read_format(request, &answer.csv, &err);
    analysis_send(request, response, &answer, &err);
}

enum status roofline_load(struct store_reader *reader, int64_t run, struct arena *arena,
                          struct analysis *analysis, struct error *err)
{
    struct run_profile *profile = ARENA_NEW(arena, struct run_profile);
    struct error fault = {0};
    struct run_record record;
    struct str bytes = {0};
    enum status status;

    if (profile == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for a roofline");
    status = store_get_run(reader, arena, run, &record, err);
    if (status == ST_OK)
        status = store_get_run_profile(reader, arena, run, &bytes, err);
    if (status != ST_OK)
        return status;
    status = run_profile_parse(bytes, arena, profile, &fault);
    if (status == ST_INVALID) /* it was taken once: ours, not the client's */
        return error_set(err, ST_INTERNAL, "profile", "the stored profile of run %" PRId64 ": %s",
                         run, fault.detail);
    if (status != ST_OK)
        return error_set(err, status, fault.field, "%s", fault.detail);
    return roofline_build(run, profile, arena, analysis, err);
}
