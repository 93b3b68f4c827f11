/* SPDX-License-Identifier: Apache-2.0 */
/* quota_amounts.c - what pods request from a quota, and whether amounts exceed it. */
#include "plugins/common/plugin_base.h"
#include "plugins/sigs/quotas.h"

/* --- requests --------------------------------------------------------------------------------- */

typedef int64_t combine_fn(int64_t a, int64_t b);

static int64_t sum_of(int64_t a, int64_t b)
{
    return resource_sum(a, 1, b);
}

static int64_t larger_of(int64_t a, int64_t b)
{
    return MAX(a, b);
}

/* Both lists are sorted by name. */
static void combine_scalars(struct resources *r, const struct resources *more, struct arena *a,
                            combine_fn *combine)
{
    size_t n = r->scalars.n + more->scalars.n, i = 0, k = 0, out = 0;
    if (!more->scalars.n)
        return;
    struct scalar_resource *v = arena_array(a, struct scalar_resource, n);
    while (i < r->scalars.n || k < more->scalars.n) {
        const struct scalar_resource *x = &r->scalars.v[i], *y = &more->scalars.v[k];
        int order = i == r->scalars.n ? 1 : k == more->scalars.n ? -1 : str_cmp(x->name, y->name);
        v[out++] =
            (struct scalar_resource){order > 0 ? y->name : x->name,
                                     combine(order > 0 ? 0 : x->value, order < 0 ? 0 : y->value)};
        i += order <= 0;
        k += order >= 0;
    }
    r->scalars.v = v;
    r->scalars.n = out;
}

static void combine_all(struct resources *r, const struct resources *more, struct arena *a,
                        combine_fn *combine)
{
    r->milli_cpu = combine(r->milli_cpu, more->milli_cpu);
    r->memory = combine(r->memory, more->memory);
    r->ephemeral_storage = combine(r->ephemeral_storage, more->ephemeral_storage);
    r->allowed_pods = combine(r->allowed_pods, more->allowed_pods);
    combine_scalars(r, more, a, combine);
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const struct scalar_resource *)a)->name,
                   ((const struct scalar_resource *)b)->name);
}

/* Sorts the scalars and makes one of those with the same name. */
static void fold_scalars(struct resources *r, combine_fn *combine)
{
    struct scalar_resource *v = r->scalars.v;
    size_t n = 0;
    if (r->scalars.n > 1)
        qsort(v, r->scalars.n, sizeof(*v), by_name);
    for (size_t i = 0; i < r->scalars.n; i++) {
        if (n && str_eq(v[n - 1].name, v[i].name))
            v[n - 1].value = combine(v[n - 1].value, v[i].value);
        else
            v[n++] = v[i];
    }
    r->scalars.n = n;
}

/* All containers at once: a pod may have many, each with a resource of its own. */
static void combine_containers(const struct container *v, size_t n, struct arena *a,
                               combine_fn *combine, struct resources *ret)
{
    size_t entries = 0, scalars = 0;
    for (size_t i = 0; i < n; i++)
        entries += v[i].resources.requests.n;
    *ret = (struct resources){0};
    ret->scalars.v = arena_array(a, struct scalar_resource, entries);
    for (size_t i = 0; i < n; i++) {
        struct resources one;
        resources_from_map(&v[i].resources.requests, a, &one);
        for (size_t k = 0; k < one.scalars.n; k++)
            ret->scalars.v[scalars++] = one.scalars.v[k];
        one.scalars.n = 0;
        combine_all(ret, &one, a, combine);
    }
    ret->scalars.n = scalars;
    fold_scalars(ret, combine);
}

void quota_request(const struct pod *pod, struct arena *a, struct resources *ret)
{
    const struct pod_spec *spec = &pod->spec;
    struct resources init, overhead;
    combine_containers(spec->containers.v, spec->containers.n, a, sum_of, ret);
    combine_containers(spec->init_containers.v, spec->init_containers.n, a, larger_of, &init);
    combine_all(ret, &init, a, larger_of);
    resources_from_map(&spec->overhead, a, &overhead);
    combine_all(ret, &overhead, a, sum_of);
}

void quota_request_add(struct resources *sum, const struct resources *more, struct arena *a)
{
    combine_all(sum, more, a, sum_of);
}

/* --- lists of ElasticQuotas ------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    return str_cmp(((const struct quantity_entry *)a)->key,
                   ((const struct quantity_entry *)b)->key);
}

/* Amounts of custom objects are texts or numbers, and manifests have them in any order. */
bool quota_read_list(const struct quotas *self, const struct berth_object *object, const char *path,
                     struct arena *a, quantity_map *ret)
{
    struct berth_value list, value;
    struct berth_str key;
    *ret = (quantity_map){0};
    if (!self->host->object_field(object, abi_str(str_of(path)), &list) ||
        list.kind != BERTH_VALUE_MAP)
        return false;
    ret->v = arena_array(a, struct quantity_entry, (size_t)list.i);
    for (size_t i = 0; self->host->value_at(&list, i, &key, &value); i++) {
        char number[64];
        struct str text = str_abi(value.str);
        struct err error = {0};
        if (value.kind != BERTH_VALUE_STRING) {
            self->host->value_json(&value, number, sizeof(number));
            text = str_of(number);
        }
        struct quantity_entry *entry = &ret->v[ret->n];
        entry->key = str_abi(key);
        if (quantity_parse(arena_dup(a, text), a, &entry->value, &error) == 0)
            ret->n++;
        else
            self->host->log(self->handle, BERTH_LOG_ERROR,
                            BERTH_STR("Ignored an amount of an ElasticQuota"),
                            (const struct berth_kv[]){BERTH_KV_OBJECT("elasticQuota", object),
                                                      BERTH_KV_STR("resource", key)},
                            2);
    }
    if (ret->n > 1)
        qsort(ret->v, ret->n, sizeof(*ret->v), by_key);
    return true;
}

/* --- comparisons ------------------------------------------------------------------------------ */

/* A sum: used, what a dry run changes, and a request. */
struct total {
    const struct intern *names;
    const struct resource *used, *change;
    const struct resources *request;
};

static const struct resource nothing;
static const struct resources no_request;

static struct total total_of(const struct quotas *quotas, const struct resource *used,
                             const struct resource *change, const struct resources *request)
{
    return (struct total){quotas->names, used, change ? change : &nothing,
                          request ? request : &no_request};
}

#define TOTAL(t, member) \
    sum_of(sum_of((t)->used->member, (t)->change->member), (t)->request->member)

static bool exceeds_common(const struct total *t, int64_t milli_cpu, int64_t memory,
                           int64_t ephemeral_storage)
{
    return TOTAL(t, milli_cpu) > milli_cpu || TOTAL(t, memory) > memory ||
           TOTAL(t, ephemeral_storage) > ephemeral_storage;
}

static int64_t total_scalar(const struct total *t, struct str name, atom_t atom)
{
    const int64_t *requested = resources_scalar(t->request, name);
    int64_t used =
        atom ? sum_of(resource_scalar(t->used, atom), resource_scalar(t->change, atom)) : 0;
    return sum_of(used, requested ? *requested : 0);
}

/* A scalar that min does not list is 0. */
static bool requested_exceed(const struct total *t, const struct resource *min)
{
    for (size_t i = 0; i < t->request->scalars.n; i++) {
        struct str name = t->request->scalars.v[i].name;
        atom_t atom = intern_find(t->names, name);
        if (total_scalar(t, name, atom) > (atom ? resource_scalar(min, atom) : 0))
            return true;
    }
    return false;
}

static bool listed_exceed(const struct total *t, const struct resource *list,
                          const struct resource *min)
{
    for (size_t i = 0; i < list->scalars.n; i++) {
        atom_t atom = list->scalars.v[i].name;
        if (total_scalar(t, intern_text(t->names, atom), atom) > resource_scalar(min, atom))
            return true;
    }
    return false;
}

static bool exceeds_min(const struct total *t, const struct resource *min)
{
    return exceeds_common(t, min->milli_cpu, min->memory, min->ephemeral_storage) ||
           requested_exceed(t, min);
}

static bool all_exceed_min(const struct total *t, const struct resource *min)
{
    return exceeds_min(t, min) || listed_exceed(t, t->used, min) ||
           listed_exceed(t, t->change, min);
}

bool quota_exceeds_max(const struct quotas *quotas, const struct quota *quota,
                       const struct resource *change, const struct resources *request)
{
    struct total t = total_of(quotas, &quota->used, change, request);
    const struct resources *max = &quota->max;
    if (exceeds_common(&t, max->milli_cpu, max->memory, max->ephemeral_storage))
        return true;
    for (size_t i = 0; i < request->scalars.n; i++) {
        struct str name = request->scalars.v[i].name;
        const int64_t *limit = resources_scalar(max, name);
        if (limit && total_scalar(&t, name, intern_find(quotas->names, name)) > *limit)
            return true;
    }
    return false;
}

bool quota_exceeds_min(const struct quotas *quotas, const struct quota *quota,
                       const struct resource *change, const struct resources *request)
{
    struct total t = total_of(quotas, &quota->used, change, request);
    return exceeds_min(&t, &quota->min);
}

bool quota_borrows(const struct quotas *quotas, const struct quota *quota,
                   const struct resource *change)
{
    struct total t = total_of(quotas, &quota->used, change, NULL);
    return all_exceed_min(&t, &quota->min);
}

bool quotas_exceed_min(const struct quotas *quotas, const struct resource *change,
                       const struct resources *request)
{
    struct total t = total_of(quotas, &quotas->used, change, request);
    return all_exceed_min(&t, &quotas->min);
}
