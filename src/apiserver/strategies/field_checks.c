/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/strategies/field_checks.h"

#include "api/selector.h"
#include "base/map.h"

/* --- errors ----------------------------------------------------------------------------------- */

void field_error_at(struct field_errors *errors, enum field_error_type type,
                    const struct field_path *parent, const char *member,
                    const struct json_value *value, const char *fmt, ...)
{
    struct field_path path = field_child(parent, member);
    struct buf detail = BUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    buf_add_vprintf(&detail, fmt, ap);
    va_end(ap);
    field_error(errors, type, &path, value, "%.*s", STR_ARG(buf_str(&detail)));
    buf_release(&detail);
}

void field_required(struct field_errors *errors, const struct field_path *parent,
                    const char *member)
{
    field_error_at(errors, FIELD_REQUIRED, parent, member, NULL, "%s", "");
}

struct json_value field_text(const struct json_value *object, const char *member)
{
    return json_text(json_get_text(object, str_of(member)));
}

struct json_value field_number(const struct json_value *object, const char *member)
{
    const struct json_value *v = json_get(object, str_of(member));

    if (v && v->kind == JSON_NUMBER)
        return *v;
    return (struct json_value){.kind = JSON_NUMBER, .text = STR_INIT("0")};
}

/* --- label selectors -------------------------------------------------------------------------- */

static void check_requirement(struct field_errors *errors, const struct field_path *path,
                              const struct json_value *e)
{
    struct json_value operator= field_text(e, "operator");
    struct json_items values = json_items_at(e, "values");
    struct field_path key = field_child(path, "key"), list = field_child(path, "values");

    if (str_is(operator.text, "In") || str_is(operator.text, "NotIn")) {
        if (values.n == 0)
            field_error(errors, FIELD_REQUIRED, &list, NULL,
                        "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (str_is(operator.text, "Exists") || str_is(operator.text, "DoesNotExist")) {
        if (values.n > 0)
            field_error(errors, FIELD_FORBIDDEN, &list, NULL,
                        "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    } else {
        field_error_at(errors, FIELD_INVALID, path, "operator", &operator,
                       "not a valid selector operator");
    }
    field_check_name(errors, &key, json_get_text(e, STR("key")), NAME_QUALIFIED);
    for (size_t i = 0; i < values.n; i++) {
        struct field_path at = field_index(&list, i);

        if (values.v[i].kind == JSON_STRING)
            field_check_name(errors, &at, values.v[i].text, NAME_LABEL_VALUE);
    }
}

void field_check_label_selector(struct field_errors *errors, const struct field_path *path,
                                const struct json_value *selector)
{
    struct json_items list = json_items_at(selector, "matchExpressions");
    struct field_path labels = field_child(path, "matchLabels");
    struct field_path expressions = field_child(path, "matchExpressions");

    if (!selector)
        return;
    field_check_labels(errors, &labels, json_get(selector, STR("matchLabels")));
    for (size_t i = 0; i < list.n; i++) {
        struct field_path at = field_index(&expressions, i);

        check_requirement(errors, &at, &list.v[i]);
    }
}

bool label_selector_empty(const struct json_value *selector)
{
    return json_members_at(selector, "matchLabels").n +
               json_items_at(selector, "matchExpressions").n ==
           0;
}

static bool expression_matches(const struct json_value *e, const struct map *labels)
{
    const struct json_value *label = map_get(labels, json_get_text(e, STR("key")));
    struct str operator= json_get_text(e, STR("operator"));
    const struct json_value *values = json_get(e, STR("values"));
    bool has = label && list_has_string(values, label->text);

    if (str_is(operator, "In"))
        return has;
    if (str_is(operator, "NotIn"))
        return !has;
    if (str_is(operator, "Exists"))
        return label != NULL;
    return str_is(operator, "DoesNotExist") && !label;
}

bool label_selector_matches(const struct json_value *selector, const struct json_value *labels)
{
    struct json_members have = {0}, want = json_members_at(selector, "matchLabels");
    struct json_items list = json_items_at(selector, "matchExpressions");
    struct map map = MAP_INIT;
    bool ok = selector != NULL;

    if (labels && labels->kind == JSON_OBJECT)
        have = (struct json_members){labels->members, labels->n_members};
    for (size_t i = 0; i < have.n; i++)
        if (have.v[i].value.kind == JSON_STRING)
            map_put(&map, have.v[i].key, (void *)(uintptr_t)&have.v[i].value);
    for (size_t i = 0; ok && i < want.n; i++) {
        const struct json_value *label = map_get(&map, want.v[i].key);

        ok = label && json_value_equal(label, &want.v[i].value);
    }
    for (size_t i = 0; ok && i < list.n; i++)
        ok = expression_matches(&list.v[i], &map);
    map_release(&map);
    return ok;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static int64_t number_of(const struct json_value *v)
{
    int64_t n = 0;

    if (v && v->kind == JSON_NUMBER && !str_to_i64(v->text, &n))
        return 0;
    return n;
}

bool field_check_nonnegative(struct field_errors *errors, const struct field_path *path,
                             const struct json_value *number)
{
    if (number_of(number) >= 0)
        return true;
    field_error(errors, FIELD_INVALID, path, number, FIELD_NONNEGATIVE_TEXT);
    return false;
}

bool field_check_range(struct field_errors *errors, const struct field_path *path, int64_t number,
                       int64_t min, int64_t max)
{
    struct json_value value = json_int(number, errors->arena);

    if (number >= min && number <= max)
        return true;
    field_error(errors, FIELD_INVALID, path, &value, "must be between %lld and %lld, inclusive",
                (long long)min, (long long)max);
    return false;
}

bool field_check_port(struct field_errors *errors, const struct field_path *path, int64_t number)
{
    return field_check_range(errors, path, number, 1, 65535);
}

static bool port_charset(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != '-' && !(s.p[i] >= 'a' && s.p[i] <= 'z') && !(s.p[i] >= '0' && s.p[i] <= '9'))
            return false;
    return s.n > 0;
}

static bool has_letter(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] >= 'a' && s.p[i] <= 'z')
            return true;
    return false;
}

bool field_check_port_name(struct field_errors *errors, const struct field_path *path,
                           struct str name)
{
    struct json_value value = json_text(name);
    size_t before = errors->n;

    if (name.n > 15)
        field_error(errors, FIELD_INVALID, path, &value, "must be no more than 15 characters");
    if (!port_charset(name))
        field_error(errors, FIELD_INVALID, path, &value,
                    "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    if (!has_letter(name))
        field_error(errors, FIELD_INVALID, path, &value, "must contain at least one letter (a-z)");
    if (str_search(name, STR("--")) < name.n)
        field_error(errors, FIELD_INVALID, path, &value, "must not contain consecutive hyphens");
    if (name.n > 0 && (name.p[0] == '-' || name.p[name.n - 1] == '-'))
        field_error(errors, FIELD_INVALID, path, &value, "must not begin or end with a hyphen");
    return errors->n == before;
}

int64_t percent_of(const struct json_value *value)
{
    int64_t n;

    if (!value || value->kind != JSON_STRING || !str_ends(value->text, STR("%")) ||
        str_starts(value->text, STR("-")) ||
        !str_to_i64(str_slice(value->text, 0, value->text.n - 1), &n))
        return -1;
    return n;
}

bool field_check_int_or_percent(struct field_errors *errors, const struct field_path *path,
                                const struct json_value *value)
{
    if (!value || value->kind != JSON_STRING)
        return field_check_nonnegative(errors, path, value);
    if (percent_of(value) >= 0)
        return true;
    field_error(errors, FIELD_INVALID, path, value,
                "a valid percent string must be a numeric string followed by an ending '%%' (e.g. "
                "'1%%',  or '93%%', regex used for validation is '[0-9]+%%')");
    return false;
}

bool field_check_percent_limit(struct field_errors *errors, const struct field_path *path,
                               const struct json_value *value)
{
    if (percent_of(value) <= 100)
        return true;
    field_error(errors, FIELD_INVALID, path, value, "must not be greater than 100%%");
    return false;
}

/* --- texts ------------------------------------------------------------------------------------ */

bool text_is_one_of(struct str text, const char *const *supported)
{
    for (size_t i = 0; supported[i]; i++)
        if (str_is(text, supported[i]))
            return true;
    return false;
}

bool field_check_enum(struct field_errors *errors, const struct field_path *path, struct str text,
                      const char *const *supported)
{
    struct json_value value = json_text(text);

    if (text_is_one_of(text, supported))
        return true;
    field_not_supported(errors, path, &value, supported);
    return false;
}

bool list_has_string(const struct json_value *list, struct str text)
{
    for (size_t i = 0; list && list->kind == JSON_ARRAY && i < list->n; i++)
        if (list->items[i].kind == JSON_STRING && str_eq(list->items[i].text, text))
            return true;
    return false;
}

/* --- changes ---------------------------------------------------------------------------------- */

static bool is_empty(const struct json_value *v)
{
    if (!v)
        return true;
    switch (v->kind) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return !v->boolean;
    case JSON_NUMBER:
        return str_is(v->text, "0");
    case JSON_STRING:
        return v->text.n == 0;
    case JSON_ARRAY:
        return v->n == 0;
    case JSON_OBJECT:
        for (size_t i = 0; i < v->n_members; i++)
            if (!is_empty(&v->members[i].value))
                return false;
        return true;
    }
    return false;
}

/* Members for which false and missing differ: pointers in upstream's structs. */
static bool false_counts(struct str key, const struct json_value *v)
{
    static const char *const keys[] = {
        "allowPrivilegeEscalation",
        "automountServiceAccountToken",
        "enableServiceLinks",
        "hostUsers",
        "privileged",
        "readOnlyRootFilesystem",
        "runAsNonRoot",
        "setHostnameAsFQDN",
        "shareProcessNamespace",
        NULL,
    };

    return v && v->kind == JSON_BOOL && !v->boolean && text_is_one_of(key, keys);
}

/* Every member of a is that of b; those of b that a lacks are empty. Linear in both. */
static bool members_equal(const struct json_value *a, const struct json_value *b)
{
    struct map map = MAP_INIT;
    size_t found = 0;
    bool ok = true;

    for (size_t i = 0; i < b->n_members; i++)
        map_put(&map, b->members[i].key, &b->members[i].value);
    for (size_t i = 0; ok && i < a->n_members; i++) {
        const struct json_value *other = map_del(&map, a->members[i].key);

        found += other != NULL;
        ok = field_equal(&a->members[i].value, other) &&
             (other || !false_counts(a->members[i].key, &a->members[i].value));
    }
    if (ok && found < b->n_members)
        map_each (e, &map)
            ok = ok && is_empty(e->value);
    map_release(&map);
    return ok;
}

bool field_equal(const struct json_value *a, const struct json_value *b)
{
    if (is_empty(a) || is_empty(b))
        return is_empty(a) && is_empty(b);
    if (a->kind != b->kind)
        return false;
    if (a->kind == JSON_OBJECT)
        return members_equal(a, b);
    if (a->kind != JSON_ARRAY)
        return json_value_equal(a, b);
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!field_equal(&a->items[i], &b->items[i]))
            return false;
    return true;
}

bool field_check_immutable(struct field_errors *errors, const struct field_path *path,
                           const struct json_value *value, const struct json_value *old)
{
    if (field_equal(value, old))
        return true;
    field_error(errors, FIELD_INVALID, path, value, FIELD_IMMUTABLE_TEXT);
    return false;
}
