// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// The form in which both sides report an attempt: the output of `berth simulate --survey -o json`,
// one object per line. Members that only berth has are not listed and not compared.
type attempt struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	UID       string `json:"uid"`
	Attempt   int    `json:"attempt"`
	Profile   string `json:"profile"`
	Outcome   string `json:"outcome"` // scheduled, unschedulable, error
	Node      string `json:"node"`
	Message   string `json:"message"`
	AllNodes  int    `json:"allNodes"`

	PreFilter []pluginVerdict `json:"preFilter"`
	Filters   survey          `json:"filters"`
	Nodes     []nodeVerdict   `json:"nodes"`
	Feasible  []nodeScores    `json:"feasible"`

	// nil: it was not called.
	PostFilter *postFilter `json:"postFilter"`

	// Only berth has these: differences between its batch form and its single form.
	Disagreements []json.RawMessage `json:"disagreements"`

	// Only upstream has this: what VolumeBinding reserved, sorted by claim.
	Volumes []volumeDecision `json:"-"`

	// Of the last attempt: all ResourceClaims in the end. nil: unknown.
	Claims map[string]claimResult `json:"-"`

	// Only upstream has this: it iterates over a map, so that the order of nodes is meaningless.
	anyOrder bool
	// There are more attempts, which are not compared.
	cut bool
	// Only upstream has this: nothing is compared after this attempt.
	last bool
}

type pluginVerdict struct {
	Name    string   `json:"name"`
	Code    string   `json:"code"`
	Reasons []string `json:"reasons"`
}

// The verdicts of every filter plugin that was not skipped on every node.
type survey struct {
	Asked []string     `json:"asked"`
	Nodes []surveyNode `json:"nodes"`
}

type surveyNode struct {
	Name    string          `json:"name"`
	Refused []pluginVerdict `json:"refused"` // Success is left out
}

// The verdict on a node in the attempt: the first plugin that rejected it.
type nodeVerdict struct {
	Name    string   `json:"name"`
	Code    string   `json:"code"`
	Plugin  string   `json:"plugin"`
	Reasons []string `json:"reasons"`
}

// The results of preemption.
type postFilter struct {
	Plugin        string   `json:"plugin"`
	Code          string   `json:"code"`
	Reasons       []string `json:"reasons"`
	NominatedNode string   `json:"nominatedNode"`
	Victims       []string `json:"victims"` // the most important first
	PDBViolations int64    `json:"pdbViolations"`
	Candidates    int      `json:"candidates"`
	Offset        int      `json:"offset"` // the node, among the potential ones, with which it began

	// Only upstream has these.
	cleared []string // pods that lost their nominations
	rule    string   // that left one candidate
	within  int      // potential nodes
	limit   int      // candidates wanted
	deleted int      // victims that were not terminating already
}

func (a *attempt) preemption() *postFilter {
	if a == nil {
		return nil
	}
	return a.PostFilter
}

type nodeScores struct {
	Name    string        `json:"name"`
	Plugins []pluginScore `json:"plugins"`
	Total   int64         `json:"total"`
}

type pluginScore struct {
	Name       string `json:"name"`
	Raw        int64  `json:"raw"`
	Normalized int64  `json:"normalized"`
	Weight     int64  `json:"weight"`
	Weighted   int64  `json:"weighted"`
}

// readAttempts reads concatenated objects.
func readAttempts(text []byte) ([]*attempt, error) {
	var list []*attempt
	d := json.NewDecoder(bytes.NewReader(text))
	for d.More() {
		a := &attempt{}
		if err := d.Decode(a); err != nil {
			return nil, fmt.Errorf("what berth wrote is not understood: %w", err)
		}
		list = append(list, a)
	}
	return list, nil
}
