# SPDX-License-Identifier: Apache-2.0
"""Upstream's texts for why a node does not fit a pod; each is reported with the number of nodes."""

import re

CORDONED = "node(s) were unschedulable"
TAINTED = "node(s) had untolerated taint(s)"
NO_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
NOT_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
OUTSIDE = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
NO_PORT = "node(s) didn't have free ports for the requested pod ports"
UNEVEN = "node(s) didn't match pod topology spread constraints"
NO_LABEL = UNEVEN + " (missing required label)"
NOT_NEAR = "node(s) didn't match pod affinity rules"
REPELLED = "node(s) didn't match pod anti-affinity rules"
REPELLED_BY_OTHERS = "node(s) didn't satisfy existing pods anti-affinity rules"
NO_FEATURE = "node(s) didn't match Pod's required features"

# NodeLabel, which only older configurations have.
NO_LABELS = "node(s) didn't have the requested labels"


def nodes_left(total, *reasons):
    """The whole text; reasons with their counts are sorted as text, so that 10 is before 2."""
    return f"0/{total} nodes are available: {', '.join(sorted(reasons))}."


def before_preemption(text):
    """The part written by the filters, before the part that PostFilter adds: DynamicResources finds
    no state of its own ("not found") if another plugin refused the pod in PreFilter."""
    return re.split(r" (?:no new claims to deallocate|preemption: |not found$)", text)[0]
