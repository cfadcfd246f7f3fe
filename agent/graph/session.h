/* agent/graph/session.h: several programs over one store on one backend: train, evaluate, lookahead. They run one at
 * a time and share one arena, the largest; outputs hold until the next run of any of them.
 * Ownership: a session owns its programs and their memory; it borrows backend, store and, while planning, graphs.
 * Threads: one controlling thread. */
#ifndef DAYBREAK_AGENT_GRAPH_SESSION_H
#define DAYBREAK_AGENT_GRAPH_SESSION_H

#include "agent/graph/plan.h"

struct session;
struct session *session_create(struct backend *backend, struct store *store);
void session_destroy(struct session *session); /* accepts NULL; before its backend and store */

/* Plans the graph (the store must be allocated); *index names it below. Before session_compile(). */
enum status session_add(struct session *session, const struct graph *g,
                        const struct plan_options *options, size_t *index, struct error *err);
/* Allocates memory for all and compiles them. Once. */
enum status session_compile(struct session *session, struct error *err);

/* Runs it to its end and raises the versions of what it assigned. Allocates nothing. */
enum status session_run(struct session *session, size_t index, struct error *err);
/* The same, timed: times[0..group_count] of the program (backend.h). */
enum status session_profile(struct session *session, size_t index, int runs,
                            struct group_time *times, struct error *err);
/* Whole inputs and outputs by name, in tensor_bytes(); an unknown name is an assert. */
void session_write(struct session *session, size_t index, const char *name, const void *data);
void session_read(struct session *session, size_t index, const char *name, void *data);

size_t session_count(const struct session *session);
const struct program *session_program(const struct session *session, size_t index);
uint64_t session_bytes(const struct session *session); /* arena, prepared and input blocks */

#endif
