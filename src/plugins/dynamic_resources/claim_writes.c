/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claim_writes.c - writes of claims. They are patches, so that fields that berth does not have
 * survive; with the version of the claim that they are based on, so that a change in between is a
 * conflict, as with upstream's updates.
 */
#include "codec/json.h"
#include "plugins/dynamic_resources/dynamic_resources.h"

/* Upstream: retry.DefaultRetry. */
#define RETRIES     5
#define RETRY_DELAY (10 * NSEC_PER_MSEC)

/* --- requests --------------------------------------------------------------------------------- */

static void log_failure(void *ctx, const struct berth_api_result *result)
{
    const struct dra_shared *shared = ctx;
    if (result->status < 200 || result->status >= 300)
        engine_log_error(handle_log(shared->handle), "Write of a ResourceClaim failed",
                         KV_STR("err", str_abi(result->message)));
}

static void log_pod_failure(void *ctx, const struct berth_api_result *result)
{
    const struct dra_shared *shared = ctx;
    if (result->status < 200 || result->status >= 300)
        engine_log_error(handle_log(shared->handle),
                         "Failed to clear NodeAllocatableResourceClaimStatuses on Unreserve",
                         KV_STR("err", str_abi(result->message)));
}

static uint64_t call(struct dra_shared *shared, const struct object_meta *claim,
                     struct berth_api_call c, berth_api_done_fn *done, void *ctx)
{
    c.struct_size = sizeof(c);
    c.api_version = BERTH_STR(RESOURCE_API);
    c.resource = BERTH_STR("resourceclaims");
    c.namespace_name = abi_str(claim->namespace);
    c.name = abi_str(claim->name);
    return shared->host->api_call(shared->handle, &c, done ? done : log_failure,
                                  done ? ctx : shared);
}

uint64_t claim_patch(struct dra_shared *shared, const struct object_meta *claim,
                     struct str subresource, enum berth_patch type, struct str body,
                     berth_api_done_fn *done, void *ctx)
{
    struct berth_api_call c = {.verb = BERTH_API_PATCH,
                               .patch = type,
                               .subresource = abi_str(subresource),
                               .body = abi_str(body)};
    return call(shared, claim, c, done, ctx);
}

uint64_t claim_read(struct dra_shared *shared, const struct object_meta *claim,
                    berth_api_done_fn *done, void *ctx)
{
    return call(shared, claim, (struct berth_api_call){.verb = BERTH_API_GET}, done, ctx);
}

uint64_t dra_patch_pod(struct dra_shared *shared, const struct object_meta *pod, struct str body,
                       berth_api_done_fn *done, void *ctx)
{
    struct berth_api_call c = {.struct_size = sizeof(c),
                               .verb = BERTH_API_PATCH,
                               .patch = BERTH_PATCH_STRATEGIC,
                               .api_version = BERTH_STR("v1"),
                               .resource = BERTH_STR("pods"),
                               .subresource = BERTH_STR("status"),
                               .namespace_name = abi_str(pod->namespace),
                               .name = abi_str(pod->name),
                               .body = abi_str(body)};
    return shared->host->api_call(shared->handle, &c, done ? done : log_pod_failure,
                                  done ? ctx : shared);
}

/* --- bodies ----------------------------------------------------------------------------------- */

/* "metadata":{"resourceVersion":"1","uid":"x": the object is left open. */
static void begin_metadata(const struct object_meta *meta, struct buf *out)
{
    buf_add_cstr(out, "{\"metadata\":{\"resourceVersion\":");
    json_write_str(out, meta->resource_version);
    buf_add_cstr(out, ",\"uid\":");
    json_write_str(out, meta->uid);
}

bool claim_has_finalizer(const struct resource_claim *claim)
{
    for (size_t i = 0; i < claim->metadata.finalizers.n; i++)
        if (str_is(claim->metadata.finalizers.v[i], RESOURCE_CLAIM_FINALIZER))
            return true;
    return false;
}

void claim_finalizer_body(const struct resource_claim *claim, bool with, struct buf *out)
{
    const char *comma = "";
    begin_metadata(&claim->metadata, out);
    buf_add_cstr(out, ",\"finalizers\":[");
    for (size_t i = 0; i < claim->metadata.finalizers.n; i++) {
        struct str f = claim->metadata.finalizers.v[i];
        if (str_is(f, RESOURCE_CLAIM_FINALIZER))
            continue;
        buf_add_cstr(out, comma);
        json_write_str(out, f);
        comma = ",";
    }
    if (with)
        buf_add_printf(out, "%s\"" RESOURCE_CLAIM_FINALIZER "\"", comma);
    buf_add_cstr(out, "]}}");
}

static void add_reserved_for(const struct resource_claim *claim,
                             const struct resource_claim_consumer_reference *consumer,
                             struct buf *out)
{
    buf_add_char(out, '[');
    for (size_t i = 0; i < claim->status.reserved_for.n; i++) {
        json_encode(&resource_claim_consumer_reference_type, &claim->status.reserved_for.v[i], out);
        buf_add_char(out, ',');
    }
    json_encode(&resource_claim_consumer_reference_type, consumer, out);
    buf_add_char(out, ']');
}

static void add_allocation(const struct claim_status_change *change, struct buf *out)
{
    struct allocation_result a = {0};
    if (change->allocation)
        a = *change->allocation;
    if (change->allocation_timestamp.set)
        a.allocation_timestamp = change->allocation_timestamp;
    json_encode(&allocation_result_type, &a, out);
}

/* A merge patch would drop members that are null, which parameters of drivers may have. */
static bool has_null(const struct allocation_result *a)
{
    for (size_t i = 0; a && i < a->devices.config.n; i++) {
        const struct opaque_device_configuration *o =
            a->devices.config.v[i].device_configuration.opaque;
        if (o && str_search(o->parameters, STR("null")) < o->parameters.n)
            return true;
    }
    return false;
}

static void json_patch_body(const struct resource_claim *claim,
                            const struct claim_status_change *change, struct buf *out)
{
    buf_add_cstr(out, "[{\"op\":\"replace\",\"path\":\"/metadata/resourceVersion\",\"value\":");
    json_write_str(out, claim->metadata.resource_version);
    buf_add_cstr(out, "},{\"op\":\"add\",\"path\":\"/status/allocation\",\"value\":");
    add_allocation(change, out);
    buf_add_cstr(out, "},{\"op\":\"add\",\"path\":\"/status/reservedFor\",\"value\":");
    add_reserved_for(claim, change->consumer, out);
    buf_add_cstr(out, "}]");
}

enum berth_patch claim_status_body(const struct resource_claim *claim,
                                   const struct claim_status_change *change, struct buf *out)
{
    if (has_null(change->allocation)) {
        json_patch_body(claim, change, out);
        return BERTH_PATCH_JSON;
    }
    begin_metadata(&claim->metadata, out);
    buf_add_cstr(out, "},\"status\":{");
    if (change->allocation || change->allocation_timestamp.set) {
        buf_add_cstr(out, "\"allocation\":");
        add_allocation(change, out);
        buf_add_char(out, ',');
    }
    buf_add_cstr(out, "\"reservedFor\":");
    add_reserved_for(claim, change->consumer, out);
    buf_add_cstr(out, "}}");
    return BERTH_PATCH_MERGE;
}

/* --- writes whose outcome is not waited for --------------------------------------------------- */

void claim_unreserve(struct dra_shared *shared, const struct object_meta *claim, struct str uid)
{
    struct buf body = BUF_INIT;
    buf_add_cstr(&body, "{\"metadata\":{\"uid\":");
    json_write_str(&body, claim->uid);
    buf_add_cstr(&body, "},\"status\":{\"reservedFor\":[{\"$patch\":\"delete\",\"uid\":");
    json_write_str(&body, uid);
    buf_add_cstr(&body, "}]}}");
    claim_patch(shared, claim, STR("status"), BERTH_PATCH_STRATEGIC, buf_str(&body), NULL, NULL);
    buf_release(&body);
}

void claim_deallocate(struct dra_shared *shared, const struct resource_claim *claim)
{
    struct buf body = BUF_INIT;
    begin_metadata(&claim->metadata, &body);
    buf_add_cstr(&body, "},\"status\":{\"allocation\":null,\"reservedFor\":null,"
                        "\"devices\":null}}");
    claim_patch(shared, &claim->metadata, STR("status"), BERTH_PATCH_MERGE, buf_str(&body), NULL,
                NULL);
    buf_release(&body);
}

void pod_clear_node_claims(struct dra_shared *shared, const struct object_meta *pod)
{
    dra_patch_pod(shared, pod, STR("{\"status\":{\"nodeAllocatableResourceClaimStatuses\":null}}"),
                  NULL, NULL);
}

/* --- removal ---------------------------------------------------------------------------------- */

/* A claim that is being removed: finalizer, then the claim. */
struct claim_removal {
    struct dra_shared *shared;
    struct object *claim; /* the latest version */
    unsigned tries;
};

static void removal_end(struct claim_removal *r)
{
    for (size_t i = 0; i < r->shared->removals.n; i++)
        if (r->shared->removals.v[i] == r) {
            vec_swap_remove(&r->shared->removals, i);
            break;
        }
    object_unref(r->claim);
    free(r);
}

void claim_removals_release(struct dra_shared *shared)
{
    for (size_t i = 0; i < shared->removals.n; i++) {
        object_unref(shared->removals.v[i]->claim);
        free(shared->removals.v[i]);
    }
    vec_release(&shared->removals);
}

static bool removal_ok(struct claim_removal *r, const struct berth_api_result *result)
{
    if (result->status >= 200 && result->status < 300)
        return true;
    engine_log_error(handle_log(r->shared->handle), "delete",
                     KV_STR("err", str_abi(result->message)),
                     KV_META("resourceclaim", object_meta(r->claim)));
    removal_end(r);
    return false;
}

static void removal_deleted(void *ctx, const struct berth_api_result *result)
{
    struct claim_removal *r = ctx;
    if (result->status == 404 || removal_ok(r, result))
        removal_end(r);
}

static void removal_delete(struct claim_removal *r)
{
    call(r->shared, object_meta(r->claim), (struct berth_api_call){.verb = BERTH_API_DELETE},
         removal_deleted, r);
}

static void removal_step(struct claim_removal *r);

static void removal_refreshed(void *ctx, const struct berth_api_result *result)
{
    struct claim_removal *r = ctx;
    if (!removal_ok(r, result))
        return;
    if (result->object) {
        object_unref(r->claim);
        r->claim = object_ref((struct object *)(uintptr_t)result->object);
    }
    removal_step(r);
}

static void removal_refresh(void *ctx)
{
    struct claim_removal *r = ctx;
    claim_read(r->shared, object_meta(r->claim), removal_refreshed, r);
}

static void removal_unprotected(void *ctx, const struct berth_api_result *result)
{
    struct claim_removal *r = ctx;
    if (result->status == 409 && ++r->tries < RETRIES)
        r->shared->host->timer(r->shared->handle, RETRY_DELAY, removal_refresh, r);
    else if (removal_ok(r, result))
        removal_delete(r);
}

static void removal_step(struct claim_removal *r)
{
    const struct resource_claim *claim = object_resource_claim(r->claim);
    if (!claim_has_finalizer(claim)) {
        removal_delete(r);
        return;
    }
    struct buf body = BUF_INIT;
    claim_finalizer_body(claim, false, &body);
    claim_patch(r->shared, &claim->metadata, STR(""), BERTH_PATCH_MERGE, buf_str(&body),
                removal_unprotected, r);
    buf_release(&body);
}

void claim_remove(struct dra_shared *shared, struct object *claim)
{
    struct claim_removal *r = xnew(struct claim_removal);
    r->shared = shared;
    r->claim = object_ref(claim);
    vec_push(&shared->removals, r);
    removal_step(r);
}
