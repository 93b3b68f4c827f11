/* SPDX-License-Identifier: Apache-2.0 */
/* Who controls whom: members by the uid of their controller, orphans by namespace. */
#include "apiserver/workloads/workloads_internal.h"

/* --- families and namespaces ------------------------------------------------------------------ */

static struct family *need_family(struct workloads *w, struct str uid)
{
    struct family *f = map_get(&w->families, uid);
    if (f)
        return f;
    f = xcalloc(1, sizeof(*f) + uid.n + 1);
    memcpy(f->text, uid.p, uid.n);
    f->uid = (struct str){f->text, uid.n};
    map_put(&w->families, f->uid, f);
    return f;
}

static void drop_family(struct workloads *w, struct family *f)
{
    if (f->workload)
        return;
    for (size_t i = 0; i < N_MEMBER_TYPES; i++)
        if (f->members[i].list.n)
            return;
    map_del(&w->families, f->uid);
    for (size_t i = 0; i < N_MEMBER_TYPES; i++)
        vec_release(&f->members[i].list);
    free(f);
}

static struct space *need_space(struct workloads *w, struct str name)
{
    struct space *s = map_get(&w->spaces, name);
    if (s)
        return s;
    s = xcalloc(1, sizeof(*s) + name.n + 1);
    memcpy(s->text, name.p, name.n);
    s->name = (struct str){s->text, name.n};
    map_put(&w->spaces, s->name, s);
    return s;
}

static void drop_space(struct workloads *w, struct space *s)
{
    if (s->workloads.n)
        return;
    for (size_t i = 0; i < N_MEMBER_TYPES; i++)
        if (s->orphans[i].list.n)
            return;
    map_del(&w->spaces, s->name);
    for (size_t i = 0; i < N_MEMBER_TYPES; i++)
        vec_release(&s->orphans[i].list);
    vec_release(&s->workloads);
    free(s);
}

/* --- lists ------------------------------------------------------------------------------------ */

static void leave(struct workloads *w, struct member *m)
{
    struct members *home = m->home;
    if (!home)
        return;
    vec_swap_remove(&home->list, m->at);
    if (m->at < home->list.n)
        home->list.v[m->at]->at = m->at;
    m->home = NULL;
    if (m->family) {
        drop_family(w, TAKE(m->family));
        return;
    }
    struct space *s = map_get(&w->spaces, m->rev->namespace);
    if (s)
        drop_space(w, s);
}

static void enter(struct member *m, struct members *home)
{
    m->home = home;
    m->at = home->list.n;
    vec_push(&home->list, m);
}

/* --- selectors -------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    return str_cmp(((const struct str_entry *)a)->key, ((const struct str_entry *)b)->key);
}

str_map workload_sorted_labels(struct workloads *w, const struct revision *rev)
{
    str_map labels = {arena_array(&w->scratch, struct str_entry, rev->n_labels), rev->n_labels};
    for (size_t i = 0; i < rev->n_labels; i++)
        labels.v[i] = (struct str_entry){rev->labels[i].key, rev->labels[i].value};
    if (labels.n)
        qsort(labels.v, labels.n, sizeof(*labels.v), by_key);
    return labels;
}

bool workload_labels_match(struct workloads *w, const struct selector *s,
                           const struct revision *rev)
{
    str_map labels = workload_sorted_labels(w, rev);
    return selector_matches(s, &labels);
}

/* A ReplicationController selects by a set of labels, the others by a LabelSelector. */
static void read_selector(struct workload *o, const struct json_value *object)
{
    const struct json_value *v = json_at(object, "spec.selector");
    struct label_selector ls = {0};
    o->selects = false;
    arena_reset(&o->selector_arena);
    if (!type_of(o)->adopts || !v)
        return;
    struct json_value copy = json_copy(v, &o->selector_arena);
    if (o->kind == WORKLOAD_REPLICATION_CONTROLLER) {
        struct json_value whole = json_object();
        json_set(&whole, STR("matchLabels"), copy, &o->selector_arena);
        copy = whole;
    }
    if (json_value_decode(&copy, &label_selector_type, 0, &o->selector_arena, &ls, NULL) < 0 ||
        selector_compile(&ls, &o->selector_arena, &o->selector, NULL) < 0)
        return;
    o->selects = o->selector.requirements.n > 0;
}

static void match_again(struct workloads *w, struct workload *o)
{
    struct members *list = &o->family->members[type_of(o)->selects];
    for (size_t i = 0; i < list->list.n; i++)
        list->list.v[i]->matches =
            o->selects && workload_labels_match(w, &o->selector, list->list.v[i]->rev);
    o->adopts = true;
}

bool workload_may_adopt(const struct workload *o, const struct member *m)
{
    if (!o->selects || type_of(o)->selects != m->type)
        return false;
    /* Of workloads only ReplicaSets are adopted. */
    return m->type != MEMBER_WORKLOAD ||
           CONTAINER_OF(m, const struct workload, member)->kind == WORKLOAD_REPLICA_SET;
}

/* An orphan appeared or changed: those that select it look at it. */
static void offer(struct workloads *w, struct member *m)
{
    struct space *s = map_get(&w->spaces, m->rev->namespace);
    if (!s || m->deleting)
        return;
    str_map labels = workload_sorted_labels(w, m->rev);
    for (size_t i = 0; i < s->workloads.n; i++) {
        struct workload *o = s->workloads.v[i];
        if (!workload_may_adopt(o, m) || !selector_matches(&o->selector, &labels))
            continue;
        o->adopts = true;
        work_add(&w->queue, &o->work);
    }
}

/* --- members ---------------------------------------------------------------------------------- */

static struct str controller_uid(const struct json_value *object)
{
    struct json_items refs = json_items_at(object, "metadata.ownerReferences");
    for (size_t i = 0; i < refs.n; i++)
        if (json_bool_at(&refs.v[i], "controller", false))
            return json_get_text(&refs.v[i], STR("uid"));
    return STR("");
}

static void replace_text(struct str *text, struct str with)
{
    if (str_eq(*text, with))
        return;
    free((char *)(uintptr_t)text->p);
    *text = (struct str){str_dup(with), with.n};
}

/* Its controller looks again. */
static void tell(struct workloads *w, struct member *m)
{
    if (m->family && m->family->workload)
        work_add(&w->queue, &m->family->workload->work);
}

static void seen_new(struct workloads *w, struct workload *o, const struct member *m)
{
    /* Names of the pods of a StatefulSet are known before. */
    if (o->work.n_adds && m->type == MEMBER_POD && o->kind != WORKLOAD_STATEFUL_SET)
        workload_event(w, o, false, "SuccessfulCreate", "Created pod: %.*s", STR_ARG(m->rev->name));
    if (o->work.n_adds && o->kind == WORKLOAD_DEPLOYMENT) {
        int64_t size = json_int_at(workload_tree(w, m), "spec.replicas", 0);
        if (size > 0)
            workload_event(w, o, false, "ScalingReplicaSet",
                           "Scaled up replica set %.*s from 0 to %lld", STR_ARG(m->rev->name),
                           (long long)size);
    }
    work_seen_add(&w->queue, &o->work);
}

/* Puts it where it belongs and tells its controllers, the old and the new one. */
static void place(struct workloads *w, struct member *m, struct str owner, bool added)
{
    bool moves = !m->home || !str_eq(m->family ? m->family->uid : STR(""), owner);
    if (moves) {
        tell(w, m);
        leave(w, m);
        if (!str_empty(owner)) {
            m->family = need_family(w, owner);
            enter(m, &m->family->members[m->type]);
        } else {
            enter(m, &need_space(w, m->rev->namespace)->orphans[m->type]);
        }
    }
    struct workload *o = m->family ? m->family->workload : NULL;
    m->matches = o && o->selects && type_of(o)->selects == m->type &&
                 workload_labels_match(w, &o->selector, m->rev);
    if (!m->family)
        offer(w, m);
    else if (o && added)
        seen_new(w, o, m);
    else
        tell(w, m);
}

static void read_meta(struct member *m, struct revision *rev, const struct json_value *object)
{
    revision_unref(m->rev);
    m->rev = revision_ref(rev);
    m->deleting = !str_empty(json_text_at(object, "metadata.deletionTimestamp"));
    m->created = workload_read_time(object, "metadata.creationTimestamp");
    m->generation = json_int_at(object, "metadata.generation", 0);
}

static void workload_changed(struct workloads *w, struct workload *o,
                             const struct json_value *object, bool added)
{
    struct str uid = json_text_at(object, "metadata.uid");
    int64_t generation = json_int_at(object, "metadata.generation", 0);
    if (added) {
        o->space = need_space(w, o->member.rev->namespace);
        o->space_at = o->space->workloads.n;
        vec_push(&o->space->workloads, o);
        o->family = need_family(w, uid);
        o->family->workload = o;
        if (o->kind == WORKLOAD_DAEMON_SET)
            vec_push(&w->daemon_sets, o);
    }
    if (added || generation != o->member.generation || !generation) {
        read_selector(o, object);
        match_again(w, o);
        if (o->kind == WORKLOAD_REPLICA_SET)
            o->template_hash = workload_template_hash(w, json_at(object, "spec.template"));
    }
    o->member.generation = generation;
    work_add(&w->queue, &o->work);
}

static void member_gone(struct workloads *w, struct member *m)
{
    struct workload *owner = m->family ? m->family->workload : NULL;
    /* A pod that was seen to be deleted has been counted. */
    if (owner && !m->deleting)
        work_seen_delete(&w->queue, &owner->work);
    tell(w, m);
    leave(w, m);
    map_del(&w->items, m->key);
    free((char *)(uintptr_t)m->key.p);
    free((char *)(uintptr_t)m->uid.p);
    revision_unref(TAKE(m->rev));
}

static void workload_gone(struct workloads *w, struct workload *o)
{
    vec_swap_remove(&o->space->workloads, o->space_at);
    if (o->space_at < o->space->workloads.n)
        o->space->workloads.v[o->space_at]->space_at = o->space_at;
    drop_space(w, o->space);
    for (size_t i = 0; o->kind == WORKLOAD_DAEMON_SET && i < w->daemon_sets.n; i++)
        if (w->daemon_sets.v[i] == o)
            vec_swap_remove(&w->daemon_sets, i);
    o->family->workload = NULL;
    for (size_t i = 0; o->kind == WORKLOAD_JOB && i < n_pods(o); i++)
        if (pod_at(o, i)->tracked)
            workload_orphan_pod(w, pod_at(o, i));
    drop_family(w, o->family);
}

void workload_free(struct workload *o)
{
    if (type_of(o)->free)
        type_of(o)->free(o);
    for (size_t i = 0; i < o->messages.n; i++)
        free(o->messages.v[i]);
    vec_release(&o->messages);
    arena_release(&o->selector_arena);
    free(o);
}

static void free_member(struct workloads *w, struct member *m)
{
    struct workload *o = m->type == MEMBER_WORKLOAD ? workload_of(m) : NULL;
    /* The namespace and the family are needed by both; the last one frees them. */
    if (o)
        workload_gone(w, o);
    member_gone(w, m);
    if (o)
        work_drop(&w->queue, &o->work);
    else if (m->type == MEMBER_POD)
        free(pod_of(m));
    else
        free(m);
}

/* --- changes ---------------------------------------------------------------------------------- */

static bool kind_of(const struct workloads *w, const struct resource *r, enum member_type *ret_type,
                    enum workload_kind *kind)
{
    if (str_empty(r->group) && str_is(r->plural, "pods")) {
        *ret_type = MEMBER_POD;
        return true;
    }
    if (str_is(r->group, "apps") && str_is(r->plural, "controllerrevisions")) {
        *ret_type = MEMBER_REVISION;
        return true;
    }
    *ret_type = MEMBER_WORKLOAD;
    for (size_t i = 0; i < N_WORKLOAD_KINDS; i++)
        if (str_eq(r->group, w->types[i].group) && str_eq(r->plural, w->types[i].plural)) {
            *kind = (enum workload_kind)i;
            return true;
        }
    return false;
}

static struct member *new_member(struct workloads *w, enum member_type type,
                                 enum workload_kind kind, struct str key)
{
    struct member *m;
    if (type == MEMBER_POD) {
        m = &xnew(struct pod_item)->member;
    } else if (type == MEMBER_REVISION) {
        m = xnew(struct member);
    } else {
        struct workload *o = xnew(struct workload);
        o->kind = kind;
        o->type = &w->types[kind];
        work_init(&o->work);
        arena_init(&o->selector_arena, 0);
        m = &o->member;
    }
    m->type = type;
    m->key = (struct str){str_dup(key), key.n};
    map_put(&w->items, m->key, m);
    return m;
}

static struct str key_of(struct workloads *w, struct str plural, struct str namespace,
                         struct str name)
{
    return arena_printf(&w->scratch, "%.*s %.*s/%.*s", STR_ARG(plural), STR_ARG(namespace),
                        STR_ARG(name));
}

struct workload *workload_find(struct workloads *w, enum workload_kind kind, struct str namespace,
                               struct str name)
{
    struct member *m = map_get(&w->items, key_of(w, w->types[kind].plural, namespace, name));
    return m ? workload_of(m) : NULL;
}

static void update(struct workloads *w, struct member *m, const struct store_event *event,
                   const struct json_value *object, bool added)
{
    struct workload *old_owner = m->family ? m->family->workload : NULL;
    bool was_deleting = m->deleting;
    int64_t generation = m->generation;
    replace_text(&m->uid, json_text_at(object, "metadata.uid"));
    read_meta(m, event->after, object);
    if (m->type == MEMBER_POD)
        workload_pod_read(pod_of(m), object);
    if (m->deleting && !was_deleting && old_owner)
        work_seen_delete(&w->queue, &old_owner->work);
    bool expected = added && !m->deleting;
    place(w, m, controller_uid(object), expected);
    if (m->type == MEMBER_POD && pod_of(m)->tracked && !(m->family && m->family->workload))
        workload_orphan_pod(w, pod_of(m));
    if (m->type == MEMBER_WORKLOAD) {
        m->generation = generation;
        workload_changed(w, workload_of(m), object, added);
    }
}

void workload_members_changed(struct workloads *w, const struct store_event *event)
{
    struct revision *rev = event->after;
    enum member_type type;
    enum workload_kind kind = N_WORKLOAD_KINDS;
    struct json_value object;
    if (!kind_of(w, rev->resource, &type, &kind))
        return;
    arena_reset(&w->scratch);
    struct str key = key_of(w, rev->resource->plural, rev->namespace, rev->name);
    struct member *m = map_get(&w->items, key);
    bool deleted = event->change == STORE_DELETED;
    if (!deleted && json_parse(rev->text, 0, &w->scratch, &object, NULL) < 0)
        return; /* the registry stores JSON only */
    /* Another object of the same name: the deletion of the first was not seen. */
    if (m && (deleted || !str_eq(m->uid, json_text_at(&object, "metadata.uid")))) {
        free_member(w, m);
        m = NULL;
    }
    if (deleted)
        return;
    bool added = !m;
    if (added)
        m = new_member(w, type, kind, key);
    update(w, m, event, &object, added);
}

void workload_members_release(struct workloads *w)
{
    VEC(struct member *) all = {0};
    map_each (e, &w->items)
        vec_push(&all, e->value);
    for (size_t i = 0; i < all.n; i++)
        free_member(w, all.v[i]);
    vec_release(&all);
    map_release(&w->items);
    map_release(&w->families);
    map_release(&w->spaces);
}
