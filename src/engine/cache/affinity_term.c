/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cache/affinity_term.h"

#include "base/buf.h"

/* --- compilation ------------------------------------------------------------------------------ */

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Sorted, without duplicates. */
static void set_namespaces(struct pod_term *pods, const struct str *names, size_t n,
                           struct arena *a)
{
    struct str *v = arena_array(a, struct str, n);
    size_t kept = 0;
    if (n)
        memcpy(v, names, n * sizeof(*v));
    qsort(v, n, sizeof(*v), by_text);
    for (size_t i = 0; i < n; i++)
        if (!kept || !str_eq(v[kept - 1], v[i]))
            v[kept++] = v[i];
    pods->namespaces.v = v;
    pods->namespaces.n = kept;
}

static int compile_term(const struct pod *pod, const struct pod_affinity_term *from,
                        struct arena *a, struct affinity_term *term,
                        const struct label_selector **ret_bad)
{
    static const str_map no_labels = {0};
    *ret_bad = from->label_selector;
    int r = selector_compile(from->label_selector, a, &term->pods.selector, NULL);
    if (r == 0) {
        *ret_bad = from->namespace_selector;
        r = selector_compile(from->namespace_selector, a, &term->namespace_selector, NULL);
    }
    if (r < 0)
        return r;
    term->topology_key = from->topology_key;
    if (from->namespaces.n == 0 && !from->namespace_selector)
        set_namespaces(&term->pods, &pod->metadata.namespace, 1, a);
    else
        set_namespaces(&term->pods, from->namespaces.v, from->namespaces.n, a);
    term->pods.any_namespace = selector_matches(&term->namespace_selector, &no_labels);
    return 0;
}

/* The terms of one kind in the pod's spec: required or preferred (weighted). */
struct source {
    const struct pod_affinity_term *required;
    const struct weighted_pod_affinity_term *preferred;
    size_t n;
};

static struct source source_of(const struct affinity *from, enum affinity_kind kind)
{
    const struct pod_affinity *near = from->pod_affinity;
    const struct pod_anti_affinity *far = from->pod_anti_affinity;
    switch (kind) {
    case AFFINITY_REQUIRED:
        return near ? (struct source){near->required.v, NULL, near->required.n}
                    : (struct source){0};
    case AFFINITY_REQUIRED_ANTI:
        return far ? (struct source){far->required.v, NULL, far->required.n} : (struct source){0};
    case AFFINITY_PREFERRED:
        return near ? (struct source){NULL, near->preferred.v, near->preferred.n}
                    : (struct source){0};
    case AFFINITY_PREFERRED_ANTI:
        return far ? (struct source){NULL, far->preferred.v, far->preferred.n} : (struct source){0};
    default:
        return (struct source){0};
    }
}

/* The errors of all kinds, joined as upstream's aggregate error. */
struct errors {
    struct buf text;
    size_t n;
};

static void add_error(struct errors *e, enum affinity_kind kind, const struct label_selector *bad)
{
    static const char *const names[AFFINITY_KINDS] = {
        [AFFINITY_REQUIRED] = "requiredAffinityTerms",
        [AFFINITY_REQUIRED_ANTI] = "requiredAntiAffinityTerms",
        [AFFINITY_PREFERRED] = "preferredAffinityTerms",
        [AFFINITY_PREFERRED_ANTI] = "preferredAntiAffinityTerms",
    };
    buf_add_printf(&e->text, "%s%s: ", e->n++ ? ", " : "", names[kind]);
    selector_write_fault(bad, &e->text);
}

/* One invalid term makes all of its kind invalid (upstream: getAffinityTerms). */
static void compile_kind(struct affinity_set *set, const struct pod *pod, enum affinity_kind kind,
                         struct errors *errors)
{
    struct source from = source_of(pod->spec.affinity, kind);
    struct affinity_term *terms = arena_array(&set->arena, struct affinity_term, from.n);
    for (size_t i = 0; i < from.n; i++) {
        const struct label_selector *bad;
        const struct pod_affinity_term *term =
            from.required ? &from.required[i] : &from.preferred[i].pod_affinity_term;
        if (compile_term(pod, term, &set->arena, &terms[i], &bad) < 0) {
            add_error(errors, kind, bad);
            set->is_wrong[kind] = true;
            return;
        }
        terms[i].weight = from.preferred ? from.preferred[i].weight : 0;
    }
    set->of[kind].v = terms;
    set->of[kind].n = from.n;
}

struct affinity_set *affinity_set_new(const struct pod *pod)
{
    const struct affinity *from = pod->spec.affinity;
    struct errors errors = {0};
    if (!from || (!from->pod_affinity && !from->pod_anti_affinity))
        return NULL;
    struct affinity_set *set = xnew(struct affinity_set);
    arena_init(&set->arena, 0);
    for (int kind = 0; kind < AFFINITY_KINDS; kind++)
        compile_kind(set, pod, (enum affinity_kind)kind, &errors);
    if (errors.n == 1)
        set->error = arena_dup(&set->arena, buf_str(&errors.text));
    else if (errors.n)
        set->error = arena_printf(&set->arena, "[%.*s]", STR_ARG(buf_str(&errors.text)));
    buf_release(&errors.text);
    return set;
}

void affinity_set_free(struct affinity_set *set)
{
    if (!set)
        return;
    arena_release(&set->arena);
    free(set);
}

/* --- terms ------------------------------------------------------------------------------------ */

static bool names(const struct pod_term *pods, struct str namespace)
{
    return pods->namespaces.n &&
           bsearch(&namespace, pods->namespaces.v, pods->namespaces.n, sizeof(struct str), by_text);
}

bool affinity_term_matches(const struct affinity_term *term, const struct object_meta *pod,
                           const str_map *namespace_labels)
{
    return (names(&term->pods, pod->namespace) ||
            selector_matches(&term->namespace_selector, namespace_labels)) &&
           selector_matches(&term->pods.selector, &pod->labels);
}

/* A term's two selectors as one selection, for functions that take a selection. */
static struct pod_selection both(const struct affinity_term *term, struct pod_term room[2])
{
    room[0] = term->pods;
    room[1] = (struct pod_term){.selector = term->namespace_selector};
    return (struct pod_selection){.terms = {room, 2}};
}

void affinity_term_copy(const struct affinity_term *term, struct arena *a,
                        struct affinity_term *ret_copy)
{
    struct pod_term room[2];
    struct pod_selection from = both(term, room), copy;
    pod_selection_copy(&from, a, &copy);
    *ret_copy = (struct affinity_term){
        .topology_key = arena_dup(a, term->topology_key),
        .pods = copy.terms.v[0],
        .namespace_selector = copy.terms.v[1].selector,
        .weight = term->weight,
    };
}

void affinity_term_write(const struct affinity_term *term, struct buf *out)
{
    struct pod_term room[2];
    struct pod_selection from = both(term, room);
    buf_add(out, &term->weight, sizeof(term->weight));
    buf_add(out, &term->topology_key.n, sizeof(term->topology_key.n));
    buf_add_str(out, term->topology_key);
    pod_selection_write(&from, out);
}
