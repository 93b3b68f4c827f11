/* SPDX-License-Identifier: Apache-2.0 */
/* PodTopologySpread: compared with a walk over all pods, and the rules by name. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/cycle/what_if.h"
#include "plugin_trial.h"
#include "prop.h"
#include "spread_model.h"

#define PLUGIN "PodTopologySpread"
#define ZONE   LABEL_TOPOLOGY_ZONE
#define HOST   LABEL_HOSTNAME

/* --- random clusters -------------------------------------------------------------------------- */

static int pick(struct rand *r, size_t n)
{
    return (int)rand_below(r, n);
}

static const char *one_of(struct rand *r, const char *const *texts, size_t n)
{
    return texts[rand_below(r, n)];
}
#define ONE_OF(r, ...) \
    one_of((r), (const char *const[]){__VA_ARGS__}, ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

/* sane: every node has all labels and no taints, so that no node is excluded. */
static struct object *random_node(struct rand *r, size_t i, bool sane)
{
    const char *labels = textf("disk=%s", ONE_OF(r, "ssd", "hdd"));
    if (sane || pick(r, 6))
        labels = textf("%s," ZONE "=%s", labels, ONE_OF(r, "a", "b", "c", ""));
    if (sane || pick(r, 6))
        labels = textf("%s,rack=r%d", labels, pick(r, 5));
    if (sane || pick(r, 6))
        labels = textf("%s," HOST "=h%zu", labels, pick(r, 5) ? i : 0);
    bool tainted = !sane && pick(r, 4) == 0;
    return NODE(.name = textf("n%zu", i), .labels = labels, .cpu = "100", .pods = "100",
                .taints = tainted ? TAINTS({"t", "v", "NoSchedule"}) : NULL);
}

static const char *random_labels(struct rand *r)
{
    const char *app = ONE_OF(r, "web", "db", "cron");
    return pick(r, 2) ? textf("app=%s,tier=%s", app, ONE_OF(r, "one", "two"))
                      : textf("app=%s", app);
}

static void random_selector(struct rand *r, struct buf *out)
{
    buf_add_cstr(out, ONE_OF(r, "{'matchLabels':{'app':'web'}}",
                             "{'matchLabels':{'app':'web','tier':'one'}}",
                             "{'matchExpressions':[{'key':'app','operator':'In',"
                             "'values':['web','db']}]}",
                             "{'matchExpressions':[{'key':'tier','operator':"
                             "'DoesNotExist'}]}",
                             "{}", "null"));
}

static void random_constraint(struct rand *r, struct buf *out)
{
    buf_add_printf(out, "{'topologyKey':'%s','whenUnsatisfiable':'%s','maxSkew':%d",
                   ONE_OF(r, ZONE, HOST, "rack", "nobody"),
                   ONE_OF(r, "DoNotSchedule", "ScheduleAnyway"), 1 + pick(r, 4));
    buf_add_cstr(out, ",'labelSelector':");
    random_selector(r, out);
    if (pick(r, 4) == 0)
        buf_add_printf(out, ",'minDomains':%d", 1 + pick(r, 5));
    if (pick(r, 3) == 0)
        buf_add_printf(out, ",'nodeAffinityPolicy':'%s'", ONE_OF(r, "Honor", "Ignore"));
    if (pick(r, 3) == 0)
        buf_add_printf(out, ",'nodeTaintsPolicy':'%s'", ONE_OF(r, "Honor", "Ignore"));
    if (pick(r, 4) == 0)
        buf_add_cstr(out, ",'matchLabelKeys':['tier','nope','tier']");
    buf_add_char(out, '}');
}

/* node "": a waiting pod, with constraints. */
static struct object *random_pod(struct rand *r, const char *name, const char *node)
{
    struct buf constraints = BUF_INIT;
    const char *labels = random_labels(r);
    for (int n = *node ? 0 : 1 + pick(r, 3); n > 0; n--) {
        random_constraint(r, &constraints);
        if (n > 1)
            buf_add_char(&constraints, ',');
    }
    const char *namespace = ONE_OF(r, "default", "default", "other");
    bool deleting = *node && pick(r, 8) == 0, choosy = !*node && pick(r, 2);
    struct object *o =
        POD(.name = name, .namespace = namespace, .labels = labels, .node = node,
            .node_selector = choosy ? "disk=ssd" : NULL, .deleting = deleting,
            .tolerations = pick(r, 2) ? TOLERATIONS({.op = "Exists"}) : NULL,
            .spec = textf("'topologySpreadConstraints':[%s]", buf_cstr(&constraints)));
    buf_release(&constraints);
    return o;
}

static void fill_cluster(struct fixture *f, struct rand *r, size_t n_nodes, size_t n_pods)
{
    bool sane = pick(r, 3) == 0;
    for (size_t i = 0; i < n_nodes; i++)
        fixture_add(f, random_node(r, i, sane));
    for (size_t i = 0; i < n_pods; i++) {
        char name[24], node[24];
        snprintf(name, sizeof(name), "run%zu", i);
        /* Some on nodes that do not exist. */
        snprintf(node, sizeof(node), "n%d", pick(r, n_nodes + 2));
        fixture_add(f, random_pod(r, name, node));
    }
    cache_refresh(&f->engine->cache);
}

/* --- compared with the model ------------------------------------------------------------------ */

#define MAX_NODES 128

static bool verdicts_agree(struct trial *t)
{
    const struct cache *cache = &t->engine->cache;
    struct spread_model m;
    spread_model_init(&m, cache, t->pod->pod, "DoNotSchedule");
    bool ok = t->pre_filter == (m.n ? BERTH_SUCCESS : BERTH_SKIP);
    for (size_t i = 0; ok && m.n && i < cache->order.n; i++)
        ok = trial_filter(t, cache->order.v[i]->name) == spread_model_filter(&m, cache->order.v[i]);
    spread_model_release(&m);
    return ok;
}

static bool scores_agree(struct trial *t, const struct spread_model *m)
{
    const struct cache *cache = &t->engine->cache;
    int64_t scores[MAX_NODES], expected[MAX_NODES];
    uint32_t slots[MAX_NODES];
    if (t->pre_score != (m->n ? BERTH_SUCCESS : BERTH_SKIP))
        return false;
    if (!m->n)
        return true;
    for (size_t i = 0; i < cache->order.n; i++) {
        slots[i] = cache->order.v[i]->slot;
        scores[i] = trial_score(t, cache->order.v[i]->name);
    }
    spread_model_score(m, expected);
    if (memcmp(scores, expected, cache->order.n * sizeof(*scores)) != 0)
        return false;
    t->handle->plugin->normalize(t->handle->self, t->cycle, t->pod, slots, scores, cache->order.n,
                                 &t->engine->cycles.status);
    spread_model_normalize(m, expected);
    return memcmp(scores, expected, cache->order.n * sizeof(*scores)) == 0;
}

static void change_cluster(struct fixture *f, struct rand *r, size_t n_nodes)
{
    char name[24], node[24];
    size_t i = rand_below(r, n_nodes);
    snprintf(node, sizeof(node), "n%zu", i);
    snprintf(name, sizeof(name), "run%d", pick(r, n_nodes));
    switch (rand_below(r, 4)) {
    case 0:
        fixture_add(f, random_node(r, i, false));
        break;
    case 1:
        if (f->engine->cache.order.n > 1 && cache_node(&f->engine->cache, str_of(node)))
            fixture_delete(f, random_node(r, i, false));
        break;
    default:
        fixture_add(f, random_pod(r, name, node));
    }
    cache_refresh(&f->engine->cache);
}

/* A few pods again and again, while the cluster changes. */
static bool agrees_with_model(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    enum { PODS = 3 };
    struct fixture f;
    struct object *pods[PODS];
    size_t n_nodes = 1 + size / 4;
    bool ok = true;
    fixture_init(&f, NULL, NULL);
    fill_cluster(&f, r, n_nodes, size);
    for (size_t i = 0; i < PODS; i++)
        pods[i] = random_pod(r, "p", "");
    for (size_t i = 0; ok && i < 16; i++) {
        struct trial t;
        struct spread_model m;
        trial_begin(&t, &f, PLUGIN, object_ref(pods[rand_below(r, PODS)]));
        spread_model_init(&m, &f.engine->cache, t.pod->pod, "ScheduleAnyway");
        ok = verdicts_agree(&t) && scores_agree(&t, &m) && trial_batches_agree(&t);
        spread_model_release(&m);
        trial_end(&t);
        for (size_t k = rand_below(r, 4); k > 0; k--)
            change_cluster(&f, r, n_nodes);
        cluster_trim(&f.engine->cluster);
    }
    for (size_t i = 0; i < PODS; i++)
        object_unref(pods[i]);
    fixture_release(&f);
    return ok;
}

static void it_agrees_with_a_walk_over_all_pods(void **state)
{
    (void)state;
    assert_true(prop_run("spread agrees with the model", 300, agrees_with_model, NULL));
}

/* --- what if ---------------------------------------------------------------------------------- */

/* The filter's verdict in a "what if" equals the verdict when it has come true. */
static bool what_if_comes_true(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    enum { OTHERS = 6 };
    struct fixture f;
    struct object *others[OTHERS], *waiting = random_pod(r, "p", "");
    struct trial t;
    struct what_if w;
    enum berth_code codes[MAX_NODES];
    bool ok = true;
    fixture_init(&f, NULL, NULL);
    fill_cluster(&f, r, 1 + size / 4, size);
    const struct cache *cache = &f.engine->cache;
    const struct berth_node *node = cache->order.v[rand_below(r, cache->order.n)];
    trial_begin(&t, &f, PLUGIN, object_ref(waiting));
    what_if_init(&w, t.pod, &f.engine->cycles.status);
    what_if_begin(&w, t.cycle, node);
    for (size_t i = 0; i < OTHERS; i++) {
        const char *name = textf("other%zu", i);
        others[i] = random_pod(r, name, node->name);
        struct berth_pod *pod = pod_info_new(others[i], &f.engine->names);
        /* Terminating pods are counted here and not there, as upstream; so are the pods of an empty
         * selector. Neither is tested. */
        if (t.pre_filter == BERTH_SUCCESS && !pod->pod->metadata.deletion_timestamp.set)
            ok = ok && t.handle->plugin->add_pod(t.handle->self, &w.cycle, t.pod, pod, node,
                                                 &f.engine->cycles.status) == BERTH_SUCCESS;
        pod_info_unref(pod);
    }
    bool judged = t.pre_filter == BERTH_SUCCESS;
    for (size_t i = 0; i < t.pod->pod->spec.topology_spread_constraints.n; i++) {
        const struct label_selector *s =
            t.pod->pod->spec.topology_spread_constraints.v[i].label_selector;
        judged &= !s || s->match_labels.n || s->match_expressions.n;
    }
    for (size_t i = 0; judged && i < cache->order.n; i++)
        codes[i] = t.handle->plugin->filter(t.handle->self, &w.cycle, t.pod, cache->order.v[i],
                                            &f.engine->cycles.status);
    /* The attempt's own state is unchanged. */
    ok = ok && verdicts_agree(&t);
    what_if_release(&w);
    trial_end(&t);
    for (size_t i = 0; i < OTHERS; i++)
        fixture_add(&f, others[i]);
    trial_begin(&t, &f, PLUGIN, waiting);
    for (size_t i = 0; ok && judged && i < cache->order.n; i++)
        ok = trial_filter(&t, cache->order.v[i]->name) == codes[i];
    trial_end(&t);
    fixture_release(&f);
    return ok;
}

static void what_if_is_what_comes_true(void **state)
{
    (void)state;
    assert_true(prop_run("what if comes true", 600, what_if_comes_true, NULL));
}

/* --- by name ---------------------------------------------------------------------------------- */

/* A node that is its own host; zone NULL: without one. */
static void add_node(struct fixture *f, const char *name, const char *zone)
{
    ADD_NODE(f, .name = name,
             .labels = zone ? textf(HOST "=%s," ZONE "=%s", name, zone) : textf(HOST "=%s", name));
}

#define WEB       "app=web"
#define HARD(...) SPREAD({ZONE, WEB, ##__VA_ARGS__})

static void reasons_and_codes(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    fixture_init(&f, NULL, NULL);
    add_node(&f, "n0", "a");
    add_node(&f, "n1", "b");
    add_node(&f, "n2", NULL);
    ADD_POD(&f, .name = "r", .labels = WEB, .node = "n0");
    trial_begin(&t, &f, PLUGIN, POD(.labels = WEB, .spread = HARD()));
    assert_int_equal(trial_filter(&t, "n0"), BERTH_UNSCHEDULABLE);
    assert_string_equal(t.text, "node(s) didn't match pod topology spread constraints");
    assert_int_equal(trial_filter(&t, "n1"), BERTH_SUCCESS);
    assert_int_equal(trial_filter(&t, "n2"), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    assert_string_equal(t.text, "node(s) didn't match pod topology spread constraints (missing "
                                "required label)");
    trial_end(&t);
    /* A pod that does not match itself adds nothing. */
    trial_begin(&t, &f, PLUGIN, POD(.spread = HARD()));
    assert_int_equal(trial_filter(&t, "n0"), BERTH_SUCCESS);
    trial_end(&t);
    /* minDomains is three, two exist: the global minimum is 0. */
    ADD_POD(&f, .name = "r1", .labels = WEB, .node = "n1");
    trial_begin(&t, &f, PLUGIN, POD(.labels = WEB, .spread = HARD(.more = "'minDomains':3")));
    assert_int_equal(trial_filter(&t, "n0"), BERTH_UNSCHEDULABLE);
    assert_int_equal(trial_filter(&t, "n1"), BERTH_UNSCHEDULABLE);
    trial_end(&t);
    trial_begin(&t, &f, PLUGIN, POD(.labels = WEB, .spread = HARD(.more = "'minDomains':2")));
    assert_int_equal(trial_filter(&t, "n0"), BERTH_SUCCESS);
    trial_end(&t);
    fixture_release(&f);
}

static void an_invalid_selector_is_reported(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    struct buf text = BUF_INIT;
    fixture_init(&f, NULL, NULL);
    add_node(&f, "n0", "a");
    trial_begin(
        &t, &f, PLUGIN,
        POD(.labels = WEB,
            .spread = SPREAD(
                {"k",
                 .more = "'labelSelector':{'matchExpressions':[{'key':'a','operator':'Near'}]}"})));
    assert_int_equal(t.pre_filter, BERTH_ERROR);
    status_write(&f.engine->cycles.status, &f.engine->framework.reasons, &text);
    buf_add_char(&text, '\0');
    assert_string_equal(text.p, "get constraints from pod: obtaining pod's hard topology spread "
                                "constraints: \"Near\" is not a valid label selector operator");
    buf_release(&text);
    trial_end(&t);
    fixture_release(&f);
}

/* --- default constraints ---------------------------------------------------------------------- */

static void begin_with(struct fixture *f, const char *args)
{
    const char *config = textf("apiVersion: kubescheduler.config.k8s.io/v1\n"
                               "kind: KubeSchedulerConfiguration\n"
                               "profiles:\n"
                               "- pluginConfig:\n"
                               "  - name: PodTopologySpread\n"
                               "    args: %s\n",
                               args);
    fixture_init(f, config, NULL);
}

static bool system_defaults_agree(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct fixture f;
    struct trial t;
    struct spread_model m;
    struct str web = STR("web");
    struct requirement one = {.key = STR("app"), .op = SELECTOR_IN, .values = {&web, 1}};
    struct selector from = {.requirements = {&one, 1}};
    fixture_init(&f, NULL, NULL);
    fill_cluster(&f, r, 1 + size / 4, size);
    fixture_add(&f, SERVICE(.name = "s", .selector = WEB));
    trial_begin(&t, &f, PLUGIN,
                POD(.labels = WEB, .node_selector = pick(r, 2) ? "disk=ssd" : NULL));
    spread_model_init_system(&m, &f.engine->cache, t.pod->pod, &from);
    bool ok = t.pre_filter == BERTH_SKIP && scores_agree(&t, &m) && trial_batches_agree(&t);
    spread_model_release(&m);
    trial_end(&t);
    fixture_release(&f);
    return ok;
}

static void the_systems_defaults_spread(void **state)
{
    (void)state;
    assert_true(prop_run("system defaults agree with the model", 200, system_defaults_agree, NULL));
}

static void without_an_owner_nothing_is_spread(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    fixture_init(&f, NULL, NULL);
    add_node(&f, "n0", "a");
    fixture_add(&f, SERVICE(.name = "other", .selector = "app=db"));
    fixture_add(&f, SERVICE(.name = "none", .selector = ""));
    trial_begin(&t, &f, PLUGIN, POD(.labels = WEB));
    assert_int_equal(t.pre_filter, BERTH_SKIP);
    assert_int_equal(t.pre_score, BERTH_SKIP);
    trial_end(&t);
    fixture_release(&f);
}

static void defaults_from_a_list_keep_pods_out(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    begin_with(&f, "{'defaultingType':'List','defaultConstraints':[{'maxSkew':1,"
                   "'topologyKey':'" ZONE "','whenUnsatisfiable':'DoNotSchedule'}]}");
    add_node(&f, "n0", "a");
    add_node(&f, "n1", "b");
    ADD_POD(&f, .name = "r", .labels = WEB, .node = "n0");
    fixture_add(&f, REPLICA_SET(.name = "rs", .selector = WEB));
    struct object *owned =
        POD(.labels = WEB, .meta = "'ownerReferences':[{'apiVersion':'apps/v1','kind':'ReplicaSet',"
                                   "'name':'rs','uid':'u','controller':true}]");
    trial_begin(&t, &f, PLUGIN, owned);
    assert_int_equal(t.pre_filter, BERTH_SUCCESS);
    assert_int_equal(trial_filter(&t, "n0"), BERTH_UNSCHEDULABLE);
    assert_int_equal(trial_filter(&t, "n1"), BERTH_SUCCESS);
    trial_end(&t);
    /* Its own constraints, even soft ones, replace the defaults. */
    trial_begin(&t, &f, PLUGIN,
                POD(.labels = WEB, .spread = SPREAD({"k", .when = "ScheduleAnyway"})));
    assert_int_equal(t.pre_filter, BERTH_SKIP);
    assert_int_equal(t.pre_score, BERTH_SUCCESS);
    trial_end(&t);
    fixture_release(&f);
}

/* --- arguments -------------------------------------------------------------------------------- */

#define LIST_OF(constraints) "{'defaultingType':'List','defaultConstraints':[" constraints "]}"
#define GOOD                 "{'maxSkew':1,'topologyKey':'k','whenUnsatisfiable':'DoNotSchedule'}"

static void arguments_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *args, *message;
    } cases[] = {
        {"", ""},
        {"{}", ""},
        {"{'kind':'PodTopologySpreadArgs','defaultingType':'System'}", ""},
        {LIST_OF(""), ""},
        {LIST_OF(GOOD), ""},
        {"{'defaultingType':'Some'}", "defaultingType: Unsupported value: \"Some\": supported "
                                      "values: \"System\", \"List\""},
        {"{'defaultConstraints':[" GOOD "]}",
         "defaultingType: Invalid value: \"System\": when .defaultConstraints are not empty"},
        {LIST_OF("{'topologyKey':'k','whenUnsatisfiable':'DoNotSchedule'}"),
         "defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)"},
        {LIST_OF("{'maxSkew':1}"),
         "[defaultConstraints[0].topologyKey: Required value: can not be empty, "
         "defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty]"},
        {LIST_OF("{'maxSkew':1,'topologyKey':'k','whenUnsatisfiable':'Maybe'}"),
         "defaultConstraints[0].whenUnsatisfiable: Unsupported value: \"Maybe\": supported values: "
         "\"DoNotSchedule\", \"ScheduleAnyway\""},
        {LIST_OF("{'maxSkew':1,'topologyKey':'k','whenUnsatisfiable':'DoNotSchedule',"
                 "'labelSelector':{}}"),
         "defaultConstraints[0].labelSelector: Forbidden: constraint must not define a selector, "
         "as they deduced for each pod"},
        {LIST_OF(GOOD "," GOOD), "defaultConstraints[1]: Duplicate value: \"{k, DoNotSchedule}\""},
    };
    struct fixture f;
    struct berth_error error;
    fixture_init(&f, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(trial_args_error(&f, PLUGIN, cases[i].args, &error), cases[i].message);
    assert_non_null(strstr(trial_args_error(&f, PLUGIN, "{'defaults':1}", &error), "defaults"));
    assert_non_null(strstr(trial_args_error(&f, PLUGIN,
                                            LIST_OF("{'maxSkew':1,'topologyKey':'a b',"
                                                    "'whenUnsatisfiable':'DoNotSchedule'}"),
                                            &error),
                           "defaultConstraints[0].topologyKey: Invalid value: \"a b\": "));
    fixture_release(&f);
}

/* --- hints ------------------------------------------------------------------------------------ */

#define HONORS_TAINTS HARD(.more = "'nodeTaintsPolicy':'Honor'")
#define EXISTS        TOLERATIONS({.op = "Exists"})

/* Without labels, node and tolerations: NULL, no such object. */
static struct object *changed_pod(struct pod_args pod, bool itself)
{
    pod.name = itself ? "p" : "q";
    return pod.labels || pod.node || pod.tolerations ? object_from_pod_args(&pod) : NULL;
}

static void hints_about_pods(void **state)
{
    (void)state;
    const struct pod_args none = {0}, there = {.labels = WEB, .node = "n0"}, other = {.node = "n0"};
    const struct pod_args waits = {.labels = WEB},
                          tolerates = {.labels = WEB, .tolerations = EXISTS};
    const struct {
        const struct spread_args *spread;
        struct pod_args before, after;
        enum berth_hint hint;
        bool itself;
    } cases[] = {
        {HARD(), none, there, BERTH_QUEUE, false},
        {HARD(), none, other, BERTH_QUEUE_SKIP, false},
        {HARD(), none, waits, BERTH_QUEUE_SKIP, false},
        {HARD(), there, none, BERTH_QUEUE, false},
        {HARD(), other, none, BERTH_QUEUE_SKIP, false},
        {HARD(), other, there, BERTH_QUEUE, false},
        {HARD(), there, {.labels = WEB ",x=y", .node = "n0"}, BERTH_QUEUE_SKIP, false},
        {HARD(), there, there, BERTH_QUEUE_SKIP, false},
        {HONORS_TAINTS, waits, tolerates, BERTH_QUEUE, true},
        {HARD(), waits, tolerates, BERTH_QUEUE_SKIP, true},
        {HONORS_TAINTS,
         there,
         {.labels = WEB, .node = "n0", .tolerations = EXISTS},
         BERTH_QUEUE_SKIP,
         false},
        {HARD(), waits, {.labels = ""}, BERTH_QUEUE, true},
    };
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial_change change = {
            .resource = BERTH_RESOURCE_POD,
            .action = BERTH_ACTION_UPDATE_POD_LABEL,
            .before = changed_pod(cases[i].before, cases[i].itself),
            .after = changed_pod(cases[i].after, cases[i].itself),
        };
        assert_int_equal(
            trial_hint(&f, PLUGIN, POD(.labels = WEB, .spread = cases[i].spread), change),
            cases[i].hint);
    }
    fixture_release(&f);
}

static struct object *tainted(const char *zone, bool taint)
{
    return NODE(.labels = *zone ? textf(ZONE "=%s", zone) : NULL,
                .taints = taint ? TAINTS({"k", .effect = "NoSchedule"}) : NULL);
}

static void hints_about_nodes(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after; /* zones; NULL: no such node */
        bool tainted;               /* after */
        enum berth_hint hint;
    } cases[] = {
        {NULL, "a", false, BERTH_QUEUE}, {NULL, "", false, BERTH_QUEUE_SKIP},
        {"a", NULL, false, BERTH_QUEUE}, {"", NULL, false, BERTH_QUEUE_SKIP},
        {"", "a", false, BERTH_QUEUE},   {"a", "", false, BERTH_QUEUE},
        {"a", "b", false, BERTH_QUEUE},  {"a", "a", false, BERTH_QUEUE_SKIP},
        {"a", "a", true, BERTH_QUEUE},   {"", "", true, BERTH_QUEUE_SKIP},
    };
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial_change change = {
            .resource = BERTH_RESOURCE_NODE,
            .action = BERTH_ACTION_UPDATE_NODE_LABEL,
            .before = cases[i].before ? tainted(cases[i].before, false) : NULL,
            .after = cases[i].after ? tainted(cases[i].after, cases[i].tainted) : NULL,
        };
        assert_int_equal(trial_hint(&f, PLUGIN, POD(.labels = WEB, .spread = HARD()), change),
                         cases[i].hint);
    }
    fixture_release(&f);
}

static void the_events_it_registers_for(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    assert_true(trial_is_told(&f, PLUGIN, BERTH_RESOURCE_POD, BERTH_ACTION_ADD));
    assert_true(trial_is_told(&f, PLUGIN, BERTH_RESOURCE_POD, BERTH_ACTION_DELETE));
    assert_true(trial_is_told(&f, PLUGIN, BERTH_RESOURCE_POD, BERTH_ACTION_UPDATE_POD_TOLERATION));
    assert_false(trial_is_told(&f, PLUGIN, BERTH_RESOURCE_POD, BERTH_ACTION_UPDATE_POD_SCALE_DOWN));
    assert_true(trial_is_told(&f, PLUGIN, BERTH_RESOURCE_NODE, BERTH_ACTION_DELETE));
    assert_true(trial_is_told(&f, PLUGIN, BERTH_RESOURCE_NODE, BERTH_ACTION_UPDATE_NODE_TAINT));
    assert_false(
        trial_is_told(&f, PLUGIN, BERTH_RESOURCE_NODE, BERTH_ACTION_UPDATE_NODE_ALLOCATABLE));
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_agrees_with_a_walk_over_all_pods),
        cmocka_unit_test(what_if_is_what_comes_true),
        cmocka_unit_test(reasons_and_codes),
        cmocka_unit_test(an_invalid_selector_is_reported),
        cmocka_unit_test(the_systems_defaults_spread),
        cmocka_unit_test(without_an_owner_nothing_is_spread),
        cmocka_unit_test(defaults_from_a_list_keep_pods_out),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(hints_about_pods),
        cmocka_unit_test(hints_about_nodes),
        cmocka_unit_test(the_events_it_registers_for),
    };
    return cmocka_run_group_tests_name("pod_topology_spread", tests, NULL, NULL);
}
