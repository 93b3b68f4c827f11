// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// berth is the program under test, run once for every case.
type berth struct {
	program string
	gates   string
	dir     string // for its configuration
	known   map[string]bool
}

// without disables the plugins that are not compared.
func (b *berth) without(config tree) tree {
	var disabled []any
	for _, name := range comparedPlugins {
		if b.known != nil && !b.known[name] {
			disabled = append(disabled, tree{"name": name})
		}
	}
	if len(disabled) == 0 {
		return config
	}
	if config == nil {
		config = tree{}
	}
	config = cloneValue(config).(tree)
	if config["profiles"] == nil {
		config["profiles"] = []any{tree{"schedulerName": "default-scheduler"}}
	}
	for _, p := range config["profiles"].([]any) {
		profile := p.(tree)
		if profile["plugins"] == nil {
			profile["plugins"] = tree{}
		}
		plugins := profile["plugins"].(tree)
		if plugins["multiPoint"] == nil {
			plugins["multiPoint"] = tree{}
		}
		set := plugins["multiPoint"].(tree)
		list, _ := set["disabled"].([]any)
		set["disabled"] = append(list, disabled...)
	}
	return config
}

// A berthError is an exit code other than 0.
type berthError struct {
	how, stderr string
}

func (e *berthError) Error() string {
	return fmt.Sprintf("berth: %s: %s", e.how, strings.TrimSpace(e.stderr))
}

const berthTimeout = 20 * time.Second

func (b *berth) run(c *testCase) ([]*attempt, error) {
	args := []string{"simulate", "--controllers=false", "--survey", "--claims", "--output=json", fmt.Sprintf("--attempts=%d", c.attempts())}
	gates := b.gates
	if c.SyncPreemption {
		gates = strings.TrimPrefix(gates+",SchedulerAsyncPreemption=false", ",")
	}
	if gates != "" {
		args = append(args, "--feature-gates="+gates)
	}
	if config := b.without(c.Config); config != nil {
		t := cloneValue(config).(tree)
		t["apiVersion"], t["kind"] = "kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration"
		file := filepath.Join(b.dir, "config.json")
		if err := os.WriteFile(file, encode(t), 0o600); err != nil {
			return nil, err
		}
		args = append(args, "--config="+file)
	}
	for i, events := range c.Then {
		file := filepath.Join(b.dir, fmt.Sprintf("then-%d.yaml", i))
		var text []byte
		for _, e := range events {
			text = append(append(text, "---\n"...), encode(e)...)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return nil, err
		}
		args = append(args, "--then="+file)
	}
	out, err := b.exec(append(args, "-"), encode(tree{"apiVersion": "v1", "kind": "List", "items": c.Items}))
	if err != nil {
		return nil, err
	}
	out, claims, err := splitClaims(out)
	if err != nil {
		return nil, err
	}
	all, err := readAttempts(out)
	if err != nil {
		return nil, err
	}
	if c.attempts() > 1 {
		if n := len(all); n > 0 && len(untilTooMany(all, c.attempts())) == n {
			all[n-1].Claims = claims
		}
		return untilTooMany(all, c.attempts()), nil
	}
	// A failed pod may be retried when all others have been tried.
	var first []*attempt
	for _, a := range all {
		if a.Attempt == 1 {
			first = append(first, a)
		}
	}
	if len(first) > 0 && len(first) == len(all) {
		first[len(first)-1].Claims = claims
	}
	return first, nil
}

// untilTooMany cuts the list before the first attempt beyond the limit: after it the two sides differ.
func untilTooMany(list []*attempt, most int) []*attempt {
	for i, a := range list {
		if a.Attempt > most && i > 0 {
			list[i-1].cut = true
			return list[:i]
		}
	}
	return list
}

func (b *berth) exec(args []string, stdin []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), berthTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, b.program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, &berthError{exit.String(), stderr.String()}
	}
	return stdout.Bytes(), err
}

// knows returns whether berth has a plugin of this name.
func (b *berth) knows(plugin string) bool {
	enabled := []any{}
	for _, n := range []string{"PrioritySort", "DefaultBinder", plugin} {
		if n != plugin || len(enabled) == 2 {
			enabled = append(enabled, tree{"name": n})
		}
	}
	c := &testCase{Items: []any{}, Config: tree{"profiles": []any{tree{"plugins": tree{"multiPoint": tree{
		"enabled": enabled, "disabled": []any{tree{"name": "*"}}}}}}}}
	_, err := b.run(c)
	var refused *berthError
	return !errors.As(err, &refused) || !strings.Contains(refused.stderr, plugin)
}
