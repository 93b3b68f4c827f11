// SPDX-License-Identifier: Apache-2.0

// Command protodump lists the fields of protobuf messages, for the check of berth's descriptor
// tables. One line per field, sorted, with tabs between:
//
//	package.Message  field  number  type  label
//
// label is optional, required, repeated or map. Types of messages are written with their package.
//
//	protodump FILE.proto...
package main

import (
	"bufio"
	"cmp"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

type field struct {
	message, name string
	number        int
	kind, label   string
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("protodump: ")
	if len(os.Args) < 2 {
		log.Fatal("usage: protodump FILE.proto...")
	}
	var all []field
	for _, path := range os.Args[1:] {
		text, err := os.ReadFile(path)
		if err != nil {
			log.Fatal(err)
		}
		p := &parser{path: path, tokens: tokenize(string(text))}
		p.file()
		all = append(all, p.fields...)
	}
	slices.SortFunc(all, func(a, b field) int {
		return cmp.Or(cmp.Compare(a.message, b.message), cmp.Compare(a.number, b.number))
	})
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, f := range all {
		fmt.Fprintf(out, "%s\t%s\t%d\t%s\t%s\n", f.message, f.name, f.number, f.kind, f.label)
	}
}

// tokenize splits the text into words, strings and single marks; comments go.
func tokenize(s string) []string {
	var tokens []string
	word := func(c rune) bool { return c == '_' || c == '.' || unicode.IsLetter(c) || unicode.IsDigit(c) }
	for len(s) > 0 {
		switch {
		case strings.HasPrefix(s, "//"):
			_, s, _ = strings.Cut(s, "\n")
		case strings.HasPrefix(s, "/*"):
			_, s, _ = strings.Cut(s, "*/")
		case unicode.IsSpace(rune(s[0])):
			s = s[1:]
		case s[0] == '"':
			end := 1 + strings.IndexByte(s[1:], '"')
			tokens = append(tokens, s[:end+1])
			s = s[end+1:]
		case word(rune(s[0])):
			end := strings.IndexFunc(s, func(c rune) bool { return !word(c) })
			tokens = append(tokens, s[:end])
			s = s[end:]
		default:
			tokens = append(tokens, s[:1])
			s = s[1:]
		}
	}
	return tokens
}

type parser struct {
	path   string
	tokens []string
	pkg    string
	fields []field
}

func (p *parser) next() string {
	if len(p.tokens) == 0 {
		log.Fatalf("%s: ends too early", p.path)
	}
	t := p.tokens[0]
	p.tokens = p.tokens[1:]
	return t
}

func (p *parser) expect(want string) {
	if got := p.next(); got != want {
		log.Fatalf("%s: %q where %q should be, before %q", p.path, got, want, p.tokens[:min(8, len(p.tokens))])
	}
}

// skip drops a statement up to its semicolon.
func (p *parser) skip() {
	for p.next() != ";" {
	}
}

func (p *parser) file() {
	for len(p.tokens) > 0 {
		switch t := p.next(); t {
		case "package":
			p.pkg = p.next()
			p.expect(";")
		case "message":
			p.message(p.pkg)
		case "syntax", "import", "option":
			p.skip()
		default:
			log.Fatalf("%s: %q is not understood", p.path, t)
		}
	}
}

func (p *parser) message(scope string) {
	name := scope + "." + p.next()
	p.expect("{")
	for {
		switch t := p.next(); t {
		case "}":
			return
		case "message":
			p.message(name)
		case "option", "reserved", "extensions":
			p.skip()
		case "map":
			p.expect("<")
			key := p.next()
			p.expect(",")
			value := p.qualified(p.next())
			p.expect(">")
			p.field(name, "map<"+key+","+value+">", "map")
		case "optional", "required", "repeated":
			p.field(name, p.qualified(p.next()), t)
		default:
			log.Fatalf("%s: %s: %q is not understood", p.path, name, t)
		}
	}
}

// field reads what follows the type: name, number, options.
func (p *parser) field(message, kind, label string) {
	f := field{message: message, name: p.next(), kind: kind, label: label}
	p.expect("=")
	number, err := strconv.Atoi(p.next())
	if err != nil {
		log.Fatalf("%s: %s.%s: %v", p.path, message, f.name, err)
	}
	f.number = number
	p.skip()
	p.fields = append(p.fields, f)
}

var scalars = []string{
	"bool", "bytes", "double", "fixed32", "fixed64", "float", "int32", "int64", "sfixed32", "sfixed64", "sint32", "sint64",
	"string", "uint32", "uint64",
}

func (p *parser) qualified(kind string) string {
	switch {
	case slices.Contains(scalars, kind):
		return kind
	case strings.HasPrefix(kind, "."):
		return kind[1:]
	default:
		return p.pkg + "." + kind
	}
}
