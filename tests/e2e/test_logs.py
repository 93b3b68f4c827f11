#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Logs, compared with the real kube-scheduler's: both run through the same scene and must log the
same messages, with the same level and keys. Messages of only one of them are listed here, with the
reason."""

import json
import os
import re
import signal
import subprocess

import berth
from berth import PODS, TIMEOUT, add_nodes, add_pods, make_node, make_pod, wait_for
from cluster import Cluster, Process, free_port
from log_lines import read_json, read_text
from tap import Failed, check, contains, equal, main, note, show_log, test

BOTH = ("berth", "kube-scheduler")

# ---- exceptions ----------------------------------------------------------------------------------

# Messages that only kube-scheduler logs (by their beginning), and why.
ONLY_THEIRS = {
    "Golang settings": "of Go's runtime",
    "No authentication-kubeconfig provided": "berth uses the scheduler's own kubeconfig then",
    "No authorization-kubeconfig provided": "the same",
    "The manifest file is empty": "an error line about a flag that nobody has given",
    "Loaded a new request header values": "names a controller that berth does not have",
    "Starting RequestHeaderAuthRequestController": "the same",
    "Shutting down RequestHeaderAuthRequestController": "the same",
    "Starting controller": "the same, of certificates",
    "Shutting down controller": "the same",
    "Waiting for caches to sync": "of these controllers",
    "Caches are synced": "the same",
    "Loaded serving cert": "a certificate in Go's words",
    "Loaded client CA": "the same",
    "Starting DynamicServingCertificateController": "files are looked at by a timer",
    "Shutting down DynamicServingCertificateController": "the same",
    "SignPod can't sign pod due to plugin": "berth does not batch pods by signature",
    "OpportunisticBatch": "the same",
    "Unable to record event (will not retry!)": "upstream loses its last event, berth does not",
    "Warning": "of the API server, told by client-go",
    "Pod doesn't exist in podLister": "a race of upstream's with its own cache",
}

# Messages that only berth logs.
ONLY_OURS = {
    "This is berth": "which version stands in for kube-scheduler",
    "Scheduling started": "that it leads and knows the cluster",
    "Shutting down": "the signal",
    "The server does not serve this resource": "kinds of gates that are off here are looked for",
    "The configuration enables plugins that are not supported yet": "what is missing",
}


def excepted(message, table):
    return any(message.startswith(m) for m in table)


# ---- the scene -----------------------------------------------------------------------------------

ELECTION = {"leaderElect": True, "leaseDuration": "6s", "renewDeadline": "5s", "retryPeriod": "1s"}


def start(c, who, *args):
    config = berth.scheduler_config(c, who, profiles=berth.PROFILES, leaderElection=ELECTION)
    if who == "berth":
        return berth.start(c, *args, config=config)
    argv = [os.path.join(c.bin, "kube-scheduler"), f"--config={config}",
            f"--secure-port={free_port()}", "--bind-address=127.0.0.1", *args]
    p = Process(who, argv, os.path.join(c.dir, f"{who}.{free_port()}.log"), cwd=c.dir)
    c.children.append(p)
    show_log(p.log)
    return p


def says(p, text, times=1):
    wait_for(lambda: p.text().replace('\\"', '"').count(text) >= times, TIMEOUT,
             what=f"{p.name} logs {text}")


def live(c, who, *args):
    """Runs through the scene. Returns the log."""
    berth.remove_all(c)
    add_nodes(c, make_node("n0"), make_node("n1"))
    add_pods(c, make_pod("placed", node_name="n0"))
    p = start(c, who, *args)
    says(p, "Successfully acquired lease")
    add_pods(c, make_pod("fits"))
    says(p, "Successfully bound pod to node")
    add_pods(c, make_pod("big", cpu="100"))
    says(p, "Unable to schedule pod; no fit; waiting")
    add_pods(c, make_pod("gated", gates=["x"]), make_pod("other", scheduler_name="other"))
    add_nodes(c, make_node("n2"))
    says(p, "Added node to NodeTree", 3)
    c.patch(f"{berth.NODES}/n2", {"metadata": {"labels": {"a": "b"}}})
    for pod in ("fits", "big"):
        c.patch(f"{PODS}/{pod}", {"metadata": {"labels": {"a": "b"}}})
    c.delete(f"{PODS}/fits?gracePeriodSeconds=0")
    says(p, "Unable to schedule pod; no fit; waiting", 2)
    p.signal(signal.SIGUSR2)
    says(p, "Dump of scheduling queue")
    c.delete(f"{PODS}/big?gracePeriodSeconds=0")
    c.delete(f"{berth.NODES}/n2")
    says(p, "Removed node from NodeTree")
    c.children.remove(p)
    equal(p.terminate(60), 0, f"exit code of {who}")
    return p.text()


def compare(logs):
    """Compares the messages and their keys."""
    said = {who: {} for who in BOTH}
    for who in BOTH:
        for level, message, keys, line in logs[who]:
            said[who].setdefault((level, message), (set(), line))[0].add(keys)
    theirs, ours = said["kube-scheduler"], said["berth"]
    missing = [line for key, (_, line) in theirs.items()
               if key not in ours and not excepted(key[1], ONLY_THEIRS)]
    check(not missing, "berth does not log:\n" + "\n".join(missing))
    extra = [line for key, (_, line) in ours.items()
             if key not in theirs and not excepted(key[1], ONLY_OURS)]
    check(not extra, "kube-scheduler does not log:\n" + "\n".join(extra))
    for key in set(theirs) & set(ours):
        got, want = ([sorted(k) for k in sorted(x[key][0], key=sorted)] for x in (ours, theirs))
        equal(got, want, f"keys of {key}")
    return len(set(theirs) & set(ours))


def of_pod(lines, pod, last):
    """The messages about the pod, up to `last`, that both log."""
    found = []
    for _, message, _, line in lines:
        if f"default/{pod}" in line.replace(f'"name":"{pod}","namespace":"default"',
                                            f"default/{pod}") and \
                not excepted(message, {**ONLY_THEIRS, **ONLY_OURS}):
            found.append(message)
            if message == last:
                break
    return found


# ---- tests ---------------------------------------------------------------------------------------

LIVES = 4   # messages that depend on timing are in one run and not in another


def beside(c, read, *args, also=None):
    """Checks that both log the same in up to LIVES runs; `also` checks the last run."""
    said = {who: [] for who in BOTH}
    for left in reversed(range(LIVES)):
        logs = {who: read(live(c, who, *args)) for who in BOTH}
        for who in BOTH:
            said[who] += logs[who]
        try:
            common = compare(said)
            if also:
                also(logs)
            note(f"{' '.join(args)}: {common} messages in common")
            return
        except Failed as e:
            if not left:
                raise
            note(f"retry, because {e}")


@test
def at_level_2_both_say_the_same(c):
    beside(c, read_text, "-v=2")


@test
def at_level_5_both_say_the_same_in_the_same_order(c):
    def order(logs):
        for pod, last in (("fits", "Attempting to bind pod to node"),
                          ("big", "Updating pod condition and nominated node name"),
                          ("gated", "Pod moved to an internal scheduling queue, because the pod is "
                                    "gated")):
            ours, theirs = (of_pod(logs[who], pod, last) for who in BOTH)
            check(last in ours, f"{pod}: {ours}")
            equal(ours, theirs, f"what is said of {pod}")
    beside(c, read_text, "-v=5", also=order)


@test
def at_level_10_both_say_the_same(c):
    def scores(logs):
        ours, theirs = (sorted(re.findall(r'final score for pod" (pod="default/fits" .*)',
                                          "\n".join(line for *_, line in logs[who])))
                        for who in BOTH)
        check(ours, "no scores")
        equal(ours, theirs, "scores")
    beside(c, read_text, "-v=10", also=scores)


@test
def as_json_both_say_the_same_with_the_same_levels(c):
    def bound(logs):
        for who in BOTH:
            lines = [json.loads(line) for *_, line in logs[who]
                     if '"Successfully bound pod to node"' in line]
            equal([(b["pod"], b["evaluatedNodes"], b["feasibleNodes"], b["v"]) for b in lines],
                  [({"name": "fits", "namespace": "default"}, 2, 2, 2)], who)
    beside(c, read_json, "-v=5", "--logging-format=json", also=bound)


@test
def dumps_are_alike(c):
    def essence(text):
        """The dump of nodes and queue; nodes in order of names, pods without their UIDs."""
        nodes = re.search(r'Dump of cached NodeInfo" nodes=<\n(.*?)\n >', text, re.S)[1]
        queue = re.search(r'Dump of scheduling queue" summary="(.*?)" pods=<\n(.*?)\n >', text, re.S)
        clean = re.sub(r"uid: [0-9a-f-]+", "uid: X", nodes).split("\t\n\t\n")
        missed = re.search(r'Cache mismatch" (missedPods=\["[0-9a-f-]{36}"\] redundantPods=\[\])',
                           text)
        return (sorted(n.strip() for n in clean), queue[1],
                sorted(re.sub(r"uid: [0-9a-f-]+", "uid: X", queue[2]).splitlines()),
                missed is not None)
    ours, theirs = (essence(live(c, who, "-v=2")) for who in BOTH)
    equal(ours, theirs, "dump")
    contains(ours[1], "activeQ:0;", "unschedulablePods:2")


@test
def some_files_may_say_more(c):
    args = ("--vmodule=eventhandlers=3,schedule_one=2,node_*=2,reflector=0", "-v=1")

    def seen(who):
        p = start(c, who, *args)
        says(p, "Successfully acquired lease")
        add_nodes(c, make_node(f"{who}-0"))
        says(p, "Add event for node")
        add_pods(c, make_pod(f"{who}-p", node_name=None))
        says(p, "Successfully bound pod to node")
        c.children.remove(p)
        p.terminate(60)
        berth.remove_all(c)
        return {m for _, m, _, _ in read_text(p.text())}
    for who in BOTH:
        said = seen(who)
        for message in ("Add event for node", "Added node to NodeTree",
                        "Add event for unscheduled pod", "Successfully bound pod to node"):
            check(message in said, f"{who} does not log: {message}")
        for message in ("Attempting to schedule pod", "Caches populated", "Update event for node",
                        "Pod moved to an internal scheduling queue", "Handlers synced"):
            check(message not in said, f"{who} logs: {message}")


@test
def info_may_have_a_stream_of_its_own_and_wait_in_a_buffer(c):
    for fmt in ("text", "json"):
        for who in BOTH:
            out = os.path.join(c.dir, f"{who}.{fmt}.yaml")
            program = berth.command() + ["scheduler"] if who == "berth" else \
                [os.path.join(c.bin, "kube-scheduler")]
            done = subprocess.run(
                program + [f"--kubeconfig={c.scheduler_kubeconfig}", f"--write-config-to={out}",
                           "-v=2", f"--logging-format={fmt}", f"--log-{fmt}-split-stream",
                           "--feature-gates=LoggingAlphaOptions=true",
                           # With a buffer kube-scheduler prints nothing here: the output is lost.
                           *([f"--log-{fmt}-info-buffer-size=64Ki"] if who == "berth" else [])],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT,
                env=berth.environment())
            equal(done.returncode, 0, f"{who}: exit code\n{done.stderr}")
            contains(done.stdout, "Using component config", "Wrote configuration")
            check("Using component config" not in done.stderr, f"{who}: {done.stderr}")
            (read_json if fmt == "json" else read_text)(done.stdout)


@test
def the_level_may_change_while_it_runs(c):
    p = start(c, "berth", "-v=0", "--authorization-always-allow-paths=/debug/*,/healthz")
    says(p, "Successfully acquired lease")
    add_nodes(c, make_node("n0"))
    add_pods(c, make_pod("before"))
    berth.wait_bound(c, "before")
    subprocess.run(["curl", "-ksS", "-X", "PUT", "-d", "4",
                    f"https://127.0.0.1:{p.port}/debug/flags/v"], check=True,
                   stdout=subprocess.DEVNULL)
    add_pods(c, make_pod("after"))
    says(p, 'Successfully bound pod to node" pod="default/after"')
    says(p, 'About to try and schedule pod" pod="default/after"')
    check("default/before" not in p.text(), "it logs an earlier pod")


if __name__ == "__main__":
    main(fixture=Cluster, after=berth.reset)
