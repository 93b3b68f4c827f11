/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cache/resource.h"

#define ATOM_NONE UINT32_MAX /* greater than every name */

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

/* The index of the first scalar that is not before this name. */
static size_t find_scalar(const struct resource *r, atom_t name)
{
    size_t from = 0, to = r->scalars.n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (r->scalars.v[mid].name < name)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

/* Makes r the sum of both and counts the uses of names that are added or removed. */
__attribute__((cold, noinline)) static void merge_scalars(struct resource *r, struct intern *names,
                                                          const struct resource *other,
                                                          int64_t sign)
{
    VEC(struct scalar_amount) sum = {0};
    size_t i = 0, k = 0;
    vec_reserve(&sum, r->scalars.n + other->scalars.n);
    while (i < r->scalars.n || k < other->scalars.n) {
        atom_t mine = i < r->scalars.n ? r->scalars.v[i].name : ATOM_NONE;
        atom_t theirs = k < other->scalars.n ? other->scalars.v[k].name : ATOM_NONE;
        struct scalar_amount s = {MIN(mine, theirs), 0};
        if (mine == s.name)
            s.amount = r->scalars.v[i++].amount;
        if (theirs == s.name)
            s.amount = resource_sum(s.amount, sign, other->scalars.v[k++].amount);
        if (s.amount)
            vec_push(&sum, s);
        if (names && s.amount && mine != s.name)
            (void)intern_ref(names, s.name);
        if (names && !s.amount && mine == s.name)
            intern_put(names, s.name);
    }
    vec_release(&r->scalars);
    r->scalars.v = sum.v;
    r->scalars.n = sum.n;
    r->scalars.cap = sum.cap;
}

void resource_add(struct resource *r, struct intern *names, const struct resource *other,
                  int64_t sign)
{
    r->milli_cpu = resource_sum(r->milli_cpu, sign, other->milli_cpu);
    r->memory = resource_sum(r->memory, sign, other->memory);
    r->ephemeral_storage = resource_sum(r->ephemeral_storage, sign, other->ephemeral_storage);
    if (other->scalars.n)
        merge_scalars(r, names, other, sign);
}

int64_t resource_scalar(const struct resource *r, atom_t name)
{
    size_t i = find_scalar(r, name);
    return i < r->scalars.n && r->scalars.v[i].name == name ? r->scalars.v[i].amount : 0;
}

static int by_name(const void *a, const void *b)
{
    atom_t x = ((const struct scalar_amount *)a)->name, y = ((const struct scalar_amount *)b)->name;
    return (x > y) - (x < y);
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
    if (r->scalars.n > 1)
        qsort(r->scalars.v, r->scalars.n, sizeof(*r->scalars.v), by_name);
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
