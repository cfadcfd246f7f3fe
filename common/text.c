/* common/text.c: see text.h. Ranges: Unicode 15.1, UnicodeData.txt; the Cf that are drawn (Arabic number signs and the
 * like) are in neither list. */
#include "common/text.h"

struct range {
    uint32_t first, last;
};

static const struct range hidden[] = {
    {0x00, 0x08},       {0x0B, 0x0C},       {0x0E, 0x1F},       {0x7F, 0x9F},
    {0xAD, 0xAD},       {0x61C, 0x61C},     {0x70F, 0x70F},     {0x180E, 0x180E},
    {0x200B, 0x200B},   {0x200E, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},
    {0xFDD0, 0xFDEF},   {0xFEFF, 0xFEFF},   {0xFFF0, 0xFFFB},   {0xFFFE, 0xFFFF},
    {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
};
static const struct range blank[] = {
    {0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x34F, 0x34F},
    {0x115F, 0x1160}, {0x1680, 0x1680}, {0x17B4, 0x17B5}, {0x180B, 0x180F},
    {0x2000, 0x200F}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x2800, 0x2800},
    {0x3000, 0x3000}, {0x3164, 0x3164}, {0xFE00, 0xFE0F}, {0xFFA0, 0xFFA0},
};

static uint32_t take(struct str text, size_t *at);
static bool is_hidden(uint32_t c);
static bool lies_in(uint32_t c, const struct range *ranges, size_t count);

bool text_is_blank(struct str text)
{
    for (size_t at = 0; at < text.len;) {
        const uint32_t c = take(text, &at);

        if (!is_hidden(c) && !lies_in(c, blank, ARRAY_LEN(blank)))
            return false;
    }
    return true;
}

bool text_find_hidden(struct str text, uint32_t *code_point)
{
    for (size_t at = 0; at < text.len;) {
        *code_point = take(text, &at);
        if (is_hidden(*code_point))
            return true;
    }
    return false;
}

/* The character at *at, which moves on; a byte that begins none stands for itself. */
static uint32_t take(struct str text, size_t *at)
{
    const unsigned char first = (unsigned char)text.data[*at];
    const size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
    uint32_t c = more == 0 ? first : first & (0x3Fu >> more);

    (*at)++;
    for (size_t i = 0; i < more && *at < text.len; i++)
        c = c << 6 | ((unsigned char)text.data[(*at)++] & 0x3F);
    return c;
}

static bool is_hidden(uint32_t c)
{
    return (c & 0xFFFE) == 0xFFFE || lies_in(c, hidden, ARRAY_LEN(hidden));
}

static bool lies_in(uint32_t c, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    return false;
}
