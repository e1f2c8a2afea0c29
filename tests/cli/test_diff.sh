#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap diff: what it says of profiles worked out by hand, as text and as JSON, exit statuses and
# errors; and, where there is psnap cc, of a program compiled and edited.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"

cat > a.yaml << 'END'
psnap: 1
program: {name: t, command: [./t, '1'], compiler: clang 19.1.7, host: x86_64}
capture: {model: psnap}
schedule: ['sum:20', 'init:7', 'gone:3', 'same:1']
loops:
- id: sum:20
  function: sum
  source: t.c:20
  nest: {depth: 1}
  entries: 1
  iterations: {total: 50}
  operations: {fp_add: 50, branch: 50}
  regions:
  - {id: x, symbol: x, working_set: {bytes: 800, group: image, offset: 0}, accesses: 100,
     loads: 100, sizes: {8: 100}, strides: {8: 99}}
  - {id: r1, working_set: {bytes: 8, group: stack, offset: -8}, accesses: 60, loads: 40,
     stores: 20, sizes: {8: 60}, strides: {0: 59}}
- id: init:7
  function: init
  source: t.c:7
  nest: {depth: 1}
  regions:
  - {id: x, symbol: x, working_set: {bytes: 240, group: image, offset: 0}, accesses: 30,
     stores: 30, sizes: {8: 30}, strides: {8: 29}}
- id: gone:3
  function: gone
  source: t.c:3
  nest: {depth: 1}
  regions:
  - {id: w, symbol: w, working_set: {bytes: 40, group: image, offset: 8000}, accesses: 5,
     stores: 5, sizes: {8: 5}, strides: {8: 4}}
- id: same:1
  function: same
  source: t.c:1
  nest: {depth: 1}
  regions:
  - {id: w, symbol: w, working_set: {bytes: 40, group: image, offset: 8000}, accesses: 5,
     loads: 5, sizes: {8: 5}, strides: {8: 4}}
END
# twice the data for sum, in pieces of 16 bytes, without what it kept on the stack; init one line
# further and 128 bytes on; a new loop for one that has gone
cat > b.yaml << 'END'
psnap: 1
program: {name: t, command: [./t, '2']}
capture: {model: psnap}
schedule: ['sum:20', 'init:8', 'fresh:40', 'same:1']
loops:
- id: sum:20
  function: sum
  source: t.c:20
  nest: {depth: 1}
  entries: 2
  iterations: {total: 50}
  operations: {fp_fma: 50, branch: 50}
  regions:
  - {id: x, symbol: x, working_set: {bytes: 1600, group: image, offset: 0}, accesses: 100,
     loads: 100, sizes: {16: 100}, strides: {16: 99}}
- id: init:8
  function: init
  source: t.c:8
  nest: {depth: 1}
  regions:
  - {id: x, symbol: x, working_set: {bytes: 240, group: image, offset: 128}, accesses: 30,
     stores: 30, sizes: {8: 30}, strides: {8: 29}}
- id: fresh:40
  function: fresh
  source: t.c:40
  nest: {depth: 2}
  regions:
  - {id: v, symbol: v, working_set: {bytes: 4K, group: heap, offset: 0}, accesses: 65,
     loads: 65, sizes: {8: 65}, strides: {64: 64}}
- id: same:1
  function: same
  source: t.c:1
  nest: {depth: 1}
  regions:
  - {id: w, symbol: w, working_set: {bytes: 40, group: image, offset: 8000}, accesses: 5,
     loads: 5, sizes: {8: 5}, strides: {8: 4}}
END

expect 0 "$PSNAP" diff a.yaml b.yaml
diff out - << 'END' || fail "the text"
a          a.yaml: t (./t 1), clang 19.1.7, x86_64, model psnap
b          b.yaml: t (./t 2), model psnap
accesses   200
loads      145 -> 170 (times 1.17)
stores     55 -> 30 (times 0.55)
loops      2 differ, 1 are alike, 1 only in a, 1 only in b; 1 in another place

sum:20  t.c:20, 80.0 % -> 50.0 % of the accesses
  accesses     160 -> 100 (times 0.62)
  kinds        loads 88 %, stores 12 % -> loads 100 %
  working set  808 B -> 1.6 KiB (times 2.0)
  sizes        8 100 % -> 16 100 %
  strides      8 63 %, 0 37 % -> 16 100 %
  entries      1 -> 2 (times 2.0)
  operations   fp_add 50 %, branch 50 % -> fp_fma 50 %, branch 50 %
  symbol x: working set 800 B -> 1.6 KiB (times 2.0), sizes 8 100 % -> 16 100 %, strides 8 100 % -> 16 100 %
  region r1: only in a, 60 accesses

fresh:40  t.c:40: only in b, 65 accesses, 32.5 %, working set 4.0 KiB

gone:3  t.c:3: only in a, 5 accesses, 2.5 %, working set 40 B

init:7 -> init:8  t.c:7 -> t.c:8, 15.0 % -> 15.0 % of the accesses
  moved to another line: the same function, in its order, and alike
  symbol x: moved by +128 bytes
END

"$PSNAP" diff a.yaml b.yaml --json > json
python3 - << 'END'
import json
r = json.load(open("json"))
assert (r["psnap"], r["command"], r["same"], r["differing"]) == (1, "diff", False, 4), r
assert r["a"] == {"input": "a.yaml", "program": "t", "compiler": "clang 19.1.7", "host": "x86_64",
                  "model": "psnap", "accesses": 200, "loads": 145, "stores": 55, "atomics": 0,
                  "loop_count": 4}, r["a"]
loops = r["loops"]
assert [l["match"] for l in loops] == ["id", "only_b", "only_a", "moved"]
# no stride is left as it was; 65 of 200 and 5 of 200 are wholly new or gone; init is alike
assert [l["importance"] for l in loops] == [0.8, 0.325, 0.025, 0]
assert loops[0]["changes"] == ["accesses", "kinds", "sizes", "working_set", "strides", "regions",
                               "entries", "operations"]
assert loops[0]["a"]["accesses"] == 160 and loops[0]["b"]["sizes"] == {"16": 100}
assert loops[0]["a"]["operations"] == {"fp_add": 50, "branch": 50}
assert loops[1]["a"] is None and loops[1]["b"]["id"] == "fresh:40" and loops[1]["b"]["depth"] == 2
assert loops[3]["changes"] == ["regions"] and loops[3]["regions"][0]["changes"] == ["place"]
x, r1 = loops[0]["regions"]
assert (x["name"], x["object"], r1["name"], r1["b"]) == ("x", "symbol", "r1", None)
END

# the other way round: what was only in one is only in the other
"$PSNAP" diff b.yaml a.yaml > out
has out 'accesses     100 -> 160 (times 1.6)'
has out 'fresh:40  t.c:40: only in a, 65 accesses'
has out 'init:8 -> init:7'

# the most important ones
expect 0 "$PSNAP" diff a.yaml b.yaml --top 1
has out '(1 of 4 loops that differ; --top N shows more)'
[ "$(grep -c '^[a-z]*:[0-9]' out)" = 1 ] || fail "--top 1: $(cat out)"
[ "$("$PSNAP" diff a.yaml b.yaml --top 2 --json | grep -c '"match"')" = 2 ] || fail "--top 2 --json"

# the same: of another recording, and in another form
sed 's/^program:.*/program: {name: other}/; s/^psnap/# a comment\npsnap/' a.yaml > same.yaml
expect 0 "$PSNAP" diff a.yaml same.yaml
grep -q '^they say the same$' out || fail "$(cat out)"
grep -q '^loops      0 differ, 4 are alike$' out || fail "$(cat out)"
"$PSNAP" diff a.yaml same.yaml --json | python3 -c '
import json, sys
r = json.load(sys.stdin)
assert r["same"] is True and r["loops"] == [] and r["differing"] == 0'
# the order of loops alone
sed "s/^schedule:.*/schedule: ['init:7', 'sum:20', 'gone:3', 'same:1']/" a.yaml > order.yaml
expect 0 "$PSNAP" diff a.yaml order.yaml
grep -q '^no number of a loop differs: the order' out || fail "$(cat out)"
# one line further, and nothing else
sed 's/t.c:20/t.c:21/; s/sum:20/sum:21/' a.yaml > line.yaml
expect 0 "$PSNAP" diff a.yaml line.yaml
grep -q '^in another place, and else alike: sum:20 -> sum:21$' out || fail "$(cat out)"

# where a thread begins, of one that is in no turns as well
nests=$PSNAP_SOURCE/tests/fuzz/corpus/fuzz_profile/nests-threads.yaml
sed '/^- thread: 1$/a\  after: 3' "$nests" > after.yaml
expect 0 "$PSNAP" diff "$nests" after.yaml
has out 'schedule of thread 1: behind the threads before it -> after 3 accesses of thread 0'

# exit statuses: done, or with --exit-code those of diff(1)
expect 0 "$PSNAP" diff a.yaml same.yaml --exit-code
expect 1 "$PSNAP" diff a.yaml b.yaml --exit-code
expect 1 "$PSNAP" diff a.yaml order.yaml --exit-code
expect 1 "$PSNAP" diff a.yaml nothing.yaml
has err "cannot open 'nothing.yaml'"
expect 2 "$PSNAP" diff a.yaml nothing.yaml --exit-code
sed 's/accesses: 30/accesses: 31/' b.yaml > wrong.yaml
expect 1 "$PSNAP" diff a.yaml wrong.yaml
has err 'wrong.yaml:21:88:'
[ ! -s out ] || fail "output in spite of an error"
expect 1 "$PSNAP" diff "$PSNAP_SOURCE/tests/golden/formats/rich.pst" a.yaml
has err 'psnap profile'
expect 2 "$PSNAP" diff a.yaml
expect 2 "$PSNAP" diff - -
"$PSNAP" diff - b.yaml < a.yaml | grep -q '^sum:20 ' || fail "of standard input"

# ---- a program ----

echo 'int main(void) { return 0; }' > probe.c
"$PSNAP" cc -o probe probe.c 2> probe.err || exit 0
"$PSNAP" cc -O2 "$PSNAP_SOURCE/samples/cg.c" -o cg -lm
"$PSNAP" record -o small.yaml -- ./cg 100 > log
"$PSNAP" record -o again.yaml -- ./cg 100 > log
"$PSNAP" record -o large.yaml -- ./cg 200 > log
"$PSNAP" cc -O1 "$PSNAP_SOURCE/samples/cg.c" -o plain -lm
"$PSNAP" record -o plain.yaml -- ./plain 100 > log
expect 0 "$PSNAP" diff small.yaml plain.yaml
if grep -q '(null)' out; then fail "a rule without a name: $(cat out)"; fi
has out 'sweep of @0 of multiply:75.2: goes on where the others ended -> '
expect 0 "$PSNAP" diff small.yaml again.yaml --exit-code
grep -q '^they say the same$' out || fail "two recordings: $(cat out)"
expect 1 "$PSNAP" diff small.yaml large.yaml --exit-code
grep -A2 '^multiply:75 ' out | grep -q 'accesses  *[0-9,]* -> [0-9,]* (times 2.0)' || fail "$(cat out)"
# lines added in the middle, and another name
mkdir moved
cp "$PSNAP_SOURCE/samples/sample.h" moved/
sed 's/^static double dot(/\n\n\n&/; s/count_entries/number_entries/g' "$PSNAP_SOURCE/samples/cg.c" \
    > moved/cg.c
cmp -s "$PSNAP_SOURCE/samples/cg.c" moved/cg.c && fail "nothing was moved"
"$PSNAP" cc -O2 moved/cg.c -o moved/cg -lm
"$PSNAP" record -o moved.yaml -- moved/cg 100 > log
expect 0 "$PSNAP" diff small.yaml moved.yaml
if grep -q 'only in' out; then fail "a loop has lost its partner: $(cat out)"; fi
grep -q '^loops      0 differ' out || fail "$(cat out)"
grep -q 'count_entries:36 -> number_entries:36' out || fail "$(cat out)"
grep -q 'dot:85 -> dot:88' out || fail "$(cat out)"
# What is drawn is no number of a loop: where in its line.
sed '0,/places: {0: [0-9]*/s//places: {0: 99/' small.yaml > other.yaml
cmp -s small.yaml other.yaml && fail "there is nothing to edit"
expect 0 "$PSNAP" diff small.yaml other.yaml
grep -q '^no number of a loop differs: reuse histograms or first touches do by little' out || fail "$(cat out)"

# Time grows as the number of loops does, of diff and merge: four times as many take four times as long
python3 - << 'END'
import os, resource, subprocess
def write(name, count, more):
    with open(name, "w") as f:
        print("psnap: 1\ncapture: {model: nests-3}\nschedule:", file=f)
        for i in range(count):
            print(f"- f:{i}", file=f)
        print("loops:", file=f)
        for i in range(count):
            n = 10 + i % 7 + (more if i % 5 == 0 else 0)
            print(f"- id: f:{i}\n  function: f\n  source: f.c:{i}\n  regions:\n"
                  f"  - {{id: a, symbol: a, working_set: {{bytes: {8 * n}, group: image, offset: {1024 * i}}}}}\n"
                  f"  bodies:\n  - {{id: f:{i}, refs: [0], iterations: {n}}}\n"
                  f"  references:\n  - {{ref: 0, load: 8, region: a, start: 0, counts: [{n}], strides: [8]}}", file=f)
def seconds(command, count, *options):
    for side in 0, 3:
        write(f"{side}.yaml", count, side)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([os.environ["PSNAP"], command, "0.yaml", "3.yaml", *options], check=True,
                   stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
for command in ["diff"], ["merge", "--force", "-o", "merged.yaml"]:
    few, many = (seconds(command[0], count, *command[1:]) for count in (6000, 24000))
    assert many < 7 * few, (command, few, many)
END
