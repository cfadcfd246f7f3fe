/* server/command/facets.c: see facets.h. */
#include "server/command/facets.h"

enum { FACETS_BYTES_MAX = 8 << 20 };

static enum status refuse(int line, struct error *err, const char *why);
static enum status read_number(struct str cell, const char *column, struct opt_i64 *value,
                               struct error *err);

void facets_init(struct facets *facets)
{
    *facets = (struct facets){0};
    arena_init(&facets->arena, FACETS_BYTES_MAX);
}

void facets_fini(struct facets *facets)
{
    arena_fini(&facets->arena);
}

enum status facets_parse(struct str bytes, struct facets *facets, struct error *err)
{
    static const char *const columns[] = {"entry",   "kind",  "device_model",
                                          "devices", "nodes", "cloud"};
    const struct tsv *tsv = &facets->tsv;
    const enum status status = tsv_parse(bytes, &facets->arena, &facets->tsv, err);

    if (status != ST_OK)
        return status;
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        if (tsv->header.cell_count != ARRAY_LEN(columns) ||
            !str_eq_cstr(tsv->header.cells[i], columns[i]))
            return refuse(tsv->header.line, err,
                          "the columns are entry, kind, device_model, devices, nodes, cloud");
    for (size_t i = 0; i < tsv->row_count; i++)
        if (tsv->rows[i].cell_count != ARRAY_LEN(columns))
            return refuse(tsv->rows[i].line, err, "the row has not as many cells as the header");
    return ST_OK;
}

enum status facets_find(struct facets *facets, const char *entry, struct accept_facets *found,
                        struct error *err)
{
    const char **const texts[] = {&found->device_kind, &found->device_model, &found->cloud};
    const size_t text_columns[] = {1, 2, 5};

    for (size_t i = 0; i < facets->tsv.row_count; i++) {
        const struct tsv_row *row = &facets->tsv.rows[i];

        if (!str_eq_cstr(row->cells[0], entry))
            continue;
        for (size_t t = 0; t < ARRAY_LEN(texts); t++) {
            if (row->cells[text_columns[t]].len == 0)
                continue; /* unknown */
            *texts[t] = arena_copy(&facets->arena, row->cells[text_columns[t]]);
            if (*texts[t] == NULL)
                return error_set(err, ST_NO_MEMORY, NULL, "out of memory for facets.tsv");
        }
        if (read_number(row->cells[3], "devices", &found->devices, err) != ST_OK)
            return err->status;
        return read_number(row->cells[4], "nodes", &found->nodes, err);
    }
    return ST_OK;
}

static enum status refuse(int line, struct error *err, const char *why)
{
    if (err != NULL)
        err->line = line;
    return error_set(err, ST_INVALID, NULL, "%s", why);
}

static enum status read_number(struct str cell, const char *column, struct opt_i64 *value,
                               struct error *err)
{
    if (cell.len == 0)
        return ST_OK;
    value->has = str_parse_i64(cell, &value->value) && value->value > 0;
    if (value->has)
        return ST_OK;
    return error_set(err, ST_INVALID, column, "facets.tsv: %s is \"%.*s\", not a count", column,
                     (int)(cell.len < 64 ? cell.len : 64), cell.data);
}
