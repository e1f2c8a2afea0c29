#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Source packages of the Debian that this is, for scripts to source:
#
#   . tests/real/sources.sh
#   fetch_source FOLDER PACKAGE...    unpacks each below FOLDER
#
# The system's package sources may have binary packages alone. So apt-get gets lists of
# its own, made of the system's, and folders of its own for its state: nothing of the
# system is changed, and no rights are needed.

# source_lists FOLDER: the system's sources of its own release, with deb-src for deb
source_lists()
{
    local to=$1 file codename
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -e "$file" ] || continue
        awk -v codename="$codename" -v RS= '
            $0 ~ "Suites:[^\n]*" codename { gsub(/Types:[^\n]*/, "Types: deb-src"); print $0 "\n" }
        ' "$file" > "$to/$(basename "$file")"
    done
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ -e "$file" ] || continue
        sed -n "s/^deb\( .* $codename.*\)/deb-src\1/p" "$file" > "$to/$(basename "$file" .list).list"
    done
}

fetch_source()
{
    local folder=$1 apt=$1/apt package version
    shift
    mkdir -p "$apt"/{sources,lists/partial,cache/archives/partial}
    source_lists "$apt/sources"
    # what is downloaded belongs to who runs this, not to apt's user
    local options="-o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=$apt/sources
        -o Dir::State::lists=$apt/lists -o Dir::Cache=$apt/cache -o APT::Sandbox::User="
    # shellcheck disable=SC2086
    apt-get $options update -qq || return 1
    for package in "$@"; do
        # the newest that is there: a mirror may list one that it no longer has
        # shellcheck disable=SC2086
        for version in $(apt-cache $options showsrc "$package" | sed -n 's/^Version: //p' | sort -rVu); do
            (cd "$folder" && apt-get $options source -qq "$package=$version" > "$apt/log" 2>&1) && continue 2
        done
        cat "$apt/log" >&2
        return 1
    done
}
