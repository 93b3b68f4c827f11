/* SPDX-License-Identifier: Apache-2.0 */
/* Both roles: the same bytes whole and in chunks must parse the same. The first byte selects the
 * role and the sizes of the chunks. */
#include "net/h1_parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void drain(struct h1_parser *p, struct str in, struct buf *out, bool *failed)
{
    enum h1_event event = H1_MORE;
    do {
        struct str piece = {0};
        struct err err = {0};
        int r = h1_parser_next(p, &in, &event, &piece, &err);
        if (r < 0) {
            if (!err.msg[0])
                abort();
            buf_add_printf(out, "!%d", r);
            *failed = true;
            return;
        }
        if (event == H1_HEAD)
            buf_add_printf(out, "H%d%.*s%zu", p->status, STR_ARG(p->target), p->headers.list.n);
        else if (event == H1_DATA)
            buf_add_str(out, piece);
        else if (event == H1_END)
            buf_add_char(out, 'E');
        if (event == H1_END)
            h1_parser_reset(p);
    } while (event != H1_MORE);
    if (in.n)
        abort(); /* requested more without having consumed everything */
}

static void run(enum h1_role role, struct str in, size_t step, struct buf *out)
{
    struct h1_parser p;
    bool failed = false, ended;
    struct err err;
    h1_parser_init(&p, role, 4096);
    for (size_t at = 0; at < in.n && !failed; at += step)
        drain(&p, str_slice(in, at, at + step), out, &failed);
    if (!failed)
        buf_add_printf(out, ".%d", h1_parser_eof(&p, &ended, &err));
    h1_parser_release(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    enum h1_role role = data[0] & 1 ? H1_RESPONSES : H1_REQUESTS;
    size_t step = (size_t)(data[0] >> 1) % 40 + 1;
    struct str in = {(const char *)data + 1, size - 1};
    struct buf whole = BUF_INIT, pieces = BUF_INIT;
    run(role, in, in.n + 1, &whole);
    run(role, in, step, &pieces);
    if (!str_eq(buf_str(&whole), buf_str(&pieces)))
        abort();
    buf_release(&whole);
    buf_release(&pieces);
    return 0;
}
