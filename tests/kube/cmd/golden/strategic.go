// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

type strategicRow struct {
	Kind   string   `json:"kind"`
	Target manifest `json:"target"`
	Patch  manifest `json:"patch"`
	Want   manifest `json:"want,omitempty"`
	Error  string   `json:"error,omitempty"`
	Code   int      `json:"code,omitempty"`
}

var strategicKinds = map[string]any{
	"Pod": corev1.Pod{}, "Deployment": appsv1.Deployment{}, "Service": corev1.Service{},
	"Node": corev1.Node{}, "ConfigMap": corev1.ConfigMap{},
}

func strategicCode(err error) int {
	for _, e := range []error{mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys,
		mergepatch.ErrBadPatchFormatForSetElementOrderList} {
		if errors.Is(err, e) {
			return 400
		}
	}
	if errors.Is(err, mergepatch.ErrNoListOfLists) {
		return 422
	}
	return 500
}

// patchOf applies the patch as often as it takes to see whether the outcome depends on the order of
// Go's maps; such patches are left out.
func patchOf(kind string, target, patch manifest) (row strategicRow, ok bool) {
	row = strategicRow{Kind: kind, Target: target, Patch: patch}
	defer func() {
		if recover() != nil { // upstream compares maps with ==
			ok = false
		}
	}()
	for i := range 12 {
		got, err := strategicpatch.StrategicMergeMapPatch(runtime.DeepCopyJSON(target), runtime.DeepCopyJSON(patch),
			strategicKinds[kind])
		want, text := manifest(got), errText(err)
		if i > 0 && (string(compact(want)) != string(compact(row.Want)) || text != row.Error) {
			return row, false
		}
		row.Want, row.Error = want, text
		if err != nil {
			row.Code = strategicCode(err)
		}
	}
	return row, true
}

// disturb changes a patch so that directives and nulls are in it.
func (r *random) disturb(v any) any {
	switch v := v.(type) {
	case manifest:
		for _, k := range sortedKeys(v) {
			if r.chance(6) {
				v[k] = nil
				continue
			}
			if list, isList := v[k].([]any); isList && r.chance(10) {
				prefix := pick(r, []string{"$setElementOrder/", "$deleteFromPrimitiveList/"})
				v[prefix+k] = runtime.DeepCopyJSONValue(list)
				if r.chance(50) {
					delete(v, k)
					continue
				}
			}
			v[k] = r.disturb(v[k])
		}
		if r.chance(6) {
			v["$patch"] = pick(r, []any{"delete", "replace", "replace", "delete", "merge", "x"})
		}
		if r.chance(6) {
			keys := []any{}
			for _, k := range sortedKeys(v) {
				keys = append(keys, k)
			}
			v["$retainKeys"] = keys
		}
		return v
	case []any:
		for i := range v {
			v[i] = r.disturb(v[i])
		}
	}
	return v
}

func sortedKeys(m manifest) []string {
	keys := []string{}
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func strategicPatches(r *random) table {
	random, made := section{name: "random"}, section{name: "made"}
	kinds := []string{"Pod", "Pod", "Deployment", "Service", "Node", "ConfigMap"}
	for len(random.rows) < 260 {
		kind := pick(r, kinds)
		patch := r.manifest(kind)
		delete(patch, "apiVersion")
		delete(patch, "kind")
		if row, ok := patchOf(kind, r.manifest(kind), r.disturb(patch).(manifest)); ok {
			random.add(row)
		}
	}
	for len(made.rows) < 120 {
		kind := pick(r, kinds)
		target, modified := r.manifest(kind), r.manifest(kind)
		text, err := strategicpatch.CreateTwoWayMergePatch(compact(target), compact(modified), strategicKinds[kind])
		check(err)
		patch := manifest{}
		check(json.Unmarshal(text, &patch))
		if row, ok := patchOf(kind, target, wholeNumbers(patch).(manifest)); ok {
			made.add(row)
		}
	}
	return table{random, made}
}

// wholeNumbers undoes encoding/json's float64.
func wholeNumbers(v any) any {
	switch v := v.(type) {
	case manifest:
		for k := range v {
			v[k] = wholeNumbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = wholeNumbers(v[i])
		}
	case float64:
		return int64(v)
	}
	return v
}
