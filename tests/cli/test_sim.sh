#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap sim: a stream small enough to count by hand as a table and as JSON,
# every kind of input and machine, every scope, and wrong usage.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"

# Level 1 has 2 lines of 16 bytes in one set. Loads of lines 0, 1, 0, a store to
# line 2 (evicts 1), a load of 0 (hit), of 1 (evicts 2, dirty), of 2 (evicts 0). With the threads in
# turn: 0, 0 (hit), 1, 1 (hit), 2 (evicts 0), 0 (evicts 1), 2 (hit).
cat > hand.csv << 'END'
address,size,kind,thread,ref
0x0,4,load,0,0
0x10,4,load,0,0
0x4,4,load,1,0
0x20,4,store,0,0
0x8,8,load,0,0
0x1c,4,load,1,0
0x20,1,load,0,0
END

cat > expected << 'END'
machine 32:16:2,1K:16:full

scope  id     name  accesses  share %  L1 hit %  L1 cum. %  L1 wb  L2 hit %  L2 cum. %  L2 wb
total  total  all          7   100.00     28.57      28.57      1     40.00      57.14      0
loop   csv    csv          7   100.00     28.57      28.57      1     40.00      57.14      0

2 threads, interleaved in the stream's order, in one hierarchy
END
for input in hand.csv -; do
    "$PSNAP" sim $input -m 32:16:2,1K:16:full < hand.csv > table 2> speed
    diff expected table || fail "the table of $input"
done
cat > expected << 'END'
machine 32:16:2,1K:16:full

scope  id     name  accesses  share %  L1 hit %  L1 cum. %  L1 wb  L2 hit %  L2 cum. %  L2 wb
total  total  all          7   100.00     42.86      42.86      0     25.00      57.14      0
loop   csv    csv          7   100.00     42.86      42.86      0     25.00      57.14      0

2 threads, interleaved access by access, in one hierarchy
END
"$PSNAP" sim hand.csv -m 32:16:2,1K:16:full --interleave round-robin > table 2> speed
diff expected table || fail "the table of threads in turn"
grep -q '^7 accesses in .* s, .* M/s$' speed || fail "no speed: $(cat speed)"

"$PSNAP" sim hand.csv -m 32:16:2,1K:16:full --by thread,total --json > json 2> err
[ ! -s err ] || fail "JSON should come alone: $(cat err)"
python3 - << 'END'
import json
r = json.load(open("json"))
assert r["psnap"] == 1 and r["command"] == "sim" and r["accesses"] == 7 and r["threads"] == 2, r
assert (r["interleaving"], r["hierarchy"]) == ("stream order", "one"), r
assert r["accesses_per_second"] > 0
assert [(x["machine"], x["scope"], x["id"], x["accesses"]) for x in r["rows"]] == [
    ("32:16:2,1K:16:full", "total", "total", 7),
    ("32:16:2,1K:16:full", "thread", "0", 5),
    ("32:16:2,1K:16:full", "thread", "1", 2)], r["rows"]
total, first, second = [x["levels"] for x in r["rows"]]
assert total[0] == {"level": 1, "accesses": 7, "hits": 2, "hit_rate": 2 / 7,
                    "cumulative_hit_rate": 2 / 7, "write_backs": 1}, total
assert total[1] == {"level": 2, "accesses": 5, "hits": 2, "hit_rate": 2 / 5,
                    "cumulative_hit_rate": 4 / 7, "write_backs": 0}, total
assert [x["hits"] for x in first] == [1, 1] and [x["hits"] for x in second] == [1, 1]
assert second[0]["write_backs"] == 1
END

# machines: files and bundled names, several at once as each alone
cp "$PSNAP_SOURCE/samples/machines/embedded.yaml" my.yaml
rich=$PSNAP_SOURCE/tests/golden/formats/rich.pst
# (the third is this computer, where the system describes its caches; not all containers do)
host=host
"$PSNAP" machines host > described 2>&1 || host=i7-5960x
"$PSNAP" sim "$rich" -m my.yaml -m table1-5 -m "$host" --by total,loop,block,region,thread --json > all
for machine in my.yaml table1-5 "$host"; do
    "$PSNAP" sim "$rich" -m $machine --by total,loop,block,region,thread --json > $machine.json
done
python3 - "$host" << 'END'
import json, sys
host = sys.argv[1]
everything = json.load(open("all"))["rows"]
alone = sum((json.load(open(m + ".json"))["rows"] for m in ("my.yaml", "table1-5", host)), [])
assert everything == alone
for machine in ("embedded", "table1-5", host):
    rows = [r for r in everything if r["machine"] == machine]
    total = rows[0]
    assert total["scope"] == "total" and total["accesses"] == 500
    for scope in ("loop", "block", "region", "thread"):
        parts = [r for r in rows if r["scope"] == scope]
        assert len({r["id"] for r in parts}) == len(parts) > 1
        assert sum(r["accesses"] for r in parts) == 500
        for i, level in enumerate(total["levels"]):
            for key in ("accesses", "hits", "write_backs"):
                assert sum(r["levels"][i][key] for r in parts) == level[key], (scope, key)
    for r in rows:
        satisfied, reached = 0, r["accesses"]
        for level in r["levels"]:
            assert level["accesses"] == reached
            satisfied += level["hits"]
            reached -= level["hits"]
            assert level["hit_rate"] == (level["hits"] / level["accesses"]
                                         if level["accesses"] else None)
            assert level["cumulative_hit_rate"] == satisfied / r["accesses"]
END

# a prefetcher and a TLB have columns and fields of their own. Twenty lines in a row: the second
# access tells the stride, so lines 0 and 1 miss and the other 18 are there; the last prefetch is
# of a 21st. A page has four of them.
cat > ahead.yaml << 'END'
levels: [{size_bytes: 1K, line_bytes: 64, ways: full, prefetch: {}}]
tlb: [{entries: 1, page_bytes: 256}]
END
echo address,size,kind,thread,ref > stride.csv
for i in {0..19}; do
    printf '0x%x,8,load,0,0\n' $((i * 64))
done >> stride.csv
sed 's/^levels.*/levels: [{size_bytes: 1K, line_bytes: 64, ways: full}]/; /^tlb/d' ahead.yaml > plain.yaml
cat > expected << 'END'
machine ahead (1K:64:16)

scope  id     name  accesses  share %  L1 hit %  L1 cum. %  L1 wb  L1 prefetched  L1 useful  L1 useless  TLB hit %  TLB cum. %
total  total  all         20   100.00     90.00      90.00      0             19         18           0      75.00       75.00
loop   csv    csv         20   100.00     90.00      90.00      0             19         18           0      75.00       75.00
END
"$PSNAP" sim stride.csv -m ahead.yaml > table 2> speed
diff expected table || fail "the table of a machine with a prefetcher and a TLB"
"$PSNAP" sim stride.csv -m plain.yaml -m ahead.yaml --json > json
python3 - << 'END'
import json
plain, _, ahead, _ = json.load(open("json"))["rows"]
assert "tlb" not in plain and not any("prefetch" in key for key in plain["levels"][0]), plain
assert plain["levels"][0]["hits"] == 0
assert ahead["levels"] == [{"level": 1, "accesses": 20, "hits": 18, "hit_rate": 0.9,
                            "cumulative_hit_rate": 0.9, "write_backs": 0, "prefetches": 19,
                            "prefetches_useful": 18, "prefetches_useless": 0}], ahead
assert ahead["tlb"] == [{"level": "TLB", "accesses": 20, "hits": 15, "hit_rate": 0.75,
                         "cumulative_hit_rate": 0.75}], ahead
END
# counts of parts add up to the whole, and a random machine is the same again
for i in 1 2; do
    "$PSNAP" sim "$rich" -m "$PSNAP_SOURCE/samples/machines/server.yaml" -m random-3 \
        --by total,loop,thread,region --json | grep -v accesses_per_second > json$i
done
cmp json1 json2 || fail "a second run differs"
python3 - << 'END'
import json
rows = json.loads(open("json1").read())["rows"]
for machine in ("server", "random-3"):
    mine = [r for r in rows if r["machine"] == machine]
    total = mine[0]
    for scope in ("loop", "thread", "region"):
        parts = [r for r in mine if r["scope"] == scope]
        for key in ("levels", "tlb"):
            for i, level in enumerate(total.get(key, [])):
                for count in level:
                    if count != "level" and "rate" not in count:
                        assert sum(r[key][i][count] for r in parts) == level[count], (key, count)
assert rows[0]["levels"][0]["prefetches"] > 0 and len(rows[0]["tlb"]) == 2, rows[0]
END

# inputs: standard input, a window, a format by name, a profile
grep -v ",1,0$" hand.csv > one.csv
"$PSNAP" sim - -m table1-1 < one.csv 2> /dev/null > stdin.txt
"$PSNAP" sim one.csv --from csv -m table1-1 2> /dev/null | cmp - stdin.txt || fail "--from differs"
"$PSNAP" sim hand.csv -m 32:16:2 --skip 1 --count 3 --json > json
python3 -c 'import json; r = json.load(open("json")); assert r["accesses"] == 3; \
assert [l["hits"] for l in r["rows"][0]["levels"]] == [0]' || fail "window"
"$PSNAP" profile hand.csv -o hand.yaml
"$PSNAP" sim hand.yaml -m table1-1 --seed 3 --json > json
python3 -c 'import json; r = json.load(open("json")); assert r["accesses"] == 7' || fail "profile"

# mistakes
expect 2 "$PSNAP" sim hand.csv
grep -q -- '-m MACHINE' err || fail "$(cat err)"
expect 2 "$PSNAP" sim -m table1-1
expect 2 "$PSNAP" sim hand.csv hand.csv -m table1-1
expect 2 "$PSNAP" sim hand.csv -m table1-1 --by total,lop
grep -q "not 'lop'" err || fail "$(cat err)"
expect 2 "$PSNAP" sim hand.csv -m table1-1 -m table1-1
expect 1 "$PSNAP" sim hand.csv -m table1-11
grep -q "did you mean 'table1-1'" err || fail "$(cat err)"
expect 1 "$PSNAP" sim hand.csv -m 32K:64:7
expect 1 "$PSNAP" sim nothing.pst -m table1-1
[ ! -s out ] || fail "output in spite of an error"
head -c 2000 "$rich" > cut.pst
expect 0 "$PSNAP" sim cut.pst -m table1-1
[ "$(grep -c 'cut.pst: .*cut off; its first' err)" = 1 ] || fail "$(cat err)"
expect 0 "$PSNAP" sim cut.pst -m table1-1 --json
grep -q '^  "cut_off": true,$' out || fail "sim --json does not say that the trace was cut off"
expect 0 "$PSNAP" sim "$rich" -m table1-1 --json
! grep -q cut_off out || fail "sim --json says that a whole trace was cut off"
if [ -w /dev/full ]; then
    got=0
    "$PSNAP" sim hand.csv -m table1-1 > /dev/full 2> err || got=$?
    [ $got = 1 ] || fail "a full disk went unnoticed"
fi

# memory is for the references that come, not for all that there might be
printf 'address,size,kind,thread,ref\n0x0,4,load,0,1048575\n' > far.csv
python3 - "$PSNAP" << 'END'
import resource, subprocess, sys
machines = [word for i in range(1, 11) for word in ("-m", "table1-%d" % i)]
subprocess.run([sys.argv[1], "sim", "far.csv"] + machines, check=True, capture_output=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
assert used < 300 << 10, "%d KB for one access" % used
END

# several machines: their cumulative rates beside each other, or a table each
"$PSNAP" sim "$rich" -m table1-1 -m table1-3 --by total > table 2> err
grep -q "^machine table1-3 (64K:64:2,512K:64:16)" table || fail "side by side: $(cat table)"
"$PSNAP" sim "$rich" -m table1-1 -m table1-3 --by total --json > both.json
python3 - table both.json << 'END' || fail "side by side"
import json, sys
lines = [line for line in open(sys.argv[1]) if line.startswith(("scope", "total"))]
heading, row = (line.split("  ") for line in lines)
heading = [text.strip() for text in heading if text.strip()]
row = [text.strip() for text in row if text.strip()]
assert heading[5:] == ["table1-1 L1 %", "table1-1 L2 %", "table1-3 L1 %", "table1-3 L2 %"], heading
rates = [level["cumulative_hit_rate"] for one in json.load(open(sys.argv[2]))["rows"] for level in one["levels"]]
assert row[5:] == [f"{100 * rate:.2f}" for rate in rates], (row, rates)
END
[ "$("$PSNAP" sim "$rich" -m table1-1 -m table1-3 --by total --apart 2> err | grep -c '^scope')" = 2 ] ||
    fail "apart"

# A terminal gets tables that are no wider than it is, a file one, whatever COLUMNS says
terminal() { # COLUMNS ARGUMENTS...
    COLUMNS=$1 python3 -c 'import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$PSNAP" sim "${@:2}" < /dev/null | tr -d '\r'
}
three=(-m table1-1 -m table1-3 -m table1-5 --by total)
"$PSNAP" sim "$rich" "${three[@]}" > table 2> err
COLUMNS=100 "$PSNAP" sim "$rich" "${three[@]}" 2> err | cmp table - || fail "a pipe has no width"
wide=$(grep '^scope' table)
terminal ${#wide} "$rich" "${three[@]}" > fits
diff table <(grep -v accesses.in fits) || fail "it fits in ${#wide} columns"
terminal $((${#wide} - 1)) "$rich" "${three[@]}" > narrow
[ "$(grep -c '^scope' narrow)" = 2 ] || fail "it does not fit in $((${#wide} - 1)) columns: $(cat narrow)"
terminal 20 "$rich" "${three[@]}" > narrow
[ "$(grep -c '^scope' narrow)" = 3 ] || fail "one machine at least: $(cat narrow)"
[ "$(grep '^total' narrow | awk '{$1 = $2 = $3 = $4 = $5 = ""; print}' | tr -s ' \n' ' ')" = \
    "$(grep '^total' table | awk '{$1 = $2 = $3 = $4 = $5 = ""; print}' | tr -s ' \n' ' ')" ] || fail "other rates"

# a second level that is smaller than the first is said, and simulated
"$PSNAP" sim "$rich" -m 32K:64:8,16K:64:8 > out 2> err
grep -q "level 2 is smaller than level 1 (16384 and 32768 bytes)" err || fail "smaller: $(cat err)"

# a failure under --json is an object
"$PSNAP" sim none.pst -m table1-1 --json > failed.json 2> err && fail "none.pst"
python3 - << 'END' || fail "no object: $(cat failed.json)"
import json
failed = json.load(open("failed.json"))
assert failed["psnap"] == 1 and failed["command"] == "sim", failed
assert "no such file" in failed["error"]["message"], failed
assert failed["error"].keys() == {"message", "file", "line", "column"}, failed
assert failed["error"]["file"] and failed["error"]["file"] in failed["error"]["message"], failed
END
