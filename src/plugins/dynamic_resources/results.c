/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of a search as the API has it: devices, configuration of classes and claims, and the
 * nodes on which the allocation can be used.
 */
#include "plugins/dynamic_resources/allocator_internal.h"

struct builder {
    struct search *s;
    struct arena *arena;
    const struct claim_plan *claim;
    const struct chosen *chosen; /* of the claim */
    size_t n;
};

static struct str full_name(const struct request_plan *r, struct arena *a)
{
    if (str_empty(r->parent))
        return r->name;
    return arena_printf(a, "%.*s/%.*s", STR_ARG(r->parent), STR_ARG(r->name));
}

#define COPY_STRS(list, from, a)                             \
    do {                                                     \
        (list)->n = (from)->n;                               \
        (list)->v = arena_array((a), struct str, (from)->n); \
        for (size_t i_ = 0; i_ < (from)->n; i_++)            \
            (list)->v[i_] = arena_dup((a), (from)->v[i_]);   \
    } while (0)

/* --- devices ---------------------------------------------------------------------------------- */

static void fill_share(const struct builder *b, const struct chosen *c,
                       struct device_request_allocation_result *r)
{
    const struct device *api = c->device->device;
    struct allocation *call = b->s->call;
    if (call->new_share_id) {
        char uuid[37];
        call->new_share_id(call->ctx, uuid);
        r->share_id = arena_dup(b->arena, str_of(uuid));
    }
    r->consumed_capacity.n = api->capacity.n;
    r->consumed_capacity.v = arena_array(b->arena, struct quantity_entry, api->capacity.n);
    for (size_t i = 0; i < api->capacity.n; i++) {
        struct quantity_entry *e = &r->consumed_capacity.v[i];
        e->key = arena_dup(b->arena, api->capacity.v[i].key);
        e->value = quantity_dup(&b->s->amounts.v[c->consumed + i], b->arena);
    }
}

static void fill_device(const struct builder *b, const struct chosen *c,
                        struct device_request_allocation_result *r)
{
    const struct device_id *id = c->device->id;
    const struct device *api = c->device->device;
    r->request = full_name(c->request, b->arena);
    r->driver = arena_dup(b->arena, id->driver);
    r->pool = arena_dup(b->arena, id->pool);
    r->device = arena_dup(b->arena, id->device);
    r->admin_access = c->request->admin_access;
    r->tolerations.v = (struct device_toleration *)(uintptr_t)c->request->tolerations;
    r->tolerations.n = c->request->n_tolerations;
    if (b->s->d->features.binding_conditions) {
        COPY_STRS(&r->binding_conditions, &api->binding_conditions, b->arena);
        COPY_STRS(&r->binding_failure_conditions, &api->binding_failure_conditions, b->arena);
    }
    if (c->shared)
        fill_share(b, c, r);
}

/* --- configuration ---------------------------------------------------------------------------- */

typedef VEC(struct device_allocation_configuration) config_list;

/* The request, or the alternative that was chosen. */
static const struct request_plan *selected(const struct builder *b,
                                           const struct request_group *group)
{
    if (!group->prioritized)
        return &group->plans[0];
    for (size_t i = 0; i < b->s->stack.n; i++) {
        const struct frame *f = &b->s->stack.v[i];
        if (f->kind == FRAME_ALTERNATIVES && b->s->claims[f->at.claim] == b->claim &&
            &b->claim->groups.v[f->at.group] == group)
            return &group->plans[f->at.alternative];
    }
    return &group->plans[0];
}

static struct device_configuration copy_config(const struct device_configuration *from,
                                               struct arena *a)
{
    struct device_configuration copy = {0};
    if (from->opaque) {
        copy.opaque = arena_new(a, struct opaque_device_configuration);
        copy.opaque->driver = arena_dup(a, from->opaque->driver);
        copy.opaque->parameters = arena_dup(a, from->opaque->parameters);
    }
    return copy;
}

/* Each class once, with the names of the requests that use it. */
static void add_class_config(const struct builder *b, size_t group, config_list *list)
{
    const struct request_plan *first = selected(b, &b->claim->groups.v[group]);
    for (size_t i = 0; i < group; i++)
        if (selected(b, &b->claim->groups.v[i])->class == first->class)
            return; /* added with that one */
    size_t n = 0;
    struct str *names = arena_array(b->arena, struct str, b->claim->groups.n - group);
    for (size_t i = group; i < b->claim->groups.n; i++) {
        const struct request_plan *r = selected(b, &b->claim->groups.v[i]);
        if (r->class == first->class)
            names[n++] = full_name(r, b->arena);
    }
    const struct device_class *class = first->class->api;
    for (size_t i = 0; i < class->spec.config.n; i++) {
        struct device_allocation_configuration c = {
            .source = STR("FromClass"),
            .device_configuration =
                copy_config(&class->spec.config.v[i].device_configuration, b->arena),
        };
        c.requests.v = names;
        c.requests.n = n;
        vec_push(list, c);
    }
}

static bool names_request(const struct device_claim_configuration *config, struct str parent,
                          struct str name)
{
    for (size_t i = 0; i < config->requests.n; i++) {
        struct str r = config->requests.v[i];
        if (str_empty(parent) ? str_eq(r, name)
                              : r.n == parent.n + 1 + name.n && str_starts(r, parent) &&
                                    r.p[parent.n] == '/' && str_ends(r, name))
            return true;
    }
    return false;
}

/* Once for every request that it names, as upstream does. */
static void add_claim_config(const struct builder *b, const struct device_claim_configuration *from,
                             config_list *list)
{
    struct device_allocation_configuration c = {
        .source = STR("FromClaim"),
        .device_configuration = from->device_configuration,
    };
    c.requests.v = from->requests.v;
    c.requests.n = from->requests.n;
    if (from->requests.n == 0)
        vec_push(list, c);
    for (size_t i = 0; i < b->claim->groups.n && from->requests.n > 0; i++) {
        const struct request_group *group = &b->claim->groups.v[i];
        const struct request_plan *r = selected(b, group);
        if (names_request(from, STR(""), group->name) ||
            (group->prioritized && names_request(from, group->name, r->name)))
            vec_push(list, c);
    }
}

static void fill_config(const struct builder *b, struct device_allocation_result *result)
{
    config_list list = {0};
    for (size_t i = 0; i < b->claim->groups.n; i++)
        add_class_config(b, i, &list);
    const struct device_claim *spec = &b->claim->claim->spec.devices;
    for (size_t i = 0; i < spec->config.n; i++)
        add_claim_config(b, &spec->config.v[i], &list);
    result->config.n = list.n;
    result->config.v = arena_array(b->arena, struct device_allocation_configuration, list.n);
    if (list.n > 0)
        memcpy(result->config.v, list.v, list.n * sizeof(*list.v));
    vec_release(&list);
}

/* --- nodes ------------------------------------------------------------------------------------ */

typedef VEC(struct node_selector_requirement) requirement_list;

static bool has_value(const struct node_selector_requirement *r, struct str value)
{
    for (size_t i = 0; i < r->values.n; i++)
        if (str_eq(r->values.v[i], value))
            return true;
    return false;
}

/* Values are compared as sets. */
static bool same_requirement(const struct node_selector_requirement *a,
                             const struct node_selector_requirement *b)
{
    if (!str_eq(a->key, b->key) || !str_eq(a->operator, b->operator))
        return false;
    for (size_t i = 0; i < a->values.n; i++)
        if (!has_value(b, a->values.v[i]))
            return false;
    for (size_t i = 0; i < b->values.n; i++)
        if (!has_value(a, b->values.v[i]))
            return false;
    return true;
}

static void add_requirements(const struct node_selector_requirement *v, size_t n, struct arena *a,
                             requirement_list *to)
{
    for (size_t i = 0; i < n; i++) {
        bool known = false;
        for (size_t k = 0; k < to->n && !known; k++)
            known = same_requirement(&to->v[k], &v[i]);
        if (known)
            continue;
        struct node_selector_requirement r = {.key = arena_dup(a, v[i].key),
                                              .operator= arena_dup(a, v[i].operator)};
        COPY_STRS(&r.values, &v[i].values, a);
        vec_push(to, r);
    }
}

static struct node_selector *new_selector(struct arena *a, struct node_selector_term **ret_term)
{
    struct node_selector *ns = arena_new(a, struct node_selector);
    ns->node_selector_terms.n = 1;
    ns->node_selector_terms.v = *ret_term = arena_new(a, struct node_selector_term);
    return ns;
}

static struct node_selector *one_node(struct str name, struct arena *a)
{
    struct node_selector_term *term;
    struct node_selector *ns = new_selector(a, &term);
    struct node_selector_requirement *r = arena_new(a, struct node_selector_requirement);
    r->key = NODE_FIELD_NAME;
    r->operator= STR("In");
    r->values.n = 1;
    r->values.v = arena_new(a, struct str);
    r->values.v[0] = arena_dup(a, name);
    term->match_fields.v = r;
    term->match_fields.n = 1;
    return ns;
}

static void set_requirements(requirement_list *from, struct arena *a,
                             struct node_selector_requirement **v, size_t *n)
{
    *n = from->n;
    *v = arena_array(a, struct node_selector_requirement, from->n);
    if (from->n > 0)
        memcpy(*v, from->v, from->n * sizeof(*from->v));
    vec_release(from);
}

/* NULL: usable on every node. *ret_terms: a selector with more than one term, which is an error. */
static struct node_selector *make_selector(const struct builder *b, size_t *ret_terms)
{
    requirement_list fields = {0}, expressions = {0};
    struct node_selector *ns = NULL;
    for (size_t i = 0; i < b->n && !ns && *ret_terms == 0; i++) {
        const struct slice_device *device = b->chosen[i].device;
        const struct resource_slice_spec *slice = &device->slice->api->spec;
        bool own = slice->per_device_node_selection;
        struct str name = own ? device->device->node_name : slice->node_name;
        const struct node_selector *from =
            own ? device->device->node_selector : slice->node_selector;
        if (!str_empty(name) || (device->device->binds_to_node && !b->s->d->stable))
            ns = one_node(b->s->node->metadata.name, b->arena);
        else if (from && from->node_selector_terms.n > 1)
            *ret_terms = from->node_selector_terms.n;
        else if (from && from->node_selector_terms.n == 1) {
            const struct node_selector_term *term = &from->node_selector_terms.v[0];
            add_requirements(term->match_fields.v, term->match_fields.n, b->arena, &fields);
            add_requirements(term->match_expressions.v, term->match_expressions.n, b->arena,
                             &expressions);
        }
    }
    if (!ns && (fields.n > 0 || expressions.n > 0)) {
        struct node_selector_term *term;
        ns = new_selector(b->arena, &term);
        set_requirements(&fields, b->arena, &term->match_fields.v, &term->match_fields.n);
        set_requirements(&expressions, b->arena, &term->match_expressions.v,
                         &term->match_expressions.n);
    }
    vec_release(&fields);
    vec_release(&expressions);
    return ns;
}

/* --- all claims ------------------------------------------------------------------------------- */

static bool build_claim(const struct builder *b, struct allocation_result *result)
{
    result->devices.results.n = b->n;
    result->devices.results.v =
        arena_array(b->arena, struct device_request_allocation_result, b->n);
    for (size_t i = 0; i < b->n; i++)
        fill_device(b, &b->chosen[i], &result->devices.results.v[i]);
    fill_config(b, &result->devices);
    size_t terms = 0;
    result->node_selector = make_selector(b, &terms);
    if (terms == 0)
        return true;
    buf_add_printf(&b->s->error,
                   "create NodeSelector for claim %.*s: unsupported ResourceSlice.NodeSelector "
                   "with %zu terms",
                   STR_ARG(b->claim->claim->metadata.name), terms);
    return false;
}

/* Upstream refuses a selector with several terms only when it writes the result. */
bool results_may_fail(const struct search *s)
{
    for (size_t i = 0; i < s->chosen.n; i++) {
        const struct slice_device *device = s->chosen.v[i].device;
        const struct node_selector *slice = device->slice->api->spec.node_selector;
        const struct node_selector *own = device->device->node_selector;
        if ((slice && slice->node_selector_terms.n > 1) || (own && own->node_selector_terms.n > 1))
            return true;
    }
    return false;
}

bool results_build(struct search *s, struct arena *arena, struct allocation_result **ret_results)
{
    struct allocation_result *results = arena_array(arena, struct allocation_result, s->n_claims);
    const struct chosen *chosen = s->chosen.v;
    for (size_t i = 0; i < s->n_claims; i++) {
        struct builder b = {
            .s = s, .arena = arena, .claim = s->claims[i], .chosen = chosen, .n = s->n_chosen[i]};
        if (!build_claim(&b, &results[i]))
            return false;
        if (chosen)
            chosen += b.n;
    }
    *ret_results = results;
    return true;
}
