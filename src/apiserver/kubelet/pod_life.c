/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the containers of one pod do: init containers in their order, sidecars, restarts with
 * backoff, the end of the pod. Upstream: SyncPod, computePodActions and getPhase of the kubelet.
 */
#include "apiserver/kubelet/kubelets_internal.h"

#define BACKOFF_FIRST (10 * NSEC_PER_SEC)
#define BACKOFF_MAX   (300 * NSEC_PER_SEC)
/* A container that ran this long starts again without backoff. */
#define BACKOFF_RESET (600 * NSEC_PER_SEC)
#define JOB_RUN_TIME  NSEC_PER_SEC

/* --- admission -------------------------------------------------------------------------------- */

static bool controlled_by_job(const struct json_value *object)
{
    const struct json_value *owners = json_at(object, "metadata.ownerReferences");
    for (size_t i = 0; owners && owners->kind == JSON_ARRAY && i < owners->n; i++)
        if (json_bool_at(&owners->items[i], "controller", false) &&
            str_is(json_get_text(&owners->items[i], STR("kind")), "Job"))
            return true;
    return false;
}

static int64_t time_at(const struct json_value *v, const char *path)
{
    struct timestamp t;
    return timestamp_parse(json_text_at(v, path), &t) ? timestamp_ns(t) : 0;
}

/* Another process may have run the pod before: its status says how far it came. */
static void resume(struct kubelets *k, struct container_run *run, const struct json_value *statuses)
{
    for (size_t i = 0; statuses && statuses->kind == JSON_ARRAY && i < statuses->n; i++) {
        const struct json_value *s = &statuses->items[i];
        if (!str_eq(json_get_text(s, STR("name")), run->name))
            continue;
        run->restarts = (unsigned)MAX(json_int_at(s, "restartCount", 0), 0);
        if (json_at(s, "state.running")) {
            run->state = CONTAINER_RUNNING;
            run->started = time_at(s, "state.running.startedAt");
        } else if (json_at(s, "state.terminated")) {
            run->state = CONTAINER_TERMINATED;
            run->started = time_at(s, "state.terminated.startedAt");
            run->finished = time_at(s, "state.terminated.finishedAt");
            run->exit_code = (int)json_int_at(s, "state.terminated.exitCode", 0);
        }
        run->id = rand_u64(&k->rand);
        return;
    }
}

static void add_runs(struct kubelets *k, struct sim_pod *pod, const struct json_value *object,
                     const struct json_value *list, bool init)
{
    const struct json_value *annotations = json_at(object, "metadata.annotations");
    const struct json_value *statuses =
        json_at(object, init ? "status.initContainerStatuses" : "status.containerStatuses");
    for (size_t i = 0; list && list->kind == JSON_ARRAY && i < list->n; i++) {
        struct container_run *run = &pod->runs[pod->n_runs++];
        struct str name = json_get_text(&list->items[i], STR("name"));
        *run = (struct container_run){.role = CONTAINER_MAIN, .life = pod->life};
        if (init)
            run->role = str_is(json_get_text(&list->items[i], STR("restartPolicy")), "Always")
                            ? CONTAINER_SIDECAR
                            : CONTAINER_INIT;
        run->name = (struct str){str_dup(name), name.n}; /* freed with the pod */
        kubelet_life_read(&run->life, annotations,
                          arena_printf(&k->scratch, ".%.*s", STR_ARG(name)), &k->scratch);
        resume(k, run, statuses);
    }
}

void kubelet_pod_admit(struct kubelets *k, struct sim_pod *pod, const struct json_value *object)
{
    const struct json_value *init = json_at(object, "spec.initContainers");
    const struct json_value *main = json_at(object, "spec.containers");
    size_t n = (init && init->kind == JSON_ARRAY ? init->n : 0) +
               (main && main->kind == JSON_ARRAY ? main->n : 0);
    pod->life = pod->node->life;
    if (!pod->life.run_time_set && controlled_by_job(object))
        pod->life.run_time = JOB_RUN_TIME;
    kubelet_life_read(&pod->life, json_at(object, "metadata.annotations"), STR(""), &k->scratch);
    pod->runs = xcalloc(n + 1, sizeof(*pod->runs));
    struct str phase = json_text_at(object, "status.phase");
    pod->phase = str_is(phase, "Running") ? POD_PHASE_RUNNING : POD_PHASE_PENDING;
    pod->start = time_at(object, "status.startTime");
    if (pod->start == 0)
        pod->start = k->now;
    add_runs(k, pod, object, init, true);
    add_runs(k, pod, object, main, false);
    pod->admitted = true;
}

/* --- containers ------------------------------------------------------------------------------- */

static void start(struct kubelets *k, struct container_run *run)
{
    if (run->finished) {
        run->last_started = run->started;
        run->last_finished = run->finished;
        run->last_exit_code = run->exit_code;
        run->last_id = run->id;
        run->restarts++;
    }
    run->state = CONTAINER_RUNNING;
    run->started = k->now;
    run->finished = run->restart_at = 0;
    run->exit_code = 0;
    run->ready = false;
    run->id = rand_u64(&k->rand);
}

static void end(struct kubelets *k, struct container_run *run, int exit_code)
{
    run->state = CONTAINER_TERMINATED;
    run->finished = k->now;
    run->exit_code = exit_code;
    run->ready = false;
}

/* The first restart comes at once, then 10 s, 20 s … 5 min. */
static void plan_restart(struct kubelets *k, struct container_run *run)
{
    int64_t backoff = 0;
    if (run->restarts > 0 && run->finished - run->started < BACKOFF_RESET)
        backoff = MIN(BACKOFF_FIRST << MIN(run->restarts - 1, 5U), BACKOFF_MAX);
    run->restart_at = k->now + backoff;
}

/* Lets a container that has no more to wait for run. Returns when it changes next. */
static int64_t step(struct kubelets *k, struct container_run *run, struct str policy)
{
    bool init = run->role == CONTAINER_INIT;
    int64_t run_time = init                             ? run->life.init_run_time
                       : run->role == CONTAINER_SIDECAR ? LIFE_FOREVER
                                                        : run->life.run_time;
    int exit_code = init ? run->life.init_exit_code : run->life.exit_code;
    if (run->state == CONTAINER_WAITING)
        start(k, run);
    if (run->state == CONTAINER_TERMINATED && run->restart_at && run->restart_at <= k->now)
        start(k, run);
    if (run->state == CONTAINER_RUNNING && run_time != LIFE_FOREVER &&
        k->now - run->started >= run_time) {
        end(k, run, exit_code);
        bool again = init ? exit_code != 0 && !str_is(policy, "Never")
                          : str_is(policy, "Always") || (str_is(policy, "OnFailure") && exit_code);
        if (again)
            plan_restart(k, run);
    }
    if (run->state == CONTAINER_TERMINATED)
        return run->restart_at ? MAX(run->restart_at, k->now + NSEC_PER_MSEC) : INT64_MAX;
    run->ready = k->now - run->started >= run->life.ready_delay;
    int64_t next = run_time == LIFE_FOREVER ? INT64_MAX : run->started + run_time;
    return run->ready ? next : MIN(next, run->started + run->life.ready_delay);
}

/* --- the pod ---------------------------------------------------------------------------------- */

static void end_all(struct kubelets *k, struct sim_pod *pod, int exit_code)
{
    for (size_t i = 0; i < pod->n_runs; i++) {
        struct container_run *run = &pod->runs[i];
        run->restart_at = 0;
        run->ready = false;
        if (run->state == CONTAINER_RUNNING)
            end(k, run, run->role == CONTAINER_SIDECAR ? 0 : exit_code);
    }
    pod->ended = true;
}

/* Init containers and sidecars, in order. True if all have done their part. */
static bool initialize(struct kubelets *k, struct sim_pod *pod, struct str policy, int64_t *next)
{
    for (size_t i = 0; i < pod->n_runs && pod->runs[i].role != CONTAINER_MAIN; i++) {
        struct container_run *run = &pod->runs[i];
        if (run->role == CONTAINER_INIT && run->state == CONTAINER_TERMINATED &&
            run->exit_code == 0)
            continue;
        *next = MIN(*next, step(k, run, policy));
        if (run->role == CONTAINER_SIDECAR)
            continue;
        if (run->state != CONTAINER_TERMINATED)
            return false;
        if (run->exit_code == 0)
            continue;
        if (str_is(policy, "Never")) {
            end_all(k, pod, 0);
            pod->phase = POD_PHASE_FAILED;
        }
        return false;
    }
    return true;
}

static void run_main(struct kubelets *k, struct sim_pod *pod, struct str policy, int64_t *next)
{
    bool all_ended = true, failed = false, any = false;
    for (size_t i = 0; i < pod->n_runs; i++) {
        struct container_run *run = &pod->runs[i];
        if (run->role != CONTAINER_MAIN)
            continue;
        if (run->state != CONTAINER_TERMINATED || run->restart_at)
            *next = MIN(*next, step(k, run, policy));
        any = true;
        all_ended = all_ended && run->state == CONTAINER_TERMINATED && !run->restart_at;
        failed = failed || run->exit_code != 0;
    }
    pod->phase = POD_PHASE_RUNNING;
    if (any && all_ended) {
        end_all(k, pod, 0);
        pod->phase = failed ? POD_PHASE_FAILED : POD_PHASE_SUCCEEDED;
    }
}

/* The pod was deleted: its containers end after the delay or the grace period. */
static int64_t stop(struct kubelets *k, struct sim_pod *pod, const struct json_value *object)
{
    int64_t grace = json_int_at(object, "metadata.deletionGracePeriodSeconds", 0);
    grace = MIN(MAX(grace, 0), INT64_C(1000000000)) * NSEC_PER_SEC;
    if (!pod->stopping)
        pod->stop_at = k->now + MIN(grace, pod->life.stop_delay);
    else
        pod->stop_at = MIN(pod->stop_at, k->now + grace);
    pod->stopping = true;
    if (k->now < pod->stop_at)
        return pod->stop_at;
    bool late = pod->life.stop_delay > grace;
    end_all(k, pod, late ? 137 : 0);
    bool failed = pod->phase == POD_PHASE_PENDING;
    for (size_t i = 0; i < pod->n_runs; i++)
        failed = failed || (pod->runs[i].role == CONTAINER_MAIN && pod->runs[i].exit_code != 0);
    pod->phase = failed ? POD_PHASE_FAILED : POD_PHASE_SUCCEEDED;
    return INT64_MAX;
}

int64_t kubelet_pod_advance(struct kubelets *k, struct sim_pod *pod,
                            const struct json_value *object)
{
    if (pod->ended)
        return INT64_MAX;
    int64_t next = INT64_MAX;
    if (!str_empty(json_text_at(object, "metadata.deletionTimestamp"))) {
        next = stop(k, pod, object);
        if (pod->ended)
            return next;
    }
    int64_t deadline = json_int_at(object, "spec.activeDeadlineSeconds", 0);
    if (deadline > 0 && deadline < INT64_MAX / NSEC_PER_SEC / 4) {
        int64_t at = pod->start + deadline * NSEC_PER_SEC;
        if (at <= k->now) {
            end_all(k, pod, 137);
            pod->phase = POD_PHASE_FAILED;
            pod->deadline_exceeded = true;
            return INT64_MAX;
        }
        next = MIN(next, at);
    }
    int64_t first = pod->start + pod->life.start_delay;
    if (k->now < first)
        return MIN(next, first);
    struct str policy = json_text_at(object, "spec.restartPolicy");
    if (str_empty(policy))
        policy = STR("Always");
    if (initialize(k, pod, policy, &next))
        run_main(k, pod, policy, &next);
    return pod->ended ? INT64_MAX : next;
}
