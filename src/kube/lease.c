/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/lease.h"

#include <unistd.h>

#include "api/coordination.h"
#include "base/log.h"
#include "kube/backoff.h"
#include "kube/lease_event.h"

#define JITTER 1.2

/* How long the end waits for the last Event to be written. */
#define LAST_WORD (2 * NSEC_PER_SEC)

enum phase { PHASE_OFF, PHASE_ACQUIRING, PHASE_LEADING, PHASE_RELEASING, PHASE_ENDING };

struct lease_elector {
    struct rest_client *client;
    struct lease_options options;
    const struct lease_callbacks *callbacks;
    void *ctx;
    struct arena arena; /* texts of options */
    char lock[256];     /* "namespace/name" for the log */

    enum phase phase;
    bool lost;              /* PHASE_ENDING */
    struct rest_call *call; /* about the lease */
    struct rest_call *event;
    struct loop_timer retry, deadline;
    struct rand rand;

    struct object *lease;     /* as the server gave it last; NULL: none seen */
    char *holder;             /* observed */
    int32_t duration_seconds; /* observed */
    int32_t transitions;      /* observed */
    struct timestamp acquired;
    int64_t observed_at; /* our clock, when the record was last seen to change */
    char *reported;      /* the holder last told; NULL: none yet */
};

/* --- metrics ---------------------------------------------------------------------------------- */

/* Upstream's name of the election, whatever the lease is called. */
#define ELECTION "kube-scheduler"

static const struct metric_desc status_desc = {
    .name = "leader_election_master_status",
    .help = "1 where this instance leads, 0 where it stands by.",
    .stability = "ALPHA",
    .kind = METRIC_GAUGE,
    .labels = {"name"}};
static const struct metric_desc slowpath_desc = {
    .name = "leader_election_slowpath_total",
    .help = "Renewals of the lease that had to look at it first.",
    .stability = "ALPHA",
    .kind = METRIC_COUNTER,
    .labels = {"name"}};

static void count_leading(const struct lease_elector *e, bool leads)
{
    struct metrics *m = e->options.metrics;

    if (m)
        metric_set(metric_with(metrics_add(m, &status_desc), &STR(ELECTION)), leads);
}

static void count_slowpath(const struct lease_elector *e)
{
    struct metrics *m = e->options.metrics;

    if (m)
        metric_add(metric_with(metrics_add(m, &slowpath_desc), &STR(ELECTION)), 1);
}

/* --- the record ------------------------------------------------------------------------------- */

static int64_t now(const struct lease_elector *e)
{
    return loop_now(rest_client_loop(e->client));
}

bool lease_elector_is_leader(const struct lease_elector *e)
{
    return e->holder && str_is(e->options.identity, e->holder);
}

static bool is_valid(const struct lease_elector *e)
{
    return e->observed_at + e->duration_seconds * NSEC_PER_SEC > now(e);
}

static void observe(struct lease_elector *e, const struct lease_spec *spec)
{
    free(e->holder);
    e->holder = spec->holder_identity ? str_dup(*spec->holder_identity) : xstrdup("");
    e->duration_seconds = spec->lease_duration_seconds ? *spec->lease_duration_seconds : 0;
    e->transitions = spec->lease_transitions ? *spec->lease_transitions : 0;
    e->acquired = spec->acquire_time;
    e->observed_at = now(e);
}

/* What a server's answer says. The time counts from when the record was seen to change. */
static void observe_answer(struct lease_elector *e, struct object *lease)
{
    const struct lease_spec *spec = &object_lease(lease)->spec;

    if (!e->lease || !desc_equal(&lease_spec_type, &object_lease(e->lease)->spec, spec))
        observe(e, spec);
    object_unref(e->lease);
    e->lease = lease;
}

static void report_transition(struct lease_elector *e)
{
    if (!e->holder || (e->reported && strcmp(e->holder, e->reported) == 0))
        return;
    free(e->reported);
    e->reported = xstrdup(e->holder);
    if (e->callbacks->on_new_leader)
        e->callbacks->on_new_leader(e->ctx, str_of(e->reported));
}

/* --- writing it ------------------------------------------------------------------------------- */

static int64_t request_timeout(const struct lease_elector *e)
{
    return MAX(e->options.renew_deadline / 2, NSEC_PER_SEC);
}

static struct rest_request request_of(const struct lease_elector *e, enum rest_verb verb)
{
    return (struct rest_request){
        .verb = verb,
        .kind = kind_get(KIND_LEASE),
        .namespace = e->options.namespace,
        .name = verb == REST_CREATE ? (struct str){0} : e->options.name,
        .timeout = request_timeout(e),
    };
}

/* The record that we want to stand there; holder empty: a release. Keeps all else of the lease. */
static void write_record(struct lease_elector *e, enum rest_verb verb, struct str holder,
                         rest_done_fn *fn)
{
    struct rest_request request = request_of(e, verb);
    struct lease lease = {0};
    struct timestamp wall = timestamp_of(time_wall());
    bool ours = lease_elector_is_leader(e);
    bool release = str_empty(holder);
    int32_t seconds = release ? 1 : (int32_t)MAX(e->options.lease_duration / NSEC_PER_SEC, 1);
    int32_t transitions = e->transitions + (ours || verb == REST_CREATE ? 0 : 1);

    if (verb == REST_UPDATE)
        lease = *object_lease(e->lease);
    lease.spec.preferred_holder = NULL;
    if (!e->options.coordinated || release)
        lease.spec.strategy = NULL;
    lease.metadata.namespace = e->options.namespace;
    lease.metadata.name = e->options.name;
    lease.spec.holder_identity = &holder;
    lease.spec.lease_duration_seconds = &seconds;
    lease.spec.lease_transitions = &transitions;
    lease.spec.acquire_time = ours && !release ? e->acquired : wall;
    lease.spec.renew_time = wall;
    request.body_kind = kind_get(KIND_LEASE);
    request.body = &lease;
    e->call = rest_send(e->client, &request, fn, e);
}

/* --- one attempt to acquire or renew ---------------------------------------------------------- */

static void attempt_done(struct lease_elector *e, bool ok);
static void end_if_silent(struct lease_elector *e);

static void log_failure(const struct lease_elector *e, const char *what,
                        const struct rest_result *result)
{
    log_error(what, KV_ERR(&result->err), KV_CSTR("lock", e->lock));
}

/* Takes the answer to a write of ours. */
static bool take_written(struct lease_elector *e, const struct rest_result *result,
                         const char *complaint)
{
    struct rest_result bad = *result;
    struct object *lease;

    if (result->code == 0)
        bad.code = rest_result_object(result, &lease, &bad.err);
    if (bad.code < 0) {
        log_failure(e, complaint, &bad);
        return false;
    }
    observe(e, &object_lease(lease)->spec);
    object_unref(e->lease);
    e->lease = lease;
    return true;
}

static void on_updated(void *ctx, const struct rest_result *result)
{
    struct lease_elector *e = ctx;

    e->call = NULL;
    attempt_done(e, take_written(e, result, "Failed to update lease"));
}

static void on_created(void *ctx, const struct rest_result *result)
{
    struct lease_elector *e = ctx;

    e->call = NULL;
    attempt_done(e, take_written(e, result, "Error initially creating lease lock"));
}

/* No lease: who comes first makes it, unless the server does that. */
static void on_missing(struct lease_elector *e, const struct rest_result *result)
{
    if (e->options.coordinated) {
        log_info(0, "Lease lock not found", KV_CSTR("lock", e->lock), KV_ERR(&result->err));
        attempt_done(e, false);
    } else {
        write_record(e, REST_CREATE, e->options.identity, on_created);
    }
}

/* Whether the lease that was just looked at is ours to write. */
static bool may_write(const struct lease_elector *e)
{
    bool ours = lease_elector_is_leader(e), valid = is_valid(e);
    struct log_kv lock = KV_CSTR("lock", e->lock), holder = KV_CSTR("holder", e->holder);
    const struct str *preferred = object_lease(e->lease)->spec.preferred_holder;

    if (!e->options.coordinated) {
        if (*e->holder && valid && !ours)
            log_info(4, "Lease is held by and has not yet expired", lock, holder);
        return !*e->holder || !valid || ours;
    }
    if (!valid)
        log_info(0, "Lease has expired", lock);
    else if (!ours)
        log_info(6, "Lease is held and has not yet expired", lock, holder);
    else if (preferred && !str_empty(*preferred))
        log_info(4, "Lease is marked as 'end of term'", lock);
    else
        return true;
    return false;
}

static void on_got(void *ctx, const struct rest_result *result)
{
    struct lease_elector *e = ctx;
    struct rest_result bad = *result;
    struct object *lease;

    e->call = NULL;
    if (result->status == 404) {
        on_missing(e, result);
        return;
    }
    if (result->code == 0)
        bad.code = rest_result_object(result, &lease, &bad.err);
    if (bad.code < 0) {
        log_failure(e, "Error retrieving lease lock", &bad);
        attempt_done(e, false);
        return;
    }
    observe_answer(e, lease);
    if (!may_write(e)) {
        attempt_done(e, false);
        return;
    }
    if (lease_elector_is_leader(e))
        count_slowpath(e);
    write_record(e, REST_UPDATE, e->options.identity, on_updated);
}

static void get_lease(struct lease_elector *e, rest_done_fn *fn)
{
    struct rest_request request = request_of(e, REST_GET);

    e->call = rest_send(e->client, &request, fn, e);
}

static void on_renewed(void *ctx, const struct rest_result *result)
{
    struct lease_elector *e = ctx;

    e->call = NULL;
    if (result->code == 0) {
        attempt_done(e, take_written(e, result, "Failed to update lease"));
        return;
    }
    log_info(2, "Failed to update lease optimistically, falling back to slow path",
             KV_CSTR("lock", e->lock), KV_ERR(&result->err));
    get_lease(e, on_got);
}

/* The leader assumes that nobody has touched the lease; the resource version tells if so. */
static void attempt(struct lease_elector *e)
{
    if (!e->options.coordinated && e->lease && lease_elector_is_leader(e) && is_valid(e))
        write_record(e, REST_UPDATE, e->options.identity, on_renewed);
    else
        get_lease(e, on_got);
}

/* --- the round -------------------------------------------------------------------------------- */

static void on_retry(struct loop_timer *timer)
{
    struct lease_elector *e = CONTAINER_OF(timer, struct lease_elector, retry);

    if (e->phase == PHASE_LEADING && !loop_timer_pending(&e->deadline))
        loop_timer_set(&e->deadline, e->options.renew_deadline);
    attempt(e);
}

/* --- events ----------------------------------------------------------------------------------- */

static void on_event_sent(void *ctx, const struct rest_result *result)
{
    struct lease_elector *e = ctx;

    e->event = NULL;
    if (result->code < 0)
        log_error("Unable to record event (will not retry!)", KV_ERR(&result->err));
    end_if_silent(e);
}

static void send_event(struct lease_elector *e, const char *what)
{
    struct buf message = BUF_INIT;

    if (!e->options.event_client || !e->lease)
        return;
    e->event = rest_cancel(e->event);
    buf_add_printf(&message, "%.*s %s", STR_ARG(e->options.identity), what);
    e->event = lease_event_send(e->options.event_client, object_meta(e->lease),
                                e->options.component, buf_str(&message), on_event_sent, e);
    buf_release(&message);
}

/* --- the end of a round ----------------------------------------------------------------------- */

/* When a candidate looks again: as upstream, but not after the lease that it saw has run out. */
static int64_t until_next_look(struct lease_elector *e)
{
    int64_t wait = backoff_jitter(&e->rand, e->options.retry_period, JITTER);
    int64_t left = e->observed_at + e->duration_seconds * NSEC_PER_SEC - now(e);

    return e->lease && left > 0 ? MIN(wait, left + NSEC_PER_MSEC) : wait;
}

static void attempt_done(struct lease_elector *e, bool ok)
{
    bool acquired = ok && e->phase == PHASE_ACQUIRING;

    if (ok) {
        loop_timer_stop(&e->deadline);
        e->phase = PHASE_LEADING;
        /* The first renewal follows at once. */
        loop_timer_set(&e->retry, acquired ? 0 : e->options.retry_period);
    } else if (e->phase == PHASE_LEADING) {
        loop_timer_set(&e->retry, e->options.retry_period);
    } else {
        loop_timer_set(&e->retry, until_next_look(e));
    }
    if (ok && !acquired)
        log_info(5, "Successfully renewed lease", KV_CSTR("lock", e->lock));
    else if (!ok && e->phase == PHASE_ACQUIRING)
        log_info(4, "Failed to acquire lease", KV_CSTR("lock", e->lock));
    /* Callbacks come last: the elector may be gone after them. */
    if (acquired) {
        count_leading(e, true);
        send_event(e, "became leader");
        log_info(0, "Successfully acquired lease", KV_CSTR("lock", e->lock));
        loop_timer_set(&e->deadline, e->options.renew_deadline);
        free(e->reported);
        e->reported = xstrdup(e->holder);
        if (e->callbacks->on_new_leader)
            e->callbacks->on_new_leader(e->ctx, e->options.identity);
        e->callbacks->on_started_leading(e->ctx);
        return;
    }
    report_transition(e);
}

static void stopped(struct lease_elector *e, bool lost)
{
    e->phase = PHASE_OFF;
    count_leading(e, false);
    e->call = rest_cancel(e->call);
    e->event = rest_cancel(e->event);
    loop_timer_stop(&e->retry);
    loop_timer_stop(&e->deadline);
    e->callbacks->on_stopped_leading(e->ctx, lost);
}

static void end_if_silent(struct lease_elector *e)
{
    if (e->phase == PHASE_ENDING && !e->event)
        stopped(e, e->lost);
}

/* It led and does no more; what is left is to say so. */
static void stop_leading(struct lease_elector *e, bool lost)
{
    e->phase = PHASE_ENDING;
    e->lost = lost;
    count_leading(e, false);
    e->call = rest_cancel(e->call);
    loop_timer_stop(&e->retry);
    loop_timer_set(&e->deadline, LAST_WORD);
    if (lost && e->callbacks->on_lost)
        e->callbacks->on_lost(e->ctx);
    send_event(e, "stopped leading");
    end_if_silent(e);
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
        log_info(0, "Failed to renew lease", KV_CSTR("lock", e->lock),
                 KV_CSTR("err", "context deadline exceeded"));
        stop_leading(e, true);
    }
}

/* --- giving it back --------------------------------------------------------------------------- */

static void on_released(void *ctx, const struct rest_result *result)
{
    struct lease_elector *e = ctx;

    e->call = NULL;
    if (result->code < 0)
        log_failure(e, "Failed to release lease", result);
    stop_leading(e, false);
}

/* A renewal of ours may have come through without our knowing: only the server's word counts. */
static void on_last_look(void *ctx, const struct rest_result *result)
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
            log_failure(e, "error retrieving resource lock", &bad);
        stop_leading(e, false);
        return;
    }
    observe_answer(e, lease);
    if (lease_elector_is_leader(e))
        write_record(e, REST_UPDATE, STR(""), on_released);
    else
        stop_leading(e, false);
}

void lease_elector_stop(struct lease_elector *e)
{
    bool leading = e->phase == PHASE_LEADING && lease_elector_is_leader(e) && e->lease;

    e->call = rest_cancel(e->call);
    loop_timer_stop(&e->retry);
    loop_timer_stop(&e->deadline);
    if (!leading) {
        stopped(e, false);
        return;
    }
    e->phase = PHASE_RELEASING;
    loop_timer_set(&e->deadline, e->options.renew_deadline);
    get_lease(e, on_last_look);
}

/* --- lifecycle -------------------------------------------------------------------------------- */

static struct str make_identity(struct arena *a)
{
    char host[256] = "unknown";
    uint64_t hi = rand_entropy(), lo = rand_entropy();

    if (gethostname(host, sizeof(host) - 1) < 0)
        host[0] = '\0';
    host[sizeof(host) - 1] = '\0';
    /* A version 4 UUID. */
    return arena_printf(a, "%s_%08x-%04x-4%03x-%04x-%012llx", host, (unsigned)(hi >> 32),
                        (unsigned)(hi >> 16 & 0xffff), (unsigned)(hi & 0xfff),
                        (unsigned)(0x8000 | (lo >> 48 & 0x3fff)),
                        (unsigned long long)(lo & 0xffffffffffff));
}

static int settle(struct lease_elector *e, struct err *reterr)
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
                       "be set, and all times be positive");
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
    rand_seed(&e->rand, options->seed ? options->seed : rand_entropy());
    r = settle(e, reterr);
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
    attempt(e);
}

struct lease_elector *lease_elector_free(struct lease_elector *e)
{
    if (!e)
        return NULL;
    rest_cancel(e->call);
    rest_cancel(e->event);
    loop_timer_stop(&e->retry);
    loop_timer_stop(&e->deadline);
    object_unref(e->lease);
    free(e->holder);
    free(e->reported);
    arena_release(&e->arena);
    free(e);
    return NULL;
}

struct str lease_elector_identity(const struct lease_elector *e)
{
    return e->options.identity;
}

struct str lease_elector_leader(const struct lease_elector *e)
{
    return str_of(e->holder);
}

bool lease_elector_is_healthy(const struct lease_elector *e, int64_t tolerance)
{
    return e->phase != PHASE_LEADING ||
           now(e) - e->observed_at <= e->options.lease_duration + tolerance;
}
