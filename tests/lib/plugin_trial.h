/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_trial.h - one plugin, one pod, and what the plugin says of the nodes.
 *
 * Purpose:   runs PreFilter and PreScore of a plugin for a pod and then asks it node by node, or
 *            for all nodes at once; whether both forms agree is one call.
 * Ownership: the trial owns its pod and its cycle state; the fixture is the test's.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_PLUGIN_TRIAL_H
#define BERTH_TESTS_PLUGIN_TRIAL_H

#include "engine/rooms.h"
#include "engine_fixture.h"

struct trial {
    struct engine *engine;
    const struct berth_handle *handle;
    struct berth_cycle *cycle;
    struct berth_pod *pod;
    enum berth_code pre_filter, pre_score; /* BERTH_SUCCESS where the plugin has none */
    char text[512];                        /* what the last filter said */
};

/* The instance of a plugin in the first profile; fails the test where there is none. */
struct berth_handle *trial_instance(const struct fixture *f, const char *plugin);

/* Takes the pod over. */
void trial_begin(struct trial *t, const struct fixture *f, const char *plugin, struct object *pod);
void trial_end(struct trial *t);

enum berth_code trial_filter(struct trial *t, const char *node);
/* The plugin's raw score; fails the test on an error. */
int64_t trial_score(struct trial *t, const char *node);
/* One question, begun and ended. */
int64_t trial_score_of(const struct fixture *f, const char *plugin, struct object *pod,
                       const char *node);

/* Whether the batch forms that the plugin has say of every node what the single forms say. */
bool trial_batches_agree(struct trial *t);

/* The error of create for these arguments, JSON in single quotes; "" where it takes them. */
const char *trial_args_error(const struct fixture *f, const char *plugin, const char *args,
                             struct berth_error *error);

/* A change that a waiting pod may profit from; before or after may be NULL. */
struct trial_change {
    enum berth_resource resource;
    unsigned action;
    struct object *before, *after;
};
/* What the plugin's hint says of it; where it has none, it queues. Fails the test where the plugin
 * did not ask to be told. Takes the objects over. */
enum berth_hint trial_hint(const struct fixture *f, const char *plugin, struct object *waiting,
                           struct trial_change change);
/* Whether the plugin asked to be told of such changes. */
bool trial_is_told(const struct fixture *f, const char *plugin, enum berth_resource resource,
                   unsigned action);

#endif
