/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/program.h"
#include "cel/run.h"

/* A variable of a comprehension in scope. */
struct scope {
    struct str name;
    enum cel_var_kind kind;
    uint32_t frame;
    const struct scope *outer;
};

struct planner {
    struct cel_program *program;
    struct arena *arena;
    const struct scope *scope;
    struct err *err; /* the first one; everything returns NULL then */
    bool failed;
};

static const struct cel_node *plan(struct planner *p, const struct cel_expr *e);

static void *fail(struct planner *p, const char *what, struct str detail)
{
    if (!p->failed)
        err_set(p->err, -EINVAL, "%s%.*s", what, STR_ARG(detail));
    p->failed = true;
    return NULL;
}

uint32_t cel_attr_id(const struct cel_attr *attr)
{
    if (attr->n > 0)
        return attr->qualifiers[attr->n - 1]->id;
    if (attr->kind == CEL_ATTR_CONDITIONAL && cel_attr_id(attr->yes) == cel_attr_id(attr->no))
        return cel_attr_id(attr->yes);
    return attr->id;
}

uint32_t cel_node_id(const struct cel_node *node)
{
    return node->kind == CEL_N_ATTR ? cel_attr_id(node->attr) : node->id;
}

static struct cel_node *new_node(struct planner *p, enum cel_node_kind kind,
                                 const struct cel_expr *e, size_t n)
{
    struct cel_node *node = arena_new(p->arena, struct cel_node);
    node->kind = kind;
    node->id = e->id;
    node->n = n;
    node->args = arena_array(p->arena, const struct cel_node *, n);
    return node;
}

static const struct cel_node *new_const(struct planner *p, const struct cel_expr *e,
                                        struct cel_value v)
{
    struct cel_node *node = new_node(p, CEL_N_CONST, e, 0);
    node->value = v;
    return node;
}

/* --- attributes ------------------------------------------------------------------------------- */

static const struct cel_node *new_attr_node(struct planner *p, const struct cel_expr *e,
                                            struct cel_attr *attr)
{
    struct cel_node *node = new_node(p, CEL_N_ATTR, e, 0);
    node->attr = attr;
    return node;
}

static struct cel_attr *new_attr(struct planner *p, uint32_t id, const struct cel_node *operand)
{
    struct cel_attr *attr = arena_new(p->arena, struct cel_attr);
    attr->id = id;
    attr->kind = CEL_ATTR_NODE;
    attr->node = operand;
    return attr;
}

static bool is_attr(const struct cel_node *node)
{
    return node->kind == CEL_N_ATTR || node->kind == CEL_N_TEST;
}

/* The attribute that the value of a node begins. */
static struct cel_attr *attr_of(struct planner *p, const struct cel_node *node)
{
    return is_attr(node) ? node->attr : new_attr(p, cel_node_id(node), node);
}

/* A qualifier of a conditional goes to both branches. Depth is the tree's. */
static void qualify(struct planner *p, struct cel_attr *attr, const struct cel_qualifier *q)
{
    if (attr->kind == CEL_ATTR_CONDITIONAL) {
        qualify(p, attr->yes, q);
        qualify(p, attr->no, q);
        return;
    }
    if (attr->n == attr->capacity) {
        attr->capacity = MAX(attr->capacity * 2, 4);
        const struct cel_qualifier **grown =
            arena_array(p->arena, const struct cel_qualifier *, attr->capacity);
        if (attr->n > 0)
            memcpy(grown, attr->qualifiers, attr->n * sizeof(*grown));
        attr->qualifiers = grown;
    }
    attr->qualifiers[attr->n++] = q;
}

/*
 * The node of an attribute with one more qualifier. The attribute is changed: no other node uses
 * the shorter one.
 */
static const struct cel_node *extend(struct planner *p, const struct cel_node *operand,
                                     const struct cel_expr *e, struct cel_qualifier *q)
{
    q->id = e->id;
    struct cel_attr *attr = attr_of(p, operand);
    qualify(p, attr, q);
    struct cel_node *node = new_node(p, q->test_only ? CEL_N_TEST : CEL_N_ATTR, e, 0);
    node->attr = attr;
    return node;
}

static const struct cel_node *plan_ident(struct planner *p, const struct cel_expr *e)
{
    if (e->constant)
        return new_const(p, e, *e->constant);
    /* Upstream takes a variable that holds a type for the name of a type. */
    if (e->type->kind == CEL_T_TYPE) {
        const struct cel_value *type = cel_env_type(p->program->env, e->ident);
        return type ? new_const(p, e, *type) : fail(p, "reference to undefined type: ", e->ident);
    }
    struct cel_attr *attr = arena_new(p->arena, struct cel_attr);
    attr->id = e->id;
    attr->kind = CEL_ATTR_VAR;
    for (const struct scope *s = p->scope; s; s = s->outer) {
        if (str_eq(s->name, e->ident)) {
            attr->var = s->kind;
            attr->frame = s->frame;
            break;
        }
    }
    return new_attr_node(p, e, attr);
}

static const struct cel_node *plan_select(struct planner *p, const struct cel_expr *e)
{
    const struct cel_node *operand = plan(p, e->select.operand);
    if (!operand)
        return NULL;
    struct cel_qualifier *q = arena_new(p->arena, struct cel_qualifier);
    q->value = cel_string(e->select.field);
    q->test_only = e->select.test_only;
    return extend(p, operand, e, q);
}

static bool may_index(struct cel_value v)
{
    return v.kind == CEL_STRING || v.kind == CEL_BOOL || v.kind == CEL_INT || v.kind == CEL_UINT ||
           v.kind == CEL_DOUBLE;
}

static const struct cel_node *plan_index(struct planner *p, const struct cel_expr *e,
                                         const struct cel_node *operand,
                                         const struct cel_node *index, bool optional)
{
    struct cel_qualifier *q = arena_new(p->arena, struct cel_qualifier);
    q->optional = optional;
    if (index->kind == CEL_N_CONST) {
        if (!may_index(index->value))
            return fail(p, "invalid qualifier type: ", cel_go_type(index->value));
        q->value = index->value;
    } else if (is_attr(index)) {
        q->kind = CEL_QUAL_ATTR;
        q->attr = index->attr;
    } else {
        q->kind = CEL_QUAL_NODE;
        q->node = index;
    }
    return extend(p, operand, e, q);
}

static const struct cel_node *plan_conditional(struct planner *p, const struct cel_expr *e,
                                               const struct cel_node **args)
{
    struct cel_attr *attr = arena_new(p->arena, struct cel_attr);
    attr->id = e->id;
    attr->kind = CEL_ATTR_CONDITIONAL;
    attr->node = args[0];
    attr->yes = attr_of(p, args[1]);
    attr->no = attr_of(p, args[2]);
    return new_attr_node(p, e, attr);
}

/* --- calls ------------------------------------------------------------------------------------ */

/* The charge of the overload, or one by the name of the function. */
static cel_cost_fn *cost_of(const struct cel_function *f, const struct cel_overload *only)
{
    if (only && only->cost)
        return only->cost;
    for (size_t i = 0; i < f->n; i++) {
        if (f->overloads[i]->flags & CEL_COST_BY_NAME)
            return f->overloads[i]->cost;
    }
    return NULL;
}

/* Whether upstream calls the function through a list of arguments rather than one or two. */
static bool is_one_by_one(const struct cel_node *node)
{
    if (node->n > 2)
        return true;
    const struct cel_overload *o = node->call.overload;
    if (o)
        return false;
    size_t implemented = 0;
    for (size_t i = 0; i < node->call.function->n; i++) {
        o = node->call.function->overloads[i];
        if (o->flags & CEL_ANY_ARGS)
            return false;
        implemented += o->fn != NULL;
    }
    return implemented > 1;
}

/* Arguments that are constants are prepared once. */
static bool prepare(struct planner *p, struct cel_node *node)
{
    const struct cel_function *f = node->call.function;
    for (size_t i = 0; i < f->n; i++) {
        const struct cel_overload *o = f->overloads[i];
        if (!o->prepare || o->prepared_arg >= node->n)
            continue;
        const struct cel_node *arg = node->args[o->prepared_arg];
        if (arg->kind != CEL_N_CONST || arg->value.kind != CEL_STRING)
            return true;
        struct err err;
        if (o->prepare(arg->value, p->arena, &node->call.prepared, &err) < 0) {
            fail(p, "", str_of(err.msg));
            return false;
        }
        node->call.one_by_one = true;
        return true;
    }
    return true;
}

static bool is_conversion(struct str function)
{
    static const char *const names[] = {"bool", "bytes",  "double",    "duration", "dyn",
                                        "int",  "string", "timestamp", "type",     "uint"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_is(function, names[i]))
            return true;
    }
    return false;
}

/* int("12") is computed now; one that fails is no program. */
static const struct cel_node *fold_conversion(struct planner *p, const struct cel_expr *e,
                                              const struct cel_node *call)
{
    struct cel_run r = {.eval = {.arena = p->arena, .limit = UINT64_MAX}};
    struct cel_value v = cel_call_function(&r.eval, call, &call->args[0]->value);
    return cel_is_error(v) ? fail(p, "", v.s) : new_const(p, e, v);
}

/* x in [constants]: a set, unless an element has no key. */
static const struct cel_node *fold_membership(struct planner *p, const struct cel_expr *e,
                                              const struct cel_node *call)
{
    const struct cel_list *list = call->args[1]->value.list;
    if (list->n == 0)
        return new_const(p, e, cel_bool(false));
    struct cel_map *set = cel_map_new(p->arena, list->n);
    for (size_t i = 0; i < list->n; i++) {
        if (!may_index(list->items[i]))
            return call;
        cel_map_put(p->arena, set, list->items[i], cel_bool(true));
    }
    struct cel_node *node = new_node(p, CEL_N_IN_SET, e, 1);
    node->args[0] = call->args[0];
    node->set = set;
    return node;
}

static const struct cel_node *plan_function(struct planner *p, const struct cel_expr *e,
                                            struct cel_node *node)
{
    node->call.name = e->call.function;
    node->call.function = cel_env_function(p->program->env, e->call.function);
    node->call.overload = e->n_overloads == 1 ? e->overloads[0] : NULL;
    node->call.cost = cost_of(node->call.function, node->call.overload);
    node->call.one_by_one = is_one_by_one(node);
    if (node->n == 0 && !node->call.overload->fn)
        return fail(
            p, "no such overload: ", arena_printf(p->arena, "%.*s()", STR_ARG(node->call.name)));
    const struct cel_overload *only = node->call.overload;
    if (only && str_is(str_of(only->id), "in_list") && node->args[1]->kind == CEL_N_CONST)
        return fold_membership(p, e, node);
    if (is_conversion(node->call.name) && node->n == 1 && node->args[0]->kind == CEL_N_CONST)
        return fold_conversion(p, e, node);
    return prepare(p, node) ? node : NULL;
}

static const struct cel_node *plan_operator(struct planner *p, const struct cel_expr *e,
                                            struct cel_node *node)
{
    static const struct {
        const char *name;
        enum cel_node_kind kind;
    } kinds[] = {{"_&&_", CEL_N_AND},       {"_||_", CEL_N_OR},
                 {"_==_", CEL_N_EQUAL},     {"_!=_", CEL_N_NOT_EQUAL},
                 {"or", CEL_N_OPTIONAL_OR}, {"orValue", CEL_N_OPTIONAL_OR_VALUE}};
    struct str name = e->call.function;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (str_is(name, kinds[i].name)) {
            node->kind = kinds[i].kind;
            return node;
        }
    }
    if (str_is(name, "_?_:_"))
        return plan_conditional(p, e, node->args);
    if (str_is(name, "_[_]"))
        return plan_index(p, e, node->args[0], node->args[1], false);
    if (str_is(name, "_[?_]") || str_is(name, "_?._"))
        return plan_index(p, e, node->args[0], node->args[1], true);
    return plan_function(p, e, node);
}

static const struct cel_node *plan_call(struct planner *p, const struct cel_expr *e)
{
    size_t n = 0;
    struct cel_node *node = new_node(p, CEL_N_CALL, e, e->call.n + (e->call.target != NULL));
    if (e->call.target)
        node->args[n++] = plan(p, e->call.target);
    for (size_t i = 0; i < e->call.n; i++)
        node->args[n++] = plan(p, e->call.args[i]);
    return p->failed ? NULL : plan_operator(p, e, node);
}

/* --- aggregates and comprehensions ------------------------------------------------------------ */

/* A literal of constants is a constant. */
static const struct cel_node *fold_aggregate(struct planner *p, const struct cel_expr *e,
                                             const struct cel_node *node)
{
    for (size_t i = 0; i < node->n; i++) {
        if (node->args[i]->kind != CEL_N_CONST)
            return node;
    }
    struct cel_run r = {.eval = {.arena = p->arena, .limit = UINT64_MAX}};
    r.untracked = true;
    struct cel_value v = cel_eval_node(&r, node);
    return r.eval.fault ? fail(p, "internal error: ", str_of(r.eval.fault)) : new_const(p, e, v);
}

static const struct cel_node *plan_list(struct planner *p, const struct cel_expr *e)
{
    struct cel_node *node = new_node(p, CEL_N_LIST, e, e->list.n);
    node->optional = e->list.optional;
    for (size_t i = 0; i < e->list.n; i++)
        node->args[i] = plan(p, e->list.items[i]);
    return p->failed ? NULL : fold_aggregate(p, e, node);
}

static const struct cel_node *plan_map(struct planner *p, const struct cel_expr *e)
{
    struct cel_node *node = new_node(p, CEL_N_MAP, e, e->map.n * 2);
    bool *optional = arena_array(p->arena, bool, e->map.n);
    for (size_t i = 0; i < e->map.n; i++) {
        node->args[2 * i] = plan(p, e->map.entries[i].key);
        node->args[2 * i + 1] = plan(p, e->map.entries[i].value);
        optional[i] = e->map.entries[i].optional;
    }
    node->optional = optional;
    return p->failed ? NULL : fold_aggregate(p, e, node);
}

static const struct cel_node *plan_fold(struct planner *p, const struct cel_expr *e)
{
    struct cel_node *node = new_node(p, CEL_N_FOLD, e, 0);
    const struct scope *outer = p->scope;
    node->fold.two = !str_empty(e->fold.iter_var2);
    node->fold.frame = p->program->n_frames++;
    node->fold.init = plan(p, e->fold.init);
    node->fold.range = plan(p, e->fold.range);
    struct scope two = {e->fold.iter_var2, CEL_VAR_ITER2, node->fold.frame, outer};
    struct scope one = {e->fold.iter_var, CEL_VAR_ITER, node->fold.frame,
                        node->fold.two ? &two : outer};
    struct scope accu = {e->fold.accu_var, CEL_VAR_ACCU, node->fold.frame, &one};
    p->scope = &accu;
    node->fold.condition = plan(p, e->fold.condition);
    node->fold.step = plan(p, e->fold.step);
    accu.outer = outer;
    node->fold.result = plan(p, e->fold.result);
    p->scope = outer;
    return p->failed ? NULL : node;
}

static const struct cel_node *plan(struct planner *p, const struct cel_expr *e)
{
    if (p->failed)
        return NULL;
    switch (e->kind) {
    case CEL_E_LITERAL:
        return new_const(p, e, e->literal);
    case CEL_E_IDENT:
        return plan_ident(p, e);
    case CEL_E_SELECT:
        return plan_select(p, e);
    case CEL_E_CALL:
        return plan_call(p, e);
    case CEL_E_LIST:
        return plan_list(p, e);
    case CEL_E_MAP:
        return plan_map(p, e);
    case CEL_E_FOLD:
        return plan_fold(p, e);
    default:
        return fail(p, "unsupported expression", STR(""));
    }
}

int cel_plan(struct cel_program *program, const struct cel_ast *ast, struct err *reterr)
{
    struct planner p = {.program = program, .arena = &program->arena, .err = reterr};
    program->n_ids = ast->n_ids + 1;
    program->root = plan(&p, ast->root);
    return p.failed ? -EINVAL : 0;
}
