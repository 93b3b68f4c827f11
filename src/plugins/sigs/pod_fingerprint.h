/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_fingerprint.h - a short text that identifies a set of pods: "pfp0v001" and a hash.
 *
 * Purpose:   exporters of NodeResourceTopologies write which pods they counted; equal texts mean
 *            the same pods. The hash is XXH64, of the sorted hashes of the pods' names.
 * Ownership: owns its numbers. Initialize with {0}.
 * Threading: one thread.
 */
#ifndef BERTH_PLUGINS_SIGS_POD_FINGERPRINT_H
#define BERTH_PLUGINS_SIGS_POD_FINGERPRINT_H

#include "base/str.h"
#include "base/vec.h"

struct pod_fingerprint {
    VEC(uint64_t) pods;
};

void pod_fingerprint_release(struct pod_fingerprint *f);
void pod_fingerprint_add(struct pod_fingerprint *f, struct str namespace, struct str name);
/* Whether the text is that of the pods added. */
bool pod_fingerprint_is(struct pod_fingerprint *f, struct str text);

#endif
