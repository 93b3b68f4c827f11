/* SPDX-License-Identifier: Apache-2.0 */
/* What the controllers read of pods. */
#include "apiserver/workloads/workloads_internal.h"

int64_t workload_read_time(const struct json_value *v, const char *path)
{
    struct timestamp t;
    return timestamp_parse(json_text_at(v, path), &t) ? timestamp_ns(t) : 0;
}

const struct json_value *workload_condition(const struct json_value *object, const char *type)
{
    struct json_items list = json_items_at(object, "status.conditions");
    for (size_t i = 0; i < list.n; i++)
        if (str_is(json_get_text(&list.v[i], STR("type")), type))
            return &list.v[i];
    return NULL;
}

static enum pod_phase phase_of(struct str phase)
{
    static const char *const names[] = {"Pending", "Running", "Succeeded", "Failed", "Unknown"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(phase, names[i]))
            return (enum pod_phase)i;
    return POD_PENDING;
}

static void read_restarts(struct pod_item *pod, const struct json_value *object)
{
    static const char *const lists[] = {"status.containerStatuses", "status.initContainerStatuses"};
    int64_t most = 0, sum = 0;
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        struct json_items list = json_items_at(object, lists[l]);
        for (size_t i = 0; i < list.n; i++) {
            int64_t n = json_int_at(&list.v[i], "restartCount", 0);
            sum += MIN(n, INT32_MAX);
            most = l == 0 ? MAX(most, n) : most;
        }
    }
    pod->restarts = (int)MIN(most, INT32_MAX);
    pod->all_restarts = (int)MIN(sum, INT32_MAX);
}

static bool has_finalizer(const struct json_value *object, const char *name)
{
    struct json_items list = json_items_at(object, "metadata.finalizers");
    for (size_t i = 0; i < list.n; i++)
        if (list.v[i].kind == JSON_STRING && str_is(list.v[i].text, name))
            return true;
    return false;
}

/* A number that is not negative. */
static int64_t number_of(const struct json_value *annotations, const char *name, int64_t otherwise)
{
    int64_t n;
    struct str text = json_get_text(annotations, str_of(name));
    return str_to_i64(text, &n) && n >= 0 ? n : otherwise;
}

void workload_pod_read(struct pod_item *pod, const struct json_value *object)
{
    const struct json_value *annotations = json_at(object, "metadata.annotations");
    const struct json_value *ready = workload_condition(object, "Ready");
    int64_t cost = 0;
    pod->phase = phase_of(json_text_at(object, "status.phase"));
    pod->ready = ready && str_is(json_get_text(ready, STR("status")), "True");
    pod->ready_since = pod->ready ? workload_read_time(ready, "lastTransitionTime") : 0;
    read_restarts(pod, object);
    pod->has_node = !str_empty(json_text_at(object, "spec.nodeName"));
    pod->tracked = has_finalizer(object, JOB_TRACKING);
    pod->index = number_of(annotations, JOB_INDEX, -1);
    pod->failures = number_of(annotations, JOB_INDEX_FAILURES, 0);
    pod->ignored_failures = number_of(annotations, JOB_INDEX_IGNORED, 0);
    struct str text = json_get_text(annotations, STR("controller.kubernetes.io/pod-deletion-cost"));
    if (!str_to_i64(text, &cost) || cost < INT32_MIN || cost > INT32_MAX)
        cost = 0;
    pod->deletion_cost = (int)cost;
}

bool workload_pod_is_available(const struct workloads *w, const struct pod_item *pod,
                               int64_t min_ready, int64_t *next)
{
    if (!pod->ready)
        return false;
    if (min_ready <= 0)
        return true;
    int64_t at = pod->ready_since + min_ready * NSEC_PER_SEC;
    if (pod->ready_since && at <= workloads_now(w))
        return true;
    if (pod->ready_since)
        *next = MIN(*next, at);
    return false;
}

struct json_value *workload_tree(struct workloads *w, const struct member *m)
{
    struct json_value *tree = arena_new(&w->scratch, struct json_value);
    if (json_parse(m->rev->text, 0, &w->scratch, tree, NULL) < 0)
        *tree = json_object(); /* the registry stores JSON only */
    return tree;
}

struct json_value workload_untracked(struct workloads *w, const struct json_value *pod)
{
    struct json_items old = json_items_at(pod, "metadata.finalizers");
    struct json_value list = json_array();
    for (size_t i = 0; i < old.n; i++)
        if (old.v[i].kind != JSON_STRING || !str_is(old.v[i].text, JOB_TRACKING))
            json_append(&list, old.v[i], &w->scratch);
    return list.n ? list : json_null();
}
