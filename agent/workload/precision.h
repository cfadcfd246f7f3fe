/* agent/workload/precision.h: in which type a workload computes: what was asked for, and what this host makes of it.
 * Threads: pure, any. */
#ifndef DAYBREAK_AGENT_WORKLOAD_PRECISION_H
#define DAYBREAK_AGENT_WORKLOAD_PRECISION_H

#include "agent/kernels/ops.h"
#include "agent/workload/workload.h"

/* "auto", "f32" or "bf16"; ST_USAGE for another word. */
enum status precision_parse(const char *text, enum workload_precision *precision,
                            struct error *err);
/* F32 or BF16 by the wish and the allowed instruction sets (kernels.h). ST_UNSUPPORTED: they have no products of bf16. */
enum status precision_choose(enum workload_precision wish, uint32_t isa, enum dtype *dtype,
                             struct error *err);

#endif
