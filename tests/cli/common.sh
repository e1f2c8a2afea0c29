#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the tests of commands share; they source it. Makes a scratch directory, goes there, and
# leaves nothing behind.

name=$(basename "$0" .sh)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
    echo "$name: $*" >&2
    exit 1
}

# has FILE TEXT: TEXT is in the file
has() {
    grep -qF -- "$2" "$1" || fail "no '$2' in $1: $(cat "$1")"
}

# status COMMAND...: its exit status; what it prints is in out and err
status() {
    local result=0
    "$@" > out 2> err || result=$?
    echo "$result"
}

# expect STATUS COMMAND...: it ends so
expect() {
    local wanted=$1 got
    shift
    got=$(status "$@")
    [ "$got" = "$wanted" ] || fail "exit status $got, not $wanted, of $*: $(cat out err)"
}
