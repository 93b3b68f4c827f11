/* SPDX-License-Identifier: Apache-2.0 */
/* storage.k8s.io: StorageClasses and VolumeAttributesClasses. */
#include "apiserver/strategies/spot.h"
#include "apiserver/strategies/strategies.h"

#define MAX_PARAMETERS     512
#define MAX_PARAMETER_SIZE (256 << 10)

static void default_class(struct json_value *object, struct arena *a)
{
    json_set_default(object, STR("reclaimPolicy"), json_text(STR("Delete")), a);
    json_set_default(object, STR("volumeBindingMode"), json_text(STR("Immediate")), a);
}

/* Upstream compares and shows the name in lower case. */
static void check_provisioner(const struct spot *name)
{
    struct str text = spot_str(name);
    struct json_value shown;
    struct spot lower = *name;
    char *p;

    if (str_empty(text)) {
        spot_required(name, "");
        return;
    }
    p = arena_alloc(name->errors->arena, text.n, 1);
    for (size_t i = 0; i < text.n; i++)
        p[i] = (char)(text.p[i] >= 'A' && text.p[i] <= 'Z' ? text.p[i] + 32 : text.p[i]);
    shown = json_text((struct str){p, text.n});
    lower.v = &shown;
    spot_check_name(&lower, NAME_QUALIFIED);
}

static void check_parameters(const struct spot *parameters, bool required)
{
    size_t size = 0;

    if (spot_count(parameters) > MAX_PARAMETERS) {
        spot_too_long(parameters, MAX_PARAMETERS);
        return;
    }
    for (size_t i = 0; i < spot_count(parameters); i++) {
        const struct json_member *m = &parameters->v->members[i];
        struct json_value key = json_text(m->key);
        struct spot whole = *parameters;

        whole.v = &key;
        if (str_empty(m->key))
            spot_invalid(&whole, "field can not be empty.");
        size += m->key.n + (m->value.kind == JSON_STRING ? m->value.text.n : 0);
    }
    if (size > MAX_PARAMETER_SIZE)
        spot_too_long(parameters, MAX_PARAMETER_SIZE);
    if (required && spot_count(parameters) == 0)
        spot_required(parameters, "must contain at least one key/value pair");
}

static void check_term(const struct spot *term)
{
    struct spot list = spot_get(term, "matchLabelExpressions");
    struct map keys = MAP_INIT;

    for (size_t i = 0; i < spot_count(&list); i++) {
        struct spot e = spot_item(&list, i), values = spot_get(&e, "values");
        struct spot key = spot_text(&e, "key");

        if (spot_count(&values) == 0)
            spot_required(&values, "");
        spot_check_unique(&values, NULL);
        spot_check_name(&key, NAME_QUALIFIED);
        if (map_put(&keys, spot_str(&key), term->errors))
            spot_duplicate(&key);
    }
    map_release(&keys);
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* A text that equal terms share: keys and values, sorted. */
static struct str term_key(const struct json_value *term, struct arena *a)
{
    struct json_items list = json_items_at(term, "matchLabelExpressions");
    struct str *lines = arena_array(a, struct str, list.n + 1);
    struct buf text = BUF_INIT;
    struct str key;

    for (size_t i = 0; i < list.n; i++) {
        struct json_items values = json_items_at(&list.v[i], "values");
        struct str *sorted = arena_array(a, struct str, values.n + 1);

        for (size_t j = 0; j < values.n; j++)
            sorted[j] = values.v[j].kind == JSON_STRING ? values.v[j].text : STR("");
        qsort(sorted, values.n, sizeof(*sorted), by_text);
        buf_clear(&text);
        go_quote(&text, json_get_text(&list.v[i], STR("key")));
        for (size_t j = 0; j < values.n; j++)
            if (j == 0 || !str_eq(sorted[j], sorted[j - 1]))
                go_quote(&text, sorted[j]);
        lines[i] = arena_dup(a, buf_str(&text));
    }
    qsort(lines, list.n, sizeof(*lines), by_text);
    buf_clear(&text);
    for (size_t i = 0; i < list.n; i++)
        buf_add_printf(&text, "%.*s\n", STR_ARG(lines[i]));
    key = arena_dup(a, buf_str(&text));
    buf_release(&text);
    return key;
}

static void check_topologies(const struct spot *terms)
{
    struct json_value none = json_text(STR(""));
    struct map seen = MAP_INIT;
    size_t empty = 0;

    for (size_t i = 0; i < spot_count(terms); i++) {
        struct spot term = spot_item(terms, i);
        struct spot list = spot_get(&term, "matchLabelExpressions");
        struct str key;

        check_term(&term);
        list.v = &none;
        key = term_key(term.v, terms->errors->arena);
        /* Upstream compares an empty term with as many empty ones as there are terms. */
        if (map_put(&seen, key, terms->errors) && !str_empty(key))
            spot_duplicate(&list);
        for (size_t j = 0; str_empty(key) && j < spot_count(terms) + empty; j++)
            spot_duplicate(&list);
        empty += str_empty(key);
    }
    map_release(&seen);
}

static void validate_class(const struct json_value *object, struct field_errors *errors)
{
    static const char *const policies[] = {"Delete", "Retain", NULL};
    static const char *const modes[] = {"Immediate", "WaitForFirstConsumer", NULL};
    struct spot root = spot_root(object, errors), name = spot_text(&root, "provisioner");
    struct spot parameters = spot_get(&root, "parameters");
    struct spot policy = spot_get(&root, "reclaimPolicy");
    struct spot mode = spot_get(&root, "volumeBindingMode");
    struct spot topologies = spot_get(&root, "allowedTopologies");

    check_provisioner(&name);
    check_parameters(&parameters, false);
    if (!spot_empty(&policy))
        spot_check_one_of(&policy, policies);
    if (!spot_has(&mode))
        spot_required(&mode, "");
    else
        spot_check_one_of(&mode, modes);
    check_topologies(&topologies);
}

static void validate_class_update(const struct json_value *object, const struct json_value *old,
                                  struct field_errors *errors)
{
    static const char *const frozen[] = {"provisioner", "reclaimPolicy", "volumeBindingMode"};
    struct spot root = spot_root(object, errors);

    spot_check_same(&root, old, "parameters");
    for (size_t i = 0; i < ARRAY_LEN(frozen); i++)
        spot_check_same_text(&root, old, frozen[i]);
}

static void validate_attributes(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), driver = spot_text(&root, "driverName");
    struct spot parameters = spot_get(&root, "parameters");

    check_provisioner(&driver);
    check_parameters(&parameters, true);
}

static void validate_attributes_update(const struct json_value *object,
                                       const struct json_value *old, struct field_errors *errors)
{
    static const char *const frozen[] = {"driverName", "parameters"};
    struct spot root = spot_root(object, errors);

    for (size_t i = 0; i < ARRAY_LEN(frozen); i++) {
        struct spot member = spot_get(&root, frozen[i]);

        if (!field_equal(member.v, json_get(old, str_of(frozen[i]))))
            spot_forbidden(&member, "updates to %s are forbidden.", frozen[i]);
    }
}

const struct strategy storage_class_strategies[] = {
    {
        .group = STR_INIT("storage.k8s.io"),
        .plural = STR_INIT("storageclasses"),
        .set_defaults = default_class,
        .validate = validate_class,
        .validate_update = validate_class_update,
        .no_status = true,
        .unconditional_update = true,
    },
    {
        .group = STR_INIT("storage.k8s.io"),
        .plural = STR_INIT("volumeattributesclasses"),
        .validate = validate_attributes,
        .validate_update = validate_attributes_update,
        .no_status = true,
        .unconditional_update = true,
    },
    {.plural = STR_INIT("")},
};
