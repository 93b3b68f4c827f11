/* SPDX-License-Identifier: Apache-2.0 */
/* InterPodAffinity: by table, and against a model that looks at every pod of the cluster. */
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

static struct object *node_in(const char *name, const char *labels)
{
    return fixture_object(KIND_NODE,
                          "{\"metadata\":{\"name\":\"%s\",\"labels\":%s},\"status\":{"
                          "\"allocatable\":{\"cpu\":\"99\",\"memory\":\"99Gi\",\"pods\":\"99\"}}}",
                          name, labels);
}

static struct object *pod_with(const char *name, const char *namespace, const char *labels,
                               const char *affinity, const char *node)
{
    return fixture_object(KIND_POD,
                          "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"%s\","
                          "\"labels\":%s},\"spec\":{\"nodeName\":\"%s\",\"affinity\":%s}}",
                          name, namespace, name, labels, node, affinity);
}

static struct object *namespace_with(const char *name, const char *labels)
{
    return fixture_object(KIND_NAMESPACE, "{\"metadata\":{\"name\":\"%s\",\"labels\":%s}}", name,
                          labels);
}

#define WEB             "{\"app\":\"web\"}"
#define TERM(key, rest) "{\"topologyKey\":\"" key "\"" rest "}"
#define MEANS_WEB       ",\"labelSelector\":{\"matchLabels\":" WEB "}"
#define NEAR(terms) \
    "{\"podAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[" terms "]}}"
#define FAR(terms) \
    "{\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[" terms "]}}"
#define LIKES(weight, term)                                                    \
    "{\"podAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{" \
    "\"weight\":" weight ",\"podAffinityTerm\":" term "}]}}"
#define DISLIKES(weight, term)                                                     \
    "{\"podAntiAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{" \
    "\"weight\":" weight ",\"podAffinityTerm\":" term "}]}}"

/* Zones a and b with a web pod in a; nowhere has no labels. */
static void begin(struct fixture *f)
{
    fixture_init(f, NULL, NULL);
    fixture_add(f, node_in("a1", "{\"zone\":\"a\",\"host\":\"a1\"}"));
    fixture_add(f, node_in("a2", "{\"zone\":\"a\",\"host\":\"a2\"}"));
    fixture_add(f, node_in("b1", "{\"zone\":\"b\",\"host\":\"b1\"}"));
    fixture_add(f, node_in("nowhere", "{}"));
    fixture_add(f, pod_with("web", "default", WEB, "{}", "a1"));
}

/* Who skips is not asked. */
static bool batches_agree(struct trial *t)
{
    return t->pre_filter == BERTH_SKIP || t->pre_score == BERTH_SKIP || trial_batches_agree(t);
}

/* --- verdicts --------------------------------------------------------------------------------- */

/* What is said of a1, a2, b1 and nowhere: "." passes, or the rule that refuses. */
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
    static const struct {
        const char *affinity, *labels, *want;
    } cases[] = {
        {NEAR(TERM("zone", MEANS_WEB)), "{}", "..nn"},
        {NEAR(TERM("host", MEANS_WEB)), "{}", ".nnn"},
        {FAR(TERM("zone", MEANS_WEB)), "{}", "ff.."},
        {FAR(TERM("host", MEANS_WEB)), "{}", "f..."},
        /* One pod must satisfy all terms. */
        {NEAR(TERM("zone", MEANS_WEB) "," TERM("host", MEANS_WEB)), "{}", ".nnn"},
        {NEAR(TERM("zone", MEANS_WEB) "," TERM(
             "host", ",\"labelSelector\":{\"matchLabels\":{\"app\":\"db\"}}")),
         "{}", "nnnn"},
        /* A pod that nobody is like, not even itself, goes nowhere; one like itself may begin. */
        {NEAR(TERM("zone", ",\"labelSelector\":{\"matchLabels\":{\"app\":\"db\"}}")), "{}", "nnnn"},
        {NEAR(TERM("zone", ",\"labelSelector\":{\"matchLabels\":{\"app\":\"db\"}}")),
         "{\"app\":\"db\"}", "...n"},
        /* No selector means nobody, an empty one everybody. */
        {NEAR(TERM("zone", "")), WEB, "nnnn"},
        {NEAR(TERM("zone", ",\"labelSelector\":{}")), "{}", "..nn"},
        /* A key that no node has. */
        {NEAR(TERM("rack", MEANS_WEB)), WEB, "nnnn"},
        {FAR(TERM("rack", MEANS_WEB)), WEB, "...."},
        /* Other namespaces, by name and by label. */
        {NEAR(TERM("zone", MEANS_WEB ",\"namespaces\":[\"other\"]")), "{}", "nnnn"},
        {NEAR(TERM("zone", MEANS_WEB ",\"namespaces\":[\"other\",\"default\"]")), "{}", "..nn"},
        {NEAR(TERM("zone", MEANS_WEB ",\"namespaceSelector\":{}")), "{}", "..nn"},
        {NEAR(TERM("zone", MEANS_WEB ",\"namespaceSelector\":{\"matchLabels\":{\"team\":\"x\"}}")),
         "{}", "..nn"},
        {NEAR(TERM("zone", MEANS_WEB ",\"namespaceSelector\":{\"matchLabels\":{\"team\":\"y\"}}")),
         "{}", "nnnn"},
        /* Upstream's quirk: a selector that only excludes takes in every namespace. */
        {NEAR(TERM("zone", MEANS_WEB ",\"namespaceSelector\":{\"matchExpressions\":[{"
                                     "\"key\":\"team\",\"operator\":\"DoesNotExist\"}]}")),
         "{}", "..nn"},
    };
    struct fixture f;
    begin(&f);
    fixture_add(&f, namespace_with("default", "{\"team\":\"x\"}"));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_verdicts(&f, pod_with("p", "default", cases[i].labels, cases[i].affinity, ""),
                       cases[i].want);
    fixture_release(&f);
}

static void pods_that_run_keep_others_away(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    fixture_add(&f, pod_with("loner", "default", "{}", FAR(TERM("zone", MEANS_WEB)), "b1"));
    check_verdicts(&f, pod_with("p", "default", WEB, "{}", ""), "..e.");
    /* Its own wishes come first. */
    check_verdicts(&f, pod_with("p", "default", WEB, FAR(TERM("host", MEANS_WEB)), ""), "f.e.");
    check_verdicts(&f, pod_with("p", "default", WEB, NEAR(TERM("zone", MEANS_WEB)), ""), "..nn");
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

static void who_has_nothing_to_say_skips(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    assert_int_equal(pre_filter_of(&f, pod_with("p", "default", WEB, "{}", "")), BERTH_SKIP);
    assert_int_equal(pre_score_of(&f, pod_with("p", "default", WEB, "{}", "")), BERTH_SKIP);
    fixture_add(&f, pod_with("q", "default", "{}", FAR(TERM("rack", MEANS_WEB)), "a1"));
    fixture_add(&f, pod_with("r", "other", "{}", FAR(TERM("zone", MEANS_WEB)), "a1"));
    fixture_add(&f, pod_with("s", "default", "{}", FAR(TERM("zone", MEANS_WEB)), "gone"));
    assert_int_equal(pre_filter_of(&f, pod_with("p", "default", WEB, "{}", "")), BERTH_SKIP);
    assert_int_equal(pre_filter_of(&f, pod_with("p", "other", WEB, "{}", "")), BERTH_SUCCESS);
    /* A weight of 0 is a score, even if it changes nothing. */
    fixture_add(&f, pod_with("t", "default", "{}", LIKES("0", TERM("zone", MEANS_WEB)), "a1"));
    assert_int_equal(pre_score_of(&f, pod_with("p", "default", WEB, "{}", "")), BERTH_SUCCESS);
    assert_int_equal(pre_score_of(&f, pod_with("p", "other", WEB, "{}", "")), BERTH_SKIP);
    fixture_release(&f);
}

static void wrong_selectors_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *affinity, *text;
    } cases[] = {
        {NEAR(TERM("zone", ",\"labelSelector\":{\"matchExpressions\":[{\"key\":\"a\","
                           "\"operator\":\"In\"}]}")),
         "parsing pod: requiredAffinityTerms: values: Invalid value: null: for 'in', 'notin' "
         "operators, values set can't be empty"},
        {FAR(TERM("zone", ",\"namespaceSelector\":{\"matchExpressions\":[{\"key\":\"a\","
                          "\"operator\":\"Gt\",\"values\":[\"1\"]}]}")),
         "parsing pod: requiredAntiAffinityTerms: \"Gt\" is not a valid label selector operator"},
        {"{\"podAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":1,"
         "\"podAffinityTerm\":" TERM(
             "zone",
             ",\"labelSelector\":{\"matchExpressions\":[{\"key\":"
             "\"a\",\"operator\":\"is\"}]}") "}]},"
                                             "\"podAntiAffinity\":{"
                                             "\"preferredDuringSchedulingIgnoredDuringExecution\":["
                                             "{\"weight\":1,"
                                             "\"podAffinityTerm\":" TERM(
                                                 "zone",
                                                 ",\"labelSelector\":{\"matchExpressions\":[{"
                                                 "\"key\":"
                                                 "\"/a\",\"operator\":\"Exists\"}]}") "}]}}",
         "parsing pod: [preferredAffinityTerms: \"is\" is not a valid label selector operator, "
         "preferredAntiAffinityTerms: key: Invalid value: \"/a\": prefix part must be non-empty]"},
    };
    struct fixture f;
    begin(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct object *o = pod_with("p", "default", "{}", cases[i].affinity, "");
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
    static const struct {
        const char *affinity;
        int64_t a1, a2, b1, nowhere;
    } cases[] = {
        /* hater gives -7 to zone b, lover 1 for its requirement to a1. */
        {"{}", 1, 0, -7, 0},
        {LIKES("10", TERM("zone", MEANS_WEB)), 11, 10, -7, 0},
        {DISLIKES("10", TERM("zone", MEANS_WEB)), -9, -10, -7, 0},
        {LIKES("10", TERM("host", MEANS_WEB)), 11, 0, -7, 0},
        /* The lowest of all weights is its own negative, in 32 bits. */
        {DISLIKES("-2147483648", TERM("host", MEANS_WEB)), -2147483647, 0, -7, 0},
    };
    struct fixture f;
    begin(&f);
    fixture_add(&f,
                pod_with("hater", "default", "{}", DISLIKES("7", TERM("zone", MEANS_WEB)), "b1"));
    fixture_add(&f, pod_with("lover", "default", "{}", NEAR(TERM("host", MEANS_WEB)), "a1"));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial t;
        trial_begin(&t, &f, IPA, pod_with("p", "default", WEB, cases[i].affinity, ""));
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
                pod_with("p", "default", WEB, LIKES("10", TERM("zone", MEANS_WEB)), ""));
    check_normalized(&t, (int64_t[]){-5, 0, 10, 1}, (int64_t[]){0, 33, 100, 40}, 4);
    check_normalized(&t, (int64_t[]){7, 7, 7}, (int64_t[]){0, 0, 0}, 3);
    check_normalized(&t, (int64_t[]){-100000, 0, 200000}, (int64_t[]){0, 33, 100}, 3);
    /* Further apart than a number can say: as upstream, nothing. */
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
    assert_string_equal(trial_args_error(&f, IPA, "{\"hardPodAffinityWeight\":101}", &error),
                        "hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]");
    assert_string_equal(trial_args_error(&f, IPA, "{\"hardPodAffinityWeight\":-1}", &error),
                        "hardPodAffinityWeight: Invalid value: -1: not in valid range [0, 100]");
    assert_string_equal(trial_args_error(&f, IPA, "{\"hardPodAffinityWeight\":0}", &error), "");
    assert_string_not_equal(trial_args_error(&f, IPA, "{\"weight\":1}", &error), "");
    fixture_release(&f);
}

/* --- hints ------------------------------------------------------------------------------------ */

static enum berth_hint pod_hint(struct fixture *f, const char *waits_for, struct object *before,
                                struct object *after)
{
    unsigned action = !before  ? BERTH_ACTION_ADD
                      : !after ? BERTH_ACTION_DELETE
                               : BERTH_ACTION_UPDATE_POD_LABEL;
    return trial_hint(f, IPA, pod_with("p", "default", WEB, waits_for, ""),
                      (struct trial_change){BERTH_RESOURCE_POD, action, before, after});
}

static struct object *web_on(const char *node)
{
    return pod_with("q", "default", WEB, "{}", node);
}
static struct object *other_on(const char *node)
{
    return pod_with("q", "default", "{}", "{}", node);
}

static void pods_that_help(void **state)
{
    (void)state;
    const char *near = NEAR(TERM("zone", MEANS_WEB)), *far = FAR(TERM("zone", MEANS_WEB));
    const char *wrong = NEAR(TERM("zone", ",\"labelSelector\":{\"matchExpressions\":[{\"key\":"
                                          "\"a\",\"operator\":\"is\"}]}"));
    struct fixture f;
    begin(&f);
    assert_int_equal(pod_hint(&f, near, NULL, web_on("a1")), BERTH_QUEUE);
    assert_int_equal(pod_hint(&f, near, NULL, other_on("a1")), BERTH_QUEUE_SKIP);
    assert_int_equal(pod_hint(&f, near, NULL, web_on("")), BERTH_QUEUE_SKIP);
    assert_int_equal(pod_hint(&f, far, NULL, web_on("a1")), BERTH_QUEUE_SKIP);
    assert_int_equal(pod_hint(&f, far, web_on("a1"), NULL), BERTH_QUEUE);
    assert_int_equal(pod_hint(&f, far, other_on("a1"), NULL), BERTH_QUEUE_SKIP);
    assert_int_equal(pod_hint(&f, near, other_on("a1"), web_on("a1")), BERTH_QUEUE);
    assert_int_equal(pod_hint(&f, near, web_on("a1"), other_on("a1")), BERTH_QUEUE_SKIP);
    assert_int_equal(pod_hint(&f, far, web_on("a1"), other_on("a1")), BERTH_QUEUE);
    assert_int_equal(pod_hint(&f, wrong, NULL, other_on("a1")), BERTH_QUEUE);
    /* One that kept it away is gone. */
    assert_int_equal(pod_hint(&f, "{}", pod_with("q", "default", "{}", far, "a1"), NULL),
                     BERTH_QUEUE);
    assert_int_equal(pod_hint(&f, "{}", pod_with("q", "other", "{}", far, "a1"), NULL),
                     BERTH_QUEUE_SKIP);
    /* Its own labels are others now. */
    assert_int_equal(pod_hint(&f, near, pod_with("p", "default", "{}", "{}", ""),
                              pod_with("p", "default", WEB, "{}", "")),
                     BERTH_QUEUE);
    fixture_release(&f);
}

static enum berth_hint node_hint(struct fixture *f, const char *waits_for, const char *before,
                                 const char *after)
{
    return trial_hint(f, IPA, pod_with("p", "default", WEB, waits_for, ""),
                      (struct trial_change){
                          BERTH_RESOURCE_NODE,
                          before ? BERTH_ACTION_UPDATE_NODE_LABEL : BERTH_ACTION_ADD,
                          before ? node_in("n", before) : NULL,
                          node_in("n", after),
                      });
}

static void nodes_that_help(void **state)
{
    (void)state;
    const char *near = NEAR(TERM("zone", MEANS_WEB)), *far = FAR(TERM("zone", MEANS_WEB));
    struct fixture f;
    begin(&f);
    assert_int_equal(node_hint(&f, near, NULL, "{\"zone\":\"a\"}"), BERTH_QUEUE);
    assert_int_equal(node_hint(&f, near, NULL, "{}"), BERTH_QUEUE_SKIP);
    assert_int_equal(node_hint(&f, near, "{}", "{\"zone\":\"a\"}"), BERTH_QUEUE);
    assert_int_equal(node_hint(&f, near, "{\"zone\":\"b\"}", "{\"zone\":\"a\"}"), BERTH_QUEUE);
    assert_int_equal(node_hint(&f, near, "{\"zone\":\"a\"}", "{}"), BERTH_QUEUE_SKIP);
    assert_int_equal(node_hint(&f, near, "{\"zone\":\"a\"}", "{\"zone\":\"a\",\"x\":\"y\"}"),
                     BERTH_QUEUE_SKIP);
    assert_int_equal(node_hint(&f, far, NULL, "{}"), BERTH_QUEUE);
    assert_int_equal(node_hint(&f, far, "{\"zone\":\"a\"}", "{}"), BERTH_QUEUE);
    assert_int_equal(node_hint(&f, far, "{}", "{\"zone\":\"a\"}"), BERTH_QUEUE_SKIP);
    assert_int_equal(node_hint(&f, far, "{\"zone\":\"b\"}", "{\"zone\":\"a\"}"), BERTH_QUEUE);
    assert_int_equal(node_hint(&f, "{}", NULL, "{}"), BERTH_QUEUE_SKIP);
    fixture_release(&f);
}

/* --- against the model ------------------------------------------------------------------------ */

#define MAX_PODS  48
#define MAX_NODES 160

/* What the engine was told of, to be changed and deleted again; NULL: not there. */
struct stream {
    struct fixture f;
    struct rand *r;
    struct affinity_options options;
    bool real_hosts; /* no two nodes are the same host */
    struct object *nodes[MAX_NODES], *pods[MAX_PODS], *namespaces[4];
};

static const char *one_of(struct rand *r, const char *const *v, size_t n)
{
    return v[rand_below(r, n)];
}
#define ONE_OF(r, ...)                              \
    one_of((r), (const char *const[]){__VA_ARGS__}, \
           sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void add_labels(struct buf *out, struct rand *r, const char *const *keys, size_t n)
{
    bool first = true;
    buf_add_char(out, '{');
    for (size_t i = 0; i < n; i++) {
        if (rand_below(r, 3) == 0)
            continue;
        buf_add_printf(out, "%s\"%s\":\"%s\"", first ? "" : ",", keys[i],
                       ONE_OF(r, "", "a", "b", "c"));
        first = false;
    }
    buf_add_char(out, '}');
}

static void add_selector(struct buf *out, struct rand *r)
{
    static const char *const plain[] = {
        "{}",
        "{\"matchLabels\":{\"app\":\"a\"}}",
        "{\"matchLabels\":{\"app\":\"b\",\"tier\":\"a\"}}",
        "{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"In\",\"values\":[\"a\",\"c\",\"a\"]"
        "}]}",
        "{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"NotIn\",\"values\":[\"a\"]}]}",
        "{\"matchExpressions\":[{\"key\":\"tier\",\"operator\":\"Exists\"}]}",
        "{\"matchExpressions\":[{\"key\":\"tier\",\"operator\":\"DoesNotExist\"}]}",
        "{\"matchLabels\":{\"app\":\"\"}}",
        "{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"In\",\"values\":[\"a\",\"b\",\"d\","
        "\"e\",\"f\",\"g\",\"h\",\"i\",\"j\",\"k\",\"l\",\"m\",\"n\",\"o\",\"p\",\"q\",\"r\"]}]}",
    };
    if (rand_below(r, 60) == 0)
        buf_add_cstr(out, "{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"Wild\"}]}");
    else
        buf_add_cstr(out, one_of(r, plain, ARRAY_LEN(plain)));
}

static void add_term(struct buf *out, struct rand *r)
{
    buf_add_printf(out, "{\"topologyKey\":\"%s\"", ONE_OF(r, "zone", "zone", "host", "rack", ""));
    if (rand_below(r, 12)) {
        buf_add_cstr(out, ",\"labelSelector\":");
        add_selector(out, r);
    }
    if (rand_below(r, 3) == 0)
        buf_add_printf(out, ",\"namespaces\":[\"%s\",\"%s\"]", ONE_OF(r, "n0", "n1", "n2", "n3"),
                       ONE_OF(r, "n0", "n1", "nope"));
    if (rand_below(r, 3) == 0) {
        buf_add_cstr(out, ",\"namespaceSelector\":");
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
            buf_add_printf(out, "{\"weight\":%s,\"podAffinityTerm\":",
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
        buf_add_printf(out, "%s\"%s\":{\"requiredDuringSchedulingIgnoredDuringExecution\":",
                       i ? "," : "", sides[i]);
        if (rand_below(r, 2))
            add_terms(out, r, false);
        else
            buf_add_cstr(out, "[]");
        buf_add_cstr(out, ",\"preferredDuringSchedulingIgnoredDuringExecution\":");
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
    struct buf labels = BUF_INIT, affinity = BUF_INIT;
    char name[24];
    snprintf(name, sizeof(name), "p%zu", i);
    add_labels(&labels, s->r, keys, ARRAY_LEN(keys));
    if (rand_below(s->r, 2))
        add_affinity(&affinity, s->r);
    else
        buf_add_cstr(&affinity, "{}");
    struct object *o = pod_with(name, ONE_OF(s->r, "n0", "n1", "n2", "n3"), buf_cstr(&labels),
                                buf_cstr(&affinity), node);
    buf_release(&labels);
    buf_release(&affinity);
    return o;
}

static struct object *random_node(struct stream *s, size_t i)
{
    static const char *const keys[] = {"zone", "host", ""};
    struct buf labels = BUF_INIT;
    char name[24];
    snprintf(name, sizeof(name), "n%zu", i);
    if (s->real_hosts && rand_below(s->r, 6) == 0)
        buf_add_cstr(&labels, "{\"zone\":\"a\"}");
    else if (s->real_hosts || rand_below(s->r, 2))
        buf_add_printf(&labels, "{\"host\":\"h%zu\",\"zone\":\"%s\"}", i, ONE_OF(s->r, "a", "b"));
    else
        add_labels(&labels, s->r, keys, ARRAY_LEN(keys));
    struct object *o = node_in(name, buf_cstr(&labels));
    buf_release(&labels);
    return o;
}

static struct object *random_namespace(struct stream *s, size_t i)
{
    static const char *const keys[] = {"app", "tier"};
    struct buf labels = BUF_INIT;
    char name[24];
    snprintf(name, sizeof(name), "n%zu", i);
    add_labels(&labels, s->r, keys, ARRAY_LEN(keys));
    struct object *o = namespace_with(name, buf_cstr(&labels));
    buf_release(&labels);
    return o;
}

/* The object in *at comes, changes into another or goes. */
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
        /* A pod that runs does not change its node. */
        if (s->pods[i])
            snprintf(node, sizeof(node), "%.*s", STR_ARG(object_pod(s->pods[i])->spec.node_name));
        put(s, &s->pods[i], stays ? random_pod(s, i, node) : NULL);
    }
}

/* Some pods of the node leave it and others come; then the verdict on it. */
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
    char args[128];
    snprintf(args, sizeof(args),
             "{\"hardPodAffinityWeight\":%d,\"ignorePreferredTermsOfExistingPods\":%s}",
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
    /* Nothing is left of pods that are gone. */
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
        cmocka_unit_test(who_has_nothing_to_say_skips),
        cmocka_unit_test(wrong_selectors_are_told),
        cmocka_unit_test(scores_by_table),
        cmocka_unit_test(scores_become_percent),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(pods_that_help),
        cmocka_unit_test(nodes_that_help),
        cmocka_unit_test(counting_is_looking_at_everything),
    };
    return cmocka_run_group_tests_name("inter_pod_affinity", tests, NULL, NULL);
}
