/* SPDX-License-Identifier: Apache-2.0 */
#include "api/coordination.h"

static const struct field lease_spec_fields[] = {
    F_PTR(struct lease_spec, holder_identity, "holderIdentity", 1, STR),
    F_PTR(struct lease_spec, lease_duration_seconds, "leaseDurationSeconds", 2, INT32),
    F_CUSTOM(struct lease_spec, acquire_time, "acquireTime", 3, struct timestamp,
             &micro_time_custom),
    F_CUSTOM(struct lease_spec, renew_time, "renewTime", 4, struct timestamp, &micro_time_custom),
    F_PTR(struct lease_spec, lease_transitions, "leaseTransitions", 5, INT32),
    F_PTR(struct lease_spec, strategy, "strategy", 6, STR),
    F_PTR(struct lease_spec, preferred_holder, "preferredHolder", 7, STR),
};
const struct type lease_spec_type =
    TYPE("k8s.io.api.coordination.v1.LeaseSpec", struct lease_spec, lease_spec_fields);

static const struct field lease_fields[] = {
    F_MSG(struct lease, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_MSG(struct lease, spec, "spec", 2, struct lease_spec, &lease_spec_type),
};
const struct type lease_type = TYPE("k8s.io.api.coordination.v1.Lease", struct lease, lease_fields);

static const struct field lease_candidate_spec_fields[] = {
    F_ONE(struct lease_candidate_spec, lease_name, "leaseName", 1, STR),
    F_CUSTOM(struct lease_candidate_spec, ping_time, "pingTime", 2, struct timestamp,
             &micro_time_custom),
    F_CUSTOM(struct lease_candidate_spec, renew_time, "renewTime", 3, struct timestamp,
             &micro_time_custom),
    F_ONE(struct lease_candidate_spec, binary_version, "binaryVersion", 4, STR),
    F_ONE(struct lease_candidate_spec, emulation_version, "emulationVersion", 5, STR),
    F_ONE(struct lease_candidate_spec, strategy, "strategy", 6, STR),
};
const struct type lease_candidate_spec_type =
    TYPE("k8s.io.api.coordination.v1beta1.LeaseCandidateSpec", struct lease_candidate_spec,
         lease_candidate_spec_fields);

static const struct field lease_candidate_fields[] = {
    F_MSG(struct lease_candidate, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_MSG(struct lease_candidate, spec, "spec", 2, struct lease_candidate_spec,
          &lease_candidate_spec_type),
};
const struct type lease_candidate_type = TYPE("k8s.io.api.coordination.v1beta1.LeaseCandidate",
                                              struct lease_candidate, lease_candidate_fields);
