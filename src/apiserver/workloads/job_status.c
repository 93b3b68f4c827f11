/* SPDX-License-Identifier: Apache-2.0 */
/* What a Job's pods count for: counters, indexes, conditions, finalizers. */
#include "apiserver/workloads/job_internal.h"

#define MAX_UNCOUNTED 500 /* upstream: MaxUncountedPods */

static bool pod_failed(const struct job *j, const struct pod_item *pod)
{
    if (pod->phase == POD_FAILED)
        return true;
    /* One that is being deleted never reaches Failed if its node is gone. */
    return (!j->only_failed || j->failing) && pod->member.deleting && pod->phase != POD_SUCCEEDED;
}

bool job_pod_valid(const struct job *j, const struct pod_item *pod)
{
    return !j->indexed || (pod->index >= 0 && pod->index < j->completions);
}

int64_t job_pod_finish_time(struct job *j, const struct pod_item *pod)
{
    const struct json_value *tree = workload_tree(j->w, &pod->member);
    struct json_items list = json_items_at(tree, "status.containerStatuses");
    int64_t last = 0;
    for (size_t i = 0; i < list.n; i++)
        last = MAX(last, workload_read_time(&list.v[i], "state.terminated.finishedAt"));
    if (!last)
        last = workload_read_time(tree, "metadata.deletionTimestamp");
    return last ? last : workloads_now(j->w);
}

/* --- uids that are not counted ---------------------------------------------------------------- */

static struct json_items uncounted_list(const struct json_value *status, bool failed)
{
    return json_items_at(status, failed ? "uncountedTerminatedPods.failed"
                                        : "uncountedTerminatedPods.succeeded");
}

/* uid → 1 for those in the stored status. */
static void read_uncounted(const struct job *j, bool failed, struct map *ret_uids)
{
    struct json_items list = uncounted_list(json_get(j->object, STR("status")), failed);
    for (size_t i = 0; i < list.n; i++)
        if (list.v[i].kind == JSON_STRING)
            map_put(ret_uids, list.v[i].text, (void *)1);
}

/* Those whose pod has no finalizer any more become a number. */
static int64_t settle(struct job *j, bool failed, const struct map *tracked,
                      struct json_value *uncounted)
{
    struct json_items list = uncounted_list(json_get(j->object, STR("status")), failed);
    struct json_value left = json_array();
    struct arena *a = &j->w->scratch;
    left.items = arena_array(a, struct json_value, list.n);
    for (size_t i = 0; i < list.n; i++)
        if (list.v[i].kind == JSON_STRING && map_get(tracked, list.v[i].text))
            left.items[left.n++] = list.v[i];
    if (left.n)
        json_set(uncounted, failed ? STR("failed") : STR("succeeded"), left, a);
    return (int64_t)(list.n - left.n);
}

/* --- counting --------------------------------------------------------------------------------- */

/* What the loop over the pods collects. */
struct tally {
    struct map succeeded, failed, tracked; /* uids */
    struct pod_item **new_succeeded, **new_failed;
    size_t n_succeeded, n_failed;
    int64_t *indexes, *failed_indexes;
    size_t n_indexes, n_failed_indexes;
    struct str fail_message;
};

static void tally_failed(struct job *j, struct pod_item *pod, struct tally *t)
{
    struct str message = STR("");
    enum failure_action action = job_failure_action(j, pod, &message);
    if (action == FAILURE_FAIL_JOB && str_empty(t->fail_message))
        t->fail_message = message;
    if (j->limit_per_index >= 0 &&
        (action == FAILURE_FAIL_INDEX ||
         (action == FAILURE_COUNT && pod->failures >= j->limit_per_index)))
        t->failed_indexes[t->n_failed_indexes++] = pod->index;
    if (action != FAILURE_IGNORE && !map_get(&t->failed, pod->member.uid))
        t->new_failed[t->n_failed++] = pod;
}

static void tally_pod(struct job *j, struct pod_item *pod, struct tally *t)
{
    if (pod_is_active(pod)) {
        j->active[j->n_active++] = pod;
        j->n_ready += pod->ready;
    }
    j->n_terminating += pod_is_terminating(pod);
    if (!pod->tracked)
        return;
    map_put(&t->tracked, pod->member.uid, pod);
    if (!job_pod_valid(j, pod) || (pod->leaving && pod->phase != POD_SUCCEEDED))
        return;
    if (pod->phase == POD_SUCCEEDED) {
        if (j->indexed && !map_get(&t->failed, pod->member.uid))
            t->indexes[t->n_indexes++] = pod->index;
        else if (!j->indexed && !map_get(&t->succeeded, pod->member.uid))
            t->new_succeeded[t->n_succeeded++] = pod;
    } else if (pod_failed(j, pod)) {
        tally_failed(j, pod, t);
    }
}

static int by_finish(const struct job *j, const struct pod_item *a, const struct pod_item *b)
{
    int64_t x = job_pod_finish_time((struct job *)(uintptr_t)j, a);
    int64_t y = job_pod_finish_time((struct job *)(uintptr_t)j, b);
    return x == y ? 0 : x < y ? -1 : 1;
}

/* Failures that are new delay the next pods; a success ends the series. */
static void note_failures(struct job *j, const struct tally *t)
{
    struct job_state *s = j->o->state;
    for (size_t i = 0; i < t->n_succeeded + t->n_indexes; i++)
        s->n_failures = 0;
    const struct pod_item *last = NULL;
    for (size_t i = 0; i < t->n_failed; i++) {
        struct pod_item *pod = t->new_failed[i];
        if (pod->backed_off)
            continue;
        pod->backed_off = true;
        s->n_failures++;
        if (!last || by_finish(j, last, pod) < 0)
            last = pod;
    }
    if (last)
        s->last_failure = MAX(s->last_failure, job_pod_finish_time(j, last));
}

static void append_uids(struct job *j, struct json_value *uncounted, bool failed,
                        struct pod_item **pods, size_t n)
{
    struct arena *a = &j->w->scratch;
    if (!n)
        return;
    struct json_value *list =
        json_set_array(uncounted, failed ? STR("failed") : STR("succeeded"), a);
    struct json_value *items = arena_array(a, struct json_value, list->n + n);
    if (list->n)
        memcpy(items, list->items, list->n * sizeof(*items));
    for (size_t i = 0; i < n; i++)
        items[list->n + i] = json_text(pods[i]->member.uid);
    list->items = items;
    list->n += n;
}

static void fill_status(struct job *j, struct tally *t)
{
    const struct json_value *old = json_get(j->object, STR("status"));
    struct workloads *w = j->w;
    struct json_value uncounted = json_object();
    int64_t succeeded =
        json_int_at(old, "succeeded", 0) + settle(j, false, &t->tracked, &uncounted);
    int64_t failed = json_int_at(old, "failed", 0) + settle(j, true, &t->tracked, &uncounted);
    int64_t waiting = (int64_t)(uncounted_list(old, false).n + uncounted_list(old, true).n);
    size_t room = (size_t)MAX(MAX_UNCOUNTED - waiting, 0);
    j->failed = failed + (int64_t)json_items_at(&uncounted, "failed").n + (int64_t)t->n_failed;
    j->succeeded =
        succeeded + (int64_t)json_items_at(&uncounted, "succeeded").n + (int64_t)t->n_succeeded;
    append_uids(j, &uncounted, false, t->new_succeeded, MIN(room, t->n_succeeded));
    room -= MIN(room, t->n_succeeded);
    append_uids(j, &uncounted, true, t->new_failed, MIN(room, t->n_failed));
    j->uncounted = uncounted.n_members > 0 || t->n_failed > room;
    j->status = old ? json_copy(old, &w->scratch) : json_object();
    json_remove(&j->status, STR("succeeded"));
    json_remove(&j->status, STR("failed"));
    json_set(&j->status, STR("uncountedTerminatedPods"), uncounted, &w->scratch);
    if (j->indexed) {
        j->done = indexes_add(w, j->done, t->indexes, t->n_indexes);
        j->succeeded = succeeded = indexes_total(j->done);
        json_remove(&j->status, STR("completedIndexes"));
        if (j->done.n)
            workload_put_text(w, &j->status, "completedIndexes", indexes_text(w, j->done));
        if (j->limit_per_index >= 0) {
            j->failed_indexes =
                indexes_add(w, j->failed_indexes, t->failed_indexes, t->n_failed_indexes);
            workload_put_text(w, &j->status, "failedIndexes", indexes_text(w, j->failed_indexes));
        }
    }
    workload_put_count(w, &j->status, "succeeded", succeeded);
    workload_put_count(w, &j->status, "failed", failed);
}

void job_count(struct job *j)
{
    struct arena *a = &j->w->scratch;
    size_t n = n_pods(j->o);
    struct tally t = {.new_succeeded = arena_array(a, struct pod_item *, n),
                      .new_failed = arena_array(a, struct pod_item *, n),
                      .indexes = arena_array(a, int64_t, n),
                      .failed_indexes = arena_array(a, int64_t, n)};
    j->active = arena_array(a, struct pod_item *, n);
    if (j->indexed) {
        j->done =
            indexes_parse(j->w, json_text_at(j->object, "status.completedIndexes"), j->completions);
        j->failed_indexes =
            indexes_parse(j->w, json_text_at(j->object, "status.failedIndexes"), j->completions);
    }
    read_uncounted(j, false, &t.succeeded);
    read_uncounted(j, true, &t.failed);
    for (size_t i = 0; i < n; i++)
        tally_pod(j, pod_at(j->o, i), &t);
    note_failures(j, &t);
    fill_status(j, &t);
    if (!str_empty(t.fail_message))
        j->finish =
            (struct new_condition){"FailureTarget", "True", "PodFailurePolicy", t.fail_message};
    map_release(&t.succeeded);
    map_release(&t.failed);
    map_release(&t.tracked);
}

/* --- how it ends ------------------------------------------------------------------------------ */

static int64_t restarts(const struct job *j)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n_pods(j->o); i++) {
        const struct pod_item *pod = pod_at(j->o, i);
        if (pod->phase == POD_RUNNING || pod->phase == POD_PENDING)
            sum += pod->all_restarts;
    }
    return sum;
}

static bool is_past_limit(const struct job *j)
{
    int64_t limit = json_int_at(j->spec, "backoffLimit", j->limit_per_index >= 0 ? INT32_MAX : 6);
    if (j->failed > limit)
        return true;
    if (!str_is(json_text_at(j->spec, "template.spec.restartPolicy"), "OnFailure"))
        return false;
    return limit ? restarts(j) >= limit : restarts(j) > 0;
}

static bool is_past_deadline(const struct job *j)
{
    int64_t seconds = json_int_at(j->spec, "activeDeadlineSeconds", -1);
    int64_t start = workload_read_time(&j->status, "startTime");
    if (seconds < 0 || !start || j->suspended)
        return false;
    int64_t end = start + seconds * NSEC_PER_SEC;
    if (end <= workloads_now(j->w))
        return true;
    work_add_at(&j->w->queue, &j->o->work, end);
    return false;
}

static void fail(struct job *j, const char *reason, const char *message)
{
    j->finish = (struct new_condition){"FailureTarget", "True", reason, str_of(message)};
}

static void decide_indexed(struct job *j)
{
    int64_t failed = indexes_total(j->failed_indexes), done = indexes_total(j->done);
    int64_t most = json_int_at(j->spec, "maxFailedIndexes", -1);
    if (most >= 0 && failed > most)
        fail(j, "MaxFailedIndexesExceeded",
             "Job has exceeded the specified maximal number of failed indexes");
    else if (failed > 0 && failed + done >= j->completions)
        fail(j, "FailedIndexes", "Job has failed indexes");
    if (j->finish.type)
        return;
    int rule = job_success_rule(j);
    if (rule >= 0)
        j->finish =
            (struct new_condition){"SuccessCriteriaMet", "True", "SuccessPolicy",
                                   arena_printf(&j->w->scratch, "Matched rules at index %d", rule)};
}

/* The condition that the stored status has; false if it has none. */
static bool read_decision(struct job *j)
{
    static const char *const types[] = {"SuccessCriteriaMet", "FailureTarget"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        const struct json_value *c = workload_condition(j->object, types[i]);
        if (!c || !str_is(json_get_text(c, STR("status")), "True"))
            continue;
        j->finish = (struct new_condition){
            types[i], "True", arena_dup(&j->w->scratch, json_get_text(c, STR("reason"))).p,
            json_get_text(c, STR("message"))};
        if (!j->finish.reason)
            j->finish.reason = "";
        return true;
    }
    return false;
}

void job_decide(struct job *j)
{
    if (read_decision(j) || j->finish.type)
        return;
    if (is_past_limit(j))
        fail(j, "BackoffLimitExceeded", "Job has reached the specified backoff limit");
    else if (is_past_deadline(j))
        fail(j, "DeadlineExceeded", "Job was active longer than specified deadline");
    else if (j->indexed)
        decide_indexed(j);
    bool enough = j->completions < 0 ? j->succeeded > 0 : j->succeeded >= j->completions;
    if (!j->finish.type && enough && !j->n_active)
        j->finish = (struct new_condition){"SuccessCriteriaMet", "True", "CompletionsReached",
                                           STR("Reached expected number of succeeded pods")};
}

/* --- finalizers ------------------------------------------------------------------------------- */

/* By index, then active pods first, then the most failures. */
static int by_claim(const void *x, const void *y)
{
    const struct pod_item *a = *(struct pod_item *const *)x, *b = *(struct pod_item *const *)y;
    int64_t fa = a->failures + a->ignored_failures, fb = b->failures + b->ignored_failures;
    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    if (pod_is_active(a) != pod_is_active(b))
        return pod_is_active(a) ? -1 : 1;
    if (fa != fb)
        return fa > fb ? -1 : 1;
    return str_cmp(a->member.uid, b->member.uid);
}

/* The first of each index, if it is a failed pod of an index that is not done. */
static void find_kept(struct job *j)
{
    size_t n = 0;
    j->kept = arena_array(&j->w->scratch, struct pod_item *, n_pods(j->o) + 1);
    for (size_t i = 0; i < n_pods(j->o); i++) {
        struct pod_item *pod = pod_at(j->o, i);
        if (job_pod_valid(j, pod) && (pod_is_active(pod) || (pod->tracked && pod_failed(j, pod))))
            j->kept[n++] = pod;
    }
    qsort(j->kept, n, sizeof(struct pod_item *), by_claim);
    for (size_t i = 0; i < n; i++) {
        struct pod_item *pod = j->kept[i];
        bool first = i == 0 || j->kept[i - 1]->index != pod->index;
        if (first && !pod_is_active(pod) && !indexes_has(j->done, pod->index) &&
            !indexes_has(j->failed_indexes, pod->index))
            pod->kept = true;
        else
            pod->kept = false;
    }
    for (size_t i = 0; i < n; i++)
        if (j->kept[i]->kept)
            j->kept[j->n_kept++] = j->kept[i];
}

struct pod_item *job_kept_failure(struct job *j, int64_t index)
{
    if (!j->kept)
        find_kept(j);
    size_t low = 0, high = j->n_kept;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (j->kept[mid]->index < index)
            low = mid + 1;
        else
            high = mid;
    }
    return low < j->n_kept && j->kept[low]->index == index ? j->kept[low] : NULL;
}

static bool may_release(struct job *j, struct pod_item *pod, const struct map *succeeded,
                        const struct map *failed, struct indexes stored)
{
    struct str uid = pod->member.uid, message;
    if (j->o->member.deleting || !job_pod_valid(j, pod))
        return j->o->member.deleting || j->finish.type || pod->phase == POD_SUCCEEDED ||
               pod_failed(j, pod);
    if (map_get(succeeded, uid))
        return true;
    if (pod->leaving && pod->member.deleting)
        return true;
    if (pod->phase == POD_SUCCEEDED)
        return j->indexed && indexes_has(stored, pod->index);
    if (!pod_failed(j, pod))
        return j->finish.type && pod->member.deleting;
    if (!map_get(failed, uid) && job_failure_action(j, pod, &message) != FAILURE_IGNORE)
        return false; /* its uid is written first */
    return j->finish.type || j->limit_per_index < 0 || job_kept_failure(j, pod->index) != pod;
}

void job_release_pod(struct job *j, const struct pod_item *pod)
{
    struct json_value patch = json_object();
    json_set_at(&patch, "metadata.finalizers",
                workload_untracked(j->w, workload_tree(j->w, &pod->member)), &j->w->scratch);
    workload_patch(j->w, j->o, &pod->member, TAG_OTHER, patch);
}

void job_release_pods(struct job *j)
{
    struct map succeeded = MAP_INIT, failed = MAP_INIT;
    struct indexes stored = {0};
    if (j->indexed)
        stored =
            indexes_parse(j->w, json_text_at(j->object, "status.completedIndexes"), j->completions);
    read_uncounted(j, false, &succeeded);
    read_uncounted(j, true, &failed);
    for (size_t i = 0; i < n_pods(j->o); i++) {
        struct pod_item *pod = pod_at(j->o, i);
        if (!pod->tracked || !may_release(j, pod, &succeeded, &failed, stored))
            continue;
        job_release_pod(j, pod);
    }
    map_release(&succeeded);
    map_release(&failed);
}

/* --- the status ------------------------------------------------------------------------------- */

static unsigned finish_status(struct job *j)
{
    bool success = str_is(str_of(j->finish.type), "SuccessCriteriaMet");
    struct new_condition last = j->finish;
    last.type = success ? "Complete" : "Failed";
    workload_set_condition(j->w, &j->status, &last, CONDITION_PROBED);
    if (!success)
        return workload_event_tag(j->o, arena_printf(&j->w->scratch, "!%s", last.reason).p, "%.*s",
                                  STR_ARG(last.message));
    workload_put_text(j->w, &j->status, "completionTime", workload_now_text(j->w));
    return workload_event_tag(j->o, "Completed", "Job completed");
}

void job_write_status(struct job *j)
{
    struct workloads *w = j->w;
    unsigned tag = TAG_STATUS;
    json_remove(&j->status, STR("active"));
    workload_put_count(w, &j->status, "active", (int64_t)j->n_active);
    workload_put_int(w, &j->status, "ready", (int64_t)j->n_ready);
    workload_put_int(w, &j->status, "terminating", (int64_t)j->n_terminating);
    if (j->finish.type) {
        workload_set_condition(w, &j->status, &j->finish, CONDITION_PROBED);
        bool tracked = false;
        for (size_t i = 0; i < n_pods(j->o) && !tracked; i++)
            tracked = pod_at(j->o, i)->tracked;
        if (!j->uncounted && !j->n_active && !j->n_terminating && !tracked)
            tag = finish_status(j);
    }
    workload_write_status(w, j->o, j->object, j->status, tag);
}
