/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a Deployment and its conditions (pkg/controller/deployment/progress.go). */
#include "apiserver/workloads/deployment_internal.h"

/* The sum over ReplicaSets; -1 if one does not say. */
static int64_t count_terminating(const struct rollout *r)
{
    int64_t sum = 0;
    for (size_t i = 0; i < r->n; i++) {
        int64_t n = json_int_at(r->all[i].tree, "status.terminatingReplicas", -1);
        if (n < 0 && json_int_at(r->all[i].tree, "status.observedGeneration", 0))
            return -1;
        sum += MAX(n, 0);
    }
    return sum;
}

static void set_available(struct rollout *r, struct json_value *status, int64_t available)
{
    bool enough = available >= r->replicas - r->max_unavailable;
    workload_set_condition(
        r->w, status,
        &(struct new_condition){"Available", enough ? "True" : "False",
                                enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
                                enough ? STR("Deployment has minimum availability.")
                                       : STR("Deployment does not have minimum availability.")},
        CONDITION_UPDATED);
}

struct json_value deployment_status(struct rollout *r)
{
    struct workloads *w = r->w;
    const struct json_value *old = json_at(r->object, "status.conditions");
    const struct json_value *collisions = json_at(r->object, "status.collisionCount");
    int64_t actual = 0, ready = 0, available = 0, terminating = count_terminating(r);
    for (size_t i = 0; i < r->n; i++) {
        actual += r->all[i].n_actual;
        ready += r->all[i].n_ready;
        available += r->all[i].n_available;
    }
    struct json_value status = json_object();
    workload_put_count(w, &status, "observedGeneration", r->o->member.generation);
    workload_put_count(w, &status, "replicas", actual);
    workload_put_count(w, &status, "updatedReplicas", r->new_rs ? r->new_rs->n_actual : 0);
    workload_put_count(w, &status, "readyReplicas", ready);
    workload_put_count(w, &status, "availableReplicas", available);
    workload_put_count(w, &status, "unavailableReplicas", MAX(rollout_total(r) - available, 0));
    if (terminating >= 0)
        workload_put_int(w, &status, "terminatingReplicas", terminating);
    if (collisions)
        json_set(&status, STR("collisionCount"), *collisions, &w->scratch);
    if (old && old->kind == JSON_ARRAY && old->n)
        json_set(&status, STR("conditions"), json_copy(old, &w->scratch), &w->scratch);
    set_available(r, &status, available);
    return status;
}

bool deployment_is_complete(const struct rollout *r, const struct json_value *status)
{
    return json_int_at(status, "updatedReplicas", 0) == r->replicas &&
           json_int_at(status, "replicas", 0) == r->replicas &&
           json_int_at(status, "availableReplicas", 0) == r->replicas &&
           json_int_at(status, "observedGeneration", 0) >= r->o->member.generation;
}

static bool is_progressing(const struct rollout *r, const struct json_value *status)
{
    static const char *const growing[] = {"updatedReplicas", "readyReplicas", "availableReplicas"};
    const struct json_value *was = json_get(r->object, STR("status"));
    for (size_t i = 0; i < ARRAY_LEN(growing); i++)
        if (json_int_at(status, growing[i], 0) > json_int_at(was, growing[i], 0))
            return true;
    return json_int_at(status, "replicas", 0) - json_int_at(status, "updatedReplicas", 0) <
           json_int_at(was, "replicas", 0) - json_int_at(was, "updatedReplicas", 0);
}

static bool is_timed_out(const struct rollout *r, const struct json_value *condition)
{
    struct str reason = json_get_text(condition, STR("reason"));
    if (!condition || str_is(reason, "NewReplicaSetAvailable"))
        return false;
    return str_is(reason, "ProgressDeadlineExceeded") ||
           workload_read_time(condition, "lastUpdateTime") + r->deadline * NSEC_PER_SEC <
               workloads_now(r->w);
}

static void set_progress(struct rollout *r, struct json_value *status,
                         const struct json_value *current)
{
    struct str name = r->new_rs ? r->new_rs->o->member.rev->name : r->o->member.rev->name;
    const char *what = r->new_rs ? "ReplicaSet" : "Deployment";
    struct new_condition c = {.type = "Progressing", .status = "True"};
    enum condition_form form = CONDITION_UPDATED;
    const char *end;
    if (deployment_is_complete(r, status)) {
        c.reason = "NewReplicaSetAvailable";
        end = "has successfully progressed.";
    } else if (is_progressing(r, status)) {
        c.reason = "ReplicaSetUpdated";
        end = "is progressing.";
        form = CONDITION_RENEWED;
    } else if (is_timed_out(r, current)) {
        c.reason = "ProgressDeadlineExceeded";
        c.status = "False";
        end = "has timed out progressing.";
    } else {
        return;
    }
    c.message = arena_printf(&r->w->scratch, "%s \"%.*s\" %s", what, STR_ARG(name), end);
    workload_set_condition(r->w, status, &c, form);
}

/* The ReplicaFailure of the new ReplicaSet, or else of any. */
static void copy_failure(struct rollout *r, struct json_value *status)
{
    const struct json_value *found =
        r->new_rs ? workload_condition(r->new_rs->tree, "ReplicaFailure") : NULL;
    for (size_t i = 0; !found && i < r->n; i++)
        found = workload_condition(r->all[i].tree, "ReplicaFailure");
    if (!found) {
        workload_remove_condition(status, "ReplicaFailure");
        return;
    }
    const char *state = str_is(json_get_text(found, STR("status")), "True") ? "True" : "False";
    const char *reason = arena_dup(&r->w->scratch, json_get_text(found, STR("reason"))).p;
    workload_set_condition(r->w, status,
                           &(struct new_condition){"ReplicaFailure", state, reason,
                                                   json_get_text(found, STR("message"))},
                           CONDITION_UPDATED);
}

static void look_at_deadline(struct rollout *r, const struct json_value *status)
{
    const struct json_value whole = {
        .kind = JSON_OBJECT,
        .members = &(struct json_member){STR("status"), *status},
        .n_members = 1,
    };
    const struct json_value *c = workload_condition(&whole, "Progressing");
    if (!r->deadline || !c || deployment_is_complete(r, status) ||
        str_is(json_get_text(c, STR("reason")), "ProgressDeadlineExceeded"))
        return;
    int64_t at = workload_read_time(c, "lastUpdateTime") + (r->deadline + 1) * NSEC_PER_SEC;
    work_add_at(&r->w->queue, &r->o->work, MAX(at, workloads_now(r->w) + NSEC_PER_SEC));
}

void deployment_write_progress(struct rollout *r)
{
    struct json_value status = deployment_status(r);
    const struct json_value *current = workload_condition(r->object, "Progressing");
    if (!r->deadline)
        workload_remove_condition(&status, "Progressing");
    bool was_complete =
        json_int_at(&status, "replicas", 0) == json_int_at(&status, "updatedReplicas", 0) &&
        current && str_is(json_get_text(current, STR("reason")), "NewReplicaSetAvailable");
    if (r->deadline && !was_complete)
        set_progress(r, &status, current);
    copy_failure(r, &status);
    look_at_deadline(r, &status);
    workload_write_status(r->w, r->o, r->object, status, TAG_STATUS);
}
