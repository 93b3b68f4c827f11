/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_custom.h - tables of custom resources.
 *
 * Purpose:   heads and cells of the printer columns of a custom resource (struct resource.columns).
 * Ownership: writes into the caller's buffer.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_PRINT_TABLE_CUSTOM_H
#define BERTH_APISERVER_PRINT_TABLE_CUSTOM_H

#include "apiserver/print/table_internal.h"

/* The column definitions behind that of the name, each with a comma before it. */
void table_custom_heads(const struct resource *r, struct buf *out);
/* The name and the cells of all columns, separated by commas. */
void table_custom_cells(struct cells *c, const struct resource *r, struct buf *out);

#endif
