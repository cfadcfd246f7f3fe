/* server/page/review_view.c: see review_view.h. */
#include "server/page/review_view.h"

#include <inttypes.h>
#include <string.h>

#include "server/page/format.h"
#include "server/page/render.h"

#define FACTS_MAX         12
#define LINE_BYTES_MAX    400 /* shown of one line */
#define ADDRESS_BYTES_MAX 1024

static const char *const states[] = {"in_review",  "changes_requested", "accepted", "not_eligible",
                                     "superseded", "withdrawn",         "rejected", "disqualified",
                                     "queued",     "running",           "received", "checked",
                                     "scored"};

static void fill_state(struct arena *arena, const struct page_frame *frame,
                       const struct submission_page *data, struct review_view *view);
static void fill_facts(struct arena *arena, const struct submission_page *data,
                       struct review_view *view);
static void fill_revisions(struct arena *arena, const struct submission_page *data,
                           struct review_view *view);
static void fill_steps(struct arena *arena, const struct submission_page *data,
                       struct review_view *view);
static bool is_owner(const struct submission_page *data);
static bool may_review(const struct submission_page *data);
static void fill_findings(struct arena *arena, const struct submission_page *data,
                          struct review_view *view);
static struct finding_row_view make_finding(struct arena *arena, const struct submission_page *data,
                                            const struct intake_finding *finding);
static size_t find_file(const struct submission_page *data, const char *part);
static void fill_threads(struct arena *arena, const struct page_frame *frame,
                         const struct submission_page *data, struct review_view *view);
static size_t pick_threads(struct arena *arena, const struct page_frame *frame,
                           const struct submission_page *data, const char *file, int64_t line,
                           const struct thread_view **threads);
static bool is_placed(const struct submission_page *data, const struct comment_record *comment);
static struct thread_view make_thread(struct arena *arena, const struct page_frame *frame,
                                      const struct submission_page *data,
                                      const struct comment_record *first);
static void fill_files(struct arena *arena, const struct page_frame *frame,
                       const struct submission_page *data, struct review_view *view);
static size_t fill_lines(struct arena *arena, const struct page_frame *frame,
                         const struct submission_page *data, size_t file, size_t limit,
                         struct file_part_view *part);
static struct file_line_view make_line(struct arena *arena, const struct page_frame *frame,
                                       const struct submission_page *data, size_t file,
                                       int64_t number, struct str text);
static struct str make_address(struct arena *arena, const char *before, const char *name,
                               const char *after);
static int64_t count_lines(struct str text);
static void fill_history(struct arena *arena, const struct submission_page *data,
                         struct review_view *view);
static struct str describe(struct arena *arena, const struct history_record *event);

void page_render_submission(struct buf *out, const struct page_frame *frame,
                            const struct submission_page *data)
{
    struct arena *arena = frame->arena;
    const struct submission_record *submission = data->submission;
    struct page_title title = {.section = SECTION_SUBMISSIONS};
    struct review_view view = {
        .heading = layout_text(data->entry->name),
        .task = layout_text(data->task == NULL ? submission->task : data->task->title),
        .task_href = format_text(arena, "/tasks/%s", submission->task),
        .review_href = format_text(arena, "/submissions/%" PRId64 "/review", submission->id),
        .withdraw_href = format_text(arena, "/submissions/%" PRId64 "/withdraw", submission->id),
        .comment_href = format_text(arena, "/submissions/%" PRId64 "/comments", submission->id),
        .json_href = format_text(arena, "/v1/submissions/%" PRId64, submission->id),
        .line = data->comment_line,
    };

    title.title =
        format_text(arena, "Submission %" PRId64 ", %s", submission->id, data->entry->name);
    title.description =
        format_text(arena, "The submission %s: its state, files, comments.", data->entry->name);
    view.page = layout_make(frame, &title);
    view.may_comment =
        data->user != NULL && (data->user->scopes & (unsigned)(SCOPE_SUBMIT | SCOPE_REVIEW)) != 0;
    fill_state(arena, frame, data, &view);
    fill_facts(arena, data, &view);
    fill_revisions(arena, data, &view);
    fill_steps(arena, data, &view);
    fill_findings(arena, data, &view);
    fill_threads(arena, frame, data, &view);
    fill_files(arena, frame, data, &view);
    fill_history(arena, data, &view);
    template_review(out, &view);
}

void page_render_submissions(struct buf *out, const struct page_frame *frame,
                             const struct submissions_page *data)
{
    struct arena *arena = frame->arena;
    const struct page_title title = {
        .title = STR("Submissions"),
        .description = STR("What was sent, newest first, and who has to act."),
        .section = SECTION_SUBMISSIONS,
    };
    struct submission_line_view *rows =
        ARENA_NEW_ARRAY(arena, data->count, struct submission_line_view);
    struct choice_view *choices = ARENA_NEW_ARRAY(arena, ARRAY_LEN(states), struct choice_view);
    struct submissions_view view = {.page = layout_make(frame, &title), .rows = rows};

    for (size_t i = 0; choices != NULL && i < ARRAY_LEN(states); i++)
        choices[i] =
            (struct choice_view){str_from_cstr(states[i]), str_eq_cstr(data->state, states[i])};
    view.states = choices;
    view.states_count = choices == NULL ? 0 : ARRAY_LEN(states);
    for (size_t i = 0; rows != NULL && i < data->count; i++) {
        const struct submission_record *row = &data->rows[i];

        rows[i] = (struct submission_line_view){
            .href = format_text(arena, "/submissions/%" PRId64, row->id),
            .name = layout_text(row->name),
            .task = layout_text(row->task),
            .author = layout_text(row->author),
            .state = layout_text(row->state),
            .owner = layout_text(row->owner),
            .since = format_instant(arena, row->since_ms),
            .overdue = row->overdue_ms.has,
        };
        if (row->deadline_ms.has)
            rows[i].deadline = format_instant(arena, row->deadline_ms.value);
    }
    view.rows_count = rows == NULL ? 0 : data->count;
    if (data->older_before > 0)
        view.older_href = format_text(arena, "/submissions?state=%.*s&before=%" PRId64,
                                      STR_ARG(data->state), data->older_before);
    template_submissions(out, &view);
}

size_t page_states(const char *const **words)
{
    *words = states;
    return ARRAY_LEN(states);
}

static void fill_state(struct arena *arena, const struct page_frame *frame,
                       const struct submission_page *data, struct review_view *view)
{
    const struct submission_record *submission = data->submission;
    struct str name = format_text(arena, "%s", submission->state);

    for (size_t i = 0; i < name.len; i++)
        if (name.data[i] == '_')
            ((char *)name.data)[i] = ' ';
    view->state = layout_text(submission->state);
    view->state_name = name;
    view->reason = layout_text(submission->reason);
    view->next = submission->deadline_ms.has
                     ? format_text(arena, "Next: %s, by %.*s.", submission->next,
                                   STR_ARG(format_instant(arena, submission->deadline_ms.value)))
                     : format_text(arena, "%s.", submission->next);
    if (submission->overdue_ms.has)
        view->overdue =
            format_text(arena, "Overdue: the %s did not act in time (%.*s).", submission->owner,
                        STR_ARG(format_age(arena, frame->now_ms - submission->overdue_ms.value)));
}

static void fill_facts(struct arena *arena, const struct submission_page *data,
                       struct review_view *view)
{
    const struct submission_record *submission = data->submission;
    const struct entry_record *entry = data->entry;
    struct fact_view *facts = ARENA_NEW_ARRAY(arena, FACTS_MAX, struct fact_view);
    size_t count = 0;

    if (facts == NULL)
        return;
    facts[count] = layout_fact("Entry", format_text(arena, "%s", entry->name));
    facts[count++].href = format_text(arena, "/entries/%" PRId64, entry->id);
    facts[count++] = layout_fact("Author", layout_text(entry->author));
    facts[count++] = layout_fact("Model", layout_text(entry->model));
    facts[count++] = layout_fact("Hardware", layout_text(entry->hardware));
    facts[count++] = layout_fact("Received", format_instant(arena, submission->received_ms));
    facts[count++] =
        layout_fact("In this state since", format_instant(arena, submission->since_ms));
    facts[count++] = layout_fact("Revision", format_text(arena, "%" PRId64, submission->revision));
    if (entry->tta_ns.has)
        facts[count++] =
            layout_fact("Time to accuracy", format_duration(arena, entry->tta_ns.value));
    if (entry->latency_ns.has)
        facts[count++] = layout_fact("Latency", format_latency(arena, entry->latency_ns.value));
    if (entry->supersedes_id.has) {
        facts[count] = layout_fact(
            "Takes the place of", format_text(arena, "entry %" PRId64, entry->supersedes_id.value));
        facts[count++].href = format_text(arena, "/entries/%" PRId64, entry->supersedes_id.value);
    }
    if (entry->superseded_by_id.has) {
        facts[count] =
            layout_fact("In its place stands",
                        format_text(arena, "entry %" PRId64, entry->superseded_by_id.value));
        facts[count++].href =
            format_text(arena, "/entries/%" PRId64, entry->superseded_by_id.value);
    }
    view->facts = facts;
    view->facts_count = count;
}

static void fill_revisions(struct arena *arena, const struct submission_page *data,
                           struct review_view *view)
{
    struct revision_row_view *rows =
        ARENA_NEW_ARRAY(arena, data->revision_count, struct revision_row_view);

    if (rows == NULL || data->revision_count < 2)
        return;
    for (size_t i = 0; i < data->revision_count; i++)
        rows[i] = (struct revision_row_view){
            .href = format_text(arena, "/submissions/%" PRId64, data->revisions[i].id),
            .label = format_text(arena, "Revision %" PRId64, data->revisions[i].revision),
            .state = layout_text(data->revisions[i].state),
            .current = data->revisions[i].id == data->submission->id,
        };
    view->revisions = rows;
    view->revisions_count = data->revision_count;
}

/* What the reader may do from here; a revision needs files, and so is no form of this page. */
static void fill_steps(struct arena *arena, const struct submission_page *data,
                       struct review_view *view)
{
    struct choice_view *actions = ARENA_NEW_ARRAY(arena, data->step_count, struct choice_view);

    for (size_t i = 0; actions != NULL && i < data->step_count; i++) {
        const struct transition_record *step = &data->steps[i];

        if (strcmp(step->scope, "review") == 0 && may_review(data))
            actions[view->actions_count++].value = layout_text(step->action);
        else if (strcmp(step->action, "withdraw") == 0 && is_owner(data))
            view->may_withdraw = (data->user->scopes & (SCOPE_SUBMIT | SCOPE_JOBS)) != 0;
    }
    view->actions = actions;
}

static bool is_owner(const struct submission_page *data)
{
    if (data->user == NULL)
        return false;
    return data->submission->token_id.has ? data->submission->token_id.value == data->user->token_id
                                          : may_review(data);
}

static bool may_review(const struct submission_page *data)
{
    return data->user != NULL && (data->user->scopes & SCOPE_REVIEW) != 0;
}

static void fill_findings(struct arena *arena, const struct submission_page *data,
                          struct review_view *view)
{
    const size_t count = data->judged == NULL ? 0 : data->judged->finding_count;
    struct finding_row_view *rows = ARENA_NEW_ARRAY(arena, count, struct finding_row_view);

    for (size_t i = 0; rows != NULL && i < count; i++)
        rows[i] = make_finding(arena, data, &data->judged->findings[i]);
    view->findings = rows;
    view->findings_count = rows == NULL ? 0 : count;
}

static struct finding_row_view make_finding(struct arena *arena, const struct submission_page *data,
                                            const struct intake_finding *finding)
{
    const size_t file = find_file(data, finding->file);
    struct finding_row_view row = {
        .severity = str_from_cstr(intake_severity_name(finding->severity)),
        .place = finding->line == 0
                     ? layout_text(finding->file)
                     : format_text(arena, "%s, line %d", finding->file, finding->line),
        .detail = layout_text(finding->detail),
        .hint = layout_text(finding->hint),
        .code = layout_text(finding->code),
    };

    if (file < data->file_count && finding->line > 0)
        row.href = format_text(arena, "#f%zu-L%d", file + 1, finding->line);
    return row;
}

/* A finding names a file "entry", "progress", or, of several, as it is called. */
static size_t find_file(const struct submission_page *data, const char *part)
{
    if (strcmp(part, "entry") == 0)
        return 0;
    if (strcmp(part, "progress") == 0)
        return 1;
    for (size_t i = 0; i < data->file_count; i++)
        if (strcmp(data->files[i].name, part) == 0)
            return i;
    return data->file_count;
}

static void fill_threads(struct arena *arena, const struct page_frame *frame,
                         const struct submission_page *data, struct review_view *view)
{
    view->threads_count = pick_threads(arena, frame, data, NULL, 0, &view->threads);
}

/* The threads of one line of a file; file NULL: those that stand at no line that is shown. */
static size_t pick_threads(struct arena *arena, const struct page_frame *frame,
                           const struct submission_page *data, const char *file, int64_t line,
                           const struct thread_view **threads)
{
    struct thread_view *found = NULL;
    size_t count = 0;

    *threads = NULL;
    for (size_t i = 0; i < data->comment_count; i++) {
        const struct comment_record *comment = &data->comments[i];
        const bool wanted = file == NULL ? !is_placed(data, comment)
                                         : comment->file != NULL && comment->line.has &&
                                               comment->line.value == line &&
                                               strcmp(comment->file, file) == 0;

        if (comment->thread_id.has || !wanted)
            continue;
        if (found == NULL)
            found = ARENA_NEW_ARRAY(arena, data->comment_count - i, struct thread_view);
        if (found == NULL)
            return 0;
        found[count++] = make_thread(arena, frame, data, comment);
    }
    *threads = found;
    return count;
}

static bool is_placed(const struct submission_page *data, const struct comment_record *comment)
{
    int64_t lines = 0;

    if (comment->file == NULL || !comment->line.has)
        return false;
    for (size_t i = 0; i < data->file_count; i++) {
        if (strcmp(data->files[i].name, comment->file) == 0)
            return lines + comment->line.value <= SUBMISSION_LINES_MAX &&
                   comment->line.value <= count_lines(data->files[i].bytes);
        lines += count_lines(data->files[i].bytes);
    }
    return false;
}

static struct thread_view make_thread(struct arena *arena, const struct page_frame *frame,
                                      const struct submission_page *data,
                                      const struct comment_record *first)
{
    struct remark_view *remarks = ARENA_NEW_ARRAY(arena, data->comment_count, struct remark_view);
    const bool writes =
        data->user != NULL && (data->user->scopes & (unsigned)(SCOPE_SUBMIT | SCOPE_REVIEW)) != 0;
    struct thread_view view = {
        .id = format_text(arena, "%" PRId64, first->id),
        .resolved = first->resolved_ms.has,
        .remarks = remarks,
        .reply_href = format_text(arena, "/submissions/%" PRId64 "/comments", data->submission->id),
        .toggle = first->resolved_ms.has ? STR("Open again") : STR("Resolve"),
    };

    if (first->file != NULL)
        view.place = first->line.has
                         ? format_text(arena, "%s, line %" PRId64, first->file, first->line.value)
                         : layout_text(first->file);
    if (first->resolved_ms.has)
        view.resolved_note = format_text(arena, "Resolved by %s, %.*s", first->resolved_by,
                                         STR_ARG(format_instant(arena, first->resolved_ms.value)));
    if (writes) {
        view.csrf = layout_text(frame->csrf);
        if (may_review(data) || is_owner(data) || strcmp(first->by, data->user->name) == 0)
            view.toggle_href = format_text(arena, "/submissions/%" PRId64 "/threads/%" PRId64 "/%s",
                                           data->submission->id, first->id,
                                           first->resolved_ms.has ? "reopen" : "resolve");
    }
    for (size_t i = 0; remarks != NULL && i < data->comment_count; i++) {
        const struct comment_record *comment = &data->comments[i];

        if (comment->id != first->id &&
            !(comment->thread_id.has && comment->thread_id.value == first->id))
            continue;
        remarks[view.remarks_count++] = (struct remark_view){
            .id = format_text(arena, "%" PRId64, comment->id),
            .by = format_text(arena, "%s (%s)", comment->by, comment->role),
            .at = format_instant(arena, comment->at_ms),
            .text = layout_text(comment->text),
        };
    }
    return view;
}

static void fill_files(struct arena *arena, const struct page_frame *frame,
                       const struct submission_page *data, struct review_view *view)
{
    struct file_part_view *parts = ARENA_NEW_ARRAY(arena, data->file_count, struct file_part_view);
    struct choice_view *names = ARENA_NEW_ARRAY(arena, data->file_count, struct choice_view);
    size_t left = SUBMISSION_LINES_MAX;

    if (parts == NULL || names == NULL)
        return;
    for (size_t i = 0; i < data->file_count; i++) {
        char before[64];

        (void)snprintf(before, sizeof before, "/v1/submissions/%" PRId64 "/files/",
                       data->submission->id);
        parts[i] = (struct file_part_view){
            .name = layout_text(data->files[i].name),
            .anchor = format_text(arena, "f%zu", i + 1),
            .href = make_address(arena, before, data->files[i].name, ""),
        };
        left -= fill_lines(arena, frame, data, i, left, &parts[i]);
        names[i] = (struct choice_view){parts[i].name, str_eq(data->comment_file, parts[i].name)};
    }
    view->files = parts;
    view->files_count = data->file_count;
    view->file_names = names;
    view->file_names_count = data->file_count;
}

static size_t fill_lines(struct arena *arena, const struct page_frame *frame,
                         const struct submission_page *data, size_t file, size_t limit,
                         struct file_part_view *part)
{
    const int64_t all = count_lines(data->files[file].bytes);
    const size_t shown = (size_t)all < limit ? (size_t)all : limit;
    struct file_line_view *lines = ARENA_NEW_ARRAY(arena, shown, struct file_line_view);
    struct str rest = data->files[file].bytes, line;
    bool more = true;

    if (lines == NULL)
        return 0;
    for (size_t i = 0; i < shown && str_split_next(&rest, &more, '\n', &line); i++)
        lines[i] = make_line(arena, frame, data, file, (int64_t)i + 1, line);
    part->lines = lines;
    part->lines_count = shown;
    if (shown < (size_t)all)
        part->note = format_text(arena, "%zu of %" PRId64 " lines are shown here.", shown, all);
    return shown;
}

static struct file_line_view make_line(struct arena *arena, const struct page_frame *frame,
                                       const struct submission_page *data, size_t file,
                                       int64_t number, struct str text)
{
    const size_t cut = str_utf8_cut(text, LINE_BYTES_MAX);
    const size_t finding_count = data->judged == NULL ? 0 : data->judged->finding_count;
    struct finding_row_view *findings = NULL;
    struct file_line_view line = {
        .number = format_text(arena, "%" PRId64, number),
        .anchor = format_text(arena, "f%zu-L%" PRId64, file + 1, number),
        .text = cut < text.len ? format_text(arena, "%.*s\u2026", (int)cut, text.data) : text,
    };

    if (data->user != NULL) {
        char before[64], after[48];

        (void)snprintf(before, sizeof before,
                       "/submissions/%" PRId64 "?file=", data->submission->id);
        (void)snprintf(after, sizeof after, "&line=%" PRId64 "#comment", number);
        line.comment_href = make_address(arena, before, data->files[file].name, after);
    }
    for (size_t i = 0; i < finding_count; i++) {
        const struct intake_finding *finding = &data->judged->findings[i];

        if (finding->line != number || find_file(data, finding->file) != file)
            continue;
        if (findings == NULL)
            findings = ARENA_NEW_ARRAY(arena, finding_count - i, struct finding_row_view);
        if (findings == NULL)
            break;
        findings[line.findings_count++] = make_finding(arena, data, finding);
    }
    line.findings = findings;
    line.threads_count =
        pick_threads(arena, frame, data, data->files[file].name, number, &line.threads);
    return line;
}

static struct str make_address(struct arena *arena, const char *before, const char *name,
                               const char *after)
{
    struct buf address;
    struct str copy;

    buf_init(&address, ADDRESS_BYTES_MAX);
    buf_append_cstr(&address, before);
    render_append_url(&address, str_from_cstr(name));
    buf_append_cstr(&address, after);
    copy = str_from_cstr(address.failed ? NULL : arena_copy(arena, buf_str(&address)));
    buf_fini(&address);
    return copy;
}

static int64_t count_lines(struct str text)
{
    int64_t count = 0;

    for (size_t i = 0; i < text.len; i++)
        count += text.data[i] == '\n';
    return text.len > 0 && text.data[text.len - 1] != '\n' ? count + 1 : count;
}

static void fill_history(struct arena *arena, const struct submission_page *data,
                         struct review_view *view)
{
    struct history_row_view *rows =
        ARENA_NEW_ARRAY(arena, data->history_count, struct history_row_view);

    for (size_t i = 0; rows != NULL && i < data->history_count; i++) {
        const struct history_record *event = &data->history[i];

        rows[i] = (struct history_row_view){
            .at = format_instant(arena, event->at_ms),
            .by = event->by == NULL ? STR("the server")
                                    : format_text(arena, "%s (%s)", event->by, event->role),
            .what = describe(arena, event),
            .reason = layout_text(event->reason),
        };
    }
    view->history = rows;
    view->history_count = rows == NULL ? 0 : data->history_count;
}

static struct str describe(struct arena *arena, const struct history_record *event)
{
    if (strcmp(event->kind, "correction") == 0)
        return format_text(arena, "corrected %s: \"%s\" to \"%s\"", event->field,
                           event->old_value == NULL ? "" : event->old_value,
                           event->new_value == NULL ? "" : event->new_value);
    if (strcmp(event->kind, "comment") == 0)
        return format_text(arena, "comment %" PRId64, event->comment.value);
    if (strcmp(event->kind, "resolved") == 0)
        return format_text(arena, "resolved thread %" PRId64, event->comment.value);
    return event->from_state == NULL ? format_text(arena, "%s: %s", event->action, event->to_state)
                                     : format_text(arena, "%s: %s to %s", event->action,
                                                   event->from_state, event->to_state);
}
