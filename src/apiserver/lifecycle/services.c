/* SPDX-License-Identifier: Apache-2.0 */
/* Services and their pods. */
#include "apiserver/lifecycle/services.h"

/* A look reads the pods and all that was made of them: microseconds until the next, for each. */
#define LOOK_COST 20

/* --- what a pod is for the service ------------------------------------------------------------ */

/* 0: the pod has no such port. */
static int64_t find_port(const struct json_value *port, struct str protocol,
                         const struct pod_facts *pod)
{
    const struct json_value *target = json_get(port, STR("targetPort"));
    if (!target || target->kind != JSON_STRING)
        return json_int_at(port, target && target->kind == JSON_NUMBER ? "targetPort" : "port", 0);
    for (size_t i = 0; i < pod->n_ports; i++)
        if (str_eq(pod->ports[i].name, target->text) && str_eq(pod->ports[i].protocol, protocol))
            return pod->ports[i].number;
    return 0;
}

struct json_value service_ports(struct lifecycle *l, const struct service_look *look,
                                const struct pod_facts *pod)
{
    struct json_value list = json_array();
    struct arena *a = &l->scratch;
    for (size_t i = 0; i < look->ports.n; i++) {
        const struct json_value *from = &look->ports.v[i];
        struct str protocol = json_get_text(from, STR("protocol"));
        const struct json_value *app = json_get(from, STR("appProtocol"));
        struct json_value port = json_object();
        if (str_empty(protocol))
            protocol = STR("TCP");
        int64_t number = find_port(from, protocol, pod);
        if (number == 0)
            continue;
        json_set(&port, STR("name"), json_text(json_get_text(from, STR("name"))), a);
        json_set(&port, STR("port"), json_int(number, a), a);
        json_set(&port, STR("protocol"), json_text(protocol), a);
        if (app && app->kind == JSON_STRING)
            json_set(&port, STR("appProtocol"), *app, a);
        json_append(&list, port, a);
    }
    return list;
}

bool service_sets_hostname(const struct service_look *look, const struct pod_facts *pod)
{
    return !str_empty(pod->hostname) && str_eq(pod->subdomain, look->rev->name);
}

struct json_value service_target(struct lifecycle *l, const struct pod_entry *pod)
{
    struct json_value ref = json_object();
    json_set(&ref, STR("kind"), json_text(STR("Pod")), &l->scratch);
    json_set(&ref, STR("namespace"), json_text(pod->rev->namespace), &l->scratch);
    json_set(&ref, STR("name"), json_text(pod->rev->name), &l->scratch);
    json_set(&ref, STR("uid"), json_text(pod->facts.uid), &l->scratch);
    return ref;
}

struct json_value service_labels(struct lifecycle *l, const struct service_look *look)
{
    const struct json_value *from = json_at(look->service, "metadata.labels");
    struct json_value labels =
        from && from->kind == JSON_OBJECT ? json_copy(from, &l->scratch) : json_object();
    json_remove(&labels, STR("service.kubernetes.io/headless"));
    if (look->headless)
        json_set(&labels, STR("service.kubernetes.io/headless"), json_text(STR("")), &l->scratch);
    return labels;
}

/* --- the service ------------------------------------------------------------------------------ */

static void choose(struct lifecycle *l, const struct chooser *c, struct service_look *look)
{
    const struct pod_group *room = c->room;
    look->pods = arena_array(&l->scratch, struct pod_entry *, room->pods.n);
    for (size_t i = 0; i < room->pods.n; i++) {
        struct pod_entry *pod = room->pods.v[i];
        if (!selector_matches_revision(&c->selector, pod->rev))
            continue;
        const struct pod_facts *facts = pod_read(l, pod);
        if (!facts->terminal && !(str_empty(facts->ip4) && str_empty(facts->ip6)))
            look->pods[look->n++] = pod;
    }
}

/* Endpoints have no owner: they go with the service here. */
static void remove_endpoints(struct lifecycle *l, struct named_task *task)
{
    const struct service_state *state = task->state;
    struct revision *rev = life_find(l, l->r.endpoints, task->namespace, task->name);
    if (rev && state->deleted)
        task_delete(l, &task->task, rev, "", false);
    else if (state->slices.n == 0)
        task_end(l, task);
}

void service_sync(struct lifecycle *l, struct task *t)
{
    struct named_task *task = CONTAINER_OF(t, struct named_task, task);
    struct service_state *state = task->state;
    struct service_look look = {.task = task,
                                .rev = life_find(l, l->r.services, task->namespace, task->name)};
    if (!look.rev) {
        remove_endpoints(l, task);
        return;
    }
    look.service = life_parse(l, look.rev);
    const struct json_value *selector = json_at(look.service, "spec.selector");
    struct str cluster_ip = json_text_at(look.service, "spec.clusterIP");
    if (str_is(json_text_at(look.service, "spec.type"), "ExternalName") || !selector ||
        selector->kind != JSON_OBJECT || life_is_deleting(look.service))
        return;
    look.ports = json_items_at(look.service, "spec.ports");
    look.headless = str_empty(cluster_ip) || str_is(cluster_ip, "None");
    look.publish_not_ready = json_bool_at(look.service, "spec.publishNotReadyAddresses", false);
    choose(l, state->chooser, &look);
    work_cost(&l->queue, &t->work, state->chooser->room->pods.n + look.n * LOOK_COST);
    endpoints_sync(l, &look);
    slices_sync(l, &look);
}

void service_free(struct lifecycle *l, void *p)
{
    struct service_state *state = p;
    if (!state)
        return;
    chooser_free(l, state->chooser);
    for (size_t i = 0; i < state->slices.n; i++)
        free(state->slices.v[i]);
    vec_release(&state->slices);
    free(state);
}

/* --- changes ---------------------------------------------------------------------------------- */

static struct named_task *need_service(struct lifecycle *l, struct str namespace, struct str name)
{
    struct named_task *task = task_named(l, TASK_SERVICE, namespace, name);
    if (!task->state) {
        struct service_state *state = task->state = xnew(struct service_state);
        state->chooser = chooser_new(l, task);
        chooser_set(state->chooser, NULL, true);
    }
    return task;
}

static void slice_changed(struct lifecycle *l, const struct store_event *event)
{
    const struct revision *rev = event->after;
    struct str service = revision_label(rev, STR("kubernetes.io/service-name"));
    struct named_task *task =
        str_empty(service) ? NULL : task_find(l, TASK_SERVICE, rev->namespace, service);
    struct service_state *state = task ? task->state : NULL;
    size_t i = 0;
    if (!state && (str_empty(service) || event->change == STORE_DELETED))
        return;
    if (!state)
        state = need_service(l, rev->namespace, service)->state;
    while (i < state->slices.n && !str_is(rev->name, state->slices.v[i]))
        i++;
    if (event->change == STORE_DELETED && i < state->slices.n) {
        free(state->slices.v[i]);
        vec_swap_remove(&state->slices, i);
    } else if (event->change != STORE_DELETED && i == state->slices.n) {
        vec_push(&state->slices, str_dup(rev->name));
    }
    task_mark(l, task ? &task->task : NULL);
}

void services_changed(struct lifecycle *l, const struct store_event *event,
                      const struct life_view *view UNUSED)
{
    const struct revision *rev = event->after;
    if (rev->resource == l->r.slices) {
        slice_changed(l, event);
    } else if (rev->resource == l->r.endpoints) {
        struct named_task *task = task_find(l, TASK_SERVICE, rev->namespace, rev->name);
        task_mark(l, task ? &task->task : NULL);
    } else if (rev->resource == l->r.services) {
        struct service_state *state = need_service(l, rev->namespace, rev->name)->state;
        state->deleted = event->change == STORE_DELETED;
        chooser_set(state->chooser,
                    state->deleted ? NULL : json_at(life_parse(l, rev), "spec.selector"), true);
    }
}
