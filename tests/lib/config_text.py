# SPDX-License-Identifier: Apache-2.0
"""Parts of configuration files as text, and a kubeconfig of a server that is never contacted."""

KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
current-context: c
"""


def head(version):
    return f"apiVersion: kubescheduler.config.k8s.io/{version}\nkind: KubeSchedulerConfiguration\n"


def profile(text):
    return "profiles:\n- " + text.replace("\n", "\n  ")


def plugins(text):
    return profile("plugins: {" + text + "}")


def args(name, text):
    return profile("pluginConfig: [{name: " + name + ", args: {" + text + "}}]")
