/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/wasm_plugin.h"

#include "base/map.h"
#include "codec/json_value.h"
#include "engine/framework/profile.h"
#include "wasm/guest_pool.h"
#include "wasm/guest_services.h"

/* --- instances -------------------------------------------------------------------------------- */

struct arguments {
    struct berth_str guest_url, guest_config;
    int64_t log_severity;
    struct berth_list args;
    int64_t fuel, memory; /* memory in thousandths of a byte */
};

#define MIN_MEMORY INT64_C(65536)

static const struct berth_arg arguments[WASM_ARGS + 1] = {
    {.name = "guestURL",
     .kind = BERTH_ARG_STRING,
     .flags = BERTH_ARG_REQUIRED | BERTH_ARG_NOT_EMPTY,
     .offset = offsetof(struct arguments, guest_url)},
    {.name = "guestConfig",
     .kind = BERTH_ARG_STRING,
     .offset = offsetof(struct arguments, guest_config)},
    {.name = "logSeverity",
     .kind = BERTH_ARG_INT,
     .flags = BERTH_ARG_BOUNDED,
     .offset = offsetof(struct arguments, log_severity),
     .min = 0,
     .max = 3},
    {.name = "args",
     .kind = BERTH_ARG_LIST,
     .offset = offsetof(struct arguments, args),
     .size = sizeof(struct berth_str),
     .item = BERTH_ARG_STRING},
    {.name = "fuelPerCall",
     .kind = BERTH_ARG_INT,
     .flags = BERTH_ARG_BOUNDED,
     .offset = offsetof(struct arguments, fuel),
     .value = "500000000",
     .min = 1,
     .max = INT64_MAX},
    {.name = "memoryLimit",
     .kind = BERTH_ARG_QUANTITY,
     .flags = BERTH_ARG_BOUNDED,
     .offset = offsetof(struct arguments, memory),
     .value = "\"256Mi\"",
     .min = MIN_MEMORY * 1000,
     .max = INT64_C(4) << 30 << 10},
};

struct wasm_plugin {
    const struct berth_host *host;
    struct berth_handle *handle;
    const struct wasm_module *module;
    struct guest_settings settings;
    struct guest_services services;
    struct guest_pool pool;
    struct guest_seat seat; /* for calls outside of a cycle that has one */
    berth_state_key key;    /* the seat of a cycle */
};

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    struct arguments a = {0};
    struct buf why = BUF_INIT;
    if (host->args(h, args, arguments, &a, error))
        return -1;
    struct wasm_plugin *p = xnew(struct wasm_plugin);
    p->host = host;
    p->handle = h;
    /* The module has a copy of the table. */
    p->module = CONTAINER_OF(h->plugin->args, struct wasm_module, args);
    p->settings = (struct guest_settings){.module = p->module,
                                          .services = &p->services,
                                          .config = str_abi(a.guest_config),
                                          .log_severity = a.log_severity,
                                          .v = a.args.v,
                                          .n = a.args.n,
                                          .fuel = (uint64_t)a.fuel,
                                          .memory = a.memory / 1000};
    struct str name = str_of(p->module->name);
    p->key = host->state_key(h, abi_str(arena_printf(&h->arena, "wasm/%.*s", STR_ARG(name))));
    guest_services_init(&p->services, host, h);
    int r = guest_pool_init(&p->pool, &p->settings, &why);
    guest_seat_init(&p->seat, &p->pool);
    *ret_self = p;
    if (r < 0) {
        snprintf(error->text, sizeof(error->text), "failed to create a guest pool: %s",
                 buf_cstr(&why));
        for (char *c = error->text; *c; c++)
            *c = *c == '\n' ? ' ' : *c;
        guest_seat_release(&p->seat);
        guest_pool_release(&p->pool);
        guest_services_release(&p->services);
        free(p);
    }
    buf_release(&why);
    return r;
}

static void destroy(void *self)
{
    struct wasm_plugin *p = self;
    guest_seat_release(&p->seat);
    guest_pool_release(&p->pool);
    guest_services_release(&p->services);
    free(p);
}

/* --- seats of cycles -------------------------------------------------------------------------- */

static void free_seat(void *data)
{
    guest_seat_release(data);
    free(data);
}

/* The cycle's guest. Filter and Score may only read the cycle. */
static struct guest_seat *seat_of(struct wasm_plugin *p, const struct berth_cycle *cycle)
{
    struct guest_seat *seat = p->host->state_read(cycle, p->key);
    return seat ? seat : &p->seat;
}

static struct guest_seat *take_seat(struct wasm_plugin *p, struct berth_cycle *cycle)
{
    struct guest_seat *seat = p->host->state_read(cycle, p->key);
    if (!seat) {
        seat = xnew(struct guest_seat);
        guest_seat_init(seat, &p->pool);
        p->host->state_write(cycle, p->key, seat, NULL, free_seat);
    }
    return seat;
}

/* --- calls ------------------------------------------------------------------------------------ */

/* A call whose results are being read: its guest is locked. */
struct call {
    struct guest_seat *seat;
    struct guest *guest;
    int64_t value;
};

/* Returns false if the call failed: then *error says why, and nothing is locked. */
static bool call_begin_at(struct call *c, struct guest_seat *seat, enum guest_export fn,
                          const struct guest_input *in, struct buf *error)
{
    c->seat = seat;
    c->guest = guest_seat_enter(seat, error);
    if (!c->guest)
        return false;
    if (guest_run(c->guest, fn, in, &c->value, error) == 0)
        return true;
    guest_seat_leave(seat);
    return false;
}

static void call_done(const struct call *c)
{
    guest_seat_leave(c->seat);
}

static enum berth_code fail(const struct wasm_plugin *p, struct berth_status *status,
                            struct buf *error)
{
    p->host->status_text(status, abi_str(buf_str(error)));
    buf_release(error);
    return BERTH_ERROR;
}

/* The code that a guest returned, with its reason. */
static enum berth_code result(const struct wasm_plugin *p, const struct call *c, int32_t code,
                              enum guest_export fn, struct berth_status *status)
{
    if (code < BERTH_SUCCESS || code > BERTH_PENDING) {
        struct buf text = BUF_INIT;
        buf_add_printf(&text, "wasm: %s error: unknown status code %d", guest_export_name(fn),
                       code);
        return fail(p, status, &text);
    }
    if (c->guest->out.reason.n)
        p->host->status_text(status, abi_str(buf_str(&c->guest->out.reason)));
    return (enum berth_code)code;
}

/* For functions whose only results are a status code and a reason. */
static enum berth_code simple(struct wasm_plugin *p, struct guest_seat *seat, enum guest_export fn,
                              const struct guest_input *in, struct berth_status *status)
{
    struct call c;
    struct buf error = BUF_INIT;
    if (!call_begin_at(&c, seat, fn, in, &error))
        return fail(p, status, &error);
    enum berth_code code = result(p, &c, (int32_t)c.value, fn, status);
    call_done(&c);
    return code;
}

/* For functions without results. */
static void quiet(struct wasm_plugin *p, struct guest_seat *seat, enum guest_export fn,
                  const struct guest_input *in)
{
    struct call c;
    struct buf error = BUF_INIT;
    if (call_begin_at(&c, seat, fn, in, &error))
        call_done(&c);
    else
        p->host->log(p->handle, BERTH_LOG_ERROR,
                     fn == GUEST_POSTBIND    ? BERTH_STR("failed postbind")
                     : fn == GUEST_UNRESERVE ? BERTH_STR("failed unreserve")
                                             : BERTH_STR("A guest failed"),
                     (const struct berth_kv[]){BERTH_KV_STR("err", abi_str(buf_str(&error)))}, 1);
    buf_release(&error);
}

/* --- events ----------------------------------------------------------------------------------- */

/* By the number that guests know a resource by; COUNT: no longer known. */
static const enum berth_resource guest_resources[] = {
    BERTH_RESOURCE_POD,
    BERTH_RESOURCE_NODE,
    BERTH_RESOURCE_PERSISTENT_VOLUME,
    BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM,
    BERTH_RESOURCE_COUNT, /* PodSchedulingContext */
    BERTH_RESOURCE_RESOURCE_CLAIM,
    BERTH_RESOURCE_STORAGE_CLASS,
    BERTH_RESOURCE_CSI_NODE,
    BERTH_RESOURCE_CSI_DRIVER,
    BERTH_RESOURCE_CSI_STORAGE_CAPACITY,
    BERTH_RESOURCE_ALL,
};

/*
 * Guests know four kinds of updates, those of nodes, and use all of them for any update: then all
 * that Kubernetes knows are meant.
 */
#define GUEST_UPDATE                                                         \
    (BERTH_ACTION_UPDATE_NODE_ALLOCATABLE | BERTH_ACTION_UPDATE_NODE_LABEL | \
     BERTH_ACTION_UPDATE_NODE_TAINT | BERTH_ACTION_UPDATE_NODE_CONDITION)

static uint32_t read_u32(const char *p)
{
    const uint8_t *b = (const uint8_t *)p;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* Returns the number of events that the guest named. */
static size_t register_named(const struct wasm_plugin *p, struct berth_registrar *r,
                             struct str events)
{
    size_t n = 0;
    for (size_t at = 0; at + 8 <= events.n; at += 8, n++) {
        uint32_t resource = read_u32(events.p + at);
        unsigned actions = read_u32(events.p + at + 4) & BERTH_ACTION_ALL;
        if ((actions & GUEST_UPDATE) == GUEST_UPDATE)
            actions |= BERTH_ACTION_UPDATE;
        if (resource < ARRAY_LEN(guest_resources) &&
            guest_resources[resource] != BERTH_RESOURCE_COUNT)
            p->host->register_event(r, guest_resources[resource], actions, NULL);
    }
    return n;
}

/* Upstream's defaults for a guest that names none. */
static void register_defaults(const struct wasm_plugin *p, struct berth_registrar *r)
{
    static const enum berth_resource all[] = {BERTH_RESOURCE_POD,
                                              BERTH_RESOURCE_NODE,
                                              BERTH_RESOURCE_CSI_NODE,
                                              BERTH_RESOURCE_PERSISTENT_VOLUME,
                                              BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM,
                                              BERTH_RESOURCE_STORAGE_CLASS};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        p->host->register_event(r, all[i], BERTH_ACTION_ALL, NULL);
}

static void events(void *self, struct berth_registrar *r)
{
    static const struct guest_input nothing = {0};
    struct wasm_plugin *p = self;
    struct call c;
    struct buf error = BUF_INIT;
    size_t n = 0;
    if (wasm_module_exports(p->module, GUEST_ENQUEUE)) {
        if (call_begin_at(&c, &p->seat, GUEST_ENQUEUE, &nothing, &error)) {
            n = register_named(p, r, buf_str(&c.guest->out.events));
            call_done(&c);
        } else {
            p->host->log(p->handle, BERTH_LOG_ERROR,
                         BERTH_STR("Registered the default events: enqueue failed"),
                         (const struct berth_kv[]){BERTH_KV_STR("err", abi_str(buf_str(&error)))},
                         1);
        }
        buf_release(&error);
    }
    if (n == 0)
        register_defaults(p, r);
}

/* --- filtering -------------------------------------------------------------------------------- */

/* names: each ends with NUL; empty ones do not count. */
static void limit_nodes(const struct wasm_plugin *p, struct berth_cycle *cycle, struct str names)
{
    VEC(struct berth_str) list = {0};
    struct str name;
    while (names.n && str_split(&names, 0, &name))
        if (name.n)
            vec_push(&list, abi_str(name));
    if (list.n)
        p->host->limit_nodes(cycle, list.v, list.n);
    vec_release(&list);
}

static enum berth_code pre_filter(void *self, struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_status *status)
{
    struct wasm_plugin *p = self;
    const struct guest_input in = {.pod = pod};
    struct buf error = BUF_INIT;
    struct call c;
    struct guest_seat *seat = take_seat(p, cycle);
    if (!wasm_module_exports(p->module, GUEST_PREFILTER))
        return BERTH_SUCCESS;
    if (!call_begin_at(&c, seat, GUEST_PREFILTER, &in, &error))
        return fail(p, status, &error);
    limit_nodes(p, cycle, buf_str(&c.guest->out.node_names));
    enum berth_code code = result(p, &c, (int32_t)c.value, GUEST_PREFILTER, status);
    call_done(&c);
    return code;
}

static enum berth_code add_pod(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                               const struct berth_pod *other, const struct berth_node *node,
                               struct berth_status *status)
{
    const struct guest_input in = {.pod = pod, .target = other, .node_name = str_of(node->name)};
    return simple(self, seat_of(self, cycle), GUEST_ADDPOD, &in, status);
}

static enum berth_code remove_pod(void *self, struct berth_cycle *cycle,
                                  const struct berth_pod *pod, const struct berth_pod *other,
                                  const struct berth_node *node, struct berth_status *status)
{
    const struct guest_input in = {.pod = pod, .target = other, .node_name = str_of(node->name)};
    return simple(self, seat_of(self, cycle), GUEST_REMOVEPOD, &in, status);
}

static enum berth_code filter(void *self, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    const struct guest_input in = {.pod = pod, .node_name = str_of(node->name)};
    return simple(self, seat_of(self, cycle), GUEST_FILTER, &in, status);
}

#define NOMINATE_OVERRIDE 1 /* upstream: ModeOverride */

static enum berth_code post_filter(void *self, struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_status *status)
{
    struct wasm_plugin *p = self;
    const struct guest_input in = {.pod = pod, .cycle = cycle};
    struct buf error = BUF_INIT;
    struct call c;
    if (!call_begin_at(&c, take_seat(p, cycle), GUEST_POSTFILTER, &in, &error))
        return fail(p, status, &error);
    enum berth_code code = result(p, &c, (int32_t)c.value, GUEST_POSTFILTER, status);
    if (c.value >> 32 == NOMINATE_OVERRIDE)
        p->host->nominate(cycle, abi_str(buf_str(&c.guest->out.nominated)));
    call_done(&c);
    return code;
}

/* --- scoring ---------------------------------------------------------------------------------- */

static enum berth_code pre_score(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                                 const uint32_t *slots, size_t n, struct berth_status *status)
{
    struct wasm_plugin *p = self;
    const struct guest_input in = {
        .pod = pod, .columns = p->host->columns(cycle), .slots = slots, .n = n};
    return simple(p, take_seat(p, cycle), GUEST_PRESCORE, &in, status);
}

static enum berth_code score(void *self, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    struct wasm_plugin *p = self;
    const struct guest_input in = {.pod = pod, .node_name = str_of(node->name)};
    struct buf error = BUF_INIT;
    struct call c;
    if (!call_begin_at(&c, seat_of(p, cycle), GUEST_SCORE, &in, &error))
        return fail(p, status, &error);
    *ret_score = c.value >> 32;
    enum berth_code code = result(p, &c, (int32_t)c.value, GUEST_SCORE, status);
    call_done(&c);
    return code;
}

/*
 * Reads {"node": score, …}. An empty list means the scores as they are; otherwise every node must
 * be there. False and *error if it is not.
 */
static bool read_scores(const struct guest_input *in, struct json_value *tree, int64_t *scores,
                        struct buf *error)
{
    struct map by_name = MAP_INIT;
    bool good = true;
    for (size_t i = 0; i < tree->n_members; i++)
        map_put(&by_name, tree->members[i].key, &tree->members[i].value);
    for (size_t i = 0; good && i < in->n; i++) {
        struct str name = str_of(in->columns->nodes[in->slots[i]]->name);
        const struct json_value *v = map_get(&by_name, name);
        good = v && v->kind == JSON_NUMBER && str_to_i64(v->text, &scores[i]);
        if (!good)
            buf_add_printf(error, "wasm: normalizescore error: node %.*s has no integer score",
                           STR_ARG(name));
    }
    map_release(&by_name);
    return good;
}

static bool parse_scores(const struct guest_input *in, struct str json, int64_t *scores,
                         struct buf *error)
{
    struct arena a;
    struct json_value tree;
    struct err err;
    arena_init(&a, 0);
    bool good = json_parse(json, 0, &a, &tree, &err) == 0 &&
                (tree.kind == JSON_OBJECT || tree.kind == JSON_NULL);
    if (!good)
        buf_add_cstr(error, "wasm: normalizescore error: the scores are not a JSON object");
    else if (tree.kind == JSON_OBJECT && tree.n_members)
        good = read_scores(in, &tree, scores, error);
    arena_release(&a);
    return good;
}

static enum berth_code normalize(void *self, const struct berth_cycle *cycle,
                                 const struct berth_pod *pod, const uint32_t *slots,
                                 int64_t *scores, size_t n, struct berth_status *status)
{
    struct wasm_plugin *p = self;
    const struct guest_input in = {
        .pod = pod, .columns = p->host->columns(cycle), .slots = slots, .scores = scores, .n = n};
    struct buf error = BUF_INIT;
    struct call c;
    if (!call_begin_at(&c, seat_of(p, cycle), GUEST_NORMALIZESCORE, &in, &error))
        return fail(p, status, &error);
    struct str list = buf_str(&c.guest->out.scores);
    enum berth_code code = result(p, &c, (int32_t)c.value, GUEST_NORMALIZESCORE, status);
    if (code == BERTH_SUCCESS && list.n && !parse_scores(&in, list, scores, &error))
        code = fail(p, status, &error);
    call_done(&c);
    return code;
}

/* --- binding ---------------------------------------------------------------------------------- */

static enum berth_code reserve(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                               struct berth_str node_name, struct berth_status *status)
{
    const struct guest_input in = {.pod = pod, .node_name = str_abi(node_name)};
    return simple(self, take_seat(self, cycle), GUEST_RESERVE, &in, status);
}

static void unreserve(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct berth_str node_name)
{
    const struct guest_input in = {.pod = pod, .node_name = str_abi(node_name)};
    quiet(self, take_seat(self, cycle), GUEST_UNRESERVE, &in);
}

#define NS_PER_MS INT64_C(1000000)

static enum berth_code permit(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                              struct berth_str node_name, int64_t *ret_timeout_ns,
                              struct berth_status *status)
{
    struct wasm_plugin *p = self;
    const struct guest_input in = {.pod = pod, .node_name = str_abi(node_name)};
    struct buf error = BUF_INIT;
    struct call c;
    if (!call_begin_at(&c, take_seat(p, cycle), GUEST_PERMIT, &in, &error))
        return fail(p, status, &error);
    *ret_timeout_ns = (int64_t)(uint32_t)c.value * NS_PER_MS;
    enum berth_code code = result(p, &c, (int32_t)(c.value >> 32), GUEST_PERMIT, status);
    call_done(&c);
    return code;
}

static enum berth_code pre_bind(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                                struct berth_str node_name, berth_op op,
                                struct berth_status *status)
{
    const struct guest_input in = {.pod = pod, .node_name = str_abi(node_name)};
    (void)op;
    return simple(self, take_seat(self, cycle), GUEST_PREBIND, &in, status);
}

static enum berth_code bind_pod(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                                struct berth_str node_name, berth_op op,
                                struct berth_status *status)
{
    const struct guest_input in = {.pod = pod, .node_name = str_abi(node_name)};
    (void)op;
    return simple(self, take_seat(self, cycle), GUEST_BIND, &in, status);
}

static void post_bind(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct berth_str node_name)
{
    const struct guest_input in = {.pod = pod, .node_name = str_abi(node_name)};
    quiet(self, take_seat(self, cycle), GUEST_POSTBIND, &in);
}

/* --- plugin ----------------------------------------------------------------------------------- */

/* Every guest has pre_filter: it gives the cycle its guest. */
static const struct berth_plugin all_points = {
    BERTH_PLUGIN_HEAD(NULL, NULL),
    .flags = BERTH_PLUGIN_NONBLOCKING,
    .create = create,
    .destroy = destroy,
    .events = events,
    .pre_filter = pre_filter,
};

#define SET(point, fn, export_bit)                \
    do {                                          \
        if (wasm_module_exports(m, (export_bit))) \
            m->plugin.point = (fn);               \
    } while (0)

static void fill(struct wasm_module *m)
{
    memcpy(m->args, arguments, sizeof(arguments));
    m->plugin = all_points;
    m->plugin.name = m->name;
    m->plugin.version = "wasm";
    m->plugin.args = m->args;
    SET(add_pod, add_pod, GUEST_ADDPOD);
    SET(remove_pod, remove_pod, GUEST_REMOVEPOD);
    SET(filter, filter, GUEST_FILTER);
    SET(post_filter, post_filter, GUEST_POSTFILTER);
    SET(pre_score, pre_score, GUEST_PRESCORE);
    SET(score, score, GUEST_SCORE);
    SET(normalize, normalize, GUEST_NORMALIZESCORE);
    SET(reserve, reserve, GUEST_RESERVE);
    SET(unreserve, unreserve, GUEST_UNRESERVE);
    SET(permit, permit, GUEST_PERMIT);
    SET(pre_bind, pre_bind, GUEST_PREBIND);
    SET(bind, bind_pod, GUEST_BIND);
    SET(post_bind, post_bind, GUEST_POSTBIND);
}

int wasm_plugin_load(struct str name, struct str url, struct str bytes,
                     struct wasm_module **ret_module, struct err *reterr)
{
    int r = wasm_module_new(name, url, bytes, ret_module, reterr);
    if (r == 0)
        fill(*ret_module);
    return r;
}
