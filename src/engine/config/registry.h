/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.h - what can be enabled: every plugin known to this process.
 *
 * Purpose:   a profile's configuration names plugins; the registry has them, and the multiPoint
 *            section that a profile starts from. src/plugins/registry.c is the table of those
 *            inside berth; out-of-tree plugins are merged into a copy of it.
 * Ownership: a table that is written down as a constant owns nothing. What registry_init has made
 *            owns its list, not the plugins, which are constant data of the program or of a shared
 *            object and must outlive it.
 * Threading: one thread while it changes, any afterwards.
 */
#ifndef BERTH_ENGINE_CONFIG_REGISTRY_H
#define BERTH_ENGINE_CONFIG_REGISTRY_H

#include "base/err.h"
#include "berth/plugin.h"
#include "engine/config/args_kind.h"
#include "engine/config/config.h"
#include "engine/config/features.h"

/* A default plugin that is one only while a feature gate is on. */
struct gated_default {
    struct str name;
    enum feature gate;
};

struct registry {
    const struct berth_plugin *const *plugins; /* NULL-ended */
    const struct plugin_ref *defaults;
    size_t n_defaults;
    const struct gated_default *gated; /* of the defaults */
    size_t n_gated;
    const struct args_kind *const *args; /* what plugins take; NULL-ended. NULL: not known */
};

/* A copy of base that may change; the defaults stay base's. */
void registry_init(struct registry *r, const struct registry *base);
void registry_release(struct registry *r);

/* NULL: no such plugin. */
const struct berth_plugin *registry_find(const struct registry *r, struct str name);

/* The multiPoint section that profiles start from; room for n_defaults. Gives their number. */
size_t registry_defaults(const struct registry *r, const struct features *features,
                         struct plugin_ref *ret_defaults);

/* The three below are for registries of registry_init. Where they fail nothing has changed. */
int registry_register(struct registry *r, const struct berth_plugin *plugin,
                      struct err *reterr) MUST_CHECK;
int registry_unregister(struct registry *r, struct str name, struct err *reterr) MUST_CHECK;
/* Registers all of a NULL-ended list, as shared objects export it. */
int registry_merge(struct registry *r, const struct berth_plugin *const *plugins,
                   struct err *reterr) MUST_CHECK;

#endif
