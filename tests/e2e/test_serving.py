#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The HTTPS endpoints of berth and of the real kube-scheduler on one API server, with curl."""

import contextlib
import json
import os
import re
import subprocess
import tempfile

import berth
import cbor
from berth import wait_for
from cluster import Cluster, Process, free_port
from tap import check, contains, equal, main, show_log, test

BOTH = ("berth", "kube")


@contextlib.contextmanager
def cluster():
    with Cluster() as c:
        kubeconfigs = [f"--{what}-kubeconfig={c.scheduler_kubeconfig}"
                       for what in ("authentication", "authorization")]
        c.both = {"berth": berth.start(c, *kubeconfigs), "kube": c.start_scheduler()}
        for name in ("monitor", "nobody"):
            c.kubectl("create", "serviceaccount", name)
        c.kubectl("create", "clusterrole", "monitor", "--verb=get,put,post,delete",
                  "--non-resource-url=*")
        c.kubectl("create", "clusterrolebinding", "monitor", "--clusterrole=monitor",
                  "--serviceaccount=default:monitor")
        c.token = {name: c.kubectl("create", "token", name).strip()
                   for name in ("monitor", "nobody")}
        c.kubeconfig("user", "carla", ["friends"])
        c.kubectl("create", "clusterrolebinding", "friends", "--clusterrole=monitor",
                  "--group=friends")
        for p in c.both.values():
            wait_for(lambda p=p: curl(p, "/readyz")[0] == 200, 60, what=f"{p.name} is ready")
        yield c
        c.children.remove(c.both["berth"])
        berth.stop(c.both["berth"])


def after(c):
    show_log(c.both["berth"].log)
    check(c.both["berth"].running(), "berth has ended")


def curl(p, path, *args, token=None, method="GET"):
    """Status, content type and body."""
    argv = ["curl", "-sk", "--max-time", "60", "-X", method, "-w", "\n%{http_code} %{content_type}"]
    if token:
        argv += ["-H", "Authorization: Bearer " + token]
    done = subprocess.run(argv + list(args) + [f"https://127.0.0.1:{p.port}{path}"],
                          stdout=subprocess.PIPE)
    body, _, last = done.stdout.rpartition(b"\n")
    status, _, content_type = last.decode().partition(" ")
    return int(status), content_type, body.decode(errors="replace")


def same(c, path, *args, **more):
    """Checks that both answers are equal byte for byte. Returns the answer."""
    got = {who: curl(p, path, *args, **more) for who, p in c.both.items()}
    equal(got["berth"], got["kube"], f"{path} {args} {sorted(more)}")
    return got["kube"]


@test
def healthz_livez_and_readyz_are_equal(c):
    for path in ("/healthz", "/livez", "/readyz"):
        for query in ("", "?verbose", "?verbose=1", "?exclude=ping&verbose", "?exclude=x",
                      "?exclude=x&exclude=a&verbose", "?verbose&exclude=shutdown&exclude=y"):
            equal(same(c, path + query)[0], 200, path + query)
    for method in ("HEAD", "POST", "PUT", "DELETE"):
        args = ("-I",) if method == "HEAD" else ()
        statuses = {curl(p, "/healthz", *args, method=method)[0] for p in c.both.values()}
        equal(statuses, {200}, method)


@test
def single_checks_need_rights(c):
    token = c.token["monitor"]
    for path in ("/healthz/ping", "/livez/ping", "/readyz/shutdown", "/readyz/sched-handler-sync"):
        equal(same(c, path, token=token)[0], 200, path)
        equal(same(c, path)[0], 403, path)
    for path in ("/healthz/nope", "/healthz/", "/livez/shutdown", "/nope", "/"):
        equal(same(c, path, token=token)[0], 404, path)


@test
def without_a_token_all_but_health_is_forbidden(c):
    for path in ("/metrics", "/configz", "/flagz", "/statusz", "/debug/pprof/", "/nope", "/",
                 "/metrics/resources", "/metrics/slis", "/healthz/ping"):
        status, _, body = same(c, path)
        equal(status, 403, path)
        check(f'cannot get path \\"{path}\\"' in body, body)
        same(c, path, "-A", "Prometheus/3.0")
    equal(same(c, "/metrics", method="DELETE")[0], 403, "DELETE")
    equal(same(c, "/a%20%3Cb%3E")[0], 403, "a path that is escaped")
    equal(same(c, "/a%00%22%0A%C3%A4%FF")[0], 403, "a path that can hardly be shown")
    same(c, "/metrics", "-H", "Authorization: Basic Zm9vOmJhcg==")
    same(c, "/metrics", "-H", "X-Remote-User: admin", "-H", "X-Remote-Group: system:masters")


def head_names(p, path, *args):
    """Status and header names; the length header depends on the encoding of the body."""
    done = subprocess.run(["curl", "-sk", "-D", "-", "-o", os.devnull, "--max-time", "60", *args,
                           f"https://127.0.0.1:{p.port}{path}"], stdout=subprocess.PIPE, text=True)
    status, *lines = done.stdout.strip().lower().splitlines()
    names = {line.partition(":")[0] for line in lines}
    return [status.strip(), *sorted(names - {"content-length", "transfer-encoding"})]


@test
def heads_have_the_same_lines(c):
    files = certificate(c, "admin")
    for version in ("--http1.1", "--http2"):
        for path in ("/healthz", "/livez?verbose", "/nope", "/configz", "/metrics/slis"):
            for args in ((), files):
                got = {who: head_names(p, path, version, *args) for who, p in c.both.items()}
                equal(got["berth"], got["kube"], f"{path} {version} {args}")
                check("date" in got["berth"], got["berth"])


@test
def tokens_are_reviewed(c):
    for path in ("/metrics", "/configz", "/flagz", "/statusz"):
        for p in c.both.values():
            equal(curl(p, path, token=c.token["monitor"])[0], 200, f"{p.name} {path}")
        equal(same(c, path, token=c.token["nobody"])[0], 403, path)
    for path in ("/metrics", "/healthz"):
        equal(same(c, path, token="junk")[0], 401, "a token that is none")
        equal(same(c, path, "-A", "x", token=c.token["monitor"] + "x")[0], 401, "a forged token")
    # Denials are reviewed again, and a granted right takes effect soon.
    c.kubectl("create", "clusterrolebinding", "late", "--clusterrole=monitor",
              "--serviceaccount=default:nobody")
    for p in c.both.values():
        wait_for(lambda p=p: curl(p, "/metrics", token=c.token["nobody"])[0] == 200, 60,
                 what=f"{p.name} notices the new right")


def certificate(c, name):
    path = os.path.join(c.dir, name)
    return ("--cert", path + ".crt", "--key", path + ".key")


@test
def client_certificates_are_users(c):
    for p in c.both.values():
        equal(curl(p, "/metrics", *certificate(c, "admin"))[0], 200, "system:masters")
        equal(curl(p, "/metrics", *certificate(c, "user"))[0], 200, "a group with rights")
    status, _, body = same(c, "/metrics", *certificate(c, "scheduler"))
    equal(status, 403, "a user without rights")
    check("system:kube-scheduler" in body, body)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/O=system:masters/CN=eve", "-keyout", c.dir + "/eve.key",
                    "-out", c.dir + "/eve.crt"], check=True, stderr=subprocess.DEVNULL)
    for path in ("/metrics", "/healthz"):
        equal(same(c, path, *certificate(c, "eve"))[0], 401, "a stranger's certificate")


@test
def strangers_get_one_answer_per_http2_connection(c):
    for version in ("--http1.1", "--http2"):
        equal(same(c, "/healthz?verbose", version)[0], 200, version)
        equal(same(c, "/metrics", version)[0], 403, version)
    for p in c.both.values():
        done = subprocess.run(
            ["curl", "-sk", "--http2", "-o", "/dev/null", "-o", "/dev/null", "-w",
             "%{http_version} %{http_code} %{num_connects};"]
            + [f"https://127.0.0.1:{p.port}/healthz"] * 2, stdout=subprocess.PIPE, text=True)
        # Unauthenticated clients get a new HTTP/2 connection each time.
        equal(done.stdout, "2 200 1;2 200 1;", p.name)


@test
def configz_is_equal(c):
    got = {who: json.loads(curl(p, "/configz", token=c.token["monitor"])[2])["componentconfig"]
           for who, p in c.both.items()}
    equal(got["berth"], got["kube"], "/configz")


@test
def flagz_has_the_same_flags(c):
    """The same flags with the same values, except for berth's additional ones and ports."""
    names = {}
    for who, p in c.both.items():
        text = curl(p, "/flagz", token=c.token["monitor"])[2]
        equal(text.splitlines()[1:3], [
            "kube-scheduler flagz",
            "Warning: This endpoint is not meant to be machine parseable, has no formatting "
            "compatibility guarantees and is for debugging purposes only."], who)
        _, _, body = curl(p, "/flagz", "-H",
                          "Accept: application/json;v=v1beta1;g=config.k8s.io;as=Flagz",
                          token=c.token["monitor"])
        names[who] = json.loads(body)
    flags = {who: names[who].pop("flags") for who in BOTH}
    equal(names["berth"], names["kube"], "Flagz without its flags")
    for flag in set(flags["kube"]) - {"secure-port"}:
        equal(flags["berth"].get(flag), flags["kube"][flag], f"--{flag}")


@test
def statusz_has_the_same_lines(c):
    forms = {}
    for who, p in c.both.items():
        text = curl(p, "/statusz", token=c.token["monitor"])[2]
        forms[who] = [re.split("[:= ]", line)[0] for line in text.splitlines()]
        check(re.search(r"Paths[:= ]+/configz /flagz /healthz /livez /metrics /readyz\n", text),
              text)
    equal(forms["berth"], forms["kube"], "first words of /statusz")
    equal(same(c, "/statusz", "-H", "Accept: application/xml", token=c.token["monitor"])[0], 406,
          "what nobody writes")
    for form in ("json", "yaml"):
        for version in ("v1beta1", "v1alpha1"):
            accept = f"Accept: application/{form};v={version};g=config.k8s.io;as=Statusz"
            got = {who: curl(p, "/statusz", "-H", accept, token=c.token["monitor"])
                   for who, p in c.both.items()}
            equal(got["berth"][:2], got["kube"][:2], accept)
            equal(*[re.sub(r"(?m)((Time|Seconds|Version)\"?: ).*", r"\1", got[who][2])
                    for who in BOTH], accept)


def accepts(kind):
    """Values of the header Accept, valid and invalid."""
    def one(form, version="v1beta1", group="config.k8s.io", more=""):
        return f"application/{form};v={version};g={group};as={kind}{more}"
    forms = ("json", "yaml", "cbor", "*")
    return [
        *[one(form, version) for form in forms for version in ("v1beta1", "v1alpha1", "v1")],
        *[f"application/{form}" for form in forms],
        one("json", "v1alpha1") + "," + one("json"), one("json") + "," + one("json", "v1alpha1"),
        one("json", "v1alpha1", more=";q=0.1") + ", " + one("yaml"),
        one("json", more=";q=0.1") + ", " + one("cbor", "v1alpha1", more=";q=0.9"),
        one("cbor", more=";pretty=1"), one("json", more=";pretty=1"), one("json", group="x"),
        one("json", more=";sv=v1"), one("json", more=";stream=watch"),
        "application/json;stream=watch", "application/cbor;stream=watch", "text/plain",
        "text/plain;as=" + kind, "text/*", "*/*", "*", "", " ", ",", "text/plain/x",
        "application/xml", "application/xml, application/yaml", "text/html, */*;q=0.1",
        "application/json, text/plain;q=0.5", one("yaml") + ";q=0, text/plain;q=0",
    ]


def answer(p, path, accept, agent):
    """Status, content type, Warning and body."""
    done = subprocess.run(
        ["curl", "-sk", "--max-time", "60", "-D", "-", "-A", agent, "-H", "Accept;" if not accept
         else f"Accept: {accept}", f"https://127.0.0.1:{p.port}{path}"], stdout=subprocess.PIPE)
    head, _, body = done.stdout.partition(b"\r\n\r\n")
    lines = head.decode().splitlines()
    headers = {name.lower(): value for name, _, value in (x.partition(": ") for x in lines[1:])}
    return int(lines[0].split()[1]), headers.get("content-type"), headers.get("warning"), body


def essence(content_type, body):
    """The body without what always differs between the two."""
    if content_type.startswith("application/cbor"):
        body = json.dumps(cbor.loads(body), sort_keys=True, indent=1).encode()
    text = re.sub(r'(?m)^(\s*"?(startTime|uptimeSeconds|goVersion|binaryVersion)"?: ).*', r"\1",
                  body.decode())
    text = re.sub(r'("(startTime|uptimeSeconds|goVersion|binaryVersion)":)[^,]*', r"\1", text)
    if content_type.startswith("text/plain"):
        return re.split("[:= ]", text)[0]
    # berth has additional flags, and another port.
    return re.sub(r'(?s)("flags": ?\{).*?\}|^flags:\n(  .*\n)*', r"\1", text, flags=re.M)


def compare_answers(both):
    for path, kind in (("/flagz", "Flagz"), ("/statusz", "Statusz")):
        for i, accept in enumerate(accepts(kind)):
            agent = ("curl/8", "other")[i % 2]
            got = {who: answer(p, path, accept, agent) for who, p in both.items()}
            what = f"{path}, Accept: {accept}, {agent}"
            equal(got["berth"][:3], got["kube"][:3], what)
            equal(essence(got["berth"][1], got["berth"][3]),
                  essence(got["kube"][1], got["kube"][3]), what)


def start_both(c, *args):
    """Starts both with these flags, for one test; every path is open to all users."""
    flags = ("--authorization-always-allow-paths=/*", *args)
    port = free_port()
    kube = Process("kube", [
        os.path.join(c.bin, "kube-scheduler"), f"--kubeconfig={c.scheduler_kubeconfig}",
        "--leader-elect=false", f"--secure-port={port}", "--bind-address=127.0.0.1", *flags],
        os.path.join(c.dir, f"kube.{port}.log"), cwd=c.dir)
    kube.port = port
    c.children.append(kube)
    both = {"berth": berth.start(c, *flags), "kube": kube}
    for p in both.values():
        wait_for(lambda p=p: curl(p, "/healthz")[0] == 200, 60, what=f"{p.name} serves")
    return both


def stop_both(c, both):
    for p in both.values():
        c.children.remove(p)
    berth.stop(both["berth"])
    both["kube"].kill()


@test
def flagz_and_statusz_come_in_the_form_that_is_asked_for(c):
    for gates in ((), ("--feature-gates=CBORServingAndStorage=true",)):
        both = start_both(c, *gates)
        compare_answers(both)
        stop_both(c, both)


@test
def flags_are_the_same_in_every_form(c):
    both = start_both(c, "--feature-gates=CBORServingAndStorage=true")
    for version in ("v1beta1", "v1alpha1"):
        got = {}
        for form, read in (("json", json.loads), ("cbor", cbor.loads)):
            accept = f"application/{form};v={version};g=config.k8s.io;as=Flagz"
            status, kind, warning, body = answer(both["berth"], "/flagz", accept, "x")
            equal((status, kind), (200, f"application/{form};g=config.k8s.io;v={version};as=Flagz"),
                  accept)
            equal(bool(warning), version == "v1alpha1", f"{accept}: Warning")
            got[form] = read(body)
        equal(got["cbor"], got["json"], version)
    stop_both(c, both)


@test
def debug_pages_are_equal(c):
    token = c.token["monitor"]
    for path in ("/debug/flags", "/debug/flags/", "/debug/flags/v", "/debug/pprof/nope",
                 "/debug/pprof"):
        same(c, path, token=token)
    for level in ("4", "x", "", "-1"):
        same(c, "/debug/flags/v", "-d", level, method="PUT", token=token)
    same(c, "/debug/flags/v", "-d", "2", method="PUT", token=token)
    same(c, "/metrics", method="DELETE", token=token)


@test
def a_cpu_profile_is_read_by_pprof(c):
    with tempfile.TemporaryDirectory() as d:
        out = os.path.join(d, "cpu.pb")
        p = c.both["berth"]
        done = subprocess.run(["curl", "-sk", "-H", "Authorization: Bearer " + c.token["monitor"],
                               "-o", out, f"https://127.0.0.1:{p.port}/debug/pprof/profile?seconds=1"])
        equal(done.returncode, 0, "curl")
        go = next((g for g in ("go", "/usr/local/go/bin/go")
                   if subprocess.run(["sh", "-c", f"command -v {g}"], stdout=subprocess.DEVNULL)
                   .returncode == 0), None)
        if go:
            text = subprocess.run([go, "tool", "pprof", "-raw", out], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True).stdout
            check("samples/count cpu/nanoseconds" in text, text)
            check("PeriodType: cpu nanoseconds" in text, text)


@test
def a_pod_is_explained(c):
    token = c.token["monitor"]
    p = c.both["berth"]
    berth.add_pods(c, berth.make_pod("homeless"))
    wait_for(lambda: curl(p, "/debug/explain?pod=homeless", token=token)[0] == 200, 60,
             what="the pod is explained")
    _, _, body = curl(p, "/debug/explain?namespace=default&pod=homeless", token=token)
    equal({(o["namespace"], o["pod"]) for o in map(json.loads, body.splitlines())},
          {("default", "homeless")}, "who is explained")
    equal(curl(p, "/debug/explain?pod=default/homeless", token=token)[0], 200, "in one word")
    equal(curl(p, "/debug/explain?namespace=other&pod=homeless", token=token)[0], 404, "another")
    equal(curl(p, "/debug/explain?pod=other/homeless", token=token)[0], 404, "in one word")
    equal(curl(p, "/debug/explain?pod=homeless")[0], 403, "without a token")


@test
def the_certificate_made_in_memory_is_for_localhost(c):
    """In memory, for localhost and 127.0.0.1."""
    for p in c.both.values():
        text = subprocess.run(
            f"openssl s_client -connect 127.0.0.1:{p.port} </dev/null 2>/dev/null "
            "| openssl x509 -noout -ext subjectAltName", shell=True, stdout=subprocess.PIPE,
            text=True).stdout
        check("DNS:localhost" in text and "IP Address:127.0.0.1" in text, text)


@test
def every_address_means_ipv6_and_ipv4(c):
    """The default 0.0.0.0 is [::], as in Go; both log the same address."""
    for address, want, answers in (("0.0.0.0", "[::]", ("127.0.0.1", "[::1]")),
                                   ("::", "[::]", ("127.0.0.1", "[::1]")),
                                   ("127.0.0.1", "127.0.0.1", ("127.0.0.1",)),
                                   ("::1", "[::1]", ("[::1]",))):
        flag = f"--bind-address={address}"
        both = (berth.start(c, flag, name="berth-listening"),
                c.start_scheduler(flag, name=f"kube-scheduler-{address.replace(':', '_')}"))
        for p in both:
            wait_for(lambda p=p: "Serving securely on" in p.text(), 60, what=f"{p.name} listens")
            said = re.search(r"Serving securely on (.*)", p.text())[1]
            equal(said, f"{want}:{p.port}", f"{p.name} {flag}")
            for host in ("127.0.0.1", "[::1]"):
                done = subprocess.run(["curl", "-skg", "--max-time", "20", "-o", os.devnull, "-w",
                                       "%{http_code}", f"https://{host}:{p.port}/livez"],
                                      stdout=subprocess.PIPE, text=True)
                equal(done.stdout, "200" if host in answers else "000", f"{p.name} {flag} {host}")
        c.children.remove(both[0])
        berth.stop(both[0])
        contains(both[0].text(), f"Stopped listening on {want}:{both[0].port}")
        both[1].kill()
        c.children.remove(both[1])


if __name__ == "__main__":
    main(fixture=cluster, after=after)
