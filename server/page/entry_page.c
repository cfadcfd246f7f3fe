/* server/page/entry_page.c: one entry. */
#include "server/page/entry_page.h"

#include <inttypes.h>
#include <string.h>

#include "common/json.h"
#include "common/measure.h"
#include "server/page/analysis_page.h"
#include "server/page/cite.h"
#include "server/page/format.h"
#include "server/page/measure_view.h"
#include "server/page/render.h"

#define FACTS_MAX         24
#define MISC_MAX          64
#define ADDRESS_BYTES_MAX 2048
#define MISC_CUT_BYTES    400 /* shown of one value */

static void fill_places(struct arena *arena, const struct entry_page *data,
                        struct entry_view *view);
static void fill_runs(struct arena *arena, const struct entry_page *data, struct entry_view *view);
static void fill_trials(struct arena *arena, const struct entry_page *data,
                        struct entry_view *view);
static void fill_flags(struct arena *arena, const struct entry_page *data, struct entry_view *view);
static void fill_checks(struct arena *arena, const struct entry_page *data,
                        struct entry_view *view);
static void fill_facts(struct arena *arena, const struct entry_page *data, struct entry_view *view);
static void fill_misc(struct arena *arena, const struct entry_page *data, struct entry_view *view);
static void fill_files(struct arena *arena, const struct entry_page *data, struct entry_view *view);

void page_render_entry(struct buf *out, const struct page_frame *frame,
                       const struct entry_page *data)
{
    struct arena *arena = frame->arena;
    const struct entry_record *entry = data->entry;
    struct page_title title = {.section = SECTION_TASKS};
    struct entry_view view = {
        .heading = layout_either(entry->model, entry->name),
        .name = layout_text(entry->name),
        .task = layout_text(data->task->title),
        .task_href = format_text(arena, "/tasks/%s?hl=%" PRId64, data->task->id, entry->id),
        .analyses = analysis_tabs(arena, data->task, NULL),
        .reason = layout_text(entry->reason),
        .tier = layout_tier(arena, entry->tier, entry->run_count > 0, entry->run_count, false, 0.0),
        .json_href = format_text(arena, "/v1/entries/%" PRId64, entry->id),
        .bibtex = cite_bibtex(arena, data->task, entry, data->origin),
        .badge_href = format_text(arena, "/badge/%" PRId64 ".svg", entry->id),
        .badge_html = cite_badge_html(arena, entry->id, data->origin),
        .badge_markdown = cite_badge_markdown(arena, entry->id, data->origin),
    };

    title.title = format_text(arena, "%.*s on %s", STR_ARG(view.heading), data->task->title);
    title.description = format_text(arena, "The entry %s of %s.", entry->name, data->task->title);
    view.page = layout_make(frame, &title);
    fill_places(arena, data, &view);
    fill_runs(arena, data, &view);
    fill_trials(arena, data, &view);
    fill_flags(arena, data, &view);
    fill_checks(arena, data, &view);
    fill_facts(arena, data, &view);
    fill_misc(arena, data, &view);
    fill_files(arena, data, &view);
    template_entry(out, &view);
}

static void fill_places(struct arena *arena, const struct entry_page *data, struct entry_view *view)
{
    static const char *const names[] = {"Time", "Cost", "Latency", "Cost of a million items",
                                        "Energy"};
    struct entry_place_view *rows =
        ARENA_NEW_ARRAY(arena, data->board_count, struct entry_place_view);

    for (size_t b = 0; rows != NULL && b < data->board_count; b++) {
        const struct board *board = &data->boards[b];

        for (size_t i = 0; i < board->item_count; i++) {
            const struct board_item *item = &board->items[i];
            int64_t value = 0;

            if (item->row->entry != data->entry->id || !board_value(item->row, board->by, &value))
                continue;
            rows[view->places_count++] = (struct entry_place_view){
                .board = str_from_cstr(names[board->by]),
                .href = format_text(arena, "/tasks/%s?by=%s&hl=%" PRId64, data->task->id,
                                    board_by_name(board->by), data->entry->id),
                .place = format_text(arena, "%zu%s of %zu", item->place, item->tied ? "=" : "",
                                     board->item_count),
                .value = measure_shown(arena, board->by, value),
                .exact = measure_exact(arena, board->by, item->row),
            };
        }
    }
    view->places = rows;
}

static void fill_runs(struct arena *arena, const struct entry_page *data, struct entry_view *view)
{
    struct entry_run_view *rows = ARENA_NEW_ARRAY(arena, data->run_count, struct entry_run_view);

    for (size_t i = 0; rows != NULL && i < data->run_count; i++) {
        const struct run_record *run = &data->runs[i];

        rows[i] = (struct entry_run_view){
            .href = format_text(arena, "/runs/%" PRId64, run->id),
            .box = data->run_count < 2 ? STR("") : format_text(arena, "run-%" PRId64, run->id),
            .label = format_text(arena, "Run %" PRId64, run->ordinal),
            .state = layout_text(run->state),
        };
        if (run->tta_ns.has) {
            rows[i].tta = format_duration(arena, run->tta_ns.value);
            rows[i].exact =
                format_text(arena, "%.*s s", STR_ARG(format_exact(arena, run->tta_ns.value, 9)));
        }
    }
    view->runs = rows;
    view->runs_count = rows == NULL ? 0 : data->run_count;
    view->several = data->run_count > 1;
}

/* What the runs together say, once all have ended. */
static void fill_trials(struct arena *arena, const struct entry_page *data, struct entry_view *view)
{
    const struct entry_record *entry = data->entry;
    struct measure_trials trials;

    if (entry->run_count < 1 || strcmp(entry->state, "queued") == 0 ||
        strcmp(entry->state, "running") == 0)
        return;
    trials = measure_trials(
        &(struct measure_runs){.tta_ns = entry->tta_runs_ns,
                               .reached = entry->tta_run_count,
                               .scored = task_scored(data->task, entry->tta_run_count),
                               .count = (size_t)entry->run_count});
    view->reached = format_text(arena, "%zu of %zu reached the target (95 %%: %.2f to %.2f)",
                                trials.reached, trials.count, trials.p_low, trials.p_high);
    if (trials.has_spread)
        view->spread = format_text(
            arena, "mean %.4g s (95 %%: %.4g to %.4g s), CV %.2f %%%s; ranked by the %s",
            trials.spread.mean, trials.mean_low, trials.mean_high, 100.0 * trials.spread.cv,
            trials.spread.count == trials.reached
                ? ""
                : format_text(arena, " over the first %zu of them", trials.spread.count).data,
            entry->score_rule);
}

static void fill_flags(struct arena *arena, const struct entry_page *data, struct entry_view *view)
{
    struct fact_view *rows = ARENA_NEW_ARRAY(arena, data->flag_count, struct fact_view);

    for (size_t i = 0; rows != NULL && i < data->flag_count; i++) {
        const struct flag_record *flag = &data->flags[i];

        rows[i] = layout_fact(flag->code, layout_text(flag->detail));
        if (flag->other_run_id.has && flag->other_entry_id.has &&
            flag->other_entry_id.value == data->entry->id) /* of this very entry: its other run */
            rows[i].href = format_text(arena, "/runs/%" PRId64, flag->other_run_id.value);
        else if (flag->other_entry_id.has)
            rows[i].href = format_text(arena, "/entries/%" PRId64, flag->other_entry_id.value);
    }
    view->flags = rows;
    view->flags_count = rows == NULL ? 0 : data->flag_count;
}

static void fill_checks(struct arena *arena, const struct entry_page *data, struct entry_view *view)
{
    struct entry_check_view *rows =
        ARENA_NEW_ARRAY(arena, data->check_count, struct entry_check_view);

    for (size_t i = 0; rows != NULL && i < data->check_count; i++) {
        const struct check_record *check = &data->checks[i];

        rows[i] = (struct entry_check_view){
            .rule = layout_text(check->rule),
            .verdict = layout_text(check->verdict),
            .where = layout_text(check->file),
            .detail = layout_text(check->detail),
            .hint = layout_text(check->hint),
        };
        if (check->file != NULL && check->line.has)
            rows[i].where = format_text(arena, "%s, line %" PRId64, check->file, check->line.value);
    }
    view->checks = rows;
    view->checks_count = rows == NULL ? 0 : data->check_count;
}

static void add_fact(struct fact_view *facts, size_t *count, const char *term, struct str value)
{
    if (*count < FACTS_MAX && value.len > 0)
        facts[(*count)++] = layout_fact(term, value);
}

/* A fact that has a page of its own. */
static void add_named(struct arena *arena, struct fact_view *facts, size_t *count, const char *term,
                      const char *folder, const char *name)
{
    const size_t before = *count;

    add_fact(facts, count, term, layout_text(name));
    if (*count > before)
        facts[before].href = layout_address(arena, folder, layout_text(name));
}

static void fill_facts(struct arena *arena, const struct entry_page *data, struct entry_view *view)
{
    const struct entry_record *entry = data->entry;
    struct fact_view *facts = ARENA_NEW_ARRAY(arena, FACTS_MAX, struct fact_view);
    size_t count = 0;

    if (facts == NULL)
        return;
    add_named(arena, facts, &count, "Author", "/authors/", entry->author);
    add_fact(facts, &count, "Model", layout_text(entry->model));
    add_named(arena, facts, &count, "Hardware", "/hardware/", entry->hardware);
    add_fact(facts, &count, "Framework", layout_text(entry->framework));
    add_fact(facts, &count, "Date", layout_text(entry->entry_date));
    add_fact(facts, &count, "Source", layout_text(entry->source));
    if (entry->cost_per_hour_text != NULL)
        add_fact(facts, &count, "Price per hour",
                 format_text(arena, "$%s", entry->cost_per_hour_text));
    if (entry->price_id.has && entry->list_price_pico.has) {
        const size_t before = count;

        add_fact(facts, &count, "List price per hour",
                 format_text(arena, "$%.*s",
                             STR_ARG(format_exact(arena, entry->list_price_pico.value, 12))));
        if (count > before)
            facts[before].href = format_text(arena, "/prices/%" PRId64, entry->price_id.value);
    }
    add_fact(facts, &count, "Instance", layout_text(entry->instance));
    add_fact(facts, &count, "Region", layout_text(entry->region));
    if (entry->accuracy_text != NULL)
        add_fact(facts, &count, format_metric_title(arena, data->task).data,
                 format_metric_text(arena, data->task, entry->accuracy_text));
    if (entry->epoch_text != NULL)
        add_fact(facts, &count, "Epoch at the crossing", format_label(arena, entry->epoch_text));
    if (entry->wall_ns.has)
        add_fact(facts, &count, "Wall time", format_duration(arena, entry->wall_ns.value));
    if (entry->devices.has)
        add_fact(facts, &count, "Devices",
                 format_text(arena, "%" PRId64 " %s", entry->devices.value,
                             entry->device_model == NULL ? "" : entry->device_model));
    add_fact(facts, &count, "Cloud", layout_text(entry->cloud));
    add_fact(facts, &count, "Code", layout_text(entry->code_url));
    if (count > 0 && entry->code_url != NULL &&
        render_is_web_address(str_from_cstr(entry->code_url)))
        facts[count - 1].href = str_from_cstr(entry->code_url);
    view->facts = facts;
    view->facts_count = count;
}

/* A value of misc as text: a string as it is, anything else as it was written; cut when it is long. */
static struct str misc_text(struct arena *arena, const struct json_doc *doc, const char *key,
                            const json_t *value)
{
    const struct json_place *place;
    struct buf pointer;
    struct str whole;
    size_t cut;

    buf_init(&pointer, JSON_POINTER_BYTES_MAX);
    buf_append_char(&pointer, '/');
    for (const char *at = key; *at != '\0'; at++) {
        if (*at == '~' || *at == '/')
            buf_append_cstr(&pointer, *at == '~' ? "~0" : "~1");
        else
            buf_append_char(&pointer, *at);
    }
    place = pointer.failed ? NULL : json_doc_find(doc, pointer.data);
    buf_fini(&pointer);
    if (json_is_string(value))
        whole = (struct str){json_string_value(value), json_string_length(value)};
    else
        whole = place == NULL ? STR("(see the file)") : place->raw;
    cut = str_utf8_cut(whole, MISC_CUT_BYTES);
    return str_from_cstr(
        arena_printf(arena, cut < whole.len ? "%.*s\u2026" : "%.*s", (int)cut, whole.data));
}

static void fill_misc(struct arena *arena, const struct entry_page *data, struct entry_view *view)
{
    struct fact_view *facts = ARENA_NEW_ARRAY(arena, MISC_MAX, struct fact_view);
    struct json_doc doc = {0};
    const char *key;
    json_t *value;

    if (facts == NULL || data->entry->misc_json == NULL ||
        json_doc_parse(str_from_cstr(data->entry->misc_json), arena, &doc, NULL) != ST_OK)
        return;
    json_object_foreach(doc.root, key, value)
    {
        if (view->misc_count == MISC_MAX)
            break;
        facts[view->misc_count].term = str_from_cstr(arena_copy(arena, str_from_cstr(key)));
        facts[view->misc_count++].value = misc_text(arena, &doc, key, value);
    }
    json_doc_fini(&doc);
    view->misc = facts;
}

/* A rename of the entry leaves the names of its files. */
static void add_file(struct arena *arena, int64_t submission, const char *name, struct str label,
                     struct entry_view *view, struct link_view *files)
{
    struct buf address;

    buf_init(&address, ADDRESS_BYTES_MAX);
    buf_appendf(&address, "/v1/submissions/%" PRId64 "/files/", submission);
    render_append_url(&address, layout_text(name));
    files[view->files_count++] = (struct link_view){
        .label = label,
        .href = str_from_cstr(address.failed ? NULL : arena_copy(arena, buf_str(&address))),
    };
    buf_fini(&address);
}

static void fill_files(struct arena *arena, const struct entry_page *data, struct entry_view *view)
{
    const struct submission_record *sent = data->submission;
    struct link_view *files =
        sent == NULL ? NULL : ARENA_NEW_ARRAY(arena, 3 + sent->further_count, struct link_view);

    if (files == NULL)
        return;
    files[view->files_count++] = (struct link_view){
        .label = STR("Submission"),
        .href = format_text(arena, "/submissions/%" PRId64, sent->id),
    };
    add_file(arena, sent->id, arena_printf(arena, "%s.json", sent->name), STR(".json as sent"),
             view, files);
    if (sent->has_progress)
        add_file(arena, sent->id, arena_printf(arena, "%s.tsv", sent->name), STR(".tsv as sent"),
                 view, files);
    for (size_t i = 0; i < sent->further_count; i++)
        add_file(arena, sent->id, sent->further[i].name, layout_text(sent->further[i].name), view,
                 files);
    view->files = files;
}
