// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	helper "k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// nonMissing is what scoring counts for a container that requests nothing.
var nonMissing = v1.ResourceList{
	v1.ResourceCPU:    *resource.NewMilliQuantity(100, resource.DecimalSI),
	v1.ResourceMemory: *resource.NewQuantity(200*1024*1024, resource.DecimalSI),
}

// optionSets are the ways in which the scheduler sums up a pod's requests.
var optionSets = map[string]helper.PodResourcesOptions{
	// a pod that is to be scheduled: what it asks for
	"spec": {},
	// a pod on a node, with the feature gates as they are by default in v1.36
	"status": {UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true},
	// the same for scoring: containers without requests count as something
	"nonMissing": {
		UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true,
		NonMissingContainerRequests: nonMissing,
	},
	// feature gates off: InPlacePodLevelResourcesVerticalScaling, PodLevelResources
	"statusContainersOnly": {UseStatusResources: true},
	"skipPodLevel":         {UseStatusResources: true, SkipPodLevelResources: true},
	// DRANodeAllocatableResources on
	"claims": {UseDRANodeAllocatableResourceClaimStatus: true},
	"claimsSkipPodLevel": {
		UseDRANodeAllocatableResourceClaimStatus: true, SkipPodLevelResources: true,
	},
}

type podRow struct {
	Pod      *v1.Pod                      `json:"pod"`
	Requests map[string]map[string]string `json:"requests"`
	Limits   map[string]string            `json:"limits"`
	// Info is what the scheduler's cache keeps of the pod.
	Info infoRow `json:"info"`
}

type infoRow struct {
	MilliCPU         int64            `json:"milliCPU"`
	Memory           int64            `json:"memory"`
	EphemeralStorage int64            `json:"ephemeralStorage"`
	Scalars          map[string]int64 `json:"scalars,omitempty"`
	Non0CPU          int64            `json:"non0CPU"`
	Non0Memory       int64            `json:"non0Memory"`
}

func podRequests(r *random) table {
	s := section{name: "pods"}
	for i := range 400 {
		// As it comes from the API: decoded, not built.
		text := compact(randomPod(r, i))
		pod := &v1.Pod{}
		check(json.Unmarshal(text, pod))

		row := podRow{Pod: pod, Requests: map[string]map[string]string{}}
		for name, opts := range optionSets {
			row.Requests[name] = texts(helper.PodRequests(pod, opts))
		}
		row.Limits = texts(helper.PodLimits(pod, helper.PodResourcesOptions{}))

		info, err := framework.NewPodInfo(pod)
		check(err)
		sum := info.CalculateResource()
		row.Info = infoRow{
			MilliCPU: sum.Resource.GetMilliCPU(), Memory: sum.Resource.GetMemory(),
			EphemeralStorage: sum.Resource.GetEphemeralStorage(), Scalars: map[string]int64{},
			Non0CPU: sum.Non0CPU, Non0Memory: sum.Non0Mem,
		}
		for name, n := range sum.Resource.GetScalarResources() {
			row.Info.Scalars[string(name)] = n
		}
		s.add(row)
	}
	return table{s}
}

func texts(list v1.ResourceList) map[string]string {
	m := map[string]string{}
	for name, q := range list {
		m[string(name)] = q.String()
	}
	return m
}

func randomPod(r *random, i int) *v1.Pod {
	pod := &v1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%d", i), Namespace: "default"},
	}
	for range pick(r, []int{1, 1, 1, 2, 3}) {
		pod.Spec.Containers = append(pod.Spec.Containers, randomContainer(r, len(pod.Spec.Containers), "c"))
	}
	for range pick(r, []int{0, 0, 1, 2, 3, 4}) {
		c := randomContainer(r, len(pod.Spec.InitContainers), "i")
		if r.chance(50) {
			c.RestartPolicy = ptr(pick(r, []v1.ContainerRestartPolicy{"Always", "Always", "Always", "Never", "OnFailure"}))
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
	if r.chance(25) {
		pod.Spec.Overhead = randomResources(r, 90)
	}
	if r.chance(30) {
		pod.Spec.Resources = &v1.ResourceRequirements{}
		if r.chance(85) {
			pod.Spec.Resources.Requests = randomResources(r, 80)
		}
		if r.chance(50) {
			pod.Spec.Resources.Limits = randomResources(r, 80)
		}
	}
	if r.chance(60) {
		addStatus(r, pod)
	}
	return pod
}

func randomContainer(r *random, i int, prefix string) v1.Container {
	c := v1.Container{Name: fmt.Sprintf("%s%d", prefix, i), Image: "registry.test/app"}
	if r.chance(80) {
		c.Resources.Requests = randomResources(r, 70)
	}
	if r.chance(40) {
		c.Resources.Limits = randomResources(r, 70)
	}
	return c
}

// randomResources has each of the two basic resources in p of 100 cases.
func randomResources(r *random, p int) v1.ResourceList {
	list := v1.ResourceList{}
	add := func(chance int, name v1.ResourceName, values ...string) {
		if r.chance(chance) {
			list[name] = resource.MustParse(pick(r, values))
		}
	}
	add(p, v1.ResourceCPU, "0", "1m", "100m", "250m", "0.5", "1", "1.500", "2", "1e-1", "10u", "3.1415926535", "64")
	add(p, v1.ResourceMemory, "0", "1", "128974848", "129e6", "100M", "123Mi", "1Gi", "1.5Gi", "0.3Gi", "64k", "1500m", "2Ti")
	add(15, v1.ResourceEphemeralStorage, "1Gi", "500M", "10", "0")
	add(10, "hugepages-2Mi", "2Mi", "64Mi", "0")
	add(10, "example.com/gpu", "1", "2", "8", "0")
	add(4, "attachable-volumes-csi-x", "3")
	add(4, "storage", "5Gi") // counts nowhere
	return list
}

func addStatus(r *random, pod *v1.Pod) {
	pod.Spec.NodeName = "n1"
	status := func(c v1.Container) (v1.ContainerStatus, bool) {
		if r.chance(15) {
			return v1.ContainerStatus{}, false
		}
		s := v1.ContainerStatus{Name: c.Name}
		if r.chance(75) {
			s.Resources = &v1.ResourceRequirements{}
			if r.chance(90) {
				s.Resources.Requests = randomResources(r, 70)
			}
			if r.chance(40) {
				s.Resources.Limits = randomResources(r, 70)
			}
		}
		if r.chance(70) {
			s.AllocatedResources = randomResources(r, 70)
		}
		return s, true
	}
	for _, c := range pod.Spec.Containers {
		if s, ok := status(c); ok {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, s)
		}
	}
	for _, c := range pod.Spec.InitContainers {
		if s, ok := status(c); ok {
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, s)
		}
	}
	if r.chance(50) {
		pod.Status.Resources = &v1.ResourceRequirements{Requests: randomResources(r, 80), Limits: randomResources(r, 50)}
	}
	if r.chance(50) {
		pod.Status.AllocatedResources = randomResources(r, 80)
	}
	condition := func(kind v1.PodConditionType, reason string) {
		pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: kind, Status: "True", Reason: reason})
	}
	if r.chance(50) {
		condition(v1.PodScheduled, "")
	}
	if r.chance(15) {
		condition(v1.PodResizeInProgress, pick(r, []string{"", v1.PodReasonInfeasible, "Error"}))
	}
	if r.chance(40) {
		condition(v1.PodResizePending, pick(r, []string{v1.PodReasonInfeasible, v1.PodReasonInfeasible, v1.PodReasonDeferred, ""}))
	}
	if r.chance(10) { // only the first of them counts
		condition(v1.PodResizePending, v1.PodReasonInfeasible)
	}
	if r.chance(25) {
		for range r.between(1, 2) {
			pod.Status.NodeAllocatableResourceClaimStatuses = append(pod.Status.NodeAllocatableResourceClaimStatuses,
				v1.NodeAllocatableResourceClaimStatus{
					ResourceClaimName: "claim", Containers: []string{"c0"}, Resources: randomResources(r, 60),
				})
		}
	}
}
