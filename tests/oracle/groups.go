// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// groupGates are required by groups, or disable upstream's shortcuts.
const groupGates = "GenericWorkload=true,GangScheduling=true,OpportunisticBatching=false"

// Upstream breaks ties between placements, or candidates, at random: it is asked this many times
// before a difference counts.
const groupLots = 30

// A groupOutcome is the result of the group's first attempt.
type groupOutcome struct {
	Placed   map[string]string // member to node
	Messages map[string]string // of unplaced members
	Victims  []string          // sorted by name; a victim of two members occurs twice
}

func newGroupOutcome() *groupOutcome {
	return &groupOutcome{Placed: map[string]string{}, Messages: map[string]string{}}
}

func (o *groupOutcome) equal(p *groupOutcome) bool {
	return maps.Equal(o.Placed, p.Placed) && maps.Equal(o.Messages, p.Messages) && slices.Equal(o.Victims, p.Victims)
}

func (o *groupOutcome) String() string {
	text, _ := json.MarshalIndent(o, "    ", "  ")
	return string(text)
}

// ---- upstream --------------------------------------------------------------------------------------

// A groupServer is the API server: it records the requests without executing them.
type groupServer struct {
	*fake.Clientset
	mu  sync.Mutex
	out *groupOutcome
}

func newGroupServer() *groupServer {
	s := &groupServer{Clientset: fake.NewSimpleClientset(), out: newGroupOutcome()}
	s.PrependReactor("create", "pods", s.bind)
	s.PrependReactor("delete", "pods", s.delete)
	s.PrependReactor("patch", "pods", s.patch)
	return s
}

func (s *groupServer) bind(a clienttesting.Action) (bool, runtime.Object, error) {
	b, ok := a.(clienttesting.CreateAction).GetObject().(*corev1.Binding)
	if !ok {
		return false, nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.Placed[b.Name] = b.Target.Name
	return true, b, nil
}

func (s *groupServer) delete(a clienttesting.Action) (bool, runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.Victims = append(s.out.Victims, a.(clienttesting.DeleteAction).GetName())
	return true, nil, nil
}

func (s *groupServer) patch(a clienttesting.Action) (bool, runtime.Object, error) {
	p := a.(clienttesting.PatchAction)
	var body struct{ Status corev1.PodStatus }
	if err := json.Unmarshal(p.GetPatch(), &body); err != nil {
		return true, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range body.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			s.out.Messages[p.GetName()] = c.Message
		}
	}
	return true, &corev1.Pod{}, nil
}

func (s *groupServer) take() *groupOutcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.out.Victims)
	return &groupOutcome{Placed: maps.Clone(s.out.Placed), Messages: maps.Clone(s.out.Messages),
		Victims: slices.Clone(s.out.Victims)}
}

// settle waits for bindings and evictions, which are asynchronous.
func (s *groupServer) settle() *groupOutcome {
	last := s.take()
	for same := 0; same < 12; same++ {
		time.Sleep(500 * time.Microsecond)
		if now := s.take(); !now.equal(last) {
			last, same = now, 0
		}
	}
	return last
}

func create[T any](ctx context.Context, list []T, one func(context.Context, T, metav1.CreateOptions) (T, error)) error {
	for _, o := range list {
		if _, err := one(ctx, o, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func waitFor(done func() bool) error {
	for range 40_000 {
		if done() {
			return nil
		}
		time.Sleep(50 * time.Microsecond)
	}
	return errors.New("what was created does not arrive")
}

// load creates all objects, in their order, and waits until the scheduler has them.
func (s *groupServer) load(ctx context.Context, c *groupCase, sched *scheduler.Scheduler, factory informers.SharedInformerFactory) error {
	pods := s.CoreV1().Pods("default")
	if err := errors.Join(create(ctx, c.nodes, s.CoreV1().Nodes().Create),
		create(ctx, c.groups, s.SchedulingV1alpha2().PodGroups("default").Create),
		create(ctx, c.budgets, s.PolicyV1().PodDisruptionBudgets("default").Create)); err != nil {
		return err
	}
	groups := factory.Scheduling().V1alpha2().PodGroups().Lister()
	budgets := factory.Policy().V1().PodDisruptionBudgets().Lister()
	if err := waitFor(func() bool {
		g, _ := groups.List(labels.Everything())
		b, _ := budgets.List(labels.Everything())
		return len(g) == len(c.groups) && len(b) == len(c.budgets) && sched.Cache.NodeCount() == len(c.nodes)
	}); err != nil {
		return err
	}
	if err := errors.Join(create(ctx, c.there, pods.Create), create(ctx, c.members, pods.Create),
		create(ctx, c.others, pods.Create)); err != nil {
		return err
	}
	return waitFor(func() bool {
		n, _ := sched.Cache.PodCount()
		return n == len(c.there) && len(sched.SchedulingQueue.PodsInActiveQ()) == len(c.members)+len(c.others)
	})
}

func (c *groupCase) runUpstream() (*groupOutcome, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	server := newGroupServer()
	factory := scheduler.NewInformerFactory(server, 0)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: server.EventsV1()})
	sched, err := scheduler.New(ctx, server, factory, nil, profile.NewRecorderFactory(broadcaster))
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if err := sched.WaitForHandlersSync(ctx); err != nil {
		return nil, err
	}
	if err := server.load(ctx, c, sched, factory); err != nil {
		return nil, err
	}
	sched.ScheduleOne(ctx)
	return server.settle(), nil
}

// ---- berth -----------------------------------------------------------------------------------------

func (c *groupCase) list() []byte {
	items := slices.Concat(anys(c.nodes), anys(c.groups), anys(c.budgets), anys(c.there), anys(c.members), anys(c.others))
	text, err := json.MarshalIndent(tree{"apiVersion": "v1", "kind": "List", "items": items}, "", "  ")
	if err != nil {
		panic(err)
	}
	return text
}

// runBerth reads the two tables: placed pods and reasons; and victims with their nodes and
// preemptors.
func (c *groupCase) runBerth(b *berth) (*groupOutcome, error) {
	text, err := b.exec([]string{"simulate", "--controllers=false", "--attempts=1", "--feature-gates=" + b.gates, "-"}, c.list())
	if err != nil {
		return nil, err
	}
	out := newGroupOutcome()
	tables := strings.SplitN(string(text), "\nPREEMPTED ", 2)
	for _, line := range strings.Split(tables[0], "\n") {
		name, rest, _ := strings.Cut(strings.TrimPrefix(line, "default/"), " ")
		node, message, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if !strings.HasPrefix(line, "default/g") {
			continue
		} else if node != "-" {
			out.Placed[name] = node
		} else {
			out.Messages[name] = strings.TrimSpace(message)
		}
	}
	for _, line := range strings.Split(strings.Join(tables[1:], ""), "\n") {
		if f := strings.Fields(line); len(f) == 3 && strings.HasPrefix(f[0], "default/") && !strings.HasPrefix(f[2], "default/x") {
			out.Victims = append(out.Victims, strings.TrimPrefix(f[0], "default/"))
		}
	}
	if len(out.Placed) > 0 {
		out.Victims = nil // of a later attempt: if some are placed, nothing is evicted
	}
	slices.Sort(out.Victims)
	return out, c.firstMessages(b, out)
}

// firstMessages replaces the messages by those of each pod's first attempt: GangScheduling may activate a member that
// failed before the members that did not are bound, so that the table shows its second attempt.
func (c *groupCase) firstMessages(b *berth, out *groupOutcome) error {
	text, err := b.exec([]string{"simulate", "--controllers=false", "--attempts=1", "--explain", "--output=json", "--feature-gates=" + b.gates, "-"}, c.list())
	if err != nil {
		return err
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var attempt struct {
			Pod, Message string
			Attempt      int
		}
		if err := json.Unmarshal([]byte(line), &attempt); err != nil {
			return err
		}
		if _, failed := out.Messages[attempt.Pod]; failed && attempt.Attempt == 1 {
			out.Messages[attempt.Pod] = attempt.Message
		}
	}
	return nil
}

// ---- both ------------------------------------------------------------------------------------------

// differ describes how berth and upstream differ; empty: they do not.
func (c *groupCase) differ(b *berth) (string, *groupOutcome, error) {
	theirs, err := c.runBerth(b)
	if err != nil {
		return "", nil, err
	}
	var ours *groupOutcome
	for range groupLots {
		if ours, err = c.runUpstream(); err != nil {
			return "", nil, fmt.Errorf("upstream: %w", err)
		}
		if ours.equal(theirs) {
			return "", ours, nil
		}
	}
	return fmt.Sprintf("  upstream  %s\n  berth     %s", ours, theirs), ours, nil
}

// runGroups compares the first attempts of groups.
func runGroups(o *options) int {
	b := &berth{program: o.program, gates: o.gates}
	placed, preempting, failed := 0, 0, 0
	for seed := o.seed; seed < o.seed+uint64(o.cases) && failed < o.failures; seed++ {
		c := generateGroup(seed)
		how, outcome, err := c.differ(b)
		if err != nil || how != "" {
			failed++
			fmt.Printf("not ok - group, seed %d\n%s\n", seed, how)
			if err != nil {
				fmt.Println(" ", err)
			}
			if o.save != "" {
				_ = os.WriteFile(fmt.Sprintf("%s/group-%d.json", o.save, seed), c.list(), 0o600)
			}
			continue
		}
		if len(outcome.Placed) > 0 {
			placed++
		}
		if len(outcome.Victims) > 0 {
			preempting++
		}
	}
	if failed > 0 {
		return 1
	}
	fmt.Printf("ok - %d groups from seed %d on with %s: %d placed, %d with victims\n", o.cases, o.seed, o.gates, placed, preempting)
	return 0
}
