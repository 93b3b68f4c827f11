/* SPDX-License-Identifier: Apache-2.0 */
#include "api/selector.h"
#include "base/vec.h"

static int unescape(struct str s, struct arena *a, struct str *ret_value, struct err *reterr)
{
    char *to = arena_alloc(a, s.n + 1, 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == ',' || c == '=')
            return err_set(reterr, -EINVAL,
                           "invalid field selector: '%c' in a value must be written as '\\%c'", c,
                           c);
        if (c == '\\') {
            if (++i == s.n || !strchr("\\,=", s.p[i]) || s.p[i] == '\0')
                return err_set(reterr, -EINVAL,
                               "invalid field selector: invalid escape sequence in '%.*s'",
                               STR_ARG(s));
            c = s.p[i];
        }
        to[n++] = c;
    }
    *ret_value = (struct str){to, n};
    return 0;
}

/* The first operator counts; field names have no escapes. */
static int parse_term(struct str term, struct arena *a, struct field_requirement *ret_requirement,
                      struct err *reterr)
{
    for (size_t i = 0; i < term.n; i++) {
        struct str rest = str_slice(term, i, term.n);
        bool negated = str_starts(rest, STR("!="));
        if (!negated && rest.p[0] != '=')
            continue;
        size_t n = negated || str_starts(rest, STR("==")) ? 2 : 1;
        ret_requirement->field = str_slice(term, 0, i);
        ret_requirement->negated = negated;
        return unescape(str_slice(rest, n, rest.n), a, &ret_requirement->value, reterr);
    }
    return err_set(reterr, -EINVAL, "invalid selector: can't understand '%.*s'", STR_ARG(term));
}

/* The next term, up to a comma without a backslash before it; true while there is one. */
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
        /* Upstream drops what names no field and no value. */
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
            if (c == '\\' || c == ',' || c == '=')
                buf_add_char(out, '\\');
            buf_add_char(out, c);
        }
    }
}
