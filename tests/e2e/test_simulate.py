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
    """Writes a file with this text, or these objects as a stream of documents. Returns its path."""
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
          ("", "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: "
               "0/2 nodes are available: 2 Preemption is not helpful for scheduling."), "b")


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
def a_file_without_objects_is_an_error(d):
    for text in ("", "---\n---\n", "# nothing\n", " \n\t\n"):
        refused(d, "empty.yaml", text, "no objects")
    done = simulate("-", input="")
    equal((done.code, done.out, done.err), (1, "", "berth: standard input: contains no objects\n"), "stdin")
    full = file(d, "full.json", [make_node("n0")])
    for args in ([full, file(d, "empty.yaml", "")], [full, "--then", file(d, "empty.yaml", "")]):
        equal(simulate(*args).code, 1, f"{args}: exit code")
    done = simulate(file(d, "list.yaml", "apiVersion: v1\nkind: List\nitems: []\n"))
    equal((done.code, done.err), (0, ""), "an empty list")
    contains(done.out, "0 of 0 pods placed")


@test
def files_that_cannot_be_read_are_named(d):
    empty = os.path.join(d, "empty")
    os.mkdir(empty)
    for path in (os.path.join(d, "nothing"), empty):
        done = simulate(path)
        equal((done.code, done.err.count("\n")), (1, 1), "exit code and lines")
        contains(done.err, path)


@test
def files_that_are_no_manifests_are_named(d):
    refused(d, "unclosed.yaml", "a: [\n", ":2: ")
    refused(d, "scalar.yaml", "hello\n", ":1")
    refused(d, "list.yaml", "- a\n- b\n", ":1")
    refused(d, "binary.yaml", b"\x00\xff" * 1000)
    refused(d, "kindless.yaml", "metadata: {name: x}\n", "kind")
    refused(d, "items.yaml", "apiVersion: v1\nkind: List\nitems: 3\n", "items")
    refused(d, "deep.yaml", "[" * 100000)


@test
def mistakes_are_told_with_line_object_and_field(d):
    refused(d, "nameless.yaml", "\n\napiVersion: v1\nkind: Pod\n", ":3", "Pod", "metadata.name")
    refused(d, "type.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: 3}\n", ":3: ", "Node",
            "metadata.name", "expected a string")
    refused(d, "second.json", [make_node("a"), make_pod("p", cpu="much")], ":3", "Pod",
            "spec.containers[0].resources.requests[cpu]", "quantit")
    refused(d, "items.json", [{"apiVersion": "v1", "kind": "List", "items": [
        make_node("a"), {"apiVersion": "v1", "kind": "Pod"}]}], "items[1]", "metadata.name")


@test
def a_mistake_is_told_with_its_own_line(d):
    refused(d, "position.yaml", "apiVersion: v1\nkind: Node\nmetadata:\n  name: 3\n",
            ":4: Node: metadata.name: expected a string")
    refused(d, "position.json", '{"apiVersion": "v1",\n"kind": "Node",\n"metadata":\n{"name": 3}}\n',
            ":4: Node: metadata.name: expected a string")


@test
def kinds_that_do_not_matter_are_counted(d):
    done = simulate(file(d, "kinds", [make_node("n0"), make_pod("p"),
                                      {"apiVersion": "example.com/v1", "kind": "Widget"}]))
    equal(done.code, 0, "exit code")
    contains(done.err, "warning: ignored, not used for scheduling: 1 Widget\n")
    done = simulate(file(d, "more", [make_node("n0"), *2 * [
        {"apiVersion": "v1", "kind": "ConfigMap"}], {"apiVersion": "v2", "kind": "a\x1bb"}]))
    equal(done.code, 0, "exit code")
    contains(done.err, "not used for scheduling: 2 ConfigMap, 1 of invalid kind\n")


@test
def why_a_pod_is_not_tried_is_told(d):
    held = make_pod("held")
    held["spec"]["schedulingGates"] = [{"name": "a.b/c"}, {"name": "d"}]
    others = make_pod("others")
    others["spec"]["schedulerName"] = "else"
    done = simulate(file(d, "untried", [make_node("n0"), held, others]))
    contains(done.out, "-     waiting for scheduling gates: [a.b/c d]\n",
             '-     no profile for schedulerName "else"\n')


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
    # Its selector does not parse: an error, after which a pod is retried again and again.
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
           ("b", "", "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
                     "preemption: 0/1 nodes are available: 1 No preemption victims found for "
                     "incoming pod."),
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
    good = file(d, "good.json", [{**head, "profiles": [{"schedulerName": "other"}]}])
    got = placements(d, [make_node("n0"), make_pod("a", scheduler_name="other"), make_pod("b")],
                     "--config", good)
    equal((got["default/a"]["node"], got["default/b"]["node"]), ("n0", ""), "nodes")
    for bad, field in (({"profilez": []}, "profilez"), ({"profiles": [{"plugins": {"filter": {
            "enabled": [{"name": "Nonsense"}]}}}]}, "Nonsense")):
        path = file(d, "bad.json", [{**head, **bad}])
        done = simulate("--config", path, file(d, "empty.yaml", ""))
        equal((done.code, done.err.count("\n")), (1, 1), "exit code and lines")
        contains(done.err, path, field)


# ---- validation ----------------------------------------------------------------------------------

MISSPELT = """apiVersion: v1
kind: Node
metadata: {name: n0}
status: {capacity: {cpu: 1, pods: 10}}
---
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: a, app: b}
spec:
  container:
  - name: c
  containers:
  - name: c
    image: x
    imagePullPolcy: Always
    name: d
  restartPolicy: 3
"""


@test
def fields_that_do_not_exist_are_refused(d):
    path = file(d, "pod.yaml", MISSPELT)
    for args in ([], ["--validate=strict"], ["--validate=true"], ["--validate"]):
        done = simulate(*args, path)
        equal((done.code, done.out), (1, ""), f"{args}: exit code and output")
        equal(done.err.splitlines()[:5], [
            f'berth: {path}:10: Pod web: duplicate field "metadata.labels.app"',
            f'berth: {path}:12: Pod web: unknown field "spec.container"; did you mean "containers"?',
            f'berth: {path}:17: Pod web: unknown field "spec.containers[0].imagePullPolcy"; '
            'did you mean "imagePullPolicy"?',
            f'berth: {path}:18: Pod web: duplicate field "spec.containers[0].name"',
            f'berth: {path}:19: Pod web: spec.restartPolicy: expected a string'], "lines")


@test
def validation_may_warn_or_be_off(d):
    path = file(d, "pod.yaml", MISSPELT)
    done = simulate("--validate=warn", path)
    equal((done.code, done.err.count("warning: ")), (0, 5), "exit code and warnings")
    contains(done.out, "1 of 1 pods placed")
    for mode in ("ignore", "false"):
        done = simulate(f"--validate={mode}", path)
        equal((done.code, done.err), (0, ""), f"{mode}: exit code and standard error")
    equal(simulate("--validate=maybe", path).code, 2, "a mode that does not exist")


@test
def json_is_validated_like_yaml(d):
    pod = make_pod("p")
    pod["spec"]["nodeSelecter"] = {}
    listed = {"apiVersion": "v1", "kind": "List", "items": [make_node("n0"), pod]}
    path = file(d, "list.json", json.dumps(listed, indent=1))
    line = 1 + json.dumps(listed, indent=1).split("nodeSelecter")[0].count("\n")
    contains(simulate(path).err, f'{path}:{line}: items[1]: Pod default/p: unknown field '
                                 '"spec.nodeSelecter"; did you mean "nodeSelector"?')


@test
def many_problems_are_counted(d):
    pod = make_pod("p")
    pod["spec"] |= {f"x{i}": 1 for i in range(100)}
    done = simulate(file(d, "many.json", [pod]))
    equal((done.code, done.err.count("unknown field")), (1, 20), "exit code and lines")
    contains(done.err, "and 80 more")


@test
def apiversion_and_kind_are_required(d):
    for text, part in (("kind: Pod\nmetadata: {name: x}\n", 'apiVersion not set; did you mean "v1"?'),
                       ("kind: Deployment\n", 'apiVersion not set; did you mean "apps/v1"?'),
                       ("apiVersion: v1\nmetadata: {name: x}\n", "kind not set"),
                       ("metadata: {name: x}\n", "apiVersion and kind not set")):
        refused(d, "unset.yaml", text, ":1: ", part)


@test
def misspelt_kinds_are_told(d):
    for text, part in (("apiVersion: v1\nkind: Pdo\n", 'unknown kind "Pdo" in v1; did you mean "Pod"?'),
                       ("apiVersion: v1\nkind: pod\n", 'did you mean "Pod"?'),
                       ("apiVersion: v1\nkind: Deployment\n", 'did you mean apiVersion "apps/v1"?')):
        done = simulate(file(d, "kind.yaml", text))
        equal(done.code, 1, f"{text!r}: exit code")
        contains(done.err, part)
    done = simulate(file(d, "kind.yaml", "apiVersion: knative.test/v1\nkind: Service\n"))
    equal(done.code, 0, "an unknown kind")


# ---- files and exit codes ------------------------------------------------------------------------

@test
def pending_pods_may_be_a_failure(d):
    fits = file(d, "fits.json", [make_node("n0"), make_pod("p")])
    does_not = file(d, "does-not.json", [make_node("n0", cpu="1"), make_pod("p", cpu="2")])
    for args, code in (([fits], 0), ([does_not], 0), (["--fail-on-pending", fits], 0),
                       (["--fail-on-pending", does_not], 3),
                       (["--fail-on-pending", "-o", "json", does_not], 3)):
        equal(simulate(*args).code, code, f"{args}: exit code")


@test
def directories_are_read_in_order(d):
    os.makedirs(os.path.join(d, "all", "sub"))
    file(d, "all/b.yaml", [make_node("n0"), make_pod("b")])
    file(d, "all/a.yml", [make_pod("a")])
    file(d, "all/c.txt", "not a manifest")
    file(d, "all/empty.yaml", "# nothing\n")
    file(d, "all/sub/z.json", [make_pod("z")])
    for args, want in ((["-f", d + "/all"], ["a", "b"]), (["-R", "-f", d + "/all"], ["a", "b", "z"]),
                       (["--recursive", d + "/all/"], ["a", "b", "z"]),
                       (["-f", d + "/all/b.yaml", "-f", d + "/all/sub"], ["b", "z"])):
        done = simulate("-o", "json", *args)
        equal((done.code, done.err), (0, ""), f"{args}: exit code and standard error")
        equal([p["name"] for p in json.loads(done.out)], want, f"{args}: pods")


# ---- controllers and admission -------------------------------------------------------------------

def controller(kind, name, spec=None, template=None, **more):
    return {"apiVersion": "batch/v1" if kind == "Job" else "v1" if kind.startswith("Replication")
            else "apps/v1", "kind": kind, "metadata": {"name": name, **more}, "spec": {
                "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [
                    {"name": "c", "image": "x"}], **(template or {})}}, **(spec or {})}}


SELECTOR = {"selector": {"matchLabels": {"app": "web"}}}


def names(got):
    return sorted(got)


@test
def controllers_make_their_pods(d):
    nodes = [make_node("n0"), make_node("n1")]
    nodes[1]["spec"] = {"taints": [{"key": "x", "effect": "NoSchedule"}]}
    got = placements(d, nodes + [
        controller("Deployment", "web", {"replicas": 3, **SELECTOR}),
        controller("ReplicaSet", "set", {"replicas": 2, **SELECTOR}),
        controller("ReplicationController", "old", {"selector": {"app": "old"}}),
        controller("StatefulSet", "db", {"replicas": 2, "ordinals": {"start": 5}, **SELECTOR}),
        controller("DaemonSet", "agent", SELECTOR),
        controller("DaemonSet", "everywhere", SELECTOR, {"tolerations": [{"operator": "Exists"}]}),
        controller("Job", "run", {"completions": 5, "parallelism": 3, "completionMode": "Indexed"}),
        controller("Job", "done", {"suspend": True})])
    count = {}
    for name in got:
        key = name.removeprefix("default/").split("-")[0]
        count[key] = count.get(key, 0) + 1
    equal(count, {"web": 3, "set": 2, "old": 1, "db": 2, "agent": 1, "everywhere": 2, "run": 3}, "pods")
    equal([n for n in names(got) if "/db" in n], ["default/db-5", "default/db-6"], "ordinals")
    equal(sorted(n.rsplit("-", 1)[0] for n in got if "/run" in n),
          ["default/run-0", "default/run-1", "default/run-2"], "indexes")
    equal(sorted(p["node"] for n, p in got.items() if "everywhere" in n), ["n0", "n1"], "one a node")


def owned(pod, kind, name, uid=None):
    pod["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": kind, "name": name,
                                           "controller": True, "uid": uid or f"uid-of-{name}"}]
    return pod


@test
def pods_that_are_there_are_not_made_again(d):
    hashed = [owned(make_pod(f"web-abc-{i}", labels={"app": "web", "pod-template-hash": "abc"}),
                    "ReplicaSet", "web-abc") for i in range(2)]
    deployment = controller("Deployment", "web", {"replicas": 2, **SELECTOR}, uid="uid-of-web")
    sets = owned(controller("ReplicaSet", "web-abc", {"replicas": 2, **SELECTOR}, uid="uid-of-web-abc"),
                 "Deployment", "web")
    want = ["default/web-abc-0", "default/web-abc-1"]
    nodes = [make_node("n0"), make_node("n1")]
    equal(names(placements(d, nodes + [deployment, sets] + hashed)), want, "with ReplicaSet")
    equal(names(placements(d, nodes + hashed + [deployment])), want, "without ReplicaSet")
    more = names(placements(d, nodes + [deployment, sets] + hashed[:1]))
    equal((len(more), more[0]), (2, want[0]), "one is missing")
    other = owned(make_pod("web-abc-9", labels={"app": "web"}), "ReplicaSet", "web-abc", "another")
    equal(len(placements(d, nodes + [sets, other])), 3, "pods of another of that name do not count")
    daemon = owned(make_pod("agent-x", node_name="n0"), "DaemonSet", "agent")
    got = placements(d, nodes + [controller("DaemonSet", "agent", SELECTOR, uid="uid-of-agent"), daemon])
    equal([p["node"] for p in got.values()], ["n1"], "the other node")
    set_pod = owned(make_pod("db-0"), "StatefulSet", "db")
    equal(names(placements(d, nodes + [set_pod, controller("StatefulSet", "db", {"replicas": 2})])),
          ["default/db-0", "default/db-1"], "ordinals")
    finished = controller("Job", "run", {"completions": 2})
    finished["status"] = {"succeeded": 2, "conditions": [{"type": "Complete", "status": "True"}]}
    equal(placements(d, nodes + [finished]), {}, "a Job that is done")


@test
def absurd_numbers_of_replicas_are_refused(d):
    done = simulate(file(d, "many.json", [controller("Deployment", "web", {"replicas": 2**31 - 1})]))
    equal((done.code, done.out), (1, ""), "exit code and output")
    contains(done.err, "Deployment default/web" if "Deployment" in done.err else "ReplicaSet", "2147483647")


@test
def replicas_spread_by_default_and_by_label_keys(d):
    nodes = [make_node(f"n{i}", labels={"zone": "ab"[i % 2]}) for i in range(4)]
    template = {"topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
         "labelSelector": {"matchLabels": {"app": "web"}}, "matchLabelKeys": ["pod-template-hash"]}]}
    old = [make_pod(f"old{i}", node_name="n0", labels={"app": "web", "pod-template-hash": "old"})
           for i in range(3)]
    got = placements(d, nodes + old + [controller("Deployment", "web", {"replicas": 4, **SELECTOR}, template)])
    zones = sorted("ab"[int(p["node"][1]) % 2] for p in got.values())
    equal(zones, ["a", "a", "b", "b"], "the pods of the old template do not count")


@test
def new_pods_get_what_an_api_server_gives_them(d):
    limited = make_pod("limited")
    limited["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "3"}}
    got = placements(d, [make_node("n0", cpu="4"), limited, make_pod("p", cpu="2")])
    equal((got["default/limited"]["node"], got["default/p"]["node"]), ("n0", ""), "limits are requests")
    host = [make_pod(f"host{i}", spec={"hostNetwork": True, "containers": [
        {"name": "c", "image": "x", "ports": [{"containerPort": 80}]}]}) for i in range(2)]
    got = placements(d, [make_node("n0")] + host)
    equal(sorted(p["node"] for p in got.values()), ["", "n0"], "host ports")
    away = make_node("n0")
    away["spec"] = {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]}
    equal(placements(d, [away, make_pod("p")])["default/p"]["node"], "n0", "default tolerations")
    limited["metadata"]["uid"] = "an API server has seen it"
    got = placements(d, [make_node("n0", cpu="4"), limited, make_pod("p", cpu="2")])
    equal(got["default/p"]["node"], "n0", "what an API server has seen stays as it is")


@test
def classes_are_looked_up(d):
    classes = [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
                "value": value, "globalDefault": default}
               for name, value, default in (("high", 1000, False), ("normal", 10, True), ("low", -5, False))]
    runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "heavy"},
               "handler": "x", "overhead": {"podFixed": {"cpu": "2"}},
               "scheduling": {"nodeSelector": {"heavy": "yes"}}}
    pods = [make_pod("low", cpu="1", spec={"priorityClassName": "low"}), make_pod("normal", cpu="1"),
            make_pod("high", cpu="1", spec={"priorityClassName": "high"}),
            make_pod("system", cpu="1", spec={"priorityClassName": "system-node-critical"})]
    path = file(d, "classes.json", [make_node("n0", cpu="3")] + pods + classes)
    done = simulate("-o", "json", path)
    got = {p["name"]: p["node"] for p in json.loads(done.out)}
    equal(got, {"low": "", "normal": "n0", "high": "n0", "system": "n0"}, "by priority")
    heavy = make_pod("p", cpu="1", spec={"runtimeClassName": "heavy"})
    for cpu, label, node in (("3", "yes", "n0"), ("2", "yes", ""), ("3", "no", "")):
        scene = [make_node("n0", cpu=cpu, labels={"heavy": label}), heavy, runtime]
        equal(placements(d, scene)["default/p"]["node"], node, f"{cpu} cpus, heavy={label}")
    done = simulate(file(d, "unknown.json", [make_node("n0"), make_pod("p", spec={
        "priorityClassName": "none", "runtimeClassName": "none"})]))
    equal(done.code, 0, "exit code")
    contains(done.err, "PriorityClass not found in the input",
             "RuntimeClass not found in the input", "(Pod default/p)")


# ---- what is not supported -----------------------------------------------------------------------

@test
def what_is_not_evaluated_is_told(d):
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"}, "spec": {}}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
    path = file(d, "scene.json", [make_node("n0"), cron, quota])
    done = simulate("-o", "json", path)
    equal(done.code, 0, "exit code")
    contains(done.err, "no pods are created for them (CronJob c)",
             "ResourceQuotas are not enforced (ResourceQuota q)")


# ---- large input ---------------------------------------------------------------------------------

@test
def more_than_a_million_values_are_read(d):
    pad = {"managedFields": [{"fieldsV1": {f"f:{i}": {} for i in range(600)}}]}
    pods = [make_pod(f"p{i}", node_name="n0") for i in range(2000)] + [make_pod("last")]
    for pod in pods:
        pod["metadata"] |= pad
    whole = {"apiVersion": "v1", "kind": "List", "items": [make_node("n0", cpu="9000", memory="90Ti", pods=5000)] + pods}
    for form in ("list.json", "documents.yaml"):
        content = json.dumps(whole) if form == "list.json" else whole["items"]
        done = simulate("-o", "json", file(d, form, content))
        equal((done.code, done.err), (0, ""), f"{form}: exit code and standard error")
        equal([p["node"] for p in json.loads(done.out)], ["n0"], f"{form}: the last pod")


@test
def typed_lists_and_concatenated_json_are_read(d):
    def bare(o):
        return {k: v for k, v in o.items() if k not in ("apiVersion", "kind")}
    nodes = {"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": [bare(make_node("n0"))]}
    pods = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [bare(make_pod("p"))]}
    nested = {"kind": "List", "apiVersion": "v1", "items": [nodes, pods]}
    for text in (json.dumps(nodes) + json.dumps(pods), json.dumps(nested),
                 json.dumps(nodes) + "\n---\n# pods\n---\n" + json.dumps(pods, indent=2),
                 "---\nkind: NodeList\napiVersion: v1\nitems:\n- " + json.dumps(bare(make_node("n0")))
                 + "\n---\n" + json.dumps(pods)):
        done = simulate("-o", "json", file(d, "lists", text))
        equal((done.code, done.err), (0, ""), f"{text[:40]!r}: exit code and standard error")
        equal([p["node"] for p in json.loads(done.out)], ["n0"], f"{text[:40]!r}: node")
    late = {"items": [bare(make_pod("p"))], "kind": "PodList", "apiVersion": "v1"}
    refused(d, "late.json", json.dumps(late), "put apiVersion and kind of the list before its items")


def crowded(**parts):
    """A pod of priority 9 among full nodes: a0 and a1 in one zone, b0 in another."""
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
