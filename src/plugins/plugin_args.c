/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/plugin_args.h"

#include "codec/json.h"
#include "engine/abi.h"

#define CONFIG_GROUP "kubescheduler.config.k8s.io"

static int fail(struct berth_error *error, struct str text)
{
    size_t n = MIN(text.n, sizeof(error->text) - 1);
    memcpy(error->text, text.p, n);
    error->text[n] = '\0';
    return -EINVAL;
}

int plugin_args_decode(struct berth_str args, const char *kind, const struct type *type,
                       struct arena *a, void *out, struct berth_error *error)
{
    const struct args_meta *meta = out;
    struct err err = {0};
    memset(out, 0, type->size);
    if (args.n == 0)
        return 0;
    if (json_decode(str_abi(args), type, JSON_STRICT, a, out, &err) < 0)
        return fail(error, str_of(err.msg));
    if (!str_empty(meta->kind) && !str_is(meta->kind, kind)) {
        err_set(&err, -EINVAL, "args were not of type %s." CONFIG_GROUP ", got %.*s." CONFIG_GROUP,
                kind, STR_ARG(meta->kind));
        return fail(error, str_of(err.msg));
    }
    return 0;
}

void arg_errors_add(struct arg_errors *e, const char *fmt, ...)
{
    va_list ap;
    if (e->n++)
        buf_add_str(&e->text, STR(", "));
    va_start(ap, fmt);
    buf_add_vprintf(&e->text, fmt, ap);
    va_end(ap);
}

int arg_errors_finish(struct arg_errors *e, struct berth_error *error)
{
    int r = 0;
    if (e->n == 1) {
        r = fail(error, buf_str(&e->text));
    } else if (e->n > 1) {
        char *all = xasprintf("[%.*s]", STR_ARG(buf_str(&e->text)));
        r = fail(error, str_of(all));
        free(all);
    }
    buf_release(&e->text);
    e->n = 0;
    return r;
}
