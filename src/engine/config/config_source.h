/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_source.h - where in a file the configuration of the scheduler is.
 *
 * Purpose:   a file holds the configuration itself or, as guides hand it out, manifests of which
 *            one is a ConfigMap with the configuration under a key. Lines are those of the file in
 *            every case. Private to src/engine/config*.c.
 * Ownership: everything is in the arena given.
 * Threading: one thread.
 */
#ifndef BERTH_ENGINE_CONFIG_CONFIG_SOURCE_H
#define BERTH_ENGINE_CONFIG_CONFIG_SOURCE_H

#include "base/vec.h"
#include "codec/json_value.h"

/* A key that a mapping has already. */
struct config_twice {
    struct str key;
    uint32_t first_line, line;
};

struct config_source {
    struct json_value *doc;
    struct str within;    /* "ConfigMap kube-system/x, key y"; empty: it is the document itself */
    uint32_t unread_line; /* where a document begins that no scheduler reads; 0: there is none */
    struct config_twice *twice; /* in the document */
    size_t n_twice;
};

/*
 * Finds it in the text, YAML or JSON. A first document that is a configuration is taken whatever
 * follows, as upstream takes it; otherwise there must be exactly one. key: which one, by the key of
 * a ConfigMap, NAME/KEY or NAMESPACE/NAME/KEY; empty: there is no choice. Errors begin with "line
 * N".
 */
int config_source_find(struct str text, struct str key, struct arena *a,
                       struct config_source *ret_source, struct err *reterr) MUST_CHECK;

/* Whether the document says that it is a configuration or a Policy, of whatever version. */
bool config_source_is_config(const struct json_value *doc);

#endif
