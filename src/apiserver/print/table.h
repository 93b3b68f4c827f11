/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - objects as rows: what kubectl get shows.
 *
 * Purpose:   meta.k8s.io/v1 Table with upstream's columns and cells for every resource served, and
 *            the printer columns of custom resources.
 * Ownership: writes into the caller's buffer; nothing is kept.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_PRINT_TABLE_H
#define BERTH_APISERVER_PRINT_TABLE_H

#include "apiserver/types/resource.h"
#include "codec/json_value.h"

/* What a row has besides its cells: includeObject. */
enum table_object { TABLE_OBJECT_METADATA, TABLE_OBJECT_NONE, TABLE_OBJECT_FULL };

/*
 * {"kind":"Table",…,"columnDefinitions":[…],"rows":[ up to and without the first row. remaining:
 * -1: not known.
 */
void table_begin(const struct resource *r, bool with_columns, struct str resource_version,
                 struct str continue_token, int64_t remaining, struct buf *out);
/* One row; the caller puts a comma between two. now: wall clock, ns, for ages. */
void table_row(const struct resource *r, const struct json_value *object, enum table_object what,
               int64_t now, struct buf *out);
void table_end(struct buf *out);

#endif
