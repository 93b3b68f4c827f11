/* SPDX-License-Identifier: Apache-2.0 */
/* When the live world works and how it stops: leader election, draining, the last events. */
#include "base/log.h"
#include "live/world_internal.h"

/*
 * The health check fails if a leader's lease has expired this long ago (upstream: 20 s,
 * LeaderHealthzAdaptor).
 */
#define LEASE_TOLERANCE (20 * NSEC_PER_SEC)
/* Limits of waiting at the end: for bindings in flight, then for events about them. */
#define DRAIN_TIMEOUT   (5 * NSEC_PER_SEC)
#define EVENT_TIMEOUT   (1 * NSEC_PER_SEC)
#define POLL_INTERVAL   (10 * NSEC_PER_MSEC)

/* --- start ------------------------------------------------------------------------------------ */

static bool delays_cache(const struct world *w)
{
    return w->elector && w->config->delay_cache_until_active;
}

static void start_if_ready(struct world *w)
{
    if (w->scheduling || w->ending != ENDING_NONE || !informers_have_synced(w->informers) ||
        (w->elector && !w->leading))
        return;
    w->scheduling = true;
    log_info(1, "Scheduling started");
    world_post_msg(w, &(struct engine_msg){.kind = ENGINE_MSG_SCHEDULE});
}

/*
 * An instance enters the election only with a full cache (upstream: WaitForHandlersSync before
 * leader election, unless DelayCacheUntilActive).
 */
void world_on_synced(void *ctx)
{
    struct world *w = ctx;
    log_info(3, "Handlers synced");
    world_post_msg(w, &(struct engine_msg){.kind = ENGINE_MSG_LISTED});
    if (delays_cache(w))
        log_info(0, "Sync completed");
    else if (w->elector && w->ending == ENDING_NONE)
        lease_elector_start(w->elector);
    start_if_ready(w);
}

void world_start(struct world *w)
{
    int r = pthread_create(&w->thread, NULL, world_engine_main, w);
    if (r != 0) {
        log_error("Failed to start the engine thread", KV_CSTR("err", strerror(r)));
        abort();
    }
    pthread_setname_np(w->thread, "berth-engine");
    w->started = w->thread_runs = true;
    if (w->candidature)
        lease_candidature_start(w->candidature);
    if (delays_cache(w))
        lease_elector_start(w->elector);
    else
        informers_start(w->informers);
}

void world_end_thread(struct world *w)
{
    if (!w->thread_runs)
        return;
    mailbox_close(&w->msgs);
    pthread_join(w->thread, NULL);
    w->thread_runs = false;
    w->watch = call_watch_free(w->watch);
    world_is_engine_thread_now(w);
}

/* --- stop ------------------------------------------------------------------------------------- */

static void set_stage(struct world *w, enum ending stage, int64_t timeout)
{
    w->ending = stage;
    w->stage_deadline = loop_now(w->loop) + timeout;
    loop_timer_set(&w->end_timer, 0);
}

static bool events_are_written(const struct world *w)
{
    struct event_recorder_stats stats;
    event_recorder_get_stats(w->recorder, &stats);
    return stats.queued == 0 && stats.in_flight == 0;
}

/* No pod is lost here: unbound pods are still pending at the API server. */
static void release_lease(struct world *w)
{
    w->ending = ENDING_RELEASE;
    world_end_thread(w);
    if (w->elector)
        lease_elector_stop(w->elector);
    else
        set_stage(w, ENDING_EVENTS, EVENT_TIMEOUT);
}

void world_on_end_timer(struct loop_timer *timer)
{
    struct world *w = CONTAINER_OF(timer, struct world, end_timer);
    bool timed_out = loop_now(w->loop) >= w->stage_deadline;
    if (w->ending == ENDING_DRAIN && (timed_out || (w->drained && !w->open))) {
        release_lease(w);
    } else if (w->ending == ENDING_EVENTS && (timed_out || events_are_written(w))) {
        w->ending = ENDING_DONE;
        w->callbacks->on_stopped(w->ctx);
    } else {
        loop_timer_set(timer, POLL_INTERVAL);
    }
}

void world_on_drained(void *ctx)
{
    struct world *w = ctx;
    w->drained = true;
}

void world_stop(struct world *w)
{
    if (w->ending != ENDING_NONE)
        return;
    if (!w->scheduling) {
        release_lease(w);
        return;
    }
    log_info(2, "Scheduling queue is closed");
    world_post_msg(w, &(struct engine_msg){.kind = ENGINE_MSG_CLOSE});
    set_stage(w, ENDING_DRAIN, DRAIN_TIMEOUT);
}

/* --- leader election -------------------------------------------------------------------------- */

static void on_started_leading(void *ctx)
{
    struct world *w = ctx;
    w->leading = true;
    if (delays_cache(w)) {
        log_info(0, "Starting informers and waiting for sync...");
        informers_start(w->informers);
    }
    start_if_ready(w);
}

bool world_may_write(void *ctx)
{
    struct world *w = ctx;
    if (!w->elector || lease_elector_may_write(w->elector))
        return true;
    if (!w->holding && w->ending == ENDING_NONE)
        log_info(0, "Holding writes until the lease is renewed");
    w->holding = true;
    return false;
}

bool world_may_record(void *ctx)
{
    struct world *w = ctx;
    return !w->lost && (w->ending >= ENDING_RELEASE || world_may_write(w));
}

static void on_renewed(void *ctx)
{
    struct world *w = ctx;
    if (!w->holding)
        return;
    w->holding = false;
    log_info(0, "Lease renewed; resuming writes");
    rest_client_resume_writes(w->client);
    rest_client_resume_writes(w->event_client);
    for (struct world_setup *s = w->setups; s; s = s->next)
        if (s->extenders)
            extenders_resume(s->extenders);
}

/* Another instance may lead from now on: stop all writes at once. */
static void on_lost(void *ctx)
{
    struct world *w = ctx;
    w->leading = false;
    w->lost = true;
    w->ending = ENDING_RELEASE;
    world_end_thread(w);
    rest_client_shutdown(w->client);
}

static void on_stopped_leading(void *ctx, bool lost)
{
    struct world *w = ctx;
    w->leading = false;
    if (lost) {
        w->ending = ENDING_DONE;
        w->callbacks->on_lost(w->ctx);
    } else {
        set_stage(w, ENDING_EVENTS, EVENT_TIMEOUT);
    }
}

static const struct lease_callbacks lease_callbacks = {
    .on_started_leading = on_started_leading,
    .on_renewed = on_renewed,
    .on_lost = on_lost,
    .on_stopped_leading = on_stopped_leading,
};

/* Upstream uses the program's name here, whatever leaderElection.resourceName says. */
static void make_candidature(struct world *w, const struct world_options *o)
{
    const struct kube_version *emulated = &o->features->emulated;
    struct buf version = BUF_INIT;
    buf_add_printf(&version, "%u.%u.0", emulated->major, emulated->minor);
    struct lease_candidate_options options = {
        .namespace = STR("kube-system"),
        .name = lease_elector_identity(w->elector),
        .lease_name = STR("kube-scheduler"),
        .binary_version = str_of(o->version),
        .emulation_version = buf_str(&version),
        .strategy = STR("OldestEmulationVersion"),
    };
    w->candidature = lease_candidature_new(w->lease_client, &options);
    buf_release(&version);
}

int world_make_elector(struct world *w, const struct world_options *o, struct err *reterr)
{
    bool coordinated = o->features && features_enabled(o->features, "CoordinatedLeaderElection");
    const struct leader_election_config *le = &w->config->leader_election;
    if (!*le->leader_elect)
        return 0;
    struct lease_options options = {
        .namespace = le->resource_namespace,
        .name = le->resource_name,
        .lease_duration = le->lease_duration,
        .renew_deadline = le->renew_deadline,
        .retry_period = le->retry_period,
        .event_client = w->event_client,
        .component = *w->config->profiles.v[0].scheduler_name,
        .metrics = w->metrics,
        .coordinated = coordinated,
    };
    int r = lease_elector_new(w->lease_client, &options, &lease_callbacks, w, &w->elector, reterr);
    if (r == 0 && coordinated)
        make_candidature(w, o);
    return r;
}

/* --- health checks ---------------------------------------------------------------------------- */

bool world_has_synced(const struct world *w)
{
    return informers_have_synced(w->informers);
}

bool world_is_candidate(const struct world *w)
{
    return w->candidature != NULL;
}

bool world_candidate_has_synced(const struct world *w)
{
    return !w->candidature || lease_candidature_has_synced(w->candidature);
}

bool world_is_healthy(const struct world *w)
{
    return !w->elector || lease_elector_is_healthy(w->elector, LEASE_TOLERANCE);
}
