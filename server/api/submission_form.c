/* server/api/submission_form.c: see submission_form.h. */
#include "server/api/submission_form.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/clock.h"
#include "common/crypto.h"
#include "common/entry.h"
#include "common/json.h"
#include "common/text.h"
#include "server/api/accept.h"
#include "server/app.h"
#include "server/store/read.h"

enum { TASK_BYTES_MAX = 128 };

static enum status read_revised(struct request *request, struct submission_form *form,
                                struct error *err);
static enum status read_json(struct request *request, struct submission_form *form,
                             struct error *err);
static void read_json_progress(struct json_reader *reader, struct submission_form *form);
static void read_json_file(struct json_reader *reader, struct submission_form *form, size_t index,
                           const json_t *item);
static enum status keep_texts(struct request *request, struct submission_form *form,
                              struct error *err);
static void read_parts(struct request *request, struct submission_form *form, struct error *err);
static void take_part(struct request *request, struct submission_form *form,
                      const struct multipart_part *part, struct error *err);
static struct str stem_of(struct str file_name);
static void take_former(struct submission_form *form);
static void check_members(struct request *request, bool named, struct submission_form *form,
                          struct error *err);
static enum status name_files(struct request *request, struct submission_form *form,
                              struct error *err);
static void check_file_name(struct request *request, const struct submission_form *form,
                            size_t index, struct error *err);
static enum status check_sizes(const struct submission_form *form, struct error *err);
static enum status too_large(struct error *err, const char *field, const char *what, int bytes);

enum status submission_form_read(struct request *request, bool named, struct submission_form *form,
                                 struct error *err)
{
    *form = (struct submission_form){0};
    form->progress = ARENA_NEW_ARRAY(request->arena, ENTRY_RUNS_MAX, struct intake_source);
    if (form->progress == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the files");
    if (request->arg_count > 0 && read_revised(request, form, err) != ST_OK)
        return err->status;
    if (request->media == MEDIA_MULTIPART)
        read_parts(request, form, err);
    else if (read_json(request, form, err) != ST_OK)
        return err->status;
    if (form->revised != NULL)
        take_former(form);
    check_members(request, named, form, err);
    if (name_files(request, form, err) != ST_OK || err->status != ST_OK)
        return err->status;
    assert(form->task != NULL); /* else it was said to be missing or unknown */
    return check_sizes(form, err);
}

enum status submission_form_judge(struct request *request, const struct submission_form *form,
                                  bool whole, struct intake_result *result, struct error *err)
{
    const struct intake_input input = {
        .task = form->task,
        .mode = INTAKE_NEW,
        .whole = whole,
        .has_entry = form->has_entry,
        .entry = form->entry,
        .progress = form->progress,
        .progress_count = form->progress_count,
        .today_days = clock_real_ms() / (INT64_C(86400) * 1000),
    };

    return intake_check(&input, request->arena, result, err);
}

enum status submission_form_files(const struct submission_form *form, struct arena *arena,
                                  struct submission_files *files, struct error *err)
{
    struct submission_file *further;

    *files = (struct submission_files){.entry = form->entry};
    if (form->progress_count == 1) {
        files->has_progress = true;
        files->progress = form->progress[0].bytes;
    }
    if (form->progress_count <= 1)
        return ST_OK;
    further = ARENA_NEW_ARRAY(arena, form->progress_count, struct submission_file);
    for (size_t i = 0; further != NULL && i < form->progress_count; i++) {
        char hex[SHA256_HEX_BYTES];

        crypto_sha256_hex(form->progress[i].bytes, hex);
        further[i] = (struct submission_file){.name = form->progress[i].name,
                                              .bytes = form->progress[i].bytes,
                                              .sha256 = arena_copy(arena, str_from_cstr(hex))};
        if (further[i].sha256 == NULL)
            further = NULL;
    }
    files->further = further;
    files->further_count = form->progress_count;
    return further == NULL ? error_set(err, ST_NO_MEMORY, NULL, "no memory for the files") : ST_OK;
}

/* What is revised gives task and name, where the form does not. */
static enum status read_revised(struct request *request, struct submission_form *form,
                                struct error *err)
{
    struct submission_record *revised = ARENA_NEW(request->arena, struct submission_record);
    struct store_reader *reader = app_reader(request->app, err);
    int64_t id;

    if (reader == NULL)
        return err->status;
    if (revised == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for a submission");
    if (request_arg_id(request, 0, &id, err) != ST_OK ||
        store_get_submission(reader, request->arena, id, revised, err) != ST_OK)
        return err->status;
    if (strcmp(revised->kind, "dawnbench") != 0)
        return error_set_code(err, ST_CONFLICT, "not-revisable", NULL,
                              "send it as a new one, or ask for further runs",
                              "submission %" PRId64 " is no pair of files", id);
    form->revised = revised;
    return ST_OK;
}

static enum status read_json(struct request *request, struct submission_form *form,
                             struct error *err)
{
    struct json_reader reader;
    struct json_doc doc;
    enum status status = request_read_json(request, &doc, &reader, err);

    if (status != ST_OK)
        return status;
    form->has_task =
        json_read_text(&reader, "task", form->revised == NULL, TASK_BYTES_MAX, &form->task_id);
    form->supersedes.has =
        form->revised == NULL &&
        json_read_i64(&reader, "supersedes", false, 1, INT64_MAX, &form->supersedes.value);
    form->has_name = json_read_text(&reader, "name", false, ENTRY_NAME_BYTES_MAX, &form->name);
    form->has_entry =
        json_read_text(&reader, "entry", false, 4 * (size_t)ENTRY_FILE_BYTES_MAX, &form->entry);
    read_json_progress(&reader, form);
    (void)json_reader_finish(&reader);
    status = keep_texts(request, form, err);
    json_doc_fini(&doc);
    return status;
}

/* The text of a file, or a list of them, one per run: texts, or objects that name the file as well. */
static void read_json_progress(struct json_reader *reader, struct submission_form *form)
{
    const json_t *list, *item;
    struct str text;
    size_t i;

    if (!json_is_array(json_object_get(reader->object, "progress"))) {
        if (json_read_text(reader, "progress", false, 4 * (size_t)ENTRY_FILE_BYTES_MAX, &text))
            form->progress[form->progress_count++].bytes = text;
        return;
    }
    if (!json_read_array(reader, "progress", false, ENTRY_RUNS_MAX, &list))
        return;
    if (json_array_size(list) == 0)
        (void)json_reader_fault(reader, "progress", "bad_value", "leave it out, or give a file",
                                "progress is an empty list");
    json_array_foreach(list, i, item)
    {
        read_json_file(reader, form, i, item);
    }
    form->progress_count = json_array_size(list);
}

static void read_json_file(struct json_reader *reader, struct submission_form *form, size_t index,
                           const json_t *item)
{
    struct intake_source *file = &form->progress[index];
    struct json_reader part;
    char pointer[32];
    struct str name;

    if (json_is_string(item)) {
        file->bytes = (struct str){json_string_value(item), json_string_length(item)};
        return;
    }
    (void)snprintf(pointer, sizeof pointer, "/progress/%zu", index);
    json_reader_init_part(&part, reader, item, pointer);
    if (json_read_text(&part, "name", true, SUBMISSION_FILE_NAME_BYTES_MAX, &name))
        file->name = name.data; /* ends with a NUL: the tree's own */
    (void)json_read_text(&part, "text", true, 4 * (size_t)ENTRY_FILE_BYTES_MAX, &file->bytes);
    if (json_reader_finish(&part) != ST_OK)
        reader->status = part.status;
}

/* The tree goes before the command runs. */
static enum status keep_texts(struct request *request, struct submission_form *form,
                              struct error *err)
{
    struct str *const texts[] = {&form->task_id, &form->name, &form->entry};
    bool lost = false;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        texts[i]->data = arena_copy(request->arena, *texts[i]);
        lost = lost || texts[i]->data == NULL;
    }
    for (size_t i = 0; i < form->progress_count; i++) {
        struct intake_source *file = &form->progress[i];

        file->bytes.data = arena_copy(request->arena, file->bytes);
        lost = lost || file->bytes.data == NULL;
        if (file->name != NULL) {
            file->name = arena_copy(request->arena, str_from_cstr(file->name));
            lost = lost || file->name == NULL;
        }
    }
    return lost ? error_set(err, ST_NO_MEMORY, NULL, "no memory for the files") : ST_OK;
}

static void read_parts(struct request *request, struct submission_form *form, struct error *err)
{
    const struct multipart *parts = &request->parts;

    for (size_t i = 0; i < parts->count; i++)
        take_part(request, form, &parts->parts[i], err);
    if (!form->has_task && form->revised == NULL)
        (void)request_fault(request, "missing_member", "task", NULL, err,
                            "the part \"task\" is missing");
    (void)query_finish(&request->query, err);
}

static void take_part(struct request *request, struct submission_form *form,
                      const struct multipart_part *part, struct error *err)
{
    const char *name = part->name.data;

    if (strcmp(name, "progress") == 0) {
        if (form->progress_count == ENTRY_RUNS_MAX)
            (void)request_fault(request, "too_many_runs", "progress", NULL, err,
                                "an entry has at most %d progress files", ENTRY_RUNS_MAX);
        else
            form->progress[form->progress_count++] = (struct intake_source){
                .name =
                    part->has_file_name && part->file_name.len > 0 ? part->file_name.data : NULL,
                .bytes = part->data};
    } else if (multipart_find(&request->parts, name) != part) {
        (void)request_fault(request, "bad_multipart", name, NULL, err,
                            "the part \"%.*s\" is there twice", (int)str_utf8_cut(part->name, 100),
                            name);
    } else if (strcmp(name, "task") == 0) {
        form->has_task = true;
        form->task_id = str_trim(part->data);
    } else if (strcmp(name, "name") == 0) {
        form->has_name = true;
        form->name = str_trim(part->data);
    } else if (strcmp(name, "supersedes") == 0) {
        form->supersedes.has = str_parse_i64(str_trim(part->data), &form->supersedes.value) &&
                               form->supersedes.value > 0 && form->revised == NULL;
        if (!form->supersedes.has)
            (void)request_fault(request, "bad_value", "supersedes", NULL, err,
                                "supersedes is the id of an entry, and none of a revision");
    } else if (strcmp(name, "entry") == 0) {
        form->has_entry = true;
        form->entry = part->data;
        if (part->has_file_name && multipart_find(&request->parts, "name") == NULL) {
            form->has_name = true;
            form->name = stem_of(part->file_name);
        }
    } else {
        (void)request_fault(request, "unknown_member", name,
                            "send the parts task, entry, progress, name, supersedes", err,
                            "there is no part \"%.*s\" here", (int)str_utf8_cut(part->name, 100),
                            name);
    }
}

static struct str stem_of(struct str file_name)
{
    static const struct str ending = {".json", 5};

    return str_ends_with(file_name, ending) ? str_slice(file_name, 0, file_name.len - ending.len)
                                            : file_name;
}

/* Task and name of what is revised, where the form says nothing else. */
static void take_former(struct submission_form *form)
{
    if (!form->has_task)
        form->task_id = str_from_cstr(form->revised->task);
    if (!form->has_name)
        form->name = str_from_cstr(form->revised->name);
    form->has_task = form->has_name = true;
}

/* What holds for both kinds of bodies; only the way in which they name a member differs. */
static void check_members(struct request *request, bool named, struct submission_form *form,
                          struct error *err)
{
    const bool parts = request->media == MEDIA_MULTIPART;
    struct error fault = {0};

    form->task = form->has_task ? task_find(request->app->tasks, form->task_id) : NULL;
    if (form->has_task && form->task == NULL)
        (void)request_fault(request, "unknown_task", parts ? "task" : "/task",
                            "GET /v1/tasks lists them", err, "there is no task \"%.*s\"",
                            (int)str_utf8_cut(form->task_id, 64), form->task_id.data);
    if (form->task != NULL && form->task->mlperf_round != NULL)
        (void)request_fault(request, "wrong_form", parts ? "task" : "/task",
                            "Send the runs' logs to POST /v1/mlperf/logs.", err,
                            "entries of %s are the logs of its runs", form->task->id);
    if (named && !form->has_name)
        (void)request_fault(request, "missing_member", parts ? "name" : "/name",
                            parts ? "give the entry's part a file name, or send a name" : NULL, err,
                            "the entry has no name");
    else if (named && accept_check_name(form->name, &fault) != ST_OK)
        (void)request_fault(request, fault.code, parts ? "name" : "/name", fault.hint, err, "%s",
                            fault.detail);
    if (!named && !form->has_entry && form->progress_count == 0)
        (void)request_fault(request, "missing_member", parts ? "entry" : "/entry", NULL, err,
                            "send an entry, a progress file, or both");
}

/* Of several files each has a name, by which findings call it and readers ask for it. */
static enum status name_files(struct request *request, struct submission_form *form,
                              struct error *err)
{
    const struct str stem = form->has_name && form->name.len > 0 ? form->name : STR("run");

    for (size_t i = 0; form->progress_count > 1 && i < form->progress_count; i++) {
        struct intake_source *file = &form->progress[i];

        if (file->name == NULL)
            file->name =
                arena_printf(request->arena, "%.*s-%zu.tsv",
                             (int)str_utf8_cut(stem, ENTRY_NAME_BYTES_MAX), stem.data, i + 1);
        if (file->name == NULL)
            return error_set(err, ST_NO_MEMORY, NULL, "no memory for a file's name");
        check_file_name(request, form, i, err);
    }
    return ST_OK;
}

static void check_file_name(struct request *request, const struct submission_form *form,
                            size_t index, struct error *err)
{
    const struct str name = str_from_cstr(form->progress[index].name);
    const char *field = request->media == MEDIA_MULTIPART ? "progress" : "/progress";
    uint32_t hidden;
    bool good = name.len > 0 && name.len <= SUBMISSION_FILE_NAME_BYTES_MAX && str_is_utf8(name) &&
                name.data[0] != '.' && str_ends_with(name, STR(".tsv")) &&
                !text_find_hidden(name, &hidden);

    for (size_t i = 0; i < name.len && good; i++)
        good = (unsigned char)name.data[i] >= ' ' && name.data[i] != 0x7F && name.data[i] != '/' &&
               name.data[i] != '\\' && name.data[i] != '@';
    if (!good) {
        (void)request_fault(request, "bad_file_name", field,
                            "call the files of the runs run-1.tsv, run-2.tsv ..", err,
                            "the name of progress file %zu is not 1 to %d bytes of UTF-8 that end "
                            "in .tsv, without slashes, @ and control bytes",
                            index + 1, SUBMISSION_FILE_NAME_BYTES_MAX);
        return;
    }
    for (size_t i = 0; i < index; i++)
        if (str_eq_cstr(name, form->progress[i].name)) {
            (void)request_fault(request, "bad_file_name", field, "give each file a name of its own",
                                err, "progress files %zu and %zu are both called %.*s", i + 1,
                                index + 1, (int)str_utf8_cut(name, 100), name.data);
            return;
        }
}

static enum status check_sizes(const struct submission_form *form, struct error *err)
{
    size_t bytes = 0;

    if (form->entry.len > ENTRY_FILE_BYTES_MAX)
        return too_large(err, "entry", "a file", ENTRY_FILE_BYTES_MAX);
    for (size_t i = 0; i < form->progress_count; i++) {
        if (form->progress[i].bytes.len > ENTRY_FILE_BYTES_MAX)
            return too_large(err, "progress", "a file", ENTRY_FILE_BYTES_MAX);
        bytes += form->progress[i].bytes.len;
    }
    if (bytes > (size_t)ENTRY_PROGRESS_BYTES_MAX)
        return too_large(err, "progress", "all progress files together", ENTRY_PROGRESS_BYTES_MAX);
    return ST_OK;
}

static enum status too_large(struct error *err, const char *field, const char *what, int bytes)
{
    return error_set_code(err, ST_LIMIT, "file_too_large", field,
                          strcmp(field, "entry") == 0 ? "leave out of misc what can be linked"
                                                      : "one line for each evaluation is enough",
                          "%s may have %d bytes at most", what, bytes);
}
