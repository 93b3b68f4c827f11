/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/common/plugin_args.h"

#include "engine/ports/abi.h"

static int check(const struct args_kind *kind, const void *args, struct berth_error *error)
{
    struct error_list errors = {0};
    struct buf text = BUF_INIT;
    if (kind->check)
        kind->check(args, &errors);
    bool ok = errors.n == 0;
    error_list_write(&errors, &text);
    if (!ok)
        snprintf(error->text, sizeof(error->text), "%s", buf_cstr(&text));
    error_list_release(&errors);
    buf_release(&text);
    return ok ? 0 : -EINVAL;
}

int plugin_args_read_gated(const struct args_kind *kind, const struct features *features,
                           struct berth_str text, struct arena *a, void *out,
                           struct berth_error *error)
{
    struct err err = {0};
    if (args_read(kind, features, str_abi(text), a, out, &err) < 0) {
        snprintf(error->text, sizeof(error->text), "%.*s", (int)sizeof(error->text) - 1, err.msg);
        return -EINVAL;
    }
    return check(kind, out, error);
}

int plugin_args_read(const struct args_kind *kind, struct berth_str text, struct arena *a,
                     void *out, struct berth_error *error)
{
    return plugin_args_read_gated(kind, NULL, text, a, out, error);
}

struct str *args_text_or(struct str *given, struct str text, struct arena *a)
{
    if (given)
        return given;
    struct str *copy = arena_new(a, struct str);
    *copy = text;
    return copy;
}
