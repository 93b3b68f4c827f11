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
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/profile"
	testingclock "k8s.io/utils/clock/testing"
)

// upstream is kube-scheduler in process, one node at a time. The Scheduler is created once; every
// case has its own cache, queue, snapshot and profiles. Pods are scheduled by upstream's own
// SchedulePod.
type upstream struct {
	ctx      context.Context
	logger   klog.Logger
	client   clientset.Interface
	sched    *scheduler.Scheduler
	registry frameworkruntime.Registry
	waits    frameworkruntime.Registry // the same, but preemption waits until its victims are deleted
	preempts *preemptionSpy            // of the current attempt
	devices  *deviceWorld              // of the current run
	recorder *metrics.MetricAsyncRecorder
	spare    framework.Framework // its original profile, with everything that is shared
	known    map[string]bool     // all other plugins are removed from every profile
	parallel int
}

// member returns a pointer to an unexported member.
func member[T any](object any, name string) *T {
	f := reflect.ValueOf(object).Elem().FieldByName(name)
	if !f.IsValid() || f.Type() != reflect.TypeFor[T]() {
		panic(fmt.Sprintf("%T.%s is no %s any more", object, name, reflect.TypeFor[T]()))
	}
	return (*T)(unsafe.Pointer(f.UnsafeAddr()))
}

func newUpstream(ctx context.Context, known map[string]bool) (*upstream, error) {
	return newUpstreamWith(ctx, known, 1)
}

// newUpstreamWith: with a parallelism other than one there is no spy.
func newUpstreamWith(ctx context.Context, known map[string]bool, parallelism int) (*upstream, error) {
	client := fake.NewSimpleClientset()
	u := &upstream{
		ctx:      ctx,
		logger:   klog.Background(),
		client:   client,
		registry: plugins.NewInTreeRegistry(),
		waits:    registryThatWaits(),
		known:    known,
		parallel: parallelism,
	}
	watchPatches(client, func() *preemptionSpy { return u.preempts })
	watchClaims(client, func() *deviceWorld { return u.devices })
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: u.client.EventsV1()})
	sched, err := scheduler.New(ctx, u.client, informers.NewSharedInformerFactory(u.client, 0), nil,
		profile.NewRecorderFactory(broadcaster), scheduler.WithParallelism(int32(parallelism)))
	if err != nil {
		return nil, err
	}
	u.sched, u.spare = sched, sched.Profiles["default-scheduler"]
	u.recorder = metrics.NewMetricsAsyncRecorder(1000, time.Hour, ctx.Done())
	return u, nil
}

// registryThatWaits: the gate is read when plugins are registered.
func registryThatWaits() frameworkruntime.Registry {
	gates := utilfeature.DefaultMutableFeatureGate
	before := gates.Enabled(features.SchedulerAsyncPreemption)
	set := func(on bool) {
		if err := gates.SetFromMap(map[string]bool{string(features.SchedulerAsyncPreemption): on}); err != nil {
			panic(err)
		}
	}
	set(false)
	defer set(before)
	return plugins.NewInTreeRegistry()
}

// A run is one case.
type run struct {
	*upstream
	config   *testCase
	script   map[string]*attempt // the other side's attempts, by attemptKey
	ctx      context.Context
	cache    internalcache.Cache
	snapshot *internalcache.Snapshot
	factory  informers.SharedInformerFactory
	queue    *internalqueue.PriorityQueue
	clock    *testingclock.FakeClock
	profiles map[string]*spiedProfile
	known    map[string]metav1.Object // current versions
	version  int                      // of the last storage object
	ended    bool                     // nothing more is compared
}

// errConfig is the error of a rejected configuration.
var errConfig = errors.New("configuration")

func attemptKey(uid string, number int) string { return fmt.Sprintf("%s %d", uid, number) }

// run schedules the pods of a case. script has the other side's attempts: where upstream chooses at
// random, or its order of nodes is a map's, so that several nodes are valid, that side's choice is
// used; and pods are retried in its order.
func (u *upstream) run(c *testCase, script []*attempt) ([]*attempt, error) {
	ctx, cancel := context.WithCancel(u.ctx)
	defer cancel()
	r := &run{upstream: u, ctx: ctx, config: c, clock: testingclock.NewFakeClock(time.Unix(1000, 0)),
		script: map[string]*attempt{}}
	for _, a := range script {
		r.script[attemptKey(a.UID, a.Attempt)] = a
	}
	cfg, err := u.readConfig(c.Config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errConfig, err)
	}
	r.known = map[string]metav1.Object{}
	r.cache = internalcache.New(ctx, nil, false)
	r.snapshot = internalcache.NewEmptySnapshot()
	r.factory = informers.NewSharedInformerFactory(u.client, 0)
	if err := r.makeDevices(); err != nil {
		return nil, err
	}
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
	list, err := r.scheduleAll()
	for i := 0; err == nil && !r.ended && i < len(c.Then); i++ {
		var more []*attempt
		if err = r.apply(c.Then[i]); err == nil {
			more, err = r.scheduleAll()
		}
		list = append(list, more...)
	}
	if err == nil && c.attempts() > 1 {
		list, err = r.tryAgain(list, script)
	}
	if err == nil && len(list) > 0 {
		list[len(list)-1].Claims = r.claimResults()
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

// shortenTimeout: nothing is compared of a case in which upstream runs out of time.
func shortenTimeout(p *config.KubeSchedulerProfile) {
	for _, c := range p.PluginConfig {
		if args, ok := c.Args.(*config.DynamicResourcesArgs); ok && args.FilterTimeout != nil && args.FilterTimeout.Duration > time.Second {
			args.FilterTimeout = &metav1.Duration{Duration: time.Second}
		}
	}
}

func (r *run) makeProfiles(cfg *config.KubeSchedulerConfiguration) error {
	r.profiles = map[string]*spiedProfile{}
	preEnqueue := map[string]map[string]fwk.PreEnqueuePlugin{}
	hints := internalqueue.QueueingHintMapPerProfile{}
	registry := r.registry
	if r.config.SyncPreemption {
		registry = r.waits
	}
	var less fwk.LessFunc
	for i := range cfg.Profiles {
		p := &cfg.Profiles[i]
		shortenTimeout(p)
		f, err := frameworkruntime.NewFramework(r.ctx, registry, p,
			frameworkruntime.WithComponentConfigVersion(cfg.APIVersion),
			frameworkruntime.WithClientSet(r.client),
			frameworkruntime.WithInformerFactory(r.factory),
			frameworkruntime.WithSnapshotSharedLister(r.snapshot),
			frameworkruntime.WithSharedDRAManager(r.devices.manager),
			frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(r.factory.Storage().V1().CSINodes().Lister())),
			frameworkruntime.WithParallelism(r.parallel),
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
		if hints[p.SchedulerName], err = hintsOf(r.ctx, f); err != nil {
			return err
		}
		if r.parallel == 1 {
			r.profiles[p.SchedulerName] = spyOn(f)
		} else {
			r.profiles[p.SchedulerName] = &spiedProfile{framework: f}
		}
	}
	r.queue = internalqueue.NewPriorityQueue(less, r.factory,
		internalqueue.WithClock(r.clock),
		internalqueue.WithMetricsRecorder(r.recorder),
		internalqueue.WithQueueingHintMapPerProfile(hints),
		internalqueue.WithPreEnqueuePluginMap(preEnqueue))
	for _, p := range r.profiles {
		p.framework.SetPodNominator(r.queue)
		p.framework.SetPodActivator(r.queue)
	}
	return nil
}

// hintsOf: which plugins registered for which events.
func hintsOf(ctx context.Context, f framework.Framework) (internalqueue.QueueingHintMap, error) {
	hints := internalqueue.QueueingHintMap{}
	for _, plugin := range f.EnqueueExtensions() {
		list, err := plugin.EventsToRegister(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			hint := e.QueueingHintFn
			if hint == nil {
				hint = func(klog.Logger, *corev1.Pod, any, any) (fwk.QueueingHint, error) { return fwk.Queue, nil }
			}
			hints[e.Event] = append(hints[e.Event], &internalqueue.QueueingHintFunction{PluginName: plugin.Name(), QueueingHintFn: hint})
		}
	}
	return hints, nil
}

// ---- objects -----------------------------------------------------------------------------------

func decode[T any](item any) (*T, error) {
	object := new(T)
	if err := json.Unmarshal(encode(item), object); err != nil {
		return nil, err
	}
	return object, nil
}

// readObject returns a typed object, with the API server's defaults as far as berth's simulator
// sets them.
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
	case "PodDisruptionBudget":
		return decode[policyv1.PodDisruptionBudget](item)
	default:
		if object, err := readStorage(item); object != nil || err != nil {
			return object, err
		}
		if object, err := readDevices(item); object != nil || err != nil {
			return object, err
		}
		return nil, fmt.Errorf("kind %q", kind)
	}
}

// The informers are never started: their stores are filled directly. nil: not supported.
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
	case *policyv1.PodDisruptionBudget:
		return r.factory.Policy().V1().PodDisruptionBudgets().Informer().GetIndexer()
	}
	store, _ := r.storageStore(object)
	return store
}

func keyOf(object metav1.Object) string {
	return fmt.Sprintf("%T %s/%s", object, object.GetNamespace(), object.GetName())
}

// change does what upstream's event handlers would do. after nil: deleted.
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
	_, resource := r.storageStore(object)
	if resource != "" && after != nil {
		r.number(after)
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
	if resource != "" {
		r.changeDevices(before, after)
		r.changeStorage(resource, before, after)
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
	case wasBound && isBound && was.Spec.NodeName != is.Spec.NodeName:
		// Upstream's cache would exit the process.
		return fmt.Errorf("pod %s moves from node to node", is.Name)
	case wasBound && isBound:
		return r.cache.UpdatePod(r.logger, was, is)
	case wasBound:
		if err := r.cache.RemovePod(r.logger, was); err != nil {
			return err
		}
		r.queue.MoveAllToActiveOrBackoffQueue(r.logger, framework.EventAssignedPodDelete, was, nil, nil)
	case isBound:
		if err := r.cache.AddPod(r.logger, is); err != nil {
			return err
		}
		r.queue.MoveAllToActiveOrBackoffQueue(r.logger, framework.EventAssignedPodAdd, nil, is, nil)
	case is != nil && r.profiles[is.Spec.SchedulerName] != nil:
		r.clock.Step(time.Nanosecond)
		r.queue.Add(r.ctx, is)
	}
	return nil
}

// load adds the objects of a manifest: pods last, those to be placed after the others.
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

func (r *run) scheduleAll() ([]*attempt, error) {
	var list []*attempt
	for !r.ended && len(r.queue.PodsInActiveQ()) > 0 {
		info, err := r.queue.Pop(r.logger)
		if err != nil {
			return nil, err
		}
		if info.Pod.DeletionTimestamp == nil {
			a, err := r.schedule(info)
			if err != nil {
				return nil, err
			}
			list = append(list, a)
		}
		r.queue.Done(info.Pod.UID)
	}
	return list, nil
}

// tryAgain: pods are retried in the order of the other side. Upstream decides whether they wait: a
// pod that does not is not tried, and no pod may be left that was tried too rarely.
func (r *run) tryAgain(list, script []*attempt) ([]*attempt, error) {
	for {
		var next *corev1.Pod
		for _, pod := range slices.Concat(r.queue.PodsInActiveQ(), r.queue.PodsInBackoffQ()) {
			info, _ := r.queue.GetPod(pod.Name, pod.Namespace)
			if len(list) < len(script) && string(pod.UID) == script[len(list)].UID {
				next = pod
				break
			}
			if info.Attempts < r.config.attempts() {
				next = pod
			}
		}
		if next == nil || len(list) > 0 && len(list) == len(script) && script[len(list)-1].cut {
			return list, nil
		}
		a, err := r.schedule(r.queue.PopSpecificPod(r.logger, next))
		if err != nil {
			return nil, err
		}
		r.queue.Done(next.UID)
		list = append(list, a)
		if r.ended {
			return list, nil
		}
	}
}

func (r *run) schedule(info *framework.QueuedPodInfo) (*attempt, error) {
	pod := info.Pod
	p := r.profiles[pod.Spec.SchedulerName]
	theirs := r.script[attemptKey(string(pod.UID), info.Attempts)]
	if err := r.cache.UpdateSnapshot(r.logger, r.snapshot); err != nil {
		return nil, err
	}
	p.spy.reset()
	if r.preempts = p.preemption; r.preempts != nil {
		r.preempts.reset(theirs.preemption())
	}
	start := *member[int](r.sched, "nextStartNodeIndex")
	state := framework.NewCycleState()
	result, err := r.sched.SchedulePod(r.ctx, p.framework, state, info)
	a := p.report(r, pod, state, start, result, err)
	a.Attempt = info.Attempts
	if err != nil {
		return a, r.fail(p, info, state, a, err)
	}
	if theirs != nil && a.anyOrder && a.isBest(theirs.Node) {
		a.Node = theirs.Node
	}
	assumed := pod.DeepCopy()
	assumed.Spec.NodeName = a.Node
	if utilfeature.DefaultFeatureGate.Enabled(features.DRANodeAllocatableResources) {
		assumed.Status.NodeAllocatableResourceClaimStatuses =
			dynamicresources.ExtractPodNodeAllocatableResourceClaimStatus(r.logger, state, a.Node)
	}
	if err := r.reserve(p, state, assumed, a); err != nil || a.last {
		r.ended = true
		return a, err
	}
	if err := r.cache.AssumePod(r.logger, assumed); err != nil {
		return nil, err
	}
	r.queue.DeleteNominatedPodIfExists(assumed)
	// The watch delivers the bound pod.
	return a, r.change(pod, assumed)
}

// isBest returns whether no node has a higher total than this one.
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
