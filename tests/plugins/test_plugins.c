/* SPDX-License-Identifier: Apache-2.0 */
#include "test_plugins.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int test_plugin_create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                       void **ret_self, struct berth_error *error)
{
    struct test_plugin *self = malloc(sizeof(*self));
    char *copy = malloc(args.n + 1);
    if (!self || !copy) {
        free(self);
        free(copy);
        snprintf(error->text, sizeof(error->text), "no memory");
        return -1;
    }
    if (args.n)
        memcpy(copy, args.p, args.n);
    copy[args.n] = '\0';
    *self = (struct test_plugin){.host = host, .handle = h, .args = copy};
    *ret_self = self;
    return 0;
}

void test_plugin_destroy(void *ctx)
{
    struct test_plugin *self = ctx;
    free(self->args);
    free(self);
}

bool test_same(struct berth_str a, struct berth_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

void test_say(const struct test_plugin *self, const char *fmt, ...)
{
    char line[512];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    if (n > 0)
        self->host->log(self->handle, 0, (struct berth_str){line, strlen(line)}, NULL, 0);
}

/* Enough of JSON for arguments that a test writes: "name": "text" without escapes. */
void test_arg(const struct test_plugin *self, const char *name, char *out, size_t size)
{
    char key[64];
    *out = '\0';
    snprintf(key, sizeof(key), "\"%s\"", name);
    const char *at = strstr(self->args, key);
    const char *begin = at ? strchr(at + strlen(key), '"') : NULL;
    const char *end = begin ? strchr(begin + 1, '"') : NULL;
    if (end)
        snprintf(out, size, "%.*s", (int)(end - begin - 1), begin + 1);
}

struct berth_str test_label(const struct test_plugin *self, const struct berth_pod *pod,
                            struct berth_str key)
{
    struct berth_str value;
    return self->host->pod_label(pod, key, &value) ? value : BERTH_STR("");
}

bool test_about(const struct test_plugin *self, const struct berth_pod *pod,
                const struct berth_object *changed)
{
    return test_same(self->host->object_uid(changed), self->host->pod_uid(pod));
}
