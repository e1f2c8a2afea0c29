#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap info: the JSON of the contract for a trace in every format, for people
# too, and errors.
set -eu

golden=$PSNAP_SOURCE/tests/golden/formats
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
    echo "test_info: $*" >&2
    exit 1
}

# has FILE TEXT: the JSON, blanks aside, contains it
has() {
    tr -d ' \n' < "$1" | grep -qF -- "$2" || fail "$2 is not in $(cat "$1")"
}

for format in din xdin lackey csv pst; do
    file=$golden/small.$format
    "$PSNAP" info "$file" --json > "$dir/json"
    has "$dir/json" '{"psnap":1,"command":"info","format":"'$format'","accesses":12,"loops":1,'
    has "$dir/json" '"regions":null,'
    has "$dir/json" '"bytes":'"$(wc -c < "$file")"',"bytes_per_access":'
    "$PSNAP" info - --json < "$file" | cmp - "$dir/json" || fail "$format: stdin differs"
done

"$PSNAP" info "$golden/rich.pst" --json > "$dir/json"
has "$dir/json" '"accesses":500,'
has "$dir/json" '"program":{"name":"cg","command":["./cg","","--size=3"],"build_id":"5a1f",'
"$PSNAP" info "$golden/rich.pst" > "$dir/text"
grep -Eq '^accesses +500$' "$dir/text" || fail "$(cat "$dir/text")"
grep -Eq '^command +./cg  --size=3$' "$dir/text" || fail "$(cat "$dir/text")"

# a profile, from a file and from a pipe
"$PSNAP" profile "$golden/small.pst" -o "$dir/p.yaml" 2> /dev/null
"$PSNAP" info "$dir/p.yaml" --json > "$dir/json"
has "$dir/json" '"command":"info","format":"profile","accesses":12,'
has "$dir/json" '"refs":null,'
has "$dir/json" '"bytes":'"$(wc -c < "$dir/p.yaml")"',"bytes_per_access":'
"$PSNAP" info - < "$dir/p.yaml" | grep -Eq '^format +profile$' || fail "profile from a pipe"

# cut off: what is whole is counted, and no more; what it was recorded from is shown
"$PSNAP" convert "$golden/small.csv" -o "$dir/whole.pst" 2> /dev/null
size=$(wc -c < "$dir/whole.pst")
for ((n = 16; n < size; n += n < size - 60 ? 41 : 7)); do
    head -c $n "$dir/whole.pst" > "$dir/cut.pst"
    "$PSNAP" info "$dir/cut.pst" --json > "$dir/json" 2> "$dir/err" || fail "$n bytes: $(cat "$dir/err")"
    has "$dir/json" '"cut_off":true,'
    accesses=$(tr -d " \n" < "$dir/json" | grep -o "\"accesses\":[0-9]*" | cut -d : -f 2)
    grep -q "cut.pst: offset $n: trace was cut off; its first $accesses accesses are whole" \
        "$dir/err" || fail "$n bytes: $(cat "$dir/err")"
    "$PSNAP" convert "$dir/cut.pst" -f csv -o - 2> /dev/null > "$dir/cut.csv"
    cmp <(head -n $((accesses + 1)) "$golden/small.csv") "$dir/cut.csv"
    # the part is that, be it none, and stays it
    has "$dir/json" '"part":{"count":'$accesses'}'
    "$PSNAP" convert "$dir/cut.pst" --force -o "$dir/again.pst" 2> /dev/null
    "$PSNAP" profile "$dir/cut.pst" --force -o "$dir/again.yaml" 2> /dev/null
    for again in pst yaml; do
        "$PSNAP" info "$dir/again.$again" --json > "$dir/json"
        has "$dir/json" '"part":{"count":'$accesses'}'
    done
done
[ "$accesses" = 12 ] || fail "$accesses accesses are whole before the end"
"$PSNAP" info "$dir/whole.pst" --json > "$dir/json"
has "$dir/json" '"cut_off":false,"limited":false,'

# a damaged byte in the accesses is found without decoding them
cp "$golden/rich.pst" "$dir/bad.pst"
printf 'x' | dd of="$dir/bad.pst" bs=1 seek=1500 conv=notrunc 2> /dev/null
! "$PSNAP" info "$dir/bad.pst" > "$dir/out" 2> "$dir/err" || fail "damage not found"
grep -q 'bad.pst: offset [0-9]*: damaged chunk' "$dir/err" || fail "$(cat "$dir/err")"
! "$PSNAP" info "$dir/none" 2> "$dir/err" || fail "no such file, yet done"
grep -q "cannot open '$dir/none': no such file or directory" "$dir/err" || fail "$(cat "$dir/err")"
status=0
"$PSNAP" info 2> /dev/null || status=$?
[ $status = 2 ] || fail "no file: exit status $status"
if [ -w /dev/full ]; then
    ! "$PSNAP" info "$golden/small.din" > /dev/full 2> /dev/null || fail "full disk, yet done"
fi
