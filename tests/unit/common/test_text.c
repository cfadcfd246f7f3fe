/* tests/unit/common/test_text.c: common/text: what is blank, and what hides or turns around a text. */
#include "common/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_text_without_ink_is_blank(void **state)
{
    static const struct {
        const char *text;
        bool blank;
    } rows[] = {
        {"", true},
        {" \t\r\n", true},
        {"\xC2\xA0", true},                  /* U+00A0 */
        {"\xE2\x80\x8B\xE2\x80\x8B", true},  /* U+200B */
        {"\xE2\x80\x8D", true},              /* U+200D */
        {"\xE3\x80\x80 \xE3\x85\xA4", true}, /* U+3000 U+3164 */
        {"\xE2\xA0\x80", true},              /* U+2800 */
        {"\xEF\xBB\xBF", true},              /* U+FEFF */
        {"\xF3\xA0\x80\xA1", true},          /* U+E0021 */
        {"a", false},
        {"\xC2\xA0.\xC2\xA0", false},
        {"\xE6\xBC\xA2", false},
        {"\xF0\x9F\x98\x80", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (text_is_blank(str_from_cstr(rows[i].text)) != rows[i].blank)
            fail_msg("row %zu", i);
}

static void what_nobody_sees_is_found(void **state)
{
    static const struct {
        const char *text;
        uint32_t hidden; /* 0: none */
    } rows[] = {
        {"", 0},
        {"two\tcells\r\nand a line", 0},
        {"a\x07", 0x07},
        {"a\x7F", 0x7F},
        {"a\xC2\x85", 0x85},
        {"a\xC2\xA0z", 0},     /* a blank that does not break */
        {"a\xC2\xADz", 0xAD},  /* soft hyphen */
        {"a\xD8\x9Cz", 0x61C}, /* Arabic letter mark */
        {"a\xE2\x80\x8Bz", 0x200B},
        {"a\xE2\x80\x8Cz\xE2\x80\x8D", 0}, /* the joiners */
        {"a\xE2\x80\x8F", 0x200F},
        {"a\xE2\x80\xA8", 0x2028},
        {"a\xE2\x80\xAA", 0x202A},
        {"a\xE2\x80\xAE", 0x202E},
        {"a\xE2\x80\xAFz", 0}, /* a narrow blank */
        {"a\xE2\x81\xA6", 0x2066},
        {"a\xE2\x81\xA9", 0x2069},
        {"a\xE2\x81\xB0", 0}, /* superscript zero */
        {"\xEF\xBB\xBF"
         "a",
         0xFEFF},
        {"a\xEF\xBF\xBE", 0xFFFE},
        {"a\xEF\xBF\xBD", 0}, /* the mark of what was lost */
        {"a\xF3\xA0\x80\xA1", 0xE0021},
        {"a\xF0\x9F\xBF\xBE", 0x1FFFE},
        {"\xD9\x85\xD8\xB1\xD8\xAD\xD8\xA8\xD8\xA7 \xF0\x9F\x98\x80", 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint32_t found = 0;
        const bool has = text_find_hidden(str_from_cstr(rows[i].text), &found);

        if (has != (rows[i].hidden != 0) || (has && found != rows[i].hidden))
            fail_msg("row %zu: U+%04X", i, (unsigned)found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_without_ink_is_blank),
        cmocka_unit_test(what_nobody_sees_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
