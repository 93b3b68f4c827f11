/* SPDX-License-Identifier: Apache-2.0 */
/* What a pod may set on its operating system. */
#include "apiserver/strategies/pod_internal.h"

static const char *const lists[] = {"initContainers", "containers", "ephemeralContainers"};

/* Calls fn for every container, in upstream's order. */
static void each_container(const struct pod_check *check, const struct field_path *path,
                           void fn(const struct pod_check *check, const struct json_value *c,
                                   const struct field_path *path, void *data),
                           void *data)
{
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        struct json_items list = json_items_at(check->spec, lists[l]);
        struct field_path in = field_child(path, lists[l]);

        for (size_t i = 0; i < list.n; i++) {
            struct field_path at = field_index(&in, i);

            fn(check, &list.v[i], &at, data);
        }
    }
}

/* --- host processes --------------------------------------------------------------------------- */

struct host_processes {
    size_t containers, host;
};

static void count_host_process(const struct pod_check *check, const struct json_value *c,
                               const struct field_path *path, void *data)
{
    struct host_processes *count = data;
    const struct json_value *of_pod =
        json_at(check->spec, "securityContext.windowsOptions.hostProcess");
    const struct json_value *own = json_at(c, "securityContext.windowsOptions.hostProcess");
    struct field_path context = field_child(path, "securityContext");
    struct field_path options = field_child(&context, "windowsOptions");

    count->containers++;
    if (of_pod && own && of_pod->boolean != own->boolean)
        field_error_at(check->errors, FIELD_INVALID, &options, "hostProcess", own,
                       "pod hostProcess value must be identical if both are specified, was %s",
                       of_pod->boolean ? "true" : "false");
    if (own ? own->boolean : of_pod && of_pod->boolean)
        count->host++;
}

void pod_windows_validate(const struct pod_check *check, const struct field_path *path)
{
    struct host_processes count = {0};
    struct json_value empty = json_text(STR("")), no = json_bool(false);

    each_container(check, path, count_host_process, &count);
    if (count.host == 0)
        return;
    if (count.host != count.containers)
        field_error(check->errors, FIELD_INVALID, path, &empty,
                    "If pod contains any hostProcess containers then all containers must be "
                    "HostProcess containers");
    if (!check->host_network)
        field_error_at(check->errors, FIELD_INVALID, path, "hostNetwork", &no,
                       "hostNetwork must be true if pod contains any hostProcess containers");
}

/* --- os --------------------------------------------------------------------------------------- */

/* Members that must not be set; an empty list is not set. */
static void forbid(const struct pod_check *check, const struct json_value *object,
                   const char *const *members, const char *why, const struct field_path *path)
{
    for (size_t i = 0; members[i]; i++) {
        const struct json_value *v = json_get(object, str_of(members[i]));

        if (v && (v->kind != JSON_ARRAY || v->n > 0))
            field_error_at(check->errors, FIELD_FORBIDDEN, path, members[i], NULL, "%s", why);
    }
}

#define LINUX_TEXT   "windows options cannot be set for a linux pod"
#define WINDOWS_TEXT "cannot be set for a windows pod"

static void check_linux(const struct pod_check *check, const struct json_value *c,
                        const struct field_path *path, void *data)
{
    static const char *const members[] = {"windowsOptions", NULL};
    struct field_path at = field_child(path, "securityContext");

    (void)data;
    forbid(check, json_get(c, STR("securityContext")), members, LINUX_TEXT, &at);
}

static void check_windows(const struct pod_check *check, const struct json_value *c,
                          const struct field_path *path, void *data)
{
    static const char *const members[] = {
        "appArmorProfile",
        "seLinuxOptions",
        "seccompProfile",
        "capabilities",
        "readOnlyRootFilesystem",
        "privileged",
        "allowPrivilegeEscalation",
        "procMount",
        "runAsUser",
        "runAsGroup",
        NULL,
    };
    struct field_path at = field_child(path, "securityContext");

    (void)data;
    forbid(check, json_get(c, STR("securityContext")), members, WINDOWS_TEXT, &at);
}

static void check_windows_pod(const struct pod_check *check, const struct field_path *path)
{
    static const char *const first[] = {"appArmorProfile", "seLinuxOptions", NULL};
    static const char *const users[] = {"hostUsers", NULL};
    static const char *const hosts[] = {"hostPID", "hostIPC"};
    static const char *const second[] = {"seccompProfile", "fsGroup", "fsGroupChangePolicy",
                                         "sysctls", NULL};
    static const char *const share[] = {"shareProcessNamespace", NULL};
    static const char *const third[] = {"runAsUser",           "runAsGroup",
                                        "supplementalGroups",  "supplementalGroupsPolicy",
                                        "seLinuxChangePolicy", NULL};
    const struct json_value *context = json_get(check->spec, STR("securityContext"));
    struct field_path at = field_child(path, "securityContext");

    forbid(check, context, first, WINDOWS_TEXT, &at);
    forbid(check, check->spec, users, WINDOWS_TEXT, path);
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++)
        if (json_bool_at(check->spec, hosts[i], false))
            field_error_at(check->errors, FIELD_FORBIDDEN, path, hosts[i], NULL, WINDOWS_TEXT);
    forbid(check, context, second, WINDOWS_TEXT, &at);
    forbid(check, check->spec, share, WINDOWS_TEXT, path);
    forbid(check, context, third, WINDOWS_TEXT, &at);
    each_container(check, path, check_windows, NULL);
}

void pod_os_validate(const struct pod_check *check, const struct field_path *path)
{
    static const char *const names[] = {"linux", "windows", NULL};
    static const char *const windows[] = {"windowsOptions", NULL};
    struct str name = json_get_text(check->os, STR("name"));
    struct field_path os = field_child(path, "os"), at = field_child(path, "securityContext");

    if (!check->os)
        return;
    if (str_empty(name)) {
        field_required(check->errors, &os, "name");
    } else if (!field_check_enum(check->errors, &os, name, names)) {
        return;
    } else if (str_is(name, "linux")) {
        forbid(check, json_get(check->spec, STR("securityContext")), windows, LINUX_TEXT, &at);
        each_container(check, path, check_linux, NULL);
    } else {
        check_windows_pod(check, path);
    }
}
