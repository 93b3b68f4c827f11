#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Five hundred pods on fifty nodes of a real API server, while processes are killed.

The nodes hold exactly what the pods request, so that any miscount overcommits one of them. The API
server's audit log records which user bound which pod and how often.
"""

import collections
import time

import berth
from berth import PODS, add_nodes, check, equal, make_node, make_pod, overcommitted, wait_for
from bindings import USER, attempts, cluster, reset
from tap import main, note, test

N_NODES, N_PODS = 50, 500


def fill(c):
    """Nodes with room for exactly ten pods each."""
    add_nodes(c, *[make_node(f"node-{i:03}", cpu="1", memory="1000Mi", pods=20)
                   for i in range(N_NODES)])


def the_pods(first=0, last=N_PODS):
    return [make_pod(f"pod-{i:04}", cpu="100m", memory="100Mi") for i in range(first, last)]


def unhurried(c):
    """A limit on bindings that stretches the run to seconds, so that it can be interrupted."""
    return berth.scheduler_config(c, "unhurried", clientConnection={
        "kubeconfig": c.scheduler_kubeconfig, "qps": 100, "burst": 150})


def wait_count(c, count, timeout=berth.TIMEOUT):
    """Waits until so many pods are bound. An unavailable server counts as none."""
    def enough():
        try:
            return c.bound("default") >= count
        except Exception:
            return False
    wait_for(enough, timeout, what=f"{count} pods bound")


def check_all_bound_once(c, allow_lost_entries=0):
    pods = c.pods()
    equal(len(pods), N_PODS, "pods")
    equal([p["metadata"]["name"] for p in pods if not p["spec"].get("nodeName")], [], "lost pods")
    equal(overcommitted(c), [], "overcommitted nodes")
    seen = attempts(c)
    equal({user for _, user, _ in seen}, {USER}, "users that bound")
    successes = collections.Counter(pod for pod, _, code in seen if code == 201)
    equal([p for p, n in successes.items() if n > 1], [], "pods bound twice")
    missing = N_PODS - len(successes)
    check(missing <= allow_lost_entries, f"{missing} pods have no successful binding in the log")
    return collections.Counter(code for _, _, code in seen)


def check_scheduled_events(c):
    """Every pod has one Scheduled event that names its node as upstream does."""
    def complete():
        events = c.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
        return sum(e["reason"] == "Scheduled" for e in events) >= N_PODS and events
    events = wait_for(complete, berth.TIMEOUT, interval=0.5, what="all Scheduled events")
    notes = {e["regarding"]["name"]: e["note"] for e in events if e["reason"] == "Scheduled"}
    for pod in c.pods():
        name = pod["metadata"]["name"]
        equal(notes.get(name),
              f"Successfully assigned default/{name} to {pod['spec']['nodeName']}", name)
    equal(sum(e["reason"] == "Scheduled" for e in events), N_PODS, "Scheduled events")


@test
def five_hundred_pods_are_bound_once_and_no_node_is_overcommitted(c):
    fill(c)
    c.create_many(PODS, the_pods())
    p = berth.start(c)
    wait_count(c, N_PODS)
    codes = check_all_bound_once(c)
    equal(dict(codes), {201: N_PODS}, "answers to bindings")
    check_scheduled_events(c)
    berth.stop(p)


@test
def pods_created_while_it_runs_are_bound(c):
    p = berth.start(c)
    fill(c)
    for first in range(0, N_PODS, 125):
        c.create_many(PODS, the_pods(first, first + 125))
    wait_count(c, N_PODS)
    equal(dict(check_all_bound_once(c)), {201: N_PODS}, "answers to bindings")
    berth.stop(p)


@test
def killing_the_api_server_mid_way_loses_nothing_and_binds_nothing_twice(c):
    fill(c)
    c.create_many(PODS, the_pods())
    p = berth.start(c, config=unhurried(c))
    wait_count(c, 100)
    c.kill_apiserver()
    before, lines = p.cpu_seconds(), p.text().count("\n")
    time.sleep(5)       # an interval to measure over, not a wait for something
    used = p.cpu_seconds() - before
    note(f"{used:.2f} s of CPU and {p.text().count(chr(10)) - lines} lines in 5 s without a server")
    check(used < 1, f"busy while the server is down: {used:.2f} s of CPU in 5 s")
    c.start_apiserver()
    wait_count(c, N_PODS)
    note(f"answers to bindings: {dict(check_all_bound_once(c, allow_lost_entries=150))}")
    check(p.running(), "berth did not survive")
    lines = p.text().count("\n")
    check(lines < 2000, f"{lines} lines in the log")
    berth.stop(p)


@test
def killing_berth_mid_way_loses_nothing_and_binds_nothing_twice(c):
    fill(c)
    c.create_many(PODS, the_pods())
    p = berth.start(c, config=unhurried(c))
    wait_count(c, 100)
    berth.kill(p)
    check(c.bound("default") < N_PODS, "it had finished before it was killed")
    p = berth.start(c, name="berth-2")
    wait_count(c, N_PODS)
    # A request whose client is gone may be recorded as failed although it succeeded.
    check_all_bound_once(c, allow_lost_entries=150)
    berth.stop(p)


@test
def two_that_both_believe_to_lead_bind_nothing_twice(c):
    fill(c)
    both = [berth.start(c, name=f"berth-{i}") for i in (1, 2)]
    c.create_many(PODS, the_pods())
    wait_count(c, N_PODS)
    seen = collections.Counter(pod for pod, _, code in attempts(c) if code == 201)
    equal(len(seen), N_PODS, "pods bound")
    equal(max(seen.values()), 1, "successful bindings of one pod")
    for p in both:
        berth.stop(p)


if __name__ == "__main__":
    main(fixture=cluster, after=reset)
