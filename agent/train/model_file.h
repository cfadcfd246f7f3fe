/* agent/train/model_file.h: a trained model as the commands take it that use one: the bytes, their digest, what the file
 * says of itself. Ownership: model_file_fini() frees it. Threads: one. */
#ifndef DAYBREAK_AGENT_TRAIN_MODEL_FILE_H
#define DAYBREAK_AGENT_TRAIN_MODEL_FILE_H

#include "agent/data/safetensors.h"
#include "agent/workload/workload.h"

struct model_file {
    struct safetensors *content;
    struct buf bytes;
    char digest[SHA256_HEX_BYTES]; /* of the very bytes that the model is made of */
    char recipe[64], seed[32];     /* seed "": it does not say */
};

/* recipe: that was asked for; NULL: the model's own. ST_INVALID: the file is no model that train has written, or of a
 * recipe that the workload does not have. The workload compares model and recipe. */
enum status model_file_read(const char *path, const struct workload_ops *ops, const char *recipe,
                            struct model_file *model, struct error *err);
void model_file_fini(struct model_file *model); /* accepts a zeroed one */

#endif
