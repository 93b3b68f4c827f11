/* SPDX-License-Identifier: Apache-2.0 */
#include "golden.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "codec/json.h"

void golden_load(const char *name, const struct type *type, struct arena *a, void *out)
{
    char *path = xasprintf("tests/golden/%s", name);
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s: cannot be opened; tests are run from the root of the repository", path);
    struct buf text = BUF_INIT;
    char chunk[8192];
    for (size_t n; (n = fread(chunk, 1, sizeof(chunk), f)) > 0;)
        buf_add(&text, chunk, n);
    fclose(f);
    struct err e;
    if (json_decode(buf_str(&text), type, 0, a, out, &e) < 0)
        fail_msg("%s: %s", path, e.msg);
    buf_release(&text);
    free(path);
}
