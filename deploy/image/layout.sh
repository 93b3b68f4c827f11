#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# layout.sh BERTH TRIPLE DIR - puts the files of an image into DIR: the program, its link
# kube-scheduler, the shared libraries of TRIPLE that it needs, the public certificate authorities,
# and the entries of user 65532. There is no shell and nothing else.
set -eu

berth=$1 triple=$2 dir=$3

# needed FILE: prints the shared libraries that an ELF file names
needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p'; }

library() {
    for at in "/lib/$triple/$1" "/usr/lib/$triple/$1"; do
        [ ! -e "$at" ] || { echo "$at" && return; }
    done
    echo "layout.sh: $1 not found for $triple" >&2
    return 1
}

# with_libraries FILE: copies the libraries that FILE needs, recursively
with_libraries() {
    for name in $(needed "$1"); do
        to=$dir/usr/lib/$triple/$name
        # The dynamic loader is installed separately.
        case $name in ld-linux*) continue ;; esac
        [ ! -e "$to" ] || continue
        from=$(library "$name")
        install -D -m 755 "$from" "$to"
        note_package "$from"
        with_libraries "$to"
    done
}

# Vulnerability scanners read the versions of libraries from here.
note_package() {
    package=$(dpkg -S "$(readlink -f "$1")" 2>/dev/null || dpkg -S "$1") || return 0
    package=${package%%: *}
    mkdir -p "$dir/var/lib/dpkg/status.d"
    dpkg -s "$package" >"$dir/var/lib/dpkg/status.d/${package%%:*}"
}

install -D -m 755 "$berth" "$dir/usr/local/bin/berth"
# Keep the symbol names for /debug/pprof/profile; remove other debug information.
"$triple-strip" -g "$dir/usr/local/bin/berth"
ln -s berth "$dir/usr/local/bin/kube-scheduler"
with_libraries "$dir/usr/local/bin/berth"

loader=$(readelf -l "$berth" | sed -n 's/.*program interpreter: \(.*\)\]$/\1/p')
install -D -m 755 "$(library "$(basename "$loader")")" "$dir$loader"

install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$dir/etc/ssl/certs/ca-certificates.crt"
mkdir -p "$dir/usr/lib/ssl"
ln -s /etc/ssl/certs/ca-certificates.crt "$dir/usr/lib/ssl/cert.pem"
# Users: root, and nonroot without privileges.
echo 'root:x:0:0:root:/:/sbin/nologin
nonroot:x:65532:65532:nonroot:/:/sbin/nologin' >"$dir/etc/passwd"
echo 'root:x:0:
nonroot:x:65532:' >"$dir/etc/group"
echo 'hosts: files dns' >"$dir/etc/nsswitch.conf"
mkdir "$dir/tmp"
chmod 1777 "$dir/tmp"
