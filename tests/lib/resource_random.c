/* SPDX-License-Identifier: Apache-2.0 */
#include "resource_random.h"

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

/* A random subset of the names: "'cpu':'1','memory':'2'". */
static const char *random_amounts(struct rand *r)
{
    static const char *const names[] = {"cpu", "memory", "ephemeral-storage", "x.io/a", "x.io/b"};
    const char *amounts = "";
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (rand_below(r, 4))
            amounts = textf("%s%s'%s':'%s'", amounts, *amounts ? "," : "", names[i],
                            resource_random_amount(r));
    return amounts;
}

struct object *resource_random_pod(struct rand *r, size_t i, const char *node)
{
    const char *containers = "";
    size_t n = 1 + rand_below(r, 2);
    for (size_t k = 0; k < n; k++)
        containers = textf("%s%s{'name':'c%zu','resources':{'requests':{%s}}}", containers,
                           k ? "," : "", k, random_amounts(r));
    return POD(.name = textf("p%zu", i), .node = node, .containers = containers);
}

void resource_random_cluster(struct fixture *f, struct rand *r, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ADD_NODE(f, .name = textf("n%zu", i), .pods = textf("%d", (int)rand_below(r, 5)),
                 .allocatable = random_amounts(r));
    for (size_t i = 0; i < n; i++)
        fixture_add(f, resource_random_pod(r, i, textf("n%zu", (size_t)rand_below(r, n))));
}
