/* server/page/doc_pages.c: see doc_pages.h. */
#include "server/page/doc_pages.h"

#include "server/app.h"
#include "server/page/doc_page.h"
#include "server/page/format.h"
#include "server/page/page_work.h"
#include "server/page/rules_page.h"
#include "server/store/read.h"

static enum status draw_doc(struct page_work *work, struct buf *out);
static enum status draw_api_part(struct page_work *work, struct buf *out);
static enum status draw_index(struct page_work *work, struct buf *out);
static enum status draw_rules(struct page_work *work, struct buf *out);

static void handle_index(struct request *request, struct response *response)
{
    page_send(request, response, draw_index);
}

static void handle_doc(struct request *request, struct response *response)
{
    page_send(request, response, draw_doc);
}

static void handle_api_part(struct request *request, struct response *response)
{
    page_send(request, response, draw_api_part);
}

static void handle_rules(struct request *request, struct response *response)
{
    page_send(request, response, draw_rules);
}

static const struct route routes[] = {
    {.method = HTTP_GET, .pattern = "/docs", .handle = handle_index, .html = true},
    {.method = HTTP_GET, .pattern = "/docs/{name}", .handle = handle_doc, .html = true},
    {.method = HTTP_GET, .pattern = "/docs/api/{part}", .handle = handle_api_part, .html = true},
    {.method = HTTP_GET, .pattern = "/rules/{task}", .handle = handle_rules, .html = true},
};
const struct route_table doc_routes = {routes, ARRAY_LEN(routes)};

/* name: one part of the address, decoded: a slash in it would make a second address of another page. */
static enum status draw_file(struct page_work *work, const char *folder, struct str name,
                             struct buf *out)
{
    const struct str path = format_text(&work->arena, "%s%.*s.html", folder, STR_ARG(name));
    size_t slash;
    const struct embedded_file *file = str_find_char(name, '/', &slash) ? NULL : doc_find(path);

    if (file == NULL)
        return error_set(&work->err, ST_NOT_FOUND, NULL,
                         "there is no such page of documentation: /docs lists them all");
    page_render_doc(out, &work->frame, file);
    return ST_OK;
}

static enum status draw_index(struct page_work *work, struct buf *out)
{
    return draw_file(work, "", STR("docs"), out);
}

static enum status draw_doc(struct page_work *work, struct buf *out)
{
    return draw_file(work, "docs/", work->request->args[0], out);
}

static enum status draw_api_part(struct page_work *work, struct buf *out)
{
    return draw_file(work, "docs/api/", work->request->args[0], out);
}

static enum status draw_rules(struct page_work *work, struct buf *out)
{
    const struct task *task = page_find_task(work, work->request->args[0]);
    struct task_setting setting = {0};

    if (task == NULL ||
        store_get_task_setting(work->reader, &work->arena, task, &setting, &work->err) != ST_OK)
        return work->err.status;
    page_render_rules(out, &work->frame, task, &setting);
    return ST_OK;
}
