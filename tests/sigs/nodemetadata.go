// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// v0.34.7 does not have NodeMetadata yet. Its rules are written down here once more, with Go's own
// parsers of numbers and times, which are what is hard to get right.

const metadataKey = "example.com/value"

// simulationBegins is the time of `berth simulate`.
var simulationBegins = time.Unix(0, 1)

type nodeMetadata struct{ source, kind, strategy, format string }

func (m *nodeMetadata) Name() string                               { return "NodeMetadata" }
func (m *nodeMetadata) ScoreExtensions() framework.ScoreExtensions { return m }

func (m *nodeMetadata) value(node *v1.Node) (float64, bool) {
	values := node.Labels
	if m.source == "Annotation" {
		values = node.Annotations
	}
	text, ok := values[metadataKey]
	if !ok {
		return 0, false
	}
	if m.kind == "Timestamp" {
		at, err := time.Parse(m.format, text)
		return simulationBegins.Sub(at).Seconds(), err == nil
	}
	number, err := strconv.ParseFloat(text, 64)
	return number, err == nil && math.Abs(number) < 1<<63
}

func (m *nodeMetadata) Score(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	value, ok := m.value(node.Node())
	switch {
	case !ok:
		return math.MinInt64, nil
	case m.strategy == "Lowest" || m.strategy == "Newest":
		return -int64(value), nil
	}
	return int64(value), nil
}

func (m *nodeMetadata) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores framework.NodeScoreList) *fwk.Status {
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for _, s := range scores {
		if s.Score != math.MinInt64 {
			low, high = min(low, s.Score), max(high, s.Score)
		}
	}
	for i, s := range scores {
		switch {
		case s.Score == math.MinInt64:
			scores[i].Score = 0
		case low == high:
			scores[i].Score = 1
		default:
			// The original's product may overflow.
			above := new(big.Int).Mul(big.NewInt(s.Score-low), big.NewInt(99))
			scores[i].Score = above.Div(above, big.NewInt(high-low)).Int64() + 1
		}
	}
	return nil
}

func init() {
	makers["NodeMetadata"] = func(c *testCase, _ *cluster) (framework.Plugin, error) {
		m := &nodeMetadata{format: time.RFC3339}
		m.source, _ = c.Args["metadataSource"].(string)
		m.kind, _ = c.Args["metadataType"].(string)
		m.strategy, _ = c.Args["scoringStrategy"].(string)
		if format, ok := c.Args["timestampFormat"].(string); ok {
			m.format = format
		}
		return m, nil
	}
}

// ---- cases -----------------------------------------------------------------------------------------

var layoutParts = []string{"2006", "06", "01", "1", "Jan", "January", "02", "2", "_2", "002", "__2", "Mon", "Monday",
	"15", "03", "3", "04", "4", "05", "5", "PM", "pm", "MST", "Z0700", "Z07:00", "Z07", "Z070000", "Z07:00:00", "-0700",
	"-07:00", "-07", "-070000", "-07:00:00", ".000", ".999", ",000000", ".999999999", " ", "-", "/", ":", "T", ", ", "at ",
	"_2006", "Janet", "20", "0"}

// layout is one that is in use, or any.
func (g generator) layout() string {
	if g.chance(0.7) {
		return one(g, time.RFC3339, time.RFC3339Nano, time.RFC1123, time.RFC1123Z, time.RFC822, time.RFC822Z, time.RFC850,
			time.ANSIC, time.UnixDate, time.RubyDate, time.Kitchen, time.Stamp, time.StampMicro, time.DateTime, time.DateOnly,
			"2006-01-02 15:04:05", "2006002", "Jan _2 2006 3:04PM", "2006-01-02T15:04:05.000Z")
	}
	text := ""
	for range 1 + g.Intn(8) {
		text += one(g, layoutParts...)
		if g.chance(0.5) {
			text += one(g, " ", "-", ":", "/", "")
		}
	}
	return text
}

// damaged may change a character.
func (g generator) damaged(text string) string {
	if text == "" || g.chance(0.75) {
		return text
	}
	at := g.Intn(len(text))
	return text[:at] + one(g, "", "0", "9", " ", "Z", "+", ".5", "x") + text[at+g.Intn(2):]
}

func (g generator) timeIn(layout string) string {
	zone := one(g, time.UTC, time.UTC, time.FixedZone("CET", 3600), time.FixedZone("", -5*3600-1800), time.FixedZone("GMT-8", -8*3600))
	// Far enough from 1970 that the few nanoseconds of a simulation do not count in a float64.
	seconds := one(g, int64(1), -1) * (1e9 + g.Int63n(2e9))
	at := time.Unix(seconds, one(g, int64(0), 5e8, 123456789)).In(zone)
	return g.damaged(at.Format(layout))
}

func (g generator) number() string {
	switch g.Intn(4) {
	case 0:
		return one(g, "", "inf", "-Infinity", "nan", "+nan", "1e400", "0x1p4", "0x1", "1_000", "1__0", "_1", "1e", ".", "1.", ".5", "1e16", "-1e19", "0x_1p0", "1e1_0")
	case 1:
		return g.damaged(strconv.FormatFloat(g.NormFloat64()*1000, 'g', -1, 64))
	}
	return g.damaged(strconv.Itoa(g.Intn(2000) - 1000))
}

func (g generator) nodeMetadata() *testCase {
	source, kind := one(g, "Label", "Annotation"), one(g, "Number", "Timestamp", "Timestamp")
	c := &testCase{Plugin: "NodeMetadata", Nodes: g.nodes(8), Args: map[string]any{"metadataKey": metadataKey,
		"metadataSource": source, "metadataType": kind, "scoringStrategy": one(g, "Highest", "Lowest")}}
	layout := time.RFC3339
	if kind == "Timestamp" {
		c.Args["scoringStrategy"] = one(g, "Newest", "Oldest")
		if g.chance(0.9) {
			layout = g.layout()
			c.Args["timestampFormat"] = layout
		}
	}
	for _, node := range c.Nodes {
		text := g.number()
		if kind == "Timestamp" {
			text = g.timeIn(layout)
		}
		if g.chance(0.1) {
			continue
		}
		values := map[string]string{metadataKey: text}
		if source == "Label" {
			node.Labels = values
		} else {
			node.Annotations = values
		}
	}
	c.Pods = []*v1.Pod{g.pod(fmt.Sprintf("p%d", 0), 100)}
	return c
}
