/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_counts.c - counts of pods by selection.
 *
 * Selections and classes are linked in both directions; each link knows its index in the other's
 * list, so that either side can be removed in O(1) per link. The counts of a selection are the sums
 * of its classes' counts by slot. Sums by domain are computed on use: the log of the last MAX_LOG
 * moves brings them up to date, otherwise they are recounted.
 */
#include "engine/index/pod_counts.h"

#define MAX_LOG      32  /* moves that domains apply one by one; a power of two */
#define KEEP_DOMAINS 4   /* topologies of a selection that survive a cycle without use */
#define FEW_DOMAINS  8   /* up to this many, a search is faster than a lookup */
#define KEEP_MOVES   512 /* moves before an unused selection is evicted */

struct pod_count_move {
    uint32_t slot;
    int32_t sign;
};

/* A selection's pods by the domains of one topology. */
struct pod_count_domains {
    uint64_t topology; /* its id */
    uint64_t changes;  /* of the topology */
    uint64_t seen;     /* moves of the selection that are applied */
    uint64_t cycle;    /* of the last use */
    uint32_t *counts;
    size_t n;
};

/* A selection that matches the class, which is at `link` in the selection's list. */
struct class_link {
    struct pod_count *count;
    size_t link;
};

/* Pods that no selection distinguishes. */
struct pod_class {
    uint64_t hash;
    struct pod_class *next; /* another of the same hash */
    struct object *object;  /* one of its pods, for namespace and labels */
    const struct object_meta *meta;
    struct pod_namespace *namespace;
    size_t place; /* in the namespace's list */
    struct slot_counts slots;
    VEC(struct class_link) counts; /* the selections that match it */
};

struct pod_class_ref {
    uint64_t sieve;
    struct pod_class *class;
};

struct pod_namespace {
    struct pod_count_ref_list counts; /* selections of this namespace alone */
    VEC(struct pod_class_ref) classes;
    struct str name; /* owned */
};

void pod_counts_init(struct pod_counts *c)
{
    *c = (struct pod_counts){.max_bytes = POD_COUNTS_MAX_BYTES};
}

/* --- namespaces ------------------------------------------------------------------------------- */

static struct pod_namespace *namespace_of(struct pod_counts *c, struct str name)
{
    struct pod_namespace *ns = map_get(&c->namespaces, name);
    if (!ns) {
        ns = xnew(struct pod_namespace);
        ns->name = (struct str){str_dup(name), name.n};
        map_put(&c->namespaces, ns->name, ns);
    }
    return ns;
}

static void free_namespace(struct pod_namespace *ns)
{
    vec_release(&ns->counts.list);
    vec_release(&ns->classes);
    free((char *)ns->name.p);
    free(ns);
}

static void drop_namespace_if_empty(struct pod_counts *c, struct pod_namespace *ns)
{
    if (ns->classes.n || ns->counts.list.n)
        return;
    map_del(&c->namespaces, ns->name);
    free_namespace(ns);
}

/* --- matching selections and classes ---------------------------------------------------------- */

static void count_bytes(struct pod_count *count)
{
    size_t bytes = sizeof(*count) + count->arena.total + slot_counts_bytes(&count->slots) +
                   count->links.n * (sizeof(struct pod_count_link) + sizeof(struct class_link)) +
                   (count->log ? MAX_LOG * sizeof(*count->log) : 0) + count->domain_bytes;
    count->owner->bytes += bytes - count->bytes;
    count->bytes = bytes;
}

static void link_if_taken(struct pod_count *count, struct pod_class *class)
{
    if (!pod_selection_takes(&count->selection, class->meta))
        return;
    vec_push(&class->counts, (struct class_link){count, count->links.n});
    vec_push(&count->links, (struct pod_count_link){class, class->counts.n - 1});
    slot_counts_merge(&count->slots, &class->slots);
}

/* Removes the selection from the class's list. */
static void unlist_count(struct pod_count_link link)
{
    struct pod_class *class = link.class;
    INVARIANT(link.place < class->counts.n);
    vec_swap_remove(&class->counts, link.place);
    if (link.place < class->counts.n) {
        const struct class_link *moved = &class->counts.v[link.place];
        moved->count->links.v[moved->link].place = link.place;
    }
}

/* Removes the class from the selection's list. */
static void unlist_class(struct class_link link)
{
    struct pod_count *count = link.count;
    INVARIANT(link.link < count->links.n && count->links.v[link.link].class);
    vec_swap_remove(&count->links, link.link);
    if (link.link < count->links.n) {
        const struct pod_count_link *moved = &count->links.v[link.link];
        moved->class->counts.v[moved->place].link = link.link;
    }
    count_bytes(count);
}

static void take_classes_of(struct pod_count *count, const struct pod_namespace *ns, uint64_t sieve)
{
    count->cost += ns->classes.n;
    for (size_t i = 0; i < ns->classes.n; i++)
        if (!(sieve & ~ns->classes.v[i].sieve))
            link_if_taken(count, ns->classes.v[i].class);
}

/* Links all classes that the selection matches. */
static void take_classes(struct pod_count *count)
{
    struct pod_counts *c = count->owner;
    uint64_t sieve = count->list->list.v[count->place].sieve;
    if (count->list != &c->everywhere) {
        take_classes_of(count, CONTAINER_OF(count->list, struct pod_namespace, counts), sieve);
        return;
    }
    map_each (e, &c->namespaces)
        take_classes_of(count, e->value, sieve);
}

/* --- classes ---------------------------------------------------------------------------------- */

static uint64_t class_hash(const struct object_meta *meta)
{
    uint64_t h = hash_u64(str_hash(meta->namespace) + meta->deletion_timestamp.set);
    for (size_t i = 0; i < meta->labels.n; i++) {
        h = hash_u64(h ^ str_hash(meta->labels.v[i].key));
        h = hash_u64(h ^ str_hash(meta->labels.v[i].value));
    }
    return h;
}

static bool same_class(const struct object_meta *a, const struct object_meta *b)
{
    if (a->deletion_timestamp.set != b->deletion_timestamp.set || a->labels.n != b->labels.n ||
        !str_eq(a->namespace, b->namespace))
        return false;
    for (size_t i = 0; i < a->labels.n; i++)
        if (!str_eq(a->labels.v[i].key, b->labels.v[i].key) ||
            !str_eq(a->labels.v[i].value, b->labels.v[i].value))
            return false;
    return true;
}

static void take_class(struct pod_class *class, uint64_t sieve,
                       const struct pod_count_ref_list *counts)
{
    for (size_t i = 0; i < counts->list.n; i++)
        if (!(counts->list.v[i].sieve & ~sieve))
            link_if_taken(counts->list.v[i].count, class);
}

static struct pod_class *new_class(struct pod_counts *c, const struct berth_pod *pod, uint64_t hash)
{
    struct pod_class *class = xnew(struct pod_class);
    class->hash = hash;
    class->object = object_ref(pod->object);
    class->meta = object_meta(class->object);
    class->namespace = namespace_of(c, class->meta->namespace);
    class->place = class->namespace->classes.n;
    uint64_t sieve = labels_sieve(&class->meta->labels);
    vec_push(&class->namespace->classes, (struct pod_class_ref){sieve, class});
    class->next = map_put(&c->classes, map_number_key(&class->hash), class);
    take_class(class, sieve, &class->namespace->counts);
    take_class(class, sieve, &c->everywhere);
    return class;
}

static void free_class(struct pod_class *class)
{
    slot_counts_release(&class->slots);
    vec_release(&class->counts);
    object_unref(class->object);
    free(class);
}

static void forget_class(struct pod_counts *c, struct pod_class *class)
{
    struct pod_namespace *ns = class->namespace;
    struct pod_class *first = map_del(&c->classes, map_number_key(&class->hash)), **at = &first;
    while (*at != class)
        at = &(*at)->next;
    *at = class->next;
    if (first)
        map_put(&c->classes, map_number_key(&first->hash), first);
    vec_swap_remove(&ns->classes, class->place);
    if (class->place < ns->classes.n)
        ns->classes.v[class->place].class->place = class->place;
    for (size_t i = 0; i < class->counts.n; i++)
        unlist_class(class->counts.v[i]);
    free_class(class);
    drop_namespace_if_empty(c, ns);
}

static struct pod_class *class_of(struct pod_counts *c, const struct berth_pod *pod)
{
    const struct object_meta *meta = &pod->pod->metadata;
    uint64_t hash = class_hash(meta);
    struct pod_class *class = map_get(&c->classes, map_number_key(&hash));
    while (class && !same_class(class->meta, meta))
        class = class->next;
    return class ? class : new_class(c, pod, hash);
}

/* Updating it since its last use has cost more than counting again would. */
static bool costs_too_much(const struct pod_count *count)
{
    return count->n_moves - count->asked_moves > KEEP_MOVES + count->cost;
}

static void move(struct pod_count *count, uint32_t slot, int sign)
{
    INVARIANT(sign > 0 || slot_counts_at(&count->slots, slot) > 0);
    slot_counts_add(&count->slots, slot, sign);
    if (count->log)
        count->log[count->n_moves % MAX_LOG] = (struct pod_count_move){slot, sign};
    count->n_moves++;
    if (UNLIKELY(costs_too_much(count)) && !count->is_unasked) {
        count->is_unasked = true;
        vec_push(&count->owner->unasked, count);
    }
    count_bytes(count);
}

void pod_counts_moved(struct pod_counts *c, const struct berth_pod *pod,
                      const struct berth_node *node, int sign)
{
    struct pod_class *class = class_of(c, pod);
    INVARIANT(sign > 0 || slot_counts_at(&class->slots, node->slot) > 0);
    slot_counts_add(&class->slots, node->slot, sign);
    for (size_t i = 0; i < class->counts.n; i++)
        move(class->counts.v[i].count, node->slot, sign);
    if (class->slots.n == 0)
        forget_class(c, class);
}

/* --- selections ------------------------------------------------------------------------------- */

static void unlist(struct pod_counts *c, struct pod_count *count)
{
    *(count->newer ? &count->newer->older : &c->newest) = count->older;
    *(count->older ? &count->older->newer : &c->oldest) = count->newer;
}

static void list_newest(struct pod_counts *c, struct pod_count *count)
{
    count->newer = NULL;
    count->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = count;
    c->newest = count;
}

static void free_count(struct pod_count *count)
{
    for (size_t i = 0; i < count->domains.n; i++)
        free(count->domains.v[i].counts);
    vec_release(&count->domains);
    map_release(&count->by_topology);
    vec_release(&count->links);
    slot_counts_release(&count->slots);
    arena_release(&count->arena);
    free(count->log);
    free(count);
}

static void evict(struct pod_counts *c, struct pod_count *count)
{
    for (size_t i = 0; i < count->links.n; i++)
        unlist_count(count->links.v[i]);
    struct pod_count_ref_list *list = count->list;
    vec_swap_remove(&list->list, count->place);
    if (count->place < list->list.n)
        list->list.v[count->place].count->place = count->place;
    map_del(&c->by_key, count->key);
    unlist(c, count);
    c->bytes -= count->bytes;
    free_count(count);
    if (list != &c->everywhere)
        drop_namespace_if_empty(c, CONTAINER_OF(list, struct pod_namespace, counts));
}

static void evict_unasked(struct pod_counts *c)
{
    for (size_t i = 0; i < c->unasked.n; i++) {
        struct pod_count *count = c->unasked.v[i];
        count->is_unasked = false;
        if (costs_too_much(count))
            evict(c, count);
    }
    vec_release(&c->unasked);
}

void pod_counts_trim(struct pod_counts *c)
{
    c->cycle++;
    if (c->unasked.n)
        evict_unasked(c);
    if (c->bytes <= c->max_bytes)
        return;
    /* More than necessary, so that the next cycles need not. */
    while (c->oldest && c->bytes > c->max_bytes / 8 * 7)
        evict(c, c->oldest);
}

void pod_counts_release(struct pod_counts *c)
{
    while (c->oldest) {
        struct pod_count *count = c->oldest;
        unlist(c, count);
        free_count(count);
    }
    map_each (e, &c->namespaces) {
        struct pod_namespace *ns = e->value;
        for (size_t i = 0; i < ns->classes.n; i++)
            free_class(ns->classes.v[i].class);
        free_namespace(ns);
    }
    map_release(&c->namespaces);
    map_release(&c->classes);
    map_release(&c->by_key);
    vec_release(&c->everywhere.list);
    vec_release(&c->unasked);
    buf_release(&c->key);
}

/* A term with exactly one namespace limits the whole selection to it. */
static struct pod_count_ref_list *list_for(struct pod_counts *c, const struct pod_selection *s)
{
    for (size_t i = 0; i < s->terms.n; i++)
        if (!s->terms.v[i].any_namespace && s->terms.v[i].namespaces.n == 1)
            return &namespace_of(c, s->terms.v[i].namespaces.v[0])->counts;
    return &c->everywhere;
}

static struct pod_count *new_count(struct pod_counts *c, const struct pod_selection *selection)
{
    struct pod_count *count = xnew(struct pod_count);
    arena_init(&count->arena, 0);
    count->owner = c;
    count->key = arena_dup(&count->arena, buf_str(&c->key));
    pod_selection_copy(selection, &count->arena, &count->selection);
    count->list = list_for(c, selection);
    count->place = count->list->list.n;
    vec_push(&count->list->list, (struct pod_count_ref){pod_selection_sieve(selection), count});
    map_put(&c->by_key, count->key, count);
    list_newest(c, count);
    take_classes(count);
    count_bytes(count);
    return count;
}

struct pod_count *pod_counts_get(struct pod_counts *c, const struct pod_selection *selection)
{
    buf_clear(&c->key);
    pod_selection_write(selection, &c->key);
    struct pod_count *count = map_get(&c->by_key, buf_str(&c->key));
    if (!count)
        return new_count(c, selection);
    unlist(c, count);
    list_newest(c, count);
    count->asked_moves = count->n_moves;
    return count;
}

/* --- by domain -------------------------------------------------------------------------------- */

static size_t domains_bytes(const struct pod_count_domains *d)
{
    return sizeof(*d) + d->n * sizeof(*d->counts) + 2 * sizeof(struct map_entry);
}

static void recount(const struct pod_count *count, const struct topology *t,
                    struct pod_count_domains *d)
{
    if (t->n_domains > d->n) {
        /* With spare room: new hosts arrive one at a time. */
        d->n = t->n_domains + t->n_domains / 8;
        d->counts = xreallocarray(d->counts, d->n, sizeof(*d->counts));
    }
    memset(d->counts, 0, d->n * sizeof(*d->counts));
    for (uint32_t i = 0; i < count->slots.n; i++)
        d->counts[topology_domain(t, count->slots.slots[i])] += count->slots.counts[i];
    d->counts[0] = 0;
    d->changes = t->changes;
}

static void catch_up(const struct pod_count *count, const struct topology *t,
                     struct pod_count_domains *d)
{
    INVARIANT(d->seen <= count->n_moves);
    if (d->changes != t->changes || d->n < t->n_domains || count->n_moves - d->seen > MAX_LOG) {
        recount(count, t, d);
    } else {
        for (; d->seen < count->n_moves; d->seen++) {
            const struct pod_count_move *m = &count->log[d->seen % MAX_LOG];
            uint32_t domain = topology_domain(t, m->slot);
            INVARIANT(m->sign > 0 || !domain || d->counts[domain] > 0);
            d->counts[domain] += (uint32_t)m->sign;
        }
        d->counts[0] = 0;
    }
    d->seen = count->n_moves;
}

/* The keys are in the vector: call again whenever it is reallocated. */
static void index_domains(struct pod_count *count)
{
    map_clear(&count->by_topology);
    for (size_t i = 0; count->domains.n > FEW_DOMAINS && i < count->domains.n; i++)
        map_put(&count->by_topology, map_number_key(&count->domains.v[i].topology),
                (void *)(uintptr_t)(i + 1));
}

/* Once a cycle: drops topologies that were not used in it, except a few. */
static void drop_old_domains(struct pod_count *count)
{
    if (count->dropped_cycle == count->owner->cycle)
        return;
    count->dropped_cycle = count->owner->cycle;
    for (size_t i = count->domains.n; i-- > 0 && count->domains.n >= KEEP_DOMAINS;)
        if (count->domains.v[i].cycle != count->owner->cycle) {
            count->domain_bytes -= domains_bytes(&count->domains.v[i]);
            free(count->domains.v[i].counts);
            vec_swap_remove(&count->domains, i);
        }
    index_domains(count);
}

static struct pod_count_domains *find_domains(struct pod_count *count, uint64_t topology)
{
    if (count->by_topology.n) {
        size_t place = (size_t)(uintptr_t)map_get(&count->by_topology, map_number_key(&topology));
        return place ? &count->domains.v[place - 1] : NULL;
    }
    for (size_t i = 0; i < count->domains.n; i++)
        if (count->domains.v[i].topology == topology)
            return &count->domains.v[i];
    return NULL;
}

static struct pod_count_domains *domains_of(struct pod_count *count, const struct topology *t)
{
    struct pod_count_domains *d = find_domains(count, t->id);
    if (d)
        return d;
    drop_old_domains(count);
    if (!count->log)
        count->log = xcalloc(MAX_LOG, sizeof(*count->log));
    bool moves = count->domains.n == count->domains.cap;
    vec_push(&count->domains, (struct pod_count_domains){.topology = t->id});
    d = &vec_last(&count->domains);
    if (moves || count->domains.n == FEW_DOMAINS + 1)
        index_domains(count);
    else if (count->by_topology.n)
        map_put(&count->by_topology, map_number_key(&d->topology),
                (void *)(uintptr_t)count->domains.n);
    recount(count, t, d);
    d->seen = count->n_moves;
    count->domain_bytes += domains_bytes(d);
    count_bytes(count);
    return d;
}

const uint32_t *pod_count_by_domain(struct pod_count *count, const struct topology *t)
{
    struct pod_count_domains *d = domains_of(count, t);
    size_t bytes = domains_bytes(d);
    d->cycle = count->owner->cycle;
    catch_up(count, t, d);
    if (domains_bytes(d) != bytes) {
        count->domain_bytes += domains_bytes(d) - bytes;
        count_bytes(count);
    }
    return d->counts;
}
