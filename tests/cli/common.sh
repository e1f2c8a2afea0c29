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

# endless STRIDE: a profile of 2^52 accesses
endless() {
    cat << EOF
psnap: 1
capture: {model: nests-3, region_gap_bytes: 256, region_limit: 128}
schedule: [l]
loops:
- id: l
  nest: {depth: 1}
  entries: 1
  iterations: {total: 4503599627370496}
  accesses: 4503599627370496
  regions:
  - id: r
    working_set: {bytes: $((8 + ($1 << 52) - $1)), group: raw, offset: 64}
    accesses: 4503599627370496
    loads: 4503599627370496
    sizes: {8: 4503599627370496}
  bodies:
  - {id: l, refs: [0], iterations: 4503599627370496}
  references:
  - {ref: 0, load: 8, region: r, start: 0, counts: [4503599627370496], strides: [$1]}
EOF
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
