/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server-side apply (upstream: structured-merge-diff's merge/update.go and the managers of
 * apimachinery's util/managedfields).
 */
#include "apiserver/patch/apply.h"

#include "apiserver/patch/managers.h"
#include "apiserver/patch/typed.h"
#include "base/err.h"
#include "codec/json_draft.h"

#define LAST_APPLIED    "kubectl.kubernetes.io/last-applied-configuration"
/* Upstream's limit of all annotations. */
#define MAX_ANNOTATIONS ((size_t)256 * 1024)

/* What no manager owns. */
#define STRIPPED                                                                             \
    "{\"f:apiVersion\":{},\"f:kind\":{},\"f:metadata\":{\".\":{},\"f:name\":{},"             \
    "\"f:namespace\":{},\"f:creationTimestamp\":{},\"f:selfLink\":{},\"f:uid\":{},"          \
    "\"f:clusterName\":{},\"f:generation\":{},\"f:managedFields\":{},\"f:resourceVersion\":" \
    "{}}}"

struct apply {
    const struct apply_request *req;
    struct typed t;
    struct type_ref root;
    struct field_set ignored; /* fields that a write of this subresource cannot change */
    struct arena *a;
};

/* --- the request ------------------------------------------------------------------------------ */

static struct field_set literal_set(const char *fields_v1, struct arena *a)
{
    struct json_value v = json_literal(fields_v1, a);
    struct field_set s = {0};
    struct err err;

    if (fields_v1_read(&v, a, &s, &err) < 0)
        assert(false);
    return s;
}

/* Upstream's GetResetFields: what is not written through the object or its status. */
static const char *reset_fields(const struct apply_request *req)
{
    static const char *const whole_metadata[] = {"resourceclaims", "volumeattachments", "podgroups",
                                                 "certificatesigningrequests",
                                                 "customresourcedefinitions"};
    const struct resource *r = req->resource;

    if (!resource_subresource(r, STR("status")))
        return "{}";
    if (str_empty(req->subresource))
        return "{\"f:status\":{}}";
    if (!str_is(req->subresource, "status"))
        return "{}";
    for (size_t i = 0; i < ARRAY_LEN(whole_metadata); i++)
        if (r->custom || str_is(r->plural, whole_metadata[i]))
            return "{\"f:spec\":{},\"f:metadata\":{}}";
    if (str_is(r->plural, "pods"))
        return "{\"f:spec\":{},\"f:metadata\":{\"f:deletionTimestamp\":{},\"f:ownerReferences\":{}"
               "}}";
    if (str_is(r->plural, "deployments"))
        return "{\"f:spec\":{},\"f:metadata\":{\"f:labels\":{}}}";
    return "{\"f:spec\":{}}";
}

static struct apply apply_begin(const struct apply_request *req, struct arena *a)
{
    const struct resource *r = req->resource;
    struct apply ap = {.req = req, .a = a, .t = {r->types, a}};

    ap.root = r->type ? (struct type_ref){.kind = TYPE_STRUCT, .type = r->type}
                      : (struct type_ref){.kind = TYPE_DEDUCED};
    ap.ignored = literal_set(reset_fields(req), a);
    return ap;
}

static struct json_value empty_object(const struct apply *ap)
{
    struct json_value v = json_object();

    json_set(&v, STR("apiVersion"), json_text(ap->req->resource->api_version), ap->a);
    json_set(&v, STR("kind"), json_text(ap->req->resource->kind), ap->a);
    return v;
}

/* The object without its managed fields; NULL: an empty one. */
static struct json_value bare_object(const struct apply *ap, const struct json_value *object)
{
    struct json_draft out, meta;
    const struct json_value *m = json_get(object, STR("metadata"));

    if (!object)
        return empty_object(ap);
    json_draft_init(&out, object, 0, ap->a);
    if (m && m->kind == JSON_OBJECT) {
        json_draft_init(&meta, m, 0, ap->a);
        json_draft_remove(&meta, STR("managedFields"));
        json_draft_set(&out, STR("metadata"), json_draft_end(&meta));
    }
    return json_draft_end(&out);
}

static struct manager own_manager(const struct apply *ap, struct str name, bool applies)
{
    return (struct manager){
        .name = str_empty(name) ? STR("unknown") : name,
        .applies = applies,
        .api_version = ap->req->resource->api_version,
        .subresource = ap->req->subresource,
    };
}

/* --- changes ---------------------------------------------------------------------------------- */

static struct typed_comparison compare(const struct apply *ap, const struct json_value *before,
                                       const struct json_value *after)
{
    struct typed_comparison c = typed_compare(&ap->t, ap->root, before, after);

    c.removed = field_set_exclude(c.removed, ap->ignored, ap->a);
    c.modified = field_set_exclude(c.modified, ap->ignored, ap->a);
    c.added = field_set_exclude(c.added, ap->ignored, ap->a);
    return c;
}

static void reconcile(const struct apply *ap, struct managers *ms)
{
    for (size_t i = 0; i < ms->n; i++)
        ms->v[i].set = typed_reconcile(&ap->t, ap->root, ms->v[i].set);
}

/* What changed is taken from all managers but `self`, which may be NULL. */
static void take_from_others(const struct apply *ap, struct managers *ms,
                             const struct manager *self, const struct typed_comparison *c)
{
    struct field_set taken =
        field_set_union(field_set_union(c->modified, c->added, ap->a), c->removed, ap->a);

    for (size_t i = 0; i < ms->n; i++)
        if (!self || &ms->v[i] != self)
            ms->v[i].set = field_set_difference(ms->v[i].set, taken, ap->a);
}

/* --- updates ---------------------------------------------------------------------------------- */

/* Fields that this write changed belong to the manager, besides those that it had. */
static void update_managers(const struct apply *ap, const struct json_value *before,
                            const struct json_value *after, struct str name, struct managers *ms)
{
    struct manager own = own_manager(ap, name, false), *there;
    struct typed_comparison c;

    reconcile(ap, ms);
    c = compare(ap, before, after);
    take_from_others(ap, ms, NULL, &c);
    managers_drop_empty(ms);
    own.set = field_set_union(c.modified, c.added, ap->a);
    own.set = field_set_difference(own.set, literal_set(STRIPPED, ap->a), ap->a);
    if (field_set_empty(&own.set))
        return;
    there = managers_find(ms, &own);
    if (!there) {
        there = &ms->v[ms->n++];
    } else {
        own.set = field_set_union(own.set, there->set, ap->a);
    }
    own.time = ap->req->time;
    *there = own;
}

/* [] and [{}] remove all managed fields. */
static bool is_reset(const struct json_value *fields)
{
    if (!fields || fields->kind != JSON_ARRAY)
        return false;
    return fields->n == 0 || (fields->n == 1 && fields->items[0].kind == JSON_OBJECT &&
                              fields->items[0].n_members == 0);
}

/* The managers before an update: those that the writer sent, or those of the live object. */
static struct managers managers_before(const struct apply *ap, const struct json_value *changed)
{
    struct managers none = {.v = arena_array(ap->a, struct manager, 1)}, ms;
    struct err err;

    if (str_empty(ap->req->subresource)) {
        if (is_reset(json_at(changed, "metadata.managedFields")))
            return none;
        if (managers_read(changed, ap->a, &ms, &err) == 0 && ms.n > 0)
            return ms;
    }
    return ap->req->live && managers_read(ap->req->live, ap->a, &ms, &err) == 0 ? ms : none;
}

void apply_track_update(const struct apply_request *request, struct json_value *changed,
                        struct arena *a)
{
    struct apply ap = apply_begin(request, a);
    struct managers ms = managers_before(&ap, changed);
    struct json_value before = bare_object(&ap, request->live), after = bare_object(&ap, changed);

    /* An object that was not tracked before its first apply is not tracked now. */
    if (ms.n > 0 || !request->live || str_empty(json_text_at(request->live, "metadata.uid"))) {
        ms = managers_copy(&ms, a);
        update_managers(&ap, &before, &after, request->manager, &ms);
        managers_cap(&ms, a);
    }
    managers_write(&ms, changed, a);
}

/* --- conflicts -------------------------------------------------------------------------------- */

struct conflict_list {
    const struct manager *manager;
    struct apply_conflict *v;
    size_t n, cap;
    struct arena *a;
};

static void add_conflict(void *ctx, struct str path)
{
    struct conflict_list *list = ctx;

    if (list->n == list->cap) {
        struct apply_conflict *v = arena_array(list->a, struct apply_conflict, list->cap * 2 + 8);

        if (list->n > 0)
            memcpy(v, list->v, list->n * sizeof(*v));
        list->v = v;
        list->cap = list->cap * 2 + 8;
    }
    list->v[list->n++] = (struct apply_conflict){
        .manager = list->manager->name,
        .operation = list->manager->applies ? STR("Apply") : STR("Update"),
        .api_version = list->manager->api_version,
        .subresource = list->manager->subresource,
        .field = arena_dup(list->a, path),
    };
}

static int compare_managers(const void *a, const void *b)
{
    const struct manager *x = a, *y = b;

    return manager_compare(x, y);
}

/* What others own and this apply would change, except what is allowed. */
static struct apply_conflicts find_conflicts(const struct apply *ap, const struct managers *ms,
                                             const struct manager *self,
                                             const struct typed_comparison *c,
                                             struct field_set allowed)
{
    struct field_set changed = field_set_union(c->modified, c->added, ap->a);
    struct managers others = managers_copy(ms, ap->a);
    struct conflict_list list = {.a = ap->a};

    qsort(others.v, others.n, sizeof(*others.v), compare_managers);
    for (size_t i = 0; i < others.n; i++) {
        struct field_set s = field_set_intersection(others.v[i].set, changed, ap->a);

        if (manager_compare(&others.v[i], self) == 0)
            continue;
        s = field_set_difference(s, allowed, ap->a);
        list.manager = &others.v[i];
        field_set_each(&s, add_conflict, &list);
    }
    return (struct apply_conflicts){list.v, list.n};
}

/* Fields that kubectl's client-side apply set last, and that have not changed since. */
static struct field_set last_applied_fields(const struct apply *ap, const struct json_value *live)
{
    struct field_set none = {0}, s;
    struct json_value last;
    struct typed_comparison c;
    struct err err;
    struct str text = json_get_text(json_at(live, "metadata.annotations"), STR(LAST_APPLIED));

    if (str_empty(text) || json_parse(text, 0, ap->a, &last, &err) < 0 ||
        !str_eq(json_get_text(&last, STR("apiVersion")), ap->req->resource->api_version))
        return none;
    s = typed_fields(&ap->t, ap->root, &last);
    c = typed_compare(&ap->t, ap->root, &last, live);
    s = field_set_difference(s, c.modified, ap->a);
    s = field_set_difference(s, c.added, ap->a);
    return field_set_difference(s, c.removed, ap->a);
}

/* --- applies ---------------------------------------------------------------------------------- */

/*
 * Removes what this manager applied last time and does not apply any more, unless another manager
 * owns it, too.
 */
static struct json_value prune(const struct apply *ap, const struct json_value *merged,
                               const struct managers *ms, struct field_set last)
{
    const struct typed *t = &ap->t;
    struct field_set all = {0}, merged_set, pruned_set;
    struct json_value pruned;

    if (field_set_empty(&last))
        return *merged;
    last = typed_named(t, ap->root, last);
    pruned = typed_remove(t, ap->root, merged, &last);
    for (size_t i = 0; i < ms->n; i++)
        all = field_set_union(all, ms->v[i].set, ap->a);
    merged_set = typed_named(t, ap->root, typed_fields(t, ap->root, merged));
    pruned_set = typed_named(t, ap->root, typed_fields(t, ap->root, &pruned));
    pruned_set = field_set_union(pruned_set, typed_named(t, ap->root, all), ap->a);
    all = field_set_difference(merged_set, pruned_set, ap->a);
    pruned = typed_remove(t, ap->root, merged, &all);
    /* Only what the manager owned is removed. */
    pruned_set = typed_named(t, ap->root, typed_fields(t, ap->root, &pruned));
    all = field_set_intersection(field_set_difference(merged_set, pruned_set, ap->a), last, ap->a);
    return typed_remove(t, ap->root, merged, &all);
}

/* The entry of the manager with its new set; *ret_last is the one before. */
static struct manager *set_own(const struct apply *ap, struct managers *ms, struct field_set set,
                               struct field_set *ret_last)
{
    struct manager own = own_manager(ap, ap->req->manager, true);
    struct manager *there = managers_find(ms, &own);

    *ret_last = (struct field_set){0};
    if (there) {
        *ret_last = there->set;
        own.time = there->time;
    } else {
        there = &ms->v[ms->n++];
    }
    own.set = set;
    *there = own;
    return there;
}

/* 0, or -EEXIST with conflicts. */
static int apply_once(const struct apply *ap, const struct json_value *live,
                      const struct json_value *applied, struct managers *ms,
                      struct json_value *ret_value, struct apply_conflicts *ret_conflicts)
{
    struct field_set set, last;
    struct json_value merged, out;
    struct typed_comparison c;
    struct manager *own;

    reconcile(ap, ms);
    if (!typed_merge(&ap->t, ap->root, live, applied, &merged))
        merged = json_object();
    set = typed_fields(&ap->t, ap->root, applied);
    set = field_set_exclude(set, ap->ignored, ap->a);
    own = set_own(ap, ms, set, &last);
    out = prune(ap, &merged, ms, last);
    c = compare(ap, live, &out);
    if (!ap->req->force) {
        bool kubectl = str_is(ap->req->manager, "kubectl");
        struct field_set allowed = {0};
        struct apply_conflicts conflicts = find_conflicts(ap, ms, own, &c, allowed);

        if (conflicts.n > 0 && kubectl) {
            allowed = last_applied_fields(ap, live);
            conflicts = find_conflicts(ap, ms, own, &c, allowed);
        }
        if (conflicts.n > 0) {
            *ret_conflicts = conflicts;
            return -EEXIST;
        }
    }
    take_from_others(ap, ms, own, &c);
    own->set = field_set_difference(own->set, literal_set(STRIPPED, ap->a), ap->a);
    if (!json_value_equal(live, &out))
        own->time = ap->req->time;
    managers_drop_empty(ms);
    *ret_value = out;
    return 0;
}

/* kubectl: the annotation of client-side apply stays current if there is one. */
static void renew_last_applied(const struct apply *ap, struct json_value *object,
                               const struct json_value *applied)
{
    struct json_value config = json_copy(applied, ap->a), *annotations;
    struct buf text = BUF_INIT;
    size_t total;

    annotations = json_member(json_set_object(object, STR("metadata"), ap->a), STR("annotations"));
    if (!annotations || str_empty(json_get_text(annotations, STR(LAST_APPLIED))))
        return;
    if (json_at(&config, "metadata.annotations"))
        json_remove(json_member(json_member(&config, STR("metadata")), STR("annotations")),
                    STR(LAST_APPLIED));
    json_write(&config, &text);
    buf_add_char(&text, '\n');
    total = text.n + strlen(LAST_APPLIED);
    for (size_t i = 0; i < annotations->n_members; i++)
        if (!str_is(annotations->members[i].key, LAST_APPLIED))
            total += annotations->members[i].key.n + annotations->members[i].value.text.n;
    if (total > MAX_ANNOTATIONS)
        json_remove(annotations, STR(LAST_APPLIED));
    else
        json_set(annotations, STR(LAST_APPLIED), json_text(arena_dup(ap->a, buf_str(&text))),
                 ap->a);
    buf_release(&text);
}

/* Upstream's errors name the object: "default/x; apps/v1, Kind=Deployment". */
static int check_applied(const struct apply *ap, const struct json_value *applied,
                         struct err *reterr)
{
    const struct resource *r = ap->req->resource;
    const struct json_value *fields = json_at(applied, "metadata.managedFields");
    struct buf problems = BUF_INIT;
    size_t n;
    int code = 0;

    if (fields && fields->kind != JSON_NULL)
        return err_set(reterr, -EINVAL, "metadata.managedFields must be nil");
    n = typed_check(&ap->t, ap->root, applied, false, &problems);
    if (n > 0)
        code = err_set(reterr, -EBADMSG,
                       "failed to create typed patch object (%.*s/%.*s; %.*s/%.*s, Kind=%.*s): "
                       "%s%.*s",
                       STR_ARG(json_text_at(applied, "metadata.namespace")),
                       STR_ARG(json_text_at(applied, "metadata.name")), STR_ARG(r->group),
                       STR_ARG(r->version), STR_ARG(r->kind), n > 1 ? "errors:\n  " : "",
                       STR_ARG(buf_str(&problems)));
    buf_release(&problems);
    return code;
}

int apply_patch(const struct apply_request *request, const struct json_value *applied,
                struct arena *a, struct json_value *ret_value,
                struct apply_conflicts *ret_conflicts, struct err *reterr)
{
    struct apply ap = apply_begin(request, a);
    struct managers ms = {.v = arena_array(a, struct manager, 2)};
    struct json_value live, empty, out;
    int r = check_applied(&ap, applied, reterr);

    if (r < 0)
        return r;
    if (request->live && managers_read(request->live, a, &ms, reterr) < 0)
        return err_prefix(reterr, -EBADMSG, "failed to decode managed fields");
    live = bare_object(&ap, request->live);
    /* Each step may add one. */
    ms = managers_copy(&ms, a);
    if (ms.n == 0) {
        empty = empty_object(&ap);
        update_managers(&ap, &empty, &live, STR("before-first-apply"), &ms);
        ms = managers_copy(&ms, a);
    }
    r = apply_once(&ap, &live, applied, &ms, &out, ret_conflicts);
    if (r < 0)
        return r;
    out = json_copy(&out, a);
    if (str_is(request->manager, "kubectl"))
        renew_last_applied(&ap, &out, applied);
    managers_write(&ms, &out, a);
    *ret_value = out;
    return 0;
}
