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
total,total,0,0,1
total,total,1,64,0.875
total,total,2,128,0.75
total,total,3,192,0.625
total,total,4,256,0.5
END
expect 1 "$PSNAP" reuse paper.csv --csv curve.csv
has err "exists"
"$PSNAP" reuse paper.csv --by total --bins --csv - > binned 2> err
diff - binned << 'END' || fail "the binned curve"
scope,id,cache_lines,cache_bytes,miss_ratio
total,total,0,0,1
total,total,1,64,0.875
total,total,2,128,0.75
total,total,4,256,0.5
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

# Threads that measure change nothing; a sample nearly nothing
{
    echo address,size,kind,thread,ref
    awk 'BEGIN {
        srand(1)
        for (i = 0; i < 60000; i++)
            printf "0x%x,8,load,%d,%d\n", rand() < .3 ? i * 8 : int(rand() * (i % 3 ? 40000 : 2000)) * 64, i / 20000, i % 5
    }'
} > random.csv
"$PSNAP" convert random.csv -o random.pst 2> err
for input in random.pst sweeps.csv; do
    for jobs in 1 2 7; do
        "$PSNAP" reuse $input --jobs $jobs --by total,loop,block,thread --json | grep -v accesses_per_second > $jobs.json
        cmp 1.json $jobs.json || fail "$jobs jobs have other results: $input"
    done
done
"$PSNAP" reuse random.pst --json > exact.json
"$PSNAP" reuse random.pst --sample 0.1 --json > sample.json
"$PSNAP" reuse random.pst --sample 0.1 > table 2> err
has table "estimated from a sample of the lines, 10 % of them"
has table "about "
python3 - << 'END'
import json
exact, sample = json.load(open("exact.json")), json.load(open("sample.json"))
assert exact["sample"] == 1 and sample["sample"] == 0.1
assert exact["lines"] != sample["lines"] and abs(exact["lines"] - sample["lines"]) < .05 * exact["lines"]
for a, b in zip(exact["scopes"], sample["scopes"]):
    assert a["id"] == b["id"] and a["accesses"] == b["accesses"]
    assert sum(n for d, n in b["histogram"]) + b["cold"] == b["accesses"]
    errors = [abs(sum(n for d, n in a["histogram"] if d < 2 ** k) -
                  sum(n for d, n in b["histogram"] if d < 2 ** k)) / a["accesses"] for k in range(17)]
    assert sum(errors) / len(errors) <= .005, errors
END

# Curves as figures: a gnuplot that shows what it was told, and the real one
mkdir bin
cat > bin/gnuplot << 'END'
#!/bin/sh
case $1 in
--version) echo gnuplot 5 ;;
*) cat ;;
esac
END
chmod +x bin/gnuplot
expect 0 env PATH="$PWD/bin:$PATH" "$PSNAP" reuse paper.csv --by total,loop --svg s.svg
grep -q "^set title 'paper.csv' noenhanced" s.svg || fail "$(grep title s.svg)"
grep -A 6 '^.curve1 << EOD' s.svg | diff - <(printf '%s\n' '$curve1 << EOD' '64 0.875' '128 0.75' '192 0.625' '256 0.5' '512 0.5' EOD) ||
    fail "the curve of the figure"
has s.svg "title 'total', "
expect 1 env PATH="$PWD/bin:$PATH" "$PSNAP" reuse paper.csv --svg s.svg
has err "exists"
if command -v gnuplot > /dev/null; then
    expect 0 "$PSNAP" reuse random.pst --svg s.svg --csv c.csv --by total,block --force
    python3 -c 'import xml.dom.minidom as x; t = x.parse("s.svg").documentElement
assert t.tagName == "svg" and len(t.getElementsByTagName("path")) > 5' || fail "the SVG"
    if [ -e /dev/full ]; then
        expect 1 "$PSNAP" reuse paper.csv --svg /dev/full
        has err "/dev/full"
    fi
fi

# Of no access there is nothing to say: a trace that was cut off before its first whole ones, too
head -1 random.csv > empty.csv
head -c 200 random.pst > cut.pst
for input in empty.csv cut.pst; do
    expect 1 "$PSNAP" reuse $input --json --csv empty.out
    has out '"message": "there is not a single access in it'
    has err "$input: there is not a single access in it"
    [ ! -e empty.out ] || fail "a file of no accesses"
done

# ----------------------------------------------------------------- wrong usage
for sample in 0 -1 1.5 x; do
    expect 2 "$PSNAP" reuse paper.csv --sample $sample
    has err "--sample"
done
expect 2 "$PSNAP" reuse paper.csv --jobs 0
has err "--jobs takes"
expect 2 "$PSNAP" reuse paper.csv --svg - --csv -
has err "standard output"
expect 2 "$PSNAP" reuse paper.csv --svg x --csv x --force
has err "both 'x'"
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
