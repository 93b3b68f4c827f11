/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: pods until enough have succeeded (pkg/controller/job, pkg/controller/ttlafterfinished). */
#include "apiserver/workloads/job_internal.h"

#define BACKOFF_FIRST (10 * NSEC_PER_SEC)
#define BACKOFF_MAX   (600 * NSEC_PER_SEC)
#define MAX_NAME      58 /* of generateName; upstream: maxGeneratedNameLength */

void job_free(struct workload *o)
{
    free(o->state);
}

/* --- pods ------------------------------------------------------------------------------------- */

static int64_t backoff(unsigned n_failures)
{
    return n_failures ? MIN(BACKOFF_FIRST << MIN(n_failures - 1, 10U), BACKOFF_MAX) : 0;
}

/* JOB_COMPLETION_INDEX from the pod's label. */
static void add_index_env(struct job *j, struct json_value *spec, const char *list)
{
    struct json_value *containers = json_member(spec, str_of(list));
    for (size_t i = 0; containers && containers->kind == JSON_ARRAY && i < containers->n; i++) {
        struct json_value *c = &containers->items[i];
        struct json_items env = json_items_at(c, "env");
        bool has = false;
        for (size_t e = 0; e < env.n && !has; e++)
            has = str_is(json_get_text(&env.v[e], STR("name")), "JOB_COMPLETION_INDEX");
        if (!has)
            json_append(json_set_array(c, STR("env"), &j->w->scratch),
                        json_literal("{\"name\":\"JOB_COMPLETION_INDEX\",\"valueFrom\":{"
                                     "\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":"
                                     "\"metadata.labels['" JOB_INDEX "']\"}}}",
                                     &j->w->scratch),
                        &j->w->scratch);
    }
}

static struct json_value base_pod(struct job *j)
{
    struct arena *a = &j->w->scratch;
    struct json_value pod = workload_pod(j->w, j->o, json_get(j->spec, STR("template")));
    struct json_value *meta = json_member(&pod, STR("metadata"));
    json_append(json_set_array(meta, STR("finalizers"), a), json_text(STR(JOB_TRACKING)), a);
    if (j->indexed) {
        add_index_env(j, json_member(&pod, STR("spec")), "containers");
        add_index_env(j, json_member(&pod, STR("spec")), "initContainers");
    }
    return pod;
}

/* How often the index failed is written to its next pod. */
static void add_failures(struct job *j, struct json_value *annotations, int64_t index)
{
    struct arena *a = &j->w->scratch;
    const struct pod_item *last = job_kept_failure(j, index);
    int64_t failures = last ? last->failures : 0, ignored = last ? last->ignored_failures : 0;
    struct str message;
    if (last && job_failure_action(j, last, &message) == FAILURE_IGNORE)
        ignored++;
    else if (last)
        failures++;
    json_set(annotations, STR(JOB_INDEX_FAILURES),
             json_text(arena_printf(a, "%lld", (long long)failures)), a);
    if (ignored)
        json_set(annotations, STR(JOB_INDEX_IGNORED),
                 json_text(arena_printf(a, "%lld", (long long)ignored)), a);
}

static void create_indexed(struct job *j, const struct json_value *base, int64_t index)
{
    struct arena *a = &j->w->scratch;
    struct json_value pod = json_copy(base, a);
    struct json_value *meta = json_member(&pod, STR("metadata"));
    struct str text = arena_printf(a, "%lld", (long long)index);
    struct str name = j->o->member.rev->name;
    struct json_value *annotations = json_set_object(meta, STR("annotations"), a);
    json_set(annotations, STR(JOB_INDEX), json_text(text), a);
    if (j->limit_per_index >= 0)
        add_failures(j, annotations, index);
    json_set(json_set_object(meta, STR("labels"), a), STR(JOB_INDEX), json_text(text), a);
    json_set_at(&pod, "spec.hostname",
                json_text(arena_printf(a, "%.*s-%.*s", STR_ARG(name), STR_ARG(text))), a);
    struct str prefix = str_slice(name, 0, MAX_NAME - text.n - 2);
    json_set(meta, STR("generateName"),
             json_text(arena_printf(a, "%.*s-%.*s-", STR_ARG(prefix), STR_ARG(text))), a);
    struct writer_request where = {.plural = STR("pods")};
    workload_create(j->w, j->o, WORK_ADDS, TAG_POD_CREATE, &where, &pod);
}

/* Creates pods of the first indexes without one, as far as their delays are over. */
static void create_indexes(struct job *j, size_t n)
{
    struct arena *a = &j->w->scratch;
    size_t n_taken = 0, most = n_pods(j->o) + (size_t)indexes_total(j->failed_indexes);
    int64_t *taken = arena_array(a, int64_t, most), *missing = arena_array(a, int64_t, n);
    for (size_t i = 0; i < n_pods(j->o); i++) {
        const struct pod_item *pod = pod_at(j->o, i);
        if ((pod_is_active(pod) || (j->only_failed && pod_is_terminating(pod))) && pod->index >= 0)
            taken[n_taken++] = pod->index;
    }
    for (size_t i = 0; i < j->failed_indexes.n; i++)
        for (int64_t k = j->failed_indexes.v[i].first; k <= j->failed_indexes.v[i].last; k++)
            taken[n_taken++] = k;
    struct indexes busy = indexes_add(j->w, j->done, taken, n_taken);
    n = indexes_missing(busy, j->completions, missing, n);
    struct json_value base = base_pod(j);
    j->o->batch = MAX(j->o->batch, 1U);
    size_t left = j->o->batch;
    for (size_t i = 0; i < n && left; i++) {
        const struct pod_item *last =
            j->limit_per_index >= 0 ? job_kept_failure(j, missing[i]) : NULL;
        if (last) {
            int64_t at = job_pod_finish_time(j, last) +
                         backoff((unsigned)(last->failures + last->ignored_failures + 1));
            if (at > workloads_now(j->w)) {
                work_add_at(&j->w->queue, &j->o->work, at);
                continue;
            }
        }
        create_indexed(j, &base, missing[i]);
        left--;
    }
    j->o->batch = MIN(j->o->batch * 2, (unsigned)BURST_REPLICAS);
}

static void create_missing(struct job *j, int64_t n)
{
    const struct job_state *s = j->o->state;
    int64_t at = s->last_failure + backoff(s->n_failures);
    if (j->limit_per_index < 0 && s->n_failures && at > workloads_now(j->w)) {
        work_add_at(&j->w->queue, &j->o->work, at);
        return;
    }
    n = MIN(n, BURST_REPLICAS);
    if (j->indexed) {
        create_indexes(j, (size_t)n);
        return;
    }
    struct json_value pod = base_pod(j);
    workload_create_pods(j->w, j->o, &pod, (size_t)n);
}

static int by_index(const void *x, const void *y)
{
    const struct pod_item *a = *(struct pod_item *const *)x, *b = *(struct pod_item *const *)y;
    return a->index == b->index ? 0 : a->index < b->index ? -1 : 1;
}

/* Puts pods with an index that another one has, or that the Job does not have, first. */
static size_t duplicates_first(struct job *j)
{
    struct pod_item **kept = arena_array(&j->w->scratch, struct pod_item *, j->n_active);
    size_t n_kept = 0, n = 0;
    if (!j->indexed || !j->n_active)
        return 0;
    qsort(j->active, j->n_active, sizeof(struct pod_item *), by_index);
    for (size_t i = 0; i < j->n_active;) {
        size_t end = i + 1;
        while (end < j->n_active && j->active[end]->index == j->active[i]->index)
            end++;
        bool valid = job_pod_valid(j, j->active[i]);
        workload_sort_active(j->w, j->active + i, end - i, NULL);
        size_t remove = valid ? end - i - 1 : end - i;
        if (valid)
            kept[n_kept++] = j->active[end - 1];
        memmove(j->active + n, j->active + i, remove * sizeof(struct pod_item *));
        n += remove;
        i = end;
    }
    memcpy(j->active + n, kept, n_kept * sizeof(struct pod_item *));
    return n;
}

/* Pods that are deleted because they are too many do not count as failed: they lose the finalizer.
 */
static void untrack(struct job *j, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (j->active[i]->tracked)
            job_release_pod(j, j->active[i]);
        j->active[i]->leaving = true;
    }
}

static void remove_pods(struct job *j, size_t n)
{
    workload_delete_pods(j->w, j->o, j->active, n);
    for (size_t i = 0; i < n; i++)
        j->n_ready -= j->active[i]->ready;
    j->n_active -= n;
    j->n_terminating += n;
}

static void manage_pods(struct job *j)
{
    int64_t parallelism = json_int_at(j->spec, "parallelism", 1), active = (int64_t)j->n_active;
    int64_t want = parallelism;
    if (j->suspended)
        want = 0;
    else if (j->completions >= 0)
        want = MAX(MIN(j->completions - j->succeeded, parallelism), 0);
    else if (j->succeeded > 0)
        want = active;
    size_t extra = duplicates_first(j), more = (size_t)MAX(active - want, 0);
    if (more > extra)
        workload_sort_active(j->w, j->active + extra, j->n_active - extra, NULL);
    extra = MIN(MAX(extra, more), (size_t)BURST_REPLICAS);
    if (extra) {
        untrack(j, extra);
        remove_pods(j, extra);
        return;
    }
    int64_t missing = want - active - (j->only_failed ? (int64_t)j->n_terminating : 0);
    if (missing > 0 && !j->suspended)
        create_missing(j, missing);
    else
        j->o->batch = 1;
}

/* --- one look --------------------------------------------------------------------------------- */

static void sync_suspension(struct job *j)
{
    const struct json_value *c = workload_condition(j->object, "Suspended");
    bool was = c && str_is(json_get_text(c, STR("status")), "True");
    if (was == j->suspended)
        return;
    workload_set_condition(
        j->w, &j->status,
        &(struct new_condition){"Suspended", j->suspended ? "True" : "False",
                                j->suspended ? "JobSuspended" : "JobResumed",
                                j->suspended ? STR("Job suspended") : STR("Job resumed")},
        CONDITION_PROBED);
    if (j->suspended)
        json_remove(&j->status, STR("startTime"));
    else
        workload_put_text(j->w, &j->status, "startTime", workload_now_text(j->w));
    workload_event(j->w, j->o, false, j->suspended ? "Suspended" : "Resumed", "%s",
                   j->suspended ? "Job suspended" : "Job resumed");
}

int64_t job_finish_time(const struct json_value *job, bool *ret_success)
{
    static const char *const types[] = {"Complete", "Failed"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        const struct json_value *c = workload_condition(job, types[i]);
        if (!c || !str_is(json_get_text(c, STR("status")), "True"))
            continue;
        *ret_success = i == 0;
        return MAX(workload_read_time(c, "lastTransitionTime"), 1);
    }
    return 0;
}

static void sync_finished(struct workloads *w, struct workload *o, const struct json_value *object,
                          int64_t finished)
{
    int64_t ttl = json_int_at(object, "spec.ttlSecondsAfterFinished", -1);
    if (ttl < 0 || o->member.deleting)
        return;
    int64_t at = finished + ttl * NSEC_PER_SEC;
    if (at > workloads_now(w))
        work_add_at(&w->queue, &o->work, at);
    else
        workload_delete_foreground(w, o, &o->member, TAG_OTHER);
}

static void read_spec(struct job *j)
{
    j->spec = json_get(j->object, STR("spec"));
    j->completions = json_int_at(j->spec, "completions", -1);
    j->indexed = str_is(json_get_text(j->spec, STR("completionMode")), "Indexed");
    if (j->indexed)
        j->completions = MAX(j->completions, 0);
    j->limit_per_index = j->indexed ? json_int_at(j->spec, "backoffLimitPerIndex", -1) : -1;
    const struct json_value *target = workload_condition(j->object, "FailureTarget");
    j->failing = target && str_is(json_get_text(target, STR("status")), "True");
    j->suspended = json_bool_at(j->spec, "suspend", false);
    j->only_failed = str_is(json_get_text(j->spec, STR("podReplacementPolicy")), "Failed") ||
                     json_get(j->spec, STR("podFailurePolicy"));
    if (!j->o->state)
        j->o->state = xnew(struct job_state);
}

void job_sync(struct workloads *w, struct workload *o, struct json_value *object)
{
    struct job j = {.w = w, .o = o, .object = object};
    bool success;
    struct str by = json_text_at(object, "spec.managedBy");
    if (!str_empty(by) && !str_is(by, "kubernetes.io/job-controller"))
        return;
    int64_t finished = job_finish_time(object, &success);
    if (finished) {
        sync_finished(w, o, object, finished);
        return;
    }
    if (workload_claim(w, o))
        return;
    read_spec(&j);
    job_count(&j);
    work_cost(&w->queue, &o->work, n_pods(o));
    if (!j.suspended && !json_get(&j.status, STR("startTime")))
        workload_put_text(w, &j.status, "startTime", workload_now_text(w));
    job_decide(&j);
    if (j.finish.type)
        remove_pods(&j, MIN(j.n_active, (size_t)BURST_REPLICAS));
    else if (!o->member.deleting)
        manage_pods(&j);
    if (!j.finish.type)
        sync_suspension(&j);
    job_release_pods(&j);
    job_write_status(&j);
}
