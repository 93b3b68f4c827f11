/* SPDX-License-Identifier: Apache-2.0 */
/* ConfigMaps, Secrets and ServiceAccounts. */
#include "apiserver/strategies/field_checks.h"
#include "apiserver/strategies/pod_template.h"
#include "apiserver/strategies/strategies.h"
#include "base/map.h"
#include "codec/base64.h"

#define MAX_SIZE       (1 << 20)
#define IMMUTABLE_TEXT "field is immutable when `immutable` is set"

/* Checks the keys of a map; returns the size of its values, of base64 that of the bytes. */
static size_t check_keys(const struct json_value *object, const char *member, bool base64,
                         struct field_errors *errors)
{
    struct json_members list = json_members_at(object, member);
    struct field_path path = field_child(NULL, member);
    size_t total = 0;

    for (size_t i = 0; i < list.n; i++) {
        struct field_path at = field_key(&path, list.v[i].key);
        size_t n = list.v[i].value.kind == JSON_STRING ? list.v[i].value.text.n : 0;

        field_check_name(errors, &at, list.v[i].key, NAME_CONFIG_KEY);
        total += base64 ? n / 4 * 3 : n;
    }
    return total;
}

static void check_size(struct field_errors *errors, const char *member, size_t total)
{
    struct field_path path = field_child(NULL, member);

    if (total > MAX_SIZE)
        field_error(errors, FIELD_TOO_LONG, &path, NULL, "may not be more than %d bytes", MAX_SIZE);
}

static void check_frozen(const struct json_value *object, const struct json_value *old,
                         const char *const *members, struct field_errors *errors)
{
    if (!json_bool_at(old, "immutable", false))
        return;
    if (!json_bool_at(object, "immutable", false))
        field_error_at(errors, FIELD_FORBIDDEN, NULL, "immutable", NULL, IMMUTABLE_TEXT);
    for (size_t i = 0; members[i]; i++)
        if (!field_equal(json_get(object, str_of(members[i])), json_get(old, str_of(members[i]))))
            field_error_at(errors, FIELD_FORBIDDEN, NULL, members[i], NULL, IMMUTABLE_TEXT);
}

/* --- configmaps ------------------------------------------------------------------------------- */

static void validate_configmap(const struct json_value *object, struct field_errors *errors)
{
    struct json_members data = json_members_at(object, "data");
    struct json_members binary = json_members_at(object, "binaryData");
    struct field_path path = field_child(NULL, "data");
    struct map keys = MAP_INIT;
    size_t total = check_keys(object, "data", false, errors);

    for (size_t i = 0; i < binary.n; i++)
        map_put(&keys, binary.v[i].key, (void *)(uintptr_t)object);
    for (size_t i = 0; i < data.n; i++) {
        struct field_path at = field_key(&path, data.v[i].key);
        struct json_value key = json_text(data.v[i].key);

        if (map_get(&keys, data.v[i].key))
            field_error(errors, FIELD_INVALID, &at, &key, "duplicate of key present in binaryData");
    }
    map_release(&keys);
    total += check_keys(object, "binaryData", true, errors);
    check_size(errors, "", total);
}

static void validate_configmap_update(const struct json_value *object, const struct json_value *old,
                                      struct field_errors *errors)
{
    static const char *const members[] = {"data", "binaryData", NULL};

    check_frozen(object, old, members, errors);
}

/* --- secrets ---------------------------------------------------------------------------------- */

/* The members of stringData move to data, which holds base64. */
static void default_secret(struct json_value *object, struct arena *a)
{
    struct json_members plain = json_members_at(object, "stringData");
    struct json_value *data = plain.n > 0 ? json_set_object(object, STR("data"), a) : NULL;

    plain = json_members_at(object, "stringData");
    for (size_t i = 0; i < plain.n; i++) {
        struct buf b = BUF_INIT;

        if (plain.v[i].value.kind == JSON_STRING)
            base64_encode(plain.v[i].value.text, &b);
        json_set(data, plain.v[i].key, json_text(arena_dup(a, buf_str(&b))), a);
        buf_release(&b);
    }
    json_remove(object, STR("stringData"));
    default_text(object, "type", "Opaque", a);
}

static void require_key(const struct json_value *object, const char *key,
                        struct field_errors *errors)
{
    struct field_path path = field_child(NULL, "data"), at = field_key(&path, str_of(key));

    if (!json_get(json_get(object, STR("data")), str_of(key)))
        field_error(errors, FIELD_REQUIRED, &at, NULL, "%s", "");
}

/* The content must be a JSON object; upstream writes what its parser says. */
static void check_json_key(const struct json_value *object, const char *key,
                           struct field_errors *errors)
{
    const struct json_value *text = json_get(json_get(object, STR("data")), str_of(key));
    struct field_path path = field_child(NULL, "data"), at = field_key(&path, str_of(key));
    struct json_value redacted = json_text(STR("<secret contents redacted>")), tree;
    char *bytes;
    size_t n = 0;

    require_key(object, key, errors);
    if (!text || text->kind != JSON_STRING)
        return;
    bytes = arena_alloc(errors->arena, BASE64_DECODED_MAX(text->text.n), 1);
    if (!base64_decode(text->text, bytes, &n) || n == 0)
        field_error(errors, FIELD_INVALID, &at, &redacted, "unexpected end of JSON input");
    else if (json_parse((struct str){bytes, n}, 0, errors->arena, &tree, NULL) < 0)
        field_error(errors, FIELD_INVALID, &at, &redacted, "invalid character");
    else if (tree.kind != JSON_OBJECT && tree.kind != JSON_NULL)
        field_error(errors, FIELD_INVALID, &at, &redacted,
                    "json: cannot unmarshal into Go value of type map[string]interface {}");
}

static void check_secret_type(const struct json_value *object, struct field_errors *errors)
{
    struct str type = json_get_text(object, STR("type"));
    const struct json_value *data = json_get(object, STR("data"));

    if (str_is(type, "kubernetes.io/service-account-token")) {
        struct field_path meta = field_child(NULL, "metadata");
        struct field_path list = field_child(&meta, "annotations");
        struct field_path at = field_key(&list, STR("kubernetes.io/service-account.name"));
        const struct json_value *annotations = json_at(object, "metadata.annotations");

        if (str_empty(json_get_text(annotations, STR("kubernetes.io/service-account.name"))))
            field_error(errors, FIELD_REQUIRED, &at, NULL, "%s", "");
    } else if (str_is(type, "kubernetes.io/dockercfg")) {
        check_json_key(object, ".dockercfg", errors);
    } else if (str_is(type, "kubernetes.io/dockerconfigjson")) {
        check_json_key(object, ".dockerconfigjson", errors);
    } else if (str_is(type, "kubernetes.io/basic-auth")) {
        if (!json_get(data, STR("username")) && !json_get(data, STR("password"))) {
            require_key(object, "username", errors);
            require_key(object, "password", errors);
        }
    } else if (str_is(type, "kubernetes.io/ssh-auth")) {
        if (str_empty(json_get_text(data, STR("ssh-privatekey")))) {
            struct field_path path = field_child(NULL, "data");
            struct field_path at = field_key(&path, STR("ssh-privatekey"));

            field_error(errors, FIELD_REQUIRED, &at, NULL, "%s", "");
        }
    } else if (str_is(type, "kubernetes.io/tls")) {
        require_key(object, "tls.crt", errors);
        require_key(object, "tls.key", errors);
    }
}

static void validate_secret(const struct json_value *object, struct field_errors *errors)
{
    size_t total = check_keys(object, "data", true, errors);

    check_size(errors, "data", total);
    check_secret_type(object, errors);
}

static void validate_secret_update(const struct json_value *object, const struct json_value *old,
                                   struct field_errors *errors)
{
    static const char *const members[] = {"data", NULL};
    struct field_path type = field_child(NULL, "type");

    field_check_immutable(errors, &type, json_get(object, STR("type")), json_get(old, STR("type")));
    check_frozen(object, old, members, errors);
}

/* --- serviceaccounts -------------------------------------------------------------------------- */

/* Only the names of secrets are kept. */
static void default_account(struct json_value *object, struct arena *a)
{
    struct json_value *list = json_member(object, STR("secrets"));

    for (size_t i = 0; list && list->kind == JSON_ARRAY && i < list->n; i++) {
        struct str name = json_get_text(&list->items[i], STR("name"));

        list->items[i] = json_object();
        if (!str_empty(name))
            json_set(&list->items[i], STR("name"), json_text(name), a);
    }
}

#define ENFORCE "kubernetes.io/enforce-mountable-secrets"

static void warn_account(const struct json_value *object, struct buf *warnings, struct arena *a)
{
    (void)a;
    if (json_get(json_at(object, "metadata.annotations"), STR(ENFORCE)))
        buf_add_cstr(warnings, "metadata.annotations[" ENFORCE
                               "]: deprecated in v1.32+; prefer separate namespaces to isolate "
                               "access to mounted secrets\n");
}

static const char *const secret_fields[] = {"type", NULL};

const struct strategy config_strategies[] = {
    {
        .plural = STR_INIT("configmaps"),
        .validate = validate_configmap,
        .validate_update = validate_configmap_update,
        .no_status = true,
        .unconditional_update = true,
    },
    {
        .plural = STR_INIT("secrets"),
        .set_defaults = default_secret,
        .validate = validate_secret,
        .validate_update = validate_secret_update,
        .fields = secret_fields,
        .no_status = true,
        .unconditional_update = true,
    },
    {
        .plural = STR_INIT("serviceaccounts"),
        .set_defaults = default_account,
        .warn = warn_account,
        .no_status = true,
        .unconditional_update = true,
    },
    {.plural = STR_INIT("")},
};
