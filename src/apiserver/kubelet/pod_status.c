/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a pod as its kubelet reports it, as a merge patch. */
#include "apiserver/kubelet/kubelets_internal.h"

static void add_text(struct buf *out, const char *before, struct str text)
{
    buf_add_cstr(out, before);
    json_write_str(out, text);
}

/* --- containers ------------------------------------------------------------------------------- */

static void add_id(struct buf *out, uint64_t id)
{
    buf_add_printf(out, "\"containerd://%016llx%016llx%016llx%016llx\"", (unsigned long long)id,
                   (unsigned long long)hash_fixed(id + 1), (unsigned long long)hash_fixed(id + 2),
                   (unsigned long long)hash_fixed(id + 3));
}

static void add_terminated(struct buf *out, int64_t started, int64_t finished, int exit_code,
                           uint64_t id)
{
    buf_add_printf(out,
                   "{\"terminated\":{\"exitCode\":%d,\"reason\":\"%s\",\"startedAt\":", exit_code,
                   exit_code ? "Error" : "Completed");
    kubelet_add_time(out, started);
    buf_add_cstr(out, ",\"finishedAt\":");
    kubelet_add_time(out, finished);
    buf_add_cstr(out, ",\"containerID\":");
    add_id(out, id);
    buf_add_cstr(out, "}}");
}

static void add_state(struct buf *out, const struct sim_pod *pod, const struct container_run *run)
{
    buf_add_cstr(out, ",\"state\":");
    if (run->state == CONTAINER_RUNNING) {
        buf_add_cstr(out, "{\"running\":{\"startedAt\":");
        kubelet_add_time(out, run->started);
        buf_add_cstr(out, "}}");
    } else if (run->state == CONTAINER_TERMINATED && !run->restart_at) {
        add_terminated(out, run->started, run->finished, run->exit_code, run->id);
    } else if (run->state == CONTAINER_TERMINATED) {
        buf_add_cstr(out, "{\"waiting\":{\"reason\":\"CrashLoopBackOff\",\"message\":\"back-off ");
        duration_format((run->restart_at - run->finished) / NSEC_PER_SEC * NSEC_PER_SEC, out);
        buf_add_cstr(out, " restarting failed container\"}}");
    } else {
        bool waits_for_init = false;
        for (const struct container_run *r = pod->runs; r != run; r++)
            waits_for_init =
                waits_for_init || (r->role == CONTAINER_INIT &&
                                   (r->state != CONTAINER_TERMINATED || r->exit_code != 0));
        buf_add_printf(out, "{\"waiting\":{\"reason\":\"%s\"}}",
                       waits_for_init ? "PodInitializing" : "ContainerCreating");
    }
    buf_add_cstr(out, ",\"lastState\":");
    if (run->state == CONTAINER_TERMINATED && run->restart_at)
        add_terminated(out, run->started, run->finished, run->exit_code, run->id);
    else if (run->last_finished)
        add_terminated(out, run->last_started, run->last_finished, run->last_exit_code,
                       run->last_id);
    else
        buf_add_cstr(out, "{}");
}

static void add_container(struct buf *out, const struct sim_pod *pod,
                          const struct container_run *run, const struct json_value *spec)
{
    bool started = run->state == CONTAINER_RUNNING;
    bool ready = run->role == CONTAINER_INIT
                     ? run->state == CONTAINER_TERMINATED && run->exit_code == 0
                     : run->ready;
    add_text(out, "{\"name\":", run->name);
    add_text(out, ",\"image\":", json_get_text(spec, STR("image")));
    if (run->id) {
        add_text(out, ",\"imageID\":", json_get_text(spec, STR("image")));
        buf_add_cstr(out, ",\"containerID\":");
        add_id(out, run->id);
    } else {
        buf_add_cstr(out, ",\"imageID\":\"\"");
    }
    buf_add_printf(out, ",\"ready\":%s,\"started\":%s,\"restartCount\":%u",
                   ready ? "true" : "false", started ? "true" : "false", run->restarts);
    add_state(out, pod, run);
    const struct json_value *resources = json_get(spec, STR("resources"));
    if (resources && resources->kind == JSON_OBJECT) {
        const struct json_value *requests = json_get(resources, STR("requests"));
        if (requests) {
            buf_add_cstr(out, ",\"allocatedResources\":");
            json_write(requests, out);
        }
        buf_add_cstr(out, ",\"resources\":");
        json_write(resources, out);
    }
    buf_add_char(out, '}');
}

static void add_containers(struct buf *out, const struct sim_pod *pod,
                           const struct json_value *object, bool init)
{
    const struct json_value *list =
        json_at(object, init ? "spec.initContainers" : "spec.containers");
    if (!list || list->kind != JSON_ARRAY || list->n == 0)
        return;
    buf_add_cstr(out, init ? ",\"initContainerStatuses\":[" : ",\"containerStatuses\":[");
    bool first = true;
    size_t at = 0;
    for (size_t i = 0; i < pod->n_runs; i++) {
        const struct container_run *run = &pod->runs[i];
        if ((run->role != CONTAINER_MAIN) != init)
            continue;
        if (!first)
            buf_add_char(out, ',');
        first = false;
        add_container(out, pod, run, at < list->n ? &list->items[at] : NULL);
        at++;
    }
    buf_add_char(out, ']');
}

/* --- conditions ------------------------------------------------------------------------------- */

struct condition {
    const char *type;
    bool status;
    const char *reason;
    struct str message;
};

static const char *const own_types[] = {"PodReadyToStartContainers", "Initialized", "Ready",
                                        "ContainersReady"};

static const struct json_value *find_condition(const struct json_value *conditions, struct str type)
{
    for (size_t i = 0; conditions && conditions->kind == JSON_ARRAY && i < conditions->n; i++)
        if (str_eq(json_get_text(&conditions->items[i], STR("type")), type))
            return &conditions->items[i];
    return NULL;
}

static void add_condition(struct kubelets *k, const struct condition *c,
                          const struct json_value *old, int64_t generation)
{
    struct buf *out = &k->body;
    const struct json_value *before = find_condition(old, str_of(c->type));
    const char *status = c->status ? "True" : "False";
    buf_add_printf(out, "{\"type\":\"%s\",\"status\":\"%s\"", c->type, status);
    if (generation > 0)
        buf_add_printf(out, ",\"observedGeneration\":%lld", (long long)generation);
    buf_add_cstr(out, ",\"lastProbeTime\":null,\"lastTransitionTime\":");
    struct str since = json_get_text(before, STR("lastTransitionTime"));
    if (before && str_is(json_get_text(before, STR("status")), status) && !str_empty(since))
        json_write_str(out, since);
    else
        kubelet_add_time(out, k->now);
    if (!c->status && c->reason) {
        add_text(out, ",\"reason\":", str_of(c->reason));
        if (!str_empty(c->message))
            add_text(out, ",\"message\":", c->message);
    }
    buf_add_char(out, '}');
}

/* "containers with unready status: [a b]" of the containers that `lacks` names. */
static struct str name_containers(struct kubelets *k, const struct sim_pod *pod, bool init)
{
    struct buf text = BUF_INIT;
    buf_add_cstr(&text, init ? "containers with incomplete status: ["
                             : "containers with unready status: [");
    size_t n = 0;
    for (size_t i = 0; i < pod->n_runs; i++) {
        const struct container_run *run = &pod->runs[i];
        bool lacks = init ? run->role == CONTAINER_INIT &&
                                (run->state != CONTAINER_TERMINATED || run->exit_code)
                          : run->role != CONTAINER_INIT && !run->ready;
        if (lacks)
            buf_add_printf(&text, "%s%.*s", n++ ? " " : "", STR_ARG(run->name));
    }
    buf_add_char(&text, ']');
    struct str message = n ? arena_dup(&k->scratch, buf_str(&text)) : STR("");
    buf_release(&text);
    return message;
}

/* The gate without a true condition; empty: all have one. */
static bool gates_open(const struct json_value *object, const struct json_value *old)
{
    const struct json_value *gates = json_at(object, "spec.readinessGates");
    for (size_t i = 0; gates && gates->kind == JSON_ARRAY && i < gates->n; i++) {
        const struct json_value *c =
            find_condition(old, json_get_text(&gates->items[i], STR("conditionType")));
        if (!c || !str_is(json_get_text(c, STR("status")), "True"))
            return false;
    }
    return true;
}

static bool is_own(struct str type)
{
    for (size_t i = 0; i < ARRAY_LEN(own_types); i++)
        if (str_is(type, own_types[i]))
            return true;
    return false;
}

static void add_conditions(struct kubelets *k, const struct sim_pod *pod,
                           const struct json_value *object)
{
    const struct json_value *old = json_at(object, "status.conditions");
    int64_t generation = json_int_at(object, "metadata.generation", 0);
    struct str uninit = name_containers(k, pod, true), unready = name_containers(k, pod, false);
    bool started = false;
    for (size_t i = 0; i < pod->n_runs; i++)
        started = started || pod->runs[i].state == CONTAINER_RUNNING || pod->runs[i].finished;
    const char *reason = "ContainersNotReady";
    if (pod->phase == POD_PHASE_SUCCEEDED)
        reason = "PodCompleted";
    else if (pod->phase == POD_PHASE_FAILED)
        reason = "PodFailed";
    struct str message = pod->ended ? STR("") : unready;
    bool containers_ready = str_empty(unready) && !pod->ended;
    bool ready = containers_ready && gates_open(object, old);
    const struct condition conditions[] = {
        {.type = own_types[0], .status = started && !pod->ended},
        {.type = own_types[1],
         .status = str_empty(uninit),
         .reason = "ContainersNotInitialized",
         .message = uninit},
        {.type = own_types[2],
         .status = ready,
         .reason = containers_ready ? "ReadinessGatesNotReady" : reason,
         .message = message},
        {.type = own_types[3], .status = containers_ready, .reason = reason, .message = message},
    };
    buf_add_cstr(&k->body, ",\"conditions\":[");
    for (size_t i = 0; i < ARRAY_LEN(conditions); i++) {
        if (i)
            buf_add_char(&k->body, ',');
        add_condition(k, &conditions[i], old, generation);
    }
    for (size_t i = 0; old && old->kind == JSON_ARRAY && i < old->n; i++) {
        if (is_own(json_get_text(&old->items[i], STR("type"))))
            continue;
        buf_add_char(&k->body, ',');
        json_write(&old->items[i], &k->body);
    }
    if (!find_condition(old, STR("PodScheduled"))) {
        buf_add_char(&k->body, ',');
        add_condition(k, &(struct condition){.type = "PodScheduled", .status = true}, old,
                      generation);
    }
    buf_add_char(&k->body, ']');
}

/* --- the status ------------------------------------------------------------------------------- */

static void add_addresses(struct kubelets *k, struct sim_pod *pod, const struct json_value *object)
{
    struct buf *out = &k->body;
    const char *host = pod->node->ip;
    char ip[48];
    if (host[0])
        buf_add_printf(out, ",\"hostIP\":\"%s\",\"hostIPs\":[{\"ip\":\"%s\"}]", host, host);
    bool started = false;
    for (size_t i = 0; i < pod->n_runs; i++)
        started = started || pod->runs[i].started;
    struct str known = json_text_at(object, "status.podIP");
    if (!started && str_empty(known))
        return;
    if (json_bool_at(object, "spec.hostNetwork", false)) {
        snprintf(ip, sizeof(ip), "%s", host);
    } else if (!str_empty(known)) {
        snprintf(ip, sizeof(ip), "%.*s", STR_ARG(known));
    } else {
        if (pod->ip == 0)
            pod->ip = 1 + k->next_pod_ip++ % ((1U << 23) - 2);
        uint32_t n = pod->ip;
        snprintf(ip, sizeof(ip), "10.%u.%u.%u", 128 + (n >> 16 & 127), n >> 8 & 255, n & 255);
    }
    if (ip[0])
        buf_add_printf(out, ",\"podIP\":\"%s\",\"podIPs\":[{\"ip\":\"%s\"}]", ip, ip);
}

void kubelet_pod_status_write(struct kubelets *k, struct sim_pod *pod,
                              const struct json_value *object)
{
    static const char *const phases[] = {"Pending", "Running", "Succeeded", "Failed"};
    struct buf *out = &k->body;
    int64_t generation = json_int_at(object, "metadata.generation", 0);
    buf_clear(out);
    buf_add_printf(out, "\"status\":{\"phase\":\"%s\"", phases[pod->phase]);
    if (generation > 0)
        buf_add_printf(out, ",\"observedGeneration\":%lld", (long long)generation);
    if (pod->deadline_exceeded)
        buf_add_cstr(out, ",\"reason\":\"DeadlineExceeded\",\"message\":\"Pod was active on the "
                          "node longer than the specified deadline\"");
    add_conditions(k, pod, object);
    add_addresses(k, pod, object);
    buf_add_cstr(out, ",\"startTime\":");
    kubelet_add_time(out, pod->start);
    add_containers(out, pod, object, true);
    add_containers(out, pod, object, false);
    buf_add_char(out, '}');
}
