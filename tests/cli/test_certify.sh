#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Certificates: psnap profile --certify makes one, worked out by hand and as psnap compare has it;
# show, check and compare say what it claims, and when it no longer holds.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"
schema=$PSNAP_SOURCE/profile/psnap-profile.schema.json

stream() { # THREAD ADDRESS...: loads of 4 bytes
    local thread=$1
    shift
    for address in "$@"; do
        printf '0x%x,4,load,%d,0\n' "$address" "$thread"
    done
}

# By hand, of the published model: a step of 24 bytes is kept as one of 32. A cache of one line of 32 bytes sees lines 0 0
# 1 2, one hit of four, and in the replay 0 1 2 and then, come round, another: none. 64 bytes in a
# line: 0 0 0 1, two hits, and 0 0 1 0: one.
{
    echo address,size,kind,thread,ref
    stream 0 0 24 48 72
} > steps.csv
expect 0 "$PSNAP" profile steps.csv --model psnap -o steps.yaml --certify -m 32:32:1 -m 64:64:1
sed -n '/^certificate/,/^loops/{/^loops/!p}' steps.yaml > certificate
content=$(sed -n "s/^  content: '*\([0-9a-f]*\)'*$/\1/p" certificate)
[ "${#content}" = 16 ] || fail "the checksum: $(cat certificate)"
version=$("$PSNAP" --version | cut -d ' ' -f 2)
sed "s/'//g; s/$content/X/; s/psnap: $version/psnap: V/" certificate | diff - <(cat << 'END'
certificate:
  psnap: V
  seed: 0
  content: X
  relevant_loops: 1
  levels:
  - {level: 1, mean_points: 25, max_points: 25, total_points: 25}
  rows:
  - {machine: 32:32:1, level: 1, mean_points: 25, max_points: 25, total_points: 25}
  - {machine: 64:64:1, level: 1, mean_points: 25, max_points: 25, total_points: 25}
  worst_loop: {id: csv, machine: 32:32:1, level: 1, points: 25}
END
) || fail "by hand: $(cat certificate)"
python3 "$PSNAP_SOURCE/tests/schema_check.py" "$schema" steps.yaml || [ $? = 77 ] || fail "schema"

# apart from it, the profile is the same
expect 0 "$PSNAP" profile steps.csv --model psnap -o plain.yaml
sed '/^certificate/,/^loops/{/^loops/!d}' steps.yaml | cmp - plain.yaml || fail "the profile differs"

# what people see
expect 0 "$PSNAP" show steps.yaml
grep -q '^error      L1 25.00 points, mean over 1 loop and 2 machines$' out || fail "$(cat out)"
grep -q '^           at most L1 25.00, csv on 32:32:1$' out || fail "$(cat out)"
expect 0 "$PSNAP" show plain.yaml
if grep -q '^error' out; then fail "an error without a certificate"; fi
expect 0 "$PSNAP" check steps.yaml
[ "$(wc -l < out)" = 1 ] || fail "a warning: $(cat out)"

# compare finds the same, on those of the machines that both have
for machines in '-m 32:32:1 -m 64:64:1' '-m 64:64:1' '-m 64:64:1 -m table1-1'; do
    # shellcheck disable=SC2086
    "$PSNAP" compare steps.csv steps.yaml $machines > out
    grep -q '^certificate of steps.yaml: confirmed (. of its 2 rows)$' out || fail "$(cat out)"
done
"$PSNAP" compare steps.csv - -m 64:64:1 < steps.yaml | grep -q '^certificate of -: confirmed' ||
    fail "from standard input"
"$PSNAP" compare steps.csv plain.yaml > out
if grep -q certificate out; then fail "a certificate of none: $(cat out)"; fi
"$PSNAP" compare steps.csv steps.yaml | grep -q 'made with other machines (-m 32:32:1, ...)' ||
    fail "other machines"
"$PSNAP" compare steps.csv steps.yaml -m 64:64:1 --seed 1 | grep -q 'made with seed 0' ||
    fail "another seed"

# another stream, and a claim that is wrong. Two hits of four are observed in lines 0 0 1 1
{
    echo address,size,kind,thread,ref
    stream 0 0 4 32 36
} > other.csv
"$PSNAP" compare other.csv steps.yaml -m 32:32:1 > out
grep -q 'claims otherwise (1 of 1 rows): for L1 of 32:32:1 a mean of 25 points, at most 25, in all 25, here a mean of 50 points, at most 50, in all 50$' out ||
    fail "$(cat out)"
sed "/machine: '64:64:1'/s/mean_points: 25/mean_points: 24.9/" steps.yaml > lie.yaml
"$PSNAP" compare steps.csv lie.yaml -m 32:32:1 -m 64:64:1 --json > json
python3 - << 'END'
import json
c = json.load(open("json"))["certificate"]
assert (c["holds"], c["compared_rows"], c["different_rows"], c["confirmed"]) == (True, 2, 1, False), c
END
sed "s/machine: '32:32:1', level: 1/machine: '32:32:1', level: 2/" steps.yaml > level.yaml
"$PSNAP" compare steps.csv level.yaml -m 32:32:1 | grep -q 'L2 of 32:32:1 .* has no such level' ||
    fail "a level that is not there"

# an edit: no error, and everybody says so; what means nothing is no edit
sed 's/ offset: 0/ offset: 8/' steps.yaml > edited.yaml
cmp -s steps.yaml edited.yaml && fail "no edit"
expect 0 "$PSNAP" check edited.yaml
grep -q 'warning: the certificate no longer holds: the profile was edited' out || fail "$(cat out)"
"$PSNAP" check edited.yaml --json | grep -q 'certificate no longer holds' || fail "check --json"
expect 0 "$PSNAP" show edited.yaml
grep -q '^certificate no longer holds' out || fail "$(cat out)"
"$PSNAP" show edited.yaml --json | python3 -c '
import json, sys
shown = json.load(sys.stdin)
c = shown["certificate"]
assert shown["certificate_holds"] is False and c["seed"] == 0 and len(c["rows"]) == 2, c
assert c["worst_loop"] == {"id": "csv", "machine": "32:32:1", "level": 1, "points": 25}, c'
"$PSNAP" compare steps.csv edited.yaml -m 32:32:1 | grep -q 'edited.yaml: no longer holds' ||
    fail "compare of an edited one"
{ echo '# a comment'; sed '/^totals/d; s/^program:.*/program: {name: else, thread: all}/' steps.yaml; } \
    > same.yaml
cmp -s steps.yaml same.yaml && fail "no edit"
expect 0 "$PSNAP" check same.yaml
[ "$(wc -l < out)" = 1 ] || fail "a comment is an edit: $(cat out)"

# several loops, the ten structures: as compare has it, also of a pipe
rich=$PSNAP_SOURCE/tests/golden/formats/rich.pst
"$PSNAP" profile "$rich" -o rich.yaml --certify 2> log
"$PSNAP" profile - -o piped.yaml --certify 2> log < "$rich"
cmp rich.yaml piped.yaml || fail "of a pipe"
"$PSNAP" compare "$rich" rich.yaml --json > json
"$PSNAP" show rich.yaml --json > show.json
python3 - << 'END'
import json
r, c = json.load(open("json")), json.load(open("show.json"))["certificate"]
s = r["summary"]
near = lambda a, b: abs(a - b) < 1e-4
assert r["certificate"]["confirmed"] and r["certificate"]["compared_rows"] == len(c["rows"]) == 22
assert [x["level"] for x in c["levels"]] == [1, 2, 3]
for key in "mean_points", "max_points", "total_points":
    assert all(near(x[key], y) for x, y in zip(c["levels"], s[key])), key
assert c["relevant_loops"] == s["relevant_loops"]
for row in c["rows"]:
    loops = [x["levels"][row["level"] - 1]["error_points"] for x in r["rows"]
             if x["scope"] == "loop" and x["machine"] == row["machine"]]
    assert near(row["mean_points"], sum(loops) / len(loops)), row
    assert near(row["max_points"], max(loops)), row
w = c["worst_loop"]
assert near(w["points"], max(s["max_points"])), w
(row,) = [x for x in r["rows"] if (x["scope"], x["id"], x["machine"]) == ("loop", w["id"], w["machine"])]
assert near(row["levels"][w["level"] - 1]["error_points"], w["points"]), w
END

# threads in the order of the stream, from a file and from a pipe
{
    echo address,size,kind,thread,ref
    for i in {0..40}; do stream 0 $((i * 24)); done
    for i in {0..60}; do stream 1 $((4096 + i * 40)); stream 0 $((i * 16)); done
} > threads.csv
for model in nests psnap; do
    "$PSNAP" profile threads.csv -o t.yaml --force --model $model --certify -m 1K:64:2 2> log
    "$PSNAP" profile - -o p.yaml --force --model $model --certify -m 1K:64:2 < threads.csv 2> log
    cmp t.yaml p.yaml || fail "threads of a pipe"
    "$PSNAP" compare threads.csv t.yaml -m 1K:64:2 > out
    has out "threads.csv: 163 accesses, 2 threads, interleaved in the stream's order"
    has out 'certificate of t.yaml: confirmed (1 of its 1 rows)'
done

# a TLB, no relevant loop, and a stream of nothing
cat > tlb.yaml << 'END'
levels: [{size_bytes: 1K, line_bytes: 64, ways: 16}]
tlb: [{entries: 1, page_bytes: 64}]
END
"$PSNAP" profile steps.csv -o t.yaml --force --certify -m tlb.yaml 2> log
grep -q '{machine: tlb, tlb: 1, mean_points: ' t.yaml || fail "$(cat t.yaml)"
"$PSNAP" compare steps.csv t.yaml -m tlb.yaml | grep -q 'confirmed (2 of its 2 rows)' || fail "TLB"
"$PSNAP" show t.yaml | grep -q '^error      L1 .*, TLB ' || fail "$("$PSNAP" show t.yaml)"
has t.yaml "    tlb: '1K:64:16'"
# another machine of that name
sed -i 's/1K/2K/' tlb.yaml
"$PSNAP" compare steps.csv t.yaml -m tlb.yaml | grep -q 'made with another tlb (1K:64:16), not' ||
    fail "another machine"
grep -q '^  machines' steps.yaml && fail "caches that their name says"
echo address,size,kind,thread,ref > none.csv
"$PSNAP" profile none.csv -o none.yaml --certify -m 1K:64:2 2> log
has none.yaml 'relevant_loops: 0'
has none.yaml '{level: 1, total_points: 0}'
expect 0 "$PSNAP" check none.yaml
"$PSNAP" show none.yaml | grep -q 'no relevant loops' || fail "$("$PSNAP" show none.yaml)"
"$PSNAP" compare none.csv none.yaml -m 1K:64:2 | grep -q 'confirmed (1 of its 1 rows)' || fail "none"

# mistakes, before any work
expect 2 "$PSNAP" profile steps.csv -o x.yaml -m 32:32:1
has err '-m is for --certify'
expect 1 "$PSNAP" profile steps.csv -o x.yaml --certify -m nothing
has err "nothing"
[ ! -e x.yaml ] || fail "a profile in spite of an error"
