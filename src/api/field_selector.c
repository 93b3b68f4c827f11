/* SPDX-License-Identifier: Apache-2.0 */
#include "api/selector.h"
#include "base/vec.h"

static bool is_special(char c)
{
    return c == '\\' || c == ',' || c == '=';
}

/* The text from `at` on, unescaped. */
static int unescape(struct str term, size_t at, struct arena *a, struct str *ret_value,
                    struct err *reterr)
{
    char *to = arena_alloc(a, term.n - at + 1, 1);
    size_t n = 0;
    bool escaped = false;
    for (; at < term.n; at++) {
        char c = term.p[at];
        if (escaped ? !is_special(c) : c == ',' || c == '=')
            return err_set(reterr, -EINVAL,
                           escaped ? "invalid field selector: invalid escape sequence: \\%c"
                                   : "invalid field selector: unescaped character in value: %c",
                           c);
        escaped = !escaped && c == '\\';
        if (!escaped)
            to[n++] = c;
    }
    if (escaped)
        return err_set(reterr, -EINVAL, "invalid field selector: it ends with a backslash");
    *ret_value = (struct str){to, n};
    return 0;
}

/* The first operator counts; field names have no escapes. */
static int parse_term(struct str term, struct arena *a, struct field_requirement *ret_requirement,
                      struct err *reterr)
{
    size_t at = str_find(term, '=');
    if (at == term.n)
        return err_set(reterr, -EINVAL, "invalid selector: can't understand '%.*s'", STR_ARG(term));
    bool negated = at > 0 && term.p[at - 1] == '!';
    bool twice = !negated && at + 1 < term.n && term.p[at + 1] == '=';
    ret_requirement->field = str_slice(term, 0, negated ? at - 1 : at);
    ret_requirement->negated = negated;
    return unescape(term, twice ? at + 2 : at + 1, a, &ret_requirement->value, reterr);
}

/* The next term, up to an unescaped comma; true while there is one. */
static bool next_term(struct str text, size_t *at, struct str *ret_term)
{
    if (*at > text.n)
        return false;
    size_t i = *at;
    for (; i < text.n && text.p[i] != ','; i++)
        if (text.p[i] == '\\')
            i++;
    i = MIN(i, text.n);
    *ret_term = str_slice(text, *at, i);
    *at = i + 1;
    return true;
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

int field_selector_parse(struct str text, struct arena *a, struct field_selector *ret_selector,
                         struct err *reterr)
{
    VEC(struct str) terms = {0};
    struct str term;
    for (size_t at = 0; next_term(text, &at, &term);)
        if (term.n > 0)
            vec_push(&terms, term);
    if (terms.n > 0)
        qsort(terms.v, terms.n, sizeof(*terms.v), by_text);

    struct field_requirement *rs = arena_array(a, struct field_requirement, terms.n);
    size_t n = 0;
    int r = 0;
    for (size_t i = 0; i < terms.n && r == 0; i++) {
        r = parse_term(terms.v[i], a, &rs[n], reterr);
        /* Upstream drops terms without field and value. */
        if (r == 0 && rs[n].field.n + rs[n].value.n > 0)
            n++;
    }
    vec_release(&terms);
    if (r == 0)
        *ret_selector = (struct field_selector){.requirements = {rs, n}};
    return r;
}

bool field_selector_matches(const struct field_selector *s, const str_map *fields)
{
    for (size_t i = 0; i < s->requirements.n; i++) {
        const struct field_requirement *r = &s->requirements.v[i];
        const struct str *value = str_map_get(fields, r->field);
        if (str_eq(value ? *value : STR(""), r->value) == r->negated)
            return false;
    }
    return true;
}

void field_selector_write(const struct field_selector *s, struct buf *out)
{
    for (size_t i = 0; i < s->requirements.n; i++) {
        const struct field_requirement *r = &s->requirements.v[i];
        if (i > 0)
            buf_add_char(out, ',');
        buf_add_str(out, r->field);
        buf_add_cstr(out, r->negated ? "!=" : "=");
        for (size_t j = 0; j < r->value.n; j++) {
            char c = r->value.p[j];
            if (is_special(c))
                buf_add_char(out, '\\');
            buf_add_char(out, c);
        }
    }
}
