/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coordination.h - Lease, LeaseCandidate.
 *
 * Purpose:   leader election.
 * Ownership: part of a decoded object; everything lives in its arena.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_COORDINATION_H
#define BERTH_API_COORDINATION_H

#include "api/meta.h"

struct lease_spec {
    struct str *holder_identity; /* "" or absent: not held */
    int32_t *lease_duration_seconds;
    struct timestamp acquire_time;
    struct timestamp renew_time;
    int32_t *lease_transitions;
    struct str *strategy;
    struct str *preferred_holder;
};

struct lease {
    struct object_meta metadata;
    struct lease_spec spec;
};

/* coordination.k8s.io/v1beta1 */
struct lease_candidate_spec {
    struct str lease_name;
    struct timestamp ping_time; /* later than renew_time: the server asks for a renewal */
    struct timestamp renew_time;
    struct str binary_version;
    struct str emulation_version;
    struct str strategy;
};

struct lease_candidate {
    struct object_meta metadata;
    struct lease_candidate_spec spec;
};

extern const struct type lease_candidate_spec_type;
extern const struct type lease_candidate_type;
extern const struct type lease_spec_type;
extern const struct type lease_type;

#endif
