/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/resource.h"

/* Signed overflow is undefined in C and wraps in Go; wrapping is what upstream's sums do. */
int64_t resource_sum(int64_t a, int64_t sign, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)sign * (uint64_t)b);
}

void resource_release(struct resource *r, struct intern *names)
{
    for (size_t i = 0; names && i < r->scalars.n; i++)
        intern_put(names, r->scalars.v[i].name);
    vec_release(&r->scalars);
}

/* A name that was not there appears. */
static void add_scalar(struct resource *r, struct intern *names, atom_t name, int64_t amount)
{
    for (size_t i = 0; i < r->scalars.n; i++)
        if (r->scalars.v[i].name == name) {
            r->scalars.v[i].amount = resource_sum(r->scalars.v[i].amount, 1, amount);
            return;
        }
    vec_push(&r->scalars, (struct scalar_amount){names ? intern_ref(names, name) : name, amount});
}

void resource_add(struct resource *r, struct intern *names, const struct resource *other,
                  int64_t sign)
{
    r->milli_cpu = resource_sum(r->milli_cpu, sign, other->milli_cpu);
    r->memory = resource_sum(r->memory, sign, other->memory);
    r->ephemeral_storage = resource_sum(r->ephemeral_storage, sign, other->ephemeral_storage);
    for (size_t i = 0; i < other->scalars.n; i++)
        add_scalar(r, names, other->scalars.v[i].name,
                   resource_sum(0, sign, other->scalars.v[i].amount));
}

int64_t resource_scalar(const struct resource *r, atom_t name)
{
    for (size_t i = 0; i < r->scalars.n; i++)
        if (r->scalars.v[i].name == name)
            return r->scalars.v[i].amount;
    return 0;
}

void resource_set(struct resource *r, struct intern *names, const struct resources *from)
{
    resource_release(r, names);
    r->milli_cpu = from->milli_cpu;
    r->memory = from->memory;
    r->ephemeral_storage = from->ephemeral_storage;
    r->pods = from->allowed_pods;
    if (from->scalars.n)
        vec_reserve(&r->scalars, from->scalars.n);
    for (size_t i = 0; i < from->scalars.n; i++)
        vec_push(&r->scalars, (struct scalar_amount){intern_get(names, from->scalars.v[i].name),
                                                     from->scalars.v[i].value});
}

int64_t resource_by_name(const struct resource *r, const struct intern *names, struct str name)
{
    if (str_eq(name, RESOURCE_CPU))
        return r->milli_cpu;
    if (str_eq(name, RESOURCE_MEMORY))
        return r->memory;
    if (str_eq(name, RESOURCE_PODS))
        return r->pods;
    if (str_eq(name, RESOURCE_EPHEMERAL_STORAGE))
        return r->ephemeral_storage;
    return resource_scalar(r, intern_find(names, name));
}
