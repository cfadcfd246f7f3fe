/* tests/fuzz/fuzz_form.c: a form's body: every field once, UTF-8, without control bytes but tabs and line feeds. */
#include <stdint.h>

#include "server/http/form.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct error err = {0};
    struct query form;
    struct arena arena;

    arena_init(&arena, 4 << 20);
    if (form_parse((struct str){(const char *)data, bytes}, &arena, &form, &err) == ST_OK) {
        for (size_t i = 0; i < form.count; i++) {
            const struct str value = form.items[i].value;

            if (form.items[i].name.len == 0 || !str_is_utf8(value) ||
                strlen(value.data) != value.len || memchr(value.data, '\r', value.len) != NULL)
                __builtin_trap();
        }
        (void)form_check_csrf(&form, STR("session"), NULL);
    } else if (err.status == ST_OK || err.detail[0] == '\0') {
        __builtin_trap();
    }
    arena_fini(&arena);
    return 0;
}
