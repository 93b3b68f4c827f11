// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// spy records the results of plugins while upstream schedules a pod. It wraps each plugin of the
// framework, without any effect on them.
type spy struct {
	preFilter []pluginVerdict
	limit     *fwk.PreFilterResult // the nodes that can be feasible; nil: all
	order     []string
	verdicts  map[string]nodeVerdict
	scores    map[string]*spiedScores // by plugin
}

type spiedScores struct {
	raw        map[string]int64
	normalized map[string]int64 // nil: the plugin does not normalise
}

func (s *spy) reset() {
	*s = spy{verdicts: map[string]nodeVerdict{}, scores: map[string]*spiedScores{}}
}

func reasonsOf(s *fwk.Status) []string {
	if s.IsSuccess() {
		return nil
	}
	return s.Reasons()
}

func verdictOf(plugin string, s *fwk.Status) pluginVerdict {
	return pluginVerdict{plugin, s.Code().String(), reasonsOf(s)}
}

type spiedPreFilter struct {
	fwk.PreFilterPlugin
	spy *spy
}

func (p *spiedPreFilter) PreFilter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod,
	nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	result, status := p.PreFilterPlugin.PreFilter(ctx, state, pod, nodes)
	p.spy.preFilter = append(p.spy.preFilter, verdictOf(p.Name(), status))
	if status.IsSuccess() {
		p.spy.limit = p.spy.limit.Merge(result)
	}
	return result, status
}

type spiedFilter struct {
	fwk.FilterPlugin
	spy *spy
}

func (p *spiedFilter) Filter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod,
	node fwk.NodeInfo) *fwk.Status {
	status := p.FilterPlugin.Filter(ctx, state, pod, node)
	if !status.IsSuccess() {
		name := node.Node().Name
		p.spy.verdicts[name] = nodeVerdict{name, status.Code().String(), p.Name(), reasonsOf(status)}
	}
	return status
}

// A doorkeeper is the first of all filters: it sees every evaluated node.
type doorkeeper struct{ spy *spy }

func (d *doorkeeper) Name() string { return "Doorkeeper" }

func (d *doorkeeper) Filter(_ context.Context, _ fwk.CycleState, _ *corev1.Pod,
	node fwk.NodeInfo) *fwk.Status {
	name := node.Node().Name
	// With nominated pods a node is evaluated twice; the last verdict counts.
	if _, again := d.spy.verdicts[name]; again {
		d.spy.order = slices.DeleteFunc(d.spy.order, func(n string) bool { return n == name })
	}
	d.spy.order = append(d.spy.order, name)
	d.spy.verdicts[name] = nodeVerdict{Name: name, Code: fwk.Success.String()}
	return nil
}

type spiedScore struct {
	fwk.ScorePlugin
	spy *spy
}

func (p *spiedScore) scores() *spiedScores {
	s := p.spy.scores[p.Name()]
	if s == nil {
		s = &spiedScores{raw: map[string]int64{}}
		p.spy.scores[p.Name()] = s
	}
	return s
}

func (p *spiedScore) Score(ctx context.Context, state fwk.CycleState, pod *corev1.Pod,
	node fwk.NodeInfo) (int64, *fwk.Status) {
	score, status := p.ScorePlugin.Score(ctx, state, pod, node)
	p.scores().raw[node.Node().Name] = score
	return score, status
}

func (p *spiedScore) ScoreExtensions() fwk.ScoreExtensions {
	if p.ScorePlugin.ScoreExtensions() == nil {
		return nil
	}
	return &spiedNormalize{p.ScorePlugin.ScoreExtensions(), p}
}

type spiedNormalize struct {
	fwk.ScoreExtensions
	plugin *spiedScore
}

func (n *spiedNormalize) NormalizeScore(ctx context.Context, state fwk.CycleState, pod *corev1.Pod,
	scores fwk.NodeScoreList) *fwk.Status {
	status := n.ScoreExtensions.NormalizeScore(ctx, state, pod, scores)
	s := n.plugin.scores()
	s.normalized = map[string]int64{}
	for _, score := range scores {
		s.normalized[score.Name] = score.Score
	}
	return status
}

// ---- a profile ---------------------------------------------------------------------------------

type spiedProfile struct {
	framework framework.Framework
	spy       *spy
	filters   []fwk.FilterPlugin // the original plugins
	scorers   []string
	weights   map[string]int

	preemption *preemptionSpy // nil: none
}

func spyOn(f framework.Framework) *spiedProfile {
	p := &spiedProfile{framework: f, spy: &spy{}, weights: *member[map[string]int](f, "scorePluginWeight"),
		preemption: spyOnPreemption(f)}
	preFilters := *member[[]fwk.PreFilterPlugin](f, "preFilterPlugins")
	for i, plugin := range preFilters {
		preFilters[i] = &spiedPreFilter{plugin, p.spy}
	}
	filters := member[[]fwk.FilterPlugin](f, "filterPlugins")
	p.filters = *filters
	if len(p.filters) > 0 {
		spied := []fwk.FilterPlugin{&doorkeeper{p.spy}}
		for _, plugin := range p.filters {
			spied = append(spied, &spiedFilter{plugin, p.spy})
		}
		*filters = spied
	}
	scorers := *member[[]fwk.ScorePlugin](f, "scorePlugins")
	for i, plugin := range scorers {
		p.scorers = append(p.scorers, plugin.Name())
		scorers[i] = &spiedScore{plugin, p.spy}
	}
	return p
}

// report describes an attempt that started with the node of index start.
func (p *spiedProfile) report(r *run, pod *corev1.Pod, state fwk.CycleState, start int,
	result scheduler.ScheduleResult, err error) *attempt {
	a := &attempt{
		Namespace: pod.Namespace, Pod: pod.Name, UID: string(pod.UID), Attempt: 1,
		Profile: p.framework.ProfileName(), Node: result.SuggestedHost,
		PreFilter: p.spy.preFilter, anyOrder: !p.spy.limit.AllNodes(),
	}
	a.Outcome, a.Message = outcomeOf(err)
	nodes, listErr := r.snapshot.NodeInfos().List()
	if listErr != nil {
		panic(listErr)
	}
	if len(nodes) == 0 {
		return a
	}
	a.AllNodes = len(nodes)
	if p.passedPreFilter() {
		a.Filters = p.survey(r.ctx, state, pod, nodes)
	}
	if a.Outcome != "scheduled" || len(p.spy.order) > 1 {
		p.dropNominated(pod.Status.NominatedNodeName, nodes[start%len(nodes)].Node().Name)
	}
	p.fillNodes(a, result)
	p.fillScores(a)
	return a
}

func outcomeOf(err error) (string, string) {
	var fit *framework.FitError
	switch {
	case err == nil:
		return "scheduled", ""
	case errors.As(err, &fit), errors.Is(err, scheduler.ErrNoNodesAvailable):
		return "unschedulable", err.Error()
	}
	return "error", err.Error()
}

func (p *spiedProfile) passedPreFilter() bool {
	for _, v := range p.spy.preFilter {
		if v.Code != "Success" && v.Code != "Skip" {
			return false
		}
	}
	return true
}

// survey calls every filter plugin for every node.
func (p *spiedProfile) survey(ctx context.Context, state fwk.CycleState, pod *corev1.Pod,
	nodes []fwk.NodeInfo) survey {
	s := survey{}
	var asked []fwk.FilterPlugin
	for _, plugin := range p.filters {
		if !state.GetSkipFilterPlugins().Has(plugin.Name()) {
			asked = append(asked, plugin)
			s.Asked = append(s.Asked, plugin.Name())
		}
	}
	for _, node := range nodes {
		n := surveyNode{Name: node.Node().Name}
		for _, plugin := range asked {
			if status := plugin.Filter(ctx, state, pod, node); !status.IsSuccess() {
				n.Refused = append(n.Refused, verdictOf(plugin.Name(), status))
			}
		}
		s.Nodes = append(s.Nodes, n)
	}
	return s
}

// dropNominated: the nominated node is evaluated before all others. If it does not fit it may
// be evaluated again among them.
func (p *spiedProfile) dropNominated(nominated, first string) {
	s := p.spy
	if nominated == "" || len(s.order) == 0 || s.order[0] != nominated {
		return
	}
	if s.limit.AllNodes() && first != nominated || !s.limit.AllNodes() && !s.limit.NodeNames.Has(nominated) {
		s.order = s.order[1:]
	}
}

// fillNodes reports the evaluated nodes. Upstream stops only when it has found one node more than
// it wants; that one is not reported.
func (p *spiedProfile) fillNodes(a *attempt, result scheduler.ScheduleResult) {
	passed := 0
	for _, name := range p.spy.order {
		v := p.spy.verdicts[name]
		if v.Code == "Success" {
			if passed++; a.Outcome == "scheduled" && passed > result.FeasibleNodes {
				return
			}
			a.Feasible = append(a.Feasible, nodeScores{Name: name})
		}
		a.Nodes = append(a.Nodes, v)
	}
}

func (p *spiedProfile) fillScores(a *attempt) {
	if a.Outcome != "scheduled" {
		return
	}
	for i := range a.Feasible {
		n := &a.Feasible[i]
		for _, plugin := range p.scorers {
			s := p.spy.scores[plugin]
			if s == nil {
				continue
			}
			score := pluginScore{Name: plugin, Raw: s.raw[n.Name], Weight: int64(p.weights[plugin])}
			score.Normalized = score.Raw
			if s.normalized != nil {
				score.Normalized = s.normalized[n.Name]
			}
			score.Weighted = score.Normalized * score.Weight
			n.Total += score.Weighted
			n.Plugins = append(n.Plugins, score)
		}
	}
}
