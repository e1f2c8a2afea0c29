#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap replay: the stream of a profile in every format, the same for the same
# seed; windows; and the profile as the INPUT of other commands.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"
golden=$PSNAP_SOURCE/tests/golden/profile.psnap.yaml

# The format is said, or is the suffix, or is pst.
expect 0 "$PSNAP" replay "$golden" -f xdin
cp out all.xdin
[ "$(wc -l < all.xdin)" = 29 ]
[ "$(grep -c '^w' all.xdin)" = 9 ]
expect 0 "$PSNAP" replay "$golden" -o suffix.xdin
cmp all.xdin suffix.xdin
grep -q "29 accesses of .* with seed 0 to 'suffix.xdin' as xdin" err
expect 0 "$PSNAP" replay "$golden" -o stream.pst
expect 0 "$PSNAP" convert stream.pst -f xdin -o from_pst.xdin
cmp all.xdin from_pst.xdin
expect 0 "$PSNAP" replay "$golden" -o plain
[ "$(head -c 4 plain | tail -c 3)" = PST ]
for format in din lackey csv; do
    expect 0 "$PSNAP" replay "$golden" -f "$format" -o "stream.$format"
    [ -s "stream.$format" ]
done

# golden: this stream is what this profile and these seeds give, for ever
for seed in 0 1; do
    expect 0 "$PSNAP" replay "$golden" -f csv --seed "$seed" -o "seed$seed.csv"
    cmp "seed$seed.csv" "$PSNAP_SOURCE/tests/golden/replay.seed$seed.csv"
done

# --skip and --count cut a window out of the same stream
expect 0 "$PSNAP" replay "$golden" -f xdin --skip 10 --count 7
tail -n +11 all.xdin | head -7 | cmp - out
expect 0 "$PSNAP" replay "$golden" -f xdin --skip 29
[ ! -s out ]
expect 1 "$PSNAP" replay "$golden" -f xdin --skip 1000
[ ! -s out ]

# from stdin, and as any command's INPUT
"$PSNAP" replay - -f xdin < "$golden" 2> err | cmp - all.xdin
"$PSNAP" convert "$golden" -o converted.xdin 2> err
cmp converted.xdin all.xdin
"$PSNAP" convert - -f xdin -o - < "$golden" 2> err | cmp - all.xdin
"$PSNAP" convert <(cat "$golden") -f xdin -o - 2> err | cmp - all.xdin
"$PSNAP" sim "$golden" -m 1K:64:2 --json > sim.json
grep -q '"accesses": *29' sim.json

# mistakes
expect 1 "$PSNAP" replay "$golden" -o suffix.xdin
expect 0 "$PSNAP" replay "$golden" -o suffix.xdin --force
expect 2 "$PSNAP" replay
expect 2 "$PSNAP" replay "$golden" "$golden"
expect 2 "$PSNAP" replay "$golden" -f nothing
expect 2 "$PSNAP" replay "$golden" --seed x
expect 2 "$PSNAP" replay "$golden" -f din -m 32K:64:8 -m none
has err "-m, --machine MACHINE: given more than once"
expect 1 "$PSNAP" replay missing.yaml -f xdin
expect 1 "$PSNAP" replay all.xdin -f xdin
sed 's/^psnap: 1$/psnap: 3/' "$golden" > newer.yaml
expect 1 "$PSNAP" replay newer.yaml -f xdin
grep -q 'newer.yaml:1:8: written by a newer psnap (format 3, this one reads 1)' err
if [ -e /dev/full ]; then
    expect 1 "$PSNAP" replay "$golden" -f xdin -o /dev/full
fi
if command -v script > /dev/null; then
    script -qec "'$PSNAP' replay '$golden' -f pst" /dev/null > out < /dev/null || true
    grep -q 'pst is binary' out
fi
