/* SPDX-License-Identifier: Apache-2.0 */
/* resource.k8s.io: ResourceClaims and ResourceClaimTemplates. */
#include "apiserver/strategies/addresses.h"
#include "apiserver/strategies/conditions.h"
#include "apiserver/strategies/device_checks.h"
#include "apiserver/strategies/pod_internal.h"
#include "apiserver/strategies/pod_template.h"
#include "apiserver/strategies/strategies.h"

#define MAX_REQUESTS    32
#define MAX_CONSTRAINTS 32
#define MAX_CONFIG      32
#define MAX_FIRST       8
#define MAX_RESERVED    256
#define MAX_RESULTS     32
#define MAX_DATA        (10 << 10)
#define REQUEST_NAME_TEXT                                                                   \
    "must be the name of a request in the claim or the name of a request and a subrequest " \
    "separated by '/'"

/* --- defaults --------------------------------------------------------------------------------- */

static void default_request(struct json_value *request, struct arena *a)
{
    default_text(request, "allocationMode", "ExactCount", a);
    if (str_is(json_get_text(request, STR("allocationMode")), "ExactCount"))
        default_number(request, "count", 1, a);
}

static void default_spec(struct json_value *spec, struct arena *a)
{
    struct json_value *devices = json_member(spec, STR("devices"));
    struct json_value *requests = json_member(devices, STR("requests"));

    for (size_t i = 0; requests && requests->kind == JSON_ARRAY && i < requests->n; i++) {
        struct json_value *exactly = json_member(&requests->items[i], STR("exactly"));
        struct json_value *first = json_member(&requests->items[i], STR("firstAvailable"));

        if (exactly && exactly->kind == JSON_OBJECT)
            default_request(exactly, a);
        for (size_t j = 0; first && first->kind == JSON_ARRAY && j < first->n; j++)
            default_request(&first->items[j], a);
    }
}

static void default_claim(struct json_value *object, struct arena *a)
{
    default_spec(json_set_object(object, STR("spec"), a), a);
}

static void default_template(struct json_value *object, struct arena *a)
{
    struct json_value *spec = json_set_object(object, STR("spec"), a);

    default_spec(json_set_object(spec, STR("spec"), a), a);
}

/* --- requests --------------------------------------------------------------------------------- */

/* Names of requests, and "REQUEST/SUBREQUEST". */
static void gather_names(const struct json_value *spec, struct map *names, struct arena *a)
{
    struct json_items requests = json_items_at(spec, "devices.requests");

    for (size_t i = 0; i < requests.n; i++) {
        struct str name = json_get_text(&requests.v[i], STR("name"));
        struct json_items first = json_items_at(&requests.v[i], "firstAvailable");

        map_put(names, name, a);
        for (size_t j = 0; j < first.n; j++)
            map_put(names,
                    arena_printf(a, "%.*s/%.*s", STR_ARG(name),
                                 STR_ARG(json_get_text(&first.v[j], STR("name")))),
                    a);
    }
}

static void check_name_ref(const struct spot *ref, const struct map *names)
{
    struct str text = spot_str(ref), rest = text, part;
    size_t slash = str_find(text, '/');
    struct json_value shown;
    struct spot segment = *ref;

    if (slash < text.n && str_find(str_slice(text, slash + 1, text.n), '/') < text.n - slash - 1) {
        spot_invalid(ref, REQUEST_NAME_TEXT);
        return;
    }
    segment.v = &shown;
    if (str_empty(text)) {
        shown = json_text(STR(""));
        spot_check_name(&segment, NAME_DNS_LABEL);
    }
    while (!str_empty(text) && str_split(&rest, '/', &part)) {
        shown = json_text(part);
        spot_check_name(&segment, NAME_DNS_LABEL);
    }
    if (!map_get(names, text))
        spot_invalid(ref, REQUEST_NAME_TEXT);
}

static void check_name_refs(const struct spot *parent, const struct map *names)
{
    struct spot list = spot_get(parent, "requests");

    if (spot_too_many(&list, MAX_REQUESTS))
        return;
    for (size_t i = 0; i < spot_count(&list); i++) {
        struct spot ref = spot_item(&list, i);

        check_name_ref(&ref, names);
    }
    check_duplicates(&list, NULL);
}

static void check_mode(const struct spot *request)
{
    static const char *const modes[] = {"All", "ExactCount", NULL};
    struct spot mode = spot_text(request, "allocationMode");
    struct spot count = spot_number(request, "count");

    if (!spot_check_one_of(&mode, modes))
        return;
    if (spot_is(&mode, "All") && spot_int(&count) != 0)
        spot_invalid(&count, "must not be specified when allocationMode is 'All'");
    else if (spot_is(&mode, "ExactCount") && spot_int(&count) <= 0)
        spot_invalid(&count, "must be greater than zero");
}

static void check_device_request(const struct spot *request, struct device_cel *cel)
{
    struct spot class = spot_text(request, "deviceClassName");
    struct spot selectors = spot_get(request, "selectors");
    struct spot tolerations = spot_get(request, "tolerations");

    if (spot_empty(&class))
        spot_required(&class, "");
    else
        spot_check_name(&class, NAME_DNS_SUBDOMAIN);
    check_selectors(&selectors, cel);
    check_mode(request);
    for (size_t i = 0; i < spot_count(&tolerations); i++) {
        struct spot toleration = spot_item(&tolerations, i);

        check_device_toleration(&toleration);
    }
}

static void check_request(const struct spot *request, struct device_cel *cel)
{
    struct spot name = spot_text(request, "name"), exactly = spot_get(request, "exactly");
    struct spot first = spot_get(request, "firstAvailable"), none = *request;

    spot_check_name(&name, NAME_DNS_LABEL);
    none.v = NULL;
    if (spot_count(&first) == 0 && !spot_has(&exactly)) {
        spot_required(request, "exactly one of `exactly` or `firstAvailable` is required");
    } else if (spot_count(&first) > 0 && spot_has(&exactly)) {
        spot_invalid(&none, "exactly one of `exactly` or `firstAvailable` is required, but "
                            "multiple fields are set");
    } else if (spot_has(&exactly)) {
        check_device_request(&exactly, cel);
    } else if (!spot_too_many(&first, MAX_FIRST)) {
        for (size_t i = 0; i < spot_count(&first); i++) {
            struct spot part = spot_item(&first, i), label = spot_text(&part, "name");

            spot_check_name(&label, NAME_DNS_LABEL);
            check_device_request(&part, cel);
        }
        check_duplicates(&first, "name");
    }
}

static void check_constraint(const struct spot *constraint, const struct map *names)
{
    struct spot match = spot_get(constraint, "matchAttribute");
    struct spot distinct = spot_get(constraint, "distinctAttribute");

    check_name_refs(constraint, names);
    if (spot_has(&match))
        check_attribute_name(&match, true);
    else if (spot_has(&distinct))
        check_attribute_name(&distinct, true);
    else
        spot_required(constraint, "exactly one of \"matchAttribute\" or \"distinctAttribute\" is "
                                  "required, but multiple fields are set");
}

static void check_spec(const struct spot *spec)
{
    struct spot devices = spot_get(spec, "devices"), requests = spot_get(&devices, "requests");
    struct spot constraints = spot_get(&devices, "constraints");
    struct spot configs = spot_get(&devices, "config");
    struct device_cel cel = {0};
    struct map names = MAP_INIT;

    gather_names(spec->v, &names, spec->errors->arena);
    if (!spot_too_many(&requests, MAX_REQUESTS)) {
        for (size_t i = 0; i < spot_count(&requests); i++) {
            struct spot request = spot_item(&requests, i);

            check_request(&request, &cel);
        }
        check_duplicates(&requests, "name");
    }
    device_cel_release(&cel);
    for (size_t i = 0;
         !spot_too_many(&constraints, MAX_CONSTRAINTS) && i < spot_count(&constraints); i++) {
        struct spot constraint = spot_item(&constraints, i);

        check_constraint(&constraint, &names);
    }
    for (size_t i = 0; !spot_too_many(&configs, MAX_CONFIG) && i < spot_count(&configs); i++) {
        struct spot config = spot_item(&configs, i);

        check_name_refs(&config, &names);
        check_configuration(&config);
    }
    map_release(&names);
}

/* --- claims ----------------------------------------------------------------------------------- */

static void validate_claim(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");

    /* The spec does not change: it was checked when it was new. */
    if (str_empty(json_text_at(object, "metadata.resourceVersion")))
        check_spec(&spec);
}

static void validate_claim_update(const struct json_value *object, const struct json_value *old,
                                  struct field_errors *errors)
{
    struct spot root = spot_root(object, errors);

    spot_check_same(&root, old, "spec");
}

static void validate_template(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot metadata = spot_get(&spec, "metadata"), claim = spot_get(&spec, "spec");
    struct spot labels = spot_get(&metadata, "labels");
    struct spot annotations = spot_get(&metadata, "annotations");

    field_check_annotations(errors, &annotations.path, annotations.v);
    field_check_labels(errors, &labels.path, labels.v);
    check_spec(&claim);
}

/* --- status ----------------------------------------------------------------------------------- */

/* DRIVER/POOL/DEVICE[/SHARE], as upstream's SharedDeviceID is shown. */
static struct str device_key(const struct json_value *device, struct arena *a)
{
    struct str share = json_get_text(device, STR("shareID"));
    struct str driver = json_get_text(device, STR("driver"));
    struct str pool = json_get_text(device, STR("pool"));
    struct str name = json_get_text(device, STR("device"));

    return arena_printf(a, "%.*s/%.*s/%.*s%s%.*s", STR_ARG(driver), STR_ARG(pool), STR_ARG(name),
                        str_empty(share) ? "" : "/", STR_ARG(share));
}

static void check_reserved(const struct spot *status, const struct json_value *old, bool deleted)
{
    struct spot list = spot_get(status, "reservedFor"), allocation = spot_get(status, "allocation");
    struct json_items before = json_items_at(old, "status.reservedFor");
    static const char *const members[] = {"resource", "name", "uid"};
    struct map known = MAP_INIT;
    bool added = false;

    if (!spot_too_many(&list, MAX_RESERVED)) {
        for (size_t i = 0; i < spot_count(&list); i++) {
            struct spot ref = spot_item(&list, i);

            for (size_t j = 0; j < ARRAY_LEN(members); j++) {
                struct spot member = spot_text(&ref, members[j]);

                if (spot_empty(&member))
                    spot_required(&member, "");
            }
        }
        check_duplicates(&list, "uid");
    }
    for (size_t i = 0; i < before.n; i++)
        map_put(&known, json_get_text(&before.v[i], STR("uid")), status->errors);
    for (size_t i = 0; i < spot_count(&list); i++)
        added = added || !map_get(&known, json_get_text(&list.v->items[i], STR("uid")));
    map_release(&known);
    if (spot_count(&list) > 0 && !spot_has(&allocation))
        spot_forbidden(&list, "may not be specified when `allocated` is not set");
    else if (deleted && added)
        spot_forbidden(&list, "new entries may not be added while `deallocationRequested` or "
                              "`deletionTimestamp` are set");
}

static void check_network(const struct spot *device)
{
    struct spot data = spot_get(device, "networkData"), ips = spot_get(&data, "ips");
    struct spot name = spot_text(&data, "interfaceName");
    struct spot hardware = spot_text(&data, "hardwareAddress");

    if (spot_str(&name).n > 256)
        spot_too_long(&name, 256);
    if (spot_str(&hardware).n > 128)
        spot_too_long(&hardware, 128);
    if (spot_too_many(&ips, 16))
        return;
    for (size_t i = 0; i < spot_count(&ips); i++) {
        struct spot ip = spot_item(&ips, i);

        field_check_interface_address(device->errors, &ip.path, spot_str(&ip));
    }
    check_duplicates(&ips, NULL);
}

static void check_device_status(const struct spot *device, const struct map *allocated)
{
    struct arena *a = device->errors->arena;
    struct spot driver = spot_text(device, "driver"), pool = spot_text(device, "pool");
    struct spot name = spot_text(device, "device"), share = spot_get(device, "shareID");
    struct spot conditions = spot_get(device, "conditions"), data = spot_get(device, "data");
    struct json_value key = json_text(device_key(device->v, a));
    struct spot shown = *device;

    check_driver_name(&driver);
    check_pool_name(&pool);
    spot_check_name(&name, NAME_DNS_LABEL);
    if (spot_has(&share))
        check_share_id(&share);
    shown.v = &key;
    if (!map_get(allocated, key.text))
        spot_invalid(&shown, "must be an allocated device in the claim");
    spot_too_many(&conditions, 8);
    conditions_validate(&conditions);
    if (spot_has(&data))
        check_raw(&data, MAX_DATA);
    check_network(device);
}

static void check_devices(const struct spot *status)
{
    struct arena *a = status->errors->arena;
    struct spot devices = spot_get(status, "devices");
    struct json_items results = json_items_at(status->v, "allocation.devices.results");
    struct map allocated = MAP_INIT, seen = MAP_INIT;

    for (size_t i = 0; i < results.n; i++)
        map_put(&allocated, device_key(&results.v[i], a), a);
    for (size_t i = 0; i < spot_count(&devices); i++) {
        struct spot device = spot_item(&devices, i);

        check_device_status(&device, &allocated);
    }
    for (size_t i = 0; i < spot_count(&devices); i++) {
        struct spot device = spot_item(&devices, i);
        struct json_value key = json_text(device_key(device.v, a));

        device.v = &key;
        if (map_put(&seen, key.text, a))
            spot_duplicate(&device);
    }
    map_release(&allocated);
    map_release(&seen);
}

static void check_result(const struct spot *result, const struct map *names)
{
    struct spot request = spot_text(result, "request"), driver = spot_text(result, "driver");
    struct spot pool = spot_text(result, "pool"), device = spot_text(result, "device");
    struct spot share = spot_get(result, "shareID");

    check_name_ref(&request, names);
    check_driver_name(&driver);
    check_pool_name(&pool);
    spot_check_name(&device, NAME_DNS_LABEL);
    check_binding_conditions(result);
    if (spot_has(&share))
        check_share_id(&share);
}

static void check_allocation(const struct spot *allocation, const struct map *names)
{
    static const char *const sources[] = {"FromClaim", "FromClass", NULL};
    struct spot devices = spot_get(allocation, "devices"), results = spot_get(&devices, "results");
    struct spot configs = spot_get(&devices, "config");
    struct spot selector = spot_get(allocation, "nodeSelector");

    for (size_t i = 0; !spot_too_many(&results, MAX_RESULTS) && i < spot_count(&results); i++) {
        struct spot result = spot_item(&results, i);

        check_result(&result, names);
    }
    for (size_t i = 0; !spot_too_many(&configs, 2 * MAX_CONFIG) && i < spot_count(&configs); i++) {
        struct spot config = spot_item(&configs, i), source = spot_text(&config, "source");

        if (spot_empty(&source))
            spot_required(&source, "");
        else
            spot_check_one_of(&source, sources);
        check_name_refs(&config, names);
        check_configuration(&config);
    }
    if (spot_has(&selector))
        node_selector_validate(selector.v, &selector.path, allocation->errors);
}

static void validate_status(const struct json_value *object, const struct json_value *old,
                            struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), status = spot_get(&root, "status");
    struct spot allocation = spot_get(&status, "allocation");
    const struct json_value *before = json_at(old, "status.allocation");
    struct map names = MAP_INIT;

    gather_names(json_get(object, STR("spec")), &names, errors->arena);
    check_reserved(&status, old, json_at(object, "metadata.deletionTimestamp") != NULL);
    check_devices(&status);
    if (before && spot_has(&allocation))
        spot_check_immutable(&allocation, before);
    else if (spot_has(&allocation))
        check_allocation(&allocation, &names);
    map_release(&names);
}

const struct strategy resource_claim_strategies[] = {
    {
        .group = STR_INIT("resource.k8s.io"),
        .plural = STR_INIT("resourceclaims"),
        .set_defaults = default_claim,
        .validate = validate_claim,
        .validate_update = validate_claim_update,
        .validate_status = validate_status,
        .unconditional_update = true,
    },
    {
        .group = STR_INIT("resource.k8s.io"),
        .plural = STR_INIT("resourceclaimtemplates"),
        .set_defaults = default_template,
        .validate = validate_template,
        .validate_update = validate_claim_update,
        .no_status = true,
        .unconditional_update = true,
    },
    {.plural = STR_INIT("")},
};
