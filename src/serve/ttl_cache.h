/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ttl_cache.h - texts that hold for some seconds, by key.
 *
 * Purpose:   answers of the API server about tokens and rights. Bounded by number and bytes: the
 *            oldest go first.
 * Ownership: copies keys and values.
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
/* False where there is none or its time is over. *ret_value lives until the next put. */
bool ttl_cache_get(struct ttl_cache *cache, struct str key, int64_t now, struct str *ret_value);
/* Holds until `expires`, exclusively. One that is larger than all room is not kept. */
void ttl_cache_put(struct ttl_cache *cache, struct str key, struct str value, int64_t expires);

#endif
