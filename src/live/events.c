/* SPDX-License-Identifier: Apache-2.0 */
#include "live/events.h"

#include <unistd.h>

#include "base/log.h"
#include "base/map.h"
#include "kube/backoff.h"
#include "live/event_key.h"

/* Even if there are more urgent writes. */
#define MIN_IN_FLIGHT 2

/*
 * One event, from its first occurrence to the end of its series. It is in the cache, in the queue,
 * in flight or waiting for a retry, and is freed when none of these holds. There is one for every
 * pod of the last minutes, so it is one small allocation: its identifying strings are in the key,
 * and the API object is built when it is written.
 */
struct record {
    struct event_recorder *recorder;
    struct str key, name, note; /* point into text */
    int64_t event_time;         /* wall clock */
    int64_t last_observed;      /* wall clock, of the series */
    int32_t count;              /* of the series; 0: no series */
    int32_t tries;
    int64_t touched; /* last occurrence, on the loop's clock */

    bool cached, queued, warning;
    bool dirty;  /* changed while in flight: write again */
    bool create; /* the next write creates it: never written, or deleted at the server */
    struct record *older, *newer; /* cache, by first occurrence */
    struct record *next;          /* queue */
    struct rest_call *call;
    struct loop_timer timer;               /* retry */
    struct record *busy_next, **busy_prev; /* in flight or waiting for a retry */
    char text[];
};

/* Events waiting to be written: warnings, or all others. */
struct lane {
    struct record *first, **end;
    size_t n, max;
};

struct event_recorder {
    struct rest_client *client;
    struct loop *loop;
    struct event_recorder_options options;
    char hostname[256];
    struct map cache;
    struct record *oldest, *newest;
    struct lane lanes[2]; /* indexed by record.warning */
    struct ratelimit warnings;
    struct record *busy;
    struct loop_timer finish, refresh;
    struct loop_timer pump; /* when the next warning may be sent */
    struct rand rand;
    struct event_recorder_stats stats;
};

/* --- lifetime of a record --------------------------------------------------------------------- */

/* Frees the record if nothing refers to it. */
static void settle(struct record *r)
{
    if (!r->cached && !r->queued && !r->busy_prev)
        free(r);
}

static void cache_remove(struct event_recorder *rec, struct record *r)
{
    map_del(&rec->cache, r->key);
    *(r->older ? &r->older->newer : &rec->oldest) = r->newer;
    *(r->newer ? &r->newer->older : &rec->newest) = r->older;
    r->cached = false;
    settle(r);
}

static void cache_add(struct event_recorder *rec, struct record *r)
{
    /* The oldest event is the least likely to be repeated. */
    if (rec->cache.n >= rec->options.max_cache)
        cache_remove(rec, rec->oldest);
    map_put(&rec->cache, r->key, r);
    r->older = rec->newest;
    r->newer = NULL;
    *(rec->newest ? &rec->newest->newer : &rec->oldest) = r;
    rec->newest = r;
    r->cached = true;
}

static void busy_add(struct event_recorder *rec, struct record *r)
{
    r->busy_next = rec->busy;
    r->busy_prev = &rec->busy;
    if (rec->busy)
        rec->busy->busy_prev = &r->busy_next;
    rec->busy = r;
}

static void busy_remove(struct record *r)
{
    *r->busy_prev = r->busy_next;
    if (r->busy_next)
        r->busy_next->busy_prev = r->busy_prev;
    r->busy_prev = NULL;
}

/* --- records ---------------------------------------------------------------------------------- */

/*
 * "pod.17f3c2a1": the time makes it unique. A name that would be too long is replaced by a random
 * one.
 */
static void make_name(struct event_recorder *rec, struct str of, struct buf *out)
{
    if (of.n > 0 && of.n <= 236)
        buf_add_printf(out, "%.*s.%llx", STR_ARG(of), (unsigned long long)time_wall());
    else
        buf_add_printf(out, "%016llx%016llx", (unsigned long long)rand_u64(&rec->rand),
                       (unsigned long long)rand_u64(&rec->rand));
}

/* At most EVENT_NOTE_MAX bytes, cut at a character boundary. */
static void make_note(struct str note, struct buf *out)
{
    static const char suffix[] = " ...";
    size_t n = EVENT_NOTE_MAX - (sizeof(suffix) - 1);

    if (note.n <= EVENT_NOTE_MAX) {
        buf_add_str(out, note);
        return;
    }
    while (n > 0 && ((unsigned char)note.p[n] & 0xc0) == 0x80)
        n--;
    buf_add_str(out, str_slice(note, 0, n));
    buf_add_cstr(out, suffix);
}

/* text holds the key; name and note are appended to it. */
static struct record *record_new(struct event_recorder *rec, const struct event_info *info,
                                 struct buf *text)
{
    size_t key = text->n, name;
    struct record *r;

    make_name(rec, info->regarding.name, text);
    name = text->n;
    make_note(info->note, text);
    r = xcalloc(1, sizeof(*r) + text->n);
    memcpy(r->text, text->p, text->n);
    r->recorder = rec;
    r->key = (struct str){r->text, key};
    r->name = (struct str){r->text + key, name - key};
    r->note = (struct str){r->text + name, text->n - name};
    r->event_time = time_wall();
    r->create = true;
    r->warning = str_is(info->type, "Warning");
    text->n = key;
    return r;
}

static struct str namespace_of(const struct event *event)
{
    return str_empty(event->regarding.namespace) ? STR("default") : event->regarding.namespace;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void pump(struct event_recorder *rec);

static bool enqueue(struct event_recorder *rec, struct record *r)
{
    if (r->busy_prev) {
        r->dirty = true;
        return true;
    }
    struct lane *lane = &rec->lanes[r->warning];

    if (r->queued)
        return true;
    if (lane->n >= lane->max)
        return false;
    r->queued = true;
    r->next = NULL;
    *lane->end = r;
    lane->end = &r->next;
    lane->n++;
    rec->stats.queued++;
    pump(rec);
    return true;
}

static void done(struct record *r)
{
    struct event_recorder *rec = r->recorder;

    busy_remove(r);
    if (r->dirty && r->cached) {
        r->dirty = false;
        r->tries = 0;
        /* If the queue is full, the next refresh writes the count. */
        (void)!enqueue(rec, r);
    }
    settle(r);
    pump(rec);
}

static void try_later(struct record *r, const struct rest_result *result)
{
    struct event_recorder *rec = r->recorder;

    if (++r->tries >= rec->options.max_tries) {
        log_error("Unable to write event (retry limit exceeded!)", KV_STR("event", r->name),
                  KV_ERR(&result->err));
        rec->stats.rejected++;
        done(r);
        return;
    }
    log_info(2, "Unable to write event (may retry after sleeping)", KV_STR("event", r->name),
             KV_ERR(&result->err));
    loop_timer_set(&r->timer, backoff_jitter(&rec->rand, rec->options.retry, 0.25));
    pump(rec);
}

static void submit(struct record *r);

static void on_written(void *ctx, const struct rest_result *result)
{
    struct record *r = ctx;
    struct event_recorder *rec = r->recorder;

    r->call = NULL;
    rec->stats.in_flight--;
    if (result->code == 0) {
        r->create = false;
        rec->stats.written++;
        done(r);
    } else if (result->status == 404 && !r->create) {
        /* The server no longer has the event: create it again, with its series. */
        r->create = true;
        submit(r);
    } else if (result->code == -EEXIST && r->count) {
        /* The event exists after all: the next attempt patches the series. */
        r->create = false;
        try_later(r, result);
    } else if (result->status == 0) {
        try_later(r, result);
    } else {
        if (result->code == -EEXIST)
            log_info(5, "Server rejected event (will not retry!)", KV_STR("event", r->name),
                     KV_ERR(&result->err));
        else
            log_error("Server rejected event (will not retry!)", KV_STR("event", r->name),
                      KV_ERR(&result->err));
        rec->stats.rejected++;
        done(r);
    }
}

static void write_series(const struct record *r, struct buf *out)
{
    buf_add_printf(out, "{\"series\":{\"count\":%d,\"lastObservedTime\":\"", r->count);
    timestamp_format(timestamp_of(r->last_observed), 6, out);
    buf_add_cstr(out, "\"}}");
}

static void submit_new(struct record *r, struct event *event)
{
    struct event_recorder *rec = r->recorder;
    struct event_series series = {.last_observed_time = timestamp_of(r->last_observed),
                                  .count = r->count};
    struct buf instance = BUF_INIT;
    struct rest_request request = {
        .verb = REST_CREATE,
        .kind = kind_get(KIND_EVENT),
        .namespace = namespace_of(event),
        .body_kind = kind_get(KIND_EVENT),
        .body = event,
    };

    buf_add_printf(&instance, "%.*s-%s", STR_ARG(event->reporting_controller), rec->hostname);
    event->metadata.name = r->name;
    event->metadata.namespace = namespace_of(event);
    event->event_time = timestamp_of(r->event_time);
    event->reporting_instance = buf_str(&instance);
    event->note = r->note;
    event->series = r->count ? &series : NULL;
    r->call = rest_send(rec->client, &request, on_written, r);
    buf_release(&instance);
}

static void submit(struct record *r)
{
    struct event_recorder *rec = r->recorder;
    struct event event = {0};
    struct object_reference related;
    struct buf patch = BUF_INIT;

    event_key_read(r->key, &event, &related);
    rec->stats.in_flight++;
    if (r->create) {
        submit_new(r, &event);
        return;
    }
    write_series(r, &patch);
    struct rest_request request = {
        .verb = REST_PATCH_STRATEGIC,
        .kind = kind_get(KIND_EVENT),
        .namespace = namespace_of(&event),
        .name = r->name,
        .text = buf_str(&patch),
    };
    r->call = rest_send(rec->client, &request, on_written, r);
    buf_release(&patch);
}

static void on_timer(struct loop_timer *timer)
{
    submit(CONTAINER_OF(timer, struct record, timer));
}

static void send_first(struct event_recorder *rec, struct lane *lane)
{
    struct record *r = lane->first;

    lane->first = r->next;
    if (!lane->first)
        lane->end = &lane->first;
    lane->n--;
    rec->stats.queued--;
    r->queued = false;
    busy_add(rec, r);
    loop_timer_init(&r->timer, rec->loop, on_timer);
    submit(r);
}

/* How many events may be in flight now. */
static size_t room(const struct event_recorder *rec)
{
    const struct event_recorder_options *o = &rec->options;
    bool late = rec->lanes[false].n * 2 > rec->lanes[false].max;
    size_t least = MAX(late ? o->max_in_flight / 4 : 0, (size_t)MIN_IN_FLIGHT);

    return o->max_in_flight - MIN(o->urgent ? o->urgent(o->ctx) : 0, o->max_in_flight - least);
}

/* Events that wait for a retry do not count as in flight: a failing event does not block others. */
static void pump(struct event_recorder *rec)
{
    struct lane *normal = &rec->lanes[false], *warnings = &rec->lanes[true];
    int64_t now = loop_now(rec->loop);
    size_t max = room(rec);

    while (normal->first && rec->stats.in_flight < max)
        send_first(rec, normal);
    while (warnings->first && rec->stats.in_flight < max) {
        int64_t wait = ratelimit_peek(&rec->warnings, now);

        if (wait > 0) {
            loop_timer_set(&rec->pump, wait);
            break;
        }
        (void)ratelimit_take(&rec->warnings, now);
        send_first(rec, warnings);
    }
}

static void on_pump(struct loop_timer *timer)
{
    pump(CONTAINER_OF(timer, struct event_recorder, pump));
}

/* --- series ----------------------------------------------------------------------------------- */

/*
 * The series begins with the second occurrence. Later ones are counted and written by refresh and
 * finish.
 */
static void record_repeat(struct event_recorder *rec, struct record *r)
{
    r->last_observed = time_wall();
    if (r->count) {
        r->count++;
        return;
    }
    r->count = 2;
    if (!enqueue(rec, r))
        rec->stats.dropped++;
}

static bool is_full(const struct event_recorder *rec, const struct event_info *info)
{
    const struct lane *lane = &rec->lanes[str_is(info->type, "Warning")];

    return lane->n >= lane->max;
}

void event_emit(struct event_recorder *rec, const struct event_info *info)
{
    struct buf key = BUF_INIT;
    struct record *r;

    rec->stats.emitted++;
    event_key_make(info, &key);
    r = map_get(&rec->cache, buf_str(&key));
    if (r) {
        record_repeat(rec, r);
    } else if (is_full(rec, info)) {
        rec->stats.dropped++;
    } else {
        r = record_new(rec, info, &key);
        cache_add(rec, r);
        (void)!enqueue(rec, r);
    }
    if (r)
        r->touched = loop_now(rec->loop);
    buf_release(&key);
}

/* Writes ended series for the last time and forgets single events. */
static void on_finish(struct loop_timer *timer)
{
    struct event_recorder *rec = CONTAINER_OF(timer, struct event_recorder, finish);
    struct record *r = rec->oldest, *newer;

    for (; r; r = newer) {
        newer = r->newer;
        if (r->busy_prev || loop_now(rec->loop) - r->touched < rec->options.finish)
            continue;
        if (r->count && !enqueue(rec, r))
            continue; /* no room; retried at the next finish */
        cache_remove(rec, r);
    }
    loop_timer_set(&rec->finish, rec->options.finish);
}

static void on_refresh(struct loop_timer *timer)
{
    struct event_recorder *rec = CONTAINER_OF(timer, struct event_recorder, refresh);

    for (struct record *r = rec->oldest; r; r = r->newer) {
        if (r->count)
            (void)!enqueue(rec, r);
    }
    loop_timer_set(&rec->refresh, rec->options.refresh);
}

/* --- lifecycle -------------------------------------------------------------------------------- */

/*
 * client-go (tools/events): 12 tries 10 s apart (maxTriesPerEvent, defaultSleepDuration), a series
 * ends after 6 min (finishTime) and is written every 30 min (refreshTime).
 */
static void set_defaults(struct event_recorder_options *o)
{
    o->max_queue = o->max_queue ? o->max_queue : 10000;
    o->max_warnings = o->max_warnings ? o->max_warnings : MIN(o->max_queue, (size_t)1000);
    o->warning_qps = o->warning_qps != 0 ? o->warning_qps : 50;
    o->warning_burst = o->warning_burst ? o->warning_burst : 100;
    o->max_cache = o->max_cache ? o->max_cache : 20000;
    o->max_in_flight = MAX(o->max_in_flight ? o->max_in_flight : 64, (size_t)MIN_IN_FLIGHT);
    o->max_tries = o->max_tries ? o->max_tries : 12;
    o->retry = o->retry ? o->retry : 10 * NSEC_PER_SEC;
    o->finish = o->finish ? o->finish : 360 * NSEC_PER_SEC;
    o->refresh = o->refresh ? o->refresh : 1800 * NSEC_PER_SEC;
}

struct event_recorder *event_recorder_new(struct rest_client *client,
                                          const struct event_recorder_options *options)
{
    struct event_recorder *rec = xnew(struct event_recorder);

    rec->client = client;
    rec->loop = rest_client_loop(client);
    if (options)
        rec->options = *options;
    set_defaults(&rec->options);
    if (rec->options.hostname)
        snprintf(rec->hostname, sizeof(rec->hostname), "%s", rec->options.hostname);
    else if (gethostname(rec->hostname, sizeof(rec->hostname) - 1) < 0)
        rec->hostname[0] = '\0';
    for (int i = 0; i < 2; i++)
        rec->lanes[i].end = &rec->lanes[i].first;
    rec->lanes[false].max = rec->options.max_queue;
    rec->lanes[true].max = rec->options.max_warnings;
    ratelimit_init(&rec->warnings, rec->options.warning_qps, rec->options.warning_burst,
                   loop_now(rec->loop));
    loop_timer_init(&rec->pump, rec->loop, on_pump);
    rand_seed(&rec->rand, rand_entropy());
    loop_timer_init(&rec->finish, rec->loop, on_finish);
    loop_timer_init(&rec->refresh, rec->loop, on_refresh);
    loop_timer_set(&rec->finish, rec->options.finish);
    loop_timer_set(&rec->refresh, rec->options.refresh);
    return rec;
}

struct event_recorder *event_recorder_free(struct event_recorder *rec)
{
    if (!rec)
        return NULL;
    loop_timer_stop(&rec->finish);
    loop_timer_stop(&rec->refresh);
    loop_timer_stop(&rec->pump);
    for (int i = 0; i < 2; i++)
        for (struct record *r = rec->lanes[i].first, *next; r; r = next) {
            next = r->next;
            r->queued = false;
            settle(r);
        }
    while (rec->busy) {
        struct record *r = rec->busy;

        rest_cancel(r->call);
        loop_timer_stop(&r->timer);
        busy_remove(r);
        settle(r);
    }
    while (rec->oldest)
        cache_remove(rec, rec->oldest);
    map_release(&rec->cache);
    free(rec);
    return NULL;
}

void event_recorder_get_stats(const struct event_recorder *rec,
                              struct event_recorder_stats *ret_stats)
{
    *ret_stats = rec->stats;
    ret_stats->cached = rec->cache.n;
}
