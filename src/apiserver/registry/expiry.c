/* SPDX-License-Identifier: Apache-2.0 */
/* Events go after an hour without a change, as kube-apiserver's --event-ttl has it. */
#include "apiserver/registry/registry_internal.h"

void expiry_release(struct registry *reg)
{
    for (size_t i = reg->expiries_at; i < reg->expiries.n; i++)
        free(reg->expiries.v[i].key);
    vec_release(&reg->expiries);
}

/* Events that were loaded from disk get their hour from now on. */
static void load(struct registry *reg, const struct resource *events, int64_t now)
{
    struct snapshot *s = store_snapshot(reg->store);
    struct store_range range;
    const struct revision *rev;

    reg->expiries_loaded = true;
    if (reg->expiries.n < snapshot_count(s, events)) {
        store_range_init(&range, s, events, STR(""), NULL);
        while ((rev = store_range_next(&range)))
            expiry_add(reg, rev, now);
    }
    snapshot_unref(s);
}

static void expire(struct registry *reg, const struct resource *events, const struct expiry *e,
                   struct arena *a)
{
    struct str name = str_of(e->key), namespace;
    struct api_request request = {.arena = a};
    struct api_response response = {0};
    struct op op = {.reg = reg,
                    .req = &request,
                    .res = &response,
                    .a = a,
                    .r = events,
                    .stored = events,
                    .strategy = strategy_find(events)};
    struct revision *rev;

    str_split(&name, '/', &namespace);
    rev = store_get(reg->store, events, namespace, name);
    if (rev && rev->version == e->version)
        op_remove(&op, op_parse(&op, rev));
}

int64_t registry_tick(struct registry *reg, int64_t now)
{
    const struct resource *events = resources_named(reg->resources, STR(""), STR("events"));
    struct arena a;

    if (!events)
        return INT64_MAX;
    if (!reg->expiries_loaded)
        load(reg, events, now);
    arena_init(&a, 0);
    for (; reg->expiries_at < reg->expiries.n; reg->expiries_at++) {
        struct expiry *e = &reg->expiries.v[reg->expiries_at];

        if (e->due > now)
            break;
        expire(reg, events, e, &a);
        free(e->key);
        arena_reset(&a);
    }
    arena_release(&a);
    if (reg->expiries_at > 1024 && reg->expiries_at * 2 > reg->expiries.n) {
        reg->expiries.n -= reg->expiries_at;
        memmove(reg->expiries.v, reg->expiries.v + reg->expiries_at,
                reg->expiries.n * sizeof(*reg->expiries.v));
        reg->expiries_at = 0;
    }
    return reg->expiries_at < reg->expiries.n ? reg->expiries.v[reg->expiries_at].due : INT64_MAX;
}
