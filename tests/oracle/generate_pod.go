// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
)

// pod draws a bound pod, or one to be placed.
func (g *generator) pod(bound bool) tree {
	if g.full != nil {
		return g.fullPod(bound)
	}
	g.pods++
	namespace := pick(g.draw, g.homes...)
	o, meta := object("v1", "Pod", namespace, fmt.Sprintf("p%d", g.pods))
	meta["uid"] = fmt.Sprintf("uid-%d", g.pods)
	labels := g.podLabels()
	spec := g.podSpec()
	// Equal pods, for spreading and affinity.
	if g.twin != nil && g.chance(0.5) {
		spec = cloneValue(g.twin).(tree)
		labels = cloneValue(g.twinned).(tree)
	}
	g.twin, g.twinned = spec, labels
	spec = cloneValue(spec).(tree)
	meta["labels"] = labels
	if refs := g.ownerReferences(namespace); refs != nil {
		meta["ownerReferences"] = refs
	}
	spec["schedulerName"] = "default-scheduler"
	if g.second {
		spec["schedulerName"] = pick(g.draw, schedulerNames...)
	}
	status := tree{"phase": "Pending"}
	if bound {
		g.bind(meta, spec, status)
	} else {
		g.pend(spec, status)
	}
	if g.about("resize") {
		g.resize(spec, status, bound)
	}
	o["spec"], o["status"] = spec, status
	g.addVolumes(o)
	g.addClaims(o)
	return o
}

func (g *generator) bind(meta, spec, status tree) {
	spec["nodeName"] = nodeName(g.IntN(max(g.nodes, 1)))
	status["phase"] = "Running"
	if g.chance(0.02) {
		spec["nodeName"] = "gone"
	}
	if g.chance(0.1) {
		meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	}
	delete(spec, "schedulingGates")
}

func (g *generator) pend(spec, status tree) {
	if g.about("nominated") && g.chance(0.4) {
		status["nominatedNodeName"] = nodeName(g.IntN(g.nodes + 1))
	}
	if g.about("gates") && g.chance(0.3) {
		spec["schedulingGates"] = []any{tree{"name": "wait"}}
	}
	// NodeName never sees a pod that has one: such a pod is bound.
}

// ---- spec ----------------------------------------------------------------------------------------

func (g *generator) podSpec() tree {
	spec := tree{"containers": repeat(g.draw, 1, 2, func() any { return g.container(false) })}
	g.nameContainers(spec["containers"], "c")
	if g.chance(0.25) {
		spec["initContainers"] = repeat(g.draw, 1, 3, func() any { return g.container(true) })
		g.nameContainers(spec["initContainers"], "i")
	}
	if g.about("podResources") {
		spec["resources"] = tree{"requests": g.amounts(0.6, g.podRequest)}
	}
	if g.about("overhead") {
		spec["overhead"] = g.amounts(0.6, g.request)
	}
	if g.about("priority") {
		spec["priority"] = pick(g.draw, -1, 0, 1, 1000, 2000000000)
	}
	if g.about("nodeSelector") {
		if g.chance(0.6) {
			spec["nodeSelector"] = g.nodeSelectorMap()
		}
	}
	affinity := tree{}
	if g.about("nodeAffinity") {
		affinity["nodeAffinity"] = g.nodeAffinity(false)
	}
	if g.about("podAffinity") {
		affinity["podAffinity"] = g.podAffinity()
	}
	if g.about("podAntiAffinity") {
		affinity["podAntiAffinity"] = g.podAffinity()
	}
	if len(affinity) > 0 {
		spec["affinity"] = affinity
	}
	if g.about("spread") {
		spec["topologySpreadConstraints"] = repeat(g.draw, 1, g.atMost(3), g.spreadConstraint)
	}
	if g.about("taints") {
		spec["tolerations"] = repeat(g.draw, 1, 3, g.toleration)
	}
	if g.about("hostNetwork") {
		spec["hostNetwork"] = true
		if g.chance(0.3) {
			spec["hostUsers"] = false
		}
	}
	return spec
}

func (g *generator) nameContainers(list any, prefix string) {
	for i, c := range list.([]any) {
		c.(tree)["name"] = fmt.Sprintf("%s%d", prefix, i)
	}
}

func (g *generator) container(initial bool) tree {
	c := tree{}
	if g.chance(0.85) {
		c["resources"] = tree{"requests": g.amounts(0.7, g.request)}
	}
	if g.about("images") {
		c["image"] = g.imageName()
	}
	if g.about("ports") {
		c["ports"] = repeat(g.draw, 1, g.atMost(2), g.port)
	}
	if initial && g.chance(0.5) {
		c["restartPolicy"] = "Always"
	}
	if g.about("declaredFeatures") && g.chance(0.2) {
		c["restartPolicyRules"] = []any{tree{"action": pick(g.draw, "Restart", "RestartAllContainers"),
			"exitCodes": tree{"operator": "In", "values": []any{42}}}}
		if c["restartPolicy"] == nil {
			c["restartPolicy"] = "Never"
		}
	}
	return c
}

func (g *generator) port() any {
	p := tree{"containerPort": 8080}
	if g.chance(0.85) {
		p["hostPort"] = pick(g.draw, 80, 80, 443, 8080)
	}
	if g.about("longLists") {
		p["hostPort"] = g.between(1, 200)
	}
	if g.chance(0.8) {
		p["protocol"] = pick(g.draw, "TCP", "TCP", "UDP", "SCTP")
	}
	if g.chance(0.4) {
		p["hostIP"] = pick(g.draw, "0.0.0.0", "127.0.0.1", "10.0.0.1", "::")
	}
	return p
}

func (g *generator) toleration() any {
	t := tree{}
	if g.chance(0.9) {
		t["key"] = pick(g.draw, "k1", "k2", "node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready")
	}
	if g.chance(0.85) {
		t["operator"] = pick(g.draw, "Exists", "Equal", "Equal", "")
	}
	if g.chance(0.12) {
		t["operator"] = pick(g.draw, "Gt", "Lt", "Gt", "Lt", "exists")
	}
	if t["operator"] != "Exists" || g.chance(0.1) {
		t["value"] = pick(g.draw, "v", "w", "5", "10", "")
	}
	if g.chance(0.7) {
		t["effect"] = pick(g.draw, "NoSchedule", "PreferNoSchedule", "NoExecute", "")
	}
	if t["effect"] == "NoExecute" && g.chance(0.5) {
		t["tolerationSeconds"] = 300
	}
	return t
}

// ---- node affinity -------------------------------------------------------------------------------

func (g *generator) nodeSelectorMap() tree {
	t := tree{}
	k := pick(g.draw, nodeKeys...)
	t[k] = g.nodeValue(k, g.nodes)
	if g.chance(0.03) {
		t[pick(g.draw, "bad key", "", "disk")] = "not valid!"
	}
	return t
}

// sane: an invalid configuration would be rejected, which is not the purpose here.
func (g *generator) nodeAffinity(sane bool) tree {
	t := tree{}
	if g.chance(0.5) {
		low := 1
		if !sane && g.chance(0.04) {
			low = 0
		}
		t["requiredDuringSchedulingIgnoredDuringExecution"] = tree{
			"nodeSelectorTerms": repeat(g.draw, low, 2, func() any { return g.nodeTerm(sane) })}
	}
	if g.chance(0.6) {
		t["preferredDuringSchedulingIgnoredDuringExecution"] = repeat(g.draw, 1, 3, func() any {
			weight := pick(g.draw, 1, 2, 5, 10, 50, 100)
			if !sane && g.chance(0.05) {
				weight = pick(g.draw, 0, -3, 1000)
			}
			return tree{"weight": weight, "preference": g.nodeTerm(sane)}
		})
	}
	return t
}

func (g *generator) nodeTerm(sane bool) tree {
	t := tree{}
	if g.chance(0.85) {
		t["matchExpressions"] = repeat(g.draw, 1, 2, func() any { return g.nodeRequirement(sane) })
	}
	if g.chance(0.2) {
		t["matchFields"] = repeat(g.draw, 1, 2, func() any { return g.fieldRequirement(sane) })
	}
	return t // empty: matches nothing
}

func (g *generator) nodeRequirement(sane bool) tree {
	key := pick(g.draw, nodeKeys...)
	if !sane {
		key = g.nodeKey()
	}
	r := tree{"key": key, "operator": pick(g.draw, "In", "In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")}
	if !sane && g.chance(0.02) {
		r["operator"] = pick(g.draw, "", "in", "Near")
	}
	value := func() any {
		if sane {
			return pick(g.draw, labelWords...)
		}
		return g.nodeValue(key, g.nodes)
	}
	switch op := r["operator"]; {
	case op == "Gt" || op == "Lt":
		if g.chance(0.5) {
			r["key"] = "gen"
		}
		r["values"] = []any{pick(g.draw, "0", "1", "2", "5")}
		if !sane && g.chance(0.1) {
			r["values"] = repeat(g.draw, 0, 2, func() any { return pick(g.draw, "-1", g.value()) })
		}
	case op == "In" || op == "NotIn":
		low := 1
		if !sane && g.chance(0.03) {
			low = 0
		}
		r["values"] = repeat(g.draw, low, 3, value)
	case !sane && g.chance(0.02):
		r["values"] = []any{"a"}
	}
	return r
}

func (g *generator) fieldRequirement(sane bool) tree {
	r := tree{"key": "metadata.name", "operator": pick(g.draw, "In", "In", "In", "NotIn"),
		"values": []any{nodeName(g.IntN(g.nodes + 1))}}
	if sane {
		return r
	}
	if g.chance(0.05) {
		r["key"] = pick(g.draw, "metadata.uid", "", "metadata.namespace")
	}
	if g.chance(0.05) {
		r["operator"] = pick(g.draw, "Exists", "Gt", "")
	}
	if g.chance(0.05) {
		r["values"] = repeat(g.draw, 0, 2, func() any { return nodeName(g.IntN(g.nodes + 1)) })
	}
	return r
}

// ---- pod affinity and spreading ------------------------------------------------------------------

func (g *generator) podAffinity() tree {
	t := tree{}
	if g.chance(0.45) {
		t["requiredDuringSchedulingIgnoredDuringExecution"] = repeat(g.draw, 1, g.atMost(2), g.affinityTerm)
	}
	if g.chance(0.6) {
		t["preferredDuringSchedulingIgnoredDuringExecution"] = repeat(g.draw, 1, g.atMost(2), func() any {
			weight := pick(g.draw, 1, 2, 10, 50, 100)
			if g.chance(0.03) {
				weight = pick(g.draw, 0, -5)
			}
			return tree{"weight": weight, "podAffinityTerm": g.affinityTerm()}
		})
	}
	return t
}

func (g *generator) affinityTerm() any {
	t := tree{"topologyKey": g.topologyKey()}
	if s := g.podSelector(); s != nil {
		t["labelSelector"] = s
	}
	if g.chance(0.25) {
		t["namespaces"] = anys(some(g.draw, 2, "default", "team-a", "team-b", "ghost"))
	}
	if g.chance(0.3) {
		if s := g.namespaceSelector(); s != nil {
			t["namespaceSelector"] = s
		}
	}
	if g.chance(0.1) {
		t["matchLabelKeys"] = anys(some(g.draw, 2, append(podKeys, "nobody.has/this")...))
	}
	if g.chance(0.1) {
		t["mismatchLabelKeys"] = anys(some(g.draw, 2, append(podKeys, "nobody.has/this")...))
	}
	return t
}

func (g *generator) spreadConstraint() any {
	t := tree{"maxSkew": pick(g.draw, 1, 1, 1, 1, 2, 3, 5), "topologyKey": g.topologyKey(),
		"whenUnsatisfiable": pick(g.draw, "DoNotSchedule", "ScheduleAnyway")}
	if s := g.podSelector(); s != nil {
		t["labelSelector"] = s
	}
	if t["whenUnsatisfiable"] == "DoNotSchedule" && g.chance(0.4) {
		t["minDomains"] = pick(g.draw, 1, 2, 2, 3, 3, 4, 10)
	}
	if g.chance(0.25) {
		t["nodeAffinityPolicy"] = pick(g.draw, "Honor", "Ignore")
	}
	if g.chance(0.25) {
		t["nodeTaintsPolicy"] = pick(g.draw, "Honor", "Ignore")
	}
	if g.chance(0.15) {
		t["matchLabelKeys"] = anys(some(g.draw, 2, append(podKeys, "nobody.has/this")...))
	}
	if g.chance(0.01) {
		t["maxSkew"] = pick(g.draw, 0, -1, 1<<31-1)
	}
	return t
}

// ---- resizing ------------------------------------------------------------------------------------

// resize adds the status that a kubelet reports while containers are being resized in place.
func (g *generator) resize(spec, status tree, bound bool) {
	if !bound && g.chance(0.7) {
		return
	}
	for _, list := range []struct{ spec, status string }{
		{"containers", "containerStatuses"}, {"initContainers", "initContainerStatuses"}} {
		containers, _ := spec[list.spec].([]any)
		var statuses []any
		for _, c := range containers {
			if g.chance(0.8) {
				statuses = append(statuses, g.containerStatus(c.(tree)["name"]))
			}
		}
		if statuses != nil {
			status[list.status] = statuses
		}
	}
	if spec["resources"] != nil && g.chance(0.7) {
		if g.chance(0.6) {
			status["resources"] = tree{"requests": g.amounts(0.6, g.podRequest)}
		}
		if g.chance(0.6) {
			status["allocatedResources"] = g.amounts(0.6, g.podRequest)
		}
	}
	if g.chance(0.5) {
		status["conditions"] = []any{tree{"type": pick(g.draw, "PodResizePending", "PodResizeInProgress"),
			"status": pick(g.draw, "True", "True", "False"), "reason": pick(g.draw, "Infeasible", "Infeasible", "Deferred", "")}}
	}
	if g.chance(0.1) {
		status["resize"] = pick(g.draw, "Infeasible", "Proposed", "InProgress", "Deferred")
	}
}

func (g *generator) containerStatus(name any) tree {
	s := tree{"name": name, "image": "nginx", "imageID": "", "ready": true, "restartCount": 0}
	if g.chance(0.8) {
		s["resources"] = tree{"requests": g.amounts(0.7, g.request)}
	}
	if g.chance(0.8) {
		s["allocatedResources"] = g.amounts(0.7, g.request)
	}
	return s
}
