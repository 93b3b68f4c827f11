/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devices_internal.h - the device data as the files of this folder see it.
 *
 * Purpose:   slices and their devices, pools, the view that a node has of them, identities of
 *            devices with what is taken of them, compiled selectors, classes.
 * Ownership: struct devices owns everything; see each struct.
 * Threading: as devices.h says. `const` here means that an allocator may hold it on any thread.
 *
 * How a node sees pools (upstream: GatherPools). A slice reaches one node by name, all nodes, or
 * those that a selector matches; or each of its devices says so. Slices with shared counters reach
 * every node, since the counters are needed wherever a device of the pool is used. Of a pool, the
 * slices of the newest generation that reach the node count. Thus almost every node sees the pools
 * with slices for its name, and `wide` pools, which may reach any node. A pool that reaches other
 * nodes only through its counters has no devices for them; it matters there only if something is
 * wrong with it: these are the `ill` pools.
 */
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_DEVICES_INTERNAL_H
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_DEVICES_INTERNAL_H

#include <stdatomic.h>

#include "api/node.h"
#include "api/node_selector.h"
#include "base/map.h"
#include "base/vec.h"
#include "plugins/dynamic_resources/devices.h"

struct device_node;
struct device_pool;
struct slice;
struct slice_device;

/* --- identities and what is taken ------------------------------------------------------------- */

/*
 * (driver, pool, device), as slices and claims name it. Lives while a slice offers it or a claim
 * holds it. Equal identities are the same pointer.
 */
struct device_id {
    struct str driver, pool, device;
    uint32_t refs;
    uint32_t taken;  /* allocations of the whole device */
    uint32_t shares; /* allocations of a share of it */
    /* The capacity of the shares, sorted by name; upstream: an entry of AggregatedCapacity. */
    VEC(struct quantity_entry) capacity;
    bool has_capacity;
    VEC(struct slice_device *) offers;
    struct arena arena; /* of the names of `capacity` */
    struct str key;
    char text[];
};

struct device_id *device_id_get(struct devices *d, struct str driver, struct str pool,
                                struct str device);
/* NULL if there is none. Any thread. */
const struct device_id *device_id_find(const struct devices *d, struct str driver, struct str pool,
                                       struct str device);
void device_id_put(struct devices *d, struct device_id *id);
/* Upstream: IsDeviceAllocated. */
bool device_id_is_allocated(const struct device_id *id);
/* NULL if there is none. */
const struct quantity *device_id_capacity(const struct device_id *id, struct str name);

/* --- slices ----------------------------------------------------------------------------------- */

/* A device of a slice. */
struct slice_device {
    const struct device *device;
    struct slice *slice;
    struct device_id *id;
    uint32_t number;         /* index of the results of selectors */
    bool has_request_policy; /* some capacity has one */
    struct str fault;        /* its node selector cannot be parsed */
    struct node_terms terms; /* with perDeviceNodeSelection */
    VEC(const struct device_taint_rule_taint *) rule_taints;
};

enum slice_reach {
    SLICE_REACHES_NODE,    /* of a name */
    SLICE_REACHES_ALL,     /* nodes */
    SLICE_REACHES_TERMS,   /* nodes that match */
    SLICE_REACHES_DEVICES, /* nodes of its devices */
    SLICE_REACHES_NOTHING, /* unknown to this version, or its feature is off */
};

struct slice {
    struct object *object;
    const struct resource_slice *api;
    struct device_pool *pool;
    struct device_node *node;     /* whose name it has and which alone it reaches; else NULL */
    struct slice_device *devices; /* as many as api->spec.devices */
    enum slice_reach reach;
    bool has_counters;       /* reaches every node, unless it reaches nothing */
    bool consumes;           /* some device consumes counters */
    bool has_conditions;     /* some device has binding conditions */
    struct str fault;        /* its node selector cannot be parsed */
    struct node_terms terms; /* SLICE_REACHES_TERMS */
    struct arena arena;
};

/* All slices of (driver, name), sorted by name. */
struct device_pool {
    struct str driver, name;
    VEC(struct slice *) slices;
    /* Computed by devices_refresh. */
    bool dirty;
    bool wide, ill; /* is in devices.wide, devices.ill */
    bool unique;    /* no two devices have the same name, whatever the generation */
    bool counters;  /* some slice has or consumes counters */
    struct str key;
    char text[];
};

/* --- views ------------------------------------------------------------------------------------ */

/* A pool as a node sees it: buildPool. */
struct pool_view {
    const struct device_pool *pool;
    bool incomplete, invalid; /* then without slices */
    bool has_conditions;
    LIST(struct slice *) slices;               /* with devices that may be for the node */
    LIST(struct slice *) others;               /* of the same generation, for other nodes */
    LIST(const struct counter_set *) counters; /* sorted by name */
};

struct node_view {
    LIST(struct pool_view) pools; /* in the order of allocation */
    struct str error;             /* fatal: "gather pool information: …" */
    bool has_invalid;
};

/*
 * The number of all nodes that see the same slices, none of which is for one of them alone: a
 * search has the same result on each.
 */
struct common_view {
    struct str key;
    uint32_t number; /* index of memos */
    uint32_t refs;   /* nodes */
    char text[];
};

/* What is known by a node's name. Lives while there is such a node or a slice for it. */
struct device_node {
    const struct node *api; /* of object */
    uint64_t epoch;         /* of `view`; differs from that of devices: out of date */
    uint64_t clock;         /* of the last change of `view`, of its pools or of what is taken */
    uint32_t number;        /* index of memos: its own, or that of `common` */
    bool dirty;
    struct common_view *common; /* NULL: none */
    struct str name;
    struct object *object;           /* NULL: no such node */
    VEC(struct device_pool *) pools; /* with slices for its name */
    struct node_view view;
    struct arena arena; /* of view */
    char text[];
};

/*
 * The node's pools among the candidates. With every pool of the cluster as candidate the result is
 * the same as with the node's own, the wide and the ill ones.
 */
void node_view_make(const struct devices *d, const struct node *node,
                    struct device_pool *const *pools, size_t n, struct arena *a,
                    struct node_view *ret_view);
/* The up to date view of the node: a kept one, or one made in the arena. */
const struct node_view *devices_view(const struct devices *d, const struct node *node,
                                     struct arena *a);
/* Does a device with perDeviceNodeSelection reach the node? -EINVAL if its fault is to be told. */
int slice_device_reaches(const struct slice_device *device, const struct node *node,
                         bool *ret_reaches);

/* The node if its kept view is up to date, else NULL. */
const struct device_node *devices_node(const struct devices *d, const struct node *node);
/*
 * The same by a number that the caller gives to nodes: what was found before for n numbers, NULL
 * where nothing was, and the search for one of them. device_node_is: is it still right?
 */
const struct device_node *const *devices_nodes_at(struct devices *d, size_t slot, size_t n);
const struct device_node *devices_find_at(struct devices *d, const struct node *node, size_t slot);
/*
 * The device is taken as a whole (`taking`) or otherwise changes: searches that have seen it are
 * out of date.
 */
void slice_device_touch(struct devices *d, const struct slice_device *device, bool taking);

void pools_add_slice(struct devices *d, struct slice *slice);
void pools_remove_slice(struct devices *d, struct slice *slice);
void pools_node_changed(struct devices *d, struct str name, struct object *object);
void pools_refresh(struct devices *d);
void pools_release(struct devices *d);

/* --- selectors -------------------------------------------------------------------------------- */

enum selector_result { SELECTOR_UNKNOWN, SELECTOR_NO, SELECTOR_YES, SELECTOR_FAILS };

/* An expression, compiled, with its result for each device. */
struct compiled_selector {
    struct str expression;
    void *program; /* NULL: error says why */
    char *error;
    atomic_uint refs;         /* classes and allocators */
    uint64_t used;            /* devices.uses when it was last asked for */
    _Atomic uint8_t *results; /* enum selector_result by slice_device.number */
    size_t n_results;
    char text[];
};

/* Adds a reference. Engine's thread. */
struct compiled_selector *selector_get(struct devices *d, struct str expression);
/* Any thread; it is freed later. */
void selector_put(struct compiled_selector *s);
/* The result; evaluates if it is not known. For SELECTOR_FAILS the reason is added to `error`. */
enum selector_result selector_matches_device(const struct devices *d,
                                             const struct compiled_selector *s,
                                             const struct slice_device *device, struct buf *error);
void selectors_release(struct devices *d);
struct selector_engine selector_cel(const struct device_features *features);
uint32_t selector_number_get(struct devices *d);
void selector_number_put(struct devices *d, uint32_t number);

/* --- verdicts --------------------------------------------------------------------------------- */

/* A verdict: FOUND, NONE or FAILED_ON_NODE. */
struct known_verdict {
    int verdict;   /* enum allocation_verdict */
    int64_t score; /* of FOUND */
    bool fragile;  /* may change when a device of a wide pool is taken */
};

/*
 * Verdicts for claims with the same spec, by node. Pods of one template ask the same question on
 * every node, and between two of them only a few nodes change.
 */
struct verdict_memo {
    struct str key;
    uint32_t refs; /* allocators */
    uint64_t used;
    _Atomic uint64_t *words; /* by device_node.number; see memo_recall */
    size_t n;
    char text[];
};

/* Any thread. */
void memo_keep(const struct devices *d, struct verdict_memo *m, const struct device_node *node,
               const struct known_verdict *known);

/* Adds a reference. Engine's thread. */
struct verdict_memo *memo_get(struct devices *d, const struct resource_claim *const *claims,
                              size_t n);
void memo_put(struct verdict_memo *m);
/* All of them are out of date. */
void memos_forget(struct devices *d);
void memos_release(struct devices *d);
/* A new node has the number. */
void memos_add_number(struct devices *d, uint32_t number);

/* --- all -------------------------------------------------------------------------------------- */

struct class_entry {
    struct object *object;
    const struct device_class *api;
    uint32_t refs;                              /* the table and allocators */
    LIST(struct compiled_selector *) selectors; /* NULL: without an expression */
};
void class_entry_unref(struct class_entry *c);

struct devices {
    struct device_features features;
    struct selector_engine engine;
    bool stable;        /* upstream's stable allocator is used */
    size_t n_mapped;    /* devices that take resources of their node */
    struct map ids;     /* → struct device_id */
    struct map slices;  /* by name → struct slice */
    struct map pools;   /* → struct device_pool */
    struct map nodes;   /* by name → struct device_node */
    struct map classes; /* by name → struct class_entry */
    uint64_t class_changes;
    VEC(struct object *) rules; /* DeviceTaintRules */
    VEC(struct device_pool *) wide, ill, dirty_pools;
    VEC(struct device_node *) dirty_nodes;
    uint64_t epoch;                 /* changes with the wide and ill pools */
    uint64_t view_epoch;            /* all nodes have been brought to it */
    uint64_t clock;                 /* counts changes */
    uint64_t wide_clock;            /* of the last change of a wide pool */
    uint64_t wide_give_clock;       /* the same, without devices that are taken as a whole */
    struct device_node **by_object; /* nodes by the address of the object; see pools.c */
    size_t by_object_capacity;
    VEC(const struct device_node *) by_slot; /* NULL: not known; see devices_node_at */
    struct map common_views;                 /* → struct common_view */
    VEC(uint32_t) free_node_numbers;
    uint32_t n_node_numbers;
    struct map selectors; /* by expression → struct compiled_selector */
    struct map memos;     /* by claims → struct verdict_memo */
    VEC(uint32_t) free_numbers;
    uint32_t n_numbers;
    uint64_t uses;
    struct buf key; /* scratch */
};

/* --- in the loop over nodes ------------------------------------------------------------------- */

/* Is it this node's, with a view that is up to date? node NULL: no. */
static inline bool device_node_is(const struct devices *d, const struct device_node *node,
                                  const struct node *api)
{
    return node && node->api == api && node->epoch == d->epoch && d->dirty_pools.n == 0;
}

/* Words of memos, from the lowest bit: verdict + 1, fragile, score, clock. 0: nothing is known. */
#define MEMO_VERDICT_BITS 2
#define MEMO_SCORE_SHIFT  (MEMO_VERDICT_BITS + 1)
#define MEMO_SCORE_BITS   12
#define MEMO_CLOCK_SHIFT  (MEMO_SCORE_SHIFT + MEMO_SCORE_BITS)

/* Any thread. Returns false if the verdict is not known. */
static inline bool memo_recall(const struct devices *d, const struct verdict_memo *m,
                               const struct device_node *node, struct known_verdict *ret)
{
    uint64_t word = atomic_load_explicit(&m->words[node->number], memory_order_relaxed);
    uint64_t clock = word >> MEMO_CLOCK_SHIFT;
    bool fragile = word >> MEMO_VERDICT_BITS & 1;
    if (!word || node->clock > clock || (fragile ? d->wide_clock : d->wide_give_clock) > clock)
        return false;
    ret->verdict = (int)(word & ((1U << MEMO_VERDICT_BITS) - 1)) - 1;
    ret->score = (int64_t)(word >> MEMO_SCORE_SHIFT & ((1U << MEMO_SCORE_BITS) - 1));
    ret->fragile = fragile;
    return true;
}

#endif
