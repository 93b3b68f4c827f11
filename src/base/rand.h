/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rand.h - a pseudo-random generator, reproducible by seed.
 *
 * Purpose:   the engine's tie-breaks and offsets, jitter, property tests. Not for secrets.
 * Ownership: a plain value.
 * Threading: one thread at a time per generator.
 */
#ifndef BERTH_BASE_RAND_H
#define BERTH_BASE_RAND_H

#include "base/base.h"

struct rand {
    uint64_t s[4];
};

void rand_seed(struct rand *r, uint64_t seed);
uint64_t rand_u64(struct rand *r);
/* Uniform in [0, n); n > 0. */
uint64_t rand_below(struct rand *r, uint64_t n);
/* Uniform in [0, 1). */
double rand_double(struct rand *r);
/* A seed from the kernel, for uses that must not repeat. */
uint64_t rand_entropy(void);

#endif
