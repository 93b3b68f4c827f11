// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"
)

// A difference is one result that differs between the two sides. Its topic is what a smaller case
// must still show.
type difference struct {
	topic           string
	where           string
	upstream, berth any
}

func (d difference) String() string {
	return fmt.Sprintf("%s: %s\n    upstream  %s    berth     %s", d.topic, d.where, encode(d.upstream), encode(d.berth))
}

type differences []difference

func (l *differences) add(topic, where string, upstream, berth any) {
	*l = append(*l, difference{topic, where, upstream, berth})
}

func (l *differences) check(topic, where string, upstream, berth any) bool {
	u, b := encode(upstream), encode(berth)
	same := bytes.Equal(anyOf.ReplaceAll(u, nil), anyOf.ReplaceAll(b, nil)) || isEmpty(upstream) && isEmpty(berth)
	// How many nodes have which of these reasons is as random.
	if topic == "message" && anyOf.Match(u) && anyOf.Match(b) {
		same = true
	}
	if !same {
		l.add(topic, where, upstream, berth)
	}
	return same
}

// anyOf: upstream looks at a map and reports the first problem it finds, in any order.
var anyOf = regexp.MustCompile(anyOfMaps)

const anyOfMaps = `pod level request for [^ ]+ is insufficient` +
	`|claim [^ ]+, device [^ ]+: ConsumedCapacity is nil, but Capacity key '[^']+' is set in NodeAllocatableResourceMappings for resource [-a-z0-9]+`

// anyPool: upstream's stable allocator takes pools in any order. It is used without these features.
func anyPool() bool {
	gates := utilfeature.DefaultFeatureGate
	return !gates.Enabled(features.DRAConsumableCapacity) &&
		!(gates.Enabled(features.DRADeviceBindingConditions) && gates.Enabled(features.DRAResourceClaimDeviceStatus))
}

// allowAnyPool is called when the gates are set.
func allowAnyPool() {
	if anyPool() {
		anyOf = regexp.MustCompile(anyOfMaps + `|resource pool [^ ]+ is`)
	}
}

// isEmpty: an empty list equals an absent one.
func isEmpty(v any) bool {
	list, ok := v.([]string)
	return ok && len(list) == 0
}

// compare lists all differences, causes before consequences.
func compare(upstream, berth []*attempt) differences {
	var list differences
	name := func(a *attempt) string {
		return fmt.Sprintf("%s %s/%s, attempt %d", a.Profile, a.Namespace, a.Pod, a.Attempt)
	}
	for i, u := range upstream {
		if i == len(berth) {
			list.add("order", "attempts", name(u), nil)
			return list
		}
		if !list.check("order", fmt.Sprintf("attempt %d", i), name(u), name(berth[i])) {
			return list
		}
		compareAttempt(u, berth[i], &list)
		// The consequences of a different decision are not compared.
		if len(list) > 0 || u.last {
			return list
		}
	}
	if len(berth) > len(upstream) {
		list.add("order", "attempts", nil, name(berth[len(upstream)]))
	} else if n := len(berth); n > 0 && berth[n-1].Claims != nil {
		compareClaims(upstream[n-1].Claims, berth[n-1].Claims, &list)
	}
	return list
}

func compareAttempt(u, b *attempt, list *differences) {
	pod := fmt.Sprintf("pod %s/%s", u.Namespace, u.Pod)
	if u.anyOrder {
		u.sortNodes()
		b.sortNodes()
	}
	for _, d := range b.Disagreements {
		var who struct{ Plugin string }
		_ = json.Unmarshal(d, &who)
		list.add("batch "+who.Plugin, pod, nil, d)
	}
	comparePreFilter(pod, u, b, list)
	list.check("outcome", pod, u.Outcome, b.Outcome)
	compareSurvey(pod, &u.Filters, &b.Filters, list)
	if u.Outcome != "error" || b.Outcome != "error" {
		compareNodes(pod, u, b, list)
		compareScores(pod, u, b, list)
	}
	comparePostFilter(pod, u.PostFilter, b.PostFilter, list)
	list.check("all nodes", pod, u.AllNodes, b.AllNodes)
	list.check("message", pod, u.Message, b.Message)
	list.check("node", pod, u.Node, b.Node)
}

func (a *attempt) sortNodes() {
	sort.Slice(a.Nodes, func(i, j int) bool { return a.Nodes[i].Name < a.Nodes[j].Name })
	sort.Slice(a.Feasible, func(i, j int) bool { return a.Feasible[i].Name < a.Feasible[j].Name })
}

// comparePreFilter ignores Success: a plugin without work need not report it. Plugins that are not
// compared are ignored, too.
func comparePreFilter(pod string, u, b *attempt, list *differences) {
	said := func(a *attempt) map[string]pluginVerdict {
		m := map[string]pluginVerdict{}
		for _, v := range a.PreFilter {
			if v.Code != "Success" && slices.Contains(comparedPlugins, v.Name) {
				m[v.Name] = v
			}
		}
		return m
	}
	us, bs := said(u), said(b)
	for _, name := range unionOfKeys(us, bs) {
		list.check("PreFilter "+name, pod, us[name], bs[name])
	}
}

func unionOfKeys[T any](a, b map[string]T) []string {
	var keys []string
	for k := range a {
		keys = append(keys, k)
	}
	for k := range b {
		if _, both := a[k]; !both {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	return keys
}

// settle sorts reasons where upstream iterates over a map: resources other than cpu, memory and
// storage, which come first.
func settle(reasons []string) []string {
	fixed := []string{"Too many pods", "Insufficient cpu", "Insufficient memory", "Insufficient ephemeral-storage"}
	at := 0
	for at < len(reasons) && slices.Contains(fixed, reasons[at]) {
		at++
	}
	for _, r := range reasons[at:] {
		if !strings.HasPrefix(r, "Insufficient ") {
			return reasons
		}
	}
	sorted := slices.Clone(reasons)
	sort.Strings(sorted[at:])
	return sorted
}

func compareSurvey(pod string, u, b *survey, list *differences) {
	list.check("filters asked", pod, u.Asked, b.Asked)
	name := func(n surveyNode) string { return n.Name }
	if !list.check("order of nodes", pod, mapped(u.Nodes, name), mapped(b.Nodes, name)) {
		return
	}
	for i := range u.Nodes {
		un, bn := byPlugin(u.Nodes[i].Refused), byPlugin(b.Nodes[i].Refused)
		for _, plugin := range unionOfKeys(un, bn) {
			list.check("Filter "+plugin, pod+" on "+u.Nodes[i].Name, un[plugin], bn[plugin])
		}
	}
}

func byPlugin(l []pluginVerdict) map[string]pluginVerdict {
	m := map[string]pluginVerdict{}
	for _, v := range l {
		v.Reasons = settle(v.Reasons)
		m[v.Name] = v
	}
	return m
}

func mapped[T any](list []T, f func(T) string) []string {
	out := []string{}
	for _, v := range list {
		out = append(out, f(v))
	}
	return out
}

func compareNodes(pod string, u, b *attempt, list *differences) {
	name := func(n nodeVerdict) string { return n.Name }
	if !list.check("nodes looked at", pod, mapped(u.Nodes, name), mapped(b.Nodes, name)) {
		return
	}
	for i := range u.Nodes {
		un, bn := u.Nodes[i], b.Nodes[i]
		un.Reasons, bn.Reasons = settle(un.Reasons), settle(bn.Reasons)
		list.check("verdict", pod+" on "+un.Name, un, bn)
	}
}

func comparePostFilter(pod string, u, b *postFilter, list *differences) {
	if u == nil || b == nil {
		if u != b {
			list.add("PostFilter", pod, u, b)
		}
		return
	}
	// Upstream does not say which plugin failed.
	if u.Code != "Error" {
		list.check("PostFilter plugin", pod, u.Plugin, b.Plugin)
	}
	list.check("candidates", pod, u.Candidates, b.Candidates)
	list.check("PostFilter", pod, u.Code, b.Code)
	list.check("PostFilter", pod, u.Reasons, b.Reasons)
	list.check("nominated node", pod, u.NominatedNode, b.NominatedNode)
	list.check("offset", pod, u.Offset, b.Offset)
	where := pod + " on " + u.NominatedNode
	list.check("victims", where, u.Victims, b.Victims)
	list.check("violations", where, u.PDBViolations, b.PDBViolations)
}

func compareScores(pod string, u, b *attempt, list *differences) {
	name := func(n nodeScores) string { return n.Name }
	if !list.check("feasible nodes", pod, mapped(u.Feasible, name), mapped(b.Feasible, name)) {
		return
	}
	for i := range u.Feasible {
		un, bn := u.Feasible[i], b.Feasible[i]
		plugin := func(s pluginScore) string { return s.Name }
		where := pod + " on " + un.Name
		if !list.check("plugins that score", where, mapped(un.Plugins, plugin), mapped(bn.Plugins, plugin)) {
			return
		}
		for k := range un.Plugins {
			list.check("Score "+un.Plugins[k].Name, where, un.Plugins[k], bn.Plugins[k])
		}
		list.check("total", where, un.Total, bn.Total)
	}
}

// topics returns each topic once, in order.
func (l differences) topics() []string {
	var out []string
	for _, d := range l {
		if !slices.Contains(out, d.topic) {
			out = append(out, d.topic)
		}
	}
	return out
}

// show prints at most a handful in full.
func (l differences) show() string {
	const most = 8
	var b strings.Builder
	for i, d := range l {
		if i == most {
			fmt.Fprintf(&b, "  … and %d more\n", len(l)-most)
			break
		}
		fmt.Fprintf(&b, "  %s", d)
	}
	return b.String()
}
