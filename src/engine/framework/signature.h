/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signature.h - what a pod's placement depends on, as one text (upstream: SignPod).
 *
 * Purpose:   pods of equal signature get the same verdicts and scores. Every plugin that filters or
 *            scores adds the parts of the pod that it reads; a plugin without `sign`, or whose
 *            `sign` does not succeed, makes the pod unsignable.
 * Ownership: appends to the caller's buffer.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_FRAMEWORK_SIGNATURE_H
#define BERTH_ENGINE_FRAMEWORK_SIGNATURE_H

#include "base/buf.h"
#include "engine/framework/framework.h"

struct berth_signature {
    struct buf *out;
};

/* Returns false if the pod cannot be signed in this profile; *out is undefined then. */
bool signature_write(const struct profile *profile, const struct berth_pod *pod, struct buf *out);

#endif
