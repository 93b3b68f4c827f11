// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"
	"unsafe"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/profile"
	testingclock "k8s.io/utils/clock/testing"
)

// upstream is kube-scheduler in process, one node at a time. The Scheduler is made once; every case
// gives it a cache, a queue, a snapshot and profiles of its own. The scheduling of a pod is
// upstream's own SchedulePod.
type upstream struct {
	ctx      context.Context
	logger   klog.Logger
	client   clientset.Interface
	sched    *scheduler.Scheduler
	registry frameworkruntime.Registry
	recorder *metrics.MetricAsyncRecorder
	spare    framework.Framework // the profile that it was made with: has what is the same in all
	known    map[string]bool     // all other plugins are taken out of every profile
}

// member gives a pointer to an unexported member.
func member[T any](object any, name string) *T {
	f := reflect.ValueOf(object).Elem().FieldByName(name)
	if !f.IsValid() || f.Type() != reflect.TypeFor[T]() {
		panic(fmt.Sprintf("%T.%s is no %s any more", object, name, reflect.TypeFor[T]()))
	}
	return (*T)(unsafe.Pointer(f.UnsafeAddr()))
}

func newUpstream(ctx context.Context, known map[string]bool) (*upstream, error) {
	u := &upstream{
		ctx:      ctx,
		logger:   klog.Background(),
		client:   fake.NewSimpleClientset(),
		registry: plugins.NewInTreeRegistry(),
		known:    known,
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: u.client.EventsV1()})
	sched, err := scheduler.New(ctx, u.client, informers.NewSharedInformerFactory(u.client, 0), nil,
		profile.NewRecorderFactory(broadcaster), scheduler.WithParallelism(1))
	if err != nil {
		return nil, err
	}
	u.sched, u.spare = sched, sched.Profiles["default-scheduler"]
	u.recorder = metrics.NewMetricsAsyncRecorder(1000, time.Hour, ctx.Done())
	return u, nil
}

// A run is one case.
type run struct {
	*upstream
	ctx      context.Context
	cache    internalcache.Cache
	snapshot *internalcache.Snapshot
	factory  informers.SharedInformerFactory
	queue    *internalqueue.PriorityQueue
	clock    *testingclock.FakeClock
	profiles map[string]*spiedProfile
	known    map[string]metav1.Object // as they are now
}

// errConfig says that the configuration is refused.
var errConfig = errors.New("configuration")

// run schedules the pods of a case, each once. chosen says where berth put them, by UID: where
// upstream's order of nodes is a map's, so that several nodes would have done, its choice stands.
func (u *upstream) run(c *testCase, chosen map[string]string) ([]*attempt, error) {
	ctx, cancel := context.WithCancel(u.ctx)
	defer cancel()
	r := &run{upstream: u, ctx: ctx, clock: testingclock.NewFakeClock(time.Unix(1000, 0))}
	cfg, err := u.readConfig(c.Config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errConfig, err)
	}
	r.known = map[string]metav1.Object{}
	r.cache = internalcache.New(ctx, nil, false)
	r.snapshot = internalcache.NewEmptySnapshot()
	r.factory = informers.NewSharedInformerFactory(u.client, 0)
	if err := r.makeProfiles(cfg); err != nil {
		return nil, fmt.Errorf("%w: %w", errConfig, err)
	}
	if err := r.load(c.Items); err != nil {
		return nil, err
	}
	u.sched.Cache = r.cache
	u.sched.SchedulingQueue = r.queue
	*member[*internalcache.Snapshot](u.sched, "nodeInfoSnapshot") = r.snapshot
	*member[int](u.sched, "nextStartNodeIndex") = 0
	*member[int32](u.sched, "percentageOfNodesToScore") = *cfg.PercentageOfNodesToScore
	list, err := r.scheduleAll(chosen)
	for i := 0; err == nil && i < len(c.Then); i++ {
		var more []*attempt
		if err = r.apply(c.Then[i]); err == nil {
			more, err = r.scheduleAll(chosen)
		}
		list = append(list, more...)
	}
	return list, err
}

// ---- configuration -----------------------------------------------------------------------------

func (u *upstream) readConfig(t tree) (*config.KubeSchedulerConfiguration, error) {
	if t == nil {
		t = tree{}
	}
	t = cloneValue(t).(tree)
	t["apiVersion"], t["kind"] = "kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration"
	object, _, err := scheme.Codecs.UniversalDecoder().Decode(encode(t), nil, nil)
	if err != nil {
		return nil, err
	}
	cfg := object.(*config.KubeSchedulerConfiguration)
	cfg.APIVersion = "kubescheduler.config.k8s.io/v1"
	if err := validation.ValidateKubeSchedulerConfiguration(cfg); err != nil {
		return nil, err
	}
	for i := range cfg.Profiles {
		u.takeOut(cfg.Profiles[i].Plugins)
	}
	return cfg, nil
}

func (u *upstream) takeOut(p *config.Plugins) {
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		set := v.Field(i).Addr().Interface().(*config.PluginSet)
		set.Enabled = slices.DeleteFunc(set.Enabled,
			func(p config.Plugin) bool { return !u.known[p.Name] })
	}
}

func (r *run) makeProfiles(cfg *config.KubeSchedulerConfiguration) error {
	r.profiles = map[string]*spiedProfile{}
	preEnqueue := map[string]map[string]fwk.PreEnqueuePlugin{}
	var less fwk.LessFunc
	for i := range cfg.Profiles {
		p := &cfg.Profiles[i]
		f, err := frameworkruntime.NewFramework(r.ctx, r.registry, p,
			frameworkruntime.WithComponentConfigVersion(cfg.APIVersion),
			frameworkruntime.WithClientSet(r.client),
			frameworkruntime.WithInformerFactory(r.factory),
			frameworkruntime.WithSnapshotSharedLister(r.snapshot),
			frameworkruntime.WithSharedDRAManager(r.spare.SharedDRAManager()),
			frameworkruntime.WithSharedCSIManager(r.spare.SharedCSIManager()),
			frameworkruntime.WithParallelism(1),
			frameworkruntime.WithMetricsRecorder(r.recorder),
			frameworkruntime.WithWaitingPods(frameworkruntime.NewWaitingPodsMap()),
			frameworkruntime.WithPodsInPreBind(frameworkruntime.NewPodsInPreBindMap()),
			frameworkruntime.WithPodGroupManager(r.cache))
		if err != nil {
			return err
		}
		if less == nil {
			less = f.QueueSortFunc()
		}
		preEnqueue[p.SchedulerName] = map[string]fwk.PreEnqueuePlugin{}
		for _, plugin := range f.PreEnqueuePlugins() {
			preEnqueue[p.SchedulerName][plugin.Name()] = plugin
		}
		r.profiles[p.SchedulerName] = spyOn(f)
	}
	r.queue = internalqueue.NewPriorityQueue(less, r.factory,
		internalqueue.WithClock(r.clock),
		internalqueue.WithMetricsRecorder(r.recorder),
		internalqueue.WithPreEnqueuePluginMap(preEnqueue))
	for _, p := range r.profiles {
		p.framework.SetPodNominator(r.queue)
		p.framework.SetPodActivator(r.queue)
	}
	return nil
}

// ---- objects -----------------------------------------------------------------------------------

func decode[T any](item any) (*T, error) {
	object := new(T)
	if err := json.Unmarshal(encode(item), object); err != nil {
		return nil, err
	}
	return object, nil
}

// readObject gives a typed object, with what an API server would fill in as far as berth's simulator
// does so, too.
func readObject(item any) (metav1.Object, error) {
	switch kind := kindOf(item); kind {
	case "Node":
		node, err := decode[corev1.Node](item)
		if err == nil && len(node.Status.Allocatable) == 0 {
			node.Status.Allocatable = node.Status.Capacity
		}
		return node, err
	case "Pod":
		pod, err := decode[corev1.Pod](item)
		if err == nil && pod.Spec.SchedulerName == "" {
			pod.Spec.SchedulerName = corev1.DefaultSchedulerName
		}
		if err == nil && pod.Namespace == "" {
			pod.Namespace = metav1.NamespaceDefault
		}
		return pod, err
	case "Namespace":
		return decode[corev1.Namespace](item)
	case "Service":
		return decode[corev1.Service](item)
	case "ReplicationController":
		return decode[corev1.ReplicationController](item)
	case "ReplicaSet":
		return decode[appsv1.ReplicaSet](item)
	case "StatefulSet":
		return decode[appsv1.StatefulSet](item)
	default:
		return nil, fmt.Errorf("kind %q", kind)
	}
}

// The informers are never started: what they would have listed is put into their stores. nil: has none.
func (r *run) store(object metav1.Object) cache.Indexer {
	core, apps := r.factory.Core().V1(), r.factory.Apps().V1()
	switch object.(type) {
	case *corev1.Pod:
		return core.Pods().Informer().GetIndexer()
	case *corev1.Namespace:
		return core.Namespaces().Informer().GetIndexer()
	case *corev1.Service:
		return core.Services().Informer().GetIndexer()
	case *corev1.ReplicationController:
		return core.ReplicationControllers().Informer().GetIndexer()
	case *appsv1.ReplicaSet:
		return apps.ReplicaSets().Informer().GetIndexer()
	case *appsv1.StatefulSet:
		return apps.StatefulSets().Informer().GetIndexer()
	}
	return nil
}

func keyOf(object metav1.Object) string {
	return fmt.Sprintf("%T %s/%s", object, object.GetNamespace(), object.GetName())
}

// change does what upstream's event handlers would. after nil: it is gone.
func (r *run) change(object, after metav1.Object) error {
	before := r.known[keyOf(object)]
	if after == nil && before == nil {
		return nil
	}
	if after != nil {
		r.known[keyOf(object)] = after
	} else {
		delete(r.known, keyOf(object))
	}
	// Nominations of pods that are not listed do not count.
	if store := r.store(object); store != nil {
		if after == nil {
			if err := store.Delete(before); err != nil {
				return err
			}
		} else if err := store.Update(after); err != nil {
			return err
		}
	}
	switch object.(type) {
	case *corev1.Node:
		return r.changeNode(before, after)
	case *corev1.Pod:
		return r.changePod(before, after)
	}
	return nil
}

func (r *run) changeNode(before, after metav1.Object) error {
	switch {
	case before == nil:
		r.cache.AddNode(r.logger, after.(*corev1.Node))
	case after == nil:
		return r.cache.RemoveNode(r.logger, before.(*corev1.Node))
	default:
		r.cache.UpdateNode(r.logger, before.(*corev1.Node), after.(*corev1.Node))
	}
	return nil
}

func (r *run) changePod(before, after metav1.Object) error {
	was, _ := before.(*corev1.Pod)
	is, _ := after.(*corev1.Pod)
	wasBound, isBound := was != nil && was.Spec.NodeName != "", is != nil && is.Spec.NodeName != ""
	if was != nil && !wasBound {
		r.queue.Delete(was)
	}
	switch {
	case wasBound && isBound:
		return r.cache.UpdatePod(r.logger, was, is)
	case wasBound:
		return r.cache.RemovePod(r.logger, was)
	case isBound:
		return r.cache.AddPod(r.logger, is)
	case is != nil && r.profiles[is.Spec.SchedulerName] != nil:
		r.clock.Step(time.Nanosecond)
		r.queue.Add(r.ctx, is)
	}
	return nil
}

// load takes the objects of a manifest: pods come last, those that are to be placed after the others.
func (r *run) load(items []any) error {
	var list [4][]metav1.Object
	for i, item := range items {
		object, err := readObject(item)
		if err != nil {
			return fmt.Errorf("items[%d]: %w", i, err)
		}
		rank := 0
		switch o := object.(type) {
		case *corev1.Node:
			rank = 1
		case *corev1.Pod:
			rank = 2
			if o.Spec.NodeName == "" {
				rank = 3
			}
		}
		list[rank] = append(list[rank], object)
	}
	for _, objects := range list {
		for _, object := range objects {
			if err := r.change(object, object); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) apply(events []any) error {
	for i, e := range events {
		object, err := readObject(e.(tree)["object"])
		if err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
		after := object
		if e.(tree)["type"] == "DELETED" {
			after = nil
		}
		if err := r.change(object, after); err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
	}
	return nil
}

// ---- scheduling --------------------------------------------------------------------------------

func (r *run) scheduleAll(chosen map[string]string) ([]*attempt, error) {
	var list []*attempt
	for len(r.queue.PodsInActiveQ()) > 0 {
		info, err := r.queue.Pop(r.logger)
		if err != nil {
			return nil, err
		}
		if info.Pod.DeletionTimestamp == nil {
			a, err := r.schedule(info, chosen)
			if err != nil {
				return nil, err
			}
			list = append(list, a)
		}
		r.queue.Done(info.Pod.UID)
	}
	return list, nil
}

func (r *run) schedule(info *framework.QueuedPodInfo, chosen map[string]string) (*attempt, error) {
	pod := info.Pod
	p := r.profiles[pod.Spec.SchedulerName]
	if err := r.cache.UpdateSnapshot(r.logger, r.snapshot); err != nil {
		return nil, err
	}
	p.spy.reset()
	start := *member[int](r.sched, "nextStartNodeIndex")
	state := framework.NewCycleState()
	result, err := r.sched.SchedulePod(r.ctx, p.framework, state, info)
	a := p.report(r, pod, state, start, result, err)
	if err != nil {
		// As upstream does where there is no PostFilter plugin: what it was promised is off.
		r.queue.AddNominatedPod(r.logger, info.PodInfo,
			&fwk.NominatingInfo{NominatingMode: fwk.ModeOverride, NominatedNodeName: ""})
		return a, nil
	}
	if wish := chosen[string(pod.UID)]; a.anyOrder && a.isBest(wish) {
		a.Node = wish
	}
	assumed := pod.DeepCopy()
	assumed.Spec.NodeName = a.Node
	if err := r.cache.AssumePod(r.logger, assumed); err != nil {
		return nil, err
	}
	r.queue.DeleteNominatedPodIfExists(assumed)
	// The binding comes back as a pod that has a node.
	return a, r.change(pod, assumed)
}

// isBest tells whether no node has a higher total than this one.
func (a *attempt) isBest(node string) bool {
	found, best, total := false, int64(0), int64(0)
	for i, n := range a.Feasible {
		if i == 0 || n.Total > best {
			best = n.Total
		}
		if n.Name == node {
			found, total = true, n.Total
		}
	}
	return found && total == best
}
