#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# golden.sh [--check] - writes tests/golden and src/api/schema_*.[ch] anew from upstream's libraries
# (versions: go.mod).
# With --check nothing is written; it fails when what is there differs from what would be.
set -eu

check=
case ${1:-} in
    '') ;;
    --check) check=1 ;;
    *) echo "usage: golden.sh [--check]" >&2; exit 2 ;;
esac

here=$(cd "$(dirname "$0")" && pwd)
go=$("$here/../lib/go.sh")
export GOWORK=off GOTOOLCHAIN=local GOFLAGS='-mod=readonly -buildvcs=false'

dir=$here/../golden
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

cd "$here"
"$go" build -o "$tmp/" ./cmd/golden ./cmd/protodump ./cmd/schemadump ./cmd/tables ./cmd/validation
"$tmp/golden" "$tmp/golden.new"
"$tmp/tables" "$tmp/golden.new/tables"
"$tmp/validation" cmd/validation/corpus "$tmp/golden.new/validation"

api=$("$go" list -m -f '{{.Dir}}' k8s.io/api)
machinery=$("$go" list -m -f '{{.Dir}}' k8s.io/apimachinery)
set --
for p in core/v1 apps/v1 policy/v1 storage/v1 resource/v1 coordination/v1 coordination/v1beta1 resource/v1beta2 \
    events/v1 scheduling/v1 scheduling/v1alpha2 batch/v1 node/v1 authentication/v1 authorization/v1 autoscaling/v1 \
    autoscaling/v2 certificates/v1 discovery/v1 networking/v1 rbac/v1; do
    set -- "$@" "$api/$p/generated.proto"
done
for p in apis/meta/v1 api/resource runtime runtime/schema util/intstr; do
    set -- "$@" "$machinery/pkg/$p/generated.proto"
done
extensions=$("$go" list -m -f '{{.Dir}}' k8s.io/apiextensions-apiserver)
set -- "$@" "$extensions/pkg/apis/apiextensions/v1/generated.proto"
# The package of a .proto file cannot have the dash of its Go module.
"$tmp/protodump" "$@" | sed s/apiextensions_apiserver/apiextensions-apiserver/g >"$tmp/golden.new/protofields.txt"
schema=$here/../../src/api
kubernetes=$("$go" list -m -f '{{.Dir}}' k8s.io/kubernetes)
"$tmp/schemadump" "$kubernetes/api/openapi-spec/v3" >"$tmp/schema_table.c"
"$tmp/schemadump" -kinds "$kubernetes/api/openapi-spec/v3" >"$tmp/schema_kinds.h"

set --
for f in "$kubernetes"/api/openapi-spec/v3/*_openapi.json; do
    case ${f##*/v3/} in
        api__v1_* | apis__apps__v1_* | apis__auth*__v1_* | apis__autoscaling__v?_* | apis__batch__v1_* | \
            apis__certificates.k8s.io__v1_* | apis__coordination.k8s.io__v1_* | apis__coordination.k8s.io__v1beta1_* | \
            apis__discovery.k8s.io__v1_* | apis__events.k8s.io__v1_* | apis__networking.k8s.io__v1_* | \
            apis__node.k8s.io__v1_* | apis__policy__v1_* | apis__rbac*__v1_* | apis__resource.k8s.io__v1_* | \
            apis__resource.k8s.io__v1beta2_* | apis__scheduling.k8s.io__v1_* | apis__scheduling.k8s.io__v1alpha2_* | \
            apis__storage.k8s.io__v1_* | apis__apiextensions.k8s.io__v1_*) set -- "$@" "$f" ;;
    esac
done
python3 openapi_golden.py "$tmp/golden.new" "$@"

mkdir "$tmp/golden.new/discovery"
for v in api__v1 aggregated_v2 apis__apps__v1 apis__authentication.k8s.io__v1 apis__authorization.k8s.io__v1 \
    apis__autoscaling apis__autoscaling__v1 apis__autoscaling__v2 apis__batch__v1 apis__certificates.k8s.io__v1 \
    apis__coordination.k8s.io__v1 apis__coordination.k8s.io__v1beta1 apis__discovery.k8s.io__v1 \
    apis__events.k8s.io__v1 apis__networking.k8s.io__v1 apis__node.k8s.io__v1 apis__policy__v1 \
    apis__rbac.authorization.k8s.io__v1 apis__resource.k8s.io__v1 apis__resource.k8s.io__v1beta2 \
    apis__scheduling.k8s.io__v1 apis__scheduling.k8s.io__v1alpha2 apis__storage.k8s.io__v1 \
    apis__apiextensions.k8s.io__v1; do
    install -m 644 "$kubernetes/api/discovery/$v.json" "$tmp/golden.new/discovery/"
done

if [ -n "$check" ]; then
    for f in apply.json cbor.json strategic.json quantity.json selectors.json podrequests.json protofields.txt objects discovery tables validation openapi_types.txt openapi_paths.txt; do
        diff -rq "$tmp/golden.new/$f" "$dir/$f" || exit 1
    done
    for f in schema_table.c schema_kinds.h; do
        cmp "$tmp/$f" "$schema/$f" || exit 1
    done
    exit 0
fi
mkdir -p "$dir"
rm -rf "$dir/objects" "$dir/discovery" "$dir/tables" "$dir/validation"
cp -r "$tmp/golden.new/." "$dir/"
cp "$tmp/schema_table.c" "$tmp/schema_kinds.h" "$schema/"
