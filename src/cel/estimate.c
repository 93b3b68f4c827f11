/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/estimate.h"

/* --- the sizes of a device -------------------------------------------------------------------- */

/* What the API allows for a part of the variable device. */
struct part {
    uint64_t max;
    const struct part *keys, *elements;
    bool elements_by_name; /* m.name is an element; otherwise nothing is known about it */
};

static const struct part domain_part = {.max = 63}, id_part = {.max = 32}, value_part = {.max = 64},
                         amount_part = {.max = 0}, driver_part = {.max = 63},
                         multiple_part = {.max = 1}, device_part = {.max = 0};
static const struct part ids_part = {32, &id_part, &value_part, true},
                         domains_part = {32, &domain_part, &ids_part, false},
                         amounts_part = {32, &id_part, &amount_part, false},
                         capacity_part = {32, &domain_part, &amounts_part, false};

static const struct part *device_field(struct str name)
{
    if (str_is(name, "driver"))
        return &driver_part;
    if (str_is(name, "attributes"))
        return &domains_part;
    if (str_is(name, "capacity"))
        return &capacity_part;
    return str_is(name, "allowMultipleAllocations") ? &multiple_part : NULL;
}

/* A path from a variable; `part` is NULL where it leaves the device. */
struct path {
    const struct part *part;
};

static struct path step(struct path p, struct str name)
{
    const struct part *from = p.part;
    p.part = NULL;
    if (!from)
        return p;
    if (str_is(name, "@items") || str_is(name, "@values"))
        p.part = from->elements;
    else if (str_is(name, "@keys"))
        p.part = from->keys;
    else if (from == &device_part)
        p.part = device_field(name);
    else if (from->elements_by_name)
        p.part = from->elements;
    return p;
}

/* --- what is known of nodes and variables ----------------------------------------------------- */

struct size {
    bool known;
    struct cel_range range;
};

struct entries {
    bool known;
    enum cel_type_kind container;
    struct cel_range key, value;
};

struct cel_estimate_memo {
    struct path path;
    struct size size;
    struct entries entries;
};

struct variable {
    struct str name;
    struct path path;
    struct size size;
    struct entries entries;
    const struct variable *outer;
};

struct coster {
    struct arena *arena;
    const struct variable *variables;
};

static struct cel_range cost_of(struct coster *c, struct cel_expr *e);

static struct cel_estimate_memo *memo(struct coster *c, struct cel_expr *e)
{
    if (!e->memo)
        e->memo = arena_new(c->arena, struct cel_estimate_memo);
    return e->memo;
}

static const struct variable *find_variable(const struct coster *c, const struct cel_expr *e)
{
    if (e->kind != CEL_E_IDENT)
        return NULL;
    for (const struct variable *v = c->variables; v; v = v->outer) {
        if (str_eq(v->name, e->ident))
            return v;
    }
    return NULL;
}

static struct path path_of(struct coster *c, struct cel_expr *e)
{
    const struct variable *v = find_variable(c, e);
    return v ? v->path : memo(c, e)->path;
}

static struct size fixed(uint64_t n)
{
    return (struct size){true, {n, n}};
}

static struct size literal_size(const struct cel_expr *e)
{
    switch (e->kind) {
    case CEL_E_LITERAL:
        return fixed(cel_size_of(e->literal));
    case CEL_E_LIST:
        return fixed(e->list.n);
    case CEL_E_MAP:
        return fixed(e->map.n);
    default:
        return (struct size){false, CEL_UNKNOWN_RANGE};
    }
}

static bool is_scalar(const struct cel_type *t)
{
    switch (t->kind) {
    case CEL_T_BOOL:
    case CEL_T_DOUBLE:
    case CEL_T_DURATION:
    case CEL_T_INT:
    case CEL_T_TIMESTAMP:
    case CEL_T_UINT:
        return true;
    case CEL_T_OPAQUE:
        return cel_type_is_optional(t) && is_scalar(t->params[0]);
    default:
        return false;
    }
}

static struct size size_of(struct coster *c, struct cel_expr *e)
{
    struct cel_estimate_memo *m = memo(c, e);
    if (m->size.known)
        return m->size;
    struct size size = literal_size(e);
    if (size.known)
        return size;
    struct path path = path_of(c, e);
    if (path.part) {
        m->size = (struct size){true, {0, path.part->max}};
        return m->size;
    }
    if (is_scalar(e->type))
        return fixed(1);
    const struct variable *v = find_variable(c, e);
    return v ? v->size : size;
}

static struct cel_range size_or_unknown(struct coster *c, struct cel_expr *e)
{
    struct size size = size_of(c, e);
    return size.known ? size.range : CEL_UNKNOWN_RANGE;
}

static struct entries entries_of(struct coster *c, struct cel_expr *e)
{
    struct cel_estimate_memo *m = memo(c, e);
    if (m->entries.known)
        return m->entries;
    const struct variable *v = find_variable(c, e);
    return v ? v->entries : (struct entries){.known = false};
}

static void set_size(struct coster *c, struct cel_expr *e, struct size size)
{
    if (size.known)
        memo(c, e)->size = size;
}

static void set_entries(struct coster *c, struct cel_expr *e, struct entries entries)
{
    if (entries.known)
        memo(c, e)->entries = entries;
}

static struct entries entries_union(struct entries a, struct entries b)
{
    if (!a.known || !b.known)
        return (struct entries){.known = false};
    a.key = cel_range_union(a.key, b.key);
    a.value = cel_range_union(a.value, b.value);
    return a;
}

/* --- calls ------------------------------------------------------------------------------------ */

static struct cel_range one(void)
{
    return (struct cel_range){1, 1};
}

struct call {
    struct cel_expr *e;
    struct cel_estimate_arg args[CEL_MAX_ARGS + 1], target;
    struct cel_range costs[CEL_MAX_ARGS + 1], sum;
};

static struct cel_estimate_arg arg_of(struct coster *c, struct cel_expr *e)
{
    struct size size = size_of(c, e);
    return (struct cel_estimate_arg){
        .type = e->type,
        .literal = e->kind == CEL_E_LITERAL ? &e->literal : NULL,
        .sized = size.known,
        .size = size.known ? size.range : CEL_UNKNOWN_RANGE,
    };
}

static struct cel_estimate plain(struct cel_range cost)
{
    return (struct cel_estimate){.cost = cost};
}

/* The types of Kubernetes are compared at once; a URL by its text, a format by its size. */
static bool estimate_object_equality(const struct call *call, struct cel_range *ret)
{
    const struct cel_type *t = call->args[0].type;
    if ((t->kind != CEL_T_OPAQUE && t->kind != CEL_T_OBJECT) ||
        call->args[1].type->kind != t->kind || !str_eq(call->args[1].type->name, t->name))
        return false;
    if (str_is(t->name, "kubernetes.URL")) {
        uint64_t max = call->args[1].sized ? call->args[1].size.max : 1;
        *ret = cel_range_scale((struct cel_range){1, max}, CEL_TRAVERSAL);
        return true;
    }
    if (str_is(t->name, "kubernetes.NamedFormat")) {
        *ret = cel_range_scale((struct cel_range){1, 64}, CEL_TRAVERSAL);
        return true;
    }
    *ret = one();
    return !cel_type_is_optional(t) && !str_is(t->name, "kubernetes.DRADevice");
}

static struct cel_estimate estimate_comparison(const struct call *call, bool equality)
{
    struct cel_range cost;
    if (equality && estimate_object_equality(call, &cost))
        return plain(cel_range_add(cost, call->sum));
    uint64_t max = MIN(call->args[0].size.max, call->args[1].size.max);
    cost = cel_range_scale((struct cel_range){max > 0, max}, CEL_TRAVERSAL);
    return plain(cel_range_add(cost, call->sum));
}

static struct cel_estimate estimate_join(struct coster *c, const struct call *call, bool lists)
{
    struct cel_range size = cel_range_add(call->args[0].size, call->args[1].size);
    struct cel_expr **args = call->e->call.args;
    set_entries(c, call->e, entries_union(entries_of(c, args[0]), entries_of(c, args[1])));
    struct cel_range cost = lists ? one() : cel_range_scale(size, CEL_TRAVERSAL);
    return (struct cel_estimate){cel_range_add(cost, call->sum), true, size};
}

static struct cel_estimate estimate_conditional(struct coster *c, const struct call *call)
{
    struct cel_expr **args = call->e->call.args;
    set_entries(c, call->e, entries_union(entries_of(c, args[1]), entries_of(c, args[2])));
    return (struct cel_estimate){
        cel_range_add(call->costs[0], cel_range_union(call->costs[1], call->costs[2])), true,
        cel_range_union(call->args[1].size, call->args[2].size)};
}

static bool is_text_relation(struct str id)
{
    bool relation = str_starts(id, STR("less_")) || str_starts(id, STR("greater_"));
    return relation && (str_ends(id, STR("_string")) || str_ends(id, STR("_bytes")));
}

static struct cel_estimate estimate_overload(struct coster *c, const struct call *call,
                                             const struct cel_overload *o)
{
    struct str id = str_of(o->id);
    if (str_is(id, "equals") || str_is(id, "not_equals") || is_text_relation(id))
        return estimate_comparison(call, str_is(id, "equals"));
    if (str_is(id, "add_string") || str_is(id, "add_bytes") || str_is(id, "add_list"))
        return estimate_join(c, call, str_is(id, "add_list"));
    if (str_is(id, "conditional"))
        return estimate_conditional(c, call);
    if (str_is(id, "logical_and") || str_is(id, "logical_or"))
        return plain((struct cel_range){call->costs[0].min, call->sum.max});
    struct cel_estimate result = plain(one());
    struct cel_estimate_call view = {o, call->e->call.target ? &call->target : NULL, call->args,
                                     call->e->call.n};
    if (!o->estimate || !o->estimate(&view, &result))
        result = plain(one());
    result.cost = cel_range_add(result.cost, call->sum);
    return result;
}

/* The path and size of an element, if the overload takes one out. */
static void estimate_element(struct coster *c, struct cel_expr *e, struct str id,
                             struct size *result)
{
    bool list = str_is(id, "index_list");
    if (!list && !str_is(id, "index_map"))
        return;
    struct entries entries = entries_of(c, e->call.args[0]);
    *result = (struct size){entries.known, entries.value};
    memo(c, e)->path = step(path_of(c, e->call.args[0]), list ? STR("@items") : STR("@values"));
}

static struct cel_range cost_call(struct coster *c, struct cel_expr *e)
{
    struct call call = {.e = e};
    for (size_t i = 0; i < e->call.n && i <= CEL_MAX_ARGS; i++) {
        call.costs[i] = cost_of(c, e->call.args[i]);
        call.args[i] = arg_of(c, e->call.args[i]);
        call.sum = cel_range_add(call.sum, call.costs[i]);
    }
    if (str_is(e->call.function, "dyn")) {
        set_size(c, e, size_of(c, e->call.args[0]));
        set_entries(c, e, entries_of(c, e->call.args[0]));
        return cel_range_add(one(), call.sum);
    }
    struct cel_range target = {0, 0}, cost = {UINT64_MAX, 0};
    if (e->call.target) {
        target = cost_of(c, e->call.target);
        call.target = arg_of(c, e->call.target);
    }
    struct size size = {.known = false};
    for (size_t i = 0; i < e->n_overloads; i++) {
        struct cel_estimate x = estimate_overload(c, &call, e->overloads[i]);
        cost = cel_range_union(cost, x.cost);
        if (x.sized)
            size = (struct size){true, size.known ? cel_range_union(size.range, x.size) : x.size};
        estimate_element(c, e, str_of(e->overloads[i]->id), &size);
        if (!size.known)
            size = size_of(c, e);
    }
    set_size(c, e, size);
    return cel_range_add(target, cost);
}

/* --- everything else -------------------------------------------------------------------------- */

static struct cel_range cost_ident(struct coster *c, struct cel_expr *e)
{
    const struct variable *v = find_variable(c, e);
    memo(c, e)->path =
        v ? v->path : (struct path){.part = str_is(e->ident, "device") ? &device_part : NULL};
    return one();
}

static struct cel_range cost_select(struct coster *c, struct cel_expr *e)
{
    struct cel_range cost = cost_of(c, e->select.operand);
    if (e->select.test_only)
        return cost;
    memo(c, e)->path = step(path_of(c, e->select.operand), e->select.field);
    enum cel_type_kind kind = e->select.operand->type->kind;
    return kind == CEL_T_MAP || kind == CEL_T_OBJECT ? cel_range_add(cost, one()) : cost;
}

static struct cel_range cost_list(struct coster *c, struct cel_expr *e)
{
    struct cel_range sum = {10, 10}, value = {e->list.n > 0 ? UINT64_MAX : 0, 0};
    for (size_t i = 0; i < e->list.n; i++) {
        sum = cel_range_add(sum, cost_of(c, e->list.items[i]));
        value = cel_range_union(value, size_or_unknown(c, e->list.items[i]));
    }
    set_entries(c, e, (struct entries){true, CEL_T_LIST, one(), value});
    return sum;
}

static struct cel_range cost_map(struct coster *c, struct cel_expr *e)
{
    uint64_t least = e->map.n > 0 ? UINT64_MAX : 0;
    struct cel_range sum = {30, 30}, key = {least, 0}, value = {least, 0};
    for (size_t i = 0; i < e->map.n; i++) {
        struct cel_entry *entry = &e->map.entries[i];
        sum = cel_range_add(sum, cost_of(c, entry->key));
        sum = cel_range_add(sum, cost_of(c, entry->value));
        key = cel_range_union(key, size_or_unknown(c, entry->key));
        value = cel_range_union(value, size_or_unknown(c, entry->value));
    }
    set_entries(c, e, (struct entries){true, CEL_T_MAP, key, value});
    return sum;
}

/* The variable that holds a key, or an element, of the range. */
static struct variable iteration(struct coster *c, struct cel_expr *range, struct str name,
                                 bool keys_of_lists, bool values_of_maps)
{
    struct entries entries = entries_of(c, range);
    enum cel_type_kind container = entries.known ? entries.container : range->type->kind;
    bool list = container == CEL_T_LIST;
    bool value = list ? !keys_of_lists : values_of_maps;
    struct str part =
        list ? (value ? STR("@items") : STR("@indices")) : (value ? STR("@values") : STR("@keys"));
    return (struct variable){
        .name = name,
        .path = step(path_of(c, range), part),
        .size = {entries.known, value ? entries.value : entries.key},
    };
}

static struct variable accumulator(struct coster *c, struct cel_expr *e)
{
    return (struct variable){
        .name = e->fold.accu_var,
        .path = path_of(c, e->fold.init),
        .size = size_of(c, e->fold.init),
        .entries = entries_of(c, e->fold.init),
        .outer = c->variables,
    };
}

static bool is_bind(const struct cel_expr *e)
{
    return e->fold.range->kind == CEL_E_LIST && e->fold.range->list.n == 0 &&
           e->fold.condition->kind == CEL_E_LITERAL &&
           e->fold.condition->literal.kind == CEL_BOOL && !e->fold.condition->literal.b;
}

static struct cel_range cost_bind(struct coster *c, struct cel_expr *e)
{
    struct cel_range sum = cel_range_add(cost_of(c, e->fold.range), cost_of(c, e->fold.init));
    struct variable accu = accumulator(c, e);
    c->variables = &accu;
    sum = cel_range_add(sum, cost_of(c, e->fold.result));
    c->variables = accu.outer;
    set_size(c, e, size_of(c, e->fold.result));
    set_entries(c, e, entries_of(c, e->fold.result));
    return sum;
}

/* What the loop makes has as many elements as it goes over. */
static void set_fold_size(struct coster *c, struct cel_expr *e, struct cel_range n)
{
    if (e->fold.init->kind == CEL_E_LITERAL) {
        set_size(c, e, size_of(c, e->fold.init));
    } else if (e->fold.init->kind == CEL_E_LIST || e->fold.init->kind == CEL_E_MAP) {
        set_size(c, e, (struct size){true, n});
        set_entries(c, e, entries_of(c, e->fold.step));
    }
}

static struct cel_range cost_fold(struct coster *c, struct cel_expr *e)
{
    if (is_bind(e))
        return cost_bind(c, e);
    struct cel_range sum = cel_range_add(cost_of(c, e->fold.range), cost_of(c, e->fold.init));
    struct variable accu = accumulator(c, e);
    bool two = !str_empty(e->fold.iter_var2);
    struct variable first = iteration(c, e->fold.range, e->fold.iter_var, two, false);
    struct variable second = iteration(c, e->fold.range, e->fold.iter_var2, false, true);
    first.outer = &accu;
    second.outer = &first;
    c->variables = two ? &second : &first;
    struct cel_range loop = cel_range_add(cost_of(c, e->fold.condition), cost_of(c, e->fold.step));
    c->variables = &accu;
    sum = cel_range_add(sum, cost_of(c, e->fold.result));
    c->variables = accu.outer;
    struct cel_range n = size_or_unknown(c, e->fold.range);
    set_fold_size(c, e, n);
    return cel_range_add(sum, cel_range_multiply(n, loop));
}

static struct cel_range cost_of(struct coster *c, struct cel_expr *e)
{
    switch (e->kind) {
    case CEL_E_IDENT:
        return cost_ident(c, e);
    case CEL_E_SELECT:
        return cost_select(c, e);
    case CEL_E_CALL:
        return cost_call(c, e);
    case CEL_E_LIST:
        return cost_list(c, e);
    case CEL_E_MAP:
        return cost_map(c, e);
    case CEL_E_FOLD:
        return cost_fold(c, e);
    default:
        return (struct cel_range){0, 0};
    }
}

struct cel_range cel_estimate(struct cel_ast *ast)
{
    struct coster c = {.arena = ast->arena};
    return cost_of(&c, ast->root);
}
