// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand"
	"strconv"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// Random expressions. Each kind is what an expression should evaluate to; now and then another
// kind stands in its place, so that checker and run time have something to refuse.
type kind int

const (
	aBool kind = iota
	anInt
	aUint
	aDouble
	aString
	someBytes
	aDuration
	aTimestamp
	ints
	strs
	doubles
	dyns
	aMap
	aQuantity
	aSemver
	anIP
	aCIDR
	aURL
	aFormat
	anOptionalInt
	anOptionalString
	aType
	aNull
	anAttribute
	kinds
)

type generator struct {
	*rand.Rand
	vars  map[kind][]string // variables of macros in scope
	list  bool              // DRAListTypeAttributes
	wrong bool              // kinds may be wrong
	n     int
}

func (g *generator) pick(of ...string) string { return of[g.Intn(len(of))] }

func (g *generator) quoted() string {
	s := g.pick("", "a", "b", "abc", "fish", "A100", "gpu-1", "dra.example.com", "1.2.3", "v1.2", "2.0.0-rc.1", "1Gi", "500m", "10", "-5", "true", "1h", "10.0.0.1", "10.0.0.0/8",
		"::1", "fe80::1", "2001:db8::/32", "https://example.com:8080/a%20b?q=1&q=2", "2024-01-02T03:04:05Z", "a,b,c", " x y ", "été", "世界", "😀", "%d %s", "a.b", "x", "\t", `"q"`, `\`, "NVIDIA H100", "1.0.0+build")
	switch g.Intn(12) {
	case 0:
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\t", `\t`).Replace(s) + "'"
	case 1:
		return "r" + strconv.Quote(strings.NewReplacer(`\`, "", `"`, "", "\t", "").Replace(s))
	default:
		return strconv.Quote(s)
	}
}

func (g *generator) regex() string {
	if g.Intn(20) == 0 {
		return strconv.Quote(g.pick("(", "[a", "*", `\p{Foo}`, "a**"))
	}
	return strconv.Quote(g.pick("", "a", "^a.*$", "[a-z]+", "(gpu|fish)", `\\d+`, "(?i)a100", `^[A-Z]\w+$`, ".", "a*", `\.`, "é"))
}

func (g *generator) attributeName() string {
	return g.pick("name", "model", "count", "enabled", "version", "ints", "strings", "bools", "versions", "missing", "big")
}

func (g *generator) domain() string {
	return g.pick(`"dra.example.com"`, `"dra.example.com"`, `"dra.example.com"`, `"other.example.com"`, `"missing"`, "device.driver")
}

func (g *generator) attribute() string {
	name := g.attributeName()
	switch g.Intn(8) {
	case 0:
		return fmt.Sprintf("device.attributes[%s][%q]", g.domain(), name)
	case 1:
		if g.Intn(4) == 0 {
			return fmt.Sprintf("device.attributes[%s][?%q].orValue(%s)", g.domain(), name, g.expr(kind(g.Intn(5)), 1))
		}
		return fmt.Sprintf("device.attributes[%s].?%s.orValue(%s)", g.domain(), name, g.expr(kind(g.Intn(5)), 1))
	default:
		return fmt.Sprintf("device.attributes[%s].%s", g.domain(), name)
	}
}

func (g *generator) variable() string {
	g.n++
	return fmt.Sprintf("v%d", g.n)
}

// with generates an expression in which a variable of a kind is known.
func (g *generator) with(k kind, name string, make func() string) string {
	g.vars[k] = append(g.vars[k], name)
	s := make()
	g.vars[k] = g.vars[k][:len(g.vars[k])-1]
	return s
}

func (g *generator) expr(k kind, depth int) string {
	if g.wrong && g.Intn(25) == 0 { // something else
		k = kind(g.Intn(int(kinds)))
	}
	if vars := g.vars[k]; len(vars) > 0 && g.Intn(3) == 0 {
		return vars[g.Intn(len(vars))]
	}
	if depth <= 0 {
		return g.leaf(k)
	}
	d := depth - 1
	switch g.Intn(14) {
	case 0:
		return fmt.Sprintf("(%s ? %s : %s)", g.expr(aBool, d), g.expr(k, d), g.expr(k, d))
	case 1:
		if g.Intn(3) == 0 {
			v, of := g.variable(), kind(g.Intn(int(kinds)))
			value := g.expr(of, d)
			return fmt.Sprintf("cel.bind(%s, %s, %s)", v, value, g.with(of, v, func() string { return g.expr(k, d) }))
		}
	case 2:
		if g.Intn(4) == 0 {
			return "dyn(" + g.expr(k, d) + ")"
		}
	case 3:
		if g.Intn(6) == 0 {
			return fmt.Sprintf("[%s, %s][%s]", g.expr(k, d), g.expr(k, d), g.pick("0", "1", "2", "0u", "1.0", "-1"))
		}
	}
	return g.call(k, d)
}

func (g *generator) leaf(k kind) string {
	switch k {
	case aBool:
		return g.pick("true", "false", "device.allowMultipleAllocations", `device.attributes["dra.example.com"].enabled`, `has(device.attributes["dra.example.com"].`+g.attributeName()+")", g.domain()+" in device.attributes")
	case anInt:
		return g.pick("0", "1", "2", "-1", "10", "42", "0x1F", "9223372036854775807", "-9223372036854775808", `device.attributes["dra.example.com"].count`, "int(3)")
	case aUint:
		return g.pick("0u", "1u", "7u", "18446744073709551615u", "uint(3)")
	case aDouble:
		return g.pick("0.0", "1.5", "-2.5", "1e10", "1e-7", "1e300", "3.0", "double('NaN')", "123456.789")
	case aString:
		return g.pick(g.quoted(), g.quoted(), g.quoted(), "device.driver", `device.attributes["dra.example.com"].name`, `device.attributes["dra.example.com"].model`)
	case someBytes:
		return g.pick("b''", "b'abc'", `b'\xff'`, "bytes('é')")
	case aDuration:
		return g.pick(`duration("1h")`, `duration("90s")`, `duration("-1.5s")`, `duration("0")`, `duration("1ms")`)
	case aTimestamp:
		return g.pick(`timestamp("2024-01-02T03:04:05Z")`, `timestamp("2023-06-15T12:30:00.5+02:00")`, "timestamp(0)")
	case ints:
		return g.pick("[]", "[1]", "[1, 2, 3]", "[3, 1, 2, 1]", "[5, 5]", "[0, -1]", "lists.range(4)", `device.attributes["dra.example.com"].ints`)
	case strs:
		return g.pick("[]", `["a"]`, `["b", "a"]`, `["a", "b", "c"]`, `["fish", "fish"]`, `"a,b,c".split(",")`, `device.attributes["dra.example.com"].strings`)
	case doubles:
		return g.pick("[1.5, 0.5]", "[0.0]", "[1e10, 2.0, -1.0]")
	case dyns:
		return g.pick(`[1, "a"]`, "[dyn(1), dyn('a'), dyn(2.0)]", "[[1, 2], [3]]", "[null]", "[dyn(1), null]", "[[1], [[2]]]", "[true, false]", "[1u, 2u]")
	case aMap:
		return g.pick(`{"a": 1}`, `{"a": 1, "b": 2}`, "{}", `device.attributes["dra.example.com"]`, `device.capacity["dra.example.com"]`, "device.attributes", `{1: "x", 2: "y"}`, `{"a": dyn(1), "b": dyn("x")}`, `{true: 1}`)
	case aQuantity:
		return g.pick(`quantity("1Gi")`, `quantity("500m")`, `quantity("10")`, `quantity("-5")`, `quantity("1e3")`, `quantity("0")`, `device.capacity["dra.example.com"].memory`, `device.capacity["dra.example.com"].cores`)
	case aSemver:
		return g.pick(`semver("1.2.3")`, `semver("2.0.0-rc.1")`, `semver("v1.2", true)`, `semver("1.0.0+build")`, `device.attributes["dra.example.com"].version`)
	case anIP:
		return g.pick(`ip("10.0.0.1")`, `ip("::1")`, `ip("fe80::1")`, `ip("224.0.0.1")`, `ip("0.0.0.0")`, `ip("2001:db8::1")`, `ip("169.254.1.1")`, `ip("255.255.255.255")`)
	case aCIDR:
		return g.pick(`cidr("10.0.0.0/8")`, `cidr("10.1.2.3/16")`, `cidr("2001:db8::/32")`, `cidr("0.0.0.0/0")`, `cidr("::1/128")`)
	case aURL:
		return g.pick(`url("https://example.com:8080/a%20b?q=1&q=2")`, `url("http://user:pw@[::1]/x")`, `url("/path/only")`, `url("mailto:a@b")`, `url("https://example.com")`)
	case aFormat:
		return "format." + g.pick("dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix", "dns1123SubdomainPrefix", "dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date", "datetime") + "()"
	case anOptionalInt:
		return g.pick("optional.of(1)", "optional.none()", "optional.ofNonZeroValue(0)", `device.attributes["dra.example.com"].?count`)
	case anOptionalString:
		return g.pick(`optional.of("a")`, `optional.none()`, `device.attributes["dra.example.com"].?name`, `{"a": "b"}[?"a"]`)
	case aType:
		return g.pick("int", "string", "bool", "list", "map", "type(1)", "type(device)", "net.IP", "double", "null_type", "type")
	case aNull:
		return "null"
	default:
		return g.attribute()
	}
}

func (g *generator) call(k kind, d int) string {
	e := func(k kind) string { return g.expr(k, d) }
	switch k {
	case aBool:
		return g.boolCall(d)
	case anInt:
		return g.pick(
			e(anInt)+" "+g.pick("+", "-", "*", "/", "%")+" "+e(anInt), "-"+e(anInt), "size("+e(kind(int(aString)+g.Intn(2)))+")", e(aString)+".size()", e(ints)+".size()", "size("+e(aMap)+")",
			e(aString)+".indexOf("+e(aString)+")", e(aString)+".indexOf("+e(aString)+", "+e(anInt)+")", e(aString)+".lastIndexOf("+e(aString)+")", e(aString)+".lastIndexOf("+e(aString)+", "+e(anInt)+")",
			e(ints)+"."+g.pick("sum", "min", "max")+"()", e(ints)+"."+g.pick("indexOf", "lastIndexOf")+"("+e(anInt)+")", e(aQuantity)+".asInteger()", "sign("+e(aQuantity)+")", e(aQuantity)+".compareTo("+e(aQuantity)+")",
			e(aSemver)+"."+g.pick("major", "minor", "patch")+"()", e(aSemver)+".compareTo("+e(aSemver)+")", e(anIP)+".family()", e(aCIDR)+".prefixLength()", "int("+e(kind(int(aUint)+g.Intn(3)))+")", "int("+e(aTimestamp)+")",
			e(aTimestamp)+"."+g.pick("getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getHours", "getMinutes", "getSeconds", "getMilliseconds")+"("+g.pick("", "", `"+01:00"`, `"UTC"`, `"-02:30"`)+")",
			e(aDuration)+"."+g.pick("getHours", "getMinutes", "getSeconds", "getMilliseconds")+"()", e(anOptionalInt)+".orValue("+e(anInt)+")", e(anOptionalInt)+".value()", e(ints)+"["+e(anInt)+"]", e(aMap)+".size()", `{"a": 1, "b": 2}[`+e(aString)+"]")
	case aUint:
		return g.pick(e(aUint)+" "+g.pick("+", "-", "*", "/", "%")+" "+e(aUint), "uint("+e(anInt)+")", "uint("+e(aDouble)+")", "uint("+e(aString)+")", "[1u, 2u]."+g.pick("sum", "max", "min")+"()")
	case aDouble:
		return g.pick(e(aDouble)+" "+g.pick("+", "-", "*", "/")+" "+e(aDouble), "-"+e(aDouble), "double("+e(anInt)+")", "double("+e(aString)+")", e(doubles)+"."+g.pick("sum", "min", "max")+"()", e(aQuantity)+".asApproximateFloat()")
	case aString:
		return g.stringCall(d)
	case someBytes:
		return g.pick(e(someBytes)+" + "+e(someBytes), "bytes("+e(aString)+")")
	case aDuration:
		return g.pick(e(aDuration)+" "+g.pick("+", "-")+" "+e(aDuration), e(aTimestamp)+" - "+e(aTimestamp), "duration("+e(aString)+")", "["+e(aDuration)+", "+e(aDuration)+"]."+g.pick("sum", "max")+"()")
	case aTimestamp:
		return g.pick(e(aTimestamp)+" "+g.pick("+", "-")+" "+e(aDuration), "timestamp("+e(aString)+")", "timestamp("+e(anInt)+")")
	case ints, strs, doubles, dyns:
		return g.listCall(k, d)
	case aMap:
		v := g.variable()
		return g.pick(`{"x": `+e(anInt)+`, `+e(aString)+`: `+e(anInt)+`}`, e(ints)+".transformMap(i, v, v + i)", e(aMap)+".transformMap(k, v, "+e(anInt)+")", e(aURL)+".getQuery()",
			fmt.Sprintf("%s.transformMapEntry(i, %s, {string(%s): i})", e(ints), v, v), `{?"a": `+e(anOptionalInt)+`}`)
	case aQuantity:
		return g.pick("quantity("+e(aString)+")", e(aQuantity)+"."+g.pick("add", "sub")+"("+e(aQuantity)+")", e(aQuantity)+"."+g.pick("add", "sub")+"("+e(anInt)+")")
	case aSemver:
		return g.pick("semver("+e(aString)+")", "semver("+e(aString)+", "+e(aBool)+")")
	case anIP:
		return g.pick("ip("+e(aString)+")", e(aCIDR)+".ip()")
	case aCIDR:
		return g.pick("cidr("+e(aString)+")", e(aCIDR)+".masked()")
	case aURL:
		return "url(" + e(aString) + ")"
	case aFormat:
		return g.leaf(k)
	case anOptionalInt:
		return g.pick("optional.of("+e(anInt)+")", "optional.ofNonZeroValue("+e(anInt)+")", e(anOptionalInt)+".or("+e(anOptionalInt)+")", e(anOptionalInt)+".optMap(x, x + "+e(anInt)+")", e(ints)+"[?"+e(anInt)+"]", e(ints)+"."+g.pick("first", "last")+"()", e(anOptionalInt)+".optFlatMap(x, optional.of(x))")
	case anOptionalString:
		return g.pick("optional.of("+e(aString)+")", e(anOptionalString)+".or("+e(anOptionalString)+")", e(strs)+"[?"+e(anInt)+"]", e(strs)+"."+g.pick("first", "last")+"()")
	case aType:
		return "type(" + g.expr(kind(g.Intn(int(kinds))), d) + ")"
	default:
		return g.leaf(k)
	}
}

func (g *generator) boolCall(d int) string {
	e := func(k kind) string { return g.expr(k, d) }
	same := kind(g.Intn(int(kinds)))
	ordered := kind(1 + g.Intn(7))
	v, w := g.variable(), g.variable()
	inList := func(k, of kind) string {
		macro := g.pick("all", "exists", "exists_one", "existsOne")
		return fmt.Sprintf("%s.%s(%s, %s)", e(k), macro, v, g.with(of, v, func() string { return e(aBool) }))
	}
	switch g.Intn(28) {
	case 0, 1, 2:
		return "(" + e(aBool) + " " + g.pick("&&", "||") + " " + e(aBool) + ")"
	case 3:
		return "!" + e(aBool)
	case 4, 5:
		return "(" + e(same) + " " + g.pick("==", "!=") + " " + e(same) + ")"
	case 6, 7:
		return "(" + e(ordered) + " " + g.pick("<", "<=", ">", ">=") + " " + e(ordered) + ")"
	case 8:
		return "(" + e(kind(1+g.Intn(3))) + " " + g.pick("==", "<", ">=", "!=") + " " + e(kind(1+g.Intn(3))) + ")"
	case 9:
		return e(aString) + "." + g.pick("contains", "startsWith", "endsWith") + "(" + e(aString) + ")"
	case 10:
		return e(aString) + ".matches(" + g.pick(g.regex(), g.regex(), e(aString)) + ")"
	case 11:
		return "(" + g.pick(e(anInt)+" in "+e(ints), e(aString)+" in "+e(strs), e(aString)+" in "+e(aMap), e(anInt)+" in "+e(dyns), e(aString)+" in device.attributes") + ")"
	case 12:
		return inList(ints, anInt)
	case 13:
		return inList(strs, aString)
	case 14:
		return fmt.Sprintf("%s.%s(%s, %s)", e(aMap), g.pick("all", "exists"), v, g.with(aString, v, func() string { return e(aBool) }))
	case 15:
		return fmt.Sprintf("%s.%s(%s, %s, %s)", e(ints), g.pick("all", "exists", "existsOne"), v, w, g.with(anInt, v, func() string { return g.with(anInt, w, func() string { return e(aBool) }) }))
	case 16:
		return e(aQuantity) + "." + g.pick("isGreaterThan", "isLessThan") + "(" + e(aQuantity) + ")"
	case 17:
		return e(aSemver) + "." + g.pick("isGreaterThan", "isLessThan") + "(" + e(aSemver) + ")"
	case 18:
		return g.pick("isQuantity", "isSemver", "isIP", "isCIDR", "isURL", "ip.isCanonical") + "(" + e(aString) + ")"
	case 19:
		return e(anIP) + "." + g.pick("isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast") + "()"
	case 20:
		return e(aCIDR) + "." + g.pick("containsIP", "containsCIDR") + "(" + e(kind(g.pickKind(aString, anIP, aCIDR))) + ")"
	case 21:
		return "sets." + g.pick("contains", "equivalent", "intersects") + "(" + g.pick(e(ints)+", "+e(ints), e(strs)+", "+e(strs)) + ")"
	case 22:
		return g.pick(e(ints), e(strs), e(doubles)) + ".isSorted()"
	case 23:
		return g.pick(e(anOptionalInt), e(anOptionalString), e(aFormat)+".validate("+e(aString)+")", "format.named("+e(aString)+")", `format.named("uuid")`) + ".hasValue()"
	case 24:
		return "has(" + g.pick(g.attribute(), `device.attributes["dra.example.com"].name`, `{"a": 1}.a`, "device.driver", "device.capacity.memory") + ")"
	case 25:
		return e(aQuantity) + ".isInteger()"
	case 26:
		if g.list {
			return g.pick(g.attribute(), e(ints), e(aString)) + ".includes(" + g.pick(e(anInt), e(aString)) + ")"
		}
		return "bool(" + e(aString) + ")"
	default:
		return g.attribute() + g.pick("", " == "+e(aString), " > "+e(anInt), " != "+e(aBool))
	}
}

func (g *generator) pickKind(of ...kind) int { return int(of[g.Intn(len(of))]) }

func (g *generator) stringCall(d int) string {
	e := func(k kind) string { return g.expr(k, d) }
	switch g.Intn(18) {
	case 0, 1:
		return e(aString) + " + " + e(aString)
	case 2:
		return "string(" + e(kind(g.Intn(int(aTimestamp)+1))) + ")"
	case 3:
		return "string(" + e(kind(g.pickKind(anIP, aCIDR, aType))) + ")"
	case 4:
		return e(aString) + "." + g.pick("lowerAscii", "upperAscii", "trim") + "()"
	case 5:
		return e(aString) + ".replace(" + e(aString) + ", " + e(aString) + g.pick("", ", "+e(anInt)) + ")"
	case 6:
		return e(aString) + ".substring(" + e(anInt) + g.pick("", ", "+e(anInt)) + ")"
	case 7:
		return e(aString) + ".charAt(" + e(anInt) + ")"
	case 8, 9:
		return e(strs) + ".join(" + g.pick("", e(aString)) + ")"
	case 10:
		clauses, args := "", []string{}
		for range g.Intn(4) {
			clause := g.pick("s", "s", "d", "f", "e", "b", "x", "X", "o", ".2f", ".0f", ".3e", ".s", "%", "q", ".f")
			clauses += g.pick("", "x", " ") + "%" + clause
			if clause == "%" {
				continue
			}
			k := kind(g.Intn(int(aNull) + 1))
			switch clause[len(clause)-1] {
			case 'd', 'o', 'b', 'x', 'X':
				k = kind(g.pickKind(anInt, aUint, anInt, k))
			case 'f', 'e':
				k = kind(g.pickKind(aDouble, aDouble, k))
			}
			args = append(args, e(k))
		}
		return g.pick(strconv.Quote(clauses), "("+strconv.Quote(clauses)+" + '')") + ".format([" + strings.Join(args, ", ") + "])"
	case 11:
		return "strings.quote(" + e(aString) + ")"
	case 12:
		return e(aString) + ".find(" + g.pick(g.regex(), e(aString)) + ")"
	case 13:
		return e(aURL) + "." + g.pick("getScheme", "getHost", "getHostname", "getPort", "getEscapedPath") + "()"
	case 14:
		return e(strs) + "[" + e(anInt) + "]"
	case 15:
		return e(anOptionalString) + ".orValue(" + e(aString) + ")"
	case 16:
		return e(strs) + "." + g.pick("min", "max") + "()"
	default:
		return "string(" + e(someBytes) + ")"
	}
}

func (g *generator) listCall(k kind, d int) string {
	e := func(k kind) string { return g.expr(k, d) }
	element := map[kind]kind{ints: anInt, strs: aString, doubles: aDouble, dyns: kind(g.Intn(int(kinds)))}[k]
	v, w := g.variable(), g.variable()
	in := func(of kind, make func() string) string { return g.with(of, v, make) }
	switch g.Intn(14) {
	case 0, 1:
		return "[" + e(element) + ", " + e(element) + "]"
	case 2:
		return e(k) + " + " + e(k)
	case 3:
		return fmt.Sprintf("%s.map(%s, %s)", e(ints), v, in(anInt, func() string { return e(element) }))
	case 4:
		return fmt.Sprintf("%s.map(%s, %s, %s)", e(strs), v, in(aString, func() string { return e(aBool) }), in(aString, func() string { return e(element) }))
	case 5:
		return fmt.Sprintf("%s.filter(%s, %s)", e(k), v, in(element, func() string { return e(aBool) }))
	case 6:
		return e(k) + "." + g.pick("sort", "distinct", "reverse") + "()"
	case 7:
		return e(k) + ".slice(" + e(anInt) + ", " + e(anInt) + ")"
	case 8:
		return "[" + e(k) + ", " + e(k) + "].flatten(" + g.pick("", "1", "2", e(anInt)) + ")"
	case 9:
		return fmt.Sprintf("%s.sortBy(%s, %s)", e(k), v, in(element, func() string { return e(kind(g.pickKind(anInt, aString, element))) }))
	case 10:
		switch k {
		case ints:
			return "lists.range(" + g.pick("0", "3", "5", e(anInt)+" % 50") + ")" // upstream makes a list of any size
		case strs:
			return g.pick(e(aString)+".split("+e(aString)+g.pick("", ", "+e(anInt))+")", e(aString)+".findAll("+g.pick(g.regex(), e(aString))+g.pick("", ", "+e(anInt))+")")
		}
		return g.leaf(k)
	case 11:
		return fmt.Sprintf("%s.transformList(%s, %s, %s)", e(ints), v, w, in(anInt, func() string { return e(element) }))
	case 12:
		return "[?" + e(anOptionalInt) + ", " + e(element) + "]"
	default:
		return g.leaf(k)
	}
}

// damage changes a byte or two of an expression: most do not parse then.
func (g *generator) damage(s string) string {
	for range 1 + g.Intn(2) {
		at := g.Intn(len(s) + 1)
		switch g.Intn(3) {
		case 0:
			s = s[:at] + g.pick("(", ")", "[", "]", ".", ",", "'", `"`, "?", ":", "&&", "!", "-", "@", "#", "//", " ", "{", "}", "$", "`", "in", "é", "\n", "0x", "1e", "u") + s[at:]
		case 1:
			if at < len(s) {
				s = s[:at] + s[at+1:]
			}
		default:
			s = s[:at]
		}
	}
	if strings.ToValidUTF8(s, "") != s {
		return strings.ToValidUTF8(s, "")
	}
	return s
}

func (g *generator) device() resourceapi.Device {
	d := resourceapi.Device{Name: "d", Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{}, Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{}}
	set := func(name string, value resourceapi.DeviceAttribute) {
		if g.Intn(5) > 0 {
			prefix := g.pick("", "", "dra.example.com/", "other.example.com/")
			d.Attributes[resourceapi.QualifiedName(prefix+name)] = value
		}
	}
	set("name", resourceapi.DeviceAttribute{StringValue: ptr.To(g.pick("fish", "gpu-1", "", "été"))})
	set("model", resourceapi.DeviceAttribute{StringValue: ptr.To(g.pick("A100", "NVIDIA H100", "a"))})
	set("count", resourceapi.DeviceAttribute{IntValue: ptr.To(int64(g.Intn(10) - 2))})
	set("big", resourceapi.DeviceAttribute{IntValue: ptr.To(int64(g.Uint64()))})
	set("enabled", resourceapi.DeviceAttribute{BoolValue: ptr.To(g.Intn(2) == 0)})
	set("version", resourceapi.DeviceAttribute{VersionValue: ptr.To(g.pick("1.2.3", "2.0.0-rc.1", "0.0.1", "1.0.0+build"))})
	if g.list {
		set("ints", resourceapi.DeviceAttribute{IntValues: []int64{1, 2, int64(g.Intn(5))}})
		set("strings", resourceapi.DeviceAttribute{StringValues: []string{"a", g.pick("b", "fish")}})
		set("bools", resourceapi.DeviceAttribute{BoolValues: []bool{true, g.Intn(2) == 0}})
		set("versions", resourceapi.DeviceAttribute{VersionValues: []string{"1.2.3", g.pick("2.0.0", "1.2.3-a")}})
	}
	switch g.Intn(60) { // upstream reports one of several, at random
	case 0:
		set("odd", resourceapi.DeviceAttribute{VersionValue: ptr.To("1.2")})
	case 1:
		set("list", resourceapi.DeviceAttribute{StringValues: []string{"x"}})
	case 2:
		set("none", resourceapi.DeviceAttribute{})
	}
	for _, name := range []string{"memory", "cores"} {
		if g.Intn(5) > 0 {
			d.Capacity[resourceapi.QualifiedName(name)] = resourceapi.DeviceCapacity{Value: resource.MustParse(g.pick("1Gi", "10", "500m", "0", "80Gi", "1e3"))}
		}
	}
	if g.Intn(2) == 0 {
		d.AllowMultipleAllocations = ptr.To(g.Intn(2) == 0)
	}
	return d
}

func (g *generator) slices() []resourceapi.ResourceSliceSpec {
	slice := resourceapi.ResourceSliceSpec{Driver: g.pick("dra.example.com", "dra.example.com", "other.example.com", "driver.example.org")}
	for range 1 + g.Intn(3) {
		slice.Devices = append(slice.Devices, g.device())
	}
	return []resourceapi.ResourceSliceSpec{slice}
}

func drawCase(r *rand.Rand) celCase {
	g := &generator{Rand: r, vars: map[kind][]string{}}
	c := celCase{ConsumableCapacity: r.Intn(4) > 0, ListTypeAttributes: r.Intn(3) == 0}
	g.list, g.wrong = c.ListTypeAttributes, r.Intn(3) == 0
	k := aBool
	if r.Intn(30) == 0 {
		k = kind(r.Intn(int(kinds)))
	}
	c.Expression = g.expr(k, 1+r.Intn(4))
	if len(c.Expression) > 4000 {
		c.Expression = g.expr(k, 1)
	}
	if r.Intn(15) == 0 {
		c.Expression = g.damage(c.Expression)
	}
	c.Slices = g.slices()
	return c
}
