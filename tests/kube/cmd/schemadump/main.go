// SPDX-License-Identifier: Apache-2.0

// Command schemadump writes src/api/schema_table.c: which kinds Kubernetes has, and the names and
// JSON types of the fields of those that berth reads. Everything comes from the Go types of
// k8s.io/api by reflection.
//
//	schemadump >schema_table.c
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"log"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

// The kinds whose fields are listed.
var read = []string{
	"v1 Binding", "v1 Event", "v1 LimitRange", "v1 Namespace", "v1 Node", "v1 PersistentVolume",
	"v1 PersistentVolumeClaim", "v1 Pod", "v1 ReplicationController", "v1 Service",
	"apps/v1 DaemonSet", "apps/v1 Deployment", "apps/v1 ReplicaSet", "apps/v1 StatefulSet",
	"batch/v1 CronJob", "batch/v1 Job",
	"coordination.k8s.io/v1 Lease", "coordination.k8s.io/v1beta1 LeaseCandidate",
	"events.k8s.io/v1 Event", "node.k8s.io/v1 RuntimeClass", "policy/v1 PodDisruptionBudget",
	"resource.k8s.io/v1 DeviceClass", "resource.k8s.io/v1 ResourceClaim",
	"resource.k8s.io/v1 ResourceClaimTemplate", "resource.k8s.io/v1 ResourceSlice",
	"resource.k8s.io/v1beta2 DeviceTaintRule",
	"scheduling.k8s.io/v1 PriorityClass",
	"scheduling.k8s.io/v1alpha2 PodGroup", "scheduling.k8s.io/v1alpha2 Workload",
	"storage.k8s.io/v1 CSIDriver", "storage.k8s.io/v1 CSINode",
	"storage.k8s.io/v1 CSIStorageCapacity", "storage.k8s.io/v1 StorageClass",
	"storage.k8s.io/v1 VolumeAttachment",
}

// Go types that are one JSON value.
var scalars = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():          "STRING",
	reflect.TypeFor[metav1.MicroTime]():     "STRING",
	reflect.TypeFor[metav1.Duration]():      "STRING",
	reflect.TypeFor[metav1.FieldsV1]():      "ANY",
	reflect.TypeFor[resource.Quantity]():    "QUANTITY",
	reflect.TypeFor[intstr.IntOrString]():   "INT_OR_STRING",
	reflect.TypeFor[runtime.RawExtension](): "ANY",
	reflect.TypeFor[[]byte]():               "STRING",
}

type field struct {
	name, kind, shape string
	message           int
}

type dumper struct {
	index  map[reflect.Type]int
	types  []reflect.Type
	fields [][]field
}

// typeOf gives the number of a struct, and lists its fields when it is new.
func (d *dumper) typeOf(t reflect.Type) int {
	if i, ok := d.index[t]; ok {
		return i
	}
	i := len(d.types)
	d.index[t] = i
	d.types = append(d.types, t)
	d.fields = append(d.fields, nil)
	fields := d.fieldsOf(t)
	slices.SortFunc(fields, func(a, b field) int { return cmp.Compare(a.name, b.name) })
	d.fields[i] = fields
	return i
}

func (d *dumper) fieldsOf(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if name == "" {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if !f.Anonymous && !strings.Contains(options, "inline") {
				log.Fatalf("%v.%s has no JSON name", t, f.Name)
			}
			out = append(out, d.fieldsOf(inner)...)
			continue
		}
		out = append(out, d.field(name, f.Type))
	}
	return out
}

func (d *dumper) field(name string, t reflect.Type) field {
	shape := "ONE"
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if _, ok := scalars[t]; !ok {
		switch t.Kind() {
		case reflect.Slice:
			shape, t = "LIST", t.Elem()
		case reflect.Map:
			shape, t = "MAP", t.Elem()
		}
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	kind, message := d.value(t)
	return field{name, kind, shape, message}
}

func (d *dumper) value(t reflect.Type) (string, int) {
	if kind, ok := scalars[t]; ok {
		return kind, 0
	}
	switch t.Kind() {
	case reflect.String:
		return "STRING", 0
	case reflect.Bool:
		return "BOOL", 0
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32:
		return "INT", 0
	case reflect.Float32, reflect.Float64:
		return "NUMBER", 0
	case reflect.Struct:
		return "MESSAGE", d.typeOf(t)
	}
	log.Fatalf("no JSON type for %v", t)
	return "", 0
}

func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == module {
			return m.Version
		}
	}
	return "?"
}

func upstreamName(t reflect.Type) string {
	return strings.ReplaceAll(t.PkgPath(), "/", ".") + "." + t.Name()
}

type kind struct{ apiVersion, kind string }

// kinds are all that an API server stores.
func kinds() []kind {
	var out []kind
	meta := reflect.TypeFor[metav1.ObjectMeta]()
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		m, ok := t.FieldByName("ObjectMeta")
		if !ok || m.Type != meta || gvk.Version == runtime.APIVersionInternal {
			continue
		}
		apiVersion := schema.GroupVersion{Group: gvk.Group, Version: gvk.Version}.String()
		out = append(out, kind{apiVersion, gvk.Kind})
	}
	slices.SortFunc(out, func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.apiVersion, b.apiVersion))
	})
	return out
}

// fill puts rows into lines of at most 100 columns.
func fill(rows []string) string {
	var out strings.Builder
	line := "   "
	for _, row := range rows {
		if len(line)+len(row)+2 > 100 {
			out.WriteString(line + "\n")
			line = "   "
		}
		line += " " + row + ","
	}
	out.WriteString(line + "\n")
	return out.String()
}

func (d *dumper) write() {
	var out bytes.Buffer
	fmt.Fprintf(&out, `/* SPDX-License-Identifier: Apache-2.0 */
/* Generated by tests/kube/golden.sh from the Go types of k8s.io/api %s. Do not edit. */
#include "api/schema.h"

/* clang-format off */
#define F(n, k, s, t) {.name = n, .name_len = sizeof(n) - 1, .value = SCHEMA_##k, .shape = SCHEMA_##s, .type = t}

`, version("k8s.io/api"))
	for i, fields := range d.fields {
		var rows []string
		for _, f := range fields {
			rows = append(rows, fmt.Sprintf("F(%q, %s, %s, %d)", f.name, f.kind, f.shape, f.message))
		}
		fmt.Fprintf(&out, "static const struct schema_field fields_%d[] = {\n%s};\n", i, fill(rows))
	}
	fmt.Fprint(&out, "\n#define T(n, i) {n, fields_##i, ARRAY_LEN(fields_##i)}\n")
	var rows []string
	for i, t := range d.types {
		rows = append(rows, fmt.Sprintf("T(%q, %d)", upstreamName(t), i))
	}
	fmt.Fprintf(&out, "const struct schema_type schema_types[] = {\n%s};\n", fill(rows))
	fmt.Fprint(&out, "const size_t n_schema_types = ARRAY_LEN(schema_types);\n\n")
	fmt.Fprint(&out, "#define K(k, v, t) {STR_INIT(k), STR_INIT(v), t}\n")
	rows = nil
	for _, k := range kinds() {
		t := "NULL"
		if slices.Contains(read, k.apiVersion+" "+k.kind) {
			gvk := schema.FromAPIVersionAndKind(k.apiVersion, k.kind)
			t = fmt.Sprintf("&schema_types[%d]", d.index[scheme.Scheme.AllKnownTypes()[gvk]])
		}
		rows = append(rows, fmt.Sprintf("K(%q, %q, %s)", k.kind, k.apiVersion, t))
	}
	fmt.Fprintf(&out, "const struct schema_kind schema_kinds[] = {\n%s", fill(rows))
	fmt.Fprint(&out, "};\nconst size_t n_schema_kinds = ARRAY_LEN(schema_kinds);\n/* clang-format on */\n")
	if _, err := os.Stdout.Write(out.Bytes()); err != nil {
		log.Fatal(err)
	}
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("schemadump: ")
	d := &dumper{index: map[reflect.Type]int{}}
	for _, name := range read {
		apiVersion, k, _ := strings.Cut(name, " ")
		t, ok := scheme.Scheme.AllKnownTypes()[schema.FromAPIVersionAndKind(apiVersion, k)]
		if !ok {
			log.Fatalf("there is no %s", name)
		}
		d.typeOf(t)
	}
	d.write()
}
