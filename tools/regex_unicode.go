// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// Writes src/cel/regex/unicode_table.c from Go's unicode package:
//
//	go run tools/regex_unicode.go >src/cel/regex/unicode_table.c
//
// Every code point has one category and one script, so a table of the places where these change
// holds all classes. Case folding is a table of runs with a common distance.
package main

import (
	"bufio"
	"fmt"
	"os"
	"sort"
	"strings"
	"unicode"
)

const last = unicode.MaxRune

var out = bufio.NewWriter(os.Stdout)

// list prints items, as many per line as fit.
func list(items []string) {
	line := "   "
	for _, item := range items {
		if len(line)+1+len(item) > 99 {
			fmt.Fprintln(out, line)
			line = "   "
		}
		line += " " + item
	}
	fmt.Fprintln(out, line)
}

// canonical is the form in which Go looks names up: "Old_Italic" is "Olditalic".
func canonical(name string) string {
	name = strings.NewReplacer("_", "", "-", "", " ", "").Replace(name)
	return strings.ToUpper(name[:1]) + strings.ToLower(name[1:])
}

func members(tab *unicode.RangeTable, set func(r rune)) {
	for _, x := range tab.R16 {
		for r := rune(x.Lo); r <= rune(x.Hi); r += rune(x.Stride) {
			set(r)
		}
	}
	for _, x := range tab.R32 {
		for r := rune(x.Lo); r <= rune(x.Hi); r += rune(x.Stride) {
			set(r)
		}
	}
}

// runs prints start<<8 | id for each place where the id changes.
func runs(name string, of []uint8) {
	var items []string
	for r := 0; r <= last; r++ {
		if r == 0 || of[r] != of[r-1] {
			items = append(items, fmt.Sprintf("%d,", r<<8|int(of[r])))
		}
	}
	fmt.Fprintf(out, "const uint32_t %s[] = {\n", name)
	list(items)
	fmt.Fprintf(out, "};\nconst size_t %s_n = ARRAY_LEN(%s);\n\n", name, name)
}

func categories() {
	var leaves []string
	for name := range unicode.Categories {
		if len(name) == 2 && name != "LC" && name != "Cn" {
			leaves = append(leaves, name)
		}
	}
	sort.Strings(leaves)
	leaves = append([]string{"Cn"}, leaves...) // 0: not assigned
	of := make([]uint8, last+1)
	for id, name := range leaves {
		members(unicode.Categories[name], func(r rune) { of[r] = uint8(id) })
	}
	runs("unicode_category_runs", of)

	names := map[string]uint32{}
	for name, tab := range unicode.Categories {
		in := make([]bool, last+1)
		members(tab, func(r rune) { in[r] = true })
		mask := uint32(0)
		for r, yes := range in {
			if yes {
				mask |= 1 << of[r]
			}
		}
		for r, yes := range in {
			if yes != (mask>>of[r]&1 == 1) {
				panic(name + " is no union of categories")
			}
		}
		names[canonical(name)] = mask
	}
	for alias, name := range unicode.CategoryAliases {
		names[canonical(alias)] = names[canonical(name)]
	}
	names["Any"] = 1<<len(leaves) - 1
	names["Assigned"] = names["Any"] &^ 1
	var items []string
	for name, mask := range names {
		items = append(items, fmt.Sprintf("{\"%s\", 0x%x},", name, mask))
	}
	sort.Strings(items)
	fmt.Fprintln(out, "const struct unicode_name unicode_categories[] = {")
	list(items)
	fmt.Fprintf(out, "};\nconst size_t unicode_categories_n = ARRAY_LEN(unicode_categories);\n\n")
}

func scripts() {
	var names []string
	for name := range unicode.Scripts {
		// Go 1.26 looks for the canonical form among names that are not: it finds one-word names only.
		if name == canonical(name) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	of := make([]uint8, last+1)
	var items []string
	for i, name := range names {
		id := i + 1 // 0: no script
		if id > 255 {
			panic("too many scripts")
		}
		members(unicode.Scripts[name], func(r rune) {
			if of[r] != 0 {
				panic("two scripts")
			}
			of[r] = uint8(id)
		})
		items = append(items, fmt.Sprintf("{\"%s\", %d},", name, id))
	}
	runs("unicode_script_runs", of)
	sort.Strings(items)
	fmt.Fprintln(out, "const struct unicode_name unicode_scripts[] = {")
	list(items)
	fmt.Fprintf(out, "};\nconst size_t unicode_scripts_n = ARRAY_LEN(unicode_scripts);\n\n")
}

// distance of the next member of r's orbit; 0 if r is alone.
func distance(r rune) int {
	if r < 0 || r > last {
		return 0
	}
	return int(unicode.SimpleFold(r)) - int(r)
}

func folds() {
	var items []string
	for r := rune(0); r <= last; {
		d := distance(r)
		if d == 0 {
			r++
			continue
		}
		end := r
		if d == 1 && distance(r+1) == -1 { // pairs: r and r+1 swap
			for distance(end+2) == 1 && distance(end+3) == -1 {
				end += 2
			}
			end++
			items = append(items, fmt.Sprintf("{%d, %d, 0},", r, end))
		} else {
			for distance(end+1) == d && !(d == 1) {
				end++
			}
			items = append(items, fmt.Sprintf("{%d, %d, %d},", r, end, d))
		}
		r = end + 1
	}
	fmt.Fprintln(out, "const struct unicode_fold unicode_folds[] = {")
	list(items)
	fmt.Fprintf(out, "};\nconst size_t unicode_folds_n = ARRAY_LEN(unicode_folds);\n")
}

func main() {
	fmt.Fprintf(out, "/* SPDX-License-Identifier: Apache-2.0 */\n")
	fmt.Fprintf(out, "/* Unicode %s. Written by tools/regex_unicode.go: do not edit. */\n", unicode.Version)
	fmt.Fprintf(out, "#include \"cel/regex/unicode.h\"\n\n/* clang-format off */\n\n")
	categories()
	scripts()
	folds()
	out.Flush()
}
