/* tests/fuzz/fuzz_webhook.c: target_check() and the address checks on any bytes. A URL that passes is one of https, has
 * no user, and passes again as it was written; a host that is an address is judged as its bytes are. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

#include "server/hook/address.h"
#include "server/hook/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_url(struct str text)
{
    const char *url = NULL, *again = NULL;
    struct error err = {0};
    struct arena arena;

    arena_init(&arena, 1 << 20);
    if (target_check(text, false, &arena, &url, &err) == ST_OK) {
        if (strncmp(url, "https://", 8) != 0 || strchr(url, '#') != NULL ||
            target_check(str_from_cstr(url), false, &arena, &again, NULL) != ST_OK ||
            strcmp(url, again) != 0)
            __builtin_trap();
    } else if (err.status == ST_OK || err.detail[0] == '\0') {
        __builtin_trap();
    }
    (void)target_check(text, true, &arena, &url, NULL);
    arena_fini(&arena);
}

static void check_address(const uint8_t *data, size_t bytes)
{
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    char text[INET6_ADDRSTRLEN + 2] = "[";

    if (bytes < sizeof in6.sin6_addr)
        return;
    memcpy(&in6.sin6_addr, data, sizeof in6.sin6_addr);
    if (inet_ntop(AF_INET6, &in6.sin6_addr, text + 1, INET6_ADDRSTRLEN) == NULL)
        __builtin_trap();
    memcpy(text + strlen(text), "]", 2);
    if (address_find_special((const struct sockaddr *)&in6, sizeof in6) !=
        address_find_special_host(str_from_cstr(text)))
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const struct str text = {bytes == 0 ? "" : (const char *)data, bytes};

    check_url(text);
    (void)address_find_special_host(text);
    check_address(data, bytes);
    return 0;
}
