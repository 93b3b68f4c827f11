/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label_keys.h - the label keys that nodes carry.
 *
 * Purpose:   a topology key that no node carries has no domains. Pods may use any number of such
 *            keys; one lookup here recognizes them.
 * Ownership: owns copies of the keys.
 * Threading: changed by the engine's thread between cycles; any thread may read during a cycle.
 */
#ifndef BERTH_ENGINE_INDEX_LABEL_KEYS_H
#define BERTH_ENGINE_INDEX_LABEL_KEYS_H

#include "base/map.h"
#include "base/vec.h"
#include "codec/desc.h"

#define LABEL_KEY_FEW 16 /* the most nodes that are listed */

struct label_key {
    struct str key; /* owned */
    size_t n_nodes; /* nodes that carry it */
    /* Their slots, unless there have ever been more than LABEL_KEY_FEW. */
    VEC(uint32_t) slots;
    bool many;
};

struct label_keys {
    struct map by_key; /* → struct label_key */
    /* Called when the first node gets a key, and when the last loses it. NULL is allowed. */
    void (*carried)(void *ctx, struct str key, bool carried);
    void *ctx;
};

void label_keys_release(struct label_keys *k);
/* The labels of the node in this slot change. before NULL: it is new; after NULL: removed. */
void label_keys_changed(struct label_keys *k, uint32_t slot, const str_map *before,
                        const str_map *after);
/* NULL if no node carries the key. */
const struct label_key *label_keys_get(const struct label_keys *k, struct str key);

#endif
