/* SPDX-License-Identifier: Apache-2.0 */
/*
 * up_scheduler.h - the scheduler inside `berth up`.
 *
 * Purpose:   the scheduler of `berth scheduler` in threads of this process, as a client of the API
 *            server: a loop of its own and the engine's thread. No leader election, no endpoints.
 * Ownership: the caller owns it. Texts of the options live longer.
 * Threading: one thread, that of `loop`; callbacks come there.
 */
#ifndef BERTH_CMD_UP_UP_SCHEDULER_H
#define BERTH_CMD_UP_UP_SCHEDULER_H

#include "base/err.h"
#include "cmd/cli/plugin_flags.h"
#include "net/loop.h"

struct up_scheduler;

struct up_scheduler_options {
    struct loop *loop;         /* for callbacks */
    const char *config_file;   /* "": none */
    const char *feature_gates; /* "": none */
    const struct plugin_flags *plugins;
    /* up_scheduler_stop has finished. */
    void (*on_stopped)(void *ctx);
    void *ctx;
};

/*
 * Loads and checks the configuration and the plugins. -EINVAL with an empty message: the problems
 * were printed.
 */
int up_scheduler_new(const struct up_scheduler_options *options,
                     struct up_scheduler **ret_scheduler, struct err *reterr) MUST_CHECK;
/* Connects with the kubeconfig and starts to schedule. */
int up_scheduler_start(struct up_scheduler *s, const char *kubeconfig,
                       struct err *reterr) MUST_CHECK;
/* Ends with the bindings in progress, then calls on_stopped. */
void up_scheduler_stop(struct up_scheduler *s);
/* Ends at once and joins the threads. NULL is allowed. Returns NULL. */
struct up_scheduler *up_scheduler_free(struct up_scheduler *s);

/* The attempts for a pod as lines of JSON; "" if there are none. */
typedef void up_explain_fn(void *ctx, struct str json);
void up_scheduler_explain(struct up_scheduler *s, struct str namespace, struct str name,
                          up_explain_fn *fn, void *ctx);

#endif
