/* server/api/run_profile.c: GET /v1/runs/{run}/profile: what an agent measured of a run's training step
 * (common/run_profile.h), the bytes that it sent (attempt.c). */
#include "server/api/api.h"
#include "server/store/read.h"

void handle_get_run_profile(struct request *request, struct response *response)
{
    struct store_reader *reader = api_begin_read(request, response);
    struct run_record run;
    struct error err = {0};
    struct str bytes = {0};
    int64_t id = 0;
    enum status status;

    if (reader == NULL)
        return;
    status = request_arg_id(request, 0, &id, &err);
    if (status == ST_OK)
        status = store_get_run(reader, request->arena, id, &run, &err);
    if (status == ST_OK)
        status = store_get_run_profile(reader, request->arena, id, &bytes, &err);
    api_end_read(reader);
    if (status != ST_OK)
        response_send_error(response, &err);
    else
        buf_append(response_begin(response, 200, "application/json"), bytes);
}
