/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/explain.h"

#include "engine/internal.h"

struct explain_nodes {
    size_t refs, n;
    uint64_t generation; /* cache.node_set */
    struct str names[];  /* by slot; texts behind them */
};

void explain_init(struct explain *x, size_t max_bytes)
{
    *x = (struct explain){.max_bytes = max_bytes};
}

void explain_nodes_unref(struct explain_nodes *nodes)
{
    if (nodes && --nodes->refs == 0)
        free(nodes);
}

static void drop_oldest(struct explain *x)
{
    struct explain_record *r = x->ring.v[x->first++];
    x->bytes -= r->size;
    explain_nodes_unref(r->nodes);
    free(r);
    /* The front is given back when it has become half of the array. */
    if (x->first * 2 >= x->ring.n) {
        memmove(x->ring.v, x->ring.v + x->first, (x->ring.n - x->first) * sizeof(*x->ring.v));
        x->ring.n -= x->first;
        x->first = 0;
    }
}

void explain_release(struct explain *x)
{
    while (x->ring.n > x->first)
        drop_oldest(x);
    vec_release(&x->ring);
    explain_nodes_unref(x->nodes);
}

/* --- names of nodes ---------------------------------------------------------------------------- */

static struct explain_nodes *make_nodes(const struct cache *cache)
{
    size_t n = cache->columns.n, bytes = 0;
    for (size_t i = 0; i < n; i++)
        if (cache->columns.nodes[i])
            bytes += strlen(cache->columns.nodes[i]->name);
    struct explain_nodes *nodes = xmalloc(sizeof(*nodes) + n * sizeof(struct str) + bytes);
    *nodes = (struct explain_nodes){.refs = 1, .n = n, .generation = cache->node_set};
    char *text = (char *)&nodes->names[n];
    for (size_t i = 0; i < n; i++) {
        struct str name = str_of(cache->columns.nodes[i] ? cache->columns.nodes[i]->name : "");
        memcpy(text, name.p, name.n);
        nodes->names[i] = (struct str){text, name.n};
        text += name.n;
    }
    return nodes;
}

struct explain_nodes *explain_nodes_ref(struct explain *x, const struct cache *cache)
{
    if (!x->nodes || x->nodes->generation != cache->node_set) {
        explain_nodes_unref(x->nodes);
        x->nodes = make_nodes(cache);
    }
    x->nodes->refs++;
    return x->nodes;
}

struct str explain_node_name(const struct explain_record *r, uint32_t slot)
{
    return r->nodes && slot < r->nodes->n ? r->nodes->names[slot] : STR("");
}

/* --- recording --------------------------------------------------------------------------------- */

/* Where the parts of a record go: counted first, then placed. */
struct layout {
    char *at; /* NULL while counting */
    size_t size;
};

static void *put(struct layout *l, const void *data, size_t n, size_t align)
{
    l->size = (l->size + align - 1) & ~(align - 1);
    void *to = l->at ? l->at + l->size : NULL;
    if (to && data && n)
        memcpy(to, data, n);
    l->size += n;
    return to;
}

static struct str put_str(struct layout *l, struct str s)
{
    return (struct str){put(l, s.p, s.n, 1), s.n};
}

static void put_score(struct layout *l, const struct plugin_scores *from, size_t n,
                      struct explain_score *to)
{
    bool normalizes = from->raw != from->normalized;
    int64_t *raw = normalizes ? put(l, from->raw, n * sizeof(int64_t), _Alignof(int64_t)) : NULL;
    uint8_t *normalized = put(l, NULL, n, 1);
    if (!to)
        return;
    for (size_t i = 0; i < n; i++)
        normalized[i] = (uint8_t)from->normalized[i];
    *to = (struct explain_score){from->handle->id, from->handle->weight, raw, normalized};
}

/* Both passes run through here, so that they cannot disagree. */
static void put_record(struct layout *l, const struct explain_result *res, struct explain_record *r)
{
    const struct berth_cycle *c = res->cycle;
    const struct object_meta *meta = &res->queued->pod->pod->metadata;
    const struct cycle_failure *f = res->failure;
    put(l, NULL, sizeof(*r), _Alignof(struct explain_record));
    r->order = put(l, c->order.v, c->order.n * sizeof(uint32_t), _Alignof(uint32_t));
    r->slots = put(l, c->slots, c->n_slots * sizeof(uint32_t), _Alignof(uint32_t));
    r->runs = put(l, c->runs.v, c->runs.n * sizeof(*c->runs.v), _Alignof(struct verdict_run));
    r->scores = put(l, NULL, c->plugin_scores.n * sizeof(struct explain_score),
                    _Alignof(struct explain_score));
    for (size_t i = 0; i < c->plugin_scores.n; i++)
        put_score(l, &c->plugin_scores.v[i], c->n_slots, l->at ? &r->scores[i] : NULL);
    r->namespace = put_str(l, meta->namespace);
    r->name = put_str(l, meta->name);
    r->uid = put_str(l, meta->uid);
    r->scheduler_name = put_str(l, c->profile->scheduler_name);
    r->node_name = put_str(l, res->node_name);
    r->message = put_str(l, f ? buf_str(&f->text) : STR(""));
    r->nominated_node = put_str(l, c->nominated ? c->nominated_node : STR(""));
}

struct explain_record *explain_add(struct explain *x, const struct explain_result *res)
{
    const struct berth_cycle *c = res->cycle;
    struct explain_record scratch;
    struct layout count = {0};
    put_record(&count, res, &scratch);
    if (count.size > x->max_bytes)
        return NULL;
    struct explain_record *r = xmalloc(count.size);
    struct layout place = {.at = (char *)r};
    put_record(&place, res, r);
    r->size = count.size;
    r->number = x->next_number++;
    r->started = res->started;
    r->attempt = res->queued->attempts;
    r->outcome = !res->failure         ? EXPLAIN_BOUND
                 : res->failure->error ? EXPLAIN_ERROR
                                       : EXPLAIN_UNSCHEDULABLE;
    r->went_to = QUEUE_NOWHERE;
    r->brought_by = res->queued->moved_by;
    /* An attempt that saw no node at all has no names. */
    r->nodes = c->names;
    if (r->nodes)
        r->nodes->refs++;
    r->n_all = c->engine->cache.tree.n_nodes;
    r->n_order = c->order.n;
    r->n_runs = c->runs.n;
    r->n_slots = c->n_slots;
    r->n_scores = c->plugin_scores.n;
    x->bytes += r->size;
    vec_push(&x->ring, r);
    while (x->bytes > x->max_bytes)
        drop_oldest(x);
    return r;
}
