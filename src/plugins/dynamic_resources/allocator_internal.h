/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator_internal.h - plans of claims and the state of one search.
 *
 * Purpose:   a plan is what a claim's spec says, with classes and selectors resolved, made once per
 *            pod. A search is one run on one node.
 * Ownership: plans belong to an allocator, or to the arena of a search (the claim of extended
 *            resources). A search belongs to the call of allocator_allocate.
 * Threading: plans are constant; a search is used by one thread.
 */
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_ALLOCATOR_INTERNAL_H
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_ALLOCATOR_INTERNAL_H

#include "plugins/dynamic_resources/allocator.h"
#include "plugins/dynamic_resources/devices_internal.h"

/* --- plans ------------------------------------------------------------------------------------ */

/* A request without alternatives, or one alternative of a request (upstream: requestData). */
struct request_plan {
    struct str name;
    struct str parent; /* of an alternative: the name of the request; else empty */
    struct str error;  /* found by validation, whatever the node */
    struct class_entry *class;
    LIST(struct compiled_selector *) selectors; /* the request's own, after those of the class */
    const struct device_toleration *tolerations;
    size_t n_tolerations;
    const quantity_map *capacity; /* NULL: none requested */
    int64_t count;
    bool all; /* allocationMode All */
    bool admin_access;
    uint32_t number; /* index of the search's requests, in all claims */
    int64_t points;  /* of an alternative, if it is used: the score */
};

struct request_group {
    struct str name;
    struct str error;           /* reported before its alternatives are looked at */
    struct request_plan *plans; /* one, or the alternatives */
    size_t n;
    bool prioritized;
};

/* matchAttribute or distinctAttribute. */
struct constraint_plan {
    struct str attribute;  /* fully qualified */
    struct str domain, id; /* its parts; domain empty: it has none */
    bool distinct;
    LIST(struct str) requests; /* sorted; empty: applies to all */
};

struct claim_plan {
    const struct resource_claim *claim;
    struct str name; /* "namespace/name" */
    LIST(struct request_group) groups;
    LIST(struct constraint_plan) constraints;
    struct str constraint_error;
    uint32_t first_constraint; /* number of constraints of the claims before */
};

/*
 * compile: selectors may be compiled (engine's thread); otherwise the claim must have none.
 * References on classes and selectors are added only if `compile` is set.
 */
struct numbering {
    uint32_t requests, constraints;
};
void claim_plan_make(struct devices *d, const struct resource_claim *claim, bool compile,
                     struct arena *a, struct numbering *next, struct claim_plan *ret_plan);
void claim_plan_release(const struct claim_plan *plan);

struct allocator {
    struct devices *devices;
    struct arena arena;
    struct claim_plan *plans;
    size_t n;
    struct verdict_memo *memo;
    uint64_t class_changes; /* of the devices when it was made: the memo is for these classes */
    struct numbering end;   /* after the last claim */
    struct numbering before_last; /* before it */
};

/* --- a search --------------------------------------------------------------------------------- */

/* What the search has chosen of one device so far. */
struct mark {
    const struct device_id *id;
    uint32_t claims;           /* allocations of the whole device, in different claims */
    bool has_capacity;         /* upstream: allocatingCapacity has an entry */
    struct quantity *capacity; /* as many as the device's capacities; NULL: all 0 */
};

struct chosen {
    const struct slice_device *device;
    const struct request_plan *request;
    size_t consumed; /* the first of its amounts in search.amounts, one for each capacity */
    bool shared;     /* it is a share of a device */
};

/* The devices of a request for all of them. */
struct located {
    const struct slice_device *device;
    const struct pool_view *pool;
};

struct request_state {
    int64_t n_devices;
    VEC(struct located) all;
};

struct attribute_set;
struct constraint_state {
    const struct device_attribute *first;     /* match: of the first device */
    struct attribute_set *common;             /* match with lists */
    const struct device_attribute **by_group; /* distinct: of the last device by request */
    int64_t n_devices;
};

/* Counters by the name of the pool, whatever the driver: see counters.c. */
struct counter_state {
    struct str pool_name;
    const struct pool_view *view;
    size_t *offsets; /* of each set's first counter */
    struct quantity *available, *consumed;
    size_t n;
};

struct location {
    uint32_t pool, slice, device;
};

struct position {
    uint32_t claim, group, alternative;
    int64_t device;
    struct location start;
    bool in_alternative;
};

struct undo {
    bool counters, marked, capacity, capacity_existed, chosen;
    uint32_t n_constraints;
};

enum frame_kind { FRAME_CLAIM, FRAME_ALTERNATIVES, FRAME_ALL, FRAME_DEVICE };

struct frame {
    enum frame_kind kind;
    bool all_exceeded; /* FRAME_ALTERNATIVES */
    struct position at;
    struct location here;  /* FRAME_DEVICE */
    struct located device; /* FRAME_ALL, FRAME_DEVICE */
    struct undo undo;
};

struct search {
    const struct devices *d;
    const struct node *node;
    const struct node_view *view;
    const struct claim_plan **claims;
    size_t n_claims;
    struct allocation *call;
    struct arena arena; /* scratch */
    struct request_state *requests;
    uint32_t n_requests;
    struct constraint_state *constraints; /* all claims' */
    VEC(struct frame) stack;
    VEC(struct chosen) chosen;    /* of all claims, in order */
    uint32_t *n_chosen;           /* by claim */
    VEC(struct quantity) amounts; /* consumed by `chosen` */
    struct mark *marks;           /* hash table by identity */
    size_t n_marks, marks_capacity;
    VEC(struct counter_state) counters;
    bool exceeded;    /* a branch ended with STEP_TOO_MANY */
    struct buf error; /* of ALLOCATION_ERROR */
};

/* The end of a branch. STEP_TOO_MANY: more than ALLOCATION_RESULTS_MAX devices for a claim. */
enum step { STEP_FOUND, STEP_NONE, STEP_TOO_MANY, STEP_ERROR, STEP_CANCELLED };

/* allocator.c */
/* Upstream's isSelectable; STEP_FOUND: it is. */
enum step search_selectable(struct search *s, const struct claim_plan *claim,
                            const struct request_plan *request, const struct slice_device *device);

/* search.c: upstream's allocateOne. */
enum step search_run(struct search *s);

/* marks.c: devices and capacity chosen by this search. The pointer is valid until the next. */
struct mark *search_mark(struct search *s, const struct device_id *id);
const struct mark *search_find_mark(const struct search *s, const struct device_id *id);
bool search_in_use(const struct search *s, const struct device_id *id);
bool search_chosen_in_claim(const struct search *s, const struct device_id *id, uint32_t claim);

/* capacity.c: upstream's consumable capacity. */
bool capacity_fits(const struct search *s, const struct request_plan *request,
                   const struct slice_device *device);
/* Pushes what the request consumes to s->amounts and adds it to the mark; and takes it back. */
void capacity_add(struct search *s, const struct request_plan *request,
                  const struct slice_device *device);
void capacity_remove(struct search *s, const struct slice_device *device, bool existed);

/* counters.c */
bool counters_reserve(struct search *s, const struct located *device);
void counters_release(struct search *s, const struct located *device);

/* constraints.c */
bool constraint_add(struct search *s, const struct constraint_plan *plan,
                    struct constraint_state *state, const struct position *at,
                    const struct slice_device *device);
void constraint_remove(struct search *s, const struct constraint_plan *plan,
                       struct constraint_state *state, const struct position *at);

/* results.c: one for each claim; false with the reason in s->error. */
bool results_build(struct search *s, struct arena *arena, struct allocation_result **ret_results);
bool results_may_fail(const struct search *s);

#endif
