/* SPDX-License-Identifier: Apache-2.0 */
#include "model_world.h"

#include "base/time.h"
#include "codec/json_patch.h"

/* --- resources -------------------------------------------------------------------------------- */

#define RESOURCE(g, v, p, k, n)  \
    {.group = STR_INIT(g),       \
     .version = STR_INIT("v1"),  \
     .api_version = STR_INIT(v), \
     .plural = STR_INIT(p),      \
     .kind = STR_INIT(k),        \
     .namespaced = (n)}
static const struct resource resources[] = {
    RESOURCE("", "v1", "pods", "Pod", true),
    RESOURCE("", "v1", "nodes", "Node", false),
    RESOURCE("", "v1", "namespaces", "Namespace", false),
    RESOURCE("", "v1", "configmaps", "ConfigMap", true),
    RESOURCE("", "v1", "secrets", "Secret", true),
    RESOURCE("", "v1", "serviceaccounts", "ServiceAccount", true),
    RESOURCE("", "v1", "services", "Service", true),
    RESOURCE("", "v1", "endpoints", "Endpoints", true),
    RESOURCE("", "v1", "events", "Event", true),
    RESOURCE("", "v1", "resourcequotas", "ResourceQuota", true),
    RESOURCE("", "v1", "persistentvolumes", "PersistentVolume", false),
    RESOURCE("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true),
    RESOURCE("", "v1", "replicationcontrollers", "ReplicationController", true),
    RESOURCE("apps", "apps/v1", "replicasets", "ReplicaSet", true),
    RESOURCE("apps", "apps/v1", "deployments", "Deployment", true),
    RESOURCE("apps", "apps/v1", "statefulsets", "StatefulSet", true),
    RESOURCE("apps", "apps/v1", "daemonsets", "DaemonSet", true),
    RESOURCE("apps", "apps/v1", "controllerrevisions", "ControllerRevision", true),
    RESOURCE("batch", "batch/v1", "jobs", "Job", true),
    RESOURCE("batch", "batch/v1", "cronjobs", "CronJob", true),
    RESOURCE("policy", "policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", true),
    RESOURCE("coordination.k8s.io", "coordination.k8s.io/v1", "leases", "Lease", true),
    RESOURCE("discovery.k8s.io", "discovery.k8s.io/v1", "endpointslices", "EndpointSlice", true),
    RESOURCE("storage.k8s.io", "storage.k8s.io/v1", "storageclasses", "StorageClass", false),
    RESOURCE("resource.k8s.io", "resource.k8s.io/v1", "resourceclaims", "ResourceClaim", true),
    RESOURCE("resource.k8s.io", "resource.k8s.io/v1", "resourceclaimtemplates",
             "ResourceClaimTemplate", true),
};

static const struct resource *by_plural(struct str group, struct str plural)
{
    for (size_t i = 0; i < ARRAY_LEN(resources); i++)
        if (str_eq(resources[i].group, group) && str_eq(resources[i].plural, plural))
            return &resources[i];
    return NULL;
}

static const struct resource *by_kind(struct str api_version, struct str kind)
{
    for (size_t i = 0; i < ARRAY_LEN(resources); i++)
        if (str_eq(resources[i].api_version, api_version) && str_eq(resources[i].kind, kind))
            return &resources[i];
    return NULL;
}

/* --- objects ---------------------------------------------------------------------------------- */

struct world_object {
    struct revision *rev;
    char key[];
};

struct world_write {
    uint64_t id;
    size_t party;
    struct writer_request request;
    struct arena arena;
};

static struct str key_of(struct world *m, const struct resource *r, struct str ns, struct str name)
{
    return arena_printf(&m->arena, "%.*s/%.*s %.*s/%.*s", STR_ARG(r->group), STR_ARG(r->plural),
                        STR_ARG(ns), STR_ARG(name));
}

static struct json_value *parse(struct world *m, struct str text)
{
    struct json_value *v = arena_new(&m->arena, struct json_value);
    struct err err = {0};
    if (json_parse(text, 0, &m->arena, v, &err) < 0) {
        fprintf(stderr, "model: not JSON: %.*s\n", STR_ARG(text));
        abort();
    }
    return v;
}

static struct revision *find(struct world *m, const struct resource *r, struct str ns,
                             struct str name)
{
    struct world_object *o = map_get(&m->objects, key_of(m, r, ns, name));
    return o ? o->rev : NULL;
}

static struct revision *make_revision(struct world *m, const struct resource *r,
                                      struct json_value *object)
{
    struct store_pair labels[64], fields[2];
    size_t n = 0;
    const struct json_value *map = json_at(object, "metadata.labels");
    for (size_t i = 0; map && i < map->n_members && n < ARRAY_LEN(labels); i++)
        labels[n++] = (struct store_pair){map->members[i].key, map->members[i].value.text};
    fields[0] = (struct store_pair){STR("spec.nodeName"), json_text_at(object, "spec.nodeName")};
    json_set_at(object, "metadata.resourceVersion",
                json_text(arena_printf(&m->arena, "%llu", (unsigned long long)++m->version)),
                &m->arena);
    struct buf text = BUF_INIT;
    json_write(object, &text);
    struct revision_source source = {.resource = r,
                                     .namespace = json_text_at(object, "metadata.namespace"),
                                     .name = json_text_at(object, "metadata.name"),
                                     .version = m->version,
                                     .text = buf_str(&text),
                                     .labels = labels,
                                     .fields = fields,
                                     .n_labels = n,
                                     .n_fields = str_is(r->plural, "pods")};
    struct revision *rev = revision_new(&source);
    buf_release(&text);
    return rev;
}

static void changed(struct world *m, enum store_change change, struct revision *before,
                    struct revision *after)
{
    vec_push(&m->events, (struct store_event){change, before ? revision_ref(before) : NULL,
                                              revision_ref(after)});
}

static void put(struct world *m, const struct resource *r, struct json_value *object)
{
    struct revision *rev = make_revision(m, r, object);
    struct str key = key_of(m, r, rev->namespace, rev->name);
    struct world_object *o = map_get(&m->objects, key);
    if (!o) {
        o = xcalloc(1, sizeof(*o) + key.n + 1);
        memcpy(o->key, key.p, key.n);
        map_put(&m->objects, (struct str){o->key, key.n}, o);
        changed(m, STORE_ADDED, NULL, rev);
    } else {
        changed(m, STORE_MODIFIED, o->rev, rev);
        revision_unref(o->rev);
    }
    o->rev = rev;
    if (m->observe)
        m->observe(m->observe_ctx, m);
}

static void erase(struct world *m, const struct resource *r, struct json_value *object)
{
    struct revision *rev = make_revision(m, r, object);
    struct world_object *o = map_del(&m->objects, key_of(m, r, rev->namespace, rev->name));
    changed(m, STORE_DELETED, o->rev, rev);
    revision_unref(rev);
    revision_unref(o->rev);
    free(o);
    if (m->observe)
        m->observe(m->observe_ctx, m);
}

/* --- writes ----------------------------------------------------------------------------------- */

static struct json_value now_text(struct world *m)
{
    struct buf b = BUF_INIT;
    timestamp_format(timestamp_of(m->now), 0, &b);
    struct str s = arena_dup(&m->arena, buf_str(&b));
    buf_release(&b);
    return json_text(s);
}

static int create(struct world *m, const struct resource *r, struct json_value *o)
{
    struct str ns = json_text_at(o, "metadata.namespace"), name = json_text_at(o, "metadata.name");
    if (str_empty(name))
        return 422;
    if (find(m, r, ns, name))
        return 409;
    if (r->namespaced && !str_is(ns, "default")) {
        struct revision *n = find(m, by_plural(STR(""), STR("namespaces")), STR(""), ns);
        if (!n)
            return 404;
        if (!str_empty(json_text_at(parse(m, n->text), "metadata.deletionTimestamp")))
            return 403;
    }
    json_set(o, STR("kind"), json_text(r->kind), &m->arena);
    json_set(o, STR("apiVersion"), json_text(r->api_version), &m->arena);
    json_set_at(o, "metadata.uid",
                json_text(arena_printf(&m->arena, "uid-%llu", (unsigned long long)++m->n_uids)),
                &m->arena);
    json_set_at(o, "metadata.creationTimestamp", now_text(m), &m->arena);
    json_set_at(o, "metadata.generation", json_int(1, &m->arena), &m->arena);
    if (str_is(r->plural, "pods") && str_empty(json_text_at(o, "status.phase")))
        json_set_at(o, "status.phase", json_text(STR("Pending")), &m->arena);
    if (str_is(r->plural, "namespaces")) {
        json_append(json_set_array(json_set_object(o, STR("spec"), &m->arena), STR("finalizers"),
                                   &m->arena),
                    json_text(STR("kubernetes")), &m->arena);
        json_set_at(o, "status.phase", json_text(STR("Active")), &m->arena);
    }
    put(m, r, o);
    return 201;
}

static bool has_finalizers(const struct resource *r, const struct json_value *o)
{
    const struct json_value *f = json_at(o, "metadata.finalizers");
    if (f && f->kind == JSON_ARRAY && f->n)
        return true;
    f = str_is(r->plural, "namespaces") ? json_at(o, "spec.finalizers") : NULL;
    return f && f->kind == JSON_ARRAY && f->n;
}

/* Stores the next state, or removes the object if nothing keeps it. */
static void settle(struct world *m, const struct resource *r, struct json_value *o)
{
    bool deleting = !str_empty(json_text_at(o, "metadata.deletionTimestamp"));
    if (deleting && !has_finalizers(r, o) &&
        json_int_at(o, "metadata.deletionGracePeriodSeconds", 0) == 0)
        erase(m, r, o);
    else
        put(m, r, o);
}

static int change(struct world *m, const struct resource *r, const struct writer_request *w)
{
    struct revision *rev = find(m, r, w->namespace, w->name);
    if (!rev)
        return 404;
    struct json_value *old = parse(m, rev->text), *patch = parse(m, w->body);
    struct json_value next;
    struct str expected = json_text_at(patch, "metadata.resourceVersion");
    if (!str_empty(expected) && !str_eq(expected, json_text_at(old, "metadata.resourceVersion")))
        return 409;
    struct str uid = json_text_at(patch, "metadata.uid");
    if (!str_empty(uid) && !str_eq(uid, json_text_at(old, "metadata.uid")))
        return 409;
    if (w->verb == WRITER_UPDATE)
        next = json_copy(patch, &m->arena);
    else
        json_patch_merge(old, patch, &m->arena, &next);
    next = json_copy(&next, &m->arena);
    bool status = str_is(w->subresource, "status");
    const char *kept = status ? "spec" : "status";
    if (str_empty(w->subresource) || status) {
        const struct json_value *v = json_get(old, str_of(kept));
        if (v)
            json_set(&next, str_of(kept), json_copy(v, &m->arena), &m->arena);
        else
            json_remove(&next, str_of(kept));
    }
    static const struct json_value none = {.kind = JSON_NULL};
    const struct json_value *a = json_get(old, STR("spec")), *b = json_get(&next, STR("spec"));
    if (!json_value_equal(a ? a : &none, b ? b : &none))
        json_set_at(&next, "metadata.generation",
                    json_int(json_int_at(old, "metadata.generation", 0) + 1, &m->arena), &m->arena);
    json_remove(json_member(&next, STR("metadata")), STR("resourceVersion"));
    struct json_value before = json_copy(old, &m->arena);
    json_remove(json_member(&before, STR("metadata")), STR("resourceVersion"));
    if (json_value_equal(&before, &next))
        return 200; /* nothing changes: no new version */
    settle(m, r, &next);
    return 200;
}

static void add_finalizer(struct world *m, struct json_value *o, const char *name)
{
    struct json_value *list =
        json_set_array(json_member(o, STR("metadata")), STR("finalizers"), &m->arena);
    for (size_t i = 0; i < list->n; i++)
        if (str_is(list->items[i].text, name))
            return;
    json_append(list, json_text(str_of(name)), &m->arena);
}

static int delete(struct world *m, const struct resource *r, const struct writer_request *w)
{
    struct revision *rev = find(m, r, w->namespace, w->name);
    if (!rev)
        return 404;
    struct json_value *o = parse(m, rev->text);
    struct json_value *options = str_empty(w->body) ? NULL : parse(m, w->body);
    struct str uid = json_text_at(options, "preconditions.uid");
    struct str version = json_text_at(options, "preconditions.resourceVersion");
    if ((!str_empty(uid) && !str_eq(uid, json_text_at(o, "metadata.uid"))) ||
        (!str_empty(version) && !str_eq(version, json_text_at(o, "metadata.resourceVersion"))))
        return 409;
    struct str policy = json_text_at(options, "propagationPolicy");
    if (str_is(policy, "Foreground"))
        add_finalizer(m, o, "foregroundDeletion");
    if (str_is(policy, "Orphan"))
        add_finalizer(m, o, "orphan");
    int64_t grace = json_int_at(options, "gracePeriodSeconds", -1);
    struct str phase = json_text_at(o, "status.phase");
    bool bound = str_is(r->plural, "pods") && !str_empty(json_text_at(o, "spec.nodeName")) &&
                 !str_is(phase, "Succeeded") && !str_is(phase, "Failed");
    if (grace < 0)
        grace = bound ? 30 : 0;
    bool deleting = !str_empty(json_text_at(o, "metadata.deletionTimestamp"));
    if (deleting && grace >= json_int_at(o, "metadata.deletionGracePeriodSeconds", 0) &&
        (grace > 0 || has_finalizers(r, o)))
        return 200;
    if (!deleting)
        json_set_at(o, "metadata.deletionTimestamp", now_text(m), &m->arena);
    json_set_at(o, "metadata.deletionGracePeriodSeconds", json_int(bound ? grace : 0, &m->arena),
                &m->arena);
    settle(m, r, o);
    return 200;
}

static int serve(struct world *m, const struct writer_request *w)
{
    const struct resource *r = by_plural(w->group, w->plural);
    if (!r)
        return 404;
    switch (w->verb) {
    case WRITER_CREATE: {
        struct json_value *o = parse(m, w->body);
        if (!str_empty(w->namespace))
            json_set_at(o, "metadata.namespace", json_text(w->namespace), &m->arena);
        return create(m, r, o);
    }
    case WRITER_UPDATE:
    case WRITER_PATCH_MERGE:
        return change(m, r, w);
    case WRITER_DELETE:
        return delete (m, r, w);
    }
    return 400;
}

/* --- the port --------------------------------------------------------------------------------- */

struct port {
    struct world *model;
    size_t party;
};

static void on_write(void *ctx, const struct writer_request *w)
{
    struct port *port = ctx;
    struct world_write *p = xnew(struct world_write);
    arena_init(&p->arena, 0);
    p->id = w->id;
    p->party = port->party;
    p->request = *w;
    p->request.group = arena_dup(&p->arena, w->group);
    p->request.plural = arena_dup(&p->arena, w->plural);
    p->request.subresource = arena_dup(&p->arena, w->subresource);
    p->request.namespace = arena_dup(&p->arena, w->namespace);
    p->request.name = arena_dup(&p->arena, w->name);
    p->request.body = arena_dup(&p->arena, w->body);
    vec_push(&port->model->writes, p);
}

struct writer world_writer(struct world *m)
{
    struct port *port = arena_new(&m->arena, struct port);
    *port = (struct port){m, m->n_parties};
    return (struct writer){.ctx = port, .write = on_write};
}

void world_add(struct world *m, const struct world_party *party)
{
    assert(m->n_parties < ARRAY_LEN(m->parties));
    m->parties[m->n_parties++] = *party;
}

void world_init(struct world *m)
{
    *m = (struct world){.version = 1, .now = INT64_C(1800000000) * NSEC_PER_SEC};
    arena_init(&m->arena, (size_t)1 << 16);
}

static void free_write(struct world_write *p)
{
    arena_release(&p->arena);
    free(p);
}

void world_release(struct world *m)
{
    map_each (e, &m->objects) {
        struct world_object *o = e->value;
        revision_unref(o->rev);
        free(o);
    }
    map_release(&m->objects);
    for (size_t i = 0; i < m->writes.n; i++)
        free_write(m->writes.v[i]);
    for (size_t i = 0; i < m->events.n; i++) {
        revision_unref(m->events.v[i].before);
        revision_unref(m->events.v[i].after);
    }
    vec_release(&m->writes);
    vec_release(&m->events);
    arena_release(&m->arena);
}

/* --- clients ---------------------------------------------------------------------------------- */

static struct str unquote(struct world *m, const char *json)
{
    struct str s = arena_dup(&m->arena, str_of(json));
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '\'')
            ((char *)(uintptr_t)s.p)[i] = '"';
    return s;
}

/* "apps/deployments default/web", "pods default/a", "nodes n". */
static const struct resource *split(struct world *m, const char *what, struct str *ret_ns,
                                    struct str *ret_name)
{
    struct str rest = str_of(what), resource, group = STR("");
    str_split(&rest, ' ', &resource);
    size_t slash = str_find(resource, '/');
    if (slash < resource.n) {
        group = str_slice(resource, 0, slash);
        resource = str_slice(resource, slash + 1, resource.n);
    }
    const struct resource *r = by_plural(group, resource);
    assert(r);
    (void)m;
    *ret_ns = STR("");
    *ret_name = rest;
    if (rest.p && r->namespaced)
        str_split(ret_name, '/', ret_ns);
    return r;
}

int world_create(struct world *m, const char *json)
{
    struct json_value *o = parse(m, unquote(m, json));
    const struct resource *r =
        by_kind(json_get_text(o, STR("apiVersion")), json_get_text(o, STR("kind")));
    assert(r);
    if (r->namespaced && str_empty(json_text_at(o, "metadata.namespace")))
        json_set_at(o, "metadata.namespace", json_text(STR("default")), &m->arena);
    return create(m, r, o);
}

int world_patch(struct world *m, const char *what, const char *subresource, const char *json)
{
    struct writer_request w = {
        .verb = WRITER_PATCH_MERGE, .subresource = str_of(subresource), .body = unquote(m, json)};
    return change(m, split(m, what, &w.namespace, &w.name), &w);
}

int world_delete(struct world *m, const char *what, const char *options)
{
    struct writer_request w = {.verb = WRITER_DELETE, .body = unquote(m, options)};
    return delete (m, split(m, what, &w.namespace, &w.name), &w);
}

const struct json_value *world_get(struct world *m, const char *what)
{
    struct str ns, name;
    const struct resource *r = split(m, what, &ns, &name);
    struct revision *rev = find(m, r, ns, name);
    return rev ? parse(m, rev->text) : NULL;
}

const char *world_text(struct world *m, const char *what, const char *path)
{
    const struct json_value *v = world_get(m, what);
    v = v ? json_at(v, path) : NULL;
    if (!v)
        return "";
    if (v->kind == JSON_STRING || v->kind == JSON_NUMBER)
        return arena_dup(&m->arena, v->text).p;
    if (v->kind == JSON_BOOL)
        return v->boolean ? "true" : "false";
    struct buf b = BUF_INIT;
    json_write(v, &b);
    const char *text = arena_dup(&m->arena, buf_str(&b)).p;
    buf_release(&b);
    return text;
}

size_t world_count_if(struct world *m, const char *resource, world_fn *fn, void *ctx)
{
    struct str ns, name;
    const struct resource *r = split(m, resource, &ns, &name);
    size_t n = 0;
    map_each (e, &m->objects) {
        struct revision *rev = ((struct world_object *)e->value)->rev;
        if (rev->resource == r)
            n += !fn || fn(ctx, parse(m, rev->text));
    }
    return n;
}

struct in_namespace {
    struct str namespace;
};

static bool is_in(void *ctx, const struct json_value *object)
{
    struct str ns = ((struct in_namespace *)ctx)->namespace;
    return str_empty(ns) || str_eq(ns, json_text_at(object, "metadata.namespace"));
}

size_t world_count(struct world *m, const char *resource, const char *namespace)
{
    return world_count_if(m, resource, is_in, &(struct in_namespace){str_of(namespace)});
}

/* --- time ------------------------------------------------------------------------------------- */

static void deliver(struct world *m)
{
    for (size_t i = 0; i < m->events.n; i++) {
        struct store_event e = m->events.v[i];
        if (m->trace)
            fprintf(stderr, "%lld %s %.*s %.*s/%.*s\n", (long long)(m->now / NSEC_PER_MSEC),
                    e.change == STORE_ADDED      ? "added"
                    : e.change == STORE_MODIFIED ? "modified"
                                                 : "deleted",
                    STR_ARG(e.after->resource->plural), STR_ARG(e.after->namespace),
                    STR_ARG(e.after->name));
        for (size_t p = 0; p < m->n_parties; p++)
            m->parties[p].changed(m->parties[p].ctx, &e);
        revision_unref(e.before);
        revision_unref(e.after);
    }
    vec_clear(&m->events);
}

/* The node that a daemon's pod must run on. */
static struct str affinity_node(const struct json_value *pod)
{
    const struct json_value *terms =
        json_at(pod, "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
                     "nodeSelectorTerms");
    const struct json_value *fields =
        terms && terms->n ? json_get(&terms->items[0], STR("matchFields")) : NULL;
    const struct json_value *values =
        fields && fields->n ? json_get(&fields->items[0], STR("values")) : NULL;
    return values && values->n ? values->items[0].text : STR("");
}

static void bind_pods(struct world *m)
{
    const struct resource *pods = by_plural(STR(""), STR("pods"));
    const struct resource *nodes = by_plural(STR(""), STR("nodes"));
    VEC(struct revision *) unbound = {0};
    struct str any = STR("");
    map_each (e, &m->objects) {
        struct revision *rev = ((struct world_object *)e->value)->rev;
        if (rev->resource == pods && str_empty(revision_field(rev, STR("spec.nodeName"))))
            vec_push(&unbound, rev);
        if (rev->resource == nodes)
            any = rev->name;
    }
    for (size_t i = 0; i < unbound.n; i++) {
        struct json_value *o = parse(m, unbound.v[i]->text);
        struct str node = affinity_node(o);
        if (str_empty(node))
            node = any;
        if (str_empty(node))
            continue;
        json_set_at(o, "spec.nodeName", json_text(arena_dup(&m->arena, node)), &m->arena);
        put(m, pods, o);
    }
    vec_release(&unbound);
}

static void serve_next(struct world *m)
{
    size_t i = m->faults ? rand_below(m->faults, m->writes.n) : 0;
    struct world_write *p = m->writes.v[i];
    vec_remove(&m->writes, i);
    int status = 500;
    uint64_t fault = m->faults ? rand_below(m->faults, 20) : 99;
    if (fault > 1)
        status = serve(m, &p->request);
    m->n_writes++;
    if (status >= 400)
        m->n_failed++;
    if (m->trace)
        fprintf(stderr, "%lld %d verb %d %.*s %.*s %.*s/%.*s %.*s\n",
                (long long)(m->now / NSEC_PER_MSEC), status, p->request.verb,
                STR_ARG(p->request.plural), STR_ARG(p->request.subresource),
                STR_ARG(p->request.namespace), STR_ARG(p->request.name), STR_ARG(p->request.body));
    if (fault == 2)
        status = 0; /* the answer is lost */
    /* An answer may come before its change is seen, or after it. */
    if (!m->faults || rand_below(m->faults, 4))
        deliver(m);
    m->parties[p->party].write_done(m->parties[p->party].ctx, p->id, status, m->now);
    free_write(p);
}

void world_run_until(struct world *m, int64_t until)
{
    for (size_t steps = 0; steps < 10000000; steps++) {
        if (!m->faults || rand_below(m->faults, 3) || !m->writes.n)
            deliver(m);
        if (m->bind && !m->events.n)
            bind_pods(m);
        deliver(m);
        for (size_t p = 0; p < m->n_parties; p++)
            m->parties[p].run(m->parties[p].ctx, m->now);
        if (m->writes.n) {
            size_t n = m->faults ? 1 : m->writes.n;
            while (n-- && m->writes.n)
                serve_next(m);
            continue;
        }
        int64_t next = INT64_MAX;
        for (size_t p = 0; p < m->n_parties; p++)
            next = MIN(next, m->parties[p].next(m->parties[p].ctx));
        if (m->events.n)
            continue;
        if (next > until) {
            m->now = until;
            return;
        }
        m->now = MAX(m->now, next);
    }
    fprintf(stderr, "model: does not come to rest\n");
    abort();
}

void world_run_for(struct world *m, int64_t duration)
{
    world_run_until(m, m->now + duration);
}
