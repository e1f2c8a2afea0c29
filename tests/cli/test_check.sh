#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap check: what it says about good and bad profiles, several at a time, and
# about things that are no profiles at all.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
golden=$PSNAP_SOURCE/tests/golden/profile.psnap.yaml

# expect STATUS COMMAND...: runs it, keeps what it prints in out and err
expect()
{
    local wanted=$1 status=0
    shift
    "$@" > out 2> err || status=$?
    [ "$status" = "$wanted" ] || {
        echo "exit status $status instead of $wanted: $*"
        cat out err
        exit 1
    }
}

cp "$golden" good.yaml
expect 0 "$PSNAP" check good.yaml good.yaml
[ "$(grep -c '^good.yaml: ok: model psnap, 2 loops, 29 accesses$' out)" = 2 ]

# a contradiction names both lines; later files are still checked
sed 's/accesses: 11$/accesses: 12/' good.yaml > bad.yaml
line=$(grep -n 'accesses: 12' bad.yaml | cut -d: -f1)
expect 1 "$PSNAP" check bad.yaml good.yaml
grep -q "^bad.yaml:$line:15: 'accesses' is 12, but loads, stores and atomics (line $((line + 1))) come to 11" out
grep -q '^good.yaml: ok' out

sed 's/strides: {8: 7}/stride: {8: 7}/' good.yaml > key.yaml
expect 1 "$PSNAP" check key.yaml
grep -q "^key.yaml:[0-9]*:5: no key 'stride' here; did you mean 'strides'?" out

# hostile and broken
: > empty.yaml
printf 'psnap: 1\n\000' > nul.yaml
printf 'psnap: \377\n' > binary.yaml
printf 'a: &a [x]\nb: [*a, *a]\n' > alias.yaml
printf 'psnap: 1\npsnap: 1\n' > twice.yaml
printf '[1, 2]\n' > list.yaml
printf 'psnap: .nan\n' > nan.yaml
printf 'psnap: 99999999999999999999999\n' > huge.yaml
{ printf 'psnap: '; head -c 5000 /dev/zero | tr '\0' '['; } > deep.yaml
head -c 200 good.yaml > cut.yaml
for file in empty nul binary alias twice list nan huge deep cut; do
    expect 1 "$PSNAP" check $file.yaml
    grep -q "^$file.yaml" out
done
expect 1 "$PSNAP" check missing.yaml
expect 1 "$PSNAP" check "$PSNAP"
expect 2 "$PSNAP" check
"$PSNAP" check - < good.yaml | grep -q '^stdin: ok'
