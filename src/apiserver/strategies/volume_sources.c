/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/strategies/volume_sources.h"

#include "apiserver/strategies/pod_internal.h"

/* Members that must not be empty, in upstream's order. */
static const struct {
    const char *source;
    const char *members[4];
} required[] = {
    {"gcePersistentDisk", {"pdName"}},
    {"awsElasticBlockStore", {"volumeID"}},
    {"glusterfs", {"endpoints", "path"}},
    {"rbd", {"monitors", "image"}},
    {"cinder", {"volumeID"}},
    {"cephfs", {"monitors"}},
    {"flexVolume", {"driver"}},
    {"vsphereVolume", {"volumePath"}},
    {"photonPersistentDisk", {"pdID"}},
    {"portworxVolume", {"volumeID"}},
    {"azureFile", {"secretName", "shareName"}},
    {"azureDisk", {"diskName", "diskURI"}},
    {"scaleIO", {"gateway", "system", "volumeName"}},
    {"persistentVolumeClaim", {"claimName"}},
};

static void check_required(const char *name, const struct json_value *source,
                           const struct field_path *path, struct field_errors *errors)
{
    for (size_t i = 0; i < ARRAY_LEN(required); i++) {
        if (strcmp(required[i].source, name) != 0)
            continue;
        for (size_t m = 0; m < ARRAY_LEN(required[i].members) && required[i].members[m]; m++)
            if (field_equal(json_get(source, str_of(required[i].members[m])), NULL))
                field_required(errors, path, required[i].members[m]);
    }
}

static void check_partition(const struct json_value *source, const struct field_path *path,
                            struct field_errors *errors)
{
    struct json_value number = field_number(source, "partition");
    int64_t n = json_int_at(source, "partition", 0);

    if (n < 0 || n > 255)
        field_error_at(errors, FIELD_INVALID, path, "partition", &number,
                       "must be between 1 and 255, inclusive");
}

static void check_host_path(const struct json_value *source, const struct field_path *path,
                            struct field_errors *errors)
{
    static const char *const types[] = {
        "",     "BlockDevice",  "CharDevice", "Directory", "DirectoryOrCreate",
        "File", "FileOrCreate", "Socket",     NULL,
    };
    struct str text = json_get_text(source, STR("path"));
    struct field_path at = field_child(path, "path"), type = field_child(path, "type");

    if (str_empty(text)) {
        field_error(errors, FIELD_REQUIRED, &at, NULL, "%s", "");
        return;
    }
    field_check_no_backsteps(errors, &at, text);
    field_check_enum(errors, &type, json_get_text(source, STR("type")), types);
}

static void check_nfs(const struct json_value *source, const struct field_path *path,
                      struct field_errors *errors)
{
    struct json_value text = field_text(source, "path");

    if (str_empty(json_get_text(source, STR("server"))))
        field_required(errors, path, "server");
    if (str_empty(text.text))
        field_required(errors, path, "path");
    if (!str_starts(text.text, STR("/")))
        field_error_at(errors, FIELD_INVALID, path, "path", &text, "must be an absolute path");
}

/* iqn.YYYY-MM.NAME, eui.16 hexadecimal digits, naa.32 of them. */
static bool is_initiator(struct str s)
{
    struct str rest = str_slice(s, 4, s.n);
    size_t dash;

    if (s.n < 4 || s.p[3] != '.')
        return false;
    if (str_starts(s, STR("iqn"))) {
        dash = str_find(rest, '-');
        return dash == 4 && rest.n > 8 && rest.p[7] == '.';
    }
    for (size_t i = 0; i < rest.n; i++)
        if (!strchr("0123456789abcdefABCDEF", rest.p[i]) || !rest.p[i])
            return false;
    return rest.n == 16 || (rest.n == 32 && str_starts(s, STR("naa")));
}

static void check_iqn(struct field_errors *errors, const struct json_value *name,
                      const struct field_path *path)
{
    bool known = str_starts(name->text, STR("iqn")) || str_starts(name->text, STR("eui")) ||
                 str_starts(name->text, STR("naa"));

    if (!known)
        field_error(errors, FIELD_INVALID, path, name,
                    "must be valid format starting with iqn, eui, or naa");
    else if (!is_initiator(name->text))
        field_error(errors, FIELD_INVALID, path, name, "must be valid format");
}

static void check_iscsi(const struct json_value *source, const struct field_path *path,
                        struct field_errors *errors)
{
    struct json_value iqn = field_text(source, "iqn");
    const struct json_value *initiator = json_get(source, STR("initiatorName"));
    struct field_path iqn_path = field_child(path, "iqn"), lun = field_child(path, "lun");
    struct field_path initiator_path = field_child(path, "initiatorname");

    if (str_empty(json_get_text(source, STR("targetPortal"))))
        field_required(errors, path, "targetPortal");
    if (str_empty(iqn.text))
        field_error(errors, FIELD_REQUIRED, &iqn_path, NULL, "%s", "");
    else
        check_iqn(errors, &iqn, &iqn_path);
    field_check_range(errors, &lun, json_int_at(source, "lun", 0), 0, 255);
    if ((json_bool_at(source, "chapAuthDiscovery", false) ||
         json_bool_at(source, "chapAuthSession", false)) &&
        !json_get(source, STR("secretRef")))
        field_required(errors, path, "secretRef");
    if (initiator)
        check_iqn(errors, initiator, &initiator_path);
}

static void check_fc(const struct json_value *source, const struct field_path *path,
                     struct field_errors *errors)
{
    size_t n_names = json_items_at(source, "targetWWNs").n;
    size_t n_ids = json_items_at(source, "wwids").n;
    struct field_path lun = field_child(path, "lun");

    if (n_names == 0 && n_ids == 0)
        field_error_at(errors, FIELD_REQUIRED, path, "targetWWNs", NULL,
                       "must specify either targetWWNs or wwids, but not both");
    if (n_names > 0 && n_ids > 0)
        field_error_at(errors, FIELD_INVALID, path, "targetWWNs",
                       json_get(source, STR("targetWWNs")),
                       "targetWWNs and wwids can not be specified simultaneously");
    if (n_names == 0)
        return;
    if (!json_get(source, STR("lun")))
        field_error(errors, FIELD_REQUIRED, &lun, NULL,
                    "lun is required if targetWWNs is specified");
    else
        field_check_range(errors, &lun, json_int_at(source, "lun", 0), 0, 255);
}

void csi_driver_name_validate(struct str name, const struct field_path *path,
                              struct field_errors *errors)
{
    char lower[64];
    struct json_value value = json_text(name);

    if (str_empty(name)) {
        field_error(errors, FIELD_REQUIRED, path, NULL, "%s", "");
        return;
    }
    if (name.n > 63) {
        field_error(errors, FIELD_TOO_LONG, path, NULL, "may not be more than 63 bytes");
        return;
    }
    for (size_t i = 0; i < name.n; i++)
        lower[i] = (char)(name.p[i] >= 'A' && name.p[i] <= 'Z' ? name.p[i] + 32 : name.p[i]);
    if (!name_valid((struct str){lower, name.n}, NAME_DNS_SUBDOMAIN)) {
        size_t first = errors->n;

        /* The message shows the name as it is written. */
        if (field_check_name(errors, path, name, NAME_DNS_SUBDOMAIN) || errors->n == first)
            field_error(errors, FIELD_INVALID, path, &value, "%s", "");
    }
}

void volume_source_validate(const char *name, const struct json_value *source,
                            const struct field_path *path, struct field_errors *errors)
{
    if (strcmp(name, "hostPath") == 0)
        check_host_path(source, path, errors);
    else if (strcmp(name, "nfs") == 0)
        check_nfs(source, path, errors);
    else if (strcmp(name, "iscsi") == 0)
        check_iscsi(source, path, errors);
    else if (strcmp(name, "fc") == 0)
        check_fc(source, path, errors);
    else
        check_required(name, source, path, errors);
    if (strcmp(name, "gcePersistentDisk") == 0 || strcmp(name, "awsElasticBlockStore") == 0)
        check_partition(source, path, errors);
}
