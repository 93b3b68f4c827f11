/* SPDX-License-Identifier: Apache-2.0 */
/* Pods of DaemonSets and the nodes that they fit. */
#include "apiserver/workloads/daemon_internal.h"

#define GENERATION "deprecated.daemonset.template.generation"

/* Upstream: AddOrUpdateDaemonPodTolerations. The last one is for pods on the host's network. */
static const struct toleration added[] = {
    {.key = STR_INIT("node.kubernetes.io/not-ready"), .effect = STR_INIT("NoExecute")},
    {.key = STR_INIT("node.kubernetes.io/unreachable"), .effect = STR_INIT("NoExecute")},
    {.key = STR_INIT("node.kubernetes.io/disk-pressure"), .effect = STR_INIT("NoSchedule")},
    {.key = STR_INIT("node.kubernetes.io/memory-pressure"), .effect = STR_INIT("NoSchedule")},
    {.key = STR_INIT("node.kubernetes.io/pid-pressure"), .effect = STR_INIT("NoSchedule")},
    {.key = STR_INIT("node.kubernetes.io/unschedulable"), .effect = STR_INIT("NoSchedule")},
    {.key = STR_INIT("node.kubernetes.io/network-unavailable"), .effect = STR_INIT("NoSchedule")},
};

static size_t n_added(const struct daemon_look *d)
{
    return ARRAY_LEN(added) - !json_bool_at(d->pod_spec, "hostNetwork", false);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static void read_affinity(struct daemon_look *d)
{
    struct arena *a = &d->w->scratch;
    struct json_members selector = json_members_at(d->pod_spec, "nodeSelector");
    const struct json_value *from = json_at(d->pod_spec, "affinity.nodeAffinity");
    struct node_affinity *affinity = arena_new(a, struct node_affinity);
    str_map *labels = arena_new(a, str_map);
    labels->v = arena_array(a, struct str_entry, selector.n);
    for (size_t i = 0; i < selector.n; i++)
        if (selector.v[i].value.kind == JSON_STRING)
            labels->v[labels->n++] =
                (struct str_entry){selector.v[i].key, selector.v[i].value.text};
    if (from && json_value_decode(from, &node_affinity_type, 0, a, affinity, NULL) < 0)
        *affinity = (struct node_affinity){0};
    required_node_affinity_compile(labels, affinity, a, &d->affinity);
}

void daemon_read_template(struct daemon_look *d)
{
    struct arena *a = &d->w->scratch;
    struct json_items list = json_items_at(d->pod_spec, "tolerations");
    d->tolerations = arena_array(a, struct toleration, list.n + ARRAY_LEN(added));
    for (size_t i = 0; i < list.n; i++)
        if (json_value_decode(&list.v[i], &toleration_type, 0, a, &d->tolerations[d->n_tolerations],
                              NULL) == 0)
            d->n_tolerations++;
    for (size_t i = 0; i < n_added(d); i++) {
        d->tolerations[d->n_tolerations] = added[i];
        d->tolerations[d->n_tolerations++].operator= STR("Exists");
    }
    read_affinity(d);
}

void daemon_match_node(const struct daemon_look *d, struct daemon_node *n)
{
    const struct node_item *node = n->node;
    struct str fixed = json_get_text(d->pod_spec, STR("nodeName"));
    struct taint_list taints = {node->taints, node->n_taints};
    struct toleration_list tolerations = {d->tolerations, d->n_tolerations};
    if ((!str_empty(fixed) && !str_eq(fixed, node->name)) ||
        !required_node_affinity_matches(&d->affinity, &node->labels, node->name))
        return;
    n->should_run = !taints_find_untolerated(taints, tolerations, TAINT_BARS, true);
    n->may_stay =
        n->should_run || !taints_find_untolerated(taints, tolerations, TAINT_NO_EXECUTE, true);
}

struct str daemon_pod_node(struct daemon_look *d, const struct pod_item *pod)
{
    struct str name = revision_field(pod->member.rev, STR("spec.nodeName"));
    if (!str_empty(name))
        return name;
    const struct json_value *tree = workload_tree(d->w, &pod->member);
    name = json_text_at(tree, "spec.nodeName");
    if (!str_empty(name))
        return name;
    struct json_items terms = json_items_at(
        tree, "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
              "nodeSelectorTerms");
    for (size_t i = 0; i < terms.n; i++) {
        struct json_items fields = json_items_at(&terms.v[i], "matchFields");
        for (size_t f = 0; f < fields.n; f++) {
            struct json_items values = json_items_at(&fields.v[f], "values");
            if (str_is(json_get_text(&fields.v[f], STR("key")), "metadata.name") && values.n == 1 &&
                values.v[0].kind == JSON_STRING)
                return values.v[0].text;
        }
    }
    return STR("");
}

bool daemon_pod_is_updated(const struct daemon_look *d, const struct pod_item *pod)
{
    struct str generation =
        json_get_text(json_at(d->object, "metadata.annotations"), STR(GENERATION));
    const struct revision *rev = pod->member.rev;
    return str_eq(revision_label(rev, STR(REVISION_LABEL)), d->hash) ||
           (!str_empty(generation) &&
            str_eq(revision_label(rev, STR("pod-template-generation")), generation));
}

/* --- pods ------------------------------------------------------------------------------------- */

static void add_tolerations(struct daemon_look *d, struct json_value *spec)
{
    struct arena *a = &d->w->scratch;
    struct json_items old = json_items_at(spec, "tolerations");
    struct json_value list = json_array();
    list.items = arena_array(a, struct json_value, old.n + ARRAY_LEN(added));
    for (size_t i = 0; i < old.n; i++)
        list.items[list.n++] = old.v[i];
    for (size_t i = 0; i < n_added(d); i++) {
        struct json_value t = json_object();
        json_set(&t, STR("key"), json_text(added[i].key), a);
        json_set(&t, STR("operator"), json_text(STR("Exists")), a);
        json_set(&t, STR("effect"), json_text(added[i].effect), a);
        bool has = false;
        for (size_t k = 0; k < old.n && !has; k++)
            has = json_value_equal(&old.v[k], &t);
        if (!has)
            list.items[list.n++] = t;
    }
    json_set(spec, STR("tolerations"), list, a);
}

/* The scheduler binds the pod to this node: every term names it. */
static void set_node(struct daemon_look *d, struct json_value *spec, struct str node)
{
    struct arena *a = &d->w->scratch;
    struct json_value field = json_object(), fields = json_array(), values = json_array();
    json_append(&values, json_text(node), a);
    json_set(&field, STR("key"), json_text(STR("metadata.name")), a);
    json_set(&field, STR("operator"), json_text(STR("In")), a);
    json_set(&field, STR("values"), values, a);
    json_append(&fields, field, a);
    struct json_value *affinity =
        json_set_object(json_set_object(spec, STR("affinity"), a), STR("nodeAffinity"), a);
    struct json_value *required =
        json_set_object(affinity, STR("requiredDuringSchedulingIgnoredDuringExecution"), a);
    struct json_value *terms = json_set_array(required, STR("nodeSelectorTerms"), a);
    if (!terms->n)
        json_append(terms, json_object(), a);
    for (size_t i = 0; i < terms->n; i++)
        json_set(&terms->items[i], STR("matchFields"), fields, a);
}

void daemon_create_pods(struct daemon_look *d)
{
    struct arena *a = &d->w->scratch;
    const struct json_value *template = json_get(d->spec, STR("template"));
    struct str generation =
        json_get_text(json_at(d->object, "metadata.annotations"), STR(GENERATION));
    if (!d->n_create) {
        d->o->batch = 1;
        return;
    }
    struct json_value base = workload_pod(d->w, d->o, template);
    struct json_value *labels =
        json_set_object(json_member(&base, STR("metadata")), STR("labels"), a);
    json_set(labels, STR(REVISION_LABEL), json_text(d->hash), a);
    if (!str_empty(generation))
        json_set(labels, STR("pod-template-generation"), json_text(generation), a);
    add_tolerations(d, json_member(&base, STR("spec")));
    d->o->batch = MAX(d->o->batch, 1U);
    d->o->refused = 0;
    size_t n = MIN(d->n_create, (size_t)d->o->batch);
    struct writer_request where = {.plural = STR("pods")};
    for (size_t i = 0; i < n; i++) {
        struct json_value pod = json_copy(&base, a);
        set_node(d, json_member(&pod, STR("spec")), d->create[i]->name);
        workload_create(d->w, d->o, WORK_ADDS, TAG_POD_CREATE, &where, &pod);
    }
    d->o->batch = MIN(d->o->batch * 2, (unsigned)BURST_REPLICAS);
}
