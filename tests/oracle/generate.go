// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
)

// generate draws a case.
func generate(seed uint64, volumes, devices bool) *testCase {
	g := &generator{draw: newDraw(seed)}
	if volumes {
		g.withStorage()
	}
	if devices {
		g.withDevices()
	}
	g.nodes = g.between(1, 12)
	g.homes = some(g.draw, 3, namespaces...)
	if len(g.homes) == 0 {
		g.homes = []string{"default"}
	}
	switch {
	case g.chance(0.01):
		g.nodes = 0
	case g.chance(0.03):
		g.nodes = g.between(100, 140)
	case g.chance(0.006):
		g.nodes = g.between(260, 420)
	}
	c := &testCase{Config: g.config()}
	for i := range g.nodes {
		c.Items = append(c.Items, g.node(i))
	}
	c.Items = append(c.Items, g.clusterObjects()...)
	if volumes {
		c.Items = append(c.Items, g.storageObjects()...)
	}
	if devices {
		c.Items = append(c.Items, g.deviceObjects()...)
	}
	bound := g.IntN(2*min(g.nodes, 12) + 2)
	if g.chance(0.2) {
		bound = 0
	}
	for range bound {
		c.Items = append(c.Items, g.pod(true))
	}
	for range g.between(1, 6) {
		c.Items = append(c.Items, g.pod(false))
	}
	c.Items = append(c.Items, g.takeExtra()...)
	g.later(c)
	c.prune()
	return c
}

type generator struct {
	*draw
	nodes   int
	pods    int
	homes   []string // namespaces of pods
	owners  []owner  // of pods
	second  bool     // there is a profile "second"
	there   []tree   // current objects, for later events
	gone    []tree   // may be added again
	leaving []tree
	steady  int       // this many of them are old
	twin    tree      // spec of an earlier pod
	twinned tree      // labels of that pod
	full    *fullness // nil: not full
	storage *storage  // nil: no volumes
	devices *devices  // nil: no devices
}

type owner struct{ kind, name, namespace string }

func object(apiVersion, kind, namespace, name string) (tree, tree) {
	meta := tree{"name": name}
	if namespace != "" {
		meta["namespace"] = namespace
	}
	return tree{"apiVersion": apiVersion, "kind": kind, "metadata": meta}, meta
}

// ---- nodes ---------------------------------------------------------------------------------------

func (g *generator) node(i int) tree {
	if g.full != nil {
		return g.fullNode(i)
	}
	name := nodeName(i)
	o, meta := object("v1", "Node", "", name)
	labels := tree{hostnameLabel: name}
	if g.chance(0.05) {
		delete(labels, hostnameLabel)
	}
	g.zoneLabels(labels)
	for _, k := range []string{"disk", "rack", "gen"} {
		if g.chance(0.5) {
			labels[k] = g.nodeValue(k, g.nodes)
		}
	}
	g.manyLabels(labels)
	meta["labels"] = labels
	spec := tree{}
	if g.about("unschedulable") && g.chance(0.5) {
		spec["unschedulable"] = true
	}
	if g.about("taints") {
		spec["taints"] = repeat(g.draw, 1, 2, g.taint)
	}
	o["spec"] = spec
	o["status"] = g.nodeStatus()
	return o
}

// manyLabels adds most of manyKeys.
func (g *generator) manyLabels(labels tree) {
	if !g.about("longLabels") {
		return
	}
	lacking := pick(g.draw, 0, 0, 0.005, 0.3)
	for i := range manyKeys {
		if !g.chance(lacking) {
			labels[manyKey(i)] = pick(g.draw, "a", "b")
		}
	}
}

func (g *generator) zoneLabels(labels tree) {
	if g.chance(0.85) {
		labels[zoneLabel] = fmt.Sprintf("z%d", g.IntN(3))
	}
	if g.chance(0.5) {
		labels[regionLabel] = fmt.Sprintf("r%d", g.IntN(2))
	}
	if g.chance(0.08) {
		labels[oldZone] = fmt.Sprintf("z%d", g.IntN(3))
		labels[oldRegion] = fmt.Sprintf("r%d", g.IntN(2))
	}
	if g.chance(0.02) {
		labels[zoneLabel] = ""
	}
}

func (g *generator) nodeStatus() tree {
	allocatable := tree{}
	for _, r := range append([]string{"cpu", "memory", "ephemeral-storage"}, extendedNames...) {
		if g.chance(0.98) {
			allocatable[r] = g.capacity(r)
		}
	}
	if g.chance(0.99) {
		allocatable["pods"] = g.capacity("pods")
	}
	status := tree{"allocatable": allocatable, "capacity": allocatable}
	if g.about("images") {
		status["images"] = repeat(g.draw, 1, 4, func() any {
			names := repeat(g.draw, 1, 2, func() any { return g.imageName() })
			size := pick(g.draw, int64(g.IntN(2000<<20)), int64(g.IntN(100<<20)))
			if g.chance(0.15) {
				size = pick[int64](g.draw, 0, 1, 23<<20, 1000<<20, 5000<<20, 1<<50, 1<<62)
			}
			return tree{"names": names, "sizeBytes": size}
		})
	}
	if g.about("declaredFeatures") {
		status["declaredFeatures"] = anys(some(g.draw, 4, declaredFeatures...))
	}
	return status
}

var declaredFeatures = []string{"ContainerRestartRules", "ExtendWebSocketsToKubelet", "InPlacePodLevelResourcesVerticalScaling",
	"InPlacePodVerticalScalingInitContainers", "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport",
	"NobodyKnowsThis"}

func (g *generator) imageName() string {
	name := pick(g.draw, images...)
	if g.chance(0.2) {
		return name + pick(g.draw, ":latest", ":v2", "")
	}
	return name
}

func (g *generator) taint() any {
	t := tree{"key": pick(g.draw, "k1", "k2", "node.kubernetes.io/not-ready", "node.kubernetes.io/unschedulable"),
		"effect": pick(g.draw, "NoSchedule", "NoSchedule", "PreferNoSchedule", "PreferNoSchedule", "NoExecute")}
	if g.chance(0.02) {
		t["effect"] = pick(g.draw, "", "Sometimes")
	}
	if g.chance(0.6) {
		t["value"] = pick(g.draw, "v", "w", "5", "10", "")
	}
	return t
}

// ---- namespaces, services, owners ----------------------------------------------------------------

func (g *generator) clusterObjects() []any {
	var list []any
	for _, name := range []string{"default", "team-a", "team-b"} {
		if g.chance(0.1) {
			continue
		}
		o, meta := object("v1", "Namespace", "", name)
		labels := tree{"kubernetes.io/metadata.name": name}
		if g.chance(0.7) {
			labels["team"] = pick(g.draw, "a", "b")
		}
		if g.chance(0.4) {
			labels["env"] = pick(g.draw, "a", "b")
		}
		if g.chance(0.1) {
			labels = tree{}
		}
		meta["labels"] = labels
		list = append(list, o)
	}
	if !g.about("owners") {
		return list
	}
	for i := range g.between(1, 3) {
		list = append(list, g.service(i))
	}
	for i := range g.between(1, 3) {
		list = append(list, g.owner(i))
	}
	return list
}

func (g *generator) service(i int) tree {
	o, _ := object("v1", "Service", pick(g.draw, g.homes...), fmt.Sprintf("service-%d", i))
	spec := tree{}
	if g.chance(0.9) {
		selector := tree{}
		for range g.IntN(3) {
			selector[pick(g.draw, podKeys...)] = pick(g.draw, labelWords...)
		}
		spec["selector"] = selector
	}
	o["spec"] = spec
	return o
}

func (g *generator) owner(i int) tree {
	w := owner{pick(g.draw, controllers...), fmt.Sprintf("owner-%d", i), pick(g.draw, g.homes...)}
	g.owners = append(g.owners, w)
	apiVersion := "apps/v1"
	spec := tree{}
	if w.kind == "ReplicationController" {
		apiVersion = "v1"
		if g.chance(0.9) {
			spec["selector"] = tree{pick(g.draw, podKeys...): pick(g.draw, labelWords...)}
		}
		if g.chance(0.1) {
			spec["selector"] = tree{}
		}
	} else if s := g.podSelector(); s != nil {
		spec["selector"] = s
	}
	o, _ := object(apiVersion, w.kind, w.namespace, w.name)
	o["spec"] = spec
	return o
}

func (g *generator) ownerReferences(namespace string) []any {
	if len(g.owners) == 0 || g.chance(0.3) {
		return nil
	}
	w := pick(g.draw, g.owners...)
	for try := 0; try < 3 && w.namespace != namespace; try++ {
		w = pick(g.draw, g.owners...)
	}
	apiVersion := "apps/v1"
	if w.kind == "ReplicationController" {
		apiVersion = "v1"
	}
	if g.chance(0.1) {
		apiVersion = pick(g.draw, "v1", "apps/v1beta1", "example.com/v1")
	}
	ref := tree{"apiVersion": apiVersion, "kind": w.kind, "name": w.name, "uid": "u-" + w.name, "controller": true}
	if g.chance(0.1) {
		delete(ref, "controller")
	}
	if g.chance(0.05) {
		ref["kind"] = pick(g.draw, "Job", "DaemonSet")
	}
	return []any{ref}
}
