/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource_internal.h - the built-in resources.
 *
 * Purpose:   shared by resource.c and resource_table.c only.
 * Ownership: constant data of the program.
 * Threading: constant; any thread.
 */
#ifndef BERTH_APISERVER_TYPES_RESOURCE_INTERNAL_H
#define BERTH_APISERVER_TYPES_RESOURCE_INTERNAL_H

#include "apiserver/types/resource.h"

/* Positions of resources that store objects of others. */
enum { RESOURCE_EVENTS = 4, RESOURCE_AUTOSCALERS = 29 };

extern const struct resource resource_table[]; /* in the order of discovery */
extern const size_t n_resource_table;

#endif
