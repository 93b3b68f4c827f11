/* SPDX-License-Identifier: Apache-2.0 */
/* What a verb function reads and decides: berth/extender.h. */
#include "api/node.h"
#include "api/resources.h"
#include "codec/json.h"
#include "extender/extender_call.h"

static struct berth_str lent(struct str s)
{
    return (struct berth_str){s.p, s.n};
}

/* --- the request ------------------------------------------------------------------------------ */

const struct berth_extender_object *berth_extender_pod(const struct berth_extender_call *call)
{
    return call->pod;
}

size_t berth_extender_n_nodes(const struct berth_extender_call *call)
{
    return call->n_nodes;
}

struct berth_str berth_extender_node_name(const struct berth_extender_call *call, size_t node)
{
    return node < call->n_nodes ? lent(call->nodes[node].name) : (struct berth_str){NULL, 0};
}

const struct berth_extender_object *berth_extender_node(const struct berth_extender_call *call,
                                                        size_t node)
{
    return node < call->n_nodes ? call->nodes[node].object : NULL;
}

size_t berth_extender_n_victims(const struct berth_extender_call *call, size_t node)
{
    return node < call->n_nodes ? call->nodes[node].victims.n : 0;
}

static struct extender_victim *victim_at(const struct berth_extender_call *call, size_t node,
                                         size_t victim)
{
    return victim < berth_extender_n_victims(call, node) ? &call->nodes[node].victims.v[victim]
                                                         : NULL;
}

struct berth_str berth_extender_victim_uid(const struct berth_extender_call *call, size_t node,
                                           size_t victim)
{
    const struct extender_victim *v = victim_at(call, node, victim);
    return v ? lent(v->uid) : (struct berth_str){NULL, 0};
}

const struct berth_extender_object *berth_extender_victim(const struct berth_extender_call *call,
                                                          size_t node, size_t victim)
{
    const struct extender_victim *v = victim_at(call, node, victim);
    return v ? v->pod : NULL;
}

int64_t berth_extender_pdb_violations(const struct berth_extender_call *call, size_t node)
{
    return node < call->n_nodes ? call->nodes[node].pdb_violations : 0;
}

struct berth_extender_binding berth_extender_binding(const struct berth_extender_call *call)
{
    return call->binding;
}

/* --- objects ---------------------------------------------------------------------------------- */

struct labels {
    str_map labels, annotations;
};
static const struct field labels_fields[] = {
    F_STR_MAP(struct labels, labels, "labels", 0),
    F_STR_MAP(struct labels, annotations, "annotations", 0),
};
static const struct type labels_type = TYPE("ObjectMeta", struct labels, labels_fields);

struct labelled {
    struct labels metadata;
};
static const struct field labelled_fields[] = {
    F_MSG(struct labelled, metadata, "metadata", 0, struct labels, &labels_type),
};
static const struct type labelled_type = TYPE("Object", struct labelled, labelled_fields);

struct extender_details {
    struct labelled *labelled;
    struct pod_resource *requests;
    struct resources *allocatable;
};

/* Decoding on demand does not change what an object says. */
static struct extender_details *details_of(const struct berth_extender_object *object)
{
    struct berth_extender_object *o = (struct berth_extender_object *)(uintptr_t)object;
    if (!o->details)
        o->details = arena_new(o->arena, struct extender_details);
    return o->details;
}

struct berth_str berth_extender_name(const struct berth_extender_object *object)
{
    return object ? lent(object->meta.name) : (struct berth_str){NULL, 0};
}

struct berth_str berth_extender_namespace(const struct berth_extender_object *object)
{
    return object ? lent(object->meta.namespace) : (struct berth_str){NULL, 0};
}

struct berth_str berth_extender_uid(const struct berth_extender_object *object)
{
    return object ? lent(object->meta.uid) : (struct berth_str){NULL, 0};
}

struct berth_str berth_extender_json(const struct berth_extender_object *object)
{
    return object ? lent(object->json) : (struct berth_str){NULL, 0};
}

static const struct labels *labels_of(const struct berth_extender_object *object)
{
    struct extender_details *details = details_of(object);
    if (!details->labelled) {
        details->labelled = arena_new(object->arena, struct labelled);
        /* Labels of another type are as good as none. */
        if (json_decode(object->json, &labelled_type, 0, object->arena, details->labelled, NULL) <
            0)
            *details->labelled = (struct labelled){0};
    }
    return &details->labelled->metadata;
}

static bool find_text(const str_map *map, const char *key, struct berth_str *ret_value)
{
    const struct str *value = str_map_get(map, str_of(key));
    if (value)
        *ret_value = lent(*value);
    return value;
}

bool berth_extender_label(const struct berth_extender_object *object, const char *key,
                          struct berth_str *ret_value)
{
    return object && find_text(&labels_of(object)->labels, key, ret_value);
}

bool berth_extender_annotation(const struct berth_extender_object *object, const char *key,
                               struct berth_str *ret_value)
{
    return object && find_text(&labels_of(object)->annotations, key, ret_value);
}

struct member {
    struct str name, value;
};

static bool find_member(void *ctx, struct str name, struct str value)
{
    struct member *m = ctx;
    if (str_eq(name, m->name))
        m->value = value; /* the last one counts */
    return true;
}

struct text {
    struct str v;
};
static const struct field text_fields[] = {F_ONE(struct text, v, "v", 0, STR)};
static const struct type text_type = TYPE("string", struct text, text_fields);

/* The content of a string; other values as they are. */
static struct str unquoted(struct str json, struct arena *a)
{
    struct text text;
    if (str_empty(json) || json.p[0] != '"')
        return json;
    struct str object = arena_printf(a, "{\"v\":%.*s}", STR_ARG(json));
    return json_decode(object, &text_type, 0, a, &text, NULL) < 0 ? json : text.v;
}

bool berth_extender_field(const struct berth_extender_object *object, struct berth_str *ret_value,
                          ...)
{
    va_list ap;
    const char *name;
    struct str at = object ? object->json : (struct str){0};
    va_start(ap, ret_value);
    while ((name = va_arg(ap, const char *)) && at.p) {
        struct member member = {.name = str_of(name)};
        if (at.p[0] != '{' || json_each_member(at, find_member, &member, NULL) < 0)
            member.value = (struct str){0};
        at = member.value;
    }
    va_end(ap);
    if (at.p)
        *ret_value = lent(unquoted(at, object->arena));
    return at.p;
}

static int64_t amount(const struct resources *r, const char *resource)
{
    struct str name = str_of(resource);
    if (str_eq(name, RESOURCE_CPU))
        return r->milli_cpu;
    if (str_eq(name, RESOURCE_MEMORY))
        return r->memory;
    if (str_eq(name, RESOURCE_EPHEMERAL_STORAGE))
        return r->ephemeral_storage;
    if (str_eq(name, RESOURCE_PODS))
        return r->allowed_pods;
    const int64_t *scalar = resources_scalar(r, name);
    return scalar ? *scalar : 0;
}

int64_t berth_extender_pod_request(const struct berth_extender_object *pod, const char *resource)
{
    if (!pod)
        return 0;
    struct extender_details *details = details_of(pod);
    if (!details->requests) {
        struct pod *decoded = arena_new(pod->arena, struct pod);
        details->requests = arena_new(pod->arena, struct pod_resource);
        if (json_decode(pod->json, &pod_type, 0, pod->arena, decoded, NULL) == 0)
            pod_resource_calculate(decoded, &RESOURCE_GATES_DEFAULT, pod->arena, details->requests);
    }
    return amount(&details->requests->requests, resource);
}

int64_t berth_extender_node_allocatable(const struct berth_extender_object *node,
                                        const char *resource)
{
    if (!node)
        return 0;
    struct extender_details *details = details_of(node);
    if (!details->allocatable) {
        struct node *decoded = arena_new(node->arena, struct node);
        details->allocatable = arena_new(node->arena, struct resources);
        if (json_decode(node->json, &node_type, 0, node->arena, decoded, NULL) == 0)
            resources_from_map(&decoded->status.allocatable, node->arena, details->allocatable);
    }
    return amount(details->allocatable, resource);
}

/* --- the answer ------------------------------------------------------------------------------- */

void berth_extender_reject(struct berth_extender_call *call, size_t node, enum berth_code code,
                           const char *reason)
{
    if (node >= call->n_nodes)
        return;
    bool never = code == BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    call->nodes[node].code = never ? code : BERTH_UNSCHEDULABLE;
    call->nodes[node].reason = arena_dup(&call->arena, str_of(reason));
}

void berth_extender_score(struct berth_extender_call *call, size_t node, int64_t score)
{
    if (node < call->n_nodes)
        call->nodes[node].score = score;
}

void berth_extender_spare(struct berth_extender_call *call, size_t node, size_t victim)
{
    struct extender_victim *v = victim_at(call, node, victim);
    if (v)
        v->spared = true;
}

void berth_extender_set_pdb_violations(struct berth_extender_call *call, size_t node,
                                       int64_t violations)
{
    if (node < call->n_nodes)
        call->nodes[node].pdb_violations = violations;
}

void berth_extender_create_binding(struct berth_extender_call *call)
{
    if (call->verb == EXTENDER_CALL_BIND)
        call->create_binding = true;
    else
        berth_extender_fail(call, "berth_extender_create_binding is for bind only");
}

void berth_extender_fail(struct berth_extender_call *call, const char *error)
{
    struct str text = str_of(error);
    if (str_empty(call->error))
        call->error = arena_dup(&call->arena, str_empty(text) ? STR("unknown error") : text);
}
