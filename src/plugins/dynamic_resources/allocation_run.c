/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/dynamic_resources/allocation_run.h"

/* The clock is read once in so many steps of the search. */
#define STEPS_PER_READING 64

static bool timed_out(void *ctx)
{
    struct allocation_run *run = ctx;
    const struct dynamic_resources *self = run->state->plugin;
    if (++run->steps % STEPS_PER_READING)
        return false;
    int64_t now = self->host->now(self->handle);
    if (!run->deadline)
        run->deadline = now + self->filter_timeout;
    return now >= run->deadline;
}

/* A version 4 UUID. */
static void new_share_id(void *ctx, char uuid[37])
{
    struct allocation_run *run = ctx;
    struct rand *rand = &run->state->plugin->handle->framework->rand;
    uint64_t a = rand_u64(rand), b = rand_u64(rand);
    snprintf(uuid, 37, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(a >> 32),
             (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xfff),
             (unsigned)(0x8000 | (b >> 48 & 0x3fff)), (unsigned long long)(b & 0xffffffffffffULL));
}

static void need_arena(struct allocation_run *run)
{
    if (!run->has_arena)
        arena_init(&run->arena, 0);
    run->has_arena = true;
}

/* Does the node provide one of the resources itself? */
static bool has_some(const struct claims_state *s, const struct berth_node *node)
{
    bool exists;
    for (size_t i = 0; i < s->n_extended; i++)
        if (s->extended[i].devices && node_scalar(node, s->extended[i].name, &exists))
            return true;
    return false;
}

/* Otherwise the claim that PreFilter made is the right one; `build` also needs the mappings. */
static void prepare_extended(struct allocation_run *run, bool build)
{
    const struct claims_state *s = run->state;
    if (!build && !has_some(s, run->node))
        return;
    need_arena(run);
    extended_claim_make(s, run->pod, run->node, &run->arena, &run->extended);
    run->last = *s->to_allocate[s->n_to_allocate - 1];
    run->last.spec.devices.requests.v = run->extended.requests.v;
    run->last.spec.devices.requests.n = run->extended.requests.n;
    run->allocation.last = &run->last;
}

enum allocation_verdict allocation_run(struct allocation_run *run, bool build)
{
    const struct claims_state *s = run->state;
    const struct dynamic_resources *self = s->plugin;
    if (!s->allocator)
        return ALLOCATION_FOUND;
    run->allocation = (struct allocation){.ctx = run};
    if (s->allocates_extended)
        prepare_extended(run, build);
    if (build) {
        need_arena(run);
        run->allocation.arena = &run->arena;
        run->allocation.new_share_id = run->new_share_ids ? new_share_id : NULL;
    }
    if (self->filter_timeout)
        run->allocation.cancelled = timed_out;
    enum allocation_verdict verdict =
        allocator_allocate(s->allocator, run->node->node, &run->allocation);
    if (verdict != ALLOCATION_ERROR || build)
        return verdict;
    /* For the text of the error. */
    need_arena(run);
    run->allocation.arena = &run->arena;
    return allocator_allocate(s->allocator, run->node->node, &run->allocation);
}

struct arena *allocation_run_arena(struct allocation_run *run)
{
    need_arena(run);
    return &run->arena;
}

void allocation_run_release(struct allocation_run *run)
{
    if (run->has_arena)
        arena_release(&run->arena);
    run->has_arena = false;
}
