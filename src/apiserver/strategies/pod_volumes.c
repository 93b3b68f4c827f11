/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes of pods. */
#include "apiserver/strategies/pod_internal.h"
#include "apiserver/strategies/resource_names.h"
#include "apiserver/strategies/volume_sources.h"

#define MODE_TEXT "must be a number between 0 and 0777 (octal), both inclusive"

static void check_mode(struct field_errors *errors, const struct json_value *object,
                       const char *member, const struct field_path *path)
{
    const struct json_value *mode = json_get(object, str_of(member));
    int64_t n = json_int_at(object, member, 0);

    if (mode && (n < 0 || n > 0777))
        field_error_at(errors, FIELD_INVALID, path, member, mode, MODE_TEXT);
}

/* Upstream: ValidateLocalNonReservedPath. */
static void check_local_path(struct field_errors *errors, struct str text,
                             const struct field_path *path)
{
    struct json_value value = json_text(text);

    field_check_descending_path(errors, path, text);
    if (str_starts(text, STR("..")) && !str_starts(text, STR("../")))
        field_error(errors, FIELD_INVALID, path, &value, "must not start with '..'");
}

static void check_key_to_path(struct field_errors *errors, const struct json_value *item,
                              const struct field_path *path)
{
    struct str text = json_get_text(item, STR("path"));
    struct field_path at = field_child(path, "path");

    if (str_empty(json_get_text(item, STR("key"))))
        field_required(errors, path, "key");
    if (str_empty(text))
        field_error(errors, FIELD_REQUIRED, &at, NULL, "%s", "");
    check_local_path(errors, text, &at);
    check_mode(errors, item, "mode", path);
}

static void check_items(struct field_errors *errors, const struct json_value *source,
                        const char *name_member, const struct field_path *path)
{
    struct json_items items = json_items_at(source, "items");
    struct field_path list = field_child(path, "items");

    if (str_empty(json_get_text(source, str_of(name_member))))
        field_required(errors, path, name_member);
    check_mode(errors, source, "defaultMode", path);
    for (size_t i = 0; i < items.n; i++) {
        struct field_path at = field_index(&list, i);

        check_key_to_path(errors, &items.v[i], &at);
    }
}

static void check_downward_file(struct field_errors *errors, const struct json_value *file,
                                const struct field_path *path)
{
    static const char *const fields[] = {"metadata.annotations", "metadata.labels", "metadata.name",
                                         "metadata.namespace",   "metadata.uid",    NULL};
    const struct json_value *field = json_get(file, STR("fieldRef"));
    const struct json_value *resource = json_get(file, STR("resourceFieldRef"));
    struct field_path at = field_child(path, "path"), field_path = field_child(path, "fieldRef");
    struct field_path resource_path = field_child(path, "resourceFieldRef");
    struct json_value text = json_text(STR("resource"));

    if (str_empty(json_get_text(file, STR("path"))))
        field_error(errors, FIELD_REQUIRED, &at, NULL, "%s", "");
    check_local_path(errors, json_get_text(file, STR("path")), &at);
    if (field) {
        object_field_validate(field, fields, &field_path, errors);
        if (resource)
            field_error(errors, FIELD_INVALID, path, &text,
                        "fieldRef and resourceFieldRef can not be specified simultaneously");
    } else if (resource) {
        resource_field_validate(resource, true, &resource_path, errors);
    } else {
        field_error(errors, FIELD_REQUIRED, path, NULL,
                    "one of fieldRef and resourceFieldRef is required");
    }
    check_mode(errors, file, "mode", path);
}

static void check_downward(struct field_errors *errors, const struct json_value *source,
                           const struct field_path *path)
{
    struct json_items items = json_items_at(source, "items");

    check_mode(errors, source, "defaultMode", path);
    for (size_t i = 0; i < items.n; i++)
        check_downward_file(errors, &items.v[i], path);
}

/* --- projected -------------------------------------------------------------------------------- */

struct projection {
    struct field_errors *errors;
    const struct field_path *path; /* of the projected volume */
    struct map paths;              /* of all files */
};

static void check_duplicate_path(struct projection *p, struct str text, struct str shown)
{
    struct json_value value = json_text(shown);

    if (!str_empty(text) && map_put(&p->paths, text, p))
        field_error(p->errors, FIELD_INVALID, p->path, &value, "conflicting duplicate paths");
}

static void project_keys(struct projection *p, const struct json_value *source,
                         const struct field_path *path)
{
    struct json_items items = json_items_at(source, "items");
    struct field_path list = field_child(path, "items");

    if (str_empty(json_get_text(source, STR("name"))))
        field_required(p->errors, path, "name");
    for (size_t i = 0; i < items.n; i++) {
        struct field_path at = field_index(&list, i);

        check_key_to_path(p->errors, &items.v[i], &at);
        check_duplicate_path(p, json_get_text(&items.v[i], STR("path")),
                             json_get_text(source, STR("name")));
    }
}

static void project_downward(struct projection *p, const struct json_value *source,
                             const struct field_path *path)
{
    struct json_items items = json_items_at(source, "items");

    for (size_t i = 0; i < items.n; i++) {
        struct str text = json_get_text(&items.v[i], STR("path"));

        check_downward_file(p->errors, &items.v[i], path);
        check_duplicate_path(p, text, text);
    }
}

#define MIN_EXPIRATION 600
#define MAX_EXPIRATION ((int64_t)1 << 32)

static void project_token(struct projection *p, const struct json_value *source,
                          const struct field_path *path)
{
    struct json_value seconds = field_number(source, "expirationSeconds");
    int64_t n = json_int_at(source, "expirationSeconds", 0);
    struct field_path at = field_child(p->path, "path");

    if (n < MIN_EXPIRATION)
        field_error_at(p->errors, FIELD_INVALID, path, "expirationSeconds", &seconds,
                       "may not specify a duration less than 10 minutes");
    if (n > MAX_EXPIRATION)
        field_error_at(p->errors, FIELD_INVALID, path, "expirationSeconds", &seconds,
                       "may not specify a duration larger than 2^32 seconds");
    if (str_empty(json_get_text(source, STR("path"))))
        field_error(p->errors, FIELD_REQUIRED, &at, NULL, "%s", "");
    else
        check_local_path(p->errors, json_get_text(source, STR("path")), &at);
}

static void project_bundle(struct projection *p, const struct json_value *source,
                           const struct field_path *path)
{
    const struct json_value *name = json_get(source, STR("name"));
    const struct json_value *signer = json_get(source, STR("signerName"));
    const struct json_value *selector = json_get(source, STR("labelSelector"));
    struct field_path at = field_child(path, "path");
    struct field_path selector_path = field_child(path, "labelSelector");
    struct str text = json_get_text(source, STR("path"));

    if (name && signer)
        field_error(p->errors, FIELD_INVALID, path, source,
                    "only one of name and signerName may be used");
    else if (name && str_empty(name->text))
        field_error_at(p->errors, FIELD_REQUIRED, path, "name", NULL,
                       "must be a valid object name");
    else if (name && selector)
        field_error(p->errors, FIELD_INVALID, &selector_path, selector,
                    "labelSelector must be unset if name is specified");
    else if (signer && str_empty(signer->text))
        field_error_at(p->errors, FIELD_REQUIRED, path, "signerName", NULL,
                       "must be a valid signer name");
    else if (signer)
        field_check_label_selector(p->errors, &selector_path, selector);
    else if (!name)
        field_error(p->errors, FIELD_REQUIRED, path, NULL,
                    "either name or signerName must be specified");
    if (str_empty(text))
        field_error(p->errors, FIELD_REQUIRED, &at, NULL, "%s", "");
    check_local_path(p->errors, text, &at);
    check_duplicate_path(p, text, text);
}

static void project_certificate(struct projection *p, const struct json_value *source,
                                const struct field_path *path)
{
    static const char *const types[] = {"RSA3072",   "RSA4096", "ECDSAP256", "ECDSAP384",
                                        "ECDSAP521", "ED25519", NULL};
    static const char *const members[] = {"credentialBundlePath", "keyPath",
                                          "certificateChainPath"};
    struct field_path type = field_child(path, "keyType");
    size_t n = 0;

    field_check_enum(p->errors, &type, json_get_text(source, STR("keyType")), types);
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        struct str text = json_get_text(source, str_of(members[i]));
        struct field_path at = field_child(path, members[i]);

        if (str_empty(text))
            continue;
        n++;
        check_local_path(p->errors, text, &at);
        check_duplicate_path(p, text, text);
    }
    if (n == 0)
        field_error(p->errors, FIELD_REQUIRED, path, NULL,
                    "specify at least one of credentialBundlePath, keyPath, and "
                    "certificateChainPath");
}

static void check_projected(struct field_errors *errors, const struct json_value *source,
                            const struct field_path *path)
{
    static const struct {
        const char *name;
        void (*check)(struct projection *p, const struct json_value *source,
                      const struct field_path *path);
    } kinds[] = {
        {"secret", project_keys},
        {"configMap", project_keys},
        {"downwardAPI", project_downward},
        {"serviceAccountToken", project_token},
        {"clusterTrustBundle", project_bundle},
        {"podCertificate", project_certificate},
    };
    struct json_items sources = json_items_at(source, "sources");
    struct field_path list = field_child(path, "sources");
    struct projection p = {.errors = errors, .path = path};

    check_mode(errors, source, "defaultMode", path);
    for (size_t i = 0; i < sources.n; i++) {
        struct field_path at = field_index(&list, i);
        size_t n = 0;

        for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
            const struct json_value *v = json_get(&sources.v[i], str_of(kinds[k].name));
            struct field_path child = field_child(&at, kinds[k].name);

            if (v) {
                n++;
                kinds[k].check(&p, v, &child);
            }
        }
        if (n > 1)
            field_error(errors, FIELD_FORBIDDEN, &at, NULL,
                        "may not specify more than 1 volume type per source");
    }
    map_release(&p.paths);
}

/* --- sources ---------------------------------------------------------------------------------- */

static void check_template_meta(struct field_errors *errors, const struct json_value *meta,
                                const struct field_path *path)
{
    struct field_path annotations = field_child(path, "annotations");
    struct field_path labels = field_child(path, "labels");

    field_check_annotations(errors, &annotations, json_get(meta, STR("annotations")));
    field_check_labels(errors, &labels, json_get(meta, STR("labels")));
    for (size_t i = 0; meta && meta->kind == JSON_OBJECT && i < meta->n_members; i++) {
        struct str key = meta->members[i].key;

        if (!str_is(key, "annotations") && !str_is(key, "labels") &&
            !field_equal(&meta->members[i].value, NULL)) {
            struct field_path at = {.parent = path, .name = key, .index = SIZE_MAX};

            field_error(errors, FIELD_FORBIDDEN, &at, NULL, "cannot be set");
        }
    }
}

static void check_ephemeral(const struct pod_check *check, const struct json_value *source,
                            struct str name, const struct field_path *path,
                            const struct field_path *volume)
{
    const struct json_value *template = json_get(source, STR("volumeClaimTemplate"));
    struct field_path at = field_child(path, "volumeClaimTemplate");
    struct field_path meta = field_child(&at, "metadata"), spec = field_child(&at, "spec");
    struct str pod = json_get_text(check->meta, STR("name"));
    struct str claim = arena_printf(check->errors->arena, "%.*s-%.*s", STR_ARG(pod), STR_ARG(name));
    struct json_value value = json_text(name);

    if (!template) {
        field_error(check->errors, FIELD_REQUIRED, &at, NULL, "%s", "");
    } else {
        check_template_meta(check->errors, json_get(template, STR("metadata")), &meta);
        claim_spec_validate(json_get(template, STR("spec")), &spec, check->errors);
    }
    if (!str_empty(pod) && !str_empty(name) && !name_valid(claim, NAME_DNS_SUBDOMAIN)) {
        struct field_errors scratch = {.arena = check->errors->arena};
        struct field_path at_name = field_child(volume, "name");

        field_check_name(&scratch, &at_name, claim, NAME_DNS_SUBDOMAIN);
        for (size_t i = 0; i < scratch.n; i++) {
            struct str text = scratch.v[i].message;
            size_t skip = strlen("Invalid value: : ") + arena_quoted(scratch.arena, claim).n;

            field_error(check->errors, FIELD_INVALID, &at_name, &value, "PVC name %.*s: %.*s",
                        STR_ARG(arena_quoted(scratch.arena, claim)),
                        STR_ARG(str_slice(text, skip, text.n)));
        }
    }
}

static void check_csi(struct field_errors *errors, const struct json_value *source,
                      const struct field_path *path)
{
    const struct json_value *ref = json_get(source, STR("nodePublishSecretRef"));
    struct field_path driver = field_child(path, "driver"), name = field_child(path, "name");
    struct field_path at = field_child(path, "nodePublishSecretRef");

    csi_driver_name_validate(json_get_text(source, STR("driver")), &driver, errors);
    if (ref && str_empty(json_get_text(ref, STR("name"))))
        field_required(errors, &at, "name");
    else if (ref)
        field_check_name(errors, &name, json_get_text(ref, STR("name")), NAME_DNS_SUBDOMAIN);
}

static void check_image(const struct pod_check *check, const struct json_value *source,
                        const struct field_path *path)
{
    static const char *const policies[] = {"Always", "IfNotPresent", "Never", NULL};
    struct field_path at = field_child(path, "pullPolicy");

    if (check->meta && str_empty(json_get_text(source, STR("reference"))))
        field_required(check->errors, path, "reference");
    field_check_enum(check->errors, &at, json_get_text(source, STR("pullPolicy")), policies);
}

static void check_source(const struct pod_check *check, const char *name,
                         const struct json_value *source, const struct field_path *path)
{
    struct field_errors *errors = check->errors;

    if (strcmp(name, "emptyDir") == 0) {
        struct quantity q = quantity_at(json_get(source, STR("sizeLimit")), errors->arena);

        if (quantity_sign(&q) < 0)
            field_error_at(errors, FIELD_FORBIDDEN, path, "sizeLimit", NULL,
                           "SizeLimit field must be a valid resource quantity");
    } else if (strcmp(name, "gitRepo") == 0) {
        struct field_path at = field_child(path, "directory");

        if (str_empty(json_get_text(source, STR("repository"))))
            field_required(errors, path, "repository");
        field_check_descending_path(errors, &at, json_get_text(source, STR("directory")));
    } else if (strcmp(name, "secret") == 0) {
        check_items(errors, source, "secretName", path);
    } else if (strcmp(name, "configMap") == 0) {
        check_items(errors, source, "name", path);
    } else if (strcmp(name, "downwardAPI") == 0) {
        check_downward(errors, source, path);
    } else if (strcmp(name, "projected") == 0) {
        check_projected(errors, source, path);
    } else if (strcmp(name, "csi") == 0) {
        check_csi(errors, source, path);
    } else if (strcmp(name, "image") == 0) {
        check_image(check, source, path);
    } else {
        volume_source_validate(name, source, path, errors);
    }
}

/* In upstream's order; the path of errors may have another name. */
static const struct {
    const char *name, *path;
} source_names[] = {
    {"emptyDir", NULL},
    {"hostPath", NULL},
    {"gitRepo", NULL},
    {"gcePersistentDisk", "persistentDisk"},
    {"awsElasticBlockStore", NULL},
    {"secret", NULL},
    {"nfs", NULL},
    {"iscsi", NULL},
    {"glusterfs", NULL},
    {"flocker", NULL},
    {"persistentVolumeClaim", NULL},
    {"rbd", NULL},
    {"cinder", NULL},
    {"cephfs", NULL},
    {"quobyte", NULL},
    {"downwardAPI", NULL},
    {"fc", NULL},
    {"flexVolume", NULL},
    {"configMap", NULL},
    {"azureFile", NULL},
    {"vsphereVolume", NULL},
    {"photonPersistentDisk", NULL},
    {"portworxVolume", NULL},
    {"azureDisk", NULL},
    {"storageos", NULL},
    {"projected", NULL},
    {"scaleIO", NULL},
    {"csi", NULL},
    {"ephemeral", NULL},
    {"image", NULL},
};

static void check_sources(const struct pod_check *check, const struct json_value *volume,
                          struct str name, const struct field_path *path)
{
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(source_names); i++) {
        const struct json_value *source = json_get(volume, str_of(source_names[i].name));
        struct field_path at =
            field_child(path, source_names[i].path ? source_names[i].path : source_names[i].name);

        if (!source)
            continue;
        if (n++ > 0)
            field_error_at(check->errors, FIELD_FORBIDDEN, path,
                           strcmp(source_names[i].name, "downwardAPI") == 0 ? "downwarAPI"
                                                                            : source_names[i].name,
                           NULL, "may not specify more than 1 volume type");
        else if (strcmp(source_names[i].name, "ephemeral") == 0)
            check_ephemeral(check, source, name, &at, path);
        else
            check_source(check, source_names[i].name, source, &at);
    }
    if (n == 0)
        field_error(check->errors, FIELD_REQUIRED, path, NULL, "must specify a volume type");
}

/* Claims that are created for ephemeral volumes cannot be named by other volumes. */
static void collect_claims(const struct pod_check *check, struct json_items list, struct map *out)
{
    struct str pod = json_get_text(check->meta, STR("name"));

    for (size_t i = 0; !str_empty(pod) && i < list.n; i++)
        if (json_get(&list.v[i], STR("ephemeral")))
            map_put(out,
                    arena_printf(check->errors->arena, "%.*s-%.*s", STR_ARG(pod),
                                 STR_ARG(json_get_text(&list.v[i], STR("name")))),
                    out);
}

void volumes_validate(struct pod_check *check, const struct field_path *path)
{
    struct json_items list = json_items_at(check->spec, "volumes");
    struct map claims = MAP_INIT;

    collect_claims(check, list, &claims);
    for (size_t i = 0; i < list.n; i++) {
        struct field_path at = field_index(path, i), name_path = field_child(&at, "name");
        struct field_path claim_path = field_child(&at, "persistentVolumeClaim");
        struct json_value name = field_text(&list.v[i], "name");
        struct json_value claim =
            json_text(json_text_at(&list.v[i], "persistentVolumeClaim.claimName"));
        size_t first = check->errors->n;

        check_sources(check, &list.v[i], name.text, &at);
        if (str_empty(name.text))
            field_error(check->errors, FIELD_REQUIRED, &name_path, NULL, "%s", "");
        else
            field_check_name(check->errors, &name_path, name.text, NAME_DNS_LABEL);
        if (map_get(&check->volumes, name.text))
            field_error(check->errors, FIELD_DUPLICATE, &name_path, &name, "%s", "");
        else if (check->errors->n == first)
            map_put(&check->volumes, name.text, (void *)(uintptr_t)&list.v[i]);
        if (!str_empty(claim.text) && map_get(&claims, claim.text))
            field_error_at(check->errors, FIELD_INVALID, &claim_path, "claimName", &claim,
                           "must not reference a PVC that gets created for an ephemeral volume");
    }
    map_release(&claims);
}
