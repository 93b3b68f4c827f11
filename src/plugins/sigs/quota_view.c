/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/sigs/quota_view.h"

/*
 * A pod that counts otherwise than in the ledger. Amounts are listed without uses of their names,
 * since dry runs run on any thread: pods of the cluster keep them in use.
 */
struct quota_move {
    struct str uid; /* the pod's */
    bool present;
    const struct resource *amounts; /* the ledger's, or in an arena */
};

struct quota_change {
    struct str namespace; /* a pod's */
    struct resource used;
};

struct quota_view *quota_view_new(const struct quotas *quotas)
{
    struct quota_view *view = xnew(struct quota_view);
    view->quotas = quotas;
    return view;
}

void *quota_view_clone(const void *data)
{
    const struct quota_view *from = data;
    struct quota_view *view = quota_view_new(from->quotas);
    view->request = from->request;
    view->in_quota = from->in_quota;
    view->in_all = from->in_all;
    map_each (entry, &from->pods) {
        struct quota_move *move = xnew(struct quota_move);
        *move = *(const struct quota_move *)entry->value;
        map_put(&view->pods, move->uid, move);
    }
    map_each (entry, &from->changes) {
        const struct quota_change *old = entry->value;
        struct quota_change *change = xnew(struct quota_change);
        change->namespace = old->namespace;
        resource_add(&change->used, NULL, &old->used, 1);
        map_put(&view->changes, change->namespace, change);
    }
    resource_add(&view->change, NULL, &from->change, 1);
    return view;
}

void quota_view_free(void *data)
{
    struct quota_view *view = data;
    map_each (entry, &view->pods)
        free(entry->value);
    map_each (entry, &view->changes) {
        resource_release(&((struct quota_change *)entry->value)->used, NULL);
        free(entry->value);
    }
    map_release(&view->pods);
    map_release(&view->changes);
    resource_release(&view->change, NULL);
    free(view);
}

static void move(struct quota_view *view, const struct pod *pod, const struct resource *amounts,
                 bool present)
{
    struct str namespace = pod->metadata.namespace;
    struct quota_move *m = map_get(&view->pods, pod->metadata.uid);
    struct quota_change *c = map_get(&view->changes, namespace);
    if (!m) {
        m = xnew(struct quota_move);
        m->uid = pod->metadata.uid;
        map_put(&view->pods, m->uid, m);
    }
    if (!c) {
        c = xnew(struct quota_change);
        c->namespace = namespace;
        map_put(&view->changes, c->namespace, c);
    }
    m->present = present;
    m->amounts = amounts;
    resource_add(&c->used, NULL, amounts, present ? 1 : -1);
    resource_add(&view->change, NULL, amounts, present ? 1 : -1);
}

static int by_atom(const void *a, const void *b)
{
    atom_t x = ((const struct scalar_amount *)a)->name, y = ((const struct scalar_amount *)b)->name;
    return (x > y) - (x < y);
}

/* Of a pod that does not count in the ledger: a nominated one. */
static const struct resource *amounts_of(const struct quota_view *view, const struct pod *pod,
                                         struct arena *a)
{
    struct resource *r = arena_new(a, struct resource);
    struct resources request;
    quota_request(pod, a, &request);
    r->milli_cpu = request.milli_cpu;
    r->memory = request.memory;
    r->ephemeral_storage = request.ephemeral_storage;
    r->scalars.v = arena_array(a, struct scalar_amount, request.scalars.n);
    for (size_t i = 0; i < request.scalars.n; i++) {
        atom_t name = intern_find(view->quotas->names, request.scalars.v[i].name);
        if (!name)
            continue; /* an amount of 0 */
        r->scalars.v[r->scalars.n++] = (struct scalar_amount){name, request.scalars.v[i].value};
    }
    if (r->scalars.n > 1)
        qsort(r->scalars.v, r->scalars.n, sizeof(*r->scalars.v), by_atom);
    return r;
}

void quota_view_add(struct quota_view *view, const struct pod *pod, struct arena *arena)
{
    const struct quota *quota = quotas_find(view->quotas, pod->metadata.namespace);
    const struct quota_move *m = map_get(&view->pods, pod->metadata.uid);
    if (!quota || (m && m->present))
        return;
    const struct resource *counted = quota_pod_amounts(quota, pod->metadata.uid);
    if (!m && counted)
        return;
    const struct resource *amounts = m ? m->amounts : amounts_of(view, pod, arena);
    move(view, pod, amounts, true);
}

void quota_view_remove(struct quota_view *view, const struct pod *pod)
{
    const struct quota *quota = quotas_find(view->quotas, pod->metadata.namespace);
    const struct quota_move *m = map_get(&view->pods, pod->metadata.uid);
    if (!quota || (m && !m->present))
        return;
    const struct resource *amounts = m ? m->amounts : quota_pod_amounts(quota, pod->metadata.uid);
    if (amounts)
        move(view, pod, amounts, false);
}

const struct resource *quota_view_change(const struct quota_view *view, struct str namespace)
{
    const struct quota_change *c = view->changes.n ? map_get(&view->changes, namespace) : NULL;
    return c ? &c->used : NULL;
}
