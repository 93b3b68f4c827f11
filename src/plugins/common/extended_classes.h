/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extended_classes.h - which DeviceClass provides an extended resource (upstream:
 * ExtendedResourceCache).
 *
 * Purpose:   a pod may request devices as an extended resource: by the name in the class's
 *            spec.extendedResourceName, or by deviceclass.resource.kubernetes.io/ and the class's
 *            name. Of two classes with the same extendedResourceName the newer one counts, then the
 *            one whose name sorts first.
 *            NodeResourcesFit leaves such resources to DynamicResources.
 * Ownership: owns copies of the names. Plugins share one of them.
 * Threading: changed by the engine's thread between cycles; any thread may read during one.
 */
#ifndef BERTH_PLUGINS_COMMON_EXTENDED_CLASSES_H
#define BERTH_PLUGINS_COMMON_EXTENDED_CLASSES_H

#include "api/resource_claim.h"
#include "base/buf.h"
#include "base/map.h"
#include "berth/plugin.h"

#define DEVICE_CLASS_RESOURCE_PREFIX "deviceclass.resource.kubernetes.io/"

struct extended_classes {
    struct map by_resource; /* to struct extended_class */
    struct buf key;         /* scratch */
};

/* For create: the one of all plugins; NULL if DRAExtendedResource is off. */
const struct extended_classes *extended_classes_shared(const struct berth_host *host,
                                                       struct berth_handle *h);
/* The name of the class that provides the resource; empty if none does. NULL is allowed. */
struct str extended_classes_find(const struct extended_classes *e, struct str resource);

/* Can a class provide a resource of this name (upstream: IsDRAExtendedResourceName)? */
bool resource_may_be_devices(struct str name);

#endif
