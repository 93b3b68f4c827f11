/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What allocated claims hold (upstream: allocatedDevices, GatherAllocatedState). Takes are counted
 * per device, so that a device that two claims name is free only when both have given it back.
 */
#include "plugins/dynamic_resources/devices_internal.h"

/* --- identities ------------------------------------------------------------------------------- */

static void write_id(struct buf *out, struct str driver, struct str pool, struct str device)
{
    buf_add_str(out, driver);
    buf_add_char(out, '\0');
    buf_add_str(out, pool);
    buf_add_char(out, '\0');
    buf_add_str(out, device);
}

static struct str id_key(struct devices *d, struct str driver, struct str pool, struct str device)
{
    buf_clear(&d->key);
    write_id(&d->key, driver, pool, device);
    return buf_str(&d->key);
}

const struct device_id *device_id_find(const struct devices *d, struct str driver, struct str pool,
                                       struct str device)
{
    struct buf key = BUF_INIT;
    write_id(&key, driver, pool, device);
    const struct device_id *id = map_get(&d->ids, buf_str(&key));
    buf_release(&key);
    return id;
}

struct device_id *device_id_get(struct devices *d, struct str driver, struct str pool,
                                struct str device)
{
    struct str key = id_key(d, driver, pool, device);
    struct device_id *id = map_get(&d->ids, key);
    if (!id) {
        id = xcalloc(1, sizeof(*id) + key.n);
        memcpy(id->text, key.p, key.n);
        id->key = (struct str){id->text, key.n};
        id->driver = (struct str){id->text, driver.n};
        id->pool = (struct str){id->text + driver.n + 1, pool.n};
        id->device = (struct str){id->text + driver.n + 1 + pool.n + 1, device.n};
        arena_init(&id->arena, 0);
        map_put(&d->ids, id->key, id);
    }
    id->refs++;
    return id;
}

void device_id_put(struct devices *d, struct device_id *id)
{
    if (--id->refs > 0)
        return;
    map_del(&d->ids, id->key);
    vec_release(&id->capacity);
    vec_release(&id->offers);
    arena_release(&id->arena);
    free(id);
}

bool device_id_is_allocated(const struct device_id *id)
{
    return id->taken > 0 || id->shares > 0 || id->has_capacity;
}

/* The index of the first entry that is not before name. */
static size_t find_capacity(const struct device_id *id, struct str name)
{
    size_t from = 0, to = id->capacity.n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (str_cmp(id->capacity.v[mid].key, name) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

const struct quantity *device_id_capacity(const struct device_id *id, struct str name)
{
    size_t i = find_capacity(id, name);
    return i < id->capacity.n && str_eq(id->capacity.v[i].key, name) ? &id->capacity.v[i].value
                                                                     : NULL;
}

/* --- take and give back ----------------------------------------------------------------------- */

static void add_capacity(struct device_id *id, const quantity_map *consumed)
{
    id->has_capacity = true;
    for (size_t i = 0; i < consumed->n; i++) {
        const struct quantity_entry *e = &consumed->v[i];
        size_t at = find_capacity(id, e->key);
        if (at < id->capacity.n && str_eq(id->capacity.v[at].key, e->key)) {
            quantity_add(&id->capacity.v[at].value, &e->value);
            continue;
        }
        struct quantity_entry entry = {.key = arena_dup(&id->arena, e->key),
                                       .value = quantity_dup(&e->value, &id->arena)};
        vec_insert(&id->capacity, at, entry);
    }
}

/* Upstream drops the entry of a device when nothing but zeros is left of it. */
static void sub_capacity(struct device_id *id, const quantity_map *consumed)
{
    if (!id->has_capacity)
        return;
    bool empty = true;
    for (size_t i = 0; i < consumed->n; i++) {
        size_t at = find_capacity(id, consumed->v[i].key);
        if (at < id->capacity.n && str_eq(id->capacity.v[at].key, consumed->v[i].key))
            quantity_sub(&id->capacity.v[at].value, &consumed->v[i].value);
    }
    for (size_t i = 0; i < id->capacity.n; i++)
        empty = empty && quantity_is_zero(&id->capacity.v[i].value);
    if (!empty)
        return;
    id->has_capacity = false;
    vec_clear(&id->capacity);
    arena_reset(&id->arena);
}

static bool is_share(const struct devices *d, const struct device_request_allocation_result *r)
{
    return d->features.consumable_capacity && !str_empty(r->share_id);
}

/* Searches that have seen the device are out of date. */
static void touch(struct devices *d, const struct device_id *id, bool taking)
{
    for (size_t i = 0; i < id->offers.n; i++)
        slice_device_touch(d, id->offers.v[i], taking);
}

void devices_take(struct devices *d, const struct allocation_result *allocation)
{
    for (size_t i = 0; i < allocation->devices.results.n; i++) {
        const struct device_request_allocation_result *r = &allocation->devices.results.v[i];
        if (r->admin_access)
            continue;
        struct device_id *id = device_id_get(d, r->driver, r->pool, r->device);
        touch(d, id, !is_share(d, r));
        if (!is_share(d, r)) {
            id->taken++;
            continue;
        }
        id->shares++;
        if (r->consumed_capacity.n > 0)
            add_capacity(id, &r->consumed_capacity);
    }
}

void devices_give_back(struct devices *d, const struct allocation_result *allocation)
{
    for (size_t i = 0; i < allocation->devices.results.n; i++) {
        const struct device_request_allocation_result *r = &allocation->devices.results.v[i];
        struct device_id *id =
            r->admin_access ? NULL : map_get(&d->ids, id_key(d, r->driver, r->pool, r->device));
        if (!id)
            continue;
        uint32_t *count = is_share(d, r) ? &id->shares : &id->taken;
        if (*count == 0)
            continue; /* it was never taken */
        touch(d, id, false);
        --*count;
        if (is_share(d, r) && r->consumed_capacity.n > 0)
            sub_capacity(id, &r->consumed_capacity);
        device_id_put(d, id);
    }
}
