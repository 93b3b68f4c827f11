/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender_body.h - the body of a request to an extender.
 *
 * Purpose:   all nodes of a cluster are megabytes, and mostly the same for consecutive pods. The
 *            nodes' text therefore stays in place while the nodes are the same; the pod's text is
 *            written in front of it, where some room is reserved.
 * Ownership: reference counted. Calls in flight and the next extender_body_for hold references.
 * Threading: built and changed on one thread; unref on any. A body is not changed while it has more
 *            than one reference.
 */
#ifndef BERTH_LIVE_EXTENDER_BODY_H
#define BERTH_LIVE_EXTENDER_BODY_H

#include "engine/ports/extender.h"

struct extender_body;

/*
 * Returns the body of a call, with a reference for the caller. *last is the previous body, or NULL:
 * it is returned again if the content is the same, and its memory is reused if no call refers to
 * it.
 */
struct extender_body *extender_body_for(struct extender_body **last,
                                        const struct extender_call *call, bool names_only);
/* NULL is allowed. Returns NULL. */
struct extender_body *extender_body_unref(struct extender_body *body);
struct str extender_body_text(const struct extender_body *body);

#endif
