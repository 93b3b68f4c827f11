/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume_sources.h - validation of what pods and PersistentVolumes mount.
 *
 * Purpose:   the sources that both have: hostPath, nfs, iscsi and so on.
 * Ownership: nothing is kept; errors are in the arena of their list.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_STRATEGIES_VOLUME_SOURCES_H
#define BERTH_APISERVER_STRATEGIES_VOLUME_SOURCES_H

#include "apiserver/strategies/field_checks.h"

/*
 * Checks the source of this name, "hostPath", and adds its errors. Sources with rules of their own
 * in pods or in PersistentVolumes are not checked here.
 */
void volume_source_validate(const char *name, const struct json_value *source,
                            const struct field_path *path, struct field_errors *errors);
/* ValidateCSIDriverName. */
void csi_driver_name_validate(struct str name, const struct field_path *path,
                              struct field_errors *errors);
/* ValidatePersistentVolumeClaimSpec. */
void claim_spec_validate(const struct json_value *spec, const struct field_path *path,
                         struct field_errors *errors);
/* accessModes of claims and volumes; what: "claims" is in the text for missing ones. */
void access_modes_validate(const struct json_value *spec, const char *missing,
                           const struct field_path *path, struct field_errors *errors);

#endif
