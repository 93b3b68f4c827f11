/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csi_translation.h - volumes of in-tree plugins as volumes of the CSI drivers that replaced them.
 *
 * Purpose:   names of plugins and drivers, and the driver, handle and node affinity of a migrated
 *            volume, as upstream's csi-translation-lib computes them. NodeVolumeLimits counts
 *            handles, VolumeBinding checks the affinity.
 * Ownership: results borrow from the volume or live in the caller's arena or buffer.
 * Threading: pure functions; any thread.
 */
#ifndef BERTH_PLUGINS_COMMON_CSI_TRANSLATION_H
#define BERTH_PLUGINS_COMMON_CSI_TRANSLATION_H

#include "api/pod.h"
#include "api/storage.h"
#include "base/arena.h"
#include "base/buf.h"

/* An in-tree plugin and its CSI driver. */
struct csi_migration {
    struct str plugin; /* "kubernetes.io/aws-ebs" */
    struct str driver; /* "ebs.csi.aws.com" */
    /* Is it always migrated? Volumes of the others are never translated while scheduling. */
    bool on;
    struct str zone_key; /* the driver's topology key; empty: topology is not translated */
};

/* NULL: there is no such plugin, or no driver replaced it. */
const struct csi_migration *csi_migration_of_plugin(struct str plugin);
const struct csi_migration *csi_migration_of_inline(const struct volume_source *source);
const struct csi_migration *csi_migration_of_pv(const struct persistent_volume *pv);

/* Does the node's annotation list the plugin? node NULL: no. (isPluginMigratedToCSIOnNode) */
bool csi_migrated_on_node(struct str plugin, const struct csi_node *node);

/*
 * Append the handle of a volume with a migration to `handle`. Return false and append the reason to
 * `why` if it cannot be translated.
 */
bool csi_inline_handle(const struct volume *volume, struct str pod_namespace, struct buf *handle,
                       struct buf *why);
bool csi_pv_handle(const struct persistent_volume *pv, struct buf *handle, struct buf *why);

/*
 * The node affinity of a volume with a migration; NULL: none. New selectors are in the arena. The
 * caller has checked that csi_pv_handle succeeds.
 */
const struct node_selector *csi_pv_affinity(const struct persistent_volume *pv, struct arena *a);

#endif
