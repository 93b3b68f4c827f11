/* SPDX-License-Identifier: Apache-2.0 */
/* Pods of controllers, and the ReplicaSet of a Deployment. */
#include "api/apps.h"
#include "api/pod_admission.h"
#include "api/pod_controller_internal.h"

/* Names are truncated so that they fit a label with their generated suffix. */
#define NAME_BASE_MAX 58
#define SUFFIX_LENGTH 5

/* --- names ------------------------------------------------------------------------------------ */

static uint64_t hash_bytes(uint64_t hash, struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        hash = (hash ^ (unsigned char)text.p[i]) * 0x100000001b3u;
    return hash;
}

#define HASH_START 0xcbf29ce484222325u

/* Letters and digits that form no words (upstream: rand.SafeEncodeString). */
static struct str letters(uint64_t hash, size_t n, struct arena *a)
{
    static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
    char *p = arena_alloc(a, n + 1, 1);
    for (size_t i = 0; i < n; i++) {
        p[i] = alphabet[hash % (sizeof(alphabet) - 1)];
        hash /= sizeof(alphabet) - 1;
    }
    return (struct str){p, n};
}

/* The suffix of a pod's name, which upstream chooses at random. */
static struct str suffix(const struct pod_controller *w, const struct controlled_pod *pod,
                         struct arena *a)
{
    struct str key = arena_printf(a, "%.*s/%.*s/%lld/%.*s/%llu", STR_ARG(w->metadata.namespace),
                                  STR_ARG(w->metadata.name), (long long)pod->index,
                                  STR_ARG(pod->node_name), (unsigned long long)pod->salt);
    uint64_t hash = hash_bytes(HASH_START, key);
    return letters(hash ^ hash >> 29, SUFFIX_LENGTH, a);
}

/* Identifies a template. */
static struct str template_hash(const struct pod_controller *w, struct arena *a)
{
    struct pod pod = {.metadata.labels = w->spec.template.metadata.labels,
                      .metadata.annotations = w->spec.template.metadata.annotations,
                      .spec = w->spec.template.spec};
    struct buf bytes = BUF_INIT;
    object_encode(kind_get(KIND_POD), &pod, ENCODING_PROTO, &bytes);
    uint64_t hash = hash_bytes(HASH_START, buf_str(&bytes));
    buf_release(&bytes);
    return letters(hash ^ hash >> 29, 10, a);
}

/* --- pods ------------------------------------------------------------------------------------- */

struct making {
    enum pod_controller_kind kind;
    const struct pod_controller *w;
    const struct controlled_pod *which;
    struct pod pod; /* shallow, until it is copied */
    struct arena a;
};

static void add_label(struct making *m, const char *key, struct str value)
{
    struct str_entry entry = {str_of(key), value};
    str_map_add(&m->pod.metadata.labels, &entry, 1, &m->a);
}

static void set_owner(struct making *m)
{
    struct owner_reference *owner = arena_new(&m->a, struct owner_reference);
    *owner = (struct owner_reference){.api_version = pod_controller_kind_api_version(m->kind),
                                      .kind = pod_controller_kind_name(m->kind),
                                      .name = m->w->metadata.name,
                                      .uid = m->w->metadata.uid,
                                      .controller = true,
                                      .block_owner_deletion = true};
    m->pod.metadata.owner_references.v = owner;
    m->pod.metadata.owner_references.n = 1;
}

static void generate_name(struct making *m, struct str base)
{
    m->pod.metadata.generate_name = arena_printf(&m->a, "%.*s-", STR_ARG(base));
    struct str cut = str_slice(m->pod.metadata.generate_name, 0, NAME_BASE_MAX);
    m->pod.metadata.name =
        arena_printf(&m->a, "%.*s%.*s", STR_ARG(cut), STR_ARG(suffix(m->w, m->which, &m->a)));
}

/* Adds its own claims instead of volumes of the same name. */
static void add_claims(struct making *m)
{
    struct pod_spec *spec = &m->pod.spec;
    size_t n_claims = m->w->spec.volume_claim_templates.n, n = 0;
    if (!n_claims)
        return;
    struct volume *v = arena_array(&m->a, struct volume, spec->volumes.n + n_claims);
    for (size_t i = 0; i < n_claims; i++) {
        struct str name = m->w->spec.volume_claim_templates.v[i].metadata.name;
        struct persistent_volume_claim_volume_source *claim =
            arena_new(&m->a, struct persistent_volume_claim_volume_source);
        claim->claim_name =
            arena_printf(&m->a, "%.*s-%.*s", STR_ARG(name), STR_ARG(m->pod.metadata.name));
        v[n++] = (struct volume){.name = name, .source.persistent_volume_claim = claim};
    }
    for (size_t i = 0; i < spec->volumes.n; i++) {
        bool replaced = false;
        for (size_t k = 0; k < n_claims && !replaced; k++)
            replaced = str_eq(v[k].name, spec->volumes.v[i].name);
        if (!replaced)
            v[n++] = spec->volumes.v[i];
    }
    spec->volumes.v = v;
    spec->volumes.n = n;
}

static void make_ordinal(struct making *m)
{
    struct str index = arena_printf(&m->a, "%lld", (long long)m->which->index);
    m->pod.metadata.name =
        arena_printf(&m->a, "%.*s-%.*s", STR_ARG(m->w->metadata.name), STR_ARG(index));
    add_label(m, "statefulset.kubernetes.io/pod-name", m->pod.metadata.name);
    add_label(m, "apps.kubernetes.io/pod-index", index);
    add_claims(m);
}

/* Restricts the pod to this node; the scheduler still places it. */
static void pin(struct making *m)
{
    struct arena *a = &m->a;
    struct affinity *affinity = arena_new(a, struct affinity);
    struct node_affinity *node_affinity = arena_new(a, struct node_affinity);
    struct node_selector *selector = arena_new(a, struct node_selector);
    struct node_selector_term *term = arena_new(a, struct node_selector_term);
    struct node_selector_requirement *field = arena_new(a, struct node_selector_requirement);
    struct str *name = arena_new(a, struct str);
    if (m->pod.spec.affinity)
        *affinity = *m->pod.spec.affinity;
    if (affinity->node_affinity)
        *node_affinity = *affinity->node_affinity;
    *name = m->which->node_name;
    field->key = STR("metadata.name");
    field->operator= STR("In");
    field->values.v = name;
    field->values.n = 1;
    term->match_fields.v = field;
    term->match_fields.n = 1;
    selector->node_selector_terms.v = term;
    selector->node_selector_terms.n = 1;
    node_affinity->required = selector;
    affinity->node_affinity = node_affinity;
    m->pod.spec.affinity = affinity;
}

static void make_job_pod(struct making *m)
{
    struct str index = arena_printf(&m->a, "%lld", (long long)m->which->index);
    struct str job = m->w->metadata.name;
    bool indexed = str_is(m->w->spec.completion_mode, "Indexed");
    generate_name(m,
                  indexed ? arena_printf(&m->a, "%.*s-%.*s", STR_ARG(job), STR_ARG(index)) : job);
    add_label(m, "batch.kubernetes.io/job-name", job);
    add_label(m, "job-name", job);
    add_label(m, "batch.kubernetes.io/controller-uid", m->w->metadata.uid);
    add_label(m, "controller-uid", m->w->metadata.uid);
    if (!indexed)
        return;
    struct str_entry entry = {STR("batch.kubernetes.io/job-completion-index"), index};
    str_map_add(&m->pod.metadata.labels, &entry, 1, &m->a);
    str_map_add(&m->pod.metadata.annotations, &entry, 1, &m->a);
}

/* A deep copy. */
static struct object *copy(const struct kind *kind, const void *body)
{
    struct buf bytes = BUF_INIT;
    struct object *o;
    struct wire wire = {.kind = kind, .encoding = ENCODING_PROTO};
    object_encode(kind, body, wire.encoding, &bytes);
    int r = object_decode(&wire, buf_str(&bytes), &o, NULL);
    buf_release(&bytes);
    if (r < 0)
        o = object_new(kind->id); /* cannot fail: the bytes were encoded here */
    return o;
}

struct object *pod_controller_make_pod(enum pod_controller_kind kind,
                                       const struct pod_controller *w,
                                       const struct controlled_pod *which)
{
    struct making m = {.kind = kind, .w = w, .which = which};
    const struct object_meta *template = &w->spec.template.metadata;
    m.pod.metadata = (struct object_meta){.namespace = w->metadata.namespace,
                                          .labels = template->labels,
                                          .annotations = template->annotations,
                                          .finalizers = template->finalizers};
    m.pod.spec = w->spec.template.spec;
    arena_init(&m.a, 4096);
    set_owner(&m);
    switch (kind) {
    case POD_CONTROLLER_STATEFUL_SET:
        make_ordinal(&m);
        add_label(&m, "controller-revision-hash", template_hash(w, &m.a));
        break;
    case POD_CONTROLLER_DAEMON_SET:
        generate_name(&m, w->metadata.name);
        add_label(&m, "controller-revision-hash", template_hash(w, &m.a));
        pod_controller_add_daemon_tolerations(&m.pod.spec, &m.a);
        pin(&m);
        break;
    case POD_CONTROLLER_JOB:
        make_job_pod(&m);
        break;
    default:
        generate_name(&m, w->metadata.name);
        break;
    }
    struct object *o = copy(kind_get(KIND_POD), &m.pod);
    arena_release(&m.a);
    return o;
}

/* --- ReplicaSet of a Deployment --------------------------------------------------------------- */

#define LABEL_POD_TEMPLATE_HASH "pod-template-hash"

struct object *pod_controller_make_replica_set(const struct pod_controller *deployment,
                                               struct pod_controller *ret_view)
{
    struct arena a;
    struct replica_set set = {.spec.replicas = deployment->spec.replicas};
    struct label_selector selector = {0};
    arena_init(&a, 4096);
    struct str hash = template_hash(deployment, &a);
    struct str_entry entry = {STR(LABEL_POD_TEMPLATE_HASH), hash};
    set.metadata.namespace = deployment->metadata.namespace;
    set.metadata.name =
        arena_printf(&a, "%.*s-%.*s", STR_ARG(deployment->metadata.name), STR_ARG(hash));
    set.metadata.labels = deployment->spec.template.metadata.labels;
    str_map_add(&set.metadata.labels, &entry, 1, &a);
    if (deployment->spec.selector)
        selector = *deployment->spec.selector;
    str_map_add(&selector.match_labels, &entry, 1, &a);
    set.spec.selector = &selector;
    struct owner_reference owner = {.api_version = STR("apps/v1"),
                                    .kind = STR("Deployment"),
                                    .name = deployment->metadata.name,
                                    .uid = deployment->metadata.uid,
                                    .controller = true,
                                    .block_owner_deletion = true};
    set.metadata.owner_references.v = &owner;
    set.metadata.owner_references.n = 1;
    struct object *o = copy(kind_get(KIND_REPLICA_SET), &set);
    arena_release(&a);

    *ret_view = *deployment;
    ret_view->metadata = *object_meta(o);
    ret_view->spec.template.metadata.labels = object_meta(o)->labels;
    return o;
}
