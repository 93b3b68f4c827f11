// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// mutation sets or removes one member or item of an object.
type mutation struct {
	path  string          // JSON pointer
	value json.RawMessage // nil: remove
}

type mutations struct {
	Kind  string `json:"kind"`
	Items []struct {
		Path   string            `json:"path"`
		Value  json.RawMessage   `json:"value"`
		Values []json.RawMessage `json:"values"`
	} `json:"items"`
}

func (m mutations) mutations() (out []mutation) {
	for _, item := range m.Items {
		for _, v := range item.Values {
			out = append(out, mutation{item.Path, v})
		}
		if item.Values == nil {
			out = append(out, mutation{item.Path, item.Value})
		}
	}
	return out
}

func split(path string) (out []string) {
	for _, s := range strings.Split(path, "/")[1:] {
		out = append(out, strings.NewReplacer("~1", "/", "~0", "~").Replace(s))
	}
	return out
}

func join(path, name string) string {
	return path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// apply gives the object with the change; false if the path is not there.
func (m mutation) apply(text []byte) ([]byte, bool) {
	var root any
	check(json.Unmarshal(text, &root))
	var value any
	if m.value != nil {
		check(json.Unmarshal(m.value, &value))
	}
	changed, ok := m.set(root, split(m.path), value)
	if !ok {
		return nil, false
	}
	out, err := json.Marshal(changed)
	check(err)
	return out, true
}

func (m mutation) set(at any, path []string, value any) (any, bool) {
	if len(path) == 0 {
		return value, true
	}
	switch v := at.(type) {
	case map[string]any:
		if len(path) == 1 && m.value == nil {
			delete(v, path[0])
			return v, true
		}
		if v[path[0]] == nil && len(path) > 1 {
			v[path[0]] = map[string]any{}
		}
		changed, ok := m.set(v[path[0]], path[1:], value)
		v[path[0]] = changed
		return v, ok
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i < 0 || i > len(v) {
			return nil, false
		}
		if len(path) == 1 && m.value == nil {
			if i == len(v) {
				return nil, false
			}
			return slices.Delete(v, i, i+1), true
		}
		if i == len(v) {
			v = append(v, nil)
		}
		changed, ok := m.set(v[i], path[1:], value)
		v[i] = changed
		return v, ok
	}
	return nil, false
}

// generate gives mutations of every member below the object: removed, empty, of a bad form, doubled.
func generate(text []byte) []mutation {
	var root map[string]any
	check(json.Unmarshal(text, &root))
	var out []mutation
	for _, name := range sorted(root) {
		if name != "apiVersion" && name != "kind" {
			out = append(out, below(join("", name), root[name])...)
		}
	}
	return out
}

func sorted(m map[string]any) (out []string) {
	for name := range m {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

func below(path string, v any) (out []mutation) {
	add := func(at string, values ...string) {
		for _, value := range values {
			out = append(out, mutation{at, json.RawMessage(value)})
		}
	}
	out = append(out, mutation{path, nil})
	switch t := v.(type) {
	case string:
		add(path, `""`, `"Bad Value_!"`)
		if len(t) > 0 && t[0] >= '0' && t[0] <= '9' {
			add(path, `"-1"`, `"2500m"`)
		} else {
			add(path, `"other"`)
		}
	case float64:
		add(path, `-1`, `0`, fmt.Sprint(int64(t)+1), `70000`)
	case bool:
		add(path, strconv.FormatBool(!t))
	case []any:
		add(path, `[]`)
		for i, item := range t {
			out = append(out, below(join(path, strconv.Itoa(i)), item)...)
		}
		if len(t) > 0 {
			item, err := json.Marshal(t[0])
			check(err)
			add(join(path, strconv.Itoa(len(t))), string(item))
		}
	case map[string]any:
		add(path, `{}`)
		for _, name := range sorted(t) {
			out = append(out, below(join(path, name), t[name])...)
		}
	}
	return out
}
