/* server/command/import_mlperf.c: `daybreakd import-mlperf DIR`: a tree of MLPerf's training logs, judged by the rules of
 * their rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "server/command/command.h"
#include "server/command/mlperf_tables.h"
#include "server/command/mlperf_tree.h"

enum { OUTPUT_BYTES_MAX = 64 << 20 };

struct import {
    const char *dir, *format, *table_text;
    enum mlperf_table table;
    struct mlperf_rules *rules;
    struct mlperf_tree tree;
    size_t taken, refused;
};

static enum status read_options(struct import *import, struct error *err);
static enum status print_table(struct import *import, struct error *err);
static void tell_refusal(struct import *import, const struct mlperf_entry *entry,
                         const struct error *fault);

int command_import_mlperf(int argc, char *const *argv)
{
    struct import import = {.format = "tsv", .table_text = "entries"};
    const char **arguments = calloc((size_t)argc + 1, sizeof *arguments);
    struct error err = {0};
    int argument_count = 0, exit_code = 4;
    const struct opt opts[] = {
        {.name = "format",
         .kind = OPT_TEXT,
         .value = &import.format,
         .argument = "FORMAT",
         .help = "tsv: print what the logs give"},
        {.name = "table",
         .kind = OPT_TEXT,
         .value = &import.table_text,
         .argument = "TABLE",
         .help = "of the tsv: entries, runs, or rcp (convergence beside the reference's)"},
    };
    const struct opt_command command = {
        .program = "daybreakd",
        .name = "import-mlperf",
        .arguments = "DIR",
        .argument_min = 1,
        .argument_max = 1,
        .opts = opts,
        .opt_count = ARRAY_LEN(opts),
        .summary = "Judges a tree of MLPerf training logs (<round>/<submitter>/<system>/"
                   "<benchmark>/result_*.txt[.gz], rcp/). Exit 1: some refused, 2: nothing taken.",
    };

    if (arguments == NULL) {
        (void)error_set(&err, ST_NO_MEMORY, NULL, "out of memory");
        return command_fail("import-mlperf", &err);
    }
    if (command_parse(&command, argc, argv, arguments, &argument_count, &exit_code)) {
        import.dir = arguments[0];
        if (read_options(&import, &err) == ST_OK &&
            mlperf_rules_create(&import.rules, &err) == ST_OK &&
            mlperf_tree_open(import.dir, import.rules, &import.tree, &err) == ST_OK)
            (void)print_table(&import, &err);
        exit_code = import.refused == 0 ? 0 : import.taken > 0 ? 1 : 2;
        if (err.status != ST_OK)
            exit_code = command_fail("import-mlperf", &err);
    }
    mlperf_tree_close(&import.tree);
    mlperf_rules_destroy(import.rules);
    free(arguments);
    return exit_code;
}

static enum status read_options(struct import *import, struct error *err)
{
    static const char *const tables[] = {
        [MLPERF_ENTRIES] = "entries", [MLPERF_RUNS] = "runs", [MLPERF_RCP] = "rcp"};
    size_t i = 0;

    if (strcmp(import->format, "tsv") != 0)
        return error_set(err, ST_USAGE, "format", "--format is tsv");
    while (i < ARRAY_LEN(tables) && strcmp(import->table_text, tables[i]) != 0)
        i++;
    if (i == ARRAY_LEN(tables))
        return error_set(err, ST_USAGE, "table", "--table is entries, runs or rcp");
    import->table = (enum mlperf_table)i;
    return ST_OK;
}

static enum status print_table(struct import *import, struct error *err)
{
    struct mlperf_entry *entry = malloc(sizeof *entry);
    enum status status = ST_OK;
    struct buf out;

    if (entry == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "out of memory");
    buf_init(&out, OUTPUT_BYTES_MAX);
    mlperf_table_begin(&out, import->table);
    for (size_t i = 0; i < import->tree.path_count && status == ST_OK; i++) {
        struct error fault = {0};

        status = mlperf_entry_load(&import->tree, i, entry, &fault);
        if (status == ST_OK)
            mlperf_table_add(&out, import->table, entry);
        if (status == ST_INVALID || status == ST_LIMIT ||
            (status == ST_OK && entry->result.refused)) {
            tell_refusal(import, entry, &fault);
            status = ST_OK;
        } else if (status == ST_OK) {
            import->taken++;
        } else {
            status = error_set(err, status, NULL, "%s: %s", entry->path, fault.detail);
        }
        mlperf_entry_fini(entry);
    }
    if (status == ST_OK)
        status = buf_check(&out, err);
    if (status == ST_OK && (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0))
        status = error_set(err, ST_IO, NULL, "cannot write to stdout");
    log_event(LOG_INFO, "import-mlperf", "taken=%zu refused=%zu reference_points=%s", import->taken,
              import->refused, import->tree.has_rcp ? "tree" : "built-in");
    buf_fini(&out);
    free(entry);
    return status;
}

/* One sentence an entry, on stderr: stdout is the table. */
static void tell_refusal(struct import *import, const struct mlperf_entry *entry,
                         const struct error *fault)
{
    const struct mlperf_check *check = entry->result.refusal;

    import->refused++;
    if (fault->status != ST_OK)
        (void)fprintf(stderr, "daybreakd import-mlperf: %s is refused: %s\n", entry->path,
                      fault->detail);
    else
        (void)fprintf(stderr, "daybreakd import-mlperf: %s is refused: %s\n", entry->path,
                      check->detail);
}
