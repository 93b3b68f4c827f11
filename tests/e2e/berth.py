# SPDX-License-Identifier: Apache-2.0
"""berth in end-to-end tests: starts it on a cluster, observes it from outside, stops it cleanly.

The program is that of the environment variable BERTH; by default build/address/berth (leaks and
memory errors fail the test that caused them), or else build/berth. berth-test, which also has the
plugins of tests/plugins, is found in the same way by BERTH_TEST.
"""

import itertools
import json
import os
import re
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))

from cluster import ApiError, Process, free_port, make_node, make_pod, wait_for  # noqa: E402
from tap import check, equal, show_log  # noqa: E402

# For operations that are slow on a busy machine under a sanitizer; not a measurement.
TIMEOUT = int(os.environ.get("BERTH_TIMEOUT", "180"))
SANITIZER_FOUND = re.compile(r"(AddressSanitizer|LeakSanitizer|ThreadSanitizer|runtime error:)")

PROFILES = [{"schedulerName": "default-scheduler", "percentageOfNodesToScore": 100}]


def find_program(name):
    given = os.environ.get(name.upper().replace("-", "_"))
    if given:
        return os.path.abspath(given)
    for path in ("build/address/" + name, "build/" + name):
        if os.access(os.path.join(ROOT, path), os.X_OK):
            return os.path.join(ROOT, path)
    sys.exit(f"{name} is not built: run make e2e-bins first")


def command(program="berth"):
    """argv of berth. The sanitizers of gcc 12 need the address layout of older kernels."""
    plain = subprocess.run(["setarch", "-R", "true"], stderr=subprocess.DEVNULL).returncode
    return ([] if plain else ["setarch", "-R"]) + [find_program(program)]


def environment():
    env = dict(os.environ)
    for name, value in (("ASAN_OPTIONS", "detect_leaks=1"), ("TSAN_OPTIONS", "halt_on_error=1"),
                        ("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")):
        env.setdefault(name, value)
    env.pop("KUBECONFIG", None)
    return env


# ---- one run to completion -----------------------------------------------------------------------

class Done:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr


def run(*args, input=None, timeout=TIMEOUT, env=None, program="berth"):
    """Runs berth with these arguments to completion; a sanitizer report fails the test."""
    done = Done(subprocess.run(command(program) + [str(a) for a in args], input=input, timeout=timeout,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               errors="replace", env={**environment(), **(env or {})}))
    check(not SANITIZER_FOUND.search(done.err), done.err)
    check(done.code >= 0, f"berth was ended by signal {-done.code}\n{done.err}")
    return done


# ---- a running scheduler -------------------------------------------------------------------------

def allow_scheduler_plugins(c):
    """Gives the scheduler's user the rights of deploy/scheduler-plugins.yaml."""
    c.kubectl("apply", "-f", os.path.join(ROOT, "deploy", "scheduler-plugins.yaml"))
    c.kubectl("create", "clusterrolebinding", "scheduler-plugins",
              "--clusterrole=berth-scheduler-plugins", "--user=system:kube-scheduler")


def scheduler_config(c, name, **more):
    """Writes a KubeSchedulerConfiguration to a file. Returns its path."""
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
              "leaderElection": {"leaderElect": False},
              "clientConnection": {"kubeconfig": c.scheduler_kubeconfig}, **more}
    path = os.path.join(c.dir, name + ".config.json")
    with open(path, "w") as f:
        json.dump(config, f)
    return path


_started = itertools.count(1)


def start(c, *args, name="berth", kubeconfig=None, config=None, program="berth"):
    """Starts `berth scheduler` as system:kube-scheduler, without leader election unless set in
    args."""
    port = free_port()
    argv = ["scheduler", f"--secure-port={port}", "--bind-address=127.0.0.1"]
    if config is None:
        argv += [f"--kubeconfig={kubeconfig or c.scheduler_kubeconfig}"]
    else:
        argv += [f"--config={config}"]
    if config is None and not any("leader-elect" in a for a in args):
        argv += ["--leader-elect=false"]
    log = os.path.join(c.dir, f"{name}.{next(_started)}.log")
    p = Process(name, command(program) + argv + list(args), log, env=environment(), cwd=c.dir)
    p.port, p.killed = port, False
    c.children.append(p)
    show_log(p.log)
    return p


def stop(p):
    """Sends SIGTERM; berth must exit with code 0 and without leaks."""
    code = p.terminate(60)
    check(not SANITIZER_FOUND.search(p.text()), f"{p.name}: a sanitizer reported an error")
    equal(code, 0, f"exit code of {p.name} after SIGTERM")


def kill(p):
    p.killed = True
    p.kill()


def wait_exit(p, timeout=TIMEOUT):
    return wait_for(lambda: (not p.running()) and (p.popen.returncode,), timeout,
                    what=f"{p.name} ends")[0]


def reset(c):
    """Stops the schedulers that a test left running, and empties the cluster."""
    c.resume_apiserver()
    if not c.apiserver.running():
        c.start_apiserver()
    try:
        for p in [p for p in c.children if p not in (c.etcd, c.apiserver)]:
            c.children.remove(p)
            if not p.running():
                continue
            if hasattr(p, "killed"):
                p.signal(signal.SIGCONT)
                stop(p)
            else:
                p.kill()
    finally:
        remove_all(c)


def remove_all(c):
    for path in ("/api/v1/namespaces/default/pods?gracePeriodSeconds=0", "/api/v1/nodes",
                 "/apis/events.k8s.io/v1/namespaces/default/events",
                 "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"):
        c.delete(path)
    wait_for(lambda: not c.pods(), 60, what="all pods are gone")


# ---- observation ---------------------------------------------------------------------------------

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"


def add_nodes(c, *nodes):
    c.create_many(NODES, nodes)


def add_pods(c, *pods):
    c.create_many(PODS, pods)


def node_of(c, name):
    return c.pod(name)["spec"].get("nodeName")


def wait_bound(c, name, timeout=TIMEOUT):
    return wait_for(lambda: node_of(c, name), timeout, what=f"{name} has a node")


def condition_of(c, name):
    """The pod's PodScheduled condition without its times; None if there is none."""
    for condition in c.pod(name)["status"].get("conditions", []):
        if condition["type"] == "PodScheduled":
            return {k: v for k, v in condition.items()
                    if k not in ("lastTransitionTime", "lastProbeTime")}
    return None


def wait_unschedulable(c, name, timeout=TIMEOUT):
    return wait_for(lambda: (condition_of(c, name) or {}).get("status") == "False"
                    and condition_of(c, name), timeout, what=f"{name} is reported as unschedulable")


def events_of(c, name, reason=None):
    """The pod's events, oldest first."""
    found = c.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
    return sorted((e for e in found if e["regarding"].get("name") == name
                   and reason in (None, e["reason"])), key=lambda e: e["eventTime"])


def wait_events(c, name, reason, count=1, timeout=TIMEOUT):
    return wait_for(lambda: len(events_of(c, name, reason)) >= count
                    and events_of(c, name, reason), timeout,
                    what=f"{count} {reason} events of {name}")


def visible(c, name):
    """Everything a user can see of a pod's scheduling, without generated names and times."""
    def essence(e):
        check(re.fullmatch(re.escape(name) + r"\.[0-9a-f]+", e["metadata"]["name"]),
              f"name of an event: {e['metadata']['name']}")
        kept = {k: v for k, v in e.items() if k not in ("metadata", "eventTime", "series")}
        kept["regarding"] = {k: v for k, v in e["regarding"].items()
                             if k not in ("uid", "resourceVersion")}
        kept["in series"] = "series" in e
        return kept
    return {"condition": condition_of(c, name),
            "events": [essence(e) for e in events_of(c, name)]}


# ---- sums ----------------------------------------------------------------------------------------

UNITS = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "m": 0.001, "k": 1000, "": 1}


def quantity(text):
    m = re.fullmatch(r"(\d+)([A-Za-z]*)", text)
    return int(m[1]) * UNITS[m[2]]


def overcommitted(c):
    """One line for every node whose pods request more than it has."""
    used = {}
    for pod in c.pods():
        node = used.setdefault(pod["spec"].get("nodeName"), {"cpu": 0, "memory": 0, "pods": 0})
        node["pods"] += 1
        for container in pod["spec"]["containers"]:
            for resource, amount in container["resources"].get("requests", {}).items():
                node[resource] = node.get(resource, 0) + quantity(amount)
    used.pop(None, None)
    has = {n["metadata"]["name"]: n["status"]["allocatable"] for n in c.nodes()}
    return [f"{name}: {amount:g} of {has[name].get(resource, '0')} {resource}"
            for name, node in used.items() for resource, amount in node.items()
            if amount > quantity(has[name].get(resource, "0")) + 1e-6]
