/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume_list.c - from a pod's volumes to drivers and handles.
 *
 * A claim without a volume is counted as one volume of its class's driver, whose handle no other
 * volume has (upstream: a random prefix).
 */
#include "plugins/node_volume_limits/volume_list.h"

#include "plugins/common/claims.h"
#include "plugins/common/csi_translation.h"

/* No handle of a driver begins like this. */
#define UNBOUND "\001unbound-"

void volume_list_init(struct volume_list *list)
{
    *list = (struct volume_list){0};
    arena_init(&list->arena, 0);
}

void volume_list_release(struct volume_list *list)
{
    arena_release(&list->arena);
    vec_release(&list->volumes);
}

void volume_list_clear(struct volume_list *list)
{
    arena_reset(&list->arena);
    vec_clear(&list->volumes);
}

void volume_list_add(struct volume_list *list, struct str driver, struct str handle)
{
    size_t n = driver.n + 1 + handle.n;
    char *name = arena_alloc(&list->arena, n, 1);
    if (driver.n)
        memcpy(name, driver.p, driver.n);
    name[driver.n] = '/';
    if (handle.n)
        memcpy(name + driver.n + 1, handle.p, handle.n);
    struct str text = {name, n};
    vec_push(&list->volumes, (struct csi_volume){str_hash(text), text, {name, driver.n}});
}

void volume_list_add_unbound(struct volume_list *list, struct str driver,
                             const struct persistent_volume_claim *claim)
{
    struct buf handle = BUF_INIT;
    buf_add_printf(&handle, UNBOUND "%.*s/%.*s", STR_ARG(claim->metadata.namespace),
                   STR_ARG(claim->metadata.name));
    volume_list_add(list, driver, buf_str(&handle));
    buf_release(&handle);
}

static int by_name(const void *a, const void *b)
{
    const struct csi_volume *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return str_cmp(x->name, y->name);
}

void volume_list_sort(struct volume_list *list)
{
    size_t n = 0;
    struct csi_volume *v = list->volumes.v;
    if (list->volumes.n > 1)
        qsort(v, list->volumes.n, sizeof(*v), by_name);
    for (size_t i = 0; i < list->volumes.n; i++)
        if (!n || by_name(&v[n - 1], &v[i]) != 0)
            v[n++] = v[i];
    list->volumes.n = n;
}

bool volume_list_has(const struct volume_list *list, const struct csi_volume *volume)
{
    return list->volumes.n &&
           bsearch(volume, list->volumes.v, list->volumes.n, sizeof(list->volumes.v[0]), by_name);
}

bool volume_is_attachable(const struct volume *volume)
{
    return volume->source.persistent_volume_claim || volume->source.ephemeral ||
           csi_migration_of_inline(&volume->source);
}

/* --- claims ----------------------------------------------------------------------------------- */

static void on_read(const struct volume_lookup *lookup, enum kind_id kind, struct str namespace,
                    struct str name)
{
    if (lookup->on_read)
        lookup->on_read(lookup->ctx, kind, namespace, name);
}

/* Without a class, or with one that does not exist, nothing is counted. */
static void add_unbound(struct volume_list *list, const struct volume_lookup *lookup,
                        const struct persistent_volume_claim *claim)
{
    struct str name = class_of_claim(claim);
    if (str_empty(name))
        return;
    on_read(lookup, KIND_STORAGE_CLASS, STR(""), name);
    const struct storage_class *class = class_lookup(lookup->objects, name);
    if (!class)
        return;
    struct str driver = class->provisioner;
    const struct csi_migration *plugin = csi_migration_of_plugin(driver);
    if (plugin && !(lookup->migrated && plugin->on))
        return;
    if (plugin || !str_empty(driver))
        volume_list_add_unbound(list, plugin ? plugin->driver : driver, claim);
}

static void add_in_tree(struct volume_list *list, const struct volume_lookup *lookup,
                        const struct persistent_volume *pv)
{
    const struct csi_migration *plugin = csi_migration_of_pv(pv);
    if (!plugin || !plugin->on || !lookup->migrated)
        return;
    struct buf handle = BUF_INIT, why = BUF_INIT;
    if (csi_pv_handle(pv, &handle, &why) && handle.n)
        volume_list_add(list, plugin->driver, buf_str(&handle));
    buf_release(&handle);
    buf_release(&why);
}

static void add_claim(struct volume_list *list, const struct volume_lookup *lookup,
                      const struct persistent_volume_claim *claim)
{
    const struct persistent_volume *pv = NULL;
    if (!str_empty(claim->spec.volume_name)) {
        on_read(lookup, KIND_PERSISTENT_VOLUME, STR(""), claim->spec.volume_name);
        pv = pv_lookup(lookup->objects, claim->spec.volume_name);
    }
    if (!pv)
        add_unbound(list, lookup, claim);
    else if (!pv->spec.source.csi)
        add_in_tree(list, lookup, pv);
    else if (!str_empty(pv->spec.source.csi->driver) &&
             !str_empty(pv->spec.source.csi->volume_handle))
        volume_list_add(list, pv->spec.source.csi->driver, pv->spec.source.csi->volume_handle);
}

/* --- volumes ---------------------------------------------------------------------------------- */

static enum volume_fault add_inline(struct volume_list *list, const struct volume_lookup *lookup,
                                    const struct pod *pod, const struct volume *volume,
                                    struct buf *why)
{
    const struct csi_migration *plugin = csi_migration_of_inline(&volume->source);
    if (!plugin || !plugin->on || !lookup->migrated)
        return VOLUME_OK;
    struct buf handle = BUF_INIT, reason = BUF_INIT;
    bool ok = csi_inline_handle(volume, pod->metadata.namespace, &handle, &reason);
    if (ok)
        volume_list_add(list, plugin->driver, buf_str(&handle));
    else
        buf_add_printf(why, "converting volume(%.*s) from inline to csi: %.*s",
                       STR_ARG(volume->name), STR_ARG(buf_str(&reason)));
    buf_release(&handle);
    buf_release(&reason);
    return ok ? VOLUME_OK : VOLUME_ERROR;
}

static enum volume_fault find_claim(const struct volume_lookup *lookup, const struct pod *pod,
                                    const struct volume *volume, struct str claim_name,
                                    const struct persistent_volume_claim **ret_claim,
                                    struct buf *why)
{
    struct str namespace = pod->metadata.namespace;
    if (str_empty(claim_name)) {
        buf_add_cstr(why, "PersistentVolumeClaim had no name");
        return VOLUME_ERROR;
    }
    on_read(lookup, KIND_PERSISTENT_VOLUME_CLAIM, namespace, claim_name);
    const struct persistent_volume_claim *claim =
        claim_lookup(lookup->objects, namespace, claim_name);
    if (!claim && !lookup->is_new)
        return VOLUME_OK; /* it may be gone already */
    if (!claim) {
        buf_add_printf(why, "looking up PVC %.*s/%.*s: persistentvolumeclaim \"%.*s\" not found",
                       STR_ARG(namespace), STR_ARG(claim_name), STR_ARG(claim_name));
        return VOLUME_NO_CLAIM;
    }
    if (volume->source.ephemeral && !volume->source.persistent_volume_claim &&
        !claim_is_for_pod(claim, pod)) {
        buf_add_printf(why, "PVC %.*s/%.*s was not created for pod %.*s/%.*s (pod is not owner)",
                       STR_ARG(namespace), STR_ARG(claim_name), STR_ARG(namespace),
                       STR_ARG(pod->metadata.name));
        return VOLUME_ERROR;
    }
    *ret_claim = claim;
    return VOLUME_OK;
}

enum volume_fault volume_find_claim(const struct volume_lookup *lookup, const struct pod *pod,
                                    const struct volume *volume,
                                    const struct persistent_volume_claim **ret_claim,
                                    struct buf *why)
{
    struct buf scratch = BUF_INIT;
    struct str name;
    enum volume_fault fault = VOLUME_OK;
    *ret_claim = NULL;
    if (pod_volume_claim(pod, volume, &scratch, &name))
        fault = find_claim(lookup, pod, volume, name, ret_claim, why);
    buf_release(&scratch);
    return fault;
}

enum volume_fault volume_list_add_pod(struct volume_list *list, const struct volume_lookup *lookup,
                                      const struct pod *pod, struct buf *why)
{
    enum volume_fault fault = VOLUME_OK;
    for (size_t i = 0; fault == VOLUME_OK && i < pod->spec.volumes.n; i++) {
        const struct volume *v = &pod->spec.volumes.v[i];
        const struct persistent_volume_claim *claim;
        fault = volume_find_claim(lookup, pod, v, &claim, why);
        if (claim)
            add_claim(list, lookup, claim);
        else if (fault == VOLUME_OK)
            fault = add_inline(list, lookup, pod, v, why);
    }
    return fault;
}
