/* agent/graph/plan_print.c: a program as text: what runs, with which kernel and why, and where everything lies. The
 * same program prints the same text, so its hash names the plan.
 *
 *   = 12 conv2d [conv2d_f32_avx512] %3:a+4096 %1:v2+0 -> %9:a+8192 f32[8,31,31,64]  scratch 256 at 0  (2.conv1)
 *   "packed": scratch in the prepared block. "=": prepared, "!": a barrier stands before it; a arena, p prepared, v variable, i input, w view of a slot.  */
#include <stdlib.h>

#include "agent/graph/plan.h"
#include "agent/graph/plan_internal.h"
#include "common/str.h"

static void print_place(const struct program *program, uint32_t slot, FILE *out);
static void print_group(const struct program *program, size_t index, FILE *out);

void plan_print(const struct program *program, FILE *out)
{
    (void)fprintf(out,
                  "program %s: %zu groups, %zu prepared; arena %llu bytes, prepared %llu, inputs "
                  "%llu; %llu flops\n",
                  program->name, program->group_count, program->prepare_count,
                  (unsigned long long)program->arena_bytes,
                  (unsigned long long)program->prepared_bytes,
                  (unsigned long long)program->input_bytes, (unsigned long long)program->flops);
    for (size_t i = 0; i < program->group_count; i++)
        print_group(program, i, out);
    for (size_t i = 0; i < program->writeback_count; i++) {
        const struct writeback *it = &program->writebacks[i];

        (void)fputs("copy", out);
        print_place(program, it->slot, out);
        (void)fprintf(out, " -> v%u+%llu, %llu bytes\n", it->var, (unsigned long long)it->offset,
                      (unsigned long long)it->bytes);
    }
}

static void print_operands(const struct program *program, const struct group *group,
                           const struct op *op, FILE *out)
{
    char text[TENSOR_TEXT_BYTES];

    for (uint32_t k = 0; k < op->in_count; k++) {
        print_place(program, program->operands[op->in_first + k], out);
        if ((group->fit.unread_mask >> k & 1) != 0)
            (void)fputs("(unread)", out);
    }
    (void)fputs(op->out_count > 0 ? " ->" : "", out);
    for (uint32_t k = 0; k < op->out_count; k++) {
        const uint32_t slot = program->operands[op->out_first + k];
        const struct tensor *tensor = &program->slots[slot].tensor;

        print_place(program, slot, out);
        (void)fprintf(out, " %s", tensor_format(tensor, text));
    }
}

static void print_group(const struct program *program, size_t index, FILE *out)
{
    const struct group *group = &program->groups[index];

    for (uint32_t n = 0; n < group->op_count; n++) {
        const struct op *op = &program->ops[group->op_first + n];
        const int mark = group->barrier && n == 0         ? '!'
                         : index < program->prepare_count ? '='
                                                          : ' ';

        (void)fprintf(out, "%c %zu %s [%s]", mark, index, op_info(op->kind)->name,
                      group->kernel == NULL ? "-" : group->kernel->name);
        print_operands(program, group, op, out);
        if (group->fit.scratch_bytes > 0 && n == 0)
            (void)fprintf(out, "  %s %zu at %llu", group->packed ? "packed" : "scratch",
                          group->fit.scratch_bytes, (unsigned long long)group->scratch_offset);
        (void)fprintf(out, "  (%s)%s%s\n", program->labels + op->label,
                      group->why[0] != '\0' ? "  " : "", group->why);
    }
}

static void print_place(const struct program *program, uint32_t slot, FILE *out)
{
    const struct slot *it = &program->slots[slot];
    const unsigned long long offset = (unsigned long long)it->offset;

    switch (it->place) {
    case PLACE_ARENA: (void)fprintf(out, " %%%u:a+%llu", slot, offset); break;
    case PLACE_PREPARED: (void)fprintf(out, " %%%u:p+%llu", slot, offset); break;
    case PLACE_VARIABLE: (void)fprintf(out, " %%%u:v%u+%llu", slot, it->var, offset); break;
    case PLACE_INPUT: (void)fprintf(out, " %%%u:i%u+%llu", slot, it->var, offset); break;
    case PLACE_VIEW: (void)fprintf(out, " %%%u:w%u", slot, it->base); break;
    }
}
