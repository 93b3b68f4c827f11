/* SPDX-License-Identifier: Apache-2.0 */
/* storage.k8s.io: CSIDrivers, CSINodes, CSIStorageCapacities and VolumeAttachments. */
#include "apiserver/strategies/device_checks.h"
#include "apiserver/strategies/resource_names.h"
#include "apiserver/strategies/strategies.h"

#define MAX_NODE_ID       256
#define MAX_METADATA      (256 << 10)
#define MAX_ERROR_MESSAGE 1024

/* --- drivers ---------------------------------------------------------------------------------- */

static void default_driver(struct json_value *object, struct arena *a)
{
    struct json_value *spec = json_set_object(object, STR("spec"), a), *modes;

    json_set_default(spec, STR("attachRequired"), json_bool(true), a);
    json_set_default(spec, STR("podInfoOnMount"), json_bool(false), a);
    json_set_default(spec, STR("storageCapacity"), json_bool(false), a);
    json_set_default(spec, STR("fsGroupPolicy"), json_text(STR("ReadWriteOnceWithFSType")), a);
    if (json_items_at(spec, "volumeLifecycleModes").n == 0) {
        modes = json_set_array(spec, STR("volumeLifecycleModes"), a);
        json_append(modes, json_text(STR("Persistent")), a);
    }
    json_set_default(spec, STR("requiresRepublish"), json_bool(false), a);
    json_set_default(spec, STR("seLinuxMount"), json_bool(false), a);
}

/* A member of a feature that upstream has switched off. */
static void prepare_new_driver(struct json_value *object, struct arena *a)
{
    json_remove(json_set_object(object, STR("spec"), a), STR("preventPodSchedulingIfMissing"));
}

static void prepare_changed_driver(struct json_value *object, const struct json_value *old,
                                   struct arena *a)
{
    if (!json_at(old, "spec.preventPodSchedulingIfMissing"))
        prepare_new_driver(object, a);
}

static void check_tokens(const struct spot *tokens)
{
    struct map audiences = MAP_INIT;

    for (size_t i = 0; i < spot_count(tokens); i++) {
        struct spot token = spot_item(tokens, i), audience = spot_text(&token, "audience");
        struct spot seconds = spot_get(&token, "expirationSeconds");

        if (map_put(&audiences, spot_str(&audience), tokens->errors)) {
            spot_duplicate(&audience);
            continue;
        }
        if (!spot_has(&seconds))
            continue;
        if (spot_int(&seconds) < 600)
            spot_invalid(&seconds, "may not specify a duration less than 10 minutes");
        if (spot_int(&seconds) > (int64_t)1 << 32)
            spot_invalid(&seconds, "may not specify a duration larger than 2^32 seconds");
    }
    map_release(&audiences);
}

static void check_required(const struct spot *spec, const char *member, const char *path)
{
    struct spot s = spot_get(spec, path);

    if (!json_get(spec->v, str_of(member)))
        spot_required(&s, "");
}

static void validate_driver(const struct json_value *object, struct field_errors *errors)
{
    static const char *const policies[] = {"File", "None", "ReadWriteOnceWithFSType", NULL};
    static const char *const modes[] = {"Persistent", "Ephemeral", NULL};
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot policy = spot_get(&spec, "fsGroupPolicy"),
                tokens = spot_get(&spec, "tokenRequests");
    struct spot list = spot_get(&spec, "volumeLifecycleModes");
    struct spot period = spot_get(&spec, "nodeAllocatableUpdatePeriodSeconds");
    struct spot secrets = spot_get(&spec, "serviceAccountTokenInSecrets");

    check_required(&spec, "attachRequired", "attachedRequired");
    check_required(&spec, "podInfoOnMount", "podInfoOnMount");
    check_required(&spec, "storageCapacity", "storageCapacity");
    if (spot_has(&policy))
        spot_check_one_of(&policy, policies);
    check_tokens(&tokens);
    for (size_t i = 0; i < spot_count(&list); i++) {
        struct spot mode = spot_item(&list, i);

        field_check_enum(errors, &list.path, spot_str(&mode), modes);
    }
    check_required(&spec, "seLinuxMount", "seLinuxMount");
    if (spot_has(&period) && spot_int(&period) < 10)
        spot_invalid(&period, "must be greater than or equal to 10 seconds");
    if (spot_has(&secrets) && spot_count(&tokens) == 0)
        spot_invalid(&secrets,
                     "serviceAccountTokenInSecrets is set but no tokenRequests are specified");
}

static void validate_driver_update(const struct json_value *object, const struct json_value *old,
                                   struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot attach = spot_get(&spec, "attachedRequired");

    attach.v = json_get(spec.v, STR("attachRequired"));
    spot_check_immutable(&attach, json_at(old, "spec.attachRequired"));
    spot_check_same(&spec, json_get(old, STR("spec")), "volumeLifecycleModes");
}

static void warn_driver(const struct json_value *object, struct buf *warnings, struct arena *a)
{
    (void)a;
    if (json_items_at(object, "spec.tokenRequests").n > 0 &&
        !json_at(object, "spec.serviceAccountTokenInSecrets"))
        buf_add_cstr(warnings,
                     "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, "
                     "set to true to prevent possible logging of tokens in volume attributes\n");
}

/* --- nodes ------------------------------------------------------------------------------------ */

static void check_node_driver(const struct spot *driver, struct map *names)
{
    struct spot name = spot_text(driver, "name"), id = spot_text(driver, "nodeID");
    struct spot allocatable = spot_get(driver, "allocatable");
    struct spot count = spot_get(&allocatable, "count"), keys = spot_get(driver, "topologyKeys");
    struct map seen = MAP_INIT;

    check_driver_name(&name);
    if (spot_empty(&id))
        spot_required(&id, "");
    if (spot_str(&id).n > MAX_NODE_ID)
        spot_invalid(&id, "must be %d characters or less", MAX_NODE_ID);
    spot_check_nonnegative(&count);
    if (map_put(names, spot_str(&name), driver->errors))
        spot_duplicate(&name);
    for (size_t i = 0; i < spot_count(&keys); i++) {
        struct spot key = *driver;

        key.v = &keys.v->items[i];
        if (spot_empty(&key))
            spot_required(driver, "");
        if (map_put(&seen, spot_str(&key), driver->errors))
            spot_duplicate(&key);
        spot_check_name(&key, NAME_QUALIFIED);
    }
    map_release(&seen);
}

static void validate_node(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot drivers = spot_get(&spec, "drivers");
    struct map names = MAP_INIT;

    for (size_t i = 0; i < spot_count(&drivers); i++) {
        struct spot driver = spot_item(&drivers, i);

        check_node_driver(&driver, &names);
    }
    map_release(&names);
}

/* A driver that stays keeps everything but its number of volumes. */
static void validate_node_update(const struct json_value *object, const struct json_value *old,
                                 struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot drivers = spot_get(&spec, "drivers"), shown = drivers;
    struct json_items before = json_items_at(old, "spec.drivers");
    struct map names = MAP_INIT;

    for (size_t i = 0; i < spot_count(&drivers); i++)
        map_put(&names, json_get_text(&drivers.v->items[i], STR("name")), &drivers.v->items[i]);
    for (size_t i = 0; i < before.n; i++) {
        const struct json_value *now = map_get(&names, json_get_text(&before.v[i], STR("name")));
        struct json_value mine, theirs;

        if (!now)
            continue;
        mine = json_copy(now, errors->arena);
        theirs = json_copy(&before.v[i], errors->arena);
        json_remove(&mine, STR("allocatable"));
        json_remove(&theirs, STR("allocatable"));
        shown.v = &mine;
        spot_check_immutable(&shown, &theirs);
    }
    map_release(&names);
}

/* --- capacities ------------------------------------------------------------------------------- */

static void validate_capacity(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), topology = spot_get(&root, "nodeTopology");
    struct spot class = spot_text(&root, "storageClassName"), size = spot_get(&root, "capacity");

    spot_check_selector(&topology);
    spot_check_name(&class, NAME_DNS_SUBDOMAIN);
    if (spot_has(&size))
        field_check_nonnegative_quantity(errors, &size.path, size.v);
}

static void validate_capacity_update(const struct json_value *object, const struct json_value *old,
                                     struct field_errors *errors)
{
    struct spot root = spot_root(object, errors);

    spot_check_same(&root, old, "nodeTopology");
    spot_check_same_text(&root, old, "storageClassName");
}

/* --- attachments ------------------------------------------------------------------------------ */

static void check_volume_error(const struct spot *status, const char *name)
{
    struct spot error = spot_get(status, name), message = spot_text(&error, "message");
    struct spot code = spot_get(&error, "errorCode");

    if (spot_str(&message).n > MAX_ERROR_MESSAGE)
        spot_too_long(&message, MAX_METADATA);
    if (spot_int(&code) < 0)
        spot_invalid(&code, "must be between 0 and %d, inclusive", INT32_MAX);
}

static void check_attachment_status(const struct spot *root)
{
    struct spot status = spot_get(root, "status");
    struct spot metadata = spot_get(&status, "attachmentMetadata");
    size_t size = 0;

    for (size_t i = 0; i < spot_count(&metadata); i++) {
        const struct json_member *m = &metadata.v->members[i];

        size += m->key.n + (m->value.kind == JSON_STRING ? m->value.text.n : 0);
    }
    if (size > MAX_METADATA)
        spot_too_long(&metadata, MAX_METADATA);
    check_volume_error(&status, "attachError");
    check_volume_error(&status, "detachError");
}

static void validate_attachment(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot attacher = spot_text(&spec, "attacher"), node = spot_text(&spec, "nodeName");
    struct spot source = spot_get(&spec, "source"), inline_ = spot_get(&source, "inlineVolumeSpec");
    struct spot volume = spot_get(&source, "persistentVolumeName");

    check_driver_name(&attacher);
    if (!spot_has(&inline_) && !spot_has(&volume))
        spot_required(&source,
                      "must specify exactly one of inlineVolumeSpec and persistentVolumeName");
    else if (spot_has(&inline_) && spot_has(&volume))
        spot_forbidden(&source,
                       "must specify exactly one of inlineVolumeSpec and persistentVolumeName");
    else if (spot_has(&volume) && spot_empty(&volume))
        spot_required(&volume, "must specify non empty persistentVolumeName");
    spot_check_name(&node, NAME_DNS_SUBDOMAIN);
    check_attachment_status(&root);
    if (spot_has(&volume))
        spot_check_name(&volume, NAME_DNS_SUBDOMAIN);
}

static void validate_attachment_update(const struct json_value *object,
                                       const struct json_value *old, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors);

    spot_check_same(&root, old, "spec");
}

static void validate_attachment_status(const struct json_value *object,
                                       const struct json_value *old, struct field_errors *errors)
{
    validate_attachment(object, errors);
    validate_attachment_update(object, old, errors);
}

const struct strategy csi_strategies[] = {
    {
        .group = STR_INIT("storage.k8s.io"),
        .plural = STR_INIT("csidrivers"),
        .set_defaults = default_driver,
        .prepare_create = prepare_new_driver,
        .prepare_update = prepare_changed_driver,
        .validate = validate_driver,
        .validate_update = validate_driver_update,
        .no_status = true,
        .warn = warn_driver,
    },
    {
        .group = STR_INIT("storage.k8s.io"),
        .plural = STR_INIT("csinodes"),
        .validate = validate_node,
        .validate_update = validate_node_update,
        .no_status = true,
    },
    {
        .group = STR_INIT("storage.k8s.io"),
        .plural = STR_INIT("csistoragecapacities"),
        .validate = validate_capacity,
        .validate_update = validate_capacity_update,
        .no_status = true,
    },
    {
        .group = STR_INIT("storage.k8s.io"),
        .plural = STR_INIT("volumeattachments"),
        .validate = validate_attachment,
        .validate_update = validate_attachment_update,
        .validate_status = validate_attachment_status,
    },
    {.plural = STR_INIT("")},
};
