/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search (upstream: allocateOne), depth first with an explicit stack, since its depth is the
 * number of devices of all claims. Every choice that may have to be taken back is a frame: the next
 * claim, the alternatives of a request, one of "all" devices, a device.
 *
 * Within a request, devices are only tried in the order of their locations: combinations, not
 * permutations. The stable allocator tries permutations, but finds the same one first.
 */
#include "plugins/dynamic_resources/allocator_internal.h"

static const struct request_plan *plan_at(const struct search *s, const struct position *at)
{
    return &s->claims[at->claim]->groups.v[at->group].plans[at->alternative];
}

/* --- one device ------------------------------------------------------------------------------- */

static bool tolerates(const struct device_toleration *t, struct str key, struct str value,
                      struct str effect)
{
    if (!str_empty(t->effect) && !str_eq(t->effect, effect))
        return false;
    if (!str_empty(t->key) && !str_eq(t->key, key))
        return false;
    if (str_empty(t->operator) || str_is(t->operator, "Equal"))
        return str_eq(t->value, value);
    return str_is(t->operator, "Exists");
}

static bool taint_prevents(const struct request_plan *request, struct str key, struct str value,
                           struct str effect)
{
    if (!str_is(effect, TAINT_EFFECT_NO_SCHEDULE) && !str_is(effect, TAINT_EFFECT_NO_EXECUTE))
        return false;
    for (size_t i = 0; i < request->n_tolerations; i++)
        if (tolerates(&request->tolerations[i], key, value, effect))
            return false;
    return true;
}

static bool tainted(const struct request_plan *request, const struct slice_device *device)
{
    const struct device *api = device->device;
    for (size_t i = 0; i < api->taints.n; i++)
        if (taint_prevents(request, api->taints.v[i].key, api->taints.v[i].value,
                           api->taints.v[i].effect))
            return true;
    for (size_t i = 0; i < device->rule_taints.n; i++) {
        const struct device_taint_rule_taint *t = device->rule_taints.v[i];
        if (taint_prevents(request, t->key, t->value, t->effect))
            return true;
    }
    return false;
}

/* Reverses what choose has done, in the opposite order. */
static void undo(struct search *s, const struct position *at, const struct located *device,
                 const struct undo *u)
{
    const struct claim_plan *claim = s->claims[at->claim];
    if (u->chosen) {
        s->chosen.n--;
        s->n_chosen[at->claim]--;
    }
    if (u->capacity)
        capacity_remove(s, device->device, u->capacity_existed);
    if (u->marked)
        search_mark(s, device->device->id)->claims--;
    for (uint32_t i = u->n_constraints; i-- > 0;)
        constraint_remove(s, &claim->constraints.v[i], &s->constraints[claim->first_constraint + i],
                          at);
    if (u->counters)
        counters_release(s, device);
}

static bool reserve_counters(struct search *s, const struct located *device, bool multiple,
                             struct undo *u)
{
    if (device->device->device->consumes_counters.n == 0)
        return true;
    if (!s->d->features.partitionable_devices)
        return false;
    const struct mark *m = search_find_mark(s, device->device->id);
    if (multiple && (device->device->id->has_capacity || (m && m->has_capacity)))
        return true; /* the first share has reserved them */
    u->counters = counters_reserve(s, device);
    return u->counters;
}

static bool add_to_constraints(struct search *s, const struct position *at,
                               const struct slice_device *device, struct undo *u)
{
    const struct claim_plan *claim = s->claims[at->claim];
    for (size_t i = 0; i < claim->constraints.n; i++) {
        if (!constraint_add(s, &claim->constraints.v[i],
                            &s->constraints[claim->first_constraint + i], at, device))
            return false;
        u->n_constraints++;
    }
    return true;
}

/* The rest of choose: nothing but capacity can prevent the choice now. */
static bool record(struct search *s, const struct position *at, const struct located *device,
                   bool multiple, struct undo *u)
{
    const struct request_plan *request = plan_at(s, at);
    struct chosen chosen = {
        .device = device->device, .request = request, .consumed = s->amounts.n, .shared = multiple};
    if (!multiple) {
        search_mark(s, device->device->id)->claims++;
        u->marked = true;
    }
    if (s->d->features.consumable_capacity && !capacity_fits(s, request, device->device))
        return false;
    if (multiple) {
        const struct mark *m = search_find_mark(s, device->device->id);
        u->capacity_existed = m && m->has_capacity;
        capacity_add(s, request, device->device);
        u->capacity = true;
    }
    vec_push(&s->chosen, chosen);
    s->n_chosen[at->claim]++;
    u->chosen = true;
    return true;
}

/*
 * Upstream: allocateDevice. `must`: the request cannot do without this device, so that a constraint
 * in the way is an error.
 */
static enum step choose(struct search *s, const struct position *at, const struct located *device,
                        bool must, struct undo *u)
{
    const struct request_plan *request = plan_at(s, at);
    const struct device_id *id = device->device->id;
    bool multiple =
        s->d->features.consumable_capacity && device->device->device->allow_multiple_allocations;
    *u = (struct undo){0};
    if (request->admin_access ? !multiple && search_chosen_in_claim(s, id, at->claim)
                              : search_in_use(s, id))
        return STEP_NONE;
    if (!reserve_counters(s, device, multiple, u))
        return STEP_NONE;
    bool constrained = false;
    if ((s->d->features.device_taints && tainted(request, device->device)) ||
        (constrained = !add_to_constraints(s, at, device->device, u)) ||
        !record(s, at, device, multiple, u)) {
        undo(s, at, device, u);
        if (!constrained || !must)
            return STEP_NONE;
        struct str claim = s->claims[at->claim]->name;
        buf_add_printf(&s->error,
                       "claim %.*s, request %.*s: cannot add device %.*s/%.*s/%.*s because a claim "
                       "constraint would not be satisfied",
                       STR_ARG(claim), STR_ARG(request->name), STR_ARG(id->driver),
                       STR_ARG(id->pool), STR_ARG(id->device));
        return STEP_ERROR;
    }
    return STEP_FOUND;
}

/* --- the next device of a request ------------------------------------------------------------- */

/* Checks from cheap to expensive, in upstream's order. */
static enum step try_device(struct search *s, struct frame *f)
{
    const struct request_plan *request = plan_at(s, &f->at);
    const struct slice_device *device = f->device.device;
    if (request->admin_access ? search_chosen_in_claim(s, device->id, f->at.claim)
                              : search_in_use(s, device->id))
        return STEP_NONE;
    enum step r = search_selectable(s, s->claims[f->at.claim], request, device);
    if (r != STEP_FOUND)
        return r;
    if (s->d->features.consumable_capacity && !capacity_fits(s, request, device))
        return STEP_NONE;
    return choose(s, &f->at, &f->device, false, &f->undo);
}

/* Continues at f->here; on STEP_FOUND the frame holds the device and its location. */
static enum step find_device(struct search *s, struct frame *f)
{
    for (; f->here.pool < s->view->pools.n; f->here.pool++, f->here.slice = 0) {
        const struct pool_view *pool = &s->view->pools.v[f->here.pool];
        for (; f->here.slice < pool->slices.n; f->here.slice++, f->here.device = 0) {
            const struct slice *slice = pool->slices.v[f->here.slice];
            for (; f->here.device < slice->api->spec.devices.n; f->here.device++) {
                f->device = (struct located){&slice->devices[f->here.device], pool};
                enum step r = try_device(s, f);
                if (r != STEP_NONE)
                    return r;
            }
        }
    }
    return STEP_NONE;
}

/* --- the search ------------------------------------------------------------------------------- */

/* `at` becomes the next position, or the end of the branch is returned in *ret. */
static bool enter_request(struct search *s, struct position *at, enum step *ret)
{
    const struct request_plan *request = plan_at(s, at);
    const struct request_state *state = &s->requests[request->number];
    *ret = STEP_NONE;
    if (request->all && state->all.n == 0)
        return false;
    if (at->device >= state->n_devices) {
        *at = (struct position){.claim = at->claim, .group = at->group + 1};
        return true;
    }
    uint64_t after = s->n_chosen[at->claim] + (uint64_t)state->n_devices - (uint64_t)at->device;
    if ((int64_t)after > ALLOCATION_RESULTS_MAX) {
        *ret = STEP_TOO_MANY;
        s->exceeded = true;
        return false;
    }
    struct frame f = {.kind = request->all ? FRAME_ALL : FRAME_DEVICE, .at = *at};
    if (request->all) {
        f.device = state->all.v[at->device];
        *ret = choose(s, at, &f.device, true, &f.undo);
        at->start = (struct location){0};
    } else {
        f.here = at->start;
        *ret = find_device(s, &f);
        at->start = (struct location){f.here.pool, f.here.slice, f.here.device + 1};
    }
    if (*ret != STEP_FOUND)
        return false;
    vec_push(&s->stack, f);
    at->device++;
    return true;
}

static bool cancelled(const struct search *s)
{
    return s->call->cancelled && s->call->cancelled(s->call->ctx);
}

/* From `at` downwards until a branch ends. */
static enum step descend(struct search *s, struct position *at)
{
    enum step r;
    do {
        if (cancelled(s))
            return STEP_CANCELLED;
        if (at->claim >= s->n_claims)
            return STEP_FOUND;
        const struct claim_plan *claim = s->claims[at->claim];
        r = STEP_FOUND;
        if (at->group >= claim->groups.n) {
            vec_push(&s->stack, (struct frame){.kind = FRAME_CLAIM});
            *at = (struct position){.claim = at->claim + 1};
        } else if (claim->groups.v[at->group].prioritized && !at->in_alternative) {
            at->in_alternative = true;
            vec_push(&s->stack,
                     (struct frame){.kind = FRAME_ALTERNATIVES, .all_exceeded = true, .at = *at});
        } else if (!enter_request(s, at, &r)) {
            return r;
        }
    } while (true);
}

/* A branch has ended without solution: does the frame have another? Then `at` is where it begins.
 */
static bool next_branch(struct search *s, struct frame *f, struct position *at, enum step *r)
{
    switch (f->kind) {
    case FRAME_CLAIM:
        /* With other devices for the claims before, smaller alternatives may do. */
        if (*r == STEP_TOO_MANY)
            *r = STEP_NONE;
        return false;
    case FRAME_ALTERNATIVES:
        if (*r != STEP_TOO_MANY)
            f->all_exceeded = false;
        if (*r != STEP_TOO_MANY && *r != STEP_NONE)
            return false;
        f->at.alternative++;
        *at = f->at;
        if (f->at.alternative < s->claims[f->at.claim]->groups.v[f->at.group].n)
            return true;
        *r = f->all_exceeded ? STEP_TOO_MANY : STEP_NONE;
        return false;
    case FRAME_ALL:
        undo(s, &f->at, &f->device, &f->undo);
        return false;
    case FRAME_DEVICE:
        undo(s, &f->at, &f->device, &f->undo);
        if (*r != STEP_NONE)
            return false;
        f->here.device++;
        *r = find_device(s, f);
        *at = f->at;
        at->start = (struct location){f->here.pool, f->here.slice, f->here.device + 1};
        at->device++;
        return *r == STEP_FOUND;
    }
    return false;
}

enum step search_run(struct search *s)
{
    struct position at = {0};
    for (;;) {
        enum step r = descend(s, &at);
        if (r == STEP_FOUND)
            return r;
        while (s->stack.n > 0 && !next_branch(s, &vec_last(&s->stack), &at, &r))
            s->stack.n--;
        if (s->stack.n == 0)
            return r;
    }
}
