// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
)

// testCase is a cluster and one plugin with its arguments.
type testCase struct {
	Plugin string         `json:"plugin"`
	Args   map[string]any `json:"args,omitempty"`
	Nodes  []*v1.Node     `json:"nodes"`
	Pods   []*v1.Pod      `json:"pods"`
	// Objects of other kinds.
	Objects []any `json:"objects,omitempty"`
	// Filters: the plugin's Filter is compared as well.
	Filters bool `json:"-"`
	// Responses to GETs of plugins, by URL.
	Responses map[string][]byte    `json:"-"`
	Groups    []*v1alpha1.PodGroup `json:"groups,omitempty"`
}

type generator struct{ *rand.Rand }

func one[T any](g generator, from ...T) T { return from[g.Intn(len(from))] }

func (g generator) chance(p float64) bool { return g.Float64() < p }

func meta(name string, i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name),
		CreationTimestamp: metav1.NewTime(time.Unix(int64(1700000000+i), 0))}
}

func (g generator) node(i int) *v1.Node {
	list := v1.ResourceList{v1.ResourcePods: resource.MustParse(one(g, "20", "110", "250"))}
	add := func(name v1.ResourceName, p float64, values ...string) {
		if g.chance(p) {
			list[name] = resource.MustParse(one(g, values...))
		}
	}
	add(v1.ResourceCPU, 0.95, "4", "8", "7910m", "16", "64", "0.5", "3999999u", "1k")
	add(v1.ResourceMemory, 0.95, "8Gi", "16Gi", "32929832Ki", "1Ti", "64G", "123456789", "1500m")
	add(v1.ResourceEphemeralStorage, 0.5, "100Gi", "1Ti", "94G")
	add("example.com/gpu", 0.4, "1", "4", "8")
	add("hugepages-2Mi", 0.3, "0", "512Mi", "2Gi")
	name := fmt.Sprintf("n%d", i)
	return &v1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: meta(name, i),
		Status: v1.NodeStatus{Allocatable: list, Capacity: list}}
}

func (g generator) resources() v1.ResourceRequirements {
	requests, limits := v1.ResourceList{}, v1.ResourceList{}
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage} {
		value := resource.MustParse(one(g, "0", "1", "1m", "10", "100m", "1000u"))
		if g.chance(0.55) {
			requests[name] = value
		}
		if g.chance(0.6) {
			limits[name] = value // equal amounts, written alike or not
			if g.chance(0.2) {
				limits[name] = resource.MustParse(one(g, "1000m", "0.001", "1", "2"))
			}
		}
	}
	switch g.Intn(4) {
	case 0:
		return v1.ResourceRequirements{}
	case 1:
		return v1.ResourceRequirements{Requests: limits, Limits: limits}
	}
	return v1.ResourceRequirements{Requests: requests, Limits: limits}
}

func (g generator) pod(name string, i int) *v1.Pod {
	pod := &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: meta(name, i)}
	pod.Namespace = "default"
	pod.Spec.SchedulerName = "default-scheduler"
	for k := range 1 + g.Intn(2) {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: fmt.Sprintf("c%d", k), Image: "i"})
	}
	return pod
}

func (g generator) nodes(most int) (nodes []*v1.Node) {
	for i := range 1 + g.Intn(most) {
		nodes = append(nodes, g.node(i))
	}
	return nodes
}

// running has pods on nodes, of which some are terminating.
func (g generator) running(nodes []*v1.Node, most int) (pods []*v1.Pod) {
	for i := range g.Intn(most + 1) {
		pod := g.pod(fmt.Sprintf("r%d", i), i)
		pod.Spec.NodeName = one(g, nodes...).Name
		if g.chance(0.4) {
			at := metav1.NewTime(time.Unix(1700000500, 0))
			pod.DeletionTimestamp = &at
		}
		pods = append(pods, pod)
	}
	return pods
}

// ---- cases of each plugin -------------------------------------------------------------------

func (g generator) allocatable() *testCase {
	c := &testCase{Plugin: "NodeResourcesAllocatable", Args: map[string]any{}, Nodes: g.nodes(8)}
	if g.chance(0.7) {
		c.Args["mode"] = one(g, "Least", "Most")
	}
	if g.chance(0.7) {
		var list []any
		for range g.Intn(4) {
			list = append(list, map[string]any{
				"name":   one(g, "cpu", "memory", "ephemeral-storage", "example.com/gpu", "hugepages-2Mi", "pods", "other", "example.com/none"),
				"weight": one(g, int64(1), 2, 3, 100, 1<<20, 999983)})
		}
		c.Args["resources"] = list
	}
	c.Pods = append(g.running(c.Nodes, 4), g.pod("p", 100))
	return c
}

func (g generator) podState() *testCase {
	c := &testCase{Plugin: "PodState", Nodes: g.nodes(8)}
	c.Pods = append(g.running(c.Nodes, 20), g.pod("p", 100))
	first, later := int32(1000), int32(5)
	c.Pods[len(c.Pods)-1].Spec.Priority = &first
	for i := range g.Intn(10) {
		pod := g.pod(fmt.Sprintf("q%d", i), 101+i)
		pod.Spec.Priority = &later
		if g.chance(0.8) {
			pod.Status.NominatedNodeName = one(g, c.Nodes...).Name
		}
		c.Pods = append(c.Pods, pod)
	}
	return c
}

func (g generator) qosSort() *testCase {
	c := &testCase{Plugin: "QOSSort"}
	node := g.node(0)
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, v1.ResourcePods} {
		node.Status.Allocatable[name] = resource.MustParse("1M")
	}
	c.Nodes = []*v1.Node{node}
	for i := range 2 + g.Intn(12) {
		pod := g.pod(fmt.Sprintf("p%d", i), i)
		for k := range pod.Spec.Containers {
			pod.Spec.Containers[k].Resources = g.resources()
		}
		if g.chance(0.3) {
			pod.Spec.InitContainers = []v1.Container{{Name: "init", Image: "i", Resources: g.resources()}}
		}
		if g.chance(0.2) {
			level := g.resources()
			pod.Spec.Resources = &level
		}
		if g.chance(0.25) {
			pod.Status.QOSClass = one(g, v1.PodQOSBestEffort, v1.PodQOSBurstable, v1.PodQOSGuaranteed)
		}
		if g.chance(0.8) {
			priority := one(g, int32(0), 0, 1, -5)
			pod.Spec.Priority = &priority
		}
		c.Pods = append(c.Pods, pod)
	}
	return c
}

var generators = map[string]func(generator) *testCase{
	"NodeResourcesAllocatable": generator.allocatable,
	"PodState":                 generator.podState,
	"NodeMetadata":             generator.nodeMetadata,
	"QOSSort":                  generator.qosSort,
	"Coscheduling":             generator.coscheduling,
}
