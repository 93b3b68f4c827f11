// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// A preemptionSpy sits between DefaultPreemption's evaluator and the plugin. It records the
// results, and where upstream chooses at random (the start node, the last of several ties) it uses
// the other side's choice if that is among those that upstream could have made.
type preemptionSpy struct {
	preemption.Interface
	plugin *defaultpreemption.DefaultPreemption
	judge  *preemption.Evaluator // without interference

	wish   *postFilter // the other side's result for this attempt; nil: none
	found  map[string]*extenderv1.Victims
	offset int
	limit  int    // candidates wanted
	within int    // potential nodes
	rule   string // that decided the node
	wrong  string

	mu      sync.Mutex // the rest is written by the goroutines that delete pods
	deleted []*corev1.Pod
	cleared []string
}

func spyOnPreemption(f framework.Framework) *preemptionSpy {
	for _, p := range *member[[]fwk.PostFilterPlugin](f, "postFilterPlugins") {
		if plugin, ok := p.(*defaultpreemption.DefaultPreemption); ok {
			s := &preemptionSpy{Interface: plugin.Evaluator.Interface, plugin: plugin}
			s.judge = preemption.NewEvaluator(defaultpreemption.Name, plugin.Evaluator.Handler, plugin, plugin.Executor)
			plugin.Evaluator.Interface = s
			plugin.Executor.PreemptPod = s.preemptPod
			return s
		}
	}
	return nil
}

func (s *preemptionSpy) reset(wish *postFilter) {
	s.wish, s.found, s.offset, s.limit, s.within = wish, map[string]*extenderv1.Victims{}, 0, 0, 0
	s.rule, s.wrong, s.deleted, s.cleared = "", "", nil, nil
}

func (s *preemptionSpy) GetOffsetAndNumCandidates(nodes int32) (int32, int32) {
	offset, limit := s.Interface.GetOffsetAndNumCandidates(nodes)
	if s.wish != nil && s.wish.Offset >= 0 && s.wish.Offset < int(nodes) {
		offset = int32(s.wish.Offset)
	}
	s.offset, s.limit, s.within = int(offset), int(limit), int(nodes)
	return offset, limit
}

func (s *preemptionSpy) SelectVictimsOnNode(ctx context.Context, state fwk.CycleState, pod *corev1.Pod,
	node fwk.NodeInfo, budgets []*policyv1.PodDisruptionBudget) ([]*corev1.Pod, int, *fwk.Status) {
	victims, violations, status := s.Interface.SelectVictimsOnNode(ctx, state, pod, node, budgets)
	if status.IsSuccess() && len(victims) > 0 {
		s.found[node.Node().Name] = &extenderv1.Victims{Pods: victims, NumPDBViolations: int64(violations)}
	}
	return victims, violations, status
}

// CandidatesToVictimsMap is called before one of several candidates is picked: the choice is made
// here.
func (s *preemptionSpy) CandidatesToVictimsMap(candidates []preemption.Candidate) map[string]*extenderv1.Victims {
	all := s.Interface.CandidatesToVictimsMap(candidates)
	best, rule := bestCandidates(all)
	s.rule = rule
	if picked := s.judge.SelectCandidate(context.Background(), candidates).Name(); !slices.Contains(best, picked) {
		s.wrong = fmt.Sprintf("upstream picks %s, the oracle holds any of %v for right", picked, best)
	}
	choice := best[0]
	if s.wish != nil && slices.Contains(best, s.wish.NominatedNode) {
		choice = s.wish.NominatedNode
	}
	return map[string]*extenderv1.Victims{choice: all[choice]}
}

func (s *preemptionSpy) preemptPod(_ context.Context, _ preemption.Candidate, _ preemption.ExecutorPreemptor,
	victim *corev1.Pod, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deleted = append(s.deleted, victim)
	return nil
}

// wait waits until the victims are deleted, which happens in the background by default.
func (s *preemptionSpy) wait(pod *corev1.Pod) error {
	for range 100_000 {
		if !s.plugin.Executor.IsPodRunningPreemption(pod.UID) {
			return nil
		}
		time.Sleep(20 * time.Microsecond)
	}
	return errors.New("the preemption does not end")
}

// candidates counts the candidates of both lists, each of which is limited.
func (s *preemptionSpy) candidates() int {
	clean, violating := 0, 0
	for _, v := range s.found {
		if v.NumPDBViolations == 0 {
			clean++
		} else {
			violating++
		}
	}
	return min(clean, s.limit) + min(violating, s.limit)
}

func fullName(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

func (s *preemptionSpy) report(result *fwk.PostFilterResult, status *fwk.Status) *postFilter {
	p := &postFilter{Plugin: defaultpreemption.Name, Code: status.Code().String(), Reasons: reasonsOf(status),
		Candidates: s.candidates(), Offset: s.offset, cleared: s.cleared, rule: s.rule, within: s.within, limit: s.limit,
		deleted: len(s.deleted)}
	if result == nil || result.NominatingInfo == nil || result.NominatedNodeName == "" {
		return p
	}
	p.NominatedNode = result.NominatedNodeName
	victims := s.found[p.NominatedNode]
	p.PDBViolations = victims.NumPDBViolations
	for _, v := range victims.Pods {
		p.Victims = append(p.Victims, fullName(v))
	}
	return p
}

// ---- the rules ---------------------------------------------------------------------------------

// now replaces the start time of a pod that has not started: upstream reads the clock every time.
const now = math.MaxInt64

func startOf(pod *corev1.Pod) int64 {
	if pod.Status.StartTime == nil {
		return now
	}
	return pod.Status.StartTime.UnixNano()
}

var candidateRules = []struct {
	name  string
	worth func(v *extenderv1.Victims) int64 // the least is best
}{
	{"violations", func(v *extenderv1.Victims) int64 { return v.NumPDBViolations }},
	{"highest priority", func(v *extenderv1.Victims) int64 { return int64(corev1helpers.PodPriority(v.Pods[0])) }},
	{"sum of priorities", func(v *extenderv1.Victims) (sum int64) {
		for _, p := range v.Pods {
			sum += int64(corev1helpers.PodPriority(p)) + math.MaxInt32 + 1
		}
		return sum
	}},
	{"number of victims", func(v *extenderv1.Victims) int64 { return int64(len(v.Pods)) }},
	{"start time", func(v *extenderv1.Victims) int64 {
		highest, earliest := int32(math.MinInt32), int64(now)
		for _, p := range v.Pods {
			highest = max(highest, corev1helpers.PodPriority(p))
		}
		for _, p := range v.Pods {
			if corev1helpers.PodPriority(p) == highest {
				earliest = min(earliest, startOf(p))
			}
		}
		return -earliest
	}},
}

// bestCandidates returns the nodes that upstream may pick, sorted by name, and the rule that left
// no others.
func bestCandidates(all map[string]*extenderv1.Victims) ([]string, string) {
	var names []string
	for name := range all {
		names = append(names, name)
	}
	sort.Strings(names)
	if len(names) == 1 {
		return names, "one candidate"
	}
	for _, rule := range candidateRules {
		best := int64(math.MaxInt64)
		for _, n := range names {
			best = min(best, rule.worth(all[n]))
		}
		names = slices.DeleteFunc(names, func(n string) bool { return rule.worth(all[n]) != best })
		if len(names) == 1 {
			return names, rule.name
		}
	}
	return names, "first of equals"
}

// inOrder returns nodes in the order of the snapshot, where upstream iterates over a map.
type inOrder struct{ *framework.NodeToStatus }

func (s inOrder) NodesForStatusCode(nodes fwk.NodeInfoLister, code fwk.Code) ([]fwk.NodeInfo, error) {
	wanted, err := s.NodeToStatus.NodesForStatusCode(nodes, code)
	if err != nil {
		return nil, err
	}
	all, err := nodes.List()
	return slices.DeleteFunc(slices.Clone(all), func(n fwk.NodeInfo) bool {
		return !slices.ContainsFunc(wanted, func(w fwk.NodeInfo) bool { return w.Node().Name == n.Node().Name })
	}), err
}

// ---- after a failed attempt --------------------------------------------------------------------

// watchPatches: the patches of pods are those that clear the nominations of lower pods.
func watchPatches(client *fake.Clientset, current func() *preemptionSpy) {
	client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch := action.(clienttesting.PatchAction)
		s := current()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cleared = append(s.cleared, patch.GetNamespace()+"/"+patch.GetName())
		return true, &corev1.Pod{}, nil
	})
}

// fail does what upstream does with an unschedulable pod: it calls PostFilter, and requeues the pod
// with its nomination. Its API requests are executed at once.
func (r *run) fail(p *spiedProfile, info *framework.QueuedPodInfo, state fwk.CycleState, a *attempt, err error) error {
	nomination := &fwk.NominatingInfo{NominatingMode: fwk.ModeOverride}
	info.ClearRejectorPlugins()
	var fit *framework.FitError
	if errors.As(err, &fit) {
		info.UnschedulablePlugins, info.PendingPlugins = fit.Diagnosis.UnschedulablePlugins, fit.Diagnosis.PendingPlugins
		if p.framework.HasPostFilterPlugins() {
			result, status := p.framework.RunPostFilterPlugins(r.ctx, state, info.Pod, inOrder{fit.Diagnosis.NodeToStatus})
			fit.Diagnosis.PostFilterMsg = status.Message()
			nomination = nil
			if result != nil {
				nomination = result.NominatingInfo
			}
			if err := p.preemption.wait(info.Pod); err != nil {
				return err
			}
			a.PostFilter, a.Message = p.preemption.report(result, status), err.Error()
			if anyClaim(state, info.Pod) || r.freesHeld() {
				a.last, r.ended = true, true
			}
			if p.preemption.wrong != "" {
				return errors.New(p.preemption.wrong)
			}
		}
	}
	if err := r.queue.AddUnschedulableIfNotPresent(r.logger, info, r.queue.SchedulingCycle()); err != nil {
		return err
	}
	r.queue.AddNominatedPod(r.logger, info.PodInfo, nomination)
	if nomination.Mode() == fwk.ModeOverride {
		r.nominate(info.Pod, nomination.NominatedNodeName)
	}
	if err := r.applyClaims(); err != nil {
		return err
	}
	return r.makeRoom(p.preemption)
}

func (r *run) makeRoom(s *preemptionSpy) error {
	if s == nil {
		return nil
	}
	for _, name := range s.cleared {
		if pod, ok := r.known["*v1.Pod "+name].(*corev1.Pod); ok {
			r.nominate(pod, "")
		}
	}
	for _, victim := range s.deleted {
		if err := r.change(victim, nil); err != nil {
			return err
		}
	}
	return nil
}

// nominate delivers the update of a pod's nomination.
func (r *run) nominate(pod *corev1.Pod, node string) {
	before, ok := r.known[keyOf(pod)].(*corev1.Pod)
	if !ok || before.Status.NominatedNodeName == node || before.Spec.NodeName != "" {
		return
	}
	after := before.DeepCopy()
	after.Status.NominatedNodeName = node
	r.known[keyOf(pod)] = after
	if err := r.store(after).Update(after); err != nil {
		panic(err)
	}
	r.queue.Update(r.ctx, before, after)
	if before.Status.NominatedNodeName != "" {
		r.queue.MoveAllToActiveOrBackoffQueue(r.logger, framework.EventAssignedPodDelete, before, nil, func(other *corev1.Pod) bool {
			return corev1helpers.PodPriority(other) <= corev1helpers.PodPriority(before)
		})
	}
}
