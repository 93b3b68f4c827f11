/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource.h - amounts of resources (upstream: Resource).
 *
 * Purpose:   cpu, memory and ephemeral storage as plain integers, everything else (extended
 *            resources, huge pages, attachable volumes) in a list by interned name.
 * Ownership: owns the list and a use of each name in it; resource_release returns them. With
 * `names` NULL no uses are counted: the owner of the names must outlive the resource. Threading:
 * the engine's thread; any thread with `names` NULL.
 */
#ifndef BERTH_ENGINE_CACHE_RESOURCE_H
#define BERTH_ENGINE_CACHE_RESOURCE_H

#include "api/resources.h"
#include "base/intern.h"

struct scalar_amount {
    atom_t name;
    int64_t amount;
};

struct resource {
    int64_t milli_cpu;
    int64_t memory;
    int64_t ephemeral_storage;
    int64_t pods;                      /* allowed pods; nodes only */
    VEC(struct scalar_amount) scalars; /* sorted by the atom of the name */
};

void resource_release(struct resource *r, struct intern *names);
/* a + sign * b; sign is 1 or -1. Wraps on overflow, as upstream's sums do. */
int64_t resource_sum(int64_t a, int64_t sign, int64_t b);
/* r = r + sign * other, by resource_sum. Scalars whose sum is 0 are not listed. */
void resource_add(struct resource *r, struct intern *names, const struct resource *other,
                  int64_t sign);
/* 0 if there is none of that name. */
int64_t resource_scalar(const struct resource *r, atom_t name);
/* The amounts of api/resources.h, with interned names. */
void resource_set(struct resource *r, struct intern *names, const struct resources *from);
/* By its API name: cpu in milli-units, everything else in units. */
int64_t resource_by_name(const struct resource *r, const struct intern *names, struct str name);

#endif
