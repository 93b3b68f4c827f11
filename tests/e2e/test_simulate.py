#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""berth simulate: manifests in, placements out; no cluster."""

import json
import os
import tempfile

import berth
from berth import ROOT, check, equal, make_node, make_pod
from tap import contains, main, test


def simulate(*args, **more):
    return berth.run("simulate", *args, timeout=60, **more)


def file(d, name, content):
    """A file with this text, or these objects as a stream of documents; gives its path."""
    if not isinstance(content, (str, bytes)):
        content = "\n---\n".join(json.dumps(o) for o in content)
    path = os.path.join(d, name)
    with open(path, "w" if isinstance(content, str) else "wb") as f:
        f.write(content)
    return path


def placements(d, objects, *args):
    done = simulate("-o", "json", *args, file(d, "scenario.json", objects))
    equal(done.code, 0, f"exit code; it said {done.err!r}")
    return {f"{p['namespace']}/{p['name']}": p for p in json.loads(done.out)}


def refused(d, name, content, *parts):
    path = file(d, name, content)
    done = simulate(path)
    equal((done.code, done.out), (1, ""), f"exit code and output; it said {done.err!r}")
    equal(done.err.count("\n"), 1, f"lines in {done.err!r}")
    contains(done.err, path, *parts)


@test
def the_example_is_placed(d):
    done = simulate(os.path.join(ROOT, "examples", "scenario.yaml"))
    equal((done.code, done.err), (0, ""), "exit code and standard error")
    contains(done.out, "POD", "NODE", " pods placed\n")


@test
def pods_go_where_they_fit(d):
    got = placements(d, [make_node("small", cpu="1"), make_node("big", cpu="8"),
                         make_pod("a", cpu="2"), make_pod("b", cpu="20")])
    equal(got["default/a"]["node"], "big", "node of a")
    equal((got["default/b"]["node"], got["default/b"]["message"]),
          ("", "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: "
               "2 Preemption is not helpful for scheduling."), "b")


@test
def the_same_input_gives_the_same_output(d):
    path = file(d, "same", [make_node(f"n{i}") for i in range(20)]
                + [make_pod(f"p{i}") for i in range(200)])
    outs = {simulate("--seed=7", path).out for _ in range(3)}
    equal(len(outs), 1, "different outputs")


@test
def standard_input_lists_and_several_files_are_read(d):
    nodes = {"apiVersion": "v1", "kind": "List", "items": [make_node("n0")]}
    pods = {"apiVersion": "v1", "kind": "PodList", "items": [make_pod("p")]}
    done = simulate("-o", "json", file(d, "nodes.json", [nodes]), "-", input=json.dumps(pods))
    equal((done.code, done.err), (0, ""), "exit code and standard error")
    equal(json.loads(done.out)[0]["node"], "n0", "node")


@test
def an_empty_file_has_no_pods(d):
    for text in ("", "---\n---\n", "# nothing\n"):
        done = simulate(file(d, "empty.yaml", text))
        equal((done.code, done.err), (0, ""), f"{text!r}: exit code and standard error")
        contains(done.out, "0 of 0 pods placed")
        equal(json.loads(simulate("-o", "json", file(d, "empty.yaml", text)).out), [], "JSON")
        done = simulate("--explain", "-o", "json", file(d, "empty.yaml", text))
        equal((done.code, done.out, done.err), (0, "", ""), "nothing to explain")


@test
def files_that_cannot_be_read_are_named(d):
    for path in (os.path.join(d, "nothing"), d):
        done = simulate(path)
        equal((done.code, done.err.count("\n")), (1, 1), "exit code and lines")
        contains(done.err, path)


@test
def files_that_are_no_manifests_are_named(d):
    refused(d, "unclosed.yaml", "a: [\n", "line 2")
    refused(d, "scalar.yaml", "hello\n", ":1")
    refused(d, "list.yaml", "- a\n- b\n", ":1")
    refused(d, "binary.yaml", b"\x00\xff" * 1000)
    refused(d, "kindless.yaml", "metadata: {name: x}\n", "kind")
    refused(d, "items.yaml", "apiVersion: v1\nkind: List\nitems: 3\n", "items")
    refused(d, "deep.yaml", "[" * 100000)


@test
def mistakes_are_told_with_line_object_and_field(d):
    refused(d, "nameless.yaml", "\n\napiVersion: v1\nkind: Pod\n", ":3", "Pod", "metadata.name")
    refused(d, "type.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: 3}\n", ":1", "Node",
            "metadata.name", "expected a string")
    refused(d, "second.json", [make_node("a"), make_pod("p", cpu="much")], ":3", "Pod",
            "spec.containers[0].resources.requests[cpu]", "quantit")
    refused(d, "items.json", [{"apiVersion": "v1", "kind": "List", "items": [
        make_node("a"), {"apiVersion": "v1", "kind": "Pod"}]}], "items[1]", "metadata.name")


@test
def a_mistake_is_told_with_its_own_line(d):
    refused(d, "position.yaml", "apiVersion: v1\nkind: Node\nmetadata:\n  name: 3\n",
            "line 4: metadata.name: expected a string")


@test
def kinds_that_do_not_matter_are_counted(d):
    done = simulate(file(d, "kinds", [make_node("n0"), make_pod("p"),
                                      {"apiVersion": "example.com/v1", "kind": "Widget"}]))
    equal(done.code, 0, "exit code")
    contains(done.err, "scheduling does not look at: 1 Widget\n")
    done = simulate(file(d, "controllers", [make_node("n0"), *2 * [
        {"apiVersion": "apps/v1", "kind": "Deployment"}], {"apiVersion": "v2", "kind": "a\x1bb"}]))
    equal(done.code, 0, "exit code")
    contains(done.err, "does not look at: 2 Deployment, 1 nameless; no controller makes pods here")


@test
def why_a_pod_is_not_tried_is_told(d):
    held = make_pod("held")
    held["spec"]["schedulingGates"] = [{"name": "a.b/c"}, {"name": "d"}]
    others = make_pod("others")
    others["spec"]["schedulerName"] = "else"
    done = simulate(file(d, "untried", [make_node("n0"), held, others]))
    contains(done.out, "-     waiting for scheduling gates: [a.b/c d]\n",
             '-     no profile has its schedulerName, "else"\n')


@test
def huge_numbers_are_survived(d):
    got = placements(d, [make_node("n0", cpu="9" * 40, memory="9" * 40 + "Ei"),
                         make_pod("big", cpu="9" * 30), make_pod("bigger", memory="9" * 60),
                         make_pod("tiny", cpu="1n", memory="1m")])
    equal(got["default/tiny"]["node"], "n0", "node of tiny")


@test
def negative_numbers_are_survived(d):
    got = placements(d, [make_node("n0", cpu="-4"), make_node("n1"), make_pod("p", cpu="-3"),
                         make_pod("q", cpu="1", memory="-1Gi")])
    equal(got["default/q"]["node"], "n1", "node of q")


@test
def an_object_that_comes_twice_is_named(d):
    refused(d, "pods.json", [make_pod("p"), make_pod("p")], ":3", "Pod", "metadata.name", '"p"')
    refused(d, "nodes.json", [make_node("a"), make_node("b"), make_node("a")], ":5", '"a"')
    got = placements(d, [make_node("a"), make_pod("a"), make_pod("a", ns="other")])
    equal(sorted(got), ["default/a", "other/a"], "the same name elsewhere is another pod")


@test
def pods_of_other_schedulers_and_bound_ones_are_left_alone(d):
    got = placements(d, [make_node("n0", cpu="4"), make_pod("mine", cpu="3"),
                         make_pod("other", scheduler_name="other"),
                         make_pod("there", cpu="2", node_name="n0")])
    equal(got["default/mine"]["node"], "", "the node is half full already")
    equal(got["default/other"]["node"], "", "node of the other scheduler's pod")


def explanations(d, objects, *args):
    done = simulate(*args, "-o", "json", file(d, "scenario.json", objects))
    equal(done.code, 0, f"exit code; it said {done.err!r}")
    return [json.loads(line) for line in done.out.splitlines()]


@test
def a_survey_tells_what_every_filter_says(d):
    cordoned = make_node("n1", cpu="1")
    cordoned["spec"] = {"unschedulable": True}
    records = explanations(d, [make_node("n0", cpu="8"), cordoned, make_pod("p", cpu="2")], "--survey")
    equal(len(records), 1, "attempts")
    filters = records[0]["filters"]
    contains(" ".join(filters["asked"]), "NodeUnschedulable", "NodeResourcesFit")
    refused = {n["name"]: {r["name"]: r["reasons"] for r in n.get("refused", [])}
               for n in filters["nodes"]}
    equal(refused, {"n0": {}, "n1": {"NodeUnschedulable": ["node(s) were unschedulable"],
                                     "NodeResourcesFit": ["Insufficient cpu"]}}, "refusals")
    equal("filters" in explanations(d, [make_node("n0"), make_pod("p")], "--explain")[0], False,
          "a survey that nobody asked for")


@test
def pods_are_tried_as_often_as_one_likes(d):
    # Its selector does not parse: an error, after which a pod is tried again and again.
    broken = make_pod("broken")
    broken["spec"]["topologySpreadConstraints"] = [
        {"maxSkew": 1, "topologyKey": "x", "whenUnsatisfiable": "DoNotSchedule",
         "labelSelector": {"matchLabels": {"no key": "x"}}}]
    gated = make_pod("gated")
    gated["spec"]["schedulingGates"] = [{"name": "wait"}]
    scene = [make_node("n0"), gated, make_pod("other", scheduler_name="other"), broken]
    for attempts in (1, 2, 5):
        records = explanations(d, scene, "--explain", f"--attempts={attempts}")
        equal([(r["pod"], r["outcome"], r["attempt"]) for r in records],
              [("broken", "error", i + 1) for i in range(attempts)], f"--attempts={attempts}")


@test
def pods_may_come_before_what_they_need(d):
    got = placements(d, [make_pod("p", cpu="2"), make_pod("there", cpu="3", node_name="n0"),
                         make_node("n0", cpu="4"), make_node("n1", cpu="4")])
    equal(got["default/p"]["node"], "n1", "node")


@test
def what_happens_then_is_played(d):
    first = file(d, "first.json", [make_node("n0", cpu="4"), make_pod("a", cpu="3")])
    then = file(d, "then.json", [{"type": "ADDED", "object": make_pod("b", cpu="3")}])
    after = file(d, "after.json", [{"type": "DELETED", "object": make_pod("a")},
                                   {"type": "MODIFIED", "object": make_node("n0", cpu="6")},
                                   make_pod("c", cpu="4")])
    done = simulate("-o", "json", "--attempts=1", first, "--then", then, "--then", after)
    equal((done.code, done.err), (0, ""), "exit code and standard error")
    equal([(p["name"], p["node"], p["message"]) for p in json.loads(done.out)],
          [("a", "n0", ""),
           ("b", "", "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are "
                     "available: 1 No preemption victims found for incoming pod."),
           ("c", "n0", "")], "pods")


@test
def mistakes_in_what_happens_then_are_told(d):
    first = file(d, "first.json", [make_node("n0")])
    for event, part in (({"type": "BORN", "object": make_pod("p")}, "BORN"),
                        ({"type": "ADDED", "object": {"apiVersion": "v1", "kind": "Pod"}},
                         "metadata.name")):
        path = file(d, "then.json", [event])
        done = simulate(first, "--then", path)
        equal((done.code, done.out, done.err.count("\n")), (1, "", 1), "exit code and output")
        contains(done.err, path, part)


@test
def wrong_flags_exit_with_2(d):
    for args in (["--nonsense"], ["-o", "xml", "x"], [], ["--seed=x", "x"], ["--attempts=0", "x"]):
        done = simulate(*args)
        equal((done.code, done.err.count("\n")), (2, 1), f"{args}: exit code and lines")


@test
def a_configuration_is_used_and_its_mistakes_are_told(d):
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    good = file(d, "good.json", [{**head, "profiles": [
        {"schedulerName": "other", "plugins": berth.PLUGINS}]}])
    got = placements(d, [make_node("n0"), make_pod("a", scheduler_name="other"), make_pod("b")],
                     "--config", good)
    equal((got["default/a"]["node"], got["default/b"]["node"]), ("n0", ""), "nodes")
    for bad, field in (({"profilez": []}, "profilez"), ({"profiles": [{"plugins": {"filter": {
            "enabled": [{"name": "Nonsense"}]}}}]}, "Nonsense")):
        path = file(d, "bad.json", [{**head, **bad}])
        done = simulate("--config", path, file(d, "empty.yaml", ""))
        equal((done.code, done.err.count("\n")), (1, 1), "exit code and lines")
        contains(done.err, path, field)


def crowded(**parts):
    """A pod of priority 9 in the midst of this: nodes a0 and a1 in one zone, b0 in another."""
    nodes = [make_node(name, cpu="4", labels={"zone": name[0]}) for name in ("a0", "a1", "b0")]
    return nodes + [make_pod(name, cpu=cpu, node_name=node, labels={"app": name.rstrip("12")},
                             spec={**spec, "priority": priority})
                    for name, (node, cpu, priority, spec) in parts.items()]


def preemption(d, scene, gates):
    records = explanations(d, scene, "--survey", f"--feature-gates={gates}")
    found = next(r["postFilter"] for r in records if r["pod"] == "high" and "postFilter" in r)
    return found["nominatedNode"], found["victims"]


@test
def victims_may_be_on_several_nodes(d):
    far = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}]}}}
    scene = crowded(rock1=("a1", "3", 9, {}), rock2=("b0", "4", 9, {}), web1=("a1", "1", 2, {}),
                    batch=("a0", "3", 1, {}), high=(None, "3", 9, far))
    equal(preemption(d, scene, "BerthWidePreemption=false"), ("", []), "as upstream")
    equal(preemption(d, scene, "BerthWidePreemption=true"),
          ("a0", ["default/web1", "default/batch"]), "with the gate")


@test
def victims_are_those_that_can_move(d):
    home = {"nodeSelector": {"kubernetes.io/hostname": "a0"}}
    zone = {"nodeSelector": {"zone": "a"}}
    scene = crowded(stuck=("a0", "4", 1, home), free1=("a1", "2", 1, {}), free2=("a1", "2", 1, {}),
                    high=(None, "4", 9, zone))
    equal(preemption(d, scene, "BerthVictimsCanMove=false"), ("a0", ["default/stuck"]), "as upstream")
    node, victims = preemption(d, scene, "BerthVictimsCanMove=true")
    equal((node, sorted(victims)), ("a1", ["default/free1", "default/free2"]), "with the gate")


if __name__ == "__main__":
    main(fixture=lambda: tempfile.TemporaryDirectory(prefix="berth-simulate-"))
