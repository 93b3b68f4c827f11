/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_volumes.h"

#include "api/storage.h"
#include "codec/json.h"

#define LABEL_HOSTNAME "kubernetes.io/hostname"

static void serve(struct sim_api *api, struct sim_request request, const struct buf *body)
{
    struct sim_reply reply;
    request.body = buf_str(body);
    sim_api_serve(api, &request, &reply);
    object_unref(reply.object);
}

static void bind_claim(struct sim_api *api, struct str namespace, struct str name,
                       struct str volume)
{
    struct buf body = BUF_INIT;
    buf_add_cstr(&body,
                 "{\"metadata\":{\"annotations\":{\"" ANN_BIND_COMPLETED
                 "\":\"yes\",\"" ANN_BOUND_BY_CONTROLLER "\":\"yes\"}},\"spec\":{\"volumeName\":");
    json_write_str(&body, volume);
    buf_add_cstr(&body, "}}");
    serve(api,
          (struct sim_request){.verb = SIM_PATCH_MERGE,
                               .kind = kind_get(KIND_PERSISTENT_VOLUME_CLAIM),
                               .namespace = namespace,
                               .name = name},
          &body);
    buf_release(&body);
}

/* --- volumes of provisioners ------------------------------------------------------------------ */

static void add_member(struct buf *out, const char *name, struct str value)
{
    buf_add_printf(out, "%s\"%s\":", out->p[out->n - 1] == '{' ? "" : ",", name);
    json_write_str(out, value);
}

/* Empty: the node has no such label. */
static struct str host_of(const struct sim_api *api, struct str node)
{
    const struct object *o = sim_api_get(api, kind_get(KIND_NODE), STR(""), node);
    const struct str *host = o ? str_map_get(&object_meta(o)->labels, STR(LABEL_HOSTNAME)) : NULL;
    return host ? *host : STR("");
}

static struct str class_of(const struct persistent_volume_claim *claim)
{
    const struct str *beta = str_map_get(&claim->metadata.annotations, STR(ANN_BETA_STORAGE_CLASS));
    return beta                             ? *beta
           : claim->spec.storage_class_name ? *claim->spec.storage_class_name
                                            : STR("");
}

static struct str provisioner_of(const struct sim_api *api, struct str class)
{
    const struct object *o = sim_api_get(api, kind_get(KIND_STORAGE_CLASS), STR(""), class);
    return o ? object_storage_class(o)->provisioner : STR("");
}

static void write_spec(struct buf *out, const struct sim_api *api,
                       const struct persistent_volume_claim *claim, struct str name)
{
    const struct quantity *size = quantity_map_get(&claim->spec.resources.requests, STR("storage"));
    const struct str *mode = claim->spec.access_modes.v;
    buf_add_cstr(out, "\"spec\":{\"capacity\":{\"storage\":\"");
    if (size)
        quantity_write(size, out);
    else
        buf_add_char(out, '0');
    buf_add_cstr(out, "\"},\"accessModes\":[");
    for (size_t i = 0; i < claim->spec.access_modes.n; i++) {
        buf_add_cstr(out, i ? "," : "");
        json_write_str(out, mode[i]);
    }
    buf_add_char(out, ']');
    add_member(out, "storageClassName", class_of(claim));
    if (claim->spec.volume_mode.n)
        add_member(out, "volumeMode", claim->spec.volume_mode);
    if (claim->spec.volume_attributes_class_name)
        add_member(out, "volumeAttributesClassName", *claim->spec.volume_attributes_class_name);
    buf_add_cstr(out, ",\"csi\":{");
    add_member(out, "driver", provisioner_of(api, class_of(claim)));
    add_member(out, "volumeHandle", name);
    buf_add_char(out, '}');
}

static void write_volume(struct buf *out, const struct sim_api *api,
                         const struct persistent_volume_claim *claim, struct str name,
                         struct str node)
{
    buf_add_cstr(out, "{\"apiVersion\":\"v1\",\"kind\":\"PersistentVolume\",\"metadata\":{");
    add_member(out, "name", name);
    buf_add_cstr(out, "},");
    write_spec(out, api, claim, name);
    buf_add_cstr(out, ",\"claimRef\":{\"kind\":\"PersistentVolumeClaim\",\"apiVersion\":\"v1\"");
    add_member(out, "namespace", claim->metadata.namespace);
    add_member(out, "name", claim->metadata.name);
    add_member(out, "uid", claim->metadata.uid);
    buf_add_char(out, '}');
    struct str host = host_of(api, node);
    if (host.n) {
        buf_add_cstr(out, ",\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{"
                          "\"matchExpressions\":[{\"key\":\"" LABEL_HOSTNAME
                          "\",\"operator\":\"In\",\"values\":[");
        json_write_str(out, host);
        buf_add_cstr(out, "]}]}]}}");
    }
    buf_add_cstr(out, "}}");
}

static void provision(struct sim_api *api, const struct persistent_volume_claim *claim,
                      struct str node)
{
    struct buf body = BUF_INIT, name = BUF_INIT;
    buf_add_printf(&name, "pvc-%.*s", STR_ARG(claim->metadata.uid));
    write_volume(&body, api, claim, buf_str(&name), node);
    serve(api, (struct sim_request){.verb = SIM_CREATE, .kind = kind_get(KIND_PERSISTENT_VOLUME)},
          &body);
    bind_claim(api, claim->metadata.namespace, claim->metadata.name, buf_str(&name));
    buf_release(&body);
    buf_release(&name);
}

void sim_volumes_complete(struct sim_api *api, const struct object *written)
{
    if (object_kind(written)->id == KIND_PERSISTENT_VOLUME) {
        const struct persistent_volume *pv = object_persistent_volume(written);
        if (pv->spec.claim_ref)
            bind_claim(api, pv->spec.claim_ref->namespace, pv->spec.claim_ref->name,
                       pv->metadata.name);
    } else if (object_kind(written)->id == KIND_PERSISTENT_VOLUME_CLAIM) {
        const struct persistent_volume_claim *claim = object_persistent_volume_claim(written);
        const struct str *node = str_map_get(&claim->metadata.annotations, STR(ANN_SELECTED_NODE));
        if (node && !claim->spec.volume_name.n)
            provision(api, claim, *node);
    }
}
