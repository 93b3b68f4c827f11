/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ttl_cache.h - a bounded cache of texts that expire.
 *
 * Purpose:   caches TokenReviews and SubjectAccessReviews. Bounded by entries and bytes; the oldest
 *            entries are evicted first.
 * Ownership: keys and values are copied.
 * Threading: one thread at a time.
 */
#ifndef BERTH_SERVE_TTL_CACHE_H
#define BERTH_SERVE_TTL_CACHE_H

#include "base/map.h"

struct ttl_entry;

struct ttl_cache {
    struct map map;
    struct ttl_entry *oldest, *newest;
    size_t bytes, max_entries, max_bytes;
};

void ttl_cache_init(struct ttl_cache *cache, size_t max_entries, size_t max_bytes);
void ttl_cache_release(struct ttl_cache *cache);
/* False if there is none or it has expired. *ret_value is valid until the next put. */
bool ttl_cache_get(struct ttl_cache *cache, struct str key, int64_t now, struct str *ret_value);
/* Keeps the value while now < expires. A value larger than max_bytes is not cached. */
void ttl_cache_put(struct ttl_cache *cache, struct str key, struct str value, int64_t expires);

#endif
