/* server/hook/target.c: see target.h. */
#include "server/hook/target.h"

#include <curl/curl.h>
#include <string.h>

#include "server/hook/address.h"

static enum status refuse(struct error *err, const char *hint, const char *why);
static enum status check_written(struct str text, struct error *err);
static enum status check_parts(CURLU *parts, bool allow_private, struct error *err);
static bool has_dns_lengths(struct str host);
static bool has_part(CURLU *parts, CURLUPart part);
static bool is_plain_host(const char *host);
static enum status check_port(const char *port, bool allow_private, struct error *err);

enum status target_check(struct str text, bool allow_private, struct arena *arena, const char **url,
                         struct error *err)
{
    enum status status;
    CURLU *parts = NULL;
    char *written = NULL;
    const char *copy;

    if (text.len == 0 || text.len > TARGET_BYTES_MAX)
        return refuse(err, NULL, "it has 1 to 2000 bytes");
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] <= ' ' || text.data[i] > '~' || text.data[i] == '\\')
            return refuse(err, "write other characters as %XX, names in other scripts as xn--",
                          "it is visible ASCII");
    status = check_written(text, err);
    if (status != ST_OK)
        return status;
    copy = arena_copy(arena, text);
    parts = curl_url();
    if (copy == NULL || parts == NULL) {
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory for a URL");
        goto done;
    }
    if (curl_url_set(parts, CURLUPART_URL, copy, CURLU_DISALLOW_USER) != CURLUE_OK) {
        status = refuse(err, "write it as https://host/path",
                        "it is no URL, or has a user or a password");
        goto done;
    }
    status = check_parts(parts, allow_private, err);
    if (status != ST_OK)
        goto done;
    if (curl_url_get(parts, CURLUPART_URL, &written, 0) != CURLUE_OK) {
        status = refuse(err, NULL, "it is no URL");
        goto done;
    }
    *url = arena_copy(arena, str_from_cstr(written));
    if (*url == NULL)
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory for a URL");
    else if (strlen(*url) > TARGET_BYTES_MAX)
        status = refuse(err, NULL, "it has 1 to 2000 bytes");
done:
    curl_free(written);
    curl_url_cleanup(parts);
    return status;
}

static enum status refuse(struct error *err, const char *hint, const char *why)
{
    return error_set_code(err, ST_INVALID, "bad_url", "url", hint,
                          "the url cannot be that of a webhook: %s", why);
}

/* What libcurl would mend in silence: a slash too few or too many, %XX in the host, a colon without a port. */
static enum status check_written(struct str text, struct error *err)
{
    static const char hint[] = "write it as https://host/path";
    struct str rest;
    size_t colon, end = 0;

    if (!str_find_char(text, ':', &colon) ||
        !str_starts_with(str_slice(text, colon, text.len), STR("://")))
        return refuse(err, hint, "its scheme is not followed by \"://\"");
    rest = str_slice(text, colon + 3, text.len);
    while (end < rest.len && strchr("/?#", rest.data[end]) == NULL) {
        if (rest.data[end] == '%')
            return refuse(err, "write names in other scripts as xn--", "its host has a %XX");
        end++;
    }
    if (end == 0)
        return refuse(err, hint, "its host is missing");
    if (rest.data[end - 1] == ':')
        return refuse(err, "leave the colon out", "its port is missing");
    return ST_OK;
}

static enum status check_parts(CURLU *parts, bool allow_private, struct error *err)
{
    char *scheme = NULL, *host = NULL, *port = NULL;
    const char *special = NULL;
    enum status status = ST_OK;

    if (curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
        curl_url_get(parts, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
        curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK)
        status = refuse(err, "write it as https://host/path", "its scheme or host is missing");
    else if (strcmp(scheme, "https") != 0 && !(allow_private && strcmp(scheme, "http") == 0))
        status = refuse(err, NULL,
                        allow_private ? "its scheme is http or https" : "its scheme is https");
    else if (!is_plain_host(host))
        status =
            refuse(err, "write names in other scripts as xn--",
                   "its host is no name of letters, digits, points and hyphens, nor an address");
    else if (!has_dns_lengths(str_from_cstr(host)))
        status = refuse(err, NULL,
                        "its host has more than 253 bytes, or a label of none or more than 63");
    else if (has_part(parts, CURLUPART_FRAGMENT) || has_part(parts, CURLUPART_ZONEID) ||
             has_part(parts, CURLUPART_USER) || has_part(parts, CURLUPART_PASSWORD))
        status = refuse(err, NULL, "it has a fragment, a zone, a user or a password");
    if (status == ST_OK && !allow_private)
        special = address_find_special_host(str_from_cstr(host));
    if (special != NULL)
        status = error_set_code(err, ST_INVALID, "bad_url", "url",
                                "a webhook reaches public addresses alone",
                                "the url cannot be that of a webhook: its host is %s", special);
    if (status == ST_OK)
        status = check_port(port, allow_private, err);
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    return status;
}

/* libcurl decodes %XX in a host: what comes out need not be a name. */
static bool is_plain_host(const char *host)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";

    return host[0] == '[' || (host[0] != '\0' && host[strspn(host, plain)] == '\0');
}

/* RFC 1035, 2.3.4, without the point that may stand at its end. */
static bool has_dns_lengths(struct str host)
{
    struct str rest = host, label;
    bool more = true, fits;

    if (host.len > 0 && host.data[0] == '[')
        return true;
    if (str_ends_with(host, STR(".")))
        rest = str_slice(host, 0, host.len - 1);
    fits = rest.len <= 253;
    while (str_split_next(&rest, &more, '.', &label))
        fits = fits && label.len > 0 && label.len <= 63;
    return fits;
}

static bool has_part(CURLU *parts, CURLUPart part)
{
    char *text = NULL;
    const bool has = curl_url_get(parts, part, &text, 0) == CURLUE_OK;

    curl_free(text);
    return has;
}

/* Below 1024 live services that take a request's bytes for words of their own protocol. */
static enum status check_port(const char *port, bool allow_private, struct error *err)
{
    int64_t number;

    if (str_parse_i64(str_from_cstr(port), &number) &&
        (number == 443 || (number == 80 && allow_private) || (number >= 1024 && number <= 65535)))
        return ST_OK;
    return refuse(err, NULL, "its port is 443, or 1024 and above");
}
