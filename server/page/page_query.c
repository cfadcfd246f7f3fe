/* server/page/page_query.c: see page_query.h. */
#include "server/page/page_query.h"

static bool is_given(struct query *query, const char *name, struct str *text);

void page_query_choice(struct query *query, const char *name, const char *const *choices,
                       size_t count, size_t *index, struct error *err)
{
    struct str text;

    if (!is_given(query, name, &text))
        return;
    for (size_t i = 0; i < count; i++)
        if (str_eq_cstr(text, choices[i])) {
            *index = i;
            return;
        }
    (void)query_fault(query, name, NULL, err, "'%.*s' is not known here",
                      (int)str_utf8_cut(text, 64), text.data);
}

void page_query_number(struct query *query, const char *name, int64_t max, int64_t *number,
                       struct error *err)
{
    struct str text;

    if (is_given(query, name, &text))
        (void)query_read_i64(query, name, 1, max, number, err);
}

void page_query_date(struct query *query, const char *name, struct str *text, bool *has,
                     int64_t *days, struct error *err)
{
    if (is_given(query, name, text))
        (void)query_read_date(query, name, has, days, err);
}

static bool is_given(struct query *query, const char *name, struct str *text)
{
    return query_read_text(query, name, text) && text->len > 0;
}
