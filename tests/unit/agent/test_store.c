/* tests/unit/agent/test_store.c: layout, names, versions and contents of the store, in plain memory and a backend's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/graph/store.h"

static struct var *add(struct store *store, const char *name, enum var_role role, int group,
                       int64_t count)
{
    return store_add(store, &(struct var_spec){.name = name,
                                               .tensor = tensor_make(DT_F32, 1, &count),
                                               .role = role,
                                               .group = group});
}

static void variables_lie_by_role_group_and_declaration(void **state)
{
    struct store *store = store_create();
    struct var *data = add(store, "data", VAR_DATA, 0, 3);
    struct var *late = add(store, "b", VAR_PARAM, 2, 17);
    struct var *early = add(store, "a", VAR_PARAM, 1, 1);
    struct var *same = add(store, "c", VAR_PARAM, 2, 16);
    struct var *step = add(store, "step", VAR_STATE, 0, 1);
    struct error err = {0};

    (void)state;
    assert_int_equal(store_alloc(store, NULL, &err), ST_OK);
    assert_int_equal(early->offset, 0);
    assert_int_equal(late->offset, 64);
    assert_int_equal(same->offset, 64 + 128); /* 17 floats take two lines */
    assert_int_equal(step->offset, 64 + 128 + 64);
    assert_int_equal(data->offset, step->offset + 64);
    assert_int_equal(store_bytes(store), data->offset + 64);
    assert_int_equal((uintptr_t)store_host(store) % 64, 0);
    assert_null(store_memory(store));
    store_destroy(store);
}

static void variables_are_found_by_name_and_index(void **state)
{
    struct store *store = store_create();
    struct var *a = add(store, "a.weight", VAR_PARAM, 0, 2), *b = add(store, "b", VAR_STATE, 0, 2);

    (void)state;
    assert_int_equal(store_count(store), 2);
    assert_ptr_equal(store_find(store, "a.weight"), a);
    assert_null(store_find(store, "a"));
    assert_ptr_equal(store_at(store, 1), b);
    assert_string_equal(b->spec.name, "b");
    store_destroy(store);
    store_destroy(NULL);
}

/* The spec's name may be a buffer of the caller's. */
static void a_name_is_copied(void **state)
{
    struct store *store = store_create();
    char name[8] = "w";
    struct var *var = add(store, name, VAR_PARAM, 0, 1);

    (void)state;
    name[0] = 'x';
    assert_string_equal(var->spec.name, "w");
    store_destroy(store);
}

static void check_contents(struct backend *backend)
{
    static const float want[3] = {1.0f, -2.0f, 3.0f};
    struct store *store = store_create();
    struct var *a = add(store, "a", VAR_PARAM, 0, 3), *b = add(store, "b", VAR_PARAM, 0, 3);
    float got[3] = {9.0f, 9.0f, 9.0f};
    struct error err = {0};

    assert_int_equal(store_alloc(store, backend, &err), ST_OK);
    store_read(store, a, got);
    assert_true(got[0] == 0.0f && got[1] == 0.0f && got[2] == 0.0f);
    assert_int_equal(store_versions(store)[a->index], 0);
    store_write(store, a, want);
    assert_int_equal(store_versions(store)[a->index], 1);
    assert_int_equal(store_versions(store)[b->index], 0);
    store_touch(store, b);
    assert_int_equal(store_versions(store)[b->index], 1);
    store_read(store, a, got);
    assert_memory_equal(got, want, sizeof want);
    assert_memory_equal((const unsigned char *)store_host(store) + a->offset, want, sizeof want);
    store_read(store, b, got);
    assert_true(got[0] == 0.0f && got[2] == 0.0f);
    store_destroy(store);
}

static void contents_in_plain_memory(void **state)
{
    (void)state;
    check_contents(NULL);
}

static void contents_in_memory_of_the_cpu_backend(void **state)
{
    const struct backend_options options = {.threads = 1};
    struct backend *backend = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(cpu_backend_open(&options, &backend, &err), ST_OK);
    check_contents(backend);
    backend->ops->close(backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_lie_by_role_group_and_declaration),
        cmocka_unit_test(variables_are_found_by_name_and_index),
        cmocka_unit_test(a_name_is_copied),
        cmocka_unit_test(contents_in_plain_memory),
        cmocka_unit_test(contents_in_memory_of_the_cpu_backend),
    };

    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
