// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	resourcebeta "k8s.io/api/resource/v1beta2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
)

// The cluster as upstream's plugin sees it.
type cluster struct {
	features structured.Features
	nodes    map[string]*v1.Node
	classes  classLister
	slices   map[string]*resourceapi.ResourceSlice
	rules    map[string]*resourcebeta.DeviceTaintRule
	taken    [][]resourceapi.AllocationResult // by step
	cel      *cel.Cache
}

type classLister map[string]*resourceapi.DeviceClass

func (l classLister) List() ([]*resourceapi.DeviceClass, error) {
	return slices.Collect(maps.Values(l)), nil
}

func (l classLister) Get(name string) (*resourceapi.DeviceClass, error) {
	if c, ok := l[name]; ok {
		return c, nil
	}
	return nil, apierrors.NewNotFound(resourceapi.Resource("deviceclass"), name)
}

// allocated is what GatherAllocatedState and ListAllAllocatedDevices return.
func (c *cluster) allocated() structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, results := range c.taken {
		for _, allocation := range results {
			for _, r := range allocation.Devices.Results {
				if ptr.Deref(r.AdminAccess, false) {
					continue
				}
				id := structured.MakeDeviceID(r.Driver, r.Pool, r.Device)
				if !c.features.ConsumableCapacity || r.ShareID == nil {
					state.AllocatedDevices.Insert(id)
					continue
				}
				state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, r.ShareID))
				if r.ConsumedCapacity != nil {
					state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, r.ConsumedCapacity))
				}
			}
		}
	}
	return state
}

// patched lists the slices by name, with the rules' taints: what the tracker does.
func (c *cluster) patched() []*resourceapi.ResourceSlice {
	var list []*resourceapi.ResourceSlice
	for _, name := range slices.Sorted(maps.Keys(c.slices)) {
		slice := c.slices[name].DeepCopy()
		for _, rule := range slices.Sorted(maps.Keys(c.rules)) {
			taint := c.rules[rule].Spec.Taint
			s := ptr.Deref(c.rules[rule].Spec.DeviceSelector, resourcebeta.DeviceTaintSelector{})
			if !c.features.DeviceTaints || ptr.Deref(s.Driver, slice.Spec.Driver) != slice.Spec.Driver ||
				ptr.Deref(s.Pool, slice.Spec.Pool.Name) != slice.Spec.Pool.Name {
				continue
			}
			for i := range slice.Spec.Devices {
				d := &slice.Spec.Devices[i]
				if ptr.Deref(s.Device, d.Name) == d.Name {
					d.Taints = append(d.Taints, resourceapi.DeviceTaint{Key: taint.Key, Value: taint.Value,
						Effect: resourceapi.DeviceTaintEffect(taint.Effect)})
				}
			}
		}
		list = append(list, slice)
	}
	return list
}

var errTimeout = errors.New("timeout")

// allocate searches on one node, with an allocator of its own: the cache of counters that upstream
// keeps from node to node is by the name of the pool only.
func (c *cluster) allocate(node *v1.Node, claims []*resourceapi.ResourceClaim) (answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	a, err := structured.NewAllocator(ctx, c.features, c.allocated(), c.classes, c.patched(), c.cel)
	if err != nil {
		return answer{}, err
	}
	results, err := a.Allocate(ctx, node, claims)
	switch {
	case ctx.Err() != nil:
		return answer{}, errTimeout
	case errors.Is(err, structured.ErrFailedAllocationOnNode):
		return answer{Verdict: "node", Error: err.Error()}, nil
	case err != nil:
		return answer{Verdict: "error", Error: err.Error()}, nil
	case len(results) != len(claims):
		return answer{Verdict: "none"}, nil
	}
	return answer{Verdict: "found", Results: results}, nil
}

func (c *cluster) step(s *step) ([]answer, error) {
	if s.GiveBack != nil && *s.GiveBack < len(c.taken) {
		c.taken[*s.GiveBack] = nil
	}
	for _, name := range s.DeleteSlices {
		delete(c.slices, name)
	}
	for i := range s.Slices {
		c.slices[s.Slices[i].Name] = &s.Slices[i]
	}
	for _, name := range s.DeleteRules {
		delete(c.rules, name)
	}
	for i := range s.Rules {
		c.rules[s.Rules[i].Name] = &s.Rules[i]
	}
	for i := range s.Nodes {
		c.nodes[s.Nodes[i].Name] = &s.Nodes[i]
	}
	for i := range s.Classes {
		c.classes[s.Classes[i].Name] = &s.Classes[i]
	}
	var claims []*resourceapi.ResourceClaim
	for i := range s.Claims {
		claims = append(claims, &s.Claims[i])
	}
	var answers []answer
	var taken []resourceapi.AllocationResult
	for _, name := range s.On {
		a, err := c.allocate(c.nodes[name], claims)
		if err != nil {
			return nil, err
		}
		if taken == nil {
			taken = a.Results
		}
		answers = append(answers, a)
	}
	c.taken = append(c.taken, taken)
	return answers, nil
}

// upstream runs the case; an error means that it took too long or cannot be run.
func upstream(k *kase) (all [][]answer, err error) {
	defer func() {
		// Upstream panics on some input that the API server refuses.
		if p := recover(); p != nil {
			err = errors.New("panic")
		}
	}()
	c := &cluster{features: k.Features, nodes: map[string]*v1.Node{}, classes: classLister{},
		slices: map[string]*resourceapi.ResourceSlice{}, rules: map[string]*resourcebeta.DeviceTaintRule{},
		cel: cel.NewCache(10, cel.Features{EnableConsumableCapacity: k.Features.ConsumableCapacity,
			EnableListTypeAttributes: k.Features.ListTypeAttributes})}
	for i := range k.Nodes {
		c.nodes[k.Nodes[i].Name] = &k.Nodes[i]
	}
	for i := range k.Classes {
		c.classes[k.Classes[i].Name] = &k.Classes[i]
	}
	for i := range k.Slices {
		c.slices[k.Slices[i].Name] = &k.Slices[i]
	}
	for i := range k.Rules {
		c.rules[k.Rules[i].Name] = &k.Rules[i]
	}
	for i := range k.Steps {
		answers, err := c.step(&k.Steps[i])
		if err != nil {
			return nil, err
		}
		all = append(all, answers)
	}
	return all, nil
}

// isStable: the pools and slices of upstream's stable allocator come in random order.
func isStable(f structured.Features) bool {
	return !f.ConsumableCapacity && !f.DeviceBindingAndStatus && !f.ListTypeAttributes
}
