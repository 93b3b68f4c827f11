/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/index/claim_uses.h"

#include "engine/cache/object_key.h"

/* A counter is at least 1. */
struct claim_counter {
    size_t n;
    size_t key_n;
    char key[];
};

void claim_uses_release(struct claim_uses *u)
{
    map_each (e, &u->by_key)
        free(e->value);
    map_release(&u->by_key);
    buf_release(&u->key);
}

static void count(struct claim_uses *u, struct str key, int sign)
{
    struct claim_counter *c = map_get(&u->by_key, key);
    INVARIANT(sign > 0 || c);
    if (!c && sign > 0) {
        c = xmalloc(sizeof(*c) + key.n);
        *c = (struct claim_counter){.key_n = key.n};
        memcpy(c->key, key.p, key.n);
        map_put(&u->by_key, (struct str){c->key, key.n}, c);
    }
    if (!c)
        return;
    c->n += (size_t)sign;
    if (c->n == 0) {
        map_del(&u->by_key, (struct str){c->key, c->key_n});
        free(c);
    }
}

static void count_pod(struct claim_uses *u, const struct berth_pod *pod, int sign)
{
    if (!pod->claims.n)
        return;
    for (size_t i = 0; i < pod->pod->spec.volumes.n; i++) {
        const struct volume_source *source = &pod->pod->spec.volumes.v[i].source;
        if (source->persistent_volume_claim)
            count(u,
                  object_key(&u->key, pod->pod->metadata.namespace,
                             source->persistent_volume_claim->claim_name),
                  sign);
    }
}

void claim_uses_moved(struct claim_uses *u, const struct berth_pod *pod,
                      const struct berth_node *node, int sign)
{
    if (node->object)
        count_pod(u, pod, sign);
}

void claim_uses_node(struct claim_uses *u, const struct berth_node *node, int sign)
{
    for (size_t i = 0; node->claims.n && i < node->pods.n; i++)
        count_pod(u, node->pods.v[i], sign);
}

bool claim_is_used(struct claim_uses *u, struct str namespace, struct str name)
{
    return map_get(&u->by_key, object_key(&u->key, namespace, name)) != NULL;
}
