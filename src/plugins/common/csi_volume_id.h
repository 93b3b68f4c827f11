/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csi_volume_id.h - names of disks in the clouds.
 *
 * Purpose:   the parts of in-tree volume names that CSI drivers use (csi_translation.h).
 * Ownership: results borrow from the argument or are appended to a buffer.
 * Threading: pure functions; any thread.
 */
#ifndef BERTH_PLUGINS_COMMON_CSI_VOLUME_ID_H
#define BERTH_PLUGINS_COMMON_CSI_VOLUME_ID_H

#include "base/buf.h"

#define ZONE_DELIMITER "__" /* in a label with several zones */

/* "aws://ZONE/vol-1", "aws:///vol-1" or the ID itself. False: the reason is appended to why. */
bool ebs_volume_id(struct str id, struct buf *out, struct buf *why);
/* The account in "azure-storage-account-NAME-secret"; another name is an account itself. */
struct str azure_storage_account(struct str secret);
/* The region of zones such as "us-east1-b__us-east1-c". False: the reason is appended to why. */
bool gce_region_of_zones(struct str zones, struct str *ret_region, struct buf *why);

#endif
