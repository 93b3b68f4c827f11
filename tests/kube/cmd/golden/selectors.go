// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

var (
	// Some keys and values are there more than once, so that random selectors match often enough.
	labelKeys = []string{
		"app", "app", "app", "tier", "tier", "zone", "gen", "kubernetes.io/hostname",
		"topology.kubernetes.io/zone", "a.b.c/d_e-f.g",
	}
	labelValues = []string{"", "a", "a", "a", "a", "b", "b", "b", "web", "eu-1", "10", "007", "A_b-c.d"}
	numbers     = []string{
		"0", "1", "2", "5", "10", "007", "-3", "+5", "100", "9223372036854775807", "-9223372036854775808",
		"9223372036854775808", "", "1.5", "1e3", "x", " 1", "0x10", "1_000", "-0", "+0", "00", "-01",
	}
	badKeys   = []string{"", "-a", "a/", "/a", "a/b/c", "a b", "Ünicode", "A.B/c", strings.Repeat("k", 64), "ex_ample/x"}
	badValues = []string{"-a", "a-", "a b", "a/b", "ü", strings.Repeat("v", 64)}
	nodeNames = []string{"n1", "n2", "node-10", "eu-1"}
)

// matchRow is what a selector says about some labels (or, for a field selector, fields).
type matchRow struct {
	Labels map[string]string `json:"labels"`
	Match  bool              `json:"match"`
}

type selectorRow struct {
	Selector *metav1.LabelSelector `json:"selector"`
	Err      string                `json:"err,omitempty"`
	String   string                `json:"string"`
	Cases    []matchRow            `json:"cases,omitempty"`
}

type stringRow struct {
	In           string           `json:"in"`
	Err          string           `json:"err,omitempty"`
	String       string           `json:"string"`
	Empty        bool             `json:"empty"`
	Requirements []requirementRow `json:"requirements,omitempty"`
	Cases        []matchRow       `json:"cases,omitempty"`
}

type requirementRow struct {
	Key    string   `json:"key"`
	Op     string   `json:"op"`
	Values []string `json:"values"`
}

// nodeCase is what is said about one node. Err is what matching reports, which is more lenient than
// what parsing reports: a term that matches hides the errors of the others.
type nodeCase struct {
	Node  int    `json:"node"` // index into "nodes"
	Match bool   `json:"match"`
	Err   string `json:"err,omitempty"`
}

type nodeSelectorRow struct {
	Selector *v1.NodeSelector `json:"selector"`
	ParseErr string           `json:"parseErr,omitempty"`
	Cases    []nodeCase       `json:"cases"`
}

type affinityRow struct {
	Spec  specPart   `json:"spec"`
	Cases []nodeCase `json:"cases"`
}

// specPart holds the fields of a PodSpec that choose nodes.
type specPart struct {
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	Affinity     *v1.Affinity      `json:"affinity,omitempty"`
}

type preferredRow struct {
	Terms  []v1.PreferredSchedulingTerm `json:"terms"`
	Err    string                       `json:"err,omitempty"`
	Scores []int64                      `json:"scores,omitempty"` // one for each of "nodes"
}

// tolerationRow: On[i][j] tells whether toleration i tolerates taint j with the comparison operators
// enabled, Off the same with them disabled. FirstOn and FirstOff are the indices of the first taint
// that none of them tolerates and that keeps pods from being scheduled (or -1).
type tolerationRow struct {
	Tolerations []v1.Toleration `json:"tolerations"`
	Taints      []v1.Taint      `json:"taints"`
	On          [][]bool        `json:"on"`
	Off         [][]bool        `json:"off"`
	FirstOn     int             `json:"firstOn"`
	FirstOff    int             `json:"firstOff"`
}

func selectors(r *random) table {
	nodes := section{name: "nodes"}
	var all []*v1.Node
	for i := range 24 {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: pick(r, nodeNames), Labels: randomLabels(r)}}
		if i == 0 {
			n.Name, n.Labels = "", nil
		}
		all = append(all, n)
		nodes.add(map[string]any{"metadata": n.ObjectMeta})
	}
	return table{
		labelSelectors(r), labelStrings(r), fieldStrings(r),
		nodes, nodeSelectors(r, all), nodeAffinities(r, all), preferredTerms(r, all),
		tolerationRows(r),
	}
}

func randomLabels(r *random) map[string]string {
	m := map[string]string{}
	for range r.IntN(6) {
		k := pick(r, labelKeys)
		m[k] = pick(r, labelValues)
		if k == "gen" {
			m[k] = pick(r, []string{"1", "2", "5", "10", "007", "-3", "", "web", "9223372036854775807"})
		}
		if r.chance(20) {
			m["app"] = "a"
		}
	}
	return m
}

func labelCases(r *random, n int, match func(labels.Set) bool) []matchRow {
	var rows []matchRow
	for range n {
		l := randomLabels(r)
		rows = append(rows, matchRow{l, match(l)})
	}
	return rows
}

func someValues(r *random, n int) []string {
	var v []string
	for range n {
		v = append(v, pick(r, labelValues))
	}
	return v
}

// ---- label selectors -----------------------------------------------------------------------------

func labelSelectors(r *random) section {
	s := section{name: "labelSelectors"}
	add := func(in *metav1.LabelSelector) {
		row := selectorRow{Selector: in}
		sel, err := metav1.LabelSelectorAsSelector(in)
		if err != nil {
			row.Err = err.Error()
		} else {
			row.String = sel.String()
			row.Cases = labelCases(r, 6, func(l labels.Set) bool { return sel.Matches(l) })
		}
		s.add(row)
	}
	add(nil)
	add(&metav1.LabelSelector{})
	for range 400 {
		add(randomLabelSelector(r))
	}
	return s
}

func randomLabelSelector(r *random) *metav1.LabelSelector {
	in := &metav1.LabelSelector{}
	for range r.IntN(3) {
		if in.MatchLabels == nil {
			in.MatchLabels = map[string]string{}
		}
		in.MatchLabels[pick(r, labelKeys)] = pick(r, labelValues)
	}
	if r.chance(6) { // one only: of several, upstream reports any
		in.MatchLabels = map[string]string{"app": "a", pick(r, badKeys): "b"}
	} else if r.chance(6) {
		in.MatchLabels = map[string]string{"app": "a", "tier": pick(r, badValues)}
	}
	for range r.IntN(4) {
		e := metav1.LabelSelectorRequirement{Key: pick(r, labelKeys)}
		e.Operator = pick(r, []metav1.LabelSelectorOperator{"In", "In", "NotIn", "NotIn", "Exists", "DoesNotExist"})
		if e.Operator == "In" || e.Operator == "NotIn" {
			e.Values = someValues(r, r.between(1, 4))
		}
		switch r.IntN(40) {
		case 0:
			e.Operator = pick(r, []metav1.LabelSelectorOperator{"Gt", "", "in", "Equals", "!"})
		case 1:
			e.Values = nil
		case 2:
			e.Values = someValues(r, 1)
		case 3:
			e.Key = pick(r, badKeys)
		case 4:
			e.Values = []string{"a", pick(r, badValues)}
		}
		in.MatchExpressions = append(in.MatchExpressions, e)
	}
	return in
}

func labelStrings(r *random) section {
	s := section{name: "labelStrings"}
	add := func(in string) {
		row := stringRow{In: in}
		sel, err := labels.Parse(in)
		if err != nil {
			row.Err = err.Error()
		} else {
			row.String, row.Empty = sel.String(), sel.Empty()
			reqs, _ := sel.Requirements()
			for _, q := range reqs {
				row.Requirements = append(row.Requirements, requirementRow{q.Key(), string(q.Operator()), q.ValuesUnsorted()})
			}
			row.Cases = labelCases(r, 5, func(l labels.Set) bool { return sel.Matches(l) })
		}
		s.add(row)
	}
	for _, in := range []string{
		"", " ", ",", ",,", "app", "!app", "! app", "!", "!!app", "app=", "app==", "app!=", "app=a", "app==a", "app!=a",
		"app = a", " app=a ", "app=a,tier", "app=a,", ",app=a", "app=a,,tier=b", "app in (a)", "app in (a,b)",
		"app in ( a , b )", "app in(a)", "app in ()", "app in (,)", "app in (a,)", "app in (,a)", "app in (a,,b)", "app in",
		"app in (a", "app in a)", "app in ((a))", "app notin (a,b)", "app notin ()", "app not in (a)", "app in (in)", "in",
		"in in (in)", "notin", "notin notin (notin)", "in=in", "!in", "app=in", "app=notin", "app>1", "gen>1", "gen<5",
		"gen > 1", "gen>a", "gen>", "gen>-3", "gen>+5", "gen<9223372036854775808", "gen>1,gen<10", "gen=>1", "app=>a", "app===a",
		"app!==a", "app<>a", "app=a=b", "app=(a)", "(app=a)", "app=a)", "a b", "app=a tier=b", "app a", "app\tin\n(a)",
		"ü=a", "app=ü", "app=-a", "a/b/c=d", "app=a,!tier,zone in (eu-1),gen>1", "tier,app,zone", "app,app", "app=a,app=b",
		"app notin (a),app notin (b)", "x in (b,a,b)", "x in (),y", "app=\"a\"", "app='a'", "app=a;tier=b", "app&tier",
		"app in (a b)", "app=a,b=c,d", "example.com/role=a", "/a=b", "a/=b", "app =", "= a", "=", "!=", "!=a", "in (a)",
		"notin (a)", "app in (notin,in)", "!app=a", "!app in (a)", "!app,tier", "app=a\x00", "app>=1", "app<=1", "a.b.c/d_e-f.g",
	} {
		add(in)
	}
	for range 300 {
		var terms []string
		for range r.between(1, 4) {
			k := pick(r, labelKeys)
			v := pick(r, labelValues)
			values := strings.Join(someValues(r, r.between(1, 3)), pick(r, []string{",", ", ", " ,"}))
			switch r.IntN(9) {
			case 0:
				terms = append(terms, k)
			case 1:
				terms = append(terms, "!"+k)
			case 2:
				terms = append(terms, k+"="+v)
			case 3:
				terms = append(terms, k+"=="+v)
			case 4:
				terms = append(terms, k+"!="+v)
			case 5:
				terms = append(terms, k+" in ("+values+")")
			case 6:
				terms = append(terms, k+" notin ("+values+")")
			case 7:
				terms = append(terms, "gen"+pick(r, []string{">", "<", " > "})+pick(r, numbers))
			case 8:
				terms = append(terms, pick(r, badKeys)+"="+pick(r, badValues))
				if r.chance(70) {
					terms = terms[:len(terms)-1]
				}
			}
		}
		add(strings.Join(terms, pick(r, []string{",", ", ", " , "})))
	}
	return s
}

// ---- field selectors -----------------------------------------------------------------------------

func fieldStrings(r *random) section {
	s := section{name: "fieldStrings"}
	keys := []string{"metadata.name", "metadata.namespace", "spec.nodeName", "status.phase", "spec.schedulerName"}
	values := []string{"", "a", "b", "n1", "Running", "Failed", "a,b", "a=b", `a\b`, "x y"}
	set := func() fields.Set {
		m := fields.Set{}
		for range r.between(0, 5) {
			m[pick(r, keys)] = pick(r, values)
		}
		return m
	}
	add := func(in string) {
		row := stringRow{In: in}
		sel, err := fields.ParseSelector(in)
		if err != nil {
			row.Err = err.Error()
		} else {
			row.String, row.Empty = sel.String(), sel.Empty()
			for _, q := range sel.Requirements() {
				row.Requirements = append(row.Requirements, requirementRow{q.Field, string(q.Operator), []string{q.Value}})
			}
			for range 5 {
				l := set()
				row.Cases = append(row.Cases, matchRow{l, sel.Matches(l)})
			}
		}
		s.add(row)
	}
	for _, in := range []string{
		"", " ", ",", ",,", "a", "a=", "a==", "a!=", "a=b", "a==b", "a!=b", "a = b", "a=b,c=d", "a=b,", ",a=b", "a=b,,c=d",
		"=b", "==b", "!=b", "=", "a=b=c", "a=b==c", "a==b!=c", "a!==b", "a===b", `a=b\,c`, `a=b\=c`, `a=b\\c`, `a=b\c`, `a=b\`,
		`a\=b=c`, `a\,b=c`, "a in (b)", "!a", "a>1", "spec.nodeName=,status.phase!=Failed,status.phase!=Succeeded",
		"metadata.name=ü", "a=b c", "a=(b)", `a=\\`, `a=\\\\`, `a=\,\=`, "a!b", "a=!b", "a!=", "metadata.name=a,metadata.name!=a",
	} {
		add(in)
	}
	for range 250 {
		var terms []string
		for range r.between(1, 4) {
			v := pick(r, values)
			if r.chance(85) {
				v = fields.EscapeValue(v)
			}
			terms = append(terms, pick(r, keys)+pick(r, []string{"=", "==", "!="})+v)
		}
		add(strings.Join(terms, ","))
	}
	return s
}

// ---- nodes ---------------------------------------------------------------------------------------

func nodeSelectors(r *random, nodes []*v1.Node) section {
	s := section{name: "nodeSelectors"}
	add := func(in *v1.NodeSelector) {
		row := nodeSelectorRow{Selector: in}
		_, err := nodeaffinity.NewNodeSelector(in)
		row.ParseErr = errText(err)
		lazy := nodeaffinity.NewLazyErrorNodeSelector(in)
		for _, i := range append([]int{0}, r.Perm(len(nodes))[:6]...) {
			match, err := lazy.Match(nodes[i])
			row.Cases = append(row.Cases, nodeCase{i, match, errText(err)})
		}
		s.add(row)
	}
	add(&v1.NodeSelector{})
	add(&v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{}}})
	for range 450 {
		add(randomNodeSelector(r))
	}
	return s
}

func nodeAffinities(r *random, nodes []*v1.Node) section {
	s := section{name: "requiredNodeAffinity"}
	for range 200 {
		var spec specPart
		if r.chance(60) {
			spec.NodeSelector = randomLabels(r)
			for len(spec.NodeSelector) > 2 {
				spec.NodeSelector = randomLabels(r)
			}
		}
		if r.chance(80) {
			spec.Affinity = &v1.Affinity{}
			if r.chance(90) {
				spec.Affinity.NodeAffinity = &v1.NodeAffinity{}
				if r.chance(90) {
					spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = randomNodeSelector(r)
				}
			}
		}
		pod := &v1.Pod{Spec: v1.PodSpec{NodeSelector: spec.NodeSelector, Affinity: spec.Affinity}}
		required := nodeaffinity.GetRequiredNodeAffinity(pod)
		row := affinityRow{Spec: spec}
		for _, i := range r.Perm(len(nodes))[:8] {
			match, err := required.Match(nodes[i])
			row.Cases = append(row.Cases, nodeCase{i, match, errText(err)})
		}
		s.add(row)
	}
	return s
}

func preferredTerms(r *random, nodes []*v1.Node) section {
	s := section{name: "preferredNodeAffinity"}
	for range 350 {
		row := preferredRow{Terms: []v1.PreferredSchedulingTerm{}}
		for range r.IntN(5) {
			row.Terms = append(row.Terms, v1.PreferredSchedulingTerm{
				Weight:     int32(pick(r, []int{0, 1, 2, 5, 10, 50, 99, 100, -1})),
				Preference: randomNodeTerm(r),
			})
		}
		terms, err := nodeaffinity.NewPreferredSchedulingTerms(row.Terms)
		row.Err = errText(err)
		if err == nil {
			for _, n := range nodes {
				row.Scores = append(row.Scores, terms.Score(n))
			}
		}
		s.add(row)
	}
	return s
}

func randomNodeSelector(r *random) *v1.NodeSelector {
	in := &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{}}
	for range pick(r, []int{0, 1, 1, 1, 2, 2, 3}) {
		in.NodeSelectorTerms = append(in.NodeSelectorTerms, randomNodeTerm(r))
	}
	return in
}

func randomNodeTerm(r *random) v1.NodeSelectorTerm {
	var term v1.NodeSelectorTerm
	for range pick(r, []int{0, 1, 1, 1, 2, 3}) {
		term.MatchExpressions = append(term.MatchExpressions, randomNodeRequirement(r))
	}
	for range pick(r, []int{0, 0, 0, 1, 1, 2}) {
		e := v1.NodeSelectorRequirement{
			Key:      "metadata.name",
			Operator: pick(r, []v1.NodeSelectorOperator{"In", "In", "In", "NotIn"}),
			Values:   []string{pick(r, nodeNames)},
		}
		switch r.IntN(25) {
		case 0:
			e.Operator = pick(r, []v1.NodeSelectorOperator{"Exists", "Gt", "", "in"})
		case 1:
			e.Values = append(e.Values, pick(r, nodeNames))
		case 2:
			e.Values = nil
		case 3:
			e.Key = pick(r, []string{"metadata.namespace", "", "spec.unschedulable"})
		}
		term.MatchFields = append(term.MatchFields, e)
	}
	return term
}

func randomNodeRequirement(r *random) v1.NodeSelectorRequirement {
	e := v1.NodeSelectorRequirement{Key: pick(r, labelKeys)}
	e.Operator = pick(r, []v1.NodeSelectorOperator{"In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"})
	switch e.Operator {
	case "In", "NotIn":
		e.Values = someValues(r, r.between(1, 4))
	case "Gt", "Lt":
		e.Key = "gen"
		e.Values = []string{pick(r, []string{"0", "1", "2", "5", "10", "-3", "007"})}
		if r.chance(15) {
			e.Values = []string{pick(r, numbers)}
		}
	}
	switch r.IntN(40) {
	case 0:
		e.Operator = pick(r, []v1.NodeSelectorOperator{"", "in", "gt", "Equal", "Ge"})
	case 1:
		e.Values = nil
	case 2:
		e.Values = someValues(r, 2)
	case 3:
		e.Key = pick(r, badKeys)
	case 4:
		e.Values = []string{"a", pick(r, badValues)}
	}
	return e
}

// ---- taints --------------------------------------------------------------------------------------

func tolerationRows(r *random) section {
	s := section{name: "tolerations"}
	keys := []string{"a", "b", "example.com/gpu", "node.kubernetes.io/unschedulable"}
	values := []string{"", "x", "y", "true"}
	for range 500 {
		row := tolerationRow{Tolerations: []v1.Toleration{}, Taints: []v1.Taint{}}
		keys, numbers := keys, numbers
		operators := []v1.TolerationOperator{"", "Equal", "Exists", "Lt", "Gt"}
		numeric := r.chance(40)
		if numeric {
			keys, numbers = keys[:1], numbers[:8]
			operators = []v1.TolerationOperator{"Lt", "Gt", "Lt", "Gt", "Equal"}
		}
		for range r.between(0, 3) {
			t := v1.Toleration{
				Key:      pick(r, append(keys, "")),
				Operator: pick(r, operators),
				Value:    pick(r, values),
				Effect:   pick(r, []v1.TaintEffect{"", "", "NoSchedule", "PreferNoSchedule", "NoExecute"}),
			}
			if t.Operator == "Lt" || t.Operator == "Gt" {
				t.Value = pick(r, numbers)
				if r.chance(50) {
					t.Key = keys[0]
				}
			}
			if r.chance(3) {
				t.Operator = pick(r, []v1.TolerationOperator{"exists", "Ge", "In"})
			}
			if r.chance(10) {
				t.TolerationSeconds = ptr(int64(r.IntN(600)))
			}
			row.Tolerations = append(row.Tolerations, t)
		}
		for range r.between(1, 4) {
			t := v1.Taint{
				Key:    pick(r, keys),
				Value:  pick(r, values),
				Effect: pick(r, []v1.TaintEffect{"NoSchedule", "NoSchedule", "PreferNoSchedule", "NoExecute"}),
			}
			if numeric || r.chance(30) {
				t.Value = pick(r, numbers)
			}
			row.Taints = append(row.Taints, t)
		}
		row.On, row.FirstOn = tolerate(row.Tolerations, row.Taints, true)
		row.Off, row.FirstOff = tolerate(row.Tolerations, row.Taints, false)
		s.add(row)
	}
	return s
}

func tolerate(tolerations []v1.Toleration, taints []v1.Taint, comparison bool) (pairs [][]bool, first int) {
	quiet := klog.Logger{}
	pairs, first = [][]bool{}, -1
	for i := range tolerations {
		row := []bool{}
		for j := range taints {
			row = append(row, tolerations[i].ToleratesTaint(quiet, &taints[j], comparison))
		}
		pairs = append(pairs, row)
	}
	hard := func(t *v1.Taint) bool {
		return t.Effect == v1.TaintEffectNoSchedule || t.Effect == v1.TaintEffectNoExecute
	}
	taint, found := corev1helpers.FindMatchingUntoleratedTaint(quiet, taints, tolerations, hard, comparison)
	for j := 0; found && first < 0; j++ {
		if fmt.Sprint(taints[j]) == fmt.Sprint(taint) {
			first = j
		}
	}
	return pairs, first
}
