/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_info.c - derives requests, host ports, claims and affinity terms from a pod, once.
 *
 * An assumed pod shares the derived data of its base and differs in the node only.
 */
#include "engine/cache/pod_info.h"

#include "engine/cache/affinity_term.h"
#include "engine/cache/object_key.h"

static struct str or_default(struct str s, const char *fallback)
{
    return str_empty(s) ? str_of(fallback) : s;
}

static void add_ports(struct berth_pod *p, const struct container *c)
{
    for (size_t i = 0; i < c->ports.n; i++) {
        const struct container_port *port = &c->ports.v[i];
        if (port->host_port <= 0)
            continue;
        vec_push(&p->ports, (struct host_port){
                                .ip = intern_get(p->names, or_default(port->host_ip, "0.0.0.0")),
                                .protocol = intern_get(p->names, or_default(port->protocol, "TCP")),
                                .port = port->host_port,
                            });
    }
}

static int by_port(const void *a, const void *b)
{
    return host_port_cmp(a, b);
}

static int by_atom(const void *a, const void *b)
{
    atom_t x = *(const atom_t *)a, y = *(const atom_t *)b;
    return (x > y) - (x < y);
}

static void derive_ports(struct berth_pod *p)
{
    const struct pod_spec *spec = &p->pod->spec;
    for (size_t i = 0; i < spec->containers.n; i++)
        add_ports(p, &spec->containers.v[i]);
    /* Of the init containers, only sidecars keep running. */
    for (size_t i = 0; i < spec->init_containers.n; i++)
        if (str_is(spec->init_containers.v[i].restart_policy, "Always"))
            add_ports(p, &spec->init_containers.v[i]);
    if (p->ports.n > 1)
        qsort(p->ports.v, p->ports.n, sizeof(*p->ports.v), by_port);
}

static void derive_claims(struct berth_pod *p)
{
    const struct object_meta *meta = &p->pod->metadata;
    struct buf key = BUF_INIT;
    for (size_t i = 0; i < p->pod->spec.volumes.n; i++) {
        const struct volume *v = &p->pod->spec.volumes.v[i];
        if (v->source.persistent_volume_claim) {
            object_key(&key, meta->namespace, v->source.persistent_volume_claim->claim_name);
        } else if (v->source.ephemeral) {
            /* The claim of an ephemeral volume is named after the pod and the volume. */
            object_key(&key, meta->namespace, meta->name);
            buf_add_char(&key, '-');
            buf_add_str(&key, v->name);
        } else {
            continue;
        }
        vec_push(&p->claims, intern_get(p->names, buf_str(&key)));
    }
    if (p->claims.n > 1)
        qsort(p->claims.v, p->claims.n, sizeof(*p->claims.v), by_atom);
    buf_release(&key);
}

static void derive_affinity(struct berth_pod *p)
{
    const struct affinity *a = p->pod->spec.affinity;
    p->affinity = affinity_set_new(p->pod);
    if (!p->affinity)
        return;
    p->has_required_anti_affinity = a->pod_anti_affinity && a->pod_anti_affinity->required.n;
    p->has_affinity =
        (a->pod_affinity && (a->pod_affinity->required.n || a->pod_affinity->preferred.n)) ||
        (a->pod_anti_affinity &&
         (a->pod_anti_affinity->required.n || a->pod_anti_affinity->preferred.n));
}

static void derive_requests(struct berth_pod *p)
{
    struct arena scratch;
    struct pod_resource resource;
    arena_init(&scratch, 0);
    pod_resource_calculate(p->pod, &RESOURCE_GATES_DEFAULT, &scratch, &resource);
    resource_set(&p->requests, p->names, &resource.requests);
    p->nonzero_milli_cpu = resource.non_zero_milli_cpu;
    p->nonzero_memory = resource.non_zero_memory;
    arena_release(&scratch);
}

struct berth_pod *pod_info_new(struct object *object, struct intern *names)
{
    struct berth_pod *p = xnew(struct berth_pod);
    p->refs = 1;
    p->object = object_ref(object);
    p->pod = object_pod(object);
    p->names = names;
    p->node_name = p->pod->spec.node_name;
    p->priority = p->pod->spec.priority ? *p->pod->spec.priority : 0;
    derive_requests(p);
    derive_ports(p);
    derive_claims(p);
    derive_affinity(p);
    return p;
}

struct berth_pod *pod_info_assume(struct berth_pod *pod, struct str node_name)
{
    struct berth_pod *p = xnew(struct berth_pod);
    *p = *pod;
    p->refs = 1;
    p->base = pod_info_ref(pod);
    p->claimed = NULL;
    p->assumed_node = str_dup(node_name);
    p->node_name = str_of(p->assumed_node);
    return p;
}

/* --- what claims take of the node ------------------------------------------------------------- */

static void copy_statuses(struct claimed_resources *c,
                          const struct node_allocatable_resource_claim_status *from, size_t n)
{
    struct arena *a = &c->arena;
    c->statuses.v = arena_array(a, struct node_allocatable_resource_claim_status, n);
    c->statuses.n = n;
    for (size_t i = 0; i < n; i++) {
        struct node_allocatable_resource_claim_status *s = &c->statuses.v[i];
        s->resource_claim_name = arena_dup(a, from[i].resource_claim_name);
        s->containers.n = from[i].containers.n;
        s->containers.v = arena_array(a, struct str, s->containers.n);
        for (size_t k = 0; k < s->containers.n; k++)
            s->containers.v[k] = arena_dup(a, from[i].containers.v[k]);
        s->resources.n = from[i].resources.n;
        s->resources.v = arena_array(a, struct quantity_entry, s->resources.n);
        for (size_t k = 0; k < s->resources.n; k++)
            s->resources.v[k] =
                (struct quantity_entry){arena_dup(a, from[i].resources.v[k].key),
                                        quantity_dup(&from[i].resources.v[k].value, a)};
    }
}

static void drop_claimed(struct berth_pod *p)
{
    if (!p->claimed)
        return;
    resource_release(&p->claimed->requests, p->names);
    arena_release(&p->claimed->arena);
    free(p->claimed);
    p->claimed = NULL;
}

void pod_info_claim(struct berth_pod *pod,
                    const struct node_allocatable_resource_claim_status *statuses, size_t n)
{
    drop_claimed(pod);
    if (!n)
        return;
    struct claimed_resources *c = xnew(struct claimed_resources);
    struct resource_gates gates = RESOURCE_GATES_DEFAULT;
    struct pod with = *pod->pod;
    struct pod_resource resource;
    struct arena scratch;
    arena_init(&c->arena, 0);
    copy_statuses(c, statuses, n);
    gates.dra_node_allocatable_resources = true;
    with.status.node_allocatable_resource_claim_statuses.v = c->statuses.v;
    with.status.node_allocatable_resource_claim_statuses.n = n;
    arena_init(&scratch, 0);
    pod_resource_calculate(&with, &gates, &scratch, &resource);
    resource_set(&c->requests, pod->names, &resource.requests);
    c->nonzero_milli_cpu = resource.non_zero_milli_cpu;
    c->nonzero_memory = resource.non_zero_memory;
    arena_release(&scratch);
    pod->claimed = c;
}

/* --- references ------------------------------------------------------------------------------- */

struct berth_pod *pod_info_ref(struct berth_pod *pod)
{
    pod->refs++;
    return pod;
}

static void release_derived(struct berth_pod *p)
{
    resource_release(&p->requests, p->names);
    for (size_t i = 0; i < p->ports.n; i++) {
        intern_put(p->names, p->ports.v[i].ip);
        intern_put(p->names, p->ports.v[i].protocol);
    }
    vec_release(&p->ports);
    for (size_t i = 0; i < p->claims.n; i++)
        intern_put(p->names, p->claims.v[i]);
    vec_release(&p->claims);
    affinity_set_free(p->affinity);
    object_unref(p->object);
}

void pod_info_unref(struct berth_pod *pod)
{
    if (--pod->refs)
        return;
    drop_claimed(pod);
    if (pod->base)
        pod_info_unref(pod->base);
    else
        release_derived(pod);
    free(pod->assumed_node);
    free(pod);
}
