/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signature.h - what a pod's placement depends on, as one text.
 *
 * Purpose:   pods of equal signature get the same verdicts and scores, so work done for one serves
 *            the next. Every plugin that filters or scores adds the part of the pod that it reads;
 *            a plugin that cannot say makes the pod unsignable.
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

/* False where the pod cannot be signed in this profile; out then holds nothing of use. */
bool signature_write(const struct profile *profile, const struct berth_pod *pod, struct buf *out);

#endif
