/* server/api/submission_check.h: what is said of the files of a submission before anything is stored: what the judge
 * found, the warnings that only the store knows, where the figures would come, and what would become of it. The API and
 * the page /submit say the same because both ask here.
 * Ownership: all in the request's arena, or borrowed from its body. Threads: workers. */
#ifndef DAYBREAK_SERVER_API_SUBMISSION_CHECK_H
#define DAYBREAK_SERVER_API_SUBMISSION_CHECK_H

#include <stdbool.h>

#include "server/api/submission_form.h"
#include "server/api/submission_write.h"
#include "server/store/records.h"
#include "server/store/verbs.h"

struct submission_verdict {
    struct submission_form form;
    struct intake_result result;
    bool is_whole;              /* all files that the task needs are there */
    struct board_places places; /* of what is acceptable; none of a file that has no figure alone */
    bool has_outcome;           /* by the task's policy and review, where it has a place */
    struct admission outcome;   /* state also "refused": the task takes none */
};

/* A dry run: one file alone is judged as far as it goes. Needs no caller, stores nothing. Findings are no error; what is
 * one: submission_form_read(). */
enum status submission_check(struct request *request, struct submission_verdict *verdict,
                             struct error *err);

/* The same of what is to be stored, made ready for verb_submit; for the caller who was authenticated. */
struct submission_work {
    struct submission_verdict verdict; /* without its outcome: that is the verb's */
    struct new_entry entry;            /* these two of acceptable files alone */
    struct submit submit;
};
enum status submission_prepare(struct request *request, struct submission_work *work,
                               struct error *err);

/* On the first of them, by time or latency. */
struct opt_i64 submission_first_place(const struct board_places *places);

#endif
