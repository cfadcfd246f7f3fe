/* tests/support/page_fixture.h: what tests of pages share: an arena, the tasks, a page to render into, and a text that
 * must never become markup. cmocka's set-up and tear-down. */
#ifndef DAYBREAK_TESTS_SUPPORT_PAGE_FIXTURE_H
#define DAYBREAK_TESTS_SUPPORT_PAGE_FIXTURE_H

#include "common/task.h"
#include "server/page/layout.h"

#define HOSTILE "\"><script>alert(1)</script>"

static struct arena arena;
static struct task_table *tasks;
static struct buf page;

static int page_set_up(void **state)
{
    struct error err = {0};

    (void)state;
    arena_init(&arena, 16 << 20);
    buf_init(&page, PAGE_BYTES_MAX);
    return task_table_create(&tasks, &err) == ST_OK ? 0 : -1;
}

static int page_tear_down(void **state)
{
    (void)state;
    task_table_destroy(tasks);
    buf_fini(&page);
    arena_fini(&arena);
    return 0;
}

#endif
