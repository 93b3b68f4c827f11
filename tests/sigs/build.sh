#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the comparison with sigs.k8s.io/scheduler-plugins, a Go program, and prints its path.
#
# It is kept outside of the tree, by a hash of what goes into it: after the first build this returns
# at once until a file of the recipe changes. Progress goes to stderr: compare=$(tests/sigs/build.sh).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
dir=${XDG_CACHE_HOME:-$HOME/.cache}/berth/sigs
keep=3 # programs of so many recipes are kept

say() { echo "sigs: $*" >&2; }

recipe=$(cd "$here" && sha256sum go.mod go.sum build.sh ./*.go ./*.s | sha256sum | cut -c1-16)
program=$dir/sigs-$recipe
if [ -x "$program" ]; then
    echo "$program"
    exit 0
fi

go=$("$here/../lib/go.sh") || { say "cannot build without Go"; exit 1; }
mkdir -p "$dir"
exec 9>"$dir/.lock"
flock -n 9 || { say "another build is running, waiting for it"; flock 9; }
log=$dir/build.log
trap 'rm -f "$program.new"' EXIT
trap 'exit 1' HUP INT TERM
if [ ! -x "$program" ]; then
    begin=$(date +%s)
    # The flags are those of tests/kube/build.sh, so that the two share what Go has compiled.
    if ! (cd "$here" && CGO_ENABLED=0 GOWORK=off GOTOOLCHAIN=local \
        GOFLAGS='-mod=readonly -buildvcs=false' "$go" build -trimpath \
        -tags selinux,notest,grpcnotrace -o "$program.new" .) >"$log" 2>&1; then
        grep -v '^go: downloading' "$log" | tail -n 15 >&2
        say "could not be built: see $log"
        exit 1
    fi
    mv -f "$program.new" "$program"
    say "built in $(($(date +%s) - begin)) s"
fi
# Other checkouts may be at work with theirs: only old ones go.
find "$dir" -name 'sigs-*' -type f -printf '%T@ %p\n' | sort -rn | tail -n +$((keep + 1)) |
    cut -d' ' -f2- | while read -r old; do rm -f "$old"; done
echo "$program"
