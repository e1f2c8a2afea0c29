#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap sim --sweep: every cache of it is what the simulator says of it, by loop and in total, also
# of a trace with threads; and bad input.
set -eu

. "$PSNAP_SOURCE/tests/cli/common.sh"

awk 'BEGIN {
    print "address,size,kind,thread,ref"
    x = 1
    for (i = 0; i < 6000; i++) {
        x = x * 16807 % 2147483647
        at = i % 3 == 2 ? x % 30000 : i * 8
        printf "0x%x,%d,%s,%d,%d\n", 65536 + at, i % 5 ? 8 : 24, i % 4 ? "load" : "store", i % 2, i % 3
    }
}' > trace.csv

"$PSNAP" sim trace.csv --sweep 1,3,16,64 --line 16,64 --ways 5 --json > sweep
: > machines
for line in 16 64; do
    for sets in 1 3 16 64; do
        for ways in 1 2 3 4 5; do
            "$PSNAP" sim trace.csv -m $((line * sets * ways)):$line:$ways --by total --json 2> err |
                tr -d '\n' | sed "s/^/$line $sets $ways /; s/\$/\n/" >> machines
        done
    done
done
python3 - << 'END'
import json
rows = {(row["line_bytes"], row["sets"]): row for row in json.load(open("sweep"))["sweep"]}
assert len(rows) == 8
checked = 0
for line in open("machines"):
    line_bytes, sets, ways, text = line.split(" ", 3)
    level = json.loads(text)["rows"][0]["levels"][0]
    row = rows[int(line_bytes), int(sets)]
    assert len(row["hit_rates"]) == 5 and row["accesses"] == level["accesses"]
    assert abs(row["hit_rates"][int(ways) - 1] - level["hit_rate"]) < 1e-12, (row, level, ways)
    checked += 1
assert checked == 40
END
"$PSNAP" sim trace.csv --sweep 16,1K --by total,thread > table
grep -q "16-way %" table || fail "$(cat table)"
[ "$(grep -c '  thread  ' table)" = 4 ] || fail "$(cat table)"
has table "2 threads, interleaved in the stream's order, in each cache"
"$PSNAP" sim trace.csv --sweep 16 --interleave round-robin > table
has table "2 threads, interleaved access by access, in each cache"
"$PSNAP" sim trace.csv --sweep 16 --interleave round-robin --json > sweep
has sweep '"threads": 2'
has sweep '"interleaving": "round-robin by access"'
awk -F, -v OFS=, 'NR > 1 {$4 = 0} {print}' trace.csv > lone.csv
"$PSNAP" sim lone.csv --sweep 16 > table
! grep threads table || fail "one thread takes no turns"

usage() {
    if "$PSNAP" sim trace.csv "$@" > out 2> err; then
        fail "not refused: $*"
    else
        [ $? = 2 ] || fail "$* ends with another status: $(cat err)"
    fi
}
usage --sweep 64 -m 1K:64:1
usage --sweep 64,0
usage --sweep some
usage --sweep 64 --line 48
grep -q "48 is no power of two" err || fail "$(cat err)"
usage --sweep 64 --ways 0
usage --sweep 64 --ways 1025
usage --sweep 1G --ways 16

# What a sweep does not have is refused, and so is what only a sweep has
expect 2 "$PSNAP" sim trace.csv --sweep 64 --misses
has err "leave out --misses"
expect 2 "$PSNAP" sim trace.csv --sweep 64 --cores 2
has err "leave out --cores"
expect 2 "$PSNAP" sim trace.csv --sweep 64 --line 1
has err "from 2 to 1G"
expect 2 "$PSNAP" sim trace.csv -m 4K:64:4 --ways 3
has err "of a --sweep"
: > nothing.din
expect 0 "$PSNAP" sim --from din nothing.din --sweep 4
! grep -q nan out || fail "a rate of nothing: $(cat out)"
