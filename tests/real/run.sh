#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Software that people use, from Debian's source packages: zlib, gzip, bzip2, lz4, Lua, SQLite and
# jq are built by their own build systems with CC="psnap cc", pass their own tests instrumented,
# and do some work that is timed, recorded twice, compared and looked at (measure.py).
#
#   tests/real/run.sh [--only gzip,bzip2] [--out FILE] [--psnap PATH] [--model NAME]
#                     [--no-tests] [--keep]
#
# Rows go to results.csv beside it, or to FILE; those of other packages stay there. --model is
# handed to psnap record. Needs the network for the packages and half an hour, most of it for
# SQLite's tests, which --no-tests leaves out with all others; what the builds need is installed
# if it is not there. With --keep sources, builds and inputs stay in build/real, and what is there
# is used again: remove it after a change to capture/.
#
# Tests: what each package has and a few minutes are enough for. zlib's `make test` is recorded;
# SQLite's `make quicktest` is not, as it would make profiles of hundreds of runs. Lua and lz4:
# what they print is compared with what they print without psnap, as it is for all.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD/tests/real out=$PWD/tests/real/results.csv model="" tested=1 keep=0
wanted="zlib gzip bzip2 lz4 lua sqlite jq"
while [ $# -gt 0 ]; do
    case $1 in
    --only) wanted=${2//,/ } && shift ;;
    --out) out=$(realpath "$2") && shift ;;
    --psnap) PSNAP=$(realpath "$2") && shift ;;
    --model) model=$2 && shift ;;
    --no-tests) tested=0 ;;
    --keep) keep=1 ;;
    *)
        sed -n '4,19s/^# \{0,1\}//p' "$0"
        [ "$1" = --help ] && exit 0
        exit 2
        ;;
    esac
    shift
done

. tests/packages.sh
. tests/real/sources.sh
case $wanted in *sqlite*) psnap_need tcl-dev ;; esac
case $wanted in *jq*) psnap_need autoconf automake libtool bison flex ;; esac
if [ -z "${PSNAP:-}" ]; then
    cmake --preset release > /dev/null
    cmake --build --preset release > /dev/null
    PSNAP=$PWD/build/release/psnap
fi
clang=$("$PSNAP" cc -print-prog-name=clang)
work=$PWD/build/real
if [ $keep = 0 ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work/sources"
jobs=${JOBS:-$(nproc)}

fail()
{
    echo "real: $*" | tee "$work/failure" >&2
    exit 1
}

# quietly LOG COMMAND...: its output goes to the log, which is shown when it fails
quietly()
{
    local log=$1
    shift
    "$@" > "$log" 2>&1 || { tail -n 40 "$log" >&2; fail "$*"; }
}

# build NAME: $package is Debian's package NAME, whose source is built twice by build_$package CC
# in its tree, and tested by test_$package, whose last line says what passed. Sets $native,
# $capture, $source, $version, $tests.
build()
{
    local name=$1
    ls "$work/sources/$name"_*.dsc > /dev/null 2>&1 || fetch_source "$work/sources" "$name" ||
        fail "cannot fetch the source of $name"
    version=$(sed -n 's/^Version: //p' "$work/sources/$name"_*.dsc)
    source=$(find "$work/sources" -maxdepth 1 -type d -name "$name-*")
    native=$work/$package.native capture=$work/$package.capture
    if [ ! -e "$capture/built" ]; then
        rm -rf "$native" "$capture"
        cp -r "$source" "$native"
        cp -r "$source" "$capture"
        (cd "$native" && "build_$package" "$clang")
        (cd "$capture" && "build_$package" "$PSNAP cc" && touch built)
    fi
    tests="not run"
    if [ $tested = 1 ]; then
        [ -e "$capture/tested" ] || (cd "$capture" && "test_$package" > "$work/tests" && mv "$work/tests" tested)
        tests=$(tail -n 1 "$capture/tested")
    fi
}

# measure LOOPS INPUT PROGRAM ARGUMENTS...: a row of the table; the loops are among the busy ones
measure()
{
    local loops=$1 input=$2
    shift 2
    /usr/bin/python3 "$here/measure.py" --psnap "$PSNAP" --model "$model" --work "$work" --out "$out" \
        --row "package=$package,version=$version,tests=$tests" --loops "$loops" \
        --native "$native" --capture "$capture" --input "$input" "$@"
}

# input KIND SIZE: a file that inputs.py makes of the package's source, once; its name
input()
{
    local file=$work/$package.input
    [ -e "$file" ] || /usr/bin/python3 "$here/inputs.py" "$1" "$2" "$source" "$file"
    echo "$file"
}

# ------------------------------------------------------------- the packages

build_zlib()
{
    CC=$1 CFLAGS=-O2 quietly log ./configure
    quietly log make -j "$jobs"
}

test_zlib()
{
    local passed recorded good
    rm -f test.*.yaml
    # shellcheck disable=SC2086
    quietly test.log "$PSNAP" record ${model:+--model $model} -o "test.%p.yaml" -- make test
    passed=$(grep -c 'zlib.*test OK' test.log) || true
    recorded=$(find . -name 'test.*.yaml' | wc -l)
    "$PSNAP" check test.*.yaml > check.log 2>&1 || cat check.log >&2
    good=$(grep -c ': ok: ' check.log) || true
    echo "$passed of 3 (make test; $good of $recorded profiles are good)"
}

zlib()
{
    build zlib
    measure "deflate_slow longest_match" "$(input text 4000000)" minigzip -c
}

build_gzip()
{
    CC=$1 CFLAGS=-O2 quietly log ./configure
    quietly log make -j "$jobs" MAKEINFO=true # Debian's patches are newer than the manual
}

test_gzip()
{
    make -j "$jobs" MAKEINFO=true check > test.log 2>&1 || true
    awk '/^# TOTAL:/ { total += $3 } /^# (PASS|SKIP):/ { passed += $3 }
        END { print passed " of " total " (make check)" }' test.log
}

gzip()
{
    build gzip
    measure "longest_match deflate" "$(input text 4000000)" gzip -c
}

# Debian's makefile links bzip2 with a libbz2.so: the objects in its place
build_bzip2()
{
    quietly log make -j "$jobs" libbz2.a bzip2.o CC="$1"
    # shellcheck disable=SC2086
    quietly log $1 -O2 -o bzip2 bzip2.o libbz2.a
}

test_bzip2()
{
    quietly test.log make -o bzip2 test
    echo "$(grep -c '^cmp sample' test.log) of 6 (make test)"
}

bzip2()
{
    build bzip2
    measure "mainSort mainGtU" "$(input text 2000000)" bzip2 -c
}

build_lz4()
{
    quietly log make -j "$jobs" -C lib liblz4.a CC="$1" CFLAGS=-O2
    quietly log make -j "$jobs" -C programs lz4 CC="$1" CFLAGS=-O2
}

test_lz4()
{
    echo "none run"
}

lz4()
{
    build lz4
    measure "LZ4HC_InsertAndGetWiderMatch" "$(input text 4000000)" programs/lz4 -9 -c
}

# Lua's own makefiles in the place of Debian's, which want libtool and build C++ too.
# Strings are hashed with a seed, else of the time and an address: runs would differ.
build_lua()
{
    local patch
    for patch in 0002-lua-modules-paths 0001-build-system; do
        quietly log patch -R -p1 -i "debian/patches/$patch.patch"
    done
    echo '#define luai_makeseed(L) 1' > src/seed.h
    quietly log make -j "$jobs" linux CC="$1" MYCFLAGS="-include seed.h"
}

test_lua()
{
    quietly test.log make test
    echo "program.lua (the package has none)"
}

lua()
{
    build lua5.4
    measure luaV_execute /dev/null src/lua "$here/program.lua" 40000
}

build_sqlite()
{
    mkdir build
    (cd build && CC=$1 CFLAGS=-O2 quietly log ../configure --disable-shared && quietly log make -j "$jobs" sqlite3)
}

# SQLite's tests do not run as root: here, into test.log
quicktest()
{
    quietly log make -j "$jobs" testfixture
    if [ "$(id -u)" = 0 ]; then
        chmod go+rx "$work"
        chown -R nobody ..
        setpriv --reuid=nobody --regid=nogroup --clear-groups make quicktest > test.log 2>&1 || true
        chown -R root ..
    else
        make quicktest > test.log 2>&1 || true
    fi
}

# "12 errors out of 234567 tests"; those that fail without psnap are not ours
test_sqlite()
{
    local passed
    (cd build && quicktest)
    passed=$(sed -n 's/^\([0-9]* errors out of [0-9]* tests\).*/\1/p' build/test.log)
    [ -n "$passed" ] || { tail -n 20 build/test.log >&2; fail "sqlite: tests ended early"; }
    if [ "${passed%% *}" != 0 ]; then
        (cd "$native/build" && quicktest)
        diff <(grep '^! .* expected' "$native/build/test.log") <(grep '^! .* expected' build/test.log) \
            > difference || fail "sqlite: $(cat difference)"
        passed="$passed; the same without psnap"
    fi
    echo "$passed"
}

sqlite()
{
    build sqlite3
    measure sqlite3VdbeExec "$here/session.sql" build/sqlite3 :memory:
}

# Without regular expressions, which would want another library. Strings are hashed with a random
# seed, as in Lua.
build_jq()
{
    sed -i 's/^  hash_seed = seed;/  hash_seed = 1;/' src/jv.c
    quietly log autoreconf -fi
    CC=$1 CFLAGS=-O2 quietly log ./configure --with-oniguruma=no --disable-docs --disable-maintainer-mode \
        --disable-shared
    quietly log make -j "$jobs"
}

test_jq()
{
    ./jq -L tests/modules --run-tests tests/jq.test > test.log 2> test.err || true
    sed -n 's/^\([0-9]* of [0-9]* tests\) passed.*/\1 (tests\/jq.test)/p' test.log
}

jq()
{
    build jq
    measure "jq_next jv_parser_next stack_push" "$(input json 2000000)" jq -f "$here/program.jq"
}

# ------------------------------------------------------------- all

failed=0
for package in $wanted; do
    echo "== $package"
    echo "see what it printed" > "$work/failure"
    set +e
    (set -e && "$package")
    status=$?
    set -e
    if [ $status != 0 ]; then
        failed=1
        why=$(head -n 1 "$work/failure" | tr , ' ')
        /usr/bin/python3 "$here/measure.py" --out "$out" --row "package=$package,status=failed: $why"
    fi
done
exit $failed
