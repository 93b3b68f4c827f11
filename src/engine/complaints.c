/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/complaints.h"

#include "api/selector_fault.h"

void complaints_add(struct complaints *c, const char *fmt, ...)
{
    struct buf text = BUF_INIT;
    va_list ap;
    if (c->prefix)
        buf_add_cstr(&text, c->prefix);
    va_start(ap, fmt);
    buf_add_vprintf(&text, fmt, ap);
    va_end(ap);
    vec_push(&c->v, buf_take(&text));
    c->n++;
}

bool complaints_check_name(struct complaints *c, struct str name, const char *fmt, ...)
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
        complaints_add_all(c, buf_str(&faults.text), faults.n);
    buf_release(&faults.text);
    buf_release(&field);
    return ok;
}

void complaints_add_all(struct complaints *c, struct str text, size_t n)
{
    vec_push(&c->v, str_dup(text));
    c->n += n;
}

static bool is_repeated(const struct complaints *c, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(c->v.v[k], c->v.v[i]) == 0)
            return true;
    return false;
}

void complaints_write(const struct complaints *c, struct buf *out)
{
    size_t start = out->n, written = 0;
    for (size_t i = 0; i < c->v.n; i++) {
        if (is_repeated(c, i))
            continue;
        buf_add_cstr(out, written++ ? ", " : "");
        buf_add_cstr(out, c->v.v[i]);
    }
    if (c->n - c->v.n + written <= 1)
        return;
    char *all = str_dup((struct str){out->p + start, out->n - start});
    out->n = start;
    buf_add_printf(out, "[%s]", all);
    free(all);
}

void complaints_release(struct complaints *c)
{
    for (size_t i = 0; i < c->v.n; i++)
        free(c->v.v[i]);
    vec_release(&c->v);
    c->n = 0;
}
