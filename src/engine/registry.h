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
#ifndef BERTH_ENGINE_REGISTRY_H
#define BERTH_ENGINE_REGISTRY_H

#include "base/err.h"
#include "berth/plugin.h"
#include "engine/config.h"

struct registry {
    const struct berth_plugin *const *plugins; /* NULL-ended */
    const struct plugin_ref *defaults;
    size_t n_defaults;
};

/* A copy of base that may change; the defaults stay base's. */
void registry_init(struct registry *r, const struct registry *base);
void registry_release(struct registry *r);

/* NULL: no such plugin. */
const struct berth_plugin *registry_find(const struct registry *r, struct str name);

/* The three below are for registries of registry_init. Where they fail nothing has changed. */
int registry_register(struct registry *r, const struct berth_plugin *plugin,
                      struct err *reterr) MUST_CHECK;
int registry_unregister(struct registry *r, struct str name, struct err *reterr) MUST_CHECK;
/* Registers all of a NULL-ended list, as shared objects export it. */
int registry_merge(struct registry *r, const struct berth_plugin *const *plugins,
                   struct err *reterr) MUST_CHECK;

#endif
