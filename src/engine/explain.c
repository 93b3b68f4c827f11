/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/explain.h"

#include "engine/internal.h"
#include "engine/survey.h"

void explain_init(struct explain *x, size_t max_bytes)
{
    *x = (struct explain){.max_bytes = max_bytes};
}

static size_t size_of(const struct explain_record *r)
{
    return sizeof(*r) + r->ends[EXPLAIN_TEXTS - 1] + r->evidence->size;
}

static void drop_oldest(struct explain *x)
{
    struct explain_record *r = x->ring.v[x->first++];
    struct explain_nodes *nodes = r->evidence->names;
    x->bytes -= size_of(r);
    if (nodes && --nodes->records == 0)
        x->bytes -= nodes->bytes;
    evidence_free(r->evidence);
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

struct explain_nodes *explain_current_nodes(struct explain *x, const struct cache *cache)
{
    if (!x->nodes || !explain_nodes_current(x->nodes, cache)) {
        explain_nodes_unref(x->nodes);
        x->nodes = explain_nodes_new(cache);
    }
    return explain_nodes_ref(x->nodes);
}

/* --- recording -------------------------------------------------------------------------------- */

struct str explain_text(const struct explain_record *r, enum explain_text which)
{
    uint32_t from = which ? r->ends[which - 1] : 0;
    return (struct str){r->texts + from, r->ends[which] - from};
}

static struct explain_record *new_record(const struct str texts[EXPLAIN_TEXTS])
{
    size_t n = 0, at = 0;
    for (int i = 0; i < EXPLAIN_TEXTS; i++)
        n += texts[i].n;
    struct explain_record *r = xmalloc(sizeof(*r) + n);
    for (int i = 0; i < EXPLAIN_TEXTS; i++) {
        if (texts[i].n)
            memcpy(r->texts + at, texts[i].p, texts[i].n);
        at += texts[i].n;
        r->ends[i] = (uint32_t)at;
    }
    return r;
}

static struct explain_record *make_record(struct explain *x, const struct explain_result *res,
                                          struct str survey)
{
    const struct berth_cycle *c = res->cycle;
    const struct berth_queued_pod *q = res->queued;
    const struct object_meta *meta = &q->pod->pod->metadata;
    const struct str texts[EXPLAIN_TEXTS] = {
        [EXPLAIN_NAMESPACE] = meta->namespace,
        [EXPLAIN_NAME] = meta->name,
        [EXPLAIN_UID] = meta->uid,
        [EXPLAIN_SCHEDULER_NAME] = c->profile->scheduler_name,
        [EXPLAIN_NODE_NAME] = res->node_name,
        [EXPLAIN_MESSAGE] = res->failure ? buf_str(&res->failure->text) : STR(""),
        [EXPLAIN_NOMINATED_NODE] = c->nominated ? c->nominated_node : STR(""),
        [EXPLAIN_SURVEY] = survey,
    };
    struct explain_record *r = new_record(texts);
    r->number = x->next_number;
    r->started = res->started;
    r->evidence = c->evidence;
    r->event_label = q->moved_by.label;
    r->event_resource = q->moved_by.resource;
    r->event_action = q->moved_by.action;
    r->attempt = q->attempts;
    r->outcome = !res->failure         ? EXPLAIN_BOUND
                 : res->failure->error ? EXPLAIN_ERROR
                                       : EXPLAIN_UNSCHEDULABLE;
    r->went_to = QUEUE_NOWHERE;
    return r;
}

static struct explain_record *add_record(struct explain *x, const struct explain_result *res,
                                         struct str survey)
{
    struct explain_record *r = make_record(x, res, survey);
    struct explain_nodes *nodes = r->evidence->names;
    if (size_of(r) + (nodes ? nodes->bytes : 0) > x->max_bytes) {
        free(r);
        return NULL;
    }
    res->cycle->evidence = NULL;
    x->next_number++;
    x->bytes += size_of(r);
    if (nodes)
        x->bytes += nodes->records++ ? 0 : nodes->bytes;
    vec_push(&x->ring, r);
    while (x->bytes > x->max_bytes)
        drop_oldest(x);
    return r;
}

struct explain_record *explain_add(struct explain *x, const struct explain_result *res)
{
    struct buf survey = BUF_INIT;
    if (!res->cycle->evidence)
        return NULL;
    survey_write(res->cycle->survey, &survey);
    struct explain_record *r = add_record(x, res, buf_str(&survey));
    buf_release(&survey);
    return r;
}
