#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""WebAssembly guests on a real API server: what they see, say and hold, and new versions of them."""

import os

import berth
from berth import (TIMEOUT, add_nodes, add_pods, check, equal, make_node, make_pod,
                   node_of, scheduler_config, start, wait_bound, wait_events, wait_for,
                   wait_unschedulable)
from cluster import Cluster
from guests import BUF, BUF_SIZE, ERROR, UNSCHEDULABLE, WAIT, Wasmtime, choose, status, wat
from tap import contains, main, test

PASS = "(i32.const 0)"
POD = f"(i32.const {BUF}) (call $pod (i32.const {BUF}) (i32.const {BUF_SIZE}))"


class WasmCluster(Cluster):
    def __enter__(self):
        c = super().__enter__()
        c.wasmtime = Wasmtime()
        if not c.wasmtime.missing:
            os.environ.update(c.wasmtime.env())
        return c


def guest(c, path="guest.wasm", **functions):
    return c.wasmtime.compile(os.path.join(c.dir, path), wat(**functions))


def profiles(path, **args):
    return [{"schedulerName": "default-scheduler", "plugins": {"multiPoint": {"enabled": [{"name": "G"}]}},
             "pluginConfig": [{"name": "G", "args": {"guestURL": "file://" + path, **args}}]}]


def told(p, *parts):
    def lines():
        return [line for line in p.text().splitlines() if all(part in line for part in parts)]
    wait_for(lines, TIMEOUT, what=f"a line with {parts}")
    return lines()[-1]


def begin(c, path, **args):
    add_nodes(c, make_node("n0"), make_node("n1"))
    p = start(c, "-v=2", config=scheduler_config(c, "wasm", profiles=profiles(path, **args)))
    told(p, "Scheduling started")
    return p


@test
def a_guest_sees_fields_that_berth_does_not_keep(c):
    begin(c, guest(c, filter=choose("(call $pod_has @my-hostname@)", PASS,
                                    status(UNSCHEDULABLE, "@no hostname@"))))
    add_pods(c, make_pod("with", spec={"hostname": "my-hostname"}), make_pod("without"))
    wait_bound(c, "with")
    contains(wait_unschedulable(c, "without")["message"], "no hostname")


@test
def a_pod_that_is_assumed_has_the_name_of_its_node(c):
    """The name of the node is nowhere else in the pod."""
    begin(c, guest(c, filter=choose("(call $pod_has @n1@)", status(ERROR, "@too early@"),
                                    choose("(call $node_is @n1@)", PASS, status(UNSCHEDULABLE))),
                   reserve=choose("(call $pod_has @n1@)", PASS, status(ERROR, "@no node@"))))
    add_pods(c, make_pod("p"))
    equal(wait_bound(c, "p"), "n1", "node")


@test
def a_guest_logs_with_keys_and_values_and_records_events(c):
    event = ('{"RegardingReference": {"Kind": "Node", "APIVersion": "v1", "Name": "n0"}, '
             '"Eventtype": "Normal", "Reason": "Considered", "Action": "Filtering", "Note": "by a guest"}')
    p = begin(c, guest(c, prefilter="(call $logs (i32.const 0) @hello from a guest@ @color\0red\0@) "
                                    "(call $log (i32.const 2) @this is bad@) " + PASS,
                       filter=f"(call $event @{event}@) {PASS}"))
    add_pods(c, make_pod("p"))
    wait_bound(c, "p")
    contains(told(p, "hello from a guest"), 'color="red"')
    check(told(p, "this is bad").startswith("E"), "severity error")
    seen = wait_events(c, "n0", "Considered")[0]
    equal((seen["note"], seen["type"], seen["action"], seen["regarding"]["kind"]),
          ("by a guest", "Normal", "Filtering", "Node"), "event")


@test
def log_severity_leaves_out_what_matters_less(c):
    p = begin(c, guest(c, prefilter="(call $log (i32.const 0) @for information@) "
                                    "(call $log (i32.const 2) @this is bad@) " + PASS), logSeverity=2)
    add_pods(c, make_pod("p"))
    wait_bound(c, "p")
    told(p, "this is bad")
    check("for information" not in p.text(), "a line below the severity")


@test
def permit_holds_a_pod_for_its_timeout(c):
    begin(c, guest(c, permit=f"(i64.const {WAIT << 32 | 100})"))
    add_pods(c, make_pod("p"))
    contains(wait_unschedulable(c, "p")["message"], "timeout")


@test
def a_pod_that_waits_keeps_its_guest_and_others_have_another(c):
    p = begin(c, guest(
        c, prefilter=choose("(global.get $count)", status(ERROR, "@this guest is taken@"), PASS),
        reserve="(if (call $pod_has @first@) (then (global.set $count (i32.const 1)))) " + PASS,
        permit=choose("(call $pod_has @first@)",
                      f"(call $log (i32.const 0) @it waits@) (i64.const {WAIT << 32 | 2000})", "(i64.const 0)", "i64"),
        unreserve=choose("(global.get $count)", "(call $log (i32.const 0) @the same guest@)",
                         "(call $log (i32.const 0) @another guest@)", "").replace("(result )", "") +
        "(global.set $count (i32.const 0))"))
    add_pods(c, make_pod("first"))
    told(p, "it waits")
    add_pods(c, *(make_pod(f"other-{i}") for i in range(5)))
    for i in range(5):
        wait_bound(c, f"other-{i}")
    check("this guest is taken" not in p.text(), "a guest that a waiting pod has")
    told(p, "the same guest")
    check("another guest" not in p.text(), "unreserve in another guest")


@test
def a_guest_rejects_a_pod_that_waits(c):
    """The pod that comes second has the UID of the first one in an annotation."""
    uid = f"(call $find {POD} @uid:@)"
    begin(c, guest(
        c, permit=choose("(call $pod_has @first@)", f"(i64.const {WAIT << 32 | 3600000})", "(i64.const 0)", "i64"),
        prefilter=f"(if (call $pod_has @uid:@) (then (call $reject {uid} (i32.const 36) (i32.const 32) "
                  "(i32.const 8)) (if (i64.eqz (i64.load (i32.const 32))) (then unreachable)))) " + PASS))
    add_pods(c, make_pod("first"))
    first = c.pod("first")["metadata"]["uid"]
    add_pods(c, make_pod("other"))
    wait_bound(c, "other")
    add_pods(c, make_pod("second", annotations={"victim": "uid:" + first}))
    wait_bound(c, "second")
    contains(wait_unschedulable(c, "first")["message"], "removed")


@test
def a_guest_that_loops_or_traps_holds_no_other_pod_up(c):
    begin(c, guest(c, filter="(if (call $pod_has @loops@) (then (loop $on (br $on)))) "
                             "(if (call $pod_has @traps@) (then unreachable)) " + PASS), fuelPerCall=10000000)
    add_pods(c, make_pod("loops"), make_pod("traps"), *(make_pod(f"good-{i}") for i in range(20)))
    for i in range(20):
        wait_bound(c, f"good-{i}")
    contains(wait_unschedulable(c, "loops")["message"], "used all its fuel")
    contains(wait_unschedulable(c, "traps")["message"], "wasm error: unreachable")
    equal((node_of(c, "loops"), node_of(c, "traps")), (None, None), "nodes")


def only(node):
    return choose(f"(call $node_is @{node}@)", PASS, status(UNSCHEDULABLE, f"@not {node}@"))


@test
def a_changed_module_counts_from_the_next_pod_on(c):
    path = guest(c, filter=only("n0"))
    p = begin(c, path)
    add_pods(c, make_pod("before"))
    equal(wait_bound(c, "before"), "n0", "node")
    guest(c, filter=only("n1"))
    told(p, "Configuration reloaded")
    add_pods(c, make_pod("after"))
    equal(wait_bound(c, "after"), "n1", "node")


@test
def a_module_that_became_invalid_is_refused_and_the_old_one_goes_on(c):
    path = guest(c, filter=only("n0"))
    p = begin(c, path)
    with open(path + ".new", "w") as f:
        f.write("not a module")
    os.rename(path + ".new", path)
    contains(told(p, "Failed to reload the configuration"), "error compiling guest")
    add_pods(c, make_pod("p"))
    equal(wait_bound(c, "p"), "n0", "node")


@test
def a_configuration_with_guests_replaces_one_without(c):
    """Pods and nodes are read again, so that the guest sees all of them."""
    add_nodes(c, make_node("n0"), make_node("n1"))
    config = scheduler_config(c, "wasm")
    p = start(c, "-v=2", config=config)
    told(p, "Scheduling started")
    path = guest(c, filter=choose("(call $pod_has @my-hostname@)", only("n1"), only("n0")))
    add_pods(c, make_pod("waits", spec={"hostname": "my-hostname", "nodeSelector": {"x": "y"}}))
    wait_unschedulable(c, "waits")
    scheduler_config(c, "wasm", profiles=profiles(path))
    told(p, "Configuration reloaded")
    for n in ("n0", "n1"):
        c.patch(f"/api/v1/nodes/{n}", {"metadata": {"labels": {"x": "y"}}})
    equal(wait_bound(c, "waits"), "n1", "node")


if __name__ == "__main__":
    main(fixture=WasmCluster, after=berth.reset)
