// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	topology "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology"
)

func init() {
	generators[noderesourcetopology.Name] = generator.topologyMatch
	makers[noderesourcetopology.Name] = newTopologyMatch
}

// ---- cases ----------------------------------------------------------------------------------

func (g generator) zoneResources() (list topology.ResourceInfoList) {
	add := func(name string, p float64, values ...string) {
		if g.chance(p) {
			q := resource.MustParse(one(g, values...))
			list = append(list, topology.ResourceInfo{Name: name, Capacity: q, Allocatable: q, Available: q})
		}
	}
	add("cpu", 0.95, "0", "1", "2", "3500m", "4", "8", "16")
	add("memory", 0.95, "0", "512Mi", "1Gi", "4Gi", "8G", "1500m")
	add("hugepages-2Mi", 0.3, "0", "64Mi", "1Gi")
	add("example.com/gpu", 0.5, "0", "1", "2")
	add("ephemeral-storage", 0.1, "1Gi")
	return list
}

func (g generator) topologyOf(node string) *topology.NodeResourceTopology {
	t := &topology.NodeResourceTopology{
		TypeMeta:   metav1.TypeMeta{APIVersion: "topology.node.k8s.io/v1alpha2", Kind: "NodeResourceTopology"},
		ObjectMeta: metav1.ObjectMeta{Name: node}}
	n := one(g, 1, 2, 2, 2, 4, 4, 8)
	for i := range n {
		zone := topology.Zone{Name: fmt.Sprintf("node-%d", i), Type: "Node", Resources: g.zoneResources()}
		if g.chance(0.8) {
			for k := range n {
				value := int64(10)
				if k != i {
					value = one(g, int64(11), 20, 20, 21, 32)
				}
				zone.Costs = append(zone.Costs, topology.CostInfo{Name: fmt.Sprintf("node-%d", k), Value: value})
			}
		}
		t.Zones = append(t.Zones, zone)
		if g.chance(0.1) {
			t.Zones = append(t.Zones, topology.Zone{Name: fmt.Sprintf("socket-%d", i), Type: "Socket", Resources: g.zoneResources()})
		}
	}
	if g.chance(0.3) {
		t.TopologyPolicies = []string{one(g, "SingleNUMANodePodLevel", "SingleNUMANodeContainerLevel", "Restricted",
			"RestrictedPodLevel", "BestEffortContainerLevel", "None")}
	}
	attribute := func(p float64, name string, values ...string) {
		if g.chance(p) {
			t.Attributes = append(t.Attributes, topology.AttributeInfo{Name: name, Value: one(g, values...)})
		}
	}
	attribute(0.8, "topologyManagerPolicy", "single-numa-node", "single-numa-node", "single-numa-node", "none", "restricted", "nonsense")
	attribute(0.7, "topologyManagerScope", "pod", "container", "other")
	attribute(0.3, "topologyManagerMaxNUMANodes", "8", "16", "1", "x", "5000")
	if n <= 2 { // with more zones than that, upstream's scores are negative
		attribute(0.1, "topologyManagerMaxNUMANodes", "2")
	}
	attribute(0.1, "topologyManagerPolicy", "single-numa-node")
	return t
}

func (g generator) aligned(guaranteed bool) v1.ResourceRequirements {
	r := v1.ResourceRequirements{Requests: v1.ResourceList{}, Limits: v1.ResourceList{}}
	put := func(name v1.ResourceName, p float64, values ...string) {
		if g.chance(p) {
			q := resource.MustParse(one(g, values...))
			r.Requests[name] = q
			if guaranteed || strings.Contains(string(name), "/") {
				r.Limits[name] = q
			}
		}
	}
	p := 0.7
	if guaranteed {
		p = 1
	}
	put("cpu", p, "1", "2", "500m", "3", "4")
	put("memory", p, "256Mi", "1Gi", "2Gi", "1G")
	put("hugepages-2Mi", 0.15, "64Mi", "0")
	put("example.com/gpu", 0.3, "1", "2", "0")
	put("example.com/none", 0.03, "1")
	put("ephemeral-storage", 0.15, "1Gi", "0")
	if !guaranteed && g.chance(0.3) {
		return v1.ResourceRequirements{}
	}
	return r
}

func (g generator) topologyMatch() *testCase {
	c := &testCase{Plugin: noderesourcetopology.Name, Args: map[string]any{}, Filters: true}
	strategy := map[string]any{"type": one(g, "MostAllocated", "LeastAllocated", "BalancedAllocation", "LeastNUMANodes", "LeastNUMANodes")}
	if g.chance(0.5) {
		strategy["resources"] = []any{map[string]any{"name": one(g, "cpu", "memory", "example.com/gpu"), "weight": one(g, int64(1), 3, 100, 0)},
			map[string]any{"name": one(g, "cpu", "memory"), "weight": one(g, int64(1), 2)}}
	}
	if g.chance(0.9) {
		c.Args["scoringStrategy"] = strategy
	}
	for i := range 1 + g.Intn(6) {
		node := g.node(i)
		node.Status.Allocatable["cpu"] = resource.MustParse("64")
		node.Status.Allocatable["memory"] = resource.MustParse("64Gi")
		node.Status.Allocatable["ephemeral-storage"] = resource.MustParse("64Gi")
		if g.chance(0.8) {
			node.Status.Allocatable["example.com/gpu"] = resource.MustParse("8")
			node.Status.Allocatable["hugepages-2Mi"] = resource.MustParse("4Gi")
		}
		c.Nodes = append(c.Nodes, node)
		if g.chance(0.9) {
			c.Objects = append(c.Objects, g.topologyOf(node.Name))
		}
	}
	pod := g.pod("p", 100)
	guaranteed := g.chance(0.7)
	for k := range pod.Spec.Containers {
		pod.Spec.Containers[k].Resources = g.aligned(guaranteed)
	}
	if g.chance(0.3) {
		init := v1.Container{Name: "init", Image: "i", Resources: g.aligned(guaranteed)}
		if g.chance(0.3) {
			always := v1.ContainerRestartPolicyAlways
			init.RestartPolicy = &always
		}
		pod.Spec.InitContainers = []v1.Container{init}
	}
	if g.chance(0.1) {
		pod.Spec.Overhead = v1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("32Mi")}
	}
	c.Pods = []*v1.Pod{pod}
	return c
}

// ---- upstream's plugin: it reads the topologies from an API server ----------------------------

const topologyGroup = "topology.node.k8s.io"

var topologies struct {
	sync.Mutex
	byNode map[string]*topology.NodeResourceTopology
}

func serveTopologies(w http.ResponseWriter, r *http.Request) {
	group := map[string]any{"name": topologyGroup,
		"versions":         []any{map[string]any{"groupVersion": topologyGroup + "/v1alpha2", "version": "v1alpha2"}},
		"preferredVersion": map[string]any{"groupVersion": topologyGroup + "/v1alpha2", "version": "v1alpha2"}}
	base := "/apis/" + topologyGroup
	status := http.StatusOK
	var answer any
	name, isObject := strings.CutPrefix(r.URL.Path, base+"/v1alpha2/noderesourcetopologies/")
	switch {
	case r.URL.Path == "/api":
		answer = map[string]any{"kind": "APIVersions", "versions": []any{"v1"}}
	case r.URL.Path == "/apis":
		answer = map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{group}}
	case r.URL.Path == base:
		group["kind"], group["apiVersion"] = "APIGroup", "v1"
		answer = group
	case r.URL.Path == base+"/v1alpha2":
		answer = map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": topologyGroup + "/v1alpha2",
			"resources": []any{map[string]any{"name": "noderesourcetopologies", "singularName": "noderesourcetopology",
				"namespaced": false, "kind": "NodeResourceTopology", "verbs": []any{"get", "list", "watch"}}}}
	default:
		topologies.Lock()
		defer topologies.Unlock()
		if t := topologies.byNode[name]; isObject && t != nil {
			answer = t
		} else {
			status = http.StatusNotFound
			answer = metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: "NotFound", Code: 404}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

var topologyServer = httptest.NewServer(http.HandlerFunc(serveTopologies))

type topologyHandle struct{ framework.Handle }

func (h *topologyHandle) KubeConfig() *rest.Config {
	return &rest.Config{Host: topologyServer.URL, QPS: -1}
}

func newTopologyMatch(c *testCase, k *cluster) (framework.Plugin, error) {
	args, err := arguments(c.Plugin, c.Args)
	if err != nil {
		return nil, err
	}
	topologies.Lock()
	topologies.byNode = map[string]*topology.NodeResourceTopology{}
	for _, o := range c.Objects {
		t := o.(*topology.NodeResourceTopology)
		topologies.byNode[t.Name] = t
	}
	topologies.Unlock()
	return noderesourcetopology.New(context.Background(), args, &topologyHandle{k.handle})
}
