#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap compare: streams worked out by hand, a stream with itself, a stream with
# its profile, thresholds and wrong usage.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"

stream() { # ADDRESS...: loads of 4 bytes
    echo address,size,kind,thread,ref
    for address in "$@"; do
        echo "$address,4,load,0,0"
    done
}
stream 0x0 0x0 0x40 0x0 > a.csv  # 2 of 4 hit
stream 0x0 0x40 0x80 0x0 > b.csv # 1 of 4 in two lines of 64: none; in four: 1

cat > expected << 'END'
observed   a.csv: 4 accesses
synthetic  b.csv: 4 accesses

points of error over 2 machines; -m with one of them shows the hit rates

loop  name  share %  L1 mean  L1 largest  L2 mean  L2 largest  worst on
csv   csv    100.00    37.50       50.00    25.00       25.00  128:64:2,256:64:4

the whole stream

machine             L1 obs. %  L1 syn. %  L1 points  L2 obs. %  L2 syn. %  L2 points
128:64:2,256:64:4       50.00       0.00      50.00      50.00      25.00      25.00
1K:64:16                50.00      25.00      25.00

error of cumulative hit rates, 1 relevant loop, 2 machines

points              L1     L2
mean             37.50  25.00
largest          50.00  25.00
total (mean)     37.50  25.00
misses %, mean   75.00  50.00
misses %, total  75.00  50.00
END
"$PSNAP" compare a.csv b.csv -m 128:64:2,256:64:4 -m 1K:64:16 > table
sed 's/  */ /g' table > squeezed # columns are as wide as they must be
sed 's/  */ /g' expected | diff - squeezed || fail "the table: $(cat table)"

"$PSNAP" compare a.csv b.csv -m 128:64:2,256:64:4 -m 1K:64:16 --json > json
python3 - << 'END'
import json
r = json.load(open("json"))
assert r["psnap"] == 1 and r["command"] == "compare"
assert r["observed"] == {"input": "a.csv", "accesses": 4, "threads": 1,
                         "interleaving": "stream order"}
assert [(x["machine"], x["scope"], x["share"]) for x in r["rows"] if x["scope"] == "loop"] == [
    ("128:64:2,256:64:4", "loop", 1), ("1K:64:16", "loop", 1)]
row = r["rows"][0]
assert row["levels"] == [
    {"level": 1, "observed": 0.5, "synthetic": 0, "error_points": 50, "relative_miss_error": 1},
    {"level": 2, "observed": 0.5, "synthetic": 0.25, "error_points": 25,
     "relative_miss_error": 0.5}], row
s = r["summary"]
assert s["mean_points"] == [37.5, 25] and s["max_points"] == [50, 25]
assert s["total_points"] == [37.5, 25]
END

# one machine: the hit rates of each loop
"$PSNAP" compare a.csv b.csv -m 1K:64:16 | sed -n '4,5s/  */ /gp' > squeezed
diff squeezed - << 'END' || fail "one machine"
machine loop name share % L1 obs. % L1 syn. % L1 points
1K:64:16 csv csv 100.00 50.00 25.00 25.00
END

# the TLB has columns and fields of its own. Pages of 64 bytes, one entry: in a.csv 1 of 4
# accesses stays on its page, in b.csv none; the caches are as they were
cat > tlb.yaml << 'END'
levels: [{size_bytes: 1K, line_bytes: 64, ways: 16}]
tlb: [{entries: 1, page_bytes: 64}]
END
"$PSNAP" compare a.csv b.csv -m 128:64:2,256:64:4 -m tlb.yaml > table
sed -n '/^points  *L1/,$p' table | sed 's/  */ /g' > squeezed
diff squeezed - << 'END' || fail "the summary with a TLB: $(cat table)"
points L1 L2 TLB
mean 37.50 25.00 25.00
largest 50.00 25.00 25.00
total (mean) 37.50 25.00 25.00
misses %, mean 75.00 50.00 33.33
misses %, total 75.00 50.00 33.33
END
"$PSNAP" compare a.csv b.csv -m 128:64:2,256:64:4 -m tlb.yaml --json > json
python3 - << 'END'
import json
r = json.load(open("json"))
row, = [x for x in r["rows"] if x["machine"] == "tlb" and x["scope"] == "total"]
assert [l["level"] for l in row["levels"]] == [1]
(tlb,) = row["tlb"]
assert abs(tlb.pop("relative_miss_error") - 1 / 3) < 1e-9, row
assert tlb == {"level": "TLB", "observed": 0.25, "synthetic": 0, "error_points": 25}, row
assert not any("tlb" in x for x in r["rows"] if x["machine"] != "tlb")
s = r["summary"]
assert s["mean_points"] == [37.5, 25] and s["max_points"] == [50, 25]
assert s["tlb_mean_points"] == s["tlb_max_points"] == s["tlb_total_points"] == [25]
END
sed -i 's/1K, line_bytes: 64, ways: 16/64, line_bytes: 64, ways: 1/; s/page_bytes: 64/page_bytes: 4K/' tlb.yaml
stream 0x0 0x1000 0x0 > c.csv
stream 0x0 0x40 0x0 > d.csv
expect 0 "$PSNAP" compare c.csv d.csv -m 64:64:1 --max-error 0 --max-mean 0
expect 1 "$PSNAP" compare c.csv d.csv -m tlb.yaml --max-error 60
grep -q 'on tlb is 66.667 points apart' err || fail "$(cat err)"
expect 1 "$PSNAP" compare c.csv d.csv -m tlb.yaml --max-mean 60
grep -q 'mean error at the TLB is 66.667 points' err || fail "$(cat err)"

# a stream with itself: no error anywhere, on all ten structures
rich=$PSNAP_SOURCE/tests/golden/formats/rich.pst
"$PSNAP" compare "$rich" "$rich" --max-error 0 --max-mean 0 --all --json > json
python3 - << 'END'
import json
r = json.load(open("json"))
assert len({x["machine"] for x in r["rows"]}) == 10
assert all(l["error_points"] == 0 and l["relative_miss_error"] == 0
           for x in r["rows"] for l in x["levels"])
assert r["summary"]["max_points"] == [0, 0, 0] and r["summary"]["missing_loops"] == 0
END

# a loop is in the table once, however many machines there are
"$PSNAP" compare "$rich" "$rich" --all > table
"$PSNAP" compare "$rich" "$rich" --all -m table1-1 > one
sed -n '/^loop/,/^$/p' table | sed '1d; $d' | awk '{ print $1 }' | sort > loops
sed -n '/^machine/,/^$/p' one | sed '/^$/,$d; 1d' | awk '{ print $2 }' | sort | diff - loops ||
    fail "the loops: $(cat table)"
[ -s loops ] && [ "$(grep -c '^table1-' table)" = 10 ] || fail "the machines: $(cat table)"

# either side may be a profile or standard input
for i in {1..300}; do
    printf '0x%x\n' $((i * 24)) $((4096 + i * 512)) 16
done > addresses
stream $(cat addresses) > walk.csv
"$PSNAP" profile walk.csv -o walk.yaml
"$PSNAP" compare walk.csv walk.yaml --json > json
"$PSNAP" compare - walk.yaml --json < walk.csv | sed 's|"-"|"walk.csv"|' | cmp - json ||
    fail "standard input differs"
python3 - << 'END'
import json
r = json.load(open("json"))
assert r["observed"]["accesses"] == r["synthetic"]["accesses"] == 900
assert r["summary"]["missing_loops"] == 0
assert all(0 <= p <= 100 for p in r["summary"]["max_points"])
END

# threads in their order or in turn, as in psnap sim, which has these by hand
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
"$PSNAP" compare hand.csv - -m 32:16:2,1K:16:full --json < hand.csv > json
"$PSNAP" compare hand.csv hand.csv -m 32:16:2,1K:16:full --interleave round-robin --json > turns
python3 - << 'END'
import json
r = json.load(open("json"))
assert r["observed"] == {"input": "hand.csv", "accesses": 7, "threads": 2,
                         "interleaving": "stream order"}, r["observed"]
assert r["synthetic"] == {"input": "-", "accesses": 7, "threads": 2,
                          "interleaving": "stream order"}, r["synthetic"]
total = [row for row in r["rows"] if row["scope"] == "total"][0]["levels"][0]
assert (total["observed"], total["synthetic"]) == (2 / 7, 2 / 7), total
r = json.load(open("turns"))
for side in "observed", "synthetic":
    assert r[side] == {"input": "hand.csv", "accesses": 7, "threads": 2,
                       "interleaving": "round-robin by access"}, r[side]
total = [row for row in r["rows"] if row["scope"] == "total"][0]["levels"][0]
assert (total["observed"], total["synthetic"]) == (3 / 7, 3 / 7), total
END
expect 2 "$PSNAP" compare hand.csv - -m 32:16:2 --interleave round-robin < hand.csv
has err "threads are taken in turn from a file, which is read once for each: '-' is none"
expect 2 "$PSNAP" compare hand.csv hand.csv -m 32:16:2 --interleave uniform
has err "--interleave takes round-robin, not 'uniform'"
"$PSNAP" compare hand.csv - -m 32:16:2,1K:16:full < hand.csv > table
has table "hand.csv: 7 accesses, 2 threads, interleaved in the stream's order"
has table "-: 7 accesses, 2 threads, interleaved in the stream's order"
# a profile whose threads are merged keeps an order; two short threads stand one behind the other
"$PSNAP" profile hand.csv -o walks.yaml
"$PSNAP" compare hand.csv walks.yaml -m 32:16:2,1K:16:full --json > json
python3 - << 'END'
import json
r = json.load(open("json"))
assert r["synthetic"] == {"input": "walks.yaml", "accesses": 7, "threads": 2,
                          "interleaving": "stream order"}, r["synthetic"]
END

# a loop that the other side lacks counts as wholly wrong, and is named
expect 1 "$PSNAP" compare "$rich" a.csv -m table1-1 --max-error 99
grep -q 'only in the observed stream' out || fail "$(cat out)"
grep -q 'only in the synthetic stream' out || fail "$(cat out)"
grep -q '100.000 points apart, more than 99' err || fail "$(cat err)"

# thresholds
expect 0 "$PSNAP" compare a.csv b.csv -m 1K:64:16 --max-error 25 --max-mean 25
expect 1 "$PSNAP" compare a.csv b.csv -m 1K:64:16 --max-error 24.9
expect 1 "$PSNAP" compare a.csv b.csv -m 1K:64:16 --max-mean 24.9
grep -q 'mean error at level 1 is 25.000 points' err || fail "$(cat err)"

# nothing can be within a limit when there is nothing to judge by
stream > none.csv
expect 0 "$PSNAP" compare none.csv none.csv -m 1K:64:16 --max-error 0
expect 1 "$PSNAP" compare none.csv none.csv -m 1K:64:16 --max-mean 100
grep -q 'no loop is relevant' err || fail "$(cat err)"

# mistakes
for limit in --max-error=-5 --max-mean=-0.1 '--max-error -5'; do
    # shellcheck disable=SC2086
    expect 2 "$PSNAP" compare a.csv b.csv $limit
    grep -q -e "${limit%%[= ]*}: points of error are not negative" err || fail "$(cat err)"
done
expect 2 "$PSNAP" compare a.csv
expect 2 "$PSNAP" compare - -
expect 2 "$PSNAP" compare a.csv b.csv --max-error low
expect 1 "$PSNAP" compare a.csv nothing.csv
expect 1 "$PSNAP" compare a.csv b.csv -m nothing
[ ! -s out ] || fail "output in spite of an error"

# the miss counts, and a hint where one side has no loops to match
profile=$PSNAP_SOURCE/tests/golden/profile.psnap.yaml
"$PSNAP" convert "$profile" -f din -o loopless.din 2> log
"$PSNAP" compare loopless.din "$profile" -m table1-1 > out
grep -q '^loopless.din has one loop only' out
grep -q '^misses %, total  *[0-9]' out
"$PSNAP" compare "$profile" "$profile" -m table1-1 > out
if grep -q 'one loop only' out; then fail "a profile against itself: $(cat out)"; fi
grep -Eq '^misses %, mean +0\.00' out
grep -Eq '^misses %, total +0\.00' out
rm -f loopless.din log out

# two profiles: neither is the truth; JSON is as it was
expect 0 "$PSNAP" convert a.csv -o a.pst
expect 0 "$PSNAP" convert b.csv -o b.pst
expect 0 "$PSNAP" profile a.pst -o a.yaml
expect 0 "$PSNAP" profile b.pst -o b.yaml
expect 0 "$PSNAP" compare a.yaml b.yaml -m 1K:64:16
sed -n 's/  */ /gp' out > squeezed
grep -q '^a a.yaml: 4 accesses$' squeezed && grep -q '^b b.yaml: 4 accesses$' squeezed || fail "$(cat out)"
grep -q 'L1 a % L1 b % L1 points$' squeezed && grep -q '^difference of cumulative' squeezed || fail "$(cat out)"
! grep -Eq 'obs|syn|error' squeezed || fail "$(cat out)"
expect 0 "$PSNAP" compare a.yaml b.yaml -m 1K:64:16 --json
grep -q '"synthetic"' out || fail "JSON has other fields"
expect 0 "$PSNAP" compare a.pst a.yaml -m 1K:64:16
grep -q '^observed   a.pst' out || fail "$(cat out)"
