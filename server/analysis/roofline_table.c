/* server/analysis/roofline_table.c: a roofline as tables (see roofline.h). */
#include "server/analysis/roofline.h"

static const struct table_column fact_columns[] = {
    {"run", "Run", TABLE_COUNT, TABLE_DATA},
    {"measured", "Measured", TABLE_TEXT, TABLE_ALWAYS},
    {"workload", "Workload", TABLE_TEXT, TABLE_ALWAYS},
    {"recipe", "Recipe", TABLE_TEXT, TABLE_ALWAYS},
    {"device", "Device", TABLE_TEXT, TABLE_ALWAYS},
    {"device_model", "Model", TABLE_TEXT, TABLE_ALWAYS},
    {"isa", "Instruction set", TABLE_TEXT, TABLE_ALWAYS},
    {"precision", "Precision", TABLE_TEXT, TABLE_ALWAYS},
    {"threads", "Threads", TABLE_COUNT, TABLE_ALWAYS},
    {"batch", "Batch", TABLE_COUNT, TABLE_ALWAYS},
    {"fusion", "Fusion", TABLE_FLAG, TABLE_ALWAYS},
    {"step_s", "Step", TABLE_SECONDS, TABLE_ALWAYS},
    {"groups_s", "Its kernels", TABLE_SECONDS, TABLE_ALWAYS},
    {"plain_s", "Step, not profiled", TABLE_SECONDS, TABLE_ALWAYS},
    {"examples_per_s", "Examples per second", TABLE_NUMBER, TABLE_ALWAYS},
    {"utilisation", "Utilisation", TABLE_SHARE, TABLE_ALWAYS},
    {"energy_j", "Energy, J", TABLE_NUMBER, TABLE_ALWAYS},
};
/* The first three are a kernel's alone: the table of kinds has the columns behind them. */
static const struct table_column dot_columns[] = {
    {"kernel", "Kernel", TABLE_TEXT, TABLE_ALWAYS},
    {"label", "Where", TABLE_TEXT, TABLE_MID},
    {"phase", "Phase", TABLE_TEXT, TABLE_MID},
    {"kind", "Kind", TABLE_TEXT, TABLE_ALWAYS},
    {"type", "Type", TABLE_TEXT, TABLE_MID},
    {"calls", "Calls", TABLE_COUNT, TABLE_MID},
    {"seconds", "Time", TABLE_SECONDS, TABLE_ALWAYS},
    {"step_share", "Of the kernels", TABLE_SHARE, TABLE_MID},
    {"flops", "Flops", TABLE_COUNT, TABLE_DATA},
    {"products", "Of products", TABLE_COUNT, TABLE_DATA},
    {"l1_bytes", "From L1", TABLE_BYTES, TABLE_DATA},
    {"l2_bytes", "From L2", TABLE_BYTES, TABLE_DATA},
    {"l3_bytes", "From L3", TABLE_BYTES, TABLE_DATA},
    {"memory_bytes", "From memory", TABLE_BYTES, TABLE_MID},
    {"level", "Level", TABLE_TEXT, TABLE_MID},
    {"intensity", "Flops/byte there", TABLE_NUMBER, TABLE_MID},
    {"flops_per_s", "Reached", TABLE_FLOP_RATE, TABLE_MID},
    {"attainable_flops_per_s", "Attainable", TABLE_FLOP_RATE, TABLE_MID},
    {"attainable_s", "Attainable time", TABLE_SECONDS, TABLE_DATA},
    {"roof", "Bound by", TABLE_TEXT, TABLE_ALWAYS},
    {"share", "Of that roof", TABLE_SHARE, TABLE_ALWAYS},
    {"source", "Counts", TABLE_TEXT, TABLE_MID},
};
#define KERNEL_COLUMNS 3
static const struct table_column roof_columns[] = {
    {"roof", "Roof", TABLE_TEXT, TABLE_ALWAYS},
    {"bytes_per_s", "Bandwidth", TABLE_BYTE_RATE, TABLE_ALWAYS},
    {"read_bytes_per_s", "Reading", TABLE_BYTE_RATE, TABLE_MID},
    {"copy_bytes_per_s", "Copying", TABLE_BYTE_RATE, TABLE_MID},
    {"capacity_bytes", "Holds", TABLE_BYTES, TABLE_MID},
    {"flops_per_s", "Peak", TABLE_FLOP_RATE, TABLE_ALWAYS},
};
static const struct table_column phase_columns[] = {
    {"phase", "Phase", TABLE_TEXT, TABLE_ALWAYS},
    {"seconds", "Time", TABLE_SECONDS, TABLE_ALWAYS},
    {"share", "Of the step", TABLE_SHARE, TABLE_ALWAYS},
};

static void name_parts(struct analysis *analysis);
static enum status init_tables(const struct run_profile *profile, struct arena *arena,
                               struct analysis *analysis, struct error *err);
static void fill_facts(int64_t run, const struct run_profile *profile,
                       const struct roofline *roofline, struct table *table);
static void fill_dots(const struct roofline_dot *dots, size_t count, double groups_s,
                      size_t first_column, struct table *table);
static void fill_roofs(const struct run_profile *profile, const struct roofline *roofline,
                       struct table *table);
static void fill_phases(const struct run_profile *profile, struct table *table);
static const char *make_lead(struct arena *arena, const struct roofline *roofline);

enum status roofline_build(int64_t run, const struct run_profile *profile, struct arena *arena,
                           struct analysis *analysis, struct error *err)
{
    struct roofline roofline;
    enum status status = roofline_place(profile, arena, &roofline, err);

    if (status != ST_OK)
        return status;
    name_parts(analysis);
    status = init_tables(profile, arena, analysis, err);
    if (status != ST_OK)
        return status;
    fill_facts(run, profile, &roofline, &analysis->facts);
    fill_dots(roofline.kinds, roofline.kind_count, roofline.groups_s, KERNEL_COLUMNS,
              &analysis->parts[0].table);
    fill_dots(roofline.kernels, roofline.kernel_count, roofline.groups_s, 0,
              &analysis->parts[1].table);
    fill_roofs(profile, &roofline, &analysis->parts[2].table);
    fill_phases(profile, &analysis->parts[3].table);
    analysis->lead = make_lead(arena, &roofline);
    return analysis->lead == NULL ? error_set(err, ST_NO_MEMORY, NULL, "no memory for a roofline")
                                  : ST_OK;
}

static void name_parts(struct analysis *analysis)
{
    static const struct table_chart dots = {.kind = "scatter",
                                            .x = "intensity",
                                            .y = "flops_per_s",
                                            .x_title = "Operational intensity, flops/byte",
                                            .y_title = "Reached, FLOP/s",
                                            .roofs = "roofs",
                                            .log_x = true,
                                            .log_y = true};

    *analysis = (struct analysis){.part_count = 4};
    analysis->parts[0] = (struct analysis_part){
        .key = "kinds",
        .title = "Roofline by kind of kernel",
        .caption =
            "Level: the one whose bandwidth leaves a kernel the longest time. Bound by: the roof "
            "that "
            "does, this level\u2019s or the peak; of that roof: this time over the measured one.",
        .empty = "The profile names no kernel.",
        .chart = dots};
    analysis->parts[0].chart.series = "roof";
    analysis->parts[1] = (struct analysis_part){
        .key = "kernels",
        .title = "Every kernel",
        .caption = "A point is the calls of one kernel at one place of the graph, in one step.",
        .empty = "The profile names no kernel.",
        .chart = dots};
    analysis->parts[1].chart.series = "roof";
    analysis->parts[2] = (struct analysis_part){
        .key = "roofs",
        .title = "Roofs of this host",
        .caption = "Measured in turn with the profile, on the same threads. A level\u2019s roof is "
                   "the greater of reading and copying.",
        .empty = "The profile has no ceiling."};
    analysis->parts[3] = (struct analysis_part){
        .key = "phases",
        .title = "Time by phase",
        .caption = "Of one step; an evaluation is the run\u2019s last one, whole.",
        .empty = "The profile has no phase."};
}

static enum status init_tables(const struct run_profile *profile, struct arena *arena,
                               struct analysis *analysis, struct error *err)
{
    const struct {
        struct table *table;
        const struct table_column *columns;
        size_t column_count, rows;
    } tables[] = {
        {&analysis->facts, fact_columns, ARRAY_LEN(fact_columns), 1},
        {&analysis->parts[0].table, dot_columns + KERNEL_COLUMNS,
         ARRAY_LEN(dot_columns) - KERNEL_COLUMNS, profile->group_count},
        {&analysis->parts[1].table, dot_columns, ARRAY_LEN(dot_columns), profile->group_count},
        {&analysis->parts[2].table, roof_columns, ARRAY_LEN(roof_columns), ROOFLINE_ROOFS_MAX},
        {&analysis->parts[3].table, phase_columns, ARRAY_LEN(phase_columns), STEP_PHASE_COUNT + 2},
    };
    enum status status = ST_OK;

    for (size_t i = 0; i < ARRAY_LEN(tables) && status == ST_OK; i++)
        status = table_init(tables[i].table, arena, tables[i].columns, tables[i].column_count,
                            tables[i].rows, err);
    return status;
}

static void fill_facts(int64_t run, const struct run_profile *profile,
                       const struct roofline *roofline, struct table *table)
{
    struct table_cell *row = table_add_row(table);

    row[0] = cell_count(run);
    row[1] = cell_text(profile->measured);
    row[2] = cell_text(profile->workload);
    row[3] = cell_text(profile->recipe);
    row[4] = cell_text(profile->device);
    row[5] = cell_text(profile->device_model);
    row[6] = cell_text(profile->isa);
    row[7] = cell_text(profile->precision);
    row[8] = cell_count(profile->threads);
    row[9] = cell_count(profile->batch);
    row[10] = cell_count(profile->fusion);
    row[11] = cell_number(profile->step_s);
    row[12] = cell_number(roofline->groups_s);
    row[13] = cell_number(profile->plain_s);
    row[14] = cell_number(profile->examples_per_s);
    row[15] = cell_number(roofline->utilisation);
    row[16] = cell_if(profile->has_energy, cell_number(profile->energy_j));
}

/* Of a kind there are no cells for kernel, label and phase: row[c] is dot_columns[first_column + c]. */
static void fill_dots(const struct roofline_dot *dots, size_t count, double groups_s,
                      size_t first_column, struct table *table)
{
    for (size_t i = 0; i < count; i++) {
        const struct roofline_dot *dot = &dots[i];
        struct table_cell *row = table_add_row(table);

        if (first_column == 0) {
            row[0] = cell_text(dot->kernel);
            row[1] = cell_text(dot->label);
            row[2] = cell_text(dot->phase);
            row += KERNEL_COLUMNS;
        }
        row[0] = cell_text(dot->kind);
        row[1] = cell_text(peak_type_name(dot->type));
        row[2] = cell_count(dot->calls);
        row[3] = cell_number(dot->seconds);
        row[4] = cell_if(groups_s > 0.0, cell_number(dot->seconds / groups_s));
        row[5] = cell_count(dot->flops);
        row[6] = cell_count(dot->products);
        for (int level = 0; level < LEVEL_COUNT; level++)
            row[7 + level] = cell_count(dot->bytes[level]);
        row[11] = cell_text(memory_level_name(dot->level));
        row[12] = cell_if(dot->has_intensity, cell_number(dot->intensity));
        row[13] = cell_if(dot->has_intensity, cell_number(dot->flops_per_s));
        row[14] = cell_if(dot->has_intensity, cell_number(dot->attainable_flops_per_s));
        row[15] = cell_number(dot->attainable_s);
        row[16] = cell_text(dot->roof->name);
        row[17] = cell_number(dot->share);
        row[18] = cell_text(dot->counted ? "counted" : "modelled");
    }
}

/* Levels come first, in order, so that the profile's own stand beside them. */
static void fill_roofs(const struct run_profile *profile, const struct roofline *roofline,
                       struct table *table)
{
    int level = 0;

    for (size_t i = 0; i < roofline->roof_count; i++) {
        const struct roofline_roof *roof = &roofline->roofs[i];
        struct table_cell *row = table_add_row(table);

        row[0] = cell_text(roof->name);
        if (roof->is_peak) {
            row[5] = cell_number(roof->value);
            continue;
        }
        while (!profile->levels[level].has)
            level++;
        row[1] = cell_number(roof->value);
        row[2] = cell_number(profile->levels[level].read_bytes_per_s);
        row[3] = cell_number(profile->levels[level].copy_bytes_per_s);
        row[4] = cell_if(level != LEVEL_MEMORY, cell_count(profile->levels[level].capacity_bytes));
        level++;
    }
}

static void fill_phases(const struct run_profile *profile, struct table *table)
{
    struct table_cell *row;

    for (int i = 0; i < STEP_PHASE_COUNT; i++) {
        row = table_add_row(table);
        row[0] = cell_text(step_phase_name((enum step_phase)i));
        row[1] = cell_number(profile->phase_s[i]);
        row[2] = cell_number(profile->phase_s[i] / profile->step_s);
    }
    row = table_add_row(table);
    row[0] = cell_text("communication");
    row[1] = cell_number(profile->communication_s);
    row[2] = cell_number(profile->communication_s / profile->step_s);
    if (profile->has_evaluation) {
        row = table_add_row(table);
        row[0] = cell_text("evaluation");
        row[1] = cell_number(profile->evaluation_s);
    }
}

static const char *make_lead(struct arena *arena, const struct roofline *roofline)
{
    const struct roofline_dot *most = roofline->kinds;

    if (roofline->kind_count == 0 || !(roofline->groups_s > 0.0))
        return "The profile names no kernel that took time.";
    return arena_printf(arena,
                        "Kernels of kind %.*s take %.1f %% of the step and reach %.1f %% of what "
                        "binds them, %s %s. Counted by their definition, as if no algorithm saved "
                        "any, matrix products "
                        "and convolutions use %.1f %% of their peak over the step as trained.",
                        name_cut(most->kind, NAME_BYTES), most->kind,
                        100.0 * most->seconds / roofline->groups_s, 100.0 * most->share,
                        most->roof->is_peak ? "the peak of" : "the bandwidth of", most->roof->name,
                        100.0 * roofline->utilisation);
}
