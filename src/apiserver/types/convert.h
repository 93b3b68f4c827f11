/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert.h - one object as the resources that share it see it.
 *
 * Purpose:   events of the core group and of events.k8s.io, HorizontalPodAutoscalers of v1 and v2
 *            and the versions of a custom resource are stored once (struct resource.stored). Tree
 *            to tree, both ways, as upstream's conversions; custom resources change only their
 *            apiVersion.
 * Ownership: the result is in the arena and shares parts of the input.
 * Threading: any thread, one call at a time per arena.
 */
#ifndef BERTH_APISERVER_TYPES_CONVERT_H
#define BERTH_APISERVER_TYPES_CONVERT_H

#include "apiserver/types/resource.h"
#include "codec/json_value.h"

/* Both resources have the same resource_stored, or are the same. */
struct json_value convert_object(const struct resource *from, const struct resource *to,
                                 const struct json_value *object, struct arena *a);

#endif
