// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	resourcebeta "k8s.io/api/resource/v1beta2"
	"k8s.io/utils/ptr"
)

type (
	step_       = step
	slice_      = resourceapi.ResourceSlice
	device_     = resourceapi.Device
	rule_       = resourcebeta.DeviceTaintRule
	claim_      = resourceapi.ResourceClaim
	request_    = resourceapi.DeviceRequest
	constraint_ = resourceapi.DeviceConstraint
)

// What must have happened in a run.
var features = []string{
	"admin access", "alternative after the first", "all devices", "several devices of a request", "constraint: match",
	"constraint: distinct", "counters", "shared device", "consumed capacity", "binding conditions", "tolerations",
	"taint rule", "node selector", "one node", "usable everywhere", "several pools", "several claims",
	"configuration of a class", "configuration of a claim", "verdict found", "verdict none", "verdict node", "verdict error",
	"error: pool being updated", "error: pool invalid", "error: CEL compile", "error: CEL runtime", "error: constraint",
	"error: class", "error: too many devices", "error: subrequests off", "error: capacity off", "error: admin access off",
	"error: mode", "error: empty constraint", "error: empty selector", "error: selector terms", "variant stable",
	"variant incubating", "variant experimental", "slice changed", "given back",
}

var errorTexts = map[string]string{
	"error: pool being updated": "currently being updated", "error: pool invalid": "currently invalid",
	"error: CEL compile": "CEL compile error", "error: CEL runtime": "CEL runtime error", "error: constraint": "claim constraint would not",
	"error: class": "could not retrieve device class", "error: too many devices": "exceeds the claim limit",
	"error: subrequests off": "DRAPrioritizedList", "error: capacity off": "DRAConsumableCapacity",
	"error: admin access off": "admin access is requested", "error: mode": "unsupported count mode",
	"error: empty constraint": "empty constraint", "error: empty selector": "CEL expression empty", "error: selector terms": "create NodeSelector",
}

type counts struct {
	searches, allocations, skipped, unordered int
	n                                         map[string]int
}

func (c *counts) add(name string, when bool) {
	if c.n == nil {
		c.n = map[string]int{}
	}
	if when {
		if !slices.Contains(features, name) {
			panic(name)
		}
		c.n[name]++
	}
}

func (c *counts) missing() (list []string) {
	for _, f := range features {
		if c.n[f] == 0 {
			list = append(list, f)
		}
	}
	return list
}

func (c *counts) print() {
	for _, name := range slices.Sorted(maps.Keys(c.n)) {
		fmt.Printf("%8d  %s\n", c.n[name], name)
	}
}

func (c *counts) count(k *kase, answers [][]answer) {
	switch {
	case isStable(k.Features):
		c.add("variant stable", true)
	case k.Features.ListTypeAttributes:
		c.add("variant experimental", true)
	default:
		c.add("variant incubating", true)
	}
	for i := range answers {
		s := &k.Steps[i]
		c.add("slice changed", len(s.Slices)+len(s.DeleteSlices) > 0)
		c.add("given back", s.GiveBack != nil && *s.GiveBack < i)
		for _, a := range answers[i] {
			c.searches++
			c.add("verdict "+a.Verdict, true)
			for name, text := range errorTexts {
				c.add(name, strings.Contains(a.Error, text))
			}
			if a.Verdict == "found" {
				c.found(k, s, &a)
			}
		}
	}
}

func (c *counts) found(k *kase, s *step, a *answer) {
	c.allocations++
	c.add("several claims", len(a.Results) > 1)
	for i, r := range a.Results {
		spec := &s.Claims[i].Spec.Devices
		pools := map[string]bool{}
		perRequest := map[string]int{}
		for _, d := range r.Devices.Results {
			pools[d.Driver+d.Pool] = true
			perRequest[d.Request]++
			c.add("admin access", ptr.Deref(d.AdminAccess, false))
			c.add("shared device", d.ShareID != nil)
			c.add("consumed capacity", len(d.ConsumedCapacity) > 0)
			c.add("binding conditions", len(d.BindingConditions) > 0)
			c.add("tolerations", len(d.Tolerations) > 0)
			c.add("alternative after the first", strings.Contains(d.Request, "/") && !strings.HasSuffix(d.Request, "/sub-0"))
			c.add("counters", consumes(k, &d))
			c.add("several devices of a request", perRequest[d.Request] == 2)
		}
		for j := range spec.Requests {
			e := spec.Requests[j].Exactly
			c.add("all devices", e != nil && e.AllocationMode == resourceapi.DeviceAllocationModeAll)
		}
		for j := range spec.Constraints {
			c.add("constraint: match", spec.Constraints[j].MatchAttribute != nil)
			c.add("constraint: distinct", spec.Constraints[j].DistinctAttribute != nil)
		}
		c.add("several pools", len(pools) > 1)
		for _, config := range r.Devices.Config {
			c.add("configuration of a class", config.Source == resourceapi.AllocationConfigSourceClass)
			c.add("configuration of a claim", config.Source == resourceapi.AllocationConfigSourceClaim)
		}
		ns := r.NodeSelector
		c.add("usable everywhere", ns == nil)
		one := ns != nil && len(ns.NodeSelectorTerms[0].MatchFields) == 1 && len(ns.NodeSelectorTerms[0].MatchExpressions) == 0
		c.add("one node", one)
		c.add("node selector", ns != nil && !one)
	}
	c.add("taint rule", len(k.Rules) > 0 && k.Features.DeviceTaints)
}

func consumes(k *kase, r *resourceapi.DeviceRequestAllocationResult) bool {
	for i := range k.Slices {
		s := &k.Slices[i]
		if s.Spec.Driver != r.Driver || s.Spec.Pool.Name != r.Pool {
			continue
		}
		for j := range s.Spec.Devices {
			if s.Spec.Devices[j].Name == r.Device {
				return len(s.Spec.Devices[j].ConsumesCounters) > 0
			}
		}
	}
	return false
}
