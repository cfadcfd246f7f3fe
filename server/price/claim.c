/* server/price/claim.c: see claim.h. */
#include "server/price/claim.h"

#include <assert.h>
#include <string.h>

#include "common/json.h"
#include "server/price/catalog.h"

enum { NODES_MAX = 65536 };

static void read_text(const json_t *misc, const char *key, struct arena *arena, const char **out);
static void read_count(const json_t *misc, const char *key, int64_t *out);

void price_claim_read(const char *misc_json, struct arena *arena, struct price_claim *claim)
{
    struct json_doc doc = {0};

    if (misc_json == NULL || json_doc_parse(str_from_cstr(misc_json), arena, &doc, NULL) != ST_OK)
        return;
    if (json_is_object(doc.root)) {
        read_text(doc.root, "instance", arena, &claim->instance);
        read_text(doc.root, "provider", arena, &claim->provider);
        read_text(doc.root, "region", arena, &claim->region);
        read_text(doc.root, "accelerator", arena, &claim->accelerator);
        read_count(doc.root, "nodes", &claim->nodes);
        read_count(doc.root, "accelerators", &claim->accelerators);
        claim->spot = json_is_true(json_object_get(doc.root, "spot"));
    }
    json_doc_fini(&doc);
}

struct price_question price_claim_question(const struct price_claim *claim)
{
    assert(claim->instance != NULL);
    return (struct price_question){
        .instance = claim->instance,
        .provider = claim->provider,
        .region = claim->region,
        .accelerator = claim->accelerator,
        .accelerator_count = claim->accelerators,
        .nodes = claim->nodes == 0 ? 1 : claim->nodes,
    };
}

static void read_text(const json_t *misc, const char *key, struct arena *arena, const char **out)
{
    const json_t *value = json_object_get(misc, key);
    struct str text;

    if (!json_is_string(value))
        return;
    text = str_trim((struct str){json_string_value(value), json_string_length(value)});
    if (text.len > 0 && text.len <= PRICE_NAME_BYTES_MAX)
        *out = arena_copy(arena, text);
}

static void read_count(const json_t *misc, const char *key, int64_t *out)
{
    const json_t *value = json_object_get(misc, key);

    if (json_is_integer(value) && json_integer_value(value) > 0 &&
        json_integer_value(value) <= NODES_MAX)
        *out = (int64_t)json_integer_value(value);
}
