/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/types/resource.h"

#include "apiserver/types/resource_internal.h"
#include "base/arena.h"
#include "base/vec.h"

/*
 * A resource of a CustomResourceDefinition. Its address belongs to (group, version, plural) for
 * ever: replacing or removing it and adding it again changes the struct in place, so that stored
 * revisions may point to it.
 */
struct custom_entry {
    struct resource resource;
    struct arena arena; /* of its strings and arrays */
    char *key;          /* in by_path */
    size_t at;          /* in customs, if it is served */
    bool served;
};

struct resources {
    struct map by_path;                 /* "group/version/plural" -> struct resource */
    struct map by_kind;                 /* "version kind" */
    struct map entries;                 /* "group/version/plural" -> struct custom_entry */
    VEC(struct custom_entry *) customs; /* served, in the order of their addition */
    VEC(char *) keys;                   /* of the built-in resources */
};

const struct subresource *resource_subresource(const struct resource *r, struct str name)
{
    for (const struct subresource *s = r->subresources; s && s->name; s++)
        if (str_is(name, s->name))
            return s;
    return NULL;
}

/* --- versions --------------------------------------------------------------------------------- */

/* "v1beta2": rank 1, major 1, minor 2. False: it is no version of this form. */
static bool parse_version(struct str v, int ret_parts[3])
{
    static const struct {
        struct str name;
        int rank;
    } stages[] = {{STR_INIT("alpha"), 0}, {STR_INIT("beta"), 1}, {STR_INIT(""), 2}};
    size_t digits = 1;
    int64_t major, minor = 0;
    if (!str_starts(v, STR("v")))
        return false;
    while (digits < v.n && v.p[digits] >= '0' && v.p[digits] <= '9')
        digits++;
    if (digits > 7 || !str_to_i64(str_slice(v, 1, digits), &major))
        return false;
    struct str rest = str_slice(v, digits, v.n);
    for (size_t i = 0; i < ARRAY_LEN(stages); i++) {
        struct str number = str_slice(rest, stages[i].name.n, rest.n);
        bool numbered = number.n <= 6 && str_to_i64(number, &minor) && minor > 0;
        if (!str_starts(rest, stages[i].name) || (stages[i].rank == 2 ? rest.n > 0 : !numbered))
            continue;
        ret_parts[0] = stages[i].rank;
        ret_parts[1] = (int)major;
        ret_parts[2] = (int)minor;
        return true;
    }
    return false;
}

int resource_version_compare(struct str a, struct str b)
{
    int x[3], y[3];
    bool known_a = parse_version(a, x), known_b = parse_version(b, y);
    if (known_a != known_b)
        return known_a ? 1 : -1;
    if (!known_a)
        return str_cmp(b, a);
    for (size_t i = 0; i < ARRAY_LEN(x); i++)
        if (x[i] != y[i])
            return x[i] > y[i] ? 1 : -1;
    return 0;
}

/* --- keys ------------------------------------------------------------------------------------- */

static struct str path_key(struct buf *b, struct str group, struct str version, struct str plural)
{
    buf_clear(b);
    buf_add_str(b, group);
    buf_add_char(b, '/');
    buf_add_str(b, version);
    buf_add_char(b, '/');
    buf_add_str(b, plural);
    return buf_str(b);
}

static struct str kind_key(struct buf *b, struct str api_version, struct str kind)
{
    buf_clear(b);
    buf_add_str(b, api_version);
    buf_add_char(b, ' ');
    buf_add_str(b, kind);
    return buf_str(b);
}

static void *lookup(const struct map *m, struct str key, struct buf *b)
{
    void *found = map_get(m, key);
    buf_release(b);
    return found;
}

const struct resource *resources_find(const struct resources *rs, struct str group,
                                      struct str version, struct str plural)
{
    struct buf b = BUF_INIT;
    return lookup(&rs->by_path, path_key(&b, group, version, plural), &b);
}

const struct resource *resources_find_kind(const struct resources *rs, struct str api_version,
                                           struct str kind)
{
    struct buf b = BUF_INIT;
    return lookup(&rs->by_kind, kind_key(&b, api_version, kind), &b);
}

/* --- all -------------------------------------------------------------------------------------- */

struct resources *resources_new(void)
{
    struct resources *rs = xcalloc(1, sizeof(*rs));
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < n_resource_table; i++) {
        const struct resource *r = &resource_table[i];
        char *path = str_dup(path_key(&b, r->group, r->version, r->plural));
        char *kind = str_dup(kind_key(&b, r->api_version, r->kind));
        vec_push(&rs->keys, path);
        vec_push(&rs->keys, kind);
        map_put(&rs->by_path, str_of(path), (void *)r);
        map_put(&rs->by_kind, str_of(kind), (void *)r);
    }
    buf_release(&b);
    return rs;
}

struct resources *resources_free(struct resources *rs)
{
    if (!rs)
        return NULL;
    map_each (e, &rs->entries) {
        struct custom_entry *entry = e->value;
        arena_release(&entry->arena);
        free(entry->key);
        free(entry);
    }
    for (size_t i = 0; i < rs->keys.n; i++)
        free(rs->keys.v[i]);
    vec_release(&rs->keys);
    vec_release(&rs->customs);
    map_release(&rs->entries);
    map_release(&rs->by_kind);
    map_release(&rs->by_path);
    free(rs);
    return NULL;
}

static bool built_in(const struct resource *r)
{
    return r >= resource_table && r < resource_table + n_resource_table;
}

const struct resource *resources_next(const struct resources *rs, const struct resource *after)
{
    size_t next = 0;
    if (!after || built_in(after)) {
        next = after ? (size_t)(after - resource_table) + 1 : 0;
        if (next < n_resource_table)
            return &resource_table[next];
        next = 0;
    } else {
        next = ((const struct custom_entry *)after)->at + 1;
    }
    return next < rs->customs.n ? &rs->customs.v[next]->resource : NULL;
}

const struct resource *resources_named(const struct resources *rs, struct str group,
                                       struct str plural)
{
    const struct resource *found = NULL;
    for (const struct resource *r = resources_next(rs, NULL); r; r = resources_next(rs, r))
        if (str_eq(r->group, group) && str_eq(r->plural, plural) &&
            (!found || resource_version_compare(r->version, found->version) > 0))
            found = r;
    return found;
}

bool resources_has_group(const struct resources *rs, struct str group, struct str version)
{
    for (const struct resource *r = resources_next(rs, NULL); r; r = resources_next(rs, r))
        if (str_eq(r->group, group) && (version.n == 0 || str_eq(r->version, version)))
            return true;
    return false;
}

/* --- custom resources ------------------------------------------------------------------------- */

static const char *const *copy_names(const char *const *names, struct arena *a)
{
    size_t n = 0;
    while (names && names[n])
        n++;
    if (n == 0)
        return NULL;
    const char **copy = arena_array(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        copy[i] = arena_dup(a, str_of(names[i])).p;
    return copy;
}

static const struct subresource *copy_subresources(const struct subresource *s, struct arena *a)
{
    size_t n = 0;
    while (s && s[n].name)
        n++;
    struct subresource *copy = arena_array(a, struct subresource, n + 1);
    for (size_t i = 0; i < n; i++)
        copy[i] = (struct subresource){.name = arena_dup(a, str_of(s[i].name)).p,
                                       .kind = arena_dup(a, str_of(s[i].kind)).p,
                                       .api_version = arena_dup(a, str_of(s[i].api_version)).p,
                                       .verbs = s[i].verbs};
    return copy;
}

static void copy_resource(struct resource *to, const struct resource *from, struct arena *a)
{
    *to = *from;
    to->group = arena_dup(a, from->group);
    to->version = arena_dup(a, from->version);
    to->api_version = arena_dup(a, from->api_version);
    to->plural = arena_dup(a, from->plural);
    to->singular = arena_dup(a, from->singular);
    to->kind = arena_dup(a, from->kind);
    to->list_kind = arena_dup(a, from->list_kind);
    to->short_names = copy_names(from->short_names, a);
    to->categories = copy_names(from->categories, a);
    to->subresources = copy_subresources(from->subresources, a);
}

static void index_kind(struct resources *rs, struct custom_entry *entry, struct buf *b)
{
    struct resource *r = &entry->resource;
    struct str key = arena_dup(&entry->arena, kind_key(b, r->api_version, r->kind));
    if (!map_get(&rs->by_kind, key))
        map_put(&rs->by_kind, key, r);
}

static void unserve(struct resources *rs, struct custom_entry *entry)
{
    struct buf b = BUF_INIT;
    struct resource *r = &entry->resource;
    struct str key = kind_key(&b, r->api_version, r->kind);
    if (map_get(&rs->by_kind, key) == r)
        map_del(&rs->by_kind, key);
    buf_release(&b);
    map_del(&rs->by_path, str_of(entry->key));
    vec_remove(&rs->customs, entry->at);
    for (size_t i = entry->at; i < rs->customs.n; i++)
        rs->customs.v[i]->at = i;
    entry->served = false;
}

static struct custom_entry *entry_of(struct resources *rs, struct str key)
{
    struct custom_entry *entry = map_get(&rs->entries, key);
    if (!entry) {
        entry = xcalloc(1, sizeof(*entry));
        arena_init(&entry->arena, 0);
        entry->key = str_dup(key);
        map_put(&rs->entries, str_of(entry->key), entry);
    }
    return entry;
}

const struct resource *resources_add(struct resources *rs, const struct resource *r)
{
    struct buf b = BUF_INIT;
    struct str key = path_key(&b, r->group, r->version, r->plural);
    const struct resource *served = map_get(&rs->by_path, key);
    struct custom_entry *entry = NULL;
    if (served && built_in(served))
        goto out;
    entry = entry_of(rs, key);
    struct arena old = entry->arena; /* r may be the entry's own resource */
    size_t at = rs->customs.n;
    if (entry->served) {
        at = entry->at;
        unserve(rs, entry);
    }
    arena_init(&entry->arena, 0);
    copy_resource(&entry->resource, r, &entry->arena);
    arena_release(&old);
    vec_insert(&rs->customs, at, entry);
    for (size_t i = at; i < rs->customs.n; i++)
        rs->customs.v[i]->at = i;
    map_put(&rs->by_path, str_of(entry->key), &entry->resource);
    index_kind(rs, entry, &b);
    entry->served = true;
out:
    buf_release(&b);
    return entry ? &entry->resource : NULL;
}

void resources_remove(struct resources *rs, const struct resource *r)
{
    struct buf b = BUF_INIT;
    struct custom_entry *entry =
        map_get(&rs->entries, path_key(&b, r->group, r->version, r->plural));
    buf_release(&b);
    if (entry && entry->served)
        unserve(rs, entry);
}
