/* SPDX-License-Identifier: Apache-2.0 */
/* The phases of an elector: acquiring, leading, releasing, ending. */
#include "kube/lease/lease_internal.h"

#include <unistd.h>

#include "kube/backoff.h"
#include "kube/lease/lease_event.h"

/* client-go: leaderelection.JitterFactor. */
#define JITTER 1.2

/* Limit of waiting for the last Event at the end. */
#define FINAL_EVENT_TIMEOUT (2 * NSEC_PER_SEC)

/* --- metrics ---------------------------------------------------------------------------------- */

static const struct metric_desc status_desc = {
    .name = "leader_election_master_status",
    .help = "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, "
            "1 indicates master. 'name' is the string used to identify the lease. Please make "
            "sure to group by name.",
    .stability = "ALPHA",
    .kind = METRIC_GAUGE,
    .labels = {"name"}};

static void count_leading(const struct lease_elector *e, bool leads)
{
    struct metrics *m = e->options.metrics;

    if (m)
        metric_set(metric_with(metrics_add(m, &status_desc), &STR(LEASE_ELECTION)), leads);
}

/* --- the holder ------------------------------------------------------------------------------- */

int64_t lease_now(const struct lease_elector *e)
{
    return e->options.clock ? e->options.clock() : time_boot();
}

bool lease_elector_is_leader(const struct lease_elector *e)
{
    return lease_record_is_held_by(&e->record, e->options.identity);
}

bool lease_is_valid(const struct lease_elector *e)
{
    return lease_record_end(&e->record) > lease_now(e);
}

bool lease_elector_may_write(const struct lease_elector *e)
{
    return e->phase == PHASE_LEADING && !e->in_doubt && lease_elector_is_leader(e) &&
           lease_is_valid(e);
}

/* As far as we know, another instance leads. */
static bool is_held_by_another(const struct lease_elector *e)
{
    return e->record.holder && *e->record.holder && !lease_elector_is_leader(e) &&
           lease_is_valid(e);
}

static void report_transition(struct lease_elector *e)
{
    const char *holder = e->record.holder;

    if (!holder || (e->reported && strcmp(holder, e->reported) == 0))
        return;
    free(e->reported);
    e->reported = xstrdup(holder);
    if (e->callbacks->on_new_leader)
        e->callbacks->on_new_leader(e->ctx, str_of(e->reported));
}

/* --- retries ---------------------------------------------------------------------------------- */

static void on_retry(struct loop_timer *timer)
{
    struct lease_elector *e = CONTAINER_OF(timer, struct lease_elector, retry);

    if (e->phase == PHASE_LEADING && !loop_timer_pending(&e->deadline))
        loop_timer_set(&e->deadline, e->options.renew_deadline);
    lease_attempt(e);
}

/* --- events ----------------------------------------------------------------------------------- */

static void stop_if_event_sent(struct lease_elector *e);

static void on_event_sent(void *ctx, const struct rest_result *result)
{
    struct lease_elector *e = ctx;

    e->event = NULL;
    if (result->code < 0)
        log_error("Unable to record event (will not retry!)", KV_ERR(&result->err));
    stop_if_event_sent(e);
}

static void send_event(struct lease_elector *e, const char *what)
{
    struct buf message = BUF_INIT;

    if (!e->options.event_client || !e->record.lease)
        return;
    e->event = rest_cancel(e->event);
    buf_add_printf(&message, "%.*s %s", STR_ARG(e->options.identity), what);
    e->event = lease_event_send(e->options.event_client, object_meta(e->record.lease),
                                e->options.component, buf_str(&message), on_event_sent, e);
    buf_release(&message);
}

/* --- results of an attempt -------------------------------------------------------------------- */

/*
 * When a candidate tries again: after the retry period with jitter (client-go: JitterFactor), but
 * not later than the expiry of the lease that it saw.
 */
static int64_t until_next_attempt(struct lease_elector *e)
{
    int64_t wait = backoff_jitter(&e->rand, e->options.retry_period, JITTER);
    int64_t left = lease_record_end(&e->record) - lease_now(e);

    return e->record.lease && left > 0 ? MIN(wait, left + NSEC_PER_MSEC) : wait;
}

/*
 * A leader sees its own renewals here, possibly late. If the lease is not ours, it is read before
 * anything else is written.
 */
static void on_changed_while_leading(struct lease_elector *e, const struct object *lease)
{
    const struct str *holder = lease ? object_lease(lease)->spec.holder_identity : NULL;

    if (holder && str_eq(*holder, e->options.identity))
        return;
    e->in_doubt = true;
    if (!e->call)
        loop_timer_set(&e->retry, 0);
}

/* A change reported by the watch. It replaces the next poll. */
static void on_changed(void *ctx, struct object *lease)
{
    struct lease_elector *e = ctx;

    if (e->phase == PHASE_LEADING) {
        on_changed_while_leading(e, lease);
        return;
    }
    if (lease)
        lease_record_observe(&e->record, object_ref(lease), lease_now(e));
    bool free_now = !lease || !*e->record.holder || lease_elector_is_leader(e);
    if (!e->call)
        loop_timer_set(&e->retry, free_now ? 0 : until_next_attempt(e));
    report_transition(e);
}

static void stop_leading(struct lease_elector *e, bool lost);

static void acquired(struct lease_elector *e)
{
    e->phase = PHASE_LEADING;
    /* As in client-go, the first renewal follows at once. */
    loop_timer_set(&e->retry, 0);
    loop_timer_set(&e->deadline, e->options.renew_deadline);
    /* What the candidate's watch has not reported yet is older than this. */
    lease_watch_stop(&e->watch);
    lease_watch_follow(&e->watch, e->record.lease);
    count_leading(e, true);
    send_event(e, "became leader");
    log_info(0, "Successfully acquired lease", KV_CSTR("lock", e->lock));
    free(e->reported);
    e->reported = xstrdup(e->record.holder);
    /* Callbacks come last: they may free the elector. */
    if (e->callbacks->on_new_leader)
        e->callbacks->on_new_leader(e->ctx, e->options.identity);
    e->callbacks->on_started_leading(e->ctx);
}

static void renewed(struct lease_elector *e)
{
    loop_timer_stop(&e->deadline);
    loop_timer_set(&e->retry, e->options.retry_period);
    lease_watch_follow(&e->watch, e->record.lease);
    log_info(5, "Successfully renewed lease", KV_CSTR("lock", e->lock));
    report_transition(e);
    if (e->callbacks->on_renewed)
        e->callbacks->on_renewed(e->ctx);
}

static void lose(struct lease_elector *e, const char *why)
{
    log_info(0, "Failed to renew lease", KV_CSTR("lock", e->lock), KV_CSTR("err", why));
    stop_leading(e, true);
}

static void lose_to_another(struct lease_elector *e)
{
    struct buf why = BUF_INIT;

    buf_add_printf(&why, "lease is held by %s", e->record.holder);
    lose(e, buf_cstr(&why));
    buf_release(&why);
}

static void not_renewed(struct lease_elector *e)
{
    loop_timer_set(&e->retry, e->options.retry_period);
    report_transition(e);
    if (is_held_by_another(e))
        lose_to_another(e);
}

static void not_acquired(struct lease_elector *e)
{
    loop_timer_set(&e->retry, until_next_attempt(e));
    if (e->record.lease)
        lease_watch_follow(&e->watch, e->record.lease);
    log_info(4, "Failed to acquire lease", KV_CSTR("lock", e->lock));
    report_transition(e);
}

void lease_attempt_done(struct lease_elector *e, bool ok)
{
    bool leading = e->phase == PHASE_LEADING;

    /*
     * The lease had expired before the response was read: the process or the machine was suspended.
     */
    if (ok && !lease_is_valid(e))
        loop_timer_set(&e->retry, 0);
    else if (ok && leading)
        renewed(e);
    else if (ok)
        acquired(e);
    else if (leading)
        not_renewed(e);
    else
        not_acquired(e);
}

static void stop_activity(struct lease_elector *e)
{
    e->call = rest_cancel(e->call);
    e->event = rest_cancel(e->event);
    lease_watch_stop(&e->watch);
    loop_timer_stop(&e->retry);
    loop_timer_stop(&e->deadline);
}

static void stopped(struct lease_elector *e, bool lost)
{
    e->phase = PHASE_OFF;
    count_leading(e, false);
    stop_activity(e);
    e->callbacks->on_stopped_leading(e->ctx, lost);
}

static void stop_if_event_sent(struct lease_elector *e)
{
    if (e->phase == PHASE_ENDING && !e->event)
        stopped(e, e->lost);
}

/* Stops leading; only the Event remains to be sent. */
static void stop_leading(struct lease_elector *e, bool lost)
{
    e->phase = PHASE_ENDING;
    e->lost = lost;
    count_leading(e, false);
    e->call = rest_cancel(e->call);
    lease_watch_stop(&e->watch);
    loop_timer_stop(&e->retry);
    loop_timer_set(&e->deadline, FINAL_EVENT_TIMEOUT);
    if (lost && e->callbacks->on_lost)
        e->callbacks->on_lost(e->ctx);
    send_event(e, "stopped leading");
    stop_if_event_sent(e);
}

static void on_deadline(struct loop_timer *timer)
{
    struct lease_elector *e = CONTAINER_OF(timer, struct lease_elector, deadline);

    if (e->phase == PHASE_ENDING) {
        stopped(e, e->lost);
    } else if (e->phase == PHASE_RELEASING) {
        log_error("Failed to release lease", KV_CSTR("err", "context deadline exceeded"),
                  KV_CSTR("lock", e->lock));
        stop_leading(e, false);
    } else {
        lose(e, "context deadline exceeded");
    }
}

/* --- release ---------------------------------------------------------------------------------- */

static void on_released(void *ctx, const struct rest_result *result)
{
    struct lease_elector *e = ctx;

    e->call = NULL;
    if (result->code < 0)
        lease_log_failure(e, "Failed to release lease", result);
    stop_leading(e, false);
}

/*
 * A renewal may have succeeded without its response: only the server's lease counts. As in
 * client-go, the lease is read before it is released.
 */
static void on_final_get(void *ctx, const struct rest_result *result)
{
    struct lease_elector *e = ctx;
    struct rest_result bad = *result;
    struct object *lease;

    e->call = NULL;
    if (result->code == 0)
        bad.code = rest_result_object(result, &lease, &bad.err);
    if (bad.code < 0) {
        if (result->status == 404)
            log_info(0, "lease lock not found", KV_CSTR("lock", e->lock));
        else
            lease_log_failure(e, "error retrieving resource lock", &bad);
        stop_leading(e, false);
        return;
    }
    lease_record_observe(&e->record, lease, lease_now(e));
    if (lease_elector_is_leader(e))
        lease_write(e, REST_UPDATE, STR(""), on_released);
    else
        stop_leading(e, false);
}

void lease_elector_stop(struct lease_elector *e)
{
    bool leading = e->phase == PHASE_LEADING && lease_elector_is_leader(e) && e->record.lease;

    e->call = rest_cancel(e->call);
    lease_watch_stop(&e->watch);
    loop_timer_stop(&e->retry);
    loop_timer_stop(&e->deadline);
    if (!leading) {
        stopped(e, false);
        return;
    }
    e->phase = PHASE_RELEASING;
    loop_timer_set(&e->deadline, e->options.renew_deadline);
    lease_get(e, on_final_get);
}

/* --- lifecycle -------------------------------------------------------------------------------- */

static struct str make_identity(struct arena *a)
{
    char host[256] = "unknown";
    uint64_t hi = rand_entropy(), lo = rand_entropy();

    if (gethostname(host, sizeof(host) - 1) < 0)
        host[0] = '\0';
    host[sizeof(host) - 1] = '\0';
    /* A version 4 UUID, as upstream appends to the host name. */
    return arena_printf(a, "%s_%08x-%04x-4%03x-%04x-%012llx", host, (unsigned)(hi >> 32),
                        (unsigned)(hi >> 16 & 0xffff), (unsigned)(hi & 0xfff),
                        (unsigned)(0x8000 | (lo >> 48 & 0x3fff)),
                        (unsigned long long)(lo & 0xffffffffffff));
}

static int init_options(struct lease_elector *e, struct err *reterr)
{
    struct lease_options *o = &e->options;

    if (o->lease_duration == 0)
        o->lease_duration = 15 * NSEC_PER_SEC;
    if (o->renew_deadline == 0)
        o->renew_deadline = 10 * NSEC_PER_SEC;
    if (o->retry_period == 0)
        o->retry_period = 2 * NSEC_PER_SEC;
    if (o->lease_duration <= o->renew_deadline)
        return err_set(reterr, -EINVAL,
                       "leaderElection: leaseDuration must be greater than renewDeadline");
    if ((double)o->renew_deadline <= JITTER * (double)o->retry_period)
        return err_set(reterr, -EINVAL,
                       "leaderElection: renewDeadline must be greater than retryPeriod*1.2");
    if (o->retry_period < 0 || str_empty(o->name) || str_empty(o->namespace))
        return err_set(reterr, -EINVAL,
                       "leaderElection: resourceName and resourceNamespace must "
                       "be set, and all durations must be positive");
    o->namespace = arena_dup(&e->arena, o->namespace);
    o->name = arena_dup(&e->arena, o->name);
    o->component = arena_dup(&e->arena, o->component);
    o->identity =
        str_empty(o->identity) ? make_identity(&e->arena) : arena_dup(&e->arena, o->identity);
    snprintf(e->lock, sizeof(e->lock), "%s/%s", o->namespace.p, o->name.p);
    return 0;
}

int lease_elector_new(struct rest_client *client, const struct lease_options *options,
                      const struct lease_callbacks *callbacks, void *ctx,
                      struct lease_elector **ret_elector, struct err *reterr)
{
    struct lease_elector *e = xnew(struct lease_elector);
    int r;

    e->client = client;
    e->options = *options;
    e->callbacks = callbacks;
    e->ctx = ctx;
    arena_init(&e->arena, 0);
    loop_timer_init(&e->retry, rest_client_loop(client), on_retry);
    loop_timer_init(&e->deadline, rest_client_loop(client), on_deadline);
    lease_watch_init(&e->watch, client, on_changed, e);
    rand_seed(&e->rand, options->seed ? options->seed : rand_entropy());
    r = init_options(e, reterr);
    if (r < 0) {
        lease_elector_free(e);
        return r;
    }
    count_leading(e, false);
    *ret_elector = e;
    return 0;
}

void lease_elector_start(struct lease_elector *e)
{
    if (e->phase != PHASE_OFF)
        return;
    log_info(0, "Attempting to acquire leader lease...", KV_CSTR("lock", e->lock));
    e->phase = PHASE_ACQUIRING;
    lease_attempt(e);
}

struct lease_elector *lease_elector_free(struct lease_elector *e)
{
    if (!e)
        return NULL;
    stop_activity(e);
    lease_record_release(&e->record);
    free(e->reported);
    arena_release(&e->arena);
    free(e);
    return NULL;
}

struct str lease_elector_identity(const struct lease_elector *e)
{
    return e->options.identity;
}

bool lease_elector_is_healthy(const struct lease_elector *e, int64_t tolerance)
{
    return e->phase != PHASE_LEADING ||
           lease_now(e) - e->record.observed_at <= e->options.lease_duration + tolerance;
}
