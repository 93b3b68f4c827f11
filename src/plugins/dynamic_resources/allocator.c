/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/dynamic_resources/allocator.h"

#include "plugins/dynamic_resources/allocator_internal.h"

/* --- allocators ------------------------------------------------------------------------------- */

struct allocator *allocator_new(struct devices *d, const struct resource_claim *const *claims,
                                size_t n)
{
    devices_refresh(d);
    struct allocator *a = xnew(struct allocator);
    a->devices = d;
    arena_init(&a->arena, 0);
    a->plans = arena_array(&a->arena, struct claim_plan, n);
    a->n = n;
    a->memo = memo_get(d, claims, n);
    a->class_changes = d->class_changes;
    for (size_t i = 0; i < n; i++) {
        a->before_last = a->end;
        claim_plan_make(d, claims[i], true, &a->arena, &a->end, &a->plans[i]);
    }
    return a;
}

struct allocator *allocator_free(struct allocator *a)
{
    if (!a)
        return NULL;
    for (size_t i = 0; i < a->n; i++)
        claim_plan_release(&a->plans[i]);
    memo_put(a->memo);
    arena_release(&a->arena);
    free(a);
    return NULL;
}

/* --- selectors -------------------------------------------------------------------------------- */

/* class: whose selectors they are; NULL: the claim's. */
static enum step selectors_match(struct search *s, struct compiled_selector *const *selectors,
                                 size_t n, const struct class_entry *class,
                                 const struct claim_plan *claim, const struct slice_device *device)
{
    for (size_t i = 0; i < n; i++) {
        const struct compiled_selector *selector = selectors[i];
        if (!selector)
            return STEP_NONE;
        struct str owner = class ? class->api->metadata.name : claim->name;
        size_t before = s->error.n;
        if (!selector->program) {
            buf_add_printf(&s->error, "%s %.*s: selector #%zu: CEL compile error: %s",
                           class ? "class" : "claim", STR_ARG(owner), i, selector->error);
            return STEP_ERROR;
        }
        struct buf reason = BUF_INIT;
        enum selector_result r = selector_matches_device(s->d, selector, device, &reason);
        if (r == SELECTOR_FAILS)
            buf_add_printf(&s->error, "%s %.*s: selector #%zu: CEL runtime error: %s",
                           class ? "class" : "claim", STR_ARG(owner), i, buf_cstr(&reason));
        buf_release(&reason);
        if (s->error.n > before)
            return STEP_ERROR;
        if (r != SELECTOR_YES)
            return STEP_NONE;
    }
    return STEP_FOUND;
}

enum step search_selectable(struct search *s, const struct claim_plan *claim,
                            const struct request_plan *request, const struct slice_device *device)
{
    if (!s->d->features.binding_conditions && device->device->binding_conditions.n > 0)
        return STEP_NONE;
    const struct class_entry *class = request->class;
    enum step r = selectors_match(s, class->selectors.v, class->selectors.n, class, claim, device);
    if (r == STEP_FOUND)
        r = selectors_match(s, request->selectors.v, request->selectors.n, NULL, claim, device);
    if (r != STEP_FOUND || !device->slice->api->spec.per_device_node_selection)
        return r;
    bool reaches = false;
    if (slice_device_reaches(device, s->node, &reaches) < 0) {
        buf_add_str(&s->error, device->fault);
        return STEP_ERROR;
    }
    return reaches ? STEP_FOUND : STEP_NONE;
}

/* --- validation on a node --------------------------------------------------------------------- */

/* Lists the devices of a request for all of them. */
static enum step list_all(struct search *s, const struct claim_plan *claim,
                          const struct request_plan *request)
{
    struct request_state *state = &s->requests[request->number];
    for (size_t i = 0; i < s->view->pools.n; i++) {
        const struct pool_view *pool = &s->view->pools.v[i];
        if (pool->incomplete || pool->invalid) {
            buf_add_printf(&s->error,
                           "claim %.*s, request %.*s: asks for all devices, but resource pool "
                           "%.*s/%.*s is currently %s",
                           STR_ARG(claim->name), STR_ARG(request->name),
                           STR_ARG(pool->pool->driver), STR_ARG(pool->pool->name),
                           pool->incomplete ? "being updated" : "invalid");
            return STEP_ERROR;
        }
        for (size_t k = 0; k < pool->slices.n; k++) {
            const struct slice *slice = pool->slices.v[k];
            for (size_t m = 0; m < slice->api->spec.devices.n; m++) {
                const struct slice_device *device = &slice->devices[m];
                enum step r = search_selectable(s, claim, request, device);
                if (r == STEP_ERROR)
                    return r;
                if (r == STEP_FOUND &&
                    (!s->d->features.consumable_capacity || capacity_fits(s, request, device)))
                    vec_push(&state->all, (struct located){device, pool});
            }
        }
    }
    state->n_devices = (int64_t)state->all.n;
    return STEP_FOUND;
}

static enum step fail(struct search *s, struct str error)
{
    buf_add_str(&s->error, error);
    return STEP_ERROR;
}

/* Adds the least number of devices that the request needs; as in Go, the sum may wrap. */
static enum step validate_group(struct search *s, const struct claim_plan *claim,
                                const struct request_group *group, int64_t *devices)
{
    if (!str_empty(group->error))
        return fail(s, group->error);
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < group->n; i++) {
        const struct request_plan *request = &group->plans[i];
        if (!str_empty(request->error))
            return fail(s, request->error);
        struct request_state *state = &s->requests[request->number];
        state->n_devices = request->count;
        if (request->all && list_all(s, claim, request) == STEP_ERROR)
            return STEP_ERROR;
        least = MIN(least, state->n_devices);
    }
    *devices = (int64_t)((uint64_t)*devices + (uint64_t)least);
    return STEP_FOUND;
}

static enum step validate(struct search *s)
{
    for (size_t i = 0; i < s->n_claims; i++) {
        const struct claim_plan *claim = s->claims[i];
        int64_t devices = 0;
        for (size_t k = 0; k < claim->groups.n; k++)
            if (validate_group(s, claim, &claim->groups.v[k], &devices) == STEP_ERROR)
                return STEP_ERROR;
        if (devices > ALLOCATION_RESULTS_MAX) {
            buf_add_printf(&s->error,
                           "claim %.*s: number of requested devices %lld exceeds the claim limit "
                           "of %d",
                           STR_ARG(claim->name), (long long)devices, ALLOCATION_RESULTS_MAX);
            return STEP_ERROR;
        }
        if (!str_empty(claim->constraint_error))
            return fail(s, claim->constraint_error);
    }
    return STEP_FOUND;
}

/* --- one node --------------------------------------------------------------------------------- */

static void search_init(struct search *s, const struct allocator *a, const struct node *node,
                        struct allocation *call)
{
    *s = (struct search){.d = a->devices, .node = node, .call = call, .n_claims = a->n};
    arena_init(&s->arena, 1024);
    s->claims = arena_array(&s->arena, const struct claim_plan *, a->n);
    for (size_t i = 0; i < a->n; i++)
        s->claims[i] = &a->plans[i];
    struct numbering end = a->end;
    if (call->last && a->n > 0) {
        struct claim_plan *plan = arena_new(&s->arena, struct claim_plan);
        end = a->before_last;
        claim_plan_make(a->devices, call->last, false, &s->arena, &end, plan);
        s->claims[a->n - 1] = plan;
    }
    s->n_requests = end.requests;
    s->requests = arena_array(&s->arena, struct request_state, end.requests);
    s->constraints = arena_array(&s->arena, struct constraint_state, end.constraints);
    s->n_chosen = arena_array(&s->arena, uint32_t, a->n);
    s->view = devices_view(s->d, node, &s->arena);
}

static void search_release(struct search *s)
{
    for (size_t i = 0; i < s->n_requests; i++)
        vec_release(&s->requests[i].all);
    vec_release(&s->stack);
    vec_release(&s->chosen);
    vec_release(&s->amounts);
    vec_release(&s->counters);
    buf_release(&s->error);
    arena_release(&s->arena);
}

/* The devices of a request are next to each other. An alternative without devices has no points. */
static int64_t score(const struct search *s)
{
    int64_t sum = 0;
    for (size_t i = 0; i < s->chosen.n; i++)
        if (i == 0 || s->chosen.v[i].request != s->chosen.v[i - 1].request)
            sum += s->chosen.v[i].request->points;
    return sum;
}

/* See memos.c. */
static bool is_fragile(const struct search *s)
{
    bool wide = s->exceeded;
    for (size_t i = 0; i < s->chosen.n; i++)
        wide = wide || s->chosen.v[i].device->slice->pool->wide;
    return wide;
}

static enum step search(struct search *s)
{
    if (!str_empty(s->view->error))
        return fail(s, s->view->error);
    enum step r = validate(s);
    if (r == STEP_FOUND)
        r = search_run(s);
    if (r == STEP_TOO_MANY)
        return fail(s, STR("allocation max size exceeded"));
    struct allocation *call = s->call;
    struct allocation_result *nothing;
    if (r != STEP_FOUND)
        return r;
    call->score = score(s);
    if (call->arena ? !results_build(s, call->arena, &call->results)
                    : results_may_fail(s) && !results_build(s, &s->arena, &nothing))
        return STEP_ERROR;
    call->n = call->arena ? s->n_claims : 0;
    return r;
}

static enum allocation_verdict search_verdict(struct search *s)
{
    switch (search(s)) {
    case STEP_FOUND:
        return ALLOCATION_FOUND;
    case STEP_NONE:
        return s->view->has_invalid ? ALLOCATION_FAILED_ON_NODE : ALLOCATION_NONE;
    case STEP_CANCELLED:
        return ALLOCATION_CANCELLED;
    case STEP_TOO_MANY:
    case STEP_ERROR:
        break;
    }
    return ALLOCATION_ERROR;
}

static enum allocation_verdict search_on(const struct allocator *a, const struct node *node,
                                         struct allocation *allocation, bool *ret_fragile)
{
    struct search s;
    search_init(&s, a, node, allocation);
    enum allocation_verdict verdict = search_verdict(&s);
    *ret_fragile = is_fragile(&s);
    if (allocation->arena && s.error.n > 0)
        allocation->error = arena_dup(allocation->arena, buf_str(&s.error));
    search_release(&s);
    return verdict;
}

/* Verdicts may be remembered: the memo is for these classes. */
static bool is_memorable(const struct allocator *a)
{
    return a->class_changes == a->devices->class_changes;
}

enum allocation_verdict allocator_allocate(const struct allocator *a, const struct node *node,
                                           struct allocation *allocation)
{
    const struct devices *d = a->devices;
    const struct device_node *at =
        !allocation->last && is_memorable(a) ? devices_node(d, node) : NULL;
    struct known_verdict known;
    allocation->score = 0;
    if (!at || !memo_recall(d, a->memo, at, &known) ||
        (known.verdict == ALLOCATION_FOUND && allocation->arena)) {
        known.verdict = (int)search_on(a, node, allocation, &known.fragile);
        known.score = allocation->score;
        if (at && known.verdict <= ALLOCATION_FAILED_ON_NODE)
            memo_keep(d, a->memo, at, &known);
    }
    allocation->score = known.score;
    if (known.verdict == ALLOCATION_FAILED_ON_NODE)
        allocation->error = STR("invalid resource pools were encountered");
    return (enum allocation_verdict)known.verdict;
}

void allocator_recall(const struct allocator *a, struct recalled *r)
{
    const struct devices *d = a->devices;
    r->found = r->none = r->failed = 0;
    if (!is_memorable(a))
        return;
    const struct device_node *const *kept = devices_nodes_at(a->devices, r->first, 64);
    for (uint64_t left = r->asked; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        const struct device_node *node = kept[i];
        struct known_verdict known;
        if (!device_node_is(d, node, r->nodes[i]))
            node = devices_find_at(a->devices, r->nodes[i], r->first + i);
        if (!node || !memo_recall(d, a->memo, node, &known))
            continue;
        *(known.verdict == ALLOCATION_FOUND  ? &r->found
          : known.verdict == ALLOCATION_NONE ? &r->none
                                             : &r->failed) |= left & -left;
        r->scores[i] = known.score;
    }
}
