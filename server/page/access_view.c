/* server/page/access_view.c: see access_view.h. */
#include "server/page/access_view.h"

#include <inttypes.h>

#include "common/clock.h"
#include "server/page/format.h"

static void fill_tokens(struct arena *arena, const struct tokens_page *data, int64_t now_ms,
                        struct tokens_view *view);
static struct str format_quota(struct arena *arena, const struct token_record *token);
static void fill_form(struct arena *arena, const struct tokens_page *data,
                      struct tokens_view *view);
static struct str format_optional(struct arena *arena, const struct opt_i64 *value);

void page_render_login(struct buf *out, const struct page_frame *frame, struct str back,
                       const struct error *fault)
{
    const struct page_title title = {
        .title = STR("Sign in"),
        .description = STR("Sign in with a token."),
    };
    const struct login_view view = {
        .page = layout_make(frame, &title),
        .back = back,
        .fault = layout_text(fault == NULL ? NULL : fault->detail),
        .hint = layout_text(fault == NULL ? NULL : fault->hint),
    };

    template_login(out, &view);
}

void page_render_tokens(struct buf *out, const struct page_frame *frame,
                        const struct tokens_page *data)
{
    const struct page_title title = {
        .title = STR("Tokens"),
        .description = STR("Tokens of this server: issue and revoke them."),
        .section = SECTION_TOKENS,
    };
    struct tokens_view view = {
        .page = layout_make(frame, &title),
        .fault = layout_text(data->fault == NULL ? NULL : data->fault->detail),
        .hint = layout_text(data->fault == NULL ? NULL : data->fault->hint),
        .sets_quotas = data->user->role == ROLE_ADMIN,
    };

    if (data->made != NULL) {
        view.made = layout_text(data->made->text);
        view.made_name = data->made->name;
    }
    if (data->next_cursor != NULL)
        view.next_href = format_text(frame->arena, "/tokens?cursor=%s", data->next_cursor);
    fill_tokens(frame->arena, data, frame->now_ms, &view);
    fill_form(frame->arena, data, &view);
    template_tokens(out, &view);
}

static void fill_tokens(struct arena *arena, const struct tokens_page *data, int64_t now_ms,
                        struct tokens_view *view)
{
    struct token_row_view *rows = ARENA_NEW_ARRAY(arena, data->token_count, struct token_row_view);

    for (size_t i = 0; rows != NULL && i < data->token_count; i++) {
        const struct token_record *token = &data->tokens[i];
        char scopes[SCOPE_SET_BYTES], date[CLOCK_TEXT_BYTES];

        scope_set_format(token->scopes, scopes, sizeof scopes);
        rows[i] = (struct token_row_view){
            .id = format_text(arena, "%" PRId64, token->id),
            .name = layout_text(token->name),
            .role = layout_text(role_name(token->role)),
            .scopes = format_text(arena, "%s", scopes),
            .expires = STR("never"),
            .used = token->used_ms.has ? format_age(arena, now_ms - token->used_ms.value)
                                       : STR("never"),
            .quota = format_quota(arena, token),
            .state = STR("good"),
        };
        if (token->expires_ms.has) {
            clock_format_date(token->expires_ms.value, date);
            rows[i].expires = format_text(arena, "%s", date);
        }
        if (token->revoked_ms.has)
            rows[i].state = STR("revoked");
        else if (token->expires_ms.has && token->expires_ms.value <= now_ms)
            rows[i].state = STR("expired");
        else
            rows[i].revoke_href = format_text(arena, "/tokens/%" PRId64 "/revoke", token->id);
    }
    view->tokens = rows;
    view->tokens_count = rows == NULL ? 0 : data->token_count;
}

static struct str format_quota(struct arena *arena, const struct token_record *token)
{
    const struct str stored = format_count(arena, token->stored_bytes);

    if (token->quota.bytes_max == INT64_MAX)
        return format_text(arena, "%.*s bytes stored", STR_ARG(stored));
    return format_text(arena, "%.*s of %.*s bytes stored, %.*s a day", STR_ARG(stored),
                       STR_ARG(format_count(arena, token->quota.bytes_max)),
                       STR_ARG(format_counted(arena, token->quota.submissions_per_day, "submission",
                                              "submissions")));
}

static void fill_form(struct arena *arena, const struct tokens_page *data, struct tokens_view *view)
{
    const struct create_token *wanted = data->wanted;
    struct choice_view *roles = ARENA_NEW_ARRAY(arena, ROLE_COUNT, struct choice_view);
    struct choice_view *scopes = ARENA_NEW_ARRAY(arena, SCOPE_COUNT, struct choice_view);
    size_t role_count = 0, scope_count = 0;

    for (enum role r = 0; roles != NULL && r < ROLE_COUNT; r++)
        if (token_may_issue(data->user, r))
            roles[role_count++] =
                (struct choice_view){.value = str_from_cstr(role_name(r)),
                                     .chosen = wanted != NULL && wanted->role == r};
    for (unsigned i = 0; scopes != NULL && i < SCOPE_COUNT; i++)
        if ((data->user->scopes & 1u << i) != 0)
            scopes[scope_count++] =
                (struct choice_view){.value = str_from_cstr(scope_name((enum scope)(1u << i))),
                                     .chosen = wanted != NULL && (wanted->scopes & 1u << i) != 0};
    view->roles = roles;
    view->roles_count = role_count;
    view->scopes = scopes;
    view->scopes_count = scope_count;
    if (wanted == NULL)
        return;
    view->name = wanted->name;
    view->ttl_days = format_optional(arena, &wanted->ttl_days);
    view->submissions_per_day = format_optional(arena, &wanted->submissions_per_day);
    view->bytes_max = format_optional(arena, &wanted->bytes_max);
}

static struct str format_optional(struct arena *arena, const struct opt_i64 *value)
{
    return value->has ? format_text(arena, "%" PRId64, value->value) : STR("");
}
