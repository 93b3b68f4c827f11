#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Preemption on a real API server: which pods are evicted, what is reported, and the outcome.

Two schedulers run: that of "default-scheduler" deletes its victims in the background, as is the
default, that of "waits" deletes them before it continues. Every test runs with both.

There are no kubelets. A deleted pod terminates until the test ends it.
"""

import functools
import socket

import berth
import subject
from berth import NODES, PODS, condition_of, events_of, make_node, make_pod, wait_for
from cluster import ApiError, Cluster
from subject import LATE, apply, lands, pends
from tap import check, equal, main, show_log, test

CLASSES = {"bottom": -100, "low": 10, "middle": 100, "high": 1000, "top": 10000}
WAYS = {"default-scheduler": (), "waits": ("--feature-gates=SchedulerAsyncPreemption=false",)}


# ---- the cluster ---------------------------------------------------------------------------------

def profile(name, *without):
    return {"schedulerName": name, "percentageOfNodesToScore": 100,
            "plugins": {"multiPoint": {"disabled": [{"name": n} for n in without]}}}


def start(c, way):
    profiles = [profile(way)]
    if way == "default-scheduler":
        profiles.append(profile("meek", "DefaultPreemption"))
    flags = (*subject.FLAGS, *WAYS[way])
    if subject.SUBJECT == "berth":
        path = berth.scheduler_config(c, way, profiles=profiles)
        return berth.start(c, *flags, name=way, config=path)
    return c.start_scheduler(*flags, name=way, config={"profiles": profiles}, qps=5000)


class Preempting(Cluster):
    def __enter__(self):
        super().__enter__()
        apply(self, *[{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                       "metadata": {"name": name}, "value": value}
                      for name, value in CLASSES.items()])
        apply(self, {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                     "metadata": {"name": "polite"}, "value": 1000, "preemptionPolicy": "Never"})
        self.schedulers = {way: start(self, way) for way in WAYS}
        return self

    def __exit__(self, *exc):
        for p in self.schedulers.values():
            self.children.remove(p)
            if subject.SUBJECT == "berth":
                berth.stop(p)
            else:
                p.kill()
        return super().__exit__(*exc)


def after(c):
    for p in c.schedulers.values():
        show_log(p.log)
    subject.tidy(c)
    c.delete("/apis/policy/v1/namespaces/default/poddisruptionbudgets")
    equal([p.name for p in c.schedulers.values() if not p.running()], [], "schedulers that ended")


def in_both_ways(scene):
    """Makes one test for each scheduler: scene(c, its name)."""
    for way, manner in (("default-scheduler", "beside_other_work"), ("waits", "before_other_work")):
        run = functools.partial(scene, way=way)
        run.__name__ = f"{scene.__name__}_{manner}"
        test(run)


# ---- objects -------------------------------------------------------------------------------------

def have(c, *objects):
    """Creates the objects and waits until both schedulers know them."""
    apply(c, *objects)
    for way in WAYS:
        subject.settle(c, way)


def resident(name, node="n0", cpu="1", priority="low", **more):
    return make_pod(name, cpu=cpu, memory=None, priority_class=priority, node_name=node, **more)


def started(c, **hours):
    """Sets the start times of these pods to so many hours of a fixed day."""
    for name, hour in hours.items():
        c.patch(f"{PODS}/{name}/status", {"status": {"startTime": f"2026-01-01T{hour:02}:00:00Z"}})
    for way in WAYS:
        subject.settle(c, way)


def arrive(c, way, name, cpu="1", priority="high", **more):
    c.create(PODS, make_pod(name, cpu=cpu, memory=None, priority_class=priority,
                            scheduler_name=way, **more))


def budget(c, name, allowed, **labels):
    """A budget that allows so many disruptions of the pods with these labels."""
    c.create("/apis/policy/v1/namespaces/default/poddisruptionbudgets",
             {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name},
              "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}}})
    c.patch(f"/apis/policy/v1/namespaces/default/poddisruptionbudgets/{name}/status",
            {"status": {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1,
                        "expectedPods": 1, "observedGeneration": 1}})


# ---- observation ---------------------------------------------------------------------------------

def nominated(c, name):
    return c.pod(name)["status"].get("nominatedNodeName")


def is_promised(c, name, node):
    wait_for(lambda: nominated(c, name) == node, LATE, what=f"{name} is nominated to {node}")


def is_evicted(c, name, way, by, node):
    """Checks that the pod terminates with upstream's condition and event."""
    wait_for(lambda: c.pod(name)["metadata"].get("deletionTimestamp"), LATE,
             what=f"{name} terminates")
    pod = c.pod(name)
    equal(pod["metadata"]["deletionGracePeriodSeconds"], 30, "grace period")
    conditions = [k for k in pod["status"].get("conditions", ()) if k["type"] == "DisruptionTarget"]
    equal(len(conditions), 1, f"DisruptionTarget conditions of {name}")
    check(conditions[0].pop("lastTransitionTime"), "time of the condition")
    equal(conditions[0], {
        "type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler",
        "message": f"{way}: preempting to accommodate a higher priority pod",
        "observedGeneration": 1, "lastProbeTime": None}, "condition")
    event = wait_for(lambda: events_of(c, name, "Preempted"), LATE, what=f"{name} has an event")[0]
    meta = event.pop("metadata")
    check(meta["name"].startswith(name + "."), f"name of the event: {meta['name']}")
    check(event.pop("eventTime"), "time of the event")
    regarding = event.pop("regarding")
    equal({k: regarding[k] for k in ("kind", "name", "namespace", "uid", "apiVersion")},
          {"kind": "Pod", "name": name, "namespace": "default", "uid": pod["metadata"]["uid"],
           "apiVersion": "v1"}, "what the event is about")
    equal(event, {
        "action": "Preempting", "reason": "Preempted", "type": "Normal",
        "note": f"Preempted by pod {c.pod(by)['metadata']['uid']} on node {node}",
        "reportingController": way, "reportingInstance": f"{way}-{socket.gethostname()}",
        "deprecatedSource": {}, "deprecatedFirstTimestamp": None, "deprecatedLastTimestamp": None},
        "event")


def is_left_alone(c, *names):
    for name in names:
        pod = c.pod(name)
        equal(pod["metadata"].get("deletionTimestamp"), None, f"deletion of {name}")
        equal([k for k in pod["status"].get("conditions", ()) if k["type"] == "DisruptionTarget"],
              [], f"DisruptionTarget of {name}")
        equal(events_of(c, name, "Preempted"), [], f"events of {name}")


def says(c, name, text):
    """The pod's current message. If it had another one before, its event is a series of that."""
    wait_for(lambda: condition_of(c, name)["message"] == text, LATE,
             what=f"{name} has the message: {text}")


def end(c, *names):
    for name in names:
        c.delete(f"{PODS}/{name}?gracePeriodSeconds=0")


def is_gone(c, name):
    try:
        c.pod(name)
    except ApiError as e:
        return e.status == 404
    return False


NO_CPU = "0/1 nodes are available: 1 Insufficient cpu."
SLOW = (" no new claims to deallocate, preemption: not eligible due to a terminating pod on the "
        "nominated node.")
NO_VICTIMS = (NO_CPU + " no new claims to deallocate, preemption: 0/1 nodes are available: "
              "1 No preemption victims found for incoming pod.")


# ---- one preemption ------------------------------------------------------------------------------

@in_both_ways
def a_lower_pod_goes_and_all_is_told(c, way):
    have(c, make_node("n0", cpu="2"), resident("victim", cpu="1500m"))
    arrive(c, way, "p")
    is_promised(c, "p", "n0")
    is_evicted(c, "victim", way, "p", "n0")
    pends(c, "p", NO_CPU)
    equal(condition_of(c, "p"), {"type": "PodScheduled", "status": "False", "message": NO_CPU,
                                 "reason": "Unschedulable", "observedGeneration": 1}, "condition")
    end(c, "victim")
    lands(c, "p", "n0")
    wait_for(lambda: nominated(c, "p") is None, LATE, what="the nomination is used and cleared")


@in_both_ways
def only_as_many_go_as_must_and_the_youngest_first(c, way):
    have(c, make_node("n0", cpu="4"), *[resident(n) for n in ("old", "young", "younger", "first")])
    started(c, first=1, old=2, young=3, younger=4)
    arrive(c, way, "p", cpu="2")
    is_promised(c, "p", "n0")
    for name in ("young", "younger"):
        is_evicted(c, name, way, "p", "n0")
    is_left_alone(c, "old", "first")
    end(c, "young")
    says(c, "p", NO_CPU + SLOW)
    end(c, "younger")
    lands(c, "p", "n0")
    is_left_alone(c, "old", "first")


@in_both_ways
def victims_of_less_priority_are_preferred_even_if_more_of_them(c, way):
    have(c, make_node("n0", cpu="2"), make_node("n1", cpu="2"), resident("middle", cpu="2",
         priority="middle"), resident("low-1", "n1"), resident("low-2", "n1", priority="bottom"))
    arrive(c, way, "p", cpu="2")
    is_promised(c, "p", "n1")
    for name in ("low-1", "low-2"):
        is_evicted(c, name, way, "p", "n1")
    is_left_alone(c, "middle")
    end(c, "low-1", "low-2")
    lands(c, "p", "n1")


@in_both_ways
def a_port_is_taken_from_a_lower_pod(c, way):
    have(c, make_node("n0"), resident("victim", ports=[80]), resident("other", ports=[81]))
    arrive(c, way, "p", ports=[80])
    is_promised(c, "p", "n0")
    is_evicted(c, "victim", way, "p", "n0")
    is_left_alone(c, "other")
    pends(c, "p", "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod "
                  "ports.")
    end(c, "victim")
    lands(c, "p", "n0")


@in_both_ways
def whoever_is_not_wanted_beside_a_pod_goes(c, way):
    have(c, make_node("n0"), resident("victim", labels={"app": "loud"}), resident("other"))
    arrive(c, way, "p", affinity={"podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname",
             "labelSelector": {"matchLabels": {"app": "loud"}}}]}})
    is_promised(c, "p", "n0")
    is_evicted(c, "victim", way, "p", "n0")
    is_left_alone(c, "other")
    end(c, "victim")
    lands(c, "p", "n0")


# ---- no preemption -------------------------------------------------------------------------------

@in_both_ways
def equals_are_left_alone(c, way):
    have(c, make_node("n0", cpu="2"), resident("equal", cpu="2", priority="high"))
    arrive(c, way, "p")
    pends(c, "p", NO_VICTIMS)
    is_left_alone(c, "equal")
    equal(nominated(c, "p"), None, "nomination")


@in_both_ways
def who_never_preempts_waits_for_room(c, way):
    have(c, make_node("n0", cpu="2"), resident("low", cpu="2"))
    arrive(c, way, "p", priority="polite")
    pends(c, "p", NO_CPU + " no new claims to deallocate, preemption: not eligible due to "
          "preemptionPolicy=Never.")
    is_left_alone(c, "low")
    equal(nominated(c, "p"), None, "nomination")
    end(c, "low")
    lands(c, "p", "n0")


@in_both_ways
def why_preemption_does_not_help_is_told_for_every_node(c, way):
    have(c, make_node("cordoned", unschedulable=True), make_node("equals", cpu="2"),
         make_node("small", cpu="2"), make_node("tainted", taints=[
             {"key": "k", "value": "v", "effect": "NoSchedule"}]),
         resident("equal", "equals", cpu="2", priority="high"),
         resident("low", "small", cpu="500m"),
         resident("high", "small", cpu="1500m", priority="high"))
    arrive(c, way, "p")
    pends(c, "p", "0/4 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were "
                  "unschedulable, 2 Insufficient cpu. no new claims to deallocate, preemption: "
                  "0/4 nodes are available: "
                  "1 Insufficient cpu, 1 No preemption victims found for incoming pod, "
                  "2 Preemption is not helpful for scheduling.")
    is_left_alone(c, "equal", "low", "high")


@test
def a_profile_without_preemption_says_nothing_of_it(c):
    have(c, make_node("n0", cpu="2"), resident("low", cpu="2"))
    arrive(c, "meek", "p")
    pends(c, "p", NO_CPU)
    is_left_alone(c, "low")


# ---- budgets -------------------------------------------------------------------------------------

@in_both_ways
def a_pod_that_no_budget_guards_goes_before_one_of_less_priority(c, way):
    budget(c, "guard", 0, app="guarded")
    have(c, make_node("n0", cpu="2"), make_node("n1", cpu="2"),
         resident("guarded", cpu="2", priority="bottom", labels={"app": "guarded"}),
         resident("free", "n1", cpu="2", priority="middle", labels={"app": "free"}))
    arrive(c, way, "p")
    is_promised(c, "p", "n1")
    is_evicted(c, "free", way, "p", "n1")
    is_left_alone(c, "guarded")
    end(c, "free")
    lands(c, "p", "n1")


@in_both_ways
def a_budget_is_broken_if_there_is_no_other_way(c, way):
    budget(c, "guard", 0, app="guarded")
    have(c, make_node("n0", cpu="2"), resident("guarded", cpu="2", labels={"app": "guarded"}))
    arrive(c, way, "p")
    is_promised(c, "p", "n0")
    is_evicted(c, "guarded", way, "p", "n0")
    end(c, "guarded")
    lands(c, "p", "n0")


@in_both_ways
def a_budget_that_allows_one_lets_one_go(c, way):
    budget(c, "guard", 1, app="guarded")
    have(c, make_node("n0", cpu="2"), make_node("n1", cpu="2"),
         *[resident(f"both-{i}", priority="bottom", labels={"app": "guarded"}) for i in range(2)],
         resident("one", "n1", cpu="2", labels={"app": "guarded"}))
    arrive(c, way, "p", cpu="2")
    is_promised(c, "p", "n1")
    is_evicted(c, "one", way, "p", "n1")
    is_left_alone(c, "both-0", "both-1")
    end(c, "one")
    lands(c, "p", "n1")


# ---- nominations ---------------------------------------------------------------------------------

@in_both_ways
def nobody_else_goes_while_a_victim_is_slow_to_terminate(c, way):
    have(c, make_node("n0", cpu="4"), make_node("n1", cpu="4"),
         resident("slow", cpu="2", priority="bottom"), resident("stays", cpu="1500m"),
         resident("crumb", cpu="500m", priority="top"), resident("full", "n1", cpu="4"))
    arrive(c, way, "p", cpu="2")
    is_promised(c, "p", "n0")
    is_evicted(c, "slow", way, "p", "n0")
    end(c, "crumb")     # which may help, so that the pod is retried
    says(c, "p", "0/2 nodes are available: 2 Insufficient cpu." + SLOW)
    equal(nominated(c, "p"), "n0", "nomination")
    is_left_alone(c, "stays", "full")
    end(c, "slow")
    lands(c, "p", "n0")
    is_left_alone(c, "stays", "full")


@in_both_ways
def a_pod_that_was_promised_a_node_is_overtaken_by_a_higher_one(c, way):
    have(c, make_node("n0", cpu="2"), resident("a", priority="bottom"), resident("b"))
    arrive(c, way, "p", priority="middle")
    is_promised(c, "p", "n0")
    is_evicted(c, "a", way, "p", "n0")
    is_left_alone(c, "b")
    arrive(c, way, "q", cpu="2")
    is_promised(c, "q", "n0")
    is_evicted(c, "b", way, "q", "n0")
    wait_for(lambda: nominated(c, "p") is None, LATE, what="p has lost its nomination")
    equal(len(events_of(c, "a", "Preempted")), 1, "a terminating pod is not preempted again")
    end(c, "a", "b")
    lands(c, "q", "n0")
    says(c, "p", NO_VICTIMS)
    equal(nominated(c, "p"), None, "nomination")


@in_both_ways
def a_higher_pod_may_wait_for_victims_of_another(c, way):
    have(c, make_node("n0", cpu="2"), resident("slow", cpu="2"))
    arrive(c, way, "p", priority="middle")
    is_promised(c, "p", "n0")
    is_evicted(c, "slow", way, "p", "n0")
    arrive(c, way, "q", cpu="2")
    is_promised(c, "q", "n0")
    if way == "waits":
        wait_for(lambda: nominated(c, "p") is None, LATE, what="p has lost its nomination")
    else:
        equal(nominated(c, "p"), "n0", "nomination, which stays if no pod is deleted")
    end(c, "slow")
    lands(c, "q", "n0")
    says(c, "p", NO_VICTIMS)
    wait_for(lambda: nominated(c, "p") is None, LATE, what="p is not nominated")


@in_both_ways
def what_is_promised_to_a_pod_is_not_given_to_a_lower_one(c, way):
    have(c, make_node("n0", cpu="2"), resident("slow", cpu="2"))
    arrive(c, way, "p", cpu="2")
    is_promised(c, "p", "n0")
    is_evicted(c, "slow", way, "p", "n0")
    arrive(c, way, "q", priority="middle")
    pends(c, "q", NO_CPU + " no new claims to deallocate, preemption: 0/1 nodes are available: "
          "1 Insufficient cpu.")
    end(c, "p")         # its nominated resources are free
    is_promised(c, "q", "n0")
    end(c, "slow")
    lands(c, "q", "n0")


@in_both_ways
def a_pod_goes_elsewhere_if_there_is_room_before_its_victim_is_gone(c, way):
    have(c, make_node("n0", cpu="2"), resident("slow", cpu="2"))
    arrive(c, way, "p")
    is_promised(c, "p", "n0")
    is_evicted(c, "slow", way, "p", "n0")
    apply(c, make_node("n1", cpu="2"))
    lands(c, "p", "n1")
    wait_for(lambda: nominated(c, "p") is None, LATE, what="no nomination is left")


@in_both_ways
def a_victim_without_grace_is_gone_at_once(c, way):
    have(c, make_node("n0", cpu="2"),
         resident("victim", cpu="2", spec={"terminationGracePeriodSeconds": 0}))
    arrive(c, way, "p")
    lands(c, "p", "n0")
    check(is_gone(c, "victim"), "the victim is gone")
    equal(len(wait_for(lambda: events_of(c, "victim", "Preempted"), LATE)), 1, "events")


@in_both_ways
def many_pods_preempt_many(c, way):
    n = 12
    have(c, *[make_node(f"n{i}", cpu="2") for i in range(n)],
         *[resident(f"v{i}", f"n{i}", cpu="2", spec={"terminationGracePeriodSeconds": 0})
           for i in range(n)])
    berth.add_pods(c, *[make_pod(f"p{i}", cpu="2", memory=None, priority_class="high",
                                 scheduler_name=way) for i in range(n)])
    nodes = {lands(c, f"p{i}", *[f"n{k}" for k in range(n)]) for i in range(n)}
    equal(len(nodes), n, "nodes")
    equal([p["metadata"]["name"] for p in c.pods() if p["metadata"]["name"][0] == "v"], [],
          "victims that are left")
    equal(len(c.get(NODES)["items"]), n, "nodes")


if __name__ == "__main__":
    main(fixture=Preempting, after=after)
