/* server/page/work_view.c: agents and jobs. */
#include "server/page/work_view.h"

#include <inttypes.h>
#include <string.h>

#include "common/json.h"
#include "server/page/format.h"
#include "server/page/queue_page.h"

#define FACTS_MAX      12
#define TAGS_BYTES_MAX 2048 /* 16 tags of 64 bytes, and what stands between */
#define GIB            (1024.0 * 1024.0 * 1024.0)

static struct agent_item_view make_agent(const struct page_frame *frame,
                                         const struct agents_page *data,
                                         const struct agent_record *agent);
static void fill_doing(struct arena *arena, const struct agents_page *data,
                       const struct agent_record *agent, struct agent_item_view *item);
static void fill_machine(struct arena *arena, const struct agent_record *agent,
                         struct agent_item_view *item);
static struct str list_tags(struct arena *arena, const char *tags_json);
static void fill_wanted(struct arena *arena, const struct job_record *job, struct job_view *view);
static void fill_attempts(struct arena *arena, const struct job_page *data, int64_t now_ms,
                          struct job_view *view);

void page_render_agents(struct buf *out, const struct page_frame *frame,
                        const struct agents_page *data)
{
    const struct page_title title = {
        .title = STR("Agents"),
        .description = STR("Which agents train, what each does and can, and when it was heard."),
        .section = SECTION_AGENTS,
        .script = "queue.js",
    };
    struct agent_item_view *items =
        ARENA_NEW_ARRAY(frame->arena, data->agent_count, struct agent_item_view);
    struct agents_view view = {
        .page = layout_make(frame, &title),
        .heading =
            data->agent_count == 0
                ? STR("No agent has registered.")
                : format_text(frame->arena, "%.*s that claim and train jobs.",
                              STR_ARG(format_counted(frame->arena, (int64_t)data->agent_count,
                                                     "agent", "agents"))),
        .agents = items,
        .agents_count = items == NULL ? 0 : data->agent_count,
    };

    for (size_t i = 0; items != NULL && i < data->agent_count; i++)
        items[i] = make_agent(frame, data, &data->agents[i]);
    template_agents(out, &view);
}

static struct agent_item_view make_agent(const struct page_frame *frame,
                                         const struct agents_page *data,
                                         const struct agent_record *agent)
{
    struct arena *arena = frame->arena;
    struct agent_item_view item = {
        .id = format_text(arena, "%" PRId64, agent->id),
        .name = layout_text(agent->name),
        .state = layout_text(agent->state),
        .heard = format_age(arena, frame->now_ms - agent->heartbeat_ms),
        .doing = STR("-"),
        .hardware = layout_text(agent->hardware),
        .tags = list_tags(arena, agent->tags_json),
        .build = layout_text(agent->build),
        .registered = format_instant(arena, agent->registered_ms),
    };

    if (agent->cost_per_hour_text != NULL)
        item.price = format_text(arena, "$%s an hour", agent->cost_per_hour_text);
    fill_doing(arena, data, agent, &item);
    fill_machine(arena, agent, &item);
    return item;
}

static void fill_doing(struct arena *arena, const struct agents_page *data,
                       const struct agent_record *agent, struct agent_item_view *item)
{
    if (!agent->run_id.has)
        return;
    item->doing = format_text(arena, "run %" PRId64, agent->run_id.value);
    item->run_href = format_text(arena, "/runs/%" PRId64, agent->run_id.value);
    if (agent->job_id.has)
        item->job_href = format_text(arena, "/jobs/%" PRId64, agent->job_id.value);
    item->progress = STR("getting ready");
    for (size_t i = 0; i < data->live_count; i++) {
        const struct run_record *run = &data->live[i];
        const struct task *task;

        if (run->id != agent->run_id.value)
            continue;
        task = task_find(data->tasks, str_from_cstr(run->task));
        item->doing = layout_text(run->entry_name);
        item->progress = format_text(
            arena, "%s: %s, %.*s", task == NULL ? run->task : task->title,
            run->phase == NULL || run->phase[0] == '\0' ? run->state : run->phase,
            STR_ARG(format_counted(arena, run->epoch_count, "evaluation", "evaluations")));
    }
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text == NULL ? "" : text;
}

/* What it said of itself when it registered (Capabilities in schema/openapi.yaml). */
static void fill_machine(struct arena *arena, const struct agent_record *agent,
                         struct agent_item_view *item)
{
    struct json_doc doc = {0};
    const char *region, *machine;
    double memory;

    if (agent->capabilities_json == NULL ||
        json_doc_parse(str_from_cstr(agent->capabilities_json), arena, &doc, NULL) != ST_OK)
        return;
    memory = (double)json_integer_value(json_object_get(doc.root, "memory_bytes")) / GIB;
    item->capabilities = format_text(
        arena, "%" PRId64 " %s, %" PRId64 " cores, %s, %.1f GiB of memory", agent->devices,
        agent->device_model, (int64_t)json_integer_value(json_object_get(doc.root, "cpu_cores")),
        text_of(doc.root, "cpu_isa"), memory);
    region = text_of(doc.root, "region");
    machine = agent->instance == NULL ? "" : agent->instance;
    item->machine = format_text(
        arena, "%s%s%s%s%s%s", machine, machine[0] != '\0' && region[0] != '\0' ? ", " : "", region,
        (machine[0] != '\0' || region[0] != '\0') && agent->cloud != NULL ? ", " : "",
        agent->cloud == NULL ? "" : agent->cloud,
        json_is_true(json_object_get(doc.root, "spot")) ? ", spot" : "");
    json_doc_fini(&doc);
}

/* "a, b" of ["a", "b"]; empty for none. */
static struct str list_tags(struct arena *arena, const char *tags_json)
{
    struct json_doc doc = {0};
    struct buf words;
    struct str kept;
    json_t *value;
    size_t index;

    if (tags_json == NULL || json_doc_parse(str_from_cstr(tags_json), arena, &doc, NULL) != ST_OK)
        return STR("");
    buf_init(&words, TAGS_BYTES_MAX);
    json_array_foreach(doc.root, index, value)
    {
        if (index > 0)
            buf_append_cstr(&words, ", ");
        buf_append_cstr(&words, json_string_value(value) == NULL ? "" : json_string_value(value));
    }
    kept = str_from_cstr(words.failed ? NULL : arena_copy(arena, buf_str(&words)));
    buf_fini(&words);
    json_doc_fini(&doc);
    return kept;
}

/* ---- a job ---- */

void page_render_job(struct buf *out, const struct page_frame *frame, const struct job_page *data)
{
    struct arena *arena = frame->arena;
    const struct job_record *job = data->job;
    const struct page_title title = {
        .title = format_text(arena, "Job %" PRId64, job->id),
        .description =
            format_text(arena, "A run of %s that an agent is to train.", job->entry_name),
        .section = SECTION_QUEUE,
        .script = "queue.js",
    };
    struct job_view view = {
        .page = layout_make(frame, &title),
        .heading = title.title,
        .task = layout_text(data->task == NULL ? job->task : data->task->title),
        .task_href = layout_address(arena, "/tasks/", layout_text(job->task)),
        .name = layout_text(job->entry_name),
        .run_href = format_text(arena, "/runs/%" PRId64, job->run_id),
        .entry_href = format_text(arena, "/entries/%" PRId64, job->entry_id),
        .state = layout_text(job->state),
        .reason = queue_reason(job),
        .json_href = format_text(arena, "/v1/jobs/%" PRId64, job->id),
    };

    if (job->position.has)
        view.place = format_text(arena, "number %" PRId64 " in the queue", job->position.value);
    fill_wanted(arena, job, &view);
    fill_attempts(arena, data, frame->now_ms, &view);
    template_job(out, &view);
}

static void fill_wanted(struct arena *arena, const struct job_record *job, struct job_view *view)
{
    struct fact_view *facts = ARENA_NEW_ARRAY(arena, FACTS_MAX, struct fact_view);
    const struct str tags = list_tags(arena, job->tags_json);
    size_t count = 0;

    if (facts == NULL)
        return;
    facts[count++] = layout_fact("Workload and recipe",
                                 format_text(arena, "%s, %s", job->workload, job->recipe));
    facts[count++] = layout_fact("Device", layout_either(job->device_kind, "any"));
    facts[count++] = layout_fact("Tags", tags.len == 0 ? STR("none") : tags);
    facts[count++] = layout_fact("Wanted", format_instant(arena, job->created_ms));
    if (job->queued_ms != job->created_ms)
        facts[count++] = layout_fact("Queued again", format_instant(arena, job->queued_ms));
    facts[count++] = layout_fact("Tries", format_text(arena, "%" PRId64, job->tries));
    if (job->agent_id.has) {
        facts[count] = layout_fact("Agent", layout_text(job->agent_name));
        facts[count++].href = format_text(arena, "/agents#agent-%" PRId64, job->agent_id.value);
    }
    if (job->ended_ms.has)
        facts[count++] = layout_fact("Ended", format_instant(arena, job->ended_ms.value));
    view->facts = facts;
    view->facts_count = count;
}

static struct str attempt_end(struct arena *arena, const struct attempt_record *attempt)
{
    if (attempt->result != NULL)
        return format_text(arena, "%s: %s", attempt->state, attempt->result);
    if (attempt->reason != NULL && attempt->reason[0] != '\0')
        return format_text(arena, "%s: %s", attempt->state, attempt->reason);
    if (!attempt->ended_ms.has && attempt->phase != NULL && attempt->phase[0] != '\0')
        return format_text(arena, "%s: %s", attempt->state, attempt->phase);
    return layout_text(attempt->state);
}

static void fill_attempts(struct arena *arena, const struct job_page *data, int64_t now_ms,
                          struct job_view *view)
{
    struct attempt_row_view *rows =
        ARENA_NEW_ARRAY(arena, data->attempt_count, struct attempt_row_view);

    for (size_t i = 0; rows != NULL && i < data->attempt_count; i++) {
        const struct attempt_record *from = &data->attempts[i];

        rows[i] = (struct attempt_row_view){
            .attempt = layout_text(from->fence),
            .agent = layout_text(from->agent_name),
            .agent_href = format_text(arena, "/agents#agent-%" PRId64, from->agent_id),
            .state = layout_text(from->result != NULL ? from->result : from->state),
            .began = format_instant(arena, from->created_ms),
            .clock =
                from->started_ms.has ? format_instant(arena, from->started_ms.value) : STR("never"),
            .end = attempt_end(arena, from),
            .events = format_count(arena, from->last_seq),
        };
        if (from->ended_ms.has)
            rows[i].ended = format_instant(arena, from->ended_ms.value);
        else
            rows[i].heard = format_age(arena, now_ms - from->heartbeat_ms);
    }
    view->attempts = rows;
    view->attempts_count = rows == NULL ? 0 : data->attempt_count;
    view->attempts_heading =
        format_counted(arena, (int64_t)data->attempt_count, "attempt", "attempts");
    if (data->job->tries > (int64_t)data->attempt_count)
        view->attempts_heading = format_text(arena, "The newest %.*s of %" PRId64,
                                             STR_ARG(view->attempts_heading), data->job->tries);
}
