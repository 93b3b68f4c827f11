/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource_terms.c - upstream: calculatePodResourceRequest and calculateResourceAllocatableRequest.
 *
 * The amounts derived with the pod are used if they equal what the configuration's gates count;
 * otherwise the requests are computed from the spec.
 */
#include "plugins/node_resources/resource_terms.h"

#include "plugins/dynamic_resources/dynamic_resources.h"

static bool source_of(struct str name, bool nonzero, enum term_source *ret_source)
{
    if (str_eq(name, RESOURCE_CPU))
        *ret_source = nonzero ? TERM_CPU_NONZERO : TERM_CPU;
    else if (str_eq(name, RESOURCE_MEMORY))
        *ret_source = nonzero ? TERM_MEMORY_NONZERO : TERM_MEMORY;
    else if (str_eq(name, RESOURCE_EPHEMERAL_STORAGE))
        *ret_source = TERM_EPHEMERAL_STORAGE;
    else if (resource_is_scalar(name))
        *ret_source = TERM_SCALAR;
    else
        return false;
    return true;
}

void scored_resources_init(struct scored_resources *r, resource_spec_list list, bool nonzero,
                           const struct resource_gates *gates)
{
    enum term_source source;
    *r = (struct scored_resources){.list = list, .nonzero = nonzero, .gates = *gates};
    for (size_t i = 0; i < list.n; i++)
        r->has_unknown |= !source_of(list.v[i].name, nonzero, &source);
}

void scored_resources_use_devices(struct scored_resources *r, const struct berth_host *host,
                                  struct berth_handle *h)
{
    bool any = false;
    for (size_t i = 0; i < r->list.n; i++)
        any |= resource_may_be_devices(r->list.v[i].name);
    const struct extended_classes *classes = any ? extended_classes_shared(host, h) : NULL;
    struct dra_shared *shared = classes ? dra_shared(host, h) : NULL;
    if (!shared)
        return;
    r->classes = classes;
    r->devices = shared->devices;
}

/* --- requests --------------------------------------------------------------------------------- */

bool pod_status_has_resources(const struct pod *pod)
{
    const struct pod_status *s = &pod->status;
    for (size_t i = 0; i < s->container_statuses.n; i++)
        if (s->container_statuses.v[i].resources)
            return true;
    for (size_t i = 0; i < s->init_container_statuses.n; i++)
        if (s->init_container_statuses.v[i].resources)
            return true;
    return s->resources;
}

/* Are the amounts in struct berth_pod those that count? */
static bool is_derived(const struct scored_resources *r, const struct berth_pod *pod)
{
    if (r->has_unknown)
        return false;
    /* They are computed with all gates enabled, and with defaults besides pod-level requests. */
    bool resizing = !r->gates.in_place_pod_vertical_scaling && pod_status_has_resources(pod->pod);
    bool own = (r->nonzero || !r->gates.pod_level_resources) && pod_level_requests_set(pod->pod);
    return !resizing && !own;
}

static int64_t derived_request(const struct berth_pod *pod, enum term_source source, atom_t name)
{
    switch (source) {
    case TERM_CPU:
        return pod->requests.milli_cpu;
    case TERM_CPU_NONZERO:
        return pod->nonzero_milli_cpu;
    case TERM_MEMORY:
        return pod->requests.memory;
    case TERM_MEMORY_NONZERO:
        return pod->nonzero_memory;
    case TERM_EPHEMERAL_STORAGE:
        return pod->requests.ephemeral_storage;
    case TERM_SCALAR:
        break;
    }
    return resource_scalar(&pod->requests, name);
}

/* The requests counted with the gates of this configuration. */
static void count_requests(const struct scored_resources *r, const struct berth_pod *pod,
                           struct arena *a, quantity_map *ret_requests)
{
    struct quantity_entry room[] = {
        {RESOURCE_CPU, quantity_of_milli(DEFAULT_MILLI_CPU_REQUEST, QUANTITY_DECIMAL_SI)},
        {RESOURCE_MEMORY, quantity_of(DEFAULT_MEMORY_REQUEST, QUANTITY_DECIMAL_SI)},
    };
    quantity_map defaults = {.v = room, .n = ARRAY_LEN(room)};
    pod_requests(pod->pod, &r->gates, r->nonzero ? &defaults : NULL, a, ret_requests);
}

static int64_t counted_request(const quantity_map *requests, struct str name)
{
    const struct quantity *q = quantity_map_get(requests, name);
    if (!q)
        return 0;
    return str_eq(name, RESOURCE_CPU) ? quantity_milli_value(q) : quantity_value(q);
}

/* --- terms ------------------------------------------------------------------------------------ */

bool score_term_init(struct score_term *term, const struct scored_resources *r, size_t i,
                     const struct intern *names)
{
    const struct resource_spec *spec = &r->list.v[i];
    *term = (struct score_term){.weight = spec->weight};
    if (!source_of(spec->name, r->nonzero, &term->source))
        return false;
    if (term->source == TERM_SCALAR)
        term->name = intern_find(names, spec->name);
    return term->source != TERM_SCALAR || term->name;
}

size_t score_terms_size(const struct scored_resources *r)
{
    return sizeof(struct score_terms) + r->list.n * sizeof(struct score_term);
}

/* Upstream: a scalar resource that the pod does not request is not scored. */
static void add_term(struct score_terms *terms, const struct scored_resources *r, size_t i,
                     struct score_term term, int64_t request)
{
    term.request = request;
    if (request == 0 && term.source == TERM_SCALAR)
        return;
    if (r->devices && term.source == TERM_SCALAR) {
        term.class_name = extended_classes_find(r->classes, r->list.v[i].name);
        term.devices = str_empty(term.class_name) ? NULL : r->devices;
    }
    terms->v[terms->n++] = term;
}

static void fill_derived(struct score_terms *terms, const struct scored_resources *r,
                         const struct berth_pod *pod)
{
    for (size_t i = 0; i < r->list.n; i++) {
        struct score_term term;
        if (!score_term_init(&term, r, i, pod->names))
            continue;
        int64_t request = derived_request(pod, term.source, term.name);
        terms->best_effort &= request == 0;
        add_term(terms, r, i, term, request);
    }
}

static void fill_counted(struct score_terms *terms, const struct scored_resources *r,
                         const struct berth_pod *pod)
{
    struct arena scratch;
    quantity_map requests;
    arena_init(&scratch, 0);
    count_requests(r, pod, &scratch, &requests);
    for (size_t i = 0; i < r->list.n; i++) {
        struct score_term term;
        int64_t request = counted_request(&requests, r->list.v[i].name);
        terms->best_effort &= request == 0;
        if (score_term_init(&term, r, i, pod->names))
            add_term(terms, r, i, term, request);
    }
    arena_release(&scratch);
}

void score_terms_fill(struct score_terms *terms, const struct scored_resources *r,
                      const struct berth_pod *pod)
{
    terms->n = 0;
    terms->best_effort = true;
    if (r->devices)
        devices_refresh(r->devices);
    if (is_derived(r, pod))
        fill_derived(terms, r, pod);
    else
        fill_counted(terms, r, pod);
}

struct score_terms *score_terms_new(const struct scored_resources *r, const struct berth_pod *pod)
{
    struct score_terms *terms = xmalloc(score_terms_size(r));
    score_terms_fill(terms, r, pod);
    return terms;
}

static struct term_column column_of(enum term_source source, const struct berth_columns *c)
{
    switch (source) {
    case TERM_CPU:
        return (struct term_column){c->allocatable_cpu, c->requested_cpu};
    case TERM_CPU_NONZERO:
        return (struct term_column){c->allocatable_cpu, c->nonzero_cpu};
    case TERM_MEMORY:
        return (struct term_column){c->allocatable_memory, c->requested_memory};
    case TERM_MEMORY_NONZERO:
        return (struct term_column){c->allocatable_memory, c->nonzero_memory};
    case TERM_EPHEMERAL_STORAGE:
        return (struct term_column){c->allocatable_ephemeral_storage,
                                    c->requested_ephemeral_storage};
    case TERM_SCALAR:
        break;
    }
    return (struct term_column){0};
}

bool score_terms_columns(const struct score_terms *terms, const struct berth_columns *columns,
                         struct term_column ret_columns[TERM_COLUMNS_MAX])
{
    if (terms->n > TERM_COLUMNS_MAX)
        return false;
    for (size_t i = 0; i < terms->n; i++) {
        ret_columns[i] = column_of(terms->v[i].source, columns);
        if (!ret_columns[i].allocatable)
            return false;
    }
    return true;
}
