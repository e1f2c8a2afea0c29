#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap sweep: a work list by one process, by many, by several ranks and after a crash has the same
# results, which are those of psnap sim.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

machines="-m 4K:64:4,64K:64:8 -m table1-3"

"$PSNAP" cc -O2 "$PSNAP_SOURCE/samples/matmul.c" -o matmul -lm
"$PSNAP" cc -O2 "$PSNAP_SOURCE/samples/stream.c" -o stream -lm
expect 0 "$PSNAP" record -o m.yaml --trace m.pst -- ./matmul 60 1
expect 0 "$PSNAP" record -o s.yaml -- ./stream 2000 3

cat > list.yaml << 'END'
inputs: [m.yaml, s.yaml]
edits: ["capture.region_gap_bytes *= 2"]
seeds: [0, 1]
END
# shellcheck disable=SC2086
{
    expect 0 "$PSNAP" sweep --list list.yaml $machines --loops -j 1 -o one.csv
    grep -q '8 of 8 items simulated$' err || fail "not all items: $(cat err)"
    expect 0 "$PSNAP" sweep --list list.yaml $machines --loops -j 4 -o four.csv
    cmp one.csv four.csv || fail "four processes have other results"
    [ -z "$(find . -name '*.psnap-sweep')" ] || fail "journals are left"

    # As psnap sim says, of a trace; and of a profile as it is, which is beside its edits.
    expect 0 "$PSNAP" sweep m.pst $machines --loops -o trace.csv
    expect 0 "$PSNAP" sim m.pst $machines --by total,loop --json
    python3 - << 'END'
import csv, json
rows = list(csv.DictReader(open("trace.csv")))
edits = [r["edit"] for r in csv.DictReader(open("one.csv")) if r["input"] == "m.yaml"]
assert edits[0] == "" and set(edits) == {"", "capture.region_gap_bytes *= 2"}, set(edits)
wanted = {}
for row in json.load(open("out"))["rows"]:
    for level in row["levels"]:
        wanted[row["machine"], row["scope"], row["id"], level["level"]] = level
assert len(rows) == len(wanted), (len(rows), len(wanted))
for row in rows:
    level = wanted[row["machine"], row["scope"], row["id"], int(row["level"])]
    assert int(row["hits"]) == level["hits"] and int(row["accesses"]) == level["accesses"], row
    assert int(row["write_backs"]) == level["write_backs"], row
END

    # Ranks that see the same files, at the same time and one after the other.
    for rank in 0 1 2; do
        "$PSNAP" sweep --list list.yaml $machines --loops --rank $rank/3 -o ranks.csv 2> err.$rank &
    done
    wait
    cmp one.csv ranks.csv || fail "three ranks have other results: $(cat err.?)"
    expect 0 "$PSNAP" sweep --list list.yaml $machines --loops --rank 1/2 -o later.csv
    [ ! -e later.csv ] || fail "results of half of the items"
    grep -q "rank 1 of 2: 4 of 8 items simulated, 4 are others' to do; results so far are in \
later.csv.psnap-sweep, whoever finds all writes later.csv" err || fail "$(cat err)"
    expect 0 "$PSNAP" sweep --list list.yaml $machines --loops -o later.csv
    grep -q '4 of 8 items simulated, 4 were there' err || fail "it did not go on: $(cat err)"
    cmp one.csv later.csv || fail "other results after a part was there"

    # A crash, with a record cut off: what is whole is kept.
    expect 0 "$PSNAP" sweep --list list.yaml $machines --loops --rank 0/2 -o crash.csv
    size=$(stat -c %s crash.csv.psnap-sweep/rank-0)
    truncate -s $((size - 100)) crash.csv.psnap-sweep/rank-0
    expect 0 "$PSNAP" sweep --list list.yaml $machines --loops -o crash.csv
    grep -q '5 of 8 items simulated, 3 were there' err || fail "a cut record: $(cat err)"
    cmp one.csv crash.csv || fail "other results after a crash"

    # A flipped byte in a record: it is named, and the record before and those after it are taken.
    rm -f crash.csv
    expect 0 "$PSNAP" sweep --list list.yaml $machines --loops --rank 0/2 -o crash.csv
    python3 - << 'END'
data = bytearray(open("crash.csv.psnap-sweep/rank-0", "rb").read())
second = data.index(b"\nend\n") + 5
data[data.index(b"machine", second) + 12] ^= 1
open("crash.csv.psnap-sweep/rank-0", "wb").write(data)
END
    expect 0 "$PSNAP" sweep --list list.yaml $machines --loops -o crash.csv
    [ "$(grep -c 'crash.csv.psnap-sweep/rank-0: the result at byte [0-9]* is damaged, and made again' err)" = 1 ] ||
        fail "$(cat err)"
    grep -q '5 of 8 items simulated, 3 were there' err || fail "a flipped byte: $(cat err)"
    cmp one.csv crash.csv || fail "other results after damage"

    # An input whose content has changed since is simulated again; a new time alone is none.
    cp m.yaml other.yaml
    expect 0 "$PSNAP" sweep other.yaml s.yaml $machines --rank 0/2 -o changed.csv
    touch other.yaml
    expect 0 "$PSNAP" sweep other.yaml s.yaml $machines --rank 0/2 -o changed.csv
    grep -q '0 of 2 items simulated, 1 were there' err || fail "only its time is new: $(cat err)"
    sed -i "0,/name: matmul/s//name: matmux/" other.yaml
    ! cmp -s m.yaml other.yaml || fail "nothing changed"
    expect 0 "$PSNAP" sweep other.yaml s.yaml $machines -o changed.csv
    grep -q '2 of 2 items simulated$' err || fail "a stale result was taken: $(cat err)"

    if command -v mpirun > /dev/null; then
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
            mpirun --oversubscribe -n 3 "$PSNAP" sweep --list list.yaml $machines --loops \
            -o mpi.csv 2> err || fail "mpirun: $(cat err)"
        for rank in 0 1 2; do
            [ "$(grep -Ec "rank $rank of 3: [0-9]+ of 8 items simulated.*(all are in mpi|are others' to do)" err)" = 1 ] ||
                fail "mpirun: $(cat err)"
        done
        [ -z "$(find . -name 'mpi.csv.psnap-sweep')" ] || fail "journals are left"
        cmp one.csv mpi.csv || fail "ranks of mpirun have other results"
    fi
}

# Each simulation in parts: the same bytes, by one process, several ranks, and mpirun; a machine that
# cannot be split is simulated whole; what was killed goes on.
# shellcheck disable=SC2086
{
    expect 0 "$PSNAP" sweep --list list.yaml $machines --loops --split 8 -o split.csv
    grep -q '64 of 64 items simulated$' err || fail "not all parts: $(cat err)"
    cmp one.csv split.csv || fail "eight parts have other results"
    expect 0 "$PSNAP" sweep m.pst s.yaml $machines -m random-3 -m xeon-8180 --loops -o whole.csv
    expect 0 "$PSNAP" sweep m.pst s.yaml $machines -m random-3 -m xeon-8180 --loops --split 3 \
        -o mixed.csv
    grep -q "machine 'random-3' cannot be simulated in parts: level 1 has random" err ||
        fail "$(cat err)"
    grep -q '8 of 8 items simulated$' err || fail "$(cat err)"
    cmp whole.csv mixed.csv || fail "parts and whole machines have other results"
    for rank in 0 1; do
        "$PSNAP" sweep --list list.yaml $machines --loops --split 8 --rank $rank/2 -o two.csv \
            2> err.$rank &
    done
    wait
    cmp one.csv two.csv || fail "parts of two ranks: $(cat err.0 err.1)"

    "$PSNAP" sweep --list list.yaml $machines --loops --split 8 -j 1 -o killed.csv 2> err &
    sweep=$!
    for _ in $(seq 600); do
        count=$(grep -ac '^end$' killed.csv.psnap-sweep/rank-0 2> /dev/null || true)
        [ "${count:-0}" -lt 3 ] || break
        sleep 0.02
    done
    kill -9 $sweep 2> /dev/null || true
    wait $sweep || true
    if [ ! -e killed.csv ]; then # else it was too fast
        expect 0 "$PSNAP" sweep --list list.yaml $machines --loops --split 8 -o killed.csv
        grep -q 'were there$' err || fail "it did not go on: $(cat err)"
    fi
    cmp one.csv killed.csv || fail "other results after a kill"
    if command -v mpirun > /dev/null; then
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
            mpirun --oversubscribe -n 3 "$PSNAP" sweep m.pst s.yaml $machines -m random-3 \
            -m xeon-8180 --loops --split 5 -o mpi_split.csv 2> err || fail "mpirun: $(cat err)"
        cmp whole.csv mpi_split.csv || fail "parts of mpirun's ranks have other results"
    fi
}
expect 2 "$PSNAP" sweep m.yaml --split 100000 -o x.csv

# Machines by parameters, of traces as well, are those that are written out.
expect 0 "$PSNAP" sweep m.pst m.yaml -m 4K:64:4,64K:64:8 -p 'levels[L2].size_bytes=32K,128K' \
    -p 'levels[L1].ways=2,4' --split 2 -o parameters.csv
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
expect 1 "$PSNAP" sweep m.pst -m 4K:64:4 -p 'levels[L2].ways=2' -o x.csv
expect 1 "$PSNAP" sweep m.pst -m 4K:64:4 -p 'levels[L1].weighs=2' -o x.csv
expect 1 "$PSNAP" sweep m.pst -m 4K:64:4 -p 'levels[L1].ways=3' -o x.csv
expect 2 "$PSNAP" sweep m.pst -m 4K:64:4 -p ways -o x.csv

# A machine file that has changed is another machine.
printf 'machine:\n  name: w\n  levels:\n    - {size_bytes: 4K, line_bytes: 64, ways: 4}\n' > w.yaml
expect 0 "$PSNAP" sweep m.pst m.yaml -m w.yaml --rank 0/2 -o file.csv
sed -i 's/ways: 4/ways: 4, write: through/' w.yaml
expect 0 "$PSNAP" sweep m.pst m.yaml -m w.yaml -o file.csv
grep -q '2 of 2 items simulated$' err || fail "a stale result was taken: $(cat err)"

# Several edits in one, as psnap whatif has them
expect 0 "$PSNAP" sweep m.yaml -m table1-1 -o edits.csv \
    -e 'regions[b].strides[480] = 8; loops[multiply:35].entries *= 2'
expect 0 "$PSNAP" whatif m.yaml -m table1-1 --json \
    -e 'regions[b].strides[480] = 8; loops[multiply:35].entries *= 2'
python3 - << 'END'
import csv, json
session = json.load(open("out"))["rows"][1]["levels"][0]
row = next(r for r in csv.DictReader(open("edits.csv")) if r["edit"])
assert float(row["cumulative_hit_rate"]) == session["cumulative_hit_rate"], (row, session)
END

# One item fails: the others are done, and there is no file of all.
expect 1 "$PSNAP" sweep m.yaml s.yaml -m table1-1 -e 'loops[multiply:35].entries *= 2' \
    -o failed.csv
grep -q '^psnap sweep: s.yaml, loops\[multiply:35\].entries \*= 2: ' err || fail "$(cat err)"
grep -q '3 of 4 items simulated, 1 failed' err || fail "$(cat err)"
[ ! -e failed.csv ] || fail "results of half of the items"
expect 2 "$PSNAP" sweep m.yaml

# What lies beside R.csv and is no sweep's stays as it is, in the sweep's folder as well; no link there
# is followed; what came under the name R.csv meanwhile is not replaced.
printf 'address,size,kind,thread,ref\n0x1000,8,load,0,0\n' > a.csv
a_sweep="$PSNAP sweep a.csv -m 4K:64:4"
echo precious > victim
for file in user.csv.part-0 user.csv.part-of-thesis.txt; do cp victim $file; done
mkdir user.csv.psnap-sweep
cp victim user.csv.psnap-sweep/rank-1
ln -s ../victim user.csv.psnap-sweep/rank-2
expect 0 $a_sweep -o user.csv
expect 1 $a_sweep --rank 1/3 -o user.csv --force
has err "user.csv.psnap-sweep/rank-1' is no file of a sweep"
expect 1 $a_sweep --rank 2/3 -o user.csv --force
expect 0 $a_sweep -o user.csv --force
[ "$(ls user.csv*)" = 'user.csv
user.csv.part-0
user.csv.part-of-thesis.txt

user.csv.psnap-sweep:
rank-1
rank-2' ] || fail "$(ls user.csv*)"
for file in user.csv.*/* user.csv.part-* victim; do cmp victim "$file"; done
mkdir folder
ln -s folder link.csv.psnap-sweep
expect 1 $a_sweep -o link.csv
cp victim file.csv.psnap-sweep
expect 1 $a_sweep -o file.csv
cmp victim file.csv.psnap-sweep
mkdir lock.csv.psnap-sweep
cp victim lock.csv.psnap-sweep/lock
expect 1 $a_sweep -o lock.csv
cmp victim lock.csv.psnap-sweep/lock

# While a sweep is at work on R.csv another one is refused, and one that comes later takes its results.
endless 8 > endless.yaml
$a_sweep endless.yaml -j 2 -o alive.csv 2> /dev/null &
alive=$!
while ! grep -qs '^end$' alive.csv.psnap-sweep/rank-0; do sleep 0.02; done
cp -r alive.csv.psnap-sweep before
expect 1 $a_sweep -o alive.csv
has err "alive.csv.psnap-sweep: another 'psnap sweep' is at work on it"
expect 1 $a_sweep endless.yaml -o alive.csv
expect 1 $a_sweep --rank 1/2 -o alive.csv --force
diff -r before alive.csv.psnap-sweep || fail "a living sweep's journal"
[ ! -e alive.csv ] || fail "results beside a living sweep"
kill -9 $alive
wait $alive || true
expect 0 $a_sweep -o alive.csv
has err '0 of 1 items simulated, 1 were there'
[ ! -e alive.csv.psnap-sweep ] || fail "journals are left"
sed 's/4503599627370496/50000000/g;s/36028797018963968/400000000/' endless.yaml > second.yaml
"$PSNAP" sweep second.yaml -m random-3 -o meanwhile.csv 2> err &
until [ -e meanwhile.csv.psnap-sweep/rank-0 ]; do sleep 0.02; done
cp victim meanwhile.csv
if wait $!; then fail "it was written: $(cat err)"; fi
has err "'meanwhile.csv' exists already"
cmp victim meanwhile.csv

# Traces are not edited; what an edit could not change is said once; levels are named.
expect 2 "$PSNAP" sweep m.yaml m.pst -m table1-1 -e 'capture.region_gap_bytes *= 2' -o x.csv
grep -q '^psnap sweep: m.pst: a trace, and edits are of profiles' err || fail "$(cat err)"
"$PSNAP" cc -O2 "$PSNAP_SOURCE/samples/spmv.c" -o spmv -lm
expect 0 "$PSNAP" record -o p.yaml -- ./spmv 2000 2
expect 0 "$PSNAP" sweep p.yaml -m table1-1 -e 'loops[multiply:67].strides[8] = 16' \
    --seed 0 --seed 1 --split 2 -o said.csv
[ "$(grep -c '^psnap sweep: p.yaml: loops.*has no strides' err)" = 1 ] || fail "$(cat err)"
expect 1 "$PSNAP" sweep m.pst -m i7-5960x -p 'levels[L9].ways=2' -o x.csv
grep -q "machine 'i7-5960x' has no level 'L9'; its levels are L1, L2, L3" err || fail "$(cat err)"
expect 2 "$PSNAP" sweep
grep -q 'which inputs?' err || fail "$(cat err)"
expect 2 "$PSNAP" sweep -o x.csv
expect 2 "$PSNAP" sweep m.yaml --rank 3/3 -o x.csv
expect 1 "$PSNAP" sweep nowhere.yaml -o x.csv
expect 1 "$PSNAP" sweep m.yaml -o one.csv
printf 'inputs: [m.yaml]\nmachine: [x]\n' > bad.yaml
expect 1 "$PSNAP" sweep --list bad.yaml -o x.csv
grep -q 'bad.yaml:2:' err || fail "no place: $(cat err)"
