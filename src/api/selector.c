/* SPDX-License-Identifier: Apache-2.0 */
#include "api/selector.h"

#include "api/labels.h"

/* --- requirements ----------------------------------------------------------------------------- */

static const struct {
    const char *name; /* in API objects; NULL for operators that only the text syntax has */
    const char *text; /* between key and value */
} ops[] = {
    [SELECTOR_IN] = {"In", " in "},       [SELECTOR_NOT_IN] = {"NotIn", " notin "},
    [SELECTOR_EXISTS] = {"Exists", ""},   [SELECTOR_DOES_NOT_EXIST] = {"DoesNotExist", ""},
    [SELECTOR_GT] = {"Gt", ">"},          [SELECTOR_LT] = {"Lt", "<"},
    [SELECTOR_EQUALS] = {NULL, "="},      [SELECTOR_DOUBLE_EQUALS] = {NULL, "=="},
    [SELECTOR_NOT_EQUALS] = {NULL, "!="},
};

bool selector_op_parse(struct str name, enum selector_op *ret_op)
{
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        if (ops[i].name && str_is(name, ops[i].name)) {
            *ret_op = (enum selector_op)i;
            return true;
        }
    }
    return false;
}

bool selector_number(struct str s, int64_t *ret_number)
{
    if (str_starts(s, STR("+")) && !str_starts(s, STR("+-")))
        s = str_slice(s, 1, s.n);
    return str_to_i64(s, ret_number);
}

static const char *values_fault(struct requirement *r)
{
    switch (r->op) {
    case SELECTOR_IN:
    case SELECTOR_NOT_IN:
        return r->values.n > 0 ? NULL : "In and NotIn require at least one value";
    case SELECTOR_EXISTS:
    case SELECTOR_DOES_NOT_EXIST:
        return r->values.n == 0 ? NULL : "Exists and DoesNotExist take no value";
    case SELECTOR_GT:
    case SELECTOR_LT:
        return r->values.n == 1 && selector_number(r->values.v[0], &r->number)
                   ? NULL
                   : "Gt and Lt require exactly one value, an integer";
    case SELECTOR_EQUALS:
    case SELECTOR_DOUBLE_EQUALS:
    case SELECTOR_NOT_EQUALS:
        return r->values.n == 1 ? NULL : "exactly one value is required";
    }
    return "unknown operator";
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void sort_values(struct requirement *r, struct arena *a)
{
    if (r->values.n == 0)
        return;
    struct str *copy = arena_array(a, struct str, r->values.n);
    memcpy(copy, r->values.v, r->values.n * sizeof(*copy));
    qsort(copy, r->values.n, sizeof(*copy), by_text);
    r->values.v = copy;
}

int requirement_compile(struct requirement *r, struct arena *a, struct err *reterr)
{
    const char *fault = label_key_fault(r->key);
    if (fault)
        return err_set(reterr, -EINVAL, "key \"%.*s\": %s", STR_ARG(r->key), fault);
    fault = values_fault(r);
    if (fault)
        return err_set(reterr, -EINVAL, "key \"%.*s\": %s", STR_ARG(r->key), fault);
    for (size_t i = 0; i < r->values.n; i++) {
        struct str value = r->values.v[i];
        fault = label_value_fault(value);
        if (fault)
            return err_set(reterr, -EINVAL, "key \"%.*s\": value \"%.*s\": %s", STR_ARG(r->key),
                           STR_ARG(value), fault);
    }
    sort_values(r, a);
    return 0;
}

/* value: the label's value, NULL if the label is absent. */
static bool requirement_matches(const struct requirement *r, const struct str *value)
{
    int64_t number;
    switch (r->op) {
    case SELECTOR_IN:
    case SELECTOR_EQUALS:
    case SELECTOR_DOUBLE_EQUALS:
        return value && str_sorted_has(r->values.v, r->values.n, *value);
    case SELECTOR_NOT_IN:
    case SELECTOR_NOT_EQUALS:
        return !value || !str_sorted_has(r->values.v, r->values.n, *value);
    case SELECTOR_EXISTS:
        return value;
    case SELECTOR_DOES_NOT_EXIST:
        return !value;
    case SELECTOR_GT:
        return value && selector_number(*value, &number) && number > r->number;
    case SELECTOR_LT:
        return value && selector_number(*value, &number) && number < r->number;
    }
    return false;
}

/* --- selectors -------------------------------------------------------------------------------- */

static int by_key_then_place(const void *a, const void *b)
{
    const struct requirement *x = *(const struct requirement *const *)a;
    const struct requirement *y = *(const struct requirement *const *)b;
    int c = str_cmp(x->key, y->key);
    return c ? c : (x > y) - (x < y);
}

void requirements_sort(struct requirement *requirements, size_t n)
{
    bool sorted = true;
    for (size_t i = 1; i < n; i++)
        sorted = sorted && str_cmp(requirements[i - 1].key, requirements[i].key) <= 0;
    if (sorted)
        return;
    struct requirement *copy = xreallocarray(NULL, n, sizeof(*copy));
    const struct requirement **order = xreallocarray(NULL, n, sizeof(*order));
    memcpy(copy, requirements, n * sizeof(*copy));
    for (size_t i = 0; i < n; i++)
        order[i] = &copy[i];
    qsort(order, n, sizeof(struct requirement *), by_key_then_place);
    for (size_t i = 0; i < n; i++)
        requirements[i] = *order[i];
    free(order);
    free(copy);
}

static int compile_expression(const struct label_selector_requirement *from, struct arena *a,
                              struct requirement *r, struct err *reterr)
{
    *r = (struct requirement){.key = from->key, .values = {from->values.v, from->values.n}};
    if (!selector_op_parse(from->operator, & r->op) || r->op == SELECTOR_GT || r->op == SELECTOR_LT)
        return err_set(reterr, -EINVAL, "\"%.*s\" is not a valid label selector operator",
                       STR_ARG(from->operator));
    return requirement_compile(r, a, reterr);
}

static struct requirement equals(const struct str_entry *label)
{
    return (struct requirement){
        .key = label->key,
        .op = SELECTOR_EQUALS,
        .values = {(struct str *)&label->value, 1}, /* only read */
    };
}

int selector_compile(const struct label_selector *ls, struct arena *a,
                     struct selector *ret_selector, struct err *reterr)
{
    if (!ls) {
        *ret_selector = (struct selector){.nothing = true};
        return 0;
    }
    size_t n_labels = ls->match_labels.n, n = n_labels + ls->match_expressions.n;
    struct requirement *rs = arena_array(a, struct requirement, n);
    for (size_t i = 0; i < n; i++) {
        int r;
        if (i < n_labels) {
            rs[i] = equals(&ls->match_labels.v[i]);
            r = requirement_compile(&rs[i], a, reterr);
        } else {
            r = compile_expression(&ls->match_expressions.v[i - n_labels], a, &rs[i], reterr);
        }
        if (r < 0)
            return r;
    }
    requirements_sort(rs, n);
    *ret_selector = (struct selector){.requirements = {rs, n}};
    return 0;
}

void selector_from_set(const str_map *set, struct arena *a, struct selector *ret_selector)
{
    struct requirement *rs = arena_array(a, struct requirement, set->n);
    for (size_t i = 0; i < set->n; i++)
        rs[i] = equals(&set->v[i]);
    requirements_sort(rs, set->n);
    *ret_selector = (struct selector){.requirements = {rs, set->n}};
}

bool selector_matches(const struct selector *s, const str_map *labels)
{
    if (s->nothing)
        return false;
    for (size_t i = 0; i < s->requirements.n; i++) {
        const struct requirement *r = &s->requirements.v[i];
        if (!requirement_matches(r, str_map_get(labels, r->key)))
            return false;
    }
    return true;
}

static void write_requirement(const struct requirement *r, struct buf *out)
{
    bool set = r->op == SELECTOR_IN || r->op == SELECTOR_NOT_IN;
    if (r->op == SELECTOR_DOES_NOT_EXIST)
        buf_add_char(out, '!');
    buf_add_str(out, r->key);
    buf_add_cstr(out, ops[r->op].text);
    if (set)
        buf_add_char(out, '(');
    for (size_t i = 0; i < r->values.n; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        buf_add_str(out, r->values.v[i]);
    }
    if (set)
        buf_add_char(out, ')');
}

void selector_write(const struct selector *s, struct buf *out)
{
    for (size_t i = 0; i < s->requirements.n; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        write_requirement(&s->requirements.v[i], out);
    }
}
