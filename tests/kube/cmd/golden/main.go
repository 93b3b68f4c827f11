// SPDX-License-Identifier: Apache-2.0

// Command golden writes what upstream's own libraries say about many inputs, as data for berth's
// tests. The same seed gives the same bytes, so a change of the data is a change of upstream or of
// this program.
//
//	golden DIR
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("golden: ")
	if len(os.Args) != 2 {
		log.Fatal("usage: golden DIR")
	}
	dir := os.Args[1]
	writeRows(filepath.Join(dir, "quantity.json"), quantities(dice(1)))
	writeRows(filepath.Join(dir, "selectors.json"), selectors(dice(2)))
	writeRows(filepath.Join(dir, "podrequests.json"), podRequests(dice(3)))
	writeObjects(filepath.Join(dir, "objects"), dice(4))
	writeRows(filepath.Join(dir, "cbor.json"), cborObjects(dice(5)))
	writeRows(filepath.Join(dir, "strategic.json"), strategicPatches(dice(6)))
	writeRows(filepath.Join(dir, "apply.json"), applies(dice(7)))
}

// table is a file of golden data: sections in the order given, each a list of rows.
type table []section

type section struct {
	name string
	rows []any
}

func (s *section) add(row any) { s.rows = append(s.rows, row) }

// writeRows writes one row per line, so that differences can be read.
func writeRows(path string, t table) {
	var out bytes.Buffer
	total := 0
	out.WriteString("{\n")
	for i, s := range t {
		fmt.Fprintf(&out, "%q: [\n", s.name)
		for j, row := range s.rows {
			out.Write(compact(row))
			if j < len(s.rows)-1 {
				out.WriteByte(',')
			}
			out.WriteByte('\n')
		}
		out.WriteString("]")
		if i < len(t)-1 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
		total += len(s.rows)
	}
	out.WriteString("}\n")
	write(path, out.Bytes())
	log.Printf("%s: %d rows", filepath.Base(path), total)
}

func compact(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	check(enc.Encode(v))
	return bytes.TrimRight(b.Bytes(), "\n")
}

func write(path string, data []byte) {
	check(os.MkdirAll(filepath.Dir(path), 0o755))
	check(os.WriteFile(path, data, 0o644))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// random is a source of random choices with a fixed seed.
type random struct{ *rand.Rand }

func dice(seed uint64) *random { return &random{rand.New(rand.NewPCG(seed, 0x6265727468))} }

// chance is true in p of 100 cases.
func (r *random) chance(p int) bool { return r.IntN(100) < p }

// between gives a number from lo to hi, both included.
func (r *random) between(lo, hi int) int { return lo + r.IntN(hi-lo+1) }

func pick[T any](r *random, from []T) T { return from[r.IntN(len(from))] }

func ptr[T any](v T) *T { return &v }
