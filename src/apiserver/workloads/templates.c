/* SPDX-License-Identifier: Apache-2.0 */
/* Pod templates: comparison, hashes, and the numbers of update strategies. */
#include "apiserver/workloads/workloads_internal.h"

#define HASH_LABEL "pod-template-hash"

static int by_name(const void *a, const void *b)
{
    return str_cmp((*(const struct json_member *const *)a)->key,
                   (*(const struct json_member *const *)b)->key);
}

/* Whether a member says nothing: null and [] are as good as none. */
static bool is_void(const struct json_value *v)
{
    return v->kind == JSON_NULL || (v->kind == JSON_ARRAY && !v->n);
}

static void write_object(const struct json_value *v, struct buf *out)
{
    const struct json_member **order = xreallocarray(NULL, v->n_members + 1, sizeof(*order));
    size_t n = 0;
    for (size_t i = 0; i < v->n_members; i++)
        if (!is_void(&v->members[i].value))
            order[n++] = &v->members[i];
    qsort(order, n, sizeof(struct json_member *), by_name);
    buf_add_char(out, '{');
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_add_char(out, ',');
        json_write_str(out, order[i]->key);
        buf_add_char(out, ':');
        workload_write_canonical(&order[i]->value, out);
    }
    buf_add_char(out, '}');
    free(order);
}

/* Recursion is as deep as the tree: json_parse limits it. */
void workload_write_canonical(const struct json_value *v, struct buf *out)
{
    if (v->kind == JSON_OBJECT) {
        write_object(v, out);
    } else if (v->kind == JSON_ARRAY) {
        buf_add_char(out, '[');
        for (size_t i = 0; i < v->n; i++) {
            if (i)
                buf_add_char(out, ',');
            workload_write_canonical(&v->items[i], out);
        }
        buf_add_char(out, ']');
    } else {
        json_write(v, out);
    }
}

uint64_t workload_template_hash(struct workloads *w, const struct json_value *template)
{
    if (!template)
        return 0;
    struct buf text = BUF_INIT;
    struct json_value copy = *template, *meta = json_member(&copy, STR("metadata"));
    struct json_value *labels = meta ? json_member(meta, STR("labels")) : NULL;
    if (labels && json_get(labels, STR(HASH_LABEL))) {
        copy = json_copy(template, &w->scratch);
        labels = json_member(json_member(&copy, STR("metadata")), STR("labels"));
        json_remove(labels, STR(HASH_LABEL));
    }
    workload_write_canonical(&copy, &text);
    uint64_t hash = str_hash(buf_str(&text));
    buf_release(&text);
    return hash;
}

struct str workload_safe_hash(struct workloads *w, struct str text,
                              const struct json_value *collision_count)
{
    static const char safe[] = "bcdfghjklmnpqrstvwxz2456789"; /* upstream: SafeEncodeString */
    uint32_t hash = 2166136261U;                              /* FNV-1a */
    for (size_t i = 0; i < text.n; i++)
        hash = (hash ^ (unsigned char)text.p[i]) * 16777619U;
    if (collision_count && collision_count->kind == JSON_NUMBER)
        for (size_t i = 0; i < collision_count->text.n; i++)
            hash = (hash ^ (unsigned char)collision_count->text.p[i]) * 16777619U;
    struct str digits = arena_printf(&w->scratch, "%u", hash);
    char *p = (char *)(uintptr_t)digits.p;
    for (size_t i = 0; i < digits.n; i++)
        p[i] = safe[(unsigned char)p[i] % (sizeof(safe) - 1)];
    return digits;
}

int64_t workload_scaled(const struct json_value *v, int64_t total, bool round_up)
{
    int64_t n = 0;
    if (!v)
        return 0;
    if (v->kind == JSON_NUMBER)
        return str_to_i64(v->text, &n) ? n : 0;
    if (v->kind != JSON_STRING || !str_ends(v->text, STR("%")) ||
        !str_to_i64(str_slice(v->text, 0, v->text.n - 1), &n) || n < 0 || n > INT32_MAX)
        return 0;
    return (n * total + (round_up ? 99 : 0)) / 100;
}
