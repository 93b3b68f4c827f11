#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""WebAssembly guests without a cluster: their functions, what they are told, their limits, and what
is not a guest."""

import functools
import http.server
import json
import os
import re
import shutil
import tempfile
import threading

import berth
from berth import ROOT, check, equal
from guests import (BUF, BUF_SIZE, ERROR, MEMORY, UNRESOLVABLE, UNSCHEDULABLE, Wasmtime, choose,
                    status, wat)
from tap import contains, main, test

SCENARIO = os.path.join(ROOT, "examples", "scenario.yaml")
PASS = "(i32.const 0)"


class Fixture:
    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="berth-wasm-")
        self.wasmtime = Wasmtime()
        self.made = 0
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.dir, name)

    def guest(self, text=None, /, **functions):
        """The URL of a new guest."""
        self.made += 1
        return "file://" + self.wasmtime.compile(self.path(f"{self.made}.wasm"), text or wat(**functions))

    def config(self, *guests, **plugins):
        """A configuration with guests: each a URL, or arguments. Named G0, G1, …"""
        args = [g if isinstance(g, dict) else {"guestURL": g} for g in guests]
        names = [{"name": f"G{i}"} for i in range(len(args))]
        profile = {"plugins": {"multiPoint": {"enabled": names}, **plugins},
                   "pluginConfig": [{"name": f"G{i}", "args": a} for i, a in enumerate(args)]}
        return self.write({"profiles": [profile]})

    def write(self, config):
        path = self.path("config.json")
        with open(path, "w") as f:
            json.dump({"apiVersion": "kubescheduler.config.k8s.io/v1",
                       "kind": "KubeSchedulerConfiguration", **config}, f)
        return path

    def run(self, *argv, **env):
        return berth.run(*argv, env={**self.wasmtime.env(), **env})

    def pods(self, *guests, args=(), **plugins):
        """The pods of the scenario by name, as `simulate -o json` prints them."""
        done = self.run("simulate", "-o", "json", "--config", self.config(*guests, **plugins), *args,
                        SCENARIO)
        equal(done.code, 0, done.err)
        return {p["name"]: p for p in json.loads(done.out)}


class Files:
    """An HTTP server for the files of a folder."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Handler, directory=self.folder))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def nodes_of(pods):
    return {name: p["node"] for name, p in pods.items()}


# ---- extension points ----------------------------------------------------------------------------

@test
def a_guest_filters_nodes_and_gives_its_reason(f):
    pods = f.pods(f.guest(filter=choose("(call $node_is @big-1@)", PASS,
                                        status(UNSCHEDULABLE, "@only big-1 will do@"))))
    equal(pods["web-1"]["node"], "big-1", "node")
    contains(pods["maintenance"]["message"], "only big-1 will do")


@test
def a_guest_scores_nodes(f):
    pods = f.pods(f.guest(score=choose("(call $node_is @big-1@)", "(i64.const 0x6400000000)",
                                       "(i64.const 0)", "i64")))
    equal({n: pods[n]["node"] for n in ("web-1", "web-2")}, {"web-1": "big-1", "web-2": "big-1"}, "nodes")


@test
def a_guest_normalizes_scores(f):
    score = choose("(call $node_is @big-1@)", "(i64.const 0)", "(i64.const 0x100000000)", "i64")
    as_is = f.pods(f.guest(score=score))
    check(as_is["web-1"]["node"] != "big-1", as_is)
    turned = "(call $set_scores @" + json.dumps({"big-1": 100, "small-1": 0, "small-2": 0}) + "@)"
    for listed, want in ((turned, "big-1"), ("", as_is["web-1"]["node"]),
                         ("(call $set_scores @null@)", as_is["web-1"]["node"])):
        pods = f.pods(f.guest(score=score, normalizescore=f"{listed} {PASS}"))
        equal(pods["web-1"]["node"], want, f"node with {listed!r}")
    pods = f.pods(f.guest(score=score, normalizescore='(call $set_scores @{"big-1": 1}@) ' + PASS))
    contains(pods["web-1"]["message"], "wasm: normalizescore error: node small-", "has no integer score")


@test
def prescore_is_told_the_nodes_that_passed(f):
    told = f"(call $reason (i32.const {BUF}) (call $filtered (i32.const {BUF}) (i32.const {BUF_SIZE})))"
    pods = f.pods(f.guest(prescore=f"{told} (i32.const {ERROR})", score="(i64.const 0)"))
    message = pods["web-1"]["message"]
    equal(set(json.loads(message[message.index("["):message.index("]") + 1])),
          {"big-1", "small-1", "small-2"}, "nodes")


@test
def prefilter_limits_the_nodes(f):
    pods = f.pods(f.guest(prefilter="(call $set_nodes @big-1\0nowhere\0@) " + PASS))
    equal(pods["web-1"]["node"], "big-1", "node")


@test
def postfilter_is_told_why_nodes_failed_and_nominates_one(f):
    said = f"(call $reason (i32.const {BUF}) (call $statuses (i32.const {BUF}) (i32.const {BUF_SIZE})))"
    no = choose("(call $node_is @big-1@)", status(UNSCHEDULABLE), status(UNRESOLVABLE))
    pods = f.pods(f.guest(filter=no, postfilter=f"{said} (i64.const {UNSCHEDULABLE})"))
    message = pods["web-1"]["message"]
    codes = json.loads(message[message.index("{"):message.index("}") + 1])
    equal((codes["big-1"], codes["small-1"]), (UNSCHEDULABLE, UNRESOLVABLE), "codes")


@test
def what_reserve_reserved_is_unreserved_by_the_same_guest(f):
    """The first attempt fails in Permit; the second one finds what unreserve has left."""
    pods = f.pods(f.guest(
        reserve=choose("(i32.eq (global.get $count) (i32.const 2))", status(ERROR, "@unreserved@"),
                       "(global.set $count (i32.const 1)) " + PASS),
        unreserve="(if (i32.eq (global.get $count) (i32.const 1)) (then (global.set $count (i32.const 2))))",
        permit=f"(i64.const {ERROR << 32})"))
    contains("".join(p["message"] for p in pods.values()), "unreserved")


@test
def permit_rejects_a_pod(f):
    pods = f.pods(f.guest(permit=f"(call $reason @not now@) (i64.const {UNSCHEDULABLE << 32})"))
    contains(pods["web-1"]["message"], "not now")


@test
def prebind_bind_and_postbind_run_in_turn(f):
    """Each one fails unless the one before has run in the same guest."""
    def after(n):
        return (f"(if (i32.ne (global.get $count) (i32.const {n})) (then unreachable)) "
                f"(global.set $count (i32.const {n + 1})) ")
    own = {"bind": {"disabled": [{"name": "DefaultBinder"}]}}
    guest = f.guest(reserve="(global.set $count (i32.const 0)) " + PASS, prebind=after(0) + PASS,
                    bind=after(1) + status(ERROR, "@as far as bind@"), postbind=after(2))
    pods = f.pods(guest, **own)
    contains(pods["web-1"]["message"], "as far as bind")
    pods = f.pods(f.guest(prebind=status(ERROR, "@no@")))
    contains(pods["web-1"]["message"], 'running PreBind plugin "G0"', "no")


@test
def removepod_and_addpod_are_told_the_pod_and_its_node(f):
    scenario = f.path("preemption.yaml")
    with open(scenario, "w") as out:
        out.write("""
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "1", memory: 1Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: victim}
spec: {nodeName: n1, priority: 0, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: high}
spec: {priority: 10, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
""")
    target = f"(call $has (i32.const {BUF}) (call $target_pod (i32.const {BUF}) (i32.const {BUF_SIZE})) @victim@)"
    for good, want in (("@n1@", "n1"), ("@n2@", "")):
        seen = choose(f"(i32.and {target} (call $node_is {good}))", PASS, status(ERROR, "@what is this@"))
        config = f.config(f.guest(filter=PASS, removepod=seen, addpod=seen))
        done = f.run("simulate", "-o", "json", "--config", config, scenario)
        equal(done.code, 0, done.err)
        high = [p for p in json.loads(done.out) if p["name"] == "high"][0]
        equal(high["node"], want, f"node: {high}")


@test
def enqueue_names_the_events_that_retry_a_pod(f):
    def node(name, label):
        return (f"apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{x: {label}}}}}\n"
                'status: {allocatable: {cpu: "8", memory: 8Gi, pods: "110"}}\n---\n')
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c}]}\n"
    for name, text in (("first", node("n1", "a") + pod), ("label", node("n1", "b")), ("add", node("n2", "a"))):
        with open(f.path(name + ".yaml"), "w") as out:
            out.write(text)
    count = "(global.set $count (i32.add (global.get $count) (i32.const 1))) "
    pick = choose("(i32.eq (global.get $count) (i32.const 1))", status(UNSCHEDULABLE, "@first@"), PASS)
    only_add = f.guest(prefilter=count + pick, filter=PASS,
                       enqueue="(i32.store (i32.const 0) (i32.const 1)) "
                               "(i32.store (i32.const 4) (i32.const 1)) "
                               "(call $set_events (i32.const 0) (i32.const 8))")
    any_event = f.guest(prefilter=count + pick, filter=PASS)
    for guest, stages, placed in ((only_add, ["label"], False), (only_add, ["add"], True),
                                  (any_event, ["label"], True)):
        then = [a for s in stages for a in ("--then", f.path(s + ".yaml"))]
        done = f.run("simulate", "-o", "json", "--config", f.config(guest), f.path("first.yaml"), *then)
        equal(done.code, 0, done.err)
        equal(bool(json.loads(done.out)[0]["node"]), placed, f"placed after {stages}: {done.out}")


# ---- what a guest is told ------------------------------------------------------------------------

@test
def a_guest_reads_its_configuration_its_arguments_the_pod_and_the_node(f):
    def say(size):
        return f"(call $reason (i32.const {BUF}) {size}) (i32.const {UNSCHEDULABLE})"
    config = say(f"(call $get_config (i32.const {BUF}) (i32.const {BUF_SIZE}))")
    pods = f.pods({"guestURL": f.guest(filter=config), "guestConfig": "my configuration"})
    contains(pods["web-1"]["message"], "my configuration")
    args = f"(drop (call $args_get (i32.const 0) (i32.const {BUF})))" + say("(i32.const 7)")
    pods = f.pods({"guestURL": f.guest(filter=args), "args": ["guest-1", "x"]})
    contains(pods["web-1"]["message"], "guest-1")
    node = (f"(call $has (i32.const {BUF}) (call $node @small-1@ (i32.const {BUF}) (i32.const {BUF_SIZE})) "
            "@small-1@)")
    every = (f"(call $has (i32.const {BUF}) (call $node_list (i32.const {BUF}) (i32.const {BUF_SIZE})) "
             "@cordoned@)")
    pods = f.pods(f.guest(filter=choose(f"(i32.and (call $pod_has @web-1@) (i32.and {node} {every}))",
                                        status(UNSCHEDULABLE, "@this one@"), PASS)))
    equal({n for n, p in pods.items() if "this one" in p["message"]}, {"web-1"}, "pods")


@test
def a_buffer_that_is_too_small_stays_as_it_is_and_the_size_is_returned(f):
    pods = f.pods(f.guest(filter=choose(
        f"(i32.and (i32.gt_u (call $pod (i32.const {BUF}) (i32.const 4)) (i32.const 4)) "
        f"(i32.eqz (i32.load (i32.const {BUF}))))", status(UNSCHEDULABLE, "@untouched@"), PASS)))
    contains(pods["web-1"]["message"], "untouched")


@test
def an_address_outside_of_its_memory_fails_the_call(f):
    pods = f.pods(f.guest(filter="(drop (call $pod (i32.const 0x7ffffff0) (i32.const 0x7fffffff))) " + PASS))
    contains(pods["web-1"]["message"], "wasm: filter error: out of memory")
    for at in (0x7ffffff0, MEMORY - 8):
        pods = f.pods(f.guest(prefilter=f"(call $set_nodes (i32.const {at}) (i32.const 64)) " + PASS))
        contains(pods["web-1"]["message"], "wasm: prefilter error: out of memory reading nodeNames")


@test
def functions_of_the_system_that_a_guest_must_not_have_fail(f):
    call = ("(call $path_open (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) "
            "(i64.const 0) (i64.const 0) (i32.const 0) (i32.const 0))")
    pods = f.pods(f.guest(filter=choose(f"(i32.eq {call} (i32.const 52))",
                                        status(UNSCHEDULABLE, "@no files@"), PASS)))
    contains(pods["web-1"]["message"], "no files")


@test
def two_guests_run_beside_each_other(f):
    first = f.guest(filter=choose("(call $node_is @small-1@)", status(UNSCHEDULABLE, "@one@"), PASS))
    second = f.guest(filter=choose("(call $node_is @small-2@)", status(UNSCHEDULABLE, "@two@"), PASS))
    equal(f.pods(first, second)["web-1"]["node"], "big-1", "node")


@test
def a_module_comes_from_an_http_server(f):
    path = f.guest(filter=choose("(call $node_is @big-1@)", PASS, status(UNSCHEDULABLE)))
    with Files(f.dir) as url:
        equal(f.pods(f"{url}/{os.path.basename(path)}")["web-1"]["node"], "big-1", "node")
        refused(f, f"{url}/nothing.wasm", f'received 404 status code from "{url}/nothing.wasm"')
    refused(f, f"{url}/x.wasm", f"error reading guestURL {url}/x.wasm: ", "onnect")


@test
def the_guest_of_the_document_does_what_the_document_shows(f):
    with open(os.path.join(ROOT, "docs", "wasm.md")) as doc:
        parts = re.findall(r"^```(\w*)\n(.*?)^```$", doc.read(), re.M | re.S)
    (config,), (module,), (output,) = ([text for kind, text in parts if kind == wanted]
                                       for wanted in ("yaml", "wat", ""))
    path = f.wasmtime.compile(f.path("no-small.wasm"), module)
    with open(f.path("doc.yaml"), "w") as out:
        out.write(config.replace("file://no-small.wasm", "file://" + path))
    done = f.run("simulate", "--config", f.path("doc.yaml"), SCENARIO)
    equal((done.code, done.out), (0, output), f"output; it said {done.err!r}")


# ---- guests that fail ----------------------------------------------------------------------------

OTHERS = {"web-2", "web-3", "batch", "idle"}


def only_web_1_fails(f, body, *parts, **limits):
    """The body runs for one pod; all others are placed as without a guest."""
    without = nodes_of(f.pods())
    guest = f.guest(filter=f"(if (call $pod_has @web-1@) (then {body})) {PASS}")
    pods = f.pods({"guestURL": guest, **limits})
    equal(pods["web-1"]["node"], "", f"node: {pods['web-1']}")
    contains(pods["web-1"]["message"], 'running "G0" filter plugin: wasm: filter error: ', *parts)
    placed = {n for n, p in pods.items() if p["node"]}
    check(OTHERS <= placed and placed == {n for n, node in without.items() if node} - {"web-1"}, pods)


@test
def a_guest_that_loops_fails_its_own_pod(f):
    only_web_1_fails(f, "(loop $on (br $on))", "used all its fuel (1000000)", "fuelPerCall",
                     fuelPerCall=1000000)


@test
def a_guest_that_calls_the_host_without_end_fails_its_own_pod(f):
    only_web_1_fails(f, "(loop $on (drop (call $node_list (i32.const 0) (i32.const 0))) (br $on))",
                     "used all its fuel", fuelPerCall=1000000)


@test
def a_guest_that_recurses_without_end_fails_its_own_pod(f):
    guest = wat(filter="(if (call $pod_has @web-1@) (then (drop (call $deep)))) " + PASS)
    guest = guest[:-1] + "(func $deep (result i32) (i32.add (i32.const 1) (call $deep))))"
    pods = f.pods(f.guest(guest))
    contains(pods["web-1"]["message"], "wasm error: stack overflow")
    check(pods["web-2"]["node"], pods)


@test
def a_guest_cannot_have_more_memory_than_its_limit(f):
    grow = "(loop $on (br_if $on (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable"
    only_web_1_fails(f, grow, "wasm error: unreachable", memoryLimit="8Mi")
    done = f.run("simulate", "--config",
                 f.config({"guestURL": f.guest(filter=PASS), "memoryLimit": "512Ki"}), SCENARIO)
    equal(done.code, 1, "exit code")
    contains(done.err, "wasm: instantiate error: ", "memory")


@test
def a_trap_shows_what_the_guest_has_printed(f):
    only_web_1_fails(f, "(call $print @panic: my state is bad@) unreachable", "panic: my state is bad",
                     "wasm error: unreachable")
    only_web_1_fails(f, "(drop (i32.div_u (i32.const 1) (i32.const 0)))",
                     "wasm error: integer divide by zero")
    only_web_1_fails(f, "(call $exit (i32.const 3))", "module closed with exit_code(3)")


@test
def a_guest_that_has_failed_is_not_used_again(f):
    """Its memory may be in any state: the next pod has a guest that begins anew."""
    mark = "(global.set $count (i32.const 7))"
    pods = f.pods(f.guest(filter=f"(if (call $pod_has @web-1@) (then {mark} unreachable)) " +
                          choose("(global.get $count)", status(ERROR, "@stale@"), PASS)))
    check(not any("stale" in p["message"] for p in pods.values()), pods)
    check(pods["web-2"]["node"], pods)


@test
def a_status_code_that_does_not_exist_is_an_error(f):
    for code in (7, 100, -1):
        pods = f.pods(f.guest(filter=f"(i32.const {code})"))
        contains(pods["web-1"]["message"], f"wasm: filter error: unknown status code {code}")


@test
def enqueue_that_fails_leaves_the_default_events(f):
    equal(nodes_of(f.pods(f.guest(filter=PASS, enqueue="unreachable"))), nodes_of(f.pods()), "nodes")


# ---- what is not a guest -------------------------------------------------------------------------

def refused(f, guest, *parts, **env):
    """Each command says so in one line."""
    config = f.config(guest)
    for argv in (["simulate", "--config", config, SCENARIO],
                 ["scheduler", "--secure-port=0", "--config", config]):
        done = f.run(*argv, **env)
        equal(done.code, 1, f"{argv}: exit code; it said {done.err!r}")
        equal(done.err.count("\n"), 1, f"lines in {done.err!r}")
        contains(done.err, 'initializing plugin "G0": wasm: ', *parts)


@test
def without_wasmtime_berth_says_how_to_get_it(f):
    guest = f.guest(filter=PASS)
    refused(f, guest, "guests need wasmtime's C library: ", "install the C API", "BERTH_WASMTIME",
            BERTH_WASMTIME="/nowhere/libwasmtime.so")
    libc = f.path("libnothing.so")
    berth.subprocess.run(["cc", "-shared", "-x", "c", "-", "-o", libc], input=b"int nothing;", check=True)
    refused(f, guest, "it is not wasmtime's C library", BERTH_WASMTIME=libc)
    done = f.run("simulate", SCENARIO, BERTH_WASMTIME="/nowhere/libwasmtime.so")
    equal(done.code, 0, "exit code without guests")


@test
def a_module_that_is_not_a_guest_is_refused(f):
    missing = f.path("missing.wasm")
    refused(f, "file://" + missing, f"error reading guestURL file://{missing}: open {missing}: no such file")
    refused(f, "ftp://x/y.wasm", "unsupported URL scheme: ftp")
    refused(f, "nothing", "invalid URL: nothing")
    with open(f.path("text.wasm"), "w") as out:
        out.write("this is no module")
    refused(f, "file://" + f.path("text.wasm"), "error compiling guest: ")
    refused(f, f.guest("(module)"), "guest doesn't export memory[memory]")
    refused(f, f.guest('(module (memory (export "memory") 1))'), "does not export any plugin functions")
    refused(f, f.guest(wat(prescore=PASS)), "filter, score, reserve, permit or bind must be exported")
    signature = '(module (memory (export "memory") 1) (func (export "filter") (result i64) (i64.const 0)))'
    refused(f, f.guest(signature), "wrong signature for func[filter]. should be () -> (i32)")
    for module, parts in (("k8s.io/api", '"pods" is not exported in module "k8s.io/api"'),
                          ("env", "module[env] not instantiated")):
        refused(f, f.guest(f'(module (import "{module}" "pods" (func)) (memory (export "memory") 1) '
                           '(func (export "filter") (result i32) (i32.const 0)))'), parts)


@test
def a_guest_that_fails_to_start_is_refused(f):
    done = f.run("simulate", "--config", f.config(f.guest(
        filter=PASS, _start="(call $print @no such color@) unreachable")), SCENARIO)
    equal((done.code, done.err.count("\n")), (1, 1), f"exit code and lines of {done.err!r}")
    contains(done.err, "failed to create a guest pool: wasm: instantiate error: no such color")
    equal(nodes_of(f.pods(f.guest(filter=PASS, _start="(call $exit (i32.const 0))"))), nodes_of(f.pods()),
          "nodes with a main that exits with 0")


@test
def wrong_arguments_name_the_field(f):
    guest = f.guest(filter=PASS)
    for args, parts in (({"fuelPerCall": 0}, "fuelPerCall"), ({"memoryLimit": "1Ki"}, "memoryLimit"),
                        ({"logSeverity": 9}, "logSeverity"), ({"guestConfg": ""}, "guestConfg")):
        done = f.run("simulate", "--config", f.config({"guestURL": guest, **args}), SCENARIO)
        equal((done.code, done.err.count("\n")), (1, 1), f"exit code and lines of {done.err!r}")
        contains(done.err, parts)


@test
def profiles_share_a_guest_of_one_name_and_cannot_give_it_two_urls(f):
    one = f.guest(filter=choose("(call $node_is @big-1@)", PASS, status(UNSCHEDULABLE, "@not big@")))
    other = f.guest(filter=PASS)

    def profile(name, url):
        return {"schedulerName": name, "plugins": {"multiPoint": {"enabled": [{"name": "G"}]}},
                "pluginConfig": [{"name": "G", "args": {"guestURL": url}}]}
    same = f.write({"profiles": [profile("default-scheduler", one), profile("second", one)]})
    done = f.run("simulate", "-o", "json", "--config", same, SCENARIO)
    equal(done.code, 0, done.err)
    equal({p["name"]: p["node"] for p in json.loads(done.out)}["web-1"], "big-1", "node")
    two = f.write({"profiles": [profile("default-scheduler", one), profile("second", other)]})
    done = f.run("simulate", "--config", two, SCENARIO)
    equal(done.code, 1, "exit code")
    contains(done.err, "two guestURLs", "give the guests different names")


@test
def config_commands_know_guests(f):
    config = f.config(f.guest(filter=PASS))
    done = f.run("config", "validate", config)
    equal(done.code, 0, done.out + done.err)
    done = f.run("config", "diff", config, config)
    equal(done.code, 0, done.out + done.err)
    done = f.run("config", "convert", config)
    equal(done.code, 0, done.err)
    contains(done.out, "guestURL")


@test
def inspect_lists_what_a_module_exports(f):
    path = f.wasmtime.compile(f.path("no-small.wasm"), wat(filter=PASS, score="(i64.const 0)", _start="unreachable"))
    done = f.run("plugin", "inspect", "-o", "json", path)
    equal(done.code, 0, done.err)
    told = json.loads(done.out)
    equal((told["name"], set(told["extensionPoints"])), ("no-small", {"preFilter", "filter", "score"}), "plugin")
    contains(told["arguments"], "guestURL", "fuelPerCall", "memoryLimit")
    with open(f.path("bad.wasm"), "wb") as out:
        out.write(b"\0asm\1\0\0\0garbage")
    done = f.run("plugin", "inspect", f.path("bad.wasm"))
    equal((done.code, done.err.count("\n")), (1, 1), f"exit code and lines of {done.err!r}")
    contains(done.err, "bad.wasm: wasm: error compiling guest")


if __name__ == "__main__":
    main(fixture=Fixture)
