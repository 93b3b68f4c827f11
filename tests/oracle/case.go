// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// tree is a JSON object; anything below it is a tree, a []any, a string, a number or a bool.
type tree = map[string]any

// A testCase is a cluster with pods to place, and the configuration of the scheduler. It is kept as
// plain JSON, so that odd values reach both sides and shrinking is independent of types.
type testCase struct {
	Config tree  `json:"config,omitempty"` // nil: the default configuration
	Items  []any `json:"items"`            // trees; pods are the last, bound ones before others

	// The watch events after all pods have been tried, and then again.
	Then [][]any `json:"then,omitempty"`

	// How often a pod is tried if there are no later events; 0: once.
	Attempts int `json:"attempts,omitempty"`
	// Preemption waits until its victims are deleted: the gate SchedulerAsyncPreemption is off.
	SyncPreemption bool `json:"syncPreemption,omitempty"`
}

func readCase(file string) (*testCase, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	c := &testCase{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(c); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

func (c *testCase) clone() *testCase {
	out := &testCase{Items: cloneValue(c.Items).([]any), Attempts: c.Attempts, SyncPreemption: c.SyncPreemption}
	for _, events := range c.Then {
		out.Then = append(out.Then, cloneValue(events).([]any))
	}
	if c.Config != nil {
		out.Config = cloneValue(c.Config).(tree)
	}
	return out
}

func cloneValue(v any) any {
	switch v := v.(type) {
	case tree:
		out := make(tree, len(v))
		for k, m := range v {
			out[k] = cloneValue(m)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, m := range v {
			out[i] = cloneValue(m)
		}
		return out
	}
	return v
}

// prune removes empty lists: in protobuf, the wire format, they equal absent ones.
func prune(v any) {
	switch v := v.(type) {
	case tree:
		for k, m := range v {
			if list, ok := m.([]any); ok && len(list) == 0 {
				delete(v, k)
			}
			prune(m)
		}
	case []any:
		for _, m := range v {
			prune(m)
		}
	}
}

// attempts returns how often each pod is tried.
func (c *testCase) attempts() int {
	if len(c.Then) > 0 {
		return 1
	}
	return max(c.Attempts, 1)
}

func (c *testCase) prune() {
	prune(c.Items)
	for _, events := range c.Then {
		prune(events)
	}
}

// encode returns compact JSON. Go's own encoder escapes <, > and &: equal, but less readable.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func encodeIndented(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func kindOf(item any) string {
	kind, _ := item.(tree)["kind"].(string)
	return kind
}
