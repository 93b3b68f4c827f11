#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# random-scheduler.sh [SCHEDULER] - a scheduler as a controller: it watches pods that select SCHEDULER
# (default: my-scheduler) and binds each of them to a random node. No scheduling framework, no
# filters: a pod may end up on a node where it does not fit. Needs kubectl.
set -eu

scheduler=${1:-my-scheduler}

# kubectl prints a line for each pod that exists, and then for each change.
kubectl get pods --all-namespaces --watch --output-watch-events \
    --field-selector "spec.schedulerName=$scheduler,spec.nodeName=" \
    -o 'jsonpath={.type} {.object.metadata.namespace} {.object.metadata.name}{"\n"}' |
    while read -r event namespace name; do
        [ "$event" = ADDED ] || continue
        node=$(kubectl get nodes -o name | sed 's|^node/||' | shuf -n 1)
        [ -n "$node" ] || continue
        printf '{"apiVersion":"v1","kind":"Binding","metadata":{"name":"%s"},"target":{"apiVersion":"v1","kind":"Node","name":"%s"}}' \
            "$name" "$node" |
            kubectl create --raw "/api/v1/namespaces/$namespace/pods/$name/binding" -f - >/dev/null &&
            echo "$namespace/$name: $node"
    done
