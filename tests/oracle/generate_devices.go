// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"
)

// Devices: slices, classes and claims, and pods that use them. Few devices, so that they run out.

// A devices is what DynamicResources sees of a cluster. nil: the case has no devices.
type devices struct {
	claims []claimName
	slices int
	pools  []devicePool    // of all slices so far
	extra  []any           // objects that belong to pods drawn since
	taken  map[string]bool // devices of allocated claims
}

type devicePool struct {
	driver, name, node string
	devices            []string
}

var (
	deviceDrivers  = []string{"gpu.example", "nic.example"}
	deviceClasses  = []string{"gpu", "nic", "any", "big"}
	attributeNames = []string{"model", "numa", "gpu.example/link", "ok", "firmware"}
	capacityNames  = []string{"memory", "gpu.example/cores"}
	taintKeys      = []string{"broken", "old"}
)

// withDevices makes a case one about devices: most other topics are left out.
func (g *generator) withDevices() {
	g.devices = &devices{taken: map[string]bool{}}
	for _, topic := range []string{"unschedulable", "taints", "images", "declaredFeatures", "owners", "nominated", "gates",
		"podResources", "overhead", "priority", "nodeSelector", "nodeAffinity", "podAffinity", "podAntiAffinity", "spread",
		"hostNetwork", "ports", "storage", "resize", "longLists", "longLabels", "terminating"} {
		if g.chance(0.85) {
			g.intensity[topic] = 0
		}
	}
	if g.chance(0.6) {
		g.intensity["extended"] = 0
	}
}

// deviceObjects draws everything except the pods.
func (g *generator) deviceObjects() []any {
	var list []any
	for _, name := range deviceClasses {
		if g.chance(0.95) {
			list = append(list, g.deviceClass(name))
		}
	}
	for i := range min(g.nodes, 12) {
		if g.chance(0.85) {
			list = append(list, g.nodePool(nodeName(i))...)
		}
	}
	for range pick(g.draw, 0, 0, 1, 2) {
		list = append(list, g.sharedPool()...)
	}
	for i := range g.between(2, 10) {
		name := claimName{pick(g.draw, g.homes...), fmt.Sprintf("c%d", i)}
		g.devices.claims = append(g.devices.claims, name)
		if g.chance(0.97) {
			list = append(list, g.deviceClaim(name))
		}
	}
	return list
}

// ---- classes -------------------------------------------------------------------------------------

func (g *generator) deviceClass(name string) tree {
	o, meta := object("resource.k8s.io/v1", "DeviceClass", "", name)
	meta["creationTimestamp"] = fmt.Sprintf("2020-01-01T00:00:0%dZ", g.IntN(3))
	spec := tree{}
	if g.about("deviceConfig") {
		spec["config"] = []any{tree{"opaque": tree{"driver": pick(g.draw, deviceDrivers...), "parameters": tree{"class": name}}}}
	}
	if g.about("extendedClasses") {
		spec["extendedResourceName"] = pick(g.draw, "example.com/gpu", "example.com/fpga", "other.io/nic")
	}
	// Upstream's NodeResourcesBalancedAllocation crashes if it scores such a resource of a class with selectors.
	if g.about("selectors") && spec["extendedResourceName"] == nil {
		spec["selectors"] = g.selectors()
	}
	o["spec"] = spec
	return o
}

func (g *generator) selectors() []any {
	return repeat(g.draw, 1, 2, func() any {
		return tree{"cel": tree{"expression": pick(g.draw,
			`device.driver == "gpu.example"`,
			`device.attributes["gpu.example"].model == "a"`,
			`"model" in device.attributes["gpu.example"]`,
			`device.driver == "gpu.example" && device.attributes["gpu.example"].numa < 2`,
			`device.capacity["gpu.example"].memory.compareTo(quantity("2Gi")) >= 0`,
			`device.attributes["gpu.example"].?ok.orValue(false)`,
			`true`,
			`false`)}}
	})
}

// ---- slices --------------------------------------------------------------------------------------

func (g *generator) slice(pool devicePool, where tree, generation, count int) (tree, tree) {
	o, _ := object("resource.k8s.io/v1", "ResourceSlice", "", fmt.Sprintf("s%d", g.devices.slices))
	g.devices.slices++
	spec := tree{"driver": pool.driver,
		"pool": tree{"name": pool.name, "generation": generation, "resourceSliceCount": count}}
	for k, v := range where {
		spec[k] = v
	}
	o["spec"] = spec
	return o, spec
}

// nodePool draws the devices of a node.
func (g *generator) nodePool(node string) []any {
	var list []any
	for _, driver := range some(g.draw, 2, deviceDrivers...) {
		list = append(list, g.pool(devicePool{driver: driver, name: node, node: node}, tree{"nodeName": node})...)
	}
	return list
}

// sharedPool draws devices that several nodes can reach.
func (g *generator) sharedPool() []any {
	pool := devicePool{driver: pick(g.draw, deviceDrivers...), name: fmt.Sprintf("shared-%d", g.devices.slices)}
	switch g.IntN(3) {
	case 0:
		return g.pool(pool, tree{"allNodes": true})
	case 1:
		return g.pool(pool, tree{"nodeSelector": g.deviceSelector()})
	}
	return g.pool(pool, tree{"perDeviceNodeSelection": true})
}

func (g *generator) deviceSelector() tree {
	return tree{"nodeSelectorTerms": []any{tree{"matchExpressions": []any{tree{"key": zoneLabel, "operator": "In",
		"values": []any{fmt.Sprintf("z%d", g.IntN(3))}}}}}}
}

// pool draws the slices of a pool, sometimes an incomplete or outdated one.
func (g *generator) pool(pool devicePool, where tree) []any {
	var list []any
	count := pick(g.draw, 1, 1, 1, 2)
	promised := count
	if g.about("incomplete") && g.chance(0.3) {
		promised++
	}
	generation := g.between(1, 2)
	counters := g.about("counters")
	if counters {
		promised++
	}
	number := 0
	for range count {
		o, spec := g.slice(pool, where, generation, promised)
		devices := []any{}
		for range g.between(0, 3) {
			name := fmt.Sprintf("d%d", number)
			if g.mapsToNodes() && pool.driver != deviceDrivers[0] {
				name = "n" + name // upstream looks devices up without their driver
			}
			number++
			pool.devices = append(pool.devices, name)
			devices = append(devices, g.device(name, where, counters))
		}
		spec["devices"] = devices
		list = append(list, o)
	}
	if counters {
		o, spec := g.slice(pool, where, generation, promised)
		spec["sharedCounters"] = []any{tree{"name": "set", "counters": tree{"memory": tree{"value": pick(g.draw, "2", "4", "8")},
			"slices": tree{"value": "4"}}}}
		list = append(list, o)
	}
	if g.about("outdated") && generation == 2 {
		o, spec := g.slice(pool, where, 1, 1)
		spec["devices"] = []any{g.device("old", where, false)}
		list = append(list, o)
	}
	g.devices.pools = append(g.devices.pools, pool)
	return list
}

func (g *generator) device(name string, where tree, counters bool) tree {
	d := tree{"name": name}
	attributes := tree{}
	if g.chance(0.8) {
		attributes["model"] = tree{"string": pick(g.draw, "a", "a", "b")}
	}
	if g.chance(0.7) {
		attributes["numa"] = tree{"int": g.IntN(3)}
	}
	if g.chance(0.3) {
		attributes["gpu.example/link"] = tree{"string": pick(g.draw, "x", "y")}
	}
	if g.chance(0.3) {
		attributes["ok"] = tree{"bool": g.chance(0.5)}
	}
	if g.chance(0.2) {
		attributes["firmware"] = tree{"version": pick(g.draw, "1.0.0", "1.2.0", "2.0.0-rc1")}
	}
	d["attributes"] = attributes
	g.deviceCapacity(d)
	if counters && g.chance(0.8) {
		d["consumesCounters"] = []any{tree{"counterSet": "set", "counters": tree{"memory": tree{"value": pick(g.draw, "1", "2", "4")}}}}
	}
	if g.about("deviceTaints") {
		d["taints"] = []any{tree{"key": pick(g.draw, taintKeys...), "value": pick(g.draw, "v", "w"),
			"effect": pick(g.draw, "NoSchedule", "NoExecute", "None"), "timeAdded": "2020-01-01T00:00:00Z"}}
	}
	if g.about("bindingConditions") {
		d["bindsToNode"] = g.chance(0.5)
	}
	if where["perDeviceNodeSelection"] == true {
		switch g.IntN(3) {
		case 0:
			d["nodeName"] = nodeName(g.IntN(max(g.nodes, 1)))
		case 1:
			d["allNodes"] = true
		default:
			d["nodeSelector"] = g.deviceSelector()
		}
	}
	return d
}

func (g *generator) deviceCapacity(d tree) {
	capacity := tree{}
	for _, name := range capacityNames {
		if !g.chance(0.6) {
			continue
		}
		c := tree{"value": pick(g.draw, "1Gi", "2Gi", "4Gi", "10")}
		if g.about("policies") && g.chance(0.5) {
			c["requestPolicy"] = tree{"default": "1", "validRange": tree{"min": "1", "max": c["value"], "step": pick(g.draw, "1", "2", "1Mi")}}
			if g.chance(0.4) {
				c["requestPolicy"] = tree{"default": "1", "validValues": []any{"1", "2", "8"}}
			}
		}
		capacity[name] = c
	}
	d["capacity"] = capacity
	if g.about("multiple") {
		d["allowMultipleAllocations"] = true
	}
	if g.mapsToNodes() && g.about("mappings") {
		g.deviceMappings(d, capacity)
	}
}

// mapsToNodes: devices may take cpu and memory of their node.
func (g *generator) mapsToNodes() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.DRANodeAllocatableResources)
}

// deviceMappings: at most one that upstream refuses, since it takes them in any order.
func (g *generator) deviceMappings(d, capacity tree) {
	mappings := tree{}
	for _, name := range some(g.draw, 3, "cpu", "memory", "ephemeral-storage", "hugepages-2Mi") {
		m := tree{}
		if g.chance(0.85) {
			m["allocationMultiplier"] = pick(g.draw, "1", "2", "100m", "1500m", "1Gi", "64Mi", "3Ki", "0.5", "1e3")
			if name == "cpu" {
				m["allocationMultiplier"] = pick(g.draw, "1", "2", "100m", "1500m", "0.001")
			}
		}
		if d["allowMultipleAllocations"] == true && len(capacity) > 0 && g.chance(0.5) || len(mappings) == 0 && g.chance(0.03) {
			m["capacityKey"] = pick(g.draw, capacityNames...)
		}
		mappings[name] = m
	}
	if len(mappings) > 0 {
		d["nodeAllocatableResourceMappings"] = mappings
	}
}

// ---- claims --------------------------------------------------------------------------------------

func (g *generator) deviceClaim(name claimName) tree {
	o, meta := object("resource.k8s.io/v1", "ResourceClaim", name.namespace, name.name)
	meta["uid"] = "u-" + name.namespace + "-" + name.name
	o["spec"] = g.deviceClaimSpec()
	status := tree{}
	if g.about("allocatedClaims") {
		g.allocated(o["spec"].(tree), status)
	}
	if g.about("deletedClaims") && g.chance(0.3) {
		meta["deletionTimestamp"], meta["finalizers"] = "2026-01-01T00:00:00Z", []any{"resource.kubernetes.io/delete-protection"}
	}
	o["status"] = status
	return o
}

// allocated: the claim has the first devices of a pool.
func (g *generator) allocated(spec, status tree) {
	if len(g.devices.pools) == 0 {
		return
	}
	pool := pick(g.draw, g.devices.pools...)
	if len(pool.devices) == 0 {
		return
	}
	device := pick(g.draw, pool.devices...)
	key := pool.driver + " " + pool.name + " " + device
	if g.devices.taken[key] && !(g.about("heldTwice") && g.chance(0.5)) {
		return
	}
	g.devices.taken[key] = true
	request := spec["devices"].(tree)["requests"].([]any)[0].(tree)
	name := request["name"].(string)
	if first, ok := request["firstAvailable"].([]any); ok {
		name += "/" + first[0].(tree)["name"].(string)
	}
	allocation := tree{"devices": tree{"results": []any{tree{"request": name, "driver": pool.driver, "pool": pool.name,
		"device": device}}}}
	switch {
	case pool.node != "":
		allocation["nodeSelector"] = tree{"nodeSelectorTerms": []any{tree{"matchFields": []any{tree{"key": "metadata.name",
			"operator": "In", "values": []any{pool.node}}}}}}
	case g.chance(0.5):
		allocation["nodeSelector"] = g.deviceSelector()
	}
	status["allocation"] = allocation
	if g.chance(0.6) {
		status["reservedFor"] = []any{tree{"resource": "pods", "name": "other", "uid": "other"}}
	}
}

func (g *generator) deviceClaimSpec() tree {
	requests := []any{}
	names := []any{}
	for i := range pick(g.draw, 1, 1, 1, 2, 3) {
		r := g.deviceRequest(fmt.Sprintf("r%d", i))
		requests = append(requests, r)
		names = append(names, r["name"])
	}
	spec := tree{"requests": requests}
	if g.about("constraints") {
		c := tree{}
		attribute := pick(g.draw, "gpu.example/model", "gpu.example/numa", "gpu.example/link", "nic.example/model", "gpu.example/ok", "gpu.example/firmware")
		if g.chance(0.7) {
			c["matchAttribute"] = attribute
		} else {
			c["distinctAttribute"] = attribute
		}
		if g.chance(0.5) {
			c["requests"] = names[:1+g.IntN(len(names))]
		}
		spec["constraints"] = []any{c}
	}
	if g.about("deviceConfig") {
		c := tree{"opaque": tree{"driver": pick(g.draw, deviceDrivers...), "parameters": tree{"claim": true}}}
		if g.chance(0.5) {
			c["requests"] = names[:1]
		}
		spec["config"] = []any{c}
	}
	return tree{"devices": spec}
}

func (g *generator) deviceRequest(name string) tree {
	if !g.about("alternatives") {
		r := g.exactRequest()
		if g.about("adminAccess") && g.chance(0.5) {
			r["adminAccess"] = true
		}
		return tree{"name": name, "exactly": r}
	}
	alternatives := []any{}
	for i := range g.between(1, 3) {
		r := g.exactRequest()
		r["name"] = fmt.Sprintf("s%d", i)
		alternatives = append(alternatives, r)
	}
	return tree{"name": name, "firstAvailable": alternatives}
}

func (g *generator) exactRequest() tree {
	r := tree{"deviceClassName": pick(g.draw, deviceClasses...)}
	if g.chance(0.02) {
		r["deviceClassName"] = "ghost"
	}
	if g.about("allDevices") && g.chance(0.5) {
		r["allocationMode"] = "All"
	} else {
		r["allocationMode"], r["count"] = "ExactCount", pick(g.draw, 1, 1, 1, 2, 3)
	}
	if g.about("deviceTaints") {
		t := tree{"key": pick(g.draw, taintKeys...), "operator": "Exists"}
		if g.chance(0.4) {
			t["operator"], t["value"] = "Equal", pick(g.draw, "v", "w")
		}
		if g.chance(0.4) {
			t["effect"] = pick(g.draw, "NoSchedule", "NoExecute")
		}
		r["tolerations"] = []any{t}
	}
	if g.about("selectors") {
		r["selectors"] = g.selectors()
	}
	if g.about("policies") {
		r["capacity"] = tree{"requests": tree{pick(g.draw, capacityNames...): pick(g.draw, "1", "2", "3", "1Gi", "3Gi")}}
	}
	return r
}

// ---- pods ----------------------------------------------------------------------------------------

func (g *generator) addClaims(pod tree) {
	spec, status := pod["spec"].(tree), pod["status"].(tree)
	meta := pod["metadata"].(tree)
	if g.devices == nil || spec["nodeName"] != nil {
		return
	}
	g.addDeviceResources(spec)
	if g.chance(0.15) {
		return
	}
	list, statuses := []any{}, []any{}
	used := map[string]bool{}
	for i := range pick(g.draw, 1, 1, 1, 2, 3) {
		entry := fmt.Sprintf("e%d", i)
		if g.chance(0.5) {
			if name := g.deviceClaimFor(meta["namespace"].(string)); !used[name] || g.about("claimTwice") {
				used[name] = true
				list = append(list, tree{"name": entry, "resourceClaimName": name})
			}
			continue
		}
		list = append(list, tree{"name": entry, "resourceClaimTemplateName": "t"})
		if s := g.generatedClaim(meta, entry); s != nil {
			statuses = append(statuses, s)
		}
	}
	spec["resourceClaims"] = list
	if g.mapsToNodes() {
		g.referToClaims(spec, list)
	}
	if len(statuses) > 0 {
		status["resourceClaimStatuses"] = statuses
	}
}

// referToClaims: most claims are used by a container, some by several.
func (g *generator) referToClaims(spec tree, entries []any) {
	var containers []tree
	for _, key := range []string{"initContainers", "containers"} {
		list, _ := spec[key].([]any)
		for _, c := range list {
			containers = append(containers, c.(tree))
		}
	}
	for _, e := range entries {
		for range pick(g.draw, 0, 1, 1, 1, 1, 1, 1, 2) {
			c := pick(g.draw, containers...)
			resources, _ := c["resources"].(tree)
			if resources == nil {
				resources = tree{}
				c["resources"] = resources
			}
			list, _ := resources["claims"].([]any)
			resources["claims"] = append(list, tree{"name": e.(tree)["name"]})
		}
	}
}

// addDeviceResources: some containers request devices as extended resources.
func (g *generator) addDeviceResources(spec tree) {
	for _, key := range []string{"containers", "initContainers"} {
		containers, _ := spec[key].([]any)
		for _, c := range containers {
			if !g.about("deviceResources") {
				continue
			}
			container := c.(tree)
			resources, _ := container["resources"].(tree)
			if resources == nil {
				resources = tree{}
				container["resources"] = resources
			}
			requests, _ := resources["requests"].(tree)
			if requests == nil {
				requests = tree{}
				resources["requests"] = requests
			}
			name := "deviceclass.resource.kubernetes.io/" + pick(g.draw, deviceClasses...)
			if g.chance(0.5) {
				name = pick(g.draw, "example.com/gpu", "example.com/fpga", "other.io/nic")
			}
			requests[name] = pick(g.draw, "1", "1", "2")
		}
	}
}

func (g *generator) deviceClaimFor(namespace string) string {
	if g.chance(0.02) {
		return "none"
	}
	for range 6 {
		if c := pick(g.draw, g.devices.claims...); c.namespace == namespace {
			return c.name
		}
	}
	return fmt.Sprintf("c%d", g.IntN(6))
}

// generatedClaim: the claim of a template, made by a controller; another pod's, or not yet there.
func (g *generator) generatedClaim(meta tree, entry string) tree {
	if g.chance(0.03) {
		return nil
	}
	if g.chance(0.03) {
		return tree{"name": entry} // no claim was needed
	}
	name := claimName{meta["namespace"].(string), meta["name"].(string) + "-" + entry}
	o := g.deviceClaim(name)
	if g.chance(0.7) {
		delete(o["status"].(tree), "allocation")
		delete(o["status"].(tree), "reservedFor")
	}
	owner := tree{"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"], "controller": true}
	if g.about("strangers") && g.chance(0.3) {
		owner["uid"] = "another"
	}
	o["metadata"].(tree)["ownerReferences"] = []any{owner}
	if g.chance(0.98) {
		g.devices.extra = append(g.devices.extra, o)
	}
	return tree{"name": entry, "resourceClaimName": name.name}
}

// ---- later events --------------------------------------------------------------------------------

func (g *generator) newDevice() tree {
	if g.chance(0.3) {
		name := claimName{pick(g.draw, g.homes...), fmt.Sprintf("c%d", 10+len(g.devices.claims))}
		g.devices.claims = append(g.devices.claims, name)
		return g.deviceClaim(name)
	}
	for range 4 {
		if list := g.nodePool(nodeName(g.nodes + g.devices.slices)); len(list) > 0 {
			return list[0].(tree)
		}
	}
	return g.deviceClaim(claimName{"default", "late"})
}

// changedDevice: claims change by themselves; the generator does not know how.
func (g *generator) changedDevice(o tree) tree {
	switch kindOf(o) {
	case "DeviceClass":
		fresh := g.deviceClass(o["metadata"].(tree)["name"].(string))
		o["spec"] = fresh["spec"]
		return o
	case "ResourceSlice":
		spec := o["spec"].(tree)
		devices, _ := spec["devices"].([]any)
		if len(devices) == 0 {
			return nil
		}
		if g.chance(0.5) {
			spec["devices"] = devices[:len(devices)-1]
		} else {
			for i, d := range devices {
				if g.chance(0.5) {
					devices[i] = g.device(d.(tree)["name"].(string), spec, d.(tree)["consumesCounters"] != nil)
				}
			}
		}
		return o
	}
	return nil
}

// sharesDevice: another claim holds a device of this one. Upstream would give it out again when this
// one is gone: see docs/compat.md.
func (g *generator) sharesDevice(at int) bool {
	held := map[[3]any]bool{}
	for i, o := range g.there {
		if i != at {
			eachHeld(o, func(d [3]any) { held[d] = true })
		}
	}
	shares := false
	eachHeld(g.there[at], func(d [3]any) { shares = shares || held[d] })
	return shares
}

func eachHeld(o tree, do func(device [3]any)) {
	if kindOf(o) != "ResourceClaim" {
		return
	}
	status, _ := o["status"].(tree)
	allocation, _ := status["allocation"].(tree)
	devices, _ := allocation["devices"].(tree)
	results, _ := devices["results"].([]any)
	for _, r := range results {
		d := r.(tree)
		do([3]any{d["driver"], d["pool"], d["device"]})
	}
}
