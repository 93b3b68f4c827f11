// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core"
	corev1informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"sigs.k8s.io/scheduler-plugins/apis/config"
	"sigs.k8s.io/scheduler-plugins/pkg/trimaran"
	"sigs.k8s.io/scheduler-plugins/pkg/trimaran/loadvariationriskbalancing"
	"sigs.k8s.io/scheduler-plugins/pkg/trimaran/lowriskovercommitment"
	"sigs.k8s.io/scheduler-plugins/pkg/trimaran/targetloadpacking"
)

func init() {
	klog.SetLogger(logr.Discard())
	for _, name := range []string{targetloadpacking.Name, loadvariationriskbalancing.Name, lowriskovercommitment.Name} {
		generators[name] = func(g generator) *testCase { return g.load(name) }
		makers[name] = newTrimaran
	}
}

// ---- cases ----------------------------------------------------------------------------------

const watcherURL = "http://watcher:2020"

type metric struct {
	Name     string  `json:"name"`
	Type     string  `json:"type"`
	Operator string  `json:"operator"`
	Value    float64 `json:"value"`
}

func (g generator) percent() float64 {
	switch g.Intn(8) {
	case 0:
		return 0
	case 1:
		return float64(g.Intn(130))
	case 2:
		return g.Float64() * 3
	}
	return g.Float64() * 100
}

func (g generator) metrics() (list []metric) {
	for range g.Intn(7) {
		m := metric{Name: "m", Type: one(g, "CPU", "CPU", "CPU", "Memory", "Memory", "Bandwidth"),
			Operator: one(g, "AVG", "AVG", "STD", "STD", "Latest", "", "SUM"), Value: g.percent()}
		if m.Operator == "STD" {
			m.Value /= one(g, 1.0, 3, 10)
		}
		list = append(list, m)
	}
	return list
}

// watcher is an answer of a load watcher; times are relative to the start of the scheduler.
func (g generator) watcher(nodes []*v1.Node) map[string]any {
	all := map[string]any{"other": map[string]any{"metrics": g.metrics()}}
	for _, node := range nodes {
		if g.chance(0.9) {
			all[node.Name] = map[string]any{"metrics": g.metrics(), "tags": map[string]any{}, "metadata": map[string]any{}}
		}
	}
	end := -int64(g.Intn(120))
	return map[string]any{"timestamp": end, "source": "Prometheus", "data": map[string]any{"NodeMetricsMap": all},
		"window": map[string]any{"duration": "15m", "start": end - 900, "end": end}}
}

func (g generator) cpuAndMemory() v1.ResourceRequirements {
	r := v1.ResourceRequirements{Requests: v1.ResourceList{}, Limits: v1.ResourceList{}}
	put := func(list v1.ResourceList, name v1.ResourceName, p float64, values ...string) {
		if g.chance(p) {
			list[name] = resource.MustParse(one(g, values...))
		}
	}
	put(r.Requests, v1.ResourceCPU, 0.6, "100m", "250m", "1", "1500u", "0", "333m")
	put(r.Limits, v1.ResourceCPU, 0.4, "100m", "500m", "2", "3", "0")
	put(r.Requests, v1.ResourceMemory, 0.6, "64Mi", "1Gi", "500M", "1", "0")
	put(r.Limits, v1.ResourceMemory, 0.4, "128Mi", "2Gi", "3G", "0")
	return r
}

func (g generator) loaded(pod *v1.Pod) *v1.Pod {
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Resources = g.cpuAndMemory()
	}
	if g.chance(0.3) {
		pod.Spec.InitContainers = []v1.Container{{Name: "init", Image: "i", Resources: g.cpuAndMemory()}}
	}
	if g.chance(0.2) {
		pod.Spec.Overhead = v1.ResourceList{v1.ResourceCPU: resource.MustParse("20m"), v1.ResourceMemory: resource.MustParse("10Mi")}
	}
	return pod
}

func (g generator) loadArgs(plugin string) map[string]any {
	args := map[string]any{"watcherAddress": watcherURL}
	set := func(key string, values ...any) {
		if g.chance(0.5) {
			args[key] = one(g, values...)
		}
	}
	switch plugin {
	case targetloadpacking.Name:
		set("targetUtilization", 40, 70, 1, 100, 0, -5)
		set("defaultRequestsMultiplier", "1", "1.5", "2.25", "0.1")
		set("defaultRequests", map[string]any{"cpu": "200m"}, map[string]any{"cpu": 2}, map[string]any{"memory": "1Gi"})
	case loadvariationriskbalancing.Name:
		set("safeVarianceMargin", 1, 0.5, 3, 0, -1)
		set("safeVarianceSensitivity", 1, 2, 0.5, 0, -1)
	case lowriskovercommitment.Name:
		set("smoothingWindowSize", 1, 5, 10, 0)
		set("riskLimitWeights", map[string]any{"cpu": 0.3, "memory": 1}, map[string]any{"cpu": 0}, map[string]any{"memory": 2.5, "x": 1})
	}
	return args
}

func (g generator) load(plugin string) *testCase {
	c := &testCase{Plugin: plugin, Args: g.loadArgs(plugin), Nodes: g.nodes(8)}
	body, err := json.Marshal(g.watcher(c.Nodes))
	if err != nil {
		panic(err)
	}
	c.Responses = map[string][]byte{watcherURL + "/watcher": body}
	c.Pods = g.running(c.Nodes, 12)
	for _, pod := range c.Pods {
		g.loaded(pod)
		if g.chance(0.8) {
			at := metav1.NewTime(time.Unix(-int64(g.Intn(240)), 0))
			pod.Status.StartTime = &at
		}
	}
	c.Pods = append(c.Pods, g.loaded(g.pod("p", 100)))
	return c
}

// ---- upstream's plugins ---------------------------------------------------------------------

// podInformer takes the handler that a plugin registers.
type podInformer struct {
	cache.SharedIndexInformer
	taken *cache.ResourceEventHandler
}

func (i podInformer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	*i.taken = h
	return nil, nil
}

type factory struct {
	informers.SharedInformerFactory
	taken *cache.ResourceEventHandler
	pods  cache.Indexer
}

type coreOf struct {
	coreinformers.Interface
	f *factory
}
type corev1Of struct {
	corev1informers.Interface
	f *factory
}

func (f *factory) Core() coreinformers.Interface     { return coreOf{f: f} }
func (c coreOf) V1() corev1informers.Interface       { return corev1Of{f: c.f} }
func (c corev1Of) Pods() corev1informers.PodInformer { return podsOf{f: c.f} }
func (p podsOf) Informer() cache.SharedIndexInformer { return podInformer{taken: p.f.taken} }

type podsOf struct {
	corev1informers.PodInformer
	f *factory
}

type loadHandle struct {
	framework.Handle
	factory informers.SharedInformerFactory
}

func (h *loadHandle) SharedInformerFactory() informers.SharedInformerFactory { return h.factory }

// One server for all cases: plugins of earlier cases keep asking it.
var watcherBody []byte
var watcherServer = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write(watcherBody)
}))

// absolute returns the answer with a window that ends relative to now.
func absolute(body []byte, now int64) ([]byte, error) {
	var all map[string]any
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, err
	}
	window := all["window"].(map[string]any)
	window["start"] = int64(window["start"].(float64)) + now
	window["end"] = int64(window["end"].(float64)) + now
	all["timestamp"] = window["end"]
	return json.Marshal(all)
}

func newTrimaran(c *testCase, k *cluster) (framework.Plugin, error) {
	now := time.Now()
	body, err := absolute(c.Responses[watcherURL+"/watcher"], now.Unix())
	if err != nil {
		return nil, err
	}
	watcherBody = body
	object, err := arguments(c.Plugin, c.Args)
	if err != nil {
		return nil, err
	}
	var taken cache.ResourceEventHandler
	h := &loadHandle{Handle: k.handle, factory: &factory{taken: &taken}}
	switch args := object.(type) {
	case *config.TargetLoadPackingArgs:
		args.WatcherAddress = watcherServer.URL
		plugin, err := targetloadpacking.New(context.Background(), args, h)
		if err != nil {
			return nil, err
		}
		assign(taken.(cache.FilteringResourceEventHandler).Handler.(*trimaran.PodAssignEventHandler), c, now)
		return plugin, nil
	case *config.LoadVariationRiskBalancingArgs:
		args.WatcherAddress = watcherServer.URL
		return loadvariationriskbalancing.New(context.Background(), args, h)
	case *config.LowRiskOverCommitmentArgs:
		args.WatcherAddress = watcherServer.URL
		return lowriskovercommitment.New(context.Background(), args, h)
	}
	return nil, fmt.Errorf("unexpected arguments %T", object)
}

// assign tells the plugin of running pods, with the times at which they got their nodes.
func assign(p *trimaran.PodAssignEventHandler, c *testCase, now time.Time) {
	for _, pod := range c.Pods {
		if pod.Spec.NodeName == "" {
			continue
		}
		p.OnAdd(pod, true)
		list := p.ScheduledPodsCache[pod.Spec.NodeName]
		at := now
		if pod.Status.StartTime != nil {
			at = now.Add(time.Duration(pod.Status.StartTime.Unix()) * time.Second)
		}
		list[len(list)-1].Timestamp = at
	}
}
