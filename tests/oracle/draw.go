// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// draw is the source of all randomness of a case: the same seed makes the same case.
type draw struct {
	*rand.Rand
	// How often a topic occurs in this case, by topic: cases are about a few topics each, so that
	// not every pod is rejected for every reason.
	intensity map[string]float64
}

func newDraw(seed uint64) *draw {
	return &draw{rand.New(rand.NewPCG(seed, 0x6265727468)), map[string]float64{}}
}

func (d *draw) chance(p float64) bool { return d.Float64() < p }

// The topics of plugins with complex behaviour.
var often = map[string]bool{"spread": true, "podAffinity": true, "images": true}

// about returns whether this object is about a topic. In half of the cases none is.
func (d *draw) about(topic string) bool {
	p, known := d.intensity[topic]
	if !known {
		p = pick(d, 0, 0, 0, 0, 0.1, 0.25, 0.5, 0.8)
		if topic == "longLists" || topic == "longLabels" {
			p = pick(d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.3, 0.6, 1)
		}
		if often[topic] {
			p = pick(d, 0, 0, 0.3, 0.6, 0.9)
		}
		d.intensity[topic] = p
	}
	return d.chance(p)
}

func pick[T any](d *draw, list ...T) T { return list[d.IntN(len(list))] }

// some draws up to max of them, in order, without duplicates.
func some[T any](d *draw, max int, list ...T) []T {
	want := d.IntN(max + 1)
	out := []T{}
	for i, v := range list {
		if want > 0 && d.IntN(len(list)-i) < want {
			out = append(out, v)
			want--
		}
	}
	return out
}

// between draws from low … high.
func (d *draw) between(low, high int) int { return low + d.IntN(high-low+1) }

// repeat draws a list of low … high elements.
func repeat(d *draw, low, high int, one func() any) []any {
	list := []any{}
	for range d.between(low, high) {
		list = append(list, one())
	}
	return list
}

func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// ---- words: few of them, so that they match ------------------------------------------------------

const (
	zoneLabel     = "topology.kubernetes.io/zone"
	regionLabel   = "topology.kubernetes.io/region"
	oldZone       = "failure-domain.beta.kubernetes.io/zone"
	oldRegion     = "failure-domain.beta.kubernetes.io/region"
	hostnameLabel = "kubernetes.io/hostname"
)

var (
	nodeKeys       = []string{"disk", "rack", "gen", hostnameLabel, zoneLabel, regionLabel}
	podKeys        = []string{"app", "tier", "version"}
	namespaces     = []string{"default", "default", "team-a", "team-b", "ghost"}
	controllers    = []string{"ReplicaSet", "ReplicationController", "StatefulSet"}
	labelWords     = []string{"a", "a", "a", "b", "c"}
	images         = []string{"nginx", "nginx:latest", "redis:7", "registry.example:5000/app", "busybox@sha256:" + strings.Repeat("ab", 32)}
	extendedNames  = []string{"example.com/gpu", "example.com/fpga", "other.io/nic", "hugepages-2Mi", "hugepages-1Gi"}
	schedulerNames = []string{"default-scheduler", "default-scheduler", "second"}
)

// value draws a label value; sometimes an odd one.
func (d *draw) value() string {
	if d.chance(0.05) {
		return pick(d, "", "", "1", "2", "10", "-5", "+3", "007", "0x10", "1e3", "3.5", "9223372036854775807",
			"9223372036854775808", "not valid!", "-", strings.Repeat("x", 64), "é")
	}
	return pick(d, labelWords...)
}

func (d *draw) nodeKey() string {
	if d.chance(0.03) {
		return pick(d, "", "no such key", "nobody.has/this", oldZone, "a/b/c", "Disk")
	}
	return pick(d, nodeKeys...)
}

func (d *draw) podKey() string {
	if d.chance(0.02) {
		return pick(d, "", "not a key", "nobody.has/this", "App")
	}
	return pick(d, podKeys...)
}

// manyKeys are more than any cache of berth holds. In some cases nodes have them.
const manyKeys = 160

func manyKey(i int) string { return fmt.Sprintf("many.example/k%d", i) }

// atMost is the maximal length of a list: long ones occur in a few cases.
func (d *draw) atMost(usual int) int {
	if d.about("longLists") {
		return 100
	}
	return usual
}

func (d *draw) topologyKey() string {
	switch {
	case d.about("longLists"):
		return manyKey(d.IntN(manyKeys))
	case d.chance(0.05):
		return pick(d, "", "nobody.has/this", "bad key", oldZone)
	case d.chance(0.75):
		return pick(d, hostnameLabel, zoneLabel, zoneLabel)
	}
	return pick(d, regionLabel, "rack", "disk")
}

// nodeValue draws a value that usually fits the key.
func (d *draw) nodeValue(key string, nodes int) string {
	switch {
	case d.chance(0.1):
		return d.value()
	case key == hostnameLabel:
		return nodeName(d.IntN(nodes + 1))
	case key == zoneLabel:
		return fmt.Sprintf("z%d", d.IntN(3))
	case key == regionLabel:
		return fmt.Sprintf("r%d", d.IntN(2))
	case key == "gen":
		return pick(d, "1", "2", "3", "10", "x")
	}
	return d.value()
}

func nodeName(i int) string { return fmt.Sprintf("n%d", i) }

// ---- amounts -------------------------------------------------------------------------------------

// Above 1.7e29 berth keeps only 128 bits of a sum, unlike upstream; no cluster has that much.

func (d *draw) huge() string {
	return pick(d, "9223372036854775807", "9223372036854775", "8Ei", "9Ei", "4611686018427387904", "1e18",
		"92233720368547758070", "7E", "1e25", "9223372036854775808m")
}

func (d *draw) odd() string {
	return pick(d, "0", "0", "1", "1n", "1u", "1m", "999u", "0.5", "1.5", "3", "7", "1e3", "123456789", "-1",
		"0.1m", "1k", "1001m")
}

// request draws the request of a container.
func (d *draw) request(resource string) string {
	if d.chance(0.01) {
		return d.huge()
	}
	return d.podRequest(resource)
}

// podRequest draws pod-level requests. Nothing huge: upstream adds the overhead to such an amount
// in place, so that it grows with every call.
func (d *draw) podRequest(resource string) string {
	if d.chance(0.06) {
		return d.odd()
	}
	switch resource {
	case "cpu":
		return pick(d, "50m", "100m", "100m", "250m", "250m", "500m", "500m", "1", "1500m", "3")
	case "memory":
		return pick(d, "64Mi", "64Mi", "128Mi", "128Mi", "200Mi", "256M", "256M", "1Gi", "3000000000", "4Gi")
	case "ephemeral-storage":
		return pick(d, "1Gi", "1Gi", "2Gi", "5G", "30Gi")
	case "hugepages-2Mi":
		return pick(d, "2Mi", "4Mi", "64Mi", "100Mi")
	case "hugepages-1Gi":
		return pick(d, "1Gi", "2Gi")
	}
	return pick(d, "1", "1", "2", "4")
}

// capacity draws the capacity of a node.
func (d *draw) capacity(resource string) string {
	switch {
	case d.chance(0.02):
		return d.huge()
	case d.chance(0.015):
		return d.odd()
	}
	switch resource {
	case "cpu":
		return pick(d, "2", "3500m", "4", "8", "8", "8", "16", "16", "64")
	case "memory":
		return pick(d, "2Gi", "4Gi", "8000000000", "8Gi", "16Gi", "16Gi", "31457280Ki", "128Gi")
	case "ephemeral-storage":
		return pick(d, "10Gi", "20Gi", "100G", "1Ti")
	case "pods":
		return pick(d, "0", "1", "2", "3", "4", "10", "32", "64", "110", "110", "110", "110", "110", "110", "110", "110", "110", "110", "110", "110", "110", "110")
	case "hugepages-2Mi":
		return pick(d, "0", "64Mi", "512Mi", "4Gi")
	case "hugepages-1Gi":
		return pick(d, "0", "1Gi", "4Gi")
	}
	return pick(d, "0", "1", "4", "8", "8")
}

// amounts draws a resource list.
func (d *draw) amounts(p float64, draw func(resource string) string) tree {
	t := tree{}
	for _, r := range []string{"cpu", "memory"} {
		if d.chance(p) {
			t[r] = draw(r)
		}
	}
	if d.about("storage") {
		t["ephemeral-storage"] = draw("ephemeral-storage")
	}
	if d.about("extended") {
		t[pick(d, extendedNames...)] = draw(pick(d, extendedNames...))
	}
	return t
}

// ---- selectors -----------------------------------------------------------------------------------

// labelSelector draws a metav1.LabelSelector over pod labels; nil if none.
func (d *draw) labelSelector(key, value func() string) any {
	if d.chance(0.06) {
		return nil
	}
	s := tree{}
	if d.chance(0.1) {
		return s // empty: everything
	}
	if d.chance(0.7) {
		labels := tree{key(): value()}
		// Upstream iterates over a map: of several invalid ones it reports any.
		if d.chance(0.25) {
			labels["tier"] = pick(d, labelWords...)
		}
		s["matchLabels"] = labels
	}
	if len(s) == 0 || d.chance(0.2) {
		s["matchExpressions"] = repeat(d, 1, 2, func() any {
			e := tree{"key": key(), "operator": pick(d, "In", "In", "NotIn", "NotIn", "Exists", "DoesNotExist")}
			if d.chance(0.015) {
				e["operator"] = pick(d, "", "Gt", "in", "Equals")
			}
			if op := e["operator"]; op == "In" || op == "NotIn" || d.chance(0.02) {
				low := 1
				if d.chance(0.04) {
					low = 0
				}
				e["values"] = repeat(d, low, 3, func() any { return value() })
			}
			return e
		})
	}
	return s
}

func (d *draw) podSelector() any { return d.labelSelector(d.podKey, d.value) }

func (d *draw) namespaceSelector() any {
	return d.labelSelector(
		func() string { return pick(d, "team", "env", "kubernetes.io/metadata.name") },
		func() string { return pick(d, "a", "b", "default", "team-a", "team-b") })
}

func (d *draw) podLabels() tree {
	t := tree{}
	for _, k := range podKeys {
		if d.chance(0.75) {
			t[k] = pick(d, labelWords...)
		}
		if d.chance(0.03) {
			t[k] = ""
		}
	}
	return t
}
