#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap repo and other processes: ten that add at once, with gc among them; kill -9 at any
# moment; a limit on file sizes, a full disk, a directory that cannot be written. What was printed
# is there, whole.
set -eu
. "$PSNAP_SOURCE/tests/cli/repo_common.sh"

made 400
# good DIR IDS: everything printed is there, and nothing is damaged
good() {
    local id
    "$PSNAP" repo verify "$1" > verify.out || fail "$1: $(cat verify.out)"
    "$PSNAP" repo list "$1" --ids | sort > listed
    sort -u "$2" | comm -23 - listed > missing
    [ ! -s missing ] || fail "$1 has lost $(cat missing)"
    shuf -n 5 --random-source=listed listed | while read -r id; do "$PSNAP" repo get "$1" "$id" > /dev/null; done
}

# ten at once, with files in common, many and one by one; nobody fails
"$PSNAP" repo init r
for k in 0 1 2 3 4 5 6 7 8 9; do
    if [ $((k % 2)) = 0 ]; then
        "$PSNAP" repo add r p?$k.yaml p??$k.yaml p1??.yaml > ids.$k 2> err.$k &
    else
        { for n in p?$k.yaml p1?$k.yaml; do "$PSNAP" repo add r $n --tag t$k || echo failed; done; } > ids.$k 2> err.$k &
    fi
    pids[k]=$!
done
"$PSNAP" repo gc r > gc.out 2>&1 &
gc=$!
for k in 0 1 2 3 4 5 6 7 8 9; do wait "${pids[k]}" || fail "process $k: $(cat err.$k)"; done
wait $gc || fail "gc: $(cat gc.out)"
cat ids.? > ids
grep -q failed ids && fail "one failed: $(cat err.?)"
cat err.? > errors
[ ! -s errors ] || fail "something was said: $(cat errors)"
good r ids
"$PSNAP" repo gc r > /dev/null
good r ids
[ "$("$PSNAP" repo search r tag:t3 --ids | wc -l)" = "$(ls p?3.yaml p1?3.yaml | wc -l)" ] || fail "tags are lost"

# a file system without shared memory for SQLite's log: another journal, three at once
mkdir below above
if bindfs below above 2> /dev/null; then
    trap 'cd /; umount "$dir/above"; rm -rf "$dir"' EXIT
    "$PSNAP" repo init above/r
    for k in 1 2 3; do for n in p?$k.yaml; do "$PSNAP" repo add above/r $n; done > above.$k & pids[k]=$!; done
    for k in 1 2 3; do wait "${pids[k]}" || fail "process $k on a file system in user space"; done
    cat above.? > ids
    good above/r ids
    [ ! -e above/r/cache/index.sqlite-wal ] || fail "a write-ahead log there"
    umount above
    trap 'rm -rf "$dir"' EXIT
else
    echo "no file system in user space can be mounted here: it is left out"
fi

# killed, again and again, while it adds, lists and merges
"$PSNAP" repo init k
: > killed.ids
for round in $(seq 1 25); do
    (for n in $(seq $((round * 7)) 9 400); do "$PSNAP" repo add k "p$n.yaml" "p$((401 - n)).yaml" --tag "r$round"; done) \
        >> killed.ids 2> /dev/null &
    adder=$!
    "$PSNAP" repo add k p*.yaml > all.$round 2> /dev/null &
    many=$!
    if [ $((round % 3)) = 0 ]; then "$PSNAP" repo gc k > /dev/null 2>&1 & else sleep 1 & fi
    other=$!
    sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
    children=$(ps -o pid= --ppid $adder 2> /dev/null || true)
    # shellcheck disable=SC2086
    kill -9 $adder $many $other $children 2> /dev/null || true
    wait $adder $many $other 2> /dev/null || true
    # the last line may be cut off
    grep -hxE '[0-9a-f]{32}' all.$round >> killed.ids || true
    if [ $((round % 8)) = 0 ]; then
        grep -xE '[0-9a-f]{32}' killed.ids > whole.ids || : > whole.ids
        good k whole.ids
    fi
done
grep -xE '[0-9a-f]{32}' killed.ids > whole.ids || : > whole.ids
good k whole.ids
"$PSNAP" repo gc k > /dev/null
good k whole.ids
touch -d '2 days ago' k/cache/tmp-* 2> /dev/null || true
"$PSNAP" repo gc k > /dev/null
[ -z "$(find k/cache -name 'tmp-*')" ] || fail "temporary files are left: $(ls k/cache)"
"$PSNAP" repo add k p*.yaml > ids
good k ids
[ "$(wc -l < listed)" = 400 ] || fail "not all profiles"

# a limit on sizes of files: an error, nothing half, and it goes on without the limit
"$PSNAP" repo init l
"$PSNAP" repo add l p1.yaml > l.ids
got=0
(ulimit -f 8 && exec "$PSNAP" repo add l p*.yaml) > out 2> err || got=$?
[ $got = 1 ] || fail "exit status $got under a limit: $(cat err)"
has err "file too large"
cat out >> l.ids
good l l.ids
"$PSNAP" repo add l p*.yaml > l.ids
good l l.ids

# a full disk
mkdir disk
if mount -t tmpfs -o size=2m tmpfs disk 2> /dev/null; then
    trap 'cd /; umount "$dir/disk"; rm -rf "$dir"' EXIT
    "$PSNAP" repo init disk/r
    "$PSNAP" repo add disk/r p1.yaml > d.ids
    head -c 10000000 /dev/zero > disk/fill 2> /dev/null || true
    expect 1 "$PSNAP" repo add disk/r p*.yaml
    has err "no space left on device"
    cat out >> d.ids
    "$PSNAP" repo get disk/r "$(head -1 d.ids)" | cmp - p1.yaml
    good disk/r d.ids
    expect 0 "$PSNAP" repo list disk/r
    "$PSNAP" repo gc disk/r > /dev/null 2>&1 || true
    good disk/r d.ids
    rm disk/fill
    "$PSNAP" repo add disk/r p??.yaml > d.ids
    good disk/r d.ids
    head -c 10000000 /dev/zero > disk/fill 2> /dev/null || true
    "$PSNAP" repo gc disk/r > /dev/null 2>&1 || true
    good disk/r d.ids
else
    echo "no tmpfs can be mounted here: the full disk is left out"
fi

# a directory that cannot be written: as another user when this one may write everything
as=()
if [ "$(id -u)" = 0 ]; then
    chmod 755 "$dir"
    as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    "${as[@]}" "$PSNAP" --version > /dev/null 2>&1 || as=(none)
fi
if [ "${as[*]}" != none ]; then
    made 1 401
    "$PSNAP" repo init w && "$PSNAP" repo add w p1??.yaml > w.ids
    "$PSNAP" repo list w --json > w.json
    for cache in whole lost stale; do
        rm -rf w2 && cp -a w w2
        [ $cache != lost ] || rm -rf w2/cache
        [ $cache != stale ] || cp -r l/objects l/dictionaries w2/ # of another one: with new profiles
        chmod -R a-w,a+rX w2
        if [ $cache = stale ]; then
            [ "$("${as[@]}" "$PSNAP" repo list w2 --ids | wc -l)" = 400 ] || fail "the new ones are not seen"
        else
            "${as[@]}" "$PSNAP" repo list w2 --json | cmp - w.json
        fi
        "${as[@]}" "$PSNAP" repo search w2 name:made2 > /dev/null
        "${as[@]}" "$PSNAP" repo get w2 "$(head -1 w.ids)" | cmp - p100.yaml
        "${as[@]}" "$PSNAP" repo verify w2 > /dev/null || fail "verify of a read-only one"
        expect 1 "${as[@]}" "$PSNAP" repo add w2 p401.yaml
        has err "cannot write"
        chmod -R u+w w2
    done
    folder=$(ls w2/objects | head -1) # one that cannot be listed is no folder without profiles
    chmod 0 "w2/objects/$folder"
    expect 1 "${as[@]}" "$PSNAP" repo list w2
    has err "cannot list 'w2/objects/$folder'"
    expect 1 "${as[@]}" "$PSNAP" repo verify w2
    has err "cannot list 'w2/objects/$folder'"
    chmod 755 "w2/objects/$folder"
else
    echo "no other user can be had: the read-only directory is left out"
fi
echo "processes: ok"
