/* SPDX-License-Identifier: Apache-2.0 */
/* Volume mounts and devices of containers. */
#include "apiserver/strategies/pod_internal.h"

/* Names and paths of one list, to look for them in the other. */
struct places {
    struct map names, paths;
};

static void collect(struct places *p, struct json_items list, const char *path_member)
{
    for (size_t i = 0; i < list.n; i++) {
        map_put(&p->names, json_get_text(&list.v[i], STR("name")), p);
        map_put(&p->paths, json_get_text(&list.v[i], str_of(path_member)), p);
    }
}

static void release(struct places *p)
{
    map_release(&p->names);
    map_release(&p->paths);
}

static void check_propagation(const struct pod_check *check, const struct json_value *container,
                              const struct json_value *mount, const struct field_path *list)
{
    static const char *const modes[] = {"Bidirectional", "HostToContainer", "None", NULL};
    struct field_path path = field_child(list, "mountPropagation");
    const struct json_value *mode = json_get(mount, STR("mountPropagation"));

    if (!mode)
        return;
    field_check_enum(check->errors, &path, mode->text, modes);
    if (str_is(mode->text, "Bidirectional") &&
        !json_bool_at(container, "securityContext.privileged", false))
        field_error(check->errors, FIELD_FORBIDDEN, &path, NULL,
                    "Bidirectional mount propagation is available only to privileged containers");
}

static void check_recursive(const struct pod_check *check, const struct json_value *mount,
                            const struct field_path *list)
{
    static const char *const modes[] = {"Disabled", "Enabled", "IfPossible", NULL};
    struct field_path path = field_child(list, "recursiveReadOnly");
    const struct json_value *mode = json_get(mount, STR("recursiveReadOnly"));
    const struct json_value *propagation = json_get(mount, STR("mountPropagation"));

    if (!mode || str_is(mode->text, "Disabled") ||
        !field_check_enum(check->errors, &path, mode->text, modes))
        return;
    if (!json_bool_at(mount, "readOnly", false))
        field_error(check->errors, FIELD_FORBIDDEN, &path, NULL,
                    "may only be specified when readOnly is true");
    if (propagation && !str_is(propagation->text, "None"))
        field_error(check->errors, FIELD_FORBIDDEN, &path, NULL,
                    "may only be specified when mountPropagation is None or not specified");
}

static void check_sub_paths(const struct pod_check *check, const struct json_value *mount,
                            const struct field_path *list, const struct field_path *path)
{
    struct field_path sub = field_child(list, "subPath"), expr = field_child(list, "subPathExpr");
    struct str text = json_get_text(mount, STR("subPath"));
    struct json_value expression = field_text(mount, "subPathExpr");

    if (!str_empty(text))
        field_check_descending_path(check->errors, &sub, text);
    if (str_empty(expression.text))
        return;
    if (!str_empty(text))
        field_error_at(check->errors, FIELD_INVALID, path, "subPathExpr", &expression,
                       "subPathExpr and subPath are mutually exclusive");
    field_check_descending_path(check->errors, &expr, expression.text);
}

static void check_mount(const struct pod_check *check, const struct json_value *mount,
                        const struct places *devices, struct map *seen,
                        const struct field_path *path)
{
    struct json_value name = field_text(mount, "name"), at = field_text(mount, "mountPath");
    struct field_errors *errors = check->errors;

    if (str_empty(name.text))
        field_required(errors, path, "name");
    if (!map_get(&check->volumes, name.text))
        field_error_at(errors, FIELD_NOT_FOUND, path, "name", &name, "%s", "");
    if (str_empty(at.text))
        field_required(errors, path, "mountPath");
    if (map_put(seen, at.text, errors))
        field_error_at(errors, FIELD_INVALID, path, "mountPath", &at, "must be unique");
    if (map_get(&devices->names, name.text))
        field_error_at(errors, FIELD_INVALID, path, "name", &name,
                       "must not already exist in volumeDevices");
    if (map_get(&devices->paths, at.text))
        field_error_at(errors, FIELD_INVALID, path, "mountPath", &at,
                       "must not already exist as a path in volumeDevices");
}

static bool has_backsteps(struct str text, struct arena *a)
{
    struct field_errors scratch = {.arena = a};
    struct field_path path = field_child(NULL, "devicePath");

    return !field_check_no_backsteps(&scratch, &path, text);
}

static void check_device(const struct pod_check *check, const struct json_value *device,
                         const struct places *mounts, struct places *seen,
                         const struct field_path *path)
{
    struct json_value name = field_text(device, "name"), at = field_text(device, "devicePath");
    const struct json_value *volume = map_get(&check->volumes, name.text);
    struct field_errors *errors = check->errors;

    if (str_empty(name.text))
        field_required(errors, path, "name");
    if (map_get(&seen->names, name.text))
        field_error_at(errors, FIELD_INVALID, path, "name", &name, "must be unique");
    if (volume && !json_get(volume, STR("persistentVolumeClaim")) &&
        !json_get(volume, STR("ephemeral")))
        field_error_at(errors, FIELD_INVALID, path, "name", &name,
                       "can only use volume source type of PersistentVolumeClaim or Ephemeral for "
                       "block mode");
    if (!volume)
        field_error_at(errors, FIELD_NOT_FOUND, path, "name", &name, "%s", "");
    if (str_empty(at.text))
        field_required(errors, path, "devicePath");
    if (map_get(&seen->paths, at.text))
        field_error_at(errors, FIELD_INVALID, path, "devicePath", &at, "must be unique");
    if (has_backsteps(at.text, errors->arena))
        field_error_at(errors, FIELD_INVALID, path, "devicePath", &at,
                       "can not contain backsteps ('..')");
    else
        map_put(&seen->paths, at.text, seen);
    if (map_get(&mounts->names, name.text))
        field_error_at(errors, FIELD_INVALID, path, "name", &name,
                       "must not already exist in volumeMounts");
    if (map_get(&mounts->paths, at.text))
        field_error_at(errors, FIELD_INVALID, path, "devicePath", &at,
                       "must not already exist as a path in volumeMounts");
    if (!str_empty(name.text))
        map_put(&seen->names, name.text, seen);
}

void container_mounts_validate(const struct pod_check *check, const struct json_value *container,
                               const struct field_path *path)
{
    struct json_items mounts = json_items_at(container, "volumeMounts");
    struct json_items devices = json_items_at(container, "volumeDevices");
    struct field_path mount_path = field_child(path, "volumeMounts");
    struct field_path device_path = field_child(path, "volumeDevices");
    struct places of_mounts = {0}, of_devices = {0}, seen_devices = {0};
    struct map seen = MAP_INIT;

    collect(&of_mounts, mounts, "mountPath");
    collect(&of_devices, devices, "devicePath");
    for (size_t i = 0; i < mounts.n; i++) {
        struct field_path at = field_index(&mount_path, i);

        check_mount(check, &mounts.v[i], &of_devices, &seen, &at);
        check_sub_paths(check, &mounts.v[i], &mount_path, &at);
        check_propagation(check, container, &mounts.v[i], &mount_path);
        check_recursive(check, &mounts.v[i], &mount_path);
    }
    for (size_t i = 0; i < devices.n; i++) {
        struct field_path at = field_index(&device_path, i);

        check_device(check, &devices.v[i], &of_mounts, &seen_devices, &at);
    }
    release(&of_mounts);
    release(&of_devices);
    release(&seen_devices);
    map_release(&seen);
}
