/* agent/workload/cifar10_internal.h: what the files of the workload cifar10 share; also open to its tests and to the
 * profiler. Ownership and threads as workload.h says. */
#ifndef DAYBREAK_AGENT_WORKLOAD_CIFAR10_INTERNAL_H
#define DAYBREAK_AGENT_WORKLOAD_CIFAR10_INTERNAL_H

#include "agent/data/cifar10_sets.h"
#include "agent/graph/graph.h"
#include "agent/graph/session.h"
#include "agent/workload/recipe.h"
#include "agent/workload/workload.h"

#define LOG_COLUMNS        2 /* of the table `log`: mean loss of the batch, correct answers in it */
#define CIFAR10_PARAMS_MAX 32

extern const double cifar10_mean[3], cifar10_deviation[3]; /* of u / 255 */

enum cifar10_program {
    PROGRAM_TRAIN,
    PROGRAM_TRAIN_FROZEN, /* the whitening bias stands still, so its convolution has no backward pass */
    PROGRAM_LOOKAHEAD,
    PROGRAM_EVALUATE,
    PROGRAM_INFER, /* the only one of an inference; a training has those before it */
    PROGRAM_COUNT
};

/* Sizes that the graphs are built for. */
struct cifar10_shape {
    int64_t train_count, test_count, batch, eval_batch;
    int64_t steps_per_epoch, total_steps; /* of the schedule */
};

struct cifar10_vars { /* that no layer declares */
    struct var *train_images, *train_labels, *test_images, *test_labels;
    struct var *hyper, *log, *step, *seed;
};

struct cifar10_state {
    const struct cifar10_recipe *recipe;
    struct cifar10_shape shape;
    int64_t step_limit; /* where training ends: total_steps, or --max-epochs before */
    double end_epoch;   /* how that point is called */
    struct cifar10_options data;
    char data_dir[4096];
    char data_digest[SHA256_HEX_BYTES];
    char plan_digest[SHA256_HEX_BYTES];
    enum dtype compute; /* of the groups' activations and weights: F32, BF16 */
    struct backend *backend;
    struct store *store;
    struct session *session;
    struct cifar10_vars vars;
    size_t programs[PROGRAM_COUNT];
    uint32_t seed;
    int64_t step;        /* taken */
    int64_t logged_step; /* the last one whose loss was reported */
    float *log;          /* [total_steps][LOG_COLUMNS], as last read */
    bool started;
    bool inference;       /* opened to classify: no variable of training is there */
    bool scoring;         /* opened to evaluate a saved model once */
    int64_t views;        /* of the inference */
    struct cifar10 items; /* of the inference: its test images */
};

/* cifar10.c: recipe, sizes and data folder; ST_UNSUPPORTED, ST_NOT_FOUND, ST_USAGE, ST_LIMIT. Closes an inference, too. */
enum status cifar10_check_options(const struct workload_options *options,
                                  struct cifar10_state *state, struct error *err);
void cifar10_close(void *state);

/* Whether the model is of this recipe, whichever training of it made it. ST_INVALID says what it is instead. */
enum status cifar10_check_model(const struct cifar10_state *state, const struct safetensors *model,
                                const char *path, struct error *err);

/* cifar10_compile.c: the device; then, with it, variables, plans and executables of all programs of the state. */
enum status cifar10_open_backend(const struct workload_options *options,
                                 struct cifar10_state *state, struct error *err);
enum status cifar10_compile(const struct workload_options *options, struct cifar10_state *state,
                            struct error *err);

/* cifar10_infer.c: the calls of an inference (workload.h). */
enum status cifar10_open_inference(const struct workload_options *options,
                                   const struct safetensors *model, const char *path,
                                   struct workload_items *items, void **state, struct error *err);
enum status cifar10_classify(void *state, int64_t index, int *label, struct error *err);

/* cifar10_score.c: the call of workload.h, and the names of the sets. */
extern const char *const cifar10_score_sets[CIFAR10_SET_COUNT];
enum status cifar10_score(const struct workload_options *options, const struct safetensors *model,
                          const char *path, const char *name, struct workload_scored *scored,
                          struct error *err);

/* cifar10_graph.c: declares the variables and builds one program; the caller finishes and destroys the graph. */
void cifar10_declare(struct cifar10_state *state);
struct graph *cifar10_build(struct cifar10_state *state, enum cifar10_program program);

/* cifar10_init.c: first values of every variable from the seed; `set` is the data that were read. */
void cifar10_init(struct cifar10_state *state, const struct cifar10 *set);

/* The images and labels that evaluations count, of which there are shape.test_count. */
void cifar10_write_test(struct cifar10_state *state, const struct cifar10 *set);

/* The loss of each step so far, as the device has logged it: float[step][LOG_COLUMNS]. */
const float *cifar10_read_log(struct cifar10_state *state);
/* The training program of a step: frozen from some epoch on. */
enum cifar10_program cifar10_program_of(const struct cifar10_state *state, int64_t step);
/* cifar10_profile.c: the calls of workload.h that measure. */
const struct program *cifar10_step_program(void *state, int64_t step);
enum status cifar10_take_step(void *state, int64_t step, struct group_time *times,
                              struct error *err);
/* What one evaluation counts. */
enum status cifar10_count_correct(struct cifar10_state *state,
                                  const struct workload_control *control, int64_t *correct,
                                  struct error *err);

#endif
