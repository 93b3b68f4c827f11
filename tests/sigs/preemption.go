// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"sort"
	"strings"
	"time"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	schedconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultbinder"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// preemptor is a plugin that preempts, in a profile with NodeResourcesFit.
type preemptor struct {
	make func(ctx context.Context, c *testCase, h framework.Handle) (framework.Plugin, error)
	// victims is the plugin's SelectVictimsOnNode.
	victims func(ctx context.Context, plugin framework.Plugin, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo,
		budgets []*policyv1.PodDisruptionBudget) ([]*v1.Pod, int, *fwk.Status)
	points []string // at which it runs, besides postFilter
	// bug names a known bug of upstream that explains a difference; "": none does.
	bug func(u *decision, b *attempt) string
}

var preemptors = map[string]*preemptor{}

// Bugs of upstream that explained differences, with how often: see docs/compat.md.
var bugs = map[string]int{}

// ---- configuration ------------------------------------------------------------------------------

func preemptionPlugins(plugin string) map[string]any {
	enabled := func(names ...string) (list []any) {
		for _, name := range names {
			list = append(list, map[string]any{"name": name})
		}
		return list
	}
	plugins := map[string]any{
		"multiPoint": map[string]any{"disabled": enabled("*"),
			"enabled": enabled("PrioritySort", "NodeAffinity", "NodeResourcesFit", "DefaultBinder")},
		"postFilter": map[string]any{"enabled": enabled(plugin)},
	}
	for _, point := range preemptors[plugin].points {
		plugins[point] = map[string]any{"enabled": enabled(plugin)}
	}
	return plugins
}

// ---- upstream -----------------------------------------------------------------------------------

// member returns a pointer to an unexported member.
func member[T any](object any, name string) *T {
	field := reflect.ValueOf(object).Elem().FieldByName(name)
	return (*T)(unsafe.Pointer(field.UnsafeAddr()))
}

type nominator map[string][]fwk.PodInfo

func (n nominator) AddNominatedPod(klog.Logger, fwk.PodInfo, *framework.NominatingInfo) {}
func (n nominator) DeleteNominatedPodIfExists(*v1.Pod)                                  {}
func (n nominator) UpdateNominatedPod(klog.Logger, *v1.Pod, fwk.PodInfo)                {}
func (n nominator) NominatedPodsForNode(node string) []fwk.PodInfo                      { return n[node] }

type choice struct {
	victims    []string
	violations int
	rank       [5]int64 // lower is better
}

// decision is the result of an attempt to schedule pod p.
type decision struct {
	preFilter []pluginVerdict
	fits      bool
	code      string
	message   string
	node      string
	choices   map[string]*choice // nodes that preemption helps
	budgets   int
	twice     []string // nodes with a bug of upstream: see quotaBug
}

func init() {
	metrics.Register()
	quiet := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(quiet)
	_ = quiet.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"})
	klog.SetOutput(io.Discard)
}

type upstreamCase struct {
	plugin    *preemptor
	instance  framework.Plugin
	framework framework.Framework
	snapshot  *cache.Snapshot
	budgets   []*policyv1.PodDisruptionBudget
	pod       *v1.Pod
}

func newUpstreamCase(ctx context.Context, c *testCase) (*upstreamCase, error) {
	u := &upstreamCase{plugin: preemptors[c.Plugin]}
	var objects []runtime.Object
	var running []*v1.Pod
	nominated := nominator{}
	for _, pod := range c.Pods {
		objects = append(objects, pod)
		if pod.Spec.NodeName != "" {
			running = append(running, pod)
		} else if pod.Name == "p" {
			u.pod = pod
		}
		if n := pod.Status.NominatedNodeName; n != "" {
			info, err := podInfo(pod)
			if err != nil {
				return nil, err
			}
			nominated[n] = append(nominated[n], info)
		}
	}
	clients := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(clients, 0)
	for _, pod := range c.Pods {
		_ = factory.Core().V1().Pods().Informer().GetIndexer().Add(pod)
	}
	for _, o := range c.Objects {
		switch o := o.(type) {
		case *schedulingv1.PriorityClass:
			_ = factory.Scheduling().V1().PriorityClasses().Informer().GetIndexer().Add(o)
		case *policyv1.PodDisruptionBudget:
			_ = factory.Policy().V1().PodDisruptionBudgets().Informer().GetIndexer().Add(o)
			u.budgets = append(u.budgets, o)
		}
	}
	u.snapshot = cache.NewSnapshot(running, c.Nodes)
	registry := frameworkruntime.Registry{
		queuesort.Name:     queuesort.New,
		defaultbinder.Name: defaultbinder.New,
		noderesources.Name: frameworkruntime.FactoryAdapter(feature.Features{}, noderesources.NewFit),
		c.Plugin: func(ctx context.Context, _ runtime.Object, h framework.Handle) (framework.Plugin, error) {
			var err error
			u.instance, err = u.plugin.make(ctx, c, h)
			return u.instance, err
		},
	}
	set := func(names ...string) (s schedconfig.PluginSet) {
		for _, name := range names {
			s.Enabled = append(s.Enabled, schedconfig.Plugin{Name: name})
		}
		return s
	}
	plugins := &schedconfig.Plugins{QueueSort: set(queuesort.Name), Bind: set(defaultbinder.Name),
		PreFilter: set(noderesources.Name), Filter: set(noderesources.Name), PostFilter: set(c.Plugin)}
	if slices.Contains(u.plugin.points, "preFilter") {
		plugins.PreFilter = set(noderesources.Name, c.Plugin)
	}
	var err error
	u.framework, err = frameworkruntime.NewFramework(ctx, registry,
		&schedconfig.KubeSchedulerProfile{SchedulerName: "default-scheduler", Plugins: plugins,
			PluginConfig: []schedconfig.PluginConfig{{Name: c.Plugin, Args: &schedconfig.DefaultPreemptionArgs{}},
				{Name: noderesources.Name, Args: &schedconfig.NodeResourcesFitArgs{ScoringStrategy: &schedconfig.ScoringStrategy{
					Type: schedconfig.LeastAllocated, Resources: []schedconfig.ResourceSpec{{Name: "cpu", Weight: 1}}}}}}},
		frameworkruntime.WithClientSet(clients), frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithEventRecorder(&events.FakeRecorder{}), frameworkruntime.WithPodNominator(nominated),
		frameworkruntime.WithSnapshotSharedLister(u.snapshot), frameworkruntime.WithWaitingPods(frameworkruntime.NewWaitingPodsMap()))
	return u, err
}

func (u *upstreamCase) choice(ctx context.Context, state fwk.CycleState, node fwk.NodeInfo, d *decision) *choice {
	victims, violations, status := u.plugin.victims(ctx, u.instance, state.Clone(), u.pod, node.Snapshot(), u.budgets)
	if isTwice(status) {
		d.twice = append(d.twice, node.Node().Name)
	}
	if !status.IsSuccess() || len(victims) == 0 {
		return nil
	}
	c := &choice{violations: violations}
	highest, sum, start := int64(priority(victims[0])), int64(0), int64(math.MaxInt64)
	for _, v := range victims {
		c.victims = append(c.victims, v.Namespace+"/"+v.Name)
		sum += int64(priority(v)) + math.MaxInt32 + 1
	}
	most := slices.MaxFunc(victims, func(a, b *v1.Pod) int { return int(priority(a)) - int(priority(b)) })
	for _, v := range victims {
		if priority(v) == priority(most) {
			start = min(start, v.Status.StartTime.Unix())
		}
	}
	c.rank = [5]int64{int64(violations), highest, sum, int64(len(victims)), -start}
	return c
}

func priority(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// decide runs the attempt with upstream's code.
func (u *upstreamCase) decide(ctx context.Context) (*decision, error) {
	d := &decision{choices: map[string]*choice{}, budgets: len(u.budgets)}
	state := framework.NewCycleState()
	_, status, _ := u.framework.RunPreFilterPlugins(ctx, state, u.pod)
	nodes, err := u.snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	verdicts := framework.NewDefaultNodeToStatus()
	if !status.IsSuccess() {
		d.preFilter = []pluginVerdict{{status.Plugin(), status.Code().String(), status.Reasons()}}
		verdicts.SetAbsentNodesStatus(status)
	} else {
		for _, node := range nodes {
			s := u.framework.RunFilterPluginsWithNominatedPods(ctx, state, u.pod, node)
			d.fits = d.fits || s.IsSuccess()
			verdicts.Set(node.Node().Name, s)
		}
	}
	if d.fits {
		return d, nil
	}
	result, status := u.framework.RunPostFilterPlugins(ctx, state, u.pod, verdicts)
	d.code, d.message = status.Code().String(), status.Message()
	if result != nil && result.NominatingInfo != nil {
		d.node = result.NominatedNodeName
	}
	potential, err := verdicts.NodesForStatusCode(u.snapshot.NodeInfos(), fwk.Unschedulable)
	if err != nil {
		return nil, err
	}
	for _, node := range potential {
		if c := u.choice(ctx, state, node, d); c != nil {
			d.choices[node.Node().Name] = c
		}
	}
	return d, nil
}

// ---- comparison ---------------------------------------------------------------------------------

// best returns the nodes that upstream may choose: it takes any of equals.
func (d *decision) best() (names []string) {
	var rank [5]int64
	for name, c := range d.choices {
		order := slices.Compare(c.rank[:], rank[:])
		if len(names) == 0 || order < 0 {
			names, rank = nil, c.rank
		}
		if len(names) == 0 || slices.Compare(c.rank[:], rank[:]) == 0 {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

func (d *decision) differs(c *testCase, a *attempt) string {
	var own []pluginVerdict
	for _, v := range a.PreFilter {
		if v.Name == c.Plugin && v.Code != "Success" && v.Code != "Skip" {
			own = append(own, v)
		}
	}
	if !reflect.DeepEqual(own, d.preFilter) {
		return fmt.Sprintf("PreFilter: berth %+v, upstream %+v", own, d.preFilter)
	}
	if scheduled := a.Outcome == "scheduled"; scheduled != d.fits {
		return fmt.Sprintf("scheduled: berth %v, upstream %v", scheduled, d.fits)
	}
	if d.fits {
		return ""
	}
	b := a.PostFilter
	if b == nil {
		return "berth did not run PostFilter"
	}
	if text := strings.Join(b.Reasons, ", "); b.Code != d.code || (d.node == "" && text != d.message) {
		return fmt.Sprintf("PostFilter: berth %s %q, upstream %s %q", b.Code, text, d.code, d.message)
	}
	if d.node == "" {
		if b.NominatedNode != "" {
			return "berth nominates " + b.NominatedNode
		}
		return ""
	}
	best := d.best()
	if !slices.Contains(best, d.node) {
		return fmt.Sprintf("upstream chose %s, the comparison expects one of %v", d.node, best)
	}
	if !slices.Contains(best, b.NominatedNode) {
		return fmt.Sprintf("node: berth %q, upstream one of %v", b.NominatedNode, best)
	}
	want := d.choices[b.NominatedNode]
	if !reflect.DeepEqual(b.Victims, want.victims) || b.Violations != want.violations {
		return fmt.Sprintf("victims on %s: berth %v (%d violations), upstream %v (%d)", b.NominatedNode, b.Victims,
			b.Violations, want.victims, want.violations)
	}
	return ""
}

func comparePreemption(c *testCase, attempts []attempt) (string, error) {
	ctx := context.Background()
	u, err := newUpstreamCase(ctx, c)
	if err != nil {
		return "", err
	}
	d, err := u.decide(ctx)
	if err != nil {
		return "", err
	}
	for i := range attempts {
		a := &attempts[i]
		if a.Pod != "p" {
			continue
		}
		if !d.fits {
			scored[c.Plugin]++
			outcomes[c.Plugin+": "+d.kind()]++
		}
		text := d.differs(c, a)
		if text != "" && u.plugin.bug != nil {
			if bug := u.plugin.bug(d, a); bug != "" {
				bugs[c.Plugin+": "+bug]++
				return "", nil
			}
		}
		return text, nil
	}
	return "pod p was not tried", nil
}

// outcomes counts what the cases had to compare.
var outcomes = map[string]int{}

func (d *decision) kind() string {
	switch {
	case d.node != "":
		return "victims"
	case d.code == "Error":
		return "errors"
	}
	return "refusals"
}

// ---- cases --------------------------------------------------------------------------------------

func (g generator) smallNode(i int) *v1.Node {
	list := v1.ResourceList{v1.ResourcePods: resource.MustParse("30"), v1.ResourceCPU: resource.MustParse(one(g, "2", "3", "4")),
		v1.ResourceMemory: resource.MustParse(one(g, "2Gi", "4Gi", "8Gi"))}
	if g.chance(0.5) {
		list["example.com/gpu"] = resource.MustParse(one(g, "1", "2", "4"))
	}
	return &v1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: meta(fmt.Sprintf("n%d", i), i),
		Status: v1.NodeStatus{Allocatable: list, Capacity: list}}
}

func (g generator) request() v1.ResourceList {
	list := v1.ResourceList{v1.ResourceCPU: resource.MustParse(one(g, "500m", "700m", "1", "1", "2"))}
	if g.chance(0.6) {
		list[v1.ResourceMemory] = resource.MustParse(one(g, "256Mi", "1Gi", "1500M"))
	}
	if g.chance(0.25) {
		list["example.com/gpu"] = resource.MustParse(one(g, "0", "1", "1", "2"))
	}
	return list
}

// small has pods with one container that requests something.
func (g generator) small(name string, i int) *v1.Pod {
	pod := g.pod(name, i)
	pod.Spec.Containers = pod.Spec.Containers[:1]
	pod.Spec.Containers[0].Resources.Requests = g.request()
	level := one(g, int32(-10), 0, 0, 1, 5, 10, 10)
	pod.Spec.Priority = &level
	if g.chance(0.7) {
		pod.Labels = map[string]string{"app": one(g, "a", "b", "c")}
	}
	return pod
}

// crowd fills the nodes.
func (g generator) crowd(c *testCase) {
	i := 0
	for _, node := range c.Nodes {
		free := node.Status.Allocatable.Cpu().MilliValue()
		for range 2 + g.Intn(8) {
			pod := g.small(fmt.Sprintf("r%d", i), i)
			i++
			if free -= pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue(); free < 0 {
				break
			}
			pod.Spec.NodeName = node.Name
			pod.Status.Phase = v1.PodRunning
			start := metav1.NewTime(time.Unix(1700000000+int64(g.Intn(20)), 0))
			pod.Status.StartTime = &start
			if g.chance(0.05) {
				pod.DeletionTimestamp = &start
			}
			c.Pods = append(c.Pods, pod)
		}
	}
}

// reserve adds pods that are nominated and cannot be scheduled, then the pod to schedule.
func (g generator) reserve(c *testCase) *v1.Pod {
	p := g.small("p", 200)
	if g.chance(0.7) {
		level := one(g, int32(5), 8, 10, 20)
		p.Spec.Priority = &level
	}
	never := v1.PreemptNever
	if g.chance(0.05) {
		p.Spec.PreemptionPolicy = &never
	}
	for i := range g.Intn(3) {
		if g.chance(0.6) {
			continue
		}
		pod := g.small(fmt.Sprintf("q%d", i), 100+i)
		level := priority(p) + int32(one(g, -1, 0, 0, 1))
		pod.Spec.Priority, pod.Spec.PreemptionPolicy = &level, &never
		pod.Spec.NodeSelector = map[string]string{"nowhere": "true"}
		pod.Status.NominatedNodeName = one(g, c.Nodes...).Name
		c.Pods = append(c.Pods, pod)
	}
	if g.chance(0.1) {
		p.Status.NominatedNodeName = one(g, c.Nodes...).Name
	}
	c.Pods = append(c.Pods, p)
	return p
}

func (g generator) budgets(c *testCase, namespaces ...string) {
	if g.chance(0.6) {
		return
	}
	for i, app := range []string{"a", "b"}[:1+g.Intn(2)] {
		b := &policyv1.PodDisruptionBudget{TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
			ObjectMeta: meta("budget-"+app, i)}
		b.Namespace = one(g, namespaces...)
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
		b.Status.DisruptionsAllowed = int32(g.Intn(3))
		c.Objects = append(c.Objects, b)
	}
}
