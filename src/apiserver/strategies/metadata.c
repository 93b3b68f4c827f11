/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of metadata, for all resources. */
#include "apiserver/strategies/names.h"
#include "apiserver/strategies/strategy.h"

/* Resources whose names are not DNS subdomains. */
static const struct {
    const char *group, *plural;
    enum name_format format;
} name_formats[] = {
    {"", "namespaces", NAME_DNS_LABEL},
    {"", "services", NAME_DNS_LABEL},
    {"apps", "statefulsets", NAME_DNS_LABEL},
    {"apiextensions.k8s.io", "customresourcedefinitions", NAME_PATH_SEGMENT},
    {"certificates.k8s.io", "certificatesigningrequests", NAME_PATH_SEGMENT},
    {"rbac.authorization.k8s.io", "clusterroles", NAME_PATH_SEGMENT},
    {"rbac.authorization.k8s.io", "clusterrolebindings", NAME_PATH_SEGMENT},
    {"rbac.authorization.k8s.io", "roles", NAME_PATH_SEGMENT},
    {"rbac.authorization.k8s.io", "rolebindings", NAME_PATH_SEGMENT},
    {"networking.k8s.io", "ipaddresses", NAME_PATH_SEGMENT},
    {"policy", "poddisruptionbudgets", NAME_PATH_SEGMENT},
    {"coordination.k8s.io", "leasecandidates", NAME_CONFIG_KEY},
};

static enum name_format format_of(const struct resource *r)
{
    for (size_t i = 0; i < ARRAY_LEN(name_formats); i++)
        if (str_is(r->plural, name_formats[i].plural) && str_is(r->group, name_formats[i].group))
            return name_formats[i].format;
    return NAME_DNS_SUBDOMAIN;
}

/* A prefix may end with a dash: a suffix will follow (upstream: maskTrailingDash). */
static struct str masked(struct str prefix, struct arena *a)
{
    if (prefix.n < 2 || prefix.p[prefix.n - 1] != '-')
        return prefix;
    return arena_printf(a, "%.*sa", (int)(prefix.n - 2), prefix.p);
}

static void check_names(const struct resource *r, const struct json_value *meta,
                        const struct field_path *path, struct field_errors *errors)
{
    struct field_path generate = field_child(path, "generateName");
    struct field_path name = field_child(path, "name");
    struct str prefix = json_get_text(meta, STR("generateName"));
    struct str text = json_get_text(meta, STR("name"));
    enum name_format format = format_of(r);

    if (!str_empty(prefix)) {
        struct str mask = format == NAME_PATH_SEGMENT ? prefix : masked(prefix, errors->arena);
        size_t first = errors->n;

        /* The message shows the prefix, not its mask. */
        field_check_name(errors, &generate, mask, format);
        if (errors->n > first && mask.p != prefix.p) {
            errors->n = first;
            field_check_name(errors, &generate, prefix, format);
        }
    }
    if (str_empty(text))
        field_error(errors, FIELD_REQUIRED, &name, NULL, "name or generateName is required");
    else
        field_check_name(errors, &name, text, format);
}

static void check_namespace(const struct resource *r, const struct json_value *meta,
                            const struct field_path *path, struct field_errors *errors)
{
    struct field_path field = field_child(path, "namespace");
    struct str namespace = json_get_text(meta, STR("namespace"));

    if (!r->namespaced) {
        if (!str_empty(namespace))
            field_error(errors, FIELD_FORBIDDEN, &field, NULL, "not allowed on this type");
    } else if (str_empty(namespace)) {
        field_error(errors, FIELD_REQUIRED, &field, NULL, "%s", "");
    } else {
        field_check_name(errors, &field, namespace, NAME_DNS_LABEL);
    }
}

static void check_owner(const struct json_value *ref, const struct field_path *path,
                        struct field_errors *errors)
{
    static const char *const members[] = {"apiVersion", "kind", "name", "uid"};
    struct str version = json_get_text(ref, STR("apiVersion"));

    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        struct field_path field = field_child(path, members[i]);
        struct str text = json_get_text(ref, str_of(members[i]));
        struct json_value value = json_text(text);
        bool empty = i == 0 ? str_empty(text) || text.p[text.n - 1] == '/' : str_empty(text);

        if (empty)
            field_error(errors, FIELD_INVALID, &field, &value, "%s",
                        i == 0 ? "version must not be empty" : "must not be empty");
    }
    if (str_is(version, "v1") && str_is(json_get_text(ref, STR("kind")), "Event"))
        field_error(errors, FIELD_INVALID, path, ref,
                    "/v1, Kind=Event is disallowed from being an owner");
}

static void check_owners(const struct json_value *meta, const struct field_path *path,
                         struct field_errors *errors)
{
    const struct json_value *refs = json_get(meta, STR("ownerReferences"));
    struct field_path field = field_child(path, "ownerReferences");
    const struct json_value *first = NULL;

    for (size_t i = 0; refs && refs->kind == JSON_ARRAY && i < refs->n; i++) {
        const struct json_value *ref = &refs->items[i];

        check_owner(ref, &field, errors);
        if (!json_bool_at(ref, "controller", false))
            continue;
        if (first)
            field_error(errors, FIELD_INVALID, &field, refs,
                        "Only one reference can have Controller set to true. Found \"true\" in "
                        "references for %.*s/%.*s and %.*s/%.*s",
                        STR_ARG(json_get_text(first, STR("kind"))),
                        STR_ARG(json_get_text(first, STR("name"))),
                        STR_ARG(json_get_text(ref, STR("kind"))),
                        STR_ARG(json_get_text(ref, STR("name"))));
        else
            first = ref;
    }
}

static bool list_has(const struct json_value *list, struct str text)
{
    for (size_t i = 0; list && list->kind == JSON_ARRAY && i < list->n; i++)
        if (list->items[i].kind == JSON_STRING && str_eq(list->items[i].text, text))
            return true;
    return false;
}

static void check_finalizers(const struct json_value *meta, const struct field_path *path,
                             struct field_errors *errors)
{
    const struct json_value *list = json_get(meta, STR("finalizers"));
    struct field_path field = field_child(path, "finalizers");

    for (size_t i = 0; list && list->kind == JSON_ARRAY && i < list->n; i++)
        if (list->items[i].kind == JSON_STRING)
            field_check_name(errors, &field, list->items[i].text, NAME_QUALIFIED);
    if (list_has(list, STR("orphan")) && list_has(list, STR("foregroundDeletion")))
        field_error(errors, FIELD_INVALID, &field, list,
                    "finalizer orphan and foregroundDeletion cannot be both set");
}

static void check_managed_fields(const struct json_value *meta, const struct field_path *path,
                                 struct field_errors *errors)
{
    const struct json_value *list = json_get(meta, STR("managedFields"));
    struct field_path field = field_child(path, "managedFields");

    for (size_t i = 0; list && list->kind == JSON_ARRAY && i < list->n; i++) {
        const struct json_value *entry = &list->items[i];
        struct field_path at = field_index(&field, i);
        struct field_path child = field_child(&at, "operation");
        struct json_value value = json_text(json_get_text(entry, STR("operation")));

        if (!str_is(value.text, "Apply") && !str_is(value.text, "Update"))
            field_error(errors, FIELD_INVALID, &child, &value, "must be `Apply` or `Update`");
        value = json_text(json_get_text(entry, STR("fieldsType")));
        child = field_child(&at, "fieldsType");
        if (!str_empty(value.text) && !str_is(value.text, "FieldsV1"))
            field_error(errors, FIELD_INVALID, &child, &value, "must be `FieldsV1`");
        child = field_child(&at, "manager");
        if (json_get_text(entry, STR("manager")).n > 128)
            field_error(errors, FIELD_TOO_LONG, &child, NULL, "may not be more than 128 bytes");
    }
}

void metadata_validate(const struct resource *r, const struct json_value *object,
                       struct field_errors *errors)
{
    const struct json_value *meta = json_get(object, STR("metadata"));
    struct field_path path = field_child(NULL, "metadata");
    struct field_path generation = field_child(&path, "generation");
    struct field_path labels = field_child(&path, "labels");
    struct field_path annotations = field_child(&path, "annotations");

    check_names(r, meta, &path, errors);
    check_namespace(r, meta, &path, errors);
    if (json_int_at(meta, "generation", 0) < 0)
        field_error(errors, FIELD_INVALID, &generation, json_get(meta, STR("generation")),
                    "must be greater than or equal to 0");
    field_check_labels(errors, &labels, json_get(meta, STR("labels")));
    field_check_annotations(errors, &annotations, json_get(meta, STR("annotations")));
    check_owners(meta, &path, errors);
    check_finalizers(meta, &path, errors);
    check_managed_fields(meta, &path, errors);
}

/* --- updates ---------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Finalizers cannot be added to an object that is being deleted. */
static void check_new_finalizers(const struct json_value *meta, const struct json_value *old,
                                 const struct field_path *path, struct field_errors *errors)
{
    const struct json_value *list = json_get(meta, STR("finalizers"));
    const struct json_value *before = json_get(old, STR("finalizers"));
    struct field_path field = field_child(path, "finalizers");
    struct buf text = BUF_INIT;
    struct str *added;
    size_t n = 0;

    if (!list || list->kind != JSON_ARRAY || list->n == 0)
        return;
    added = arena_array(errors->arena, struct str, list->n);
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].kind == JSON_STRING && !list_has(before, list->items[i].text))
            added[n++] = list->items[i].text;
    if (n == 0)
        return;
    qsort(added, n, sizeof(*added), by_text);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && str_eq(added[i], added[i - 1]))
            continue;
        buf_add_cstr(&text, i ? ", " : "");
        go_quote(&text, added[i]);
    }
    field_error(errors, FIELD_FORBIDDEN, &field, NULL,
                "no new finalizers can be added if the object is being deleted, found new "
                "finalizers []string{%.*s}",
                STR_ARG(buf_str(&text)));
    buf_release(&text);
}

static bool member_equal(const struct json_value *a, const struct json_value *b)
{
    bool no_a = !a || a->kind == JSON_NULL, no_b = !b || b->kind == JSON_NULL;

    return no_a || no_b ? no_a == no_b : json_value_equal(a, b);
}

void metadata_validate_update(const struct resource *r, const struct json_value *object,
                              const struct json_value *old, struct field_errors *errors)
{
    static const char *const immutable[] = {
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    };
    const struct json_value *meta = json_get(object, STR("metadata"));
    const struct json_value *before = json_get(old, STR("metadata"));
    struct field_path path = field_child(NULL, "metadata");
    struct field_path version = field_child(&path, "resourceVersion");
    struct field_path generation = field_child(&path, "generation");
    struct field_path labels = field_child(&path, "labels");
    struct field_path annotations = field_child(&path, "annotations");
    struct json_value empty = json_text(STR(""));

    (void)r;
    if (json_get(before, STR("deletionTimestamp")))
        check_new_finalizers(meta, before, &path, errors);
    if (str_empty(json_get_text(meta, STR("resourceVersion"))))
        field_error(errors, FIELD_INVALID, &version, &empty, "must be specified for an update");
    if (json_int_at(meta, "generation", 0) < json_int_at(before, "generation", 0))
        field_error(errors, FIELD_INVALID, &generation, json_get(meta, STR("generation")),
                    "must not be decremented");
    for (size_t i = 0; i < ARRAY_LEN(immutable); i++) {
        const struct json_value *value = json_get(meta, str_of(immutable[i]));
        struct field_path field = field_child(&path, immutable[i]);

        if (!member_equal(value, json_get(before, str_of(immutable[i]))))
            field_error(errors, FIELD_INVALID, &field,
                        value   ? value
                        : i < 3 ? &empty
                                : NULL,
                        "field is immutable");
    }
    field_check_labels(errors, &labels, json_get(meta, STR("labels")));
    field_check_annotations(errors, &annotations, json_get(meta, STR("annotations")));
    check_owners(meta, &path, errors);
    check_managed_fields(meta, &path, errors);
}
