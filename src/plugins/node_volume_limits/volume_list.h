/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume_list.h - the CSI volumes of pods, as a driver and a handle each.
 *
 * Purpose:   which attachable volumes a pod uses: through its claims, bound or not, its ephemeral
 *            volumes, and its in-tree volumes, which CSI drivers serve (filterAttachableVolumes).
 * Ownership: a list owns its texts.
 * Threading: a list is used by one thread at a time; building reads the objects only.
 */
#ifndef BERTH_PLUGINS_NODE_VOLUME_LIMITS_VOLUME_LIST_H
#define BERTH_PLUGINS_NODE_VOLUME_LIMITS_VOLUME_LIST_H

#include "base/arena.h"
#include "base/vec.h"
#include "engine/cache/node_info.h"
#include "engine/index/objects.h"

struct csi_volume {
    uint64_t hash;
    struct str name;   /* "driver/handle": equal names are one volume */
    struct str driver; /* a part of the name or of an object */
};

struct volume_list {
    struct arena arena; /* of names */
    VEC(struct csi_volume) volumes;
};

/* Why a list is not complete. */
enum volume_fault {
    VOLUME_OK,
    VOLUME_NO_CLAIM, /* a claim does not exist */
    VOLUME_ERROR,
};

/* What a list was built from: told about every object that was looked up, found or not. */
typedef void volume_source_fn(void *ctx, enum kind_id kind, struct str namespace, struct str name);

struct volume_lookup {
    const struct objects *objects;
    /*
     * The node has a CSINode. Without one in-tree volumes are not those of a CSI driver, and
     * nothing is limited.
     */
    bool migrated;
    bool is_new;               /* the pod is being scheduled: its claims must exist */
    volume_source_fn *on_read; /* may be NULL */
    void *ctx;
};

void volume_list_init(struct volume_list *list);
void volume_list_release(struct volume_list *list);
void volume_list_clear(struct volume_list *list);

/*
 * The claim of a pod's volume; NULL: the volume has none, or the pod runs and its claim is gone. On
 * a fault the reason is appended to `why`.
 */
enum volume_fault volume_find_claim(const struct volume_lookup *lookup, const struct pod *pod,
                                    const struct volume *volume,
                                    const struct persistent_volume_claim **ret_claim,
                                    struct buf *why);

/* Appends the pod's volumes. On a fault the reason is appended to `why`. */
enum volume_fault volume_list_add_pod(struct volume_list *list, const struct volume_lookup *lookup,
                                      const struct pod *pod, struct buf *why);
void volume_list_add(struct volume_list *list, struct str driver, struct str handle);
/* The volume that a claim will get: no other volume has its handle. */
void volume_list_add_unbound(struct volume_list *list, struct str driver,
                             const struct persistent_volume_claim *claim);
/* Sorts by hash and name, and removes duplicates. */
void volume_list_sort(struct volume_list *list);
/* In a sorted list. */
bool volume_list_has(const struct volume_list *list, const struct csi_volume *volume);

/* Would PreFilter look at this volume at all? */
bool volume_is_attachable(const struct volume *volume);

#endif
