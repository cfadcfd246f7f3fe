/* common/fault.c: see fault.h. */
#include "common/fault.h"

#include <assert.h>
#include <string.h>

#include "common/str.h"

enum status fault_list_add(struct fault_list *list, const struct error *fault, struct error *err)
{
    assert(fault->status != ST_OK);
    if (err != NULL && err->status == ST_OK)
        *err = *fault;
    if (list == NULL)
        return fault->status;
    for (size_t i = 0; i < list->count; i++) {
        const struct error *item = &list->items[i];

        if (item->line == fault->line && strcmp(item->field, fault->field) == 0 &&
            strcmp(item->code, fault->code) == 0 && strcmp(item->detail, fault->detail) == 0)
            return fault->status;
    }
    if (list->items == NULL)
        list->items = ARENA_NEW_ARRAY(list->arena, FAULTS_MAX, struct error);
    if (list->items == NULL || list->count == FAULTS_MAX)
        list->left_out++;
    else
        list->items[list->count++] = *fault;
    return fault->status;
}

void fault_join_words(const char *const *words, char *text, size_t bytes)
{
    struct buf out;

    buf_init(&out, 4096);
    for (size_t i = 0; words[i] != NULL; i++) {
        if (i > 0)
            buf_append_cstr(&out, words[i + 1] == NULL ? " or " : ", ");
        buf_append_cstr(&out, words[i]);
    }
    (void)snprintf(text, bytes, "%.*s", (int)str_utf8_cut(buf_str(&out), bytes - 1),
                   out.data == NULL ? "" : out.data);
    buf_fini(&out);
}
