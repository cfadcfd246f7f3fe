/* server/page/board_page.c: /tasks/{task}. */
#include "server/page/board_page.h"

#include <inttypes.h>
#include <math.h>

#include "common/clock.h"
#include "server/page/analysis_page.h"
#include "server/page/format.h"
#include "server/page/measure_view.h"
#include "server/page/page_query.h"
#include "server/page/records_view.h"
#include "server/page/render.h"
#include "server/rank/filter.h"

#define ADDRESS_BYTES_MAX 4096

enum { MISSING_SHOWN_MAX = 100 }; /* of those not ranked: the JSON has them all */

/* One row on its way to the page: where it stands on the board, and its key in the wanted order. */
struct sort_row {
    const struct board_item *item;
    size_t index; /* on the board: keeps equal keys in the board's order */
    bool missing; /* last in both directions */
    bool by_text;
    const char *text;
    double number;
    int sign;
};

static const struct {
    const char *name;
    bool descends_first; /* the first click shows the largest */
} sorts[SORT_COUNT] = {
    [SORT_PLACE] = {"place", false},
    [SORT_MODEL] = {"model", false},
    [SORT_AUTHOR] = {"author", false},
    [SORT_HARDWARE] = {"hardware", false},
    [SORT_FRAMEWORK] = {"framework", false},
    [SORT_VALUE] = {"value", false},
    [SORT_COST] = {"cost", false},
    [SORT_ENERGY] = {"energy", false},
    [SORT_EPOCH] = {"epoch", false},
    [SORT_ACCURACY] = {"accuracy", true},
    [SORT_TIER] = {"tier", true},
    [SORT_DATE] = {"date", true},
};

static const struct {
    enum board_by by;
    const char *label, *words;
} boards[] = {
    {BOARD_TIME, "Time", "by time to accuracy"},
    {BOARD_COST, "Cost", "by cost of the training"},
    {BOARD_ENERGY, "Energy", "by energy of the training"},
    {BOARD_LATENCY, "Latency", "by latency"},
    {BOARD_INFERENCE_COST, "Cost", "by cost of an item"},
};

static size_t pick_rows(const struct board *board, const struct board_query *query,
                        struct sort_row *rows);
static void fill_heads(struct arena *arena, const struct task *task,
                       const struct board_query *query, struct board_view *view);
static void fill_rows(struct arena *arena, const struct board *board,
                      const struct board_query *query, const struct sort_row *rows, size_t count,
                      struct board_view *view);
static void fill_missing(struct arena *arena, const struct board *board,
                         const struct board_query *query, struct board_view *view);
static void fill_filter(struct arena *arena, const struct task *task,
                        const struct board_query *query, struct board_view *view);
static void fill_links(struct arena *arena, const struct task *task,
                       const struct board_query *query, struct board_view *view);
static void fill_pages(struct arena *arena, const struct task *task,
                       const struct board_query *query, size_t page_count, size_t current,
                       struct board_view *view);

enum status board_query_read(struct query *query, const struct task *task, struct board_query *out,
                             struct error *err)
{
    static const char *const directions[] = {"asc", "desc"};
    const char *names[SORT_COUNT];
    size_t sort = SORT_PLACE, direction = 0, tier = BOARD_TIER_COUNT, best = BOARD_BEST_ENTRY;
    struct str by;

    for (size_t i = 0; i < SORT_COUNT; i++)
        names[i] = sorts[i].name;
    *out = (struct board_query){.by = task->phase == TASK_TRAIN ? BOARD_TIME : BOARD_LATENCY};
    if (query_read_text(query, "by", &by) && by.len > 0 &&
        (!board_by_parse(by, &out->by) || !board_by_fits(out->by, task)))
        (void)query_fault(query, "by", NULL, err, "%s has no board by '%.*s'", task->title,
                          (int)str_utf8_cut(by, 64), by.data);
    page_query_choice(query, "sort", names, SORT_COUNT, &sort, err);
    page_query_choice(query, "dir", directions, ARRAY_LEN(directions), &direction, err);
    page_query_choice(query, "tier", board_tier_words, BOARD_TIER_COUNT, &tier, err);
    page_query_date(query, "from", &out->from, &out->has_from, &out->from_days, err);
    page_query_date(query, "to", &out->to, &out->has_to, &out->to_days, err);
    page_query_date(query, "as_of", &out->as_of, &out->has_as_of, &out->as_of_days, err);
    page_query_choice(query, "best", board_best_words, BOARD_BEST_COUNT, &best, err);
    out->best_author = best == BOARD_BEST_AUTHOR;
    page_query_number(query, "devices", FILTER_DEVICES_MAX, &out->devices, err);
    (void)query_read_text(query, "cloud", &out->cloud);
    out->cloud = str_trim(out->cloud);
    page_query_number(query, "page", BOARD_ENTRIES_MAX, &out->page, err);
    page_query_number(query, "hl", INT64_MAX, &out->highlight, err);
    out->sort = (enum board_sort)sort;
    out->descending = direction == 1;
    if (tier < BOARD_TIER_COUNT)
        out->tier = str_from_cstr(board_tier_words[tier]);
    (void)query_read_text(query, "hardware", &out->hardware);
    (void)query_read_text(query, "framework", &out->framework);
    out->hardware = str_trim(out->hardware);
    out->framework = str_trim(out->framework);
    if (out->has_from && out->has_to)
        query_check_period(query, out->from_days, out->to_days, err);
    return err->status;
}

/* ---- addresses ---- */

static void add_parameter(struct buf *out, const char *name, struct str value)
{
    if (value.len == 0)
        return;
    buf_append_char(out, memchr(out->data, '?', out->len) == NULL ? '?' : '&');
    buf_append_cstr(out, name);
    buf_append_char(out, '=');
    render_append_url(out, value);
}

static void add_filter(struct buf *out, const struct board_query *query)
{
    char devices[24];

    (void)snprintf(devices, sizeof devices, "%" PRId64, query->devices);
    add_parameter(out, "tier", query->tier);
    add_parameter(out, "hardware", query->hardware);
    add_parameter(out, "framework", query->framework);
    add_parameter(out, "devices", query->devices > 0 ? str_from_cstr(devices) : STR(""));
    add_parameter(out, "cloud", query->cloud);
    add_parameter(out, "from", query->from);
    add_parameter(out, "to", query->to);
    add_parameter(out, "as_of", query->as_of);
    add_parameter(out, "best", query->best_author ? STR("author") : STR(""));
}

static struct str keep(struct arena *arena, struct buf *address)
{
    const char *copy = address->failed ? NULL : arena_copy(arena, buf_str(address));

    buf_fini(address);
    return str_from_cstr(copy);
}

struct str board_query_address(struct arena *arena, const struct task *task,
                               const struct board_query *query)
{
    struct buf out;

    buf_init(&out, ADDRESS_BYTES_MAX);
    buf_append_cstr(&out, "/tasks/");
    render_append_url(&out, str_from_cstr(task->id));
    if (query->by != (task->phase == TASK_TRAIN ? BOARD_TIME : BOARD_LATENCY))
        add_parameter(&out, "by", str_from_cstr(board_by_name(query->by)));
    add_filter(&out, query);
    if (query->sort != SORT_PLACE || query->descending) {
        add_parameter(&out, "sort", str_from_cstr(sorts[query->sort].name));
        add_parameter(&out, "dir", query->descending ? STR("desc") : STR("asc"));
    }
    if (query->page > 1)
        add_parameter(&out, "page", format_text(arena, "%" PRId64, query->page));
    if (query->highlight > 0)
        add_parameter(&out, "hl", format_text(arena, "%" PRId64, query->highlight));
    return keep(arena, &out);
}

/* The same rows in the API. */
static struct str api_address(struct arena *arena, const struct task *task,
                              const struct board_query *query, bool csv)
{
    struct buf out;

    buf_init(&out, ADDRESS_BYTES_MAX);
    buf_append_cstr(&out, "/v1/leaderboards/");
    render_append_url(&out, str_from_cstr(task->id));
    add_parameter(&out, "by", str_from_cstr(board_by_name(query->by)));
    add_filter(&out, query);
    add_parameter(&out, "limit", STR("1000"));
    if (csv)
        add_parameter(&out, "format", STR("csv"));
    return keep(arena, &out);
}

static bool is_filtered(const struct board_query *query)
{
    return query->tier.len > 0 || query->hardware.len > 0 || query->framework.len > 0 ||
           query->from.len > 0 || query->to.len > 0 || query->as_of.len > 0 ||
           query->cloud.len > 0 || query->devices > 0 || query->best_author;
}

/* ---- the page ---- */

static const char *board_words(enum board_by by)
{
    size_t i = 0;

    while (boards[i].by != by)
        i++;
    return boards[i].words;
}

/* Why the table has no row. */
static struct str empty_note(const struct board *board, const struct board_query *query)
{
    if (board->item_count > 0)
        return STR("No ranked entry passes this filter.");
    if (board->by == BOARD_ENERGY)
        return STR("No entry gives its energy: that takes a run on a device with an energy "
                   "counter, which an agent has read.");
    return is_filtered(query) ? STR("No entry was ranked here then.")
                              : STR("No entry is ranked here yet.");
}

static struct str summary(struct arena *arena, const struct board *board,
                          const struct board_query *query, size_t shown)
{
    const struct str all = format_counted(arena, (int64_t)board->item_count, "entry", "entries");
    int64_t value;
    struct str best;

    if (board->item_count == 0)
        return board->not_ranked_count > 0 ? STR("No entry is ranked.") : STR("No entry yet.");
    if (is_filtered(query))
        return format_text(arena, "%zu of %.*s, with their places on the whole board.", shown,
                           STR_ARG(all));
    if (!board_value(board->items[0].row, board->by, &value))
        return all;
    best = measure_shown(arena, board->by, value);
    return format_text(arena, "%.*s. The best: %.*s.", STR_ARG(all), STR_ARG(best));
}

void page_render_board(struct buf *out, const struct page_frame *frame,
                       const struct board_page *data)
{
    const struct board *board = data->board;
    const struct board_query *query = data->query;
    struct arena *arena = frame->arena;
    const struct task *task = board->task;
    struct sort_row *rows = ARENA_NEW_ARRAY(arena, board->item_count, struct sort_row);
    const size_t picked = rows == NULL ? 0 : pick_rows(board, query, rows);
    const size_t page_count = picked == 0 ? 1 : (picked + BOARD_PAGE_ROWS - 1) / BOARD_PAGE_ROWS;
    size_t page = query->page == 0 ? 1 : (size_t)query->page, first;
    struct page_title title = {.section = SECTION_TASKS, .script = "board.js"};
    struct board_view view = {
        .task = str_from_cstr(task->id),
        .by = str_from_cstr(board_by_name(query->by)),
        .heading = str_from_cstr(task->title),
        .goal = format_goal(arena, task),
        .description = layout_text(task->description),
        .clock_rule = layout_text(task->clock_rule),
        .has_epochs = task->phase == TASK_TRAIN,
        .by_energy = query->by == BOARD_ENERGY,
        .how_href = str_from_cstr(measure_how(query->by)),
        .empty_note = empty_note(board, query),
        .json_href = api_address(arena, task, query, false),
        .csv_href = api_address(arena, task, query, true),
        .feed_href = format_text(arena, "/tasks/%s/feed.atom", task->id),
        .permalink = board_query_address(arena, task, query),
    };

    for (size_t i = 0; query->page == 0 && i < picked; i++)
        if (rows[i].item->row->entry == query->highlight)
            page = i / BOARD_PAGE_ROWS + 1;
    if (page > page_count)
        page = page_count;
    first = (page - 1) * BOARD_PAGE_ROWS;
    title.title = format_text(arena, "%s %s", task->title, board_words(query->by));
    title.description = format_text(
        arena, "Who reaches %.*s %s: the ranked entries of %s.", STR_ARG(view.goal),
        task->phase == TASK_TRAIN ? "first and cheapest" : "with the least delay", task->title);
    view.page = layout_make(frame, &title);
    view.summary = summary(arena, board, query, picked);
    fill_links(arena, task, query, &view);
    fill_filter(arena, task, query, &view);
    fill_heads(arena, task, query, &view);
    fill_rows(arena, board, query, rows == NULL ? NULL : rows + first,
              picked - first < BOARD_PAGE_ROWS ? picked - first : BOARD_PAGE_ROWS, &view);
    fill_pages(arena, task, query, page_count, page, &view);
    fill_missing(arena, board, query, &view);
    view.records = records_make(arena, task, query->by, data->records, data->record_count);
    template_board(out, &view);
}

/* ---- rows: filter and order ---- */

static struct board_filter filter_of(const struct board_query *query)
{
    return (struct board_filter){
        .tier = query->tier,
        .hardware = query->hardware,
        .framework = query->framework,
        .cloud = query->cloud,
        .has_devices = query->devices > 0,
        .devices = query->devices,
        .has_from = query->has_from,
        .from_days = query->from_days,
        .has_to = query->has_to,
        .to_days = query->to_days,
    };
}

static double tier_rank(const char *tier)
{
    for (size_t i = 0; i < BOARD_TIER_COUNT; i++)
        if (tier != NULL && strcmp(tier, board_tier_words[i]) == 0)
            return (double)i;
    return -1.0;
}

static void set_text_key(struct sort_row *row, const char *text)
{
    row->by_text = true;
    row->text = text;
    row->missing = text == NULL || text[0] == '\0';
}

static void set_number_key(struct sort_row *row, bool has, double number)
{
    row->missing = !has;
    row->number = number;
}

static void set_decimal_key(struct sort_row *row, const char *text)
{
    row->missing = !str_parse_double(str_from_cstr(text), &row->number);
}

static void set_key(struct sort_row *row, const struct board_query *query)
{
    const struct board_entry *entry = row->item->row;

    switch (query->sort) {
    case SORT_MODEL: set_text_key(row, entry->model); break;
    case SORT_AUTHOR: set_text_key(row, entry->author); break;
    case SORT_HARDWARE: set_text_key(row, entry->hardware); break;
    case SORT_FRAMEWORK: set_text_key(row, entry->framework); break;
    case SORT_VALUE:
        set_number_key(row, entry->has_tta || entry->has_latency,
                       (double)(entry->has_tta ? entry->tta_ns : entry->latency_ns));
        break;
    case SORT_COST: set_number_key(row, entry->has_cost, (double)entry->cost_pico); break;
    case SORT_ENERGY: set_number_key(row, entry->has_energy, (double)entry->energy_uj); break;
    case SORT_EPOCH: set_decimal_key(row, entry->epoch_text); break;
    case SORT_ACCURACY: set_decimal_key(row, entry->accuracy_text); break;
    case SORT_TIER: set_number_key(row, entry->tier != NULL, tier_rank(entry->tier)); break;
    case SORT_DATE: set_number_key(row, true, (double)entry->date_days); break;
    case SORT_PLACE:
    case SORT_COUNT: set_number_key(row, true, (double)row->index); break;
    }
    row->sign = query->descending ? -1 : 1;
}

static int compare_rows(const void *a, const void *b)
{
    const struct sort_row *left = a, *right = b;
    int order;

    if (left->missing != right->missing)
        return left->missing ? 1 : -1;
    if (left->missing)
        order = 0;
    else if (left->by_text)
        order = strcasecmp(left->text, right->text);
    else
        order = (left->number > right->number) - (left->number < right->number);
    if (order != 0)
        return order * left->sign;
    return left->index < right->index ? -1 : left->index > right->index;
}

static size_t pick_rows(const struct board *board, const struct board_query *query,
                        struct sort_row *rows)
{
    const struct board_filter filter = filter_of(query);
    size_t count = 0;

    for (size_t i = 0; i < board->item_count; i++) {
        if (!board_filter_passes(&filter, board->items[i].row))
            continue;
        rows[count] = (struct sort_row){.item = &board->items[i], .index = i};
        set_key(&rows[count], query);
        count++;
    }
    qsort(rows, count, sizeof *rows, compare_rows);
    return count;
}

/* ---- heads ---- */

static struct sort_link_view sort_link(struct arena *arena, const struct task *task,
                                       const struct board_query *query, enum board_sort sort,
                                       const char *label)
{
    const bool current = query->sort == sort;
    struct board_query next = *query;

    next.sort = sort;
    next.page = 0;
    next.descending = current ? !query->descending : sorts[sort].descends_first;
    return (struct sort_link_view){
        .label = str_from_cstr(label),
        .href = board_query_address(arena, task, &next),
        .state = !current            ? STR("")
                 : query->descending ? STR("down")
                                     : STR("up"),
        .hint = format_text(arena, "Sort by %s, %s", sorts[sort].name,
                            next.descending ? "descending" : "ascending"),
    };
}

struct head_plan {
    const char *css;
    enum board_sort sort[2];
    const char *label[2]; /* the second may be NULL */
    bool train_only, energy_only;
};

/* The values that every board of the task shows. */
static enum board_by main_of(const struct task *task)
{
    return task->phase == TASK_TRAIN ? BOARD_TIME : BOARD_LATENCY;
}

static enum board_by cost_of(const struct task *task)
{
    return task->phase == TASK_TRAIN ? BOARD_COST : BOARD_INFERENCE_COST;
}

static const char *number_css(bool ranks)
{
    return ranks ? "num ranks" : "num mid";
}

static void fill_heads(struct arena *arena, const struct task *task,
                       const struct board_query *query, struct board_view *view)
{
    const bool train = task->phase == TASK_TRAIN;
    const enum board_by main_by = main_of(task), cost_by = cost_of(task);
    const struct head_plan plans[] = {
        {.css = "place", {SORT_PLACE}, {"#"}},
        {.css = "who", {SORT_MODEL, SORT_AUTHOR}, {"Model", "author"}},
        {.css = "wide", {SORT_HARDWARE, SORT_FRAMEWORK}, {"Hardware", "framework"}},
        {.css = "num ranks", {SORT_ENERGY}, {measure_title(BOARD_ENERGY)}, .energy_only = true},
        {.css = number_css(query->by == main_by), {SORT_VALUE}, {measure_title(main_by)}},
        {.css = number_css(query->by == cost_by), {SORT_COST}, {measure_title(cost_by)}},
        {.css = "num mid", {SORT_EPOCH}, {"Epoch"}, .train_only = true},
        {.css = "num mid",
         {SORT_ACCURACY},
         {strcmp(task->unit, "percent") == 0 ? "Accuracy"
          : task->mlperf_round == NULL       ? "F1"
                                             : "Metric"}},
        {.css = "mid", {SORT_TIER}, {"Tier"}},
        {.css = "date wide", {SORT_DATE}, {"Date"}},
    };
    struct board_head_view *heads =
        ARENA_NEW_ARRAY(arena, ARRAY_LEN(plans), struct board_head_view);
    size_t count = 0;

    for (size_t i = 0; heads != NULL && i < ARRAY_LEN(plans); i++) {
        struct sort_link_view *links = ARENA_NEW_ARRAY(arena, 2, struct sort_link_view);
        size_t link_count = 0;

        if (links == NULL || (plans[i].train_only && !train) ||
            (plans[i].energy_only && query->by != BOARD_ENERGY))
            continue;
        heads[count] = (struct board_head_view){
            .css = str_from_cstr(plans[i].css), .aria = STR("none"), .links = links};
        for (; link_count < 2 && plans[i].label[link_count] != NULL; link_count++) {
            const enum board_sort sort = plans[i].sort[link_count];

            links[link_count] = sort_link(arena, task, query, sort, plans[i].label[link_count]);
            if (query->sort == sort)
                heads[count].aria = query->descending ? STR("descending") : STR("ascending");
        }
        heads[count++].links_count = link_count;
    }
    view->heads = heads;
    view->heads_count = count;
}

/* ---- cells ---- */

static struct board_row_view make_row(struct arena *arena, const struct board *board,
                                      const struct measure_range *range,
                                      const struct sort_row *from, const struct board_query *query)
{
    const struct board_entry *entry = from->item->row;
    char date[CLOCK_TEXT_BYTES];
    struct board_row_view row = {
        .entry = format_text(arena, "%" PRId64, entry->entry),
        .name = layout_text(entry->name),
        .place = format_text(arena, "%zu", from->item->place),
        .label = format_text(arena, "%zu%s", from->item->place, from->item->tied ? "=" : ""),
        .value = measure_exact(arena, board->by, entry),
        .marked = entry->entry == query->highlight,
        .href = format_text(arena, "/entries/%" PRId64, entry->entry),
        .model = layout_either(entry->model, entry->name),
        .author = layout_text(entry->author),
        .hardware = layout_text(entry->hardware),
        .framework = layout_text(entry->framework),
        .energy = measure_make(arena, BOARD_ENERGY, entry, range),
        .main = measure_make(arena, main_of(board->task), entry, range),
        .cost = measure_make(arena, cost_of(board->task), entry, range),
        .tier = layout_tier(arena, entry->tier, entry->has_n, entry->n, from->item->has_cv,
                            from->item->cv),
    };

    if (entry->has_run)
        row.box = format_text(arena, "run-%" PRId64, entry->run);
    row.epoch = layout_text(entry->epoch_text);
    row.epochs = format_label(arena, entry->epoch_text);
    row.accuracy = format_metric_text(arena, board->task, entry->accuracy_text);
    if (from->item->has_separable && !from->item->separable_from_next)
        row.overlap = STR("not separable from the next");
    clock_format_days(entry->date_days, date);
    row.date = format_text(arena, "%s", date);
    return row;
}

static void fill_rows(struct arena *arena, const struct board *board,
                      const struct board_query *query, const struct sort_row *rows, size_t count,
                      struct board_view *view)
{
    struct board_row_view *views = ARENA_NEW_ARRAY(arena, count, struct board_row_view);
    const struct measure_range range = measure_range_of(board);

    for (size_t i = 0; views != NULL && rows != NULL && i < count; i++)
        views[i] = make_row(arena, board, &range, &rows[i], query);
    view->rows = views;
    view->rows_count = views == NULL || rows == NULL ? 0 : count;
    view->scale = range.logarithmic
                      ? STR("Bars grow with the logarithm of the value, from the best to the last. "
                            "×: ratio to the best.")
                      : STR("Bars grow with the value, from zero. ×: ratio to the best.");
}

static void fill_missing(struct arena *arena, const struct board *board,
                         const struct board_query *query, struct board_view *view)
{
    struct board_missing_view *missing =
        ARENA_NEW_ARRAY(arena, MISSING_SHOWN_MAX, struct board_missing_view);
    const struct board_filter filter = filter_of(query);
    size_t count = 0;

    for (size_t i = 0; missing != NULL && i < board->not_ranked_count; i++) {
        const struct board_entry *entry = board->not_ranked[i].row;

        if (!board_filter_passes(&filter, entry) || count++ >= MISSING_SHOWN_MAX)
            continue;
        missing[count - 1] = (struct board_missing_view){
            .href = format_text(arena, "/entries/%" PRId64, entry->entry),
            .model = layout_either(entry->model, entry->name),
            .name = layout_text(entry->name),
            .reason = layout_text(board->not_ranked[i].reason),
        };
    }
    view->missing = missing;
    view->missing_count = count < MISSING_SHOWN_MAX ? count : MISSING_SHOWN_MAX;
    view->missing_heading = format_text(arena, "Not ranked (%zu)", count);
    if (count > MISSING_SHOWN_MAX)
        view->missing_more =
            format_text(arena, "These are the first %d by name.", MISSING_SHOWN_MAX);
}

/* ---- what stands around the table ---- */

static void fill_links(struct arena *arena, const struct task *task,
                       const struct board_query *query, struct board_view *view)
{
    struct link_view *tabs = ARENA_NEW_ARRAY(arena, ARRAY_LEN(boards), struct link_view);

    view->analyses = analysis_tabs(arena, task, NULL);
    view->tabs = (struct tabs_view){.label = STR("Boards"), .links = tabs};
    for (size_t i = 0; tabs != NULL && i < ARRAY_LEN(boards); i++) {
        struct board_query other = *query;

        if (!board_by_fits(boards[i].by, task))
            continue;
        other.by = boards[i].by;
        other.page = 0;
        tabs[view->tabs.links_count++] =
            (struct link_view){.label = str_from_cstr(boards[i].label),
                               .href = board_query_address(arena, task, &other),
                               .current = boards[i].by == query->by};
    }
}

static void keep_field(struct hidden_field_view *fields, size_t *count, const char *name,
                       struct str value)
{
    fields[(*count)++] = (struct hidden_field_view){.name = str_from_cstr(name), .value = value};
}

/* "tier witnessed, from 2018-01-01". */
static struct str filter_words(struct arena *arena, const struct board_query *query)
{
    struct buf words;

    buf_init(&words, ADDRESS_BYTES_MAX);
    buf_append(&words, query->tier);
    if (query->hardware.len > 0)
        buf_appendf(&words, "%shardware with “%.*s”", words.len > 0 ? ", " : "",
                    STR_ARG(query->hardware));
    if (query->framework.len > 0)
        buf_appendf(&words, "%sframework with “%.*s”", words.len > 0 ? ", " : "",
                    STR_ARG(query->framework));
    if (query->from.len > 0)
        buf_appendf(&words, "%sfrom %.*s", words.len > 0 ? ", " : "", STR_ARG(query->from));
    if (query->to.len > 0)
        buf_appendf(&words, "%sto %.*s", words.len > 0 ? ", " : "", STR_ARG(query->to));
    if (query->devices > 0)
        buf_appendf(&words, "%s%" PRId64 " devices", words.len > 0 ? ", " : "", query->devices);
    if (query->cloud.len > 0)
        buf_appendf(&words, "%scloud %.*s", words.len > 0 ? ", " : "", STR_ARG(query->cloud));
    if (query->as_of.len > 0)
        buf_appendf(&words, "%sas of %.*s", words.len > 0 ? ", " : "", STR_ARG(query->as_of));
    if (query->best_author)
        buf_appendf(&words, "%sbest of each author", words.len > 0 ? ", " : "");
    return keep(arena, &words);
}

static void fill_filter(struct arena *arena, const struct task *task,
                        const struct board_query *query, struct board_view *view)
{
    struct option_view *options = ARENA_NEW_ARRAY(arena, BOARD_TIER_COUNT + 1, struct option_view);
    struct hidden_field_view *kept = ARENA_NEW_ARRAY(arena, 3, struct hidden_field_view);
    struct board_query clear = {
        .by = query->by, .sort = query->sort, .descending = query->descending};

    view->filtered = is_filtered(query);
    view->hardware = query->hardware;
    view->framework = query->framework;
    view->from = query->from;
    view->to = query->to;
    view->as_of = query->as_of;
    view->best_author = query->best_author;
    view->cloud = query->cloud;
    if (query->devices > 0)
        view->devices = format_text(arena, "%" PRId64, query->devices);
    view->clear_href = board_query_address(arena, task, &clear);
    if (options != NULL) {
        options[0] = (struct option_view){.label = STR("any"), .current = query->tier.len == 0};
        for (size_t i = 0; i < BOARD_TIER_COUNT; i++)
            options[i + 1] =
                (struct option_view){.label = str_from_cstr(board_tier_words[i]),
                                     .value = str_from_cstr(board_tier_words[i]),
                                     .current = str_eq_cstr(query->tier, board_tier_words[i])};
        view->tiers = options;
        view->tiers_count = BOARD_TIER_COUNT + 1;
    }
    if (kept != NULL) {
        keep_field(kept, &view->kept_count, "by", str_from_cstr(board_by_name(query->by)));
        if (query->sort != SORT_PLACE || query->descending) {
            keep_field(kept, &view->kept_count, "sort", str_from_cstr(sorts[query->sort].name));
            keep_field(kept, &view->kept_count, "dir",
                       query->descending ? STR("desc") : STR("asc"));
        }
        view->kept = kept;
    }
    view->filter_summary = filter_words(arena, query);
}

static void fill_pages(struct arena *arena, const struct task *task,
                       const struct board_query *query, size_t page_count, size_t current,
                       struct board_view *view)
{
    struct link_view *pages =
        page_count > 1 ? ARENA_NEW_ARRAY(arena, page_count, struct link_view) : NULL;

    for (size_t i = 0; pages != NULL && i < page_count; i++) {
        struct board_query other = *query;

        other.page = (int64_t)i + 1;
        pages[i] = (struct link_view){.label = format_text(arena, "%zu", i + 1),
                                      .href = board_query_address(arena, task, &other),
                                      .current = i + 1 == current};
    }
    view->pages = pages;
    view->pages_count = pages == NULL ? 0 : page_count;
}
