#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# tests/fidelity/sizes.sh on a few samples, with figures made up here: what is no worse passes,
# what is larger or grows more does not; and the histories of branches are not in profiles.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"
sizes=$PSNAP_SOURCE/tests/fidelity/sizes
export PSNAP

# As measured: no larger than committed, and not with ten times the iterations or data.
expect 0 "$sizes.sh" --quick --samples seidel,stream,matmul
[ "$(grep -c '^| [a-z]* | [0-9.]* | [01][.][0-9]* | [01][.][0-9]* |  |$' out)" = 5 ]

# A matrix of 500 rows, each long or short, 25 times: which are is not told one by one.
"$PSNAP" cc -O2 "$PSNAP_SOURCE/samples/cg.c" -o cg -lm
expect 0 "$PSNAP" record -o cg.yaml -- ./cg 500 1
[ "$(wc -c < cg.yaml)" -lt 65536 ] || fail "cg's profile has $(wc -c < cg.yaml) bytes"

# put NAME BASE ITERATIONS DATA: what was measured
put()
{
    mkdir -p measured
    echo "$2" > "measured/$1.base"
    echo "$3" > "measured/$1.iterations"
    echo "$4" > "measured/$1.data"
}
# table check|accept all|some SAMPLE...
table() { SIZES_COMMITTED=$PWD python3 "$sizes.py" "$1" measured "${@:2}"; }

put a 10000 10000 12000
put b 4000 4100 4000
expect 0 table check all a b
grep -q '^| a | 9.8 | 1.00 | 1.20 |  |$' out
grep -q '^| largest | 9.8 | 1.02 | 1.20 |  |$' out
expect 0 table accept all a b
echo sample,base,iterations,data,full | cat - <(printf 'a,10000,10000,12000,\nb,4000,4100,4000,\n') |
    diff - sizes.csv
put b 4900 4900 4900 # less than a kilobyte
expect 0 table check all a b
put a 11500 11500 11500
expect 1 table check all a b
grep -q '^sizes: worse: a, base: 11500 bytes, committed 10000$' err
[ "$(wc -l < err)" = 2 ] # and with ten times the iterations
expect 0 table check some b
put c 1000 1600 1000 # never seen: 1.5 is the limit
expect 1 table check some c
grep -q '^sizes: worse: c: ten times the iterations makes the profile 1.60 times as large, at most 1.50$' err
expect 0 table accept some c # else what is committed
grep -q '^c,1000,1600,1000,$' sizes.csv
grep -q '^a,10000,' sizes.csv
expect 0 table check some c
echo 300000 > measured/b.full
expect 1 table check some b
grep -q 'more than 262144 bytes' err
expect 1 table check some a b # one of two
grep -q '^sizes: nothing of a$' err
rm measured/b.full measured/b.data
expect 1 table check all a b
grep -q '^sizes: nothing of b$' err
expect 1 table check some a d

# what there is no more is not kept
put a 10000 10000 12000
expect 0 table accept all a
[ "$(cut -d, -f1 sizes.csv | xargs)" = "sample a" ]

# a sample that has no profile, or that there is not, is not passed over
export PSNAP=false
expect 1 "$sizes.sh" --quick --samples seidel
has err "sizes: nothing of seidel"
expect 1 "$sizes.sh" --quick --samples nosuch
has err "sizes: nothing of nosuch"
