/* SPDX-License-Identifier: Apache-2.0 */
/* The paths of resources: operations, their parameters, bodies and answers. */
#include "apiserver/openapi/openapi_internal.h"

/* --- parameters ------------------------------------------------------------------------------- */

struct parameter {
    const char *name, *type;
};

#define DELETE_PARAMETERS                                                \
    {"dryRun", "string"}, {"gracePeriodSeconds", "integer"},             \
        {"ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"}, \
        {"orphanDependents", "boolean"}, {"propagationPolicy", "string"}
#define LIST_PARAMETERS                                                                          \
    {"continue", "string"}, {"fieldSelector", "string"}, {"labelSelector", "string"},            \
        {"limit", "integer"}, {"resourceVersion", "string"}, {"resourceVersionMatch", "string"}, \
        {"sendInitialEvents", "boolean"}, {"shardSelector", "string"},                           \
        {"timeoutSeconds", "integer"}

static const struct parameter list_parameters[] = {
    {"allowWatchBookmarks", "boolean"}, LIST_PARAMETERS, {"watch", "boolean"}, {0}};
static const struct parameter write_parameters[] = {
    {"dryRun", "string"}, {"fieldManager", "string"}, {"fieldValidation", "string"}, {0}};
static const struct parameter patch_parameters[] = {{"dryRun", "string"},
                                                    {"fieldManager", "string"},
                                                    {"fieldValidation", "string"},
                                                    {"force", "boolean"},
                                                    {0}};
static const struct parameter delete_parameters[] = {DELETE_PARAMETERS, {0}};
static const struct parameter delete_list_parameters[] = {DELETE_PARAMETERS, LIST_PARAMETERS, {0}};

/* What people look up: our own words. */
static const char *parameter_text(const char *name)
{
    static const char *const texts[][2] = {
        {"fieldSelector", "Restricts the list of returned objects by their fields."},
        {"labelSelector", "Restricts the list of returned objects by their labels."},
        {"watch", "Watch for changes to the described resources instead of listing them."},
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (strcmp(texts[i][0], name) == 0)
            return texts[i][1];
    return NULL;
}

/* Each with a comma before it unless *first. */
static void write_parameter(struct document *d, const char *in, const char *name, const char *type,
                            bool *first)
{
    bool path = strcmp(in, "path") == 0;
    const char *text = parameter_text(name);
    buf_add_cstr(d->out, *first ? "{" : ",{");
    if (text)
        buf_add_printf(d->out, "\"description\":\"%s\",", text);
    buf_add_printf(d->out,
                   "\"in\":\"%s\",\"name\":\"%s\"%s,%s\"type\":\"%s\",\"uniqueItems\":true}", in,
                   name, path ? ",\"required\":true" : "", d->v2 ? "" : "\"schema\":{", type);
    if (!d->v2)
        buf_add_char(d->out, '}');
    *first = false;
}

/* --- operations ------------------------------------------------------------------------------- */

/* What an operation works on. */
struct target {
    const struct resource *r;
    const struct subresource *sub; /* NULL: the resource itself */
    struct str group, version, kind;
    const struct schema_type *type; /* of bodies; NULL: custom, or not known */
    bool custom, namespaced;
};

struct operation {
    enum resource_verb verb;
    const char *method, *action, *word; /* "get", "list", "list" */
    const struct parameter *parameters;
};

static const struct operation on_collection[] = {
    {VERB_LIST, "get", "list", "list", list_parameters},
    {VERB_CREATE, "post", "post", "create", write_parameters},
    {VERB_DELETE_COLLECTION, "delete", "deletecollection", "delete", delete_list_parameters},
};
static const struct operation on_object[] = {
    {VERB_GET, "get", "get", "read", NULL},
    {VERB_UPDATE, "put", "put", "replace", write_parameters},
    {VERB_PATCH, "patch", "patch", "patch", patch_parameters},
    {VERB_DELETE, "delete", "delete", "delete", delete_parameters},
    {VERB_CREATE, "post", "post", "create", write_parameters}, /* of a subresource */
};

/* "binding", "rbac.authorization.k8s.io": Binding, RbacAuthorization. */
static void write_camel(struct str words, struct buf *out)
{
    bool up = true;
    if (str_ends(words, STR(".k8s.io")))
        words.n -= 7;
    for (size_t i = 0; i < words.n; i++) {
        char c = words.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (letter)
            buf_add_char(out, up && c >= 'a' && c <= 'z' ? (char)(c - 32) : c);
        up = !letter;
    }
}

/* exec, proxy and the like. */
static bool is_connection(const struct target *t)
{
    return t->sub && !t->type && !t->custom && strcmp(t->sub->name, "log") != 0;
}

/* "readAppsV1NamespacedDeploymentStatus" */
static void write_operation_id(const struct operation *op, const struct target *t, bool everywhere,
                               struct buf *out)
{
    bool connects = is_connection(t);
    buf_add_cstr(out, connects ? "connect" : op->word);
    write_camel(t->r->group.n ? t->r->group : STR("core"), out);
    write_camel(t->r->version, out);
    if (connects)
        write_camel(str_of(op->method), out);
    if (op->verb == VERB_DELETE_COLLECTION)
        buf_add_cstr(out, "Collection");
    if (t->namespaced && !everywhere)
        buf_add_cstr(out, "Namespaced");
    buf_add_str(out, t->r->kind);
    if (t->sub)
        write_camel(str_of(t->sub->name), out);
    if (everywhere)
        buf_add_cstr(out, "ForAllNamespaces");
}

static void write_target_ref(struct document *d, const struct target *t, const char *suffix)
{
    buf_add_cstr(d->out,
                 d->v2 ? "{\"$ref\":\"#/definitions/" : "{\"$ref\":\"#/components/schemas/");
    if (t->type) {
        openapi_write_name(str_of(t->type->name), d->out);
        buf_add_cstr(d->out, suffix);
    } else {
        openapi_write_custom_name(t->r, suffix, d->out);
    }
    buf_add_cstr(d->out, "\"}");
}

/* The schema of what comes back. */
static void write_answer_schema(struct document *d, const struct operation *op,
                                const struct target *t)
{
    bool removed = op->verb == VERB_DELETE || op->verb == VERB_DELETE_COLLECTION;
    bool pod = t->type &&
               (str_is(t->kind, "Pod") || str_is(t->kind, "ServiceAccount") ||
                str_is(t->kind, "PersistentVolumeClaim") || str_is(t->kind, "PersistentVolume"));
    if (!t->type && !t->custom)
        buf_add_cstr(d->out, "{\"type\":\"string\"}");
    else if (op->verb == VERB_LIST)
        write_target_ref(d, t, "List");
    else if (removed && !(pod && op->verb == VERB_DELETE))
        openapi_write_ref(d, STR(OPENAPI_META "Status"));
    else
        write_target_ref(d, t, "");
}

static void write_answer(struct document *d, const struct operation *op, const struct target *t,
                         const char *code)
{
    static const char *const media[] = {"application/json", "application/yaml",
                                        "application/vnd.kubernetes.protobuf"};
    size_t n = t->custom ? 2 : 3;
    buf_add_printf(d->out, "\"%s\":{\"description\":\"%s\",", code,
                   strcmp(code, "200") == 0   ? "OK"
                   : strcmp(code, "201") == 0 ? "Created"
                                              : "Accepted");
    if (d->v2) {
        buf_add_cstr(d->out, "\"schema\":");
        write_answer_schema(d, op, t);
    } else {
        for (size_t i = 0; i < n; i++) {
            buf_add_printf(d->out, "%s\"%s\":{\"schema\":", i ? "," : "\"content\":{", media[i]);
            write_answer_schema(d, op, t);
            buf_add_char(d->out, '}');
        }
        buf_add_char(d->out, '}');
    }
    buf_add_cstr(d->out, "},");
}

/* --- bodies ----------------------------------------------------------------------------------- */

static const char *const patch_media[] = {
    "application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml",
    "application/strategic-merge-patch+json"};

static void write_body_schema(struct document *d, const struct operation *op,
                              const struct target *t)
{
    if (op->verb == VERB_PATCH)
        openapi_write_ref(d, STR(OPENAPI_META "Patch"));
    else if (op->verb == VERB_DELETE || op->verb == VERB_DELETE_COLLECTION)
        openapi_write_ref(d, STR(OPENAPI_META "DeleteOptions"));
    else
        write_target_ref(d, t, "");
}

static bool has_body(const struct operation *op, const struct target *t)
{
    return op->verb != VERB_GET && op->verb != VERB_LIST && (t->type || t->custom);
}

/* Custom resources have no strategic merge. */
static void write_body(struct document *d, const struct operation *op, const struct target *t)
{
    size_t n = op->verb == VERB_PATCH ? (t->custom ? 3 : 4) : 1;
    bool required = op->verb != VERB_DELETE && op->verb != VERB_DELETE_COLLECTION;
    if (!has_body(op, t))
        return;
    if (d->v2) {
        buf_add_cstr(d->out, "\"consumes\":[");
        for (size_t i = 0; i < n; i++)
            buf_add_printf(d->out, "%s\"%s\"", i ? "," : "",
                           op->verb == VERB_PATCH ? patch_media[i] : "*/*");
        buf_add_cstr(d->out, "],");
        return;
    }
    buf_add_cstr(d->out, "\"requestBody\":{\"content\":{");
    for (size_t i = 0; i < n; i++) {
        buf_add_printf(d->out, "%s\"%s\":{\"schema\":", i ? "," : "",
                       op->verb == VERB_PATCH ? patch_media[i] : "*/*");
        write_body_schema(d, op, t);
        buf_add_char(d->out, '}');
    }
    buf_add_printf(d->out, "}%s},", required ? ",\"required\":true" : "");
}

static void write_operation(struct document *d, const struct operation *op, const struct target *t,
                            bool everywhere)
{
    bool connects = is_connection(t), first = true;
    buf_add_printf(d->out, "\"%s\":{\"operationId\":\"", op->method);
    write_operation_id(op, t, everywhere, d->out);
    buf_add_cstr(d->out, "\",");
    write_body(d, op, t);
    buf_add_cstr(d->out, "\"parameters\":[");
    if (d->v2 && has_body(op, t)) {
        buf_add_printf(d->out, "{\"in\":\"body\",\"name\":\"body\",%s\"schema\":",
                       op->verb == VERB_DELETE || op->verb == VERB_DELETE_COLLECTION
                           ? ""
                           : "\"required\":true,");
        write_body_schema(d, op, t);
        buf_add_char(d->out, '}');
        first = false;
    }
    for (const struct parameter *p = connects ? NULL : op->parameters; p && p->name; p++)
        write_parameter(d, "query", p->name, p->type, &first);
    buf_add_cstr(d->out, "],\"responses\":{");
    write_answer(d, op, t, "200");
    if (op->verb == VERB_CREATE || op->verb == VERB_UPDATE || op->verb == VERB_PATCH)
        write_answer(d, op, t, "201");
    if (op->verb == VERB_CREATE || op->verb == VERB_DELETE)
        write_answer(d, op, t, "202");
    buf_add_printf(d->out,
                   "\"401\":{\"description\":\"Unauthorized\"}},\"x-kubernetes-action\":\"%s\","
                   "\"x-kubernetes-group-version-kind\":{\"group\":\"%.*s\",\"kind\":\"%.*s\","
                   "\"version\":\"%.*s\"}}",
                   connects ? "connect" : op->action, STR_ARG(t->group), STR_ARG(t->kind),
                   STR_ARG(t->version));
}

/* --- paths ------------------------------------------------------------------------------------ */

struct place {
    bool in_namespace, named;
};

static void write_path(struct document *d, const struct target *t, struct place at, bool *first)
{
    const struct resource *r = t->r;
    buf_add_cstr(d->out, *first ? "\"" : ",\"");
    *first = false;
    if (r->group.n)
        buf_add_printf(d->out, "/apis/%.*s/%.*s/", STR_ARG(r->group), STR_ARG(r->version));
    else
        buf_add_printf(d->out, "/api/%.*s/", STR_ARG(r->version));
    buf_add_printf(d->out, "%s%.*s%s", at.in_namespace ? "namespaces/{namespace}/" : "",
                   STR_ARG(r->plural), at.named ? "/{name}" : "");
    if (t->sub)
        buf_add_printf(d->out, "/%s", t->sub->name);
    buf_add_cstr(d->out, "\":{");
}

static void write_path_item(struct document *d, const struct target *t, struct place at,
                            unsigned verbs, bool *first)
{
    const struct operation *ops = at.named ? on_object : on_collection;
    size_t n = at.named ? ARRAY_LEN(on_object) : ARRAY_LEN(on_collection);
    bool everywhere = t->namespaced && !at.in_namespace, none = true;
    write_path(d, t, at, first);
    for (size_t i = 0; i < n; i++)
        if (verbs & ops[i].verb) {
            write_operation(d, &ops[i], t, everywhere);
            buf_add_char(d->out, ',');
        }
    buf_add_cstr(d->out, "\"parameters\":[");
    if (at.named)
        write_parameter(d, "path", "name", "string", &none);
    if (at.in_namespace)
        write_parameter(d, "path", "namespace", "string", &none);
    write_parameter(d, "query", "pretty", "string", &none);
    buf_add_cstr(d->out, "]}");
}

static void write_subresource(struct document *d, const struct resource *r,
                              const struct subresource *sub, bool *first)
{
    struct str api_version = *sub->api_version ? str_of(sub->api_version) : r->api_version;
    const struct schema_kind *known = schema_kind_find(api_version, str_of(sub->kind));
    size_t slash = str_find(api_version, '/');
    bool grouped = slash < api_version.n, log = strcmp(sub->name, "log") == 0;
    struct target t = {
        .r = r,
        .sub = sub,
        .group = str_slice(api_version, 0, grouped ? slash : 0),
        .version = str_slice(api_version, grouped ? slash + 1 : 0, api_version.n),
        .kind = str_of(sub->kind),
        .type = known && !log ? known->type : NULL,
        .custom = !r->type && !*sub->api_version,
        .namespaced = r->namespaced,
    };
    write_path_item(d, &t, (struct place){r->namespaced, true}, sub->verbs, first);
}

void openapi_write_paths(struct document *d, const struct resource *r, bool *first)
{
    struct target t = {.r = r,
                       .group = r->group,
                       .version = r->version,
                       .kind = r->kind,
                       .type = r->type,
                       .custom = !r->type,
                       .namespaced = r->namespaced};
    unsigned of_collection = VERB_LIST | VERB_CREATE | VERB_DELETE_COLLECTION;
    unsigned of_object = VERB_GET | VERB_UPDATE | VERB_PATCH | VERB_DELETE;
    if (r->verbs & of_collection)
        write_path_item(d, &t, (struct place){r->namespaced, false}, r->verbs & of_collection,
                        first);
    if (r->namespaced && r->verbs & VERB_LIST)
        write_path_item(d, &t, (struct place){false, false}, VERB_LIST, first);
    if (r->verbs & of_object)
        write_path_item(d, &t, (struct place){r->namespaced, true}, r->verbs & of_object, first);
    for (const struct subresource *s = r->subresources; s && s->name; s++)
        write_subresource(d, r, s, first);
}
