/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource_random.h - nodes and pods with random amounts of resources, absurd ones among them.
 *
 * Purpose:   input of the property tests of the resource plugins.
 * Ownership: objects have one reference for the caller.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_RESOURCE_RANDOM_H
#define BERTH_TESTS_RESOURCE_RANDOM_H

#include "base/rand.h"
#include "engine_fixture.h"

/* An amount as text, valid for eight calls. */
const char *resource_random_amount(struct rand *r);
/* A random subset of cpu, memory, ephemeral-storage, x.io/a and x.io/b; node "": none. */
struct object *resource_random_pod(struct rand *r, size_t i, const char *node);
/* Nodes n0 … with as many pods on them. */
void resource_random_cluster(struct fixture *f, struct rand *r, size_t n);

#endif
