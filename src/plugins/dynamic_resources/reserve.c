/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reserve.c - Reserve: the devices of the chosen node are taken, in memory. Unreserve gives them
 * back. PostFilter frees claims that are allocated where the pod cannot run.
 */
#include "codec/json.h"
#include "engine/cycle/cycle.h"
#include "plugins/dynamic_resources/allocation_run.h"

/* --- Reserve ---------------------------------------------------------------------------------- */

/* A result borrows from claims and classes; the copy does not. */
static void copy_result(const struct allocation_result *from, struct arena *a,
                        struct allocation_result *to)
{
    struct buf text = BUF_INIT;
    struct err err = {0};
    json_encode(&allocation_result_type, from, &text);
    int r = json_decode(buf_str(&text), &allocation_result_type, 0, a, to, &err);
    assert(r == 0); /* what was encoded can be decoded */
    (void)r;
    buf_release(&text);
}

static void copy_mappings(struct claims_state *s, const struct extended_claim *e, struct arena *a)
{
    struct container_extended_resource_request *copy =
        arena_array(a, struct container_extended_resource_request, e->mappings.n);
    for (size_t i = 0; i < e->mappings.n; i++)
        copy[i] = (struct container_extended_resource_request){
            arena_dup(a, e->mappings.v[i].container_name),
            arena_dup(a, e->mappings.v[i].resource_name),
            arena_dup(a, e->mappings.v[i].request_name),
        };
    s->mappings = copy;
    s->n_mappings = e->mappings.n;
}

static void copy_spec(struct claims_state *s, const struct resource_claim_spec *spec,
                      struct arena *a)
{
    struct buf text = BUF_INIT;
    json_encode(&resource_claim_spec_type, spec, &text);
    s->extended_spec = arena_dup(a, buf_str(&text));
    buf_release(&text);
}

static void forget_results(struct claims_state *s)
{
    s->reserved = allocations_unref(s->reserved);
    free(s->reserved_node);
    s->reserved_node = NULL;
    s->results = NULL;
    s->n_mappings = 0;
    s->node_claims = (struct node_claims){0};
}

/* Keeps the results of the run for PreBind. */
static void keep_results(struct claims_state *s, const struct allocation_run *run)
{
    forget_results(s);
    s->reserved = allocations_new();
    s->reserved_node = str_dup(str_of(run->node->name));
    struct arena *a = &s->reserved->arena;
    s->results = arena_array(a, struct allocation_result, s->n_to_allocate);
    for (size_t i = 0; i < run->allocation.n; i++)
        copy_result(&run->allocation.results[i], a, &s->results[i]);
    if (s->takes_of_node) {
        struct buf why = BUF_INIT;
        node_claims_collect(s, run->pod, s->results, a, &s->node_claims, &why);
        buf_release(&why);
    }
    if (!s->allocates_extended)
        return;
    copy_mappings(s, &run->extended, a);
    copy_spec(s, &run->last.spec, a);
}

/* status NULL: the reason is not wanted. */
static enum berth_code fail(const struct dynamic_resources *self, struct berth_status *status,
                            struct str why)
{
    if (status)
        self->host->status_text(status, abi_str(why));
    return BERTH_ERROR;
}

/* The devices of the node: Filter has found that there are enough. */
static enum berth_code allocate(struct claims_state *s, const struct pod *pod,
                                const struct berth_node *node, struct berth_status *status)
{
    if (s->reserved_node && str_is(str_of(node->name), s->reserved_node))
        return BERTH_SUCCESS;
    struct allocation_run run = {.state = s, .pod = pod, .node = node, .new_share_ids = true};
    enum berth_code code = BERTH_SUCCESS;
    enum allocation_verdict verdict = allocation_run(&run, true);
    if (verdict == ALLOCATION_FOUND)
        keep_results(s, &run);
    else if (verdict == ALLOCATION_ERROR)
        code = fail(s->plugin, status, run.allocation.error);
    else
        code = fail(s->plugin, status, STR("claim allocation not found for node"));
    allocation_run_release(&run);
    return code;
}

/* The claims that were allocated now get their results. */
static void hand_out(struct claims_state *s)
{
    size_t next = 0;
    for (size_t i = 0; i < s->n; i++) {
        struct used_claim *c = &s->v[i];
        if (!c->to_allocate)
            continue;
        const struct allocation_result *result = &s->results[next++];
        allocations_unref(c->owner);
        c->owner = NULL;
        c->allocation = NULL;
        /* Without mappings the node provides the extended resources itself. */
        if (c == dra_extended_claim(s) && !s->n_mappings)
            continue;
        c->owner = allocations_ref(s->reserved);
        c->allocation = result;
    }
}

static void take_devices(struct claims_state *s, bool in_group)
{
    struct claim_cache *claims = &s->plugin->shared->claims;
    for (size_t i = 0; i < s->n; i++) {
        struct used_claim *c = &s->v[i];
        if (!c->allocation || c->pending)
            continue;
        claim_cache_add_pending(claims, c->claim->metadata.uid, c->owner, c->allocation, in_group);
        c->pending = true;
    }
}

/* Does the node provide all extended resources itself, and is there no other claim? */
static bool nothing_to_allocate(const struct claims_state *s)
{
    return s->n_unallocated == 0 ||
           (s->n_unallocated == 1 && s->allocates_extended && s->n_to_allocate == 1);
}

void dra_claim(struct berth_cycle *cycle, void *ctx, struct berth_pod *assumed)
{
    struct dynamic_resources *self = ctx;
    struct claims_state *s = dra_state(self, cycle);
    const struct berth_node *node =
        self->host->node_by_name(self->handle, abi_str(assumed->node_name));
    if (!s || !node || !dra_is_allocatable(s, node->slot))
        return;
    /* Reserve reports what fails. */
    if (allocate(s, assumed->pod, node, NULL) == BERTH_SUCCESS)
        pod_info_claim(assumed, s->node_claims.v, s->node_claims.n);
}

enum berth_code dra_reserve(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                            struct berth_str node_name, struct berth_status *status)
{
    struct dynamic_resources *self = ctx;
    if (!self->shared)
        return BERTH_SUCCESS;
    struct claims_state *s = dra_state(self, cycle);
    if (!s)
        return fail(self, status, STR("not found"));
    if (!s->n || !s->n_unallocated)
        return BERTH_SUCCESS;
    const struct berth_node *node = self->host->node_by_name(self->handle, node_name);
    if (!node || !dra_is_allocatable(s, node->slot))
        return nothing_to_allocate(s)
                   ? BERTH_SUCCESS
                   : fail(self, status, STR("claim allocation not found for node"));
    enum berth_code code = allocate(s, pod->pod, node, status);
    if (code != BERTH_SUCCESS)
        return code;
    hand_out(s);
    take_devices(s, cycle->in_group);
    return BERTH_SUCCESS;
}

/* --- Unreserve -------------------------------------------------------------------------------- */

static void give_back(struct claims_state *s, struct used_claim *c, struct str uid)
{
    struct claim_cache *claims = &s->plugin->shared->claims;
    const struct object_meta *meta = &c->claim->metadata;
    if (c->pending && claim_cache_drop_pending(claims, uid, false))
        claim_cache_restore(claims, meta->namespace, meta->name);
    c->pending = false;
}

void dra_unreserve(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                   struct berth_str node_name)
{
    (void)node_name;
    struct dynamic_resources *self = ctx;
    struct claims_state *s = self->shared ? dra_state(self, cycle) : NULL;
    struct used_claim *extended = s && s->n ? dra_extended_claim(s) : NULL;
    for (size_t i = 0; s && i < s->n; i++) {
        struct used_claim *c = &s->v[i];
        give_back(s, c, c == extended ? s->initial_uid : c->claim->metadata.uid);
        /* A reservation for the group stays: other members may need it. */
        if (c != extended && c->claim->status.allocation &&
            claim_is_reserved_for(c->claim, pod->pod, false))
            claim_unreserve(self->shared, &c->claim->metadata, pod->pod->metadata.uid);
    }
    if (extended && !claim_is_special(extended->claim))
        claim_remove(self->shared, extended->object);
    if (s && (s->wrote_node_claims ||
              (s->node_claims.n && pod->pod->status.node_allocatable_resource_claim_statuses.n)))
        pod_clear_node_claims(self->shared, &pod->pod->metadata);
    if (s)
        s->wrote_node_claims = false;
}

/* --- PostFilter ------------------------------------------------------------------------------- */

static enum berth_code say(const struct dynamic_resources *self, struct berth_status *status,
                           struct str text)
{
    self->host->status_text(status, abi_str(text));
    return BERTH_UNSCHEDULABLE;
}

/* Is the claim not in use by anybody else? */
static bool can_deallocate(const struct resource_claim *claim, const struct pod *pod)
{
    return claim->status.reserved_for.n == 0 ||
           (claim->status.reserved_for.n == 1 &&
            str_eq(claim->status.reserved_for.v[0].uid, pod->metadata.uid));
}

/*
 * Upstream: unreservePodGroupClaims. The binding of an earlier attempt has failed and no member has
 * a node: the group gives up its claims, one per attempt.
 */
static bool unreserve_group(const struct dynamic_resources *self, const struct pod *pod)
{
    struct cluster *cluster = handle_cluster(self->handle);
    struct str ns = pod->metadata.namespace, name = pod_group_of(pod);
    struct object *o =
        str_empty(name) ? NULL : objects_get(&cluster->objects, KIND_POD_GROUP, ns, name);
    const struct pod_group_state *members =
        o ? pod_groups_get(&cluster->pod_groups, ns, name) : NULL;
    if (!o || (members && pod_group_scheduled(members)))
        return false;
    const struct pod_group *group = object_pod_group(o);
    for (size_t i = 0; i < group->spec.resource_claims.n; i++) {
        struct object *found = pod_group_claim(&self->shared->claims, group, i);
        const struct resource_claim *claim = found ? object_resource_claim(found) : NULL;
        if (!claim || !claim->status.allocation || !claim_is_reserved_for(claim, pod, true))
            continue;
        claim_unreserve(self->shared, &claim->metadata, group->metadata.uid);
        return true;
    }
    return false;
}

/* Writes are not awaited: the watch shows what has become of them, and requeues the pod. */
enum berth_code dra_post_filter(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                struct berth_status *status)
{
    const struct dynamic_resources *self = ctx;
    if (!self->shared)
        return say(self, status, STR("plugin disabled"));
    const struct claims_state *s = dra_state(self, cycle);
    if (!s)
        return fail(self, status, STR("not found"));
    if (!s->n)
        return say(self, status, STR("no new claims to deallocate"));
    const struct used_claim *extended = dra_extended_claim(s);
    for (size_t i = 0; i < s->n; i++) {
        const struct used_claim *c = &s->v[i];
        if (c == extended || !atomic_load(&c->unavailable) || !can_deallocate(c->claim, pod->pod))
            continue;
        engine_log(self->log, 5, "Deallocation of ResourceClaim", KV_POD(pod),
                   KV_META("resourceclaim", &c->claim->metadata));
        claim_deallocate(self->shared, c->claim);
        return say(self, status, STR("deallocation of ResourceClaim completed"));
    }
    if (extended && !claim_is_special(extended->claim)) {
        claim_remove(self->shared, extended->object);
        return say(self, status, STR("deletion of ResourceClaim completed"));
    }
    if (self->gates.of_groups && unreserve_group(self, pod->pod)) {
        self->host->status_text(status, BERTH_STR("ResourceClaim unreserved for PodGroup"));
        return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    }
    return say(self, status, STR("still not schedulable"));
}
