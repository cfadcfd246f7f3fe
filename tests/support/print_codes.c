/* tests/support/print_codes.c: the finding codes with their samples (server/intake/codes.c) as JSON lines, for
 * tests/http/test_codes.py. Bytes that are not UTF-8 must arrive as they are, so texts are hexadecimal. */
#include <stdio.h>
#include <string.h>

#include "server/intake/intake.h"

static void print_hex(const char *name, const char *text, const struct intake_code *row)
{
    if (text == NULL)
        return;
    (void)printf(",\"%s\":\"", name);
    for (size_t i = 0; i < strlen(text); i++)
        (void)printf("%02x", (unsigned char)text[i]);
    for (size_t i = 0; i < row->pad_bytes; i++)
        (void)printf("%02x", (unsigned char)row->pad_byte);
    (void)printf("\"");
}

int main(void)
{
    for (size_t i = 0; i < intake_code_count; i++) {
        const struct intake_code *row = &intake_codes[i];

        (void)printf(
            "{\"code\":\"%s\",\"severity\":\"%s\",\"history\":%s,\"whole\":%s,\"task\":\"%s\"",
            row->code, intake_severity_name(row->severity),
            row->mode == INTAKE_HISTORY ? "true" : "false", row->whole ? "true" : "false",
            row->task);
        print_hex("entry", row->entry, row);
        print_hex("progress", row->progress, row);
        print_hex("further", row->further, row);
        (void)printf("}\n");
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
