#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap convert: between all formats, through pipes, parts of a stream, and
# what bad input, a full disk, a closed pipe and an existing file get.
set -eu

golden=$PSNAP_SOURCE/tests/golden/formats
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
    echo "test_convert: $*" >&2
    exit 1
}

# refused STATUS MESSAGE ARGUMENTS...: fails so, with one line on stderr, and leaves nothing
refused() {
    local status=0 expected=$1 message=$2
    shift 2
    "$PSNAP" convert "$@" > out 2> err || status=$?
    [ "$status" = "$expected" ] || fail "$*: exit status $status"
    grep -qF -- "$message" err || fail "$*: $(cat err)"
}

# every text format is written as it was, and comes back through pst
for format in din xdin lackey csv; do
    "$PSNAP" convert "$golden/small.csv" -o "a.$format" 2> note
    cmp "a.$format" "$golden/small.$format" || fail "$format differs"
    grep -q "$format does not keep: " note || fail "$format: nothing said of what is lost"
    "$PSNAP" convert "$golden/small.$format" -o "b.$format.pst" 2> note
    [ "$(wc -l < note)" = 1 ] || fail "pst loses something: $(cat note)"
    "$PSNAP" convert "b.$format.pst" -f "$format" -o - 2> /dev/null | cmp - "$golden/small.$format"
done

# pipes on both sides, of pst too, and a named format
"$PSNAP" convert - -f pst -o - < "$golden/small.csv" 2> /dev/null |
    "$PSNAP" convert - -f csv -o - 2> /dev/null | cmp - "$golden/small.csv"
"$PSNAP" convert --from xdin - -f xdin -o - < "$golden/small.xdin" 2> /dev/null |
    cmp - "$golden/small.xdin"
refused 1 "stdin:1:1: a label from 0 to 4 and a blank expected" --from din - -f din -o - \
    < "$golden/small.xdin"

# windows, the same in a text and in a trace of several chunks
seq 1 20000 | awk '{ printf "%d %x\n", $1 % 2, $1 * 7 }' > long.din
"$PSNAP" convert long.din -o long.pst 2> /dev/null
for input in long.din long.pst; do
    "$PSNAP" convert "$input" --skip 5000 --count 3 -f din -o - 2> note |
        cmp - <(sed -n 5001,5003p long.din)
    grep -q "3 accesses after the first 5,000 from '$input'" note || fail "window not echoed"
    "$PSNAP" convert "$input" --skip 19999 -f din -o - 2> /dev/null | cmp - <(tail -n 1 long.din)
    [ -z "$("$PSNAP" convert "$input" --skip 30000 -f din -o - 2> /dev/null)" ] ||
        fail "$input: accesses after the end"
done

# outputs: not overwritten, whole or not at all
refused 1 "'long.pst' exists already" "$golden/small.csv" -o long.pst
"$PSNAP" convert "$golden/small.csv" --force -o long.pst 2> /dev/null
"$PSNAP" convert long.pst -f csv -o - 2> /dev/null | cmp - "$golden/small.csv"
printf '0 1a\n0 zz\n' > bad.din
refused 1 "bad.din:2:3: a hexadecimal address of at most 64 bits expected" bad.din -o x.pst
[ ! -e x.pst ] || fail "half a file is left"
if [ -w /dev/full ]; then
    refused 1 "/dev/full: cannot write: no space left on device" long.din -f din -o /dev/full
    refused 1 "/dev/full: cannot write: no space left on device" long.din -f pst -o /dev/full
fi
# a reader that goes away
{ "$PSNAP" convert long.din -f lackey -o - 2> err || echo $? > status; } | head -n 1 > out
[ "$(cat status)" = 141 ] && [ ! -s err ] || fail "closed pipe: $(cat status err)"

# cut off and damaged
"$PSNAP" convert long.din --force -o long.pst 2> /dev/null
size=$(wc -c < long.pst)
head -c $((size - 1)) long.pst > cut.pst
"$PSNAP" convert cut.pst -o x.din 2> err
grep -q "warning: cut.pst: offset $((size - 1)): trace was cut off; its first 20000 accesses are whole" \
    err || fail "$(cat err)"
cmp x.din long.din
head -c 5 long.pst > cut.pst
refused 1 "cut.pst: offset 5: input ends in the file header" cut.pst -o y.din
head -c 100 long.pst > bad.pst
printf 'x' >> bad.pst
tail -c +102 long.pst >> bad.pst
refused 1 "bad.pst: offset 16: damaged chunk" bad.pst -o y.din
printf '\x89PST\r\n\x1a\n\x02\x00\x00\x00\x00\x00\x00\x00' > bad.pst
refused 1 "file header is damaged" bad.pst -o y.din
: > empty
refused 1 "empty: empty input" empty -o y.pst
refused 1 "not a trace in a known format" "$PSNAP" -o y.pst
refused 1 "cannot open 'none': no such file or directory" none -o y.pst
refused 1 "is a directory" . -o y.pst

# more left out than there is; the seed of a profile; a suffix that says nothing
profile=$PSNAP_SOURCE/tests/golden/profile.psnap.yaml
refused 1 "30 accesses are to be left out, but there are only 29" "$profile" --skip 30 -o y.din
head -n 29 long.din > short.din
refused 1 "short.din: 30 accesses are to be left out, but there are only 29" short.din --skip 30 -o y.din
for seed in 0 1; do
    "$PSNAP" convert "$profile" --seed $seed -f csv -o - 2> /dev/null | cmp - "$PSNAP_SOURCE/tests/golden/replay.seed$seed.csv"
done
"$PSNAP" convert short.din -o z.dat 2> /dev/null
"$PSNAP" replay "$profile" -o w.dat 2> /dev/null
for file in z.dat w.dat; do
    "$PSNAP" info $file | grep -q '^format *pst$' || fail "$file is no pst"
done
"$PSNAP" replay "$profile" --skip 29 -f csv 2> /dev/null | cmp - <("$PSNAP" convert short.din --skip 29 -f csv -o - 2> /dev/null)

# usage
refused 2 "-o is missing" long.din
refused 2 "no format 'dim'; did you mean 'din'?" long.din -f dim -o y.dat
refused 2 "no format 'dim'; did you mean 'din'?" long.din --from dim -o y.pst
refused 2 "one input, please" -o y.pst
refused 2 "-m, --machine MACHINE: given more than once" long.din -o y.din -m 32K:64:8 -m none
[ -z "$(find . -name 'y.*')" ] || fail "something is left: $(ls)"

# binary output is kept from a terminal, text is not
if command -v script > /dev/null; then
    for format in pst din xdin lackey csv; do
        script -qec "'$PSNAP' convert '$PSNAP_SOURCE/tests/golden/profile.psnap.yaml' -o - -f $format" \
            /dev/null > terminal < /dev/null || true
        case $format in
        pst) grep -q 'pst is binary: give -o FILE, or redirect' terminal ;;
        *) ! grep -q 'is binary' terminal && [ "$(wc -l < terminal)" -gt 29 ] ;;
        esac || {
            echo "$format on a terminal: $(head -5 terminal)"
            exit 1
        }
    done
fi
