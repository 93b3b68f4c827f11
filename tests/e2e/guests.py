# SPDX-License-Identifier: Apache-2.0
"""WebAssembly guests for tests, written as WebAssembly text, and the library that runs them."""

import glob
import os
import subprocess

from berth import ROOT
from tap import check, skip

# Every function that a guest may import from the scheduler, by a short name.
IMPORTS = """
(import "k8s.io/api" "node" (func $node (param i32 i32 i32 i32) (result i32)))
(import "k8s.io/api" "nodeList" (func $node_list (param i32 i32) (result i32)))
(import "k8s.io/klog" "log" (func $log (param i32 i32 i32)))
(import "k8s.io/klog" "logs" (func $logs (param i32 i32 i32 i32 i32)))
(import "k8s.io/klog" "severity" (func $severity (result i32)))
(import "k8s.io/scheduler" "get_config" (func $get_config (param i32 i32) (result i32)))
(import "k8s.io/scheduler" "currentPod" (func $pod (param i32 i32) (result i32)))
(import "k8s.io/scheduler" "targetPod" (func $target_pod (param i32 i32) (result i32)))
(import "k8s.io/scheduler" "currentNodeName" (func $node_name (param i32 i32) (result i32)))
(import "k8s.io/scheduler" "filteredNodeList" (func $filtered (param i32 i32) (result i32)))
(import "k8s.io/scheduler" "nodeToStatusMap" (func $statuses (param i32 i32) (result i32)))
(import "k8s.io/scheduler" "nodeScoreList" (func $scores (param i32 i32) (result i32)))
(import "k8s.io/scheduler" "nodeImageStates" (func $images (param i32 i32 i32 i32) (result i32)))
(import "k8s.io/scheduler" "result.cluster_events" (func $set_events (param i32 i32)))
(import "k8s.io/scheduler" "result.node_names" (func $set_nodes (param i32 i32)))
(import "k8s.io/scheduler" "result.nominated_node_name" (func $set_nominated (param i32 i32)))
(import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
(import "k8s.io/scheduler" "result.normalized_score_list" (func $set_scores (param i32 i32)))
(import "k8s.io/scheduler" "handle.eventrecorder.eventf" (func $event (param i32 i32)))
(import "k8s.io/scheduler" "handle.reject_waiting_pod" (func $reject (param i32 i32 i32 i32)))
(import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
(import "wasi_snapshot_preview1" "args_get" (func $args_get (param i32 i32) (result i32)))
(import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
(import "wasi_snapshot_preview1" "path_open" (func $path_open
  (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
"""

# What a guest asks for is at $BUF; texts are below it.
BUF, BUF_SIZE = 65536, 262144
MEMORY = 16 * 65536
HELPERS = f"""
(memory (export "memory") 16)
(global $count (mut i32) (i32.const 0))
;; The address behind the text in the n bytes at $at; 0: it is not there.
(func $find (param $at i32) (param $n i32) (param $text i32) (param $len i32) (result i32)
  (local $i i32)
  (block $no
    (loop $next
      (br_if $no (i32.lt_u (local.get $n) (local.get $len)))
      (local.set $i (i32.const 0))
      (block $differs
        (loop $byte
          (if (i32.eq (local.get $i) (local.get $len)) (then (return (i32.add (local.get $at) (local.get $len)))))
          (br_if $differs (i32.ne
            (i32.load8_u (i32.add (local.get $at) (local.get $i)))
            (i32.load8_u (i32.add (local.get $text) (local.get $i)))))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br $byte)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br $next)))
  (i32.const 0))
(func $has (param $at i32) (param $n i32) (param $text i32) (param $len i32) (result i32)
  (i32.ne (i32.const 0)
    (call $find (local.get $at) (local.get $n) (local.get $text) (local.get $len))))
(func $node_is (param $text i32) (param $len i32) (result i32)
  (local $n i32)
  (local.set $n (call $node_name (i32.const {BUF}) (i32.const {BUF_SIZE})))
  (i32.and (i32.eq (local.get $n) (local.get $len))
           (call $has (i32.const {BUF}) (local.get $n) (local.get $text) (local.get $len))))
(func $pod_has (param $text i32) (param $len i32) (result i32)
  (call $has (i32.const {BUF}) (call $pod (i32.const {BUF}) (i32.const {BUF_SIZE}))
             (local.get $text) (local.get $len)))
(func $print (param $text i32) (param $len i32)
  (i32.store (i32.const 16) (local.get $text))
  (i32.store (i32.const 20) (local.get $len))
  (drop (call $fd_write (i32.const 2) (i32.const 16) (i32.const 1) (i32.const 24))))
"""

RESULTS = {"enqueue": "", "unreserve": "", "postbind": "", "postfilter": "i64", "score": "i64",
           "permit": "i64", "_start": ""}

SUCCESS, ERROR, UNSCHEDULABLE, UNRESOLVABLE, WAIT = range(5)


class Texts:
    """The data of a guest: "@text@" in a function becomes its address and length."""

    def __init__(self):
        self.at, self.data = 1024, ""

    def put(self, text):
        encoded = text.encode()
        self.data += f'(data (i32.const {self.at}) "{"".join(f"{chr(92)}{b:02x}" for b in encoded)}")\n'
        at, self.at = self.at, self.at + len(encoded)
        return f"(i32.const {at}) (i32.const {len(encoded)})"

    def replace(self, code):
        parts = code.split("@")
        return "".join(self.put(p) if i % 2 else p for i, p in enumerate(parts))


def wat(**functions):
    """A module that exports these functions, given as their bodies."""
    texts, code = Texts(), ""
    for name, body in functions.items():
        result = RESULTS.get(name, "i32")
        code += f'(func (export "{name}") {f"(result {result})" if result else ""} {texts.replace(body)})\n'
    return f"(module {IMPORTS} {HELPERS} {texts.data} {code})"


def status(code, reason=None):
    """Returns a code with a reason, a text between @ or the address and length of one."""
    return (f"(call $reason {reason}) " if reason else "") + f"(i32.const {code})"


def choose(condition, then, otherwise, result="i32"):
    return f"(if (result {result}) {condition} (then {then}) (else {otherwise}))"


class Wasmtime:
    """The library and its tool, from the package index or from this machine; a test that has
    neither is skipped, with the reason."""

    def __init__(self):
        found = subprocess.run([os.path.join(ROOT, "tests/lib/wasmtime.sh")], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.missing = found.stderr.strip() if found.returncode else None
        self.python = found.stdout.strip()
        if not self.missing:
            where = self._run("import os, wasmtime; print(os.path.dirname(wasmtime.__file__))", "")
            libraries = glob.glob(os.path.join(where.decode().strip(), "*", "*libwasmtime.so"))
            check(libraries, f"no libwasmtime.so in {where}")
            self.library = libraries[0]

    def _run(self, code, text):
        done = subprocess.run([self.python, "-c", code], input=text.encode(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        check(done.returncode == 0, done.stderr.decode())
        return done.stdout

    def need(self):
        if self.missing:
            skip("wasmtime is not available: " + self.missing)

    def env(self):
        self.need()
        return {"BERTH_WASMTIME": self.library}

    def compile(self, path, text):
        """Writes the module of a WebAssembly text to a file. Returns its path."""
        self.need()
        code = "import sys, wasmtime; sys.stdout.buffer.write(wasmtime.wat2wasm(sys.stdin.read()))"
        module = self._run(code, text)
        with open(path + ".new", "wb") as f:
            f.write(module)
        os.rename(path + ".new", path)
        return path
