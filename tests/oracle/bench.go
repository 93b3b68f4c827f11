// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sort"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	testingclock "k8s.io/utils/clock/testing"

	"k8s.io/client-go/informers"
)

// The cost of a preemption: `berth bench engine --row preemption` and upstream on the same cluster,
// in turn. Every node is full; every pod to place evicts two others and is placed when these are
// gone. The work of an API server is not counted on either side.

const benchFewer = 20 // berth's row places one of so many pods

// benchCluster is the cluster of src/cmd/bench/bench_rows.c, row preemption.
func benchCluster(nodes, pods int) []any {
	var items []any
	requests := func(cpu string) []any {
		return []any{tree{"name": "c", "image": "registry.k8s.io/pause:3.10",
			"resources": tree{"requests": tree{"cpu": cpu, "memory": "100Mi"}}}}
	}
	for i := range nodes {
		name := fmt.Sprintf("node-%05d", i)
		node, meta := object("v1", "Node", "", name)
		disk := []string{"ssd", "hdd"}[i%2]
		meta["labels"] = tree{hostnameLabel: name, zoneLabel: fmt.Sprintf("zone-%d", i%3), "disk": disk,
			"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
		node["status"] = tree{"allocatable": tree{"cpu": "8", "memory": "32Gi", "pods": "110"}}
		items = append(items, node)
		for k := range 4 {
			pod, meta := object("v1", "Pod", "default", fmt.Sprintf("resident-%d-%d", i, k))
			meta["uid"] = fmt.Sprintf("r%d-%d", i, k)
			pod["spec"] = tree{"nodeName": name, "priority": 0, "schedulerName": "default-scheduler", "containers": requests("2")}
			pod["status"] = tree{"phase": "Running", "startTime": fmt.Sprintf("2026-01-01T%02d:00:00Z", k)}
			items = append(items, pod)
		}
	}
	for i := range pods {
		pod, meta := object("v1", "Pod", "default", fmt.Sprintf("pod-%d", i))
		meta["uid"] = fmt.Sprintf("p%d", i)
		pod["spec"] = tree{"priority": 1000, "schedulerName": "default-scheduler", "containers": requests("3")}
		items = append(items, pod)
	}
	return items
}

// ---- upstream ------------------------------------------------------------------------------------

// A benchRun is upstream without the spy, except that evictions are only recorded.
type benchRun struct {
	*run
	framework framework.Framework
	plugin    *defaultpreemption.DefaultPreemption
	mu        sync.Mutex
	victims   []*corev1.Pod
	wall, cpu time.Duration
	preempted int
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (u *upstream) newBenchRun(ctx context.Context) (*benchRun, error) {
	c := &testCase{}
	r := &run{upstream: u, ctx: ctx, config: c, clock: testingclock.NewFakeClock(time.Unix(1000, 0)), known: map[string]metav1.Object{}}
	cfg, err := u.readConfig(nil)
	if err != nil {
		return nil, err
	}
	r.cache = internalcache.New(ctx, nil, false)
	r.snapshot = internalcache.NewEmptySnapshot()
	r.factory = informers.NewSharedInformerFactory(u.client, 0)
	if err := r.makeProfiles(cfg); err != nil {
		return nil, err
	}
	u.sched.Cache, u.sched.SchedulingQueue = r.cache, r.queue
	*member[*internalcache.Snapshot](u.sched, "nodeInfoSnapshot") = r.snapshot
	*member[int](u.sched, "nextStartNodeIndex") = 0
	b := &benchRun{run: r, framework: r.profiles["default-scheduler"].framework}
	for _, p := range *member[[]fwk.PostFilterPlugin](b.framework, "postFilterPlugins") {
		b.plugin = p.(*defaultpreemption.DefaultPreemption)
	}
	b.plugin.Executor.PreemptPod = func(_ context.Context, _ preemption.Candidate, _ preemption.ExecutorPreemptor,
		victim *corev1.Pod, _ string) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.victims = append(b.victims, victim)
		return nil
	}
	return b, nil
}

// attempt is the measured part, and nothing else.
func (b *benchRun) attempt(info *framework.QueuedPodInfo) (host string, nomination *fwk.NominatingInfo, fit *framework.FitError, err error) {
	wall, cpu := time.Now(), cpuTime()
	defer func() {
		b.wall += time.Since(wall)
		b.cpu += cpuTime() - cpu
	}()
	if err := b.cache.UpdateSnapshot(b.logger, b.snapshot); err != nil {
		return "", nil, nil, err
	}
	state := framework.NewCycleState()
	result, err := b.sched.SchedulePod(b.ctx, b.framework, state, info)
	if err == nil {
		return result.SuggestedHost, nil, nil, nil
	}
	if !errors.As(err, &fit) {
		return "", nil, nil, err
	}
	found, status := b.framework.RunPostFilterPlugins(b.ctx, state, info.Pod, fit.Diagnosis.NodeToStatus)
	if !status.IsSuccess() {
		return "", nil, nil, status.AsError()
	}
	return "", found.NominatingInfo, fit, nil
}

func (b *benchRun) scheduleAll(pods int) error {
	for placed := 0; placed < pods; {
		info, err := b.queue.Pop(b.logger)
		if err != nil {
			return err
		}
		host, nomination, fit, err := b.attempt(info)
		if err != nil {
			return err
		}
		if fit == nil {
			placed++
			err = b.bind(info, host)
		} else {
			b.preempted++
			err = b.makeRoom(info, nomination, fit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *benchRun) bind(info *framework.QueuedPodInfo, host string) error {
	assumed := info.Pod.DeepCopy()
	assumed.Spec.NodeName = host
	if err := b.cache.AssumePod(b.logger, assumed); err != nil {
		return err
	}
	b.queue.DeleteNominatedPodIfExists(assumed)
	b.queue.Done(assumed.UID)
	return b.change(info.Pod, assumed)
}

func (b *benchRun) makeRoom(info *framework.QueuedPodInfo, nomination *fwk.NominatingInfo, fit *framework.FitError) error {
	for b.plugin.Executor.IsPodRunningPreemption(info.Pod.UID) {
		time.Sleep(20 * time.Microsecond)
	}
	info.UnschedulablePlugins = fit.Diagnosis.UnschedulablePlugins
	if err := b.queue.AddUnschedulableIfNotPresent(b.logger, info, b.queue.SchedulingCycle()); err != nil {
		return err
	}
	b.queue.AddNominatedPod(b.logger, info.PodInfo, nomination)
	b.nominate(info.Pod, nomination.NominatedNodeName)
	for _, v := range b.victims {
		if err := b.change(v, nil); err != nil {
			return err
		}
	}
	b.victims = nil
	return nil
}

// ---- both ----------------------------------------------------------------------------------------

func (o *options) benchBerth(pods int) (time.Duration, error) {
	out, err := exec.Command(o.program, "bench", "engine", "--row=preemption", "--runs=1", "--output=json",
		fmt.Sprintf("--nodes=%d", o.nodes), fmt.Sprintf("--pods=%d", pods*benchFewer)).Output()
	if err != nil {
		return 0, fmt.Errorf("%s bench engine: %w", o.program, err)
	}
	var said struct {
		Rows []struct {
			UsPerPod float64 `json:"usPerPod"`
		} `json:"rows"`
	}
	if err := json.Unmarshal(out, &said); err != nil || len(said.Rows) != 1 {
		return 0, fmt.Errorf("%s bench engine said %s", o.program, out)
	}
	return time.Duration(said.Rows[0].UsPerPod * float64(time.Microsecond)), nil
}

func (o *options) benchUpstream(ctx context.Context, items []any, pods int) (wall, cpu time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	known := map[string]bool{}
	for _, name := range comparedPlugins {
		known[name] = true
	}
	u, err := newUpstreamWith(ctx, known, 16)
	if err != nil {
		return 0, 0, err
	}
	b, err := u.newBenchRun(ctx)
	if err != nil {
		return 0, 0, err
	}
	if err := b.load(items); err != nil {
		return 0, 0, err
	}
	if err := b.scheduleAll(pods); err != nil {
		return 0, 0, err
	}
	if b.preempted != pods {
		return 0, 0, fmt.Errorf("%d of %d pods preempted others", b.preempted, pods)
	}
	return b.wall / time.Duration(pods), b.cpu / time.Duration(pods), nil
}

func median(list []time.Duration) time.Duration {
	sort.Slice(list, func(i, j int) bool { return list[i] < list[j] })
	return list[len(list)/2]
}

// runBench measures both in turn, so that load on the machine affects both alike.
func runBench(o *options) int {
	items := benchCluster(o.nodes, o.bench)
	var ours, wall, cpu []time.Duration
	for range o.runs {
		b, err := o.benchBerth(o.bench)
		if err == nil {
			var w, c time.Duration
			w, c, err = o.benchUpstream(context.Background(), items, o.bench)
			ours, wall, cpu = append(ours, b), append(wall, w), append(cpu, c)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "oracle:", err)
			return 1
		}
	}
	b, w, c := median(ours), median(wall), median(cpu)
	fmt.Printf("%d full nodes, %d pods that preempt two others each, medians of %d runs, per pod\n", o.nodes, o.bench, o.runs)
	fmt.Printf("  berth           %8.0f us CPU, one thread\n", float64(b)/1e3)
	fmt.Printf("  kube-scheduler  %8.0f us CPU, %.0f us wall (parallelism 16)\n", float64(c)/1e3, float64(w)/1e3)
	fmt.Printf("  ratio           %8.1f in CPU, %.1f in time\n", float64(c)/float64(b), float64(w)/float64(b))
	return 0
}
