/* SPDX-License-Identifier: Apache-2.0 */
/* pre_filter.c - PreFilter: which claims the pod has, and which of them must be allocated. */
#include "engine/cycle/cycle.h"
#include "plugins/dynamic_resources/dynamic_resources.h"

/* The state of a pod without claims: PostFilter looks at it, too. */
static struct claims_state no_claims;

struct claims_state *dra_state(const struct dynamic_resources *self,
                               const struct berth_cycle *cycle)
{
    return self->host->state_read(cycle, self->key);
}

void used_claim_set(struct used_claim *c, struct object *claim)
{
    object_ref(claim);
    object_unref(c->object);
    c->object = claim;
    c->claim = object_resource_claim(claim);
}

static void free_state(void *data)
{
    struct claims_state *s = data;
    allocator_free(s->allocator);
    for (size_t i = 0; i < s->n; i++) {
        object_unref(s->v[i].object);
        allocations_unref(s->v[i].owner);
    }
    allocations_unref(s->reserved);
    free(s->reserved_node);
    free(s->allocatable);
    free(s->points);
    arena_release(&s->arena);
    free(s);
}

/* --- the pod's claims ------------------------------------------------------------------------- */

static const struct pod_group *group_of(const struct dynamic_resources *self, const struct pod *pod)
{
    struct object *o = objects_get(&handle_cluster(self->handle)->objects, KIND_POD_GROUP,
                                   pod->metadata.namespace, pod_group_of(pod));
    return o ? object_pod_group(o) : NULL;
}

/* Collects the claims of the pod's spec. */
struct collector {
    struct claims_state *state;
    const struct pod *pod;
    const struct pod_group *group;
    bool failed;
    struct buf *why;
};

static void copy_consumer(struct resource_claim_consumer_reference *r, struct arena *a)
{
    r->name = arena_dup(a, r->name);
    r->uid = arena_dup(a, r->uid);
}

static void collect(void *ctx, const struct pod_resource_claim *entry, struct object *claim)
{
    struct collector *c = ctx;
    struct used_claim *used = &c->state->v[c->state->n++];
    used->object = object_ref(claim);
    used->claim = object_resource_claim(claim);
    if (!c->failed && !pod_claim_consumer(c->pod, c->group, entry, &used->consumer, c->why))
        c->failed = true;
    copy_consumer(&used->consumer, &c->state->arena);
    used->entry_name = arena_dup(&c->state->arena, entry->name);
}

/* Of a claim that the pod names twice, the last allocation counts. */
static void mark_named_again(struct claims_state *s)
{
    struct map seen = {0};
    for (size_t i = s->n; i-- > 0;)
        s->v[i].named_again = map_put(&seen, s->v[i].claim->metadata.uid, &s->v[i]) != NULL;
    map_release(&seen);
}

/* Upstream: podResourceClaims, then podResourceClaimBindings. */
static bool find_claims(struct claims_state *s, const struct pod *pod, struct buf *why)
{
    const struct dynamic_resources *self = s->plugin;
    const struct pod_claim_rules rules = dra_rules(self);
    struct buf bindings = BUF_INIT;
    bool grouped = self->gates.of_groups && !str_empty(pod_group_of(pod));
    struct collector c = {.state = s, .pod = pod, .why = &bindings};
    if (grouped)
        c.group = group_of(self, pod);
    bool ok = pod_claims_each(&rules, pod, collect, &c, why);
    if (ok && grouped && !c.group) {
        buf_add_printf(why, "podgroup.scheduling.k8s.io \"%.*s\" not found",
                       STR_ARG(pod_group_of(pod)));
        ok = false;
    } else if (ok && c.failed) {
        buf_add_str(why, buf_str(&bindings));
        ok = false;
    }
    buf_release(&bindings);
    return ok;
}

/* A claim in memory that stands for the extended resources; every node has its own variant. */
static struct object *new_special_claim(const struct pod *pod)
{
    struct object *o = object_new(KIND_RESOURCE_CLAIM);
    struct arena *a = object_arena(o);
    struct resource_claim *claim = object_body_mut(o);
    claim->metadata.namespace = arena_dup(a, pod->metadata.namespace);
    claim->metadata.name = STR(SPECIAL_CLAIM_NAME);
    /* One per pod at a time: the UID identifies its pending allocation. */
    claim->metadata.uid = arena_printf(a, "extended-resources/%.*s", STR_ARG(pod->metadata.uid));
    return o;
}

/* Upstream: preFilterExtendedResources. */
static void find_extended(struct claims_state *s, const struct berth_pod *pod)
{
    const struct dynamic_resources *self = s->plugin;
    if (!extended_requests_find(s, pod->pod))
        return;
    struct object *claim = claim_cache_extended(&self->shared->claims, &pod->pod->metadata);
    struct used_claim *used = &s->v[s->n++];
    used->object = claim ? object_ref(claim) : new_special_claim(pod->pod);
    used->claim = object_resource_claim(used->object);
    pod_as_consumer(pod->pod, &used->consumer);
    copy_consumer(&used->consumer, &s->arena);
    s->has_extended = true;
    s->initial_uid = arena_dup(&s->arena, used->claim->metadata.uid);
}

/* --- what must be allocated ------------------------------------------------------------------- */

static enum berth_code refuse(const struct dynamic_resources *self, struct berth_status *status,
                              struct str why)
{
    engine_log(self->log, 5, "pod unschedulable", KV_STR("reason", why));
    self->host->status_text(status, abi_str(why));
    return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

static enum berth_code check_class(const struct claims_state *s, struct str class_name,
                                   struct str request, struct berth_status *status)
{
    const struct dynamic_resources *self = s->plugin;
    if (str_empty(class_name)) {
        status_printf(self->host, status, "request %.*s: unsupported request type",
                      STR_ARG(request));
        return BERTH_ERROR;
    }
    if (devices_class(self->shared->devices, class_name))
        return BERTH_SUCCESS;
    status_printf(self->host, status, "request %.*s: device class %.*s does not exist",
                  STR_ARG(request), STR_ARG(class_name));
    return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

static enum berth_code check_alternatives(struct claims_state *s, const struct resource_claim *c,
                                          const struct device_request *r,
                                          struct berth_status *status)
{
    const struct dynamic_resources *self = s->plugin;
    if (!r->first_available.n || !self->gates.prioritized_list) {
        status_printf(self->host, status, "resource claim %.*s/%.*s, request %.*s: %s",
                      STR_ARG(c->metadata.namespace), STR_ARG(c->metadata.name), STR_ARG(r->name),
                      r->first_available.n
                          ? "has subrequests, but the DRAPrioritizedList feature is disabled"
                          : "unknown request type");
        return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    }
    for (size_t i = 0; i < r->first_available.n; i++) {
        const struct device_sub_request *sub = &r->first_available.v[i];
        struct str name =
            arena_printf(&s->arena, "%.*s/%.*s", STR_ARG(r->name), STR_ARG(sub->name));
        enum berth_code code = check_class(s, sub->device_class_name, name, status);
        if (code != BERTH_SUCCESS)
            return code;
    }
    return BERTH_SUCCESS;
}

/* Every class that a request names must exist. */
static enum berth_code check_requests(struct claims_state *s, const struct resource_claim *c,
                                      struct berth_status *status)
{
    for (size_t i = 0; i < c->spec.devices.requests.n; i++) {
        const struct device_request *r = &c->spec.devices.requests.v[i];
        enum berth_code code = r->exactly
                                   ? check_class(s, r->exactly->device_class_name, r->name, status)
                                   : check_alternatives(s, c, r, status);
        if (code != BERTH_SUCCESS)
            return code;
    }
    return BERTH_SUCCESS;
}

/* An allocated claim can be used on the nodes of its selector. */
static enum berth_code check_allocated(struct claims_state *s, struct used_claim *used,
                                       struct berth_status *status)
{
    const struct node_selector *selector = used->claim->status.allocation->node_selector;
    if (!selector)
        return BERTH_SUCCESS;
    node_terms_compile(selector, &s->arena, &used->available_on);
    struct str fault = node_terms_fault(&used->available_on);
    if (str_empty(fault)) {
        used->limited = true;
        return BERTH_SUCCESS;
    }
    s->plugin->host->status_text(status, abi_str(fault));
    return BERTH_ERROR;
}

static enum berth_code check_unallocated(struct claims_state *s, struct used_claim *used,
                                         bool in_group, struct berth_status *status)
{
    const struct dynamic_resources *self = s->plugin;
    const struct object_meta *meta = &used->claim->metadata;
    struct pending_allocation *pending = claim_cache_pending(&self->shared->claims, meta->uid);
    s->n_unallocated++;
    if (pending && pending->by_group && in_group) {
        used->owner = allocations_ref(pending->owner);
        used->allocation = pending->result;
        return BERTH_SUCCESS;
    }
    if (pending) {
        struct str why =
            arena_printf(&s->arena, "resource claim %.*s/%.*s is in the process of being allocated",
                         STR_ARG(meta->namespace), STR_ARG(meta->name));
        return refuse(self, status, why);
    }
    s->n_to_allocate++;
    return used == dra_extended_claim(s) ? BERTH_SUCCESS : check_requests(s, used->claim, status);
}

/* Pods may share any claim (upstream: CanBeReserved); reserving may fail in PreBind. */
static enum berth_code check_claims(struct claims_state *s, bool in_group,
                                    struct berth_status *status)
{
    for (size_t i = 0; i < s->n; i++) {
        struct used_claim *used = &s->v[i];
        s->n_allocated += used->claim->status.allocation != NULL;
        enum berth_code code = used->claim->status.allocation
                                   ? check_allocated(s, used, status)
                                   : check_unallocated(s, used, in_group, status);
        if (code != BERTH_SUCCESS)
            return code;
    }
    return BERTH_SUCCESS;
}

/* --- the allocator ---------------------------------------------------------------------------- */

static bool has_alternatives(const struct resource_claim *c)
{
    for (size_t i = 0; i < c->spec.devices.requests.n; i++)
        if (c->spec.devices.requests.v[i].first_available.n)
            return true;
    return false;
}

/* The special claim with the requests for all resources, for the allocator to see the classes. */
static const struct resource_claim *full_extended_claim(struct claims_state *s,
                                                        const struct pod *pod)
{
    struct resource_claim *claim = arena_new(&s->arena, struct resource_claim);
    struct extended_claim made;
    *claim = *dra_extended_claim(s)->claim;
    if (claim_is_special(claim)) {
        extended_claim_make(s, pod, NULL, &s->arena, &made);
        claim->spec.devices.requests.v = made.requests.v;
        claim->spec.devices.requests.n = made.requests.n;
    }
    return claim;
}

static void prepare_allocator(struct claims_state *s, const struct berth_cycle *cycle,
                              const struct pod *pod)
{
    size_t n = 0;
    s->to_allocate = arena_array(&s->arena, const struct resource_claim *, s->n_to_allocate);
    for (size_t i = 0; i < s->n; i++) {
        struct used_claim *used = &s->v[i];
        s->scores |= has_alternatives(used->claim);
        if (used->claim->status.allocation || used->allocation)
            continue;
        bool extended = used == dra_extended_claim(s);
        s->allocates_extended |= extended;
        used->to_allocate = true;
        s->to_allocate[n++] = extended ? full_extended_claim(s, pod) : used->claim;
    }
    s->scores &= s->plugin->gates.prioritized_list;
    if (s->scores)
        s->fixed_score = dra_fixed_score(s);
    if (!s->n_unallocated)
        return;
    s->takes_of_node =
        s->plugin->gates.node_allocatable && devices_map_to_nodes(s->plugin->shared->devices);
    s->n_nodes = s->plugin->host->columns(cycle)->n;
    s->allocatable = xcalloc(BITSET_WORDS(s->n_nodes) + 1, sizeof(*s->allocatable));
    if (s->scores)
        s->points = xcalloc(s->n_nodes + 1, sizeof(*s->points));
    if (n)
        s->allocator = allocator_new(s->plugin->shared->devices, s->to_allocate, n);
}

/* The derived requests may be those of a resize in the pod's status; its spec counts here. */
static bool may_request_devices(const struct dynamic_resources *self, const struct berth_pod *pod)
{
    const struct pod_status *status = &pod->pod->status;
    return self->classes && self->classes->by_resource.n &&
           (pod->requests.scalars.n || status->container_statuses.n ||
            status->init_container_statuses.n || status->resources);
}

/* s NULL: the pod names none. */
static void log_claims(const struct dynamic_resources *self, const struct berth_pod *pod,
                       const struct claims_state *s)
{
    if (!engine_log_on(self->log, 5))
        return;
    size_t n = s ? s->n : 0;
    struct log_kv *refs = xcalloc(n + 1, sizeof(*refs));
    for (size_t i = 0; i < n; i++)
        refs[i] = KV_META("", &s->v[i].claim->metadata);
    engine_log_as(self->log, 5, "PreFilter.DynamicResources", "pod resource claims", KV_POD(pod),
                  KV_REFS("resourceclaims", refs, n));
    free(refs);
}

enum berth_code dra_pre_filter(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                               struct berth_status *status)
{
    struct dynamic_resources *self = ctx;
    if (!self->shared)
        return BERTH_SKIP;
    size_t max = pod->pod->spec.resource_claims.n + 1;
    self->host->state_write(cycle, self->key, &no_claims, NULL, NULL);
    cycle->claim = NULL;
    if (max == 1)
        log_claims(self, pod, NULL);
    if (max == 1 && !may_request_devices(self, pod))
        return BERTH_SKIP;

    struct buf why = BUF_INIT;
    struct claims_state *s = xnew(struct claims_state);
    s->plugin = self;
    arena_init(&s->arena, 0);
    s->v = arena_array(&s->arena, struct used_claim, max);
    enum berth_code code;
    if (!find_claims(s, pod->pod, &why)) {
        code = refuse(self, status, buf_str(&why));
    } else {
        if (max > 1)
            log_claims(self, pod, s);
        if (may_request_devices(self, pod))
            find_extended(s, pod);
        if (self->gates.node_allocatable)
            mark_named_again(s);
        code = s->n ? check_claims(s, cycle->in_group, status) : BERTH_SKIP;
    }
    buf_release(&why);
    if (code != BERTH_SUCCESS) {
        free_state(s);
        return code;
    }
    prepare_allocator(s, cycle, pod->pod);
    cycle->claim = s->takes_of_node ? dra_claim : NULL;
    cycle->claim_ctx = self;
    self->host->state_write(cycle, self->key, s, NULL, free_state);
    return BERTH_SUCCESS;
}
