#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# For tests that want a computer on which nothing is installed: the base of this Debian, from
# the mirror that this system's own apt has, in a folder. They source it behind common.sh.
#
#   clean_root NAME   makes the folder $root; ends the test with 77 where that is not possible
#   inside FILE       runs the script FILE in it, as root, in /work
#
# It takes root, debootstrap and a mirror that answers. What was fetched is kept in
# $PSNAP_CLEAN_CACHE (build/clean beside the builds, without it): the base as one archive, packages in a folder; remove
# it to have it fetched anew. Mounts are those of a namespace, which goes with the script that ran in it.
cache=${PSNAP_CLEAN_CACHE:-$(dirname "$PSNAP_BUILD")/clean}

skip()
{
    echo "$name: skipped: $*"
    exit 77
}

# The lines of apt's sources that are Debian's own, as "SITE RELEASE COMPONENT"
mirrors()
{
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(ORIGIN)|$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        sed -n 's/^Debian|//p' | sort -u
}

bootstrap()
{
    local release=$1 site=$2
    [ -e "$cache/$release.tar" ] && return
    echo "fetching the base of Debian $release"
    debootstrap --variant=minbase "$release" "$dir/base" "$site" > bootstrap.log 2>&1 ||
        skip "no base: $(tail -n 3 bootstrap.log)"
    rm -f "$dir"/base/var/cache/apt/archives/*.deb
    tar -C "$dir/base" -cf "$cache/$release.tar.$$" .
    mv "$cache/$release.tar.$$" "$cache/$release.tar"
    rm -rf "${dir:?}/base"
}

clean_root()
{
    local release site
    [ "$(id -u)" = 0 ] || skip "not root"
    for tool in debootstrap unshare chroot apt-get; do
        command -v "$tool" > /dev/null || skip "there is no $tool"
    done
    release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    site=$(mirrors | awk -v release="$release" '$2 == release && $3 == "main" { print $1; exit }')
    [ -n "$site" ] || skip "apt has no mirror of Debian '$release'"
    /usr/lib/apt/apt-helper download-file "$site/dists/$release/InRelease" InRelease > log 2>&1 ||
        skip "the mirror does not answer: $(tail -n 1 log)"
    unshare -m -p -f true 2> /dev/null || skip "no namespaces"
    mkdir -p "$cache/archives/partial"
    bootstrap "$release" "$site"
    root=$dir/root
    mkdir "$root"
    tar -C "$root" -xf "$cache/$release.tar"
    mkdir -p "$root/work"
    mirrors | sed 's/^/deb /' > "$root/etc/apt/sources.list"
    apt-config dump Acquire::http Acquire::https | grep -i proxy > "$root/etc/apt/apt.conf.d/proxy" || true
    echo 'APT::Keep-Downloaded-Packages "true";' > "$root/etc/apt/apt.conf.d/keep"
    rm -f "$root/etc/apt/apt.conf.d/docker-clean"
    cp /etc/resolv.conf /etc/hosts "$root/etc/"
}

inside()
{
    cp "$1" "$root/work/script"
    # shellcheck disable=SC2016
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        unshare -m -p -f bash -c '
        mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" &&
            mount --bind "$2" "$1/var/cache/apt/archives" &&
            exec chroot "$1" bash -c "cd /work && exec bash -eu script"' - "$root" "$cache/archives" < /dev/null
}
