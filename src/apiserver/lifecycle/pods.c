/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/lifecycle/pods.h"

/* --- groups ----------------------------------------------------------------------------------- */

struct pod_group *pods_on_node(const struct lifecycle *l, struct str node)
{
    return map_get(&l->pods_of_node, node);
}

static struct pod_group *need_group(struct map *map, struct str name)
{
    struct pod_group *group = map_get(map, name);
    if (group)
        return group;
    group = xcalloc(1, sizeof(*group) + name.n + 1);
    memcpy(group->text, name.p, name.n);
    group->name = (struct str){group->text, name.n};
    map_put(map, group->name, group);
    return group;
}

static void drop_group(struct map *map, struct pod_group *group)
{
    if (group->pods.n || group->choosers.n)
        return;
    map_del(map, group->name);
    vec_release(&group->pods);
    vec_release(&group->choosers);
    free(group);
}

static void leave_room(struct lifecycle *l, struct pod_entry *pod)
{
    struct pod_group *room = pod->room;
    vec_swap_remove(&room->pods, pod->room_at);
    if (pod->room_at < room->pods.n)
        room->pods.v[pod->room_at]->room_at = pod->room_at;
    drop_group(&l->rooms, room);
}

static void leave_node(struct lifecycle *l, struct pod_entry *pod)
{
    struct pod_group *node = pod->node;
    if (!node)
        return;
    vec_swap_remove(&node->pods, pod->node_at);
    if (pod->node_at < node->pods.n)
        node->pods.v[pod->node_at]->node_at = pod->node_at;
    pod->node = NULL;
    drop_group(&l->pods_of_node, node);
}

static void enter_node(struct lifecycle *l, struct pod_entry *pod)
{
    struct str name = life_pod_node(pod->rev);
    if (pod->node || str_empty(name))
        return; /* a pod does not change its node */
    pod->node = need_group(&l->pods_of_node, name);
    pod->node_at = pod->node->pods.n;
    vec_push(&pod->node->pods, pod);
}

/* --- pods ------------------------------------------------------------------------------------- */

static struct str key_of(struct lifecycle *l, struct str namespace, struct str name)
{
    return arena_printf(&l->scratch, "%.*s/%.*s", STR_ARG(namespace), STR_ARG(name));
}

struct pod_entry *pod_find(struct lifecycle *l, struct str namespace, struct str name)
{
    return map_get(&l->pods, key_of(l, namespace, name));
}

static struct pod_entry *need_pod(struct lifecycle *l, const struct revision *rev)
{
    struct str key = key_of(l, rev->namespace, rev->name);
    struct pod_entry *pod = map_get(&l->pods, key);
    if (pod)
        return pod;
    pod = xcalloc(1, sizeof(*pod) + key.n + 1);
    memcpy(pod->text, key.p, key.n);
    pod->key = (struct str){pod->text, key.n};
    arena_init(&pod->facts_arena, 0);
    pod->room = need_group(&l->rooms, rev->namespace);
    pod->room_at = pod->room->pods.n;
    vec_push(&pod->room->pods, pod);
    map_put(&l->pods, pod->key, pod);
    return pod;
}

static void free_pod(struct pod_entry *pod)
{
    revision_unref(pod->rev);
    arena_release(&pod->facts_arena);
    free(pod);
}

static bool is_ready(struct json_value *pod)
{
    return str_is(json_get_text(life_condition(pod, "Ready"), STR("status")), "True");
}

static const struct json_value *controller_of(const struct json_value *object)
{
    struct json_items refs = json_items_at(object, "metadata.ownerReferences");
    for (size_t i = 0; i < refs.n; i++)
        if (json_bool_at(&refs.v[i], "controller", false))
            return &refs.v[i];
    return NULL;
}

static struct str text_at(struct pod_entry *pod, const struct json_value *v, const char *path)
{
    return arena_dup(&pod->facts_arena, json_text_at(v, path));
}

static void read_addresses(struct pod_entry *pod, const struct json_value *object)
{
    struct json_items ips = json_items_at(object, "status.podIPs");
    struct str one = text_at(pod, object, "status.podIP");
    struct pod_facts *facts = &pod->facts;
    for (size_t i = 0; i < ips.n; i++) {
        struct str ip = text_at(pod, &ips.v[i], "ip");
        struct str *to = str_find(ip, ':') < ip.n ? &facts->ip6 : &facts->ip4;
        if (str_empty(*to))
            *to = ip;
    }
    if (ips.n == 0)
        *(str_find(one, ':') < one.n ? &facts->ip6 : &facts->ip4) = one;
}

static size_t read_ports(struct pod_entry *pod, struct json_items containers, bool init,
                         struct pod_port *out)
{
    size_t n = 0;
    for (size_t i = 0; i < containers.n; i++) {
        struct json_items ports = json_items_at(&containers.v[i], "ports");
        if (init && !str_is(json_text_at(&containers.v[i], "restartPolicy"), "Always"))
            continue;
        for (size_t p = 0; p < ports.n; p++) {
            struct str name = text_at(pod, &ports.v[p], "name");
            struct str protocol = text_at(pod, &ports.v[p], "protocol");
            if (str_empty(name))
                continue;
            if (out)
                out[n] = (struct pod_port){name, str_empty(protocol) ? STR("TCP") : protocol,
                                           json_int_at(&ports.v[p], "containerPort", 0)};
            n++;
        }
    }
    return n;
}

static void read_all_ports(struct pod_entry *pod, const struct json_value *object)
{
    struct json_items main = json_items_at(object, "spec.containers");
    struct json_items init = json_items_at(object, "spec.initContainers");
    size_t n = read_ports(pod, main, false, NULL) + read_ports(pod, init, true, NULL);
    struct pod_port *ports = arena_array(&pod->facts_arena, struct pod_port, n);
    size_t at = read_ports(pod, main, false, ports);
    read_ports(pod, init, true, ports + at);
    pod->facts.ports = ports;
    pod->facts.n_ports = n;
}

const struct pod_facts *pod_read(struct lifecycle *l, struct pod_entry *pod)
{
    if (pod->was_read)
        return &pod->facts;
    struct json_value *object = life_parse(l, pod->rev);
    const struct json_value *controller = controller_of(object);
    struct str phase = json_text_at(object, "status.phase");
    arena_reset(&pod->facts_arena);
    pod->facts = (struct pod_facts){
        .ready = is_ready(object),
        .deleting = life_is_deleting(object),
        .terminal = str_is(phase, "Succeeded") || str_is(phase, "Failed"),
        .uid = text_at(pod, object, "metadata.uid"),
        .hostname = text_at(pod, object, "spec.hostname"),
        .subdomain = text_at(pod, object, "spec.subdomain"),
        .controller_api_version = text_at(pod, controller, "apiVersion"),
        .controller_kind = text_at(pod, controller, "kind"),
        .controller_name = text_at(pod, controller, "name"),
        .controller_uid = text_at(pod, controller, "uid"),
    };
    read_addresses(pod, object);
    read_all_ports(pod, object);
    pod->was_read = true;
    return &pod->facts;
}

/* --- selectors -------------------------------------------------------------------------------- */

struct chooser *chooser_new(struct lifecycle *l, struct named_task *task)
{
    struct chooser *c = xnew(struct chooser);
    c->task = task;
    c->room = need_group(&l->rooms, task->namespace);
    c->at = c->room->choosers.n;
    vec_push(&c->room->choosers, c);
    arena_init(&c->arena, 0);
    return c;
}

void chooser_free(struct lifecycle *l, void *state)
{
    struct chooser *c = state;
    if (!c)
        return;
    vec_swap_remove(&c->room->choosers, c->at);
    if (c->at < c->room->choosers.n)
        c->room->choosers.v[c->at]->at = c->at;
    drop_group(&l->rooms, c->room);
    arena_release(&c->arena);
    free(c);
}

void chooser_set(struct chooser *c, const struct json_value *selector, bool is_map)
{
    arena_reset(&c->arena);
    struct json_value *copy = arena_new(&c->arena, struct json_value);
    if (selector)
        *copy = json_copy(selector, &c->arena);
    c->valid = true;
    if (is_map)
        selector_from_labels(selector ? copy : NULL, &c->arena, &c->selector);
    else
        c->valid = selector_from_tree(selector ? copy : NULL, &c->arena, &c->selector) == 0;
    if (!c->valid)
        c->selector = (struct selector){.nothing = true};
}

static void mark_choosers(struct lifecycle *l, const struct pod_group *room,
                          const struct store_event *event)
{
    for (size_t i = 0; i < room->choosers.n; i++) {
        struct chooser *c = room->choosers.v[i];
        if ((event->before && selector_matches_revision(&c->selector, event->before)) ||
            selector_matches_revision(&c->selector, event->after))
            task_mark(l, &c->task->task);
    }
}

/* --- changes ---------------------------------------------------------------------------------- */

void pods_changed(struct lifecycle *l, const struct store_event *event,
                  const struct life_view *view UNUSED)
{
    if (event->after->resource != l->r.pods)
        return;
    struct pod_entry *pod = need_pod(l, event->after);
    mark_choosers(l, pod->room, event);
    if (event->change == STORE_DELETED) {
        leave_node(l, pod);
        leave_room(l, pod);
        map_del(&l->pods, pod->key);
        free_pod(pod);
        return;
    }
    revision_unref(pod->rev);
    pod->rev = revision_ref(event->after);
    pod->was_read = false;
    enter_node(l, pod);
}

void pods_release(struct lifecycle *l)
{
    map_each (e, &l->pods)
        free_pod(e->value);
    struct map *maps[] = {&l->rooms, &l->pods_of_node};
    for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
        map_each (e, maps[i]) {
            struct pod_group *group = e->value;
            vec_release(&group->pods);
            vec_release(&group->choosers);
            free(group);
        }
        map_release(maps[i]);
    }
    map_release(&l->pods);
}
