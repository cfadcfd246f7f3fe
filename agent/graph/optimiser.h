/* agent/graph/optimiser.h: optimisers written in ops of the graph. Nothing on the host steers a step: rates are
 * columns of the table `hyper` F32[total_steps + 1][columns], read at the device's own step counter.
 * Ownership: borrows all; momenta and averages are declared in the store, which owns them. Threads: one. */
#ifndef DAYBREAK_AGENT_GRAPH_OPTIMISER_H
#define DAYBREAK_AGENT_GRAPH_OPTIMISER_H

#include "agent/graph/graph.h"

/* step + 1, assigned to the I32 scalar `step`: what the rest of the program uses. */
value optimiser_next_step(struct graph *g, struct var *step);
/* Column `column` of a row [columns] of hyper, as a scalar. */
value optimiser_column(struct graph *g, value row, int64_t column);

struct sgd_group {
    struct var *const *params;
    size_t param_count;
    int64_t lr_column, decay_column, momentum_column; /* of hyper */
    bool nesterov;
};
/* w and "opt.<name>.m" of every parameter get PyTorch's SGD; grads in order of groups and their parameters.
 * row: of hyper, at this step. A parameter in no group stands still, its momentum and decay too. */
void optimiser_sgd(struct graph *g, value row, const struct sgd_group *groups, size_t group_count,
                   const value *grads);

struct muon_group {
    struct var *const *params; /* of rank 4: [K,R,S,C], taken as matrices [K,RSC] */
    size_t param_count;
    int64_t lr_column, momentum_column; /* of hyper */
    bool nesterov;
};
/* K. Jordan's Muon, without decay: m = mu m + g, u = nesterov ? g + mu m : m, w *= sqrt(K) / |w|,
 * w -= lr orthogonal(u), where three steps of a quintic Newton-Schulz iteration take the singular values of
 * u / (|u| + 1e-7) towards 1. m: optimiser_momentum(). A parameter must not be 0. */
void optimiser_muon(struct graph *g, value row, const struct muon_group *group, const value *grads);

/* A program of its own: for each variable avg = decay avg + (1 - decay) w, then w = avg, with avg = "ema.<name>".
 * decay: a scalar; 1 gives w its average back. Momenta are untouched. vars: every floating variable that is
 * trained or averaged, running statistics included. */
void optimiser_lookahead(struct graph *g, value decay, struct var *const *vars, size_t count);
/* The variable "opt.<name>.m" or "ema.<name>", declared unless it is there: for initial values and checkpoints. */
struct var *optimiser_momentum(struct store *store, const struct var *param);
struct var *optimiser_average(struct store *store, const struct var *var);

#endif
