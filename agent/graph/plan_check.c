/* agent/graph/plan_check.c: proves a finished program, from the program alone: it shares no code with the passes
 * that made it but the reading of stages and lifetimes (plan.h). */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/graph/plan.h"
#include "agent/graph/plan_internal.h"
#include "common/str.h"

#define GROUP_NONE UINT32_MAX

struct check {
    const struct program *program;
    uint32_t *stages;       /* of groups */
    uint32_t *writer;       /* of slots: the group that makes it, source ops and views included */
    struct lifetime *lives; /* of slots */
    struct error *err;
};

/* A range of the arena and the stages in which it is held. */
struct range {
    uint64_t from, to;
    uint32_t first, last, slot, group; /* slot: SLOT_NONE for a group's scratch */
};

static enum status fault(struct check *check, uint32_t group, const char *what);
static enum status check_order(struct check *check);
static enum status check_group(struct check *check, uint32_t group);
static enum status check_operand(struct check *check, uint32_t group, uint32_t slot, bool is_read);
static enum status check_result(struct check *check, uint32_t group, uint32_t slot);
static enum status check_places(struct check *check);
static enum status check_packed(struct check *check, uint64_t prepared_end);
static enum status check_ranges(struct check *check);
static size_t list_ranges(const struct check *check, struct range *ranges);
static bool in_place(const struct check *check, const struct range *old, const struct range *new);
static bool group_shares(const struct check *check, uint32_t group, uint32_t from, uint32_t to);
static enum status check_variables(struct check *check);
static enum status check_old_readers(struct check *check, uint32_t old_slot, uint32_t new_slot);
static bool is_read_in_time(const struct check *check, uint32_t reader, uint32_t old_slot,
                            uint32_t new_slot);
static enum status check_writebacks(struct check *check);

enum status plan_check(const struct program *program, struct error *err)
{
    struct check check = {.program = program, .err = err};
    enum status status;

    check.stages = plan_heap(program->group_count + 1, sizeof *check.stages);
    check.writer = plan_heap(program->slot_count + 1, sizeof *check.writer);
    check.lives = plan_heap(program->slot_count + 1, sizeof *check.lives);
    program_stages(program, check.stages);
    for (size_t s = 0; s < program->slot_count; s++)
        check.writer[s] = GROUP_NONE;
    status = check_order(&check);
    if (status == ST_OK) {
        program_lifetimes(program, check.lives); /* roots exist: check_order() saw to it */
        status = check_places(&check);
    }
    if (status == ST_OK)
        status = check_ranges(&check);
    if (status == ST_OK)
        status = check_variables(&check);
    if (status == ST_OK)
        status = check_writebacks(&check);
    free(check.lives);
    free(check.writer);
    free(check.stages);
    return status;
}

static enum status fault(struct check *check, uint32_t group, const char *what)
{
    const struct program *program = check->program;

    if (group >= program->group_count)
        return error_set(check->err, ST_INTERNAL, program->name, "Plan of %s: %s.", program->name,
                         what);
    return error_set(check->err, ST_INTERNAL, program->name, "Plan of %s, group %u (%s, %s): %s.",
                     program->name, group,
                     op_info(program->ops[program->groups[group].anchor].kind)->name,
                     program->labels + program->ops[program->groups[group].anchor].label, what);
}

/* Every slot is made once, before it is used, and a stage before a kernel reads it. */
static enum status check_order(struct check *check)
{
    const struct program *program = check->program;
    size_t next_op = 0;
    enum status status = ST_OK;

    for (uint32_t g = 0; g < program->group_count && status == ST_OK; g++) {
        if (program->groups[g].op_first != next_op || program->groups[g].op_count == 0)
            return fault(check, g, "its ops do not follow the group before");
        next_op += program->groups[g].op_count;
        status = check_group(check, g);
    }
    if (status == ST_OK && next_op != program->op_count)
        status = fault(check, GROUP_NONE, "ops are left without a group");
    for (size_t s = 0; s < program->slot_count && status == ST_OK; s++)
        if (check->writer[s] == GROUP_NONE)
            status = fault(check, GROUP_NONE, "a slot is made by no op");
    return status;
}

static enum status check_group(struct check *check, uint32_t group)
{
    const struct program *program = check->program;
    const struct group *it = &program->groups[group];
    enum status status = ST_OK;

    for (uint32_t n = 0; n < it->op_count && status == ST_OK; n++) {
        const struct op *op = &program->ops[it->op_first + n];
        const bool source = op->kind == OP_INPUT || op->kind == OP_VAR || op->kind == OP_ASSIGN ||
                            op->kind == OP_OUTPUT || op->kind == OP_RESHAPE;

        if ((it->kernel == NULL) != source)
            return fault(check, group, "it has a kernel and needs none, or the reverse");
        for (uint32_t k = 0; k < op->in_count && status == ST_OK; k++)
            status = check_operand(check, group, program->operands[op->in_first + k],
                                   it->kernel != NULL && (it->fit.unread_mask >> k & 1) == 0);
        for (uint32_t k = 0; k < op->out_count && status == ST_OK; k++)
            status = check_result(check, group, program->operands[op->out_first + k]);
    }
    return status;
}

static enum status check_operand(struct check *check, uint32_t group, uint32_t slot, bool is_read)
{
    const struct program *program = check->program;
    uint32_t root, writer;

    if (slot >= program->slot_count || check->writer[slot] == GROUP_NONE)
        return fault(check, group, "an operand is not made yet");
    root = program_root(program, slot);
    writer = check->writer[root];
    if (!is_read || writer == group)
        return ST_OK;
    if (program->groups[writer].kernel != NULL && check->stages[writer] >= check->stages[group])
        return fault(check, group, "no barrier stands between it and the writer of an operand");
    if (group < program->prepare_count && writer >= program->prepare_count)
        return fault(check, group, "it is prepared and reads what is not");
    return ST_OK;
}

static enum status check_result(struct check *check, uint32_t group, uint32_t slot)
{
    const struct program *program = check->program;
    const struct slot *it;
    uint32_t base = slot;

    if (slot >= program->slot_count || check->writer[slot] != GROUP_NONE)
        return fault(check, group, "a result is made twice");
    check->writer[slot] = group;
    it = &program->slots[slot];
    if (it->bytes != tensor_bytes(&it->tensor))
        return fault(check, group, "a slot's bytes are not its tensor's");
    if (it->place == PLACE_VIEW) {
        base = it->base;
        if (program->groups[group].kernel != NULL || base >= program->slot_count ||
            check->writer[base] == GROUP_NONE)
            return fault(check, group, "a view has no base before it");
        if (program->slots[base].bytes != it->bytes || program->slots[base].offset != it->offset)
            return fault(check, group, "a view is not its base's memory");
    }
    return ST_OK;
}

/* Blocks are as large as what lies in them, and aligned; prepared values lie in their own block, apart. */
static enum status check_places(struct check *check)
{
    const struct program *program = check->program;
    uint64_t prepared_end = 0, input_end = 0;

    for (size_t s = 0; s < program->slot_count; s++) {
        const struct slot *slot = &program->slots[s];
        const uint32_t writer = check->writer[s];
        const uint64_t end = slot->offset + slot->bytes;

        if (slot->offset % PLAN_ALIGN != 0)
            return fault(check, writer, "a slot is not aligned");
        if (slot->place == PLACE_ARENA && end > program->arena_bytes)
            return fault(check, writer, "a slot leaves the arena");
        if (slot->place == PLACE_PREPARED || slot->place == PLACE_ARENA)
            if ((slot->place == PLACE_PREPARED) != (writer < program->prepare_count))
                return fault(check, writer, "prepared values and the others are mixed up");
        if (slot->place == PLACE_PREPARED) {
            if (slot->offset < prepared_end)
                return fault(check, writer, "two prepared values overlap");
            prepared_end = end;
        }
        if (slot->place == PLACE_INPUT) {
            if (slot->offset < input_end)
                return fault(check, writer, "two inputs overlap");
            input_end = end;
        }
    }
    if (prepared_end > program->prepared_bytes || input_end > program->input_bytes)
        return fault(check, GROUP_NONE, "a block is smaller than what lies in it");
    return check_packed(check, prepared_end);
}

/* What is packed lies behind the prepared values, each in a place of its own, and is made of what is prepared. A group
 * that shares it has the same kernel and operand as the packer. */
static enum status check_packed(struct check *check, uint64_t prepared_end)
{
    const struct program *program = check->program;

    for (uint32_t g = 0; g < program->group_count; g++) {
        const struct group *group = &program->groups[g], *packer;
        const struct op *op = &program->ops[group->op_first];

        if (!group->packed)
            continue;
        if (group->kernel == NULL || !group->kernel->packs || g < program->prepare_count ||
            check->writer[program->operands[op->in_first + 1]] >= program->prepare_count)
            return fault(check, g, "it is packed of what is not prepared");
        if (group->packer > g)
            return fault(check, g, "its packer comes after it");
        packer = &program->groups[group->packer];
        if (packer->packer != group->packer || !packer->packed || packer->kernel != group->kernel ||
            program->operands[program->ops[packer->op_first].in_first + 1] !=
                program->operands[op->in_first + 1] ||
            packer->fit.scratch_bytes != group->fit.scratch_bytes ||
            packer->scratch_offset != group->scratch_offset)
            return fault(check, g, "it shares what is packed otherwise");
        if (packer != group)
            continue;
        if (group->scratch_offset < prepared_end || group->scratch_offset % PLAN_ALIGN != 0)
            return fault(check, g, "what it packs overlaps, or is not aligned");
        prepared_end = group->scratch_offset + group->fit.scratch_bytes;
    }
    if (prepared_end > program->prepared_bytes)
        return fault(check, GROUP_NONE, "the prepared block is smaller than what is packed");
    return ST_OK;
}

static enum status check_ranges(struct check *check)
{
    const struct program *program = check->program;
    struct range *ranges =
        plan_heap(program->slot_count + program->group_count + 1, sizeof *ranges);
    const size_t count = list_ranges(check, ranges);
    enum status status = ST_OK;

    for (size_t i = 0; i < count && status == ST_OK; i++) {
        if (ranges[i].to > program->arena_bytes || ranges[i].from % PLAN_ALIGN != 0)
            status = fault(check, ranges[i].group, "scratch leaves the arena");
        for (size_t j = i + 1; j < count && status == ST_OK; j++) {
            const struct range *a = &ranges[i], *b = &ranges[j];

            if (a->to <= b->from || b->to <= a->from || a->last < b->first || b->last < a->first)
                continue;
            if (!in_place(check, a, b) && !in_place(check, b, a))
                status = fault(check, b->group, "its memory is somebody else's at that time");
        }
    }
    free(ranges);
    return status;
}

static size_t list_ranges(const struct check *check, struct range *ranges)
{
    const struct program *program = check->program;
    size_t count = 0;

    for (uint32_t s = 0; s < program->slot_count; s++)
        if (check->lives[s].live && program->slots[s].place == PLACE_ARENA)
            ranges[count++] =
                (struct range){.from = program->slots[s].offset,
                               .to = program->slots[s].offset + program->slots[s].bytes,
                               .first = check->lives[s].first,
                               .last = check->lives[s].last,
                               .slot = s,
                               .group = check->writer[s]};
    for (uint32_t g = 0; g < program->group_count; g++)
        if (program->groups[g].kernel != NULL && program->groups[g].fit.scratch_bytes > 0 &&
            !program->groups[g].packed)
            ranges[count++] = (struct range){.from = program->groups[g].scratch_offset,
                                             .to = program->groups[g].scratch_offset +
                                                   program->groups[g].fit.scratch_bytes,
                                             .first = check->stages[g],
                                             .last = check->stages[g],
                                             .slot = SLOT_NONE,
                                             .group = g};
    return count;
}

/* Is `new` the result that takes over the memory of `old`, which dies with the group that writes `new`? */
static bool in_place(const struct check *check, const struct range *old, const struct range *new)
{
    if (old->slot == SLOT_NONE || new->slot == SLOT_NONE || old->from != new->from ||
        old->to != new->to || old->last != new->first)
        return false;
    return group_shares(check, new->group, old->slot, new->slot);
}

/* All operands of the group that lie in `from` may share with the result `to`, and its stage has no other reader. */
static bool group_shares(const struct check *check, uint32_t group, uint32_t from, uint32_t to)
{
    const struct program *program = check->program;
    bool found = false;

    for (uint32_t g = 0; g < program->group_count; g++) {
        const struct group *it = &program->groups[g];

        if (it->kernel == NULL || check->stages[g] != check->stages[group])
            continue;
        for (uint32_t n = 0; n < it->op_count; n++) {
            const struct op *op = &program->ops[it->op_first + n];

            for (uint32_t k = 0; k < op->in_count; k++) {
                if (program_root(program, program->operands[op->in_first + k]) != from ||
                    (it->fit.unread_mask >> k & 1) != 0)
                    continue;
                if (g != group || (it->fit.inplace_mask >> k & 1) == 0 ||
                    program->operands[op->out_first + op_paired_result(op->kind, k)] != to)
                    return false;
                found = true;
            }
        }
    }
    return found;
}

/* A value that is written into its variable: nobody may read the old one in that stage or later. */
static enum status check_variables(struct check *check)
{
    const struct program *program = check->program;
    enum status status = ST_OK;

    for (uint32_t s = 0; s < program->slot_count && status == ST_OK; s++) {
        const struct slot *new = &program->slots[s];

        if (new->place != PLACE_VARIABLE || program->groups[check->writer[s]].kernel == NULL)
            continue;
        for (uint32_t o = 0; o < program->slot_count && status == ST_OK; o++) {
            const struct slot *old = &program->slots[o];

            if (o == s || old->place != PLACE_VARIABLE || old->var != new->var)
                continue;
            if (old->offset != new->offset || old->bytes != new->bytes)
                status = fault(check, check->writer[s], "a variable has two places");
            else if (program->groups[check->writer[o]].kernel != NULL)
                status = fault(check, check->writer[s], "a variable is written twice");
            else
                status = check_old_readers(check, o, s);
        }
    }
    return status;
}

static enum status check_old_readers(struct check *check, uint32_t old_slot, uint32_t new_slot)
{
    const struct program *program = check->program;

    for (uint32_t g = 0; g < program->group_count; g++) {
        const struct group *it = &program->groups[g];

        for (uint32_t n = 0; n < it->op_count; n++) {
            const struct op *op = &program->ops[it->op_first + n];

            for (uint32_t k = 0; k < op->in_count; k++) {
                if (program_root(program, program->operands[op->in_first + k]) != old_slot)
                    continue;
                if (op->kind == OP_OUTPUT || op->kind == OP_ASSIGN)
                    return fault(check, g, "it needs a variable's old value at the end");
                if (it->kernel == NULL || (it->fit.unread_mask >> k & 1) != 0)
                    continue;
                if (!is_read_in_time(check, g, old_slot, new_slot))
                    return fault(check, g, "it reads a variable that is overwritten by then");
            }
        }
    }
    return ST_OK;
}

/* Before the writer's stage, or in it when the writer takes the old value to its own place. */
static bool is_read_in_time(const struct check *check, uint32_t reader, uint32_t old_slot,
                            uint32_t new_slot)
{
    const uint32_t writer = check->writer[new_slot];

    return check->stages[reader] < check->stages[writer] ||
           (check->stages[reader] == check->stages[writer] &&
            group_shares(check, writer, old_slot, new_slot));
}

/* Each assigned variable is written once: by a kernel or by one copy, from memory that no copy changes. */
static enum status check_writebacks(struct check *check)
{
    const struct program *program = check->program;

    for (size_t i = 0; i < program->writeback_count; i++) {
        const struct writeback *it = &program->writebacks[i];
        const struct slot *from;

        if (it->slot >= program->slot_count)
            return fault(check, GROUP_NONE, "a writeback copies from nowhere");
        from = &program->slots[program_root(program, it->slot)];
        if (from->bytes != it->bytes)
            return fault(check, GROUP_NONE, "a writeback has another size than its variable");
        for (size_t j = 0; j < program->writeback_count; j++)
            if ((j != i && program->writebacks[j].var == it->var) ||
                (from->place == PLACE_VARIABLE && program->writebacks[j].var == from->var))
                return fault(check, GROUP_NONE, "two writebacks touch one variable");
        for (size_t s = 0; s < program->slot_count; s++)
            if (program->slots[s].place == PLACE_VARIABLE && program->slots[s].var == it->var &&
                program->groups[check->writer[s]].kernel != NULL)
                return fault(check, GROUP_NONE, "a variable is written and copied over");
    }
    return ST_OK;
}
