#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap reuse in parts: random traces, and a profile, cut into 1 to 7 parts have the table, JSON and
# curves of the whole; parts that are missing, there twice, of another input, measured in another
# way or damaged are refused, and so is what parts cannot have.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"

# Random streams of loops, of scattered accesses over several lines, and of threads that take turns
python3 - << 'END'
import random
for seed in range(4):
    r = random.Random(seed)
    with open(f"random{seed}.csv", "w") as f:
        f.write("address,size,kind,thread,ref\n")
        at, left = 0, r.randrange(2000, 4000)
        while left > 0:
            thread, n = r.randrange(3 if seed else 1), r.randrange(1, 200)
            base, stride = r.randrange(1 << 14), r.choice([0, 8, 64, -24, 200])
            scattered = r.random() < .3
            for i in range(n):
                address = r.randrange(1 << 13) if scattered else max(base + i * stride, 0)
                f.write(f"{address:#x},{r.choice([1, 8, 64])},load,{thread},{r.randrange(5)}\n")
            left -= n
END
"$PSNAP" convert random3.csv -o random3.pst 2> err
"$PSNAP" profile random1.csv -o random1.yaml 2> err
head -4 random1.csv > short.csv # fewer accesses than parts

# $1 input, $2 parts; options of both
check_parts()
{
    local input=$1 n=$2 k parts=()
    shift 2
    for ((k = n; k > 0; k--)); do
        "$PSNAP" reuse "$input" --part $k/"$n" -o part.$k --force "$@" 2> err || fail "$(cat err)"
        parts+=(part.$k)
    done
    "$PSNAP" reuse "$input" "$@" --csv whole.csv --force > whole.table 2> err
    "$PSNAP" reuse "$input" "$@" --json | grep -v accesses_per_second > whole.json
    "$PSNAP" reuse --merge "${parts[@]}" --csv merged.csv --force > merged.table 2> err
    has err " accesses in "
    "$PSNAP" reuse --merge "${parts[@]}" --json | grep -v accesses_per_second > merged.json
    for form in csv table json; do
        cmp whole.$form merged.$form || fail "$n parts of $input ($*) have another $form"
    done
}
for n in 1 2 3 4 5 6 7; do
    check_parts random$((n % 3)).csv $n --by total,loop,block,region,thread --jobs 1
    check_parts random3.pst $n --by total,thread,region --jobs $((n % 3 + 1))
done
check_parts random2.csv 3 --line 1
check_parts random2.csv 3 --line 256 --skip 500 --count 1100
check_parts random1.yaml 4 --seed 7 --by loop,block
check_parts short.csv 7
"$PSNAP" reuse --merge part.* --bins --json | grep -v accesses_per_second > merged.json
"$PSNAP" reuse short.csv --bins --json | grep -v accesses_per_second > whole.json
cmp whole.json merged.json || fail "bins"

# Runs with strides, which parts cut
{
    echo address,size,kind,thread,ref
    for ((i = 0; i < 30; i++)); do
        for ((j = 0; j < 200; j++)); do
            printf '0x%x,8,load,0,0\n0x%x,8,store,0,1\n' $((65536 + 8 * j)) $((131072 + 1600 * i + 8 * j))
        done
    done
} > sweeps.csv
"$PSNAP" convert sweeps.csv -o sweeps.pst 2> err
check_parts sweeps.pst 5 --by total,loop,block,region
# A trace that was cut off has its whole chunks
head -c $(($(stat -c %s random3.pst) - 40)) random3.pst > cut.pst
"$PSNAP" reuse cut.pst --part 1/1 -o cut.part 2> err
has err "cut"

# --------------------------------------------------------------- what is refused
for k in 1 2 3; do
    "$PSNAP" reuse random0.csv --part $k/3 -o a.$k 2> err
    "$PSNAP" reuse random1.csv --part $k/3 -o b.$k 2> err
    "$PSNAP" reuse random0.csv --part $k/3 --line 32 -o c.$k 2> err
done
expect 1 "$PSNAP" reuse --merge a.1 a.3
has err "part 2 of 3 of 'random0.csv' is missing: psnap reuse 'random0.csv' --part 2/3 makes it"
expect 1 "$PSNAP" reuse --merge a.1 a.2 a.3 a.2
has err "a.2: part 2 of 3, and so is 'a.2'"
expect 1 "$PSNAP" reuse --merge a.1 b.2 a.3
has err "b.2: a part of 'random1.csv', and 'a.1' is one of 'random0.csv', another input"
expect 1 "$PSNAP" reuse --merge a.1 c.2 a.3
has err "c.2: a part with another --line than 'a.1'"
"$PSNAP" reuse random0.csv --part 2/4 -o d.2 2> err
expect 1 "$PSNAP" reuse --merge a.1 d.2
has err "d.2: a part with another number of parts than 'a.1'"
"$PSNAP" reuse random0.csv --part 2/3 --by loop -o d.2 --force 2> err
expect 1 "$PSNAP" reuse --merge a.1 d.2 --json
has err "d.2: a part with another --by"
has out '"error"'
expect 1 "$PSNAP" reuse --merge random0.csv
has err "random0.csv: no part of reuse distances"
expect 1 "$PSNAP" reuse --merge absent
has err "cannot open 'absent'"
expect 1 "$PSNAP" reuse random0.csv --part 1/3 -o a.1
has err "exists"

# Any byte that is another one, and any length that is
python3 - << 'END'
import os, random, subprocess
good = open("a.2", "rb").read()
r = random.Random(1)
for i in range(60):
    bad = bytearray(good)
    if i % 3 == 0:
        bad = bad[:r.randrange(len(bad))]
    elif i % 3 == 1:
        bad.insert(r.randrange(len(bad)), 0)
    else:
        bad[r.randrange(len(bad))] ^= 1 << r.randrange(8)
    open("bad", "wb").write(bad)
    run = subprocess.run([os.environ["PSNAP"], "reuse", "--merge", "a.1", "bad", "a.3"],
                         capture_output=True, text=True)
    assert run.returncode == 1 and "bad: " in run.stderr and not run.stdout, (i, run)
END

# No part after a failure
expect 1 "$PSNAP" reuse absent.csv --part 1/3 -o none
[ ! -e none ] || fail "a part of nothing"

expect 2 "$PSNAP" reuse random0.csv --part 1/3 -o x --sample 0.1
has err "a sample cannot be measured in parts"
expect 2 "$PSNAP" reuse random0.csv --part 1/3 -o x --json
has err "are of the whole"
expect 2 "$PSNAP" reuse - --part 1/3 -o x
has err "standard input cannot be read in parts"
for part in 0/3 4/3 1 1/ /3 1/x 1/3x -1/3 1/9999999; do
    expect 2 "$PSNAP" reuse random0.csv --part=$part -o x
    has err "part K of N"
done
expect 2 "$PSNAP" reuse random0.csv --part 1/3
has err "needs a file"
expect 2 "$PSNAP" reuse random0.csv -o x
has err "is of a part"
expect 2 "$PSNAP" reuse --merge
has err "needs the parts"
expect 2 "$PSNAP" reuse --merge a.1 --line 64
has err "are of the parts"
expect 2 "$PSNAP" reuse --merge a.1 --part 1/3
has err "two steps"
exit 0
