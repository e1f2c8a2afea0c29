#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap edit of loops that come in no order that folds: a profile of a mix of three loops, written
# by hand. What its graph becomes is worked out by hand as well, from the numbers; replay gives each
# loop as often as that says.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"

# profile C PIECE ENTRIES: ten visits of a mix of loops a, b within a, and c, in C: within it, too,
# or main; each behind an access of PIECE: main, or a, which is then entered once; of `before`: of
# main, but before all visits
profile() {
    local depth=1 of_a=40 of_main=10
    [ "$1" = main ] || depth=2
    [ "$2" != a ] || { of_a=50; of_main=0; }
    local reference='references: [{ref: 1, load: 4, region: r0, start: 0, strides: [0'
    local schedule="- repeat: 10
  of:
  - {loop: $2, times: 1, $reference, 0]}]}
  - m1"
    [ "$2" != before ] || schedule="- {loop: main, times: 10, $reference]}]}
- {repeat: 10, of: [m1]}"
    cat << END
psnap: 1
program: {name: mixed}
capture: {model: walks-2, region_gap_bytes: 256, region_limit: 128}
schedule:
$schedule
models:
  draws:
  - {draw: d1, loop: a, areas: [{region: r1, start: 0, accesses: 40, bytes: 512, element: 8}]}
  - {draw: d2, loop: b, areas: [{region: r1, start: 0, accesses: 69, bytes: 512, element: 8}]}
  - {draw: d3, loop: c, areas: [{region: r1, start: 0, accesses: 12, bytes: 512, element: 8}]}
  mixes:
  - mix: m1
    graph:
      begin: {1: 6, 3: 3, end: 1}
      lengths: [{is: 0, times: 1}, {is: 7, times: 7}, {is: 8, times: 2}]
      any: {1: 1, 3: 1}
      states:
      - state: 1
        loop: a
        references: [{ref: 0, load: 8, draw: d1}]
        times: [{is: 1, times: 20}, {is: 2, times: 10}]
        next: {2: 18, 3: 8, end: 4}
      - state: 2
        loop: b
        references: [{ref: 0, load: 2, draw: d2}]
        times: 3
        next: {1: 14, 2: 5, any: 2, end: 2}
      - state: 3
        loop: c
        references: [{ref: 0, store: 8, draw: d3}]
        times: 1
        next: {1: 9, end: 3}
loops:
END
    python3 - "$of_main" "$of_a" "$1" "$depth" "$3" << 'END'
import sys
of_main, of_a, within, depth, entries = sys.argv[1:]
def loop(name, nest, entries, iterations, counts):
    print(f"- id: {name}\n  nest: {nest}\n  entries: {entries}\n  iterations: {{total: {iterations}}}")
    print(f"  accesses: {sum(n for _, _, _, n in counts)}")
    if not counts:
        return
    print(f"  pattern: [{', '.join(c[0] for c in counts)}]\n  regions:")
    for region, size, kind, n in counts:
        offset, length, stride = (0, 4, 0) if region == "r0" else (4096, 512, "random")
        print(f"  - {{id: {region}, working_set: {{bytes: {length}, group: heap, offset: {offset}}}, "
              f"accesses: {n}, {kind}: {n}, sizes: {{{size}: {n}}}, strides: {{{stride}: {n - 1}}}}}")
r0 = [("r0", 4, "loads", 10)]
loop("main", "{depth: 0}", 1, 1, r0 if of_main != "0" else [])
loop("a", "{depth: 1, parent: main}", entries, 40,
     (r0 if of_main == "0" else []) + [("r1", 8, "loads", 40)])
loop("b", "{depth: 2, parent: a}", 23, 69, [("r1", 2, "loads", 69)])
loop("c", f"{{depth: {depth}, parent: {within}}}", 12, 12, [("r1", 8, "stores", 12)])
END
}

# edit FROM OPTIONS...: to e.yaml, which is good, and so is its text when it is read and written
edit() {
    expect 0 "$PSNAP" edit "$1" -o e.yaml --force "${@:2}"
    expect 0 "$PSNAP" check e.yaml
    [ "$(wc -l < out)" = 1 ] || fail "$*: $(cat out)"
    expect 0 "$PSNAP" edit e.yaml -o again.yaml --force --set program.name=mixed
    cmp e.yaml again.yaml
}

# graph FILE: what its mix says, node by node, without what states are
graph() {
    sed -n '/graph:/,/^loops:/p' "$1" | grep -oE '(begin|lengths|any|times|next): .*$' \
        | grep -v 'region' | tr '\n' ' '
}

becomes() {
    [ "$(graph e.yaml)" = "$(echo "$@" | tr -s ' ') " ] || fail "$(graph e.yaml)"
}

# replays VISITS EMPTY A B C: so many visits, some without accesses (*: any number), and accesses of
# each loop
replays() {
    "$PSNAP" replay e.yaml -f csv -o - 2> log | awk -F, 'NR > 1 {
        what = $2 "," $3
        if (what == "4,load") { visits++; empty += last; last = 1 } else { n[what]++; last = 0 }
    } END { print visits, empty + last, n["8,load"], n["2,load"], n["8,store"] }' > counts
    # shellcheck disable=SC2053
    [[ $(cat counts) = $* ]] || fail "replayed $(cat counts), not $*"
}

profile a main 10 > inside.yaml
profile main main 14 > outside.yaml
profile a a 1 > piece.yaml
profile a before 10 > behind.yaml

# All of it is of a, or within: visits three times as long, as many of them, the empty one too. Of
# 9 ends, 4 of state 1, 2 of state 2, 3 of state 3, 18 more go on with 1 and 3, as 6 to 3.
edit inside.yaml --iterations 3 --loop a
becomes 'begin: {1: 6, 3: 3, end: 1}' \
    'lengths: [{is: 0, times: 1}, {is: 21, times: 7}, {is: 24, times: 2}]' \
    'any: {1: 3, 3: 3}' \
    'times: [{is: 1, times: 60}, {is: 2, times: 30}]' 'next: {1: 6, 2: 54, 3: 26, end: 4}' \
    'times: 3' 'next: {1: 44, 2: 15, 3: 2, any: 6, end: 2}' \
    'times: 1' 'next: {1: 31, 3: 2, end: 3}'
replays 10 1 120 207 36
grep -A3 '^- id: a$' e.yaml | grep -q 'entries: 10'
grep -A3 '^- id: a$' e.yaml | grep -q 'total: 120'
grep -A3 '^- id: b$' e.yaml | grep -q 'entries: 69'
cp e.yaml first.yaml
edit behind.yaml --iterations 3 --loop a # in a repeat of the loop around a
grep -q 'repeat: 10$' e.yaml
[ "$(graph e.yaml)" = "$(graph first.yaml)" ]
edit inside.yaml --iterations 1 --loop a
becomes 'begin: {1: 6, 3: 3, end: 1}' \
    'lengths: [{is: 0, times: 1}, {is: 7, times: 7}, {is: 8, times: 2}]' 'any: {1: 1, 3: 1}' \
    'times: [{is: 1, times: 20}, {is: 2, times: 10}]' 'next: {2: 18, 3: 8, end: 4}' \
    'times: 3' 'next: {1: 14, 2: 5, any: 2, end: 2}' 'times: 1' 'next: {1: 9, end: 3}'

# What comes evenly does so still, also after edits of numbers and of other loops.
sed 's/^\( *\)times: \[{is: 1, .*/&\n\1evenly: true/; s/^\( *\)lengths: .*/&\n\1evenly: true/' inside.yaml > evenly.yaml
edit evenly.yaml --iterations 3 --loop a
[ "$(grep -c 'evenly: true$' e.yaml)" = 2 ] || fail "$(grep -n evenly e.yaml)"
[ "$(graph e.yaml)" = "$(graph first.yaml)" ]
replays 10 1 120 207 36
edit evenly.yaml --entries 3 --loop b # which says no lengths
[ "$(grep -c 'evenly: true$' e.yaml)" = 1 ] || fail "$(grep -n evenly e.yaml)"
edit evenly.yaml --remove-loop c
[ "$(grep -A1 'is: 1, times: 20' e.yaml | grep -c 'evenly: true$')" = 1 ]
edit evenly.yaml --set models.mixes.m1.graph.states.1.evenly=
[ "$(grep -c 'evenly: true$' e.yaml)" = 1 ] || fail "$(grep -n evenly e.yaml)"
edit inside.yaml --set models.mixes.m1.graph.states.1.evenly=true
[ "$(grep -A1 'is: 1, times: 20' e.yaml | grep -c 'evenly: true$')" = 1 ]

# With c outside an iteration of a cannot be told from what comes between; one of b can.
expect 1 "$PSNAP" edit outside.yaml -o x.yaml --iterations 3 --loop a
has err "loops 'a' and 'b' come in no order that folds, with others (mix m1)"
[ ! -e x.yaml ]
edit outside.yaml --iterations 3 --loop b
replays 10 1 40 207 12

# Entries of a are what of a and b comes between c, the ends, and what is rare.
edit outside.yaml --entries 3 --loop a
becomes 'begin: {1: 6, 3: 3, end: 1}' 'any: {1: 1, 3: 1}' \
    'times: [{is: 1, times: 60}, {is: 2, times: 30}]' 'next: {1: 24, 2: 54, 3: 8, end: 4}' \
    'times: 3' 'next: {1: 50, 2: 15, any: 2, end: 2}' 'times: 1' 'next: {1: 9, end: 3}'
replays 10 1 120 207 12
edit outside.yaml --entries 3 --loop b
becomes 'begin: {1: 6, 3: 3, end: 1}' 'any: {1: 1, 3: 1}' \
    'times: [{is: 1, times: 20}, {is: 2, times: 10}]' 'next: {2: 18, 3: 8, end: 4}' \
    'times: 3' 'next: {1: 14, 2: 51, any: 2, end: 2}' 'times: 1' 'next: {1: 9, end: 3}'
replays 10 1 40 207 12

# What b does is what a leaves over: 3 iterations after 18 of those with one.
sed -e '/lengths:/d' -e 's/{is: 1, times: 20}/{is: 1, times: 20, rest: {3: 18}}/' -e 's/2: 5, any/any/' \
    -e '/loop: b$/,/next:/s/times: 3$/rest_of: 1/' -e 's/entries: 23/entries: 18/' \
    -e '/- id: b$/,/- id: c$/{s/69/54/g; s/68/53/g}' outside.yaml > rests.yaml
expect 0 "$PSNAP" check rests.yaml
edit rests.yaml --iterations 1 --loop b
replays 10 1 40 54 12
edit rests.yaml --iterations 3 --loop b
grep -q 'rest: {9: 18}' e.yaml
replays 10 1 40 162 12
edit rests.yaml --iterations 3 --loop c
grep -q 'rest: {3: 18}' e.yaml
replays 10 1 40 54 36
edit rests.yaml --entries 3 --loop b # both have their own counts
becomes 'begin: {1: 6, 3: 3, end: 1}' 'any: {1: 1, 3: 1}' \
    'times: [{is: 1, times: 20}, {is: 2, times: 10}]' 'next: {2: 18, 3: 8, end: 4}' \
    'times: 3' 'next: {1: 14, 2: 36, any: 2, end: 2}' 'times: 1' 'next: {1: 9, end: 3}'
replays 10 1 40 162 12
edit rests.yaml --remove-loop b
becomes 'begin: {1: 6, 3: 3, end: 1}' 'any: {1: 15, 3: 1, end: 2}' \
    'times: [{is: 1, times: 20}, {is: 2, times: 10}]' 'next: {3: 8, any: 18, end: 4}' \
    'times: 1' 'next: {1: 9, end: 3}'
replays 10 '*' 40 '' 12

# What would have to be drawn for hours is refused before it begins: 69 * 4e9 accesses of b.
expect 1 "$PSNAP" edit outside.yaml -o x.yaml --iterations 4000000000 --loop b
has err "that would be 2.76e+11 executions of loops and drawn accesses, more than 4294967296"
[ ! -e x.yaml ]

# All of it is of a, or within: visits are repeated.
edit inside.yaml --entries 3 --loop a
grep -q 'begin: {1: 18, 3: 9, end: 3}' e.yaml
grep -q 'lengths: \[{is: 0, times: 3}, {is: 7, times: 21}, {is: 8, times: 6}\]' e.yaml
replays 10 '*' 120 207 36

# Each visit is a part of an iteration of a: there are more of them, each as before.
edit piece.yaml --iterations 3 --loop a
grep -q 'repeat: 30' e.yaml
grep -q 'begin: {1: 18, 3: 9, end: 3}' e.yaml
grep -q 'lengths: \[{is: 0, times: 3}, {is: 7, times: 21}, {is: 8, times: 6}\]' e.yaml
replays 30 3 120 207 36

# the beginning of a profile whose schedule is an item repeated 50 times
fifty_times() {
    cat << END
psnap: 1
program: {name: mixed}
capture: {model: walks-2, region_gap_bytes: 256, region_limit: 128}
schedule:
- repeat: 50
  of:
END
}

# around OFFSET: 50 times, in turn, loop f draws anywhere in an array at 4096, and loop g as far as
# its array, at OFFSET, is from there, and 64 bytes
around() {
    local l
    fifty_times
    cat << END
  - {loop: f, times: 1, references: [{ref: 0, load: 8, draw: d1}]}
  - {loop: g, times: 1, references: [{ref: 0, store: 8, draw: d2}]}
models:
  draws:
  - {draw: d1, loop: f, areas: [{region: r1, start: 0, accesses: 50, bytes: 512, element: 8}]}
  - {draw: d2, loop: g, around: d1, offset: $(($1 - 4096 + 64)), areas: [{region: r1, start: 0, accesses: 50, bytes: 512,
     element: 8, places: around, offsets: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]}]}
loops:
END
    for l in "f loads 4096" "g stores $1"; do
        # shellcheck disable=SC2086
        set -- $l
        cat << END
- {id: $1, nest: {depth: 0}, entries: 50, iterations: {total: 50}, accesses: 50, pattern: [r1], regions: [
  {id: r1, working_set: {bytes: 512, group: heap, offset: $3}, accesses: 50, $2: 50, sizes: {8: 50}, strides: {random: 49}}]}
END
    done
}

around 4096 > same.yaml
around 8192 > apart.yaml
for file in same apart; do
    expect 0 "$PSNAP" check $file.yaml
    expect 1 "$PSNAP" edit $file.yaml -o x.yaml --remove-loop f
    has err "around addresses of d1 has nothing to be around any more"
    edit $file.yaml --entries 2 --loop f
done

sed 's/^\(  - {draw: d2, .*offset: 64,\)/\1 each: 8, each_rest: 4,/' same.yaml > slopes.yaml
expect 0 "$PSNAP" check slopes.yaml
edit slopes.yaml --span 2 --loop f --region r1
[ "$(grep -cE '^    each: 16$|^    each_rest: 8$' e.yaml)" = 2 ] || fail "$(grep -n each e.yaml)"
for each in '' 'each: 0,'; do
    sed "s/each: 8,/$each/" slopes.yaml > wrong.yaml
    expect 1 "$PSNAP" check wrong.yaml
    has out "'each_rest' is more of 'each', which is not there"
done

# In one array the distance is stretched with it; one of two cannot be.
edit same.yaml --span 2 --loop f --region r1
grep -q '^    offset: 128$' e.yaml || fail "$(grep -n offset e.yaml)"
sed 's/element: 8}/element: 8, grid: 32, grid_start: 8}/' same.yaml > grid.yaml
edit grid.yaml --span 2 --loop f --region r1
grep -q '^      grid: 64$' e.yaml && grep -q '^      grid_start: 16$' e.yaml || fail "$(grep -n grid e.yaml)"
sed 's/element: 8}/element: 8, places: passes, passes: [[9, 0, 504, 8, 16, 504, 24]]}/' same.yaml > passes.yaml
edit passes.yaml --span 2 --loop f --region r1
grep -q '^      passes: \[\[9, 0, 1008, 16, 32, 1008, 48\]\]$' e.yaml || fail "$(grep -n passes e.yaml)"
sed 's/element: 8}/element: 8, places: descent, root: 256, levels: [[-128, 120, 0.5, 1]]}/' same.yaml > tree.yaml
edit tree.yaml --span 2 --loop f --region r1
grep -q '^      root: 512$' e.yaml && grep -q '^      levels: \[\[-256, 240, 0.5, 1\]\]$' e.yaml || fail "$(grep -n -A1 root e.yaml)"
for places in passes descent; do # what draws so is shown by its name
    [ $places = passes ] && file=passes.yaml || file=tree.yaml
    "$PSNAP" show $file --schedule --json | grep -q "\"places\": \"$places\"" || fail "$("$PSNAP" show $file --schedule --json)"
done
"$PSNAP" show tree.yaml --schedule | grep -q 'level by level down' || fail "$("$PSNAP" show tree.yaml --schedule)"
expect 1 "$PSNAP" edit apart.yaml -o x.yaml --span 2 --loop f --region r1
has err "loop 'g' draws lies around what is drawn in another array"
edit apart.yaml --move 128 --loop f --region r1
grep -q '^    offset: 4032$' e.yaml || fail "$(grep -n offset e.yaml)"
edit apart.yaml --move 128 --loop g --region r1
grep -q '^    offset: 4288$' e.yaml || fail "$(grep -n offset e.yaml)"
"$PSNAP" replay e.yaml -f csv -o - 2> log | python3 -c '
import sys
at = [int(line.split(",")[0], 16) for line in list(sys.stdin)[1:]]
apart = [b - a for a, b in zip(at[::2], at[1::2])]
# what would lie behind the end of its array is reflected
assert len(apart) == 50 and max(apart) == 4288 and apart.count(4288) > 30, apart
'

# What comes behind what is taken out does not come any more, and the last of all ways stays.
fifty_times > by.yaml
cat >> by.yaml << END
  - {loop: f, times: 1, references: [{ref: 0, load: 8, draw: d3}]}
  - {loop: g, times: 1, references: [{ref: 0, load: 8, draw: d1}]}
  - {loop: h, times: 1, references: [{ref: 0, load: 8, draw: d2}]}
models:
  draws:
  - {draw: d1, loop: g, areas: [{region: r1, start: 0, accesses: 50, bytes: 512, element: 8}]}
  - {draw: d2, loop: h, after: [{back: 2, by: d3, offset: 8}, {back: 1, by: d1, offset: 16}]}
  - {draw: d3, loop: f, areas: [{region: r1, start: 0, accesses: 50, bytes: 512, element: 8}]}
loops:
END
for loop in f g h; do
    cat >> by.yaml << END
- {id: $loop, nest: {depth: 0}, entries: 50, iterations: {total: 50}, accesses: 50, pattern: [r1], regions: [
  {id: r1, working_set: {bytes: 1024, group: heap, offset: 0}, accesses: 50, loads: 50, sizes: {8: 50}, strides: {random: 49}}]}
END
done
expect 0 "$PSNAP" check by.yaml
edit by.yaml --remove-loop f
grep -q 'after: \[{back: 1, by: d1, offset: 16, times: 1}\]' e.yaml
edit by.yaml --remove-loop g
grep -q 'after: \[{back: 2, by: d3, offset: 8, times: 1}, {back: 1, offset: 16, times: 1}\]' e.yaml
sed -e '/loop: f,/d' -e '/id: f,/,+1d' -e '/draw: d3,/d' -e 's/by: d1/by: d3/' by.yaml > x.yaml
expect 1 "$PSNAP" check x.yaml
has out "there is no 'd3'"
sed -e '/loop: g,/d' -e '/id: g,/,+1d' by.yaml > x.yaml
expect 1 "$PSNAP" check x.yaml
has out "'by' is of a draw that is not there"

# What goes with what is taken out comes as that did, at its own distance: 32 bytes from where f is,
# or 8 behind its own last address; within as many bytes, but so much further.
within='within: {region: r1, start: 0, bytes: 512}'
sed -e 's/\(draw: d1, loop: g, \).*/\1with: d2, offset: 16}/' \
    -e "s/after: .*by: d3.*/$within, after: [{back: 1, by: d3, offset: 16}, {back: 0, offset: 8}]}/" \
    by.yaml > with.yaml
expect 0 "$PSNAP" check with.yaml
edit with.yaml --remove-loop h
grep -q 'within: {region: r1, start: 16, bytes: 512}' e.yaml
grep -q 'after: \[{back: 1, by: d3, offset: 32, times: 1}, {back: 0, offset: 8, times: 1}\]' e.yaml

# What is 8 bytes from whichever of two references came last, as long as one of them is there.
fifty_times > refs.yaml
cat >> refs.yaml << END
  - {loop: f, times: 1, references: [{ref: 0, store: 8, region: r1, start: 0, strides: [16, 0]}]}
  - {loop: g, times: 1, references: [{ref: 0, load: 8, draw: d2}]}
  - {loop: f, times: 1, references: [{ref: 1, store: 8, region: r1, start: 1024, strides: [-16, 0]}]}
  - {loop: g, times: 1, references: [{ref: 0, load: 8, draw: d2}]}
models:
  draws:
  - {draw: d1, loop: f, refs: [0, 1]}
  - {draw: d2, loop: g, with: d1, offset: 8}
loops:
END
for loop in "f store" "g load"; do
    cat >> refs.yaml << END
- {id: ${loop% *}, nest: {depth: 0}, entries: 100, iterations: {total: 100}, accesses: 100, regions: [
  {id: r1, working_set: {bytes: 2048, group: heap, offset: 0}, accesses: 100, ${loop#* }s: 100, sizes: {8: 100}, strides: {random: 99}}]}
END
done
beside() {
    "$PSNAP" replay "$1" -f csv -o - 2> log | python3 -c '
import sys
at = [int(line.split(",")[0], 16) for line in list(sys.stdin)[1:]]
assert len(at) == 200 and all(b - a == 8 for a, b in zip(at[::2], at[1::2])), at
'
}
beside refs.yaml
edit refs.yaml --set program.name=mixed
grep -q 'refs: \[0, 1\]' e.yaml
beside e.yaml
expect 1 "$PSNAP" edit refs.yaml -o wrong.yaml --force --remove-loop f
has err "what is drawn goes with a reference (d1) that is not there any more"
for wrong in 'refs: [0]=2 to 4 references' 'refs: [0, 0]=it is there twice' 'refs: [0, 2]=no reference 2' \
    'ref: 0, refs: [0, 1]=there is a .ref. already'; do
    sed "s/refs: \[0, 1\]/${wrong%=*}/" refs.yaml > wrong.yaml
    expect 1 "$PSNAP" check wrong.yaml
    grep -q "${wrong#*=}" out || fail "$wrong: $(cat out)"
done
