/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease_candidate.h - the LeaseCandidate of this scheduler, for coordinated leader election.
 *
 * Purpose:   client-go's leaderelection.LeaseCandidate: creates the LeaseCandidate if it is
 *            missing, renews it every five minutes and whenever the server pings it.
 * Ownership: the caller owns the candidature. Strings are copied.
 * Threading: the loop's thread.
 */
#ifndef BERTH_KUBE_LEASE_LEASE_CANDIDATE_H
#define BERTH_KUBE_LEASE_LEASE_CANDIDATE_H

#include "kube/rest/rest.h"

struct lease_candidate_options {
    struct str namespace, name; /* name: the identity that would hold the lease */
    struct str lease_name;
    struct str binary_version, emulation_version; /* "1.36.3", "1.36.0" */
    struct str strategy;                          /* "OldestEmulationVersion" */
};

struct lease_candidature;

struct lease_candidature *lease_candidature_new(struct rest_client *client,
                                                const struct lease_candidate_options *options);
void lease_candidature_start(struct lease_candidature *candidature);
/* For health checks: whether the informer of the candidate has synced. */
bool lease_candidature_has_synced(const struct lease_candidature *candidature);
/* NULL is allowed. Returns NULL. */
struct lease_candidature *lease_candidature_free(struct lease_candidature *candidature);

#endif
