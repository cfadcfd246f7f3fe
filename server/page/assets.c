/* server/page/assets.c: style and scripts. */
#include "server/page/assets.h"

#include <stdio.h>

#include "common/crypto.h"
#include "server/app.h"
#include "server/embedded.h"

#define ASSET_BYTES_MAX (2u << 20)
#define VERSION_BYTES   12

static void make_version(char version[VERSION_BYTES + 1]);
static const char *content_type_of(struct str name);
static const struct embedded_file *find_asset(struct str name, const char *ending);
static void send_file(struct request *request, struct response *response, const char *type);
static void send_not_found(struct response *response);

const char *assets_base(struct arena *arena)
{
    char version[VERSION_BYTES + 1];

    make_version(version);
    return arena_printf(arena, "/assets/%s", version);
}

void handle_get_asset(struct request *request, struct response *response)
{
    const struct str name = request->args[1];
    const char *type = content_type_of(name);
    const struct str accepted = request_header(request, "Accept-Encoding");
    const struct embedded_file *file = find_asset(name, ""), *packed = find_asset(name, ".gz");
    const bool packs = packed != NULL && accepted.len > 0 &&
                       memmem(accepted.data, accepted.len, "gzip", 4) != NULL;
    char version[VERSION_BYTES + 1];

    make_version(version);
    if (type == NULL || (file == NULL && request->app->web_dir == NULL)) {
        send_not_found(response);
        return;
    }
    if (request->app->web_dir != NULL && !str_eq_cstr(name, "chart.js")) {
        send_file(request, response, type);
        return;
    }
    response_add_header(response, "Vary", "Accept-Encoding");
    if (packs)
        response_add_header(response, "Content-Encoding", "gzip");
    if (!str_eq_cstr(request->args[0], version)) { /* a page from before an update asks */
        response_send_embedded(response, packs ? packed : file, type);
        return;
    }
    response_add_header(response, "Cache-Control", "public, max-age=31536000, immutable");
    (void)response_begin(response, 200, type);
    response->embedded = packs ? packed : file;
}

/* Of all assets together: scripts import one another by relative addresses. */
static void make_version(char version[VERSION_BYTES + 1])
{
    unsigned char digest[SHA256_BYTES];
    struct sha256 *hash = sha256_create();

    for (size_t i = 0; i < embedded_web_count; i++)
        sha256_update(hash, embedded_web[i].sha256, SHA256_HEX_BYTES - 1);
    sha256_finish(hash, digest);
    str_format_hex(digest, VERSION_BYTES / 2, version);
}

/* NULL: no asset has such a name; one that could leave its folder has none either. */
static const char *content_type_of(struct str name)
{
    static const struct {
        const char *ending, *type;
    } types[] = {
        {".css", "text/css; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".svg", "image/svg+xml"},
    };

    for (size_t i = 0; i < name.len; i++)
        if ((name.data[i] < 'a' || name.data[i] > 'z') && name.data[i] != '-' &&
            (name.data[i] != '.' || i == 0))
            return NULL;
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_ends_with(name, str_from_cstr(types[i].ending)))
            return types[i].type;
    return NULL;
}

static const struct embedded_file *find_asset(struct str name, const char *ending)
{
    const struct str folder = STR("web/assets/");

    for (size_t i = 0; i < embedded_web_count; i++) {
        const struct str path = str_from_cstr(embedded_web[i].path);

        if (str_starts_with(path, folder) && path.len == folder.len + name.len + strlen(ending) &&
            str_starts_with(str_slice(path, folder.len, path.len), name) &&
            str_ends_with(path, str_from_cstr(ending)))
            return &embedded_web[i];
    }
    return NULL;
}

/* For who works on the pages: the file as it is now. */
static void send_file(struct request *request, struct response *response, const char *type)
{
    const char *path = arena_printf(request->arena, "%s/assets/%.*s", request->app->web_dir,
                                    STR_ARG(request->args[1]));
    FILE *in = path == NULL ? NULL : fopen(path, "rb");
    struct buf *out;
    char bytes[4096];
    size_t count, total = 0;

    if (in == NULL) {
        send_not_found(response);
        return;
    }
    response_add_header(response, "Cache-Control", "no-store");
    out = response_begin(response, 200, type);
    while ((count = fread(bytes, 1, sizeof bytes, in)) > 0 && (total += count) <= ASSET_BYTES_MAX)
        buf_append(out, (struct str){bytes, count});
    if (ferror(in))
        out->failed = true;
    fclose(in);
}

static void send_not_found(struct response *response)
{
    struct error err = {0};

    (void)error_set(&err, ST_NOT_FOUND, NULL, "there is no such asset");
    response_send_error(response, &err);
}
