/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/buf.h"
#include "cel/regex/syntax.h"

int regex_new(struct str expression, struct arena *a, const struct regex **ret_regex,
              struct regex_error *reterr)
{
    struct arena scratch;
    struct node *tree;
    size_t groups;
    arena_init(&scratch, 0);
    int r = regex_parse(expression, &scratch, &tree, &groups, reterr);
    if (r == 0) {
        struct regex *re = arena_new(a, struct regex);
        re->groups = groups;
        regex_emit(re, tree, a);
        *ret_regex = re;
    }
    arena_release(&scratch);
    return r;
}

struct str regex_error_text(const struct regex_error *error, struct arena *a)
{
    /* The expression may contain NUL. */
    struct buf b = BUF_INIT;
    buf_add_cstr(&b, "error parsing regexp: ");
    buf_add_cstr(&b, error->what);
    buf_add_cstr(&b, ": `");
    buf_add_str(&b, error->part);
    buf_add_cstr(&b, "`");
    struct str text = arena_dup(a, buf_str(&b));
    buf_release(&b);
    return text;
}

size_t regex_groups(const struct regex *re)
{
    return re->groups;
}
