#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds Helm for the tests of deploy/helm and prints where it is. The first build takes some
# minutes; after that this returns at once until go.mod changes. Progress goes to stderr.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/berth/helm
version=$(sed -n 's|.*helm.sh/helm/v3 \(v[0-9.]*\).*|\1|p' "$here/go.mod" | head -n 1)
helm=$cache/helm-$version

if [ -x "$helm" ]; then
    echo "$helm"
    exit 0
fi
go=$("$here/../lib/go.sh") || exit 1
mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9
trap 'rm -f "$cache/.new"' EXIT
if ! (cd "$here" && CGO_ENABLED=0 GOWORK=off GOTOOLCHAIN=local \
    GOFLAGS='-mod=readonly -buildvcs=false' "$go" build -trimpath \
    -ldflags "-s -w -X helm.sh/helm/v3/internal/version.version=$version" \
    -o "$cache/.new" helm.sh/helm/v3/cmd/helm) >"$cache/build.log" 2>&1; then
    tail -n 5 "$cache/build.log" >&2
    echo "helm: could not be built; see $cache/build.log" >&2
    exit 1
fi
mv "$cache/.new" "$helm"
echo "$helm"
