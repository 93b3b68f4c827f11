/* SPDX-License-Identifier: Apache-2.0 */
#include "workload_host.h"

#include "base/time.h"

struct host_write {
    int party; /* 0: workloads, 1: kubelets */
    struct writer_request request;
    struct arena arena;
};

/* --- requests --------------------------------------------------------------------------------- */

static struct str quoted(struct arena *a, const char *json)
{
    struct str s = arena_dup(a, str_of(json));
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '\'')
            ((char *)(uintptr_t)s.p)[i] = '"';
    return s;
}

static int serve(struct host *h, struct api_request *r, struct str body)
{
    struct json_value tree;
    struct api_response response;
    struct err err = {0};
    if (body.n && json_parse(body, 0, &h->request, &tree, &err) < 0) {
        fprintf(stderr, "not JSON: %.*s\n", STR_ARG(body));
        abort();
    }
    r->body = body.n ? &tree : NULL;
    r->now = h->now;
    r->arena = &h->request;
    int code = registry_serve(h->reg, r, &response);
    if (h->trace && code >= 400)
        fprintf(stderr, "    %.*s\n", STR_ARG(response.status.message));
    registry_response_release(&response);
    return code;
}

static const struct resource *resource_of(struct host *h, struct str what)
{
    struct str plural, group = what;
    str_split(&group, '.', &plural);
    const struct resource *r =
        resources_named(registry_resources(h->reg), group.p ? group : STR(""), plural);
    if (!r) {
        fprintf(stderr, "no resource %.*s\n", STR_ARG(what));
        abort();
    }
    return r;
}

static int request(struct host *h, enum api_verb verb, const char *what, const char *sub,
                   const char *json)
{
    struct str name = str_of(what), resource;
    str_split(&name, ' ', &resource);
    arena_reset(&h->request);
    struct api_request r = {.verb = verb, .name = name.p ? name : STR("")};
    r.resource = resource_of(h, resource);
    r.subresource = str_of(sub);
    r.namespace = r.resource->namespaced ? STR("default") : STR("");
    return serve(h, &r, json ? quoted(&h->request, json) : STR(""));
}

int host_create(struct host *h, const char *what, const char *json)
{
    return request(h, API_CREATE, what, "", json);
}
int host_patch(struct host *h, const char *what, const char *json)
{
    return request(h, API_PATCH_MERGE, what, "", json);
}
int host_patch_status(struct host *h, const char *what, const char *json)
{
    return request(h, API_PATCH_MERGE, what, "status", json);
}
int host_delete(struct host *h, const char *what)
{
    return request(h, API_DELETE, what, "", NULL);
}

/* --- reading ---------------------------------------------------------------------------------- */

static const struct json_value *parse(struct host *h, const struct revision *rev)
{
    struct json_value *v = arena_new(&h->arena, struct json_value);
    struct err err = {0};
    if (json_parse(rev->text, 0, &h->arena, v, &err) < 0)
        abort();
    return v;
}

const struct json_value *host_get(struct host *h, const char *what)
{
    struct str name = str_of(what), resource;
    str_split(&name, ' ', &resource);
    const struct resource *r = resource_of(h, resource);
    const struct revision *rev = store_get(registry_store(h->reg), resource_stored(r),
                                           r->namespaced ? STR("default") : STR(""), name);
    return rev ? parse(h, rev) : NULL;
}

static const char *text_of(struct host *h, const struct json_value *v)
{
    struct buf b = BUF_INIT;
    if (!v)
        return "";
    if (v->kind == JSON_STRING || v->kind == JSON_NUMBER)
        buf_add_str(&b, v->text);
    else
        json_write(v, &b);
    const char *text = arena_dup(&h->arena, buf_str(&b)).p;
    buf_release(&b);
    return text;
}

const char *host_at(struct host *h, const char *what, const char *path)
{
    const struct json_value *v = host_get(h, what);
    return v ? text_of(h, json_at(v, path)) : "";
}

const char *host_condition(struct host *h, const char *what, const char *type)
{
    const struct json_value *v = host_get(h, what);
    struct json_items list = json_items_at(v, "status.conditions");
    for (size_t i = 0; i < list.n; i++)
        if (str_is(json_get_text(&list.v[i], STR("type")), type))
            return arena_printf(&h->arena, "%.*s %.*s",
                                STR_ARG(json_get_text(&list.v[i], STR("status"))),
                                STR_ARG(json_get_text(&list.v[i], STR("reason"))))
                .p;
    return "";
}

size_t host_count(struct host *h, const char *resource, const char *path, const char *value)
{
    struct snapshot *s = store_snapshot(registry_store(h->reg));
    struct store_range range;
    const struct revision *rev;
    size_t n = 0;
    store_range_init(&range, s, resource_stored(resource_of(h, str_of(resource))), STR(""), NULL);
    while ((rev = store_range_next(&range)))
        n += !value || strcmp(text_of(h, json_at(parse(h, rev), path)), value) == 0;
    snapshot_unref(s);
    return n;
}

const char *host_names(struct host *h, const char *resource)
{
    struct snapshot *s = store_snapshot(registry_store(h->reg));
    struct store_range range;
    const struct revision *rev;
    struct buf b = BUF_INIT;
    store_range_init(&range, s, resource_stored(resource_of(h, str_of(resource))), STR(""), NULL);
    while ((rev = store_range_next(&range)))
        buf_add_printf(&b, "%s%.*s", b.n ? " " : "", STR_ARG(rev->name));
    const char *text = arena_dup(&h->arena, buf_str(&b)).p;
    buf_release(&b);
    snapshot_unref(s);
    return text ? text : "";
}

bool host_has_event(struct host *h, const char *reason, const char *message)
{
    struct snapshot *s = store_snapshot(registry_store(h->reg));
    struct store_range range;
    const struct revision *rev;
    bool found = false;
    store_range_init(&range, s, resource_stored(resource_of(h, STR("events"))), STR(""), NULL);
    while (!found && (rev = store_range_next(&range))) {
        const struct json_value *v = parse(h, rev);
        struct str text = json_text_at(v, "message");
        if (text.n == 0)
            text = json_text_at(v, "note");
        found = str_is(json_text_at(v, "reason"), reason) && str_is(text, message);
    }
    snapshot_unref(s);
    return found;
}

/* --- the parties ------------------------------------------------------------------------------ */

static void queue_write(struct host *h, int party, const struct writer_request *request)
{
    struct host_write *p = xnew(struct host_write);
    arena_init(&p->arena, 0);
    p->party = party;
    p->request = *request;
    struct str *texts[] = {&p->request.group,     &p->request.plural, &p->request.subresource,
                           &p->request.namespace, &p->request.name,   &p->request.body};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        *texts[i] = arena_dup(&p->arena, *texts[i]);
    vec_push(&h->writes, p);
}

static void workloads_write(void *ctx, const struct writer_request *request)
{
    queue_write(ctx, 0, request);
}
static void kubelets_write(void *ctx, const struct writer_request *request)
{
    queue_write(ctx, 1, request);
}

static void add_load(struct host *h, struct str node, int by)
{
    uint64_t i;
    if (str_to_u64(str_slice(node, 5, node.n), &i) && i < HOST_MAX_NODES)
        h->load[i] += (size_t)by;
}

static void changed(void *ctx, const struct store_event *event)
{
    struct host *h = ctx;
    const struct resource *r = event->after->resource;
    if (h->trace)
        fprintf(stderr, "%lld %s %.*s %.*s\n", (long long)((h->now / NSEC_PER_MSEC) % 100000000),
                event->change == STORE_ADDED      ? "added"
                : event->change == STORE_MODIFIED ? "modified"
                                                  : "deleted",
                STR_ARG(r->plural), STR_ARG(event->after->name));
    if (str_is(r->plural, "events"))
        h->n_events++;
    if (str_is(r->plural, "pods")) {
        struct str was =
            event->before ? revision_field(event->before, STR("spec.nodeName")) : STR("");
        struct str is = revision_field(event->after, STR("spec.nodeName"));
        if (was.n && event->change == STORE_DELETED)
            add_load(h, was, -1);
        if (is.n && !was.n && event->change != STORE_DELETED)
            add_load(h, is, 1);
    }
    workloads_changed(h->w, event);
    kubelets_changed(h->k, event);
    if (h->observe)
        h->observe(h, event);
}

void host_begin(struct host *h)
{
    *h = (struct host){.now = (int64_t)1700000000 * NSEC_PER_SEC};
    arena_init(&h->arena, 0);
    arena_init(&h->request, 0);
    h->trace = getenv("HOST_TRACE");
    struct registry_options options = {
        .store = {.changed = changed, .ctx = h}, .seed = 7, .without_admission = true};
    h->reg = registry_new(&options);
    struct workloads_options wo = {
        .writer = {h, workloads_write}, .store = registry_store(h->reg), .seed = 3};
    h->w = workloads_new(&wo);
    struct kubelets_options ko = {.writer = {h, kubelets_write}, .without_leases = true, .seed = 5};
    h->k = kubelets_new(&ko);
    request(h, API_CREATE, "namespaces", "", "{'metadata':{'name':'default'}}");
}

static void free_write(struct host_write *p)
{
    arena_release(&p->arena);
    free(p);
}

void host_end(struct host *h)
{
    for (size_t i = 0; i < h->writes.n; i++)
        free_write(h->writes.v[i]);
    vec_release(&h->writes);
    workloads_free(h->w);
    kubelets_free(h->k);
    registry_free(h->reg);
    arena_release(&h->arena);
    arena_release(&h->request);
}

void host_add_nodes(struct host *h, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *json = xasprintf(
            "{'metadata':{'name':'node-%zu','labels':{'kubernetes.io/hostname':'node-%zu','zone':"
            "'z%zu'}},'status':{'capacity':{'pods':'1000'},'allocatable':{'pods':'1000'}}}",
            h->n_nodes, h->n_nodes, h->n_nodes % 3);
        int code = request(h, API_CREATE, "nodes", "", json);
        if (code != 201)
            abort();
        free(json);
        h->n_nodes++;
    }
}

/* --- the scheduler ---------------------------------------------------------------------------- */

/* The node that a pod of a DaemonSet must run on. */
static struct str affinity_node(const struct json_value *pod)
{
    struct json_items terms = json_items_at(
        pod, "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
             "nodeSelectorTerms");
    struct json_items fields = json_items_at(terms.n ? &terms.v[0] : NULL, "matchFields");
    struct json_items values = json_items_at(fields.n ? &fields.v[0] : NULL, "values");
    return values.n ? values.v[0].text : STR("");
}

static struct str choose(struct host *h, const struct json_value *pod, struct arena *a)
{
    struct str node = affinity_node(pod);
    if (node.n)
        return node;
    static const struct resource nodes = {.plural = STR_INIT("nodes")};
    struct str best = STR("");
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < h->n_nodes; i++) {
        struct str name = arena_printf(a, "node-%zu", i);
        size_t n = h->load[i];
        if ((h->per_node && n >= h->per_node) || n >= least ||
            !store_get(registry_store(h->reg), &nodes, STR(""), name))
            continue;
        best = name;
        least = n;
    }
    return best;
}

static bool bind_pods(struct host *h)
{
    static const struct resource pods = {.plural = STR_INIT("pods")};
    struct snapshot *s = store_snapshot(registry_store(h->reg));
    struct store_range range;
    const struct revision *rev;
    struct arena a;
    bool any = false;
    arena_init(&a, 0);
    store_range_init(&range, s, &pods, STR(""), NULL);
    while ((rev = store_range_next(&range))) {
        struct json_value pod;
        arena_reset(&a);
        if (json_parse(rev->text, 0, &a, &pod, NULL) < 0)
            abort();
        struct str node = choose(h, &pod, &a);
        if (!node.n || json_text_at(&pod, "spec.nodeName").n ||
            json_text_at(&pod, "metadata.deletionTimestamp").n)
            continue;
        char *what = xasprintf("pods %.*s", STR_ARG(rev->name));
        if (h->fail_every && h->n_bound++ % h->fail_every == 0)
            host_patch(h, what, "{'metadata':{'annotations':{'berth.dev/exit-code':'1'}}}");
        char *json =
            xasprintf("{'metadata':{'name':'%.*s'},'target':{'kind':'Node','name':'%.*s'}}",
                      STR_ARG(rev->name), STR_ARG(node));
        any |= request(h, API_CREATE, what, "binding", json) < 300;
        free(what);
        free(json);
    }
    arena_release(&a);
    snapshot_unref(s);
    return any;
}

/* --- time ------------------------------------------------------------------------------------- */

static int serve_write(struct host *h, const struct writer_request *q)
{
    static const enum api_verb verbs[] = {API_CREATE, API_UPDATE, API_PATCH_MERGE, API_DELETE};
    arena_reset(&h->request);
    struct api_request r = {
        .verb = verbs[q->verb],
        .resource = resources_named(registry_resources(h->reg), q->group, q->plural),
        .subresource = q->subresource,
        .namespace = q->namespace,
        .name = q->verb == WRITER_CREATE && !q->subresource.n ? STR("") : q->name};
    if (!r.resource)
        abort();
    return serve(h, &r, q->body);
}

static void serve_next(struct host *h)
{
    size_t i = h->faults ? rand_below(h->faults, h->writes.n) : 0;
    struct host_write *p = h->writes.v[i];
    vec_remove(&h->writes, i);
    uint64_t fault = h->faults ? rand_below(h->faults, 25) : 99;
    int status = 500;
    if (fault != 0)
        status = serve_write(h, &p->request);
    h->n_writes++;
    h->n_controller_writes += p->party == 0;
    h->n_failed += status >= 400;
    if (h->trace)
        fprintf(stderr, "%lld %d party %d verb %d %.*s %.*s %.*s\n",
                (long long)((h->now / NSEC_PER_MSEC) % 100000000), status, p->party,
                p->request.verb, STR_ARG(p->request.plural), STR_ARG(p->request.subresource),
                STR_ARG(p->request.name));
    if (fault == 1)
        status = 0; /* the answer is lost */
    if (p->party == 0)
        workloads_write_done(h->w, p->request.id, status, h->now);
    else
        kubelets_write_done(h->k, p->request.id, status, h->now);
    free_write(p);
}

void host_run_for(struct host *h, int64_t duration)
{
    int64_t until = h->now + duration;
    for (size_t steps = 0; steps < 5000000; steps++) {
        workloads_run(h->w, h->now);
        kubelets_run(h->k, h->now);
        if (h->writes.n) {
            size_t n = h->faults ? 1 : h->writes.n;
            while (n-- && h->writes.n)
                serve_next(h);
            continue;
        }
        if (!h->without_scheduler && bind_pods(h))
            continue;
        int64_t next = MIN(workloads_next(h->w), kubelets_next(h->k));
        if (next > until) {
            h->now = until;
            registry_tick(h->reg, h->now);
            return;
        }
        h->now = MAX(h->now, next);
        registry_tick(h->reg, h->now);
    }
    fprintf(stderr, "does not come to rest\n");
    abort();
}

bool host_is_idle(struct host *h)
{
    size_t before = h->n_controller_writes;
    host_run_for(h, 1000 * NSEC_PER_SEC);
    return h->n_controller_writes == before;
}
