/* tests/unit/agent/test_cifar10_infer.c: a saved model, folded, gives each image the class that the evaluation of
 * the training gives it; files that are no model of the recipe are refused in one sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/data/safetensors.h"
#include "agent/workload/cifar10.h"
#include "agent/workload/cifar10_internal.h"
#include "tests/support/cifar10_tiny.h"

#define MODEL "a.safetensors"

/* Trains a model of the recipe and saves it; what its evaluation counts. */
static struct workload_score make_model(const struct workload_options *options)
{
    void *tiny = open_tiny(options, 7);
    struct workload_score score;

    while (!train_on(tiny).done)
        continue;
    score = evaluate(tiny);
    save(tiny, MODEL);
    workload_cifar10_tiny.close(tiny);
    return score;
}

static enum status open_model(const struct workload_options *options, const char *name,
                              struct workload_items *items, void **state, struct error *err)
{
    struct safetensors *model = NULL;
    enum status status = safetensors_open(path_of(name), &model, err);

    memset(items, 0, sizeof *items);
    *state = NULL;
    if (status == ST_OK)
        status =
            workload_cifar10_tiny.open_inference(options, model, path_of(name), items, state, err);
    safetensors_close(model);
    return status;
}

/* Right answers among the first `count` images, one at a time. */
static int64_t count_right(void *state, const struct workload_items *items, int64_t count)
{
    int64_t correct = 0;

    for (int64_t i = 0; i < count; i++) {
        struct error err = {0};
        int label = -1;

        assert_int_equal(workload_cifar10_tiny.classify(state, i, &label, &err), ST_OK);
        assert_in_range(label, 0, CIFAR10_CLASS_COUNT - 1);
        correct += label == items->labels[i] ? 1 : 0;
    }
    return correct;
}

/* Folding moves the last bits of logits alone: none of these images stands so near to a border. */
static void compare(const char *recipe, int64_t views)
{
    struct workload_options options = tiny_options(1);
    struct workload_score score;
    struct workload_items items;
    struct error err = {0};
    void *state;

    options.recipe = recipe;
    options.precision = WORKLOAD_PRECISION_F32;
    options.views = views;
    score = make_model(&options);
    assert_int_equal(score.views, views == 0 ? 1 : views);
    assert_true(score.correct > 0);
    assert_true(score.correct < score.total);
    if (open_model(&options, MODEL, &items, &state, &err) != ST_OK) {
        fail_msg("%s", err.detail);
        return;
    }
    assert_int_equal(items.count, CIFAR10_TEST_COUNT); /* all, whatever the recipe's limit */
    assert_int_equal(count_right(state, &items, score.total), score.correct);
    workload_cifar10_tiny.close(state);
}

static void a_folded_model_counts_as_the_evaluation_does(void **state)
{
    (void)state;
    compare("cifar10-tiny-whole", 0);
}

static void with_six_views_it_does_so_too(void **state)
{
    (void)state;
    compare("cifar10-tiny", 6);
}

/* The order of images must not matter, nor may one leave a trace in the next. */
static void an_image_has_the_same_class_whenever_it_comes(void **state)
{
    const struct workload_options options = tiny_options(1);
    int forward[TINY_IMAGES], label = -1;
    struct workload_items items;
    struct error err = {0};
    void *model;

    (void)state;
    (void)make_model(&options);
    assert_int_equal(open_model(&options, MODEL, &items, &model, &err), ST_OK);
    for (int64_t i = 0; i < TINY_IMAGES; i++)
        assert_int_equal(workload_cifar10_tiny.classify(model, i, &forward[i], &err), ST_OK);
    for (int64_t i = TINY_IMAGES; i-- > 0;) {
        assert_int_equal(workload_cifar10_tiny.classify(model, i, &label, &err), ST_OK);
        assert_int_equal(label, forward[i]);
    }
    workload_cifar10_tiny.close(model);
}

/* What depends on the model alone is computed with the first image: no image pays for a square root or a weight. */
static void folding_stands_in_the_prepare_list(void **state)
{
    const struct workload_options options = tiny_options(1);
    const struct program *program;
    struct workload_items items;
    struct error err = {0};
    struct cifar10_state *it;
    size_t roots = 0, convolutions = 0;
    void *model;

    (void)state;
    (void)make_model(&options);
    assert_int_equal(open_model(&options, MODEL, &items, &model, &err), ST_OK);
    it = model;
    if (it == NULL) {
        fail_msg("it was opened, but is not there");
        return;
    }
    program = session_program(it->session, it->programs[PROGRAM_INFER]);
    for (size_t i = 0; i < program->group_count; i++) {
        const struct op *op = &program->ops[program->groups[i].anchor];

        if (op->kind == OP_UNARY && op->attr.unary.fn == UNARY_RSQRT) {
            assert_true(i < program->prepare_count);
            roots++;
        }
        if (op->kind == OP_CONV2D) {
            assert_true(i >= program->prepare_count);
            convolutions++;
        }
        assert_int_not_equal(op->kind, OP_BN_APPLY);
    }
    assert_int_equal(roots, 2 * CIFAR10_GROUPS);
    assert_int_equal(convolutions, 2 * CIFAR10_GROUPS + 1);
    workload_cifar10_tiny.close(model);
}

static void it_says_what_it_is(void **state)
{
    const struct workload_options options = tiny_options(1);
    struct workload_items items;
    struct error err = {0};
    struct buf facts;
    void *model;

    (void)state;
    (void)make_model(&options);
    assert_int_equal(open_model(&options, MODEL, &items, &model, &err), ST_OK);
    buf_init(&facts, 65536);
    assert_int_equal(workload_cifar10_tiny.describe(model, &facts, &err), ST_OK);
    assert_non_null(strstr(facts.data, "\"recipe\":\"cifar10-tiny\""));
    assert_non_null(strstr(facts.data, "\"batch\":1,\"test_images\":10000,\"views\":1,"));
    assert_null(strstr(facts.data, "learning_rate")); /* nothing of a training */
    buf_fini(&facts);
    workload_cifar10_tiny.close(model);
}

static void assert_refused(const struct workload_options *options, const char *name,
                           enum status want, const char *field, const char *words)
{
    struct workload_items items;
    struct error err = {0};
    void *state;

    assert_int_equal(open_model(options, name, &items, &state, &err), want);
    assert_null(state);
    assert_string_equal(err.field, field);
    if (strstr(err.detail, words) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", err.detail, words);
}

static void what_is_no_model_of_the_recipe_is_refused(void **state)
{
    const float number = 1.0f;
    const struct safetensors_tensor tensor = {
        .name = "x", .dtype = SAFETENSORS_F32, .data = &number, .bytes = sizeof number};
    const struct safetensors_meta metas[] = {{"workload", "cifar10"}, {"recipe", "cifar10-tiny"}};
    struct safetensors_content content = {.tensors = &tensor, .tensor_count = 1};
    struct workload_options options = tiny_options(1);
    struct error err = {0};

    (void)state;
    assert_int_equal(safetensors_write(path_of("b.safetensors"), &content, &err), ST_OK);
    assert_refused(&options, "b.safetensors", ST_INVALID, "workload", "does not say its workload");
    content.metas = metas;
    content.meta_count = ARRAY_LEN(metas);
    assert_int_equal(safetensors_write(path_of("b.safetensors"), &content, &err), ST_OK);
    assert_refused(&options, "b.safetensors", ST_INVALID, "0.weight", "has no tensor 0.weight");
    (void)make_model(&options);
    options.recipe = "cifar10-tiny-whole";
    assert_refused(&options, MODEL, ST_INVALID, "recipe",
                   "is a model of the recipe cifar10-tiny, not cifar10-tiny-whole");
    options.recipe = "cifar10-tiny";
    options.views = 3;
    assert_refused(&options, MODEL, ST_USAGE, "views", "1 or 6 views");
}

/* A factor below 0 turns the order that a max-pool keeps. */
static void a_norm_that_cannot_be_folded_is_refused(void **state)
{
    const struct workload_options options = tiny_options(1);
    struct cifar10_state *tiny = open_tiny(&options, 7);
    struct var *var = store_find(tiny->store, "3.norm1.weight");
    float weights[16];

    (void)state;
    assert_int_equal(var->bytes, sizeof weights);
    store_read(tiny->store, var, weights);
    weights[15] = -1.0f;
    store_write(tiny->store, var, weights);
    save(tiny, MODEL);
    workload_cifar10_tiny.close(tiny);
    assert_refused(&options, MODEL, ST_INVALID, "3.norm1.weight", "cannot be folded");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folded_model_counts_as_the_evaluation_does),
        cmocka_unit_test(with_six_views_it_does_so_too),
        cmocka_unit_test(an_image_has_the_same_class_whenever_it_comes),
        cmocka_unit_test(folding_stands_in_the_prepare_list),
        cmocka_unit_test(it_says_what_it_is),
        cmocka_unit_test(what_is_no_model_of_the_recipe_is_refused),
        cmocka_unit_test(a_norm_that_cannot_be_folded_is_refused),
    };

    return cmocka_run_group_tests(tests, make_data, remove_data);
}
