// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// A groupCase is a cluster with one group of pods to place. It is drawn so that upstream has one
// answer: members differ in priority, which is the order in which they are tried; victims differ in
// age; budgets do not overlap.
type groupCase struct {
	nodes   []*corev1.Node
	groups  []*schedulingv1alpha2.PodGroup // the last is the one to place
	budgets []*policyv1.PodDisruptionBudget
	there   []*corev1.Pod // have a node
	members []*corev1.Pod
	others  []*corev1.Pod // also wait, each nominated to a node; none is tried before the group
}

const (
	theGroup  = "gang"
	groupZone = "zone"
)

type groupDraw struct {
	*draw
	groupCase
	priority int // of the group
}

func generateGroup(seed uint64) *groupCase {
	d := &groupDraw{draw: newDraw(seed)}
	d.drawNodes()
	for i := range d.IntN(3) {
		d.groups = append(d.groups, d.group(fmt.Sprintf("v%d", i), 1, d.IntN(5)*10))
		if d.chance(0.5) {
			d.groups[i].Spec.DisruptionMode = ptr.To(schedulingv1alpha2.DisruptionModePodGroup)
		}
	}
	d.drawThere()
	d.drawBudgets()
	d.drawMembers()
	for i := range d.IntN(3) {
		o := d.pod(fmt.Sprintf("x%d", i), d.priority+4-d.IntN(6))
		o.Status.NominatedNodeName = d.anyNode()
		d.others = append(d.others, o)
	}
	return &d.groupCase
}

func (d *groupDraw) anyNode() string { return d.nodes[d.IntN(len(d.nodes))].Name }

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-of-" + name)}
}

func typeOf(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}

func (d *groupDraw) drawNodes() {
	for i := range d.between(1, 5) {
		n := &corev1.Node{TypeMeta: typeOf("v1", "Node"), ObjectMeta: meta(fmt.Sprintf("n%d", i))}
		n.Namespace = ""
		n.Labels = map[string]string{"kubernetes.io/hostname": n.Name}
		if d.chance(0.85) {
			n.Labels[groupZone] = fmt.Sprintf("z%d", d.IntN(3))
		}
		n.Status.Allocatable = corev1.ResourceList{"cpu": *resource.NewQuantity(int64(d.between(2, 8)), resource.DecimalSI),
			"memory": resource.MustParse("64Gi"), "pods": resource.MustParse("110")}
		d.nodes = append(d.nodes, n)
	}
}

func (d *groupDraw) group(name string, min, priority int) *schedulingv1alpha2.PodGroup {
	g := &schedulingv1alpha2.PodGroup{TypeMeta: typeOf("scheduling.k8s.io/v1alpha2", "PodGroup"), ObjectMeta: meta(name)}
	g.Spec.SchedulingPolicy.Gang = &schedulingv1alpha2.GangSchedulingPolicy{MinCount: int32(min)}
	g.Spec.Priority = ptr.To(int32(priority))
	return g
}

func (d *groupDraw) pod(name string, priority int) *corev1.Pod {
	cpu := *resource.NewQuantity(int64(d.between(1, 3)), resource.DecimalSI)
	return &corev1.Pod{TypeMeta: typeOf("v1", "Pod"), ObjectMeta: meta(name),
		Spec: corev1.PodSpec{SchedulerName: "default-scheduler", Priority: ptr.To(int32(priority)),
			Containers: []corev1.Container{{Name: "c", Image: "i",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": cpu}}}}}}
}

func join(p *corev1.Pod, group string) {
	p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: ptr.To(group)}
}

// drawThere fills the nodes, more or less.
func (d *groupDraw) drawThere() {
	ages := d.Perm(100)
	for _, n := range d.nodes {
		for room := n.Status.Allocatable.Cpu().Value(); room > 0 && d.chance(0.88); {
			p := d.pod(fmt.Sprintf("b%02d", len(d.there)), d.between(-1, 4)*10)
			if room -= p.Spec.Containers[0].Resources.Requests.Cpu().Value(); room < 0 {
				break
			}
			p.Spec.NodeName = n.Name
			p.Status.StartTime = ptr.To(metav1.Unix(int64(1_600_000_000+ages[len(d.there)]), 0))
			d.drawCompany(p)
			d.there = append(d.there, p)
		}
	}
}

// drawCompany: groups, budgets, and terminating pods.
func (d *groupDraw) drawCompany(p *corev1.Pod) {
	if len(d.groups) > 0 && d.chance(0.3) {
		join(p, d.groups[d.IntN(len(d.groups))].Name)
	} else if d.chance(0.08) {
		join(p, theGroup)
	}
	if d.chance(0.3) {
		p.Labels = map[string]string{"app": fmt.Sprintf("a%d", d.IntN(2))}
	}
	if d.chance(0.12) {
		p.DeletionTimestamp = ptr.To(metav1.Unix(1_700_000_000, 0))
		p.Finalizers = []string{"berth.test/stays"}
		if d.chance(0.5) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
				Reason: corev1.PodReasonPreemptionByScheduler}}
		}
	}
}

func (d *groupDraw) drawBudgets() {
	for i := range 2 {
		if app := fmt.Sprintf("a%d", i); d.chance(0.5) {
			d.budgets = append(d.budgets, &policyv1.PodDisruptionBudget{
				TypeMeta: typeOf("policy/v1", "PodDisruptionBudget"), ObjectMeta: meta(app),
				Spec:   policyv1.PodDisruptionBudgetSpec{Selector: appIs(app)},
				Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: int32(d.IntN(3))}})
		}
	}
}

func appIs(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func (d *groupDraw) drawMembers() {
	n := d.between(1, 5)
	d.priority = pick(d.draw, -5, 15, 25, 35, 45)
	g := d.group(theGroup, d.between(1, n), d.priority)
	if d.chance(0.5) {
		// Counts with TopologyAwareWorkloadScheduling.
		g.Spec.SchedulingConstraints = &schedulingv1alpha2.PodGroupSchedulingConstraints{
			Topology: []schedulingv1alpha2.TopologyConstraint{{Key: groupZone}}}
	}
	if d.chance(0.15) {
		g.Spec.SchedulingPolicy = schedulingv1alpha2.PodGroupSchedulingPolicy{Basic: &schedulingv1alpha2.BasicSchedulingPolicy{}}
	}
	if d.chance(0.1) {
		g.Spec.Priority = nil
	}
	d.groups = append(d.groups, g)
	for i := range n {
		p := d.pod(fmt.Sprintf("g%d", i), d.priority+4-i)
		join(p, theGroup)
		d.drawWishes(p)
		if i == n-1 {
			d.drawAffinity(p)
		}
		d.members = append(d.members, p)
	}
}

func (d *groupDraw) drawWishes(p *corev1.Pod) {
	if d.chance(0.5) {
		p.Labels = map[string]string{"app": theGroup}
	}
	if d.chance(0.08) {
		p.Spec.PreemptionPolicy = ptr.To(corev1.PreemptNever)
	}
	if d.chance(0.15) {
		p.Status.NominatedNodeName = d.anyNode()
	}
	if d.chance(0.2) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: int32(d.between(1, 2)),
			TopologyKey: pick(d.draw, groupZone, "kubernetes.io/hostname"), LabelSelector: appIs(theGroup),
			WhenUnsatisfiable: pick(d.draw, corev1.DoNotSchedule, corev1.ScheduleAnyway)}}
	}
}

// drawAffinity is for the last member only: upstream does not see the terms of members that are
// tried before it, since its snapshot keeps a list of nodes with such pods that dry runs do not
// update.
func (d *groupDraw) drawAffinity(p *corev1.Pod) {
	term := []corev1.PodAffinityTerm{{TopologyKey: pick(d.draw, groupZone, "kubernetes.io/hostname"),
		LabelSelector: appIs(pick(d.draw, theGroup, "a0"))}}
	if d.chance(0.2) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: term}}
	} else if d.chance(0.2) {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: term}}
	}
}
