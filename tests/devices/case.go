// SPDX-License-Identifier: Apache-2.0

// Compares berth's allocator of devices with upstream's: random slices, classes, claims, nodes and
// feature gates by seed; the allocation of every claim on every node, device by device, or the error.
package main

import (
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	resourcebeta "k8s.io/api/resource/v1beta2"
	"k8s.io/dynamic-resource-allocation/structured"
)

// A case is a cluster and what happens in it, step by step.
type kase struct {
	Features structured.Features            `json:"features"`
	Nodes    []v1.Node                      `json:"nodes"`
	Classes  []resourceapi.DeviceClass      `json:"classes"`
	Slices   []resourceapi.ResourceSlice    `json:"slices"`
	Rules    []resourcebeta.DeviceTaintRule `json:"rules,omitempty"`
	Steps    []step                         `json:"steps"`
}

// A step changes objects, then searches devices for claims on the nodes in On. The result of the
// first node that has one is taken.
type step struct {
	GiveBack     *int                           `json:"giveBack,omitempty"` // what an earlier step has taken
	DeleteSlices []string                       `json:"deleteSlices,omitempty"`
	Slices       []resourceapi.ResourceSlice    `json:"slices,omitempty"`
	DeleteRules  []string                       `json:"deleteRules,omitempty"`
	Rules        []resourcebeta.DeviceTaintRule `json:"rules,omitempty"`
	Nodes        []v1.Node                      `json:"nodes,omitempty"`
	Classes      []resourceapi.DeviceClass      `json:"classes,omitempty"`
	Claims       []resourceapi.ResourceClaim    `json:"claims"`
	On           []string                       `json:"on"`
}

// The answer for one node.
type answer struct {
	Verdict string                         `json:"verdict"` // found, none, node, error
	Error   string                         `json:"error,omitempty"`
	Results []resourceapi.AllocationResult `json:"results,omitempty"`
}
