/* SPDX-License-Identifier: Apache-2.0 */
/* Who sends a request: client certificates, tokens, impersonation. */
#include "apiserver/http/api_server_internal.h"

#define ANONYMOUS       STR("system:anonymous")
#define UNAUTHENTICATED STR("system:unauthenticated")
#define AUTHENTICATED   STR("system:authenticated")
#define ACCOUNT_PREFIX  STR("system:serviceaccount:")

/* --- users ------------------------------------------------------------------------------------ */

struct api_user *user_copy(const struct api_user *user, struct arena *a)
{
    struct api_user *copy = arena_new(a, struct api_user);
    struct str *groups = arena_array(a, struct str, user->n_groups + 1);

    for (size_t i = 0; i < user->n_groups; i++)
        groups[i] = arena_dup(a, user->groups[i]);
    *copy = (struct api_user){.name = arena_dup(a, user->name),
                              .uid = arena_dup(a, user->uid),
                              .groups = groups,
                              .n_groups = user->n_groups,
                              .extra = arena_dup(a, user->extra)};
    return copy;
}

/* Adds a group that the user does not have. */
static void add_group(struct api_user *user, struct str group, struct arena *a)
{
    struct str *groups;

    if (api_user_in_group(user, group))
        return;
    groups = arena_array(a, struct str, user->n_groups + 1);
    if (user->n_groups)
        memcpy(groups, user->groups, user->n_groups * sizeof(struct str));
    groups[user->n_groups] = group;
    user->groups = groups;
    user->n_groups++;
}

/* --- tokens of service accounts --------------------------------------------------------------- */

static bool object_is(struct api_server *s, const char *plural, struct str namespace,
                      const struct token_ref *ref, struct arena *a)
{
    const struct resource *r = resources_find(s->resources, STR(""), STR("v1"), str_of(plural));
    const struct revision *rev = store_get(s->store, r, namespace, ref->name);
    struct json_value tree;

    return rev && json_parse(rev->text, 0, a, &tree, NULL) == 0 &&
           str_eq(json_text_at(&tree, "metadata.uid"), ref->uid);
}

static struct str account_extra(const struct token_claims *claims, struct arena *a)
{
    struct buf b = BUF_INIT;
    struct str text;

    buf_add_printf(&b, "{\"authentication.kubernetes.io/credential-id\":[\"JTI=%.*s\"]",
                   STR_ARG(claims->id));
    if (!str_empty(claims->node.name))
        buf_add_printf(&b,
                       ",\"authentication.kubernetes.io/node-name\":[\"%.*s\"],"
                       "\"authentication.kubernetes.io/node-uid\":[\"%.*s\"]",
                       STR_ARG(claims->node.name), STR_ARG(claims->node.uid));
    if (!str_empty(claims->pod.name))
        buf_add_printf(&b,
                       ",\"authentication.kubernetes.io/pod-name\":[\"%.*s\"],"
                       "\"authentication.kubernetes.io/pod-uid\":[\"%.*s\"]",
                       STR_ARG(claims->pod.name), STR_ARG(claims->pod.uid));
    buf_add_char(&b, '}');
    text = arena_dup(a, buf_str(&b));
    buf_release(&b);
    return text;
}

static struct api_user account_user(const struct token_claims *claims, struct arena *a)
{
    struct str *groups = arena_array(a, struct str, 3);

    groups[0] = STR("system:serviceaccounts");
    groups[1] = arena_printf(a, "system:serviceaccounts:%.*s", STR_ARG(claims->namespace));
    groups[2] = AUTHENTICATED;
    return (struct api_user){.name = arena_printf(a, "system:serviceaccount:%.*s:%.*s",
                                                  STR_ARG(claims->namespace),
                                                  STR_ARG(claims->account.name)),
                             .uid = claims->account.uid,
                             .groups = groups,
                             .n_groups = 3,
                             .extra = account_extra(claims, a)};
}

/* Whether everything that the token is bound to exists. */
static bool account_exists(struct api_server *s, const struct token_claims *claims, struct arena *a,
                           struct str *ret_why)
{
    *ret_why = STR("service account token has been invalidated");
    if (!object_is(s, "serviceaccounts", claims->namespace, &claims->account, a)) {
        *ret_why = arena_printf(a, "service account %.*s/%.*s has been deleted",
                                STR_ARG(claims->namespace), STR_ARG(claims->account.name));
        return false;
    }
    if (!str_empty(claims->secret.name) &&
        !object_is(s, "secrets", claims->namespace, &claims->secret, a))
        return false;
    if (!str_empty(claims->pod.name))
        return object_is(s, "pods", claims->namespace, &claims->pod, a);
    return str_empty(claims->node.name) || object_is(s, "nodes", STR(""), &claims->node, a);
}

bool server_check_token(struct api_server *s, struct str token, struct arena *a,
                        struct api_user *ret_user, struct str *ret_why)
{
    const struct api_token *known = map_get(&s->tokens, token);
    struct token_claims claims;
    struct err err;

    if (known) {
        *ret_user = known->user;
        add_group(ret_user, AUTHENTICATED, a);
        return true;
    }
    *ret_why = STR("invalid bearer token");
    if (!s->options.issuer)
        return false;
    if (token_issuer_check(s->options.issuer, token, time_wall() / NSEC_PER_SEC, a, &claims, &err) <
        0) {
        *ret_why = arena_printf(a, "invalid bearer token, %s", err.msg);
        return false;
    }
    if (!account_exists(s, &claims, a, ret_why))
        return false;
    *ret_user = account_user(&claims, a);
    return true;
}

/* --- requests --------------------------------------------------------------------------------- */

static bool bearer_token(const struct call *c, struct str *ret_token)
{
    struct str value = str_trim(http_headers_get(&c->x->headers, "authorization"));
    size_t space = str_find(value, ' ');

    if (!str_eq_fold(str_slice(value, 0, space), STR("bearer")) || space == value.n)
        return false;
    *ret_token = str_trim(str_slice(value, space, value.n));
    return ret_token->n > 0;
}

bool call_authenticate(struct call *c)
{
    const struct tls_peer *peer = c->x->peer;
    static const struct str unknown_groups[] = {STR_INIT("system:unauthenticated")};
    struct str token, why;

    if (peer && peer->verified && !str_empty(peer->common_name)) {
        c->user = (struct api_user){.name = peer->common_name,
                                    .groups = peer->organizations,
                                    .n_groups = peer->n_organizations};
        add_group(&c->user, AUTHENTICATED, &c->arena);
        return true;
    }
    if (bearer_token(c, &token)) {
        if (server_check_token(c->server, token, &c->arena, &c->user, &why))
            return true;
        c->anonymous = true;
        status_of(&c->response.status, 401, &c->arena, "Unauthorized");
        return false;
    }
    if (c->server->options.default_user) {
        c->user = *c->server->options.default_user;
        add_group(&c->user, AUTHENTICATED, &c->arena);
        return true;
    }
    c->anonymous = true;
    c->user = (struct api_user){.name = ANONYMOUS, .groups = unknown_groups, .n_groups = 1};
    return true;
}

/* --- impersonation ---------------------------------------------------------------------------- */

static bool may_impersonate(struct call *c, const struct access_attributes *what)
{
    struct str why;
    struct resource r = {.group = what->group, .plural = what->resource};

    if (call_allows(c, &c->user, what, &why))
        return true;
    status_forbidden(&c->response.status, &r, what->name,
                     access_forbidden_text(&c->user, what, why, &c->arena), &c->arena);
    return false;
}

/* "system:serviceaccount:NAMESPACE:NAME" */
static bool split_account(struct str user, struct str *ret_namespace, struct str *ret_name)
{
    struct str rest = str_slice(user, ACCOUNT_PREFIX.n, user.n);

    if (!str_starts(user, ACCOUNT_PREFIX) || !str_split(&rest, ':', ret_namespace) || !rest.p)
        return false;
    *ret_name = rest;
    return !str_empty(*ret_namespace) && !str_empty(rest) && str_find(rest, ':') == rest.n;
}

static bool impersonate_user(struct call *c, struct str name, struct api_user *ret_user)
{
    struct access_attributes what = {.verb = STR("impersonate"), .version = STR("v1")};

    ret_user->name = name;
    if (split_account(name, &what.namespace, &what.name)) {
        what.resource = STR("serviceaccounts");
    } else {
        what.resource = STR("users");
        what.version = STR("");
        what.name = name;
    }
    return may_impersonate(c, &what);
}

static bool impersonate_groups(struct call *c, struct api_user *user)
{
    const struct http_headers *headers = &c->x->headers;

    for (size_t i = 0; i < headers->list.n; i++) {
        struct access_attributes what = {.verb = STR("impersonate"),
                                         .resource = STR("groups"),
                                         .name = headers->list.v[i].value};

        if (!str_is(headers->list.v[i].name, "impersonate-group"))
            continue;
        if (!may_impersonate(c, &what))
            return false;
        add_group(user, what.name, &c->arena);
    }
    return true;
}

static bool impersonate_extra(struct call *c, struct api_user *user)
{
    const struct http_headers *headers = &c->x->headers;
    struct str prefix = STR("impersonate-extra-"), uid;
    struct json_value extra = json_object();
    struct buf text = BUF_INIT;
    bool ok = true;

    for (size_t i = 0; ok && i < headers->list.n; i++) {
        struct str name = headers->list.v[i].name, key;
        struct access_attributes what = {.verb = STR("impersonate"),
                                         .group = STR("authentication.k8s.io"),
                                         .version = STR("v1"),
                                         .resource = STR("userextras"),
                                         .name = headers->list.v[i].value};

        if (!str_starts(name, prefix))
            continue;
        name = str_slice(name, prefix.n, name.n);
        if (!route_decode(name, false, &c->arena, &key))
            key = name;
        what.subresource = key;
        ok = may_impersonate(c, &what);
        if (!json_member(&extra, key))
            json_set(&extra, key, json_array(), &c->arena);
        json_append(json_member(&extra, key), json_text(what.name), &c->arena);
    }
    uid = http_headers_get(headers, "impersonate-uid");
    if (ok && !str_empty(uid)) {
        struct access_attributes what = {.verb = STR("impersonate"),
                                         .group = STR("authentication.k8s.io"),
                                         .version = STR("v1"),
                                         .resource = STR("uids"),
                                         .name = uid};

        ok = may_impersonate(c, &what);
        user->uid = uid;
    }
    if (extra.n_members > 0) {
        json_write(&extra, &text);
        user->extra = arena_dup(&c->arena, buf_str(&text));
    }
    buf_release(&text);
    return ok;
}

static bool has_impersonation(const struct call *c)
{
    for (size_t i = 0; i < c->x->headers.list.n; i++)
        if (str_starts(c->x->headers.list.v[i].name, STR("impersonate-")))
            return true;
    return false;
}

static void add_default_groups(struct api_user *user, bool had_groups, struct arena *a)
{
    struct str namespace, name;

    if (!had_groups && split_account(user->name, &namespace, &name)) {
        add_group(user, STR("system:serviceaccounts"), a);
        add_group(user, arena_printf(a, "system:serviceaccounts:%.*s", STR_ARG(namespace)), a);
    }
    if (str_eq(user->name, ANONYMOUS))
        add_group(user, UNAUTHENTICATED, a);
    else if (!api_user_in_group(user, UNAUTHENTICATED))
        add_group(user, AUTHENTICATED, a);
}

bool call_impersonate(struct call *c)
{
    struct str name;
    struct api_user user = {0};

    if (!has_impersonation(c))
        return true;
    name = http_headers_get(&c->x->headers, "impersonate-user");
    if (str_empty(name)) {
        status_bad_request(&c->response.status, &c->arena,
                           "requested groups, uid or extra without impersonating a user");
        return false;
    }
    if (!impersonate_user(c, name, &user) || !impersonate_groups(c, &user) ||
        !impersonate_extra(c, &user))
        return false;
    add_default_groups(&user, user.n_groups > 0, &c->arena);
    c->user = user;
    return true;
}
