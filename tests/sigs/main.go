// SPDX-License-Identifier: Apache-2.0

// sigs compares berth's plugins of src/plugins/sigs with those of sigs.k8s.io/scheduler-plugins, on
// random clusters: see README.md.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"
)

type nodeScore struct {
	Raw        int64 `json:"raw"`
	Normalized int64 `json:"normalized"`
}

// refusal is a verdict of Filter.
type refusal struct {
	Name    string   `json:"name"`
	Code    string   `json:"code"`
	Reasons []string `json:"reasons"`
}

// attempt is what the comparison reads of berth's answer.
type attempt struct {
	Attempt int    `json:"attempt"`
	Pod     string `json:"pod"`
	Filters struct {
		Nodes []struct {
			Name    string    `json:"name"`
			Refused []refusal `json:"refused"`
		} `json:"nodes"`
	} `json:"filters"`
	Feasible []struct {
		Name    string `json:"name"`
		Plugins []struct {
			Name string `json:"name"`
			nodeScore
		} `json:"plugins"`
	} `json:"feasible"`
	Outcome    string          `json:"outcome"`
	PreFilter  []pluginVerdict `json:"preFilter"`
	PostFilter *struct {
		Code          string   `json:"code"`
		Reasons       []string `json:"reasons"`
		NominatedNode string   `json:"nominatedNode"`
		Victims       []string `json:"victims"`
		Violations    int      `json:"pdbViolations"`
	} `json:"postFilter"`
}

type pluginVerdict struct {
	Name    string   `json:"name"`
	Code    string   `json:"code"`
	Reasons []string `json:"reasons"`
}

func configuration(c *testCase) map[string]any {
	only := []any{map[string]any{"name": c.Plugin}}
	plugins := map[string]any{}
	if preemptors[c.Plugin] != nil {
		plugins = preemptionPlugins(c.Plugin)
	} else if sortsQueue(c.Plugin) {
		plugins["queueSort"] = map[string]any{"disabled": []any{map[string]any{"name": "*"}}, "enabled": only}
	} else {
		plugins["score"] = map[string]any{"disabled": []any{map[string]any{"name": "*"}}, "enabled": only}
	}
	if c.Filters {
		plugins["filter"] = map[string]any{"enabled": only}
		plugins["preFilter"] = map[string]any{"enabled": prefilters(c.Plugin)}
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
	items = append(items, c.Objects...)
	for _, pod := range c.Pods {
		items = append(items, pod)
	}
	input, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		return nil, err
	}
	flags := []string{"simulate", "--controllers=false", "--survey", "--output=json", "--attempts=1",
		"--validate=ignore", "--config=" + file}
	for url, body := range c.Responses {
		response := filepath.Join(dir, fmt.Sprintf("response%d.json", len(flags)))
		if err := os.WriteFile(response, body, 0o600); err != nil {
			return nil, err
		}
		flags = append(flags, "--http-response="+url+"="+response)
	}
	cmd := exec.Command(berth, append(flags, "-")...)
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

// prefilters lists the plugin if it has PreFilter.
func prefilters(plugin string) []any {
	if plugin == "NetworkOverhead" {
		return []any{map[string]any{"name": plugin}}
	}
	return []any{}
}

func sortsQueue(plugin string) bool { return plugin == "QOSSort" || plugin == "TopologicalSort" }

func compareOrder(c *testCase, k *cluster, attempts []attempt) (string, error) {
	want, err := k.order(c)
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

// compareFilters compares the plugin's verdicts on all nodes.
func compareFilters(c *testCase, k *cluster, attempts []attempt) (string, error) {
	if len(attempts) == 0 {
		return "the pod was not tried", nil
	}
	want, err := k.filter(c)
	if err != nil {
		return "", err
	}
	got := map[string]string{}
	for _, node := range attempts[0].Filters.Nodes {
		for _, r := range node.Refused {
			if r.Name == c.Plugin {
				got[node.Name] = r.Code + ": " + strings.Join(r.Reasons, ", ")
			}
		}
	}
	for _, node := range c.Nodes {
		if got[node.Name] != want[node.Name] {
			return fmt.Sprintf("node %s: berth %q, upstream %q", node.Name, got[node.Name], want[node.Name]), nil
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
	if preemptors[c.Plugin] != nil {
		return comparePreemption(c, attempts)
	}
	k, err := newCluster(c)
	if err != nil {
		return "", err
	}
	if sortsQueue(c.Plugin) {
		scored[c.Plugin]++
		return compareOrder(c, k, attempts)
	}
	if c.Filters {
		if text, err := compareFilters(c, k, attempts); text != "" || err != nil {
			return text, err
		}
	}
	return compareScores(c, k, attempts)
}

func work() error {
	berth := flag.String("berth", "build/berth", "the program to compare")
	cases := flag.Int("cases", 200, "random cases per plugin")
	seed := flag.Int64("seed", 0, "the first case's seed")
	only := flag.String("plugins", "", "only these, separated by commas")
	show := flag.Bool("show", false, "print cases that differ")
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
				if *show {
					all, _ := json.MarshalIndent(c, "# ", " ")
					fmt.Printf("# %s\n", all)
				}
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
	for _, counts := range []map[string]int{outcomes, bugs} {
		for _, what := range slices.Sorted(maps.Keys(counts)) {
			fmt.Printf("# %s: %d\n", what, counts[what])
		}
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
