/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cli/plugin_flags.h"

static int add_path(void *to, struct str text, struct err *reterr)
{
    plugin_paths *list = to;
    if (str_empty(text))
        return err_set(reterr, -EINVAL, "empty path");
    vec_push(list, text.p); /* points into argv: ends with NUL */
    return 0;
}

static void write_paths(const void *to, struct buf *out)
{
    const plugin_paths *list = to;
    buf_add_char(out, '[');
    for (size_t i = 0; i < list->n; i++)
        buf_add_printf(out, "%s%s", i ? "," : "", list->v[i]);
    buf_add_char(out, ']');
}

void plugin_flags_init(struct plugin_flags *f)
{
    *f = (struct plugin_flags){
        .files = {.to = &f->sources.files, .set = add_path, .write = write_paths},
        .dirs = {.to = &f->sources.dirs, .set = add_path, .write = write_paths},
    };
}

void plugin_flags_release(struct plugin_flags *f)
{
    plugin_sources_release(&f->sources);
}
