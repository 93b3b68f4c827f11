/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/expansion.h"

#include "api/persistent_volume.h"
#include "api/pod_admission.h"
#include "sim/scenario.h"

/* What a controller already has. */
struct owned {
    struct str key;
    VEC(const struct object *) pods; /* neither finished nor being deleted */
    size_t n_sets;                   /* ReplicaSets of a Deployment */
    char text[];
};

struct expansion {
    VEC(struct expansion_entry *) entries;
    VEC(const struct priority_class *) priority_classes;
    VEC(const struct object *) nodes;
    struct map owned; /* "ReplicaSet default/web-1" → struct owned */
};

/* --- making and ending ------------------------------------------------------------------------ */

struct expansion *expansion_new(void)
{
    return xnew(struct expansion);
}

struct expansion_entry *expansion_entry_new(void)
{
    struct expansion_entry *entry = xnew(struct expansion_entry);
    arena_init(&entry->arena, 1024);
    return entry;
}

struct expansion_entry *expansion_entry_free(struct expansion_entry *entry)
{
    if (entry)
        arena_release(&entry->arena);
    free(entry);
    return NULL;
}

struct expansion *expansion_free(struct expansion *e)
{
    if (!e)
        return NULL;
    for (size_t i = 0; i < e->entries.n; i++)
        expansion_entry_free(e->entries.v[i]);
    map_each (entry, &e->owned) {
        struct owned *owned = entry->value;
        vec_release(&owned->pods);
        free(owned);
    }
    vec_release(&e->entries);
    vec_release(&e->priority_classes);
    vec_release(&e->nodes);
    map_release(&e->owned);
    free(e);
    return NULL;
}

/* --- existing objects ------------------------------------------------------------------------- */

static struct str owner_key(struct buf *out, struct str kind, struct str namespace, struct str name)
{
    buf_clear(out);
    buf_add_printf(out, "%.*s %.*s/%.*s", STR_ARG(kind), STR_ARG(namespace), STR_ARG(name));
    return buf_str(out);
}

static struct owned *own(struct expansion *e, struct str kind, struct str namespace,
                         struct str name)
{
    struct buf text = BUF_INIT;
    struct str key = owner_key(&text, kind, namespace, name);
    struct owned *owned = map_get(&e->owned, key);
    if (!owned) {
        owned = xcalloc(1, sizeof(*owned) + key.n);
        memcpy(owned->text, key.p, key.n);
        owned->key = (struct str){owned->text, key.n};
        map_put(&e->owned, owned->key, owned);
    }
    buf_release(&text);
    return owned;
}

static const struct owned *find_owned(const struct expansion *e, struct str kind,
                                      const struct object_meta *meta)
{
    struct buf text = BUF_INIT;
    const struct owned *owned =
        map_get(&e->owned, owner_key(&text, kind, meta->namespace, meta->name));
    buf_release(&text);
    return owned;
}

static bool is_active(const struct pod *pod)
{
    return !pod->metadata.deletion_timestamp.set && !pod_is_terminal(pod);
}

/* A dump may contain Deployments and pods without the ReplicaSets between them. */
static void see_deployment_of(struct expansion *e, const struct object *pod, struct str set)
{
    const struct object_meta *meta = object_meta(pod);
    const struct str *hash = str_map_get(&meta->labels, STR("pod-template-hash"));
    if (!hash || hash->n + 1 >= set.n || !str_ends(set, *hash) || set.p[set.n - hash->n - 1] != '-')
        return;
    struct str name = str_slice(set, 0, set.n - hash->n - 1);
    vec_push(&own(e, STR("Deployment"), meta->namespace, name)->pods, pod);
}

static void see_pod(struct expansion *e, const struct object *pod)
{
    const struct object_meta *meta = object_meta(pod);
    const struct owner_reference *owner = object_meta_controller(meta);
    if (!owner || !is_active(object_pod(pod)))
        return;
    vec_push(&own(e, owner->kind, meta->namespace, owner->name)->pods, pod);
    if (str_is(owner->kind, "ReplicaSet"))
        see_deployment_of(e, pod, owner->name);
}

void expansion_see(struct expansion *e, struct object *o)
{
    const struct object_meta *meta = object_kind(o)->has_metadata ? object_meta(o) : NULL;
    const struct owner_reference *owner = meta ? object_meta_controller(meta) : NULL;
    switch (object_kind(o)->id) {
    case KIND_POD:
        see_pod(e, o);
        break;
    case KIND_NODE:
        vec_push(&e->nodes, o);
        break;
    case KIND_PRIORITY_CLASS:
        vec_push(&e->priority_classes, object_priority_class(o));
        break;
    case KIND_REPLICA_SET:
        if (owner)
            own(e, owner->kind, meta->namespace, owner->name)->n_sets++;
        break;
    default:
        break;
    }
}

void expansion_keep(struct expansion *e, struct expansion_entry *entry)
{
    vec_push(&e->entries, entry);
}

const struct priority_class *expansion_priority_class(const struct expansion *e, struct str name)
{
    return priority_class_find(e->priority_classes.v, e->priority_classes.n, name);
}

const struct runtime_class *expansion_runtime_class(const struct expansion *e, struct str name)
{
    for (size_t i = 0; i < e->entries.n; i++)
        if (e->entries.v[i]->is_class && str_eq(e->entries.v[i]->class.metadata.name, name))
            return &e->entries.v[i]->class;
    return NULL;
}

/* --- missing pods ----------------------------------------------------------------------------- */

struct run {
    struct expansion *e;
    struct scenario *s;
    enum pod_controller_kind kind;
    const struct pod_controller *controller;
    struct err *reterr;
};

static int make(struct run *run, struct controlled_pod which)
{
    struct object *pod = pod_controller_make_pod(run->kind, run->controller, &which);
    /* Pods of a StatefulSet have fixed names: one that exists is not missing. */
    while (scenario_has(run->s, pod)) {
        object_unref(pod);
        if (run->kind == POD_CONTROLLER_STATEFUL_SET)
            return 0;
        which.salt++;
        pod = pod_controller_make_pod(run->kind, run->controller, &which);
    }
    int r = scenario_add(run->s, pod, SCENARIO_THERE, run->reterr);
    if (r < 0)
        object_unref(pod);
    return r;
}

static size_t count_owned(const struct run *run, enum pod_controller_kind kind)
{
    const struct owned *owned =
        find_owned(run->e, pod_controller_kind_name(kind), &run->controller->metadata);
    size_t n = 0;
    for (size_t i = 0; owned && i < owned->pods.n; i++) {
        const struct owner_reference *owner = object_meta_controller(object_meta(owned->pods.v[i]));
        /* A pod of a deleted controller with the same name has another owner uid. */
        bool direct = owner && str_eq(owner->kind, pod_controller_kind_name(kind));
        n += !direct || str_empty(owner->uid) || str_empty(run->controller->metadata.uid) ||
             str_eq(owner->uid, run->controller->metadata.uid);
    }
    return n;
}

static int too_many(const struct run *run, int64_t n)
{
    return err_set(run->reterr, -E2BIG, "%.*s %.*s/%.*s: %lld pods exceed the maximum of %d",
                   STR_ARG(pod_controller_kind_name(run->kind)),
                   STR_ARG(run->controller->metadata.namespace),
                   STR_ARG(run->controller->metadata.name), (long long)n, EXPANSION_MAX_PODS);
}

static int top_up(struct run *run, int64_t wanted, size_t there)
{
    int r = 0;
    if (wanted > EXPANSION_MAX_PODS)
        return too_many(run, wanted);
    for (int64_t i = (int64_t)there; r == 0 && i < wanted; i++)
        r = make(run, (struct controlled_pod){.index = i});
    return r;
}

/* A claim of a pod of a StatefulSet. Its parts belong to the controller, which outlives it. */
static int make_pod_claim(struct run *run, const struct pod_controller_claim *template,
                          int64_t ordinal)
{
    struct object *o = object_new(KIND_PERSISTENT_VOLUME_CLAIM);
    struct persistent_volume_claim *claim = object_body_mut(o);
    claim->metadata.name =
        arena_printf(object_arena(o), "%.*s-%.*s-%lld", STR_ARG(template->metadata.name),
                     STR_ARG(run->controller->metadata.name), (long long)ordinal);
    claim->metadata.namespace = run->controller->metadata.namespace;
    claim->metadata.labels = template->metadata.labels;
    claim->metadata.annotations = template->metadata.annotations;
    claim->spec = template->spec;
    if (scenario_has(run->s, o)) {
        object_unref(o);
        return 0;
    }
    int r = scenario_add(run->s, o, SCENARIO_THERE, run->reterr);
    if (r < 0)
        object_unref(o);
    return r;
}

static int make_pod_claims(struct run *run, int64_t ordinal)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < run->controller->spec.volume_claim_templates.n; i++)
        r = make_pod_claim(run, &run->controller->spec.volume_claim_templates.v[i], ordinal);
    return r;
}

static int run_stateful_set(struct run *run, int64_t wanted)
{
    const struct pod_controller_ordinals *ordinals = run->controller->spec.ordinals;
    int64_t first = ordinals ? ordinals->start : 0;
    int r = 0;
    if (wanted > EXPANSION_MAX_PODS)
        return too_many(run, wanted);
    for (int64_t i = first; r == 0 && i < first + wanted; i++) {
        r = make_pod_claims(run, i);
        if (r == 0)
            r = make(run, (struct controlled_pod){.index = i});
    }
    return r;
}

static int run_deployment(struct run *run, int64_t wanted)
{
    const struct owned *owned = find_owned(run->e, STR("Deployment"), &run->controller->metadata);
    size_t there = count_owned(run, POD_CONTROLLER_DEPLOYMENT);
    if ((owned && owned->n_sets) || (int64_t)there >= wanted)
        return 0;
    struct pod_controller view;
    struct object *set = pod_controller_make_replica_set(run->controller, &view);
    int r = scenario_add(run->s, set, SCENARIO_THERE, run->reterr);
    if (r < 0) {
        object_unref(set);
        return r;
    }
    view.metadata = *object_meta(set); /* with its uid */
    struct run of_set = *run;
    of_set.kind = POD_CONTROLLER_REPLICA_SET;
    of_set.controller = &view;
    return top_up(&of_set, wanted, there);
}

/* The node of a DaemonSet's pod: spec.nodeName, or the one in its required node affinity. */
static struct str target_node(const struct object *object)
{
    const struct pod_spec *spec = &object_pod(object)->spec;
    const struct node_affinity *affinity = spec->affinity ? spec->affinity->node_affinity : NULL;
    if (spec->node_name.n || !affinity || !affinity->required)
        return spec->node_name;
    for (size_t i = 0; i < affinity->required->node_selector_terms.n; i++) {
        const struct node_selector_term *term = &affinity->required->node_selector_terms.v[i];
        for (size_t k = 0; k < term->match_fields.n; k++)
            if (str_is(term->match_fields.v[k].key, "metadata.name") &&
                term->match_fields.v[k].values.n == 1)
                return term->match_fields.v[k].values.v[0];
    }
    return STR("");
}

static int run_daemon_set(struct run *run)
{
    const struct owned *owned = find_owned(run->e, STR("DaemonSet"), &run->controller->metadata);
    struct map has = MAP_INIT;
    int r = 0;
    for (size_t i = 0; owned && i < owned->pods.n; i++)
        map_put(&has, target_node(owned->pods.v[i]), run);
    for (size_t i = 0; r == 0 && i < run->e->nodes.n; i++) {
        const struct object *node = run->e->nodes.v[i];
        struct str name = object_meta(node)->name;
        if (!map_get(&has, name) && pod_controller_runs_on(run->controller, node)) {
            map_put(&has, name, run);
            r = make(run, (struct controlled_pod){.node_name = name});
        }
    }
    map_release(&has);
    return r;
}

static int run_job(struct run *run, int64_t wanted)
{
    size_t there = count_owned(run, POD_CONTROLLER_JOB);
    /* The completed indexes are not known: assume that existing pods have the first ones. */
    return top_up(run, wanted, there);
}

static int run_entry(struct run *run)
{
    int64_t wanted = pod_controller_replicas(run->kind, run->controller);
    switch (run->kind) {
    case POD_CONTROLLER_DEPLOYMENT:
        return run_deployment(run, wanted);
    case POD_CONTROLLER_STATEFUL_SET:
        return run_stateful_set(run, wanted);
    case POD_CONTROLLER_DAEMON_SET:
        return run_daemon_set(run);
    case POD_CONTROLLER_JOB:
        return run_job(run, wanted);
    default:
        return top_up(run, wanted, count_owned(run, run->kind));
    }
}

int expansion_run(struct expansion *e, struct scenario *s, struct err *reterr)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < e->entries.n; i++) {
        struct expansion_entry *entry = e->entries.v[i];
        struct run run = {e, s, entry->kind, &entry->controller, reterr};
        if (!entry->is_class && !entry->done)
            r = run_entry(&run);
        /* A DaemonSet also runs on nodes that are added later. */
        entry->done = entry->kind != POD_CONTROLLER_DAEMON_SET;
    }
    return r;
}
