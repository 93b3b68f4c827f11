#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Flags, compared with the real kube-scheduler: under that name berth accepts and rejects the same
flags, with the same exit code and messages. Removed flags keep the rest of their meaning."""

import http.server
import json
import os
import re
import subprocess
import tempfile
import threading

import berth
import recall
from berth import check, equal
from cluster import programs
from config_text import KUBECONFIG
from tap import contains, main, note, test

# Flag: values that both accept, values that both reject. "" is a value, None is none.
TABLE = {
    "config": ([], ["nosuch.yaml"]),
    "master": (["http://127.0.0.1:2", ""], [None]),
    "write-config-to": (["other.yaml"], [None]),
    "bind-address": (["127.0.0.1", "::1", "::", ""], ["abc", "1.2.3", "01.2.3.4", "1.2.3.4/8"]),
    "cert-dir": ([""], [None]),
    "disable-http2-serving": ([None, "true", "F", "0"], ["maybe", "yes", ""]),
    "http2-max-streams-per-connection": (["0", "250", "-1", "0x10", "010", "1_000", "0b1"],
                                         ["1.5", "", "a", "99999999999999999999", "1_", "0x",
                                          "1__0", "_1", "08"]),
    "permit-address-sharing": ([None, "TRUE"], ["2"]),
    "permit-port-sharing": ([None, "false"], ["tRue"]),
    "secure-port": (["0"], ["abc", "65536", "-1", "99999999999999999999", "", None]),
    "tls-cert-file": ([""], [None]),
    "tls-cipher-suites": (["a,b", ""], ['a"b', '"a,b', '"a"b']),
    "tls-curve-preferences": (["29", "23,0x18"], ["abc", "99999999999", "", "1,"]),
    "tls-min-version": (["VersionTLS13", "abc"], [None]),
    "tls-private-key-file": ([""], [None]),
    "tls-sni-cert-key": (["a,b", "a,b:c", " a , b : c , d "], ["abc", "a,b:", "a,b,c", ""]),
    "authentication-kubeconfig": ([""], [None]),
    "authentication-skip-lookup": ([None, "false"], ["x"]),
    "authentication-token-webhook-cache-ttl": (["1m", "0", "1.5s", "-2h3m"],
                                               ["5", "abc", "1x", "", "1", "1s5", ".s", "1h2"]),
    "authentication-tolerate-lookup-failure": (["false"], ["x"]),
    "client-ca-file": ([""], [None]),
    "requestheader-allowed-names": (["a,b", ""], [",", " "]),
    "requestheader-client-ca-file": ([""], [None]),
    "requestheader-extra-headers-prefix": (["X-Remote-Extra-", "a"], ["a,"]),
    "requestheader-group-headers": (["x-remote-group,b"], [", "]),
    "requestheader-uid-headers": (["X-REMOTE-UID", "a,x-remote-uid"], ["abc", "x-remote-uid,"]),
    "requestheader-username-headers": (["x-remote-user", "u"], [" "]),
    "authorization-always-allow-paths": (["/a,/b/*", ""], ['"']),
    "authorization-kubeconfig": ([""], [None]),
    "authorization-webhook-cache-authorized-ttl": (["1h"], ["1d"]),
    "authorization-webhook-cache-unauthorized-ttl": (["1ms"], ["one"]),
    "contention-profiling": (["false"], ["x"]),
    "kube-api-burst": (["5", "0x10"], ["abc", "3000000000", "1.0"]),
    "kube-api-content-type": (["application/json"], [None]),
    "kube-api-qps": (["5", "0.1", "1e3"], ["abc", "1e40", "", " 5", "5 "]),
    "kubeconfig": ([], [None]),
    "pod-max-in-unschedulable-pods-duration": (["1h"], ["1"]),
    "profiling": (["false"], ["x"]),
    "leader-elect": ([None, "false"], ["maybe"]),
    "leader-elect-lease-duration": (["20s"], ["5", "x"]),
    "leader-elect-renew-deadline": (["5s"], ["5", "x"]),
    "leader-elect-resource-lock": (["leases"], [None, "endpoints", "configmaps", "endpointsleases",
                                                "configmapsleases", "abc", ""]),
    "leader-elect-resource-name": (["a"], [None]),
    "leader-elect-resource-namespace": (["a"], [None]),
    "leader-elect-retry-period": (["1s"], ["x"]),
    "emulated-version": (["1.36", "1.35", "1.34", "1.33", "kube=1.35", "v1.35", "1.35.0", ""],
                         ["abc", "1", "1.30", "1.37", "1.35.1", "wardle=1.35", "1.34,1.35", "2.0",
                          "kube=", "=1.35"]),
    "feature-gates": (["AllAlpha=true", "AllBeta=true", "AllBeta=false", "AllAlpha=false", "",
                       "kube:AllAlpha=true", "DynamicResourceAllocation=true",
                       "GangScheduling=true,GenericWorkload=true", " NodeDeclaredFeatures = true ",
                       "StorageCapacityScoring=T,,"],
                      ["abc", "Abc=true", "Abc=x", "AllAlpha=maybe", "kube:AllAlpha=1,AllBeta=1",
                       "foo:AllAlpha=true", "a:b:c=true", "DynamicResourceAllocation=false",
                       "MatchLabelKeysInPodTopologySpread=false", "GangScheduling=true",
                       "AllBeta=true,ResourceHealthStatus=false", "NodeDeclaredFeatures="]),
    "min-compatibility-version": (["1.36", "1.33", ""], ["1.37", "1.32", "x", "1.35,1.35"]),
    "allow-metric-labels": (["m,l=v1,v2", '"m,l=a","m,k=b"', '"m,l=a"'],
                            ["abc", "a=b,c", 'a=b,"c=d', "1m,l=x", "m,l=x,y,k=z", "a=b=c"]),
    "allow-metric-labels-manifest": ([""], ["nosuch.yaml"]),
    "disabled-metrics": (["a,b:c", ""], ['a"b', "1a", "a b", "a,"]),
    "show-hidden-metrics-for-version": (["1.35", ""], ["1.34", "abc"]),
    "log-flush-frequency": (["1s"], ["abc", "0", "-1s"]),
    "log-json-info-buffer-size": (["0"], ["abc", "1", "4Ki", "1..2", ""]),
    "log-json-split-stream": (["false"], [None, "x"]),
    "log-text-info-buffer-size": (["0"], ["4Ki", "1Xi"]),
    "log-text-split-stream": (["0"], ["true"]),
    "logging-format": (["text", "json"], ["xml", ""]),
    "v": (["0", "1"], ["abc", "-1", "2147483648", "", "0x1", None]),
    "vmodule": (["", "a=1,b*=2,"], ["abc", "a=x", "=3", "a=-1", "a=1=2", "a=2147483648"]),
    "help": ([None, "true"], ["x"]),
    "version": ([None, "true", "v1.36.3"], ["abc", "vabc", "v1.2.3", "v1.36", "", "v1.36.3-a..b"]),
}

# More than one flag, or none.
TAKEN = [
    [],
    [""],
    ["--version=false"],
    ["--version=v1.36.3-x", "--version"],
    ["-v=1"],
    ["-v1"],
    ["-v", "1"],
    ["-h"],
    ["--help", "surplus"],
    ["--leader_elect=false"],
    ["--"],
    ["--version", "--secure-port=70000"],
    ["--version", "--logging-format=xml"],
    ["--log-text-split-stream", "--feature-gates=LoggingAlphaOptions=true"],
    ["--log-json-info-buffer-size=1k", "--feature-gates=LoggingAlphaOptions=true"],
    ["--feature-gates=GangScheduling=true", "--feature-gates=GenericWorkload=true"],
    ["--tls-cipher-suites=a", "--tls-cipher-suites=b"],
    ["--disabled-metrics=a", "--disabled-metrics=b"],
    ["--allow-metric-labels=m,l=a", "--allow-metric-labels=m,k=b"],
]
REFUSED = [
    ["--nosuch"],
    ["--nosuch=1"],
    ["--no_such"],
    ["---x"],
    ["--=x"],
    ["-x"],
    ["-vx"],
    ["-hx"],
    ["surplus"],
    ["a", "b c"],
    ["--", "--version"],
    ["--version", "--feature-gates=Abc=true"],
    ["--version", "--nosuch"],
    ["--secure-port=70000", "--emulated-version=1.37"],
    ["--secure-port=70000", "--requestheader-allowed-names=,", "--show-hidden-metrics-for-version=1"],
    ["--logging-format=json", "--vmodule=a=1"],
    ["--logging-format=json", "--feature-gates=LoggingBetaOptions=false"],
    ["--requestheader-uid-headers=x-remote-uid", "--feature-gates=RemoteRequestHeaderUID=false"],
    ["--emulated-version=1.35", "--min-compatibility-version=1.36"],
    ["--emulated-version=1.34", "--feature-gates=WorkloadAwarePreemption=true"],
    ["--log-text-split-stream", "--log-json-split-stream"],
    ["--feature-gates=DynamicResourceAllocation=false", "--feature-gates=AllAlpha=x"],
]
# Flags for serving.
SERVED_TAKEN = [
    ["--tls-min-version=VersionTLS12"],
    ["--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_RSA_WITH_RC4_128_SHA"],
    ["--tls-curve-preferences=23,24,25,29,4588"],
]
SERVED_REFUSED = [
    ["--tls-min-version=abc"],
    ["--tls-cipher-suites=abc"],
    ["--tls-curve-preferences=29,1"],
]


def flag_argument(name, value):
    return f"--{name}" if value is None else f"--{name}={value}"


# ---- running both --------------------------------------------------------------------------------

class Both:
    def __enter__(self):
        self.dir = tempfile.TemporaryDirectory()
        self.kubeconfig = os.path.join(self.dir.name, "kubeconfig")
        with open(self.kubeconfig, "w") as f:
            f.write(KUBECONFIG)
        self.out = os.path.join(self.dir.name, "out.yaml")
        # berth under the name that it replaces.
        *prefix, program = berth.command()
        link = os.path.join(self.dir.name, "kube-scheduler")
        os.symlink(program, link)
        self.berth = prefix + [link]
        self.kube = [os.path.join(programs(), "kube-scheduler")]
        return self

    def __exit__(self, *_):
        self.dir.cleanup()

    def run(self, program, arguments):
        if program is self.kube and "--secure-port=0" in arguments:  # others listen, or print help
            return recall.run(program + arguments, self.dir.name, ["out.yaml"], berth.TIMEOUT)
        done = subprocess.run(program + arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=berth.TIMEOUT, cwd=self.dir.name,
                              env=berth.environment())
        check(not berth.SANITIZER_FOUND.search(done.stderr), done.stderr)
        return done

    def base(self, serve=False):
        return ([f"--kubeconfig={self.kubeconfig}", f"--write-config-to={self.out}"] +
                ([] if serve else ["--secure-port=0"]))

    def compare(self, cases, taken, serve=False):
        wrong = []
        for arguments in cases:
            # A flag without its value must be last, and a value may come from the base.
            full = self.base(serve) + arguments
            theirs, ours = self.run(self.kube, full), self.run(self.berth, full)
            want, got = outcome(theirs), outcome(ours)
            if (want[0] == 0) != taken:
                wrong.append(f"{arguments}: kube-scheduler ends with {want}")
            elif got != want:
                wrong.append(f"{arguments}:\n  - {want}\n  + {got}")
        check(not wrong, "\n".join(wrong))


def outcome(done):
    """Exit code, error, and the output of --version."""
    shown = done.stdout if done.stdout.startswith("Kubernetes") else ""
    return done.returncode, error_of(done) if done.returncode else "", shown


def error_of(done):
    found = re.search(r'"command failed" err=("(?:[^"\\]|\\.)*")', done.stderr)
    if found:
        return aggregate(json.loads(found.group(1)))
    lines = done.stderr.rstrip("\n").split("\n")
    return aggregate(lines[-1])


def aggregate(error):
    """Upstream reports some errors in the order of a Go map, and names the failed call."""
    error = re.sub(r"(?:open )?(\S+): [nN]o such file", r"\1: No such file", error)
    if error.startswith("["):
        return sorted(re.split(r", (?=cannot |[a-zA-Z]+ is |--|metrics\.|minComp|empty |emulation |"
                               r"options\.|format: |vmodule: )", error[1:-1]))
    return error


@test
def values_that_kube_scheduler_takes_are_taken(both):
    cases = [[flag_argument(name, v)] for name, (good, _) in TABLE.items() for v in good]
    note(f"{len(TABLE)} flags, {len(cases)} values")
    both.compare(cases, True)


@test
def values_that_kube_scheduler_refuses_are_refused_in_its_words(both):
    cases = [[flag_argument(name, v)] for name, (_, bad) in TABLE.items() for v in bad]
    note(f"{len(cases)} values")
    both.compare(cases, False)


@test
def several_flags_are_taken_and_refused_alike(both):
    both.compare(TAKEN, True)
    both.compare(REFUSED, False)


@test
def names_of_tls_are_checked_where_something_is_served(both):
    both.compare(SERVED_TAKEN, True, serve=True)
    both.compare(SERVED_REFUSED, False, serve=True)


OWN_FLAGS = ("explain-file", "plugin", "plugin-call-limit", "plugin-dir")


def help_of(both, program):
    """Group, flag, type and default of every line of --help; feature gates separately."""
    text = both.run(program, ["--help"]).stdout
    group, rows, gates = None, {}, []
    for line in text.split("\n"):
        heading = re.fullmatch(r"(\S.*) flags:", line)
        flag = re.match(r"  (-\w, |    )--(\S+)( \S+)?   ", line)
        gate = re.fullmatch(r"\s+(kube:\S+=true\|false \(.*\))", line)
        if heading:
            group = heading.group(1)
        elif flag:
            default = re.search(r"\(default (.*)\)$", line)
            rows[flag.group(2)] = (group, flag.group(1).strip(), (flag.group(3) or "").strip(),
                                   default.group(1) if default else None)
        elif gate:
            gates.append(gate.group(1))
    return rows, gates


@test
def help_lists_the_same_flags_types_defaults_and_gates(both):
    (want, want_gates), (got, got_gates) = help_of(both, both.kube), help_of(both, both.berth)
    check(len(want) > 50 and len(want_gates) > 100, f"read {len(want)} and {len(want_gates)}")
    for own in OWN_FLAGS:
        check(got.pop(own), "our own flag")
    equal(list(got.items()), list(want.items()), "flags")
    equal([g for g in got_gates if "Berth" not in g], want_gates, "gates")
    equal(set(want) - set(TABLE), set(), "flags that this test does not know")


@test
def gates_that_an_older_version_lacks_or_locks_are_refused_alike(both):
    _, gates = help_of(both, both.kube)
    names = [re.match(r"kube:(\w+)=", g).group(1) for g in gates]
    for version in ("1.33", "1.35"):
        for value in ("true", "false"):
            arguments = both.base() + [f"--emulated-version={version}", "--feature-gates=" +
                                       ",".join(f"{n}={value}" for n in names)]
            theirs, ours = (error_of(both.run(p, arguments)) for p in (both.kube, both.berth))
            check(isinstance(ours, list) and len(ours) > 3, f"{version} {value}: {ours}")
            # berth's message has a maximum length: its last part may be cut.
            wrong = [part for part in ours if part not in theirs]
            check(len(wrong) <= 1, f"{version} {value}: {wrong}")


# ---- berth only ----------------------------------------------------------------------------------

def written(both, *arguments):
    done = both.run(both.berth, both.base() + list(arguments))
    equal(done.returncode, 0, f"exit code; it said {done.stderr!r}")
    with open(both.out) as f:
        return f.read(), done.stderr


@test
def flags_are_logged_as_upstream_logs_them(both):
    theirs = both.run(both.kube, both.base() + ["-v=1", "--vmodule=a=1", "--disabled-metrics=x,y"])
    ours = both.run(both.berth, both.base() + ["-v=1", "--vmodule=a=1", "--disabled-metrics=x,y"])
    want, got = (re.findall(r"\] (FLAG: .*)", done.stderr) for done in (theirs, ours))
    check(len(want) > 50, "flags in its log")
    equal([line for line in got if not any(f"--{own}=" in line for own in OWN_FLAGS)], want, "lines")


@test
def deprecated_flags_count_only_without_a_file(both):
    text, _ = written(both, "--kube-api-qps=7", "--kube-api-burst=9", "--profiling=false",
                      "--kube-api-content-type=application/json", "--leader-elect=false")
    contains(text, "qps: 7\n", "burst: 9\n", "enableProfiling: false", "leaderElect: false",
             "contentType: application/json")
    config = os.path.join(both.dir.name, "config.yaml")
    with open(config, "w") as f:
        f.write("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                f"clientConnection: {{kubeconfig: {both.kubeconfig}}}\n")
    text, _ = written(both, f"--config={config}", "--kube-api-qps=7", "--profiling=false",
                      "--leader-elect-resource-name=mine")
    contains(text, "qps: 50\n", "enableProfiling: true", "resourceName: mine")


@test
def retired_flags_do_what_is_left_of_their_meaning(both):
    policy = os.path.join(both.dir.name, "policy.json")
    with open(policy, "w") as f:
        json.dump({"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "PodFitsHostPorts"}],
                   "priorities": [{"name": "ImageLocalityPriority", "weight": 3}]}, f)
    arguments = [f"--policy-config-file={policy}", "--use-legacy-policy-config",
                 "--policy-configmap=p", "--policy-configmap-namespace=n", "--scheduler-name=mine",
                 "--algorithm-provider=DefaultProvider", "--lock-object-name=l",
                 "--lock-object-namespace=ln", "--port=0", "--address=127.0.0.1",
                 "--hard-pod-affinity-symmetric-weight=42"]
    text, said = written(both, *arguments)
    contains(text, "schedulerName: mine", "resourceName: l\n", "resourceNamespace: ln\n",
             "NodePorts", "weight: 3")
    equal(said.count("has been deprecated"), len(arguments), f"lines in {said!r}")
    text, _ = written(both, "--hard-pod-affinity-symmetric-weight=42",
                      "--algorithm-provider=ClusterAutoscalerProvider")
    contains(text, "hardPodAffinityWeight: 42", "type: MostAllocated")
    for arguments, why in ((["--algorithm-provider=Nobody"], "is not registered"),
                           (["--hard-pod-affinity-symmetric-weight=101"], "not in valid range"),
                           (["--policy-configmap=p"], "policy config map kube-system/p"),
                           (["--policy-config-file=nosuch"], "nosuch")):
        done = both.run(both.berth, both.base() + arguments)
        equal(done.returncode, 1, f"exit code of {arguments}")
        contains(done.stderr, why)


class ConfigMaps(http.server.BaseHTTPRequestHandler):
    """An API server that has one ConfigMap."""

    def do_GET(self):
        found = self.path == "/api/v1/namespaces/n/configmaps/p"
        policy = json.dumps({"kind": "Policy", "apiVersion": "v1", "predicates": [],
                             "priorities": [{"name": "ImageLocalityPriority", "weight": 7}]})
        answer = {"kind": "ConfigMap", "data": {"policy.cfg": policy}} if found else {
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404,
            "reason": "NotFound", "message": "no such map"}
        body = json.dumps(answer).encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@test
def a_policy_is_read_from_its_configmap(both):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), ConfigMaps)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        master = f"--master=http://127.0.0.1:{server.server_port}"
        text, _ = written(both, master, "--policy-configmap=p", "--policy-configmap-namespace=n")
        contains(text, "ImageLocality", "weight: 7")
        done = both.run(both.berth, both.base() + [master, "--policy-configmap=q"])
        equal(done.returncode, 1, "exit code")
        contains(done.stderr, "kube-system/q", "no such map")
    finally:
        server.shutdown()
        server.server_close()


@test
def under_its_own_name_berth_says_it_shortly(both):
    done = berth.run("scheduler", "--nosuch")
    equal((done.code, done.err.count("\n")), (2, 1), f"exit code and lines of {done.err!r}")
    contains(done.err, "unknown flag: --nosuch", "--help")
    equal(berth.run("scheduler", "--version").out, "Kubernetes v1.36.3\n", "version")
    contains(berth.run("scheduler", "--version=raw").out, 'GitVersion:"v1.36.3"')


if __name__ == "__main__":
    main(fixture=Both)
