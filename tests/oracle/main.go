// SPDX-License-Identifier: Apache-2.0

// The oracle compares berth with kube-scheduler on random clusters. See README.md.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
)

type options struct {
	program  string
	cases    int
	seed     uint64
	workers  int
	failures int
	budget   int
	tap      bool
	plugins  string
	except   string
	save     string
	ignore   string
	print    bool
	csi      int
	hints    int
	full     bool
	volumes  bool
	devices  bool
	groups   bool
	gates    string
	coverage bool
	bench    int
	nodes    int
	runs     int
}

func main() {
	o := options{}
	flag.StringVar(&o.program, "berth", "build/berth", "the program under test")
	flag.IntVar(&o.cases, "cases", 2000, "number of random clusters")
	flag.Uint64Var(&o.seed, "seed", 0, "seed of the first cluster, incremented for each further one; 0: random")
	flag.IntVar(&o.workers, "workers", runtime.NumCPU(), "number of concurrent cases")
	flag.IntVar(&o.failures, "failures", 1, "stop after this many failures")
	flag.IntVar(&o.budget, "shrink", 3000, "maximal number of trials to shrink a failing case")
	flag.BoolVar(&o.tap, "tap", false, "write results as TAP")
	flag.StringVar(&o.plugins, "plugins", "", "comma-separated plugins to compare; default: all")
	flag.StringVar(&o.except, "except", "", "comma-separated plugins to leave out on both sides")
	flag.StringVar(&o.save, "save", "", "write failing cases into this folder")
	flag.StringVar(&o.ignore, "ignore", "", "comma-separated topics; a case whose first difference is in one of them passes")
	flag.StringVar(&o.gates, "feature-gates", "", "feature gates of both sides, as for kube-scheduler")
	flag.BoolVar(&o.full, "full", false, "all clusters are full, so that pods must preempt; otherwise every third is")
	flag.BoolVar(&o.volumes, "volumes", false, "all clusters have volumes, claims and storage classes")
	flag.BoolVar(&o.devices, "devices", false, "all clusters have devices, claims and device classes")
	flag.BoolVar(&o.groups, "groups", false, "compare only the first attempts of pod groups")
	flag.BoolVar(&o.print, "print", false, "print the case of -seed without running it")
	flag.IntVar(&o.csi, "translations", 0, "only print so many volumes and their translations to CSI")
	flag.IntVar(&o.hints, "hints", 0, "only print so many changes and the queueing hints of upstream's volume plugins")
	flag.BoolVar(&o.coverage, "coverage", false, "print what the cases covered")
	flag.IntVar(&o.bench, "bench", 0, "only measure this many preemptions")
	flag.IntVar(&o.nodes, "nodes", 5000, "nodes of the measured cluster")
	flag.IntVar(&o.runs, "runs", 3, "number of measurements")
	flag.Parse()
	klog.SetLogger(logr.Discard())
	if o.seed == 0 {
		o.seed = 1 + rand.Uint64N(1_000_000_000)
	}
	if o.hints > 0 {
		if err := writeHints(o.seed, o.hints); err != nil {
			fmt.Fprintln(os.Stderr, "oracle:", err)
			os.Exit(1)
		}
		return
	}
	if o.csi > 0 {
		writeTranslations(o.seed, o.csi)
		return
	}
	if o.print {
		os.Stdout.Write(encodeIndented(o.draw(o.seed)))
		return
	}
	if o.groups {
		o.gates = strings.TrimSuffix(groupGates+","+o.gates, ",")
	}
	if err := utilfeature.DefaultMutableFeatureGate.Set(o.gates); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(2)
	}
	allowAnyPool()
	if o.bench > 0 {
		os.Exit(runBench(&o))
	}
	if o.groups {
		os.Exit(runGroups(&o))
	}
	os.Exit(runAll(&o, flag.Args()))
}

func (o *options) isFull(seed uint64) bool { return o.full || seed%3 == 0 }

// A share of all cases has volumes.
func (o *options) hasVolumes(seed uint64) bool { return o.volumes || !o.devices && seed%8 == 5 }

func (o *options) draw(seed uint64) *testCase {
	if o.isFull(seed) {
		return generateFull(seed, o.hasVolumes(seed), o.devices)
	}
	return generate(seed, o.hasVolumes(seed), o.devices)
}

// ---- one pair of schedulers ----------------------------------------------------------------------

// A subject is what is compared with upstream: berth, or (-berth=upstream) upstream once more,
// which shows that the compared results are deterministic.
type subject interface {
	run(c *testCase) ([]*attempt, error)
	knows(plugin string) bool
}

type twin struct{ upstream *upstream }

func (t *twin) run(c *testCase) ([]*attempt, error) { return t.upstream.run(c, nil) }
func (t *twin) knows(string) bool                   { return true }

// A bench runs cases, one after the other.
type bench struct {
	berth    subject
	upstream *upstream
	known    map[string]bool // plugins that both sides have
}

// A verdict is the result of a case.
type verdict struct {
	attempts    []*attempt // upstream's
	differences differences
	err         error // another error
	panicked    bool  // upstream did, ran out of time or varies: nothing is compared
}

func (v *verdict) failed() bool { return v.err != nil || len(v.differences) > 0 }

func (b *bench) try(c *testCase) *verdict {
	c = restrict(c, b.known)
	theirs, berthErr := b.berth.run(c)
	ours, panicked, err := b.runUpstream(c, theirs)
	if panicked && berthErr == nil {
		return &verdict{panicked: true}
	}
	if errors.Is(err, errConfig) || berthErr != nil {
		return verdictOnErrors(err, berthErr)
	}
	if err != nil {
		return &verdict{err: fmt.Errorf("upstream: %w", err)}
	}
	v := &verdict{attempts: ours, differences: compare(ours, theirs)}
	if v.failed() && anyPool() && b.varies(c, theirs, ours) {
		return &verdict{panicked: true}
	}
	return v
}

// varies: upstream does not give the same results again. Its stable allocator takes pools in any order.
func (b *bench) varies(c *testCase, theirs, ours []*attempt) bool {
	for range 10 {
		again, panicked, err := b.runUpstream(c, theirs)
		if panicked || err != nil || len(compare(ours, again)) > 0 {
			return true
		}
	}
	return false
}

// runUpstream: some cases with devices make upstream's allocator panic, or run out of time.
func (b *bench) runUpstream(c *testCase, theirs []*attempt) (ours []*attempt, panicked bool, err error) {
	defer func() {
		if recover() != nil {
			panicked = true
		}
	}()
	ours, err = b.upstream.run(c, theirs)
	return ours, err == nil && outOfTime(ours), err
}

// outOfTime: the timeout of DynamicResources is one of the wall clock, and berth's clock is virtual.
func outOfTime(list []*attempt) bool {
	return bytes.Contains(encode(list), []byte("timed out trying to allocate devices"))
}

// verdictOnErrors: rejecting a configuration is fine if both do.
func verdictOnErrors(upstreamErr, berthErr error) *verdict {
	var refused *berthError
	if errors.As(berthErr, &refused) && refused.how == "exit status 1" && errors.Is(upstreamErr, errConfig) {
		return &verdict{}
	}
	text := func(err error) any {
		if err == nil {
			return nil
		}
		return err.Error()
	}
	topic := "refused by upstream"
	if refused != nil {
		topic = "refused by berth: " + refused.how
	}
	return &verdict{differences: differences{{topic, "the case", text(upstreamErr), text(berthErr)}}}
}

// restrict removes plugins that one side lacks from the configuration.
func restrict(c *testCase, known map[string]bool) *testCase {
	if c.Config == nil {
		return c
	}
	c = c.clone()
	profiles, _ := c.Config["profiles"].([]any)
	for _, p := range profiles {
		sets, _ := p.(tree)["plugins"].(tree)
		for _, set := range sets {
			for _, key := range []string{"enabled", "disabled"} {
				if list, ok := set.(tree)[key].([]any); ok {
					set.(tree)[key] = onlyKnown(list, known)
				}
			}
		}
		if args, ok := p.(tree)["pluginConfig"].([]any); ok {
			p.(tree)["pluginConfig"] = onlyKnown(args, known)
		}
	}
	return c
}

func onlyKnown(list []any, known map[string]bool) []any {
	out := []any{}
	for _, e := range list {
		if name, _ := e.(tree)["name"].(string); name == "*" || known[name] {
			out = append(out, e)
		}
	}
	return out
}

// shrink makes a failing case small, keeping its first topic.
func (b *bench) shrink(c *testCase, v *verdict, budget int) (*testCase, *verdict) {
	if v.err != nil {
		return c, v
	}
	topic := v.differences.topics()[0]
	small := shrink(c, budget, func(c *testCase) bool {
		v := b.try(c)
		return v.err == nil && len(v.differences) > 0 && v.differences[0].topic == topic
	})
	return small, b.try(small)
}

// ---- all cases -----------------------------------------------------------------------------------

type session struct {
	*options
	benches  []*bench
	next     atomic.Int64
	done     atomic.Int64
	panicked atomic.Int64
	failed   atomic.Int64
	mu       sync.Mutex
	coverage *coverage
	begin    time.Time
}

func runAll(o *options, files []string) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir, err := os.MkdirTemp("", "berth-oracle-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	s := &session{options: o, coverage: newCoverage(), begin: time.Now()}
	if err := s.makeBenches(ctx, dir); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		return 1
	}
	for _, f := range files {
		s.file(f)
	}
	if len(files) == 0 || o.tap {
		s.random()
	}
	if s.failed.Load() > 0 {
		return 1
	}
	return 0
}

func (s *session) makeBenches(ctx context.Context, dir string) error {
	for i := range s.workers {
		b, err := s.makeBench(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			return err
		}
		if i == 0 {
			known, err := knownPlugins(b.berth, s.plugins, s.except)
			if err != nil {
				return err
			}
			b.known = known
			if berth, ok := b.berth.(*berth); ok {
				berth.known = known
			}
		} else {
			b.known = s.benches[0].known
			if berth, ok := b.berth.(*berth); ok {
				berth.known = b.known
			}
		}
		if b.upstream, err = newUpstream(ctx, b.known); err != nil {
			return err
		}
		if t, ok := b.berth.(*twin); ok {
			if t.upstream, err = newUpstream(ctx, b.known); err != nil {
				return err
			}
		}
		s.benches = append(s.benches, b)
	}
	return nil
}

func (s *session) makeBench(dir string) (*bench, error) {
	if s.program == "upstream" {
		return &bench{berth: &twin{}}, nil
	}
	return &bench{berth: &berth{program: s.program, gates: s.gates, dir: dir}}, os.Mkdir(dir, 0o700)
}

// knownPlugins asks berth which of upstream's plugins it has. Those of volumes, devices and pod
// groups are not compared.
func knownPlugins(b subject, only, except string) (map[string]bool, error) {
	known, missing := map[string]bool{}, []string{}
	for _, name := range comparedPlugins {
		if strings.Contains(","+except+",", ","+name+",") {
			continue
		} else if b.knows(name) {
			known[name] = true
		} else {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		fmt.Fprintf(os.Stderr, "oracle: berth does not have %s: not compared\n", strings.Join(missing, ", "))
	}
	if only != "" {
		for name := range known {
			if !strings.Contains(","+only+",PrioritySort,DefaultBinder,", ","+name+",") {
				delete(known, name)
			}
		}
	}
	if !known["PrioritySort"] || !known["DefaultBinder"] {
		return nil, errors.New("berth cannot be run, or has neither PrioritySort nor DefaultBinder")
	}
	return known, nil
}

var comparedPlugins = []string{"SchedulingGates", "PrioritySort", "NodeUnschedulable", "NodeName", "TaintToleration",
	"NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone",
	"PodTopologySpread", "InterPodAffinity", "DynamicResources", "DefaultPreemption", "NodeResourcesBalancedAllocation",
	"ImageLocality", "DefaultBinder", "NodeDeclaredFeatures"}

var volumePlugins = []string{"VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"}

// file runs a stored case.
func (s *session) file(name string) {
	c, err := readCase(name)
	v := &verdict{err: err}
	if err == nil {
		v = s.benches[0].try(c)
	}
	if v.failed() {
		s.failed.Add(1)
		if v.err != nil {
			fmt.Printf("not ok - %s\n  %v\n", name, v.err)
		} else {
			fmt.Printf("not ok - %s\n%s", name, v.differences.show())
		}
		return
	}
	fmt.Printf("ok - %s\n", name)
}

func (s *session) random() {
	var wg sync.WaitGroup
	stop := make(chan struct{})
	go s.progress(stop)
	for _, b := range s.benches {
		wg.Add(1)
		go func() {
			defer wg.Done()
			s.work(b)
		}()
	}
	wg.Wait()
	close(stop)
	s.summary()
}

func (s *session) work(b *bench) {
	for {
		i := s.next.Add(1) - 1
		if i >= int64(s.cases) || s.failed.Load() >= int64(s.failures) {
			return
		}
		seed := s.seed + uint64(i)
		c := s.draw(seed)
		v := b.try(c)
		s.done.Add(1)
		if v.panicked {
			s.panicked.Add(1)
		}
		s.mu.Lock()
		s.coverage.add(c, v)
		if s.isFull(seed) {
			s.coverage.full++
		}
		s.mu.Unlock()
		if v.failed() && !s.ignored(v) {
			s.fail(b, seed, c, v)
		}
	}
}

// ignored: hides known differences while they are being fixed.
func (s *session) ignored(v *verdict) bool {
	return s.ignore != "" && v.err == nil && slices.Contains(strings.Split(s.ignore, ","), v.differences[0].topic)
}

func (s *session) fail(b *bench, seed uint64, c *testCase, v *verdict) {
	if s.failed.Add(1) > int64(s.failures) {
		return
	}
	small, after := b.shrink(c, v, s.budget)
	if !after.failed() {
		small, after = c, v
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	flags := ""
	if s.full {
		flags = " ORACLE_FLAGS=-full"
	}
	if s.volumes {
		flags = " ORACLE_FLAGS=-volumes"
	}
	if s.devices {
		flags = " ORACLE_FLAGS=-devices"
	}
	fmt.Printf("not ok - seed %d, case %d\n", seed, seed-s.seed+1)
	if after.err != nil {
		fmt.Printf("  %v\n", after.err)
	} else {
		fmt.Printf("%s", after.differences.show())
	}
	fmt.Printf("  the smallest case found, to be kept as tests/oracle/cases/NAME.json; again with "+
		"make oracle SEED=%d CASES=1%s:\n%s", seed, flags, encodeIndented(small))
	if s.save != "" {
		name := filepath.Join(s.save, fmt.Sprintf("seed-%d.json", seed))
		if err := os.WriteFile(name, encodeIndented(small), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "oracle:", err)
		}
	}
}

func (s *session) progress(stop chan struct{}) {
	info, err := os.Stderr.Stat()
	tty := err == nil && info.Mode()&os.ModeCharDevice != 0
	every, end := 10*time.Second, "\n"
	if tty {
		every, end = time.Second, "\r"
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			done := s.done.Load()
			fmt.Fprintf(os.Stderr, "oracle: %d of %d cases, %.0f a second%s", done, s.cases,
				float64(done)/time.Since(s.begin).Seconds(), end)
		}
	}
}

func (s *session) summary() {
	done, failed := s.done.Load(), min(s.failed.Load(), int64(s.failures))
	ok := "ok"
	if failed > 0 {
		ok = "not ok"
	}
	fmt.Printf("%s - seeds %d … %d: %d cases, %s; %d differ (%.0f s)\n", ok, s.seed, s.seed+uint64(done)-1, done,
		s.coverage.counts(), failed, time.Since(s.begin).Seconds())
	if n := s.panicked.Load(); n > 0 {
		fmt.Printf("# in %d cases upstream panicked, ran out of time or varied, and nothing was compared\n", n)
	}
	if s.options.coverage {
		fmt.Print(s.coverage.table())
	}
	const enough = 500
	if failed > 0 || done < enough || s.plugins != "" || s.except != "" {
		return
	}
	for _, name := range comparedPlugins {
		if !s.benches[0].known[name] {
			s.failed.Add(1)
			fmt.Printf("not ok - berth has %s\n", name)
		}
	}
	missing := []string{}
	switch {
	case s.volumes:
		missing = s.coverage.missingVolumes()
	case s.devices:
		missing = s.coverage.missingDevices()
	case !s.full:
		missing = s.coverage.missing(s.benches[0].known)
	}
	if !s.volumes && !s.devices && s.benches[0].known["DefaultPreemption"] && s.coverage.full >= enough {
		missing = append(missing, s.coverage.missingPreemptions()...)
	}
	if len(missing) > 0 {
		s.failed.Add(1)
		fmt.Printf("not ok - every plugin and every reason is reached\n  never seen: %s\n", strings.Join(missing, "\n  never seen: "))
	} else {
		fmt.Println("ok - every plugin and every reason is reached")
	}
}
