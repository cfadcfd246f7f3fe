/* common/entry.c: see entry.h. */
#include "common/entry.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/decimal.h"

__extension__ typedef __int128 i128;

static enum status append_number(struct buf *out, const char *key, const char *text,
                                 struct error *err);
static void append_member(struct buf *out, const char *key, const char *text);
static size_t at_sign_bytes(struct str text, size_t at);
static bool is_unicode_escape(struct str text, size_t at);
static bool is_local_char(char c);
static size_t domain_bytes(struct str text);
static enum status append_misc(struct buf *out, const json_t *misc, struct error *err);

/* Name, type, known to train and inference, required by train and inference, help. */
const struct entry_field entry_fields[] = {
    {"version", ENTRY_TEXT, true, true, true, true, "the format: \"v1.0\""},
    {"author", ENTRY_TEXT, true, true, true, true, "who is named on the board"},
    {"authorEmail", ENTRY_TEXT, true, true, true, true, "how reviewers reach you; never shown"},
    {"framework", ENTRY_TEXT, true, true, true, true, "the framework with its version"},
    {"codeURL", ENTRY_URL, true, true, false, false, "where the code is, at a fixed commit"},
    {"commitHash", ENTRY_TEXT, true, true, false, false, "the commit's bare hash"},
    {"model", ENTRY_TEXT, true, true, true, true, "the network's name"},
    {"hardware", ENTRY_TEXT, true, true, true, true, "machine type and how many of them"},
    {"costPerHour", ENTRY_NUMBER, true, false, false, false,
     "on-demand price of the whole cluster in USD an hour; leave it out if there is none"},
    {"latency", ENTRY_NUMBER, false, true, false, true, "mean milliseconds for one item"},
    {"cost", ENTRY_NUMBER, false, true, false, false,
     "USD for one item: price an hour x latency; leave it out if there is none"},
    {"timestamp", ENTRY_DATE, true, true, true, true, "date of submission, yyyy-mm-dd"},
    {"usedBlacklist", ENTRY_BOOL, true, true, false, false,
     "ImageNet: true when the blacklisted 1,762 images were left out of the validation set"},
    {"misc", ENTRY_OBJECT, true, true, false, false,
     "hyper-parameters, versions, command line, price evidence: anything that helps to reproduce"},
};
const size_t entry_field_count = ARRAY_LEN(entry_fields);

const struct entry_field *entry_field_find(struct str name)
{
    for (size_t i = 0; i < entry_field_count; i++)
        if (str_eq_cstr(name, entry_fields[i].name))
            return &entry_fields[i];
    return NULL;
}

enum status entry_append_json(struct buf *out, const struct entry *entry, struct error *err)
{
    const bool train = entry->task->phase == TASK_TRAIN;
    char metric[32];
    enum status status;

    buf_append_cstr(out, "{\n  \"version\": \"" ENTRY_VERSION "\"");
    append_member(out, "author", entry->author);
    append_member(out, "authorEmail", entry->author_email);
    append_member(out, "framework", entry->framework);
    append_member(out, "codeURL", entry->code_url);
    append_member(out, "commitHash", entry->commit_hash);
    append_member(out, "model", entry->model);
    append_member(out, "hardware", entry->hardware);
    if (train) {
        status = append_number(out, "costPerHour", entry->cost_usd_per_hour, err);
    } else {
        entry_format_metric(entry->task, entry->correct, entry->total, metric);
        status = append_number(out, "latency", entry->latency_ms, err);
        if (status == ST_OK)
            status = append_number(out, "cost", entry->cost_usd, err);
        if (status == ST_OK)
            status = append_number(out, entry->task->metric, metric, err);
    }
    if (status != ST_OK)
        return status;
    append_member(out, "timestamp", entry->timestamp);
    if (entry->misc != NULL && append_misc(out, entry->misc, err) != ST_OK)
        return ST_NO_MEMORY;
    buf_append_cstr(out, "\n}\n");
    return buf_check(out, err);
}

void entry_format_metric(const struct task *task, int64_t correct, int64_t total, char text[32])
{
    const bool percent = str_eq_cstr(STR("percent"), task->unit);
    const int64_t scale = 1000000; /* of a fraction; a percentage keeps four decimals */

    assert(total > 0 && correct >= 0 && correct <= total);
    decimal_format((int64_t)((i128)correct * scale / total), percent ? 4 : 6, text);
}

enum status entry_append_tsv(struct buf *out, const struct task *task,
                             const struct entry_epoch *epochs, size_t count, struct error *err)
{
    if (task->phase != TASK_TRAIN || task->column_count > 0)
        return error_set(err, ST_UNSUPPORTED, NULL, "no progress file can be written for %s",
                         task->id);
    buf_appendf(out, "epoch\thours\t%s\n", task->metric);
    for (size_t i = 0; i < count; i++) {
        const struct entry_epoch *epoch = &epochs[i];
        char hours[32], metric[32];

        assert(epoch->official_ns >= 0);
        /* An hour has 3600e9 ns: ns / 3600 are 1e-9 hours, rounded to the nearest. */
        decimal_format((epoch->official_ns + 1800) / 3600, 9, hours);
        entry_format_metric(task, epoch->correct, epoch->total, metric);
        buf_appendf(out, "%.15g\t%s\t%s\n", epoch->epoch, hours, metric);
    }
    return buf_check(out, err);
}

void entry_append_without_addresses(struct buf *out, struct str text)
{
    size_t kept = 0; /* up to here it is in *out */

    for (size_t at = 0; at < text.len; at++) {
        const size_t sign = at_sign_bytes(text, at);
        size_t start = at, domain;

        if (sign == 0)
            continue;
        while (start > kept && is_local_char(text.data[start - 1]))
            start--;
        domain = domain_bytes(str_slice(text, at + sign, text.len));
        if (start == at || domain == 0) {
            at += sign - 1;
            continue;
        }
        buf_append(out, str_slice(text, kept, start));
        buf_append_cstr(out, "(redacted)");
        kept = at + sign + domain;
        at = kept - 1;
    }
    buf_append(out, str_slice(text, kept, text.len));
}

static size_t at_sign_bytes(struct str text, size_t at)
{
    if (text.data[at] == '@')
        return 1;
    return is_unicode_escape(text, at) && memcmp(text.data + at + 2, "0040", 4) == 0 ? 6 : 0;
}

static bool is_unicode_escape(struct str text, size_t at)
{
    unsigned char code[2];

    return text.len - at >= 6 && text.data[at] == '\\' && text.data[at + 1] == 'u' &&
           str_parse_hex(str_slice(text, at + 2, at + 6), code, sizeof code);
}

/* The backslash, so that no escape is cut in two: all but \" and \/ end in one of these. */
static bool is_local_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+-=?^_`{|}~.\\", c) != NULL);
}

/* 0: what follows the sign is no domain, such as the version in "package@1.2.3". A point behind it is not its. */
static size_t domain_bytes(struct str text)
{
    size_t length = 0, end = 0, letters = 0; /* of the label; an escape counts as one */
    bool point = false;

    while (length < text.len) {
        const char c = text.data[length];
        const bool escape = is_unicode_escape(text, length);
        const bool letter = escape || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

        if (!letter && !(c >= '0' && c <= '9') && c != '-' && c != '.')
            break;
        point = point || (c == '.' && length > 0);
        letters = c == '.' ? 0 : letters + (letter ? 1 : 0);
        length += escape ? 6 : 1;
        if (point && letters >= 2)
            end = length;
    }
    return end;
}

/* As it is written, so that no digit is lost. */
static enum status append_number(struct buf *out, const char *key, const char *text,
                                 struct error *err)
{
    struct decimal number;

    if (text == NULL)
        return ST_OK;
    if (decimal_parse(str_from_cstr(text), false, &number, NULL, NULL) != ST_OK)
        return error_set(err, ST_INVALID, key, "%s is not a decimal number", key);
    buf_appendf(out, ",\n  \"%s\": %s", key, text);
    return ST_OK;
}

static void append_member(struct buf *out, const char *key, const char *text)
{
    if (text == NULL)
        return;
    buf_appendf(out, ",\n  \"%s\": ", key);
    buf_append_json(out, str_from_cstr(text));
}

/* Jansson indents from the margin: each of its line feeds (never inside a text, where they are escaped)
 * gets the member's own two blanks. */
static enum status append_misc(struct buf *out, const json_t *misc, struct error *err)
{
    char *text = json_dumps(misc, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
    struct str rest = str_from_cstr(text), line;
    bool more = true;

    if (text == NULL)
        return error_set(err, ST_NO_MEMORY, "misc", "misc could not be written");
    buf_append_cstr(out, ",\n  \"misc\": ");
    for (bool first = true; str_split_next(&rest, &more, '\n', &line); first = false) {
        if (!first)
            buf_append_cstr(out, "\n  ");
        buf_append(out, line);
    }
    free(text);
    return ST_OK;
}
