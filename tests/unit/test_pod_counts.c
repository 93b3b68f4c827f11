/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of pods: compared with a full count, while pods and nodes are added, changed and
 * deleted. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine_fixture.h"
#include "pod_stream.h"
#include "prop.h"

/* --- numbers by slot -------------------------------------------------------------------------- */

#define SLOTS 300

static bool same_numbers(const struct slot_counts *s, const uint32_t *expected)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < SLOTS; i++) {
        n += expected[i] > 0;
        if (slot_counts_at(s, i) != expected[i])
            return false;
    }
    for (uint32_t i = 0; i < s->n; i++)
        if (s->counts[i] == 0 || s->counts[i] != expected[s->slots[i]])
            return false;
    return n == s->n;
}

static bool keeps_numbers(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct slot_counts s = {0}, sum = {0};
    uint32_t expected[SLOTS] = {0}, twice[SLOTS];
    /* Slots near each other, far apart, and all in one chain of the table. */
    uint32_t step = (uint32_t[]){1, 7, 32, 64}[rand_below(r, 4)];
    bool ok = true, grows = true;
    for (size_t i = 0; ok && i < size * 10; i++) {
        uint32_t slot = (uint32_t)rand_below(r, 1 + SLOTS / step) * step % SLOTS;
        if (rand_below(r, 200) == 0)
            grows = !grows;
        int sign = rand_below(r, 4) ? (grows ? 1 : -1) : (grows ? -1 : 1);
        slot_counts_add(&s, slot, sign);
        if (sign > 0 || expected[slot])
            expected[slot] += (uint32_t)sign;
        ok = i % 16 || same_numbers(&s, expected);
    }
    slot_counts_merge(&sum, &s);
    slot_counts_merge(&sum, &s);
    for (size_t i = 0; i < SLOTS; i++)
        twice[i] = 2 * expected[i];
    ok = ok && same_numbers(&s, expected) && same_numbers(&sum, twice);
    slot_counts_release(&s);
    slot_counts_release(&sum);
    return ok;
}

static void numbers_by_slot(void **state)
{
    (void)state;
    assert_true(prop_run("numbers by slot", 400, keeps_numbers, NULL));
}

/* --- selections ------------------------------------------------------------------------------- */

static uint32_t count_on(const struct berth_node *node, const struct pod_selection *selection)
{
    uint32_t n = 0;
    for (size_t i = 0; node && i < node->pods.n; i++)
        n += pod_selection_matches(selection, node->pods.v[i]);
    return n;
}

static bool nodes_agree(const struct pod_stream *s, const struct pod_count *count,
                        const struct pod_selection *selection)
{
    size_t n = count->slots.n, n_slots = 0;
    for (uint32_t i = 0; i < s->cache.columns.n; i++) {
        uint32_t expected = count_on(s->cache.columns.nodes[i], selection);
        n_slots += expected > 0;
        if (pod_count_at(count, i) != expected)
            return false;
    }
    for (size_t i = 0; i < n; i++)
        if (!pod_count_at(count, count->slots.slots[i]))
            return false;
    return n == n_slots;
}

static bool domains_agree(struct pod_stream *s, struct pod_count *count,
                          const struct pod_selection *selection)
{
    const char *key = textf("key%d", (int)rand_below(s->rand, STREAM_KEYS + 3));
    const struct topology *t = topologies_get(&s->cluster.topologies, str_of(key));
    const uint32_t *counts = pod_count_by_domain(count, t);
    for (uint32_t domain = 1; domain < t->n_domains; domain++) {
        uint32_t expected = 0;
        for (uint32_t i = 0; i < s->cache.columns.n; i++)
            if (topology_domain(t, i) == domain)
                expected += count_on(s->cache.columns.nodes[i], selection);
        if (counts[domain] != expected)
            return false;
    }
    return counts[0] == 0;
}

#define SELECTIONS 12

static bool agrees_with_counting(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct pod_stream s;
    struct arena a;
    struct pod_selection selections[SELECTIONS];
    bool ok = true;
    arena_init(&a, 0);
    pod_stream_init(&s, r);
    for (size_t i = 0; i < SELECTIONS; i++)
        pod_stream_selection(&s, &a, &selections[i]);
    /* Some selections that fit, some that replace each other. */
    s.cluster.pod_counts.max_bytes = rand_below(r, 3) ? 16 << 20 : rand_below(r, 16384);
    for (size_t i = 0; ok && i < size * 5; i++) {
        pod_stream_step(&s);
        if (rand_below(r, 3))
            continue;
        pod_counts_trim(&s.cluster.pod_counts);
        ok = s.cluster.pod_counts.bytes <= s.cluster.pod_counts.max_bytes;
        for (size_t k = rand_below(r, 4); ok && k > 0; k--) {
            const struct pod_selection *selection = &selections[rand_below(r, SELECTIONS)];
            struct pod_count *count = pod_counts_get(&s.cluster.pod_counts, selection);
            ok = nodes_agree(&s, count, selection) && domains_agree(&s, count, selection);
        }
    }
    pod_stream_release(&s);
    arena_release(&a);
    return ok;
}

static void selections_agree_with_counting(void **state)
{
    (void)state;
    assert_true(prop_run("counts agree with counting", 300, agrees_with_counting, NULL));
}

/* --- one by one ------------------------------------------------------------------------------- */

static void set_pod(struct pod_stream *s, const char *uid, const char *labels, const char *node)
{
    struct object *o = POD(.name = uid, .namespace = "a", .labels = labels, .node = node);
    struct berth_pod *pod = pod_info_new(o, &s->names);
    cache_set_pod(&s->cache, pod);
    pod_info_unref(pod);
    object_unref(o);
}

static struct pod_count *ask(struct pod_stream *s, const char *selector)
{
    struct arena a;
    struct err err;
    struct str namespace = STR("a");
    struct pod_term term = {.namespaces = {&namespace, 1}};
    struct pod_selection selection = {.terms = {&term, 1}};
    arena_init(&a, 0);
    assert_int_equal(selector_parse(str_of(selector), &a, &term.selector, &err), 0);
    struct pod_count *count = pod_counts_get(&s->cluster.pod_counts, &selection);
    arena_release(&a);
    return count;
}

static void spelling_does_not_make_another_selection(void **state)
{
    (void)state;
    struct rand r;
    struct pod_stream s;
    rand_seed(&r, 1);
    pod_stream_init(&s, &r);
    assert_ptr_equal(ask(&s, "app=web"), ask(&s, "app==web"));
    assert_ptr_equal(ask(&s, "app=web"), ask(&s, "app in (web)"));
    assert_ptr_not_equal(ask(&s, "app=web"), ask(&s, "app!=web"));
    assert_ptr_not_equal(ask(&s, "app in (a,b)"), ask(&s, "app in (ab)"));
    pod_stream_release(&s);
}

/* The counts of a cycle stay, though pods change before it is over. */
static void domains_change_when_asked_for_only(void **state)
{
    (void)state;
    struct rand r;
    struct pod_stream s;
    rand_seed(&r, 1);
    pod_stream_init(&s, &r);
    struct object *node = NODE(.name = "n", .labels = "zone=z");
    cache_set_node(&s.cache, node);
    object_unref(node);
    set_pod(&s, "p1", "app=web", "n");
    struct pod_count *count = ask(&s, "app=web");
    const struct topology *t = topologies_get(&s.cluster.topologies, STR("zone"));
    const uint32_t *counts = pod_count_by_domain(count, t);
    uint32_t zone = topology_find(t, STR("z"));
    assert_int_equal(counts[zone], 1);
    set_pod(&s, "p2", "app=web", "n");
    assert_int_equal(counts[zone], 1);
    assert_int_equal(pod_count_at(count, 0), 2);
    assert_int_equal(pod_count_by_domain(count, t)[zone], 2);
    pod_stream_release(&s);
}

/* A few changes update the domains one by one; after many they are recounted. */
static void however_many_pods_moved_meanwhile(void **state)
{
    (void)state;
    enum { ZONES = 3 };
    struct rand r;
    struct pod_stream s;
    uint32_t expected[ZONES] = {0}, running = 0;
    char text[16], uid[16];
    rand_seed(&r, 1);
    pod_stream_init(&s, &r);
    for (int i = 0; i < ZONES; i++) {
        struct object *node = NODE(.name = textf("%d", i), .labels = textf("zone=%d", i));
        cache_set_node(&s.cache, node);
        object_unref(node);
    }
    struct pod_count *count = ask(&s, "app=web");
    const struct topology *t = topologies_get(&s.cluster.topologies, STR("zone"));
    for (size_t moves = 0; moves < 80; moves++) {
        for (size_t i = 0; i < moves; i++) {
            snprintf(uid, sizeof(uid), "p%u", running);
            snprintf(text, sizeof(text), "%u", running % ZONES);
            set_pod(&s, uid, "app=web", text);
            expected[running++ % ZONES]++;
        }
        const uint32_t *counts = pod_count_by_domain(count, t);
        for (uint32_t i = 0; i < ZONES; i++) {
            snprintf(text, sizeof(text), "%u", i);
            assert_int_equal(counts[topology_find(t, str_of(text))], expected[i]);
        }
    }
    pod_stream_release(&s);
}

/* The selections of thousands of owners with a few pods each. */
static void small_selections_are_cheap(void **state)
{
    (void)state;
    struct rand r;
    struct pod_stream s;
    rand_seed(&r, 1);
    pod_stream_init(&s, &r);
    for (int i = 0; i < 3000; i++) {
        char uid[16], labels[64], selector[64], node[16];
        for (int k = 0; k < 3; k++) {
            snprintf(uid, sizeof(uid), "p%d-%d", i, k);
            snprintf(labels, sizeof(labels), "app=web,hash=%d", i);
            snprintf(node, sizeof(node), "n%d", (i * 7 + k) % 500);
            set_pod(&s, uid, labels, node);
        }
        snprintf(selector, sizeof(selector), "app=web,hash=%d", i);
        struct pod_count *count = ask(&s, selector);
        assert_int_equal(count->slots.n, 3);
        assert_true(count->bytes < 1500);
    }
    assert_int_equal(s.cluster.pod_counts.by_key.n, 3000);
    pod_counts_trim(&s.cluster.pod_counts);
    assert_int_equal(s.cluster.pod_counts.by_key.n, 3000);
    pod_stream_release(&s);
}

static void the_one_not_asked_for_longest_goes(void **state)
{
    (void)state;
    struct rand r;
    struct pod_stream s;
    rand_seed(&r, 1);
    pod_stream_init(&s, &r);
    (void)ask(&s, "app=first");
    (void)ask(&s, "app=second");
    (void)ask(&s, "app=first");
    s.cluster.pod_counts.max_bytes = s.cluster.pod_counts.bytes - 1;
    pod_counts_trim(&s.cluster.pod_counts);
    assert_int_equal(s.cluster.pod_counts.by_key.n, 1);
    size_t n = s.cluster.pod_counts.by_key.n;
    (void)ask(&s, "app=first");
    assert_int_equal(s.cluster.pod_counts.by_key.n, n);
    pod_stream_release(&s);
}

/* Selections of deleted pods do not slow down additions and deletions. */
static void unused_counts_are_dropped(void **state)
{
    (void)state;
    struct rand r;
    struct pod_stream s;
    rand_seed(&r, 1);
    pod_stream_init(&s, &r);
    (void)ask(&s, "app=asked");
    (void)ask(&s, "app!=nobody-asks");
    for (int i = 0; i < 2000; i++) {
        set_pod(&s, "p", "app=asked", "n");
        pod_counts_trim(&s.cluster.pod_counts);
        assert_int_equal(pod_count_at(ask(&s, "app=asked"), 0), 1);
    }
    assert_int_equal(s.cluster.pod_counts.by_key.n, 1);
    /* Recounted on demand. */
    assert_int_equal(pod_count_at(ask(&s, "app!=nobody-asks"), 0), 1);
    pod_stream_release(&s);
}

/* No state of deleted pods and selections is left. */
static void nothing_piles_up(void **state)
{
    (void)state;
    struct rand r;
    struct pod_stream s;
    rand_seed(&r, 1);
    pod_stream_init(&s, &r);
    for (int i = 0; i < 200; i++) {
        const char *uid = textf("p%d", i);
        const char *labels = textf("app=%d", i);
        set_pod(&s, uid, labels, "n");
        cache_remove_pod(&s.cache, str_of(uid));
    }
    (void)ask(&s, "app=1");
    s.cluster.pod_counts.max_bytes = 0;
    pod_counts_trim(&s.cluster.pod_counts);
    assert_int_equal(s.cluster.pod_counts.classes.n, 0);
    assert_int_equal(s.cluster.pod_counts.namespaces.n, 0);
    assert_int_equal(s.cluster.pod_counts.by_key.n, 0);
    assert_int_equal(s.cluster.pod_counts.bytes, 0);
    pod_stream_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_by_slot),
        cmocka_unit_test(selections_agree_with_counting),
        cmocka_unit_test(spelling_does_not_make_another_selection),
        cmocka_unit_test(domains_change_when_asked_for_only),
        cmocka_unit_test(however_many_pods_moved_meanwhile),
        cmocka_unit_test(small_selections_are_cheap),
        cmocka_unit_test(the_one_not_asked_for_longest_goes),
        cmocka_unit_test(unused_counts_are_dropped),
        cmocka_unit_test(nothing_piles_up),
    };
    return cmocka_run_group_tests_name("pod_counts", tests, NULL, NULL);
}
