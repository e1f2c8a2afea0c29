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
assert report["totals"]["accesses"] == 29 and report["totals"]["bytes"] == 192
assert sorted(loop["id"] for loop in report["loops"]) == ["init", "sum"]
[total] = [loop for loop in report["loops"] if loop["id"] == "sum"]
assert total["nest"] == {"depth": 2, "parent": "init"}
assert [region["strides"] for region in total["regions"]] == [{"0": 4, "random": 6}, {"0": 9}]
END
expect 0 "$PSNAP" show "$golden" --json --loop sum
[ "$(grep -c '"id": "init"' out)" = 0 ]

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

# Model nests: where addresses come from, the schedule with its chains, and one loop.
nests=$PSNAP_SOURCE/tests/fuzz/corpus/fuzz_profile/nests.yaml
expect 0 "$PSNAP" show "$nests"
grep -Eq '^addresses +[0-9.]+ % in nests, exact; [0-9.]+ % dependent, [0-9.]+ % by reuse time$' out
grep -Eq '^pick:8 0 +load 8 +nodes ' out
sed -n '/^schedule/,/^$/p' out | grep -q '^visit chain-1$'
grep -Eq '^main:13 +600 +2,400 +store a \+8, store b \+8, store next \+4, store nodes \+16$' out
grep -Eq '^chain-1, 1 visit ' out
grep -Eq '^  sweep:7 +30 +5,580 +main:14' out
expect 0 "$PSNAP" show "$nests" --schedule
grep -q '^visit chain-1$' out
if grep -q '^program' out; then fail "only the schedule"; fi
expect 1 "$PSNAP" show "$golden" --schedule
grep -q "is of model psnap" err
expect 0 "$PSNAP" show "$nests" --loop pick:8
expect 0 "$PSNAP" show "$nests" --json
python3 -c '
import json
report = json.load(open("out"))
assert report["capture"]["model"] == "nests-3"
pick, = [loop for loop in report["loops"] if loop["id"] == "pick:8"]
drawn, record, counter = pick["references"]
assert sum(drawn["reuse"][0]["times"].values()) == pick["iterations"]["total"]
assert record["base"] == 0 and record["offset"] == 8
body, = pick["bodies"]
assert sum(bin["times"] for bin in body["iterations"]["drawn"]) == pick["entries"]'
expect 0 "$PSNAP" show "${nests%.yaml}-threads.yaml"

# Names that would steer a terminal, turn text around or forge a row: of a profile, in every command
# that shows names, and of files and words of the command line
python3 - "$golden" << 'END'
import re, sys
evil = r'\e[2J\e]0;x\a\n\r\t\u007f\u009b31m\u061c\u200f\u202e\u2028\u2066'
text = open(sys.argv[1]).read()
for name in "init", "sum", "table", "main":
    text = re.sub(rf"\b{name}\b", lambda m: f'"{name}{evil}"', text)
text = text.replace("name: t,", f'name: "=t{evil}",').replace("'./t'", f'"t{evil}"')
open("evil.yaml", "w").write(text)
open("plain.yaml", "w").write(text.replace(evil, "?" * 15))
END
cat > shown.py << 'END'
import sys, unicodedata
text = open(sys.argv[1], "rb").read().decode()
bad = {c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}
assert not bad, (bad, text)
END
# shown WORD...: a command, of which nothing gets through, and which has the rows of one of plain names
shown() {
    "$PSNAP" "${@//@/evil}" > out 2> err || true
    "$PSNAP" "${@//@/plain}" > plain.out 2> plain.err || true
    cat out err > both
    python3 shown.py both || fail "$*"
    [ "$(wc -l < out) $(wc -l < err)" = "$(wc -l < plain.out) $(wc -l < plain.err)" ] ||
        fail "$*: $(cat out err) is not $(cat plain.out plain.err)"
}
shown show @.yaml
shown show @.yaml --json
shown show @.yaml --loop nothing
shown info @.yaml
shown check @.yaml
shown sim @.yaml -m 1K:64:2 --by total,loop,region
shown sim @.yaml -m 1K:64:2 --by total,loop,region --csv
shown reuse @.yaml --by loop,region
shown locality @.yaml
shown compare @.yaml @.yaml -m 1K:64:2
shown diff @.yaml "$golden"
shown diff "$golden" @.yaml
shown diff "$golden" @.yaml --json
shown predict cache @.yaml -m table1-1
shown whatif @.yaml -m 1K:64:2 --by loop
"$PSNAP" profile evil.yaml -o - > again.yaml 2> err # as YAML, which has the names all the same
python3 shown.py again.yaml
"$PSNAP" info again.yaml --json > out
has out '\u202e'
sed -i 's/accesses: 11$/accesses: 12/; s/loads: 8/loads: 9/' evil.yaml plain.yaml
shown check @.yaml
evil=$'\e[2J\a\n\r\u009b\u202e'
for words in "show $evil" "sim -m $evil plain.yaml" "sim --by $evil plain.yaml" "show --$evil" "-$evil" "$evil" \
    "predict $evil" "edit plain.yaml --set $evil=1 -o x" "show plain.yaml --loop $evil"; do
    IFS=' ' read -r -d '' -a words <<< "$words" || true
    expect "$(status "$PSNAP" "${words[@]}")" "$PSNAP" "${words[@]}"
    python3 shown.py err || fail "$words"
done
