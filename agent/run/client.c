/* agent/run/client.c: HTTP as the agent speaks it (see client.h). */
#include "agent/run/client.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "common/build.h"
#include "common/clock.h"
#include "common/json.h"

#define URL_BYTES_MAX       2048
#define HEADER_BYTES_MAX    512
#define STALL_TIMEOUT_S     30L /* of a download below 1 byte a second */
#define REDIRECTS_MAX       5L
#define PROBLEM_ARENA_BYTES ((size_t)16 * 1024 * 1024)

struct client {
    CURL *curl;
    char server[URL_BYTES_MAX]; /* without a slash at the end */
    char shown[URL_BYTES_MAX];  /* the same without name and password, for words */
    char fault[CURL_ERROR_SIZE];
};

enum status client_library_init(struct error *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return error_set(err, ST_INTERNAL, "curl", "the network library does not start");
    return ST_OK;
}

/* http://name:password@host/x is shown as http://host/x: errors and logs are read by others. */
static void hide_password(const char *url, char *shown, size_t bytes)
{
    const char *slashes = strstr(url, "://"), *host = slashes != NULL ? slashes + 3 : url;
    const size_t authority = strcspn(host, "/?#");
    size_t secret = 0;

    for (size_t i = 0; i < authority; i++)
        if (host[i] == '@')
            secret = i + 1;
    (void)snprintf(shown, bytes, "%.*s%s", (int)(host - url), url, host + secret);
}

enum status client_create(const char *server, struct client **client, struct error *err)
{
    const struct str text = str_from_cstr(server);
    struct client *created;
    size_t len = text.len;

    if (!str_starts_with(text, STR("http://")) && !str_starts_with(text, STR("https://")))
        return error_set(err, ST_USAGE, "--server",
                         "--server is a URL such as http://127.0.0.1:8080, not \"%s\"", server);
    while (len > 0 && server[len - 1] == '/')
        len--;
    if (len >= URL_BYTES_MAX)
        return error_set(err, ST_USAGE, "--server", "--server is too long");
    created = calloc(1, sizeof *created);
    if (created != NULL)
        created->curl = curl_easy_init();
    if (created == NULL || created->curl == NULL) {
        free(created);
        return error_set(err, ST_NO_MEMORY, "client", "no memory for a network client");
    }
    memcpy(created->server, server, len);
    hide_password(created->server, created->shown, sizeof created->shown);
    *client = created;
    return ST_OK;
}

void client_destroy(struct client *client)
{
    if (client == NULL)
        return;
    curl_easy_cleanup(client->curl);
    free(client);
}

/* libcurl's type, without const. NOLINTNEXTLINE(readability-non-const-parameter) */
static size_t take_body(char *data, size_t size, size_t count, void *context)
{
    struct client_reply *reply = context;

    buf_append(&reply->body, (struct str){data, size * count});
    return reply->body.failed ? 0 : size * count;
}

static int on_progress(void *context, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                       curl_off_t up)
{
    const struct client_request *request = context;

    (void)down_total;
    (void)down;
    (void)up_total;
    (void)up;
    return request->should_stop != NULL && request->should_stop(request->context) ? 1 : 0;
}

/* NULL when out of memory; the list before is then freed. */
static struct curl_slist *add_header(struct curl_slist *list, const char *name, const char *value)
{
    char line[HEADER_BYTES_MAX];
    struct curl_slist *longer;

    (void)snprintf(line, sizeof line, "%s: %s", name, value);
    longer = curl_slist_append(list, line);
    if (longer == NULL)
        curl_slist_free_all(list);
    return longer;
}

static struct curl_slist *build_headers(const struct client_request *request)
{
    /* Without "Expect:" libcurl waits a second for a 100 Continue before it sends a larger body. */
    struct curl_slist *list = add_header(NULL, "Expect", "");
    char bearer[HEADER_BYTES_MAX - 64];

    if (list != NULL && request->content_type != NULL)
        list = add_header(list, "Content-Type", request->content_type);
    if (list != NULL && request->token != NULL) {
        (void)snprintf(bearer, sizeof bearer, "Bearer %.400s", request->token);
        list = add_header(list, "Authorization", bearer);
    }
    if (list != NULL)
        list = add_header(list, "Accept", "application/json, application/problem+json");
    return list;
}

static curl_mime *build_mime(CURL *curl, const struct client_request *request)
{
    curl_mime *mime = curl_mime_init(curl);

    for (size_t i = 0; i < request->part_count && mime != NULL; i++) {
        const struct client_part *part = &request->parts[i];
        curl_mimepart *added = curl_mime_addpart(mime);

        if (added == NULL || curl_mime_name(added, part->name) != CURLE_OK ||
            curl_mime_data(added, part->data.data, part->data.len) != CURLE_OK ||
            (part->file_name != NULL && curl_mime_filename(added, part->file_name) != CURLE_OK)) {
            curl_mime_free(mime);
            mime = NULL;
        }
    }
    return mime;
}

static CURLcode set_common(CURL *curl, const char *url, char *fault)
{
    CURLcode code = curl_easy_setopt(curl, CURLOPT_URL, url);

    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, fault);
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_USERAGENT, "daybreak-agent/" DAYBREAK_VERSION);
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CLIENT_CONNECT_TIMEOUT_MS);
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    return code;
}

static CURLcode set_request(CURL *curl, const struct client_request *request,
                            struct client_reply *reply, struct curl_slist *headers, curl_mime *mime)
{
    CURLcode code = curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);

    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_WRITEDATA, reply);
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_XFERINFODATA, request);
    if (code == CURLE_OK && mime != NULL)
        code = curl_easy_setopt(curl, CURLOPT_MIMEPOST, mime);
    if (code == CURLE_OK && mime == NULL && request->content_type != NULL) {
        code = curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
        if (code == CURLE_OK)
            code = curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body.data);
    }
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    return code;
}

/* A call that came to no answer, as a status: what may go better next time is ST_IO or ST_TIMEOUT. */
static enum status fill_fault(const struct client *client, CURLcode code, struct error *err)
{
    const char *what = client->fault[0] != '\0' ? client->fault : curl_easy_strerror(code);

    switch (code) {
    case CURLE_ABORTED_BY_CALLBACK:
        return error_set(err, ST_CANCELLED, "server", "the call was given up");
    case CURLE_OPERATION_TIMEDOUT:
        return error_set(err, ST_TIMEOUT, "server", "%s does not answer: %s", client->shown, what);
    case CURLE_OUT_OF_MEMORY: return error_set(err, ST_NO_MEMORY, "server", "no memory for a call");
    case CURLE_WRITE_ERROR:
        return error_set(err, ST_LIMIT, "server", "the answer of %s is too large", client->shown);
    default: return error_set(err, ST_IO, "server", "cannot reach %s: %s", client->shown, what);
    }
}

enum status client_send(struct client *client, const struct client_request *request,
                        struct client_reply *reply, struct error *err)
{
    char url[2 * URL_BYTES_MAX];
    struct curl_slist *headers = build_headers(request);
    curl_mime *mime = NULL;
    curl_off_t retry_after = 0;
    long http_status = 0;
    CURLcode code;
    int64_t begin_ns;

    buf_fini(&reply->body);
    *reply = (struct client_reply){0};
    buf_init(&reply->body, CLIENT_REPLY_BYTES_MAX);
    if (headers == NULL)
        return error_set(err, ST_NO_MEMORY, "server", "no memory for a call");
    curl_easy_reset(client->curl); /* options alone: connections stay open */
    if (request->part_count > 0)
        mime = build_mime(client->curl, request);
    (void)snprintf(url, sizeof url, "%s%s", client->server, request->path);
    client->fault[0] = '\0';
    code = request->part_count > 0 && mime == NULL ? CURLE_OUT_OF_MEMORY
                                                   : set_common(client->curl, url, client->fault);
    if (code == CURLE_OK)
        code = set_request(client->curl, request, reply, headers, mime);
    begin_ns = clock_mono_ns();
    if (code == CURLE_OK)
        code = curl_easy_perform(client->curl);
    reply->received_ns = clock_mono_ns();
    reply->round_trip_ns = reply->received_ns - begin_ns;
    if (code == CURLE_OK)
        code = curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &http_status);
    if (code == CURLE_OK)
        code = curl_easy_getinfo(client->curl, CURLINFO_RETRY_AFTER, &retry_after);
    curl_mime_free(mime);
    curl_slist_free_all(headers);
    if (code != CURLE_OK)
        return fill_fault(client, code, err);
    reply->status = (int)http_status;
    reply->retry_after_s = retry_after;
    return ST_OK;
}

void client_reply_fini(struct client_reply *reply)
{
    buf_fini(&reply->body);
    *reply = (struct client_reply){0};
}

void client_read_problem(const struct client_reply *reply, struct client_problem *problem)
{
    struct arena arena;
    struct json_doc doc = {0};
    const char *text;

    *problem = (struct client_problem){0};
    (void)snprintf(problem->detail, sizeof problem->detail, "the server answered %d",
                   reply->status);
    arena_init(&arena, PROBLEM_ARENA_BYTES);
    if (reply->body.len > 0 && json_doc_parse(buf_str(&reply->body), &arena, &doc, NULL) == ST_OK) {
        problem->is_object = json_is_object(doc.root);
        text = json_string_value(json_object_get(doc.root, "code"));
        if (text != NULL)
            (void)snprintf(problem->code, sizeof problem->code, "%s", text);
        text = json_string_value(json_object_get(doc.root, "detail"));
        if (text == NULL)
            text = json_string_value(json_object_get(doc.root, "title"));
        if (text != NULL)
            (void)snprintf(problem->detail, sizeof problem->detail, "%s (%d)", text, reply->status);
        problem->expected_seq = json_integer_value(json_object_get(doc.root, "expected_seq"));
    }
    json_doc_fini(&doc);
    arena_fini(&arena);
}

static size_t write_to_file(char *data, size_t size, size_t count, void *context)
{
    return fwrite(data, size, count, context);
}

static CURLcode set_download(CURL *curl, FILE *file)
{
    CURLcode code = curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, write_to_file);

    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_WRITEDATA, file);
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_MAXREDIRS, REDIRECTS_MAX);
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, STALL_TIMEOUT_S);
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 1L);
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE,
                                (curl_off_t)CLIENT_DOWNLOAD_BYTES_MAX);
    return code;
}

enum status client_download(const char *url, const char *path, struct error *err)
{
    char fault[CURL_ERROR_SIZE] = "", shown[URL_BYTES_MAX];
    CURL *curl = curl_easy_init();
    FILE *file = fopen(path, "wbe");
    enum status status = ST_OK;
    CURLcode code = CURLE_OUT_OF_MEMORY;

    hide_password(url, shown, sizeof shown);
    if (file == NULL) {
        status = error_set(err, ST_IO, path, "cannot create %s: %s", path, strerrordesc_np(errno));
        goto done;
    }
    if (curl != NULL)
        code = set_common(curl, url, fault);
    if (code == CURLE_OK)
        code = set_download(curl, file);
    if (code == CURLE_OK)
        code = curl_easy_perform(curl);
    if (code != CURLE_OK)
        status = error_set(err, ST_IO, "url", "cannot get %s: %s", shown,
                           fault[0] != '\0' ? fault : curl_easy_strerror(code));
done:
    if (file != NULL && fclose(file) != 0 && status == ST_OK)
        status = error_set(err, ST_IO, path, "cannot write %s: %s", path, strerrordesc_np(errno));
    if (curl != NULL)
        curl_easy_cleanup(curl);
    return status;
}
