/* SPDX-License-Identifier: Apache-2.0 */
/* Security contexts of containers and pods. */
#include "apiserver/strategies/internal_form.h"
#include "apiserver/strategies/pod_internal.h"

#define MAX_ID 2147483647

static const char *const localhost_types[] = {"Localhost", "RuntimeDefault", "Unconfined", NULL};

static void check_id(struct field_errors *errors, const struct json_value *context,
                     const char *member, const struct field_path *path)
{
    struct field_path at = field_child(path, member);

    if (json_get(context, str_of(member)))
        field_check_range(errors, &at, json_int_at(context, member, 0), 0, MAX_ID);
}

/* --- profiles --------------------------------------------------------------------------------- */

static void check_seccomp(struct field_errors *errors, const struct json_value *context,
                          const struct field_path *parent)
{
    const struct json_value *profile = json_get(context, STR("seccompProfile"));
    const struct json_value *local = json_get(profile, STR("localhostProfile"));
    struct str type = json_get_text(profile, STR("type"));
    struct field_path path = field_child(parent, "seccompProfile");
    struct field_path type_path = field_child(&path, "type");
    struct field_path local_path = field_child(&path, "localhostProfile");
    struct json_value whole;

    if (!profile)
        return;
    if (str_empty(type))
        field_error(errors, FIELD_REQUIRED, &type_path, NULL,
                    "type is required when seccompProfile is set");
    else
        field_check_enum(errors, &type_path, type, localhost_types);
    if (str_is(type, "Localhost")) {
        if (!local)
            field_error(errors, FIELD_REQUIRED, &local_path, NULL,
                        "must be set when seccomp type is Localhost");
        else
            field_check_descending_path(errors, &local_path, local->text);
    } else if (local) {
        whole = internal_form(profile, internal_profile, errors->arena);
        field_error(errors, FIELD_INVALID, &local_path, &whole,
                    "can only be set when seccomp type is Localhost");
    }
}

#define MAX_PROFILE 4095

static void check_apparmor(struct field_errors *errors, const struct json_value *context,
                           const struct field_path *parent)
{
    const struct json_value *profile = json_get(context, STR("appArmorProfile"));
    const struct json_value *local = json_get(profile, STR("localhostProfile"));
    struct str type = json_get_text(profile, STR("type"));
    struct field_path path = field_child(parent, "appArmorProfile");
    struct field_path type_path = field_child(&path, "type");
    struct field_path local_path = field_child(&path, "localhostProfile");

    if (!profile)
        return;
    if (str_empty(type)) {
        field_error(errors, FIELD_REQUIRED, &type_path, NULL,
                    "type is required when appArmorProfile is set");
        return;
    }
    if (!field_check_enum(errors, &type_path, type, localhost_types))
        return;
    if (!str_is(type, "Localhost")) {
        if (local)
            field_error(errors, FIELD_INVALID, &local_path, local,
                        "can only be set when AppArmor type is Localhost");
        return;
    }
    if (local && str_trim(local->text).n != local->text.n)
        field_error(errors, FIELD_INVALID, &local_path, local,
                    "must not be padded with whitespace");
    else if (!local || str_empty(local->text))
        field_error(errors, FIELD_REQUIRED, &local_path, NULL,
                    "must be set when AppArmor type is Localhost");
    if (local && local->text.n > MAX_PROFILE)
        field_error(errors, FIELD_TOO_LONG, &local_path, NULL, "may not be more than %d bytes",
                    MAX_PROFILE);
}

/* --- Windows ---------------------------------------------------------------------------------- */

#define MAX_SPEC_KIB 64
#define MAX_DOMAIN   256
#define MAX_USER     104

static bool has_any(struct str s, const char *chars)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] && strchr(chars, s.p[i]))
            return true;
    return false;
}

static bool has_control(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            return true;
    return false;
}

static bool is_netbios(struct str s)
{
    return s.n > 0 && s.n <= 15 && s.p[0] != '.' && !has_any(s, "\\/:*?\"<>|");
}

static bool is_dns_name(struct str s)
{
    struct str part;

    while (s.p && str_split(&s, '.', &part)) {
        if (part.n == 0 || part.n > 63 || part.p[0] == '-' || part.p[part.n - 1] == '-')
            return false;
        for (size_t i = 0; i < part.n; i++)
            if (part.p[i] != '-' && !(part.p[i] >= '0' && part.p[i] <= '9') &&
                !((part.p[i] | 32) >= 'a' && (part.p[i] | 32) <= 'z'))
                return false;
    }
    return true;
}

static bool only_dots(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != '.' && s.p[i] != ' ')
            return false;
    return s.n > 0;
}

static void check_user_name(struct field_errors *errors, const struct json_value *name,
                            const struct field_path *path)
{
    size_t slash = str_find(name->text, '\\');
    bool has_domain = slash < name->text.n;
    struct str domain = has_domain ? str_slice(name->text, 0, slash) : STR("");
    struct str user = has_domain ? str_slice(name->text, slash + 1, name->text.n) : name->text;
    const char *why = str_empty(name->text)     ? "runAsUserName cannot be an empty string"
                      : has_control(name->text) ? "runAsUserName cannot contain control characters"
                      : str_find(user, '\\') < user.n
                          ? "runAsUserName cannot contain more than one backslash"
                          : NULL;

    if (why) {
        field_error(errors, FIELD_INVALID, path, name, "%s", why);
        return;
    }
    if (domain.n >= MAX_DOMAIN)
        field_error(errors, FIELD_INVALID, path, name,
                    "runAsUserName's Domain length must be under %d characters", MAX_DOMAIN);
    if (has_domain && !is_netbios(domain) && !is_dns_name(domain))
        field_error(errors, FIELD_INVALID, path, name,
                    "runAsUserName's Domain doesn't match the NetBios nor the DNS format");
    if (user.n == 0)
        field_error(errors, FIELD_INVALID, path, name, "runAsUserName's User cannot be empty");
    else if (user.n > MAX_USER)
        field_error(errors, FIELD_INVALID, path, name,
                    "runAsUserName's User length must not be longer than %d characters", MAX_USER);
    if (only_dots(user))
        field_error(errors, FIELD_INVALID, path, name,
                    "runAsUserName's User cannot contain only periods or spaces");
    if (has_any(user, "\"/\\:;|=,+*?<>@[]"))
        field_error(errors, FIELD_INVALID, path, name,
                    "runAsUserName's User cannot contain the following characters: "
                    "\"/\\:;|=,+*?<>@[]");
}

static void check_windows_options(struct field_errors *errors, const struct json_value *context,
                                  const struct field_path *parent)
{
    const struct json_value *options = json_get(context, STR("windowsOptions"));
    const struct json_value *name = json_get(options, STR("gmsaCredentialSpecName"));
    const struct json_value *spec = json_get(options, STR("gmsaCredentialSpec"));
    const struct json_value *user = json_get(options, STR("runAsUserName"));
    struct field_path path = field_child(parent, "windowsOptions");
    struct field_path name_path = field_child(&path, "gmsaCredentialSpecName");
    struct field_path user_path = field_child(&path, "runAsUserName");

    if (name)
        field_check_name(errors, &name_path, name->text, NAME_DNS_SUBDOMAIN);
    if (spec && str_empty(spec->text))
        field_error_at(errors, FIELD_INVALID, &path, "gmsaCredentialSpec", spec,
                       "gmsaCredentialSpec cannot be an empty string");
    else if (spec && spec->text.n > MAX_SPEC_KIB * 1024)
        field_error_at(errors, FIELD_INVALID, &path, "gmsaCredentialSpec", spec,
                       "gmsaCredentialSpec size must be under %d KiB", MAX_SPEC_KIB);
    if (user)
        check_user_name(errors, user, &user_path);
}

/* --- containers ------------------------------------------------------------------------------- */

static void check_escalation(struct field_errors *errors, const struct json_value *context,
                             const struct field_path *path)
{
    struct json_items added = json_items_at(context, "capabilities.add");
    struct json_value whole;

    if (json_bool_at(context, "allowPrivilegeEscalation", true))
        return;
    whole = internal_form(context, internal_security_context, errors->arena);
    if (json_bool_at(context, "privileged", false))
        field_error(errors, FIELD_INVALID, path, &whole,
                    "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    for (size_t i = 0; i < added.n; i++)
        if (added.v[i].kind == JSON_STRING && str_is(added.v[i].text, "CAP_SYS_ADMIN"))
            field_error(errors, FIELD_INVALID, path, &whole,
                        "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` "
                        "CAP_SYS_ADMIN");
}

void container_security_validate(const struct pod_check *check, const struct json_value *context,
                                 const struct field_path *path)
{
    static const char *const mounts[] = {"Default", "Unmasked", NULL};
    const struct json_value *mount = json_get(context, STR("procMount"));
    struct field_path mount_path = field_child(path, "procMount");

    if (!context)
        return;
    check_id(check->errors, context, "runAsUser", path);
    check_id(check->errors, context, "runAsGroup", path);
    if (mount) {
        field_check_enum(check->errors, &mount_path, mount->text, mounts);
        if (check->host_users && str_is(mount->text, "Unmasked"))
            field_error(check->errors, FIELD_INVALID, &mount_path, mount,
                        "`hostUsers` must be false to use `Unmasked`");
    }
    check_seccomp(check->errors, context, path);
    check_escalation(check->errors, context, path);
    check_windows_options(check->errors, context, path);
    check_apparmor(check->errors, context, path);
}

/* --- pods ------------------------------------------------------------------------------------- */

static bool sysctl_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Segments separated by dots or slashes. */
static bool is_sysctl(struct str s)
{
    if (s.n == 0 || s.n > 253)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        bool separator = s.p[i] == '.' || s.p[i] == '/';
        bool before = i > 0 && sysctl_letter(s.p[i - 1]);
        bool after = i + 1 < s.n && sysctl_letter(s.p[i + 1]);

        if (sysctl_letter(s.p[i]))
            continue;
        if (separator ? !before || !after : (s.p[i] != '-' && s.p[i] != '_'))
            return false;
    }
    return sysctl_letter(s.p[0]) && sysctl_letter(s.p[s.n - 1]);
}

static void check_sysctls(const struct pod_check *check, const struct json_value *context,
                          const struct field_path *parent)
{
    struct json_items list = json_items_at(context, "sysctls");
    struct field_path path = field_child(parent, "sysctls");
    bool host_ipc = json_bool_at(check->spec, "hostIPC", false);
    struct map names = MAP_INIT;

    for (size_t i = 0; i < list.n; i++) {
        struct field_path at = field_index(&path, i), name_path = field_child(&at, "name");
        struct json_value name = field_text(&list.v[i], "name");
        bool net = str_starts(name.text, STR("net.")) || str_starts(name.text, STR("net/"));
        bool ipc = str_starts(name.text, STR("kernel.shm")) ||
                   str_starts(name.text, STR("kernel.msg")) || str_is(name.text, "kernel.sem") ||
                   str_starts(name.text, STR("fs.mqueue."));

        if (str_empty(name.text))
            field_error(check->errors, FIELD_REQUIRED, &name_path, NULL, "%s", "");
        else if (!is_sysctl(name.text))
            field_error(check->errors, FIELD_INVALID, &name_path, &name,
                        "must have at most 253 characters and match regex "
                        "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$");
        else if (map_get(&names, name.text))
            field_error(check->errors, FIELD_DUPLICATE, &name_path, &name, "%s", "");
        if (net && check->host_network)
            field_error(check->errors, FIELD_INVALID, &name_path, &name,
                        "may not be specified when 'hostNetwork' is true");
        else if (ipc && host_ipc)
            field_error(check->errors, FIELD_INVALID, &name_path, &name,
                        "may not be specified when 'hostIPC' is true");
        map_put(&names, name.text, check->errors);
    }
    map_release(&names);
}

static void check_pod_enums(const struct pod_check *check, const struct json_value *context,
                            const struct field_path *path)
{
    static const char *const group_policies[] = {"Merge", "Strict", NULL};
    static const char *const selinux_policies[] = {"MountOption", "Recursive", NULL};
    const struct json_value *group = json_get(context, STR("supplementalGroupsPolicy"));
    const struct json_value *selinux = json_get(context, STR("seLinuxChangePolicy"));
    struct field_path group_path = field_child(path, "supplementalGroupsPolicy");
    struct field_path selinux_path = field_child(path, "seLinuxChangePolicy");

    if (group)
        field_check_enum(check->errors, &group_path, group->text, group_policies);
    if (selinux)
        field_check_enum(check->errors, &selinux_path, selinux->text, selinux_policies);
}

void pod_security_validate(const struct pod_check *check, const struct field_path *path)
{
    static const char *const change_policies[] = {"Always", "OnRootMismatch", NULL};
    const struct json_value *context = json_get(check->spec, STR("securityContext"));
    struct json_items groups = json_items_at(context, "supplementalGroups");
    const struct json_value *change = json_get(context, STR("fsGroupChangePolicy"));
    const struct json_value *share = json_get(check->spec, STR("shareProcessNamespace"));
    struct field_path group_path = field_child(path, "supplementalGroups");
    struct field_path change_path = field_child(path, "fsGroupChangePolicy");
    int64_t id;

    if (!context)
        return;
    check_id(check->errors, context, "fsGroup", path);
    check_id(check->errors, context, "runAsUser", path);
    check_id(check->errors, context, "runAsGroup", path);
    for (size_t i = 0; i < groups.n; i++) {
        struct field_path at = field_index(&group_path, i);

        if (groups.v[i].kind == JSON_NUMBER && str_to_i64(groups.v[i].text, &id))
            field_check_range(check->errors, &at, id, 0, MAX_ID);
    }
    if (share && share->boolean && json_bool_at(check->spec, "hostPID", false))
        field_error_at(check->errors, FIELD_INVALID, path, "shareProcessNamespace", share,
                       "ShareProcessNamespace and HostPID cannot both be enabled");
    check_sysctls(check, context, path);
    if (change)
        field_check_enum(check->errors, &change_path, change->text, change_policies);
    check_seccomp(check->errors, context, path);
    check_windows_options(check->errors, context, path);
    check_apparmor(check->errors, context, path);
    check_pod_enums(check, context, path);
}
