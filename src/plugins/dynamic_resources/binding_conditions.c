/* SPDX-License-Identifier: Apache-2.0 */
/* binding_conditions.c - conditions of devices that must be true before a pod is bound. */
#include "plugins/dynamic_resources/dynamic_resources.h"

static const struct allocated_device_status *status_of(
    const struct resource_claim *claim, const struct device_request_allocation_result *r)
{
    for (size_t i = 0; i < claim->status.devices.n; i++) {
        const struct allocated_device_status *d = &claim->status.devices.v[i];
        if (str_eq(d->device, r->device) && str_eq(d->driver, r->driver) &&
            str_eq(d->pool, r->pool))
            return d;
    }
    return NULL;
}

/* The condition if it is true; NULL otherwise. */
static const struct condition *true_condition(const struct allocated_device_status *d,
                                              struct str type)
{
    for (size_t i = 0; i < d->conditions.n; i++)
        if (str_eq(d->conditions.v[i].type, type))
            return str_is(d->conditions.v[i].status, "True") ? &d->conditions.v[i] : NULL;
    return NULL;
}

static enum claim_readiness device_readiness(const struct resource_claim *claim,
                                             const struct device_request_allocation_result *r,
                                             struct buf *why)
{
    const struct allocated_device_status *d = status_of(claim, r);
    if (!d)
        return CLAIM_NOT_READY;
    for (size_t i = 0; i < r->binding_failure_conditions.n; i++) {
        const struct condition *c = true_condition(d, r->binding_failure_conditions.v[i]);
        if (!c)
            continue;
        if (why) {
            buf_add_printf(why, "device binding failed: claim=%.*s, reason=%.*s, message=",
                           STR_ARG(claim->metadata.name), STR_ARG(c->reason));
            json_write_str(why, c->message);
        }
        return CLAIM_BINDING_FAILED;
    }
    for (size_t i = 0; i < r->binding_conditions.n; i++)
        if (!true_condition(d, r->binding_conditions.v[i]))
            return CLAIM_NOT_READY;
    return CLAIM_READY;
}

/* Upstream: isClaimReadyForBinding. */
enum claim_readiness claim_readiness(const struct resource_claim *claim, struct buf *why)
{
    const struct allocation_result *a = claim->status.allocation;
    if (!a)
        return CLAIM_NOT_READY;
    for (size_t i = 0; i < a->devices.results.n; i++) {
        const struct device_request_allocation_result *r = &a->devices.results.v[i];
        if (!r->binding_conditions.n)
            continue;
        enum claim_readiness ready = device_readiness(claim, r, why);
        if (ready != CLAIM_READY)
            return ready;
    }
    return CLAIM_READY;
}

bool claim_has_binding_conditions(const struct resource_claim *claim)
{
    const struct allocation_result *a = claim->status.allocation;
    for (size_t i = 0; a && i < a->devices.results.n; i++)
        if (a->devices.results.v[i].binding_conditions.n)
            return true;
    return false;
}

/* Upstream: isClaimTimeout. */
bool claim_binding_timed_out(const struct dynamic_resources *self,
                             const struct resource_claim *claim)
{
    const struct allocation_result *a = claim->status.allocation;
    if (!a || !a->allocation_timestamp.set || !claim_has_binding_conditions(claim))
        return false;
    return timestamp_ns(a->allocation_timestamp) + self->binding_timeout <
           handle_wall(self->handle);
}
