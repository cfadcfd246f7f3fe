/* tests/support/train_bits.c: train_bits ISA: trains cifar10-tiny on a few images of its own, evaluates, and
 * prints what was chosen and the digest of every variable, for comparing one processor with another. Everything runs
 * in this process: the agent would start its training child anew, which an emulator of user programs does not follow. */
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "agent/kernels/kernels.h"
#include "common/crypto.h"
#include "tests/support/cifar10_tiny.h"

#define SEED    1
#define THREADS 2
/* Two steps an epoch, five in all: the last ones run with a frozen bias, and the very last with the lookahead. */
#define IMAGES          64
#define FACTS_BYTES_MAX 65536

static void digest_variables(const struct store *store, char digest[SHA256_HEX_BYTES]);
static void print_facts(void *state, int64_t correct);

int main(int argc, char **argv)
{
    struct workload_options options = tiny_options(THREADS);
    struct error err = {0};
    void *state = NULL;
    enum status status;

    options.isa = argc == 2 ? argv[1] : "";
    options.precision = WORKLOAD_PRECISION_F32;
    options.image_limit = IMAGES;
    (void)make_data(NULL);
    status = workload_cifar10_tiny.open(&options, &state, &err);
    if (status == ST_OK)
        status = workload_cifar10_tiny.start(state, SEED, &err);
    if (status == ST_OK) {
        while (!train_on(state).done)
            ;
        print_facts(state, evaluate(state).correct);
    }
    if (status != ST_OK)
        (void)fprintf(stderr, "train_bits: %s\n", err.detail);
    workload_cifar10_tiny.close(state);
    (void)remove_data(NULL);
    return status_exit_code(status);
}

/* One digest over those of the variables, in order of declaration: parameters, momenta, statistics, losses. */
static void digest_variables(const struct store *store, char digest[SHA256_HEX_BYTES])
{
    const size_t count = store_count(store);
    unsigned char *digests = malloc(count * SHA256_BYTES);

    if (digests == NULL)
        abort();
    for (size_t i = 0; i < count; i++) {
        const struct var *var = store_at(store, i);
        char *bytes = malloc(var->bytes);

        if (bytes == NULL)
            abort();
        store_read(store, var, bytes);
        crypto_sha256((struct str){bytes, var->bytes}, digests + i * SHA256_BYTES);
        free(bytes);
    }
    crypto_sha256_hex((struct str){(const char *)digests, count * SHA256_BYTES}, digest);
    free(digests);
}

static void print_facts(void *state, int64_t correct)
{
    const struct cifar10_state *cifar10 = state;
    struct error err = {0};
    char digest[SHA256_HEX_BYTES];
    struct buf text;
    json_t *facts;

    buf_init(&text, FACTS_BYTES_MAX);
    if (workload_cifar10_tiny.describe(state, &text, &err) != ST_OK)
        abort();
    facts = json_loadb(text.data, text.len, 0, NULL);
    digest_variables(cifar10->store, digest);
    (void)printf(
        "{\"host\":\"%s\",\"isa\":\"%s\",\"steps\":%lld,\"correct\":%lld,\"sha256\":\"%s\"}\n",
        cpu_isa_name(cpu_isa_detect()), json_string_value(json_object_get(facts, "isa")),
        (long long)cifar10->step, (long long)correct, digest);
    json_decref(facts);
    buf_fini(&text);
}
