#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Configuration files, compared with the real kube-scheduler: berth accepts what it accepts and
prints the same with --write-config-to; berth rejects what it rejects, with the same messages for
invalid values. Older versions and Policy: the result of convert; their last releases are in
test_old_configs."""

import json
import os
import re
import subprocess

import berth
from berth import check, equal
from config_files import HEAD, Both, essence
from config_text import args, plugins, profile
from tap import contains, main, note, test

# ---- accepted by both ----------------------------------------------------------------------------

GOOD = [
    "",
    "parallelism: 1",
    "parallelism: 2147483647",
    "enableProfiling: false",
    "enableProfiling: false\nenableContentionProfiling: true",
    "enableContentionProfiling: false",
    "percentageOfNodesToScore: 0",
    "percentageOfNodesToScore: 100",
    "podInitialBackoffSeconds: 5\npodMaxBackoffSeconds: 5",
    "delayCacheUntilActive: true",
    "delayCacheUntilActive: false",
    "leaderElection: {leaderElect: false}",
    "leaderElection: {leaderElect: false, leaseDuration: 1s, renewDeadline: 5s, resourceLock: x}",
    "leaderElection: {leaseDuration: 1m30s, renewDeadline: 61.5s, retryPeriod: 100ms}",
    "leaderElection: {resourceName: a, resourceNamespace: b}",
    "leaderElection: {}",
    "leaderElection: null",
    "parallelism: null\nprofiles: null\nextenders: null",
    "profiles: []\nextenders: []",
    profile("schedulerName: mine"),
    profile("schedulerName: 'yes'"),
    profile("schedulerName: '1e3'"),
    profile("schedulerName: default-scheduler") + "\n- schedulerName: other",
    profile("schedulerName: a\npercentageOfNodesToScore: 30") + "\n- schedulerName: b\n"
    "  percentageOfNodesToScore: 0",
    profile("schedulerName: a\nplugins: {score: {disabled: [{name: '*'}]}}") +
    "\n- schedulerName: b\n  plugins: {filter: {disabled: [{name: NodePorts}]}}",
    profile("plugins: {}"),
    profile("plugins: null\npluginConfig: null"),
    plugins("score: {disabled: [{name: '*'}], enabled: [{name: NodeAffinity, weight: 5}]}"),
    plugins("score: {enabled: [{name: NodeAffinity, weight: 5}, {name: NodeResourcesFit}]}"),
    plugins("score: {disabled: [{name: ImageLocality, weight: 7}]}"),
    plugins("score: {disabled: [{name: Nobody}]}"),
    plugins("multiPoint: {disabled: [{name: ImageLocality}, {name: DefaultPreemption}]}"),
    plugins("multiPoint: {enabled: [{name: NodeResourcesFit, weight: 9}, {name: NodeName}]}"),
    plugins("multiPoint: {disabled: [{name: NodeName}], enabled: [{name: NodeName}]}"),
    plugins("multiPoint: {disabled: [{name: '*'}], enabled: [{name: DefaultBinder}, "
            "{name: PrioritySort}]}"),
    plugins("multiPoint: {disabled: [{name: '*'}]}, queueSort: {enabled: [{name: PrioritySort}]}, "
            "bind: {enabled: [{name: DefaultBinder}]}, filter: {enabled: [{name: NodeName}]}"),
    plugins("multiPoint: {enabled: [{name: GangScheduling}]}"),
    plugins("preEnqueue: {disabled: [{name: SchedulingGates}]}, "
            "postFilter: {disabled: [{name: '*'}]}, permit: {}, postBind: {}"),
    plugins("preFilter: {enabled: [{name: NodePorts}, {name: VolumeBinding}]}"),
    plugins("filter: {enabled: [{name: VolumeZone}, {name: NodeVolumeLimits}, {name: NodeName}]}"),
    plugins("reserve: {enabled: [{name: VolumeBinding}]}, preBind: {disabled: [{name: '*'}]}"),
    plugins("placementScore: {enabled: [{name: NodeResourcesFit, weight: 3}]}"),
    plugins("score: {enabled: [{name: ImageLocality, weight: 0}]}"),
    plugins("multiPoint: {disabled: [{name: EBSLimits}]}"),
    args("DefaultPreemption", "minCandidateNodesPercentage: 0"),
    args("DefaultPreemption", "minCandidateNodesPercentage: 100, minCandidateNodesAbsolute: 0"),
    args("InterPodAffinity", "hardPodAffinityWeight: 0"),
    args("InterPodAffinity", "hardPodAffinityWeight: 100, "
         "ignorePreferredTermsOfExistingPods: true"),
    args("InterPodAffinity", "apiVersion: kubescheduler.config.k8s.io/v1, "
         "kind: InterPodAffinityArgs"),
    args("NodeAffinity", "addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
         "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [b]}]}]}}"),
    args("NodeAffinity", "addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "
         "[{weight: 3, preference: {matchExpressions: [{key: a, operator: Exists}]}}]}"),
    args("NodeAffinity", "addedAffinity: null"),
    args("NodeResourcesFit", "ignoredResources: [a.com/b], ignoredResourceGroups: [c.com]"),
    args("NodeResourcesFit", "scoringStrategy: {type: MostAllocated}"),
    args("NodeResourcesFit", "scoringStrategy: {type: LeastAllocated, resources: [{name: cpu}, "
         "{name: nvidia.com/gpu, weight: 100}]}"),
    args("NodeResourcesFit", "scoringStrategy: {type: RequestedToCapacityRatio, "
         "requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, "
         "{utilization: 100, score: 10}]}}"),
    args("NodeResourcesBalancedAllocation", "resources: [{name: cpu}, {name: memory, weight: 1}, "
         "{name: a.com/b}]"),
    args("PodTopologySpread", "defaultingType: List"),
    args("PodTopologySpread", "defaultingType: List, defaultConstraints: [{maxSkew: 1, "
         "topologyKey: zone, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: zone, "
         "whenUnsatisfiable: ScheduleAnyway}]"),
    args("VolumeBinding", "bindTimeoutSeconds: 0"),
    args("VolumeBinding", "shape: null"),
    args("DynamicResources", "filterTimeout: 0s, bindingTimeout: 1s"),
    args("Nobody", "a: 1"),
    args("ImageLocality", "a: 1, z: [x, {y: 2.5}]"),
    profile("pluginConfig: [{name: NodeAffinity}, {name: Nobody}, {name: ImageLocality}]"),
    profile("pluginConfig: [{name: VolumeBinding, args: null}]"),
    plugins("multiPoint: {disabled: [{name: PodTopologySpread}]}") +
    "\n  pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List}}]",
    "extenders:\n- urlPrefix: http://127.0.0.1:1/x\n  filterVerb: f\n  httpTimeout: 3s",
    "extenders:\n- urlPrefix: https://a\n  prioritizeVerb: p\n  weight: 2\n  enableHTTPS: true\n"
    "  tlsConfig: {insecure: true, serverName: a}\n  nodeCacheCapable: true\n  ignorable: true\n"
    "- urlPrefix: http://b\n  bindVerb: b\n  preemptVerb: q",
    "extenders:\n- urlPrefix: http://a\n  managedResources: [{name: a.com/b, "
    "ignoredByScheduler: true}, {name: a.com/c}]",
    "extenders:\n- {}",
    "clientConnection: {kubeconfig: @, qps: 0.1, burst: 1}",
    "clientConnection: {kubeconfig: @, qps: -1}",
    "clientConnection: {kubeconfig: @, qps: 33.333333333}",
    "clientConnection: {kubeconfig: @, qps: 1e6, burst: 2147483647}",
    "clientConnection: {kubeconfig: @, contentType: application/json, acceptContentTypes: a/b}",
]

# ---- rejected by both ----------------------------------------------------------------------------

# With the same message.
BAD_VALUES = [
    "parallelism: 0",
    "parallelism: -1\npodInitialBackoffSeconds: 0\npodMaxBackoffSeconds: -1",
    "percentageOfNodesToScore: 101",
    "percentageOfNodesToScore: -1",
    "podInitialBackoffSeconds: 11",
    "podMaxBackoffSeconds: 0",
    "clientConnection: {kubeconfig: @, burst: -1}",
    "leaderElection: {leaseDuration: 10s}",
    "leaderElection: {leaseDuration: -1s}",
    "leaderElection: {renewDeadline: -1s}",
    "leaderElection: {retryPeriod: -1ms}",
    "leaderElection: {resourceLock: endpoints}",
    "leaderElection: {resourceLock: endpointsleases, leaseDuration: 1s}",
    profile("schedulerName: ''"),
    profile("schedulerName: a") + "\n- {}",
    profile("percentageOfNodesToScore: 500"),
    plugins("filter: {enabled: [{name: EBSLimits}]}"),
    plugins("preFilter: {enabled: [{name: CinderLimits}]}"),
    profile("pluginConfig: [{name: GCEPDLimits}, {name: AzureDiskLimits}]"),
    profile("pluginConfig: [{name: X}, {name: X}]"),
    plugins("queueSort: {enabled: [{name: PrioritySort}, {name: Other}]}"),
    profile("schedulerName: a") + "\n- schedulerName: b\n"
    "  plugins: {queueSort: {enabled: [{name: X}], disabled: [{name: '*'}]}}",
    profile("schedulerName: a\nplugins: {queueSort: {disabled: [{name: X}]}}") +
    "\n- schedulerName: b",
    profile("schedulerName: a") + "\n- schedulerName: b\n"
    "  pluginConfig: [{name: PrioritySort, args: {a: 1}}]",
    plugins("score: {enabled: [{name: Nobody}]}"),
    plugins("multiPoint: {enabled: [{name: Nobody}]}"),
    plugins("preFilter: {disabled: [{name: '*'}]}, multiPoint: {enabled: [{name: Nobody}]}"),
    plugins("multiPoint: {enabled: [{name: EBSLimits}]}"),
    plugins("score: {enabled: [{name: NodePorts}]}"),
    plugins("queueSort: {enabled: [{name: NodeName}]}"),
    plugins("bind: {enabled: [{name: VolumeBinding}]}"),
    plugins("permit: {enabled: [{name: DefaultPreemption}]}"),
    plugins("placementGenerate: {enabled: [{name: NodeName}]}"),
    plugins("filter: {enabled: [{name: NodeName}, {name: NodeName}]}"),
    plugins("multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, "
            "{name: DefaultBinder}, {name: NodeName}, {name: NodeName}]}"),
    plugins("multiPoint: {disabled: [{name: '*'}]}"),
    plugins("bind: {disabled: [{name: '*'}]}"),
    plugins("queueSort: {disabled: [{name: '*'}]}"),
    plugins("score: {enabled: [{name: NodeAffinity, weight: -5}]}"),
    args("DefaultPreemption", "minCandidateNodesPercentage: 101"),
    args("DefaultPreemption", "minCandidateNodesPercentage: -1, minCandidateNodesAbsolute: -1"),
    args("DefaultPreemption", "minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0"),
    args("InterPodAffinity", "hardPodAffinityWeight: 101"),
    args("InterPodAffinity", "hardPodAffinityWeight: -1"),
    args("NodeAffinity", "addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
         "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In}]}]}}"),
    args("NodeAffinity", "addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
         "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Is}]}]}, "
         "preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: "
         "{matchFields: [{key: metadata.name, operator: Exists}]}}]}"),
    args("NodeResourcesFit", "scoringStrategy: {type: Wild}"),
    args("NodeResourcesFit", "scoringStrategy: {}"),
    args("NodeResourcesFit", "scoringStrategy: {type: MostAllocated, resources: [{name: a, "
         "weight: 101}, {name: b, weight: -1}]}"),
    args("NodeResourcesFit", "scoringStrategy: {type: RequestedToCapacityRatio}"),
    args("NodeResourcesFit", "scoringStrategy: {type: RequestedToCapacityRatio, "
         "requestedToCapacityRatio: {shape: [{utilization: 10, score: 11}, {utilization: 9, "
         "score: -1}]}}"),
    args("NodeResourcesFit", "scoringStrategy: {type: LeastAllocated, "
         "requestedToCapacityRatio: {shape: []}}"),
    args("NodeResourcesFit", "ignoredResourceGroups: [a/b]"),
    args("NodeResourcesBalancedAllocation", "resources: [{name: cpu}, {name: cpu, weight: 2}]"),
    args("PodTopologySpread", "defaultingType: Never"),
    args("PodTopologySpread", "defaultConstraints: [{maxSkew: 1, topologyKey: a, "
         "whenUnsatisfiable: DoNotSchedule}]"),
    args("PodTopologySpread", "defaultingType: List, defaultConstraints: [{maxSkew: 0, "
         "topologyKey: '', whenUnsatisfiable: Never, labelSelector: {}}, {maxSkew: 1, "
         "topologyKey: '', whenUnsatisfiable: Never}]"),
    args("VolumeBinding", "bindTimeoutSeconds: -1"),
    args("VolumeBinding", "shape: []"),
    args("DynamicResources", "filterTimeout: -1s"),
    args("DynamicResources", "bindingTimeout: 999ms"),
    "extenders:\n- urlPrefix: http://a\n  prioritizeVerb: x",
    "extenders:\n- {bindVerb: a}\n- {bindVerb: b}",
    "extenders:\n- managedResources: [{name: cpu}, {name: a.com/b}, {name: a.com/b}, "
    "{name: kubernetes.io/x}]",
    "extenders:\n- managedResources: [{name: a.com/b}]\n- managedResources: [{name: a.com/b}]",
    "extenders:\n- managedResources: [{name: a b}, {name: /x}, {name: a/}, {name: a/b/c}, "
    "{name: A.com/b}, {name: requests.a/b}]",
    args("NodeResourcesFit", "ignoredResources: [a b], ignoredResourceGroups: ['']"),
    args("PodTopologySpread", "defaultingType: List, defaultConstraints: [{maxSkew: 1, "
         "topologyKey: 'a b', whenUnsatisfiable: DoNotSchedule}]"),
]

# Upstream stops at the first plugin or profile that it cannot create; berth continues.
SAYS_MORE = {
    plugins("multiPoint: {disabled: [{name: '*'}]}"): ["at least one bind plugin is needed"],
    plugins("queueSort: {enabled: [{name: PrioritySort}, {name: Other}]}"): [
        'QueueSortPlugin "Other" does not exist'],
    profile("schedulerName: a") + "\n- schedulerName: b\n"
    "  plugins: {queueSort: {enabled: [{name: X}], disabled: [{name: '*'}]}}": [
        'QueueSortPlugin "X" does not exist'],
}

# Rejected by both, by berth with its own message: these parts.
BAD_FORM = [
    ("paralellism: 1", "paralellism"),
    ("parallelism: 1\nparallelism: 2", "parallelism"),
    ("parallelism: four", "parallelism"),
    ("parallelism: '4'", "parallelism"),
    ("parallelism: 1.5", "parallelism"),
    ("parallelism: 2147483648", "parallelism"),
    ("enableProfiling: 'true'", "enableProfiling"),
    ("leaderElection: {leaseDuration: 15}", "leaderElection.leaseDuration"),
    ("leaderElection: {leaseDuration: soon}", "leaderElection.leaseDuration"),
    ("leaderElection: []", "leaderElection"),
    ("profiles: {}", "profiles"),
    ("profiles: [1]", "profiles"),
    (profile("schedulerNam: a"), "schedulerNam"),
    (plugins("scores: {}"), "scores"),
    (plugins("score: {enable: []}"), "enable"),
    (plugins("score: {enabled: [NodeName]}"), "enabled"),
    (args("NodeAffinity", "addedAffinities: {}"), "addedAffinities"),
    (args("NodeAffinity", "kind: InterPodAffinityArgs"), "NodeAffinityArgs"),
    (args("NodeAffinity", "apiVersion: kubescheduler.config.k8s.io/v1beta2"), "v1beta2"),
    (args("NodeResourcesFit", "scoringStrategy: {resource: []}"), "resource"),
    (profile("pluginConfig: [{name: VolumeBinding, args: []}]"), "VolumeBinding"),
    ("extenders:\n- httpTimeout: 5", "httpTimeout"),
    ("extenders:\n- enableHttps: true", "enableHttps"),
    ("kind: KubeSchedulerConfiguration", "kind"),
    ("- a", "did not find expected key"),
    (profile("schedulerName: a") + "\n- schedulerName: a", "schedulerName: Duplicate value"),
]


@test
def what_kube_scheduler_takes_is_written_as_it_writes_it(both):
    note(f"{len(GOOD)} files")
    check(len(GOOD) >= 60, "too few")
    wrong = []
    for text in GOOD:
        config = both.config(text)
        want, error = both.kube_scheduler(config)
        check(want is not None, f"kube-scheduler rejects {text!r}: {error}")
        got, error = both.berth(config)
        if got != want:
            ours, theirs = (got or error).split("\n"), want.split("\n")
            wrong.append(f"{text!r}:\n  - {set(theirs) - set(ours)}\n  + {set(ours) - set(theirs)}")
    check(not wrong, "\n".join(wrong))


@test
def what_kube_scheduler_writes_is_read_and_written_again(both):
    for text in GOOD[::7]:
        want, _ = both.kube_scheduler(both.config(text))
        again = both.write("again.yaml", want)
        got, error = both.berth(again)
        equal(got, want, f"{text!r} ({error})")


@test
def values_that_kube_scheduler_refuses_are_refused_in_its_words(both):
    note(f"{len(BAD_VALUES)} files")
    check(len(BAD_VALUES) >= 60, "too few")
    wrong = []
    for text in BAD_VALUES:
        config = both.config(text)
        written, want = both.kube_scheduler(config)
        check(written is None, f"kube-scheduler accepts {text!r}")
        written, got = both.berth(config)
        theirs, ours = essence(want), essence(got)
        more = [part for part in ours if part not in theirs]
        expected = SAYS_MORE.get(text, [])
        if (written is not None or [part for part in ours if part not in more] != theirs or
                len(more) != len(expected) or not all(e in m for e, m in zip(expected, more))):
            wrong.append(f"{text!r}:\n  - {theirs}\n  + {ours}")
    check(not wrong, "\n".join(wrong))


@test
def as_kube_scheduler_it_ends_with_the_same_text_and_lines_in_front(both):
    link = both.path("kube-scheduler")
    *prefix, program = berth.command()
    os.symlink(program, link)
    for text in BAD_VALUES[::4] + list(SAYS_MORE):
        config = both.config(text)
        _, want = both.kube_scheduler(config)
        done = subprocess.run(prefix + [link] + both.arguments(config), stderr=subprocess.PIPE,
                              text=True, timeout=berth.TIMEOUT, env=berth.environment())
        equal(done.returncode, 1, "exit code")
        said = re.search(r'"command failed" err=("(?:[^"\\]|\\.)*")', done.stderr)
        check(said, done.stderr)
        equal(essence(json.loads(said.group(1))), essence(want), f"error for {text!r}")
        lines = re.findall(r'"Invalid configuration" problem=("(?:[^"\\]|\\.)*")', done.stderr)
        equal([json.loads(line) for line in lines],
              berth.run("config", "validate", config).out.splitlines(), f"lines for {text!r}")


@test
def forms_that_kube_scheduler_refuses_are_refused_with_their_place(both):
    for text, part in BAD_FORM:
        config = both.config(text)
        written, _ = both.kube_scheduler(config)
        check(written is None, f"kube-scheduler accepts {text!r}")
        written, error = both.berth(config)
        check(written is None, f"berth accepts {text!r}")
        equal(error.count("\n"), 1, f"lines in {error!r}")
        contains(error, f"berth: {config}:", part)
        check(re.match(rf"berth: {config}:\d+: ", error), f"no line in {error!r}")


def dump(done):
    """The configuration of "Using component config", without the line's header."""
    found = re.search(r'"Using component config" (config=<\n(?:\t.*\n)* >)', done)
    return found and found.group(1)


@test
def the_log_shows_the_configuration_as_upstream_shows_it(both):
    for text in GOOD[::9]:
        flags = both.arguments(both.config(text))
        want, got, quiet = (subprocess.run(
            argv + flags, stderr=subprocess.PIPE, text=True, timeout=berth.TIMEOUT,
            env=berth.environment()).stderr for argv in (
                [both.kube, "-v=2"], berth.command() + ["scheduler", "-v=2"],
                berth.command() + ["scheduler", "-v=1"]))
        check(dump(want), f"kube-scheduler shows none: {want}")
        equal(dump(got), dump(want), f"dump for {text!r}")
        equal(dump(quiet), None, "dump at level 1")


@test
def files_that_cannot_be_read_or_written_are_told_as_upstream_tells_it(both):
    good, folder = both.config(""), both.dir.name
    for flags, why in ((["--config=nosuch"], "open nosuch: no such file or directory"),
                       ([f"--config={folder}"], f"read {folder}: is a directory"),
                       ([f"--config={good}", "--write-config-to=/no/such"],
                        "open /no/such: no such file or directory")):
        theirs = subprocess.run([both.kube, "--secure-port=0"] + flags, stderr=subprocess.PIPE,
                                text=True, timeout=berth.TIMEOUT)
        ours = berth.run("scheduler", "--secure-port=0", *flags)
        contains(theirs.stderr, f'err="{why}"')
        equal((ours.code, ours.err), (1, f"berth: {why}\n"), f"berth with {flags}")


@test
def a_second_document_is_not_read_and_told(both):
    """Upstream ignores it silently."""
    config = both.write("two.yaml", HEAD + "parallelism: 3\n---\n" + HEAD + "parallelism: 4\n")
    contains(berth.run("config", "convert", config).out, "parallelism: 3\n")
    done = berth.run("config", "validate", config)
    equal((done.code, done.out), (0, f"{config}: valid KubeSchedulerConfiguration "
                                  "kubescheduler.config.k8s.io/v1, 1 profile\n"), "exit code and output")
    contains(done.err, f"{config}:5: only the first document is read")


@test
def validate_says_the_same_without_a_cluster(both):
    for text in GOOD:
        done = berth.run("config", "validate", both.config(text))
        equal((done.code, done.err, done.out.count("\n")), (0, "", 1), f"validate of {text!r}")
        check(re.match(r".*/config\.yaml: valid KubeSchedulerConfiguration kubescheduler\.config\.k8s\.io/v1, "
                       r"[12] profiles?(, [12] extenders?)?\n$", done.out), done.out)
    for text in BAD_VALUES + [text for text, _ in BAD_FORM]:
        config = both.config(text)
        done = berth.run("config", "validate", config)
        equal((done.code, done.err), (1, ""), f"validate of {text!r}")
        check(all(re.match(rf"{config}:\d+: ", line) for line in done.out.splitlines()), done.out)


@test
def every_command_tells_the_same_faults_in_the_same_lines(both):
    nothing = both.write("nothing.yaml", "")
    plain = both.write("plain.yaml", HEAD)
    for text in BAD_VALUES[::3] + [text for text, _ in BAD_FORM[::3]]:
        config = both.config(text)
        want = berth.run("config", "validate", config).out.splitlines()
        check(want, f"validate reports nothing for {text!r}")
        for command in (["scheduler", f"--config={config}", "--secure-port=0"],
                        ["simulate", f"--config={config}", nothing],
                        ["bench", "engine", f"--config={config}"],
                        ["config", "convert", config], ["config", "diff", plain, config]):
            done = berth.run(*command)
            equal((done.code, done.out), (1, ""), f"{command[:2]} with {text!r}")
            equal(done.err.splitlines(), ["berth: " + line for line in want], f"{command[:2]}")


@test
def what_asks_nobody_says_so_of_extenders(both):
    config = both.config("extenders: [{urlPrefix: 'http://a', filterVerb: f}]")
    for command in (["simulate", f"--config={config}", both.write("nothing.yaml", "")],
                    ["bench", "engine", f"--config={config}"]):
        done = berth.run(*command)
        equal(done.code, 1, "exit code")
        contains(done.err, f"berth: {config}: extenders: ", "remove them")


@test
def validate_tells_the_line(both):
    config = both.write("lines.yaml", HEAD + "parallelism: 0\nprofiles:\n- schedulerName: a\n"
                        "- schedulerName: b\n  pluginConfig:\n  - name: InterPodAffinity\n"
                        "    args:\n      hardPodAffinityWeight: 101\n")
    done = berth.run("config", "validate", config)
    equal(done.out.splitlines(), [
        f"{config}:3: parallelism: Invalid value: 0: should be an integer value greater than zero",
        f"{config}:10: profiles[1].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: "
        "not in valid range [0, 100]"], "output")


@test
def all_problems_of_a_file_are_told_at_once(both):
    config = both.write("many.yaml", HEAD + "profile: []\nparallelism: four\n"
                        "podInitialBackoffSeconds: 0\nprofiles:\n- plugins:\n    score:\n"
                        "      enabled:\n      - name: NodeAfinity\n      - name: ImageLocalitie\n"
                        "      - name: NodePorts\n    scores: {}\n")
    want = [
        f"{config}:3: profile: unknown field (did you mean profiles?)",
        f"{config}:4: parallelism: expected a whole number",
        f"{config}:5: podInitialBackoffSeconds: Invalid value: 0: must be greater than 0",
        f'{config}:10: profiles[0].plugins.score.enabled[0]: ScorePlugin "NodeAfinity" does not exist '
        "(did you mean NodeAffinity?)",
        f'{config}:11: profiles[0].plugins.score.enabled[1]: ScorePlugin "ImageLocalitie" does not '
        "exist (did you mean ImageLocality?)",
        f'{config}:12: profiles[0].plugins.score.enabled[2]: plugin "NodePorts" does not extend '
        "ScorePlugin plugin (it extends preFilter, filter)",
        f"{config}:13: profiles[0].plugins.scores: unknown field (did you mean score?)"]
    done = berth.run("config", "validate", config)
    equal((done.code, done.err, done.out.splitlines()), (1, "", want), "validate")
    done = berth.run("scheduler", f"--config={config}", "--secure-port=0")
    equal((done.code, done.err.splitlines()), (1, ["berth: " + line for line in want]), "scheduler")


# ---- files that contain a configuration ----------------------------------------------------------

def indent(text, by=4):
    return "".join(" " * by + line + "\n" for line in text.splitlines())


def config_map(name, **data):
    return (f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: kube-system\n"
            "data:\n" + "".join(f"  {key}: |\n{indent(value)}" for key, value in data.items()))


def manifests(both, text):
    """As in guides: an account, its roles, the ConfigMap, a Deployment."""
    return ("apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: s\n---\n"
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: s}\n---\n" +
            config_map("s", config=text) + "---\napiVersion: apps/v1\nkind: Deployment\n")


@test
def a_config_map_is_read_by_every_command(both):
    text = HEAD + f"clientConnection: {{kubeconfig: {both.kubeconfig}}}\nparallelism: 7\n"
    plain = both.write("plain.yaml", text)
    want, error = both.berth(plain)
    check(want, error)
    as_json = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": text, "y": "z"}})
    for form in (config_map("m", config=text), manifests(both, text), as_json):
        file = both.write("map.yaml", form)
        done = berth.run("config", "validate", file)
        equal((done.code, done.err), (0, ""), done.out)
        contains(done.out, "1 profile (ConfigMap ")
        got, error = both.berth(file)
        equal(got, want, error)
        equal(berth.run("config", "convert", file).out, berth.run("config", "convert", plain).out, "convert")
        equal(berth.run("config", "diff", file, plain).out, "Nothing changes for pods.\n", "diff")
        equal(berth.run("config", "validate", "-", input=form).out.split(": ")[0], "<stdin>", "stdin")


@test
def lines_of_a_config_map_are_those_of_its_file(both):
    file = both.write("map.yaml", manifests(both, HEAD + "parallelism: 0\nprofile: []\n"))
    with open(file) as f:
        lines = f.read().splitlines()
    at = lines.index("    parallelism: 0") + 1
    want = [f"{file}:{at}: parallelism: Invalid value: 0: should be an integer value greater than zero",
            f"{file}:{at + 1}: profile: unknown field (did you mean profiles?)"]
    equal(berth.run("config", "validate", file).out.splitlines(), want, "validate")
    done = berth.run("scheduler", f"--config={file}", "--secure-port=0")
    equal(done.err.splitlines(), ["berth: " + line for line in want], "scheduler")


@test
def of_several_configurations_a_key_chooses(both):
    file = both.write("two.yaml", config_map("m", a=HEAD + "parallelism: 3\n", b=HEAD + "parallelism: 4\n"))
    done = berth.run("config", "convert", file)
    equal((done.code, done.out), (1, ""), "exit code without a key")
    contains(done.err, "key a, line 7", "key b, line 11", "FILE#KEY")
    for key, parallelism in (("a", 3), ("b", 4), ("m/b", 4), ("kube-system/m/a", 3)):
        contains(berth.run("config", "convert", f"{file}#{key}").out, f"parallelism: {parallelism}\n")
    done = berth.run("config", "validate", f"{file}#c")
    equal(done.code, 1, "exit code of a key that is not there")
    contains(done.out, f"{file}: no ConfigMap has the key \"c\"", "key a")
    odd = both.write("odd#name.yaml", HEAD)
    equal(berth.run("config", "validate", odd).code, 0, "a file whose name has a #")


@test
def a_pipe_without_a_writer_is_given_up(both):
    fifo = both.path("fifo")
    os.mkfifo(fifo)
    for command in (["config", "validate", fifo], ["scheduler", f"--config={fifo}", "--secure-port=0"]):
        done = berth.run(*command, timeout=60)
        equal(done.code, 1, "exit code")
        contains(done.out + done.err, f"{fifo}: no process has opened this pipe for writing")


@test
def a_pipe_with_a_writer_is_read_to_its_end(both):
    """Even if the writer is slow, as in process substitution."""
    text = HEAD + "parallelism: 9\n"
    program = " ".join(berth.command())
    script = (f"{program} config convert <(printf %s {text[:20]!r}; sleep 1; printf %s {text[20:]!r})"
              .replace("\\n", "'$'\\n''"))
    done = subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=berth.TIMEOUT, env=berth.environment())
    equal(done.returncode, 0, done.stderr)
    contains(done.stdout, "parallelism: 9\n")


@test
def what_is_no_configuration_is_refused(both):
    large = both.path("large")
    with open(large, "wb") as f:
        f.truncate(64 << 20)
    for path, why in ((both.dir.name, "is a directory"), (large, "larger than 32 MiB"),
                      ("/dev/zero", "larger than 32 MiB"), (both.write("none", ""), "the file is empty"),
                      (both.write("pod", "kind: Pod\napiVersion: v1\n"), ":1: expected apiVersion")):
        done = berth.run("config", "validate", path)
        equal((done.code, done.err), (1, ""), path)
        contains(done.out, path, why)


# ---- size ----------------------------------------------------------------------------------------

@test
def two_hundred_thousand_profiles_are_checked(both):
    path = both.write("large.yaml", HEAD + "profiles:\n" + "".join(
        f"- schedulerName: s{i}\n" for i in range(200000)))
    done = berth.run("config", "validate", path)
    equal((done.code, done.out), (0, f"{path}: valid KubeSchedulerConfiguration "
                                  "kubescheduler.config.k8s.io/v1, 200000 profiles\n"), "validate")


# ---- other versions ------------------------------------------------------------------------------

def convert(both, text, *flags):
    done = berth.run("config", "convert", *flags, both.write("old", text))
    equal(done.code, 0, f"exit code; it said {done.err!r}")
    return done.out


def enabled(text, point):
    """name=weight of the plugins at an extension point of the first profile."""
    config = json.loads(text)
    entries = config["profiles"][0]["plugins"].get(point, {}).get("enabled", [])
    return " ".join(e["name"] + (f"={e['weight']}" if "weight" in e else "") for e in entries)


OLD = "apiVersion: kubescheduler.config.k8s.io/{}\nkind: KubeSchedulerConfiguration\n"


@test
def v1beta1_has_the_scores_of_its_time(both):
    text = convert(both, OLD.format("v1beta1") + "healthzBindAddress: 0.0.0.0:10251\n", "-o=json")
    equal(enabled(text, "score"),
          "NodeResourcesBalancedAllocation=1 ImageLocality=1 InterPodAffinity=1 "
          "NodeResourcesLeastAllocated=1 NodeAffinity=1 NodePreferAvoidPods=10000 "
          "PodTopologySpread=2 TaintToleration=1", "score")
    equal(enabled(text, "queueSort"), "PrioritySort", "queueSort")
    contains(enabled(text, "preEnqueue"), "SchedulingGates")


@test
def v1beta2_has_the_scores_of_its_time(both):
    text = convert(both, OLD.format("v1beta2") + profile(
        "plugins: {score: {disabled: [{name: ImageLocality}], enabled: [{name: NodeAffinity, "
        "weight: 7}]}, filter: {enabled: [{name: EBSLimits}]}}\n"
        "pluginConfig: [{name: NodeResourcesFit, args: {apiVersion: "
        "kubescheduler.config.k8s.io/v1beta2, kind: NodeResourcesFitArgs}}]"), "-o=json")
    equal(enabled(text, "score"),
          "NodeResourcesBalancedAllocation=1 InterPodAffinity=1 NodeResourcesFit=1 NodeAffinity=7 "
          "PodTopologySpread=2 TaintToleration=1", "score")
    equal(enabled(text, "filter").count("Limits"), 1, "plugins that count volumes")


@test
def v1beta3_has_the_defaults_of_v1(both):
    old = OLD.format("v1beta3") + "clientConnection: {kubeconfig: " + both.kubeconfig + "}\n"
    got, error = both.berth(both.write("old.yaml", old))
    want, _ = both.kube_scheduler(both.config(""))
    equal(got, want, error)


@test
def what_convert_writes_kube_scheduler_takes(both):
    for text in [OLD.format("v1beta2") + "clientConnection: {kubeconfig: @}\n",
                 OLD.format("v1beta3") + "clientConnection: {kubeconfig: @}\n"] + [
                     HEAD + t + "\nclientConnection: {kubeconfig: @}\n" for t in GOOD
                     if "clientConnection" not in t]:
        converted = convert(both, text.replace("@", both.kubeconfig))
        path = both.write("converted.yaml", converted)
        want, error = both.kube_scheduler(path)
        check(want is not None, f"kube-scheduler rejects {converted}: {error}")
        got, _ = both.berth(path)
        equal(got, want, f"{text!r}")


@test
def fields_that_a_version_did_not_have_are_refused(both):
    for version, text, part in [("v1beta3", "delayCacheUntilActive: true", "delayCacheUntilActive"),
                                ("v1beta3", profile("percentageOfNodesToScore: 5"), "percentage"),
                                ("v1beta1", plugins("multiPoint: {}"), "multiPoint"),
                                ("v1beta1", plugins("preEnqueue: {}"), "preEnqueue"),
                                ("v1beta1", plugins("placementScore: {}"), "placementScore"),
                                ("v1beta2", "unknown: 1", "unknown"),
                                ("v1alpha2", "", "v1alpha2")]:
        done = berth.run("config", "validate", both.write("f", OLD.format(version) + text + "\n"))
        equal(done.code, 1, f"exit code for {version} {text!r}")
        contains(done.out, part)


POLICY = {
    "kind": "Policy", "apiVersion": "v1",
    "predicates": [
        {"name": "PodFitsPorts"}, {"name": "GeneralPredicates"}, {"name": "MaxEBSVolumeCount"},
        {"name": "Zoned", "argument": {"serviceAffinity": {"labels": ["zone"]}}},
        {"name": "Labelled", "argument": {"labelsPresence": {"labels": ["a"], "presence": True}}}],
    "priorities": [
        {"name": "LeastRequestedPriority", "weight": 2}, {"name": "EqualPriority", "weight": 1},
        {"name": "ServiceSpreadingPriority", "weight": 3},
        {"name": "x", "weight": 4, "argument": {"labelPreference": {"label": "b"}}},
        {"name": "y", "weight": 4, "argument": {"labelPreference": {"label": "c",
                                                                    "presence": True}}},
        {"name": "z", "weight": 5, "argument": {"requestedToCapacityRatioArguments": {
            "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}}}],
    "extenders": [{"URLPREFIX": "http://a", "filterVerb": "f", "httpTimeout": 30000000000,
                   "enableHttps": True}],
    "hardPodAffinitySymmetricWeight": 7,
}


@test
def a_policy_becomes_plugins(both):
    text = convert(both, json.dumps(POLICY), "-o=json")
    equal(enabled(text, "filter"),
          "NodeUnschedulable NodeResourcesFit NodeName NodePorts NodeAffinity TaintToleration "
          "NodeLabel ServiceAffinity NodeVolumeLimits DynamicResources", "filter")
    equal(enabled(text, "score"),
          "NodeResourcesLeastAllocated=2 NodeLabel=8 RequestedToCapacityRatio=5 "
          "PodTopologySpread=3", "score")
    config = json.loads(text)
    arguments = {e["name"]: e["args"] for e in config["profiles"][0]["pluginConfig"]}
    equal(arguments["NodeLabel"], {"presentLabels": ["a"], "presentLabelsPreference": ["c"],
                                   "absentLabelsPreference": ["b"]}, "NodeLabel")
    equal(arguments["ServiceAffinity"], {"affinityLabels": ["zone"]}, "ServiceAffinity")
    equal(arguments["PodTopologySpread"], {"defaultingType": "System"}, "PodTopologySpread")
    equal(config["extenders"], [{"urlPrefix": "http://a", "filterVerb": "f", "httpTimeout": "30s",
                                 "enableHTTPS": True}], "extenders")


@test
def a_policy_that_names_nothing_has_the_usual(both):
    text = convert(both, '{"kind": "Policy", "apiVersion": "v1"}', "-o=json")
    equal(enabled(text, "score"),
          "NodeResourcesBalancedAllocation=1 PodTopologySpread=2 ImageLocality=1 "
          "InterPodAffinity=1 NodeResourcesLeastAllocated=1 NodeAffinity=1 "
          "NodePreferAvoidPods=10000 TaintToleration=1", "score")
    text = convert(both, "{kind: Policy, apiVersion: v1, predicates: [], priorities: []}", "-o=json")
    equal(enabled(text, "filter"), "NodeUnschedulable TaintToleration DynamicResources", "filter")
    equal(enabled(text, "score"), "", "score")


@test
def bad_policies_are_refused(both):
    for change, part in [({"predicates": [{"name": "Nobody"}]}, "predicates[0].name"),
                         ({"priorities": [{"name": "Nobody", "weight": 1}]}, "priorities[0].name"),
                         ({"priorities": [{"name": "ImageLocalityPriority"}]}, "weight"),
                         ({"priorities": [{"name": "ImageLocalityPriority", "weight": 1,
                                           "argument": {}}]}, "argument"),
                         ({"hardPodAffinitySymmetricWeight": 101}, "hardPodAffinity"),
                         ({"extenders": [{"prioritizeVerb": "p"}]}, "extenders[0].weight"),
                         ({"extenders": [{"httpTimeout": "5s"}]}, "httpTimeout"),
                         ({"nothing": 1}, "nothing")]:
        done = berth.run("config", "validate", both.write("p.json", json.dumps({**POLICY, **change})))
        equal(done.code, 1, f"exit code for {change}")
        contains(done.out, part)


# ---- diff ----------------------------------------------------------------------------------------

@test
def diff_says_what_changes_for_pods(both):
    a = both.write("a.yaml", HEAD)
    b = both.write("b.yaml", HEAD + "podMaxBackoffSeconds: 20\n" + plugins(
        "multiPoint: {disabled: [{name: ImageLocality}]}, score: {enabled: [{name: NodeAffinity, "
        "weight: 9}]}, filter: {enabled: [{name: NodeLabel}]}") + "\n  pluginConfig: [{name: "
        "NodeResourcesFit, args: {ignoredResources: [a.com/b], scoringStrategy: {type: "
        "MostAllocated}}}]\n- schedulerName: other\n")
    b = both.write("b.yaml", HEAD + open(b).read()[len(HEAD):].replace(
        "- plugins", "- schedulerName: default-scheduler\n  plugins", 1))
    done = berth.run("config", "diff", a, b)
    equal(done.code, 0, done.err)
    contains(done.out, "all profiles:\n  podMaxBackoffSeconds: 10 -> 20\n",
             "  - ImageLocality (score with weight 1): prefers nodes that already have the pod's images\n",
             "  NodeAffinity: score weight: 2 -> 9\n",
             "  NodeResourcesFit: ignoredResources: (none) -> [\"a.com/b\"]\n",
             "  NodeResourcesFit: scoringStrategy.type: LeastAllocated -> MostAllocated\n",
             "  + NodeLabel (filter): nodes are included or excluded by label\n",
             "profile other:\n  + the profile: pods with schedulerName other are scheduled\n")
    changes = json.loads(berth.run("config", "diff", "-o=json", a, b).out)["changes"]
    equal({c["change"] for c in changes}, {"setting", "removed", "weight", "arguments", "added"},
          "kinds")
    check({"change": "weight", "profile": "default-scheduler", "point": "score",
           "plugin": "NodeAffinity", "before": "2", "after": "9"} in changes, f"{changes}")
    equal(berth.run("config", "diff", a, a).out, "Nothing changes for pods.\n", "diff with itself")


@test
def diff_compares_extenders_member_by_member(both):
    a = both.write("a.yaml", HEAD + "extenders: [{urlPrefix: 'http://a', filterVerb: f}]\n")
    b = both.write("b.yaml", HEAD + "extenders: [{urlPrefix: 'http://a', filterVerb: f, httpTimeout: "
                   "5s, ignorable: true}, {urlPrefix: 'http://b', bindVerb: b}]\n")
    equal(berth.run("config", "diff", a, b).out.splitlines(), [
        "all profiles:", "  extenders[0].ignorable: (none) -> true",
        '  extenders[1]: (none) -> {"urlPrefix":"http://b","bindVerb":"b","httpTimeout":"5s"}'],
          "output")


@test
def diff_tells_an_order_only_where_it_matters(both):
    a = both.write("a.yaml", HEAD + plugins("score: {enabled: [{name: NodeAffinity, weight: 2}]}"))
    b = both.write("b.yaml", HEAD + plugins("filter: {enabled: [{name: NodePorts}]}"))
    out = berth.run("config", "diff", a, b).out
    contains(out, "  filter: new order: NodePorts, ")
    equal(out.count("\n"), 2, f"lines in {out!r}")


@test
def what_goes_without_saying_is_no_difference(both):
    want, _ = both.kube_scheduler(both.config(""))
    a, b = both.write("a.yaml", HEAD), both.write("b.yaml", want)
    equal(berth.run("config", "diff", a, b).out, "Nothing changes for pods.\n", "diff")


if __name__ == "__main__":
    main(fixture=Both)
