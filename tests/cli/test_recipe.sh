#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A recipe for an array twice as large, followed to the
# letter on the profile of the README's tutorial: 'check' has nothing to say
# before and after, and the replayed array covers twice the elements.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$PSNAP_SOURCE/tests/golden/tutorial.psnap.yaml" m4.yaml
[ "$("$PSNAP" check m4.yaml)" = "m4.yaml: ok: model psnap, 7 loops, 197 accesses" ]

# edit LOOP SED SED: in this loop, and in its region a
edit()
{
    sed -i "/^- id: $1\$/,/^- id: /{ $2
        /^  - id: a/,/^  - id: b/{ $3 }; }" m8.yaml
}

cp m4.yaml m8.yaml
sed -i '/^totals:/,/^schedule:/{ /^schedule:/!d; }' m8.yaml
edit multiply:39 '/^  accesses:/d' '
    s/bytes: 128/bytes: 256/; s/accesses: 64/accesses: 128/; s/loads: 64/loads: 128/
    s/sizes: {8: 64}/sizes: {8: 128}/; s/strides: .*/strides: {-32: 24, 8: 103}/
    s/stride_graph: .*/stride_graph: {-32: {8: 24}, 8: {-32: 24, 8: 78}}/'
edit init:27 '/^  accesses:/d' '
    s/bytes: 128/bytes: 256/; s/accesses: 16/accesses: 32/; s/stores: 16/stores: 32/
    s/sizes: {8: 16}/sizes: {8: 32}/; s/strides: {8: 15}/strides: {8: 31}/'
"$PSNAP" check m8.yaml > out || { cat out; exit 1; }
[ "$(cat out)" = "m8.yaml: ok: model psnap, 7 loops, 277 accesses" ] || { cat out; exit 1; }

# the elements that region a covers: its offsets are 0x8190 to 0x820f, then to 0x828f
elements_of_a()
{
    "$PSNAP" replay "$1" -f csv > replayed 2> log
    awk -F, 'NR > 1 { print $1 }' replayed |
        grep -iE "0008[12][0-9a-f]{2}\$" | sort -u | wc -l
}
before=$(elements_of_a m4.yaml)
after=$(elements_of_a m8.yaml)
[ "$before" = 16 ] && [ "$after" = 32 ] || { echo "$before elements, then $after"; exit 1; }

# done halfway, it is refused and says what is off
sed 's/8: 103}/8: 102}/' m8.yaml > half.yaml
! "$PSNAP" check half.yaml > out
grep -q "the strides (line [0-9]*) come to 126, not to one less" out
sed 's/8: 78}/8: 76}/' m8.yaml > half.yaml
! "$PSNAP" check half.yaml > out
grep -q "'stride_graph' leaves bin 8 100 times, but 'strides' (line [0-9]*) has it 103 times" out
# an array that has grown onto its neighbour
sed '/symbol: a/,/accesses/s/bytes: [0-9]*/bytes: 8389000/' m4.yaml > fat.yaml
"$PSNAP" check fat.yaml > out
grep -q "warning: region 'a' of loop 'init:27' (symbol a) overlaps region 'b' of loop 'init:27'" out
