/* agent/kernels/cpu/micro_body_internal.h: all bodies, and the members of struct micro that each instance fills with them. */
#include "agent/kernels/cpu/channel_body_internal.h"
#include "agent/kernels/cpu/gemm_body_internal.h"
#include "agent/kernels/cpu/micro_internal.h"
#include "agent/kernels/cpu/vector_body_internal.h"
#include "agent/kernels/cpu/vector_norm_body_internal.h"
#include "agent/kernels/cpu/winograd_body_internal.h"

#define MICRO_MEMBERS                                                                             \
    .lanes = VF_LANES, .columns = 2 * VF_LANES, .rows_max = VF_ROWS_MAX, .gemm_tile = gemm_tile,  \
    .outer_tile = outer_tile, .winograd_in = winograd_in, .winograd_x_cells = winograd_x_cells,   \
    .winograd_dy_cells = winograd_dy_cells, .winograd_out = winograd_out, .unary = unary,         \
    .unary_grad = unary_grad, .binary = binary, .column_sum = column_sum, .column_m2 = column_m2, \
    .column_dot = column_dot, .normalise = normalise, .normalise_grad = normalise_grad,           \
    .norm_act = norm_act, .norm_act_dot = norm_act_dot, .norm_act_grad = norm_act_grad,           \
    .pool_max = pool_max, .unpool_max = unpool_max
