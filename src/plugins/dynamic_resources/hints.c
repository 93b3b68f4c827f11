/* SPDX-License-Identifier: Apache-2.0 */
/* hints.c - events that may help a pod that DynamicResources rejected. */
#include "plugins/dynamic_resources/dynamic_resources.h"

static const struct resource_claim *hint_claim(const struct berth_object *o)
{
    return o ? object_resource_claim(object_of_abi(o)) : NULL;
}

/* Is one of the pod's claims this one? */
struct search {
    struct str uid;
    bool found;
};

static void compare_claim(void *ctx, const struct pod_resource_claim *entry, struct object *claim)
{
    (void)entry;
    struct search *s = ctx;
    s->found |= str_eq(object_meta(claim)->uid, s->uid);
}

/* Upstream: isSchedulableAfterClaimChange. */
static enum berth_hint after_claim_change(void *ctx, const struct berth_pod *pod,
                                          const struct berth_object *before,
                                          const struct berth_object *after)
{
    const struct dynamic_resources *self = ctx;
    const struct resource_claim *old = hint_claim(before), *new = hint_claim(after);
    if (!new)
        return BERTH_QUEUE_SKIP;
    const struct pod_claim_rules rules = dra_rules(self);
    struct search search = {.uid = new->metadata.uid};
    struct buf why = BUF_INIT;
    struct log_kv claim = KV_META("claim", &new->metadata);
    enum berth_hint hint = BERTH_QUEUE_SKIP;
    if (!pod_claims_each(&rules, pod->pod, compare_claim, &search, &why)) {
        engine_log(self->log, 6, "pod is not schedulable after resource claim change", KV_POD(pod),
                   claim, KV_STR("reason", buf_str(&why)));
    } else if (old && old->status.allocation && !new->status.allocation) {
        engine_log(self->log, 6, "claim with structured parameters got deallocated", KV_POD(pod),
                   claim);
        hint = BERTH_QUEUE;
    } else if (!search.found) {
        engine_log(self->log, 6, "unrelated claim got modified", KV_POD(pod), claim);
    } else if (!old) {
        engine_log(self->log, 5, "claim for pod got created", KV_POD(pod), claim);
        hint = BERTH_QUEUE;
    } else if (desc_equal(&resource_claim_status_type, &old->status, &new->status)) {
        engine_log(self->log, 6, "claim for pod got modified where the pod doesn't care",
                   KV_POD(pod), claim);
    } else {
        engine_log(self->log, 5, "status of claim for pod got updated", KV_POD(pod), claim);
        hint = BERTH_QUEUE;
    }
    buf_release(&why);
    return hint;
}

/* Upstream: isSchedulableAfterPodChange. The names of generated claims are in the pod's status. */
static enum berth_hint after_pod_change(void *ctx, const struct berth_pod *pod,
                                        const struct berth_object *before,
                                        const struct berth_object *after)
{
    (void)before;
    const struct dynamic_resources *self = ctx;
    const struct pod *changed = hint_pod(after);
    if (!changed)
        return BERTH_QUEUE;
    if (!hint_about(pod, changed)) {
        engine_log(self->log, 7, "pod is not schedulable after change in other pod", KV_POD(pod),
                   KV_HINT_POD("modifiedPod", changed));
        return BERTH_QUEUE_SKIP;
    }
    const struct pod_claim_rules rules = dra_rules(self);
    struct buf why = BUF_INIT;
    bool helps = pod_claims_each(&rules, changed, NULL, NULL, &why);
    buf_release(&why);
    if (helps)
        engine_log(self->log, 5, "pod got updated and is schedulable", KV_POD(pod));
    else
        engine_log(self->log, 6, "pod is not schedulable after being updated", KV_POD(pod));
    return hint_if(helps);
}

void dra_events(void *ctx, struct berth_registrar *r)
{
    const struct dynamic_resources *self = ctx;
    const unsigned any = BERTH_ACTION_ADD | BERTH_ACTION_UPDATE;
    if (!self->shared)
        return;
    self->host->register_event(r, BERTH_RESOURCE_NODE,
                               BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL |
                                   BERTH_ACTION_UPDATE_NODE_ALLOCATABLE,
                               NULL);
    self->host->register_event(r, BERTH_RESOURCE_RESOURCE_CLAIM, any, after_claim_change);
    self->host->register_event(r, BERTH_RESOURCE_POD,
                               BERTH_ACTION_UPDATE_POD_GENERATED_RESOURCE_CLAIM, after_pod_change);
    self->host->register_event(r, BERTH_RESOURCE_DEVICE_CLASS, any, NULL);
    self->host->register_event(r, BERTH_RESOURCE_RESOURCE_SLICE, any, NULL);
}
