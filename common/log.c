/* common/log.c: see log.h. */
#include "common/log.h"

#include <stdarg.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/str.h"

enum { LINE_BYTES_MAX = 1024 };

static enum log_level level_max = LOG_INFO; /* set before threads start */

void log_set_level(enum log_level level)
{
    level_max = level;
}

void log_event(enum log_level level, const char *event, const char *format, ...)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    char line[LINE_BYTES_MAX + 1], time_text[CLOCK_TEXT_BYTES];
    int length, more;
    va_list args;

    if (level > level_max)
        return;
    clock_format_utc(clock_real_ms(), time_text);
    length = snprintf(line, LINE_BYTES_MAX, "time=%s level=%s event=%s ", time_text, names[level],
                      event);
    if (length < 0 || length >= LINE_BYTES_MAX)
        return;
    va_start(args, format);
    more = vsnprintf(line + length, (size_t)(LINE_BYTES_MAX - length), format, args);
    va_end(args);
    if (more < 0)
        return;
    length = more >= LINE_BYTES_MAX - length ? LINE_BYTES_MAX - 1 : length + more;
    line[length++] = '\n';
    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        return; /* stderr is gone: there is nowhere left to say so */
}

const char *log_quote(const char *text, char *out, unsigned long out_bytes)
{
    unsigned long at = 0;

    if (out_bytes < 8)
        return "";
    out[at++] = '"';
    for (const char *p = text; *p != '\0' && at + 6 < out_bytes; p++) {
        const unsigned char c = (unsigned char)*p;

        if (c == '"' || c == '\\') {
            out[at++] = '\\';
            out[at++] = *p;
        } else if (c < 0x20 || c == 0x7F) {
            at += (unsigned long)snprintf(out + at, 5, "\\x%02x", c);
        } else {
            out[at++] = *p;
        }
    }
    out[at++] = '"';
    out[at] = '\0';
    return out;
}
