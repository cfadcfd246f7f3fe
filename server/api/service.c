/* server/api/service.c: /healthz, /readyz, /v1/openapi.json. */
#include <string.h>

#include "common/build.h"
#include "server/api/api.h"
#include "server/api/json_out.h"
#include "server/app.h"
#include "server/embedded.h"
#include "server/store/read.h"

static void send_health(struct request *request, struct response *response);

void handle_healthz(struct request *request, struct response *response)
{
    send_health(request, response);
}

void handle_readyz(struct request *request, struct response *response)
{
    struct error err = {0};
    struct store_reader *reader = app_reader(request->app, &err);

    if (reader != NULL)
        (void)store_ping(reader, &err);
    if (err.status == ST_OK) {
        send_health(request, response);
        return;
    }
    err.status = ST_UNAVAILABLE;
    response_send_error(response, &err);
}

void handle_openapi(struct request *request, struct response *response)
{
    struct error err = {0};

    if (query_finish(&request->query, &err) != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    for (size_t i = 0; i < embedded_schema_count; i++)
        if (strcmp(embedded_schema[i].path, "schema/openapi.json") == 0) {
            response_send_embedded(response, &embedded_schema[i], "application/json");
            return;
        }
    response_send_error(
        response, &(struct error){.status = ST_INTERNAL, .detail = "openapi.json is not embedded"});
}

static void send_health(struct request *request, struct response *response)
{
    struct json_out out;
    struct error err = {0};

    if (query_finish(&request->query, &err) != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    json_out_begin(&out, NULL, '{');
    json_out_text(&out, "status", "ok");
    json_out_text(&out, "build", build_id());
    json_out_text(&out, "server", store_instance(request->app->store));
    json_out_end(&out, '}');
}
