/* server/price/quote.c: see quote.h. */
#include "server/price/quote.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/decimal.h"
#include "server/price/catalog.h"

__extension__ typedef unsigned __int128 u128;

/* GCP's machine families with accelerators. Their catalog does not say which host carries what: these are facts of
 * the machine types. The count is the number before "g" behind the prefix (a2-highgpu-8g) unless `counts` has it by
 * vCPUs (g2-standard-24: 2). */
struct family {
    const char *prefix;
    const char *accelerator; /* NULL: chosen by the renter */
    struct {
        int64_t vcpus, count;
    } counts[9]; /* ends with 0 */
};
static const struct family families[] = {
    {"a2-highgpu-", "A100", {{0}}},
    {"a2-megagpu-", "A100", {{0}}},
    {"a2-ultragpu-", "A100-80GB", {{0}}},
    {"a3-highgpu-", "H100", {{0}}},
    {"a3-edgegpu-", "H100", {{0}}},
    {"a3-megagpu-", "H100-MEGA", {{0}}},
    {"a3-ultragpu-", "H200", {{0}}},
    {"a4-highgpu-", "B200", {{0}}},
    {"g2-standard-",
     "L4",
     {{4, 1}, {8, 1}, {12, 1}, {16, 1}, {24, 2}, {32, 1}, {48, 4}, {96, 8}, {0, 0}}},
    {"n1-", NULL, {{0}}},
};

/* The one price that is left of a machine's offers. */
struct pick {
    char name[PRICE_KEY_BYTES + 32]; /* "a2-highgpu-8g", "8 x A100" */
    const struct price_offer *offer; /* NULL: none */
    bool has_spot;
    int64_t spot_pico;  /* the lowest: to recognise one, not to compute with */
    const char *region; /* NULL: several */
};

static void set_key(struct price_plan *plan, const char *before, struct str name);
static int64_t family_count(const struct family *family, struct str rest);
static bool pick_offer(const struct price_question *question, const struct price_plan *plan,
                       bool accelerator, const struct price_offer *offers, size_t count,
                       struct pick *pick, struct price_quote *quote);
static bool add_offer(struct pick *pick, const struct price_offer *offer,
                      char reason[PRICE_REASON_BYTES]);
static bool is_of(const struct price_plan *plan, const struct price_offer *offer, bool accelerator);
static bool fits(const struct price_question *question, const struct price_offer *offer);
static bool is_outdated(const struct price_offer *offer, const struct price_offer *offers,
                        size_t count);
static bool same_place(const struct price_offer *a, const struct price_offer *b);
static int newer(const struct price_offer *a, const struct price_offer *b);
static const char *what_differs(const struct price_offer *a, const struct price_offer *b);
static bool times_nodes(int64_t nodes, const struct pick *host, const struct pick *accelerator,
                        struct price_quote *quote);
static bool divide(u128 above, u128 below, int64_t *out);
static void say(char reason[PRICE_REASON_BYTES], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void price_plan(const struct price_question *question, struct price_plan *plan)
{
    const struct str instance = str_from_cstr(question->instance);
    int64_t count = 0;

    *plan = (struct price_plan){.instance = question->instance};
    if (instance.len == 0) {
        say(plan->reason, "no instance type is stated");
        return;
    }
    /* A TPU VM's price is its accelerator's alone: the name carries the chips, the count is 1. */
    set_key(plan, str_starts_with(instance, STR("tpu-")) ? "" : "tpu-", instance);
    if (price_tpu_chips(str_from_cstr(plan->accelerator_key), &count)) {
        plan->instance = "";
        (void)snprintf(plan->accelerator_count_text, sizeof plan->accelerator_count_text, "1");
        return;
    }
    plan->accelerator_key[0] = '\0';
    count = 0;
    for (size_t i = 0; i < ARRAY_LEN(families); i++) {
        const struct family *family = &families[i];
        const struct str prefix = str_from_cstr(family->prefix);

        if (!str_starts_with(instance, prefix))
            continue;
        if (family->accelerator != NULL) {
            set_key(plan, "", str_from_cstr(family->accelerator));
            count = family_count(family, str_slice(instance, prefix.len, instance.len));
            if (count == 0)
                say(plan->reason, "it is not known how many %s a %.64s has", family->accelerator,
                    question->instance);
        } else if (question->accelerator != NULL) {
            set_key(plan, "", price_accelerator_key(str_from_cstr(question->accelerator)));
            count = question->accelerator_count;
            if (count == 0)
                say(plan->reason, "how many %.64s the %.64s had is not stated",
                    question->accelerator, question->instance);
        }
        if (count > 0)
            (void)snprintf(plan->accelerator_count_text, sizeof plan->accelerator_count_text,
                           "%" PRId64, count);
        return;
    }
}

void price_choose(const struct price_question *question, const struct price_plan *plan,
                  const struct price_offer *offers, size_t count, struct price_quote *quote)
{
    struct pick host = {0}, accelerator = {0};

    assert(question->nodes > 0);
    *quote = (struct price_quote){0};
    if (plan->reason[0] != '\0') {
        say(quote->reason, "%s", plan->reason);
        return;
    }
    if (plan->instance[0] != '\0' &&
        !pick_offer(question, plan, false, offers, count, &host, quote))
        return;
    if (plan->accelerator_key[0] != '\0' &&
        !pick_offer(question, plan, true, offers, count, &accelerator, quote))
        return;
    if (!times_nodes(question->nodes, &host, &accelerator, quote)) {
        say(quote->reason, "the price of %" PRId64 " nodes is too large", question->nodes);
        return;
    }
    quote->found = true;
    quote->has_accelerator = host.offer != NULL && accelerator.offer != NULL;
    if (quote->has_accelerator)
        quote->accelerator_price_id = accelerator.offer->id;
    if (host.offer == NULL)
        host = accelerator;
    assert(host.offer != NULL); /* a plan has one or the other */
    quote->price_id = host.offer->id;
    quote->provider = host.offer->provider;
    quote->region = host.region;
}

bool price_cost(int64_t duration_ns, int64_t per_hour_pico, int64_t *cost_pico)
{
    assert(duration_ns >= 0 && per_hour_pico >= 0);
    return divide((u128)duration_ns * (u128)per_hour_pico, (u128)NS_PER_HOUR, cost_pico);
}

/* With price = d 10^-p, ns d 10^12 / (3600 10^9 10^p) = 10 ns d / (36 10^p). */
bool price_cost_text(int64_t duration_ns, const char *per_hour_text, int64_t *cost_pico)
{
    struct decimal price;
    u128 above, below = 36;

    assert(duration_ns >= 0);
    if (decimal_parse(str_from_cstr(per_hour_text), false, &price, NULL, NULL) != ST_OK ||
        price.negative || price.exponent < -DECIMAL_DIGITS_MAX)
        return false;
    above = (u128)duration_ns * price.digits;
    if (__builtin_mul_overflow(above, (u128)10, &above))
        return false;
    for (int i = 0; i < price.exponent; i++)
        if (__builtin_mul_overflow(above, (u128)10, &above))
            return false;
    for (int i = 0; i > price.exponent; i--)
        below *= 10; /* 36e19 at most */
    return divide(above, below, cost_pico);
}

bool price_per_hour(int64_t duration_ns, int64_t cost_pico, int64_t *per_hour_pico)
{
    assert(duration_ns > 0 && cost_pico >= 0);
    return divide((u128)cost_pico * (u128)NS_PER_HOUR, (u128)duration_ns, per_hour_pico);
}

bool price_differs(int64_t stated_pico, int64_t listed_pico)
{
    const u128 stated = (u128)stated_pico, listed = (u128)listed_pico;
    const u128 apart = stated > listed ? stated - listed : listed - stated;

    assert(stated_pico >= 0 && listed_pico >= 0);
    return apart * 100 > listed * PRICE_DIFFERS_PERCENT;
}

static void set_key(struct price_plan *plan, const char *before, struct str name)
{
    (void)snprintf(plan->accelerator_key, sizeof plan->accelerator_key, "%s%.*s", before,
                   (int)str_utf8_cut(name, PRICE_NAME_BYTES_MAX), name.data);
}

/* 8 of "8g" and "8g-nolssd", 2 of "24" by vCPUs; 0: not known. */
static int64_t family_count(const struct family *family, struct str rest)
{
    int64_t number;
    size_t digits = 0;

    while (digits < rest.len && rest.data[digits] >= '0' && rest.data[digits] <= '9')
        digits++;
    if (!str_parse_i64(str_slice(rest, 0, digits), &number))
        return 0;
    if (family->counts[0].vcpus == 0)
        return digits < rest.len && rest.data[digits] == 'g' ? number : 0;
    for (size_t i = 0; i < ARRAY_LEN(family->counts) && family->counts[i].vcpus > 0; i++)
        if (family->counts[i].vcpus == number && digits == rest.len)
            return family->counts[i].count;
    return 0;
}

static bool pick_offer(const struct price_question *question, const struct price_plan *plan,
                       bool accelerator, const struct price_offer *offers, size_t count,
                       struct pick *pick, struct price_quote *quote)
{
    bool known = false, priced = false;

    if (accelerator)
        (void)snprintf(pick->name, sizeof pick->name, "%s x %.64s", plan->accelerator_count_text,
                       plan->accelerator_key);
    else
        (void)snprintf(pick->name, sizeof pick->name, "%.64s", plan->instance);
    for (size_t i = 0; i < count; i++) {
        if (!is_of(plan, &offers[i], accelerator))
            continue;
        known = true;
        if (!fits(question, &offers[i]) || is_outdated(&offers[i], offers, count))
            continue;
        priced = true;
        if (!add_offer(pick, &offers[i], quote->reason))
            return false;
    }
    if (!known)
        say(quote->reason, "no catalog has a price of %s at that date", pick->name);
    else if (!priced && question->region != NULL)
        say(quote->reason, "no catalog has a price of %s in %.64s", pick->name, question->region);
    else if (!priced)
        say(quote->reason, "no catalog has a price of %s of %.64s", pick->name, question->provider);
    return priced;
}

/* One more offer for the same machine, which must agree with those before; false: it does not, as `reason` says. */
static bool add_offer(struct pick *pick, const struct price_offer *offer,
                      char reason[PRICE_REASON_BYTES])
{
    const struct price_offer *before = pick->offer;

    if (!offer->has_on_demand) {
        say(reason, "the catalog has no on-demand price of %s", pick->name);
        return false;
    }
    if (before != NULL && before->on_demand_pico != offer->on_demand_pico) {
        say(reason, "the price of %s differs by %s: state it", pick->name,
            what_differs(before, offer));
        return false;
    }
    if (before == NULL)
        pick->region = offer->region;
    else if (pick->region != NULL && strcmp(pick->region, offer->region) != 0)
        pick->region = NULL;
    if (offer->has_spot && (!pick->has_spot || offer->spot_pico < pick->spot_pico)) {
        pick->has_spot = true;
        pick->spot_pico = offer->spot_pico;
    }
    if (before == NULL || newer(offer, before) > 0)
        pick->offer = offer;
    return true;
}

static bool is_of(const struct price_plan *plan, const struct price_offer *offer, bool accelerator)
{
    if (!accelerator)
        return strcmp(offer->instance, plan->instance) == 0;
    return offer->instance[0] == '\0' &&
           strcmp(offer->accelerator_key, plan->accelerator_key) == 0 &&
           strcmp(offer->accelerator_count_text, plan->accelerator_count_text) == 0;
}

static bool fits(const struct price_question *question, const struct price_offer *offer)
{
    if (question->provider != NULL && strcmp(question->provider, offer->provider) != 0)
        return false;
    return question->region == NULL || strcmp(question->region, offer->region) == 0 ||
           (offer->zone != NULL && strcmp(question->region, offer->zone) == 0);
}

/* A newer catalog has a price for the same machine at the same place. */
static bool is_outdated(const struct price_offer *offer, const struct price_offer *offers,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (same_place(&offers[i], offer) && newer(&offers[i], offer) > 0)
            return true;
    return false;
}

static bool same_place(const struct price_offer *a, const struct price_offer *b)
{
    if (strcmp(a->provider, b->provider) != 0 || strcmp(a->instance, b->instance) != 0 ||
        strcmp(a->region, b->region) != 0 ||
        strcmp(a->zone == NULL ? "" : a->zone, b->zone == NULL ? "" : b->zone) != 0)
        return false;
    /* What a machine carries is the machine's: a catalog may have called it otherwise before. */
    return a->instance[0] != '\0' ||
           (strcmp(a->accelerator_key, b->accelerator_key) == 0 &&
            strcmp(a->accelerator_count_text, b->accelerator_count_text) == 0);
}

/* Above 0: a counts rather than b. Of one catalog the earlier row does, which only names it. */
static int newer(const struct price_offer *a, const struct price_offer *b)
{
    const int order = strcmp(a->valid_from, b->valid_from);

    if (order != 0)
        return order;
    if (a->catalog_id != b->catalog_id)
        return a->catalog_id > b->catalog_id ? 1 : -1;
    return (b->id > a->id) - (b->id < a->id);
}

static const char *what_differs(const struct price_offer *a, const struct price_offer *b)
{
    if (strcmp(a->provider, b->provider) != 0)
        return "provider";
    return strcmp(a->region, b->region) != 0 ? "region" : "zone";
}

static bool times_nodes(int64_t nodes, const struct pick *host, const struct pick *accelerator,
                        struct price_quote *quote)
{
    const struct pick *const parts[] = {host, accelerator};
    int64_t spot = 0;
    bool has_spot = true;

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (parts[i]->offer == NULL)
            continue;
        if (__builtin_add_overflow(quote->per_hour_pico, parts[i]->offer->on_demand_pico,
                                   &quote->per_hour_pico))
            return false;
        has_spot = has_spot && parts[i]->has_spot &&
                   !__builtin_add_overflow(spot, parts[i]->spot_pico, &spot);
    }
    if (__builtin_mul_overflow(quote->per_hour_pico, nodes, &quote->per_hour_pico))
        return false;
    quote->has_spot = has_spot && !__builtin_mul_overflow(spot, nodes, &spot);
    quote->spot_per_hour_pico = quote->has_spot ? spot : 0;
    return true;
}

/* above / below, rounded once, half to even. */
static bool divide(u128 above, u128 below, int64_t *out)
{
    u128 quotient = above / below;
    const u128 rest = above % below;

    if (rest > below - rest || (rest == below - rest && quotient % 2 == 1))
        quotient++;
    if (quotient > INT64_MAX)
        return false;
    *out = (int64_t)quotient;
    return true;
}

static void say(char reason[PRICE_REASON_BYTES], const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(reason, PRICE_REASON_BYTES, format, args);
    va_end(args);
}
