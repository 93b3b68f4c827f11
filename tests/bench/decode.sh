#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Decodes the same 5,000 pods with berth and with Go (as client-go does it) and prints both.
#
#   decode.sh [BERTH_BENCH]     default: build/berth-bench; `make bench-decode` builds it first
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
bench=${1:-$root/build/berth-bench}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/berth/bench

[ -x "$bench" ] || {
    echo "decode.sh: $bench is missing: make bench-decode" >&2
    exit 1
}
go=$("$root/tests/lib/go.sh")
mkdir -p "$cache"
(cd "$root/tests/kube" && "$go" build -o "$cache/decodebench" ./cmd/decodebench)

# The pods change with the program that makes them.
stamp=$(cksum <"$cache/decodebench")
if [ "$(cat "$cache/pods/stamp" 2>/dev/null)" != "$stamp" ]; then
    "$cache/decodebench" "$cache/pods"
    echo "$stamp" >"$cache/pods/stamp"
fi

echo "berth, one thread, CPU time:"
"$bench" decode "$cache/pods/pods.json" "$cache/pods/pods.pb"
echo
echo "Go, wall-clock time:"
"$cache/decodebench" -measure "$cache/pods"
