#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Older configurations and Policies, compared with the results of the last releases that read them
(tests/golden/old-configs, recorded by tests/kube/old_configs.py): the same plugin arguments and
other fields, the same rejected files for the same reasons, except for the differences explained in
the tables below. Which plugins run, in which order and with which weights is in
unit/test_old_configs."""

import json
import os
import re

import berth
from berth import check
from config_files import Both
from tap import main, note, test

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "old-configs")
HEAD = "apiVersion: kubescheduler.config.k8s.io/{}\nkind: KubeSchedulerConfiguration\n"
CLIENT = "\nclientConnection: {kubeconfig: '@'}\n"

# ---- explained differences -----------------------------------------------------------------------

# Part of the input, and why berth rejects what they accepted.
REFUSED_TODAY = {
    "resourceLock: endpointsleases": "only leases are left",
    "leaderElection: {leaseDuration: 10s}": "1.22 took it and ended when it began to elect",
    '"weight": 92233720368547758': "the weight overflowed in silence",
    '"weight": 2147483648': "the weight overflowed in silence",
    # Plugins that 1.27 did not have and berth has: their arguments were not checked.
    "name: NodeLabel, args": "arguments of a plugin of v1beta1",
    "name: NodeResourcesLeastAllocated, args": "arguments of a plugin of v1beta1",
    "name: NodeResourcesMostAllocated, args": "arguments of a plugin of v1beta1",
    "name: RequestedToCapacityRatio, args": "arguments of a plugin of v1beta1",
}

# Part of their error, and why berth accepts what they rejected.
TAKEN_TODAY = {
    r"(healthz|metrics)BindAddress: Invalid value": "nothing is served there: not looked at",
    r'"(NodeLabel|NodePreferAvoidPods|NodeResourcesLeastAllocated|NodeResourcesMostAllocated|'
    r'RequestedToCapacityRatio|ServiceAffinity)" does not exist': "berth still has these plugins, "
    "and looks at their arguments",
}

# Arguments and fields that only berth writes.
NEW_PLUGINS = {"DynamicResources"}
NEW_ARGUMENTS = {("InterPodAffinity", "ignorePreferredTermsOfExistingPods"): False}
# Fields that v1 no longer has: addresses without TLS.
GONE = ("healthzBindAddress", "metricsBindAddress")


def explain_arguments(name, plugin, want, got):
    """The recorded arguments as they would be today."""
    if want is None and (plugin in NEW_PLUGINS or plugin == "DefaultPreemption"):
        return got      # has an extension point today, see unit/test_old_configs
    for (other, key), value in NEW_ARGUMENTS.items():
        if want is not None and plugin == other:
            want = {key: value, **want}
    if name == "policy" and plugin == "RequestedToCapacityRatio":
        # 1.22 lacked the default and scored nothing.
        want = {"resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}], **want}
    return want


# ---- recorded results and berth's ----------------------------------------------------------------

def merge(base, changes):
    return {k: v for k, v in {**base, **changes}.items() if v is not None}


def rows(name):
    """Every row, completed from the first row."""
    with open(os.path.join(GOLDEN, f"{name}.json")) as f:
        base, *others = json.load(f)
    for row in [base] + others:
        if "error" not in row:
            usual = next(iter(base["args"].values()))
            row["args"] = {profile: merge(usual, of) for profile, of in row["args"].items()}
            row["fields"] = merge(base["fields"], row.get("fields", {}))
        yield row


def read(both, text, name):
    """berth's result: a configuration, or None and its error."""
    if name == "policy":
        config = both.write("config.yaml", HEAD.format("v1beta1") + CLIENT.replace(
            "@", both.kubeconfig))
        flags = ["--policy-config-file=" + both.write("policy.json", text)]
    else:
        text = text if "clientConnection" in text else text + CLIENT
        config = both.write("config.yaml", HEAD.format(name) + text.replace("@", both.kubeconfig))
        flags = []
    written, error = both.berth(config, *flags)
    if written is None:
        return None, error
    return json.loads(berth.run("config", "convert", "-o=json", both.out).out), ""


def split(written):
    """Arguments per profile and plugin, and the other fields."""
    arguments = {}
    for profile in written.pop("profiles"):
        arguments[profile["schedulerName"]] = {
            e["name"]: {k: v for k, v in (e.get("args") or {}).items()
                        if k not in ("kind", "apiVersion")}
            for e in profile.get("pluginConfig", [])}
    for field in ("kind", "apiVersion"):
        written.pop(field)
    written["clientConnection"].pop("kubeconfig")
    return arguments, written


def differences(name, row, written):
    got, fields = split(written)
    if got.keys() != row["args"].keys():
        yield f"profiles {list(row['args'])}, {list(got)}"
        return
    for profile, theirs in row["args"].items():
        ours = got[profile]
        for plugin in sorted(theirs.keys() | ours.keys()):
            want = explain_arguments(name, plugin, theirs.get(plugin), ours.get(plugin))
            if want != ours.get(plugin):
                yield f"{profile}: {plugin}: {want}, {ours.get(plugin)}"
    # The converter leaves out empty fields.
    theirs = {**row["fields"], "clientConnection": {
        k: v for k, v in row["fields"]["clientConnection"].items() if v != ""}}
    # No dump shows the extenders of a Policy; unit/test_config_versions tests them.
    skipped = GONE + (("extenders",) if name == "policy" else ())
    for field in sorted(theirs.keys() | fields.keys()):
        if field not in skipped and theirs.get(field) != fields.get(field):
            yield f"{field}: {theirs.get(field)}, {fields.get(field)}"


def reasons(error):
    """The subjects of an error: fields with the kind of error, or names in quotes. For errors in
    the form of a file, the name of the unknown field."""
    if "couldn't create resource lock" in error:
        return ["resourceLock"]
    # Their index also counts the defaults; berth's is the index in the file.
    error = re.sub(r"enabled\[\d+\]: Invalid value: (\"NodeResourcesFit\": was conflict)",
                   r"enabled: Invalid value: \1", error)
    fields = re.findall(r"((?:[a-zA-Z]+(?:\[\d+\])?\.)*[a-zA-Z]+(?:\[\d+\])?): "
                        r"(Invalid|Required|Duplicate|Unsupported|Not supported)", error)
    unknown = re.findall(r"unknown field:? \"?([\w.\[\]]+)", error)
    if fields:
        return [path.rsplit(".", 1)[-1] for path, _ in fields]
    if unknown:
        return [u.rsplit(".", 1)[-1] for u in unknown]
    return re.findall(r'"(\w+)"', error)


@test
def what_they_took_means_the_same(both):
    wrong, count = [], 0
    for name in ("v1beta1", "v1beta2", "v1beta3", "policy"):
        for row in rows(name):
            if "error" in row:
                continue
            written, error = read(both, row["input"], name)
            if written is None:
                if not any(part in row["input"] for part in REFUSED_TODAY):
                    wrong.append(f"{name} {row['input']!r}: refused: {error}")
                continue
            count += 1
            wrong += [f"{name} {row['input']!r}: {d}" for d in differences(name, row, written)]
    note(f"{count} inputs")
    check(count >= 230, f"only {count} are compared")
    check(not wrong, "\n".join(wrong))


@test
def what_they_refused_is_refused_for_the_same_reason(both):
    wrong, count = [], 0
    for name in ("v1beta1", "v1beta2", "v1beta3", "policy"):
        for row in rows(name):
            if "error" not in row:
                continue
            written, error = read(both, row["input"], name)
            if any(re.search(part, row["error"]) for part in TAKEN_TODAY):
                if written is None and ".args." not in error:
                    wrong.append(f"{name} {row['input']!r}: refused: {error}")
                continue
            if written is not None:
                wrong.append(f"{name} {row['input']!r}: taken, not {row['error']}")
                continue
            count += 1
            missing = [r for r in reasons(row["error"]) if r not in error]
            if missing:
                wrong.append(f"{name} {row['input']!r}: {missing}:\n  - {row['error']}\n  + {error}")
    note(f"{count} inputs")
    check(count >= 180, f"only {count} are compared")
    check(not wrong, "\n".join(wrong))


# ---- flags ---------------------------------------------------------------------------------------

def with_flags(both, files, flags):
    """berth's answer to these flags, under the name kube-scheduler."""
    for name, text in files.items():
        both.write(name, text.replace("PORT", "10251").replace("@", both.kubeconfig))
    given = any(f.startswith("--config") for f in flags)
    if os.path.exists(both.path("out.yaml")):
        os.unlink(both.path("out.yaml"))
    done = berth.run(
        "scheduler", "--secure-port=0", f"--write-config-to={both.path('out.yaml')}",
        *([] if given else [f"--kubeconfig={both.kubeconfig}"]),
        *(f.replace("@", both.path("")) for f in flags))
    if done.code:
        return {"error": done.err.replace(both.path(""), "").splitlines()[-1]}
    with open(both.path("out.yaml")) as f:
        text = f.read()
    said = {key: found.group(1) for key in ("schedulerName", "resourceName", "resourceNamespace",
                                            "hardPodAffinityWeight")
            if (found := re.search(rf"^ +{key}: (.*)$", text, re.M))}
    return {**said, "ofPolicy": "weight: 17" in text,
            "packs": "NodeResourcesMostAllocated" in text or "type: MostAllocated" in text,
            "ImageLocality": "name: ImageLocality" in text}


# Errors that berth words differently.
OTHER_WORDS = {"unknown conversion": "kind: Policy", 'argument "x" for "--port"': "--port"}


@test
def retired_flags_mean_what_they_meant(both):
    with open(os.path.join(GOLDEN, "flags.json")) as f:
        golden = json.load(f)
    note(f"{len(golden['rows'])} rows")
    wrong = []
    for row in golden["rows"]:
        flags = row.pop("flags")
        row.pop("release")
        got = with_flags(both, golden["files"], flags)
        if "error" in row and "error" in got:
            words = next((ours for theirs, ours in OTHER_WORDS.items() if theirs in row["error"]),
                         row["error"])
            same = words in got["error"]
        else:
            same = row == got
        if not same:
            wrong.append(f"{flags}:\n  - {row}\n  + {got}")
    check(not wrong, "\n".join(wrong))


if __name__ == "__main__":
    main(fixture=Both)
