/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_class.h - RuntimeClass.
 *
 * Purpose:   what admission adds to the pods of a class: overhead, node selector, tolerations. The
 *            scheduler itself never reads the class.
 * Ownership: everything lives in the arena that it was decoded into.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_RUNTIME_CLASS_H
#define BERTH_API_RUNTIME_CLASS_H

#include "api/meta.h"
#include "api/node_affinity.h"
#include "api/quantity.h"

struct runtime_class_overhead {
    quantity_map pod_fixed;
};

struct runtime_class_scheduling {
    str_map node_selector;
    LIST(struct toleration) tolerations;
};

/* Left out: handler. */
struct runtime_class {
    struct object_meta metadata;
    struct runtime_class_overhead *overhead;
    struct runtime_class_scheduling *scheduling;
};

extern const struct type runtime_class_type;

#endif
