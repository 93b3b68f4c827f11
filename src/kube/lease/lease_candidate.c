/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/lease/lease_candidate.h"

#include "api/coordination.h"
#include "base/log.h"
#include "kube/watch/reflector.h"

/* client-go: requeueInterval of LeaseCandidate. */
#define RENEW_EVERY (300 * NSEC_PER_SEC)

struct lease_candidature {
    struct rest_client *client;
    struct lease_candidate_options options;
    struct arena arena; /* strings of options */
    struct reflector *reflector;
    struct rest_call *call;
    bool creating; /* the current call is a create */
    struct loop_timer again;
    struct backoff backoff;
};

static const struct log_kv logger = {
    .key = "logger", .kind = LOG_KV_STR, .str = STR_INIT("leasecandidate")};

/* --- writing ---------------------------------------------------------------------------------- */

static void on_written(void *ctx, const struct rest_result *result)
{
    struct lease_candidature *c = ctx;
    struct loop *loop = rest_client_loop(c->client);

    c->call = NULL;
    if (result->code < 0) {
        log_error("Ensuring lease failed", KV_ERR(&result->err), logger);
        loop_timer_set(&c->again, backoff_next(&c->backoff, loop_now(loop)));
        return;
    }
    if (c->creating)
        log_info(2, "Created lease candidate", logger);
    backoff_reset(&c->backoff);
    loop_timer_set(&c->again, RENEW_EVERY);
}

static void fill(const struct lease_candidature *c, struct lease_candidate *candidate)
{
    *candidate = (struct lease_candidate){
        .metadata = {.namespace = c->options.namespace, .name = c->options.name},
        .spec = {.lease_name = c->options.lease_name,
                 .binary_version = c->options.binary_version,
                 .emulation_version = c->options.emulation_version,
                 .strategy = c->options.strategy},
    };
}

static void ensure(struct lease_candidature *c)
{
    struct object *known = reflector_get(c->reflector, c->options.namespace, c->options.name);
    const struct kind *kind = kind_get(KIND_LEASE_CANDIDATE);
    struct lease_candidate candidate;

    if (known)
        candidate = *object_lease_candidate(known);
    else
        fill(c, &candidate);
    candidate.spec.renew_time = timestamp_of(time_wall());
    if (known)
        log_info(2, "Lease candidate exists. Renewing.", logger);
    else
        log_info(2, "Creating lease candidate", logger);
    struct rest_request request = {.verb = known ? REST_UPDATE : REST_CREATE,
                                   .kind = kind,
                                   .namespace = c->options.namespace,
                                   .name = known ? c->options.name : STR(""),
                                   .body_kind = kind,
                                   .body = &candidate};
    rest_cancel(c->call);
    c->creating = !known;
    c->call = rest_send(c->client, &request, on_written, c);
}

static void on_again(struct loop_timer *timer)
{
    ensure(CONTAINER_OF(timer, struct lease_candidature, again));
}

/* --- watching --------------------------------------------------------------------------------- */

/*
 * The server pings candidates to see whether they are alive (client-go: pingTime after renewTime).
 */
static void on_event(void *ctx, enum watch_event_type type, struct object *old,
                     struct object *object)
{
    struct lease_candidature *c = ctx;
    const struct lease_candidate_spec *spec = &object_lease_candidate(object)->spec;

    (void)old;
    if (type == WATCH_MODIFIED && spec->ping_time.set &&
        timestamp_cmp(spec->ping_time, spec->renew_time) > 0)
        loop_timer_set(&c->again, 0);
}

static void on_synced(void *ctx, const struct kind *kind)
{
    struct lease_candidature *c = ctx;

    (void)kind;
    loop_timer_set(&c->again, 0);
}

static const struct reflector_sink sink = {.on_event = on_event, .on_synced = on_synced};

/* --- lifecycle -------------------------------------------------------------------------------- */

static void copy_options(struct lease_candidature *c, const struct lease_candidate_options *o)
{
    c->options = (struct lease_candidate_options){
        .namespace = arena_dup(&c->arena, o->namespace),
        .name = arena_dup(&c->arena, o->name),
        .lease_name = arena_dup(&c->arena, o->lease_name),
        .binary_version = arena_dup(&c->arena, o->binary_version),
        .emulation_version = arena_dup(&c->arena, o->emulation_version),
        .strategy = arena_dup(&c->arena, o->strategy),
    };
}

struct lease_candidature *lease_candidature_new(struct rest_client *client,
                                                const struct lease_candidate_options *options)
{
    static const struct backoff_options patience = {
        .initial = 5 * NSEC_PER_MSEC, .max = 1000 * NSEC_PER_SEC, .factor = 2};
    struct lease_candidature *c = xnew(struct lease_candidature);
    struct reflector_options reflector = {.kind = kind_get(KIND_LEASE_CANDIDATE)};

    c->client = client;
    arena_init(&c->arena, 0);
    copy_options(c, options);
    reflector.namespace = c->options.namespace;
    reflector.field_selector =
        arena_printf(&c->arena, "metadata.name=%.*s", STR_ARG(c->options.name));
    c->reflector = reflector_new(client, &reflector, &sink, c);
    backoff_init(&c->backoff, &patience, 1);
    loop_timer_init(&c->again, rest_client_loop(client), on_again);
    return c;
}

void lease_candidature_start(struct lease_candidature *c)
{
    reflector_start(c->reflector);
}

bool lease_candidature_has_synced(const struct lease_candidature *c)
{
    return reflector_has_synced(c->reflector);
}

struct lease_candidature *lease_candidature_free(struct lease_candidature *c)
{
    if (!c)
        return NULL;
    rest_cancel(c->call);
    loop_timer_stop(&c->again);
    reflector_free(c->reflector);
    arena_release(&c->arena);
    free(c);
    return NULL;
}
