#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap whatif: what a scenario's row says is what psnap sim says of the profile that psnap edit
# makes; scenarios one on top of the other; what is not understood.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

machine=4K:64:4,64K:64:8

"$PSNAP" cc -O2 "$PSNAP_SOURCE/samples/matmul.c" -o matmul -lm
expect 0 "$PSNAP" record -o p.yaml -- ./matmul 60 1

# same EDIT [OPTION]: a scenario and the same edit by psnap edit, or by its option
same() {
    local edit=$1
    expect 0 "$PSNAP" edit p.yaml -o edited.yaml --force "${2:--e$edit}"
    expect 0 "$PSNAP" sim edited.yaml -m $machine --json
    cp out sim.json
    expect 0 "$PSNAP" whatif p.yaml -e "$edit" -m $machine --json -o written.yaml --force
    cmp edited.yaml written.yaml || fail "$edit: another profile is written"
    python3 - "$edit" << 'END'
import json, sys
sim = next(r for r in json.load(open("sim.json"))["rows"] if r["scope"] == "total")
session = json.load(open("out"))
before, after = session["rows"]
assert before["scenario"] == "as it is" and after["scenario"] == sys.argv[1], session
assert after["accesses"] == sim["accesses"], (after, sim)
left = sim["accesses"]
for got, level, old in zip(after["levels"], sim["levels"], before["levels"]):
    assert abs(got["cumulative_hit_rate"] - level["cumulative_hit_rate"]) < 1e-12, (got, level)
    assert got["write_backs"] == level["write_backs"], (got, level)
    assert got["before"] == old["cumulative_hit_rate"], (got, old)
    change = 100 * (got["cumulative_hit_rate"] - got["before"])
    assert abs(change - got["change_points"]) < 1e-9, got
    left -= level["hits"]
assert after["to_memory"] == left, (after, left)
END
}

same 'regions[b].working_set *= 4'
same 'regions[b].working_set /= 2'
same 'regions[b].pad += 4K'
same 'regions[a].base -= 64'
same 'regions[b].strides[480] = 8'
same 'loops[multiply:39].strides[480]=16'
same 'loops[multiply:35].entries *= 2'
same 'remove loops[main:66]'
same 'capture.region_gap_bytes *= 2' --set=capture.region_gap_bytes=512

# Together, one on top of the other, and apart.
expect 0 "$PSNAP" whatif p.yaml -e 'regions[b].strides[480] = 8' \
    -e 'regions[b].working_set *= 4; regions[a].pad += 64' -e 'loops[multiply:35].entries *= 2' \
    --cumulative -m $machine -m i7-5960x -o all.yaml
grep -q '^regions\[b\].working_set \*= 4; regions\[a\].pad += 64 .*[+-][0-9]' out ||
    fail "no row of a scenario: $(cat out)"
[ "$(grep -c '^machine ' out)" = 2 ] || fail "no table for each machine"
expect 0 "$PSNAP" edit p.yaml -o 1.yaml -e 'regions[b].strides[480] = 8'
expect 0 "$PSNAP" edit 1.yaml -o 2.yaml -e 'regions[b].working_set *= 4'
expect 0 "$PSNAP" edit 2.yaml -o 3.yaml -e 'regions[a].pad += 64'
expect 0 "$PSNAP" edit 3.yaml -o 4.yaml -e 'loops[multiply:35].entries *= 2'
cmp 4.yaml all.yaml || fail "edits one on top of the other are another profile"
expect 0 "$PSNAP" whatif p.yaml -e 'regions[b].strides[480] = 8' -e 'regions[b].working_set *= 4' \
    -e 'loops[multiply:35].entries *= 2' -m $machine --json
python3 - << 'END'
import json
rows = json.load(open("out"))["rows"]
first = rows[0]["levels"][0]["cumulative_hit_rate"]
assert len(rows) == 4 and all(r["levels"][0]["before"] == first for r in rows), rows
END
expect 0 "$PSNAP" whatif p.yaml -e 'regions[b].strides[480] = 8' --loops -m $machine
grep -q '^  multiply:39 .*+' out || fail "the loop that changes is not shown: $(cat out)"
[ "$(grep -c '^  multiply:39 ' out)" = 2 ] || fail "it is not shown as it is: $(cat out)"

# What is not understood: where, and nothing is written.
wrong() { # STATUS EDIT MESSAGE
    expect "$1" "$PSNAP" whatif p.yaml -e "$2" -m $machine -o never.yaml
    grep -qF -e "$3" err || fail "'$2': $(cat err)"
    [ ! -e never.yaml ] || fail "'$2' has written a file"
}
wrong 2 'regions[b].working_set' '1:23'
wrong 2 'regions[b.working_set *= 2' '[ wants an id and ]'
wrong 2 'loops[multiply:35].entries *= 1.5' 'a whole factor'
wrong 2 'loops[multiply:35].iterations *= 10000000000' 'a whole factor of 1 to 4294967296'
wrong 2 'remove regions[b]' 'remove is of loops[ID]'
wrong 2 'regions[b].pad -= 64' 'pad wants +='
wrong 1 'loops[nowhere:1].entries *= 2' "there is no loop 'nowhere:1'"
wrong 1 'program.nonsense = 3' 'nonsense'
wrong 1 'regions[b].working_sett *= 2' "an array has no field 'working_sett'; did you mean 'working_set'?"
wrong 1 'loops[checksum:50].entriess *= 2' "a loop has no field 'entriess'; did you mean 'entries'?"
wrong 1 'loops[checksum:50].accesess = 4' "'checksum:50' is in parts, which have the fields: 'checksum:50.1' is one"
wrong 1 'regions[b].base = 64' "'base' is changed by *= or +=, not set"
wrong 1 'loops[multiply:39].accesses = 4' 'p.yaml (edited):'
wrong 1 'regions[q].pad += 64' 'told by their loop and id'
! grep -q -e '--' err || fail "options of psnap edit: $(cat err)"
expect 2 "$PSNAP" whatif p.yaml -e 'regions[b].pad += 64' -machine $machine
grep -q "no option '-machine'; did you mean '--machine'?" err || fail "$(cat err)"
expect 2 "$PSNAP" whatif p.yaml -m $machine
expect 2 "$PSNAP" whatif -e 'a = 1'
expect 2 "$PSNAP" whatif p.yaml -e 'a = 1' -e 'b = 1' -o x.yaml
