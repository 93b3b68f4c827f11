#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Log lines at -v 4, 5, 6, 8 and 10, compared with the real kube-scheduler's.

Both schedulers run through the same scene: pods that each filter rejects, changes that each
queueing hint looks at, a preemption, requests to the HTTPS port. Every message that one of them
logs must be logged by the other, with the same keys, or be listed here with the reason.
"""

import json
import os
import subprocess
import time

import berth
from berth import NODES, PODS, TIMEOUT, add_nodes, add_pods, make_node, make_pod, wait_for
from cluster import Cluster, Process, free_port
from log_lines import read_text
from tap import check, main, note, show_log, test

BOTH = ("berth", "kube-scheduler")
LEVELS = (4, 5, 6, 8, 10)

# ---- exceptions ----------------------------------------------------------------------------------

# Messages that only kube-scheduler logs (by their beginning), and why. docs/compat.md lists them.
ONLY_THEIRS = {
    "Golang settings": "of Go's runtime",
    "The manifest file is empty": "an error line about a flag that is not set",
    "Loaded serving cert": "berth has no such controller: files are read by a timer",
    "Starting DynamicServingCertificateController": "the same",
    "Shutting down DynamicServingCertificateController": "the same",
    "SignPod can't sign pod due to plugin": "berth does not batch pods by signature",
    "OpportunisticBatch": "the same",
    "Unable to record event (will not retry!)": "upstream loses its last event, berth does not",
    "Could not construct reference": "upstream fails to name the preemptor in an event",
    "Pod doesn't exist in podLister": "a race of upstream with its own cache",
    "No authentication-kubeconfig provided": "berth uses the scheduler's own kubeconfig then",
    "No authorization-kubeconfig provided": "the same",
}

# Messages that only berth logs.
ONLY_OURS = {
    "This is berth": "which version stands in for kube-scheduler",
    "Scheduling started": "that it leads and knows the cluster",
    "Shutting down": "the signal",
    "The server does not serve this resource": "kinds of gates that are off here are looked for",
    "Unable to authenticate the request": "berth can ask about tokens, by the scheduler's kubeconfig",
}


# The messages of queueing hints. A hint is called only if its pod waits at that moment and no other
# plugin has returned Queue before it; upstream calls them in a random order. So it is chance
# whether one of these is logged. If both log it the keys are equal, and most of them are logged by
# both.
HINTS = (
    "A node ", "a new toleration is added", "a node is added/updated", "a scheduled pod",
    "another scheduled pod", "node updated, but", "node was added", "node was created",
    "node was updated", "pod got scaled down", "the added/updated/deleted pod",
    "the created node", "the deleted node", "the deleted pod", "the node is updated",
    "the pod's update doesn't", "the target pod labels", "the unschedulable pod has got",
)
COMMON_HINTS = 15


def excepted(message, table):
    return any(message.startswith(m) for m in table)


# ---- the scene -----------------------------------------------------------------------------------

SECRET = "token-of-the-test"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
ELECTION = {"leaderElect": True, "leaseDuration": "6s", "renewDeadline": "5s", "retryPeriod": "1s"}


def spread(key, **more):
    return [{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
             "labelSelector": {"matchLabels": {"app": "web"}}, **more}]


def pod_term(kind, app, key):
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}]}}


def on(node):
    return {"kubernetes.io/hostname": node}


ANY = [{"operator": "Exists"}]


def pending_pods():
    """One for each filter that can reject a pod. Usually only that filter does: if several rejected
    a pod, it is chance which of their hints is called first, and the others are not."""
    return [
        make_pod("big", cpu="100", tolerations=ANY),
        make_pod("spread", labels={"app": "web"}, node_selector=on("a0"), tolerations=ANY,
                 spread=spread("topology.kubernetes.io/zone", nodeAffinityPolicy="Ignore")),
        make_pod("keyless", spread=spread("rack"), tolerations=ANY),
        make_pod("apart", tolerations=ANY,
                 affinity=pod_term("podAntiAffinity", "web", "kubernetes.io/os")),
        make_pod("near", tolerations=ANY,
                 affinity=pod_term("podAffinity", "none", "kubernetes.io/hostname")),
        make_pod("selective", node_selector={"disk": "ssd"}, tolerations=ANY),
        make_pod("untolerated", node_selector=on("t0"),
                 tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]),
        make_pod("cordoned", node_selector=on("c0"),
                 tolerations=[{"key": "d", "operator": "Exists"}]),
        make_pod("port", ports=[8080], node_selector=on("a0"), tolerations=ANY),
    ]


def start(c, who, *args):
    config = berth.scheduler_config(c, who, profiles=berth.PROFILES, leaderElection=ELECTION,
                                    podMaxBackoffSeconds=1)
    if who == "berth":
        return berth.start(c, *args, config=config)
    port = free_port()
    argv = [os.path.join(c.bin, "kube-scheduler"), f"--config={config}",
            f"--secure-port={port}", "--bind-address=127.0.0.1", *args]
    p = Process(who, argv, os.path.join(c.dir, f"{who}.{port}.log"), cwd=c.dir)
    p.port = port
    c.children.append(p)
    show_log(p.log)
    return p


def says(p, text, times=1):
    wait_for(lambda: p.text().replace('\\"', '"').count(text) >= times, TIMEOUT,
             what=f"{p.name} says {text}")


def says_again(c, p, act, text):
    """Runs an action and waits until the scheduler has logged one more such line."""
    before = p.text().count(text)
    act()
    says(p, text, before + 1)
    time.sleep(0.3)


def ask(p, path, *args):
    subprocess.run(["curl", "-ksS", "-o", "/dev/null", "--max-time", "30", *args,
                    f"https://127.0.0.1:{p.port}{path}"], check=True)


def change_things(c, p):
    """Changes that queueing hints look at, one after the other."""
    def step(act, text):
        says_again(c, p, act, text)
    step(lambda: add_nodes(c, make_node("n2", zone="b")), "Add event for node")
    step(lambda: c.patch(f"{NODES}/n2", {"metadata": {"labels": {"x": "y"}}}),
         "Update event for node")
    step(lambda: c.patch(f"{NODES}/n2", {"metadata": {
        "labels": {"topology.kubernetes.io/zone": "c"}}}), "Update event for node")
    time.sleep(1.5)   # hints are not called for pods in backoff
    step(lambda: c.patch(f"{NODES}/t0", {"spec": {"taints": [
        {"key": "d", "value": "y", "effect": "NoSchedule"}]}}), "Update event for node")
    step(lambda: c.patch(f"{NODES}/a0/status", {"status": {"allocatable": {"cpu": "5"}}}),
         "Update event for node")
    step(lambda: c.patch(f"{PODS}/placed", {"metadata": {"labels": {"app": "other"}}}),
         "Update event for scheduled pod")
    step(lambda: c.patch(f"{PODS}/untolerated", {"spec": {"tolerations": c.pod("untolerated")[
        "spec"]["tolerations"] + [{"key": "z", "operator": "Exists"}]}}),
         "Update event for unscheduled pod")
    step(lambda: c.patch(f"{PODS}/big", {"metadata": {"labels": {"a": "b"}}}),
         "Update event for unscheduled pod")
    step(lambda: c.delete(f"{PODS}/fits?gracePeriodSeconds=0"), "Delete event for scheduled pod")
    step(lambda: c.delete(f"{PODS}/placed?gracePeriodSeconds=0"),
         "Delete event for scheduled pod")
    step(lambda: c.delete(f"{PODS}/near?gracePeriodSeconds=0"),
         "Delete event for unscheduled pod")
    step(lambda: c.delete(f"{NODES}/n2"), "Delete event for node")


def live(c, who, level):
    """Runs through the scene. Returns the log."""
    berth.remove_all(c)
    if not c.get(CLASSES)["items"][2:]:
        c.create(CLASSES, {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                           "metadata": {"name": "high"}, "value": 1000})
    add_nodes(c, make_node("a0", cpu="4", zone="a"), make_node("b0", cpu="4", zone="b"),
              make_node("t0", zone="b", taints=[{"key": "d", "effect": "NoSchedule"}]),
              make_node("c0", zone="b", unschedulable=True))
    add_pods(c, make_pod("placed", node_name="a0", labels={"app": "web"}, ports=[8080]),
             make_pod("placed2", node_name="a0", labels={"app": "web"}))
    p = start(c, who, f"-v={level}")
    says(p, "Successfully acquired lease")
    add_pods(c, make_pod("fits"))
    says(p, "Successfully bound pod to node")
    for i, pod in enumerate(pending_pods()):
        add_pods(c, pod)
        says(p, "Unable to schedule pod; no fit; waiting", i + 1)
    add_pods(c, make_pod("gated", gates=["x"]), make_pod("other", scheduler_name="other"))
    change_things(c, p)
    add_pods(c, make_pod("victim", cpu="3", node_selector=on("b0"),
                         spec={"terminationGracePeriodSeconds": 0}))
    berth.wait_bound(c, "victim")
    add_pods(c, make_pod("vip", cpu="3", node_selector=on("b0"), priority_class="high"))
    berth.wait_bound(c, "vip")
    ask(p, "/healthz")
    ask(p, "/readyz?verbose")
    ask(p, "/metrics")
    ask(p, "/nope", "-H", f"Authorization: Bearer {SECRET}")
    time.sleep(1.5)
    c.children.remove(p)
    code = p.terminate(60)
    check(code == 0, f"exit code of {who}: {code}")
    return p.text()


# ---- the comparison ------------------------------------------------------------------------------

class Said:
    """The messages of one scheduler, over all its runs: {(severity, message): {keys: a line}}"""

    def __init__(self):
        self.shapes = {}

    def add(self, text):
        for severity, message, keys, line in read_text(text):
            self.shapes.setdefault((severity, message), {}).setdefault(keys, line)


def differences(ours, theirs):
    found = []
    for key, lines in theirs.shapes.items():
        if key not in ours.shapes and not excepted(key[1], (*ONLY_THEIRS, *HINTS)):
            found.append("only kube-scheduler: " + next(iter(lines.values()))[:300])
    for key, lines in ours.shapes.items():
        if key not in theirs.shapes and not excepted(key[1], (*ONLY_OURS, *HINTS)):
            found.append("only berth: " + next(iter(lines.values()))[:300])
    for key in set(theirs.shapes) & set(ours.shapes):
        got, want = ({tuple(sorted(k)) for k in s.shapes[key]} for s in (ours, theirs))
        if got != want:
            found.append(f"keys of {key}: got {sorted(got - want)}, want {sorted(want - got)}")
    return found


LIVES = 5   # messages that depend on timing are in one run and not in another


def beside(c, level):
    said = {who: Said() for who in BOTH}
    for left in reversed(range(LIVES)):
        for who in BOTH:
            text = live(c, who, level)
            check(SECRET not in text, f"{who} logs a token")
            said[who].add(text)
        found = differences(said["berth"], said["kube-scheduler"])
        hints = sum(excepted(message, HINTS) for _, message in
                    set(said["berth"].shapes) & set(said["kube-scheduler"].shapes))
        if level >= 5 and hints < COMMON_HINTS:
            found.append(f"only {hints} messages of hints in common")
        if not found:
            note(f"-v={level}: {len(said['berth'].shapes)} messages")
            return
        if left:
            note("once more, since\n" + "\n".join(found))
    check(False, "\n".join(found))


# ---- tests ---------------------------------------------------------------------------------------

@test
def at_level_4_both_log_the_same(c):
    beside(c, 4)


@test
def at_level_5_both_log_the_same(c):
    beside(c, 5)


@test
def at_level_6_both_log_the_same(c):
    beside(c, 6)


@test
def at_level_8_both_log_the_same(c):
    beside(c, 8)


@test
def at_level_10_both_log_the_same(c):
    beside(c, 10)


@test
def files_are_chosen_by_the_names_of_upstream(c):
    """--vmodule with Go's file names enables the lines of these files, and no others."""
    add_nodes(c, make_node("n0", taints=[{"key": "d", "effect": "NoSchedule"}]))
    modules = "--vmodule=taint_toleration=5,round_trippers=6,resource_allocation=10"
    seen = {}
    for who in BOTH:
        p = start(c, who, modules, "-v=1")
        says(p, "Successfully acquired lease")
        add_pods(c, make_pod(f"{who}-p"))
        says(p, "node had untolerated taints")
        says(p, 'verb="PATCH"')
        c.children.remove(p)
        p.terminate(60)
        seen[who] = {m for _, m, _, _ in read_text(p.text())}
        c.delete(f"{PODS}/{who}-p?gracePeriodSeconds=0")
    for message in ("node had untolerated taints", "Response"):
        for who in BOTH:
            check(message in seen[who], f"{who} does not log: {message}")
    for message in ("Add event for node", "Request Body", "Attempting to schedule pod"):
        for who in BOTH:
            check(message not in seen[who], f"{who} logs: {message}")


def kubeconfig_with_token(c):
    """A kubeconfig whose user has a token and every right; its path and the token."""
    c.kubectl("create", "serviceaccount", "masked")
    c.kubectl("create", "clusterrolebinding", "masked", "--clusterrole=cluster-admin",
              "--serviceaccount=default:masked")
    token = c.kubectl("create", "token", "masked").strip()
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "x",
              "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
              "clusters": [{"name": "x", "cluster": {
                  "server": c.url, "certificate-authority": os.path.join(c.dir, "ca.crt")}}],
              "users": [{"name": "x", "user": {"token": token}}]}
    path = os.path.join(c.dir, "token.kubeconfig")
    with open(path, "w") as f:
        json.dump(config, f)
    return path, token


@test
def tokens_are_masked(c):
    """The token of a kubeconfig is logged as <masked> at every level, and no client's token is
    logged."""
    add_nodes(c, make_node("n0"))
    path, token = kubeconfig_with_token(c)
    for level in (7, 8, 10):
        p = berth.start(c, f"-v={level}", "--authentication-kubeconfig", path,
                        "--authorization-kubeconfig", path, kubeconfig=path)
        add_pods(c, make_pod(f"p{level}"))
        berth.wait_bound(c, f"p{level}")
        ask(p, "/metrics", "-H", f"Authorization: Bearer {SECRET}")
        says(p, "/apis/authentication.k8s.io/v1/tokenreviews")
        says(p, 'URI="/metrics"')
        check("Bearer <masked>" in p.text(), f"-v={level}: no masked header")
        check(token not in p.text() and SECRET not in p.text(), f"-v={level}: a token is logged")
        c.children.remove(p)
        berth.stop(p)


if __name__ == "__main__":
    main(fixture=Cluster, after=berth.reset)
