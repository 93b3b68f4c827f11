/* SPDX-License-Identifier: Apache-2.0 */
/* Requests about the Lease: one attempt to acquire or renew it, and writes of its record. */
#include "kube/lease/lease_internal.h"

static const struct metric_desc slowpath_desc = {
    .name = "leader_election_slowpath_total",
    .help = "Total number of slow path exercised in renewing leader leases. 'name' is the string "
            "used to identify the lease. Please make sure to group by name.",
    .stability = "ALPHA",
    .kind = METRIC_COUNTER,
    .labels = {"name"}};

static void count_slowpath(const struct lease_elector *e)
{
    struct metrics *m = e->options.metrics;

    if (m)
        metric_add(metric_with(metrics_add(m, &slowpath_desc), &STR(LEASE_ELECTION)), 1);
}

/* --- writing ---------------------------------------------------------------------------------- */

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

/* leaseTransitions after this write. A lease that was deleted starts over. */
static int32_t transitions_with(const struct lease_elector *e, bool create)
{
    int32_t before = e->record.transitions;

    if (lease_elector_is_leader(e))
        return before;
    return create ? 0 : before + (before < INT32_MAX);
}

/* Writes our record; holder empty: a release. */
void lease_write(struct lease_elector *e, enum rest_verb verb, struct str holder, rest_done_fn *fn)
{
    struct rest_request request = request_of(e, verb);
    bool release = str_empty(holder), create = verb == REST_CREATE;
    struct lease_claim claim = {
        .holder = holder,
        .seconds = release ? 1 : (int32_t)MAX(e->options.lease_duration / NSEC_PER_SEC, 1),
        .transitions = transitions_with(e, create),
    };
    struct lease lease;

    lease_record_fill(&e->record, &claim, create, &lease);
    if (!e->options.coordinated || release)
        lease.spec.strategy = NULL;
    lease.metadata.namespace = e->options.namespace;
    lease.metadata.name = e->options.name;
    request.body_kind = kind_get(KIND_LEASE);
    request.body = &lease;
    e->sent_at = lease_now(e);
    e->call = rest_send(e->client, &request, fn, e);
}

/* --- acquiring and renewing ------------------------------------------------------------------- */

void lease_log_failure(const struct lease_elector *e, const char *what,
                       const struct rest_result *result)
{
    log_error(what, KV_ERR(&result->err), KV_CSTR("lock", e->lock));
}

/* Refused because the lease has changed or is gone: another instance may have it. */
static void note_refusal(struct lease_elector *e, const struct rest_result *result)
{
    if (result->status == 409 || result->status == 404)
        e->in_doubt = true;
}

/* Evaluates the response to our write. */
static bool take_written(struct lease_elector *e, const struct rest_result *result,
                         const char *entry)
{
    struct rest_result bad = *result;
    struct object *lease;

    if (result->code == 0)
        bad.code = rest_result_object(result, &lease, &bad.err);
    if (bad.code < 0) {
        note_refusal(e, result);
        lease_log_failure(e, entry, &bad);
        return false;
    }
    /*
     * Others count from when they see the renewal, which is after it was sent. The time of reading
     * the response does not count: it may have waited in the socket while this process was stopped.
     */
    lease_record_wrote(&e->record, lease, e->sent_at);
    e->in_doubt = false;
    return true;
}

static void on_updated(void *ctx, const struct rest_result *result)
{
    struct lease_elector *e = ctx;

    e->call = NULL;
    lease_attempt_done(e, take_written(e, result, "Failed to update lease"));
}

static void on_created(void *ctx, const struct rest_result *result)
{
    struct lease_elector *e = ctx;

    e->call = NULL;
    lease_attempt_done(e, take_written(e, result, "Error initially creating lease lock"));
}

/* No lease: the first candidate creates it, unless the server does (coordinated). */
static void on_missing(struct lease_elector *e, const struct rest_result *result)
{
    if (e->options.coordinated) {
        log_info(0, "Lease lock not found", KV_CSTR("lock", e->lock), KV_ERR(&result->err));
        lease_attempt_done(e, false);
    } else {
        lease_write(e, REST_CREATE, e->options.identity, on_created);
    }
}

/*
 * Whether the lease that was just read may be written (client-go: isLeaseValid and holder checks).
 */
static bool may_write(const struct lease_elector *e)
{
    bool ours = lease_elector_is_leader(e), valid = lease_is_valid(e);
    struct log_kv lock = KV_CSTR("lock", e->lock), holder = KV_CSTR("holder", e->record.holder);
    const struct str *preferred = object_lease(e->record.lease)->spec.preferred_holder;

    if (!e->options.coordinated) {
        if (*e->record.holder && valid && !ours)
            log_info(4, "Lease is held by and has not yet expired", lock, holder);
        return !*e->record.holder || !valid || ours;
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
        lease_log_failure(e, "Error retrieving lease lock", &bad);
        lease_attempt_done(e, false);
        return;
    }
    lease_record_observe(&e->record, lease, lease_now(e));
    if (!may_write(e)) {
        lease_attempt_done(e, false);
        return;
    }
    if (lease_elector_is_leader(e))
        count_slowpath(e);
    lease_write(e, REST_UPDATE, e->options.identity, on_updated);
}

void lease_get(struct lease_elector *e, rest_done_fn *fn)
{
    struct rest_request request = request_of(e, REST_GET);

    e->call = rest_send(e->client, &request, fn, e);
}

static void on_renewed(void *ctx, const struct rest_result *result)
{
    struct lease_elector *e = ctx;

    e->call = NULL;
    if (result->code == 0) {
        lease_attempt_done(e, take_written(e, result, "Failed to update lease"));
        return;
    }
    note_refusal(e, result);
    log_info(2, "Failed to update lease optimistically, falling back to slow path",
             KV_CSTR("lock", e->lock), KV_ERR(&result->err));
    lease_get(e, on_got);
}

/*
 * client-go's fast path: the leader assumes that the lease is unchanged and updates it without
 * reading; a conflict of resource versions shows if it is not.
 */
void lease_attempt(struct lease_elector *e)
{
    if (!e->options.coordinated && !e->in_doubt && e->record.lease && lease_elector_is_leader(e) &&
        lease_is_valid(e))
        lease_write(e, REST_UPDATE, e->options.identity, on_renewed);
    else
        lease_get(e, on_got);
}
