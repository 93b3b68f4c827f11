#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A running berth reloads plugins whose shared object has changed, and keeps those it cannot load."""

import os
import time

import berth
from berth import (TIMEOUT, add_nodes, add_pods, check, equal, make_node, make_pod, node_of,
                   scheduler_config, start, wait_bound, wait_for, wait_unschedulable)
from cluster import Cluster
from plugin_build import build, hold, only
from tap import contains, main, note, test

RELOADED, REFUSED = "Plugin reloaded", "Failed to reload plugins"


def lines(p, *parts):
    return [line for line in p.text().splitlines() if all(part in line for part in parts)]


def told(p, *parts, n=1):
    wait_for(lambda: len(lines(p, *parts)) >= n, TIMEOUT, what=f"{n} lines with {parts}")
    return lines(p, *parts)[-1]


def profile(*plugins, name="default-scheduler"):
    multi = {"enabled": [{"name": n} for n in plugins]}
    return {"schedulerName": name, "plugins": {"multiPoint": multi}}


def begin(c, *flags, profiles):
    add_nodes(c, make_node("n0"), make_node("n1"))
    p = start(c, "-v=2", *flags, config=scheduler_config(c, "plugins", profiles=profiles))
    told(p, "Scheduling started")
    return p


def place(c, name):
    add_pods(c, make_pod(name, cpu="1m", memory="1Mi"))
    return wait_bound(c, name)


@test
def a_changed_file_counts_from_the_next_pod_on(c):
    path = build(c.dir, "only.so", only("n0"))
    p = begin(c, "--plugin", path, profiles=[profile("Only")])
    equal(place(c, "before"), "n0", "node")
    changed = time.monotonic()
    build(c.dir, "only.so", only("n1"))
    told(p, RELOADED, path)
    equal(place(c, "after"), "n1", "node")
    note(f"from the change to a pod placed by it: {time.monotonic() - changed:.1f} s")
    check(not lines(p, REFUSED), "nothing is refused")


@test
def pods_that_the_old_code_refused_are_tried_again(c):
    path = build(c.dir, "only.so", only("nowhere"))
    p = begin(c, "--plugin", path, profiles=[profile("Only")])
    add_pods(c, make_pod("web"))
    contains(wait_unschedulable(c, "web")["message"], "2 not nowhere")
    build(c.dir, "only.so", only("n1"))
    equal(wait_bound(c, "web"), "n1", "node")
    contains(told(p, RELOADED), "podsMoved=1")


@test
def a_broken_file_keeps_the_plugin_that_runs(c):
    path = build(c.dir, "only.so", only("n0"))
    p = begin(c, "--plugin", path, profiles=[profile("Only")])
    with open(path, "rb") as f:
        whole = f.read()
    # Truncated in place, as a compiler or `cp` writes it: the code that runs is in memory.
    with open(path, "wb") as f:
        f.write(whole[:len(whole) // 2])
    contains(told(p, REFUSED), "cut off or damaged")
    equal(place(c, "half"), "n0", "node")
    os.remove(path)
    contains(told(p, REFUSED, "No such file"), path)
    equal(place(c, "gone"), "n0", "node")
    build(c.dir, "only.so", only("n1").replace('HEAD("Only"', 'HEAD("Other"'))
    contains(told(p, REFUSED, "does not exist"), 'Plugin \\"Only\\"')
    equal(place(c, "other"), "n0", "node")
    refusing = 'snprintf(error->text, sizeof(error->text), "no luck"); free(self); return 1;'
    build(c.dir, "only.so", "#include <stdio.h>\n" + only("n1", create=refusing))
    contains(told(p, REFUSED, "no luck"), "initializing plugin")
    equal(place(c, "unlucky"), "n0", "node")
    build(c.dir, "only.so", only("n1"))
    told(p, RELOADED)
    equal(place(c, "good"), "n1", "node")


@test
def files_come_to_a_directory_and_go(c):
    directory = os.path.join(c.dir, "plugins")
    os.makedirs(directory, exist_ok=True)
    build(directory, "only.so", only("n0"))
    p = begin(c, "--plugin-dir", directory, profiles=[profile("Only")])
    equal(place(c, "one"), "n0", "node")
    # A configuration that names a plugin which comes a moment later.
    scheduler_config(c, "plugins", profiles=[profile("Only"), profile("Later", name="later")])
    told(p, "Failed to reload the configuration", "Later")
    build(directory, "later.so", only("n1", "Later"))
    told(p, "Plugin loaded", "later.so")
    told(p, "Configuration reloaded")
    add_pods(c, make_pod("two", scheduler_name="later"))
    equal(wait_bound(c, "two"), "n1", "node")
    scheduler_config(c, "plugins", profiles=[profile("Only")])
    told(p, "Configuration reloaded", n=2)
    os.remove(os.path.join(directory, "later.so"))
    told(p, "Plugin removed", "later.so")
    equal(place(c, "three"), "n0", "node")


@test
def nothing_is_lost_while_plugins_change_under_load(c):
    path = build(c.dir, "only.so", only("n0"))
    p = begin(c, "--plugin", path, profiles=[profile("Only")])
    for round_ in range(4):
        add_pods(c, *(make_pod(f"pod-{round_}-{i}", cpu="1m", memory="1Mi") for i in range(15)))
        build(c.dir, "only.so", only(f"n{(round_ + 1) % 2}"))
        told(p, RELOADED, n=round_ + 1)
    names = [f"pod-{r}-{i}" for r in range(4) for i in range(15)]
    equal({wait_bound(c, name) for name in names}, {"n0", "n1"}, "nodes")
    equal(place(c, "last"), "n0", "node of the last version")


@test
def a_pod_that_permit_holds_waits_on_and_the_new_code_may_allow_it(c):
    path = build(c.dir, "hold.so", hold(1))
    p = begin(c, "--plugin", path, profiles=[profile("Hold")])
    add_pods(c, make_pod("held"))
    place(c, "other")
    equal(node_of(c, "held"), None, "node of the pod that waits")
    build(c.dir, "hold.so", hold(2))
    told(p, RELOADED)
    equal(node_of(c, "held"), None, "node after the reload")
    place(c, "go")
    wait_bound(c, "held")
    told(p, "Hold 1 ends PreBind", "default/held")
    told(p, "Hold 2 ends PreBind", "default/go")
    wait_for(lambda: [x for x in lines(p, "Hold 1 ends") if "PreBind" not in x], TIMEOUT,
             what="the old instance ends with its last pod")


@test
def code_that_runs_on_a_worker_ends_before_it_is_unloaded(c):
    path = build(c.dir, "hold.so", hold(1, seconds=5))
    p = begin(c, "--plugin", path, profiles=[profile("Hold")])
    add_pods(c, make_pod("slow"))
    told(p, "Hold 1 begins PreBind")
    build(c.dir, "hold.so", hold(2))
    told(p, RELOADED)
    check(not lines(p, "Hold 1 ends PreBind"), "it still runs")
    place(c, "quick")
    wait_bound(c, "slow")
    told(p, "Hold 1 ends PreBind", "default/slow")
    told(p, "Hold 2 ends PreBind", "default/quick")


@test
def the_configuration_may_come_from_standard_input(c):
    """It cannot be read again; plugins are reloaded with the one that is in use."""
    path = build(c.dir, "only.so", only("n0"))
    config = scheduler_config(c, "plugins", profiles=[profile("Only")])
    add_nodes(c, make_node("n0"), make_node("n1"))
    fifo = os.path.join(c.dir, "config.fifo")
    os.mkfifo(fifo)
    p = start(c, "-v=2", "--plugin", path, config=fifo)
    with open(config) as f, open(fifo, "w") as out:
        out.write(f.read())
    told(p, "Scheduling started")
    equal(place(c, "before"), "n0", "node")
    build(c.dir, "only.so", only("n1"))
    told(p, RELOADED)
    equal(place(c, "after"), "n1", "node")
    os.remove(fifo)
    check(node_of(c, "before") == "n0", "it stays")


if __name__ == "__main__":
    main(fixture=Cluster, after=berth.reset)
