/* SPDX-License-Identifier: Apache-2.0 */
/* Manifests: chunks of any size have the same objects, and checking them never crashes. */
#include "api/schema.h"
#include "codec/manifest.h"

struct pieces {
    struct str text;
    size_t step;
};

static ssize_t read_piece(void *ctx, char *to, size_t n, struct err *reterr)
{
    (void)reterr;
    struct pieces *p = ctx;
    n = MIN(MIN(n, p->step), p->text.n);
    if (n)
        memcpy(to, p->text.p, n);
    p->text = str_slice(p->text, n, p->text.n);
    return (ssize_t)n;
}

static void on_problem(void *ctx, const struct schema_problem *problem)
{
    const struct manifest_part *part = ctx;
    if (problem->offset > part->json.n)
        abort();
}

static int on_part(void *ctx, const struct manifest_part *part, struct err *reterr)
{
    (void)reterr;
    struct buf *all = ctx;
    struct err err;
    struct manifest_part copy = *part;
    int r = schema_check(schema_types, schema_kind_named(STR("Pod"))->type, part->json, on_problem,
                         &copy, &err);
    if (r < 0 && !err.msg[0])
        abort();
    buf_add_printf(all, "%d %zu ", (int)part->what, part->locate(part->locate_ctx, 0));
    buf_add_str(all, part->json);
    return 0;
}

static int read_all(struct str text, size_t step, struct buf *out)
{
    struct pieces pieces = {text, step};
    struct yaml_source source = {.read = read_piece, .ctx = &pieces};
    struct err err;
    return manifest_read(&source, JSON_KEEP_DUPLICATES, on_part, out, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = {(const char *)data, n};
    struct buf whole = BUF_INIT, cut = BUF_INIT;
    int a = read_all(text, SIZE_MAX, &whole), b = read_all(text, n % 7 + 1, &cut);
    /* Of an invalid text more or less may be read before the error. */
    if ((a < 0) != (b < 0) || (a == 0 && !str_eq(buf_str(&whole), buf_str(&cut))))
        abort();
    buf_release(&whole);
    buf_release(&cut);
    return 0;
}
