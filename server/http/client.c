/* server/http/client.c: see client.h. */
#include "server/http/client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <strings.h>

static void set_ipv4(const unsigned char bytes[4], struct client_address *address);
static void set_ipv6(const unsigned char bytes[16], struct client_address *address);

void client_address_from_socket(const struct sockaddr *socket, struct client_address *address)
{
    struct sockaddr_in ipv4;
    struct sockaddr_in6 ipv6;

    *address = (struct client_address){.kind = CLIENT_UNKNOWN};
    if (socket == NULL)
        return;
    if (socket->sa_family == AF_INET) { /* copied: a sockaddr need not be aligned as what it is */
        memcpy(&ipv4, socket, sizeof ipv4);
        set_ipv4((const unsigned char *)&ipv4.sin_addr, address);
    } else if (socket->sa_family == AF_INET6) {
        memcpy(&ipv6, socket, sizeof ipv6);
        set_ipv6(ipv6.sin6_addr.s6_addr, address);
    }
}

bool client_address_parse(struct str text, struct client_address *address)
{
    unsigned char bytes[16];
    char copy[INET6_ADDRSTRLEN];

    if (text.len == 0 || text.len >= sizeof copy || memchr(text.data, '\0', text.len) != NULL)
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    if (inet_pton(AF_INET, copy, bytes) == 1)
        set_ipv4(bytes, address);
    else if (inet_pton(AF_INET6, copy, bytes) == 1)
        set_ipv6(bytes, address);
    else
        return false;
    return true;
}

bool client_address_equal(const struct client_address *a, const struct client_address *b)
{
    return a->kind == b->kind && memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

bool client_forwarded_parse(struct str header, struct client_address *address)
{
    size_t from = header.len;

    while (from > 0 && header.data[from - 1] != ',')
        from--;
    return client_address_parse(str_trim(str_slice(header, from, header.len)), address);
}

bool cookie_find(struct str header, const char *name, struct str *value)
{
    const size_t name_bytes = strlen(name);
    bool more = header.len > 0, found = false;
    struct str part;

    while (str_split_next(&header, &more, ';', &part)) {
        part = str_trim(part);
        if (part.len <= name_bytes || part.data[name_bytes] != '=' ||
            memcmp(part.data, name, name_bytes) != 0)
            continue;
        if (found)
            return false;
        found = true;
        *value = str_slice(part, name_bytes + 1, part.len);
    }
    return found;
}

enum status form_check_source(const struct form_source *source, struct error *err)
{
    struct str authority = source->origin;
    bool good = true, is_https = false;

    if (source->fetch_site.len > 0)
        good = str_eq(source->fetch_site, STR("same-origin"));
    if (good && source->origin.len > 0) {
        is_https = str_starts_with(authority, STR("https://"));
        good = is_https || (!source->is_secure && str_starts_with(authority, STR("http://")));
        authority = str_slice(authority, is_https ? 8 : 7, authority.len);
        good = good && authority.len > 0 && authority.len == source->host.len &&
               strncasecmp(authority.data, source->host.data, authority.len) == 0;
    }
    return good ? ST_OK
                : error_set_code(err, ST_DENIED, "foreign-origin", NULL,
                                 "Open the page here, and send its form from there.",
                                 "this form was sent from another site");
}

static void set_ipv4(const unsigned char bytes[4], struct client_address *address)
{
    *address = (struct client_address){.kind = CLIENT_IPV4, .is_loopback = bytes[0] == 127};
    memcpy(address->bytes, bytes, 4);
    for (size_t i = 0; i < 4; i++)
        address->net = address->net << 8 | bytes[i];
}

static void set_ipv6(const unsigned char bytes[16], struct client_address *address)
{
    static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    static const unsigned char loopback[16] = {[15] = 1};

    if (memcmp(bytes, mapped, sizeof mapped) == 0) {
        set_ipv4(bytes + 12, address);
        return;
    }
    *address = (struct client_address){.kind = CLIENT_IPV6,
                                       .is_loopback = memcmp(bytes, loopback, 16) == 0};
    memcpy(address->bytes, bytes, 16);
    for (size_t i = 0; i < 8; i++)
        address->net = address->net << 8 | bytes[i];
}
