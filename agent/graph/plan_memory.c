/* agent/graph/plan_memory.c: where every value lies, and which groups wait (plan_internal.h).
 *
 * Groups between two barriers form a stage and may run at once, so lifetimes count in stages: memory is used again
 * only in a later stage than its last reader's, except in place, by the last reader itself.
 *
 *   assigned value -> the variable's own memory when nobody needs the old one any more, else arena + writeback
 *   prepared value -> the prepared block, one after the other, then what is packed: they stay
 *   other value    -> the arena: largest first, each at the lowest offset that is free during its life  */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/graph/plan_internal.h"

/* What is known of the memory of one slot that is no view. */
struct root {
    uint32_t group, stage; /* of the writer; UINT32_MAX: input, variable's old value */
    uint32_t last_stage;   /* of a reader; without one, of the writer */
    uint32_t reader_count; /* groups that read it in last_stage */
    uint32_t last_reader;  /* the last of them */
    uint32_t item;         /* of the arena; SLOT_NONE: elsewhere */
    bool kept;             /* to the end: output, writeback */
};

/* One range of the arena: a value, several in place, or scratch. */
struct item {
    uint64_t bytes, offset;
    uint32_t first, last, number; /* number: makes the order total */
};

struct layout {
    struct program *program;
    struct root *roots;
    uint32_t *stages;
    struct item *items;
    uint32_t *scratch_item; /* of groups */
    size_t item_count;
};

static void read_roots(struct layout *layout);
static void note_read(struct root *root, uint32_t group, uint32_t stage);
static void place_assigned(struct layout *layout, const struct store *store);
static bool try_in_variable(struct layout *layout, const struct var *var, uint32_t slot,
                            uint32_t old_slot);
static bool old_is_free(const struct layout *layout, uint32_t old_slot, uint32_t new_root);
static bool may_share(const struct program *program, const struct group *group, uint32_t from,
                      uint32_t to);
static void place_prepared(struct layout *layout);
static void make_items(struct layout *layout);
static uint32_t find_in_place(const struct layout *layout, uint32_t group, uint32_t result);
static void fit_items(struct layout *layout);
static int compare_items(const void *left, const void *right);
static uint64_t lowest_offset(const struct item *const *placed, size_t count,
                              const struct item *item, struct item const **scratch);
static int compare_offsets(const void *left, const void *right);

static const struct op *group_op(const struct program *program, size_t group)
{
    return &program->ops[program->groups[group].op_first];
}

static bool reads(const struct group *group, uint32_t operand)
{
    return group->kernel != NULL && (group->fit.unread_mask >> operand & 1) == 0;
}

void plan_old_slots(const struct program *program, uint32_t *old_slots, size_t var_count)
{
    for (size_t v = 0; v < var_count; v++)
        old_slots[v] = SLOT_NONE;
    for (size_t i = 0; i < program->op_count; i++)
        if (program->ops[i].kind == OP_VAR)
            old_slots[program->ops[i].attr.source.index] =
                program->operands[program->ops[i].out_first];
}

/* Does the group read what this stage wrote, or may its result take the place of what this stage reads? */
static bool must_wait(const struct program *program, const struct group *group,
                      const uint32_t *written, const uint32_t *read, const uint32_t *target,
                      uint32_t stage)
{
    const struct op *op = &program->ops[group->op_first];

    for (uint32_t k = 0; k < op->in_count; k++)
        if (reads(group, k) &&
            written[program_root(program, program->operands[op->in_first + k])] == stage)
            return true;
    for (uint32_t k = 0; k < op->out_count; k++) {
        const uint32_t slot = program->operands[op->out_first + k];

        if (target[slot] != 0 && read[target[slot] - 1] == stage)
            return true;
    }
    return false;
}

/* A barrier before a group that reads what its stage wrote, and before one whose result may take the place of a
 * variable that its stage reads: a microsecond of waiting against a copy of the variable. */
void plan_place_barriers(struct program *program, const struct store *store)
{
    uint32_t *written = plan_heap(program->slot_count + 1, sizeof *written);
    uint32_t *read = plan_heap(program->slot_count + 1, sizeof *read);
    uint32_t *target = plan_heap(program->slot_count + 1, sizeof *target); /* old slot + 1 */
    uint32_t *old_slots = plan_heap(store_count(store) + 1, sizeof *old_slots);
    uint32_t stage = 1; /* 0 in the arrays: never */
    bool ran_prepared = false;

    plan_old_slots(program, old_slots, store_count(store));
    for (size_t i = 0; i < program->op_count; i++) {
        const struct op *op = &program->ops[i];

        if (op->kind == OP_ASSIGN && old_slots[op->attr.source.index] != SLOT_NONE)
            target[program_root(program, program->operands[op->in_first])] =
                old_slots[op->attr.source.index] + 1;
    }
    for (size_t i = 0; i < program->group_count; i++) {
        struct group *group = &program->groups[i];
        const struct op *op = group_op(program, i);

        if (group->kernel == NULL)
            continue;
        group->barrier = i >= program->prepare_count && ran_prepared;
        ran_prepared = i < program->prepare_count;
        group->barrier = group->barrier || must_wait(program, group, written, read, target, stage);
        stage += group->barrier ? 1 : 0;
        for (uint32_t k = 0; k < op->in_count; k++)
            if (reads(group, k))
                read[program_root(program, program->operands[op->in_first + k])] = stage;
        for (uint32_t k = 0; k < op->out_count; k++)
            written[program->operands[op->out_first + k]] = stage;
    }
    free(old_slots);
    free(target);
    free(read);
    free(written);
}

void plan_place_memory(struct program *program, const struct store *store)
{
    struct layout layout = {.program = program};

    layout.roots = plan_heap(program->slot_count + 1, sizeof *layout.roots);
    layout.stages = plan_heap(program->group_count + 1, sizeof *layout.stages);
    layout.items = plan_heap(program->slot_count + program->group_count + 1, sizeof *layout.items);
    layout.scratch_item = plan_heap(program->group_count + 1, sizeof *layout.scratch_item);
    program_stages(program, layout.stages);
    read_roots(&layout);
    place_assigned(&layout, store);
    place_prepared(&layout);
    make_items(&layout);
    fit_items(&layout);

    for (size_t s = 0; s < program->slot_count; s++) {
        struct slot *slot = &program->slots[s];

        if (slot->place == PLACE_ARENA)
            slot->offset = layout.items[layout.roots[s].item].offset;
        else if (slot->place == PLACE_VIEW)
            slot->var = program->slots[program_root(program, (uint32_t)s)].var;
    }
    for (size_t s = 0; s < program->slot_count; s++) /* bases have their offsets now */
        if (program->slots[s].place == PLACE_VIEW)
            program->slots[s].offset = program->slots[program_root(program, (uint32_t)s)].offset;
    for (size_t i = 0; i < program->group_count; i++)
        if (layout.scratch_item[i] != SLOT_NONE)
            program->groups[i].scratch_offset = layout.items[layout.scratch_item[i]].offset;
    free(layout.scratch_item);
    free(layout.items);
    free(layout.stages);
    free(layout.roots);
}

static void read_roots(struct layout *layout)
{
    const struct program *program = layout->program;

    for (size_t s = 0; s < program->slot_count; s++)
        layout->roots[s] = (struct root){
            .group = UINT32_MAX, .stage = UINT32_MAX, .last_reader = UINT32_MAX, .item = SLOT_NONE};
    for (size_t i = 0; i < program->group_count; i++) {
        const struct op *op = group_op(program, i);

        for (uint32_t k = 0; program->groups[i].kernel != NULL && k < op->out_count; k++) {
            struct root *root = &layout->roots[program->operands[op->out_first + k]];

            root->group = (uint32_t)i;
            root->stage = root->last_stage = layout->stages[i];
        }
        for (uint32_t k = 0; k < op->in_count; k++)
            if (reads(&program->groups[i], k))
                note_read(
                    &layout->roots[program_root(program, program->operands[op->in_first + k])],
                    (uint32_t)i, layout->stages[i]);
        if (op->kind == OP_OUTPUT)
            layout->roots[program_root(program, program->operands[op->in_first])].kept = true;
    }
}

/* Groups come in schedule order, so stages never fall. */
static void note_read(struct root *root, uint32_t group, uint32_t stage)
{
    if (root->reader_count > 0 && root->last_reader == group)
        return; /* a second operand of the same group */
    root->reader_count =
        root->reader_count > 0 && root->last_stage == stage ? root->reader_count + 1 : 1;
    root->last_reader = group;
    root->last_stage = stage;
}

static void place_assigned(struct layout *layout, const struct store *store)
{
    struct program *program = layout->program;
    uint32_t *old_slots = plan_heap(store_count(store) + 1, sizeof *old_slots);

    plan_old_slots(program, old_slots, store_count(store));
    program->writebacks = plan_heap(program->op_count + 1, sizeof *program->writebacks);
    program->assigned_vars = plan_heap(program->op_count + 1, sizeof *program->assigned_vars);
    for (size_t i = 0; i < program->op_count; i++) {
        const struct op *op = &program->ops[i];
        const struct var *var;
        uint32_t slot;

        if (op->kind != OP_ASSIGN)
            continue;
        var = store_at(store, op->attr.source.index);
        slot = program->operands[op->in_first];
        program->assigned_vars[program->assigned_var_count++] = var->index;
        if (try_in_variable(layout, var, slot, old_slots[var->index]))
            continue;
        layout->roots[program_root(program, slot)].kept = true;
        program->writebacks[program->writeback_count++] = (struct writeback){
            .slot = slot, .var = var->index, .offset = var->offset, .bytes = var->bytes};
    }
    free(old_slots);
}

/* Writes the value straight into the variable when all readers of the old one have ended by then. */
static bool try_in_variable(struct layout *layout, const struct var *var, uint32_t slot,
                            uint32_t old_slot)
{
    struct program *program = layout->program;
    const uint32_t root = program_root(program, slot);
    struct slot *place = &program->slots[root];

    if (layout->roots[root].group == UINT32_MAX || place->place != PLACE_ARENA ||
        layout->roots[root].group < program->prepare_count || place->bytes != var->bytes)
        return false;
    if (old_slot != SLOT_NONE && !old_is_free(layout, old_slot, root))
        return false;
    place->place = PLACE_VARIABLE;
    place->var = var->index;
    place->offset = var->offset;
    return true;
}

static bool old_is_free(const struct layout *layout, uint32_t old_slot, uint32_t new_root)
{
    const struct program *program = layout->program;
    const uint32_t writer = layout->roots[new_root].group;

    for (size_t i = 0; i < program->group_count; i++) {
        const struct op *op = group_op(program, i);

        for (uint32_t k = 0; k < op->in_count; k++) {
            if (!reads(&program->groups[i], k) ||
                program_root(program, program->operands[op->in_first + k]) != old_slot)
                continue;
            if (i == writer) {
                if (!may_share(program, &program->groups[i], old_slot, new_root))
                    return false;
            } else if (layout->stages[i] >= layout->stages[writer]) {
                return false;
            }
        }
    }
    return true;
}

/* May the result `to` of the group be the memory of its operand `from`? Every operand that lies there must agree. */
static bool may_share(const struct program *program, const struct group *group, uint32_t from,
                      uint32_t to)
{
    const struct op *op = &program->ops[group->op_first];
    bool found = false;

    if (program->slots[from].bytes != program->slots[to].bytes)
        return false;
    for (uint32_t k = 0; k < op->in_count; k++) {
        if (program_root(program, program->operands[op->in_first + k]) != from || !reads(group, k))
            continue;
        if ((group->fit.inplace_mask >> k & 1) == 0 ||
            program->operands[op->out_first + op_paired_result(op->kind, k)] != to)
            return false;
        found = true;
    }
    return found;
}

static void place_prepared(struct layout *layout)
{
    struct program *program = layout->program;

    for (size_t s = 0; s < program->slot_count; s++) {
        const uint32_t group = layout->roots[s].group;

        if (program->slots[s].place != PLACE_ARENA || group == UINT32_MAX ||
            group >= program->prepare_count)
            continue;
        program->slots[s].place = PLACE_PREPARED;
        program->slots[s].offset = program->prepared_bytes;
        program->prepared_bytes += plan_align(program->slots[s].bytes);
    }
    for (size_t i = program->prepare_count; i < program->group_count; i++) {
        struct group *group = &program->groups[i];

        if (!group->packed)
            continue;
        if (group->packer == i) {
            group->scratch_offset = program->prepared_bytes;
            program->prepared_bytes += plan_align(group->fit.scratch_bytes);
        } else {
            group->scratch_offset = program->groups[group->packer].scratch_offset;
        }
    }
}

/* In schedule order, so that a chain of values in place grows along its one item. */
static void make_items(struct layout *layout)
{
    struct program *program = layout->program;

    for (size_t i = 0; i < program->group_count; i++) {
        const struct group *group = &program->groups[i];
        const struct op *op = group_op(program, i);

        layout->scratch_item[i] = SLOT_NONE;
        for (uint32_t k = 0; group->kernel != NULL && k < op->out_count; k++) {
            const uint32_t slot = program->operands[op->out_first + k];
            struct root *root = &layout->roots[slot];
            const uint32_t last = root->kept ? UINT32_MAX : root->last_stage;

            if (program->slots[slot].place != PLACE_ARENA)
                continue;
            root->item = find_in_place(layout, (uint32_t)i, slot);
            if (root->item == SLOT_NONE) {
                root->item = (uint32_t)layout->item_count++;
                layout->items[root->item] =
                    (struct item){.bytes = plan_align(program->slots[slot].bytes),
                                  .first = root->stage,
                                  .last = last,
                                  .number = root->item};
            }
            layout->items[root->item].last = last;
        }
        if (group->kernel != NULL && group->fit.scratch_bytes > 0 && !group->packed) {
            layout->scratch_item[i] = (uint32_t)layout->item_count++;
            layout->items[layout->scratch_item[i]] =
                (struct item){.bytes = plan_align(group->fit.scratch_bytes),
                              .first = layout->stages[i],
                              .last = layout->stages[i],
                              .number = layout->scratch_item[i]};
        }
    }
}

/* The item of an operand that dies with this group, its stage's only reader, and whose memory the result may take. */
static uint32_t find_in_place(const struct layout *layout, uint32_t group, uint32_t result)
{
    const struct program *program = layout->program;
    const struct op *op = group_op(program, group);

    for (uint32_t k = 0; k < op->in_count; k++) {
        const uint32_t from = program_root(program, program->operands[op->in_first + k]);
        const struct root *root = &layout->roots[from];

        if (program->slots[from].place == PLACE_ARENA && !root->kept &&
            root->last_reader == group && root->reader_count == 1 &&
            layout->items[root->item].last == layout->stages[group] &&
            may_share(program, &program->groups[group], from, result))
            return root->item;
    }
    return SLOT_NONE;
}

static void fit_items(struct layout *layout)
{
    struct item **order = plan_heap(layout->item_count + 1, sizeof(struct item *));
    struct item const **scratch = plan_heap(layout->item_count + 1, sizeof(struct item *));

    for (size_t i = 0; i < layout->item_count; i++)
        order[i] = &layout->items[i];
    qsort(order, layout->item_count, sizeof(struct item *), compare_items);
    for (size_t i = 0; i < layout->item_count; i++) {
        order[i]->offset = lowest_offset((const struct item *const *)order, i, order[i], scratch);
        if (layout->program->arena_bytes < order[i]->offset + order[i]->bytes)
            layout->program->arena_bytes = order[i]->offset + order[i]->bytes;
    }
    free(scratch);
    free(order);
}

/* Largest first; then the earlier one, then by number. */
static int compare_items(const void *left, const void *right)
{
    const struct item *a = *(struct item *const *)left, *b = *(struct item *const *)right;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static uint64_t lowest_offset(const struct item *const *placed, size_t count,
                              const struct item *item, struct item const **scratch)
{
    size_t rival_count = 0;
    uint64_t offset = 0;

    for (size_t i = 0; i < count; i++)
        if (placed[i]->first <= item->last && item->first <= placed[i]->last)
            scratch[rival_count++] = placed[i];
    qsort(scratch, rival_count, sizeof(struct item *), compare_offsets);
    for (size_t i = 0; i < rival_count; i++) {
        if (scratch[i]->offset >= offset + item->bytes)
            break;
        if (scratch[i]->offset + scratch[i]->bytes > offset)
            offset = scratch[i]->offset + scratch[i]->bytes;
    }
    return offset;
}

static int compare_offsets(const void *left, const void *right)
{
    const struct item *a = *(struct item *const *)left, *b = *(struct item *const *)right;

    return a->offset < b->offset ? -1 : a->offset > b->offset;
}
