// SPDX-License-Identifier: Apache-2.0

// sigs compares berth's plugins of src/plugins/sigs with those of sigs.k8s.io/scheduler-plugins, on
// random clusters: see README.md.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
)

type nodeScore struct {
	Raw        int64 `json:"raw"`
	Normalized int64 `json:"normalized"`
}

// attempt is what the comparison reads of berth's answer.
type attempt struct {
	Attempt  int    `json:"attempt"`
	Pod      string `json:"pod"`
	Feasible []struct {
		Name    string `json:"name"`
		Plugins []struct {
			Name string `json:"name"`
			nodeScore
		} `json:"plugins"`
	} `json:"feasible"`
}

func configuration(c *testCase) map[string]any {
	only := []any{map[string]any{"name": c.Plugin}}
	plugins := map[string]any{}
	if c.Plugin == "QOSSort" {
		plugins["queueSort"] = map[string]any{"disabled": []any{map[string]any{"name": "*"}}, "enabled": only}
	} else {
		plugins["score"] = map[string]any{"disabled": []any{map[string]any{"name": "*"}}, "enabled": only}
	}
	profile := map[string]any{"schedulerName": "default-scheduler", "plugins": plugins, "percentageOfNodesToScore": 100}
	if c.Args != nil {
		profile["pluginConfig"] = []any{map[string]any{"name": c.Plugin, "args": withKind(c.Plugin, c.Args)}}
	}
	return map[string]any{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
		"profiles": []any{profile}}
}

// run returns the first attempts of all pods, in order.
func run(berth, dir string, c *testCase) ([]attempt, error) {
	config, err := json.Marshal(configuration(c))
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "config.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return nil, err
	}
	var items []any
	for _, node := range c.Nodes {
		items = append(items, node)
	}
	for _, pod := range c.Pods {
		items = append(items, pod)
	}
	input, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(berth, "simulate", "--controllers=false", "--survey", "--output=json", "--attempts=1",
		"--validate=ignore", "--config="+file, "-")
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("berth: %w: %s", err, stderr.String())
	}
	var all []attempt
	for d := json.NewDecoder(&stdout); d.More(); {
		var a attempt
		if err := d.Decode(&a); err != nil {
			return nil, err
		}
		if a.Attempt == 1 {
			all = append(all, a)
		}
	}
	return all, nil
}

func compareOrder(k *cluster, attempts []attempt) (string, error) {
	want, err := k.order()
	if err != nil {
		return "", err
	}
	var got []string
	for _, a := range attempts {
		got = append(got, a.Pod)
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Sprintf("order of pods: berth %v, upstream %v", got, want), nil
	}
	return "", nil
}

func compareScores(c *testCase, k *cluster, attempts []attempt) (string, error) {
	if len(attempts) == 0 || attempts[0].Pod != k.pending[0].Pod.Name {
		return "the first pod was not tried first", nil
	}
	got, feasible := map[string]nodeScore{}, []string{}
	for _, node := range attempts[0].Feasible {
		feasible = append(feasible, node.Name)
		for _, p := range node.Plugins {
			if p.Name == c.Plugin {
				got[node.Name] = p.nodeScore
			}
		}
	}
	if len(feasible) < 2 { // no scores are needed
		return "", nil
	}
	scored[c.Plugin]++
	want, err := k.score(c, feasible)
	if err != nil {
		return "", err
	}
	sort.Strings(feasible)
	for _, name := range feasible {
		if got[name] != want[name] {
			return fmt.Sprintf("node %s: berth %+v, upstream %+v", name, got[name], want[name]), nil
		}
	}
	return "", nil
}

var scored = map[string]int{} // cases that compared something

func compare(berth, dir string, c *testCase) (string, error) {
	if c.Plugin == "Coscheduling" {
		return compareCoscheduling(berth, dir, c)
	}
	attempts, err := run(berth, dir, c)
	if err != nil {
		return "", err
	}
	k, err := newCluster(c)
	if err != nil {
		return "", err
	}
	if c.Plugin == "QOSSort" {
		scored[c.Plugin]++
		return compareOrder(k, attempts)
	}
	return compareScores(c, k, attempts)
}

func work() error {
	berth := flag.String("berth", "build/berth", "the program to compare")
	cases := flag.Int("cases", 200, "random cases per plugin")
	seed := flag.Int64("seed", 0, "the first case's seed")
	only := flag.String("plugins", "", "only these, separated by commas")
	tap := flag.Bool("tap", false, "print one TAP line per plugin")
	flag.Parse()
	dir, err := os.MkdirTemp("", "sigs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	names := []string{}
	for name := range generators {
		if *only == "" || strings.Contains(","+*only+",", ","+name+",") {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	differences := 0
	if *tap {
		fmt.Printf("1..%d\n", len(names))
	}
	for number, name := range names {
		before := differences
		for i := range *cases {
			c := generators[name](generator{rand.New(rand.NewSource(*seed + int64(i)))})
			text, err := compare(*berth, dir, c)
			if err != nil {
				return fmt.Errorf("%s, seed %d: %w", name, *seed+int64(i), err)
			}
			if text != "" {
				differences++
				fmt.Printf("# %s, seed %d: %s\n", name, *seed+int64(i), text)
			}
			if differences >= 10 {
				return fmt.Errorf("stopped after %d differences", differences)
			}
		}
		line := fmt.Sprintf("%s: %d cases, %d with something to compare, %d differences", name, *cases,
			scored[name], differences-before)
		if *tap {
			line = fmt.Sprintf("%s %d - %s", map[bool]string{true: "ok", false: "not ok"}[differences == before], number+1, line)
		}
		fmt.Println(line)
	}
	if differences > 0 {
		return fmt.Errorf("berth and upstream differ")
	}
	return nil
}

func main() {
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
