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
	berth         = flag.String("berth", "build/berth-cel", "berth's program, from tests/cel/cel_eval.c")
	seed          = flag.Int64("seed", 1, "of the first random case; each case has its own")
	cases         = flag.Int("cases", 1000, "number of random cases")
	onRegex       = flag.Bool("regex", false, "compare regular expressions")
	tap           = flag.Bool("tap", false, "print TAP")
	doExtract     = flag.Bool("extract", false, "print the corpus of the folders named, as corpus.json")
	oneExpression = flag.String("e", "", "compare only this expression, on random devices")
	noCorpus      = flag.Bool("no-corpus", false, "only random expressions")
	texts         = flag.Bool("texts", false, "the texts of compile errors must be the same, too")
	show          = flag.Int("show", 20, "print at most so many differences")
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
	name                 string
	cases, failed, shown int
}

func (t *tally) differ(format string, args ...any) {
	t.failed++
	if t.shown++; t.shown <= *show {
		fmt.Print("# " + strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\n# ") + "\n")
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

// stable reports whether upstream gives the same answer again: the order of maps is random there.
func stable(c celCase, answer string) bool {
	for range 3 {
		if c.expected() != answer {
			return false
		}
	}
	return true
}

const textOnly = "text of a compile error"

// compileKind is what stays the same if only the words differ: syntax errors of the generated
// parser of upstream depend on how it recovers.
func compileKind(answer string) string {
	text := readable(answer)
	for _, kind := range []string{"Syntax error", "must evaluate to", "program instantiation failed", "panic"} {
		if strings.Contains(text, kind) {
			return kind
		}
	}
	return "check"
}

// summary of a difference, to count its kind: the answer without texts and numbers.
func summary(want, got string) string {
	w, g := strings.Fields(want), strings.Fields(got)
	if w[0] != g[0] {
		return "compiles or not"
	}
	if w[0] == "compile" {
		if compileKind(want) == compileKind(got) {
			return textOnly
		}
		return "kind of compile error"
	}
	if w[1] != g[1] {
		return "estimated cost"
	}
	for i := 2; i < len(w) && i < len(g); i++ {
		if w[i] == g[i] {
			continue
		}
		if i > 0 && w[i-1] == "error" {
			return "text of a run time error"
		}
		if w[i] == "true" || w[i] == "false" || w[i] == "error" {
			return "value"
		}
		return "cost"
	}
	return "other"
}

func compareExpressions(p *program) bool {
	t := tally{name: "expressions"}
	counts := map[string]int{}
	errors, unstable := 0, 0
	one := func(name string, c celCase) {
		t.cases++
		want, got := c.expected(), p.ask(c.line())
		if strings.HasPrefix(want, "compile") {
			errors++
		}
		if want == got {
			return
		}
		if strings.Contains(readable(want), "panic: ") || !stable(c, want) {
			unstable++
			return
		}
		kind := summary(want, got)
		counts[kind]++
		if kind == textOnly && !*texts {
			return
		}
		t.differ("%s: %s\n  upstream %.1500s\n  berth    %.1500s\n  %.1500s", name, c.Expression, readable(want), readable(got), c.line())
	}
	if *oneExpression != "" {
		for i := range int64(4) {
			c := drawCase(rand.New(rand.NewSource(*seed + i)))
			c.Expression = *oneExpression
			fmt.Println(readable(c.expected()))
			one("-e", c)
		}
		return t.end()
	}
	for i, expression := range corpus() {
		if *noCorpus {
			break
		}
		for features := range 4 {
			g := &generator{Rand: rand.New(rand.NewSource(int64(i))), list: features%2 == 1}
			one(fmt.Sprintf("corpus %d", i), celCase{expression, features/2 == 1, features%2 == 1, g.slices()})
		}
	}
	for i := range int64(*cases) {
		one(fmt.Sprintf("seed %d", *seed+i), drawCase(rand.New(rand.NewSource(*seed+i))))
	}
	for kind, n := range counts {
		fmt.Printf("# %6d %s\n", n, kind)
	}
	fmt.Printf("# %d of %d do not compile; %d answers of upstream vary or are a panic\n", errors, t.cases, unstable)
	return t.end()
}

func main() {
	flag.Parse()
	if *doExtract {
		extract(flag.Args())
		return
	}
	p, err := start(*berth)
	if err != nil {
		fatal("%s: %v", *berth, err)
	}
	same := true
	if *onRegex {
		same = compareRegexes(p)
	} else {
		same = compareExpressions(p)
	}
	p.stop()
	if !same {
		os.Exit(1)
	}
}
