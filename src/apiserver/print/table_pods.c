/* SPDX-License-Identifier: Apache-2.0 */
/* Pods: the one word of STATUS comes from phase, conditions and the states of all containers. */
#include <inttypes.h>

#include "apiserver/print/table_internal.h"

/* --- containers ------------------------------------------------------------------------------- */

struct restarts {
    int64_t n;
    struct timestamp last;
};

static void count_restarts(struct restarts *r, const struct json_value *status)
{
    struct timestamp t = cell_time(json_at(status, "lastState.terminated.finishedAt"));
    r->n += json_int_at(status, "restartCount", 0);
    if (t.set && (!r->last.set || timestamp_cmp(r->last, t) < 0))
        r->last = t;
}

/* The names of init containers that are sidecars, sorted. */
struct sidecars {
    struct str *v;
    size_t n;
};

static int compare_names(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static struct sidecars find_sidecars(struct cells *c)
{
    struct json_items containers = json_items_at(c->object, "spec.initContainers");
    struct sidecars s = {arena_array(&c->arena, struct str, containers.n), 0};
    for (size_t i = 0; i < containers.n; i++)
        if (str_is(json_text_at(&containers.v[i], "restartPolicy"), "Always"))
            s.v[s.n++] = json_text_at(&containers.v[i], "name");
    if (s.n)
        qsort(s.v, s.n, sizeof(*s.v), compare_names);
    return s;
}

static const struct json_value *state_of(const struct json_value *status, const char *state)
{
    const struct json_value *v = json_get(json_get(status, STR("state")), str_of(state));
    return v && v->kind == JSON_OBJECT ? v : NULL;
}

/* The reason of a container that ended: its own, "Signal:9" or "ExitCode:1". */
static struct str end_reason(struct cells *c, const struct json_value *terminated,
                             const char *prefix)
{
    struct str reason = json_text_at(terminated, "reason");
    int64_t signal = json_int_at(terminated, "signal", 0);
    int64_t code = json_int_at(terminated, "exitCode", 0);
    if (reason.n)
        return arena_printf(&c->arena, "%s%.*s", prefix, STR_ARG(reason));
    return signal ? arena_printf(&c->arena, "%sSignal:%" PRId64, prefix, signal)
                  : arena_printf(&c->arena, "%sExitCode:%" PRId64, prefix, code);
}

/* --- init containers -------------------------------------------------------------------------- */

/* What an init container that is not done says about the pod. */
static struct str init_reason(struct cells *c, const struct json_value *status, size_t i)
{
    const struct json_value *terminated = state_of(status, "terminated");
    struct str waiting = json_text_at(state_of(status, "waiting"), "reason");
    if (terminated)
        return end_reason(c, terminated, "Init:");
    if (waiting.n && !str_is(waiting, "PodInitializing"))
        return arena_printf(&c->arena, "Init:%.*s", STR_ARG(waiting));
    return arena_printf(&c->arena, "Init:%zu/%zu", i,
                        json_items_at(c->object, "spec.initContainers").n);
}

/* Up to the first one that is not done. True if there is such: the pod is initializing. */
static bool summarize_init(struct cells *c, struct pod_summary *s, struct restarts *all,
                           struct restarts *of_sidecars)
{
    struct json_items statuses = json_items_at(c->object, "status.initContainerStatuses");
    struct sidecars sidecars = find_sidecars(c);
    s->total += (int64_t)sidecars.n;
    for (size_t i = 0; i < statuses.n; i++) {
        const struct json_value *status = &statuses.v[i], *ended = state_of(status, "terminated");
        bool sidecar = str_sorted_has(sidecars.v, sidecars.n, json_text_at(status, "name"));
        count_restarts(all, status);
        if (sidecar)
            count_restarts(of_sidecars, status);
        if (ended && json_int_at(ended, "exitCode", 0) == 0)
            continue;
        if (sidecar && json_bool_at(status, "started", false)) {
            s->ready += json_bool_at(status, "ready", false);
            continue;
        }
        s->reason = init_reason(c, status, i);
        return true;
    }
    return false;
}

/* --- containers of the pod -------------------------------------------------------------------- */

static bool condition_true(const struct json_value *pod, const char *type)
{
    const struct json_value *condition = cell_condition(pod, type);
    return condition && str_is(json_text_at(condition, "status"), "True");
}

static bool any_condition_true(const struct json_value *pod, const char *type)
{
    struct json_items conditions = json_items_at(pod, "status.conditions");
    for (size_t i = 0; i < conditions.n; i++)
        if (str_is(json_text_at(&conditions.v[i], "type"), type) &&
            str_is(json_text_at(&conditions.v[i], "status"), "True"))
            return true;
    return false;
}

/* From the last to the first, so that the first one's reason counts. */
static void summarize_containers(struct cells *c, struct pod_summary *s, struct restarts *restarts)
{
    struct json_items statuses = json_items_at(c->object, "status.containerStatuses");
    struct str error = {0};
    bool running = false;
    for (size_t i = statuses.n; i-- > 0;) {
        const struct json_value *status = &statuses.v[i], *ended = state_of(status, "terminated");
        struct str waiting = json_text_at(state_of(status, "waiting"), "reason");
        count_restarts(restarts, status);
        if (waiting.n) {
            s->reason = waiting;
        } else if (ended) {
            s->reason = end_reason(c, ended, "");
            if (json_int_at(ended, "exitCode", 0))
                error = s->reason;
        } else if (json_bool_at(status, "ready", false) && state_of(status, "running")) {
            running = true;
            s->ready++;
        }
    }
    if (!str_is(s->reason, "Completed"))
        return;
    if (running && any_condition_true(c->object, "Ready"))
        s->reason = STR("Running");
    else if (error.n)
        s->reason = error;
    else if (running)
        s->reason = STR("NotReady");
}

/* --- the pod ---------------------------------------------------------------------------------- */

static bool is_gated(const struct json_value *pod)
{
    struct json_items conditions = json_items_at(pod, "status.conditions");
    for (size_t i = 0; i < conditions.n; i++)
        if (str_is(json_text_at(&conditions.v[i], "type"), "PodScheduled") &&
            str_is(json_text_at(&conditions.v[i], "reason"), "SchedulingGated"))
            return true;
    return false;
}

static void summarize_deletion(const struct json_value *pod, struct pod_summary *s)
{
    struct str phase = json_text_at(pod, "status.phase");
    if (!json_text_at(pod, "metadata.deletionTimestamp").n)
        return;
    if (str_is(json_text_at(pod, "status.reason"), "NodeLost"))
        s->reason = STR("Unknown");
    else if (!str_is(phase, "Succeeded") && !str_is(phase, "Failed"))
        s->reason = STR("Terminating");
}

static const struct pod_summary *summary(struct cells *c)
{
    const struct json_value *pod = c->object;
    struct restarts restarts = {0}, of_sidecars = {0};
    if (c->pod)
        return c->pod;
    struct pod_summary *s = c->pod = arena_new(&c->arena, struct pod_summary);
    s->total = (int64_t)json_items_at(pod, "spec.containers").n;
    s->reason = json_text_at(pod, "status.reason");
    if (!s->reason.n)
        s->reason = json_text_at(pod, "status.phase");
    if (is_gated(pod))
        s->reason = STR("SchedulingGated");
    if (!summarize_init(c, s, &restarts, &of_sidecars) || condition_true(pod, "Initialized")) {
        restarts = of_sidecars;
        summarize_containers(c, s, &restarts);
    }
    summarize_deletion(pod, s);
    s->restarts = restarts.n;
    s->last_restart = restarts.last;
    return s;
}

/* --- cells ------------------------------------------------------------------------------------ */

static void pod_ready(struct cells *c, const struct column *col, struct buf *out)
{
    const struct pod_summary *s = summary(c);
    (void)col;
    buf_add_printf(out, "%" PRId64 "/%" PRId64, s->ready, s->total);
}

static void pod_status(struct cells *c, const struct column *col, struct buf *out)
{
    (void)col;
    buf_add_str(out, summary(c)->reason);
}

static void pod_restarts(struct cells *c, const struct column *col, struct buf *out)
{
    const struct pod_summary *s = summary(c);
    (void)col;
    buf_add_printf(out, "%" PRId64, s->restarts);
    if (s->restarts == 0 || !s->last_restart.set)
        return;
    buf_add_cstr(out, " (");
    cell_since(c, s->last_restart, out);
    buf_add_cstr(out, " ago)");
}

/* podIP is podIPs[0] unless an old client wrote only one of them. */
static void pod_ip(struct cells *c, const struct column *col, struct buf *out)
{
    struct json_items ips = json_items_at(c->object, "status.podIPs");
    struct str ip = json_text_at(c->object, "status.podIP");
    if (!ip.n && ips.n)
        ip = json_text_at(&ips.v[0], "ip");
    buf_add_str(out, ip.n ? ip : str_of(col->otherwise));
}

/* Conditions by type, so that many gates and many conditions cost no more than their sum. */
static void pod_gates(struct cells *c, const struct column *col, struct buf *out)
{
    struct json_items gates = json_items_at(c->object, "spec.readinessGates");
    struct json_items conditions = json_items_at(c->object, "status.conditions");
    struct map by_type = MAP_INIT;
    size_t met = 0;
    if (!gates.n) {
        buf_add_cstr(out, col->otherwise);
        return;
    }
    for (size_t i = conditions.n; i-- > 0;)
        map_put(&by_type, json_text_at(&conditions.v[i], "type"), (void *)&conditions.v[i]);
    for (size_t i = 0; i < gates.n; i++) {
        const struct json_value *condition =
            map_get(&by_type, json_text_at(&gates.v[i], "conditionType"));
        met += condition && str_is(json_text_at(condition, "status"), "True");
    }
    map_release(&by_type);
    buf_add_printf(out, "%zu/%zu", met, gates.n);
}

static void pod_conditions(struct cells *c, const struct column *col, struct buf *out)
{
    struct str phase = json_text_at(c->object, "status.phase");
    bool failed = str_is(phase, "Failed");
    (void)col;
    if (!failed && !str_is(phase, "Succeeded"))
        return;
    buf_add_printf(
        out, "[{\"type\":\"Completed\",\"status\":\"True\",\"reason\":\"%s\",\"message\":\"%s\"}]",
        failed ? "Failed" : "Succeeded",
        failed ? "The pod failed." : "The pod has completed successfully.");
}

static const struct column pod_columns[] = {
    NAME_COLUMN,
    CELL_COLUMN("Ready", "Containers that are ready, of all.", pod_ready),
    CELL_COLUMN("Status", "The pod's state in one word.", pod_status),
    CELL_COLUMN("Restarts", "Restarts of the containers, and when the last one was.", pod_restarts),
    AGE_COLUMN,
    CELL_COLUMN("IP", "First address of the pod.", pod_ip, .priority = 1, .otherwise = "<none>"),
    CELL_COLUMN("Node", "The node that the pod is bound to.", cell_text_or, .path = "spec.nodeName",
                .priority = 1, .otherwise = "<none>"),
    CELL_COLUMN("Nominated Node", "The node that preemption makes room on.", cell_text_or,
                .path = "status.nominatedNodeName", .priority = 1, .otherwise = "<none>"),
    CELL_COLUMN("Readiness Gates", "Gates that are met, of all.", pod_gates, .priority = 1,
                .otherwise = "<none>"),
};

const struct printer table_pod_printer = {
    "", "pods", pod_columns, ARRAY_LEN(pod_columns), pod_conditions,
};
