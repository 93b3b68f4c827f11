// SPDX-License-Identifier: Apache-2.0

// Command schemadump writes src/api/schema_table.c: which kinds Kubernetes has, and the fields of
// those that berth reads or serves. Names, types, protobuf numbers and strategies of patches come
// from the Go types of k8s.io/api by reflection; list types, keys, defaults and required fields come
// from the OpenAPI documents of k8s.io/kubernetes.
//
//	schemadump KUBERNETES/api/openapi-spec/v3 >schema_table.c
//	schemadump -kinds KUBERNETES/api/openapi-spec/v3 >schema_kinds.h
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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
	"v1 ComponentStatus", "v1 ConfigMap", "v1 Endpoints", "v1 PodTemplate", "v1 ResourceQuota",
	"v1 Secret", "v1 ServiceAccount",
	"apiextensions.k8s.io/v1 CustomResourceDefinition",
	"apps/v1 ControllerRevision", "apps/v1 DaemonSet", "apps/v1 Deployment", "apps/v1 ReplicaSet",
	"apps/v1 StatefulSet",
	"authentication.k8s.io/v1 SelfSubjectReview", "authentication.k8s.io/v1 TokenRequest",
	"authentication.k8s.io/v1 TokenReview",
	"authorization.k8s.io/v1 LocalSubjectAccessReview",
	"authorization.k8s.io/v1 SelfSubjectAccessReview",
	"authorization.k8s.io/v1 SelfSubjectRulesReview", "authorization.k8s.io/v1 SubjectAccessReview",
	"autoscaling/v1 HorizontalPodAutoscaler", "autoscaling/v1 Scale",
	"autoscaling/v2 HorizontalPodAutoscaler",
	"batch/v1 CronJob", "batch/v1 Job",
	"certificates.k8s.io/v1 CertificateSigningRequest",
	"coordination.k8s.io/v1 Lease", "coordination.k8s.io/v1beta1 LeaseCandidate",
	"discovery.k8s.io/v1 EndpointSlice",
	"events.k8s.io/v1 Event",
	"networking.k8s.io/v1 IPAddress", "networking.k8s.io/v1 Ingress",
	"networking.k8s.io/v1 IngressClass", "networking.k8s.io/v1 NetworkPolicy",
	"networking.k8s.io/v1 ServiceCIDR",
	"node.k8s.io/v1 RuntimeClass", "policy/v1 Eviction", "policy/v1 PodDisruptionBudget",
	"rbac.authorization.k8s.io/v1 ClusterRole", "rbac.authorization.k8s.io/v1 ClusterRoleBinding",
	"rbac.authorization.k8s.io/v1 Role", "rbac.authorization.k8s.io/v1 RoleBinding",
	"resource.k8s.io/v1 DeviceClass", "resource.k8s.io/v1 ResourceClaim",
	"resource.k8s.io/v1 ResourceClaimTemplate", "resource.k8s.io/v1 ResourceSlice",
	"resource.k8s.io/v1beta2 DeviceTaintRule",
	"scheduling.k8s.io/v1 PriorityClass",
	"scheduling.k8s.io/v1alpha2 PodGroup", "scheduling.k8s.io/v1alpha2 Workload",
	"storage.k8s.io/v1 CSIDriver", "storage.k8s.io/v1 CSINode",
	"storage.k8s.io/v1 CSIStorageCapacity", "storage.k8s.io/v1 StorageClass",
	"storage.k8s.io/v1 VolumeAttachment", "storage.k8s.io/v1 VolumeAttributesClass",
}

// Bodies of requests and responses that are not stored.
var bodies = []reflect.Type{
	reflect.TypeFor[metav1.DeleteOptions](), reflect.TypeFor[metav1.Status](),
	reflect.TypeFor[metav1.PartialObjectMetadata](), reflect.TypeFor[metav1.ListMeta](),
}

// Go types that are one JSON value: its JSON type, and how protobuf encodes it.
var scalars = map[reflect.Type][2]string{
	reflect.TypeFor[metav1.Time]():                                {"STRING", "TIME"},
	reflect.TypeFor[metav1.MicroTime]():                           {"STRING", "MICRO_TIME"},
	reflect.TypeFor[metav1.Duration]():                            {"STRING", "DURATION"},
	reflect.TypeFor[metav1.FieldsV1]():                            {"ANY", "FIELDS_V1"},
	reflect.TypeFor[resource.Quantity]():                          {"QUANTITY", "QUANTITY"},
	reflect.TypeFor[intstr.IntOrString]():                         {"INT_OR_STRING", "INT_OR_STRING"},
	reflect.TypeFor[runtime.RawExtension]():                       {"ANY", "RAW"},
	reflect.TypeFor[[]byte]():                                     {"STRING", "BYTES"},
	reflect.TypeFor[apiextensions.JSON]():                         {"ANY", "JSON"},
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrArray]():       {"ANY", "SCHEMA_OR_ARRAY"},
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrBool]():        {"ANY", "SCHEMA_OR_BOOL"},
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrStringArray](): {"ANY", "SCHEMA_OR_STRINGS"},
}

// property is what an OpenAPI document says about a field or a type.
type property struct {
	Default    json.RawMessage     `json:"default"`
	Required   []string            `json:"required"`
	Properties map[string]property `json:"properties"`
	ListType   string              `json:"x-kubernetes-list-type"`
	ListKeys   []string            `json:"x-kubernetes-list-map-keys"`
	MapType    string              `json:"x-kubernetes-map-type"`
}

// documents reads the definitions of all OpenAPI documents in a directory.
func documents(dir string) map[string]property {
	out := map[string]property{}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		log.Fatalf("no OpenAPI documents in %s", dir)
	}
	for _, file := range files {
		var doc struct {
			Components struct {
				Schemas map[string]property `json:"schemas"`
			} `json:"components"`
		}
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &doc)
		}
		if err != nil {
			log.Fatalf("%s: %v", file, err)
		}
		for name, p := range doc.Components.Schemas {
			out[name] = p
		}
	}
	return out
}

type field struct {
	name, kind, shape string
	message           int
	number, outer     int
	wire              string
	flags             []string // of the macro F: pointer, omitempty, omitzero, required, retainKeys
	members           string   // further designated initialisers
}

type dumper struct {
	known   map[schema.GroupVersionKind]reflect.Type
	openapi map[string]property
	index   map[reflect.Type]int
	types   []reflect.Type
	fields  [][]field
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
	fields := d.fieldsOf(t, d.openapi[openapiName(t)])
	slices.SortFunc(fields, func(a, b field) int { return cmp.Compare(a.name, b.name) })
	d.fields[i] = fields
	return i
}

// protoNumber is 0 for a field that protobuf does not have.
func protoNumber(f reflect.StructField) int {
	parts := strings.Split(f.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		return 0
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil {
		log.Fatalf("%s: %v", f.Name, err)
	}
	return n
}

// fieldsOf lists the members of t's JSON object; p is its definition in OpenAPI.
func (d *dumper) fieldsOf(t reflect.Type, p property) []field {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if name == "" {
			if !f.Anonymous && !strings.Contains(options, "inline") || f.Type.Kind() == reflect.Pointer {
				log.Fatalf("%v.%s has no JSON name", t, f.Name)
			}
			out = append(out, inline(d.fieldsOf(f.Type, p), protoNumber(f))...)
			continue
		}
		out = append(out, d.field(name, options, f, p))
	}
	return out
}

// inline are fields of a struct that is part of its parent in JSON and a message of its own in
// protobuf: number is that of the message in the parent, 0 if protobuf does not have it.
func inline(fields []field, number int) []field {
	for i := range fields {
		if fields[i].outer != 0 {
			log.Fatalf("%s is inline twice", fields[i].name)
		}
		if fields[i].outer = number; number == 0 {
			fields[i].number, fields[i].wire = 0, "NONE"
		}
	}
	return fields
}

func (d *dumper) field(name, options string, f reflect.StructField, p property) field {
	t, shape := f.Type, "ONE"
	out := field{name: name, number: protoNumber(f)}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
		out.flags = append(out.flags, "P")
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
	out.shape = shape
	out.kind, out.wire, out.message = d.value(t)
	if out.number == 0 {
		out.wire = "NONE"
	}
	for option, flag := range map[string]string{"omitempty": "E", "omitzero": "Z"} {
		if slices.Contains(strings.Split(options, ","), option) {
			out.flags = append(out.flags, flag)
		}
	}
	if slices.Contains(p.Required, name) {
		out.flags = append(out.flags, "R")
	}
	slices.Sort(out.flags)
	d.strategies(&out, f, t, p.Properties[name])
	return out
}

// strategies are those of server-side apply, by OpenAPI, and of strategic merge, by the tags.
func (d *dumper) strategies(out *field, f reflect.StructField, t reflect.Type, p property) {
	merge := map[string]string{"atomic": "ATOMIC", "set": "SET", "map": "MAP"}[p.ListType]
	if p.MapType == "atomic" || out.shape == "ONE" && d.openapi[openapiName(t)].MapType == "atomic" {
		merge = "ATOMIC"
	}
	if merge != "" {
		out.members += ", .merge = SCHEMA_MERGE_" + merge
	}
	if len(p.ListKeys) > 0 {
		out.members += fmt.Sprintf(", .keys = %q", strings.Join(p.ListKeys, ","))
	}
	strategy := strings.Split(f.Tag.Get("patchStrategy"), ",")
	if slices.Contains(strategy, "merge") && out.shape == "LIST" {
		out.members += fmt.Sprintf(", .patch_key = %q", f.Tag.Get("patchMergeKey"))
	}
	if slices.Contains(strategy, "replace") && out.shape != "LIST" {
		out.members += ", .patch_replace = true"
	}
	if slices.Contains(strategy, "retainKeys") {
		out.flags = append(out.flags, "M")
	}
	if preset := string(p.Default); preset != "" && preset != "{}" {
		out.members += fmt.Sprintf(", .preset = %q", preset)
	}
}

// value gives the JSON type of t, its wire type and the index of a struct.
func (d *dumper) value(t reflect.Type) (string, string, int) {
	if s, ok := scalars[t]; ok {
		if strings.HasPrefix(s[1], "SCHEMA_OR") {
			return s[0], s[1], d.typeOf(reflect.TypeFor[apiextensions.JSONSchemaProps]())
		}
		return s[0], s[1], 0
	}
	switch t.Kind() {
	case reflect.String:
		return "STRING", "STRING", 0
	case reflect.Bool:
		return "BOOL", "BOOL", 0
	case reflect.Int32:
		return "INT", "INT32", 0
	case reflect.Int, reflect.Int64, reflect.Uint32:
		return "INT", "VARINT", 0
	case reflect.Float32, reflect.Float64:
		return "NUMBER", "DOUBLE", 0
	case reflect.Slice:
		if t.Elem().Kind() == reflect.String {
			return "ANY", "STRING_LIST", 0
		}
	case reflect.Struct:
		return "MESSAGE", "MESSAGE", d.typeOf(t)
	}
	log.Fatalf("no JSON type for %v", t)
	return "", "", 0
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

// openapiName is the name of a type's definition: "io.k8s.api.core.v1.Pod".
func openapiName(t reflect.Type) string {
	return "io.k8s." + strings.TrimPrefix(upstreamName(t), "k8s.io.")
}

type kind struct{ apiVersion, kind string }

// kinds are all that an API server stores.
func (d *dumper) kinds() []kind {
	var out []kind
	meta := reflect.TypeFor[metav1.ObjectMeta]()
	for gvk, t := range d.known {
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

// order are the positions of the fields that protobuf has, in its order.
func order(fields []field) string {
	var at []int
	for i, f := range fields {
		if f.number != 0 {
			at = append(at, i)
		}
	}
	slices.SortFunc(at, func(a, b int) int {
		x, y := fields[a], fields[b]
		return cmp.Or(cmp.Compare(cmp.Or(x.outer, x.number), cmp.Or(y.outer, y.number)),
			cmp.Compare(x.number, y.number))
	})
	var out strings.Builder
	for _, i := range at {
		fmt.Fprintf(&out, "\\%o", i)
	}
	return out.String()
}

func (f field) row() string {
	flags := "0"
	if len(f.flags) > 0 {
		flags = strings.Join(f.flags, "|")
	}
	members := f.members
	if f.outer != 0 {
		members += fmt.Sprintf(", .outer = %d", f.outer)
	}
	return fmt.Sprintf("F(%q, %s, %s, %d, %d, %s, %s%s)", f.name, f.kind, f.shape, f.message, f.number,
		f.wire, flags, members)
}

func (d *dumper) write() {
	var out bytes.Buffer
	fmt.Fprintf(&out, `/* SPDX-License-Identifier: Apache-2.0 */
/* Generated by tests/kube/golden.sh from the Go types of k8s.io/api %s. Do not edit. */
#include "api/schema.h"

/* clang-format off */
enum { P = 1, E = 2, Z = 4, R = 8, M = 16 };
#define F(n, k, s, t, num, w, fl, ...) \
    {.name = n, .name_len = sizeof(n) - 1, .value = SCHEMA_##k, .shape = SCHEMA_##s, .type = t, \
     .number = num, .wire = SCHEMA_WIRE_##w, .nullable = ((fl) & P) != 0, \
     .omit_empty = ((fl) & E) != 0, .omit_zero = ((fl) & Z) != 0, .required = ((fl) & R) != 0, \
     .retain_keys = ((fl) & M) != 0, ##__VA_ARGS__}

`, version("k8s.io/api"))
	for i, fields := range d.fields {
		var rows []string
		for _, f := range fields {
			rows = append(rows, f.row())
		}
		fmt.Fprintf(&out, "static const struct schema_field fields_%d[] = {\n%s};\n", i, fill(rows))
	}
	fmt.Fprint(&out, "\n#define T(n, i, o, a) {n, fields_##i, ARRAY_LEN(fields_##i), o, sizeof(o) - 1, a}\n")
	var rows []string
	for i, t := range d.types {
		p := d.openapi[openapiName(t)]
		rows = append(rows, fmt.Sprintf("T(%q, %d, \"%s\", %t)", upstreamName(t), i, order(d.fields[i]), p.MapType == "atomic"))
	}
	fmt.Fprintf(&out, "const struct schema_type schema_types[] = {\n%s};\n", fill(rows))
	fmt.Fprint(&out, "const size_t n_schema_types = ARRAY_LEN(schema_types);\n\n")
	fmt.Fprint(&out, "#define K(k, v, t) {STR_INIT(k), STR_INIT(v), t}\n")
	rows = nil
	for _, k := range d.kinds() {
		t := "NULL"
		if slices.Contains(read, k.apiVersion+" "+k.kind) {
			gvk := schema.FromAPIVersionAndKind(k.apiVersion, k.kind)
			t = fmt.Sprintf("&schema_types[%d]", d.index[d.known[gvk]])
		}
		rows = append(rows, fmt.Sprintf("K(%q, %q, %s)", k.kind, k.apiVersion, t))
	}
	fmt.Fprintf(&out, "const struct schema_kind schema_kinds[] = {\n%s", fill(rows))
	fmt.Fprint(&out, "};\nconst size_t n_schema_kinds = ARRAY_LEN(schema_kinds);\n/* clang-format on */\n")
	if _, err := os.Stdout.Write(out.Bytes()); err != nil {
		log.Fatal(err)
	}
}

// constant is the name of a kind in an enum: "APPS_V1_DEPLOYMENT".
func constant(apiVersion, kind string) string {
	group, version, found := strings.Cut(apiVersion, "/")
	if !found {
		group, version = "core", apiVersion
	}
	group, _, _ = strings.Cut(group, ".")
	return strings.ToUpper(group + "_" + version + "_" + kind)
}

// writeKinds writes the header with the positions of the kinds in the table of types.
func (d *dumper) writeKinds() {
	fmt.Print(`/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema_kinds.h - the positions of kinds in schema_types.
 *
 * Generated by tests/kube/golden.sh, with schema_table.c. Do not edit.
 */
#ifndef BERTH_API_SCHEMA_KINDS_H
#define BERTH_API_SCHEMA_KINDS_H

enum schema_position {
`)
	for _, name := range read {
		apiVersion, k, _ := strings.Cut(name, " ")
		t := d.known[schema.FromAPIVersionAndKind(apiVersion, k)]
		fmt.Printf("    SCHEMA_%s = %d,\n", constant(apiVersion, k), d.index[t])
	}
	for _, t := range bodies {
		fmt.Printf("    SCHEMA_%s = %d,\n", constant("meta/v1", t.Name()), d.index[t])
	}
	fmt.Print("};\n\n#endif\n")
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("schemadump: ")
	kinds := flag.Bool("kinds", false, "write schema_kinds.h")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: schemadump [-kinds] OPENAPI-DIRECTORY")
	}
	if err := apiextensions.AddToScheme(scheme.Scheme); err != nil {
		log.Fatal(err)
	}
	d := &dumper{
		known:   scheme.Scheme.AllKnownTypes(),
		openapi: documents(flag.Arg(0)),
		index:   map[reflect.Type]int{},
	}
	for _, name := range read {
		apiVersion, k, _ := strings.Cut(name, " ")
		t, ok := d.known[schema.FromAPIVersionAndKind(apiVersion, k)]
		if !ok {
			log.Fatalf("there is no %s", name)
		}
		d.typeOf(t)
	}
	for _, t := range bodies {
		d.typeOf(t)
	}
	if *kinds {
		d.writeKinds()
	} else {
		d.write()
	}
}
