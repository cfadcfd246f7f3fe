/* agent/workload/cifar10_profile.c: where the time of a program goes, group by group (cifar10_internal.h). */
#include <stdlib.h>

#include "agent/workload/cifar10_internal.h"
#include "common/str.h"

struct line {
    const struct program *program;
    size_t group;
    double seconds;
};

static int compare_lines(const void *left, const void *right);
static void print_line(const struct line *line, double total, FILE *out);

enum status cifar10_print_profile(struct cifar10_state *state, enum cifar10_program program,
                                  int runs, FILE *out, struct error *err)
{
    const struct program *it = session_program(state->session, state->programs[program]);
    struct group_time *times = calloc(it->group_count + 1, sizeof *times);
    struct line *lines = calloc(it->group_count + 1, sizeof *lines);
    double total = 0.0;
    enum status status = ST_NO_MEMORY;

    if (times == NULL || lines == NULL) {
        (void)error_set(err, status, NULL, "no memory for a profile");
        goto done;
    }
    status = session_profile(state->session, state->programs[program], runs, times, err);
    if (status != ST_OK)
        goto done;
    for (size_t i = 0; i < it->group_count; i++) {
        lines[i] = (struct line){it, i, times[i].seconds / runs};
        total += lines[i].seconds;
    }
    qsort(lines, it->group_count, sizeof *lines, compare_lines);
    (void)fprintf(out, "%s: %.6f s a run, %.1f GFLOP/s over all, arena %.1f MB\n", it->name, total,
                  (double)it->flops / total * 1e-9, (double)it->arena_bytes * 1e-6);
    (void)fputs("     ms  share  GFLOP/s    GB/s  op, kernel, result (label)\n", out);
    for (size_t i = 0; i < it->group_count && lines[i].seconds > 0.0; i++)
        print_line(&lines[i], total, out);
done:
    free(lines);
    free(times);
    return status;
}

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left, *b = right;

    if (a->seconds != b->seconds)
        return a->seconds > b->seconds ? -1 : 1;
    return a->group < b->group ? -1 : a->group > b->group;
}

static void print_line(const struct line *line, double total, FILE *out)
{
    const struct program *program = line->program;
    const struct group *group = &program->groups[line->group];
    const struct op *op = &program->ops[group->anchor];
    char text[TENSOR_TEXT_BYTES];

    if (group->kernel == NULL)
        return;
    (void)fprintf(out, "%7.3f  %4.1f%%  %7.1f  %6.1f  %s %s %s (%s) %s\n", line->seconds * 1e3,
                  100.0 * line->seconds / total, (double)group->flops / line->seconds * 1e-9,
                  (double)group->bytes / line->seconds * 1e-9, op_info(op->kind)->name,
                  group->kernel->name,
                  tensor_format(&program->slots[program->operands[op->out_first]].tensor, text),
                  program->labels + op->label, group->why);
}
