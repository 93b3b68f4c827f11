# SPDX-License-Identifier: Apache-2.0
"""A cluster whose API server records which user bound which pod, and the result."""

import json
import os

import berth
from cluster import Cluster

USER = "system:kube-scheduler"


def cluster():
    policy = os.path.join(berth.HERE, "audit-policy.yaml")
    return Cluster(apiserver_args=[f"--audit-policy-file={policy}", "--audit-log-path=audit.log"])


def attempts(c):
    """Every binding request since the last reset: (pod, user, HTTP code)."""
    found = []
    with open(os.path.join(c.dir, "audit.log")) as f:
        for line in f:
            try:
                entry = json.loads(line)
            except ValueError:
                continue        # cut off by kill -9
            found.append((entry["objectRef"]["name"], entry["user"]["username"],
                          entry["responseStatus"]["code"]))
    return found


def reset(c):
    try:
        berth.reset(c)
    finally:
        with open(os.path.join(c.dir, "audit.log"), "r+") as f:
            f.truncate()
