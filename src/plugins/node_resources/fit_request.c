/* SPDX-License-Identifier: Apache-2.0 */
/* fit_request.c - upstream: computePodResourceRequest. */
#include "plugins/node_resources/fit_request.h"

#include "plugins/node_resources/resource_terms.h"

/* Upstream clamps requests at 0 (SetMaxResource). */
static int64_t or_nothing(int64_t amount)
{
    return amount > 0 ? amount : FIT_NOTHING;
}

static struct fit_request *new_request(struct intern *names, size_t n_scalars, int64_t milli_cpu,
                                       int64_t memory, int64_t ephemeral_storage)
{
    struct fit_request *r =
        xmalloc(sizeof(struct fit_request) + n_scalars * sizeof(struct fit_scalar));
    r->milli_cpu = or_nothing(milli_cpu);
    r->memory = or_nothing(memory);
    r->ephemeral_storage = or_nothing(ephemeral_storage);
    r->names = names;
    r->n = 0;
    return r;
}

typedef bool keep_fn(const void *ctx, struct str name);

/* From the data derived when the pod arrived. */
static struct fit_request *from_derived(const struct berth_pod *pod, keep_fn *keep, const void *ctx)
{
    const struct resource *has = &pod->requests;
    struct fit_request *r = new_request(pod->names, has->scalars.n, has->milli_cpu, has->memory,
                                        has->ephemeral_storage);
    for (size_t i = 0; i < has->scalars.n; i++) {
        const struct scalar_amount *s = &has->scalars.v[i];
        if (s->amount > 0 && (!keep || keep(ctx, intern_text(pod->names, s->name))))
            r->scalars[r->n++] = (struct fit_scalar){
                .name = intern_ref(pod->names, s->name),
                .amount = s->amount,
            };
    }
    return r;
}

/* From the spec: the derived data includes a resize of the pod's status. */
static struct fit_request *from_spec(const struct berth_pod *pod, keep_fn *keep, const void *ctx)
{
    static const struct resource_gates gates = {.pod_level_resources = true};
    struct arena scratch;
    quantity_map requests;
    struct resources has;
    arena_init(&scratch, 0);
    pod_requests(pod->pod, &gates, NULL, &scratch, &requests);
    resources_from_map(&requests, &scratch, &has);
    struct fit_request *r =
        new_request(pod->names, has.scalars.n, has.milli_cpu, has.memory, has.ephemeral_storage);
    for (size_t i = 0; i < has.scalars.n; i++)
        if (has.scalars.v[i].value > 0 && (!keep || keep(ctx, has.scalars.v[i].name)))
            r->scalars[r->n++] = (struct fit_scalar){
                .name = intern_get(pod->names, has.scalars.v[i].name),
                .amount = has.scalars.v[i].value,
            };
    arena_release(&scratch);
    return r;
}

struct fit_request *fit_request_new(const struct berth_pod *pod, keep_fn *keep, const void *ctx)
{
    return pod_status_has_resources(pod->pod) ? from_spec(pod, keep, ctx)
                                              : from_derived(pod, keep, ctx);
}

bool fit_request_find_devices(struct fit_request *r, const struct extended_classes *classes)
{
    bool any = false;
    for (size_t i = 0; classes && classes->by_resource.n && i < r->n; i++) {
        struct str name = intern_text(r->names, r->scalars[i].name);
        r->scalars[i].by_devices = !str_empty(extended_classes_find(classes, name));
        any |= r->scalars[i].by_devices;
    }
    return any;
}

struct fit_request *fit_request_free(struct fit_request *r)
{
    for (size_t i = 0; r && i < r->n; i++)
        intern_put(r->names, r->scalars[i].name);
    free(r);
    return NULL;
}
