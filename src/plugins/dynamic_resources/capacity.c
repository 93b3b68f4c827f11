/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capacity of devices that can be allocated several times (upstream: consumable_capacity.go). What
 * a request consumes follows from the amount it names and from the policy of the capacity.
 */
#include "plugins/dynamic_resources/allocator_internal.h"

static int64_t wrap_sub(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* Division as in Go: the lowest number by -1 wraps. By 0, which the API refuses, it is 0. */
static int64_t go_div(int64_t a, int64_t b)
{
    if (b == -1)
        return wrap_sub(0, a);
    return b == 0 ? 0 : a / b;
}

static int64_t go_mod(int64_t a, int64_t b)
{
    return b == -1 || b == 0 ? 0 : a % b;
}

/* Rounds up to min plus a multiple of step. */
static struct quantity round_up_range(const struct quantity *requested,
                                      const struct capacity_request_policy_range *range)
{
    if (quantity_cmp(requested, range->min) < 0)
        return *range->min;
    if (!range->step)
        return *requested;
    int64_t step = quantity_value(range->step), min = quantity_value(range->min);
    int64_t added = wrap_sub(quantity_value(requested), min);
    uint64_t n = (uint64_t)go_div(added, step) + (go_mod(added, step) != 0);
    return quantity_of((int64_t)((uint64_t)min + (uint64_t)step * n), QUANTITY_BINARY_SI);
}

static struct quantity consumed_of(const struct quantity *requested,
                                   const struct device_capacity *capacity)
{
    const struct capacity_request_policy *policy = capacity->request_policy;
    if (!requested)
        return policy && policy->default_value ? *policy->default_value : capacity->value;
    if (!policy)
        return *requested;
    if (policy->valid_range && policy->valid_range->min)
        return round_up_range(requested, policy->valid_range);
    for (size_t i = 0; i < policy->valid_values.n; i++)
        if (quantity_cmp(requested, &policy->valid_values.v[i]) <= 0)
            return policy->valid_values.v[i];
    return *requested;
}

static bool violates_range(const struct quantity *q,
                           const struct capacity_request_policy_range *range)
{
    if (range->max && quantity_cmp(q, range->max) > 0)
        return true;
    if (!range->step)
        return false;
    int64_t min = range->min ? quantity_value(range->min) : 0;
    return go_mod(wrap_sub(quantity_value(q), min), quantity_value(range->step)) != 0;
}

static bool violates_policy(const struct quantity *q, const struct capacity_request_policy *policy)
{
    if (!policy)
        return false;
    if (policy->default_value && quantity_identical(q, policy->default_value))
        return false;
    if (policy->valid_range)
        return violates_range(q, policy->valid_range);
    for (size_t i = 0; i < policy->valid_values.n; i++)
        if (quantity_cmp(q, &policy->valid_values.v[i]) == 0)
            return false;
    return policy->valid_values.n > 0;
}

static bool has_capacity(const struct device *device, struct str name)
{
    size_t from = 0, to = device->capacity.n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        int c = str_cmp(device->capacity.v[mid].key, name);
        if (c == 0)
            return true;
        if (c < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return false;
}

static const struct quantity *requested_of(const struct request_plan *request, struct str name)
{
    return request->capacity ? quantity_map_get(request->capacity, name) : NULL;
}

bool capacity_fits(const struct search *s, const struct request_plan *request,
                   const struct slice_device *device)
{
    const struct device *api = device->device;
    const struct mark *mark = search_find_mark(s, device->id);
    const struct quantity *chosen = mark && mark->has_capacity ? mark->capacity : NULL;
    bool plain = !request->capacity || request->capacity->n == 0;
    if (plain && !device->has_request_policy && !chosen && !device->id->has_capacity)
        return true; /* it consumes what there is */
    for (size_t i = 0; !plain && i < request->capacity->n; i++)
        if (!has_capacity(api, request->capacity->v[i].key))
            return false;
    for (size_t i = 0; i < api->capacity.n; i++) {
        const struct device_capacity_entry *c = &api->capacity.v[i];
        struct quantity sum = consumed_of(requested_of(request, c->key), &c->value);
        if (violates_policy(&sum, c->value.request_policy))
            return false;
        const struct quantity *taken = device_id_capacity(device->id, c->key);
        if (taken)
            quantity_add(&sum, taken);
        if (chosen)
            quantity_add(&sum, &chosen[i]);
        if (quantity_cmp(&sum, &c->value.value) > 0)
            return false;
    }
    return true;
}

void capacity_add(struct search *s, const struct request_plan *request,
                  const struct slice_device *device)
{
    const struct device *api = device->device;
    struct mark *m = search_mark(s, device->id);
    m->has_capacity = true;
    if (!m->capacity)
        m->capacity = arena_array(&s->arena, struct quantity, api->capacity.n);
    for (size_t i = 0; i < api->capacity.n; i++) {
        const struct device_capacity_entry *c = &api->capacity.v[i];
        struct quantity consumed = consumed_of(requested_of(request, c->key), &c->value);
        quantity_add(&m->capacity[i], &consumed);
        vec_push(&s->amounts, consumed);
    }
}

/*
 * Upstream drops an entry without amounts, which also says that the device is shared, unless an
 * earlier share made it.
 */
void capacity_remove(struct search *s, const struct slice_device *device, bool existed)
{
    struct mark *m = search_mark(s, device->id);
    size_t n = device->device->capacity.n;
    bool empty = true;
    s->amounts.n -= n;
    for (size_t i = 0; i < n; i++) {
        quantity_sub(&m->capacity[i], &s->amounts.v[s->amounts.n + i]);
        empty = empty && quantity_is_zero(&m->capacity[i]);
    }
    if (empty)
        m->has_capacity = existed;
}
