/* agent/backend/cpu/cpu.c: the CPU as a backend (backend.h): memory, compilation of a program into steps of the
 * thread pool, and the choice of kernels through the table of kernels/cpu. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/backend/backend.h"
#include "agent/backend/cpu/pool.h"
#include "common/str.h"

#define HUGE_PAGE_BYTES UINT64_C(2097152)
#define POISON_BYTE     0xffu  /* four of them are a NaN */
#define CHAIN_BYTES_MAX 262144 /* of a step in a chain: below 20 us or so */
#define CHAIN_FLOPS_MAX 1000000

struct cpu {
    struct backend base;
    struct pool *pool;
    struct backend_options options; /* threads as resolved */
};

struct memory {
    void *map; /* of mmap */
    size_t map_bytes;
    unsigned char *data; /* aligned part of map */
    uint64_t bytes;
};

struct executable {
    struct cpu *cpu;
    const struct program *program;
    struct binding binding;
    struct kernel_args *args; /* of groups */
    struct step *steps;       /* prepare list first */
    size_t step_count, prepare_step_count;
    uint64_t *prepared_versions; /* of program->prepare_vars, when they were last prepared */
    bool prepared;
};

static void cpu_close(struct backend *backend);
static void cpu_describe(struct backend *backend, struct device_info *info);
static bool cpu_accept(struct backend *backend, const struct program *program, struct group *group);
static bool cpu_fuses(struct backend *backend, const struct kernel_query *query);
static enum status cpu_alloc(struct backend *backend, uint64_t bytes, struct memory **memory,
                             struct error *err);
static void cpu_release(struct backend *backend, struct memory *memory);
static void *cpu_host(struct memory *memory);
static void cpu_write(struct backend *backend, struct memory *memory, uint64_t at, const void *from,
                      uint64_t bytes);
static void cpu_read(struct backend *backend, struct memory *memory, uint64_t at, void *to,
                     uint64_t bytes);
static enum status cpu_compile(struct backend *backend, const struct program *program,
                               const struct binding *binding, struct executable **executable,
                               struct error *err);
static enum status cpu_run(struct executable *executable, struct error *err);
static enum status cpu_wait(struct backend *backend, struct error *err);
static enum status cpu_profile(struct executable *executable, int runs, struct group_time *times,
                               struct error *err);
static void cpu_discard(struct executable *executable);
static unsigned char *slot_address(const struct executable *executable, uint32_t slot);
static void fill_args(struct executable *executable, size_t group);
static size_t count_steps(const struct executable *executable);
static void make_steps(struct executable *executable);
static void make_chains(struct executable *executable, size_t first, size_t end);
static bool is_small(const struct executable *executable, const struct step *step);
static bool add_packing(struct executable *executable);
static void add_group_steps(struct executable *executable, size_t group, bool wait);
static void add_phase(struct executable *executable, size_t group, int phase, bool wait);
static struct step *add_step(struct executable *executable, enum step_kind kind, uint32_t group);
static void add_fill(struct executable *executable, uint64_t offset, uint64_t bytes,
                     uint32_t group);
static void poison_dead(struct executable *executable, const struct lifetime *lives,
                        const uint32_t *stages, size_t group, bool *poisoned);
static bool taken_over(const struct program *program, const struct lifetime *lives, uint32_t slot,
                       uint32_t stage);
static void read_cpu_model(char *model, size_t bytes);

static const struct backend_ops cpu_ops = {
    .name = "cpu",
    .close = cpu_close,
    .describe = cpu_describe,
    .accept = cpu_accept,
    .fuses = cpu_fuses,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .host = cpu_host,
    .write = cpu_write,
    .read = cpu_read,
    .compile = cpu_compile,
    .run = cpu_run,
    .wait = cpu_wait,
    .profile = cpu_profile,
    .discard = cpu_discard,
};

enum status cpu_backend_open(const struct backend_options *options, struct backend **backend,
                             struct error *err)
{
    struct cpu *cpu;
    enum status status;

    if (options->threads < 0 || options->threads > POOL_THREADS_MAX)
        return error_set(err, ST_USAGE, "threads", "The CPU backend runs 1 to %d threads, not %d.",
                         POOL_THREADS_MAX, options->threads);
    cpu = calloc(1, sizeof *cpu);
    if (cpu == NULL)
        return error_set(err, ST_NO_MEMORY, "cpu", "No memory for the CPU backend.");
    cpu->base.ops = &cpu_ops;
    cpu->options = *options;
    if (cpu->options.threads == 0)
        cpu->options.threads = pool_processors();
    status = pool_create(cpu->options.threads, &cpu->pool, err);
    if (status != ST_OK) {
        free(cpu);
        return status;
    }
    *backend = &cpu->base;
    return ST_OK;
}

static void cpu_close(struct backend *backend)
{
    struct cpu *cpu = (struct cpu *)backend;

    if (cpu == NULL)
        return;
    pool_destroy(cpu->pool);
    free(cpu);
}

static void cpu_describe(struct backend *backend, struct device_info *info)
{
    const struct cpu *cpu = (const struct cpu *)backend;
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);

    memset(info, 0, sizeof *info);
    (void)snprintf(info->kind, sizeof info->kind, "cpu");
    (void)snprintf(info->isa, sizeof info->isa, "%s",
                   cpu->options.reference ? "ref" : cpu_isa_name(cpu->options.isa));
    read_cpu_model(info->model, sizeof info->model);
    info->threads = cpu->options.threads;
    if (pages > 0 && page_bytes > 0)
        info->memory_bytes = (uint64_t)pages * (uint64_t)page_bytes;
}

static bool cpu_accept(struct backend *backend, const struct program *program, struct group *group)
{
    const struct cpu *cpu = (const struct cpu *)backend;
    const struct op *op = &program->ops[group->anchor];
    struct kernel_query query;

    memset(&query, 0, sizeof query);
    if (group->op_count != 1 || op_info(op->kind)->composite) {
        (void)snprintf(group->why, sizeof group->why, "cpu: one simple op a group");
        return false;
    }
    query.op = op;
    query.threads = cpu->options.threads;
    for (uint32_t k = 0; k < op->in_count; k++)
        query.in[k] = &program->slots[program->operands[op->in_first + k]].tensor;
    for (uint32_t k = 0; k < op->out_count; k++)
        query.out[k] = &program->slots[program->operands[op->out_first + k]].tensor;
    if (cpu->options.reference) {
        group->kernel = kernel_reference(op->kind);
        return group->kernel != NULL && group->kernel->accept(&query, &group->fit, group->why);
    }
    group->kernel = cpu_select_kernel(&query, cpu->options.isa, &group->fit, group->why);
    return group->kernel != NULL;
}

static bool cpu_fuses(struct backend *backend, const struct kernel_query *query)
{
    const struct cpu *cpu = (const struct cpu *)backend;
    char why[KERNEL_WHY_BYTES];
    struct fit fit;

    memset(&fit, 0, sizeof fit);
    return !cpu->options.reference &&
           !cpu_select_kernel(query, cpu->options.isa, &fit, why)->reference;
}

static enum status cpu_alloc(struct backend *backend, uint64_t bytes, struct memory **memory,
                             struct error *err)
{
    struct cpu *cpu = (struct cpu *)backend;
    struct memory *made = calloc(1, sizeof *made);
    struct step touch;

    if (made == NULL)
        return error_set(err, ST_NO_MEMORY, "memory", "No memory.");
    made->bytes = bytes;
    made->map_bytes = (size_t)(bytes + HUGE_PAGE_BYTES);
    made->map =
        mmap(NULL, made->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made->map == MAP_FAILED) {
        free(made);
        return error_set(err, ST_NO_MEMORY, "memory", "The system refused %llu bytes.",
                         (unsigned long long)bytes);
    }
    made->data = (unsigned char *)made->map +
                 (HUGE_PAGE_BYTES - (uintptr_t)made->map % HUGE_PAGE_BYTES) % HUGE_PAGE_BYTES;
    /* Arenas are hundreds of megabytes and walked in long strides: 4 KiB pages would miss the TLB. A hint. */
    (void)madvise(made->data, (size_t)bytes, MADV_HUGEPAGE);
    if (bytes > 0) {
        memset(&touch, 0, sizeof touch);
        touch.kind = STEP_FILL;
        touch.to = made->data;
        touch.bytes = bytes;
        touch.items = step_slices(bytes);
        pool_post(cpu->pool, &(struct job){.steps = &touch, .count = 1});
        pool_wait(cpu->pool);
    }
    *memory = made;
    return ST_OK;
}

static void cpu_release(struct backend *backend, struct memory *memory)
{
    struct cpu *cpu = (struct cpu *)backend;

    if (memory == NULL)
        return;
    pool_wait(cpu->pool);
    (void)munmap(memory->map, memory->map_bytes);
    free(memory);
}

static void *cpu_host(struct memory *memory)
{
    return memory->data;
}

static void cpu_write(struct backend *backend, struct memory *memory, uint64_t at, const void *from,
                      uint64_t bytes)
{
    struct cpu *cpu = (struct cpu *)backend;

    assert(at <= memory->bytes && bytes <= memory->bytes - at);
    pool_wait(cpu->pool);
    memcpy(memory->data + at, from, (size_t)bytes);
}

static void cpu_read(struct backend *backend, struct memory *memory, uint64_t at, void *to,
                     uint64_t bytes)
{
    struct cpu *cpu = (struct cpu *)backend;

    assert(at <= memory->bytes && bytes <= memory->bytes - at);
    pool_wait(cpu->pool);
    memcpy(to, memory->data + at, (size_t)bytes);
}

static enum status cpu_compile(struct backend *backend, const struct program *program,
                               const struct binding *binding, struct executable **executable,
                               struct error *err)
{
    struct executable *made = calloc(1, sizeof *made);
    const size_t step_align = _Alignof(struct step);
    enum status status = ST_NO_MEMORY;

    if (made == NULL)
        goto done;
    assert(program->arena_bytes == 0 || binding->arena->bytes >= program->arena_bytes);
    assert(program->prepared_bytes == 0 || binding->prepared->bytes >= program->prepared_bytes);
    assert(program->input_bytes == 0 || binding->inputs->bytes >= program->input_bytes);
    made->cpu = (struct cpu *)backend;
    made->program = program;
    made->binding = *binding;
    made->args = calloc(program->group_count + 1, sizeof *made->args);
    made->prepared_versions =
        calloc(program->prepare_var_count + 1, sizeof *made->prepared_versions);
    if (made->args == NULL || made->prepared_versions == NULL)
        goto done;
    for (size_t i = 0; i < program->group_count; i++)
        if (program->groups[i].kernel != NULL)
            fill_args(made, i);
    made->steps = aligned_alloc(step_align, (count_steps(made) + 1) * sizeof *made->steps);
    if (made->steps == NULL)
        goto done;
    make_steps(made);
    *executable = made;
    made = NULL;
    status = ST_OK;
done:
    cpu_discard(made);
    return status == ST_OK
               ? ST_OK
               : error_set(err, status, "compile", "No memory to compile %s.", program->name);
}

/* All steps, or those behind the prepare list when what that hangs on has not moved. The caller's versions are read
 * here, on its own thread. */
static struct job next_job(struct executable *executable)
{
    const struct program *program = executable->program;
    bool stale = !executable->prepared;
    size_t first;

    for (size_t i = 0; i < program->prepare_var_count; i++) {
        const uint64_t version = executable->binding.var_versions[program->prepare_vars[i]];

        stale = stale || executable->prepared_versions[i] != version;
        executable->prepared_versions[i] = version;
    }
    executable->prepared = true;
    first = stale ? 0 : executable->prepare_step_count;
    return (struct job){.steps = executable->steps + first,
                        .count = executable->step_count - first};
}

/* Asynchronous: pool_wait() is what waits. */
static enum status cpu_run(struct executable *executable, struct error *err)
{
    const struct job job = next_job(executable);

    (void)err;
    pool_post(executable->cpu->pool, &job);
    return ST_OK;
}

static enum status cpu_wait(struct backend *backend, struct error *err)
{
    (void)err;
    pool_wait(((struct cpu *)backend)->pool);
    return ST_OK;
}

static enum status cpu_profile(struct executable *executable, int runs, struct group_time *times,
                               struct error *err)
{
    const size_t count = executable->program->group_count;
    double *seconds = calloc(count + 1, sizeof *seconds);

    if (seconds == NULL)
        return error_set(err, ST_NO_MEMORY, "profile", "No memory for a profile.");
    for (int run = 0; run < runs; run++) {
        struct job job = next_job(executable);

        job.seconds = seconds;
        pool_post(executable->cpu->pool, &job);
        pool_wait(executable->cpu->pool);
    }
    for (size_t i = 0; i <= count; i++)
        times[i] = (struct group_time){.calls = (uint64_t)runs, .seconds = seconds[i]};
    free(seconds);
    return ST_OK;
}

static void cpu_discard(struct executable *executable)
{
    if (executable == NULL)
        return;
    pool_wait(executable->cpu->pool);
    free(executable->steps);
    free(executable->prepared_versions);
    free(executable->args);
    free(executable);
}

static unsigned char *slot_address(const struct executable *executable, uint32_t slot)
{
    const struct slot *it = &executable->program->slots[program_root(executable->program, slot)];
    const struct memory *memory = NULL;

    switch (it->place) {
    case PLACE_ARENA: memory = executable->binding.arena; break;
    case PLACE_PREPARED: memory = executable->binding.prepared; break;
    case PLACE_VARIABLE: memory = executable->binding.variables; break;
    case PLACE_INPUT: memory = executable->binding.inputs; break;
    case PLACE_VIEW: break;
    }
    assert(memory != NULL);
    assert(it->offset <= memory->bytes && it->bytes <= memory->bytes - it->offset);
    return memory->data + it->offset;
}

/* An operand that the kernel does not read may have no memory any more: it gets none. */
static void fill_args(struct executable *executable, size_t group)
{
    const struct program *program = executable->program;
    const struct group *it = &program->groups[group];
    const struct op *op = &program->ops[it->op_first];
    struct kernel_args *args = &executable->args[group];

    args->op = op;
    args->fit = &it->fit;
    args->in_count = (int)op->in_count;
    args->out_count = (int)op->out_count;
    for (uint32_t k = 0; k < op->in_count; k++) {
        const uint32_t slot = program->operands[op->in_first + k];

        args->in_tensor[k] = &program->slots[slot].tensor;
        if ((it->fit.unread_mask >> k & 1) == 0)
            args->in[k] = slot_address(executable, slot);
    }
    for (uint32_t k = 0; k < op->out_count; k++) {
        const uint32_t slot = program->operands[op->out_first + k];

        args->out_tensor[k] = &program->slots[slot].tensor;
        args->out[k] = slot_address(executable, slot);
    }
    if (it->fit.scratch_bytes > 0)
        args->scratch =
            (it->packed ? executable->binding.prepared : executable->binding.arena)->data +
            it->scratch_offset;
}

static int group_phases(const struct executable *executable, size_t group)
{
    const struct kernel *kernel = executable->program->groups[group].kernel;

    if (kernel == NULL)
        return 0;
    return kernel->phases == NULL ? 1 : kernel->phases(&executable->args[group]);
}

static size_t count_steps(const struct executable *executable)
{
    const struct program *program = executable->program;
    size_t count = program->writeback_count;

    for (size_t i = 0; i < program->group_count; i++)
        count += (size_t)group_phases(executable, i);
    if (executable->cpu->options.poison) /* the arena once; each slot and each scratch once */
        count += 1 + program->slot_count + program->group_count;
    return count;
}

static void make_steps(struct executable *executable)
{
    const struct program *program = executable->program;
    const bool poison = executable->cpu->options.poison;
    struct lifetime *lives = calloc(program->slot_count + 1, sizeof *lives);
    uint32_t *stages = calloc(program->group_count + 1, sizeof *stages);
    bool wait_next = false;

    if (lives == NULL || stages == NULL)
        abort();
    program_lifetimes(program, lives);
    program_stages(program, stages);
    for (size_t i = 0; i < program->group_count; i++) {
        if (i == program->prepare_count) {
            wait_next = add_packing(executable);
            executable->prepare_step_count = executable->step_count;
            if (poison && program->arena_bytes > 0) {
                add_fill(executable, 0, program->arena_bytes, (uint32_t)i);
                wait_next = true;
            }
        }
        if (program->groups[i].kernel != NULL) {
            add_group_steps(executable, i, wait_next);
            wait_next = false;
        }
        if (poison && (i + 1 == program->group_count || stages[i + 1] != stages[i]))
            poison_dead(executable, lives, stages, i, &wait_next);
    }
    if (program->prepare_count == program->group_count)
        executable->prepare_step_count = executable->step_count;
    for (size_t i = 0; i < program->writeback_count; i++) {
        const struct writeback *it = &program->writebacks[i];
        struct step *step = add_step(executable, STEP_COPY, (uint32_t)program->group_count);

        step->barrier = i == 0;
        step->from = slot_address(executable, it->slot);
        step->to = executable->binding.variables->data + it->offset;
        step->bytes = it->bytes;
        step->items = step_slices(it->bytes);
    }
    if (!poison) {
        make_chains(executable, 0, executable->prepare_step_count);
        make_chains(executable, executable->prepare_step_count, executable->step_count);
    }
    free(stages);
    free(lives);
}

/* Runs of small single items lose their barriers to one thread; whoever follows such a run waits for it. */
static void make_chains(struct executable *executable, size_t first, size_t end)
{
    struct step *steps = executable->steps;

    while (first < end) {
        size_t next = first;

        while (next < end && is_small(executable, &steps[next]))
            next++;
        if (next - first > 1) {
            steps[first].chain = (uint32_t)(next - first);
            steps[first].barrier = true; /* what a later one of the run waits for must have ended */
            if (next < end)
                steps[next].barrier = true;
        }
        first = next > first ? next : first + 1;
    }
}

static bool is_small(const struct executable *executable, const struct step *step)
{
    const struct group *group;

    if (step->kind != STEP_WORK || step->items != 1)
        return false;
    group = &executable->program->groups[step->group];
    return group->bytes <= CHAIN_BYTES_MAX && group->flops + group->flops_other <= CHAIN_FLOPS_MAX;
}

/* The first phases of the packed groups, after all that is prepared. False: there is none. */
static bool add_packing(struct executable *executable)
{
    const struct program *program = executable->program;
    bool found = false;

    for (size_t i = program->prepare_count; i < program->group_count; i++)
        if (program->groups[i].packed && program->groups[i].packer == i) {
            add_phase(executable, i, 0, !found);
            found = true;
        }
    return found;
}

static void add_group_steps(struct executable *executable, size_t group, bool wait)
{
    const struct group *it = &executable->program->groups[group];
    const int first = it->packed ? 1 : 0;

    for (int phase = first; phase < group_phases(executable, group); phase++)
        add_phase(executable, group, phase, it->barrier || wait || phase > first);
}

static void add_phase(struct executable *executable, size_t group, int phase, bool wait)
{
    const struct kernel *kernel = executable->program->groups[group].kernel;
    const struct kernel_args *args = &executable->args[group];
    struct step *step = add_step(executable, STEP_WORK, (uint32_t)group);

    assert(kernel != NULL);
    step->barrier = wait;
    step->kernel = kernel;
    step->args = args;
    step->phase = phase;
    step->items = kernel->items == NULL ? 1 : kernel->items(args, phase);
}

static struct step *add_step(struct executable *executable, enum step_kind kind, uint32_t group)
{
    struct step *step = &executable->steps[executable->step_count++];

    memset(step, 0, sizeof *step);
    step->kind = kind;
    step->group = group;
    return step;
}

static void add_fill(struct executable *executable, uint64_t offset, uint64_t bytes, uint32_t group)
{
    struct step *step = add_step(executable, STEP_FILL, group);

    step->barrier = true;
    step->fill = POISON_BYTE;
    step->to = executable->binding.arena->data + offset;
    step->bytes = bytes;
    step->items = step_slices(bytes);
}

/* After the last group of a stage: what dies with it becomes NaN, so that a reader of dead memory shows. */
static void poison_dead(struct executable *executable, const struct lifetime *lives,
                        const uint32_t *stages, size_t group, bool *poisoned)
{
    const struct program *program = executable->program;

    for (uint32_t s = 0; s < program->slot_count; s++)
        if (lives[s].live && program->slots[s].place == PLACE_ARENA &&
            lives[s].last == stages[group] && !taken_over(program, lives, s, stages[group])) {
            add_fill(executable, program->slots[s].offset, program->slots[s].bytes,
                     (uint32_t)group);
            *poisoned = true;
        }
    for (size_t g = 0; g <= group; g++)
        if (stages[g] == stages[group] && program->groups[g].kernel != NULL &&
            program->groups[g].fit.scratch_bytes > 0 && !program->groups[g].packed) {
            add_fill(executable, program->groups[g].scratch_offset,
                     program->groups[g].fit.scratch_bytes, (uint32_t)group);
            *poisoned = true;
        }
}

/* In place: another value has begun in the same memory and lives on. */
static bool taken_over(const struct program *program, const struct lifetime *lives, uint32_t slot,
                       uint32_t stage)
{
    for (uint32_t s = 0; s < program->slot_count; s++)
        if (s != slot && lives[s].live && program->slots[s].place == PLACE_ARENA &&
            program->slots[s].offset == program->slots[slot].offset && lives[s].first == stage &&
            lives[s].last > stage)
            return true;
    return false;
}

static void read_cpu_model(char *model, size_t bytes)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];

    (void)snprintf(model, bytes, "unknown");
    if (file == NULL)
        return;
    while (fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');

        if (colon == NULL || strncmp(line, "model name", strlen("model name")) != 0)
            continue;
        (void)snprintf(model, bytes, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    (void)fclose(file);
}
