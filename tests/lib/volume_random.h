/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume_random.h - random claims, volumes, classes, CSI nodes and pods that use them.
 *
 * Purpose:   volume_random_agree is the property of the volume plugins: batch and single forms
 *            return the same while all these objects are added, changed and deleted. The batch
 *            form reads what is kept up to date, the single form the objects themselves.
 * Ownership: the caller owns a reference on each object.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_VOLUME_RANDOM_H
#define BERTH_TESTS_VOLUME_RANDOM_H

#include "base/rand.h"
#include "engine_fixture.h"

/* Named p<i>; node "": not bound. */
struct object *volume_random_pod(struct rand *r, size_t i, const char *node);

/* A prop_fn; ctx is the plugin's name. */
bool volume_random_agree(struct rand *r, size_t size, void *ctx);

#endif
