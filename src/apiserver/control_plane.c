/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/control_plane.h"

#include "apiserver/component.h"
#include "apiserver/disk/store_file.h"
#include "base/log.h"
#include "base/vec.h"

/* Changes and writes per step: some milliseconds. */
#define STEP_ITEMS   128
/* Of control_plane_settle: more than any cluster needs that comes to rest. */
#define SETTLE_STEPS 100000

/* A write of a component that waits, with its texts behind it. */
struct plane_write {
    struct plane_write *next;
    size_t component;
    struct writer_request request;
    char text[];
};

struct plane_component {
    const struct component *kind;
    void *self;
    struct control_plane *plane;
};

struct control_plane {
    struct control_plane_options options;
    struct registry *registry;
    struct rbac *rbac;
    struct store_file *file; /* NULL: in memory */
    struct plane_component *components;
    size_t n_components;

    VEC(struct store_event) events; /* with references, from events_at on */
    size_t events_at;
    struct plane_write *first, **last;
    /* The answer of the last write; it follows the changes that the write made. */
    bool answered;
    int answer;
    uint64_t answer_id;
    size_t answer_to;

    int64_t tick; /* when registry_tick is due */
    struct arena arena;
    bool was_empty;
    bool load_failed;
};

/* --- changes ---------------------------------------------------------------------------------- */

static void push_event(struct control_plane *plane, const struct store_event *event)
{
    struct store_event kept = *event;
    if (kept.before)
        revision_ref(kept.before);
    revision_ref(kept.after);
    vec_push(&plane->events, kept);
}

static void on_changed(void *ctx, const struct store_event *event)
{
    struct control_plane *plane = ctx;
    rbac_changed(plane->rbac, event);
    if (plane->file)
        store_file_write(plane->file, event);
    push_event(plane, event);
    plane->tick = 0;
    if (plane->options.changed)
        plane->options.changed(plane->options.ctx, event);
}

static void deliver(struct control_plane *plane)
{
    struct store_event event = plane->events.v[plane->events_at++];
    if (plane->events_at == plane->events.n) {
        vec_clear(&plane->events);
        plane->events_at = 0;
    }
    for (size_t i = 0; i < plane->n_components; i++)
        plane->components[i].kind->changed(plane->components[i].self, &event);
    revision_unref(event.before);
    revision_unref(event.after);
}

/* --- writes of components --------------------------------------------------------------------- */

static struct str keep(char **at, struct str s)
{
    struct str kept = {*at, s.n};
    if (s.n)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return kept;
}

static void on_write(void *ctx, const struct writer_request *request)
{
    const struct plane_component *from = ctx;
    struct control_plane *plane = from->plane;
    size_t n = request->group.n + request->plural.n + request->subresource.n +
               request->namespace.n + request->name.n + request->body.n;
    struct plane_write *write = xcalloc(1, sizeof(*write) + n);
    char *at = write->text;
    write->component = (size_t)(from - plane->components);
    write->request = *request;
    write->request.group = keep(&at, request->group);
    write->request.plural = keep(&at, request->plural);
    write->request.subresource = keep(&at, request->subresource);
    write->request.namespace = keep(&at, request->namespace);
    write->request.name = keep(&at, request->name);
    write->request.body = keep(&at, request->body);
    *plane->last = write;
    plane->last = &write->next;
}

static int serve_write(struct control_plane *plane, const struct plane_write *write, int64_t now)
{
    static const enum api_verb verbs[] = {
        [WRITER_CREATE] = API_CREATE,
        [WRITER_UPDATE] = API_UPDATE,
        [WRITER_PATCH_MERGE] = API_PATCH_MERGE,
        [WRITER_DELETE] = API_DELETE,
    };
    const struct writer_request *w = &write->request;
    const struct component *kind = plane->components[write->component].kind;
    struct json_value body;
    struct api_response response;
    struct api_request request = {
        .verb = verbs[w->verb],
        .resource = resources_named(registry_resources(plane->registry), w->group, w->plural),
        .subresource = w->subresource,
        .namespace = w->namespace,
        .name = w->name,
        .user = str_of(kind->user),
        .field_manager = str_of(kind->name),
        .field_validation = FIELD_VALIDATION_IGNORE,
        .now = now,
        .arena = &plane->arena,
    };
    arena_reset(&plane->arena);
    if (!request.resource)
        return 404;
    if (!str_empty(w->body)) {
        if (json_parse(w->body, 0, &plane->arena, &body, NULL) < 0)
            return 400;
        request.body = &body;
    }
    int code = registry_serve(plane->registry, &request, &response);
    if (response.status.code)
        log_info(4, "Refused a write", KV_CSTR("component", kind->name),
                 KV_STR("resource", w->plural), KV_STR("namespace", w->namespace),
                 KV_STR("name", w->name), KV_STR("reason", response.status.message));
    registry_response_release(&response);
    return code;
}

static void serve_first(struct control_plane *plane, int64_t now)
{
    struct plane_write *write = plane->first;
    plane->first = write->next;
    if (!plane->first)
        plane->last = &plane->first;
    plane->answer = serve_write(plane, write, now);
    plane->answer_id = write->request.id;
    plane->answer_to = write->component;
    plane->answered = true;
    free(write);
}

static void answer(struct control_plane *plane, int64_t now)
{
    const struct plane_component *to = &plane->components[plane->answer_to];
    plane->answered = false;
    to->kind->write_done(to->self, plane->answer_id, plane->answer, now);
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Changes come before the answer of the write that made them, and both before the next write. */
static bool do_one(struct control_plane *plane, int64_t now)
{
    if (plane->events_at < plane->events.n)
        deliver(plane);
    else if (plane->answered)
        answer(plane, now);
    else if (plane->first)
        serve_first(plane, now);
    else
        return false;
    return true;
}

int64_t control_plane_step(struct control_plane *plane, int64_t now)
{
    bool more = true;
    for (size_t i = 0; i < STEP_ITEMS && more; i++)
        more = do_one(plane, now);
    if (plane->tick <= now)
        plane->tick = registry_tick(plane->registry, now);
    int64_t next = plane->tick;
    for (size_t i = 0; i < plane->n_components; i++) {
        const struct plane_component *c = &plane->components[i];
        if (c->kind->next(c->self) <= now)
            c->kind->run(c->self, now);
        next = MIN(next, c->kind->next(c->self));
    }
    bool waits = plane->events_at < plane->events.n || plane->answered || plane->first;
    return waits ? 0 : next;
}

void control_plane_settle(struct control_plane *plane, int64_t now)
{
    for (size_t i = 0; i < SETTLE_STEPS; i++)
        if (control_plane_step(plane, now) > now)
            return;
}

int control_plane_commit(struct control_plane *plane, struct err *reterr)
{
    return plane->file && store_file_dirty(plane->file) ? store_file_commit(plane->file, reterr)
                                                        : 0;
}

/* --- the beginning and the end ---------------------------------------------------------------- */

static void make_components(struct control_plane *plane)
{
    size_t n = 0;
    while (component_table[n])
        n++;
    plane->components = xcalloc(n, sizeof(*plane->components));
    for (size_t i = 0; i < n; i++) {
        if (plane->options.without_controllers && component_table[i]->is_controller)
            continue;
        struct plane_component *c = &plane->components[plane->n_components++];
        *c = (struct plane_component){.kind = component_table[i], .plane = plane};
        c->self = c->kind->make(&(struct component_options){
            .writer = {.ctx = c, .write = on_write},
            .store = registry_store(plane->registry),
            .resources = registry_resources(plane->registry),
            .rbac = plane->rbac,
            .ca_pem = plane->options.ca_pem,
            .seed = plane->options.seed + i,
        });
    }
}

static const struct resource *find_resource(void *ctx, struct str group, struct str plural)
{
    struct control_plane *plane = ctx;
    const struct resource *r = resources_named(registry_resources(plane->registry), group, plural);
    return r ? resource_stored(r) : NULL;
}

static void load_object(void *ctx, const struct resource *resource, struct str namespace,
                        struct str name, uint64_t version, struct str text)
{
    struct control_plane *plane = ctx;
    struct store_key key = {namespace, name};
    if (registry_load(plane->registry, resource, &key, version, text) < 0)
        plane->load_failed = true;
}

/* What was loaded is told to all as if it had just been added. */
static void announce_loaded(struct control_plane *plane)
{
    struct snapshot *s = store_snapshot(registry_store(plane->registry));
    const struct resource *r = NULL;
    while ((r = resources_next(registry_resources(plane->registry), r))) {
        struct store_range range;
        struct revision *rev;
        if (r->stored)
            continue; /* another version of a resource that is in the list */
        store_range_init(&range, s, r, STR(""), NULL);
        while ((rev = store_range_next(&range))) {
            struct store_event event = {.change = STORE_ADDED, .after = rev};
            rbac_changed(plane->rbac, &event);
            push_event(plane, &event);
        }
    }
    snapshot_unref(s);
}

static int open_file(struct control_plane *plane, struct err *reterr)
{
    const char *dir = plane->options.data_dir;
    uint64_t version = 0;
    if (!dir)
        return 0;
    int r = store_file_open(dir, &plane->file, reterr);
    if (r == 0)
        r = store_file_load(plane->file, find_resource, load_object, plane, &version, reterr);
    if (r == 0 && plane->load_failed)
        r = err_set(reterr, -EBADMSG, "%s/berth.db: an object is damaged", dir);
    if (r < 0)
        return r;
    struct store *store = registry_store(plane->registry);
    if (version > store_version(store))
        store_set_version(store, version);
    plane->was_empty = version == 0;
    announce_loaded(plane);
    return 0;
}

int control_plane_new(const struct control_plane_options *options, struct control_plane **ret_plane,
                      struct err *reterr)
{
    struct control_plane *plane = xnew(struct control_plane);
    plane->options = *options;
    plane->last = &plane->first;
    plane->was_empty = true;
    arena_init(&plane->arena, (size_t)64 << 10);
    plane->rbac = rbac_new();
    plane->registry = registry_new(&(struct registry_options){
        .store = {.changed = on_changed, .ctx = plane},
        .seed = options->seed,
        .disabled_admission = options->disabled_admission,
    });
    make_components(plane);
    int r = open_file(plane, reterr);
    if (r < 0)
        control_plane_free(plane);
    else
        *ret_plane = plane;
    return r;
}

struct control_plane *control_plane_free(struct control_plane *plane)
{
    if (!plane)
        return NULL;
    for (size_t i = 0; i < plane->n_components; i++)
        plane->components[i].kind->free(plane->components[i].self);
    free(plane->components);
    while (plane->first) {
        struct plane_write *write = plane->first;
        plane->first = write->next;
        free(write);
    }
    for (size_t i = plane->events_at; i < plane->events.n; i++) {
        revision_unref(plane->events.v[i].before);
        revision_unref(plane->events.v[i].after);
    }
    vec_release(&plane->events);
    store_file_close(plane->file);
    registry_free(plane->registry);
    rbac_free(plane->rbac);
    arena_release(&plane->arena);
    free(plane);
    return NULL;
}

struct registry *control_plane_registry(struct control_plane *plane)
{
    return plane->registry;
}

struct rbac *control_plane_rbac(struct control_plane *plane)
{
    return plane->rbac;
}

bool control_plane_is_new(const struct control_plane *plane)
{
    return plane->was_empty;
}
