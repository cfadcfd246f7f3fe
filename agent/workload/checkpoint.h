/* agent/workload/checkpoint.h: the variables of a store in a safetensors file, and back: all but data and tables,
 * under PyTorch's names and in PyTorch's order of dims. Ownership: borrows all. Threads: the store's. */
#ifndef DAYBREAK_AGENT_WORKLOAD_CHECKPOINT_H
#define DAYBREAK_AGENT_WORKLOAD_CHECKPOINT_H

#include "agent/data/safetensors.h"
#include "agent/graph/store.h"

enum status checkpoint_write(const struct store *store, const char *path,
                             const struct safetensors_meta *metas, size_t meta_count,
                             struct error *err);
/* Every variable that a checkpoint has must be there with its type and shape, its numbers finite: ST_INVALID, and then the store is
 * as it was. Other tensors of the file are ignored. */
enum status checkpoint_read(struct store *store, const struct safetensors *file, const char *path,
                            struct error *err);

#endif
