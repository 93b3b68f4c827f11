/* SPDX-License-Identifier: Apache-2.0 */
/* Label selectors on revisions. */
#include "apiserver/store/selectors.h"

/* --- matching --------------------------------------------------------------------------------- */

static bool has_value(const struct requirement *q, struct str value)
{
    for (size_t i = 0; i < q->values.n; i++)
        if (str_eq(q->values.v[i], value))
            return true;
    return false;
}

static bool number_matches(const struct requirement *q, struct str value)
{
    int64_t number;

    if (!selector_number(value, &number))
        return false;
    return q->op == SELECTOR_GT ? number > q->number : number < q->number;
}

static bool requirement_matches(const struct requirement *q, const struct revision *rev)
{
    const struct str *value = NULL;

    for (size_t i = 0; i < rev->n_labels && !value; i++)
        if (str_eq(rev->labels[i].key, q->key))
            value = &rev->labels[i].value;
    switch (q->op) {
    case SELECTOR_IN:
    case SELECTOR_EQUALS:
    case SELECTOR_DOUBLE_EQUALS:
        return value && has_value(q, *value);
    case SELECTOR_NOT_IN:
    case SELECTOR_NOT_EQUALS:
        return !value || !has_value(q, *value);
    case SELECTOR_EXISTS:
        return value != NULL;
    case SELECTOR_DOES_NOT_EXIST:
        return value == NULL;
    case SELECTOR_GT:
    case SELECTOR_LT:
        return value && number_matches(q, *value);
    }
    return false;
}

bool selector_matches_revision(const struct selector *s, const struct revision *rev)
{
    if (s->nothing)
        return false;
    for (size_t i = 0; i < s->requirements.n; i++)
        if (!requirement_matches(&s->requirements.v[i], rev))
            return false;
    return true;
}

/* --- selectors of objects --------------------------------------------------------------------- */

static void from_labels(const struct json_value *labels, struct requirement *out, size_t *n,
                        struct arena *a)
{
    for (size_t i = 0; labels && labels->kind == JSON_OBJECT && i < labels->n_members; i++) {
        struct requirement *q = &out[(*n)++];

        q->key = labels->members[i].key;
        q->op = SELECTOR_EQUALS;
        q->values.v = arena_new(a, struct str);
        q->values.v[0] = labels->members[i].value.text;
        q->values.n = 1;
    }
}

static bool from_expression(const struct json_value *e, struct requirement *q, struct arena *a)
{
    const struct json_value *values = json_get(e, STR("values"));
    size_t n = values && values->kind == JSON_ARRAY ? values->n : 0;
    struct err err;

    q->key = json_get_text(e, STR("key"));
    q->values.v = arena_array(a, struct str, n);
    q->values.n = n;
    for (size_t i = 0; i < n; i++)
        q->values.v[i] = values->items[i].kind == JSON_STRING ? values->items[i].text : STR("");
    return selector_op_parse(json_get_text(e, STR("operator")), &q->op) &&
           requirement_compile(q, a, &err) == 0;
}

static size_t members_of(const struct json_value *v)
{
    return v && v->kind == JSON_OBJECT ? v->n_members : 0;
}

int selector_from_tree(const struct json_value *v, struct arena *a, struct selector *ret_selector)
{
    const struct json_value *labels = json_get(v, STR("matchLabels"));
    const struct json_value *list = json_get(v, STR("matchExpressions"));
    size_t n_list = list && list->kind == JSON_ARRAY ? list->n : 0, n = 0;
    struct requirement *out = arena_array(a, struct requirement, members_of(labels) + n_list);

    *ret_selector = (struct selector){.nothing = !v || v->kind != JSON_OBJECT};
    from_labels(labels, out, &n, a);
    for (size_t i = 0; i < n_list; i++)
        if (!from_expression(&list->items[i], &out[n++], a))
            return -EINVAL;
    requirements_sort(out, n);
    ret_selector->requirements.v = out;
    ret_selector->requirements.n = n;
    return 0;
}

void selector_from_labels(const struct json_value *labels, struct arena *a,
                          struct selector *ret_selector)
{
    struct requirement *out = arena_array(a, struct requirement, members_of(labels));
    size_t n = 0;

    from_labels(labels, out, &n, a);
    requirements_sort(out, n);
    *ret_selector = (struct selector){.nothing = n == 0};
    ret_selector->requirements.v = out;
    ret_selector->requirements.n = n;
}
