#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Software that people use, from Debian's source packages: zlib, Lua and SQLite are built by
# their own build systems with CC="psnap cc", pass their own tests instrumented, and do some
# work that is recorded twice and looked at (check.py).
#
#   tests/real/run.sh [--no-write] [--folder DIR] [zlib] [lua] [sqlite]
#
# Writes results.csv beside it unless --no-write. Needs the network for the packages and
# twenty minutes, most of them for SQLite's tests; tcl-dev is installed if it is not there. With
# --folder what was fetched is kept, and used again.
#
# Tests: zlib's `make test`, recorded; SQLite's `make quicktest`, instrumented but not recorded, as
# it would make profiles of hundreds of runs. Lua's package has no tests: program.lua checks
# itself, and prints what a Lua without psnap does.
set -euo pipefail # what fails in median's pipe fails
cd "$(dirname "$0")/../.."
here=$PWD/tests/real write=1 folder="" wanted=""
while [ $# -gt 0 ]; do
    case $1 in
    --no-write) write=0 ;;
    --folder) folder=$2 && shift ;;
    zlib | lua | sqlite) wanted="$wanted $1" ;;
    *)
        sed -n '4,18s/^# \{0,1\}//p' "$0"
        [ "$1" = --help ] && exit 0
        exit 2
        ;;
    esac
    shift
done
wanted=${wanted:-zlib lua sqlite}

. tests/packages.sh
. tests/real/sources.sh
case $wanted in *sqlite*) psnap_need tcl-dev ;; esac
if [ -z "${PSNAP:-}" ]; then
    cmake --preset release > /dev/null
    cmake --build --preset release > /dev/null
    PSNAP=$PWD/build/release/psnap
fi
export PSNAP
clang=$("$PSNAP" cc -print-prog-name=clang)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -n "$folder" ] || folder=$work/sources
mkdir -p "$folder"
jobs=$(nproc)

fail()
{
    echo "real: $*" >&2
    exit 1
}

# quietly LOG COMMAND...: its output goes to the log, which is shown when it fails
quietly()
{
    local log=$1
    shift
    "$@" > "$log" 2>&1 || { tail -n 40 "$log" >&2; fail "$*"; }
}

# trees PACKAGE: its source, twice, as $native and $capture; its version as $version
trees()
{
    local package=$1 source
    ls "$folder"/"$package"_*.dsc > /dev/null 2>&1 || fetch_source "$folder" "$package" ||
        fail "cannot fetch the source of $package"
    version=$(sed -n 's/^Version: //p' "$folder/$package"_*.dsc)
    source=$(find "$folder" -maxdepth 1 -type d -name "$package-*")
    native=$work/$package.native capture=$work/$package.capture
    cp -r "$source" "$native"
    cp -r "$source" "$capture"
}

# seconds COMMAND...: wall time, of stdin and stdout as they are
seconds()
{
    local start=$EPOCHREALTIME
    "$@" > "$work/seconds.out" < "${input:-/dev/null}" || fail "$*: exit status $?"
    echo "$start $EPOCHREALTIME" | awk '{printf "%.3f\n", $2 - $1}'
}

# median COMMAND...: of three times
median()
{
    for _ in 1 2 3; do seconds "$@"; done | sort -n | sed -n 2p
}

# measure NAME TESTS LOOPS PROGRAM ARGUMENTS...: a program in both trees; a row of the table
measure()
{
    local name=$1 tests=$2 loops=$3 program=$4 native_s idle_s record_s facts
    shift 4
    native_s=$(median "$native/$program" "$@")
    cp "$work/seconds.out" "$work/expected"
    idle_s=$(median "$capture/$program" "$@")
    cmp "$work/expected" "$work/seconds.out" || fail "$name: instrumented, another result"
    record_s=$(median "$PSNAP" record --force -o "$work/1.yaml" -- "$capture/$program" "$@")
    cmp "$work/expected" "$work/seconds.out" || fail "$name: recorded, another result"
    seconds "$PSNAP" record --force -o "$work/2.yaml" -- "$capture/$program" "$@" > /dev/null
    # shellcheck disable=SC2086
    facts=$(/usr/bin/python3 "$here/check.py" "$PSNAP" "$work/1.yaml" "$work/2.yaml" $loops) ||
        fail "$name: not a sensible profile"
    echo "$name,$version,$tests,$native_s,$idle_s,$record_s,$facts" | awk -F, -v OFS=, '{
        print $1, $2, $3, $4, $5, sprintf("%.1f", $5 / $4), $6, sprintf("%.1f", $6 / $4), $7, $8, $9, $10
    }' | tee -a "$work/rows"
}

zlib()
{
    local recorded passed
    trees zlib
    (cd "$native" && CC=$clang CFLAGS=-O2 quietly log ./configure && quietly log make -j "$jobs")
    (cd "$capture" && CC="$PSNAP cc" CFLAGS=-O2 quietly log ./configure && quietly log make -j "$jobs")
    (cd "$capture" && quietly test.log "$PSNAP" record -o "test.%p.yaml" -- make test)
    passed=$(grep -c 'zlib.*test OK' "$capture/test.log") || true
    [ "$passed" = 3 ] || fail "zlib: $(cat "$capture/test.log")"
    recorded=$(find "$capture" -name 'test.*.yaml' | wc -l)
    "$PSNAP" check "$capture"/test.*.yaml > "$work/check" || fail "zlib: $(cat "$work/check")"
    # 4 MB, of which half is text
    (cd "$native" && cat ./*.c ./*.h ChangeLog zlib.3 ./*.o minigzip example) > "$work/part"
    head -c 4000000 <(cat "$work/part" "$work/part") > "$work/input"
    input=$work/input measure zlib "$passed of 3 (make test; $recorded programs recorded)" \
        "deflate_slow longest_match" minigzip -c
    gzip -dc < "$work/expected" | cmp - "$work/input" || fail "zlib: not what it packed"
}

lua()
{
    local tree cc patch
    trees lua5.4
    for tree in "$native" "$capture"; do
        cc=$clang
        [ "$tree" = "$native" ] || cc="$PSNAP cc"
        # Lua's own makefiles in the place of Debian's, which want libtool and build C++ too.
        # Strings are hashed with a seed, else of the time and an address: runs would differ.
        for patch in 0002-lua-modules-paths 0001-build-system; do
            patch -d "$tree" -R -p1 < "$tree/debian/patches/$patch.patch" > "$work/patch"
        done
        echo '#define luai_makeseed(L) 1' > "$tree/src/seed.h"
        (cd "$tree" && quietly log make -j "$jobs" linux CC="$cc" MYCFLAGS="-include seed.h")
    done
    (cd "$capture" && quietly test.log make test)
    measure lua5.4 "program.lua (the package has none)" "luaV_execute" src/lua \
        "$here/program.lua" 30000
}

# SQLite's tests do not run as root: here, into test.log
quicktest()
{
    if [ "$(id -u)" = 0 ]; then
        chmod go+rx "$work"
        chown -R nobody ..
        setpriv --reuid=nobody --regid=nogroup --clear-groups make quicktest > test.log 2>&1
    else
        make quicktest > test.log 2>&1
    fi
}

sqlite()
{
    local tree cc tests errors
    trees sqlite3
    for tree in "$native" "$capture"; do
        cc=$clang
        [ "$tree" = "$native" ] || cc="$PSNAP cc"
        mkdir "$tree/build"
        (cd "$tree/build" && CC=$cc CFLAGS=-O2 quietly log ../configure --disable-shared &&
            quietly log make -j "$jobs" sqlite3)
    done
    (cd "$capture/build" && quietly log make -j "$jobs" testfixture && quicktest) || true
    # "12 errors out of 234567 tests"; those that fail without psnap are not ours
    tests=$(sed -n 's/^\([0-9]* errors out of [0-9]* tests\).*/\1/p' "$capture/build/test.log")
    [ -n "$tests" ] || { tail -n 20 "$capture/build/test.log" >&2; fail "sqlite: tests ended early"; }
    errors=${tests%% *}
    if [ "$errors" != 0 ]; then
        (cd "$native/build" && quietly log make -j "$jobs" testfixture && quicktest) || true
        diff <(grep '^! .* expected' "$native/build/test.log") \
            <(grep '^! .* expected' "$capture/build/test.log") > "$work/difference" ||
            fail "sqlite: $(cat "$work/difference")"
        tests="$tests; the same without psnap"
    fi
    input=$here/session.sql measure sqlite3 "$tests" "sqlite3VdbeExec" build/sqlite3 :memory:
}

: > "$work/rows"
for package in $wanted; do
    echo "== $package"
    "$package"
done
[ $write = 0 ] && exit
{
    echo "package,version,tests,native_s,idle_s,idle_x,record_s,record_x,accesses,profile_bytes,loops,busiest"
    cat "$work/rows"
} > "$here/results.csv"
