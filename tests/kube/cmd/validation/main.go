// SPDX-License-Identifier: Apache-2.0

// validation runs upstream's defaulting, preparation, validation and warnings on the objects of a
// corpus and on mutations of them, and writes what they answer.
//
//	validation CORPUS OUT
//
// CORPUS has one YAML file per group of kinds. Each document is an object that upstream accepts. A
// document of kind Mutations follows an object and adds mutations of it: items of {path, value};
// without a value the member is removed. OUT gets one JSON file per file:
//
//	messages: the texts of errors, once each
//	objects:  input, the same after defaults and PrepareForCreate, and the cases
//	cases:    p: path (JSON pointer); v: value, missing: removed; c, u, s: errors of the object as
//	          a new one, as an update of the unchanged one, and as a change of its status; each is
//	          [field, index of message, …]; x: the order of errors is random; w: warnings
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/capabilities"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
)

// times are members that differ in every run.
var times = regexp.MustCompile(`"last(Transition|Probe)Time":[^,}]*,`)

// attempts is how often a validation runs to see whether the order of its errors is random.
const attempts = 4

type result struct {
	Path     string          `json:"p"`
	Value    json.RawMessage `json:"v,omitempty"`
	Create   []any           `json:"c,omitempty"`
	Update   []any           `json:"u,omitempty"`
	Status   []any           `json:"s,omitempty"`
	Warnings json.RawMessage `json:"w,omitempty"`
	Random   bool            `json:"x,omitempty"`
}

type entry struct {
	Input    json.RawMessage `json:"input"`
	Object   json.RawMessage `json:"object"`
	Warnings []string        `json:"warnings,omitempty"`
	Cases    []result        `json:"cases"`
}

type output struct {
	Messages []string `json:"messages"`
	Objects  []entry  `json:"objects"`
	index    map[string]int
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "validation:", err)
		os.Exit(1)
	}
}

// subject is one object as upstream's code sees it.
type subject struct {
	gvk schema.GroupVersionKind
	key string
}

func (s subject) context() context.Context {
	ctx := genericapirequest.NewDefaultContext()
	plural, _ := meta.UnsafeGuessKindToResource(s.gvk)
	return genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, APIGroup: s.gvk.Group, APIVersion: s.gvk.Version, Resource: plural.Resource,
	})
}

// decode gives the internal object with defaults; false if the text is not of the kind.
func (s subject) decode(text []byte) (runtime.Object, bool) {
	versioned, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
	if err != nil {
		return nil, false
	}
	legacyscheme.Scheme.Default(versioned)
	internal, err := legacyscheme.Scheme.ConvertToVersion(versioned,
		schema.GroupVersion{Group: s.gvk.Group, Version: runtime.APIVersionInternal})
	return internal, err == nil
}

func (s subject) encode(obj runtime.Object) json.RawMessage {
	versioned, err := legacyscheme.Scheme.ConvertToVersion(obj, s.gvk.GroupVersion())
	check(err)
	// Defaults are set again when the object is read.
	legacyscheme.Scheme.Default(versioned)
	versioned.GetObjectKind().SetGroupVersionKind(s.gvk)
	text, err := json.Marshal(versioned)
	check(err)
	return times.ReplaceAll(text, nil)
}

// prepared gives the object as it would be stored.
func (s subject) prepared(text []byte) (runtime.Object, bool) {
	obj, ok := s.decode(text)
	if ok {
		kinds[s.key].main.PrepareForCreate(s.context(), obj)
	}
	return obj, ok
}

// stored gives the object with what the server sets.
func (s subject) stored(text []byte) runtime.Object {
	obj, ok := s.prepared(text)
	if !ok {
		check(fmt.Errorf("%s: the object cannot be decoded: %s", s.key, text))
	}
	identify(obj)
	return obj
}

func identify(obj runtime.Object) {
	m, err := meta.Accessor(obj)
	check(err)
	m.SetUID(types.UID("u"))
	m.SetResourceVersion("1")
	m.SetGeneration(1)
}

func (s subject) create(text []byte) (field.ErrorList, []string) {
	obj, _ := s.prepared(text)
	errs := kinds[s.key].main.Validate(s.context(), obj)
	return errs, kinds[s.key].main.WarningsOnCreate(s.context(), obj)
}

func (s subject) update(strategy rest.RESTUpdateStrategy, text, old []byte) field.ErrorList {
	obj, _ := s.decode(text)
	before := s.stored(old)
	identify(obj)
	strategy.PrepareForUpdate(s.context(), obj, before)
	return strategy.ValidateUpdate(s.context(), obj, before)
}

// list encodes the errors and tells whether their order is random.
func (o *output) list(run func() field.ErrorList) (out []any, random bool) {
	first := run()
	for range attempts - 1 {
		random = random || !reflect.DeepEqual(texts(first), texts(run()))
	}
	for _, e := range first {
		// What follows the first line is a diff of upstream's internal structs.
		body, _, _ := strings.Cut(e.ErrorBody(), "\n")
		i, ok := o.index[body]
		if !ok {
			i = len(o.Messages)
			o.index[body] = i
			o.Messages = append(o.Messages, body)
		}
		out = append(out, e.Field, i)
	}
	return out, random
}

func texts(errs field.ErrorList) (out []string) {
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}

func (o *output) mutate(s subject, base []byte, warnings []string, m mutation) {
	// Upstream's code may not be ready for the object: then there is nothing to compare with.
	defer func() { _ = recover() }()
	// Metadata of budgets are checked by the registry alone.
	if s.gvk.Kind == "PodDisruptionBudget" && strings.HasPrefix(m.path, "/metadata") {
		return
	}
	text, ok := m.apply(base)
	if !ok {
		return
	}
	decoded, ok := s.decode(text)
	if !ok {
		return
	}
	// Upstream's registry checks the names of events, not their strategy.
	if s.gvk.Kind == "Event" && strings.HasPrefix(m.path, "/metadata") {
		return
	}
	// Some kinds get a random name.
	if m, err := meta.Accessor(decoded); err != nil || m.GetName() == "" {
		return
	}
	r := result{Path: m.path, Value: m.value}
	var random [3]bool
	var warned []string
	r.Create, random[0] = o.list(func() (errs field.ErrorList) {
		errs, warned = s.create(text)
		return errs
	})
	if len(r.Create) == 0 && !slices.Equal(warned, warnings) {
		slices.Sort(warned)
		text, err := json.Marshal(append([]string{}, warned...))
		check(err)
		r.Warnings = text
	}
	main, status := kinds[s.key].main, kinds[s.key].status
	if !strings.HasPrefix(m.path, "/metadata") {
		r.Update, random[1] = o.list(func() field.ErrorList { return s.update(main, text, base) })
	}
	if status != nil && strings.HasPrefix(m.path, "/status") {
		r.Status, random[2] = o.list(func() field.ErrorList { return s.update(status, text, base) })
	}
	r.Random = random[0] || random[1] || random[2]
	o.Objects[len(o.Objects)-1].Cases = append(o.Objects[len(o.Objects)-1].Cases, r)
}

func (o *output) object(text []byte, extra []mutation) {
	_, gvk, err := legacyscheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
	check(err)
	s := subject{gvk: *gvk, key: gvk.GroupVersion().String() + "/" + gvk.Kind}
	if kinds[s.key].main == nil {
		check(fmt.Errorf("%s: no such row in kinds.go", s.key))
	}
	errs, warnings := s.create(text)
	if len(errs) > 0 {
		check(fmt.Errorf("%s: upstream refuses the object: %v", s.key, errs.ToAggregate()))
	}
	obj, _ := s.prepared(text)
	slices.Sort(warnings)
	o.Objects = append(o.Objects, entry{Input: text, Object: s.encode(obj), Warnings: warnings})
	seen := map[string]bool{}
	for _, m := range append(generate(text), extra...) {
		if key := m.path + string(m.value); !seen[key] {
			seen[key] = true
			o.mutate(s, text, warnings, m)
		}
	}
}

func (o *output) file(name string) {
	f, err := os.Open(name)
	check(err)
	defer f.Close()
	reader := yaml.NewYAMLOrJSONDecoder(f, 4096)
	var texts [][]byte
	var extra [][]mutation
	for {
		var raw json.RawMessage
		err := reader.Decode(&raw)
		if errors.Is(err, io.EOF) {
			break
		}
		check(err)
		var list mutations
		check(json.Unmarshal(raw, &list))
		switch {
		case list.Kind == "Mutations":
			extra[len(extra)-1] = append(extra[len(extra)-1], list.mutations()...)
		case list.Kind != "":
			var compact bytes.Buffer
			check(json.Compact(&compact, raw))
			texts = append(texts, compact.Bytes())
			extra = append(extra, nil)
		}
	}
	for i := range texts {
		o.object(texts[i], extra[i])
	}
}

func main() {
	if len(os.Args) != 3 {
		check(errors.New("usage: validation CORPUS OUT"))
	}
	capabilities.Initialize(capabilities.Capabilities{AllowPrivileged: true})
	klog.SetLogger(logr.Discard())
	persistentvolume.NowFunc = func() metav1.Time { return metav1.Time{} }
	names, err := filepath.Glob(filepath.Join(os.Args[1], "*.yaml"))
	check(err)
	check(os.MkdirAll(os.Args[2], 0o755))
	for _, name := range names {
		o := &output{index: map[string]int{}}
		o.file(name)
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		check(encoder.Encode(o))
		base := strings.TrimSuffix(filepath.Base(name), ".yaml") + ".json"
		check(os.WriteFile(filepath.Join(os.Args[2], base), out.Bytes(), 0o644))
	}
}
