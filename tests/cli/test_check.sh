#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap check: what it says about good and bad profiles, several at a time, and
# about things that are no profiles at all.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"
golden=$PSNAP_SOURCE/tests/golden/profile.psnap.yaml

cp "$golden" good.yaml
expect 0 "$PSNAP" check good.yaml good.yaml
[ "$(grep -c '^good.yaml: ok: model psnap, 2 loops, 29 accesses$' out)" = 2 ]

# a contradiction names both lines; later files are still checked
sed 's/accesses: 11$/accesses: 12/' good.yaml > bad.yaml
line=$(grep -n 'accesses: 12' bad.yaml | cut -d: -f1)
expect 1 "$PSNAP" check bad.yaml good.yaml
grep -q "^bad.yaml:$line:15: 'accesses' is 12, but loads, stores and atomics (line $((line + 1))) come to 11" out
grep -q '^good.yaml: ok' out

sed 's/strides: {8: 7}/stride: {8: 7}/' good.yaml > key.yaml
expect 1 "$PSNAP" check key.yaml
grep -q "^key.yaml:[0-9]*:5: no key 'stride' here; did you mean 'strides'?" out

# cut off: in a line, or of what a line belongs to
{ sed '/^loops:/,$d' good.yaml; printf 'loo'; } > cut.yaml
expect 1 "$PSNAP" check cut.yaml
grep -q "^cut.yaml:[0-9]*:1: the text ends in the middle: could not find expected ':'" out
{ sed '/^loops:/,$d' good.yaml; printf 'loops:'; } > cut.yaml
expect 1 "$PSNAP" check cut.yaml
grep -q "; the text ends in the middle of a line$" out

# hostile and broken
: > empty.yaml
printf 'psnap: 1\n\000' > nul.yaml
printf 'psnap: \377\n' > binary.yaml
printf 'a: &a [x]\nb: [*a, *a]\n' > alias.yaml
printf 'psnap: 1\npsnap: 1\n' > twice.yaml
printf '[1, 2]\n' > list.yaml
printf 'psnap: .nan\n' > nan.yaml
printf 'psnap: 99999999999999999999999\n' > huge.yaml
{ printf 'psnap: '; head -c 5000 /dev/zero | tr '\0' '['; } > deep.yaml
head -c 200 good.yaml > cut.yaml
for file in empty nul binary alias twice list nan huge deep cut; do
    expect 1 "$PSNAP" check $file.yaml
    grep -q "^$file.yaml" out
done
expect 1 "$PSNAP" check missing.yaml good.yaml # no finding about a profile, which are on stdout
grep -q "^psnap check: cannot open 'missing.yaml': no such file" err
[ "$(grep -c . out)" = 1 ] && grep -q '^good.yaml: ok' out
expect 1 "$PSNAP" check "$PSNAP"
expect 2 "$PSNAP" check
"$PSNAP" check - < good.yaml | grep -q '^stdin: ok'

# numbers of references are bounded by how many there are, over all loops; so are unfolded patterns
python3 - << 'END'
def nests(name, numbers):
    with open(name, "w") as f:
        print("psnap: 1\ncapture: {model: nests-3}\nschedule: [%s]\nloops:" %
              ", ".join(f"l{i}" for i in range(len(numbers))), file=f)
        for i, number in enumerate(numbers):
            print(f"- id: l{i}\n  function: f\n"
                  "  regions:\n  - {id: a, working_set: {bytes: 80, group: image, offset: 0}}\n"
                  f"  bodies:\n  - {{id: l{i}, refs: [{number}], iterations: 10}}\n"
                  f"  references:\n  - {{ref: {number}, load: 8, region: a, start: 0, counts: [10], strides: [8]}}", file=f)
nests("sparse.yaml", [65551])
nests("one.yaml", [65552])
nests("huge.yaml", [1000000000])
nests("sum.yaml", [1000] * 70)
with open("patterns.yaml", "w") as f:
    n = 1025
    print("psnap: 1\ncapture: {model: psnap}\nschedule: [%s]\nloops:" % ", ".join(f"l{i}" for i in range(n)), file=f)
    for i in range(n):
        print(f"- id: l{i}\n  function: f\n  pattern: [{{repeat: 65536, of: [a]}}]\n  regions:\n"
              "  - {id: a, accesses: 65536, loads: 65536, sizes: {8: 65536}, strides: {0: 65535},"
              " working_set: {bytes: 8, group: image, offset: 0}}", file=f)
END
expect 0 "$PSNAP" check sparse.yaml
expect 0 "$PSNAP" sim sparse.yaml -m 1K:64:2 --by block
"$PSNAP" repo init archive > out 2> err
# refused NAME PLACE TEXT: by all that read it
refused() {
    expect 1 "$PSNAP" check "$1"
    has out "$1:$2: $3"
    expect 1 "$PSNAP" sim "$1" -m 1K:64:2
    has err "$1:$2: $3"
    expect 1 "$PSNAP" repo add archive "$1"
    has err "$1:$2: $3"
}
refused one.yaml 12:11 "the numbers of references up to here, from 0 to the largest of each loop, are 65553, but at most 65552 are possible with 1 reference"
refused huge.yaml 12:11 "the numbers of references up to here"
refused sum.yaml 540:11 "the numbers of references up to here"
refused patterns.yaml 5127:12 "the patterns up to here unfold to more than 67108864 accesses"

# regions that an edit has laid on each other: a warning, and only then
expect 0 "$PSNAP" check good.yaml
! grep -q warning out || exit 1
cat > apart.yaml << 'YAML'
psnap: 1
capture: {model: psnap}
schedule: [one, two]
loops:
- id: one
  function: main
  regions:
  - {id: a, symbol: a, accesses: 1, loads: 1, sizes: {8: 1}, working_set: {bytes: 4096, group: image, offset: 0}}
  - {id: b, symbol: b, accesses: 1, loads: 1, sizes: {8: 1}, working_set: {bytes: 4096, group: image, offset: 4096}}
- id: two
  function: main
  regions:
  - {id: a, symbol: a, accesses: 1, loads: 1, sizes: {8: 1}, working_set: {bytes: 64, group: image, offset: 128}}
  - {id: c, symbol: c, accesses: 1, loads: 1, sizes: {8: 1}, working_set: {bytes: 4096, group: image, offset: 8192}}
YAML
expect 0 "$PSNAP" check apart.yaml
! grep -q warning out || exit 1
sed '0,/bytes: 4096/s//bytes: 8192/' apart.yaml > same.yaml
expect 0 "$PSNAP" check same.yaml
grep -qx "same.yaml: warning: region 'a' of loop 'one' (symbol a) overlaps region 'b' of loop 'one' (symbol b) by 4096 bytes" out
[ "$(grep -c warning out)" = 1 ]
sed '/symbol: b/s/bytes: 4096/bytes: 8192/' apart.yaml > other.yaml
expect 0 "$PSNAP" check other.yaml
grep -q "'b' of loop 'one' (symbol b) overlaps region 'c' of loop 'two' (symbol c) by 4096 bytes; unless it was edited, the first loop goes" out

# for programs
expect 1 "$PSNAP" check --json good.yaml other.yaml bad.yaml
python3 - << 'END'
import json
report = json.load(open("out"))
assert report["psnap"] == 1 and report["command"] == "check"
good, other, bad = report["profiles"]
assert good["ok"] and good["accesses"] == 29 and good["loops"] == 2 and good["warnings"] == []
assert other["ok"] and len(other["warnings"]) == 1 == other["warning_count"]
assert not bad["ok"] and bad["error"]["line"] > 0 and "'accesses' is 12" in bad["error"]["message"]
END
