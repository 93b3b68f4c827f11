#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pods of a PodGroup: all of a gang, or none of it.

BERTH_SUBJECT=kube-scheduler runs the same tests on the real kube-scheduler, with its alpha gates;
berth needs none. Upstream retries a gang that does not fit without a pause, berth keeps the pods'
backoff: no test depends on that.
"""

import os

import subject
from berth import make_node, make_pod, wait_for
from gangs import GROUPS, gang, members, running, wait_condition, wait_running
from subject import LATE, after, apply, delete_pod, have, pends, profile
from tap import check, equal, main, test

WAITS = ("pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, one or "
         "more plugins asked to wait and no plugin rejected pod")
GATES = "--feature-gates=GenericWorkload=true,GangScheduling=true"


def done(c):
    after(c)
    c.delete(GROUPS)


@test
def a_gang_runs_as_soon_as_its_last_member_comes(c):
    have(c, make_node("n0", cpu=2), make_node("n1", cpu=2))
    apply(c, gang("late", 3), *members("late", 2, cpu=1))
    apply(c, make_pod("other"))
    wait_for(lambda: c.pod("other")["spec"].get("nodeName"), LATE, what="the other has a node")
    equal(running(c, "late"), 0, "members that run before the quorum is there")
    apply(c, *members("late", 1, start=2, cpu=1))
    wait_running(c, "late", 3)
    wait_condition(c, "late", ("True", "Scheduled", ""))


@test
def without_its_group_nobody_is_tried(c):
    have(c, make_node("n0", cpu=4))
    apply(c, *members("orphan", 2, cpu=1))
    apply(c, make_pod("other"))
    wait_for(lambda: c.pod("other")["spec"].get("nodeName"), LATE, what="the other has a node")
    equal(running(c, "orphan"), 0, "members that run without a group")
    apply(c, gang("orphan", 2))
    wait_running(c, "orphan", 2)


@test
def a_gang_that_does_not_fit_is_told_so_and_takes_nothing(c):
    have(c, make_node("n0", cpu=2))
    apply(c, gang("big", 3), *members("big", 3, cpu=1))
    pends(c, "big-0", WAITS)
    wait_condition(c, "big", ("False", "Unschedulable", "pod group is unschedulable"))
    equal(running(c, "big"), 0, "members that run")
    apply(c, make_pod("alone", cpu=2))
    wait_for(lambda: c.pod("alone")["spec"].get("nodeName"), LATE, what="the pod alone has a node")
    apply(c, make_node("n1", cpu=4))
    wait_running(c, "big", 3)
    wait_condition(c, "big", ("True", "Scheduled", ""))


@test
def a_member_deleted_on_the_way_is_missed(c):
    have(c, make_node("n0", cpu=2))
    apply(c, gang("missed", 3), *members("missed", 3, cpu=1))
    pends(c, "missed-0", WAITS)
    delete_pod(c, "missed-1")
    apply(c, make_node("n1", cpu=4))
    apply(c, make_pod("other"))
    wait_for(lambda: c.pod("other")["spec"].get("nodeName"), LATE, what="the other has a node")
    equal(running(c, "missed"), 0, "members that run, one being gone")
    apply(c, *members("missed", 1, start=3, cpu=1))
    wait_running(c, "missed", 3)


@test
def of_two_gangs_that_want_the_same_room_one_runs_whole(c):
    have(c, make_node("n0", cpu=2), make_node("n1", cpu=2))
    apply(c, gang("a", 3), gang("b", 3),
          *[p for pair in zip(members("a", 3, cpu=1), members("b", 3, cpu=1)) for p in pair])
    wait_for(lambda: {running(c, "a"), running(c, "b")} == {0, 3}, LATE,
             what="one of the gangs runs, the other does not")
    first, other = ("a", "b") if running(c, "a") else ("b", "a")
    for i in range(3):
        delete_pod(c, f"{first}-{i}")
    wait_running(c, other, 3)


@test
def many_gangs_on_many_nodes(c):
    """All gangs that fit run, and none is ever bound in part, as seen by a watch."""
    nodes, gangs, size = (int(n) for n in os.environ.get("BERTH_GANGS", "40,12,10").split(","))
    room = nodes * 4 // size  # gangs that fit, at four members a node
    want = min(room, gangs)
    c.create_many("/api/v1/nodes", [make_node(f"n{i:04}", cpu=4, pods=4) for i in range(nodes)])
    for g in range(gangs):
        c.create(GROUPS, gang(f"g{g:03}", size))
    # Interleaved, so that every gang is incomplete for as long as possible.
    c.create_many("/api/v1/namespaces/default/pods",
                  [p for i in range(size) for g in range(gangs)
                   for p in members(f"g{g:03}", 1, start=i, cpu=1, memory=None)])

    def counts():
        got = {}
        for p in c.pods():
            if p["spec"].get("nodeName"):
                name = p["spec"]["schedulingGroup"]["podGroupName"]
                got[name] = got.get(name, 0) + 1
        return got
    wait_for(lambda: sum(n == size for n in counts().values()) == want, LATE * 5,
             what=f"{want} gangs run")
    equal({n for n in counts().values()}, {size}, "members of the gangs that run")
    check(len(counts()) == want, f"{len(counts())} gangs run in part or whole, want {want}")


if __name__ == "__main__":
    flags = (GATES,) if subject.SUBJECT == "kube-scheduler" else ()
    main(fixture=subject.cluster([profile()], flags=flags,
                                 feature_gates={"GenericWorkload": True, "GangScheduling": True},
                                 runtime_config={"scheduling.k8s.io/v1alpha2": True}),
         after=done)
