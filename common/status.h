/* common/status.h: what a fallible function returns, and what it says to a person.
 * Ownership: struct error is the caller's and holds no pointer. Threads: pure, any thread. */
#ifndef DAYBREAK_COMMON_STATUS_H
#define DAYBREAK_COMMON_STATUS_H

#include <stdarg.h>
#include <stddef.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* X(name, exit code of a program that ends with it); names are printed in logs. */
#define STATUS_LIST(X)                                                                           \
    X(ST_OK, 0)        /* done */                                                                \
    X(ST_INVALID, 2)   /* the input breaks a rule; err says which field and how to mend it */    \
    X(ST_NOT_FOUND, 2) /* names something that is not there */                                   \
    X(ST_CONFLICT, 2)  /* contradicts what is stored already */                                  \
    X(ST_LIMIT, 2)     /* larger than a named maximum */                                         \
    X(ST_UNAUTHENTICATED, 2) /* who asks is not known: token missing, malformed, expired */      \
    X(ST_DENIED, 2)          /* who asks is known and may not */                                 \
    X(ST_UNSUPPORTED, 2)     /* asked for an ISA, device, version or medium that is not there */ \
    X(ST_USAGE, 3)           /* command line: wrong option or argument */                        \
    X(ST_UNAVAILABLE, 4)     /* full or stopping; the same call may work later */                \
    X(ST_TIMEOUT, 4)         /* a deadline passed */                                             \
    X(ST_CANCELLED, 4)       /* somebody asked us to stop */                                     \
    X(ST_IO, 4)              /* file system, network or child process */                         \
    X(ST_NO_MEMORY, 4)       /* allocation failed */                                             \
    X(ST_INTERNAL, 4)        /* our fault: a client learns nothing but a request id */

enum status {
#define STATUS_ENUM(name, exit_code) name,
    STATUS_LIST(STATUS_ENUM)
#undef STATUS_ENUM
        STATUS_COUNT
};

/* The first error wins: error_set() on a struct whose status is not ST_OK changes nothing. */
struct error {
    enum status status;
    int line;         /* in the file at fault, from 1; 0: the whole file or none */
    char code[48];    /* stable, machine readable: "lease-lost", "json_syntax"; may be empty */
    char field[96];   /* field, option or JSON pointer at fault; may be empty */
    char detail[384]; /* one sentence for a person: what was found */
    char hint[256];   /* how to mend it; may be empty */
    long long retry_after_s; /* it may work then; 0: not known */
};

/* Fills err (may be NULL) unless it holds an error already, and returns `status`, so that
 * `return error_set(...)` reads well. field may be NULL. Text that is too long is cut at a UTF-8
 * boundary. */
enum status error_set(struct error *err, enum status status, const char *field, const char *format,
                      ...) __attribute__((format(printf, 4, 5)));

/* The same with a code and a hint (either may be NULL). */
enum status error_set_code(struct error *err, enum status status, const char *code,
                           const char *field, const char *hint, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
enum status error_set_code_v(struct error *err, enum status status, const char *code,
                             const char *field, const char *hint, const char *format, va_list args)
    __attribute__((format(printf, 6, 0)));

const char *status_name(enum status status); /* "ST_INVALID" */
int status_exit_code(enum status status);    /* design.md, Programs: 0, 2, 3 or 4 */

#endif
