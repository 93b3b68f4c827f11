// SPDX-License-Identifier: Apache-2.0

package main

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
)

// applyStep is an apply, or an update with the object that is written.
type applyStep struct {
	Manager string   `json:"manager"`
	Apply   bool     `json:"apply,omitempty"`
	Force   bool     `json:"force,omitempty"`
	Object  manifest `json:"object"`
	Error   string   `json:"error,omitempty"`
	Want    manifest `json:"want,omitempty"` // the object, without the times of managed fields
}

type applyRow struct {
	Kind  string      `json:"kind"`
	Steps []applyStep `json:"steps"`
}

// live is the object without the times of its managed fields.
func live(m managedfieldstest.TestFieldManager) manifest {
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(m.Live().(*unstructured.Unstructured).Object)}
	accessor, err := meta.Accessor(u)
	check(err)
	entries := accessor.GetManagedFields()
	for i := range entries {
		entries[i].Time = nil
	}
	accessor.SetManagedFields(entries)
	return u.Object
}

// changed is the object with some parts of another one.
func (r *random) changed(object manifest, kind string) manifest {
	out, other := runtime.DeepCopyJSON(object), r.manifest(kind)
	for _, part := range []string{"spec", "status", "data", "immutable"} {
		if _, has := other[part]; has && r.chance(50) {
			out[part] = other[part]
		} else if r.chance(5) {
			delete(out, part)
		}
	}
	metadata := out["metadata"].(manifest)
	for _, part := range []string{"labels", "annotations", "finalizers"} {
		if v, has := other["metadata"].(manifest)[part]; has && r.chance(50) {
			metadata[part] = v
		} else if r.chance(10) {
			delete(metadata, part)
		}
	}
	return out
}

func (r *random) applySteps(converter managedfields.TypeConverter, kind string) applyRow {
	row := applyRow{Kind: kind}
	first := r.manifest(kind)
	gv, err := schema.ParseGroupVersion(first["apiVersion"].(string))
	check(err)
	m := managedfieldstest.NewTestFieldManager(converter, gv.WithKind(kind))
	for range r.between(2, 4) {
		step := applyStep{Manager: pick(r, []string{"m1", "m2", "m3"}), Apply: r.chance(65), Force: r.chance(40)}
		if step.Apply {
			step.Object = r.manifest(kind)
			err = m.Apply(&unstructured.Unstructured{Object: runtime.DeepCopyJSON(step.Object)}, step.Manager, step.Force)
		} else {
			step.Force = false
			step.Object = first
			if len(row.Steps) > 0 {
				step.Object = r.changed(live(m), kind)
				delete(step.Object["metadata"].(manifest), "managedFields")
			}
			err = m.Update(&unstructured.Unstructured{Object: runtime.DeepCopyJSON(step.Object)}, step.Manager)
		}
		if step.Error = errText(err); err == nil {
			step.Want = live(m)
		}
		row.Steps = append(row.Steps, step)
	}
	return row
}

func applies(r *random) table {
	typed, custom := section{name: "typed"}, section{name: "custom"}
	converter := applyconfigurations.NewTypeConverter(scheme.Scheme)
	for range 130 {
		typed.add(r.applySteps(converter, pick(r, []string{"Pod", "Pod", "Deployment", "Service", "Node", "ConfigMap"})))
	}
	for range 30 {
		custom.add(r.applySteps(managedfields.NewDeducedTypeConverter(), "Widget"))
	}
	return table{typed, custom}
}
