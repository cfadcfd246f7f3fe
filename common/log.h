/* common/log.h: one key=value line per event on stderr (RFC 3339 time, level, event, then pairs).
 * Never a secret, a request body or an e-mail address. Threads: any; a line is written by one write(2). */
#ifndef DAYBREAK_COMMON_LOG_H
#define DAYBREAK_COMMON_LOG_H

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level); /* before threads start; default LOG_INFO */
/* log_event(LOG_INFO, "run_start", "run=%s seed=%llu", ...). The caller quotes free text with %s
 * through log_quote(). Lines above 1,024 bytes are cut. */
void log_event(enum log_level level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* text in double quotes, control bytes and quotes escaped, cut to fit; returns out. */
const char *log_quote(const char *text, char *out, unsigned long out_bytes);

#endif
