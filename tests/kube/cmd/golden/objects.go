// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

var kinds = []runtime.Object{
	&v1.Pod{}, &v1.Node{}, &v1.Namespace{}, &v1.PersistentVolume{}, &v1.PersistentVolumeClaim{}, &v1.Service{},
	&v1.ReplicationController{}, &v1.Binding{}, &v1.PodList{}, &v1.NodeList{}, &metav1.Status{},
	&appsv1.ReplicaSet{}, &appsv1.StatefulSet{},
	&policyv1.PodDisruptionBudget{},
	&storagev1.StorageClass{}, &storagev1.CSINode{}, &storagev1.CSIDriver{}, &storagev1.CSIStorageCapacity{},
	&storagev1.VolumeAttachment{},
	&resourcev1.ResourceClaim{}, &resourcev1.ResourceClaimTemplate{}, &resourcev1.ResourceSlice{}, &resourcev1.DeviceClass{},
	&schedulingv1.PriorityClass{}, &schedulingv1alpha2.Workload{}, &schedulingv1alpha2.PodGroup{},
	&coordinationv1.Lease{}, &eventsv1.Event{}, &v1.Event{}, &coordinationv1beta1.LeaseCandidate{},
	&resourcev1beta2.DeviceTaintRule{},
}

var (
	wire = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	raw  = protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme)
)

// writeObjects writes for each kind one object with every field set and some with fewer, each as
// NAME.json and as NAME.pb with the envelope that goes over the wire.
func writeObjects(dir string, r *random) {
	check(os.RemoveAll(dir))
	count := 0
	for _, kind := range kinds {
		gvk := kindOf(kind)
		for i := range 4 {
			obj := newObject(r, kind, i == 0)
			stem := strings.ToLower(gvk.Kind)
			if _, ok := obj.(*v1.Event); ok { // there are two kinds of this name
				stem = "coreevent"
			}
			name := fmt.Sprintf("%s-%d", stem, i)
			if i == 0 {
				name = stem + "-full"
			}
			writePair(filepath.Join(dir, name), obj)
			count++
		}
	}
	writeWatch(filepath.Join(dir, "watch-pods"), r)
	log.Printf("objects: %d pairs and a watch", count)
}

func kindOf(obj runtime.Object) schema.GroupVersionKind {
	if _, ok := obj.(*metav1.Status); ok { // known to the scheme in every group
		return schema.GroupVersionKind{Version: "v1", Kind: "Status"}
	}
	gvks, _, err := scheme.Scheme.ObjectKinds(obj)
	check(err)
	return gvks[0]
}

func newObject(r *random, kind runtime.Object, all bool) runtime.Object {
	obj := reflect.New(reflect.TypeOf(kind).Elem()).Interface().(runtime.Object)
	f := &filler{r, all}
	f.fill(reflect.ValueOf(obj).Elem(), "", 0)
	obj.GetObjectKind().SetGroupVersionKind(kindOf(kind))
	return obj
}

func encode(s runtime.Encoder, obj runtime.Object) []byte {
	var b bytes.Buffer
	check(s.Encode(obj, &b))
	return b.Bytes()
}

func writePair(path string, obj runtime.Object) {
	text, err := json.Marshal(obj)
	check(err)
	bin := encode(wire, obj)

	// The two must say the same.
	fromJSON, fromWire := emptyOf(obj), emptyOf(obj)
	check(json.Unmarshal(text, fromJSON))
	_, _, err = wire.Decode(bin, nil, fromWire)
	check(err)
	fromWire.GetObjectKind().SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind())
	if !equality.Semantic.DeepEqual(fromJSON, fromWire) {
		log.Fatalf("%s: JSON and protobuf differ", path)
	}
	write(path+".json", append(text, '\n'))
	write(path+".pb", bin)
}

func emptyOf(obj runtime.Object) runtime.Object {
	return reflect.New(reflect.TypeOf(obj).Elem()).Interface().(runtime.Object)
}

// writeWatch writes the body of a watch of pods as the API server sends it: in protobuf each event
// is a bare WatchEvent behind its length in four bytes, big-endian, and its object has the envelope;
// in JSON there is one event per line.
func writeWatch(path string, r *random) {
	pod := func() *v1.Pod { return newObject(r, &v1.Pod{}, false).(*v1.Pod) }
	bookmark := &v1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: "123456", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
		},
		Spec: v1.PodSpec{Containers: nil},
	}
	gone := &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: 410,
		Message: "too old resource version: 1 (2)",
	}
	var bin, text bytes.Buffer
	frames := protobuf.LengthDelimitedFramer.NewFrameWriter(&bin)
	for _, e := range []watch.Event{
		{Type: watch.Added, Object: pod()}, {Type: watch.Added, Object: pod()}, {Type: watch.Bookmark, Object: bookmark},
		{Type: watch.Modified, Object: pod()}, {Type: watch.Deleted, Object: pod()}, {Type: watch.Error, Object: gone},
	} {
		event := metav1.WatchEvent{Type: string(e.Type), Object: runtime.RawExtension{Raw: encode(wire, e.Object)}}
		_, err := frames.Write(encode(raw, &event))
		check(err)

		object, err := json.Marshal(e.Object)
		check(err)
		line, err := json.Marshal(metav1.WatchEvent{Type: string(e.Type), Object: runtime.RawExtension{Raw: object}})
		check(err)
		text.Write(append(line, '\n'))
	}
	write(path+".pb", bin.Bytes())
	write(path+".json", text.Bytes())
}
