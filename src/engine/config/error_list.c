/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/config/error_list.h"

#include "api/selector_fault.h"

/* The field of an error. */
static struct str path_of(struct str text)
{
    return str_slice(text, 0, str_find(text, ':'));
}

static bool is_covered(const struct error_list *c, struct str text)
{
    struct str path = path_of(text);
    for (size_t i = 0; i < c->covers.n; i++) {
        struct str cover = str_of(c->covers.v[i]);
        if (str_eq(text, cover))
            return true;
        if (str_starts(path, cover) &&
            (path.n == cover.n || path.p[cover.n] == '.' || path.p[cover.n] == '['))
            return true;
    }
    return false;
}

/* n: the number of errors in the entry. */
static void keep(struct error_list *c, struct error_entry entry, size_t n)
{
    c->n += n;
    if (error_list_full(c)) {
        c->left_out += n;
        free(entry.text);
        free(entry.hint);
    } else {
        vec_push(&c->v, entry);
    }
}

void error_list_add(struct error_list *c, const char *fmt, ...)
{
    struct buf text = BUF_INIT;
    va_list ap;
    if (error_list_full(c)) {
        keep(c, (struct error_entry){0}, 1);
        return;
    }
    if (c->prefix)
        buf_add_cstr(&text, c->prefix);
    va_start(ap, fmt);
    buf_add_vprintf(&text, fmt, ap);
    va_end(ap);
    if (is_covered(c, buf_str(&text)))
        buf_release(&text);
    else
        keep(c, (struct error_entry){.text = buf_take(&text)}, 1);
}

void error_list_add_at(struct error_list *c, const char *file, uint32_t line, struct str text,
                       struct str hint)
{
    keep(c,
         (struct error_entry){.text = str_dup(text),
                              .hint = hint.n ? str_dup(hint) : NULL,
                              .file = file,
                              .line = line},
         1);
}

void error_list_cover(struct error_list *c, struct str path)
{
    if (path.n && c->covers.n < ERROR_LIST_MAX)
        vec_push(&c->covers, str_dup(path));
}

bool error_list_has_field(const struct error_list *c, struct str path)
{
    for (size_t i = 0; i < c->v.n; i++)
        if (str_eq(path_of(str_of(c->v.v[i].text)), path))
            return true;
    return false;
}

bool error_list_check_name(struct error_list *c, struct str name, const char *fmt, ...)
{
    struct buf field = BUF_INIT;
    struct faults faults = {0};
    va_list ap;
    if (c->prefix)
        buf_add_cstr(&field, c->prefix);
    va_start(ap, fmt);
    buf_add_vprintf(&field, fmt, ap);
    va_end(ap);
    faults_check_name(&faults, buf_cstr(&field), name);
    bool ok = faults.n == 0;
    if (!ok)
        error_list_add_all(c, buf_str(&faults.text), faults.n);
    buf_release(&faults.text);
    buf_release(&field);
    return ok;
}

void error_list_add_all(struct error_list *c, struct str text, size_t n)
{
    if (!is_covered(c, text))
        keep(c, (struct error_entry){.text = str_dup(text)}, n);
}

static bool is_repeated(const struct error_list *c, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(c->v.v[k].text, c->v.v[i].text) == 0)
            return true;
    return false;
}

void error_list_write(const struct error_list *c, struct buf *out)
{
    size_t start = out->n, written = 0;
    for (size_t i = 0; i < c->v.n; i++) {
        if (is_repeated(c, i))
            continue;
        buf_add_cstr(out, written++ ? ", " : "");
        buf_add_cstr(out, c->v.v[i].text);
    }
    if (c->left_out)
        buf_add_printf(out, ", and %zu more", c->left_out);
    if (c->n - c->v.n + written <= 1)
        return;
    char *all = str_dup((struct str){out->p + start, out->n - start});
    out->n = start;
    buf_add_printf(out, "[%s]", all);
    free(all);
}

void error_list_release(struct error_list *c)
{
    for (size_t i = 0; i < c->v.n; i++) {
        free(c->v.v[i].text);
        free(c->v.v[i].hint);
    }
    for (size_t i = 0; i < c->covers.n; i++)
        free(c->covers.v[i]);
    vec_release(&c->v);
    vec_release(&c->covers);
    c->n = c->left_out = 0;
}
