/* agent/workload/recipe.h: how the workload cifar10 is trained, as plain data, and the schedules that follow from it.
 * All hyper-parameters are here. Source of the 94 % recipe: K. Jordan, "94% on CIFAR-10 in 3.29 seconds on a single
 * GPU", arXiv 2404.00498, section 3 and listing 4 (airbench94); the others are the same at other sizes, and those with
 * Muon follow the same author's airbench94_muon and the records after it.
 * Ownership: constant tables. Threads: pure, any thread. */
#ifndef DAYBREAK_AGENT_WORKLOAD_RECIPE_H
#define DAYBREAK_AGENT_WORKLOAD_RECIPE_H

#include <stdbool.h>
#include <stdint.h>

#define CIFAR10_GROUPS 3 /* of convolutions */

enum recipe_optimiser {
    RECIPE_SGD, /* for all parameters */
    RECIPE_MUON /* for the filters of the groups; SGD for the rest */
};

struct cifar10_recipe {
    const char *name, *model;
    int64_t widths[CIFAR10_GROUPS]; /* channels of the groups */
    double epochs;
    int64_t batch;

    enum recipe_optimiser optimiser;
    double lr;           /* without Muon; per 1024 examples: see recipe_fill_hyper() */
    double momentum;     /* of SGD, Nesterov */
    double weight_decay; /* decoupled from the rate; per 1024 examples, with Muon per example */
    double bias_scaler;  /* of the rate of batch-norm biases */
    double lr_start, lr_peak,
        lr_end; /* triangle: factor at the start, place of the top, factor at the end */
    double muon_lr, muon_momentum; /* Nesterov; all rates fall to 0 in a line */
    double bias_lr, head_lr;       /* beside Muon: of SGD, on the summed loss */
    double label_smoothing;
    double
        whiten_bias_epochs; /* the whitening layer's bias learns that long, to the end of a step */

    int64_t whiten_images; /* the covariance is taken over so many of the first */
    double whiten_eps;
    double norm_eps, norm_momentum; /* PyTorch's sense: weight of the new value */
    double logit_scale;
    bool unit_head;              /* the last layer starts with a standard deviation of 1 */
    bool silu;                   /* behind the batch norms; else GELU */
    int64_t translate;           /* pixels, reflected */
    double brightness, contrast; /* the most by which an image's differ, of normalised values */

    int64_t lookahead_every; /* steps; 0: never */
    double lookahead_base;   /* weight of the average at the end, before the last call */
    double lookahead_power;  /* of the share of steps done */

    int64_t eval_batch;
    int64_t
        views; /* of test-time augmentation, 1 or 6: the same in every evaluation (protocol.md, The clock) */

    int64_t image_limit; /* 0: none. Of the recipe for tests */
    bool whole_test;     /* image_limit is for the training images alone */
    bool verify_data;    /* the official files alone */
};

/* NULL: unknown. */
const struct cifar10_recipe *recipe_find(const char *name);

/* Columns of the table `hyper`, row s for step s (from 1); row 0 is not read. */
enum hyper_column {
    HYPER_LR_NORM, /* batch-norm biases */
    HYPER_LR,
    HYPER_DECAY_NORM, /* coupled, as sgd wants it: divided by the group's base rate */
    HYPER_DECAY,
    HYPER_MOMENTUM,
    HYPER_LOOKAHEAD, /* weight of the average in a lookahead after this step */
    HYPER_LR_WHITEN, /* this and the next two with Muon alone; it falls to 0 while the bias learns */
    HYPER_LR_MUON,
    HYPER_MOMENTUM_MUON,
    HYPER_COLUMNS
};

int64_t recipe_steps_per_epoch(int64_t images, int64_t batch); /* the rest is dropped */
int64_t recipe_total_steps(const struct cifar10_recipe *recipe, int64_t steps_per_epoch,
                           double epochs);
/* out[total + 1][HYPER_COLUMNS], computed in double. */
void recipe_fill_hyper(const struct cifar10_recipe *recipe, int64_t batch, int64_t total,
                       float *out);

#endif
