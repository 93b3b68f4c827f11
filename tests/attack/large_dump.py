#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A dump of a large cluster through `berth simulate`: how much memory and time it takes.

Writes what `kubectl get nodes,pods -A -o json` and `-o yaml` print for a cluster of many pods and
reads both. Only berth can do this; there is no such command in kube-scheduler.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PENDING = 10    # pods without a node


def managed_fields(manager, times):
    """Added to every object by server-side apply; scheduling does not keep them."""
    fields = {f'k:{{"name":"part-{i}"}}': {".": {}, "f:image": {}, "f:resources": {
        ".": {}, "f:limits": {".": {}, "f:cpu": {}, "f:memory": {}}}} for i in range(8)}
    return [{"apiVersion": "v1", "fieldsType": "FieldsV1", "manager": manager, "operation": "Update",
             "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:containers": fields}}}] * times


def make_node(i, times):
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": f"node-{i}", "uid": f"n{i}", "managedFields": managed_fields("kubelet", times),
                         "labels": {"kubernetes.io/hostname": f"node-{i}"}},
            "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110"}}}


def make_pod(i, nodes, bound, times):
    spec = {"containers": [{"name": "main", "image": "registry.test/app:1", "imagePullPolicy": "Always",
                            "env": [{"name": f"SETTING_{k}", "value": "x" * 40} for k in range(12)],
                            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}],
            "priority": 0, "schedulerName": "default-scheduler", "serviceAccountName": "default"}
    status = {"phase": "Pending"}
    if bound:
        spec["nodeName"] = f"node-{i % nodes}"
        status = {"phase": "Running", "podIP": "10.0.0.1", "containerStatuses": [
            {"name": "main", "image": "registry.test/app:1", "imageID": "sha256:" + "0" * 64,
             "ready": True, "restartCount": 0, "containerID": "containerd://" + "0" * 64}]}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": f"pod-{i}", "namespace": f"team-{i % 50}", "uid": f"p{i}",
                         "labels": {"app": f"app-{i % 100}"}, "managedFields": managed_fields("kubelet", times)},
            "spec": spec, "status": status}


def objects(pods, times):
    """times: the number of copies of the fields that are not kept."""
    nodes = pods // 50 + 1
    for i in range(nodes):
        yield make_node(i, times)
    for i in range(pods):
        yield make_pod(i, nodes, i >= PENDING, times)


def yaml_lines(value, indent, out):
    """The block style of kubectl."""
    pad = "  " * indent
    for key, v in sorted(value.items()):
        key = key if key.replace("-", "").replace("/", "").replace(".", "").isalnum() else json.dumps(key)
        if isinstance(v, dict) and v:
            out.append(f"{pad}{key}:")
            yaml_lines(v, indent + 1, out)
        elif isinstance(v, list) and v:
            out.append(f"{pad}{key}:")
            for item in v:
                yaml_item(item, indent, out)
        else:
            out.append(f"{pad}{key}: {json.dumps(v)}")


def yaml_item(item, indent, out):
    first = len(out)
    yaml_lines(item, indent + 1, out)
    out[first] = "  " * indent + "- " + out[first].lstrip()


def write_json(path, pods, times):
    with open(path, "w") as f:
        f.write('{\n    "apiVersion": "v1",\n    "items": [\n')
        for i, o in enumerate(objects(pods, times)):
            f.write((",\n" if i else "") + json.dumps(o, indent=4, sort_keys=True))
        f.write('\n    ],\n    "kind": "List",\n    "metadata": {"resourceVersion": ""}\n}\n')


def write_yaml(path, pods, times):
    with open(path, "w") as f:
        f.write("apiVersion: v1\nitems:\n")
        for o in objects(pods, times):
            lines = []
            yaml_item(o, 0, lines)
            f.write("\n".join(lines) + "\n")
        f.write('kind: List\nmetadata:\n  resourceVersion: ""\n')


def measure(berth, path):
    """Seconds, peak memory in bytes, and pods placed."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as out:
        p = subprocess.Popen([berth, "simulate", "-o", "json", path], stdout=out,
                             env={**os.environ, "MALLOC_ARENA_MAX": "1"})
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        if p.returncode:
            sys.exit(f"{path}: exit code {p.returncode}")
        out.seek(0)
        placed = sum(1 for pod in json.load(out) if pod["node"])
    return time.monotonic() - began, usage.ru_maxrss * 1024, placed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--subject", choices=["berth"], default="berth")
    parser.add_argument("--berth", default=os.path.join(ROOT, "build", "berth"))
    parser.add_argument("--short", action="store_true", help="a small cluster")
    parser.add_argument("--pods", type=int, help="number of pods in the cluster")
    args = parser.parse_args()
    pods = args.pods or (1_000 if args.short else 200_000)
    figures = {"pods": pods}
    with tempfile.TemporaryDirectory(prefix="berth-dump-") as d:
        for form, write in (("JSON", write_json), ("YAML", write_yaml)):
            path = os.path.join(d, f"dump.{form.lower()}")
            for times in (1, 8) if args.short else (1,):
                print(f"writing {path}", file=sys.stderr)
                write(path, pods, times)
                size = os.path.getsize(path)
                print(f"reading {size >> 20} MiB of {form}", file=sys.stderr)
                seconds, peak, placed = measure(args.berth, path)
                what = form if times == 1 else f"{form} with {times} times the fields that are not kept"
                figures |= {f"{what}: size, MB": round(size / 1e6, 1),
                            f"{what}: peak memory, MB": round(peak / 1e6, 1),
                            f"{what}: time, s": round(seconds, 2),
                            f"{what}: pending pods placed": placed}
                os.unlink(path)
    print(json.dumps({"attack": "large_dump", "subject": args.subject, "figures": figures}))


if __name__ == "__main__":
    main()
