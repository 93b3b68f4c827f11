/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/ttl_cache.h"

struct ttl_entry {
    struct ttl_entry *older, *newer;
    int64_t expires;
    struct str key, value; /* stored after this struct */
};

void ttl_cache_init(struct ttl_cache *cache, size_t max_entries, size_t max_bytes)
{
    *cache = (struct ttl_cache){.max_entries = max_entries, .max_bytes = max_bytes};
}

static size_t size_of(const struct ttl_entry *e)
{
    return sizeof(*e) + e->key.n + e->value.n;
}

static void remove_entry(struct ttl_cache *cache, struct ttl_entry *e)
{
    map_del(&cache->map, e->key);
    *(e->older ? &e->older->newer : &cache->oldest) = e->newer;
    *(e->newer ? &e->newer->older : &cache->newest) = e->older;
    cache->bytes -= size_of(e);
    free(e);
}

void ttl_cache_release(struct ttl_cache *cache)
{
    while (cache->oldest)
        remove_entry(cache, cache->oldest);
    map_release(&cache->map);
}

bool ttl_cache_get(struct ttl_cache *cache, struct str key, int64_t now, struct str *ret_value)
{
    struct ttl_entry *e = map_get(&cache->map, key);
    if (!e)
        return false;
    if (now >= e->expires) {
        remove_entry(cache, e);
        return false;
    }
    *ret_value = e->value;
    return true;
}

void ttl_cache_put(struct ttl_cache *cache, struct str key, struct str value, int64_t expires)
{
    struct ttl_entry *old = map_get(&cache->map, key);
    if (old)
        remove_entry(cache, old);
    size_t size = sizeof(struct ttl_entry) + key.n + value.n;
    if (size > cache->max_bytes || cache->max_entries == 0)
        return;
    while (cache->oldest &&
           (cache->map.n >= cache->max_entries || cache->bytes + size > cache->max_bytes))
        remove_entry(cache, cache->oldest);
    struct ttl_entry *e = xmalloc(size);
    char *text = (char *)(e + 1);
    *e = (struct ttl_entry){.older = cache->newest,
                            .expires = expires,
                            .key = {text, key.n},
                            .value = {text + key.n, value.n}};
    if (key.n)
        memcpy(text, key.p, key.n);
    if (value.n)
        memcpy(text + key.n, value.p, value.n);
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = e;
    cache->newest = e;
    cache->bytes += size;
    map_put(&cache->map, e->key, e);
}
