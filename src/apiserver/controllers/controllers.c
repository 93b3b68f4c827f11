/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/controllers/controllers.h"

#include "apiserver/controllers/controllers_internal.h"
#include "base/time.h"

#define RETRY_FIRST  (20 * NSEC_PER_MSEC)
#define RETRY_LAST   (10 * NSEC_PER_SEC)
/* A write that changes nothing brings no new version: how long to wait for one. */
#define OUTDATED_MAX NSEC_PER_SEC
/* Then the object is left alone until it changes: nothing is tried forever. */
#define MAX_FAILURES 16

/* --- making and ending ------------------------------------------------------------------------ */

static struct item *of_timer(const struct heap_node *node)
{
    return CONTAINER_OF(node, struct item, timer);
}

static bool earlier(const struct heap_node *a, const struct heap_node *b, void *ctx)
{
    (void)ctx;
    return of_timer(a)->due < of_timer(b)->due;
}

struct controllers *controllers_new(const struct controllers_options *options)
{
    struct controllers *c = xnew(struct controllers);
    c->options = *options;
    heap_init(&c->timers, earlier, NULL);
    arena_init(&c->scratch, 1024);
    return c;
}

static void free_buckets(struct map *map)
{
    map_each (entry, map) {
        struct bucket *bucket = entry->value;
        vec_release(&bucket->items);
        free(bucket);
    }
    map_release(map);
}

/* Frees a deleted item that nothing refers to. */
static void drop_if_idle(struct item *item)
{
    if (!item->object && !item->queued && !item->n_writes && !heap_contains(&item->timer))
        free(item);
}

struct controllers *controllers_free(struct controllers *c)
{
    if (!c)
        return NULL;
    map_each (entry, &c->writes) {
        struct flight *flight = entry->value;
        if (flight->target && --flight->target->n_writes == 0)
            drop_if_idle(flight->target);
        if (flight->by && flight->by != flight->target && --flight->by->n_writes == 0)
            drop_if_idle(flight->by);
        free(flight);
    }
    for (size_t i = c->queue_at; i < c->queue.n; i++) {
        c->queue.v[i]->queued = false;
        drop_if_idle(c->queue.v[i]);
    }
    map_each (entry, &c->items) {
        struct item *item = entry->value;
        object_unref(item->object);
        free(item);
    }
    free_buckets(&c->volumes_of_class);
    free_buckets(&c->claims_of_class);
    free_buckets(&c->volumes_of_claim);
    free_buckets(&c->claims_of_volume);
    free_buckets(&c->users_of_claim);
    free_buckets(&c->pods_of_template);
    map_release(&c->items);
    map_release(&c->writes);
    heap_release(&c->timers);
    vec_release(&c->queue);
    vec_release(&c->classes);
    arena_release(&c->scratch);
    buf_release(&c->body);
    free(c);
    return NULL;
}

/* --- objects and buckets ---------------------------------------------------------------------- */

static struct str item_key(struct controllers *c, enum kind_id kind, struct str namespace,
                           struct str name)
{
    return arena_printf(&c->scratch, "%.*s %.*s/%.*s", STR_ARG(kind_get(kind)->kind),
                        STR_ARG(namespace), STR_ARG(name));
}

struct item *find_item(const struct controllers *c, enum kind_id kind, struct str namespace,
                       struct str name)
{
    return map_get(&c->items, item_key((struct controllers *)c, kind, namespace, name));
}

const struct object *find_object(const struct controllers *c, enum kind_id kind,
                                 struct str namespace, struct str name)
{
    const struct item *item = find_item(c, kind, namespace, name);
    return item ? item->object : NULL;
}

/* The key of a bucket on the stack of the caller: no name of the API is longer than 253 bytes. */
#define KEY_MAX 600

static struct str bucket_key(char text[KEY_MAX], struct str namespace, struct str name)
{
    int n = snprintf(text, KEY_MAX, "%.*s/%.*s", STR_ARG(namespace), STR_ARG(name));
    return (struct str){text, MIN((size_t)MAX(n, 0), (size_t)KEY_MAX - 1)};
}

struct bucket *find_bucket(const struct map *map, struct str namespace, struct str name)
{
    char text[KEY_MAX];
    return map_get(map, bucket_key(text, namespace, name));
}

static struct bucket *get_bucket(struct map *map, struct str namespace, struct str name)
{
    char text[KEY_MAX];
    struct str key = bucket_key(text, namespace, name);
    struct bucket *bucket = map_get(map, key);
    if (bucket)
        return bucket;
    bucket = xcalloc(1, sizeof(*bucket) + key.n);
    memcpy(bucket->text, key.p, key.n);
    bucket->key = (struct str){bucket->text, key.n};
    bucket->map = map;
    map_put(map, bucket->key, bucket);
    return bucket;
}

static void drop_if_empty(struct bucket *bucket)
{
    if (bucket->items.n || bucket->n_users)
        return;
    map_del(bucket->map, bucket->key);
    vec_release(&bucket->items);
    free(bucket);
}

void leave_home(struct item *item)
{
    struct bucket *bucket = TAKE(item->home);
    if (!bucket)
        return;
    vec_swap_remove(&bucket->items, item->home_at);
    if (item->home_at < bucket->items.n)
        bucket->items.v[item->home_at]->home_at = item->home_at;
    drop_if_empty(bucket);
}

void set_home(struct item *item, struct map *map, struct str namespace, struct str name)
{
    leave_home(item);
    item->home = get_bucket(map, namespace, name);
    item->home_at = item->home->items.n;
    vec_push(&item->home->items, item);
}

/* --- what to look at -------------------------------------------------------------------------- */

void mark(struct controllers *c, struct item *item)
{
    if (!item)
        return;
    item->dirty = true;
    if (item->queued || item->n_writes)
        return;
    item->queued = true;
    vec_push(&c->queue, item);
}

static void mark_bucket(struct controllers *c, const struct bucket *bucket)
{
    for (size_t i = 0; bucket && i < bucket->items.n; i++)
        mark(c, bucket->items.v[i]);
}

void look_again(struct controllers *c, struct item *item, int64_t at)
{
    bool there = heap_contains(&item->timer);
    if (there && item->due <= at)
        return;
    item->due = at;
    if (there)
        heap_fix(&c->timers, &item->timer);
    else
        heap_push(&c->timers, &item->timer);
}

int64_t waits_since(struct controllers *c, struct item *item)
{
    item->since = c->since ? c->since : MAX(c->now, (int64_t)1);
    return item->since;
}

bool missing_for_long(struct controllers *c, struct item *item)
{
    int64_t since = waits_since(c, item);
    if (c->now - since >= MISSING_GRACE)
        return true;
    look_again(c, item, since + MISSING_GRACE);
    return false;
}

/* --- changes ---------------------------------------------------------------------------------- */

/* Whether the controllers read objects of this kind. */
bool controllers_read_kind(enum kind_id kind)
{
    switch (kind) {
    case KIND_POD:
    case KIND_NODE:
    case KIND_PERSISTENT_VOLUME:
    case KIND_PERSISTENT_VOLUME_CLAIM:
    case KIND_STORAGE_CLASS:
    case KIND_CSI_NODE:
    case KIND_RESOURCE_CLAIM:
    case KIND_RESOURCE_CLAIM_TEMPLATE:
        return true;
    default:
        return false;
    }
}

struct str claim_class(const struct persistent_volume_claim *claim)
{
    struct str old = annotation(&claim->metadata, ANN_BETA_STORAGE_CLASS);
    if (old.n || has_annotation(&claim->metadata, ANN_BETA_STORAGE_CLASS))
        return old;
    return claim->spec.storage_class_name ? *claim->spec.storage_class_name : STR("");
}

struct str volume_class(const struct persistent_volume *volume)
{
    struct str old = annotation(&volume->metadata, ANN_BETA_STORAGE_CLASS);
    if (old.n || has_annotation(&volume->metadata, ANN_BETA_STORAGE_CLASS))
        return old;
    return volume->spec.storage_class_name;
}

/* Counts the pod as a user of its claims while it is on a node. */
static void count_users(struct controllers *c, const struct object *object, bool adds)
{
    const struct pod *pod = object ? object_pod(object) : NULL;
    if (!pod || str_empty(pod->spec.node_name) || pod_is_terminal(pod))
        return;
    for (size_t i = 0; i < pod->spec.volumes.n; i++) {
        const struct volume *volume = &pod->spec.volumes.v[i];
        char text[KEY_MAX];
        struct str name = STR("");
        if (volume->source.persistent_volume_claim)
            name = volume->source.persistent_volume_claim->claim_name;
        else if (volume->source.ephemeral)
            name = bucket_key(text, pod->metadata.name, volume->name);
        if (!name.n)
            continue;
        if (volume->source.ephemeral)
            text[pod->metadata.name.n] = '-';
        struct bucket *bucket = get_bucket(&c->users_of_claim, pod->metadata.namespace, name);
        if (adds)
            bucket->n_users++;
        else if (bucket->n_users)
            bucket->n_users--;
        if (!bucket->n_users)
            mark(c, find_item(c, KIND_PERSISTENT_VOLUME_CLAIM, pod->metadata.namespace, name));
        drop_if_empty(bucket);
    }
}

static void index_volume(struct controllers *c, struct item *item)
{
    const struct persistent_volume *volume = object_persistent_volume(item->object);
    const struct object_reference *claim = volume->spec.claim_ref;
    if (claim)
        set_home(item, &c->volumes_of_claim, claim->namespace, claim->name);
    else
        set_home(item, &c->volumes_of_class, STR(""), volume_class(volume));
}

static void index_claim(struct controllers *c, struct item *item)
{
    const struct persistent_volume_claim *claim = object_persistent_volume_claim(item->object);
    if (claim->spec.volume_name.n)
        set_home(item, &c->claims_of_volume, STR(""), claim->spec.volume_name);
    else
        set_home(item, &c->claims_of_class, STR(""), claim_class(claim));
}

/* Keeps the indexes; before and after may be NULL. */
static void index_item(struct controllers *c, struct item *item, const struct object *before)
{
    switch (object_kind(before ? before : item->object)->id) {
    case KIND_POD:
        count_users(c, before, false);
        count_users(c, item->object, true);
        break;
    case KIND_PERSISTENT_VOLUME:
        if (item->object)
            index_volume(c, item);
        break;
    case KIND_PERSISTENT_VOLUME_CLAIM:
        if (item->object)
            index_claim(c, item);
        break;
    case KIND_STORAGE_CLASS:
        for (size_t i = 0; before && i < c->classes.n; i++)
            if (c->classes.v[i] == item) {
                vec_remove(&c->classes, i);
                break;
            }
        if (item->object)
            vec_push(&c->classes, item);
        break;
    default:
        break;
    }
    if (!item->object)
        leave_home(item);
}

static void mark_around_volume(struct controllers *c, const struct persistent_volume *volume)
{
    const struct object_reference *claim = volume->spec.claim_ref;
    if (claim)
        mark(c, find_item(c, KIND_PERSISTENT_VOLUME_CLAIM, claim->namespace, claim->name));
    else
        mark_bucket(c, find_bucket(&c->claims_of_class, STR(""), volume_class(volume)));
    mark_bucket(c, find_bucket(&c->claims_of_volume, STR(""), volume->metadata.name));
}

/* The claims of a pod that has ended, or is gone, are released. */
static void mark_around_pod(struct controllers *c, const struct pod *pod)
{
    struct str ns = pod->metadata.namespace;
    for (size_t i = 0; i < pod->spec.volumes.n; i++)
        if (pod->spec.volumes.v[i].source.ephemeral)
            mark(c, find_item(c, KIND_PERSISTENT_VOLUME_CLAIM, ns,
                              arena_printf(&c->scratch, "%.*s-%.*s", STR_ARG(pod->metadata.name),
                                           STR_ARG(pod->spec.volumes.v[i].name))));
    for (size_t i = 0; i < pod->spec.resource_claims.n; i++)
        mark(c, find_item(c, KIND_RESOURCE_CLAIM, ns,
                          pod->spec.resource_claims.v[i].resource_claim_name));
    for (size_t i = 0; i < pod->status.resource_claim_statuses.n; i++)
        mark(c, find_item(c, KIND_RESOURCE_CLAIM, ns,
                          pod->status.resource_claim_statuses.v[i].resource_claim_name));
    if (pod->status.extended_resource_claim_status)
        mark(c, find_item(c, KIND_RESOURCE_CLAIM, ns,
                          pod->status.extended_resource_claim_status->resource_claim_name));
}

static void mark_owner(struct controllers *c, const struct object_meta *meta)
{
    const struct owner_reference *owner = object_meta_controller(meta);
    if (owner && str_is(owner->kind, "Pod"))
        mark(c, find_item(c, KIND_POD, meta->namespace, owner->name));
}

/* What depends on an object that was added, changed or deleted. */
static void mark_around(struct controllers *c, const struct object *o, bool gone)
{
    const struct object_meta *meta = object_meta(o);
    switch (object_kind(o)->id) {
    case KIND_PERSISTENT_VOLUME:
        mark_around_volume(c, object_persistent_volume(o));
        break;
    case KIND_PERSISTENT_VOLUME_CLAIM:
        mark_bucket(c, find_bucket(&c->volumes_of_claim, meta->namespace, meta->name));
        mark(c, find_item(c, KIND_PERSISTENT_VOLUME, STR(""),
                          object_persistent_volume_claim(o)->spec.volume_name));
        if (gone)
            mark_owner(c, meta);
        break;
    case KIND_STORAGE_CLASS:
        mark_bucket(c, find_bucket(&c->claims_of_class, STR(""), meta->name));
        mark_bucket(c, find_bucket(&c->claims_of_class, STR(""), STR("")));
        break;
    case KIND_POD:
        if (gone || pod_is_done(object_pod(o)))
            mark_around_pod(c, object_pod(o));
        break;
    case KIND_RESOURCE_CLAIM:
        mark_owner(c, meta);
        break;
    case KIND_RESOURCE_CLAIM_TEMPLATE:
        mark_bucket(c, find_bucket(&c->pods_of_template, meta->namespace, meta->name));
        break;
    default:
        break;
    }
}

static struct item *item_of(struct controllers *c, const struct object *o)
{
    const struct object_meta *meta = object_meta(o);
    struct str key = item_key(c, object_kind(o)->id, meta->namespace, meta->name);
    struct item *item = map_get(&c->items, key);
    if (item)
        return item;
    item = xcalloc(1, sizeof(*item) + key.n);
    memcpy(item->text, key.p, key.n);
    item->key = (struct str){item->text, key.n};
    map_put(&c->items, item->key, item);
    return item;
}

void controllers_object_changed(struct controllers *c, struct object *before, struct object *after)
{
    struct object *o = after ? after : before;
    if (!o || !controllers_read_kind(object_kind(o)->id))
        return;
    struct item *item = item_of(c, o);
    struct object *old = item->object;
    bool replaced = old && after && !str_eq(object_meta(old)->uid, object_meta(after)->uid);
    item->object = after ? object_ref(after) : NULL;
    item->n_changes++;
    item->outdated = false;
    if (old || after)
        index_item(c, item, old);
    if (replaced)
        item->since = 0;
    if (old && (!after || replaced || object_kind(old)->id == KIND_PERSISTENT_VOLUME))
        mark_around(c, old, true);
    if (after) {
        mark_around(c, after, false);
        mark(c, item);
    } else {
        map_del(&c->items, item->key);
        if (heap_contains(&item->timer))
            heap_remove(&c->timers, &item->timer);
        drop_if_idle(item);
    }
    object_unref(old);
    arena_reset(&c->scratch);
}

/* --- answers --------------------------------------------------------------------------------- */

static void item_answered(struct controllers *c, struct item *item, bool ok)
{
    if (!item)
        return;
    item->n_writes--;
    if (!item->object) {
        if (!item->n_writes)
            drop_if_idle(item);
        return;
    }
    if (ok) {
        item->n_failures = 0;
    } else if (item->n_failures < MAX_FAILURES) {
        int64_t delay = RETRY_FIRST << MIN(item->n_failures, 9U);
        item->n_failures++;
        look_again(c, item, c->now + MIN(delay, RETRY_LAST));
    }
    if (item->dirty && !item->n_writes)
        mark(c, item);
    if (item->wanted && !item->n_writes) {
        item->wanted = false;
        mark_around(c, item->object, false);
        arena_reset(&c->scratch);
    }
}

void controllers_write_done(struct controllers *c, uint64_t id, int status, int64_t now)
{
    struct flight *flight = map_del(&c->writes, map_number_key(&id));
    bool ok = status >= 200 && status < 300;
    if (!flight)
        return;
    c->now = MAX(c->now, now);
    struct item *target = flight->target, *by = flight->by;
    /* Looking at the version that was just replaced would only lead to a conflict. */
    if (ok && target && target->object && target->n_changes == flight->n_changes) {
        target->outdated = true;
        look_again(c, target, c->now + OUTDATED_MAX);
    }
    free(flight);
    item_answered(c, target, ok);
    if (by != target)
        item_answered(c, by, ok);
}

/* --- running ---------------------------------------------------------------------------------- */

static void sync_item(struct controllers *c, struct item *item)
{
    switch (object_kind(item->object)->id) {
    case KIND_PERSISTENT_VOLUME:
        volume_sync(c, item);
        break;
    case KIND_PERSISTENT_VOLUME_CLAIM:
        claim_sync(c, item);
        break;
    case KIND_POD:
        pod_volumes_sync(c, item);
        pod_devices_sync(c, item);
        break;
    case KIND_RESOURCE_CLAIM:
        resource_claim_sync(c, item);
        break;
    default:
        break;
    }
}

void controllers_run(struct controllers *c, int64_t now)
{
    c->now = MAX(c->now, now);
    for (struct heap_node *node; (node = heap_peek(&c->timers)) && of_timer(node)->due <= c->now;) {
        heap_remove(&c->timers, node);
        of_timer(node)->outdated = false;
        mark(c, of_timer(node));
    }
    while (c->queue_at < c->queue.n) {
        struct item *item = c->queue.v[c->queue_at++];
        item->queued = false;
        if (!item->object) {
            drop_if_idle(item);
            continue;
        }
        if (item->n_writes || item->outdated || !item->dirty)
            continue;
        item->dirty = false;
        c->since = item->since;
        item->since = 0;
        sync_item(c, item);
        arena_reset(&c->scratch);
    }
    vec_clear(&c->queue);
    c->queue_at = 0;
}

int64_t controllers_next(const struct controllers *c)
{
    const struct heap_node *node = heap_peek(&c->timers);
    if (c->queue.n > c->queue_at)
        return 0;
    return node ? CONTAINER_OF(node, const struct item, timer)->due : INT64_MAX;
}
