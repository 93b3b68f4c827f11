#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deb.sh STAGE VERSION OUTPUT - builds a Debian package from `make install DESTDIR=STAGE`.
#
# The package has no maintainer scripts. The systemd unit is installed but not enabled: installing the
# package must not start a second scheduler.
set -eu

stage=$1 version=$2 output=$3
arch=$(dpkg --print-architecture)

doc=$stage/usr/share/doc/berth
mkdir -p "$doc" "$stage/DEBIAN"
{
    echo 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/'
    echo 'Upstream-Name: berth'
    echo
    echo 'Files: *'
    echo 'Copyright: the berth authors'
    echo 'License: Apache-2.0'
    echo ' The text of the license is in /usr/share/common-licenses/Apache-2.0.'
} >"$doc/copyright"
gzip -9n <CHANGELOG.md >"$doc/changelog.gz"
find "$stage/usr/share/man" -type f ! -name '*.gz' -exec gzip -9n {} +
strip --strip-unneeded "$stage/usr/bin/berth" "$stage"/usr/lib/libberth.so.*
strip --strip-debug "$stage/usr/lib/libberth.a"

# dpkg-shlibdeps requires the control file of a source package in its working directory.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/debian"
printf 'Source: berth\n\nPackage: berth\nArchitecture: any\n' >"$work/debian/control"
program=$(realpath "$stage/usr/bin/berth")
depends=$(cd "$work" && dpkg-shlibdeps -O "$program" | sed -n 's/^shlibs:Depends=//p')

cat >"$stage/DEBIAN/control" <<EOF
Package: berth
Version: $version
Architecture: $arch
Maintainer: The berth authors <berth@localhost>
Depends: $depends
Section: admin
Priority: optional
Installed-Size: $(du -sk --exclude=DEBIAN "$stage" | cut -f1)
Description: scheduler for Kubernetes
 A drop-in replacement for kube-scheduler with the same flags, configuration
 files, plugins, extenders, events and metrics. It also explains its decisions
 and schedules manifest files without a cluster.
EOF
(cd "$stage" && find usr -type f -exec md5sum {} + | LC_ALL=C sort -k2 >DEBIAN/md5sums)
dpkg-deb --root-owner-group --build "$stage" "$output" >/dev/null
echo "$output"
