/* SPDX-License-Identifier: Apache-2.0 */
/*
 * go_value.h - JSON values as Go shows them in error messages.
 *
 * Purpose:   upstream's errors of patches contain values in Go's %v form, map[a:1 b:[x y]], and
 *            their types.
 * Ownership: appends to the caller's buffer.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_PATCH_GO_VALUE_H
#define BERTH_APISERVER_PATCH_GO_VALUE_H

#include "codec/json_value.h"

/* %v; stops when the buffer is full. */
void go_value_write(const struct json_value *v, struct buf *out);
/* %T: "map[string]interface {}", "int64", …; "nil" */
const char *go_value_type(const struct json_value *v);

#define GO_MAP  "map[string]interface {}"
#define GO_LIST "[]interface {}"

#endif
