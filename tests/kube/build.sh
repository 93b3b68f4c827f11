#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds etcd, kube-apiserver, kubectl and kube-scheduler v1.36.3 for the tests and prints the
# folder they are in.
#
# They come from the Go module k8s.io/kubernetes (see go.mod), with the same build tags and version
# stamps as the released programs. The first build takes some minutes; after that this returns at
# once until a file of the recipe changes. Progress goes to stderr: bin=$(tests/kube/build.sh).
#
#   build.sh [PROGRAM...]     only these (default: all four)
#   build.sh -n               build nothing; fails when something is missing or stale
set -eu

here=$(cd "$(dirname "$0")" && pwd)
version=v1.36.3
programs="etcd kube-apiserver kubectl kube-scheduler"
bin=${XDG_CACHE_HOME:-$HOME/.cache}/berth/kube/$version

say() { echo "kube: $*" >&2; }

dry=
if [ "${1:-}" = -n ]; then
    dry=1
    shift
fi
for p in "$@"; do
    case " $programs " in
        *" $p "*) ;;
        *) say "no such program: $p (there are: $programs)"; exit 2 ;;
    esac
done
[ $# -eq 0 ] || programs=$*

# The stamp of a program is a hash of everything that goes into it.
recipe() {
    (cd "$here" && sha256sum go.mod go.sum build.sh "cmd/$1/main.go" | sha256sum | cut -d' ' -f1)
}
fresh() {
    [ -x "$bin/$1" ] && [ "$(cat "$bin/.$1.stamp" 2>/dev/null)" = "$(recipe "$1")" ]
}

todo=
for p in $programs; do fresh "$p" || todo="$todo $p"; done
if [ -n "$todo" ] && [ -n "$dry" ]; then
    say "to be built:$todo (run tests/kube/build.sh)"
    exit 1
fi
if [ -z "$todo" ]; then
    echo "$bin"
    exit 0
fi

command -v flock >/dev/null || { say "flock is missing (Debian: apt install util-linux)"; exit 1; }
go=$("$here/../lib/go.sh") || { say "cannot build without Go"; exit 1; }

mkdir -p "$bin"
exec 9>"$bin/.lock"
flock -n 9 || { say "another build is running, waiting for it"; flock 9; }

stamps=
stamp() {
    for pkg in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
        stamps="$stamps -X $pkg.$1=$2"
    done
}
stamp gitMajor 1
stamp gitMinor 36
stamp gitVersion $version
stamp gitCommit ""
stamp gitTreeState clean
stamp buildDate "$(date -u ${SOURCE_DATE_EPOCH:+-d @$SOURCE_DATE_EPOCH} +%Y-%m-%dT%H:%M:%SZ)"

log=$bin/.build.log
trap 'rm -f "$bin"/.*.new' EXIT
trap 'exit 1' HUP INT TERM

unreachable='dial tcp|no such host|i/o timeout|connection refused|proxyconnect|TLS handshake'
unreachable="$unreachable|40[34] |410 |module lookup disabled"

# why LOG: one plain sentence about a failed build
why() {
    if grep -qiE 'no space left' "$1"; then
        echo "the disk is full: about 4 GB are needed for modules, build cache and programs"
    elif grep -qiE 'signal: killed|cannot allocate memory' "$1"; then
        echo "not enough memory: about 3 GB are needed"
    elif grep -qiE "$unreachable" "$1"; then
        echo "Go modules are missing and could not be fetched: a module proxy must be reachable" \
            "(go env GOPROXY) or the module cache filled"
    elif grep -qiE 'checksum mismatch|missing go.sum entry|updates to go.mod needed' "$1"; then
        echo "go.mod and go.sum do not fit together: run 'go mod tidy' in tests/kube"
    else
        echo "see $1"
    fi
}

for p in $todo; do
    fresh "$p" && continue # built by the run we waited for
    begin=$(date +%s)
    if ! (cd "$here" && CGO_ENABLED=0 GOWORK=off GOTOOLCHAIN=local \
        GOFLAGS='-mod=readonly -buildvcs=false' "$go" build -trimpath \
        -tags selinux,notest,grpcnotrace -ldflags "-s -w$stamps" \
        -o "$bin/.$p.new" "./cmd/$p") >"$log" 2>&1; then
        grep -v '^go: downloading' "$log" | tail -n 15 >&2
        say "$p could not be built: $(why "$log")"
        exit 1
    fi
    mv -f "$bin/.$p.new" "$bin/$p"
    recipe "$p" >"$bin/.$p.stamp"
    say "$p built in $(($(date +%s) - begin)) s"
done
echo "$bin"
