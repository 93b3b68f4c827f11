/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender_json.h - requests to extenders and their responses (k8s.io/kube-scheduler/extender/v1).
 *
 * Purpose:   requests as Go's encoder writes them: capitalized names, null for missing values,
 *            whole objects. Pods and nodes kept as JSON (OBJECT_KEEP_JSON) are sent unchanged; of
 *            others, only the fields that berth models. Responses are read case-insensitively.
 * Ownership: decoded values live in the given arena.
 * Threading: any thread.
 */
#ifndef BERTH_LIVE_EXTENDER_JSON_H
#define BERTH_LIVE_EXTENDER_JSON_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "engine/ports/extender.h"

/*
 * names_only: the extender is nodeCacheCapable, so only names of nodes and UIDs of victims are
 * sent.
 */
void extender_encode(const struct extender_call *call, bool names_only, struct buf *out);
/*
 * A filter or prioritize request in two parts: the first depends on the pod only, the second, by
 * far the larger, on the nodes only.
 */
void extender_encode_pod(const struct extender_call *call, struct buf *out);
void extender_encode_nodes(const struct extender_call *call, bool names_only, struct buf *out);

/*
 * Decodes the response to a verb. As with Go's json.Decoder, text after the first JSON value is
 * ignored. An error that the extender reports is ret_result->error, not a decoding failure.
 */
int extender_decode(enum extender_verb verb, bool names_only, struct str text, struct arena *a,
                    struct extender_result *ret_result, struct err *reterr) MUST_CHECK;

#endif
