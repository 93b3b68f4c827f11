/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/strategies/resource_names.h"

#include "apiserver/types/amounts.h"

#define COUNTED                                                                              \
    "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps", \
        "persistentvolumeclaims", "services.nodeports", "services.loadbalancers"
#define COMPUTED                                                             \
    "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", \
        "requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage"

static const char *const counted[] = {COUNTED, NULL};
static const char *const standard[] = {COMPUTED, COUNTED, "storage", "requests.storage", NULL};
static const char *const quota[] = {COMPUTED, COUNTED, "requests.storage", NULL};
static const char *const of_containers[] = {"cpu", "memory", "ephemeral-storage", NULL};

static bool has_slash(struct str name)
{
    return str_find(name, '/') < name.n;
}

bool resource_name_is_hugepages(struct str name)
{
    return str_starts(name, STR("hugepages-"));
}

static bool is_quota_hugepages(struct str name)
{
    return resource_name_is_hugepages(name) || str_starts(name, STR("requests.hugepages-"));
}

bool resource_name_is_native(struct str name)
{
    return !has_slash(name) || str_search(name, STR("kubernetes.io/")) < name.n;
}

bool resource_name_is_extended(struct str name, struct arena *a)
{
    return !resource_name_is_native(name) && !str_starts(name, STR("requests.")) &&
           name_valid(arena_printf(a, "requests.%.*s", STR_ARG(name)), NAME_QUALIFIED);
}

bool resource_name_overcommits(struct str name)
{
    return resource_name_is_native(name) && !resource_name_is_hugepages(name);
}

bool resource_name_is_standard_quota(struct str name)
{
    return text_is_one_of(name, quota) || is_quota_hugepages(name);
}

static bool is_integer(struct str name, struct arena *a)
{
    return text_is_one_of(name, counted) || resource_name_is_extended(name, a);
}

static bool refuse(struct field_errors *errors, const struct field_path *path, struct str name,
                   const char *why)
{
    struct json_value value = json_text(name);

    field_error(errors, FIELD_INVALID, path, &value, "%s", why);
    return false;
}

bool field_check_resource_name(struct field_errors *errors, const struct field_path *path,
                               struct str name)
{
    if (!field_check_name(errors, path, name, NAME_QUALIFIED))
        return false;
    if (has_slash(name) || text_is_one_of(name, standard) || is_quota_hugepages(name))
        return true;
    return refuse(errors, path, name, "must be a standard resource type or fully qualified");
}

bool field_check_container_resource_name(struct field_errors *errors, const struct field_path *path,
                                         struct str name)
{
    bool valid = field_check_resource_name(errors, path, name);

    if (!has_slash(name)) {
        if (!text_is_one_of(name, of_containers) && !resource_name_is_hugepages(name))
            return refuse(errors, path, name, "must be a standard resource for containers");
    } else if (!resource_name_is_native(name) && !resource_name_is_extended(name, errors->arena)) {
        return refuse(errors, path, name, "doesn't follow extended resource name standard");
    }
    return valid;
}

bool field_check_quota_resource_name(struct field_errors *errors, const struct field_path *path,
                                     struct str name)
{
    bool valid = field_check_resource_name(errors, path, name);

    if (!has_slash(name) && !resource_name_is_standard_quota(name))
        return refuse(errors, path, name, "must be a standard resource for quota");
    return valid;
}

struct quantity quantity_at(const struct json_value *value, struct arena *a)
{
    struct quantity q = {0};

    if (!value || (value->kind != JSON_STRING && value->kind != JSON_NUMBER) ||
        quantity_parse(value->text, a, &q, NULL) < 0)
        return (struct quantity){0};
    return q;
}

bool field_check_nonnegative_quantity(struct field_errors *errors, const struct field_path *path,
                                      const struct json_value *value)
{
    struct quantity q = quantity_at(value, errors->arena);
    struct json_value text = json_text(quantity_text(&q, errors->arena));

    if (quantity_sign(&q) >= 0)
        return true;
    field_error(errors, FIELD_INVALID, path, &text, FIELD_NONNEGATIVE_TEXT);
    return false;
}

void field_check_resource_quantity(struct field_errors *errors, const struct field_path *path,
                                   struct str name, const struct json_value *value)
{
    struct quantity q = quantity_at(value, errors->arena);
    struct json_value text = json_text(quantity_text(&q, errors->arena));

    field_check_nonnegative_quantity(errors, path, value);
    if (is_integer(name, errors->arena) && quantity_milli_value(&q) % 1000 != 0)
        field_error(errors, FIELD_INVALID, path, &text, "must be an integer");
}
