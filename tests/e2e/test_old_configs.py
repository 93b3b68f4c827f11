#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Older configurations and Policies, beside what the last releases that read them made of them
(tests/golden/old-configs, recorded by tests/kube/old_configs.py): the same arguments of plugins and
other fields, the same files refused. Which plugins run is unit/test_old_configs."""

import json
import os
import re

import yaml

import berth
from berth import check, equal
from config_files import Both
from tap import main, note, test

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "old-configs")
HEAD = "apiVersion: kubescheduler.config.k8s.io/{}\nkind: KubeSchedulerConfiguration\n"


def rows(name):
    """Every row with what it does not repeat of the first."""
    with open(os.path.join(GOLDEN, f"{name}.json")) as f:
        base, *others = json.load(f)
    yield base
    for row in others:
        if "error" not in row:
            for part in ("plugins", "args"):
                usual = next(iter(base[part].values()))
                row[part] = {profile: merge(usual, of) for profile, of in row[part].items()}
            row["fields"] = merge(base["fields"], row.get("fields", {}))
        yield row


def merge(base, changes):
    return {k: v for k, v in {**base, **changes}.items() if v is not None}


def written(both, row, name):
    """What berth makes of it: a configuration, or None and its error."""
    text = row["input"].replace("'@'", both.kubeconfig)
    if name == "policy":
        policy = both.write("policy.json", text)
        text, error = both.berth(both.write("config.yaml", HEAD.format("v1") + CLIENT.replace(
            "'@'", both.kubeconfig)), f"--policy-config-file={policy}")
    else:
        if "clientConnection" not in text:
            text += "\n" + CLIENT.replace("'@'", both.kubeconfig)
        text, error = both.berth(both.write("config.yaml", HEAD.format(name) + text + "\n"))
    return text and yaml.safe_load(text), error


CLIENT = "clientConnection: {kubeconfig: '@'}\n"

for name in ("v1beta1", "v1beta2", "v1beta3", "policy"):
    pass
