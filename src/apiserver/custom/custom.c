/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/custom/custom.h"

#include "base/vec.h"

/* A definition as it was stored last. */
struct definition {
    char *name;
    struct arena arena;
    struct json_value tree;
    const struct resource *stored; /* NULL: never established */
    struct custom_resource *versions;
    size_t n_versions;
};

struct customs {
    struct resources *resources;
    VEC(struct definition *) all;
    struct map by_name;
};

/* What a resource has whose definition is gone: pointers to it may live longer. */
static const struct custom_resource no_longer;

struct customs *customs_new(struct resources *resources)
{
    struct customs *cs = xnew(struct customs);

    cs->resources = resources;
    return cs;
}

static void release_versions(struct definition *d)
{
    for (size_t i = 0; i < d->n_versions; i++)
        custom_schema_release(d->versions[i].schema);
    d->n_versions = 0;
}

static void definition_free(struct definition *d)
{
    release_versions(d);
    arena_release(&d->arena);
    free(d->name);
    free(d);
}

struct customs *customs_free(struct customs *cs)
{
    if (!cs)
        return NULL;
    for (size_t i = 0; i < cs->all.n; i++)
        definition_free(cs->all.v[i]);
    vec_release(&cs->all);
    map_release(&cs->by_name);
    free(cs);
    return NULL;
}

const struct resource *customs_stored(const struct customs *cs, struct str name)
{
    const struct definition *d = map_get(&cs->by_name, name);

    return d ? d->stored : NULL;
}

/* --- names ------------------------------------------------------------------------------------ */

static struct str name_of(const struct json_value *definition)
{
    return json_text_at(definition, "metadata.name");
}

static void add_name(struct map *names, struct str name)
{
    if (!str_empty(name))
        map_put(names, name, names);
}

/* The names that other definitions of the group have. */
static void names_in_use(const struct customs *cs, const struct json_value *definition,
                         struct map *resources, struct map *kinds)
{
    struct str group = json_text_at(definition, "spec.group");

    for (size_t i = 0; i < cs->all.n; i++) {
        const struct json_value *other = &cs->all.v[i]->tree;
        const struct json_value *names = json_at(other, "status.acceptedNames");
        struct json_items shorts = json_items_at(names, "shortNames");

        if (!str_eq(json_text_at(other, "spec.group"), group) ||
            str_eq(name_of(other), name_of(definition)))
            continue;
        add_name(resources, json_get_text(names, STR("plural")));
        add_name(resources, json_get_text(names, STR("singular")));
        for (size_t k = 0; k < shorts.n; k++)
            if (shorts.v[k].kind == JSON_STRING)
                add_name(resources, shorts.v[k].text);
        add_name(kinds, json_get_text(names, STR("kind")));
        add_name(kinds, json_get_text(names, STR("listKind")));
    }
}

struct naming {
    const struct json_value *wanted;
    struct json_value accepted;
    const char *reason; /* NULL: no conflict */
    struct str message;
    struct arena *a;
};

static void accept_name(struct naming *n, const char *member, const struct map *used,
                        const char *reason)
{
    struct str key = str_of(member), name = json_get_text(n->wanted, key);

    if (!str_eq(name, json_get_text(&n->accepted, key)) && map_get(used, name)) {
        n->reason = reason;
        n->message = arena_printf(n->a, "\"%.*s\" is already in use", STR_ARG(name));
    } else if (!str_empty(name)) {
        json_set(&n->accepted, key, json_text(name), n->a);
    }
}

/* All short names are accepted, or none of the new ones. */
static void accept_short_names(struct naming *n, const struct map *used)
{
    const struct json_value *list = json_get(n->wanted, STR("shortNames"));
    struct json_items wanted = json_items_at(list, ""),
                      had = json_items_at(&n->accepted, "shortNames");
    struct map own = MAP_INIT;
    struct buf text = BUF_INIT;
    size_t conflicts = 0;

    for (size_t i = 0; i < had.n; i++)
        map_put(&own, had.v[i].text, &own);
    for (size_t i = 0; i < wanted.n; i++) {
        if (map_get(&own, wanted.v[i].text) || !map_get(used, wanted.v[i].text))
            continue;
        buf_add_printf(&text, "%s\"%.*s\" is already in use", conflicts++ ? ", " : "",
                       STR_ARG(wanted.v[i].text));
    }
    if (conflicts > 0) {
        n->reason = "ShortNamesConflict";
        n->message = arena_printf(n->a, conflicts > 1 ? "[%.*s]" : "%.*s", STR_ARG(buf_str(&text)));
    } else if (list) {
        json_set(&n->accepted, STR("shortNames"), *list, n->a);
    } else {
        json_remove(&n->accepted, STR("shortNames"));
    }
    buf_release(&text);
    map_release(&own);
}

/* --- conditions ------------------------------------------------------------------------------- */

static struct json_value *find_condition(struct json_value *definition, const char *type)
{
    struct json_value *status = json_member(definition, STR("status"));
    struct json_value *list = status ? json_member(status, STR("conditions")) : NULL;

    for (size_t i = 0; list && list->kind == JSON_ARRAY && i < list->n; i++)
        if (str_is(json_get_text(&list->items[i], STR("type")), type))
            return &list->items[i];
    return NULL;
}

static bool condition_is_true(const struct json_value *condition)
{
    return condition && str_is(json_get_text(condition, STR("status")), "True");
}

struct condition {
    const char *type, *reason;
    bool status;
    struct str message;
};

static void set_condition(struct json_value *definition, const struct condition *c, struct str time,
                          struct arena *a)
{
    struct json_value v = json_object(), *old = find_condition(definition, c->type);
    struct str status = c->status ? STR("True") : STR("False");

    if (old && str_eq(json_get_text(old, STR("status")), status))
        time = json_get_text(old, STR("lastTransitionTime"));
    json_set(&v, STR("lastTransitionTime"), json_text(time), a);
    json_set(&v, STR("message"), json_text(c->message), a);
    json_set(&v, STR("reason"), json_text(str_of(c->reason)), a);
    json_set(&v, STR("status"), json_text(status), a);
    json_set(&v, STR("type"), json_text(str_of(c->type)), a);
    if (old)
        *old = v;
    else
        json_append(
            json_set_array(json_set_object(definition, STR("status"), a), STR("conditions"), a), v,
            a);
}

static void establish(struct json_value *definition, const struct naming *n, struct str time,
                      struct arena *a)
{
    struct condition names = {"NamesAccepted", n->reason ? n->reason : "NoConflicts", !n->reason,
                              n->reason ? n->message : STR("no conflicts found")};
    struct condition established = {"Established", "NotAccepted", false,
                                    STR("not all names are accepted")};

    set_condition(definition, &names, time, a);
    if (condition_is_true(find_condition(definition, "Established")))
        return;
    if (!n->reason)
        established = (struct condition){"Established", "InitialNamesAccepted", true,
                                         STR("the initial names have been accepted")};
    set_condition(definition, &established, time, a);
}

void customs_accept(const struct customs *cs, struct json_value *definition, struct str time,
                    struct arena *a)
{
    struct map resources = MAP_INIT, kinds = MAP_INIT;
    const struct json_value *had = json_at(definition, "status.acceptedNames");
    const struct json_value *categories = json_at(definition, "spec.names.categories");
    struct naming n = {.wanted = json_at(definition, "spec.names"), .a = a};

    n.accepted = had && had->kind == JSON_OBJECT ? json_copy(had, a) : json_object();
    names_in_use(cs, definition, &resources, &kinds);
    accept_name(&n, "plural", &resources, "PluralConflict");
    accept_name(&n, "singular", &resources, "SingularConflict");
    accept_short_names(&n, &resources);
    accept_name(&n, "kind", &kinds, "KindConflict");
    accept_name(&n, "listKind", &kinds, "ListKindConflict");
    if (categories)
        json_set(&n.accepted, STR("categories"), *categories, a);
    else
        json_remove(&n.accepted, STR("categories"));
    establish(definition, &n, time, a);
    json_set(json_set_object(definition, STR("status"), a), STR("acceptedNames"), n.accepted, a);
    map_release(&resources);
    map_release(&kinds);
}

/* --- resources -------------------------------------------------------------------------------- */

static const char *const *text_list(const struct json_value *v, const char *path, struct arena *a)
{
    struct json_items items = json_items_at(v, path);
    const char **list = arena_array(a, const char *, items.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < items.n; i++)
        if (items.v[i].kind == JSON_STRING)
            list[n++] = arena_dup(a, items.v[i].text).p;
    return list;
}

/* "spec.replicas" of ".spec.replicas"; NULL: none */
static const char *path_text(const struct json_value *v, const char *member, struct arena *a)
{
    struct str path = json_get_text(v, str_of(member));

    if (str_empty(path))
        return NULL;
    return arena_dup(a, path.p[0] == '.' ? str_slice(path, 1, path.n) : path).p;
}

static void set_columns(struct resource *r, const struct json_value *version, struct arena *a)
{
    struct json_items items = json_items_at(version, "additionalPrinterColumns");
    struct printer_column *columns = arena_array(a, struct printer_column, items.n + 1);

    for (size_t i = 0; i < items.n; i++)
        columns[i] = (struct printer_column){
            .name = json_get_text(&items.v[i], STR("name")),
            .type = json_get_text(&items.v[i], STR("type")),
            .format = json_get_text(&items.v[i], STR("format")),
            .description = json_get_text(&items.v[i], STR("description")),
            .json_path = json_get_text(&items.v[i], STR("jsonPath")),
            .priority = (int32_t)json_int_at(&items.v[i], "priority", 0),
        };
    r->columns = columns;
    r->n_columns = items.n;
    if (items.n > 0)
        return;
    columns[0] = (struct printer_column){
        .name = STR("Age"),
        .type = STR("date"),
        .description =
            STR("CreationTimestamp is a timestamp representing the server time when this object "
                "was created. It is not guaranteed to be set in happens-before order across "
                "separate operations. Clients may not set this value. It is represented in RFC3339 "
                "form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More "
                "info: https://git.k8s.io/community/contributors/devel/sig-architecture/"
                "api-conventions.md#metadata"),
        .json_path = STR(".metadata.creationTimestamp"),
    };
    r->n_columns = 1;
}

static void set_subresources(struct resource *r, struct custom_resource *custom,
                             const struct json_value *version, struct arena *a)
{
    struct subresource *list = arena_array(a, struct subresource, 3);
    const struct json_value *scale = json_at(version, "subresources.scale");
    const struct json_value *status = json_at(version, "subresources.status");
    unsigned verbs = VERB_GET | VERB_PATCH | VERB_UPDATE;
    size_t n = 0;

    if (status && status->kind == JSON_OBJECT)
        list[n++] = (struct subresource){"status", arena_dup(a, r->kind).p, "", verbs};
    if (scale && scale->kind == JSON_OBJECT) {
        list[n++] = (struct subresource){"scale", "Scale", "autoscaling/v1", verbs};
        custom->scale_spec = path_text(scale, "specReplicasPath", a);
        custom->scale_status = path_text(scale, "statusReplicasPath", a);
        custom->scale_selector = path_text(scale, "labelSelectorPath", a);
    }
    r->subresources = list;
}

/* Upstream's words for a deprecated version; the best of the later ones is recommended. */
static struct str deprecation(const struct definition *d, const struct json_value *version,
                              const struct resource *r, struct arena *a)
{
    struct json_items versions = json_items_at(&d->tree, "spec.versions");
    const struct json_value *text = json_get(version, STR("deprecationWarning"));
    struct str best = r->version;

    if (!json_bool_at(version, "deprecated", false))
        return STR("");
    if (text && text->kind == JSON_STRING)
        return text->text;
    for (size_t i = 0; i < versions.n; i++) {
        struct str name = json_text_at(&versions.v[i], "name");

        if (json_bool_at(&versions.v[i], "served", false) &&
            !json_bool_at(&versions.v[i], "deprecated", false) &&
            resource_version_compare(name, best) > 0)
            best = name;
    }
    if (str_eq(best, r->version))
        return arena_printf(a, "%.*s %.*s is deprecated", STR_ARG(r->api_version),
                            STR_ARG(r->kind));
    return arena_printf(a, "%.*s %.*s is deprecated; use %.*s/%.*s %.*s", STR_ARG(r->api_version),
                        STR_ARG(r->kind), STR_ARG(r->group), STR_ARG(best), STR_ARG(r->kind));
}

/* The resource of one version; its parts are in the definition's arena. */
static struct resource make_resource(struct definition *d, const struct json_value *version,
                                     struct custom_resource *custom)
{
    const struct json_value *names = json_at(&d->tree, "status.acceptedNames");
    const struct json_value *schema = json_at(version, "schema.openAPIV3Schema");
    struct str group = json_text_at(&d->tree, "spec.group"), name = json_text_at(version, "name");
    struct resource r = {
        .group = group,
        .version = name,
        .api_version = arena_printf(&d->arena, "%.*s/%.*s", STR_ARG(group), STR_ARG(name)),
        .plural = json_get_text(names, STR("plural")),
        .singular = json_get_text(names, STR("singular")),
        .kind = json_get_text(names, STR("kind")),
        .list_kind = json_get_text(names, STR("listKind")),
        .namespaced = str_is(json_text_at(&d->tree, "spec.scope"), "Namespaced"),
        .verbs = VERBS_ALL,
        .short_names = text_list(names, "shortNames", &d->arena),
        .categories = text_list(names, "categories", &d->arena),
        .stored = d->stored,
        .custom = custom,
        .schema = schema,
    };

    if (schema && !json_bool_at(&d->tree, "spec.preserveUnknownFields", false))
        custom->schema = custom_schema_new(schema, &d->arena);
    custom->warning = deprecation(d, version, &r, &d->arena);
    set_subresources(&r, custom, version, &d->arena);
    set_columns(&r, version, &d->arena);
    return r;
}

/* Takes a version out of service; what it points to will go. */
static void unserve(struct customs *cs, const struct definition *d, struct str version)
{
    struct str group = json_text_at(&d->tree, "spec.group");
    struct str plural = json_text_at(&d->tree, "status.acceptedNames.plural");
    const struct resource *served = resources_find(cs->resources, group, version, plural);
    struct resource r;

    if (!served || !served->custom)
        return;
    r = *served;
    r.custom = &no_longer;
    r.columns = NULL;
    r.n_columns = 0;
    r.schema = NULL;
    resources_remove(cs->resources, resources_add(cs->resources, &r));
}

static void unserve_all(struct customs *cs, const struct definition *d)
{
    struct json_items versions = json_items_at(&d->tree, "spec.versions");

    for (size_t i = 0; i < versions.n; i++)
        unserve(cs, d, json_text_at(&versions.v[i], "name"));
}

/* The storage version comes first: the others refer to it. It may not be served itself. */
static void serve_version(struct customs *cs, struct definition *d,
                          const struct json_value *version)
{
    struct custom_resource *custom = &d->versions[d->n_versions++];
    struct resource r = make_resource(d, version, custom);
    const struct resource *added = resources_add(cs->resources, &r);

    if (!added) /* it is built in */
        return;
    if (!d->stored && json_bool_at(version, "storage", false))
        d->stored = added;
    if (!json_bool_at(version, "served", false))
        unserve(cs, d, r.version);
}

static void serve_all(struct customs *cs, struct definition *d)
{
    struct json_items versions = json_items_at(&d->tree, "spec.versions");

    size_t first = SIZE_MAX;

    d->versions = arena_array(&d->arena, struct custom_resource, versions.n + 1);
    for (size_t i = 0; i < versions.n && !d->stored; i++) {
        if (json_bool_at(&versions.v[i], "storage", false)) {
            serve_version(cs, d, &versions.v[i]);
            first = i;
        }
    }
    for (size_t i = 0; i < versions.n && d->stored; i++)
        if (i != first)
            serve_version(cs, d, &versions.v[i]);
}

/* --- definitions ------------------------------------------------------------------------------ */

void customs_set(struct customs *cs, const struct json_value *definition)
{
    struct definition *d = map_get(&cs->by_name, name_of(definition)), old;

    if (!d) {
        d = xnew(struct definition);
        d->name = str_dup(name_of(definition));
        arena_init(&d->arena, 0);
        map_put(&cs->by_name, str_of(d->name), d);
        vec_push(&cs->all, d);
    }
    old = *d;
    arena_init(&d->arena, 0);
    d->tree = json_copy(definition, &d->arena);
    d->n_versions = 0;
    /* Versions that are served again are replaced; the others must not point to what goes. */
    unserve_all(cs, &old);
    if (condition_is_true(find_condition(&d->tree, "Established")))
        serve_all(cs, d);
    release_versions(&old);
    arena_release(&old.arena);
}

void customs_remove(struct customs *cs, struct str name)
{
    struct definition *d = map_del(&cs->by_name, name);

    if (!d)
        return;
    unserve_all(cs, d);
    for (size_t i = 0; i < cs->all.n; i++) {
        if (cs->all.v[i] == d) {
            vec_remove(&cs->all, i);
            break;
        }
    }
    definition_free(d);
}
