// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	resourceslicetracker "k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// The kinds that DynamicResources reads. What it decides is carried out as soon as it is decided:
// allocations and reservations are written, claims of extended resources are created.

// readDevices returns nil for other kinds.
func readDevices(item any) (metav1.Object, error) {
	switch kindOf(item) {
	case "ResourceClaim":
		return decode[resourceapi.ResourceClaim](item)
	case "ResourceSlice":
		return decode[resourceapi.ResourceSlice](item)
	case "DeviceClass":
		return decode[resourceapi.DeviceClass](item)
	}
	return nil, nil
}

// A deviceWorld is upstream's state of devices in one run.
type deviceWorld struct {
	claims  *assumecache.AssumeCache
	manager *dynamicresources.DefaultDRAManager
	classes *extendedresourcecache.ExtendedResourceCache // nil: the gate is off
	wrote   []*resourceapi.ResourceClaim                 // by PostFilter; nil status: deleted
	deleted []*resourceapi.ResourceClaim
}

func (r *run) makeDevices() error {
	w := &deviceWorld{claims: assumecache.NewAssumeCache(r.logger, nil, "ResourceClaim", "", nil)}
	tracker, err := resourceslicetracker.StartTracker(r.ctx, resourceslicetracker.Options{
		SliceInformer: r.factory.Resource().V1().ResourceSlices()})
	if err != nil {
		return err
	}
	w.manager = dynamicresources.NewDRAManager(r.ctx, w.claims, tracker, r.factory)
	w.classes, _ = w.manager.DeviceClassResolver().(*extendedresourcecache.ExtendedResourceCache)
	r.devices = w
	return nil
}

// deviceStore returns where an object is kept, and its resource. Claims are in the assume cache.
func (r *run) deviceStore(object metav1.Object) (cache.Indexer, fwk.EventResource) {
	switch object.(type) {
	case *resourceapi.ResourceClaim:
		return nil, fwk.ResourceClaim
	case *resourceapi.ResourceSlice:
		return r.factory.Resource().V1().ResourceSlices().Informer().GetIndexer(), fwk.ResourceSlice
	case *resourceapi.DeviceClass:
		return r.factory.Resource().V1().DeviceClasses().Informer().GetIndexer(), fwk.DeviceClass
	}
	return nil, ""
}

// changeDevices tells the caches, before the queue.
func (r *run) changeDevices(before, after metav1.Object) {
	switch object := either(after, before).(type) {
	case *resourceapi.ResourceClaim:
		if after == nil {
			assumecache.DeleteTestObject(r.devices.claims, before)
		} else {
			assumecache.AddTestObject(r.devices.claims, object)
		}
	case *resourceapi.DeviceClass:
		switch {
		case r.devices.classes == nil:
		case before == nil:
			r.devices.classes.OnAdd(after, false)
		case after == nil:
			r.devices.classes.OnDelete(before)
		default:
			r.devices.classes.OnUpdate(before, after)
		}
	}
}

func either(a, b metav1.Object) metav1.Object {
	if a != nil {
		return a
	}
	return b
}

// ---- decisions ---------------------------------------------------------------------------------

// watchClaims: what PostFilter writes is applied when it has returned.
func watchClaims(client *fake.Clientset, current func() *deviceWorld) {
	client.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		claim := action.(clienttesting.UpdateAction).GetObject().(*resourceapi.ResourceClaim)
		if action.GetSubresource() == "status" {
			current().wrote = append(current().wrote, claim)
		}
		return true, claim, nil
	})
	client.PrependReactor("delete", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		d := action.(clienttesting.DeleteAction)
		current().deleted = append(current().deleted, &resourceapi.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: d.GetNamespace(), Name: d.GetName()}})
		return true, nil, nil
	})
}

// applyClaims applies what PostFilter has written.
func (r *run) applyClaims() error {
	wrote, deleted := r.devices.wrote, r.devices.deleted
	r.devices.wrote, r.devices.deleted = nil, nil
	for _, claim := range wrote {
		if err := r.change(claim, claim.DeepCopy()); err != nil {
			return err
		}
	}
	for _, claim := range deleted {
		if err := r.change(claim, nil); err != nil {
			return err
		}
	}
	return nil
}

// freesHeld: PostFilter has deallocated a device that another claim holds as well. Upstream then
// gives it out again: see docs/compat.md.
func (r *run) freesHeld() bool {
	type device struct{ driver, pool, name string }
	devices := func(c *resourceapi.ResourceClaim) (all []device) {
		if c.Status.Allocation != nil {
			for _, d := range c.Status.Allocation.Devices.Results {
				all = append(all, device{d.Driver, d.Pool, d.Device})
			}
		}
		return all
	}
	written, holders := map[types.UID]bool{}, map[device]int{}
	for _, claim := range slices.Concat(r.devices.wrote, r.devices.deleted) {
		written[claim.UID] = true
	}
	var freed []device
	for _, object := range r.known {
		if claim, ok := object.(*resourceapi.ResourceClaim); ok {
			for _, d := range devices(claim) {
				holders[d]++
			}
			if written[claim.UID] {
				freed = append(freed, devices(claim)...)
			}
		}
	}
	return slices.ContainsFunc(freed, func(d device) bool { return holders[d] > 1 })
}

func fieldAt[T any](v reflect.Value, name string) T {
	return *(*T)(unsafe.Pointer(v.FieldByName(name).UnsafeAddr()))
}

// claimsOf returns the pod's claims in this attempt; the last may be for extended resources.
func claimsOf(state fwk.CycleState) (v reflect.Value, claims []*resourceapi.ResourceClaim, owned int) {
	data, err := state.Read(dynamicresources.Name)
	if err != nil {
		return reflect.Value{}, nil, 0
	}
	v = reflect.ValueOf(data).Elem()
	store := v.FieldByName("claims")
	return v, fieldAt[[]*resourceapi.ResourceClaim](store, "claims"), fieldAt[int](store, "numUserOwned")
}

// anyClaim: PostFilter may deallocate one of several claims, and upstream picks any.
func anyClaim(state fwk.CycleState, pod *corev1.Pod) bool {
	v, claims, owned := claimsOf(state)
	n := 0
	for i, c := range claims {
		unavailable := fieldAt[sets.Set[int]](v, "unavailableClaims").Has(i)
		users := c.Status.ReservedFor
		if unavailable && (i >= owned || len(users) == 0 || len(users) == 1 && users[0].UID == pod.UID) {
			n++
		}
	}
	return n > 1
}

func allocates(state fwk.CycleState) bool {
	_, claims, _ := claimsOf(state)
	return slices.ContainsFunc(claims, func(c *resourceapi.ResourceClaim) bool { return c.Status.Allocation == nil })
}

// allocatesTwice: the pod names a claim twice that is not allocated. Upstream finds devices for both,
// and fails in PreBind.
func allocatesTwice(state fwk.CycleState) bool {
	_, claims, _ := claimsOf(state)
	seen := map[string]bool{}
	for _, c := range claims {
		if c.Status.Allocation == nil && seen[c.Name] {
			return true
		}
		seen[c.Name] = true
	}
	return false
}

// allocate does what PreBind does after Reserve.
func (r *run) allocate(state fwk.CycleState, pod *corev1.Pod, node string) error {
	v, claims, owned := claimsOf(state)
	for i, claim := range claims {
		infos := v.FieldByName("informationsForClaim")
		allocation := fieldAt[*resourceapi.AllocationResult](infos.Index(i), "allocation")
		uid := claim.UID
		if i >= owned {
			if allocation == nil {
				continue
			}
			if claim = extendedClaim(v, node); len(claim.Spec.Devices.Requests) == 0 {
				// Upstream would now fail: the node provides the resources itself.
				r.devices.manager.ResourceClaims().MaybeRemoveClaimPendingAllocation(uid, true)
				continue
			}
			claim = claim.DeepCopy()
			claim.Name = claim.GenerateName + "x"
			claim.UID = "u-" + pod.UID
		}
		if err := r.writeClaim(claim.DeepCopy(), allocation, pod); err != nil {
			return err
		}
		if allocation != nil {
			r.devices.manager.ResourceClaims().MaybeRemoveClaimPendingAllocation(uid, true)
		}
	}
	return nil
}

func extendedClaim(state reflect.Value, node string) *resourceapi.ResourceClaim {
	allocation := state.FieldByName("nodeAllocations").MapIndex(reflect.ValueOf(node))
	return (*resourceapi.ResourceClaim)(allocation.FieldByName("extendedResourceClaim").UnsafePointer())
}

func (r *run) writeClaim(claim *resourceapi.ResourceClaim, allocation *resourceapi.AllocationResult, pod *corev1.Pod) error {
	if slices.ContainsFunc(claim.Status.ReservedFor, func(c resourceapi.ResourceClaimConsumerReference) bool { return c.UID == pod.UID }) {
		return nil
	}
	if allocation != nil {
		claim.Status.Allocation = allocation
		if !slices.Contains(claim.Finalizers, resourceapi.Finalizer) {
			claim.Finalizers = append(claim.Finalizers, resourceapi.Finalizer)
		}
	}
	claim.Status.ReservedFor = append(claim.Status.ReservedFor,
		resourceapi.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID})
	return r.change(claim, claim)
}

// ---- the claims in the end ---------------------------------------------------------------------

// claimResult is what is compared of a claim. Claims of extended resources have other names and
// UIDs on both sides.
type claimResult struct {
	Requests   any            `json:"requests,omitempty"`
	Allocation map[string]any `json:"allocation,omitempty"`
	Reserved   []string       `json:"reserved,omitempty"`
	// Of a pod: what its claims take of the node.
	OfNode any `json:"ofNode,omitempty"`
}

// ofNode: quantities in their canonical form, whatever they were computed from.
func ofNode(pod *corev1.Pod) any {
	var result any
	if err := json.Unmarshal(encode(pod.Status.NodeAllocatableResourceClaimStatuses), &result); err != nil {
		panic(err)
	}
	return result
}

func resultOf(claim *resourceapi.ResourceClaim) (string, claimResult) {
	name, result := claim.Namespace+"/"+claim.Name, claimResult{}
	if claim.Annotations[resourceapi.ExtendedResourceClaimAnnotation] == "true" && len(claim.OwnerReferences) > 0 {
		name = "extended " + claim.Namespace + "/" + claim.OwnerReferences[0].Name
		result.Requests = claim.Spec.Devices.Requests
	}
	if claim.Status.Allocation != nil {
		a := claim.Status.Allocation.DeepCopy()
		a.AllocationTimestamp = nil
		for i := range a.Devices.Results {
			a.Devices.Results[i].ShareID = nil
		}
		if err := json.Unmarshal(encode(a), &result.Allocation); err != nil {
			panic(err)
		}
	}
	for _, c := range claim.Status.ReservedFor {
		result.Reserved = append(result.Reserved, c.Resource+" "+c.Name+" "+string(c.UID))
	}
	return name, result
}

func resultsOf(claims []*resourceapi.ResourceClaim, pods []*corev1.Pod) map[string]claimResult {
	results := map[string]claimResult{}
	for _, p := range pods {
		if len(p.Status.NodeAllocatableResourceClaimStatuses) > 0 {
			results["pod "+p.Namespace+"/"+p.Name] = claimResult{OfNode: ofNode(p)}
		}
	}
	for _, c := range claims {
		name, result := resultOf(c)
		results[name] = result
	}
	return results
}

func (r *run) claimResults() map[string]claimResult {
	var claims []*resourceapi.ResourceClaim
	var pods []*corev1.Pod
	for _, object := range r.known {
		switch o := object.(type) {
		case *resourceapi.ResourceClaim:
			claims = append(claims, o)
		case *corev1.Pod:
			pods = append(pods, o)
		}
	}
	return resultsOf(claims, pods)
}

func compareClaims(u, b map[string]claimResult, list *differences) {
	keys := unionOfKeys(u, b)
	sort.Strings(keys)
	for _, name := range keys {
		list.check("claim", name, u[name], b[name])
	}
}

// splitClaims separates the claims and pods at the end of berth's output from the attempts.
func splitClaims(text []byte) (attempts []byte, results map[string]claimResult, err error) {
	var claims []*resourceapi.ResourceClaim
	var pods []*corev1.Pod
	for len(text) > 0 {
		line, rest := text, []byte(nil)
		if at := slices.Index(text, '\n'); at >= 0 {
			line, rest = text[:at+1], text[at+1:]
		}
		text = rest
		var head struct{ Kind string }
		if json.Unmarshal(line, &head) != nil {
			head.Kind = ""
		}
		switch head.Kind {
		case "ResourceClaim":
			claim := &resourceapi.ResourceClaim{}
			if err := json.Unmarshal(line, claim); err != nil {
				return nil, nil, fmt.Errorf("a claim that berth wrote is not understood: %w", err)
			}
			claims = append(claims, claim)
		case "Pod":
			pod := &corev1.Pod{}
			if err := json.Unmarshal(line, pod); err != nil {
				return nil, nil, fmt.Errorf("a pod that berth wrote is not understood: %w", err)
			}
			pods = append(pods, pod)
		default:
			attempts = append(attempts, line...)
		}
	}
	return attempts, resultsOf(claims, pods), nil
}
