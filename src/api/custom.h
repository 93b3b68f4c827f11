/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom.h - objects of custom kinds (kind_custom): all fields, as a JSON tree.
 *
 * Purpose:   custom resources that plugins watch. The metadata is also decoded, and is what counts:
 *            whoever changes an object changes it there.
 * Ownership: the tree is in the object's arena.
 * Threading: as object.h.
 */
#ifndef BERTH_API_CUSTOM_H
#define BERTH_API_CUSTOM_H

#include "api/meta.h"
#include "codec/json_value.h"

struct custom_object {
    struct object_meta metadata;
    struct json_value value; /* the whole object */
};
extern const struct type custom_object_type; /* the metadata only */

/* Appends the object as JSON, with its current metadata. */
void custom_object_write(const struct custom_object *o, struct buf *out);

#endif
