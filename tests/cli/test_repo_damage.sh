#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap repo and damage: a flipped byte in any file is found and named by verify, loses nothing, and
# is mended by gc; what cannot be mended is named and leaves all others alone; an index that is lost,
# stale or garbage is made anew; files that have gone are missed.
set -eu
. "$PSNAP_SOURCE/tests/cli/repo_common.sh"

made 700
"$PSNAP" repo init r
"$PSNAP" repo add r p?.yaml p??.yaml > ids
"$PSNAP" repo add r p[1-6]??.yaml >> ids # enough of them for a dictionary
"$PSNAP" repo add r p700.yaml --tag x >> ids
[ -n "$(ls r/dictionaries)" ] || fail "no dictionary was trained"
"$PSNAP" repo verify r > /dev/null
printf '%s\n' p?.yaml p??.yaml p[1-6]??.yaml p700.yaml > names

# all DIR: every profile is there, whole
all() {
    "$PSNAP" repo export "$1" -o - > all.tar 2> err || fail "export of $1: $(cat err)"
    rm -rf profiles && tar -xf all.tar
    [ "$(ls profiles | wc -l)" = 700 ] || fail "$1 has not all profiles"
    paste ids names | while read -r id name; do cmp "profiles/$id.yaml" "$name" || fail "$name of $1"; done
}
all r

# a flipped byte, in each file: at both ends, in the middle, and elsewhere
files=$(cd r && find . -type f -size +0 ! -path './cache/*' | sort)
for file in $files; do
    size=$(stat -c %s "r/$file")
    for at in 0 $((size / 3)) $((size - 1)); do
        rm -rf d && cp -r r d
        flip "d/$file" "$at"
        expect 1 "$PSNAP" repo verify d
        has out "$(basename "$file")"
        has out "nothing is lost"
        expect 1 "$PSNAP" repo verify d --json # verify mends nothing
        python3 -c '
import json
report = json.load(open("out"))
assert not report["ok"] and report["damaged"] == 0 and len(report["findings"]) == 1, report
assert report["findings"][0]["kind"] == "mended" and report["profiles"] == 700, report'
        [ "$at" != $((size / 3)) ] || all d
        "$PSNAP" repo gc d > /dev/null 2>&1 || fail "gc after a flip in $file"
        "$PSNAP" repo verify d > /dev/null || fail "gc has not mended $file"
    done
done
all d

# and in the index, which is a cache: whatever it says then, profiles come back, and after verify it
# says what the objects do. The log is made part of the file first.
"$PSNAP" repo list r --json > list.json
listed() { # what d lists is what r does
    "$PSNAP" repo list d --json > now.json 2> err
    diff now.json list.json || fail "the index lies${1-}"
}
python3 -c 'import sqlite3; sqlite3.connect("r/cache/index.sqlite").execute("PRAGMA wal_checkpoint(TRUNCATE)")'
size=$(stat -c %s r/cache/index.sqlite)
for k in $(seq 0 19); do
    rm -rf d && cp -r r d
    at=$((k < 5 ? k * 30 : size * k / 20 + 61 * k))
    flip d/cache/index.sqlite "$at"
    [ $((k % 3)) != 0 ] || same d "$(sed -n $((k + 1))p ids)" "$(sed -n $((k + 1))p names)" 2> /dev/null
    "$PSNAP" repo verify d > out 2> /dev/null || has out "nothing is lost"
    "$PSNAP" repo verify d > out || fail "verify has not made the index anew: $(cat out)"
    listed " after a flip at $at"
done

# more than can be mended: 3000 bytes in a pack; the profiles there are named, all others come back
packs=(r/objects/*.pack)
largest=$(ls -S "${packs[@]}" | head -1)
rm -rf d && cp -r r d
python3 - "d/${largest#r/}" << 'PYTHON'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[5000:8000] = bytes(3000)
del data[20000:20000 + 0]
open(sys.argv[1], "wb").write(data)
PYTHON
# parity may undo that much in a row of a large file: then of every tenth block
"$PSNAP" repo verify d > out || true
grep -q 'are lost' out || python3 - "d/${largest#r/}" << 'PYTHON'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
for at in range(3000, len(data) // 2, 256):
    data[at] ^= 255
open(sys.argv[1], "wb").write(data)
PYTHON
expect 1 "$PSNAP" repo verify d --json
python3 - > lost << 'PYTHON'
import json
report = json.load(open("out"))
lost = {f["id"] for f in report["findings"] if f["id"]}
assert report["damaged"] and lost and report["profiles"] + len(lost) == 700, (report["profiles"], len(lost))
print(*sorted(lost), sep="\n")
PYTHON
while read -r id; do
    if grep -q "$id" lost; then
        expect 1 "$PSNAP" repo get d "$id"
        has err "damaged"
        [ ! -s out ] || fail "a damaged profile came out"
    fi
done < <(head -40 ids)
paste ids names | grep -vFf lost | shuf -n 40 --random-source=ids | while read -r id name; do same d "$id" "$name"; done
"$PSNAP" repo gc d > /dev/null # which leaves it
expect 1 "$PSNAP" repo verify d
rm -rf forgotten && cp -r d forgotten
"$PSNAP" repo gc forgotten --forget > /dev/null
expect 0 "$PSNAP" repo verify forgotten
"$PSNAP" repo list forgotten --ids | sort > left
sort ids | grep -vFf lost | cmp - left || fail "gc --forget has not kept what can be read"
# who has it still, adds it again
paste ids names | grep -Ff lost | cut -f 2 | xargs "$PSNAP" repo add d > again 2> /dev/null
[ "$(sort again)" = "$(cat lost)" ]
all d

# cut off, emptied, replaced by another
rm -rf d && cp -r r d
truncate -s -1000 "d/${largest#r/}"
expect 1 "$PSNAP" repo verify d
has out "it ends after"
: > "d/${largest#r/}"
expect 1 "$PSNAP" repo verify d
has out "it is empty"
cp "${packs[0]}" "d/${largest#r/}" && [ "${packs[0]}" != "$largest" ] || cp "${packs[1]}" "d/${largest#r/}"
expect 1 "$PSNAP" repo verify d
has out "another file's"
same d "$(tail -1 ids)" p700.yaml

# a pack that has gone is missed, until it is forgotten; a dictionary that has gone
rm "d/${largest#r/}"
expect 1 "$PSNAP" repo verify d
has out "is lost"
"$PSNAP" repo list d > /dev/null # which does not forget
expect 1 "$PSNAP" repo verify d
"$PSNAP" repo gc d --forget > /dev/null
"$PSNAP" repo verify d > /dev/null || fail "it is not forgotten"
rm -rf d && cp -r r d
rm d/dictionaries/*
expect 1 "$PSNAP" repo verify d
has out "$(basename r/dictionaries/*)"
expect 1 "$PSNAP" repo get d "$(sed -n 500p ids)"
has err "$(basename r/dictionaries/*)"

# the index: lost, garbage, of another repository, of before, a folder
rm -rf d && cp -r r d && rm -rf d/cache
listed
rm d/cache/index.* && echo garbage > d/cache/index.sqlite
listed
has err "made anew"
head -c 100000 /dev/urandom > d/cache/index.sqlite
listed
"$PSNAP" repo init other && "$PSNAP" repo add other p1.yaml > /dev/null
cp other/cache/index.* d/cache/
listed
rm d/cache/index.* && mkdir d/cache/index.sqlite
listed
rm -rf d && cp -r other d && cp -r r/objects r/dictionaries d/
listed

# the format file's name has the version; a later one is refused, without any it is no repository
rm -rf d && cp -r r d
echo x > d/psnap-repo-1
same d "$(head -1 ids)" "$(head -1 names)"
mv d/psnap-repo-1 d/psnap-repo-2
expect 1 "$PSNAP" repo list d
has err "newer psnap"
rm d/psnap-repo-2
expect 1 "$PSNAP" repo list d
has err "no repository"

# of two notes the later one is damaged: the earlier one stays, whatever the index says and merges
"$PSNAP" repo init twice
"$PSNAP" repo add twice p1.yaml --tag alpha > /dev/null
ls twice/objects > before
"$PSNAP" repo add twice p1.yaml --tag beta > /dev/null
later=twice/objects/$(ls twice/objects | grep -vxFf before)
python3 - "$later" << 'PYTHON'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[40:-40] = bytes(len(data) - 80)
open(sys.argv[1], "wb").write(data)
PYTHON
"$PSNAP" repo add twice p2.yaml > /dev/null
"$PSNAP" repo gc twice > /dev/null 2>&1 || true
rm -rf twice/cache
"$PSNAP" repo list twice --json > out 2> /dev/null
has out alpha

# strangers are named, and no damage
rm -rf d && cp -r r d
echo hello > d/objects/README
expect 0 "$PSNAP" repo verify d
has out "objects/README"
echo "damage: ok"
