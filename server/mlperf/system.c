/* server/mlperf/system.c: see system.h. */
#include "server/mlperf/system.h"

#include <string.h>

#include "common/json.h"
#include "common/text.h"

enum { TEXT_BYTES_MAX = 200, COUNT_MAX = 1000000 };

static enum status check_seen(const struct json_doc *doc, const struct mlperf_system *system,
                              struct error *err);
static const char *read_text(const json_t *object, const char *key, struct arena *arena);
static bool read_count(const json_t *object, const char *key, int64_t *count);
static void read_nodes(const json_t *list, struct arena *arena, struct mlperf_system *system);

enum status mlperf_system_parse(struct str text, struct arena *arena, struct mlperf_system *system,
                                struct error *err)
{
    struct json_doc doc;
    enum status status = json_doc_parse(text, arena, &doc, err);

    *system = (struct mlperf_system){0};
    if (status != ST_OK)
        return status;
    if (!json_is_object(doc.root)) {
        status = error_set_code(err, ST_INVALID, "wrong_type", NULL,
                                "Write {\"hardware\": .., \"framework\": .., ..}.",
                                "the description of a system is an object");
    } else {
        system->division = read_text(doc.root, "division", arena);
        system->status = read_text(doc.root, "status", arena);
        system->hardware = read_text(doc.root, "hardware", arena);
        system->framework = read_text(doc.root, "framework", arena);
        read_nodes(json_object_get(doc.root, "nodes"), arena, system);
        status = check_seen(&doc, system, err);
    }
    json_doc_fini(&doc);
    return status;
}

/* Of what boards and pages show. */
static enum status check_seen(const struct json_doc *doc, const struct mlperf_system *system,
                              struct error *err)
{
    const struct {
        const char *key, *pointer, *text;
    } rows[] = {{"hardware", "/hardware", system->hardware},
                {"framework", "/framework", system->framework},
                {"accelerator", "/nodes", system->accelerator}};
    uint32_t hidden;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (text_find_hidden(str_from_cstr(rows[i].text), &hidden)) {
            const struct json_place *place = json_doc_find(doc, rows[i].pointer);

            (void)error_set_code(err, ST_INVALID, "hidden_character", rows[i].key, TEXT_HIDDEN_HINT,
                                 "%s has U+%04X, which nobody sees", rows[i].key, (unsigned)hidden);
            if (err != NULL && place != NULL)
                err->line = place->key_line;
            return ST_INVALID;
        }
    return ST_OK;
}

/* Blank and "NA" state nothing. */
static const char *read_text(const json_t *object, const char *key, struct arena *arena)
{
    const struct str text =
        str_trim(str_from_cstr(json_string_value(json_object_get(object, key))));

    if (text_is_blank(text) || str_eq(text, STR("NA")) || str_eq(text, STR("N/A")))
        return NULL;
    return arena_copy(arena, str_slice(text, 0, str_utf8_cut(text, TEXT_BYTES_MAX)));
}

static bool read_count(const json_t *object, const char *key, int64_t *count)
{
    const json_t *value = json_object_get(object, key);

    if (json_is_integer(value))
        *count = json_integer_value(value);
    else if (!json_is_string(value) ||
             !str_parse_i64(str_from_cstr(json_string_value(value)), count))
        return false;
    return *count >= 0 && *count <= COUNT_MAX;
}

static void read_nodes(const json_t *list, struct arena *arena, struct mlperf_system *system)
{
    for (size_t i = 0; i < json_array_size(list) && i < 64; i++) {
        const json_t *node = json_array_get(list, i);
        int64_t nodes, accelerators;

        if (!read_count(node, "num_nodes", &nodes) || nodes == 0)
            continue;
        system->has_nodes = true;
        system->nodes += nodes;
        if (read_count(node, "num_accelerators", &accelerators) && accelerators > 0) {
            system->has_devices = true;
            system->devices += nodes * accelerators;
            if (system->accelerator == NULL)
                system->accelerator = read_text(node, "accelerator", arena);
        }
    }
}
