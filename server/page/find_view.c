/* server/page/find_view.c: entries of all tasks by author, hardware or words. */
#include "server/page/find_view.h"

#include <inttypes.h>

#include "common/clock.h"
#include "server/page/format.h"
#include "server/page/measure_view.h"

#define FIRSTS_MAX 12 /* named on the page; the rest is counted */

static struct entry_list_view list_make(struct arena *arena, const char *label,
                                        const struct found_entry *rows, size_t count);
static void fill_lead(struct arena *arena, const struct named_page *data, struct named_view *view);
static void fill_data(struct arena *arena, const struct named_page *data, struct named_view *view);
static void fill_found(struct arena *arena, const struct search_page *data,
                       struct search_view *view);

static const struct {
    const char *kind, *folder, *unknown;
} kinds[] = {
    [NAMED_AUTHOR] = {"Author", "/authors/", "No entry is by an author of this name."},
    [NAMED_HARDWARE] = {"Hardware", "/hardware/", "No entry names this hardware."},
};

void page_render_named(struct buf *out, const struct page_frame *frame,
                       const struct named_page *data)
{
    struct arena *arena = frame->arena;
    const size_t page_count =
        data->row_count == 0 ? 1 : (data->row_count + FIND_PAGE_ROWS - 1) / FIND_PAGE_ROWS;
    const size_t page = data->page < 1                    ? 1
                        : (size_t)data->page > page_count ? page_count
                                                          : (size_t)data->page;
    const size_t first = (page - 1) * FIND_PAGE_ROWS;
    const size_t shown =
        data->row_count - first < FIND_PAGE_ROWS ? data->row_count - first : FIND_PAGE_ROWS;
    const struct str address = layout_address(arena, kinds[data->kind].folder, data->name);
    const struct page_title title = {
        .title = data->name,
        .description = format_text(arena, "All entries of one %s, with their places.",
                                   data->kind == NAMED_AUTHOR ? "author" : "kind of hardware"),
        .section = SECTION_TASKS,
    };
    struct named_view view = {
        .page = layout_make(frame, &title),
        .kind = str_from_cstr(kinds[data->kind].kind),
        .name = data->name,
        .known = data->known,
        .any = shown > 0,
        .search_href = layout_address(arena, "/search?q=", data->name),
        .entries = list_make(arena, "Entries, the newest first", data->rows + first, shown),
    };

    if (page_count > 1 && data->known) {
        view.page_of = format_text(arena, "Page %zu of %zu", page, page_count);
        if (page > 1)
            view.newer_href = format_text(arena, "%.*s?page=%zu", STR_ARG(address), page - 1);
        if (page < page_count)
            view.older_href = format_text(arena, "%.*s?page=%zu", STR_ARG(address), page + 1);
    }
    fill_lead(arena, data, &view);
    fill_data(arena, data, &view);
    template_named(out, &view);
}

/* Rows of one task stand together neither by date nor by place: each is asked whether it is the first of its task. */
static bool is_first_of_task(const struct found_entry *rows, size_t index)
{
    size_t before = 0;

    while (before < index && rows[before].task != rows[index].task)
        before++;
    return before == index;
}

static size_t count_tasks(const struct found_entry *rows, size_t count)
{
    size_t tasks = 0;

    for (size_t i = 0; i < count; i++)
        tasks += is_first_of_task(rows, i);
    return tasks;
}

static void add_first(struct arena *arena, const struct found_entry *row, enum board_by by,
                      struct named_view *view, struct link_view *firsts)
{
    if (view->firsts_count == FIRSTS_MAX)
        return;
    firsts[view->firsts_count++] = (struct link_view){
        .label = format_text(arena, "First by %s on %s.",
                             by == BOARD_LATENCY ? "latency"
                             : by == BOARD_TIME  ? "time"
                                                 : "cost",
                             row->task->title),
        .href = format_text(arena, "/tasks/%s?by=%s&hl=%" PRId64, row->task->id, board_by_name(by),
                            row->entry->entry),
    };
}

static void fill_lead(struct arena *arena, const struct named_page *data, struct named_view *view)
{
    struct link_view *firsts = ARENA_NEW_ARRAY(arena, FIRSTS_MAX, struct link_view);
    struct str entries, tasks;

    if (!data->known) {
        view->lead = str_from_cstr(kinds[data->kind].unknown);
        return;
    }
    entries = format_counted(arena, (int64_t)data->row_count, "entry", "entries");
    tasks =
        format_counted(arena, (int64_t)count_tasks(data->rows, data->row_count), "task", "tasks");
    view->lead = format_text(arena, "%.*s on %.*s.", STR_ARG(entries), STR_ARG(tasks));
    view->firsts = firsts;
    for (size_t i = 0; firsts != NULL && i < data->row_count; i++) {
        if (data->rows[i].has_place && data->rows[i].place.place == 1)
            add_first(arena, &data->rows[i], data->rows[i].by, view, firsts);
        if (data->rows[i].has_cost_place && data->rows[i].cost_place.place == 1)
            add_first(arena, &data->rows[i], data->rows[i].cost_by, view, firsts);
    }
}

/* The API lists submissions by author; hardware it knows on boards, as part of a text. */
static void fill_data(struct arena *arena, const struct named_page *data, struct named_view *view)
{
    struct link_view *links = ARENA_NEW_ARRAY(arena, FIRSTS_MAX, struct link_view);

    view->data = links;
    if (links == NULL || !data->known)
        return;
    if (data->kind == NAMED_AUTHOR) {
        const struct str json =
            layout_address(arena, "/v1/submissions?limit=1000&author=", data->name);

        links[view->data_count++] = (struct link_view){.label = STR("JSON"), .href = json};
        links[view->data_count++] = (struct link_view){
            .label = STR("CSV"), .href = format_text(arena, "%.*s&format=csv", STR_ARG(json))};
        return;
    }
    for (size_t i = 0; i < data->row_count && view->data_count < FIRSTS_MAX; i++) {
        const struct task *task = data->rows[i].task;
        const char *folder =
            arena_printf(arena, "/v1/leaderboards/%s?limit=1000&hardware=", task->id);

        if (!is_first_of_task(data->rows, i) || folder == NULL)
            continue;
        links[view->data_count++] =
            (struct link_view){.label = format_text(arena, "%s as JSON", task->title),
                               .href = layout_address(arena, folder, data->name)};
    }
}

/* ---- the table of both ---- */

static struct entry_item_view make_item(struct arena *arena, const struct found_entry *found)
{
    const struct board_entry *entry = found->entry;
    char date[CLOCK_TEXT_BYTES];
    int64_t value;
    struct entry_item_view item = {
        .entry = format_text(arena, "%" PRId64, entry->entry),
        .href = format_text(arena, "/entries/%" PRId64, entry->entry),
        .model = layout_either(entry->model, entry->name),
        .author = layout_text(entry->author),
        .hardware = layout_text(entry->hardware),
        .task = layout_text(found->task->title),
        .task_id = layout_text(found->task->id),
        .place_href = format_text(arena, "/tasks/%s?by=%s&hl=%" PRId64, found->task->id,
                                  board_by_name(found->by), entry->entry),
        .reason = layout_text(found->reason),
        .tier = layout_tier(arena, entry->tier, entry->has_n, entry->n, false, 0.0),
    };

    if (found->has_place) {
        item.place = format_text(arena, "%zu%s", found->place.place, found->place.tied ? "=" : "");
        item.of = format_text(arena, "of %zu", found->place.total);
    }
    if (board_value(entry, found->by, &value)) {
        item.value = measure_shown(arena, found->by, value);
        item.exact = measure_with_unit(arena, found->by, entry);
    }
    if (board_value(entry, found->cost_by, &value)) {
        item.cost = measure_shown(arena, found->cost_by, value);
        item.cost_exact = measure_with_unit(arena, found->cost_by, entry);
    }
    if (found->has_cost_place)
        item.cost_place = format_text(arena, "place %zu%s of %zu", found->cost_place.place,
                                      found->cost_place.tied ? "=" : "", found->cost_place.total);
    clock_format_days(entry->date_days, date);
    item.date = format_text(arena, "%s", date);
    return item;
}

static struct entry_list_view list_make(struct arena *arena, const char *label,
                                        const struct found_entry *rows, size_t count)
{
    struct entry_item_view *items = ARENA_NEW_ARRAY(arena, count, struct entry_item_view);

    for (size_t i = 0; items != NULL && i < count; i++)
        items[i] = make_item(arena, &rows[i]);
    return (struct entry_list_view){
        .label = str_from_cstr(label), .rows = items, .rows_count = items == NULL ? 0 : count};
}

/* ---- search ---- */

void page_render_search(struct buf *out, const struct page_frame *frame,
                        const struct search_page *data)
{
    struct arena *arena = frame->arena;
    const size_t shown = data->row_count < FIND_PAGE_ROWS ? data->row_count : FIND_PAGE_ROWS;
    const struct page_title title = {
        .title = data->text.len == 0 ? STR("Search")
                                     : format_text(arena, "%.*s, searched", STR_ARG(data->text)),
        .description = STR("Tasks, entries and agents by their words."),
    };
    struct search_view view = {
        .page = layout_make(frame, &title),
        .q = data->text,
        .any = shown > 0,
        .entries = list_make(arena, "Entries that were found, the newest first", data->rows, shown),
    };

    if (data->wish->word_count > 0)
        fill_found(arena, data, &view);
    view.searched =
        format_text(arena,
                    "Searched are the names of %zu tasks, the model, author, hardware, framework "
                    "and name of %.*s "
                    "entries, and the name and hardware of %zu agents; all words must be there, in "
                    "any order and case.",
                    data->tasks->count, STR_ARG(format_count(arena, (int64_t)data->entry_total)),
                    data->agent_count);
    template_search(out, &view);
}

static void fill_found(struct arena *arena, const struct search_page *data,
                       struct search_view *view)
{
    struct link_view *tasks = ARENA_NEW_ARRAY(arena, data->tasks->count, struct link_view);
    struct search_agent_view *agents =
        ARENA_NEW_ARRAY(arena, data->agent_count, struct search_agent_view);
    struct str words[3];

    for (size_t i = 0; tasks != NULL && i < data->tasks->count; i++) {
        const struct task *task = &data->tasks->tasks[i];
        const char *const texts[] = {task->title, task->id, task->dataset, task->metric_title};

        if (find_has_words(data->wish, texts, ARRAY_LEN(texts)))
            tasks[view->tasks_count++] =
                (struct link_view){.label = layout_text(task->title),
                                   .href = format_text(arena, "/tasks/%s", task->id)};
    }
    for (size_t i = 0; agents != NULL && i < data->agent_count; i++) {
        const struct agent_record *agent = &data->agents[i];
        const char *const texts[] = {agent->name, agent->hardware, agent->device_model};

        if (find_has_words(data->wish, texts, ARRAY_LEN(texts)))
            agents[view->agents_count++] = (struct search_agent_view){
                .href = format_text(arena, "/agents#agent-%" PRId64, agent->id),
                .name = layout_text(agent->name),
                .state = layout_text(agent->state),
                .hardware = layout_text(agent->hardware),
            };
    }
    view->tasks = tasks;
    view->agents = agents;
    words[0] = format_counted(arena, (int64_t)view->tasks_count, "task", "tasks");
    words[1] = format_counted(arena, (int64_t)data->row_count, "entry", "entries");
    words[2] = format_counted(arena, (int64_t)view->agents_count, "agent", "agents");
    view->summary = format_text(arena, "Found: %.*s, %.*s and %.*s.", STR_ARG(words[0]),
                                STR_ARG(words[1]), STR_ARG(words[2]));
    if (data->row_count > FIND_PAGE_ROWS)
        view->summary =
            format_text(arena, "%.*s The newest %d entries are shown: a further word narrows them.",
                        STR_ARG(view->summary), FIND_PAGE_ROWS);
}
