#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap reuse: the published example by hand as a table, JSON and CSV; every kind of input; a
# fully associative cache of the simulator; a profile that is exact; wrong usage.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"

# w x w y x z z w (PPT-Multicore): inf inf 1 inf 2 inf 0 3
{
    echo address,size,kind,thread,ref
    for line in 1 2 1 3 2 4 4 1; do
        printf '0x%x,8,load,0,0\n' $((line * 64 + line))
    done
} > paper.csv
"$PSNAP" reuse paper.csv > table 2> speed
cat > expected << 'END'
hit rates of fully associative LRU caches, lines of 64 bytes, cold at the start:

scope  id     name  accesses  share %  cold %   1K %   8K %  32K %  256K %   1M %   8M %  32M %
total  total  all          8   100.00   50.00  50.00  50.00  50.00   50.00  50.00  50.00  50.00
loop   csv    csv          8   100.00   50.00  50.00  50.00  50.00   50.00  50.00  50.00  50.00

4 lines
END
diff expected table || fail "the table"
grep -q '^8 accesses in .* s, .* M/s$' speed || fail "no speed: $(cat speed)"

"$PSNAP" reuse - --by total,thread --json < paper.csv > json 2> err
[ ! -s err ] || fail "JSON should come alone: $(cat err)"
"$PSNAP" reuse paper.csv --by total --json --bins > bins.json
python3 - << 'END'
import json
r = json.load(open("json"))
assert r["psnap"] == 1 and r["command"] == "reuse" and r["input"] == "-", r
assert r["accesses"] == 8 and r["threads"] == 1 and r["line_bytes"] == 64 and r["lines"] == 4, r
assert r["accesses_per_second"] > 0
total, thread = r["scopes"]
assert (total["scope"], total["id"], thread["scope"], thread["id"]) == ("total", "total", "thread", "0")
assert total["accesses"] == 8 and total["cold"] == 4
assert total["histogram"] == thread["histogram"] == [[0, 1], [1, 1], [2, 1], [3, 1]]
assert json.load(open("bins.json"))["scopes"][0]["histogram"] == [[0, 1], [1, 1], [2, 2]]
END

"$PSNAP" reuse paper.csv --by total --csv curve.csv > table 2> err
diff - curve.csv << 'END' || fail "the curve"
scope,id,cache_lines,cache_bytes,miss_ratio
total,"total",0,0,1
total,"total",1,64,0.875
total,"total",2,128,0.75
total,"total",3,192,0.625
total,"total",4,256,0.5
END
expect 1 "$PSNAP" reuse paper.csv --csv curve.csv
has err "exists"
"$PSNAP" reuse paper.csv --by total --bins --csv - > binned 2> err
diff - binned << 'END' || fail "the binned curve"
scope,id,cache_lines,cache_bytes,miss_ratio
total,"total",0,0,1
total,"total",1,64,0.875
total,"total",2,128,0.75
total,"total",4,256,0.5
END

# Addresses instead of lines: all of 8 bytes, of which two overlap a line each
printf '%s\n' address,size,kind,thread,ref 0x3c,8,load,0,0 0x3c,8,load,0,0 0x0,8,load,0,0 > across.csv
"$PSNAP" reuse across.csv --by total --line 1 --json | tr -d ' \n' > json
has json '"lines":2'
has json '"cold":2,"histogram":[[0,1]]'
"$PSNAP" reuse across.csv --by total --json | tr -d ' \n' > json
has json '"lines":2'
has json '"cold":1,"histogram":[[1,2]]'

# The profile of a regular stream has the same distances, and the simulator the same hits in
# caches of one set
{
    echo address,size,kind,thread,ref
    for ((i = 0; i < 40; i++)); do
        for ((j = 0; j < 100; j++)); do
            printf '0x%x,8,load,0,0\n' $((65536 + 8 * j))
            printf '0x%x,8,store,0,1\n' $((131072 + 800 * i + 8 * j))
        done
    done
} > sweeps.csv
"$PSNAP" profile sweeps.csv -o sweeps.yaml 2> err
"$PSNAP" reuse sweeps.csv --by total --json | tr -d ' \n' | sed 's/.*"scopes"/"scopes"/' > trace
"$PSNAP" reuse sweeps.yaml --by total --json | tr -d ' \n' | sed 's/.*"scopes"/"scopes"/' > profile
cut -d, -f4- trace > a
cut -d, -f4- profile > b
cmp a b || fail "the profile is another stream"
"$PSNAP" sim sweeps.csv -m 256:64:full -m 1K:64:full -m 16K:64:full --by total --json > sim.json
"$PSNAP" reuse sweeps.csv --by total --json > reuse.json
python3 - << 'END'
import json
row = json.load(open("reuse.json"))["scopes"][0]
for machine in json.load(open("sim.json"))["rows"]:
    lines = {"256": 4, "1K": 16, "16K": 256}[machine["machine"].split(":")[0]]
    assert machine["levels"][0]["hits"] == sum(n for d, n in row["histogram"] if d < lines), machine
END

# ----------------------------------------------------------------- wrong usage
expect 2 "$PSNAP" reuse
has err "one input is needed"
expect 2 "$PSNAP" reuse paper.csv --line 48
has err "power of two"
expect 2 "$PSNAP" reuse paper.csv --by lines
has err "--by takes"
expect 2 "$PSNAP" reuse paper.csv --json --csv -
has err "standard output"
expect 1 "$PSNAP" reuse absent.csv --json
has out '"error"'
expect 0 "$PSNAP" reuse --help
has out "reuse distances"
