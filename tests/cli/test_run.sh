#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap run: consumers on standard input and through a FIFO, their exit statuses, those that do not
# read on, are not there or never open the FIFO; and what goes wrong before one is started.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export TMPDIR=$dir/tmp
mkdir tmp

fail() {
    echo "test_run: $*" >&2
    exit 1
}

# expect STATUS ARGUMENTS...
expect() {
    local wanted=$1 got=0
    shift
    "$PSNAP" run "$@" > out 2> err || got=$?
    [ "$got" = "$wanted" ] || fail "psnap run $* ended with $got, not $wanted: $(cat err)"
    [ -z "$(ls tmp)" ] || fail "psnap run $* left $(ls tmp)"
}

awk 'BEGIN {for (i = 0; i < 200000; i++) printf "%d %x\n", i % 3 == 0, 65536 + 4 * i}' > trace.din

# The same bytes as convert writes, both ways
"$PSNAP" convert trace.din -o wanted.csv 2> err
expect 0 trace.din -f csv -- cat
cmp out wanted.csv
grep -q "200,000 accesses of 'trace.din' as csv to 'cat', which ended with 0" err || fail "$(cat err)"
expect 0 trace.din -f csv -- cat {}
cmp out wanted.csv
expect 0 trace.din -f csv --skip 10 --count 5 -- sh -c 'test -p "$1" && cat "$1"' sh {}
[ "$(wc -l < out)" = 6 ] || fail "$(cat out)"
"$PSNAP" run - -f din -- wc -l < trace.din > out 2> err
[ "$(tr -d ' ' < out)" = 200000 ] || fail "$(cat out)"
"$PSNAP" run - -f din -- sh -c 'cat > nothing; wc -l < "$1"' sh {} < trace.din > out 2> err
[ "$(tr -d ' ' < out)" = 200000 ] || fail "$(cat out)"
[ ! -s nothing ] || fail "the consumer got our standard input"
"$PSNAP" convert trace.din -o trace.pst 2> err
expect 0 trace.pst -f pst -- "$PSNAP" sim - -m 32K:64:8 --by total

# Its exit status is ours; reading on is up to it
expect 7 trace.din -f din -- sh -c 'cat > /dev/null; exit 7'
expect 0 trace.din -f din -- head -n 1
grep -q "which did not read on, and ended with 0" err || fail "$(cat err)"
expect 3 trace.din -f din -- sh -c 'exit 3' {}
expect 143 trace.din -f din -- sh -c 'kill $$'
expect 127 trace.din -f din -- no-such-program-here
grep -q "cannot run 'no-such-program-here': no such file" err || fail "$(cat err)"
expect 126 trace.din -f din -- /

# Nothing is started when there is nothing to feed
expect 1 nowhere.pst -f din -- touch started
expect 2 trace.din -f nonesuch -- touch started
expect 2 trace.din -- touch started
expect 2 trace.din -f din
expect 2 trace.din -f din --
expect 2 -f din -- touch started
[ ! -e started ] || fail "a consumer was started"

# A stream that fails is our failure
printf '0 10\nbad\n' > bad.din
expect 1 bad.din -f din -- cat
grep -q "bad.din:2:" err || fail "$(cat err)"
