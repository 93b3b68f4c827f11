/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies and options of a request, and its way through the registry. */
#include "apiserver/http/api_server_internal.h"
#include "codec/proto.h"
#include "codec/schema_proto.h"
#include "codec/utf8.h"
#include "codec/yaml.h"

#define MAX_FIELD_MANAGER 128
#define UNKNOWN_FORMAT \
    "the body of the request was in an unknown format - accepted media types include: "

/* --- options ---------------------------------------------------------------------------------- */

static void check_manager(struct field_errors *errors, struct str manager)
{
    struct field_path path = field_child(NULL, "fieldManager");
    struct json_value value = json_text(manager);
    struct str rest = manager;

    if (manager.n > MAX_FIELD_MANAGER)
        field_error(errors, FIELD_TOO_LONG, &path, NULL, "may not be more than %d bytes",
                    MAX_FIELD_MANAGER);
    while (rest.n > 0) {
        size_t at = manager.n - rest.n;
        uint32_t rune = str_next_rune(&rest);

        if (rune < 0x20 || rune == 0x7f)
            field_error(errors, FIELD_INVALID, &path, &value,
                        "invalid character U+%04X (at position %zu)", rune, at);
    }
}

static void check_dry_run(struct call *c, struct field_errors *errors)
{
    static const char *const supported[] = {"All", NULL};
    struct field_path path = field_child(NULL, "dryRun");
    struct json_value item = json_text(c->query.dry_run);
    struct json_value list = json_array();

    if (!c->query.has_dry_run || str_is(c->query.dry_run, "All"))
        return;
    json_append(&list, item, &c->arena);
    field_not_supported(errors, &path, &list, supported);
}

static void check_validation(struct call *c, struct field_errors *errors)
{
    static const char *const supported[] = {"", "Ignore", "Strict", "Warn", NULL};
    struct field_path path = field_child(NULL, "fieldValidation");
    struct json_value value = json_text(c->query.field_validation);

    if (str_is(value.text, "Strict"))
        c->request.field_validation = FIELD_VALIDATION_STRICT;
    else if (str_is(value.text, "Ignore"))
        c->request.field_validation = FIELD_VALIDATION_IGNORE;
    else if (str_empty(value.text) || str_is(value.text, "Warn"))
        c->request.field_validation = FIELD_VALIDATION_WARN;
    else
        field_not_supported(errors, &path, &value, supported);
}

static void check_force(struct call *c, struct field_errors *errors)
{
    struct field_path manager = field_child(NULL, "fieldManager");
    struct field_path force = field_child(NULL, "force");

    if (c->request.verb == API_APPLY && str_empty(c->query.field_manager))
        field_error(errors, FIELD_REQUIRED, &manager, NULL, "is required for apply patch");
    if (c->request.verb != API_APPLY && c->query.has_force)
        field_error(errors, FIELD_FORBIDDEN, &force, NULL,
                    "may not be specified for non-apply patch");
}

static bool is_patch(enum api_verb verb)
{
    return verb == API_PATCH_JSON || verb == API_PATCH_MERGE || verb == API_PATCH_STRATEGIC ||
           verb == API_APPLY;
}

/* The part of the user agent before the first '/', without what does not print. */
static struct str manager_of(struct call *c)
{
    struct str agent = http_headers_get(&c->x->headers, "user-agent");
    char *out;
    size_t n = 0;

    if (!str_empty(c->query.field_manager))
        return c->query.field_manager;
    agent = str_slice(agent, 0, str_find(agent, '/'));
    out = arena_alloc(&c->arena, MIN(agent.n, (size_t)MAX_FIELD_MANAGER) + 1, 1);
    for (size_t i = 0; i < agent.n && n < MAX_FIELD_MANAGER; i++)
        if (agent.p[i] >= 0x20 && agent.p[i] < 0x7f)
            out[n++] = agent.p[i];
    return (struct str){out, n};
}

static bool read_options(struct call *c)
{
    struct field_errors errors = {.arena = &c->arena};
    enum api_verb verb = c->request.verb;
    struct str kind = is_patch(verb)       ? STR("PatchOptions")
                      : verb == API_CREATE ? STR("CreateOptions")
                      : verb == API_UPDATE ? STR("UpdateOptions")
                                           : STR("DeleteOptions");

    if (is_patch(verb))
        check_force(c, &errors);
    if (verb != API_DELETE && verb != API_DELETE_COLLECTION) {
        check_manager(&errors, c->query.field_manager);
        check_validation(c, &errors);
    }
    check_dry_run(c, &errors);
    if (errors.n > 0) {
        status_invalid(&c->response.status, STR("meta.k8s.io"), kind, STR(""), &errors);
        return false;
    }
    c->request.dry_run = c->query.has_dry_run;
    c->request.field_manager = manager_of(c);
    return true;
}

/* --- bodies ----------------------------------------------------------------------------------- */

static struct str media_of(struct call *c)
{
    struct str type = http_headers_get(&c->x->headers, "content-type");

    return str_trim(str_slice(type, 0, str_find(type, ';')));
}

static const struct {
    const char *type;
    enum api_verb verb;
} patches[] = {
    {"application/json-patch+json", API_PATCH_JSON},
    {"application/merge-patch+json", API_PATCH_MERGE},
    {"application/strategic-merge-patch+json", API_PATCH_STRATEGIC},
    {"application/apply-patch+yaml", API_APPLY},
};

/* Which patch the content type is. Custom resources have no strategic merge patch. */
static bool read_patch_type(struct call *c)
{
    struct str type = media_of(c);
    struct buf known = BUF_INIT;

    for (size_t i = 0; i < ARRAY_LEN(patches); i++) {
        if (patches[i].verb == API_PATCH_STRATEGIC && c->resource->custom)
            continue;
        if (str_is(type, patches[i].type)) {
            c->request.verb = patches[i].verb;
            buf_release(&known);
            return true;
        }
        buf_add_printf(&known, "%s%s", known.n ? ", " : "", patches[i].type);
    }
    status_of(&c->response.status, 415, &c->arena, UNKNOWN_FORMAT "%s", buf_cstr(&known));
    buf_release(&known);
    return false;
}

/* Upstream's summarizeData: the beginning of a body that is not understood. */
static struct str summary(struct str body, struct arena *a)
{
    struct str part = str_slice(body, 0, 30);
    const char *more = body.n > 30 ? " ..." : "";
    struct buf hex = BUF_INIT;
    struct str text;

    if (str_empty(body))
        return STR("<empty>");
    if (body.p[0] == '{' && utf8_valid(part))
        return arena_printf(a, "%.*s%s", STR_ARG(part), more);
    for (size_t i = 0; i < part.n; i++)
        buf_add_printf(&hex, "%02x", (unsigned char)part.p[i]);
    buf_add_cstr(&hex, more);
    text = arena_dup(a, buf_str(&hex));
    buf_release(&hex);
    return text;
}

static bool refuse_body(struct call *c, const char *format, const struct err *err)
{
    struct str body = c->x->body;

    if (is_patch(c->request.verb) || c->request.verb == API_DELETE)
        status_bad_request(&c->response.status, &c->arena, "%s", err->msg);
    else
        status_bad_request(&c->response.status, &c->arena,
                           "the object provided is unrecognized (must be of type %.*s): couldn't "
                           "get version/kind; %s parse error: %s (%.*s)",
                           STR_ARG(c->resource->kind), format, err->msg,
                           STR_ARG(summary(body, &c->arena)));
    return false;
}

static bool parse_yaml(struct call *c, struct json_value *ret_value)
{
    struct json_value *docs;
    struct err err;
    size_t n;

    if (yaml_parse(c->x->body, 0, &c->arena, &docs, &n, &err) < 0)
        return refuse_body(c, "yaml", &err);
    if (n != 1) {
        err_set(&err, -EINVAL, n ? "more than one document" : "unexpected end of input");
        return refuse_body(c, "yaml", &err);
    }
    *ret_value = docs[0];
    return true;
}

/* The type of what a protobuf envelope holds; NULL: unknown. */
static const struct schema_type *proto_type(struct str api_version, struct str kind)
{
    const struct schema_kind *known = schema_kind_find(api_version, kind);

    if (!known && str_is(kind, "DeleteOptions")) {
        const struct schema_type *eviction =
            schema_kind_find(STR("policy/v1"), STR("Eviction"))->type;

        return &schema_types[schema_field_find(eviction, STR("deleteOptions"))->type];
    }
    return known ? known->type : NULL;
}

static bool parse_proto(struct call *c, struct json_value *ret_value)
{
    struct proto_envelope envelope;
    const struct schema_type *type;
    struct err err;

    if (proto_open_envelope(c->x->body, &envelope, &err) < 0)
        return refuse_body(c, "proto", &err);
    type = proto_type(envelope.api_version, envelope.kind);
    if (!type) {
        status_bad_request(&c->response.status, &c->arena,
                           "no kind \"%.*s\" is registered for version \"%.*s\"",
                           STR_ARG(envelope.kind), STR_ARG(envelope.api_version));
        return false;
    }
    if (schema_proto_decode(schema_types, type, envelope.raw, &c->arena, ret_value, &err) < 0)
        return refuse_body(c, "proto", &err);
    json_set(ret_value, STR("kind"), json_text(arena_dup(&c->arena, envelope.kind)), &c->arena);
    json_set(ret_value, STR("apiVersion"), json_text(arena_dup(&c->arena, envelope.api_version)),
             &c->arena);
    return true;
}

static bool parse_body(struct call *c)
{
    struct str type = media_of(c);
    struct json_value *value = arena_new(&c->arena, struct json_value);
    struct err err;
    bool yaml = str_is(type, "application/yaml") || c->request.verb == API_APPLY;

    c->request.body = value;
    if (yaml)
        return parse_yaml(c, value);
    if (!is_patch(c->request.verb) && str_is(type, "application/vnd.kubernetes.protobuf"))
        return parse_proto(c, value);
    if (!is_patch(c->request.verb) && !str_empty(type) && !str_is(type, "application/json")) {
        status_of(&c->response.status, 415, &c->arena, "%s",
                  UNKNOWN_FORMAT
                  "application/json, application/yaml, application/vnd.kubernetes.protobuf");
        return false;
    }
    if (json_parse(c->x->body, 0, &c->arena, value, &err) < 0)
        return refuse_body(c, "json", &err);
    return true;
}

/* DeleteOptions of the query, if there is no body. */
static void options_body(struct call *c)
{
    const struct api_query *q = &c->query;
    struct json_value options = json_object();
    struct arena *a = &c->arena;
    int64_t grace;
    bool orphan;

    if (str_to_i64(q->grace_period, &grace))
        json_set(&options, STR("gracePeriodSeconds"), json_int(grace, a), a);
    if (!str_empty(q->propagation_policy))
        json_set(&options, STR("propagationPolicy"), json_text(q->propagation_policy), a);
    if (str_to_bool(q->orphan_dependents, &orphan))
        json_set(&options, STR("orphanDependents"), json_bool(orphan), a);
    if (options.n_members == 0)
        return;
    c->request.body = arena_new(a, struct json_value);
    *c->request.body = options;
}

static bool read_request(struct call *c)
{
    enum api_verb verb = c->request.verb;

    if (is_patch(verb) && !read_patch_type(c))
        return false;
    if (!read_options(c))
        return false;
    if ((verb == API_DELETE || verb == API_DELETE_COLLECTION) && str_empty(c->x->body)) {
        options_body(c);
        return true;
    }
    return parse_body(c);
}

/* --- roles ------------------------------------------------------------------------------------ */

/*
 * Whether the user may grant what a role or binding grants: the write is tried first, to know the
 * object that it makes.
 */
static bool may_grant(struct call *c)
{
    struct api_request trial = c->request;
    struct api_response made;
    struct rbac_write write = {.resource = c->resource->plural,
                               .namespace = c->request.namespace,
                               .name = c->request.name};
    const struct revision *old = store_get(c->server->store, resource_stored(c->resource),
                                           c->request.namespace, c->request.name);
    struct json_value body = json_copy(c->request.body, &c->arena), before;
    struct str why = STR("");
    int code;

    trial.dry_run = true;
    trial.body = &body;
    if (registry_serve(c->server->registry, &trial, &made) >= 400 || !made.tree) {
        registry_response_release(&made);
        return true; /* it fails again, with its own status */
    }
    write.object = made.tree;
    if (old && json_parse(old->text, 0, &c->arena, &before, NULL) == 0)
        write.old = &before;
    code = rbac_check_write(c->server->options.rbac, &c->user, &write, &c->arena, &why);
    registry_response_release(&made);
    if (code == 403)
        status_forbidden(&c->response.status, c->resource,
                         str_empty(write.name) ? json_text_at(&body, "metadata.name") : write.name,
                         why, &c->arena);
    else if (code)
        status_of(&c->response.status, code, &c->arena, "%.*s", STR_ARG(why));
    return code == 0;
}

static bool grants(const struct call *c)
{
    enum api_verb verb = c->request.verb;

    return c->server->options.rbac &&
           !(c->server->options.authorization & AUTHORIZATION_ALWAYS_ALLOW) &&
           str_is(c->resource->group, RBAC_GROUP) &&
           (verb == API_CREATE || verb == API_UPDATE || is_patch(verb));
}

/* --- requests for certificates ---------------------------------------------------------------- */

/* A request for a certificate names the user that makes it, whatever the body says. */
static void name_requester(struct call *c)
{
    static const char *const members[] = {"username", "uid", "groups", "extra"};
    struct json_value *spec, info;

    if (c->request.verb != API_CREATE || !str_is(c->resource->group, "certificates.k8s.io") ||
        !str_is(c->resource->plural, "certificatesigningrequests"))
        return;
    spec = json_member(c->request.body, STR("spec"));
    if (!spec || spec->kind != JSON_OBJECT)
        return;
    info = user_info(&c->user, &c->arena);
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const struct json_value *v = json_get(&info, str_of(members[i]));

        json_remove(spec, str_of(members[i]));
        if (v)
            json_set(spec, str_of(members[i]), *v, &c->arena);
    }
}

/* --- serving ---------------------------------------------------------------------------------- */

static bool read_query(struct call *c)
{
    if (!c->query.bad)
        return true;
    status_bad_request(&c->response.status, &c->arena,
                       "strconv.ParseInt: parsing %.*s: invalid syntax",
                       STR_ARG(arena_quoted(&c->arena, c->query.bad_value)));
    return false;
}

void call_serve_body(struct call *c)
{
    virtual_fn *serve = virtual_find(c);
    bool reads = c->request.verb == API_GET || c->request.verb == API_LIST;

    if (!read_query(c) || (!reads && !(serve && virtual_streams(c)) && !read_request(c))) {
        call_refuse(c);
        return;
    }
    if (serve) {
        serve(c);
        return;
    }
    name_requester(c);
    if (grants(c) && !may_grant(c)) {
        call_refuse(c);
        return;
    }
    c->writes = !reads;
    registry_serve(c->server->registry, &c->request, &c->response);
    call_finish(c);
}
