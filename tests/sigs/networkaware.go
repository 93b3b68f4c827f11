// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sort"

	appgroup "github.com/diktyo-io/appgroup-api/pkg/apis/appgroup/v1alpha1"
	network "github.com/diktyo-io/networktopology-api/pkg/apis/networktopology/v1alpha1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/scheduler-plugins/pkg/networkaware/networkoverhead"
	"sigs.k8s.io/scheduler-plugins/pkg/networkaware/topologicalsort"
)

func init() {
	generators[networkoverhead.Name] = generator.networkOverhead
	makers[networkoverhead.Name] = newNetworkOverhead
	generators[topologicalsort.Name] = generator.topologicalSort
	makers[topologicalsort.Name] = newTopologicalSort
}

// ---- cases ----------------------------------------------------------------------------------

const groupLabel, workloadLabel = appgroup.AppGroupLabel, appgroup.AppGroupSelectorLabel

func workload(i int) appgroup.AppGroupWorkloadInfo {
	return appgroup.AppGroupWorkloadInfo{Kind: "Deployment", Name: fmt.Sprintf("w%d", i), Selector: fmt.Sprintf("w%d", i)}
}

func objectMeta(name string) metav1.ObjectMeta {
	m := meta(name, 0)
	m.Namespace = "default"
	return m
}

func newGroup() *appgroup.AppGroup {
	return &appgroup.AppGroup{TypeMeta: metav1.TypeMeta{APIVersion: groupLabel + "/v1alpha1", Kind: "AppGroup"}, ObjectMeta: objectMeta("group")}
}

func (g generator) costs(key network.TopologyKey, names []string) network.TopologyInfo {
	info := network.TopologyInfo{TopologyKey: key}
	for _, from := range names {
		if g.chance(0.15) {
			continue
		}
		origin := network.OriginInfo{Origin: from}
		for _, to := range names {
			if to != from && g.chance(0.85) {
				origin.CostList = append(origin.CostList, network.CostInfo{Destination: to, NetworkCost: int64(g.Intn(60))})
			}
		}
		info.OriginList = append(info.OriginList, origin)
	}
	g.Shuffle(len(info.OriginList), func(i, j int) {
		info.OriginList[i], info.OriginList[j] = info.OriginList[j], info.OriginList[i]
	})
	return info
}

func (g generator) networkOverhead() *testCase {
	c := &testCase{Plugin: networkoverhead.Name, Args: map[string]any{}, Filters: true, Nodes: g.nodes(10)}
	regions, zones := []string{"r1", "r2", "r3"}, []string{"z1", "z2", "z3", "z4"}
	for _, node := range c.Nodes {
		node.Labels = map[string]string{}
		if g.chance(0.85) {
			node.Labels[v1.LabelTopologyRegion] = one(g, regions...)
		}
		if g.chance(0.85) {
			node.Labels[v1.LabelTopologyZone] = one(g, zones...)
		}
	}
	nt := &network.NetworkTopology{TypeMeta: metav1.TypeMeta{APIVersion: "networktopology.diktyo.x-k8s.io/v1alpha1", Kind: "NetworkTopology"},
		ObjectMeta: objectMeta("nt-default")}
	for _, name := range []string{"UserDefined", "Other"} {
		nt.Spec.Weights = append(nt.Spec.Weights, network.WeightInfo{Name: name, TopologyList: network.TopologyList{
			g.costs(network.NetworkTopologyZone, zones), g.costs(network.NetworkTopologyRegion, regions)}})
	}
	if g.chance(0.3) {
		c.Args["weightsName"] = one(g, "Other", "Unknown")
	}
	group := newGroup()
	for i := range 4 {
		w := appgroup.AppGroupWorkload{Workload: workload(i)}
		for range g.Intn(4) {
			w.Dependencies = append(w.Dependencies, appgroup.DependenciesInfo{Workload: workload(g.Intn(4)), MaxNetworkCost: int64(g.Intn(60))})
		}
		group.Spec.Workloads = append(group.Spec.Workloads, w)
	}
	c.Objects = []any{nt, group}
	c.Pods = append(g.running(c.Nodes, 12), g.pod("p", 100))
	for _, pod := range c.Pods {
		pod.Labels = map[string]string{workloadLabel: workload(g.Intn(5)).Selector}
		if g.chance(0.9) {
			pod.Labels[groupLabel] = "group"
		}
	}
	return c
}

func (g generator) topologicalSort() *testCase {
	c := &testCase{Plugin: topologicalsort.Name, Args: map[string]any{}}
	c.Nodes = g.qosSort().Nodes
	group := newGroup()
	n := 2 + g.Intn(12)
	order := g.Perm(n)
	for i := range n {
		group.Status.TopologyOrder = append(group.Status.TopologyOrder, appgroup.AppGroupTopologyInfo{Workload: workload(i), Index: int32(order[i] + 1)})
	}
	sort.Slice(group.Status.TopologyOrder, func(i, j int) bool {
		return group.Status.TopologyOrder[i].Workload.Selector < group.Status.TopologyOrder[j].Workload.Selector
	})
	grouped := g.chance(0.6)
	for i := range n {
		pod := g.pod(fmt.Sprintf("p%d", i), i)
		priority := one(g, int32(0), 0, 1, -5)
		pod.Spec.Priority = &priority
		if grouped {
			pod.Labels = map[string]string{groupLabel: "group", workloadLabel: workload(i).Selector}
		}
		c.Pods = append(c.Pods, pod)
	}
	c.Objects = []any{group}
	return c
}

// ---- upstream's plugins ---------------------------------------------------------------------

// objectReader answers with the objects of a case.
type objectReader struct {
	client.Client
	objects []any
}

func (r objectReader) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	for _, o := range r.objects {
		found := o.(client.Object)
		if found.GetName() != key.Name || found.GetNamespace() != key.Namespace {
			continue
		}
		switch to := into.(type) {
		case *appgroup.AppGroup:
			if from, ok := o.(*appgroup.AppGroup); ok {
				from.DeepCopyInto(to)
				return nil
			}
		case *network.NetworkTopology:
			if from, ok := o.(*network.NetworkTopology); ok {
				from.DeepCopyInto(to)
				return nil
			}
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

type nodeLister struct {
	framework.NodeInfoLister
	k *cluster
}

func (l nodeLister) List() ([]fwk.NodeInfo, error) { return l.k.infos(), nil }
func (l nodeLister) Get(name string) (fwk.NodeInfo, error) {
	for _, node := range l.k.nodes {
		if node.Node().Name == name {
			return node, nil
		}
	}
	return nil, fmt.Errorf("no node %s", name)
}

type sharedLister struct {
	framework.SharedLister
	k *cluster
}

func (l sharedLister) NodeInfos() framework.NodeInfoLister { return nodeLister{k: l.k} }

type networkHandle struct {
	topologyHandle
	k       *cluster
	factory informers.SharedInformerFactory
}

func (h *networkHandle) SnapshotSharedLister() framework.SharedLister { return sharedLister{k: h.k} }
func (h *networkHandle) SharedInformerFactory() informers.SharedInformerFactory {
	return h.factory
}

func (p podsOf) Lister() corelisters.PodLister { return corelisters.NewPodLister(p.f.pods) }

func newHandle(c *testCase, k *cluster) (*networkHandle, error) {
	pods := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, pod := range c.Pods {
		if err := pods.Add(pod); err != nil {
			return nil, err
		}
	}
	return &networkHandle{topologyHandle{k.handle}, k, &factory{pods: pods}}, nil
}

// newNetworkAware makes a plugin. It starts a cache of its own, which ends with the case; its client
// reads from the objects instead.
func newNetworkAware(c *testCase, k *cluster, make frameworkruntime.PluginFactory, use func(framework.Plugin, objectReader)) (framework.Plugin, error) {
	args, err := arguments(c.Plugin, c.Args)
	if err != nil {
		return nil, err
	}
	h, err := newHandle(c, k)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	plugin, err := make(ctx, args, h)
	if err == nil {
		use(plugin, objectReader{objects: c.Objects})
	}
	return plugin, err
}

func newNetworkOverhead(c *testCase, k *cluster) (framework.Plugin, error) {
	return newNetworkAware(c, k, networkoverhead.New, func(p framework.Plugin, r objectReader) {
		p.(*networkoverhead.NetworkOverhead).Client = r
	})
}

func newTopologicalSort(c *testCase, k *cluster) (framework.Plugin, error) {
	return newNetworkAware(c, k, topologicalsort.New, func(p framework.Plugin, r objectReader) {
		p.(*topologicalsort.TopologicalSort).Client = r
	})
}
