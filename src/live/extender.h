/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender.h - calls the extenders of a configuration over HTTP.
 *
 * Purpose:   one HTTP client with persistent connections per extender. The engine's thread builds
 *            requests; the loop's thread sends them and reads responses. Every call gets exactly
 *            one answer; failures become the answer's error text.
 * Ownership: the caller owns the extenders; the configuration must outlive them. An answer belongs
 *            to the callback, which frees it with extender_answer_free.
 * Threading: extenders_call on the engine's thread, everything else on the loop's. No calls may be
 *            made once extenders_free is called.
 *
 * A request body may be large (every node of the cluster), so the last one is kept: filtering and
 * prioritizing the same nodes for the same pod, with any number of extenders, sends the same bytes.
 */
#ifndef BERTH_LIVE_EXTENDER_H
#define BERTH_LIVE_EXTENDER_H

#include "base/arena.h"
#include "base/err.h"
#include "engine/config/extender_config.h"
#include "engine/ports/extender.h"
#include "net/loop.h"

/* A longer response is an error. It is enough for some ten thousand full nodes. */
#define EXTENDER_MAX_ANSWER ((uint64_t)256 << 20)

struct extender_answer {
    uint64_t id; /* of the call */
    enum extender_verb verb;
    struct extender_result result;
    struct arena arena;
};
struct extender_answer *extender_answer_free(struct extender_answer *answer);

struct extenders;
/* Called on the loop's thread. Takes ownership of the answer. */
typedef void extender_answer_fn(void *ctx, struct extender_answer *answer);

struct extenders_options {
    const struct extender_config *configs;
    size_t n;
    uint64_t max_answer; /* 0: EXTENDER_MAX_ANSWER */
    /*
     * Called with the ctx of extenders_new before a binding is sent to an extender. False holds it
     * until extenders_resume, which asks again. NULL: always true.
     */
    bool (*may_bind)(void *ctx);
};

/* Fails if a certificate or key cannot be read. A bad URL does not fail here but in every call. */
int extenders_new(struct loop *loop, const struct extenders_options *options,
                  extender_answer_fn *fn, void *ctx, struct extenders **ret_extenders,
                  struct err *reterr) MUST_CHECK;
/* Calls in flight get no answer. NULL is allowed. Returns NULL. */
struct extenders *extenders_free(struct extenders *extenders);

/* The engine's description of each extender; lives as long as the extenders. */
const struct extender *extenders_specs(const struct extenders *extenders);
/* The enum object_flags with which objects of this kind must be fetched to be sent. */
unsigned extenders_object_flags(const struct extenders *extenders, enum kind_id kind);

/* Sends the held bindings. */
void extenders_resume(struct extenders *extenders);

/* The engine's port; see engine/ports/ports.h. */
void extenders_call(struct extenders *extenders, const struct extender_call *call);

#endif
