/* SPDX-License-Identifier: Apache-2.0 */
/* serviceaccounts/token: tokens for pods and users (upstream: TokenREST.Create). */
#include "apiserver/http/api_server_internal.h"

#define MIN_AGE     (10 * 60)
#define MAX_AGE     ((int64_t)1 << 32)
#define DEFAULT_AGE 3600
#define MAX_NAMES   64 /* audiences */

/* The tree of an object of the core group; NULL: 404. */
static struct json_value *find_object(struct call *c, const char *plural, struct str namespace,
                                      struct str name)
{
    struct api_server *s = c->server;
    const struct resource *r = resources_find(s->resources, STR(""), STR("v1"), str_of(plural));
    const struct revision *rev = store_get(s->store, r, namespace, name);
    struct json_value *tree = arena_new(&c->arena, struct json_value);

    if (rev && json_parse(rev->text, 0, &c->arena, tree, NULL) == 0)
        return tree;
    status_not_found(&c->response.status, r, name, &c->arena);
    return NULL;
}

static struct token_ref ref_of(const struct json_value *object)
{
    return (struct token_ref){json_text_at(object, "metadata.name"),
                              json_text_at(object, "metadata.uid")};
}

static void add_node_of(struct call *c, const struct json_value *pod, struct token_claims *claims)
{
    struct str name = json_text_at(pod, "spec.nodeName");
    struct api_status status = c->response.status;
    const struct json_value *node;

    if (str_empty(name))
        return;
    node = find_object(c, "nodes", STR(""), name);
    claims->node = node ? ref_of(node) : (struct token_ref){.name = name};
    c->response.status = status; /* a missing node is no failure */
}

/* The object to which the token is bound. False: the response has a status. */
static bool bind_object(struct call *c, const struct json_value *ref, struct token_claims *claims)
{
    struct str kind = json_text_at(ref, "kind"), name = json_text_at(ref, "name");
    struct str uid = json_text_at(ref, "uid");
    bool core = str_is(json_text_at(ref, "apiVersion"), "v1");
    struct token_ref *bound = str_is(kind, "Pod")      ? &claims->pod
                              : str_is(kind, "Secret") ? &claims->secret
                              : str_is(kind, "Node")   ? &claims->node
                                                       : NULL;
    const char *plural = bound == &claims->pod      ? "pods"
                         : bound == &claims->secret ? "secrets"
                                                    : "nodes";
    const struct json_value *object;
    struct resource by_kind = {.plural = kind};

    if (!bound || !core) {
        status_bad_request(&c->response.status, &c->arena,
                           "cannot bind token to object of type %.*s, Kind=%.*s",
                           STR_ARG(json_text_at(ref, "apiVersion")), STR_ARG(kind));
        return false;
    }
    object = find_object(c, plural, bound == &claims->node ? STR("") : c->request.namespace, name);
    if (!object)
        return false;
    if (bound == &claims->pod &&
        !str_eq(json_text_at(object, "spec.serviceAccountName"), c->request.name)) {
        status_bad_request(&c->response.status, &c->arena,
                           "cannot bind token for serviceaccount \"%.*s\" to pod running with "
                           "different serviceaccount name.",
                           STR_ARG(c->request.name));
        return false;
    }
    *bound = ref_of(object);
    if (!str_empty(uid) && !str_eq(uid, bound->uid)) {
        status_conflict(&c->response.status, &by_kind, name,
                        arena_printf(&c->arena,
                                     "the UID in the bound object reference (%.*s) does not match "
                                     "the UID in record. The object might have been deleted and "
                                     "then recreated",
                                     STR_ARG(uid)),
                        &c->arena);
        return false;
    }
    if (bound == &claims->pod)
        add_node_of(c, object, claims);
    return true;
}

static bool check_age(struct call *c, int64_t age)
{
    struct field_errors errors = {.arena = &c->arena};
    struct field_path spec = field_child(NULL, "spec");
    struct field_path path = field_child(&spec, "expirationSeconds");
    struct json_value value = json_int(age, &c->arena);

    if (age < MIN_AGE)
        field_error(&errors, FIELD_INVALID, &path, &value,
                    "may not specify a duration less than 10 minutes");
    if (age > MAX_AGE)
        field_error(&errors, FIELD_INVALID, &path, &value,
                    "may not specify a duration larger than 2^32 seconds");
    if (errors.n > 0)
        status_invalid(&c->response.status, STR("authentication.k8s.io"), STR("TokenRequest"),
                       STR(""), &errors);
    return errors.n == 0;
}

static void read_audiences(struct call *c, struct json_value *request, struct token_claims *claims)
{
    struct json_items items = json_items_at(request, "spec.audiences");
    size_t n = MIN(items.n, (size_t)MAX_NAMES);
    struct str *names = arena_array(&c->arena, struct str, n + 1);

    for (size_t i = 0; i < n; i++)
        names[i] = items.v[i].kind == JSON_STRING ? items.v[i].text : STR("");
    if (n == 0) {
        names[n++] = STR(TOKEN_ISSUER_URL);
        json_set_at(request, "spec.audiences", json_array(), &c->arena);
        json_append(json_member(json_member(request, STR("spec")), STR("audiences")),
                    json_text(names[0]), &c->arena);
    }
    claims->audiences = names;
    claims->n_audiences = n;
}

static struct str time_text(int64_t seconds, struct arena *a)
{
    struct timestamp t = {.sec = seconds, .set = true};
    struct buf b = BUF_INIT;
    struct str text;

    timestamp_format(t, 0, &b);
    text = arena_dup(a, buf_str(&b));
    buf_release(&b);
    return text;
}

static void fill_metadata(struct call *c, struct json_value *request,
                          const struct token_claims *claims)
{
    struct arena *a = &c->arena;

    json_set(request, STR("kind"), json_text(STR("TokenRequest")), a);
    json_set(request, STR("apiVersion"), json_text(STR("authentication.k8s.io/v1")), a);
    json_set_at(request, "metadata.name", json_text(claims->account.name), a);
    json_set_at(request, "metadata.namespace", json_text(claims->namespace), a);
    json_set_at(request, "metadata.uid", json_text(claims->account.uid), a);
    json_set_at(request, "metadata.creationTimestamp", json_text(time_text(claims->issued, a)), a);
}

/* False: the response has a status. */
static bool make_token(struct call *c, struct json_value *request, const struct json_value *account)
{
    struct token_claims claims = {.namespace = c->request.namespace, .account = ref_of(account)};
    int64_t age = json_int_at(request, "spec.expirationSeconds", DEFAULT_AGE);
    const struct json_value *ref = json_at(request, "spec.boundObjectRef");
    struct arena *a = &c->arena;

    if (!check_age(c, age) || (ref && ref->kind == JSON_OBJECT && !bind_object(c, ref, &claims)))
        return false;
    claims.issued = c->now / NSEC_PER_SEC;
    claims.expires = claims.issued + age;
    claims.id = make_uuid(&c->server->rand, a);
    json_set_at(request, "spec.expirationSeconds", json_int(age, a), a);
    read_audiences(c, request, &claims);
    fill_metadata(c, request, &claims);
    json_set_at(request, "status.token",
                json_text(token_issuer_sign(c->server->options.issuer, &claims, a)), a);
    json_set_at(request, "status.expirationTimestamp", json_text(time_text(claims.expires, a)), a);
    return true;
}

void serve_token_request(struct call *c)
{
    struct json_value *request = c->request.body, *account;

    if (!c->server->options.issuer) {
        status_of(&c->response.status, 500, &c->arena, "this server issues no tokens");
        call_refuse(c);
        return;
    }
    account = find_object(c, "serviceaccounts", c->request.namespace, c->request.name);
    if (request->kind != JSON_OBJECT)
        *request = json_object();
    json_remove(request, STR("status"));
    if (!account || !make_token(c, request, account)) {
        call_refuse(c);
        return;
    }
    call_answer_tree(c, request, 201);
}
