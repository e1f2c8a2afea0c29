#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What commands take for a profile and what for a trace, and what they say about
# inputs that are neither.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"
golden=$PSNAP_SOURCE/tests/golden/profile.psnap.yaml

# says STATUS TEXT COMMAND...: the command ends so, and prints TEXT somewhere
says()
{
    local text=$2
    expect "$1" "${@:3}"
    cat err >> out
    has out "$text"
}

# a profile is one whatever key comes first, with a byte order mark, as JSON
cp "$golden" good.yaml
for first in capture loops program schedule totals psnap; do
    # the top-level block of this key, then all others
    awk -v k="$first:" '/^[a-z]/ { on = $1 == k } on' good.yaml > sorted.yaml
    awk -v k="$first:" '/^[a-z]/ { on = $1 == k } !on' good.yaml >> sorted.yaml
    says 0 '29 accesses' "$PSNAP" check sorted.yaml
    says 0 29 "$PSNAP" sim sorted.yaml -m table1-1
    "$PSNAP" info - < sorted.yaml > out
    grep -q '^format *profile$' out
done
{ printf '\357\273\277'; cat good.yaml; } > bom.yaml
{ printf '\n# made by hand\n---\n'; cat good.yaml; } > comment.yaml
printf '\n  {"loops": [], "schedule": [], "capture": {"model": "psnap"}, "psnap": 1}\n' > flow.json
for file in bom.yaml comment.yaml flow.json; do
    says 0 ok "$PSNAP" check $file
    "$PSNAP" info --json $file > out
    grep -q '"format": *"profile"' out
done
grep -v '^psnap:' good.yaml > unversioned.yaml
for command in check show replay info; do
    says 1 "the key 'psnap' with its version is missing" "$PSNAP" $command unversioned.yaml
done

# directories
for command in check show replay info; do
    says 1 "cannot open '$dir': is a directory" "$PSNAP" $command "$dir"
done
says 1 'is a directory' "$PSNAP" sim good.yaml -m "$dir"
says 1 'is a directory' "$PSNAP" profile "$dir" -o p.yaml

# a trace is called one only when it is
"$PSNAP" replay good.yaml -f din -o t.din 2> log
says 1 "a trace (din); 'psnap profile' makes a profile of one" "$PSNAP" check t.din
says 1 "a trace (din)" "$PSNAP" show - < t.din
for start in 'p' '#' '{' '\001' 'x'; do
    { printf "$start"; head -c 5000 "$PSNAP" | tr '\n' x; } > noise
    says 1 'not a trace in a known format' "$PSNAP" info noise
    says 1 'no profile: it has bytes that are no text' "$PSNAP" check noise
done
says 1 'those without a mark, champsim and dinbin, need --from' "$PSNAP" info noise
for suffix in champsim dinbin; do
    cp noise noise.$suffix
    says 1 "if it is what its name says, say --from $suffix" "$PSNAP" info noise.$suffix
    gzip noise.$suffix
    says 1 "if it is what its name says, say --from $suffix" "$PSNAP" info noise.$suffix.gz
done
# what has a trace in it is named, with what passes that on
wrapped() {
    printf "$1" > wrapped
    says 1 "$2, which is not unpacked here: '$3 FILE | psnap ... -'" "$PSNAP" info wrapped
}
wrapped 'PK\3\4\24' 'a zip archive' 'unzip -p'
wrapped "$(printf '%257s' '')ustar\0" 'a tar archive' 'tar -xOf'
wrapped '\377\6\0\0sNaPpY' 'compressed by Snappy' 'snzip -dc'

gzip -c good.yaml > good.yaml.gz
says 1 "good.yaml.gz: a compressed profile; profiles are read when they are not" "$PSNAP" sim good.yaml.gz -m 32K:64:8

# what is no access is counted, once for an input that is read again; no format is guessed that
# another is as likely as
printf 'I  10,4\n L 2a,8\nhello\nI am\n S 2a,8\n' > lackey.txt
says 0 "lackey.txt: left out: lines that are not lackey's (2)" "$PSNAP" info lackey.txt
says 0 "lackey.txt: left out: lines that are not lackey's (2)" "$PSNAP" sim lackey.txt -m 32K:64:8
[ "$(grep -c 'left out' out)" = 1 ] || fail "$(cat out)"
printf '2 4a0\n0 4a0\n3 4a0\n4 0\n' > fetch.din
says 0 "left out: instruction fetches (1)" "$PSNAP" sim fetch.din -m 32K:64:8
has out "left out: flushes (1)"
"$PSNAP" replay good.yaml -f ramulator-cpu -m none -o cpu.trace 2> err
says 1 "it may be din, or a format that looks like it: say --from din" "$PSNAP" info cpu.trace

cp noise noise.dramsim3 # which is only written
says 1 'need --from' "$PSNAP" info noise.dramsim3

# A text trace that was cut off within a line: what is before it is taken, with a warning
for text in '0 1a\n1 20\n0 ' 'address,size,kind,thread,ref\n0x1a,4,load,0,0\n0x20,4,store,0,0\n0x30,4,lo' \
    ' L 1a,4\n S 20,4\n L 3' 'r 1a 4\nw 20 4\nr'; do
    printf "$text" > cut.text
    says 0 'the trace was cut off within the line: ' "$PSNAP" convert cut.text -f din -o -
    tr -s ' ' < out | head -n 2 | diff - <(printf '0 1a\n1 20\n') || fail "$text"
    printf "$text\n" > cut.text # with its end it is wrong
    says 1 'expected' "$PSNAP" convert cut.text -f din -o -
done
printf '0 ' > cut.text
says 1 'cut.text:1:3: a hexadecimal address' "$PSNAP" info cut.text --from din
printf 'hello, world\n' > letter
says 1 'not a trace in a known format' "$PSNAP" info letter
says 1 letter "$PSNAP" check letter
! grep -q 'psnap profile' out

# a profile is no machine, 'size' no key, a table with another heading no csv
says 1 'good.yaml:1:1: this is a profile, not a machine' "$PSNAP" sim good.yaml -m ./good.yaml
printf 'levels:\n- {size: 32K, line_bytes: 64, ways: 8}\n' > m.yaml
says 1 "no key 'size' here; did you mean 'size_bytes'?" "$PSNAP" sim good.yaml -m m.yaml
printf 'addr,bytes,type\n0x10,8,load\n' > t.csv
says 1 "a csv begins with the heading 'address,size,kind,thread,ref'" "$PSNAP" info t.csv

# Each command that takes an INPUT stops after --count accesses, of a profile of 2^52 as well
endless 0 > endless.yaml
sed '/^  accesses:/a\  operations: {int_add: 4503599627370496}' endless.yaml > runs.yaml
while read -r command; do
    # shellcheck disable=SC2086
    expect 0 timeout 100 "$PSNAP" $command
done << 'END'
profile endless.yaml -o counted.yaml --count 1000
replay endless.yaml -f din -o counted.din --count 1000
convert endless.yaml -o counted.csv --count 1000
run --count 1000 endless.yaml -f din -- wc -l
sim endless.yaml -m 4K:64:4 --count 1000
compare endless.yaml endless.yaml -m 4K:64:4 --count 1000
reuse endless.yaml --count 1000
locality endless.yaml --count 1000
predict cache endless.yaml -m 4K:64:4 --count 1000
predict runtime runs.yaml -m i7-5960x --count 1000
report endless.yaml -o counted.html --count 1000
sweep endless.yaml -m 4K:64:4 -o counted.csv --force --count 1000
whatif endless.yaml -e capture.region_gap_bytes=2 -m 4K:64:4 --count 1000
END
[ "$(grep -c , counted.csv)" = 2 ] && grep -q ',1000,' counted.csv || fail "$(cat counted.csv)"
[ "$(wc -l < counted.din)" = 1000 ] || fail "not 1000 accesses"
says 2 'floating-point time is of all of an input' "$PSNAP" predict bandwidth endless.yaml --fit x -m y --count 9
says 2 '--count wants --no-time' "$PSNAP" predict multicore endless.yaml -m i7-5960x --count 9
"$PSNAP" predict runtime runs.yaml -m i7-5960x --count 1000 --json |
    python3 -c 'import json, sys
row = json.load(sys.stdin)["rows"][0]
assert row["accesses"] == 1000 and row["seconds"] < 1e-5, row'
