/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "apiserver/access/authorization.h"
#include "base/vec.h"
#include "prop.h"

static const struct resource kinds[] = {
    {.group = STR_INIT(RBAC_GROUP), .plural = STR_INIT("roles")},
    {.group = STR_INIT(RBAC_GROUP), .plural = STR_INIT("clusterroles")},
    {.group = STR_INIT(RBAC_GROUP), .plural = STR_INIT("rolebindings")},
    {.group = STR_INIT(RBAC_GROUP), .plural = STR_INIT("clusterrolebindings")},
};
enum { ROLE, CLUSTER_ROLE, BINDING, CLUSTER_BINDING };

static void tell(struct rbac *rbac, enum store_change change, int kind, const char *key,
                 const char *text)
{
    struct str rest = str_of(key), namespace = STR("");
    if (strchr(key, '/'))
        (void)str_split(&rest, '/', &namespace);
    struct revision rev = {
        .resource = &kinds[kind], .namespace = namespace, .name = rest, .text = str_of(text)};
    rbac_changed(rbac, &(struct store_event){change, NULL, &rev});
}

static void put(struct rbac *rbac, int kind, const char *key, const char *text)
{
    tell(rbac, STORE_MODIFIED, kind, key, text);
}

static const struct api_user *user_of(const char *name, const char *group)
{
    static struct str groups[1];
    static struct api_user user;
    groups[0] = str_of(group);
    user = (struct api_user){.name = str_of(name), .groups = groups, .n_groups = group ? 1 : 0};
    return &user;
}

/* "verb group/resource/sub namespace name" or "verb /path"; "-": empty. */
static struct access_attributes request(const char *text)
{
    struct str rest = str_of(text), word[4] = {{0}}, part;
    for (size_t i = 0; i < 4 && str_split(&rest, ' ', &word[i]); i++)
        if (str_is(word[i], "-"))
            word[i] = STR("");
    struct access_attributes what = {.verb = word[0], .namespace = word[2], .name = word[3]};
    if (word[1].p[0] == '/') {
        what.path = word[1];
        return what;
    }
    rest = word[1];
    (void)str_split(&rest, '/', &part);
    what.group = str_is(part, "core") ? STR("") : part;
    (void)str_split(&rest, '/', &what.resource);
    if (!str_split(&rest, '/', &what.subresource))
        what.subresource = STR("");
    return what;
}

static bool may(const struct rbac *rbac, const char *name, const char *group, const char *text)
{
    struct arena a;
    struct access_attributes what = request(text);
    arena_init(&a, 0);
    bool yes = rbac_allows(rbac, user_of(name, group), &what, &a, NULL);
    arena_release(&a);
    return yes;
}

static void assert_why(const struct rbac *rbac, const char *name, const char *group,
                       const char *text, const char *expected)
{
    struct arena a;
    struct str why;
    struct access_attributes what = request(text);
    arena_init(&a, 0);
    (void)rbac_allows(rbac, user_of(name, group), &what, &a, &why);
    assert_string_equal(arena_dup(&a, why).p, expected);
    arena_release(&a);
}

/* --- cases ------------------------------------------------------------------------------------ */

static void rules_match(void **state)
{
    (void)state;
    struct rbac *rbac = rbac_new();
    put(rbac, CLUSTER_ROLE, "r",
        "{\"rules\":["
        "{\"verbs\":[\"get\",\"list\"],\"apiGroups\":[\"\"],\"resources\":[\"pods\",\"*/scale\"]},"
        "{\"verbs\":[\"*\"],\"apiGroups\":[\"apps\"],\"resources\":[\"deployments\"],"
        "\"resourceNames\":[\"web\"]},"
        "{\"verbs\":[\"use\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"]},"
        "{\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/healthz/*\",\"/version\"]}]}");
    put(rbac, CLUSTER_BINDING, "b",
        "{\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"r\"},"
        "\"subjects\":[{\"kind\":\"User\",\"name\":\"ann\"},"
        "{\"kind\":\"Group\",\"name\":\"devs\"}]}");
    assert_true(may(rbac, "ann", NULL, "get core/pods ns"));
    assert_true(may(rbac, "x", "devs", "list core/pods -"));
    assert_false(may(rbac, "x", "ops", "list core/pods -"));
    assert_false(may(rbac, "devs", "ann", "list core/pods -"));
    assert_false(may(rbac, "ann", NULL, "watch core/pods ns"));
    assert_false(may(rbac, "ann", NULL, "get apps/pods ns"));
    assert_false(may(rbac, "ann", NULL, "get core/pods/log ns"));
    assert_true(may(rbac, "ann", NULL, "get core/anything/scale ns"));
    assert_false(may(rbac, "ann", NULL, "get core/scale ns"));
    assert_true(may(rbac, "ann", NULL, "delete apps/deployments ns web"));
    assert_false(may(rbac, "ann", NULL, "delete apps/deployments ns api"));
    assert_false(may(rbac, "ann", NULL, "list apps/deployments ns"));
    assert_true(may(rbac, "ann", NULL, "use x/y/z ns"));
    assert_true(may(rbac, "ann", NULL, "get /healthz/etcd"));
    assert_true(may(rbac, "ann", NULL, "get /version"));
    assert_false(may(rbac, "ann", NULL, "get /versions"));
    assert_false(may(rbac, "ann", NULL, "get /healthz"));
    assert_false(may(rbac, "ann", NULL, "post /version"));
    assert_true(may(rbac, "x", "system:masters", "post /version"));
    tell(rbac, STORE_DELETED, CLUSTER_BINDING, "b", "{}");
    assert_false(may(rbac, "ann", NULL, "get core/pods ns"));
    rbac_free(rbac);
}

static void reasons(void **state)
{
    (void)state;
    struct rbac *rbac = rbac_new();
    const char *pods = "{\"rules\":[{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],"
                       "\"resources\":[\"pods\"]}]}";
    put(rbac, ROLE, "ns/local", pods);
    put(rbac, BINDING, "ns/b",
        "{\"roleRef\":{\"kind\":\"Role\",\"name\":\"local\"},"
        "\"subjects\":[{\"kind\":\"ServiceAccount\",\"name\":\"sa\"},"
        "{\"kind\":\"User\",\"name\":\"bob\"}]}");
    assert_why(rbac, "bob", NULL, "get core/pods ns",
               "RBAC: allowed by RoleBinding \"b/ns\" of Role \"local\" to User \"bob\"");
    assert_why(
        rbac, "system:serviceaccount:ns:sa", NULL, "get core/pods ns",
        "RBAC: allowed by RoleBinding \"b/ns\" of Role \"local\" to ServiceAccount \"sa/ns\"");
    assert_false(may(rbac, "bob", NULL, "get core/pods other"));
    assert_false(may(rbac, "bob", NULL, "get core/pods -"));
    assert_why(rbac, "bob", NULL, "list core/pods ns", "");
    put(rbac, CLUSTER_BINDING, "c",
        "{\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"gone\"},"
        "\"subjects\":[{\"kind\":\"User\",\"name\":\"bob\"}]}");
    assert_why(rbac, "bob", NULL, "list core/pods ns",
               "RBAC: clusterrole.rbac.authorization.k8s.io \"gone\" not found");
    tell(rbac, STORE_DELETED, ROLE, "ns/local", "{}");
    assert_why(rbac, "bob", NULL, "get core/pods ns",
               "RBAC: [clusterrole.rbac.authorization.k8s.io \"gone\" not found, "
               "role.rbac.authorization.k8s.io \"local\" not found]");
    put(rbac, CLUSTER_ROLE, "gone", pods);
    assert_why(rbac, "bob", NULL, "get core/pods ns",
               "RBAC: allowed by ClusterRoleBinding \"c\" of ClusterRole \"gone\" to User \"bob\"");
    rbac_free(rbac);
}

static void forbidden_text(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    struct access_attributes what = request("list core/pods/log ns");
    assert_string_equal(access_forbidden_text(user_of("a<b", NULL), &what, STR("why"), &a).p,
                        "User \"a&lt;b\" cannot list resource \"pods/log\" in API group \"\" in "
                        "the namespace \"ns\": why");
    what = request("list apps/deployments -");
    assert_string_equal(access_forbidden_text(user_of("x", NULL), &what, STR(""), &a).p,
                        "User \"x\" cannot list resource \"deployments\" in API group \"apps\" at "
                        "the cluster scope");
    what = request("get /metrics");
    assert_string_equal(access_forbidden_text(user_of("x", NULL), &what, STR(""), &a).p,
                        "User \"x\" cannot get path \"/metrics\"");
    arena_release(&a);
}

#define LEAF(resource, label)                                                            \
    "{\"metadata\":{\"labels\":{\"to\":\"" label "\"}},\"rules\":[{\"verbs\":[\"get\"]," \
    "\"apiGroups\":[\"\"],\"resources\":[\"" resource "\"]}]}"
#define SUM(from, label)                                                      \
    "{\"metadata\":{\"labels\":{\"to\":\"" label "\"}},\"aggregationRule\":{" \
    "\"clusterRoleSelectors\":[{\"matchLabels\":{\"to\":\"" from "\"}}]},\"rules\":null}"

static void aggregation(void **state)
{
    (void)state;
    struct rbac *rbac = rbac_new();
    struct arena a;
    struct str name, rules;
    arena_init(&a, 0);
    put(rbac, CLUSTER_BINDING, "b",
        "{\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"admin\"},"
        "\"subjects\":[{\"kind\":\"User\",\"name\":\"ann\"}]}");
    put(rbac, CLUSTER_ROLE, "admin", SUM("admin", "view"));
    put(rbac, CLUSTER_ROLE, "edit", SUM("edit", "admin"));
    put(rbac, CLUSTER_ROLE, "leaf", LEAF("pods", "edit"));
    assert_true(may(rbac, "ann", NULL, "get core/pods -"));
    assert_false(may(rbac, "ann", NULL, "get core/secrets -"));
    /* The middle role was never used, so it is stale: its parent has to notice all the same. */
    put(rbac, CLUSTER_ROLE, "leaf", LEAF("secrets", "edit"));
    assert_false(may(rbac, "ann", NULL, "get core/pods -"));
    assert_true(may(rbac, "ann", NULL, "get core/secrets -"));
    put(rbac, CLUSTER_ROLE, "other", LEAF("secrets", "admin"));
    assert_true(rbac_stale_role(rbac, &a, &name, &rules));
    assert_string_equal(name.p, "admin");
    assert_string_equal(rules.p,
                        "[{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[\"secrets\"]}]");
    /* A cycle. */
    put(rbac, CLUSTER_ROLE, "view", SUM("view", "edit"));
    assert_true(may(rbac, "ann", NULL, "get core/secrets -"));
    tell(rbac, STORE_DELETED, CLUSTER_ROLE, "leaf", "{}");
    tell(rbac, STORE_DELETED, CLUSTER_ROLE, "other", "{}");
    assert_false(may(rbac, "ann", NULL, "get core/secrets -"));
    assert_false(rbac_stale_role(rbac, &a, &name, &rules));
    arena_release(&a);
    rbac_free(rbac);
}

static int check(const struct rbac *rbac, const struct api_user *user, struct rbac_write write,
                 const char *object, const char *expected)
{
    struct arena a;
    struct json_value tree, old;
    struct str why = STR("");
    arena_init(&a, 0);
    assert_int_equal(json_parse(str_of(object), 0, &a, &tree, NULL), 0);
    write.object = &tree;
    if (write.name.n) {
        assert_int_equal(json_parse(STR("{\"metadata\":{\"name\":\"x\"}}"), 0, &a, &old, NULL), 0);
        write.old = &old;
    }
    int code = rbac_check_write(rbac, user, &write, &a, &why);
    assert_string_equal(arena_dup(&a, why).p, expected);
    arena_release(&a);
    return code;
}

static void escalation(void **state)
{
    (void)state;
    struct rbac *rbac = rbac_new();
    put(rbac, CLUSTER_ROLE, "own",
        "{\"rules\":[{\"verbs\":[\"get\",\"list\"],\"apiGroups\":[\"\"],"
        "\"resources\":[\"pods\",\"*/log\"]},"
        "{\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/a/*\"]},"
        "{\"verbs\":[\"bind\"],\"apiGroups\":[\"rbac.authorization.k8s.io\"],"
        "\"resources\":[\"clusterroles\"],\"resourceNames\":[\"view\"]},"
        "{\"verbs\":[\"escalate\"],\"apiGroups\":[\"rbac.authorization.k8s.io\"],"
        "\"resources\":[\"clusterroles\"],\"resourceNames\":[\"free\"]}]}");
    put(rbac, CLUSTER_ROLE, "big",
        "{\"rules\":[{\"verbs\":[\"delete\",\"get\",\"create\"],\"apiGroups\":[\"\",\"apps\"],"
        "\"resources\":[\"pods\"]}]}");
    put(rbac, CLUSTER_BINDING, "b",
        "{\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"own\"},"
        "\"subjects\":[{\"kind\":\"User\",\"name\":\"ann\"}]}");
    const struct api_user *ann = user_of("ann", "devs");
    struct rbac_write role = {.resource = STR("clusterroles")};
    struct rbac_write binding = {.resource = STR("rolebindings"), .namespace = STR("ns")};
    assert_int_equal(check(rbac, ann, role,
                           "{\"rules\":[{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],"
                           "\"resources\":[\"pods\",\"x/log\"],\"resourceNames\":[\"a\"]},"
                           "{\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/a/b\"]}]}",
                           ""),
                     0);
    assert_int_equal(
        check(rbac, ann, role,
              "{\"rules\":[{\"verbs\":[\"get\",\"watch\",\"delete\"],\"apiGroups\":[\"\"],"
              "\"resources\":[\"pods\",\"nodes\"]},{\"verbs\":[\"get\"],"
              "\"nonResourceURLs\":[\"/b\"]}]}",
              "user \"ann\" (groups=[\"devs\"]) is attempting to grant RBAC permissions not "
              "currently held:\n"
              "{APIGroups:[\"\"], Resources:[\"nodes\"], Verbs:[\"get\" \"watch\" \"delete\"]}\n"
              "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"watch\" \"delete\"]}\n"
              "{NonResourceURLs:[\"/b\"], Verbs:[\"get\"]}"),
        403);
    assert_int_equal(check(rbac, ann, role, "{\"aggregationRule\":{\"clusterRoleSelectors\":[{}]}}",
                           "must have cluster-admin privileges to use the aggregationRule"),
                     403);
    role.name = STR("free");
    assert_int_equal(
        check(rbac, ann, role, "{\"rules\":[{\"verbs\":[\"*\"],\"nonResourceURLs\":[\"*\"]}]}", ""),
        0);
    role.name = STR("x");
    assert_int_equal(
        check(rbac, ann, role, "{\"metadata\":{\"name\":\"x\",\"finalizers\":[\"f\"]}}", ""), 0);
    assert_int_equal(
        check(rbac, ann, binding,
              "{\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\","
              "\"name\":\"view\"}}",
              ""),
        0);
    assert_int_equal(
        check(rbac, ann, binding,
              "{\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Role\","
              "\"name\":\"view\"}}",
              "roles.rbac.authorization.k8s.io \"view\" not found"),
        404);
    assert_int_equal(
        check(rbac, ann, binding,
              "{\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\","
              "\"name\":\"big\"}}",
              "user \"ann\" (groups=[\"devs\"]) is attempting to grant RBAC permissions not "
              "currently held:\n"
              "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\" \"create\"]}\n"
              "{APIGroups:[\"apps\"], Resources:[\"pods\"], Verbs:[\"delete\" \"get\" "
              "\"create\"]}"),
        403);
    assert_int_equal(check(rbac, user_of("x", "system:masters"), role,
                           "{\"rules\":[{\"verbs\":[\"*\"],\"nonResourceURLs\":[\"*\"]}]}", ""),
                     0);
    rbac_free(rbac);
}

/* --- property: as a scan of all bindings ------------------------------------------------------ */

#define N 6

struct model {
    bool role[2][N]; /* in the namespace "n", cluster-wide: exists */
    int verb[2][N], resource[2][N];
    bool binding[2][N];
    int ref[2][N], ref_cluster[2][N], subject[2][N][2]; /* 0…5: users, 6…8 groups, 9…: accounts */
};

static const char *const verbs[] = {"get", "list", "use", "*"};
static const char *const resources[] = {"a", "b", "b/s", "*/s", "*"};

static bool model_rule(const struct model *m, int scope, int i, const struct access_attributes *w)
{
    const char *verb = verbs[m->verb[scope][i]], *res = resources[m->resource[scope][i]];
    char full[32];
    snprintf(full, sizeof(full), "%.*s%s%.*s", STR_ARG(w->resource), w->subresource.n ? "/" : "",
             STR_ARG(w->subresource));
    return (!strcmp(verb, "*") || str_is(w->verb, verb)) &&
           (!strcmp(res, "*") || !strcmp(res, full) ||
            (!strcmp(res, "*/s") && str_is(w->subresource, "s")));
}

static bool model_subject(int subject, int user, int group)
{
    return subject < 6 ? subject == user : subject < 9 ? subject - 6 == group : subject - 3 == user;
}

/* Users 0…5 have that name; 6 and 7 are service accounts s0 and s1 of n. */
static bool model_allows(const struct model *m, int user, int group,
                         const struct access_attributes *w)
{
    for (int scope = 0; scope < 2; scope++)
        for (int i = 0; i < N; i++) {
            int ref = m->ref[scope][i], in = scope == 1 || m->ref_cluster[scope][i];
            if (!m->binding[scope][i] || (scope == 0 && !w->namespace.n) || !m->role[in][ref])
                continue;
            if ((model_subject(m->subject[scope][i][0], user, group) ||
                 model_subject(m->subject[scope][i][1], user, group)) &&
                model_rule(m, in, ref, w))
                return true;
        }
    return false;
}

static void subject_text(int s, char *out, size_t size)
{
    if (s < 6)
        snprintf(out, size, "{\"kind\":\"User\",\"name\":\"u%d\"}", s);
    else if (s < 9)
        snprintf(out, size, "{\"kind\":\"Group\",\"name\":\"g%d\"}", s - 6);
    else
        snprintf(out, size, "{\"kind\":\"ServiceAccount\",\"name\":\"s%d\",\"namespace\":\"n\"}",
                 s - 9);
}

static void change(struct rand *r, struct model *m, struct rbac *rbac)
{
    int scope = (int)rand_below(r, 2), i = (int)rand_below(r, N);
    bool is_role = rand_below(r, 2), gone = rand_below(r, 4) == 0;
    char key[16], text[400], one[100], two[100];
    snprintf(key, sizeof(key), scope ? "x%d" : "n/x%d", i);
    if (is_role) {
        m->role[scope][i] = !gone;
        m->verb[scope][i] = (int)rand_below(r, ARRAY_LEN(verbs));
        m->resource[scope][i] = (int)rand_below(r, ARRAY_LEN(resources));
        snprintf(text, sizeof(text),
                 "{\"rules\":[{\"verbs\":[\"%s\"],\"apiGroups\":[\"\"],\"resources\":[\"%s\"]}]}",
                 verbs[m->verb[scope][i]], resources[m->resource[scope][i]]);
    } else {
        m->binding[scope][i] = !gone;
        m->ref[scope][i] = (int)rand_below(r, N);
        m->ref_cluster[scope][i] = (int)rand_below(r, 2);
        for (int k = 0; k < 2; k++)
            m->subject[scope][i][k] = (int)rand_below(r, 11);
        subject_text(m->subject[scope][i][0], one, sizeof(one));
        subject_text(m->subject[scope][i][1], two, sizeof(two));
        snprintf(text, sizeof(text),
                 "{\"roleRef\":{\"kind\":\"%s\",\"name\":\"x%d\"},\"subjects\":[%s,%s]}",
                 scope || m->ref_cluster[scope][i] ? "ClusterRole" : "Role", m->ref[scope][i], one,
                 two);
    }
    tell(rbac, gone ? STORE_DELETED : STORE_MODIFIED, (is_role ? 0 : 2) + scope, key, text);
}

static bool as_model(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct model m = {0};
    struct rbac *rbac = rbac_new();
    bool ok = true;
    for (size_t step = 0; ok && step < size; step++) {
        change(r, &m, rbac);
        for (int k = 0; ok && k < 8; k++) {
            int user = (int)rand_below(r, 8), group = (int)rand_below(r, 3);
            char name[40], of[8], text[40];
            snprintf(name, sizeof(name), user < 6 ? "u%d" : "system:serviceaccount:n:s%d",
                     user < 6 ? user : user - 6);
            snprintf(of, sizeof(of), "g%d", group);
            snprintf(text, sizeof(text), "%s core/%s %s", verbs[rand_below(r, 3)],
                     resources[rand_below(r, 3)], rand_below(r, 2) ? "n" : "-");
            struct access_attributes what = request(text);
            ok = may(rbac, name, of, text) == model_allows(&m, user, group, &what);
        }
    }
    rbac_free(rbac);
    return ok;
}

static void properties(void **state)
{
    (void)state;
    assert_true(prop_run("rbac as model", 300, as_model, NULL));
}

/* --- modes ------------------------------------------------------------------------------------ */

static void modes(void **state)
{
    static const struct {
        const char *names;
        unsigned modes; /* 0: refused */
        const char *reason;
    } rows[] = {
        {"RBAC", AUTHORIZATION_RBAC, NULL},
        {"Node,RBAC", AUTHORIZATION_NODE | AUTHORIZATION_RBAC, NULL},
        {"RBAC,AlwaysAllow", AUTHORIZATION_RBAC | AUTHORIZATION_ALWAYS_ALLOW, NULL},
        {"AlwaysDeny", AUTHORIZATION_ALWAYS_DENY, NULL},
        {"", 0, "at least one mode is required"},
        {"RBAC,RBAC", 0, "\"RBAC\" is given more than once"},
        {"ABAC", 0, "\"ABAC\" is not a mode: RBAC, AlwaysAllow, AlwaysDeny and Node are"},
    };
    struct arena a;
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        unsigned found = 0;
        struct err err;
        int r = authorization_parse(str_of(rows[i].names), &found, &err);
        assert_int_equal(r, rows[i].modes ? 0 : -EINVAL);
        assert_int_equal(found, rows[i].modes);
        if (r < 0)
            assert_string_equal(err.msg, rows[i].reason);
    }

    arena_init(&a, 0);
    struct rbac *rbac = rbac_new();
    struct access_attributes what = request("get core/pods n");
    struct str why;
    put(rbac, CLUSTER_ROLE, "r",
        "{\"rules\":[{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[\"pods\"]}]}");
    put(rbac, CLUSTER_BINDING, "b",
        "{\"subjects\":[{\"kind\":\"User\",\"apiGroup\":\"" RBAC_GROUP "\",\"name\":\"ann\"}],"
        "\"roleRef\":{\"kind\":\"ClusterRole\",\"apiGroup\":\"" RBAC_GROUP "\",\"name\":\"r\"}}");
    unsigned both = AUTHORIZATION_RBAC | AUTHORIZATION_ALWAYS_ALLOW;
    assert_true(authorization_allows(both, rbac, user_of("ann", NULL), &what, &a, &why));
    assert_true(str_starts(why, STR("RBAC: allowed by")));
    assert_true(authorization_allows(both, rbac, user_of("bob", NULL), &what, &a, &why));
    assert_int_equal(why.n, 0);
    assert_false(
        authorization_allows(AUTHORIZATION_RBAC, rbac, user_of("bob", NULL), &what, &a, &why));
    assert_int_equal(why.n, 0);
    assert_false(authorization_allows(AUTHORIZATION_ALWAYS_DENY, rbac, user_of("ann", NULL), &what,
                                      &a, &why));
    assert_true(str_is(why, "Everything is forbidden."));
    assert_true(authorization_allows(AUTHORIZATION_ALWAYS_DENY, rbac,
                                     user_of("bob", "system:masters"), &what, &a, &why));
    rbac_free(rbac);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_match),    cmocka_unit_test(reasons),
        cmocka_unit_test(forbidden_text), cmocka_unit_test(aggregation),
        cmocka_unit_test(escalation),     cmocka_unit_test(properties),
        cmocka_unit_test(modes),
    };
    return cmocka_run_group_tests_name("rbac", tests, NULL, NULL);
}
