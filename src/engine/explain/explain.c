/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/explain/explain.h"

#include "engine/cycle/post_filter.h"
#include "engine/explain/survey.h"

void explain_init(struct explain *x, const struct framework *fw, size_t max_bytes)
{
    *x = (struct explain){.framework = fw, .max_bytes = max_bytes};
}

static size_t texts_size(const struct explain_record *r)
{
    return r->ends[EXPLAIN_TEXTS - 1];
}

/* Without struct attempt_record, which is the beginning of its record. */
static size_t size_of(const struct explain_record *r)
{
    return offsetof(struct explain_record, record) + r->record.size + texts_size(r);
}

static void drop_oldest(struct explain *x)
{
    const struct explain_record *r = explain_ring_next(&x->ring, NULL);
    struct node_names *nodes = r->record.names;
    x->bytes -= size_of(r);
    if (nodes && --nodes->records == 0)
        x->bytes -= nodes->bytes;
    node_names_unref(nodes);
    explain_ring_drop(&x->ring);
}

void explain_clear(struct explain *x)
{
    while (x->ring.n)
        drop_oldest(x);
}

void explain_release(struct explain *x)
{
    explain_clear(x);
    explain_ring_release(&x->ring);
}

/* --- recording -------------------------------------------------------------------------------- */

void explain_end_attempt(const struct explain *x, struct berth_cycle *cycle)
{
    if (x->max_bytes)
        attempt_record_take(cycle, &cycle->record);
    cycle_end(cycle);
}

static char *texts_of(const struct explain_record *r)
{
    return (char *)&r->record + r->record.size;
}

struct str explain_text(const struct explain_record *r, enum explain_text which)
{
    uint32_t from = which ? r->ends[which - 1] : 0;
    return (struct str){texts_of(r) + from, r->ends[which] - from};
}

static void collect_texts(const struct explain_result *res, struct str survey,
                          struct str ret_texts[EXPLAIN_TEXTS])
{
    const struct berth_cycle *c = res->cycle;
    const struct object_meta *meta = &res->queued->pod->pod->metadata;
    ret_texts[EXPLAIN_NAMESPACE] = meta->namespace;
    ret_texts[EXPLAIN_NAME] = meta->name;
    ret_texts[EXPLAIN_UID] = meta->uid;
    ret_texts[EXPLAIN_SCHEDULER_NAME] = c->profile->scheduler_name;
    ret_texts[EXPLAIN_NODE_NAME] = res->node_name;
    ret_texts[EXPLAIN_MESSAGE] = res->failure ? buf_str(&res->failure->text) : STR("");
    ret_texts[EXPLAIN_NOMINATED_NODE] = c->nominated ? c->nominated_node : STR("");
    ret_texts[EXPLAIN_SURVEY] = survey;
}

static void fill_record(struct explain_record *r, const struct explain_result *res,
                        const struct str texts[EXPLAIN_TEXTS])
{
    const struct berth_queued_pod *q = res->queued;
    size_t at = 0;
    r->started = res->started;
    r->event_label = q->moved_by.label;
    r->event_resource = q->moved_by.resource;
    r->event_action = q->moved_by.action;
    r->attempt = q->attempts;
    r->outcome = !res->failure         ? EXPLAIN_BOUND
                 : res->failure->error ? EXPLAIN_ERROR
                                       : EXPLAIN_UNSCHEDULABLE;
    r->went_to = QUEUE_NOWHERE;
    memcpy(&r->record, res->cycle->record.p, res->cycle->record.n);
    for (int i = 0; i < EXPLAIN_TEXTS; i++) {
        if (texts[i].n)
            memcpy(texts_of(r) + at, texts[i].p, texts[i].n);
        at += texts[i].n;
        r->ends[i] = (uint32_t)at;
    }
}

/* Room in the ring, at the cost of the oldest; NULL: that is more than it may have at all. */
static struct explain_record *make_room(struct explain *x, size_t size,
                                        const struct node_names *nodes)
{
    if (size + (nodes ? nodes->bytes : 0) > x->max_bytes)
        return NULL;
    if (!x->ring.size)
        explain_ring_init(&x->ring, x->max_bytes);
    /* The names are counted once; a record that goes may be the last that counted them. */
    while (x->ring.n &&
           x->bytes + size + (nodes && !nodes->records ? nodes->bytes : 0) > x->max_bytes)
        drop_oldest(x);
    struct explain_record *r;
    while (!(r = explain_ring_add(&x->ring, size)) && x->ring.n)
        drop_oldest(x);
    return r;
}

static struct explain_record *add_record(struct explain *x, const struct explain_result *res,
                                         struct str survey)
{
    const struct buf *record = &res->cycle->record;
    struct node_names *nodes = res->cycle->names;
    struct str texts[EXPLAIN_TEXTS];
    size_t size = offsetof(struct explain_record, record) + record->n;
    collect_texts(res, survey, texts);
    for (int i = 0; i < EXPLAIN_TEXTS; i++)
        size += texts[i].n;
    struct explain_record *r = make_room(x, size, nodes);
    if (!r)
        return NULL;
    fill_record(r, res, texts);
    r->number = x->next_number++;
    x->bytes += size;
    if (nodes) {
        node_names_ref(nodes);
        x->bytes += nodes->records++ ? 0 : nodes->bytes;
    }
    return r;
}

struct explain_record *explain_add(struct explain *x, const struct explain_result *res)
{
    struct buf survey = BUF_INIT;
    if (!res->cycle->record.n)
        return NULL;
    survey_write(res->cycle, &survey);
    post_filter_write(res->cycle, &survey);
    struct explain_record *r = add_record(x, res, buf_str(&survey));
    buf_release(&survey);
    return r;
}
