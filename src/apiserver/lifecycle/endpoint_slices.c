/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EndpointSlices of services (upstream: endpointslice reconciler). An endpoint stays in its slice;
 * new ones go to slices that change anyway, then to the fullest one that has room for all of them,
 * then to new slices.
 */
#include "apiserver/lifecycle/services.h"

#define MAX_ENDPOINTS 100
#define MANAGED_BY    "endpointslice.kubernetes.io/managed-by"
#define SERVICE_NAME  "kubernetes.io/service-name"
#define ZONE          "topology.kubernetes.io/zone"

/* An endpoint that is wanted. */
struct want {
    struct json_value endpoint;
    bool placed;
};

/* A slice that exists, or is to be made. */
struct slice {
    const struct revision *rev; /* NULL: new */
    struct json_value object;
    struct json_value *endpoints; /* what it will have; room for MAX_ENDPOINTS */
    size_t n, n_before;
    bool changed, labels_changed;
};

/* Endpoints with the same ports, and the slices with these ports. */
struct port_group {
    struct json_value ports;
    struct map by_uid; /* → struct want */
    struct want **wants;
    size_t n_wants, n_left, next;
    VEC(struct slice *) slices;
    bool wanted;
};

/* All slices of one address type. */
struct plan {
    const struct service_look *look;
    const char *type;
    struct map groups; /* text of the ports → struct port_group */
    VEC(struct port_group *) order;
    struct json_value labels;
    VEC(struct slice *) deletes;
    size_t n_kept;
};

/* --- endpoints -------------------------------------------------------------------------------- */

static void set_zone(struct lifecycle *l, struct json_value *endpoint, struct str node)
{
    struct revision *rev = life_find(l, l->r.nodes, STR(""), node);
    struct str zone = rev ? revision_label(rev, STR(ZONE)) : STR("");
    if (!str_empty(zone))
        json_set(endpoint, STR("zone"), json_text(zone), &l->scratch);
}

static struct json_value make_endpoint(struct lifecycle *l, const struct service_look *look,
                                       const struct pod_entry *pod, struct str ip)
{
    const struct pod_facts *facts = &pod->facts;
    struct arena *a = &l->scratch;
    struct json_value endpoint = json_object(), addresses = json_array(), c = json_object();
    struct str node = life_pod_node(pod->rev);
    bool ready = look->publish_not_ready || (facts->ready && !facts->deleting);
    json_append(&addresses, json_text(ip), a);
    json_set(&c, STR("ready"), json_bool(ready), a);
    json_set(&c, STR("serving"), json_bool(facts->ready), a);
    json_set(&c, STR("terminating"), json_bool(facts->deleting), a);
    json_set(&endpoint, STR("addresses"), addresses, a);
    json_set(&endpoint, STR("conditions"), c, a);
    if (service_sets_hostname(look, facts))
        json_set(&endpoint, STR("hostname"), json_text(facts->hostname), a);
    json_set(&endpoint, STR("targetRef"), service_target(l, pod), a);
    if (!str_empty(node)) {
        json_set(&endpoint, STR("nodeName"), json_text(node), a);
        set_zone(l, &endpoint, node);
    }
    return endpoint;
}

/* The names of the ports as they are compared. */
static struct str ports_key(struct lifecycle *l, const struct json_value *ports)
{
    struct buf text = BUF_INIT;
    for (size_t i = 0; ports && ports->kind == JSON_ARRAY && i < ports->n; i++)
        buf_add_printf(&text, "%.*s/%.*s/%lld/%.*s ",
                       STR_ARG(json_get_text(&ports->items[i], STR("name"))),
                       STR_ARG(json_get_text(&ports->items[i], STR("protocol"))),
                       (long long)json_int_at(&ports->items[i], "port", 0),
                       STR_ARG(json_get_text(&ports->items[i], STR("appProtocol"))));
    struct str key = arena_dup(&l->scratch, buf_str(&text));
    buf_release(&text);
    return key;
}

static struct port_group *need_group(struct lifecycle *l, struct plan *plan,
                                     const struct json_value *ports)
{
    struct str key = ports_key(l, ports);
    struct port_group *group = map_get(&plan->groups, key);
    if (group)
        return group;
    group = xnew(struct port_group);
    group->ports = ports ? *ports : json_array();
    group->wants = arena_array(&l->scratch, struct want *, plan->look->n);
    map_put(&plan->groups, key, group);
    vec_push(&plan->order, group);
    return group;
}

static void collect_wants(struct lifecycle *l, struct plan *plan)
{
    const struct service_look *look = plan->look;
    bool v6 = strcmp(plan->type, "IPv6") == 0;
    for (size_t i = 0; i < look->n; i++) {
        const struct pod_entry *pod = look->pods[i];
        struct str ip = v6 ? pod->facts.ip6 : pod->facts.ip4;
        struct json_value ports = service_ports(l, look, &pod->facts);
        struct port_group *group = need_group(l, plan, &ports);
        struct str node = life_pod_node(pod->rev);
        group->wanted = true;
        if (str_empty(ip) || (!look->publish_not_ready && !life_find(l, l->r.nodes, STR(""), node)))
            continue; /* the pod's next change leads here again */
        struct want *want = arena_new(&l->scratch, struct want);
        want->endpoint = make_endpoint(l, look, pod, ip);
        group->wants[group->n_wants++] = want;
        group->n_left++;
        map_put(&group->by_uid, pod->facts.uid, want);
    }
}

/* --- slices that exist ------------------------------------------------------------------------ */

static bool is_owned(const struct json_value *slice, struct str uid)
{
    struct json_items refs = json_items_at(slice, "metadata.ownerReferences");
    for (size_t i = 0; i < refs.n; i++)
        if (str_eq(json_get_text(&refs.v[i], STR("uid")), uid) &&
            str_is(json_get_text(&refs.v[i], STR("kind")), "Service"))
            return true;
    return false;
}

/* Keeps the endpoints that are wanted, as they are wanted. */
static void keep_endpoints(struct lifecycle *l, struct plan *plan, struct port_group *group,
                           struct slice *slice)
{
    struct json_items old = json_items_at(&slice->object, "endpoints");
    const struct json_value *labels = json_at(&slice->object, "metadata.labels");
    size_t room = MAX(old.n, MAX_ENDPOINTS);
    slice->endpoints = arena_array(&l->scratch, struct json_value, room);
    slice->n_before = old.n;
    for (size_t i = 0; i < old.n; i++) {
        struct want *want = map_get(&group->by_uid, json_text_at(&old.v[i], "targetRef.uid"));
        if (!want || want->placed) {
            slice->changed = true;
            continue;
        }
        want->placed = true;
        group->n_left--;
        slice->changed |= !json_value_equal(&want->endpoint, &old.v[i]);
        slice->endpoints[slice->n++] = want->endpoint;
    }
    slice->labels_changed = !labels || !json_value_equal(labels, &plan->labels);
}

static void read_slices(struct lifecycle *l, struct plan *plan)
{
    const struct service_state *state = plan->look->task->state;
    struct str uid = json_text_at(plan->look->service, "metadata.uid");
    for (size_t i = 0; i < state->slices.n; i++) {
        struct revision *rev =
            life_find(l, l->r.slices, plan->look->rev->namespace, str_of(state->slices.v[i]));
        if (!rev ||
            !str_is(revision_label(rev, STR(MANAGED_BY)), "endpointslice-controller.k8s.io"))
            continue;
        struct slice *slice = arena_new(&l->scratch, struct slice);
        slice->rev = rev;
        slice->object = *life_parse(l, rev);
        if (life_is_deleting(&slice->object) ||
            !str_is(json_text_at(&slice->object, "addressType"), plan->type))
            continue;
        if (!is_owned(&slice->object, uid)) {
            vec_push(&plan->deletes, slice);
            continue;
        }
        struct port_group *group = need_group(l, plan, json_get(&slice->object, STR("ports")));
        keep_endpoints(l, plan, group, slice);
        vec_push(&group->slices, slice);
    }
}

/* --- the plan --------------------------------------------------------------------------------- */

static void fill(struct port_group *group, struct slice *slice)
{
    while (group->n_left && slice->n < MAX_ENDPOINTS) {
        struct want *want = group->wants[group->next++];
        if (want->placed)
            continue;
        want->placed = true;
        group->n_left--;
        slice->changed = true;
        slice->endpoints[slice->n++] = want->endpoint;
    }
}

static int by_fullness(const void *a, const void *b)
{
    const struct slice *const *x = a, *const *y = b;
    return (*x)->n<(*y)->n ? 1 : (*x)->n>(*y)->n ? -1 : 0;
}

/* The slice that is closest to full with n more; NULL: none has room. */
static struct slice *slice_to_fill(const struct port_group *group, size_t n)
{
    struct slice *best = NULL;
    for (size_t i = 0; i < group->slices.n; i++) {
        struct slice *slice = group->slices.v[i];
        if (!slice->changed && slice->n + n <= MAX_ENDPOINTS && (!best || slice->n > best->n))
            best = slice;
    }
    return best;
}

static struct slice *new_slice(struct lifecycle *l)
{
    struct slice *slice = arena_new(&l->scratch, struct slice);
    slice->object = json_object();
    slice->endpoints = arena_array(&l->scratch, struct json_value, MAX_ENDPOINTS);
    slice->changed = true;
    return slice;
}

static void place(struct lifecycle *l, struct plan *plan, struct port_group *group)
{
    if (group->slices.n)
        qsort(group->slices.v, group->slices.n, sizeof(*group->slices.v), by_fullness);
    for (size_t i = 0; i < group->slices.n && group->n_left; i++)
        if (group->slices.v[i]->changed && group->slices.v[i]->n)
            fill(group, group->slices.v[i]);
    while (group->n_left) {
        struct slice *slice =
            group->n_left < MAX_ENDPOINTS ? slice_to_fill(group, group->n_left) : NULL;
        if (!slice) {
            slice = new_slice(l);
            vec_push(&group->slices, slice);
        }
        fill(group, slice);
    }
    /* Slices that became empty are not needed. */
    for (size_t i = 0; i < group->slices.n;) {
        struct slice *slice = group->slices.v[i];
        if (slice->n == 0 && (slice->n_before || !group->wanted || group->n_wants)) {
            vec_push(&plan->deletes, slice);
            vec_swap_remove(&group->slices, i);
        } else {
            i++;
        }
    }
    plan->n_kept += group->slices.n;
}

/* --- writes ----------------------------------------------------------------------------------- */

static void set_new_meta(struct lifecycle *l, const struct plan *plan, struct json_value *meta)
{
    struct arena *a = &l->scratch;
    const struct revision *service = plan->look->rev;
    struct json_value refs = json_array(), ref = json_object();
    json_set(&ref, STR("apiVersion"), json_text(STR("v1")), a);
    json_set(&ref, STR("kind"), json_text(STR("Service")), a);
    json_set(&ref, STR("name"), json_text(service->name), a);
    json_set(&ref, STR("uid"), json_text(json_text_at(plan->look->service, "metadata.uid")), a);
    json_set(&ref, STR("controller"), json_bool(true), a);
    json_set(&ref, STR("blockOwnerDeletion"), json_bool(true), a);
    json_append(&refs, ref, a);
    json_set(meta, STR("generateName"), json_text(arena_printf(a, "%.*s-", STR_ARG(service->name))),
             a);
    json_set(meta, STR("namespace"), json_text(service->namespace), a);
    json_set(meta, STR("ownerReferences"), refs, a);
}

static void write_slice(struct lifecycle *l, const struct plan *plan, struct slice *slice,
                        const struct json_value *ports)
{
    struct arena *a = &l->scratch;
    struct json_value endpoints = {.kind = JSON_ARRAY, .items = slice->endpoints, .n = slice->n};
    struct json_value *o = &slice->object;
    json_set(o, STR("apiVersion"), json_text(l->r.slices->api_version), a);
    json_set(o, STR("kind"), json_text(STR("EndpointSlice")), a);
    json_set(o, STR("addressType"), json_text(str_of(plan->type)), a);
    json_set(o, STR("endpoints"), endpoints, a);
    json_set(o, STR("ports"), *ports, a);
    struct json_value *meta = json_set_object(o, STR("metadata"), a);
    if (!slice->rev)
        set_new_meta(l, plan, meta);
    json_set(meta, STR("labels"), plan->labels, a);
    struct life_target target = {l->r.slices, plan->look->rev->namespace,
                                 slice->rev ? slice->rev->name : STR("")};
    buf_clear(&l->body);
    json_write(o, &l->body);
    task_write(l, &plan->look->task->task, slice->rev ? WRITER_UPDATE : WRITER_CREATE, &target, "");
}

/* A slice that is to be deleted takes the place of one that is to be made. */
static void reuse(struct plan *plan, struct slice *slice, struct str uid)
{
    for (size_t i = 0; i < plan->deletes.n && !slice->rev; i++) {
        struct slice *old = plan->deletes.v[i];
        if (!is_owned(&old->object, uid))
            continue;
        slice->rev = old->rev;
        slice->object = old->object;
        vec_swap_remove(&plan->deletes, i);
    }
}

static void carry_out(struct lifecycle *l, struct plan *plan)
{
    struct str uid = json_text_at(plan->look->service, "metadata.uid");
    for (size_t g = 0; g < plan->order.n; g++) {
        struct port_group *group = plan->order.v[g];
        for (size_t i = 0; i < group->slices.n; i++) {
            struct slice *slice = group->slices.v[i];
            if (!slice->changed && !slice->labels_changed)
                continue;
            if (!slice->rev)
                reuse(plan, slice, uid);
            write_slice(l, plan, slice, &group->ports);
        }
    }
    for (size_t i = 0; i < plan->deletes.n; i++)
        task_delete(l, &plan->look->task->task, plan->deletes.v[i]->rev, "", false);
}

/* A service without endpoints has one empty slice without ports. */
static void add_placeholder(struct lifecycle *l, struct plan *plan)
{
    struct json_value none = json_array();
    struct port_group *group = need_group(l, plan, &none);
    for (size_t i = 0; i < plan->deletes.n; i++) {
        struct slice *slice = plan->deletes.v[i];
        const struct json_value *ports = json_get(&slice->object, STR("ports"));
        if (slice->n_before == 0 && (!ports || ports->n == 0) && slice->endpoints) {
            vec_push(&group->slices, slice);
            vec_swap_remove(&plan->deletes, i);
            slice->changed = false;
            return;
        }
    }
    vec_push(&group->slices, new_slice(l));
}

static void sync_type(struct lifecycle *l, const struct service_look *look, const char *type)
{
    struct plan plan = {.look = look, .type = type, .labels = service_labels(l, look)};
    json_set(&plan.labels, STR(SERVICE_NAME), json_text(look->rev->name), &l->scratch);
    json_set(&plan.labels, STR(MANAGED_BY), json_text(STR("endpointslice-controller.k8s.io")),
             &l->scratch);
    collect_wants(l, &plan);
    read_slices(l, &plan);
    for (size_t i = 0; i < plan.order.n; i++)
        place(l, &plan, plan.order.v[i]);
    if (plan.n_kept == 0)
        add_placeholder(l, &plan);
    carry_out(l, &plan);
    for (size_t i = 0; i < plan.order.n; i++) {
        map_release(&plan.order.v[i]->by_uid);
        vec_release(&plan.order.v[i]->slices);
        free(plan.order.v[i]);
    }
    vec_release(&plan.order);
    vec_release(&plan.deletes);
    map_release(&plan.groups);
}

void slices_sync(struct lifecycle *l, const struct service_look *look)
{
    struct json_items families = json_items_at(look->service, "spec.ipFamilies");
    struct str ip = json_text_at(look->service, "spec.clusterIP");
    if (!l->r.slices)
        return;
    for (size_t i = 0; i < MIN(families.n, 2U); i++)
        sync_type(l, look,
                  families.v[i].kind == JSON_STRING && str_is(families.v[i].text, "IPv6") ? "IPv6"
                                                                                          : "IPv4");
    if (families.n == 0)
        sync_type(l, look, str_find(ip, ':') < ip.n ? "IPv6" : "IPv4");
}
