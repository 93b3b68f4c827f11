/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared counters of partitionable devices. As in upstream, the counters of one search are kept by
 * the name of the pool, whatever the driver: of two pools with the same name, only the counters of
 * the one that is used first are checked. A counter that allocated devices have overdrawn blocks
 * all devices of the pool that consume counters.
 */
#include "plugins/dynamic_resources/allocator_internal.h"

/* The index of the counter; -1 if there is none. */
static ptrdiff_t find_counter(const struct counter_state *c, struct str set, struct str name)
{
    size_t from = 0, to = c->view->counters.n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        int order = str_cmp(c->view->counters.v[mid]->name, set);
        if (order == 0) {
            from = mid;
            break;
        }
        if (order < 0)
            from = mid + 1;
        else
            to = mid;
    }
    if (from >= to)
        return -1;
    const struct counter_set *found = c->view->counters.v[from];
    size_t low = 0, high = found->counters.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = str_cmp(found->counters.v[mid].key, name);
        if (order == 0)
            return (ptrdiff_t)(c->offsets[from] + mid);
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return -1;
}

/* Adds to or subtracts from `amounts` what the device consumes. */
static void apply(const struct counter_state *c, const struct device *device,
                  struct quantity *amounts,
                  void (*change)(struct quantity *, const struct quantity *))
{
    for (size_t i = 0; i < device->consumes_counters.n; i++) {
        const struct device_counter_consumption *used = &device->consumes_counters.v[i];
        for (size_t k = 0; k < used->counters.n; k++) {
            ptrdiff_t at = find_counter(c, used->counter_set, used->counters.v[k].key);
            if (at >= 0)
                change(&amounts[at], &used->counters.v[k].value.value);
        }
    }
}

static void subtract_allocated(struct counter_state *c, struct slice *const *slices, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct slice *slice = slices[i];
        for (size_t k = 0; slice->consumes && k < slice->api->spec.devices.n; k++)
            if (device_id_is_allocated(slice->devices[k].id))
                apply(c, slice->devices[k].device, c->available, quantity_sub);
    }
}

static struct counter_state *state_of(struct search *s, const struct pool_view *view)
{
    for (size_t i = 0; i < s->counters.n; i++)
        if (str_eq(s->counters.v[i].pool_name, view->pool->name))
            return &s->counters.v[i];
    struct counter_state c = {.pool_name = view->pool->name, .view = view};
    c.offsets = arena_array(&s->arena, size_t, view->counters.n);
    for (size_t i = 0; i < view->counters.n; i++) {
        c.offsets[i] = c.n;
        c.n += view->counters.v[i]->counters.n;
    }
    c.available = arena_array(&s->arena, struct quantity, c.n);
    c.consumed = arena_array(&s->arena, struct quantity, c.n);
    for (size_t i = 0, at = 0; i < view->counters.n; i++)
        for (size_t k = 0; k < view->counters.v[i]->counters.n; k++)
            c.available[at++] = view->counters.v[i]->counters.v[k].value.value;
    subtract_allocated(&c, view->slices.v, view->slices.n);
    subtract_allocated(&c, view->others.v, view->others.n);
    vec_push(&s->counters, c);
    return &vec_last(&s->counters);
}

bool counters_reserve(struct search *s, const struct located *device)
{
    const struct counter_state *c = state_of(s, device->pool);
    apply(c, device->device->device, c->consumed, quantity_add);
    for (size_t i = 0; i < c->n; i++)
        if (quantity_cmp(&c->available[i], &c->consumed[i]) < 0) {
            apply(c, device->device->device, c->consumed, quantity_sub);
            return false;
        }
    return true;
}

void counters_release(struct search *s, const struct located *device)
{
    const struct counter_state *c = state_of(s, device->pool);
    apply(c, device->device->device, c->consumed, quantity_sub);
}
