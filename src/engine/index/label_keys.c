/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label_keys.c - counts nodes by label key.
 *
 * The slots of a key are listed while there are few; once there were more than LABEL_KEY_FEW, the
 * list is gone until no node carries the key.
 */
#include "engine/index/label_keys.h"

static void free_key(struct label_key *key)
{
    vec_release(&key->slots);
    free((char *)key->key.p);
    free(key);
}

void label_keys_release(struct label_keys *k)
{
    map_each (e, &k->by_key)
        free_key(e->value);
    map_release(&k->by_key);
}

const struct label_key *label_keys_get(const struct label_keys *k, struct str key)
{
    return map_get(&k->by_key, key);
}

static void add(struct label_keys *k, struct str text, uint32_t slot)
{
    struct label_key *key = map_get(&k->by_key, text);
    if (!key) {
        key = xnew(struct label_key);
        key->key = (struct str){str_dup(text), text.n};
        map_put(&k->by_key, key->key, key);
    }
    key->n_nodes++;
    if (!key->many && key->slots.n < LABEL_KEY_FEW) {
        vec_push(&key->slots, slot);
    } else if (!key->many) {
        key->many = true;
        vec_release(&key->slots);
    }
    if (key->n_nodes == 1 && k->carried)
        k->carried(k->ctx, key->key, true);
}

static void drop_slot(struct label_key *key, uint32_t slot)
{
    size_t i = 0;
    while (i < key->slots.n && key->slots.v[i] != slot)
        i++;
    if (i < key->slots.n)
        vec_swap_remove(&key->slots, i);
}

static void drop(struct label_keys *k, struct str text, uint32_t slot)
{
    struct label_key *key = map_get(&k->by_key, text);
    INVARIANT(key && key->n_nodes > 0);
    if (!key)
        return;
    INVARIANT(key->many || key->slots.n == key->n_nodes);
    drop_slot(key, slot);
    if (--key->n_nodes)
        return;
    map_del(&k->by_key, key->key);
    if (k->carried)
        k->carried(k->ctx, key->key, false);
    free_key(key);
}

/* Labels are sorted by key. */
void label_keys_changed(struct label_keys *k, uint32_t slot, const str_map *before,
                        const str_map *after)
{
    size_t n_before = before ? before->n : 0, n_after = after ? after->n : 0;
    size_t i = 0, j = 0;
    while (i < n_before || j < n_after) {
        int order = i == n_before  ? 1
                    : j == n_after ? -1
                                   : str_cmp(before->v[i].key, after->v[j].key);
        if (order < 0)
            drop(k, before->v[i].key, slot);
        else if (order > 0)
            add(k, after->v[j].key, slot);
        i += order <= 0;
        j += order >= 0;
    }
}
