/* SPDX-License-Identifier: Apache-2.0 */
/* Annotations of pods that have a meaning. */
#include "apiserver/strategies/pod_internal.h"

#define MIRROR        "kubernetes.io/config.mirror"
#define DELETION_COST "controller.kubernetes.io/pod-deletion-cost"
#define SECCOMP_POD   "seccomp.security.alpha.kubernetes.io/pod"
#define SECCOMP       "container.seccomp.security.alpha.kubernetes.io/"
#define APPARMOR      "container.apparmor.security.beta.kubernetes.io/"

/* Upstream: no plus sign, no leading zeros, 32 bits. */
static bool is_cost(struct str s)
{
    int64_t n;
    size_t sign = str_starts(s, STR("-"));

    if (s.n > sign + 1 && s.p[sign] == '0')
        return false;
    return str_to_i64(s, &n) && n >= INT32_MIN && n <= INT32_MAX;
}

static void check_seccomp(struct field_errors *errors, struct str value,
                          const struct field_path *path)
{
    struct json_value text = json_text(value);
    struct str local = STR("localhost/");

    if (str_is(value, "runtime/default") || str_is(value, "docker/default") ||
        str_is(value, "unconfined"))
        return;
    if (str_starts(value, local))
        field_check_descending_path(errors, path, str_slice(value, local.n, value.n));
    else
        field_error(errors, FIELD_INVALID, path, &text, "must be a valid seccomp profile");
}

static bool has_container(const struct json_value *spec, struct str name)
{
    static const char *const lists[] = {"initContainers", "containers", "ephemeralContainers"};

    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        struct json_items list = json_items_at(spec, lists[l]);

        for (size_t i = 0; i < list.n; i++)
            if (str_eq(json_get_text(&list.v[i], STR("name")), name))
                return true;
    }
    return false;
}

static void check_apparmor(struct field_errors *errors, const struct json_value *spec,
                           const struct json_member *m, const struct field_path *path)
{
    struct json_value name = json_text(str_slice(m->key, strlen(APPARMOR), m->key.n));
    struct str profile = m->value.kind == JSON_STRING ? m->value.text : STR("");
    struct json_value value = json_text(profile);

    if (!has_container(spec, name.text))
        field_error(errors, FIELD_INVALID, path, &name, "container not found");
    if (!str_empty(profile) && !str_is(profile, "runtime/default") &&
        !str_is(profile, "unconfined") && !str_starts(profile, STR("localhost/")))
        field_error(errors, FIELD_INVALID, path, &value, "invalid AppArmor profile name: %.*s",
                    STR_ARG(arena_quoted(errors->arena, profile)));
}

void pod_annotations_validate(const struct json_value *meta, const struct json_value *spec,
                              const struct field_path *path, struct field_errors *errors)
{
    const struct json_value *list = json_get(meta, STR("annotations"));
    const struct json_value *mirror = json_get(list, STR(MIRROR));
    const struct json_value *cost = json_get(list, STR(DELETION_COST));
    struct field_path mirror_path = field_key(path, STR(MIRROR));
    struct field_path cost_path = field_key(path, STR(DELETION_COST));

    if (mirror && str_empty(json_get_text(spec, STR("nodeName"))))
        field_error(errors, FIELD_INVALID, &mirror_path, mirror,
                    "must set spec.nodeName if mirror pod annotation is set");
    if (cost && !is_cost(cost->text))
        field_error(errors, FIELD_INVALID, &cost_path, cost, "must be a 32bit integer");
    for (size_t i = 0; list && list->kind == JSON_OBJECT && i < list->n_members; i++) {
        const struct json_member *m = &list->members[i];
        struct field_path key = field_key(path, m->key);
        struct field_path child = {.parent = path, .name = m->key, .index = SIZE_MAX};

        if (m->value.kind != JSON_STRING)
            continue;
        if (str_is(m->key, SECCOMP_POD) || str_starts(m->key, STR(SECCOMP)))
            check_seccomp(errors, m->value.text, &child);
        if (str_starts(m->key, STR(APPARMOR)))
            check_apparmor(errors, spec, m, &key);
    }
}
