/* server/rank/board_write.c: see board_write.h. */
#include "server/rank/board_write.h"

#include <inttypes.h>

#include "common/clock.h"
#include "common/decimal.h"

enum { SECONDS_PLACES = 9, MS_PLACES = 6, USD_PLACES = 12, JOULE_PLACES = 6, TSV_PLACES = 6 };

/* The members of an item in order; the CSV's header, too. */
enum field {
    FIELD_PLACE,
    FIELD_TIED,
    FIELD_ENTRY,
    FIELD_NAME,
    FIELD_RUN,
    FIELD_MODEL,
    FIELD_AUTHOR,
    FIELD_HARDWARE,
    FIELD_FRAMEWORK,
    FIELD_DATE,
    FIELD_EPOCH,
    FIELD_TTA,
    FIELD_WALL,
    FIELD_LATENCY,
    FIELD_COST,
    FIELD_ENERGY,
    FIELD_ACCURACY,
    FIELD_VIEWS,
    FIELD_DEVICES,
    FIELD_CLOUD,
    FIELD_TIER,
    FIELD_N,
    FIELD_CV,
    FIELD_SEPARABLE,
    FIELD_COUNT
};
static const char *const field_names[FIELD_COUNT] = {
    "place",   "tied",       "entry",     "name",     "run",      "model",
    "author",  "hardware",   "framework", "date",     "epoch",    "tta_s",
    "wall_s",  "latency_ms", "cost_usd",  "energy_j", "accuracy", "views",
    "devices", "cloud",      "tier",      "n",        "cv",       "separable_from_next",
};

/* One field of one item: absent, a text, or something that JSON and CSV write alike. */
enum cell_kind { CELL_ABSENT, CELL_TEXT, CELL_PLAIN, CELL_NUMBER };
struct cell {
    enum cell_kind kind;
    struct str text; /* TEXT, and NUMBER: decimal text as somebody wrote it */
    char plain[40];
};

static void fill_cell(const struct board_item *item, enum field field, struct cell *cell);
static void fill_value(const struct board_entry *row, enum field field, struct cell *cell);
static void fill_item(const struct board_item *item, enum field field, struct cell *cell);
static void cell_text(struct cell *cell, const char *text);
static void cell_number(struct cell *cell, const char *text);
static void cell_integer(struct cell *cell, bool has, int64_t value);
static void cell_decimal(struct cell *cell, bool has, int64_t value, int places);
static void cell_bool(struct cell *cell, bool has, bool value);
static void append_csv_text(struct buf *out, struct str text);
static void append_tsv_text(struct buf *out, const char *text);

void board_write_json(struct buf *out, const struct board *board, const char *as_of,
                      const char *next_cursor)
{
    buf_append_cstr(out, "{\"task\":");
    buf_append_json(out, str_from_cstr(board->task->id));
    buf_append_cstr(out, ",\"unit\":");
    buf_append_json(out, str_from_cstr(board->task->unit));
    buf_appendf(out, ",\"by\":\"%s\"", board_by_name(board->by));
    if (as_of != NULL) {
        buf_append_cstr(out, ",\"as_of\":");
        buf_append_json(out, str_from_cstr(as_of));
    }
    buf_append_cstr(out, ",\"target\":");
    decimal_append_json(out, str_from_cstr(board->task->target_text));
    buf_append_cstr(out, ",\"items\":[");
    for (size_t i = 0; i < board->item_count; i++) {
        buf_append_cstr(out, i == 0 ? "" : ",");
        board_write_item_json(out, &board->items[i]);
    }
    buf_append_cstr(out, "],\"not_ranked\":[");
    for (size_t i = 0; i < board->not_ranked_count; i++) {
        const struct board_missing *missing = &board->not_ranked[i];

        buf_appendf(out, "%s{\"entry\":%" PRId64 ",\"name\":", i == 0 ? "" : ",",
                    missing->row->entry);
        buf_append_json(out, str_from_cstr(missing->row->name));
        buf_append_cstr(out, ",\"reason\":");
        buf_append_json(out, str_from_cstr(missing->reason));
        buf_append_char(out, '}');
    }
    buf_append_char(out, ']');
    if (next_cursor != NULL) {
        buf_append_cstr(out, ",\"next_cursor\":");
        buf_append_json(out, str_from_cstr(next_cursor));
    }
    buf_append_char(out, '}');
}

void board_write_item_json(struct buf *out, const struct board_item *item)
{
    struct cell cell;

    for (int field = 0; field < FIELD_COUNT; field++) {
        fill_cell(item, (enum field)field, &cell);
        if (cell.kind == CELL_ABSENT)
            continue; /* never null, never 0 */
        buf_appendf(out, "%c\"%s\":", field == 0 ? '{' : ',', field_names[field]);
        if (cell.kind == CELL_TEXT)
            buf_append_json(out, cell.text);
        else if (cell.kind == CELL_NUMBER)
            decimal_append_json(out, cell.text);
        else
            buf_append_cstr(out, cell.plain);
    }
    buf_append_char(out, '}');
}

void board_write_csv(struct buf *out, const struct board *board)
{
    struct cell cell;

    for (int field = 0; field < FIELD_COUNT; field++)
        buf_appendf(out, "%s%s", field == 0 ? "" : ",", field_names[field]);
    buf_append_cstr(out, "\r\n");
    for (size_t i = 0; i < board->item_count; i++) {
        for (int field = 0; field < FIELD_COUNT; field++) {
            buf_append_cstr(out, field == 0 ? "" : ",");
            fill_cell(&board->items[i], (enum field)field, &cell);
            if (cell.kind == CELL_TEXT)
                append_csv_text(out, cell.text);
            else if (cell.kind == CELL_NUMBER)
                buf_append(out, cell.text);
            else if (cell.kind == CELL_PLAIN)
                buf_append_cstr(out, cell.plain);
        }
        buf_append_cstr(out, "\r\n");
    }
}

void board_write_tsv(struct buf *out, const struct board *board)
{
    const bool train = board->task->phase == TASK_TRAIN;

    buf_appendf(out, "rank\tfile\tmodel\tauthor\thardware\tframework\t%s\tcost\t%s\tdate\n",
                train ? "seconds" : "ms", train ? "epoch" : "accuracy");
    for (size_t i = 0; i < board->item_count; i++) {
        const struct board_entry *row = board->items[i].row;
        char value[32] = "", cost[32] = "", date[CLOCK_TEXT_BYTES];
        const char *const texts[] = {row->name, row->model, row->author, row->hardware,
                                     row->framework};

        buf_appendf(out, "%zu", board->items[i].place);
        for (size_t t = 0; t < ARRAY_LEN(texts); t++) {
            buf_append_char(out, '\t');
            append_tsv_text(out, texts[t]);
        }
        if (train && row->has_tta)
            decimal_format_rounded(row->tta_ns, SECONDS_PLACES, TSV_PLACES, value);
        if (!train && row->has_latency)
            decimal_format_short(row->latency_ns, MS_PLACES, value);
        if (row->has_cost && train)
            decimal_format_rounded(row->cost_pico, USD_PLACES, TSV_PLACES, cost);
        else if (row->has_cost)
            decimal_format_short(row->cost_pico, USD_PLACES, cost);
        clock_format_days(row->date_days, date);
        buf_append_char(out, '\t');
        append_tsv_text(out, !train && row->latency_text != NULL ? row->latency_text : value);
        buf_append_char(out, '\t');
        append_tsv_text(out, !train && row->cost_text != NULL ? row->cost_text : cost);
        buf_append_char(out, '\t');
        append_tsv_text(out, train ? row->epoch_text : row->accuracy_text);
        buf_appendf(out, "\t%s\n", date);
    }
}

static void fill_cell(const struct board_item *item, enum field field, struct cell *cell)
{
    *cell = (struct cell){.kind = CELL_ABSENT};
    fill_item(item, field, cell);
    fill_value(item->row, field, cell);
}

/* What the board says of the entry, and who it is. */
static void fill_item(const struct board_item *item, enum field field, struct cell *cell)
{
    const struct board_entry *row = item->row;
    char date[CLOCK_TEXT_BYTES];

    switch (field) {
    case FIELD_PLACE: cell_integer(cell, true, (int64_t)item->place); break;
    case FIELD_TIED: cell_bool(cell, true, item->tied); break;
    case FIELD_ENTRY: cell_integer(cell, true, row->entry); break;
    case FIELD_NAME: cell_text(cell, row->name); break;
    case FIELD_RUN: cell_integer(cell, row->has_run, row->run); break;
    case FIELD_MODEL: cell_text(cell, row->model); break;
    case FIELD_AUTHOR: cell_text(cell, row->author); break;
    case FIELD_HARDWARE: cell_text(cell, row->hardware); break;
    case FIELD_FRAMEWORK: cell_text(cell, row->framework); break;
    case FIELD_DATE:
        clock_format_days(row->date_days, date);
        cell->kind = CELL_TEXT;
        (void)snprintf(cell->plain, sizeof cell->plain, "%s", date);
        cell->text = str_from_cstr(cell->plain);
        break;
    case FIELD_CV:
        if (item->has_cv) {
            cell->kind = CELL_PLAIN;
            (void)snprintf(cell->plain, sizeof cell->plain, "%.9g", item->cv);
        }
        break;
    case FIELD_SEPARABLE: cell_bool(cell, item->has_separable, item->separable_from_next); break;
    default: break;
    }
}

/* What was measured. */
static void fill_value(const struct board_entry *row, enum field field, struct cell *cell)
{
    switch (field) {
    case FIELD_EPOCH: cell_number(cell, row->epoch_text); break;
    case FIELD_TTA: cell_decimal(cell, row->has_tta, row->tta_ns, SECONDS_PLACES); break;
    case FIELD_WALL: cell_decimal(cell, row->has_wall, row->wall_ns, SECONDS_PLACES); break;
    case FIELD_LATENCY:
        cell_decimal(cell, row->has_latency, row->latency_ns, MS_PLACES);
        cell_number(cell, row->has_latency ? row->latency_text : NULL);
        break;
    case FIELD_COST:
        cell_decimal(cell, row->has_cost, row->cost_pico, USD_PLACES);
        cell_number(cell, row->has_cost ? row->cost_text : NULL);
        break;
    case FIELD_ENERGY: cell_decimal(cell, row->has_energy, row->energy_uj, JOULE_PLACES); break;
    case FIELD_ACCURACY: cell_number(cell, row->accuracy_text); break;
    case FIELD_VIEWS: cell_integer(cell, row->has_views, row->views); break;
    case FIELD_DEVICES: cell_integer(cell, row->has_devices, row->devices); break;
    case FIELD_CLOUD: cell_text(cell, row->cloud); break;
    case FIELD_TIER: cell_text(cell, row->tier); break;
    case FIELD_N: cell_integer(cell, row->has_n, row->n); break;
    default: break;
    }
}

static void cell_text(struct cell *cell, const char *text)
{
    if (text == NULL)
        return;
    cell->kind = CELL_TEXT;
    cell->text = str_from_cstr(text);
}

static void cell_number(struct cell *cell, const char *text)
{
    if (text == NULL)
        return;
    cell->kind = CELL_NUMBER;
    cell->text = str_from_cstr(text);
}

static void cell_integer(struct cell *cell, bool has, int64_t value)
{
    cell_decimal(cell, has, value, 0);
}

static void cell_decimal(struct cell *cell, bool has, int64_t value, int places)
{
    if (!has)
        return;
    cell->kind = CELL_PLAIN;
    decimal_format_short(value, places, cell->plain);
}

static void cell_bool(struct cell *cell, bool has, bool value)
{
    if (!has)
        return;
    cell->kind = CELL_PLAIN;
    (void)snprintf(cell->plain, sizeof cell->plain, "%s", value ? "true" : "false");
}

static void append_csv_text(struct buf *out, struct str text)
{
    const bool formula = text.len > 0 && strchr("=+-@\t\r", text.data[0]) != NULL;
    bool quote = formula;

    for (size_t i = 0; i < text.len && !quote; i++)
        quote = strchr(",\"\r\n", text.data[i]) != NULL;
    if (!quote) {
        buf_append(out, text);
        return;
    }
    buf_append_cstr(out, formula ? "\"'" : "\"");
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '"')
            buf_append_char(out, '"');
        buf_append_char(out, text.data[i]);
    }
    buf_append_char(out, '"');
}

/* Intake replaced tabs already; texts that came another way are made safe here. */
static void append_tsv_text(struct buf *out, const char *text)
{
    for (const char *at = text == NULL ? "" : text; *at != '\0'; at++) {
        char c = *at;

        if (c == '\t' || c == '\n' || c == '\r')
            c = ' ';
        buf_append_char(out, c);
    }
}
