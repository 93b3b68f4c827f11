/* SPDX-License-Identifier: Apache-2.0 */
/* The roles of users and components (upstream: bootstrappolicy), with all feature gates on. */
#include "apiserver/access/bootstrap_internal.h"

/* clang-format off: one rule per line */
const struct bootstrap_role bootstrap_cluster_roles[] = {
    {
        .name = "admin",
        .sum_of = "admin",
    },
    {
        .name = "cluster-admin",
        .subjects = "group system:masters",
        .rules = "* * *\n"
                 "* - *\n",
    },
    {
        .name = "edit",
        .part_of = "admin",
        .sum_of = "edit",
    },
    {
        .name = "system:aggregate-to-admin",
        .part_of = "admin",
        .rules = "create authorization.k8s.io localsubjectaccessreviews\n" READ_WRITE
                 " rbac.authorization.k8s.io rolebindings,roles\n",
    },
    {
        .name = "system:aggregate-to-edit",
        .part_of = "edit",
        .rules =
            READ " core pods/attach,pods/exec,pods/portforward,pods/proxy,secrets,"
                 "services/proxy\n"
                 "impersonate core serviceaccounts\n" WRITE
                 " core pods,pods/attach,pods/exec,pods/portforward,pods/proxy\n"
                 "create core pods/eviction\n" WRITE
                 " core configmaps,persistentvolumeclaims,replicationcontrollers,"
                 "replicationcontrollers/scale,secrets,serviceaccounts,services,services/proxy\n"
                 "create core serviceaccounts/token\n" WRITE " core,events.k8s.io events\n" WRITE
                 " apps daemonsets,deployments,deployments/rollback,deployments/scale,"
                 "replicasets,replicasets/scale,statefulsets,statefulsets/scale\n" WRITE
                 " autoscaling horizontalpodautoscalers\n" WRITE " batch cronjobs,jobs\n" WRITE
                 " extensions daemonsets,deployments,deployments/rollback,"
                 "deployments/scale,ingresses,networkpolicies,replicasets,replicasets/scale,"
                 "replicationcontrollers/scale\n" WRITE " policy poddisruptionbudgets\n" WRITE
                 " networking.k8s.io ingresses,networkpolicies\n" READ_WRITE
                 " coordination.k8s.io leases\n" WRITE
                 " resource.k8s.io resourceclaims,resourceclaimtemplates\n" WRITE
                 " scheduling.k8s.io podgroups,workloads\n",
    },
    {
        .name = "system:aggregate-to-view",
        .part_of = "view",
        .rules = READ
        " core configmaps,endpoints,persistentvolumeclaims,"
        "persistentvolumeclaims/status,pods,replicationcontrollers,"
        "replicationcontrollers/scale,serviceaccounts,services,services/status\n" READ
        " core bindings,limitranges,namespaces/status,pods/log,pods/status,"
        "replicationcontrollers/status,resourcequotas,resourcequotas/status\n" READ
        " core namespaces\n" READ " core,events.k8s.io events\n" READ
        " discovery.k8s.io endpointslices\n" READ
        " apps controllerrevisions,daemonsets,daemonsets/status,deployments,"
        "deployments/scale,deployments/status,replicasets,replicasets/scale,"
        "replicasets/status,statefulsets,statefulsets/scale,statefulsets/status\n" READ
        " autoscaling horizontalpodautoscalers,horizontalpodautoscalers/status\n" READ
        " batch cronjobs,cronjobs/status,jobs,jobs/status\n" READ
        " extensions daemonsets,daemonsets/status,deployments,deployments/scale,"
        "deployments/status,ingresses,ingresses/status,networkpolicies,replicasets,"
        "replicasets/scale,replicasets/status,replicationcontrollers/scale\n" READ
        " policy poddisruptionbudgets,poddisruptionbudgets/status\n" READ
        " networking.k8s.io ingresses,ingresses/status,networkpolicies\n" READ
        " resource.k8s.io resourceclaims,resourceclaims/status,"
        "resourceclaimtemplates\n" READ " scheduling.k8s.io podgroups,podgroups/status,workloads\n",
    },
    {
        .name = "system:auth-delegator",
        .rules = "create authentication.k8s.io tokenreviews\n"
                 "create authorization.k8s.io subjectaccessreviews\n",
    },
    {
        .name = "system:basic-user",
        .subjects = "group system:authenticated",
        .rules = "create authorization.k8s.io selfsubjectaccessreviews,selfsubjectrulesreviews\n"
                 "create authentication.k8s.io selfsubjectreviews\n",
    },
    {
        .name = "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
        .rules = "create certificates.k8s.io certificatesigningrequests/nodeclient\n",
    },
    {
        .name = "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
        .rules = "create certificates.k8s.io certificatesigningrequests/selfnodeclient\n",
    },
    {
        .name = "system:certificates.k8s.io:kube-apiserver-client-approver",
        .rules = "approve certificates.k8s.io signers kubernetes.io/kube-apiserver-client\n",
    },
    {
        .name = "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver",
        .rules = "approve certificates.k8s.io signers "
                 "kubernetes.io/kube-apiserver-client-kubelet\n",
    },
    {
        .name = "system:certificates.k8s.io:kubelet-serving-approver",
        .rules = "approve certificates.k8s.io signers kubernetes.io/kubelet-serving\n",
    },
    {
        .name = "system:certificates.k8s.io:legacy-unknown-approver",
        .rules = "approve certificates.k8s.io signers kubernetes.io/legacy-unknown\n",
    },
    {
        .name = "system:cluster-trust-bundle-discovery",
        .subjects = "group system:serviceaccounts",
        .rules = READ " certificates.k8s.io clustertrustbundles\n",
    },
    {
        .name = "system:discovery",
        .subjects = "group system:authenticated",
        .rules = "get - /api,/api/*,/apis,/apis/*,/healthz,/livez,/openapi,/openapi/*,/readyz,"
                 "/version,/version/\n",
    },
    {
        .name = "system:heapster",
        .rules = READ " core events,namespaces,nodes,pods\n" READ " extensions deployments\n",
    },
    {
        .name = "system:kube-aggregator",
        .rules = READ " core endpoints,services\n",
    },
    {
        .name = "system:kube-controller-manager",
        .subjects = "user system:kube-controller-manager",
        .rules = "create,patch,update core,events.k8s.io events\n"
                 "create coordination.k8s.io leases\n"
                 "get,update coordination.k8s.io leases kube-controller-manager\n"
                 "create core secrets,serviceaccounts\n"
                 "delete core secrets\n"
                 "get core configmaps,namespaces,secrets,serviceaccounts\n"
                 "update core secrets,serviceaccounts\n"
                 "create authentication.k8s.io tokenreviews\n"
                 "create authorization.k8s.io subjectaccessreviews\n"
                 "list,watch * *\n"
                 "create core serviceaccounts/token\n",
    },
    {
        .name = "system:kube-dns",
        .subjects = "account kube-dns",
        .rules = "list,watch core endpoints,services\n",
    },
    {
        .name = "system:kube-scheduler",
        .subjects = "user system:kube-scheduler",
        .rules =
            "create,patch,update core,events.k8s.io events\n"
            "create coordination.k8s.io leases\n"
            "get,list,update,watch coordination.k8s.io leases kube-scheduler\n" READ_WRITE
            " coordination.k8s.io leasecandidates\n" READ " core nodes\n"
            "delete,get,list,watch core pods\n"
            "create core bindings,pods/binding\n"
            "patch,update core pods/status\n" READ " core replicationcontrollers,services\n" READ
            " apps,extensions replicasets\n" READ " apps statefulsets\n" READ
            " policy poddisruptionbudgets\n" READ " core persistentvolumeclaims,persistentvolumes\n"
            "create authentication.k8s.io tokenreviews\n"
            "create authorization.k8s.io subjectaccessreviews\n" READ
            " storage.k8s.io csinodes\n" READ " storage.k8s.io volumeattachments\n" READ
            " core namespaces\n" READ " storage.k8s.io csidrivers\n" READ
            " storage.k8s.io csistoragecapacities\n" READ " resource.k8s.io deviceclasses\n"
            "get,list,patch,update,watch resource.k8s.io resourceclaims\n"
            "get,list,patch,update,watch resource.k8s.io resourceclaims/status\n"
            "update core pods/finalizers\n" READ " resource.k8s.io resourceslices\n"
            "create,delete resource.k8s.io resourceclaims\n" READ
            " resource.k8s.io devicetaintrules\n"
            "patch,update resource.k8s.io resourceclaims/binding\n" READ
            " scheduling.k8s.io podgroups\n"
            "patch,update scheduling.k8s.io podgroups/status\n",
    },
    {
        .name = "system:kubelet-api-admin",
        .rules = READ " core nodes\n"
                      "proxy core nodes\n"
                      "* core nodes/log,nodes/metrics,nodes/proxy,nodes/stats\n"
                      "* core nodes/configz,nodes/healthz,nodes/pods\n",
    },
    {
        .name = "system:monitoring",
        .subjects = "group system:monitoring",
        .rules = "get - /flagz,/healthz,/healthz/*,/livez,/livez/*,/metrics,/metrics/slis,"
                 "/readyz,/readyz/*,/statusz\n"
                 "get core nodes/metrics\n",
    },
    {
        .name = "system:node",
        .subjects = "",
        .rules = "create authentication.k8s.io tokenreviews\n"
                 "create authorization.k8s.io localsubjectaccessreviews,subjectaccessreviews\n" READ
                 " core services\n"
                 "create,get,list,watch core nodes\n"
                 "patch,update core nodes/status\n"
                 "patch,update core nodes\n"
                 "create,patch,update core,events.k8s.io events\n" READ " core pods\n"
                 "create,delete core pods\n"
                 "patch,update core pods/status\n"
                 "create core pods/eviction\n" READ " core configmaps,secrets\n"
                 "get core persistentvolumeclaims,persistentvolumes\n"
                 "get core endpoints\n"
                 "create,get,list,watch certificates.k8s.io certificatesigningrequests\n"
                 "create,delete,get,patch,update coordination.k8s.io leases\n"
                 "get storage.k8s.io volumeattachments\n"
                 "create core serviceaccounts/token\n"
                 "get,patch,update core persistentvolumeclaims/status\n" READ
                 " storage.k8s.io csidrivers\n"
                 "create,delete,get,patch,update storage.k8s.io csinodes\n" READ
                 " node.k8s.io runtimeclasses\n"
                 "get resource.k8s.io resourceclaims\n"
                 "deletecollection resource.k8s.io resourceslices\n" READ
                 " certificates.k8s.io clustertrustbundles\n"
                 "get core serviceaccounts\n"
                 "create,get,list,watch certificates.k8s.io podcertificaterequests\n",
    },
    {
        .name = "system:node-bootstrapper",
        .rules = "create,get,list,watch certificates.k8s.io certificatesigningrequests\n",
    },
    {
        .name = "system:node-problem-detector",
        .rules = "get core nodes\n"
                 "patch core nodes/status\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:node-proxier",
        .subjects = "user system:kube-proxy",
        .rules = "list,watch core endpoints,services\n" READ " core nodes\n"
                 "create,patch,update core,events.k8s.io events\n"
                 "list,watch networking.k8s.io servicecidrs\n"
                 "list,watch discovery.k8s.io endpointslices\n",
    },
    {
        .name = "system:persistent-volume-provisioner",
        .rules = "create,delete,get,list,watch core persistentvolumes\n"
                 "get,list,update,watch core persistentvolumeclaims\n" READ
                 " storage.k8s.io storageclasses\n"
                 "watch core events\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:public-info-viewer",
        .subjects = "group system:authenticated,group system:unauthenticated",
        .rules = "get - /healthz,/livez,/readyz,/version,/version/\n",
    },
    {
        .name = "system:service-account-issuer-discovery",
        .subjects = "group system:serviceaccounts",
        .rules = "get - /.well-known/openid-configuration,/.well-known/openid-configuration/,"
                 "/openid/v1/jwks,/openid/v1/jwks/\n",
    },
    {
        .name = "system:volume-scheduler",
        .subjects = "user system:kube-scheduler",
        .rules = "get,list,patch,update,watch core persistentvolumes\n" READ
                 " storage.k8s.io storageclasses\n"
                 "get,list,patch,update,watch core persistentvolumeclaims\n",
    },
    {
        .name = "view",
        .part_of = "edit",
        .sum_of = "view",
    },
    {
        .name = "system:controller:bootstrap-signer",
        .namespace = "kube-public",
        .subjects = "account bootstrap-signer",
        .rules = READ " core configmaps\n"
                      "update core configmaps cluster-info\n"
                      "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "extension-apiserver-authentication-reader",
        .namespace = "kube-system",
        .binding = "system::extension-apiserver-authentication-reader",
        .subjects = "user system:kube-controller-manager,user system:kube-scheduler",
        .rules = READ " core configmaps extension-apiserver-authentication\n",
    },
    {
        .name = "system::leader-locking-kube-controller-manager",
        .namespace = "kube-system",
        .subjects = "user system:kube-controller-manager,"
                    "account kube-controller-manager,account leader-election-controller",
        .rules = "create,get,list,update,watch coordination.k8s.io leases\n"
                 "create,get,list,update,watch coordination.k8s.io leasecandidates\n",
    },
    {
        .name = "system::leader-locking-kube-scheduler",
        .namespace = "kube-system",
        .subjects = "user system:kube-scheduler,account kube-scheduler",
        .rules = "create,get,list,update,watch coordination.k8s.io leases\n"
                 "create,get,list,update,watch coordination.k8s.io leasecandidates\n",
    },
    {
        .name = "system:controller:bootstrap-signer",
        .namespace = "kube-system",
        .subjects = "account bootstrap-signer",
        .rules = READ " core secrets\n",
    },
    {
        .name = "system:controller:cloud-provider",
        .namespace = "kube-system",
        .subjects = "account cloud-provider",
        .rules = "create,get,list,watch core configmaps\n",
    },
    {
        .name = "system:controller:token-cleaner",
        .namespace = "kube-system",
        .subjects = "account token-cleaner",
        .rules = "delete,get,list,watch core secrets\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {.name = NULL},
};
