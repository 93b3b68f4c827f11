#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `make install` gives to developers: headers, libberth, pkg-config, `berth plugin new`."""

import os
import re
import shutil
import subprocess

import berth
from berth import ROOT, check, equal
from sdk import Sdk
from tap import contains, main, skip, test

EXAMPLES = sorted(name for name in os.listdir(os.path.join(ROOT, "examples"))
                  if os.path.exists(os.path.join(ROOT, "examples", name, "Makefile")))


@test
def only_public_symbols_are_exported(kit):
    for file, flags in (("libberth.so", ["-D"]), ("libberth.a", ["-g"])):
        out = kit.run("nm", "--defined-only", *flags, os.path.join(kit.prefix, "lib", file))
        names = set(re.findall(r" [A-Z] (\w+)$", out, re.M))
        check("berth_scheduler_main" in names, f"{file}: {names}")
        equal({n for n in names if not n.startswith("berth_")}, set(), f"other symbols of {file}")


@test
def headers_compile_as_c_and_as_cxx(kit):
    for name in sorted(os.listdir(os.path.join(kit.prefix, "include", "berth"))):
        for compiler, language, std in (("cc", "c", "c11"), ("c++", "c++", "c++20")):
            if shutil.which(compiler):
                flags = kit.run("pkg-config", "--cflags", "berth").split()
                subprocess.run([compiler, "-x", language, f"-std={std}", "-Wall", "-Wextra", "-pedantic",
                                "-Werror", "-fsyntax-only", *flags, "-"], check=True, text=True,
                               input=f"#include <berth/{name}>\n", env=kit.environment())


@test
def every_example_does_what_it_says(kit):
    check(len(EXAMPLES) >= 9, EXAMPLES)
    for name in EXAMPLES:
        if name == "least-pods" and not shutil.which("rustc"):
            continue
        kit.run("make", "-C", name, "test")


def program(kit, source, *libs):
    path = os.path.join(kit.dir, "program")
    flags = kit.run("pkg-config", "--cflags", *([] if libs else ["--libs"]), "berth").split()
    done = subprocess.run(["cc", "-x", "c", "-", "-o", path, "-x", "none", *flags, *libs], input=source,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=kit.environment())
    check(done.returncode == 0, done.stdout)
    return path


OWN = """
#include <berth/scheduler.h>
static const struct berth_plugin one = {BERTH_PLUGIN_HEAD("@A@", "1")};
static const struct berth_plugin two = {BERTH_PLUGIN_HEAD("@B@", "1")};
static const struct berth_plugin *const plugins[] = {&one, &two, NULL};
int main(int argc, char **argv)
{
    return berth_scheduler_main(argc, argv, plugins);
}
"""


@test
def ten_lines_make_a_scheduler(kit):
    path = program(kit, OWN.replace("@A@", "One").replace("@B@", "Two"))
    contains(kit.run(path, "plugin", "list"), "One ", "Two ", "compiled in", "NodeResourcesFit")
    contains(kit.run(path, "--help"), "program [flags]", "--plugin")
    contains(kit.run(path, "simulate", "scenario.yaml"), "6 of 7 pods placed")


@test
def it_can_be_linked_statically(kit):
    private = kit.run("pkg-config", "--libs", "--static", "berth").replace("-lberth", "-l:libberth.a")
    path = program(kit, OWN.replace("@A@", "One").replace("@B@", "Two"), *private.split())
    check("libberth" not in kit.run("ldd", path), "it is linked with libberth.so")
    contains(kit.run(path, "plugin", "list"), "One ")


@test
def duplicate_names_are_refused(kit):
    for a, b, name in (("One", "One", "One"), ("One", "NodePorts", "NodePorts")):
        path = program(kit, OWN.replace("@A@", a).replace("@B@", b))
        contains(kit.run(path, "simulate", "scenario.yaml", code=1), f"a plugin named {name} already exists")


@test
def new_plugins_pass_their_own_tests(kit):
    for lang in ("c", "c++", "rust"):
        if lang == "rust" and not shutil.which("rustc"):
            continue
        name = "my-" + lang.replace("+", "p")
        contains(kit.run("berth", "plugin", "new", "--lang", lang, name), f"Created {name}")
        out = kit.run("make", "-C", name, "test")
        contains(out, "scenario passed")
        check("warning" not in out, out)
        contains(kit.run("berth", "plugin", "inspect", f"{name}/{name}.so"), "label string", "filter, score")
        contains(kit.run("berth", "plugin", "list", "--plugin", f"{name}/{name}.so"), "label string")


@test
def the_generated_rust_types_are_those_of_the_header(kit):
    kit.run(os.path.join(ROOT, "tools", "rust_abi.py"), "--check",
            os.path.join(ROOT, "src/cmd/plugin/templates/rust/berth.rs"))
    if not shutil.which("rustc"):
        skip("rustc is not installed")
    structs = {"berth_plugin": "Plugin", "berth_host": "Host", "berth_arg": "Arg", "berth_value": "Value",
               "berth_columns": "Columns", "berth_kv": "Kv", "berth_api_call": "ApiCall"}
    c = "#include <berth/plugin.h>\n#include <stdio.h>\nint main(void)\n{\n" + "".join(
        f'    printf("{r} %zu\\n", sizeof(struct {s}));\n' for s, r in structs.items()) + "}\n"
    rust = "#[path = \"%s\"]\nmod berth;\nfn main() {\n%s}\n" % (
        os.path.join(ROOT, "src/cmd/plugin/templates/rust/berth.rs"),
        "".join(f'    println!("{r} {{}}", std::mem::size_of::<berth::{r}>());\n' for r in structs.values()))
    with open(os.path.join(kit.dir, "sizes.rs"), "w") as f:
        f.write(rust)
    kit.run("rustc", "--edition", "2021", "sizes.rs", "-o", "sizes", cwd=kit.dir)
    equal(kit.run(os.path.join(kit.dir, "sizes")), kit.run(program(kit, c, "-lc")), "sizes of structs")


if __name__ == "__main__":
    main(fixture=Sdk)
