/* SPDX-License-Identifier: Apache-2.0 */
/*
 * abi.h - the engine's side of include/berth/plugin.h.
 *
 * Purpose:   conversions between struct berth_str and struct str, and the names of codes. The
 *            engine defines the ABI's opaque structs (struct berth_pod is PodInfo, struct
 *            berth_node is NodeInfo, struct berth_cycle is CycleState …), so that no pointer is
 *            cast between plugin and engine.
 * Ownership: values.
 * Threading: any.
 */
#ifndef BERTH_ENGINE_PORTS_ABI_H
#define BERTH_ENGINE_PORTS_ABI_H

#include "base/str.h"
#include "berth/plugin.h"

static inline struct berth_str abi_str(struct str s)
{
    return (struct berth_str){s.p, s.n};
}

static inline struct str str_abi(struct berth_str s)
{
    return (struct str){s.p, s.n};
}

/* The number of a kind that enum berth_resource has not: this and its enum kind_id. */
#define RESOURCE_OF_KINDS 64

/* Upstream's IsRejected: the pod cannot be placed, and no plugin failed. */
static inline bool code_rejects(enum berth_code code)
{
    return code == BERTH_UNSCHEDULABLE || code == BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE ||
           code == BERTH_PENDING;
}

/* "Success", "Unschedulable", … as metrics and messages show them. */
const char *code_name(enum berth_code code);

#endif
