/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/store/store.h"

static size_t pairs_size(const struct store_pair *pairs, size_t n)
{
    size_t size = 0;
    for (size_t i = 0; i < n; i++)
        size += pairs[i].key.n + pairs[i].value.n;
    return size;
}

static struct str copy(char **at, struct str s)
{
    char *to = *at;
    if (s.n)
        memcpy(to, s.p, s.n);
    *at += s.n;
    return (struct str){to, s.n};
}

static void copy_pairs(struct store_pair *to, const struct store_pair *from, size_t n, char **at)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (struct store_pair){copy(at, from[i].key), copy(at, from[i].value)};
}

struct revision *revision_new(const struct revision_source *source)
{
    size_t n_pairs = source->n_labels + source->n_fields;
    size_t size = sizeof(struct revision) + n_pairs * sizeof(struct store_pair) +
                  source->namespace.n + source->name.n + source->text.n +
                  pairs_size(source->labels, source->n_labels) +
                  pairs_size(source->fields, source->n_fields);
    struct revision *rev = xmalloc(size);
    struct store_pair *pairs = (struct store_pair *)(rev + 1);
    char *at = (char *)(pairs + n_pairs);
    *rev = (struct revision){
        .refs = 1,
        .resource = source->resource,
        .version = source->version,
        .labels = pairs,
        .n_labels = source->n_labels,
        .fields = pairs + source->n_labels,
        .n_fields = source->n_fields,
        .size = size,
    };
    /* The key is first: comparisons read the struct and these bytes only. */
    rev->namespace = copy(&at, source->namespace);
    rev->name = copy(&at, source->name);
    copy_pairs(rev->labels, source->labels, source->n_labels, &at);
    copy_pairs(rev->fields, source->fields, source->n_fields, &at);
    rev->text = copy(&at, source->text);
    return rev;
}

struct revision *revision_ref(struct revision *rev)
{
    rev->refs++;
    return rev;
}

struct revision *revision_unref(struct revision *rev)
{
    if (rev && --rev->refs == 0)
        free(rev);
    return NULL;
}

static struct str find(const struct store_pair *pairs, size_t n, struct str key)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(pairs[i].key, key))
            return pairs[i].value;
    return STR("");
}

struct str revision_label(const struct revision *rev, struct str key)
{
    return find(rev->labels, rev->n_labels, key);
}

struct str revision_field(const struct revision *rev, struct str key)
{
    return find(rev->fields, rev->n_fields, key);
}
