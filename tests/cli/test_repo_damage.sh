#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap repo and damage: a flipped byte in any file is found and named by verify, and is one profile's, which
# is whole again when it is added again; an index that is lost, stale or garbage is made anew.
set -eu
. "$PSNAP_SOURCE/tests/cli/repo_common.sh"

made 150
"$PSNAP" repo init r
"$PSNAP" repo add r p?.yaml p??.yaml p1[0-4]?.yaml > ids # enough of them for a dictionary
"$PSNAP" repo add r p150.yaml --tag x >> ids
printf '%s\n' p?.yaml p??.yaml p1[0-4]?.yaml p150.yaml > names
[ "$(ls r/dictionaries | wc -l)" = 2 ] || fail "no dictionary was trained"
"$PSNAP" repo verify r > /dev/null

# all DIR LOST: every profile is there, whole, but for this id
all() {
    rm -rf profiles
    "$PSNAP" repo export "$1" -o - 2> err | tar -xf - || fail "export of $1: $(cat err)"
    paste ids names | grep -v "^${2:-none}" | while read -r id name; do
        cmp "profiles/$id.yaml" "$name" || fail "$name of $1"
    done
    [ ! -e "profiles/${2:-none}.yaml" ] || fail "a damaged profile came out"
}
# wrong DIR FILE: verify finds this and nothing else
wrong() {
    expect 1 "$PSNAP" repo verify "$1"
    [ "$(grep ': damaged: ' out | cut -d : -f 1)" = "$2" ] || fail "not $2: $(cat out)"
    [ "$(grep -o "${2##*/}" out | wc -l)" = 1 ] || fail "a name is said again: $(cat out)"
}
all r

# a flipped byte in a file of each kind; in an object it is this profile's
id=$(sed -n 120p ids)
object=objects/${id:0:2}/${id:2}.yaml.zst
for file in "$object" psnap-repo-3 dictionaries/*.dict dictionaries/*.copy; do
    file=$(cd r && echo $file)
    size=$(stat -c %s "r/$file")
    for at in 0 $((size / 3)) -1; do
        rm -rf d && cp -r r d
        flip "d/$file" "$at"
        wrong d "$file"
    done
    if [ "$file" = "$object" ]; then
        all d "$id"
        expect 1 "$PSNAP" repo get d "$id"
        has err "$object: "
        "$PSNAP" repo gc d > /dev/null # which leaves it
        [ -e "d/$object" ] || fail "gc has removed a damaged object"
        expect 0 "$PSNAP" repo add d "$(sed -n 120p names)"
        [ "$(cat out)" = "$id" ]
    fi
    all d
    [ "$file" != "${file#dictionaries}" ] || continue
    "$PSNAP" repo verify d > out || fail "a dictionary was not mended: $(cat out)"
done

# cut off, emptied, replaced by another's, and one that has gone, which is how a profile is removed
for damage in 'truncate -s -1' 'truncate -s 0' 'truncate -s +1' "cp r/objects/$(ls r/objects | tail -1)/*.zst"; do
    rm -rf d && cp -r r d
    # shellcheck disable=SC2086
    $damage "d/$object" 2> /dev/null || cp "$(ls r/objects/*/*.zst | grep -v "$object" | head -1)" "d/$object"
    wrong d "$object"
    all d "$id"
done
rm "d/$object"
expect 0 "$PSNAP" repo verify d
[ "$("$PSNAP" repo list d --ids | wc -l)" = 149 ] || fail "what has gone is listed"
rm d/dictionaries/*
expect 1 "$PSNAP" repo get d "$(sed -n 130p ids)"
has err "its dictionary is missing or damaged"
expect 1 "$PSNAP" repo verify d

# the index is a cache: whatever it says, profiles come back, and after verify it says what the objects do
"$PSNAP" repo list r --json > list.json
listed() { # what d lists is what r does
    "$PSNAP" repo list d --json 2> err | sed 's/"added": "[^"]*"//' > now.json
    sed 's/"added": "[^"]*"//' list.json | diff now.json - || fail "the index lies${1-}"
}
size=$(stat -c %s r/cache/index.sqlite)
for k in $(seq 0 11); do
    rm -rf d && cp -r r d
    at=$((k < 5 ? k * 30 : size * k / 12 + 61 * k))
    flip d/cache/index.sqlite "$at"
    same d "$(sed -n $((k + 1))p ids)" "$(sed -n $((k + 1))p names)"
    "$PSNAP" repo verify d > out 2> /dev/null || has out "cache/index.sqlite"
    expect 0 "$PSNAP" repo verify d
    listed " after a flip at $at"
done
rm -rf d && cp -r r d && rm -rf d/cache
listed
for content in 'echo garbage' 'head -c 100000 /dev/urandom' "cat other/cache/index.sqlite"; do
    [ -e other ] || { "$PSNAP" repo init other && "$PSNAP" repo add other p1.yaml odd.yaml > /dev/null 2>&1; } || true
    $content > d/cache/index.sqlite
    listed " after $content"
    expect 0 "$PSNAP" repo verify d
done
rm d/cache/index.sqlite && mkdir d/cache/index.sqlite
listed
rm -rf d && cp -r other d && cp -r r/objects r/dictionaries d/ # stale
listed

# what is none of the archive's is named, and no damage
echo hello > d/objects/ab12
mkdir -p d/objects/00 && echo hello > d/objects/00/README
expect 0 "$PSNAP" repo verify d
has out "objects/00/README: stranger"

# folders that are none: nothing in them is taken for gone
folder=$(ls r/objects | head -1)
for other in "rm -r d/objects/$folder; echo hello > d/objects/$folder" \
    "mv d/objects/$folder aside; ln -s $PWD/aside d/objects/$folder" "mv d/objects aside; ln -s $PWD/aside d/objects"; do
    rm -rf d aside && cp -r r d
    eval "$other"
    for command in list verify gc; do
        expect 1 "$PSNAP" repo $command d
        has err "cannot list 'd/objects"
    done
    [ -L "d/objects/$folder" ] || [ -e "d/objects/$folder" ] || fail "gc removed it"
done
rm -rf d aside && cp -r r d && mv d/psnap-repo-3 d/psnap-repo-4
expect 1 "$PSNAP" repo list d
has err "has the layout 'psnap-repo-4' of another psnap"

# an index of another schema, which SQLite finds sound, with a row of no file, and without some rows
sql() {
    python3 -c 'import sqlite3, sys; d = sqlite3.connect("d/cache/index.sqlite"); d.executescript(sys.argv[1])' "$1"
}
for change in 'DROP TABLE tags' 'ALTER TABLE profiles RENAME host TO hosts' "INSERT INTO profiles (id) VALUES ('x')" \
    "UPDATE profiles SET loops = loops + 1 WHERE id LIKE 'a%'" "DELETE FROM profiles WHERE id LIKE 'a%'"; do
    for first in list verify; do
        rm -rf d && cp -r r d
        sql "$change"
        "$PSNAP" repo $first d > out 2>&1 || [ $first = verify ] || fail "$change: $(cat out)"
        [ $first = list ] || has out "cache/index.sqlite: damaged"
        "$PSNAP" repo verify d > /dev/null || [ "$first" = list ] || fail "$change: not mended"
        listed " after $change and verify"
    done
done

# what went after it was added is gone: a tag, which can come again, and a profile
rm -rf d && cp -r r d
"$PSNAP" repo list d > /dev/null
"$PSNAP" repo add d p150.yaml --tag GPL > /dev/null
rm d/objects/*/*+GPL
[ -z "$("$PSNAP" repo search d tag:GPL --ids 2> /dev/null)" ] || fail "a tag that has gone is found"
"$PSNAP" repo add d p150.yaml --tag GPL > /dev/null
[ "$("$PSNAP" repo search d tag:GPL --ids)" = "$(sed -n '$p' ids)" ] || fail "it does not come again"
"$PSNAP" repo init gone
rm gone/objects/*/"$("$PSNAP" repo add gone p1.yaml | cut -c 3-)".yaml.zst
[ -z "$("$PSNAP" repo list gone --ids 2> /dev/null)" ] || fail "a profile that has gone is listed"

# one of two copies of a dictionary; another dictionary of the same number
for copy in dict copy; do
    rm -rf d && cp -r r d
    rm d/dictionaries/*.$copy
    expect 1 "$PSNAP" repo verify d
    expect 0 "$PSNAP" repo verify d
    cmp d/dictionaries/*.dict d/dictionaries/*.copy
done
for k in $(seq 8); do # in whatever order they are read
    head -c -"$k" d/dictionaries/*.dict > other.dict
    name=$(hash_of other.dict)
    cp other.dict "d/dictionaries/$name.dict" && cp other.dict "d/dictionaries/$name.copy"
    all d
done
echo "damage: ok"
