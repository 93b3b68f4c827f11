#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the path of a Python that has Prometheus' own client (package prometheus_client): that of
# PATH, or one in the cache, which the package is installed into.
set -eu

want=prometheus_client==0.26.0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/berth/prometheus
if python3 -c 'import prometheus_client.parser' 2>/dev/null; then
    command -v python3
    exit 0
fi
if ! "$cache/venv/bin/python" -c 'import prometheus_client.parser' 2>/dev/null; then
    mkdir -p "$cache"
    # In an environment of its own, which Debian's Python does not mind.
    if ! { python3 -m venv "$cache/venv" &&
        "$cache/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
            --no-deps --only-binary :all: "$want"; } >"$cache/log" 2>&1; then
        tail -n 3 "$cache/log" >&2
        exit 1
    fi
fi
echo "$cache/venv/bin/python"
