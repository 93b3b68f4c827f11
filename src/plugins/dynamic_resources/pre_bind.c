/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pre_bind.c - PreBind: writes the allocations and reservations that Reserve decided on, claim by
 * claim, then waits until the devices are ready (upstream: bindClaim, isPodReadyForBinding).
 *
 * For each claim that is not reserved for the pod:
 *
 *     create ─ finalizer ─ status ─ pod's status ─ seen ─ next claim
 *
 * Then the pod's status, if the claims take resources of the node.
 *
 * Only a claim for extended resources is created, written to the pod's status, and waited for until
 * the watch shows it. A conflict begins again with a GET, up to five times. Whatever fails, the pod
 * no longer shares the pending allocation of the claim; Unreserve does the rest.
 *
 * If PreBind is cancelled while a request is under way, the allocation stays pending until the
 * answer has come: the request may still be executed, and the devices must not be given to
 * another pod meanwhile.
 */
#include "codec/json.h"
#include "engine/metrics/scheduler_metrics.h"
#include "plugins/dynamic_resources/claim_binding.h"

/* Upstream: retry.DefaultRetry. */
#define RETRIES      5
#define RETRY_DELAY  (10 * NSEC_PER_MSEC)
/* How long a created claim is waited for. */
#define SEEN_TIMEOUT (120 * NSEC_PER_SEC)

static void next_claim(struct claim_binding *b);

/* --- the end ---------------------------------------------------------------------------------- */

static void stop_waiting(struct claim_binding *b)
{
    claim_cache_unwatch(&b->shared->claims, &b->watcher);
    if (b->timer)
        b->shared->host->timer_cancel(b->shared->handle, b->timer);
    if (b->call)
        b->shared->host->api_forget(b->shared->handle, b->call);
    b->timer = b->call = 0;
}

static void free_binding(struct claim_binding *b)
{
    stop_waiting(b);
    object_unref(b->claim);
    free(b->uid);
    free(b->pod_uid);
    free(b);
}

static void leave_plugin(struct claim_binding *b)
{
    struct dynamic_resources *self = TAKE(b->self);
    struct claim_binding *last = vec_pop(&self->bindings);
    if (last == b)
        return;
    self->bindings.v[b->slot] = last;
    last->slot = b->slot;
}

void dra_drop_bindings(struct dynamic_resources *self)
{
    while (self->bindings.n) {
        struct claim_binding *b = vec_last(&self->bindings);
        leave_plugin(b);
        free_binding(b);
    }
    vec_release(&self->bindings);
}

void dra_drop_orphans(struct dra_shared *shared)
{
    for (size_t i = 0; i < shared->orphans.n; i++)
        free_binding(shared->orphans.v[i]);
    vec_release(&shared->orphans);
}

/* The answer to a request of a cancelled binding. */
static void end_orphan(struct claim_binding *b, const struct berth_api_result *result)
{
    struct dra_shared *shared = b->shared;
    struct object *claim = result->status >= 200 && result->status < 300
                               ? (struct object *)(uintptr_t)result->object
                               : NULL;
    bool assumed = false;
    if (claim && b->creates) {
        claim_remove(shared, claim);
    } else if (claim && object_kind(claim)->id == KIND_RESOURCE_CLAIM) {
        assumed = claim_cache_assume(&shared->claims, claim) == 0;
        const struct resource_claim *c = object_resource_claim(claim);
        for (size_t i = 0; i < c->status.reserved_for.n; i++)
            if (str_is(c->status.reserved_for.v[i].uid, b->pod_uid))
                claim_unreserve(shared, &c->metadata, str_of(b->pod_uid));
    } else if (claim && b->writes_node_claims) {
        pod_clear_node_claims(shared, object_meta(claim)); /* the pod; Unreserve was too early */
    }
    if (b->uid)
        claim_cache_drop_pending(&shared->claims, str_of(b->uid), assumed);
    for (size_t i = 0; i < shared->orphans.n; i++)
        if (shared->orphans.v[i] == b) {
            vec_swap_remove(&shared->orphans, i);
            break;
        }
    free_binding(b);
}

/* An answer has come. Returns false if PreBind was cancelled: b has ended. */
static bool goes_on(struct claim_binding *b, const struct berth_api_result *result)
{
    b->call = 0;
    if (b->self)
        return true;
    end_orphan(b, result);
    return false;
}

void dra_binding_end(struct claim_binding *b, enum berth_code code, struct str why)
{
    struct dynamic_resources *self = b->self;
    berth_op op = b->op;
    if (code != BERTH_SUCCESS)
        engine_log(self->log, 5, "dynamic resource plugin failed", KV_POD(b->pod),
                   KV_STR("err", why));
    leave_plugin(b);
    free_binding(b);
    self->host->op_done(self->handle, op, code, abi_str(why));
}

static struct used_claim *current(const struct claim_binding *b)
{
    return &b->state->v[b->index];
}

static struct str initial_uid(const struct claim_binding *b)
{
    const struct used_claim *c = current(b);
    return c == dra_extended_claim(b->state) ? b->state->initial_uid : c->claim->metadata.uid;
}

/* This pod no longer waits for the allocation; written: no pod has to. */
static void drop_pending(struct claim_binding *b, bool written)
{
    struct used_claim *c = current(b);
    if (c->pending)
        claim_cache_drop_pending(&b->shared->claims, initial_uid(b), written);
    c->pending = false;
}

/* The claim under way has failed. */
static void fail(struct claim_binding *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void fail(struct claim_binding *b, const char *fmt, ...)
{
    struct buf why = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_add_vprintf(&why, fmt, ap);
    va_end(ap);
    drop_pending(b, false);
    dra_binding_end(b, BERTH_ERROR, buf_str(&why));
    buf_release(&why);
}

static bool answered_ok(const struct berth_api_result *r)
{
    return r->status >= 200 && r->status < 300;
}

#define CLAIM_ARG(b) \
    STR_ARG(object_meta((b)->claim)->namespace), STR_ARG(object_meta((b)->claim)->name)

/* --- one claim: finalizer and status ---------------------------------------------------------- */

static void write_claim(struct claim_binding *b);

static void take_object(struct claim_binding *b, const struct berth_api_result *result)
{
    if (!result->object)
        return;
    object_unref(b->claim);
    b->claim = object_ref((struct object *)(uintptr_t)result->object);
}

static void on_refreshed(void *ctx, const struct berth_api_result *result)
{
    struct claim_binding *b = ctx;
    if (!goes_on(b, result))
        return;
    if (!answered_ok(result)) {
        fail(b, "get updated claim %.*s/%.*s after conflict: %.*s", CLAIM_ARG(b),
             STR_ARG(str_abi(result->message)));
        return;
    }
    take_object(b, result);
    write_claim(b);
}

static void refresh(void *ctx)
{
    struct claim_binding *b = ctx;
    b->timer = 0;
    engine_log(b->self->log, 5, "retrying update after conflict",
               KV_META("claim", object_meta(b->claim)));
    b->call = claim_read(b->shared, object_meta(b->claim), on_refreshed, b);
}

/* A write failed: begins again after a conflict. */
static void write_failed(struct claim_binding *b, const char *what,
                         const struct berth_api_result *result)
{
    if (result->status == 409 && ++b->tries < RETRIES) {
        b->timer = b->shared->host->timer(b->shared->handle, RETRY_DELAY, refresh, b);
        return;
    }
    fail(b, "%s claim %.*s/%.*s: %.*s", what, CLAIM_ARG(b), STR_ARG(str_abi(result->message)));
}

static void claim_written(struct claim_binding *b);

static void on_status_written(void *ctx, const struct berth_api_result *result)
{
    struct claim_binding *b = ctx;
    if (!goes_on(b, result))
        return;
    if (!answered_ok(result)) {
        write_failed(
            b, current(b)->allocation ? "add allocation and reservation to" : "add reservation to",
            result);
        return;
    }
    take_object(b, result);
    claim_written(b);
}

static void write_status(struct claim_binding *b)
{
    const struct resource_claim *claim = object_resource_claim(b->claim);
    const struct used_claim *used = current(b);
    struct claim_status_change change = {.allocation = used->allocation,
                                         .consumer = &used->consumer};
    if (b->self->gates.binding_conditions) {
        const struct allocation_result *a =
            used->allocation ? used->allocation : claim->status.allocation;
        if (!a) {
            fail(b, "claim %.*s/%.*s got deallocated elsewhere in the meantime", CLAIM_ARG(b));
            return;
        }
        if (!a->allocation_timestamp.set)
            change.allocation_timestamp = timestamp_of(handle_wall(b->self->handle));
    }
    struct buf body = BUF_INIT;
    enum berth_patch type = claim_status_body(claim, &change, &body);
    b->call = claim_patch(b->shared, &claim->metadata, STR("status"), type, buf_str(&body),
                          on_status_written, b);
    buf_release(&body);
}

static void on_finalizer_written(void *ctx, const struct berth_api_result *result)
{
    struct claim_binding *b = ctx;
    if (!goes_on(b, result))
        return;
    if (!answered_ok(result)) {
        write_failed(b, "add finalizer to", result);
        return;
    }
    take_object(b, result);
    write_status(b);
}

static void write_claim(struct claim_binding *b)
{
    const struct resource_claim *claim = object_resource_claim(b->claim);
    bool allocates = current(b)->allocation;
    if (claim->metadata.deletion_timestamp.set) {
        fail(b, "claim %.*s/%.*s got deleted in the meantime", CLAIM_ARG(b));
        return;
    }
    /* Another pod of the group, which shares the allocation, was faster. */
    if (b->tries && claim_is_reserved_for(claim, b->pod->pod, b->self->gates.of_groups)) {
        claim_written(b);
        return;
    }
    if (allocates && claim->status.allocation) {
        fail(b, "claim %.*s/%.*s got allocated elsewhere in the meantime", CLAIM_ARG(b));
        return;
    }
    if (!allocates || claim_has_finalizer(claim)) {
        write_status(b);
        return;
    }
    struct buf body = BUF_INIT;
    claim_finalizer_body(claim, true, &body);
    b->call = claim_patch(b->shared, &claim->metadata, STR(""), BERTH_PATCH_MERGE, buf_str(&body),
                          on_finalizer_written, b);
    buf_release(&body);
}

/* --- one claim: for extended resources -------------------------------------------------------- */

/* Upstream: waitForExtendedClaimInAssumeCache. It goes on after the timeout, too. */
static void claim_seen(struct claim_binding *b)
{
    struct used_claim *c = current(b);
    used_claim_set(c, b->claim);
    drop_pending(b, true);
    b->index++;
    next_claim(b);
}

static void on_seen_timeout(void *ctx)
{
    struct claim_binding *b = ctx;
    b->timer = 0;
    claim_cache_unwatch(&b->shared->claims, &b->watcher);
    claim_seen(b);
}

static void look_for_claim(struct claim_watcher *w)
{
    struct claim_binding *b = CONTAINER_OF(w, struct claim_binding, watcher);
    const struct object_meta *meta = object_meta(b->claim);
    struct dynamic_resources *self = b->self;
    if (claim_cache_assume(&self->shared->claims, b->claim) == -ENOENT) {
        claim_cache_watch(&self->shared->claims, w, meta->namespace, meta->name);
        if (!b->timer)
            b->timer = self->host->timer(b->shared->handle, SEEN_TIMEOUT, on_seen_timeout, b);
        return;
    }
    if (b->timer)
        self->host->timer_cancel(b->shared->handle, b->timer);
    b->timer = 0;
    claim_seen(b);
}

static void on_pod_written(void *ctx, const struct berth_api_result *result)
{
    struct claim_binding *b = ctx;
    if (!goes_on(b, result))
        return;
    const struct object_meta *pod = &b->pod->pod->metadata;
    if (!answered_ok(result)) {
        fail(b, "update pod %.*s/%.*s ExtendedResourceClaimStatus: %.*s", STR_ARG(pod->namespace),
             STR_ARG(pod->name), STR_ARG(str_abi(result->message)));
        return;
    }
    b->watcher.fn = look_for_claim;
    look_for_claim(&b->watcher);
}

/* Upstream: patchPodExtendedResourceClaimStatus. */
static void write_pod(struct claim_binding *b)
{
    struct claims_state *s = b->state;
    struct pod_extended_resource_claim_status status = {.resource_claim_name =
                                                            object_meta(b->claim)->name};
    /* The encoder only reads. */
    status.request_mappings.v =
        (struct container_extended_resource_request *)(uintptr_t)s->mappings;
    status.request_mappings.n = s->n_mappings;
    struct buf body = BUF_INIT;
    buf_add_cstr(&body, "{\"status\":{\"extendedResourceClaimStatus\":");
    json_encode(&pod_extended_resource_claim_status_type, &status, &body);
    buf_add_cstr(&body, "}}");
    b->call = dra_patch_pod(b->shared, &b->pod->pod->metadata, buf_str(&body), on_pod_written, b);
    buf_release(&body);
}

static void count_created(const struct claim_binding *b, bool ok)
{
    struct str status = ok ? STR("success") : STR("failure");
    scheduler_metrics_add(handle_metrics(b->self->handle), FAMILY_RESOURCE_CLAIM_CREATES, &status,
                          1);
}

static void on_created(void *ctx, const struct berth_api_result *result)
{
    struct claim_binding *b = ctx;
    if (!goes_on(b, result))
        return;
    bool ok = answered_ok(result) && result->object;
    b->creates = false;
    count_created(b, ok);
    if (!ok) {
        fail(b, "create claim for extended resources %.*s/: %.*s",
             STR_ARG(b->pod->pod->metadata.namespace), STR_ARG(str_abi(result->message)));
        return;
    }
    take_object(b, result);
    /* From now on Unreserve deletes it; the pending allocation keeps its first UID. */
    used_claim_set(current(b), b->claim);
    write_claim(b);
}

/* Upstream: createExtendedResourceClaimInAPI. */
static void create_claim(struct claim_binding *b)
{
    const struct object_meta *pod = &b->pod->pod->metadata;
    struct buf body = BUF_INIT;
    buf_add_cstr(&body, "{\"apiVersion\":\"" RESOURCE_API "\",\"kind\":\"ResourceClaim\","
                        "\"metadata\":{\"generateName\":");
    struct buf name = BUF_INIT;
    buf_add_str(&name, pod->name);
    buf_add_cstr(&name, "-extended-resources-");
    json_write_str(&body, buf_str(&name));
    buf_release(&name);
    buf_add_cstr(&body, ",\"namespace\":");
    json_write_str(&body, pod->namespace);
    buf_add_cstr(&body, ",\"annotations\":{\"" ANN_EXTENDED_RESOURCE_CLAIM "\":\"true\"},"
                        "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":");
    json_write_str(&body, pod->name);
    buf_add_cstr(&body, ",\"uid\":");
    json_write_str(&body, pod->uid);
    buf_add_cstr(&body, ",\"controller\":true}]},\"spec\":");
    buf_add_str(&body, b->state->extended_spec);
    buf_add_char(&body, '}');
    struct berth_api_call call = {.struct_size = sizeof(call),
                                  .verb = BERTH_API_CREATE,
                                  .api_version = BERTH_STR(RESOURCE_API),
                                  .resource = BERTH_STR("resourceclaims"),
                                  .namespace_name = abi_str(pod->namespace),
                                  .body = abi_str(buf_str(&body))};
    b->call = b->shared->host->api_call(b->shared->handle, &call, on_created, b);
    b->creates = true;
    buf_release(&body);
}

/* --- one claim after the other ---------------------------------------------------------------- */

/* Allocation and reservation are written. */
static void claim_written(struct claim_binding *b)
{
    struct used_claim *c = current(b);
    engine_log(b->self->log, 5, "reserved", KV_POD(b->pod), KV_STR("node", b->node_name),
               KV_META("resourceclaim", object_meta(b->claim)));
    used_claim_set(c, b->claim);
    if (c == dra_extended_claim(b->state)) {
        write_pod(b);
        return;
    }
    for (size_t i = b->index + 1; i < b->state->n; i++) /* the pod names it twice */
        if (str_eq(b->state->v[i].claim->metadata.uid, object_meta(b->claim)->uid))
            used_claim_set(&b->state->v[i], b->claim);
    /* If the claim was deleted or changed since, the watch has shown a newer version. */
    bool assumed = claim_cache_assume(&b->shared->claims, b->claim) == 0;
    drop_pending(b, assumed);
    b->index++;
    next_claim(b);
}

/* Nothing to write: it is reserved, or a device plugin of the node provides the resources. */
static bool is_done(const struct claim_binding *b)
{
    const struct used_claim *c = current(b);
    return claim_is_reserved_for(c->claim, b->pod->pod, b->self->gates.of_groups) ||
           (c == dra_extended_claim(b->state) && !c->allocation &&
            !c->claim->spec.devices.requests.n);
}

static void write_node_claims(struct claim_binding *b);

static void next_claim(struct claim_binding *b)
{
    b->claim = object_unref(b->claim);
    b->tries = 0;
    while (b->index < b->state->n && is_done(b)) {
        drop_pending(b, true);
        b->index++;
    }
    if (b->index == b->state->n) {
        write_node_claims(b);
        return;
    }
    b->claim = object_ref(current(b)->object);
    if (current(b) == dra_extended_claim(b->state) && claim_is_special(current(b)->claim))
        create_claim(b);
    else
        write_claim(b);
}

/* --- resources of the node -------------------------------------------------------------------- */

static void on_node_claims_written(void *ctx, const struct berth_api_result *result)
{
    struct claim_binding *b = ctx;
    if (!goes_on(b, result))
        return;
    b->writes_node_claims = false;
    if (answered_ok(result)) {
        dra_binding_wait(b);
        return;
    }
    const struct object_meta *pod = &b->pod->pod->metadata;
    struct buf why = BUF_INIT;
    buf_add_printf(&why, "updating pod %.*s/%.*s NodeAllocatableResourceClaimStatuses: %.*s",
                   STR_ARG(pod->namespace), STR_ARG(pod->name), STR_ARG(str_abi(result->message)));
    dra_binding_end(b, BERTH_ERROR, buf_str(&why));
    buf_release(&why);
}

/* Upstream: patchNodeAllocatableResourceClaimStatus. */
static void write_node_claims(struct claim_binding *b)
{
    struct claims_state *s = b->state;
    if (!s->node_claims.n) {
        dra_binding_wait(b);
        return;
    }
    struct buf body = BUF_INIT;
    buf_add_cstr(&body, "{\"status\":{\"nodeAllocatableResourceClaimStatuses\":[");
    for (size_t i = 0; i < s->node_claims.n; i++) {
        buf_add_cstr(&body, i ? "," : "");
        json_encode(&node_allocatable_resource_claim_status_type, &s->node_claims.v[i], &body);
    }
    buf_add_cstr(&body, "]}}");
    s->wrote_node_claims = b->writes_node_claims = true;
    b->call =
        dra_patch_pod(b->shared, &b->pod->pod->metadata, buf_str(&body), on_node_claims_written, b);
    buf_release(&body);
}

/* --- the start -------------------------------------------------------------------------------- */

enum berth_code dra_pre_bind(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                             struct berth_str node_name, berth_op op, struct berth_status *status)
{
    struct dynamic_resources *self = ctx;
    struct claims_state *s = self->shared ? dra_state(self, cycle) : NULL;
    if (self->shared && !s) {
        self->host->status_text(status, BERTH_STR("not found"));
        return BERTH_ERROR;
    }
    if (!s || !s->n)
        return BERTH_SUCCESS;
    s->allocator = allocator_free(s->allocator);
    struct claim_binding *b = xnew(struct claim_binding);
    b->shared = self->shared;
    b->self = self;
    b->state = s;
    b->pod = pod;
    b->node_name = str_abi(node_name);
    b->op = op;
    b->slot = self->bindings.n;
    vec_push(&self->bindings, b);
    next_claim(b);
    return BERTH_ASYNC;
}

/* Unreserve follows and gives back what is pending, except for a request that is under way. */
void dra_pre_bind_cancel(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                         berth_op op)
{
    (void)cycle;
    struct dynamic_resources *self = ctx;
    struct claim_binding *b = NULL;
    for (size_t i = 0; i < self->bindings.n; i++)
        if (self->bindings.v[i]->op == op)
            b = self->bindings.v[i];
    if (!b)
        return;
    leave_plugin(b);
    if (!b->call) {
        free_binding(b);
        return;
    }
    if (b->index < b->state->n && current(b)->pending) {
        b->uid = str_dup(initial_uid(b));
        current(b)->pending = false;
    }
    b->pod_uid = str_dup(pod->pod->metadata.uid);
    b->state = NULL;
    b->pod = NULL;
    b->op = 0;
    vec_push(&b->shared->orphans, b);
}
