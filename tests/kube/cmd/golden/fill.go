// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// filler puts values into every kind of API object by reflection. With all set nothing is left out;
// else a field is set in about half of the cases. What comes out is well-formed, not valid.
type filler struct {
	*random
	all bool
}

// enums gives the string types whose values mean something to a scheduler their real values.
var enums = map[string][]string{
	"ClaimResourceStatus":           {"ControllerResizeInProgress", "NodeResizePending"},
	"ConditionStatus":               {"True", "False", "Unknown"},
	"ContainerRestartPolicy":        {"Always", "Never", "OnFailure"},
	"DNSPolicy":                     {"ClusterFirst", "Default", "None"},
	"DeviceAllocationMode":          {"ExactCount", "All"},
	"DeviceTaintEffect":             {"None", "NoSchedule", "NoExecute"},
	"DeviceTolerationOperator":      {"Exists", "Equal"},
	"LabelSelectorOperator":         {"In", "NotIn", "Exists", "DoesNotExist"},
	"ManagedFieldsOperationType":    {"Apply", "Update"},
	"MountPropagationMode":          {"None", "HostToContainer", "Bidirectional"},
	"NamespacePhase":                {"Active", "Terminating"},
	"NodeConditionType":             {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"},
	"NodeInclusionPolicy":           {"Ignore", "Honor"},
	"NodeSelectorOperator":          {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"},
	"OSName":                        {"linux", "windows"},
	"PersistentVolumeAccessMode":    {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"},
	"PersistentVolumeClaimPhase":    {"Pending", "Bound", "Lost"},
	"PersistentVolumeMode":          {"Block", "Filesystem"},
	"PersistentVolumePhase":         {"Pending", "Available", "Bound", "Released", "Failed"},
	"PersistentVolumeReclaimPolicy": {"Recycle", "Delete", "Retain"},
	"PodConditionType":              {"PodScheduled", "Ready", "DisruptionTarget", "PodResizePending"},
	"PodPhase":                      {"Pending", "Running", "Succeeded", "Failed", "Unknown"},
	"PodQOSClass":                   {"Guaranteed", "Burstable", "BestEffort"},
	"PreemptionPolicy":              {"PreemptLowerPriority", "Never"},
	"Protocol":                      {"TCP", "UDP", "SCTP"},
	"PullPolicy":                    {"Always", "Never", "IfNotPresent"},
	"ResourceName":                  {"cpu", "memory", "ephemeral-storage", "pods", "hugepages-2Mi", "example.com/gpu"},
	"RestartPolicy":                 {"Always", "OnFailure", "Never"},
	"TaintEffect":                   {"NoSchedule", "PreferNoSchedule", "NoExecute"},
	"TolerationOperator":            {"Exists", "Equal", "Lt", "Gt"},
	"URIScheme":                     {"HTTP", "HTTPS"},
	"UnsatisfiableConstraintAction": {"DoNotSchedule", "ScheduleAnyway"},
	"VolumeBindingMode":             {"Immediate", "WaitForFirstConsumer"},
}

// words are the texts of ordinary strings; some are hard on encoders.
var words = []string{
	"alpha", "beta-2", "gamma.example.com", "registry.test/team/app:v1.2.3", "/var/lib/data", "a b c", "0", "true", "null",
	"größe", "naïve café", "日本語テキスト", "Ελληνικά", "emoji 🚢⚓ and 👩‍🚀", "\u2028 and \u2029", "<tag attr='x'> & more",
	`quote " back\slash / slash`, "tab\tnewline\nreturn\r", "control \x01\x1f\x7f", "\ufeffbom", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "{\"json\":[1,2]}",
	"ends with backslash \\", "%s %d %%", "\u00a0\u200b", strings.Repeat("long ", 12), "e\u0301 combined", "\U0010ffff",
}

var quantityTexts = []string{"0", "1", "100m", "250m", "1500m", "2", "16", "1Gi", "64Mi", "100M", "5k", "1e3", "-1", "7u", "3n", "12Ti"}

// fill sets v; name is the Go name of the field it came from, depth how far down it is.
func (f *filler) fill(v reflect.Value, name string, depth int) {
	switch p := v.Addr().Interface().(type) {
	case *metav1.TypeMeta:
		return
	case *metav1.Time:
		*p = metav1.Unix(f.seconds(), 0)
		return
	case *metav1.MicroTime:
		*p = metav1.NewMicroTime(time.Unix(f.seconds(), int64(f.IntN(1_000_000))*1000))
		return
	case *resource.Quantity:
		*p = resource.MustParse(pick(f.random, quantityTexts))
		return
	case *intstr.IntOrString:
		*p = intstr.FromInt32(int32(f.IntN(65536)))
		if f.chance(50) {
			*p = intstr.FromString(pick(f.random, []string{"http", "50%", ""}))
		}
		return
	case *runtime.RawExtension:
		p.Raw = []byte(fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Thing","n":%d,"list":[1,2.5,null,{"x":"é"}]}`, f.IntN(100)))
		return
	case *metav1.FieldsV1:
		p.Raw = []byte(fmt.Sprintf(`{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:x%d":{}}}`, f.IntN(100)))
		return
	case *types.UID:
		*p = types.UID(fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", f.Uint32(), f.IntN(1<<16), f.IntN(1<<12), f.IntN(1<<12), f.Uint64()>>16))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				f.maybe(v.Field(i), field.Name, depth)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), name, depth+1)
	case reflect.Slice:
		f.fillSlice(v, name, depth)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range f.between(1, 3) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key, "Key", depth+1)
			f.fill(value, name, depth+1)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString(f.text(v.Type().Name(), name))
	case reflect.Bool:
		v.SetBool(f.all || f.chance(60))
	case reflect.Int32, reflect.Int:
		v.SetInt(pick(f.random, []int64{0, 1, -1, 42, int64(f.IntN(1 << 20)), 127, 128, 16384, math.MaxInt32, math.MinInt32}))
	case reflect.Int64:
		v.SetInt(pick(f.random, []int64{0, 1, -1, 30, f.Int64N(1 << 40), 1 << 53, 1<<53 + 1, math.MaxInt64, math.MinInt64}))
	case reflect.Uint8:
		v.SetUint(uint64(f.IntN(256)))
	default:
		panic(fmt.Sprintf("no filling for %s %s", name, v.Type()))
	}
}

// maybe leaves a field out, more often the deeper it is. Structs are always entered, for they are
// always there on the wire.
func (f *filler) maybe(v reflect.Value, name string, depth int) {
	keep := f.all || v.Kind() == reflect.Struct || f.chance(max(25, 65-6*depth))
	if isName := name == "Name" && v.Kind() == reflect.String; keep || isName {
		f.fill(v, name, depth)
	}
}

func (f *filler) fillSlice(v reflect.Value, name string, depth int) {
	n := f.between(1, 2)
	switch kind := v.Type().Elem().Kind(); {
	case kind == reflect.Uint8:
		n = f.between(1, 40)
	case kind == reflect.Struct && f.all && depth > 0:
		n = 1 // everything set and two of each would fill a disk
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		f.fill(v.Index(i), name, depth+1)
	}
}

func (f *filler) seconds() int64 { return 1_600_000_000 + f.Int64N(200_000_000) }

func (f *filler) text(typeName, field string) string {
	if values := enums[typeName]; values != nil {
		return pick(f.random, values)
	}
	switch field {
	case "Name", "Namespace", "NodeName", "GenerateName", "SchedulerName", "Key", "Driver", "Pool":
		return fmt.Sprintf("%s-%d", pick(f.random, []string{"web", "node", "eu-west", "app.kubernetes.io/name"}), f.IntN(1000))
	case "ResourceVersion":
		return fmt.Sprint(f.IntN(1 << 30))
	case "Kind":
		return pick(f.random, []string{"Pod", "ReplicaSet", "Node"})
	case "APIVersion":
		return pick(f.random, []string{"v1", "apps/v1"})
	}
	return pick(f.random, words)
}
