#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reload of a running berth's configuration: by its file, by SIGHUP; valid and invalid."""

import json
import os
import re
import signal
import subprocess
import threading
import time

import berth
from berth import (TIMEOUT, add_nodes, add_pods, condition_of, equal, events_of, make_node,
                   make_pod, node_of, start, stop, wait_bound, wait_events, wait_for,
                   wait_unschedulable)
from cluster import Cluster
from extender import Extender
from tap import check, contains, main, test

RELOADED, REFUSED = "Configuration reloaded", "Failed to reload the configuration"


# ---- files ---------------------------------------------------------------------------------------

def text_of(c, **more):
    return json.dumps({"apiVersion": "kubescheduler.config.k8s.io/v1",
                       "kind": "KubeSchedulerConfiguration",
                       "leaderElection": {"leaderElect": False},
                       "clientConnection": {"kubeconfig": c.scheduler_kubeconfig}, **more},
                      indent=1)


def fit(kind, *names, **more):
    """Profiles that only score free CPU and prefer the emptiest, or the fullest, node."""
    args = {"scoringStrategy": {"type": kind, "resources": [{"name": "cpu", "weight": 1}]}}
    return [{"schedulerName": n,
             "plugins": {"score": {"disabled": [{"name": "*"}],
                                   "enabled": [{"name": "NodeResourcesFit"}]}},
             "pluginConfig": [{"name": "NodeResourcesFit", "args": args}], **more}
            for n in names or ("default-scheduler",)]


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def replace(path, text):
    write(path + ".new", text)
    os.rename(path + ".new", path)


class ConfigMap:
    """A directory as mounted by the kubelet: its contents are behind a link that is swapped."""

    def __init__(self, path, text):
        self.path, self.n = path, 0
        os.mkdir(path)
        self.show(text)
        os.symlink("..data/config.yaml", os.path.join(path, "config.yaml"))
        self.file = os.path.join(path, "config.yaml")

    def show(self, text):
        self.n += 1
        name = f"..2026_{self.n}"
        os.mkdir(os.path.join(self.path, name))
        write(os.path.join(self.path, name, "config.yaml"), text)
        os.symlink(name, os.path.join(self.path, "..data_tmp"))
        os.rename(os.path.join(self.path, "..data_tmp"), os.path.join(self.path, "..data"))


# ---- observation ---------------------------------------------------------------------------------

def lines(p, *parts):
    return [line for line in p.text().splitlines() if all(part in line for part in parts)]


def told(p, *parts, n=1):
    wait_for(lambda: len(lines(p, *parts)) >= n, TIMEOUT, what=f"{n} lines with {parts}")
    return lines(p, *parts)[-1]


OPEN = "--authorization-always-allow-paths=/healthz,/livez,/readyz,/configz,/metrics"


def ask(p, path):
    done = subprocess.run(
        ["curl", "-ksSf", "--max-time", "20", f"https://127.0.0.1:{p.port}{path}"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    equal(done.returncode, 0, done.stderr)
    return done.stdout


def begin(c, text, *args, **more):
    path = os.path.join(c.dir, "reload.json")
    write(path, text)
    p = start(c, "-v=2", OPEN, *args, config=path, **more)
    told(p, "Scheduling started")
    return p, path


def two_nodes(c):
    """n0 is empty, n1 half full."""
    add_nodes(c, make_node("n0", cpu="8"), make_node("n1", cpu="8"))
    add_pods(c, make_pod("filler", cpu="4", memory="1Mi", node_name="n1"))


def place(c, name, **more):
    add_pods(c, make_pod(name, **more))
    return wait_bound(c, name)


# ---- the file ------------------------------------------------------------------------------------

@test
def a_file_that_is_written_counts_from_the_next_pod_on(c):
    two_nodes(c)
    p, path = begin(c, text_of(c, profiles=fit("LeastAllocated")))
    equal(place(c, "before"), "n0", "the emptiest")
    write(path, text_of(c, profiles=fit("MostAllocated")))
    line = told(p, RELOADED)
    contains(p.text(), "NodeResourcesFit: scoringStrategy.type: LeastAllocated -> MostAllocated\n")
    contains(line, 'file="' + path)
    equal(place(c, "after"), "n1", "the fullest")


@test
def a_file_that_is_renamed_over_counts(c):
    two_nodes(c)
    p, path = begin(c, text_of(c, profiles=fit("LeastAllocated")))
    for n, (kind, node) in enumerate((("MostAllocated", "n1"), ("LeastAllocated", "n0")), 1):
        replace(path, text_of(c, profiles=fit(kind)))
        told(p, RELOADED, n=n)
        equal(place(c, f"pod-{n}", cpu="10m"), node, kind)


@test
def a_mounted_configmap_counts_when_its_link_is_swapped(c):
    two_nodes(c)
    mount = ConfigMap(os.path.join(c.dir, "mount"), text_of(c, profiles=fit("LeastAllocated")))
    p = start(c, "-v=2", config=mount.file)
    told(p, "Scheduling started")
    mount.show(text_of(c, profiles=fit("MostAllocated")))
    told(p, RELOADED)
    equal(place(c, "after"), "n1", "the fullest")


def in_config_map(text, **other):
    """A manifest file with a configuration under the key `config`, after an account."""
    keys = {"config": text, **other}
    return ("apiVersion: v1\nkind: ServiceAccount\n---\napiVersion: v1\nkind: ConfigMap\n"
            "metadata: {name: m}\ndata:\n" + "".join(
                f"  {key}: |\n" + "".join(f"    {line}\n" for line in value.splitlines())
                for key, value in keys.items()))


@test
def a_manifest_with_a_configmap_counts_too(c):
    two_nodes(c)
    p, path = begin(c, in_config_map(text_of(c, profiles=fit("LeastAllocated"))))
    equal(place(c, "before", cpu="10m"), "n0", "the emptiest")
    write(path, in_config_map(text_of(c, profiles=fit("MostAllocated"))))
    contains(told(p, RELOADED), 'file="' + path)
    equal(place(c, "after", cpu="10m"), "n1", "the fullest")
    write(path, in_config_map(text_of(c, profiles=fit("LeastAllocated"), profile=[])))
    contains(told(p, REFUSED), "profile: unknown field (did you mean profiles?)")
    equal(place(c, "later", cpu="10m"), "n1", "as before")


@test
def a_key_chooses_each_time(c):
    two_nodes(c)
    path = os.path.join(c.dir, "reload.yaml")
    least, most = (text_of(c, profiles=fit(kind)) for kind in ("LeastAllocated", "MostAllocated"))
    write(path, in_config_map(least, other=most))
    p = start(c, "-v=2", OPEN, config=path + "#config")
    told(p, "Scheduling started")
    write(path, in_config_map(most, other=least))
    told(p, RELOADED)
    equal(place(c, "after", cpu="10m"), "n1", "the fullest")


@test
def the_same_bytes_are_no_news_but_for_sighup(c):
    p, path = begin(c, text_of(c, profiles=fit("LeastAllocated")))
    replace(path, text_of(c, profiles=fit("LeastAllocated")))
    time.sleep(4)
    os.utime(path)
    time.sleep(4)
    equal(lines(p, RELOADED), [], "after the same bytes, twice")
    p.signal(signal.SIGHUP)
    contains(told(p, RELOADED), "Nothing changes for pods.")


@test
def sighup_does_not_wait_for_the_next_look(c):
    two_nodes(c)
    p, path = begin(c, text_of(c, profiles=fit("LeastAllocated")))
    for n in range(1, 6):
        kind, node = (("LeastAllocated", "n0"), ("MostAllocated", "n1"))[n % 2]
        write(path, text_of(c, profiles=fit(kind)))
        p.signal(signal.SIGHUP)
        told(p, RELOADED, n=n)
        equal(place(c, f"pod-{n}", cpu="10m"), node, kind)
    time.sleep(3)
    equal(len(lines(p, RELOADED)), 5, "reloads, none twice")


@test
def sighup_without_a_file_is_survived(c):
    p = start(c, "-v=2")
    told(p, "Scheduling started")
    p.signal(signal.SIGHUP)
    told(p, "no configuration file")
    add_nodes(c, make_node("n0"))
    equal(place(c, "after"), "n0", "node")


@test
def flags_go_on_to_win_over_the_file(c):
    p, path = begin(c, text_of(c, profiles=fit("LeastAllocated")),
                    "--leader-elect-lease-duration=21s")
    contains(ask(p, "/configz"), '"leaseDuration":"21s"')
    write(path, text_of(c, profiles=fit("MostAllocated")))
    told(p, RELOADED)
    contains(ask(p, "/configz"), '"leaseDuration":"21s"', '"MostAllocated"')
    equal(lines(p, "only after a restart"), [], "warnings")


@test
def a_policy_file_is_read_again_too(c):
    two_nodes(c)
    path = os.path.join(c.dir, "policy.json")

    def policy(priority):
        return json.dumps({"kind": "Policy", "apiVersion": "v1",
                           "predicates": [{"name": "PodFitsResources"}],
                           "priorities": [{"name": priority, "weight": 1}]})
    write(path, policy("LeastRequestedPriority"))
    p = start(c, "-v=2", f"--policy-config-file={path}")
    told(p, "Scheduling started")
    equal(place(c, "before", memory="1Mi"), "n0", "the emptiest")
    write(path, policy("MostRequestedPriority"))
    told(p, RELOADED)
    equal(place(c, "after", cpu="1", memory="1Mi"), "n1", "the fullest")


# ---- invalid files -------------------------------------------------------------------------------

@test
def a_bad_file_is_refused_with_its_fault_and_the_old_one_stays(c):
    two_nodes(c)
    good = text_of(c, profiles=fit("LeastAllocated"))
    p, path = begin(c, good)
    bad = (("{", "reload.json"),
           (text_of(c, profiles=fit("MostAllocated"), parallelism=-1), "parallelism"),
           (text_of(c, profiles=fit("MostAllocated"), profile=[]), "profile: unknown field"),
           (text_of(c, profiles=fit("Sideways")), "scoringStrategy"),
           (text_of(c, profiles=[{"plugins": {"score": {"enabled": [{"name": "Nobody"}]}}}]),
            "Nobody"),
           (text_of(c, extenders=[{"urlPrefix": "https://127.0.0.1:1", "filterVerb": "f",
                                   "weight": 1, "enableHTTPS": True,
                                   "tlsConfig": {"caFile": "/nowhere"}}]), "/nowhere"),
           ("", "reload.json"))
    for n, (text, fault) in enumerate(bad, 1):
        write(path, text)
        line = told(p, REFUSED, n=n)
        contains(line, 'file="' + path, fault)
        equal(place(c, f"pod-{n}", cpu="10m"), "n0", "as before")
    equal(lines(p, RELOADED), [], "reloads")
    # The same error is logged once, and again on SIGHUP.
    time.sleep(3)
    equal(len(lines(p, REFUSED)), len(bad), "complaints")
    p.signal(signal.SIGHUP)
    told(p, REFUSED, n=len(bad) + 1)
    metrics = ask(p, "/metrics")
    contains(metrics, f'berth_config_reloads_total{{result="refused"}} {len(bad) + 1}\n',
             "berth_config_last_reload_successful 0\n")
    contains(ask(p, "/configz"), '"LeastAllocated"')
    # Back to the configuration in use: it is read, and the error is resolved.
    write(path, good)
    told(p, RELOADED)
    contains(ask(p, "/metrics"), "berth_config_last_reload_successful 1\n")


@test
def a_file_that_is_gone_for_a_while_changes_nothing(c):
    two_nodes(c)
    p, path = begin(c, text_of(c, profiles=fit("LeastAllocated")))
    os.rename(path, path + ".away")
    time.sleep(3)
    equal(place(c, "meanwhile"), "n0", "as before")
    p.signal(signal.SIGHUP)
    contains(told(p, REFUSED), "no such file")
    write(path + ".away", text_of(c, profiles=fit("MostAllocated")))
    os.rename(path + ".away", path)
    told(p, RELOADED)
    equal(place(c, "after"), "n1", "the fullest")


@test
def a_pipe_where_the_file_was_is_refused_and_holds_nothing_up(c):
    p, path = begin(c, text_of(c, profiles=fit("LeastAllocated")))
    os.unlink(path)
    os.mkfifo(path)
    p.signal(signal.SIGHUP)
    contains(told(p, REFUSED), "no longer a regular file")
    equal(ask(p, "/healthz"), "ok", "health")
    os.unlink(path)
    write(path, text_of(c, profiles=fit("MostAllocated")))
    told(p, RELOADED)


@test
def a_pipe_is_read_once(c):
    path = os.path.join(c.dir, "reload.pipe")
    os.mkfifo(path)
    text = text_of(c, profiles=fit("LeastAllocated"))
    threading.Thread(target=write, args=(path, text), daemon=True).start()
    p = start(c, "-v=2", OPEN, config=path)
    told(p, "Scheduling started")
    p.signal(signal.SIGHUP)
    told(p, "no configuration file")
    equal(ask(p, "/healthz"), "ok", "health")


@test
def what_takes_a_restart_is_named(c):
    p, path = begin(c, text_of(c, profiles=fit("LeastAllocated")))
    write(path, text_of(c, profiles=fit("MostAllocated"), enableProfiling=False,
                        leaderElection={"leaderElect": True, "leaseDuration": "44s"},
                        clientConnection={"kubeconfig": c.scheduler_kubeconfig, "qps": 7}))
    told(p, RELOADED)
    warned = {re.search(r'field="([^"]*)"', line)[1] for line in lines(p, "only after a restart")}
    # Contention is profiled with everything else unless the file sets it.
    equal(warned, {"clientConnection.qps", "enableProfiling", "enableContentionProfiling",
                   "leaderElection.leaderElect", "leaderElection.leaseDuration"}, "fields")
    shown = json.loads(ask(p, "/configz"))["componentconfig"]
    equal(shown["leaderElection"]["leaderElect"], False, "what is in use")
    equal(shown["enableProfiling"], True, "what is in use")
    contains(json.dumps(shown), "MostAllocated")


# ---- pods ----------------------------------------------------------------------------------------

@test
def pods_that_wait_are_kept_and_tried_again_where_that_may_help(c):
    add_nodes(c, make_node("n0", cpu="1", taints=[{"key": "k", "effect": "NoSchedule"}]))
    p, path = begin(c, text_of(c, profiles=fit("LeastAllocated")))
    add_pods(c, make_pod("tainted"), make_pod("large", cpu="64"))
    wait_unschedulable(c, "tainted")
    wait_unschedulable(c, "large")
    profiles = fit("LeastAllocated")
    profiles[0]["plugins"]["multiPoint"] = {"disabled": [{"name": "TaintToleration"}]}
    write(path, text_of(c, profiles=profiles))
    equal(wait_bound(c, "tainted"), "n0", "without the plugin")
    contains(told(p, RELOADED), "podsMoved=")
    time.sleep(1)
    equal(node_of(c, "large"), None, "what does not fit")
    equal(len(wait_events(c, "tainted", "Scheduled")), 1, "bindings")
    # It is still in the queue, and only resources are missing.
    add_nodes(c, make_node("n1", cpu="100"))
    equal(wait_bound(c, "large"), "n1", "when there is room")


@test
def a_new_profile_picks_up_the_pods_that_wait_for_it(c):
    add_nodes(c, make_node("n0"))
    p, path = begin(c, text_of(c, profiles=fit("LeastAllocated")))
    waiting = [f"waiting-{i}" for i in range(5)]
    add_pods(c, *(make_pod(n, scheduler_name="second") for n in waiting))
    equal(place(c, "ours"), "n0", "node")
    equal([condition_of(c, n) for n in waiting], [None] * 5, "no profile has them")
    write(path, text_of(c, profiles=fit("LeastAllocated", "default-scheduler", "second")))
    contains(told(p, RELOADED), "podsNew=5")
    for n in waiting:
        wait_bound(c, n)
        equal(wait_events(c, n, "Scheduled")[0]["reportingController"], "second", n)
    # Removing a profile leaves its pods alone.
    write(path, text_of(c, profiles=fit("LeastAllocated", "second")))
    told(p, RELOADED, n=2)
    add_pods(c, make_pod("orphan"))
    place(c, "theirs", scheduler_name="second")
    equal(condition_of(c, "orphan"), None, "of a profile that is gone")
    write(path, text_of(c, profiles=fit("LeastAllocated", "default-scheduler")))
    wait_bound(c, "orphan")


@test
def an_extender_comes_and_goes(c):
    add_nodes(c, *(make_node(f"n{i}") for i in range(4)))
    plain = text_of(c, profiles=fit("LeastAllocated"))
    p, path = begin(c, plain)
    equal(place(c, "a-before")[:1], "n", "node")
    with Extender() as x:
        for n, capable in enumerate((False, True, False)):
            extender = {"urlPrefix": x.url, "filterVerb": "filter", "prioritizeVerb": "prioritize",
                        "weight": 1, "nodeCacheCapable": capable, "httpTimeout": "20s"}
            write(path, text_of(c, profiles=fit("LeastAllocated"), extenders=[extender]))
            told(p, RELOADED, n=2 * n + 1)
            name = f"a-pod-{n}"
            equal(place(c, name, labels={"keep": "n2"}), "n2", "what the extender keeps")
            asked = x.asked("filter")[name]
            equal(asked["NodeNames"] is None, not capable, "how it was asked")
            if not capable:
                # Whole objects, though they were not needed when the nodes were first seen.
                node = [i for i in asked["Nodes"]["items"] if i["metadata"]["name"] == "n2"][0]
                check("managedFields" in node["metadata"], f"not the whole node: {node}")
            check("podIP" not in asked["Pod"]["status"], "pod")
            equal(asked["Pod"]["spec"]["dnsPolicy"], "ClusterFirst", "the whole pod")
            write(path, plain)
            told(p, RELOADED, n=2 * n + 2)
            before = len(x.calls)
            place(c, f"a-without-{n}", labels={"keep": "none"})
            equal(len(x.calls), before, "calls to an extender that is gone")


@test
def an_extender_that_goes_while_it_is_asked_has_its_say(c):
    add_nodes(c, *(make_node(f"n{i}") for i in range(3)))
    with Extender() as x:
        extender = {"urlPrefix": x.url, "filterVerb": "slow/filter", "weight": 1,
                    "httpTimeout": "60s"}
        p, path = begin(c, text_of(c, profiles=fit("LeastAllocated"), extenders=[extender]))
        add_pods(c, make_pod("a-asked", labels={"keep": "n1"}))
        wait_for(lambda: x.calls, TIMEOUT, what="the extender is called")
        write(path, text_of(c, profiles=fit("LeastAllocated")))
        p.signal(signal.SIGHUP)
        told(p, RELOADED)
        equal(wait_bound(c, "a-asked"), "n1", "as the extender said")
        place(c, "a-after", labels={"keep": "none"})
        equal(len(x.calls), 1, "calls")


# ---- under load ----------------------------------------------------------------------------------

@test
def under_load_no_pod_is_lost_or_bound_twice(c):
    add_nodes(c, *(make_node(f"n{i}", cpu="64", memory="64Gi", pods=500) for i in range(20)))
    kinds = ("LeastAllocated", "MostAllocated")
    p, path = begin(c, text_of(c, profiles=fit(kinds[0], "default-scheduler", "second")))
    total, over = 600, threading.Event()

    def shake():
        n = 0
        while not over.is_set():
            n += 1
            replace(path, text_of(c, profiles=fit(kinds[n % 2], "default-scheduler", "second"),
                                  parallelism=1 + n % 5, podMaxBackoffSeconds=10 + n % 3))
            p.signal(signal.SIGHUP)
            over.wait(0.02)
    shaker = threading.Thread(target=shake)
    shaker.start()
    try:
        add_pods(c, *(make_pod(f"pod-{i}", cpu="20m", memory="1Mi",
                               scheduler_name="second" if i % 3 else None) for i in range(total)))
        wait_for(lambda: c.bound() == total, TIMEOUT, what="all pods are bound")
    finally:
        over.set()
        shaker.join()
    check(len(lines(p, RELOADED)) > 5, "it was not reloaded often")
    equal(berth.overcommitted(c), [], "nodes")
    wait_for(lambda: len(scheduled(c)) >= total, TIMEOUT, what="all events are there")
    counts = {}
    for e in scheduled(c):
        counts[e["regarding"]["name"]] = counts.get(e["regarding"]["name"], 0) + 1
    equal({n: k for n, k in counts.items() if k != 1}, {}, "pods with several bindings")
    equal(lines(p, "Error scheduling pod"), [], "errors")
    bound = {line.split('pod="')[1].split('"')[0] for line in lines(p, "Successfully bound")}
    equal(len(bound), total, "pods bound")
    equal(len(lines(p, "Successfully bound")), total, "bindings")
    stop(p)


def scheduled(c):
    found = c.get("/apis/events.k8s.io/v1/namespaces/default/events?limit=5000")["items"]
    return [e for e in found if e["reason"] == "Scheduled"]


if __name__ == "__main__":
    main(fixture=Cluster, after=berth.reset)
