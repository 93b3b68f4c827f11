// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/scheduler-plugins/pkg/preemptiontoleration"
)

// simulated is the time in a simulation, which begins in 1970.
var simulated = time.Unix(0, 1000)

func init() {
	preemptors[preemptiontoleration.Name] = &preemptor{
		make: func(ctx context.Context, c *testCase, h framework.Handle) (framework.Plugin, error) {
			args, err := arguments(c.Plugin, c.Args)
			if err != nil {
				return nil, err
			}
			plugin, err := preemptiontoleration.New(ctx, args, h)
			if err != nil {
				return nil, err
			}
			*member[clock.Clock](plugin, "clock") = clocktesting.NewFakeClock(simulated)
			return plugin, nil
		},
		victims: func(ctx context.Context, plugin framework.Plugin, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo,
			budgets []*policyv1.PodDisruptionBudget) ([]*v1.Pod, int, *fwk.Status) {
			return plugin.(*preemptiontoleration.PreemptionToleration).SelectVictimsOnNode(ctx, state, pod, node, budgets)
		},
	}
	generators[preemptiontoleration.Name] = generator.preemptionToleration
}

func (g generator) priorityClass(i int) *schedulingv1.PriorityClass {
	class := &schedulingv1.PriorityClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: "scheduling.k8s.io/v1", Kind: "PriorityClass"},
		ObjectMeta: meta(fmt.Sprintf("class%d", i), i), Value: one(g, int32(0), 5, 10)}
	class.Annotations = map[string]string{}
	if g.chance(0.8) {
		class.Annotations[preemptiontoleration.AnnotationKeyMinimumPreemptablePriority] = one(g, "10", "9", "11", "21",
			"2147483647", "-5", "+11", "2147483648", "x", "")
	}
	if g.chance(0.8) {
		class.Annotations[preemptiontoleration.AnnotationKeyTolerationSeconds] = one(g, "0", "1", "100", "3600", "-1", "+50",
			"1000000000", "1h", "9223372036854775808")
	}
	return class
}

func (g generator) preemptionToleration() *testCase {
	c := &testCase{Plugin: preemptiontoleration.Name, Args: map[string]any{}}
	for i := range 1 + g.Intn(4) {
		c.Nodes = append(c.Nodes, g.smallNode(i))
	}
	g.crowd(c)
	for i := range 3 {
		c.Objects = append(c.Objects, g.priorityClass(i))
	}
	for _, pod := range c.Pods {
		if g.chance(0.7) {
			pod.Spec.PriorityClassName = one(g, "class0", "class1", "class2")
		} else if g.chance(0.03) {
			pod.Spec.PriorityClassName = "none"
		}
		if g.chance(0.9) {
			condition := v1.PodCondition{Type: v1.PodScheduled, Status: one(g, v1.ConditionTrue, v1.ConditionTrue, v1.ConditionFalse)}
			if g.chance(0.9) {
				condition.LastTransitionTime = metav1.NewTime(time.Unix(one(g, int64(0), -1, -50, -99, -100, -101, -10000, 100), 0))
			}
			pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}, condition}
		}
	}
	g.budgets(c, "default")
	g.reserve(c)
	return c
}
