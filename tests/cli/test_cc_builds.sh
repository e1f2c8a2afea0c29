#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap-cc, a link to psnap, is a compiler to make, configure scripts, CMake, autoconf and meson, and
# so is CC="psnap cc" to all that take a compiler of two words: what they ask is answered as clang
# does, and what they build is recorded whole. The link may lie anywhere.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"
[ -x "$(dirname "$PSNAP")/psnap-cc" ] || fail "no psnap-cc beside $PSNAP"
mkdir bin
for driver in cc c++ fc; do ln -s "$PSNAP" bin/psnap-$driver; done
PATH=$dir/bin:$PATH

cat > work.c << 'END'
long work(volatile long *a, long n)
{
    long sum = 0;
    for (long i = 0; i < n; i++)
        sum += a[i];
    return sum;
}
END
cat > main.c << 'END'
#include <stdio.h>
long work(volatile long *a, long n);
static volatile long data[1000];
int main(void)
{
    printf("%s %ld\n", CONFIG_CC, work(data, 1000));
    return 0;
}
END
cp main.c main.cpp
sed -i 's/^long/extern "C" long/' main.cpp
# check PROGRAM CONFIG_CC: the loop in work() has its thousand accesses
check() {
    expect 0 "$PSNAP" record --force -o p.yaml -- "$1"
    [ "$(cat out)" = "$2 0" ] || fail "$1 prints '$(cat out)', not '$2 0'"
    [ "$(accesses_of work:4 p.yaml)" = 1000 ] || fail "$1 has $(accesses_of work:4 p.yaml) accesses"
}

# ------------------------------------------------------------- what is asked of a compiler

for driver in cc c++; do
    for question in --version -dumpmachine -dumpversion -print-prog-name=ld -print-search-dirs; do
        [ "$(psnap-$driver $question)" = "$("$PSNAP" $driver $question)" ] || fail "psnap-$driver $question"
    done
    psnap-$driver --version | grep -q 'clang version' || fail "psnap-$driver --version"
    psnap-$driver -v 2>&1 | grep -q 'clang version' || fail "psnap-$driver -v"
    [ "$(status psnap-$driver)" = 1 ] && has err "no input files"
    expect 2 psnap-$driver --psnap-bogus main.c
    has err "psnap $driver: no option '--psnap-bogus'"
done
psnap-fc --help > out
has out 'psnap fc flang-ARGUMENTS'
ln -s "$PSNAP" bin/psnap-nothing # is psnap
[ "$(psnap-nothing --version)" = "$("$PSNAP" --version)" ] || fail "psnap-nothing"

# what configure scripts try, with warnings as errors
cat > conftest.c << 'END'
#include <math.h>
int main(void) { return (int)floor(0.5); }
END
for flags in "" "-Werror" "-Werror -Wall -Wextra" "-Werror -Qunused-arguments"; do
    rm -f conftest conftest.o
    psnap-cc $flags conftest.c -o conftest -lm 2> cc.err && [ ! -s cc.err ] && ./conftest || fail "configure $flags: $(cat cc.err)"
    psnap-cc $flags -c conftest.c 2> cc.err && [ ! -s cc.err ] && [ -e conftest.o ] || fail "-c: $(cat cc.err)"
    psnap-cc $flags conftest.o -o conftest -lm 2> cc.err && [ ! -s cc.err ] || fail "link $flags: $(cat cc.err)"
    psnap-cc $flags -E conftest.c > out 2> cc.err && [ ! -s cc.err ] || fail "-E $flags: $(cat cc.err)"
done
expect 1 psnap-cc -Werror --no-such-option conftest.c
echo 'char not_there(void); int main(void) { return not_there(); }' > conftest.c
expect 1 psnap-cc conftest.c -o conftest

# a C library that the driver leaves out, and the user does not
for libc in "-nodefaultlibs -lc" "-nodefaultlibs -lc -lgcc" "-nolibc -lc" "-nodefaultlibs -Wl,--as-needed,-lc" \
    "-static -nodefaultlibs -Wl,--start-group -lc -lgcc -lgcc_eh -Wl,--end-group" \
    "-nostdlib $(for part in crt1.o crti.o crtbegin.o libc.so crtend.o crtn.o; do psnap-cc -print-file-name=$part; done)"; do
    psnap-cc -O2 -DCONFIG_CC="\"-lc\"" main.c work.c $libc -no-pie -o program 2> cc.err || fail "$libc: $(cat cc.err)"
    check ./program -lc
done

# ------------------------------------------------------------- builds

mkdir made && cp main.c work.c made
cat > made/Makefile << 'END'
NAME = $(CC)
prog: main.o work.o
	$(CC) $(CFLAGS) -o $@ main.o work.o
.c.o:
	$(CC) $(CFLAGS) -DCONFIG_CC=\"$(NAME)\" -c -o $@ $<
END
for compiler in psnap-cc "psnap cc"; do
    make -s -B -C made CC="${compiler/#psnap /$PSNAP }" NAME="${compiler% cc}" CFLAGS="-O2 -Wall -Werror" > log 2>&1 ||
        fail "make: $(cat log)"
    check made/prog "${compiler% cc}"
done

mkdir cmade && cp main.c main.cpp work.c cmade
cat > cmade/CMakeLists.txt << 'END'
cmake_minimum_required(VERSION 3.16)
project(try C CXX ASM)
include(CheckCSourceCompiles)
include(CheckCCompilerFlag)
include(CheckFunctionExists)
find_package(Threads REQUIRED)
check_c_source_compiles("int main(void) { return 0; }" COMPILES)
check_c_source_compiles("int main(void) { return nothing; }" COMPILES_ANYTHING)
check_c_compiler_flag(-Wall HAS_WALL)
check_c_compiler_flag(-no-such-flag HAS_ANY_FLAG)
check_function_exists(memcpy HAS_MEMCPY)
check_function_exists(no_such_function HAS_ANY_FUNCTION)
if(NOT COMPILES OR COMPILES_ANYTHING OR NOT HAS_WALL OR HAS_ANY_FLAG OR NOT HAS_MEMCPY OR HAS_ANY_FUNCTION)
  message(FATAL_ERROR "wrong answers")
endif()
add_compile_definitions(CONFIG_CC="cmake")
add_library(work SHARED work.c)
file(WRITE ${CMAKE_BINARY_DIR}/precompiled.h "#include <stdio.h>\n")
target_precompile_headers(work PRIVATE ${CMAKE_BINARY_DIR}/precompiled.h)
add_executable(prog main.c)
target_link_libraries(prog work)
add_executable(progpp main.cpp)
target_link_libraries(progpp work)
END
build_by_cmake() { # FOLDER ARGUMENTS...
    cmake -S cmade -B "$@" -DCMAKE_BUILD_TYPE=Release > log 2>&1 || fail "cmake: $(cat log)"
    cmake --build "$1" > log 2>&1 || fail "cmake --build: $(cat log)"
    check "$1/prog" cmake
    check "$1/progpp" cmake
}
build_by_cmake cmade/one -DCMAKE_C_COMPILER=psnap-cc -DCMAKE_CXX_COMPILER=psnap-c++
CC="$PSNAP cc" CXX="$PSNAP c++" build_by_cmake cmade/two

if command -v autoconf > /dev/null; then
    mkdir configured && cp main.c main.cpp work.c configured
    cat > configured/configure.ac << 'END'
AC_INIT([try], [1])
AC_CONFIG_SRCDIR([main.c])
AC_PROG_CC
AC_PROG_CXX
AC_PROG_CPP
AC_CHECK_HEADERS([stdio.h no_such_header.h])
AC_CHECK_FUNCS([memcpy no_such_function])
AC_SEARCH_LIBS([floor], [m])
AC_CHECK_SIZEOF([long])
AC_OUTPUT([Makefile])
END
    cat > configured/Makefile.in << 'END'
all: prog progpp
# @DEFS@
prog: main.c work.o
	@CC@ @CFLAGS@ -DCONFIG_CC=\"autoconf\" -o $@ main.c work.o @LIBS@
progpp: main.cpp work.o
	@CXX@ @CXXFLAGS@ -DCONFIG_CC=\"autoconf\" -o $@ main.cpp work.o @LIBS@
work.o: work.c
	@CC@ @CFLAGS@ -c -o $@ work.c
END
    (cd configured && autoconf && ./configure CC=psnap-cc CXX=psnap-c++ && make) > log 2>&1 || fail "autoconf: $(cat log)"
    for answer in HAVE_STDIO_H HAVE_MEMCPY SIZEOF_LONG=8; do has configured/Makefile "-D$answer"; done
    ! grep -qi no_such configured/Makefile || fail "configure: $(grep -i no_such configured/Makefile)"
    check configured/prog autoconf
    check configured/progpp autoconf
else
    echo "skipped: no autoconf"
fi

if command -v meson > /dev/null && command -v ninja > /dev/null; then
    mkdir mesoned && cp main.c main.cpp work.c mesoned
    cat > mesoned/meson.build << 'END'
project('try', 'c', 'cpp', default_options: ['buildtype=release'])
cc = meson.get_compiler('c')
assert(cc.get_id() == 'clang' and cc.has_function('memcpy') and not cc.has_function('no_such_function'))
assert(cc.sizeof('long') == 8 and cc.has_argument('-Wall') and not cc.has_argument('-no-such-flag'))
add_project_arguments('-DCONFIG_CC="meson"', language: ['c', 'cpp'])
work = shared_library('work', 'work.c')
executable('prog', 'main.c', link_with: work, dependencies: cc.find_library('m'))
executable('progpp', 'main.cpp', link_with: work)
END
    CC=psnap-cc CXX=psnap-c++ meson setup mesoned/build mesoned > log 2>&1 || fail "meson: $(cat log)"
    ninja -C mesoned/build > log 2>&1 || fail "ninja: $(cat log)"
    check mesoned/build/prog meson
    check mesoned/build/progpp meson
else
    echo "skipped: no meson"
fi
