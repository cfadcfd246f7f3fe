/* agent/workload/cifar10_profile.c: steps that are taken to measure them (cifar10_internal.h). */
#include <assert.h>

#include "agent/workload/cifar10_internal.h"

const struct program *cifar10_step_program(void *state, int64_t step)
{
    const struct cifar10_state *s = state;

    return session_program(s->session, s->programs[cifar10_program_of(s, step)]);
}

/* Order, augmentation and learning rates hang on the counter among the variables. */
enum status cifar10_take_step(void *state, int64_t step, struct group_time *times,
                              struct error *err)
{
    struct cifar10_state *s = state;
    const size_t program = s->programs[cifar10_program_of(s, step)];
    const int32_t before = (int32_t)step;

    assert(s->started && step >= 0 && step < s->shape.total_steps);
    store_write(s->store, s->vars.step, &before);
    return times == NULL ? session_run(s->session, program, err)
                         : session_profile(s->session, program, 1, times, err);
}
