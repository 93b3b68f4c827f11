/* SPDX-License-Identifier: Apache-2.0 */
/* Requests, limits and claims of containers and pods. */
#include "api/resources.h"
#include "apiserver/strategies/internal_form.h"
#include "apiserver/strategies/pod_internal.h"
#include "apiserver/strategies/resource_names.h"
#include "apiserver/types/amounts.h"

/* What a list of resources has, for the rule about huge pages. */
struct seen_resources {
    bool compute, hugepages;
};

static bool is_divisible(struct str name, const struct quantity *q, struct arena *a)
{
    struct str size = str_slice(name, strlen("hugepages-"), name.n);
    struct quantity page;

    if (quantity_parse(size, a, &page, NULL) < 0 || quantity_sign(&page) <= 0 ||
        quantity_milli_value(&page) % 1000 != 0)
        return false;
    return quantity_value(q) % quantity_value(&page) == 0;
}

static bool is_pod_level(struct str name)
{
    return str_is(name, "cpu") || str_is(name, "memory") || resource_name_is_hugepages(name);
}

static void check_name(const struct pod_check *check, struct str name, bool pod_level,
                       const struct field_path *path)
{
    static const char *const supported[] = {"cpu", "hugepages-", "memory", NULL};

    if (!pod_level) {
        field_check_container_resource_name(check->errors, path, name);
        return;
    }
    if (field_check_resource_name(check->errors, path, name) && !is_pod_level(name))
        field_check_enum(check->errors, path, name, supported);
}

static void check_entry(const struct pod_check *check, const struct json_member *entry,
                        bool pod_level, const struct field_path *path, struct seen_resources *seen)
{
    check_name(check, entry->key, pod_level, path);
    field_check_resource_quantity(check->errors, path, entry->key, &entry->value);
    seen->compute |= str_is(entry->key, "cpu") || str_is(entry->key, "memory");
    seen->hugepages |= resource_name_is_hugepages(entry->key);
}

static void check_hugepages(const struct pod_check *check, const struct json_member *entry,
                            const struct field_path *path)
{
    struct quantity q = quantity_at(&entry->value, check->errors->arena);
    struct str text = quantity_text(&q, check->errors->arena);
    struct json_value value = json_text(text);

    if (resource_name_is_hugepages(entry->key) &&
        !is_divisible(entry->key, &q, check->errors->arena))
        field_error(check->errors, FIELD_INVALID, path, &value,
                    "%.*s is not positive integer multiple of %.*s", STR_ARG(text),
                    STR_ARG(entry->key));
}

static void check_against_limit(const struct pod_check *check, const struct json_member *request,
                                const struct json_value *limit, const struct field_path *limits,
                                const struct field_path *requests)
{
    struct arena *a = check->errors->arena;
    struct quantity want = quantity_at(&request->value, a), most = quantity_at(limit, a);
    struct json_value value = json_text(quantity_text(&want, a));
    int cmp = quantity_cmp(&want, &most);

    if (!limit) {
        if (!resource_name_overcommits(request->key))
            field_error(check->errors, FIELD_REQUIRED, limits, NULL,
                        "Limit must be set for non overcommitable resources");
    } else if (cmp != 0 && !resource_name_overcommits(request->key)) {
        field_error(check->errors, FIELD_INVALID, requests, &value,
                    "must be equal to %.*s limit of %.*s", STR_ARG(request->key),
                    STR_ARG(quantity_text(&most, a)));
    } else if (cmp > 0) {
        field_error(check->errors, FIELD_INVALID, requests, &value,
                    "must be less than or equal to %.*s limit of %.*s", STR_ARG(request->key),
                    STR_ARG(quantity_text(&most, a)));
    }
}

/* --- claims ----------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* " which is empty", or the names in order. */
static struct str claim_names(const struct pod_check *check)
{
    struct arena *a = check->errors->arena;
    struct str *v = arena_array(a, struct str, check->claims.n), text;
    struct buf b = BUF_INIT;
    size_t n = 0;

    if (check->claims.n == 0)
        return STR(" which is empty");
    map_each (e, &check->claims)
        v[n++] = e->key;
    qsort(v, n, sizeof(*v), by_text);
    for (size_t i = 0; i < n; i++)
        buf_add_printf(&b, "%s%.*s", i ? ", " : ": ", STR_ARG(v[i]));
    text = arena_dup(a, buf_str(&b));
    buf_release(&b);
    return text;
}

/* whole: claims that were named without a request; parts: those with one, and "name/request". */
static void check_claim(const struct pod_check *check, const struct json_value *claim,
                        struct map *whole, struct map *parts, const struct field_path *path)
{
    struct field_errors *errors = check->errors;
    struct json_value name = field_text(claim, "name");
    struct str request = json_get_text(claim, STR("request"));
    struct field_path request_path = field_child(path, "request");
    struct json_value key = name;

    if (str_empty(name.text)) {
        field_error(errors, FIELD_REQUIRED, path, NULL, "%s", "");
        return;
    }
    if (map_get(whole, name.text)) {
        field_error(errors, FIELD_DUPLICATE, path, &name, "%s", "");
    } else if (str_empty(request)) {
        if (map_get(parts, name.text))
            field_error(errors, FIELD_DUPLICATE, path, &name, "%s", "");
        map_put(whole, name.text, errors);
    } else {
        field_check_name(errors, &request_path, request, NAME_DNS_LABEL);
        key = json_text(
            arena_printf(errors->arena, "%.*s/%.*s", STR_ARG(name.text), STR_ARG(request)));
        if (map_put(parts, key.text, errors))
            field_error(errors, FIELD_DUPLICATE, path, &key, "%s", "");
        map_put(parts, name.text, errors);
    }
    if (!map_get(&check->claims, name.text))
        field_error(errors, FIELD_NOT_FOUND, path, &name,
                    "must be one of the names in pod.spec.resourceClaims%.*s",
                    STR_ARG(claim_names(check)));
}

static void check_claims(const struct pod_check *check, const struct json_value *requirements,
                         const struct field_path *parent)
{
    struct json_items list = json_items_at(requirements, "claims");
    struct field_path path = field_child(parent, "claims");
    struct map whole = MAP_INIT, parts = MAP_INIT;

    for (size_t i = 0; i < list.n; i++) {
        struct field_path at = field_index(&path, i);

        check_claim(check, &list.v[i], &whole, &parts, &at);
    }
    map_release(&whole);
    map_release(&parts);
}

void resource_requirements_validate(const struct pod_check *check,
                                    const struct json_value *requirements, bool pod_level,
                                    const struct field_path *path)
{
    struct json_members limits = json_members_at(requirements, "limits");
    struct json_members requests = json_members_at(requirements, "requests");
    struct field_path limit_path = field_child(path, "limits");
    struct field_path request_path = field_child(path, "requests");
    struct seen_resources seen = {0};
    struct map by_name = MAP_INIT;

    for (size_t i = 0; i < limits.n; i++) {
        struct field_path at = field_key(&limit_path, limits.v[i].key);

        check_entry(check, &limits.v[i], pod_level, &at, &seen);
        check_hugepages(check, &limits.v[i], &at);
        map_put(&by_name, limits.v[i].key, (void *)(uintptr_t)&limits.v[i].value);
    }
    for (size_t i = 0; i < requests.n; i++) {
        struct field_path at = field_key(&request_path, requests.v[i].key);

        check_entry(check, &requests.v[i], pod_level, &at, &seen);
        check_against_limit(check, &requests.v[i], map_get(&by_name, requests.v[i].key),
                            &limit_path, &request_path);
        check_hugepages(check, &requests.v[i], &at);
    }
    if (seen.hugepages && !seen.compute)
        field_error(check->errors, FIELD_FORBIDDEN, path, NULL, "HugePages require cpu or memory");
    check_claims(check, requirements, path);
    map_release(&by_name);
}

static void check_pod_claim(const struct pod_check *check, const struct json_value *claim,
                            struct map *names, const struct field_path *path)
{
    static const char *const members[] = {"resourceClaimName", "resourceClaimTemplateName"};
    struct field_errors *errors = check->errors;
    struct json_value name = field_text(claim, "name"), whole;
    struct field_path name_path = field_child(path, "name");
    bool has[2];

    if (str_empty(name.text))
        field_error(errors, FIELD_REQUIRED, &name_path, NULL, "%s", "");
    else if (map_put(names, name.text, errors))
        field_error(errors, FIELD_DUPLICATE, &name_path, &name, "%s", "");
    else
        field_check_name(errors, &name_path, name.text, NAME_DNS_LABEL);
    has[0] = json_get(claim, str_of(members[0])) != NULL;
    has[1] = json_get(claim, str_of(members[1])) != NULL;
    if (has[0] == has[1]) {
        whole = internal_form(claim, internal_pod_claim, errors->arena);
        field_error(errors, FIELD_INVALID, path, &whole, "%s",
                    has[0] ? "at most one of `resourceClaimName` or `resourceClaimTemplateName` "
                             "may be specified"
                           : "must specify one of: `resourceClaimName`, "
                             "`resourceClaimTemplateName`");
    }
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        struct field_path at = field_child(path, members[i]);

        if (has[i])
            field_check_name(errors, &at, json_get_text(claim, str_of(members[i])),
                             NAME_DNS_SUBDOMAIN);
    }
}

void pod_claims_validate(struct pod_check *check, const struct field_path *path)
{
    struct json_items list = json_items_at(check->spec, "resourceClaims");
    bool mirror = json_get(json_get(check->meta, STR("annotations")),
                           STR("kubernetes.io/config.mirror")) != NULL;
    struct field_path nowhere = field_child(NULL, "");
    struct map names = MAP_INIT;

    for (size_t i = 0; i < list.n; i++) {
        struct str name = json_get_text(&list.v[i], STR("name"));
        struct field_path at = field_index(path, i);

        if (!str_empty(name))
            map_put(&check->claims, name, (void *)(uintptr_t)&list.v[i]);
        if (mirror)
            field_error(check->errors, FIELD_FORBIDDEN, &nowhere, NULL,
                        "static pods do not support resource claims");
        else
            check_pod_claim(check, &list.v[i], &names, &at);
    }
    map_release(&names);
}

/* --- pod-level resources ---------------------------------------------------------------------- */

static void check_sums(const struct pod_check *check, const quantity_map *sums, bool limits,
                       const struct field_path *path)
{
    const struct json_value *list =
        json_at(check->spec, limits ? "resources.limits" : "resources.requests");
    struct field_path at = field_child(path, limits ? "limits" : "requests");
    struct arena *a = check->errors->arena;

    for (size_t i = 0; i < sums->n; i++) {
        const struct json_value *own = json_get(list, sums->v[i].key);
        struct field_path key = field_key(&at, sums->v[i].key);
        struct quantity q = quantity_at(own, a);
        struct json_value value = json_text(quantity_text(&q, a));

        if (!own || quantity_cmp(&sums->v[i].value, &q) <= 0 ||
            (limits && !resource_name_is_hugepages(sums->v[i].key)))
            continue;
        field_error(check->errors, FIELD_INVALID, &key, &value,
                    "must be greater than or equal to aggregate container %s of %.*s",
                    limits ? "limits" : "requests", STR_ARG(quantity_text(&sums->v[i].value, a)));
    }
}

static void check_container_limits(const struct pod_check *check, const struct field_path *path)
{
    struct json_items list = json_items_at(check->spec, "containers");
    const struct json_value *most = json_at(check->spec, "resources.limits");
    struct field_path containers = field_child(path, "containers");
    struct arena *a = check->errors->arena;

    for (size_t i = 0; i < list.n; i++) {
        struct json_members limits = json_members_at(&list.v[i], "resources.limits");
        struct field_path at = field_index(&containers, i);

        for (size_t j = 0; j < limits.n; j++) {
            const struct json_value *of_pod = json_get(most, limits.v[j].key);
            struct quantity pod = quantity_at(of_pod, a), own = quantity_at(&limits.v[j].value, a);
            struct json_value value = json_text(quantity_text(&own, a));
            struct field_path key = field_key(&at, limits.v[j].key);

            if (of_pod && quantity_cmp(&own, &pod) > 0)
                field_error_at(check->errors, FIELD_INVALID, &key, "limits", &value,
                               "must be less than or equal to pod limits of %.*s",
                               STR_ARG(quantity_text(&pod, a)));
        }
    }
}

void pod_resources_validate(const struct pod_check *check, const struct field_path *parent)
{
    const struct json_value *resources = json_get(check->spec, STR("resources"));
    struct field_path path = field_child(parent, "resources");
    quantity_map requests = {0}, limits = {0};
    struct pod pod = {0};

    if (!resources)
        return;
    if (str_is(json_get_text(check->os, STR("name")), "windows")) {
        field_error(check->errors, FIELD_FORBIDDEN, &path, NULL,
                    "may not be set for a windows pod");
        return;
    }
    if (json_get(resources, STR("claims")))
        field_error_at(check->errors, FIELD_FORBIDDEN, &path, "claims", NULL,
                       "claims may not be set for Resources at pod-level");
    resource_requirements_validate(check, resources, true, &path);
    if (json_value_decode(check->spec, &pod_spec_type, 0, check->errors->arena, &pod.spec, NULL) <
        0)
        return;
    pod.spec.resources = NULL;
    pod.spec.overhead = (quantity_map){0};
    pod_requests(&pod, &RESOURCE_GATES_DEFAULT, NULL, check->errors->arena, &requests);
    pod_limits(&pod, check->errors->arena, &limits);
    check_sums(check, &requests, false, &path);
    check_sums(check, &limits, true, &path);
    check_container_limits(check, &path);
}
