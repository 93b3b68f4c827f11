// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/api/resource"
)

// generateFull draws a case whose nodes are full of pods of low priority, with pods of higher
// priority to place: for preemption.
func generateFull(seed uint64, volumes, devices bool) *testCase {
	g := &generator{draw: newDraw(seed), full: &fullness{}}
	if volumes {
		g.withStorage()
	}
	if devices {
		g.withDevices()
	}
	g.nodes = g.between(1, 8)
	if g.chance(0.02) {
		g.nodes = g.between(100, 130)
	}
	g.homes = []string{"default", pick(g.draw, "default", "team-a")}
	g.full.draw(g)
	c := &testCase{Config: g.fullConfig(), SyncPreemption: g.chance(0.3)}
	var nodes []tree
	for i := range g.nodes {
		nodes = append(nodes, g.fullNode(i))
		c.Items = append(c.Items, nodes[i])
	}
	for _, name := range []string{"default", "team-a"} {
		o, _ := object("v1", "Namespace", "", name)
		c.Items = append(c.Items, o)
	}
	if volumes {
		c.Items = append(c.Items, g.storageObjects()...)
	}
	if devices {
		c.Items = append(c.Items, g.deviceObjects()...)
	}
	for i := range g.nodes {
		room := g.room(nodes[i])
		for at := g.full.crowd(g); at > 0 || room > 0; at-- {
			pod := g.fullPod(true)
			pod["spec"].(tree)["nodeName"] = nodeName(i)
			c.Items = append(c.Items, pod)
			room -= cpuOf(pod) + 1
		}
	}
	c.Items = append(c.Items, g.budgets()...)
	for range g.between(1, 5) {
		c.Items = append(c.Items, g.fullPod(false))
	}
	c.Items = append(c.Items, g.takeExtra()...)
	g.later(c)
	c.Attempts = pick(g.draw, 1, 2, 3, 3)
	if len(c.Then) > 0 {
		c.Attempts = 0
	}
	c.prune()
	return c
}

// A fullness is what the pods and nodes of one case share: few priorities, few start times, few
// sizes, so that there are ties.
type fullness struct {
	low    []int // of bound pods
	high   []int // of pods to place
	starts []string
	sizes  []string
	busy   int
}

var everyPriority = []int{math.MinInt32, math.MinInt32 + 1, -1000, -1, 0, 0, 1, 10, 1000, 1000000, 1000000000, 2000000000,
	2000001000, math.MaxInt32}

func (f *fullness) draw(g *generator) {
	at := g.between(3, len(everyPriority)-1)
	f.high = some(g.draw, 2, everyPriority[at:]...)
	f.high = append(f.high, everyPriority[at])
	f.low = append(some(g.draw, 3, everyPriority[:at]...), everyPriority[g.IntN(at)])
	if g.chance(0.3) {
		f.low = append(f.low, everyPriority[at]) // a tie
	}
	for range g.between(1, 4) {
		// Before any clock that starts at the epoch.
		f.starts = append(f.starts, fmt.Sprintf("1969-12-%02dT%02d:00:00Z", g.between(1, 30), g.IntN(24)))
	}
	f.sizes = some(g.draw, 3, "100m", "200m", "250m", "300m", "500m", "700m", "1")
	f.sizes = append(f.sizes, "500m")
	f.busy = pick(g.draw, 1, 1, 2, 4, 8)
}

// room returns how much of a node's cpu must be in use.
func (g *generator) room(node tree) int {
	if g.chance(0.1) {
		return 0
	}
	cpu := resource.MustParse(node["status"].(tree)["allocatable"].(tree)["cpu"].(string))
	return int(cpu.MilliValue()) - pick(g.draw, 0, 0, 100, 200)
}

func cpuOf(pod tree) int {
	container := pod["spec"].(tree)["containers"].([]any)[0].(tree)
	amount, _ := container["resources"].(tree)["requests"].(tree)["cpu"].(string)
	if amount == "" {
		return 0
	}
	cpu := resource.MustParse(amount)
	return int(cpu.MilliValue())
}

// crowd returns the minimal number of pods on a node.
func (f *fullness) crowd(g *generator) int {
	switch {
	case g.chance(0.03):
		return 0
	case g.chance(0.06):
		return g.between(13, 60)
	}
	return g.IntN(f.busy)
}

func (g *generator) fullConfig() tree {
	if g.chance(0.5) {
		return nil
	}
	p := tree{"schedulerName": "default-scheduler"}
	if g.chance(0.15) {
		p["plugins"] = g.plugins()
	}
	if g.chance(0.85) {
		absolute, percentage := g.IntN(6), pick(g.draw, 0, 1, 10, 50, 100)
		if absolute+percentage == 0 {
			absolute = 1
		}
		p["pluginConfig"] = []any{tree{"name": "DefaultPreemption", "args": tree{
			"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "DefaultPreemptionArgs",
			"minCandidateNodesPercentage": percentage, "minCandidateNodesAbsolute": absolute}}}
	}
	return tree{"profiles": []any{p}}
}

func (g *generator) fullNode(i int) tree {
	name := nodeName(i)
	o, meta := object("v1", "Node", "", name)
	labels := tree{hostnameLabel: name, "disk": pick(g.draw, labelWords...)}
	if g.chance(0.9) {
		labels[zoneLabel] = fmt.Sprintf("z%d", g.IntN(3))
	}
	g.manyLabels(labels)
	meta["labels"] = labels
	spec := tree{}
	if g.chance(0.03) {
		spec["unschedulable"] = true
	}
	if g.about("taints") && g.chance(0.4) {
		spec["taints"] = repeat(g.draw, 1, 2, g.taint)
	}
	allocatable := tree{"cpu": pick(g.draw, "1", "1", "2", "2", "3"), "memory": pick(g.draw, "1Gi", "4Gi", "8Gi"),
		"pods": pick(g.draw, "1", "2", "4", "8", "110", "110", "110", "110", "110", "110", "110", "110")}
	if g.about("extended") {
		allocatable["example.com/gpu"] = pick(g.draw, "0", "1", "2", "4")
	}
	ready := "True"
	if g.chance(0.05) {
		ready = pick(g.draw, "False", "Unknown")
	}
	o["spec"] = spec
	o["status"] = tree{"allocatable": allocatable, "capacity": allocatable,
		"conditions": []any{tree{"type": "Ready", "status": ready}}}
	return o
}

// ---- pods ----------------------------------------------------------------------------------------

func (g *generator) fullPod(bound bool) tree {
	g.pods++
	namespace := pick(g.draw, g.homes...)
	o, meta := object("v1", "Pod", namespace, fmt.Sprintf("p%d", g.pods))
	meta["uid"] = fmt.Sprintf("uid-%d", g.pods)
	labels := g.podLabels()
	if g.chance(0.1) {
		labels = tree{}
	}
	meta["labels"] = labels
	spec := g.fullSpec(bound)
	// Equal pods, for spreading and affinity.
	if g.twin != nil && g.chance(0.3) {
		spec = cloneValue(g.twin).(tree)
		meta["labels"] = cloneValue(g.twinned).(tree)
	}
	g.twin, g.twinned = spec, labels
	spec = cloneValue(spec).(tree)
	spec["schedulerName"] = "default-scheduler"
	status := tree{"phase": "Pending"}
	if bound {
		g.settle(meta, spec, status)
	} else {
		g.want(spec, status)
	}
	o["spec"], o["status"] = spec, status
	g.addVolumes(o)
	g.addClaims(o)
	return o
}

func (g *generator) fullSpec(bound bool) tree {
	requests := tree{"cpu": pick(g.draw, g.full.sizes...)}
	if g.chance(0.4) {
		requests["memory"] = pick(g.draw, "100Mi", "256Mi", "500Mi", "1Gi")
	}
	if g.about("extended") {
		requests["example.com/gpu"] = pick(g.draw, "1", "1", "2")
	}
	if g.chance(0.05) {
		requests = tree{}
	}
	container := tree{"name": "c0", "resources": tree{"requests": requests}}
	if g.about("ports") {
		container["ports"] = repeat(g.draw, 1, 2, g.port)
	}
	spec := tree{"containers": []any{container}}
	affinity := tree{}
	if !bound && g.about("nodeAffinity") && g.chance(0.4) {
		affinity["nodeAffinity"] = g.nodeAffinity(true)
	}
	if g.about("podAffinity") && g.chance(0.3) {
		affinity["podAffinity"] = g.podAffinity()
	}
	if g.about("podAntiAffinity") {
		affinity["podAntiAffinity"] = g.podAffinity()
	}
	if len(affinity) > 0 {
		spec["affinity"] = affinity
	}
	if g.about("spread") && g.chance(0.5) {
		spec["topologySpreadConstraints"] = repeat(g.draw, 1, g.atMost(2), g.spreadConstraint)
	}
	if g.about("taints") {
		spec["tolerations"] = repeat(g.draw, 1, 3, g.toleration)
	}
	return spec
}

// settle makes it a bound pod.
func (g *generator) settle(meta, spec, status tree) {
	spec["nodeName"] = nodeName(g.IntN(max(g.nodes, 1)))
	delete(spec, "priority")
	if p := pick(g.draw, g.full.low...); p != 0 || g.chance(0.5) {
		spec["priority"] = p
	}
	status["phase"] = "Running"
	if g.chance(0.9) {
		status["startTime"] = pick(g.draw, g.full.starts...)
	}
	if g.about("terminating") && g.chance(0.5) {
		meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	}
	if g.about("terminating") {
		status["conditions"] = []any{tree{"type": pick(g.draw, "DisruptionTarget", "DisruptionTarget", "Ready"),
			"status": pick(g.draw, "True", "True", "False"),
			"reason": pick(g.draw, "PreemptionByScheduler", "PreemptionByScheduler", "EvictionByEvictionAPI")}}
	}
}

// want makes it a pod to be placed.
func (g *generator) want(spec, status tree) {
	if g.chance(0.3) {
		spec["containers"].([]any)[0].(tree)["resources"] = tree{"requests": tree{
			"cpu": pick(g.draw, "500m", "500m", "800m", "1", "1", "1500m", "2", "5")}}
	}
	spec["priority"] = pick(g.draw, g.full.high...)
	if g.chance(0.15) {
		spec["priority"] = pick(g.draw, g.full.low...)
	}
	if g.chance(0.1) {
		spec["preemptionPolicy"] = pick(g.draw, "Never", "Never", "PreemptLowerPriority")
	}
	if g.about("nominated") {
		status["nominatedNodeName"] = nodeName(g.IntN(g.nodes + 1))
		if g.chance(0.4) {
			// It is not tried, but its nomination counts.
			spec["schedulingGates"] = []any{tree{"name": "wait"}}
		}
	}
}

// ---- budgets -------------------------------------------------------------------------------------

func (g *generator) budgets() []any {
	var list []any
	if g.chance(0.35) {
		return nil
	}
	for i := range g.between(1, 4) {
		o, _ := object("policy/v1", "PodDisruptionBudget", pick(g.draw, g.homes...), fmt.Sprintf("budget-%d", i))
		spec := tree{}
		if s := g.podSelector(); s != nil {
			spec["selector"] = s
		}
		status := tree{"disruptionsAllowed": pick(g.draw, 0, 0, 0, 1, 1, 2, 5), "currentHealthy": 1, "desiredHealthy": 1,
			"expectedPods": 1}
		if g.chance(0.02) {
			status["disruptionsAllowed"] = -1
		}
		if g.chance(0.2) {
			disrupted := tree{}
			for range g.between(1, 4) {
				disrupted[fmt.Sprintf("p%d", g.between(1, max(g.pods, 1)))] = "2026-01-01T00:00:00Z"
			}
			status["disruptedPods"] = disrupted
		}
		o["spec"], o["status"] = spec, status
		list = append(list, o)
	}
	return list
}
