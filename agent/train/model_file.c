/* agent/train/model_file.c: see model_file.h. */
#include "agent/train/model_file.h"

#include <stdio.h>
#include <string.h>

#include "agent/data/files.h"

#define MODEL_BYTES_MAX ((size_t)1 << 32)

static enum status choose_recipe(const char *path, const struct workload_ops *ops,
                                 const char *asked, struct model_file *model, struct error *err);

enum status model_file_read(const char *path, const struct workload_ops *ops, const char *recipe,
                            struct model_file *model, struct error *err)
{
    struct error fault = {0};
    enum status status;

    *model = (struct model_file){0};
    buf_init(&model->bytes, MODEL_BYTES_MAX);
    status = files_read(path, &model->bytes, err);
    if (status == ST_OK) {
        crypto_sha256_hex(buf_str(&model->bytes), model->digest);
        status = safetensors_parse(buf_str(&model->bytes), &model->content, &fault);
        if (status != ST_OK)
            (void)error_set(err, status, "--model", "%s is no model that train has written: %s",
                            path, fault.detail);
    }
    if (status == ST_OK)
        status = choose_recipe(path, ops, recipe, model, err);
    if (status != ST_OK)
        model_file_fini(model);
    return status;
}

static enum status choose_recipe(const char *path, const struct workload_ops *ops,
                                 const char *asked, struct model_file *model, struct error *err)
{
    const char *seed = safetensors_find_meta(model->content, "seed");
    uint64_t number;
    const char *name = asked != NULL ? asked : safetensors_find_meta(model->content, "recipe");

    if (name == NULL)
        return error_set(err, ST_INVALID, "--model",
                         "%s does not say its recipe: it is no model that train has written", path);
    if (seed != NULL &&
        str_parse_u64(str_from_cstr(seed), &number)) /* it is shown: no other text */
        (void)snprintf(model->seed, sizeof model->seed, "%s", seed);
    (void)snprintf(model->recipe, sizeof model->recipe, "%s", name);
    for (size_t i = 0; i < ops->recipe_count; i++)
        if (strcmp(ops->recipes[i], name) == 0)
            return ST_OK;
    return error_set(err, ST_INVALID, asked != NULL ? "--recipe" : "--model",
                     "the workload %s has no recipe \"%.64s\"%s%.200s", ops->name, name,
                     asked != NULL ? "" : ", which is that of ", asked != NULL ? "" : path);
}

void model_file_fini(struct model_file *model)
{
    safetensors_close(model->content);
    buf_fini(&model->bytes);
    *model = (struct model_file){0};
}
