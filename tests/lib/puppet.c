/* SPDX-License-Identifier: Apache-2.0 */
#include "puppet.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "engine/rooms.h"
#include "plugins/registry.h"

static const char *const point_names[] = {
    [PUPPET_PRE_ENQUEUE] = "PreEnqueue",
    [PUPPET_LESS] = "Less",
    [PUPPET_PRE_FILTER] = "PreFilter",
    [PUPPET_ADD_POD] = "AddPod",
    [PUPPET_REMOVE_POD] = "RemovePod",
    [PUPPET_FILTER] = "Filter",
    [PUPPET_POST_FILTER] = "PostFilter",
    [PUPPET_PRE_SCORE] = "PreScore",
    [PUPPET_SCORE] = "Score",
    [PUPPET_NORMALIZE] = "Normalize",
    [PUPPET_RESERVE] = "Reserve",
    [PUPPET_UNRESERVE] = "Unreserve",
    [PUPPET_PERMIT] = "Permit",
    [PUPPET_PRE_FLIGHT] = "PreFlight",
    [PUPPET_PRE_BIND] = "PreBind",
    [PUPPET_BIND] = "Bind",
    [PUPPET_POST_BIND] = "PostBind",
    [PUPPET_HINT] = "Hint",
};

struct call_record {
    const struct puppet *puppet;
    enum puppet_point point;
    char node[32];
};

static struct {
    struct puppet puppets[PUPPET_MAX];
    size_t n;
    VEC(struct call_record) calls;
    char text[16384];
    const struct berth_plugin *plugins[PUPPET_MAX + 3];
    struct plugin_ref defaults[PUPPET_MAX + 2];
    struct registry registry;
} stage;

/* --- calls ------------------------------------------------------------------------------------ */

static void give_reason(const struct puppet *p, struct berth_status *status, const char *reason)
{
    if (reason && *reason && status)
        p->host->status_text(status, abi_str(str_of(reason)));
}

static enum berth_code play(struct puppet_call *call)
{
    struct puppet *p = call->puppet;
    struct call_record record = {.puppet = p, .point = call->point};
    if (call->node)
        snprintf(record.node, sizeof(record.node), "(%s)", call->node->name);
    vec_push(&stage.calls, record);
    call->code = p->code[call->point];
    call->score = p->score;
    call->timeout = p->timeout;
    if (call->code != BERTH_SUCCESS && call->code != BERTH_SKIP) {
        const char *instead = p->reason_at[call->point];
        give_reason(p, call->status, instead ? instead : p->reason);
        give_reason(p, call->status, instead ? NULL : p->second_reason);
    }
    if (p->hook)
        p->hook(call);
    return call->code;
}

/* Puppets may break the rules for plugins. */
static struct berth_cycle *unlock(const struct berth_cycle *cycle)
{
    return (struct berth_cycle *)(uintptr_t)cycle;
}

static struct puppet *find_puppet(const char *name)
{
    for (size_t i = 0; i < stage.n; i++)
        if (strcmp(stage.puppets[i].name, name) == 0)
            return &stage.puppets[i];
    fail_msg("no puppet is called %s", name);
    return NULL;
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    (void)args, (void)error;
    struct puppet *p = find_puppet(h->plugin->name);
    p->host = host;
    p->handle = h;
    *ret_self = p;
    return 0;
}

static enum berth_hint hint(void *self, const struct berth_pod *pod,
                            const struct berth_object *before, const struct berth_object *after)
{
    (void)before, (void)after;
    struct puppet_call call = {.puppet = self, .point = PUPPET_HINT, .pod = pod};
    return play(&call) == BERTH_SKIP ? BERTH_QUEUE_SKIP : BERTH_QUEUE;
}

static void events(void *self, struct berth_registrar *r)
{
    const struct puppet *p = self;
    p->host->register_event(
        r, BERTH_RESOURCE_NODE,
        BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL | BERTH_ACTION_UPDATE_NODE_TAINT, hint);
}

static enum berth_code pre_enqueue(void *self, const struct berth_pod *pod,
                                   struct berth_status *status)
{
    struct puppet_call call = {
        .puppet = self, .point = PUPPET_PRE_ENQUEUE, .pod = pod, .status = status};
    return play(&call);
}

/* The youngest first, so that it differs from PrioritySort. */
static bool less(void *self, const struct berth_queued_pod *a, const struct berth_queued_pod *b)
{
    struct puppet_call call = {.puppet = self, .point = PUPPET_LESS};
    play(&call);
    return call.puppet->host->queued_since(a) > call.puppet->host->queued_since(b);
}

static enum berth_code pre_filter(void *self, struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_status *status)
{
    struct puppet_call call = {
        .puppet = self, .point = PUPPET_PRE_FILTER, .cycle = cycle, .pod = pod, .status = status};
    const struct puppet *p = self;
    struct berth_str names[ARRAY_LEN(p->limit)];
    size_t n = 0;
    for (; n < ARRAY_LEN(names) && p->limit[n]; n++)
        names[n] = abi_str(str_of(p->limit[n]));
    if (n)
        p->host->limit_nodes(cycle, names, n);
    return play(&call);
}

static enum berth_code add_pod(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                               const struct berth_pod *other, const struct berth_node *node,
                               struct berth_status *status)
{
    struct puppet_call call = {.puppet = self,
                               .point = PUPPET_ADD_POD,
                               .cycle = cycle,
                               .pod = pod,
                               .other = other,
                               .node = node,
                               .status = status};
    return play(&call);
}

static enum berth_code remove_pod(void *self, struct berth_cycle *cycle,
                                  const struct berth_pod *pod, const struct berth_pod *other,
                                  const struct berth_node *node, struct berth_status *status)
{
    struct puppet_call call = {.puppet = self,
                               .point = PUPPET_REMOVE_POD,
                               .cycle = cycle,
                               .pod = pod,
                               .other = other,
                               .node = node,
                               .status = status};
    return play(&call);
}

static enum berth_code filter(void *self, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    struct puppet_call call = {.puppet = self,
                               .point = PUPPET_FILTER,
                               .cycle = unlock(cycle),
                               .pod = pod,
                               .node = node,
                               .status = status};
    return play(&call);
}

static enum berth_code post_filter(void *self, struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_status *status)
{
    struct puppet_call call = {
        .puppet = self, .point = PUPPET_POST_FILTER, .cycle = cycle, .pod = pod, .status = status};
    return play(&call);
}

static enum berth_code pre_score(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                                 const uint32_t *slots, size_t n, struct berth_status *status)
{
    (void)slots;
    struct puppet_call call = {.puppet = self,
                               .point = PUPPET_PRE_SCORE,
                               .cycle = cycle,
                               .pod = pod,
                               .n = n,
                               .status = status};
    return play(&call);
}

static enum berth_code score(void *self, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    struct puppet_call call = {.puppet = self,
                               .point = PUPPET_SCORE,
                               .cycle = unlock(cycle),
                               .pod = pod,
                               .node = node,
                               .status = status};
    enum berth_code code = play(&call);
    *ret_score = call.score;
    return code;
}

static enum berth_code normalize(void *self, const struct berth_cycle *cycle,
                                 const struct berth_pod *pod, const uint32_t *slots,
                                 int64_t *scores, size_t n, struct berth_status *status)
{
    (void)slots;
    struct puppet_call call = {.puppet = self,
                               .point = PUPPET_NORMALIZE,
                               .cycle = unlock(cycle),
                               .pod = pod,
                               .scores = scores,
                               .n = n,
                               .status = status};
    return play(&call);
}

static enum berth_code reserve(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                               struct berth_str node_name, struct berth_status *status)
{
    (void)node_name;
    struct puppet_call call = {
        .puppet = self, .point = PUPPET_RESERVE, .cycle = cycle, .pod = pod, .status = status};
    return play(&call);
}

static void unreserve(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct berth_str node_name)
{
    (void)node_name;
    struct puppet_call call = {
        .puppet = self, .point = PUPPET_UNRESERVE, .cycle = cycle, .pod = pod};
    play(&call);
}

static enum berth_code permit(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                              struct berth_str node_name, int64_t *ret_timeout_ns,
                              struct berth_status *status)
{
    (void)node_name;
    struct puppet_call call = {
        .puppet = self, .point = PUPPET_PERMIT, .cycle = cycle, .pod = pod, .status = status};
    enum berth_code code = play(&call);
    *ret_timeout_ns = call.timeout;
    return code;
}

static enum berth_code pre_flight(void *self, struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_str node_name,
                                  struct berth_status *status)
{
    (void)node_name;
    struct puppet_call call = {
        .puppet = self, .point = PUPPET_PRE_FLIGHT, .cycle = cycle, .pod = pod, .status = status};
    return play(&call);
}

static enum berth_code pre_bind(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                                struct berth_str node_name, berth_op op,
                                struct berth_status *status)
{
    (void)node_name;
    struct puppet_call call = {.puppet = self,
                               .point = PUPPET_PRE_BIND,
                               .cycle = cycle,
                               .pod = pod,
                               .op = op,
                               .status = status};
    return play(&call);
}

static enum berth_code bind(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                            struct berth_str node_name, berth_op op, struct berth_status *status)
{
    (void)node_name;
    struct puppet_call call = {.puppet = self,
                               .point = PUPPET_BIND,
                               .cycle = cycle,
                               .pod = pod,
                               .op = op,
                               .status = status};
    return play(&call);
}

static void post_bind(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct berth_str node_name)
{
    (void)node_name;
    struct puppet_call call = {
        .puppet = self, .point = PUPPET_POST_BIND, .cycle = cycle, .pod = pod};
    play(&call);
}

/* --- stage ------------------------------------------------------------------------------------ */

void puppet_clear(void)
{
    memset(stage.puppets, 0, sizeof(stage.puppets));
    stage.n = 0;
    vec_release(&stage.calls);
}

struct puppet *puppet_add(const char *name, unsigned points)
{
    assert(stage.n < PUPPET_MAX);
    struct puppet *p = &stage.puppets[stage.n++];
    *p = (struct puppet){.name = name, .points = points};
    p->code[PUPPET_BIND] = BERTH_SKIP;
#define IF(point, fn) .fn = (points & AT(point)) ? (fn) : NULL
    p->plugin = (struct berth_plugin){
        .abi = BERTH_ABI,
        .struct_size = sizeof(struct berth_plugin),
        .name = name,
        .flags = BERTH_PLUGIN_NONBLOCKING,
        .create = create,
        IF(PRE_ENQUEUE, pre_enqueue),
        IF(LESS, less),
        IF(PRE_FILTER, pre_filter),
        IF(ADD_POD, add_pod),
        IF(REMOVE_POD, remove_pod),
        IF(FILTER, filter),
        IF(POST_FILTER, post_filter),
        IF(PRE_SCORE, pre_score),
        IF(SCORE, score),
        IF(NORMALIZE, normalize),
        IF(RESERVE, reserve),
        IF(UNRESERVE, unreserve),
        IF(PERMIT, permit),
        IF(PRE_BIND, pre_bind),
        IF(BIND, bind),
        IF(POST_BIND, post_bind),
        .events = (points & AT(HINT)) ? events : NULL,
        .pre_bind_preflight = (points & AT(PRE_FLIGHT)) ? pre_flight : NULL,
    };
#undef IF
    return p;
}

const struct registry *puppet_registry(void)
{
    size_t n = 0;
    bool sorts = false;
    for (size_t i = 0; i < stage.n; i++)
        sorts |= (stage.puppets[i].points & AT(LESS)) != 0;
    if (!sorts)
        stage.plugins[n++] = &priority_sort_plugin;
    for (size_t i = 0; i < stage.n; i++)
        stage.plugins[n++] = &stage.puppets[i].plugin;
    stage.plugins[n++] = &default_binder_plugin;
    stage.plugins[n] = NULL;
    for (size_t i = 0; i < n; i++)
        stage.defaults[i] = (struct plugin_ref){.name = str_of(stage.plugins[i]->name)};
    stage.registry =
        (struct registry){.plugins = stage.plugins, .defaults = stage.defaults, .n_defaults = n};
    return &stage.registry;
}

void puppet_scene(struct fixture *f, size_t nodes)
{
    fixture_init(f, NULL, puppet_registry());
    for (size_t i = 0; i < nodes; i++)
        ADD_NODE(f, .name = textf("n%zu", i), .cpu = "4", .memory = "8Gi");
}

void assert_told(struct fixture *f, const char *pod, const char *reason, const char *message)
{
    const struct fixture_write *w = fixture_last(f, WRITE_POD_STATUS, pod);
    assert_non_null(w);
    assert_string_equal(w->message, message);
    assert_string_equal(w->reason, reason);
}

void assert_on(const struct fixture *f, const char *pod, const char *node)
{
    const char *got = fixture_node_of(f, pod);
    if (!node)
        assert_null(got);
    else if (!got || strcmp(got, node) != 0)
        fail_msg("%s is on %s, expected %s", pod, got ? got : "no node", node);
}

const char *puppet_calls(unsigned points)
{
    size_t at = 0;
    stage.text[0] = '\0';
    for (size_t i = 0; i < stage.calls.n && at < sizeof(stage.text); i++) {
        const struct call_record *c = &stage.calls.v[i];
        if (points >> c->point & 1)
            at += (size_t)snprintf(stage.text + at, sizeof(stage.text) - at, "%s%s.%s%s",
                                   at ? " " : "", c->puppet->name, point_names[c->point], c->node);
    }
    return stage.text;
}

size_t puppet_count(unsigned points)
{
    size_t n = 0;
    for (size_t i = 0; i < stage.calls.n; i++)
        n += points >> stage.calls.v[i].point & 1;
    return n;
}

void puppet_forget_calls(void)
{
    vec_clear(&stage.calls);
}
