/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/explain.h"

#include "engine/internal.h"
#include "engine/survey.h"

struct explain_nodes {
    size_t refs, n;
    size_t records;      /* how many of the refs are records' */
    size_t bytes;        /* counted with the first of these, given back with the last */
    uint64_t generation; /* cache.node_set */
    uint32_t *order;     /* slots of all nodes in their order */
    size_t n_order;
    struct str names[]; /* by slot; order and texts behind them */
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
    if (r->nodes && --r->nodes->records == 0)
        x->bytes -= r->nodes->bytes;
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

/* --- names of nodes --------------------------------------------------------------------------- */

static struct explain_nodes *make_nodes(const struct cache *cache)
{
    size_t n = cache->columns.n, n_order = cache->order.n, bytes = 0;
    for (size_t i = 0; i < n; i++)
        if (cache->columns.nodes[i])
            bytes += strlen(cache->columns.nodes[i]->name);
    bytes += sizeof(struct explain_nodes) + n * sizeof(struct str) + n_order * sizeof(uint32_t);
    struct explain_nodes *nodes = xmalloc(bytes);
    *nodes = (struct explain_nodes){
        .refs = 1, .n = n, .bytes = bytes, .generation = cache->node_set, .n_order = n_order};
    nodes->order = (uint32_t *)&nodes->names[n];
    for (size_t i = 0; i < n_order; i++)
        nodes->order[i] = cache->order.v[i]->slot;
    char *text = (char *)&nodes->order[n_order];
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

struct str explain_nodes_name(const struct explain_nodes *nodes, uint32_t slot)
{
    return slot < nodes->n ? nodes->names[slot] : STR("");
}

uint32_t explain_nodes_slot(const struct explain_nodes *nodes, size_t i)
{
    return nodes->order[i];
}

struct str explain_node_name(const struct explain_record *r, size_t i)
{
    if (!r->nodes || !r->n_candidates)
        return STR("");
    size_t at = (r->start + i) % r->n_candidates;
    return explain_nodes_name(r->nodes, r->order ? r->order[at] : r->nodes->order[at]);
}

/* --- recording -------------------------------------------------------------------------------- */

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
    size_t n_raw = from->raw ? n * sizeof(int64_t) : 0;
    int64_t *raw = put(l, from->raw, n_raw, _Alignof(int64_t));
    uint8_t *normalized = put(l, from->normalized, n, 1);
    if (to)
        *to = (struct explain_score){from->handle->id, from->handle->weight, from->raw ? raw : NULL,
                                     normalized};
}

static void put_extender_score(struct layout *l, const struct berth_cycle *c,
                               const struct extender_scores *from, struct explain_score *to)
{
    const struct engine_extender *x = &c->engine->extenders.v[from->extender];
    int64_t *raw = put(l, from->scores, c->n_slots * sizeof(int64_t), _Alignof(int64_t));
    if (to)
        *to = (struct explain_score){x->id, x->spec.weight, raw, NULL};
}

static struct str *put_reasons(struct layout *l, const struct pre_filter_verdict *v)
{
    struct str *to = put(l, NULL, v->n_reasons * sizeof(struct str), _Alignof(struct str));
    for (size_t i = 0; i < v->n_reasons; i++) {
        struct str text = put_str(l, v->reasons[i]);
        if (to)
            to[i] = text;
    }
    return to;
}

static void put_pre_filter(struct layout *l, const struct berth_cycle *c, struct explain_record *r)
{
    r->n_pre_filter = c->pre_filter.n;
    r->pre_filter = put(l, c->pre_filter.v, c->pre_filter.n * sizeof(*c->pre_filter.v),
                        _Alignof(struct pre_filter_verdict));
    for (size_t i = 0; i < c->pre_filter.n; i++) {
        struct str *reasons = put_reasons(l, &c->pre_filter.v[i]);
        if (l->at)
            r->pre_filter[i].reasons = reasons;
    }
}

/* Both passes run through here, so that they cannot disagree. */
static void put_record(struct layout *l, const struct explain_result *res, struct str survey,
                       struct explain_record *r)
{
    const struct berth_cycle *c = res->cycle;
    const struct object_meta *meta = &res->queued->pod->pod->metadata;
    const struct cycle_failure *f = res->failure;
    put(l, NULL, sizeof(*r), _Alignof(struct explain_record));
    size_t n_order = c->order ? c->n_nodes : 0;
    uint32_t *order = put(l, c->order, n_order * sizeof(uint32_t), _Alignof(uint32_t));
    r->order = c->order ? order : NULL;
    r->runs = put(l, c->runs.v, c->runs.n * sizeof(*c->runs.v), _Alignof(struct verdict_run));
    size_t n_plugins = c->plugin_scores.n;
    r->n_scores = n_plugins + c->extender_scores.n;
    r->scores =
        put(l, NULL, r->n_scores * sizeof(struct explain_score), _Alignof(struct explain_score));
    for (size_t i = 0; i < n_plugins; i++)
        put_score(l, &c->plugin_scores.v[i], c->n_slots, l->at ? &r->scores[i] : NULL);
    for (size_t i = 0; i < c->extender_scores.n; i++)
        put_extender_score(l, c, &c->extender_scores.v[i],
                           l->at ? &r->scores[n_plugins + i] : NULL);
    put_pre_filter(l, c, r);
    r->namespace = put_str(l, meta->namespace);
    r->name = put_str(l, meta->name);
    r->uid = put_str(l, meta->uid);
    r->scheduler_name = put_str(l, c->profile->scheduler_name);
    r->node_name = put_str(l, res->node_name);
    r->message = put_str(l, f ? buf_str(&f->text) : STR(""));
    r->nominated_node = put_str(l, c->nominated ? c->nominated_node : STR(""));
    r->survey = put_str(l, survey);
}

static struct explain_record *add_record(struct explain *x, const struct explain_result *res,
                                         struct str survey)
{
    const struct berth_cycle *c = res->cycle;
    struct explain_record scratch;
    struct layout count = {0};
    put_record(&count, res, survey, &scratch);
    if (count.size + (c->names ? c->names->bytes : 0) > x->max_bytes)
        return NULL;
    struct explain_record *r = xmalloc(count.size);
    struct layout place = {.at = (char *)r};
    put_record(&place, res, survey, r);
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
    if (r->nodes) {
        r->nodes->refs++;
        x->bytes += r->nodes->records++ ? 0 : r->nodes->bytes;
    }
    r->n_all = c->n_all;
    r->n_runs = c->runs.n;
    r->n_candidates = c->n_nodes;
    r->start = c->start;
    x->bytes += r->size;
    vec_push(&x->ring, r);
    while (x->bytes > x->max_bytes)
        drop_oldest(x);
    return r;
}

struct explain_record *explain_add(struct explain *x, const struct explain_result *res)
{
    struct buf survey = BUF_INIT;
    if (!x->max_bytes)
        return NULL;
    survey_write(res->cycle->survey, &survey);
    struct explain_record *r = add_record(x, res, buf_str(&survey));
    buf_release(&survey);
    return r;
}
