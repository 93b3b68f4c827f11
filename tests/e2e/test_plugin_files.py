#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plugins in shared objects without a cluster: berth plugin, --plugin, --plugin-dir; files that are
not plugins."""

import json
import os
import shutil
import tempfile

import berth
from berth import ROOT, check, equal
from plugin_build import build, only
from tap import contains, main, test

SCENARIO = os.path.join(ROOT, "examples", "scenario.yaml")


def config(d, *names):
    path = os.path.join(d, "config.json")
    with open(path, "w") as f:
        json.dump({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                   "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": n} for n in names]}}}]},
                  f)
    return path


def simulate(*args):
    return berth.run("simulate", "-o", "json", *args, SCENARIO)


def nodes_of(done):
    equal(done.code, 0, done.err)
    return {p["name"]: p["node"] for p in json.loads(done.out)}


def refused(path, *parts, args=None):
    """Each command reports the file in one line and fails."""
    for argv in (["simulate", *(args or ["--plugin", path]), SCENARIO],
                 ["scheduler", "--secure-port=0", *(args or ["--plugin", path])],
                 ["plugin", "list", *(args or ["--plugin", path])]):
        done = berth.run(*argv)
        equal((done.code, done.out), (1, ""), f"{argv}: exit code and output; it said {done.err!r}")
        equal(done.err.count("\n"), 1, f"lines in {done.err!r}")
        contains(done.err, *parts)


# ---- loading -------------------------------------------------------------------------------------

@test
def a_profile_enables_a_plugin_of_a_file_by_name(d):
    path = build(d, "only.so", only("big-1"))
    nodes = nodes_of(simulate("--plugin", path, "--config", config(d, "Only")))
    equal({n for n in nodes.values() if n}, {"big-1", "cordoned"} & set(nodes.values()), "nodes")
    check(nodes["web-1"] == "big-1", nodes)
    done = berth.run("simulate", "--config", config(d, "Only"), SCENARIO)
    equal(done.code, 1, "exit code without the file")
    contains(done.err, 'Plugin "Only" does not exist', "--plugin FILE.so")


@test
def a_plugin_that_no_profile_enables_does_nothing(d):
    path = build(d, "only.so", only("big-1"))
    equal(nodes_of(simulate("--plugin", path)), nodes_of(simulate()), "nodes")


@test
def all_files_of_a_directory_are_loaded(d):
    os.makedirs(os.path.join(d, "dir"), exist_ok=True)
    build(d, "dir/a.so", only("big-1", "A"))
    build(d, "dir/b.so", only("big-1", "B"))
    for name in ("readme.txt", ".hidden.so"):
        with open(os.path.join(d, "dir", name), "w") as f:
            f.write("not a plugin")
    nodes = nodes_of(simulate("--plugin-dir", os.path.join(d, "dir"), "--config", config(d, "A", "B")))
    equal(nodes["web-1"], "big-1", "node")
    equal(berth.run("config", "validate", config(d, "A"), "--plugin-dir", os.path.join(d, "dir")).code,
          0, "config validate")
    refused(d, "/no/such/dir", "No such file", args=["--plugin-dir", "/no/such/dir"])


# ---- files that are not plugins ------------------------------------------------------------------

@test
def a_file_that_is_not_a_plugin_is_reported(d):
    good = build(d, "good.so", only("big-1"))
    with open(good, "rb") as f:
        whole = f.read()

    def file(name, content):
        path = os.path.join(d, name)
        with open(path, "wb") as f:
            f.write(content)
        return path

    def patched(name, at, new):
        return file(name, whole[:at] + new + whole[at + len(new):])

    refused("/no/such.so", "/no/such.so: No such file")
    refused(d, f"{d}: Is a directory")
    refused(file("text.so", b"hello\n"), "text.so: not a shared object")
    refused(file("empty.so", b""), "empty.so: not a shared object")
    refused(build(d, "object.so", only("x"), "-c", "-fPIC", whole=True), "an object file")
    refused(build(d, "program.so", "int main(void) { return 0; }", whole=True), "a program")
    refused(build(d, "other.so", "int x;"), "does not export berth_plugins")
    refused(build(d, "none.so", "void *berth_plugins[] = {0};"), "berth_plugins is empty")
    refused(patched("arm.so", 18, b"\xb7\x00" if whole[18] == 62 else b"\x3e\x00"), "arm.so: built for")
    refused(patched("small.so", 4, b"\x01"), "a 32-bit file")
    refused(build(d, "abi.so", "#include <berth/plugin.h>\n#undef BERTH_ABI\n#define BERTH_ABI (9u << 16)\n"
                  + only("x")), "was built for ABI 9, this berth has ABI 1")
    refused(build(d, "unnamed.so", only("x", name="").replace('HEAD("",', "HEAD(NULL,")), "has no name")
    refused(build(d, "size.so", only("x").replace(".create = create,", ".struct_size = 8,"), "-w"),
            "struct_size 8")


@test
def a_file_that_is_cut_off_is_reported_wherever_it_ends(d):
    with open(build(d, "good.so", only("big-1")), "rb") as f:
        whole = f.read()
    path = os.path.join(d, "cut.so")
    for n in [*range(0, 600, 7), *range(600, len(whole), max(1, len(whole) // 60)), len(whole) - 1]:
        with open(path, "wb") as f:
            f.write(whole[:n])
        done = berth.run("plugin", "inspect", path)
        equal((done.code, done.err.count("\n")), (1, 1), f"{n} of {len(whole)} bytes: {done.err!r}")


@test
def a_damaged_file_does_not_crash_inspect(d):
    with open(build(d, "good.so", only("big-1")), "rb") as f:
        whole = bytearray(f.read())
    path, state = os.path.join(d, "damaged.so"), 1
    for _ in range(150):
        damaged = bytearray(whole)
        for _ in range(8):
            state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
            damaged[(state >> 20) % (4096 if state >> 63 else len(whole))] = state >> 40 & 0xff
        with open(path, "wb") as f:
            f.write(damaged)
        check(berth.run("plugin", "inspect", path).code in (0, 1), "exit code")


@test
def names_must_be_unique(d):
    good = build(d, "good.so", only("big-1"))
    copy = shutil.copy(good, os.path.join(d, "copy.so"))
    refused(copy, "copy.so: a plugin named Only already exists in", "good.so",
            args=["--plugin", good, "--plugin", copy])
    refused(build(d, "ports.so", only("x", "NodePorts")),
            "ports.so: a plugin named NodePorts already exists in this program")
    twice = only("x").replace("PLUGINS(&plugin)", "PLUGINS(&plugin, &plugin)")
    refused(build(d, "twice.so", twice), "exports two plugins named Only")


@test
def what_the_dynamic_linker_misses_is_reported(d):
    library = build(d, "libmissing.so", "int missing(void) { return 0; }",
                    "-Wl,-soname,libmissing.so.1")
    needs = build(d, "needs.so", only("x", create="extern int missing(void); missing();"), library)
    refused(needs, "needs.so: missing dependency: libmissing.so.1: cannot open")
    undefined = build(d, "undefined.so", only("x", create="extern int nowhere(void); nowhere();"))
    refused(undefined, "undefined.so: undefined symbol: nowhere")


# ---- berth plugin --------------------------------------------------------------------------------

@test
def inspect_runs_no_code(d):
    mark = os.path.join(d, "mark")
    source = only("big-1") + ("#include <stdio.h>\n__attribute__((constructor)) static void run(void)\n"
                              '{ fclose(fopen("%s", "w")); }\n' % mark)
    path = build(d, "runs.so", source)
    done = berth.run("plugin", "inspect", path)
    equal(done.code, 0, done.err)
    contains(done.out, "Name:", "Only", "Version:", "big-1", "Extension points:", "filter")
    check(not os.path.exists(mark), "the file was executed")
    listed = json.loads(berth.run("plugin", "inspect", "-o", "json", path).out)
    equal((listed["name"], listed["version"], listed["extensionPoints"]), ("Only", "big-1", ["filter"]),
          "as JSON")
    berth.run("plugin", "list", "--plugin", path)
    check(os.path.exists(mark), "list loads the file")


@test
def list_shows_all_plugins_of_this_program(d):
    path = build(d, "only.so", only("big-1"))
    rows = {p["name"]: p for p in json.loads(berth.run("plugin", "list", "-o", "json", "--plugin",
                                                       path).out)}
    equal(rows["NodeResourcesFit"]["arguments"], "NodeResourcesFitArgs", "arguments")
    equal(rows["NodeResourcesFit"]["extensionPoints"], ["preFilter", "filter", "preScore", "score", "placementScore"], "points")
    equal((rows["Only"]["source"], rows["Only"]["default"]), (path, False), "source and default")
    equal((rows["SelectorSpread"]["source"], rows["NodeName"]["source"]), ("legacy", "in-tree"), "sources")
    table = berth.run("plugin", "list").out.splitlines()
    equal(len(table), len(rows), "a heading and every plugin but one")
    contains(table[0], "NAME", "EXTENSION POINTS")


@test
def test_shows_verdicts_and_scores_per_node(d):
    path = build(d, "only.so", only("small-1"))
    done = berth.run("plugin", "test", path, "-f", SCENARIO)
    equal(done.code, 0, done.err)
    contains(done.out, "default/web-1, attempt 1: placed on small-1", "NODE", "Only FILTER",
             "Unschedulable: not small-1", "Success", "NodeUnschedulable", " pods placed\n")
    lines = berth.run("plugin", "test", path, "-f", SCENARIO, "-o", "json").out.splitlines()
    equal(json.loads(lines[0])["pod"], "web-1", "first attempt")


@test
def wrong_command_lines_are_explained(d):
    for argv, part in ((["plugin"], "expected list, inspect, new or test"),
                       (["plugin", "list", "x"], "list takes no arguments"),
                       (["plugin", "list", "-o", "xml"], "--output"),
                       (["plugin", "inspect"], "at least one file"),
                       (["plugin", "test", "x.so"], "-f FILE"),
                       (["plugin", "test", "-f", SCENARIO], "at least one shared object"),
                       (["plugin", "new"], "one name"),
                       (["plugin", "new", "9x"], "not a name"),
                       (["plugin", "new", "--lang", "go", "x"], "--lang"),
                       (["simulate", "--plugin", "", SCENARIO], "empty path")):
        done = berth.run(*argv)
        equal(done.code, 2, f"{argv}: exit code; it said {done.err!r}")
        contains(done.err, part)
    os.makedirs(os.path.join(d, "there"), exist_ok=True)
    done = berth.run("plugin", "new", os.path.join(d, "there"))
    equal(done.code, 1, "exit code")
    contains(done.err, "file exists")


if __name__ == "__main__":
    main(fixture=lambda: tempfile.TemporaryDirectory(prefix="berth-plugins-"))
