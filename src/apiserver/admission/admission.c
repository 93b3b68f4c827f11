/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/admission/admission.h"

#include "apiserver/admission/admission_internal.h"

#define ON(operation) (1U << (operation))
#define CREATE        ON(ADMIT_CREATE)
#define UPDATE        ON(ADMIT_UPDATE)
#define DELETE        ON(ADMIT_DELETE)

/* In upstream's order: a plugin sees what those before it have changed. */
static const struct {
    const char *name;
    unsigned operations;
    admission_fn *mutate, *validate;
} plugins[] = {
    {"NamespaceLifecycle", CREATE | UPDATE | DELETE, namespace_lifecycle_admit, NULL},
    {"LimitRanger", CREATE | UPDATE, limit_ranger_admit, limit_ranger_validate},
    {"ServiceAccount", CREATE | UPDATE, service_account_admit, service_account_validate},
    {"TaintNodesByCondition", CREATE, taint_nodes_by_condition_admit, NULL},
    {"Priority", CREATE | UPDATE, priority_admit, priority_validate},
    {"DefaultTolerationSeconds", CREATE | UPDATE, default_toleration_seconds_admit, NULL},
    {"DefaultStorageClass", CREATE, default_storage_class_admit, NULL},
    {"StorageObjectInUseProtection", CREATE, storage_object_in_use_protection_admit, NULL},
    {"PersistentVolumeClaimResize", UPDATE, NULL, volume_resize_validate},
    {"RuntimeClass", CREATE, runtime_class_admit, runtime_class_validate},
    {"DefaultIngressClass", CREATE, default_ingress_class_admit, NULL},
    {"ResourceQuota", CREATE | UPDATE, NULL, resource_quota_validate},
};

/* Upstream's other plugins: to disable them has no effect. */
static const char *const absent[] = {
    "AlwaysAdmit",
    "AlwaysDeny",
    "AlwaysPullImages",
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "ClusterTrustBundleAttest",
    "DenyServiceExternalIPs",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "ImagePolicyWebhook",
    "LimitPodHardAntiAffinityTopology",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "NamespaceAutoProvision",
    "NamespaceExists",
    "NodeDeclaredFeatureValidator",
    "NodeRestriction",
    "OwnerReferencesPermissionEnforcement",
    "PodNodeSelector",
    "PodSecurity",
    "PodTolerationRestriction",
    "PodTopologyLabels",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
};

static bool is_absent(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(absent); i++)
        if (str_is(name, absent[i]))
            return true;
    return false;
}

int admission_disable(struct str names, unsigned *ret_disabled, struct err *reterr)
{
    unsigned disabled = 0;
    struct str name;
    while (names.n && str_split(&names, ',', &name)) {
        size_t i = 0;
        while (i < ARRAY_LEN(plugins) && !str_is(name, plugins[i].name))
            i++;
        if (i < ARRAY_LEN(plugins))
            disabled |= 1U << i;
        else if (!is_absent(name))
            return err_set(reterr, -EINVAL, "there is no admission plugin \"%.*s\"", STR_ARG(name));
    }
    *ret_disabled = disabled;
    return 0;
}

static int run(struct admission *adm, bool mutate, struct api_status *ret_status)
{
    for (size_t i = 0; i < ARRAY_LEN(plugins); i++) {
        admission_fn *fn = mutate ? plugins[i].mutate : plugins[i].validate;
        if (!fn || !(plugins[i].operations & ON(adm->operation)) || (adm->disabled & 1U << i))
            continue;
        int code = fn(adm, ret_status);
        if (code)
            return code;
    }
    return 0;
}

int admission_mutate(struct admission *adm, struct api_status *ret_status)
{
    return run(adm, true, ret_status);
}

int admission_validate(struct admission *adm, struct api_status *ret_status)
{
    return run(adm, false, ret_status);
}
