/* SPDX-License-Identifier: Apache-2.0 */
/* resource.k8s.io: ResourceSlices. */
#include "apiserver/strategies/device_capacity.h"
#include "apiserver/strategies/device_checks.h"
#include "apiserver/strategies/internal_form.h"
#include "apiserver/strategies/pod_internal.h"
#include "apiserver/strategies/resource_names.h"
#include "apiserver/strategies/strategies.h"

#define MAX_DEVICES          128
#define MAX_ADVANCED_DEVICES 64
#define MAX_ATTRIBUTES       32
#define MAX_ATTRIBUTE_VALUES 48
#define MAX_VALUE            64
#define MAX_TAINTS           16
#define MAX_COUNTER_SETS     8
#define MAX_COUNTERS         32
#define MAX_CONSUMPTIONS     2
#define MAX_KEY_SHOWN        (63 + 1 + 32)

static const char *const list_values[] = {"bools", "ints", "strings", "versions"};

/* --- defaults --------------------------------------------------------------------------------- */

static void set_defaults(struct json_value *object, struct arena *a)
{
    struct json_value *spec = json_set_object(object, STR("spec"), a);
    struct json_value *devices = json_member(spec, STR("devices"));

    for (size_t i = 0; devices && devices->kind == JSON_ARRAY && i < devices->n; i++) {
        struct json_value *map =
            json_member(&devices->items[i], STR("nodeAllocatableResourceMappings"));

        for (size_t j = 0; map && map->kind == JSON_OBJECT && j < map->n_members; j++)
            json_set_default(&map->members[j].value, STR("allocationMultiplier"),
                             json_text(STR("1")), a);
    }
}

/* Taints without a time have that of the slice; upstream takes the clock. */
static void prepare_create(struct json_value *object, struct arena *a)
{
    struct str now = json_text_at(object, "metadata.creationTimestamp");
    struct json_value *devices =
        json_member(json_set_object(object, STR("spec"), a), STR("devices"));

    for (size_t i = 0; devices && devices->kind == JSON_ARRAY && i < devices->n; i++) {
        struct json_value *taints = json_member(&devices->items[i], STR("taints"));

        for (size_t j = 0; taints && taints->kind == JSON_ARRAY && j < taints->n; j++)
            if (!str_empty(now))
                json_set_default(&taints->items[j], STR("timeAdded"), json_text(now), a);
    }
}

/* --- attributes ------------------------------------------------------------------------------- */

static void check_text_value(const struct spot *value)
{
    if (spot_str(value).n > MAX_VALUE)
        spot_too_long(value, MAX_VALUE);
}

static bool identifiers_valid(struct str s, bool numbers_strict)
{
    struct str part;

    if (str_empty(s))
        return false;
    while (str_split(&s, '.', &part)) {
        bool digits = true;

        for (size_t i = 0; i < part.n; i++) {
            char c = part.p[i];
            bool digit = c >= '0' && c <= '9';

            digits = digits && digit;
            if (!digit && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '-')
                return false;
        }
        if (part.n == 0 || (numbers_strict && digits && part.n > 1 && part.p[0] == '0'))
            return false;
    }
    return true;
}

/* MAJOR.MINOR.PATCH[-PRE][+BUILD], semver.org 2.0.0. */
static bool version_valid(struct str s)
{
    size_t plus = str_find(s, '+'), dash;
    struct str part;
    int n = 0;

    if (plus < s.n && !identifiers_valid(str_slice(s, plus + 1, s.n), false))
        return false;
    s = str_slice(s, 0, plus);
    dash = str_find(s, '-');
    if (dash < s.n && !identifiers_valid(str_slice(s, dash + 1, s.n), true))
        return false;
    s = str_slice(s, 0, dash);
    while (s.p && str_split(&s, '.', &part)) {
        for (size_t i = 0; i < part.n; i++)
            if (part.p[i] < '0' || part.p[i] > '9')
                return false;
        if (part.n == 0 || (part.n > 1 && part.p[0] == '0'))
            return false;
        n++;
    }
    return n == 3;
}

static void check_version_value(const struct spot *value)
{
    if (!version_valid(spot_str(value)))
        spot_invalid(value, "must be a string compatible with semver.org spec 2.0.0");
    check_text_value(value);
}

static void check_value_list(const struct spot *list)
{
    if (spot_count(list) == 0)
        spot_invalid(list, "must not be empty if specified");
    for (size_t i = 0; i < spot_count(list); i++) {
        struct spot item = spot_item(list, i);

        if (str_is(list->path.name, "strings"))
            check_text_value(&item);
        else if (str_is(list->path.name, "versions"))
            check_version_value(&item);
    }
}

static void check_attribute(const struct spot *attribute)
{
    static const struct internal_member fields[] = {
        {"IntValue", "int", NULL, NULL},
        {"BoolValue", "bool", NULL, NULL},
        {"StringValue", "string", NULL, NULL},
        {"VersionValue", "version", NULL, NULL},
        {"IntValues", "ints", NULL, NULL},
        {"BoolValues", "bools", NULL, NULL},
        {"StringValues", "strings", NULL, NULL},
        {"VersionValues", "versions", NULL, NULL},
        {0},
    };
    struct json_value none = json_text(STR("")), shown;
    struct spot text = spot_get(attribute, "string"), version = spot_get(attribute, "version");
    struct spot boolean = spot_get(attribute, "bool"), number = spot_get(attribute, "int");
    struct spot whole = *attribute;
    int n = spot_has(&text) + spot_has(&version) + spot_has(&boolean) + spot_has(&number);

    if (spot_has(&text))
        check_text_value(&text);
    if (spot_has(&version))
        check_version_value(&version);
    for (size_t i = 0; i < ARRAY_LEN(list_values); i++) {
        struct spot list = spot_get(attribute, list_values[i]);

        if (spot_has(&list))
            check_value_list(&list);
        n += spot_has(&list);
    }
    shown = n == 0 ? none : internal_form(attribute->v, fields, attribute->errors->arena);
    whole.v = &shown;
    if (n != 1)
        spot_invalid(&whole, "exactly one value must be specified");
}

/* --- devices ---------------------------------------------------------------------------------- */

static struct str shortened(struct str key, struct arena *a)
{
    size_t rest = MAX_KEY_SHOWN - 3;

    if (key.n <= MAX_KEY_SHOWN)
        return key;
    return arena_printf(a, "%.*s...%.*s", (int)((rest + 1) / 2), key.p, (int)(rest / 2),
                        key.p + key.n - rest / 2);
}

static void check_named(const struct spot *map, bool capacity, bool shared)
{
    for (size_t i = 0; i < spot_count(map); i++) {
        struct str key = map->v->members[i].key;
        struct json_value name = json_text(key);
        struct field_path path = field_key(&map->path, shortened(key, map->errors->arena));
        struct spot value = spot_of(&map->v->members[i].value, &path, map->errors), whole = *map;

        whole.v = &name;
        check_attribute_name(&whole, false);
        if (capacity)
            device_capacity_validate(&value, shared);
        else
            check_attribute(&value);
    }
}

static size_t count_values(const struct json_value *attributes)
{
    size_t n = 0;

    for (size_t i = 0; attributes && attributes->kind == JSON_OBJECT && i < attributes->n_members;
         i++) {
        size_t values = 0;

        for (size_t j = 0; j < ARRAY_LEN(list_values); j++)
            values += json_items_at(&attributes->members[i].value, list_values[j]).n;
        n += MAX(values, 1);
    }
    return n;
}

static void check_counters(const struct spot *counters)
{
    if (spot_count(counters) == 0) {
        spot_required(counters, "");
        return;
    }
    if (spot_too_many(counters, MAX_COUNTERS))
        return;
    for (size_t i = 0; i < spot_count(counters); i++) {
        struct json_value name = json_text(counters->v->members[i].key);
        struct spot whole = *counters;

        whole.v = &name;
        spot_check_name(&whole, NAME_DNS_LABEL);
    }
}

static void check_consumptions(const struct spot *list)
{
    if (spot_too_many(list, MAX_CONSUMPTIONS))
        return;
    for (size_t i = 0; i < spot_count(list); i++) {
        struct spot item = spot_item(list, i), set = spot_text(&item, "counterSet");
        struct spot counters = spot_get(&item, "counters");

        check_required_label(&set);
        check_counters(&counters);
    }
    check_duplicates(list, "counterSet");
}

/* Names of the members that say on which nodes it is; counts them. */
struct placement {
    struct buf names;
    int n;
};

static void placed(struct placement *p, const char *name)
{
    buf_add_printf(&p->names, "%s`%s`", p->n++ ? ", " : "", name);
}

static void check_placement(const struct spot *at, struct placement *p, const char *empty_name)
{
    struct spot node = spot_get(at, "nodeName"), selector = spot_get(at, "nodeSelector");
    struct spot all = spot_get(at, "allNodes");

    if (spot_has(&node) && spot_empty(&node)) {
        spot_invalid(&node, "%s", empty_name);
    } else if (spot_has(&node)) {
        placed(p, "nodeName");
        spot_check_name(&node, NAME_DNS_SUBDOMAIN);
    }
    if (spot_has(&selector)) {
        placed(p, "nodeSelector");
        node_selector_validate(selector.v, &selector.path, at->errors);
    }
    if (spot_has(&all) && spot_bool(&all, false))
        placed(p, "allNodes");
    else if (spot_has(&all))
        spot_invalid(&all, "must be either unset or set to true");
}

static void refuse_several(const struct spot *at, const struct placement *p, const char *text)
{
    struct json_value shown =
        json_text(arena_printf(at->errors->arena, "{%.*s}", STR_ARG(buf_str(&p->names))));
    struct spot copy = *at;

    copy.v = &shown;
    spot_invalid(&copy, "%s", text);
}

static void check_device_nodes(const struct spot *device, bool per_device)
{
    static const char text[] =
        "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
        "`perDeviceNodeSelection` is set to true in the ResourceSlice spec";
    struct placement p = {.names = BUF_INIT};
    struct spot none = *device;

    none.v = NULL;
    if (per_device) {
        check_placement(device, &p, "must not be empty");
        if (p.n == 0)
            spot_required(device, text);
        else if (p.n > 1)
            refuse_several(device, &p, text);
    } else if (json_get(device->v, STR("nodeName")) || json_get(device->v, STR("nodeSelector")) ||
               json_get(device->v, STR("allNodes"))) {
        spot_invalid(&none, "`nodeName`, `nodeSelector` and `allNodes` can only be set if "
                            "`perDeviceNodeSelection` is set to true in the ResourceSlice spec");
    }
    buf_release(&p.names);
}

static void check_mappings(const struct spot *device)
{
    struct spot map = spot_get(device, "nodeAllocatableResourceMappings");
    const struct json_value *capacity = json_get(device->v, STR("capacity"));
    struct json_value none = json_text(STR(""));

    for (size_t i = 0; i < spot_count(&map); i++) {
        struct spot mapping = spot_value(&map, i), shown = mapping;
        struct spot factor = spot_get(&mapping, "allocationMultiplier");
        struct spot key = spot_get(&mapping, "capacityKey");
        struct json_value name = json_text(map.v->members[i].key);
        struct quantity q = quantity_at(factor.v, device->errors->arena);

        shown.v = &name;
        if (!resource_name_is_native(name.text))
            spot_invalid(&shown, "must be a node allocatable resource name");
        shown.v = &none;
        if (!spot_has(&factor) && !spot_has(&key))
            spot_invalid(&shown, "at least one of allocationMultiplier or capacityKey must be set");
        if (spot_has(&factor) && quantity_sign(&q) <= 0)
            device_refuse_quantity(&factor, &q, "must be positive", NULL);
        if (spot_has(&key) && spot_empty(&key))
            spot_invalid(&key, "capacityKey must not be an empty string");
        else if (spot_has(&key) && !json_get(capacity, spot_str(&key)))
            field_error(device->errors, FIELD_NOT_FOUND, &key.path, key.v, "%s", "");
    }
}

static void check_device(const struct spot *device, bool per_device)
{
    struct spot name = spot_text(device, "name"), attributes = spot_get(device, "attributes");
    struct spot capacity = spot_get(device, "capacity"), taints = spot_get(device, "taints");
    struct spot consumes = spot_get(device, "consumesCounters"), whole = *device;
    size_t n = spot_count(&attributes) + spot_count(&capacity);
    size_t values = count_values(attributes.v);
    struct json_value number;

    spot_check_name(&name, NAME_DNS_LABEL);
    number = json_int((int64_t)n, device->errors->arena);
    whole.v = &number;
    if (n > MAX_ATTRIBUTES)
        spot_invalid(&whole, "the total number of attributes and capacities must not exceed %d",
                     MAX_ATTRIBUTES);
    number = json_int((int64_t)values, device->errors->arena);
    if (values > MAX_ATTRIBUTE_VALUES)
        spot_invalid(&whole, "the total number of attribute values must not exceed %d",
                     MAX_ATTRIBUTE_VALUES);
    check_named(&attributes, false, false);
    check_named(&capacity, true, json_bool_at(device->v, "allowMultipleAllocations", false));
    for (size_t i = 0; !spot_too_many(&taints, MAX_TAINTS) && i < spot_count(&taints); i++) {
        struct spot taint = spot_item(&taints, i);

        check_device_taint(&taint);
    }
    check_consumptions(&consumes);
    check_device_nodes(device, per_device);
    check_binding_conditions(device);
    check_mappings(device);
}

/* --- slices ----------------------------------------------------------------------------------- */

static bool advanced(const struct spot *devices)
{
    for (size_t i = 0; i < spot_count(devices); i++) {
        const struct json_value *device = &devices->v->items[i];
        struct json_members attributes = json_members_at(device, "attributes");

        if (json_items_at(device, "taints").n + json_items_at(device, "consumesCounters").n > 0)
            return true;
        for (size_t j = 0; j < attributes.n; j++)
            for (size_t k = 0; k < ARRAY_LEN(list_values); k++)
                if (json_get(&attributes.v[j].value, str_of(list_values[k])))
                    return true;
    }
    return false;
}

static void check_pool(const struct spot *spec)
{
    struct spot pool = spot_get(spec, "pool"), name = spot_text(&pool, "name");
    struct spot count = spot_number(&pool, "resourceSliceCount");
    struct spot generation = spot_number(&pool, "generation");

    check_pool_name(&name);
    if (spot_int(&count) <= 0)
        spot_invalid(&count, "must be greater than zero");
    if (spot_int(&generation) < 0)
        spot_invalid(&generation, "must be greater than or equal to zero");
}

static void check_slice_nodes(const struct spot *spec)
{
    static const char text[] = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, "
                               "`perDeviceNodeSelection` is required";
    struct placement p = {.names = BUF_INIT};
    struct spot selector = spot_get(spec, "nodeSelector");
    struct spot terms = spot_get(&selector, "nodeSelectorTerms");
    struct spot each = spot_get(spec, "perDeviceNodeSelection");

    check_placement(spec, &p, "must be either unset or set to a non-empty string");
    if (spot_has(&selector) && spot_count(&terms) != 1)
        spot_invalid(&terms, "must have exactly one node selector term");
    if (spot_has(&each) && spot_bool(&each, false))
        placed(&p, "perDeviceNodeSelection");
    else if (spot_has(&each))
        spot_invalid(&each, "must be either unset or set to true");
    if (p.n == 0)
        spot_required(spec, text);
    else if (p.n > 1)
        refuse_several(
            spec, &p, arena_printf(spec->errors->arena, "%s, but multiple fields are set", text).p);
    buf_release(&p.names);
}

static void check_counter_sets(const struct spot *sets)
{
    if (spot_too_many(sets, MAX_COUNTER_SETS))
        return;
    for (size_t i = 0; i < spot_count(sets); i++) {
        struct spot set = spot_item(sets, i), name = spot_text(&set, "name");
        struct spot counters = spot_get(&set, "counters");

        check_required_label(&name);
        check_counters(&counters);
    }
    check_duplicates(sets, "name");
}

static void validate(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot driver = spot_text(&spec, "driver"), devices = spot_get(&spec, "devices");
    struct spot sets = spot_get(&spec, "sharedCounters"), whole = spec;
    struct json_value none = json_text(STR(""));
    bool per_device = json_bool_at(spec.v, "perDeviceNodeSelection", false);

    check_driver_name(&driver);
    check_pool(&spec);
    check_slice_nodes(&spec);
    whole.v = &none;
    if (spot_has(&sets) && spot_has(&devices))
        spot_invalid(&whole, "only one of `sharedCounters` or `devices` is allowed");
    if (!spot_too_many(&devices, advanced(&devices) ? MAX_ADVANCED_DEVICES : MAX_DEVICES)) {
        for (size_t i = 0; i < spot_count(&devices); i++) {
            struct spot device = spot_item(&devices, i);

            check_device(&device, per_device);
        }
        check_duplicates(&devices, "name");
    }
    check_counter_sets(&sets);
}

static void validate_update(const struct json_value *object, const struct json_value *old,
                            struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot pool = spot_get(&spec, "pool");
    const struct json_value *before = json_get(old, STR("spec"));

    spot_check_same_text(&pool, json_get(before, STR("pool")), "name");
    spot_check_same_text(&spec, before, "driver");
    spot_check_same(&spec, before, "nodeName");
}

const struct strategy resource_slice_strategies[] = {
    {
        .group = STR_INIT("resource.k8s.io"),
        .plural = STR_INIT("resourceslices"),
        .set_defaults = set_defaults,
        .prepare_create = prepare_create,
        .validate = validate,
        .validate_update = validate_update,
        .generation = (const char *const[]){"spec", NULL},
        .fields = (const char *const[]){"spec.nodeName", "spec.driver", NULL},
        .no_status = true,
        .unconditional_update = true,
    },
    {.plural = STR_INIT("")},
};
