/* server/intake/progress_file.c: judges NAME.tsv and finds the row that decides: the first, in file order, whose
 * metric meets the target. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/decimal.h"
#include "common/entry.h"
#include "common/tsv.h"
#include "server/intake/intake_internal.h"

#define EPOCH_MAX         1e6
#define HOURS_MAX         876000.0 /* a century */
#define EPOCH_HOURS_MAX   10.0     /* hours per epoch above it look like minutes or seconds */
#define SAME_EPOCHS_RATIO 3.0 /* so many times the epochs in about the same time: not added up */
#define SAME_HOURS_RATIO  1.5
#define EPOCH_MS_MIN      1.0 /* no machine passes over a data set in less */
#define SHAPE_ROWS_MIN    4
#define TOP1_LIKE_MIN     50.0 /* a best top-5 accuracy of ImageNet that is rather one of top-1 */
#define TOP1_LIKE_MAX     88.0
#define PERCENT_EXPONENT  (-2) /* of ten */

enum { COLUMN_EPOCH, COLUMN_HOURS, COLUMN_METRIC, COLUMN_FIRST_EXTRA };

struct progress {
    struct tsv tsv;
    const char *names[TSV_COLUMNS_MAX]; /* the task's columns */
    size_t indices[TSV_COLUMNS_MAX];    /* where the file has them */
    size_t column_count;
    struct intake_row *rows;
    struct decimal *epochs, *hours, *metrics; /* exact, beside rows */
    size_t row_count;                         /* that could be read */
    size_t unread_count;                      /* that could not */
    double metric_high;
    struct str best_text; /* of metric_high */
    bool percent_f1;      /* history: a fraction written in percent */
};

static bool map_columns(struct judge *judge, struct progress *progress);
static void read_rows(struct judge *judge, struct progress *progress);
static bool read_row(struct judge *judge, struct progress *progress, const struct tsv_row *from,
                     struct intake_row *row);
static bool read_cell(struct judge *judge, const struct progress *progress,
                      const struct tsv_row *from, size_t column, double max, struct decimal *value);
static void judge_order(struct judge *judge, const struct progress *progress, size_t index);
static void judge_scale(struct judge *judge, struct progress *progress);
static void find_crossing(struct judge *judge, struct progress *progress);
static void take_crossing(struct judge *judge, const struct progress *progress, size_t index);
static void hash_rows(const struct progress *progress, unsigned char digest[SHA256_BYTES]);
static struct decimal normalise(struct decimal value);
static void judge_shape(struct judge *judge, const struct progress *progress);
static void judge_mixed_columns(struct judge *judge, const struct progress *progress);
static double sum_hours(const struct progress *progress);
static bool names_look_swapped(const struct progress *progress);
static bool hours_look_per_epoch(const struct progress *progress);

void judge_progress_file(struct judge *judge)
{
    const struct str text = judge->input->progress[judge->run_index].bytes;
    struct intake_run *run = &judge->runs[judge->run_index];
    struct progress progress = {0};
    struct intake_place place = {.file = INTAKE_PROGRESS};
    struct error fault = {0};
    const char *code;
    enum status status;

    if (!judge_check_bytes(judge, INTAKE_PROGRESS, text))
        return;
    if (intend_other_file(judge, INTAKE_PROGRESS, text, &place, &code)) {
        judge_add(judge, &place, code, "this is not a progress file");
        return;
    }
    status = tsv_parse(text, judge->arena, &progress.tsv, &fault);
    if (status == ST_NO_MEMORY) {
        judge->no_memory = true;
        return;
    }
    if (status != ST_OK) {
        place.line = fault.line;
        /* More rows than tsv_parse() takes do not fit the file's size anyway, but for blank ones. */
        judge_add(judge, &place,
                  intake_code_find(fault.code) == NULL ? "file_too_large" : fault.code, "%s",
                  fault.detail);
        return;
    }
    if (!map_columns(judge, &progress))
        return;
    if (progress.tsv.row_count == 0) {
        judge_add(judge, &place, "no_rows", "there is a header line and nothing below it");
        return;
    }
    read_rows(judge, &progress);
    if (judge->no_memory || progress.row_count == 0)
        return;
    judge_scale(judge, &progress);
    find_crossing(judge, &progress);
    judge_shape(judge, &progress);
    run->rows = progress.rows;
    run->row_count = progress.row_count;
    crypto_sha256(text, run->bytes_sha256);
    hash_rows(&progress, run->rows_sha256);
}

/* False when a column is missing or named twice: nothing below the header can then be understood. */
static bool map_columns(struct judge *judge, struct progress *progress)
{
    const struct task *task = judge->input->task;
    const struct tsv_row *header = &progress->tsv.header;
    struct intake_place place = {.file = INTAKE_PROGRESS, .line = header->line};
    struct buf detail, want;
    const char *likely;
    bool usable = true;

    progress->names[COLUMN_EPOCH] = "epoch";
    progress->names[COLUMN_HOURS] = "hours";
    progress->names[COLUMN_METRIC] = task->metric;
    progress->column_count = COLUMN_FIRST_EXTRA;
    for (size_t i = 0; i < task->column_count && progress->column_count < TSV_COLUMNS_MAX; i++)
        progress->names[progress->column_count++] = task->columns[i];
    for (size_t i = 0; i < progress->column_count; i++) {
        size_t found = 0;

        for (size_t at = 0; at < header->cell_count; at++)
            if (str_eq_cstr(header->cells[at], progress->names[i])) {
                progress->indices[i] = at;
                found++;
            }
        usable = usable && found == 1;
    }
    if (usable && header->cell_count == progress->column_count)
        return true;
    buf_init(&detail, ENTRY_FILE_BYTES_MAX);
    buf_init(&want, ENTRY_FILE_BYTES_MAX);
    for (size_t at = 0; at < header->cell_count; at++) {
        buf_append_cstr(&detail, at == 0 ? "" : ",");
        buf_append(&detail, header->cells[at]);
    }
    likely = intend_columns(judge, header);
    if (likely != NULL)
        buf_appendf(&want, "%s; ", likely);
    buf_append_cstr(&want, "the columns are, separated by one tab each: ");
    for (size_t i = 0; i < progress->column_count; i++)
        buf_appendf(&want, "%s%s", i == 0 ? "" : ", ", progress->names[i]);
    if (detail.failed || want.failed || (place.hint = judge_copy(judge, buf_str(&want))) == NULL)
        judge->no_memory = true;
    else
        judge_add(judge, &place, "tsv_header", "%s", detail.data);
    buf_fini(&detail);
    buf_fini(&want);
    return usable;
}

bool judge_has_column(const struct judge *judge, const char *name)
{
    const struct task *task = judge->input->task;

    if (strcmp(name, "epoch") == 0 || strcmp(name, "hours") == 0 || strcmp(name, task->metric) == 0)
        return true;
    for (size_t i = 0; i < task->column_count; i++)
        if (strcmp(name, task->columns[i]) == 0)
            return true;
    return false;
}

static void read_rows(struct judge *judge, struct progress *progress)
{
    const size_t count = progress->tsv.row_count;

    progress->rows = ARENA_NEW_ARRAY(judge->arena, count, struct intake_row);
    progress->epochs = ARENA_NEW_ARRAY(judge->arena, count, struct decimal);
    progress->hours = ARENA_NEW_ARRAY(judge->arena, count, struct decimal);
    progress->metrics = ARENA_NEW_ARRAY(judge->arena, count, struct decimal);
    if (progress->rows == NULL || progress->epochs == NULL || progress->hours == NULL ||
        progress->metrics == NULL) {
        judge->no_memory = true;
        return;
    }
    for (size_t i = 0; i < count && !judge->no_memory; i++) {
        const struct tsv_row *from = &progress->tsv.rows[i];

        if (!read_row(judge, progress, from, &progress->rows[progress->row_count])) {
            progress->unread_count++;
            continue;
        }
        judge_order(judge, progress, progress->row_count);
        if (progress->rows[progress->row_count].metric > progress->metric_high) {
            progress->metric_high = progress->rows[progress->row_count].metric;
            progress->best_text = progress->rows[progress->row_count].metric_text;
        }
        progress->row_count++;
    }
}

static bool read_row(struct judge *judge, struct progress *progress, const struct tsv_row *from,
                     struct intake_row *row)
{
    const struct task *task = judge->input->task;
    struct intake_place place = {.file = INTAKE_PROGRESS, .line = from->line};
    const double metric_max = judge->input->mode == INTAKE_HISTORY ? 100.0 : task->metric_max;
    struct decimal *hours = &progress->hours[progress->row_count];
    struct decimal *metric = &progress->metrics[progress->row_count];
    struct decimal *epoch = &progress->epochs[progress->row_count];
    struct decimal extra;
    bool good;

    if (from->cell_count != progress->tsv.header.cell_count) {
        if (from->cell_count == 1)
            place.hint = intend_separator(judge, from->cells[0]);
        for (size_t i = 0; i < from->cell_count; i++)
            if (from->cells[i].len == 0)
                place.hint = "put one tab between cells, not two, and none at the end";
        judge_add(judge, &place, "tsv_fields", "the row has %zu cells, the header %zu",
                  from->cell_count, progress->tsv.header.cell_count);
        return false;
    }
    /* Every cell is looked at, also behind a bad one. */
    good = read_cell(judge, progress, from, COLUMN_EPOCH, EPOCH_MAX, epoch);
    good = read_cell(judge, progress, from, COLUMN_HOURS, HOURS_MAX, hours) && good;
    good = read_cell(judge, progress, from, COLUMN_METRIC, metric_max, metric) && good;
    row->extras = ARENA_NEW_ARRAY(judge->arena, task->column_count, struct str);
    if (row->extras == NULL) {
        judge->no_memory = true;
        return false;
    }
    for (size_t i = 0; i < task->column_count; i++) {
        if (!read_cell(judge, progress, from, COLUMN_FIRST_EXTRA + i, metric_max, &extra))
            good = false;
        else
            row->extras[i] = from->cells[progress->indices[COLUMN_FIRST_EXTRA + i]];
    }
    if (!good)
        return false;
    if (decimal_scale(*hours, NS_PER_HOUR, &row->elapsed_ns, NULL) != ST_OK)
        return false; /* cannot be: HOURS_MAX fits */
    row->line = from->line;
    row->epoch = decimal_to_double(*epoch);
    row->metric = decimal_to_double(*metric);
    row->epoch_text = from->cells[progress->indices[COLUMN_EPOCH]];
    row->hours_text = from->cells[progress->indices[COLUMN_HOURS]];
    row->metric_text = from->cells[progress->indices[COLUMN_METRIC]];
    return true;
}

static bool read_cell(struct judge *judge, const struct progress *progress,
                      const struct tsv_row *from, size_t column, double max, struct decimal *value)
{
    const struct str text = from->cells[progress->indices[column]];
    struct intake_place place = {
        .file = INTAKE_PROGRESS, .line = from->line, .field = progress->names[column]};
    const int shown = (int)(text.len < 64 ? text.len : 64);
    const enum status status = decimal_parse(text, true, value, NULL, NULL);

    if (status != ST_INVALID && text.len > STR_NUMBER_BYTES_MAX) {
        judge_add(judge, &place, "number_too_long", "%s has %zu characters, at most %d are read",
                  place.field, text.len, STR_NUMBER_BYTES_MAX);
        return false;
    }
    if (status == ST_INVALID) {
        place.hint = intend_number(judge, text, false);
        judge_add(judge, &place, "not_a_number", "%s is \"%.*s\"", place.field, shown,
                  text.len == 0 ? "" : text.data);
        return false;
    }
    if (status != ST_OK || (value->negative && value->digits != 0) ||
        decimal_to_double(*value) > max) {
        if (status == ST_OK && max <= 1.0 && !value->negative && decimal_to_double(*value) <= 100.0)
            place.hint = intend_in_place(judge, text, PERCENT_EXPONENT,
                                         "it looks like percent, a fraction is asked for");
        judge_add(judge, &place, "out_of_range", "%s is %.*s, not between 0 and %.0f", place.field,
                  shown, text.data, max);
        return false;
    }
    return true;
}

/* A row against the one before it. */
static void judge_order(struct judge *judge, const struct progress *progress, size_t index)
{
    const struct intake_row *row = &progress->rows[index], *before = row - 1;
    struct intake_place place = {.file = INTAKE_PROGRESS, .line = row->line, .field = "hours"};

    if (index == 0) {
        place.field = "epoch";
        if (row->epoch <= 0.0)
            judge_add(judge, &place, "epoch_from_0",
                      "the labels start at 0: one is added to count the epochs");
        return;
    }
    if (decimal_cmp(progress->hours[index], progress->hours[index - 1]) < 0)
        judge_add(judge, &place, "hours_decrease", "hours go back from %.*s to %.*s",
                  STR_ARG(before->hours_text), STR_ARG(row->hours_text));
    place.field = "epoch";
    if (row->epoch <= before->epoch)
        judge_add(judge, &place, "epoch_not_increasing", "epoch %.*s follows epoch %.*s",
                  STR_ARG(row->epoch_text), STR_ARG(before->epoch_text));
}

/* Percent where a fraction is wanted, or the reverse. */
static void judge_scale(struct judge *judge, struct progress *progress)
{
    const struct task *task = judge->input->task;
    struct intake_place place = {.file = INTAKE_PROGRESS, .field = task->metric};

    if (progress->best_text.len > 0)
        place.hint = intend_in_place(
            judge, progress->best_text,
            task->metric_max == 100.0 ? -PERCENT_EXPONENT : PERCENT_EXPONENT,
            task->metric_max == 100.0 ? "multiply the accuracies by 100" : "divide by 100");
    if (task->metric_max == 100.0 && progress->metric_high > 0.0 && progress->metric_high <= 1.0)
        judge_add(judge, &place, "looks_like_fraction", "no %s is above 1", task->metric);
    if (task->metric_max == 1.0 && progress->metric_high > 1.0) {
        progress->percent_f1 = true; /* new submissions were refused by the range */
        judge_add(judge, &place, "f1_looks_like_percent", "%s is up to %g, above 1", task->metric,
                  progress->metric_high);
    }
}

static void find_crossing(struct judge *judge, struct progress *progress)
{
    const struct task *task = judge->input->task;
    struct intake_place place = {.file = INTAKE_PROGRESS, .field = task->metric};
    size_t best = 0;

    for (size_t i = 0; i < progress->row_count; i++) {
        struct decimal reached = progress->metrics[i];

        reached.exponent += progress->percent_f1 ? PERCENT_EXPONENT : 0;
        if (decimal_cmp(reached, task->target) >= 0) {
            take_crossing(judge, progress, i);
            return;
        }
        if (decimal_cmp(progress->metrics[i], progress->metrics[best]) > 0)
            best = i;
    }
    if (progress->unread_count > 0 || (task->metric_max == 100.0 && progress->metric_high <= 1.0))
        return; /* another fault says why */
    judge->runs[judge->run_index].missed = true;
    place.line = progress->rows[best].line;
    if (strcmp(task->metric, "top5Accuracy") == 0 && progress->metric_high >= TOP1_LIKE_MIN &&
        progress->metric_high <= TOP1_LIKE_MAX)
        place.hint = "it looks like top-1 accuracy: this task is judged by top-5";
    judge_add(judge, &place,
              judge->input->progress_count > 1 ? "run_missed" : "threshold_not_reached",
              "the best %s is %.*s, the target is %s", task->metric,
              STR_ARG(progress->rows[best].metric_text), task->target_text);
}

static void take_crossing(struct judge *judge, const struct progress *progress, size_t index)
{
    struct intake_run *run = &judge->runs[judge->run_index];
    const struct intake_row *row = &progress->rows[index];
    const double epochs = row->epoch + (progress->rows[0].epoch <= 0.0 ? 1.0 : 0.0);
    const double elapsed_ms = (double)row->elapsed_ns / (double)NS_PER_MS;
    struct intake_place place = {.file = INTAKE_PROGRESS,
                                 .line = row->line,
                                 .field = "hours",
                                 .hint = "count the time from the start of the training"};

    if (row->elapsed_ns <= 0) {
        judge_add(judge, &place, "out_of_range", "the target is reached at hour %.*s",
                  STR_ARG(row->hours_text));
        return;
    }
    place.hint = "give the time in hours";
    if (elapsed_ms < EPOCH_MS_MIN * (epochs > 1.0 ? epochs : 1.0)) {
        judge_add(judge, &place, "out_of_range",
                  "the target is reached after %.6g s and %.6g epochs: less than %g ms an epoch",
                  elapsed_ms / 1e3, epochs, EPOCH_MS_MIN);
        return;
    }
    if (elapsed_ms < 1e3)
        judge_add(judge, &place, "value_implausible",
                  "the training took %.6g s, less than a second", elapsed_ms / 1e3);
    run->crossing_index = index;
    run->tta_ns = row->elapsed_ns;
    run->tta_hours_text = judge_copy(judge, row->hours_text);
    run->epoch = row->epoch;
    run->epoch_count = epochs;
    run->accuracy = row->metric;
    run->accuracy_text = judge_copy(judge, row->metric_text);
    run->reached = run->tta_hours_text != NULL && run->accuracy_text != NULL;
}

/* The values, whatever digits, columns' order or line ends they were written with. */
static void hash_rows(const struct progress *progress, unsigned char digest[SHA256_BYTES])
{
    struct sha256 *hash = sha256_create();

    for (size_t i = 0; i < progress->row_count; i++) {
        const struct decimal values[] = {normalise(progress->epochs[i]),
                                         normalise(progress->hours[i]),
                                         normalise(progress->metrics[i])};

        for (size_t k = 0; k < ARRAY_LEN(values); k++) {
            sha256_update(hash, &values[k].digits, sizeof values[k].digits);
            sha256_update(hash, &values[k].exponent, sizeof values[k].exponent);
        }
    }
    sha256_finish(hash, digest);
}

static struct decimal normalise(struct decimal value)
{
    while (value.digits != 0 && value.digits % 10 == 0) {
        value.digits /= 10;
        value.exponent++;
    }
    if (value.digits == 0)
        value.exponent = 0;
    return value;
}

/* Shapes that no single row shows. */
static void judge_shape(struct judge *judge, const struct progress *progress)
{
    const struct intake_row *last = &progress->rows[progress->row_count - 1];
    const double hours = (double)last->elapsed_ns / (double)NS_PER_HOUR;
    const double epochs = last->epoch + (progress->rows[0].epoch <= 0.0 ? 1.0 : 0.0);
    struct intake_place place = {.file = INTAKE_PROGRESS, .field = "hours"};

    if (names_look_swapped(progress)) {
        place.hint = arena_printf(
            judge->arena, "exchange the two headings: line %d is then epoch %.*s, hour %.*s",
            last->line, STR_ARG(last->hours_text), STR_ARG(last->epoch_text));
        judge_add(judge, &place, "epoch_hours_look_swapped",
                  "hours are the numbers 1, 2, 3 .., epochs are fractions");
        return;
    }
    if (hours_look_per_epoch(progress)) {
        place.hint = arena_printf(judge->arena,
                                  "add the hours up: each row has the time from the start, line "
                                  "%d then has hour %.6g",
                                  last->line, sum_hours(progress));
        judge_add(judge, &place, "hours_look_per_epoch",
                  "the hours of all rows are about the same and do not add up");
    } else if (epochs > 0.0 && hours / epochs > EPOCH_HOURS_MAX) {
        place.hint = arena_printf(
            judge->arena, "give hours: line %d has hour %.6g if these are seconds, %.6g if minutes",
            last->line, hours / 3600.0, hours / 60.0);
        judge_add(judge, &place, "hours_look_like_seconds", "%.4g hours for each epoch",
                  hours / epochs);
    }
    judge_mixed_columns(judge, progress);
}

/* Columns under each other's headings that no single value shows. */
static void judge_mixed_columns(struct judge *judge, const struct progress *progress)
{
    const struct intake_place place = {.file = INTAKE_PROGRESS,
                                       .line = progress->tsv.header.line,
                                       .field = judge->input->task->metric};
    bool falls = false, climbs = true, above = true;
    const bool has_top1 = judge_has_column(judge, "top1Accuracy") &&
                          strcmp(judge->input->task->metric, "top5Accuracy") == 0;

    if (progress->row_count < SHAPE_ROWS_MIN)
        return;
    for (size_t i = 0; i < progress->row_count; i++) {
        const struct intake_row *row = &progress->rows[i];
        struct decimal top1;

        if (i > 0 && row->elapsed_ns < row[-1].elapsed_ns)
            falls = true;
        if (i > 0 && row->metric <= row[-1].metric)
            climbs = false;
        if (!has_top1 || decimal_parse(row->extras[0], true, &top1, NULL, NULL) != ST_OK ||
            decimal_cmp(top1, progress->metrics[i]) <= 0)
            above = false;
    }
    if (falls && climbs)
        judge_add(judge, &place, "accuracy_hours_look_swapped",
                  "hours go up and down as accuracies do, %s only grows as hours do", place.field);
    if (above)
        judge_add(judge, &place, "top1_top5_look_swapped",
                  "top-1 accuracy is above top-5 accuracy in every row, which cannot be");
}

static double sum_hours(const struct progress *progress)
{
    double sum = 0.0;

    for (size_t i = 0; i < progress->row_count; i++)
        sum += (double)progress->rows[i].elapsed_ns / (double)NS_PER_HOUR;
    return sum;
}

static bool names_look_swapped(const struct progress *progress)
{
    bool fractions = false;

    if (progress->row_count < SHAPE_ROWS_MIN)
        return false;
    for (size_t i = 0; i < progress->row_count; i++) {
        const struct intake_row *row = &progress->rows[i];

        if (row->elapsed_ns % NS_PER_HOUR != 0 ||
            (i > 0 && row->elapsed_ns - row[-1].elapsed_ns != NS_PER_HOUR))
            return false;
        fractions = fractions || row->epoch < (double)(int64_t)row->epoch ||
                    row->epoch > (double)(int64_t)row->epoch;
    }
    return fractions;
}

static bool hours_look_per_epoch(const struct progress *progress)
{
    const double shift = progress->rows[0].epoch <= 0.0 ? 1.0 : 0.0;
    const double first = progress->rows[0].epoch + shift;
    const double last = progress->rows[progress->row_count - 1].epoch + shift;
    int64_t low = INT64_MAX, high = 0;

    if (progress->row_count < SHAPE_ROWS_MIN || last < SAME_EPOCHS_RATIO * first)
        return false; /* who evaluates at the end alone has times that differ little */
    for (size_t i = 0; i < progress->row_count; i++) {
        const int64_t ns = progress->rows[i].elapsed_ns;

        low = ns < low ? ns : low;
        high = ns > high ? ns : high;
    }
    return low > 0 && (double)high < SAME_HOURS_RATIO * (double)low;
}
