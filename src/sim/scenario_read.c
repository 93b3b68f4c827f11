/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes documents to the objects of a scenario. */
#include "api/schema.h"
#include "base/nearest.h"
#include "codec/json_value.h"
#include "sim/expansion.h"
#include "sim/scenario.h"

struct reading {
    struct scenario *s;
    const char *file;
    const struct manifest_part *part;
    struct err *reterr;
    size_t n_duplicates;            /* of the current object */
    size_t n_problems;              /* of the current object */
    bool located;                   /* the error has its file and line */
    const struct schema_kind *last; /* of the previous object: most have the same kind */
};

/* The current object: a piece of the part's text. */
struct candidate {
    struct str json;
    struct str api_version, kind; /* without quotes; empty: missing, or not a string */
    struct str type, object, items, metadata;
    bool has_kind, has_api_version;
};

/* --- position and name of an object ----------------------------------------------------------- */

static size_t line_at(const struct reading *r, const char *where)
{
    return r->part->locate(r->part->locate_ctx, (size_t)(where - r->part->json.p));
}

/* A json_locate_fn for a piece of the text. */
struct piece {
    const struct reading *r;
    const char *start;
};

static size_t line_in_piece(const void *ctx, size_t offset)
{
    const struct piece *piece = ctx;
    return line_at(piece->r, piece->start + offset);
}

static struct str unquoted(struct str value)
{
    return value.n >= 2 && value.p[0] == '"' ? str_slice(value, 1, value.n - 1) : STR("");
}

static bool take_member(void *ctx, struct str name, struct str value)
{
    struct candidate *c = ctx;
    if (str_is(name, "apiVersion")) {
        c->api_version = unquoted(value);
        c->has_api_version = true;
    } else if (str_is(name, "kind")) {
        c->kind = unquoted(value);
        c->has_kind = true;
    } else if (str_is(name, "type")) {
        c->type = unquoted(value);
    } else if (str_is(name, "object") && value.p[0] == '{') {
        c->object = value;
    } else if (str_is(name, "items")) {
        c->items = value;
    } else if (str_is(name, "metadata")) {
        c->metadata = value;
    }
    return true;
}

static int look(const struct reading *r, struct str json, struct candidate *ret_candidate)
{
    *ret_candidate = (struct candidate){.json = json};
    if (json_each_member(json, take_member, ret_candidate, r->reterr) < 0)
        return err_set(r->reterr, -EBADMSG,
                       "expected a Kubernetes object with apiVersion and kind");
    return 0;
}

struct name_parts {
    struct str name, namespace;
};

static bool take_name(void *ctx, struct str name, struct str value)
{
    struct name_parts *parts = ctx;
    if (str_is(name, "name"))
        parts->name = unquoted(value);
    else if (str_is(name, "namespace"))
        parts->namespace = unquoted(value);
    return true;
}

/* "items[3]: Pod default/web", as far as it is known. */
static void write_which(const struct reading *r, const struct candidate *c, struct buf *out)
{
    struct name_parts parts = {0};
    if (r->part->what == YAML_ITEM)
        buf_add_printf(out, "items[%zu]: ", r->part->index);
    if (c->metadata.n && c->metadata.p[0] == '{' &&
        json_each_member(c->metadata, take_name, &parts, NULL) < 0)
        parts = (struct name_parts){0};
    buf_add_printf(out, "%.*s", c->kind.n ? (int)MIN(c->kind.n, (size_t)80) : 6,
                   c->kind.n ? c->kind.p : "object");
    if (parts.name.n)
        buf_add_printf(out, " %.*s%s%.*s", STR_ARG(parts.namespace), parts.namespace.n ? "/" : "",
                       STR_ARG(parts.name));
}

/* Removes "line 3, column 7: " from *message and returns the line; 0 if there is none. */
static size_t take_line(struct str *message)
{
    uint64_t line;
    size_t colon = str_find(*message, ':'), comma = str_find(*message, ',');
    if (!str_starts(*message, STR("line ")) ||
        !str_to_u64(str_slice(*message, strlen("line "), MIN(colon, comma)), &line))
        return 0;
    *message = str_trim(str_slice(*message, colon + 1, message->n));
    return (size_t)line;
}

/* Prefixes the error with file, line and object. */
static int fail_at(struct reading *r, const struct candidate *c, int code)
{
    struct err original = *r->reterr;
    struct str rest = str_of(original.msg);
    size_t line = take_line(&rest);
    if (!line)
        line = line_at(r, c->json.p);
    struct buf which = BUF_INIT;
    write_which(r, c, &which);
    err_set(r->reterr, code, "%s:%zu: %s: %.*s", r->file, line, buf_cstr(&which), STR_ARG(rest));
    buf_release(&which);
    r->located = true;
    return code;
}

static void add_problem(struct reading *r, const struct candidate *c, const char *where,
                        struct str text)
{
    struct scenario *s = r->s;
    r->n_problems++;
    if (s->n_problems++ >= SCENARIO_MAX_PROBLEMS)
        return;
    buf_add_printf(&s->problems, "%s:%zu: ", r->file, line_at(r, where));
    write_which(r, c, &s->problems);
    buf_add_printf(&s->problems, ": %.*s\n", STR_ARG(text));
}

/* --- validation ------------------------------------------------------------------------------- */

struct validation {
    struct reading *r;
    const struct candidate *c;
};

static void on_problem(void *ctx, const struct schema_problem *problem)
{
    const struct validation *v = ctx;
    struct buf text = BUF_INIT;
    schema_problem_write(problem, &text);
    v->r->n_duplicates += problem->fault == SCHEMA_DUPLICATE_FIELD;
    v->r->s->n_types += problem->fault == SCHEMA_WRONG_TYPE;
    add_problem(v->r, v->c, v->c->json.p + problem->offset, buf_str(&text));
    buf_release(&text);
}

static const struct schema_kind *find_schema(struct reading *r, const struct candidate *c)
{
    if (!r->last || !str_eq(r->last->kind, c->kind) ||
        !str_eq(r->last->api_version, c->api_version))
        r->last = schema_kind_find(c->api_version, c->kind);
    return r->last;
}

/* Adds schema errors to the problems. Fails if the text is not JSON. */
static int validate(struct reading *r, const struct candidate *c)
{
    struct validation v = {r, c};
    const struct schema_kind *schema = find_schema(r, c);
    r->n_duplicates = r->n_problems = 0;
    if (r->s->validation == VALIDATE_IGNORE || !schema || !schema->type)
        return 0;
    return schema_check(schema_types, schema->type, c->json, on_problem, &v, r->reterr);
}

/* --- kinds ------------------------------------------------------------------------------------ */

static struct str group_of(struct str api_version)
{
    size_t slash = str_find(api_version, '/');
    return slash < api_version.n ? str_slice(api_version, 0, slash) : STR("");
}

static bool is_built_in_group(struct str api_version)
{
    for (size_t i = 0; i < n_schema_kinds; i++)
        if (str_eq(group_of(schema_kinds[i].api_version), group_of(api_version)))
            return true;
    return false;
}

/* Ignores an object of a kind that is not used. A misspelt kind is reported as a problem. */
static void skip(struct reading *r, const struct candidate *c)
{
    const struct schema_kind *same = find_schema(r, c);
    const struct schema_kind *named = schema_kind_named(c->kind);
    const struct schema_kind *near = same ? NULL : schema_kind_near(c->api_version, c->kind);
    struct buf text = BUF_INIT;
    if (!same && named && is_built_in_group(c->api_version))
        buf_add_printf(&text, "unknown kind \"%.*s\" in %.*s; did you mean apiVersion \"%.*s\"?",
                       STR_ARG(c->kind), STR_ARG(c->api_version), STR_ARG(named->api_version));
    else if (near)
        buf_add_printf(&text, "unknown kind \"%.*s\" in %.*s; did you mean \"%.*s\"?",
                       STR_ARG(c->kind), STR_ARG(c->api_version), STR_ARG(near->kind));
    if (text.n && r->s->validation != VALIDATE_IGNORE)
        add_problem(r, c, c->json.p, buf_str(&text));
    buf_clear(&text);
    if (same && named && named->type && !same->type) {
        buf_add_printf(&text, "%.*s of %.*s is not supported; use %.*s", STR_ARG(c->kind),
                       STR_ARG(c->api_version), STR_ARG(named->api_version));
        struct buf which = BUF_INIT;
        write_which(r, c, &which);
        scenario_note(r->s, buf_cstr(&text), buf_str(&which));
        buf_release(&which);
    }
    scenario_skip(r->s, c->kind);
    buf_release(&text);
}

/* Kinds that berth writes or uses for leader election are not used for scheduling. */
static bool is_of_interest(const struct kind *kind)
{
    switch (kind->id) {
    case KIND_LEASE:
    case KIND_LEASE_CANDIDATE:
    case KIND_EVENT:
    case KIND_CORE_EVENT:
    case KIND_BINDING:
    case KIND_STATUS:
    case KIND_DELETE_OPTIONS:
        return false;
    default:
        return true;
    }
}

static int require_kind(const struct reading *r, const struct candidate *c)
{
    const struct schema_kind *named = schema_kind_named(c->kind);
    if (!c->kind.n && !c->api_version.n)
        return err_set(r->reterr, -EINVAL,
                       "apiVersion and kind not set: expected a Kubernetes object");
    if (!c->kind.n)
        return err_set(r->reterr, -EINVAL, "kind not set%s",
                       str_is(c->api_version, "v1") ? "; set it, for example to Pod or Node" : "");
    if (!c->api_version.n && named)
        return err_set(r->reterr, -EINVAL, "apiVersion not set; did you mean \"%.*s\"?",
                       STR_ARG(named->api_version));
    if (!c->api_version.n)
        return err_set(r->reterr, -EINVAL, "apiVersion not set");
    return 0;
}

/* --- objects ---------------------------------------------------------------------------------- */

static int decode(struct reading *r, const struct candidate *c, const struct type *type,
                  struct arena *a, void *out)
{
    struct piece piece = {r, c->json.p};
    struct json_target target = {.type = type, .out = out};
    if (r->n_duplicates == 0)
        return json_decode_located(c->json, &target, a, line_in_piece, &piece, r->reterr);
    /* The last of duplicate fields replaces the others; json_decode_located would merge them. */
    struct json_value tree;
    struct arena scratch;
    arena_init(&scratch, 4096);
    int ret = json_parse(c->json, 0, &scratch, &tree, r->reterr);
    if (ret == 0)
        ret = json_value_decode(&tree, type, 0, a, out, r->reterr);
    if (ret < 0) { /* its line is relative to the text, not to the file */
        struct err original = *r->reterr;
        struct str rest = str_of(original.msg);
        if (take_line(&rest))
            err_set(r->reterr, ret, "%.*s", STR_ARG(rest));
    }
    arena_release(&scratch);
    return ret;
}

static void note_object(struct reading *r, const struct candidate *c, const char *text)
{
    struct buf which = BUF_INIT;
    write_which(r, c, &which);
    scenario_note(r->s, text, buf_str(&which));
    buf_release(&which);
}

/* Keeps a controller for expansion. uid: of its object in the scenario; "" if none. */
static int read_controller(struct reading *r, const struct candidate *c,
                           enum pod_controller_kind kind, struct str uid)
{
    struct expansion_entry *entry = expansion_entry_new();
    struct pod_controller *controller = &entry->controller;
    entry->kind = kind;
    int ret = decode(r, c, &pod_controller_view_type, &entry->arena, controller);
    if (ret == 0 && str_empty(controller->metadata.name))
        ret = err_set(r->reterr, -EINVAL, "metadata.name: required");
    bool makes_pods = controller->spec.template.spec.containers.n > 0;
    if (ret == 0 && !makes_pods)
        note_object(r, c, "no pods are created without spec.template.spec.containers");
    if (ret < 0 || !makes_pods || controller->metadata.deletion_timestamp.set ||
        (kind != POD_CONTROLLER_DAEMON_SET && pod_controller_replicas(kind, controller) == 0)) {
        expansion_entry_free(entry);
        return ret;
    }
    if (str_empty(controller->metadata.namespace))
        controller->metadata.namespace = STR("default");
    if (str_empty(controller->metadata.uid))
        controller->metadata.uid =
            uid.n ? arena_dup(&entry->arena, uid)
                  : arena_printf(&entry->arena, "00000000-0000-0000-0000-%012llu",
                                 (unsigned long long)++r->s->next_uid);
    expansion_keep(r->s->expansion, entry);
    return 0;
}

static int read_runtime_class(struct reading *r, const struct candidate *c)
{
    struct expansion_entry *entry = expansion_entry_new();
    entry->is_class = true;
    int ret = decode(r, c, &runtime_class_type, &entry->arena, &entry->class);
    if (ret < 0)
        expansion_entry_free(entry);
    else
        expansion_keep(r->s->expansion, entry);
    return ret;
}

static int read_known(struct reading *r, const struct candidate *c, const struct kind *kind,
                      enum scenario_what what, struct str *ret_uid)
{
    struct object *o = NULL;
    int ret;
    if (kind_is_custom(kind->id)) {
        ret = object_decode(&(struct wire){.kind = kind, .encoding = ENCODING_JSON}, c->json, &o,
                            r->reterr);
        if (ret < 0)
            return fail_at(r, c, ret);
    } else {
        o = object_new(kind->id);
        ret = decode(r, c, kind->type, object_arena(o), object_body_mut(o));
    }
    if (ret == 0)
        ret = scenario_add(r->s, o, what, r->reterr);
    if (ret < 0)
        object_unref(o);
    else if (kind->has_metadata)
        *ret_uid = object_meta(o)->uid;
    return ret;
}

/* Kinds that create, change or reject pods, which the simulation does not do. */
static void note_ignored(struct reading *r, const struct candidate *c)
{
    static const struct {
        const char *kind, *text;
    } rows[] = {
        {"CronJob", "CronJobs are not run: no pods are created for them"},
        {"LimitRange", "LimitRanges are not applied"},
        {"ResourceQuota", "ResourceQuotas are not enforced"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (str_is(c->kind, rows[i].kind))
            note_object(r, c, rows[i].text);
}

static int read_object(struct reading *r, const struct candidate *c, enum scenario_what what)
{
    const struct kind *kind = kind_find(c->api_version, c->kind);
    enum pod_controller_kind controller;
    bool controls = pod_controller_kind_find(c->api_version, c->kind, &controller);
    bool runtime_class =
        str_is(c->kind, "RuntimeClass") && str_is(c->api_version, "node.k8s.io/v1");
    struct str uid = STR("");
    int ret = validate(r, c);
    if (ret < 0 || (r->n_problems && r->s->validation == VALIDATE_STRICT))
        return ret;
    if (kind && is_of_interest(kind))
        ret = read_known(r, c, kind, what, &uid);
    else if (runtime_class)
        return read_runtime_class(r, c);
    else if (!controls)
        skip(r, c);
    if (!kind)
        note_ignored(r, c);
    if (ret == 0 && controls && what == SCENARIO_THERE)
        ret = read_controller(r, c, controller, uid);
    else if (ret == 0 && controls && !kind)
        note_object(r, c, "changes to controllers are ignored; --then can only add controllers");
    return ret;
}

/* --- documents -------------------------------------------------------------------------------- */

static int read_candidate(struct reading *r, struct candidate *c, enum scenario_what what);

struct nested {
    struct reading *r;
    struct str api_version, kind; /* of the list */
};

/* Items of a typed list, such as PodList, have no kind. */
static void inherit_kind(struct candidate *c, struct str list_api_version, struct str list_kind)
{
    if (c->has_kind || c->has_api_version || list_kind.n <= strlen("List") ||
        !str_ends(list_kind, STR("List")))
        return;
    c->kind = str_slice(list_kind, 0, list_kind.n - strlen("List"));
    c->api_version = list_api_version;
}

static int read_nested(void *ctx, struct str item)
{
    struct nested *nested = ctx;
    struct candidate c;
    int ret = look(nested->r, item, &c);
    if (ret < 0)
        return fail_at(nested->r, &c, ret);
    inherit_kind(&c, nested->api_version, nested->kind);
    return read_candidate(nested->r, &c, SCENARIO_THERE);
}

/* A list in a list, or one with a YAML anchor: it was read as a whole. */
static int read_list(struct reading *r, const struct candidate *c)
{
    struct nested nested = {r, c->api_version, c->kind};
    struct list_meta meta;
    struct arena a;
    if (c->items.p[0] == 'n')
        return 0;
    if (c->items.p[0] != '[')
        return fail_at(r, c, err_set(r->reterr, -EINVAL, "items: expected an array"));
    arena_init(&a, 0);
    int ret =
        json_decode_list(c->json, &list_meta_type, &a, &meta, read_nested, &nested, r->reterr);
    arena_release(&a);
    return ret;
}

static int read_event(struct reading *r, const struct candidate *event)
{
    struct candidate c;
    if (str_is(event->type, "BOOKMARK"))
        return 0;
    bool deleted = str_is(event->type, "DELETED"), added = str_is(event->type, "ADDED");
    if (!deleted && !added && !str_is(event->type, "MODIFIED"))
        return fail_at(r, event,
                       err_set(r->reterr, -EINVAL,
                               "type: \"%.*s\" is not one of ADDED, MODIFIED, DELETED",
                               STR_ARG(event->type)));
    int ret = look(r, event->object, &c);
    if (ret < 0)
        return fail_at(r, &c, ret);
    enum pod_controller_kind kind;
    bool made = added && pod_controller_kind_find(c.api_version, c.kind, &kind);
    return read_candidate(r, &c,
                          deleted ? SCENARIO_DELETED
                          : made  ? SCENARIO_THERE
                                  : SCENARIO_CHANGED);
}

static int read_candidate(struct reading *r, struct candidate *c, enum scenario_what what)
{
    int ret = require_kind(r, c);
    if (ret == 0 && c->items.n && str_ends(c->kind, STR("List")))
        return read_list(r, c);
    if (ret == 0)
        ret = read_object(r, c, what);
    return ret < 0 ? fail_at(r, c, ret) : 0;
}

/* The end of a list whose items were read one by one. */
static int end_list(struct reading *r, const struct candidate *c)
{
    int ret = require_kind(r, c);
    if (ret == 0 && !str_ends(c->kind, STR("List")))
        ret = err_set(r->reterr, -EINVAL, "unknown field \"items\"; only a List has items");
    return ret < 0 ? fail_at(r, c, ret) : 0;
}

static int read_item(struct reading *r, struct candidate *c)
{
    inherit_kind(c, r->part->api_version, r->part->kind);
    if (!c->kind.n && !c->has_kind && !r->part->kind.n)
        return fail_at(r, c,
                       err_set(r->reterr, -EINVAL,
                               "kind not set; set it, or put apiVersion and kind of the list "
                               "before its items"));
    return read_candidate(r, c, SCENARIO_THERE);
}

static int on_part(void *ctx, const struct manifest_part *part, struct err *reterr)
{
    struct reading *r = ctx;
    struct candidate c;
    r->part = part;
    r->reterr = reterr;
    r->s->n_documents += part->what != YAML_ITEM;
    int ret = look(r, part->json, &c);
    if (ret < 0)
        return fail_at(r, &c, ret);
    if (part->what == YAML_LIST)
        return end_list(r, &c);
    if (part->what == YAML_ITEM)
        return read_item(r, &c);
    if (c.object.n && c.type.n && !c.has_kind)
        return read_event(r, &c);
    return read_candidate(r, &c, SCENARIO_THERE);
}

int scenario_read(struct scenario *s, const char *file, const struct yaml_source *source,
                  struct err *reterr)
{
    struct reading r = {.s = s, .file = file};
    unsigned flags = s->validation == VALIDATE_IGNORE ? 0 : JSON_KEEP_DUPLICATES;
    size_t before = s->n_documents;
    struct err ignored;
    if (!reterr)
        reterr = &ignored;
    int ret = manifest_read(source, flags, on_part, &r, reterr);
    if (ret < 0 && !r.located) {
        struct err original = *reterr;
        struct str rest = str_of(original.msg);
        size_t line = take_line(&rest);
        if (line)
            err_set(reterr, ret, "%s:%zu: %.*s", file, line, STR_ARG(rest));
        else
            err_prefix(reterr, ret, "%s", file);
    }
    if (ret == 0 && s->n_documents == before)
        return -ENODATA;
    return ret;
}
