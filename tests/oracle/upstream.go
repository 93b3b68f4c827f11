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
	objects  *objects
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
	if r.objects, err = readObjects(c.Items); err != nil {
		return nil, err
	}
	r.cache = internalcache.New(ctx, nil, false)
	r.snapshot = internalcache.NewEmptySnapshot()
	r.factory = informers.NewSharedInformerFactory(u.client, 0)
	if err := r.makeProfiles(cfg); err != nil {
		return nil, fmt.Errorf("%w: %w", errConfig, err)
	}
	if err := r.load(); err != nil {
		return nil, err
	}
	u.sched.Cache = r.cache
	u.sched.SchedulingQueue = r.queue
	*member[*internalcache.Snapshot](u.sched, "nodeInfoSnapshot") = r.snapshot
	*member[int](u.sched, "nextStartNodeIndex") = 0
	*member[int32](u.sched, "percentageOfNodesToScore") = *cfg.PercentageOfNodesToScore
	return r.scheduleAll(chosen)
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

type objects struct {
	nodes []*corev1.Node
	pods  []*corev1.Pod
	other []any
}

func decode[T any](item any) (*T, error) {
	object := new(T)
	if err := json.Unmarshal(encode(item), object); err != nil {
		return nil, err
	}
	return object, nil
}

func readObjects(items []any) (*objects, error) {
	o := &objects{}
	for i, item := range items {
		var err error
		var object any
		switch kind := kindOf(item); kind {
		case "Node":
			var node *corev1.Node
			if node, err = decode[corev1.Node](item); err == nil {
				o.nodes = append(o.nodes, node)
			}
		case "Pod":
			var pod *corev1.Pod
			if pod, err = decode[corev1.Pod](item); err == nil {
				o.pods = append(o.pods, pod)
			}
		case "Namespace":
			object, err = decode[corev1.Namespace](item)
		case "Service":
			object, err = decode[corev1.Service](item)
		case "ReplicationController":
			object, err = decode[corev1.ReplicationController](item)
		case "ReplicaSet":
			object, err = decode[appsv1.ReplicaSet](item)
		case "StatefulSet":
			object, err = decode[appsv1.StatefulSet](item)
		default:
			err = fmt.Errorf("kind %q", kind)
		}
		if err != nil {
			return nil, fmt.Errorf("items[%d]: %w", i, err)
		}
		if object != nil {
			o.other = append(o.other, object)
		}
	}
	o.fillIn()
	return o, nil
}

// fillIn does what an API server would, as far as berth's simulator does it, too.
func (o *objects) fillIn() {
	for _, pod := range o.pods {
		if pod.Spec.SchedulerName == "" {
			pod.Spec.SchedulerName = corev1.DefaultSchedulerName
		}
		if pod.Namespace == "" {
			pod.Namespace = metav1.NamespaceDefault
		}
	}
	for _, node := range o.nodes {
		if len(node.Status.Allocatable) == 0 {
			node.Status.Allocatable = node.Status.Capacity
		}
	}
}

// The informers are never started: what they would have listed is put into their stores.
func (r *run) store(object any) error {
	core, apps := r.factory.Core().V1(), r.factory.Apps().V1()
	var informer cache.SharedIndexInformer
	switch object.(type) {
	case *corev1.Pod:
		informer = core.Pods().Informer()
	case *corev1.Namespace:
		informer = core.Namespaces().Informer()
	case *corev1.Service:
		informer = core.Services().Informer()
	case *corev1.ReplicationController:
		informer = core.ReplicationControllers().Informer()
	case *appsv1.ReplicaSet:
		informer = apps.ReplicaSets().Informer()
	case *appsv1.StatefulSet:
		informer = apps.StatefulSets().Informer()
	}
	return informer.GetIndexer().Add(object)
}

func (r *run) load() error {
	for _, object := range r.objects.other {
		if err := r.store(object); err != nil {
			return err
		}
	}
	for _, node := range r.objects.nodes {
		r.cache.AddNode(r.logger, node)
	}
	for _, pod := range r.objects.pods {
		// Nominations of pods that are not listed do not count.
		if err := r.store(pod); err != nil {
			return err
		}
		if pod.Spec.NodeName != "" {
			if err := r.cache.AddPod(r.logger, pod); err != nil {
				return err
			}
		} else if r.profiles[pod.Spec.SchedulerName] != nil {
			r.clock.Step(time.Nanosecond)
			r.queue.Add(r.ctx, pod)
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
	return a, r.store(assumed)
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
