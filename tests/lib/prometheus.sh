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
    "$(dirname "$0")/venv.sh" "$cache" "$want"
fi
echo "$cache/venv/bin/python"
