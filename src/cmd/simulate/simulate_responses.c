/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/simulate/simulate_responses.h"

#include "kube/file.h"

#define MAX_RESPONSE ((size_t)64 << 20)

void simulate_responses_release(struct simulate_responses *r)
{
    for (size_t i = 0; i < r->v.n; i++)
        free((void *)(uintptr_t)r->v.v[i].body.p);
    vec_release(&r->v);
}

/* A URL may contain "=", in its query; the name of a file after it does not. */
static int add(void *to, struct str text, struct err *reterr)
{
    struct simulate_responses *r = to;
    struct buf body = BUF_INIT;
    size_t equals = text.n;
    while (equals && text.p[equals - 1] != '=')
        equals--;
    if (equals < 2 || equals == text.n)
        return err_set(reterr, -EINVAL, "\"%.*s\" is not URL=FILE", STR_ARG(text));
    /* The text points into argv: it ends with NUL. */
    int code = file_read(text.p + equals, MAX_RESPONSE, &body, reterr);
    if (code < 0) {
        buf_release(&body);
        return code;
    }
    size_t n = body.n;
    vec_push(&r->v, (struct sim_response){str_slice(text, 0, equals - 1), {buf_take(&body), n}});
    return 0;
}

struct flag_custom simulate_responses_flag(struct simulate_responses *to)
{
    return (struct flag_custom){.to = to, .set = add};
}
