#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Model nests, the default: regular samples come back access for access, from a trace and as
# recorded, however they were compiled; the others keep their counts; what a loop nest does is read
# and changed in the profile.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

# counts INPUT: "id accesses" of its loops
counts() {
    "$PSNAP" sim "$1" -m 32K:64:8 --by loop --json | python3 -c '
import json, sys
print(*sorted("{id} {accesses}".format(**r) for r in json.load(sys.stdin)["rows"]), sep="\n")'
}

# same "OPTIONS" NAME ARGUMENTS...: the replayed stream is the observed one
same()
{
    local options=$1 name=$2
    shift 2
    "$PSNAP" cc $options "$PSNAP_SOURCE/samples/$name.c" -o "$name" -lm -lpthread
    expect 0 "$PSNAP" record --force -o "$name.yaml" --trace "$name.pst" -- "./$name" "$@"
    grep -q 'model: nests-3' "$name.yaml"
    expect 0 "$PSNAP" check "$name.yaml"
    /usr/bin/python3 "$PSNAP_SOURCE/tests/schema_check.py" \
        "$PSNAP_SOURCE/profile/psnap-profile.schema.json" "$name.yaml" || [ $? = 77 ]
    expect 0 "$PSNAP" convert "$name.pst" -f xdin --force -o observed.xdin
    expect 0 "$PSNAP" replay "$name.yaml" -f xdin --force -o replayed.xdin
    cmp observed.xdin replayed.xdin || fail "$name $options is not exact"
    expect 0 "$PSNAP" profile "$name.pst" --force -o again.yaml
    sed '/recorded:/d; /^  .*recorded/d' "$name.yaml" > one
    sed '/recorded:/d; /^  .*recorded/d' again.yaml > two
    cmp one two
    rm -f observed.xdin replayed.xdin again.yaml
}

for options in -O0 -O1 -O3 '-O3 -mavx2'; do
    if [ "$options" = '-O3 -mavx2' ] && ! grep -q avx2 /proc/cpuinfo; then continue; fi
    same "$options" doolittle 70 1 # triangles, of vectors as well
    same "$options" matmul 30 1
    same "$options" jacobi3d 12 2
    same "$options" stream 500 2
done
same -O2 matmul 40 1
same -O2 jacobi3d 20 3
same -O2 adi 50 2
same -O2 blackscholes 500 2
same -O2 doolittle 120 1
same -O2 mg 16 2
same -O2 ft 8 2
same -O2 gramschmidt 40 1
same -O2 nbody 60 2
same -O2 seidel 60 3
same -O2 stream 1000 3
same -O2 symm 50 1

# One count tells the iterations of a vector body and a remainder, one nest where both go.
grep -Eq "of: \[\{body: 'factor:32.vector', width: 4\}, 'factor:32.rest'\]" doolittle.yaml
grep -Eq "sweep: \{loop: 'factor:32.vector', ref: 0\}" doolittle.yaml
[ "$(wc -c < doolittle.yaml)" -lt 16384 ]

# The nest is there to be read.
grep -Eq 'counts: \[40, 40, 20\], strides: \[320, 0, 16\]' matmul.yaml

# A region is what a loop touches of an object, however far apart the rows and planes are.
grep -q '  - id: u$' jacobi3d.yaml
if grep -E '  - id: [uv][.]' jacobi3d.yaml; then fail "an object is several regions"; fi

# A change of it is a change of the stream: c is written by columns.
sed -E '/store: 8, region: c, start: 0, counts/s/counts: .*/counts: [40, 40], strides: [8, 320]}/' matmul.yaml > far.yaml
if cmp -s matmul.yaml far.yaml; then fail "there is nothing to edit: $(grep 'region: c' matmul.yaml)"; fi
sed -i '/derived: {strides/d' far.yaml
expect 0 "$PSNAP" check far.yaml
expect 0 "$PSNAP" replay far.yaml -f csv -o far.csv
expect 0 "$PSNAP" replay matmul.yaml -f csv -o near.csv
[ "$(wc -l < far.csv)" = "$(wc -l < near.csv)" ]
if cmp -s far.csv near.csv; then fail "the change changes nothing"; fi

# Counts that contradict each other are refused.
sed 's/iterations: 20}/iterations: 21}/' matmul.yaml > wrong.yaml
if cmp -s matmul.yaml wrong.yaml; then fail "there is nothing to contradict"; fi
expect 1 "$PSNAP" check wrong.yaml
grep -Eq "wrong.yaml:[0-9]+:[0-9]+: .*addresses for 32000 accesses, but bodies make 33600" err out

# Irregular ones, samples or NAME.c here, keep how much each loop does, through their text too.
drawn()
{
    local name=$1 source="$PSNAP_SOURCE/samples/$1.c"
    shift
    [ -e "$source" ] || source=$name.c
    "$PSNAP" cc -O2 "$source" -o "$name" -lm
    expect 0 "$PSNAP" record -o "$name.yaml" --trace "$name.pst" -- "./$name" "$@"
    grep -q 'model: nests-3' "$name.yaml"
    grep -q 'reuse: ' "$name.yaml"
    expect 0 "$PSNAP" check "$name.yaml"
    /usr/bin/python3 "$PSNAP_SOURCE/tests/schema_check.py" \
        "$PSNAP_SOURCE/profile/psnap-profile.schema.json" "$name.yaml" || [ $? = 77 ]
    counts "$name.pst" > one
    counts "$name.yaml" > two
    [ -s one ]
    cmp one two
    expect 0 "$PSNAP" replay "$name.yaml" --seed 3 -f csv --force -o one
    expect 0 "$PSNAP" replay "$name.yaml" --seed 3 -f csv --force -o two
    cmp one two
}

drawn chase 4096 20
drawn spmv 4000 2
drawn hashjoin 4000 2
grep -Eq 'base: [0-9]+, offset: ' hashjoin.yaml
expect 0 "$PSNAP" compare hashjoin.pst hashjoin.yaml -m 32K:64:8 --max-error 4
drawn mergesort 8000 1
drawn cg 600 1
expect 0 "$PSNAP" compare cg.pst cg.yaml -m 32K:64:8 --max-error 4
grep -Eq 'element: 8, region: [a-z0-9]+, start: 0, counts: ' cg.yaml # the rows are swept
for change in 'loops[multiply:75].iterations *= 2' 'loops[multiply:75].entries *= 3' 'remove loops[multiply:75]'; do
    expect 0 "$PSNAP" edit cg.yaml --force -o changed.yaml -e "$change"
    expect 0 "$PSNAP" check changed.yaml
done
expect 1 "$PSNAP" edit cg.yaml --force -o changed.yaml -e 'remove loops[multiply:75.1]'
has err 'share a sweep: one loop cannot be left out without the other'

expect 2 "$PSNAP" profile matmul.pst --model nest -o x.yaml
grep -q "no model 'nest'" err

# Of no accesses at all it is an empty profile.
echo address,size,kind,thread,ref > none.csv
expect 0 "$PSNAP" profile none.csv -o none.yaml
expect 0 "$PSNAP" check none.yaml
has out 'model nests-3, 0 loops, 0 accesses'
cat > idle.c << 'END'
int value;
__attribute__((noinline)) void change(int to) { value = to; }
int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        change(argc);
    return 0;
}
END
"$PSNAP" cc -O2 idle.c -o idle
expect 125 "$PSNAP" record --roi change -o idle.yaml -- ./idle
has err 'no region of interest was entered'
expect 0 "$PSNAP" check idle.yaml
