/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of PodDisruptionBudgets (upstream: DisruptionController). Evictions take disruptions
 * from it (registry/eviction.c).
 */
#include "apiserver/lifecycle/pods.h"

#define DELETION_TIMEOUT (120 * NSEC_PER_SEC)
#define COMPONENT        "controllermanager"

/* What a look at a budget finds. */
struct tally {
    struct pod_entry **pods; /* that the selector matches */
    size_t n;
    struct map by_reference; /* uid of the owner of a pod → it was counted */
    struct map by_owner;     /* uid of what scales it → it was counted */
    int64_t expected, desired, healthy;
    size_t n_unmanaged;
    struct json_value disrupted;
    int64_t recheck;    /* INT64_MAX: not */
    struct str failure; /* empty: none */
};

/* --- the scale of owners ---------------------------------------------------------------------- */

struct owner {
    struct str api_version, kind, name, uid;
};

static struct owner owner_of(const struct json_value *ref)
{
    return (struct owner){json_get_text(ref, STR("apiVersion")), json_get_text(ref, STR("kind")),
                          json_get_text(ref, STR("name")), json_get_text(ref, STR("uid"))};
}

static struct owner owner_of_pod(const struct pod_facts *facts)
{
    return (struct owner){facts->controller_api_version, facts->controller_kind,
                          facts->controller_name, facts->controller_uid};
}

/* NULL: there is no such object, or it has another uid. */
static struct json_value *find_owner(struct lifecycle *l, const struct resource *r,
                                     struct str namespace, const struct owner *owner)
{
    struct revision *rev = life_find(l, r, namespace, owner->name);
    if (!rev || !str_eq(life_view(rev).uid, owner->uid))
        return NULL;
    return life_parse(l, rev);
}

/* The deployment of a replica set; NULL if it has none. */
static struct json_value *deployment_of(struct lifecycle *l, const struct json_value *set,
                                        struct str namespace)
{
    struct json_items refs = json_items_at(set, "metadata.ownerReferences");
    for (size_t i = 0; i < refs.n; i++) {
        struct owner owner = owner_of(&refs.v[i]);
        if (json_bool_at(&refs.v[i], "controller", false) && str_is(owner.kind, "Deployment"))
            return find_owner(l, l->r.deployments, namespace, &owner);
    }
    return NULL;
}

/* What has the scale of the owner's pods. NULL: t->failure says why. */
static const struct json_value *find_scaled(struct lifecycle *l, struct tally *t,
                                            const struct owner *owner, const struct revision *pod)
{
    const struct resource *r =
        resources_find_kind(l->options.resources, owner->api_version, owner->kind);
    if (!r) {
        t->failure = arena_printf(&l->scratch, "no matches for kind \"%.*s\" in version \"%.*s\"",
                                  STR_ARG(owner->kind), STR_ARG(owner->api_version));
        return NULL;
    }
    if (!resource_subresource(r, STR("scale"))) {
        t->failure =
            arena_printf(&l->scratch, "%.*s%s%.*s does not implement the scale subresource",
                         STR_ARG(r->plural), str_empty(r->group) ? "" : ".", STR_ARG(r->group));
        return NULL;
    }
    const struct json_value *object = find_owner(l, resource_stored(r), pod->namespace, owner);
    if (!object) {
        t->failure =
            arena_printf(&l->scratch, "found no controllers for pod \"%.*s\"", STR_ARG(pod->name));
        return NULL;
    }
    if (resource_stored(r) == l->r.replica_sets) {
        const struct json_value *deployment = deployment_of(l, object, pod->namespace);
        return deployment ? deployment : object;
    }
    return object;
}

/* The scales of all that control the pods (upstream: getExpectedScale). */
static void add_scales(struct lifecycle *l, struct tally *t)
{
    for (size_t i = 0; i < t->n && str_empty(t->failure); i++) {
        const struct pod_facts *facts = pod_read(l, t->pods[i]);
        struct owner owner = owner_of_pod(facts);
        if (str_empty(owner.kind)) {
            t->n_unmanaged++;
            continue;
        }
        if (map_put(&t->by_reference, owner.uid, t))
            continue;
        const struct json_value *scaled = find_scaled(l, t, &owner, t->pods[i]->rev);
        if (!scaled)
            return;
        if (!map_put(&t->by_owner, json_text_at(scaled, "metadata.uid"), t))
            t->expected += json_int_at(scaled, "spec.replicas", 1);
    }
}

/* --- the arithmetic --------------------------------------------------------------------------- */

/* A number, or a percentage of `total` that is rounded up. */
static bool scaled_value(const struct json_value *v, int64_t total, int64_t *ret_value)
{
    int64_t percent;
    if (v->kind == JSON_NUMBER)
        return str_to_i64(v->text, ret_value);
    if (v->kind != JSON_STRING || !str_ends(v->text, STR("%")) ||
        !str_to_i64(str_slice(v->text, 0, v->text.n - 1), &percent))
        return false;
    percent = MIN(MAX(percent, 0), INT32_MAX);
    *ret_value = (percent * total + 99) / 100;
    return true;
}

static void set_desired(struct lifecycle *l, struct tally *t, const struct json_value *budget)
{
    const struct json_value *most = json_at(budget, "spec.maxUnavailable");
    const struct json_value *least = json_at(budget, "spec.minAvailable");
    const struct json_value *v = most && most->kind != JSON_NULL ? most : least;
    int64_t value = 0;
    if (!v || v->kind == JSON_NULL)
        return;
    if (v != most && v->kind == JSON_NUMBER)
        t->expected = (int64_t)t->n;
    else
        add_scales(l, t);
    if (!str_empty(t->failure))
        return;
    if (!scaled_value(v, t->expected, &value)) {
        t->failure = arena_printf(&l->scratch,
                                  "invalid value for IntOrString: invalid type: string is not a "
                                  "percentage");
        return;
    }
    t->desired = v == most ? MAX(t->expected - value, 0) : value;
}

static void report_not_deleted(struct lifecycle *l, const struct revision *pod)
{
    /* Upstream names the namespace twice. */
    struct event_text text = {
        .warning = true,
        .reason = "NotDeleted",
        .component = COMPONENT,
        .message = arena_printf(&l->scratch,
                                "Pod was expected by PDB %.*s/%.*s to be deleted but it wasn't",
                                STR_ARG(pod->namespace), STR_ARG(pod->namespace))};
    life_event(l, pod, &text);
}

/* Pods whose eviction was allowed and that are not deleted yet. */
static void keep_disrupted(struct lifecycle *l, struct tally *t, const struct json_value *budget)
{
    const struct json_value *old = json_at(budget, "status.disruptedPods");
    t->disrupted = json_object();
    t->recheck = INT64_MAX;
    for (size_t i = 0; old && old->kind == JSON_OBJECT && i < old->n_members; i++) {
        struct pod_entry *pod =
            pod_find(l, json_text_at(budget, "metadata.namespace"), old->members[i].key);
        struct timestamp since;
        if (!pod || pod_read(l, pod)->deleting ||
            !timestamp_parse(old->members[i].value.text, &since))
            continue;
        int64_t end = timestamp_ns(since) + DELETION_TIMEOUT;
        if (end < l->queue.now) {
            report_not_deleted(l, pod->rev);
            continue;
        }
        t->recheck = MIN(t->recheck, end + 1);
        json_set(&t->disrupted, old->members[i].key, old->members[i].value, &l->scratch);
    }
}

static void count_healthy(struct lifecycle *l, struct tally *t)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct pod_facts *facts = pod_read(l, t->pods[i]);
        t->healthy +=
            facts->ready && !facts->deleting && !json_get(&t->disrupted, t->pods[i]->rev->name);
    }
}

/* --- the status ------------------------------------------------------------------------------- */

static bool set_condition(struct lifecycle *l, struct json_value *budget, const char *status,
                          const char *reason, struct str message)
{
    struct json_value c = life_make_condition(l, "DisruptionAllowed", status, reason, message);
    int64_t generation = json_int_at(budget, "status.observedGeneration", 0);
    json_set(&c, STR("observedGeneration"), json_int(generation, &l->scratch), &l->scratch);
    return life_set_condition(l, budget, c);
}

static bool set_number(struct lifecycle *l, struct json_value *status, const char *key, int64_t n)
{
    const struct json_value *old = json_get(status, str_of(key));
    if (old && json_int_at(status, key, 0) == n)
        return false;
    json_set(status, str_of(key), json_int(n, &l->scratch), &l->scratch);
    return true;
}

/* Returns whether something changes. */
static bool set_status(struct lifecycle *l, struct json_value *budget, const struct tally *t)
{
    struct json_value *status = json_set_object(budget, STR("status"), &l->scratch);
    int64_t allowed = t->expected <= 0 ? 0 : MAX(t->healthy - t->desired, 0);
    const struct json_value *old = json_get(status, STR("disruptedPods"));
    struct json_value none = json_object();
    bool changed = !json_value_equal(old ? old : &none, &t->disrupted);
    changed |= set_number(l, status, "currentHealthy", t->healthy);
    changed |= set_number(l, status, "desiredHealthy", t->desired);
    changed |= set_number(l, status, "expectedPods", t->expected);
    changed |= set_number(l, status, "disruptionsAllowed", allowed);
    changed |=
        set_number(l, status, "observedGeneration", json_int_at(budget, "metadata.generation", 0));
    if (t->disrupted.n_members)
        json_set(status, STR("disruptedPods"), t->disrupted, &l->scratch);
    else
        json_remove(status, STR("disruptedPods"));
    changed |= set_condition(l, budget, allowed > 0 ? "True" : "False",
                             allowed > 0 ? "SufficientPods" : "InsufficientPods", STR(""));
    return changed;
}

/* Nothing may be evicted while the status cannot be calculated (upstream: failSafe). */
static bool set_failure(struct lifecycle *l, struct json_value *budget, struct str failure)
{
    struct json_value *status = json_set_object(budget, STR("status"), &l->scratch);
    bool changed = set_number(l, status, "disruptionsAllowed", 0);
    changed |= set_condition(l, budget, "False", "SyncFailed", failure);
    return changed;
}

static void report(struct lifecycle *l, const struct revision *rev, const struct tally *t,
                   const struct json_value *budget)
{
    struct event_text text = {.component = COMPONENT};
    if (t->n == 0) {
        text.reason = "NoPods";
        text.message = STR("No matching pods found");
        life_event(l, rev, &text);
    }
    text.warning = true;
    if (!str_empty(t->failure)) {
        text.reason = "CalculateExpectedPodCountFailed";
        text.message =
            arena_printf(&l->scratch, "Failed to calculate the number of expected pods: %.*s",
                         STR_ARG(t->failure));
        life_event(l, rev, &text);
    } else if (t->n_unmanaged) {
        struct buf selector = BUF_INIT;
        const struct json_value *of = json_at(budget, "spec.selector");
        if (of)
            json_write(of, &selector);
        text.reason = "UnmanagedPods";
        text.message = arena_printf(
            &l->scratch,
            "Pods selected by this PodDisruptionBudget (selector: %.*s) were found to be "
            "unmanaged. As a result, the status of the PDB cannot be calculated correctly, which "
            "may result in undefined behavior. To account for these pods please set "
            "\".spec.minAvailable\" field of the PDB to an integer value.",
            STR_ARG(buf_str(&selector)));
        buf_release(&selector);
        life_event(l, rev, &text);
    }
}

/* --- the budget ------------------------------------------------------------------------------- */

static void choose(struct lifecycle *l, const struct chooser *c, struct tally *t)
{
    struct pod_group *room = c->room;
    t->pods = arena_array(&l->scratch, struct pod_entry *, room->pods.n);
    for (size_t i = 0; i < room->pods.n; i++)
        if (selector_matches_revision(&c->selector, room->pods.v[i]->rev))
            t->pods[t->n++] = room->pods.v[i];
}

void budget_sync(struct lifecycle *l, struct task *task)
{
    struct named_task *named = CONTAINER_OF(task, struct named_task, task);
    const struct chooser *c = named->state;
    struct revision *rev = life_find(l, l->r.budgets, named->namespace, named->name);
    struct tally t = {0};
    if (!rev || !c)
        return;
    struct json_value *budget = life_parse(l, rev);
    choose(l, c, &t);
    set_desired(l, &t, budget);
    map_release(&t.by_reference);
    map_release(&t.by_owner);
    keep_disrupted(l, &t, budget);
    count_healthy(l, &t);
    work_cost(&l->queue, &task->work, c->room->pods.n);
    if (t.recheck != INT64_MAX)
        task_due(l, task, t.recheck);
    if (str_empty(t.failure) ? !set_status(l, budget, &t) : !set_failure(l, budget, t.failure))
        return;
    report(l, rev, &t, budget);
    struct life_target target = life_target(rev);
    buf_clear(&l->body);
    json_write(budget, &l->body);
    task_write(l, task, WRITER_UPDATE, &target, "status");
}

/* --- conditions DisruptionTarget that did not come true --------------------------------------- */

static int64_t stale_at(const struct json_value *pod, const struct json_value *c)
{
    struct str phase = json_text_at(pod, "status.phase");
    struct timestamp since;
    if (!c || life_is_deleting(pod) || str_is(phase, "Succeeded") || str_is(phase, "Failed") ||
        !str_is(json_get_text(c, STR("status")), "True") ||
        str_is(json_get_text(c, STR("reason")), "TerminationByKubelet") ||
        !timestamp_parse(json_get_text(c, STR("lastTransitionTime")), &since))
        return INT64_MAX;
    return timestamp_ns(since) + DELETION_TIMEOUT;
}

void stale_target_sync(struct lifecycle *l, struct task *task)
{
    struct named_task *named = CONTAINER_OF(task, struct named_task, task);
    struct revision *rev = life_find(l, l->r.pods, named->namespace, named->name);
    struct json_value *pod = rev ? life_parse(l, rev) : NULL;
    struct json_value *c = pod ? life_condition(pod, "DisruptionTarget") : NULL;
    int64_t at = c ? stale_at(pod, c) : INT64_MAX;
    if (at == INT64_MAX) {
        task_end(l, named);
        return;
    }
    if (at > l->queue.now) {
        task_due(l, task, at);
        return;
    }
    struct json_value fresh = json_object();
    json_set(&fresh, STR("type"), json_text(STR("DisruptionTarget")), &l->scratch);
    json_set(&fresh, STR("status"), json_text(STR("False")), &l->scratch);
    life_set_condition(l, pod, fresh);
    task_patch_conditions(l, task, rev, pod, NULL);
}

/* --- changes ---------------------------------------------------------------------------------- */

void budgets_changed(struct lifecycle *l, const struct store_event *event,
                     const struct life_view *view)
{
    const struct revision *rev = event->after;
    if (rev->resource == l->r.pods) {
        if (event->change != STORE_DELETED && str_empty(view->deletion) &&
            str_search(rev->text, STR("\"DisruptionTarget\"")) < rev->text.n)
            task_named(l, TASK_STALE_TARGET, rev->namespace, rev->name);
        return;
    }
    if (rev->resource != l->r.budgets)
        return;
    if (event->change == STORE_DELETED) {
        struct named_task *task = task_find(l, TASK_BUDGET, rev->namespace, rev->name);
        if (task)
            task_end(l, task);
        return;
    }
    struct named_task *task = task_named(l, TASK_BUDGET, rev->namespace, rev->name);
    if (!task->state)
        task->state = chooser_new(l, task);
    chooser_set(task->state, json_at(life_parse(l, rev), "spec.selector"), false);
}
