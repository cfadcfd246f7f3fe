/* tests/support/analysis_case.h: made-up entries, runs and evaluations for the tests of server/analysis, and looking into
 * the tables that come of them. Include the system headers that cmocka needs before.
 * Ownership: a board holds all. */
#ifndef DAYBREAK_TESTS_SUPPORT_ANALYSIS_CASE_H
#define DAYBREAK_TESTS_SUPPORT_ANALYSIS_CASE_H

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "server/analysis/trials.h"

#define CASE_ARENA_BYTES ((size_t)4 << 20)
#define CASE_ENTRIES     12
#define CASE_TRIALS      120

struct case_board {
    struct entry_record records[CASE_ENTRIES];
    struct trial_entry entries[CASE_ENTRIES];
    struct trial trials[CASE_TRIALS];
    size_t count, trial_count;
};

/* Ids count from 1; epochs 0: its log does not tell them; tta_s 0: it has no time. */
static inline struct entry_record *case_add(struct case_board *board, double tta_s, double epochs)
{
    static const char *const models[] = {"m1", "m2", "m3", "m4",  "m5",  "m6",
                                         "m7", "m8", "m9", "m10", "m11", "m12"};
    const size_t i = board->count++;

    board->records[i] = (struct entry_record){.id = (int64_t)i + 1,
                                              .state = "accepted",
                                              .model = models[i],
                                              .author = "Ada",
                                              .framework = "F",
                                              .hardware = "H",
                                              .device_model = "D"};
    board->records[i].tta_ns = (struct opt_i64){tta_s > 0.0, llround(tta_s * 1e9)};
    board->entries[i] = (struct trial_entry){
        .entry = &board->records[i], .tta_s = tta_s, .epochs = epochs, .trials = NULL};
    return &board->records[i];
}

/* A run of the entry that was added last: tta_s 0: it missed. */
static inline struct trial *case_add_trial(struct case_board *board, double tta_s, double epochs)
{
    struct trial_entry *entry = &board->entries[board->count - 1];
    struct trial *trial = &board->trials[board->trial_count++];

    if (entry->trials == NULL)
        entry->trials = trial;
    *trial = (struct trial){.run = (int64_t)board->trial_count + 100,
                            .ordinal = (int64_t)++entry->trial_count,
                            .state = tta_s > 0.0 ? "reached" : "missed",
                            .reached = tta_s > 0.0,
                            .scored = tta_s > 0.0,
                            .tta_s = tta_s,
                            .epochs = tta_s > 0.0 ? epochs : 0.0};
    return trial;
}

static inline const struct table_cell *case_cell(const struct table *table, size_t row,
                                                 const char *key)
{
    return &table_row(table, row)[table_find(table, key)];
}

static inline void assert_near(double found, double wanted)
{
    if (!(fabs(found - wanted) <= 1e-6 * fabs(wanted) + 1e-12))
        fail_msg("%.17g, not %.17g", found, wanted);
}

/* A number of a row, or that there is none: NAN. */
static inline void assert_cell(const struct table *table, size_t row, const char *key,
                               double wanted)
{
    const struct table_cell *cell = case_cell(table, row, key);

    if (cell->has != !isnan(wanted))
        fail_msg("row %zu, %s: %s", row, key, cell->has ? "there is one" : "there is none");
    if (cell->has)
        assert_near(cell->number, wanted);
}

static inline void assert_count(const struct table *table, size_t row, const char *key,
                                int64_t wanted)
{
    const struct table_cell *cell = case_cell(table, row, key);

    assert_true(cell->has);
    assert_int_equal(cell->integer, wanted);
}

/* How little memory a build takes to fail is its own matter; that it says so, and works with enough, is not. */
#define ASSERT_NEEDS_MEMORY(call)                                                                  \
    do {                                                                                           \
        enum status status_ = ST_NO_MEMORY;                                                        \
        for (size_t bytes_ = 16; status_ != ST_OK; bytes_ += 48) {                                 \
            struct arena arena;                                                                    \
            struct error err = {0};                                                                \
            arena_init(&arena, bytes_);                                                            \
            status_ = (call);                                                                      \
            assert_true(status_ == ST_OK ? bytes_ > 100                                            \
                                         : status_ == ST_NO_MEMORY && err.status == ST_NO_MEMORY); \
            arena_fini(&arena);                                                                    \
        }                                                                                          \
    } while (0)

#endif
