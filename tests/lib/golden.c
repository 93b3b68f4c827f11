/* SPDX-License-Identifier: Apache-2.0 */
#include "golden.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "codec/json.h"

/* Returns false if the file cannot be read. */
static bool read_file(const char *path, struct buf *out)
{
    FILE *f = fopen(path, "rb");
    char chunk[8192];
    size_t n;
    if (!f)
        return false;
    do {
        n = fread(chunk, 1, sizeof(chunk), f);
        buf_add(out, chunk, n);
    } while (n == sizeof(chunk));
    fclose(f);
    return true;
}

void golden_load(const char *name, const struct type *type, struct arena *a, void *out)
{
    char *path = xasprintf("tests/golden/%s", name);
    struct buf text = BUF_INIT;
    struct err e;
    if (!read_file(path, &text))
        fail_msg("%s: cannot be read; tests are run from the root of the repository", path);
    if (json_decode(buf_str(&text), type, 0, a, out, &e) < 0)
        fail_msg("%s: %s", path, e.msg);
    buf_release(&text);
    free(path);
}

struct json_value golden_tree(const char *name, struct arena *a)
{
    char *path = xasprintf("tests/golden/%s", name);
    struct buf text = BUF_INIT;
    struct json_value v = {0};
    struct err e;
    if (!read_file(path, &text))
        fail_msg("%s: cannot be read; tests are run from the root of the repository", path);
    if (json_parse(buf_str(&text), 0, a, &v, &e) < 0)
        fail_msg("%s: %s", path, e.msg);
    buf_release(&text);
    free(path);
    return v;
}
