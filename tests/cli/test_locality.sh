#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap locality: a stream small enough to count by hand as a table, JSON and CSV,
# two streams, loops, every kind of input, figures with and without gnuplot, and
# wrong usage.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"

stream() { # ADDRESS...: loads of 8 bytes
    echo address,size,kind,thread,ref
    for address in "$@"; do
        echo "$address,8,load,0,0"
    done
}
stream 0x1000 0x1008 0x1000 0x1010 > hand.csv

cat > expected << 'END'
scope  id     name  accesses  share %  spatial  temporal  reused %  strides
total  total  all          4   100.00    0.500     0.250     25.00  8 50 % (1), -8 25 % (1)
loop   csv    csv          4   100.00    0.500     0.250     25.00  8 50 % (1), -8 25 % (1)
END
"$PSNAP" locality hand.csv > table 2> speed
diff expected table || fail "the table"
grep -q '^4 accesses in .* s, .* M/s$' speed || fail "no speed: $(cat speed)"

"$PSNAP" locality - --by total --json < hand.csv > json 2> err
[ ! -s err ] || fail "JSON should come alone: $(cat err)"
python3 - << 'END'
import json
r = json.load(open("json"))
assert r["psnap"] == 1 and r["command"] == "locality" and r["input"] == "-", r
assert r["accesses"] == 4 and r["threads"] == 1 and r["word_bytes"] == 8, r
assert r["accesses_per_second"] > 0 and "against" not in r
assert r["distances"] == [2 ** k for k in range(17)]
row, = r["rows"]
assert (row["scope"], row["id"], row["accesses"]) == ("total", "total", 4)
assert row["spatial"] == 0.5 and row["temporal"] == 0.25
assert row["reuse"] == [0] + 17 * [0.25]
assert row["surface"] == [[-8, [1] + 16 * [0]], [0, [0, 1] + 15 * [0]],
                          [8, [1, 1] + 15 * [0]], [16, [1] + 16 * [0]]], row
END

"$PSNAP" locality hand.csv --by total --csv - > csv
diff csv - << 'END' || fail "CSV"
scope,id,stride_bytes,distance_accesses,count,share
total,total,-8,1,1,0.25
total,total,0,2,1,0.25
total,total,8,1,1,0.25
total,total,8,2,1,0.25
total,total,16,1,1,0.25
END

# in words of 4 bytes a step of 8 bytes is two of them
"$PSNAP" locality hand.csv --word 4 --json > json
python3 -c 'import json; r = json.load(open("json")); assert r["word_bytes"] == 4
assert r["rows"][0]["spatial"] == 0.25 and r["rows"][0]["temporal"] == 0.25' || fail "--word"

# threads, each for itself: the other one's accesses are not in between
sed 's/0x1008,8,load,0/0x1008,8,load,1/' hand.csv > two.csv
"$PSNAP" locality two.csv > table 2> speed
has table "2 threads, each for itself"
"$PSNAP" locality two.csv --by total --csv - | tail -n +2 > csv
diff csv - << 'END' || fail "CSV of two threads"
total,total,0,1,1,0.25
total,total,16,1,1,0.25
END

# two streams: with itself 0; of upwards and downwards only the reuse is in both
stream 0x1000 0x1000 0x1008 > up.csv
stream 0x1000 0x1000 0xff8 > down.csv
expect 0 "$PSNAP" locality up.csv --against up.csv --max-distance 0
grep -q '0\.0000$' out || fail "apart from itself: $(cat out)"
expect 0 "$PSNAP" locality up.csv --against down.csv
cat > expected << 'END'
input  up.csv: 3 accesses
other  down.csv: 3 accesses

scope  id     name  share %  other %  spatial  other  temporal  other  distance
total  total  all    100.00   100.00    0.333  0.333     0.333  0.333    0.6667
loop   csv    csv    100.00   100.00    0.333  0.333     0.333  0.333    0.6667
END
diff expected out || fail "two streams"
expect 1 "$PSNAP" locality up.csv --against down.csv --max-distance 0.5
grep -q 'total total is 0.6667 apart, more than 0.5$' err || fail "$(cat err)"
expect 0 "$PSNAP" locality up.csv --against down.csv --max-distance 0.7
"$PSNAP" locality up.csv --against down.csv --json > json
"$PSNAP" locality down.csv --json > alone
python3 - << 'END'
import json
both, alone = json.load(open("json")), json.load(open("alone"))
assert both["against"]["input"] == "down.csv" and both["against"]["accesses"] == 3
for row, other in zip(both["rows"], alone["rows"]):
    assert abs(row["distance"] - 2 / 3) < 1e-12
    assert row["against"] == {k: other[k] for k in
                              ("accesses", "spatial", "temporal", "reuse", "surface")}
END
"$PSNAP" locality up.csv --against down.csv --by total --csv - | sed -n '1,2p;$p' > csv
diff csv - << 'END' || fail "CSV of two"
input,scope,id,stride_bytes,distance_accesses,count,share
up.csv,total,total,0,1,1,0.3333333333333333
down.csv,total,total,0,1,1,0.3333333333333333
END

# loops: rows add up to the whole, a profile is an input, a loop that one side lacks is 1 apart
rich=$PSNAP_SOURCE/tests/golden/formats/rich.pst
"$PSNAP" locality "$rich" --json > json
"$PSNAP" profile "$rich" -o rich.yaml
"$PSNAP" locality rich.yaml --against "$rich" --json > other
loop=$(python3 - << 'END'
import json
r = json.load(open("json"))
total, loops = r["rows"][0], r["rows"][1:]
assert len(loops) > 1 and total["accesses"] == 500 == sum(x["accesses"] for x in loops)
assert [x["accesses"] for x in loops] == sorted((x["accesses"] for x in loops), reverse=True)
sums = {}
for row in loops:
    for stride, counts in row["surface"]:
        sums[stride] = [a + b for a, b in zip(sums.get(stride, 17 * [0]), counts)]
assert sums == dict(total["surface"])
for row in r["rows"]:
    for stride, counts in row["surface"]:
        assert sum(counts) <= row["accesses"]
other = json.load(open("other"))
assert {x["id"]: x["accesses"] for x in other["rows"]} == {x["id"]: x["accesses"] for x in r["rows"]}
for x in other["rows"]:
    mine, = [y for y in r["rows"] if y["id"] == x["id"]]
    assert x["against"]["surface"] == mine["surface"] and 0 <= x["distance"] <= 1
print(loops[0]["id"])
END
)
"$PSNAP" locality "$rich" --loop "$loop" > table 2> err
[ "$(grep -c '^loop ' table)" = 1 ] || fail "--loop $loop: $(cat table)"
if grep -q '^total ' table; then fail "--loop with a total: $(cat table)"; fi
"$PSNAP" locality "$rich" --against hand.csv --json > json
python3 - "$loop" << 'END'
import json, sys
rows = {x["id"]: x for x in json.load(open("json"))["rows"]}
for name, side in ((sys.argv[1], rows[sys.argv[1]]["against"]), ("csv", rows["csv"])):
    assert side["accesses"] == 0 and side["spatial"] is None and side["surface"] == [], side
    assert rows[name]["distance"] == 1
END
expect 1 "$PSNAP" locality "$rich" --loop nothing:1
grep -q "no loop 'nothing:1'" err || fail "$(cat err)"

# windows, formats by name, nothing at all
"$PSNAP" locality hand.csv --from csv --skip 1 --count 2 --json > json
python3 -c 'import json; assert json.load(open("json"))["accesses"] == 2' || fail "window"
stream > empty.csv
expect 0 "$PSNAP" locality empty.csv
has out "total  total  all          0   100.00        -         -         -  -"
expect 0 "$PSNAP" locality empty.csv --against empty.csv --max-distance 0
"$PSNAP" locality empty.csv --json > json
python3 -c 'import json; assert json.load(open("json"))["rows"][0]["spatial"] is None' || fail "empty"

# figures: a gnuplot that shows what it was told, one that fails, none
mkdir bin none
cat > bin/gnuplot << 'END'
#!/bin/sh
case $1 in
--version) echo gnuplot 5 ;;
*) cat ;;
esac
END
chmod +x bin/gnuplot
PATH=$PWD/bin:$PATH "$PSNAP" locality hand.csv --surface s.svg > table 2> err
grep -q '^set terminal svg' s.svg || fail "$(head s.svg)"
grep -q "^set title 'hand.csv' noenhanced" s.svg || fail "$(grep title s.svg)"
# 65 strides, multiples of 8, by 17 distances
[ "$(grep -c '^-\{0,1\}[0-9]* [0-9]* [0-9.e-]*$' s.svg)" = $((65 * 17)) ] || fail "the grid"
[ "$(grep -c ' 0.25$' s.svg)" = 5 ] || fail "the data: $(grep -v ' 0$' s.svg)"
has s.svg "8 1 0.25"
cp hand.csv "it's.csv"
PATH=$PWD/bin:$PATH "$PSNAP" locality "it's.csv" --loop csv --surface s.png --against up.csv > table 2> err
grep -q '^set terminal pngcairo' s.png || fail "$(grep terminal s.png)"
grep -q "^set title 'it''s.csv: csv' noenhanced" s.png || fail "$(grep title s.png)"
[ "$(grep -c '^splot ' s.png)" = 2 ] || fail "not both sides"
expect 1 env PATH="$PWD/bin:$PATH" "$PSNAP" locality hand.csv --surface s.svg
grep -q "s.svg" err || fail "overwritten: $(cat err)"
expect 0 env PATH="$PWD/bin:$PATH" "$PSNAP" locality hand.csv --surface s.svg --csv c.csv --force
has c.csv "loop,csv,16,1,1,0.25"
cat > bin/gnuplot << 'END'
#!/bin/sh
[ "$1" = --version ] || { echo; echo "         line 3: no such terminal"; exit 1; } >&2
END
rm -f s.svg c.csv
expect 1 env PATH="$PWD/bin:$PATH" "$PSNAP" locality hand.csv --surface s.svg --csv c.csv
grep -q 's.svg: gnuplot could not draw it: .*line 3: no such terminal' err || fail "$(cat err)"
if [ -e s.svg ] || [ -e c.csv ] || [ -s out ]; then fail "something of a figure that failed"; fi
sed -i 's/exit 1/exit 0/' bin/gnuplot # says nothing of it, and writes nothing
expect 1 env PATH="$PWD/bin:$PATH" "$PSNAP" locality hand.csv --surface s.svg
[ ! -e s.svg ] || fail "an empty figure"
expect 1 env PATH="$PWD/none" "$PSNAP" locality hand.csv --surface s.svg
grep -q 'gnuplot, which is not installed.*gnuplot-nox.*--csv' err || fail "$(cat err)"
[ ! -e s.svg ] || fail "a figure without gnuplot"
if command -v gnuplot > /dev/null; then
    "$PSNAP" locality "$rich" --surface real.svg > /dev/null 2> err || fail "$(cat err)"
    python3 -c 'import xml.dom.minidom as x; t = x.parse("real.svg").documentElement
assert t.tagName == "svg" and len(t.getElementsByTagName("polygon")) > 100' || fail "the SVG"
    "$PSNAP" locality "$rich" --surface real.png --against up.csv > /dev/null 2> err || fail "$(cat err)"
    [ "$(head -c 4 real.png | tail -c 3)" = PNG ] || fail "the PNG"
    expect 0 "$PSNAP" locality empty.csv --surface empty.svg
fi

# mistakes
expect 2 "$PSNAP" locality
expect 2 "$PSNAP" locality hand.csv up.csv
expect 2 "$PSNAP" locality hand.csv --by total,lop
expect 2 "$PSNAP" locality hand.csv --by total,block
grep -q "total and loop, not 'total,block'" err || fail "$(cat err)"
expect 2 "$PSNAP" locality hand.csv --surface s.pdf
expect 2 "$PSNAP" locality hand.csv --surface -
expect 2 "$PSNAP" locality - --against -
expect 2 "$PSNAP" locality hand.csv --max-distance 0.5
expect 2 "$PSNAP" locality hand.csv --against up.csv --max-distance -1
expect 2 "$PSNAP" locality hand.csv --json --csv -
expect 2 "$PSNAP" locality hand.csv --surface x.svg --csv x.svg --force
expect 2 "$PSNAP" locality hand.csv --word 12
expect 1 "$PSNAP" locality nothing.pst
[ ! -s out ] || fail "output in spite of an error"
expect 1 "$PSNAP" locality hand.csv --against nothing.pst
head -c 2000 "$rich" > cut.pst
expect 0 "$PSNAP" locality cut.pst
[ "$(grep -c 'cut.pst: .*cut off; its first' err)" = 1 ] || fail "$(cat err)"
if [ -w /dev/full ]; then
    got=0
    "$PSNAP" locality hand.csv > /dev/full 2> err || got=$?
    [ $got = 1 ] || fail "a full disk went unnoticed"
fi
