// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	testingclock "k8s.io/utils/clock/testing"
)

// writeHints prints changes of storage objects and pods, and what the queueing hints of upstream's
// volume plugins say about them, for tests/unit/test_volume_hints.c:
//
//	oracle -hints 400 -seed 1 > tests/golden/volume_hints.json
func writeHints(seed uint64, n int) error {
	ctx := context.Background()
	known := map[string]bool{}
	for _, name := range append(volumePlugins, "PrioritySort", "DefaultBinder") {
		known[name] = true
	}
	u, err := newUpstream(ctx, known)
	if err != nil {
		return err
	}
	h := &hintWriter{generator: &generator{draw: newDraw(seed), nodes: 3, homes: []string{"default", "team-a"}}}
	h.withStorage()
	h.storageObjects()
	r := &run{upstream: u, ctx: ctx, config: &testCase{}}
	if h.events, err = r.registrations(); err != nil {
		return err
	}
	h.separator = "{\"rows\":["
	for range n {
		if err := h.row(); err != nil {
			return err
		}
	}
	fmt.Println("\n]}")
	return nil
}

type hintWriter struct {
	*generator
	events    map[string][]fwk.ClusterEventWithHint // by plugin
	separator string
}

// A change of one kind of object.
var hintChanges = []struct {
	kind     string
	resource fwk.EventResource
	draw     func(h *hintWriter) tree
}{
	{"PersistentVolumeClaim", fwk.PersistentVolumeClaim, func(h *hintWriter) tree {
		name := claimName{pick(h.draw, h.homes...), fmt.Sprintf("c%d", h.IntN(4))}
		if h.chance(0.2) {
			name.name = "p1-d0"
		}
		return h.claim(name, nil)
	}},
	{"PersistentVolume", fwk.PersistentVolume, func(h *hintWriter) tree { return h.volume(1) }},
	{"StorageClass", fwk.StorageClass, func(h *hintWriter) tree { return h.class(pick(h.draw, "fast", "now", "topo")) }},
	{"CSINode", fwk.CSINode, func(h *hintWriter) tree { return h.csiNode("n0") }},
	{"CSIDriver", fwk.CSIDriver, func(h *hintWriter) tree { return h.driver(pick(h.draw, csiDrivers...)) }},
	{"CSIStorageCapacity", fwk.CSIStorageCapacity, func(h *hintWriter) tree { return h.storageCapacity(0) }},
	{"VolumeAttachment", fwk.VolumeAttachment, func(h *hintWriter) tree { return h.attachment(0) }},
	{"Pod", fwk.Pod, func(h *hintWriter) tree { return h.podOf("p2", h.chance(0.7)) }},
}

func (h *hintWriter) podOf(name string, bound bool) tree {
	o, meta := object("v1", "Pod", pick(h.draw, h.homes...), name)
	meta["uid"] = "uid-" + name
	o["spec"] = tree{"schedulerName": "default-scheduler", "containers": []any{tree{"name": "c"}}}
	if bound {
		o["spec"].(tree)["nodeName"] = "n0"
	} else if h.chance(0.3) {
		o["status"] = tree{"nominatedNodeName": "n0"}
	}
	h.addVolumes(o)
	h.takeExtra()
	prune(o)
	return o
}

func (h *hintWriter) row() error {
	change := hintChanges[h.IntN(len(hintChanges))]
	pod := h.podOf("p1", false)
	before, after := change.draw(h), change.draw(h)
	after["metadata"].(tree)["name"] = before["metadata"].(tree)["name"]
	after["metadata"].(tree)["namespace"] = before["metadata"].(tree)["namespace"]
	if before["metadata"].(tree)["namespace"] == nil {
		delete(after["metadata"].(tree), "namespace")
	}
	action, name := fwk.Update, "Update"
	switch {
	case change.kind == "Pod" || h.chance(0.2):
		action, name, after = fwk.Delete, "Delete", nil
	case h.chance(0.3):
		action, name, before = fwk.Add, "Add", nil
	}
	line := tree{"kind": change.kind, "action": name, "pod": text(pod)}
	var old, new any
	var err error
	if before != nil {
		line["before"] = text(before)
		if old, err = readObject(before); err != nil {
			return err
		}
	}
	if after != nil {
		line["after"] = text(after)
		if new, err = readObject(after); err != nil {
			return err
		}
	}
	typed, err := decode[corev1.Pod](pod)
	if err != nil {
		return err
	}
	hints := tree{}
	for plugin, events := range h.events {
		for _, e := range events {
			if e.Event.Resource != change.resource || e.Event.ActionType&action == 0 {
				continue
			}
			hint := fwk.Queue
			if e.QueueingHintFn != nil {
				// With an error the pod is queued.
				if said, err := e.QueueingHintFn(klogDiscard, typed, old, new); err == nil {
					hint = said
				}
			}
			hints[plugin] = hint.String()
		}
	}
	line["hints"] = hints
	fmt.Printf("%s\n%s", h.separator, bytes.TrimSpace(encode(line)))
	h.separator = ","
	return nil
}

var klogDiscard = klog.Background()

// registrations returns the events that the plugins of the default profile registered for.
func (r *run) registrations() (map[string][]fwk.ClusterEventWithHint, error) {
	cfg, err := r.readConfig(nil)
	if err != nil {
		return nil, err
	}
	r.cache, r.snapshot = internalcache.New(r.ctx, nil, false), internalcache.NewEmptySnapshot()
	r.factory = informers.NewSharedInformerFactory(r.client, 0)
	r.clock = testingclock.NewFakeClock(time.Unix(1000, 0))
	if err := r.makeDevices(); err != nil {
		return nil, err
	}
	if err := r.makeProfiles(cfg); err != nil {
		return nil, err
	}
	events := map[string][]fwk.ClusterEventWithHint{}
	for _, plugin := range r.profiles["default-scheduler"].framework.EnqueueExtensions() {
		if events[plugin.Name()], err = plugin.EventsToRegister(r.ctx); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// text is an object as JSON, within JSON; quotes are single, to be read more easily.
func text(o tree) string {
	return strings.ReplaceAll(string(bytes.TrimSpace(encode(o))), `"`, `'`)
}
