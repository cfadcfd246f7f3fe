/* tests/fuzz/fuzz_decimal.c: decimal_parse() and what is computed from it, on two numbers apart by a line feed.
 * The exact results are held against doubles, which are right to 1e-12 or so. */
#include <math.h>
#include <stdint.h>

#include "common/decimal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_one(struct str text, struct decimal value)
{
    struct decimal again;
    double number = 0.0;
    char shown[32];
    int64_t scaled;
    struct buf out;

    if (str_parse_double(text, &number) &&
        fabs(decimal_to_double(value) - number) > 1e-12 * fabs(number))
        __builtin_trap();
    if (decimal_cmp(value, value) != 0)
        __builtin_trap();
    buf_init(&out, 1 << 20);
    decimal_append_json(&out, text);
    if (decimal_parse(buf_str(&out), false, &again, NULL, NULL) != ST_OK ||
        decimal_cmp(again, value) != 0)
        __builtin_trap();
    buf_fini(&out);
    if (decimal_scale(value, NS_PER_HOUR, &scaled, NULL) != ST_OK)
        return;
    if (fabs((double)scaled - decimal_to_double(value) * (double)NS_PER_HOUR) >
        0.5 + 1e-9 * fabs((double)scaled))
        __builtin_trap();
    decimal_format(scaled, 9, shown);
    if (decimal_parse(str_from_cstr(shown), false, &again, NULL, NULL) != ST_OK)
        __builtin_trap();
    if (decimal_scale(again, 1000000000, &scaled, NULL) != ST_OK)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct str rest = {(const char *)data, bytes}, text[2] = {{"", 0}, {"", 0}};
    struct decimal value[2];
    struct error err = {0};
    int64_t product, reverse;
    bool more = true;

    for (size_t i = 0; i < 2 && str_split_next(&rest, &more, '\n', &text[i]); i++) {
        if (decimal_parse(text[i], true, &value[i], NULL, &err) != ST_OK) {
            if (err.status == ST_OK || err.detail[0] == '\0')
                __builtin_trap();
            return 0;
        }
        check_one(text[i], value[i]);
    }
    if (text[1].len == 0)
        return 0;
    if (decimal_cmp(value[0], value[1]) != -decimal_cmp(value[1], value[0]))
        __builtin_trap();
    if (decimal_scale_product(value[0], value[1], PICO_PER_USD, &product, NULL) == ST_OK &&
        (decimal_scale_product(value[1], value[0], PICO_PER_USD, &reverse, NULL) != ST_OK ||
         reverse != product))
        __builtin_trap();
    return 0;
}
