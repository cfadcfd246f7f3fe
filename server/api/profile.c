/* server/api/profile.c: GET /v1/analysis/profile: who is fast across several tasks. */
#include "server/api/profile.h"

#include <stdio.h>
#include <string.h>

#include "common/decimal.h"
#include "server/api/api.h"
#include "server/api/boards.h"
#include "server/api/json_out.h"
#include "server/app.h"

static void write_json(struct response *response, const struct profile_form *form,
                       const struct profile *profile);
static void write_cells(struct json_out *out, const struct profile_form *form,
                        const struct profile_row *row);
static void write_csv(struct response *response, const struct profile_form *form,
                      const struct profile *profile);

void handle_get_profile(struct request *request, struct response *response)
{
    struct profile_form form = {0};
    struct profile profile = {0};
    struct error err = {0};
    struct arena arena;
    bool csv = false;

    profile_read_form(request, true, &form, &err);
    api_read_format(request, &csv, &err);
    if (query_finish(&request->query, &err) != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    arena_init(&arena, PROFILE_ARENA_BYTES);
    if (profile_load(request->app, &form, &arena, &profile, &err) != ST_OK) {
        response_send_error(response, &err);
    } else {
        response_add_header(response, "Vary", "Accept");
        if (csv)
            write_csv(response, &form, &profile);
        else
            write_json(response, &form, &profile);
        boards_end_all(request->app->boards);
    }
    arena_fini(&arena);
}

void profile_read_form(struct request *request, bool required, struct profile_form *form,
                       struct error *err)
{
    static const char *const groups[] = {"author", "author-hardware", NULL};
    const char *group = groups[0];
    struct str list = {0}, part;
    bool more = true;

    (void)query_read_word(&request->query, "group", groups, &group, err);
    form->group = group == groups[1] ? PROFILE_AUTHOR_HARDWARE : PROFILE_AUTHOR;
    if (!query_read_text(&request->query, "tasks", &list)) {
        if (required)
            (void)query_fault(&request->query, "tasks", "Name them: tasks=a,b,c.", err,
                              "tasks is missing");
        return;
    }
    while (str_split_next(&list, &more, ',', &part)) {
        const struct task *task = task_find(request->app->tasks, part);
        bool twice = false;

        for (size_t i = 0; i < form->count; i++)
            twice = twice || form->tasks[i] == task;
        if (task == NULL || !board_by_fits(BOARD_TIME, task))
            (void)query_fault(&request->query, "tasks", "GET /v1/tasks lists them.", err,
                              "there is no training task \"%.*s\"", (int)str_utf8_cut(part, 64),
                              part.data);
        else if (twice)
            (void)query_fault(&request->query, "tasks", NULL, err, "%s is there twice", task->id);
        else if (form->count == PROFILE_TASKS_MAX)
            (void)query_fault(&request->query, "tasks", NULL, err, "there are more than %d tasks",
                              PROFILE_TASKS_MAX);
        else
            form->tasks[form->count++] = task;
        if (err->status != ST_OK)
            return;
    }
}

enum status profile_load(struct app *app, const struct profile_form *form, struct arena *arena,
                         struct profile *profile, struct error *err)
{
    const struct kept **kept = ARENA_NEW_ARRAY(arena, app->tasks->count, const struct kept *);
    struct profile_board boards[PROFILE_TASKS_MAX];
    enum status status;

    if (kept == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for a profile");
    status = boards_begin_all(app->boards, kept, err);
    if (status != ST_OK)
        return status;
    for (size_t i = 0; i < form->count; i++)
        boards[i].entries =
            kept_ranked(kept[form->tasks[i] - app->tasks->tasks], BOARD_TIME, &boards[i].count);
    status = profile_build(boards, form->count, form->group, arena, profile, err);
    if (status != ST_OK)
        boards_end_all(app->boards);
    return status;
}

static void write_json(struct response *response, const struct profile_form *form,
                       const struct profile *profile)
{
    struct json_out out = {response_begin(response, 200, "application/json"), false};

    json_out_begin(&out, NULL, '{');
    json_out_begin(&out, "tasks", '[');
    for (size_t i = 0; i < form->count; i++)
        json_out_text(&out, NULL, form->tasks[i]->id);
    json_out_end(&out, ']');
    json_out_text(&out, "group", form->group == PROFILE_AUTHOR ? "author" : "author-hardware");
    json_out_double(&out, "r_max", PROFILE_R_MAX);
    json_out_i64(&out, "total", (int64_t)profile->total);
    json_out_begin(&out, "items", '[');
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *row = &profile->rows[i];

        json_out_begin(&out, NULL, '{');
        json_out_i64(&out, "place", (int64_t)row->place);
        json_out_bool(&out, "tied", row->tied);
        json_out_text(&out, "author", row->author);
        json_out_text(&out, "hardware", row->hardware);
        json_out_double(&out, "score", row->score);
        write_cells(&out, form, row);
        json_out_end(&out, '}');
    }
    json_out_end(&out, ']');
    json_out_end(&out, '}');
}

static void write_cells(struct json_out *out, const struct profile_form *form,
                        const struct profile_row *row)
{
    json_out_begin(out, "times", '[');
    for (size_t i = 0; i < form->count; i++) {
        const struct profile_cell *cell = &row->cells[i];

        if (cell->entry == NULL)
            continue;
        json_out_begin(out, NULL, '{');
        json_out_text(out, "task", form->tasks[i]->id);
        json_out_i64(out, "entry", cell->entry->entry);
        json_out_decimal(out, "tta_s", (struct opt_i64){true, cell->entry->tta_ns}, 9);
        json_out_double(out, "ratio", cell->ratio);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
}

/* A task's column is the time in seconds, empty where the row has none. */
static void write_csv(struct response *response, const struct profile_form *form,
                      const struct profile *profile)
{
    struct buf *out = response_begin(response, 200, "text/csv; charset=utf-8");

    buf_append_cstr(out, "place,tied,author,hardware,score");
    for (size_t i = 0; i < form->count; i++)
        buf_appendf(out, ",%s", form->tasks[i]->id);
    buf_append_cstr(out, "\r\n");
    for (size_t r = 0; r < profile->row_count; r++) {
        const struct profile_row *row = &profile->rows[r];

        buf_appendf(out, "%zu,%s,", row->place, row->tied ? "true" : "false");
        csv_append_cell(out, str_from_cstr(row->author));
        buf_append_char(out, ',');
        csv_append_cell(out, str_from_cstr(row->hardware));
        buf_appendf(out, ",%.9f", row->score);
        for (size_t i = 0; i < form->count; i++) {
            char text[32] = "";

            if (row->cells[i].entry != NULL)
                decimal_format_short(row->cells[i].entry->tta_ns, 9, text);
            buf_appendf(out, ",%s", text);
        }
        buf_append_cstr(out, "\r\n");
    }
}
