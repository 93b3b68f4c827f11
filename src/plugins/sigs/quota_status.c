/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/sigs/quota_status.h"

#include "base/time.h"
#include "codec/json.h"
#include "plugins/common/plugin_base.h"

#define DELAY       NSEC_PER_SEC
#define RETRY_DELAY (5 * NSEC_PER_SEC)

static void write_due(void *ctx);

static void start_timer(struct quotas *self, int64_t delay)
{
    if (!self->timer)
        self->timer = self->host->timer(self->handle, delay, write_due, self);
}

void quota_status_changed(struct quotas *self, struct quota *q)
{
    q->status.dirty = true;
    if (!q->status.call)
        start_timer(self, DELAY);
}

void quota_status_forget(struct quotas *self, struct quota *q)
{
    if (q->status.call)
        self->host->api_forget(self->handle, q->status.call);
}

/* --- what is used ----------------------------------------------------------------------------- */

/* A key that is in several lists has the last of their amounts. */
struct listed {
    struct quantity_entry entry;
    size_t order;
};

static int by_key(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;
    int order = str_cmp(x->entry.key, y->entry.key);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

struct listing {
    struct listed *v;
    size_t n;
};

static void put(struct listing *l, struct str key, struct quantity value)
{
    l->v[l->n] = (struct listed){{key, value}, l->n};
    l->n++;
}

static void put_amount(struct listing *l, struct str key, int64_t amount)
{
    bool bytes = str_eq(key, RESOURCE_MEMORY) || str_eq(key, RESOURCE_EPHEMERAL_STORAGE) ||
                 str_starts(key, RESOURCE_HUGE_PAGES_PREFIX);
    if (amount)
        put(l, key, quantity_of(amount, bytes ? QUANTITY_BINARY_SI : QUANTITY_DECIMAL_SI));
}

static void put_zeros(struct listing *l, const quantity_map *list)
{
    for (size_t i = 0; i < list->n; i++)
        put(l, list->v[i].key, quantity_of(0, QUANTITY_DECIMAL_SI));
}

static void sort_listing(struct listing *l, struct arena *a, quantity_map *ret)
{
    if (l->n > 1)
        qsort(l->v, l->n, sizeof(*l->v), by_key);
    ret->n = 0;
    ret->v = arena_array(a, struct quantity_entry, l->n);
    for (size_t i = 0; i < l->n; i++)
        if (i + 1 == l->n || !str_eq(l->v[i].entry.key, l->v[i + 1].entry.key))
            ret->v[ret->n++] = l->v[i].entry;
}

static void find_used(const struct quotas *self, const struct quota *q, struct arena *a,
                      quantity_map *ret)
{
    quantity_map min, max;
    const struct resource *r = &q->running;
    struct listing l = {0};
    quota_read_list(self, quota_object(q), "spec.min", a, &min);
    quota_read_list(self, quota_object(q), "spec.max", a, &max);
    l.v = arena_array(a, struct listed, min.n + max.n + r->scalars.n + 3);
    put_zeros(&l, &min);
    put_zeros(&l, &max);
    if (r->milli_cpu)
        put(&l, RESOURCE_CPU, quantity_of_milli(r->milli_cpu, QUANTITY_DECIMAL_SI));
    put_amount(&l, RESOURCE_MEMORY, r->memory);
    put_amount(&l, RESOURCE_EPHEMERAL_STORAGE, r->ephemeral_storage);
    for (size_t i = 0; i < r->scalars.n; i++)
        put_amount(&l, intern_text(self->names, r->scalars.v[i].name), r->scalars.v[i].amount);
    sort_listing(&l, a, ret);
}

static bool equal(const quantity_map *a, const quantity_map *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!str_eq(a->v[i].key, b->v[i].key) || quantity_cmp(&a->v[i].value, &b->v[i].value) != 0)
            return false;
    return true;
}

/* --- writes ----------------------------------------------------------------------------------- */

/* A merge patch: what is not used any more is null. */
static void write_patch(const quantity_map *before, const quantity_map *after, struct buf *out)
{
    struct buf text = BUF_INIT;
    size_t n = 0;
    buf_add_cstr(out, "{\"status\":{\"used\":{");
    for (size_t i = 0; i < after->n; i++) {
        buf_clear(&text);
        quantity_write(&after->v[i].value, &text);
        buf_add_cstr(out, n++ ? "," : "");
        json_write_str(out, after->v[i].key);
        buf_add_char(out, ':');
        json_write_str(out, buf_str(&text));
    }
    for (size_t i = 0; i < before->n; i++) {
        if (quantity_map_get(after, before->v[i].key))
            continue;
        buf_add_cstr(out, n++ ? "," : "");
        json_write_str(out, before->v[i].key);
        buf_add_cstr(out, ":null");
    }
    buf_add_cstr(out, "}}}");
    buf_release(&text);
}

static void say_synced(const struct quotas *self, const struct quota *q)
{
    struct buf note = BUF_INIT;
    buf_add_printf(&note, "Elastic Quota %.*s/%.*s synced successfully", STR_ARG(q->namespace),
                   STR_ARG(hint_meta(quota_object(q))->name));
    self->host->event(self->handle, &(struct berth_event){.struct_size = sizeof(struct berth_event),
                                                          .object = quota_object(q),
                                                          .reason = BERTH_STR("Synced"),
                                                          .action = BERTH_STR("Syncing"),
                                                          .note = abi_str(buf_str(&note))});
    buf_release(&note);
}

static void write_done(void *ctx, const struct berth_api_result *result)
{
    struct quota *q = ctx;
    struct quotas *self = q->status.quotas;
    bool ok = result->status >= 200 && result->status < 300;
    q->status.call = 0;
    if (ok) {
        say_synced(self, q);
    } else if (result->status != 404) {
        q->status.dirty = true;
        if (!q->status.failed)
            self->host->log(
                self->handle, BERTH_LOG_ERROR,
                BERTH_STR("Could not write status.used of an ElasticQuota; it is tried again"),
                (const struct berth_kv[]){BERTH_KV_OBJECT("elasticQuota", quota_object(q)),
                                          BERTH_KV_STR("err", result->message)},
                2);
    }
    q->status.failed = !ok;
    if (q->status.dirty)
        start_timer(self, ok ? DELAY : RETRY_DELAY);
}

static void write_used(struct quotas *self, struct quota *q)
{
    const struct berth_object *object = quota_object(q);
    quantity_map before, after;
    struct arena arena;
    struct buf body = BUF_INIT;
    arena_init(&arena, 0);
    q->status.dirty = false;
    quota_read_list(self, object, "status.used", &arena, &before);
    find_used(self, q, &arena, &after);
    if (!equal(&before, &after)) {
        write_patch(&before, &after, &body);
        q->status.quotas = self;
        q->status.call = self->host->api_call(
            self->handle,
            &(struct berth_api_call){.struct_size = sizeof(struct berth_api_call),
                                     .verb = BERTH_API_PATCH,
                                     .patch = BERTH_PATCH_MERGE,
                                     .api_version = BERTH_STR("scheduling.x-k8s.io/v1alpha1"),
                                     .resource = BERTH_STR("elasticquotas"),
                                     .subresource = BERTH_STR("status"),
                                     .namespace_name = abi_str(q->namespace),
                                     .name = abi_str(hint_meta(object)->name),
                                     .body = abi_str(buf_str(&body))},
            write_done, q);
    }
    buf_release(&body);
    arena_release(&arena);
}

static void write_due(void *ctx)
{
    struct quotas *self = ctx;
    self->timer = 0;
    quotas_refresh(self);
    map_each (entry, &self->by_namespace) {
        struct quota *q = entry->value;
        if (q->status.dirty && !q->status.call)
            write_used(self, q);
    }
}
