// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"sort"
)

// shrink removes from a case whatever can be removed while it still fails. fails must be
// deterministic. At most budget trials.
func shrink(c *testCase, budget int, fails func(*testCase) bool) *testCase {
	s := &shrinker{best: c, budget: budget, fails: fails}
	for again := true; again && s.budget > 0; {
		again = s.items()
		again = s.events() || again
		if s.best.Config != nil && s.try(func(c *testCase) { c.Config = nil }) {
			again = true
		}
		again = s.members() || again
	}
	return s.best
}

type shrinker struct {
	best   *testCase
	budget int
	fails  func(*testCase) bool
}

func (s *shrinker) try(change func(*testCase)) bool {
	if s.budget <= 0 {
		return false
	}
	s.budget--
	c := s.best.clone()
	change(c)
	c.prune()
	if !s.fails(c) {
		return false
	}
	s.best = c
	return true
}

// items removes whole objects: many at once, then fewer.
func (s *shrinker) items() bool {
	progress := false
	for size := (len(s.best.Items) + 1) / 2; size > 0; size /= 2 {
		for at := len(s.best.Items) - size; at > -size; at -= size {
			from, to := max(at, 0), min(at+size, len(s.best.Items))
			if to > from && s.try(func(c *testCase) { c.Items = slices.Delete(c.Items, from, to) }) {
				progress = true
			}
		}
	}
	return progress
}

// events removes later events: all of a time, then one by one.
func (s *shrinker) events() bool {
	progress := false
	for i := len(s.best.Then) - 1; i >= 0; i-- {
		if s.try(func(c *testCase) { c.Then = slices.Delete(c.Then, i, i+1) }) {
			progress = true
			continue
		}
		for k := len(s.best.Then[i]) - 1; k >= 0; k-- {
			if s.try(func(c *testCase) { c.Then[i] = slices.Delete(c.Then[i], k, k+1) }) {
				progress = true
			}
		}
	}
	return progress
}

// The members that identify an object, or that both sides need.
var kept = map[string]bool{"apiVersion": true, "kind": true, "metadata": true, "name": true, "uid": true,
	"schedulerName": true, "namespace": true, "profiles": true, "type": true, "object": true}

// members removes members and elements, outer ones first.
func (s *shrinker) members() bool {
	progress := false
	for i := 0; i < len(s.best.Items); i++ {
		root := func(c *testCase) any { return c.Items[i] }
		progress = s.below(root, nil) || progress
	}
	for i := range s.best.Then {
		for k := 0; k < len(s.best.Then[i]); k++ {
			progress = s.below(func(c *testCase) any { return c.Then[i][k] }, nil) || progress
		}
	}
	if s.best.Config != nil {
		progress = s.below(func(c *testCase) any { return c.Config }, nil) || progress
	}
	return progress
}

// below works on the value at a path of keys and indexes from root.
func (s *shrinker) below(root func(*testCase) any, path []any) bool {
	progress := false
	switch v := at(root(s.best), path).(type) {
	case tree:
		keys := []string{}
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			if !kept[k] && s.try(func(c *testCase) { delete(at(root(c), path).(tree), k) }) {
				progress = true
				continue
			}
			progress = s.below(root, append(slices.Clone(path), k)) || progress
		}
	case []any:
		for i := len(v) - 1; i >= 0; i-- {
			if s.try(func(c *testCase) { removeAt(root(c), path, i) }) {
				progress = true
				continue
			}
			progress = s.below(root, append(slices.Clone(path), i)) || progress
		}
	}
	return progress
}

func at(v any, path []any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.(tree)[step]
		case int:
			v = v.([]any)[step]
		}
	}
	return v
}

// removeAt removes an element of the list at a path, which is a member or an element of something.
func removeAt(root any, path []any, i int) {
	list := at(root, path).([]any)
	list = slices.Delete(slices.Clone(list), i, i+1)
	parent := at(root, path[:len(path)-1])
	switch last := path[len(path)-1].(type) {
	case string:
		parent.(tree)[last] = list
	case int:
		parent.([]any)[last] = list
	}
}
