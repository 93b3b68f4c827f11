/* SPDX-License-Identifier: Apache-2.0 */
/* Rules: what one allows, and which of them cover others. */
#include <errno.h>

#include "apiserver/access/rbac.h"
#include "base/vec.h"
#include "codec/json_value.h"

/* A rule that is broken down has at most this many parts. */
#define PARTS_MAX 20000

/* --- reading ---------------------------------------------------------------------------------- */

static const char *const usual_verbs[] = {"get",    "list",  "watch",  "create",
                                          "update", "patch", "delete", "deletecollection"};

/* Bit 0 stands for all other verbs. */
static unsigned verb_bit(struct str verb)
{
    for (unsigned i = 0; i < ARRAY_LEN(usual_verbs); i++)
        if (str_is(verb, usual_verbs[i]))
            return 2U << i;
    return 1;
}

static struct rbac_list read_list(const struct json_value *v, struct arena *a)
{
    if (!v || v->kind != JSON_ARRAY || !v->n)
        return (struct rbac_list){0};
    struct str *list = arena_array(a, struct str, v->n);
    size_t n = 0;
    for (size_t i = 0; i < v->n; i++)
        if (v->items[i].kind == JSON_STRING)
            list[n++] = arena_dup(a, v->items[i].text);
    return (struct rbac_list){list, n};
}

static uint64_t hash_list(uint64_t hash, struct rbac_list list)
{
    for (size_t i = 0; i < list.n; i++)
        hash = hash_u64(hash ^ str_hash(list.v[i]));
    return hash_u64(hash ^ list.n);
}

void rbac_rule_read(const struct json_value *v, struct arena *a, struct rbac_rule *ret_rule)
{
    struct rbac_rule rule = {
        .verbs = read_list(json_get(v, STR("verbs")), a),
        .groups = read_list(json_get(v, STR("apiGroups")), a),
        .resources = read_list(json_get(v, STR("resources")), a),
        .names = read_list(json_get(v, STR("resourceNames")), a),
        .urls = read_list(json_get(v, STR("nonResourceURLs")), a),
    };
    for (size_t i = 0; i < rule.verbs.n; i++)
        rule.verb_mask |= str_is(rule.verbs.v[i], "*") ? ~0U : verb_bit(rule.verbs.v[i]);
    rule.hash = hash_list(0, rule.verbs);
    rule.hash = hash_list(rule.hash, rule.groups);
    rule.hash = hash_list(rule.hash, rule.resources);
    rule.hash = hash_list(rule.hash, rule.names);
    rule.hash = hash_list(rule.hash, rule.urls);
    *ret_rule = rule;
}

static void write_list(const char *key, struct rbac_list list, struct buf *out)
{
    if (!list.n)
        return;
    buf_add_printf(out, "%s\"%s\":[", out->p[out->n - 1] == '{' ? "" : ",", key);
    for (size_t i = 0; i < list.n; i++) {
        if (i)
            buf_add_char(out, ',');
        json_write_str(out, list.v[i]);
    }
    buf_add_char(out, ']');
}

void rbac_rule_write(const struct rbac_rule *rule, struct buf *out)
{
    buf_add_char(out, '{');
    write_list("verbs", rule->verbs, out);
    write_list("apiGroups", rule->groups, out);
    write_list("resources", rule->resources, out);
    write_list("resourceNames", rule->names, out);
    write_list("nonResourceURLs", rule->urls, out);
    buf_add_char(out, '}');
}

static bool lists_equal(struct rbac_list a, struct rbac_list b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (!str_eq(a.v[i], b.v[i]))
            return false;
    return true;
}

bool rbac_rule_equal(const struct rbac_rule *a, const struct rbac_rule *b)
{
    return a->hash == b->hash && lists_equal(a->verbs, b->verbs) &&
           lists_equal(a->groups, b->groups) && lists_equal(a->resources, b->resources) &&
           lists_equal(a->names, b->names) && lists_equal(a->urls, b->urls);
}

/* --- matching (upstream: RuleAllows) ---------------------------------------------------------- */

static bool has(struct rbac_list list, struct str s)
{
    for (size_t i = 0; i < list.n; i++)
        if (str_eq(list.v[i], s))
            return true;
    return false;
}

static bool has_or_star(struct rbac_list list, struct str s)
{
    return has(list, s) || has(list, STR("*"));
}

/* rule is "pods/log" or "* /log" without the space. */
static bool is_subresource(struct str rule, struct str resource, struct str subresource)
{
    if (rule.n <= subresource.n || rule.p[rule.n - subresource.n - 1] != '/' ||
        !str_ends(rule, subresource))
        return false;
    struct str base = str_slice(rule, 0, rule.n - subresource.n - 1);
    return str_eq(base, resource) || str_is(base, "*");
}

static bool resource_matches(struct rbac_list list, struct str resource, struct str subresource)
{
    for (size_t i = 0; i < list.n; i++) {
        if (str_is(list.v[i], "*"))
            return true;
        if (subresource.n ? is_subresource(list.v[i], resource, subresource)
                          : str_eq(list.v[i], resource))
            return true;
    }
    return false;
}

static bool url_covers(struct str owner, struct str url)
{
    if (str_eq(owner, url))
        return true;
    if (!str_ends(owner, STR("*")))
        return false;
    while (owner.n && owner.p[owner.n - 1] == '*')
        owner.n--;
    return str_starts(url, owner);
}

static bool urls_cover(struct rbac_list list, struct str url)
{
    for (size_t i = 0; i < list.n; i++)
        if (url_covers(list.v[i], url))
            return true;
    return false;
}

bool rbac_rule_allows(const struct rbac_rule *rule, const struct access_attributes *what)
{
    if (!(rule->verb_mask & verb_bit(what->verb)) || !has_or_star(rule->verbs, what->verb))
        return false;
    if (!what->resource.n)
        return urls_cover(rule->urls, what->path);
    return has_or_star(rule->groups, what->group) &&
           resource_matches(rule->resources, what->resource, what->subresource) &&
           (!rule->names.n || has(rule->names, what->name));
}

/* --- covering (upstream: Covers) -------------------------------------------------------------- */

/* A rule with at most one value in each list. */
struct part {
    struct str verb, group, resource, name, url;
    bool has_name, is_url;
};

static bool resource_covered(struct rbac_list list, struct str resource)
{
    if (has_or_star(list, resource))
        return true;
    size_t slash = str_find(resource, '/');
    if (slash == resource.n)
        return false;
    struct str sub = str_slice(resource, slash, resource.n);
    for (size_t i = 0; i < list.n; i++)
        if (list.v[i].n == sub.n + 1 && list.v[i].p[0] == '*' && str_ends(list.v[i], sub))
            return true;
    return false;
}

static bool covers(const struct rbac_rule *owner, const struct part *part)
{
    if (!has_or_star(owner->verbs, part->verb))
        return false;
    if (part->is_url)
        return !owner->names.n && urls_cover(owner->urls, part->url);
    return has_or_star(owner->groups, part->group) &&
           resource_covered(owner->resources, part->resource) &&
           (!owner->names.n || (part->has_name && has(owner->names, part->name)));
}

static struct rbac_list list_of(struct str s, struct arena *a)
{
    struct str *v = arena_new(a, struct str);
    *v = s;
    return (struct rbac_list){v, 1};
}

static const struct rbac_rule *rule_of(const struct part *part, struct arena *a)
{
    struct rbac_rule *rule = arena_new(a, struct rbac_rule);
    rule->verbs = list_of(part->verb, a);
    if (part->is_url) {
        rule->urls = list_of(part->url, a);
        return rule;
    }
    rule->groups = list_of(part->group, a);
    rule->resources = list_of(part->resource, a);
    if (part->has_name)
        rule->names = list_of(part->name, a);
    return rule;
}

struct coverage {
    struct rbac_rules owner;
    struct arena *arena;
    VEC(const struct rbac_rule *) missing;
    size_t n_parts;
};

static void check_part(struct coverage *c, const struct part *part)
{
    if (c->n_parts++ >= PARTS_MAX)
        return;
    for (size_t i = 0; i < c->owner.n; i++)
        if (covers(c->owner.v[i], part))
            return;
    vec_push(&c->missing, rule_of(part, c->arena));
}

static void check_verbs(struct coverage *c, const struct rbac_rule *rule, struct part part)
{
    for (size_t i = 0; i < rule->verbs.n && c->n_parts <= PARTS_MAX; i++) {
        part.verb = rule->verbs.v[i];
        if (!rule->names.n || part.is_url)
            check_part(c, &part);
        else
            for (size_t k = 0; k < rule->names.n && c->n_parts <= PARTS_MAX; k++) {
                part.name = rule->names.v[k];
                part.has_name = true;
                check_part(c, &part);
            }
    }
}

static void check_rule(struct coverage *c, const struct rbac_rule *rule)
{
    for (size_t g = 0; g < rule->groups.n; g++)
        for (size_t r = 0; r < rule->resources.n && c->n_parts <= PARTS_MAX; r++)
            check_verbs(
                c, rule,
                (struct part){.group = rule->groups.v[g], .resource = rule->resources.v[r]});
    for (size_t u = 0; u < rule->urls.n && c->n_parts <= PARTS_MAX; u++)
        check_verbs(c, rule, (struct part){.url = rule->urls.v[u], .is_url = true});
}

int rbac_uncovered(struct rbac_rules owner, struct rbac_rules servant, struct arena *a,
                   struct rbac_rules *ret_missing)
{
    struct coverage c = {.owner = owner, .arena = a};
    for (size_t i = 0; i < servant.n; i++)
        check_rule(&c, servant.v[i]);
    const struct rbac_rule **v = arena_array(a, const struct rbac_rule *, c.missing.n);
    if (c.missing.n)
        memcpy(v, c.missing.v, c.missing.n * sizeof(*v));
    *ret_missing = (struct rbac_rules){v, c.missing.n};
    vec_release(&c.missing);
    return c.n_parts > PARTS_MAX ? -E2BIG : 0;
}
