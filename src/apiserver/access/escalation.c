/* SPDX-License-Identifier: Apache-2.0 */
/* What a user may grant, and the text of a refusal. */
#include "apiserver/access/rbac_internal.h"
#include "base/log.h"
#include "codec/json_edit.h"

/* --- refused requests (upstream: ForbiddenStatusError) ---------------------------------------- */

/* Upstream avoids errors that look like HTML. */
static void add_sanitized(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        const char *as = s.p[i] == '&'   ? "&amp;"
                         : s.p[i] == '<' ? "&lt;"
                         : s.p[i] == '>' ? "&gt;"
                                         : NULL;
        if (as)
            buf_add_cstr(out, as);
        else
            buf_add_char(out, s.p[i]);
    }
}

struct str access_forbidden_text(const struct api_user *user, const struct access_attributes *what,
                                 struct str why, struct arena *a)
{
    struct buf text = BUF_INIT, out = BUF_INIT;
    buf_add_cstr(&text, "User ");
    log_quote(&text, user->name);
    buf_add_printf(&text, " cannot %.*s ", STR_ARG(what->verb));
    if (!what->resource.n) {
        buf_add_cstr(&text, "path ");
        log_quote(&text, what->path);
    } else {
        struct str sub = what->subresource;
        buf_add_cstr(&text, "resource ");
        log_quote(&text, sub.n ? arena_printf(a, "%.*s/%.*s", STR_ARG(what->resource), STR_ARG(sub))
                               : what->resource);
        buf_add_cstr(&text, " in API group ");
        log_quote(&text, what->group);
        if (what->namespace.n) {
            buf_add_cstr(&text, " in the namespace ");
            log_quote(&text, what->namespace);
        } else {
            buf_add_cstr(&text, " at the cluster scope");
        }
    }
    add_sanitized(&out, buf_str(&text));
    if (why.n)
        buf_add_printf(&out, ": %.*s", STR_ARG(why));
    struct str result = arena_dup(a, buf_str(&out));
    buf_release(&text);
    buf_release(&out);
    return result;
}

/* --- escalation (upstream: ConfirmNoEscalation) ----------------------------------------------- */

static void write_quoted_list(struct buf *out, const char *label, struct rbac_list list)
{
    if (!list.n)
        return;
    buf_add_printf(out, "%s%s:[", out->p[out->n - 1] == '{' ? "" : ", ", label);
    for (size_t i = 0; i < list.n; i++) {
        if (i)
            buf_add_char(out, ' ');
        log_quote(out, list.v[i]);
    }
    buf_add_char(out, ']');
}

static struct str describe_rule(const struct rbac_rule *rule, struct arena *a)
{
    struct buf out = BUF_INIT;
    buf_add_char(&out, '{');
    write_quoted_list(&out, "APIGroups", rule->groups);
    write_quoted_list(&out, "Resources", rule->resources);
    write_quoted_list(&out, "NonResourceURLs", rule->urls);
    write_quoted_list(&out, "ResourceNames", rule->names);
    write_quoted_list(&out, "Verbs", rule->verbs);
    buf_add_char(&out, '}');
    struct str text = arena_dup(a, buf_str(&out));
    buf_release(&out);
    return text;
}

/* Missing rules of one group, resource and name, which become one with all their verbs. */
struct compacted {
    struct rbac_rule rule;
    VEC(struct str) verbs;
};

static struct compacted *compact_one(struct map *by_key, const struct rbac_rule *part,
                                     struct arena *a)
{
    struct str key = part->urls.n
                         ? arena_printf(a, "u%p", (const void *)part)
                         : arena_printf(a, "r%.*s\n%.*s\n%zu%.*s", STR_ARG(part->groups.v[0]),
                                        STR_ARG(part->resources.v[0]), part->names.n,
                                        STR_ARG(part->names.n ? part->names.v[0] : STR("")));
    struct compacted *c = map_get(by_key, key);
    if (!c) {
        c = arena_new(a, struct compacted);
        c->rule = *part;
        map_put(by_key, key, c);
    }
    vec_push(&c->verbs, part->verbs.v[0]);
    return c;
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void write_missing(struct buf *out, struct rbac_rules missing, struct arena *a)
{
    struct map by_key = MAP_INIT;
    VEC(struct str) lines = {0};
    for (size_t i = 0; i < missing.n; i++)
        compact_one(&by_key, missing.v[i], a);
    map_each (e, &by_key) {
        struct compacted *c = e->value;
        c->rule.verbs = (struct rbac_list){c->verbs.v, c->verbs.n};
        vec_push(&lines, describe_rule(&c->rule, a));
        vec_release(&c->verbs);
    }
    if (lines.n)
        qsort(lines.v, lines.n, sizeof(struct str), by_text);
    for (size_t i = 0; i < lines.n; i++)
        if (!i || !str_eq(lines.v[i], lines.v[i - 1]))
            buf_add_printf(out, "\n%.*s", STR_ARG(lines.v[i]));
    vec_release(&lines);
    map_release(&by_key);
}

static struct str escalation_text(const struct api_user *user, struct rbac_rules missing,
                                  struct str error, struct arena *a)
{
    struct buf out = BUF_INIT;
    buf_add_cstr(&out, "user ");
    log_quote(&out, user->name);
    buf_add_cstr(&out, " (groups=[");
    for (size_t i = 0; i < user->n_groups; i++) {
        if (i)
            buf_add_char(&out, ' ');
        log_quote(&out, user->groups[i]);
    }
    buf_add_cstr(&out, "]) is attempting to grant RBAC permissions not currently held:");
    write_missing(&out, missing, a);
    if (error.n)
        buf_add_printf(&out, "; resolution errors: [%.*s]", STR_ARG(error));
    struct str text = arena_dup(a, buf_str(&out));
    buf_release(&out);
    return text;
}

/* Whether the user has all these rights; else the reason. */
static bool holds(const struct rbac *rbac, const struct api_user *user, struct str namespace,
                  struct rbac_rules wanted, struct arena *a, struct str *ret_why)
{
    struct rbac_rules own, missing;
    struct str error;
    rbac_rules_for(rbac, user, namespace, a, &own, &error);
    if (rbac_uncovered(own, wanted, a, &missing) < 0) {
        *ret_why =
            STR("the rules have too many combinations of groups, resources, verbs and names");
        return false;
    }
    if (!missing.n)
        return true;
    *ret_why = escalation_text(user, missing, error, a);
    return false;
}

static bool has_aggregation(const struct json_value *role)
{
    const struct json_value *list = json_at(role, "aggregationRule.clusterRoleSelectors");
    return list && list->kind == JSON_ARRAY && list->n;
}

static bool holds_everything(const struct rbac *rbac, const struct api_user *user,
                             struct str namespace, struct arena *a)
{
    static const struct str star[] = {STR_INIT("*")};
    static const struct rbac_rule all[] = {
        {.verbs = {star, 1}, .groups = {star, 1}, .resources = {star, 1}},
        {.verbs = {star, 1}, .urls = {star, 1}},
    };
    const struct rbac_rule *v[] = {&all[0], &all[1]};
    struct str why;
    return holds(rbac, user, namespace, (struct rbac_rules){v, 2}, a, &why);
}

static int check_role(const struct rbac *rbac, const struct api_user *user,
                      const struct rbac_write *write, struct arena *a, struct str *ret_why)
{
    const struct json_value *list = json_get(write->object, STR("rules"));
    size_t n = list && list->kind == JSON_ARRAY ? list->n : 0;
    struct rbac_rule *rules = arena_array(a, struct rbac_rule, n);
    const struct rbac_rule **v = arena_array(a, const struct rbac_rule *, n);
    for (size_t i = 0; i < n; i++) {
        rbac_rule_read(&list->items[i], a, &rules[i]);
        v[i] = &rules[i];
    }
    if (!holds(rbac, user, write->namespace, (struct rbac_rules){v, n}, a, ret_why))
        return 403;
    if (str_is(write->resource, "clusterroles") &&
        (has_aggregation(write->object) || has_aggregation(write->old)) &&
        !holds_everything(rbac, user, write->namespace, a)) {
        *ret_why = STR("must have cluster-admin privileges to use the aggregationRule");
        return 403;
    }
    return 0;
}

static int check_binding(const struct rbac *rbac, const struct api_user *user,
                         const struct rbac_write *write, struct arena *a, struct str *ret_why)
{
    const struct json_value *ref = json_get(write->object, STR("roleRef"));
    struct str kind = json_get_text(ref, STR("kind")), name = json_get_text(ref, STR("name"));
    const char *plural = str_is(kind, "Role") ? "roles" : "clusterroles";
    struct access_attributes bind = {
        .verb = STR("bind"),
        .group = json_get_text(ref, STR("apiGroup")),
        .version = STR("*"),
        .resource = str_of(plural),
        .namespace = write->namespace,
        .name = name,
    };
    bool known = str_is(kind, "Role") || str_is(kind, "ClusterRole");
    if (known && rbac_allows(rbac, user, &bind, a, NULL))
        return 0;
    struct role *role = rbac_role(rbac, kind, write->namespace, name);
    if (!role) {
        *ret_why =
            known ? arena_printf(a, "%s." RBAC_GROUP " \"%.*s\" not found", plural, STR_ARG(name))
                  : arena_printf(a, "unsupported role reference kind: \"%.*s\"", STR_ARG(kind));
        return known ? 404 : 500;
    }
    return holds(rbac, user, write->namespace, rbac_role_rules(rbac, role), a, ret_why) ? 0 : 403;
}

/* Upstream lets the garbage collector change owners and finalizers. */
static bool only_gc_fields(const struct rbac_write *write, struct arena *a)
{
    static const char *const fields[] = {"ownerReferences", "finalizers", "managedFields"};
    if (!write->old)
        return false;
    struct json_value now = json_copy(write->object, a), old = json_copy(write->old, a);
    struct json_value *now_meta = json_member(&now, STR("metadata"));
    struct json_value *old_meta = json_member(&old, STR("metadata"));
    for (size_t i = 0; now_meta && old_meta && i < ARRAY_LEN(fields); i++) {
        json_remove(now_meta, str_of(fields[i]));
        json_remove(old_meta, str_of(fields[i]));
    }
    return json_value_equal(&now, &old);
}

int rbac_check_write(const struct rbac *rbac, const struct api_user *user,
                     const struct rbac_write *write, struct arena *a, struct str *ret_why)
{
    bool role = str_is(write->resource, "roles") || str_is(write->resource, "clusterroles");
    struct access_attributes escalate = {
        .verb = STR("escalate"),
        .group = STR(RBAC_GROUP),
        .version = STR("*"),
        .resource = write->resource,
        .namespace = write->namespace,
        .name = write->name,
    };
    if (api_user_in_group(user, STR("system:masters")) ||
        (role && rbac_allows(rbac, user, &escalate, a, NULL)) || only_gc_fields(write, a))
        return 0;
    return role ? check_role(rbac, user, write, a, ret_why)
                : check_binding(rbac, user, write, a, ret_why);
}
