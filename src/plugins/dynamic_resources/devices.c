/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/dynamic_resources/devices.h"

#include "plugins/dynamic_resources/devices_internal.h"

struct devices *devices_new(const struct device_features *features,
                            const struct selector_engine *engine)
{
    struct devices *d = xnew(struct devices);
    d->features = *features;
    d->engine = engine ? *engine : selector_cel(features);
    /* Upstream takes the first variant that supports all features that are on. */
    d->stable = !features->binding_conditions && !features->consumable_capacity &&
                !features->list_constraints;
    d->epoch = d->view_epoch = 1;
    return d;
}

/* --- taint rules ------------------------------------------------------------------------------ */

static bool selects(struct str wanted, struct str name)
{
    return str_empty(wanted) || str_eq(wanted, name);
}

static bool rule_applies(const struct device_taint_rule *rule, const struct slice_device *device)
{
    const struct device_taint_selector *s = rule->spec.device_selector;
    return !s || (selects(s->driver, device->id->driver) && selects(s->pool, device->id->pool) &&
                  selects(s->device, device->id->device));
}

static void apply_rules(const struct devices *d, struct slice_device *device)
{
    vec_clear(&device->rule_taints);
    for (size_t i = 0; i < d->rules.n; i++) {
        const struct device_taint_rule *rule = object_device_taint_rule(d->rules.v[i]);
        if (rule_applies(rule, device))
            vec_push(&device->rule_taints, &rule->spec.taint);
    }
}

/* Applies all rules to the devices that this one concerns; returns whether there are any. */
static bool reapply(struct devices *d, const struct device_taint_rule *rule)
{
    bool any = false;
    map_each (e, &d->slices) {
        struct slice *slice = e->value;
        const struct device_taint_selector *s = rule->spec.device_selector;
        if (s && (!selects(s->driver, slice->api->spec.driver) ||
                  !selects(s->pool, slice->api->spec.pool.name)))
            continue;
        for (size_t i = 0; i < slice->api->spec.devices.n; i++) {
            if (!rule_applies(rule, &slice->devices[i]))
                continue;
            apply_rules(d, &slice->devices[i]);
            slice_device_touch(d, &slice->devices[i], false);
            any = true;
        }
    }
    return any;
}

static bool rule_changed(struct devices *d, struct object *before, struct object *after)
{
    if (!d->features.device_taint_rules)
        return false;
    bool any = false;
    for (size_t i = 0; before && i < d->rules.n; i++) {
        struct object *o = d->rules.v[i];
        if (!str_eq(object_meta(o)->name, object_meta(before)->name))
            continue;
        vec_remove(&d->rules, i);
        any = reapply(d, object_device_taint_rule(o));
        object_unref(o);
        break;
    }
    if (after) {
        vec_push(&d->rules, object_ref(after));
        any = reapply(d, object_device_taint_rule(after)) || any;
    }
    return any;
}

/* --- slices ----------------------------------------------------------------------------------- */

/* NULL: no selector. Upstream reports every fault of a selector at once; here it is the first. */
static struct str compile_terms(const struct node_selector *ns, struct arena *a,
                                struct node_terms *terms)
{
    if (!ns)
        return STR("");
    node_terms_compile(ns, a, terms);
    struct str fault = node_terms_fault(terms);
    return str_empty(fault)
               ? fault
               : arena_printf(a, "failed to parse node selector: %.*s", STR_ARG(fault));
}

static enum slice_reach reach_of(const struct devices *d, const struct resource_slice_spec *spec)
{
    bool partitioned = spec->per_device_node_selection || spec->shared_counters.n > 0;
    if (!d->features.partitionable_devices && partitioned)
        return SLICE_REACHES_NOTHING;
    if (!str_empty(spec->node_name))
        return SLICE_REACHES_NODE;
    if (spec->all_nodes || spec->shared_counters.n > 0)
        return SLICE_REACHES_ALL;
    if (spec->node_selector)
        return SLICE_REACHES_TERMS;
    return spec->per_device_node_selection ? SLICE_REACHES_DEVICES : SLICE_REACHES_NOTHING;
}

static void init_device(struct devices *d, struct slice *slice, struct slice_device *device,
                        const struct device *api)
{
    const struct resource_slice_spec *spec = &slice->api->spec;
    device->device = api;
    device->slice = slice;
    device->id = device_id_get(d, spec->driver, spec->pool.name, api->name);
    device->number = selector_number_get(d);
    vec_push(&device->id->offers, device);
    d->n_mapped += api->node_allocatable_resource_mappings.n > 0;
    for (size_t i = 0; i < api->capacity.n; i++)
        device->has_request_policy =
            device->has_request_policy || api->capacity.v[i].value.request_policy;
    slice->consumes = slice->consumes || api->consumes_counters.n > 0;
    slice->has_conditions = slice->has_conditions || api->binding_conditions.n > 0;
    if (spec->per_device_node_selection)
        device->fault = compile_terms(api->node_selector, &slice->arena, &device->terms);
    apply_rules(d, device);
}

static void release_device(struct devices *d, struct slice_device *device)
{
    struct device_id *id = device->id;
    for (size_t i = 0; i < id->offers.n; i++)
        if (id->offers.v[i] == device) {
            vec_remove(&id->offers, i);
            break;
        }
    d->n_mapped -= device->device->node_allocatable_resource_mappings.n > 0;
    selector_number_put(d, device->number);
    vec_release(&device->rule_taints);
    device_id_put(d, id);
}

static void free_slice(struct devices *d, struct slice *slice)
{
    for (size_t i = 0; i < slice->api->spec.devices.n; i++)
        release_device(d, &slice->devices[i]);
    arena_release(&slice->arena);
    object_unref(slice->object);
    free(slice);
}

static void add_slice(struct devices *d, struct object *object)
{
    struct slice *slice = xnew(struct slice);
    slice->object = object_ref(object);
    slice->api = object_resource_slice(object);
    arena_init(&slice->arena, 0);
    const struct resource_slice_spec *spec = &slice->api->spec;
    slice->reach = reach_of(d, spec);
    slice->has_counters = spec->shared_counters.n > 0;
    slice->devices = arena_array(&slice->arena, struct slice_device, spec->devices.n);
    if (slice->reach == SLICE_REACHES_TERMS)
        slice->fault = compile_terms(spec->node_selector, &slice->arena, &slice->terms);
    for (size_t i = 0; i < spec->devices.n; i++)
        init_device(d, slice, &slice->devices[i], &spec->devices.v[i]);
    map_put(&d->slices, slice->api->metadata.name, slice);
    pools_add_slice(d, slice);
}

static void remove_slice(struct devices *d, struct str name)
{
    struct slice *slice = map_del(&d->slices, name);
    if (!slice)
        return;
    pools_remove_slice(d, slice);
    free_slice(d, slice);
}

/* --- classes ---------------------------------------------------------------------------------- */

void class_entry_unref(struct class_entry *c)
{
    if (!c || --c->refs > 0)
        return;
    for (size_t i = 0; i < c->selectors.n; i++)
        selector_put(c->selectors.v[i]);
    free(c->selectors.v);
    object_unref(c->object);
    free(c);
}

static void add_class(struct devices *d, struct object *object)
{
    struct class_entry *c = xnew(struct class_entry);
    c->object = object_ref(object);
    c->api = object_device_class(object);
    c->refs = 1;
    c->selectors.n = c->api->spec.selectors.n;
    c->selectors.v = xcalloc(c->selectors.n, sizeof(struct compiled_selector *));
    for (size_t i = 0; i < c->selectors.n; i++) {
        const struct cel_device_selector *cel = c->api->spec.selectors.v[i].cel;
        c->selectors.v[i] = cel ? selector_get(d, cel->expression) : NULL;
    }
    map_put(&d->classes, c->api->metadata.name, c);
}

const struct device_class *devices_class(const struct devices *d, struct str name)
{
    const struct class_entry *c = map_get(&d->classes, name);
    return c ? c->api : NULL;
}

/* --- devices by name -------------------------------------------------------------------------- */

bool devices_map_to_nodes(const struct devices *d)
{
    return d->n_mapped > 0;
}

const struct device *devices_find(const struct devices *d, struct str driver, struct str pool,
                                  struct str device)
{
    const struct device_id *id = device_id_find(d, driver, pool, device);
    const struct slice_device *newest = NULL;
    for (size_t i = 0; id && i < id->offers.n; i++)
        if (!newest || id->offers.v[i]->slice->api->spec.pool.generation >
                           newest->slice->api->spec.pool.generation)
            newest = id->offers.v[i];
    return newest ? newest->device : NULL;
}

/* --- changes ---------------------------------------------------------------------------------- */

bool devices_object_changed(struct devices *d, struct object *before, struct object *after)
{
    const struct object *o = after ? after : before;
    struct str name = object_meta(o)->name;
    switch (object_kind(o)->id) {
    case KIND_RESOURCE_SLICE:
        remove_slice(d, name);
        if (after)
            add_slice(d, after);
        return true;
    case KIND_DEVICE_CLASS:
        d->class_changes++;
        memos_forget(d);
        class_entry_unref(map_del(&d->classes, name));
        if (after)
            add_class(d, after);
        return false;
    case KIND_DEVICE_TAINT_RULE:
        return rule_changed(d, before, after);
    case KIND_NODE:
        pools_node_changed(d, name, after);
        return false;
    default:
        return false;
    }
}

void devices_refresh(struct devices *d)
{
    pools_refresh(d);
}

struct devices *devices_free(struct devices *d)
{
    if (!d)
        return NULL;
    pools_release(d);
    map_each (e, &d->slices)
        free_slice(d, e->value);
    map_release(&d->slices);
    map_each (e, &d->classes)
        class_entry_unref(e->value);
    map_release(&d->classes);
    for (size_t i = 0; i < d->rules.n; i++)
        object_unref(d->rules.v[i]);
    vec_release(&d->rules);
    map_each (e, &d->ids) {
        struct device_id *id = e->value;
        vec_release(&id->capacity);
        vec_release(&id->offers);
        arena_release(&id->arena);
        free(id);
    }
    map_release(&d->ids);
    selectors_release(d);
    memos_release(d);
    if (d->engine.release)
        d->engine.release(d->engine.ctx);
    buf_release(&d->key);
    free(d);
    return NULL;
}
