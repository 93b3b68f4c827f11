#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Leader election: which instance leads, handover under load, and shutdown."""

import collections
import os
import re
import signal
import subprocess
import threading
import time

import berth
import bindings
from berth import (TIMEOUT, add_nodes, add_pods, check, equal, make_node, make_pod,
                   wait_bound, wait_exit, wait_for)
from cluster import ApiError, Cluster, Process, free_port
from extender import Extender
from tap import contains, main, note, show_log, test

LEASE_SECONDS = 4
QUICK = {"leaderElect": True, "leaseDuration": f"{LEASE_SECONDS}s", "renewDeadline": "3s",
         "retryPeriod": "500ms"}
ACQUIRED = "Successfully acquired lease"


def start(c, name, *args, **config):
    config = {"leaderElection": QUICK, **config}
    return berth.start(c, "-v=2", *args, name=name, config=berth.scheduler_config(c, name, **config))


def says(p, text, timeout=TIMEOUT):
    wait_for(lambda: text in p.text(), timeout, interval=0.02, what=f"{p.name} logs {text}")


def lease(c):
    return c.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler")["spec"]


def ask(p, path):
    """(status, body); 0: no answer."""
    done = subprocess.run(["curl", "-ksS", "--max-time", "20", "-w", r"\n%{http_code}",
                           f"https://127.0.0.1:{p.port}{path}"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    body, _, status = done.stdout.rpartition("\n")
    return int(status), body


# ---- handover under load -------------------------------------------------------------------------

class Load:
    """Creates pods, one every few milliseconds, until stopped."""

    def __init__(self, c):
        self.c, self.made, self.ends = c, 0, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ends.is_set():
            add_pods(self.c, *[make_pod(f"p{self.made + i}", cpu="1m", memory="1Mi")
                               for i in range(10)])
            self.made += 10
            time.sleep(0.05)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.ends.set()
        self.thread.join()


def hand_over(c, end):
    """Ends the leader under load. Returns the seconds until the other leads."""
    add_nodes(c, *[make_node(f"n{i}", cpu="100", memory="100Gi", pods=2000) for i in range(5)])
    first = start(c, "first")
    says(first, ACQUIRED)
    second = start(c, "second")
    says(second, "Attempting to acquire leader lease")
    with Load(c) as load:
        wait_for(lambda: c.bound("default") >= 50, TIMEOUT, what="the first pods")
        began = time.monotonic()
        end(first)
        says(second, ACQUIRED)
        took = time.monotonic() - began
        bound = c.bound("default")
        wait_for(lambda: c.bound("default") >= bound + 50, TIMEOUT, what="pods of the second")
    wait_for(lambda: c.bound("default") == load.made, TIMEOUT, what="all pods")
    seen = collections.Counter(pod for pod, _, code in bindings.attempts(c) if code == 201)
    equal([p for p, n in seen.items() if n > 1], [], "pods bound twice")
    note(f"{load.made} pods; the second leads after {took:.2f} s")
    return first, second, took, len(seen) == load.made


@test
def a_leader_that_is_asked_to_end_hands_over_at_once_under_load(c):
    first, second, took, complete = hand_over(c, lambda p: p.signal(signal.SIGTERM))
    equal(wait_exit(first), 0, "exit code")
    check(took < LEASE_SECONDS, f"{took:.1f} s")
    check(complete, "bindings that are not in the audit log")
    codes = collections.Counter(code for _, _, code in bindings.attempts(c))
    equal(set(codes), {201}, "answers to bindings")
    contains(first.text(), "Scheduling queue is closed", "Requested to terminate, exiting")
    # It has completed what it began: it knows every binding that it made.
    bound = {line for p in (first, second)
             for line in re.findall(r'Successfully bound pod to node" pod="default/(\w+)"', p.text())}
    equal(len(bound), len({pod for pod, _, _ in bindings.attempts(c)}), "bindings in the logs")


@test
def a_leader_that_is_killed_is_replaced_within_its_lease_under_load(c):
    first, second, took, _ = hand_over(c, berth.kill)
    # The lease counts from its last renewal, which is watched, and is taken when it expires. The
    # rest is tolerance for a busy machine.
    check(took < LEASE_SECONDS + 1, f"{took:.1f} s")
    equal(lease(c)["leaseTransitions"], 1, "leaseTransitions")


@test
def a_leader_that_has_lost_its_lease_ends_and_writes_nothing_more(c):
    add_nodes(c, make_node("n0", cpu="100", memory="100Gi", pods=2000))
    first = start(c, "first")
    says(first, ACQUIRED)
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
    taken = c.get(path)
    taken["spec"]["holderIdentity"] = "somebody else"
    taken["spec"]["leaseDurationSeconds"] = 3600
    while True:
        try:
            c.request("PUT", path, taken)
            break
        except ApiError as e:
            equal(e.status, 409, "status")
            taken["metadata"] = c.get(path)["metadata"]
    equal(wait_exit(first), 1, "exit code")
    contains(first.text(), '"Failed to renew lease" lock="kube-system/kube-scheduler" '
                           'err="lease is held by somebody else"', '"Leaderelection lost"')
    equal(lease(c)["holderIdentity"], "somebody else", "holder")
    add_pods(c, make_pod("p"))
    equal(berth.node_of(c, "p"), None, "node")


@test
def a_leader_that_was_stopped_and_finds_its_lease_untouched_goes_on(c):
    add_nodes(c, *[make_node(f"n{i}", cpu="100", memory="100Gi", pods=2000) for i in range(5)])
    first = start(c, "first")
    says(first, ACQUIRED)
    with Load(c) as load:
        wait_for(lambda: c.bound("default") >= 50, TIMEOUT, what="the first pods")
        first.signal(signal.SIGSTOP)
        time.sleep(LEASE_SECONDS + 1)
        bound = c.bound("default")
        first.signal(signal.SIGCONT)
        wait_for(lambda: c.bound("default") >= bound + 50, TIMEOUT, what="further pods")
    wait_for(lambda: c.bound("default") == load.made, TIMEOUT, what="all pods")
    equal(lease(c)["leaseTransitions"], 0, "leaseTransitions")
    check(first.running(), "it has ended")
    berth.stop(first)


# ---- events --------------------------------------------------------------------------------------

@test
def a_leader_renews_its_lease_however_many_bindings_wait(c):
    add_nodes(c, *[make_node(f"n{i}", cpu="64", pods=200) for i in range(2)])
    p = start(c, "busy", clientConnection={"kubeconfig": c.scheduler_kubeconfig, "qps": 20,
                                           "burst": 10})
    says(p, ACQUIRED)
    add_pods(c, *[make_pod(f"p{i}", cpu="1m") for i in range(140)])
    wait_for(lambda: c.bound("default") == 140 or not p.running(), TIMEOUT, what="all pods")
    check(p.running(), "it has ended")
    berth.stop(p)


def leader_events(c, word, count):
    """Core events about the lease that end in this text, without what always differs."""
    def found():
        all_of_them = c.get("/api/v1/namespaces/kube-system/events")["items"]
        some = [e for e in all_of_them if e["message"].endswith(word)]
        return len(some) >= count and some
    events = wait_for(found, TIMEOUT, what=f"{count} events: {word}")
    for e in events:
        check(re.fullmatch(r"kube-scheduler\.[0-9a-f]+", e["metadata"]["name"]), "name of an event")
        e["message"] = re.sub(r"_[0-9a-f-]{36} ", "_X ", e["message"])
        e["involvedObject"].pop("uid"), e["involvedObject"].pop("resourceVersion")
        for gone in ("metadata", "firstTimestamp", "lastTimestamp"):
            e.pop(gone)
    return events


@test
def who_leads_is_told_by_the_same_event_as_kube_schedulers(c):
    c.delete("/api/v1/namespaces/kube-system/events")
    p = start(c, "first")
    says(p, ACQUIRED)
    ours = leader_events(c, "became leader", 1)
    berth.stop(p)
    equal(len(leader_events(c, "stopped leading", 1)), 1, "events of the end")
    c.delete("/api/v1/namespaces/kube-system/events")
    config = berth.scheduler_config(c, "real", leaderElection=QUICK)
    real = Process("kube-scheduler", [os.path.join(c.bin, "kube-scheduler"), f"--config={config}",
                                      f"--secure-port={free_port()}", "--bind-address=127.0.0.1"],
                   os.path.join(c.dir, "real.log"), cwd=c.dir)
    c.children.append(real)
    says(real, ACQUIRED)
    equal(ours, leader_events(c, "became leader", 1), "event")


# ---- caches --------------------------------------------------------------------------------------

@test
def caches_may_wait_until_it_leads(c):
    add_nodes(c, make_node("n0"))
    first = start(c, "first", delayCacheUntilActive=True)
    says(first, "Sync completed")
    contains(first.text(), "Starting informers and waiting for sync...")
    second = start(c, "second", delayCacheUntilActive=True)
    says(second, "Attempting to acquire leader lease")
    status, body = ask(second, "/readyz")
    equal(status, 500, "readiness of the second")
    contains(body, "[-]sched-handler-sync failed", "[+]leaderElection ok")
    equal(ask(second, "/livez")[0], 200, "liveness of the second")
    add_pods(c, make_pod("p"))
    wait_bound(c, "p")
    check("Caches populated" not in second.text(), "the second has watched")
    berth.stop(first)
    says(second, "Sync completed")
    check(second.text().index(ACQUIRED) < second.text().index("Caches populated"), "order")
    equal(ask(second, "/readyz")[0], 200, "readiness of the second")
    add_pods(c, make_pod("q"))
    wait_bound(c, "q")


@test
def who_does_not_know_the_cluster_does_not_apply(c):
    c.kubectl("create", "role", "-n", "kube-system", "leases", "--verb=*", "--resource=leases")
    c.kubectl("create", "rolebinding", "-n", "kube-system", "leases", "--role=leases",
              "--user=blind")
    blind = start(c, "blind", clientConnection={"kubeconfig": c.kubeconfig("blind", "blind")})
    says(blind, "Failed to watch")
    other = start(c, "other")
    says(other, ACQUIRED)
    check("Attempting to acquire leader lease" not in blind.text(), "it has applied")
    berth.stop(blind)


# ---- shutdown ------------------------------------------------------------------------------------

def slow_binder(c):
    """A slow extender that binds."""
    def bind(ns, pod, uid, node):
        try:
            c.create(f"/api/v1/namespaces/{ns}/pods/{pod}/binding", {
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod, "uid": uid},
                "target": {"kind": "Node", "name": node}})
        except ApiError as e:
            equal(e.status, 404, "the test is over, and the pod gone")
    return Extender(on_bind=bind)


def binder_config(e):
    return [{"urlPrefix": e.url, "bindVerb": "slow/bind", "enableHTTPS": False,
             "httpTimeout": "20s"}]


def wait_asked(e):
    wait_for(lambda: e.calls, TIMEOUT, interval=0.01, what="a binding is under way")


@test
def bindings_under_way_are_waited_for(c):
    add_nodes(c, make_node("n0"))
    with slow_binder(c) as e:
        p = start(c, "first", extenders=binder_config(e))
        says(p, ACQUIRED)
        add_pods(c, make_pod("p"))
        wait_asked(e)
        p.signal(signal.SIGTERM)
        says(p, "Scheduling queue is closed")
        add_pods(c, make_pod("late"))
        # It still answers, and reports that it is not ready.
        equal(ask(p, "/livez")[0], 200, "livez while it ends")
        status, body = ask(p, "/readyz?verbose")
        equal(status, 500, "readyz while it ends")
        contains(body, "[-]shutdown failed", "[+]sched-handler-sync ok")
        equal(wait_exit(p), 0, "exit code")
    contains(p.text(), 'Successfully bound pod to node" pod="default/p"')
    equal(berth.node_of(c, "p"), "n0", "node")
    equal(len(berth.wait_events(c, "p", "Scheduled")), 1, "events")
    equal(berth.node_of(c, "late"), None, "a pod that was created too late")
    equal(lease(c)["holderIdentity"], "", "holder")


@test
def the_second_signal_ends_it_at_once(c):
    add_nodes(c, make_node("n0"))
    with slow_binder(c) as e:
        p = start(c, "first", extenders=binder_config(e))
        says(p, ACQUIRED)
        add_pods(c, make_pod("p"))
        wait_asked(e)
        p.signal(signal.SIGTERM)
        says(p, "Scheduling queue is closed")
        p.signal(signal.SIGINT)
        equal(wait_exit(p), 1, "exit code")
    check("Requested to terminate" not in p.text(), "it was not immediate")


def run_as(c, program, *args):
    """Starts it under upstream's name and stops it once it is ready. Returns (exit code, last
    line)."""
    port = free_port()
    p = Process("as", program + [f"--kubeconfig={c.scheduler_kubeconfig}", f"--secure-port={port}",
                                 "--bind-address=127.0.0.1", *args],
                os.path.join(c.dir, f"as-{port}.log"), cwd=c.dir, env=berth.environment())
    p.port = port
    c.children.append(p)
    show_log(p.log)
    wait_for(lambda: ask(p, "/readyz")[0] == 200, TIMEOUT, what="it is ready")
    code = p.terminate(60)
    c.children.remove(p)
    return code, re.sub(r"^.*?\] ", "", p.text().splitlines()[-1])


@test
def under_upstreams_name_it_ends_with_upstreams_exit_code(c):
    link = os.path.join(c.dir, "kube-scheduler")
    os.symlink(berth.find_program("berth"), link)
    ours = berth.command()[:-1] + [link]
    theirs = [os.path.join(c.bin, "kube-scheduler")]
    for args in (["--leader-elect=false"], ["--leader-elect=true"]):
        equal(run_as(c, ours, *args), run_as(c, theirs, *args), " ".join(args))


# ---- coordinated leader election -----------------------------------------------------------------

@test
def an_election_may_be_coordinated(c):
    del c
    gate = "--feature-gates=CoordinatedLeaderElection=true"
    with Cluster(feature_gates={"CoordinatedLeaderElection": True},
                 runtime_config={"coordination.k8s.io/v1beta1": True}) as own:
        add_nodes(own, make_node("n0"))
        first = start(own, "first", gate)
        says(first, ACQUIRED)
        second = start(own, "second", gate)
        path = "/apis/coordination.k8s.io/v1beta1/namespaces/kube-system/leasecandidates"
        candidates = wait_for(lambda: len(own.get(path)["items"]) == 2 and own.get(path)["items"],
                              TIMEOUT, what="two candidates")
        for found in candidates:
            found["spec"].pop("renewTime"), found["spec"].pop("pingTime", None)
            equal(found["spec"], {"leaseName": "kube-scheduler", "binaryVersion": "1.36.3",
                                  "emulationVersion": "1.36.0",
                                  "strategy": "OldestEmulationVersion"}, "candidate")
        contains(ask(second, "/readyz?verbose")[1], "[+]informer-sync ok")
        add_pods(own, make_pod("p"))
        wait_bound(own, "p")
        check(ACQUIRED not in second.text(), "two leaders")
        equal(lease(own)["strategy"], "OldestEmulationVersion", "strategy")
        berth.stop(first)
        says(second, ACQUIRED)
        add_pods(own, make_pod("q"))
        wait_bound(own, "q")
        own.children.remove(second)
        berth.stop(second)


def reset(c):
    c.kubectl("delete", "role,rolebinding", "-n", "kube-system", "leases", "--ignore-not-found")
    bindings.reset(c)


if __name__ == "__main__":
    main(fixture=bindings.cluster, after=reset)
