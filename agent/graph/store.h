/* agent/graph/store.h: the named variables that all programs of a workload share: parameters, statistics, momenta,
 * step counter, tables, resident data. One block of memory, laid out by role, group and declaration, each variable
 * 64-byte aligned with zeros between, so that a group is one flat range.
 * Ownership: the store owns variables and, after store_alloc(), the block. Threads: one controlling thread. */
#ifndef DAYBREAK_AGENT_GRAPH_STORE_H
#define DAYBREAK_AGENT_GRAPH_STORE_H

#include "agent/backend/backend.h"
#include "agent/kernels/ops.h"

#define VAR_NAME_BYTES 64

enum var_role {
    VAR_PARAM, /* trained */
    VAR_STATE, /* running statistics, momenta, averages, step, seed */
    VAR_TABLE, /* hyper, log: never in a checkpoint */
    VAR_DATA,  /* resident data sets: never in a checkpoint */
    VAR_ROLE_COUNT
};

struct var_spec {
    const char *name;     /* PyTorch's: "layers.1.conv1.weight"; copied */
    struct tensor tensor; /* ROW */
    enum var_role role;
    int group; /* parameter group; 0 where it does not matter */
    /* In the checkpoint file dim[i] is our dim[torch_perm[i]]: OIHW for [K,R,S,C] is {0, 3, 1, 2};
     * has_torch_perm = false: as it is. */
    bool has_torch_perm;
    int torch_perm[TENSOR_RANK_MAX];
};

struct var {
    uint32_t index; /* in the store */
    char name[VAR_NAME_BYTES];
    struct var_spec spec;   /* spec.name points to name */
    uint64_t offset, bytes; /* valid after store_alloc() */
};

struct store;
struct store *store_create(void);
void store_destroy(struct store *store); /* accepts NULL; releases the block to its backend */
struct var *store_add(struct store *store,
                      const struct var_spec *spec);                  /* names are unique: assert */
struct var *store_find(const struct store *store, const char *name); /* NULL: none */
size_t store_count(const struct store *store);
struct var *store_at(const struct store *store, size_t index); /* in order of declaration */

/* Lays out and allocates the block, zeroed; no store_add() after. backend NULL: plain memory, for the interpreter. */
enum status store_alloc(struct store *store, struct backend *backend, struct error *err);
struct memory *store_memory(const struct store *store); /* the backend's; NULL for plain memory */
void *store_host(const struct store *store); /* plain memory or the CPU's block; NULL elsewhere */
uint64_t store_bytes(const struct store *store);
const uint64_t *
store_versions(const struct store *store); /* per variable, raised by store_write() */
void store_touch(struct store *store,
                 struct var *var); /* somebody else wrote it: raises its version */
void store_write(struct store *store, struct var *var,
                 const void *data); /* var->bytes of tensor data */
void store_read(const struct store *store, const struct var *var, void *data);

#endif
