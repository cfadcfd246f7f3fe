/* server/api/review_read.c: see review_read.h. */
#include "server/api/review_read.h"

#include <inttypes.h>
#include <string.h>

#include "common/entry.h"
#include "common/text.h"
#include "server/api/api.h"
#include "server/app.h"
#include "server/store/read.h"

static const char *find_state(struct request *request, int64_t id);

const char *review_read_text(struct json_reader *json, const char *key, bool required,
                             size_t bytes_max, struct arena *arena)
{
    struct error fault = {0};
    const char *copy;
    struct str text;

    if (!json_read_text(json, key, required, bytes_max, &text))
        return NULL;
    text = str_trim(text);
    if (!review_check_text(text, key, &fault)) {
        (void)json_reader_fault(json, key, fault.code, fault.hint, "%s", fault.detail);
        return NULL;
    }
    copy = review_clean_text(text, bytes_max, arena);
    if (copy == NULL)
        (void)json_reader_fault(json, key, "bad_value", NULL, "%s is too long", key);
    return copy;
}

bool review_check_text(struct str text, const char *field, struct error *err)
{
    uint32_t hidden;

    if (text_is_blank(text))
        (void)error_set_code(err, ST_INVALID, "bad_value", field, NULL, "%s is blank", field);
    else if (text_find_hidden(text, &hidden))
        (void)error_set_code(err, ST_INVALID, "hidden_character", field, TEXT_HIDDEN_HINT,
                             "%s has U+%04X, which nobody sees", field, (unsigned)hidden);
    else
        return true;
    return false;
}

const char *review_clean_text(struct str text, size_t bytes_max, struct arena *arena)
{
    const char *copy = NULL;
    struct buf clean;

    if (text.len == 0)
        return NULL;
    buf_init(&clean, bytes_max + 1);
    entry_append_without_addresses(&clean, text);
    if (!clean.failed && clean.len <= bytes_max)
        copy = arena_copy(arena, buf_str(&clean));
    buf_fini(&clean);
    return copy;
}

const char *review_read_reason(struct json_reader *json, struct arena *arena)
{
    return review_read_text(json, "reason", true, REASON_BYTES_MAX, arena);
}

/* Files are never changed: what is found now is there when the comment is stored. */
enum status review_check_place(struct request *request, const struct post_comment *comment,
                               struct error *err)
{
    struct store_reader *reader = app_reader(request->app, err);
    struct submission_record submission;
    struct submission_files files;
    struct str bytes;
    int64_t lines = 0;

    if (reader == NULL ||
        store_get_submission(reader, request->arena, comment->submission_id, &submission, err) !=
            ST_OK ||
        store_get_submission_files(reader, request->arena, submission.id, &files, err) != ST_OK)
        return err->status;
    if (!review_find_file(request->arena, &submission, &files, comment->file, &bytes))
        return error_set_code(err, ST_INVALID, "unknown_file", "file",
                              "the submission itself lists its files", "it has no file \"%s\"",
                              comment->file);
    for (size_t i = 0; i < bytes.len; i++)
        lines += bytes.data[i] == '\n' || i + 1 == bytes.len;
    if (comment->line.has && comment->line.value > lines)
        return error_set_code(err, ST_INVALID, "out_of_range", "line", NULL,
                              "%s has %" PRId64 " lines", comment->file, lines);
    return ST_OK;
}

bool review_find_file(struct arena *arena, const struct submission_record *submission,
                      const struct submission_files *files, const char *name, struct str *bytes)
{
    const char *entry = arena_printf(arena, "%s.json", submission->name);
    const char *progress = arena_printf(arena, "%s.tsv", submission->name);

    for (size_t i = 0; i < files->further_count; i++)
        if (strcmp(name, files->further[i].name) == 0) {
            *bytes = files->further[i].bytes;
            return true;
        }
    if (entry != NULL && strcmp(name, entry) == 0)
        *bytes = files->entry;
    else if (files->has_progress && progress != NULL && strcmp(name, progress) == 0)
        *bytes = files->progress;
    else
        return false;
    return true;
}

void review_send_outcome(struct request *request, struct response *response)
{
    const struct command *command = &api_step(request)->command;
    struct error ignored = {0};
    int64_t id = 0;

    if (command->status == ST_OK) {
        handle_get_submission(request, response);
        return;
    }
    if (strcmp(command->err.code, "illegal-transition") != 0 ||
        request_arg_id(request, 0, &id, &ignored) != ST_OK) {
        response_send_error(response, &command->err);
        return;
    }
    response_send_problem(response,
                          &(struct problem){
                              .status = 409,
                              .code = command->err.code,
                              .detail = arena_printf(request->arena, "%s. %s", command->err.detail,
                                                     command->err.hint),
                              .has_submission = true,
                              .submission = id,
                              .state = find_state(request, id),
                          });
}

/* NULL: it cannot be read just now. */
static const char *find_state(struct request *request, int64_t id)
{
    struct submission_record submission;
    struct error ignored = {0};
    struct store_reader *reader = app_reader(request->app, &ignored);

    if (reader == NULL ||
        store_get_submission(reader, request->arena, id, &submission, &ignored) != ST_OK)
        return NULL;
    return submission.state;
}
