// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// The corpus: every expression about devices in upstream's tests, manifests and API documentation.

//go:embed corpus.json
var corpusText []byte

func corpus() []string {
	var expressions []string
	if err := json.Unmarshal(corpusText, &expressions); err != nil {
		fatal("corpus.json: %v", err)
	}
	return expressions
}

var (
	yamlExpression = regexp.MustCompile(`(?m)^\s*(?:- cel: *\n\s*)?expression: *(?:\|-?\n)?(.*device\..*)$`)
	inText         = regexp.MustCompile("(?m)^\\s*(?://|\\*|//\t)*\\s*((?:cel\\.bind\\(|has\\(|!)?device\\.(?:driver|attributes|capacity|allowMultiple)[^\n]*)$")
)

// extract collects expressions from the folders given: string literals of Go tests that mention a
// device, `expression:` of manifests, and examples in comments.
func extract(folders []string) {
	found := map[string]bool{}
	for _, folder := range folders {
		filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			switch {
			case err != nil || !strings.Contains(string(text), "device"):
			case strings.HasSuffix(path, ".go"):
				fromGo(path, text, found)
			case strings.HasSuffix(path, ".yaml"):
				for _, m := range yamlExpression.FindAllStringSubmatch(string(text), -1) {
					found[strings.TrimSpace(m[1])] = true
				}
			}
			return nil
		})
	}
	var all []string
	for expression := range found {
		all = append(all, expression)
	}
	sort.Strings(all)
	text, _ := json.MarshalIndent(all, "", "  ")
	os.Stdout.Write(append(text, '\n'))
}

func fromGo(path string, text []byte, found map[string]bool) {
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
	if err != nil {
		return
	}
	tests := strings.HasSuffix(path, "cel/compile_test.go")
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && strings.EqualFold(key.Name, "expression") {
				if value, ok := n.Value.(*ast.BasicLit); ok && value.Kind == token.STRING {
					if s, err := strconv.Unquote(value.Value); err == nil && (tests || strings.Contains(s, "device.")) {
						found[s] = true
					}
				}
			}
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && strings.Contains(s, "device.") &&
				!strings.ContainsAny(s, "\n") && regexp.MustCompile(`^[!(]*(device\.|has\(|cel\.bind)`).MatchString(s) {
				found[s] = true
			}
		}
		return true
	})
	for _, group := range file.Comments {
		for _, m := range inText.FindAllStringSubmatch(group.Text(), -1) {
			found[strings.TrimSpace(m[1])] = true
		}
	}
}
