/* server/api/api.h: the resources under /v1, one file each, and what they share.
 * Ownership: as request.h. Threads: handlers run on workers, render functions on the writer's thread. */
#ifndef DAYBREAK_SERVER_API_API_H
#define DAYBREAK_SERVER_API_API_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "server/http/cursor.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/http/router.h"
#include "server/store/verbs.h"
#include "server/store/writer.h"

extern const struct route_table api_routes; /* routes.c */

route_handler_fn handle_list_tasks, handle_get_task; /* tasks.c */
/* What stands before the version in the ETag of a task: it changes with the program, too. NULL: no memory. */
const char *task_etag_name(struct arena *arena, const struct task *task);
route_handler_fn handle_validate_submission, handle_post_submission;                /* submit.c */
route_handler_fn handle_post_review, handle_withdraw, handle_get_history;           /* reviews.c */
route_handler_fn handle_list_comments, handle_post_comment, handle_resolve_comment, /* comments.c */
    handle_reopen_comment;                                                          /* comments.c */
route_handler_fn handle_patch_submission, handle_patch_task;          /* corrections.c */
route_handler_fn handle_list_submissions, handle_get_submission,      /* submissions.c */
    handle_get_submission_file;                                       /* submissions.c */
route_handler_fn handle_get_leaderboard, handle_get_records;          /* leaderboards.c */
route_handler_fn handle_validate_logs, handle_post_logs;              /* mlperf.c */
route_handler_fn handle_get_profile;                                  /* profile.c */
route_handler_fn handle_get_analysis;                                 /* analysis.c */
route_handler_fn handle_get_compare, handle_get_paper;                /* compare.c, paper.c */
route_handler_fn handle_get_entry;                                    /* entries.c */
route_handler_fn handle_list_prices, handle_get_price;                /* prices.c */
route_handler_fn handle_get_run, handle_get_epochs;                   /* runs.c */
route_handler_fn handle_get_run_profile;                              /* run_profile.c */
route_handler_fn handle_get_roofline;                                 /* roofline.c */
route_handler_fn handle_post_jobs, handle_get_job, handle_cancel_job, /* jobs.c */
    handle_get_queue;                                                 /* jobs.c */
route_handler_fn handle_list_agents, handle_get_agent;                /* agents.c */
route_handler_fn handle_register, handle_claim;                       /* lease.c */
route_handler_fn handle_heartbeat, handle_events, handle_finish, handle_release, /* attempt.c */
    handle_put_profile;                                                          /* attempt.c */
route_handler_fn handle_list_tokens, handle_get_token, handle_post_token,
    handle_delete_token;                                                        /* tokens.c */
route_handler_fn handle_post_webhook, handle_list_webhooks, handle_get_webhook; /* webhooks.c */
route_handler_fn handle_delete_webhook, handle_list_deliveries, handle_redeliver;
route_handler_fn handle_stream;                                 /* stream.c */
route_handler_fn handle_healthz, handle_readyz, handle_openapi; /* service.c */

/* A command under way, in the request's arena; request->state points to it between the handler's calls. */
struct api_step {
    struct command command;
    struct request *request;
    bool was_pushed; /* false: the queue was full; command.status and err say so */
    void *more;      /* the handler's own */
};

/* First half of a writing handler: suspends the request and pushes the verb. Afterwards the handler returns at
 * once; it is called again when the writer is done, with api_step() as the outcome. Sends the refusal itself
 * when nothing could be pushed. render: needed with use_key, which honours an Idempotency-Key. */
struct api_push {
    enum status (*verb)(struct db *db, struct arena *arena, void *args, struct error *err);
    void *args;
    enum status (*render)(struct command *command, struct error *err);
    bool use_key;
    void *more;
};
void api_push(struct request *request, struct response *response, const struct api_push *push);
struct api_step *api_step(const struct request *request);
/* Sends what `render` made, or the error. */
void api_send_answer(struct request *request, struct response *response);

/* The worker's reader with one state of the database until api_end_read(); NULL: the error was sent. As it refuses
 * parameters that nobody has taken, a handler reads its own before. */
struct store_reader *api_begin_read(struct request *request, struct response *response);
void api_end_read(struct store_reader *reader);

/* The task named by {..} 0, or NULL after a 404. */
const struct task *api_find_task(struct request *request, struct response *response);

/* Readers of parameters that several calls have; query_finish() tells whether all was well.
 * limit= alone, of a list whose key is a parameter of its own. */
void api_read_limit(struct request *request, int64_t *limit, struct error *err);
/* format=json or csv; else what Accept prefers. */
void api_read_format(struct request *request, bool *csv, struct error *err);

/* A list by keyset (cursor.h): limit= and cursor=, the key of the last item of the page before. The handler asks the
 * store for limit + 1 items behind the key; with more than limit, api_page_next() of the last one shown gives the text
 * of next_cursor, and adds `Link: <...>; rel="next"`, the same question one page on. NULL: no memory. */
struct api_page {
    const char *list, *kinds; /* the caller's: as cursor_make() */
    bool list_is_whole;       /* `list` tells path and filter; else api_page_read() adds them */
    int64_t limit;
    bool has_key; /* false: the first page */
    struct cursor_value key[CURSOR_VALUES_MAX];
};
void api_page_read(struct request *request, struct api_page *page, struct error *err);
const char *api_page_next(struct response *response, const struct api_page *page,
                          const struct cursor_value *last);
/* The Link alone, for a list whose key is a parameter of its own: `name`=`value` in place of what was asked. */
void api_link_next(struct response *response, const char *name, const char *value);

#endif
