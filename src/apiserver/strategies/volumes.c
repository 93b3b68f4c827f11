/* SPDX-License-Identifier: Apache-2.0 */
/* PersistentVolumes and PersistentVolumeClaims. */
#include "apiserver/strategies/diff.h"
#include "apiserver/strategies/internal_form.h"
#include "apiserver/strategies/pod_internal.h"
#include "apiserver/strategies/resource_names.h"
#include "apiserver/strategies/strategies.h"
#include "apiserver/strategies/volume_sources.h"
#include "apiserver/types/amounts.h"

#define BETA_CLASS "volume.beta.kubernetes.io/storage-class"

static const char *const volume_modes[] = {"Block", "Filesystem", NULL};

static void check_access_modes(const struct json_value *spec, const char *missing,
                               const struct field_path *path, struct field_errors *errors)
{
    static const char *const modes[] = {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce",
                                        "ReadWriteOncePod", NULL};
    struct json_items list = json_items_at(spec, "accessModes");
    struct field_path at = field_child(path, "accessModes");
    bool once = false, other = false;

    if (list.n == 0 && missing)
        field_error(errors, FIELD_REQUIRED, &at, NULL, "%s", missing);
    for (size_t i = 0; i < list.n; i++) {
        bool known = field_check_enum(errors, &at, list.v[i].text, modes);
        bool pod = str_is(list.v[i].text, "ReadWriteOncePod");

        once |= pod;
        other |= known && !pod;
    }
    if (once && other)
        field_error(errors, FIELD_FORBIDDEN, &at, NULL,
                    "may not use ReadWriteOncePod with other access modes");
}

static void check_positive(const struct json_value *value, const struct field_path *path,
                           struct field_errors *errors)
{
    struct quantity q = quantity_at(value, errors->arena);
    struct json_value text = json_text(quantity_text(&q, errors->arena));

    if (quantity_sign(&q) <= 0)
        field_error(errors, FIELD_INVALID, path, &text, "must be greater than zero");
}

/* --- claims ----------------------------------------------------------------------------------- */

static void check_data_source(const struct json_value *source, const struct field_path *path,
                              struct field_errors *errors)
{
    struct json_value kind = field_text(source, "kind");
    struct str group = json_get_text(source, STR("apiGroup"));
    struct str namespace = json_get_text(source, STR("namespace"));
    struct field_path group_path = field_child(path, "apiGroup");
    struct field_path namespace_path = field_child(path, "namespace");

    if (str_empty(json_get_text(source, STR("name"))))
        field_required(errors, path, "name");
    if (str_empty(kind.text))
        field_required(errors, path, "kind");
    if (str_empty(group) && !str_is(kind.text, "PersistentVolumeClaim"))
        field_error(errors, FIELD_INVALID, path, &kind,
                    "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
    if (!str_empty(group))
        field_check_name(errors, &group_path, group, NAME_DNS_SUBDOMAIN);
    if (!str_empty(namespace))
        field_check_name(errors, &namespace_path, namespace, NAME_DNS_LABEL);
}

static void check_data_sources(const struct json_value *spec, const struct field_path *path,
                               struct field_errors *errors)
{
    const struct json_value *source = json_get(spec, STR("dataSource"));
    const struct json_value *ref = json_get(spec, STR("dataSourceRef"));
    struct field_path source_path = field_child(path, "dataSource");
    struct field_path ref_path = field_child(path, "dataSourceRef");
    static const char *const members[] = {"apiGroup", "kind", "name"};
    struct json_value shown = json_object();
    bool equal = true;

    if (source)
        check_data_source(source, &source_path, errors);
    if (ref)
        check_data_source(ref, &ref_path, errors);
    if (!source || !ref)
        return;
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        equal = equal && field_equal(json_get(source, str_of(members[i])),
                                     json_get(ref, str_of(members[i])));
    if (!str_empty(json_get_text(ref, STR("namespace"))))
        field_error(errors, FIELD_INVALID, path, &shown,
                    "may not be specified when dataSourceRef.namespace is specified");
    else if (!equal)
        field_error(errors, FIELD_INVALID, path, &shown, "must match dataSourceRef");
}

void claim_spec_validate(const struct json_value *spec, const struct field_path *path,
                         struct field_errors *errors)
{
    static const char *const classes[] = {"storageClassName", "volumeAttributesClassName"};
    const struct json_value *storage =
        json_get(json_at(spec, "resources.requests"), STR("storage"));
    const struct json_value *mode = json_get(spec, STR("volumeMode"));
    struct field_path selector = field_child(path, "selector");
    struct field_path resources = field_child(path, "resources");
    struct field_path at = field_key(&resources, STR("storage"));
    struct field_path mode_path = field_child(path, "volumeMode");

    if (json_items_at(spec, "accessModes").n == 0)
        field_error_at(errors, FIELD_REQUIRED, path, "accessModes", NULL,
                       "at least 1 access mode is required");
    field_check_label_selector(errors, &selector, json_get(spec, STR("selector")));
    check_access_modes(spec, NULL, path, errors);
    if (!storage)
        field_error(errors, FIELD_REQUIRED, &at, NULL, "%s", "");
    else
        check_positive(storage, &at, errors);
    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        struct field_path class = field_child(path, classes[i]);
        struct str name = json_get_text(spec, str_of(classes[i]));

        if (i == 1) {
            if (mode)
                field_check_enum(errors, &mode_path, mode->text, volume_modes);
            check_data_sources(spec, path, errors);
        }
        if (!str_empty(name))
            field_check_name(errors, &class, name, NAME_DNS_SUBDOMAIN);
    }
}

static void default_claim(struct json_value *object, struct arena *a)
{
    struct json_value *spec = json_set_object(object, STR("spec"), a);
    struct json_value *status;

    claim_spec_set_defaults(spec, a);
    status = json_set_object(object, STR("status"), a);
    default_text(status, "phase", "Pending", a);
    resource_list_set_defaults(json_member(status, STR("capacity")), a);
}

/* Each of the two references is set from the other. */
static void normalize_sources(struct json_value *spec, struct arena *a)
{
    static const char *const members[] = {"apiGroup", "kind", "name"};
    const struct json_value *source = json_get(spec, STR("dataSource"));
    const struct json_value *ref = json_get(spec, STR("dataSourceRef"));
    const struct json_value *from = source ? source : ref;
    struct json_value copy = json_object();

    if (!ref && source && !str_is(json_get_text(source, STR("kind")), "PersistentVolumeClaim") &&
        !(str_is(json_get_text(source, STR("kind")), "VolumeSnapshot") &&
          str_is(json_get_text(source, STR("apiGroup")), "snapshot.storage.k8s.io"))) {
        json_remove(spec, STR("dataSource"));
        return;
    }
    if ((source != NULL) == (ref != NULL) ||
        (ref && !str_empty(json_get_text(ref, STR("namespace")))))
        return;
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (json_get(from, str_of(members[i])))
            json_set(&copy, str_of(members[i]), *json_get(from, str_of(members[i])), a);
    json_set(spec, source ? STR("dataSourceRef") : STR("dataSource"), copy, a);
}

static void prepare_claim(struct json_value *object, struct arena *a)
{
    struct json_value status = json_object();

    normalize_sources(json_set_object(object, STR("spec"), a), a);
    json_set(&status, STR("phase"), json_text(STR("Pending")), a);
    json_set(object, STR("status"), status, a);
}

static void prepare_claim_update(struct json_value *object, const struct json_value *old,
                                 struct arena *a)
{
    const struct json_value *status = json_get(old, STR("status"));

    normalize_sources(json_set_object(object, STR("spec"), a), a);
    if (status)
        json_set(object, STR("status"), *status, a);
    else
        json_remove(object, STR("status"));
}

static void validate_claim(const struct json_value *object, struct field_errors *errors)
{
    struct field_path path = field_child(NULL, "spec");

    claim_spec_validate(json_get(object, STR("spec")), &path, errors);
}

/* The new spec with what may change as it was. */
static struct json_value masked_spec(const struct json_value *object, const struct json_value *old,
                                     struct arena *a)
{
    struct json_value spec = json_copy(json_get(object, STR("spec")), a);
    const struct json_value *was = json_get(old, STR("spec"));
    const struct json_value *storage = json_get(json_at(was, "resources.requests"), STR("storage"));
    const struct json_value *class = json_get(was, STR("volumeAttributesClassName"));
    bool bound = str_is(json_text_at(object, "status.phase"), "Bound");

    if (str_empty(json_get_text(was, STR("volumeName"))))
        json_remove(&spec, STR("volumeName"));
    if (!json_get(was, STR("storageClassName")))
        json_remove(&spec, STR("storageClassName"));
    if (!bound)
        return spec;
    if (storage && json_at(&spec, "resources.requests"))
        json_set_at(&spec, "resources.requests.storage", *storage, a);
    if (class)
        json_set(&spec, STR("volumeAttributesClassName"), *class, a);
    else
        json_remove(&spec, STR("volumeAttributesClassName"));
    return spec;
}

static void validate_claim_update(const struct json_value *object, const struct json_value *old,
                                  struct field_errors *errors)
{
    struct arena *a = errors->arena;
    struct json_value spec = masked_spec(object, old, a);
    const struct json_value *was = json_get(old, STR("spec"));
    const struct json_value *new_size =
        json_get(json_at(object, "spec.resources.requests"), STR("storage"));
    const struct json_value *old_size =
        json_get(json_at(was, "resources.requests"), STR("storage"));
    struct quantity now = quantity_at(new_size, a), before = quantity_at(old_size, a);
    struct quantity have =
        quantity_at(json_get(json_at(old, "status.capacity"), STR("storage")), a);
    struct field_path path = field_child(NULL, "spec"), mode = field_child(NULL, "volumeMode");
    struct field_path resources = field_child(&path, "resources");
    struct field_path requests = field_child(&resources, "requests");

    if (!field_equal(&spec, was))
        field_error(errors, FIELD_FORBIDDEN, &path, NULL,
                    "spec is immutable after creation except resources.requests and "
                    "volumeAttributesClassName for bound claims\n%.*s",
                    STR_ARG(json_diff(was, &spec, a)));
    if (quantity_cmp(&now, &before) < 0 && quantity_cmp(&now, &have) <= 0)
        field_error_at(errors, FIELD_FORBIDDEN, &requests, "storage", NULL,
                       "field can not be less than status.capacity");
    field_check_immutable(errors, &mode, json_at(object, "spec.volumeMode"),
                          json_get(was, STR("volumeMode")));
}

static void validate_claim_status(const struct json_value *object, const struct json_value *old,
                                  struct field_errors *errors)
{
    struct json_members capacity = json_members_at(object, "status.capacity");
    struct field_path status = field_child(NULL, "status");
    struct field_path path = field_child(&status, "capacity");

    (void)old;
    for (size_t i = 0; i < capacity.n; i++) {
        struct field_path at = field_key(&path, capacity.v[i].key);
        struct quantity q = quantity_at(&capacity.v[i].value, errors->arena);
        struct json_value value = json_int(quantity_value(&q), errors->arena);

        if (quantity_value(&q) < 0)
            field_error(errors, FIELD_INVALID, &at, &value, "must be a valid resource quantity");
    }
}

#define CLASS_TEXT "deprecated since v1.8; use \"storageClassName\" attribute instead"

static void warn_claim(const struct json_value *object, struct buf *warnings, struct arena *a)
{
    static const char *const lists[] = {"requests", "limits"};
    const struct json_value *resources = json_at(object, "spec.resources");

    if (json_get(json_at(object, "metadata.annotations"), STR(BETA_CLASS)))
        buf_add_cstr(warnings, "metadata.annotations[" BETA_CLASS "]: " CLASS_TEXT "\n");
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct quantity q =
            quantity_at(json_get(json_get(resources, str_of(lists[i])), STR("storage")), a);

        if (quantity_milli_value(&q) % 1000 != 0)
            buf_add_printf(warnings,
                           "spec.resources.%s[storage]: fractional byte value \"%.*s\" is invalid, "
                           "must be an integer\n",
                           lists[i], STR_ARG(quantity_text(&q, a)));
    }
}

/* --- volumes ---------------------------------------------------------------------------------- */

static void default_volume(struct json_value *object, struct arena *a)
{
    struct json_value *spec = json_set_object(object, STR("spec"), a);

    resource_list_set_defaults(json_member(spec, STR("capacity")), a);
    volume_source_set_defaults(spec, a);
    default_text(spec, "persistentVolumeReclaimPolicy", "Retain", a);
    json_set_default(spec, STR("volumeMode"), json_text(STR("Filesystem")), a);
    default_text(json_set_object(object, STR("status"), a), "phase", "Pending", a);
}

static void prepare_volume(struct json_value *object, struct arena *a)
{
    const struct json_value *now = json_at(object, "metadata.creationTimestamp");
    struct json_value status = json_object();

    json_set(&status, STR("phase"), json_text(STR("Pending")), a);
    if (now)
        json_set(&status, STR("lastPhaseTransitionTime"), *now, a);
    json_set(object, STR("status"), status, a);
}

/* In upstream's order. */
static const char *const sources[] = {
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
};

static void check_secret_ref(const struct json_value *ref, const struct field_path *path,
                             struct field_errors *errors)
{
    struct field_path name = field_child(path, "name"), in = field_child(path, "namespace");

    if (str_empty(json_get_text(ref, STR("name"))))
        field_error(errors, FIELD_REQUIRED, &name, NULL, "%s", "");
    else
        field_check_name(errors, &name, json_get_text(ref, STR("name")), NAME_DNS_SUBDOMAIN);
    if (str_empty(json_get_text(ref, STR("namespace"))))
        field_error(errors, FIELD_REQUIRED, &in, NULL, "%s", "");
    else
        field_check_name(errors, &in, json_get_text(ref, STR("namespace")), NAME_DNS_LABEL);
}

static void check_csi(const struct json_value *csi, const struct field_path *path,
                      struct field_errors *errors)
{
    static const char *const refs[] = {"controllerPublishSecretRef", "controllerExpandSecretRef",
                                       "nodePublishSecretRef", "nodeExpandSecretRef"};
    struct field_path driver = field_child(path, "driver");

    csi_driver_name_validate(json_get_text(csi, STR("driver")), &driver, errors);
    if (str_empty(json_get_text(csi, STR("volumeHandle"))))
        field_required(errors, path, "volumeHandle");
    for (size_t i = 0; i < ARRAY_LEN(refs); i++) {
        const struct json_value *ref = json_get(csi, str_of(refs[i]));
        struct field_path at = field_child(path, refs[i]);

        if (ref)
            check_secret_ref(ref, &at, errors);
    }
}

static void check_local(const struct json_value *local, bool affinity,
                        const struct field_path *path, struct field_errors *errors)
{
    struct str text = json_get_text(local, STR("path"));
    struct field_path at = field_child(path, "path");

    if (str_empty(text))
        field_error(errors, FIELD_REQUIRED, &at, NULL, "%s", "");
    else
        field_check_no_backsteps(errors, &at, text);
    if (!affinity)
        field_error_at(errors, FIELD_REQUIRED, path->parent, "nodeAffinity", NULL,
                       "Local volume requires node affinity");
}

static void check_sources(const struct json_value *spec, bool affinity,
                          const struct field_path *path, struct field_errors *errors)
{
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
        const struct json_value *source = json_get(spec, str_of(sources[i]));
        struct field_path at = field_child(path, sources[i]);

        if (!source)
            continue;
        if (n++ > 0)
            field_error(errors, FIELD_FORBIDDEN, &at, NULL,
                        "may not specify more than 1 volume type");
        else if (strcmp(sources[i], "csi") == 0)
            check_csi(source, &at, errors);
        else if (strcmp(sources[i], "local") == 0)
            check_local(source, affinity, &at, errors);
        else
            volume_source_validate(sources[i], source, &at, errors);
    }
    if (n == 0)
        field_error(errors, FIELD_REQUIRED, path, NULL, "must specify a volume type");
}

static void check_capacity(const struct json_value *spec, const struct field_path *parent,
                           struct field_errors *errors)
{
    static const char *const supported[] = {"storage", NULL};
    struct json_members capacity = json_members_at(spec, "capacity");
    struct field_path path = field_child(parent, "capacity");

    if (capacity.n == 0)
        field_error(errors, FIELD_REQUIRED, &path, NULL, "%s", "");
    if (!json_get(json_get(spec, STR("capacity")), STR("storage")) || capacity.n > 1) {
        struct json_value list = internal_map(json_get(spec, STR("capacity")), errors->arena);

        field_not_supported(errors, &path, &list, supported);
    }
    for (size_t i = 0; i < capacity.n; i++) {
        struct field_path at = field_key(&path, capacity.v[i].key);
        struct quantity q = quantity_at(&capacity.v[i].value, errors->arena);
        struct json_value value = json_int(quantity_value(&q), errors->arena);

        if (quantity_value(&q) < 0)
            field_error(errors, FIELD_INVALID, &at, &value, "must be a valid resource quantity");
        check_positive(&capacity.v[i].value, &at, errors);
    }
}

static void check_volume_affinity(const struct json_value *spec, const struct field_path *parent,
                                  struct field_errors *errors)
{
    const struct json_value *affinity = json_get(spec, STR("nodeAffinity"));
    const struct json_value *required = json_get(affinity, STR("required"));
    struct field_path path = field_child(parent, "nodeAffinity");
    struct field_path at = field_child(&path, "required");

    if (affinity && !required)
        field_error(errors, FIELD_REQUIRED, &at, NULL, "must specify required node constraints");
    else if (required)
        node_selector_validate(required, &at, errors);
}

static void validate_volume(const struct json_value *object, struct field_errors *errors)
{
    static const char *const policies[] = {"Delete", "Recycle", "Retain", NULL};
    const struct json_value *spec = json_get(object, STR("spec"));
    struct field_path path = field_child(NULL, "spec");
    struct field_path policy = field_child(&path, "persistentVolumeReclaimPolicy");
    struct field_path class = field_child(&path, "storageClassName");
    struct field_path mode = field_child(&path, "volumeMode");
    struct str reclaim = json_get_text(spec, STR("persistentVolumeReclaimPolicy"));
    struct str class_name = json_get_text(spec, STR("storageClassName"));

    check_access_modes(spec, "", &path, errors);
    check_capacity(spec, &path, errors);
    if (!str_empty(reclaim))
        field_check_enum(errors, &policy, reclaim, policies);
    check_volume_affinity(spec, &path, errors);
    check_sources(spec, json_at(spec, "nodeAffinity.required") != NULL, &path, errors);
    if (str_is(json_text_at(spec, "hostPath.path"), "/") && str_is(reclaim, "Recycle"))
        field_error(errors, FIELD_FORBIDDEN, &policy, NULL,
                    "may not be 'recycle' for a hostPath mount of '/'");
    if (!str_empty(class_name))
        field_check_name(errors, &class, class_name, NAME_DNS_SUBDOMAIN);
    field_check_enum(errors, &mode, json_get_text(spec, STR("volumeMode")), volume_modes);
}

static struct json_value only_sources(const struct json_value *spec, struct arena *a)
{
    struct json_value out = json_object();

    for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
        const struct json_value *source = json_get(spec, str_of(sources[i]));

        if (source)
            json_set(&out, str_of(sources[i]), *source, a);
    }
    return out;
}

/* The label that replaces one of a beta; "" if none does. */
static struct str stable_label(struct str key)
{
    static const char *const labels[][2] = {
        {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
        {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
        {"beta.kubernetes.io/os", "kubernetes.io/os"},
        {"beta.kubernetes.io/arch", "kubernetes.io/arch"},
        {"beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"},
    };

    for (size_t i = 0; i < ARRAY_LEN(labels); i++)
        if (str_is(key, labels[i][0]))
            return str_of(labels[i][1]);
    return STR("");
}

/* Equal, but for labels of betas that became stable. As upstream, a key may also become empty. */
static bool affinity_kept(const struct json_value *now, const struct json_value *old,
                          struct arena *a)
{
    struct json_value copy = now ? json_copy(now, a) : json_object();
    struct json_value *terms = array_at(json_member(&copy, STR("required")), "nodeSelectorTerms");
    struct json_items before = json_items_at(old, "required.nodeSelectorTerms");

    for (size_t i = 0; terms && i < terms->n && i < before.n; i++) {
        struct json_value *list = array_at(&terms->items[i], "matchExpressions");
        struct json_items was = json_items_at(&before.v[i], "matchExpressions");

        for (size_t j = 0; list && j < list->n && j < was.n; j++) {
            struct str key = json_get_text(&was.v[j], STR("key"));

            if (str_eq(json_get_text(&list->items[j], STR("key")), stable_label(key)))
                json_set(&list->items[j], STR("key"), json_text(key), a);
        }
    }
    return now && field_equal(&copy, old);
}

static void validate_volume_update(const struct json_value *object, const struct json_value *old,
                                   struct field_errors *errors)
{
    struct arena *a = errors->arena;
    struct json_value now = only_sources(json_get(object, STR("spec")), a);
    struct json_value before = only_sources(json_get(old, STR("spec")), a);
    struct field_path path = field_child(NULL, "spec"), mode = field_child(NULL, "volumeMode");
    struct field_path affinity = field_child(NULL, "nodeAffinity");
    struct json_value shown =
        internal_form(json_at(object, "spec.nodeAffinity"), internal_volume_affinity, a);

    if (!field_equal(&now, &before))
        field_error_at(errors, FIELD_FORBIDDEN, &path, "persistentvolumesource", NULL,
                       "spec.persistentvolumesource is immutable after creation\n%.*s",
                       STR_ARG(json_diff(&before, &now, a)));
    field_check_immutable(errors, &mode, json_at(object, "spec.volumeMode"),
                          json_at(old, "spec.volumeMode"));
    if (json_at(old, "spec.nodeAffinity") &&
        !affinity_kept(json_at(object, "spec.nodeAffinity"), json_at(old, "spec.nodeAffinity"), a))
        field_error(errors, FIELD_INVALID, &affinity, &shown,
                    FIELD_IMMUTABLE_TEXT ", except for updating from beta label to GA");
}

static void warn_volume(const struct json_value *object, struct buf *warnings, struct arena *a)
{
    (void)a;
    if (json_get(json_at(object, "metadata.annotations"), STR(BETA_CLASS)))
        buf_add_cstr(warnings, "metadata.annotations[" BETA_CLASS "]: " CLASS_TEXT "\n");
    if (str_is(json_text_at(object, "spec.persistentVolumeReclaimPolicy"), "Recycle"))
        buf_add_cstr(warnings, "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is "
                               "deprecated. Instead, the recommended approach is to use dynamic "
                               "provisioning.\n");
}

const struct strategy volume_strategies[] = {
    {
        .plural = STR_INIT("persistentvolumes"),
        .set_defaults = default_volume,
        .prepare_create = prepare_volume,
        .validate = validate_volume,
        .validate_update = validate_volume_update,
        .unconditional_update = true,
        .warn = warn_volume,
    },
    {
        .plural = STR_INIT("persistentvolumeclaims"),
        .set_defaults = default_claim,
        .prepare_create = prepare_claim,
        .prepare_update = prepare_claim_update,
        .validate = validate_claim,
        .validate_update = validate_claim_update,
        .validate_status = validate_claim_status,
        .unconditional_update = true,
        .warn = warn_claim,
    },
    {.plural = STR_INIT("")},
};
