/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender_body.h - the bytes of a request to an extender.
 *
 * Purpose:   every node of a cluster, whole, comes to megabytes, and most of them are the same for
 *            one pod after the other. What is said of the nodes therefore stays where it is while
 *            the nodes stay the same; what is said of the pod ends where that begins, and has some
 *            room before it.
 * Ownership: counted: a body is read by the calls that send it, and kept by whoever makes the next.
 * Threading: made and changed on one thread; unref from any. It is not changed while more than one
 *            reference is out.
 */
#ifndef BERTH_LIVE_EXTENDER_BODY_H
#define BERTH_LIVE_EXTENDER_BODY_H

#include "engine/ports/extender.h"

struct extender_body;

/*
 * The body of a call, with a reference for the caller. *last is what came of the call before, or
 * NULL: it is given again where it says the same, and made use of where nobody reads it any more.
 */
struct extender_body *extender_body_for(struct extender_body **last,
                                        const struct extender_call *call, bool names_only);
/* NULL is fine; returns NULL. */
struct extender_body *extender_body_unref(struct extender_body *body);
struct str extender_body_text(const struct extender_body *body);

#endif
