/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/run.h"

/* What the constructors of lists and maps cost. */
#define LIST_COST 10
#define MAP_COST  30

/* --- calls ------------------------------------------------------------------------------------ */

/* "no such overload: f(int, string)" */
static struct cel_value no_overload(struct cel_eval *e, const struct cel_node *node,
                                    const struct cel_value *args)
{
    struct buf types;
    buf_init(&types, 1024);
    for (size_t i = 0; i < node->n; i++) {
        if (i > 0)
            buf_add_cstr(&types, ", ");
        buf_add_str(&types, cel_type_of(args[i])->name);
    }
    struct cel_value v = cel_error(e->arena, "no such overload: %.*s(%.*s)",
                                   STR_ARG(node->call.name), STR_ARG(buf_str(&types)));
    buf_release(&types);
    return v;
}

static bool takes(const struct cel_overload *o, const struct cel_value *args, size_t n)
{
    if (!o->fn || o->n_args != n)
        return false;
    for (size_t i = 0; i < n && !(o->flags & CEL_ANY_ARGS); i++) {
        if (cel_is_error(args[i]) ? !(o->flags & CEL_NON_STRICT)
                                  : !cel_value_has_type(args[i], o->args[i]))
            return false;
    }
    return true;
}

/* The overload to call: the checker's, or the first that takes the values. */
static const struct cel_overload *choose(const struct cel_node *node, const struct cel_value *args)
{
    const struct cel_overload *only = node->call.overload;
    if (only && only->fn)
        return takes(only, args, node->n) ? only : NULL;
    const struct cel_function *f = node->call.function;
    for (size_t i = 0; i < f->n; i++) {
        if (takes(f->overloads[i], args, node->n))
            return f->overloads[i];
    }
    return NULL;
}

struct cel_value cel_call_function(struct cel_eval *e, const struct cel_node *node,
                                   const struct cel_value *args)
{
    const struct cel_overload *o = choose(node, args);
    if (!o)
        return node->call.prepared ? cel_no_such_overload() : no_overload(e, node, args);
    struct cel_call call = {e, o, args, node->n, node->call.prepared};
    return o->fn(&call);
}

static bool is_strict(const struct cel_node *node)
{
    return !(node->call.function->overloads[0]->flags & CEL_NON_STRICT);
}

/* The arguments as the stack of costs has them; false: one is missed, and nothing is charged. */
static bool drop_args(struct cel_run *r, const struct cel_node *node, struct cel_value *args)
{
    for (size_t i = node->n; i-- > 0;) {
        if (!cel_stack_drop(r, cel_node_id(node->args[i]), args ? &args[i] : NULL))
            return false;
    }
    return true;
}

static void charge_call(struct cel_run *r, const struct cel_node *node, struct cel_value result)
{
    struct cel_value args[CEL_MAX_ARGS];
    if (!drop_args(r, node, args))
        return;
    struct cel_call call = {&r->eval, node->call.overload, args, node->n, node->call.prepared};
    cel_charge(r, node->call.cost ? node->call.cost(&call, result) : 1);
}

static struct cel_value eval_call(struct cel_run *r, const struct cel_node *node)
{
    struct cel_value args[CEL_MAX_ARGS], result;
    bool strict = is_strict(node), failed = false;
    for (size_t i = 0; i < node->n; i++) {
        args[i] = cel_eval_node(r, node->args[i]);
        if (!failed && strict && cel_is_error(args[i])) {
            failed = true;
            result = args[i];
        }
        if (r->eval.exceeded || (failed && node->call.one_by_one))
            break;
    }
    if (r->eval.exceeded)
        return cel_null();
    if (!failed)
        result = cel_call_function(&r->eval, node, args);
    if (!r->eval.exceeded)
        charge_call(r, node, result);
    return result;
}

static struct cel_value equality(struct cel_run *r, bool wanted, struct cel_value left,
                                 struct cel_value right)
{
    enum cel_equality truth = cel_equality(&r->eval, left, right);
    if (truth == CEL_NOT_COMPARABLE)
        return wanted ? cel_no_such_overload() : cel_bool(true);
    return cel_bool((truth == CEL_EQUAL) == wanted);
}

/* Equality costs a tenth of the smaller side; Kubernetes' types cost 1. */
static struct cel_value eval_equal(struct cel_run *r, const struct cel_node *node)
{
    struct cel_value left = cel_eval_node(r, node->args[0]);
    struct cel_value right = cel_eval_node(r, node->args[1]);
    struct cel_value result = cel_is_error(left) ? left : right, args[2] = {left, right};
    if (r->eval.exceeded)
        return result;
    if (!cel_is_error(result))
        result = equality(r, node->kind == CEL_N_EQUAL, left, right);
    if (!drop_args(r, node, args))
        return result;
    bool unit = args[0].kind == CEL_OBJECT && node->kind == CEL_N_EQUAL;
    uint64_t size = MIN(cel_size_of(args[0]), cel_size_of(args[1]));
    cel_charge(r, unit ? 1 : cel_cost_scaled(size, CEL_TRAVERSAL));
    return result;
}

/* --- logic ------------------------------------------------------------------------------------ */

/* && and ||: the deciding value wins over errors; otherwise the first error. */
static struct cel_value eval_logic(struct cel_run *r, const struct cel_node *node)
{
    bool decides = node->kind == CEL_N_OR;
    struct cel_value result = cel_bool(!decides);
    for (size_t i = 0; i < node->n && !r->eval.exceeded; i++) {
        struct cel_value v = cel_eval_node(r, node->args[i]);
        if (v.kind == CEL_BOOL && v.b == decides) {
            result = v;
            break;
        }
        if (v.kind != CEL_BOOL && !cel_is_error(result))
            result = cel_is_error(v) ? v : cel_no_such_overload();
    }
    for (size_t i = 0; i < node->n; i++)
        cel_stack_drop(r, cel_node_id(node->args[i]), NULL);
    return result;
}

/* x.or(y), x.orValue(y): y is evaluated only if x is empty. */
static struct cel_value eval_optional_or(struct cel_run *r, const struct cel_node *node)
{
    struct cel_value left = cel_eval_node(r, node->args[0]);
    if (left.kind != CEL_OPTIONAL || r->eval.exceeded)
        return left;
    if (!left.optional)
        return cel_eval_node(r, node->args[1]);
    return node->kind == CEL_N_OPTIONAL_OR ? left : *left.optional;
}

/* --- aggregates ------------------------------------------------------------------------------- */

static struct cel_value invalid_optional(struct cel_run *r, struct cel_value value,
                                         const struct cel_value *key)
{
    struct buf text = BUF_INIT;
    if (key) {
        buf_add_char(&text, '\'');
        cel_value_write(*key, &text);
        buf_add_cstr(&text, "' ");
    }
    buf_add_cstr(&text, "from non-optional value ");
    cel_value_write(value, &text);
    struct cel_value v = cel_error(r->eval.arena, "cannot initialize optional %s%.*s",
                                   key ? "entry " : "list element ", STR_ARG(buf_str(&text)));
    buf_release(&text);
    return v;
}

static struct cel_value make_list(struct cel_run *r, const struct cel_node *node)
{
    struct cel_value *items = arena_array(r->eval.arena, struct cel_value, node->n);
    size_t n = 0;
    for (size_t i = 0; i < node->n; i++) {
        struct cel_value v = cel_eval_node(r, node->args[i]);
        if (cel_is_error(v) || r->eval.exceeded)
            return v;
        if (node->optional[i]) {
            if (v.kind != CEL_OPTIONAL)
                return invalid_optional(r, v, NULL);
            if (!v.optional)
                continue;
            v = *v.optional;
        }
        items[n++] = v;
    }
    return cel_list_of(r->eval.arena, items, n);
}

static struct cel_value make_map(struct cel_run *r, const struct cel_node *node)
{
    struct cel_map *map = cel_map_new(r->eval.arena, node->n / 2);
    for (size_t i = 0; i < node->n; i += 2) {
        struct cel_value key = cel_eval_node(r, node->args[i]);
        if (cel_is_error(key) || r->eval.exceeded)
            return key;
        struct cel_value v = cel_eval_node(r, node->args[i + 1]);
        if (cel_is_error(v) || r->eval.exceeded)
            return v;
        if (node->optional[i / 2]) {
            if (v.kind != CEL_OPTIONAL)
                return invalid_optional(r, v, &key);
            if (!v.optional)
                continue;
            v = *v.optional;
        }
        if (!cel_hashable(&r->eval, key))
            return key;
        cel_map_replace(r->eval.arena, map, key, v);
    }
    return cel_map_value(map);
}

/* --- comprehensions --------------------------------------------------------------------------- */

/* One iteration; false: the loop ends. */
static bool iterate(struct cel_run *r, const struct cel_node *node, struct cel_value first,
                    struct cel_value second)
{
    struct cel_frame *f = &r->frames[node->fold.frame];
    f->iter = first;
    f->iter2 = second;
    struct cel_value condition = cel_eval_node(r, node->fold.condition);
    if (r->eval.exceeded || (condition.kind == CEL_BOOL && !condition.b))
        return false;
    struct cel_value accu = cel_eval_node(r, node->fold.step);
    f->accu = accu;
    f->initialized = true;
    return !r->eval.exceeded;
}

static void iterate_list(struct cel_run *r, const struct cel_node *node,
                         const struct cel_list *list)
{
    if (list->n == 0)
        return;
    const struct cel_value *items = cel_list_items(&r->eval, list);
    uint64_t n = list->n; /* the list may be an accumulator that grows meanwhile */
    for (uint64_t i = 0; items && i < n; i++) {
        struct cel_value index = cel_int((int64_t)i);
        if (!iterate(r, node, node->fold.two ? index : items[i], items[i]))
            return;
    }
}

/* The accumulator of a finished comprehension does not grow any more. */
static struct cel_value settled(struct cel_run *r, struct cel_value v)
{
    if (v.kind == CEL_LIST && v.list->grows)
        return cel_list_of(r->eval.arena, v.list->items, v.list->n);
    if (v.kind == CEL_MAP && v.map->grows) {
        struct cel_map *map = arena_new(r->eval.arena, struct cel_map);
        *map = *v.map;
        map->grows = false;
        return cel_map_value(map);
    }
    return v;
}

static struct cel_value run_fold(struct cel_run *r, const struct cel_node *node)
{
    struct cel_value range = cel_eval_node(r, node->fold.range);
    if (cel_is_error(range) || r->eval.exceeded)
        return range;
    r->frames[node->fold.frame] = (struct cel_frame){.init = node->fold.init};
    if (range.kind == CEL_LIST) {
        iterate_list(r, node, range.list);
    } else if (range.kind == CEL_MAP) {
        const struct cel_map_entry *entries = range.map->entries;
        size_t n = range.map->n;
        for (size_t i = 0; i < n && iterate(r, node, entries[i].key, entries[i].value); i++)
            ;
    } else if (node->fold.two) {
        return cel_error(r->eval.arena, "unsupported comprehension range type: %.*s",
                         STR_ARG(cel_go_type(range)));
    } else {
        return cel_error(r->eval.arena, "got '%.*s', expected iterable type",
                         STR_ARG(cel_go_type(range)));
    }
    return r->eval.exceeded ? cel_null() : settled(r, cel_eval_node(r, node->fold.result));
}

/* --- nodes ------------------------------------------------------------------------------------ */

static struct cel_value eval_attr(struct cel_run *r, const struct cel_node *node)
{
    struct cel_value v = cel_attr_resolve(r, node->attr);
    const struct cel_attr *attr = node->attr;
    if (attr->kind == CEL_ATTR_CONDITIONAL) {
        /* The choice is free; what was chosen has been charged. */
        cel_stack_drop(r, cel_attr_id(attr->no), NULL);
        cel_stack_drop(r, cel_attr_id(attr->yes), NULL);
        cel_stack_drop(r, cel_node_id(attr->node), NULL);
        return v;
    }
    cel_stack_drop(r, cel_attr_id(attr), NULL);
    if (node->kind == CEL_N_ATTR) {
        cel_charge(r, 1);
        return v;
    }
    if (v.kind == CEL_OPTIONAL)
        return cel_bool(v.optional != NULL);
    return v;
}

static struct cel_value eval_in_set(struct cel_run *r, const struct cel_node *node)
{
    struct cel_value v = cel_eval_node(r, node->args[0]);
    if (cel_is_error(v) || r->eval.exceeded || !cel_hashable(&r->eval, v))
        return v;
    return cel_bool(cel_map_has(node->set, v));
}

static struct cel_value eval_aggregate(struct cel_run *r, const struct cel_node *node)
{
    struct cel_value v = node->kind == CEL_N_LIST ? make_list(r, node) : make_map(r, node);
    drop_args(r, node, NULL);
    cel_charge(r, node->kind == CEL_N_LIST ? LIST_COST : MAP_COST);
    return v;
}

static struct cel_value eval_fold(struct cel_run *r, const struct cel_node *node)
{
    struct cel_value v = run_fold(r, node);
    cel_stack_drop(r, cel_node_id(node->fold.range), NULL);
    return v;
}

static struct cel_value eval_kind(struct cel_run *r, const struct cel_node *node)
{
    switch (node->kind) {
    case CEL_N_CONST:
        return node->value;
    case CEL_N_ATTR:
    case CEL_N_TEST:
        return eval_attr(r, node);
    case CEL_N_AND:
    case CEL_N_OR:
        return eval_logic(r, node);
    case CEL_N_EQUAL:
    case CEL_N_NOT_EQUAL:
        return eval_equal(r, node);
    case CEL_N_CALL:
        return eval_call(r, node);
    case CEL_N_OPTIONAL_OR:
    case CEL_N_OPTIONAL_OR_VALUE:
        return eval_optional_or(r, node);
    case CEL_N_LIST:
    case CEL_N_MAP:
        return eval_aggregate(r, node);
    case CEL_N_FOLD:
        return eval_fold(r, node);
    case CEL_N_IN_SET:
        return eval_in_set(r, node);
    }
    return cel_null();
}

/*
 * Constants and logic cost nothing, and some charges are negative, so that the limit alone would
 * not end every loop.
 */
#define FREE_STEPS     ((uint64_t)1000000)
#define STEPS_PER_COST 32

struct cel_value cel_eval_node(struct cel_run *r, const struct cel_node *node)
{
    if (++r->steps > FREE_STEPS && r->steps / STEPS_PER_COST > r->eval.limit)
        r->eval.exceeded = true;
    if (r->eval.exceeded)
        return cel_null();
    struct cel_value v = eval_kind(r, node);
    cel_stack_push(r, cel_node_id(node), v);
    return v;
}

struct cel_value cel_run_program(const struct cel_program *program, struct cel_value device,
                                 struct arena *a, uint64_t limit, uint64_t *ret_cost)
{
    struct cel_run r = {.eval = {.arena = a, .limit = limit}, .device = device};
    r.frames = xcalloc(program->n_frames + 1, sizeof(*r.frames));
    r.top = xcalloc(program->n_ids, sizeof(*r.top));
    struct cel_value v = cel_eval_node(&r, program->root);
    if (r.eval.fault)
        v = cel_error(a, "internal error: %s", r.eval.fault);
    else if (r.eval.exceeded)
        v = cel_error(a, "operation cancelled: actual cost limit exceeded");
    *ret_cost = r.eval.cost;
    free(r.frames);
    free(r.top);
    vec_release(&r.stack);
    return v;
}
