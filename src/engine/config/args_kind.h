/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args_kind.h - the arguments that a plugin takes: pluginConfig[].args.
 *
 * Purpose:   one description per kind of arguments: table, defaults, rules. The plugin reads its
 *            arguments by it when it is made; whoever validates, converts or prints a configuration
 *            uses the same without making a plugin.
 * Ownership: kinds are constant data. Decoded arguments live in the caller's arena.
 * Threading: any.
 */
#ifndef BERTH_ENGINE_CONFIG_ARGS_KIND_H
#define BERTH_ENGINE_CONFIG_ARGS_KIND_H

#include "codec/desc.h"
#include "engine/config/error_list.h"
#include "engine/config/features.h"

#define CONFIG_GROUP       "kubescheduler.config.k8s.io"
#define CONFIG_API_VERSION CONFIG_GROUP "/v1"

/* What every kind of arguments begins with. */
struct args_meta {
    struct str kind, api_version;
    const struct features *features; /* gates that defaults and rules may depend on */
};
#define ARGS_META_FIELDS(C) \
    F_ONE(C, meta.kind, "kind", 0, STR), F_ONE(C, meta.api_version, "apiVersion", 0, STR)

struct args_kind {
    const char *plugin;      /* "NodeAffinity" */
    const char *name;        /* "NodeAffinityArgs" */
    const struct type *type; /* of a struct that begins with struct args_meta */
    /* Fills in defaults; NULL: there are none. */
    void (*fill)(void *args, struct arena *a);
    /* Says what is wrong with filled-in arguments; NULL: nothing can be. */
    void (*check)(const void *args, struct error_list *c);
    /* Upstream looks at these only when it makes the plugin, not when it validates the file. */
    bool checked_late;
    /* Only releases up to 1.22 had it; the arguments may say v1beta1. */
    bool legacy;
};

/*
 * JSON text into out (kind->type->size bytes), defaults filled in, not checked. No text: all
 * defaults. features: NULL, gates are as nobody had set one; else they outlive out. -EINVAL where
 * it is not of this kind.
 */
int args_read(const struct args_kind *kind, const struct features *features, struct str text,
              struct arena *a, void *out, struct err *reterr) MUST_CHECK;
/* The arguments as JSON of kubescheduler.config.k8s.io/v1, kind and apiVersion included. */
struct str args_write(const struct args_kind *kind, void *args, struct arena *a);

/* The kind that the plugin of this name takes; NULL: none is known. kinds: NULL-ended, or NULL. */
const struct args_kind *args_kind_of(const struct args_kind *const *kinds, struct str plugin);

#endif
