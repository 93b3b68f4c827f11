/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.h - the plugins that profiles can enable.
 *
 * Purpose:   plugins by name, and the default multiPoint section. src/plugins/registry.c is the
 *            constant registry of in-tree plugins; out-of-tree plugins are merged into a copy.
 * Ownership: a registry of registry_init owns its list and copies of the plugins that were added.
 *            What these point to is constant data of the program or of a shared object and must
 *            outlive it, and in-tree plugins are used as they are.
 * Threading: one thread while it changes, any thread afterwards.
 */
#ifndef BERTH_ENGINE_CONFIG_REGISTRY_H
#define BERTH_ENGINE_CONFIG_REGISTRY_H

#include <limits.h>

#include "base/err.h"
#include "berth/plugin.h"
#include "engine/config/args_kind.h"
#include "engine/config/config.h"
#include "engine/config/features.h"
#include "engine/config/point.h"

/* A plugin that is a default only if a feature gate is on. */
struct gated_default {
    struct str name;
    enum feature gate;
};

struct registry {
    const struct berth_plugin *const *plugins; /* NULL-terminated */
    const struct plugin_ref *defaults;
    size_t n_defaults;
    const struct gated_default *gated; /* of the defaults */
    size_t n_gated;
    const struct args_kind *const *args; /* kinds of arguments, NULL-terminated; NULL: unknown */
    struct registered_plugin *owned;     /* copies, of registry_register */
    bool whole_objects; /* a plugin reads fields of pods and nodes that berth does not keep */
};

/* A copy of base that may change; it borrows base's defaults. */
void registry_init(struct registry *r, const struct registry *base);
void registry_release(struct registry *r);

/* NULL if there is none. */
const struct berth_plugin *registry_find(const struct registry *r, struct str name);
/* All points that the plugin of this name runs at, as bits; PLUGIN_UNKNOWN if there is none. */
#define PLUGIN_UNKNOWN UINT_MAX
unsigned plugin_points(const struct registry *r, struct str name);
/* Does it run at this point? */
bool plugin_extends(const struct registry *r, struct str name, enum point point);
/* A plugin of releases up to 1.22 (SelectorSpread: 1.28) that 1.36 does not have. */
bool plugin_is_legacy(struct str name);
/* Does v1 refuse the plugin, which only files of older versions run? */
bool plugin_is_removed(struct str name);

/* The default multiPoint section; ret_defaults has room for n_defaults. Returns their number. */
size_t registry_defaults(const struct registry *r, const struct features *features,
                         struct plugin_ref *ret_defaults);

/* Whether this berth can run the plugin: name, ABI and size of its struct. */
int registry_check(const struct berth_plugin *plugin, struct err *reterr) MUST_CHECK;

/*
 * The functions below are for registries of registry_init. They change nothing if they fail. A
 * plugin is copied into a zeroed struct of this berth's size; what it points to is not.
 */
int registry_register(struct registry *r, const struct berth_plugin *plugin,
                      struct err *reterr) MUST_CHECK;
int registry_unregister(struct registry *r, struct str name, struct err *reterr) MUST_CHECK;
/* Registers all plugins of a NULL-terminated list, as shared objects export it. */
int registry_merge(struct registry *r, const struct berth_plugin *const *plugins,
                   struct err *reterr) MUST_CHECK;

#endif
