/* SPDX-License-Identifier: Apache-2.0 */
/* StatefulSets: pods with names, in their order (pkg/controller/statefulset). */
#include "apiserver/workloads/stateful_set_internal.h"

/* --- pods ------------------------------------------------------------------------------------- */

static bool is_healthy(const struct pod_item *pod)
{
    return pod->phase == POD_RUNNING && pod->ready && !pod->member.deleting;
}

static bool is_available(struct set_look *s, const struct pod_item *pod)
{
    return pod && is_healthy(pod) && workload_pod_is_available(s->w, pod, s->min_ready, &s->next);
}

static struct str revision_of(const struct pod_item *pod)
{
    return revision_label(pod->member.rev, STR(REVISION_LABEL));
}

static bool is_updated(const struct set_look *s, const struct pod_item *pod)
{
    return str_eq(revision_of(pod), s->history.update->member->rev->name);
}

static void delete_pod(struct set_look *s, const struct pod_item *pod)
{
    struct str name = pod->member.rev->name;
    workload_delete(s->w, s->o, &pod->member, WORK_DELETES,
                    workload_event_tag(s->o, "SuccessfulDelete",
                                       "delete Pod %.*s in StatefulSet %.*s successful",
                                       STR_ARG(name), STR_ARG(s->o->member.rev->name)));
    s->n_writes++;
}

static int highest_first(const void *x, const void *y)
{
    const struct pod_item *a = *(struct pod_item *const *)x, *b = *(struct pod_item *const *)y;
    /* The names have the same beginning: the longer number is the larger one. */
    size_t n = a->member.rev->name.n, m = b->member.rev->name.n;
    if (n != m)
        return n > m ? -1 : 1;
    return str_cmp(b->member.rev->name, a->member.rev->name);
}

static void read_pods(struct set_look *s)
{
    struct arena *a = &s->w->scratch;
    s->pods = arena_array(a, struct pod_item *, (size_t)s->replicas + 1);
    s->condemned = arena_array(a, struct pod_item *, n_pods(s->o) + 1);
    for (size_t i = 0; i < n_pods(s->o); i++) {
        struct pod_item *pod = pod_at(s->o, i);
        int64_t ordinal = stateful_ordinal(s->o, pod);
        if (ordinal < 0)
            continue;
        if (ordinal >= s->start && ordinal < s->start + s->replicas)
            s->pods[ordinal - s->start] = pod;
        else
            s->condemned[s->n_condemned++] = pod;
    }
    if (s->n_condemned)
        qsort(s->condemned, s->n_condemned, sizeof(struct pod_item *), highest_first);
}

/* The lowest pod that is not available; NULL if there is none or it is missing. */
static const struct pod_item *first_unavailable(struct set_look *s)
{
    for (int64_t i = 0; i < s->replicas; i++)
        if (!is_available(s, s->pods[i]))
            return s->pods[i];
    for (size_t i = s->n_condemned; i-- > 0;)
        if (!is_available(s, s->condemned[i]))
            return s->condemned[i];
    return NULL;
}

/* --- decisions -------------------------------------------------------------------------------- */

static const struct revision_view *revision_for(const struct set_look *s, int64_t ordinal)
{
    int64_t n_current = json_int_at(s->object, "status.currentReplicas", 0);
    bool has_partition = json_at(s->spec, "updateStrategy.rollingUpdate") != NULL;
    int64_t end = s->start + (has_partition ? s->partition : n_current);
    return s->rolling && ordinal < end ? s->current : s->history.update;
}

/* Returns whether the pods after this one have to wait. */
static bool sync_replica(struct set_look *s, int64_t i)
{
    struct pod_item *pod = s->pods[i];
    bool ordered = !s->parallel;
    if (!pod) {
        stateful_create_pod(s, s->start + i, revision_for(s, s->start + i));
        return ordered;
    }
    if (pod->phase == POD_FAILED || pod->phase == POD_SUCCEEDED) {
        if (!pod->member.deleting) {
            bool failed = pod->phase == POD_FAILED;
            workload_event(s->w, s->o, failed,
                           failed ? "RecreatingFailedPod" : "RecreatingTerminatedPod",
                           "StatefulSet %.*s/%.*s is recreating %s Pod %.*s",
                           STR_ARG(s->o->member.rev->namespace), STR_ARG(s->o->member.rev->name),
                           failed ? "failed" : "terminated", STR_ARG(pod->member.rev->name));
            delete_pod(s, pod);
        }
        return ordered;
    }
    if (pod->phase == POD_PENDING && !pod->member.deleting)
        stateful_create_claims(s, pod->member.rev->name);
    stateful_sync_claims(s, pod, s->start + i);
    return ordered && !is_available(s, pod);
}

/* Returns whether it ended the look: pods are missing, or it waits. */
static bool sync_replicas(struct set_look *s)
{
    bool waits = false;
    for (int64_t i = 0; i < s->replicas && s->n_writes < BURST_REPLICAS; i++) {
        if (sync_replica(s, i))
            return true;
        waits |= !s->pods[i];
    }
    return waits;
}

static bool sync_condemned(struct set_look *s)
{
    const struct pod_item *first = first_unavailable(s);
    for (size_t i = 0; i < s->n_condemned && s->n_writes < BURST_REPLICAS; i++) {
        struct pod_item *pod = s->condemned[i];
        stateful_sync_claims(s, pod, stateful_ordinal(s->o, pod));
        if (pod->member.deleting) {
            if (!s->parallel)
                return true;
            continue;
        }
        if (!s->parallel && !is_available(s, pod) && pod != first)
            return true;
        delete_pod(s, pod);
        if (!s->parallel)
            return true;
    }
    return s->n_condemned > 0;
}

/* From the highest ordinal down to the partition, one by one. */
static void roll_one(struct set_look *s)
{
    for (int64_t i = s->replicas - 1; i >= s->partition; i--) {
        struct pod_item *pod = s->pods[i];
        if (pod && !is_updated(s, pod) && !pod->member.deleting) {
            delete_pod(s, pod);
            return;
        }
        if (!is_available(s, pod))
            return;
    }
}

/* With maxUnavailable: as many as may be down. */
static void roll_some(struct set_look *s)
{
    int64_t left = s->max_unavailable;
    for (int64_t i = 0; i < s->replicas; i++)
        left -= !is_available(s, s->pods[i]);
    for (int64_t i = s->replicas - 1; i >= s->partition && left > 0; i--) {
        struct pod_item *pod = s->pods[i];
        if (!pod || is_updated(s, pod) || pod->member.deleting)
            continue;
        delete_pod(s, pod);
        left--;
    }
}

/* --- status ----------------------------------------------------------------------------------- */

struct set_counts {
    int64_t replicas, ready, available, current, updated;
};

static void count_pods(struct set_look *s, struct set_counts *c)
{
    for (size_t i = 0; i < n_pods(s->o); i++) {
        const struct pod_item *pod = pod_at(s->o, i);
        if (stateful_ordinal(s->o, pod) < 0)
            continue;
        c->replicas++;
        if (pod->phase == POD_RUNNING && pod->ready) {
            c->ready++;
            c->available += workload_pod_is_available(s->w, pod, s->min_ready, &s->next);
        }
        if (pod->member.deleting)
            continue;
        c->current += str_eq(revision_of(pod), s->current->member->rev->name);
        c->updated += is_updated(s, pod);
    }
}

static void write_set_status(struct set_look *s)
{
    struct workloads *w = s->w;
    struct json_value status = json_object();
    struct set_counts c = {0};
    const struct json_value *conditions = json_at(s->object, "status.conditions");
    struct str current = s->current->member->rev->name;
    struct str update = s->history.update->member->rev->name;
    count_pods(s, &c);
    if (s->rolling && c.updated == s->replicas && c.ready == s->replicas &&
        c.replicas == s->replicas) {
        c.current = c.updated;
        current = update;
    }
    workload_put_count(w, &status, "observedGeneration", s->o->member.generation);
    workload_put_int(w, &status, "replicas", c.replicas);
    workload_put_count(w, &status, "readyReplicas", c.ready);
    workload_put_count(w, &status, "currentReplicas", c.current);
    workload_put_count(w, &status, "updatedReplicas", c.updated);
    workload_put_text(w, &status, "currentRevision", current);
    workload_put_text(w, &status, "updateRevision", update);
    workload_put_int(w, &status, "collisionCount",
                     json_int_at(s->object, "status.collisionCount", 0));
    workload_put_int(w, &status, "availableReplicas", c.available);
    if (conditions)
        json_set(&status, STR("conditions"), *conditions, &w->scratch);
    workload_write_status(w, s->o, s->object, status, TAG_STATUS);
}

static bool is_live(void *ctx, const struct revision_view *v)
{
    struct set_look *s = ctx;
    if (v == s->current)
        return true;
    for (size_t i = 0; i < n_pods(s->o); i++)
        if (str_eq(revision_of(pod_at(s->o, i)), v->member->rev->name))
            return true;
    return false;
}

/* --- one look --------------------------------------------------------------------------------- */

static void read_spec(struct set_look *s)
{
    const struct json_value *update = json_at(s->spec, "updateStrategy.rollingUpdate");
    s->replicas = json_int_at(s->spec, "replicas", 1);
    s->start = json_int_at(s->spec, "ordinals.start", 0);
    s->min_ready = json_int_at(s->spec, "minReadySeconds", 0);
    s->parallel = str_is(json_get_text(s->spec, STR("podManagementPolicy")), "Parallel");
    s->rolling = !str_is(json_text_at(s->spec, "updateStrategy.type"), "OnDelete");
    s->partition = json_int_at(update, "partition", 0);
    const struct json_value *most = json_get(update, STR("maxUnavailable"));
    if (most && most->kind != JSON_NULL)
        s->max_unavailable = MAX(workload_scaled(most, s->replicas, false), 1);
}

static void act(struct set_look *s)
{
    if (s->o->member.deleting || sync_replicas(s) || sync_condemned(s) || !s->rolling)
        return;
    if (s->max_unavailable > 0)
        roll_some(s);
    else
        roll_one(s);
}

void stateful_set_sync(struct workloads *w, struct workload *o, struct json_value *object)
{
    struct set_look s = {.w = w, .o = o, .object = object, .next = INT64_MAX};
    if (workload_claim(w, o))
        return;
    s.spec = json_get(object, STR("spec"));
    read_spec(&s);
    history_read(w, o, object, &s.history);
    if (!o->member.deleting && history_sync(w, o, object, &s.history))
        return;
    if (!s.history.update)
        return;
    s.current = history_find(&s.history, json_text_at(object, "status.currentRevision"));
    if (!s.current)
        s.current = s.history.update;
    read_pods(&s);
    work_cost(&w->queue, &o->work, n_pods(o) + (size_t)s.replicas);
    act(&s);
    history_truncate(w, o, object, &s.history, is_live, &s);
    write_set_status(&s);
    if (s.next != INT64_MAX)
        work_add_at(&w->queue, &o->work, s.next);
}
