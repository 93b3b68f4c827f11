#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes include/berth/plugin.h as Rust: the types of the plugin ABI, without its comments.

    tools/rust_abi.py [--check FILE]     print it, or fail if FILE differs

`berth plugin new --lang rust` puts the result beside a plugin's source as berth.rs.
"""

import os
import re
import sys

HEADER = os.path.join(os.path.dirname(__file__), "..", "include", "berth", "plugin.h")
PRIMITIVES = {"uint8_t": "u8", "uint32_t": "u32", "uint64_t": "u64", "int32_t": "i32",
              "int64_t": "i64", "size_t": "usize", "bool": "bool", "double": "f64",
              "char": "c_char", "void": "c_void", "int": "c_int", "unsigned": "c_uint"}
KEYWORDS = {"type", "fn", "self", "ref", "use", "move", "in", "as", "match", "where", "loop"}
# Structs that a plugin has as constants: "Plugin { name: ..., ..NO_PLUGIN }".
ZEROED = {"berth_plugin": "NO_PLUGIN", "berth_arg": "NO_ARG"}
TOKEN = re.compile(r"\w+|[^\s\w]")


def camel(name):
    if name == "berth_fn":
        return "BerthFn"  # Fn is a trait of Rust
    return "".join(part.capitalize() for part in name.removeprefix("berth_").split("_"))


def safe(name):
    return name + "_" if name in KEYWORDS else name


class Declaration:
    """Reads C declarations from tokens. A type is its Rust text."""

    def __init__(self, tokens, functions):
        self.tokens, self.at, self.functions = tokens, 0, functions

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def base(self):
        constant, name = False, None
        while name is None or self.peek() == "const":
            word = self.take()
            if word == "const":
                constant = True
            elif word not in ("struct", "enum"):
                name = word
        if name in self.functions:
            return "fn " + camel(name), constant
        return PRIMITIVES.get(name) or camel(name), constant

    def parameters(self):
        """The parameters of a function as Rust texts; the opening parenthesis has been read."""
        out = []
        while self.peek() != ")":
            kind, constant = self.base()
            name, kind = self.declarator(kind, constant)
            if kind != "c_void":
                out.append(f"{safe(name)}: {kind}" if name else kind)
            if self.peek() == ",":
                self.take()
        self.take()
        return out

    def suffix(self, kind):
        if self.peek() == "[":
            self.take()
            size = self.take()
            self.take()
            return f"[{kind}; {size}]"
        if self.peek() == "(":
            self.take()
            result = "" if kind == "c_void" else f" -> {kind}"
            return f"unsafe extern \"C\" fn({', '.join(self.parameters())}){result}"
        return kind

    def declarator(self, kind, constant):
        while self.peek() in ("*", "const"):
            if self.take() == "const":
                constant = True
            elif kind.startswith("fn ") or kind.startswith("unsafe extern"):
                kind, constant = f"Option<{kind.removeprefix('fn ')}>", False
            else:
                kind, constant = f"*{'const' if constant else 'mut'} {kind}", False
        if self.peek() == "(" and self.tokens[self.at + 1] == "*":
            self.at += 2
            name = self.take()
            assert self.take() == ")"
            return name, f"Option<{self.suffix(kind)}>"
        name = self.take() if re.match(r"\w", self.peek() or "") else ""
        return name, self.suffix(kind)

    def members(self):
        kind, constant = self.base()
        while True:
            yield self.declarator(kind, constant)
            if self.peek() != ",":
                return
            self.take()


def enum(name, body):
    out, last = [f"pub type {camel(name)} = c_uint;"], -1
    values = {}
    for row in re.split(r",(?![^(]*\))", body):
        if not row.strip():
            continue
        key, _, text = row.partition("=")
        last = eval(text, {}, values) if text.strip() else last + 1  # noqa: the header is ours
        values[key.strip()] = last
        out.append(f"pub const {key.strip()}: {camel(name)} = {last};")
    return "\n".join(out)


def zero(kind):
    if kind.startswith("["):
        element, size = kind[1:-1].rsplit("; ", 1)
        return f"[{zero(element)}; {size}]"
    if kind.startswith("*"):
        return "std::ptr::null()" if kind.startswith("*const") else "std::ptr::null_mut()"
    return "None" if kind.startswith("Option") else "0"


def struct(name, body, functions):
    members = []
    for line in body.split(";"):
        tokens = TOKEN.findall(line)
        if tokens:
            members += Declaration(tokens, functions).members()
    out = ["#[repr(C)]", "#[derive(Clone, Copy)]", f"pub struct {camel(name)} {{"]
    out += [f"    pub {safe(member)}: {kind}," for member, kind in members]
    out.append("}")
    if name in ZEROED:
        out += ["", f"pub const {ZEROED[name]}: {camel(name)} = {camel(name)} {{"]
        out += [f"    {safe(member)}: {zero(kind)}," for member, kind in members]
        out.append("};")
    return "\n".join(out)


def convert(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    constants = dict(re.findall(r"#define (BERTH_ABI_M\w+|BERTH_METRIC_MAX_LABELS) +(\d+)", text))
    text = re.sub(r"^\s*#.*(\\\n.*)*$", "", text, flags=re.M)
    text = text.replace('extern "C" {', "")
    functions = set(re.findall(r"typedef [^;(]*?\*?(berth_\w+)\(", text))
    out = ["// Generated from berth/plugin.h by tools/rust_abi.py: the plugin ABI of berth.",
           "#![allow(dead_code)]",
           "use std::os::raw::{c_char, c_int, c_uint, c_void};"]
    out += [f"pub const {k}: u32 = {v};" for k, v in constants.items()]
    out.append("pub const BERTH_ABI: u32 = BERTH_ABI_MAJOR << 16 | BERTH_ABI_MINOR;")
    opaque = re.findall(r"\bstruct (berth_\w+);", text)
    defined = set(re.findall(r"\bstruct (berth_\w+) \{", text))
    for name in opaque:
        if name not in defined:
            out.append(f"#[repr(C)]\npub struct {camel(name)} {{\n    _opaque: [u8; 0],\n}}")
    for kind, name, body, typedef in re.findall(
            r"\b(enum|struct) (berth_\w+) \{(.*?)\};|typedef ([^;]+);", text, flags=re.S):
        if typedef:
            tokens = TOKEN.findall(typedef)
            name, kind = next(Declaration(tokens, functions).members())
            out.append(f"pub type {camel(name)} = {kind};")
        elif kind == "enum":
            out.append(enum(name, body))
        else:
            out.append(struct(name, body, functions))
    return "\n\n".join(out) + "\n"


def main():
    with open(HEADER, encoding="utf-8") as f:
        text = convert(f.read())
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        with open(sys.argv[2], encoding="utf-8") as f:
            if f.read() != text:
                sys.exit(f"{sys.argv[2]} differs from plugin.h: run tools/rust_abi.py >{sys.argv[2]}")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
