#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Software that people use is built by its own build system with CC=psnap-cc, passes its own tests
# instrumented as it does natively, and does some work that is timed, recorded twice, compared and
# looked at (measure.py): zlib, gzip, bzip2, lz4, Lua, SQLite's shell, jq, TinyCC, QuickJS, wren,
# cJSON, zstd with link-time optimisation, llama2.c with OpenMP.
#
#   tests/real/run.sh [SOURCES] [--only gzip,bzip2] [--out FILE] [--psnap PATH] [--model NAME]
#                     [--no-tests] [--keep]
#
# Sources are those in the folder SOURCES, by upstream's names (lua, sqlite-amalgamation, llama2.c ...),
# else Debian's source packages; what neither has is left out, and said. Nothing else is fetched.
# Rows go to results.csv beside it, or to FILE; those of other packages stay there. --model is
# handed to psnap record. Needs an hour; --no-tests leaves the tests out. What the builds need is
# installed if it is not there. With --keep sources, builds and inputs stay in build/real, and what is
# there is used again: remove it after a change to capture/.
#
# Tests: what each package has and a few minutes are enough for; zlib's `make test` is recorded. Of
# those that have none, what they print is compared with what they print without psnap, as it is for all.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD/tests/real out=$PWD/tests/real/results.csv given="" model="" tested=1 keep=0
wanted="zlib gzip bzip2 lz4 lua sqlite jq tinycc quickjs wren cjson zstd llama2"
# Their names as folders and as Debian's source packages, where these are others
declare -A folders=([sqlite]=sqlite-amalgamation [cjson]=cJSON [llama2]=llama2.c)
declare -A packages=([lua]=lua5.4 [sqlite]=sqlite3 [tinycc]=tcc [zstd]=libzstd)
while [ $# -gt 0 ]; do
    case $1 in
    --only) wanted=${2//,/ } && shift ;;
    --out) out=$(realpath "$2") && shift ;;
    --psnap) PSNAP=$(realpath "$2") && shift ;;
    --model) model=$2 && shift ;;
    --no-tests) tested=0 ;;
    --keep) keep=1 ;;
    *)
        if [ -d "$1" ]; then
            given=$(realpath "$1")
        else
            sed -n '4,25s/^# \{0,1\}//p' "$0"
            [ "$1" = --help ] && exit 0
            exit 2
        fi
        ;;
    esac
    shift
done

. tests/packages.sh
. tests/real/sources.sh
psnap_need clang-19 lld-19 libomp-19-dev libclang-rt-19-dev
case $wanted in *sqlite*) psnap_need tcl-dev ;; esac
case $wanted in *jq*) psnap_need autoconf automake libtool bison flex ;; esac
if [ -z "${PSNAP:-}" ]; then
    cmake --preset release > /dev/null
    cmake --build --preset release > /dev/null
    PSNAP=$PWD/build/release/psnap
fi
PATH=$(dirname "$PSNAP"):$PATH
clang=$(psnap-cc -print-prog-name=clang)
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

# find_source: sets $source, the folder of $package, and $version
find_source()
{
    local name=${packages[$package]-$package}
    source=$given/${folders[$package]-$package} version=given
    [ -z "$given" ] || [ ! -d "$source" ] || return 0
    ls "$work/sources/$name"_*.dsc > /dev/null 2>&1 || fetch_source "$work/sources" "$name" ||
        fail "there is no source of $name"
    version=$(sed -n 's/^Version: //p' "$work/sources/$name"_*.dsc)
    source=$(find "$work/sources" -maxdepth 1 -type d -name "$name-*")
}

# build: the source of $package is built twice, with clang in $native and with psnap-cc in $capture, each $cc, by
# build_$package, and tested by test_$package, whose last line says what passed: $tests, the same of both.
build()
{
    local cc tree
    find_source
    native=$work/$package.native capture=$work/$package.capture tests="not run"
    for cc in "$clang" psnap-cc; do
        [ "$cc" = psnap-cc ] && tree=$capture || tree=$native
        if [ ! -e "$tree/built" ]; then
            rm -rf "$tree"
            cp -r "$source" "$tree"
            (cd "$tree" && "build_$package" && touch built)
        fi
        if [ $tested = 1 ] && [ ! -e "$tree/tested" ]; then
            (cd "$tree" && "test_$package" > test.out && tail -n 1 test.out > tested)
        fi
    done
    [ $tested = 1 ] || return 0
    tests=$(tr , ' ' < "$capture/tested")
    [ -n "$tests" ] || fail "tests ended early"
    cmp -s "$native/tested" "$capture/tested" || fail "tests: $tests, natively $(cat "$native/tested")"
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
    CC=$cc CFLAGS=-O2 quietly log ./configure
    quietly log make -j "$jobs"
}

test_zlib()
{
    local recorder="psnap record ${model:+--model $model} -o test.%p.yaml --"
    [ "$cc" = psnap-cc ] || recorder=""
    # shellcheck disable=SC2086
    quietly test.log $recorder make test
    [ "$cc" != psnap-cc ] || quietly check.log psnap check test.*.yaml
    echo "$(grep -c 'zlib.*test OK' test.log) of 3 (make test)"
}

zlib()
{
    build
    measure "deflate_slow longest_match" "$(input text 4000000)" minigzip -c
}

# Debian's patches are newer than what is made of the manual and by automake
made="MAKEINFO=: AUTOMAKE=: ACLOCAL=: AUTOCONF=: AUTOHEADER=:"

build_gzip()
{
    CC=$cc CFLAGS=-O2 quietly log ./configure
    # shellcheck disable=SC2086
    quietly log make -j "$jobs" $made
}

test_gzip()
{
    # shellcheck disable=SC2086
    make -j "$jobs" $made check > test.log 2>&1 || true
    awk '/^# TOTAL:/ { total += $3 } /^# (PASS|SKIP):/ { passed += $3 }
        END { print passed " of " total " (make check)" }' test.log
}

gzip()
{
    build
    measure "longest_match deflate" "$(input text 4000000)" gzip -c
}

# Debian's makefile links bzip2 with a libbz2.so: the objects in its place
build_bzip2()
{
    quietly log make -j "$jobs" libbz2.a bzip2.o CC="$cc"
    quietly log "$cc" -O2 -o bzip2 bzip2.o libbz2.a
}

test_bzip2()
{
    quietly test.log make -o bzip2 test
    echo "$(grep -c '^cmp sample' test.log) of 6 (make test)"
}

bzip2()
{
    build
    measure "mainSort mainGtU" "$(input text 2000000)" bzip2 -c
}

build_lz4()
{
    quietly log make -j "$jobs" -C lib liblz4.a CC="$cc" CFLAGS=-O2
    quietly log make -j "$jobs" -C programs lz4 CC="$cc" CFLAGS=-O2
}

test_lz4()
{
    echo "none run"
}

lz4()
{
    build
    measure "LZ4HC_InsertAndGetWiderMatch" "$(input text 4000000)" programs/lz4 -9 -c
}

# Lua's own makefiles in the place of Debian's, which want libtool and build C++ too; a checkout has
# all in one folder. Strings are hashed with a seed, else of the time and an address: runs would differ.
build_lua()
{
    local patch
    for patch in 0002-lua-modules-paths 0001-build-system; do
        [ ! -d debian ] || quietly log patch -R -p1 -i "debian/patches/$patch.patch"
    done
    [ -d src ] || ln -s . src
    echo '#define luai_makeseed(L) 1' > src/seed.h
    if [ -e src/Makefile ]; then
        quietly log make -j "$jobs" linux CC="$cc" MYCFLAGS="-include seed.h"
    else
        quietly log make -j "$jobs" CC="$cc" MYCFLAGS="-std=c99 -DLUA_USE_LINUX -include seed.h" MYLIBS=-ldl TESTS=
    fi
}

test_lua()
{
    src/lua "$here/program.lua" 1000
}

lua()
{
    build
    measure luaV_execute /dev/null src/lua "$here/program.lua" 40000
}

build_sqlite()
{
    mkdir build
    if [ -e sqlite3.c ]; then # the amalgamation
        quietly log "$cc" -O2 shell.c sqlite3.c -o build/sqlite3 -lm -ldl -lpthread
        return
    fi
    (cd build && CC=$cc CFLAGS=-O2 quietly log ../configure --disable-shared && quietly log make -j "$jobs" sqlite3)
}

# A selection of SQLite's tests, which do not run as root: here, into test.log. `make quicktest` ends
# early in recover.test, without psnap too, after ten minutes with it.
run_selected()
{
    local as="" test
    quietly log make -j "$jobs" testfixture
    if [ "$(id -u)" = 0 ]; then
        chmod go+rx "$work"
        chown -R nobody ..
        as="setpriv --reuid=nobody --regid=nogroup --clear-groups"
    fi
    for test in ../test/{select,join,where,index,insert,update,delete}[0-9].test \
        ../test/{trans,sort,func,expr,trigger,view,window}[0-9].test; do
        $as ./testfixture "$test" || true
    done > test.log 2>&1
    [ -z "$as" ] || chown -R root ..
}

# Those that fail without psnap are not ours
test_sqlite()
{
    if [ -e sqlite3.c ]; then
        build/sqlite3 :memory: 'PRAGMA integrity_check'
    else
        (cd build && run_selected)
        awk '/errors out of/ { errors += $1; tests += $5 }
            END { print errors " errors out of " tests " tests (a selection)" }' build/test.log
    fi
}

sqlite()
{
    [ -e "$given/${folders[sqlite]}/sqlite3.c" ] || given=""
    build
    measure sqlite3VdbeExec "$here/session.sql" build/sqlite3 :memory:
}

# Without regular expressions, which would want another library. Strings are hashed with a random
# seed, as in Lua.
build_jq()
{
    sed -i 's/^  hash_seed = seed;/  hash_seed = 1;/' src/jv.c
    quietly log autoreconf -fi
    CC=$cc CFLAGS=-O2 quietly log ./configure --with-oniguruma=no --disable-docs --disable-maintainer-mode \
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
    build
    measure "jq_next jv_parser_next stack_push" "$(input json 2000000)" jq -f "$here/program.jq"
}

build_tinycc()
{
    quietly log ./configure --cc="$cc" --extra-cflags=-O2
    quietly log make -j "$jobs"
}

test_tinycc()
{
    make -k -C tests/tests2 > test.log 2>&1 || true
    echo "$(grep -c '^Test: ' test.log) with $(grep -c '^[-+]' test.log) lines of difference (tests/tests2)"
}

tinycc()
{
    build
    measure next_nomacro /dev/null tcc "-B$native" "-I$native" "-I$native/include" -c "$native/tcc.c" -o "$work/tinycc.o"
}

# With $(CC) in a string of the program
build_quickjs()
{
    quietly log make -j "$jobs" qjs CC="$cc" HOST_CC="$cc"
}

test_quickjs()
{
    quietly test.log make test CC="$cc"
    echo "$(grep -c '^ *\./qjs' test.log) programs (make test)"
}

quickjs()
{
    build
    measure JS_CallInternal /dev/null qjs "$here/program.js" 20000
}

build_wren()
{
    quietly log make -j "$jobs" -C projects/make CC="$cc" config=release_64bit wren_test
}

test_wren()
{
    python3 util/test.py 2>&1 | tr '\r' '\n' | sed 's/\x1b\[[0-9]*[a-zA-Z]//g' | tail -n 1
}

wren()
{
    build
    measure runInterpreter /dev/null bin/wren_test "$here/program.wren"
}

# Its own reader for fuzzing is the program: two bytes of options, then JSON
build_cjson()
{
    quietly log cmake -B build -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF
    quietly log cmake --build build -j "$jobs"
    quietly log "$cc" -O2 fuzzing/afl.c build/libcjson.a -o build/afl -lm
}

test_cjson()
{
    ctest --test-dir build > test.log 2>&1 || true
    sed -n 's/.* tests passed, \(.*\)/\1 (ctest)/p' test.log
}

cjson()
{
    build
    [ -e "$work/cjson.options" ] || { printf bf && cat "$(input json 2000000)"; } > "$work/cjson.options"
    measure "parse_string print_value" "$work/cjson.options" build/afl /dev/stdin yes
}

build_zstd()
{
    quietly log make -j "$jobs" -C programs zstd CC="$cc" CFLAGS="-O2 -flto=thin" LDFLAGS="-flto=thin -fuse-ld=lld" \
        HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0
}

test_zstd()
{
    local file
    file=$(input text 2000000)
    programs/zstd -q -19 -c "$file" | programs/zstd -q -d | cmp - "$file"
    echo "decompressed as it was"
}

zstd()
{
    build
    measure ZSTD_RowFindBestMatch "$(input text 2000000)" programs/zstd -q -7 --single-thread --no-asyncio -c
}

# A model of random numbers
build_llama2()
{
    quietly log make runomp CC="$cc"
}

test_llama2()
{
    quietly log "$clang" -O2 test.c -o test.native -lm
    quietly log ./test.native
    tail -n 1 log
}

llama2()
{
    export OMP_NUM_THREADS=2
    build
    measure matmul.omp_outlined /dev/null run "$(input model 64)" -t 0 -n 40 -i Once -z "$native/tokenizer.bin"
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
