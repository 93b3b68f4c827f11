/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints of services (upstream: endpoints controller). */
#include "apiserver/lifecycle/services.h"

#define MAX_ADDRESSES 1000
#define MANAGED_BY    "endpoints.kubernetes.io/managed-by"
#define OVER_CAPACITY "endpoints.kubernetes.io/over-capacity"

/* Pods with the same ports. */
struct subset {
    struct json_value ports;
    struct json_value *ready, *waiting; /* addresses, of room for all pods */
    size_t n_ready, n_waiting;
};

/* --- addresses -------------------------------------------------------------------------------- */

static struct str address_of(const struct service_look *look, const struct pod_facts *pod)
{
    struct json_items families = json_items_at(look->service, "spec.ipFamilies");
    struct str ip = json_text_at(look->service, "spec.clusterIP");
    bool v6 = families.n ? families.v[0].kind == JSON_STRING && str_is(families.v[0].text, "IPv6")
                         : str_find(ip, ':') < ip.n;
    return v6 ? pod->ip6 : pod->ip4;
}

static struct json_value make_address(struct lifecycle *l, const struct service_look *look,
                                      const struct pod_entry *pod, struct str ip)
{
    struct json_value address = json_object();
    struct str node = life_pod_node(pod->rev);
    json_set(&address, STR("ip"), json_text(ip), &l->scratch);
    if (service_sets_hostname(look, &pod->facts))
        json_set(&address, STR("hostname"), json_text(pod->facts.hostname), &l->scratch);
    if (!str_empty(node))
        json_set(&address, STR("nodeName"), json_text(node), &l->scratch);
    json_set(&address, STR("targetRef"), service_target(l, pod), &l->scratch);
    return address;
}

static int by_address(const void *a, const void *b)
{
    const struct json_value *x = a, *y = b;
    int order = str_cmp(json_get_text(x, STR("ip")), json_get_text(y, STR("ip")));
    return order ? order
                 : str_cmp(json_text_at(x, "targetRef.uid"), json_text_at(y, "targetRef.uid"));
}

/* --- subsets ---------------------------------------------------------------------------------- */

static struct subset *need_subset(struct lifecycle *l, const struct service_look *look,
                                  struct map *by_ports, const struct json_value *ports)
{
    struct buf text = BUF_INIT;
    json_write(ports, &text);
    struct subset *s = map_get(by_ports, buf_str(&text));
    if (!s) {
        s = arena_new(&l->scratch, struct subset);
        s->ports = *ports;
        s->ready = arena_array(&l->scratch, struct json_value, look->n);
        s->waiting = arena_array(&l->scratch, struct json_value, look->n);
        map_put(by_ports, arena_dup(&l->scratch, buf_str(&text)), s);
    }
    buf_release(&text);
    return s;
}

static void add_pod(struct lifecycle *l, const struct service_look *look, struct map *by_ports,
                    const struct pod_entry *pod)
{
    struct str ip = address_of(look, &pod->facts);
    struct json_value ports = service_ports(l, look, &pod->facts);
    if (str_empty(ip) || (pod->facts.deleting && !look->publish_not_ready) ||
        (ports.n == 0 && !(look->headless && look->ports.n == 0)))
        return;
    struct subset *s = need_subset(l, look, by_ports, &ports);
    struct json_value address = make_address(l, look, pod, ip);
    if (look->publish_not_ready || pod->facts.ready)
        s->ready[s->n_ready++] = address;
    else
        s->waiting[s->n_waiting++] = address;
}

static void set_addresses(struct lifecycle *l, struct json_value *subset, const char *key,
                          struct json_value *v, size_t n)
{
    if (n == 0)
        return;
    qsort(v, n, sizeof(*v), by_address);
    json_set(subset, str_of(key), (struct json_value){.kind = JSON_ARRAY, .items = v, .n = n},
             &l->scratch);
}

static int by_ports_text(const void *a, const void *b)
{
    const struct map_entry *const *x = a, *const *y = b;
    return str_cmp((*x)->key, (*y)->key);
}

/* At most 1,000 addresses, those that are ready first. Returns whether some were left out. */
static bool truncate(struct subset **v, size_t n)
{
    size_t ready = 0, waiting = 0;
    for (size_t i = 0; i < n; i++) {
        ready += v[i]->n_ready;
        waiting += v[i]->n_waiting;
    }
    if (ready + waiting <= MAX_ADDRESSES)
        return false;
    size_t keep_ready = MIN(ready, MAX_ADDRESSES), keep_waiting = MAX_ADDRESSES - keep_ready;
    for (size_t i = 0; i < n; i++) {
        v[i]->n_ready = MIN(v[i]->n_ready, keep_ready);
        v[i]->n_waiting = MIN(v[i]->n_waiting, keep_waiting);
        keep_ready -= v[i]->n_ready;
        keep_waiting -= v[i]->n_waiting;
    }
    return true;
}

static struct json_value make_subsets(struct lifecycle *l, const struct service_look *look,
                                      bool *ret_truncated)
{
    struct json_value list = json_array();
    struct map by_ports = MAP_INIT;
    size_t n = 0;
    for (size_t i = 0; i < look->n; i++)
        add_pod(l, look, &by_ports, look->pods[i]);
    const struct map_entry **entries =
        arena_array(&l->scratch, const struct map_entry *, by_ports.n);
    struct subset **subsets = arena_array(&l->scratch, struct subset *, by_ports.n);
    map_each (e, &by_ports)
        entries[n++] = e;
    qsort(entries, n, sizeof(*entries), by_ports_text);
    for (size_t i = 0; i < n; i++)
        subsets[i] = entries[i]->value;
    *ret_truncated = truncate(subsets, n);
    for (size_t i = 0; i < n; i++) {
        struct json_value subset = json_object();
        set_addresses(l, &subset, "addresses", subsets[i]->ready, subsets[i]->n_ready);
        set_addresses(l, &subset, "notReadyAddresses", subsets[i]->waiting, subsets[i]->n_waiting);
        if (subset.n_members == 0)
            continue;
        if (subsets[i]->ports.n)
            json_set(&subset, STR("ports"), subsets[i]->ports, &l->scratch);
        json_append(&list, subset, &l->scratch);
    }
    map_release(&by_ports);
    return list;
}

/* --- the object ------------------------------------------------------------------------------- */

/* "name" of a port without a name is left out when it is stored. */
static void drop_empty_names(struct json_value *subsets)
{
    for (size_t i = 0; i < subsets->n; i++) {
        struct json_value *ports = json_member(&subsets->items[i], STR("ports"));
        for (size_t p = 0; ports && p < ports->n; p++)
            if (str_empty(json_get_text(&ports->items[p], STR("name"))))
                json_remove(&ports->items[p], STR("name"));
    }
}

static void set_meta(struct lifecycle *l, const struct service_look *look,
                     struct json_value *object, bool truncated)
{
    struct arena *a = &l->scratch;
    struct json_value *meta = json_set_object(object, STR("metadata"), a);
    struct json_value labels = service_labels(l, look);
    json_set(&labels, STR(MANAGED_BY), json_text(STR("endpoint-controller")), a);
    json_set(meta, STR("name"), json_text(look->rev->name), a);
    json_set(meta, STR("namespace"), json_text(look->rev->namespace), a);
    json_set(meta, STR("labels"), labels, a);
    if (truncated)
        json_set(json_set_object(meta, STR("annotations"), a), STR(OVER_CAPACITY),
                 json_text(STR("truncated")), a);
    else if (json_member(meta, STR("annotations")))
        json_remove(json_member(meta, STR("annotations")), STR(OVER_CAPACITY));
}

void endpoints_sync(struct lifecycle *l, const struct service_look *look)
{
    struct arena *a = &l->scratch;
    struct revision *rev = life_find(l, l->r.endpoints, look->rev->namespace, look->rev->name);
    struct json_value object = rev ? *life_parse(l, rev) : json_object();
    struct json_value before = json_copy(&object, a);
    bool truncated;
    struct json_value subsets = make_subsets(l, look, &truncated);
    if (!l->r.endpoints)
        return;
    drop_empty_names(&subsets);
    json_set(&object, STR("apiVersion"), json_text(STR("v1")), a);
    json_set(&object, STR("kind"), json_text(STR("Endpoints")), a);
    if (subsets.n)
        json_set(&object, STR("subsets"), subsets, a);
    else
        json_remove(&object, STR("subsets"));
    set_meta(l, look, &object, truncated);
    if (rev && json_value_equal(&before, &object))
        return;
    struct life_target target = {l->r.endpoints, look->rev->namespace, look->rev->name};
    buf_clear(&l->body);
    json_write(&object, &l->body);
    task_write(l, &look->task->task, rev ? WRITER_UPDATE : WRITER_CREATE, &target, "");
}
