/* SPDX-License-Identifier: Apache-2.0 */
/* InterPodAffinity: by table, and compared with a model that looks at every pod of the cluster. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "affinity_model.h"
#include "engine/cycle/what_if.h"
#include "plugin_trial.h"
#include "prop.h"

#define IPA "InterPodAffinity"

#define NEAR_RULES     "node(s) didn't match pod affinity rules"
#define FAR_RULES      "node(s) didn't match pod anti-affinity rules"
#define EXISTING_RULES "node(s) didn't satisfy existing pods anti-affinity rules"

#define WEB_IN(key) TERMS({key, "app=web"})

/* Zones a and b with a web pod in a; nowhere has no labels. */
static void begin(struct fixture *f)
{
    fixture_init(f, NULL, NULL);
    ADD_NODE(f, .name = "a1", .labels = "zone=a,host=a1");
    ADD_NODE(f, .name = "a2", .labels = "zone=a,host=a2");
    ADD_NODE(f, .name = "b1", .labels = "zone=b,host=b1");
    ADD_NODE(f, .name = "nowhere");
    ADD_POD(f, .name = "web", .labels = "app=web", .node = "a1");
}

/* A skipped plugin is not called. */
static bool batches_agree(struct trial *t)
{
    return t->pre_filter == BERTH_SKIP || t->pre_score == BERTH_SKIP || trial_batches_agree(t);
}

/* --- verdicts --------------------------------------------------------------------------------- */

/* The verdicts on a1, a2, b1 and nowhere: "." passes, otherwise the rule that rejects. */
static void check_verdicts(struct fixture *f, struct object *pod, const char *want)
{
    static const char *const nodes[] = {"a1", "a2", "b1", "nowhere"};
    static const struct {
        char sign;
        const char *text;
        enum berth_code code;
    } signs[] = {
        {'.', "", BERTH_SUCCESS},
        {'n', NEAR_RULES, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE},
        {'f', FAR_RULES, BERTH_UNSCHEDULABLE},
        {'e', EXISTING_RULES, BERTH_UNSCHEDULABLE},
    };
    struct trial t;
    trial_begin(&t, f, IPA, pod);
    assert_int_equal(t.pre_filter, BERTH_SUCCESS);
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        enum berth_code code = trial_filter(&t, nodes[i]);
        size_t k = 0;
        while (signs[k].sign != want[i])
            k++;
        assert_string_equal(t.text, signs[k].text);
        assert_int_equal(code, signs[k].code);
    }
    assert_true(batches_agree(&t));
    trial_end(&t);
}

static void rules_by_table(void **state)
{
    (void)state;
    const struct {
        struct pod_args pod;
        const char *want;
    } cases[] = {
        {{.affinity = WEB_IN("zone")}, "..nn"},
        {{.affinity = WEB_IN("host")}, ".nnn"},
        {{.anti_affinity = WEB_IN("zone")}, "ff.."},
        {{.anti_affinity = WEB_IN("host")}, "f..."},
        /* One pod must satisfy all terms. */
        {{.affinity = TERMS({"zone", "app=web"}, {"host", "app=web"})}, ".nnn"},
        {{.affinity = TERMS({"zone", "app=web"}, {"host", "app=db"})}, "nnnn"},
        /* A pod with terms that no pod matches, not even itself, fits no node; one that matches
         * itself fits as the first. */
        {{.affinity = TERMS({"zone", "app=db"})}, "nnnn"},
        {{.affinity = TERMS({"zone", "app=db"}), .labels = "app=db"}, "...n"},
        /* A missing selector matches no pod, an empty one all. */
        {{.affinity = TERMS({"zone"}), .labels = "app=web"}, "nnnn"},
        {{.affinity = TERMS({"zone", ""})}, "..nn"},
        /* A key that no node has. */
        {{.affinity = WEB_IN("rack"), .labels = "app=web"}, "nnnn"},
        {{.anti_affinity = WEB_IN("rack"), .labels = "app=web"}, "...."},
        /* Other namespaces, by name and by label. */
        {{.affinity = TERMS({"zone", "app=web", .more = "'namespaces':['other']"})}, "nnnn"},
        {{.affinity = TERMS({"zone", "app=web", .more = "'namespaces':['other','default']"})},
         "..nn"},
        {{.affinity = TERMS({"zone", "app=web", .more = "'namespaceSelector':{}"})}, "..nn"},
        {{.affinity = TERMS(
              {"zone", "app=web", .more = "'namespaceSelector':{'matchLabels':{'team':'x'}}"})},
         "..nn"},
        {{.affinity = TERMS(
              {"zone", "app=web", .more = "'namespaceSelector':{'matchLabels':{'team':'y'}}"})},
         "nnnn"},
        /* Upstream's quirk: a selector with only negative requirements selects every namespace. */
        {{.affinity = TERMS({"zone", "app=web",
                             .more = "'namespaceSelector':{'matchExpressions':[{'key':'team',"
                                     "'operator':'DoesNotExist'}]}"})},
         "..nn"},
    };
    struct fixture f;
    begin(&f);
    fixture_add(&f, NAMESPACE(.name = "default", .labels = "team=x"));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_verdicts(&f, object_from_pod_args(&cases[i].pod), cases[i].want);
    fixture_release(&f);
}

static void pods_that_run_keep_others_away(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    ADD_POD(&f, .name = "loner", .anti_affinity = WEB_IN("zone"), .node = "b1");
    check_verdicts(&f, POD(.name = "p", .labels = "app=web"), "..e.");
    /* The pod's own terms are checked first. */
    check_verdicts(&f, POD(.name = "p", .labels = "app=web", .anti_affinity = WEB_IN("host")),
                   "f.e.");
    check_verdicts(&f, POD(.name = "p", .labels = "app=web", .affinity = WEB_IN("zone")), "..nn");
    fixture_release(&f);
}

static enum berth_code pre_filter_of(struct fixture *f, struct object *pod)
{
    struct trial t;
    trial_begin(&t, f, IPA, pod);
    trial_end(&t);
    return t.pre_filter;
}

static enum berth_code pre_score_of(struct fixture *f, struct object *pod)
{
    struct trial t;
    trial_begin(&t, f, IPA, pod);
    trial_end(&t);
    return t.pre_score;
}

static void without_terms_the_plugin_skips(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    assert_int_equal(pre_filter_of(&f, POD(.name = "p", .labels = "app=web")), BERTH_SKIP);
    assert_int_equal(pre_score_of(&f, POD(.name = "p", .labels = "app=web")), BERTH_SKIP);
    ADD_POD(&f, .name = "q", .anti_affinity = WEB_IN("rack"), .node = "a1");
    ADD_POD(&f, .name = "r", .namespace = "other", .anti_affinity = WEB_IN("zone"), .node = "a1");
    ADD_POD(&f, .name = "s", .anti_affinity = WEB_IN("zone"), .node = "gone");
    assert_int_equal(pre_filter_of(&f, POD(.name = "p", .labels = "app=web")), BERTH_SKIP);
    assert_int_equal(pre_filter_of(&f, POD(.name = "p", .namespace = "other", .labels = "app=web")),
                     BERTH_SUCCESS);
    /* A weight of 0 is a score, even if it changes nothing. */
    ADD_POD(&f, .name = "t", .preferred_affinity = TERMS({"zone", "app=web", .weight = 0}),
            .node = "a1");
    assert_int_equal(pre_score_of(&f, POD(.name = "p", .labels = "app=web")), BERTH_SUCCESS);
    assert_int_equal(pre_score_of(&f, POD(.name = "p", .namespace = "other", .labels = "app=web")),
                     BERTH_SKIP);
    fixture_release(&f);
}

static void invalid_selectors_are_reported(void **state)
{
    (void)state;
    const struct {
        struct pod_args pod;
        const char *text;
    } cases[] = {
        {{.affinity = TERMS({"zone", .more = "'labelSelector':{'matchExpressions':[{'key':'a',"
                                             "'operator':'In'}]}"})},
         "parsing pod: requiredAffinityTerms: values: Invalid value: null: for 'in', 'notin' "
         "operators, values set can't be empty"},
        {{.anti_affinity = TERMS({"zone", .more = "'namespaceSelector':{'matchExpressions':[{"
                                                  "'key':'a','operator':'Gt','values':['1']}]}"})},
         "parsing pod: requiredAntiAffinityTerms: \"Gt\" is not a valid label selector operator"},
        {{.preferred_affinity = TERMS({"zone", .weight = 1,
                                       .more = "'labelSelector':{'matchExpressions':[{'key':'a',"
                                               "'operator':'is'}]}"}),
          .preferred_anti_affinity = TERMS({"zone", .weight = 1,
                                            .more = "'labelSelector':{'matchExpressions':[{'key':"
                                                    "'/a','operator':'Exists'}]}"})},
         "parsing pod: [preferredAffinityTerms: \"is\" is not a valid label selector operator, "
         "preferredAntiAffinityTerms: key: Invalid value: \"/a\": prefix part must be non-empty]"},
    };
    struct fixture f;
    begin(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct object *o = object_from_pod_args(&cases[i].pod);
        struct berth_pod *pod = pod_info_new(o, &f.engine->names);
        struct berth_handle *h = trial_instance(&f, IPA);
        struct buf text = BUF_INIT;
        status_clear(&f.engine->cycles.status);
        assert_int_equal(h->plugin->pre_filter(h->self, NULL, pod, &f.engine->cycles.status),
                         BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
        status_write(&f.engine->cycles.status, &f.engine->framework.reasons, &text);
        assert_string_equal(buf_cstr(&text), cases[i].text);
        buf_release(&text);
        pod_info_unref(pod);
        object_unref(o);
    }
    fixture_release(&f);
}

/* --- scores ----------------------------------------------------------------------------------- */

static void scores_by_table(void **state)
{
    (void)state;
    const struct {
        struct pod_args pod;
        int64_t a1, a2, b1, nowhere;
    } cases[] = {
        /* hater adds -7 to zone b, lover 1 to a1 for its requirement. */
        {{0}, 1, 0, -7, 0},
        {{.preferred_affinity = TERMS({"zone", "app=web", .weight = 10})}, 11, 10, -7, 0},
        {{.preferred_anti_affinity = TERMS({"zone", "app=web", .weight = 10})}, -9, -10, -7, 0},
        {{.preferred_affinity = TERMS({"host", "app=web", .weight = 10})}, 11, 0, -7, 0},
        /* The lowest weight is its own negative in 32 bits. */
        {{.preferred_anti_affinity = TERMS({"host", "app=web", .weight = INT32_MIN})},
         -2147483647,
         0,
         -7,
         0},
    };
    struct fixture f;
    begin(&f);
    ADD_POD(&f, .name = "hater", .preferred_anti_affinity = TERMS({"zone", "app=web", .weight = 7}),
            .node = "b1");
    ADD_POD(&f, .name = "lover", .affinity = WEB_IN("host"), .node = "a1");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial t;
        struct pod_args pod = cases[i].pod;
        pod.labels = "app=web";
        trial_begin(&t, &f, IPA, object_from_pod_args(&pod));
        assert_int_equal(t.pre_score, BERTH_SUCCESS);
        assert_int_equal(trial_score(&t, "a1"), cases[i].a1);
        assert_int_equal(trial_score(&t, "a2"), cases[i].a2);
        assert_int_equal(trial_score(&t, "b1"), cases[i].b1);
        assert_int_equal(trial_score(&t, "nowhere"), cases[i].nowhere);
        assert_true(batches_agree(&t));
        trial_end(&t);
    }
    fixture_release(&f);
}

static void check_normalized(const struct trial *t, int64_t *scores, const int64_t *want, size_t n)
{
    assert_int_equal(t->handle->plugin->normalize(t->handle->self, t->cycle, t->pod, NULL, scores,
                                                  n, &t->engine->cycles.status),
                     BERTH_SUCCESS);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(scores[i], want[i]);
}

static void scores_become_percent(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    begin(&f);
    trial_begin(&t, &f, IPA,
                POD(.name = "p", .labels = "app=web",
                    .preferred_affinity = TERMS({"zone", "app=web", .weight = 10})));
    check_normalized(&t, (int64_t[]){-5, 0, 10, 1}, (int64_t[]){0, 33, 100, 40}, 4);
    check_normalized(&t, (int64_t[]){7, 7, 7}, (int64_t[]){0, 0, 0}, 3);
    check_normalized(&t, (int64_t[]){-100000, 0, 200000}, (int64_t[]){0, 33, 100}, 3);
    /* A range that overflows: no score, as upstream. */
    check_normalized(&t, (int64_t[]){INT64_MIN, 0, INT64_MAX}, (int64_t[]){0, 0, 0}, 3);
    trial_end(&t);
    fixture_release(&f);
}

/* --- arguments -------------------------------------------------------------------------------- */

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    struct fixture f;
    struct berth_error error;
    begin(&f);
    assert_string_equal(trial_args_error(&f, IPA, "{'hardPodAffinityWeight':101}", &error),
                        "hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]");
    assert_string_equal(trial_args_error(&f, IPA, "{'hardPodAffinityWeight':-1}", &error),
                        "hardPodAffinityWeight: Invalid value: -1: not in valid range [0, 100]");
    assert_string_equal(trial_args_error(&f, IPA, "{'hardPodAffinityWeight':0}", &error), "");
    assert_string_not_equal(trial_args_error(&f, IPA, "{'weight':1}", &error), "");
    fixture_release(&f);
}

/* --- hints ------------------------------------------------------------------------------------ */

#define NEAR_WEB POD(.labels = "app=web", .affinity = WEB_IN("zone"))
#define FAR_WEB  POD(.labels = "app=web", .anti_affinity = WEB_IN("zone"))
#define ANYWHERE POD(.labels = "app=web")

static enum berth_hint pod_hint(struct fixture *f, struct object *waiting, struct object *before,
                                struct object *after)
{
    unsigned action = !before  ? BERTH_ACTION_ADD
                      : !after ? BERTH_ACTION_DELETE
                               : BERTH_ACTION_UPDATE_POD_LABEL;
    return trial_hint(f, IPA, waiting,
                      (struct trial_change){BERTH_RESOURCE_POD, action, before, after});
}

static struct object *web_on(const char *node)
{
    return POD(.name = "q", .labels = "app=web", .node = node);
}
static struct object *other_on(const char *node)
{
    return POD(.name = "q", .node = node);
}

static void pods_that_help(void **state)
{
    (void)state;
    struct object *wrong =
        POD(.affinity = TERMS({"zone", .more = "'labelSelector':{'matchExpressions':[{'key':'a',"
                                               "'operator':'is'}]}"}));
    struct fixture f;
    begin(&f);
    assert_int_equal(pod_hint(&f, NEAR_WEB, NULL, web_on("a1")), BERTH_QUEUE);
    assert_int_equal(pod_hint(&f, NEAR_WEB, NULL, other_on("a1")), BERTH_QUEUE_SKIP);
    assert_int_equal(pod_hint(&f, NEAR_WEB, NULL, web_on("")), BERTH_QUEUE_SKIP);
    assert_int_equal(pod_hint(&f, FAR_WEB, NULL, web_on("a1")), BERTH_QUEUE_SKIP);
    assert_int_equal(pod_hint(&f, FAR_WEB, web_on("a1"), NULL), BERTH_QUEUE);
    assert_int_equal(pod_hint(&f, FAR_WEB, other_on("a1"), NULL), BERTH_QUEUE_SKIP);
    assert_int_equal(pod_hint(&f, NEAR_WEB, other_on("a1"), web_on("a1")), BERTH_QUEUE);
    assert_int_equal(pod_hint(&f, NEAR_WEB, web_on("a1"), other_on("a1")), BERTH_QUEUE_SKIP);
    assert_int_equal(pod_hint(&f, FAR_WEB, web_on("a1"), other_on("a1")), BERTH_QUEUE);
    assert_int_equal(pod_hint(&f, wrong, NULL, other_on("a1")), BERTH_QUEUE);
    /* A pod that repelled it is deleted. */
    assert_int_equal(pod_hint(&f, ANYWHERE,
                              POD(.name = "q", .anti_affinity = WEB_IN("zone"), .node = "a1"),
                              NULL),
                     BERTH_QUEUE);
    assert_int_equal(pod_hint(&f, ANYWHERE,
                              POD(.name = "q", .namespace = "other",
                                  .anti_affinity = WEB_IN("zone"), .node = "a1"),
                              NULL),
                     BERTH_QUEUE_SKIP);
    /* Its own labels change. */
    assert_int_equal(
        pod_hint(&f, NEAR_WEB, POD(.name = "p"), POD(.name = "p", .labels = "app=web")),
        BERTH_QUEUE);
    fixture_release(&f);
}

static enum berth_hint node_hint(struct fixture *f, struct object *waiting, const char *before,
                                 const char *after)
{
    return trial_hint(f, IPA, waiting,
                      (struct trial_change){
                          BERTH_RESOURCE_NODE,
                          before ? BERTH_ACTION_UPDATE_NODE_LABEL : BERTH_ACTION_ADD,
                          before ? NODE(.labels = before) : NULL,
                          NODE(.labels = after),
                      });
}

static void nodes_that_help(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    assert_int_equal(node_hint(&f, NEAR_WEB, NULL, "zone=a"), BERTH_QUEUE);
    assert_int_equal(node_hint(&f, NEAR_WEB, NULL, ""), BERTH_QUEUE_SKIP);
    assert_int_equal(node_hint(&f, NEAR_WEB, "", "zone=a"), BERTH_QUEUE);
    assert_int_equal(node_hint(&f, NEAR_WEB, "zone=b", "zone=a"), BERTH_QUEUE);
    assert_int_equal(node_hint(&f, NEAR_WEB, "zone=a", ""), BERTH_QUEUE_SKIP);
    assert_int_equal(node_hint(&f, NEAR_WEB, "zone=a", "zone=a,x=y"), BERTH_QUEUE_SKIP);
    assert_int_equal(node_hint(&f, FAR_WEB, NULL, ""), BERTH_QUEUE);
    assert_int_equal(node_hint(&f, FAR_WEB, "zone=a", ""), BERTH_QUEUE);
    assert_int_equal(node_hint(&f, FAR_WEB, "", "zone=a"), BERTH_QUEUE_SKIP);
    assert_int_equal(node_hint(&f, FAR_WEB, "zone=b", "zone=a"), BERTH_QUEUE);
    assert_int_equal(node_hint(&f, ANYWHERE, NULL, ""), BERTH_QUEUE_SKIP);
    fixture_release(&f);
}

/* --- compared with the model ------------------------------------------------------------------ */

#define MAX_PODS  48
#define MAX_NODES 160

/* The engine's objects, to be changed and deleted; NULL: none. */
struct stream {
    struct fixture f;
    struct rand *r;
    struct affinity_options options;
    bool real_hosts; /* every node is its own host */
    struct object *nodes[MAX_NODES], *pods[MAX_PODS], *namespaces[4];
};

static const char *one_of(struct rand *r, const char *const *v, size_t n)
{
    return v[rand_below(r, n)];
}
#define ONE_OF(r, ...)                              \
    one_of((r), (const char *const[]){__VA_ARGS__}, \
           sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static const char *random_labels(struct rand *r, const char *const *keys, size_t n)
{
    const char *labels = "";
    for (size_t i = 0; i < n; i++)
        if (rand_below(r, 3))
            labels = textf("%s%s%s=%s", labels, *labels ? "," : "", keys[i],
                           ONE_OF(r, "", "a", "b", "c"));
    return labels;
}

static void add_selector(struct buf *out, struct rand *r)
{
    static const char *const plain[] = {
        "{}",
        "{'matchLabels':{'app':'a'}}",
        "{'matchLabels':{'app':'b','tier':'a'}}",
        "{'matchExpressions':[{'key':'app','operator':'In','values':['a','c','a']"
        "}]}",
        "{'matchExpressions':[{'key':'app','operator':'NotIn','values':['a']}]}",
        "{'matchExpressions':[{'key':'tier','operator':'Exists'}]}",
        "{'matchExpressions':[{'key':'tier','operator':'DoesNotExist'}]}",
        "{'matchLabels':{'app':''}}",
        "{'matchExpressions':[{'key':'app','operator':'In','values':['a','b','d',"
        "'e','f','g','h','i','j','k','l','m','n','o','p','q','r']}]}",
    };
    if (rand_below(r, 60) == 0)
        buf_add_cstr(out, "{'matchExpressions':[{'key':'app','operator':'Wild'}]}");
    else
        buf_add_cstr(out, one_of(r, plain, ARRAY_LEN(plain)));
}

static void add_term(struct buf *out, struct rand *r)
{
    buf_add_printf(out, "{'topologyKey':'%s'", ONE_OF(r, "zone", "zone", "host", "rack", ""));
    if (rand_below(r, 12)) {
        buf_add_cstr(out, ",'labelSelector':");
        add_selector(out, r);
    }
    if (rand_below(r, 3) == 0)
        buf_add_printf(out, ",'namespaces':['%s','%s']", ONE_OF(r, "n0", "n1", "n2", "n3"),
                       ONE_OF(r, "n0", "n1", "nope"));
    if (rand_below(r, 3) == 0) {
        buf_add_cstr(out, ",'namespaceSelector':");
        add_selector(out, r);
    }
    buf_add_char(out, '}');
}

static void add_terms(struct buf *out, struct rand *r, bool weighted)
{
    size_t n = rand_below(r, 3);
    buf_add_char(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_add_char(out, ',');
        if (weighted)
            buf_add_printf(out, "{'weight':%s,'podAffinityTerm':",
                           ONE_OF(r, "1", "10", "100", "0", "-2147483648", "2147483647"));
        add_term(out, r);
        if (weighted)
            buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

static void add_affinity(struct buf *out, struct rand *r)
{
    static const char *const sides[] = {"podAffinity", "podAntiAffinity"};
    buf_add_char(out, '{');
    for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
        buf_add_printf(out,
                       "%s'%s':{'requiredDuringSchedulingIgnoredDuringExecution':", i ? "," : "",
                       sides[i]);
        if (rand_below(r, 2))
            add_terms(out, r, false);
        else
            buf_add_cstr(out, "[]");
        buf_add_cstr(out, ",'preferredDuringSchedulingIgnoredDuringExecution':");
        if (rand_below(r, 2))
            add_terms(out, r, true);
        else
            buf_add_cstr(out, "[]");
        buf_add_char(out, '}');
    }
    buf_add_char(out, '}');
}

static struct object *random_pod(struct stream *s, size_t i, const char *node)
{
    static const char *const keys[] = {"app", "tier"};
    struct buf affinity = BUF_INIT;
    const char *labels = random_labels(s->r, keys, ARRAY_LEN(keys));
    const char *namespace = ONE_OF(s->r, "n0", "n1", "n2", "n3");
    if (rand_below(s->r, 2))
        add_affinity(&affinity, s->r);
    else
        buf_add_cstr(&affinity, "{}");
    struct object *o = POD(.name = textf("p%zu", i), .namespace = namespace, .labels = labels,
                           .node = node, .spec = textf("'affinity':%s", buf_cstr(&affinity)));
    buf_release(&affinity);
    return o;
}

static struct object *random_node(struct stream *s, size_t i)
{
    static const char *const keys[] = {"zone", "host", ""};
    const char *labels;
    if (s->real_hosts && rand_below(s->r, 6) == 0)
        labels = "zone=a";
    else if (s->real_hosts || rand_below(s->r, 2))
        labels = textf("host=h%zu,zone=%s", i, ONE_OF(s->r, "a", "b"));
    else
        labels = random_labels(s->r, keys, ARRAY_LEN(keys));
    return NODE(.name = textf("n%zu", i), .labels = labels);
}

static struct object *random_namespace(struct stream *s, size_t i)
{
    static const char *const keys[] = {"app", "tier"};
    return NAMESPACE(.name = textf("n%zu", i),
                     .labels = random_labels(s->r, keys, ARRAY_LEN(keys)));
}

/* The object in *at is added, changed or deleted. */
static void put(struct stream *s, struct object **at, struct object *next)
{
    struct object *before = *at;
    *at = next;
    if (next && before)
        fixture_update(&s->f, before, object_ref(next));
    else if (next)
        fixture_add(&s->f, object_ref(next));
    else if (before)
        fixture_delete(&s->f, before);
}

static void step(struct stream *s)
{
    size_t i = rand_below(s->r, MAX_PODS), k = rand_below(s->r, ARRAY_LEN(s->namespaces));
    size_t at = rand_below(s->r, MAX_NODES);
    bool stays = rand_below(s->r, 4) > 0;
    char node[24];
    switch (rand_below(s->r, 8)) {
    case 0:
        put(s, &s->namespaces[k], stays ? random_namespace(s, k) : NULL);
        break;
    case 1:
    case 2:
        put(s, &s->nodes[at], stays ? random_node(s, at) : NULL);
        break;
    default:
        snprintf(node, sizeof(node), "n%zu", at);
        /* A running pod does not change its node. */
        if (s->pods[i])
            snprintf(node, sizeof(node), "%.*s", STR_ARG(object_pod(s->pods[i])->spec.node_name));
        put(s, &s->pods[i], stays ? random_pod(s, i, node) : NULL);
    }
}

/* Removes some pods of the node and adds others; then the verdict on it. */
static bool same_what_if(struct stream *s, struct trial *t, struct affinity_model *m,
                         struct berth_node *node)
{
    struct engine *e = s->f.engine;
    const struct berth_handle *h = t->handle;
    struct berth_pod *all[MAX_PODS], *guest = NULL;
    size_t n = MIN(node->pods.n, (size_t)MAX_PODS);
    struct what_if w;
    if (n)
        memcpy(all, node->pods.v, n * sizeof(*all));
    what_if_init(&w, t->pod, &e->cycles.status);
    what_if_begin(&w, t->cycle, node);
    for (size_t i = 0; i < n; i++)
        if (rand_below(s->r, 2)) {
            h->plugin->remove_pod(h->self, &w.cycle, t->pod, all[i], &w.node, &e->cycles.status);
            affinity_model_move(m, all[i]->pod, node->node, -1);
        }
    if (rand_below(s->r, 2)) {
        struct object *o = random_pod(s, 9999, "");
        guest = pod_info_new(o, &e->names);
        h->plugin->add_pod(h->self, &w.cycle, t->pod, guest, &w.node, &e->cycles.status);
        affinity_model_move(m, guest->pod, node->node, 1);
        object_unref(o);
    }
    struct buf text = BUF_INIT;
    status_clear(&e->cycles.status);
    h->plugin->filter(h->self, &w.cycle, t->pod, &w.node, &e->cycles.status);
    status_write(&e->cycles.status, &e->framework.reasons, &text);
    bool same = strcmp(buf_cstr(&text), affinity_model_filter(m, node->node)) == 0;
    buf_release(&text);
    what_if_release(&w);
    affinity_model_end(m);
    affinity_model_begin(m, e, t->pod->pod, s->options);
    if (guest)
        pod_info_unref(guest);
    return same;
}

static bool same_filter(struct stream *s, struct trial *t, struct affinity_model *m)
{
    struct engine *e = s->f.engine;
    for (size_t i = 0; i < e->cache.order.n; i++) {
        struct berth_node *node = e->cache.order.v[i];
        trial_filter(t, node->name);
        if (strcmp(t->text, affinity_model_filter(m, node->node)) != 0)
            return false;
        if (rand_below(s->r, 4) == 0 && !same_what_if(s, t, m, node))
            return false;
    }
    return true;
}

static bool same_scores(struct stream *s, struct trial *t, struct affinity_model *m)
{
    struct engine *e = s->f.engine;
    for (size_t i = 0; i < e->cache.order.n; i++) {
        struct berth_node *node = e->cache.order.v[i];
        if (trial_score(t, node->name) != affinity_model_score(m, node->node))
            return false;
    }
    return true;
}

static bool same_as_model(struct stream *s)
{
    struct trial t;
    struct affinity_model m;
    cluster_trim(&s->f.engine->cluster);
    trial_begin(&t, &s->f, IPA, random_pod(s, 10000, ""));
    affinity_model_begin(&m, s->f.engine, t.pod->pod, s->options);
    bool ok = t.pre_filter == m.pre_filter && t.pre_score == m.pre_score;
    if (ok && t.pre_filter == BERTH_SUCCESS)
        ok = same_filter(s, &t, &m);
    if (ok && t.pre_score == BERTH_SUCCESS)
        ok = same_scores(s, &t, &m);
    if (ok && t.pre_filter == BERTH_SUCCESS)
        ok = batches_agree(&t);
    affinity_model_end(&m);
    trial_end(&t);
    return ok;
}

/* With these options in place of the defaults. */
static void make_anew(struct stream *s)
{
    struct berth_handle *h = trial_instance(&s->f, IPA);
    struct berth_error error;
    const char *args =
        jsonf("{'hardPodAffinityWeight':%d,'ignorePreferredTermsOfExistingPods':%s}",
              (int)s->options.hard_weight, s->options.ignore_preferred ? "true" : "false");
    s->f.engine->framework.features.on[FEATURE_BERTH_EXACT_NAMESPACE_SELECTORS] =
        s->options.exact_namespaces;
    h->plugin->destroy(h->self);
    assert_int_equal(h->plugin->create(&engine_host, h, abi_str(str_of(args)), &h->self, &error),
                     0);
}

static bool agrees_with_model(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct stream s = {.r = r,
                       .real_hosts = rand_below(r, 3) == 0,
                       .options = {.exact_namespaces = rand_below(r, 2),
                                   .ignore_preferred = rand_below(r, 4) == 0,
                                   .hard_weight = rand_below(r, 4) ? 1 : 0}};
    bool ok = true;
    fixture_init(&s.f, NULL, NULL);
    make_anew(&s);
    /* Clusters with few domains of each key, and with many. */
    for (size_t i = 0, n = rand_below(r, 2) * MAX_NODES; i < n; i++)
        put(&s, &s.nodes[i], random_node(&s, i));
    for (size_t i = 0; ok && i < size; i++) {
        for (size_t k = 0; k < 8; k++)
            step(&s);
        ok = same_as_model(&s);
    }
    for (size_t i = 0; i < MAX_PODS; i++)
        put(&s, &s.pods[i], NULL);
    for (size_t i = 0; i < MAX_NODES; i++)
        put(&s, &s.nodes[i], NULL);
    /* No state of deleted pods is left. */
    const struct affinity_terms *terms = &s.f.engine->cluster.affinity_terms;
    ok = ok && !terms->by_text.n && !terms->buckets.n && !terms->n[AFFINITY_MUST] &&
         !terms->n[AFFINITY_MAY];
    for (size_t i = 0; i < ARRAY_LEN(s.namespaces); i++)
        put(&s, &s.namespaces[i], NULL);
    fixture_release(&s.f);
    return ok;
}

static void counting_is_looking_at_everything(void **state)
{
    (void)state;
    assert_true(prop_run("InterPodAffinity agrees with its model", 150, agrees_with_model, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_by_table),
        cmocka_unit_test(pods_that_run_keep_others_away),
        cmocka_unit_test(without_terms_the_plugin_skips),
        cmocka_unit_test(invalid_selectors_are_reported),
        cmocka_unit_test(scores_by_table),
        cmocka_unit_test(scores_become_percent),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(pods_that_help),
        cmocka_unit_test(nodes_that_help),
        cmocka_unit_test(counting_is_looking_at_everything),
    };
    return cmocka_run_group_tests_name("inter_pod_affinity", tests, NULL, NULL);
}
