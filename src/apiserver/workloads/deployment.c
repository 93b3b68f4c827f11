/* SPDX-License-Identifier: Apache-2.0 */
/* Deployments: a ReplicaSet per template, scaled from the old to the new
 * (pkg/controller/deployment). */
#include "apiserver/workloads/deployment_internal.h"

#define HASH_LABEL        "pod-template-hash"
#define MAX_HISTORY_CHARS 2000

static const char *const skipped_annotations[] = {
    "kubectl.kubernetes.io/last-applied-configuration",
    ANN_REVISION,
    ANN_REVISION_HISTORY,
    ANN_DESIRED_REPLICAS,
    ANN_MAX_REPLICAS,
    "deprecated.deployment.rollback.to",
};

/* --- reading ---------------------------------------------------------------------------------- */

static int by_age(const void *x, const void *y)
{
    const struct member *a = &((const struct rs_view *)x)->o->member;
    const struct member *b = &((const struct rs_view *)y)->o->member;
    if (a->created != b->created)
        return a->created < b->created ? -1 : 1;
    return str_cmp(a->rev->name, b->rev->name);
}

static void read_replica_sets(struct rollout *r)
{
    const struct members *list = &r->o->family->members[MEMBER_WORKLOAD];
    r->all = arena_array(&r->w->scratch, struct rs_view, list->list.n + 1);
    for (size_t i = 0; i < list->list.n; i++) {
        struct workload *o = workload_of(list->list.v[i]);
        if (o->kind != WORKLOAD_REPLICA_SET || !o->member.matches)
            continue;
        struct rs_view v = {.o = o, .tree = workload_tree(r->w, &o->member)};
        v.replicas = json_int_at(v.tree, "spec.replicas", 1);
        v.n_actual = json_int_at(v.tree, "status.replicas", 0);
        v.n_ready = json_int_at(v.tree, "status.readyReplicas", 0);
        v.n_available = json_int_at(v.tree, "status.availableReplicas", 0);
        v.revision = MAX(rollout_annotation(&v, ANN_REVISION), 0);
        r->all[r->n++] = v;
    }
    qsort(r->all, r->n, sizeof(*r->all), by_age);
    uint64_t hash = workload_template_hash(r->w, json_at(r->object, "spec.template"));
    for (size_t i = 0; i < r->n && !r->new_rs; i++)
        if (r->all[i].o->template_hash == hash)
            r->new_rs = &r->all[i];
}

static void read_strategy(struct rollout *r)
{
    const struct json_value *update = json_at(r->object, "spec.strategy.rollingUpdate");
    r->replicas = json_int_at(r->object, "spec.replicas", 1);
    r->rolling = !str_is(json_text_at(r->object, "spec.strategy.type"), "Recreate");
    r->deadline = json_int_at(r->object, "spec.progressDeadlineSeconds", INT32_MAX);
    if (r->deadline == INT32_MAX)
        r->deadline = 0;
    if (!r->rolling)
        return;
    r->max_surge = workload_scaled(json_get(update, STR("maxSurge")), r->replicas, true);
    r->max_unavailable =
        workload_scaled(json_get(update, STR("maxUnavailable")), r->replicas, false);
    if (!r->max_surge && !r->max_unavailable)
        r->max_unavailable = 1;
    r->max_unavailable = MIN(r->max_unavailable, r->replicas);
}

/* --- writes to ReplicaSets -------------------------------------------------------------------- */

static void put_replicas_annotations(struct rollout *r, struct json_value *annotations)
{
    struct arena *a = &r->w->scratch;
    int64_t most = r->replicas + r->max_surge;
    json_set(annotations, STR(ANN_DESIRED_REPLICAS),
             json_text(arena_printf(a, "%lld", (long long)r->replicas)), a);
    json_set(annotations, STR(ANN_MAX_REPLICAS),
             json_text(arena_printf(a, "%lld", (long long)most)), a);
}

/* Writes the sizes that were decided. */
static void write_sizes(struct rollout *r)
{
    for (size_t i = 0; i < r->n; i++) {
        struct rs_view *v = &r->all[i];
        int64_t was = json_int_at(v->tree, "spec.replicas", 1);
        bool outdated = rollout_annotation(v, ANN_DESIRED_REPLICAS) != r->replicas ||
                        rollout_annotation(v, ANN_MAX_REPLICAS) != r->replicas + r->max_surge;
        if (was == v->replicas && !(v->force && outdated))
            continue;
        struct json_value patch = json_object(), annotations = json_object();
        unsigned tag = TAG_OTHER;
        put_replicas_annotations(r, &annotations);
        json_set_at(&patch, "metadata.annotations", annotations, &r->w->scratch);
        json_set_at(&patch, "spec.replicas", json_int(v->replicas, &r->w->scratch), &r->w->scratch);
        if (was != v->replicas)
            tag = workload_event_tag(
                r->o, "ScalingReplicaSet", "Scaled %s replica set %.*s from %lld to %lld",
                was < v->replicas ? "up" : "down", STR_ARG(v->o->member.rev->name), (long long)was,
                (long long)v->replicas);
        workload_patch(r->w, r->o, &v->o->member, tag, patch);
    }
}

static bool is_skipped(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(skipped_annotations); i++)
        if (str_is(name, skipped_annotations[i]))
            return true;
    return false;
}

/* The annotations of the Deployment that the ReplicaSet lacks. */
static void copy_annotations(struct rollout *r, const struct json_value *has,
                             struct json_value *annotations)
{
    struct json_members list = json_members_at(r->object, "metadata.annotations");
    for (size_t i = 0; i < list.n; i++) {
        const struct json_value *old = json_get(has, list.v[i].key);
        if (is_skipped(list.v[i].key) || (old && json_value_equal(old, &list.v[i].value)))
            continue;
        json_set(annotations, list.v[i].key, list.v[i].value, &r->w->scratch);
    }
}

static int64_t next_revision(const struct rollout *r)
{
    int64_t most = 0;
    for (size_t i = 0; i < r->n; i++)
        if (rs_is_old(r, &r->all[i]))
            most = MAX(most, r->all[i].revision);
    return most + 1;
}

/* "3,5": the revisions that it had before; the oldest are dropped from a long list. */
static struct str revision_history(struct rollout *r, const struct json_value *annotations)
{
    struct str history = json_get_text(annotations, STR(ANN_REVISION_HISTORY));
    struct str last = json_get_text(annotations, STR(ANN_REVISION)), head;
    if (str_empty(history))
        return last;
    while (history.n + last.n + 1 > MAX_HISTORY_CHARS && history.p)
        str_split(&history, ',', &head);
    return history.p ? arena_printf(&r->w->scratch, "%.*s,%.*s", STR_ARG(history), STR_ARG(last))
                     : last;
}

/* Keeps the annotations and minReadySeconds of the new ReplicaSet. Returns whether it wrote. */
static bool update_new_rs(struct rollout *r)
{
    struct rs_view *v = r->new_rs;
    struct arena *a = &r->w->scratch;
    const struct json_value *has = json_at(v->tree, "metadata.annotations");
    struct json_value annotations = json_object(), patch = json_object();
    int64_t revision = next_revision(r);
    int64_t min_ready = json_int_at(r->object, "spec.minReadySeconds", 0);
    bool min_differs = min_ready != json_int_at(v->tree, "spec.minReadySeconds", 0);
    copy_annotations(r, has, &annotations);
    if (v->revision < revision) {
        if (json_get(has, STR(ANN_REVISION)))
            json_set(&annotations, STR(ANN_REVISION_HISTORY), json_text(revision_history(r, has)),
                     a);
        json_set(&annotations, STR(ANN_REVISION),
                 json_text(arena_printf(a, "%lld", (long long)revision)), a);
    }
    if (!annotations.n_members && !min_differs)
        return false;
    if (annotations.n_members)
        json_set_at(&patch, "metadata.annotations", annotations, a);
    if (min_differs)
        json_set_at(&patch, "spec.minReadySeconds", json_int(min_ready, a), a);
    workload_patch(r->w, r->o, &v->o->member, TAG_OTHER, patch);
    return true;
}

/* The Deployment has the revision of its new ReplicaSet, for kubectl. Returns whether it wrote. */
static bool update_revision(struct rollout *r)
{
    struct str is = json_get_text(json_at(r->object, "metadata.annotations"), STR(ANN_REVISION));
    struct str should =
        json_get_text(json_at(r->new_rs->tree, "metadata.annotations"), STR(ANN_REVISION));
    if (str_eq(is, should))
        return false;
    /* With the status, as upstream does: such a write does not raise the generation. */
    json_set(json_set_object(json_set_object(r->object, STR("metadata"), &r->w->scratch),
                             STR("annotations"), &r->w->scratch),
             STR(ANN_REVISION), json_text(should), &r->w->scratch);
    workload_send_status(r->w, r->o, r->object, TAG_STATUS);
    return true;
}

/* --- the new ReplicaSet ----------------------------------------------------------------------- */

enum { TAG_CREATE_RS = TAG_OTHER + 1 };

static struct str new_rs_hash(struct rollout *r)
{
    struct buf text = BUF_INIT;
    workload_write_canonical(json_at(r->object, "spec.template"), &text);
    struct str hash =
        workload_safe_hash(r->w, buf_str(&text), json_at(r->object, "status.collisionCount"));
    buf_release(&text);
    return hash;
}

static struct str new_rs_name(struct rollout *r, struct str hash)
{
    struct str name = str_slice(r->o->member.rev->name, 0, 253 - 1 - hash.n);
    return arena_printf(&r->w->scratch, "%.*s-%.*s", STR_ARG(name), STR_ARG(hash));
}

static struct json_value new_rs_object(struct rollout *r, struct str name, struct str hash,
                                       int64_t size)
{
    struct arena *a = &r->w->scratch;
    struct json_value rs = json_object(), template, annotations = json_object(), refs;
    template = json_copy(json_at(r->object, "spec.template"), a);
    struct json_value *labels =
        json_set_object(json_set_object(&template, STR("metadata"), a), STR("labels"), a);
    json_set(labels, STR(HASH_LABEL), json_text(hash), a);
    const struct json_value *from = json_at(r->object, "spec.selector");
    struct json_value selector = from ? json_copy(from, a) : json_object();
    json_set(json_set_object(&selector, STR("matchLabels"), a), STR(HASH_LABEL), json_text(hash),
             a);
    copy_annotations(r, NULL, &annotations);
    json_set(&annotations, STR(ANN_REVISION),
             json_text(arena_printf(a, "%lld", (long long)next_revision(r))), a);
    put_replicas_annotations(r, &annotations);
    refs = json_array();
    json_append(&refs, workload_controller_ref(r->w, r->o), a);
    workload_put_text(r->w, &rs, "apiVersion", STR("apps/v1"));
    workload_put_text(r->w, &rs, "kind", STR("ReplicaSet"));
    json_set_at(&rs, "metadata.name", json_text(name), a);
    json_set_at(&rs, "metadata.namespace", json_text(r->o->member.rev->namespace), a);
    json_set_at(&rs, "metadata.labels", json_copy(labels, a), a);
    json_set_at(&rs, "metadata.annotations", annotations, a);
    json_set_at(&rs, "metadata.ownerReferences", refs, a);
    json_set_at(&rs, "spec.replicas", json_int(size, a), a);
    int64_t min_ready = json_int_at(r->object, "spec.minReadySeconds", 0);
    if (min_ready)
        json_set_at(&rs, "spec.minReadySeconds", json_int(min_ready, a), a);
    json_set_at(&rs, "spec.selector", selector, a);
    json_set_at(&rs, "spec.template", template, a);
    return rs;
}

/* The name is taken by another ReplicaSet: the next hash is another one. */
static bool resolve_collision(struct rollout *r, struct str name)
{
    if (!workload_find(r->w, WORKLOAD_REPLICA_SET, r->o->member.rev->namespace, name))
        return false;
    struct json_value status = deployment_status(r);
    workload_put_int(r->w, &status, "collisionCount",
                     json_int_at(r->object, "status.collisionCount", 0) + 1);
    workload_write_status(r->w, r->o, r->object, status, TAG_STATUS);
    return true;
}

static void set_created(struct rollout *r, struct json_value *status, struct str name)
{
    if (!r->deadline)
        return;
    struct new_condition c = {
        "Progressing", "True", "NewReplicaSetCreated",
        arena_printf(&r->w->scratch, "Created new replica set \"%.*s\"", STR_ARG(name))};
    if (r->o->refused)
        c = (struct new_condition){
            "Progressing", "False", "ReplicaSetCreateError",
            arena_printf(&r->w->scratch,
                         "Failed to create new replica set \"%.*s\": the server "
                         "answered with the code %d",
                         STR_ARG(name), r->o->refused)};
    workload_set_condition(r->w, status, &c, CONDITION_UPDATED);
}

static void create_new_rs(struct rollout *r)
{
    struct str hash = new_rs_hash(r), name = new_rs_name(r, hash);
    if (resolve_collision(r, name))
        return;
    int64_t size = rollout_new_size(r, 0);
    struct json_value rs = new_rs_object(r, name, hash, size);
    struct json_value status = deployment_status(r);
    set_created(r, &status, name);
    struct writer_request where = {
        .group = STR("apps"), .plural = STR("replicasets"), .name = name};
    workload_create(r->w, r->o, WORK_ADDS, TAG_CREATE_RS, &where, &rs);
    workload_write_status(r->w, r->o, r->object, status, TAG_STATUS);
}

void deployment_done(struct workloads *w, struct workload *o, unsigned tag, int status)
{
    if (tag != TAG_CREATE_RS)
        return;
    bool failed = (status < 200 || status >= 300) && status != 409;
    o->refused = failed ? status ? status : 504 : 0;
    if (failed && !workload_namespace_ends(w, o->member.rev->namespace))
        workload_event(w, o, true, "ReplicaSetCreateError",
                       "Failed to create new replica set: the server answered with the code %d",
                       o->refused);
}

/* --- old ReplicaSets -------------------------------------------------------------------------- */

static int by_revision(const void *x, const void *y)
{
    const struct rs_view *a = *(struct rs_view *const *)x, *b = *(struct rs_view *const *)y;
    if (a->revision != b->revision)
        return a->revision < b->revision ? -1 : 1;
    return a < b ? -1 : 1;
}

/* Deletes old ReplicaSets without pods beyond revisionHistoryLimit. */
static void clean_up(struct rollout *r)
{
    int64_t limit = json_int_at(r->object, "spec.revisionHistoryLimit", INT32_MAX);
    if (limit == INT32_MAX)
        return;
    struct rs_view **old = arena_array(&r->w->scratch, struct rs_view *, r->n);
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        if (rs_is_old(r, &r->all[i]) && !r->all[i].o->member.deleting)
            old[n++] = &r->all[i];
    if ((int64_t)n <= limit)
        return;
    qsort(old, n, sizeof(struct rs_view *), by_revision);
    for (size_t i = 0; i < n - (size_t)limit; i++) {
        const struct rs_view *v = old[i];
        if (!v->n_actual && !v->replicas &&
            v->o->member.generation <= json_int_at(v->tree, "status.observedGeneration", 0))
            workload_delete(r->w, r->o, &v->o->member, WORK_NOTHING, TAG_OTHER);
    }
}

static bool old_pods_run(const struct rollout *r)
{
    for (size_t i = 0; i < r->n; i++) {
        if (!rs_is_old(r, &r->all[i]))
            continue;
        if (r->all[i].n_actual > 0)
            return true;
        for (size_t p = 0; p < n_pods(r->all[i].o); p++) {
            const struct pod_item *pod = pod_at(r->all[i].o, p);
            if (pod->phase != POD_SUCCEEDED && pod->phase != POD_FAILED)
                return true;
        }
    }
    return false;
}

/* --- one look --------------------------------------------------------------------------------- */

/* Returns whether it wrote the status. */
static bool check_paused(struct rollout *r)
{
    const struct json_value *c = workload_condition(r->object, "Progressing");
    struct str reason = json_get_text(c, STR("reason"));
    bool paused = json_bool_at(r->object, "spec.paused", false);
    bool says_paused = str_is(reason, "DeploymentPaused");
    if (!r->deadline || str_is(reason, "ProgressDeadlineExceeded") || paused == says_paused)
        return false;
    struct json_value status = deployment_status(r);
    workload_set_condition(r->w, &status,
                           &(struct new_condition){
                               "Progressing", "Unknown",
                               paused ? "DeploymentPaused" : "DeploymentResumed",
                               paused ? STR("Deployment is paused") : STR("Deployment is resumed")},
                           CONDITION_UPDATED);
    return workload_write_status(r->w, r->o, r->object, status, TAG_STATUS);
}

/* Returns whether it wrote something: the look ends. */
static bool check_new_rs(struct rollout *r)
{
    if (!r->new_rs)
        return false;
    if (update_new_rs(r) || update_revision(r))
        return true;
    if (!r->deadline || workload_condition(r->object, "Progressing"))
        return false;
    struct json_value status = deployment_status(r);
    workload_set_condition(
        r->w, &status,
        &(struct new_condition){"Progressing", "True", "FoundNewReplicaSet",
                                arena_printf(&r->w->scratch, "Found new replica set \"%.*s\"",
                                             STR_ARG(r->new_rs->o->member.rev->name))},
        CONDITION_UPDATED);
    return workload_write_status(r->w, r->o, r->object, status, TAG_STATUS);
}

static void roll(struct rollout *r)
{
    bool busy;
    if (r->rolling) {
        if (!r->new_rs) {
            create_new_rs(r);
            return;
        }
        busy = rollout_grow_new(r) || rollout_shrink_old(r);
    } else {
        busy = rollout_stop_old(r) || old_pods_run(r);
        if (!busy && !r->new_rs) {
            create_new_rs(r);
            return;
        }
        if (!busy)
            r->new_rs->replicas = r->replicas;
    }
    write_sizes(r);
    if (!busy && deployment_is_complete(r, json_get(r->object, STR("status"))))
        clean_up(r);
    deployment_write_progress(r);
}

static void refuse_empty_selector(struct workloads *w, struct workload *o,
                                  struct json_value *object)
{
    const struct json_value *old = json_get(object, STR("status"));
    workload_event(w, o, true, "SelectingAll",
                   "This deployment is selecting all pods. A non-empty selector is required.");
    if (json_int_at(old, "observedGeneration", 0) >= o->member.generation)
        return;
    struct json_value status = old ? json_copy(old, &w->scratch) : json_object();
    workload_put_int(w, &status, "observedGeneration", o->member.generation);
    workload_write_status(w, o, object, status, TAG_STATUS);
}

void deployment_sync(struct workloads *w, struct workload *o, struct json_value *object)
{
    struct rollout r = {.w = w, .o = o, .object = object};
    if (!o->selects) {
        refuse_empty_selector(w, o, object);
        return;
    }
    if (workload_claim(w, o))
        return;
    read_strategy(&r);
    read_replica_sets(&r);
    if (o->member.deleting) {
        workload_write_status(w, o, object, deployment_status(&r), TAG_STATUS);
        return;
    }
    if (check_paused(&r) || check_new_rs(&r))
        return;
    bool paused = json_bool_at(object, "spec.paused", false);
    if (!paused && !rollout_is_scaling(&r)) {
        roll(&r);
        return;
    }
    rollout_scale(&r);
    write_sizes(&r);
    if (paused)
        clean_up(&r);
    workload_write_status(w, o, object, deployment_status(&r), TAG_STATUS);
}
