/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post.h - what other threads have for the engine's (struct engine_post).
 *
 * Purpose:   plugins may answer for a binding, write one, or run a function on the engine's thread
 *            from any thread. A post names the instance by its serial, and the operation by its id:
 *            what has ended meanwhile is not touched.
 * Ownership: a post belongs to the world (ports.post) until it calls engine_posted or
 *            engine_post_free.
 * Threading: the first two functions on any thread.
 */
#ifndef BERTH_ENGINE_POST_H
#define BERTH_ENGINE_POST_H

#include "engine/rooms.h"

enum post_kind { POST_FN, POST_OP_DONE, POST_WRITE_BINDING };

struct engine_post {
    enum post_kind kind;
    uint64_t serial; /* of the instance */
    berth_fn *fn;
    void *ctx;
    berth_op op;
    enum berth_code code;
    char *text;
};

/* text: the reason, or the node's name; copied. */
void engine_post_op(const struct framework *fw, const struct berth_handle *h, enum post_kind kind,
                    berth_op op, enum berth_code code, struct str text);
void engine_post_fn(struct framework *fw, const struct berth_handle *h, berth_fn *fn, void *ctx);

#endif
