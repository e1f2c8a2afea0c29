#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Model walks, the default: regular samples come back access for access, from a trace and as recorded;
# the others keep their counts; what a loop nest does is read and changed in the profile.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

# counts INPUT: "id accesses" of its loops
counts() {
    "$PSNAP" sim "$1" -m 32K:64:8 --by loop --json | python3 -c '
import json, sys
print(*sorted("{id} {accesses}".format(**r) for r in json.load(sys.stdin)["rows"]), sep="\n")'
}

# same NAME ARGUMENTS...: the replayed stream is the observed one
same()
{
    local name=$1
    shift
    "$PSNAP" cc -O2 "$PSNAP_SOURCE/samples/$name.c" -o "$name" -lm
    expect 0 "$PSNAP" record -o "$name.yaml" --trace "$name.pst" -- "./$name" "$@"
    grep -q 'model: walks-2' "$name.yaml"
    expect 0 "$PSNAP" check "$name.yaml"
    /usr/bin/python3 "$PSNAP_SOURCE/tests/schema_check.py" \
        "$PSNAP_SOURCE/profile/psnap-profile.schema.json" "$name.yaml" || [ $? = 77 ]
    expect 0 "$PSNAP" convert "$name.pst" -f xdin -o observed.xdin
    expect 0 "$PSNAP" replay "$name.yaml" -f xdin -o replayed.xdin
    cmp observed.xdin replayed.xdin
    expect 0 "$PSNAP" profile "$name.pst" -o again.yaml
    sed '/recorded:/d; /^  .*recorded/d' "$name.yaml" > one
    sed '/recorded:/d; /^  .*recorded/d' again.yaml > two
    cmp one two
    rm -f observed.xdin replayed.xdin again.yaml
}

same matmul 40 1
same jacobi3d 20 3
same adi 50 2
same seidel 60 3
same gramschmidt 40 1
same symm 50 1
same doolittle 50 1
same mg 8 2
same ft 8 2
same stream 1000 3
same nbody 60 2

# The nest is there to be read.
grep -q '^- repeat: 40$' matmul.yaml
grep -q 'times: 20' matmul.yaml
grep -Eq 'region: a, start: 0, strides: \[320, 0, 16\]' matmul.yaml

# A region is what a loop touches of an object, however far apart the rows and planes are.
grep -q '  - id: u$' jacobi3d.yaml
if grep -E '  - id: [uv][.]' jacobi3d.yaml; then fail "an object is several regions"; fi

# A change of it is a change of the stream: c is written by columns.
sed -E '/region: c, start: 0, strides/s/strides: \[320, 8, 0\]/strides: [8, 320, 0]/' matmul.yaml > wrong.yaml
expect 1 "$PSNAP" check wrong.yaml
grep -Eq "wrong.yaml:[0-9]+:[0-9]+: strides of bin 8 are 1599 here, but the walks of 'multiply:36' \(schedule, line [0-9]+\) have 0" out
sed '/^- id: multiply:36/,/^- id: multiply:39/{ /derived: {strides/d; }' wrong.yaml > far.yaml
expect 0 "$PSNAP" check far.yaml
expect 0 "$PSNAP" replay far.yaml -f csv -o far.csv
expect 0 "$PSNAP" replay matmul.yaml -f csv -o near.csv
[ "$(wc -l < far.csv)" = "$(wc -l < near.csv)" ]
if cmp -s far.csv near.csv; then fail "the change changes nothing"; fi
sort far.csv > one
sort near.csv > two
cmp one two

# One that contradicts the loops is refused, with both lines.
sed 's/times: 20/times: 21/' matmul.yaml > wrong.yaml
expect 1 "$PSNAP" check wrong.yaml
grep -Eq "wrong.yaml:[0-9]+:[0-9]+: .*has 128000 accesses here, but the schedule \(line [0-9]+\) comes to 134400" err out

# Irregular ones, samples or NAME.c here, keep how much each loop does, through their text too.
drawn()
{
    local name=$1 source="$PSNAP_SOURCE/samples/$1.c"
    shift
    [ -e "$source" ] || source=$name.c
    "$PSNAP" cc -O2 "$source" -o "$name" -lm
    expect 0 "$PSNAP" record -o "$name.yaml" --trace "$name.pst" -- "./$name" "$@"
    grep -q 'model: walks-2' "$name.yaml"
    grep -q '^models:' "$name.yaml"
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
drawn mergesort 8000 1
drawn lu 200 1
grep -q '^    entry:' hashjoin.yaml
grep -q 'mix: m' hashjoin.yaml
grep -Eq 'with: d[0-9]+, offset: ' hashjoin.yaml
expect 0 "$PSNAP" compare hashjoin.pst hashjoin.yaml -m 32K:64:8 --max-error 4

# Rows that are filled from where they begin, and others at random: begun walks go on in the mix.
drawn cg 600 1
grep -Eq 'draw: d[0-9]+, strides: \[4\]' cg.yaml
expect 0 "$PSNAP" compare cg.pst cg.yaml -m 32K:64:8 --max-error 2

# Searches in what is sorted, of few levels, the root in each entry of the loop, and of many.
cat > search.c << 'EOF'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    const long n = atol(argv[argc - 1]);
    double *a = malloc((size_t)n * sizeof *a);
    unsigned long key = 1, sum = 0;
    for (long i = 0; i < n; i++)
        a[i] = (double)i;
    for (long k = 0; k < 20000; k++) {
        long low = 0, high = n;
        key = key * 6364136223846793005 + 1442695040888963407;
        while (low < high) {
            const long middle = low + (high - low) / 2;
            if (a[middle] < (double)(long)(key >> 33) / 2147483648.0 * (double)n)
                low = middle + 1;
            else
                high = middle;
        }
        sum += (unsigned long)low;
    }
    printf("%lu\n", sum);
    return 0;
}
EOF
for n in 3000 300000; do
    drawn search $n
    grep -q 'places: descent' search.yaml
    if grep -q 'entry:' search.yaml; then fail "the root of $n is told apart"; fi
    expect 0 "$PSNAP" compare search.pst search.yaml -m 1K:64:2,8K:64:8,256K:64:8 --max-error 0.5
    rm search.yaml search.pst
done

# Of lu the search for pivots and the swaps depend on the data, and nothing else.
sed -n '/^  mixes:/,/^loops:/p' lu.yaml > mixes
grep -q 'loop: swap_rows' mixes
if grep -E 'loop: (update|find_pivot|solve|init)' mixes; then fail "it has an order"; fi
grep 'draw: ' lu.yaml | grep -q 'load: 8, draw: '
sed -n '/^schedule:/,/^models:/p' lu.yaml | grep -A 8 -e '- loop: update' > walks
grep -q 'region: ' walks
if grep 'draw: ' walks; then fail "what is affine is drawn"; fi

expect 2 "$PSNAP" profile matmul.pst --model walk -o x.yaml
grep -q "no model 'walk'" err
expect 2 "$PSNAP" profile matmul.pst --model walks --threads apart -o x.yaml
grep -q "merged" err
expect 125 "$PSNAP" record --model walks --threads apart -o x.yaml -- ./matmul 8 1

# Of no accesses at all it is an empty profile.
echo address,size,kind,thread,ref > none.csv
expect 0 "$PSNAP" profile none.csv -o none.yaml
expect 0 "$PSNAP" check none.yaml
has out 'model walks-2, 0 loops, 0 accesses'
cat > idle.c << 'EOF'
int value;
__attribute__((noinline)) void change(int to) { value = to; }
int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        change(argc);
    return 0;
}
EOF
"$PSNAP" cc -O2 idle.c -o idle
expect 125 "$PSNAP" record --roi change -o idle.yaml -- ./idle
has err 'no region of interest was entered'
expect 0 "$PSNAP" check idle.yaml
