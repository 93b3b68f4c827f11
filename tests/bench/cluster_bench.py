#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kube-scheduler, berth and two reference clients in turn on one real cluster.

tests/bench/README.md says what is measured and how; `make bench` builds what this needs.
"""

import argparse
import contextlib
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))

from cluster import Cluster, Process, free_port, make_node, make_pod, wait_for  # noqa: E402

GROUPS = 20
AMOUNTS = 4000
CREATE_IN_FLIGHT = 64
SETTLE = 1.0        # seconds between creating pods and starting a scheduler
EVENTS_PATIENCE = 3 # seconds without a further event
QUIET = 0.5         # a process without CPU use for so long is idle

WAITING = ("kube-scheduler", "berth", "binds", "binds+events")
ARRIVING = ("kube-scheduler", "berth")
TITLES = {"binds": "only binds", "binds+events": "binds, with events"}

# The results of a run: key, heading, format.
COLUMNS = (("pods_per_s", "pods/s", "{:.0f}"), ("events_per_s", "with events", "{:.0f}"),
           ("cpu_ms_per_pod", "CPU ms/pod", "{:.3f}"), ("server_ms_per_pod", "server ms/pod", "{:.2f}"),
           ("peak_rss_mb", "peak RSS MB", "{:.1f}"), ("first_bind_s", "first bind s", "{:.3f}"),
           ("p50_ms", "p50 ms", "{:.1f}"), ("p99_ms", "p99 ms", "{:.1f}"))
REQUESTS = re.compile(r"apiserver_request_total\{(.*)\} (\S+)$")
# A ratio: key, figure, the program that berth is compared with.
RATIOS = (("rate_vs_kube", "pods_per_s", "kube-scheduler"),
          ("rate_vs_binds_events", "pods_per_s", "binds+events"),
          ("rate_vs_binds", "pods_per_s", "binds"),
          ("events_vs_binds_events", "events_per_s", "binds+events"),
          ("cpu_vs_kube", "cpu_ms_per_pod", "kube-scheduler"),
          ("rss_vs_kube", "peak_rss_mb", "kube-scheduler"),
          ("first_bind_vs_kube", "first_bind_s", "kube-scheduler"),
          ("p50_vs_kube", "p50_ms", "kube-scheduler"),
          ("p99_vs_kube", "p99_ms", "kube-scheduler"))


def say(text=""):
    print(text, flush=True)


class Progress:
    """One line that is overwritten on a terminal, and omitted elsewhere."""

    def __init__(self, what):
        self.what, self.shown = what, 0

    def show(self, text):
        if sys.stderr.isatty():
            line = f"  {self.what}: {text}"
            print("\r" + line.ljust(self.shown), end="", file=sys.stderr, flush=True)
            self.shown = len(line)

    def clear(self):
        if self.shown:
            print("\r" + " " * self.shown + "\r", end="", file=sys.stderr, flush=True)
            self.shown = 0


# ---- objects -------------------------------------------------------------------------------------

def rows():
    with open(os.path.join(HERE, "rows.json")) as f:
        return json.load(f)


def fill_in(value, i, **more):
    """The row's template with the numbers of pod i in its texts."""
    if isinstance(value, dict):
        return {k: fill_in(v, i, **more) for k, v in value.items()}
    if isinstance(value, list):
        return [fill_in(v, i, **more) for v in value]
    if isinstance(value, str):
        for name, number in (("i", i), ("group", i % GROUPS), ("amount", 1 + i % AMOUNTS),
                             *more.items()):
            value = value.replace("{" + name + "}", str(number))
    return value


def is_namespaced(resource):
    return resource.startswith(("persistentvolumeclaims", "resourceclaim"))


def device_of(k):
    """Device number k of a node: two NUMA nodes, as many devices on each."""
    return {"name": f"d-{k}", "attributes": {"numa": {"int": k % 2}, "model": {"string": "a100"}},
            "capacity": {"memory": {"value": "40Gi"}}}


def objects_of(template, namespace, pods, nodes):
    """What a row needs besides its pods: an object per pod, per node or per run."""
    count = {"pod": pods, "node": nodes, "run": 1}[template["each"]]
    for i in range(count):
        o = fill_in(template["object"], i, namespace=namespace, node=f"node-{i:05}")
        if "devices" in template:
            o["spec"]["devices"] = [device_of(k) for k in range(template["devices"])]
        yield o


def pod_of(row, i, namespace):
    requests = fill_in(row["requests"], i)
    return make_pod(f"pod-{i:05}", ns=namespace, cpu=requests["cpu"], memory=requests["memory"],
                    labels=fill_in(row["metadata"].get("labels"), i), spec=fill_in(row["spec"], i))


def node_of(i):
    return make_node(f"node-{i:05}", zone=f"zone-{i % 3}",
                     labels={"disk": "hdd" if i % 2 else "ssd"})


# ---- processes -----------------------------------------------------------------------------------

def peak_rss_mb(p):
    with open(f"/proc/{p.pid}/status") as f:
        for line in f:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0


def cpu_when_quiet(p, timeout=30):
    """User and system seconds, once the process is idle: events are written after bindings."""
    used, end = p.cpu_seconds(), time.monotonic() + timeout
    while time.monotonic() < end:
        time.sleep(QUIET)
        now = p.cpu_seconds()
        if now - used <= 0.02 * QUIET / 0.5:
            return now
        used = now
    return used


class Bench:
    def __init__(self, options, cluster):
        self.options, self.c = options, cluster
        self.count = 0

    # -- the helper --

    def load(self, *args, **more):
        return subprocess.Popen([self.options.load, *[str(a) for a in args]], text=True,
                                stdout=subprocess.PIPE, **more)

    def post(self, resource, namespace, objects, rate=0):
        p = self.load("post", self.c.admin_kubeconfig, resource, namespace, CREATE_IN_FLIGHT, rate,
                      stdin=subprocess.PIPE)
        out, _ = p.communicate("".join(json.dumps(o, separators=(",", ":")) + "\n"
                                       for o in objects))
        if p.returncode != 0:
            raise SystemExit(f"bench: {resource} could not be created")
        return json.loads(out)

    def watch(self, namespace, pods):
        p = self.load("watch", self.c.admin_kubeconfig, namespace, pods, self.options.timeout)
        for line in p.stdout:
            if "ready" in json.loads(line):
                return p
        raise SystemExit("bench: the watch did not begin")

    # -- the schedulers --

    def config(self):
        """The same file for both: no leader election, no client-side limits."""
        path = os.path.join(self.c.dir, "bench.config.json")
        config = {"apiVersion": "kubescheduler.config.k8s.io/v1",
                  "kind": "KubeSchedulerConfiguration",
                  "leaderElection": {"leaderElect": False},
                  "clientConnection": {"kubeconfig": self.c.scheduler_kubeconfig,
                                       "qps": 100000, "burst": 100000}}
        with open(path, "w") as f:
            json.dump(config, f)
        return path

    def start(self, who, row, namespace):
        """Starts the process. Returns it and the time of its start."""
        config = self.config()
        common = [f"--config={config}", f"--secure-port={free_port()}", "--bind-address=127.0.0.1"]
        in_flight = str(self.options.in_flight)
        argv = {
            "kube-scheduler": [os.path.join(self.c.bin, "kube-scheduler"), *common,
                               f"--authentication-kubeconfig={self.c.scheduler_kubeconfig}",
                               f"--authorization-kubeconfig={self.c.scheduler_kubeconfig}"],
            "berth": [self.options.berth, "scheduler", *common],
            "binds": [self.options.load, "bind", self.c.scheduler_kubeconfig, namespace, in_flight,
                      row.get("writes", "-")],
            "binds+events": [self.options.load, "bind-events", self.c.scheduler_kubeconfig,
                             namespace, in_flight, row.get("writes", "-")],
        }[who]
        wrap = self.options.wrap.split() if who == "berth" and self.options.wrap else []
        log = os.path.join(self.c.dir, f"{who}.{self.count}.log")
        began = time.monotonic_ns()
        p = Process(who, wrap + argv, log)
        self.c.children.append(p)
        return p, began

    def follow(self, watch, who, process, progress):
        """The watch's result; shows its progress."""
        for line in watch.stdout:
            told = json.loads(line)
            if "bound" in told:
                progress.show(f"{told['bound']} pods bound")
                if not process.running() and who in ARRIVING:
                    process_log = process.text()[-2000:]
                    raise SystemExit(f"bench: {who} ended:\n{process_log}")
            if "result" in told:
                watch.wait()
                return told["result"]
        raise SystemExit("bench: the watch broke off")

    def start_controllers(self, row):
        """The controllers that the objects of this row need: see tests/controllers."""
        p = Process("controllers", [self.options.controllers, self.c.admin_kubeconfig,
                                    *row["controllers"]],
                    os.path.join(self.c.dir, f"controllers.{self.count}.log"))
        self.c.children.append(p)
        wait_for(lambda: "ready" in p.text(), 120, what="the controllers are ready")
        return p

    # -- one run --

    def run(self, row, variant, who):
        self.count += 1
        o, namespace = self.options, f"bench-{self.count}"
        progress = Progress(f"{row['name']}, {variant}, {who}")
        # The connection may have been idle for too long: a GET finds out, a POST would fail.
        self.c.request("GET", "/readyz")
        self.c.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        pods = o.pods if variant == "waiting" else o.arriving
        objects = [pod_of(row, i, namespace) for i in range(pods)]
        with contextlib.ExitStack() as stack:
            stack.callback(self.clean, namespace, progress)
            for template in row.get("objects", ()):
                progress.show("creating " + template["resource"])
                stack.callback(self.clean_objects, template, namespace)
                where = namespace if is_namespaced(template["resource"]) else "-"
                self.post(template["resource"], where,
                          objects_of(template, namespace, pods, o.nodes))
            for resource in row.get("made", ()):
                stack.callback(self.clean_objects, {"resource": resource}, namespace)
            controllers = self.start_controllers(row) if "controllers" in row else None
            if controllers:
                stack.callback(self.end, controllers)
                stack.callback(cpu_when_quiet, controllers, 60)
            if variant == "waiting":
                progress.show("creating pods")
                self.post("pods", namespace, objects)
                time.sleep(SETTLE)
            if controllers:
                progress.show("waiting for the controllers")
                cpu_when_quiet(controllers, 300)
            watch = self.watch(namespace, pods)
            stack.callback(watch.kill)
            before = self.server_costs()
            process, began = self.start(who, row, namespace)
            stack.callback(self.end, process)
            if variant == "arriving":
                time.sleep(o.warm_up)
                self.post("pods", namespace, objects, rate=o.rate)
            seen = self.follow(watch, who, process, progress)
            figures = self.figures(seen, began, variant, pods)
            figures.update(self.server_costs_since(before, pods))
            if variant == "waiting" and who != "binds":
                count, rate = self.events(namespace, pods, seen["first_ns"])
                figures.update(events=count, events_per_s=rate)
            return self.add_cost(figures, process)

    def server_costs(self):
        """CPU seconds of the API server and etcd, and the requests so far."""
        cpu = self.c.apiserver.cpu_seconds() + self.c.etcd.cpu_seconds()
        found = {}
        if self.options.requests:
            for line in self.c.request("GET", "/metrics").decode().splitlines():
                counted = REQUESTS.match(line)
                if counted:
                    labels = dict(re.findall(r'(\w+)="([^"]*)"', counted[1]))
                    name = " ".join(labels[k] for k in ("verb", "resource", "subresource", "code"))
                    found[name] = found.get(name, 0) + float(counted[2])
        return cpu, found

    def server_costs_since(self, before, pods):
        cpu, requests = self.server_costs()
        made = {k: int(v - before[1].get(k, 0)) for k, v in sorted(requests.items())
                if v > before[1].get(k, 0)}
        return {"server_ms_per_pod": (cpu - before[0]) * 1000 / pods,
                **({"requests": made} if made else {})}

    def events(self, namespace, pods, first_ns):
        """Events a second, from the first binding to the last event; and their number.

        Schedulers write them after the bindings, and may drop some: when none has arrived for a
        while there are no more.
        """
        path = f"/api/v1/namespaces/{namespace}/events?limit=1"
        count, last = 0, time.monotonic_ns()
        while count < pods and time.monotonic_ns() - last < EVENTS_PATIENCE * 1e9:
            found = self.c.get(path)
            now = len(found["items"]) + found["metadata"].get("remainingItemCount", 0)
            if now > count:
                count, last = now, time.monotonic_ns()
            if count < pods:
                time.sleep(0.1)
        return count, count * 1e9 / max(1, last - first_ns)

    @staticmethod
    def figures(seen, began, variant, pods):
        figures = {"pods": pods, "bound": seen["bound"]}
        seconds = (seen["last_ns"] - seen["first_ns"]) / 1e9
        figures["seconds"] = seconds
        figures["pods_per_s"] = (seen["bound"] - 1) / seconds if seconds > 0 else 0.0
        if variant == "waiting":
            figures["first_bind_s"] = (seen["first_ns"] - began) / 1e9
        else:
            figures["p50_ms"] = seen["p50_ns"] / 1e6
            figures["p99_ms"] = seen["p99_ns"] / 1e6
        return figures

    @staticmethod
    def add_cost(figures, process):
        if process.running() and process.name in ARRIVING:
            figures["cpu_ms_per_pod"] = cpu_when_quiet(process) * 1000 / max(1, figures["bound"])
            figures["peak_rss_mb"] = peak_rss_mb(process)
        return figures

    def end(self, process):
        process.terminate(10)
        self.c.children.remove(process)

    def clean_objects(self, template, namespace):
        """Deletes what a row created. Schedulers put finalizers on resource claims."""
        resource, _, group = template["resource"].partition(".")
        if resource == "resourceclaims":
            self.load("unfinalize", self.c.admin_kubeconfig, template["resource"], namespace,
                      CREATE_IN_FLIGHT).communicate()
        path = f"/apis/{group}/v1/" if group else "/api/v1/"
        if is_namespaced(template["resource"]):
            path += f"namespaces/{namespace}/"

        def gone():
            # The controllers' last requests may still be executed.
            if self.c.get(f"{path}{resource}?limit=1")["items"]:
                self.c.delete(path + resource)
            return not self.c.get(f"{path}{resource}?limit=1")["items"]
        wait_for(gone, 120, what=f"{resource} are gone")

    def clean(self, namespace, progress):
        progress.show("deleting pods")
        path = f"/api/v1/namespaces/{namespace}/pods"
        self.c.delete(path + "?gracePeriodSeconds=0")
        self.c.delete(f"/api/v1/namespaces/{namespace}/events")
        wait_for(lambda: not self.c.get(path + "?limit=1")["items"], 120, what="pods are gone")
        progress.clear()


# ---- output --------------------------------------------------------------------------------------

def spread(values):
    """Median, and the range where there are several."""
    middle = statistics.median(values)
    return middle, min(values), max(values)


def cell(values, form):
    if not values:
        return "-"
    middle, low, high = spread(values)
    text = form.format(middle)
    return text if len(values) == 1 else f"{text} ({form.format(low)}-{form.format(high)})"


def values_of(runs, row, variant, who, key):
    return [r[key] for r in runs if (r["row"], r["variant"], r["who"]) == (row, variant, who)
            and key in r]


def ratios_of(runs, row, variant):
    """berth's figure divided by another's, by medians."""
    found = {}
    for name, key, other in RATIOS:
        ours = values_of(runs, row, variant, "berth", key)
        theirs = values_of(runs, row, variant, other, key)
        if ours and theirs and statistics.median(theirs) > 0:
            found[name] = statistics.median(ours) / statistics.median(theirs)
    return found


def table(runs, row, variant):
    columns = [c for c in COLUMNS
               if any(c[0] in r for r in runs if (r["row"], r["variant"]) == (row["name"], variant))]
    whos = [w for w in WAITING if values_of(runs, row["name"], variant, w, "bound")]
    lines = [["", "bound", *[c[1] for c in columns]]]
    for who in whos:
        bound = values_of(runs, row["name"], variant, who, "bound")
        lines.append([TITLES.get(who, who), str(min(bound))] +
                     [cell(values_of(runs, row["name"], variant, who, key), form)
                      for key, _, form in columns])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    say(f"\n{row['title']}, pods {variant}")
    for line in lines:
        say("  " + line[0].ljust(widths[0]) +
            "".join("  " + text.rjust(w) for text, w in zip(line[1:], widths[1:])))
    for run in runs:
        if (run["row"], run["variant"]) == (row["name"], variant) and "requests" in run:
            say(f"  requests of {run['who']}: " +
                ", ".join(f"{k} {v}" for k, v in run["requests"].items()))
    ratios = ratios_of(runs, row["name"], variant)
    if ratios:
        say("  berth: " + ", ".join(f"{k} {v:.3g}" for k, v in ratios.items()))


def write_json(options, runs, chosen):
    summary = [{"row": row["name"], "variant": variant, **ratios_of(runs, row["name"], variant)}
               for row in chosen for variant in ("waiting", "arriving")
               if any((r["row"], r["variant"]) == (row["name"], variant) for r in runs)]
    report = {
        "machine": {"cores": len(os.sched_getaffinity(0)), "kernel": platform.release(),
                    "processor": processor()},
        "options": {"nodes": options.nodes, "pods": options.pods, "arriving": options.arriving,
                    "rate": options.rate, "runs": options.runs, "in_flight": options.in_flight},
        "runs": runs, "ratios": summary,
    }
    os.makedirs(os.path.dirname(os.path.abspath(options.output)), exist_ok=True)
    with open(options.output, "w") as f:
        json.dump(report, f, indent=1)
        f.write("\n")


def processor():
    with contextlib.suppress(OSError):
        with open("/proc/cpuinfo") as f:
            for line in f:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    return platform.machine()


# ---- main ----------------------------------------------------------------------------------------

def parse_args():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("--nodes", type=int, default=5000)
    p.add_argument("--pods", type=int, default=5000, help="waiting pods per row")
    p.add_argument("--arriving", type=int, default=500, help="pods that arrive later; 0: none")
    p.add_argument("--rate", type=int, default=50, help="arriving pods per second")
    p.add_argument("--runs", type=int, default=1, help="runs of each row")
    p.add_argument("--rows", default="", help="comma-separated names of rows; default: all")
    p.add_argument("--only", default="", help="comma-separated programs to run: " + ", ".join(WAITING))
    p.add_argument("--in-flight", type=int, default=64, help="concurrent requests of the reference clients")
    p.add_argument("--warm-up", type=float, default=5, help="seconds before pods arrive")
    p.add_argument("--timeout", type=int, default=600, help="seconds for one run")
    p.add_argument("--berth", default=os.path.join(ROOT, "build", "berth"))
    p.add_argument("--load", default=os.path.join(ROOT, "build", "berth-load"))
    p.add_argument("--controllers", default=os.path.join(ROOT, "build", "berth-controllers"))
    p.add_argument("--requests", action="store_true",
                   help="also show the requests that the API server answered")
    p.add_argument("--wrap", default="", help="a command to run berth with, such as perf record")
    p.add_argument("--output", default=os.path.join(ROOT, "build", "bench.json"))
    options = p.parse_args()
    names = [n for n in options.rows.split(",") if n]
    unknown = set(names) - {r["name"] for r in rows()}
    if unknown:
        p.error("no such row: " + ", ".join(sorted(unknown)))
    options.chosen = [r for r in rows() if not names or r["name"] in names]
    options.who = [n for n in options.only.split(",") if n] or list(WAITING)
    return options


def plan(options):
    """(row, variant, program), each program next to its rivals; the order changes with every
    run."""
    for turn in range(options.runs):
        for row in options.chosen:
            for variant, all_who in (("waiting", WAITING), ("arriving", ARRIVING)):
                if variant == "arriving" and options.arriving == 0:
                    continue
                who = [w for w in all_who if w in options.who]
                for w in who[turn % len(who):] + who[:turn % len(who)] if who else []:
                    yield turn, row, variant, w


def main():
    options = parse_args()
    runs = []
    # Deleting is not measured: no limits.
    with Cluster(apiserver_args=["--delete-collection-workers=16", "--disable-admission-plugins="
                                 "TaintNodesByCondition,ServiceAccount,StorageObjectInUseProtection"
                                 ]) as c:
        bench = Bench(options, c)
        say(f"bench: {options.nodes} nodes on {len(os.sched_getaffinity(0))} cores, "
            f"{processor()}")
        bench.post("nodes", "-", [node_of(i) for i in range(options.nodes)])
        told = None
        for turn, row, variant, who in plan(options):
            if told and told != (row, variant) and options.runs == 1:
                table(runs, *told)
            told = (row, variant)
            figures = bench.run(row, variant, who)
            runs.append({"row": row["name"], "variant": variant, "who": who, "run": turn, **figures})
            write_json(options, runs, options.chosen)
            if options.runs > 1:
                say(f"  {row['name']:14} {variant:9} {who:15} " + "  ".join(
                    f"{title} {form.format(figures[key])}" for key, title, form in COLUMNS
                    if key in figures))
        if options.runs == 1:
            table(runs, *told)
        else:
            for row in options.chosen:
                for variant in ("waiting", "arriving"):
                    if any((r["row"], r["variant"]) == (row["name"], variant) for r in runs):
                        table(runs, row, variant)
    say(f"\neverything is in {os.path.relpath(options.output)}")
    return 0 if all(r["bound"] == r["pods"] for r in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
