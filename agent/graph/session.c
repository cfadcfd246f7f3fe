/* agent/graph/session.c: see session.h. */
#include "agent/graph/session.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/graph/plan_internal.h"

struct part { /* one program */
    struct program *program;
    struct executable *executable;
    struct memory *prepared, *inputs;
};

struct session {
    struct backend *backend;
    struct store *store;
    struct part *parts;
    size_t count;
    struct memory *arena;
    uint64_t bytes;
    bool compiled;
};

static enum status compile_part(struct session *session, struct part *part, struct error *err);
static void touch_assigned(struct session *session, const struct part *part);
static void move(struct session *session, const struct part *part, const struct slot *slot,
                 void *to, const void *from);

struct session *session_create(struct backend *backend, struct store *store)
{
    struct session *session = plan_heap(1, sizeof *session);

    session->backend = backend;
    session->store = store;
    return session;
}

void session_destroy(struct session *session)
{
    if (session == NULL)
        return;
    for (size_t i = 0; i < session->count; i++) {
        struct part *part = &session->parts[i];

        session->backend->ops->discard(part->executable);
        session->backend->ops->release(session->backend, part->prepared);
        session->backend->ops->release(session->backend, part->inputs);
        program_destroy(part->program);
    }
    session->backend->ops->release(session->backend, session->arena);
    free(session->parts);
    free(session);
}

enum status session_add(struct session *session, const struct graph *g,
                        const struct plan_options *options, size_t *index, struct error *err)
{
    struct program *program;
    enum status status;

    assert(!session->compiled);
    assert(graph_store(g) == session->store);
    status = plan_build(g, session->backend, options, &program, err);
    if (status != ST_OK)
        return status;
    session->parts = plan_grow(session->parts, session->count + 1, sizeof *session->parts);
    session->parts[session->count] = (struct part){.program = program};
    *index = session->count++;
    return ST_OK;
}

enum status session_compile(struct session *session, struct error *err)
{
    uint64_t arena_bytes = 0;
    enum status status;

    assert(!session->compiled);
    session->compiled = true;
    for (size_t i = 0; i < session->count; i++)
        if (arena_bytes < session->parts[i].program->arena_bytes)
            arena_bytes = session->parts[i].program->arena_bytes;
    session->bytes = arena_bytes;
    status = session->backend->ops->alloc(session->backend, arena_bytes, &session->arena, err);
    for (size_t i = 0; i < session->count && status == ST_OK; i++)
        status = compile_part(session, &session->parts[i], err);
    return status;
}

enum status session_run(struct session *session, size_t index, struct error *err)
{
    struct part *part = &session->parts[index];
    enum status status;

    assert(session->compiled);
    assert(index < session->count);
    status = session->backend->ops->run(part->executable, err);
    if (status == ST_OK)
        status = session->backend->ops->wait(session->backend, err);
    touch_assigned(session, part);
    return status;
}

enum status session_profile(struct session *session, size_t index, int runs,
                            struct group_time *times, struct error *err)
{
    const struct part *part = &session->parts[index];
    enum status status;

    assert(session->compiled);
    status = session->backend->ops->profile(part->executable, runs, times, err);
    touch_assigned(session, part);
    return status;
}

void session_write(struct session *session, size_t index, const char *name, const void *data)
{
    const struct part *part = &session->parts[index];

    move(session, part, program_input(part->program, name), NULL, data);
}

void session_read(struct session *session, size_t index, const char *name, void *data)
{
    const struct part *part = &session->parts[index];

    move(session, part, program_output(part->program, name), data, NULL);
}

size_t session_count(const struct session *session)
{
    return session->count;
}

const struct program *session_program(const struct session *session, size_t index)
{
    assert(index < session->count);
    return session->parts[index].program;
}

uint64_t session_bytes(const struct session *session)
{
    return session->bytes;
}

static enum status compile_part(struct session *session, struct part *part, struct error *err)
{
    const struct backend_ops *ops = session->backend->ops;
    const struct program *program = part->program;
    struct binding binding = {.variables = store_memory(session->store),
                              .arena = session->arena,
                              .var_versions = store_versions(session->store)};
    enum status status =
        ops->alloc(session->backend, program->prepared_bytes, &part->prepared, err);

    if (status == ST_OK)
        status = ops->alloc(session->backend, program->input_bytes, &part->inputs, err);
    if (status != ST_OK)
        return status;
    session->bytes += program->prepared_bytes + program->input_bytes;
    binding.prepared = part->prepared;
    binding.inputs = part->inputs;
    return ops->compile(session->backend, program, &binding, &part->executable, err);
}

static void touch_assigned(struct session *session, const struct part *part)
{
    for (size_t i = 0; i < part->program->assigned_var_count; i++)
        store_touch(session->store, store_at(session->store, part->program->assigned_vars[i]));
}

/* Reads the slot into `to`, or writes it from `from`, wherever the plan has put it. */
static void move(struct session *session, const struct part *part, const struct slot *slot,
                 void *to, const void *from)
{
    const struct backend_ops *ops = session->backend->ops;
    struct memory *memory = NULL;

    switch (slot->place) {
    case PLACE_ARENA: memory = session->arena; break;
    case PLACE_PREPARED: memory = part->prepared; break;
    case PLACE_VARIABLE: memory = store_memory(session->store); break;
    case PLACE_INPUT: memory = part->inputs; break;
    case PLACE_VIEW: break; /* program_input() and program_output() give roots */
    }
    assert(memory != NULL);
    if (to != NULL)
        ops->read(session->backend, memory, slot->offset, to, slot->bytes);
    else
        ops->write(session->backend, memory, slot->offset, from, slot->bytes);
}
