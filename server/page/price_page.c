/* server/page/price_page.c: one list price. */
#include "server/page/price_page.h"

#include <inttypes.h>

#include "common/clock.h"
#include "server/page/format.h"
#include "server/page/render.h"

#define FACTS_MAX 16

static void add(struct price_view *view, struct fact_view *facts, const char *term,
                struct str value);
static struct str price_text(struct arena *arena, bool known, const char *text);
static const char *flag_text(const char *flag);

void page_render_price(struct buf *out, const struct page_frame *frame,
                       const struct price_record *price)
{
    struct arena *arena = frame->arena;
    struct fact_view *facts = ARENA_NEW_ARRAY(arena, FACTS_MAX, struct fact_view);
    const struct str name = layout_either(price->instance, price->accelerator);
    struct page_title title = {.section = SECTION_TASKS};
    struct price_view view = {
        .name = name,
        .place = format_text(arena, "%s, %s", price->provider,
                             price->zone == NULL ? price->region : price->zone),
        .flag = layout_text(flag_text(price->flag)),
        .json_href = format_text(arena, "/v1/prices/%" PRId64, price->id),
        .facts = facts,
    };
    char imported[CLOCK_TEXT_BYTES];

    title.title = format_text(arena, "Price of %.*s", STR_ARG(name));
    title.description =
        format_text(arena, "The list price of %.*s at %.*s.", STR_ARG(name), STR_ARG(view.place));
    view.page = layout_make(frame, &title);
    clock_format_date(price->imported_ms, imported);
    if (facts != NULL) {
        add(&view, facts, "On-demand price per hour",
            price_text(arena, price->on_demand_pico.has, price->on_demand_text));
        add(&view, facts, "Spot price per hour",
            price_text(arena, price->spot_pico.has, price->spot_text));
        add(&view, facts, "Valid from", layout_text(price->valid_from));
        if (price->accelerator[0] != '\0')
            add(&view, facts, "Accelerators",
                format_text(arena, "%s %s", price->accelerator_count_text, price->accelerator));
        if (price->chips.has)
            add(&view, facts, "Chips", format_text(arena, "%" PRId64, price->chips.value));
        add(&view, facts, "vCPUs", layout_text(price->vcpus_text));
        if (price->memory_gib_text != NULL)
            add(&view, facts, "Memory", format_text(arena, "%s GiB", price->memory_gib_text));
        add(&view, facts, "Region", layout_text(price->region));
        add(&view, facts, "Zone", layout_text(price->zone));
        add(&view, facts, "Source",
            format_text(arena, "%s, line %" PRId64, price->source, price->line));
        if (render_is_web_address(str_from_cstr(price->source)) && view.facts_count > 0)
            facts[view.facts_count - 1].href = str_from_cstr(price->source);
        add(&view, facts, "Imported", str_from_cstr(arena_copy(arena, str_from_cstr(imported))));
    }
    template_price(out, &view);
}

static void add(struct price_view *view, struct fact_view *facts, const char *term,
                struct str value)
{
    if (view->facts_count < FACTS_MAX && value.len > 0)
        facts[view->facts_count++] = layout_fact(term, value);
}

static struct str price_text(struct arena *arena, bool known, const char *text)
{
    return known ? format_text(arena, "$%s", text) : STR("unknown");
}

static const char *flag_text(const char *flag)
{
    if (flag == NULL)
        return NULL;
    if (strcmp(flag, "price-zero") == 0)
        return "The catalog has a price of 0, or one too small to count, here, which is taken as "
               "unknown.";
    return "The catalog has a spot price above the on-demand price: an error or a lag at its "
           "source.";
}
