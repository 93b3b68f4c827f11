/* SPDX-License-Identifier: Apache-2.0 */
/* The writes of the controllers: objects, patches, deletions, events. */
#include "apiserver/workloads/workloads_internal.h"

/* --- events ----------------------------------------------------------------------------------- */

static void record(struct workloads *w, struct workload *o, bool warning, const char *reason,
                   struct str message)
{
    const struct workload_type *t = type_of(o);
    struct event_subject subject = {.api_version = t->api_version,
                                    .kind = t->kind,
                                    .namespace = o->member.rev->namespace,
                                    .name = o->member.rev->name,
                                    .uid = o->member.uid,
                                    .version = o->member.rev->version};
    event_record(&w->recorder, &subject,
                 &(struct event_text){t->component, warning, reason, message});
}

void workload_event(struct workloads *w, struct workload *o, bool warning, const char *reason,
                    const char *fmt, ...)
{
    struct buf message = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_add_vprintf(&message, fmt, ap);
    va_end(ap);
    record(w, o, warning, reason, buf_str(&message));
    buf_release(&message);
}

unsigned workload_event_tag(struct workload *o, const char *reason, const char *fmt, ...)
{
    struct buf text = BUF_INIT;
    va_list ap;
    buf_add_printf(&text, "%s\n", reason);
    va_start(ap, fmt);
    buf_add_vprintf(&text, fmt, ap);
    va_end(ap);
    vec_push(&o->messages, buf_take(&text));
    return (unsigned)o->messages.n;
}

/* Why a pod was not created or deleted, as far as the code of the answer tells. */
static struct str refusal(struct workloads *w, const struct workload *o)
{
    struct str name = o->member.rev->name;
    if (o->refused == 403)
        return arena_printf(&w->scratch, "pods \"%.*s-\" is forbidden", STR_ARG(name));
    if (o->refused == 422)
        return arena_printf(&w->scratch, "Pod \"%.*s-\" is invalid", STR_ARG(name));
    return arena_printf(&w->scratch, "the server answered with the code %d", o->refused);
}

bool workload_namespace_ends(struct workloads *w, struct str namespace)
{
    static const struct resource namespaces = {.plural = STR_INIT("namespaces")};
    const struct revision *rev = store_get(w->options.store, &namespaces, STR(""), namespace);
    struct json_value tree;
    return rev && json_parse(rev->text, 0, &w->scratch, &tree, NULL) == 0 &&
           !str_empty(json_text_at(&tree, "metadata.deletionTimestamp"));
}

static void pod_refused(struct workloads *w, struct workload *o, bool deletion, int status)
{
    o->batch = 1;
    if (!deletion && workload_namespace_ends(w, o->member.rev->namespace))
        return; /* every creation fails there */
    o->refused = status ? status : 504;
    o->refused_delete = deletion;
    workload_event(w, o, true, deletion ? "FailedDelete" : "FailedCreate", "Error %s: %.*s",
                   deletion ? "deleting" : "creating", STR_ARG(refusal(w, o)));
}

struct str workload_refusal(struct workloads *w, const struct workload *o)
{
    return refusal(w, o);
}

void workload_write_done(struct workloads *w, struct workload *o, unsigned tag, int status)
{
    bool success = status >= 200 && status < 300;
    if (tag >= 1 && tag <= o->messages.n) {
        struct str rest = str_of(o->messages.v[tag - 1]), reason;
        str_split(&rest, '\n', &reason);
        bool warning = str_starts(reason, STR("!"));
        char *name = str_dup(str_slice(reason, warning, reason.n));
        if (success)
            record(w, o, warning, name, rest);
        else if (str_is(reason, "SuccessfulDelete") && status != 404)
            pod_refused(w, o, true, status);
        free(name);
    } else if (tag == TAG_POD_CREATE && !success) {
        pod_refused(w, o, false, status);
    } else if (tag == TAG_CLAIM && !success) {
        o->adopts = true;
    }
    if (type_of(o)->done)
        type_of(o)->done(w, o, tag, status);
    if (o->work.n_writes)
        return;
    for (size_t i = 0; i < o->messages.n; i++)
        free(o->messages.v[i]);
    vec_clear(&o->messages);
}

/* --- objects ---------------------------------------------------------------------------------- */

static struct writer_request request_of(const struct member *m, enum writer_verb verb)
{
    return (struct writer_request){.verb = verb,
                                   .group = m->rev->resource->group,
                                   .plural = m->rev->resource->plural,
                                   .namespace = m->rev->namespace,
                                   .name = m->rev->name};
}

static void send(struct workloads *w, struct workload *by, enum work_effect effect, unsigned tag,
                 struct writer_request request)
{
    request.body = buf_str(&w->body);
    work_write(&w->queue, &by->work, effect, tag, &request);
}

void workload_send_status(struct workloads *w, struct workload *o, const struct json_value *object,
                          unsigned tag)
{
    buf_clear(&w->body);
    json_write(object, &w->body);
    struct writer_request request = request_of(&o->member, WRITER_UPDATE);
    request.subresource = STR("status");
    send(w, o, WORK_NOTHING, tag, request);
}

bool workload_write_status(struct workloads *w, struct workload *o, struct json_value *object,
                           struct json_value status, unsigned tag)
{
    const struct json_value *old = json_get(object, STR("status"));
    if (old && json_value_equal(old, &status))
        return false;
    json_set(object, STR("status"), status, &w->scratch);
    workload_send_status(w, o, object, tag);
    return true;
}

void workload_patch(struct workloads *w, struct workload *by, const struct member *m, unsigned tag,
                    struct json_value patch)
{
    json_set_at(&patch, "metadata.resourceVersion",
                json_text(arena_printf(&w->scratch, "%llu", (unsigned long long)m->rev->version)),
                &w->scratch);
    buf_clear(&w->body);
    json_write(&patch, &w->body);
    send(w, by, WORK_NOTHING, tag, request_of(m, WRITER_PATCH_MERGE));
}

void workload_create(struct workloads *w, struct workload *by, enum work_effect effect,
                     unsigned tag, const struct writer_request *where,
                     const struct json_value *object)
{
    struct writer_request request = *where;
    request.verb = WRITER_CREATE;
    request.namespace = by->member.rev->namespace;
    buf_clear(&w->body);
    json_write(object, &w->body);
    send(w, by, effect, tag, request);
}

static void send_delete(struct workloads *w, struct workload *by, const struct member *m,
                        enum work_effect effect, unsigned tag, const char *options)
{
    buf_clear(&w->body);
    buf_add_printf(&w->body,
                   "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",%s\"preconditions\":{"
                   "\"uid\":",
                   options);
    json_write_str(&w->body, m->uid);
    buf_add_cstr(&w->body, "}}");
    send(w, by, effect, tag, request_of(m, WRITER_DELETE));
}

void workload_delete(struct workloads *w, struct workload *by, const struct member *m,
                     enum work_effect effect, unsigned tag)
{
    send_delete(w, by, m, effect, tag, "\"propagationPolicy\":\"Background\",");
}

void workload_delete_foreground(struct workloads *w, struct workload *by, const struct member *m,
                                unsigned tag)
{
    send_delete(w, by, m, WORK_NOTHING, tag, "\"propagationPolicy\":\"Foreground\",");
}

/* --- pods ------------------------------------------------------------------------------------- */

struct json_value workload_controller_ref(struct workloads *w, const struct workload *o)
{
    const struct workload_type *t = type_of(o);
    struct json_value ref = json_object();
    workload_put_text(w, &ref, "apiVersion", t->api_version);
    workload_put_text(w, &ref, "kind", t->kind);
    workload_put_text(w, &ref, "name", o->member.rev->name);
    workload_put_text(w, &ref, "uid", o->member.uid);
    json_set(&ref, STR("controller"), json_bool(true), &w->scratch);
    json_set(&ref, STR("blockOwnerDeletion"), json_bool(true), &w->scratch);
    return ref;
}

struct json_value workload_pod(struct workloads *w, const struct workload *o,
                               const struct json_value *template)
{
    static const char *const copied[] = {"labels", "annotations", "finalizers"};
    struct json_value pod = json_object(), meta = json_object(), refs = json_array();
    const struct json_value *from = json_get(template, STR("metadata"));
    for (size_t i = 0; i < ARRAY_LEN(copied); i++) {
        const struct json_value *v = json_get(from, str_of(copied[i]));
        if (v && v->kind != JSON_NULL)
            json_set(&meta, str_of(copied[i]), json_copy(v, &w->scratch), &w->scratch);
    }
    workload_put_text(w, &meta, "generateName",
                      arena_printf(&w->scratch, "%.*s-", STR_ARG(o->member.rev->name)));
    workload_put_text(w, &meta, "namespace", o->member.rev->namespace);
    json_append(&refs, workload_controller_ref(w, o), &w->scratch);
    json_set(&meta, STR("ownerReferences"), refs, &w->scratch);
    workload_put_text(w, &pod, "apiVersion", STR("v1"));
    workload_put_text(w, &pod, "kind", STR("Pod"));
    json_set(&pod, STR("metadata"), meta, &w->scratch);
    const struct json_value *spec = json_get(template, STR("spec"));
    json_set(&pod, STR("spec"), spec ? json_copy(spec, &w->scratch) : json_object(), &w->scratch);
    return pod;
}

void workload_create_pods(struct workloads *w, struct workload *o, const struct json_value *pod,
                          size_t n)
{
    struct writer_request request = {.verb = WRITER_CREATE,
                                     .plural = STR("pods"),
                                     .namespace = o->member.rev->namespace,
                                     .name = json_text_at(pod, "metadata.name")};
    o->batch = MAX(o->batch, 1U);
    n = MIN(n, (size_t)o->batch);
    o->batch = MIN(o->batch * 2, (unsigned)BURST_REPLICAS);
    o->refused = 0;
    struct buf body = BUF_INIT;
    json_write(pod, &body);
    request.body = buf_str(&body);
    for (size_t i = 0; i < n; i++)
        work_write(&w->queue, &o->work, WORK_ADDS, TAG_POD_CREATE, &request);
    buf_release(&body);
}

void workload_delete_pods(struct workloads *w, struct workload *o, struct pod_item **pods, size_t n)
{
    o->refused = 0;
    for (size_t i = 0; i < n; i++)
        workload_delete(w, o, &pods[i]->member, WORK_DELETES,
                        workload_event_tag(o, "SuccessfulDelete", "Deleted pod: %.*s",
                                           STR_ARG(pods[i]->member.rev->name)));
}

/* --- adoption and release --------------------------------------------------------------------- */

static void patch_owners(struct workloads *w, struct workload *o, const struct member *m,
                         bool adopt)
{
    const struct json_value *tree = workload_tree(w, m);
    struct json_items old = json_items_at(tree, "metadata.ownerReferences");
    struct json_value refs = json_array(), patch = json_object();
    for (size_t i = 0; i < old.n; i++)
        if (!str_eq(json_get_text(&old.v[i], STR("uid")), o->member.uid))
            json_append(&refs, old.v[i], &w->scratch);
    if (adopt)
        json_append(&refs, workload_controller_ref(w, o), &w->scratch);
    json_set_at(&patch, "metadata.uid", json_text(m->uid), &w->scratch);
    json_set_at(&patch, "metadata.ownerReferences", refs.n ? refs : json_null(), &w->scratch);
    if (!adopt && o->kind == WORKLOAD_JOB)
        json_set_at(&patch, "metadata.finalizers", workload_untracked(w, tree), &w->scratch);
    workload_patch(w, o, m, TAG_CLAIM, patch);
}

static size_t release_members(struct workloads *w, struct workload *o)
{
    struct members *mine = &o->family->members[type_of(o)->selects];
    size_t n = 0;
    for (size_t i = 0; i < mine->list.n && n < BURST_REPLICAS; i++) {
        struct member *m = mine->list.v[i];
        if (m->matches || m->deleting)
            continue;
        patch_owners(w, o, m, false);
        n++;
    }
    return n;
}

static size_t adopt_members(struct workloads *w, struct workload *o, enum member_type type)
{
    struct members *orphans = &o->space->orphans[type];
    size_t n = 0;
    for (size_t i = 0; i < orphans->list.n && n < BURST_REPLICAS; i++) {
        struct member *m = orphans->list.v[i];
        if (m->deleting || (type != MEMBER_REVISION && !workload_may_adopt(o, m)) ||
            !workload_labels_match(w, &o->selector, m->rev))
            continue;
        if (type == MEMBER_POD && !pod_is_active(pod_of(m)) && o->kind != WORKLOAD_JOB)
            continue;
        patch_owners(w, o, m, true);
        n++;
    }
    return n;
}

bool workload_claim(struct workloads *w, struct workload *o)
{
    if (!o->selects || o->member.deleting)
        return false;
    size_t n = release_members(w, o);
    if (o->adopts) {
        size_t adopted = adopt_members(w, o, type_of(o)->selects);
        if (o->kind == WORKLOAD_STATEFUL_SET || o->kind == WORKLOAD_DAEMON_SET)
            adopted += adopt_members(w, o, MEMBER_REVISION);
        o->adopts = adopted >= BURST_REPLICAS;
        n += adopted;
    }
    return n > 0;
}
