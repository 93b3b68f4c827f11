/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_internal.h - what the files of the configuration share.
 *
 * Purpose:   reading of other versions, defaults. Private to src/engine/config*.c.
 * Ownership: everything is in the arena given.
 * Threading: one thread.
 */
#ifndef BERTH_ENGINE_CONFIG_INTERNAL_H
#define BERTH_ENGINE_CONFIG_INTERNAL_H

#include "engine/config.h"

#define CONFIG_KIND "KubeSchedulerConfiguration"

/* A tree of kubescheduler.config.k8s.io/VERSION, which may be changed, into v1. */
int config_from_v1beta1(struct json_value *doc, struct arena *a, struct scheduler_config *out,
                        struct err *reterr) MUST_CHECK;
int config_from_v1beta2(struct json_value *doc, struct arena *a, struct scheduler_config *out,
                        struct err *reterr) MUST_CHECK;
int config_from_v1beta3(struct json_value *doc, struct arena *a, struct scheduler_config *out,
                        struct err *reterr) MUST_CHECK;
/* A tree of Policy v1. */
int config_from_policy(struct json_value *doc, struct arena *a, struct scheduler_config *out,
                       struct err *reterr) MUST_CHECK;

/* Fills in what is not set. */
void config_fill(struct scheduler_config *config, struct arena *a);

/* One more plugin at the end of a section, whose list has room; weight 0: none. */
void plugin_section_push(struct plugin_section *section, struct str name, int32_t weight,
                         struct arena *a);
/* A profile's plugins with nothing but what its points name: multiPoint disables "*". */
struct plugins_config *plugins_without_defaults(struct arena *a);

#endif
