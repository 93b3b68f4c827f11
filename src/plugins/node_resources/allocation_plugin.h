/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocation_plugin.h - score plugins of releases up to 1.22, before the scoring strategies of
 * NodeResourcesFit.
 *
 * Purpose:   NodeResourcesLeastAllocated, NodeResourcesMostAllocated and RequestedToCapacityRatio
 *            differ in their arguments and formula; this is the common part. Configurations of
 *            these releases enable them at the score point only.
 * Ownership: as in include/berth/plugin.h.
 * Threading: as in include/berth/plugin.h.
 */
#ifndef BERTH_PLUGINS_NODE_RESOURCES_ALLOCATION_PLUGIN_H
#define BERTH_PLUGINS_NODE_RESOURCES_ALLOCATION_PLUGIN_H

#include "plugins/common/plugin_base.h"
#include "plugins/node_resources/resource_scorer.h"

int allocation_plugin_create(enum scoring_type type, const struct berth_host *host,
                             struct berth_handle *h, struct berth_str text, void **ret_self,
                             struct berth_error *error) MUST_CHECK;

/* The members of struct berth_plugin. */
void allocation_plugin_destroy(void *self);
enum berth_code allocation_plugin_score(void *self, const struct berth_cycle *cycle,
                                        const struct berth_pod *pod, const struct berth_node *node,
                                        int64_t *ret_score, struct berth_status *status);
enum berth_code allocation_plugin_score_many(void *self, const struct berth_cycle *cycle,
                                             const struct berth_pod *pod,
                                             struct berth_score_batch *batch,
                                             struct berth_status *status);
enum berth_code allocation_plugin_sign(void *self, const struct berth_pod *pod,
                                       struct berth_signature *s);

#define ALLOCATION_PLUGIN_POINTS                                                                 \
    .destroy = allocation_plugin_destroy, .events = no_events, .score = allocation_plugin_score, \
    .score_many = allocation_plugin_score_many, .sign = allocation_plugin_sign

#endif
