/* SPDX-License-Identifier: Apache-2.0 */
/* Roles and bindings, their indexes, and decisions. */
#include "apiserver/access/rbac_internal.h"
#include "base/log.h"

bool api_user_in_group(const struct api_user *user, struct str group)
{
    for (size_t i = 0; i < user->n_groups; i++)
        if (str_eq(user->groups[i], group))
            return true;
    return false;
}

static struct str join(struct arena *a, struct str left, char sep, struct str right)
{
    char *p = arena_alloc(a, left.n + 1 + right.n + 1, 1);
    if (left.n)
        memcpy(p, left.p, left.n);
    p[left.n] = sep;
    if (right.n)
        memcpy(p + left.n + 1, right.p, right.n);
    return (struct str){p, left.n + 1 + right.n};
}

struct rbac *rbac_new(void)
{
    struct rbac *rbac = xnew(struct rbac);
    arena_init(&rbac->scratch, 4096);
    return rbac;
}

static void free_role(struct role *role)
{
    vec_release(&role->gathered);
    arena_release(&role->arena);
    free(role);
}

static void free_binding(struct binding *binding)
{
    arena_release(&binding->arena);
    free(binding);
}

struct rbac *rbac_free(struct rbac *rbac)
{
    if (!rbac)
        return NULL;
    map_each (e, &rbac->roles)
        free_role(e->value);
    map_each (e, &rbac->bindings)
        free_binding(e->value);
    map_each (e, &rbac->subjects) {
        struct subject_bindings *list = e->value;
        vec_release(&list->bindings);
        free(list);
    }
    map_release(&rbac->roles);
    map_release(&rbac->bindings);
    map_release(&rbac->subjects);
    vec_release(&rbac->aggregated);
    arena_release(&rbac->scratch);
    free(rbac);
    return NULL;
}

/* --- roles ------------------------------------------------------------------------------------ */

static bool role_selects(const struct role *role, const str_map *labels)
{
    for (size_t i = 0; i < role->n_selectors; i++)
        if (selector_matches(&role->selectors[i], labels))
            return true;
    return false;
}

static void mark_from(struct rbac *rbac, const str_map *labels)
{
    for (size_t i = 0; i < rbac->aggregated.n; i++) {
        struct role *role = rbac->aggregated.v[i];
        if (role->visited == rbac->walk || !role_selects(role, labels))
            continue;
        role->visited = rbac->walk;
        role->stale = true;
        mark_from(rbac, &role->labels);
    }
}

/* The roles that gather rules from one with these labels, and those that gather from them. */
static void mark_stale(struct rbac *rbac, const str_map *labels)
{
    rbac->walk++;
    mark_from(rbac, labels);
}

static void read_selectors(struct role *role, const struct json_value *rule)
{
    const struct json_value *list = json_get(rule, STR("clusterRoleSelectors"));
    if (!list || list->kind != JSON_ARRAY)
        return;
    role->selectors = arena_array(&role->arena, struct selector, list->n);
    for (size_t i = 0; i < list->n; i++) {
        struct label_selector *source = arena_new(&role->arena, struct label_selector);
        struct selector *s = &role->selectors[role->n_selectors];
        if (json_value_decode(&list->items[i], &label_selector_type, 0, &role->arena, source,
                              NULL) == 0 &&
            selector_compile(source, &role->arena, s, NULL) == 0)
            role->n_selectors++;
    }
}

static void read_rules(struct role *role, const struct json_value *list)
{
    size_t n = list && list->kind == JSON_ARRAY ? list->n : 0;
    struct rbac_rule *rules = arena_array(&role->arena, struct rbac_rule, n);
    const struct rbac_rule **v = arena_array(&role->arena, const struct rbac_rule *, n);
    for (size_t i = 0; i < n; i++) {
        rbac_rule_read(&list->items[i], &role->arena, &rules[i]);
        v[i] = &rules[i];
    }
    role->own = (struct rbac_rules){v, n};
}

static struct role *make_role(const struct revision *rev, const struct json_value *object)
{
    struct role *role = xnew(struct role);
    struct object_meta meta = {0};
    arena_init(&role->arena, 1024);
    role->name = arena_dup(&role->arena, rev->name);
    role->key = join(&role->arena, rev->namespace, '/', rev->name);
    const struct json_value *metadata = json_get(object, STR("metadata"));
    if (metadata &&
        json_value_decode(metadata, &object_meta_type, 0, &role->arena, &meta, NULL) == 0)
        role->labels = meta.labels;
    read_rules(role, json_get(object, STR("rules")));
    const struct json_value *aggregation = json_get(object, STR("aggregationRule"));
    role->aggregated = !rev->namespace.n && aggregation && aggregation->kind == JSON_OBJECT;
    role->stale = role->aggregated;
    if (role->aggregated)
        read_selectors(role, aggregation);
    return role;
}

static void remove_role(struct rbac *rbac, struct str key)
{
    struct role *role = map_del(&rbac->roles, key);
    if (!role)
        return;
    for (size_t i = 0; i < rbac->aggregated.n; i++)
        if (rbac->aggregated.v[i] == role) {
            vec_swap_remove(&rbac->aggregated, i);
            break;
        }
    if (role->key.p[0] == '/')
        mark_stale(rbac, &role->labels);
    free_role(role);
}

static void add_role(struct rbac *rbac, struct role *role)
{
    map_put(&rbac->roles, role->key, role);
    if (role->key.p[0] == '/')
        mark_stale(rbac, &role->labels);
    if (role->aggregated)
        vec_push(&rbac->aggregated, role);
}

struct role *rbac_role(const struct rbac *rbac, struct str kind, struct str namespace,
                       struct str name)
{
    struct rbac *self = (struct rbac *)(uintptr_t)rbac;
    bool cluster = str_is(kind, "ClusterRole");
    if (!cluster && (!str_is(kind, "Role") || !namespace.n))
        return NULL;
    arena_reset(&self->scratch);
    return map_get(&rbac->roles, join(&self->scratch, cluster ? STR("") : namespace, '/', name));
}

/* --- aggregation ------------------------------------------------------------------------------ */

struct gathering {
    struct rbac *rbac;
    struct role *into;
    struct map seen; /* hash of a rule → the rule */
};

static int by_name(const void *a, const void *b)
{
    const struct role *const *x = a, *const *y = b;
    return str_cmp((*x)->name, (*y)->name);
}

static void gather_rules(struct gathering *g, const struct role *role)
{
    for (size_t i = 0; i < role->own.n; i++) {
        const struct rbac_rule *rule = role->own.v[i];
        const struct rbac_rule *same = map_get(&g->seen, map_number_key(&rule->hash));
        if (same && rbac_rule_equal(same, rule))
            continue;
        if (!same)
            map_put(&g->seen, map_number_key(&rule->hash), (void *)(uintptr_t)rule);
        vec_push(&g->into->gathered, rule);
    }
}

/*
 * Upstream's controller copies rules from role to role until nothing changes. The result is the
 * rules of all roles without an aggregationRule that can be reached; cycles end at a visited role.
 */
static void gather(struct gathering *g, struct role *from)
{
    VEC(struct role *) found = {0};
    for (size_t i = 0; i < from->n_selectors; i++) {
        vec_clear(&found);
        map_each (e, &g->rbac->roles) {
            struct role *role = e->value;
            if (role->key.p[0] == '/' && role->visited != g->rbac->walk &&
                selector_matches(&from->selectors[i], &role->labels))
                vec_push(&found, role);
        }
        if (found.n)
            qsort(found.v, found.n, sizeof(struct role *), by_name);
        for (size_t k = 0; k < found.n; k++) {
            if (found.v[k]->visited == g->rbac->walk)
                continue;
            found.v[k]->visited = g->rbac->walk;
            if (found.v[k]->aggregated)
                gather(g, found.v[k]);
            else
                gather_rules(g, found.v[k]);
        }
    }
    vec_release(&found);
}

struct rbac_rules rbac_role_rules(const struct rbac *rbac, struct role *role)
{
    if (!role->aggregated)
        return role->own;
    if (role->stale) {
        struct gathering g = {.rbac = (struct rbac *)(uintptr_t)rbac, .into = role};
        g.rbac->walk++;
        role->visited = g.rbac->walk;
        vec_clear(&role->gathered);
        gather(&g, role);
        role->stale = false;
        map_release(&g.seen);
    }
    return (struct rbac_rules){role->gathered.v, role->gathered.n};
}

static bool rules_equal(struct rbac_rules a, struct rbac_rules b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (!rbac_rule_equal(a.v[i], b.v[i]))
            return false;
    return true;
}

bool rbac_stale_role(const struct rbac *rbac, struct arena *a, struct str *ret_name,
                     struct str *ret_rules)
{
    struct role *first = NULL;
    for (size_t i = 0; i < rbac->aggregated.n; i++) {
        struct role *role = rbac->aggregated.v[i];
        if ((!first || str_cmp(role->name, first->name) < 0) &&
            !rules_equal(rbac_role_rules(rbac, role), role->own))
            first = role;
    }
    if (!first)
        return false;
    struct rbac_rules rules = rbac_role_rules(rbac, first);
    struct buf out = BUF_INIT;
    buf_add_char(&out, '[');
    for (size_t i = 0; i < rules.n; i++) {
        if (i)
            buf_add_char(&out, ',');
        rbac_rule_write(rules.v[i], &out);
    }
    buf_add_char(&out, ']');
    *ret_name = arena_dup(a, first->name);
    *ret_rules = arena_dup(a, buf_str(&out));
    buf_release(&out);
    return true;
}

/* --- bindings --------------------------------------------------------------------------------- */

/* "NAMESPACE/uNAME" or "NAMESPACE/gNAME". */
static struct str subject_key(struct arena *a, struct str namespace, char type, struct str name)
{
    char *p = arena_alloc(a, namespace.n + name.n + 3, 1);
    if (namespace.n)
        memcpy(p, namespace.p, namespace.n);
    p[namespace.n] = '/';
    p[namespace.n + 1] = type;
    if (name.n)
        memcpy(p + namespace.n + 2, name.p, name.n);
    return (struct str){p, namespace.n + name.n + 2};
}

static void read_subject(struct binding *b, const struct json_value *v, struct subject *ret)
{
    struct arena *a = &b->arena;
    struct subject s = {
        .kind = arena_dup(a, json_get_text(v, STR("kind"))),
        .name = arena_dup(a, json_get_text(v, STR("name"))),
        .namespace = arena_dup(a, json_get_text(v, STR("namespace"))),
    };
    struct str home = s.namespace.n ? s.namespace : b->namespace;
    if (str_is(s.kind, "User"))
        s.key = subject_key(a, b->namespace, 'u', s.name);
    else if (str_is(s.kind, "Group"))
        s.key = subject_key(a, b->namespace, 'g', s.name);
    else if (str_is(s.kind, "ServiceAccount") && home.n)
        s.key = subject_key(
            a, b->namespace, 'u',
            arena_printf(a, "system:serviceaccount:%.*s:%.*s", STR_ARG(home), STR_ARG(s.name)));
    *ret = s;
}

static struct binding *make_binding(const struct revision *rev, const struct json_value *object)
{
    struct binding *b = xnew(struct binding);
    arena_init(&b->arena, 512);
    b->namespace = arena_dup(&b->arena, rev->namespace);
    b->name = arena_dup(&b->arena, rev->name);
    b->key = join(&b->arena, rev->namespace, '/', rev->name);
    const struct json_value *ref = json_get(object, STR("roleRef"));
    b->role_kind = arena_dup(&b->arena, json_get_text(ref, STR("kind")));
    b->role_name = arena_dup(&b->arena, json_get_text(ref, STR("name")));
    const struct json_value *subjects = json_get(object, STR("subjects"));
    if (subjects && subjects->kind == JSON_ARRAY) {
        b->n_subjects = subjects->n;
        b->subjects = arena_array(&b->arena, struct subject, subjects->n);
        for (size_t i = 0; i < subjects->n; i++)
            read_subject(b, &subjects->items[i], &b->subjects[i]);
    }
    return b;
}

static void index_subject(struct rbac *rbac, struct binding *b, struct str key)
{
    struct subject_bindings *list = map_get(&rbac->subjects, key);
    if (!list) {
        list = xcalloc(1, sizeof(*list) + key.n);
        memcpy(list->text, key.p, key.n);
        list->key = (struct str){list->text, key.n};
        map_put(&rbac->subjects, list->key, list);
    }
    /* A subject that is listed twice: its entries follow each other. */
    if (!list->bindings.n || vec_last(&list->bindings) != b)
        vec_push(&list->bindings, b);
}

static void unindex_subject(struct rbac *rbac, const struct binding *b, struct str key)
{
    struct subject_bindings *list = map_get(&rbac->subjects, key);
    if (!list)
        return;
    for (size_t i = list->bindings.n; i-- > 0;)
        if (list->bindings.v[i] == b) {
            vec_remove(&list->bindings, i);
            break;
        }
    if (list->bindings.n)
        return;
    map_del(&rbac->subjects, key);
    vec_release(&list->bindings);
    free(list);
}

static void add_binding(struct rbac *rbac, struct binding *b)
{
    map_put(&rbac->bindings, b->key, b);
    for (size_t i = 0; i < b->n_subjects; i++)
        if (b->subjects[i].key.n)
            index_subject(rbac, b, b->subjects[i].key);
}

static void remove_binding(struct rbac *rbac, struct str key)
{
    struct binding *b = map_del(&rbac->bindings, key);
    if (!b)
        return;
    for (size_t i = 0; i < b->n_subjects; i++)
        if (b->subjects[i].key.n)
            unindex_subject(rbac, b, b->subjects[i].key);
    free_binding(b);
}

/* --- changes ---------------------------------------------------------------------------------- */

static bool is_role(const struct resource *r)
{
    return str_is(r->plural, "roles") || str_is(r->plural, "clusterroles");
}

static bool is_binding(const struct resource *r)
{
    return str_is(r->plural, "rolebindings") || str_is(r->plural, "clusterrolebindings");
}

void rbac_changed(struct rbac *rbac, const struct store_event *event)
{
    const struct revision *rev = event->after;
    if (!str_is(rev->resource->group, RBAC_GROUP))
        return;
    bool role = is_role(rev->resource);
    if (!role && !is_binding(rev->resource))
        return;
    struct arena a;
    struct json_value object = {0};
    arena_init(&a, 4096);
    struct str key = join(&a, rev->namespace, '/', rev->name);
    if (role)
        remove_role(rbac, key);
    else
        remove_binding(rbac, key);
    if (event->change != STORE_DELETED && json_parse(rev->text, 0, &a, &object, NULL) == 0) {
        if (role)
            add_role(rbac, make_role(rev, &object));
        else
            add_binding(rbac, make_binding(rev, &object));
    }
    arena_release(&a);
}

/* --- decisions -------------------------------------------------------------------------------- */

/* Called for every binding of a user; returns true to stop. */
typedef bool visit_fn(void *ctx, struct binding *b);

static bool visit_subject(const struct rbac *rbac, struct str key, visit_fn *fn, void *ctx)
{
    const struct subject_bindings *list = map_get(&rbac->subjects, key);
    for (size_t i = 0; list && i < list->bindings.n; i++)
        if (fn(ctx, list->bindings.v[i]))
            return true;
    return false;
}

static bool visit_scope(const struct rbac *rbac, const struct api_user *user, struct str namespace,
                        struct arena *a, visit_fn *fn, void *ctx)
{
    if (visit_subject(rbac, subject_key(a, namespace, 'u', user->name), fn, ctx))
        return true;
    for (size_t i = 0; i < user->n_groups; i++)
        if (visit_subject(rbac, subject_key(a, namespace, 'g', user->groups[i]), fn, ctx))
            return true;
    return false;
}

static bool visit(const struct rbac *rbac, const struct api_user *user, struct str namespace,
                  struct arena *a, visit_fn *fn, void *ctx)
{
    return visit_scope(rbac, user, STR(""), a, fn, ctx) ||
           (namespace.n && visit_scope(rbac, user, namespace, a, fn, ctx));
}

/* The first subject of the binding that the user is. */
static const struct subject *first_subject(const struct binding *b, const struct api_user *user)
{
    for (size_t i = 0; i < b->n_subjects; i++) {
        const struct subject *s = &b->subjects[i];
        if (!s->key.n)
            continue;
        struct str key = str_slice(s->key, b->namespace.n + 1, s->key.n);
        struct str name = str_slice(key, 1, key.n);
        if (key.p[0] == 'u' ? str_eq(name, user->name) : api_user_in_group(user, name))
            return s;
    }
    return NULL;
}

struct decision {
    const struct rbac *rbac;
    const struct access_attributes *what;
    const struct binding *by; /* which grants it; NULL: none */
    VEC(const struct binding *) broken;
};

static bool decide(void *ctx, struct binding *b)
{
    struct decision *d = ctx;
    struct role *role = rbac_role(d->rbac, b->role_kind, b->namespace, b->role_name);
    if (!role) {
        vec_push(&d->broken, b);
        return false;
    }
    struct rbac_rules rules = rbac_role_rules(d->rbac, role);
    for (size_t i = 0; i < rules.n; i++)
        if (rbac_rule_allows(rules.v[i], d->what)) {
            d->by = b;
            return true;
        }
    return false;
}

static void write_fault(const struct binding *b, struct buf *out)
{
    if (!str_is(b->role_kind, "Role") && !str_is(b->role_kind, "ClusterRole")) {
        buf_add_cstr(out, "unsupported role reference kind: ");
        log_quote(out, b->role_kind);
        return;
    }
    buf_add_printf(out, "%s." RBAC_GROUP " ",
                   str_is(b->role_kind, "Role") ? "role" : "clusterrole");
    log_quote(out, b->role_name);
    buf_add_cstr(out, " not found");
}

/* "A", or "[A, B]" without repetitions (upstream: NewAggregate). */
static struct str faults(const struct binding *const *v, size_t n, struct arena *a)
{
    struct buf out = BUF_INIT, one = BUF_INIT;
    struct map seen = MAP_INIT;
    for (size_t i = 0; i < n; i++) {
        buf_clear(&one);
        write_fault(v[i], &one);
        struct str text = arena_dup(a, buf_str(&one));
        if (map_get(&seen, text))
            continue;
        map_put(&seen, text, (void *)(uintptr_t)v[i]);
        buf_add_printf(&out, "%s%.*s", out.n ? ", " : "", STR_ARG(text));
    }
    struct str all = seen.n > 1 ? arena_printf(a, "[%.*s]", STR_ARG(buf_str(&out)))
                                : arena_dup(a, buf_str(&out));
    map_release(&seen);
    buf_release(&one);
    buf_release(&out);
    return all;
}

static struct str grant_reason(const struct binding *b, const struct subject *s, struct arena *a)
{
    struct buf out = BUF_INIT;
    bool cluster = !b->namespace.n;
    buf_add_printf(&out, "RBAC: allowed by %s ", cluster ? "ClusterRoleBinding" : "RoleBinding");
    log_quote(&out, cluster ? b->name : join(a, b->name, '/', b->namespace));
    buf_add_printf(&out, " of %.*s ", STR_ARG(b->role_kind));
    log_quote(&out, b->role_name);
    buf_add_printf(&out, " to %.*s ", STR_ARG(s->kind));
    if (str_is(s->kind, "ServiceAccount"))
        log_quote(&out, join(a, s->name, '/', s->namespace.n ? s->namespace : b->namespace));
    else
        log_quote(&out, s->name);
    struct str reason = arena_dup(a, buf_str(&out));
    buf_release(&out);
    return reason;
}

bool rbac_allows(const struct rbac *rbac, const struct api_user *user,
                 const struct access_attributes *what, struct arena *a, struct str *ret_why)
{
    struct decision d = {.rbac = rbac, .what = what};
    struct str why = STR("");
    bool allowed = api_user_in_group(user, STR("system:masters"));
    if (!allowed) {
        allowed = visit(rbac, user, what->namespace, a, decide, &d);
        if (!ret_why)
            ;
        else if (allowed)
            why = grant_reason(d.by, first_subject(d.by, user), a);
        else if (d.broken.n) {
            struct str text = faults(d.broken.v, d.broken.n, a);
            why = arena_printf(a, "RBAC: %.*s", STR_ARG(text));
        }
        vec_release(&d.broken);
    }
    if (ret_why)
        *ret_why = why;
    return allowed;
}

struct collection {
    const struct rbac *rbac;
    VEC(const struct rbac_rule *) rules;
    VEC(const struct binding *) broken;
    struct map seen; /* bindings: a user may be in one by several subjects */
};

static bool collect(void *ctx, struct binding *b)
{
    struct collection *c = ctx;
    if (map_put(&c->seen, b->key, b))
        return false;
    struct role *role = rbac_role(c->rbac, b->role_kind, b->namespace, b->role_name);
    if (!role) {
        vec_push(&c->broken, b);
        return false;
    }
    struct rbac_rules rules = rbac_role_rules(c->rbac, role);
    for (size_t i = 0; i < rules.n; i++)
        vec_push(&c->rules, rules.v[i]);
    return false;
}

void rbac_rules_for(const struct rbac *rbac, const struct api_user *user, struct str namespace,
                    struct arena *a, struct rbac_rules *ret_rules, struct str *ret_error)
{
    struct collection c = {.rbac = rbac};
    (void)visit(rbac, user, namespace, a, collect, &c);
    const struct rbac_rule **v = arena_array(a, const struct rbac_rule *, c.rules.n);
    if (c.rules.n)
        memcpy(v, c.rules.v, c.rules.n * sizeof(*v));
    *ret_rules = (struct rbac_rules){v, c.rules.n};
    *ret_error = c.broken.n ? faults(c.broken.v, c.broken.n, a) : STR("");
    vec_release(&c.rules);
    vec_release(&c.broken);
    map_release(&c.seen);
}
