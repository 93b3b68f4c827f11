/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender_json.h - what extenders are sent, and what they answer
 * (k8s.io/kube-scheduler/extender/v1).
 *
 * Purpose:   requests as Go's encoder would write them: names with capitals, null for what is not
 *            there, whole objects. Pods and nodes that were kept as JSON (OBJECT_KEEP_JSON) go
 *            out as they are; of others, what scheduling reads. Answers are read without regard
 *            to case.
 * Ownership: what is decoded lives in the arena given.
 * Threading: any.
 */
#ifndef BERTH_LIVE_EXTENDER_JSON_H
#define BERTH_LIVE_EXTENDER_JSON_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "engine/ports/extender.h"

/* names_only: the extender knows the nodes (nodeCacheCapable). Of those, and of victims, only names
 * are sent. */
void extender_encode(const struct extender_call *call, bool names_only, struct buf *out);
/*
 * To filter and to prioritize in two parts: the first is about the pod alone, the second, which is
 * the larger one by far, about the nodes alone.
 */
void extender_encode_pod(const struct extender_call *call, struct buf *out);
void extender_encode_nodes(const struct extender_call *call, bool names_only, struct buf *out);

/*
 * The answer to a verb. As with Go's decoder the first JSON value counts, whatever stands behind
 * it. An error that the extender itself tells is ret_result->error, and not a failure of decoding.
 */
int extender_decode(enum extender_verb verb, bool names_only, struct str text, struct arena *a,
                    struct extender_result *ret_result, struct err *reterr) MUST_CHECK;

#endif
