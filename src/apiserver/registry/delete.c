/* SPDX-License-Identifier: Apache-2.0 */
/* Deletion: preconditions, grace, finalizers (upstream: Store.Delete, rest.BeforeDelete). */
#include "apiserver/registry/write_steps.h"

/* --- options ---------------------------------------------------------------------------------- */

static int refuse_options(struct op *op, const struct field_errors *errors)
{
    return status_invalid(op_status(op), STR("meta.k8s.io"), STR("DeleteOptions"), STR(""), errors);
}

static int validate_options(struct op *op, const struct deletion *o)
{
    static const char *const policies[] = {"Foreground", "Background", "Orphan", "nil", NULL};
    struct field_errors errors = {.arena = op->a};
    struct field_path path = field_child(NULL, "propagationPolicy");
    struct json_value value = json_text(o->propagation);
    bool known = str_empty(o->propagation);

    if (o->has_orphan && !str_empty(o->propagation))
        field_error(&errors, FIELD_INVALID, &path, &value,
                    "orphanDependents and deletionPropagation cannot be both set");
    for (size_t i = 0; i < 3; i++)
        known = known || str_is(o->propagation, policies[i]);
    if (!known)
        field_not_supported(&errors, &path, &value, policies);
    return errors.n > 0 ? refuse_options(op, &errors) : 0;
}

static bool read_text(const struct json_value *v, const char *path, struct str *ret_text)
{
    const struct json_value *at = json_at(v, path);

    if (!at || at->kind != JSON_STRING)
        return false;
    *ret_text = at->text;
    return true;
}

int delete_options_read(struct op *op, const struct json_value *body, struct deletion *ret_options)
{
    struct deletion o = {.dry_run = op->req->dry_run};
    const struct json_value *grace = json_get(body, STR("gracePeriodSeconds"));
    const struct json_value *orphan = json_get(body, STR("orphanDependents"));
    const struct json_value *dry = json_get(body, STR("dryRun"));

    if (body && body->kind != JSON_OBJECT)
        return status_bad_request(op_status(op), op->a,
                                  "decoded object cannot be converted to DeleteOptions");
    if (grace && grace->kind == JSON_NUMBER) {
        o.has_grace = true;
        o.grace = json_int_at(body, "gracePeriodSeconds", 0);
    }
    if (orphan && orphan->kind == JSON_BOOL) {
        o.has_orphan = true;
        o.orphan = orphan->boolean;
    }
    o.dry_run |= dry && dry->kind == JSON_ARRAY && dry->n > 0;
    o.has_uid = read_text(body, "preconditions.uid", &o.uid);
    o.has_version = read_text(body, "preconditions.resourceVersion", &o.version);
    read_text(body, "propagationPolicy", &o.propagation);
    *ret_options = o;
    return validate_options(op, ret_options);
}

static int check_uid_and_version(struct op *op, const struct json_value *object,
                                 const struct deletion *o)
{
    const struct json_value *meta = json_get(object, STR("metadata"));
    struct str uid = json_get_text(meta, STR("uid"));
    struct str version = json_get_text(meta, STR("resourceVersion"));
    struct resource by_kind = *op->r;
    struct str why = {0};

    /* Upstream names the kind here, not the resource. */
    by_kind.plural = op->r->kind;
    if (o->has_uid && !str_eq(o->uid, uid))
        why = arena_printf(op->a,
                           "the UID in the precondition (%.*s) does not match the UID in record "
                           "(%.*s). The object might have been deleted and then recreated",
                           STR_ARG(o->uid), STR_ARG(uid));
    else if (o->has_version && !str_eq(o->version, version))
        why = arena_printf(op->a,
                           "the ResourceVersion in the precondition (%.*s) does not match the "
                           "ResourceVersion in record (%.*s). The object might have been modified",
                           STR_ARG(o->version), STR_ARG(version));
    else
        return 0;
    return status_conflict(op_status(op), &by_kind, object_name(object), why, op->a);
}

/* --- finalizers of garbage collection --------------------------------------------------------- */

enum dependents { DEPENDENTS_DELETED, DEPENDENTS_ORPHANED, DEPENDENTS_UNKNOWN };

/* What happens to dependents if the request does not tell. */
static enum dependents default_policy(const struct resource *r)
{
    if (str_is(r->plural, "events"))
        return DEPENDENTS_UNKNOWN;
    if ((str_is(r->plural, "jobs") && str_is(r->group, "batch")) ||
        (str_is(r->plural, "replicationcontrollers") && str_empty(r->group)))
        return DEPENDENTS_ORPHANED;
    return DEPENDENTS_DELETED;
}

static void wanted_finalizers(const struct op *op, const struct json_value *list,
                              const struct deletion *o, bool *ret_orphan, bool *ret_foreground)
{
    enum dependents policy = default_policy(op->stored);

    *ret_orphan = *ret_foreground = false;
    if (policy == DEPENDENTS_UNKNOWN)
        return;
    if (o->has_orphan) {
        *ret_orphan = o->orphan;
    } else if (!str_empty(o->propagation)) {
        *ret_orphan = str_is(o->propagation, "Orphan");
        *ret_foreground = str_is(o->propagation, "Foreground");
    } else if (list_has_text(list, STR("orphan"))) {
        *ret_orphan = true;
    } else if (list_has_text(list, STR("foregroundDeletion"))) {
        *ret_foreground = true;
    } else {
        *ret_orphan = policy == DEPENDENTS_ORPHANED;
    }
}

/* Sets the finalizers that the garbage collector looks for. Returns whether any are left. */
static bool set_finalizers(struct op *op, struct json_value *object, const struct deletion *o)
{
    struct json_value *meta = meta_of(object, op->a);
    const struct json_value *old = json_get(meta, STR("finalizers"));
    struct json_value list = json_array();
    bool orphan, foreground;

    wanted_finalizers(op, old, o, &orphan, &foreground);
    for (size_t i = 0; old && old->kind == JSON_ARRAY && i < old->n; i++)
        if (old->items[i].kind == JSON_STRING && !str_is(old->items[i].text, "orphan") &&
            !str_is(old->items[i].text, "foregroundDeletion"))
            json_append(&list, old->items[i], op->a);
    if (orphan)
        json_append(&list, json_text(STR("orphan")), op->a);
    if (foreground)
        json_append(&list, json_text(STR("foregroundDeletion")), op->a);
    if (list.n > 0)
        json_set(meta, STR("finalizers"), list, op->a);
    else
        json_remove(meta, STR("finalizers"));
    return list.n > 0;
}

/* --- grace ------------------------------------------------------------------------------------ */

static void raise_generation(struct op *op, struct json_value *meta)
{
    int64_t generation = json_int_at(meta, "generation", 0);

    if (generation > 0)
        json_set(meta, STR("generation"), json_int(generation + 1, op->a), op->a);
}

static void set_deletion(struct op *op, struct json_value *meta, int64_t at, int64_t grace)
{
    json_set(meta, STR("deletionTimestamp"), json_text(time_text(at, op->a)), op->a);
    json_set(meta, STR("deletionGracePeriodSeconds"), json_int(grace, op->a), op->a);
}

enum grace { GRACE_NONE, GRACE_BEGINS, GRACE_CONTINUES };

/* A second deletion may shorten the grace period of the first. */
static enum grace shorten(struct op *op, struct json_value *meta, const struct deletion *o)
{
    int64_t left = json_int_at(meta, "deletionGracePeriodSeconds", 0);
    int64_t period = o->grace < 0 ? 1 : o->grace;
    struct timestamp t;
    int64_t at;

    if (left == 0)
        return GRACE_NONE;
    if (!o->has_grace || period >= left ||
        !timestamp_parse(json_get_text(meta, STR("deletionTimestamp")), &t))
        return GRACE_CONTINUES;
    at = timestamp_ns(t) - left * NSEC_PER_SEC + period * NSEC_PER_SEC;
    if (at < op->req->now) {
        at = op->req->now;
        period = period ? 1 : 0;
    }
    set_deletion(op, meta, at, period);
    return GRACE_BEGINS;
}

static bool is_pod(const struct resource *r)
{
    return str_is(r->plural, "pods") && str_empty(r->group);
}

static int64_t default_period(const struct op *op, const struct json_value *object)
{
    if (op->strategy && op->strategy->grace_period)
        return op->strategy->grace_period(object);
    return json_int_at(object, "spec.terminationGracePeriodSeconds", 0);
}

/* Only pods are deleted with grace. */
static enum grace begin_grace(struct op *op, struct json_value *object, const struct deletion *o,
                              int64_t *ret_period)
{
    struct json_value *meta = meta_of(object, op->a);
    int64_t period;

    *ret_period = 0;
    if (!is_pod(op->stored))
        return GRACE_NONE;
    if (json_get(meta, STR("deletionTimestamp"))) {
        enum grace g = shorten(op, meta, o);

        *ret_period = json_int_at(meta, "deletionGracePeriodSeconds", 0);
        return g;
    }
    period = o->has_grace ? o->grace : default_period(op, object);
    if (period < 0)
        period = 1;
    if (str_empty(json_text_at(object, "spec.nodeName")) ||
        str_is(json_text_at(object, "status.phase"), "Failed") ||
        str_is(json_text_at(object, "status.phase"), "Succeeded"))
        period = 0;
    period = MIN(period, (int64_t)1 << 31);
    set_deletion(op, meta, op->req->now + period * NSEC_PER_SEC, period);
    raise_generation(op, meta);
    *ret_period = period;
    return GRACE_BEGINS;
}

/* --- the deletion ----------------------------------------------------------------------------- */

/* Resources that answer with the object that was deleted; others with a Status. */
static bool returns_object(const struct resource *r)
{
    static const char *const plurals[] = {
        "namespaces",   "persistentvolumeclaims", "persistentvolumes", "pods",
        "podtemplates", "resourcequotas",         "serviceaccounts",   "services",
    };

    if (str_is(r->group, "storage.k8s.io"))
        return !str_is(r->plural, "csistoragecapacities");
    if (str_is(r->group, "resource.k8s.io"))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(plurals) && str_empty(r->group); i++)
        if (str_is(r->plural, plurals[i]))
            return true;
    return false;
}

static void answer_deleted(struct op *op, struct json_value *object)
{
    if (returns_object(op->stored))
        op_answer_tree(op, object, 200);
    else
        op_answer_success(op, object, 200);
}

/* Finalizers are pending: the object stays and is marked (upstream: markAsDeleting). */
static void mark_deleting(struct op *op, struct json_value *object)
{
    struct json_value *meta = meta_of(object, op->a);
    struct timestamp t;

    if (!json_get(meta, STR("deletionTimestamp")))
        raise_generation(op, meta);
    if (!timestamp_parse(json_get_text(meta, STR("deletionTimestamp")), &t) ||
        timestamp_ns(t) > op->req->now)
        json_set(meta, STR("deletionTimestamp"), json_text(time_text(op->req->now, op->a)), op->a);
    json_set(meta, STR("deletionGracePeriodSeconds"), json_int(0, op->a), op->a);
}

/* What a deletion has changed in an object that stays; the same again changes nothing. */
static void put_deleting(struct op *op, struct revision *rev, struct json_value *object)
{
    const struct json_value *old = op_parse(op, rev);

    if (json_value_equal(old, object))
        op_answer(op, rev, 200);
    else
        op_put(op, object, 200);
}

static bool is_namespace(const struct resource *r)
{
    return str_is(r->plural, "namespaces") && str_empty(r->group);
}

/* The namespace controller empties it first. Returns whether the deletion ends here. */
static bool terminate_namespace(struct op *op, struct revision *rev, struct json_value *object,
                                const struct deletion *o)
{
    struct json_value *meta = meta_of(object, op->a);
    const struct json_value *finalizers = json_at(object, "spec.finalizers");

    if (json_get(meta, STR("deletionTimestamp"))) {
        if (!finalizers || finalizers->kind != JSON_ARRAY || finalizers->n == 0)
            return false;
        op_answer(op, rev, 200);
        return true;
    }
    json_set(meta, STR("deletionTimestamp"), json_text(time_text(op->req->now, op->a)), op->a);
    json_set_at(object, "status.phase", json_text(STR("Terminating")), op->a);
    set_finalizers(op, object, o);
    op_put(op, object, 200);
    return true;
}

/* --- definitions of custom resources ---------------------------------------------------------- */

/* The objects that are there now; deleting them changes the store. */
static struct store_key *list_keys(struct op *op, const struct resource *r, size_t *ret_n)
{
    struct snapshot *s = store_snapshot(op->reg->store);
    struct store_key *keys = arena_array(op->a, struct store_key, snapshot_count(s, r));
    struct store_range range;
    struct revision *rev;
    size_t n = 0;

    store_range_init(&range, s, r, STR(""), NULL);
    while ((rev = store_range_next(&range)))
        keys[n++] =
            (struct store_key){arena_dup(op->a, rev->namespace), arena_dup(op->a, rev->name)};
    snapshot_unref(s);
    *ret_n = n;
    return keys;
}

/* Objects with finalizers remain: the definition waits for them. */
static void wait_for_objects(struct op *op, struct json_value *object)
{
    struct json_value *list = json_set_array(meta_of(object, op->a), STR("finalizers"), op->a);
    struct json_value condition = json_object();

    if (!list_has_text(list, STR(CUSTOM_CLEANUP)))
        json_append(list, json_text(STR(CUSTOM_CLEANUP)), op->a);
    if (object_condition(object, "Terminating"))
        return;
    json_set(&condition, STR("lastTransitionTime"), json_text(time_text(op->req->now, op->a)),
             op->a);
    json_set(&condition, STR("message"), json_text(STR("CustomResource deletion is in progress")),
             op->a);
    json_set(&condition, STR("reason"), json_text(STR("InstanceDeletionInProgress")), op->a);
    json_set(&condition, STR("status"), json_text(STR("True")), op->a);
    json_set(&condition, STR("type"), json_text(STR("Terminating")), op->a);
    list = json_set_array(json_set_object(object, STR("status"), op->a), STR("conditions"), op->a);
    json_append(list, condition, op->a);
}

/* Deletes the objects of a definition; it stays until the last one has gone. */
static int delete_objects_of(struct op *op, struct json_value *object)
{
    const struct resource *r = customs_stored(op->reg->customs, object_name(object));
    struct deletion none = {0};
    struct store_key *keys;
    size_t n;

    if (!r || op->req->dry_run)
        return 0;
    keys = list_keys(op, r, &n);
    for (size_t i = 0; i < n; i++) {
        struct api_response ignored = {0};
        struct op each = op_for(op, r);
        int code;

        each.res = &ignored;
        code = delete_object(&each, keys[i].namespace, keys[i].name, &none);
        buf_release(&each.warnings);
        registry_response_release(&ignored);
        if (code && code != 404) {
            *op_status(op) = ignored.status;
            return code;
        }
    }
    if (store_count(op->reg->store, r) > 0)
        wait_for_objects(op, object);
    return 0;
}

int delete_object(struct op *op, struct str namespace, struct str name, const struct deletion *o)
{
    struct revision *rev = op_find(op, namespace, name);
    struct steps steps = {.op = op, .namespace = namespace, .name = name};
    struct json_value *object;
    enum grace grace;
    int64_t period;
    int code;

    if (!rev)
        return status_not_found(op_status(op), op->r, name, op->a);
    object = op_parse(op, rev);
    steps.old = op_parse(op, rev);
    code = check_uid_and_version(op, object, o);
    if (!code)
        code = steps_mutate(&steps);
    if (!code)
        code = steps_validate(&steps);
    if (code)
        return code;
    if (is_namespace(op->stored) && terminate_namespace(op, rev, object, o))
        return 0;
    code = is_definition(op->stored) ? delete_objects_of(op, object) : 0;
    if (code)
        return code;
    grace = begin_grace(op, object, o, &period);
    if (grace == GRACE_CONTINUES) {
        answer_deleted(op, object);
    } else if (set_finalizers(op, object, o)) {
        if (grace == GRACE_NONE)
            mark_deleting(op, object);
        put_deleting(op, rev, object);
    } else if (grace == GRACE_BEGINS && period > 0) {
        op_put(op, object, 200);
    } else {
        answer_deleted(op, object);
        op_remove(op, object);
    }
    return 0;
}

int serve_delete(struct op *op)
{
    struct deletion options;
    struct api_request request = *op->req;
    struct op with = *op;
    int code = delete_options_read(op, op->req->body, &options);

    if (code)
        return code;
    request.dry_run = options.dry_run;
    with.req = &request;
    code = delete_object(&with, op->req->namespace, op->req->name, &options);
    op->warnings = with.warnings;
    if (!code && op->res->object && options.has_orphan && !options.orphan)
        op->res->code = 202;
    return code;
}

/* Deletes what a list with the same selectors finds, and answers with that list. */
int serve_delete_collection(struct op *op)
{
    struct deletion options;
    struct api_request request = *op->req;
    struct api_response ignored = {0};
    struct op each = *op;
    int code = delete_options_read(op, op->req->body, &options);

    if (!code)
        code = serve_list(op);
    if (code)
        return code;
    request.dry_run = options.dry_run;
    each.req = &request;
    each.res = &ignored;
    for (size_t i = 0; i < op->res->n_items && !code; i++) {
        struct revision *rev = op->res->items[i];

        code = delete_object(&each, rev->namespace, rev->name, &options);
        if (code == 404)
            code = 0;
        registry_response_release(&ignored);
    }
    op->warnings = each.warnings;
    if (code)
        *op_status(op) = ignored.status;
    return code;
}
