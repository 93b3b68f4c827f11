/* SPDX-License-Identifier: Apache-2.0 */
/* The roles of controllers (upstream: bootstrappolicy). */
#include "apiserver/access/bootstrap_internal.h"

/* clang-format off: one rule per line */
const struct bootstrap_role bootstrap_controller_roles[] = {
    {
        .name = "system:controller:attachdetach-controller",
        .subjects = "account attachdetach-controller",
        .rules = "list,watch core persistentvolumeclaims,persistentvolumes\n" READ " core nodes\n"
                 "patch,update core nodes/status\n"
                 "list,watch core pods\n"
                 "create,patch,update core,events.k8s.io events\n"
                 "create,delete,get,list,watch storage.k8s.io volumeattachments\n" READ
                 " storage.k8s.io csidrivers\n" READ " storage.k8s.io csinodes\n",
    },
    {
        .name = "system:controller:certificate-controller",
        .subjects = "account certificate-controller",
        .rules = "delete,get,list,watch certificates.k8s.io certificatesigningrequests\n"
                 "update certificates.k8s.io certificatesigningrequests/approval,"
                 "certificatesigningrequests/status\n"
                 "approve certificates.k8s.io signers "
                 "kubernetes.io/kube-apiserver-client-kubelet\n"
                 "sign certificates.k8s.io signers kubernetes.io/kube-apiserver-client,"
                 "kubernetes.io/kube-apiserver-client-kubelet,kubernetes.io/kubelet-serving,"
                 "kubernetes.io/legacy-unknown\n"
                 "create authorization.k8s.io subjectaccessreviews\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:clusterrole-aggregation-controller",
        .subjects = "account clusterrole-aggregation-controller",
        .rules = "escalate,get,list,patch,update,watch rbac.authorization.k8s.io clusterroles\n",
    },
    {
        .name = "system:controller:cronjob-controller",
        .subjects = "account cronjob-controller",
        .rules = "get,list,update,watch batch cronjobs\n"
                 "create,delete,get,list,patch,update,watch batch jobs\n"
                 "update batch cronjobs/status\n"
                 "update batch cronjobs/finalizers\n"
                 "delete,list,watch core pods\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:daemon-set-controller",
        .subjects = "account daemon-set-controller",
        .rules = READ " apps,extensions daemonsets\n"
                      "update apps,extensions daemonsets/status\n"
                      "update apps,extensions daemonsets/finalizers\n"
                      "list,watch core nodes\n"
                      "create,delete,list,patch,watch core pods\n"
                      "create core pods/binding\n"
                      "create,delete,get,list,patch,update,watch apps controllerrevisions\n"
                      "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:deployment-controller",
        .subjects = "account deployment-controller",
        .rules = "get,list,update,watch apps,extensions deployments\n"
                 "update apps,extensions deployments/status\n"
                 "update apps,extensions deployments/finalizers\n"
                 "create,delete,get,list,patch,update,watch apps,extensions replicasets\n"
                 "get,list,update,watch core pods\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:device-taint-eviction-controller",
        .subjects = "account device-taint-eviction-controller",
        .rules = "delete,get,list,watch core pods\n"
                 "patch,update core pods/status\n" READ " resource.k8s.io resourceclaims\n" READ
                 " resource.k8s.io resourceslices\n" READ " resource.k8s.io deviceclasses\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:disruption-controller",
        .subjects = "account disruption-controller",
        .rules = READ " apps,extensions deployments\n" READ " apps,extensions replicasets\n" READ
                      " core replicationcontrollers\n" READ " policy poddisruptionbudgets\n" READ
                      " apps statefulsets\n"
                      "update policy poddisruptionbudgets/status\n"
                      "patch,update core pods/status\n"
                      "get * */scale\n"
                      "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:endpoint-controller",
        .subjects = "account endpoint-controller",
        .rules = READ " core pods,services\n"
                      "create,delete,get,list,update,watch core endpoints\n"
                      "create core endpoints/restricted\n"
                      "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:endpointslice-controller",
        .subjects = "account endpointslice-controller",
        .rules = READ " core nodes,pods,services\n"
                      "update core services/finalizers\n"
                      "create,delete,get,list,update,watch discovery.k8s.io endpointslices\n"
                      "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:endpointslicemirroring-controller",
        .subjects = "account endpointslicemirroring-controller",
        .rules = READ " core endpoints,services\n"
                      "update core services/finalizers\n"
                      "update core endpoints/finalizers\n"
                      "create,delete,get,list,update,watch discovery.k8s.io endpointslices\n"
                      "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:ephemeral-volume-controller",
        .subjects = "account ephemeral-volume-controller",
        .rules = READ " core pods\n"
                      "update core pods/finalizers\n"
                      "create,get,list,watch core persistentvolumeclaims\n"
                      "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:expand-controller",
        .subjects = "account expand-controller",
        .rules = "get,list,patch,update,watch core persistentvolumes\n"
                 "patch,update core persistentvolumeclaims/status\n" READ
                 " core persistentvolumeclaims\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:generic-garbage-collector",
        .subjects = "account generic-garbage-collector",
        .rules = "delete,get,list,patch,update,watch * *\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:horizontal-pod-autoscaler",
        .subjects = "account horizontal-pod-autoscaler",
        .rules = READ " autoscaling horizontalpodautoscalers\n"
                      "update autoscaling horizontalpodautoscalers/status\n"
                      "get,update * */scale\n"
                      "list,watch core pods\n"
                      "list,watch metrics.k8s.io pods\n" READ " custom.metrics.k8s.io *\n" READ
                      " external.metrics.k8s.io *\n"
                      "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:job-controller",
        .subjects = "account job-controller",
        .rules = "get,list,patch,update,watch batch jobs\n"
                 "update batch jobs/status\n"
                 "update batch jobs/finalizers\n"
                 "create,delete,list,patch,watch core pods\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:legacy-service-account-token-cleaner",
        .subjects = "account legacy-service-account-token-cleaner",
        .rules = "get core configmaps kube-apiserver-legacy-service-account-token-tracking\n"
                 "delete,patch core secrets\n",
    },
    {
        .name = "system:controller:namespace-controller",
        .subjects = "account namespace-controller",
        .rules = "delete,get,list,watch core namespaces\n"
                 "update core namespaces/finalize,namespaces/status\n"
                 "delete,deletecollection,get,list,watch * *\n",
    },
    {
        .name = "system:controller:node-controller",
        .subjects = "account node-controller",
        .rules = "delete,get,list,patch,update,watch core nodes\n"
                 "patch,update core nodes/status\n"
                 "patch,update core pods/status\n"
                 "delete,get,list,watch core pods\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:persistent-volume-binder",
        .subjects = "account persistent-volume-binder",
        .rules = "create,delete,get,list,update,watch core persistentvolumes\n"
                 "update core persistentvolumes/status\n"
                 "get,list,update,watch core persistentvolumeclaims\n"
                 "update core persistentvolumeclaims/status\n"
                 "create,delete,get,list,watch core pods\n" READ " storage.k8s.io storageclasses\n"
                 "list,watch core nodes\n"
                 "create,patch,update core,events.k8s.io events\n"
                 "watch core events\n",
    },
    {
        .name = "system:controller:pod-garbage-collector",
        .subjects = "account pod-garbage-collector",
        .rules = "delete,list,watch core pods\n" READ " core nodes\n"
                 "patch core pods/status\n",
    },
    {
        .name = "system:controller:pv-protection-controller",
        .subjects = "account pv-protection-controller",
        .rules = "get,list,update,watch core persistentvolumes\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:pvc-protection-controller",
        .subjects = "account pvc-protection-controller",
        .rules = "get,list,update,watch core persistentvolumeclaims\n"
                 "update core persistentvolumeclaims/status\n" READ " core pods\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:replicaset-controller",
        .subjects = "account replicaset-controller",
        .rules = "get,list,update,watch apps,extensions replicasets\n"
                 "update apps,extensions replicasets/status\n"
                 "update apps,extensions replicasets/finalizers\n"
                 "create,delete,list,patch,watch core pods\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:replication-controller",
        .subjects = "account replication-controller",
        .rules = "get,list,update,watch core replicationcontrollers\n"
                 "update core replicationcontrollers/status\n"
                 "update core replicationcontrollers/finalizers\n"
                 "create,delete,list,patch,watch core pods\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:resource-claim-controller",
        .subjects = "account resource-claim-controller",
        .rules = READ " core pods\n"
                      "update core pods/finalizers\n"
                      "create,delete,get,list,watch resource.k8s.io resourceclaims\n"
                      "patch,update resource.k8s.io resourceclaims,resourceclaims/status\n"
                      "patch,update core pods/status\n"
                      "create,patch,update core,events.k8s.io events\n"
                      "patch,update resource.k8s.io resourceclaims/binding\n",
    },
    {
        .name = "system:controller:resourcequota-controller",
        .subjects = "account resourcequota-controller",
        .rules = "list,watch * *\n"
                 "update core resourcequotas/status\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:root-ca-cert-publisher",
        .subjects = "account root-ca-cert-publisher",
        .rules = "create,update core configmaps\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:route-controller",
        .subjects = "account route-controller",
        .rules = "list,watch core nodes\n"
                 "patch core nodes/status\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:selinux-warning-controller",
        .subjects = "account selinux-warning-controller",
        .rules = "create,patch,update core,events.k8s.io events\n" READ
                 " core persistentvolumes\n" READ " core persistentvolumeclaims\n" READ
                 " core pods\n" READ " storage.k8s.io csidrivers\n",
    },
    {
        .name = "system:controller:service-account-controller",
        .subjects = "account service-account-controller",
        .rules = "create core serviceaccounts\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:service-cidrs-controller",
        .subjects = "account service-cidrs-controller",
        .rules = "get,list,patch,update,watch networking.k8s.io servicecidrs\n"
                 "patch,update networking.k8s.io servicecidrs/finalizers\n"
                 "patch,update networking.k8s.io servicecidrs/status\n" READ
                 " networking.k8s.io ipaddresses\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:service-controller",
        .subjects = "account service-controller",
        .rules = READ " core services\n"
                      "patch,update core services/status\n"
                      "list,watch core nodes\n"
                      "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:statefulset-controller",
        .subjects = "account statefulset-controller",
        .rules = "list,watch core pods\n" READ " apps statefulsets\n"
                 "update apps statefulsets/status\n"
                 "update apps statefulsets/finalizers\n"
                 "create,delete,get,patch,update core pods\n"
                 "create,delete,get,list,patch,update,watch apps controllerrevisions\n"
                 "create,get,list,watch core persistentvolumeclaims\n"
                 "delete,update core persistentvolumeclaims\n"
                 "update core pods/finalizers\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:ttl-after-finished-controller",
        .subjects = "account ttl-after-finished-controller",
        .rules = "delete,get,list,watch batch jobs\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:ttl-controller",
        .subjects = "account ttl-controller",
        .rules = "list,patch,update,watch core nodes\n"
                 "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:validatingadmissionpolicy-status-controller",
        .subjects = "account validatingadmissionpolicy-status-controller",
        .rules = READ " admissionregistration.k8s.io validatingadmissionpolicies\n"
                      "get,patch,"
                      "update admissionregistration.k8s.io validatingadmissionpolicies/status\n"
                      "create,patch,update core,events.k8s.io events\n",
    },
    {
        .name = "system:controller:volumeattributesclass-protection-controller",
        .subjects = "account volumeattributesclass-protection-controller",
        .rules = READ " core persistentvolumeclaims\n" READ " core persistentvolumes\n"
                      "get,list,update,watch storage.k8s.io volumeattributesclasses\n"
                      "create,patch,update core,events.k8s.io events\n",
    },
    {.name = NULL},
};
