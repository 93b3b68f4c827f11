/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches. Each has a position in the history of its resource and reads from there after a commit;
 * a client that does not keep up is not written to until it has taken what is queued, and costs no
 * more memory than that. If its position expires meanwhile, it is told so and lists again.
 */
#include "apiserver/http/watch_internal.h"

/* --- the list of watches ---------------------------------------------------------------------- */

static void want(struct watch *w)
{
    w->wanted = true;
    w->feed->wanted = true;
    server_flush_soon(w->all->server);
}

static void on_bookmark(struct loop_timer *timer)
{
    struct watches *all = CONTAINER_OF(timer, struct watches, bookmarks);

    map_each (e, &all->feeds) {
        struct feed *feed = e->value;

        for (size_t i = 0; i < feed->n; i++)
            if (feed->v[i]->bookmarks) {
                feed->v[i]->bookmark_due = true;
                want(feed->v[i]);
            }
    }
    if (all->server->n_watches > 0)
        loop_timer_set(timer, all->server->options.bookmark_period);
}

struct watches *watches_new(struct api_server *s)
{
    struct watches *all = xnew(struct watches);

    all->server = s;
    loop_timer_init(&all->bookmarks, s->loop, on_bookmark);
    return all;
}

static struct feed *feed_of(struct watches *all, const struct resource *stored)
{
    uint64_t key = (uint64_t)(uintptr_t)stored;
    struct feed *feed = map_get(&all->feeds, map_number_key(&key));

    if (feed)
        return feed;
    feed = xnew(struct feed);
    feed->key = key;
    map_put(&all->feeds, map_number_key(&feed->key), feed);
    return feed;
}

static void unlink_watch(struct watch *w)
{
    struct feed *feed = w->feed;

    feed->v[w->at] = vec_last(feed);
    feed->v[w->at]->at = w->at;
    (void)vec_pop(feed);
    w->all->server->n_watches--;
}

/* The exchange has ended. */
void watch_free(struct watch *w)
{
    unlink_watch(w);
    loop_timer_stop(&w->end);
    if (w->snapshot)
        snapshot_unref(w->snapshot);
    arena_release(&w->arena);
    free(w);
}

void watch_end(struct watch *w)
{
    struct http_exchange *x = TAKE(w->x);

    if (x)
        http_end(x);
    if (!w->busy)
        watch_free(w);
}

struct watches *watches_free(struct watches *all)
{
    if (!all)
        return NULL;
    watches_end(all);
    map_each (e, &all->feeds) {
        struct feed *feed = e->value;

        vec_release(feed);
        free(feed);
    }
    map_release(&all->feeds);
    loop_timer_stop(&all->bookmarks);
    buf_release(&all->out);
    free(all);
    return NULL;
}

void watches_end(struct watches *all)
{
    map_each (e, &all->feeds) {
        struct feed *feed = e->value;

        while (feed->n > 0)
            watch_end(vec_last(feed));
    }
}

void watches_changed(struct watches *all, const struct resource *stored)
{
    uint64_t key = (uint64_t)(uintptr_t)stored;
    struct feed *feed = map_get(&all->feeds, map_number_key(&key));

    if (feed)
        feed->changed = true;
}

/* --- one watch -------------------------------------------------------------------------------- */

static void on_gone(struct http_exchange *x)
{
    struct watch *w = x->user;

    w->x = NULL;
    http_abort(x);
    if (!w->busy)
        watch_free(w);
}

static void on_drain(struct http_exchange *x)
{
    struct watch *w = x->user;

    w->paused = false;
    want(w);
}

static void on_end(struct loop_timer *timer)
{
    watch_end(CONTAINER_OF(timer, struct watch, end));
}

static int64_t duration_of(struct watches *all, const struct call *c)
{
    int64_t period = all->server->options.min_watch_period;

    if (c->query.timeout > 0)
        return MIN(c->query.timeout, (int64_t)86400 * 365) * NSEC_PER_SEC;
    return period + (int64_t)(rand_double(&all->server->rand) * (double)period);
}

static void send_head(struct watch *w, struct call *c)
{
    struct http_header headers[ANSWER_HEADERS];
    size_t n = answer_headers(c, STR("application/json"), headers);

    w->x->user = w;
    w->x->on_gone = on_gone;
    w->x->on_drain = on_drain;
    http_respond_stream(w->x, 200, headers, n);
}

static struct watch *watch_new(struct watches *all, struct call *c)
{
    struct watch *w = xnew(struct watch);

    arena_init(&w->arena, 0);
    w->all = all;
    w->resource = c->resource;
    w->stored = resource_stored(c->resource);
    w->form = c->form;
    w->namespace = arena_dup(&w->arena, c->request.namespace);
    w->bookmarks = c->query.bookmarks;
    w->feed = feed_of(all, w->stored);
    loop_timer_init(&w->end, all->server->loop, on_end);
    return w;
}

/* --- where a watch begins --------------------------------------------------------------------- */

static bool check_options(struct call *c)
{
    static const char *const supported[] = {"NotOlderThan", NULL};
    struct field_errors errors = {.arena = &c->arena};
    struct field_path path = field_child(NULL, "resourceVersionMatch");
    struct json_value match = json_text(c->query.resource_version_match);
    bool fits = str_is(match.text, "NotOlderThan");

    if (c->query.has_initial_events && !fits)
        field_error(&errors, FIELD_FORBIDDEN, &path, NULL,
                    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    if (!str_empty(match.text)) {
        if (!c->query.has_initial_events)
            field_error(&errors, FIELD_FORBIDDEN, &path, NULL,
                        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is "
                        "provided");
        if (!fits)
            field_not_supported(&errors, &path, &match, supported);
        if (!str_empty(c->query.continue_token))
            field_error(&errors, FIELD_FORBIDDEN, &path, NULL,
                        "resourceVersionMatch is forbidden when continue is provided");
    }
    if (errors.n > 0)
        status_invalid(&c->response.status, STR("meta.k8s.io"), STR("ListOptions"), STR(""),
                       &errors);
    return errors.n == 0;
}

static bool read_version(struct call *c, uint64_t *ret_version)
{
    struct str text = c->query.resource_version;
    struct field_errors errors = {.arena = &c->arena};
    struct field_path path = field_child(NULL, "resourceVersion");
    struct json_value value = json_text(text);

    *ret_version = 0;
    if (str_empty(text) || str_to_u64(text, ret_version))
        return true;
    field_error(&errors, FIELD_INVALID, &path, &value,
                "strconv.ParseUint: parsing %.*s: invalid syntax",
                STR_ARG(arena_quoted(&c->arena, text)));
    status_invalid(&c->response.status, STR(""), STR(""), STR(""), &errors);
    return false;
}

/* The fields that are selected: for a watch of one object its name. */
static struct str fields_of(const struct call *c, struct arena *a)
{
    if (c->query.watch || str_empty(c->route.name))
        return c->query.field_selector;
    return arena_printf(a, "metadata.name=%.*s", STR_ARG(c->route.name));
}

/* It was parsed before, in the arena of the call. */
static void set_selector(struct watch *w, const struct call *c)
{
    struct str fields = arena_dup(&w->arena, fields_of(c, &w->arena));
    struct str labels = arena_dup(&w->arena, c->query.label_selector);
    struct api_status status;

    if (!str_empty(fields) || !str_empty(labels))
        w->selector = revision_selector_parse(w->resource, labels, fields, &w->arena, &status);
}

static void take_position(struct watch *w, const struct call *c, uint64_t version)
{
    struct store *store = w->all->server->store;
    bool initial = c->query.has_initial_events ? c->query.initial_events : version == 0;

    if (initial) {
        w->snapshot = store_snapshot(store);
        w->ends_initial = c->query.has_initial_events && w->bookmarks;
        store_range_init(&w->range, w->snapshot, w->stored, w->namespace, NULL);
        version = snapshot_version(w->snapshot);
    } else if (version == 0) {
        version = store_version(store);
    }
    w->requested = version;
    w->expired = store_watch_init(&w->position, store, w->stored, version) < 0;
}

void watches_start(struct watches *all, struct call *c)
{
    struct watch *w;
    uint64_t version;

    if (!check_options(c) || !read_version(c, &version) ||
        !revision_selector_parse(c->resource, c->query.label_selector, fields_of(c, &c->arena),
                                 &c->arena, &c->response.status)) {
        call_refuse(c);
        return;
    }
    w = watch_new(all, c);
    set_selector(w, c);
    take_position(w, c, version);
    w->at = w->feed->n;
    vec_push(w->feed, w);
    all->server->n_watches++;
    if (!loop_timer_pending(&all->bookmarks))
        loop_timer_set(&all->bookmarks, all->server->options.bookmark_period);
    loop_timer_set(&w->end, duration_of(all, c));
    server_metrics_count(c, 200);
    w->x = c->x;
    w->busy = true;
    send_head(w, c);
    w->busy = false;
    call_free(c);
    if (w->x)
        want(w);
    else
        watch_free(w);
}
