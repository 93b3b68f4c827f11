// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	"sigs.k8s.io/scheduler-plugins/pkg/capacityscheduling"
)

// The plugin's own handlers of events, and its SelectVictimsOnNode, are not exported.

//go:linkname addElasticQuota sigs.k8s.io/scheduler-plugins/pkg/capacityscheduling.(*CapacityScheduling).addElasticQuota
func addElasticQuota(c *capacityscheduling.CapacityScheduling, obj any)

//go:linkname addPod sigs.k8s.io/scheduler-plugins/pkg/capacityscheduling.(*CapacityScheduling).addPod
func addPod(c *capacityscheduling.CapacityScheduling, obj any)

// quotaPreemptor has the layout of capacityscheduling.preemptor.
type quotaPreemptor struct {
	logger klog.Logger
	fh     framework.Handle
	state  fwk.CycleState
}

//go:linkname selectVictims sigs.k8s.io/scheduler-plugins/pkg/capacityscheduling.(*preemptor).SelectVictimsOnNode
func selectVictims(p unsafe.Pointer, ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo,
	budgets []*policyv1.PodDisruptionBudget) ([]*v1.Pod, int, *fwk.Status)

// noQuotas is asked for the quotas of namespaces that have none.
type noQuotas struct{ client.Client }

func (noQuotas) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func init() {
	preemptors[capacityscheduling.Name] = &preemptor{
		points: []string{"preFilter", "reserve"},
		make: func(_ context.Context, c *testCase, h framework.Handle) (framework.Plugin, error) {
			plugin := &capacityscheduling.CapacityScheduling{}
			*member[klog.Logger](plugin, "logger") = klog.Background()
			*member[framework.Handle](plugin, "fh") = h
			*member[corelisters.PodLister](plugin, "podLister") = h.SharedInformerFactory().Core().V1().Pods().Lister()
			*member[policylisters.PodDisruptionBudgetLister](plugin, "pdbLister") =
				h.SharedInformerFactory().Policy().V1().PodDisruptionBudgets().Lister()
			*member[client.Client](plugin, "client") = noQuotas{}
			*member[capacityscheduling.ElasticQuotaInfos](plugin, "elasticQuotaInfos") = capacityscheduling.NewElasticQuotaInfos()
			for _, o := range c.Objects {
				if quota, ok := o.(*v1alpha1.ElasticQuota); ok {
					addElasticQuota(plugin, quota)
				}
			}
			for _, pod := range c.Pods {
				if pod.Spec.NodeName != "" {
					addPod(plugin, pod)
				}
			}
			return plugin, nil
		},
		victims: func(ctx context.Context, plugin framework.Plugin, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo,
			budgets []*policyv1.PodDisruptionBudget) ([]*v1.Pod, int, *fwk.Status) {
			p := &quotaPreemptor{klog.Background(), *member[framework.Handle](plugin, "fh"), state}
			return selectVictims(unsafe.Pointer(p), ctx, state, pod, node, budgets)
		},
		bug: quotaBug,
	}
	generators[capacityscheduling.Name] = generator.capacityScheduling
}

// quotaBug recognizes the two bugs of upstream's reprieve: a pod that neither fits nor is within the
// quotas is removed twice, which fails; and a pod that is evicted for the quotas' sake does not count
// as a violation of its budget, so that another node may be chosen.
func quotaBug(u *decision, b *attempt) string {
	if b.PostFilter == nil {
		return ""
	}
	if slices.Contains(u.twice, b.PostFilter.NominatedNode) {
		return "a victim is removed twice"
	}
	if u.budgets == 0 || u.node == "" {
		return ""
	}
	want := u.choices[b.PostFilter.NominatedNode]
	if want != nil && reflect.DeepEqual(b.PostFilter.Victims, want.victims) && b.PostFilter.Violations >= want.violations {
		return "a victim of the quotas does not count against its budget"
	}
	return ""
}

func isTwice(status *fwk.Status) bool {
	return strings.Contains(status.Message(), "no corresponding pod ")
}

func (g generator) quotaList(p float64) v1.ResourceList {
	list := v1.ResourceList{}
	add := func(name v1.ResourceName, p float64, values ...string) {
		if g.chance(p) {
			list[name] = resource.MustParse(one(g, values...))
		}
	}
	add(v1.ResourceCPU, 0.97, "1", "2", "3", "4", "6", "8", "12", "1500m")
	add(v1.ResourceMemory, p, "2Gi", "8Gi", "8Gi", "20G")
	add("example.com/gpu", p/2, "0", "1", "2", "4")
	if len(list) == 0 {
		return nil // as a client reads what it wrote
	}
	return list
}

func (g generator) elasticQuota(namespace string, i int) *v1alpha1.ElasticQuota {
	quota := &v1alpha1.ElasticQuota{
		TypeMeta:   metav1.TypeMeta{APIVersion: "scheduling.x-k8s.io/v1alpha1", Kind: "ElasticQuota"},
		ObjectMeta: meta(fmt.Sprintf("quota%d", i), i)}
	quota.Namespace = namespace
	if g.chance(0.95) {
		quota.Spec.Min = g.quotaList(0.9)
	}
	if g.chance(0.6) {
		quota.Spec.Max = g.quotaList(0.95)
		for name, least := range quota.Spec.Min {
			if most, ok := quota.Spec.Max[name]; ok && most.Cmp(least) < 0 && g.chance(0.8) {
				quota.Spec.Max[name] = least
			}
		}
	}
	return quota
}

func (g generator) capacityScheduling() *testCase {
	c := &testCase{Plugin: capacityscheduling.Name}
	for i := range 1 + g.Intn(4) {
		c.Nodes = append(c.Nodes, g.smallNode(i))
	}
	namespaces := []string{"a", "b", "c", "free"}
	g.crowd(c)
	for i, namespace := range namespaces[:1+g.Intn(3)] {
		c.Objects = append(c.Objects, g.elasticQuota(namespace, i))
	}
	g.budgets(c, namespaces...)
	g.reserve(c)
	for _, pod := range c.Pods {
		pod.Namespace = one(g, "a", "a", "b", "b", "c", "free")
		if g.chance(0.15) {
			pod.Spec.InitContainers = []v1.Container{{Name: "init", Image: "i",
				Resources: v1.ResourceRequirements{Requests: g.request()}}}
		}
		if g.chance(0.05) {
			pod.Spec.Overhead = v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m")}
		}
	}
	return c
}
