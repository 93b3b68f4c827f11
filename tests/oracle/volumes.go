// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-helpers/storage/volume"
	csitrans "k8s.io/csi-translation-lib"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
)

// The kinds that the volume plugins read. Without a controller manager the oracle does its work:
// a decision of VolumeBinding is carried out as soon as it is made.

// readStorage returns nil for other kinds. Defaults are those of the API server.
func readStorage(item any) (metav1.Object, error) {
	switch kindOf(item) {
	case "PersistentVolume":
		return decode[corev1.PersistentVolume](item)
	case "PersistentVolumeClaim":
		claim, err := decode[corev1.PersistentVolumeClaim](item)
		if err == nil && claim.Namespace == "" {
			claim.Namespace = metav1.NamespaceDefault
		}
		return claim, err
	case "StorageClass":
		class, err := decode[storagev1.StorageClass](item)
		if err == nil && class.VolumeBindingMode == nil {
			mode := storagev1.VolumeBindingImmediate
			class.VolumeBindingMode = &mode
		}
		return class, err
	case "CSINode":
		return decode[storagev1.CSINode](item)
	case "CSIDriver":
		return decode[storagev1.CSIDriver](item)
	case "CSIStorageCapacity":
		return decode[storagev1.CSIStorageCapacity](item)
	case "VolumeAttachment":
		return decode[storagev1.VolumeAttachment](item)
	}
	return nil, nil
}

// storageStore returns where an object of a storage kind is kept, and its resource; nil: another kind.
func (r *run) storageStore(object metav1.Object) (cache.Indexer, fwk.EventResource) {
	core, storage := r.factory.Core().V1(), r.factory.Storage().V1()
	switch object.(type) {
	case *corev1.PersistentVolume:
		return core.PersistentVolumes().Informer().GetIndexer(), fwk.PersistentVolume
	case *corev1.PersistentVolumeClaim:
		return core.PersistentVolumeClaims().Informer().GetIndexer(), fwk.PersistentVolumeClaim
	case *storagev1.StorageClass:
		return storage.StorageClasses().Informer().GetIndexer(), fwk.StorageClass
	case *storagev1.CSINode:
		return storage.CSINodes().Informer().GetIndexer(), fwk.CSINode
	case *storagev1.CSIDriver:
		return storage.CSIDrivers().Informer().GetIndexer(), fwk.CSIDriver
	case *storagev1.CSIStorageCapacity:
		return storage.CSIStorageCapacities().Informer().GetIndexer(), fwk.CSIStorageCapacity
	case *storagev1.VolumeAttachment:
		return storage.VolumeAttachments().Informer().GetIndexer(), fwk.VolumeAttachment
	}
	return r.deviceStore(object)
}

// changeStorage tells the queue. Every version has its own number: an assumed object counts only
// as long as the number is the same.
func (r *run) changeStorage(resource fwk.EventResource, before, after metav1.Object) {
	event := fwk.ClusterEvent{Resource: resource, ActionType: fwk.Update}
	var old, new any = before, after
	switch {
	case before == nil:
		event.ActionType, old = fwk.Add, nil
	case after == nil:
		event.ActionType, new = fwk.Delete, nil
	}
	r.queue.MoveAllToActiveOrBackoffQueue(r.logger, event, old, new, nil)
}

func (r *run) number(object metav1.Object) {
	r.version++
	object.SetResourceVersion(fmt.Sprint(r.version))
}

// ---- decisions of VolumeBinding ----------------------------------------------------------------

// A volumeDecision is what VolumeBinding reserved for one claim.
type volumeDecision struct {
	Claim  string `json:"claim"`
	Volume string `json:"volume"` // empty: it is to be provisioned
}

func (r *run) volumesOf(state fwk.CycleState, node string) *volumebinding.PodVolumes {
	data, err := state.Read(volumebinding.Name)
	if err != nil {
		return nil
	}
	byNode := *member[map[string]*volumebinding.PodVolumes](data, "podVolumesByNode")
	return byNode[node]
}

func hidden[T any](object any, name string) T {
	f := reflect.ValueOf(object).Elem().FieldByName(name)
	return *(*T)(unsafe.Pointer(f.UnsafeAddr()))
}

// reserve calls Reserve of all plugins, and does what PreBind and the controllers would do.
func (r *run) reserve(p *spiedProfile, state fwk.CycleState, pod *corev1.Pod, a *attempt) error {
	if status := p.framework.RunReservePluginsReserve(r.ctx, state, pod, a.Node); !status.IsSuccess() {
		return fmt.Errorf("reserve: %s", status.Message())
	}
	// Which devices the pod gets is not compared, nor what depends on it.
	if allocatesTwice(state) || anyPool() && allocates(state) {
		a.last = true
		return nil
	}
	if err := r.allocate(state, pod, a.Node); err != nil {
		return err
	}
	volumes := r.volumesOf(state, a.Node)
	if volumes == nil {
		return nil
	}
	if err := r.checkBindings(volumes, a.Node); err != nil {
		// PreBind fails. The case ends: what others see meanwhile depends on the order of writes.
		a.Outcome, a.Node, a.last = "error", "", true
		a.Message = fmt.Sprintf("running PreBind plugin %q: binding volumes: %v", volumebinding.Name, err)
		return nil
	}
	for _, b := range volumes.StaticBindings {
		pv, claim := hidden[*corev1.PersistentVolume](b, "pv"), hidden[*corev1.PersistentVolumeClaim](b, "pvc")
		a.Volumes = append(a.Volumes, volumeDecision{fmt.Sprintf("%s/%s", claim.Namespace, claim.Name), pv.Name})
		if err := r.bindClaim(claim, pv); err != nil {
			return err
		}
	}
	for _, d := range volumes.DynamicProvisions {
		// A pod may name a claim twice, and there is a volume only once.
		if slices.ContainsFunc(a.Volumes, func(v volumeDecision) bool {
			return v.Volume != "" && v.Claim == d.PVC.Namespace+"/"+d.PVC.Name
		}) {
			continue
		}
		a.Volumes = append(a.Volumes, volumeDecision{fmt.Sprintf("%s/%s", d.PVC.Namespace, d.PVC.Name), ""})
		if err := r.provision(d.PVC, a.Node); err != nil {
			return err
		}
	}
	sort.Slice(a.Volumes, func(i, k int) bool { return a.Volumes[i].Claim < a.Volumes[k].Claim })
	return nil
}

// checkBindings: as upstream's checkBindings, for a volume that was chosen by its affinity before
// its translation to CSI.
func (r *run) checkBindings(volumes *volumebinding.PodVolumes, node string) error {
	csiNode, _ := r.factory.Storage().V1().CSINodes().Lister().Get(node)
	for _, b := range volumes.StaticBindings {
		pv, translator := hidden[*corev1.PersistentVolume](b, "pv"), csitrans.New()
		plugin, err := translator.GetInTreePluginNameFromSpec(pv, nil)
		if err == nil && csiNode != nil && migrates[plugin] &&
			slices.Contains(strings.Split(csiNode.Annotations[corev1.MigratedPluginsAnnotationKey], ","), plugin) {
			if pv, err = translator.TranslateInTreePVToCSI(r.logger, pv); err != nil {
				return fmt.Errorf("failed to translate pv to csi: could not translate pv: %w", err)
			}
		}
		if err := volume.CheckNodeAffinity(pv, r.known["*v1.Node /"+node].(*corev1.Node).Labels); err != nil {
			return fmt.Errorf("pv %q node affinity doesn't match node %q: %w", pv.Name, node, err)
		}
	}
	return nil
}

// The plugins that VolumeBinding translates.
var migrates = map[string]bool{"kubernetes.io/aws-ebs": true, "kubernetes.io/gce-pd": true, "kubernetes.io/azure-disk": true,
	"kubernetes.io/cinder": true, "kubernetes.io/portworx-volume": true}

// bindClaim: pv refers to the claim already.
func (r *run) bindClaim(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) error {
	pv = pv.DeepCopy()
	pv.Status.Phase = corev1.VolumeBound
	if err := r.change(pv, pv); err != nil {
		return err
	}
	claim = claim.DeepCopy()
	claim.Spec.VolumeName = pv.Name
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, volume.AnnBindCompleted, "yes")
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, volume.AnnBoundByController, "yes")
	claim.Status.Phase = corev1.ClaimBound
	return r.change(claim, claim)
}

// provision: the volume is reachable from the selected node only.
func (r *run) provision(claim *corev1.PersistentVolumeClaim, node string) error {
	name := volume.GetPersistentVolumeClaimClass(claim)
	class, err := r.factory.Storage().V1().StorageClasses().Lister().Get(name)
	if err != nil {
		return err
	}
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + string(claim.UID), UID: "pv-" + claim.UID},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:         corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("0")},
			AccessModes:      claim.Spec.AccessModes,
			VolumeMode:       claim.Spec.VolumeMode,
			StorageClassName: name,
			ClaimRef: &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1",
				Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: class.Provisioner, VolumeHandle: "pvc-" + string(claim.UID)}},
			VolumeAttributesClassName: claim.Spec.VolumeAttributesClassName,
		},
	}
	if host := r.hostname(node); host != "" {
		pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname,
					Operator: corev1.NodeSelectorOpIn, Values: []string{host}}}}}}}
	}
	if size, ok := claim.Spec.Resources.Requests[corev1.ResourceStorage]; ok {
		pv.Spec.Capacity[corev1.ResourceStorage] = size
	}
	return r.bindClaim(claim, pv)
}

func (r *run) hostname(node string) string {
	if n, ok := r.known["*v1.Node /"+node].(*corev1.Node); ok {
		return n.Labels[corev1.LabelHostname]
	}
	return ""
}
