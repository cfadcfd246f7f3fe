/* server/api/profile.h: reading and ranking a profile (rank/profile.h), for the API and its page alike.
 * Ownership: as request.h. Threads: the worker's. */
#ifndef DAYBREAK_SERVER_API_PROFILE_H
#define DAYBREAK_SERVER_API_PROFILE_H

#include "server/http/request.h"
#include "server/rank/profile.h"

struct profile_form {
    const struct task *tasks[PROFILE_TASKS_MAX]; /* of training, each once */
    size_t count;
    enum profile_group group;
};

/* tasks=a,b,c and group=author|author-hardware; required: without tasks is a fault. Faults are the query's. */
void profile_read_form(struct request *request, bool required, struct profile_form *form,
                       struct error *err);

/* form->count > 0. On ST_OK the boards are held until boards_end_all(): the profile borrows their texts. */
enum status profile_load(struct app *app, const struct profile_form *form, struct arena *arena,
                         struct profile *profile, struct error *err);

#endif
