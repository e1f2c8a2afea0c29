#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap sweep: a work list by one process, by many, by several ranks, after a crash and out of an
# archive has the same table, whose rows are those of psnap sim; what is stale or damaged is made
# again, and what fails is said.
# shellcheck disable=SC2046,SC2086 # words on purpose
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

machines="-m 4K:64:4,64K:64:8 -m table1-3"
results() { find "$1" -type f | wc -l; }

"$PSNAP" cc -O2 "$PSNAP_SOURCE/samples/matmul.c" -o matmul -lm
"$PSNAP" cc -O2 "$PSNAP_SOURCE/samples/stream.c" -o stream -lm
expect 0 "$PSNAP" record -o m.yaml --trace m.pst -- ./matmul 60 1
expect 0 "$PSNAP" record -o s.yaml -- ./stream 2000 3

list="$PSNAP sweep m.yaml s.yaml -e capture.region_gap_bytes*=2 --seed 0 --seed 1 $machines --loops"
expect 0 $list -j 1 -o one.csv
has err "8 of 8 results are in one.csv.psnap-sweep, and in one.csv"
expect 0 $list -j 4 -o four.csv
cmp one.csv four.csv || fail "four processes have another table"
diff -r one.csv.psnap-sweep four.csv.psnap-sweep || fail "four processes have other results"

# As psnap sim says, of a trace; and of a profile as it is, which is beside its edits.
expect 0 "$PSNAP" sweep m.pst $machines --loops -o trace.csv
expect 0 "$PSNAP" sim m.pst $machines --by total,loop --csv
sed '1s/^/input,edit,seed,/; 2,$s/^/m.pst,,0,/' out | cmp - trace.csv || fail "not what psnap sim says"
python3 - << 'END'
import csv
items = []
for row in csv.DictReader(open("one.csv")):
    item = row["input"], row["edit"], row["seed"]
    if item not in items:
        items.append(item)
edit = "capture.region_gap_bytes*=2"
assert items == [(i, e, s) for i in ("m.yaml", "s.yaml") for e in ("", edit) for s in "01"], items
END

# A second start has nothing to do; a killed one goes on; results are those of the content, by any name.
stat -c '%n %i %y' one.csv.psnap-sweep/* > before
expect 0 $list --force -o one.csv
stat -c '%n %i %y' one.csv.psnap-sweep/* | cmp - before || fail "results were made twice"
endless 8 > endless.yaml
"$PSNAP" sweep s.yaml m.yaml endless.yaml $machines -j 2 -o killed.csv 2> err &
killed=$!
while [ "$(results killed.csv.psnap-sweep 2> /dev/null)" -lt 2 ]; do sleep 0.02; done
kill -9 $killed
wait $killed || true
[ ! -e killed.csv ] || fail "a table of half of the items"
stat -c '%n %i %y' killed.csv.psnap-sweep/* > before
cp m.yaml copy.yaml
expect 0 "$PSNAP" sweep s.yaml copy.yaml $machines -o killed.csv
stat -c '%n %i %y' killed.csv.psnap-sweep/* | cmp - before || fail "it did not go on"
expect 0 "$PSNAP" sweep s.yaml copy.yaml $machines -o again.csv
cmp killed.csv again.csv || fail "another table after a kill"

# What it follows from is another: the input's content, a machine's file, the seed, --loops, --count.
printf 'machine:\n  name: w\n  levels:\n    - {size_bytes: 4K, line_bytes: 64, ways: 4}\n' > w.yaml
made=0
another() {
    expect 0 "$PSNAP" sweep copy.yaml -m w.yaml --into kept --force -o x.csv "$@"
    made=$((made + 1))
    [ "$(results kept)" = $made ] || fail "a stale result was taken: $made $*"
}
another
touch copy.yaml
made=$((made - 1))
another
sed -i 's/ways: 4/ways: 4, write: through/' w.yaml
another
another --loops
another --count 1000
another --seed 1
sed -i "0,/name: matmul/s//name: matmux/" copy.yaml
another

# Damage is said and mended; a foreign file stays.
damaged=$(find kept -type f | head -n 1)
whole=$(cat "$damaged")
for damage in 'truncate -s 70' 'truncate -s 0' 'sed -i s/load/lOad/;s/w,total/w,totol/'; do
    echo precious > kept/thesis
    $damage "$damaged"
    for options in '' --loops '--count 1000' '--seed 1'; do
        expect 0 "$PSNAP" sweep copy.yaml m.yaml -m w.yaml --into kept --force -o x.csv $options
        cat err >> errs
    done
    sed -i 's/ways: 4, write: through/ways: 4/' w.yaml
    expect 0 "$PSNAP" sweep copy.yaml m.yaml -m w.yaml --into kept --force -o x.csv
    sed -i 's/ways: 4/ways: 4, write: through/' w.yaml
    cat err >> errs
    [ "$(grep -c "$damaged: it is damaged, and made again" errs)" = 1 ] || fail "$damage: $(cat errs)"
    [ "$(cat "$damaged")" = "$whole" ] || fail "$damage: it was not mended"
    rm errs
done
[ "$(cat kept/thesis)" = precious ] || fail "a foreign file is gone"

# Ranks that see the same files, at the same time and one after the other; who finds all writes.
for rank in 0 1 2; do
    $list --rank $rank/3 -o ranks.csv 2> err.$rank &
done
wait
cmp one.csv ranks.csv || fail "three ranks have another table: $(cat err.?)"
expect 0 $list --rank 1/2 -o later.csv
[ ! -e later.csv ] || fail "a table of half of the items"
has err "4 of 8 results are in later.csv.psnap-sweep; with all of them there is later.csv"
expect 0 env PMI_RANK=0 PMI_SIZE=2 $list -o later.csv
cmp one.csv later.csv || fail "another table after a part was there"
seq 0 19 | xargs -P 4 -I{} $list -j 1 --rank {}/20 -o xargs.csv 2> err || fail "xargs: $(cat err)"
cmp one.csv xargs.csv || fail "xargs: another table: $(cat err)"
if command -v mpirun > /dev/null; then
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        mpirun --oversubscribe -n 3 $list -o mpi.csv 2> err || fail "mpirun: $(cat err)"
    cmp one.csv mpi.csv || fail "ranks of mpirun have another table"
fi

# Machines by parameters are those that are written out.
expect 0 "$PSNAP" sweep m.pst m.yaml -m 4K:64:4,64K:64:8 -p 'levels[L2].size_bytes=32K,128K' \
    -p 'levels[L1].ways=2,4' -o parameters.csv
expect 0 "$PSNAP" sweep m.pst m.yaml -m 4K:64:2,32K:64:8 -m 4K:64:4,32K:64:8 \
    -m 4K:64:2,128K:64:8 -m 4K:64:4,128K:64:8 -o written.csv
python3 - << 'END'
import csv
rows, wanted = ([r for r in csv.DictReader(open(f))] for f in ("parameters.csv", "written.csv"))
assert rows[0]["machine"] == "4K:64:4,64K:64:8 levels[L2].size_bytes=32K levels[L1].ways=2", rows[0]
assert len(rows) == len(wanted) == 16
for a, b in zip(rows, wanted):
    del a["machine"], b["machine"]
    assert a == b, (a, b)
END
expect 1 "$PSNAP" sweep m.pst -m 4K:64:4 -p 'levels[L2].ways=2' -o x.csv --force
has err "machine '4K:64:4' has no level 'L2'; its levels are L1"
expect 1 "$PSNAP" sweep m.pst -m 4K:64:4 -p 'levels[L1].weighs=2' -o x.csv --force
expect 1 "$PSNAP" sweep m.pst -m 4K:64:4 -p 'levels[L1].ways=3' -o x.csv --force
expect 2 "$PSNAP" sweep m.pst -m 4K:64:4 -p ways -o x.csv --force

# Several edits in one, as psnap whatif has them
edits='regions[b].strides[480] = 8; loops[multiply:35].entries *= 2'
expect 0 "$PSNAP" sweep m.yaml -m table1-1 -o edits.csv -e "$edits"
expect 0 "$PSNAP" whatif m.yaml -m table1-1 --json -e "$edits"
python3 - << 'END'
import csv, json
session = json.load(open("out"))["rows"][1]["levels"][0]
row = next(r for r in csv.DictReader(open("edits.csv")) if r["edit"])
assert float(row["cumulative_hit_rate"]) == session["cumulative_hit_rate"], (row, session)
END

# The profiles of an archive
expect 0 "$PSNAP" repo init r
expect 0 "$PSNAP" repo add r m.yaml s.yaml
mkdir profiles
"$PSNAP" repo export r name:matmul -o - | tar -xf - -C profiles
expect 0 "$PSNAP" sweep $(find profiles -name '*.yaml') $machines --into one.csv.psnap-sweep -o archive.csv
has err "1 of 1 results"

# One item fails: the others are done, and there is no table.
expect 1 "$PSNAP" sweep m.yaml s.yaml -m table1-1 -e 'loops[multiply:35].entries *= 2' -o failed.csv
grep -q '^psnap sweep: s.yaml, loops\[multiply:35\].entries \*= 2: ' err || fail "$(cat err)"
has err "3 of 4 results are in failed.csv.psnap-sweep"
[ ! -e failed.csv ] || fail "a table of half of the items"

# What came under the name R.csv meanwhile is not replaced, nor what was there.
endless 8 | sed 's/4503599627370496/50000000/g;s/36028797018963968/400000000/' > long.yaml
"$PSNAP" sweep long.yaml -m random-3 -o meanwhile.csv 2> err &
until [ -e meanwhile.csv.psnap-sweep ]; do sleep 0.02; done
echo precious > meanwhile.csv
if wait $!; then fail "it was written: $(cat err)"; fi
has err "'meanwhile.csv' exists already"
[ "$(cat meanwhile.csv)" = precious ] || fail "it was written"
expect 1 "$PSNAP" sweep m.yaml -o one.csv

# Traces are not edited; what an edit could not change is said once.
expect 2 "$PSNAP" sweep m.yaml m.pst -m table1-1 -e 'capture.region_gap_bytes *= 2' -o y.csv
has err 'psnap sweep: m.pst: a trace, and edits are of profiles'
"$PSNAP" cc -O2 "$PSNAP_SOURCE/samples/spmv.c" -o spmv -lm
expect 0 "$PSNAP" record -o p.yaml -- ./spmv 2000 2
expect 0 "$PSNAP" sweep p.yaml -m table1-1 -e 'loops[multiply:67].strides[8] = 16' \
    --seed 0 --seed 1 -o said.csv
[ "$(grep -c '^psnap sweep: p.yaml: loops.*has no strides' err)" = 1 ] || fail "$(cat err)"

expect 2 "$PSNAP" sweep
has err 'which inputs?'
expect 2 "$PSNAP" sweep m.yaml
for rank in 3/3 1 1/ /2 -1/4 0/2x; do
    expect 2 "$PSNAP" sweep m.yaml --rank $rank -o y.csv
done
expect 2 "$PSNAP" sweep m.yaml --seed x -o y.csv
expect 1 "$PSNAP" sweep nowhere.yaml -o y.csv
expect 1 "$PSNAP" sweep . -o y.csv
[ ! -e y.csv ] || fail "a table of nothing"
