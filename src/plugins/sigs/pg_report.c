/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/sigs/pg_report.h"

#include "base/time.h"
#include "plugins/sigs/pg_state.h"

#define MILLISECOND ((int64_t)1000000)
/* Changes within this time are one request. */
#define GATHER      (100 * MILLISECOND)
/* How long an instance that does not lead, or whose request failed, waits. */
#define PAUSE       (1000 * MILLISECOND)
#define MAX_PAUSE   (30 * PAUSE)
/* Requests of plugins that are open delay the pods' bindings when there are many of them. */
#define MAX_OPEN    8
#define TWO_DAYS    (48 * 3600)

/* --- the next status -------------------------------------------------------------------------- */

static void count_pods(const struct pg *g, struct pg_status *status)
{
    status->running = status->succeeded = status->failed = 0;
    for (size_t i = 0; i < g->members.n; i++) {
        struct str phase = object_pod(g->members.v[i]->object)->status.phase;
        status->running += str_is(phase, POD_PHASE_RUNNING);
        status->succeeded += str_is(phase, POD_PHASE_SUCCEEDED);
        status->failed += str_is(phase, POD_PHASE_FAILED);
    }
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* "namespace/owner,…" of one of the pods. */
static struct str owners_of(const struct pg *g, struct arena *a)
{
    const struct object_meta *meta = object_meta(g->members.v[0]->object);
    size_t n = meta->owner_references.n;
    struct str *names = arena_array(a, struct str, n);
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < n; i++)
        names[i] = arena_printf(a, "%.*s/%.*s", STR_ARG(meta->namespace),
                                STR_ARG(meta->owner_references.v[i].name));
    if (n)
        qsort(names, n, sizeof(*names), by_text);
    for (size_t i = 0; i < n; i++) {
        buf_add_cstr(&text, i ? "," : "");
        buf_add_str(&text, names[i]);
    }
    struct str result = arena_dup(a, buf_str(&text));
    buf_release(&text);
    return result;
}

/* The phase of a group that was complete once. */
static struct str phase_of(const struct pg *g, const struct pg_status *s)
{
    int32_t least = g->body.spec.min_member;
    if ((int64_t)g->members.n < least)
        return STR("Pending");
    if (s->succeeded >= least)
        return STR("Finished");
    if (s->failed && s->failed + s->running + s->succeeded >= least)
        return STR("Failed");
    return s->succeeded + s->running >= least ? STR("Running") : STR("Scheduling");
}

static bool is_over(const struct pg_status *s)
{
    return str_is(s->phase, "Finished") || str_is(s->phase, "Failed");
}

/* One step: texts are in the arena. */
static void next_status(const struct pg *g, struct arena *a, struct pg_status *ret_status)
{
    struct pg_status s = g->body.status;
    if (str_empty(s.phase)) {
        s.phase = STR("Pending");
    } else if (str_is(s.phase, "Pending")) {
        if ((int64_t)g->members.n >= g->body.spec.min_member) {
            s.phase = STR("Scheduling");
            struct str owners = g->members.n ? owners_of(g, a) : STR("");
            s.occupied_by = str_empty(owners) ? s.occupied_by : owners;
        }
    } else if (!is_over(&s)) {
        count_pods(g, &s);
        s.phase = phase_of(g, &s);
    }
    *ret_status = s;
}

/* Upstream: a group that began to be scheduled two days after it was made is left alone. */
static bool is_late(const struct pg *g)
{
    const struct pg_status *s = &g->body.status;
    bool waits = str_is(s->phase, "Scheduling") || str_is(s->phase, "Pending");
    return waits && !s->running && s->schedule_start_time.set &&
           s->schedule_start_time.sec - object_meta(g->object)->creation_timestamp.sec > TWO_DAYS;
}

static void tell_late(struct pg *g)
{
    const struct berth_event event = {
        .struct_size = sizeof(event),
        .object = object_abi(g->object),
        .warning = true,
        .reason = BERTH_STR("Timeout"),
        .action = BERTH_STR("Scheduling"),
        .note = BERTH_STR("schedule time longer than 48 hours"),
    };
    if (!g->report.told_late)
        g->state->host->event(g->state->handle, &event);
    g->report.told_late = true;
}

/* --- requests --------------------------------------------------------------------------------- */

static void run(void *ctx);

static void arm(struct pg_state *s, int64_t delay)
{
    if (!s->reports.timer)
        s->reports.timer = s->host->timer(s->handle, delay, run, s);
}

static void enqueue(struct pg *g)
{
    struct pg_reports *r = &g->state->reports;
    if (g->report.place)
        return;
    vec_push(&r->waiting, g);
    g->report.place = r->waiting.n;
}

static void dequeue(struct pg *g)
{
    struct pg_reports *r = &g->state->reports;
    size_t i = g->report.place - 1;
    vec_swap_remove(&r->waiting, i);
    if (i < r->waiting.n)
        r->waiting.v[i]->report.place = i + 1;
    g->report.place = 0;
}

/* Logged when it begins: it may stay so for long. */
static void log_failure(struct pg_state *s, const struct pg *g, const struct berth_api_result *r)
{
    struct berth_kv kv[] = {
        BERTH_KV_STR("podGroup", abi_str(str_of(g->key))),
        BERTH_KV_INT("status", r->status),
        BERTH_KV_STR("err", r->message),
    };
    if (!s->reports.pause)
        s->host->log(s->handle, BERTH_LOG_ERROR,
                     BERTH_STR("Failed to write the status of a PodGroup; retrying"), kv,
                     ARRAY_LEN(kv));
}

/* A conflict and a group that is gone are changes that the watch has not shown yet. */
static void done(void *ctx, const struct berth_api_result *result)
{
    struct pg *g = ctx;
    struct pg_state *s = g->state;
    bool ok = result->status >= 200 && result->status < 300;
    bool outdated = result->status == 409 || result->status == 404;
    s->reports.open--;
    g->report.sent = false;
    if (!ok && !outdated) {
        log_failure(s, g, result);
        s->reports.pause = MIN(MAX(2 * s->reports.pause, PAUSE), MAX_PAUSE);
    } else if (ok) {
        s->reports.pause = 0;
    }
    if (!ok || g->report.again)
        enqueue(g);
    g->report.again = false;
    if (s->reports.waiting.n)
        arm(s, s->reports.pause ? s->reports.pause : ok ? GATHER : PAUSE);
}

static void send(struct pg *g, const struct pg_status *status)
{
    struct pg_state *s = g->state;
    const struct object_meta *meta = object_meta(g->object);
    struct buf body = BUF_INIT;
    buf_add_cstr(&body, "{\"metadata\":{\"resourceVersion\":");
    json_write_str(&body, meta->resource_version);
    buf_add_cstr(&body, "},\"status\":");
    pg_status_write(status, &body);
    buf_add_char(&body, '}');
    struct berth_api_call call = {
        .struct_size = sizeof(call),
        .verb = BERTH_API_PATCH,
        .patch = BERTH_PATCH_MERGE,
        .api_version = BERTH_STR(PG_API_VERSION),
        .resource = BERTH_STR(PG_RESOURCE),
        .subresource = BERTH_STR("status"),
        .namespace_name = abi_str(g->namespace),
        .name = abi_str(g->name),
        .body = abi_str(buf_str(&body)),
    };
    g->report.call = s->host->api_call(s->handle, &call, done, g);
    g->report.sent = true;
    s->reports.open++;
    buf_release(&body);
}

static void write_one(struct pg *g)
{
    struct pg_status next;
    struct arena a;
    if (g->report.sent) {
        g->report.again = true;
        return;
    }
    if (!g->object || is_over(&g->body.status))
        return;
    if (is_late(g)) {
        tell_late(g);
        return;
    }
    arena_init(&a, 0);
    next_status(g, &a, &next);
    if (!pg_status_equal(&next, &g->body.status))
        send(g, &next);
    arena_release(&a);
}

static void run(void *ctx)
{
    struct pg_state *s = ctx;
    s->reports.timer = 0;
    if (!handle_leads(s->handle)) {
        arm(s, PAUSE);
        return;
    }
    /* In the order of the changes, so that no group waits for ever; done continues. */
    size_t n = 0;
    for (; n < s->reports.waiting.n && s->reports.open < MAX_OPEN; n++) {
        s->reports.waiting.v[n]->report.place = 0;
        write_one(s->reports.waiting.v[n]);
    }
    for (size_t i = n; i < s->reports.waiting.n; i++) {
        s->reports.waiting.v[i - n] = s->reports.waiting.v[i];
        s->reports.waiting.v[i - n]->report.place = i - n + 1;
    }
    s->reports.waiting.n -= n;
}

/* --- changes ---------------------------------------------------------------------------------- */

void pg_report_changed(struct pg *g)
{
    if (!g->object || is_over(&g->body.status) || !handle_may_lead(g->state->handle))
        return;
    enqueue(g);
    if (g->state->reports.open < MAX_OPEN)
        arm(g->state, MAX(g->state->reports.pause, GATHER));
}

void pg_report_forget(struct pg *g)
{
    struct pg_state *s = g->state;
    if (g->report.place)
        dequeue(g);
    if (!g->report.sent)
        return;
    s->host->api_forget(s->handle, g->report.call);
    s->reports.open--;
}

void pg_reports_release(struct pg_reports *r)
{
    vec_release(&r->waiting);
}
