/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_source.h - finds the configuration in a file.
 *
 * Purpose:   a file holds the configuration itself or manifests with a ConfigMap that has the
 *            configuration under a key. Line numbers are those of the file in both cases. Private
 *            to src/engine/config.
 * Ownership: everything is in the caller's arena.
 * Threading: one thread.
 */
#ifndef BERTH_ENGINE_CONFIG_CONFIG_SOURCE_H
#define BERTH_ENGINE_CONFIG_CONFIG_SOURCE_H

#include "base/vec.h"
#include "codec/json_value.h"

/* A duplicate key of a mapping. */
struct config_twice {
    struct str key;
    uint32_t first_line, line;
};

struct config_source {
    struct json_value *doc;
    struct str within;          /* "ConfigMap kube-system/x, key y"; empty: the document itself */
    uint32_t unread_line;       /* of the first document that is ignored; 0: none */
    struct config_twice *twice; /* duplicate keys in the document */
    size_t n_twice;
};

/*
 * Finds it in the text, YAML or JSON. If the first document is a configuration, it is used and the
 * rest ignored, as upstream does; otherwise there must be exactly one. key: selects one by KEY,
 * NAME/KEY or NAMESPACE/NAME/KEY of a ConfigMap; empty: the only one. Errors begin with "line N".
 */
int config_source_find(struct str text, struct str key, struct arena *a,
                       struct config_source *ret_source, struct err *reterr) MUST_CHECK;

/* Is the document's kind a configuration or a Policy, of any version? */
bool config_source_is_config(const struct json_value *doc);

#endif
