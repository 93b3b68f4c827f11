#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Configurations as in tutorials about scheduling, of every version that existed: they load and
work as the tutorial says. The readers' own plugins are in berth-test (tests/plugins); berth itself
reports what it lacks."""

import json
import os
import re
import time

import berth
from berth import (NODES, TIMEOUT, add_nodes, add_pods, check, equal, make_node, make_pod, node_of,
                   wait_bound, wait_for, wait_unschedulable)
from cluster import Cluster
from extender import Extender
from tap import contains, main, test


# ---- files ---------------------------------------------------------------------------------------

def head(version):
    return f"apiVersion: kubescheduler.config.k8s.io/{version}\nkind: KubeSchedulerConfiguration\n"


# A custom filter beside all the defaults, with a client that gets all events.
OWN_FILTER = head("v1") + """clientConnection:
  acceptContentTypes: ""
  burst: 100
  contentType: application/vnd.kubernetes.protobuf
  kubeconfig: @KUBECONFIG@
  qps: 100
profiles:
- schedulerName: my-scheduler
  plugins:
    filter:
      enabled:
      - name: TestLook
"""

# The same plugin at three extension points, as a second scheduler has it in a ConfigMap.
THREE_POINTS = head("v1") + """leaderElection:
  leaderElect: false
clientConnection:
  acceptContentTypes: ""
  burst: 100
  contentType: application/vnd.kubernetes.protobuf
  qps: 100
profiles:
- schedulerName: second-scheduler
  plugins:
    preFilter:
      enabled:
      - name: "TestThrough"
    filter:
      enabled:
      - name: "TestThrough"
    preBind:
      enabled:
      - name: "TestThrough"
"""

# As printed: comments directly follow the values and so are part of them.
OWN_SCORE_AS_PRINTED = head("v1") + """leaderElection:
  leaderElect: false
profiles:
- schedulerName: sample-scheduler#the name of yours
  plugins:
    score:#where yours runs
      enabled:
        - name: "TestFavourite"#its name
"""

# A custom filter, and no other plugin at PreScore; the oldest version.
OWN_PRE_SCORE = head("v1beta1") + """leaderElection:
  leaderElect: false
profiles:
- schedulerName: sample-scheduler
  plugins:
    filter:
      enabled:
      - name: TestCpuLabel # the name that it was registered by
    preScore:
      enabled:
        - name: TestCpuLabel
      disabled:
        - name: "*"
"""

# Another scheduler, all defaults.
SECOND = head("v1") + """profiles:
  - schedulerName: my-scheduler
leaderElection:
  leaderElect: false
"""

# The same with a webhook for every verb.
WEBHOOK = head("v1") + """profiles:
  - schedulerName: my-scheduler-with-extender
leaderElection:
  leaderElect: false
extenders:
- urlPrefix: "@URL@"
  enableHTTPS: false
  filterVerb: "filter"
  prioritizeVerb: "prioritize"
  bindVerb: "bind"
  weight: 1
  nodeCacheCapable: false
"""

# JSON except for the comma after the last predicate.
POLICY_AS_PRINTED = """{
  "kind" : "Policy",
  "apiVersion" : "v1",
  "predicates": [
    {"name": "NoVolumeZoneConflict"},
    {"name": "MaxEBSVolumeCount"},
    {"name": "MaxAzureDiskVolumeCount"},
    {"name": "NoDiskConflict"},
    {"name": "GeneralPredicates"},
    {"name": "PodToleratesNodeTaints"},
    {"name": "CheckVolumeBinding"},
    {"name": "MaxGCEPDVolumeCount"},
    {"name": "MatchInterPodAffinity"},
  ],
  "priorities": [
    {"name": "SelectorSpreadPriority", "weight": 1},
    {"name": "InterPodAffinityPriority", "weight": 1},
    {"name": "LeastRequestedPriority", "weight": 1},
    {"name": "BalancedResourceAllocation", "weight": 1},
    {"name": "NodePreferAvoidPodsPriority", "weight": 1},
    {"name": "NodeAffinityPriority", "weight": 1},
    {"name": "TaintTolerationPriority", "weight": 1}
  ],
  "extenders": [
    {
      "urlPrefix": "@URL@/scheduler",
      "filterVerb": "filter",
      "preemptVerb": "preempt",
      "weight": 1,
      "httpTimeout": 30000000000,
      "enableHttps": false
    }
  ]
}
"""

SIMPLEST = head("v1beta2") + """clientConnection:
  kubeconfig: @KUBECONFIG@
"""

# Two custom scores, one default disabled, arguments for a plugin that does not run.
OWN_WEIGHTS = head("v1beta2") + """profiles:
  - plugins:
      score:  # where they run
        disabled:
        - name: NodeResourcesLeastAllocated # off
        enabled:
        - name: TestLeft # on
          weight: @LEFT@
        - name: TestRight
          weight: @RIGHT@
    pluginConfig:
    - name: NodeResourcesAllocatable
      args:
        mode: Least
        resources:
        - name: cpu
          weight: 1000000
        - name: memory
          weight: 1
"""

TWO_PROFILES = head("v1beta2") + """profiles:
  - schedulerName: default-scheduler
  - schedulerName: no-scoring-scheduler
    plugins:
      preScore:
        disabled:
        - name: '*'
      score:
        disabled:
        - name: '*'
"""

# As printed: omissions are marked by comments of other languages.
OLD_WEBHOOK_AS_PRINTED = head("v1beta1") + """leaderElection:
  leaderElect: true
  resourceNamespace: default
  resourceName: my-scheduler
profiles:
  - schedulerName: my-scheduler
extenders:
  - urlPrefix: @URL@/scheduler
    filterVerb: filter
    prioritizeVerb: prioritize
    preemptVerb: preempt
    weight: 1
    enableHTTPS: false
    tlsConfig: // ...
    httpTimeout: 30s
    // ...
"""

GANG = head("v1beta2") + """leaderElection:
  leaderElect: false
clientConnection:
  kubeconfig: "@KUBECONFIG@"
profiles:
- schedulerName: default-scheduler
  plugins:
    queueSort:
      enabled:
      - name: TestTogether
      disabled:
      - name: "*"
    preFilter:
      enabled:
      - name: TestTogether
    postFilter:
      enabled:
      - name: TestTogether
    permit:
      enabled:
      - name: TestTogether
    reserve:
      enabled:
      - name: TestTogether
    postBind:
      enabled:
      - name: TestTogether
  pluginConfig:
  - name: TestTogether
    args:
      permitWaitingTimeSeconds: @SECONDS@
      deniedPGExpirationTimeSeconds: 3
"""


# What a reader does when it does not load.
OWN_SCORE = re.sub(r"(?<=\S)#", " #", OWN_SCORE_AS_PRINTED)
POLICY = POLICY_AS_PRINTED.replace("},\n  ],", "}\n  ],")
OLD_WEBHOOK = "".join(line + "\n" for line in OLD_WEBHOOK_AS_PRINTED.splitlines() if "//" not in line
                      or "://" in line)


def fill(text, **values):
    for key, value in values.items():
        text = text.replace(f"@{key}@", str(value))
    return text


def file(c, text, **values):
    path = os.path.join(c.dir, "seed.yaml")
    with open(path, "w") as f:
        f.write(fill(text, KUBECONFIG=c.scheduler_kubeconfig, **values))
    return path


def start(c, text, *flags, **values):
    """Starts berth-test with the file, and with the API server's address if the file has none."""
    if "@KUBECONFIG@" not in text:
        if "clientConnection:\n" not in text:
            text += "clientConnection:\n"
        text = text.replace("clientConnection:\n", "clientConnection:\n  kubeconfig: @KUBECONFIG@\n")
    return berth.start(c, "-v=3", *flags, config=file(c, text, **values), program="berth-test")


def wait_log(p, pattern, count=1):
    wait_for(lambda: len(re.findall(pattern, p.text())) >= count, TIMEOUT,
             what=f"log has {pattern!r} {count} times")
    return re.findall(pattern, p.text())


# ---- custom plugins ------------------------------------------------------------------------------

@test
def a_filter_of_ones_own_sees_every_node(c):
    add_nodes(c, *(make_node(f"n{i}", cpu="2", memory="8Gi") for i in range(3)))
    add_pods(c, make_pod("web", scheduler_name="my-scheduler"), make_pod("other"))
    p = start(c, OWN_FILTER, "--leader-elect=false")
    node = wait_bound(c, "web")
    seen = wait_log(p, r"TestLook: pod web, node (n\d), cpu=(\d+) memory=(\d+)", 3)
    equal(sorted(seen), [(f"n{i}", "2000", str(8 << 30)) for i in range(3)], "nodes that it saw")
    wait_log(p, rf'"Successfully bound pod to node" pod="default/web" node="{node}" '
             r"evaluatedNodes=3 feasibleNodes=3")
    equal(node_of(c, "other"), None, "node of a pod of another scheduler")


@test
def a_plugin_at_three_points_is_called_at_each(c):
    add_nodes(c, make_node("n0"), make_node("n1"))
    add_pods(c, make_pod("web", scheduler_name="second-scheduler"))
    p = start(c, THREE_POINTS)
    node = wait_bound(c, "web")
    wait_log(p, f"TestThrough: PreBind of web to {node}")
    order = re.findall(r"TestThrough: (PreFilter of web|pod web|PreBind of web)", p.text())
    equal(order, ["PreFilter of web", "pod web", "pod web", "PreBind of web"], "calls")


@test
def a_score_of_ones_own_gathers_pods_on_the_node_that_they_name(c):
    done = berth.run("config", "validate", file(c, OWN_SCORE_AS_PRINTED), program="berth-test")
    equal(done.code, 1, "exit code for the printed form")
    check(re.match(r"\S+seed\.yaml:[89]: ", done.out), f"a line beside the comment: {done.out}")
    add_nodes(c, make_node("n0"), make_node("n1"), make_node("n2"))
    names = [f"p{i}" for i in range(10)]
    add_pods(c, *(make_pod(n, cpu="1m", memory="1Mi", labels={"favourite": "n1"},
                           scheduler_name="sample-scheduler") for n in names))
    start(c, OWN_SCORE)
    equal({wait_bound(c, n) for n in names}, {"n1"}, "nodes")


@test
def a_comment_that_is_none_is_part_of_the_name(c):
    """The YAML meaning of the printed form if it is not an error."""
    text = OWN_SCORE_AS_PRINTED.split("  plugins:")[0]
    done = berth.run("config", "convert", "-o=json", file(c, text), program="berth-test")
    equal(json.loads(done.out)["profiles"][0]["schedulerName"], "sample-scheduler#the name of yours",
          "name")


@test
def a_filter_of_ones_own_holds_a_pod_until_a_node_has_the_label(c):
    add_nodes(c, make_node("n0"), make_node("n1"))
    add_pods(c, make_pod("web", scheduler_name="sample-scheduler"))
    p = start(c, OWN_PRE_SCORE)
    message = wait_unschedulable(c, "web")["message"]
    contains(message, "0/2 nodes are available: 1 Node: n0, 1 Node: n1.")
    wait_log(p, r'"Unable to schedule pod; no fit; waiting" pod="default/web" '
             r'err="0/2 nodes are available: 1 Node: n0, 1 Node: n1\.')
    c.patch(f"{NODES}/n1", {"metadata": {"labels": {"cpu": "true"}}})
    equal(wait_bound(c, "web"), "n1", "node")
    wait_log(p, r'"Successfully bound pod to node" pod="default/web" node="n1" evaluatedNodes=2 '
             "feasibleNodes=1")


@test
def where_all_others_are_disabled_at_a_point_one_runs_alone(c):
    done = berth.run("config", "convert", "-o=json", file(c, OWN_PRE_SCORE), program="berth-test")
    plugins = json.loads(done.out)["profiles"][0]["plugins"]
    equal([e["name"] for e in plugins["preScore"]["enabled"]], ["TestCpuLabel"], "at preScore")
    check(len(plugins["score"]["enabled"]) > 5, "scores are left alone")


@test
def weights_of_ones_own_scores_decide(c):
    add_nodes(c, make_node("l", labels={"side": "left"}), make_node("r", labels={"side": "right"}))
    for left, right, node in ((2, 1, "l"), (1, 2, "r")):
        p = start(c, OWN_WEIGHTS, "--leader-elect=false", LEFT=left, RIGHT=right)
        add_pods(c, make_pod(f"to-{node}", cpu="1m", memory="1Mi"))
        equal(wait_bound(c, f"to-{node}"), node, "node")
        berth.stop(p)


def gang(name, i, size):
    return make_pod(f"{name}{i}", labels={"group": name, "size": str(size)})


@test
def a_gang_of_ones_own_waits_until_all_are_there(c):
    add_nodes(c, make_node("n0"))
    p = start(c, GANG, SECONDS=60)
    add_pods(c, gang("three", 0, 3), gang("three", 1, 3), make_pod("alone"))
    wait_bound(c, "alone")
    wait_log(p, "TestTogether: three[01] waits", 2)
    equal([node_of(c, f"three{i}") for i in range(2)], [None, None], "nodes while one is missing")
    add_pods(c, gang("three", 2, 3))
    equal({wait_bound(c, f"three{i}") for i in range(3)}, {"n0"}, "nodes")
    wait_log(p, r"TestTogether: PostBind of three\d to n0", 3)
    check(p.text().index("Reserve of three0") < p.text().index("three0 waits"), "Reserve first")


@test
def a_gang_waits_no_longer_than_its_argument_says(c):
    add_nodes(c, make_node("n0"))
    begin = time.monotonic()
    start(c, GANG, SECONDS=2)
    add_pods(c, gang("two", 0, 2))
    condition = wait_unschedulable(c, "two0")
    check(time.monotonic() - begin >= 2, "it waited")
    contains(condition["message"], "TestTogether")


@test
def berth_says_which_plugins_it_lacks_and_where_they_are_named(c):
    for text in (OWN_FILTER, THREE_POINTS, OWN_SCORE, OWN_PRE_SCORE, OWN_WEIGHTS, GANG):
        path = file(c, text, LEFT=1, RIGHT=1, SECONDS=1)
        done = berth.run("config", "validate", path)
        equal(done.code, 1, "exit code")
        told = re.findall(rf'^{path}:(\d+): profiles\[0\]\.plugins\.\w+\.enabled\[[01]\]: '
                          r'\w+Plugin "(\w+)" does not exist \(it is not a plugin .* load your own .*\)$',
                          done.out, re.M)
        # Under "plugins:" each is reported in its own line; pluginConfig may report it again.
        lines = text.split("pluginConfig:")[0].splitlines()
        want = [(str(i), m[1]) for i, line in enumerate(lines, 1)
                for m in [re.match(r'\s+- name: "?(Test\w+)', line)] if m]
        check(want, "the file names none")
        equal(told, want, done.out)
        equal(len(done.out.splitlines()), len(want), "lines")


# ---- berth's own plugins -------------------------------------------------------------------------

@test
def a_second_scheduler_serves_its_own_pods(c):
    add_nodes(c, make_node("n0"))
    add_pods(c, make_pod("mine", scheduler_name="my-scheduler"), make_pod("other"))
    start(c, SECOND)
    equal(wait_bound(c, "mine"), "n0", "node")
    equal(node_of(c, "other"), None, "node of a pod of another scheduler")


@test
def the_simplest_configuration_is_the_default_scheduler(c):
    add_nodes(c, make_node("n0"))
    add_pods(c, make_pod("web"))
    start(c, SIMPLEST, "--leader-elect=false")
    equal(wait_bound(c, "web"), "n0", "node")


@test
def two_profiles_differ_in_their_scores(c):
    """The default profile prefers the node with more free resources; the other does not score
    it."""
    pods = [make_pod("scored"), make_pod("unscored", scheduler_name="no-scoring-scheduler")]
    nodes = [make_node("full", cpu="4"), make_node("roomy", cpu="64", memory="256Gi")]
    path = os.path.join(c.dir, "scenario.json")
    with open(path, "w") as f:
        json.dump({"apiVersion": "v1", "kind": "List", "items": nodes + pods}, f)
    done = berth.run("simulate", "--explain", "-o", "json", f"--config={file(c, TWO_PROFILES)}", path)
    equal(done.code, 0, f"exit code; it said {done.err!r}")
    by_pod = {r["pod"]: r for r in map(json.loads, done.out.splitlines())}
    plugins = {name: {p["name"] for n in r["feasible"] for p in n["plugins"]}
               for name, r in by_pod.items()}
    equal(by_pod["scored"]["node"], "roomy", "node of the scored pod")
    check("NodeResourcesFit" in plugins["scored"], f"its scores: {plugins['scored']}")
    equal(plugins["unscored"], set(), "scores of the other")


# ---- webhooks ------------------------------------------------------------------------------------

def binder(c):
    def bind(namespace, pod, uid, node):
        c.create(f"/api/v1/namespaces/{namespace}/pods/{pod}/binding", {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod, "uid": uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node}})
    return bind


def best_of(e, pod):
    """The node that filter and prioritize agree on: n0 to n4 have equal resources. None if fewer
    than two nodes are left: then scoring is skipped."""
    kept = [f"n{i}" for i in range(5) if e.fate(pod, f"n{i}") == "kept"]
    return max(kept, key=lambda n: e.score(pod, n)) if len(kept) > 1 else None


@test
def a_webhook_filters_scores_and_binds(c):
    add_nodes(c, *(make_node(f"n{i}") for i in range(5)))
    with Extender(on_bind=binder(c)) as e:
        p = start(c, WEBHOOK, URL=e.url)
        pods = [make_pod(f"web-{i}", cpu="1m", memory="1Mi",
                         scheduler_name="my-scheduler-with-extender") for i in range(8)]
        pods = [pod for pod in pods if best_of(e, pod)]
        check(len(pods) > 3, "pods that fit some node")
        for pod in pods:
            add_pods(c, pod)
            name = pod["metadata"]["name"]
            equal(wait_bound(c, name), best_of(e, pod), f"node of {name}")
        for verb in ("filter", "prioritize", "bind"):
            equal(sorted(e.asked(verb)), sorted(x["metadata"]["name"] for x in pods), f"asked {verb}")
        whole = e.asked("filter")[pods[0]["metadata"]["name"]]
        equal((len(whole["Nodes"]["items"]), whole["NodeNames"]), (5, None), "whole nodes are sent")
        berth.stop(p)


@test
def an_old_webhook_filters_and_scores_once_its_file_is_mended(c):
    done = berth.run("config", "validate", file(c, OLD_WEBHOOK_AS_PRINTED, URL="http://x"))
    equal(done.code, 1, "exit code for the printed form")
    check(re.match(r"\S+seed\.yaml:1[89]: ", done.out), f"a line beside it: {done.out}")
    add_nodes(c, *(make_node(f"n{i}") for i in range(5)))
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    c.create(f"{rbac}/roles", {"metadata": {"name": "lead"}, "rules": [{
        "apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
        "verbs": ["create", "get", "list", "update", "watch"]}]})
    c.create(f"{rbac}/rolebindings", {
        "metadata": {"name": "lead"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "lead"},
        "subjects": [{"kind": "User", "name": "system:kube-scheduler"}]})
    with Extender() as e:
        p = start(c, OLD_WEBHOOK, URL=e.url)
        pods = [make_pod(f"old-{i}", cpu="1m", memory="1Mi", scheduler_name="my-scheduler")
                for i in range(8)]
        for pod in [pod for pod in pods if best_of(e, pod)]:
            add_pods(c, pod)
            name = pod["metadata"]["name"]
            equal(wait_bound(c, name), best_of(e, pod), f"node of {name}")
        equal({path for path, _ in e.calls}, {"/scheduler/filter", "/scheduler/prioritize"}, "paths")
        lease = c.get("/apis/coordination.k8s.io/v1/namespaces/default/leases/my-scheduler")
        check(lease["spec"]["holderIdentity"], "the lease of its configuration is held")
        berth.stop(p)


@test
def a_policy_with_a_webhook_and_a_comma_too_many_runs(c):
    """The comma is not valid JSON, but valid YAML: both forms are accepted."""
    add_nodes(c, *(make_node(f"n{i}") for i in range(5)))
    for text in (POLICY_AS_PRINTED, POLICY):
        with Extender() as e:
            p = berth.start(c, f"--policy-config-file={file(c, text, URL=e.url)}",
                            "--scheduler-name=my-scheduler")
            pod = next(x for x in (make_pod(f"policy-{i}", scheduler_name="my-scheduler")
                                   for i in range(9)) if best_of(e, x))
            add_pods(c, pod)
            name = pod["metadata"]["name"]
            kept = [f"n{i}" for i in range(5) if e.fate(pod, f"n{i}") == "kept"]
            check(wait_bound(c, name) in kept, "the filter was respected")
            equal({path for path, _ in e.calls}, {"/scheduler/filter"}, "paths")
            berth.stop(p)
            c.delete(f"{berth.PODS}/{name}?gracePeriodSeconds=0")
            wait_for(lambda: not c.pods(), TIMEOUT, what="the pod is gone")


@test
def a_policy_becomes_plugins_with_its_weights(c):
    done = berth.run("config", "convert", "-o=json", file(c, POLICY, URL="http://127.0.0.1:10262"))
    equal(done.code, 0, f"exit code; it said {done.err!r}")
    config = json.loads(done.out)
    profile, extender = config["profiles"][0], config["extenders"][0]
    names = {p: [e["name"] for e in profile["plugins"][p]["enabled"]] for p in ("filter", "score")}
    for plugin in ("VolumeZone", "NodeVolumeLimits", "VolumeRestrictions", "NodeResourcesFit",
                   "NodeName", "NodePorts", "NodeAffinity", "TaintToleration", "VolumeBinding",
                   "InterPodAffinity", "NodeUnschedulable"):
        check(plugin in names["filter"], f"{plugin} filters")
    equal(sorted(names["score"]), ["InterPodAffinity", "NodeAffinity", "NodePreferAvoidPods",
                                   "NodeResourcesBalancedAllocation", "NodeResourcesLeastAllocated",
                                   "PodTopologySpread", "TaintToleration"], "scores")
    equal({e["weight"] for e in profile["plugins"]["score"]["enabled"]}, {1}, "weights")
    equal((extender["filterVerb"], extender["preemptVerb"], extender["httpTimeout"],
           extender.get("enableHTTPS", False)), ("filter", "preempt", "30s", False), "extender")


# ---- manifests -----------------------------------------------------------------------------------

def manifests(text):
    """As in guides: an account, the ConfigMap with the configuration, a Deployment."""
    return ("apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: s\n---\n"
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: scheduler-config\n"
            "  namespace: kube-system\ndata:\n  scheduler-config.yaml: |\n" +
            "".join(f"    {line}\n" for line in text.splitlines()) +
            "---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: s\n")


@test
def the_manifest_of_a_guide_is_a_configuration_file_too(c):
    for text in (OWN_FILTER, THREE_POINTS, OWN_SCORE, OWN_PRE_SCORE, SECOND, WEBHOOK, POLICY, SIMPLEST,
                 TWO_PROFILES, OLD_WEBHOOK, GANG):
        text = fill(text, URL="http://127.0.0.1:1", SECONDS=10)
        plain = berth.run("config", "convert", file(c, text), program="berth-test")
        equal(plain.code, 0, plain.err)
        held = berth.run("config", "convert", file(c, manifests(text)), program="berth-test")
        equal((held.code, held.out), (0, plain.out), f"converted from the manifest; {held.err}")
    done = berth.run("config", "validate", file(c, manifests(OWN_SCORE_AS_PRINTED)), program="berth-test")
    equal(done.code, 1, "exit code for the printed form")
    lines = manifests(OWN_SCORE_AS_PRINTED).splitlines()
    at = next(i for i, line in enumerate(lines, 1) if "score:#" in line)
    check(re.match(rf"\S+seed\.yaml:({at}|{at + 1}): ", done.out), f"a line beside the comment: {done.out}")


@test
def a_scheduler_runs_on_the_manifest_of_a_guide(c):
    add_nodes(c, make_node("n0"))
    add_pods(c, make_pod("web", scheduler_name="my-scheduler"))
    start(c, manifests(SECOND + "clientConnection:\n  kubeconfig: @KUBECONFIG@\n"))
    wait_bound(c, "web")


# ---- command lines and logs ----------------------------------------------------------------------

@test
def flags_of_a_guides_manifest_are_taken_but_for_a_gate_that_is_gone(c):
    flags = [f"--master={c.url}", f"--kubeconfig={c.scheduler_kubeconfig}",
             "--authorization-always-allow-paths=/metrics,/healthz,/readyz,/livez",
             "--leader-elect=true", "--kube-api-qps=100", "--kube-api-burst=100",
             "--bind-address=0.0.0.0", "--profiling", "--v=2", "--secure-port=0",
             f"--config={file(c, OWN_FILTER)}", f"--write-config-to={os.path.join(c.dir, 'out.yaml')}"]
    done = berth.run("scheduler", *flags, program="berth-test")
    equal(done.code, 0, f"exit code; it said {done.err[-300:]!r}")
    contains(done.err, 'FLAG: --profiling="true"', '"Using component config"', "name: TestLook",
             "schedulerName: my-scheduler", "qps: 100")
    done = berth.run("scheduler", *flags, "--feature-gates=MixedProtocolLBService=true",
                     program="berth-test")
    equal(done.code, 1, "exit code")
    contains(done.err, "unrecognized feature gate: MixedProtocolLBService")


@test
def what_an_old_release_logged_loads_once_plugins_that_are_gone_are_taken_out(c):
    dump = head("v1") + "profiles:\n- plugins:\n    multiPoint:\n      enabled:\n" + "".join(
        f"      - name: {n}\n        weight: {w}\n" for n, w in (
            ("PrioritySort", 0), ("NodeUnschedulable", 0), ("NodeName", 0), ("TaintToleration", 3),
            ("NodeAffinity", 2), ("NodePorts", 0), ("NodeResourcesFit", 1),
            ("VolumeRestrictions", 0), ("EBSLimits", 0), ("NodeVolumeLimits", 0),
            ("DefaultBinder", 0))) + "    score: {}\n  schedulerName: my-scheduler\n"
    done = berth.run("config", "validate", file(c, dump))
    equal(done.code, 1, "exit code")
    contains(done.out, ":23: profiles[0].plugins.multiPoint.enabled[8]: ", '"EBSLimits" does not exist',
             "use NodeVolumeLimits instead")
    mended = dump.replace("      - name: EBSLimits\n        weight: 0\n", "")
    equal(berth.run("config", "validate", file(c, mended)).code, 0, "exit code of the mended one")


if __name__ == "__main__":
    main(fixture=Cluster, after=berth.reset)
