/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission_storage.c - DefaultStorageClass, StorageObjectInUseProtection,
 * PersistentVolumeClaimResize, and the default class of an Ingress, which is chosen in the same
 * way.
 */
#include "api/quantity.h"
#include "apiserver/admission/admission_internal.h"

/* --- defaults --------------------------------------------------------------------------------- */

/* Newer classes are preferred, then the first name. */
static bool is_better(const struct json_value *class, const struct json_value *than)
{
    if (!than)
        return true;
    int c = str_cmp(json_text_at(class, "metadata.creationTimestamp"),
                    json_text_at(than, "metadata.creationTimestamp"));
    return c > 0 || (c == 0 && str_cmp(json_text_at(class, "metadata.name"),
                                       json_text_at(than, "metadata.name")) < 0);
}

/* The class that an annotation marks as the default; NULL: none. old_annotation may be NULL. */
static const struct json_value *default_class(const struct admission *adm, const char *group,
                                              const char *plural, const char *annotation,
                                              const char *old_annotation)
{
    const struct json_value *best = NULL;
    struct admission_range range;
    admission_range_init(&range, adm, group, plural, STR(""), STR("is-default-class"));
    const struct revision *rev;
    while ((rev = admission_range_next(&range))) {
        const struct json_value *class = admission_parse(adm, rev);
        if (!str_is(json_annotation(class, annotation), "true") &&
            !(old_annotation && str_is(json_annotation(class, old_annotation), "true")))
            continue;
        if (is_better(class, best))
            best = class;
    }
    return best;
}

int default_storage_class_admit(struct admission *adm, struct api_status *ret_status)
{
    (void)ret_status;
    if (!admission_is(adm, "", "persistentvolumeclaims") || !str_empty(adm->subresource))
        return 0;
    const struct json_value *class = json_at(adm->object, "spec.storageClassName");
    if ((class && class->kind != JSON_NULL) ||
        json_annotation(adm->object, "volume.beta.kubernetes.io/storage-class").p)
        return 0;
    class = default_class(adm, "storage.k8s.io", "storageclasses",
                          "storageclass.kubernetes.io/is-default-class",
                          "storageclass.beta.kubernetes.io/is-default-class");
    if (class)
        json_set_at(adm->object, "spec.storageClassName",
                    json_text(json_text_at(class, "metadata.name")), adm->arena);
    return 0;
}

int default_ingress_class_admit(struct admission *adm, struct api_status *ret_status)
{
    (void)ret_status;
    if (!admission_is(adm, "networking.k8s.io", "ingresses") || !str_empty(adm->subresource))
        return 0;
    const struct json_value *class = json_at(adm->object, "spec.ingressClassName");
    if ((class && class->kind != JSON_NULL) ||
        json_annotation(adm->object, "kubernetes.io/ingress.class").p)
        return 0;
    class = default_class(adm, "networking.k8s.io", "ingressclasses",
                          "ingressclass.kubernetes.io/is-default-class", NULL);
    if (class)
        json_set_at(adm->object, "spec.ingressClassName",
                    json_text(json_text_at(class, "metadata.name")), adm->arena);
    return 0;
}

/* --- finalizers ------------------------------------------------------------------------------- */

static const struct {
    const char *group, *plural, *finalizer;
} protected[] = {
    {"", "persistentvolumes", "kubernetes.io/pv-protection"},
    {"", "persistentvolumeclaims", "kubernetes.io/pvc-protection"},
    {"storage.k8s.io", "volumeattributesclasses", "kubernetes.io/vac-protection"},
};

int storage_object_in_use_protection_admit(struct admission *adm, struct api_status *ret_status)
{
    (void)ret_status;
    const char *finalizer = NULL;
    for (size_t i = 0; i < ARRAY_LEN(protected) && str_empty(adm->subresource); i++)
        if (admission_is(adm, protected[i].group, protected[i].plural))
            finalizer = protected[i].finalizer;
    if (!finalizer)
        return 0;
    struct json_items finalizers = json_items_at(adm->object, "metadata.finalizers");
    for (size_t i = 0; i < finalizers.n; i++)
        if (finalizers.v[i].kind == JSON_STRING && str_is(finalizers.v[i].text, finalizer))
            return 0;
    struct json_value *metadata = json_set_object(adm->object, STR("metadata"), adm->arena);
    json_append(json_set_array(metadata, STR("finalizers"), adm->arena),
                json_text(str_of(finalizer)), adm->arena);
    return 0;
}

/* --- sizes ------------------------------------------------------------------------------------ */

static struct quantity storage_of(const struct json_value *claim, struct arena *a)
{
    struct quantity q = {0};
    const struct json_value *v = json_at(claim, "spec.resources.requests.storage");
    if (v && (v->kind == JSON_STRING || v->kind == JSON_NUMBER) &&
        quantity_parse(v->text, a, &q, NULL) < 0)
        return (struct quantity){0};
    return q;
}

static struct str class_of(const struct json_value *claim)
{
    struct str name = json_annotation(claim, "volume.beta.kubernetes.io/storage-class");
    return name.p ? name : json_text_at(claim, "spec.storageClassName");
}

int volume_resize_validate(struct admission *adm, struct api_status *ret_status)
{
    if (!admission_is(adm, "", "persistentvolumeclaims") || !str_empty(adm->subresource) ||
        !adm->old)
        return 0;
    struct quantity before = storage_of(adm->old, adm->arena);
    struct quantity after = storage_of(adm->object, adm->arena);
    if (quantity_cmp(&after, &before) <= 0)
        return 0;
    if (!str_is(json_text_at(adm->old, "status.phase"), "Bound"))
        return admission_forbid(adm, ret_status,
                                "Only bound persistent volume claims can be expanded");
    struct str name = class_of(adm->object);
    const struct json_value *class = NULL;
    if (!str_empty(name) && str_eq(name, class_of(adm->old)))
        class = admission_get(adm, "storage.k8s.io", "storageclasses", STR(""), name);
    if (class && json_bool_at(class, "allowVolumeExpansion", false))
        return 0;
    return admission_forbid(adm, ret_status,
                            "only dynamically provisioned pvc can be resized and the storageclass "
                            "that provisions the pvc must support resize");
}
