/* agent/backend/backend.h: what a device must do to run a program. A program is plain data: nothing here
 * knows a model, a graph or a file. The CPU backend executes it with kernels; CUDA and TPU ones come later and
 * need no change above this line. Ownership: as said at each call. Threads: one controlling thread. */
#ifndef DAYBREAK_AGENT_BACKEND_BACKEND_H
#define DAYBREAK_AGENT_BACKEND_BACKEND_H

#include "agent/kernels/kernels.h"

#define PROGRAM_NAME_BYTES 32

/* Where the memory of a slot is. VIEW: a reshape: the memory of slot `base`. */
enum place { PLACE_ARENA, PLACE_PREPARED, PLACE_VARIABLE, PLACE_INPUT, PLACE_VIEW };

struct slot {
    struct tensor tensor;
    enum place place;
    uint32_t base;   /* VIEW only */
    uint32_t var;    /* VARIABLE: index in the store; INPUT: index of the input */
    uint64_t offset; /* in the block of its place; VIEW: its base's */
    uint64_t bytes;
};

/* One kernel call. Ops op_first .. op_first + op_count are its members in schedule order; one op each until the
 * plan fuses. */
struct group {
    uint32_t op_first, op_count, anchor;
    const struct kernel *kernel; /* NULL: nothing to execute (views, sources, in-place assigns) */
    struct fit fit;
    uint64_t scratch_offset; /* in the arena; if packed, in the prepared block */
    bool barrier;            /* wait for all groups before it */
    bool packed; /* its first phase is run with the prepare list, and its scratch stays */
    uint32_t
        packer; /* if so: the group whose first phase it is: itself, or one of the same kernel, operand and shapes */
    uint64_t flops, flops_other, bytes; /* modelled */
    char why[KERNEL_WHY_BYTES];
};

/* After the last group: copies of values into variables that could not be written in place. */
struct writeback {
    uint32_t slot, var;
    uint64_t offset, bytes; /* of the variable */
};

struct named_slot {
    char name[PROGRAM_NAME_BYTES];
    uint32_t slot;
};

/* Made by the plan; immutable; program_destroy() frees it. Operand lists of ops index `operands`, which
 * holds slot numbers. groups[0..prepare_count) depend only on variables that this program does not write: they
 * run once, and again when the version of one of prepare_vars has moved. So do the first phases of packed groups. */
struct program {
    char name[PROGRAM_NAME_BYTES];
    struct op *ops;
    uint32_t *operands;
    struct slot *slots;
    struct group *groups;
    struct writeback *writebacks;
    struct named_slot *inputs, *outputs;
    uint32_t *prepare_vars;
    uint32_t *assigned_vars; /* written by a run: the caller raises their versions (store_touch) */
    char *labels;            /* text that op.label points into */
    size_t op_count, operand_count, slot_count, group_count, prepare_count, writeback_count,
        input_count, output_count, prepare_var_count, assigned_var_count, label_bytes;
    uint64_t arena_bytes, prepared_bytes, input_bytes;
    uint64_t flops; /* one run: matrix products and convolutions */
};
void program_destroy(struct program *program);
/* The stage of each group: how many barriers stand before or at it. Groups of one stage may run at once. */
void program_stages(const struct program *program, uint32_t *stages);
/* The slot whose memory this one is: itself, but for views. */
uint32_t program_root(const struct program *program, uint32_t slot);
/* In place: the result of that op which may share the memory of its operand (struct fit). */
uint32_t op_paired_result(enum op_kind kind, uint32_t operand);

/* Stages between which a slot's memory holds something: of the group that writes it, of the last one that
 * reads it (UINT32_MAX: an output or written back at the end). Views have none of their own. */
struct lifetime {
    bool live; /* false: a view, or in no arena */
    uint32_t first, last;
};
void program_lifetimes(const struct program *program, struct lifetime *lifetimes);

/* The place of an output or input by name; asserts that it is there. */
const struct slot *program_output(const struct program *program, const char *name);
const struct slot *program_input(const struct program *program, const char *name);

struct backend;
struct memory;
struct executable;

struct backend_options {
    int threads;    /* 0: all processors that this process may use */
    uint32_t isa;   /* CPU: allowed instruction sets */
    bool reference; /* CPU, isa "ref": the oracles alone */
    bool poison;    /* CPU, for tests: arena memory becomes NaN when nothing there is alive */
};

struct device_info {
    char kind[16], model[96], isa[32];
    int threads;
    uint64_t memory_bytes;
};

/* What an executable works on. All borrowed; they must outlive it. */
struct binding {
    struct memory *variables, *arena, *prepared, *inputs;
    const uint64_t *var_versions; /* raised by whoever writes a variable outside this program */
};

struct group_time { /* of one group over the profiled runs */
    uint64_t calls;
    double seconds;
};

struct backend_ops {
    const char *name;
    bool whole_program; /* takes composites and fuses by itself: the plan only prunes */
    void (*close)(struct backend *backend);
    void (*describe)(struct backend *backend, struct device_info *info);
    /* Fills kernel, fit and why of a group whose ops and slots' tensors are set. */
    bool (*accept)(struct backend *backend, const struct program *program, struct group *group);
    /* Whether an op that stands for several has a kernel of its own here: the plan asks before it makes one. */
    bool (*fuses)(struct backend *backend, const struct kernel_query *query);
    enum status (*alloc)(struct backend *backend, uint64_t bytes, struct memory **memory,
                         struct error *err); /* zeroed, first touched by the worker threads */
    void (*release)(struct backend *backend, struct memory *memory); /* accepts NULL */
    /* The memory as the host may address it; the pointer is NULL where devices have their own. */
    void *(*host)(struct memory *memory);
    void (*write)(struct backend *backend, struct memory *memory, uint64_t at, const void *from,
                  uint64_t bytes);
    void (*read)(struct backend *backend, struct memory *memory, uint64_t at, void *to,
                 uint64_t bytes);
    enum status (*compile)(struct backend *backend, const struct program *program,
                           const struct binding *binding, struct executable **executable,
                           struct error *err);
    enum status (*run)(struct executable *executable, struct error *err); /* allocates nothing */
    enum status (*wait)(struct backend *backend, struct error *err);      /* until all runs ended */
    /* `runs` profiled runs; times[0..group_count], the last one of the writebacks. A pass of its own, never a scored
     * one: each group waits for the one before. */
    enum status (*profile)(struct executable *executable, int runs, struct group_time *times,
                           struct error *err);
    void (*discard)(struct executable *executable); /* accepts NULL */
};

struct backend { /* first member of every backend's own struct */
    const struct backend_ops *ops;
};

enum status cpu_backend_open(const struct backend_options *options, struct backend **backend,
                             struct error *err);

#endif
