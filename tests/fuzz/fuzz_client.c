/* tests/fuzz/fuzz_client.c: what headers say of a client: Cookie, X-Forwarded-For, Origin, and lists of ETags. */
#include <stdint.h>

#include "common/etag.h"
#include "server/http/client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const struct str text = {(const char *)data, bytes};
    const struct form_source source = {.origin = text, .host = STR("example.org")};
    struct client_address address;
    struct error err = {0};
    struct str value = {0};

    if (cookie_find(text, "daybreak", &value) &&
        (value.len > bytes || memchr(value.data, ';', value.len) != NULL))
        __builtin_trap();
    if (client_forwarded_parse(text, &address) && address.kind == CLIENT_UNKNOWN)
        __builtin_trap();
    if (form_check_source(&source, &err) == ST_OK && bytes > 0 && !str_ends_with(text, STR("rg")) &&
        !str_ends_with(text, STR("RG")) && !str_ends_with(text, STR("rG")) &&
        !str_ends_with(text, STR("Rg")))
        __builtin_trap();
    if (etag_list_check(text, "If-Match", NULL) != ST_OK && etag_list_holds(text, "\"a\"", false) &&
        bytes < 3)
        __builtin_trap();
    return 0;
}
