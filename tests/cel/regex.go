// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/hex"
	"fmt"
	"math/rand"
	"regexp"
	"strings"
)

// Regular expressions: Go's regexp package against src/cel/regex.

type regexCase struct {
	expression string
	texts      []string
}

// regexAtoms match a character or a place. Some are not valid, some only almost.
var regexAtoms = []string{
	"a", "b", "c", "A", "B", "k", "K", "s", "S", "0", "9", "_", "-", " ", "é", "ß", "ſ", "K", "Σ", "ς", "世", "😀", "/", "\n",
	".", "^", "$", `\A`, `\z`, `\b`, `\B`, `\d`, `\D`, `\s`, `\S`, `\w`, `\W`, `\n`, `\t`, `\.`, `\\`, `\x41`, `\x{e9}`, `\101`, `\0`,
	"[a-c]", "[^a-c]", "[abc]", "[^a]", "[[:alpha:]]", "[[:^digit:]]", `[\d_]`, `[^\w]`, `[\W]`, `[a\]]`, "[]a]", "[^]a]", "[-a]", "[a-]", "[é-ü]",
	`[\x00-\x{10FFFF}]`, `[^\x00-\x{10FFFF}]`, `[\pL\d]`, `[^\PL]`, `[[:word:]-z]`, "[a-c-e]",
	`\pL`, `\PL`, `\p{Lu}`, `\p{^Lu}`, `\P{Lu}`, `\P{^Greek}`, `\p{Greek}`, `\p{greek}`, `\p{Letter}`, `\p{Lowercase_Letter}`, `\pN`, `\p{Any}`, `\p{ASCII}`, `\p{Assigned}`, `\p{Cn}`, `\p{LC}`,
	`\Qa.b\E`, `\Q*\E`, "{", "}", "{,2}", "]", ",",
}

var regexBad = []string{
	"(", ")", "[", "[a", "[b-a]", "[[:foo:]]", `\`, `\C`, `\8`, `\1`, `\x`, `\xg`, `\x{110000}`, `\x{}`, `\x4`, `\p`, `\p{`, `\p{Foo}`, `\pX`, `\p{Old_Italic}`, "*", "+", "?", "a**", "a*+", "a{2}{3}",
	"a{1001}", "a{2,1}", "a{1000}{0}", "(?", "(?i", "(?P<", "(?P<n", "(?P<n>", "(?P<n->a)", "(?P=n)", "(?<n>a)", "(?<>a)", "(?z)", "(?i-)", "(?-)", "(?--i)", "(?i-s:a)", "(?)", "(?:)", `\Q`, `\Qa`, `\E`, `\Z`, `\G`, "(?#x)", "(?=a)", "(?<=a)",
	"|*", "(|*)", "(*)", "^*", "$+", `\b+`, "(a{500}){3}", "(?:a{40}){30}", "\xff", "a\xc3", "[\xff]", "(?P<\xff>a)", `\p{\xff}`, "{2}", "a{", "a{1", "a{1,", "a{01}", "a{1,2", "a{100000000000}", "a{1,100000000000}", "\x00",
}

var regexQuantifiers = []string{"*", "+", "?", "*?", "+?", "??", "{2}", "{0}", "{1}", "{0,1}", "{1,}", "{0,}", "{2,}", "{1,3}", "{0,3}?", "{2,}?", "{3,3}", "{1,1}?"}

func pick(r *rand.Rand, from []string) string { return from[r.Intn(len(from))] }

func regexTree(r *rand.Rand, depth int) string {
	switch n := r.Intn(12); {
	case depth <= 0 || n < 3:
		if r.Intn(60) == 0 {
			return pick(r, regexBad)
		}
		if r.Intn(2) == 0 {
			return pick(r, regexAtoms[:8])
		}
		return pick(r, regexAtoms)
	case n < 6:
		s := ""
		for range 1 + r.Intn(4) {
			s += regexTree(r, depth-1)
		}
		return s
	case n < 8:
		parts := []string{}
		for range 2 + r.Intn(3) {
			part := ""
			if r.Intn(8) > 0 {
				part = regexTree(r, depth-1)
			}
			parts = append(parts, part)
		}
		return pick(r, []string{"(", "(?:", "(?i:", "(?P<x>", ""}) + strings.Join(parts, "|") + pick(r, []string{")", ")", ")", ""})
	case n < 10:
		open := pick(r, []string{"(", "(", "(?:", "(?i:", "(?s:", "(?m:", "(?U:", "(?i-s:", "(?-i:", "(?P<name>", "(?<n2>"})
		return open + regexTree(r, depth-1) + ")" + pick(r, regexQuantifiers)
	case n < 11:
		return regexTree(r, depth-1) + pick(r, regexQuantifiers)
	default:
		return pick(r, []string{"(?i)", "(?s)", "(?m)", "(?U)", "(?-i)", "(?is)"}) + regexTree(r, depth-1)
	}
}

var textParts = []string{"a", "b", "c", "A", "B", "C", "k", "K", "s", "S", "ſ", "K", "0", "9", "_", " ", "\n", "é", "É", "ß", "ẞ", "Σ", "σ", "ς", "世", "😀", "ab", "aa", "\xff", "-", ".", "]", "\x00", "͏"}

func drawRegex(r *rand.Rand) regexCase {
	c := regexCase{expression: regexTree(r, 1+r.Intn(4)), texts: []string{""}}
	if r.Intn(10) == 0 { // a mistake somewhere
		at := r.Intn(len(c.expression) + 1)
		c.expression = c.expression[:at] + pick(r, regexBad) + c.expression[at:]
	}
	for range 1 + r.Intn(5) {
		text := ""
		for range r.Intn(10) {
			if r.Intn(2) == 0 {
				text += pick(r, textParts[:6])
			} else {
				text += pick(r, textParts)
			}
		}
		c.texts = append(c.texts, text)
	}
	return c
}

// regexLimits are expressions at the limits of size and depth.
func regexLimits() []regexCase {
	texts := []string{"", "aaa", strings.Repeat("a", 200)}
	out := []regexCase{}
	for _, n := range []int{300, 499, 500, 998, 999, 1000, 1001, 5000} {
		out = append(out,
			regexCase{strings.Repeat("(", n) + "a" + strings.Repeat(")", n), texts},
			regexCase{strings.Repeat("(", n) + "ab" + strings.Repeat(")*", n), texts},
			regexCase{strings.Repeat("(", n), texts},
			regexCase{strings.Repeat("a", n), texts},
			regexCase{strings.Repeat("a|", n), texts},
			regexCase{strings.Repeat(`\pL`, n), texts},
			regexCase{strings.Repeat("a?", n) + strings.Repeat("a", n), texts[:2]})
	}
	for _, n := range []int{1, 2} {
		out = append(out, regexCase{"(?:" + strings.Repeat("[ab]|cd*", 400*n) + "){1000}", nil},
			regexCase{strings.Repeat("((xx)?){1000}", 10*n), nil})
	}
	return append(out, regexCase{"(a*)*b", texts}, regexCase{"(a|aa)+$", texts}, regexCase{"(x+x+)+y", []string{strings.Repeat("x", 3000)}})
}

// fixedRegexes: every atom and every mistake alone, ignoring case, negated and repeated.
func fixedRegexes() []regexCase {
	out := regexLimits()
	var everything strings.Builder
	for _, part := range textParts {
		everything.WriteString(part)
	}
	texts := append([]string{"", everything.String()}, textParts...)
	for _, atom := range append(append([]string{}, regexAtoms...), regexBad...) {
		for _, form := range []string{"%s", "(?i)%s", "(?i)[^%s]", "[%s]", "%s*", "(?s)(%s)+?", "(?m)^%s$"} {
			out = append(out, regexCase{fmt.Sprintf(form, atom), texts})
		}
	}
	return out
}

// line is the case as cel_eval reads it.
func (c regexCase) line() string {
	words := []string{"regex", hex.EncodeToString([]byte(c.expression))}
	for _, text := range c.texts {
		words = append(words, hex.EncodeToString([]byte(text)))
	}
	return strings.Join(words, ",")
}

// expected is what cel_eval should print for it.
func (c regexCase) expected() string {
	re, err := regexp.Compile(c.expression)
	if err != nil {
		return "error " + hex.EncodeToString([]byte(err.Error()))
	}
	out := fmt.Sprintf("groups %d", re.NumSubexp())
	for _, text := range c.texts {
		out += fmt.Sprintf(" %v %s ", re.MatchString(text), spans(re.FindStringSubmatchIndex(text)))
		for _, span := range re.FindAllStringIndex(text, -1) {
			out += spans(span)
		}
	}
	return out
}

func spans(at []int) string {
	out := "("
	for i := 0; i < len(at); i += 2 {
		if at[i] < 0 {
			out += "- "
		} else {
			out += fmt.Sprintf("%d-%d ", at[i], at[i+1])
		}
	}
	return out + ")"
}
