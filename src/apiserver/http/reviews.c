/* SPDX-License-Identifier: Apache-2.0 */
/* Reviews: what a user may do, which user a token is, and who asks. */
#include "apiserver/http/api_server_internal.h"

/* The body as an object of the resource; NULL: 400. */
static struct json_value *review_of(struct call *c)
{
    struct json_value *v = c->request.body;

    if (v->kind != JSON_OBJECT) {
        status_bad_request(&c->response.status, &c->arena, "the body is not an object");
        call_refuse(c);
        return NULL;
    }
    json_set(v, STR("kind"), json_text(c->resource->kind), &c->arena);
    json_set(v, STR("apiVersion"), json_text(c->resource->api_version), &c->arena);
    json_set_default(v, STR("metadata"), json_object(), &c->arena);
    json_set_object(v, STR("spec"), &c->arena);
    return v;
}

static void refuse_review(struct call *c, const struct field_errors *errors)
{
    status_invalid(&c->response.status, c->resource->group, c->resource->kind, STR(""), errors);
    call_refuse(c);
}

/* --- access ----------------------------------------------------------------------------------- */

static bool read_user(const struct json_value *spec, struct arena *a, struct api_user *ret_user)
{
    struct json_items groups = json_items_at(spec, "groups");
    struct str *names = arena_array(a, struct str, groups.n + 1);

    for (size_t i = 0; i < groups.n; i++)
        names[i] = groups.v[i].kind == JSON_STRING ? groups.v[i].text : STR("");
    *ret_user = (struct api_user){.name = json_text_at(spec, "user"),
                                  .uid = json_text_at(spec, "uid"),
                                  .groups = names,
                                  .n_groups = groups.n};
    return !str_empty(ret_user->name) || groups.n > 0;
}

static struct access_attributes read_attributes(const struct json_value *spec)
{
    const struct json_value *r = json_at(spec, "resourceAttributes");

    if (!r)
        return (struct access_attributes){.verb = json_text_at(spec, "nonResourceAttributes.verb"),
                                          .path = json_text_at(spec, "nonResourceAttributes.path")};
    return (struct access_attributes){.verb = json_text_at(r, "verb"),
                                      .group = json_text_at(r, "group"),
                                      .version = json_text_at(r, "version"),
                                      .resource = json_text_at(r, "resource"),
                                      .subresource = json_text_at(r, "subresource"),
                                      .namespace = json_text_at(r, "namespace"),
                                      .name = json_text_at(r, "name")};
}

/* Upstream's ValidateSubjectAccessReviewSpec and its variants. */
static bool check_review(struct call *c, const struct json_value *spec, bool self, bool has_user)
{
    struct field_errors errors = {.arena = &c->arena};
    struct field_path top = field_child(NULL, "spec");
    struct field_path resource = field_child(&top, "resourceAttributes");
    struct field_path other = field_child(&top, "nonResourceAttributes");
    struct field_path user = field_child(&top, "user");
    struct field_path space = field_child(&resource, "namespace");
    bool has_resource = json_at(spec, "resourceAttributes") != NULL;
    bool has_other = json_at(spec, "nonResourceAttributes") != NULL;
    bool local = str_is(c->resource->plural, "localsubjectaccessreviews");
    struct json_value value = json_text(json_text_at(spec, "resourceAttributes.namespace"));

    if (has_resource && has_other)
        field_error(&errors, FIELD_INVALID, &other, json_at(spec, "nonResourceAttributes"),
                    "cannot be specified in combination with resourceAttributes");
    if (!has_resource && !has_other)
        field_error(&errors, FIELD_INVALID, &resource, NULL,
                    "exactly one of nonResourceAttributes or resourceAttributes must be specified");
    if (!self && !has_user)
        field_error(&errors, FIELD_INVALID, &user, NULL,
                    "at least one of user or group must be specified");
    if (local && has_resource && !str_eq(value.text, c->request.namespace))
        field_error(&errors, FIELD_INVALID, &space, &value, "must match metadata.namespace");
    if (local && has_other)
        field_error(&errors, FIELD_INVALID, &other, json_at(spec, "nonResourceAttributes"),
                    "disallowed on this kind of request");
    if (errors.n > 0)
        refuse_review(c, &errors);
    return errors.n == 0;
}

void serve_access_review(struct call *c)
{
    struct json_value *review = review_of(c), *spec, status = json_object();
    bool self = str_is(c->resource->plural, "selfsubjectaccessreviews"), allowed, has_user;
    struct api_user user = c->user, named;
    struct access_attributes what;
    struct str why;

    if (!review)
        return;
    spec = json_member(review, STR("spec"));
    has_user = read_user(spec, &c->arena, &named);
    if (!check_review(c, spec, self, has_user))
        return;
    if (!self)
        user = named;
    what = read_attributes(spec);
    allowed = call_allows(c, &user, &what, &why);
    json_set(&status, STR("allowed"), json_bool(allowed), &c->arena);
    if (!str_empty(why))
        json_set(&status, STR("reason"), json_text(why), &c->arena);
    json_set(review, STR("status"), status, &c->arena);
    call_answer_tree(c, review, 201);
}

/* --- rules ------------------------------------------------------------------------------------ */

static void add_list(struct json_value *rule, const char *key, struct rbac_list list,
                     struct arena *a)
{
    struct json_value *items;

    if (list.n == 0)
        return;
    items = arena_array(a, struct json_value, list.n);
    for (size_t i = 0; i < list.n; i++)
        items[i] = json_text(list.v[i]);
    json_set(rule, str_of(key),
             (struct json_value){.kind = JSON_ARRAY, .items = items, .n = list.n}, a);
}

static struct json_value rules_status(struct call *c, struct str namespace)
{
    static const char nothing[] =
        "{\"resourceRules\":[],\"nonResourceRules\":[],\"incomplete\":false}";
    static const char everything[] =
        "{\"resourceRules\":[{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"]}],"
        "\"nonResourceRules\":[{\"verbs\":[\"*\"],\"nonResourceURLs\":[\"*\"]}],"
        "\"incomplete\":false}";
    unsigned modes = c->server->options.authorization;
    struct json_value status =
        json_literal(modes & AUTHORIZATION_ALWAYS_ALLOW ? everything : nothing, &c->arena);
    struct rbac_rules rules = {0};
    struct str error = STR("");

    if (c->server->options.rbac && modes & AUTHORIZATION_RBAC)
        rbac_rules_for(c->server->options.rbac, &c->user, namespace, &c->arena, &rules, &error);
    for (size_t i = 0; i < rules.n; i++) {
        const struct rbac_rule *rule = rules.v[i];
        struct json_value v = json_object();
        bool urls = rule->urls.n > 0;

        add_list(&v, "verbs", rule->verbs, &c->arena);
        if (urls) {
            add_list(&v, "nonResourceURLs", rule->urls, &c->arena);
        } else {
            add_list(&v, "apiGroups", rule->groups, &c->arena);
            add_list(&v, "resources", rule->resources, &c->arena);
            add_list(&v, "resourceNames", rule->names, &c->arena);
        }
        json_append(json_member(&status, urls ? STR("nonResourceRules") : STR("resourceRules")), v,
                    &c->arena);
    }
    if (!str_empty(error))
        json_set(&status, STR("evaluationError"), json_text(error), &c->arena);
    return status;
}

void serve_rules_review(struct call *c)
{
    struct json_value *review = review_of(c);
    struct str namespace;

    if (!review)
        return;
    namespace = json_text_at(review, "spec.namespace");
    if (str_empty(namespace)) {
        status_bad_request(&c->response.status, &c->arena, "no namespace on request");
        call_refuse(c);
        return;
    }
    json_set(review, STR("status"), rules_status(c, namespace), &c->arena);
    call_answer_tree(c, review, 201);
}

/* --- users ------------------------------------------------------------------------------------ */

struct json_value user_info(const struct api_user *user, struct arena *a)
{
    struct json_value info = json_object(), extra;
    struct rbac_list groups = {user->groups, user->n_groups};

    json_set(&info, STR("username"), json_text(user->name), a);
    if (!str_empty(user->uid))
        json_set(&info, STR("uid"), json_text(user->uid), a);
    add_list(&info, "groups", groups, a);
    if (!str_empty(user->extra) && json_parse(user->extra, 0, a, &extra, NULL) == 0)
        json_set(&info, STR("extra"), extra, a);
    return info;
}

void serve_self_review(struct call *c)
{
    struct json_value *review = review_of(c);

    if (!review)
        return;
    json_remove(review, STR("spec"));
    json_set(review, STR("status"), json_object(), &c->arena);
    json_set_at(review, "status.userInfo", user_info(&c->user, &c->arena), &c->arena);
    call_answer_tree(c, review, 201);
}

void serve_token_review(struct call *c)
{
    struct json_value *review = review_of(c), status = json_object();
    struct api_user user;
    struct str token, why;

    if (!review)
        return;
    token = json_text_at(review, "spec.token");
    if (str_empty(token)) {
        status_bad_request(&c->response.status, &c->arena,
                           "token is required for TokenReview in "
                           "authentication");
        call_refuse(c);
        return;
    }
    if (server_check_token(c->server, token, &c->arena, &user, &why)) {
        json_set(&status, STR("authenticated"), json_bool(true), &c->arena);
        json_set(&status, STR("user"), user_info(&user, &c->arena), &c->arena);
        json_set(&status, STR("audiences"), json_array(), &c->arena);
        json_append(json_member(&status, STR("audiences")), json_text(STR(TOKEN_ISSUER_URL)),
                    &c->arena);
    } else {
        json_set(&status, STR("user"), json_object(), &c->arena);
        json_set(&status, STR("error"), json_text(why), &c->arena);
    }
    json_set(review, STR("status"), status, &c->arena);
    call_answer_tree(c, review, 201);
}
