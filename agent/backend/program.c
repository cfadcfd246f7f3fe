/* agent/backend/program.c: reading a program: see backend.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/backend/backend.h"
#include "common/str.h"

static const struct slot *find_slot(const struct program *program, const struct named_slot *names,
                                    size_t count, const char *name);
static bool in_blocks(const struct slot *slot);
static void note_group(const struct program *program, const struct group *group, uint32_t stage,
                       struct lifetime *lifetimes);

void program_destroy(struct program *program)
{
    if (program == NULL)
        return;
    free(program->ops);
    free(program->operands);
    free(program->slots);
    free(program->groups);
    free(program->writebacks);
    free(program->inputs);
    free(program->outputs);
    free(program->prepare_vars);
    free(program->assigned_vars);
    free(program->labels);
    free(program);
}

void program_stages(const struct program *program, uint32_t *stages)
{
    uint32_t stage = 0;

    for (size_t i = 0; i < program->group_count; i++) {
        stage += program->groups[i].barrier ? 1 : 0;
        stages[i] = stage;
    }
}

uint32_t program_root(const struct program *program, uint32_t slot)
{
    assert(slot < program->slot_count);
    while (program->slots[slot].place == PLACE_VIEW)
        slot = program->slots[slot].base;
    return slot;
}

uint32_t op_paired_result(enum op_kind kind, uint32_t operand)
{
    return kind == OP_SGD && operand == 2 ? 1 : 0;
}

void program_lifetimes(const struct program *program, struct lifetime *lifetimes)
{
    uint32_t *stages = malloc((program->group_count + 1) * sizeof *stages);

    if (stages == NULL)
        abort();
    program_stages(program, stages);
    memset(lifetimes, 0, program->slot_count * sizeof *lifetimes);
    for (size_t i = 0; i < program->group_count; i++)
        note_group(program, &program->groups[i], stages[i], lifetimes);
    for (size_t i = 0; i < program->output_count; i++)
        lifetimes[program_root(program, program->outputs[i].slot)].last = UINT32_MAX;
    for (size_t i = 0; i < program->writeback_count; i++)
        lifetimes[program_root(program, program->writebacks[i].slot)].last = UINT32_MAX;
    free(stages);
}

const struct slot *program_output(const struct program *program, const char *name)
{
    return find_slot(program, program->outputs, program->output_count, name);
}

const struct slot *program_input(const struct program *program, const char *name)
{
    return find_slot(program, program->inputs, program->input_count, name);
}

/* A view's offset is its base's, so the named slot itself may be handed out; the place is the root's. */
static const struct slot *find_slot(const struct program *program, const struct named_slot *names,
                                    size_t count, const char *name)
{
    size_t i = 0;

    while (i < count && strcmp(names[i].name, name) != 0)
        i++;
    assert(i < count); /* a program has the inputs and outputs that its users know */
    return &program->slots[program_root(program, names[i].slot)];
}

/* Only these two blocks are laid out by lifetime or at least by the plan. */
static bool in_blocks(const struct slot *slot)
{
    return slot->place == PLACE_ARENA || slot->place == PLACE_PREPARED;
}

static void note_group(const struct program *program, const struct group *group, uint32_t stage,
                       struct lifetime *lifetimes)
{
    for (uint32_t k = 0; group->kernel != NULL && k < group->op_count; k++) {
        const struct op *op = &program->ops[group->op_first + k];

        for (uint32_t i = 0; i < op->out_count; i++) {
            const uint32_t root = program_root(program, program->operands[op->out_first + i]);

            lifetimes[root].live = in_blocks(&program->slots[root]);
            lifetimes[root].first = stage;
            if (lifetimes[root].last < stage)
                lifetimes[root].last = stage;
        }
        for (uint32_t i = 0; i < op->in_count; i++) {
            const uint32_t root = program_root(program, program->operands[op->in_first + i]);

            if ((group->fit.unread_mask >> i & 1) == 0 && lifetimes[root].last < stage)
                lifetimes[root].last = stage;
        }
    }
}
