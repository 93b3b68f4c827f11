// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

// later draws the events after the pods of the case have been tried: changes of all kinds, and more
// pods. They test counts and indexes that are updated incrementally.
func (g *generator) later(c *testCase) {
	if !g.chance(0.35) {
		return
	}
	g.there = nil
	for _, item := range c.Items {
		g.there = append(g.there, item.(tree))
	}
	for range g.between(1, 2) {
		var events []any
		g.steady = len(g.there)
		for range g.between(1, 6) {
			if e := g.event(); e != nil {
				events = append(events, e)
			}
		}
		// At least one of them is tried: upstream notices that a node was deleted and added again
		// only if there was an attempt in between.
		if g.intensity["images"] > 0 {
			events = append(events, g.heartbeats()...)
		}
		g.gone, g.leaving = append(g.gone, g.leaving...), nil
		for i := range g.between(1, 3) {
			pod := g.pod(false)
			if i == 0 {
				spec := pod["spec"].(tree)
				spec["schedulerName"] = "default-scheduler"
				delete(spec, "schedulingGates")
			}
			for _, o := range g.takeExtra() {
				events = append(events, g.arrive(o.(tree)))
			}
			events = append(events, g.arrive(pod))
		}
		c.Then = append(c.Then, events)
	}
}

// heartbeats: all nodes report their status. Upstream recounts the nodes that have an image only
// for nodes that have changed.
func (g *generator) heartbeats() []any {
	var events []any
	for _, o := range g.there {
		if kindOf(o) == "Node" {
			events = append(events, tree{"type": "MODIFIED", "object": cloneValue(o)})
		}
	}
	return events
}

func (g *generator) event() tree {
	switch {
	case g.chance(0.25) || g.steady == 0:
		return g.arrive(g.newcomer())
	case g.chance(0.4): // a new object stays for now, see later
		if at := g.IntN(g.steady); mayLeave(g.there[at]) && !g.sharesDevice(at) {
			return g.leave(at)
		}
		return nil
	}
	at := g.IntN(len(g.there))
	changed := g.changed(g.there[at])
	if changed == nil {
		return nil
	}
	g.there[at] = changed
	return tree{"type": "MODIFIED", "object": cloneValue(changed)}
}

func (g *generator) newcomer() tree {
	switch {
	case g.storage != nil && g.chance(0.3):
		return g.newStorage()
	case g.devices != nil && g.chance(0.4):
		return g.newDevice()
	case g.chance(0.3):
		g.nodes++
		return g.node(g.nodes - 1)
	case g.chance(0.1) && len(g.gone) > 0: // it is added again
		o := g.gone[len(g.gone)-1]
		g.gone = g.gone[:len(g.gone)-1]
		return o
	}
	return g.pod(true)
}

func (g *generator) arrive(o tree) tree {
	g.there = append(g.there, o)
	return tree{"type": "ADDED", "object": cloneValue(o)}
}

func (g *generator) leave(at int) tree {
	o := g.there[at]
	g.steady--
	g.there = append(g.there[:at:at], g.there[at+1:]...)
	if kindOf(o) != "Pod" {
		g.leaving = append(g.leaving, o)
	}
	return tree{"type": "DELETED", "object": cloneValue(o)}
}

// changed returns another version of an object; nil: no change.
func (g *generator) changed(o tree) tree {
	o = cloneValue(o).(tree)
	meta := o["metadata"].(tree)
	switch kindOf(o) {
	case "Node":
		g.changeNode(o, meta)
	case "Pod":
		spec := o["spec"].(tree)
		if spec["nodeName"] == nil {
			return nil // unknown whether it has been placed
		}
		switch {
		case g.chance(0.6):
			meta["labels"] = g.podLabels()
		case g.chance(0.5):
			meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
		default:
			g.resize(spec, o["status"].(tree), true)
		}
	case "Namespace":
		meta["labels"] = tree{"team": pick(g.draw, "a", "b"), "env": pick(g.draw, "a", "b")}
	case "Service":
		o["spec"] = tree{"selector": tree{pick(g.draw, podKeys...): pick(g.draw, labelWords...)}}
	case "PodDisruptionBudget":
		o["status"].(tree)["disruptionsAllowed"] = g.IntN(3)
	case "ResourceSlice", "DeviceClass", "ResourceClaim":
		return g.changedDevice(o)
	default:
		return g.changedStorage(o, meta)
	}
	return o
}

func (g *generator) changeNode(o, meta tree) {
	var number int
	fmt.Sscanf(meta["name"].(string), "n%d", &number)
	fresh := g.node(number)
	status, freshStatus := o["status"].(tree), fresh["status"].(tree)
	switch g.IntN(5) {
	case 0:
		meta["labels"] = fresh["metadata"].(tree)["labels"]
	case 1:
		o["spec"] = fresh["spec"]
	case 2:
		status["allocatable"], status["capacity"] = freshStatus["allocatable"], freshStatus["capacity"]
	case 3:
		status["images"], status["declaredFeatures"] = freshStatus["images"], freshStatus["declaredFeatures"]
	default:
		o["metadata"].(tree)["labels"] = fresh["metadata"].(tree)["labels"]
		o["spec"], o["status"] = fresh["spec"], freshStatus
	}
	for _, k := range []string{"images", "declaredFeatures"} {
		if status[k] == nil {
			delete(status, k)
		}
	}
}
