/* SPDX-License-Identifier: Apache-2.0 */
/* device_wait.c - the wait for binding conditions in PreBind (upstream: isPodReadyForBinding). */
#include "engine/metrics/scheduler_metrics.h"
#include "plugins/dynamic_resources/claim_binding.h"

/* How often binding conditions are looked at besides when the claim changes. */
#define READY_PERIOD (5 * NSEC_PER_SEC)

enum devices_outcome { DEVICES_READY, DEVICES_FAILED, DEVICES_TIMEOUT, DEVICES_ERROR };

/* Upstream counts once per device, whether it has conditions or not. */
static void count_devices(const struct claim_binding *b, enum devices_outcome outcome)
{
    static const struct str statuses[] = {[DEVICES_READY] = STR_INIT("success"),
                                          [DEVICES_FAILED] = STR_INIT("failure"),
                                          [DEVICES_TIMEOUT] = STR_INIT("timeout"),
                                          [DEVICES_ERROR] = STR_INIT("error")};
    struct dynamic_resources *self = b->self;
    struct scheduler_metrics *m = handle_metrics(self->handle);
    double seconds = (double)(self->host->now(self->handle) - b->began) / 1e9;
    for (size_t i = 0; m && i < b->state->n; i++) {
        const struct allocation_result *a = b->state->v[i].claim->status.allocation;
        for (size_t k = 0; a && k < a->devices.results.n; k++) {
            const struct device_request_allocation_result *r = &a->devices.results.v[k];
            const struct str values[] = {self->handle->profile->scheduler_name, r->driver,
                                         statuses[outcome]};
            scheduler_metrics_observe(m, FAMILY_DRA_BINDING_CONDITIONS_WAIT, values, seconds);
            if (r->binding_conditions.n)
                scheduler_metrics_add(m, FAMILY_DRA_BINDING_CONDITIONS_ALLOCATIONS, values, 1);
        }
    }
}

static void devices_done(struct claim_binding *b, enum devices_outcome outcome, struct str why)
{
    count_devices(b, outcome);
    dra_binding_end(b, outcome == DEVICES_READY ? BERTH_SUCCESS : BERTH_ERROR, why);
}

static void look_at_devices(struct claim_binding *b);

static void on_claim_changed(struct claim_watcher *w)
{
    look_at_devices(CONTAINER_OF(w, struct claim_binding, watcher));
}

static void on_period(void *ctx)
{
    struct claim_binding *b = ctx;
    b->timer = 0;
    claim_cache_unwatch(&b->shared->claims, &b->watcher);
    look_at_devices(b);
}

/* Not ready: looks again when the claim changes, and now and then. */
static void keep_waiting(struct claim_binding *b, const struct object_meta *claim)
{
    struct dynamic_resources *self = b->self;
    int64_t left = b->began + self->binding_timeout - self->host->now(self->handle);
    if (left <= 0) {
        devices_done(b, DEVICES_TIMEOUT, STR("device binding timeout: context deadline exceeded"));
        return;
    }
    b->watcher.fn = on_claim_changed;
    claim_cache_watch(&self->shared->claims, &b->watcher, claim->namespace, claim->name);
    if (!b->timer)
        b->timer = self->host->timer(b->shared->handle, MIN(left, READY_PERIOD), on_period, b);
}

/* One claim of isPodReadyForBinding. Returns true if it is ready; otherwise b may have ended. */
static bool look_at_claim(struct claim_binding *b, struct used_claim *c)
{
    const struct object_meta *meta = &c->claim->metadata;
    struct object *latest = claim_cache_get(&b->shared->claims, meta->namespace, meta->name);
    struct buf why = BUF_INIT;
    if (!latest) {
        buf_add_printf(&why, "could not find ResourceClaim \"%.*s/%.*s\"", STR_ARG(meta->namespace),
                       STR_ARG(meta->name));
        devices_done(b, DEVICES_ERROR, buf_str(&why));
        buf_release(&why);
        return false;
    }
    used_claim_set(c, latest);
    enum claim_readiness ready = claim_readiness(c->claim, &why);
    if (ready == CLAIM_BINDING_FAILED) {
        devices_done(b, DEVICES_FAILED, buf_str(&why));
    } else if (ready == CLAIM_NOT_READY && claim_binding_timed_out(b->self, c->claim)) {
        buf_add_printf(&why, "device binding timeout: claim=%.*s",
                       STR_ARG(c->claim->metadata.name));
        devices_done(b, DEVICES_TIMEOUT, buf_str(&why));
    } else if (ready == CLAIM_NOT_READY) {
        keep_waiting(b, &c->claim->metadata);
    }
    buf_release(&why);
    return ready == CLAIM_READY;
}

static void look_at_devices(struct claim_binding *b)
{
    for (size_t i = 0; i < b->state->n; i++) {
        struct used_claim *c = &b->state->v[i];
        /* Extended resources of a device plugin: there is no claim. */
        if (claim_is_special(c->claim))
            continue;
        if (!look_at_claim(b, c))
            return;
    }
    devices_done(b, DEVICES_READY, STR(""));
}

void dra_binding_wait(struct claim_binding *b)
{
    struct dynamic_resources *self = b->self;
    bool waits = false;
    for (size_t i = 0; self->gates.binding_conditions && i < b->state->n; i++)
        waits |= claim_has_binding_conditions(b->state->v[i].claim);
    if (!waits) {
        dra_binding_end(b, BERTH_SUCCESS, STR(""));
        return;
    }
    struct buf note = BUF_INIT;
    buf_add_printf(&note, "waiting for binding conditions for device on node %.*s",
                   STR_ARG(b->node_name));
    self->host->event(self->handle,
                      &(struct berth_event){.struct_size = sizeof(struct berth_event),
                                            .pod = b->pod,
                                            .reason = BERTH_STR("BindingConditionsPending"),
                                            .action = BERTH_STR("Scheduling"),
                                            .note = abi_str(buf_str(&note))});
    buf_release(&note);
    b->began = self->host->now(self->handle);
    look_at_devices(b);
}
