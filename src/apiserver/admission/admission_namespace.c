/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission_namespace.c - NamespaceLifecycle: nothing new in a namespace that is missing or is
 * being deleted.
 */
#include "apiserver/admission/admission_internal.h"

static bool immortal(struct str name)
{
    return str_is(name, "default") || str_is(name, "kube-system") || str_is(name, "kube-public");
}

static bool is_terminating(const struct admission *adm, const struct revision *namespace)
{
    struct str phase = revision_field(namespace, STR("status.phase"));
    if (str_empty(phase))
        phase = json_text_at(admission_parse(adm, namespace), "status.phase");
    return str_is(phase, "Terminating");
}

int namespace_lifecycle_admit(struct admission *adm, struct api_status *ret_status)
{
    bool is_namespace = admission_is(adm, "", "namespaces");
    if (is_namespace && adm->operation == ADMIT_DELETE && immortal(adm->name))
        return status_forbidden(ret_status, adm->resource, adm->name,
                                STR("this namespace may not be deleted"), adm->arena);
    if (is_namespace || str_empty(adm->namespace) || adm->operation == ADMIT_DELETE)
        return 0;
    /* An answer about the namespace would reveal whether it exists. */
    if (admission_is(adm, "authorization.k8s.io", "localsubjectaccessreviews"))
        return 0;
    const struct resource *namespaces = admission_resource(adm, "", "namespaces");
    if (!namespaces)
        return 0;
    const struct revision *rev = snapshot_get(adm->snapshot, namespaces, STR(""), adm->namespace);
    if (!rev)
        return status_not_found(ret_status, namespaces, adm->namespace, adm->arena);
    if (adm->operation != ADMIT_CREATE || !is_terminating(adm, rev))
        return 0;
    int code = admission_forbid(
        adm, ret_status,
        "unable to create new content in namespace %.*s because it is being terminated",
        STR_ARG(adm->namespace));
    struct api_cause *cause = arena_new(adm->arena, struct api_cause);
    *cause = (struct api_cause){
        .reason = STR("NamespaceTerminating"),
        .message =
            arena_printf(adm->arena, "namespace %.*s is being terminated", STR_ARG(adm->namespace)),
        .field = STR("metadata.namespace"),
    };
    ret_status->causes = cause;
    ret_status->n_causes = 1;
    return code;
}
