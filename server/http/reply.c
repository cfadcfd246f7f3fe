/* server/http/reply.c: hands a finished response to the library. */
#include "common/log.h"
#include "server/http/exchange_internal.h"

static struct MHD_Response *make_response(struct exchange *exchange);
static void release_shared(void *shared);
static void add(struct MHD_Response *reply, const char *name, const char *value);

enum MHD_Result reply_queue(struct exchange *exchange)
{
    struct response *response = &exchange->response;
    struct MHD_Response *reply;
    enum MHD_Result result;

    if (response->body.failed) {
        log_event(LOG_ERROR, "reply_too_large", "request=%s", exchange->request.id);
        response_send_error(response,
                            &(struct error){.status = ST_INTERNAL, .detail = "reply too large"});
    }
    reply = make_response(exchange);
    if (reply == NULL)
        return MHD_NO;
    add(reply, "X-Request-Id", exchange->request.id);
    add(reply, "X-Content-Type-Options", "nosniff");
    if (response->content_type != NULL)
        add(reply, MHD_HTTP_HEADER_CONTENT_TYPE, response->content_type);
    for (size_t i = 0; i < response->header_count; i++)
        add(reply, response->headers[i].name, response->headers[i].value);
    if (MHD_get_response_header(reply, MHD_HTTP_HEADER_CACHE_CONTROL) == NULL)
        add(reply, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (response->close)
        add(reply, MHD_HTTP_HEADER_CONNECTION, "close");
    result = MHD_queue_response(exchange->mhd, (unsigned)response->status, reply);
    MHD_destroy_response(reply); /* our reference: the library keeps its own */
    return result;
}

static struct MHD_Response *make_response(struct exchange *exchange)
{
    struct response *response = &exchange->response;
    struct MHD_Response *reply;
    union { /* the library's parameter is not const; persistent memory is never written */
        const unsigned char *data;
        void *memory;
    } embedded;

    if (response->has_stream)
        return stream_create(exchange);
    if (response->embedded != NULL) {
        embedded.data = response->embedded->data;
        return MHD_create_response_from_buffer(response->embedded->bytes, embedded.memory,
                                               MHD_RESPMEM_PERSISTENT);
    }
    if (response->shared != NULL) {
        struct shared_bytes *shared = response->shared;

        reply = MHD_create_response_from_buffer_with_free_callback_cls(shared->len, shared->data,
                                                                       release_shared, shared);
        if (reply != NULL)
            response->shared = NULL; /* the reply's now */
        return reply;
    }
    if (response->body.len == 0)
        return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    reply = MHD_create_response_from_buffer(response->body.len, response->body.data,
                                            MHD_RESPMEM_MUST_FREE);
    if (reply != NULL)
        response->body = (struct buf){0}; /* the reply's now */
    return reply;
}

static void release_shared(void *shared)
{
    shared_bytes_release(shared);
}

static void add(struct MHD_Response *reply, const char *name, const char *value)
{
    if (MHD_add_response_header(reply, name, value) != MHD_YES)
        log_event(LOG_ERROR, "header_refused", "name=%s", name);
}
