// SPDX-License-Identifier: Apache-2.0

package main

// config draws a valid KubeSchedulerConfiguration; nil: the default.
func (g *generator) config() tree {
	if g.chance(0.6) {
		return nil
	}
	c := tree{}
	if g.chance(0.2) {
		c["percentageOfNodesToScore"] = pick(g.draw, 0, 1, 10, 50, 80, 100)
	}
	profiles := []any{g.profile("default-scheduler")}
	if g.chance(0.15) {
		g.second = true
		profiles = append(profiles, g.profile("second"))
	}
	c["profiles"] = profiles
	return c
}

func (g *generator) profile(name string) tree {
	p := tree{"schedulerName": name}
	if g.chance(0.1) {
		p["percentageOfNodesToScore"] = pick(g.draw, 0, 5, 50, 90, 100)
	}
	if g.chance(0.5) {
		p["plugins"] = g.plugins()
	}
	var args []any
	for _, plugin := range []string{"NodeAffinity", "NodeResourcesFit", "NodeResourcesBalancedAllocation",
		"PodTopologySpread", "InterPodAffinity"} {
		if g.chance(0.4) {
			args = append(args, tree{"name": plugin, "args": g.args(plugin)})
		}
	}
	if args != nil {
		p["pluginConfig"] = args
	}
	return p
}

var (
	filterPlugins = []string{"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit",
		"PodTopologySpread", "InterPodAffinity", "NodeDeclaredFeatures"}
	scorePlugins = []string{"TaintToleration", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity",
		"NodeResourcesBalancedAllocation", "ImageLocality"}
)

func named(names []string) []any {
	list := []any{}
	for _, n := range names {
		list = append(list, tree{"name": n})
	}
	return list
}

func (g *generator) plugins() tree {
	t := tree{}
	if g.chance(0.4) { // weights
		enabled, disabled := []any{}, []string{}
		for _, n := range some(g.draw, 4, scorePlugins...) {
			enabled = append(enabled, tree{"name": n, "weight": pick(g.draw, 1, 2, 3, 10, 100)})
			disabled = append(disabled, n)
		}
		if g.chance(0.2) {
			disabled = append([]string{"*"}, disabled...)
		}
		t["score"] = tree{"enabled": enabled, "disabled": named(disabled)}
	}
	if g.chance(0.3) {
		t["filter"] = tree{"disabled": named(some(g.draw, 3, filterPlugins...))}
	}
	if g.chance(0.06) { // a plugin without PreFilter or PreScore may fail, or work without it
		t[pick(g.draw, "preFilter", "preScore")] = tree{"disabled": named(some(g.draw, 2, filterPlugins...))}
	}
	if g.chance(0.3) { // all of a plugin, or its place among the others
		names := some(g.draw, 2, filterPlugins...)
		multi := tree{"disabled": named(names)}
		if g.chance(0.5) {
			multi["enabled"] = named(names)
		}
		t["multiPoint"] = multi
	}
	return t
}

func (g *generator) resources(weights ...int) []any {
	list := []any{}
	for _, name := range some(g.draw, 4, "cpu", "memory", "ephemeral-storage", "example.com/gpu", "example.com/fpga", "other.io/nic") {
		list = append(list, tree{"name": name, "weight": pick(g.draw, weights...)})
	}
	return list
}

func (g *generator) args(plugin string) tree {
	t := tree{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": plugin + "Args"}
	switch plugin {
	case "NodeAffinity":
		if g.chance(0.8) {
			t["addedAffinity"] = g.nodeAffinity(true)
		}
	case "NodeResourcesFit":
		g.fitArgs(t)
	case "NodeResourcesBalancedAllocation":
		if list := g.resources(1); len(list) > 0 {
			t["resources"] = list
		}
	case "PodTopologySpread":
		t["defaultingType"] = pick(g.draw, "List", "List", "System")
		if t["defaultingType"] == "List" {
			t["defaultConstraints"] = g.defaultConstraints()
		}
	case "InterPodAffinity":
		t["hardPodAffinityWeight"] = pick(g.draw, 0, 1, 10, 100)
		t["ignorePreferredTermsOfExistingPods"] = g.chance(0.5)
	}
	return t
}

func (g *generator) fitArgs(t tree) {
	if g.chance(0.4) {
		t["ignoredResources"] = anys(some(g.draw, 2, "example.com/gpu", "example.com/fpga", "cpu"))
	}
	if g.chance(0.4) {
		t["ignoredResourceGroups"] = anys(some(g.draw, 1, "example.com", "other.io"))
	}
	if g.chance(0.15) {
		return
	}
	kind := pick(g.draw, "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio", "RequestedToCapacityRatio")
	strategy := tree{"type": kind}
	if list := g.resources(1, 1, 2, 5, 100); len(list) > 0 {
		strategy["resources"] = list
	}
	if kind == "RequestedToCapacityRatio" {
		var shape []any
		for _, u := range some(g.draw, 5, 0, 1, 10, 33, 50, 75, 99, 100) {
			shape = append(shape, tree{"utilization": u, "score": g.IntN(11)})
		}
		if shape == nil {
			shape = append(shape, tree{"utilization": 50, "score": 5})
		}
		strategy["requestedToCapacityRatio"] = tree{"shape": shape}
	}
	t["scoringStrategy"] = strategy
}

func (g *generator) defaultConstraints() []any {
	list := []any{}
	for _, key := range some(g.draw, 2, hostnameLabel, zoneLabel, "rack") {
		list = append(list, tree{"maxSkew": pick(g.draw, 1, 2, 3), "topologyKey": key,
			"whenUnsatisfiable": pick(g.draw, "ScheduleAnyway", "ScheduleAnyway", "DoNotSchedule")})
	}
	return list
}
