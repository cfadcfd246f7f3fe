/* agent/profile/traffic.c: see traffic.h. The model is one list of pieces of memory, the last touched first: the bytes
 * that stand before a piece are those that a cache would have to hold to hold this one as well. */
#include "agent/profile/traffic.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_LEVELS LEVEL_MEMORY
#define PLACE_SHIFT  56 /* of an address: each block of memory has a space of its own */

struct piece {
    uint64_t begin, end;
};

struct model {
    const struct program *program;
    uint64_t capacity[CACHE_LEVELS]; /* not falling */
    struct piece *pieces;            /* the last touched first */
    size_t count, size;
    bool no_memory;
};

static void run_group(struct model *model, const struct group *group, int64_t bytes[LEVEL_COUNT]);
static void run_writebacks(struct model *model, int64_t bytes[LEVEL_COUNT]);
static uint64_t operand_bytes(const struct model *model, const struct op *op, uint32_t index);
static uint64_t result_bytes(const struct model *model, const struct op *op, uint32_t index);
static struct piece place_of(const struct model *model, uint32_t slot);
static void touch(struct model *model, struct piece piece, int64_t bytes[LEVEL_COUNT]);
static void look_up(const struct model *model, struct piece piece, int64_t bytes[LEVEL_COUNT]);
static void move_to_front(struct model *model, struct piece piece);

enum status traffic_model(const struct program *program, const int64_t capacity[LEVEL_COUNT],
                          int64_t (*bytes)[LEVEL_COUNT], struct error *err)
{
    struct model model = {.program = program};

    for (int i = 0; i < CACHE_LEVELS; i++) {
        const uint64_t before = i > 0 ? model.capacity[i - 1] : 0;

        model.capacity[i] = capacity[i] > (int64_t)before ? (uint64_t)capacity[i] : before;
    }
    for (int pass = 0; pass < 2; pass++) { /* the second finds what the first has left */
        memset(bytes, 0, (program->group_count + 1) * sizeof *bytes);
        for (size_t i = program->prepare_count; i < program->group_count; i++)
            if (program->groups[i].kernel != NULL)
                run_group(&model, &program->groups[i], bytes[i]);
        run_writebacks(&model, bytes[program->group_count]);
    }
    free(model.pieces);
    return model.no_memory ? error_set(err, ST_NO_MEMORY, NULL, "no memory for a profile") : ST_OK;
}

static void run_group(struct model *model, const struct group *group, int64_t bytes[LEVEL_COUNT])
{
    const struct program *program = model->program;
    const struct op *op = &program->ops[group->op_first];

    for (uint32_t k = 0; k < op->in_count; k++) {
        struct piece piece = place_of(model, program->operands[op->in_first + k]);

        if ((group->fit.unread_mask >> k & 1) != 0)
            continue;
        piece.end = piece.begin + operand_bytes(model, op, k);
        touch(model, piece, bytes);
    }
    for (uint32_t k = 0; k < op->out_count; k++) {
        struct piece piece = place_of(model, program->operands[op->out_first + k]);

        piece.end = piece.begin + result_bytes(model, op, k);
        touch(model, piece, bytes);
    }
}

static void run_writebacks(struct model *model, int64_t bytes[LEVEL_COUNT])
{
    for (size_t i = 0; i < model->program->writeback_count; i++) {
        const struct writeback *it = &model->program->writebacks[i];
        const uint64_t to = ((uint64_t)PLACE_VARIABLE << PLACE_SHIFT) + it->offset;
        struct piece from = place_of(model, it->slot);

        from.end = from.begin + it->bytes;
        touch(model, from, bytes);
        touch(model, (struct piece){to, to + it->bytes}, bytes);
    }
}

/* Whoever picks rows of a table reads those alone; which ones, nobody knows before, so they count from its first byte. */
static uint64_t operand_bytes(const struct model *model, const struct op *op, uint32_t index)
{
    const struct program *program = model->program;
    const uint64_t whole = program->slots[program->operands[op->in_first + index]].bytes;
    const struct tensor *in = &program->slots[program->operands[op->in_first + index]].tensor;
    uint64_t picked = whole;

    if (index == 0 && op->kind == OP_ROW_WRITE)
        return 0; /* in place */
    if (index == 0 && (op->kind == OP_AUGMENT || op->kind == OP_GATHER_ROWS ||
                       op->kind == OP_ROW_READ || op->kind == OP_SLICE)) {
        const struct tensor *out = &program->slots[program->operands[op->out_first]].tensor;

        picked = (uint64_t)tensor_count(out) * dtype_bytes(in->dtype);
    }
    return picked < whole ? picked : whole;
}

static uint64_t result_bytes(const struct model *model, const struct op *op, uint32_t index)
{
    const struct program *program = model->program;

    if (op->kind == OP_ROW_WRITE)
        return program->slots[program->operands[op->in_first + 2]].bytes;
    return program->slots[program->operands[op->out_first + index]].bytes;
}

static struct piece place_of(const struct model *model, uint32_t slot)
{
    const struct slot *it = &model->program->slots[program_root(model->program, slot)];
    const uint64_t begin = ((uint64_t)it->place << PLACE_SHIFT) + it->offset;

    return (struct piece){begin, begin + it->bytes};
}

static void touch(struct model *model, struct piece piece, int64_t bytes[LEVEL_COUNT])
{
    if (piece.end == piece.begin)
        return;
    look_up(model, piece, bytes);
    move_to_front(model, piece);
}

static uint64_t overlap(struct piece a, struct piece b)
{
    const uint64_t begin = a.begin > b.begin ? a.begin : b.begin;
    const uint64_t end = a.end < b.end ? a.end : b.end;

    return begin < end ? end - begin : 0;
}

/* What of the piece each level holds stays there; the rest comes from beyond. */
static void look_up(const struct model *model, struct piece piece, int64_t bytes[LEVEL_COUNT])
{
    uint64_t held[CACHE_LEVELS] = {0}, depth = 0;

    for (size_t i = 0; i < model->count; i++) {
        const uint64_t common = overlap(model->pieces[i], piece);

        for (int level = 0; level < CACHE_LEVELS; level++) {
            const uint64_t room =
                model->capacity[level] > depth ? model->capacity[level] - depth : 0;

            held[level] += common < room ? common : room;
        }
        depth += model->pieces[i].end - model->pieces[i].begin;
    }
    bytes[LEVEL_L1] += (int64_t)(piece.end - piece.begin);
    for (int level = 0; level < CACHE_LEVELS; level++)
        bytes[level + 1] += (int64_t)(piece.end - piece.begin - held[level]);
}

/* Pieces do not overlap, so that the new one cuts two of them at most, or one into two. */
static void move_to_front(struct model *model, struct piece piece)
{
    size_t kept = 1;
    struct piece *old;

    if (2 * model->count + 1 > model->size) {
        const size_t size = 4 * model->count + 64;
        struct piece *grown = realloc(model->pieces, size * sizeof *grown);

        if (grown == NULL) {
            model->no_memory = true;
            return;
        }
        model->pieces = grown;
        model->size = size;
    }
    /* Read from the far end: what is written stays behind. */
    old = model->pieces + (model->size - model->count);
    memmove(old, model->pieces, model->count * sizeof *old);
    model->pieces[0] = piece;
    for (size_t i = 0, count = model->count; i < count; i++) {
        const struct piece it = old[i];

        if (overlap(it, piece) == 0) {
            model->pieces[kept++] = it;
            continue;
        }
        if (it.begin < piece.begin)
            model->pieces[kept++] = (struct piece){it.begin, piece.begin};
        if (it.end > piece.end)
            model->pieces[kept++] = (struct piece){piece.end, it.end};
    }
    assert(kept <= model->size);
    model->count = kept;
}
