/* server/hook/address.c: see address.h. */
#include "server/hook/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "common/status.h"

struct range4 {
    uint32_t first;
    int bits;
    const char *name;
};
struct range6 {
    unsigned char first[16];
    int bits;
    const char *name;
};

/* IANA IPv4 Special-Purpose Address Registry, multicast and the reserved class E. */
static const struct range4 ranges4[] = {
    {0x00000000, 8, "this network"},   {0x0A000000, 8, "private"},
    {0x64400000, 10, "shared"},        {0x7F000000, 8, "loopback"},
    {0xA9FE0000, 16, "link-local"},    {0xAC100000, 12, "private"},
    {0xC0000000, 24, "reserved"},      {0xC0000200, 24, "documentation"},
    {0xC01FC400, 24, "reserved"},      {0xC034C100, 24, "reserved"},
    {0xC0586300, 24, "6to4 relay"},    {0xC0A80000, 16, "private"},
    {0xC0AF3000, 24, "reserved"},      {0xC6120000, 15, "benchmarking"},
    {0xC6336400, 24, "documentation"}, {0xCB007100, 24, "documentation"},
    {0xE0000000, 4, "multicast"},      {0xF0000000, 4, "reserved"},
};

/* Beyond 2000::/3 nothing is public; this names the better known of it, and what is special inside. */
static const struct range6 ranges6[] = {
    {{[15] = 1}, 128, "loopback"},
    {{0}, 128, "unspecified"},
    {{[10] = 0xFF, [11] = 0xFF}, 96, "IPv4-mapped"},
    {{0}, 96, "IPv4-compatible"},
    {{0x00, 0x64, 0xFF, 0x9B}, 96, "translated IPv4"},
    {{0x00, 0x64, 0xFF, 0x9B, 0x00, 0x01}, 48, "translated IPv4"},
    {{0xFC}, 7, "private"},
    {{0xFE, 0x80}, 10, "link-local"},
    {{0xFE, 0xC0}, 10, "site-local"},
    {{0xFF}, 8, "multicast"},
    {{0x20, 0x01, 0x00, 0x00}, 23, "reserved"}, /* Teredo, ORCHID, benchmarking among others */
    {{0x20, 0x01, 0x0D, 0xB8}, 32, "documentation"},
    {{0x20, 0x02}, 16, "6to4"},
    {{0x26, 0x20, 0x00, 0x4F, 0x80, 0x00}, 48, "reserved"}, /* AS112 */
    {{0x3F, 0xFF, 0x00}, 20, "documentation"},
};

static const char *find_special4(uint32_t address);
static const char *find_special6(const unsigned char address[16]);
static bool has_prefix(const unsigned char *address, const unsigned char *prefix, int bits);
static bool ends_with_label(struct str host, const char *label);

const char *address_find_special(const struct sockaddr *address, size_t bytes)
{
    /* Copied: the caller's bytes may lie anywhere. */
    if (bytes >= sizeof(struct sockaddr_in) && address->sa_family == AF_INET) {
        struct sockaddr_in in4;

        memcpy(&in4, address, sizeof in4);
        return find_special4(ntohl(in4.sin_addr.s_addr));
    }
    if (bytes >= sizeof(struct sockaddr_in6) && address->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;

        memcpy(&in6, address, sizeof in6);
        return in6.sin6_scope_id != 0 ? "link-local" : find_special6(in6.sin6_addr.s6_addr);
    }
    return "not an internet address";
}

const char *address_find_special_host(struct str host)
{
    static const char *const own[] = {"localhost", "localdomain"};
    static const char *const local[] = {"local", "internal", "lan", "home.arpa", "intranet"};
    unsigned char bytes[16];
    char text[64];

    if (str_ends_with(host, STR(".")))
        host = str_slice(host, 0, host.len - 1);
    if (host.len == 0)
        return "not an internet address";
    if (host.len < sizeof text && host.data[0] == '[' && host.data[host.len - 1] == ']') {
        memcpy(text, host.data + 1, host.len - 2);
        text[host.len - 2] = '\0';
        return inet_pton(AF_INET6, text, bytes) == 1 ? find_special6(bytes)
                                                     : "not an internet address";
    }
    if (host.len < sizeof text) {
        struct in_addr in4;

        memcpy(text, host.data, host.len);
        text[host.len] = '\0';
        if (inet_pton(AF_INET, text, &in4) == 1)
            return find_special4(ntohl(in4.s_addr));
    }
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (ends_with_label(host, own[i]))
            return "a name of this host";
    for (size_t i = 0; i < ARRAY_LEN(local); i++)
        if (ends_with_label(host, local[i]))
            return "a name of a local network";
    return NULL;
}

static const char *find_special4(uint32_t address)
{
    for (size_t i = 0; i < ARRAY_LEN(ranges4); i++)
        if ((address ^ ranges4[i].first) >> (32 - ranges4[i].bits) == 0)
            return ranges4[i].name;
    return NULL;
}

static const char *find_special6(const unsigned char address[16])
{
    for (size_t i = 0; i < ARRAY_LEN(ranges6); i++)
        if (has_prefix(address, ranges6[i].first, ranges6[i].bits))
            return ranges6[i].name;
    return (address[0] & 0xE0) == 0x20 ? NULL : "not global";
}

static bool has_prefix(const unsigned char *address, const unsigned char *prefix, int bits)
{
    const size_t whole = (size_t)bits / 8;
    const int rest = bits % 8;

    return memcmp(address, prefix, whole) == 0 &&
           (rest == 0 || (address[whole] ^ prefix[whole]) >> (8 - rest) == 0);
}

/* "localhost" itself, or any name below it. */
static bool ends_with_label(struct str host, const char *label)
{
    const size_t length = strlen(label);

    return host.len >= length && strncasecmp(host.data + host.len - length, label, length) == 0 &&
           (host.len == length || host.data[host.len - length - 1] == '.');
}
