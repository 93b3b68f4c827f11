/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/rand.h"
#include "kube/watch/watch_store.h"
#include "objects.h"
#include "prop.h"

static void put(struct watch_store *s, const char *namespace, const char *name, const char *version)
{
    struct object *o = POD(.namespace = namespace, .name = name, .version = version);

    object_unref(watch_store_put(s, o));
    object_unref(o);
}

static bool keep(struct watch_store *s, const char *namespace, const char *name,
                 const char *version)
{
    struct object *o = POD(.namespace = namespace, .name = name, .version = version);
    bool kept = watch_store_keep(s, object_meta(o));

    object_unref(o);
    return kept;
}

static void append(void *ctx, struct object *o)
{
    buf_add_printf(ctx, "%.*s ", STR_ARG(object_meta(o)->name));
}

static void test_put_replaces_and_take_removes(void **state)
{
    struct watch_store s;
    struct object *first = POD(.namespace = "ns", .name = "a", .version = "1"),
                  *second = POD(.namespace = "ns", .name = "a", .version = "2");
    struct object *old;

    (void)state;
    watch_store_init(&s);
    assert_null(watch_store_put(&s, first));
    old = watch_store_put(&s, second);
    assert_ptr_equal(old, first);
    assert_int_equal(s.entries.n, 1);
    assert_ptr_equal(watch_store_get(&s, STR("ns"), STR("a")), second);
    assert_null(watch_store_get(&s, STR(""), STR("a")));
    assert_null(watch_store_get(&s, STR("n"), STR("s/a")));
    object_unref(old);
    old = watch_store_take(&s, object_meta(first));
    assert_ptr_equal(old, second);
    assert_null(watch_store_take(&s, object_meta(first)));
    assert_int_equal(s.entries.n, 0);
    object_unref(old);
    object_unref(first);
    object_unref(second);
    watch_store_release(&s);
}

static void test_sweep_takes_what_was_not_listed_in_order(void **state)
{
    struct buf gone = BUF_INIT;
    struct watch_store s;

    (void)state;
    watch_store_init(&s);
    put(&s, "ns", "d", "1");
    put(&s, "ns", "b", "1");
    put(&s, "ns", "a", "1");
    put(&s, "ns", "c", "1");
    watch_store_begin(&s);
    assert_true(keep(&s, "ns", "b", "1"));
    assert_false(keep(&s, "ns", "c", "2"));
    assert_false(keep(&s, "ns", "x", "1"));
    put(&s, "ns", "c", "2");
    watch_store_sweep(&s, append, &gone);
    assert_string_equal(buf_cstr(&gone), "a d ");
    assert_int_equal(s.entries.n, 2);
    watch_store_begin(&s);
    buf_clear(&gone);
    watch_store_sweep(&s, append, &gone);
    assert_string_equal(buf_cstr(&gone), "b c ");
    buf_release(&gone);
    watch_store_release(&s);
}

/* After a list the store holds exactly its objects. */
static bool listing_replaces(struct rand *r, size_t size, void *ctx)
{
    struct watch_store s;
    struct buf gone = BUF_INIT;
    size_t listed = 0;
    bool ok;

    (void)ctx;
    watch_store_init(&s);
    for (int round = 0; round < 3; round++) {
        watch_store_begin(&s);
        listed = 0;
        for (size_t i = 0; i < size; i++) {
            char name[32], version[32];

            if (rand_below(r, 2))
                continue;
            snprintf(name, sizeof(name), "p%zu", i);
            snprintf(version, sizeof(version), "%u", (unsigned)rand_below(r, 2));
            if (!keep(&s, "ns", name, version))
                put(&s, "ns", name, version);
            listed++;
        }
        watch_store_sweep(&s, append, &gone);
    }
    ok = s.entries.n == listed;
    buf_release(&gone);
    watch_store_release(&s);
    return ok;
}

static void test_listing_replaces(void **state)
{
    (void)state;
    assert_true(prop_run("listing replaces", 200, listing_replaces, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_replaces_and_take_removes),
        cmocka_unit_test(test_sweep_takes_what_was_not_listed_in_order),
        cmocka_unit_test(test_listing_replaces),
    };

    return cmocka_run_group_tests_name("watch_store", tests, NULL, NULL);
}
