/* SPDX-License-Identifier: Apache-2.0 */
/* Pods of StatefulSets and their claims. */
#include "apiserver/workloads/stateful_set_internal.h"

static const struct resource claims = {.plural = STR_INIT("persistentvolumeclaims")};

int64_t stateful_ordinal(const struct workload *o, const struct pod_item *pod)
{
    struct str name = pod->member.rev->name, parent = o->member.rev->name;
    int64_t n;
    if (!str_starts(name, parent) || name.n < parent.n + 2 || name.p[parent.n] != '-' ||
        !str_to_i64(str_slice(name, parent.n + 1, name.n), &n) || n < 0)
        return -1;
    return n;
}

static struct str claim_name(struct set_look *s, const struct json_value *template, struct str pod)
{
    return arena_printf(&s->w->scratch, "%.*s-%.*s",
                        STR_ARG(json_text_at(template, "metadata.name")), STR_ARG(pod));
}

/* --- claims ----------------------------------------------------------------------------------- */

static bool deletes(const struct set_look *s, const char *when)
{
    const struct json_value *policy =
        json_get(s->spec, STR("persistentVolumeClaimRetentionPolicy"));
    return str_is(json_get_text(policy, str_of(when)), "Delete");
}

static struct json_value set_owner(struct set_look *s)
{
    struct json_value ref = workload_controller_ref(s->w, s->o);
    json_remove(&ref, STR("blockOwnerDeletion"));
    json_remove(&ref, STR("controller"));
    return ref;
}

static void create_claim(struct set_look *s, const struct json_value *template, struct str pod,
                         struct str name)
{
    struct workloads *w = s->w;
    struct arena *a = &w->scratch;
    struct json_value claim = json_copy(template, a);
    struct json_members match = json_members_at(s->spec, "selector.matchLabels");
    json_set_at(&claim, "metadata.name", json_text(name), a);
    json_set_at(&claim, "metadata.namespace", json_text(s->o->member.rev->namespace), a);
    json_remove(&claim, STR("status"));
    workload_put_text(w, &claim, "apiVersion", STR("v1"));
    workload_put_text(w, &claim, "kind", STR("PersistentVolumeClaim"));
    struct json_value *meta = json_member(&claim, STR("metadata"));
    for (size_t i = 0; i < match.n; i++)
        json_set(json_set_object(meta, STR("labels"), a), match.v[i].key, match.v[i].value, a);
    if (deletes(s, "whenDeleted"))
        json_append(json_set_array(meta, STR("ownerReferences"), a), set_owner(s), a);
    unsigned tag = workload_event_tag(s->o, "SuccessfulCreate",
                                      "create Claim %.*s Pod %.*s in StatefulSet %.*s success",
                                      STR_ARG(name), STR_ARG(pod), STR_ARG(s->o->member.rev->name));
    struct writer_request where = {.plural = claims.plural, .name = name};
    workload_create(w, s->o, WORK_NOTHING, tag, &where, &claim);
    s->n_writes++;
}

void stateful_create_claims(struct set_look *s, struct str pod_name)
{
    struct json_items templates = json_items_at(s->spec, "volumeClaimTemplates");
    for (size_t i = 0; i < templates.n; i++) {
        struct str name = claim_name(s, &templates.v[i], pod_name);
        if (!store_get(s->w->options.store, &claims, s->o->member.rev->namespace, name))
            create_claim(s, &templates.v[i], pod_name, name);
    }
}

static struct json_value pod_owner(struct set_look *s, const struct pod_item *pod)
{
    struct json_value ref = json_object();
    workload_put_text(s->w, &ref, "apiVersion", STR("v1"));
    workload_put_text(s->w, &ref, "kind", STR("Pod"));
    workload_put_text(s->w, &ref, "name", pod->member.rev->name);
    workload_put_text(s->w, &ref, "uid", pod->member.uid);
    return ref;
}

/* The owners that the claim should have: others stay. */
static void sync_owners(struct set_look *s, const struct revision *rev, const struct pod_item *pod,
                        bool condemned)
{
    struct arena *a = &s->w->scratch;
    struct json_value tree, refs = json_array(), patch = json_object();
    if (json_parse(rev->text, 0, a, &tree, NULL) < 0)
        return;
    bool scaled = deletes(s, "whenScaled") && condemned;
    bool wants_set = deletes(s, "whenDeleted") && !scaled, has_set = false, has_pod = false;
    struct json_items old = json_items_at(&tree, "metadata.ownerReferences");
    for (size_t i = 0; i < old.n; i++) {
        struct str uid = json_get_text(&old.v[i], STR("uid"));
        if (str_eq(uid, s->o->member.uid))
            has_set = true;
        else if (str_eq(uid, pod->member.uid))
            has_pod = true;
        else
            json_append(&refs, old.v[i], a);
    }
    if (has_set == wants_set && has_pod == scaled)
        return;
    if (wants_set)
        json_append(&refs, set_owner(s), a);
    if (scaled)
        json_append(&refs, pod_owner(s, pod), a);
    json_set_at(&patch, "metadata.ownerReferences", refs.n ? refs : json_null(), a);
    struct member claim = {.rev = (struct revision *)(uintptr_t)rev};
    workload_patch(s->w, s->o, &claim, TAG_OTHER, patch);
    s->n_writes++;
}

void stateful_sync_claims(struct set_look *s, const struct pod_item *pod, int64_t ordinal)
{
    struct json_items templates = json_items_at(s->spec, "volumeClaimTemplates");
    bool any = deletes(s, "whenDeleted") || deletes(s, "whenScaled");
    bool condemned = ordinal < s->start || ordinal >= s->start + s->replicas;
    for (size_t i = 0; i < templates.n; i++) {
        struct str name = claim_name(s, &templates.v[i], pod->member.rev->name);
        const struct revision *rev =
            store_get(s->w->options.store, &claims, s->o->member.rev->namespace, name);
        if (rev && (any || str_search(rev->text, STR("\"ownerReferences\"")) < rev->text.n))
            sync_owners(s, rev, pod, condemned);
    }
}

/* --- pods ------------------------------------------------------------------------------------- */

/* The claims take the place of volumes of the same name. */
static void add_volumes(struct set_look *s, struct json_value *spec, struct str pod_name)
{
    struct arena *a = &s->w->scratch;
    struct json_items templates = json_items_at(s->spec, "volumeClaimTemplates");
    struct json_value list = json_array();
    if (!templates.n)
        return;
    struct json_items old = json_items_at(spec, "volumes");
    list.items = arena_array(a, struct json_value, templates.n + old.n);
    for (size_t i = 0; i < templates.n; i++) {
        struct json_value v = json_object();
        json_set(&v, STR("name"), json_text(json_text_at(&templates.v[i], "metadata.name")), a);
        json_set_at(&v, "persistentVolumeClaim.claimName",
                    json_text(claim_name(s, &templates.v[i], pod_name)), a);
        list.items[list.n++] = v;
    }
    struct map names = MAP_INIT;
    for (size_t i = 0; i < templates.n; i++)
        map_put(&names, json_get_text(&list.items[i], STR("name")), spec);
    for (size_t i = 0; i < old.n; i++)
        if (!map_get(&names, json_get_text(&old.v[i], STR("name"))))
            list.items[list.n++] = old.v[i];
    map_release(&names);
    json_set(spec, STR("volumes"), list, a);
}

void stateful_create_pod(struct set_look *s, int64_t ordinal, const struct revision_view *rev)
{
    struct workloads *w = s->w;
    struct arena *a = &w->scratch;
    struct str set = s->o->member.rev->name;
    struct str name = arena_printf(a, "%.*s-%lld", STR_ARG(set), (long long)ordinal);
    const struct json_value *template = rev->template;
    struct json_value pod = workload_pod(w, s->o, template);
    struct json_value *meta = json_member(&pod, STR("metadata"));
    json_remove(meta, STR("generateName"));
    json_set(meta, STR("name"), json_text(name), a);
    struct json_value *labels = json_set_object(meta, STR("labels"), a);
    json_set(labels, STR("statefulset.kubernetes.io/pod-name"), json_text(name), a);
    json_set(labels, STR("apps.kubernetes.io/pod-index"),
             json_text(arena_printf(a, "%lld", (long long)ordinal)), a);
    json_set(labels, STR(REVISION_LABEL), json_text(rev->member->rev->name), a);
    struct json_value *spec = json_member(&pod, STR("spec"));
    json_set(spec, STR("hostname"), json_text(name), a);
    struct str service = json_get_text(s->spec, STR("serviceName"));
    if (!str_empty(service))
        json_set(spec, STR("subdomain"), json_text(service), a);
    add_volumes(s, spec, name);
    stateful_create_claims(s, name);
    unsigned tag = workload_event_tag(s->o, "SuccessfulCreate",
                                      "create Pod %.*s in StatefulSet %.*s successful",
                                      STR_ARG(name), STR_ARG(set));
    struct writer_request where = {.plural = STR("pods"), .name = name};
    workload_create(w, s->o, WORK_ADDS, tag, &where, &pod);
    s->n_writes++;
}
