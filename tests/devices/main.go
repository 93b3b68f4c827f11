// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
)

var (
	program  = flag.String("berth", "build/berth-devices", "program that runs berth's allocator")
	cases    = flag.Int("cases", 2000, "number of cases")
	seed     = flag.Int64("seed", 0, "seed of the first case")
	coverage = flag.Bool("coverage", false, "print how often each feature decided something")
	tap      = flag.Bool("tap", false, "print the result as TAP")
	keep     = flag.Int("differences", 3, "end after so many")
)

// berth is the program; each case is a line to it and a line back.
type berth struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start() (*berth, error) {
	cmd := exec.Command(*program)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &berth{cmd, in, bufio.NewReaderSize(out, 1<<20)}, cmd.Start()
}

func (b *berth) run(k *kase) ([][]answer, error) {
	line, err := json.Marshal(k)
	if err != nil {
		return nil, err
	}
	if _, err := b.in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	text, err := b.out.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("berth ended: %w", err)
	}
	var answers [][]answer
	return answers, json.Unmarshal(text, &answers)
}

// normal is an answer in a form that can be compared: shares of devices have random IDs.
func normal(a answer) string {
	results := make([]resourceapi.AllocationResult, len(a.Results))
	for i := range a.Results {
		results[i] = *a.Results[i].DeepCopy()
		for k := range results[i].Devices.Results {
			if r := &results[i].Devices.Results[k]; r.ShareID != nil {
				*r.ShareID = "share"
			}
		}
	}
	a.Results = results
	text, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// difference describes the first one; empty: none. A case that upstream cannot run has none.
func difference(b *berth, k *kase, c *counts) (string, error) {
	want, err := upstream(k)
	if err != nil {
		c.skipped++
		return "", nil
	}
	got, err := b.run(k)
	if err != nil {
		return "", err
	}
	for i := range want {
		for j := range want[i] {
			w, g := normal(want[i][j]), normal(got[i][j])
			if w == g {
				continue
			}
			if isStable(k.Features) && stableMayDiffer(k) {
				// What follows depends on what was taken.
				if want[i][j].Verdict == got[i][j].Verdict || want[i][j].Verdict == "error" || got[i][j].Verdict == "error" {
					c.unordered++
					return "", nil
				}
			}
			return fmt.Sprintf("step %d, node %s:\n  upstream %s\n  berth    %s", i, k.Steps[i].On[j], w, g), nil
		}
	}
	c.count(k, want)
	return "", nil
}

// stableMayDiffer: with more than one pool, upstream's stable allocator takes them in random order.
func stableMayDiffer(k *kase) bool {
	pools := map[string]bool{}
	add := func(list []resourceapi.ResourceSlice) {
		for i := range list {
			pools[list[i].Spec.Driver+"/"+list[i].Spec.Pool.Name] = true
		}
	}
	add(k.Slices)
	for i := range k.Steps {
		add(k.Steps[i].Slices)
	}
	return len(pools) > 1
}

func compare() error {
	b, err := start()
	if err != nil {
		return err
	}
	var c counts
	differences := 0
	for i := range *cases {
		k := generate(*seed + int64(i))
		text, err := difference(b, k, &c)
		if err != nil {
			return fmt.Errorf("seed %d: %w", *seed+int64(i), err)
		}
		if text == "" {
			continue
		}
		differences++
		k = shrink(b, k)
		text, _ = difference(b, k, &counts{})
		var pretty bytes.Buffer
		line, _ := json.Marshal(k)
		_ = json.Indent(&pretty, line, "# ", " ")
		fmt.Printf("# seed %d: %s\n# %s\n", *seed+int64(i), text, pretty.String())
		if differences >= *keep {
			break
		}
	}
	b.in.Close()
	if err := b.cmd.Wait(); err != nil {
		return fmt.Errorf("berth: %w", err)
	}
	if *coverage {
		c.print()
	}
	fmt.Printf("%d cases, %d differences, %d searches, %d allocations, %d skipped, %d in random order\n",
		*cases, differences, c.searches, c.allocations, c.skipped, c.unordered)
	if missing := c.missing(); *cases >= 300 && len(missing) > 0 {
		return errors.New("never happened: " + strings.Join(missing, ", "))
	}
	if differences > 0 {
		return errors.New("differences found")
	}
	return nil
}

func main() {
	flag.Parse()
	err := compare()
	if *tap {
		state := "ok"
		if err != nil {
			state = "not ok"
		}
		fmt.Printf("%s 1 - devices: %d cases from seed %d allocate as upstream does\n1..1\n", state, *cases, *seed)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "devices:", err)
		os.Exit(1)
	}
}

// --- shrinking --------------------------------------------------------------

func clone(k *kase) *kase {
	text, err := json.Marshal(k)
	if err != nil {
		panic(err)
	}
	var c kase
	if err := json.Unmarshal(text, &c); err != nil {
		panic(err)
	}
	return &c
}

// drop tries the case without each element of the list that `at` returns.
func drop[T any](b *berth, k *kase, at func(*kase) *[]T) (*kase, bool) {
	smaller := false
	for i := 0; i < len(*at(k)); {
		c := clone(k)
		*at(c) = slices.Delete(*at(c), i, i+1)
		if text, err := difference(b, c, &counts{}); err == nil && text != "" {
			k, smaller = c, true
		} else {
			i++
		}
	}
	return k, smaller
}

func shrink(b *berth, k *kase) *kase {
	for again := true; again; {
		again = false
		step := func(f func(*kase) (*kase, bool)) {
			var smaller bool
			k, smaller = f(k)
			again = again || smaller
		}
		step(func(k *kase) (*kase, bool) { return drop(b, k, func(k *kase) *[]step_ { return &k.Steps }) })
		step(func(k *kase) (*kase, bool) { return drop(b, k, func(k *kase) *[]slice_ { return &k.Slices }) })
		step(func(k *kase) (*kase, bool) { return drop(b, k, func(k *kase) *[]rule_ { return &k.Rules }) })
		for i := range k.Slices {
			step(func(k *kase) (*kase, bool) {
				return drop(b, k, func(k *kase) *[]device_ { return &k.Slices[i].Spec.Devices })
			})
		}
		for i := range k.Steps {
			step(func(k *kase) (*kase, bool) { return drop(b, k, func(k *kase) *[]claim_ { return &k.Steps[i].Claims }) })
			step(func(k *kase) (*kase, bool) { return drop(b, k, func(k *kase) *[]string { return &k.Steps[i].On }) })
			for j := range k.Steps[i].Claims {
				step(func(k *kase) (*kase, bool) {
					return drop(b, k, func(k *kase) *[]request_ { return &k.Steps[i].Claims[j].Spec.Devices.Requests })
				})
				step(func(k *kase) (*kase, bool) {
					return drop(b, k, func(k *kase) *[]constraint_ { return &k.Steps[i].Claims[j].Spec.Devices.Constraints })
				})
			}
		}
	}
	return k
}
