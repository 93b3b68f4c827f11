/* SPDX-License-Identifier: Apache-2.0 */
/* The cache: every rule by name, then random streams compared with a slow model. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "cache_model.h"
#include "engine/cache/cache.h"
#include "engine_fixture.h"
#include "prop.h"

/* --- a cache and objects ---------------------------------------------------------------------- */

struct bench {
    struct cache c;
    struct intern names;
};

static void bench_init(struct bench *b)
{
    intern_init(&b->names);
    cache_init(&b->c, &b->names);
}

static void bench_release(struct bench *b)
{
    cache_release(&b->c);
    assert_int_equal(b->names.by_text.n, 0); /* all names were released */
    intern_release(&b->names);
}

#define BENCH(b)    \
    struct bench b; \
    (void)state;    \
    bench_init(&b)

static void set_node_object(struct bench *b, struct object *node)
{
    cache_set_node(&b->c, node);
    object_unref(node);
}

static void set_pod_object(struct bench *b, struct object *pod)
{
    struct berth_pod *info = pod_info_new(pod, &b->names);
    cache_set_pod(&b->c, info);
    pod_info_unref(info);
    object_unref(pod);
}

static void set_pod(struct bench *b, const char *name, const char *node)
{
    set_pod_object(b, POD(.name = name, .cpu = "500m", .memory = "1Gi", .node = node));
}

static void assume(struct bench *b, const char *name, const char *node)
{
    struct object *pod = POD(.name = name, .cpu = "500m", .memory = "1Gi");
    struct berth_pod *info = pod_info_new(pod, &b->names);
    struct berth_pod *assumed = pod_info_assume(info, str_of(node));
    cache_assume(&b->c, assumed);
    pod_info_unref(assumed);
    pod_info_unref(info);
    object_unref(pod);
}

static struct berth_node *node(struct bench *b, const char *name)
{
    return cache_node(&b->c, str_of(name));
}

static size_t pods_on(struct bench *b, const char *name)
{
    return node(b, name) ? node(b, name)->pods.n : 0;
}

static void assert_order_by(struct bench *b, const char *rule, const char *expected)
{
    struct buf text = BUF_INIT;
    cache_refresh(&b->c);
    for (size_t i = 0; i < b->c.order.n; i++)
        buf_add_printf(&text, "%s%s", i ? " " : "", b->c.order.v[i]->name);
    if (!str_is(buf_str(&text), expected))
        fail_msg("%s: \"%s\", not \"%s\"", rule, buf_cstr(&text), expected);
    buf_release(&text);
}

static void assert_order(struct bench *b, const char *expected)
{
    assert_order_by(b, "order", expected);
}

/* --- assumed pods ----------------------------------------------------------------------------- */

static void an_assumed_pod_counts_on_its_node(void **state)
{
    BENCH(b);
    set_node_object(&b, NODE(.name = "a", .cpu = "4", .memory = "8Gi"));
    assume(&b, "p", "a");
    assert_int_equal(b.c.n_assumed, 1);
    assert_true(cache_pod(&b.c, STR("p"))->assumed);
    assert_int_equal(node(&b, "a")->requested.milli_cpu, 500);
    assert_int_equal(pods_on(&b, "a"), 1);
    bench_release(&b);
}

static void confirmation_on_the_same_node_ends_the_assumption(void **state)
{
    BENCH(b);
    set_node_object(&b, NODE(.name = "a", .cpu = "4", .memory = "8Gi"));
    assume(&b, "p", "a");
    set_pod(&b, "p", "a");
    assert_int_equal(b.c.n_assumed, 0);
    assert_false(cache_pod(&b.c, STR("p"))->assumed);
    assert_int_equal(pods_on(&b, "a"), 1);
    assert_int_equal(node(&b, "a")->requested.milli_cpu, 500);
    bench_release(&b);
}

static void confirmation_on_another_node_moves_the_pod(void **state)
{
    BENCH(b);
    set_node_object(&b, NODE(.name = "a", .cpu = "4", .memory = "8Gi"));
    set_node_object(&b, NODE(.name = "b", .cpu = "4", .memory = "8Gi"));
    assume(&b, "p", "a");
    set_pod(&b, "p", "b");
    assert_int_equal(b.c.n_assumed, 0);
    assert_int_equal(pods_on(&b, "a"), 0);
    assert_int_equal(node(&b, "a")->requested.milli_cpu, 0);
    assert_int_equal(pods_on(&b, "b"), 1);
    assert_ptr_equal(cache_pod(&b.c, STR("p"))->node, node(&b, "b"));
    bench_release(&b);
}

static void a_forgotten_pod_is_gone(void **state)
{
    BENCH(b);
    set_node_object(&b, NODE(.name = "a", .cpu = "4", .memory = "8Gi"));
    assume(&b, "p", "a");
    assert_true(cache_forget(&b.c, STR("p")));
    assert_null(cache_pod(&b.c, STR("p")));
    assert_int_equal(b.c.n_assumed, 0);
    assert_int_equal(pods_on(&b, "a"), 0);
    assert_false(cache_forget(&b.c, STR("p")));
    bench_release(&b);
}

static void a_confirmed_pod_is_not_forgotten(void **state)
{
    BENCH(b);
    set_node_object(&b, NODE(.name = "a", .cpu = "4", .memory = "8Gi"));
    assume(&b, "p", "a");
    set_pod(&b, "p", "a");
    assert_false(cache_forget(&b.c, STR("p")));
    assert_int_equal(pods_on(&b, "a"), 1);
    bench_release(&b);
}

static void an_assumed_pod_may_be_removed(void **state)
{
    BENCH(b);
    assume(&b, "p", "a");
    cache_remove_pod(&b.c, STR("p"));
    cache_remove_pod(&b.c, STR("p"));
    assert_int_equal(b.c.n_assumed, 0);
    assert_null(node(&b, "a"));
    bench_release(&b);
}

/* --- nodes and pods in any order -------------------------------------------------------------- */

static void pods_may_come_before_their_node(void **state)
{
    BENCH(b);
    set_pod(&b, "p", "a");
    assert_null(node(&b, "a")->object);
    assert_order(&b, "");
    set_node_object(&b, NODE(.name = "a", .cpu = "4", .memory = "8Gi"));
    assert_order(&b, "a");
    assert_int_equal(pods_on(&b, "a"), 1);
    assert_int_equal(node(&b, "a")->requested.milli_cpu, 500);
    assert_int_equal(node(&b, "a")->allocatable.milli_cpu, 4000);
    bench_release(&b);
}

static void a_removed_node_keeps_its_pods_and_may_come_back(void **state)
{
    BENCH(b);
    set_node_object(&b, NODE(.name = "a", .cpu = "4", .memory = "8Gi"));
    set_pod(&b, "p", "a");
    uint32_t slot = node(&b, "a")->slot;
    cache_remove_node(&b.c, STR("a"));
    assert_order(&b, "");
    assert_non_null(node(&b, "a"));
    assert_int_equal(node(&b, "a")->allocatable.milli_cpu, 0);
    assert_false(bitset_get(&b.c.columns.present, slot));
    cache_remove_node(&b.c, STR("a"));
    set_node_object(&b, NODE(.name = "a", .cpu = "2", .memory = "8Gi"));
    assert_order(&b, "a");
    assert_int_equal(node(&b, "a")->slot, slot);
    assert_int_equal(node(&b, "a")->requested.milli_cpu, 500);
    assert_int_equal(node(&b, "a")->allocatable.milli_cpu, 2000);
    bench_release(&b);
}

static void a_node_goes_with_its_last_pod_and_its_slot_is_used_again(void **state)
{
    BENCH(b);
    set_node_object(&b, NODE(.name = "a", .cpu = "4", .memory = "8Gi"));
    set_pod(&b, "p", "a");
    uint32_t slot = node(&b, "a")->slot;
    cache_remove_node(&b.c, STR("a"));
    cache_remove_pod(&b.c, STR("p"));
    assert_null(node(&b, "a"));
    assert_null(b.c.columns.nodes[slot]);
    set_node_object(&b, NODE(.name = "b", .cpu = "4", .memory = "8Gi"));
    assert_int_equal(node(&b, "b")->slot, slot);
    assert_int_equal(b.c.columns.n, 1);
    bench_release(&b);
}

static void unknown_names_are_nothing(void **state)
{
    BENCH(b);
    cache_remove_node(&b.c, STR("a"));
    cache_remove_pod(&b.c, STR("p"));
    assert_false(cache_forget(&b.c, STR("p")));
    assert_int_equal(b.c.generation, 0);
    bench_release(&b);
}

/* --- order ------------------------------------------------------------------------------------ */

#define ZONE(z)        "topology.kubernetes.io/zone=" z
#define REGION(z)      "topology.kubernetes.io/region=" z
#define BETA_ZONE(z)   "failure-domain.beta.kubernetes.io/zone=" z
#define BETA_REGION(z) "failure-domain.beta.kubernetes.io/region=" z

static void zones_take_turns(void **state)
{
    static const struct {
        const char *rule;
        struct {
            const char *name, *labels; /* labels NULL: the node is deleted */
        } steps[8];
        const char *order;
    } table[] = {
        {"without zones: as they came", {{"c", ""}, {"a", ""}, {"b", ""}}, "c a b"},
        {"one of each zone in turn",
         {{"a1", ZONE("a")},
          {"a2", ZONE("a")},
          {"b1", ZONE("b")},
          {"a3", ZONE("a")},
          {"b2", ZONE("b")}},
         "a1 b1 a2 b2 a3"},
        {"no zone is a zone",
         {{"a1", ZONE("a")}, {"x1", ""}, {"a2", ZONE("a")}, {"x2", ""}},
         "a1 x1 a2 x2"},
        {"the region tells zones of one name apart",
         {{"a1", REGION("r") "," ZONE("a")},
          {"a2", REGION("r") "," ZONE("a")},
          {"b1", REGION("s") "," ZONE("a")}},
         "a1 b1 a2"},
        {"a region alone is a zone",
         {{"a1", REGION("r")}, {"a2", REGION("r")}, {"x", ""}},
         "a1 x a2"},
        {"the older label wins",
         {{"a1", BETA_ZONE("a") "," ZONE("b")}, {"a2", ZONE("a")}, {"b1", ZONE("b")}},
         "a1 b1 a2"},
        {"the older label of the region wins",
         {{"a1", BETA_REGION("r") "," REGION("s")}, {"a2", REGION("r")}, {"b1", REGION("s")}},
         "a1 b1 a2"},
        {"even where it is empty",
         {{"x1", BETA_ZONE("") "," ZONE("a")}, {"a1", ZONE("a")}, {"x2", ""}},
         "x1 a1 x2"},
        {"who changes the zone stays in place for the time being",
         {{"a1", ZONE("a")}, {"b1", ZONE("b")}, {"b2", ZONE("b")}, {"a1", ZONE("b")}},
         "a1 b1 b2"},
        {"and comes last in the new one when another node comes",
         {{"a1", ZONE("a")}, {"b1", ZONE("b")}, {"b2", ZONE("b")}, {"a1", ZONE("b")}, {"c", ""}},
         "b1 c b2 a1"},
        {"or goes",
         {{"a1", ZONE("a")}, {"b1", ZONE("b")}, {"b2", ZONE("b")}, {"a1", ZONE("b")}, {"b1", NULL}},
         "b2 a1"},
        {"who changes the region changes the zone",
         {{"a1", ZONE("a")}, {"a2", ZONE("a")}, {"a1", REGION("r") "," ZONE("a")}, {"x", ""}},
         "a2 a1 x"},
        {"who changes something else stays",
         {{"a1", ZONE("a")}, {"a2", ZONE("a")}, {"a1", ZONE("a") ",x=y"}},
         "a1 a2"},
        {"a zone keeps its turn while it has nodes",
         {{"a1", ZONE("a")}, {"b1", ZONE("b")}, {"a2", ZONE("a")}, {"a1", NULL}},
         "a2 b1"},
        {"an emptied zone comes back as the last",
         {{"a1", ZONE("a")}, {"b1", ZONE("b")}, {"a1", NULL}, {"a2", ZONE("a")}},
         "b1 a2"},
        {"a node that comes back is the last",
         {{"a", ""}, {"b", ""}, {"a", NULL}, {"a", ""}},
         "b a"},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        BENCH(b);
        for (size_t k = 0; table[i].steps[k].name; k++) {
            if (table[i].steps[k].labels)
                set_node_object(
                    &b, NODE(.name = table[i].steps[k].name, .labels = table[i].steps[k].labels));
            else
                cache_remove_node(&b.c, str_of(table[i].steps[k].name));
            cache_refresh(&b.c);
        }
        assert_order_by(&b, table[i].rule, table[i].order);
        bench_release(&b);
    }
}

/* --- images ----------------------------------------------------------------------------------- */

#define IMAGES(list)      "'images':[" list "]"
#define IMAGE(name, size) "{'names':['" name "'],'sizeBytes':" size "}"

static void assert_image(struct bench *b, const char *name, int64_t size, size_t n_nodes)
{
    const struct image_state *image = map_get(&b->c.images, str_of(name));
    if (!n_nodes) {
        assert_null(image);
        return;
    }
    assert_non_null(image);
    assert_int_equal(image->size, size);
    assert_int_equal(image->n_nodes, n_nodes);
}

static void the_first_node_to_report_an_image_tells_its_size(void **state)
{
    BENCH(b);
    set_node_object(&b, NODE(.name = "a", .status = IMAGES(IMAGE("i", "10"))));
    set_node_object(&b, NODE(.name = "b", .status = IMAGES(IMAGE("i", "20"))));
    assert_image(&b, "i", 10, 2);
    cache_remove_node(&b.c, STR("a"));
    assert_image(&b, "i", 10, 1);
    set_node_object(&b, NODE(.name = "a", .status = IMAGES(IMAGE("i", "30"))));
    assert_image(&b, "i", 10, 2);
    bench_release(&b);
}

static void the_only_node_with_an_image_may_change_its_size(void **state)
{
    BENCH(b);
    set_node_object(&b, NODE(.name = "a", .status = IMAGES(IMAGE("i", "10"))));
    set_node_object(&b, NODE(.name = "a", .status = IMAGES(IMAGE("i", "11"))));
    assert_image(&b, "i", 11, 1);
    bench_release(&b);
}

static void an_image_goes_with_the_last_node_that_has_it(void **state)
{
    BENCH(b);
    set_node_object(&b, NODE(.name = "a", .status = IMAGES(IMAGE("i", "10") "," IMAGE("j", "1"))));
    set_node_object(&b, NODE(.name = "b", .status = IMAGES(IMAGE("i", "10"))));
    assert_image(&b, "j", 1, 1);
    set_node_object(&b, NODE(.name = "a", .status = IMAGES(IMAGE("i", "10"))));
    assert_image(&b, "j", 0, 0);
    assert_image(&b, "i", 10, 2);
    set_node_object(&b, NODE(.name = "a"));
    cache_remove_node(&b.c, STR("b"));
    assert_int_equal(b.c.images.n, 0);
    bench_release(&b);
}

static void every_name_of_an_image_counts_once_per_node(void **state)
{
    BENCH(b);
    set_node_object(
        &b, NODE(.name = "a",
                 .status = IMAGES("{'names':['i','i:1'],'sizeBytes':10}," IMAGE("i", "12"))));
    assert_image(&b, "i", 10, 1);
    assert_image(&b, "i:1", 10, 1);
    assert_int_equal(node(&b, "a")->images.n, 2);
    bench_release(&b);
}

static void images_of_a_removed_node_with_pods_are_gone(void **state)
{
    BENCH(b);
    set_node_object(&b, NODE(.name = "a", .status = IMAGES(IMAGE("i", "10"))));
    set_pod(&b, "p", "a");
    cache_remove_node(&b.c, STR("a"));
    assert_int_equal(b.c.images.n, 0);
    assert_int_equal(node(&b, "a")->images.n, 0);
    bench_release(&b);
}

/* --- derived from pods ------------------------------------------------------------------------ */

static void set_pod_with(struct bench *b, const char *name, const char *spec)
{
    set_pod_object(b, POD(.name = name, .namespace = "ns", .node = "a", .spec = spec));
}

static bool uses_port(struct bench *b, const char *ip, const char *protocol, int32_t port)
{
    const struct berth_node *n = node(b, "a");
    for (size_t i = 0; i < n->used_ports.n; i++) {
        const struct host_port *p = &n->used_ports.v[i];
        if (str_is(intern_text(&b->names, p->ip), ip) &&
            str_is(intern_text(&b->names, p->protocol), protocol) && p->port == port)
            return true;
    }
    return false;
}

static void host_ports_are_those_of_running_containers(void **state)
{
    BENCH(b);
    set_pod_with(&b, "p",
                 "'containers':[{'ports':[{'hostPort':80},{'containerPort':7},"
                 "{'hostPort':53,'protocol':'UDP','hostIP':'10.0.0.1'}]}],"
                 "'initContainers':[{'ports':[{'hostPort':1}]},"
                 "{'restartPolicy':'Always','ports':[{'hostPort':2}]}]");
    assert_int_equal(node(&b, "a")->used_ports.n, 3);
    assert_true(uses_port(&b, "0.0.0.0", "TCP", 80));
    assert_true(uses_port(&b, "10.0.0.1", "UDP", 53));
    assert_true(uses_port(&b, "0.0.0.0", "TCP", 2));
    bench_release(&b);
}

static void a_host_port_is_free_when_a_pod_that_has_it_goes(void **state)
{
    BENCH(b);
    static const char spec[] = "'containers':[{'ports':[{'hostPort':80}]}]";
    set_pod_with(&b, "p", spec);
    set_pod_with(&b, "q", spec);
    set_pod_with(&b, "r", "'containers':[{'ports':[{'hostPort':81}]}]");
    cache_remove_pod(&b.c, STR("p"));
    assert_false(uses_port(&b, "0.0.0.0", "TCP", 80));
    assert_true(uses_port(&b, "0.0.0.0", "TCP", 81));
    cache_remove_pod(&b.c, STR("q"));
    cache_remove_pod(&b.c, STR("r"));
    set_pod_with(&b, "s", spec);
    assert_int_equal(node(&b, "a")->used_ports.n, 1);
    bench_release(&b);
}

static uint32_t claim_uses(struct bench *b, const char *claim)
{
    const struct berth_node *n = node(b, "a");
    for (size_t i = 0; i < n->claims.n; i++)
        if (str_is(intern_text(&b->names, n->claims.v[i].claim), claim))
            return n->claims.v[i].pods;
    return 0;
}

static void claims_are_counted_by_pod(void **state)
{
    BENCH(b);
    static const char spec[] =
        "'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'data'}},"
        "{'name':'scratch','ephemeral':{}},{'name':'e','emptyDir':{}}]";
    set_pod_with(&b, "p", spec);
    set_pod_with(&b, "q", spec);
    assert_int_equal(claim_uses(&b, "ns/data"), 2);
    assert_int_equal(claim_uses(&b, "ns/p-scratch"), 1);
    assert_int_equal(claim_uses(&b, "ns/q-scratch"), 1);
    assert_int_equal(node(&b, "a")->claims.n, 3);
    cache_remove_pod(&b.c, STR("p"));
    assert_int_equal(claim_uses(&b, "ns/data"), 1);
    assert_int_equal(node(&b, "a")->claims.n, 2);
    bench_release(&b);
}

#define TERM TERMS({"zone", "", .weight = 1})

static void pods_with_affinity_are_listed(void **state)
{
    const struct {
        struct pod_args pod;
        size_t any, required_anti;
    } table[] = {
        {{.spec = "'affinity':{}"}, 0, 0},
        {{.spec = "'affinity':{'nodeAffinity':{}}"}, 0, 0},
        {{.spec = "'affinity':{'podAffinity':{}}"}, 0, 0},
        {{.affinity = TERM}, 1, 0},
        {{.preferred_affinity = TERM}, 1, 0},
        {{.preferred_anti_affinity = TERM}, 1, 0},
        {{.anti_affinity = TERM}, 1, 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        BENCH(b);
        struct pod_args pod = table[i].pod;
        pod.node = "a";
        set_pod_object(&b, object_from_pod_args(&pod));
        pod.name = "q";
        set_pod_object(&b, object_from_pod_args(&pod));
        assert_int_equal(node(&b, "a")->pods_with_affinity.n, 2 * table[i].any);
        assert_int_equal(node(&b, "a")->pods_with_required_anti_affinity.n,
                         2 * table[i].required_anti);
        cache_remove_pod(&b.c, STR("p"));
        assert_int_equal(node(&b, "a")->pods_with_affinity.n, table[i].any);
        assert_int_equal(node(&b, "a")->pods_with_required_anti_affinity.n, table[i].required_anti);
        bench_release(&b);
    }
}

static void absurd_requests_wrap_and_come_back(void **state)
{
    BENCH(b);
    static const char *const amounts[] = {"9223372036854775807", "-9223372036854775808", "8Ei",
                                          "-8Ei"};
    struct buf spec = BUF_INIT;
    char name[8];
    for (size_t i = 0; i < ARRAY_LEN(amounts) * 2; i++) {
        const char *a = amounts[i % ARRAY_LEN(amounts)];
        buf_clear(&spec);
        buf_add_printf(&spec,
                       "'containers':[{'resources':{'requests':{'cpu':'%s','memory':"
                       "'%s','ephemeral-storage':'%s','example.com/x':'%s'}}}]",
                       a, a, a, a);
        snprintf(name, sizeof(name), "p%zu", i);
        set_pod_with(&b, name, buf_cstr(&spec));
    }
    set_pod_with(&b, "p", "'containers':[]");
    for (size_t i = 0; i < ARRAY_LEN(amounts) * 2; i++) {
        snprintf(name, sizeof(name), "p%zu", i);
        cache_remove_pod(&b.c, str_of(name));
    }
    const struct berth_node *n = node(&b, "a");
    assert_int_equal(n->requested.milli_cpu, 0);
    assert_int_equal(n->requested.memory, 0);
    assert_int_equal(n->requested.ephemeral_storage, 0);
    assert_int_equal(n->requested.scalars.n, 0);
    assert_int_equal(n->nonzero_milli_cpu, cache_pod(&b.c, STR("p"))->pod->nonzero_milli_cpu);
    buf_release(&spec);
    bench_release(&b);
}

/* --- generation, node set, columns ------------------------------------------------------------ */

static void the_generation_grows_with_every_change(void **state)
{
    BENCH(b);
    uint64_t last = b.c.generation;
#define GREW(node_name)                                           \
    do {                                                          \
        assert_true(b.c.generation > last);                       \
        last = b.c.generation;                                    \
        if (node(&b, node_name))                                  \
            assert_true(node(&b, node_name)->generation == last); \
    } while (0)
    set_node_object(&b, NODE(.name = "a"));
    GREW("a");
    set_node_object(&b, NODE(.name = "b"));
    uint64_t of_a = node(&b, "a")->generation;
    GREW("b");
    set_node_object(&b, NODE(.name = "b", .labels = "x=y"));
    GREW("b");
    set_pod(&b, "p", "b");
    GREW("b");
    set_pod(&b, "p", "b");
    GREW("b");
    assume(&b, "q", "b");
    GREW("b");
    cache_forget(&b.c, STR("q"));
    GREW("b");
    cache_remove_node(&b.c, STR("b"));
    GREW("b");
    cache_remove_pod(&b.c, STR("p"));
    GREW("b");
    assert_true(node(&b, "a")->generation == of_a);
#undef GREW
    bench_release(&b);
}

static void the_node_set_grows_when_a_slot_gets_a_node_or_loses_it(void **state)
{
    BENCH(b);
    uint64_t last = b.c.node_set;
#define GREW(yes)                                   \
    do {                                            \
        assert_int_equal(b.c.node_set > last, yes); \
        last = b.c.node_set;                        \
    } while (0)
    set_pod(&b, "p", "a");
    GREW(true);
    set_node_object(&b, NODE(.name = "a"));
    GREW(false);
    set_pod(&b, "q", "a");
    GREW(false);
    set_node_object(&b, NODE(.name = "a", .unschedulable = true));
    GREW(false);
    cache_remove_pod(&b.c, STR("p"));
    GREW(false);
    cache_remove_node(&b.c, STR("a"));
    GREW(false);
    cache_remove_pod(&b.c, STR("q"));
    GREW(true);
    cache_refresh(&b.c);
    GREW(true); /* the order is a new array */
    cache_refresh(&b.c);
    GREW(false);
#undef GREW
    bench_release(&b);
}

static void columns_grow_with_the_cluster(void **state)
{
    BENCH(b);
    char name[16];
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        set_node_object(&b, NODE(.name = name, .cpu = "4", .memory = "8Gi"));
    }
    struct berth_columns k;
    cache_get_columns(&b.c, &k);
    assert_int_equal(k.n, 300);
    for (size_t i = 0; i < k.n; i++) {
        assert_int_equal(k.nodes[i]->slot, i);
        assert_int_equal(k.allocatable_cpu[i], 4000);
        assert_true(k.present[i / 64] >> (i % 64) & 1);
    }
    bench_release(&b);
}

/* --- random streams compared with the model --------------------------------------------------- */

#define MIB         ((int64_t)1 << 20)
#define GIB         ((int64_t)1 << 30)
#define DEFAULT_CPU 100
#define DEFAULT_MEM (200 * MIB)

static const struct pod_facts pod_kinds[] = {
    {.nonzero_cpu = DEFAULT_CPU, .nonzero_memory = DEFAULT_MEM},
    {.cpu = 250, .memory = GIB, .nonzero_cpu = 250, .nonzero_memory = GIB},
    {1000, 0, 0, 1000, DEFAULT_MEM, .scalars = {2}, .ports = {true}},
    {0, 512 * MIB, GIB, DEFAULT_CPU, 512 * MIB, .ports = {false, true, true}, .claims = {true}},
    {.nonzero_cpu = DEFAULT_CPU,
     .nonzero_memory = DEFAULT_MEM,
     .ports = {true, true, true, true},
     .claims = {true, true, true},
     .affinity = true},
    {.nonzero_cpu = DEFAULT_CPU,
     .nonzero_memory = DEFAULT_MEM,
     .scalars = {1, 3},
     .claims = {false, false, true},
     .affinity = true,
     .required_anti_affinity = true},
    {.cpu = 7, .memory = INT64_MAX, .nonzero_cpu = 7, .nonzero_memory = INT64_MAX},
};
#define POD_KINDS ARRAY_LEN(pod_kinds)

static const struct node_facts node_kinds[] = {
    {"", 0, 4000, 8 * GIB, 0, 110, .images = {0}},
    {ZONE("a"), 1, 4000, 8 * GIB, 100 * GIB, 110, .images = {10, 20}},
    {BETA_ZONE("a"), 1, 8000, 8 * GIB, 0, 110, true, .images = {11, 0, 30}},
    {BETA_ZONE("b") "," ZONE("a"), 2, 4000, 8 * GIB, 0, 20, .images = {0, 21, 31, 41}},
    {REGION("r") "," ZONE("a"), 3, 0, 0, 0, 0, .images = {12, 22, 32, 42}},
    {BETA_ZONE("") "," ZONE("a"), 0, 4000, GIB, 0, 110, true, .images = {0}},
    {REGION("r"), 4, 64000, 512 * GIB, GIB, 500, .images = {13}},
};
#define NODE_KINDS ARRAY_LEN(node_kinds)

static const struct {
    const char *json, *ip, *protocol;
    int32_t port;
} ports[MODEL_PORTS] = {
    {"{'hostPort':80}", "0.0.0.0", "TCP", 80},
    {"{'hostPort':80,'hostIP':'10.0.0.1'}", "10.0.0.1", "TCP", 80},
    {"{'hostPort':53,'protocol':'UDP'}", "0.0.0.0", "UDP", 53},
    {"{'hostPort':80,'protocol':'SCTP'}", "0.0.0.0", "SCTP", 80},
};
static const char *const scalars[MODEL_SCALARS] = {"example.com/gpu", "example.com/nic"};
static const char *const claims[MODEL_CLAIMS] = {
    "{'name':'v','persistentVolumeClaim':{'claimName':'data'}}",
    "{'name':'w','persistentVolumeClaim':{'claimName':'logs'}}",
    "{'name':'scratch','ephemeral':{}}",
};

/* By pod, kind and node; the last node is none. Immutable, so created once. */
static struct object *pod_objects[MODEL_PODS][POD_KINDS][MODEL_NODES + 1];
static struct object *node_objects[MODEL_NODES][NODE_KINDS];

/* Appends an element to a JSON list or object. */
static void element(struct buf *out, const char *text)
{
    if (out->n)
        buf_add_char(out, ',');
    buf_add_cstr(out, text);
}

static void amount(struct buf *out, const char *name, int64_t value, const char *unit)
{
    if (value)
        element(out, textf("'%s':'%lld%s'", name, (long long)value, unit));
}

static struct object *make_pod(int pod, const struct pod_facts *f, int node)
{
    struct buf requests = BUF_INIT, used = BUF_INIT, volumes = BUF_INIT;
    amount(&requests, "cpu", f->cpu, "m");
    amount(&requests, "memory", f->memory, "");
    amount(&requests, "ephemeral-storage", f->storage, "");
    for (int i = 0; i < MODEL_SCALARS; i++)
        amount(&requests, scalars[i], f->scalars[i], "");
    for (int i = 0; i < MODEL_PORTS; i++)
        if (f->ports[i])
            element(&used, ports[i].json);
    for (int i = 0; i < MODEL_CLAIMS; i++)
        if (f->claims[i])
            element(&volumes, claims[i]);
    struct object *o =
        POD(.name = textf("p%d", pod), .namespace = "ns",
            .node = node < MODEL_NODES ? textf("n%d", node) : NULL,
            .containers = textf("{'resources':{'requests':{%s}},'ports':[%s]}", buf_cstr(&requests),
                                buf_cstr(&used)),
            .anti_affinity = f->required_anti_affinity ? TERM : NULL,
            .preferred_affinity = f->affinity && !f->required_anti_affinity ? TERM : NULL,
            .spec = textf("'volumes':[%s]", buf_cstr(&volumes)));
    buf_release(&requests);
    buf_release(&used);
    buf_release(&volumes);
    return o;
}

static struct object *make_node(int node, const struct node_facts *f)
{
    struct buf allocatable = BUF_INIT, images = BUF_INIT;
    amount(&allocatable, "cpu", f->cpu, "m");
    amount(&allocatable, "memory", f->memory, "");
    amount(&allocatable, "ephemeral-storage", f->storage, "");
    for (int i = 0; i < MODEL_IMAGES; i++)
        if (f->images[i])
            element(&images,
                    textf("{'names':['i%d'],'sizeBytes':%lld}", i, (long long)f->images[i]));
    struct object *o =
        NODE(.name = textf("n%d", node), .labels = f->labels, .unschedulable = f->unschedulable,
             .pods = textf("%d", (int)f->pods), .allocatable = buf_cstr(&allocatable),
             .status = textf("'images':[%s]", buf_cstr(&images)));
    buf_release(&allocatable);
    buf_release(&images);
    return o;
}

static int make_objects(void **state)
{
    (void)state;
    for (int pod = 0; pod < MODEL_PODS; pod++)
        for (size_t kind = 0; kind < POD_KINDS; kind++)
            for (int n = 0; n <= MODEL_NODES; n++)
                pod_objects[pod][kind][n] = make_pod(pod, &pod_kinds[kind], n);
    for (int n = 0; n < MODEL_NODES; n++)
        for (size_t kind = 0; kind < NODE_KINDS; kind++)
            node_objects[n][kind] = make_node(n, &node_kinds[kind]);
    return 0;
}

static int drop_objects(void **state)
{
    (void)state;
    for (int pod = 0; pod < MODEL_PODS; pod++)
        for (size_t kind = 0; kind < POD_KINDS; kind++)
            for (int n = 0; n <= MODEL_NODES; n++)
                object_unref(pod_objects[pod][kind][n]);
    for (int n = 0; n < MODEL_NODES; n++)
        for (size_t kind = 0; kind < NODE_KINDS; kind++)
            object_unref(node_objects[n][kind]);
    return 0;
}

struct stream {
    struct bench b;
    struct cache_model m;
    struct rand *r;
};

static bool same(const char *what, int node, int64_t got, int64_t wanted)
{
    if (got != wanted)
        fprintf(stderr, "node %d: %s is %lld, the model says %lld\n", node, what, (long long)got,
                (long long)wanted);
    return got == wanted;
}
#define SAME(what, got, wanted)                                     \
    do {                                                            \
        if (!same((what), node, (int64_t)(got), (int64_t)(wanted))) \
            return false;                                           \
    } while (0)

static struct str text_of(struct stream *s, atom_t atom)
{
    return intern_text(&s->b.names, atom);
}

static bool lists_agree(struct stream *s, int node, const struct berth_node *n,
                        const struct model_sums *sums)
{
    size_t n_ports = 0, n_claims = sums->claims[2];
    for (int k = 0; k < MODEL_PORTS; k++) {
        size_t uses = 0;
        for (size_t i = 0; i < n->used_ports.n; i++) {
            const struct host_port *p = &n->used_ports.v[i];
            uses += str_is(text_of(s, p->ip), ports[k].ip) &&
                    str_is(text_of(s, p->protocol), ports[k].protocol) && p->port == ports[k].port;
        }
        n_ports += sums->ports[k];
        SAME("uses of a port", uses, sums->ports[k]);
    }
    SAME("ports", n->used_ports.n, n_ports);
    static const char *const shared[] = {"ns/data", "ns/logs"};
    for (size_t k = 0; k < ARRAY_LEN(shared); k++) {
        size_t uses = 0;
        for (size_t i = 0; i < n->claims.n; i++)
            if (str_is(text_of(s, n->claims.v[i].claim), shared[k]))
                uses += n->claims.v[i].pods;
        n_claims += sums->claims[k] > 0;
        SAME("uses of a claim", uses, sums->claims[k]);
    }
    SAME("claims", n->claims.n, n_claims);
    SAME("pods with affinity", n->pods_with_affinity.n, sums->affinity);
    SAME("pods with required anti-affinity", n->pods_with_required_anti_affinity.n,
         sums->required_anti_affinity);
    for (size_t i = 0; i < n->pods_with_affinity.n; i++)
        SAME("a listed pod's affinity", n->pods_with_affinity.v[i]->has_affinity, 1);
    return true;
}

static bool pods_agree(struct stream *s, int node, const struct berth_node *n)
{
    bool seen[MODEL_PODS] = {0};
    for (size_t i = 0; i < n->pods.n; i++) {
        struct str uid = pod_info_key(n->pods.v[i]);
        uint64_t pod = 0;
        if (!str_to_u64(str_slice(uid, 1, uid.n), &pod) || seen[pod])
            return same("a pod twice", node, (int64_t)pod, -1);
        seen[pod] = true;
        const struct model_cache_pod *m = &s->m.pods[pod];
        SAME("a pod's presence", m->there && m->node == node, 1);
        const struct cache_pod *cp = cache_pod(&s->b.c, uid);
        SAME("a pod's version", cp && cp->pod == n->pods.v[i], 1);
        SAME("a pod's assumption", cp->assumed, m->assumed);
    }
    return true;
}

static bool sums_agree(struct stream *s, int node, const struct berth_node *n)
{
    struct model_sums sums = cache_model_sums(&s->m, node);
    SAME("pods", n->pods.n, sums.pods);
    SAME("cpu", n->requested.milli_cpu, sums.cpu);
    SAME("memory", n->requested.memory, sums.memory);
    SAME("storage", n->requested.ephemeral_storage, sums.storage);
    SAME("non-zero cpu", n->nonzero_milli_cpu, sums.nonzero_cpu);
    SAME("non-zero memory", n->nonzero_memory, sums.nonzero_memory);
    for (int i = 0; i < MODEL_SCALARS; i++)
        SAME("scalar", resource_scalar(&n->requested, intern_find(&s->b.names, str_of(scalars[i]))),
             sums.scalars[i]);
    return pods_agree(s, node, n) && lists_agree(s, node, n, &sums);
}

static bool images_agree(struct stream *s, int node, const struct berth_node *n)
{
    size_t expected = 0;
    for (int i = 0; i < MODEL_IMAGES; i++)
        expected += s->m.images[i].on[node];
    SAME("images", n->images.n, expected);
    for (size_t i = 0; i < n->images.n; i++) {
        const struct image_state *image = n->images.v[i];
        int k = image->name[1] - '0';
        SAME("an image's presence", s->m.images[k].on[node], 1);
        SAME("an image's size", image->size, s->m.images[k].size);
        SAME("an image's nodes", image->n_nodes, cache_model_image_nodes(&s->m, k));
    }
    return true;
}

static bool row_agrees(struct stream *s, int node, const struct berth_node *n)
{
    struct berth_columns k;
    uint32_t i = n->slot;
    cache_get_columns(&s->b.c, &k);
    SAME("slot's node", k.nodes[i] == n, 1);
    SAME("present", k.present[i / 64] >> (i % 64) & 1, n->object != NULL);
    SAME("unschedulable", k.unschedulable[i / 64] >> (i % 64) & 1,
         n->object && n->node->spec.unschedulable);
    SAME("column allocatable cpu", k.allocatable_cpu[i], n->allocatable.milli_cpu);
    SAME("column allocatable memory", k.allocatable_memory[i], n->allocatable.memory);
    SAME("column allocatable storage", k.allocatable_ephemeral_storage[i],
         n->allocatable.ephemeral_storage);
    SAME("column allocatable pods", k.allocatable_pods[i], n->allocatable.pods);
    SAME("column cpu", k.requested_cpu[i], n->requested.milli_cpu);
    SAME("column memory", k.requested_memory[i], n->requested.memory);
    SAME("column storage", k.requested_ephemeral_storage[i], n->requested.ephemeral_storage);
    SAME("column non-zero cpu", k.nonzero_cpu[i], n->nonzero_milli_cpu);
    SAME("column non-zero memory", k.nonzero_memory[i], n->nonzero_memory);
    SAME("column pods", k.pod_count[i], n->pods.n);
    return true;
}

static struct berth_node *nth_node(struct stream *s, int node)
{
    const char *name = textf("n%d", node);
    return cache_node(&s->b.c, str_of(name));
}

static bool node_agrees(struct stream *s, int node)
{
    const struct berth_node *n = nth_node(s, node);
    int kind = s->m.node_kind[node];
    SAME("slot", n != NULL, cache_model_has_slot(&s->m, node));
    if (!n)
        return true;
    const struct node_facts *f = kind >= 0 ? &node_kinds[kind] : &(struct node_facts){0};
    SAME("presence", n->object != NULL, kind >= 0);
    SAME("allocatable cpu", n->allocatable.milli_cpu, f->cpu);
    SAME("allocatable memory", n->allocatable.memory, f->memory);
    SAME("allocatable storage", n->allocatable.ephemeral_storage, f->storage);
    SAME("allocatable pods", n->allocatable.pods, f->pods);
    return sums_agree(s, node, n) && images_agree(s, node, n) && row_agrees(s, node, n);
}

static bool totals_agree(struct stream *s)
{
    int node = -1;
    struct cache *c = &s->b.c;
    size_t n_pods = 0, n_assumed = 0, n_nodes = 0, n_images = 0;
    for (int i = 0; i < MODEL_PODS; i++) {
        n_pods += s->m.pods[i].there;
        n_assumed += s->m.pods[i].there && s->m.pods[i].assumed;
    }
    for (int i = 0; i < MODEL_NODES; i++)
        n_nodes += cache_model_has_slot(&s->m, i);
    for (int i = 0; i < MODEL_IMAGES; i++)
        n_images += cache_model_image_nodes(&s->m, i) > 0;
    SAME("pods", c->pods.n, n_pods);
    SAME("assumed pods", c->n_assumed, n_assumed);
    SAME("nodes", c->nodes.n, n_nodes);
    SAME("slots", c->columns.n - c->free_slots.n, n_nodes);
    SAME("images", c->images.n, n_images);
    for (size_t i = 0; i < c->free_slots.n; i++)
        SAME("a free slot", c->columns.nodes[c->free_slots.v[i]] == NULL, 1);
    return true;
}

static bool order_agrees(struct stream *s)
{
    int node = -1, order[MODEL_NODES];
    struct cache *c = &s->b.c;
    uint64_t before = c->node_set;
    bool was_old = c->order_is_old;
    cache_refresh(c);
    SAME("node set after refresh", c->node_set - before, was_old);
    SAME("candidates", c->order.n, cache_model_order(&s->m, order));
    for (size_t i = 0; i < c->order.n; i++)
        SAME("order", c->order.v[i]->name[1] - '0', order[i]);
    return true;
}

/* A scratch copy has the same pods and sums, and its changes do not affect the node. */
static bool copy_agrees(struct stream *s, int node)
{
    const struct berth_node *n = nth_node(s, node);
    if (!n)
        return true;
    struct berth_node copy = {0};
    node_info_borrow(&copy, n);
    bool ok =
        sums_agree(s, node, &copy) && same("copy's object", node, copy.object == n->object, 1);
    while (copy.pods.n)
        if (!node_info_remove_pod(&copy, pod_info_key(copy.pods.v[0])))
            break;
    ok = ok && same("emptied copy's memory", node, copy.requested.memory, 0) &&
         same("emptied copy's ports", node, (int64_t)copy.used_ports.n, 0) &&
         !node_info_remove_pod(&copy, STR("nobody"));
    /* A reused copy equals the node again. */
    node_info_borrow(&copy, n);
    ok = ok && sums_agree(s, node, &copy) && sums_agree(s, node, n);
    node_info_end_borrowing(&copy);
    return ok;
}

static bool step_pod(struct stream *s, int pod)
{
    struct cache *c = &s->b.c;
    int node = (int)rand_below(s->r, MODEL_NODES), kind = (int)rand_below(s->r, POD_KINDS);
    struct str uid = object_meta(pod_objects[pod][0][0])->uid;
    bool there = s->m.pods[pod].there, assumed = there && s->m.pods[pod].assumed;
    switch (rand_below(s->r, 4)) {
    case 0:
        cache_remove_pod(c, uid);
        cache_model_remove_pod(&s->m, pod);
        return true;
    case 1:
        SAME("forget", cache_forget(c, uid), assumed);
        if (assumed)
            cache_model_remove_pod(&s->m, pod);
        return true;
    case 2:
        if (!there) {
            struct berth_pod *info = pod_info_new(pod_objects[pod][kind][MODEL_NODES], &s->b.names);
            const char *name = textf("n%d", node);
            struct berth_pod *on_node = pod_info_assume(info, str_of(name));
            cache_assume(c, on_node);
            pod_info_unref(on_node);
            pod_info_unref(info);
            cache_model_set_pod(&s->m, pod, kind, node, true);
            return true;
        }
        node = s->m.pods[pod].node; /* its node does not change */
    }
    struct berth_pod *info = pod_info_new(pod_objects[pod][kind][node], &s->b.names);
    cache_set_pod(c, info);
    pod_info_unref(info);
    cache_model_set_pod(&s->m, pod, kind, node, false);
    return true;
}

static void step_node(struct stream *s)
{
    int node = (int)rand_below(s->r, MODEL_NODES), kind = (int)rand_below(s->r, NODE_KINDS);
    if (rand_below(s->r, 3) == 0) {
        cache_remove_node(&s->b.c, object_meta(node_objects[node][0])->name);
        cache_model_remove_node(&s->m, node);
    } else {
        cache_set_node(&s->b.c, node_objects[node][kind]);
        cache_model_set_node(&s->m, node, kind);
    }
}

static bool step(struct stream *s, int n_pods)
{
    struct cache *c = &s->b.c;
    int node = -1;
    uint64_t set = c->node_set, changes = s->m.slot_changes, generation = c->generation;
    uint64_t generations[MODEL_NODES];
    for (int i = 0; i < MODEL_NODES; i++)
        generations[i] = nth_node(s, i) ? nth_node(s, i)->generation : 0;
    if (rand_below(s->r, 3) == 0)
        step_node(s);
    else if (!step_pod(s, (int)rand_below(s->r, (uint64_t)n_pods)))
        return false;
    SAME("node set", c->node_set - set, s->m.slot_changes - changes);
    for (int i = 0; i < MODEL_NODES; i++) {
        const struct berth_node *n = nth_node(s, i);
        SAME("a generation goes on",
             !n || n->generation == generations[i] || n->generation > generation, 1);
    }
    return true;
}

static bool agrees(struct stream *s)
{
    for (int i = 0; i < MODEL_NODES; i++)
        if (!node_agrees(s, i))
            return false;
    return totals_agree(s) && order_agrees(s) && copy_agrees(s, (int)rand_below(s->r, MODEL_NODES));
}

static bool stream_agrees(struct rand *r, size_t size, void *ctx)
{
    struct stream s = {.r = r};
    size_t *steps_done = ctx, steps = 25 * size;
    int n_pods = 1 + (int)rand_below(r, MODEL_PODS);
    bool ok = true;
    bench_init(&s.b);
    cache_model_init(&s.m, pod_kinds, node_kinds);
    for (size_t i = 0; ok && i < steps; i++, ++*steps_done) {
        ok = step(&s, n_pods) && agrees(&s);
        if (!ok)
            fprintf(stderr, "after step %zu of %zu\n", i, steps);
    }
    /* Half of the time everything is removed one by one, otherwise all at once. */
    bool one_by_one = rand_below(r, 2);
    for (int i = 0; one_by_one && i < MODEL_PODS; i++)
        cache_remove_pod(&s.b.c, object_meta(pod_objects[i][0][0])->uid);
    bench_release(&s.b);
    return ok;
}

static void random_streams_agree_with_the_model(void **state)
{
    (void)state;
    size_t steps = 0;
    assert_true(prop_run("cache agrees with the model", 100, stream_agrees, &steps));
    assert_true(steps >= prop_share(100000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_assumed_pod_counts_on_its_node),
        cmocka_unit_test(confirmation_on_the_same_node_ends_the_assumption),
        cmocka_unit_test(confirmation_on_another_node_moves_the_pod),
        cmocka_unit_test(a_forgotten_pod_is_gone),
        cmocka_unit_test(a_confirmed_pod_is_not_forgotten),
        cmocka_unit_test(an_assumed_pod_may_be_removed),
        cmocka_unit_test(pods_may_come_before_their_node),
        cmocka_unit_test(a_removed_node_keeps_its_pods_and_may_come_back),
        cmocka_unit_test(a_node_goes_with_its_last_pod_and_its_slot_is_used_again),
        cmocka_unit_test(unknown_names_are_nothing),
        cmocka_unit_test(zones_take_turns),
        cmocka_unit_test(the_first_node_to_report_an_image_tells_its_size),
        cmocka_unit_test(the_only_node_with_an_image_may_change_its_size),
        cmocka_unit_test(an_image_goes_with_the_last_node_that_has_it),
        cmocka_unit_test(every_name_of_an_image_counts_once_per_node),
        cmocka_unit_test(images_of_a_removed_node_with_pods_are_gone),
        cmocka_unit_test(host_ports_are_those_of_running_containers),
        cmocka_unit_test(a_host_port_is_free_when_a_pod_that_has_it_goes),
        cmocka_unit_test(claims_are_counted_by_pod),
        cmocka_unit_test(pods_with_affinity_are_listed),
        cmocka_unit_test(absurd_requests_wrap_and_come_back),
        cmocka_unit_test(the_generation_grows_with_every_change),
        cmocka_unit_test(the_node_set_grows_when_a_slot_gets_a_node_or_loses_it),
        cmocka_unit_test(columns_grow_with_the_cluster),
        cmocka_unit_test(random_streams_agree_with_the_model),
    };
    return cmocka_run_group_tests_name("cache", tests, make_objects, drop_objects);
}
