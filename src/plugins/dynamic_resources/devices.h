/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devices.h - the devices of the cluster: what drivers offer and what is taken.
 *
 * Purpose:   ResourceSlices as pools by (driver, pool), seen from each node; DeviceClasses and
 *            DeviceTaintRules; the devices and the capacity that allocated claims hold; results of
 *            selectors, one evaluation per (selector, device). Kept up to date as objects change,
 *            so that an attempt to schedule a pod builds nothing (upstream: resourceslice/tracker,
 *            allocatedDevices, structured.GatherPools). allocator.h searches in it.
 * Ownership: holds references on the objects it was told about.
 * Threading: changed by the engine's thread, never while an allocator runs. Allocators read it on
 *            any number of threads; they write only cached results of selectors, which are atomic.
 *
 * There is one per process, whatever the number of profiles: it belongs to state that the plugin's
 * instances share (struct berth_shared_type).
 */
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_DEVICES_H
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_DEVICES_H

#include "api/device_taint_rule.h"
#include "api/node.h"
#include "api/object.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"

/* Upstream: structured.Features, and what the tracker of slices depends on. */
struct device_features {
    bool admin_access;          /* DRAAdminAccess */
    bool prioritized_list;      /* DRAPrioritizedList */
    bool partitionable_devices; /* DRAPartitionableDevices */
    bool device_taints;         /* DRADeviceTaints */
    bool device_taint_rules;    /* DRADeviceTaintRules and DRADeviceTaints */
    bool binding_conditions;    /* DRADeviceBindingConditions and DRAResourceClaimDeviceStatus */
    bool consumable_capacity;   /* DRAConsumableCapacity */
    bool list_attributes;       /* DRAListTypeAttributes: selectors see lists */
    /*
     * Constraints compare lists. Upstream's allocator can, its plugin never turns it on, even with
     * DRAListTypeAttributes: leave it false.
     */
    bool list_constraints;
};

/* The input of a selector. */
struct selector_input {
    struct str driver;
    const struct device *device;
    bool allow_multiple_allocations;
};

/*
 * How selectors are compiled and evaluated: src/cel, or something else in tests. Errors are
 * upstream's texts, without "CEL compile error: " and the like in front.
 */
struct selector_engine {
    void *ctx;
    /* NULL with the reason in `error` if the expression is invalid. Engine's thread. */
    void *(*compile)(void *ctx, struct str expression, struct buf *error);
    void (*free)(void *ctx, void *program);
    /* 0, or negative with the reason in `error`. Any thread. */
    int (*matches)(void *ctx, const void *program, const struct selector_input *input,
                   bool *ret_matches, struct buf *error);
    void (*release)(void *ctx); /* with the devices; NULL: nothing to release */
};

struct devices;

/* Both are copied. engine NULL: CEL. */
struct devices *devices_new(const struct device_features *features,
                            const struct selector_engine *engine);
/* NULL is allowed. Returns NULL. */
struct devices *devices_free(struct devices *d);

/*
 * A ResourceSlice, DeviceClass, DeviceTaintRule or Node was added (before NULL), changed or deleted
 * (after NULL); other kinds are ignored. Returns whether the slices as pods see them may have
 * changed: for a rule this means that upstream reports an update of ResourceSlices to the queue.
 */
bool devices_object_changed(struct devices *d, struct object *before, struct object *after);

/*
 * An allocation takes its devices and capacity, or gives them back with the same content. Every
 * take is counted: a claim that is in flight and one that is known to be allocated may both be
 * taken, in any order. Devices with admin access do not count.
 */
void devices_take(struct devices *d, const struct allocation_result *allocation);
void devices_give_back(struct devices *d, const struct allocation_result *allocation);

/* Does any device take resources of its node? */
bool devices_map_to_nodes(const struct devices *d);
/*
 * The device in the newest generation of its pool; NULL if there is none. Any thread. Upstream
 * looks it up without the driver: of two drivers with equal names of pools and devices it takes
 * any.
 */
const struct device *devices_find(const struct devices *d, struct str driver, struct str pool,
                                  struct str device);

/* NULL if there is none. Borrowed. */
const struct device_class *devices_class(const struct devices *d, struct str name);

/* The devices of a class that a node can reach, and how many of them are in use; for scores. */
struct device_count {
    int64_t devices, allocated;
};
struct device_count devices_count(const struct devices *d, struct str class_name,
                                  const struct node *node);

/*
 * Brings everything up to date that is computed from the objects. allocator_new calls it; it costs
 * what has changed.
 */
void devices_refresh(struct devices *d);

#endif
