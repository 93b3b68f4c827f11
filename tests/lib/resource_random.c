/* SPDX-License-Identifier: Apache-2.0 */
#include "resource_random.h"

#include "base/buf.h"

static int64_t random_i64(struct rand *r)
{
    switch (rand_below(r, 8)) {
    case 0:
        return 0;
    case 1:
        return (int64_t)rand_u64(r);
    case 2:
        return INT64_MAX - (int64_t)rand_below(r, 3);
    case 3:
        return INT64_MAX / 128 - 2 + (int64_t)rand_below(r, 5);
    case 4:
        return (int64_t)(rand_u64(r) >> rand_below(r, 63) >> 1);
    case 5:
        return -(int64_t)rand_below(r, 300);
    default:
        return (int64_t)rand_below(r, 5000);
    }
}

const char *resource_random_amount(struct rand *r)
{
    static char texts[8][40];
    static size_t next;
    char *text = texts[next++ % ARRAY_LEN(texts)];
    snprintf(text, sizeof(texts[0]), "%lld%s", (long long)random_i64(r),
             rand_below(r, 2) ? "" : "m");
    return text;
}

/* Each of the names or not, as members of a JSON object. */
static void add_amounts(struct buf *out, struct rand *r)
{
    static const char *const names[] = {"cpu", "memory", "ephemeral-storage", "x.io/a", "x.io/b"};
    bool first = true;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (rand_below(r, 4)) {
            buf_add_printf(out, "%s\"%s\":\"%s\"", first ? "" : ",", names[i],
                           resource_random_amount(r));
            first = false;
        }
}

struct object *resource_random_pod(struct rand *r, size_t i, const char *node)
{
    struct buf containers = BUF_INIT;
    size_t n = 1 + rand_below(r, 2);
    for (size_t k = 0; k < n; k++) {
        buf_add_printf(&containers, "%s{\"name\":\"c%zu\",\"resources\":{\"requests\":{",
                       k ? "," : "", k);
        add_amounts(&containers, r);
        buf_add_cstr(&containers, "}}}");
    }
    struct object *pod = object_jsonf(KIND_POD,
                                      "{'metadata':{'name':'p%zu','uid':'p%zu'},'spec':{'nodeName':"
                                      "'%s','containers':[%s]}}",
                                      i, i, node, buf_cstr(&containers));
    buf_release(&containers);
    return pod;
}

void resource_random_cluster(struct fixture *f, struct rand *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct buf amounts = BUF_INIT;
        add_amounts(&amounts, r);
        fixture_add(f, object_jsonf(KIND_NODE,
                                    "{'metadata':{'name':'n%zu'},'status':{"
                                    "'allocatable':{%s%s'pods':'%d'}}}",
                                    i, amounts.n ? buf_cstr(&amounts) : "", amounts.n ? "," : "",
                                    (int)rand_below(r, 5)));
        buf_release(&amounts);
    }
    for (size_t i = 0; i < n; i++) {
        char name[24];
        snprintf(name, sizeof(name), "n%zu", (size_t)rand_below(r, n));
        fixture_add(f, resource_random_pod(r, i, name));
    }
}
