// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"sigs.k8s.io/scheduler-plugins/apis/config"
	"sigs.k8s.io/scheduler-plugins/apis/config/scheme"
	"sigs.k8s.io/scheduler-plugins/pkg/noderesources"
	"sigs.k8s.io/scheduler-plugins/pkg/podstate"
	"sigs.k8s.io/scheduler-plugins/pkg/qos"
)

// handle is what the plugins use of a framework.Handle.
type handle struct {
	framework.Handle
	nominated map[string][]fwk.PodInfo
}

func (h *handle) NominatedPodsForNode(node string) []fwk.PodInfo { return h.nominated[node] }

// cluster is a case as upstream's structs.
type cluster struct {
	nodes   []*framework.NodeInfo
	pending []*framework.QueuedPodInfo // in the order of their creation
	handle  *handle
}

func podInfo(pod *v1.Pod) (*framework.PodInfo, error) {
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return nil, fmt.Errorf("pod %s: %w", pod.Name, err)
	}
	return info, nil
}

func newCluster(c *testCase) (*cluster, error) {
	k := &cluster{handle: &handle{nominated: map[string][]fwk.PodInfo{}}}
	byName := map[string]*framework.NodeInfo{}
	for _, node := range c.Nodes {
		info := framework.NewNodeInfo()
		info.SetNode(node)
		byName[node.Name] = info
		k.nodes = append(k.nodes, info)
	}
	begin := time.Unix(1000, 0)
	for i, pod := range c.Pods {
		info, err := podInfo(pod)
		if err != nil {
			return nil, err
		}
		if pod.Spec.NodeName != "" {
			byName[pod.Spec.NodeName].AddPodInfo(info)
			continue
		}
		if n := pod.Status.NominatedNodeName; n != "" {
			k.handle.nominated[n] = append(k.handle.nominated[n], info)
		}
		k.pending = append(k.pending, &framework.QueuedPodInfo{
			PodInfo: info, Timestamp: begin.Add(time.Duration(i) * time.Second)})
	}
	return k, nil
}

// order returns the names of the pending pods as the plugin sorts them.
func (k *cluster) order(c *testCase) ([]string, error) {
	plugin, err := qos.New(context.Background(), nil, k.handle)
	if make := makers[c.Plugin]; make != nil {
		plugin, err = make(c, k)
	}
	if err != nil {
		return nil, err
	}
	less := plugin.(framework.QueueSortPlugin).Less
	sorted := append([]*framework.QueuedPodInfo{}, k.pending...)
	sort.SliceStable(sorted, func(i, j int) bool { return less(sorted[i], sorted[j]) })
	var names []string
	for _, pod := range sorted {
		names = append(names, pod.Pod.Name)
	}
	return names, nil
}

// arguments decodes the arguments as a scheduler does when it reads its configuration.
func arguments(plugin string, args map[string]any) (runtime.Object, error) {
	text, err := json.Marshal(withKind(plugin, args))
	if err != nil {
		return nil, err
	}
	object, _, err := scheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	return object, err
}

func withKind(plugin string, args map[string]any) map[string]any {
	all := map[string]any{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": plugin + "Args"}
	for k, v := range args {
		all[k] = v
	}
	return all
}

// makers make the plugins that need more than a handle.
var makers = map[string]func(*testCase, *cluster) (framework.Plugin, error){}

func newScorer(c *testCase, k *cluster) (framework.ScorePlugin, error) {
	h := k.handle
	var plugin framework.Plugin
	var err error
	switch c.Plugin {
	case podstate.Name:
		plugin, err = podstate.New(context.Background(), nil, h)
	case noderesources.AllocatableName:
		var args runtime.Object
		if args, err = arguments(c.Plugin, c.Args); err != nil {
			return nil, err
		}
		plugin, err = noderesources.NewAllocatable(context.Background(), args.(*config.NodeResourcesAllocatableArgs), h)
	default:
		if makers[c.Plugin] == nil {
			return nil, fmt.Errorf("no scorer %s", c.Plugin)
		}
		plugin, err = makers[c.Plugin](c, k)
	}
	if err != nil {
		return nil, err
	}
	return plugin.(framework.ScorePlugin), nil
}

// filter returns the refusals of the nodes for the first pod of the queue, by name.
func (k *cluster) filter(c *testCase) (map[string]string, error) {
	plugin, err := makers[c.Plugin](c, k)
	if err != nil {
		return nil, err
	}
	result := map[string]string{}
	state := framework.NewCycleState()
	pod := k.pending[0].Pod
	if err := k.preFilter(plugin, state); err != nil {
		return nil, err
	}
	for _, node := range k.nodes {
		status := plugin.(framework.FilterPlugin).Filter(context.Background(), state, pod, node)
		if !status.IsSuccess() {
			result[node.Node().Name] = status.Code().String() + ": " + strings.Join(status.Reasons(), ", ")
		}
	}
	return result, nil
}

func (k *cluster) preFilter(plugin framework.Plugin, state fwk.CycleState) error {
	p, ok := plugin.(framework.PreFilterPlugin)
	if !ok {
		return nil
	}
	if _, status := p.PreFilter(context.Background(), state, k.pending[0].Pod, k.infos()); !status.IsSuccess() && !status.IsSkip() {
		return status.AsError()
	}
	return nil
}

func (k *cluster) infos() (list []fwk.NodeInfo) {
	for _, node := range k.nodes {
		list = append(list, node)
	}
	return list
}

// score returns raw and normalized scores of the feasible nodes for the first pod of the queue.
func (k *cluster) score(c *testCase, feasible []string) (map[string]nodeScore, error) {
	plugin, err := newScorer(c, k)
	if err != nil {
		return nil, err
	}
	byName := map[string]*framework.NodeInfo{}
	for _, node := range k.nodes {
		byName[node.Node().Name] = node
	}
	state := framework.NewCycleState()
	if err := k.preFilter(plugin, state); err != nil {
		return nil, err
	}
	var list framework.NodeScoreList
	result := map[string]nodeScore{}
	for _, name := range feasible {
		raw, status := plugin.Score(context.Background(), state, k.pending[0].Pod, byName[name])
		if !status.IsSuccess() {
			return nil, status.AsError()
		}
		list = append(list, framework.NodeScore{Name: name, Score: raw})
		result[name] = nodeScore{Raw: raw}
	}
	if e := plugin.ScoreExtensions(); e != nil {
		if status := e.NormalizeScore(context.Background(), state, k.pending[0].Pod, list); !status.IsSuccess() {
			return nil, status.AsError()
		}
	}
	for _, s := range list {
		result[s.Name] = nodeScore{result[s.Name].Raw, s.Score}
	}
	return result, nil
}
