/* tests/fuzz/fuzz_date.c: clock_parse_date() on any bytes. A day that it takes is written as a date that reads as
 * the same day; a padded one as the very same text. */
#include <stdint.h>

#include "common/clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const struct str text = {(const char *)data, bytes};
    char written[CLOCK_TEXT_BYTES];
    struct error err = {0};
    bool padded = false, again_padded = false;
    int64_t days = 0, again = 0;

    if (clock_parse_date(text, &days, &padded, &err) != ST_OK) {
        if (err.detail[0] == '\0')
            __builtin_trap();
        return 0;
    }
    clock_format_days(days, written);
    if (clock_parse_date(str_from_cstr(written), &again, &again_padded, NULL) != ST_OK ||
        again != days || !again_padded)
        __builtin_trap();
    if (padded && !str_eq_cstr(text, written))
        __builtin_trap();
    return 0;
}
