#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap formats: a line for every format, a description of each, JSON, and
# the nearest name for a wrong one.
set -eu

fail() {
    echo "test_formats: $*" >&2
    exit 1
}

for name in pst din xdin dinbin lackey pinatrace csv champsim drmemtrace gem5; do
    "$PSNAP" formats | grep -q "^$name  *read, write  *[a-zA-Z]" || fail "$name is not listed"
    "$PSNAP" formats "$name" | grep -q "^$name: " || fail "$name has no description"
    "$PSNAP" formats "$name" --json | tr -d ' \n' |
        grep -q '^{"psnap":1,"command":"formats","formats":\[{"name":"'"$name"'",' ||
        fail "$name: no JSON"
done
for name in ramulator1 ramulator2-ls ramulator2-rw ramulator-cpu dramsim3 prospero prospero-bin oracle spatter trafficgen; do
    "$PSNAP" formats | grep -q "^$name  *write  *[a-zA-Z]" || fail "$name is not listed"
    "$PSNAP" formats $name | grep -q "^For [A-Za-z]" || fail "$name: for which simulator"
    "$PSNAP" formats $name | grep -q "^    [][0-9LRWS]" || fail "$name has no example"
done
"$PSNAP" formats pst | grep -q 'does not keep: nothing is lost' || fail "pst loses something"
status=0
message=$("$PSNAP" formats lackei 2>&1) || status=$?
[ $status = 2 ] || fail "wrong name: exit status $status"
grep -q "did you mean 'lackey'" <<< "$message" || fail "wrong name: $message"
