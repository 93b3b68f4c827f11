// SPDX-License-Identifier: Apache-2.0

package main

import (
	"k8s.io/apiserver/pkg/registry/rest"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	"k8s.io/kubernetes/pkg/registry/apps/controllerrevision"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/certificates/certificates"
	"k8s.io/kubernetes/pkg/registry/coordination/lease"
	"k8s.io/kubernetes/pkg/registry/coordination/leasecandidate"
	"k8s.io/kubernetes/pkg/registry/discovery/endpointslice"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/ingressclass"
	"k8s.io/kubernetes/pkg/registry/networking/ipaddress"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/networking/servicecidr"
	"k8s.io/kubernetes/pkg/registry/node/runtimeclass"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	"k8s.io/kubernetes/pkg/registry/resource/deviceclass"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaim"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaimtemplate"
	"k8s.io/kubernetes/pkg/registry/resource/resourceslice"
	"k8s.io/kubernetes/pkg/registry/scheduling/podgroup"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	"k8s.io/kubernetes/pkg/registry/scheduling/workload"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/csinode"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattributesclass"
)

func add(key string, main strategy, status rest.RESTUpdateStrategy) {
	row := kinds[key]
	row.main, row.status = main, status
	kinds[key] = row
}

// The kinds outside the core group.
func init() {
	add("apps/v1/ControllerRevision", controllerrevision.Strategy, nil)
	add("apps/v1/DaemonSet", daemonset.Strategy, daemonset.StatusStrategy)
	add("apps/v1/Deployment", deployment.Strategy, deployment.StatusStrategy)
	add("apps/v1/ReplicaSet", replicaset.Strategy, replicaset.StatusStrategy)
	add("apps/v1/StatefulSet", statefulset.Strategy, statefulset.StatusStrategy)
	add("autoscaling/v2/HorizontalPodAutoscaler", horizontalpodautoscaler.Strategy, horizontalpodautoscaler.StatusStrategy)
	add("batch/v1/CronJob", cronjob.Strategy, cronjob.StatusStrategy)
	add("batch/v1/Job", job.Strategy, job.StatusStrategy)
	add("certificates.k8s.io/v1/CertificateSigningRequest", certificates.Strategy, certificates.StatusStrategy)
	add("coordination.k8s.io/v1/Lease", lease.Strategy, nil)
	add("coordination.k8s.io/v1beta1/LeaseCandidate", leasecandidate.Strategy, nil)
	add("discovery.k8s.io/v1/EndpointSlice", endpointslice.Strategy, nil)
	add("networking.k8s.io/v1/Ingress", ingress.Strategy, ingress.StatusStrategy)
	add("networking.k8s.io/v1/IngressClass", ingressclass.Strategy, nil)
	add("networking.k8s.io/v1/IPAddress", ipaddress.Strategy, nil)
	add("networking.k8s.io/v1/NetworkPolicy", networkpolicy.Strategy, nil)
	add("networking.k8s.io/v1/ServiceCIDR", servicecidr.Strategy, servicecidr.StatusStrategy)
	add("node.k8s.io/v1/RuntimeClass", runtimeclass.Strategy, nil)
	add("policy/v1/PodDisruptionBudget", poddisruptionbudget.Strategy, poddisruptionbudget.StatusStrategy)
	add("rbac.authorization.k8s.io/v1/ClusterRole", clusterrole.Strategy, nil)
	add("rbac.authorization.k8s.io/v1/ClusterRoleBinding", clusterrolebinding.Strategy, nil)
	add("rbac.authorization.k8s.io/v1/Role", role.Strategy, nil)
	add("rbac.authorization.k8s.io/v1/RoleBinding", rolebinding.Strategy, nil)
	claims := resourceclaim.NewStrategy(nil, nil)
	add("resource.k8s.io/v1/DeviceClass", deviceclass.Strategy, nil)
	add("resource.k8s.io/v1/ResourceClaim", claims, resourceclaim.NewStatusStrategy(claims))
	add("resource.k8s.io/v1/ResourceClaimTemplate", resourceclaimtemplate.NewStrategy(nil), nil)
	add("resource.k8s.io/v1/ResourceSlice", resourceslice.Strategy, nil)
	groups := podgroup.NewStrategy()
	add("scheduling.k8s.io/v1/PriorityClass", priorityclass.Strategy, nil)
	add("scheduling.k8s.io/v1alpha2/PodGroup", groups, podgroup.NewStatusStrategy(groups))
	add("scheduling.k8s.io/v1alpha2/Workload", workload.Strategy, nil)
	add("storage.k8s.io/v1/CSIDriver", csidriver.Strategy, nil)
	add("storage.k8s.io/v1/CSINode", csinode.Strategy, nil)
	add("storage.k8s.io/v1/CSIStorageCapacity", csistoragecapacity.Strategy, nil)
	add("storage.k8s.io/v1/StorageClass", storageclass.Strategy, nil)
	add("storage.k8s.io/v1/VolumeAttachment", volumeattachment.Strategy, volumeattachment.StatusStrategy)
	add("storage.k8s.io/v1/VolumeAttributesClass", volumeattributesclass.Strategy, nil)
}
