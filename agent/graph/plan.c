/* agent/graph/plan.c: the passes in order (plan.h), and the program that comes of the draft. */
#include "agent/graph/plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/graph/plan_internal.h"
#include "common/str.h"

static enum status make_draft(struct draft *draft, const struct graph *g, struct backend *backend,
                              const struct plan_options *options, struct error *err);
static struct program *make_program(const struct draft *draft, const struct graph *g);
static uint32_t add_slots(struct program *program, const struct draft *draft,
                          const struct draft_op *op, const struct store *store,
                          uint32_t *slot_of_value);
static void set_place(struct program *program, const struct draft *draft, const struct draft_op *op,
                      uint32_t slot, const struct store *store);
static void add_name(struct named_slot *names, size_t *count, const char *name, uint32_t slot);
static bool needs_kernel(enum op_kind kind);
static enum status choose_kernels(struct program *program, struct backend *backend,
                                  struct error *err);
static void mark_packed(struct program *program);
static bool packs_alike(const struct program *program, const struct group *a,
                        const struct group *b);
static void count_work(struct program *program);
static void list_prepare_vars(struct program *program);

enum status plan_build(const struct graph *g, struct backend *backend,
                       const struct plan_options *options, struct program **program,
                       struct error *err)
{
    struct draft draft;
    struct program *made = NULL;
    uint64_t bytes;
    enum status status = make_draft(&draft, g, backend, options, err);

    if (status != ST_OK)
        goto done;
    made = make_program(&draft, g);
    if (!backend->ops->whole_program) {
        status = choose_kernels(made, backend, err);
        if (status != ST_OK)
            goto done;
        mark_packed(made);
        count_work(made);
        plan_place_barriers(made, graph_store(g));
        plan_place_memory(made, graph_store(g));
        list_prepare_vars(made);
        status = plan_check(made, err);
        if (status != ST_OK)
            goto done;
    }
    bytes = made->arena_bytes + made->prepared_bytes;
    if (options->memory_bytes_max != 0 && bytes > options->memory_bytes_max) {
        status = error_set(
            err, ST_LIMIT, "memory", "The plan of %s needs %llu bytes, %llu are allowed.",
            made->name, (unsigned long long)bytes, (unsigned long long)options->memory_bytes_max);
        goto done;
    }
    *program = made;
    made = NULL;
done:
    program_destroy(made);
    draft_fini(&draft);
    return status;
}

uint64_t plan_align(uint64_t bytes)
{
    return (bytes + PLAN_ALIGN - 1) / PLAN_ALIGN * PLAN_ALIGN;
}

void *plan_heap(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (memory == NULL) {
        (void)fputs("plan: out of memory\n", stderr);
        exit(4); /* NOLINT(concurrency-mt-unsafe): one thread */
    }
    return memory;
}

void *plan_grow(void *memory, size_t count, size_t size)
{
    void *grown = realloc(memory, count * size);

    if (grown == NULL) {
        (void)fputs("plan: out of memory\n", stderr);
        exit(4); /* NOLINT(concurrency-mt-unsafe): one thread */
    }
    return grown;
}

/* Composites are expanded before equal ops merge and before the prepare list, so that their parts take part. A
 * backend that takes the whole program fuses by itself: for it the ops are only merged and pruned. */
static enum status make_draft(struct draft *draft, const struct graph *g, struct backend *backend,
                              const struct plan_options *options, struct error *err)
{
    enum status status = ST_OK;

    draft_take(draft, g);
    if (!backend->ops->whole_program)
        status = draft_expand(draft, err);
    if (status != ST_OK)
        return status;
    draft_merge(draft);
    draft_copy_old(draft);
    draft_prune(draft);
    if (!backend->ops->whole_program) {
        if (options->fuse) {
            draft_fuse(draft, backend);
            draft_prune(draft);
        }
        draft_mark_prepared(draft);
        draft_schedule(draft);
    }
    return ST_OK;
}

/* Ops in schedule order, one group each; slots are numbered in the order in which they are written. */
static struct program *make_program(const struct draft *draft, const struct graph *g)
{
    const size_t n = draft->op_count + 1;
    struct program *program = plan_heap(1, sizeof *program);
    uint32_t *slot_of_value = plan_heap(draft->value_count + 1, sizeof *slot_of_value);
    size_t operand_count = 0;

    for (size_t i = 0; i < draft->op_count; i++)
        operand_count += draft->ops[i].op.in_count + draft->ops[i].op.out_count;
    (void)snprintf(program->name, sizeof program->name, "%s", graph_name(g));
    program->ops = plan_heap(n, sizeof *program->ops);
    program->groups = plan_heap(n, sizeof *program->groups);
    program->operands = plan_heap(operand_count + 1, sizeof *program->operands);
    program->slots = plan_heap(draft->value_count + 1, sizeof *program->slots);
    program->inputs = plan_heap(n, sizeof *program->inputs);
    program->outputs = plan_heap(n, sizeof *program->outputs);
    program->prepare_vars = plan_heap(n, sizeof *program->prepare_vars);
    program->labels = plan_heap(draft->label_bytes, 1);
    memcpy(program->labels, draft->labels, draft->label_bytes);
    program->label_bytes = draft->label_bytes;
    for (size_t i = 0; i < draft->op_count; i++) {
        const struct draft_op *op = &draft->ops[i];
        struct op *to = &program->ops[i];

        *to = op->op;
        to->in_first = (uint32_t)program->operand_count;
        for (uint32_t k = 0; k < op->op.in_count; k++)
            program->operands[program->operand_count++] = slot_of_value[op->in[k]];
        to->out_first = add_slots(program, draft, op, graph_store(g), slot_of_value);
        if (op->op.kind == OP_OUTPUT)
            add_name(program->outputs, &program->output_count, draft->labels + op->name,
                     slot_of_value[op->in[0]]);
        program->groups[i] =
            (struct group){.op_first = (uint32_t)i, .op_count = 1, .anchor = (uint32_t)i};
        program->prepare_count += op->prepared ? 1 : 0;
    }
    program->op_count = program->group_count = draft->op_count;
    free(slot_of_value);
    return program;
}

static uint32_t add_slots(struct program *program, const struct draft *draft,
                          const struct draft_op *op, const struct store *store,
                          uint32_t *slot_of_value)
{
    const uint32_t first = (uint32_t)program->operand_count;

    for (uint32_t k = 0; k < op->op.out_count; k++) {
        const uint32_t slot = (uint32_t)program->slot_count++;

        program->slots[slot].tensor = draft->tensors[op->out[k]];
        program->slots[slot].bytes = tensor_bytes(&draft->tensors[op->out[k]]);
        program->operands[program->operand_count++] = slot;
        slot_of_value[op->out[k]] = slot;
        set_place(program, draft, op, slot, store);
    }
    return first;
}

/* What is known before memory is laid out; ARENA stands for "not yet". */
static void set_place(struct program *program, const struct draft *draft, const struct draft_op *op,
                      uint32_t slot, const struct store *store)
{
    struct slot *to = &program->slots[slot];

    to->place = PLACE_ARENA;
    if (op->op.kind == OP_VAR) {
        const struct var *var = store_at(store, op->op.attr.source.index);

        to->place = PLACE_VARIABLE;
        to->var = var->index;
        to->offset = var->offset;
    } else if (op->op.kind == OP_INPUT) {
        to->place = PLACE_INPUT;
        to->var = (uint32_t)program->input_count;
        to->offset = program->input_bytes;
        program->input_bytes += plan_align(to->bytes);
        add_name(program->inputs, &program->input_count, draft->labels + op->name, slot);
    } else if (op->op.kind == OP_RESHAPE) {
        to->place = PLACE_VIEW;
        to->base = program->operands[program->operand_count - 2]; /* [.. operand, this slot] */
    }
}

static void add_name(struct named_slot *names, size_t *count, const char *name, uint32_t slot)
{
    struct named_slot *to = &names[(*count)++];

    assert(strlen(name) < sizeof to->name);
    (void)snprintf(to->name, sizeof to->name, "%s", name);
    to->slot = slot;
}

static bool needs_kernel(enum op_kind kind)
{
    return kind != OP_INPUT && kind != OP_VAR && kind != OP_ASSIGN && kind != OP_OUTPUT &&
           kind != OP_RESHAPE;
}

static enum status choose_kernels(struct program *program, struct backend *backend,
                                  struct error *err)
{
    for (size_t i = 0; i < program->group_count; i++) {
        struct group *group = &program->groups[i];
        const struct op *op = &program->ops[group->anchor];

        if (needs_kernel(op->kind) && !backend->ops->accept(backend, program, group))
            return error_set(err, ST_UNSUPPORTED, op_info(op->kind)->name,
                             "The backend %s refuses %s at %s: %s.", backend->ops->name,
                             op_info(op->kind)->name, program->labels + op->label, group->why);
    }
    return ST_OK;
}

/* Weights that this program does not write are packed once, for all groups that want them packed alike. */
static void mark_packed(struct program *program)
{
    bool *prepared = plan_heap(program->slot_count + 1, sizeof *prepared);

    for (size_t i = 0; i < program->prepare_count; i++) {
        const struct op *op = &program->ops[i];

        for (uint32_t k = 0; k < op->out_count; k++)
            prepared[program->operands[op->out_first + k]] = true;
    }
    for (size_t i = program->prepare_count; i < program->group_count; i++) {
        struct group *group = &program->groups[i];

        if (group->kernel == NULL || !group->kernel->packs || group->fit.scratch_bytes == 0 ||
            !prepared[program->operands[program->ops[group->op_first].in_first + 1]])
            continue;
        group->packed = true;
        group->packer = (uint32_t)i;
        for (size_t j = program->prepare_count; j < i && group->packer == i; j++)
            if (program->groups[j].packed && packs_alike(program, &program->groups[j], group))
                group->packer = (uint32_t)j;
    }
    free(prepared);
}

static bool packs_alike(const struct program *program, const struct group *a, const struct group *b)
{
    const struct op *left = &program->ops[a->op_first], *right = &program->ops[b->op_first];
    const uint32_t *operands = program->operands;

    return a->kernel == b->kernel &&
           operands[left->in_first + 1] == operands[right->in_first + 1] &&
           tensor_same_shape(&program->slots[operands[left->in_first]].tensor,
                             &program->slots[operands[right->in_first]].tensor) &&
           memcmp(&left->attr, &right->attr, /* NOLINT(bugprone-suspicious-memory-comparison) */
                  sizeof left->attr) == 0;
}

/* Flops by the op's rule; bytes: each operand that the kernel reads, and each result, once. */
static void count_work(struct program *program)
{
    for (size_t i = 0; i < program->group_count; i++) {
        struct group *group = &program->groups[i];
        const struct op *op = &program->ops[group->op_first];
        const struct tensor *in[OP_IN_MAX], *out[OP_OUT_MAX];

        if (group->kernel == NULL)
            continue;
        for (uint32_t k = 0; k < op->in_count; k++) {
            const struct slot *slot = &program->slots[program->operands[op->in_first + k]];

            in[k] = &slot->tensor;
            group->bytes += (group->fit.unread_mask >> k & 1) == 0 ? slot->bytes : 0;
        }
        for (uint32_t k = 0; k < op->out_count; k++) {
            const struct slot *slot = &program->slots[program->operands[op->out_first + k]];

            out[k] = &slot->tensor;
            group->bytes += slot->bytes;
        }
        group->flops = op_flops(op, in, out);
        group->flops_other = op_flops_other(op, in, out);
        if (i >= program->prepare_count)
            program->flops += group->flops;
    }
}

/* The variables whose change makes the prepared block stale. */
static void list_prepare_vars(struct program *program)
{
    bool *listed = plan_heap(program->slot_count + 1, sizeof *listed);

    for (size_t i = 0; i < program->group_count; i++) {
        const struct group *group = &program->groups[i];
        const struct op *op = &program->ops[group->op_first];

        for (uint32_t k = 0; group->kernel != NULL && k < op->in_count; k++) {
            const uint32_t root = program_root(program, program->operands[op->in_first + k]);

            if (!(i < program->prepare_count || (group->packed && k == 1)) ||
                program->slots[root].place != PLACE_VARIABLE || listed[root])
                continue;
            listed[root] = true;
            program->prepare_vars[program->prepare_var_count++] = program->slots[root].var;
        }
    }
    free(listed);
}
