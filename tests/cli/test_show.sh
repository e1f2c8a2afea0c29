#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap show: a profile for people, and as JSON.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"
golden=$PSNAP_SOURCE/tests/golden/profile.psnap.yaml

expect 0 "$PSNAP" show "$golden"
grep -q '^program    t (./t 1)$' out
grep -q '^accesses   29 in 2 loops, 192 B$' out
grep -q '20 loads, 9 stores' out
grep -q 'fp_add 8' out
# hottest first
[ "$(grep -n '^sum ' out | cut -d: -f1)" -lt "$(grep -n '^init ' out | cut -d: -f1)" ]
grep -q '^init *dir:1/t.c:7 *8 *27.6 % *1 *64 B *8 100 %' out
expect 0 "$PSNAP" show "$golden" --top 1
if grep -q '^init ' out; then fail "--top 1: $(cat out)"; fi
grep -q '(1 of 2 loops; --top N shows more)' out

expect 0 "$PSNAP" show "$golden" --loop sum
grep -q '^nest       depth 2, in init$' out
grep -q '^iterations 20, 5 per entry$' out
grep -q '^a .*stack-512 .*random 60 %, 0 40 %' out
"$PSNAP" show - < "$golden" > piped
grep -q '^program    t' piped

expect 0 "$PSNAP" show "$golden" --json
python3 - << 'END'
import json
report = json.load(open("out"))
assert report["psnap"] == 1 and report["command"] == "show"
assert report["accesses"] == 29 and report["bytes"] == 192
assert [loop["id"] for loop in report["loops"]] == ["sum", "init"]
assert report["loops"][0]["strides"] == {"0": 13, "random": 6}
assert report["loops"][0]["parent"] == "init"
assert abs(report["loops"][1]["share"] - 8 / 29) < 1e-12
END
expect 0 "$PSNAP" show "$golden" --json --loop sum
grep -q '"regions"' out

expect 1 "$PSNAP" show "$golden" --loop nothing
grep -q "no loop 'nothing'" err
expect 1 "$PSNAP" show missing.yaml
expect 2 "$PSNAP" show

# a loop of the source is all its parts; a slip is named; ids of templates are cut in the middle
sed 's/^- id: sum$/- id: sum:9.vector\n  part_of: sum:9/; s/\[sum, init\]/[sum:9.vector, init]/' "$golden" > parts.yaml
expect 0 "$PSNAP" check parts.yaml
expect 0 "$PSNAP" show parts.yaml --loop sum:9
grep -q '^loop       sum:9.vector, part of sum:9$' out
expect 1 "$PSNAP" show parts.yaml --loop sum:8.vector
grep -q "no loop 'sum:8.vector' in 'parts.yaml'; did you mean 'sum:9.vector'?" err
x=$(printf 'x%.0s' $(seq 300))
sed "s/sum:9/std::vec<$x>::at:9/" parts.yaml > long.yaml
expect 0 "$PSNAP" check long.yaml
expect 0 "$PSNAP" show long.yaml
[ "$(wc -L < out)" -le 140 ]
grep -q '^std::vec<x*\.\.\.x*>::at:9.vector ' out
expect 0 "$PSNAP" show long.yaml --loop "$(sed -n 's/^\(std::vec[^ ]*\) .*/\1/p' out)"
grep -q "^loop       std::vec<$x>::at:9.vector" out
"$PSNAP" show long.yaml --json > out
grep -q "$x" out
for command in sim compare; do
    second=$([ $command = sim ] || echo long.yaml)
    "$PSNAP" $command long.yaml $second -m table1-1 > out
    grep -q 'x\.\.\.x' out
    if grep -q "$x" out; then fail "$command: a long name in whole"; fi
done

# where threads are apart the JSON has the rows of the table: of a loop as a whole what its parts have
apart=$PSNAP_SOURCE/tests/fuzz/corpus/fuzz_profile/apart.yaml
for top in 1 2 4 20; do
    expect 0 "$PSNAP" show "$apart" --top $top
    sed -n '/^thread *loop /,/^(/p' out | awk '$2 ~ /^f/ { print $2, $4 }' > rows
    [ -s rows ]
    expect 0 "$PSNAP" show "$apart" --top $top --json
    if /usr/bin/python3 -c '' 2> /dev/null; then
        /usr/bin/python3 -c '
import json
for loop in json.load(open("out"))["loops"]:
    print(loop["id"], loop["accesses"])' | diff rows -
    fi
    tr -d ' \n' < out > flat
    grep -q '"loop_count":3,"part_count":3,' flat
done
"$PSNAP" info "$apart" --json | tr -d ' \n' | grep -q '"loops":3,'

# Walks: the schedule as a tree, in short behind the table, in full, and of one loop.
walks=$PSNAP_SOURCE/tests/fuzz/corpus/fuzz_profile/walks.yaml
expect 0 "$PSNAP" show "$walks"
sed -n '/^schedule/,/^drawn/p' out | sed 's/  *x /  x /' > tree
diff - tree << 'END'
schedule

repeat 3
  f  x 4 (-1): load r1, store r1
  repeat -1 (1)
    m1
f  x 1: atomic r1
f  x c1: load r1, load d3
m1

drawn
END
grep -q '^m1    a graph of 1 state, 4 in 4 visits: g$' out
grep -q '^c1    always 2, 1 time$' out
if grep -q '^d1 ' out; then fail "in short there are no draws"; fi
expect 0 "$PSNAP" show "$walks" --top 2 # four lines, and what is drawn in these
sed -n '/^schedule/,$p' out | sed 's/  *x /  x /' > short
diff - short << 'END' ||
schedule

repeat 3
  f  x 4 (-1): load r1, store r1
  repeat -1 (1)
    m1
(4 of 7 lines; --schedule shows all)

drawn

m1    a graph of 1 state, 4 in 4 visits: g
END
    fail "--top 2: $(cat out)"
expect 0 "$PSNAP" show "$walks" --schedule
grep -q '^      load    8  r1  *by 32, 8$' out
grep -q '^      store   8  r1  *by 32, -8$' out
grep -q '^    load    8  r1  *by 8, from where it was$' out
grep -q '^    load    8  d3  *drawn, then by 8$' out
grep -q '^m1    a graph of 1 state, 4 in 4 visits: g$' out
grep -q '^d1    g: at first 8 bytes from d3; then anywhere in 16 B of r1, from there by 8; each place once a lap in 16 B of r1$' out
grep -q '^d2    g: -8 bytes from d1$' out
grep -q '^d3    f: at cursors in 96 B of r1$' out
if grep -q '^program' out; then fail "only the schedule"; fi

# a mix of ten loops: in short eight of them are named
{
    printf '%s\n' 'psnap: 1' 'program: {thread: all}' 'capture: {model: walks-2}' 'schedule: [m1]' models: '  draws:'
    for i in {1..10}; do
        echo "  - {draw: d$i, loop: g$i, areas: [{region: r1, start: 0, accesses: 1, bytes: 8, element: 8}]}"
    done
    printf '%s\n' '  mixes:' '  - mix: m1' '    graph:' '      begin: {1: 1}' '      states:'
    for i in {1..10}; do
        next=$([ "$i" = 10 ] && echo end || echo $((i + 1)))
        echo "      - {state: $i, loop: g$i, references: [{ref: 0, load: 8, draw: d$i}], times: 1, next: {$next: 1}}"
    done
    echo loops:
    for i in {1..10}; do
        echo "- {id: g$i, nest: {depth: 0}, accesses: 1, regions: [{id: r1, working_set:" \
            "{bytes: 8, group: heap, offset: $((i * 64))}, accesses: 1, loads: 1, sizes: {8: 1}}]}"
    done
} > ten.yaml
expect 0 "$PSNAP" show ten.yaml
grep -q '^m1    a graph of 10 states, 10 in 1 visits: g1, .*, g8 and 2 more loops$' out || fail "$(cat out)"
expect 0 "$PSNAP" show ten.yaml --schedule
grep -q ', g8, g9, g10$' out || fail "$(cat out)"

# counts that come evenly
sed 's/\(state: [37],.* times: 1\)/\1, evenly: true/; s/^ *begin:.*/&\n      lengths: 10\n      evenly: true/' ten.yaml > evenly.yaml
expect 0 "$PSNAP" show evenly.yaml --schedule
grep -q ', g9, g10; counts come evenly of g3, g7; lengths of visits come evenly$' out || fail "$(cat out)"
expect 0 "$PSNAP" show evenly.yaml --json
python3 -c '
import json
states = json.load(open("out"))["models"]["mixes"][0]["states"]
assert [state["state"] for state in states if state["evenly"]] == [3, 7]'
sed '/counts: c1/s/}$/, evenly: true}/' "$walks" > evenly.yaml
expect 0 "$PSNAP" show evenly.yaml
grep -q '^c1    always 2, 1 time, evenly$' out || fail "$(cat out)"

# drawn PLACES TEXT [MORE]: what is said of d3 when its places are these
drawn() {
    sed "s/places: cursors,/$1}/; /cursors: \[{/d" "$walks" > places.yaml
    expect 0 "$PSNAP" show places.yaml --schedule
    grep -q "^d3    f: $2 96 B of r1${3-}\$" out || fail "$1: $(tail -1 out)"
}
drawn 'places: sweep, sweep_bytes: 8' 'onwards through'
drawn "places: band, lap: 3, place_bytes: 8, inside: 1, offsets: [$(printf '0, %.0s' $(seq 20))0]" \
    'near a point that moves through'
drawn 'parts: [0.25, 0.75]' 'anywhere in' ', some places more often'

expect 0 "$PSNAP" show "$walks" --loop g
sed -n '/^walks/,/^drawn/p' out | diff - <(printf '%s\n' walks '' 'repeat 3' '  repeat -1 (1)' \
    '    m1' m1 '' drawn)
expect 2 "$PSNAP" show "$walks" --loop g --schedule
expect 1 "$PSNAP" show "$golden" --schedule
grep -q "is of model psnap" err
expect 0 "$PSNAP" show "$walks" --json
python3 -c '
import json
report = json.load(open("out"))
first, single, drawn, mix = report["schedule"]
assert first["repeat"] == 3 and first["of"][1] == {"repeat": -1, "repeat_steps": [1], "of": [{"mix": "m1"}]}
walk = first["of"][0]
assert walk["loop"] == "f" and walk["times"] == 4 and walk["times_steps"] == [-1]
assert walk["references"][1] == {"ref": 2, "kind": "store", "size_bytes": 8, "thread": 1,
                                 "region": "r1", "start": 32, "strides": [32, -8]}
assert drawn["counts"] == "c1" and drawn["references"][1]["draw"] == "d3" and mix == {"mix": "m1"}
assert report["models"]["counts"] == [{"counts": "c1", "times": 1, "sum": 2, "least": 2, "most": 2,
                                       "evenly": False}]
assert [state["evenly"] for state in report["models"]["mixes"][0]["states"]] == [False]
assert report["models"]["draws"][1] == {"draw": "d2", "loop": "g", "with": "d1", "offset": -8}'

# Items that come again have a name; walks that look alike are one line; what is too long is cut.
{
    printf 'psnap: 1\ncapture: {model: walks-2}\nschedule:\n'
    for i in $(seq 60); do
        printf -- '- {loop: f, times: 1, references: [{ref: 0, load: 8, region: r1, start: %d}]}\n' \
            $((i * i))
    done
    printf -- '- {repeat: 5, of: [{loop: f, times: 2, strides: [16, 8], references: ['
    printf '{ref: %d, load: 8, region: r1, start: 0},' 0 1 2 3 4 5 6 7
    printf ']}]}\n- {loop: f, times: 1, references: [{ref: 0, load: 8, region: r1, start: 0}]}\n'
    printf -- '- {repeat: 5, of: [{loop: f, times: 2, strides: [16, 8], references: ['
    printf '{ref: %d, load: 8, region: r1, start: 0},' 0 1 2 3 4 5 6 7
    printf ']}]}\nloops:\n- {id: f, nest: {depth: 0}, accesses: 221, pattern: [r1], regions: [{id: r1,\n'
    printf '  working_set: {bytes: 3608, group: heap, offset: 0}, accesses: 221, loads: 221, sizes: {8: 221}}]}\n'
} > again.yaml
expect 0 "$PSNAP" show again.yaml
sed -n '/^schedule/,$p' out | sed 's/  *x /  x /' > tree
diff - tree << 'END'
schedule

f  x 1: load r1
(59 more like it)
f:
  repeat 5
    f  x 2: load r1 x 8
f  x 1: load r1
f, again
END
expect 0 "$PSNAP" show again.yaml --schedule
[ "$(grep -c '^    load    8  r1' out)" = 61 ]
{
    printf 'psnap: 1\ncapture: {model: walks-2}\nschedule:\n'
    for i in $(seq 30); do
        printf -- '- {loop: f, times: 1, references: [{ref: 0, load: 8, region: r1, start: %d}]}\n' \
            $((i * i))
        printf -- '- {loop: f, times: %d, references: [{ref: 1, load: 8, region: r1, start: 0}]}\n' \
            $((1 + i % 7))
    done
    accesses=0
    for i in $(seq 30); do accesses=$((accesses + 2 + i % 7)); done
    printf 'loops:\n- {id: f, nest: {depth: 0}, accesses: %d, pattern: [r1], regions: [{id: r1,\n' $accesses
    printf '  working_set: {bytes: 908, group: heap, offset: 0}, accesses: %d, loads: %d, sizes: {8: %d}}]}\n' \
        $accesses $accesses $accesses
} > cut.yaml
expect 0 "$PSNAP" show cut.yaml
grep -Eq '^\(40 of [0-9]+ lines; --schedule shows all\)$' out
[ "$(sed -n '/^schedule/,/^(40/p' out | wc -l)" = 43 ]
