#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# CC="psnap cc" is a compiler to people (for builds, test_cc_builds.sh): what they do with one
# works, what asks for information gets clang's answer, and programs made of parts that
# were compiled apart are recorded whole.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

touch flags
cc="$PSNAP cc" cxx="$PSNAP c++"

# run PROGRAM ARGUMENTS...: records into p.yaml; its output is in out
run() {
    [ "$(status "$PSNAP" record --force -o p.yaml -- "$@")" = 0 ] || fail "$(cat flags) $*: $(cat err)"
    "$PSNAP" check p.yaml > /dev/null || fail "$*: no profile"
}
# accesses LOOP: of all parts of a loop of the source, in p.yaml
accesses() {
    accesses_of "$1" p.yaml
}

cat > work.h << 'END'
long work(volatile long *a, long n);
END
cat > work.c << 'END'
#include "work.h"
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
#include "work.h"
static volatile long data[1000];
int main(void)
{
    printf("%ld\n", work(data, 1000));
    return 0;
}
END
check_work() { # PROGRAM...: the loop in work() has its thousand accesses
    run "$@"
    [ "$(cat out)" = 0 ] && [ "$(accesses work:5)" = 1000 ] || fail "$*: $(accesses work:5)"
}

# ------------------------------------------------------------- one command, or several

$cc -O2 main.c work.c -o one 2> err && [ ! -s err ] || fail "one command: $(cat err)"
check_work ./one
$cc -O2 -c main.c
$cc -O2 -c -o work-other.o work.c
$cc main.o work-other.o -o apart
check_work ./apart
$cc -c -MD -MF work.d -MT target work.c && grep -q '^target:.*work.c' work.d || fail "-MD: $(cat work.d)"
echo '-O2 main.c -o "with file" "work.c"' > arguments
$cc @arguments
check_work "./with file"
printf -- '-c\nmain.c' > compile.rsp
rm main.o
$cc @compile.rsp
[ -e main.o ] && [ ! -e a.out ] || fail "@file with -c"
printf '#include "main.c"\n#include "work.c"\n' > 'all\'
printf 'all\\' > backslash.rsp # it stands for itself: nothing is behind it
$cc -O1 -o last -xc @backslash.rsp
check_work ./last
$cc -MJ made.h -O1 main.c work.c -o values -Xarch_host -DODD # values are no inputs
check_work ./values
$cc -O1 -x c - -o from-stdin work.c < main.c
check_work ./from-stdin
$cc -xc -O1 main.c work.c -o with-x
check_work ./with-x
$cc -S -O2 work.c && grep -q __psnap_reserve work.s || fail "-S"
$cc -c work.s -o from-assembler.o
$cc main.o from-assembler.o -o assembler
check_work ./assembler
printf '.globl three\nthree: movl $3, %%eax\nret\n.section .note.GNU-stack,"",@progbits\n' > three.s
cp three.s three_cpp.S
$cc -Werror -c three.s
$cc -Werror -c three_cpp.S
$cc -Werror -O2 main.c work.c three.s -o asm
check_work ./asm
$cc -emit-llvm -c work.c -o work.bc
$cc main.c work.bc -o bitcode
run ./bitcode
$cc -O2 -S -emit-llvm work.c -o work.ll
$cc -O2 main.c work.ll -o assembly
check_work ./assembly
echo 'int cells[9]; void clear(void) { cells[3] = 0; }' > small.c
! $cc -m32 -O2 -c small.c -o small.o 2> err || fail "a program of 32 bits was compiled"
grep -q "64-bit programs only" err || fail "-m32: $(cat err)"
ar rcs libwork.a work-other.o
$cc main.o -L. -lwork -o static-library
check_work ./static-library
$cc main.o -Wl,--whole-archive libwork.a -Wl,--no-whole-archive -o whole
check_work ./whole
ar rcs libmain.a main.o
$cc -L. -Wl,-u,main -lmain -lwork -o libraries-only
check_work ./libraries-only
$cc -r main.o work-other.o -o joined.o
$cc joined.o -o joined
check_work ./joined

# ------------------------------------------------------------- kinds of programs

# the linker that the compiler takes is of the same LLVM (a clang in /usr/bin may find an older one)
has_lld() {
    [ "$("$($cc -print-prog-name=ld.lld)" --version 2> /dev/null | sed -n 's/.*LLD \([0-9]*\).*/\1/p')" = \
        "$($cc -dumpversion | cut -d . -f 1)" ]
}

for flags in -fPIE "-fPIE -pie" "-fno-pie -no-pie" -static -static-pie "-fuse-ld=lld" \
    "-fuse-ld=gold" "-O0 -g" "-O2 -g3" "-O2 -g0" "-Os -gdwarf-4" "-O3 -flto -fuse-ld=lld" \
    "-O2 -flto=thin -fuse-ld=lld" "-O0 -flto=thin -fuse-ld=lld" \
    "-O2 -fsanitize=undefined" "-O2 -ffunction-sections -Wl,--gc-sections" \
    "-O2 -mcmodel=medium" "-O2 -pthread -fopenmp-simd" "-std=c99 -pedantic" "-O2 -pg"; do
    case $flags in
    *gold) command -v ld.gold > /dev/null || continue ;;
    *lld) has_lld || continue ;;
    *undefined) $($cc -print-prog-name=clang) -fsanitize=undefined probe.c -o probe.ubsan 2> /dev/null || continue ;;
    esac
    rm -f program
    $cc -O2 $flags -Wall -Wextra -Werror main.c work.c -o program 2> cc.err || fail "$flags: $(cat cc.err)"
    echo "$flags" > flags
    run ./program
    line=work:5
    case $flags in *-g0*) line="work#1" ;; esac
    has p.yaml "stage: optimized,"
    [ "$(accesses "$line")" = 1000 ] || [ "${flags#-O0}" != "$flags" ] || fail "$flags: $(accesses "$line") accesses"
done

# with LTO it is the linker that captures, and at the link that the stage is chosen
echo -flto=thin > thin.rsp
printf '#!/bin/sh\n[ "$*" = --version ] && echo "clang version %s" || echo "$PSNAP_STAGE $*"\n' \
    "$($cc -dumpversion)" > say
chmod +x say
for flags in -flto=thin @thin.rsp "-flto -flto=thin" -flto -flto=full "-flto -funified-lto"; do
    PSNAP_CLANG=./say $cc $flags -c work.c > out
    ! grep -q psnap_pass out || fail "$flags -c: captured before the link"
    PSNAP_CLANG=./say $cc $flags work.o > out
    has out "-Wl,--load-pass-plugin="
    has out "-fuse-ld=lld"
done
for flags in "" "-flto=thin -fno-lto" -funified-lto; do
    PSNAP_CLANG=./say $cc $flags -c work.c > out
    has out "-fpass-plugin="
done
PSNAP_CLANG=./say $cc -flto=thin --psnap-stage=vectorizer-start work.o > out
has out "vectorizer-start "
if has_lld; then
    $cc -O2 -flto=thin -c main.c -o main.lto.o
    $cc -O2 -flto=thin -c work.c -o work.lto.o
    $cc -flto=thin --psnap-stage=vectorizer-start main.lto.o work.lto.o -o program
    run ./program
    has p.yaml "stage: vectorizer-start,"
fi

# line tables unless the user says what there is to be
for flags in "" -g0 -g -ggdb3 -gline-directives-only; do
    $cc $flags -### -c work.c 2> commands
    case $flags in
    "") grep -q 'debug-info-kind=line-tables-only' commands || fail "no line tables" ;;
    *) ! grep -q 'debug-info-kind=line-tables-only' commands || fail "$flags: line tables" ;;
    esac
done

# shared libraries: linked, and opened by an instrumented program and by one that is not
$cc -O2 -fPIC -shared work.c -o libshared.so
$cc -O2 main.c -L. -lshared -Wl,-rpath,"$dir" -o shared
check_work ./shared
printf '{ global: work; local: *; };\n' > only-work
$cc -O2 -fPIC -shared work.c -Wl,--version-script=only-work -o libhidden.so
cat > open.c << 'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static volatile long data[1000];
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        long (*work)(volatile long *, long);
        if (!library)
            return puts(dlerror()), 1;
        *(void **)&work = dlsym(library, "work");
        printf("%ld\n", work(data, 1000));
    }
    return 0;
}
END
$cc -O2 open.c -o open-instrumented -ldl
${PSNAP_CC:-cc} -O2 open.c -o open-plain -ldl
check_work ./open-instrumented ./libshared.so
check_work ./open-plain ./libshared.so
# one that keeps the runtime to itself is not recorded, which is said
[ "$(status "$PSNAP" record --force -o p.yaml -- ./open-instrumented ./libhidden.so)" = 125 ] &&
    has err "instrumented shared library not recorded"
[ "$(cat out)" = 0 ] || fail "a library with a runtime of its own: $(cat out)"

# ------------------------------------------------------------- information

clang=$($cc -print-prog-name=clang)
[ -n "$clang" ] || fail "-print-prog-name"
$cc --version | grep -q 'clang version' || fail "--version"
$cc -v 2>&1 | grep -q 'clang version' || fail "-v"
$cc -dumpversion > out
$cc -dumpmachine > out
$cc -print-search-dirs > out
$cc -E main.c | grep -q 'int main(void)' || fail "-E"
$cc -E -dM - < /dev/null | grep -q '__clang__' || fail "-dM"
[ "$($cc -M work.c)" = "work.o: work.c work.h" ] || fail "-M: $($cc -M work.c)"
[ "$($cc -MM work.c)" = "work.o: work.c work.h" ] || fail "-MM"
$cc -fsyntax-only main.c work.c && [ ! -e a.out ] || fail "-fsyntax-only"
$cc -Wl,--version > out 2>&1 && grep -qi 'ld' out || fail "-Wl,--version"
$cc -### main.c work.c 2> out && grep -q libpsnap_rt out && [ ! -e a.out ] || fail "-###"
[ "$(status $cc)" = 1 ] && has err "no input files"
[ "$(status $cc not-there.c)" = 1 ] && has err "no such file or directory: 'not-there.c'"
echo 'int f(void) { return x; }' > wrong.c
[ "$(status $cc -c wrong.c)" = 1 ] && has err "wrong.c:1:22: error:"
for odd in --psnap-bogus --psnap-stage --psnap-llvm; do
    [ "$(status $cc $odd -c main.c)" = 2 ] && has err "no option '$odd'; there are: --psnap-stage=STAGE, --psnap-llvm=NN, --psnap-openmp"
done
[ "$(status $cc --psnap-stage=late main.c work.c)" = 2 ] && has err "no stage 'late'"
[ "$(PSNAP_CLANG=/not/there status $cc main.c)" = 1 ] && has err "cannot run '/not/there'"

# headers compiled before
echo 'static inline int twice(int x) { return 2 * x; }' > pre.h
echo 'int main(void) { return twice(0); }' > uses.c
$cc -x c-header pre.h -o pre.h.pch
$cc -include-pch pre.h.pch uses.c -o uses
./uses || fail "precompiled header"
$cc pre.h
[ -s pre.h.pch ] || [ -s pre.h.gch ] || fail "a header by its name"

# ------------------------------------------------------------- names

# two files each with its own init(), one of them inlined; loops are told apart
for file in a b; do
    cat > init_$file.c << END
static void init(volatile int *p, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = i;
}
static volatile int cells[100];
void start_$file(int n)
{
    init(cells, n);
}
END
done
cat > start.c << 'END'
void start_a(int), start_b(int);
int main(void)
{
    start_a(30);
    start_b(50);
    return 0;
}
END
for flags in -O0 -O1 "-O2 -fno-inline" -O3; do
    $cc $flags init_a.c init_b.c start.c -o init
    run ./init
    "$PSNAP" show p.yaml --json | python3 -c '
import json, sys
loops = json.load(sys.stdin)["loops"]
ids = [loop["id"] for loop in loops]
assert len(set(ids)) == len(ids), ids
by_file = {}
for loop in loops:
    if loop["id"].startswith("init:3"):
        by_file.setdefault(loop["source"].split(":")[0], set()).add(loop.get("part_of", loop["id"]))
assert len(by_file) == 2 and not set.intersection(*by_file.values()), by_file
' || fail "init $flags: $("$PSNAP" show p.yaml)"
done

# functions that several files define and the linker keeps one of; overloads; lambdas
cat > shared.hpp << 'END'
#pragma once
template <typename T> __attribute__((noinline)) void fill(volatile T *p, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = T(i);
}
inline __attribute__((noinline)) void both(volatile int *p, int n)
{
    for (int i = 0; i < n; i++)
        p[i] += 1;
}
END
for file in a b; do
    cat > use_$file.cpp << END
#include "shared.hpp"
static volatile int ints[100];
static volatile double doubles[100];
void use_$file()
{
    fill(ints, 10);
    fill(doubles, 20);
    both(ints, 30);
}
END
done
echo 'void use_a(); void use_b(); int main() { use_a(); use_b(); }' > use.cpp
for file in use_a use_b use; do
    $cxx -O2 -c $file.cpp
done
for order in "use_a.o use_b.o" "use_b.o use_a.o"; do
    $cxx $order use.o -o use
    run ./use
    "$PSNAP" show p.yaml --json | python3 -c '
import json, sys
loops = json.load(sys.stdin)["loops"]
ids = [loop["id"] for loop in loops]
assert len(set(ids)) == len(ids), ids
counts = {}
for loop in loops:
    whole = loop.get("part_of", loop["id"])
    counts[whole] = counts.get(whole, 0) + loop["accesses"]
assert sorted(count for count in counts.values() if count) == [20, 40, 120], counts
' || fail "templates: $order"
done

# ------------------------------------------------------------- another ABI does not link

echo 'extern char __psnap_abi_999; char *other(void) { return &__psnap_abi_999; }' > other.c
${PSNAP_CC:-cc} -c other.c
[ "$(status $cc main.o work-other.o other.o -o other)" != 0 ] && has err "__psnap_abi_999"
