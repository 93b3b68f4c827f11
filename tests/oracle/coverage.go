// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// coverage counts what the cases reached, so that an ineffective generator is noticed.
type coverage struct {
	full               int // cases whose nodes are
	pods, nodes, pairs int
	bound, provisioned int // volumes
	outcomes           map[string]int
	refused            map[string]int // plugin: nodes that it rejected
	reasons            map[string]int // "plugin: reason", without numbers and names
	scored             map[string]int // plugin: pods for which its scores differed
	skipped            map[string]int // plugin: pods for which it was skipped
	preempted          map[string]int // outcomes of preemption
}

func newCoverage() *coverage {
	return &coverage{outcomes: map[string]int{}, refused: map[string]int{}, reasons: map[string]int{},
		scored: map[string]int{}, skipped: map[string]int{}, preempted: map[string]int{}}
}

func (c *coverage) add(tc *testCase, v *verdict) {
	for _, item := range tc.Items {
		if kindOf(item) == "Node" {
			c.nodes++
		}
	}
	for _, a := range v.attempts {
		c.pods++
		c.pairs += a.AllNodes
		c.outcomes[a.Outcome]++
		for _, v := range a.Volumes {
			if v.Volume != "" {
				c.bound++
			} else {
				c.provisioned++
			}
		}
		for _, p := range a.PreFilter {
			if p.Code == "Skip" {
				c.skipped[p.Name]++
			} else if p.Code != "Success" {
				c.note(p)
			}
		}
		for _, n := range a.Filters.Nodes {
			for _, p := range n.Refused {
				c.note(p)
			}
		}
		c.addScores(a)
		c.addPreemption(tc, a)
	}
	c.addRetries(v.attempts)
	if slices.ContainsFunc(v.attempts, func(a *attempt) bool { return a.PostFilter != nil && a.PostFilter.NominatedNode != "" }) {
		c.preempted["cases with victims"]++
	}
}

func (c *coverage) note(p pluginVerdict) {
	c.refused[p.Name]++
	for _, reason := range p.Reasons {
		c.reasons[p.Name+": "+generalize(reason)]++
	}
}

var quoted = regexp.MustCompile(`"[^"]*"|\[[^\]]*\]`)

// generalize removes the values and errors from reasons that differ only in them.
func generalize(reason string) string {
	if strings.Contains(reason, "Invalid value") || strings.Contains(reason, "not a valid") {
		reason, _, _ = strings.Cut(reason, ":")
	}
	if rest, ok := strings.CutPrefix(reason, "Insufficient "); ok && strings.Contains(rest, "/") {
		return "Insufficient extended"
	}
	return quoted.ReplaceAllString(reason, "…")
}

func (c *coverage) addScores(a *attempt) {
	if len(a.Feasible) < 2 {
		return
	}
	first := a.Feasible[0].Plugins
	for k := range first {
		for _, n := range a.Feasible {
			if n.Plugins[k].Normalized != first[k].Normalized {
				c.scored[first[k].Name]++
				break
			}
		}
	}
}

func (c *coverage) counts() string {
	return fmt.Sprintf("%d pods on %d nodes, %d pairs of these (%d placed, %d not, %d errors; %d preempt)", c.pods, c.nodes,
		c.pairs, c.outcomes["scheduled"], c.outcomes["unschedulable"], c.outcomes["error"], c.preempted["with victims"])
}

func (c *coverage) addPreemption(tc *testCase, a *attempt) {
	p := a.PostFilter
	if p == nil {
		return
	}
	note := func(what string, yes bool) {
		if yes {
			c.preempted[what]++
		}
	}
	note("asked", true)
	for _, reason := range p.Reasons {
		c.addPreemptionReasons(reason)
	}
	note("more candidates than were wanted", p.limit < p.within && p.Candidates >= p.limit)
	note("a nomination cleared", len(p.cleared) > 0)
	if p.NominatedNode == "" {
		return
	}
	note("with victims", true)
	note("at once", tc.SyncPreemption)
	note("against a budget", p.PDBViolations > 0)
	note("victims that terminate anyway", p.deleted < len(p.Victims))
	note("nobody left to delete", p.deleted == 0)
	note("many victims", len(p.Victims) > 12)
	note("again", a.Attempt > 1)
	if p.rule == "" {
		p.rule = "one candidate"
	}
	note("decided by: "+p.rule, true)
}

var ofNodes = regexp.MustCompile(`^preemption: 0/\d+ nodes are available: (.*)\.$`)

func (c *coverage) addPreemptionReasons(reason string) {
	parts := []string{strings.TrimPrefix(reason, "preemption: ")}
	if m := ofNodes.FindStringSubmatch(reason); m != nil {
		parts = strings.Split(m[1], ", ")
	}
	for _, part := range parts {
		c.preempted["because: "+generalize(strings.TrimLeft(part, "0123456789 "))]++
	}
}

// addRetries: a preemptor is retried when its victims are gone.
func (c *coverage) addRetries(list []*attempt) {
	promised := map[string]string{}
	for _, a := range list {
		node := promised[a.UID]
		switch {
		case node == "":
		case a.Node == node:
			c.preempted["then placed as promised"]++
		case a.Outcome == "scheduled":
			c.preempted["then placed elsewhere"]++
		default:
			c.preempted["then not placed after all"]++
		}
		promised[a.UID] = ""
		if a.PostFilter != nil {
			promised[a.UID] = a.PostFilter.NominatedNode
		}
	}
}

func (c *coverage) table() string {
	var b strings.Builder
	for _, t := range []struct {
		title string
		rows  map[string]int
	}{{"nodes refused", c.refused}, {"reasons", c.reasons}, {"pods whose nodes were told apart", c.scored}, {"pods skipped", c.skipped},
		{"preemptions", c.preempted}} {
		fmt.Fprintf(&b, "  %s\n", t.title)
		keys := []string{}
		for k := range t.rows {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			fmt.Fprintf(&b, "  %9d  %s\n", t.rows[k], k)
		}
	}
	return b.String()
}

// What a few hundred cases must have reached. NodeName is not among them: a pod with a node name is
// bound, so its filter never rejects one.
var (
	expectedReasons = []string{
		"NodeUnschedulable: node(s) were unschedulable",
		"TaintToleration: node(s) had untolerated taint(s)",
		"NodeAffinity: node(s) didn't match Pod's node affinity/selector",
		"NodeAffinity: node(s) didn't match scheduler-enforced node affinity",
		"NodeAffinity: pod affinity terms conflict",
		"NodePorts: node(s) didn't have free ports for the requested pod ports",
		"NodeResourcesFit: Too many pods",
		"NodeResourcesFit: Insufficient cpu",
		"NodeResourcesFit: Insufficient memory",
		"NodeResourcesFit: Insufficient ephemeral-storage",
		"NodeResourcesFit: Insufficient hugepages-2Mi",
		"NodeResourcesFit: Insufficient extended",
		"PodTopologySpread: node(s) didn't match pod topology spread constraints",
		"PodTopologySpread: node(s) didn't match pod topology spread constraints (missing required label)",
		"PodTopologySpread: get constraints from pod",
		"InterPodAffinity: node(s) didn't match pod affinity rules",
		"InterPodAffinity: node(s) didn't match pod anti-affinity rules",
		"InterPodAffinity: node(s) didn't satisfy existing pods anti-affinity rules",
		"InterPodAffinity: parsing pod",
		"NodeDeclaredFeatures: node(s) didn't match Pod's required features",
	}
	expectedSkips = []string{"NodeAffinity", "NodePorts", "PodTopologySpread", "InterPodAffinity", "NodeDeclaredFeatures"}
)

// What some hundreds of full clusters must have reached.
var expectedPreemptions = []string{
	"with victims", "at once", "against a budget", "victims that terminate anyway", "nobody left to delete", "many victims",
	"again", "a nomination cleared", "more candidates than were wanted", "then placed as promised",
	"then not placed after all", "decided by: one candidate", "decided by: violations", "decided by: highest priority",
	"decided by: sum of priorities", "decided by: number of victims", "decided by: start time", "decided by: first of equals",
	"because: not eligible due to preemptionPolicy=Never.", "because: not eligible due to a terminating pod on the nominated node.",
	"because: No preemption victims found for incoming pod", "because: Preemption is not helpful for scheduling",
	"because: Insufficient cpu", "because: Too many pods",
	"because: node(s) didn't have free ports for the requested pod ports",
	"because: node(s) didn't match pod affinity rules",
	"because: node(s) didn't match pod anti-affinity rules",
	"because: node(s) didn't satisfy existing pods anti-affinity rules",
}

// What some hundreds of clusters with devices must have reached.
var expectedDevices = []string{
	"DynamicResources: cannot allocate all claims",
	"DynamicResources: resourceclaim not available on the node",
}

func (c *coverage) missingDevices() []string {
	var list []string
	for _, reason := range expectedDevices {
		if c.reasons[reason] == 0 {
			list = append(list, reason)
		}
	}
	if c.scored["DynamicResources"] == 0 {
		list = append(list, "DynamicResources telling nodes apart by its score")
	}
	return list
}

// What some hundreds of clusters with volumes must have reached.
var expectedVolumes = []string{
	"VolumeRestrictions: node(s) had no available disk",
	"VolumeRestrictions: node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
	"VolumeRestrictions: persistentvolumeclaim … not found",
	"NodeVolumeLimits: node(s) exceed max volume count",
	"VolumeBinding: node(s) didn't match PersistentVolume's node affinity",
	"VolumeBinding: node(s) didn't find available persistent volumes to bind",
	"VolumeBinding: node(s) did not have enough free storage",
	"VolumeBinding: persistentvolumeclaim … bound to non-existent persistentvolume …",
	"VolumeBinding: persistentvolumeclaim … is being deleted",
	"VolumeBinding: pod has unbound immediate PersistentVolumeClaims",
	"VolumeBinding: waiting for ephemeral volume controller to create the persistentvolumeclaim …",
	"VolumeZone: node(s) had no available volume zone",
}

func (c *coverage) missingVolumes() []string {
	var list []string
	for _, reason := range expectedVolumes {
		if c.reasons[reason] == 0 {
			list = append(list, reason)
		}
	}
	for _, reason := range []string{"node(s) exceed max volume count", "node(s) unavailable due to PersistentVolumeClaim with " +
		"ReadWriteOncePod access mode already in-use by another pod"} {
		if c.preempted["because: "+reason] == 0 {
			list = append(list, "preemption because: "+reason)
		}
	}
	if c.preempted["with victims"] == 0 || c.bound == 0 || c.provisioned == 0 {
		list = append(list, "a victim, a volume that was bound, or one that was provisioned")
	}
	return list
}

// missingPreemptions is missing, for full clusters.
func (c *coverage) missingPreemptions() []string {
	var list []string
	for _, what := range expectedPreemptions {
		if c.preempted[what] == 0 {
			list = append(list, "preemption "+what)
		}
	}
	return list
}

// missing lists what should have been reached and was not. Plugins that are not compared are
// ignored.
func (c *coverage) missing(known map[string]bool) []string {
	var list []string
	check := func(plugin, what string, times int) {
		if known[plugin] && times == 0 {
			list = append(list, what)
		}
	}
	for _, reason := range expectedReasons {
		plugin, _, _ := strings.Cut(reason, ":")
		check(plugin, reason, c.reasons[reason])
	}
	for _, plugin := range scorePlugins {
		check(plugin, plugin+" telling nodes apart by its score", c.scored[plugin])
	}
	for _, plugin := range expectedSkips {
		check(plugin, plugin+" being skipped", c.skipped[plugin])
	}
	for _, outcome := range []string{"scheduled", "unschedulable", "error"} {
		if c.outcomes[outcome] == 0 {
			list = append(list, "a pod that comes out as "+outcome)
		}
	}
	return list
}
