/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender.h - the extenders of a configuration, asked over HTTP.
 *
 * Purpose:   one HTTP client per extender, whose connections are kept; requests are written on the
 *            engine's thread, sent and read on the loop's. Whatever goes wrong becomes the text of
 *            an answer: every call gets one, once.
 * Ownership: extenders belong to their maker; the configuration must outlive them. An answer
 *            belongs to who is told of it, and goes by extender_answer_free.
 * Threading: extenders_call on the engine's thread, everything else on the loop's. No call may be
 *            made any more when extenders_free is called.
 *
 * Request bodies can be large (every node of the cluster, whole), so the last one is kept: to
 * filter and then to prioritize the same nodes for the same pod, by any number of extenders, the
 * same bytes are sent.
 */
#ifndef BERTH_LIVE_EXTENDER_H
#define BERTH_LIVE_EXTENDER_H

#include "base/arena.h"
#include "base/err.h"
#include "engine/config/extender_config.h"
#include "engine/ports/extender.h"
#include "net/loop.h"

/* An answer longer than this is an error: some ten thousand nodes, whole. */
#define EXTENDER_MAX_ANSWER ((uint64_t)256 << 20)

struct extender_answer {
    uint64_t id; /* of the call */
    enum extender_verb verb;
    struct extender_result result;
    struct arena arena;
};
struct extender_answer *extender_answer_free(struct extender_answer *answer);

struct extenders;
/* On the loop's thread. Takes the answer. */
typedef void extender_answer_fn(void *ctx, struct extender_answer *answer);

struct extenders_options {
    const struct extender_config *configs;
    size_t n;
    uint64_t max_answer; /* 0: EXTENDER_MAX_ANSWER */
    /*
     * Asked, with the ctx of extenders_new, before an extender is sent a binding: false holds it
     * until extenders_resume, which asks again. NULL: always.
     */
    bool (*may_bind)(void *ctx);
};

/* Fails where a certificate or key cannot be read. A URL that leads nowhere fails every call. */
int extenders_new(struct loop *loop, const struct extenders_options *options,
                  extender_answer_fn *fn, void *ctx, struct extenders **ret_extenders,
                  struct err *reterr) MUST_CHECK;
/* Calls under way are not answered. NULL is fine; returns NULL. */
struct extenders *extenders_free(struct extenders *extenders);

/* What the engine wants to know of each; lives as long as the extenders. */
const struct extender *extenders_specs(const struct extenders *extenders);
/* The enum object_flags with which objects of a kind have to be fetched, so that they can be sent.
 */
unsigned extenders_object_flags(const struct extenders *extenders, enum kind_id kind);

/* Sends the bindings that are held. */
void extenders_resume(struct extenders *extenders);

/* The engine's port; see engine/ports.h. */
void extenders_call(struct extenders *extenders, const struct extender_call *call);

#endif
