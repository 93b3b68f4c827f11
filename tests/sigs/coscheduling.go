// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"time"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/scheduler-plugins/apis/config"
	"sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	"sigs.k8s.io/scheduler-plugins/pkg/coscheduling"
	"sigs.k8s.io/scheduler-plugins/pkg/coscheduling/core"
)

// Two kinds of cases: the order of the queue, with groups that always fit; and one pod, "p", which is
// tried first, with its PreFilter, PostFilter or Permit. Nobody else is scheduled there, so that
// nothing depends on what happens later.

const podGroupLabel = v1alpha1.PodGroupLabel

// ---- cases --------------------------------------------------------------------------------------

func (g generator) podGroup(ns, name string) *v1alpha1.PodGroup {
	pg := &v1alpha1.PodGroup{ObjectMeta: meta(name, g.Intn(3))}
	pg.TypeMeta = metav1.TypeMeta{APIVersion: "scheduling.x-k8s.io/v1alpha1", Kind: "PodGroup"}
	pg.Namespace = ns
	pg.UID += "-pg"
	pg.Spec.MinMember = int32(1 + g.Intn(6))
	return pg
}

func (g generator) member(name, ns, group string, i int) *v1.Pod {
	pod := g.pod(name, i)
	pod.Namespace = ns
	if group != "" {
		pod.Labels = map[string]string{podGroupLabel: group}
	}
	return pod
}

func (g generator) queueOfGroups() *testCase {
	c := &testCase{Plugin: coscheduling.Name, Args: map[string]any{}}
	node := g.node(0)
	node.Status.Allocatable[v1.ResourcePods] = resource.MustParse("1k")
	c.Nodes = []*v1.Node{node}
	for _, ns := range []string{"default", "default-b", "z"} {
		for _, name := range []string{"a", "b", "b-c"} {
			if g.chance(0.8) {
				pg := g.podGroup(ns, name)
				pg.Spec.MinMember = 1
				c.Groups = append(c.Groups, pg)
			}
		}
	}
	for i := range 2 + g.Intn(14) {
		pod := g.member(fmt.Sprintf("p%d", g.Intn(1000)*20+i), one(g, "default", "default-b", "z"), "", i)
		if len(c.Groups) > 0 && g.chance(0.8) {
			of := one(g, c.Groups...)
			pod.Namespace, pod.Labels = of.Namespace, map[string]string{podGroupLabel: of.Name}
		}
		if g.chance(0.6) {
			priority := one(g, int32(0), 1, -5)
			pod.Spec.Priority = &priority
		}
		pod.UID = pod.UID + "-" + "u"
		c.Pods = append(c.Pods, pod)
	}
	return c
}

func (g generator) minResources() v1.ResourceList {
	list := v1.ResourceList{}
	add := func(name v1.ResourceName, values ...string) {
		if g.chance(0.5) {
			list[name] = resource.MustParse(one(g, values...))
		}
	}
	add(v1.ResourceCPU, "1", "4", "7", "15500m", "100", "0", "1k")
	add(v1.ResourceMemory, "1Gi", "10Gi", "100M", "2Ti", "1e10")
	add(v1.ResourceEphemeralStorage, "1Gi", "200G", "5Ti")
	add("example.com/gpu", "1", "6", "20")
	add("hugepages-2Mi", "2Mi", "3Gi")
	add(v1.ResourcePods, "1")
	return list
}

// onePod has "p" and pods that are not scheduled: they run, or belong to another scheduler.
func (g generator) onePod() *testCase {
	c := &testCase{Plugin: coscheduling.Name, Args: map[string]any{}, Nodes: g.nodes(4)}
	if g.chance(0.5) {
		c.Args["podGroupRejectPercentage"] = one(g, 0, 10, 20, 34, 50, 67, 99, 100)
	}
	if g.chance(0.7) {
		c.Args["permitWaitingTimeSeconds"] = one(g, 0, 1, 10, 75)
	}
	group := one(g, "a", "a", "a", "a", "b", "none", "")
	p := g.member("p", "default", group, 100)
	first := int32(1000)
	p.Spec.Priority = &first
	if g.chance(0.5) {
		p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(one(g, "1m", "100k"))}
	}
	for _, name := range []string{"a", "b"} {
		pg := g.podGroup("default", name)
		if g.chance(0.3) {
			pg.Spec.MinResources = g.minResources()
		}
		if g.chance(0.4) {
			seconds := one(g, int32(0), 1, 30)
			pg.Spec.ScheduleTimeoutSeconds = &seconds
		}
		c.Groups = append(c.Groups, pg)
	}
	for i := range g.Intn(12) {
		pod := g.member(fmt.Sprintf("m%d", i), one(g, "default", "default", "default", "z"), one(g, "a", "a", "a", "b", ""), i)
		pod.Spec.SchedulerName = "other"
		switch g.Intn(5) {
		case 0, 1:
			pod.Spec.NodeName = one(g, c.Nodes...).Name
			for k := range pod.Spec.Containers {
				pod.Spec.Containers[k].Resources.Requests = v1.ResourceList{
					v1.ResourceCPU:    resource.MustParse(one(g, "10m", "500m", "2")),
					v1.ResourceMemory: resource.MustParse(one(g, "1", "1Gi"))}
			}
		case 2:
			pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "gate"}}
		}
		c.Pods = append(c.Pods, pod)
	}
	c.Pods = append(c.Pods, p)
	return c
}

func (g generator) coscheduling() *testCase {
	if g.chance(0.3) {
		return g.queueOfGroups()
	}
	return g.onePod()
}

// ---- berth --------------------------------------------------------------------------------------

// groupAttempt is what the comparison reads of an attempt.
type groupAttempt struct {
	Attempt    int            `json:"attempt"`
	Namespace  string         `json:"namespace"`
	Pod        string         `json:"pod"`
	Outcome    string         `json:"outcome"`
	Message    string         `json:"message"`
	PreFilter  []groupVerdict `json:"preFilter"`
	PostFilter *groupVerdict  `json:"postFilter"`
}

type groupVerdict struct {
	Name    string   `json:"name"`
	Code    string   `json:"code"`
	Reasons []string `json:"reasons"`
}

// groupConfiguration has no preemption: what PostFilter says is Coscheduling's.
func groupConfiguration(c *testCase) map[string]any {
	name := func(n string) []any { return []any{map[string]any{"name": n}} }
	return map[string]any{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
		"profiles": []any{map[string]any{"schedulerName": "default-scheduler",
			"plugins": map[string]any{
				"multiPoint": map[string]any{"enabled": name(c.Plugin)},
				"queueSort":  map[string]any{"enabled": name(c.Plugin), "disabled": name("*")},
				"postFilter": map[string]any{"enabled": name(c.Plugin), "disabled": name("*")}},
			"pluginConfig": []any{map[string]any{"name": c.Plugin, "args": withKind(c.Plugin, c.Args)}}}}}
}

func runGroups(berth, dir string, c *testCase) ([]groupAttempt, error) {
	text, err := json.Marshal(groupConfiguration(c))
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "config.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	var items []any
	for _, node := range c.Nodes {
		items = append(items, node)
	}
	for _, pg := range c.Groups {
		items = append(items, pg)
	}
	for _, pod := range c.Pods {
		items = append(items, pod)
	}
	input, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(berth, "simulate", "--controllers=false", "--survey", "--output=json", "--attempts=1",
		"--validate=ignore", "--config="+file, "-")
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("berth: %w: %s", err, stderr.String())
	}
	var all []groupAttempt
	for d := json.NewDecoder(&stdout); d.More(); {
		var a groupAttempt
		if err := d.Decode(&a); err != nil {
			return nil, err
		}
		if a.Attempt == 1 {
			all = append(all, a)
		}
	}
	return all, nil
}

// ---- upstream -----------------------------------------------------------------------------------

// groupClient answers Get for PodGroups.
type groupClient struct {
	client.Client
	groups []*v1alpha1.PodGroup
}

func (c *groupClient) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	for _, pg := range c.groups {
		if pg.Namespace == key.Namespace && pg.Name == key.Name {
			pg.DeepCopyInto(obj.(*v1alpha1.PodGroup))
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "podgroups"}, key.Name)
}

// groupHandle is what Coscheduling uses of a framework.Handle.
type groupHandle struct {
	framework.Handle
	factory informers.SharedInformerFactory
	nodes   []fwk.NodeInfo
}

func (h *groupHandle) IterateOverWaitingPods(func(framework.WaitingPod))      {}
func (h *groupHandle) SharedInformerFactory() informers.SharedInformerFactory { return h.factory }
func (h *groupHandle) NodeInfos() framework.NodeInfoLister                    { return groupNodes{h} }
func (h *groupHandle) StorageInfos() framework.StorageInfoLister              { return nil }

type groupNodes struct{ h *groupHandle }

func (n groupNodes) List() ([]fwk.NodeInfo, error) { return n.h.nodes, nil }
func (n groupNodes) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	return nil, nil
}
func (n groupNodes) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return nil, nil
}
func (n groupNodes) Get(string) (fwk.NodeInfo, error) { return nil, fmt.Errorf("not used") }

// set assigns a field that is not exported: New needs an API server.
func set(plugin *coscheduling.Coscheduling, field string, value any) {
	f := reflect.ValueOf(plugin).Elem().FieldByName(field)
	reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem().Set(reflect.ValueOf(value))
}

func newCoscheduling(c *testCase) (*coscheduling.Coscheduling, *groupHandle, error) {
	decoded, err := arguments(c.Plugin, c.Args)
	if err != nil {
		return nil, nil, err
	}
	args := decoded.(*config.CoschedulingArgs)
	k, err := newCluster(c)
	if err != nil {
		return nil, nil, err
	}
	h := &groupHandle{factory: informers.NewSharedInformerFactory(nil, 0)}
	for _, node := range k.nodes {
		h.nodes = append(h.nodes, node)
	}
	pods := h.factory.Core().V1().Pods()
	timeout := time.Duration(args.PermitWaitingTimeSeconds) * time.Second
	manager := core.NewPodGroupManager(&groupClient{groups: c.Groups}, h, &timeout, pods)
	for _, pod := range c.Pods {
		if err := pods.Informer().GetIndexer().Add(pod); err != nil {
			return nil, nil, err
		}
		core.AddPodFactory(manager)(pod)
	}
	plugin := &coscheduling.Coscheduling{}
	set(plugin, "frameworkHandler", framework.Handle(h))
	set(plugin, "pgMgr", core.Manager(manager))
	set(plugin, "scheduleTimeout", &timeout)
	set(plugin, "pgRejectThreshold", float64(args.PodGroupRejectPercentage)/100.0)
	return plugin, h, nil
}

// ---- comparison ---------------------------------------------------------------------------------

// compareQueue checks each pair of pods. Pods of the same time but of different groups are left out:
// upstream mixes the groups.
func compareQueue(c *testCase, attempts []groupAttempt) (string, error) {
	plugin, _, err := newCoscheduling(c)
	if err != nil {
		return "", err
	}
	// The simulation adds one pod after the other; its clock begins in 1970.
	infos := map[string]*framework.QueuedPodInfo{}
	for i, pod := range c.Pods {
		info, err := podInfo(pod)
		if err != nil {
			return "", err
		}
		first := time.Unix(int64(1000+i), 0)
		infos[core.GetNamespacedName(pod)] = &framework.QueuedPodInfo{PodInfo: info, InitialAttemptTimestamp: &first}
	}
	if len(attempts) != len(c.Pods) {
		return fmt.Sprintf("%d attempts of %d pods", len(attempts), len(c.Pods)), nil
	}
	created := func(pod *v1.Pod) time.Time {
		for _, pg := range c.Groups {
			if pg.Namespace == pod.Namespace && pg.Name == pod.Labels[podGroupLabel] {
				return pg.CreationTimestamp.Time
			}
		}
		return *infos[core.GetNamespacedName(pod)].InitialAttemptTimestamp
	}
	for i := range attempts {
		for k := i + 1; k < len(attempts); k++ {
			before := infos[attempts[i].Namespace+"/"+attempts[i].Pod]
			after := infos[attempts[k].Namespace+"/"+attempts[k].Pod]
			x, y := before.Pod, after.Pod
			if created(x).Equal(created(y)) && (x.Namespace != y.Namespace || x.Labels[podGroupLabel] != y.Labels[podGroupLabel]) &&
				(x.Labels[podGroupLabel] != "" || y.Labels[podGroupLabel] != "") {
				continue
			}
			if plugin.Less(after, before) {
				return fmt.Sprintf("berth tries %s/%s before %s/%s: groups %v %v, created %v %v", x.Namespace, x.Name, y.Namespace, y.Name,
					x.Labels, y.Labels, created(x), created(y)), nil
			}
		}
	}
	return "", nil
}

// gap is upstream's error with amounts instead of the internals of Quantity.
func gap(c *testCase, h *groupHandle, pod *v1.Pod) string {
	for _, pg := range c.Groups {
		if pg.Name != pod.Labels[podGroupLabel] {
			continue
		}
		left := pg.Spec.MinResources.DeepCopy()
		left[v1.ResourcePods] = *resource.NewQuantity(int64(pg.Spec.MinMember), resource.DecimalSI)
		if core.CheckClusterResource(context.Background(), h.nodes, left, "default/"+pg.Name) == nil {
			return "no gap"
		}
		var texts []string
		for name, quantity := range left {
			texts = append(texts, string(name)+":"+quantity.String())
		}
		sort.Strings(texts)
		return "resource gap: map[" + strings.Join(texts, " ") + "]"
	}
	return ""
}

func comparePod(c *testCase, attempts []groupAttempt) (string, error) {
	plugin, h, err := newCoscheduling(c)
	if err != nil {
		return "", err
	}
	pod, state := c.Pods[len(c.Pods)-1], framework.NewCycleState()
	ctx := klog.NewContext(context.Background(), klog.Logger{}) // no log
	// A simulation ends while a pod waits in Permit: there is no result then.
	a := groupAttempt{Outcome: "waits"}
	if len(attempts) > 0 {
		a = attempts[0]
	}
	differ := func(what, want string) string {
		return fmt.Sprintf("%s: berth %s, %q, %+v, upstream %s", what, a.Outcome, a.Message, a.PostFilter, want)
	}
	var mine groupVerdict
	for _, v := range a.PreFilter {
		if v.Name == c.Plugin {
			mine = v
		}
	}
	_, status := plugin.PreFilter(ctx, state, pod, nil)
	if a.Outcome == "waits" {
		mine.Code = "Success"
	}
	if want := status.Message(); !status.IsSuccess() {
		if strings.HasPrefix(want, "resource gap") {
			want = gap(c, h, pod)
		}
		if mine.Code != status.Code().String() || strings.Join(mine.Reasons, "|") != want {
			return differ("PreFilter", want), nil
		}
	} else if mine.Code != "Success" {
		return differ("PreFilter", "Success"), nil
	}
	// Whether the pod fits on a node is decided by other plugins.
	if !status.IsSuccess() || a.PostFilter != nil {
		_, status := plugin.PostFilter(ctx, state, pod, nil)
		if a.PostFilter == nil || a.PostFilter.Code != status.Code().String() ||
			strings.Join(a.PostFilter.Reasons, "|") != strings.Join(status.Reasons(), "|") {
			return differ("PostFilter", fmt.Sprint(status)), nil
		}
		return "", nil
	}
	permit, _ := plugin.Permit(ctx, state, pod, "n0")
	switch {
	case permit.IsSuccess():
		if a.Outcome != "scheduled" {
			return differ("Permit", "Success"), nil
		}
	case permit.IsWait():
		if a.Outcome != "waits" {
			return differ("Permit", "Wait"), nil
		}
	default:
		if !strings.Contains(a.Message, permit.Message()) {
			return differ("Permit", permit.Message()), nil
		}
	}
	return "", nil
}

func compareCoscheduling(berth, dir string, c *testCase) (string, error) {
	attempts, err := runGroups(berth, dir, c)
	if err != nil {
		return "", err
	}
	scored[c.Plugin]++
	if c.Pods[len(c.Pods)-1].Name == "p" {
		return comparePod(c, attempts)
	}
	return compareQueue(c, attempts)
}
