/* SPDX-License-Identifier: Apache-2.0 */
/* Events of controllers: series of similar ones, and how many may be written. */
#include "apiserver/controllers/event_recorder.h"

#include "codec/json.h"

#define SIMILAR_MAX  10 /* upstream: defaultAggregateMaxEvents */
#define SIMILAR_TIME (600 * NSEC_PER_SEC)
#define BUCKET_SIZE  25 /* upstream: defaultSpamBurst */
#define BUCKET_TIME  (300 * NSEC_PER_SEC)
#define COMBINED     "(combined from similar events): "

/* An event that was written. */
struct written {
    uint64_t hash; /* of its message; 0 of the last: different messages */
    int64_t name;  /* the number at the end of its name */
    unsigned count;
};

struct event_series {
    int64_t last;
    struct written v[SIMILAR_MAX];
    unsigned n;
    char key[];
};

struct event_bucket {
    unsigned left;
    int64_t since; /* of the last refill */
    char key[];
};

void event_recorder_init(struct event_recorder *r, struct work_queue *queue)
{
    *r = (struct event_recorder){.queue = queue};
}

static void forget(struct event_recorder *r)
{
    map_each (e, &r->series)
        free(e->value);
    map_each (e, &r->buckets)
        free(e->value);
    map_clear(&r->series);
    map_clear(&r->buckets);
}

void event_recorder_release(struct event_recorder *r)
{
    forget(r);
    map_release(&r->series);
    map_release(&r->buckets);
    buf_release(&r->body);
}

/* Whether one more event may be written about the object. */
static bool take_token(struct event_recorder *r, const struct event_subject *subject,
                       const struct event_text *text)
{
    int64_t now = r->queue->now;
    char *key = xasprintf("%.*s %s", STR_ARG(subject->uid), text->component);
    struct event_bucket *b = map_get(&r->buckets, str_of(key));
    if (!b) {
        size_t n = strlen(key);
        b = xcalloc(1, sizeof(*b) + n + 1);
        memcpy(b->key, key, n);
        b->left = BUCKET_SIZE;
        b->since = now;
        map_put(&r->buckets, (struct str){b->key, n}, b);
    }
    free(key);
    if (b->left == BUCKET_SIZE)
        b->since = now;
    int64_t more = (now - b->since) / BUCKET_TIME;
    if (more > 0) {
        b->left = (unsigned)MIN((int64_t)BUCKET_SIZE, b->left + more);
        b->since += more * BUCKET_TIME;
    }
    if (!b->left)
        return false;
    b->left--;
    return true;
}

static struct event_series *need_series(struct event_recorder *r,
                                        const struct event_subject *subject,
                                        const struct event_text *text)
{
    char *key = xasprintf("%.*s %s %s", STR_ARG(subject->uid), text->component, text->reason);
    struct event_series *s = map_get(&r->series, str_of(key));
    if (!s) {
        if (r->series.n >= EVENT_RECORDER_MAX)
            forget(r);
        size_t n = strlen(key);
        s = xcalloc(1, sizeof(*s) + n + 1);
        memcpy(s->key, key, n);
        s->last = r->queue->now;
        map_put(&r->series, (struct str){s->key, n}, s);
    }
    free(key);
    if (r->queue->now - s->last > SIMILAR_TIME)
        s->n = 0;
    s->last = r->queue->now;
    return s;
}

static struct written *find_written(struct event_series *s, uint64_t hash)
{
    for (unsigned i = 0; i < s->n; i++)
        if (s->v[i].hash == hash || !s->v[i].hash)
            return &s->v[i];
    return NULL;
}

static void add_member(struct buf *out, const char *name, struct str value)
{
    buf_add_printf(out, "\"%s\":", name);
    json_write_str(out, value);
    buf_add_char(out, ',');
}

static void add_message(struct buf *out, const struct event_text *text, bool combined)
{
    buf_add_cstr(out, "\"message\":");
    if (combined) {
        char *message = xasprintf(COMBINED "%.*s", STR_ARG(text->message));
        json_write_str(out, str_of(message));
        free(message);
    } else {
        json_write_str(out, text->message);
    }
}

static void send_new(struct event_recorder *r, const struct event_subject *subject,
                     const struct event_text *text, const struct written *event)
{
    struct buf *out = &r->body, now = BUF_INIT;
    char *name =
        xasprintf("%.*s.%llx", STR_ARG(subject->name), (unsigned long long)(uint64_t)event->name);
    struct str ns = str_empty(subject->namespace) ? STR("default") : subject->namespace;
    timestamp_format(timestamp_of(r->queue->now), 0, &now);
    buf_clear(out);
    buf_add_cstr(out, "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{");
    add_member(out, "name", str_of(name));
    buf_add_cstr(out, "\"namespace\":");
    json_write_str(out, ns);
    buf_add_cstr(out, "},\"involvedObject\":{");
    add_member(out, "kind", subject->kind);
    if (!str_empty(subject->namespace))
        add_member(out, "namespace", subject->namespace);
    add_member(out, "name", subject->name);
    add_member(out, "uid", subject->uid);
    add_member(out, "apiVersion", subject->api_version);
    buf_add_printf(out, "\"resourceVersion\":\"%llu\"},", (unsigned long long)subject->version);
    add_member(out, "reason", str_of(text->reason));
    add_message(out, text, !event->hash);
    buf_add_printf(out, ",\"source\":{\"component\":\"%s\"},", text->component);
    add_member(out, "firstTimestamp", buf_str(&now));
    add_member(out, "lastTimestamp", buf_str(&now));
    buf_add_printf(out,
                   "\"count\":1,\"type\":\"%s\",\"eventTime\":null,\"reportingComponent\":\"%s\","
                   "\"reportingInstance\":\"\"}",
                   text->warning ? "Warning" : "Normal", text->component);
    work_queue_send(r->queue, &(struct writer_request){.verb = WRITER_CREATE,
                                                       .plural = STR("events"),
                                                       .namespace = ns,
                                                       .name = str_of(name),
                                                       .body = buf_str(out)});
    buf_release(&now);
    free(name);
}

static void send_again(struct event_recorder *r, const struct event_subject *subject,
                       const struct event_text *text, const struct written *event)
{
    char *name =
        xasprintf("%.*s.%llx", STR_ARG(subject->name), (unsigned long long)(uint64_t)event->name);
    buf_clear(&r->body);
    buf_add_printf(&r->body, "{\"count\":%u,\"lastTimestamp\":\"", event->count);
    timestamp_format(timestamp_of(r->queue->now), 0, &r->body);
    buf_add_cstr(&r->body, "\",");
    add_message(&r->body, text, !event->hash);
    buf_add_char(&r->body, '}');
    work_queue_send(r->queue, &(struct writer_request){.verb = WRITER_PATCH_MERGE,
                                                       .plural = STR("events"),
                                                       .namespace = str_empty(subject->namespace)
                                                                        ? STR("default")
                                                                        : subject->namespace,
                                                       .name = str_of(name),
                                                       .body = buf_str(&r->body)});
    free(name);
}

void event_record(struct event_recorder *r, const struct event_subject *subject,
                  const struct event_text *text)
{
    struct event_series *s = need_series(r, subject, text);
    uint64_t hash = str_hash(text->message) | 1;
    struct written *event = find_written(s, hash);
    if (!take_token(r, subject, text)) {
        if (event)
            event->count++;
        return;
    }
    if (event) {
        event->count++;
        send_again(r, subject, text, event);
        return;
    }
    event = &s->v[s->n++];
    r->last = MAX(r->queue->now, r->last + 1);
    *event = (struct written){s->n < SIMILAR_MAX ? hash : 0, r->last, 1};
    send_new(r, subject, text, event);
}
