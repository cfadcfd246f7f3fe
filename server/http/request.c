/* server/http/request.c: what a handler asks of its request; see request.h. */
#include "server/http/request.h"

#include <strings.h>

#include "common/etag.h"
#include "server/http/exchange_internal.h"

static bool names_media(struct str range, struct str media);

struct str request_header(const struct request *request, const char *name)
{
    const char *value =
        MHD_lookup_connection_value(exchange_of(request)->mhd, MHD_HEADER_KIND, name);

    return str_trim(str_from_cstr(value == NULL ? "" : value));
}

enum status request_arg_id(const struct request *request, size_t index, int64_t *id,
                           struct error *err)
{
    if (index >= request->arg_count || !str_parse_i64(request->args[index], id) || *id < 1)
        return error_set_code(err, ST_NOT_FOUND, "not-found", NULL, NULL,
                              "there is no such thing: an id is a positive number");
    return ST_OK;
}

enum status request_read_json(struct request *request, struct json_doc *doc,
                              struct json_reader *reader, struct error *err)
{
    const enum status status = json_doc_parse(request->body, request->arena, doc, err);

    if (status != ST_OK)
        return status;
    json_reader_init_doc(reader, doc, &request->faults, err);
    (void)query_finish(&request->query, err);
    return ST_OK;
}

enum status request_fault(struct request *request, const char *code, const char *field,
                          const char *hint, struct error *err, const char *format, ...)
{
    struct error fault = {0};
    va_list args;

    va_start(args, format);
    (void)error_set_code_v(&fault, ST_INVALID, code, field, hint, format, args);
    va_end(args);
    return fault_list_add(&request->faults, &fault, err);
}

bool request_prefers(const struct request *request, const char *media)
{
    struct str accept = request_header(request, "Accept"), range;
    const struct str wanted = str_from_cstr(media);
    bool more = accept.len > 0;

    while (str_split_next(&accept, &more, ',', &range)) {
        size_t semicolon;

        if (str_find_char(range, ';', &semicolon))
            range = str_slice(range, 0, semicolon);
        range = str_trim(range);
        if (names_media(range, wanted))
            return true;
        if (names_media(range, STR("application/json")) || names_media(range, STR("*/*")))
            return false;
    }
    return false;
}

bool request_matches_etag(const struct request *request, const char *etag)
{
    return etag_list_holds(request_header(request, "If-None-Match"), etag, true);
}

enum status request_read_if_match(const struct request *request, struct str *if_match,
                                  struct error *err)
{
    const struct str list = request_header(request, "If-Match");
    const char *copy;

    if (list.len == 0)
        return error_set_code(err, ST_CONFLICT, "precondition-required", "If-Match",
                              "GET it first, and send its ETag back in If-Match",
                              "a change needs If-Match, so that it undoes nobody else's");
    if (etag_list_check(list, "If-Match", err) != ST_OK)
        return err->status;
    copy = arena_copy(request->arena, list);
    if (copy == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for a header");
    *if_match = (struct str){copy, list.len};
    return ST_OK;
}

static bool names_media(struct str range, struct str media)
{
    return range.len == media.len && strncasecmp(range.data, media.data, media.len) == 0;
}
