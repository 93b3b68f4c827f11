/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource.h - amounts of resources as scheduling adds and compares them (upstream: Resource).
 *
 * Purpose:   cpu, memory and ephemeral storage as plain integers, everything else (extended
 *            resources, huge pages, attachable volumes) in a list by interned name.
 * Ownership: owns the list and a use of each name in it; resource_release gives them back. Where
 *            names is NULL the uses are somebody else's, who outlives it: any thread may do that.
 * Threading: the engine's thread.
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
    int64_t pods;                      /* allowed pods; of nodes only */
    VEC(struct scalar_amount) scalars; /* sorted by name, that is, by its atom */
};

void resource_release(struct resource *r, struct intern *names);
/* a + sign * b; sign is 1 or -1. Wraps on overflow, as upstream's sums do. */
int64_t resource_sum(int64_t a, int64_t sign, int64_t b);
/* r = r + sign * other, by resource_sum. What comes to nothing is not listed. */
void resource_add(struct resource *r, struct intern *names, const struct resource *other,
                  int64_t sign);
/* 0 where there is none of that name. */
int64_t resource_scalar(const struct resource *r, atom_t name);
/* The amounts that api/resources.h computed, with interned names. */
void resource_set(struct resource *r, struct intern *names, const struct resources *from);
/* By its name in the API: cpu in thousandths, anything else in whole units. */
int64_t resource_by_name(const struct resource *r, const struct intern *names, struct str name);

#endif
