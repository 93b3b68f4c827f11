/* SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "api/pod.h"
#include "base/time.h"
#include "engine/rooms.h"
#include "plugins/registry.h"

static int64_t port_now(void *ctx)
{
    struct fixture *f = ctx;
    return f->now += f->step;
}

static void port_submit(void *ctx, const struct write *write)
{
    struct fixture *f = ctx;
    vec_push(&f->writes,
             (struct fixture_write){.kind = write->kind,
                                    .id = write->id,
                                    .pod = object_ref(write->object),
                                    .related = write->related ? object_ref(write->related) : NULL,
                                    .action = str_dup(write->action),
                                    .node = str_dup(write->node_name),
                                    .reason = str_dup(write->reason),
                                    .message = str_dup(write->message),
                                    .warning = write->warning,
                                    .scheduled = write->scheduled,
                                    .sets_nomination = write->sets_nomination,
                                    .sets_condition = write->sets_condition});
}

static void port_decided(void *ctx, const struct decision *d)
{
    struct fixture *f = ctx;
    struct str name = object_meta(d->pod)->name;
    vec_push(&f->decisions, d->bound
                                ? xasprintf("%.*s -> %.*s", STR_ARG(name), STR_ARG(d->node_name))
                                : xasprintf("%.*s: %.*s", STR_ARG(name), STR_ARG(d->message)));
}

static void port_call_extender(void *ctx, const struct extender_call *call)
{
    struct fixture *f = ctx;
    struct buf nodes = BUF_INIT;
    for (size_t i = 0; i < call->n_nodes; i++) {
        if (call->nodes)
            assert_true(str_eq(object_meta(call->nodes[i])->name, call->node_names[i]));
        buf_add_printf(&nodes, "%s%.*s", i ? " " : "", STR_ARG(call->node_names[i]));
    }
    for (size_t i = 0; i < call->n_victims; i++) {
        const struct extender_victims *v = &call->victims[i];
        buf_add_printf(&nodes, "%s%.*s:", i ? " " : "", STR_ARG(v->node_name));
        for (size_t k = 0; k < v->n_pods; k++)
            buf_add_printf(&nodes, "%s%.*s", k ? "," : "", STR_ARG(object_meta(v->pods[k])->name));
        buf_add_printf(&nodes, ":%lld", (long long)v->pdb_violations);
    }
    vec_push(&f->calls, (struct fixture_call){.id = call->id,
                                              .extender = call->extender,
                                              .verb = call->verb,
                                              .pod = object_ref(call->pod),
                                              .nodes = str_dup(buf_str(&nodes))});
    buf_release(&nodes);
}

static void port_call_api(void *ctx, uint64_t id, const struct berth_api_call *call)
{
    static const char *const verbs[] = {"GET", "CREATE", "PATCH", "DELETE"};
    struct fixture *f = ctx;
    struct buf line = BUF_INIT;
    buf_add_printf(&line, "%s %.*s", verbs[call->verb], STR_ARG(str_abi(call->resource)));
    if (call->subresource.n)
        buf_add_printf(&line, "/%.*s", STR_ARG(str_abi(call->subresource)));
    buf_add_printf(&line, " %.*s%s%.*s", STR_ARG(str_abi(call->namespace_name)),
                   call->namespace_name.n ? "/" : "", STR_ARG(str_abi(call->name)));
    vec_push(&f->requests, (struct fixture_request){.id = id,
                                                    .line = buf_take(&line),
                                                    .body = str_dup(str_abi(call->body))});
}

/* "3 Message key=value key=value", "E Message …" */
static void port_log(void *ctx, const struct log_site *site, const char *message,
                     const struct log_kv *kvs, size_t n)
{
    struct fixture *f = ctx;
    struct buf line = BUF_INIT;
    if (site->severity == LOG_INFO)
        buf_add_printf(&line, "%d %s", site->level, message);
    else
        buf_add_printf(&line, "E %s", message);
    for (size_t i = 0; i < n; i++) {
        buf_add_printf(&line, " %s=", kvs[i].key);
        if (kvs[i].kind == LOG_KV_INT)
            buf_add_printf(&line, "%lld", (long long)kvs[i].i);
        else if (kvs[i].kind == LOG_KV_REF)
            buf_add_printf(&line, "%.*s/%.*s", STR_ARG(kvs[i].namespace), STR_ARG(kvs[i].name));
        else
            buf_add_str(&line, kvs[i].str);
    }
    vec_push(&f->logs, buf_take(&line));
}

static void port_retired(void *ctx, void *owner)
{
    struct fixture *f = ctx;
    vec_push(&f->retired, owner);
}

static void port_work(void *ctx, struct engine_work *work)
{
    struct fixture *f = ctx;
    vec_push(&f->works, work);
}

static void port_post(void *ctx, struct engine_post *post)
{
    struct fixture *f = ctx;
    vec_push(&f->posts, post);
}

static bool port_is_engine_thread(void *ctx)
{
    return !((const struct fixture *)ctx)->foreign;
}

static void port_http_get(void *ctx, uint64_t id, const struct berth_http_get *get)
{
    struct fixture *f = ctx;
    vec_push(&f->gets, xasprintf("%llu %.*s", (unsigned long long)id, BERTH_STR_ARG(get->url)));
}

static void port_watch(void *ctx, const struct kind *kind)
{
    struct fixture *f = ctx;
    vec_push(&f->watched, kind);
}

static bool port_leads(void *ctx)
{
    (void)ctx;
    return true;
}

void fixture_init_parts(struct fixture *f, const struct fixture_parts *parts)
{
    struct err err = {0};
    *f = (struct fixture){.now = 1000 * NSEC_PER_SEC};
    arena_init(&f->arena, 0);
    config_default(&f->config, &f->arena);
    if (parts->config &&
        config_load("test", str_of(parts->config), &f->arena, &f->config, &err) < 0)
        fail_msg("%s", err.msg);
    f->metrics = parts->uncounted ? NULL : metrics_new();
    struct features features;
    features_default(&features);
    if (parts->gates && features_parse(&features, str_of(parts->gates), &err) < 0)
        fail_msg("%s", err.msg);
    struct engine_options options = {
        .config = &f->config,
        .features = &features,
        .registry = parts->registry ? parts->registry : &in_tree_registry,
        .metrics = f->metrics,
        .seed = 7,
        .extenders = parts->extenders,
        .n_extenders = parts->n_extenders,
        .ports = {.ctx = f,
                  .now = port_now,
                  .submit = port_submit,
                  .call_extender = port_call_extender,
                  .http_get = port_http_get,
                  .watch = port_watch,
                  .leads = parts->leads ? port_leads : NULL,
                  .post = port_post,
                  .is_engine_thread = port_is_engine_thread,
                  .work = parts->workers ? port_work : NULL,
                  .call_api = port_call_api,
                  .decided = port_decided,
                  .retired = port_retired,
                  .log = port_log,
                  .pool = parts->pool},
    };
    if (engine_new(&options, &f->engine, &err) < 0)
        fail_msg("%s", err.msg);
}

void fixture_init(struct fixture *f, const char *config, const struct registry *registry)
{
    fixture_init_parts(f, &(struct fixture_parts){.config = config, .registry = registry});
}

void fixture_init_pool(struct fixture *f, const char *config, const struct registry *registry,
                       struct pool *pool)
{
    fixture_init_parts(
        f, &(struct fixture_parts){.config = config, .registry = registry, .pool = pool});
}

void fixture_init_extenders(struct fixture *f, const struct registry *registry,
                            const struct extender *extenders, size_t n)
{
    fixture_init_parts(
        f, &(struct fixture_parts){.registry = registry, .extenders = extenders, .n_extenders = n});
}

void fixture_init_features(struct fixture *f, const char *config, const char *gates)
{
    fixture_init_parts(f, &(struct fixture_parts){.config = config, .gates = gates});
}

void fixture_init_uncounted(struct fixture *f, const char *config, const struct registry *registry)
{
    fixture_init_parts(
        f, &(struct fixture_parts){.config = config, .registry = registry, .uncounted = true});
}

double fixture_metric(struct fixture *f, const char *series)
{
    series = json_quotes(series);
    struct buf page = BUF_INIT;
    size_t n = strlen(series);
    double value = NAN;
    f->engine->framework.metrics->published = 0; /* publish now, whenever the last time was */
    engine_publish_metrics(f->engine);
    metrics_write(f->metrics, &page);
    for (const char *line = buf_cstr(&page); *line; line = strchr(line, '\n') + 1)
        if (strncmp(line, series, n) == 0 && line[n] == ' ')
            value = strtod(line + n, NULL);
    buf_release(&page);
    return value;
}

struct berth_handle *fixture_handle(struct fixture *f)
{
    return f->engine->framework.setup->profiles.v[0]->instances.v[0];
}

void fixture_release(struct fixture *f)
{
    for (size_t i = 0; i < f->works.n; i++)
        engine_work_drop(f->works.v[i]);
    for (size_t i = 0; i < f->posts.n; i++)
        engine_post_free(f->posts.v[i]);
    for (size_t i = 0; i < f->gets.n; i++)
        free(f->gets.v[i]);
    vec_release(&f->works);
    vec_release(&f->posts);
    vec_release(&f->gets);
    vec_release(&f->watched);
    engine_free(f->engine);
    metrics_free(f->metrics);
    for (size_t i = 0; i < f->requests.n; i++) {
        free(f->requests.v[i].line);
        free(f->requests.v[i].body);
    }
    vec_release(&f->requests);
    for (size_t i = 0; i < f->writes.n; i++) {
        struct fixture_write *w = &f->writes.v[i];
        object_unref(w->pod);
        object_unref(w->related);
        free(w->action);
        free(w->node);
        free(w->reason);
        free(w->message);
    }
    vec_release(&f->writes);
    for (size_t i = 0; i < f->calls.n; i++) {
        object_unref(f->calls.v[i].pod);
        free(f->calls.v[i].nodes);
    }
    vec_release(&f->calls);
    for (size_t i = 0; i < f->logs.n; i++)
        free(f->logs.v[i]);
    vec_release(&f->logs);
    for (size_t i = 0; i < f->decisions.n; i++)
        free(f->decisions.v[i]);
    vec_release(&f->decisions);
    vec_release(&f->retired);
    arena_release(&f->arena);
}

/* --- events ----------------------------------------------------------------------------------- */

void fixture_add(struct fixture *f, struct object *o)
{
    engine_object_changed(f->engine, NULL, o);
    object_unref(o);
    f->now++;
}

void fixture_update(struct fixture *f, struct object *before, struct object *after)
{
    engine_object_changed(f->engine, before, after);
    object_unref(before);
    object_unref(after);
    f->now++;
}

void fixture_delete(struct fixture *f, struct object *o)
{
    engine_object_changed(f->engine, o, NULL);
    object_unref(o);
    f->now++;
}

void fixture_answer_statuses(struct fixture *f)
{
    static const struct write_result ok = {.status = 200};
    for (; f->n_looked < f->writes.n; f->n_looked++) {
        struct fixture_write *w = &f->writes.v[f->n_looked];
        if (w->kind != WRITE_POD_STATUS || !w->sets_condition || !w->id || w->answered)
            continue;
        w->answered = true;
        engine_write_done(f->engine, w->id, &ok);
    }
}

void fixture_schedule(struct fixture *f)
{
    while (engine_schedule_one(f->engine)) {
        f->now++;
        if (!f->slow_status)
            fixture_answer_statuses(f);
    }
}

void fixture_pass(struct fixture *f, int64_t ns)
{
    f->now += ns;
    engine_tick(f->engine);
}

static struct fixture_write *find(struct fixture *f, enum write_kind kind, const char *pod,
                                  bool open_only)
{
    for (size_t i = f->writes.n; i-- > 0;) {
        struct fixture_write *w = &f->writes.v[i];
        if (w->kind == kind && str_is(object_meta(w->pod)->name, pod) &&
            !(open_only && w->answered) && (kind != WRITE_POD_STATUS || w->sets_condition))
            return w;
    }
    return NULL;
}

struct fixture_write *fixture_binding(struct fixture *f, const char *pod)
{
    return find(f, WRITE_BINDING, pod, true);
}

const char *fixture_evict(struct fixture *f)
{
    static char text[1024];
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < f->writes.n; i++) {
        struct fixture_write *w = &f->writes.v[i];
        if (w->kind != WRITE_EVICTION || w->answered)
            continue;
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%.*s", at ? " " : "",
                               STR_ARG(object_meta(w->pod)->name));
        fixture_answer(f, w, 200, "");
    }
    return text;
}

void fixture_add_budget(struct fixture *f, const char *app, int disruptions_allowed)
{
    fixture_add(f, POD_DISRUPTION_BUDGET(.name = app, .selector = textf("app=%s", app),
                                         .allowed = disruptions_allowed));
}

struct fixture_write *fixture_eviction(struct fixture *f, const char *pod)
{
    return find(f, WRITE_EVICTION, pod, true);
}

struct fixture_write *fixture_last(struct fixture *f, enum write_kind kind, const char *pod)
{
    return find(f, kind, pod, false);
}

/* The pod as the watch would show it once it is bound. */
static struct object *bound(const struct object *pod, const char *node)
{
    struct buf bytes = BUF_INIT;
    struct wire wire = {.kind = kind_get(KIND_POD), .encoding = ENCODING_PROTO};
    struct object *o = NULL;
    object_encode(wire.kind, object_body(pod), wire.encoding, &bytes);
    if (object_decode(&wire, buf_str(&bytes), &o, NULL) < 0)
        fail_msg("a pod does not survive its encoding");
    buf_release(&bytes);
    struct pod *body = object_body_mut(o);
    body->spec.node_name = arena_dup(object_arena(o), str_of(node));
    return o;
}

void fixture_answer(struct fixture *f, struct fixture_write *w, int status, const char *message)
{
    assert_non_null(w);
    assert_false(w->answered);
    w->answered = true;
    struct object *before = object_ref(w->pod);
    struct object *after = status == 201 ? bound(w->pod, w->node) : NULL;
    struct write_result result = {.status = status, .message = str_of(message)};
    bool gone = status == 200 && w->kind == WRITE_EVICTION;
    engine_write_done(f->engine, w->id, &result); /* may submit more writes and so invalidate w */
    if (after || gone)
        engine_object_changed(f->engine, before, after);
    object_unref(before);
    object_unref(after);
    f->now++;
}

struct fixture_call *fixture_call(struct fixture *f)
{
    for (size_t i = 0; i < f->calls.n; i++)
        if (!f->calls.v[i].answered)
            return &f->calls.v[i];
    return NULL;
}

void fixture_extender_done(struct fixture *f, struct fixture_call *call,
                           const struct extender_result *result)
{
    assert_non_null(call);
    assert_false(call->answered);
    call->answered = true;
    engine_extender_done(f->engine, call->id, result);
    f->now++;
}

struct fixture_request *fixture_request(struct fixture *f)
{
    for (size_t i = 0; i < f->requests.n; i++)
        if (!f->requests.v[i].answered)
            return &f->requests.v[i];
    return NULL;
}

void fixture_request_done(struct fixture *f, struct fixture_request *request, int status,
                          const char *reason, struct object *object)
{
    assert_non_null(request);
    assert_false(request->answered);
    struct berth_api_result result = {.struct_size = sizeof(result),
                                      .status = status,
                                      .reason = abi_str(str_of(reason)),
                                      .message = abi_str(str_of(reason)),
                                      .object = object ? object_abi(object) : NULL};
    request->answered = true;
    engine_api_done(f->engine, request->id, &result);
    object_unref(object);
    f->now++;
}

int fixture_reload(struct fixture *f, const struct fixture_reload *reload,
                   struct reload_result *ret_result, struct err *reterr)
{
    struct scheduler_config *config = arena_new(&f->arena, struct scheduler_config);
    struct err err = {0};
    config_default(config, &f->arena);
    if (reload->config && config_load("test", str_of(reload->config), &f->arena, config, &err) < 0)
        fail_msg("%s", err.msg);
    struct engine_options options = {
        .config = config,
        .registry = reload->registry ? reload->registry : &in_tree_registry,
        .extenders = reload->extenders,
        .n_extenders = reload->n_extenders,
        .owner = reload->owner,
        .ports = {.call_extender = port_call_extender, .pool = reload->pool},
    };
    return engine_reload(f->engine, &options, ret_result, reterr);
}

void fixture_settle(struct fixture *f)
{
    bool busy = true;
    while (busy) {
        fixture_schedule(f);
        busy = false;
        for (size_t i = 0; i < f->writes.n; i++)
            if (f->writes.v[i].kind == WRITE_BINDING && !f->writes.v[i].answered) {
                fixture_answer(f, &f->writes.v[i], 201, "");
                busy = true;
            }
    }
}

const char *fixture_node_of(const struct fixture *f, const char *pod)
{
    for (size_t i = f->decisions.n; i-- > 0;) {
        struct str text = str_of(f->decisions.v[i]);
        size_t at = str_search(text, STR(" -> "));
        if (at < text.n && str_is(str_slice(text, 0, at), pod))
            return f->decisions.v[i] + at + 4;
    }
    return NULL;
}
