#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The metrics of berth and of the real kube-scheduler, side by side under the same load.

Each has its own pods, which are equal: many are bound, one fits nowhere, one is gated, and one
fails because the API server rejects its binding. Help texts differ. Other differences are in the
tables below, each row with its reason; docs/compat.md lists the same.
"""

import concurrent.futures
import contextlib
import json
import os
import re
import subprocess

import berth
import side_by_side
import subject
from berth import make_node, make_pod, wait_bound, wait_for, wait_unschedulable
from cluster import Cluster
from exposition import parse
from side_by_side import BOTH
from tap import check, equal, main, show_log, skip, test

HERE = os.path.dirname(os.path.abspath(__file__))
# Pods to bind; plugin durations are recorded for every tenth attempt.
SOME = 120

# Families of kube-scheduler that berth does not have, by prefix.
MISSING = {
    "aggregator_discovery_": "an API server's, linked in and never counted",
    "apiserver_envelope_encryption_": "an API server's, linked in and never counted",
    "apiserver_storage_": "an API server's, linked in and never counted",
    "apiserver_validation_": "an API server's, linked in and never counted",
    "apiserver_webhooks_": "an API server's, linked in and never counted",
    "go_": "Go's runtime; what means something in C is there",
    "scheduler_batch_": "batching by signatures is not in berth",
    "scheduler_get_node_hint_duration_seconds": "batching by signatures is not in berth",
    "scheduler_store_schedule_results_duration_seconds": "batching by signatures is not in berth",
}
# Labels with few values that are known beforehand.
ENUMERABLE = ("result", "queue", "event", "extension_point", "plugin", "profile", "status", "type",
              "stage", "work", "operation", "goroutine", "deprecated_version", "stability_level",
              "component", "emulation", "min_compat", "binary", "git_version", "major", "minor",
              "platform", "username", "call_status", "method", "verb", "code", "name")
# (family, label): values that only one may have; None stands for any.
VALUES = {
    # Compared by a separate test.
    ("kubernetes_feature_enabled", "name"): None,
    # berth's clients share no transports.
    ("rest_client_transport_create_calls_total", "result"): {"hit", "miss", "uncacheable"},
    # Of a family that berth does not have.
    ("registered_metrics_total", "stability_level"): {"INTERNAL"},
    # berth does not batch by signatures.
    ("scheduler_framework_extension_point_duration_seconds", "extension_point"): {"Sign"},
    # Whether a pod waits when a node is added depends on milliseconds.
    ("scheduler_queueing_hint_execution_duration_seconds", "event"): {"NodeAdd"},
    # One attempt in ten is recorded: what happens to few pods may be missed. GangScheduling needs
    # no gate in berth, and is the only plugin with a Permit. Sign: see above.
    ("scheduler_plugin_execution_duration_seconds", "extension_point"): {
        "Permit", "PostFilter", "Sign", "Unreserve"},
    ("scheduler_plugin_execution_duration_seconds", "plugin"): {
        "DefaultPreemption", "GangScheduling"},
    ("scheduler_plugin_execution_duration_seconds", "status"): {
        "Error", "Unschedulable", "UnschedulableAndUnresolvable"},
    # Its indexes need no goroutines.
    ("scheduler_goroutines", "operation"): {"InterPodAffinity"},
    # Which pods are in flight during an event depends on timing.
    ("scheduler_inflight_events", "event"): None,
    # So does which instance finds an existing Event or lease.
    ("rest_client_requests_total", "code"): None,
}


# ---- the two -------------------------------------------------------------------------------------

def config(c, who):
    return {
        "profiles": [subject.profile(who)],
        "leaderElection": {"leaderElect": True, "resourceName": who, "resourceNamespace": "default"},
        "clientConnection": {"kubeconfig": c.scheduler_kubeconfig, "qps": 500, "burst": 500},
    }


def start(c, who, *flags, **more):
    kubeconfigs = [f"--{what}-kubeconfig={c.scheduler_kubeconfig}"
                   for what in ("authentication", "authorization")]
    if who == "kube":
        p = c.start_scheduler(*flags, name=more.get("name", who), config=config(c, who))
    else:
        path = berth.scheduler_config(c, more.get("name", who), **config(c, who))
        p = berth.start(c, *kubeconfigs, *flags, name=more.get("name", who), config=path)
    show_log(p.log)
    wait_for(lambda: curl(c, p, "/readyz")[0] == 200, 60, what=f"{p.name} is ready")
    return p


def pods():
    limits = {"containers": [{"name": "main", "image": "x", "resources": {
        "requests": {"cpu": "50m", "memory": "64Mi", "ephemeral-storage": "1Gi"},
        "limits": {"cpu": "1500m", "memory": "128Mi", "ephemeral-storage": "1500M",
                   "example.com/gpu": "1"}}}],
        "initContainers": [
            {"name": "once", "image": "x", "resources": {"requests": {"cpu": "1"},
                                                         "limits": {"cpu": "2"}}},
            {"name": "beside", "image": "x", "restartPolicy": "Always",
             "resources": {"requests": {"memory": "10Mi"}, "limits": {"memory": "2e7"}}}]}
    own = {"resources": {"requests": {"cpu": "700m"}, "limits": {"cpu": "3", "memory": "1Gi"}}}
    return {**{f"p{i}": make_pod("") for i in range(SOME)},
            "limits": make_pod("", spec=limits),
            "own": make_pod("", memory=None, spec=own),
            "ended": make_pod(""),
            "critical": make_pod("", priority_class="system-node-critical"),
            "none": make_pod("", cpu=None, memory=None),
            "big": make_pod("", cpu="1000"),
            "gated": make_pod("", gates=["example.com/later"]),
            "broken": make_pod("")}


POLICY = [{"kind": "ValidatingAdmissionPolicy", "metadata": {"name": "broken.example.com"},
           "spec": {"failurePolicy": "Fail",
                    "matchConstraints": {"resourceRules": [{
                        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                        "resources": ["pods/binding"]}]},
                    "validations": [{"expression": "!object.metadata.name.endsWith('-broken')"}]}},
          {"kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "broken.example.com"},
           "spec": {"policyName": "broken.example.com", "validationActions": ["Deny"]}}]


def forbid_bindings(c):
    """Rejects bindings of pods whose names end in -broken."""
    for obj in POLICY:
        c.kubectl("create", "-f", "-",
                  input={"apiVersion": "admissionregistration.k8s.io/v1", **obj})

    def refused():
        try:
            c.create(f"{berth.PODS}/x-broken/binding", {
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "x-broken"},
                "target": {"apiVersion": "v1", "kind": "Node", "name": "node-0"}})
        except berth.ApiError as e:
            return "broken.example.com" in str(e)
    wait_for(refused, 60, what="the policy is in effect")


def load(c):
    forbid_bindings(c)
    berth.add_nodes(c, *[make_node(f"node-{i}", cpu=32, pods=200, extended={"example.com/gpu": 8})
                         for i in range(3)])
    side_by_side.make_twice(c, pods())
    for who in BOTH:
        for name in [f"p{i}" for i in range(SOME)] + ["limits", "own", "critical", "none"]:
            wait_bound(c, f"{who}-{name}")
        wait_bound(c, f"{who}-ended")
        c.patch(f"{berth.PODS}/{who}-ended/status", {"status": {"phase": "Succeeded"}})
        wait_unschedulable(c, f"{who}-big")
        wait_unschedulable(c, f"{who}-broken")
    # Queueing hints are called for a node that is added, changed and deleted.
    berth.add_nodes(c, make_node("late"))
    c.patch(berth.NODES + "/late", {"metadata": {"labels": {"example.com/changed": "yes"}}})
    c.delete(berth.NODES + "/late")
    wait_for(lambda: all("NodeDelete" in events_seen(c, p) for p in c.both.values()), 60,
             what="both have seen the node's deletion")


def events_seen(c, p):
    return parse(scrape(c, p))["scheduler_event_handling_duration_seconds"].values_of("event")


def ask_around(c, p):
    """Requests for all that the endpoints count: several users, with and without rights."""
    c.kubectl("create", "serviceaccount", p.name)
    token = c.kubectl("create", "token", p.name).strip()
    for header in (token, token, "junk"):
        curl(c, p, "/metrics", "-H", "Authorization: Bearer " + header, admin=False)
    for path in ("/metrics", "/healthz", "/livez", "/readyz"):
        curl(c, p, path, admin=False)


@contextlib.contextmanager
def cluster():
    with Cluster() as c:
        c.kubectl("create", "clusterrole", "leases", "--verb=*",
                  "--resource=leases.coordination.k8s.io")
        c.kubectl("create", "clusterrolebinding", "leases", "--clusterrole=leases",
                  "--user=system:kube-scheduler")
        c.both = {who: start(c, who) for who in BOTH}
        for p in c.both.values():
            ask_around(c, p)
        load(c)
        yield c
        c.children.remove(c.both["berth"])
        berth.stop(c.both["berth"])


def after(c):
    for p in c.both.values():
        show_log(p.log)
        check(p.running(), f"{p.name} has ended")


def curl(c, p, path, *args, admin=True):
    """Status and body."""
    argv = ["curl", "-sk", "--max-time", "60", "-w", "\n%{http_code}"]
    if admin:
        argv += ["--cert", os.path.join(c.dir, "admin.crt"), "--key", os.path.join(c.dir, "admin.key")]
    done = subprocess.run(argv + list(args) + [f"https://127.0.0.1:{p.port}{path}"],
                          stdout=subprocess.PIPE)
    body, _, status = done.stdout.rpartition(b"\n")
    return int(status), body.decode()


def scrape(c, p, path="/metrics"):
    status, body = curl(c, p, path)
    # Just after its start a server may not have its CA bundle yet.
    with contextlib.suppress(TimeoutError):
        if status != 200:
            wait_for(lambda: curl(c, p, path)[0] == 200, 30)
            status, body = curl(c, p, path)
    equal(status, 200, f"{p.name} {path}")
    return body


def both(c, path="/metrics"):
    return {who: parse(scrape(c, p, path)) for who, p in c.both.items()}


# Whether a pod waits, and its hint is called, when a node is added depends on milliseconds.
CHANCE = {"scheduler_queueing_hint_execution_duration_seconds"}


def is_missing(name, berth_has):
    return name not in berth_has and any(name.startswith(prefix) for prefix in MISSING)


def shared(c, path="/metrics"):
    """(name, berth's, kube's) of the families that both have."""
    got = both(c, path)
    return [(name, got["berth"][name], family) for name, family in got["kube"].items()
            if name in got["berth"]]


# ---- the comparison ------------------------------------------------------------------------------

@test
def the_same_families_are_there(c):
    got = both(c)
    # Metrics that kube-scheduler does not have are named berth_….
    equal(sorted(name for name in set(got["berth"]) - set(got["kube"]) - CHANCE
                 if not name.startswith("berth_")), [], "families that only berth has")
    equal([name for name in got["kube"] if name not in set(got["berth"]) | CHANCE
           and not is_missing(name, got["berth"])], [], "families that berth has not")
    for prefix in MISSING:
        check(any(is_missing(name, got["berth"]) and name.startswith(prefix)
                  for name in got["kube"]), f"{prefix}: berth misses none of these any more")


@test
def types_stability_and_labels_are_the_same(c):
    for name, ours, theirs in shared(c):
        equal(ours.kind, theirs.kind, f"type of {name}")
        equal(ours.stability, theirs.stability, f"stability of {name}")
        equal(ours.label_names(), theirs.label_names(), f"labels of {name}")


@test
def buckets_are_the_same(c):
    for name, ours, theirs in shared(c):
        if theirs.kind == "histogram":
            equal(ours.bounds(), theirs.bounds(), f"buckets of {name}")


def enumerated(family, label, who):
    own = {who: "own"} if label == "profile" else {}
    return {own.get(value, value) for value in family.values_of(label)}


@test
def labels_take_the_same_values(c):
    wrong = []
    for name, ours, theirs in shared(c):
        for label in ENUMERABLE:
            spared = VALUES.get((name, label), set())
            if label not in next(iter(theirs.label_names())) or spared is None:
                continue
            mine = enumerated(ours, label, "berth") - spared
            its = enumerated(theirs, label, "kube") - spared
            if mine != its:
                wrong.append(f"{name} {label}: only berth {sorted(mine - its)}, "
                             f"only kube-scheduler {sorted(its - mine)}")
    equal(wrong, [], "values of labels")


@test
def what_is_certain_is_counted_alike(c):
    """Numbers that do not depend on timing."""
    def numbers(who):
        got = parse(scrape(c, c.both[who]))
        found = {}
        for queue in ("active", "backoff", "gated", "unschedulable"):
            found[queue] = got["scheduler_pending_pods"].value(queue=queue)
        # A pod that failed with an error may wait in either queue.
        found["waiting"] = found.pop("backoff") + found.pop("unschedulable") + found.pop("active")
        attempts = got["scheduler_schedule_attempts_total"]
        found["scheduled"] = attempts.value(profile=who, result="scheduled")
        found["attempts"] = got["scheduler_pod_scheduling_attempts"].value("_count")
        found["created"] = got["scheduler_queue_incoming_pods_total"].value(
            event="PodAdd", queue="active")
        found["leads"] = got["leader_election_master_status"].value(name="kube-scheduler")
        for what in ("disabled_metrics_total", "hidden_metrics_total"):
            found[what] = got[what].value()
        return found
    last = {}

    def alike():
        last.update((who, numbers(who)) for who in ("berth", "kube"))
        return last["berth"] == last["kube"]
    # A pod in flight is in no queue; wait until the attempt has ended.
    with contextlib.suppress(TimeoutError):
        wait_for(alike, 30)
    equal(last["berth"], last["kube"], "numbers")
    equal(last["berth"]["scheduled"], SOME + 5, "pods that were bound")


@test
def gates_are_shown_alike(c):
    got = both(c)
    gates = {who: {(s.labels["name"], s.labels["stage"]): s.value
                   for s in got[who]["kubernetes_feature_enabled"].samples} for who in BOTH}
    own = {key for key in gates["berth"] if key[0].startswith("Berth")}
    equal({k: v for k, v in gates["berth"].items() if k not in own}, gates["kube"], "gates")


@test
def pages_are_read_by_prometheus_own_parser(c):
    found = subprocess.run([os.path.join(HERE, "..", "lib", "prometheus.sh")],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if found.returncode != 0:
        skip("prometheus_client is not available: " + found.stderr)
    count = ("import sys; from prometheus_client.parser import text_string_to_metric_families as f;"
             "print(sum(len(m.samples) for m in f(sys.stdin.read())))")
    for path in ("/metrics", "/metrics/slis", "/metrics/resources"):
        text = scrape(c, c.both["berth"], path)
        done = subprocess.run([found.stdout.strip(), "-c", count], input=text, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        equal(done.returncode, 0, f"{path}: {done.stderr}")
        equal(int(done.stdout), sum(len(f.samples) for f in parse(text).values()), path)


@test
def resources_of_pods_are_equal(c):
    """Byte for byte, except for the help."""
    def lines(p):
        return [line for line in scrape(c, p, "/metrics/resources").splitlines()
                if not line.startswith("# HELP")]
    wait_for(lambda: not any("ended" in line for p in c.both.values() for line in lines(p)), 60,
             what="both have seen that a pod has ended")
    equal(lines(c.both["berth"]), lines(c.both["kube"]), "/metrics/resources")
    text = "\n".join(lines(c.both["berth"]))
    for part in ('unit="cores"} 2\n', 'resource="example.com/gpu"', 'priority="2000001000"',
                 'pod="kube-own"', 'node=""', 'unit="bytes"} 1.5e+09\n'):
        check(part in text, f"{part} is not in\n{text}")


@test
def resources_are_told_to_many_at_once(c):
    p = c.both["berth"]
    want = scrape(c, p, "/metrics/resources")
    with concurrent.futures.ThreadPoolExecutor(16) as threads:
        found = list(threads.map(lambda _: scrape(c, p, "/metrics/resources"), range(64)))
    equal({text == want for text in found}, {True}, "all got the same")


@test
def results_of_health_checks_are_alike(c):
    for name, ours, theirs in shared(c, "/metrics/slis"):
        equal(ours.kind, theirs.kind, f"type of {name}")
        equal(ours.stability, theirs.stability, f"stability of {name}")
        equal({(s.labels.get("name"), s.labels.get("type")) for s in ours.samples},
              {(s.labels.get("name"), s.labels.get("type")) for s in theirs.samples}, name)
    equal(set(both(c, "/metrics/slis")["berth"]), set(both(c, "/metrics/slis")["kube"]), "families")


@test
def the_process_is_as_the_kernel_sees_it(c):
    p = c.both["berth"]
    got = parse(scrape(c, p))
    with open(f"/proc/{p.pid}/status") as f:
        status = dict(line.split(":", 1) for line in f)
    check(int(status["Threads"]) == got["go_threads"].value(), "threads")
    check(got["process_cpu_seconds_total"].value() <= p.cpu_seconds(), "CPU seconds")
    check(0 < got["process_open_fds"].value() < got["process_max_fds"].value(), "descriptors")
    near = p.rss_bytes() / got["process_resident_memory_bytes"].value()
    check(0.5 < near < 2, f"resident memory: {near}")
    started = got["process_start_time_seconds"].value()
    with open(f"/proc/{p.pid}/stat") as f:
        ticks = int(f.read().rpartition(")")[2].split()[19])
    with open("/proc/stat") as f:
        boot = int(re.search(r"btime (\d+)", f.read())[1])
    check(abs(boot + ticks / os.sysconf("SC_CLK_TCK") - started) < 1, f"started: {started}")


# ---- flags ---------------------------------------------------------------------------------------

RULES = {"scheduler_pending_pods,queue": "active,gated"}
FLAGS = ("--disabled-metrics=scheduler_cache_size,scheduler_preemption_victims",
         "--disabled-metrics=no_such_family", "--show-hidden-metrics-for-version=1.35")


def check_rules(got):
    """Checks the results of the rules; the same for both."""
    for who in BOTH:
        check("scheduler_cache_size" not in got[who], f"{who}: scheduler_cache_size is there")
        check("scheduler_preemption_victims" not in got[who], f"{who}: a disabled one is there")
        equal(got[who]["scheduler_pending_pods"].values_of("queue"),
              {"active", "gated", "unexpected"}, f"{who}: values of a label")
        check(got[who]["cardinality_enforcement_unexpected_categorizations_total"].value() > 0,
              f"{who}: nothing unexpected")
    for what in ("disabled_metrics_total", "hidden_metrics_total"):
        equal(got["berth"][what].value(), got["kube"][what].value(), what)


@test
def families_are_disabled_and_labels_restricted_by_flags(c):
    manifest = os.path.join(c.dir, "allowed.yaml")
    with open(manifest, "w") as f:
        json.dump(RULES, f)
    by_flag = [f"--allow-metric-labels={key}={value}" for key, value in RULES.items()]
    for n, flags in enumerate((by_flag, [f"--allow-metric-labels-manifest={manifest}"])):
        got = {}
        for who in BOTH:
            # Leader election proceeds without them: its requests wait, but are counted.
            p = start(c, who, *FLAGS, *flags, name=f"{who}-flags-{n}")
            got[who] = parse(scrape(c, p))
            c.children.remove(p)
            berth.stop(p) if who == "berth" else p.kill()
        check_rules(got)


@test
def a_reset_leaves_what_has_no_labels(c):
    for who, p in c.both.items():
        equal(curl(c, p, "/metrics", "-X", "DELETE")[1].strip(), "metrics reset", who)
    got = both(c)
    for who in BOTH:
        check("kubernetes_build_info" not in got[who], f"{who}: kubernetes_build_info is there")
        check("process_open_fds" in got[who], f"{who}: process_open_fds is not there")


if __name__ == "__main__":
    main(fixture=cluster, after=after)
