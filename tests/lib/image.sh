#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# image.sh [ARCH] - builds deploy/Dockerfile without docker and runs what comes out.
#
# buildah takes the place of docker, a base that debootstrap makes that of Debian's image. Needs root
# and the packages buildah and debootstrap; for another architecture than this machine's also
# qemu-user-static. Everything is in a temporary folder and goes with it. Takes some minutes.
set -eu
cd "$(dirname "$0")/../.."

native=$(dpkg --print-architecture)
arch=${1:-$native}
tmp=$(mktemp -d)
trap 'buildah_ umount --all >/dev/null 2>&1; rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

buildah_() { buildah --storage-driver vfs --root "$tmp/root" --runroot "$tmp/run" "$@"; }

echo "image: a base by debootstrap" >&2
mkdir "$tmp/context"
debootstrap --variant=minbase bookworm "$tmp/base" >"$tmp/log" 2>&1 || { tail "$tmp/log" >&2; exit 1; }
tar -C "$tmp/base" -cf "$tmp/context/base.tar" .
rm -rf "$tmp/base"
printf 'FROM scratch\nADD base.tar /\n' >"$tmp/context/Dockerfile"
buildah_ bud --isolation chroot --platform "linux/$native" \
    -t docker.io/library/debian:bookworm-slim "$tmp/context" >"$tmp/log" 2>&1 ||
    { tail "$tmp/log" >&2; exit 1; }

echo "image: deploy/Dockerfile for $arch" >&2
# buildah of Debian 12 looks for a base image of the target's architecture, so pass it separately.
buildah_ bud --isolation chroot --pull-never --platform "linux/$native" \
    --build-arg "BUILDARCH=$native" --build-arg "TARGETARCH=$arch" \
    -f deploy/Dockerfile -t berth . >"$tmp/log" 2>&1 || { tail -n 30 "$tmp/log" >&2; exit 1; }
files=$(buildah_ mount "$(buildah_ from --pull-never berth)")

echo "$(du -sb "$files" | cut -f 1) bytes"
if [ "$arch" = "$native" ]; then
    chroot --userspec=65532:65532 "$files" /usr/local/bin/kube-scheduler --version
else
    case $arch in arm64) cpu=aarch64 ;; *) cpu=x86_64 ;; esac
    "qemu-$cpu-static" -L "$files" "$files/usr/local/bin/berth" kube-scheduler --version
fi
