#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap profile: traces, pipes and profiles to profiles; counts that can be
# checked by hand; the schema; output files; mistakes.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"

# c[i][j] += a[i][k] * b[k][j], n = 12: 2 n^3 loads, n^2 stores
awk 'BEGIN { n = 12
    for (i = 0; i < n; i++) for (j = 0; j < n; j++) {
        for (k = 0; k < n; k++) printf "r %x 8\nr %x 8\n", 4096 + 8 * (i * n + k), 16384 + 8 * (k * n + j)
        printf "w %x 8\n", 32768 + 8 * (i * n + j) } }' > mm.xdin

expect 0 "$PSNAP" profile mm.xdin -o mm.yaml
grep -q '3,600 accesses in 1 loop ' err
grep -q 'model: nests-3' mm.yaml
grep -q '^totals: {accesses: 3600, loads: 3456, stores: 144, bytes: 28800}$' mm.yaml
grep -q 'working_set: {bytes: 1152, group: raw, offset: 4096}' mm.yaml
grep -q 'working_set: {bytes: 1152, group: raw, offset: 16384}' mm.yaml
grep -q 'working_set: {bytes: 1152, group: raw, offset: 32768}' mm.yaml
grep -q '{ref: 1, store: 8, .*start: 0, counts: \[144\], strides: \[8\]}' mm.yaml
"$PSNAP" convert mm.xdin -f csv -o whole.csv 2> log
"$PSNAP" replay mm.yaml -f csv -o replayed.csv 2> log
cut -d, -f1-3 whole.csv | cmp - <(cut -d, -f1-3 replayed.csv)
expect 0 "$PSNAP" check mm.yaml

# the same from a pipe, from a FIFO, from another format, with the format said
"$PSNAP" profile - -o pipe.yaml < mm.xdin 2> err
"$PSNAP" profile <(cat mm.xdin) -o fifo.yaml 2> err
cmp mm.yaml pipe.yaml
cmp mm.yaml fifo.yaml
expect 0 "$PSNAP" convert mm.xdin -o mm.csv
expect 0 "$PSNAP" profile mm.csv --from csv -o csv.yaml
sed 's/xdin/csv/g; s/content: [^,]*,//' mm.yaml | cmp - <(sed 's/content: [^,]*,//' csv.yaml)
expect 0 "$PSNAP" profile mm.xdin -o -
cmp mm.yaml out

# a profile is replayed; totals stay
expect 0 "$PSNAP" profile mm.yaml -o again.yaml
[ "$(grep ^totals mm.yaml)" = "$(grep ^totals again.yaml)" ]

# windows and options
expect 0 "$PSNAP" profile mm.xdin --skip 3000 --count 500 -o part.yaml
grep -q '^totals: {accesses: 500,' part.yaml
expect 0 "$PSNAP" profile mm.xdin --gap 64 --regions 4096 -o rows.yaml
grep -q 'region_gap_bytes: 64, region_limit: 4096' rows.yaml
expect 0 "$PSNAP" profile mm.xdin --model psnap -o near.yaml
expect 0 "$PSNAP" profile mm.xdin --model psnap --gap 16K -o all.yaml
grep -q 'working_set: {bytes: 1152, group: raw, offset: 16384}' near.yaml
[ "$(grep -c '  - id:' all.yaml)" -lt "$(grep -c '  - id:' near.yaml)" ]
rm near.yaml all.yaml

# the published model, when asked for
expect 0 "$PSNAP" profile mm.xdin --model psnap -o published.yaml
grep -q 'model: psnap' published.yaml
grep -q 'strides: {8: 143}' published.yaml

# what is written fits the schema, and stays as it is
status=0
/usr/bin/python3 "$PSNAP_SOURCE/tests/schema_check.py" \
    "$PSNAP_SOURCE/profile/psnap-profile.schema.json" *.yaml || status=$?
[ $status = 0 ] || [ $status = 77 ]

# no file is overwritten, none is left behind by a failure
expect 1 "$PSNAP" profile mm.xdin -o mm.yaml
grep -q 'mm.yaml' err
expect 0 "$PSNAP" profile mm.xdin -o mm.yaml --force
printf 'r 10 8\nnonsense\n' > bad.xdin
expect 1 "$PSNAP" profile bad.xdin -o bad.yaml
grep -q 'bad.xdin:2' err
[ ! -e bad.yaml ]
if [ -e /dev/full ]; then
    expect 1 "$PSNAP" profile mm.xdin -o /dev/full
fi

# the accesses of all threads are one stream
for i in $(seq 0 63); do
    printf '0x%x,8,load,%d,0\n' $((i / 4 * 24 + i % 4 * 8)) $((i % 4 == 3))
done | sed '1i address,size,kind,thread,ref' > threads.csv
awk -F, -v OFS=, 'NR > 1 { $4 = 0 } 1' threads.csv > thread.csv
for name in threads thread; do
    expect 0 "$PSNAP" profile $name.csv --model psnap -o $name.yaml
done
grep -q 'thread: all}' threads.yaml
sed '/^program/d' threads.yaml > wanted
sed '/^program/d' thread.yaml | diff wanted -
sed 's/thread: all/thread: apart/' threads.yaml > apart.yaml
expect 1 "$PSNAP" check apart.yaml
grep -q "'thread' must be all" out

# addresses all over the address space, and on around its end
awk 'BEGIN { srand(1); print "address,size,kind,thread,ref"
    for (i = 0; i < 300; i++) printf "0x%x%08x,8,load,0,0\n", int(rand() * 2 ^ 28), rand() * 2 ^ 32 }' > far.csv
expect 0 "$PSNAP" profile far.csv -o far.yaml
grep -q 'model: nests-3' far.yaml
expect 0 "$PSNAP" check far.yaml
expect 0 "$PSNAP" replay far.yaml -f csv
[ "$(wc -l < out)" = 301 ]
for i in 1 7 d 3; do
    echo "0x${i}000000000000000,8,load,0,0"
done | sed '1i address,size,kind,thread,ref' > around.csv
expect 0 "$PSNAP" profile around.csv -o around.yaml
expect 0 "$PSNAP" check around.yaml
expect 0 "$PSNAP" replay around.yaml -f csv
cut -d, -f1-4 out | diff - <(cut -d, -f1-4 around.csv)
printf 'address,size,kind,thread,ref\n0xffffffffffffffc0,64,load,0,0\n0x40,8,load,0,1\n' > end.csv
expect 0 "$PSNAP" profile end.csv -o end.yaml
expect 0 "$PSNAP" check end.yaml
expect 0 "$PSNAP" replay end.yaml -f csv
cut -d, -f1-4 out | diff - <(cut -d, -f1-4 end.csv)

expect 2 "$PSNAP" profile
expect 2 "$PSNAP" profile mm.xdin
grep -q -- '-o is missing' err
expect 2 "$PSNAP" profile mm.xdin mm.csv -o x.yaml
for model in walks nests-9; do
    expect 2 "$PSNAP" profile mm.xdin -o x.yaml --model $model
    grep -q "no model '$model'; there are nests and psnap" err
done
sed "s/nests-3/walks-2/" mm.yaml > earlier.yaml
expect 1 "$PSNAP" check earlier.yaml
grep -q "earlier.yaml:3:.*no model 'walks-2' in this version, only .*: record the program again, or make" err out
expect 2 "$PSNAP" profile mm.xdin -o x.yaml --gap 0
expect 2 "$PSNAP" profile mm.xdin -o x.yaml --regions 1
expect 1 "$PSNAP" profile missing.xdin -o x.yaml
grep -q "cannot open 'missing.xdin': No such file or directory\|cannot open 'missing.xdin': no such" err
: > empty.xdin
expect 1 "$PSNAP" profile empty.xdin -o x.yaml
[ ! -e x.yaml ]
