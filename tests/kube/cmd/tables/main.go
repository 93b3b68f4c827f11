// SPDX-License-Identifier: Apache-2.0

// tables DIR writes what upstream's printers make of the objects in corpus/*.yaml: one file per
// resource with its columns, the objects, their cells, and the cells of each object after one of
// its members or items was removed.
//
// A text "$90s" in the corpus is the time 90 s before now, "$$90s" the same as a MicroTime. Printers read the clock: they get times
// before the real now, the files have times before 2026-01-01T00:00:00Z.
package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	"k8s.io/kubernetes/pkg/printers"
	printersinternal "k8s.io/kubernetes/pkg/printers/internalversion"
	"sigs.k8s.io/yaml"
)

//go:embed corpus/*.yaml
var corpus embed.FS

var fixed = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

type row struct {
	Cells      []any                      `json:"cells"`
	Conditions []metav1.TableRowCondition `json:"conditions,omitempty"`
}

type without struct {
	Path string `json:"path"` // a JSON pointer
	*row        // nil: as before
}

type example struct {
	Object  any `json:"object"`
	Printer any `json:"columns,omitempty"` // of a custom resource
	row
	Without []without `json:"without"`
}

type file struct {
	Columns [][]any   `json:"columns,omitempty"`
	Rows    []example `json:"rows"`
}

// at returns a copy in which "$90s" is a time before now.
func at(v any, now time.Time) any {
	switch v := v.(type) {
	case map[string]any:
		c := map[string]any{}
		for k, m := range v {
			c[k] = at(m, now)
		}
		return c
	case []any:
		c := []any{}
		for _, m := range v {
			c = append(c, at(m, now))
		}
		return c
	case string:
		if strings.HasPrefix(v, "$") {
			layout := time.RFC3339
			if v[1] == '$' {
				layout = metav1.RFC3339Micro
			}
			d, err := time.ParseDuration(strings.TrimLeft(v, "$"))
			check(err)
			return now.Add(-d).UTC().Format(layout)
		}
	}
	return v
}

// drop returns a copy of v without what the path names.
func drop(v any, path []string) any {
	switch v := v.(type) {
	case map[string]any:
		c := map[string]any{}
		for k, m := range v {
			if k != path[0] {
				c[k] = m
			} else if len(path) > 1 {
				c[k] = drop(m, path[1:])
			}
		}
		return c
	case []any:
		c := []any{}
		for i, m := range v {
			if strconv.Itoa(i) != path[0] {
				c = append(c, m)
			} else if len(path) > 1 {
				c = append(c, drop(m, path[1:]))
			}
		}
		return c
	}
	panic("path")
}

func paths(v any, up []string, f func([]string)) {
	visit := func(key string, m any) {
		path := append(append([]string{}, up...), key)
		if len(path) > 1 || (key != "kind" && key != "apiVersion") {
			f(path)
		}
		paths(m, path, f)
	}
	switch v := v.(type) {
	case map[string]any:
		keys := []string{}
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			visit(k, v[k])
		}
	case []any:
		for i, m := range v {
			visit(strconv.Itoa(i), m)
		}
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

var generator = printers.NewTableGenerator().With(printersinternal.AddHandlers)

func table(doc any, columns []apiextensionsv1.CustomResourceColumnDefinition) *metav1.Table {
	// Only the first part of a second: what happens meanwhile changes no age.
	for time.Now().Nanosecond() > 500e6 {
		time.Sleep(10 * time.Millisecond)
	}
	object := at(doc, time.Now().Truncate(time.Second)).(map[string]any)
	text, err := json.Marshal(object)
	check(err)
	if columns != nil {
		var u unstructured.Unstructured
		check(u.UnmarshalJSON(text))
		c, err := tableconvertor.New(columns)
		check(err)
		t, err := c.ConvertToTable(context.Background(), &u, nil)
		check(err)
		return t
	}
	gvk := schema.FromAPIVersionAndKind(object["apiVersion"].(string), object["kind"].(string))
	versioned, err := legacyscheme.Scheme.New(gvk)
	check(err)
	check(json.Unmarshal(text, versioned))
	internal, err := legacyscheme.Scheme.ConvertToVersion(versioned, runtime.InternalGroupVersioner)
	check(err)
	t, err := generator.GenerateTable(internal, printers.GenerateOptions{Wide: true})
	check(err)
	return t
}

func same(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

func print(doc map[string]any, files map[string]*file) {
	var columns []apiextensionsv1.CustomResourceColumnDefinition
	printer := doc["columns"]
	if printer != nil {
		text, err := json.Marshal(printer)
		check(err)
		check(json.Unmarshal(text, &columns))
		delete(doc, "columns")
	}
	t := table(doc, columns)
	name := strings.ReplaceAll(doc["apiVersion"].(string), "/", "_") + "_" + doc["kind"].(string)
	f := files[name]
	if f == nil {
		f = &file{}
		files[name] = f
	}
	if columns == nil && f.Columns == nil {
		for _, c := range t.ColumnDefinitions {
			f.Columns = append(f.Columns, []any{c.Name, c.Type, c.Format, c.Priority})
		}
	}
	e := example{Object: at(doc, fixed), Printer: printer, row: row{t.Rows[0].Cells, t.Rows[0].Conditions}}
	paths(doc, nil, func(path []string) {
		escaped := ""
		for _, p := range path {
			escaped += "/" + strings.ReplaceAll(strings.ReplaceAll(p, "~", "~0"), "/", "~1")
		}
		defer func() {
			if recover() != nil { // upstream relies on its validation
				fmt.Fprintf(os.Stderr, "%s: skipped %s\n", name, escaped)
			}
		}()
		t := table(drop(doc, path), columns)
		w := without{Path: escaped}
		if r := (row{t.Rows[0].Cells, t.Rows[0].Conditions}); !same(r, e.row) {
			w.row = &r
		}
		e.Without = append(e.Without, w)
	})
	f.Rows = append(f.Rows, e)
}

func main() {
	files := map[string]*file{}
	names, err := corpus.ReadDir("corpus")
	check(err)
	for _, n := range names {
		text, err := corpus.ReadFile("corpus/" + n.Name())
		check(err)
		for _, part := range strings.Split(string(text), "\n---\n") {
			var doc map[string]any
			check(yaml.Unmarshal([]byte(part), &doc))
			if doc != nil {
				print(doc, files)
			}
		}
	}
	check(os.MkdirAll(os.Args[1], 0o755))
	for name, f := range files {
		text, err := json.Marshal(f)
		check(err)
		check(os.WriteFile(filepath.Join(os.Args[1], name+".json"), append(text, '\n'), 0o644))
	}
}
