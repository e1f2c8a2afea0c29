#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap merge: ranks of the same content are one profile, which stands for them; others are named, with
# the loop in which they are furthest and what is different: strides, working sets, reuse, the order of
# loops, as well as counts.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

"$PSNAP" cc -O2 "$PSNAP_SOURCE/samples/matmul.c" -o matmul -lm
expect 0 "$PSNAP" record -o p.yaml -- ./matmul 40 1
expect 0 "$PSNAP" record -o q.yaml -- ./matmul 60 1
expect 0 "$PSNAP" edit p.yaml -o near.yaml -e 'loops[checksum:50].entries *= 2'

# rank FROM NUMBER: a rank's profile
rank() {
    sed "s/thread: all/rank: $2, ranks: 64, thread: all/" "$1" > "rank.$2.yaml"
}
for ((i = 0; i < 64; i++)); do rank p.yaml $i; done
rank q.yaml 17
rank near.yaml 40
expect 0 "$PSNAP" merge rank.*.yaml -o m.yaml
grep -Eq '^ *62 +0-16,18-39,41-63 .*written$' out || fail "$(cat out)"
grep -Eq '^ *1 +17 .* multiply:39 .* rank.17.yaml$' out || fail "$(cat out)"
grep -Eq '^ *1 +40 .* checksum:50 .* rank.40.yaml$' out || fail "$(cat out)"
expect 0 "$PSNAP" check m.yaml
expect 0 "$PSNAP" merge rank.*.yaml -o m.yaml --force --alike 0.2
grep -q 'folded$' out || fail "what is near is not folded: $(cat out)"
grep -q "same_ranks: '0-16,18-63'" m.yaml || fail "$(head -5 m.yaml)"
expect 0 "$PSNAP" show m.yaml
grep -q '^stands for ranks 0-16,18-63$' out || fail "$(cat out)"
expect 0 "$PSNAP" compare p.yaml m.yaml -m 4K:64:4 --max-error 0
expect 0 "$PSNAP" merge rank.*.yaml -o m.yaml --force --json
python3 - << 'END'
import json
groups = json.load(open("out"))["groups"]
assert [len(g["ranks"]) for g in groups] == [62, 1, 1], groups
assert groups[0]["apart"] == 0 and groups[1]["ranks"] == [17] and not groups[1]["folded"], groups
END

# profiles with as many accesses in each loop as p.yaml, and other content: none is the same
apart() { # FILE WHAT: an outlier that differs in WHAT
    expect 0 "$PSNAP" merge p.yaml p.yaml "$1" -o m.yaml --force --json
    python3 - "$1" "$2" << 'END'
import json, sys
groups = json.load(open("out"))["groups"]
assert [g["numbers"] for g in groups] == [[0, 1], [2]], groups
assert sys.argv[2] in groups[1]["changes"] and groups[1]["accesses"] == groups[0]["accesses"], groups[1]
assert groups[1]["apart"] > 0.01 and not groups[1]["folded"], groups[1]
END
}
expect 0 "$PSNAP" edit p.yaml -o stride.yaml -e 'loops[multiply:39].strides[320] = 640'
apart stride.yaml working_set
expect 0 "$PSNAP" edit p.yaml -o span.yaml -e 'regions[a].working_set *= 2'
apart span.yaml strides
sed 's/{repeat: 1600, of: .*/{repeat: 1600, of: ["multiply:39"]}\n- {repeat: 1600, of: ["multiply:36"]}/' \
    p.yaml > order.yaml
apart order.yaml order
"$PSNAP" cc -O2 "$PSNAP_SOURCE/samples/spmv.c" -o spmv -lm
expect 0 "$PSNAP" record -o p.yaml --force -- ./spmv 5000 2
expect 0 "$PSNAP" edit p.yaml -o reuse.yaml -e 'reuse *= 8'
apart reuse.yaml reuse
# profiles of the published model are the same or other ones
expect 0 "$PSNAP" record -o ps.yaml --model psnap -- ./matmul 40 1
expect 0 "$PSNAP" record -o p.yaml --force -- ./matmul 40 1
expect 0 "$PSNAP" merge p.yaml p.yaml ps.yaml -o m.yaml --force
grep -Eq '^ *1 +2 .* 100.000 +model +ps.yaml$' out || fail "$(cat out)"
expect 0 "$PSNAP" merge ps.yaml ps.yaml -o m.yaml --force
[ "$(grep -c '^ *[0-9]' out)" = 1 ] || fail "$(cat out)"

# another place is named, and no distance; a size that is nearly the same is folded
expect 0 "$PSNAP" record -o p.yaml --force -- ./matmul 40 1
expect 0 "$PSNAP" edit p.yaml -o moved.yaml -e 'regions[b].base += 4096'
expect 0 "$PSNAP" merge p.yaml p.yaml moved.yaml -o m.yaml --force
grep -Eq '^ *1 +2 .* 0\.000 +place +folded$' out || fail "$(cat out)"
expect 0 "$PSNAP" record -o p.yaml --force -- ./spmv 20000 2
expect 0 "$PSNAP" record -o q.yaml --force -- ./spmv 20010 2
expect 0 "$PSNAP" merge p.yaml q.yaml -o m.yaml --force
grep -Eq '^ *1 +1 .* accesses, working_set, .* folded$' out || fail "$(cat out)"

expect 1 "$PSNAP" merge p.yaml rank.3.yaml -o never.yaml
grep -q 'rank.3.yaml: some of the profiles have a rank' err || fail "$(cat err)"
[ ! -e never.yaml ] || fail "a file is left"
expect 1 "$PSNAP" merge rank.3.yaml nowhere.yaml -o never.yaml
expect 2 "$PSNAP" merge rank.3.yaml
expect 2 "$PSNAP" merge -o never.yaml
expect 1 "$PSNAP" merge rank.3.yaml -o m.yaml
