/* SPDX-License-Identifier: Apache-2.0 */
/* CronJobs: a Job at every time of a schedule (pkg/controller/cronjob). */
#include "apiserver/workloads/cron.h"
#include "apiserver/workloads/workloads_internal.h"

#define SCHEDULED    "batch.kubernetes.io/cronjob-scheduled-timestamp"
#define MAX_MISSED   100
#define MAX_JOB_NAME 52 /* of the CronJob: eleven characters for the time follow */

/* A Job of the CronJob. */
struct cron_child {
    struct workload *o;
    const struct json_value *tree;
    int64_t finished; /* 0: it is active */
    bool success;
    int64_t started;
};

struct cron_look {
    struct workloads *w;
    struct workload *o;
    struct json_value *object;
    const struct json_value *spec;
    struct cron_child *jobs; /* by start time */
    size_t n;
    struct json_value status;
    int64_t last; /* lastScheduleTime; 0: never */
    size_t n_active;
};

/* --- its Jobs --------------------------------------------------------------------------------- */

static int by_start(const void *x, const void *y)
{
    const struct cron_child *a = x, *b = y;
    if (a->started != b->started)
        return a->started < b->started ? -1 : 1;
    return str_cmp(a->o->member.rev->name, b->o->member.rev->name);
}

static void read_jobs(struct cron_look *c)
{
    const struct members *list = &c->o->family->members[MEMBER_WORKLOAD];
    c->jobs = arena_array(&c->w->scratch, struct cron_child, list->list.n + 1);
    for (size_t i = 0; i < list->list.n; i++) {
        struct cron_child j = {.o = workload_of(list->list.v[i])};
        if (j.o->kind != WORKLOAD_JOB)
            continue;
        j.tree = workload_tree(c->w, &j.o->member);
        j.finished = job_finish_time(j.tree, &j.success);
        j.started = workload_read_time(j.tree, "status.startTime");
        if (!j.started)
            j.started = j.o->member.created;
        struct str at = json_get_text(json_at(j.tree, "metadata.annotations"), STR(SCHEDULED));
        struct timestamp t;
        if (timestamp_parse(at, &t))
            c->last = MAX(c->last, timestamp_ns(t));
        c->n_active += !j.finished;
        c->jobs[c->n++] = j;
    }
    if (c->n)
        qsort(c->jobs, c->n, sizeof(*c->jobs), by_start);
}

static void delete_job(struct cron_look *c, const struct cron_child *j)
{
    workload_delete(c->w, c->o, &j->o->member, WORK_NOTHING,
                    workload_event_tag(c->o, "SuccessfulDelete", "Deleted job %.*s",
                                       STR_ARG(j->o->member.rev->name)));
}

/* The oldest finished Jobs beyond the limits. */
static void clean_up(struct cron_look *c)
{
    static const char *const limits[] = {"failedJobsHistoryLimit", "successfulJobsHistoryLimit"};
    for (size_t kind = 0; kind < ARRAY_LEN(limits); kind++) {
        int64_t limit = json_int_at(c->spec, limits[kind], -1), n = 0;
        if (limit < 0)
            continue;
        for (size_t i = 0; i < c->n; i++)
            n += c->jobs[i].finished && c->jobs[i].success == kind;
        for (size_t i = 0; i < c->n && n > limit; i++) {
            const struct cron_child *j = &c->jobs[i];
            if (!j->finished || j->success != kind)
                continue;
            n--;
            if (!j->o->member.deleting)
                delete_job(c, j);
        }
    }
}

/* --- status ----------------------------------------------------------------------------------- */

static const struct cron_child *find_job(const struct cron_look *c, struct str uid)
{
    for (size_t i = 0; i < c->n; i++)
        if (str_eq(c->jobs[i].o->member.uid, uid))
            return &c->jobs[i];
    return NULL;
}

/* Events for Jobs that were active and are not. */
static void note_ended(struct cron_look *c)
{
    struct json_items was = json_items_at(c->object, "status.active");
    for (size_t i = 0; i < was.n; i++) {
        const struct cron_child *j = find_job(c, json_get_text(&was.v[i], STR("uid")));
        struct str name = json_get_text(&was.v[i], STR("name"));
        if (!j)
            workload_event(c->w, c->o, false, "MissingJob", "Active job went missing: %.*s",
                           STR_ARG(name));
        else if (j->finished)
            workload_event(c->w, c->o, false, "SawCompletedJob",
                           "Saw completed job: %.*s, condition: %s", STR_ARG(name),
                           j->success ? "Complete" : "Failed");
    }
}

static struct json_value reference(struct cron_look *c, const struct cron_child *j)
{
    struct workloads *w = c->w;
    struct json_value ref = json_object();
    workload_put_text(w, &ref, "kind", STR("Job"));
    workload_put_text(w, &ref, "namespace", j->o->member.rev->namespace);
    workload_put_text(w, &ref, "name", j->o->member.rev->name);
    workload_put_text(w, &ref, "uid", j->o->member.uid);
    workload_put_text(w, &ref, "apiVersion", STR("batch/v1"));
    return ref;
}

static void fill_status(struct cron_look *c)
{
    struct workloads *w = c->w;
    struct json_items was = json_items_at(c->object, "status.active");
    struct json_value active = json_array();
    int64_t success = workload_read_time(c->object, "status.lastSuccessfulTime");
    active.items = arena_array(&w->scratch, struct json_value, c->n_active);
    for (size_t i = 0; i < c->n; i++) {
        const struct cron_child *j = &c->jobs[i];
        if (j->finished) {
            if (j->success)
                success = MAX(success, workload_read_time(j->tree, "status.completionTime"));
            continue;
        }
        /* A reference that is there stays as it is: it has the version of the Job at that time. */
        const struct json_value *old = NULL;
        for (size_t k = 0; k < was.n && !old; k++)
            if (str_eq(json_get_text(&was.v[k], STR("uid")), j->o->member.uid))
                old = &was.v[k];
        active.items[active.n++] = old ? *old : reference(c, j);
    }
    c->status = json_object();
    if (active.n)
        json_set(&c->status, STR("active"), active, &w->scratch);
    if (c->last)
        workload_put_text(w, &c->status, "lastScheduleTime", workload_time(w, c->last));
    if (success)
        workload_put_text(w, &c->status, "lastSuccessfulTime", workload_time(w, success));
}

/* --- the schedule ----------------------------------------------------------------------------- */

/*
 * The last time of the schedule that has passed without a Job; 0: none. As upstream, it steps over
 * times that are long past.
 */
static int64_t missed_time(struct cron_look *c, const struct cron *cron, int64_t offset)
{
    int64_t now = workloads_now(c->w), from = c->last ? c->last : c->o->member.created;
    int64_t deadline = json_int_at(c->spec, "startingDeadlineSeconds", -1);
    if (deadline >= 0)
        from = MAX(from, now - deadline * NSEC_PER_SEC);
    int64_t first = cron_next(cron, offset, from);
    if (!first || first > now)
        return 0;
    int64_t second = cron_next(cron, offset, first);
    if (!second || second > now)
        return first;
    int64_t step = MAX(second - first, NSEC_PER_SEC), missed = (now - first) / step + 1;
    int64_t last = first + MAX(missed - 2, 0) * step - 1;
    int64_t best = first;
    for (int64_t at = cron_next(cron, offset, last); at && at <= now;
         at = cron_next(cron, offset, at))
        best = at;
    if (missed > MAX_MISSED && deadline < 0)
        workload_event(c->w, c->o, true, "TooManyMissedTimes",
                       "too many missed start times: %lld. Set or decrease "
                       ".spec.startingDeadlineSeconds or check clock skew",
                       (long long)missed);
    return best;
}

static struct str job_name(struct cron_look *c, int64_t at)
{
    return arena_printf(&c->w->scratch, "%.*s-%lld",
                        STR_ARG(str_slice(c->o->member.rev->name, 0, MAX_JOB_NAME)),
                        (long long)(at / NSEC_PER_SEC / 60));
}

static void create_job(struct cron_look *c, int64_t at)
{
    struct workloads *w = c->w;
    struct arena *a = &w->scratch;
    const struct json_value *template = json_get(c->spec, STR("jobTemplate"));
    const struct json_value *labels = json_at(template, "metadata.labels");
    const struct json_value *annotations = json_at(template, "metadata.annotations");
    const struct json_value *spec = json_get(template, STR("spec"));
    struct json_value job = json_object(), meta = json_object(), refs = json_array();
    struct str name = job_name(c, at);
    workload_put_text(w, &meta, "name", name);
    workload_put_text(w, &meta, "namespace", c->o->member.rev->namespace);
    if (labels)
        json_set(&meta, STR("labels"), *labels, a);
    struct json_value notes = annotations ? json_copy(annotations, a) : json_object();
    json_set(&notes, STR(SCHEDULED), json_text(workload_time(w, at)), a);
    json_set(&meta, STR("annotations"), notes, a);
    json_append(&refs, workload_controller_ref(w, c->o), a);
    json_set(&meta, STR("ownerReferences"), refs, a);
    workload_put_text(w, &job, "apiVersion", STR("batch/v1"));
    workload_put_text(w, &job, "kind", STR("Job"));
    json_set(&job, STR("metadata"), meta, a);
    json_set(&job, STR("spec"), spec ? *spec : json_object(), a);
    struct writer_request where = {.group = STR("batch"), .plural = STR("jobs"), .name = name};
    unsigned tag = workload_event_tag(c->o, "SuccessfulCreate", "Created job %.*s", STR_ARG(name));
    workload_create(w, c->o, WORK_ADDS, tag, &where, &job);
}

/* Starts the Job of a time that has come, if the policies allow it. */
static void start(struct cron_look *c, int64_t at)
{
    struct str policy = json_get_text(c->spec, STR("concurrencyPolicy"));
    int64_t deadline = json_int_at(c->spec, "startingDeadlineSeconds", -1);
    if (deadline >= 0 && at + deadline * NSEC_PER_SEC < workloads_now(c->w)) {
        workload_event(c->w, c->o, true, "MissSchedule",
                       "Missed scheduled time to start a job: %.*s",
                       STR_ARG(workload_time(c->w, at)));
        return;
    }
    if (at <= c->last ||
        workload_find(c->w, WORKLOAD_JOB, c->o->member.rev->namespace, job_name(c, at)))
        return;
    if (str_is(policy, "Forbid") && c->n_active) {
        workload_event(c->w, c->o, false, "JobAlreadyActive",
                       "Not starting job because prior execution is running and concurrency "
                       "policy is Forbid");
        return;
    }
    for (size_t i = 0; str_is(policy, "Replace") && i < c->n; i++)
        if (!c->jobs[i].finished && !c->jobs[i].o->member.deleting)
            delete_job(c, &c->jobs[i]);
    create_job(c, at);
}

static void follow_schedule(struct cron_look *c)
{
    struct str text = json_get_text(c->spec, STR("schedule"));
    struct str zone = json_get_text(c->spec, STR("timeZone"));
    struct cron cron;
    struct err err = {0};
    int64_t offset;
    if (!cron_zone(zone, &offset)) {
        workload_event(c->w, c->o, true, "UnknownTimeZone",
                       "invalid timeZone: \"%.*s\": only UTC and zones of Etc/ are supported",
                       STR_ARG(zone));
        return;
    }
    if (cron_parse(text, &cron, &err) < 0) {
        workload_event(c->w, c->o, true, "UnparseableSchedule",
                       "unparseable schedule: \"%.*s\" : %s", STR_ARG(text), err.msg);
        return;
    }
    int64_t next = cron_next(&cron, offset, workloads_now(c->w));
    if (!next) { /* the 31st of February */
        workload_event(c->w, c->o, true, "InvalidSchedule",
                       "invalid schedule: %.*s : time difference between two schedules is less "
                       "than 1 second",
                       STR_ARG(text));
        return;
    }
    int64_t at = missed_time(c, &cron, offset);
    if (at)
        start(c, at);
    work_add_at(&c->w->queue, &c->o->work, next);
}

void cron_job_sync(struct workloads *w, struct workload *o, struct json_value *object)
{
    struct cron_look c = {.w = w, .o = o, .object = object};
    c.spec = json_get(object, STR("spec"));
    c.last = workload_read_time(object, "status.lastScheduleTime");
    read_jobs(&c);
    clean_up(&c);
    fill_status(&c);
    if (!o->member.deleting && !json_bool_at(c.spec, "suspend", false))
        follow_schedule(&c);
    note_ended(&c);
    const struct json_value *old = json_get(object, STR("status"));
    if (!old && !c.status.n_members)
        return;
    workload_write_status(w, o, object, c.status, TAG_STATUS);
}
