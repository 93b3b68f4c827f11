/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/unevaluated.h"

#include "api/pod.h"
#include "sim/expansion.h"

static bool has_claim(const struct pod_spec *spec)
{
    for (size_t i = 0; i < spec->volumes.n; i++)
        if (spec->volumes.v[i].source.persistent_volume_claim ||
            spec->volumes.v[i].source.ephemeral)
            return true;
    return false;
}

static bool has_inline_csi(const struct pod_spec *spec)
{
    for (size_t i = 0; i < spec->volumes.n; i++)
        if (spec->volumes.v[i].source.csi)
            return true;
    return false;
}

static bool has_disk(const struct pod_spec *spec)
{
    for (size_t i = 0; i < spec->volumes.n; i++) {
        const struct volume_source *v = &spec->volumes.v[i].source;
        if (v->gce_persistent_disk || v->aws_elastic_block_store || v->azure_disk || v->cinder ||
            v->iscsi || v->rbd || v->vsphere_volume || v->portworx_volume || v->azure_file)
            return true;
    }
    return false;
}

static bool asks_for_device(const struct scenario *s, const struct pod_spec *spec)
{
    for (size_t i = 0; i < spec->containers.n; i++) {
        const quantity_map *requests = &spec->containers.v[i].resources.requests;
        for (size_t k = 0; k < requests->n; k++)
            if (expansion_is_device(s->expansion, requests->v[k].key))
                return true;
    }
    return false;
}

static const struct {
    bool (*applies)(const struct pod_spec *spec);
    const char *text;
} rows[] = {
    {has_claim, "persistent volume claims and ephemeral volumes are not supported yet: the pod "
                "stays pending unless the plugin VolumeBinding is disabled"},
    {has_inline_csi, "attach limits of inline CSI volumes are not checked"},
    {has_disk, "attach limits and conflicts of in-tree disk volumes are not checked"},
};

void unevaluated_note(struct scenario *s, const struct object *object)
{
    const struct pod *pod = object_pod(object);
    struct buf name = BUF_INIT;
    if (pod->spec.node_name.n)
        return;
    buf_add_printf(&name, "Pod %.*s/%.*s", STR_ARG(pod->metadata.namespace),
                   STR_ARG(pod->metadata.name));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].applies(&pod->spec))
            scenario_note(s, rows[i].text, buf_str(&name));
    if (pod->spec.resource_claims.n)
        scenario_note(s,
                      "resource claims are not supported yet: the pod stays pending unless the "
                      "plugin DynamicResources is disabled",
                      buf_str(&name));
    if (asks_for_device(s, &pod->spec))
        scenario_note(s,
                      "devices of a DeviceClass with an extendedResourceName are not counted, only "
                      "allocatable of nodes",
                      buf_str(&name));
    buf_release(&name);
}
