#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plugins that depend on other pods: topology spread and pod affinity, used through kubectl.

BERTH_SUBJECT=kube-scheduler runs the same tests on the real kube-scheduler.
"""

import subject
from berth import make_node, make_pod, wait_for
from reasons import (CORDONED, NO_AFFINITY, NO_LABEL, NOT_NEAR, REPELLED, REPELLED_BY_OTHERS,
                     TAINTED, UNEVEN, nodes_left)
from subject import (LATE, after, apply, delete_pod, have, lands, pends, place_of, profile, settle)
from tap import check, equal, main, test

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"

PROFILES = [
    profile(),
    profile("spread", score="PodTopologySpread"),
    profile("spread-list", score="PodTopologySpread", PodTopologySpread={
        "defaultingType": "List", "defaultConstraints": [
            {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}]}),
    profile("spread-none", PodTopologySpread={
        "defaultingType": "List", "defaultConstraints": []}),
    profile("near", score="InterPodAffinity"),
    profile("near-hard-50", score="InterPodAffinity",
            InterPodAffinity={"hardPodAffinityWeight": 50}),
    profile("near-hard-0", score="InterPodAffinity",
            InterPodAffinity={"hardPodAffinityWeight": 0}),
    profile("near-own", InterPodAffinity={"ignorePreferredTermsOfExistingPods": True}),
]

# Created before the scheduler starts: whether it knows later objects cannot be seen from outside.
OBJECTS = [
    *[{"apiVersion": "v1", "kind": "Namespace",
       "metadata": {"name": name, "labels": {"team": team}}}
      for name, team in (("red-1", "red"), ("red-2", "red"), ("blue", "blue"))],
    {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
     "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}},
    {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "batch"},
     "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "batch"}},
              "template": {"metadata": {"labels": {"app": "batch"}}, "spec": {
                  "containers": [{"name": "main", "image": "registry.test/x"}]}}}},
]


def zones(text, **more):
    """Nodes n0, n1, … in the zones named by the letters."""
    return [make_node(f"n{i}", zone=letter, **more) for i, letter in enumerate(text)]


def there(node, count=1, app="web", **more):
    """Pods that are already on this node."""
    return [make_pod(f"{app}-{node}-{i}", labels={"app": app}, node_name=node, **more)
            for i in range(count)]


# ---- PodTopologySpread ---------------------------------------------------------------------------

def evenly(key=ZONE, skew=1, hard=True, app="web", **more):
    return {"maxSkew": skew, "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": app}}, **more}


def web(name, *constraints, labels=None, **more):
    return make_pod(name, labels={"app": "web", **(labels or {})}, spread=list(constraints) or None,
                    **more)


@test
def pods_are_spread_evenly_over_zones_and_hosts(c):
    have(c, *zones("aabbc"))
    apply(c, *[web(f"p{i}", evenly(), evenly(HOST)) for i in range(5)])
    got = [lands(c, f"p{i}", "n0", "n1", "n2", "n3", "n4") for i in range(5)]
    equal(len(set(got)), 5, "nodes with one of five pods")
    # Any host fits the next pod, but not any zone: n4 is alone in its own.
    apply(c, web("q0", evenly(), evenly(HOST)))
    lands(c, "q0", "n4")


@test
def a_zone_that_is_full_makes_the_next_pod_wait(c):
    have(c, *zones("aab"), *there("n2"))
    c.kubectl("cordon", "n0", "n1")
    settle(c)
    apply(c, web("p", evenly()))
    pends(c, "p", nodes_left(3, f"1 {UNEVEN}", f"2 {CORDONED}"))
    # The zone with the fewest pods counts. The deleted pod makes n2 as empty as the others.
    delete_pod(c, "web-n2-0")
    lands(c, "p", "n2")


@test
def spreading_waits_for_a_node_a_label_or_a_pod(c):
    have(c, *zones("a", pods=2), make_node("n1"), *there("n0"))
    apply(c, web("p", evenly(minDomains=2)))
    pends(c, "p", nodes_left(2, f"1 {UNEVEN}", f"1 {NO_LABEL}"))
    # A second zone, created by a label.
    c.kubectl("label", "node", "n1", f"{ZONE}=b")
    lands(c, "p", "n1")
    apply(c, web("q", evenly(HOST, skew=2)))
    lands(c, "q", "n0", "n1")


@test
def too_few_domains_are_counted_as_an_empty_one(c):
    have(c, *zones("ab"))
    apply(c, *[web(f"p{i}", evenly(minDomains=3)) for i in range(3)])
    def bound():
        return [n for n in place_of(c, "p0", "p1", "p2").values() if n]
    wait_for(lambda: len(bound()) == 2, LATE, what="two pods have nodes")
    equal(set(bound()), {"n0", "n1"}, "nodes")
    late = [n for n, node in place_of(c, "p0", "p1", "p2").items() if not node][0]
    pends(c, late, nodes_left(2, f"2 {UNEVEN}"))
    apply(c, make_node("n2", zone="c"))
    lands(c, late, "n2")


@test
def each_revision_is_spread_by_itself(c):
    def revision(name, number, *constraints, **more):
        return web(name, *constraints, labels={"rev": number}, **more)
    have(c, *zones("ab"), make_node("n2", zone="b", unschedulable=True),
         revision("old-0", "1", node_name="n0"), revision("old-1", "1", node_name="n0"),
         revision("old-2", "2", node_name="n1"), revision("old-3", "2", node_name="n1"))
    by_revision = evenly(matchLabelKeys=["rev"])
    apply(c, revision("first", "1", by_revision), revision("second", "2", by_revision))
    lands(c, "first", "n1")
    lands(c, "second", "n0")
    # One by one: each zone has three now, and two of this revision are in one of them.
    apply(c, revision("third", "1", by_revision), revision("any", "1", evenly(skew=3)))
    lands(c, "third", "n1")
    lands(c, "any", "n0", "n1")


@test
def which_nodes_count_is_for_the_constraint_to_say(c):
    have(c, make_node("n0", zone="a"), make_node("n1", zone="b", labels={"pool": "x"}),
         make_node("n2", zone="c", taints=[{"key": "broken", "effect": "NoSchedule"}]),
         *there("n0"), *there("n1"))
    # The empty zone c counts, though the pod does not fit there, unless taints are honoured.
    apply(c, web("ignored", evenly()), web("honoured", evenly(nodeTaintsPolicy="Honor")))
    pends(c, "ignored", nodes_left(3, f"1 {TAINTED}", f"2 {UNEVEN}"))
    lands(c, "honoured", "n0", "n1")
    delete_pod(c, "honoured")
    c.kubectl("taint", "node", "n2", "broken-")
    lands(c, "ignored", "n2")
    delete_pod(c, "ignored")
    settle(c)
    # Zones excluded by the pod's selector do not count, unless affinity is ignored.
    apply(c, web("chosen", evenly(), node_selector={"pool": "x"}),
          web("all", evenly(nodeAffinityPolicy="Ignore"), node_selector={"pool": "x"}))
    lands(c, "chosen", "n1")
    pends(c, "all", nodes_left(3, f"1 {UNEVEN}", f"2 {NO_AFFINITY}"))


@test
def soft_constraints_prefer_the_emptier_zone(c):
    have(c, *zones("aab"), *there("n0"), *there("n1"), *there("n2"))
    apply(c, web("p", evenly(hard=False), scheduler_name="spread"))
    lands(c, "p", "n2")
    # By hosts, n2 has two now.
    apply(c, web("q", evenly(HOST, hard=False), scheduler_name="spread"))
    lands(c, "q", "n0", "n1")


@test
def pods_of_a_service_are_spread_unless_they_say_otherwise(c):
    """Every score except spreading prefers the larger node, which already has three of them."""
    have(c, make_node("n0", zone="a"), make_node("n1", zone="b", cpu="1", memory="1Gi"),
         *there("n0", 3, cpu="1m", memory="1Mi"),
         *there("n0", 3, app="other", cpu="1m", memory="1Mi"),
         *there("n1", app="tenant", cpu="300m", memory="300Mi"))
    apply(c, web("p"), make_pod("nobody", labels={"app": "other"}),
          web("none", scheduler_name="spread-none"), web("own", evenly(HOST, skew=9)))
    lands(c, "p", "n1")
    # No service selects it; no defaults; its own constraints.
    for name in ("nobody", "none", "own"):
        lands(c, name, "n0")


@test
def pods_of_a_replica_set_are_spread(c):
    uid = c.get("/apis/apps/v1/namespaces/default/replicasets/batch")["metadata"]["uid"]
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "batch", "uid": uid,
             "controller": True}
    pods = [make_pod(f"p{i}", labels={"app": "batch"}, scheduler_name="spread") for i in range(4)]
    for pod in pods:
        pod["metadata"]["ownerReferences"] = [owner]
    have(c, *zones("abc"), *there("n0", 3, app="batch"), *there("n1", 1, app="batch"))
    apply(c, *pods)
    got = sorted(lands(c, f"p{i}", "n0", "n1", "n2") for i in range(4))
    equal((got.count("n0"), got.count("n2") >= 2), (0, True), f"on n0, enough on n2: {got}")


@test
def default_constraints_can_be_listed(c):
    have(c, *zones("ab"), *there("n0", 2))
    c.kubectl("cordon", "n1")
    settle(c)
    apply(c, web("p", scheduler_name="spread-list"),
          web("own", evenly(skew=3), scheduler_name="spread-list"),
          make_pod("nobody", labels={"app": "other"}, scheduler_name="spread-list"))
    lands(c, "own", "n0")
    lands(c, "nobody", "n0")
    pends(c, "p", nodes_left(2, f"1 {UNEVEN}", f"1 {CORDONED}"))
    c.kubectl("uncordon", "n1")
    lands(c, "p", "n1")


# ---- InterPodAffinity: filtering -----------------------------------------------------------------

def other(app, key=ZONE, **more):
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}


def near(*terms):
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def far(*terms):
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def rather_near(term, weight=10):
    return {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": weight, "podAffinityTerm": term}]}}


def rather_far(term, weight=10):
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": weight, "podAffinityTerm": term}]}}


@test
def a_pod_waits_for_the_pod_it_wants_to_be_near(c):
    have(c, *zones("abb"))
    apply(c, make_pod("p", affinity=near(other("db"))),
          make_pod("q", affinity=near(other("db", HOST))))
    for name in ("p", "q"):
        pends(c, name, nodes_left(3, f"3 {NOT_NEAR}"))
    apply(c, make_pod("db", labels={"app": "db"}, node_selector={HOST: "n1"}))
    lands(c, "db", "n1")
    lands(c, "p", "n1", "n2")
    lands(c, "q", "n1")


@test
def a_pod_that_becomes_what_others_want_brings_them_back(c):
    have(c, *zones("ab"), make_pod("db", node_name="n1"))
    apply(c, make_pod("p", affinity=near(other("db"))))
    pends(c, "p", nodes_left(2, f"2 {NOT_NEAR}"))
    c.kubectl("label", "pod", "db", "app=db")
    lands(c, "p", "n1")


@test
def a_node_that_joins_a_zone_is_near_what_is_in_it(c):
    have(c, *zones("a", cpu="1"), make_node("n1"), *there("n0", app="db"))
    apply(c, make_pod("p", cpu="2", affinity=near(other("db"))))
    pends(c, "p", nodes_left(2, "1 Insufficient cpu", f"1 {NOT_NEAR}"))
    c.kubectl("label", "node", "n1", f"{ZONE}=a")
    lands(c, "p", "n1")


@test
def the_first_of_pods_that_want_each_other_may_go_anywhere(c):
    have(c, *zones("ab"), make_node("n2"))
    together = near(other("web"))
    apply(c, *[web(f"p{i}", affinity=together) for i in range(4)])
    got = {lands(c, f"p{i}", "n0", "n1") for i in range(4)}
    equal(len(got), 1, "nodes of pods that want to be together")
    # A pod that does not match its own terms gets no such exception.
    apply(c, make_pod("alone", affinity=near(other("nobody"))))
    pends(c, "alone", nodes_left(3, f"3 {NOT_NEAR}"))


@test
def pods_that_repel_each_other_wait_for_a_node_of_their_own(c):
    have(c, *zones("aa"))
    apart = far(other("web", HOST))
    apply(c, *[web(f"p{i}", affinity=apart) for i in range(2)])
    got = {lands(c, f"p{i}", "n0", "n1") for i in range(2)}
    equal(got, {"n0", "n1"}, "nodes")
    apply(c, web("p2", affinity=apart), web("p3", affinity=apart))
    for name in ("p2", "p3"):
        pends(c, name, nodes_left(2, f"2 {REPELLED}"))
    gone = place_of(c, "p0")["p0"]
    delete_pod(c, "p0")
    wait_for(lambda: len([n for n in place_of(c, "p2", "p3").values() if n]) == 1,
                     LATE, what="one of the two has the node that is free")
    check(gone in place_of(c, "p2", "p3").values(), f"{gone} is not taken")
    apply(c, make_node("n2", zone="a"))
    wait_for(lambda: set(place_of(c, "p1", "p2", "p3").values()) == {"n0", "n1", "n2"},
                     LATE, what="each has its node")


@test
def a_pod_that_is_there_keeps_others_away(c):
    have(c, *zones("ab"), make_pod("shy", node_name="n0", affinity=far(other("web"))),
         make_pod("shy-too", node_name="n1", affinity=far(other("web", HOST))))
    apply(c, web("p"), make_pod("q"), web("both", affinity=far({
        "topologyKey": HOST, "labelSelector": {}})))
    lands(c, "q", "n0", "n1")
    pends(c, "p", nodes_left(2, f"2 {REPELLED_BY_OTHERS}"))
    pends(c, "both", nodes_left(2, f"2 {REPELLED}"))
    delete_pod(c, "shy-too")
    lands(c, "p", "n1")


@test
def terms_look_into_the_namespaces_that_they_name(c):
    have(c, *zones("abcd"),
         *[make_pod(f"db-{ns}", ns=ns, labels={"app": "db"}, node_name=node)
           for ns, node in (("red-1", "n0"), ("red-2", "n1"), ("blue", "n2"))])
    red = {"matchLabels": {"team": "red"}}
    apply(c, make_pod("own", affinity=near(other("db"))),
          make_pod("listed", affinity=near(other("db", namespaces=["blue"]))),
          make_pod("selected", affinity=near(other("db", namespaceSelector=red))),
          make_pod("all-but", affinity=far(other("db", namespaceSelector={}))),
          make_pod("union", affinity=far(other("db", namespaceSelector=red, namespaces=["blue"]))),
          make_pod("mine", ns="blue", affinity=near(other("db"))))
    lands(c, "listed", "n2")
    lands(c, "selected", "n0", "n1")
    lands(c, "all-but", "n3")
    lands(c, "union", "n3")
    lands(c, "mine", "n2", ns="blue")
    pends(c, "own", nodes_left(4, f"4 {NOT_NEAR}"))


@test
def label_keys_narrow_a_term(c):
    have(c, *zones("abc"),
         *[make_pod(f"db-{i}", labels={"app": "db", "rev": str(i)}, node_name=f"n{i}")
           for i in (0, 1)])
    same, differs = other("db", matchLabelKeys=["rev"]), other("db", mismatchLabelKeys=["rev"])
    for name, affinity in (("same", near(same)), ("other", near(differs)),
                           ("clear", far(same, differs))):
        apply(c, make_pod(name, labels={"rev": "1"}, affinity=affinity))
    lands(c, "same", "n1")
    lands(c, "other", "n0")
    lands(c, "clear", "n2")


# ---- InterPodAffinity: scoring -------------------------------------------------------------------

@test
def company_is_preferred_or_avoided(c):
    have(c, *zones("abc"), *there("n0", app="db"), *there("n1", app="noise"),
         *there("n2", app="noise"))
    apply(c, make_pod("near", affinity=rather_near(other("db")), scheduler_name="near"),
          make_pod("far", affinity=rather_far(other("noise")), scheduler_name="near"),
          make_pod("torn", scheduler_name="near", affinity={
              **rather_near(other("noise"), weight=20), **rather_far(other("noise"), weight=10)}))
    lands(c, "near", "n0")
    lands(c, "far", "n0")
    lands(c, "torn", "n1", "n2")


@test
def pods_that_are_there_attract_and_repel(c):
    have(c, *zones("abc"), make_pod("fond", node_name="n0", affinity=rather_near(other("web"))),
         make_pod("shy", node_name="n1", affinity=rather_far(other("db"))),
         make_pod("shy-too", node_name="n2", affinity=rather_far(other("db"))))
    apply(c, web("p", scheduler_name="near"),
          make_pod("q", labels={"app": "db"}, scheduler_name="near"))
    lands(c, "p", "n0")
    lands(c, "q", "n0")


@test
def what_pods_that_are_there_want_is_weighed_by_the_profile(c):
    """One prefers such pods near it with weight 10, the other requires one: that has weight 1, or
    as set."""
    have(c, *zones("ab"), make_pod("fond", node_name="n0", affinity=rather_near(other("db"))),
         make_pod("needs", node_name="n1", affinity=near(other("db"))))
    for scheduler, node in (("near", "n0"), ("near-hard-50", "n1"), ("near-hard-0", "n0")):
        apply(c, make_pod(scheduler, labels={"app": "db"}, scheduler_name=scheduler))
        lands(c, scheduler, node)


@test
def what_pods_that_are_there_prefer_can_be_ignored(c):
    """Every score except affinity prefers n1."""
    have(c, make_node("n0", zone="a", cpu="1", memory="1Gi"), make_node("n1", zone="b"),
         make_pod("fond", node_name="n0", cpu="300m", affinity=rather_near(other("db"))))
    db = {"app": "db"}
    apply(c, make_pod("heard", labels=db),
          make_pod("ignored", labels=db, scheduler_name="near-own"),
          # A pod with its own preferences also honours those of others.
          make_pod("wishing", labels=db, scheduler_name="near-own",
                   affinity=rather_near(other("nobody"), weight=1)))
    lands(c, "heard", "n0")
    lands(c, "ignored", "n1")
    lands(c, "wishing", "n0")


if __name__ == "__main__":
    main(fixture=subject.cluster(PROFILES, before=OBJECTS), after=after)
