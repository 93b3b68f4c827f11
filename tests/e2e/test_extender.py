#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Extenders: the same one serves berth and kube-scheduler, and the results must be equal.

Every pod exists twice, once for each scheduler. An extender's answer depends on the pod's name
after the first dash, so both get the same answers; no two nodes have equal scores.

Where resource usage matters, the extender binds without writing: each scheduler then sees only its
own pods.
"""

import contextlib
import json
import os
import random
import ssl
import urllib.request

import berth
import subject
from berth import NODES, PODS, condition_of, make_node, make_pod, wait_for
from cluster import Cluster
from extender import Extender
from side_by_side import BOTH, copy_for
from tap import check, contains, equal, main, note, show_log, test

N_NODES = 11
GPU = "example.com/gpu"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
ROUNDS = int(os.environ.get("BERTH_PODS", "60"))
ROOM = 1 + ROUNDS // 100    # both share the nodes: chance decides which finds them full


# ---- two schedulers ------------------------------------------------------------------------------

def profiles(who, score):
    """With score: only NodeResourcesFit scores. Its weight and the tens of extenders never tie."""
    plugins = {"disabled": [{"name": "*"}],
               "enabled": [{"name": "NodeResourcesFit", "weight": 11}] if score else []}
    return [{"schedulerName": who, "percentageOfNodesToScore": 100, "plugins": {"score": plugins}}]


@contextlib.contextmanager
def schedulers(c, *extenders, score=False, flags=()):
    running, flags = {}, (*subject.FLAGS, *flags)
    for who in BOTH:
        config = {"profiles": profiles(who, score), "extenders": list(extenders)}
        if who == "berth" and subject.SUBJECT == "berth":
            path = berth.scheduler_config(c, who, **config)
            running[who] = berth.start(c, *flags, name=who, config=path)
        else:
            running[who] = c.start_scheduler(*flags, name=who, config=config, qps=5000)
            show_log(running[who].log)
    try:
        for p in running.values():
            wait_for(lambda p=p: is_ready(p), subject.LATE, what=f"{p.name} is ready")
        yield running
    finally:
        ended = [p.name for p in running.values() if not p.running()]
        for p in running.values():
            c.children.remove(p)
        running["kube"].kill()
        equal(ended, [], "schedulers that have ended")
        if subject.SUBJECT == "berth":
            berth.stop(running["berth"])
        else:
            running["berth"].kill()


def is_ready(p):
    """The scheduler has seen everything; from now on pods arrive in the order of creation."""
    try:
        context = ssl._create_unverified_context()
        with urllib.request.urlopen(f"https://127.0.0.1:{p.port}/readyz", context=context) as r:
            return r.status == 200
    except OSError:
        return False


def make_nodes(c):
    rng = random.Random(7)
    for i in range(N_NODES):
        c.create(NODES, make_node(f"n{i}", cpu=ROOM * rng.randint(16, 64),
                                  memory=f"{ROOM * rng.randint(32, 99)}Gi", pods=ROOM * 110,
                                  annotations={"about": "<&> \u00fc"}, labels={"i": str(i)},
                                  images=[{"names": [f"image-{i}:1"], "sizeBytes": 1 << 28}]))
        c.create(PODS, make_pod(f"resident-{i}", cpu=rng.randint(1, 12), memory="1Gi",
                                node_name=f"n{i}"))


def make_both(c, pods):
    """Creates the pods in this order, which is the order of scheduling."""
    for name, pod in pods.items():
        for who in BOTH:
            c.create(PODS, copy_for(who, pod, name))


def random_pods(n, **more):
    rng = random.Random(n)
    return {f"p{i}": make_pod("p", cpu=f"{rng.randint(1, 50)}0m", memory=f"{rng.randint(1, 900)}Mi",
                              **{k: v(rng) for k, v in more.items()}) for i in range(n)}


def outcome(pod):
    """The pod's node or its message; None if not known yet."""
    if pod["spec"].get("nodeName"):
        return pod["spec"]["nodeName"]
    said = [k.get("message", "") for k in pod["status"].get("conditions", ())
            if k["type"] == "PodScheduled" and k["status"] == "False"]
    return said[0] if said else None


def outcomes(c, pods, where=None):
    """{scheduler: {name: outcome}} once all are known. where: a dict that records binds."""
    def all_known():
        known = {who: {} for who in BOTH}
        for pod in c.pods():
            who, _, name = pod["metadata"]["name"].partition("-")
            told = (where or {}).get(pod["metadata"]["name"]) or outcome(pod)
            if name in pods and told:
                known[who][name] = told
        return all(len(known[who]) == len(pods) for who in BOTH) and known
    return wait_for(all_known, subject.LATE, interval=0.2, what="all pods are decided")


def compare(c, pods, where=None):
    """Checks that both have the same outcome. Returns it."""
    got = outcomes(c, pods, where)
    differ = {n: (got["berth"][n], got["kube"][n]) for n in pods
              if got["berth"][n] != got["kube"][n]}
    equal(differ, {}, "differences of berth and kube-scheduler")
    note(f"{len(pods)} pods, {len(set(got['kube'].values()))} different outcomes")
    return got["kube"]


def binder(c):
    def bind(ns, pod, uid, node):
        c.create(f"/api/v1/namespaces/{ns}/pods/{pod}/binding",
                 {"apiVersion": "v1", "kind": "Binding",
                  "metadata": {"name": pod, "namespace": ns, "uid": uid},
                  "target": {"apiVersion": "v1", "kind": "Node", "name": node}})
    return bind


def one_or_none(rng):
    return {"keep": rng.choice(["none"] + [f"n{i}" for i in range(N_NODES)])}


# ---- each verb alone -----------------------------------------------------------------------------

def filter_alone(c, full):
    make_nodes(c)
    with Extender() as x, schedulers(c, {
            "urlPrefix": x.url + "/", "filterVerb": "filter", "nodeCacheCapable": not full}):
        pods = random_pods(ROUNDS, labels=one_or_none)
        make_both(c, pods)
        got = compare(c, pods)
        for name, pod in pods.items():
            keep = pod["metadata"]["labels"]["keep"]
            if keep != "none":
                equal(got[name], keep, f"node of {name}")
            else:
                contains(got[name], "0/11 nodes are available", "reason ")


@test
def a_filter_that_is_sent_nodes_decides(c):
    filter_alone(c, True)


@test
def a_filter_that_is_sent_names_decides(c):
    filter_alone(c, False)


@test
def scores_of_extenders_decide(c):
    make_nodes(c)
    with Extender() as x, schedulers(
            c, {"urlPrefix": x.url, "prioritizeVerb": "prioritize", "weight": 1},
            {"urlPrefix": x.url + "/two", "prioritizeVerb": "prioritize", "weight": 2,
             "nodeCacheCapable": True}):
        pods = random_pods(ROUNDS)
        make_both(c, pods)
        compare(c, pods)
        equal(len(x.asked("prioritize", "berth-")), len(pods), "pods that berth asked about")


@test
def an_extender_binds_in_place_of_the_scheduler(c):
    make_nodes(c)
    with Extender(on_bind=binder(c)) as x, schedulers(
            c, {"urlPrefix": x.url, "bindVerb": "bind"}):
        pods = random_pods(ROUNDS, node_selector=lambda r: {"i": str(r.randrange(N_NODES))})
        make_both(c, pods)
        compare(c, pods)
        equal(len(x.binds), 2 * len(pods), "binds")
        own, theirs = x.asked("bind", "berth-p0")["berth-p0"], x.asked("bind", "kube-p0")["kube-p0"]
        equal(list(own), list(theirs), "keys of a bind")


# ---- several verbs -------------------------------------------------------------------------------

def together(c, full):
    make_nodes(c)
    with Extender() as x, schedulers(
            c, {"urlPrefix": x.url, "filterVerb": "filter", "prioritizeVerb": "prioritize",
                "weight": 1, "bindVerb": "bind", "nodeCacheCapable": not full}, score=True):
        pods = random_pods(2 * ROUNDS)
        make_both(c, pods)
        compare(c, pods, where=x.binds)
        check(len(x.peers) < 40, f"connections are kept: {len(x.peers)} were made")


@test
def all_verbs_together_with_names(c):
    together(c, False)


@test
def all_verbs_together_with_nodes_which_hides_what_runs_on_them(c):
    together(c, True)


@test
def several_extenders_one_after_the_other(c):
    make_nodes(c)
    with Extender() as x, Extender() as y, schedulers(
            c, {"urlPrefix": x.url + "/cut", "filterVerb": "filter", "ignorable": True},
            {"urlPrefix": x.url, "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 1},
            {"urlPrefix": y.url, "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 2,
             "bindVerb": "bind", "nodeCacheCapable": True}, score=True):
        pods = random_pods(ROUNDS)
        make_both(c, pods)
        compare(c, pods, where=y.binds)


# ---- requests ------------------------------------------------------------------------------------

def comparable(body):
    """Removes what differs between two equal pods."""
    body = json.loads(json.dumps(body))
    for key in ("name", "uid", "resourceVersion", "creationTimestamp"):
        del body["Pod"]["metadata"][key]
    del body["Pod"]["spec"]["schedulerName"]
    del body["Pod"]["spec"]["volumes"], body["Pod"]["spec"]["containers"][0]["volumeMounts"]
    for node in (body["Nodes"] or {}).get("items") or []:
        node["metadata"].pop("resourceVersion")
    if body["Nodes"]:
        body["Nodes"]["items"].sort(key=lambda n: n["metadata"]["name"])
    if body["NodeNames"]:
        body["NodeNames"].sort()
    return body


@test
def both_send_the_same_json(c):
    make_nodes(c)
    with Extender() as x, schedulers(
            c, {"urlPrefix": x.url, "filterVerb": "filter", "prioritizeVerb": "prioritize",
                "weight": 1, "bindVerb": "bind"},
            {"urlPrefix": x.url + "/names", "filterVerb": "names", "nodeCacheCapable": True}):
        x.names = lambda args: {"NodeNames": args["NodeNames"]}
        # Of an object that existed before, and of one that arrived by the watch, with a change.
        c.patch(f"{NODES}/n1", {"metadata": {"labels": {"changed": "yes"}}})
        pods = {f"p{i}": make_pod("p", labels={"app": "x"}, annotations={"a": "<\u00e4\\\"\n>"},
                                  tolerations=[{"operator": "Exists"}], ports=[1000 + i])
                for i in range(5)}
        make_both(c, pods)
        compare(c, pods, where=x.binds)
        for verb in ("filter", "prioritize", "names"):
            own, theirs = x.asked(verb, "berth-"), x.asked(verb, "kube-")
            for name in pods:
                a, b = own[f"berth-{name}"], theirs[f"kube-{name}"]
                equal(list(a), list(b), "keys")
                for side in (a, b):
                    volumes = side["Pod"]["spec"].setdefault("volumes", [])
                    side["Pod"]["spec"]["containers"][0].setdefault("volumeMounts", volumes)
                equal(comparable(a), comparable(b), f"body of {verb} about {name}")


# ---- which pods are sent -------------------------------------------------------------------------

@test
def managed_resources_choose_pods_and_can_be_ignored(c):
    make_nodes(c)
    with Extender() as x, schedulers(
            c, {"urlPrefix": x.url, "filterVerb": "filter", "nodeCacheCapable": True,
                "managedResources": [{"name": GPU, "ignoredByScheduler": True},
                                     {"name": "example.com/npu"}]}):
        keep = {"keep": "n3"}
        pods = {"gpu": make_pod("p", labels=keep, extended={GPU: 1}),
                "npu": make_pod("p", labels=keep, extended={"example.com/npu": 1}),
                "none": make_pod("p", labels=keep, node_selector={"i": "5"})}
        make_both(c, pods)
        got = compare(c, pods)
        equal(got["gpu"], "n3", "a pod that wants what no node has, and the scheduler ignores")
        contains(got["npu"], "Insufficient example.com/npu")
        equal(got["none"], "n5", "a pod that the extender is not asked about")
        asked = {n.partition("-")[2] for n in x.asked("filter")}
        equal(asked, {"gpu"}, "pods that the extender was asked about")


# ---- failures ------------------------------------------------------------------------------------

MANNERS = ("500", "404", "rubbish", "cut", "slow", "error", "unknown", "huge")
SAME_WORDS = ("500", "404", "error", "unknown")


@test
def an_extender_that_fails_and_may_is_passed_over(c):
    make_nodes(c)
    with Extender() as x, schedulers(c, *[
            {"urlPrefix": f"{x.url}/{m}", "filterVerb": "filter", "prioritizeVerb": "prioritize",
             "weight": 1, "ignorable": True, "httpTimeout": "0.3s", "nodeCacheCapable": True}
            for m in MANNERS] + [{"urlPrefix": "http://127.0.0.1:1", "filterVerb": "filter",
                                  "ignorable": True},
                                 {"urlPrefix": "nonsense", "filterVerb": "filter",
                                  "ignorable": True}]):
        pods = {f"p{i}": make_pod("p", node_selector={"i": str(i)}) for i in range(3)}
        make_both(c, pods)
        got = compare(c, pods)
        equal(got, {f"p{i}": f"n{i}" for i in range(3)}, "nodes")


@test
def an_extender_that_fails_and_must_not_fails_the_pod(c):
    make_nodes(c)
    for manner in MANNERS:
        with Extender() as x, schedulers(c, {
                "urlPrefix": f"{x.url}/{manner}", "filterVerb": "filter", "httpTimeout": "0.5s",
                "nodeCacheCapable": True}):
            make_both(c, {manner: make_pod("p")})
            got = outcomes(c, {manner})
            note(got["berth"][manner][:300])
            if manner in SAME_WORDS:
                equal(got["berth"][manner], got["kube"][manner], "message")
            elif subject.SUBJECT == "berth":
                contains(got["berth"][manner], f"{x.url}/{manner}/filter")
            equal({condition_of(c, f"{w}-{manner}")["reason"] for w in BOTH}, {"SchedulerError"},
                  "reason")
            if manner == "500":
                contains(got["berth"][manner], "failed filter with extender at URL",
                         ", code 500")


@test
def a_binder_that_fails_fails_the_pod_unless_it_may(c):
    make_nodes(c)
    for manner in ("500", "error"):
        pods = {manner: make_pod("p", node_selector={"i": "4"})}
        with Extender() as x:
            fails = {"urlPrefix": f"{x.url}/{manner}", "bindVerb": "bind"}
            with schedulers(c, fails):
                make_both(c, pods)
                check(compare(c, pods)[manner] != "n4", "it was bound")
            with schedulers(c, {**fails, "ignorable": True}):
                wait_for(lambda m=manner: {outcome(c.pod(f"{w}-{m}")) for w in BOTH} == {"n4"},
                         subject.LATE, what="the schedulers bind the pods")


# ---- preemption ----------------------------------------------------------------------------------

# All victims are deleted before anything else happens, so that none is late.
AT_ONCE = ("--feature-gates=SchedulerAsyncPreemption=false",)


class Crowd:
    """A full cluster for each scheduler: its own nodes and pods, equal except for their names.

    Every pod has a different start time, so that there is always one best candidate. Deleted pods
    terminate until `until_decided` ends them. After each pod the cluster is full again.
    """

    def __init__(self, c, nodes=6):
        self.c, self.names, self.rng = c, [f"n{i}" for i in range(nodes)], random.Random(11)
        subject.apply(c, *[{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                            "metadata": {"name": f"at-{v}"}, "value": v} for v in range(0, 60, 10)])
        self.residents = {}
        for node in self.names:
            for i in range(4):
                self.residents[f"{node}-r{i}"] = (node, make_pod(
                    "p", cpu="1", memory="1Gi", priority_class=f"at-{10 * self.rng.randrange(3)}",
                    labels={"app": self.rng.choice("abc")}), f"2026-01-01T{len(self.residents):02}:00:00Z")
        for who in BOTH:
            for node in self.names:
                c.create(NODES, make_node(f"{who}-{node}", cpu="4", memory="4Gi",
                                          labels={"who": who}))
            for app, allowed in (("a", 0), ("b", 1)):
                self.guard(who, app, allowed)
            self.fill(who)

    def guard(self, who, app, allowed):
        name = f"{who}-{app}"
        self.c.create(BUDGETS, {
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": {"app": app, "who": who}}}})
        self.c.patch(f"{BUDGETS}/{name}/status", {"status": {
            "disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1,
            "expectedPods": 1, "observedGeneration": 1}})

    def fill(self, who):
        there = {p["metadata"]["name"] for p in self.c.pods()}
        for name, (node, pod, start) in self.residents.items():
            if f"{who}-{name}" in there:
                continue
            own = copy_for(who, pod, name)
            own["spec"]["nodeName"] = f"{who}-{node}"
            own["metadata"]["labels"]["who"] = who
            self.c.create(PODS, own)
            self.c.patch(f"{PODS}/{who}-{name}/status", {"status": {"startTime": start}})

    def until_decided(self, who, name):
        """The pod's node or its message, and the victims."""
        gone, last = [], []

        def decided():
            pod = self.c.pod(f"{who}-{name}")
            leaving = sorted(p["metadata"]["name"] for p in self.c.pods()
                             if p["metadata"].get("deletionTimestamp"))
            # Only if the list is the same as before, so that no victim is missed.
            for victim in leaving if leaving == last else ():
                gone.append(victim.partition("-")[2])
                self.c.delete(f"{PODS}/{victim}?gracePeriodSeconds=0")
            last[:] = leaving
            said = outcome(pod)
            waits = pod["status"].get("nominatedNodeName") and "preemption: " not in (said or "")
            if leaving or not said or waits or "a terminating pod" in said:
                return None
            return said.removeprefix(f"{who}-"), sorted(gone)
        return wait_for(decided, subject.LATE, interval=0.1, what=f"{who}-{name} is decided")

    def play(self, name, pod):
        """Runs one scheduler after the other. Returns the outcome, which must be the same."""
        seen = {}
        for who in BOTH:
            own = copy_for(who, pod, name)
            own["spec"]["nodeSelector"] = {"who": who}
            self.c.create(PODS, own)
            seen[who] = self.until_decided(who, name)
            self.c.delete(f"{PODS}/{who}-{name}?gracePeriodSeconds=0")
            self.fill(who)
        equal(seen["berth"], seen["kube"], f"outcome and victims of {name}")
        return seen["kube"]

    def pods(self, n):
        return {f"p{i}": make_pod("p", cpu="1", memory=f"{self.rng.randint(1, 3)}Gi",
                                  priority_class=f"at-{10 * self.rng.randint(1, 5)}")
                for i in range(n)}


def without_names(value, who):
    """Makes requests comparable: names without the scheduler's prefix, no uids, times and versions;
    and without what a scheduler writes itself, since its arrival depends on timing."""
    if isinstance(value, list):
        return [without_names(v, who) for v in value]
    if isinstance(value, dict):
        return {without_names(k, who): without_names(v, who) for k, v in value.items()
                if k not in ("uid", "UID", "resourceVersion", "creationTimestamp", "schedulerName",
                             "managedFields", "volumes", "volumeMounts", "conditions",
                             "nominatedNodeName")}
    if isinstance(value, str) and (value == who or value.startswith(who + "-")):
        return "WHO" + value[len(who):]
    return value


def bodies_about(x, who, name):
    """The requests about the pod. The number of failed attempts depends on timing: two victims may
    be gone before the next attempt, or one."""
    bodies = [without_names(b, who) for b in x.all_asked("preempt", f"{who}-{name}")]
    return [b for i, b in enumerate(bodies) if i == 0 or b != bodies[i - 1]]


def preempts(c, full, **verbs):
    crowd = Crowd(c)
    with Extender(on_bind=binder(c)) as x, schedulers(c, {
            "urlPrefix": x.url, "preemptVerb": "preempt", "nodeCacheCapable": not full, **verbs},
            flags=AT_ONCE):
        outcomes_seen, victims, asked = set(), 0, 0
        for name, pod in crowd.pods(ROUNDS // 2).items():
            place, gone = crowd.play(name, pod)
            outcomes_seen.add(place)
            victims += len(gone)
            bodies = {who: bodies_about(x, who, name) for who in BOTH}
            equal(*[[{n: v["NumPDBViolations"] for n, v in sorted((
                b["NodeNameToVictims"] or b["NodeNameToMetaVictims"]).items())}
                for b in bodies[who]] for who in BOTH], f"nodes asked for {name}")
            equal(bodies["berth"], bodies["kube"], f"what was asked about {name}")
            asked += bool(bodies["kube"])
        note(f"{ROUNDS // 2} pods, {asked} asked about, {victims} victims, "
             f"{len(outcomes_seen)} different outcomes")
        check(victims > ROUNDS // 4 and asked > ROUNDS // 4, "too few victims")


@test
def an_extender_has_a_say_in_preemption(c):
    preempts(c, True)


@test
def an_extender_that_knows_nodes_has_a_say_in_preemption(c):
    preempts(c, False)


@test
def an_extender_has_a_say_in_all(c):
    preempts(c, False, filterVerb="most", prioritizeVerb="by_name", weight=1, bindVerb="bind")


@test
def several_extenders_preempt_one_after_the_other(c):
    crowd = Crowd(c)
    with Extender() as x, schedulers(
            c, {"urlPrefix": x.url, "preemptVerb": "preempt"},
            {"urlPrefix": x.url + "/two", "preemptVerb": "preempt", "nodeCacheCapable": True},
            {"urlPrefix": x.url + "/500", "preemptVerb": "preempt", "ignorable": True},
            {"urlPrefix": x.url + "/three", "preemptVerb": "preempt", "managedResources": [
                {"name": GPU}]}, flags=AT_ONCE):
        for name, pod in crowd.pods(ROUNDS // 6).items():
            crowd.play(name, pod)
            paths = {who: [p for p, b in x.calls if b["Pod"]["metadata"]["name"] == f"{who}-{name}"]
                     for who in BOTH}
            equal(paths["berth"], paths["kube"], f"calls about {name}")


PREEMPT_MANNERS = ("500", "rubbish", "cut", "slow", "error", "unknown", "stranger", "empty")


@test
def an_extender_that_fails_in_preemption_is_passed_over_or_fails_it(c):
    crowd = Crowd(c)
    for manner in PREEMPT_MANNERS:
        for ignorable in (True, False):
            with Extender() as x, schedulers(c, {
                    "urlPrefix": f"{x.url}/{manner}", "preemptVerb": "preempt",
                    "httpTimeout": "0.5s", "ignorable": ignorable, "nodeCacheCapable": True},
                    flags=AT_ONCE):
                name = f"{manner}-{'may' if ignorable else 'must-not'}"
                pod = make_pod("p", cpu="1", memory="1Gi", priority_class="at-50")
                said = {}
                for who in BOTH:
                    own = copy_for(who, pod, name)
                    own["spec"]["nodeSelector"] = {"who": who}
                    c.create(PODS, own)
                    said[who] = crowd.until_decided(who, name)
                    c.delete(f"{PODS}/{who}-{name}?gracePeriodSeconds=0")
                    crowd.fill(who)
                words = {who: (text.replace(f"{who}-", "WHO-"), gone)
                         for who, (text, gone) in said.items()}
                note(f"{name}: {words['kube'][0][:200]}")
                if manner in ("rubbish", "cut", "slow") and not ignorable:
                    # Each scheduler has its own messages for an invalid answer.
                    for text, gone in words.values():
                        contains(text, "Insufficient", " preemption: ")
                        equal(gone, [], "victims")
                else:
                    equal(words["berth"], words["kube"], f"outcome of {name}")


# ---- TLS -----------------------------------------------------------------------------------------

def tls_of(c, verify=False):
    """A server whose certificate is for another name than the address that is dialled."""
    c._issue("extender", "/CN=extender.test", "serverAuth,clientAuth", "DNS:extender.test")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(c.dir, "extender.crt"), os.path.join(c.dir, "extender.key"))
    if verify:
        context.load_verify_locations(os.path.join(c.dir, "ca.crt"))
        context.verify_mode = ssl.CERT_REQUIRED
    return context


@test
def extenders_are_asked_over_tls(c):
    make_nodes(c)
    with Extender(tls=tls_of(c, verify=True)) as x, schedulers(c, {
            "urlPrefix": x.url, "filterVerb": "filter", "nodeCacheCapable": True,
            "enableHTTPS": True, "tlsConfig": {
                "caFile": os.path.join(c.dir, "ca.crt"), "serverName": "extender.test",
                "certFile": os.path.join(c.dir, "extender.crt"),
                "keyFile": os.path.join(c.dir, "extender.key")}}):
        pods = random_pods(5, labels=lambda r: {"keep": f"n{r.randrange(N_NODES)}"})
        make_both(c, pods)
        compare(c, pods)


@test
def a_server_that_is_not_who_it_should_be_is_not_trusted(c):
    make_nodes(c)
    trusting = {"filterVerb": "filter", "nodeCacheCapable": True, "enableHTTPS": True}
    with Extender(tls=tls_of(c)) as x:
        with schedulers(c, {**trusting, "urlPrefix": x.url, "tlsConfig": {
                "caFile": os.path.join(c.dir, "ca.crt"), "serverName": "other.test"}}):
            make_both(c, {"no": make_pod("p", labels={"keep": "n2"})})
            got = outcomes(c, {"no"})
            note(got["berth"]["no"])
            check(not got["berth"]["no"].startswith("n2"), "it was trusted")
            check(not got["kube"]["no"].startswith("n2"), "it was trusted")
        # Without a CA the server's certificate is not verified.
        with schedulers(c, {**trusting, "urlPrefix": x.url}):
            pods = {"yes": make_pod("p", labels={"keep": "n2"})}
            make_both(c, pods)
            equal(compare(c, pods)["yes"], "n2", "node")


def after(c):
    subject.tidy(c)
    c.delete(BUDGETS)


if __name__ == "__main__":
    main(fixture=Cluster, after=after)
