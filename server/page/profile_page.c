/* server/page/profile_page.c: see profile_page.h. A link adds or takes away one task: no form is needed, and every choice
 * has an address of its own. */
#include "server/page/profile_page.h"

#include <inttypes.h>

#include "server/page/format.h"
#include "server/page/render.h"

static void fill_choices(struct arena *arena, const struct profile_page *data,
                         struct profile_view *view);
static struct str toggled(struct arena *arena, const struct profile_form *form,
                          const struct task *task);
static void fill_rows(struct arena *arena, const struct profile_page *data,
                      struct profile_view *view);
static struct str list_tasks(struct arena *arena, const struct profile_form *form);
static const char *group_name(enum profile_group group);

void page_render_profile(struct buf *out, const struct page_frame *frame,
                         const struct profile_page *data)
{
    const struct page_title title = {
        .title = STR("Across several tasks"),
        .description = STR("Submitters scored across several tasks by how near they come to the "
                           "best time of each."),
        .section = SECTION_TASKS,
    };
    struct profile_view view = {.page = layout_make(frame, &title)};

    fill_choices(frame->arena, data, &view);
    if (data->form->count > 0) {
        const struct str tasks = list_tasks(frame->arena, data->form);
        const enum profile_group group = data->form->group;
        const enum profile_group other =
            group == PROFILE_AUTHOR ? PROFILE_AUTHOR_HARDWARE : PROFILE_AUTHOR;

        view.chosen = true;
        view.by_hardware = group == PROFILE_AUTHOR_HARDWARE;
        view.json_href = format_text(frame->arena, "/v1/analysis/profile?tasks=%.*s&group=%s",
                                     STR_ARG(tasks), group_name(group));
        view.csv_href = format_text(frame->arena, "%.*s&format=csv", STR_ARG(view.json_href));
        view.group_href = format_text(frame->arena, "/profile?tasks=%.*s&group=%s", STR_ARG(tasks),
                                      group_name(other));
        if (data->profile->row_count < data->profile->total)
            view.left_out = format_text(frame->arena, "The best %zu of %zu.",
                                        data->profile->row_count, data->profile->total);
        fill_rows(frame->arena, data, &view);
    }
    template_profile(out, &view);
}

static void fill_choices(struct arena *arena, const struct profile_page *data,
                         struct profile_view *view)
{
    struct profile_choice_view *rows =
        ARENA_NEW_ARRAY(arena, data->tasks->count, struct profile_choice_view);

    for (size_t i = 0; rows != NULL && i < data->tasks->count; i++) {
        const struct task *task = &data->tasks->tasks[i];
        struct profile_choice_view *row = &rows[view->choices_count];

        if (task->phase != TASK_TRAIN)
            continue;
        row->title = str_from_cstr(task->title);
        row->href = toggled(arena, data->form, task);
        for (size_t k = 0; k < data->form->count; k++)
            row->chosen = row->chosen || data->form->tasks[k] == task;
        view->choices_count++;
    }
    view->choices = rows;
}

/* The page with this task taken away, or added. */
static struct str toggled(struct arena *arena, const struct profile_form *form,
                          const struct task *task)
{
    struct profile_form other = {.group = form->group};
    bool there = false;
    struct str tasks;

    for (size_t i = 0; i < form->count; i++) {
        there = there || form->tasks[i] == task;
        if (form->tasks[i] != task)
            other.tasks[other.count++] = form->tasks[i];
    }
    if (!there && other.count < PROFILE_TASKS_MAX)
        other.tasks[other.count++] = task;
    if (other.count == 0)
        return STR("/profile");
    tasks = list_tasks(arena, &other);
    return format_text(arena, "/profile?tasks=%.*s&group=%s", STR_ARG(tasks),
                       group_name(form->group));
}

static void fill_rows(struct arena *arena, const struct profile_page *data,
                      struct profile_view *view)
{
    const struct profile *profile = data->profile;
    struct profile_line_view *rows =
        ARENA_NEW_ARRAY(arena, profile->row_count, struct profile_line_view);
    struct profile_task_view *tasks =
        ARENA_NEW_ARRAY(arena, data->form->count, struct profile_task_view);

    for (size_t i = 0; tasks != NULL && i < data->form->count; i++) {
        tasks[i].title = str_from_cstr(data->form->tasks[i]->title);
        tasks[i].href = format_text(arena, "/tasks/%s", data->form->tasks[i]->id);
    }
    view->tasks = tasks;
    view->tasks_count = tasks == NULL ? 0 : data->form->count;
    for (size_t r = 0; rows != NULL && r < profile->row_count; r++) {
        const struct profile_row *row = &profile->rows[r];
        struct profile_time_view *times =
            ARENA_NEW_ARRAY(arena, data->form->count, struct profile_time_view);

        rows[r] = (struct profile_line_view){
            .place = format_text(arena, "%zu%s", row->place, row->tied ? "=" : ""),
            .author = layout_text(row->author),
            .hardware = layout_text(row->hardware),
            .score = format_text(arena, "%.4f", row->score),
            .times = times,
            .times_count = times == NULL ? 0 : data->form->count,
        };
        for (size_t i = 0; times != NULL && i < data->form->count; i++)
            if (row->cells[i].entry != NULL)
                times[i] = (struct profile_time_view){
                    .value = format_duration(arena, row->cells[i].entry->tta_ns),
                    .ratio = format_text(arena, "%.2f\u00D7", row->cells[i].ratio),
                    .href = format_text(arena, "/entries/%" PRId64, row->cells[i].entry->entry)};
    }
    view->lines = rows;
    view->lines_count = rows == NULL ? 0 : profile->row_count;
}

static struct str list_tasks(struct arena *arena, const struct profile_form *form)
{
    struct str list = {0};

    for (size_t i = 0; i < form->count; i++)
        list = i == 0 ? str_from_cstr(form->tasks[i]->id)
                      : format_text(arena, "%.*s,%s", STR_ARG(list), form->tasks[i]->id);
    return list;
}

static const char *group_name(enum profile_group group)
{
    return group == PROFILE_AUTHOR ? "author" : "author-hardware";
}
