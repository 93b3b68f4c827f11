/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_key.h - the key of an object: "namespace/name" (upstream: MetaNamespaceKeyFunc).
 *
 * Purpose:   one spelling for all maps that are keyed by namespace and name. Cluster-scoped objects
 *            have an empty namespace, so their key begins with the slash.
 * Ownership: the key is in the caller's buffer, valid until that changes.
 * Threading: any thread.
 */
#ifndef BERTH_ENGINE_CACHE_OBJECT_KEY_H
#define BERTH_ENGINE_CACHE_OBJECT_KEY_H

#include "base/buf.h"

/* Replaces the contents of `out`. */
static inline struct str object_key(struct buf *out, struct str namespace, struct str name)
{
    buf_clear(out);
    buf_add_str(out, namespace);
    buf_add_char(out, '/');
    buf_add_str(out, name);
    return buf_str(out);
}

#endif
