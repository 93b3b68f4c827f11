// SPDX-License-Identifier: Apache-2.0

// Compares berth's CEL (src/cel) with upstream's: the same expressions on the same devices, in
// k8s.io/dynamic-resource-allocation/cel and in build/berth-cel (cel_eval.c).
//
//	cel -berth=build/berth-cel -seed=1 -cases=10000
//	cel -berth=build/berth-cel -regex -seed=1 -cases=10000
package main

import (
	"bufio"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"strings"
)

var (
	berth   = flag.String("berth", "build/berth-cel", "berth's program, from tests/cel/cel_eval.c")
	seed    = flag.Int64("seed", 1, "of the first random case; each case has its own")
	cases   = flag.Int("cases", 1000, "number of random cases")
	onRegex = flag.Bool("regex", false, "compare regular expressions")
	tap     = flag.Bool("tap", false, "print TAP")
	show    = flag.Int("show", 20, "print at most so many differences")
)

// program is a running berth-cel: a line in, a line out.
type program struct {
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

func start(path string) (*program, error) {
	cmd := exec.Command(path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &program{in, bufio.NewReaderSize(out, 1<<20), cmd}, cmd.Start()
}

func (p *program) ask(line string) string {
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		fatal("%s: %v", *berth, err)
	}
	answer, err := p.out.ReadString('\n')
	if err != nil {
		p.cmd.Wait()
		fatal("%s ended: %v\n%s", *berth, p.cmd.ProcessState, line)
	}
	return strings.TrimSuffix(answer, "\n")
}

func (p *program) stop() {
	p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		fatal("%s: %v", *berth, err)
	}
}

func fatal(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "cel: "+format+"\n", args...)
	os.Exit(2)
}

// tally counts the cases of one comparison and prints the differences.
type tally struct {
	name                string
	cases, failed, shown int
}

func (t *tally) differ(format string, args ...any) {
	t.failed++
	if t.shown++; t.shown <= *show {
		fmt.Printf("# "+strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\n# ")+"\n")
	}
}

func (t *tally) end() bool {
	state := "ok"
	if t.failed > 0 {
		state = "not ok"
	}
	if *tap {
		fmt.Printf("%s 1 - %s: %d cases, %d differ\n1..1\n", state, t.name, t.cases, t.failed)
	} else {
		fmt.Printf("%s: %d cases, %d differ\n", t.name, t.cases, t.failed)
	}
	return t.failed == 0
}

func unhex(answer string) string {
	word, rest, found := strings.Cut(answer, " ")
	if text, err := hex.DecodeString(rest); found && word == "error" && err == nil {
		return string(text)
	}
	return answer
}

func compareRegexes(p *program) bool {
	t := tally{name: "regular expressions"}
	one := func(name string, c regexCase) {
		t.cases++
		if want, got := c.expected(), p.ask(c.line()); want != got {
			t.differ("%s: %.300q on %.300q\n  Go    %.600s\n  berth %.600s", name, c.expression, c.texts, unhex(want), unhex(got))
		}
	}
	for i, c := range fixedRegexes() {
		one(fmt.Sprintf("fixed case %d", i), c)
	}
	for i := range int64(*cases) {
		one(fmt.Sprintf("seed %d", *seed+i), drawRegex(rand.New(rand.NewSource(*seed+i))))
	}
	return t.end()
}

func main() {
	flag.Parse()
	p, err := start(*berth)
	if err != nil {
		fatal("%s: %v", *berth, err)
	}
	same := true
	if *onRegex {
		same = compareRegexes(p)
	}
	p.stop()
	if !same {
		os.Exit(1)
	}
}
