/* SPDX-License-Identifier: Apache-2.0 */
#include "net/media_type.h"

#include "base/go_sort.h"

/* One comma-separated part of the header. */
struct clause {
    struct str type, subtype;
    struct str params; /* the text after the first ';' */
    double q;
};

/* Upstream trims spaces only. */
static struct str trim_blanks(struct str s)
{
    while (s.n && s.p[0] == ' ')
        s = str_slice(s, 1, s.n);
    while (s.n && s.p[s.n - 1] == ' ')
        s.n--;
    return s;
}

/* The next "name=value". Upstream skips parameters without a value or with a second '='. */
static bool next_param(struct str *rest, struct str *ret_name, struct str *ret_value)
{
    struct str part;
    while (rest->n && str_split(rest, ';', &part)) {
        size_t at = str_find(part, '=');
        struct str value = str_slice(part, at + 1, part.n);
        size_t second = str_find(value, '=');
        if (!value.n || second + 1 < value.n)
            continue;
        *ret_name = trim_blanks(str_slice(part, 0, at));
        *ret_value = str_slice(value, 0, second);
        return true;
    }
    return false;
}

/* As Go parses it; 0 if it is not a number. */
static double read_q(struct str text)
{
    char number[32], *end;
    if (!text.n || text.n >= sizeof(number))
        return 0;
    memcpy(number, text.p, text.n);
    number[text.n] = '\0';
    double q = strtod(number, &end);
    return *end || number[0] == ' ' ? 0 : q;
}

static bool read_clause(struct str text, struct clause *c)
{
    text = trim_blanks(text);
    size_t semicolon = str_find(text, ';');
    struct str media = str_slice(text, 0, semicolon), name, value;
    size_t slash = str_find(media, '/');
    *c = (struct clause){.type = trim_blanks(str_slice(media, 0, slash)),
                         .params = str_slice(text, semicolon + 1, text.n),
                         .q = 1};
    struct str rest = str_slice(media, slash + 1, media.n);
    if (rest.n) {
        size_t second = str_find(rest, '/');
        if (second + 1 < rest.n)
            return false;
        c->subtype = trim_blanks(str_slice(rest, 0, second));
    } else if (str_is(c->type, "*")) {
        c->subtype = STR("*");
    } else {
        return false;
    }
    struct str params = c->params;
    while (next_param(&params, &name, &value))
        if (str_is(name, "q"))
            c->q = read_q(value);
    return true;
}

static bool precedes(const void *a, const void *b)
{
    const struct clause *x = a, *y = b;
    return x->q > y->q || (!str_is(x->type, "*") && str_is(y->type, "*")) ||
           (!str_is(x->subtype, "*") && str_is(y->subtype, "*"));
}

static size_t read_clauses(struct str accept, struct arena *a, struct clause ***ret_clauses)
{
    size_t max = 1, n = 0;
    for (size_t i = 0; i < accept.n; i++)
        max += accept.p[i] == ',';
    struct clause *all = arena_array(a, struct clause, max);
    struct clause **order = arena_array(a, struct clause *, max);
    struct str rest = accept, part;
    while (rest.n && str_split(&rest, ',', &part))
        if (read_clause(part, &all[n])) {
            order[n] = &all[n];
            n++;
        }
    go_sort((void **)order, n, precedes);
    *ret_clauses = order;
    return n;
}

static bool fits(const struct clause *c, const struct media_type *t)
{
    if (str_is(c->type, "*"))
        return str_is(c->subtype, "*");
    return str_eq(c->type, t->type) && (str_is(c->subtype, "*") || str_eq(c->subtype, t->subtype));
}

static bool accepts(const struct clause *c, const struct media_page *page, size_t i,
                    struct media_choice *choice)
{
    struct str params = c->params, name, value;
    *choice = (struct media_choice){.index = i};
    while (next_param(&params, &name, &value)) {
        value = trim_blanks(value);
        struct str *part = str_is(name, "as")  ? &choice->kind
                           : str_is(name, "g") ? &choice->group
                           : str_is(name, "v") ? &choice->version
                                               : NULL;
        if (part) {
            *part = value;
            choice->converts = true;
        } else if (str_is(name, "pretty")) {
            choice->pretty = str_is(value, "1");
        } else if (str_is(name, "sv") && value.n) {
            return false;
        } else if (str_is(name, "stream") && value.n) {
            if (!page->types[i].streams || !page->watches || !str_is(value, "watch"))
                return false;
        }
    }
    return page->allows(page->ctx, &page->types[i], choice);
}

bool media_negotiate(struct str accept, const struct media_page *page, struct arena *a,
                     struct media_choice *ret_choice)
{
    struct clause **clauses;
    if (!accept.n) {
        *ret_choice = (struct media_choice){0};
        return true;
    }
    size_t n = read_clauses(accept, a, &clauses);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < page->n; i++) {
            struct media_choice choice;
            if (fits(clauses[k], &page->types[i]) && accepts(clauses[k], page, i, &choice)) {
                *ret_choice = choice;
                return true;
            }
        }
    return false;
}
