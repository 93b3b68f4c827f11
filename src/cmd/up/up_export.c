/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/up/up_export.h"

#include <stdio.h>

#include "cmd/cli/cmd.h"
#include "codec/yaml.h"

/* --- which objects ---------------------------------------------------------------------------- */

/* What every cluster has of its own; name NULL: all. */
static const struct {
    const char *plural, *name;
} own[] = {
    {"nodes", NULL},
    {"csinodes", NULL},
    {"resourceslices", NULL},
    {"volumeattachments", NULL},
    {"events", NULL},
    {"leases", NULL},
    {"leasecandidates", NULL},
    {"endpoints", NULL},
    {"endpointslices", NULL},
    {"controllerrevisions", NULL},
    {"namespaces", "default"},
    {"namespaces", "kube-system"},
    {"namespaces", "kube-public"},
    {"namespaces", "kube-node-lease"},
    {"services", "kubernetes"},
    {"serviceaccounts", "default"},
    {"configmaps", "kube-root-ca.crt"},
    {"configmaps", "extension-apiserver-authentication"},
    {"priorityclasses", "system-node-critical"},
    {"priorityclasses", "system-cluster-critical"},
};

static bool has_controller(const struct json_value *object)
{
    struct json_items owners = json_items_at(object, "metadata.ownerReferences");
    for (size_t i = 0; i < owners.n; i++)
        if (json_bool_at(&owners.v[i], "controller", false))
            return true;
    return false;
}

static struct str annotation(const struct json_value *object, const char *key)
{
    return json_get_text(json_at(object, "metadata.annotations"), str_of(key));
}

static bool is_exported(const struct revision *rev, const struct json_value *object)
{
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (str_is(rev->resource->plural, own[i].plural) &&
            (!own[i].name || str_is(rev->name, own[i].name)))
            return false;
    if (str_is(revision_label(rev, STR("kubernetes.io/bootstrapping")), "rbac-defaults") ||
        has_controller(object) || json_at(object, "metadata.deletionTimestamp"))
        return false;
    return !(str_is(rev->resource->plural, "persistentvolumes") &&
             annotation(object, "pv.kubernetes.io/provisioned-by").n);
}

/* --- what of them ----------------------------------------------------------------------------- */

static void strip_metadata(struct json_value *object)
{
    static const char *const members[] = {
        "uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink",
    };
    static const char *const annotations[] = {
        "pv.kubernetes.io/bind-completed",
        "pv.kubernetes.io/bound-by-controller",
        "volume.kubernetes.io/selected-node",
        "volume.kubernetes.io/storage-provisioner",
        "volume.beta.kubernetes.io/storage-provisioner",
        "deployment.kubernetes.io/revision",
    };
    struct json_value *meta = json_member(object, STR("metadata"));
    if (!meta)
        return;
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        json_remove(meta, str_of(members[i]));
    struct json_value *list = json_member(meta, STR("annotations"));
    for (size_t i = 0; list && i < ARRAY_LEN(annotations); i++)
        json_remove(list, str_of(annotations[i]));
    if (list && list->kind == JSON_OBJECT && list->n_members == 0)
        json_remove(meta, STR("annotations"));
    /* Finalizers of controllers are set again by them. */
    json_remove(meta, STR("finalizers"));
}

static void strip_service_account_volume(struct json_value *spec)
{
    static const struct str prefix = STR_INIT("kube-api-access-");
    static const char *const lists[] = {"containers", "initContainers"};
    struct json_value *volumes = json_member(spec, STR("volumes"));
    for (size_t i = volumes && volumes->kind == JSON_ARRAY ? volumes->n : 0; i-- > 0;)
        if (str_starts(json_get_text(&volumes->items[i], STR("name")), prefix))
            json_remove_item(volumes, i);
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        struct json_value *containers = json_member(spec, str_of(lists[l]));
        for (size_t i = 0; containers && containers->kind == JSON_ARRAY && i < containers->n; i++) {
            struct json_value *mounts = json_member(&containers->items[i], STR("volumeMounts"));
            for (size_t j = mounts && mounts->kind == JSON_ARRAY ? mounts->n : 0; j-- > 0;)
                if (str_starts(json_get_text(&mounts->items[j], STR("name")), prefix))
                    json_remove_item(mounts, j);
        }
    }
}

/* A Job's selector and the labels that belong to it are made for each Job. */
static void strip_job(struct json_value *object, struct json_value *spec)
{
    static const char *const keys[] = {"controller-uid", "batch.kubernetes.io/controller-uid",
                                       "job-name", "batch.kubernetes.io/job-name"};
    if (json_bool_at(spec, "manualSelector", false))
        return;
    json_remove(spec, STR("selector"));
    struct json_value *template = json_member(spec, STR("template"));
    struct json_value *holders[] = {json_member(object, STR("metadata")),
                                    template ? json_member(template, STR("metadata")) : NULL};
    for (size_t i = 0; i < ARRAY_LEN(holders); i++) {
        struct json_value *labels = holders[i] ? json_member(holders[i], STR("labels")) : NULL;
        for (size_t k = 0; labels && k < ARRAY_LEN(keys); k++)
            json_remove(labels, str_of(keys[k]));
    }
}

static void strip_spec(const struct resource *r, struct json_value *object)
{
    struct json_value *spec = json_member(object, STR("spec"));
    if (!spec)
        return;
    if (str_is(r->plural, "pods")) {
        json_remove(spec, STR("nodeName"));
        strip_service_account_volume(spec);
    } else if (str_is(r->plural, "persistentvolumes")) {
        json_remove(spec, STR("claimRef"));
    } else if (str_is(r->plural, "services") &&
               !str_is(json_get_text(spec, STR("clusterIP")), "None")) {
        json_remove(spec, STR("clusterIP"));
        json_remove(spec, STR("clusterIPs"));
    } else if (str_is(r->plural, "jobs")) {
        strip_job(object, spec);
    } else if (str_is(r->plural, "namespaces")) {
        json_remove(object, STR("spec"));
    }
}

/* A claim keeps the volume that it names unless that was provisioned for it. */
static void strip_claim(struct control_plane *plane, const struct revision *rev,
                        struct json_value *object, struct arena *a)
{
    struct str volume = json_text_at(object, "spec.volumeName");
    struct registry *reg = control_plane_registry(plane);
    if (!str_is(rev->resource->plural, "persistentvolumeclaims") || str_empty(volume))
        return;
    const struct revision *pv =
        store_get(registry_store(reg),
                  resources_named(registry_resources(reg), STR(""), STR("persistentvolumes")),
                  STR(""), volume);
    struct json_value tree;
    if (!pv || json_parse(pv->text, 0, a, &tree, NULL) < 0 || !is_exported(pv, &tree))
        json_remove(json_member(object, STR("spec")), STR("volumeName"));
}

/* --- the list --------------------------------------------------------------------------------- */

/* What others need comes first. */
static int rank(const struct resource *r)
{
    static const char *const first[] = {
        "customresourcedefinitions", "namespaces", "priorityclasses", "storageclasses",
        "serviceaccounts",           "secrets",    "configmaps",      "persistentvolumes",
        "persistentvolumeclaims"};
    for (size_t i = 0; i < ARRAY_LEN(first); i++)
        if (str_is(r->plural, first[i]))
            return (int)i;
    return ARRAY_LEN(first);
}
#define RANKS 10

struct exporter {
    struct control_plane *plane;
    struct snapshot *snapshot;
    bool json;
    bool any;
    struct arena arena;
    struct buf text;
    FILE *file;
};

static void export_object(struct exporter *e, const struct revision *rev)
{
    struct json_value object;
    arena_reset(&e->arena);
    if (json_parse(rev->text, 0, &e->arena, &object, NULL) < 0 || !is_exported(rev, &object))
        return;
    strip_metadata(&object);
    strip_claim(e->plane, rev, &object, &e->arena);
    strip_spec(rev->resource, &object);
    json_remove(&object, STR("status"));
    buf_clear(&e->text);
    if (e->json) {
        buf_add_cstr(&e->text, e->any ? ",\n" : "\n");
        json_write(&object, &e->text);
    } else {
        struct json_value list = json_array();
        json_append(&list, object, &e->arena);
        yaml_write(&list, &e->text);
    }
    e->any = true;
    fwrite(e->text.p, 1, e->text.n, e->file);
}

static void export_all(struct exporter *e)
{
    const struct resources *rs = registry_resources(control_plane_registry(e->plane));
    fputs(e->json ? "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":["
                  : "apiVersion: v1\nkind: List\nitems:\n",
          e->file);
    for (int i = 0; i < RANKS; i++) {
        const struct resource *r = NULL;
        while ((r = resources_next(rs, r))) {
            struct store_range range;
            const struct revision *rev;
            if (r->stored || rank(r) != i)
                continue;
            store_range_init(&range, e->snapshot, r, STR(""), NULL);
            while ((rev = store_range_next(&range)))
                export_object(e, rev);
        }
    }
    if (e->json)
        fputs("\n]}\n", e->file);
    else if (!e->any)
        fputs("[]\n", e->file);
}

int up_export(struct control_plane *plane, const char *path, struct err *reterr)
{
    bool standard = strcmp(path, "-") == 0;
    struct exporter e = {.plane = plane, .json = str_ends(str_of(path), STR(".json"))};
    e.file = standard ? stdout : fopen(path, "we");
    if (!e.file)
        return cmd_file_error("open", path, -errno, reterr);
    arena_init(&e.arena, (size_t)64 << 10);
    e.snapshot = store_snapshot(registry_store(control_plane_registry(plane)));
    export_all(&e);
    snapshot_unref(e.snapshot);
    arena_release(&e.arena);
    buf_release(&e.text);
    bool ok = fflush(e.file) == 0 && !ferror(e.file);
    int error = errno;
    ok = (standard || fclose(e.file) == 0) && ok;
    return ok ? 0 : cmd_file_error("write", path, -error, reterr);
}
