/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/device.h"

#include "cel/lib.h"

/* ResourceSliceMaxAttributeValuesPerDevice */
#define INCLUDES_MAX 48

const struct cel_type cel_device_type = CEL_OBJECT_TYPE("kubernetes.DRADevice");

const struct cel_type *cel_device_field(struct cel_features features, struct str field)
{
    static const struct cel_type any_by_id = CEL_MAP_OF(&cel_string_type, &cel_any_type),
                                 dyn_by_id = CEL_MAP_OF(&cel_string_type, &cel_dyn_type),
                                 amount_by_id = CEL_MAP_OF(&cel_string_type, &cel_quantity_type),
                                 any_by_domain = CEL_MAP_OF(&cel_string_type, &any_by_id),
                                 dyn_by_domain = CEL_MAP_OF(&cel_string_type, &dyn_by_id),
                                 amount_by_domain = CEL_MAP_OF(&cel_string_type, &amount_by_id);
    if (str_is(field, "driver"))
        return &cel_string_type;
    if (str_is(field, "attributes"))
        return features.list_type_attributes ? &dyn_by_domain : &any_by_domain;
    if (str_is(field, "capacity"))
        return &amount_by_domain;
    /* Upstream compiles what is stored with everything that any feature gate adds. */
    if (str_is(field, "allowMultipleAllocations"))
        return &cel_bool_type;
    return NULL;
}

/* --- the value -------------------------------------------------------------------------------- */

#define LIST_VALUE(a, list, make)                                                \
    ({                                                                           \
        struct cel_value *items_ = arena_array((a), struct cel_value, (list).n); \
        for (size_t i_ = 0; i_ < (list).n; i_++)                                 \
            items_[i_] = make((list).v[i_]);                                     \
        cel_list_of((a), items_, (list).n);                                      \
    })

static int version_value(struct str text, struct arena *a, struct cel_value *ret,
                         struct err *reterr)
{
    *ret = cel_semver(a, text);
    return cel_is_error(*ret)
               ? err_set(reterr, -EINVAL, "parse semantic version: %.*s", STR_ARG(ret->s))
               : 0;
}

static int versions_value(const struct device_attribute *attr, struct arena *a,
                          struct cel_value *ret, struct err *reterr)
{
    struct cel_value *items = arena_array(a, struct cel_value, attr->version_values.n);
    for (size_t i = 0; i < attr->version_values.n; i++) {
        int err = version_value(attr->version_values.v[i], a, &items[i], reterr);
        if (err < 0)
            return err;
    }
    *ret = cel_list_of(a, items, attr->version_values.n);
    return 0;
}

static int attribute_value(struct cel_features features, const struct device_attribute *attr,
                           struct arena *a, struct cel_value *ret, struct err *reterr)
{
    if (features.list_type_attributes) {
        if (attr->int_values.n > 0) {
            *ret = LIST_VALUE(a, attr->int_values, cel_int);
            return 0;
        }
        if (attr->bool_values.n > 0) {
            *ret = LIST_VALUE(a, attr->bool_values, cel_bool);
            return 0;
        }
        if (attr->string_values.n > 0) {
            *ret = LIST_VALUE(a, attr->string_values, cel_string);
            return 0;
        }
        if (attr->version_values.n > 0)
            return versions_value(attr, a, ret, reterr);
    }
    if (attr->int_value) {
        *ret = cel_int(*attr->int_value);
    } else if (attr->bool_value) {
        *ret = cel_bool(*attr->bool_value);
    } else if (attr->string_value) {
        *ret = cel_string(*attr->string_value);
    } else if (attr->version_value) {
        return version_value(*attr->version_value, a, ret, reterr);
    } else {
        return err_set(reterr, -EINVAL, "unsupported attribute value");
    }
    return 0;
}

static struct cel_map *new_map(struct arena *a, size_t capacity)
{
    struct cel_map *map = cel_map_new(a, capacity);
    map->strings = true;
    return map;
}

/* Entries by domain; a domain that is missing reads as an empty map. */
static struct cel_map *new_domains(struct arena *a)
{
    struct cel_map *domains = new_map(a, 4);
    struct cel_value *empty = arena_new(a, struct cel_value);
    *empty = cel_map_value(new_map(a, 0));
    domains->fallback = empty;
    return domains;
}

static void put(struct arena *a, struct cel_map *domains, struct str name, struct str driver,
                struct cel_value value)
{
    size_t slash = str_find(name, '/');
    struct str domain = slash < name.n ? str_slice(name, 0, slash) : driver;
    struct str id = slash < name.n ? str_slice(name, slash + 1, name.n) : name;
    if (!cel_map_has(domains, cel_string(domain)))
        cel_map_put(a, domains, cel_string(domain), cel_map_value(new_map(a, 8)));
    const struct cel_value *ids = cel_map_find(domains, cel_string(domain));
    /* Made here; nothing else reads it yet. */
    cel_map_replace(a, (struct cel_map *)ids->map, cel_string(id), value);
}

int cel_device_value(struct cel_features features, struct str driver, const struct device *device,
                     struct arena *a, struct cel_value *ret, struct err *reterr)
{
    struct cel_map *attributes = new_domains(a), *capacity = new_domains(a);
    for (size_t i = 0; i < device->attributes.n; i++) {
        const struct device_attribute_entry *e = &device->attributes.v[i];
        struct cel_value value;
        int err = attribute_value(features, &e->value, a, &value, reterr);
        if (err < 0)
            return err_prefix(reterr, err, "attribute %.*s", STR_ARG(e->key));
        put(a, attributes, e->key, driver, value);
    }
    for (size_t i = 0; i < device->capacity.n; i++) {
        const struct device_capacity_entry *e = &device->capacity.v[i];
        put(a, capacity, e->key, driver, cel_quantity(a, e->value.value));
    }
    struct cel_map *map = new_map(a, 4);
    cel_map_put(a, map, cel_string(STR("driver")), cel_string(driver));
    cel_map_put(a, map, cel_string(STR("allowMultipleAllocations")),
                cel_bool(device->allow_multiple_allocations));
    cel_map_put(a, map, cel_string(STR("attributes")), cel_map_value(attributes));
    cel_map_put(a, map, cel_string(STR("capacity")), cel_map_value(capacity));
    *ret = cel_map_value(map);
    return 0;
}

/* --- includes() ------------------------------------------------------------------------------- */

static struct cel_value includes(const struct cel_call *call)
{
    struct cel_value target = call->args[0], wanted = call->args[1];
    if (target.kind != CEL_LIST)
        return cel_bool(cel_equal(call->eval, target, wanted));
    for (uint64_t i = 0; i < target.list->n; i++) {
        if (i >= INCLUDES_MAX)
            return cel_error(call->eval->arena,
                             "'includes' function cannot be applied to lists longer than %d values",
                             INCLUDES_MAX);
        if (cel_equal(call->eval, cel_list_at(target.list, i), wanted))
            return cel_bool(true);
    }
    return cel_bool(false);
}

static bool estimate_includes(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    (void)call;
    *ret = (struct cel_estimate){.cost = {0, INCLUDES_MAX}};
    return true;
}

static const struct cel_overload overloads[] = {
    {.function = "includes",
     .id = "dra_includes_dyn_dyn",
     .flags = CEL_MEMBER,
     .n_args = 2,
     .args = {&cel_dyn_type, &cel_dyn_type},
     .result = &cel_bool_type,
     .fn = includes,
     .estimate = estimate_includes},
};

const struct cel_library cel_lib_device = {.overloads = overloads, .n = ARRAY_LEN(overloads)};
