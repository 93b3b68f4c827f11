/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/inter_pod_affinity/topology_places.h"

#define FEW 8 /* up to this many, a search is faster than a lookup */

void topology_places_release(struct topology_places *p)
{
    vec_release(&p->all);
    map_release(&p->by_id);
}

void topology_places_clear(struct topology_places *p)
{
    if (p->by_id.n)
        topology_places_release(p); /* a pod with that many keys is rare: free its memory */
    else
        vec_clear(&p->all);
}

size_t topology_places_find(const struct topology_places *p, const struct topology *t)
{
    if (p->by_id.n)
        return (size_t)(uintptr_t)map_get(&p->by_id, map_number_key(&t->id)) - 1;
    for (size_t i = 0; i < p->all.n; i++)
        if (p->all.v[i] == t)
            return i;
    return TOPOLOGY_PLACE_NONE;
}

static void index_place(struct topology_places *p, size_t i)
{
    map_put(&p->by_id, map_number_key(&p->all.v[i]->id), (void *)(uintptr_t)(i + 1));
}

void topology_places_add(struct topology_places *p, const struct topology *t)
{
    vec_push(&p->all, t);
    if (p->by_id.n) {
        index_place(p, p->all.n - 1);
        return;
    }
    for (size_t i = 0; p->all.n > FEW && i < p->all.n; i++)
        index_place(p, i);
}
